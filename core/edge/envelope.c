// SPDX-License-Identifier: Apache-2.0
// envelope.c: reading and writing messages.
#include "edge/envelope.h"

#include <string.h>

#include "base/base64.h"
#include "learning/conddata.h"

static int read_text(const cJSON *object, const char *name, const char **ret, struct prg_error *err)
{
    const cJSON *node = prg_field(object, name);
    *ret = "";
    if (node && !prg_json_is_string(node))
        return prg_fail(err, PRG_INVALID, "/header/%s: must be a text, not %s", name, prg_json_type_name(node));
    if (node && strlen(prg_json_text(node)) != prg_json_text_length(node))
        return prg_fail(err, PRG_INVALID, "/header/%s: holds a NUL character", name);
    if (node)
        *ret = prg_json_text(node);
    return PRG_OK;
}

static int read_content(struct prg_arena *arena, const cJSON *node, struct prg_envelope *ret, struct prg_error *err)
{
    struct prg_error parse = {0};
    char line[PRG_ERROR_LINE];
    if (!node) { // Go reads null and absent as no bytes
        ret->text = "";
        ret->problem = "the content is empty";
        return PRG_OK;
    }
    if (!prg_json_is_string(node))
        return prg_fail(err, PRG_INVALID, "/content: must be a text, not %s", prg_json_type_name(node));
    ret->text = prg_base64_decode(arena, prg_json_text(node), prg_json_text_length(node), &ret->length);
    if (!ret->text)
        return prg_fail(err, PRG_INVALID, "/content: is not base64");
    if (prg_json_parse(arena, ret->text, ret->length, NULL, &ret->content, &parse) != PRG_OK)
        ret->problem = prg_arena_strdup(arena, prg_error_text(&parse, line, sizeof(line)));
    return PRG_OK;
}

int prg_envelope_read(struct prg_arena *arena, const char *text, size_t length, struct prg_envelope *ret,
                      struct prg_error *err)
{
    cJSON *message = NULL;
    *ret = (struct prg_envelope){0};
    if (prg_json_parse(arena, text, length, NULL, &message, err) != PRG_OK)
        return prg_wrap(err, "not a message");
    if (!prg_json_is_object(message))
        return prg_fail(err, PRG_INVALID, "not a message: must be an object, not %s", prg_json_type_name(message));
    const cJSON *header = prg_field(message, "header");
    if (header && !prg_json_is_object(header))
        return prg_fail(err, PRG_INVALID, "/header: must be an object, not %s", prg_json_type_name(header));
    ret->is_bare = !header && prg_field(message, "operation") && !prg_field(message, "content");
    if (read_text(header, "namespace", &ret->ns, err) != PRG_OK ||
        read_text(header, "resourceKind", &ret->kind, err) != PRG_OK ||
        read_text(header, "resourceName", &ret->name, err) != PRG_OK ||
        read_text(header, "operation", &ret->operation, err) != PRG_OK)
        return PRG_INVALID;
    return read_content(arena, prg_field(message, "content"), ret, err);
}

void prg_envelope_write(struct prg_strbuf *out, const char *ns, const char *kind, const char *name,
                        const char *operation, const char *content, size_t length)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *message = prg_json_object(&arena), *header = prg_json_object(&arena);
    prg_json_set_string(&arena, header, "namespace", ns);
    prg_json_set_string(&arena, header, "resourceKind", kind);
    prg_json_set_string(&arena, header, "resourceName", name);
    prg_json_set_string(&arena, header, "operation", operation);
    prg_json_set(&arena, message, "header", header);
    prg_json_set_string(&arena, message, "content", prg_base64_encode(&arena, content, length));
    prg_json_print(out, message, PRG_JSON_COMPACT | PRG_JSON_ESCAPE_HTML);
    prg_strbuf_putc(out, '\n');
}
