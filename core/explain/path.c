// SPDX-License-Identifier: Apache-2.0
// path.c: reading and writing paths of fields.
#include "explain/path.h"

#include <string.h>

#include "json/pointer.h"

// ---- writing ----

static bool is_plain(const char *text)
{
    if (!*text)
        return false;
    for (const char *c = text; *c; c++)
        if (!strchr("/-_.", *c) && !(*c >= '0' && *c <= '9') && !(*c >= 'A' && *c <= 'Z') && !(*c >= 'a' && *c <= 'z'))
            return false;
    return true;
}

static void push_quoted(struct prg_strbuf *path, const char *text)
{
    prg_strbuf_puts(path, "['");
    for (const char *c = text; *c; c++) {
        if (*c == '\'' || *c == '\\')
            prg_strbuf_putc(path, '\\');
        prg_strbuf_putc(path, *c);
    }
    prg_strbuf_puts(path, "']");
}

void prg_path_push_key(struct prg_strbuf *path, const char *key)
{
    if (!is_plain(key)) {
        push_quoted(path, key);
        return;
    }
    prg_strbuf_putc(path, '.');
    for (const char *c = key; *c; c++) {
        if (*c == '.')
            prg_strbuf_putc(path, '\\');
        prg_strbuf_putc(path, *c);
    }
}

void prg_path_push_index(struct prg_strbuf *path, size_t index)
{
    prg_strbuf_printf(path, "[%zu]", index);
}

void prg_path_push_name(struct prg_strbuf *path, const char *name)
{
    if (is_plain(name))
        prg_strbuf_printf(path, "[%s]", name);
    else
        push_quoted(path, name);
}

// ---- items by name ----

const char *const prg_path_item_keys[] = {"mountPath",   "devicePath", "containerPort", "name", "key", "ip",
                                          "topologyKey", "port",       "type",          "uid",  NULL};

const char *prg_path_item_name(struct prg_arena *arena, const cJSON *item)
{
    if (!prg_json_is_object(item))
        return NULL;
    for (const char *const *key = prg_path_item_keys; *key; key++) {
        const cJSON *member = prg_json_get(item, *key);
        const char *text = prg_json_text(member), *number = prg_json_number_text(member);
        if (text && *text && strlen(text) == prg_json_text_length(member))
            return text;
        if (number)
            return prg_arena_strdup(arena, number);
    }
    return NULL;
}

static bool is_called(const cJSON *item, const char *name)
{
    for (const char *const *key = prg_path_item_keys; *key; key++) {
        const cJSON *member = prg_json_get(item, *key);
        const char *text = prg_json_text(member) ? prg_json_text(member) : prg_json_number_text(member);
        if (prg_text_equal(text, name))
            return true;
    }
    return false;
}

static const cJSON *item_called(const cJSON *list, const char *name, size_t *ret_index)
{
    const cJSON *item;
    size_t index = 0;
    prg_json_each (item, list) {
        if (prg_json_is_object(item) ? is_called(item, name) : prg_text_equal(prg_json_text(item), name)) {
            *ret_index = index;
            return item;
        }
        index++;
    }
    return NULL;
}

// ---- reading ----

struct step {
    const char *text;
    bool is_bracket; // without quotes: an index or a name
};

struct reading {
    struct prg_arena *arena;
    const char *path, *at;
};

static int bad(const struct reading *r, const char *what, struct prg_error *err)
{
    return prg_fail(err, PRG_INVALID,
                    "%s: character %zu: %s; a field is .spec.replicas, .containers[0].env[NAME] or ['a key']", r->path,
                    (size_t)(r->at - r->path) + 1, what);
}

static int read_quoted(struct reading *r, char quote, struct step *ret, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (r->at++; *r->at && *r->at != quote; r->at++) {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        prg_strbuf_putc(&text, *r->at);
    }
    if (*r->at != quote || r->at[1] != ']')
        return bad(r, "the quotes are not closed by a quote and ]", err);
    r->at += 2;
    *ret = (struct step){prg_arena_strndup(r->arena, text.text, text.length), false};
    return PRG_OK;
}

static int read_bracket(struct reading *r, struct step *ret, struct prg_error *err)
{
    r->at++;
    if (*r->at == '\'' || *r->at == '"')
        return read_quoted(r, *r->at, ret, err);
    size_t length = strcspn(r->at, "]");
    if (r->at[length] != ']' || length == 0)
        return bad(r, length ? "[ is not closed" : "nothing within [ ]", err);
    *ret = (struct step){prg_arena_strndup(r->arena, r->at, length), true};
    r->at += length + 1;
    return PRG_OK;
}

static int read_key(struct reading *r, struct step *ret, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (; *r->at && *r->at != '.' && *r->at != '['; r->at++) {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        prg_strbuf_putc(&text, *r->at);
    }
    if (!text.length)
        return bad(r, "a key is missing", err);
    *ret = (struct step){prg_arena_strndup(r->arena, text.text, text.length), false};
    return PRG_OK;
}

static int read_step(struct reading *r, struct step *ret, struct prg_error *err)
{
    if (*r->at == '[')
        return read_bracket(r, ret, err);
    if (*r->at == '.')
        r->at++;
    return read_key(r, ret, err);
}

// The child of node that the step names; its step goes to path.
static const cJSON *take_step(const cJSON *node, const struct step *step, struct prg_strbuf *path)
{
    size_t index;
    const cJSON *child;
    if (prg_json_is_object(node)) {
        child = prg_json_get(node, step->text);
        if (child)
            prg_path_push_key(path, step->text);
        return child;
    }
    if (!prg_json_is_array(node))
        return NULL;
    if (prg_pointer_index(step->text, strlen(step->text), &index) && (child = prg_json_item(node, index))) {
        prg_path_push_index(path, index);
        return child;
    }
    if (!step->is_bracket)
        return NULL;
    child = item_called(node, step->text, &index);
    if (child)
        prg_path_push_index(path, index);
    return child;
}

static void walk(struct prg_arena *arena, const cJSON *node, const char *step, struct prg_strbuf *path,
                 const cJSON *next, struct prg_path_found *ret)
{
    *ret = (struct prg_path_found){.node = next,
                                   .path = prg_arena_strndup(arena, path->text, path->length),
                                   .parent = next ? NULL : node,
                                   .missing = next ? NULL : step};
}

// "/spec/containers/0": the same steps, written otherwise.
static int find_pointer(struct prg_arena *arena, const cJSON *root, const char *pointer, struct prg_path_found *ret,
                        struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    const cJSON *node = root;
    if (!prg_pointer_is_valid(pointer))
        return prg_fail(err, PRG_INVALID, "%s: no JSON pointer", pointer);
    while (*pointer) {
        size_t length = strcspn(++pointer, "/");
        const cJSON *next = prg_pointer_step(node, pointer, length);
        if (!next) {
            walk(arena, node, prg_arena_strndup(arena, pointer, length), &path, NULL, ret);
            return PRG_OK;
        }
        size_t index;
        if (prg_json_is_object(node))
            prg_path_push_key(&path, next->string);
        else if (prg_pointer_index(pointer, length, &index))
            prg_path_push_index(&path, index);
        node = next;
        pointer += length;
    }
    walk(arena, NULL, NULL, &path, node, ret);
    return PRG_OK;
}

int prg_path_find(struct prg_arena *arena, const cJSON *root, const char *path, struct prg_path_found *ret,
                  struct prg_error *err)
{
    struct reading r = {.arena = arena, .path = path, .at = path};
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const cJSON *node = root;
    if (*path == '/')
        return find_pointer(arena, root, path, ret, err);
    if (strcmp(path, ".") == 0)
        r.at++;
    while (*r.at) {
        struct step step;
        if (read_step(&r, &step, err) != PRG_OK)
            return err ? err->code : PRG_INVALID;
        const cJSON *next = node ? take_step(node, &step, &text) : NULL;
        if (!next && node)
            walk(arena, node, step.text, &text, NULL, ret);
        node = next; // the rest is read on, for its mistakes
    }
    if (node)
        walk(arena, NULL, NULL, &text, node, ret);
    return PRG_OK;
}
