// SPDX-License-Identifier: Apache-2.0
// fuzz_json.c: any bytes through the JSON reader; what it accepts prints and reads back to the same tree.
#include "fuzz.h"

#include <stdlib.h>

static void check_number(const cJSON *node)
{
    int64_t whole;
    if (!prg_json_int64(node, &whole))
        return;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    prg_require(prg_json_equal(node, prg_json_int(&arena, whole)));
}

static void check_nodes(const cJSON *node, unsigned depth)
{
    const cJSON *item, *last = NULL;
    struct prg_json_position position = prg_json_position(node);
    prg_require(depth <= PRG_JSON_DEPTH && position.line > 0 && position.column > 0);
    check_number(node);
    if (prg_json_is_string(node))
        prg_require(prg_json_text(node)[prg_json_text_length(node)] == '\0');
    prg_json_each (item, node) {
        prg_require(!last || item->prev == last);
        if (prg_json_is_object(node))
            prg_require(prg_json_get(node, item->string) == item);
        check_nodes(item, depth + 1);
        last = item;
    }
    if (node->child)
        prg_require(node->child->prev == last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned flags[] = {PRG_JSON_COMPACT, PRG_JSON_PRETTY, PRG_JSON_SORTED, PRG_JSON_ESCAPE_HTML};
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_error err = {0};
    cJSON *tree = NULL, *again = NULL;
    if (prg_json_parse(&arena, (const char *)data, size, NULL, &tree, &err) != PRG_OK) {
        prg_require(prg_text_has_prefix(err.frame[0].text, "line ") && !tree);
        return 0;
    }
    check_nodes(tree, 0);
    prg_require(prg_json_equal(tree, prg_json_copy(&arena, tree)));
    for (size_t i = 0; i < PRG_COUNT(flags); i++) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        prg_json_print(&text, tree, flags[i]);
        prg_require(prg_json_parse(&arena, text.text, text.length, NULL, &again, NULL) == PRG_OK);
        prg_require(prg_json_equal(tree, again) && prg_json_equal(again, tree));
        prg_require(prg_json_digest(tree) == prg_json_digest(again));
    }
    return 0;
}
