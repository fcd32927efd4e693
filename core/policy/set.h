// SPDX-License-Identifier: Apache-2.0
// set.h: a policy set: for each policy the files of its layers, in the order in which they are asked. Private to
// core/policy.
#pragma once
#include "base/vec.h"
#include "policy/answers.h"
#include "policy/file.h"

// Layers, in the order in which they are asked: a namespace's files, those of the set, the shipped ones.
enum { PRG_LAYER_NAMESPACE, PRG_LAYER_SET, PRG_LAYER_SHIPPED, PRG_SET_LAYERS };

struct prg_set_source { // a Lua file of a set, whether or not it decides
    const char *name;   // "image"
    struct prg_source source;
    const cJSON *options; // effective ones
};

// What policies.yaml says.
struct prg_set_manifest {
    const char *path;     // "DIR/policies.yaml"; NULL: there is none
    const cJSON *options; // object of policies, each an object of options; or NULL
    const cJSON *limits;
    const char *use[PRG_POLICY_COUNT]; // file name without .lua, or NULL: that of the policy
};

// Files that were loaded together, with their states. Sets share layers, one after the other: a state is asked by one
// plan at a time.
struct prg_set_layer {
    unsigned refs;
    struct prg_arena arena;        // texts, trees
    struct prg_policy_text *texts; // as given
    size_t text_count;
    struct prg_set_manifest manifest;
    struct prg_policy_file *files[PRG_POLICY_COUNT];
    struct prg_set_source *sources; // by name; options as declared
    size_t source_count;
    const struct prg_source **specs; // NAME_spec.lua, by name
    size_t spec_count;
};

struct prg_policy_set {
    unsigned refs;
    struct prg_arena arena;                       // options
    struct prg_set_layer *layers[PRG_SET_LAYERS]; // NULL: there is none; never for the shipped
    // By layer. Copies of the layers' own, with the options of this set; they share the state.
    struct prg_policy_file *files[PRG_POLICY_COUNT][PRG_SET_LAYERS];
    struct prg_set_source *sources; // of all layers but the shipped, in the order of the layers
    size_t source_count;
    const char *refusal; // why every plan fails; NULL: it does not
    bool is_trial;       // its answers are looked at, not used: not counted, not kept
    char revision[17];
    struct prg_decider decider;
    struct prg_answers answers;
    const struct prg_decision_context *context; // of the plan under way, or NULL
};

enum { PRG_SET_FILES = 256 }; // of a folder, or of all ConfigMaps of a layer

// ---- layers (layer.c) ----
// The files of a folder, struct prg_policy_text *, by name (folder.c).
void prg_set_read_folder(struct prg_arena *arena, const char *path, struct prg_vec *texts, struct prg_report *report);
// Checks and loads texts; those for policies outside `allowed` (a bit each) are errors. The caller's reference.
struct prg_set_layer *prg_set_layer_load(const struct prg_vec *texts, uint32_t allowed,
                                         const struct prg_policy_limits *limits, struct prg_report *report);
// The shipped file "NAME.lua", or NULL.
struct prg_builtin;
const struct prg_builtin *prg_set_builtin(const char *name);
// The shipped files, with the limits of the set's manifest.
struct prg_set_layer *prg_set_layer_shipped(const struct prg_set_manifest *manifest,
                                            const struct prg_policy_limits *limits, struct prg_report *report);
// The same of texts: what was shipped with another version.
struct prg_set_layer *prg_set_layer_shipped_texts(const struct prg_vec *texts, const struct prg_set_manifest *manifest,
                                                  const struct prg_policy_limits *limits, struct prg_report *report);
struct prg_set_layer *prg_set_layer_ref(struct prg_set_layer *layer); // NULL is fine
void prg_set_layer_unref(struct prg_set_layer *layer);                // NULL is fine

// ---- policies.yaml (manifest.c) ----
// Reads and checks its text (all but the names of options, which the files know). What it says of policies outside
// `allowed` is an error.
void prg_set_manifest_read(struct prg_arena *arena, const struct prg_policy_text *text, uint32_t allowed,
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
void prg_set_fill_source(const struct prg_policy_set *set, const struct prg_policy_file *file, int function,
                         struct prg_policy_source *source);
// Wraps err with the policy and function that failed.
int prg_set_wrap(const struct prg_policy_file *file, int function, struct prg_error *err);
// prg_vm_call into the vm of file on behalf of one of its functions, counted (base/meters.h). *is_answered, looked at
// afterwards: it had an opinion.
int prg_set_call(const struct prg_policy_set *set, const struct prg_policy_file *file, int function, lua_CFunction body,
                 void *arg, const bool *is_answered, struct prg_error *err) PRG_MUST_USE;
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
