// SPDX-License-Identifier: Apache-2.0
// slow_store.c: writes that wait.
#include "slow_store.h"

#include <stdlib.h>
#include <string.h>

#include "object/meta.h"
#include "store/store_mem.h"
#include "support/support.h"

static struct slow_store *of(const struct prg_reader *reader)
{
    return (struct slow_store *)(uintptr_t)reader;
}

static const cJSON *get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct prg_reader *inner = &of(reader)->inner->reader;
    return inner->get(inner, key);
}

static void list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                 prg_reader_visit_fn visit, void *ctx)
{
    const struct prg_reader *inner = &of(reader)->inner->reader;
    inner->list(inner, group, kind, ns, visit, ctx);
}

static const cJSON *copy(struct slow_write *write, const cJSON *object)
{
    return object ? prg_json_copy(&write->arena, object) : NULL;
}

static void start(struct prg_store *store, const struct prg_write_request *request, prg_write_fn fn, void *ctx)
{
    struct slow_store *slow = (struct slow_store *)store;
    struct slow_write *write = calloc(1, sizeof(*write));
    prg_arena_init(&write->arena);
    write->request = (struct prg_write_request){.kind = request->kind,
                                                .object = copy(write, request->object),
                                                .stored = copy(write, request->stored),
                                                .owned = request->owned};
    write->fn = fn;
    write->ctx = ctx;
    *(slow->last ? &slow->last->next : &slow->first) = write;
    slow->last = write;
    slow->open++;
}

static struct slow_write *take(struct slow_store *slow)
{
    struct slow_write *write = slow->first;
    assert_non_null(write);
    slow->first = write->next;
    if (!slow->first)
        slow->last = NULL;
    slow->open--;
    return write;
}

static void write_free(struct slow_write *write)
{
    prg_arena_release(&write->arena);
    free(write);
}

static void cancel(struct prg_store *store, void *ctx)
{
    for (struct slow_write *write = ((struct slow_store *)store)->first; write; write = write->next)
        if (write->ctx == ctx)
            write->fn = NULL;
}

static int record_event(struct prg_store *store, const struct prg_key *key, const struct prg_store_event *event,
                        int64_t now_ns, struct prg_error *err)
{
    struct prg_store *inner = ((struct slow_store *)store)->inner;
    return inner->ops->record_event(inner, key, event, now_ns, err);
}

void slow_store_init(struct slow_store *slow)
{
    static const struct prg_store_ops ops = {.start = start, .cancel = cancel, .record_event = record_event};
    *slow = (struct slow_store){.inner = prg_store_mem_new()};
    slow->store.reader = (struct prg_reader){.get = get, .list = list};
    slow->store.ops = &ops;
}

void slow_store_release(struct slow_store *slow)
{
    while (slow->first)
        write_free(take(slow));
    prg_store_free(slow->inner);
}

const struct slow_write *slow_store_next(const struct slow_store *slow)
{
    return slow->first;
}

struct told {
    struct prg_write_outcome outcome;
    struct prg_error err;
};

static void on_inner(const struct prg_write_outcome *outcome, void *ctx)
{
    struct told *told = ctx;
    told->outcome = *outcome;
    if (outcome->err) {
        told->err = *outcome->err;
        told->outcome.err = &told->err;
    }
}

void slow_store_answer(struct slow_store *slow, bool is_seen)
{
    struct slow_write *write = take(slow);
    struct told told = {.outcome = {.result = PRG_WRITE_CREATED}};
    const cJSON *named = write->request.object && write->request.kind <= PRG_WRITE_CREATE ? write->request.object
                                                                                          : write->request.stored;
    cJSON *answer = prg_json_copy(&write->arena, named);
    cJSON *metadata = prg_json_ensure_object(&write->arena, answer, "metadata");
    if (is_seen) {
        struct prg_key key;
        assert_int_equal(prg_key_of(&write->arena, answer, &key, NULL), PRG_OK);
        prg_store_write(slow->inner, &write->request, on_inner, &told);
        prg_store_deliver(slow->inner);
        const cJSON *written = slow->inner->reader.get(&slow->inner->reader, &key);
        if (written && write->request.kind > PRG_WRITE_CREATE) { // a patch or a status is in what is there now
            answer = prg_json_copy(&write->arena, written);
            metadata = prg_json_ensure_object(&write->arena, answer, "metadata");
        }
    }
    prg_json_set(&write->arena, metadata, "resourceVersion",
                 prg_json_stringf(&write->arena, "%zu", 100 + ++slow->versions));
    told.outcome.object = told.outcome.err || write->request.kind == PRG_WRITE_DELETE ? NULL : answer;
    if (is_seen && told.outcome.object)
        assert_int_equal(prg_store_mem_put(slow->inner, answer, false, true, NULL), PRG_OK);
    if (write->fn)
        write->fn(&told.outcome, write->ctx);
    write_free(write);
}

void slow_store_answer_all(struct slow_store *slow)
{
    while (slow->first)
        slow_store_answer(slow, true);
}

void slow_store_lose(struct slow_store *slow)
{
    struct slow_write *write = take(slow);
    struct told told = {.outcome = {.result = PRG_WRITE_CREATED}};
    struct prg_error err = {0};
    prg_store_write(slow->inner, &write->request, on_inner, &told);
    prg_store_deliver(slow->inner);
    prg_fail(&err, PRG_IO, "the connection broke");
    struct prg_write_outcome outcome = {
        .result = PRG_WRITE_FAILED, .err = &err, .retry = PRG_RETRY_SOON, .is_unknown = true};
    if (write->fn)
        write->fn(&outcome, write->ctx);
    write_free(write);
}

void slow_store_refuse(struct slow_store *slow, enum prg_write_retry retry, uint64_t retry_after_ms)
{
    slow_store_refuse_as(slow, PRG_IO, retry, retry_after_ms);
}

void slow_store_refuse_as(struct slow_store *slow, enum prg_code code, enum prg_write_retry retry,
                          uint64_t retry_after_ms)
{
    struct slow_write *write = take(slow);
    struct prg_error err = {0};
    prg_fail(&err, code, "refused");
    struct prg_write_outcome outcome = {
        .result = PRG_WRITE_FAILED, .err = &err, .retry = retry, .retry_after_ms = retry_after_ms};
    if (write->fn)
        write->fn(&outcome, write->ctx);
    write_free(write);
}
