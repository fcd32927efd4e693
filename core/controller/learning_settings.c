// SPDX-License-Identifier: Apache-2.0
// learning_settings.c: reading an address to listen at.
#include "controller/learning_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "httpd/httpd.h"

int prg_learning_parse_listen(struct prg_arena *arena, const char *text, struct prg_learning_settings *ret,
                              struct prg_error *err)
{
    const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
    char *end;
    if (strcmp(text, "off") == 0) {
        ret->has_edge = false;
        return PRG_OK;
    }
    errno = 0;
    unsigned long port = strtoul(digits, &end, 10);
    if (errno || *end || end == digits || *digits < '0' || *digits > '9' || port > UINT16_MAX)
        return prg_fail(err, PRG_INVALID, "'%s': ADDRESS:PORT, as in 127.0.0.1:9000, or off", text);
    size_t length = colon ? (size_t)(colon - text) : 0;
    ret->edge_address = NULL;
    if (length > 1 && text[0] == '[' && text[length - 1] == ']')
        ret->edge_address = prg_arena_strndup(arena, text + 1, length - 2);
    else if (length)
        ret->edge_address = prg_arena_strndup(arena, text, length);
    if (ret->edge_address && !prg_httpd_is_address(ret->edge_address))
        return prg_fail(err, PRG_INVALID, "'%s': '%s' is no IP address; ADDRESS:PORT, as in 127.0.0.1:9000, or off",
                        text, ret->edge_address);
    ret->edge_port = (uint16_t)port;
    ret->has_edge = true;
    return PRG_OK;
}
