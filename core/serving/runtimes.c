// SPDX-License-Identifier: Apache-2.0
// runtimes.c: lines of runtimes, and candidates made from them.
//
// A listing (one kind, one namespace or none) is an array of lines in the order of the store. Reading it again compares
// the trees' identities, or, where the store can tell states and keeps its trees with them, nothing but the state.
#include "serving/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "object/meta.h"
#include "serving/predictor.h"

#define MOST_BYTES ((size_t)16 << 20) // of all that is kept; beyond it all is dropped

struct format { // an entry of supportedModelFormats; texts are the tree's
    const char *name, *version;
    uint64_t hash; // of the name
    int64_t priority;
    bool auto_select, has_priority;
};

struct line {
    const cJSON *object;
    const char *why; // it cannot be read; else NULL
    const char *name, *created;
    char *own_created; // that created points to, or NULL
    struct format *formats;
    uint32_t format_count;
    uint32_t identity;
    uint32_t alike; // lines with equal texts of PRG_CANDIDATE_ALIKE have equal ones, from 1
    uint32_t rank;  // in the order of the listing by protocol, time and name, from 0
    int protocol;
};

struct listing {
    struct prg_reader_state state;
    uint64_t trees;     // of the store whose state it is (keeps_trees), 0: no state is known
    uint64_t number;    // another one after each change of a line
    struct line *lines; // those from count on are zeroed
    size_t count, cap;
    size_t bytes;       // counted so far
    bool has_own_times; // one of them
};

struct made {              // candidates for one question
    uint64_t own, cluster; // numbers of the listings that they were made from
    uint64_t number;
    bool has_own_times; // texts that are the lines' and not the trees'
    size_t bytes;       // of all this and of its question, which holds a service's texts
    size_t count;
    struct prg_candidate candidates[];
};

struct prg_runtimes {
    struct prg_map listings; // namespace ("" for the cluster's) -> struct listing
    struct prg_map made;     // question -> struct made
    struct prg_map alike;    // texts of PRG_CANDIDATE_ALIKE -> number
    size_t bytes;
};

// ---- runtimes that cannot be read ----

static bool is_text(const cJSON *node)
{
    return prg_json_is_string(node) && strlen(prg_json_text(node)) == prg_json_text_length(node);
}

static bool is_absent_or(const cJSON *node, bool (*accepts)(const cJSON *node))
{
    return !node || prg_json_is_null(node) || accepts(node);
}

static bool is_boolean(const cJSON *node)
{
    return prg_json_is_bool(node);
}

static bool is_list_of(const cJSON *list, bool (*accepts)(const cJSON *node))
{
    const cJSON *item;
    if (!list || prg_json_is_null(list))
        return true;
    if (!prg_json_is_array(list))
        return false;
    prg_json_each (item, list)
        if (!accepts(item))
            return false;
    return true;
}

static bool is_format(const cJSON *entry)
{
    return prg_json_is_object(entry) && is_absent_or(prg_json_get(entry, "name"), is_text) &&
           is_absent_or(prg_json_get(entry, "version"), is_text) &&
           is_absent_or(prg_json_get(entry, "autoSelect"), is_boolean);
}

const char *prg_runtime_unreadable(const cJSON *object)
{
    const cJSON *spec = prg_json_get(object, "spec");
    if (!prg_json_is_object(spec))
        return "/spec is no object";
    if (!is_absent_or(prg_json_get(spec, "disabled"), is_boolean) ||
        !is_absent_or(prg_json_get(spec, "multiModel"), is_boolean))
        return "/spec/disabled or /spec/multiModel is no boolean";
    if (!is_list_of(prg_json_get(spec, "protocolVersions"), is_text))
        return "/spec/protocolVersions is no list of texts";
    if (!is_list_of(prg_json_get(spec, "supportedModelFormats"), is_format))
        return "/spec/supportedModelFormats is no list of formats with name, version and autoSelect";
    return NULL;
}

// ---- listings ----

static uint64_t hash_of(const char *name)
{
    return name ? prg_map_hash(name, strlen(name)) : 0;
}

static void read_formats(struct line *line, const cJSON *formats)
{
    const cJSON *entry;
    line->format_count = 0;
    line->formats = NULL;
    if (!prg_json_is_array(formats))
        return;
    line->formats = prg_xcalloc(prg_json_count(formats) + 1, sizeof(*line->formats));
    prg_json_each (entry, formats) {
        struct format *format = &line->formats[line->format_count++];
        format->name = prg_json_get_text(entry, "name");
        format->version = prg_json_get_text(entry, "version");
        format->hash = hash_of(format->name);
        format->auto_select = prg_json_get_true(entry, "autoSelect");
        format->has_priority = prg_json_get_int64(entry, "priority", &format->priority);
    }
}

static void line_release(struct line *line)
{
    free(line->own_created);
    free(line->formats);
}

static uint32_t alike_of(struct prg_runtimes *runtimes, const cJSON *spec)
{
    static const char *const members[] = {PRG_CANDIDATE_ALIKE};
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (size_t i = 0; i < PRG_COUNT(members); i++) {
        const cJSON *member = prg_json_get(spec, members[i]);
        if (member)
            prg_json_print(&text, member, PRG_JSON_SORTED);
        prg_strbuf_putc(&text, '\n'); // no text of a value holds one
    }
    uintptr_t number = (uintptr_t)prg_map_getn(&runtimes->alike, text.text, text.length);
    if (!number) {
        number = runtimes->alike.count + 1;
        prg_map_putn(&runtimes->alike, text.text, text.length, (void *)number); // NOLINT(performance-no-int-to-ptr)
        runtimes->bytes += text.length + 64;
    }
    return (uint32_t)number;
}

static void line_read(struct prg_runtimes *runtimes, struct line *line, const cJSON *object)
{
    const cJSON *spec = prg_json_get(object, "spec");
    char buffer[PRG_CLOCK_TEXT];
    *line = (struct line){.object = object,
                          .why = prg_runtime_unreadable(object),
                          .name = prg_meta_name(object),
                          .identity = prg_json_identity(object),
                          .alike = alike_of(runtimes, spec),
                          .protocol = prg_protocol_lowest(prg_json_get(spec, "protocolVersions"))};
    line->created = prg_clock_plain(prg_meta_created(object), buffer);
    if (line->created == buffer)
        line->created = line->own_created = prg_xstrdup(buffer);
    read_formats(line, prg_json_get(spec, "supportedModelFormats"));
}

struct reading {
    struct prg_runtimes *runtimes;
    struct listing *listing;
    size_t at;
    bool is_changed;
};

static void read_one(const cJSON *object, void *ctx)
{
    struct reading *reading = ctx;
    struct listing *listing = reading->listing;
    uint32_t identity = prg_json_identity(object);
    size_t at = reading->at++;
    if (at < listing->count && identity && listing->lines[at].identity == identity &&
        listing->lines[at].object == object)
        return;
    if (at == listing->cap) {
        size_t cap = listing->cap ? listing->cap * 2 : 16;
        listing->lines = prg_xrealloc(listing->lines, cap * sizeof(*listing->lines));
        memset(listing->lines + listing->cap, 0, (cap - listing->cap) * sizeof(*listing->lines));
        listing->cap = cap;
    }
    line_release(&listing->lines[at]);
    line_read(reading->runtimes, &listing->lines[at], object);
    reading->is_changed = true;
}

// The order of candidates without priorities: see core/policy/select.c.
static int compare_lines(const void *x, const void *y)
{
    const struct line *a = *(const struct line *const *)x, *b = *(const struct line *const *)y;
    int order = a->protocol < b->protocol ? -1 : a->protocol > b->protocol;
    if (order == 0)
        order = strcmp(b->created, a->created);
    return order ? order : strcmp(a->name, b->name);
}

static void rank_lines(struct listing *listing)
{
    listing->has_own_times = false;
    for (size_t i = 0; i < listing->count; i++)
        listing->has_own_times |= listing->lines[i].own_created != NULL;
    struct line **order = prg_xmalloc((listing->count + 1) * sizeof(struct line *));
    for (size_t i = 0; i < listing->count; i++)
        order[i] = &listing->lines[i];
    qsort(order, listing->count, sizeof(struct line *), compare_lines);
    for (size_t i = 0; i < listing->count; i++)
        order[i]->rank = (uint32_t)i;
    free(order);
}

// Brings the listing up to date.
static void refresh(struct prg_runtimes *runtimes, struct listing *listing, const struct prg_reader *store,
                    const char *kind, const char *ns)
{
    struct prg_reader_question question = {PRG_SERVING_GROUP, kind, ns, NULL, NULL, NULL};
    struct prg_reader_state state = {0};
    struct reading reading = {.runtimes = runtimes, .listing = listing};
    uint64_t trees = prg_reader_state(store, &question, &state) ? store->keeps_trees : 0;
    if (trees && trees == listing->trees && memcmp(&state, &listing->state, sizeof(state)) == 0)
        return;
    listing->trees = trees;
    listing->state = state;
    store->list(store, PRG_SERVING_GROUP, kind, ns, read_one, &reading);
    bool is_other = reading.is_changed || reading.at != listing->count || !listing->number;
    for (size_t i = reading.at; i < listing->count; i++) {
        line_release(&listing->lines[i]);
        listing->lines[i] = (struct line){0};
    }
    listing->count = reading.at;
    if (!is_other)
        return;
    listing->number = prg_reader_next_number();
    rank_lines(listing);
}

static void listing_free(struct listing *listing)
{
    if (!listing)
        return;
    for (size_t i = 0; i < listing->count; i++)
        line_release(&listing->lines[i]);
    free(listing->lines);
    free(listing);
}

static struct listing *listing_of(struct prg_runtimes *runtimes, const char *ns)
{
    struct listing *listing = prg_map_get(&runtimes->listings, ns);
    if (listing)
        return listing;
    listing = prg_xcalloc(1, sizeof(*listing));
    prg_map_put(&runtimes->listings, ns, listing);
    return listing;
}

// About: a runtime has a handful of formats.
static void count_bytes(struct prg_runtimes *runtimes, struct listing *listing)
{
    size_t bytes =
        sizeof(*listing) + listing->cap * sizeof(*listing->lines) + listing->count * 4 * sizeof(struct format);
    runtimes->bytes = runtimes->bytes - listing->bytes + bytes;
    listing->bytes = bytes;
}

// ---- candidates ----

static void refuse_all(const struct listing *listing, const struct prg_runtimes_handler *handler)
{
    for (size_t i = 0; handler->refuse && i < listing->count; i++)
        if (listing->lines[i].why)
            handler->refuse(listing->lines[i].object, listing->lines[i].why, handler->ctx);
}

struct making {
    const struct prg_runtime_request *request;
    uint64_t hash; // of its format
    bool is_matched_priority;
};

static bool is_format_named(const struct format *format, const struct making *m)
{
    return format->hash == m->hash && prg_text_equal(format->name, m->request->format_name);
}

// As prg_candidate_of does it from the tree.
static void match(const struct line *line, const struct making *m, struct prg_candidate *ret)
{
    const struct format *fitting = NULL, *first = NULL;
    for (size_t i = 0; i < line->format_count; i++) {
        const struct format *format = &line->formats[i];
        if (!is_format_named(format, m))
            continue;
        if (!first)
            first = format;
        if (m->request->format_version && !prg_text_equal(format->version, m->request->format_version))
            continue;
        if (!fitting || format->auto_select)
            fitting = format;
        if (format->auto_select)
            break;
    }
    if (!fitting)
        return;
    const struct format *ranking = m->is_matched_priority ? fitting : first;
    ret->match.present = true;
    ret->match.name = fitting->name;
    ret->match.version = fitting->version;
    ret->match.auto_select = fitting->auto_select;
    ret->match.has_priority = ranking->has_priority;
    ret->match.priority = ranking->priority;
}

static size_t make(const struct listing *listing, bool is_cluster, uint32_t first_rank, const struct making *m,
                   struct prg_candidate *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct line *line = &listing->lines[i];
        if (line->why)
            continue;
        ret[count] = (struct prg_candidate){.name = line->name,
                                            .is_cluster = is_cluster,
                                            .object = line->object,
                                            .created = line->created,
                                            .protocol = line->protocol,
                                            .identity = line->identity,
                                            .alike = line->alike,
                                            .rank = first_rank + line->rank};
        match(line, m, &ret[count++]);
    }
    return count;
}

static void add_text(struct prg_strbuf *out, const char *text)
{
    prg_strbuf_putc(out, text ? 't' : 'n');
    if (text)
        prg_strbuf_add(out, text, strlen(text) + 1);
}

// What prg_candidate_of reads of the request, and the listings.
static void add_question(struct prg_strbuf *out, const char *ns, const struct prg_runtime_request *request,
                         const struct prg_compat *compat)
{
    add_text(out, ns);
    add_text(out, request->format_name);
    add_text(out, request->format_version);
    prg_strbuf_putc(out, prg_mended(compat, PRG_COMPAT_matched_priority) ? 'y' : 'n');
}

static void forget(struct prg_runtimes *runtimes)
{
    const struct prg_map_entry *entry;
    prg_runtimes_forget_candidates(runtimes);
    for (size_t i = 0; (entry = prg_map_next(&runtimes->listings, &i));)
        listing_free(entry->value);
    prg_map_clear(&runtimes->listings);
    prg_map_clear(&runtimes->alike);
    runtimes->bytes = 0;
}

static const struct made *made_for(struct prg_runtimes *runtimes, const char *ns, const struct listing *own,
                                   const struct listing *cluster, const struct prg_runtime_request *request,
                                   const struct prg_compat *compat)
{
    prg_auto_strbuf question = PRG_STRBUF_INIT;
    add_question(&question, own->count ? ns : "", request, compat); // namespaces without runtimes of their own share
    struct made *made = prg_map_getn(&runtimes->made, question.text, question.length);
    if (made && (made->own == own->number || !own->count) && made->cluster == cluster->number)
        return made;
    runtimes->bytes -= made ? made->bytes : 0;
    size_t size = sizeof(*made) + (own->count + cluster->count) * sizeof(made->candidates[0]);
    struct made *fresh = prg_xmalloc(size);
    fresh->bytes = size + question.length;
    fresh->own = own->number;
    fresh->cluster = cluster->number;
    fresh->number = prg_reader_next_number();
    fresh->has_own_times = own->has_own_times || cluster->has_own_times;
    struct making m = {request, hash_of(request->format_name), prg_mended(compat, PRG_COMPAT_matched_priority)};
    fresh->count = make(own, false, 1, &m, fresh->candidates);
    fresh->count += make(cluster, true, (uint32_t)own->count + 1, &m, fresh->candidates + fresh->count);
    runtimes->bytes += fresh->bytes;
    free(prg_map_putn(&runtimes->made, question.text, question.length, fresh));
    return fresh;
}

static size_t give(const struct made *made, struct prg_arena *arena, struct prg_candidate **ret)
{
    struct prg_candidate *candidates = prg_arena_alloc(arena, (made->count ? made->count : 1) * sizeof(*candidates));
    memcpy(candidates, made->candidates, made->count * sizeof(*candidates));
    for (size_t i = 0; made->has_own_times && i < made->count; i++) // the plan may outlive the lines
        candidates[i].created = prg_arena_strdup(arena, candidates[i].created);
    *ret = candidates;
    return made->count;
}

size_t prg_runtimes_candidates(struct prg_runtimes *runtimes, const struct prg_reader *store, const char *ns,
                               struct prg_runtime_request *request, const struct prg_compat *compat,
                               struct prg_arena *arena, const struct prg_runtimes_handler *handler,
                               struct prg_candidate **ret)
{
    struct prg_runtimes *own_table = runtimes ? NULL : prg_runtimes_new();
    struct prg_runtimes *table = runtimes ? runtimes : own_table;
    if (table->bytes > MOST_BYTES)
        forget(table);
    prg_require(*ns);
    struct listing *cluster = listing_of(table, ""), *own = listing_of(table, ns);
    refresh(table, own, store, "ServingRuntime", ns);
    refresh(table, cluster, store, "ClusterServingRuntime", NULL);
    count_bytes(table, own);
    count_bytes(table, cluster);
    refuse_all(own, handler);
    refuse_all(cluster, handler);
    const struct made *made = made_for(table, ns, own, cluster, request, compat);
    request->candidates = runtimes ? made->number : 0;
    size_t count = give(made, arena, ret);
    prg_runtimes_free(own_table);
    return count;
}

void prg_runtimes_forget_candidates(struct prg_runtimes *runtimes)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&runtimes->made, &i));) {
        runtimes->bytes -= ((const struct made *)entry->value)->bytes;
        free(entry->value);
    }
    prg_map_clear(&runtimes->made);
}

// ---- life ----

struct prg_runtimes *prg_runtimes_new(void)
{
    struct prg_runtimes *runtimes = prg_xcalloc(1, sizeof(*runtimes));
    prg_map_init(&runtimes->listings);
    prg_map_init(&runtimes->made);
    prg_map_init(&runtimes->alike);
    return runtimes;
}

void prg_runtimes_free(struct prg_runtimes *runtimes)
{
    if (!runtimes)
        return;
    forget(runtimes);
    prg_map_release(&runtimes->listings);
    prg_map_release(&runtimes->made);
    prg_map_release(&runtimes->alike);
    free(runtimes);
}
