// SPDX-License-Identifier: Apache-2.0
// learning_fixture.h: a store with a job, its Dataset and Models, and the shipped policies.
#pragma once
#include "learning_objects.h"

#include <stdlib.h>

#include "learning/plan.h"
#include "object/meta.h"
#include "policy/policy.h"

struct learning_fixture {
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_policy_set *policies;
    struct prg_plan *plan;
    struct prg_learning_steps steps;
};

static inline void put_yaml(struct learning_fixture *f, const char *text)
{
    store_yaml(f->store, &f->arena, text);
}

static inline int learning_set_up(void **state)
{
    struct learning_fixture *f = prg_xcalloc(1, sizeof(*f));
    struct prg_policy_options options = {0};
    struct prg_error err = {0};
    prg_arena_init(&f->arena);
    f->store = prg_store_mem_new();
    assert_ok(prg_policy_set_load(&options, &f->policies, &err), &err);
    put_yaml(f, learning_data);
    put_yaml(f, learning_job(&f->arena, false));
    *state = f;
    return 0;
}

static inline int learning_tear_down(void **state)
{
    struct learning_fixture *f = *state;
    prg_policy_set_unref(f->policies);
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static inline cJSON *job_copy(struct learning_fixture *f)
{
    const cJSON *job = prg_reader_get(&f->store->reader, "sedna.io", "IncrementalLearningJob", "ns", "helmet");
    assert_non_null(job);
    return prg_json_copy(&f->arena, job);
}

static inline void put(struct learning_fixture *f, const cJSON *object)
{
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(f->store, object, false, true, &err), &err);
}

// Gives the job one condition ("Train", "Ready"), with data (JSON text or NULL), and a start.
static inline void set_state(struct learning_fixture *f, const char *stage, const char *type, const char *data)
{
    cJSON *job = job_copy(f), *condition = prg_json_object(&f->arena), *conditions = prg_json_array(&f->arena);
    cJSON *status = prg_json_object(&f->arena);
    prg_json_set_string(&f->arena, condition, "stage", stage);
    prg_json_set_string(&f->arena, condition, "type", type);
    prg_json_set_string(&f->arena, condition, "lastTransitionTime", "2026-06-01T00:00:00Z");
    prg_json_set_string(&f->arena, condition, "data", data);
    prg_json_append(conditions, condition);
    prg_json_set(&f->arena, status, "conditions", conditions);
    prg_json_set_string(&f->arena, status, "startTime", "2026-06-01T00:00:00Z");
    prg_json_set(&f->arena, job, "status", status);
    put(f, job);
}

// A worker pod of the job; type NULL: without the label.
static inline void put_pod(struct learning_fixture *f, const char *name, const char *type, const char *phase,
                           const char *created)
{
    put_yaml(
        f, prg_arena_printf(
               &f->arena,
               "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: ns, uid: uid-%s, creationTimestamp: '%s', "
               "labels: {incrementallearningjob.sedna.io/name: helmet, incrementallearningjob.sedna.io/uid: u1%s%s}, "
               "ownerReferences: [{apiVersion: sedna.io/v1alpha1, kind: IncrementalLearningJob, name: helmet, uid: u1, "
               "controller: true}]}, spec: {nodeName: edge2}, status: {phase: %s}}",
               name, name, created, type ? ", incrementallearningjob.sedna.io/worker-type: " : "", type ? type : "",
               phase));
}

// Plans the job; the plan is in f->plan, its steps in f->steps.
static inline void plan_now(struct learning_fixture *f)
{
    struct prg_error err = {0};
    struct prg_learning_input in = {.job = job_copy(f),
                                    .store = &f->store->reader,
                                    .lc_server = "http://lc:9100",
                                    .now_ns = INT64_C(1780272060000000000), // 2026-06-01T00:01:00Z
                                    .seed = 1};
    f->plan = prg_plan_new(&f->arena);
    assert_ok(prg_learning_plan(&in, prg_policy_set_decider(f->policies), f->plan, &f->steps, &err), &err);
}

// "Train Waiting" of the planned job.
static inline const char *planned_state(struct learning_fixture *f)
{
    const cJSON *conditions = prg_json_at(f->plan->resource, "status", "conditions");
    size_t count = prg_json_count(conditions);
    const cJSON *last = count ? prg_json_item(conditions, count - 1) : NULL;
    return last
               ? prg_arena_printf(&f->arena, "%s %s", prg_json_get_text(last, "stage"), prg_json_get_text(last, "type"))
               : "";
}

// The steps as "create NAME-", "delete NAME", "patch {…}", joined with ", ".
static inline const char *planned_steps(struct learning_fixture *f)
{
    const char *text = "";
    for (const struct prg_learning_step *step = f->steps.first; step; step = step->next) {
        const char *one = "";
        if (step->kind == PRG_STEP_CREATE_POD)
            one = prg_arena_printf(&f->arena, "create %s",
                                   prg_json_get_text(prg_json_get(step->object, "metadata"), "generateName"));
        else if (step->kind == PRG_STEP_DELETE_POD)
            one = prg_arena_printf(&f->arena, "delete %s", step->name);
        else
            one = prg_arena_printf(
                &f->arena, "patch %s",
                prg_json_print_arena(&f->arena, prg_json_at(step->object, "metadata", "annotations"), 0));
        text = prg_arena_printf(&f->arena, "%s%s%s", text, *text ? ", " : "", one);
    }
    return text;
}

#define learning_test(name) cmocka_unit_test_setup_teardown(name, learning_set_up, learning_tear_down)
