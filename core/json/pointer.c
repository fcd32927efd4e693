// SPDX-License-Identifier: Apache-2.0
// pointer.c: RFC 6901. Tokens are compared and measured where they stand; nothing is copied.
#include "json/pointer.h"

#include <string.h>

// The character that an escaped token goes on with at `at`; *ret_next is behind it. '\0' stands for a bad escape
// (tokens cannot hold NUL).
static char next_char(const char *at, const char **ret_next)
{
    if (*at != '~') {
        *ret_next = at + 1;
        return *at;
    }
    *ret_next = at + 2;
    return at[1] == '0' ? '~' : at[1] == '1' ? '/' : '\0';
}

static bool token_is(const char *token, size_t length, const char *key)
{
    const char *at = token, *end = token + length;
    for (; at < end; key++) {
        const char *next;
        char c = next_char(at, &next);
        if (c == '\0' || c != *key)
            return false;
        at = next;
    }
    return *key == '\0';
}

bool prg_pointer_index(const char *token, size_t length, size_t *ret)
{
    if (length == 0 || length > 9 || (token[0] == '0' && length > 1))
        return false;
    size_t index = 0;
    for (size_t i = 0; i < length; i++) {
        if (token[i] < '0' || token[i] > '9')
            return false;
        index = index * 10 + (size_t)(token[i] - '0');
    }
    *ret = index;
    return true;
}

cJSON *prg_pointer_step(const cJSON *node, const char *token, size_t length)
{
    if (prg_json_is_array(node)) {
        size_t index;
        return prg_pointer_index(token, length, &index) ? prg_json_item(node, index) : NULL;
    }
    if (!prg_json_is_object(node))
        return NULL;
    cJSON *member;
    prg_json_each (member, node)
        if (token_is(token, length, member->string))
            return member;
    return NULL;
}

cJSON *prg_pointer_get(const cJSON *root, const char *pointer)
{
    const cJSON *node = root;
    while (node && *pointer) {
        if (*pointer != '/')
            return NULL;
        pointer++;
        size_t length = strcspn(pointer, "/");
        node = prg_pointer_step(node, pointer, length);
        pointer += length;
    }
    return (cJSON *)node;
}

void prg_pointer_push(struct prg_strbuf *pointer, const char *token)
{
    prg_strbuf_putc(pointer, '/');
    if (!strpbrk(token, "~/")) {
        prg_strbuf_puts(pointer, token);
        return;
    }
    while (*token) {
        size_t plain = strcspn(token, "~/");
        prg_strbuf_add(pointer, token, plain);
        token += plain;
        if (*token)
            prg_strbuf_puts(pointer, *token++ == '~' ? "~0" : "~1");
    }
}

void prg_pointer_push_index(struct prg_strbuf *pointer, size_t index)
{
    char digits[24];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + index % 10);
    while (index /= 10);
    digits[--at] = '/';
    prg_strbuf_add(pointer, digits + at, sizeof(digits) - at);
}

void prg_pointer_push_steps(struct prg_strbuf *pointer, const struct prg_step *at)
{
    if (!at)
        return;
    prg_pointer_push_steps(pointer, at->up);
    if (at->key)
        prg_pointer_push(pointer, at->key);
    else
        prg_pointer_push_index(pointer, at->index);
}

bool prg_pointer_is_valid(const char *pointer)
{
    if (*pointer && *pointer != '/')
        return false;
    for (const char *at = pointer; *at;) {
        const char *next;
        if (next_char(at, &next) == '\0')
            return false;
        at = next;
    }
    return true;
}
