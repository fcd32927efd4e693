// SPDX-License-Identifier: Apache-2.0
// fuzz_yaml.c: any bytes through the YAML reader, and what it accepts through the writer and back.
#include "fuzz.h"

#include "yaml/dump.h"
#include "yaml/load.h"

// Writes node and reads it back as the only other document behind a first one, so that it is not taken for JSON.
static cJSON *round_trip(struct prg_arena *arena, const cJSON *node)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct prg_yaml_docs docs = {0};
    prg_strbuf_puts(&text, "first: 1\n---\n");
    prg_yaml_dump(&text, node);
    prg_require(prg_yaml_load(arena, "dump", text.text, text.length, NULL, &docs, NULL) == PRG_OK);
    prg_require(docs.count == 2);
    return docs.items[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    struct prg_yaml_docs docs = {0};
    struct prg_yaml_limits limits = {.max_bytes = 1 << 16, .max_expansion = 1000};

    prg_arena_init(&arena);
    if (prg_yaml_load(&arena, "fuzz.yaml", (const char *)data, size, &limits, &docs, &err) != PRG_OK) {
        prg_require(prg_text_has_prefix(err.frame[0].text, "fuzz.yaml:"));
        return 0;
    }
    for (size_t i = 0; i < docs.count; i++) {
        // A number of JSON that YAML cannot hold is rounded on the first way round; from then on nothing changes.
        cJSON *once = round_trip(&arena, docs.items[i]);
        cJSON *twice = round_trip(&arena, once);
        prg_require(prg_json_equal(once, twice));
    }
    return 0;
}
