// SPDX-License-Identifier: Apache-2.0
// path.c: keys to paths and uids.
#include "catalog/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Room for ".yaml" and the name of a temporary file within the 255 bytes of a file name.
#define LONGEST_PART 200
#define CUT_PART 180

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

// These digests are stored on disk, so they must never change and not depend on the process.
static uint64_t digest_more(uint64_t digest, const char *text)
{
    for (const char *c = text; *c; c++)
        digest = (digest ^ (unsigned char)*c) * FNV_PRIME;
    return (digest ^ 0xff) * FNV_PRIME; // ends the part: no text holds this byte
}

// Spreads every input bit over the whole word (the finaliser of MurmurHash3).
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static bool is_safe(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
}

// instead stands for the empty part, so the part itself must not be read as that.
static void add_part(struct prg_strbuf *out, const char *part, const char *instead)
{
    if (!*part) {
        prg_strbuf_puts(out, instead ? instead : "%");
        return;
    }
    size_t start = out->length;
    bool is_taken = instead && strcmp(part, instead) == 0;
    for (const char *c = part; *c; c++) {
        bool is_first = c == part;
        if (is_safe(*c) && !(is_first && (*c == '.' || is_taken)))
            prg_strbuf_putc(out, *c);
        else
            prg_strbuf_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
    if (out->length - start > LONGEST_PART) {
        prg_strbuf_truncate(out, start + CUT_PART);
        // "%~" cannot come from the escaping above.
        prg_strbuf_printf(out, "%%~%016" PRIx64, mix(digest_more(FNV_OFFSET, part)));
    }
}

void prg_catalog_path(struct prg_strbuf *out, const struct prg_key *key)
{
    add_part(out, key->group, "core");
    prg_strbuf_putc(out, '/');
    add_part(out, key->kind, NULL);
    prg_strbuf_putc(out, '/');
    add_part(out, key->ns, "_cluster");
    prg_strbuf_putc(out, '/');
    add_part(out, key->name, NULL);
    prg_strbuf_puts(out, ".yaml");
}

const char *prg_catalog_uid(const struct prg_key *key, char buffer[PRG_UID_TEXT])
{
    uint64_t words[2] = {FNV_OFFSET, FNV_OFFSET ^ UINT64_C(0x9e3779b97f4a7c15)};
    for (size_t i = 0; i < PRG_COUNT(words); i++) {
        words[i] = digest_more(words[i], key->group);
        words[i] = digest_more(words[i], key->kind);
        words[i] = digest_more(words[i], key->ns);
        words[i] = mix(digest_more(words[i], key->name));
    }
    words[0] = (words[0] & ~UINT64_C(0xf000)) | UINT64_C(0x8000);     // version 8
    words[1] = (words[1] & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62; // RFC 9562 variant
    snprintf(buffer, PRG_UID_TEXT, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
             words[0] >> 32, words[0] >> 16 & 0xffff, words[0] & 0xffff, words[1] >> 48,
             words[1] & UINT64_C(0xffffffffffff));
    return buffer;
}
