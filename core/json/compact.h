// SPDX-License-Identifier: Apache-2.0
// compact.h: a JSON text made compact in one pass, without a tree: white space goes, and members that a rule drops; the
// rest stays byte for byte. Texts that somebody wants to know are handed out on the way.
//
// What is kept is checked as prg_json_parse checks it, so that it reads later; what is dropped is only skipped.
#pragma once
#include "json/value.h"

struct prg_compact_member;

// What becomes of the members of an object; of a list: of the members of each item.
struct prg_compact_rule {
    const struct prg_compact_member *members; // ended by one without a key
    bool only;                                // members that are not named are dropped; else they are kept whole
};

struct prg_compact_member {
    const char *key;
    const struct prg_compact_rule *inside; // NULL: all of the value is kept
    bool is_dropped;                       // with an `inside`, or a note, it is read all the same
    unsigned note;                         // a text is handed out under this number; 0: it is not
};

// text is not terminated, and lives until the next one. Escapes are resolved.
typedef void (*prg_compact_fn)(unsigned note, const char *text, size_t length, void *ctx);

// Appends the compact text to out. False: text is no JSON, or not one that prg_json_parse takes; out then holds a part.
bool prg_json_compact(const char *text, size_t length, const struct prg_compact_rule *rule, struct prg_strbuf *out,
                      prg_compact_fn note, void *ctx);
// The same rule on a tree.
void prg_json_prune(cJSON *value, const struct prg_compact_rule *rule);
