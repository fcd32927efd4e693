// SPDX-License-Identifier: Apache-2.0
// why.h: the decision record of one service or job: what was decided, by whom, and what was rejected for which reason.
// A JSON document first; the text for people is made from it, so both say the same.
//
// Document (members that say nothing are left out):
//   apiVersion perigee.dev/v1, kind Why
//   subject      {kind, namespace, name}
//   verdict      the deciding line; error: that of the plan
//   request      {format, version, protocol, protocolGiven, runtime, multiNode, multiModel}
//   mode         {name, reason}
//   job          of a learning job: core/learning/why.h
//   runtimes     [{kind, name, outcome: chosen|order|rejected, code, reason, priority, protocol, created, policy}], the
//                chosen one first, then in the order of the policy, then those that come nearest
//   hints        [{text, checked}]: what would help; checked: what a plan with it says
//   annotations, labels, topology, images, merges, defaults, steps
//                [{decision, subject, outcome, reason, policy: {policy, function, file, line}}]
//   objects      [{kind, name, state: new|unchanged|changes|deleted, fields: [{path, from, to, layer}]}]
//   lastChange   {generation, observedGeneration, change: {at, by, operation, fields}, condition, revision}
//   policies     {revision, compat}
#pragma once
#include "controller/planner.h"

struct prg_why_input {
    struct prg_planner *planner;
    const struct prg_compat *compat; // of the planner
    const struct prg_reader *store;
    struct prg_key subject;
    int64_t now_ns;
    uint64_t seed;
};

// The record of a plan that was made from the same input. In arena; borrows from the plan and the store. When no
// runtime serves the service, what would help is tried out with further plans.
cJSON *prg_why_document(struct prg_arena *arena, const struct prg_why_input *in, struct prg_plan *plan);
void prg_why_text(const cJSON *document, struct prg_strbuf *out);

// Who set a field. path: explain/path.h, looked for in all rendered objects, or only in object ("KIND/NAME" or "KIND",
// NULL: all), then in the subject. A field that is not there is PRG_NOTFOUND with what there is; one that was dropped
// is found, with who dropped it.
//
// Document: subject, field, found [{object, path, layer, value, reason, manifest: {object, line}, policy}], dropped
//   [{decision, subject, outcome, reason, policy}]
int prg_why_field(struct prg_arena *arena, const struct prg_why_input *in, struct prg_plan *plan, const char *object,
                  const char *path, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
void prg_why_field_text(const cJSON *document, struct prg_strbuf *out);
