// SPDX-License-Identifier: Apache-2.0
// store.c: writes with a callback over stores that write at once.
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "object/meta.h"
#include "json/merge.h"

struct prg_store_outcome {
    struct prg_store_outcome *next;
    prg_write_fn fn;
    void *ctx;
    enum prg_write_result result;
    struct prg_error err;
};

// One that was made anew under the same name is another object. Stores without uids have nothing to compare.
static int check_uid(const struct prg_store *store, const struct prg_key *key, const cJSON *stored,
                     const cJSON **ret_now, struct prg_error *err)
{
    const cJSON *now = store->reader.get(&store->reader, key);
    prg_auto_arena scratch = {0};
    if (!now)
        return prg_fail(err, PRG_NOTFOUND, "%s does not exist", prg_key_text(&scratch, key));
    if (*prg_meta_uid(stored) && strcmp(prg_meta_uid(now), prg_meta_uid(stored)) != 0)
        return prg_fail(err, PRG_CONFLICT, "%s was replaced: its uid is '%s', not '%s'", prg_key_text(&scratch, key),
                        prg_meta_uid(now), prg_meta_uid(stored));
    *ret_now = now;
    return PRG_OK;
}

static int patch(struct prg_store *store, const struct prg_key *key, const cJSON *now, const cJSON *merge_patch,
                 enum prg_write_result *ret, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    if (store->ops->patch)
        return store->ops->patch(store, key, merge_patch, ret, err);
    return store->ops->apply(store, prg_merge_apply(&arena, now, merge_patch), ret, err);
}

static int create(struct prg_store *store, const struct prg_key *key, const cJSON *object, enum prg_write_result *ret,
                  struct prg_error *err)
{
    *ret = PRG_WRITE_UNCHANGED;
    return store->reader.get(&store->reader, key) ? PRG_OK : store->ops->apply(store, object, ret, err);
}

static int delete_stored(struct prg_store *store, const struct prg_key *key, const char *uid,
                         enum prg_write_result *ret, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    return store->ops->remove(store, key, prg_arena_strdup(&arena, uid), ret, err);
}

static int write_known(struct prg_store *store, const struct prg_write_request *request, const struct prg_key *key,
                       enum prg_write_result *ret, struct prg_error *err)
{
    const cJSON *now;
    if (request->kind == PRG_WRITE_APPLY)
        return store->ops->apply(store, request->object, ret, err);
    if (request->kind == PRG_WRITE_CREATE)
        return create(store, key, request->object, ret, err);
    if (request->kind == PRG_WRITE_DELETE)
        return delete_stored(store, key, prg_meta_uid(request->stored), ret, err);
    int rc = check_uid(store, key, request->stored, &now, err);
    if (rc != PRG_OK)
        return rc;
    if (request->kind == PRG_WRITE_PATCH)
        return patch(store, key, now, request->object, ret, err);
    return store->ops->set_status(store, key, request->object, ret, err);
}

const char *prg_write_verb(enum prg_write_kind kind)
{
    static const char *const verbs[] = {"apply", "create", "patch", "status of", "delete"};
    return verbs[kind];
}

static int write_now(struct prg_store *store, const struct prg_write_request *request, enum prg_write_result *ret,
                     struct prg_error *err)
{
    prg_auto_arena arena = {0};
    struct prg_key key;
    // Texts of the key may be of the object that the write is about to replace.
    const cJSON *named = request->stored ? request->stored : request->object;
    int rc = prg_key_of(&arena, named ? prg_json_copy(&arena, named) : NULL, &key, err);
    if (rc != PRG_OK)
        return rc;
    rc = write_known(store, request, &key, ret, err);
    return rc == PRG_OK ? rc : prg_wrap(err, "%s %s", prg_write_verb(request->kind), prg_key_text(&arena, &key));
}

void prg_store_write(struct prg_store *store, const struct prg_write_request *request, prg_write_fn fn, void *ctx)
{
    if (store->ops->start) {
        store->ops->start(store, request, fn, ctx);
        return;
    }
    struct prg_store_outcome *outcome = prg_xcalloc(1, sizeof(*outcome));
    outcome->fn = fn;
    outcome->ctx = ctx;
    if (write_now(store, request, &outcome->result, &outcome->err) != PRG_OK)
        outcome->result = PRG_WRITE_FAILED;
    if (store->last)
        store->last->next = outcome;
    else
        store->first = outcome;
    store->last = outcome;
}

static struct prg_store_outcome *take_outcome(struct prg_store *store)
{
    struct prg_store_outcome *outcome = store->first;
    if (!outcome)
        return NULL;
    store->first = outcome->next;
    if (!store->first)
        store->last = NULL;
    return outcome;
}

void prg_store_cancel(struct prg_store *store, void *ctx)
{
    if (store->ops->cancel) {
        store->ops->cancel(store, ctx);
        return;
    }
    for (struct prg_store_outcome *outcome = store->first; outcome; outcome = outcome->next)
        if (outcome->ctx == ctx)
            outcome->fn = NULL;
}

size_t prg_store_deliver(struct prg_store *store)
{
    struct prg_store_outcome *outcome;
    size_t count = 0;
    while ((outcome = take_outcome(store))) {
        bool is_failed = outcome->result == PRG_WRITE_FAILED;
        struct prg_write_outcome told = {.result = outcome->result, .err = is_failed ? &outcome->err : NULL};
        if (outcome->fn) {
            outcome->fn(&told, outcome->ctx);
            count++;
        }
        free(outcome);
    }
    return count;
}

void prg_store_free(struct prg_store *store)
{
    struct prg_store_outcome *outcome;
    if (!store)
        return;
    while ((outcome = take_outcome(store)))
        free(outcome);
    store->ops->free(store);
}
