// SPDX-License-Identifier: Apache-2.0
// status.h: the conditions of a job: a list that only grows, whose last entry is the state. Private to core/learning
// and its drivers.
#pragma once
#include "json/value.h"

struct prg_job_condition {
    const char *stage, *type; // "Train", "" without conditions
    const char *data;         // JSON text or NULL
    const char *since;        // lastTransitionTime or ""
    bool is_reported;         // by an edge node
    const cJSON *node;        // the condition itself, or NULL
};

// The entries of status.conditions that are objects, in either direction; NULL at the end. Anything else among them
// (null, from an edit by hand) counts as absent. One step each.
const cJSON *prg_job_condition_first(const cJSON *job);
const cJSON *prg_job_condition_last(const cJSON *job);
const cJSON *prg_job_condition_next(const cJSON *node);
const cJSON *prg_job_condition_before(const cJSON *node);

// The last condition; (Train, "") when there is none.
struct prg_job_condition prg_job_condition_latest(const cJSON *job);
struct prg_job_condition prg_job_condition_of(const cJSON *node);

// A condition as it is stored. reason, message and data may be NULL.
cJSON *prg_job_condition_new(struct prg_arena *arena, const char *stage, const char *type, const char *reason,
                             const char *message, const char *data, const char *now);
// Takes out of the job's conditions what is no object.
void prg_job_condition_clean(cJSON *job);
// Appends condition to the job's status, which is made when it is missing and cleaned.
void prg_job_condition_append(struct prg_arena *arena, cJSON *job, cJSON *condition);
// Drops conditions from the front until at most `most` are left. The last condition of each stage and type that carries
// data stays: edge nodes look back for it. Returns how many went.
size_t prg_job_condition_trim(cJSON *job, size_t most);
