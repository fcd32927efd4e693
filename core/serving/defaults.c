// SPDX-License-Identifier: Apache-2.0
// defaults.c: the defaulting webhook of the original (DefaultInferenceService): framework shorthands become `model`,
// custom containers get resources, the deployment mode and the model format become annotations.
//
// The LocalModelCache label is not set: it needs objects of a component that Perigee does not manage.
#include "serving/defaults.h"

#include "object/meta.h"
#include "object/quantity.h"
#include "plan/origin.h"
#include "serving/podspec.h"
#include "serving/predictor.h"

struct defaulting {
    struct prg_arena *arena;
    const struct prg_serving_config *config;
    cJSON *service;
};

static void set_default(struct prg_arena *arena, cJSON *object, const char *key, const char *text)
{
    cJSON *value = prg_json_string(arena, text);
    prg_json_tag(value, PRG_ORIGIN_RULE);
    prg_json_set(arena, object, key, value);
}

static cJSON *annotations_of(struct defaulting *d)
{
    return prg_json_ensure_object(d->arena, prg_json_ensure_object(d->arena, d->service, "metadata"), "annotations");
}

// Old names of the modes, still written by users and stored in old objects.
const char *prg_deployment_mode_name(const char *text)
{
    if (prg_text_equal(text, "RawDeployment"))
        return "Standard";
    if (prg_text_equal(text, "Serverless"))
        return "Knative";
    return text;
}

// The configured default goes into the annotation only when it is not Knative: what the annotation lacks is Knative.
static int default_mode(struct defaulting *d, const char *given, struct prg_error *err)
{
    const cJSON *deploy = NULL;
    if (given) {
        const char *name = prg_deployment_mode_name(given);
        if (!prg_text_equal(name, given))
            set_default(d->arena, annotations_of(d), PRG_ANNOTATION_DEPLOYMENT_MODE, name);
        return PRG_OK;
    }
    if (prg_serving_config_section(d->config, "deploy", &deploy, err) != PRG_OK)
        return prg_wrap(err, "default deployment mode");
    const char *mode = prg_deployment_mode_name(prg_json_get_text(deploy, "defaultDeploymentMode"));
    if (prg_text_equal(mode, "Standard") || prg_text_equal(mode, "ModelMesh"))
        set_default(d->arena, annotations_of(d), PRG_ANNOTATION_DEPLOYMENT_MODE, mode);
    return PRG_OK;
}

// A shorthand moves into `model` under its format's name. Its own order of members is kept.
static void assign_model(struct defaulting *d, cJSON *predictor, const char *shorthand)
{
    const cJSON *spec = prg_json_get(predictor, shorthand), *member;
    cJSON *model = prg_json_object(d->arena), *format = prg_json_object(d->arena);
    set_default(d->arena, format, "name", shorthand);
    prg_json_set(d->arena, model, "modelFormat", format);
    prg_json_each (member, spec) {
        // A shorthand has neither of these two fields, so whatever stands there is not for us.
        if (!prg_text_equal(member->string, "modelFormat") && !prg_text_equal(member->string, "runtime"))
            prg_json_set(d->arena, model, member->string, prg_json_copy(d->arena, member));
    }
    bool speaks_v2 = prg_text_equal(shorthand, "triton") || prg_text_equal(shorthand, "onnx") ||
                     prg_text_equal(shorthand, "huggingface");
    if (speaks_v2 && !prg_json_get(model, "protocolVersion"))
        set_default(d->arena, model, "protocolVersion", "v2");
    prg_json_remove(predictor, shorthand);
    prg_json_set(d->arena, predictor, "model", model);
}

static void default_model(struct defaulting *d, cJSON *predictor)
{
    const char *shorthand;
    for (size_t i = 0; (shorthand = prg_predictor_shorthand(i)); i++) {
        if (prg_json_is_object(prg_json_get(predictor, shorthand))) {
            assign_model(d, predictor, shorthand);
            break;
        }
    }
    cJSON *model = prg_json_get(predictor, "model");
    if (!prg_json_is_object(model))
        return;
    const char *format = prg_json_text(prg_json_at(model, "modelFormat", "name"));
    if ((prg_text_equal(format, "triton") || prg_text_equal(format, "vLLM")) && !prg_json_get(model, "protocolVersion"))
        set_default(d->arena, model, "protocolVersion", "v2");
    // Placeholders of runtimes read the format from this annotation.
    if (format && *format && !prg_meta_annotation(d->service, "modelFormat"))
        set_default(d->arena, annotations_of(d), "modelFormat", format);
}

static int default_quantity(struct defaulting *d, const cJSON *resource, const char *setting, cJSON *resources,
                            const char *part, const char *name, struct prg_error *err)
{
    const char *text = prg_json_get_text(resource, setting), *canonical = NULL;
    if (!text || !*text)
        return PRG_OK;
    if (prg_quantity_canonical(d->arena, text, &canonical, err) != PRG_OK)
        return prg_wrap(err, "ConfigMap inferenceservice-config: key 'inferenceService': /resource/%s", setting);
    cJSON *list = prg_json_ensure_object(d->arena, resources, part);
    if (prg_json_get(list, name))
        return PRG_OK;
    cJSON *value = prg_json_string(d->arena, canonical);
    prg_json_tag(value, PRG_ORIGIN_CONFIG);
    prg_json_set(d->arena, list, name, value);
    return PRG_OK;
}

// The first container, whether or not it is the one called kserve-container: setResourceRequirementDefaults.
static int default_container(struct defaulting *d, cJSON *containers, struct prg_error *err)
{
    const cJSON *section = NULL;
    cJSON *first = prg_json_item(containers, 0);
    const char *name = prg_json_get_text(first, "name");
    if (prg_serving_config_section(d->config, "inferenceService", &section, err) != PRG_OK)
        return prg_wrap(err, "default resources");
    if (prg_json_count(containers) == 1 || !name || !*name) {
        if (!prg_text_equal(name, PRG_CONTAINER_PREDICTOR))
            set_default(d->arena, first, "name", PRG_CONTAINER_PREDICTOR);
    }
    const cJSON *resource = prg_json_get(section, "resource");
    cJSON *resources = prg_json_ensure_object(d->arena, first, "resources");
    if (default_quantity(d, resource, "cpuRequest", resources, "requests", "cpu", err) != PRG_OK ||
        default_quantity(d, resource, "memoryRequest", resources, "requests", "memory", err) != PRG_OK ||
        default_quantity(d, resource, "cpuLimit", resources, "limits", "cpu", err) != PRG_OK ||
        default_quantity(d, resource, "memoryLimit", resources, "limits", "memory", err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    return PRG_OK;
}

// Only a predictor that holds exactly one implementation is defaulted.
static int default_custom_predictor(struct defaulting *d, cJSON *predictor, struct prg_error *err)
{
    struct prg_implementation implementation;
    if (prg_predictor_implementations(predictor, &implementation, 1) != 1 || !implementation.is_custom)
        return PRG_OK;
    return default_container(d, prg_json_get(predictor, "containers"), err);
}

static int default_component(struct defaulting *d, const char *component, struct prg_error *err)
{
    cJSON *containers = prg_json_get(prg_json_at(d->service, "spec", component), "containers");
    if (!prg_json_is_array(containers) || !prg_json_is_object(prg_json_item(containers, 0)))
        return PRG_OK;
    if (default_container(d, containers, err) != PRG_OK)
        return prg_wrap(err, "/spec/%s", component);
    return PRG_OK;
}

// Models need no API access, so their pods get no token unless the configuration or the service asks for it. A section
// that is absent says nothing, which counts as false (Go's zero value). Without any ConfigMap nothing is configured,
// and the service stays as it is.
static int default_token(struct defaulting *d, struct prg_error *err)
{
    static const char *const components[] = {"predictor", "transformer", "explainer"};
    const cJSON *security = NULL;
    if (!d->config->present)
        return PRG_OK;
    if (prg_serving_config_section(d->config, "security", &security, err) != PRG_OK)
        return prg_wrap(err, "default of automountServiceAccountToken");
    if (prg_json_get_true(security, "autoMountServiceAccountToken"))
        return PRG_OK;
    for (size_t i = 0; i < PRG_COUNT(components); i++) {
        cJSON *component = prg_json_at(d->service, "spec", components[i]);
        if (!prg_json_is_object(component) || prg_json_get(component, "automountServiceAccountToken"))
            continue;
        cJSON *value = prg_json_bool(d->arena, false);
        prg_json_tag(value, PRG_ORIGIN_CONFIG);
        prg_json_set(d->arena, component, "automountServiceAccountToken", value);
    }
    return PRG_OK;
}

int prg_serving_default(struct prg_arena *arena, const cJSON *service, const struct prg_serving_config *config,
                        cJSON **ret, struct prg_error *err)
{
    struct defaulting d = {arena, config, NULL};
    const char *mode = prg_meta_annotation(service, PRG_ANNOTATION_DEPLOYMENT_MODE);
    if (prg_typed_normal(arena, &prg_schema_inference_service, service, &d.service, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    cJSON *predictor = prg_json_at(d.service, "spec", "predictor");
    if (default_mode(&d, mode, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    if (default_component(&d, "transformer", err) != PRG_OK || default_component(&d, "explainer", err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    // ModelMesh predictors are left as they are, but only when the service itself says that it is one.
    if (prg_json_is_object(predictor) && !prg_text_equal(mode, "ModelMesh")) {
        default_model(&d, predictor);
        if (default_custom_predictor(&d, predictor, err) != PRG_OK)
            return err ? err->code : PRG_INVALID;
    }
    if (default_token(&d, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    *ret = d.service;
    return PRG_OK;
}
