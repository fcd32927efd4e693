// SPDX-License-Identifier: Apache-2.0
// url.c: net/url's Parse as far as scheme, host and path go; filepath.Clean.
#include "learning/url.h"

#include <ctype.h>
#include <string.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// NULL when an escape is not two hexadecimal digits, or is NUL, which no path can hold.
static const char *unescape(struct prg_arena *arena, const char *text, size_t length)
{
    char *out = prg_arena_alloc(arena, length + 1), *p = out;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            *p++ = text[i];
            continue;
        }
        int high = i + 2 < length ? hex_value(text[i + 1]) : -1, low = i + 2 < length ? hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0 || (high == 0 && low == 0))
            return NULL;
        *p++ = (char)(high * 16 + low);
        i += 2;
    }
    *p = '\0';
    return out;
}

// Length of the scheme, 0 without one, -1 when the text begins with ':'.
static int scheme_length(const char *text)
{
    for (int i = 0; text[i]; i++) {
        char c = text[i];
        if (isalpha((unsigned char)c))
            continue;
        if (c == ':')
            return i == 0 ? -1 : i;
        if (i == 0 || !(isdigit((unsigned char)c) || c == '+' || c == '-' || c == '.'))
            return 0;
    }
    return 0;
}

static char *lower_copy(struct prg_arena *arena, const char *text, size_t length)
{
    char *out = prg_arena_strndup(arena, text, length);
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return out;
}

static int bad_url(const char *text, const char *why, struct prg_error *err)
{
    return prg_fail(err, PRG_INVALID, "'%s' is not a URL: %s", text, why);
}

int prg_url_parse(struct prg_arena *arena, const char *text, struct prg_url *ret, struct prg_error *err)
{
    *ret = (struct prg_url){"", "", ""};
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return bad_url(text, "it holds a control character", err);
    int scheme = scheme_length(text);
    const char *rest = text;
    if (scheme < 0)
        return bad_url(text, "the scheme before ':' is missing", err);
    if (scheme > 0) {
        ret->scheme = lower_copy(arena, text, (size_t)scheme);
        rest = text + scheme + 1;
    }
    size_t length = strcspn(rest, "#?");
    if (length && scheme == 0 && rest[0] != '/') {
        // Without a scheme the first part may not hold a colon: it could be taken for one.
        size_t part = strcspn(rest, "/");
        if (memchr(rest, ':', part < length ? part : length))
            return bad_url(text, "the first part of a path holds a colon", err);
    }
    if (scheme > 0 && rest[0] != '/')
        return PRG_OK; // opaque: neither host nor path
    if (length >= 2 && rest[0] == '/' && rest[1] == '/' && (scheme > 0 || !(length > 2 && rest[2] == '/'))) {
        size_t host = 2;
        while (host < length && rest[host] != '/')
            host++;
        const char *at = memrchr(rest + 2, '@', host - 2), *start = at ? at + 1 : rest + 2;
        ret->host = unescape(arena, start, (size_t)(rest + host - start));
        rest += host;
        length -= host;
    }
    ret->path = unescape(arena, rest, length);
    if (!ret->host || !ret->path)
        return bad_url(text, "a '%' is not followed by two hexadecimal digits", err);
    return PRG_OK;
}

// ---- paths ----

static const char *clean(struct prg_arena *arena, const char *path)
{
    size_t length = strlen(path), out = 0, kept = 0; // kept: what ".." may not take away
    bool is_rooted = path[0] == '/';
    char *buffer = prg_arena_alloc(arena, length + 2);
    if (is_rooted)
        buffer[out++] = '/', kept = 1;
    for (size_t i = 0; i < length;) {
        size_t part = strcspn(path + i, "/");
        bool is_up = part == 2 && path[i] == '.' && path[i + 1] == '.';
        if (is_up && out > kept) {
            while (out > kept && buffer[out - 1] != '/')
                out--;
            if (out > kept)
                out--; // the '/' before it
        } else if (part && !(part == 1 && path[i] == '.') && !(is_up && is_rooted)) {
            if (out > 0 && buffer[out - 1] != '/')
                buffer[out++] = '/';
            memcpy(buffer + out, path + i, part);
            out += part;
            if (is_up)
                kept = out;
        }
        i += part + 1;
    }
    if (out == 0)
        buffer[out++] = '.';
    buffer[out] = '\0';
    return buffer;
}

const char *prg_path_join(struct prg_arena *arena, const char *a, const char *b)
{
    if (!*a && !*b)
        return "";
    if (!*a)
        return clean(arena, b);
    return clean(arena, *b ? prg_arena_printf(arena, "%s/%s", a, b) : a);
}

const char *prg_path_directory(struct prg_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? prg_arena_strndup(arena, path, (size_t)(slash + 1 - path)) : "";
}
