// SPDX-License-Identifier: Apache-2.0
// quantity.h: resource.Quantity, exact. Source: apimachinery pkg/api/resource; answers in
// tests/cases/tables/quantity_*.json.
//
// Bounds: amounts from 10^60 on and texts of more than 1000 characters are refused (Go knows no bound). Finer than
// 10^-9 is rounded away from zero, as in Go.
#pragma once
#include "json/value.h"

enum prg_quantity_format { PRG_QUANTITY_DECIMAL_SI, PRG_QUANTITY_BINARY_SI, PRG_QUANTITY_DECIMAL_EXPONENT };

// Private; see quantity.c. A zeroed struct is the quantity 0.
struct prg_quantity {
    uint64_t nano[4]; // magnitude in units of 10^-9, lowest part first
    bool is_negative; // never of zero
    bool is_dec;      // Go holds it as an inf.Dec, not as an int64 with a scale
    int scale;        // of Go's form: power of ten of the int64, or decimal places of the inf.Dec
    enum prg_quantity_format format;
};

// PRG_INVALID with the text when it is not a quantity. White space is not trimmed.
int prg_quantity_parse(const char *text, size_t length, struct prg_quantity *ret, struct prg_error *err) PRG_MUST_USE;
// Of a JSON node, as Go's UnmarshalJSON: a string (spaces around it are fine), a number, or null for 0.
int prg_quantity_of(const cJSON *node, struct prg_quantity *ret, struct prg_error *err) PRG_MUST_USE;

// What text becomes when Go reads and writes an object that holds it: 0.5 is 500m, 2048Mi is 2Gi, 8.874 stays. Spaces
// around it are dropped. In arena.
int prg_quantity_canonical(struct prg_arena *arena, const char *text, const char **ret,
                           struct prg_error *err) PRG_MUST_USE;
// True for what nearly all quantities are, one to three digits and a usual suffix: these are canonical as they are.
bool prg_quantity_is_plain(const char *text, size_t length);
// Canonical form of a computed value: no fraction, the largest suffix that loses nothing. Differs from Go 0.36 where
// that drops a power of ten beyond 10^18 (1000E is 1e21 here and in later versions, not 1).
char *prg_quantity_print(struct prg_arena *arena, const struct prg_quantity *quantity);

// Go's Value and MilliValue: whole units or thousandths, rounded up (away from zero while Go holds an int64). Beyond
// int64 they are what Go returns there, mostly 0 or a remainder; see the _saturated form for a number one can use.
int64_t prg_quantity_value(const struct prg_quantity *quantity);
int64_t prg_quantity_milli_value(const struct prg_quantity *quantity);
// Whole units, rounded away from zero, INT64_MAX or INT64_MIN when out of range.
int64_t prg_quantity_value_saturated(const struct prg_quantity *quantity);

bool prg_quantity_is_zero(const struct prg_quantity *quantity);
int prg_quantity_sign(const struct prg_quantity *quantity);
int prg_quantity_compare(const struct prg_quantity *a, const struct prg_quantity *b);
// Format of a, or of b when a is zero. Saturates far beyond any quantity that parses.
struct prg_quantity prg_quantity_add(const struct prg_quantity *a, const struct prg_quantity *b);
struct prg_quantity prg_quantity_sub(const struct prg_quantity *a, const struct prg_quantity *b);
