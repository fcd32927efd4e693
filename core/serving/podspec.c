// SPDX-License-Identifier: Apache-2.0
// podspec.c: the pod spec of a predictor: the chosen runtime merged with the service, placeholders filled, the image
// tagged, further containers appended (Predictor.buildPodSpec); and the pod spec of a custom predictor.
#include "serving/podspec.h"

#include <string.h>

#include "serving/context.h"
#include "serving/metadata.h"
#include "serving/predictor.h"
#include "json/pointer.h"

// ---- errors ----

int prg_serving_invalid_spec(struct prg_serving *s, const char *message, struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    if (err->code == PRG_POLICY)
        return err->code;
    if (!message)
        message = prg_arena_strdup(s->arena, prg_error_text(err, text, sizeof(text)));
    prg_status_model_transition(s, "InvalidSpec", "InvalidPredictorSpec", message);
    return err->code;
}

int prg_serving_object_list(const cJSON *object, const char *key, const char *where, const cJSON **ret,
                            struct prg_error *err)
{
    const cJSON *list = prg_json_get(object, key), *item;
    size_t index = 0;
    if (!list || prg_json_is_null(list)) {
        *ret = NULL;
        return PRG_OK;
    }
    if (!prg_json_is_array(list))
        return prg_fail(err, PRG_INVALID, "%s/%s: a list is expected here, not %s", where, key,
                        prg_json_type_name(list));
    prg_json_each (item, list) {
        if (!prg_json_is_object(item))
            return prg_fail(err, PRG_INVALID, "%s/%s/%zu: an object is expected here, not %s", where, key, index,
                            prg_json_type_name(item));
        index++;
    }
    *ret = list;
    return PRG_OK;
}

// ---- trace ----

static void trace_container(struct prg_serving *s, const cJSON *container, const char *outcome, const char *reason)
{
    const char *name = prg_json_get_text(container, "name");
    prg_plan_trace(s->plan, "merge", NULL, name ? name : "", outcome, reason);
}

// Names of the fields that come from the service, for the trace of a merge.
static const char *fields_of_service(struct prg_serving *s, const cJSON *container)
{
    prg_auto_strbuf names = PRG_STRBUF_INIT;
    size_t count;
    const cJSON **members = prg_members_sorted(s->arena, container, &count);
    for (size_t i = 0; i < count; i++) {
        if (prg_json_origin(members[i]) != PRG_ORIGIN_RUNTIME) {
            prg_strbuf_puts(&names, names.length ? ", " : "from the service: ");
            prg_strbuf_puts(&names, members[i]->string);
        }
    }
    if (names.length == 0)
        return "nothing from the service";
    return prg_arena_strndup(s->arena, names.text, names.length);
}

static bool holds_placeholder(const cJSON *node)
{
    const cJSON *child;
    if (prg_json_origin(node) == PRG_ORIGIN_PLACEHOLDER)
        return true;
    prg_json_each (child, prg_json_is_object(node) || prg_json_is_array(node) ? node : NULL)
        if (holds_placeholder(child))
            return true;
    return false;
}

// One entry for each text in which a placeholder was replaced. path is of the node, and is left as it was.
static void trace_placeholders(struct prg_serving *s, struct prg_strbuf *path, const cJSON *before, const cJSON *after)
{
    const cJSON *child;
    size_t length = path->length, count = 0;
    if (prg_json_is_object(after)) {
        const cJSON **members = prg_members_sorted(s->arena, after, &count);
        for (size_t i = 0; i < count; i++) {
            if (!holds_placeholder(members[i])) // the usual case, before any path is made
                continue;
            prg_strbuf_putc(path, '.');
            prg_strbuf_puts(path, members[i]->string);
            trace_placeholders(s, path, prg_json_get(before, members[i]->string), members[i]);
            prg_strbuf_truncate(path, length);
        }
        return;
    }
    if (prg_json_is_array(after)) {
        const cJSON *item = prg_json_is_array(before) ? before->child : NULL;
        prg_json_each (child, after) {
            if (holds_placeholder(child)) {
                prg_strbuf_printf(path, "[%zu]", count);
                trace_placeholders(s, path, item, child);
                prg_strbuf_truncate(path, length);
            }
            item = item ? item->next : NULL;
            count++;
        }
        return;
    }
    if (prg_json_origin(after) != PRG_ORIGIN_PLACEHOLDER || !prg_json_is_string(after))
        return;
    const char *template = prg_json_text(before);
    prg_plan_trace(s->plan, "placeholder", NULL, prg_arena_strndup(s->arena, path->text, path->length),
                   prg_json_text(after), template ? prg_arena_join(s->arena, "from ", template) : NULL);
}

// ---- steps ----

static int replace_placeholders(struct prg_serving *s, const struct prg_runtime_choice *runtime, cJSON **container,
                                struct prg_error *err)
{
    const char *name = prg_json_get_text(*container, "name");
    bool html = !prg_mended(s->compat, PRG_COMPAT_placeholder_text);
    cJSON *filled;
    int rc = prg_placeholders_fill(s->arena, *container, prg_json_get(s->service, "metadata"), html, &filled, err);
    if (rc != PRG_OK) {
        const char *message = prg_arena_printf(
            s->arena, "failed to replace placeholders in serving runtime %s Container %s", runtime->name, name);
        prg_wrap(err, "%s", message);
        return prg_serving_invalid_spec(s, message, err);
    }
    if (filled == *container)
        return PRG_OK;
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_puts(&path, name);
    trace_placeholders(s, &path, *container, filled);
    *container = filled;
    return PRG_OK;
}

// Devices of other kinds than GPUs that have extended resource names.
static bool is_network_device(const char *resource)
{
    return strstr(resource, "rdma") || strstr(resource, "sriov");
}

// What the image policy may look at: the devices among the limits. Names without a domain are no devices.
static void collect_devices(struct prg_serving *s, const cJSON *container, struct prg_image_request *request)
{
    size_t count;
    const cJSON **limits = prg_members_sorted(s->arena, prg_json_at(container, "resources", "limits"), &count);
    struct prg_gpu_count *gpus = prg_arena_array(s->arena, struct prg_gpu_count, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *resource = limits[i]->string;
        if (strchr(resource, '/') && !is_network_device(resource))
            gpus[request->gpu_count++] = (struct prg_gpu_count){resource, prg_json_text(limits[i])};
    }
    request->gpus = gpus;
}

static int tag_image(struct prg_serving *s, const struct prg_runtime_choice *runtime, cJSON *container,
                     struct prg_error *err)
{
    const cJSON *model = prg_json_get(s->predictor, "model"), *old = prg_json_get(container, "image");
    const char *image = old ? prg_json_text(old) : "", *tagged = NULL;
    const char *name = prg_json_get_text(container, "name");
    struct prg_policy_source source = {0};
    struct prg_image_request request = {
        .runtime_name = runtime->name,
        .server_type = prg_json_get_text(runtime->annotations, PRG_ANNOTATION_SERVER_TYPE),
        .runtime_version = prg_json_get_text(model, "runtimeVersion"),
    };
    collect_devices(s, container, &request);
    if (s->decide && s->decide->image_tag) {
        int rc = s->decide->image_tag(s->decide->ctx, image, &request, &tagged, &source, err);
        if (rc != PRG_OK)
            return rc;
    }
    if (!tagged || strcmp(tagged, image) == 0) {
        prg_plan_trace(s->plan, "image", &source, name, image, "unchanged");
        return PRG_OK;
    }
    cJSON *node = prg_json_string(s->arena, tagged);
    prg_json_tag(node, PRG_ORIGIN_IMAGE);
    prg_json_set(s->arena, container, "image", node);
    prg_plan_trace(s->plan, "image", &source, name, tagged, prg_arena_printf(s->arena, "was %s", image));
    return PRG_OK;
}

// A container that only one side has, in normal form.
static int single_container(struct prg_serving *s, const cJSON *container, enum prg_origin origin, cJSON **ret,
                            struct prg_error *err)
{
    const struct prg_typed_form form = {.origin = origin, .shares_texts = origin != PRG_ORIGIN_RUNTIME};
    int rc = prg_typed_make(s->arena, &prg_schema_container, container, &form, ret, err);
    return rc == PRG_OK ? PRG_OK : prg_wrap(err, "container %s", prg_json_get_text(container, "name"));
}

// The four cases of a collocated transformer: in both (merged), in one, in none (*ret NULL).
static int transformer(struct prg_serving *s, const struct prg_merge_options *options,
                       const struct prg_runtime_choice *runtime, const cJSON *of_runtime, const cJSON *of_service,
                       cJSON **ret, struct prg_error *err)
{
    cJSON *container = NULL;
    int rc = PRG_OK;
    if (of_runtime && of_service) {
        rc = prg_podspec_merge_container(s->arena, options, of_runtime, of_service, &container, err);
        if (rc == PRG_OK)
            trace_container(s, container, "merged", fields_of_service(s, container));
    } else if (of_runtime) {
        rc = single_container(s, of_runtime, PRG_ORIGIN_RUNTIME, &container, err);
        if (rc == PRG_OK)
            trace_container(s, container, "runtime", "only the runtime has it");
    } else if (of_service) {
        rc = single_container(s, of_service, PRG_ORIGIN_SERVICE, &container, err);
        if (rc == PRG_OK)
            trace_container(s, container, "service", "only the service has it");
    }
    if (rc == PRG_OK && container)
        rc = replace_placeholders(s, runtime, &container, err);
    *ret = container;
    return rc;
}

// Appends the containers of list, but those called a or b (b may be NULL).
static int append_others(struct prg_serving *s, cJSON *containers, const cJSON *list, enum prg_origin origin,
                         const char *a, const char *b, struct prg_error *err)
{
    const cJSON *given;
    prg_json_each (given, list) {
        const char *name = prg_json_get_text(given, "name");
        cJSON *container;
        if (name && (strcmp(name, a) == 0 || prg_text_equal(name, b)))
            continue;
        int rc = single_container(s, given, origin, &container, err);
        if (rc != PRG_OK)
            return rc;
        prg_json_append(containers, container);
        trace_container(s, container, origin == PRG_ORIGIN_RUNTIME ? "runtime" : "service", "appended");
    }
    return PRG_OK;
}

static int build(struct prg_serving *s, const struct prg_runtime_choice *runtime, const cJSON *runtime_containers,
                 const cJSON *service_containers, cJSON **ret, struct prg_error *err)
{
    const struct prg_merge_options options = {
        .compat = s->compat, .decide = s->decide, .plan = s->plan, .copies_runtime = true};
    struct prg_merged_specs merged;
    cJSON *containers = prg_json_array(s->arena), *other = NULL;
    int rc = prg_podspec_merge_specs(s->arena, &options, runtime_containers, prg_json_get(s->predictor, "model"),
                                     PRG_CONTAINER_PREDICTOR, runtime->spec, s->predictor, &merged, err);
    if (rc != PRG_OK)
        return prg_serving_invalid_spec(s, NULL, err);
    trace_container(s, merged.container, "merged", fields_of_service(s, merged.container));
    rc = replace_placeholders(s, runtime, &merged.container, err);
    if (rc == PRG_OK)
        rc = tag_image(s, runtime, merged.container, err);
    if (rc == PRG_OK)
        rc = transformer(s, &options, runtime, prg_named_item(runtime_containers, PRG_CONTAINER_TRANSFORMER),
                         prg_named_item(service_containers, PRG_CONTAINER_TRANSFORMER), &other, err);
    if (rc != PRG_OK)
        return rc;
    prg_json_append(containers, merged.container);
    if (other)
        prg_json_append(containers, other);
    rc = append_others(s, containers, runtime_containers, PRG_ORIGIN_RUNTIME, PRG_CONTAINER_PREDICTOR,
                       PRG_CONTAINER_TRANSFORMER, err);
    if (rc == PRG_OK)
        rc = append_others(s, containers, service_containers, PRG_ORIGIN_SERVICE, PRG_CONTAINER_TRANSFORMER, NULL, err);
    prg_json_set(s->arena, merged.pod_spec, "containers", containers);
    *ret = merged.pod_spec;
    return rc;
}

int prg_serving_pod_spec(struct prg_serving *s, const struct prg_runtime_choice *runtime, cJSON **ret,
                         struct prg_error *err)
{
    const cJSON *runtime_containers, *service_containers;
    struct prg_error own = {0};
    int rc = prg_serving_object_list(runtime->spec, "containers", "runtime /spec", &runtime_containers, &own);
    if (rc == PRG_OK)
        rc = prg_serving_object_list(s->predictor, "containers", "/spec/predictor", &service_containers, &own);
    if (rc != PRG_OK) {
        prg_serving_invalid_spec(s, NULL, &own);
    } else if (prg_json_count(runtime_containers) == 0) {
        rc = prg_fail(&own, PRG_INVALID, "no container configuration found in selected serving runtime");
        prg_serving_invalid_spec(s, NULL, &own);
    } else {
        rc = build(s, runtime, runtime_containers, service_containers, ret, &own);
    }
    if (rc != PRG_OK && err)
        *err = own;
    return rc;
}

// ---- custom predictors ----

int prg_serving_custom_pod_spec(struct prg_serving *s, cJSON **ret, struct prg_error *err)
{
    const struct prg_merge_options options = {
        .compat = s->compat, .decide = s->decide, .plan = s->plan, .copies_runtime = true};
    struct prg_error own = {0};
    cJSON *pod_spec = NULL;
    const cJSON *given;
    int rc = prg_serving_object_list(s->predictor, "containers", "/spec/predictor", &given, &own);
    if (rc == PRG_OK)
        rc = prg_podspec_merge(s->arena, &options, NULL, s->predictor, &pod_spec, &own);
    cJSON *containers = prg_json_get(pod_spec, "containers");
    cJSON *predictor = prg_named_item(containers, PRG_CONTAINER_PREDICTOR);
    if (rc == PRG_OK && !predictor)
        rc = prg_fail(&own, PRG_INVALID,
                      "a custom predictor needs a container called %s under /spec/predictor/containers",
                      PRG_CONTAINER_PREDICTOR);
    if (rc != PRG_OK) {
        char text[PRG_ERROR_LINE];
        prg_serving_invalid_spec(s, NULL, &own);
        prg_status_raw_with_message(s, "InvalidPredictorSpec", prg_error_text(&own, text, sizeof(text)), "False");
        if (err)
            *err = own;
        return rc;
    }
    // The original writes the predictor's container over the first one, which is lost when it is another.
    cJSON *first = containers->child;
    if (first != predictor && !prg_mended(s->compat, PRG_COMPAT_custom_containers))
        prg_json_replace(containers, first, prg_json_copy(s->arena, predictor));
    *ret = pod_spec;
    return PRG_OK;
}

// ---- variables ----

void prg_serving_set_variable(struct prg_serving *s, cJSON *container, const char *name, const char *value,
                              enum prg_origin origin)
{
    struct prg_arena *arena = s->arena;
    cJSON *env = prg_json_get(container, "env"), *variable = NULL;
    cJSON *node = prg_json_string(arena, value);
    prg_json_tag(node, origin);
    if (prg_json_is_array(env))
        variable = prg_named_item(env, name);
    else
        env = prg_json_ensure_array(arena, container, "env");
    if (prg_json_origin(env) == PRG_ORIGIN_NONE)
        prg_json_tag_one(env, origin);
    if (!variable) {
        variable = prg_json_object(arena);
        prg_json_set_string(arena, variable, "name", name);
        prg_json_tag(variable, origin);
        prg_json_append(env, variable);
    } else if (prg_mended(s->compat, PRG_COMPAT_replace_exclusive)) {
        prg_json_remove(variable, "valueFrom");
    }
    prg_json_set(arena, variable, "value", node);
}

int prg_serving_set_env(struct prg_serving *s, cJSON *pod_spec, const char *container, const char *name,
                        const char *value, enum prg_origin origin, struct prg_error *err)
{
    cJSON *containers = prg_json_get(pod_spec, "containers"), *one;
    bool is_found = false;
    prg_json_each (one, prg_json_is_array(containers) ? containers : NULL) {
        const char *called = prg_json_get_text(one, "name");
        if (!prg_json_is_object(one) || strcmp(called ? called : "", container) != 0)
            continue;
        is_found = true;
        prg_serving_set_variable(s, one, name, value, origin);
    }
    return is_found ? PRG_OK : prg_fail(err, PRG_NOTFOUND, "target container(%s) does not exist", container);
}
