// SPDX-License-Identifier: Apache-2.0
// support.h: what C tests share. Include this instead of cmocka.h (which needs other headers before it).
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/value.h"

// JSON text to a tree; fails the test itself when it does not parse. Single quotes stand for double quotes when text
// has no double quote.
cJSON *json_of(struct prg_arena *arena, const char *text);
// Fails the test with both texts (sorted) when the trees differ.
#define assert_json_equal(got, want) assert_json_equal_at((got), (want), __FILE__, __LINE__)
void assert_json_equal_at(const cJSON *got, const cJSON *want, const char *file, int line);
#define assert_json_text(arena, got, text) assert_json_equal((got), json_of((arena), (text)))
// rc is PRG_OK, else fails the test printing err.
#define assert_ok(rc, err) assert_ok_at((rc), (err), __FILE__, __LINE__)
void assert_ok_at(int rc, const struct prg_error *err, const char *file, int line);
// The whole text of err contains part.
#define assert_error_has(err, part) assert_error_has_at((err), (part), __FILE__, __LINE__)
void assert_error_has_at(const struct prg_error *err, const char *part, const char *file, int line);
// Reads a file below tests/ ("cases/tables/quantity_parse.json"); tests run in tests/.
char *read_test_file(struct prg_arena *arena, const char *path, size_t *ret_length);
cJSON *read_test_json(struct prg_arena *arena, const char *path);
// Runs fn in a child; returns its exit code and what it said on standard error.
int exit_of(void (*fn)(void), char *said, size_t size);
// The same of one that has to die of a signal, which it returns.
int death_of(void (*fn)(void), char *said, size_t size);
