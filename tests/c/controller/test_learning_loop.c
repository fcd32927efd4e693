// SPDX-License-Identifier: Apache-2.0
// test_learning_loop.c: jobs through whole rounds over a store in memory, in virtual time, with edge nodes and a
// kubelet that answer at once; the controller killed at each of its writes; hostile objects and reports.
#include "../learning/learning_objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/learning_ledger.h"
#include "controller/learning_loop.h"
#include "learning/status.h"
#include "object/meta.h"

#define START_NS (INT64_C(1780272000) * 1000000000) // 2026-06-01T00:00:00Z

struct world {
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_store_ops ops; // of the store, behind a fuse
    int64_t writes_left;      // the controller dies before the write after these; -1: never
    bool is_dead;
    struct prg_policy_set *policies;
    struct prg_planner *planner;
    struct prg_learning_loop *loop;
    uint64_t now_ms;
    bool has_edge;
    const char *worker_node;
    bool is_ledger_refused;
    unsigned refusals;
    struct prg_strbuf told; // "job Train Waiting; " …
    size_t waiting_deletions;
    // The edge node's side.
    char answered[128]; // state and time that it answered last
    unsigned rounds_left;
    unsigned deployments; // that it takes no part in any more once so many are over; 0: in all
    enum prg_learning_answer answer;
    char why[PRG_ERROR_LINE];
    unsigned answers;
    // of the last plan
    char error[PRG_ERROR_LINE];
};

static struct world *current; // of the ops behind the fuse, which have no context

// ---- the fuse ----

static bool blows(struct prg_error *err)
{
    if (current->writes_left < 0)
        return false;
    if (current->writes_left-- > 0)
        return false;
    current->writes_left = 0;
    current->is_dead = true;
    (void)prg_fail(err, PRG_IO, "dead");
    return true;
}

static const struct prg_store_ops *real_ops;

static int64_t wall_ns(const struct world *w)
{
    return START_NS + (int64_t)w->now_ms * 1000000;
}

// A new pod gets a uid and a time, as in a cluster.
static int fused_apply(struct prg_store *store, const cJSON *object, enum prg_write_result *ret, struct prg_error *err)
{
    static unsigned count;
    char now[PRG_CLOCK_TEXT];
    if (blows(err))
        return PRG_IO;
    if (current->is_ledger_refused && prg_text_equal(prg_json_get_text(object, "kind"), "ConfigMap")) {
        current->refusals++;
        return prg_fail(err, PRG_IO, "configmaps is forbidden");
    }
    if (!prg_text_equal(prg_json_get_text(object, "kind"), "Pod") || *prg_meta_uid(object))
        return real_ops->apply(store, object, ret, err);
    cJSON *copy = prg_json_copy(&current->arena, object), *meta = prg_json_get(copy, "metadata");
    prg_json_set_string(&current->arena, meta, "creationTimestamp", prg_clock_format(wall_ns(current), now));
    prg_json_set(&current->arena, meta, "uid", prg_json_stringf(&current->arena, "uid-%u", count++));
    return real_ops->apply(store, copy, ret, err);
}

static int fused_remove(struct prg_store *store, const struct prg_key *key, const char *uid, enum prg_write_result *ret,
                        struct prg_error *err)
{
    return blows(err) ? PRG_IO : real_ops->remove(store, key, uid, ret, err);
}

static int fused_set_status(struct prg_store *store, const struct prg_key *key, const cJSON *status,
                            enum prg_write_result *ret, struct prg_error *err)
{
    return blows(err) ? PRG_IO : real_ops->set_status(store, key, status, ret, err);
}

static int fused_patch(struct prg_store *store, const struct prg_key *key, const cJSON *patch,
                       enum prg_write_result *ret, struct prg_error *err)
{
    return blows(err) ? PRG_IO : real_ops->patch(store, key, patch, ret, err);
}

// ---- the world ----

static const cJSON *stored(const struct world *w, const char *group, const char *kind, const char *name)
{
    return prg_reader_get(&w->store->reader, group, kind, "ns", name);
}

static const cJSON *job_of(const struct world *w)
{
    return stored(w, "sedna.io", "IncrementalLearningJob", "helmet");
}

static void put_yaml(struct world *w, const char *text)
{
    store_yaml(w->store, &w->arena, text);
}

static const char *ledger(const struct world *w)
{
    const char *text =
        prg_json_get_text(prg_json_get(stored(w, "", "ConfigMap", "perigee-edge-helmet"), "data"), "job");
    return text ? text : "";
}

static const char *marks(struct world *w, const cJSON *deployed)
{
    return deployed ? prg_json_print_arena(&w->arena, deployed, PRG_JSON_COMPACT) : "";
}

static void tell_job(const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                     enum prg_learning_change change, void *ctx)
{
    struct world *w = ctx;
    struct prg_job_condition latest = prg_job_condition_latest(job);
    if (change == PRG_CHANGE_DELETED) {
        cJSON *messages = prg_json_array(&w->arena), *message;
        prg_learning_downstream(&w->arena, store, job, change, messages);
        prg_json_each (message, messages)
            if (*prg_json_get_text(message, "node"))
                prg_strbuf_printf(&w->told, "delete to %s; ", prg_json_get_text(message, "node"));
        return;
    }
    prg_strbuf_printf(&w->told, "%s %s%s%s; ", latest.stage, latest.type, deployed ? " after " : "",
                      marks(w, deployed));
    if (deployed && latest.node && !w->is_ledger_refused) // it could die now
        assert_non_null(strstr(ledger(w), marks(w, deployed)));
}

static void tell_dataset(const struct prg_reader *store, const cJSON *dataset, enum prg_learning_change change,
                         void *ctx)
{
    struct world *w = ctx;
    (void)store;
    prg_strbuf_printf(&w->told, "dataset %s %s; ", prg_meta_name(dataset),
                      change == PRG_CHANGE_DELETED ? "deleted" : "stored");
}

static size_t waiting_deletions(const char *ns, const char *name, void *ctx)
{
    (void)ns;
    (void)name;
    return ((struct world *)ctx)->waiting_deletions;
}

static void give_up_deletions(const char *ns, const char *name, void *ctx)
{
    struct world *w = ctx;
    prg_strbuf_printf(&w->told, "%s/%s given up; ", ns, name);
    w->waiting_deletions = 0;
}

static void on_plan(const struct prg_reconcile_report *report, void *ctx)
{
    struct world *w = ctx;
    w->error[0] = '\0';
    if (report->error)
        prg_error_text(report->error, w->error, sizeof(w->error));
    else if (report->plan->error)
        snprintf(w->error, sizeof(w->error), "%s", report->plan->error);
}

static void start(struct world *w)
{
    struct prg_learning_loop_options options = {.workers = 4, .report = on_plan, .ctx = w};
    if (w->has_edge)
        options.edge = (struct prg_learning_edge){tell_job, tell_dataset, waiting_deletions, give_up_deletions, w};
    w->loop = prg_learning_loop_new(w->store, w->planner, &options);
    prg_learning_loop_enqueue_all(w->loop, w->now_ms);
}

// Everything in its memory is gone; what it wrote stays.
static void kill_and_start(struct world *w)
{
    prg_learning_loop_free(w->loop);
    w->writes_left = -1;
    w->is_dead = false;
    w->answered[0] = '\0'; // the edge node reports again what was not stored
    start(w);
}

static void build(struct world *w)
{
    struct prg_policy_options options = {0};
    struct prg_error err = {0};
    *w = (struct world){.writes_left = -1, .has_edge = true, .worker_node = "edge1"};
    prg_arena_init(&w->arena);
    prg_strbuf_init(&w->told);
    w->store = prg_store_mem_new();
    real_ops = w->store->ops;
    w->ops = *real_ops;
    w->ops.apply = fused_apply;
    w->ops.remove = fused_remove;
    w->ops.set_status = fused_set_status;
    w->ops.patch = real_ops->patch ? fused_patch : NULL;
    w->store->ops = &w->ops;
    current = w;
    assert_ok(prg_policy_set_load(&options, &w->policies, &err), &err);
    w->planner = prg_planner_new(w->policies, &prg_compat_fixed, "kserve");
    prg_planner_set_lc_server(w->planner, "http://lc:9100");
    put_yaml(w, learning_data);
}

static void destroy(struct world *w)
{
    prg_learning_loop_free(w->loop);
    prg_planner_free(w->planner);
    prg_policy_set_unref(w->policies);
    w->store->ops = real_ops;
    prg_store_free(w->store);
    prg_strbuf_release(&w->told);
    prg_arena_release(&w->arena);
}

static int set_up(void **state)
{
    struct world *w = prg_xmalloc(sizeof(*w));
    build(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    destroy(*state);
    free(*state);
    return 0;
}

static void changed(struct world *w, const char *group, const char *kind, const char *name)
{
    struct prg_key key = {group, kind, "ns", name};
    prg_learning_loop_changed(w->loop, &key, w->now_ms);
}

static void run(struct world *w)
{
    prg_learning_loop_run(w->loop, w->now_ms, wall_ns(w));
}

// ---- kubelet ----

struct pods {
    struct world *w;
    const char *type; // NULL: all
    size_t count;
    const cJSON *waiting; // one without a phase
    const cJSON *over;    // a worker that runs though its stage is over
};

static void look_at_pod(const cJSON *pod, void *ctx)
{
    struct pods *pods = ctx;
    const char *type = prg_meta_label(pod, "incrementallearningjob.sedna.io/worker-type");
    if (pods->type && !prg_text_equal(type, pods->type))
        return;
    pods->count++;
    const char *phase = prg_json_get_text(prg_json_get(pod, "status"), "phase");
    struct prg_job_condition latest = prg_job_condition_latest(job_of(pods->w));
    const char *stage = prg_text_equal(type, "train") ? "Train" : "Eval";
    if (!phase)
        pods->waiting = pod;
    else if (!prg_text_equal(type, "inference") && strcmp(phase, "Running") == 0 && strcmp(latest.stage, stage) != 0)
        pods->over = pod;
}

static struct pods pods_of(struct world *w, const char *type)
{
    struct pods pods = {.w = w, .type = type};
    w->store->reader.list(&w->store->reader, "", "Pod", "ns", look_at_pod, &pods);
    return pods;
}

static void set_phase(struct world *w, const cJSON *pod, const char *phase)
{
    struct prg_error err = {0};
    cJSON *copy = prg_json_copy(&w->arena, pod);
    prg_json_set_string(&w->arena, prg_json_ensure_object(&w->arena, copy, "status"), "phase", phase);
    prg_json_set_string(&w->arena, prg_json_ensure_object(&w->arena, copy, "spec"), "nodeName", w->worker_node);
    assert_ok(prg_store_mem_put(w->store, copy, false, true, &err), &err);
    changed(w, "", "Pod", prg_meta_name(copy));
}

// ---- the edge node ----

static void on_answer(enum prg_learning_answer answer, const char *why, void *ctx)
{
    struct world *w = ctx;
    w->answer = answer;
    w->answers++;
    snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
}

static void report(struct world *w, const char *stage, const char *type, const char *rest)
{
    struct prg_learning_message message = {
        .node = "edge1",
        .kind = "IncrementalLearningJob",
        .ns = "ns",
        .name = "helmet",
        .content = json_of(&w->arena, prg_arena_printf(&w->arena, "{'phase': '%s', 'status': '%s'%s%s}", stage, type,
                                                       *rest ? ", " : "", rest))};
    prg_learning_loop_report(w->loop, &message, on_answer, w, w->now_ms);
}

static const char ready_rest[] = "'input': {'models': [{'url': '/models/base', 'format': 'ckpt'}], 'dataURL': "
                                 "'/output/data/train/1/data.txt', 'outputDir': '/output/train/1'}";
static const char made_rest[] = "'output': {'models': [{'url': '/output/train/1/m', 'format': 'ckpt'}]}";

static unsigned deployments_over(const struct world *w)
{
    const cJSON *node;
    unsigned count = 0;
    prg_json_each (node, prg_json_at(job_of(w), "status", "conditions")) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        count += strcmp(condition.stage, "Deploy") == 0 && strcmp(condition.type, "Completed") == 0;
    }
    return count;
}

// Answers the job's state once, as a Local Controller and its worker would. Returns whether it did.
static bool edge_acts(struct world *w)
{
    char state[128];
    struct prg_job_condition latest = prg_job_condition_latest(job_of(w));
    bool is_hot = prg_json_get_true(prg_json_at(job_of(w), "spec", "deploySpec", "model"), "hotUpdateEnabled");
    snprintf(state, sizeof(state), "%s %s %s", latest.stage, latest.type, latest.since);
    if (strcmp(state, w->answered) == 0)
        return false;
    bool is_waiting = strcmp(latest.type, "Waiting") == 0, is_running = strcmp(latest.type, "Running") == 0;
    bool is_train = strcmp(latest.stage, "Train") == 0, is_deploy = strcmp(latest.stage, "Deploy") == 0;
    if (!is_waiting && !is_running)
        return false;
    if (is_train && is_waiting && !w->rounds_left)
        return false;
    if (is_deploy && is_waiting && w->deployments && deployments_over(w) >= w->deployments)
        return false;
    snprintf(w->answered, sizeof(w->answered), "%s", state);
    if (is_train && is_waiting)
        w->rounds_left--;
    if (is_waiting)
        report(w, latest.stage, "Ready", ready_rest);
    else if (!is_deploy || is_hot)
        report(w, latest.stage, "Completed", made_rest);
    return true;
}

// The world goes on, a second each time, until all is quiet or the controller dies.
static void settle(struct world *w)
{
    for (int i = 0; i < 400 && !w->is_dead; i++) {
        run(w);
        if (w->is_dead)
            return;
        w->now_ms += 1000;
        struct pods pods = pods_of(w, NULL);
        if (pods.waiting) {
            set_phase(w, pods.waiting, "Running");
            continue;
        }
        if (pods.over) {
            set_phase(w, pods.over, "Succeeded");
            continue;
        }
        if (edge_acts(w))
            continue;
        int64_t next = prg_learning_loop_next_ms(w->loop, w->now_ms);
        if (next < 0 || next >= 10000) // nothing, or only pauses of jobs that cannot go on
            return;
        w->now_ms += (uint64_t)next;
    }
    assert_true(w->is_dead);
}

static const char *history(struct world *w)
{
    const cJSON *node;
    const char *text = "";
    prg_json_each (node, prg_json_at(job_of(w), "status", "conditions"))
        text = prg_arena_printf(&w->arena, "%s%s%s %s", text, *text ? ", " : "", prg_json_get_text(node, "stage"),
                                prg_json_get_text(node, "type"));
    return text;
}

#define STAGE(name) name " Waiting, " name " Ready, " name " Starting, " name " Running, " name " Completed, "
#define ROUND_RESTART STAGE("Train") STAGE("Eval") "Deploy Waiting, Deploy Ready, Deploy Completed, "
#define ROUND_HOT STAGE("Train") STAGE("Eval") STAGE("Deploy")

// ---- tests ----

static void two_rounds_with_a_restart_of_inference(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->rounds_left = 2;
    settle(w);
    assert_string_equal(history(w), ROUND_RESTART ROUND_RESTART "Train Waiting");
    assert_int_equal(pods_of(w, "train").count, 2);
    assert_int_equal(pods_of(w, "eval").count, 2);
    assert_int_equal(pods_of(w, "inference").count, 1);
    assert_string_equal(prg_meta_annotation(job_of(w), "sedna.io/Train"), "edge1");
    assert_non_null(strstr(w->told.text, "Train Waiting; "));
    assert_non_null(strstr(w->told.text, "Train Completed; ")); // each state is told, also one that lasts an instant
    assert_string_equal(prg_json_get_text(prg_json_get(job_of(w), "status"), "startTime"), "2026-06-01T00:00:00Z");
}

static void two_rounds_with_hot_update(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, true));
    start(w);
    w->rounds_left = 2;
    settle(w);
    assert_string_equal(history(w), ROUND_HOT ROUND_HOT "Train Waiting");
    assert_int_equal(pods_of(w, "inference").count, 1);
    assert_string_equal(prg_meta_annotation(job_of(w), "sedna.io/model-hot-update-config"),
                        "/var/lib/sedna/model-hot-update/ns/incrementallearningjob/helmet/model_config.json");
}

static unsigned rounds_begun(struct world *w)
{
    unsigned count = 0;
    for (const char *p = history(w); (p = strstr(p, "Train Ready")); p++)
        count++;
    return count;
}

// Dies at each of its writes, is started again, and the end is the same.
static void die_at_every_write(struct world *w, bool is_hot, const char *wanted)
{
    bool died = true;
    for (int64_t fuse = 0; died; fuse++) {
        put_yaml(w, learning_job(&w->arena, is_hot));
        start(w);
        w->rounds_left = 2;
        w->writes_left = fuse;
        settle(w);
        died = w->is_dead;
        if (died) {
            kill_and_start(w);
            w->rounds_left = 2 - rounds_begun(w); // a report that was not stored comes again
            settle(w);
        }
        if (strcmp(history(w), wanted) != 0)
            fail_msg("killed at write %" PRId64 ": %s", fuse, history(w));
        assert_int_equal(pods_of(w, "train").count, 2);
        assert_int_equal(pods_of(w, "eval").count, 2);
        assert_int_equal(pods_of(w, "inference").count, 1);
        assert_true(died || fuse > 30);
        destroy(w);
        build(w);
    }
}

static void a_kill_at_any_write_loses_nothing_and_makes_nothing_twice(void **state)
{
    die_at_every_write(*state, false, ROUND_RESTART ROUND_RESTART "Train Waiting");
}

static void a_kill_at_any_write_of_a_hot_update_does_no_harm(void **state)
{
    die_at_every_write(*state, true, ROUND_HOT ROUND_HOT "Train Waiting");
}

static void a_stage_fails_with_its_pod_and_starts_over(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    set_phase(w, pods_of(w, "inference").waiting, "Running");
    report(w, "Train", "Ready", ready_rest);
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_STORED);
    w->now_ms += 1000;
    set_phase(w, pods_of(w, "train").waiting, "Failed");
    run(w);
    assert_string_equal(history(w), "Train Waiting, Train Ready, Train Starting, Train Failed, Train Waiting");
}

static void a_failed_plan_is_tried_again_with_the_pauses_of_the_original(void **state)
{
    static const int64_t pauses[] = {10, 20, 40, 80, 160, 320, 360, 360};
    struct world *w = *state;
    struct prg_key model = {"sedna.io", "Model", "ns", "served"};
    assert_true(prg_store_mem_drop(w->store, &model));
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    for (size_t i = 0; i < PRG_COUNT(pauses); i++) {
        run(w);
        assert_string_equal(w->error, "failed to get infer model served: models.sedna.io \"served\" not found");
        assert_int_equal(prg_learning_loop_next_ms(w->loop, w->now_ms), pauses[i] * 1000);
        w->now_ms += (uint64_t)pauses[i] * 1000;
    }
    put_yaml(w, learning_data);
    changed(w, "sedna.io", "Model", "served"); // needs no pause
    run(w);
    assert_string_equal(w->error, "");
    assert_string_equal(history(w), "Train Waiting");
}

struct seen_events {
    const char *reason;
    unsigned count;
    char message[PRG_ERROR_LINE];
};

static void see_event(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    struct seen_events *seen = ctx;
    (void)key;
    if (strcmp(event->reason, seen->reason) != 0)
        return;
    seen->count += count;
    snprintf(seen->message, sizeof(seen->message), "%s", event->message);
}

static struct seen_events events_of(struct world *w, const char *reason)
{
    struct seen_events seen = {.reason = reason};
    prg_store_mem_each_event(w->store, see_event, &seen);
    return seen;
}

static void what_stands_in_the_way_is_told_once_in_an_event(void **state)
{
    struct world *w = *state;
    struct prg_key model = {"sedna.io", "Model", "ns", "served"};
    assert_true(prg_store_mem_drop(w->store, &model));
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    for (int i = 0; i < 5; i++) {
        run(w);
        w->now_ms += 400000;
    }
    assert_int_equal(events_of(w, "StageBlocked").count, 1);
}

static void a_write_that_fails_is_told_and_tried_again(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->writes_left = 0;
    run(w);
    assert_string_not_equal(w->error, "");
    assert_int_equal(events_of(w, "ReconcileFailed").count, 1);
    w->writes_left = -1;
    w->is_dead = false;
    w->now_ms += 10000;
    run(w);
    assert_string_equal(history(w), "Train Waiting");
}

// ---- reports ----

static void reports_of_nonsense_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *content, *why;
    } cases[] = {{"{}", "invalid condition stage: "},
                 {"{'phase': 'Train', 'status': 'running'}", "invalid condition type: running"},
                 {"{'phase': 5}", "/phase: must be a text, not number"},
                 {"[]", "the content must be an object, not array"},
                 {"'x'", "the content must be an object, not string"},
                 {"null", "invalid condition stage: "},
                 {"{'phase': 'Train', 'status': 'Ready', 'input': 7}", "/input"}};
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_learning_message message = {.node = "edge1",
                                               .kind = "IncrementalLearningJob",
                                               .ns = "ns",
                                               .name = "helmet",
                                               .content = json_of(&w->arena, cases[i].content)};
        prg_learning_loop_report(w->loop, &message, on_answer, w, w->now_ms);
        run(w);
        assert_int_equal(w->answers, i + 1);
        assert_int_equal(w->answer, PRG_LEARNING_REFUSED);
        assert_non_null(strstr(w->why, cases[i].why));
    }
    assert_string_equal(history(w), "Train Waiting");
}

static void reports_are_stored_in_their_order(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    report(w, "Train", "Ready", ready_rest);
    report(w, "Train", "Failed", "");
    report(w, "Train", "Completed", made_rest);
    run(w);
    assert_int_equal(w->answers, 3);
    assert_non_null(strstr(history(w), "Train Waiting, Train Ready, Train Failed, Train Completed, Eval Waiting"));
}

static void a_report_that_cannot_be_stored_is_handed_back(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    report(w, "Train", "Ready", ready_rest);
    w->writes_left = 0;
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_RETRY);
    assert_non_null(strstr(w->why, "dead"));
    assert_string_equal(history(w), "Train Waiting");
}

static void a_report_about_nothing_tells_the_node_so(void **state)
{
    struct world *w = *state;
    start(w);
    run(w);
    report(w, "Train", "Ready", ready_rest);
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_REFUSED);
    assert_string_equal(w->why, "there is no IncrementalLearningJob ns/helmet");
    assert_non_null(strstr(w->told.text, "delete to edge1; "));
}

static void samples_of_a_dataset_are_stored(void **state)
{
    struct world *w = *state;
    struct prg_learning_message message = {.node = "edge1", .kind = "Dataset", .ns = "ns", .name = "photos"};
    start(w);
    run(w);
    message.content = json_of(&w->arena, "{'numberOfSamples': 20}");
    prg_learning_loop_report(w->loop, &message, on_answer, w, w->now_ms);
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_STORED);
    assert_json_text(&w->arena, prg_json_get(stored(w, "sedna.io", "Dataset", "photos"), "status"),
                     "{'numberOfSamples': 20, 'updateTime': '2026-06-01T00:00:00Z'}");
    message.content = json_of(&w->arena, "{'numberOfSamples': 'many'}");
    prg_learning_loop_report(w->loop, &message, on_answer, w, w->now_ms);
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_REFUSED);
    message.name = "other";
    prg_learning_loop_report(w->loop, &message, on_answer, w, w->now_ms);
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_REFUSED);
    assert_non_null(strstr(w->told.text, "dataset other deleted; "));
}

static void a_report_that_the_policy_refuses_is_told_in_an_event(void **state)
{
    struct world *w = *state;
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    char folder[] = "/tmp/perigee-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = prg_arena_printf(&w->arena, "%s/policies.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("use: {il_stage: il_stage_resilient}\n", file);
    assert_int_equal(fclose(file), 0);
    struct prg_policy_options options = {.folder = folder};
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    prg_planner_set_policies(w->planner, set);
    prg_policy_set_unref(set);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    report(w, "Eval", "Ready", ready_rest);
    run(w);
    assert_int_equal(w->answer, PRG_LEARNING_REFUSED);
    assert_string_equal(w->why, "the job is at Train Waiting");
    assert_string_equal(events_of(w, "ReportIgnored").message, "edge1: Eval Ready: the job is at Train Waiting");
    // Its deadlines wake the loop by themselves.
    report(w, "Train", "Ready", ready_rest);
    run(w);
    assert_string_equal(history(w), "Train Waiting, Train Ready, Train Starting");
    int64_t next = prg_learning_loop_next_ms(w->loop, w->now_ms);
    assert_in_range(next, 1, 900000);
    for (int i = 0; i < 5 && !strstr(history(w), "Failed"); i++) {
        w->now_ms += (uint64_t)next;
        run(w);
        next = prg_learning_loop_next_ms(w->loop, w->now_ms);
    }
    assert_non_null(strstr(history(w), "Train Starting, Train Failed"));
}

// ---- deletions ----

static void delete_job(struct world *w)
{
    struct prg_key key = {"sedna.io", "IncrementalLearningJob", "ns", "helmet"};
    assert_true(prg_store_mem_drop(w->store, &key));
}

static void the_ledger_outlives_the_job_until_its_nodes_know(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    assert_non_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
    w->waiting_deletions = 1;
    delete_job(w);
    changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
    prg_strbuf_clear(&w->told);
    run(w);
    assert_string_equal(w->told.text, "delete to edge1; ");
    assert_non_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
    prg_learning_loop_forgotten(w->loop, "edge1", "ns", "helmet", w->now_ms); // one of several nodes
    run(w);
    w->waiting_deletions = 0;
    prg_learning_loop_forgotten(w->loop, "edge1", "ns", "helmet", w->now_ms);
    run(w);
    assert_string_equal(w->told.text, "delete to edge1; "); // not again
    assert_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
    assert_int_equal(prg_learning_loop_next_ms(w->loop, w->now_ms), -1);
}

// Over days, and starts of the controller.
static void a_node_that_never_comes_back_is_given_up(void **state)
{
    struct world *w = *state;
    uint64_t day = UINT64_C(24) * 3600 * 1000;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    delete_job(w);
    w->waiting_deletions = 1;
    changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
    run(w);
    const cJSON *data = prg_json_get(stored(w, "", "ConfigMap", "perigee-edge-helmet"), "data");
    assert_null(strstr(prg_json_get_text(data, "job"), "gone")); // it may still read it
    w->now_ms += 61000;
    run(w);
    data = prg_json_get(stored(w, "", "ConfigMap", "perigee-edge-helmet"), "data");
    assert_non_null(strstr(prg_json_get_text(data, "job"), "\"gone\":\"2026-06-01T00:00:00Z\""));
    for (uint64_t n = 1; n <= PRG_LEDGER_DAYS; n++) {
        w->now_ms = n * day - 1000;
        if (n % 7 == 0)
            kill_and_start(w);
        run(w);
        assert_non_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
        assert_in_range(prg_learning_loop_next_ms(w->loop, w->now_ms), 1, 3600 * 1000);
    }
    prg_strbuf_clear(&w->told);
    w->now_ms += 1000;
    run(w);
    assert_string_equal(w->told.text, "ns/helmet given up; ");
    assert_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
    assert_int_equal(prg_learning_loop_next_ms(w->loop, w->now_ms), -1);
}

// The same name made anew, or the very job seen again: what is kept says so.
static void a_job_that_is_there_again_is_not_gone(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    cJSON *job = prg_json_copy(&w->arena, job_of(w));
    delete_job(w);
    w->waiting_deletions = 1;
    changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
    run(w);
    w->now_ms += 61000;
    run(w);
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(w->store, job, false, true, &err), &err);
    changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
    run(w);
    const cJSON *data = prg_json_get(stored(w, "", "ConfigMap", "perigee-edge-helmet"), "data");
    assert_null(strstr(prg_json_get_text(data, "job"), "gone"));
}

static void a_job_that_is_deleted_while_nobody_watches_is_deleted_from_its_nodes(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, true));
    start(w);
    w->rounds_left = 1;
    settle(w);
    prg_learning_loop_free(w->loop);
    delete_job(w);
    struct prg_key dataset = {"sedna.io", "Dataset", "ns", "photos"};
    assert_true(prg_store_mem_drop(w->store, &dataset)); // gone with it
    prg_strbuf_clear(&w->told);
    w->waiting_deletions = 1;
    start(w);
    run(w);
    assert_string_equal(w->told.text, "delete to edge1; ");
    kill_and_start(w); // before the node has read it
    w->waiting_deletions = 0;
    run(w);
    assert_string_equal(w->told.text, "delete to edge1; delete to edge1; ");
    assert_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
}

static void a_job_that_somebody_holds_back_from_going_is_gone_for_its_nodes(void **state)
{
    struct world *w = *state;
    struct prg_error err = {0};
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    cJSON *going = prg_json_copy(&w->arena, job_of(w)), *meta = prg_json_get(going, "metadata");
    prg_json_set_string(&w->arena, meta, "deletionTimestamp", "2026-06-01T00:00:00Z");
    assert_ok(prg_store_mem_put(w->store, going, false, true, &err), &err);
    prg_strbuf_clear(&w->told);
    for (int i = 0; i < 3; i++) {
        changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
        run(w);
    }
    delete_job(w);
    changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
    run(w);
    assert_string_equal(w->told.text, "delete to edge1; ");
    assert_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
}

static void a_job_that_is_made_anew_is_first_deleted(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    run(w);
    prg_strbuf_clear(&w->told);
    const char *anew = learning_job(&w->arena, false);
    char *uid = strstr((char *)(uintptr_t)anew, "uid: u1");
    assert_non_null(uid);
    uid[6] = '2';
    put_yaml(w, anew);
    changed(w, "sedna.io", "IncrementalLearningJob", "helmet");
    run(w);
    assert_non_null(strstr(w->told.text, "delete to edge1; "));
    assert_string_equal(history(w), "Train Waiting");
    // Should it die before the node has read that: what is kept says that it still has to.
    assert_non_null(strstr(ledger(w), "\"deployed\":[{\"node\":\"edge1\",\"since\":\"\"}]"));
    prg_strbuf_clear(&w->told);
    kill_and_start(w);
    run(w);
    assert_non_null(strstr(w->told.text, "Train Waiting after [{\"node\":\"edge1\",\"since\":\"\"}]; "));
    prg_learning_loop_forgotten(w->loop, "edge1", "ns", "helmet", w->now_ms);
    run(w);
    assert_null(strstr(ledger(w), "deployed"));
}

// ---- who took part in a deployment ----

static void who_takes_part_in_a_deployment_is_kept_before_it_is_told(void **state)
{
    struct world *w = *state;
    w->worker_node = "edge2"; // the Dataset's is edge1
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->rounds_left = 1;
    settle(w); // tell_job looks
    assert_non_null(strstr(w->told.text, "Deploy Waiting after [{\"node\":\"edge2\",\"since\":\"2026-06-01T"));
    assert_non_null(strstr(w->told.text, "Train Waiting after [{\"node\":\"edge2\""));
    assert_non_null(strstr(ledger(w), "\"deployed\":[{\"node\":\"edge2\""));
    kill_and_start(w);
    prg_strbuf_clear(&w->told);
    run(w);
    assert_non_null(strstr(w->told.text, "Train Waiting after [{\"node\":\"edge2\""));
    prg_learning_loop_forgotten(w->loop, "edge2", "ns", "helmet", w->now_ms);
    run(w);
    assert_string_equal(history(w), ROUND_RESTART "Train Waiting");
    assert_null(strstr(ledger(w), "deployed"));
}

static void what_a_node_forgets_is_an_earlier_deployment_while_it_takes_part_in_one(void **state)
{
    struct world *w = *state;
    w->worker_node = "edge2";
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->rounds_left = 2;
    w->deployments = 1;
    settle(w);
    assert_string_equal(history(w), ROUND_RESTART STAGE("Train") STAGE("Eval") "Deploy Waiting");
    const char *first = strstr(ledger(w), "edge2\",\"since"), *second = strstr(first + 1, "edge2\",\"since");
    assert_non_null(second);
    const char *kept = prg_arena_printf(&w->arena, "[{\"node\":\"%s", second);
    prg_learning_loop_forgotten(w->loop, "edge2", "ns", "helmet", w->now_ms);
    run(w);
    assert_non_null(strstr(ledger(w), kept));
}

static void another_term_begins_with_what_the_store_says(void **state)
{
    struct world *w = *state;
    struct prg_error err = {0};
    w->worker_node = "edge2";
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->rounds_left = 1;
    settle(w);
    prg_learning_loop_pause(w->loop, true);
    // Another controller led: edge2 has forgotten the job, edge3 deployed it.
    cJSON *object = prg_json_copy(&w->arena, stored(w, "", "ConfigMap", "perigee-edge-helmet"));
    cJSON *entry = json_of(&w->arena, "{'name': 'helmet', 'uid': 'u1', 'dataset': 'edge1', 'train': 'edge2', 'eval': "
                                      "'edge3', 'deployed': [{'node': 'edge3', 'since': '10'}]}");
    prg_json_set_string(&w->arena, prg_json_get(object, "data"), "job",
                        prg_json_print_arena(&w->arena, entry, PRG_JSON_COMPACT));
    assert_ok(prg_store_mem_put(w->store, object, false, true, &err), &err);
    prg_strbuf_clear(&w->told);
    prg_learning_loop_reset(w->loop);
    prg_learning_loop_pause(w->loop, false);
    prg_learning_loop_enqueue_all(w->loop, w->now_ms);
    run(w);
    assert_non_null(strstr(w->told.text, "Train Waiting after [{\"node\":\"edge3\",\"since\":\"10\"}]; "));
    assert_null(strstr(w->told.text, "edge2"));
}

static void what_cannot_be_kept_stops_no_job_and_is_tried_again(void **state)
{
    struct world *w = *state;
    w->is_ledger_refused = true;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->rounds_left = 1;
    settle(w);
    assert_string_equal(history(w), ROUND_RESTART "Train Waiting");
    unsigned refusals = w->refusals;
    assert_in_range(refusals, 1, 12); // four for each of three nodes
    run(w);
    assert_int_equal(w->refusals, refusals);
    int64_t next = prg_learning_loop_next_ms(w->loop, w->now_ms);
    assert_in_range(next, 1, 600 * 1000);
    w->now_ms += (uint64_t)next;
    run(w);
    assert_int_equal(w->refusals, refusals + 1);
    w->is_ledger_refused = false;
    w->now_ms += 600 * 1000;
    run(w);
    assert_string_not_equal(ledger(w), "");
    assert_int_equal(prg_learning_loop_next_ms(w->loop, w->now_ms), -1);
}

static void without_a_link_there_is_no_ledger(void **state)
{
    struct world *w = *state;
    w->has_edge = false;
    put_yaml(w, learning_job(&w->arena, false));
    start(w);
    w->rounds_left = 1;
    settle(w);
    assert_null(stored(w, "", "ConfigMap", "perigee-edge-helmet"));
    assert_non_null(strstr(history(w), "Deploy Completed, Train Waiting"));
}

// ---- hostile objects ----

static void hostile_jobs_do_no_harm_to_others(void **state)
{
    static const char *const jobs[] = {
        "{spec: 5}",
        "{spec: {dataset: []}}",
        "{spec: {deploySpec: {model: {name: [1]}}}, status: 7}",
        "{spec: {trainSpec: {template: x}}, status: {conditions: [{type: Ready, stage: Train, data: '{'}]}}",
        "{status: {conditions: [1, 2, null]}}",
        "{status: {startTime: 5, conditions: {}}}",
        "{}"};
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    for (size_t i = 0; i < PRG_COUNT(jobs); i++) {
        cJSON *job = json_of(&w->arena, "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'IncrementalLearningJob'}");
        struct prg_yaml_docs docs;
        struct prg_error err = {0};
        assert_ok(prg_yaml_load(&w->arena, "test", jobs[i], strlen(jobs[i]), NULL, &docs, &err), &err);
        cJSON *item, *next, *meta = prg_json_object(&w->arena);
        for (item = docs.items[0]->child; item; item = next) {
            next = item->next;
            prg_json_set(&w->arena, job, item->string, prg_json_copy(&w->arena, item));
        }
        prg_json_set(&w->arena, meta, "name", prg_json_stringf(&w->arena, "odd-%zu", i));
        prg_json_set_string(&w->arena, meta, "namespace", "ns");
        prg_json_set(&w->arena, job, "metadata", meta);
        assert_ok(prg_store_mem_put(w->store, job, false, true, &err), &err);
    }
    put_yaml(w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: perigee-edge-x, namespace: ns, labels: "
                "{perigee.dev/ledger: edge}}, data: {job: '{'}}\n---\n"
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: perigee-edge-y, namespace: ns, labels: "
                "{perigee.dev/ledger: edge}}, data: {job: '{\"name\": [], \"uid\": 3}'}}\n---\n"
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: ns, labels: "
                "{perigee.dev/ledger: edge}}, data: {job: '{\"name\": \"z\", \"dataset\": \"edge9\"}'}}\n");
    start(w);
    w->rounds_left = 1;
    settle(w);
    assert_string_equal(history(w), ROUND_RESTART "Train Waiting");
    assert_null(strstr(w->told.text, "edge9"));
}

static void pods_of_others_are_left_alone(void **state)
{
    struct world *w = *state;
    put_yaml(w, learning_job(&w->arena, false));
    put_yaml(w, "{apiVersion: v1, kind: Pod, metadata: {name: helmet-train-alien, namespace: ns, uid: p9, labels: "
                "{incrementallearningjob.sedna.io/name: helmet, incrementallearningjob.sedna.io/uid: u1, "
                "incrementallearningjob.sedna.io/worker-type: train}, ownerReferences: [{apiVersion: batch/v1, kind: "
                "Job, name: j, uid: j1, controller: true}]}, status: {phase: Succeeded}}");
    start(w);
    changed(w, "", "Pod", "helmet-train-alien");
    changed(w, "", "Pod", "never-there");
    changed(w, "", "ConfigMap", "never-there");
    changed(w, "apps", "Deployment", "x");
    w->rounds_left = 1;
    settle(w);
    assert_string_equal(history(w), ROUND_RESTART "Train Waiting");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_rounds_with_a_restart_of_inference),
        TEST(two_rounds_with_hot_update),
        TEST(a_kill_at_any_write_loses_nothing_and_makes_nothing_twice),
        TEST(a_kill_at_any_write_of_a_hot_update_does_no_harm),
        TEST(a_stage_fails_with_its_pod_and_starts_over),
        TEST(a_failed_plan_is_tried_again_with_the_pauses_of_the_original),
        TEST(what_stands_in_the_way_is_told_once_in_an_event),
        TEST(a_write_that_fails_is_told_and_tried_again),
        TEST(reports_of_nonsense_are_refused_with_a_reason),
        TEST(reports_are_stored_in_their_order),
        TEST(a_report_that_cannot_be_stored_is_handed_back),
        TEST(a_report_about_nothing_tells_the_node_so),
        TEST(samples_of_a_dataset_are_stored),
        TEST(a_report_that_the_policy_refuses_is_told_in_an_event),
        TEST(the_ledger_outlives_the_job_until_its_nodes_know),
        TEST(a_node_that_never_comes_back_is_given_up),
        TEST(a_job_that_is_there_again_is_not_gone),
        TEST(a_job_that_is_deleted_while_nobody_watches_is_deleted_from_its_nodes),
        TEST(a_job_that_somebody_holds_back_from_going_is_gone_for_its_nodes),
        TEST(a_job_that_is_made_anew_is_first_deleted),
        TEST(who_takes_part_in_a_deployment_is_kept_before_it_is_told),
        TEST(what_a_node_forgets_is_an_earlier_deployment_while_it_takes_part_in_one),
        TEST(another_term_begins_with_what_the_store_says),
        TEST(what_cannot_be_kept_stops_no_job_and_is_tried_again),
        TEST(without_a_link_there_is_no_ledger),
        TEST(hostile_jobs_do_no_harm_to_others),
        TEST(pods_of_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
