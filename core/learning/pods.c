// SPDX-License-Identifier: Apache-2.0
// pods.c: train, eval and inference pods. Source: createPod and createInferPod of Sedna's incremental learning
// controller.
//
// Which Secret goes with which URL: the initial model's, the deploy model's and the first evaluation model's URL with
// the Secret that the Model names, everything else with the job's. (The original knows only the initial model's, takes
// the dataset's Secret for the evaluation data that lies in the job's output folder, and creates an inference pod
// without its Secret when that is missing.)
#include "learning/pods.h"

#include <inttypes.h>
#include <string.h>

#include "learning/conddata.h"
#include "learning/names.h"
#include "learning/worker.h"
#include "object/meta.h"

// What a stage worker needs besides the condition's input.
struct references {
    const cJSON *initial_model, *deploy_model, *dataset;
    const cJSON *dataset_secret, *job_secret; // or NULL
};

static const char *spec_text(const cJSON *object, const char *field)
{
    const char *text = prg_json_get_text(prg_json_get(object, "spec"), field);
    return text ? text : "";
}

// ---- looking things up ----

static int find(struct prg_learning *l, const char *kind, const char *name, const char *what, const cJSON **ret,
                struct prg_error *err)
{
    *ret = *name ? prg_reader_get(l->in->store, PRG_SEDNA_GROUP, kind, l->ns, name) : NULL;
    if (*ret)
        return PRG_OK;
    return prg_fail(err, PRG_NOTFOUND, "failed to get %s %s: %ss.sedna.io \"%s\" not found", what, name,
                    strcmp(kind, PRG_KIND_MODEL) == 0 ? "model" : "dataset", name);
}

// *ret is NULL without a name.
static int find_secret(struct prg_learning *l, const char *name, const char *owner, const char *owner_name,
                       const cJSON **ret, struct prg_error *err)
{
    *ret = NULL;
    if (!*name)
        return PRG_OK;
    *ret = prg_reader_get(l->in->store, "", "Secret", l->ns, name);
    if (*ret)
        return PRG_OK;
    return prg_fail(err, PRG_NOTFOUND, "failed to get the secret %s for %s %s: secrets \"%s\" not found", name, owner,
                    owner_name, name);
}

static const char *reference_name(const struct prg_learning *l, const char *part, const char *member)
{
    const cJSON *spec = prg_json_get(l->in->job, "spec");
    const char *name = prg_json_get_text(member ? prg_json_at(spec, part, member) : prg_json_get(spec, part), "name");
    return name ? name : "";
}

static int find_references(struct prg_learning *l, struct references *r, struct prg_error *err)
{
    const char *dataset = reference_name(l, "dataset", NULL);
    if (find(l, PRG_KIND_MODEL, reference_name(l, "initialModel", NULL), "initial model", &r->initial_model, err) !=
            PRG_OK ||
        find(l, PRG_KIND_MODEL, reference_name(l, "deploySpec", "model"), "deploy model", &r->deploy_model, err) !=
            PRG_OK ||
        find(l, PRG_KIND_DATASET, dataset, "dataset", &r->dataset, err) != PRG_OK ||
        find_secret(l, spec_text(r->dataset, "credentialName"), "dataset", dataset, &r->dataset_secret, err) !=
            PRG_OK ||
        find_secret(l, spec_text(l->in->job, "credentialName"), "incremental job", l->name, &r->job_secret, err) !=
            PRG_OK)
        return err ? err->code : PRG_NOTFOUND;
    return PRG_OK;
}

static int model_secret(struct prg_learning *l, const struct references *r, const char *url, const cJSON **ret,
                        struct prg_error *err)
{
    const char *eval_name = reference_name(l, "evalSpec", "initialEvalModel");
    const cJSON *eval_model =
        *eval_name ? prg_reader_get(l->in->store, PRG_SEDNA_GROUP, PRG_KIND_MODEL, l->ns, eval_name) : NULL;
    const struct {
        const cJSON *model;
        const char *what;
    } known[] = {{r->initial_model, "initial model"}, {r->deploy_model, "deploy model"}, {eval_model, "eval model"}};
    for (size_t i = 0; i < PRG_COUNT(known); i++) {
        const char *credential = spec_text(known[i].model, "credentialName");
        if (!known[i].model || strcmp(spec_text(known[i].model, "url"), url) != 0)
            continue;
        if (i == 0 || *credential) // a model without a Secret of its own, other than the initial one, uses the job's
            return find_secret(l, credential, known[i].what, prg_meta_name(known[i].model), ret, err);
    }
    *ret = r->job_secret;
    return PRG_OK;
}

// ---- variables ----

static void set(struct prg_learning *l, cJSON *list, const char *name, const char *value)
{
    cJSON *entry = prg_json_object(l->arena);
    prg_json_set_string(l->arena, entry, "name", name);
    prg_json_set_string(l->arena, entry, "value", value);
    prg_json_tag(entry, PRG_ORIGIN_RULE);
    prg_json_append(list, entry);
}

static cJSON *common_environment(struct prg_learning *l, const char *worker_name, const char *identity)
{
    cJSON *list = prg_json_array(l->arena);
    char suffix[6];
    prg_learning_suffix(prg_arena_printf(l->arena, "%" PRIu64 " %s %s", l->in->seed, worker_name, identity), suffix);
    set(l, list, "NAMESPACE", l->ns);
    set(l, list, "JOB_NAME", l->name);
    set(l, list, "WORKER_NAME", prg_arena_printf(l->arena, "%s-%s", worker_name, suffix));
    set(l, list, "LC_SERVER", l->in->lc_server ? l->in->lc_server : PRG_LEARNING_LC_SERVER);
    return list;
}

static const cJSON *template_of(const struct prg_learning *l, const char *part)
{
    return prg_json_at(l->in->job, "spec", part, "template");
}

// ---- train and eval ----

// Mounts of the first `count` models.
static int find_model_mounts(struct prg_learning *l, const struct references *r, const cJSON *urls, size_t count,
                             struct prg_mount *ret, struct prg_error *err)
{
    const cJSON *url = urls->child;
    for (size_t i = 0; i < count; i++, url = url->next) {
        ret[i] = (struct prg_mount){.url = prg_json_text(url), .is_downloaded = true};
        if (model_secret(l, r, ret[i].url, &ret[i].secret, err) != PRG_OK)
            return err ? err->code : PRG_NOTFOUND;
    }
    return PRG_OK;
}

static const char *input_text(const cJSON *input, const char *field)
{
    const char *text = prg_field_text(input, field);
    return text ? text : "";
}

// The same Ready condition gives the same name: a worker that is made twice for it is made once. One without a time
// (written by hand) is told from others by its place.
static const char *stage_identity(struct prg_learning *l, const char *type, const cJSON *condition)
{
    const char *at = prg_json_get_text(condition, "lastTransitionTime"), *data = prg_json_get_text(condition, "data");
    if (!at || !*at)
        at = prg_arena_printf(l->arena, "%zu", prg_json_count(prg_json_at(l->in->job, "status", "conditions")));
    return prg_arena_printf(l->arena, "%s %s %s %s", l->uid, type, at, data ? data : "");
}

int prg_make_stage_worker(struct prg_learning *l, const char *type, const cJSON *condition, cJSON **ret,
                          struct prg_error *err)
{
    struct references r = {0};
    bool is_train = strcmp(type, PRG_WORKER_TRAIN) == 0;
    if (find_references(l, &r, err) != PRG_OK)
        return err ? err->code : PRG_NOTFOUND;
    const cJSON *input = prg_field(prg_conddata_parse(l->arena, prg_json_get_text(condition, "data")), "input");
    if (!prg_json_is_object(input))
        return prg_fail(err, PRG_INVALID, "empty input from condData");
    cJSON *urls = prg_conddata_model_urls(l->arena, input);
    size_t url_count = prg_json_count(urls), model_count = is_train ? 1 : url_count; // training has one base model
    if (url_count < model_count)
        return prg_fail(err, PRG_INVALID, "the input of the condition names no model: /input/models is empty");
    struct prg_mount *models = prg_arena_array(l->arena, struct prg_mount, model_count + 1);
    if (find_model_mounts(l, &r, urls, model_count, models, err) != PRG_OK)
        return err ? err->code : PRG_NOTFOUND;

    const char *dataset_url = spec_text(r.dataset, "url"), *index = input_text(input, "dataIndexURL");
    const char *original = *index ? index : dataset_url;
    const cJSON *data_secret = r.job_secret || is_train ? r.job_secret : r.dataset_secret;
    const struct prg_mount output = {.url = input_text(input, "outputDir"), .secret = r.job_secret};
    const struct prg_mount data = {.url = input_text(input, "dataURL"), .secret = data_secret, .is_downloaded = true};
    const struct prg_mount originals = {.url = original,
                                        .secret = r.dataset_secret,
                                        .is_downloaded = true,
                                        .is_indirect = strcmp(original, dataset_url) != 0};
    const struct prg_mount_variable train_variables[] = {{"BASE_MODEL_URL", models, model_count},
                                                         {"MODEL_URL", &output, 1},
                                                         {"TRAIN_DATASET_URL", &data, 1},
                                                         {"ORIGINAL_DATASET_URL", &originals, 1}};
    const struct prg_mount_variable eval_variables[] = {
        {"MODEL_URLS", models, model_count}, {"TEST_DATASET_URL", &data, 1}, {"ORIGINAL_DATASET_URL", &originals, 1}};
    const char *identity = stage_identity(l, type, condition);
    struct prg_worker worker = {
        .type = type,
        .template = template_of(l, is_train ? "trainSpec" : "evalSpec"),
        .environment = common_environment(l, is_train ? "train-worker" : "eval-worker", identity),
        .variables = is_train ? train_variables : eval_variables,
        .variable_count = is_train ? PRG_COUNT(train_variables) : PRG_COUNT(eval_variables),
        .restart_policy = "OnFailure",
        .identity = identity,
    };
    return prg_worker_pod(l, &worker, ret, err);
}

// ---- inference ----

// The parameters as Go prints a list of {key, value}: "null" when there is none.
static const char *mining_parameters(struct prg_learning *l)
{
    const cJSON *given = prg_json_at(l->in->job, "spec", "deploySpec", "hardExampleMining", "parameters"), *item;
    cJSON *list = prg_json_array(l->arena);
    if (!prg_json_is_array(given))
        return "null";
    prg_json_each (item, given) {
        cJSON *entry = prg_json_object(l->arena);
        const char *key = prg_json_get_text(item, "key"), *value = prg_json_get_text(item, "value");
        prg_json_set_string(l->arena, entry, "key", key ? key : "");
        prg_json_set_string(l->arena, entry, "value", value ? value : "");
        prg_json_append(list, entry);
    }
    return prg_json_print_arena(l->arena, list, PRG_JSON_ESCAPE_HTML);
}

int prg_make_inference_worker(struct prg_learning *l, const cJSON *replaced, const cJSON *condition, cJSON **ret,
                              struct prg_error *err)
{
    const cJSON *model, *spec = prg_json_at(l->in->job, "spec", "deploySpec");
    int64_t period = 0;
    struct prg_mount mount = {.is_downloaded = true};
    if (find(l, PRG_KIND_MODEL, reference_name(l, "deploySpec", "model"), "infer model", &model, err) != PRG_OK ||
        find_secret(l, spec_text(model, "credentialName"), "model", prg_meta_name(model), &mount.secret, err) != PRG_OK)
        return err ? err->code : PRG_NOTFOUND;
    mount.url = spec_text(model, "url");
    (void)prg_json_get_int64(prg_json_get(spec, "model"), "pollPeriodSeconds", &period);
    const char *identity = condition ? stage_identity(l, PRG_WORKER_INFERENCE, condition)
                                     : prg_arena_printf(l->arena, "%s %s %s %s", l->uid, PRG_WORKER_INFERENCE,
                                                        prg_meta_uid(replaced), prg_meta_name(replaced));
    const struct prg_mount_variable variables[] = {{"MODEL_URL", &mount, 1}};
    cJSON *environment = common_environment(l, "inferworker", identity);
    const char *hem = prg_json_get_text(prg_json_get(spec, "hardExampleMining"), "name");
    set(l, environment, "HEM_NAME", hem ? hem : "");
    set(l, environment, "HEM_PARAMETERS", mining_parameters(l));
    struct prg_worker worker = {
        .type = PRG_WORKER_INFERENCE,
        .template = template_of(l, "deploySpec"),
        .environment = environment,
        .variables = variables,
        .variable_count = PRG_COUNT(variables),
        .has_hot_update = l->has_hot_update,
        .poll_period = prg_arena_printf(l->arena, "%" PRId64, period),
        .identity = identity,
    };
    return prg_worker_pod(l, &worker, ret, err);
}
