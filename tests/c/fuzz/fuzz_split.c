// SPDX-License-Identifier: Apache-2.0
// fuzz_split.c: the first byte chooses list or watch and the size of the pieces; the rest, cut in these pieces, gives
// the same objects and the same verdict as in one piece.
#include "fuzz.h"

#include "kube/split.h"

static bool take(const char *type, const char *text, size_t length, void *ctx)
{
    prg_strbuf_printf(ctx, "%s|", type ? type : "");
    prg_strbuf_add(ctx, text, length);
    return true;
}

static int cut(enum prg_split_kind kind, const char *text, size_t length, size_t size, struct prg_strbuf *got)
{
    struct prg_split_handler handler = {take, got};
    struct prg_split *split = prg_split_new(kind, 1000, &handler);
    int rc = PRG_OK;
    for (size_t at = 0; at < length && rc == PRG_OK; at += size)
        rc = prg_split_feed(split, text + at, size < length - at ? size : length - at, NULL);
    if (rc == PRG_OK)
        rc = prg_split_finish(split, NULL);
    prg_split_free(split);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_strbuf whole = PRG_STRBUF_INIT, pieces = PRG_STRBUF_INIT;
    if (!size)
        return 0;
    enum prg_split_kind kind = data[0] & 1 ? PRG_SPLIT_LIST : PRG_SPLIT_WATCH;
    const char *text = (const char *)data + 1;
    int rc = cut(kind, text, size - 1, size, &whole);
    // An object at the limit may be refused earlier or later, never once so and once otherwise.
    prg_require(cut(kind, text, size - 1, (size_t)(data[0] >> 1) % 7 + 1, &pieces) == rc);
    prg_require(rc != PRG_OK || (whole.length == pieces.length && !memcmp(whole.text, pieces.text, whole.length)));
    return 0;
}
