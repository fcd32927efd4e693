// SPDX-License-Identifier: Apache-2.0
// typecheck.c: refusing objects whose fields have wrong types.
#include "serving/typecheck.h"

struct type_check {
    struct prg_arena *arena;
    const char *what;
    struct prg_error *err;
    int rc;
};

static void report(const struct prg_schema_finding *finding, void *ctx)
{
    struct type_check *check = ctx;
    struct prg_json_position position = prg_json_position(finding->node);
    if (finding->problem != PRG_PROBLEM_WRONG_TYPE || check->rc != PRG_OK)
        return;
    const char *where =
        position.line ? prg_arena_printf(check->arena, " (line %u, column %u)", position.line, position.column) : "";
    check->rc =
        prg_fail(check->err, PRG_INVALID, "%s: %s: expected %s, got %s%s", check->what, finding->pointer,
                 finding->expected ? finding->expected : "another type", prg_json_type_name(finding->node), where);
}

int prg_check_types(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *object, const char *what,
                    struct prg_error *err)
{
    struct type_check check = {arena, what, err, PRG_OK};
    prg_schema_check(schema, object, report, &check);
    return check.rc;
}
