// SPDX-License-Identifier: Apache-2.0
// set.h: a policy set: for each policy the overlay's file, if it has one, over the shipped one. Private to core/policy.
#pragma once
#include "policy/file.h"

enum { PRG_SET_LAYERS = 2 };

struct prg_set_source { // a Lua file of the folder, whether or not it decides
    const char *name;   // "image"
    struct prg_source source;
    const cJSON *options; // effective ones
};

struct prg_policy_set {
    unsigned refs;
    struct prg_arena arena; // texts, options
    // Layers of each policy in the order in which they are asked; files[p][0] NULL: only the shipped one.
    struct prg_policy_file *files[PRG_POLICY_COUNT][PRG_SET_LAYERS];
    struct prg_set_source *sources; // of the folder, by name
    size_t source_count;
    const struct prg_source *const *specs; // NAME_spec.lua of the folder, by name
    size_t spec_count;
    char revision[17];
    struct prg_decider decider;
    const struct prg_decision_context *context; // of the plan under way, or NULL
};

// What policies.yaml says.
struct prg_set_manifest {
    const char *path;     // "DIR/policies.yaml"; NULL: there is none
    const cJSON *options; // object of policies, each an object of options; or NULL
    const cJSON *limits;
    const char *use[PRG_POLICY_COUNT]; // file name without .lua, or NULL: that of the policy
};

// Reads and checks DIR/policies.yaml's text (all but the names of options, which the files know).
void prg_set_manifest_read(struct prg_arena *arena, const char *path, const char *text, size_t length,
                           struct prg_set_manifest *ret, struct prg_report *report);
// The limits of a policy: the program's, tightened by the manifest.
struct prg_policy_limits prg_set_manifest_limits(const struct prg_set_manifest *manifest,
                                                 const struct prg_contract *contract,
                                                 const struct prg_policy_limits *most, struct prg_report *report);
// Lays the manifest's options for a policy over the defaults of those of its files (NULL: none) that declare them.
void prg_set_manifest_apply_options(struct prg_arena *arena, const struct prg_set_manifest *manifest,
                                    const struct prg_contract *contract,
                                    struct prg_policy_file *const files[PRG_SET_LAYERS], struct prg_report *report);

// Fills set->decider.
void prg_set_fill_decider(struct prg_policy_set *set);

// The first layer of a policy that has the function, from layer `from` on; NULL when none has.
static inline struct prg_policy_file *prg_set_find(const struct prg_policy_set *set, enum prg_policy_id policy,
                                                   int function, int from, int *ret_layer)
{
    for (int layer = from; layer < PRG_SET_LAYERS; layer++) {
        struct prg_policy_file *file = set->files[policy][layer];
        if (file && file->lines[function]) {
            if (ret_layer)
                *ret_layer = layer;
            return file;
        }
    }
    return NULL;
}
void prg_set_fill_source(const struct prg_policy_file *file, int function, struct prg_policy_source *source);
// Wraps err with the policy and function that failed.
int prg_set_wrap(const struct prg_policy_file *file, int function, struct prg_error *err);
// The vm of a file made ready for a call of the plan under way.
struct prg_vm *prg_set_vm(const struct prg_policy_set *set, const struct prg_policy_file *file);

// runtime_selection (select.c).
int prg_set_select(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates, size_t count,
                   struct prg_selection *ret, struct prg_error *err);

// il_stage (stage.c).
int prg_set_stage_transit(void *ctx, const cJSON *input, cJSON **ret, struct prg_policy_source *source,
                          struct prg_error *err);
int prg_set_stage_report(void *ctx, const cJSON *input, const cJSON *report, bool *ret_accepted,
                         const char **ret_reason, struct prg_policy_source *source, struct prg_error *err);
