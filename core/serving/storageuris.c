// SPDX-License-Identifier: Apache-2.0
// storageuris.c: storageUris of a predictor, done while planning (a single storageUri is left to the pod webhook).
#include "serving/context.h"
#include "serving/initializer.h"
#include "serving/predictor.h"
#include "serving/storage.h"

static void trace_uris(struct prg_serving *s, const cJSON *uris, const cJSON *container)
{
    const cJSON *entry;
    prg_json_each (entry, uris) {
        const char *uri = prg_json_get_text(entry, "uri"), *path = prg_json_get_text(entry, "mountPath");
        const char *how = prg_text_has_prefix(uri, "pvc://") ? "a claim, mounted" : "loaded";
        prg_plan_trace(s->plan, "storage", NULL, uri ? uri : "", "accepted",
                       prg_arena_printf(s->arena, "%s at '%s'; storageUris are not validated; storage container %s",
                                        how, path ? path : "", container ? prg_meta_name(container) : "none"));
    }
}

// The storage container of the first URI is used for all of them. Its errors count in both modes.
static int find_container(struct prg_serving *s, const cJSON *uris, const cJSON **ret, struct prg_error *err)
{
    const char *uri = prg_json_get_text(prg_json_item(uris, 0), "uri");
    const char *name = prg_json_get_text(s->predictor, "storageContainerName");
    if (prg_storage_container_for(prg_storage_containers(s->arena, s->in->store), uri ? uri : "", name, ret, err) !=
        PRG_OK)
        return prg_wrap(err, "failed to get storage container spec");
    return PRG_OK;
}

int prg_serving_check_storage_uris(struct prg_serving *s, struct prg_error *err)
{
    const cJSON *uris = prg_json_get(s->predictor, "storageUris"), *container = NULL;
    return prg_json_count(uris) ? find_container(s, uris, &container, err) : PRG_OK;
}

// Without a storage initializer only what is mounted remains.
static const cJSON *without_loaded(struct prg_serving *s, const cJSON *uris)
{
    cJSON *kept = prg_json_array(s->arena);
    const cJSON *entry;
    prg_json_each (entry, uris) {
        const char *uri = prg_json_get_text(entry, "uri");
        if (!uri || prg_initializer_loads(s->config, uri))
            prg_plan_trace(s->plan, "storage", NULL, uri ? uri : "", "dropped",
                           "the runtime loads models itself (storageHelper.disabled)");
        else
            prg_json_append(kept, prg_json_copy(s->arena, entry));
    }
    return kept;
}

int prg_serving_storage_uris(struct prg_serving *s, cJSON *pod_spec, const cJSON *annotations, struct prg_error *err)
{
    const cJSON *uris = prg_json_get(s->predictor, "storageUris"), *container = NULL;
    const cJSON *storage = prg_predictor_storage(s->predictor);
    char text[PRG_ERROR_LINE];
    if (prg_json_count(uris) == 0)
        return PRG_OK;
    if (find_container(s, uris, &container, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    if (s->no_initializer)
        uris = without_loaded(s, uris);
    struct prg_initializer in = {
        .arena = s->arena,
        .store = s->in->store,
        .config = s->config,
        .ns = s->ns,
        .annotations = annotations,
        .uris = uris,
        .storage_key = prg_json_get(storage, "key"),
        .storage_parameters = prg_json_get(storage, "parameters"),
        .storage_container = container,
    };
    trace_uris(s, uris, container);
    struct prg_error failure = {0};
    if (prg_initializer_apply(&in, pod_spec, &failure) == PRG_OK)
        return PRG_OK;
    if (s->mode == PRG_MODE_KNATIVE) {
        // The original logs it and goes on with what was done until then; here somebody can see it.
        const char *what = prg_error_text(&failure, text, sizeof(text));
        prg_plan_add_event(s->plan, "Warning", "StorageNotSetUp", "storageUris: %s", what);
        prg_plan_trace(s->plan, "storage", NULL, "storageUris", "failed", prg_arena_strdup(s->arena, what));
        return PRG_OK;
    }
    if (err)
        *err = failure;
    return failure.code;
}
