// SPDX-License-Identifier: Apache-2.0
// learning_ledger.h: which edge nodes know of a job, kept in the store beside the job: a job may be deleted while no
// controller runs, or while a node is away, and an edge node that is never told goes on with it for ever. Pure.
//
// ConfigMap perigee-edge-JOB in the job's namespace, label perigee.dev/ledger: edge, without an owner (it has to
// outlive the job): data.job is {"uid", "name", "dataset", "train", "eval", "deploy"}, the last four names of nodes,
// "gone", the time when the job was missed while a node was still to be told, and "deployed", a list of {"node",
// "since"}: nodes that took part in a deployment (since: prg_guard_deployment) or knew a job of this name that is gone
// (since: ""), and have not read yet that they are to forget it: one that is never told would not take part in the next
// deployment. It is written before the first node is told, and removed when the last node has read that the job is
// gone, or PRG_LEDGER_DAYS after that.
#pragma once
#include "object/reader.h"

#define PRG_LEDGER_LABEL "perigee.dev/ledger"
#define PRG_LEDGER_VALUE "edge"
#define PRG_LEDGER_DAYS 30   // so long a node may be away and is still told of its own accord
#define PRG_LEDGER_MARKS 256 // entries of "deployed", the newest

struct prg_ledger_entry { // texts in an arena, never NULL
    const char *ns, *name, *uid;
    const char *dataset, *train, *eval, *deploy; // nodes, or ""
    const char *gone;                            // since when, or ""
    cJSON *deployed;                             // as above, or NULL
};

// What is to be kept of a job, after what was kept before (NULL: nothing), perhaps of another job of its name. false:
// no node knows of it, but nodes may know the other one.
bool prg_ledger_of(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                   const struct prg_ledger_entry *before, struct prg_ledger_entry *ret);
// node has forgotten the job, and of deployments all but `but` ("": all).
void prg_ledger_forgotten(struct prg_ledger_entry *entry, const char *node, const char *but);
uint64_t prg_ledger_digest(const struct prg_ledger_entry *entry);      // never 0
const char *prg_ledger_name(struct prg_arena *arena, const char *job); // of the ConfigMap
cJSON *prg_ledger_object(struct prg_arena *arena, const struct prg_ledger_entry *entry);
// false: it is no entry.
bool prg_ledger_read(struct prg_arena *arena, const cJSON *object, struct prg_ledger_entry *ret);
// The job as far as the entry knows it: enough to tell its nodes that it is gone.
cJSON *prg_ledger_ghost(struct prg_arena *arena, const struct prg_ledger_entry *entry);

// A reader that has the job's Dataset with the node that the entry names, whether it is still there or not.
struct prg_ledger_reader {
    struct prg_reader reader; // first member
    const struct prg_reader *under;
    const cJSON *dataset;
};
void prg_ledger_reader_init(struct prg_ledger_reader *ret, struct prg_arena *arena, const struct prg_reader *under,
                            const cJSON *job, const struct prg_ledger_entry *entry);
