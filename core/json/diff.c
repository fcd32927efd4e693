// SPDX-License-Identifier: Apache-2.0
// diff.c: two trees walked side by side.
#include "json/diff.h"

#include "json/index.h"
#include "json/pointer.h"

struct differ {
    prg_diff_fn fn;
    void *ctx;
    struct prg_strbuf pointer;
    size_t count;
};

static void report(struct differ *differ, const cJSON *from, const cJSON *to)
{
    differ->count++;
    if (!differ->fn)
        return;
    struct prg_diff_entry entry = {differ->pointer.text, from, to};
    differ->fn(&entry, differ->ctx);
}

static void diff_values(struct differ *differ, const cJSON *from, const cJSON *to);

static void diff_members(struct differ *differ, const cJSON *from, const cJSON *to)
{
    size_t length = differ->pointer.length;
    struct prg_json_index by_key;
    const cJSON *member;
    prg_json_index_members(&by_key, to);
    prg_json_each (member, from) {
        prg_pointer_push(&differ->pointer, member->string);
        diff_values(differ, member, prg_json_index_get(&by_key, member->string));
        prg_strbuf_truncate(&differ->pointer, length);
    }
    prg_json_index_release(&by_key);
    prg_json_index_members(&by_key, from);
    prg_json_each (member, to) {
        if (prg_json_index_get(&by_key, member->string))
            continue;
        prg_pointer_push(&differ->pointer, member->string);
        report(differ, NULL, member);
        prg_strbuf_truncate(&differ->pointer, length);
    }
    prg_json_index_release(&by_key);
}

static void diff_items(struct differ *differ, const cJSON *from, const cJSON *to)
{
    size_t length = differ->pointer.length, index = 0;
    const cJSON *x = from->child, *y = to->child;
    for (; x || y; x = x ? x->next : NULL, y = y ? y->next : NULL) {
        prg_pointer_push_index(&differ->pointer, index++);
        diff_values(differ, x, y);
        prg_strbuf_truncate(&differ->pointer, length);
    }
}

static void diff_values(struct differ *differ, const cJSON *from, const cJSON *to)
{
    if (prg_json_is_object(from) && prg_json_is_object(to))
        diff_members(differ, from, to);
    else if (prg_json_is_array(from) && prg_json_is_array(to))
        diff_items(differ, from, to);
    else if (!prg_json_equal(from, to))
        report(differ, from, to);
}

size_t prg_diff(const cJSON *from, const cJSON *to, prg_diff_fn fn, void *ctx)
{
    struct differ differ = {.fn = fn, .ctx = ctx, .pointer = PRG_STRBUF_INIT};
    diff_values(&differ, from, to);
    prg_strbuf_release(&differ.pointer);
    return differ.count;
}
