// SPDX-License-Identifier: Apache-2.0
// fuzz_pointer.c: the first line as a pointer into the JSON document of the rest; and every node of the document has a
// pointer that leads to it.
#include "fuzz.h"

#include "json/pointer.h"

static void check_nodes(const cJSON *root, const cJSON *node, struct prg_strbuf *pointer)
{
    size_t length = pointer->length, index = 0;
    const cJSON *item;
    prg_require(prg_pointer_is_valid(pointer->text) && prg_pointer_get(root, pointer->text) == node);
    prg_json_each (item, node) {
        if (prg_json_is_object(node))
            prg_pointer_push(pointer, item->string);
        else
            prg_pointer_push_index(pointer, index++);
        check_nodes(root, item, pointer);
        prg_strbuf_truncate(pointer, length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    size_t length = line ? (size_t)(line - text) : size;
    const char *pointer = prg_arena_strndup(&arena, text, length);
    bool is_valid = prg_pointer_is_valid(pointer);
    cJSON *root = NULL;
    if (!line || prg_json_parse(&arena, line + 1, size - length - 1, NULL, &root, NULL) != PRG_OK)
        return 0;
    prg_require(is_valid || !prg_pointer_get(root, pointer));
    prg_auto_strbuf walked = PRG_STRBUF_INIT;
    if (size < 4096) // quadratic
        check_nodes(root, root, &walked);
    return 0;
}
