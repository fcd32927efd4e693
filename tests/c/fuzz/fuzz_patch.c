// SPDX-License-Identifier: Apache-2.0
// fuzz_patch.c: two documents as a document and the list of operations on it.
#include "fuzz.h"

#include "json/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *document, *operations, *patched = NULL;
    if (!fuzz_two_documents(&arena, data, size, &document, &operations))
        return 0;
    uint64_t before = prg_json_digest(document);
    struct prg_error err = {0};
    int rc = prg_patch_apply(&arena, document, operations, &patched, &err);
    prg_require((rc == PRG_OK) == (patched != NULL) && (rc == PRG_OK || err.depth == 1));
    prg_require(before == prg_json_digest(document));
    if (rc == PRG_OK) { // within the reader's limits, so it reads back
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        prg_json_print(&text, patched, 0);
        prg_require(prg_json_parse(&arena, text.text, text.length, NULL, &document, NULL) == PRG_OK);
        prg_require(prg_json_equal(document, patched));
    }
    return 0;
}
