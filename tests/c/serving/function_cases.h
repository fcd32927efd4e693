// SPDX-License-Identifier: Apache-2.0
// function_cases.h: the recorded function cases (tests/cases/functions/NAME.ndjson), one a line: {"id", "in", "out"}.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

// Drops what the recording drops: nulls, empty objects under some keys, empty names (check_kserve.py, clean).
static inline void clean_case(cJSON *node)
{
    static const char *const empty_ones[] = {"resources", "strategy", "status", "metadata", "modelStatus"};
    bool is_object = prg_json_is_object(node);
    if (!is_object && !prg_json_is_array(node))
        return;
    for (cJSON *child = node->child, *next; child; child = next) {
        next = child->next;
        clean_case(child);
        bool is_dropped = prg_json_is_null(child) || (strcmp(child->string ? child->string : "", "name") == 0 &&
                                                      prg_json_is_string(child) && prg_json_text_length(child) == 0);
        for (size_t i = 0; i < PRG_COUNT(empty_ones) && child->string; i++)
            is_dropped |= strcmp(child->string, empty_ones[i]) == 0 && prg_json_is_object(child) && !child->child;
        if (is_object && is_dropped)
            prg_json_detach(node, child);
    }
}

static inline void assert_cleaned_equal(struct prg_arena *arena, const cJSON *got, const cJSON *want, int64_t id)
{
    cJSON *a = prg_json_copy(arena, got), *b = prg_json_copy(arena, want);
    clean_case(a);
    clean_case(b);
    if (!prg_json_equal(a, b))
        print_error("case %lld:\n", (long long)id);
    assert_json_equal(a, b);
}

typedef void (*function_case_fn)(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out);

// Runs check on every line; fails unless there are `expected` of them. Each line has an arena of its own.
static inline void each_function_case(const char *name, size_t expected, function_case_fn check)
{
    prg_auto_arena file = {0}, line = {0};
    size_t length, count = 0;
    prg_arena_init(&file);
    prg_arena_init(&line);
    const char *path = prg_arena_printf(&file, "cases/functions/%s.ndjson", name);
    const char *text = read_test_file(&file, path, &length), *end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t size = newline ? (size_t)(newline - text) : (size_t)(end - text);
        struct prg_error err = {0};
        cJSON *one;
        int64_t id = -1;
        if (size > 0) {
            assert_ok(prg_json_parse(&line, text, size, NULL, &one, &err), &err);
            assert_true(prg_json_get_int64(one, "id", &id));
            const cJSON *in = prg_json_get(one, "in");
            cJSON *untouched = prg_json_copy(&line, in);
            check(&line, id, in, prg_json_get(one, "out"));
            assert_json_equal(in, untouched); // pure functions leave their input alone
            count++;
        }
        prg_arena_reset(&line);
        text += size + 1;
    }
    assert_int_equal(count, expected);
}
