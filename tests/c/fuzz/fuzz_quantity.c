// SPDX-License-Identifier: Apache-2.0
// fuzz_quantity.c: any text as a quantity; what parses keeps its value when it is printed, added and taken away.
#include "fuzz.h"

#include "object/quantity.h"

static struct prg_quantity reparse(const char *text)
{
    struct prg_quantity q = {.scale = 0};
    prg_require(prg_quantity_parse(text, strlen(text), &q, NULL) == PRG_OK);
    return q;
}

static void check_rounding(const struct prg_quantity *q)
{
    int64_t whole = prg_quantity_value_saturated(q);
    prg_require((whole > 0) - (whole < 0) == prg_quantity_sign(q));
    (void)prg_quantity_value(q);
    (void)prg_quantity_milli_value(q);
}

// Two quantities with a line feed between them.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    const char *text = (const char *)data;
    const char *line = memchr(data, '\n', size);
    size_t first = line ? (size_t)(line - text) : size;
    struct prg_quantity a, b = {.scale = 0};

    prg_arena_init(&arena);
    if (prg_quantity_parse(text, first, &a, NULL) != PRG_OK)
        return 0;
    const char *printed = prg_quantity_print(&arena, &a);
    struct prg_quantity again = reparse(printed);
    prg_require(prg_quantity_compare(&a, &again) == 0);
    prg_require(strcmp(prg_quantity_print(&arena, &again), printed) == 0);
    const char *canonical;
    prg_require(prg_quantity_canonical(&arena, prg_arena_strndup(&arena, text, first), &canonical, NULL) == PRG_OK);
    again = reparse(canonical);
    prg_require(prg_quantity_compare(&a, &again) == 0);
    check_rounding(&a);

    if (line && prg_quantity_parse(line + 1, size - first - 1, &b, NULL) != PRG_OK)
        return 0;
    struct prg_quantity sum = prg_quantity_add(&a, &b), back = prg_quantity_sub(&sum, &b);
    prg_require(prg_quantity_compare(&back, &a) == 0);
    check_rounding(&sum);
    return 0;
}
