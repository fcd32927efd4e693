// SPDX-License-Identifier: Apache-2.0
// guard.h: what edge nodes are really told: the messages that the objects ask for (core/learning/messages.h), less what
// an unmodified Local Controller would not survive. Pure.
//
// A Local Controller decodes an object into its types, piece by piece over what it has; starts a job on the first
// message about it, whatever comes of that; and looks back in the job's conditions for models that it takes to be
// there. So: what its decoder would refuse is never sent; a state in which it would look for something that is not
// there is held back until it is there; and every node but the Dataset's forgets a job when its round is over, because
// what it remembers would keep it from doing its part in the next one.
#pragma once
#include "learning/messages.h"

struct prg_guard_entry { // what one node should know of one object
    struct prg_guard_entry *next;
    const char *node; // "": none is known yet; who connects without a name is told
    const char *kind; // as in headers: "incrementallearningjob", "dataset", "model"
    const char *ns, *name;
    cJSON *content; // NULL: nothing is to be sent now; the node may go on with what it was told before
    bool is_deletion;
    bool forgets_first; // an insertion: the node has to forget what it knows of the object before
    // The node serves a model out of a folder that the Local Controller clears when it forgets the job: it must be told
    // first that there is no such folder.
    bool is_gentle;
    const char *held;   // why content is not to be sent yet, or NULL
    bool is_for_people; // held until somebody changes something
};

struct prg_guard_answer {
    struct prg_guard_entry *first, *last;
    // The Dataset, or its node, is not known: nothing can be said about who should know the job.
    bool is_unknown;
};

// Who takes its part in job's deployment now, or "": it remembers that it did until it forgets the job, and would not
// do it again in the next one.
const char *prg_guard_deploying_node(const cJSON *job);
// Which deployment is under way: the time when it began to wait; "?" when no condition says so, "" when none is.
const char *prg_guard_deployment(const cJSON *job);

// All about a job: it, its models, and the nodes that are to forget it. deployed: array of {"node", "since"}, nodes
// that took their part in the deployment `since` (prg_guard_deployment), or knew another job of this name (""), and
// have not forgotten it since, as far as anybody knows; NULL: none. Texts are borrowed from job, deployed and store, or
// in arena.
void prg_guard_job(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                   enum prg_learning_change change, struct prg_guard_answer *ret);
void prg_guard_dataset(struct prg_arena *arena, const struct prg_reader *store, const cJSON *dataset,
                       enum prg_learning_change change, struct prg_guard_answer *ret);

// For people: an array of {"node", "kind", "name", "why"}, one for each message about the job or its Models that is
// held back now. Empty when none is.
cJSON *prg_guard_held(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job);
