// SPDX-License-Identifier: Apache-2.0
// policy_status.c: the ConfigMap perigee-status.
#include "controller/policy_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/utf8.h"
#include "object/meta.h"
#include "yaml/dump.h"
#include "yaml/load.h"

enum {
    MESSAGE_BYTES = 4000,
    STATUS_BYTES = 256 << 10, // an API server takes 1 MiB; further sets are left out
    FIRST_RETRY_MS = 1000,
    MOST_RETRY_MS = 60000,
    SLOW_RETRY_MS = 600000, // forbidden
};

static const char type[] = "PolicySetAccepted";

struct prg_policy_status {
    const char *ns;
    struct prg_policy_life *life;
    struct prg_store *store;
    void (*wake)(void *ctx);
    void *ctx;
    bool is_working, is_dirty, is_writing;
    uint64_t not_before_ms, retry_ms;
    char problem[PRG_ERROR_LINE]; // as last logged
};

struct prg_policy_status *prg_policy_status_new(const char *ns, struct prg_policy_life *life, struct prg_store *store,
                                                void (*wake)(void *ctx), void *ctx)
{
    struct prg_policy_status *status = prg_xcalloc(1, sizeof(*status));
    *status =
        (struct prg_policy_status){.ns = ns, .life = life, .store = store, .wake = wake, .ctx = ctx, .is_dirty = true};
    return status;
}

// ---- the object ----

struct listing {
    const struct prg_policy_status *status;
    struct prg_arena *arena;
    struct prg_map before; // of what is stored: set -> its entry
    const char *now;
    struct prg_strbuf text;
    size_t left_out;
};

// Since when the condition has been what it is.
static const char *since(const struct listing *listing, const char *set, const char *value)
{
    const cJSON *condition;
    prg_json_each (condition, prg_json_get(prg_map_get(&listing->before, set), "conditions")) {
        const char *time = prg_json_get_text(condition, "lastTransitionTime");
        if (time && prg_text_equal(prg_json_get_text(condition, "type"), type) &&
            prg_text_equal(prg_json_get_text(condition, "status"), value))
            return time;
    }
    return listing->now;
}

static void add_set(const struct prg_policy_life_state *state, void *ctx)
{
    struct listing *listing = ctx;
    struct prg_arena *arena = listing->arena;
    const char *set = state->ns ? prg_arena_printf(arena, "namespace %s", state->ns)
                                : prg_policy_life_describe(listing->status->life, arena);
    const char *value = state->is_refused ? "False" : "True";
    cJSON *list = prg_json_array(arena), *entry = prg_json_object(arena), *conditions = prg_json_array(arena),
          *condition = prg_json_object(arena);
    prg_json_set_string(arena, entry, "set", set);
    prg_json_set_string(arena, entry, "revision", state->revision);
    prg_json_set_string(arena, condition, "type", type);
    prg_json_set_string(arena, condition, "status", value);
    prg_json_set_string(arena, condition, "reason", state->is_refused ? "PolicySetRefused" : "PolicySetActive");
    prg_json_set_string(arena, condition, "message",
                        prg_arena_strndup(arena, state->problem, prg_utf8_cut(state->problem, MESSAGE_BYTES)));
    prg_json_set_string(arena, condition, "lastTransitionTime", since(listing, set, value));
    prg_json_append(conditions, condition);
    prg_json_set(arena, entry, "conditions", conditions);
    prg_json_append(list, entry);
    size_t length = listing->text.length;
    prg_yaml_dump(&listing->text, list);
    if (listing->text.length > STATUS_BYTES) {
        prg_strbuf_truncate(&listing->text, length);
        listing->left_out++;
    }
}

static void read_stored(struct prg_arena *arena, const char *text, struct prg_map *ret)
{
    const cJSON *entry;
    struct prg_yaml_docs docs = {0};
    struct prg_error ignored = {0};
    bool is_read = text && prg_yaml_load(arena, "status", text, strlen(text), NULL, &docs, &ignored) == PRG_OK;
    prg_json_each (entry, is_read && docs.count == 1 && prg_json_is_array(docs.items[0]) ? docs.items[0] : NULL) {
        const char *set = prg_json_get_text(entry, "set");
        if (set)
            prg_map_put(ret, set, (void *)(uintptr_t)entry);
    }
}

static cJSON *make_object(const struct prg_policy_status *status, struct prg_arena *arena, const char *text)
{
    cJSON *object = prg_json_object(arena), *meta = prg_json_ensure_object(arena, object, "metadata");
    prg_json_set_string(arena, object, "apiVersion", "v1");
    prg_json_set_string(arena, object, "kind", "ConfigMap");
    prg_json_set_string(arena, meta, "name", PRG_POLICY_STATUS_NAME);
    prg_json_set_string(arena, meta, "namespace", status->ns);
    prg_json_set_string(arena, prg_json_ensure_object(arena, meta, "labels"), "app.kubernetes.io/managed-by",
                        "perigee");
    prg_json_set_string(arena, prg_json_ensure_object(arena, object, "data"), "policies", text);
    return object;
}

// ---- writing ----

static void plan_retry(struct prg_policy_status *status, const struct prg_write_outcome *outcome)
{
    status->is_dirty = outcome->retry != PRG_RETRY_ON_CHANGE;
    status->retry_ms = outcome->retry == PRG_RETRY_SLOWLY ? SLOW_RETRY_MS
                       : !status->retry_ms                ? FIRST_RETRY_MS
                                                          : status->retry_ms * 2;
    if (outcome->retry != PRG_RETRY_SLOWLY && status->retry_ms > MOST_RETRY_MS)
        status->retry_ms = MOST_RETRY_MS;
    if (status->retry_ms < outcome->retry_after_ms)
        status->retry_ms = outcome->retry_after_ms;
    status->not_before_ms = prg_process_now_ms() + status->retry_ms;
}

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    struct prg_policy_status *status = ctx;
    char text[PRG_ERROR_LINE] = "";
    status->is_writing = false;
    if (outcome->result == PRG_WRITE_FAILED) {
        prg_error_text(outcome->err, text, sizeof(text));
        if (strcmp(text, status->problem) != 0)
            prg_log(PRG_LOG_WARNING, "the conditions of the policy sets cannot be written", "configmap",
                    PRG_POLICY_STATUS_NAME, "namespace", status->ns, "error", text, NULL);
        plan_retry(status, outcome);
    } else {
        status->retry_ms = status->not_before_ms = 0;
    }
    snprintf(status->problem, sizeof(status->problem), "%s", text);
    status->wake(status->ctx);
}

static void write_status(struct prg_policy_status *status, int64_t wall_ns)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    char now[PRG_CLOCK_TEXT];
    const cJSON *stored = prg_reader_get(&status->store->reader, "", "ConfigMap", status->ns, PRG_POLICY_STATUS_NAME);
    const char *before = prg_json_get_text(prg_json_get(stored, "data"), "policies");
    struct listing listing = {
        .status = status, .arena = &arena, .now = prg_clock_format(wall_ns, now), .text = PRG_STRBUF_INIT};
    prg_map_init(&listing.before);
    read_stored(&arena, before, &listing.before);
    prg_policy_life_each(status->life, add_set, &listing);
    prg_map_release(&listing.before);
    if (listing.left_out)
        prg_strbuf_printf(&listing.text, "# and %zu more\n", listing.left_out);
    status->is_dirty = false;
    if (!prg_text_equal(before, listing.text.text)) {
        struct prg_write_request request = {
            .kind = PRG_WRITE_APPLY, .object = make_object(status, &arena, listing.text.text), .stored = stored};
        status->is_writing = true;
        prg_store_write(status->store, &request, on_written, status);
    }
    prg_strbuf_release(&listing.text);
}

// ---- as a part of the process ----

static void touch(void *ctx)
{
    struct prg_policy_status *status = ctx;
    status->is_dirty = true;
    status->wake(status->ctx);
}

static void start(uv_loop_t *loop, void *ctx)
{
    struct prg_policy_status *status = ctx;
    (void)loop;
    prg_policy_life_on_told(status->life, touch, status);
}

static void work(bool is_working, void *ctx)
{
    struct prg_policy_status *status = ctx;
    status->is_working = is_working;
    status->is_dirty = true; // another replica may have written meanwhile
    status->not_before_ms = 0;
}

static void changed(const struct prg_key *key, uint64_t now_ms, void *ctx)
{
    struct prg_policy_status *status = ctx;
    (void)now_ms;
    if (!*key->group && strcmp(key->kind, "ConfigMap") == 0 && strcmp(key->name, PRG_POLICY_STATUS_NAME) == 0 &&
        strcmp(key->ns, status->ns) == 0)
        status->is_dirty = true;
}

static bool is_due(const struct prg_policy_status *status)
{
    return status->is_working && status->is_dirty && !status->is_writing;
}

static void run(uint64_t now_ms, int64_t wall_ns, void *ctx)
{
    struct prg_policy_status *status = ctx;
    if (is_due(status) && now_ms >= status->not_before_ms)
        write_status(status, wall_ns);
}

static int64_t next_ms(uint64_t now_ms, void *ctx)
{
    const struct prg_policy_status *status = ctx;
    if (!is_due(status))
        return -1;
    return now_ms >= status->not_before_ms ? 0 : (int64_t)(status->not_before_ms - now_ms);
}

static size_t open_count(void *ctx)
{
    return ((const struct prg_policy_status *)ctx)->is_writing;
}

static void release(void *ctx)
{
    struct prg_policy_status *status = ctx;
    prg_policy_life_on_told(status->life, NULL, NULL);
    prg_store_cancel(status->store, status);
    free(status);
}

const struct prg_part prg_policy_status_part = {.name = "policy status",
                                                .start = start,
                                                .work = work,
                                                .changed = changed,
                                                .run = run,
                                                .next_ms = next_ms,
                                                .open = open_count,
                                                .free = release};
