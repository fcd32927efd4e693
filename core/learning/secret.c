// SPDX-License-Identifier: Apache-2.0
// secret.c: Secrets as variables and as an annotation of messages.
#include "learning/secret.h"

#include <string.h>

#include "base/base64.h"
#include "object/meta.h"

// Length of the UTF-8 sequence at p, 0 when it is none. Overlong forms and surrogates are none.
static size_t sequence_length(const unsigned char *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *p < 0x80 ? 1 : (*p & 0xe0) == 0xc0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 : (*p & 0xf8) == 0xf0 ? 4 : 0;
    if (length <= 1 || length > left)
        return length > left ? 0 : length;
    uint32_t rune = *p & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (p[i] & 0x3fU);
    }
    return rune < least[length] || rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000) ? 0 : length;
}

// A text of JSON and of the environment: NUL bytes and what is not UTF-8 become U+FFFD, as Go's encoding/json does.
static const char *as_text(struct prg_arena *arena, const char *bytes, size_t length)
{
    char *out = prg_arena_alloc(arena, length * 3 + 1), *p = out;
    for (size_t i = 0; i < length;) {
        size_t n = bytes[i] ? sequence_length((const unsigned char *)bytes + i, length - i) : 0;
        memcpy(p, n ? bytes + i : "\xef\xbf\xbd", n ? n : 3);
        p += n ? n : 3;
        i += n ? n : 1;
    }
    *p = '\0';
    return out;
}

static const char *decoded(struct prg_arena *arena, const cJSON *value)
{
    size_t length;
    const char *text = prg_json_text(value);
    const char *bytes = text ? prg_base64_decode(arena, text, prg_json_text_length(value), &length) : NULL;
    return bytes ? as_text(arena, bytes, length) : NULL;
}

const char *prg_secret_value(struct prg_arena *arena, const cJSON *secret, const char *key)
{
    const char *value = decoded(arena, prg_json_at(secret, "data", key));
    return value ? value : prg_json_get_text(prg_json_get(secret, "stringData"), key);
}

static void add_variable(struct prg_arena *arena, cJSON *list, const char *name, const char *value)
{
    cJSON *entry = prg_json_object(arena);
    prg_json_set_string(arena, entry, "name", name);
    prg_json_set_string(arena, entry, "value", value ? value : "");
    prg_json_append(list, entry);
}

cJSON *prg_secret_environment(struct prg_arena *arena, const cJSON *secret)
{
    const char *endpoint = prg_meta_annotation(secret, "s3-endpoint");
    const char *use_https = prg_meta_annotation(secret, "s3-usehttps");
    if (!endpoint || !*endpoint)
        return NULL;
    cJSON *list = prg_json_array(arena);
    const char *scheme = prg_text_equal(use_https, "0") ? "http" : "https";
    add_variable(arena, list, "S3_ENDPOINT_URL", prg_arena_printf(arena, "%s://%s", scheme, endpoint));
    add_variable(arena, list, "ACCESS_KEY_ID", prg_secret_value(arena, secret, "ACCESS_KEY_ID"));
    add_variable(arena, list, "SECRET_ACCESS_KEY", prg_secret_value(arena, secret, "SECRET_ACCESS_KEY"));
    return list;
}

const char *prg_secret_credential(struct prg_arena *arena, const cJSON *secret)
{
    cJSON *all = prg_json_object(arena);
    const cJSON *item;
    prg_json_each (item, prg_meta_annotations(secret))
        prg_json_set_string(arena, all, item->string, prg_json_text(item));
    prg_json_each (item, prg_json_get(secret, "stringData"))
        prg_json_set_string(arena, all, item->string, prg_json_text(item));
    prg_json_each (item, prg_json_get(secret, "data"))
        prg_json_set_string(arena, all, item->string, decoded(arena, item));
    return prg_json_print_arena(arena, all, PRG_JSON_SORTED | PRG_JSON_ESCAPE_HTML);
}
