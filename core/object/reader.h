// SPDX-License-Identifier: Apache-2.0
// reader.h: read access to a consistent set of objects. Planners get nothing else of a store.
#pragma once
#include "object/key.h"

typedef void (*prg_reader_visit_fn)(const cJSON *object, void *ctx);

// What a read would find, in numbers: equal ones of the same question, asked of the same reader, mean that the answer
// is the same, to the byte. Zeros: nothing is there. Of one object `newest` says it all.
struct prg_reader_state {
    uint64_t newest, count, sum;
};

struct prg_reader_question { // what is read
    const char *group, *kind;
    const char *ns;            // NULL: of all namespaces
    const char *name;          // of the one object; NULL: a list
    const char *label, *value; // of those in the list; NULL: all
};

struct prg_reader {
    // The object, or NULL. Borrowed: lives as long as the reader's snapshot.
    const cJSON *(*get)(const struct prg_reader *reader, const struct prg_key *key);
    // Visits every object of group and kind in ns (NULL: all namespaces), ordered by namespace and name.
    void (*list)(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                 prg_reader_visit_fn visit, void *ctx);
    // The same for those with the label. NULL: prg_reader_list_labelled goes through the list.
    void (*list_labelled)(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                          const char *label, const char *value, prg_reader_visit_fn visit, void *ctx);
    // The first thing that could not be read (a server that refuses), after which all answers are nothing: its code,
    // and err; else PRG_OK. NULL: reading cannot go wrong.
    int (*trouble)(const struct prg_reader *reader, struct prg_error *err);
    // The state of an answer, without reading it. False: it cannot tell. NULL: it never can.
    bool (*state)(const struct prg_reader *reader, const struct prg_reader_question *question,
                  struct prg_reader_state *ret);
    // The file that the object was read from, in arena, or NULL. NULL: there are no files.
    const char *(*file)(const struct prg_reader *reader, const struct prg_key *key, struct prg_arena *arena);
    // Another number than any other reader of the process has: what was given stays where it is as long as the state of
    // the answer is the same. 0: it does not.
    uint64_t keeps_trees;
};

// Visits every object of group and kind in ns (NULL: all namespaces) whose label has this value, ordered as list does.
void prg_reader_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                              const char *label, const char *value, prg_reader_visit_fn visit, void *ctx);

static inline int prg_reader_trouble(const struct prg_reader *reader, struct prg_error *err)
{
    return reader->trouble ? reader->trouble(reader, err) : PRG_OK;
}

static inline bool prg_reader_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                                    struct prg_reader_state *ret)
{
    *ret = (struct prg_reader_state){0};
    return reader->state && reader->state(reader, question, ret);
}

uint64_t prg_reader_next_number(void); // for keeps_trees, and whatever else is to be told apart

// Where a node of the object stands, "services.yaml:12", in arena; NULL: that is not known. node NULL: the object
// itself.
const char *prg_reader_place(const struct prg_reader *reader, const struct prg_key *key, const cJSON *node,
                             struct prg_arena *arena);

// A visitor that passes on those with the label: for readers that list.
struct prg_reader_filter {
    const char *label, *value;
    prg_reader_visit_fn visit;
    void *ctx;
};
void prg_reader_visit_filtered(const cJSON *object, void *filter);

static inline const cJSON *prg_reader_get(const struct prg_reader *reader, const char *group, const char *kind,
                                          const char *ns, const char *name)
{
    struct prg_key key = {group, kind, ns, name};
    return reader->get(reader, &key);
}
