// SPDX-License-Identifier: Apache-2.0
// rank.c: why each candidate lost: refused, with the policy's code and reason; or accepted and after the chosen one,
// with what decided between the two.
//
// Which of the facts decided is known for the shipped order only (runtime_selection.lua, `before`): scope, priority,
// protocol, newest, name. About another order its file and line are all that can be said, and the facts stand beside
// it.
#include "explain/rank.h"

#include <stdlib.h>
#include <string.h>

#include "explain/doc.h"
#include "object/meta.h"
#include "serving/candidates.h"

static const char *const codes[] = {"disabled",    "auto_select", "protocol", "version",
                                    "multi_model", "multi_node",  "other",    "format"};

int prg_rank_nearness(const char *code)
{
    for (size_t i = 0; i < PRG_COUNT(codes); i++)
        if (prg_text_equal(code, codes[i]))
            return (int)i;
    return (int)PRG_COUNT(codes) - 2; // a refusal without a code is the policy's own: "other"
}

static bool is_shipped_order(const struct prg_selection *selection)
{
    return prg_text_has_prefix(selection->before.file, "shipped/");
}

static const char *priority_text(struct prg_arena *arena, const struct prg_candidate *candidate)
{
    if (!candidate->match.present || !candidate->match.has_priority)
        return "none";
    return prg_arena_printf(arena, "%lld", (long long)candidate->match.priority);
}

static const char *protocol_text(int protocol)
{
    return protocol == PRG_PROTOCOL_UNKNOWN ? "none" : prg_protocol_name(protocol);
}

static const char *time_text(const char *created)
{
    return created && *created ? created : "no time";
}

// What puts first before second in the shipped order.
static const char *difference(struct prg_arena *arena, const struct prg_candidate *first,
                              const struct prg_candidate *second)
{
    const char *mine = priority_text(arena, first), *other = priority_text(arena, second);
    if (first->is_cluster != second->is_cluster)
        return "a ServingRuntime of the namespace before those of the cluster";
    if (strcmp(mine, other) != 0)
        return prg_arena_printf(arena, "priority %s before %s", mine, other);
    if (first->protocol != second->protocol)
        return prg_arena_printf(arena, "lowest protocol %s before %s", protocol_text(first->protocol),
                                protocol_text(second->protocol));
    if (!prg_text_equal(first->created, second->created))
        return prg_arena_printf(arena, "the newer one: created %s, the other %s", time_text(first->created),
                                time_text(second->created));
    return prg_arena_printf(arena, "by name: '%s' before '%s', all else being equal", first->name, second->name);
}

static const char *order_reason(struct prg_arena *arena, const struct prg_selection *selection,
                                const struct prg_candidate *candidate)
{
    const struct prg_candidate *chosen = selection->chosen;
    if (selection->choose.function)
        return prg_arena_printf(arena, "the policy chose %s%s%s", chosen->name, selection->reason ? ": " : "",
                                selection->reason ? selection->reason : "");
    if (!is_shipped_order(selection))
        return prg_arena_printf(arena, "the policy's order puts %s first", chosen->name);
    return prg_arena_printf(arena, "%s comes first: %s", chosen->name, difference(arena, chosen, candidate));
}

static const char *kind_of(const struct prg_candidate *candidate)
{
    return candidate->is_cluster ? "ClusterServingRuntime" : "ServingRuntime";
}

// ---- rows ----

struct row {
    cJSON *node;
    int group; // 0 chosen, 1 order, 2 rejected
    size_t place;
    int nearness;
    const char *name;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->group != y->group)
        return x->group - y->group;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->nearness != y->nearness)
        return x->nearness - y->nearness;
    return strcmp(x->name, y->name);
}

static void add_facts(struct prg_arena *arena, cJSON *node, const struct prg_candidate *candidate)
{
    if (candidate->match.present && candidate->match.has_priority)
        prg_json_set_int(arena, node, "priority", candidate->match.priority);
    if (candidate->protocol != PRG_PROTOCOL_UNKNOWN)
        prg_doc_text(arena, node, "protocol", prg_protocol_name(candidate->protocol));
    prg_doc_text(arena, node, "created", candidate->created);
}

static void fill_row(struct prg_arena *arena, const struct prg_selection *selection,
                     const struct prg_candidate *candidate, size_t place, struct row *ret)
{
    cJSON *node = prg_json_object(arena);
    bool is_chosen = candidate == selection->chosen;
    *ret = (struct row){.node = node, .name = candidate->name, .place = place, .group = is_chosen ? 0 : 1};
    prg_doc_text(arena, node, "kind", kind_of(candidate));
    prg_doc_text(arena, node, "name", candidate->name);
    if (!candidate->accepted) {
        ret->group = 2;
        ret->place = 0;
        ret->nearness = prg_rank_nearness(candidate->code);
    }
    const struct prg_policy_source *source = ret->group == 2              ? &selection->accept
                                             : selection->choose.function ? &selection->choose
                                                                          : &selection->before;
    const char *reason = ret->group == 2   ? (candidate->reason ? candidate->reason : "the policy refuses it")
                         : ret->group == 1 ? order_reason(arena, selection, candidate)
                                           : NULL;
    static const char *const outcomes[] = {"chosen", "order", "rejected"};
    prg_doc_text(arena, node, "outcome", outcomes[ret->group]);
    prg_doc_text(arena, node, "code", ret->group == 2 ? (candidate->code ? candidate->code : "other") : NULL);
    prg_doc_text(arena, node, "reason", reason);
    add_facts(arena, node, candidate);
    prg_doc_node(arena, node, "policy", prg_doc_source(arena, source));
}

// Place of each candidate in the policy's order, 0 for those that it refused. Ranks are found by address.
static size_t place_of(const struct prg_selection *selection, const struct prg_candidate *candidate)
{
    for (size_t i = 0; candidate->accepted && i < selection->count; i++)
        if (selection->ordered[i] == candidate)
            return i + 1;
    return 0;
}

// Runtimes that are no candidates since they cannot be read.
static size_t add_unreadable(struct prg_arena *arena, const struct prg_plan *plan, struct row *rows, size_t count)
{
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next) {
        if (strcmp(entry->decision, "runtime") != 0 || !prg_text_equal(entry->outcome, "rejected") ||
            !prg_text_has_prefix(entry->reason, "cannot be read"))
            continue;
        if (rows) {
            cJSON *node = prg_json_object(arena);
            const char *space = strchr(entry->subject, ' '), *name = space ? space + 1 : entry->subject;
            prg_doc_text(arena, node, "kind",
                         prg_arena_strndup(arena, entry->subject, (size_t)(name - entry->subject) - (space != NULL)));
            prg_doc_text(arena, node, "name", name);
            prg_doc_text(arena, node, "outcome", "rejected");
            prg_doc_text(arena, node, "code", "unreadable");
            prg_doc_text(arena, node, "reason", entry->reason);
            rows[count] = (struct row){.node = node, .group = 2, .nearness = (int)PRG_COUNT(codes), .name = name};
        }
        count++;
    }
    return count;
}

// Where each one is defined, when that is a file.
static void add_places(struct prg_arena *arena, const struct prg_why_input *in, cJSON *list)
{
    cJSON *node;
    prg_json_each (node, list) {
        const char *kind = prg_json_get_text(node, "kind");
        bool is_cluster = prg_text_equal(kind, "ClusterServingRuntime");
        struct prg_key key = {"serving.kserve.io", kind, is_cluster ? "" : in->subject.ns,
                              prg_json_get_text(node, "name")};
        prg_doc_text(arena, node, "place", prg_reader_place(in->store, &key, NULL, arena));
    }
}

cJSON *prg_rank_runtimes(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan)
{
    const struct prg_runtime_record *record = plan->runtimes;
    cJSON *list = prg_json_array(arena);
    size_t asked = record ? record->count : 0, count = add_unreadable(arena, plan, NULL, asked);
    struct row *rows = prg_arena_array(arena, struct row, count ? count : 1);
    for (size_t i = 0; i < asked; i++)
        fill_row(arena, &record->selection, &record->candidates[i],
                 place_of(&record->selection, &record->candidates[i]), &rows[i]);
    (void)add_unreadable(arena, plan, rows, asked);
    if (count > 1)
        qsort(rows, count, sizeof(*rows), compare_rows);
    for (size_t i = 0; i < count; i++)
        prg_json_append(list, rows[i].node);
    add_places(arena, in, list);
    return list;
}

const char *prg_rank_verdict(struct prg_arena *arena, const struct prg_plan *plan)
{
    const struct prg_runtime_record *record = plan->runtimes;
    const struct prg_selection *selection = &record->selection;
    if (record->request.named)
        return "the service names it";
    if (selection->choose.function)
        return selection->reason ? selection->reason : "the policy chose it";
    if (selection->count == 1)
        return record->count == 1 ? "the only runtime there is"
                                  : prg_arena_printf(arena, "the only one of %zu that fits", record->count);
    const struct prg_candidate *next = selection->ordered[selection->ordered[0] == selection->chosen ? 1 : 0];
    if (!is_shipped_order(selection))
        return prg_arena_printf(arena, "first of %zu that fit, by the policy's order", selection->count);
    return prg_arena_printf(arena, "first of %zu that fit: %s (%s)", selection->count,
                            difference(arena, selection->chosen, next), next->name);
}
