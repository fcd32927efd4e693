// SPDX-License-Identifier: Apache-2.0
// policy_support.h: fixtures of the policy tests: scripts, folders of policy files, plans.
#pragma once
#include "support/support.h"

#include "policy/policy.h"

// Runs code with global `input`; NULL text: without input. Fails the test when the script fails.
cJSON *run_script(struct prg_arena *arena, const char *code, const char *input_json);
// The same for a script that must fail; returns the whole error text.
const char *script_error(struct prg_arena *arena, const char *code, const char *input_json,
                         const struct prg_policy_limits *limits);
#define assert_script(arena, code, input, want) assert_json_text((arena), run_script((arena), (code), (input)), (want))
#define assert_script_error(arena, code, part) assert_text_has(script_error((arena), (code), NULL, NULL), (part))
#define assert_text_has(text, part) assert_text_has_at((text), (part), __FILE__, __LINE__)
void assert_text_has_at(const char *text, const char *part, const char *file, int line);

// A new folder under /tmp; name, text, name, text …, NULL.
char *policy_folder(struct prg_arena *arena, ...) __attribute__((sentinel));
void remove_folder(const char *folder);

// A set over the folder (NULL: shipped only). Fails the test when it does not load.
struct prg_policy_set *load_set(const char *folder);
// The errors of a set that must not load, one a line.
const char *load_errors(struct prg_arena *arena, const char *folder);

// Arena set-up for cmocka: *state is a struct prg_arena *.
int set_up_arena(void **state);
int tear_down_arena(void **state);
