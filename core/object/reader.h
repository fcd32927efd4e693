// SPDX-License-Identifier: Apache-2.0
// reader.h: read access to a consistent set of objects. Planners get nothing else of a store.
#pragma once
#include "object/key.h"

typedef void (*prg_reader_visit_fn)(const cJSON *object, void *ctx);

struct prg_reader {
    // The object, or NULL. Borrowed: lives as long as the reader's snapshot.
    const cJSON *(*get)(const struct prg_reader *reader, const struct prg_key *key);
    // Visits every object of group and kind in ns (NULL: all namespaces), ordered by namespace and name.
    void (*list)(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                 prg_reader_visit_fn visit, void *ctx);
};

static inline const cJSON *prg_reader_get(const struct prg_reader *reader, const char *group, const char *kind,
                                          const char *ns, const char *name)
{
    struct prg_key key = {group, kind, ns, name};
    return reader->get(reader, &key);
}
