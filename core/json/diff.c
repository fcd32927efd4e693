// SPDX-License-Identifier: Apache-2.0
// diff.c: two trees walked side by side.
#include "json/diff.h"

#include <string.h>

#include "json/index.h"
#include "json/pointer.h"

struct differ {
    prg_diff_fn fn;
    void *ctx;
    struct prg_strbuf pointer; // of the entry that is told
    size_t count;
};

static void report(struct differ *differ, const struct prg_step *at, const cJSON *from, const cJSON *to)
{
    differ->count++;
    if (!differ->fn)
        return;
    prg_strbuf_truncate(&differ->pointer, 0);
    prg_pointer_push_steps(&differ->pointer, at);
    struct prg_diff_entry entry = {differ->pointer.text, from, to};
    differ->fn(&entry, differ->ctx);
}

static void diff_values(struct differ *differ, const struct prg_step *at, const cJSON *from, const cJSON *to);

// Mostly both sides list their members in the same order: the one behind the last match is looked at first.
static void diff_members(struct differ *differ, const struct prg_step *up, const cJSON *from, const cJSON *to)
{
    struct prg_step at = {.up = up};
    struct prg_json_index by_key;
    const cJSON *member, *likely = to->child;
    size_t common = 0;
    prg_json_index_members(&by_key, to);
    prg_json_each (member, from) {
        bool is_likely = likely && strcmp(likely->string, member->string) == 0;
        const cJSON *other = is_likely ? likely : prg_json_index_get(&by_key, member->string);
        if (other) {
            likely = other->next;
            common++;
        }
        at.key = member->string;
        diff_values(differ, &at, member, other);
    }
    prg_json_index_release(&by_key);
    if (common == prg_json_count(to))
        return;
    prg_json_index_members(&by_key, from);
    prg_json_each (member, to) {
        at.key = member->string;
        if (!prg_json_index_get(&by_key, member->string))
            report(differ, &at, NULL, member);
    }
    prg_json_index_release(&by_key);
}

static void diff_items(struct differ *differ, const struct prg_step *up, const cJSON *from, const cJSON *to)
{
    struct prg_step at = {.up = up};
    const cJSON *x = from->child, *y = to->child;
    for (; x || y; x = x ? x->next : NULL, y = y ? y->next : NULL, at.index++)
        diff_values(differ, &at, x, y);
}

static void diff_values(struct differ *differ, const struct prg_step *at, const cJSON *from, const cJSON *to)
{
    if (prg_json_is_object(from) && prg_json_is_object(to))
        diff_members(differ, at, from, to);
    else if (prg_json_is_array(from) && prg_json_is_array(to))
        diff_items(differ, at, from, to);
    else if (!prg_json_equal(from, to))
        report(differ, at, from, to);
}

size_t prg_diff(const cJSON *from, const cJSON *to, prg_diff_fn fn, void *ctx)
{
    struct differ differ = {.fn = fn, .ctx = ctx, .pointer = PRG_STRBUF_INIT};
    diff_values(&differ, NULL, from, to);
    prg_strbuf_release(&differ.pointer);
    return differ.count;
}
