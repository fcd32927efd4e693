// SPDX-License-Identifier: Apache-2.0
// plan.h: what a planner answers: the objects to be, the new status, events, messages, and why. Lives in one arena.
#pragma once
#include "object/key.h"
#include "plan/origin.h"
#include "policy/decision.h"

struct prg_trace_entry {
    struct prg_trace_entry *next;
    const char *decision; // "runtime", "annotation", "label", "image", "topology", "default", "merge", "placeholder",
                          // "storage", …
    struct prg_policy_source source; // all NULL when a fixed rule decided
    const char *subject;             // what it is about: a runtime's name, a key, a field
    const char *outcome;             // "accepted", "rejected", "chosen", "dropped", "service wins", …
    const char *reason;              // for people, or NULL
};

// What runtime_selection was asked and what it answered. Lives in the plan's arena; objects of candidates are the
// store's.
struct prg_runtime_record {
    struct prg_runtime_request request;
    const struct prg_candidate *candidates; // all that were asked about, in the order of the store
    size_t count;
    struct prg_selection selection;
};

struct prg_plan {
    struct prg_arena *arena;
    cJSON *objects;           // array; sorted by prg_plan_finish
    cJSON *deletes;           // array of {apiVersion, kind, namespace, name}
    cJSON *resource;          // the subject as defaulted, with its new status
    cJSON *events;            // array of {type, reason, message}
    cJSON *messages;          // array of {node, header, content}
    const char *error;        // text or NULL
    enum prg_code error_code; // PRG_POLICY: nothing may be applied or deleted
    int64_t requeue_after_ms;
    bool reads_clock; // a later plan of the same inputs may be another one
    const char *policy_revision;
    struct prg_trace_entry *trace_first, *trace_last;
    const struct prg_runtime_record *runtimes; // NULL: the policy was not asked
    const cJSON *gpu_types;                    // names of GPU resources beside the known ones: array or NULL
};

struct prg_plan *prg_plan_new(struct prg_arena *arena);
void prg_plan_add_object(struct prg_plan *plan, cJSON *object);
void prg_plan_add_delete(struct prg_plan *plan, const char *api_version, const char *kind, const char *ns,
                         const char *name);
// Adds an Event unless an equal one is there.
void prg_plan_add_event(struct prg_plan *plan, const char *type, const char *reason, const char *format, ...)
    PRG_PRINTF(4, 5);
// source may be NULL. Texts are borrowed: literals, or in the plan's arena. reason may be NULL.
void prg_plan_trace(struct prg_plan *plan, const char *decision, const struct prg_policy_source *source,
                    const char *subject, const char *outcome, const char *reason);
// Sorts objects by kind, namespace, name and deletes likewise; two objects with one key are a broken invariant.
void prg_plan_finish(struct prg_plan *plan);

enum prg_plan_json_flags {
    PRG_PLAN_FIELDS = 1 << 0 /* trace has one entry for each field of a rendered object as well */
};
// The plan as section "Plan output" of docs/cli.md says. In the plan's arena; borrows the plan's trees.
cJSON *prg_plan_to_json(struct prg_plan *plan, unsigned flags);
// Calls visit for each leaf of a rendered object, members by key: path in kubectl's JSON path form
// (".spec.template.spec.containers[0].image"), node, origin.
void prg_plan_each_field(const cJSON *object,
                         void (*visit)(const char *path, const cJSON *node, enum prg_origin origin, void *ctx),
                         void *ctx);
