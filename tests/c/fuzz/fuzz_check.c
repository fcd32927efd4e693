// SPDX-License-Identifier: Apache-2.0
// fuzz_check.c: any text can be looked at, and every text that Lua compiles is one that core/check can read.
#include "fuzz.h"

#include "check/check.h"
#include "check/syntax.h"

static void visit(const struct prg_check_finding *finding, void *ctx)
{
    (void)ctx;
    prg_require(finding->line > 0 && finding->column > 0 && finding->message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size ? (const char *)data : "";
    struct prg_script *script = NULL;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_lua_tree *tree = prg_lua_parse(&arena, text, size);
    if (!tree && prg_script_load("x.lua", text, size, NULL, &script, NULL) == PRG_OK)
        prg_require(!"Lua compiles what core/check cannot read");
    prg_script_free(script);
    prg_lua_tree_release(tree);
    prg_check_text("x.lua", text, size, PRG_CHECK_POLICY, visit, NULL);
    return 0;
}
