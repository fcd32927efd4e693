// SPDX-License-Identifier: Apache-2.0
// build.c: from libyaml's events to JSON trees: types, keys, anchors, aliases and merge keys.
//
// Nothing recurses over the input: open collections lie on a stack of frames, which is also what bounds the depth
// (libyaml itself would go on, at a cost that grows with the square of the nesting).
//
// Source of the rules: go-yaml v2 decode.go and sigs.k8s.io/yaml convertToJSONableObject. A key that "<<" brings in
// replaces one that stands before it and is replaced by one that stands behind it, as in go-yaml; only keys that are
// written twice in one mapping are duplicates.
#include "yaml/build.h"

#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

#define FEW_KEYS 16
#define SHOWN 40 // bytes of a text that an error repeats
#define STANDARD "tag:yaml.org,2002:"

// A resolved scalar. text is set for PRG_YAML_TEXT.
struct value {
    struct prg_yaml_scalar scalar;
    const char *text;
    size_t length;
};

struct prg_yaml_anchor {
    cJSON *node;
    bool is_open;   // its collection is not closed yet
    bool is_scalar; // then value holds it, for use as a key
    struct value value;
    bool is_measured;
    size_t nodes, bytes; // of the tree, once measured
    unsigned height;     // collections on the longest way down
};

int prg_yaml_fail(struct prg_error *err, enum prg_code code, const char *name, size_t line, size_t column,
                  const char *format, ...)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    va_list args;
    va_start(args, format);
    prg_strbuf_vprintf(&text, format, args);
    va_end(args);
    return prg_fail(err, code, "%s:%zu:%zu: %s", name, line, column, text.text);
}

#define fail_at(b, mark, code, ...)                                                                                    \
    prg_yaml_fail((b)->err, (code), (b)->name, (mark)->line + 1, (mark)->column + 1, __VA_ARGS__)

static void set_mark(cJSON *node, const yaml_mark_t *mark)
{
    prg_json_set_position(node, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1);
}

// text, shortened for an error, as a scratch copy; control characters become '?'.
static const char *shown(struct prg_yaml_builder *b, const char *text, size_t length)
{
    size_t kept = length;
    if (kept > SHOWN)
        for (kept = SHOWN; kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80; kept--)
            ;
    char *copy = prg_arena_strndup(&b->scratch, text, kept);
    for (size_t i = 0; i < kept; i++)
        if ((unsigned char)copy[i] < 0x20 || copy[i] == 0x7f)
            copy[i] = '?';
    return kept < length ? prg_arena_printf(&b->scratch, "%s...", copy) : copy;
}

// ---- scalars ----

static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0, step; i < length; i += step) {
        step = (unsigned char)text[i] < 0x80 ? 1 : prg_utf8_length(text + i, length - i);
        if (!step)
            return false;
    }
    return true;
}

static int resolve_binary(struct prg_yaml_builder *b, const yaml_event_t *event, struct value *ret)
{
    size_t length;
    const char *bytes =
        prg_base64_decode(&b->scratch, (const char *)event->data.scalar.value, event->data.scalar.length, &length);
    if (!bytes)
        return fail_at(b, &event->start_mark, PRG_INVALID, "the value of !!binary is not base64");
    if (!is_utf8(bytes, length))
        return fail_at(b, &event->start_mark, PRG_INVALID,
                       "the value of !!binary is not text (UTF-8); leave the tag out to keep it as base64");
    ret->scalar.type = PRG_YAML_TEXT;
    ret->text = bytes;
    ret->length = length;
    return PRG_OK;
}

// ret->text is borrowed from the event or lies in scratch.
static int resolve(struct prg_yaml_builder *b, const yaml_event_t *event, struct value *ret)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    size_t length = event->data.scalar.length;

    *ret = (struct value){{.type = PRG_YAML_TEXT}, text, length};
    if (tag && strcmp(tag, STANDARD "binary") == 0)
        return resolve_binary(b, event, ret);
    if (tag) {
        if (!prg_yaml_resolve_tagged(tag, text, length, &ret->scalar))
            return fail_at(b, &event->start_mark, PRG_INVALID, "'%s' is not a !!%s", shown(b, text, length),
                           tag + strlen(STANDARD));
    } else if (event->data.scalar.plain_implicit) {
        ret->scalar = prg_yaml_resolve(text, length);
    }
    return PRG_OK;
}

static int make_value(struct prg_yaml_builder *b, const struct value *value, const yaml_mark_t *mark, cJSON **ret)
{
    const struct prg_yaml_scalar *scalar = &value->scalar;
    cJSON *node = NULL;

    switch (scalar->type) {
    case PRG_YAML_NULL:
        node = prg_json_null(b->arena);
        break;
    case PRG_YAML_BOOL:
        node = prg_json_bool(b->arena, scalar->boolean);
        break;
    case PRG_YAML_INT:
        node = prg_json_number(b->arena, prg_yaml_int_text((char[PRG_YAML_INT_TEXT]){0}, scalar));
        break;
    case PRG_YAML_FLOAT:
        if (!isfinite(scalar->number))
            return fail_at(b, mark, PRG_INVALID, "%s is no number in JSON; quote it if it is meant as text",
                           value->text);
        node = prg_json_double(b->arena, scalar->number);
        break;
    case PRG_YAML_TEXT:
        node = prg_json_stringn(b->arena, value->text, value->length);
        break;
    }
    set_mark(node, mark);
    *ret = node;
    return PRG_OK;
}

// ---- keys ----

static struct prg_yaml_frame *top(struct prg_yaml_builder *b)
{
    return b->depth ? &b->frames[b->depth - 1] : NULL;
}

static bool expects_key(const struct prg_yaml_frame *frame)
{
    return frame && prg_json_is_object(frame->node) && !frame->pending && !frame->is_merging;
}

static struct prg_yaml_key *find_key(struct prg_yaml_builder *b, struct prg_yaml_frame *frame, const char *text,
                                     size_t length)
{
    if (!frame->is_indexed && b->keys.count - frame->first_key > FEW_KEYS) {
        frame->is_indexed = true;
        prg_map_init(&frame->index);
        for (size_t i = frame->first_key; i < b->keys.count; i++) {
            struct prg_yaml_key *key = b->keys.items[i];
            prg_map_putn(&frame->index, key->text, key->length, key);
        }
    }
    if (frame->is_indexed)
        return prg_map_getn(&frame->index, text, length);
    for (size_t i = frame->first_key; i < b->keys.count; i++) {
        struct prg_yaml_key *key = b->keys.items[i];
        if (key->length == length && memcmp(key->text, text, length) == 0)
            return key;
    }
    return NULL;
}

// text must live as long as the frame.
static struct prg_yaml_key *push_key(struct prg_yaml_builder *b, struct prg_yaml_frame *frame, const char *text,
                                     size_t length)
{
    struct prg_yaml_key *key = prg_arena_new(&b->scratch, struct prg_yaml_key);
    key->text = text;
    key->length = length;
    prg_vec_push(&b->keys, key);
    if (frame->is_indexed)
        prg_map_putn(&frame->index, text, length, key);
    return key;
}

static int on_key(struct prg_yaml_builder *b, const struct value *value, const yaml_mark_t *mark)
{
    struct prg_yaml_frame *frame = top(b);
    const char *text = value->text;
    size_t length = value->length;

    if (value->scalar.type != PRG_YAML_TEXT) {
        text = prg_yaml_key_text(&b->scratch, &value->scalar);
        if (!text)
            return fail_at(b, mark, PRG_INVALID, "%s cannot be a key; quote it if it is meant as text",
                           value->scalar.type == PRG_YAML_NULL ? "null" : "a number this large");
        length = strlen(text);
    }
    if (memchr(text, '\0', length))
        return fail_at(b, mark, PRG_INVALID, "the key '%s' holds a NUL character; rename it", shown(b, text, length));

    struct prg_yaml_key *key = find_key(b, frame, text, length);
    if (key && !key->is_merged)
        return fail_at(b, mark, PRG_INVALID, "the key '%s' is already set at line %u, column %u; remove one of them",
                       shown(b, text, length), key->line, key->column);
    if (!key)
        key = push_key(b, frame, prg_arena_strndup(&b->scratch, text, length), length);
    key->is_merged = false;
    key->line = (uint32_t)mark->line + 1;
    key->column = (uint32_t)mark->column + 1;
    frame->pending = key;
    return PRG_OK;
}

// Gives key its value, in place of an earlier one.
static void set_member(struct prg_yaml_builder *b, struct prg_yaml_frame *frame, struct prg_yaml_key *key, cJSON *node)
{
    if (key->member)
        prg_json_replace(frame->node, key->member, node);
    else
        prg_json_add(b->arena, frame->node, key->text, node);
    key->member = node;
}

// ---- merge keys ----

static void merge_object(struct prg_yaml_builder *b, struct prg_yaml_frame *frame, cJSON *source)
{
    while (source->child) {
        cJSON *member = source->child;
        const char *text = member->string;
        prg_json_detach(source, member);
        struct prg_yaml_key *key = find_key(b, frame, text, strlen(text));
        if (!key) {
            key = push_key(b, frame, text, strlen(text));
            key->is_merged = true;
        }
        set_member(b, frame, key, member);
    }
}

// source is a mapping, or a list of mappings of which the first wins; it is used up.
static int merge(struct prg_yaml_builder *b, cJSON *source, bool is_alias, const yaml_mark_t *mark)
{
    struct prg_yaml_frame *frame = top(b);
    frame->is_merging = false;
    if (prg_json_is_object(source)) {
        merge_object(b, frame, source);
        return PRG_OK;
    }
    if (!prg_json_is_array(source) || is_alias)
        return fail_at(b, mark, PRG_INVALID, "'<<' needs a mapping or a list of mappings");
    for (cJSON *item = source->child; item; item = item->next)
        if (!prg_json_is_object(item))
            return fail_at(b, mark, PRG_INVALID, "'<<' needs a mapping or a list of mappings, not a list with a %s",
                           prg_json_type_name(item));
    while (source->child) {
        cJSON *last = source->child->prev;
        prg_json_detach(source, last);
        merge_object(b, frame, last);
    }
    return PRG_OK;
}

// ---- values ----

// Puts a finished value where it belongs.
static int deliver(struct prg_yaml_builder *b, cJSON *node, bool is_alias, const yaml_mark_t *mark)
{
    struct prg_yaml_frame *frame = top(b);
    if (!frame) {
        b->root = node;
    } else if (prg_json_is_array(frame->node)) {
        prg_json_append(frame->node, node);
    } else if (frame->is_merging) {
        return merge(b, node, is_alias, mark);
    } else {
        set_member(b, frame, frame->pending, node);
        frame->pending = NULL;
    }
    return PRG_OK;
}

// A later anchor of the same name takes over.
static struct prg_yaml_anchor *add_anchor(struct prg_yaml_builder *b, const yaml_char_t *name)
{
    if (!name)
        return NULL;
    struct prg_yaml_anchor *anchor = prg_arena_new(&b->scratch, struct prg_yaml_anchor);
    prg_map_put(&b->anchors, (const char *)name, anchor);
    return anchor;
}

static int on_scalar(struct prg_yaml_builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    bool is_key = expects_key(top(b));
    struct value value;

    if (is_key && strcmp(text, "<<") == 0 &&
        (event->data.scalar.plain_implicit || (tag && strcmp(tag, STANDARD "merge") == 0))) {
        top(b)->is_merging = true;
        return PRG_OK;
    }
    if (!b->depth && !event->data.scalar.length && event->data.scalar.plain_implicit && !event->data.scalar.anchor)
        return PRG_OK; // a document without content
    if (resolve(b, event, &value) != PRG_OK)
        return PRG_INVALID;
    struct prg_yaml_anchor *anchor = add_anchor(b, event->data.scalar.anchor);
    if (anchor) {
        anchor->is_scalar = true;
        anchor->value = value;
        if (value.text)
            anchor->value.text = prg_arena_strndup(&b->scratch, value.text, value.length);
    }
    if (is_key && !anchor)
        return on_key(b, &value, &event->start_mark);
    cJSON *node = NULL;
    if (make_value(b, &value, &event->start_mark, &node) != PRG_OK)
        return PRG_INVALID;
    if (anchor)
        anchor->node = node;
    if (is_key)
        return on_key(b, &value, &event->start_mark);
    return deliver(b, node, false, &event->start_mark);
}

static int on_open(struct prg_yaml_builder *b, const yaml_event_t *event, bool is_mapping)
{
    if (expects_key(top(b)))
        return fail_at(b, &event->start_mark, PRG_INVALID, "a %s cannot be a key", is_mapping ? "mapping" : "list");
    if (b->depth >= b->max_depth)
        return fail_at(b, &event->start_mark, PRG_LIMIT, "nested more than %u levels deep", b->max_depth);
    struct prg_yaml_frame *frame = &b->frames[b->depth++];
    *frame = (struct prg_yaml_frame){.first_key = b->keys.count};
    frame->node = is_mapping ? prg_json_object(b->arena) : prg_json_array(b->arena);
    set_mark(frame->node, &event->start_mark);
    frame->anchor = add_anchor(b, is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor);
    if (frame->anchor) {
        frame->anchor->node = frame->node;
        frame->anchor->is_open = true;
    }
    return PRG_OK;
}

static cJSON *close_frame(struct prg_yaml_builder *b)
{
    struct prg_yaml_frame *frame = &b->frames[--b->depth];
    if (frame->anchor)
        frame->anchor->is_open = false;
    if (frame->is_indexed)
        prg_map_release(&frame->index);
    b->keys.count = frame->first_key;
    return frame->node;
}

static int on_close(struct prg_yaml_builder *b)
{
    cJSON *node = close_frame(b);
    struct prg_json_position position = prg_json_position(node);
    yaml_mark_t mark = {.line = position.line - 1, .column = position.column - 1};
    return deliver(b, node, false, &mark);
}

// ---- aliases ----

// Sizes of a tree. Recursion is bounded by PRG_JSON_DEPTH.
static void measure(struct prg_yaml_anchor *anchor, const cJSON *node, unsigned depth)
{
    anchor->nodes++;
    anchor->bytes += sizeof(*node) + prg_json_text_length(node);
    if (node->string)
        anchor->bytes += strlen(node->string);
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return;
    if (anchor->height < depth + 1)
        anchor->height = depth + 1;
    const cJSON *item;
    prg_json_each (item, node)
        measure(anchor, item, depth + 1);
}

static int copy_anchor(struct prg_yaml_builder *b, struct prg_yaml_anchor *anchor, const yaml_mark_t *mark, cJSON **ret)
{
    if (!anchor->is_measured) {
        measure(anchor, anchor->node, 0);
        anchor->is_measured = true;
    }
    b->expansion += anchor->nodes;
    b->expansion_bytes += anchor->bytes;
    if (b->expansion > b->max_expansion)
        return fail_at(b, mark, PRG_LIMIT, "aliases make more than %zu values", b->max_expansion);
    if (b->expansion_bytes > b->max_bytes)
        return fail_at(b, mark, PRG_LIMIT, "aliases make more than %zu bytes", b->max_bytes);
    if (b->depth + anchor->height > b->max_depth)
        return fail_at(b, mark, PRG_LIMIT, "nested more than %u levels deep", b->max_depth);
    *ret = prg_json_copy(b->arena, anchor->node);
    return PRG_OK;
}

static int on_alias(struct prg_yaml_builder *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct prg_yaml_anchor *anchor = prg_map_get(&b->anchors, name);
    if (!anchor)
        return fail_at(b, &event->start_mark, PRG_INVALID, "no anchor '&%s' stands before '*%s'", name, name);
    if (anchor->is_open)
        return fail_at(b, &event->start_mark, PRG_INVALID, "'*%s' stands inside its own anchor '&%s'", name, name);
    if (expects_key(top(b))) {
        if (!anchor->is_scalar)
            return fail_at(b, &event->start_mark, PRG_INVALID, "'*%s' cannot be a key: it stands for a %s", name,
                           prg_json_is_object(anchor->node) ? "mapping" : "list");
        return on_key(b, &anchor->value, &event->start_mark);
    }
    cJSON *node = NULL;
    int rc = copy_anchor(b, anchor, &event->start_mark, &node);
    return rc == PRG_OK ? deliver(b, node, true, &event->start_mark) : rc;
}

// ---- documents ----

static int on_document_start(struct prg_yaml_builder *b, const yaml_event_t *event)
{
    const yaml_version_directive_t *version = event->data.document_start.version_directive;
    if (version && (version->major != 1 || version->minor != 1))
        return fail_at(b, &event->start_mark, PRG_INVALID,
                       "YAML %d.%d is declared, but types are read as in YAML 1.1; remove the %%YAML line",
                       version->major, version->minor);
    b->root = NULL;
    prg_map_clear(&b->anchors);
    prg_arena_reset(&b->scratch);
    return PRG_OK;
}

void prg_yaml_builder_init(struct prg_yaml_builder *b, struct prg_arena *arena, const char *name,
                           const struct prg_yaml_limits *limits, struct prg_error *err)
{
    b->arena = arena;
    b->name = name;
    b->err = err;
    b->max_depth = limits->max_depth;
    b->max_expansion = limits->max_expansion;
    b->max_bytes = limits->max_bytes;
    prg_vec_init(&b->docs);
    prg_arena_init(&b->scratch);
    prg_map_init(&b->anchors);
    b->root = NULL;
    b->expansion = b->expansion_bytes = 0;
    prg_vec_init(&b->keys);
    b->depth = 0;
}

void prg_yaml_builder_release(struct prg_yaml_builder *b)
{
    while (b->depth)
        close_frame(b);
    prg_vec_release(&b->keys);
    prg_map_release(&b->anchors);
    prg_arena_release(&b->scratch);
    prg_vec_release(&b->docs);
}

int prg_yaml_builder_event(struct prg_yaml_builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document_start(b, event);
    case YAML_DOCUMENT_END_EVENT:
        if (b->root)
            prg_vec_push(&b->docs, b->root);
        return PRG_OK;
    case YAML_ALIAS_EVENT:
        return on_alias(b, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(b, event, false);
    case YAML_MAPPING_START_EVENT:
        return on_open(b, event, true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(b);
    default:
        return PRG_OK;
    }
}
