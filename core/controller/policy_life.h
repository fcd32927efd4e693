// SPDX-License-Identifier: Apache-2.0
// policy_life.h: the policy sets of a running controller: the set that decides everywhere, and those of namespaces over
// it. Loaded at start; what changes is loaded and checked on a thread of its own and then swapped in on the loop's. A
// set that is refused leaves the last good one in place.
//
// Which set: docs/policy-guide.md; how a refusal is told: docs/decisions/006-refused-policy-sets.md.
#pragma once
#include <uv.h>

#include "controller/planner.h"
#include "store/store.h"

struct prg_policy_life_options {
    const char *policies;        // folder, "configmap:NAMESPACE/NAME", or NULL: the shipped policies; copied
    bool is_optional;            // a ConfigMap that is not there is an empty one
    uint32_t namespace_policies; // that namespaces may set (prg_policy_names_read); 0: none
    struct prg_policy_limits limits;
    const struct prg_compat *compat;  // of the samples; NULL: fixed
    bool is_brief;                    // contracts and specs are checked, answers on samples are not
    const struct prg_reader *objects; // holds the ConfigMaps; NULL: those of the store
    struct prg_store *store;          // gets the Events; NULL: nobody does
    const struct prg_key *self; // the controller's own pod, which gets the Events about a folder; NULL: nobody does
};

struct prg_policy_life;

// Loads the sets. Errors are those of the set; a namespace's set that is refused is told as such, and its namespace
// waits: every plan fails with PRG_POLICY until there is a good one.
int prg_policy_life_new(const struct prg_policy_life_options *options, struct prg_policy_life **ret,
                        struct prg_error *err) PRG_MUST_USE;
void prg_policy_life_free(struct prg_policy_life *life); // stopped, and its loop has run since. NULL is fine

struct prg_policy_set *prg_policy_life_active(const struct prg_policy_life *life); // borrowed
const char *prg_policy_life_folder(const struct prg_policy_life *life);            // NULL: the set is no folder

// Gives the planner the sets, now and whenever others become active.
void prg_policy_life_bind(struct prg_policy_life *life, struct prg_planner *planner);

// Another set than before decides for a namespace (NULL: for all): its objects are to be planned anew.
typedef void (*prg_policy_active_fn)(const char *ns, void *ctx);

// From now on changes are taken up. active is called from the loop.
void prg_policy_life_start(struct prg_policy_life *life, uv_loop_t *loop, prg_policy_active_fn active, void *ctx);
void prg_policy_life_stop(struct prg_policy_life *life);    // closes its handles
void prg_policy_life_noticed(struct prg_policy_life *life); // something happened in the folder: the next reload looks
void prg_policy_life_reload(struct prg_policy_life *life);  // looks whether the folder holds another set
// An object of the store appeared, changed or vanished.
void prg_policy_life_changed(struct prg_policy_life *life, const struct prg_key *key);
// Tells the Events of all sets that are refused again: a replica that begins to lead could not write them before.
void prg_policy_life_retell(const struct prg_policy_life *life);

// fn is called whenever the state of a set is another one: told to be active or refused, gone. NULL: nobody is.
void prg_policy_life_on_told(struct prg_policy_life *life, void (*fn)(void *ctx), void *ctx);
// What the set is: "configmap NAMESPACE/NAME", "folder PATH", "shipped".
const char *prg_policy_life_describe(const struct prg_policy_life *life, struct prg_arena *arena);
// What there is to say of each set: the one that decides everywhere first.
struct prg_policy_life_state {
    const char *ns;       // NULL: the set itself
    const char *revision; // of the active one
    bool is_refused;      // the latest is not the active one
    const char *problem;  // why; "" when it is not refused
    uint64_t accepted, refused;
    double load_seconds; // of the latest, checks included
};
void prg_policy_life_each(const struct prg_policy_life *life,
                          void (*visit)(const struct prg_policy_life_state *state, void *ctx), void *ctx);
