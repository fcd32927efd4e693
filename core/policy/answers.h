// SPDX-License-Identifier: Apache-2.0
// answers.h: answers of runtime_selection that are kept. Private to core/policy.
//
// A policy is a function of its arguments, its options, perigee.config and perigee.compat; nothing of one call is left
// for the next. So an answer can be given again as long as the candidates are the same trees (prg_json_identity), the
// plain fields of the request are equal, and the policy looked at nothing else: not at the service, the model, the
// namespace, config or compat. Thousands of services ask a handful of such questions.
//
// A question has the identities of the candidates in it, so a runtime that changed makes others of all of them; the old
// ones go when the kept ones take too much room.
#pragma once
#include "base/map.h"
#include "base/strbuf.h"
#include "policy/decision.h"

struct prg_answers {
    struct prg_map by_question; // struct answer
    size_t bytes;
};

// The plain fields of the request, by the names that policies read; NULL-ended.
extern const char *const prg_answers_plain_fields[];

void prg_answers_init(struct prg_answers *answers);
void prg_answers_release(struct prg_answers *answers);

// Appends the question as a text to compare; false: its answer cannot be kept.
bool prg_answers_question(struct prg_strbuf *out, const struct prg_runtime_request *request,
                          const struct prg_candidate *candidates, size_t count);
// Gives the answer to candidates, the same ones in the same order, and to ret. Texts are copied into arena.
bool prg_answers_find(const struct prg_answers *answers, const struct prg_strbuf *question, struct prg_arena *arena,
                      struct prg_candidate *candidates, size_t count, struct prg_selection *ret);
void prg_answers_keep(struct prg_answers *answers, const struct prg_strbuf *question,
                      const struct prg_candidate *candidates, size_t count, const struct prg_selection *selection);
