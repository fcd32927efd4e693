// SPDX-License-Identifier: Apache-2.0
// decision.h: the one door from the planners into the policies: a table of functions, one per decision. core/policy
// fills it with Lua, tests fill it with C stubs. No Lua types here. Contracts: docs/policy-guide.md.
//
// All functions return PRG_OK or an error; a policy that fails gives PRG_POLICY with policy, function, file:line. Texts
// in results live in the arena of the context. `source` outputs say which policy file answered; they may be NULL.
#pragma once
#include "json/value.h"

struct prg_policy_source {
    const char *policy;   // "runtime_selection"
    const char *function; // "accept"
    const char *file;     // "runtime_selection.lua" of a set, "shipped/runtime_selection.lua" for the default
    int line;             // of the function
};

// What every function of one plan sees besides its arguments. Borrowed for the time of the plan.
struct prg_decision_context {
    struct prg_arena *arena;
    const cJSON *service; // the subject, as defaulted
    const cJSON *config;  // effective configuration: object of sections (perigee.config)
    const cJSON *compat;  // flag name -> true when mended (perigee.compat)
};

#define PRG_CANDIDATE_ALIKE "disabled", "multiModel", "protocolVersions", "supportedModelFormats", "workerSpec"

struct prg_candidate {
    const char *name;
    bool is_cluster; // scope "cluster", else "namespace"
    const cJSON *object;
    const char *created; // RFC 3339 or ""
    int protocol;        // lowest protocol number, 5 when none or unknown
    struct {             // the supportedModelFormats entry that fits
        bool present, auto_select, has_priority;
        const char *name, *version; // version may be NULL
        int64_t priority;
    } match;
    uint32_t identity; // of the object (prg_json_identity), or 0: not looked at yet
    // Candidates of equal numbers, to one request, have the same in these members of their spec, and so the same match:
    // whoever looks at nothing else need look at one of them only. 0: not known.
    uint32_t alike;
    uint32_t rank; // among all candidates, as if none had a priority (policy/select.c), from 1; 0: not known
    // answers of select:
    bool accepted;
    const char *reason; // why not; or NULL
    const char *code;   // "disabled", "format", …; or NULL
};

struct prg_runtime_request {
    const cJSON *service, *namespace_object, *model; // namespace_object may be NULL
    const char *format_name, *format_version;        // version may be NULL
    const char *protocol;                            // "v1" when the model names none
    bool protocol_given, named, multi_node, multi_model;
    // Stands for the candidates: of equal numbers and formats they are the same ones, in the same order, with rank and
    // identity, and times of creation that compare as texts. 0: nothing is known of them.
    uint64_t candidates;
};

struct prg_selection {
    struct prg_candidate **ordered; // accepted ones, best first
    size_t count;
    struct prg_candidate *chosen;                    // NULL when none is accepted
    const char *reason;                              // of choose, or NULL
    struct prg_policy_source accept, before, choose; // choose.function NULL when the set has none or it had no opinion
};

enum prg_keep { PRG_KEEP, PRG_DROP };

struct prg_label_value {
    const char *layer; // "runtime", "service", "predictor", "fixed"
    const char *value;
};

struct prg_gpu_count {
    const char *resource; // "nvidia.com/gpu"
    const char *count;    // quantity text
};

struct prg_image_request {
    const char *runtime_name, *server_type, *runtime_version; // the last two may be NULL
    const struct prg_gpu_count *gpus;                         // limits of the merged container, zeros included
    size_t gpu_count;
};

struct prg_topology_request {
    const char *backend; // "ray" or "mp"
    int64_t tensor_parallel, pipeline_parallel;
    const char *head_resource, *worker_resource;
    int64_t head_requested, worker_requested;
    const cJSON *runtime;
};

struct prg_topology {
    int64_t nodes, head_gpus, worker_gpus;
};

struct prg_decider {
    void *ctx;
    const char *(*revision)(void *ctx);
    // Brackets one plan. Views handed to policies expire at end.
    int (*begin)(void *ctx, const struct prg_decision_context *context, struct prg_error *err);
    void (*end)(void *ctx);

    // runtime_selection/v1. Sets accepted, reason and code of every candidate, orders the accepted (stable merge sort
    // by `before`), asks `choose`.
    int (*select)(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates, size_t count,
                  struct prg_selection *ret, struct prg_error *err);
    // annotation_filter/v1; layer "service", "predictor", "runtime", "worker". Annotations under perigee.dev/ never get
    // here.
    int (*keep_annotation)(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                           const char **ret_reason, struct prg_policy_source *source, struct prg_error *err);
    // label_priority/v1: layer names, lowest first, without "fixed".
    int (*label_layers)(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                        size_t cap, struct prg_policy_source *source, struct prg_error *err);
    // *ret_dropped true: leave the key out; *ret_value NULL: no opinion, the highest wins.
    int (*resolve_label)(void *ctx, const char *key, const struct prg_label_value *values, size_t count,
                         const char *part, const char **ret_value, bool *ret_dropped, struct prg_policy_source *source,
                         struct prg_error *err);
    bool (*has_resolve_label)(void *ctx); // false: resolve_label need not be called
    // container_merge/v1. *ret NULL: no opinion.
    int (*merge_args)(void *ctx, const cJSON *runtime_args, const cJSON *service_args, const char *container,
                      cJSON **ret, struct prg_policy_source *source, struct prg_error *err);
    int (*merge_env)(void *ctx, const char *name, const cJSON *runtime_entry, const cJSON *service_entry,
                     const char *container, cJSON **ret, struct prg_policy_source *source, struct prg_error *err);
    bool (*has_container_merge)(void *ctx,
                                const char *function); // "args" or "env": false: the shipped default answers, in C
    // image/v1. *ret NULL: the image stays.
    int (*image_tag)(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                     struct prg_policy_source *source, struct prg_error *err);
    // multi_node/v1. An answer of nil, text is *ret_refusal (and *ret untouched).
    int (*topology)(void *ctx, const struct prg_topology_request *request, struct prg_topology *ret,
                    const char **ret_refusal, struct prg_policy_source *source, struct prg_error *err);
    // object_patch/v1. *ret NULL: no patch.
    int (*object_patch)(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source,
                        struct prg_error *err);
    bool (*has_object_patch)(void *ctx);
    // il_stage/v1. input: perigee.StageInput as a tree; *ret: perigee.StageDecision, or NULL to stay.
    int (*stage_transit)(void *ctx, const cJSON *input, cJSON **ret, struct prg_policy_source *source,
                         struct prg_error *err);
    // report: {stage, type, data}. May the edge's report count?
    int (*stage_report)(void *ctx, const cJSON *input, const cJSON *report, bool *ret_accepted, const char **ret_reason,
                        struct prg_policy_source *source, struct prg_error *err);
};
