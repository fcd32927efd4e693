// SPDX-License-Identifier: Apache-2.0
// reader.c: looking for a label where there is no index of labels; where objects come from.
#include "object/reader.h"

#include <stdatomic.h>

#include "object/meta.h"

uint64_t prg_reader_next_number(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void prg_reader_visit_filtered(const cJSON *object, void *ctx)
{
    const struct prg_reader_filter *filter = ctx;
    const char *value = prg_meta_label(object, filter->label);
    if (value && prg_text_equal(value, filter->value))
        filter->visit(object, filter->ctx);
}

void prg_reader_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                              const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct prg_reader_filter filter = {label, value, visit, ctx};
    if (reader->list_labelled)
        reader->list_labelled(reader, group, kind, ns, label, value, visit, ctx);
    else
        reader->list(reader, group, kind, ns, prg_reader_visit_filtered, &filter);
}

const char *prg_reader_place(const struct prg_reader *reader, const struct prg_key *key, const cJSON *node,
                             struct prg_arena *arena)
{
    const char *file = reader->file ? reader->file(reader, key, arena) : NULL;
    if (!file)
        return NULL;
    struct prg_json_position at = prg_json_position(node ? node : reader->get(reader, key));
    return at.line ? prg_arena_printf(arena, "%s:%u", file, at.line) : file;
}
