// SPDX-License-Identifier: Apache-2.0
// quiet.c: what plans have read, as short texts.
//
// A note is a question and the state of its answer:
//
//   u8 kind        index in `kinds`, or OTHER_KIND: group and kind follow as texts
//   u8 form        NAMED, LISTED or LABELLED; | OWN_NS (the subject's) or NO_NS (none, "" or NULL), else a text follows
//   texts          each ends in a zero: group, kind, namespace, name (of the subject's: see name_form), label, value
//   state          NAMED: its newest, 8 bytes; else all of it, 24
#include "controller/quiet.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"

enum { OTHER_KIND = 255 };
enum form { NAMED = 1, LISTED = 2, LABELLED = 3, FORM = 3, OWN_NS = 4, NO_NS = 8, OWN_NAME = 16 };

static const struct {
    const char *group, *kind;
} kinds[] = {{"serving.kserve.io", "InferenceService"},
             {"serving.kserve.io", "ServingRuntime"},
             {"serving.kserve.io", "ClusterServingRuntime"},
             {"serving.kserve.io", "ClusterStorageContainer"},
             {"apps", "Deployment"},
             {"", "Service"},
             {"autoscaling", "HorizontalPodAutoscaler"},
             {"keda.sh", "ScaledObject"},
             {"serving.knative.dev", "Service"},
             {"", "ServiceAccount"},
             {"", "Secret"},
             {"", "ConfigMap"},
             {"", "Namespace"},
             {"", "Pod"}};

struct prg_notes {
    struct prg_reader reader; // first
    const struct prg_reader *store;
    char *ns, *name; // of the subject
    struct prg_strbuf text;
    bool is_unknown; // something was read whose state cannot be told
};

struct kept {
    uint64_t planner;
    uint32_t length;
    char text[];
};

struct prg_quiet {
    struct prg_map by_key; // struct kept
    size_t bytes;
};

// ---- writing notes ----

static void add_text(struct prg_strbuf *out, const char *text)
{
    prg_strbuf_add(out, text, strlen(text) + 1);
}

static uint8_t kind_number(const struct prg_reader_question *question)
{
    for (size_t i = 0; i < PRG_COUNT(kinds); i++)
        if (strcmp(kinds[i].kind, question->kind) == 0 && strcmp(kinds[i].group, question->group) == 0)
            return (uint8_t)i;
    return OTHER_KIND;
}

static enum form form_of(const struct prg_notes *notes, const struct prg_reader_question *question)
{
    enum form form = question->name ? NAMED : question->label ? LABELLED : LISTED;
    if (!question->ns || !*question->ns)
        form |= NO_NS;
    else if (strcmp(question->ns, notes->ns) == 0)
        form |= OWN_NS;
    if (question->name && strncmp(question->name, notes->name, strlen(notes->name)) == 0)
        form |= OWN_NAME;
    return form;
}

static void add_question(struct prg_strbuf *out, const struct prg_notes *notes,
                         const struct prg_reader_question *question)
{
    uint8_t kind = kind_number(question);
    enum form form = form_of(notes, question);
    prg_strbuf_putc(out, (char)kind);
    prg_strbuf_putc(out, (char)form);
    if (kind == OTHER_KIND) {
        add_text(out, question->group);
        add_text(out, question->kind);
    }
    if (!(form & (NO_NS | OWN_NS)))
        add_text(out, question->ns);
    if (question->name)
        add_text(out, question->name + (form & OWN_NAME ? strlen(notes->name) : 0));
    if (question->label) {
        add_text(out, question->label);
        add_text(out, question->value);
    }
}

static size_t state_size(enum form form)
{
    return (form & FORM) == NAMED ? sizeof(uint64_t) : sizeof(struct prg_reader_state);
}

static void note(struct prg_notes *notes, const struct prg_reader_question *question)
{
    struct prg_reader_state state;
    if (notes->is_unknown)
        return;
    if (!prg_reader_state(notes->store, question, &state)) {
        notes->is_unknown = true;
        return;
    }
    add_question(&notes->text, notes, question);
    prg_strbuf_add(&notes->text, &state, state_size(form_of(notes, question)));
}

// ---- the reader of a plan ----

static const cJSON *note_get(const struct prg_reader *reader, const struct prg_key *key)
{
    struct prg_notes *notes = (struct prg_notes *)(uintptr_t)reader;
    prg_notes_add(notes, key);
    return notes->store->get(notes->store, key);
}

static void note_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                      prg_reader_visit_fn visit, void *ctx)
{
    struct prg_notes *notes = (struct prg_notes *)(uintptr_t)reader;
    note(notes, &(struct prg_reader_question){.group = group, .kind = kind, .ns = ns});
    notes->store->list(notes->store, group, kind, ns, visit, ctx);
}

static void note_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                          const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct prg_notes *notes = (struct prg_notes *)(uintptr_t)reader;
    note(notes, &(struct prg_reader_question){.group = group, .kind = kind, .ns = ns, .label = label, .value = value});
    prg_reader_list_labelled(notes->store, group, kind, ns, label, value, visit, ctx);
}

static int note_trouble(const struct prg_reader *reader, struct prg_error *err)
{
    return prg_reader_trouble(((const struct prg_notes *)reader)->store, err);
}

// Whoever asks for a state depends on what it is of.
static bool note_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                       struct prg_reader_state *ret)
{
    struct prg_notes *notes = (struct prg_notes *)(uintptr_t)reader;
    note(notes, question);
    return prg_reader_state(notes->store, question, ret);
}

struct prg_notes *prg_notes_new(const struct prg_reader *store, const struct prg_key *subject)
{
    struct prg_notes *notes = prg_xcalloc(1, sizeof(*notes));
    notes->reader = (struct prg_reader){.get = note_get,
                                        .list = note_list,
                                        .list_labelled = note_labelled,
                                        .trouble = note_trouble,
                                        .keeps_trees = store->keeps_trees,
                                        .state = note_state};
    notes->store = store;
    notes->ns = prg_xstrdup(subject->ns);
    notes->name = prg_xstrdup(subject->name);
    prg_strbuf_init(&notes->text);
    return notes;
}

void prg_notes_free(struct prg_notes *notes)
{
    if (!notes)
        return;
    prg_strbuf_release(&notes->text);
    free(notes->ns);
    free(notes->name);
    free(notes);
}

const struct prg_reader *prg_notes_reader(const struct prg_notes *notes)
{
    return &notes->reader;
}

void prg_notes_add(struct prg_notes *notes, const struct prg_key *key)
{
    note(notes,
         &(struct prg_reader_question){.group = key->group, .kind = key->kind, .ns = key->ns, .name = key->name});
}

// ---- reading them ----

static const char *take_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

// Asks one note's question again and moves on to the next. False: it has another answer.
static bool is_same(const char **at, const struct prg_key *subject, const struct prg_reader *store,
                    struct prg_strbuf *name)
{
    uint8_t kind = (uint8_t)(*at)[0];
    enum form form = (uint8_t)(*at)[1];
    struct prg_reader_question question = {0};
    struct prg_reader_state state;
    *at += 2;
    question.group = kind == OTHER_KIND ? take_text(at) : kinds[kind].group;
    question.kind = kind == OTHER_KIND ? take_text(at) : kinds[kind].kind;
    question.ns = form & NO_NS ? NULL : form & OWN_NS ? subject->ns : take_text(at);
    if ((form & FORM) == NAMED) {
        prg_strbuf_clear(name);
        prg_strbuf_puts(name, form & OWN_NAME ? subject->name : "");
        prg_strbuf_puts(name, take_text(at));
        question.name = name->text;
    } else if ((form & FORM) == LABELLED) {
        question.label = take_text(at);
        question.value = take_text(at);
    }
    const char *known = *at;
    *at += state_size(form);
    return prg_reader_state(store, &question, &state) && memcmp(known, &state, state_size(form)) == 0;
}

// ---- what is kept ----

struct prg_quiet *prg_quiet_new(void)
{
    struct prg_quiet *quiet = prg_xcalloc(1, sizeof(*quiet));
    prg_map_init(&quiet->by_key);
    return quiet;
}

void prg_quiet_free(struct prg_quiet *quiet)
{
    const struct prg_map_entry *entry;
    if (!quiet)
        return;
    for (size_t i = 0; (entry = prg_map_next(&quiet->by_key, &i));)
        free(entry->value);
    prg_map_release(&quiet->by_key);
    free(quiet);
}

static void drop(struct prg_quiet *quiet, struct kept *kept)
{
    if (!kept)
        return;
    quiet->bytes -= sizeof(*kept) + kept->length;
    free(kept);
}

void prg_quiet_keep(struct prg_quiet *quiet, const char *queue_key, const struct prg_notes *notes, uint64_t planner)
{
    if (notes->is_unknown || notes->text.length > UINT32_MAX) {
        prg_quiet_forget(quiet, queue_key);
        return;
    }
    struct kept *kept = prg_xmalloc(sizeof(*kept) + notes->text.length);
    kept->planner = planner;
    kept->length = (uint32_t)notes->text.length;
    memcpy(kept->text, notes->text.text, notes->text.length);
    quiet->bytes += sizeof(*kept) + kept->length;
    drop(quiet, prg_map_put(&quiet->by_key, queue_key, kept));
}

void prg_quiet_forget(struct prg_quiet *quiet, const char *queue_key)
{
    drop(quiet, prg_map_remove(&quiet->by_key, queue_key));
}

bool prg_quiet_holds(const struct prg_quiet *quiet, const char *queue_key, const struct prg_key *subject,
                     const struct prg_reader *store, uint64_t planner)
{
    const struct kept *kept = prg_map_get(&quiet->by_key, queue_key);
    prg_auto_strbuf name = PRG_STRBUF_INIT;
    if (!kept || kept->planner != planner || prg_reader_trouble(store, NULL) != PRG_OK)
        return false;
    const char *at = kept->text, *end = kept->text + kept->length;
    while (at < end)
        if (!is_same(&at, subject, store, &name))
            return false;
    return true;
}

size_t prg_quiet_bytes(const struct prg_quiet *quiet)
{
    return quiet->bytes;
}
