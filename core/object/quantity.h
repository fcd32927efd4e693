// SPDX-License-Identifier: Apache-2.0
// quantity.h: resource.Quantity, exact. Source: apimachinery pkg/api/resource; answers in
// tests/cases/tables/quantity_*.json.
#pragma once
#include "json/value.h"

enum prg_quantity_format { PRG_QUANTITY_DECIMAL_SI, PRG_QUANTITY_BINARY_SI, PRG_QUANTITY_DECIMAL_EXPONENT };

struct prg_quantity {
    // value = digits (a decimal integer of any size the parser accepts) scaled by 10^exponent; see quantity.c for the
    // representation
    __int128 unscaled; // value * 10^-exponent
    int exponent;
    enum prg_quantity_format format;
};

// PRG_INVALID with the text when it is not a quantity.
int prg_quantity_parse(const char *text, size_t length, struct prg_quantity *ret, struct prg_error *err) PRG_MUST_USE;
// The text Go prints for a quantity it has parsed from `text` (it keeps some texts as they are). In arena.
int prg_quantity_canonical(struct prg_arena *arena, const char *text, const char **ret,
                           struct prg_error *err) PRG_MUST_USE;
char *prg_quantity_print(struct prg_arena *arena,
                         const struct prg_quantity *quantity);         // canonical form of a computed value
int64_t prg_quantity_value(const struct prg_quantity *quantity);       // rounded up (away from zero), saturating
int64_t prg_quantity_milli_value(const struct prg_quantity *quantity); // the same in thousandths
bool prg_quantity_is_zero(const struct prg_quantity *quantity);
int prg_quantity_sign(const struct prg_quantity *quantity);
int prg_quantity_compare(const struct prg_quantity *a, const struct prg_quantity *b);
struct prg_quantity prg_quantity_add(const struct prg_quantity *a,
                                     const struct prg_quantity *b); // format of a, or of b when a is zero
struct prg_quantity prg_quantity_sub(const struct prg_quantity *a, const struct prg_quantity *b);
// Of a JSON string or number node.
int prg_quantity_of(const cJSON *node, struct prg_quantity *ret, struct prg_error *err) PRG_MUST_USE;
