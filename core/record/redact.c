// SPDX-License-Identifier: Apache-2.0
// redact.c: finding credentials, and putting stand-ins in their place.
#include "record/redact.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/map.h"
#include "object/meta.h"

// One walk finds (arena NULL: ends at the first find, changes nothing) or replaces.
struct walk {
    struct prg_arena *arena;
    bool has_found;
};

// ---- names ----

enum { NAME_WORDS = 16, WORD_BYTES = 16 };

struct words {
    char word[NAME_WORDS][WORD_BYTES]; // upper case, cut; the last NAME_WORDS of a longer name
    size_t count;
};

static bool begins_word(const char *name, size_t i)
{
    unsigned char c = (unsigned char)name[i], before = i ? (unsigned char)name[i - 1] : 0;
    if (!i || !isalnum(before))
        return true;
    // "secretKey", and the last capital of "APIKey"
    return isupper(c) && (!isupper(before) || islower((unsigned char)name[i + 1]));
}

static void add_letter(struct words *words, bool is_new, char c)
{
    if (is_new && words->count == NAME_WORDS)
        memmove(words->word, words->word[1], sizeof(words->word[0]) * --words->count);
    if (is_new)
        memset(words->word[words->count++], 0, WORD_BYTES);
    char *word = words->word[words->count - 1];
    size_t length = strlen(word);
    if (length < WORD_BYTES - 1)
        word[length] = (char)toupper((unsigned char)c);
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

bool prg_redact_is_credential(const char *name, size_t length)
{
    static const char *const secret[] = {"PASSWORD",    "PASSWD", "PASSPHRASE", "TOKEN",     "SECRET",     "CREDENTIAL",
                                         "CREDENTIALS", "APIKEY", "ACCESSKEY",  "SECRETKEY", "PRIVATEKEY", NULL};
    static const char *const before_key[] = {"API", "ACCESS", "PRIVATE", "SECRET", "AUTH", "ENCRYPTION", NULL};
    static const char *const harmless[] = {
        "NAME",    "NAMES",      "FILE",     "PATH",      "DIR",    "REF",        "REFS", "REFERENCE", "URL",
        "URI",     "TYPE",       "MODE",     "COUNT",     "LENGTH", "LIMIT",      "SIZE", "SECONDS",   "ENABLED",
        "VERSION", "EXPIRATION", "AUDIENCE", "NAMESPACE", "ISSUER", "ANNOTATION", NULL};
    struct words words = {.count = 0};
    char padded[256]; // terminated, for the look ahead
    bool is_credential = false;
    if (length >= sizeof(padded)) {
        name += length - sizeof(padded) + 1;
        length = sizeof(padded) - 1;
    }
    memcpy(padded, name, length);
    padded[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (isalnum((unsigned char)padded[i]))
            add_letter(&words, begins_word(padded, i) || !words.count, padded[i]);
    for (size_t i = 0; i < words.count; i++)
        is_credential = is_credential || is_one_of(words.word[i], secret) ||
                        (i && strcmp(words.word[i], "KEY") == 0 && is_one_of(words.word[i - 1], before_key));
    return is_credential && !is_one_of(words.word[words.count - 1], harmless);
}

// ---- texts ----

static bool is_harmless_value(const char *text, size_t length)
{
    return !length || (length >= 2 && (memcmp(text, "$(", 2) == 0 || memcmp(text, "{{", 2) == 0)) ||
           (length == 4 && memcmp(text, "true", 4) == 0) || (length == 5 && memcmp(text, "false", 5) == 0) ||
           (length > 9 && memcmp(text, "redacted-", 9) == 0);
}

static void add_stand_in(struct prg_strbuf *out, const char *text, size_t length)
{
    prg_strbuf_printf(out, "redacted-%016" PRIx64, prg_map_hash(text, length));
}

static void set_text(struct walk *walk, cJSON *node, const struct prg_strbuf *text)
{
    const cJSON *made = prg_json_stringn(walk->arena, text->text, text->length);
    node->valuestring = made->valuestring;
    node->valueint = made->valueint;
}

static void replace_text(struct walk *walk, cJSON *node)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (!prg_json_is_string(node) || is_harmless_value(prg_json_text(node), prg_json_text_length(node)))
        return;
    walk->has_found = true;
    if (!walk->arena)
        return;
    add_stand_in(&text, prg_json_text(node), prg_json_text_length(node));
    set_text(walk, node, &text);
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

// Where the value of the name that ends at `at` is: behind "=", or in quotes behind ":" when the name is in quotes.
static bool value_after(const char *text, size_t start, size_t at, size_t length, size_t *ret_start, size_t *ret_end)
{
    bool is_quoted = start && text[start - 1] == '"' && at < length && text[at] == '"';
    size_t i = at + is_quoted;
    while (is_quoted && i < length && strchr(" \t\r\n", text[i]))
        i++;
    if (i >= length || text[i] != (is_quoted ? ':' : '='))
        return false;
    i++;
    while (is_quoted && i < length && strchr(" \t\r\n", text[i]))
        i++;
    char quote = i < length && (text[i] == '"' || text[i] == '\'') ? text[i] : '\0';
    if (is_quoted && quote != '"')
        return false;
    *ret_start = i += quote != '\0';
    while (i < length && text[i] && (quote ? text[i] != quote : !strchr(" \t\r\n\"'&;,", text[i])))
        i += quote && text[i] == '\\' && i + 1 < length ? 2 : 1;
    *ret_end = i;
    return true;
}

// The password of "scheme://user:password@host" whose "://" is at `at`.
static bool password_after(const char *text, size_t at, size_t length, size_t *ret_start, size_t *ret_end)
{
    size_t colon = 0;
    for (size_t i = at + 3; i < length && text[i] && !strchr("/ \t\r\n\"'?#", text[i]); i++) {
        if (text[i] == ':' && !colon)
            colon = i;
        if (text[i] == '@' && colon) {
            *ret_start = colon + 1;
            *ret_end = i;
            return true;
        }
    }
    return false;
}

// The next secret in text from *at on; *at goes behind what was looked at.
static bool next_secret(const char *text, size_t length, size_t *at, size_t *ret_start, size_t *ret_end)
{
    while (*at < length) {
        size_t start = *at;
        if (length - start > 3 && memcmp(text + start, "://", 3) == 0) {
            *at += 3;
            if (password_after(text, start, length, ret_start, ret_end))
                return true;
            continue;
        }
        if (!is_name_byte(text[start])) {
            (*at)++;
            continue;
        }
        while (*at < length && is_name_byte(text[*at]))
            (*at)++;
        // In this order: a value can be as long as the text, a name is looked at once.
        if (*at < length && strchr("=\"", text[*at]) && prg_redact_is_credential(text + start, *at - start) &&
            value_after(text, start, *at, length, ret_start, ret_end))
            return true;
    }
    return false;
}

static void walk_text(struct walk *walk, cJSON *node)
{
    const char *text = prg_json_text(node);
    size_t length = prg_json_text_length(node), at = 0, done = 0, start, end;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    bool has_found = false;
    while (next_secret(text, length, &at, &start, &end)) {
        at = end;
        if (is_harmless_value(text + start, end - start))
            continue;
        has_found = walk->has_found = true;
        if (!walk->arena)
            return;
        prg_strbuf_add(&out, text + done, start - done);
        add_stand_in(&out, text + start, end - start);
        done = end;
    }
    if (!has_found)
        return;
    prg_strbuf_add(&out, text + done, length - done);
    set_text(walk, node, &out);
}

// ---- trees ----

// "--api-key", "VALUE"
static void walk_argument_pairs(struct walk *walk, const cJSON *list)
{
    for (cJSON *item = list->child; item && item->next; item = item->next) {
        const char *text = prg_json_text(item), *value = prg_json_text(item->next);
        if (text && value && text[0] == '-' && value[0] != '-' && !strpbrk(text, "= \t\n") &&
            prg_redact_is_credential(text, strlen(text)))
            replace_text(walk, item->next);
    }
}

// has_names: keys of objects in here name what is under them.
static void walk_node(struct walk *walk, cJSON *node, bool has_names)
{
    if (prg_json_is_string(node)) {
        walk_text(walk, node);
        return;
    }
    if (prg_json_is_array(node))
        walk_argument_pairs(walk, node);
    const char *name = prg_json_get_text(node, "name");
    for (cJSON *child = node->child; child && (walk->arena || !walk->has_found); child = child->next) {
        bool is_named = has_names && child->string && prg_redact_is_credential(child->string, strlen(child->string));
        if (prg_json_is_object(node) && name && prg_text_equal(child->string, "value"))
            is_named = is_named || prg_redact_is_credential(name, strlen(name));
        if (is_named)
            replace_text(walk, child);
        walk_node(walk, child, has_names); // depth is bounded by the readers of trees
    }
}

// A value of a Secret: what is a JSON object keeps its form.
static void secret_value(struct prg_arena *arena, const char *text, size_t length, struct prg_strbuf *out)
{
    static const char *const kept[] = {"type", "bucket", "cabundle_configmap", NULL};
    cJSON *object = NULL, *member;
    struct walk inner = {.arena = arena};
    if (is_harmless_value(text, length)) {
        prg_strbuf_add(out, text, length);
        return;
    }
    if (prg_json_parse(arena, text, length, NULL, &object, NULL) != PRG_OK || !prg_json_is_object(object)) {
        add_stand_in(out, text, length);
        return;
    }
    prg_json_each (member, object) {
        if (is_one_of(member->string, kept))
            continue;
        if (prg_json_is_string(member))
            replace_text(&inner, member);
        else if (!prg_json_is_bool(member) && !prg_json_is_null(member)) // numbers and whatever else is deeper
            prg_json_set(arena, object, member->string, prg_json_string(arena, "redacted"));
    }
    prg_json_print(out, object, PRG_JSON_COMPACT);
}

static void walk_secret_data(struct walk *walk, const cJSON *data, bool is_encoded)
{
    for (cJSON *member = data ? data->child : NULL; member; member = member->next) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        const char *value = prg_json_text(member);
        size_t length = prg_json_text_length(member);
        if (!value || !length)
            continue;
        walk->has_found = true;
        if (!walk->arena)
            return;
        const char *plain = is_encoded ? prg_base64_decode(walk->arena, value, length, &length) : value;
        if (plain)
            secret_value(walk->arena, plain, length, &text);
        else
            add_stand_in(&text, value, prg_json_text_length(member));
        if (is_encoded) {
            const char *encoded = prg_base64_encode(walk->arena, text.text, text.length);
            prg_strbuf_clear(&text);
            prg_strbuf_puts(&text, encoded);
        }
        set_text(walk, member, &text);
    }
}

static bool is_kind(const cJSON *object, const char *kind)
{
    return prg_text_equal(prg_json_get_text(object, "apiVersion"), "v1") &&
           prg_text_equal(prg_json_get_text(object, "kind"), kind);
}

static void walk_object(struct walk *walk, const cJSON *object)
{
    bool is_secret = is_kind(object, "Secret"), is_config = is_kind(object, "ConfigMap");
    cJSON *applied = prg_json_at(object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration");
    if (applied)
        replace_text(walk, applied);
    if (is_secret) {
        walk_secret_data(walk, prg_json_get(object, "data"), true);
        walk_secret_data(walk, prg_json_get(object, "stringData"), false);
    }
    for (cJSON *member = object->child; member && (walk->arena || !walk->has_found); member = member->next) {
        bool is_data = strcmp(member->string, "data") == 0;
        if (is_secret && (is_data || strcmp(member->string, "stringData") == 0))
            continue;
        walk_node(walk, member, !(is_config && is_data));
    }
}

const cJSON *prg_redact(struct prg_arena *arena, const cJSON *object)
{
    struct walk finding = {.arena = NULL}, replacing = {.arena = arena};
    if (!prg_json_is_object(object))
        return object;
    walk_object(&finding, object);
    if (!finding.has_found)
        return object;
    cJSON *copy = prg_json_copy(arena, object);
    walk_object(&replacing, copy);
    return copy;
}
