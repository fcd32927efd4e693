// SPDX-License-Identifier: Apache-2.0
// kserve_image.h: UpdateImageTag's rule in C, for the decider of these tests: what lua/policies/image.lua does in the
// program.
#pragma once
#include <ctype.h>
#include <string.h>

#include "object/quantity.h"
#include "policy/decision.h"
#include "serving/compat.h"

// The tag with its colon: the end of image, from the last colon on, if only letters, digits, '_', '.' and '-' follow.
// NULL when there is none; "host:5000/a" has none.
static inline const char *tag_of(const char *image)
{
    const char *colon = strrchr(image, ':');
    if (!colon)
        return NULL;
    for (const char *p = colon + 1; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-", *p))
            return NULL;
    return colon;
}

// Letters of other scripts count as letters in Go; which ones exactly does not matter for a tag.
static inline size_t group_name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || (unsigned char)text[length] >= 0x80)
        length++;
    return length;
}

// The text of the group that name stands for: 0 and 1 are the tag with its colon, 2 is the tag alone. No other group
// has a text, nor has a name that is no number, or one with a leading zero.
static inline const char *group_text(const char *name, size_t length, const char *tag)
{
    if (length != 1)
        return "";
    switch (name[0]) {
    case '0':
    case '1':
        return tag;
    case '2':
        return tag + 1;
    default:
        return "";
    }
}

// version as the replacement of a regular expression whose groups are the parts of tag: $1, ${1} and $$ are expanded
// (Regexp.Expand); a dollar sign with nothing fitting behind it stays.
static inline void expand(struct prg_strbuf *out, const char *version, const char *tag)
{
    const char *p = version;
    while (*p) {
        if (*p != '$') {
            prg_strbuf_putc(out, *p++);
            continue;
        }
        p++;
        if (*p == '$') {
            prg_strbuf_putc(out, *p++);
            continue;
        }
        bool has_brace = *p == '{';
        const char *name = p + (has_brace ? 1 : 0);
        size_t length = group_name_length(name);
        if (length == 0 || (has_brace && name[length] != '}')) {
            prg_strbuf_putc(out, '$');
            continue;
        }
        prg_strbuf_puts(out, group_text(name, length, tag));
        p = name + length + (has_brace ? 1 : 0);
    }
}

static inline const char *with_version(struct prg_arena *arena, const struct prg_compat *compat, const char *image,
                                       const char *tag, const char *version)
{
    if (!tag)
        return prg_arena_printf(arena, "%s:%s", image, version);
    if (prg_mended(compat, PRG_COMPAT_image_suffix))
        return prg_arena_printf(arena, "%.*s:%s", (int)(tag - image), image, version);
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_strbuf_add(&out, image, (size_t)(tag - image));
    prg_strbuf_putc(&out, ':');
    expand(&out, version, tag);
    return prg_arena_strndup(arena, out.text, out.length);
}

static inline const char *server_type_of(const struct prg_image_request *request)
{
    static const char *const by_runtime[][2] = {
        {"kserve-tensorflow-serving", "tensorflow-serving"},
        {"kserve-torchserve", "torchserve"},
        {"kserve-huggingfaceserver", "huggingfaceserver"},
        {"kserve-vllmserver", "vllmserver"},
    };
    if (request->server_type && request->server_type[0])
        return request->server_type;
    for (size_t i = 0; i < PRG_COUNT(by_runtime); i++)
        if (prg_text_equal(request->runtime_name, by_runtime[i][0]))
            return by_runtime[i][1];
    return "";
}

// A limit of zero counts: the original looks only whether the key is there.
static inline bool has_nvidia(const struct prg_image_request *request)
{
    for (size_t i = 0; i < request->gpu_count; i++)
        if (prg_text_equal(request->gpus[i].resource, "nvidia.com/gpu") ||
            prg_text_has_prefix(request->gpus[i].resource, "nvidia.com/mig"))
            return true;
    return false;
}

// Devices of any maker; names without a domain (cpu, memory) are no devices, and none of a kind is no device.
static inline bool has_accelerator(const struct prg_image_request *request)
{
    for (size_t i = 0; i < request->gpu_count; i++) {
        struct prg_quantity count;
        const char *text = request->gpus[i].count;
        if (strchr(request->gpus[i].resource, '/') && text &&
            prg_quantity_parse(text, strlen(text), &count, NULL) == PRG_OK && !prg_quantity_is_zero(&count))
            return true;
    }
    return false;
}

static inline const char *rules_image_tag(struct prg_arena *arena, const struct prg_compat *compat, const char *image,
                                          const struct prg_image_request *request)
{
    static const char *const with_gpu_suffix[] = {"tensorflow-serving", "torchserve", "huggingfaceserver"};
    bool mended = prg_mended(compat, PRG_COMPAT_image_suffix);
    const char *tag = tag_of(image), *server = server_type_of(request), *version = request->runtime_version;
    if (strstr(image, "@sha256:"))
        return image;
    if (version && (version[0] || !mended))
        return with_version(arena, compat, image, tag, version);
    if (!tag)
        return image;
    if (has_nvidia(request)) {
        for (size_t i = 0; i < PRG_COUNT(with_gpu_suffix); i++)
            if (strcmp(server, with_gpu_suffix[i]) == 0 && !prg_text_has_suffix(image, "-gpu"))
                return prg_arena_printf(arena, "%s-gpu", image);
        return image;
    }
    if (strcmp(server, "vllmserver") != 0 || (mended && has_accelerator(request)))
        return image;
    const char *name = prg_arena_strndup(arena, image, (size_t)(tag - image));
    return prg_text_has_suffix(name, "-cpu") ? image : prg_arena_printf(arena, "%s-cpu%s", name, tag);
}
