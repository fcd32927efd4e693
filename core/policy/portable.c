// SPDX-License-Identifier: Apache-2.0
// portable.c: sets to trees and back.
#include "policy/portable.h"

#include <string.h>

#include "base/utf8.h"
#include "policy/builtin.h"
#include "policy/set.h"

// ---- to a tree ----

static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t step = (unsigned char)text[i] < 0x80 ? 1 : prg_utf8_length(text + i, length - i);
        if (!step)
            return false;
        i += step;
    }
    return true;
}

static cJSON *file_to_json(struct prg_arena *arena, const char *name, const char *path, const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    cJSON *file = prg_json_object(arena);
    prg_json_set_string(arena, file, "name", name);
    prg_json_set_string(arena, file, "path", path);
    if (is_utf8(text, length)) {
        prg_json_set(arena, file, "text", prg_json_stringn(arena, text, length));
        return file;
    }
    char *hex = prg_arena_alloc(arena, length * 2 + 1);
    for (size_t i = 0; i < length; i++) {
        hex[i * 2] = digits[(unsigned char)text[i] >> 4];
        hex[i * 2 + 1] = digits[(unsigned char)text[i] & 15];
    }
    prg_json_set(arena, file, "hex", prg_json_stringn(arena, hex, length * 2));
    return file;
}

static cJSON *layer_to_json(struct prg_arena *arena, const struct prg_set_layer *layer)
{
    cJSON *files = prg_json_array(arena);
    for (size_t i = 0; layer && i < layer->text_count; i++) {
        const struct prg_policy_text *text = &layer->texts[i];
        prg_json_append(files, file_to_json(arena, text->name, text->path, text->text, text->length));
    }
    return files;
}

// The built-in files; those that a set recorded elsewhere brought along in their place.
static cJSON *shipped_to_json(struct prg_arena *arena, const struct prg_set_layer *layer)
{
    cJSON *files = prg_json_array(arena);
    if (layer->text_count)
        return layer_to_json(arena, layer);
    for (size_t i = 0; i < prg_builtin_policy_count; i++) {
        const struct prg_builtin *builtin = &prg_builtin_policies[i];
        prg_json_append(files, file_to_json(arena, prg_arena_printf(arena, "%s.lua", builtin->name),
                                            prg_arena_printf(arena, "shipped/%s.lua", builtin->name), builtin->text,
                                            builtin->length));
    }
    return files;
}

cJSON *prg_policy_set_to_json(struct prg_arena *arena, const struct prg_policy_set *set)
{
    cJSON *tree = prg_json_object(arena);
    prg_json_set_string(arena, tree, "revision", set->revision);
    prg_json_set_string(arena, tree, "refusal", set->refusal);
    if (set->layers[PRG_LAYER_NAMESPACE])
        prg_json_set(arena, tree, "namespace", layer_to_json(arena, set->layers[PRG_LAYER_NAMESPACE]));
    prg_json_set(arena, tree, "set", layer_to_json(arena, set->layers[PRG_LAYER_SET]));
    prg_json_set(arena, tree, "shipped", shipped_to_json(arena, set->layers[PRG_LAYER_SHIPPED]));
    return tree;
}

// ---- from a tree ----

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode_hex(struct prg_arena *arena, const char *hex, size_t length, size_t *ret_length)
{
    char *bytes = prg_arena_alloc(arena, length / 2 + 1);
    for (size_t i = 0; i + 1 < length; i += 2) {
        int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
        if (high < 0 || low < 0)
            return NULL;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *ret_length = length / 2;
    bytes[length / 2] = '\0';
    return length % 2 ? NULL : bytes;
}

static bool has_file(const struct prg_vec *texts, const char *name)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(((const struct prg_policy_text *)texts->items[i])->name, name) == 0)
            return true;
    return false;
}

static int read_files(struct prg_arena *arena, const cJSON *tree, const char *layer, struct prg_vec *texts,
                      struct prg_error *err)
{
    const cJSON *file, *files = prg_json_get(tree, layer);
    if (!prg_json_is_array(files))
        return prg_fail(err, PRG_INVALID, "/%s is no list of files", layer);
    prg_json_each (file, files) {
        struct prg_policy_text *text = prg_arena_new(arena, struct prg_policy_text);
        const cJSON *plain = prg_json_get(file, "text"), *hex = prg_json_get(file, "hex");
        text->name = prg_json_get_text(file, "name");
        text->path = prg_json_get_text(file, "path");
        if (prg_json_is_string(plain)) {
            text->text = prg_json_text(plain);
            text->length = prg_json_text_length(plain);
        } else if (prg_json_is_string(hex)) {
            text->text = decode_hex(arena, prg_json_text(hex), prg_json_text_length(hex), &text->length);
        }
        if (!text->name || !text->path || !text->text || strlen(text->name) <= strlen(".lua") ||
            has_file(texts, text->name))
            return prg_fail(err, PRG_INVALID, "/%s: a file is {name, path, text}, each name once", layer);
        prg_vec_push(texts, text);
    }
    return PRG_OK;
}

// The recorded files that `use` can switch to and that this program has otherwise, or not at all, become files of the
// set: there they are found first.
static void add_alternatives(const struct prg_vec *shipped, struct prg_vec *set)
{
    for (size_t i = 0; i < shipped->count; i++) {
        const struct prg_policy_text *text = shipped->items[i];
        bool is_policy = false, is_same = false;
        for (size_t p = 0; p < PRG_POLICY_COUNT; p++)
            is_policy = is_policy || (strncmp(prg_contracts[p].name, text->name, strlen(text->name) - 4) == 0 &&
                                      strlen(prg_contracts[p].name) == strlen(text->name) - 4);
        for (size_t b = 0; b < prg_builtin_policy_count; b++)
            is_same = is_same || (prg_builtin_policies[b].length == text->length &&
                                  memcmp(prg_builtin_policies[b].text, text->text, text->length) == 0);
        if (!is_policy && !is_same && !has_file(set, text->name))
            prg_vec_push(set, (void *)text);
    }
}

static int load(const cJSON *tree, const struct prg_policy_limits *limits, struct prg_arena *arena,
                struct prg_policy_set **ret, struct prg_error *err)
{
    struct prg_vec shipped = {0}, set = {0}, own = {0};
    struct prg_policy_options options = {.texts = &set, .shipped = &shipped, .limits = *limits, .without_specs = true};
    struct prg_policy_set *base = NULL;
    bool has_namespace = prg_json_get(tree, "namespace") != NULL;
    int rc = read_files(arena, tree, "shipped", &shipped, err);
    if (rc == PRG_OK)
        rc = read_files(arena, tree, "set", &set, err);
    if (rc == PRG_OK && has_namespace)
        rc = read_files(arena, tree, "namespace", &own, err);
    if (rc == PRG_OK) {
        add_alternatives(&shipped, &set);
        rc = prg_policy_set_load(&options, &base, err);
    }
    if (rc == PRG_OK && has_namespace) {
        struct prg_policy_options over = {
            .texts = &own, .base = base, .allowed = UINT32_MAX, .limits = *limits, .without_specs = true};
        rc = prg_policy_set_load(&over, ret, err);
        prg_policy_set_unref(base);
    } else if (rc == PRG_OK) {
        *ret = base;
    }
    prg_vec_release(&shipped);
    prg_vec_release(&set);
    prg_vec_release(&own);
    return rc;
}

int prg_policy_set_from_json(const cJSON *tree, const struct prg_policy_limits *limits, struct prg_policy_set **ret,
                             struct prg_error *err)
{
    prg_auto_arena arena = {0};
    struct prg_policy_set *set;
    const char *refusal = prg_json_get_text(tree, "refusal");
    if (load(tree, limits, &arena, &set, err) != PRG_OK)
        return prg_wrap(err, "recorded policies");
    if (refusal) {
        struct prg_policy_set *refused = prg_policy_set_refused(set, refusal);
        prg_policy_set_unref(set);
        set = refused;
    }
    *ret = set;
    return PRG_OK;
}
