// SPDX-License-Identifier: Apache-2.0
// cluster.h: a small API server in memory for simulations: resource versions, conflicts, a status subresource, watch
// events, faults on demand, and a log of what was asked. Private to core/simulate.
//
// Objects are immutable trees in one arena: a write puts a new tree in the place of the old one, and nothing is freed
// before the simulation ends.
#pragma once
#include "object/reader.h"

enum sim_event_kind { SIM_ADDED, SIM_CHANGED, SIM_DELETED };
struct sim_event {
    struct sim_event *next;
    enum sim_event_kind kind;
    const cJSON *object; // as it is now, or was when it was deleted
};

struct sim_object {
    struct sim_object *next;
    struct prg_key key;
    const cJSON *object;      // NULL: deleted
    const char *planned_name; // of a pod: the name its planner gave it
};

struct sim_fault { // the next `times` requests of this kind fail
    struct sim_fault *next;
    const char *verb, *resource, *subresource;
    const char *error; // "conflict", "internal" …
    int64_t times;
};

struct sim_cluster {
    struct prg_reader reader; // what is stored; of pods what the cache shows
    struct prg_arena *arena;
    struct sim_object *first, *last;
    struct sim_event *events, *last_event;
    struct sim_fault *faults;
    const cJSON **frozen; // pods that the cache shows, or NULL: all
    size_t frozen_count, frozen_cap;
    uint64_t version;
    unsigned pod_count, uid_count;
    int64_t now_ns;
    bool is_graceful;             // a deleted pod only gets a deletionTimestamp
    cJSON *log;                   // requests of the controller in this step
    const cJSON *interleaved;     // a condition that somebody appends just before the next status write, or NULL
    int64_t requests_until_crash; // the controller dies after so many more requests; -1: never
};

void sim_cluster_init(struct sim_cluster *cluster, struct prg_arena *arena, int64_t now_ns);

// ---- the world: no log, no faults ----
// Adds or replaces. A uid, a creation time and a resource version are given where they are missing. Nothing happens
// when nothing changes.
int sim_put(struct sim_cluster *cluster, const cJSON *object, struct prg_error *err) PRG_MUST_USE;
const cJSON *sim_get(const struct sim_cluster *cluster, const char *group, const char *kind, const char *ns,
                     const char *name);
bool sim_remove(struct sim_cluster *cluster, const char *group, const char *kind, const char *ns, const char *name);
struct sim_event *sim_next_event(struct sim_cluster *cluster); // taken out; NULL when there is none
// The newest pod with this part in its name, or NULL. ns NULL: of all namespaces.
const cJSON *sim_newest_pod(const struct sim_cluster *cluster, const char *ns, const char *type);
void sim_freeze_pods(struct sim_cluster *cluster);
void sim_thaw_pods(struct sim_cluster *cluster);

// ---- the controller: logged, subject to faults ----
// PRG_LIMIT from any of these: the controller died before the request.
int sim_create_pod(struct sim_cluster *cluster, const cJSON *pod,
                   struct prg_error *err) PRG_MUST_USE; // a pod of that plan is there: done
int sim_delete_pod(struct sim_cluster *cluster, const char *ns, const char *name, struct prg_error *err) PRG_MUST_USE;
int sim_patch_job(struct sim_cluster *cluster, const char *ns, const char *name, const cJSON *patch,
                  struct prg_error *err) PRG_MUST_USE;
// Stores object's status when the stored object still has object's resource version, else PRG_CONFLICT.
int sim_update_status(struct sim_cluster *cluster, const cJSON *object, struct prg_error *err) PRG_MUST_USE;
