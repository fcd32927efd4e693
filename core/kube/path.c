// SPDX-License-Identifier: Apache-2.0
// path.c: addresses.
#include "kube/path.h"

#include <string.h>

void prg_path_escape(struct prg_strbuf *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++) {
        if (strchr(plain, *text))
            prg_strbuf_putc(out, *text);
        else
            prg_strbuf_printf(out, "%%%02X", (unsigned char)*text);
    }
}

static void add_part(struct prg_strbuf *out, const char *part)
{
    prg_strbuf_putc(out, '/');
    prg_path_escape(out, part);
}

char *prg_path_of(struct prg_arena *arena, const struct prg_resource *resource, const char *ns, const char *name,
                  const char *subresource)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_strbuf_puts(&out, *resource->group ? "/apis" : "/api");
    if (*resource->group)
        add_part(&out, resource->group);
    add_part(&out, resource->version);
    if (resource->is_namespaced && ns && *ns) {
        prg_strbuf_puts(&out, "/namespaces");
        add_part(&out, ns);
    }
    add_part(&out, resource->plural);
    if (name)
        add_part(&out, name);
    if (subresource)
        add_part(&out, subresource);
    return prg_arena_strndup(arena, out.text, out.length);
}
