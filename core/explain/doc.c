// SPDX-License-Identifier: Apache-2.0
// doc.c: making the documents of core/explain.
#include "explain/doc.h"

#include <string.h>

#include "object/meta.h"

void prg_doc_text(struct prg_arena *arena, cJSON *object, const char *key, const char *text)
{
    if (text && *text)
        prg_json_add(arena, object, key, prg_json_string(arena, text));
}

void prg_doc_node(struct prg_arena *arena, cJSON *object, const char *key, cJSON *node)
{
    bool is_container = prg_json_is_object(node) || prg_json_is_array(node);
    if (node && !(is_container && !node->child))
        prg_json_add(arena, object, key, node);
}

cJSON *prg_doc_source(struct prg_arena *arena, const struct prg_policy_source *source)
{
    if (!source || !source->file)
        return NULL;
    cJSON *node = prg_json_object(arena);
    prg_doc_text(arena, node, "policy", source->policy);
    prg_doc_text(arena, node, "function", source->function);
    prg_doc_text(arena, node, "file", source->file);
    if (source->line > 0)
        prg_json_set_int(arena, node, "line", source->line);
    return node;
}

cJSON *prg_doc_trace(struct prg_arena *arena, const struct prg_trace_entry *entry)
{
    cJSON *node = prg_json_object(arena);
    prg_doc_text(arena, node, "decision", entry->decision);
    prg_doc_text(arena, node, "subject", entry->subject);
    prg_doc_text(arena, node, "outcome", entry->outcome);
    prg_doc_text(arena, node, "reason", entry->reason);
    prg_doc_node(arena, node, "policy", prg_doc_source(arena, &entry->source));
    return node;
}

cJSON *prg_doc_subject(struct prg_arena *arena, const cJSON *object)
{
    cJSON *node = prg_json_object(arena);
    prg_doc_text(arena, node, "kind", prg_json_get_text(object, "kind"));
    prg_doc_text(arena, node, "namespace", prg_meta_namespace(object));
    prg_doc_text(arena, node, "name", prg_meta_name(object));
    return node;
}

void prg_doc_put_line(struct prg_strbuf *out, const char *text)
{
    for (; *text; text++)
        prg_strbuf_putc(out, (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
}

void prg_doc_value(struct prg_strbuf *out, const cJSON *node, size_t max)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (!node) {
        prg_strbuf_puts(out, "(absent)");
        return;
    }
    prg_json_print(&text, node, PRG_JSON_SORTED);
    size_t length = text.length;
    if (length > max) {
        length = max;
        while (length > 0 && ((unsigned char)text.text[length] & 0xc0) == 0x80)
            length--; // not within a character
        prg_strbuf_add(out, text.text, length);
        prg_strbuf_printf(out, " … (%zu bytes)", text.length);
        return;
    }
    prg_strbuf_add(out, text.text, length);
}

void prg_doc_put_source(struct prg_strbuf *out, const cJSON *source)
{
    int64_t line;
    if (!source)
        return;
    prg_strbuf_printf(out, "  [%s", prg_json_get_text(source, "file"));
    if (prg_json_get_int64(source, "line", &line))
        prg_strbuf_printf(out, ":%lld", (long long)line);
    if (prg_json_get_text(source, "function"))
        prg_strbuf_printf(out, " %s", prg_json_get_text(source, "function"));
    prg_strbuf_putc(out, ']');
}
