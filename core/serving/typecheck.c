// SPDX-License-Identifier: Apache-2.0
// typecheck.c: refusing objects whose fields have wrong types.
#include "serving/typecheck.h"

#include <string.h>

struct type_check {
    struct prg_arena *arena;
    const char *pointer; // of the finding told; NULL: there is none yet
    const char *expected;
    const cJSON *node;
};

// Of several findings the one with the least pointer is told: the same one in whatever order the members are written.
static void note(const struct prg_schema_finding *finding, void *ctx)
{
    struct type_check *check = ctx;
    if (finding->problem != PRG_PROBLEM_WRONG_TYPE || (check->pointer && strcmp(check->pointer, finding->pointer) <= 0))
        return;
    check->pointer = prg_arena_strdup(check->arena, finding->pointer);
    check->expected = finding->expected ? finding->expected : "another type";
    check->node = finding->node;
}

int prg_check_types(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *object, const char *what,
                    struct prg_error *err)
{
    struct type_check check = {.arena = arena};
    prg_schema_check(schema, object, note, &check);
    if (!check.pointer)
        return PRG_OK;
    // Not where it stands in its file: the same object has to give the same plan wherever it was read from.
    return prg_fail(err, PRG_INVALID, "%s: %s: expected %s, got %s", what, check.pointer, check.expected,
                    prg_json_type_name(check.node));
}
