// SPDX-License-Identifier: Apache-2.0
// plan.h: the plan of an IncrementalLearningJob: stage decision, worker pods to make or delete, status, annotations,
// Events, messages to edge nodes. Pure: everything the answer depends on is in the input.
#pragma once
#include "object/reader.h"
#include "plan/plan.h"

struct prg_learning_input {
    const cJSON *job;               // as stored; never changed
    const struct prg_reader *store; // pods, Datasets, Models, Secrets; never changed
    const char *lc_server;          // LC_SERVER of the workers; NULL: PRG_LEARNING_LC_SERVER
    int64_t now_ns;
    uint64_t seed; // of random suffixes
};
#define PRG_LEARNING_LC_SERVER "http://localhost:9100"

// What a driver has to do, in this order, before it stores the status. The first that fails ends the sync: the status
// is not stored, and the job is planned again after a pause.
enum prg_learning_step_kind { PRG_STEP_CREATE_POD, PRG_STEP_DELETE_POD, PRG_STEP_PATCH_JOB };
struct prg_learning_step {
    struct prg_learning_step *next;
    enum prg_learning_step_kind kind;
    const cJSON
        *object;      // the pod to be created (a pod of that name is there: done), or the JSON merge patch of the job
    const char *name; // of the pod to be deleted (gone already: done)
    const char *uid;  // of the pod to be deleted
};
struct prg_learning_steps {
    struct prg_learning_step *first, *last;
    bool has_status; // plan->resource has a new status, to be stored over the one that was planned on and no other
};

// One sync of the original: at most one condition is appended. plan->objects are the pods to be created, plan->deletes
// those to be deleted, plan->resource the job with its new status and annotations, plan->messages what edge nodes are
// to be told once that is stored, plan->requeue_after_ms when to plan again though nothing happened. The same as steps,
// for drivers: ret_steps (NULL is fine), in the plan's arena.
//
// What is wrong with the job, its references or a policy is plan->error with PRG_OK as answer; then the steps are what
// still has to be done, and the status stays. Only broken input (not an IncrementalLearningJob) returns an error.
int prg_learning_plan(const struct prg_learning_input *in, const struct prg_decider *decide, struct prg_plan *plan,
                      struct prg_learning_steps *ret_steps, struct prg_error *err) PRG_MUST_USE;

// Seconds before the n-th retry (n from 1): 10, 20, 40 … 360.
int64_t prg_learning_backoff_seconds(unsigned failures);

// Five characters as Kubernetes gives them to generated names, made from text.
void prg_learning_suffix(const char *text, char ret[6]);
