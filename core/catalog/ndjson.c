// SPDX-License-Identifier: Apache-2.0
// ndjson.c: reading and making lines of JSON.
#include "catalog/ndjson.h"

#include <string.h>

#include "catalog/disk.h"

#define LARGEST_FILE ((size_t)256 * 1024 * 1024)

int prg_ndjson_read(struct prg_arena *arena, const char *path, prg_ndjson_fn visit, void *ctx, size_t *ret_size,
                    struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct prg_error missing = {0};
    int rc = prg_disk_read(path, LARGEST_FILE, &text, NULL, &missing);
    if (rc != PRG_OK && rc != PRG_NOTFOUND) {
        if (err)
            *err = missing;
        return rc;
    }
    for (const char *line = text.text, *end = text.text + text.length; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        cJSON *node;
        if (prg_json_parse(arena, line, length, NULL, &node, NULL) == PRG_OK && prg_json_is_object(node))
            visit(node, ctx);
        line += length + 1;
    }
    if (ret_size)
        *ret_size = text.length;
    return PRG_OK;
}

cJSON *prg_ndjson_of_key(struct prg_arena *arena, const struct prg_key *key)
{
    cJSON *node = prg_json_object(arena);
    prg_json_set_string(arena, node, "group", key->group);
    prg_json_set_string(arena, node, "kind", key->kind);
    prg_json_set_string(arena, node, "namespace", key->ns);
    prg_json_set_string(arena, node, "name", key->name);
    return node;
}

bool prg_ndjson_to_key(const cJSON *node, struct prg_key *ret)
{
    *ret = (struct prg_key){prg_json_get_text(node, "group"), prg_json_get_text(node, "kind"),
                            prg_json_get_text(node, "namespace"), prg_json_get_text(node, "name")};
    return ret->group && ret->kind && ret->ns && ret->name;
}
