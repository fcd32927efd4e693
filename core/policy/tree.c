// SPDX-License-Identifier: Apache-2.0
// tree.c: small trees for the arguments of policies.
#include "policy/tree.h"

#include <string.h>

struct prg_tree prg_tree_begin(struct prg_arena *arena)
{
    return (struct prg_tree){.arena = arena, .object = prg_json_object(arena)};
}

// Lists are linked as cJSON links them: the first child's prev is the last.
static void append(struct prg_tree *tree, const char *key, cJSON *node)
{
    node->string = (char *)key; // never written to
    node->next = NULL;
    if (tree->last) {
        node->prev = tree->last;
        tree->last->next = node;
    } else {
        tree->object->child = node;
    }
    tree->object->child->prev = node;
    tree->last = node;
}

void prg_tree_text(struct prg_tree *tree, const char *key, const char *text)
{
    if (!text)
        return;
    cJSON *node = prg_arena_new(tree->arena, cJSON);
    node->type = cJSON_String;
    node->valuestring = (char *)text; // never written to
    node->valueint = (int)strlen(text);
    append(tree, key, node);
}

void prg_tree_bool(struct prg_tree *tree, const char *key, bool value)
{
    append(tree, key, prg_json_bool(tree->arena, value));
}

void prg_tree_int(struct prg_tree *tree, const char *key, int64_t value)
{
    static const char digits[][2] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    if (value < 0 || value > 9) {
        append(tree, key, prg_json_int(tree->arena, value));
        return;
    }
    cJSON *node = prg_arena_new(tree->arena, cJSON);
    node->type = cJSON_Number;
    node->valuestring = (char *)digits[value]; // never written to
    append(tree, key, node);
}

void prg_tree_node(struct prg_tree *tree, const char *key, const cJSON *node)
{
    if (!node)
        return;
    cJSON *alias = prg_arena_new(tree->arena, cJSON);
    *alias = *node;
    append(tree, key, alias);
}
