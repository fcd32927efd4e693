// SPDX-License-Identifier: Apache-2.0
// test_policy_life.c: policy sets that change under a running loop: loaded on another thread, swapped in between plans,
// superseded, refused, laid over by namespaces. Built with -fsanitize=thread it also shows that loading shares nothing
// with planning (scripts/nightly).
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/meters.h"
#include "controller/policy_life.h"
#include "controller/policy_status.h"
#include "stdlib/natives.h"
#include "store/store_mem.h"
#include "yaml/load.h"

enum { SWAPS = 20, DEADLINE_MS = 100000 };

struct fixture {
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_policy_life *life;
    struct prg_planner *planner;
    uv_loop_t loop;
    uv_idle_t turn;      // plans on each turn of the loop
    uv_timer_t deadline; // ends a test that waits in vain
    bool (*is_done)(struct fixture *f);
    int woken;
    int notified, plans, number; // number: of the set that the latest plan shows
    int changes;
    char last_ns[64];
};

// ---- objects ----

static void put(struct fixture *f, const char *yaml)
{
    struct prg_yaml_docs docs;
    struct prg_error err = {0};
    assert_ok(prg_yaml_load(&f->arena, "test", yaml, strlen(yaml), NULL, &docs, &err), &err);
    for (size_t i = 0; i < docs.count; i++)
        assert_ok(prg_store_mem_put(f->store, docs.items[i], false, true, &err), &err);
}

static void change(struct fixture *f, const char *ns, const char *name)
{
    struct prg_key key = {"", "ConfigMap", ns, name};
    prg_policy_life_changed(f->life, &key);
}

// The set of everybody: images and patches carry a number.
static void put_set(struct fixture *f, int number, const char *more)
{
    put(f, prg_arena_printf(
               &f->arena,
               "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules, namespace: perigee}\ndata:\n"
               "  image.lua: \"return { api = 'image/v1', tag = function(image) return 'set-%d/' .. image end }\"\n"
               "  object_patch.lua: \"return { api = 'object_patch/v1', patch = function()"
               " return { metadata = { annotations = { set = 'set-%d' } } } end }\"\n%s",
               number, number, more));
}

static void put_namespace_set(struct fixture *f, const char *name, const char *label, const char *data)
{
    put(f, prg_arena_printf(&f->arena,
                            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: team-a, labels: {%s}}\n"
                            "data: {%s}\n",
                            name, label, data));
}

#define SCOPED "perigee.dev/policy-scope: namespace"

static void add_service(struct fixture *f, const char *ns)
{
    put(f, prg_arena_printf(&f->arena,
                            "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\n"
                            "metadata: {name: s, namespace: %s, uid: u,"
                            " annotations: {serving.kserve.io/deploymentMode: Standard}}\n"
                            "spec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: 'gs://b/m'}}}\n",
                            ns));
}

static int set_up(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    *state = f;
    prg_stdlib_register();
    prg_arena_init(&f->arena);
    f->store = prg_store_mem_new();
    put(f, "apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {name: sklearn}\n"
           "spec: {supportedModelFormats: [{name: sklearn, autoSelect: true}], containers: [{name: kserve-container,"
           " image: 'kserve/sklearnserver:v1'}]}\n");
    put(f, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inferenceservice-config, namespace: kserve}\ndata:\n"
           "  deploy: '{\"defaultDeploymentMode\": \"Standard\"}'\n"
           "  ingress: '{\"ingressDomain\": \"example.com\", \"ingressGateway\": \"a/b\", \"disableIngressCreation\": "
           "true}'\n"
           "  storageInitializer: '{\"image\": \"kserve/storage-initializer:v1\", \"cpuRequest\": \"100m\","
           " \"memoryRequest\": \"1Gi\", \"cpuLimit\": \"1\", \"memoryLimit\": \"1Gi\"}'\n");
    add_service(f, "team-a");
    add_service(f, "team-b");
    put_set(f, 0, "");
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_planner_free(f->planner);
    prg_policy_life_free(f->life);
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

// ---- the loop ----

// Plans the service of a namespace; its image, or "" with the error in ret_error. A plan shows one number only.
static const char *plan_image(struct fixture *f, const char *ns, const char **ret_error)
{
    static char image[256], error[2048];
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_plan *plan = prg_plan_new(&arena);
    struct prg_error err = {0};
    struct prg_key key = {"serving.kserve.io", "InferenceService", ns, "s"};
    const cJSON *object;
    image[0] = error[0] = '\0';
    assert_ok(prg_planner_plan(f->planner, &f->store->reader, &key, 0, 1, plan, &err), &err);
    snprintf(error, sizeof(error), "%s", plan->error ? plan->error : "");
    prg_json_each (object, plan->objects) {
        const cJSON *containers = prg_json_at(object, "spec", "template", "spec", "containers");
        const char *set = prg_json_text(prg_json_at(object, "metadata", "annotations", "set"));
        if (containers)
            snprintf(image, sizeof(image), "%s", prg_json_get_text(containers->child, "image"));
        if (set && sscanf(set, "set-%d", &f->number) == 1 && strncmp(image, "set-", 4) == 0)
            assert_int_equal(strtol(image + 4, NULL, 10), f->number);
    }
    if (ret_error)
        *ret_error = error;
    else if (error[0])
        fail_msg("plan: %s", error);
    f->plans++;
    return image;
}

static void on_active(const char *ns, void *ctx)
{
    struct fixture *f = ctx;
    f->notified++;
    snprintf(f->last_ns, sizeof(f->last_ns), "%s", ns ? ns : "");
}

static void on_turn(uv_idle_t *turn)
{
    struct fixture *f = turn->data;
    (void)plan_image(f, "team-b", NULL);
    if (f->is_done(f))
        uv_stop(&f->loop);
}

static void on_deadline(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("what the test waits for did not come");
}

static struct prg_policy_life_options options_of(struct fixture *f, const char *policies, const char *namespaces)
{
    struct prg_policy_life_options options = {.policies = policies, .store = f->store};
    struct prg_error err = {0};
    assert_ok(prg_policy_names_read(namespaces, &options.namespace_policies, &err), &err);
    return options;
}

static void start_with(struct fixture *f, const char *namespaces, bool is_optional, bool is_brief)
{
    struct prg_policy_life_options options = options_of(f, "configmap:perigee/rules", namespaces);
    struct prg_error err = {0};
    options.is_optional = is_optional;
    options.is_brief = is_brief;
    assert_ok(prg_policy_life_new(&options, &f->life, &err), &err);
    f->planner = prg_planner_new(prg_policy_life_active(f->life), &prg_compat_fixed, "kserve");
    prg_planner_load_config(f->planner, &f->store->reader);
    prg_policy_life_bind(f->life, f->planner);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    uv_idle_init(&f->loop, &f->turn);
    uv_timer_init(&f->loop, &f->deadline);
    f->turn.data = f->deadline.data = f;
    prg_policy_life_start(f->life, &f->loop, on_active, f);
}

static void start(struct fixture *f, const char *namespaces)
{
    start_with(f, namespaces, false, false);
}

static void run_until(struct fixture *f, bool (*is_done)(struct fixture *f))
{
    f->is_done = is_done;
    uv_idle_start(&f->turn, on_turn);
    uv_timer_start(&f->deadline, on_deadline, DEADLINE_MS, 0);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    uv_timer_stop(&f->deadline);
    uv_idle_stop(&f->turn);
}

static void stop(struct fixture *f)
{
    prg_policy_life_stop(f->life);
    uv_close((uv_handle_t *)&f->turn, NULL);
    uv_close((uv_handle_t *)&f->deadline, NULL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

// ---- what is told ----

struct told {
    struct prg_strbuf text;
};

static void add_event(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    prg_strbuf_printf(ctx, "%s/%s %s %s x%u %s\n", key->ns, key->name, event->type, event->reason, count,
                      event->message);
}

static const char *events_of(struct fixture *f)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_store_mem_each_event(f->store, add_event, &text);
    return prg_arena_strdup(&f->arena, text.text);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static void keep_state(const struct prg_policy_life_state *state, void *ctx)
{
    struct prg_policy_life_state *kept = ctx;
    bool is_wanted = kept->ns ? state->ns && strcmp(kept->ns, state->ns) == 0 : !state->ns;
    if (is_wanted)
        *kept = *state;
}

static const char *metrics_of(struct fixture *f, struct prg_metrics *metrics)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_metrics_print(metrics, &text);
    return prg_arena_strdup(&f->arena, text.text);
}

static struct prg_policy_life_state state_of(struct fixture *f, const char *ns)
{
    struct prg_policy_life_state state = {.ns = ns};
    prg_policy_life_each(f->life, keep_state, &state);
    return state;
}

// ---- the set of everybody ----

// Swaps the set as soon as the last swap shows, sometimes twice in a row, while plans run on each turn of the loop.
static bool swaps_are_done(struct fixture *f)
{
    if (f->number != f->changes)
        return false;
    if (f->changes == SWAPS)
        return true;
    put_set(f, ++f->changes, "");
    change(f, "perigee", "rules");
    if (f->changes % 3 == 0) { // the load under way is of no use any more
        put_set(f, ++f->changes, "");
        change(f, "perigee", "rules");
    }
    return false;
}

static void sets_are_swapped_between_plans_of_a_loop_that_goes_on(void **state)
{
    struct fixture *f = *state;
    start(f, "");
    run_until(f, swaps_are_done);
    assert_int_equal(f->number, SWAPS);
    assert_true(f->notified < SWAPS); // what was superseded was never active
    assert_true(f->plans > f->notified);
    assert_int_equal(state_of(f, NULL).refused, 0);
    assert_string_equal(events_of(f), "");
    stop(f);
}

// Changes the set in each turn of the loop, much faster than it is loaded.
static bool is_active_all_the_same(struct fixture *f)
{
    put_set(f, ++f->changes, "");
    change(f, "perigee", "rules");
    return state_of(f, NULL).accepted >= 3;
}

static void a_set_that_never_rests_becomes_active_all_the_same(void **state)
{
    struct fixture *f = *state;
    start(f, "");
    run_until(f, is_active_all_the_same);
    assert_true(f->number > 0);
    stop(f);
}

static bool is_number_two(struct fixture *f)
{
    return f->number == 2;
}

static bool is_refused(struct fixture *f)
{
    return state_of(f, NULL).is_refused;
}

static bool is_number_five(struct fixture *f)
{
    return f->number == 5;
}

static void a_set_that_contradicts_itself_is_refused_and_the_last_good_one_stays(void **state)
{
    static const char no_order[] = "  runtime_selection.lua: |\n"
                                   "    return { api = 'runtime_selection/v1', before = function() return true end }\n";
    struct fixture *f = *state;
    struct prg_metrics *metrics = prg_metrics_new();
    prg_meters_start(metrics);
    start(f, "");
    assert_has(metrics_of(f, metrics), "perigee_policy_set_refused{namespace=\"\"} 0\n");
    put_set(f, 4, no_order);
    change(f, "perigee", "rules");
    run_until(f, is_refused);
    assert_int_equal(f->number, 0);
    assert_int_equal(f->notified, 0);
    assert_has(state_of(f, NULL).problem, "configmap perigee/rules:runtime_selection.lua:1: ");
    assert_has(state_of(f, NULL).problem, "(strict-weak-order)");
    assert_has(events_of(f),
               "perigee/rules Warning PolicySetRefused x1 configmap perigee/rules:runtime_selection.lua:1: ");
    assert_has(metrics_of(f, metrics), "perigee_policy_set_refused{namespace=\"\"} 1\n");
    assert_has(metrics_of(f, metrics), "perigee_policy_loads_total{result=\"refused\"} 1\n");
    prg_policy_life_retell(f->life); // another replica led when it was refused
    assert_has(events_of(f), "perigee/rules Warning PolicySetRefused x2 ");
    put_set(f, 5, "");
    change(f, "perigee", "rules");
    run_until(f, is_number_five);
    assert_false(state_of(f, NULL).is_refused);
    const char *revision = prg_policy_set_revision(prg_policy_life_active(f->life));
    const char *told = metrics_of(f, metrics);
    assert_has(told,
               prg_arena_printf(&f->arena, "perigee_policy_set_info{namespace=\"\",revision=\"%s\"} 1\n", revision));
    assert_has(told, "perigee_policy_set_refused{namespace=\"\"} 0\n");
    assert_null(strstr(strstr(told, "\nperigee_policy_set_info{") + 2, "\nperigee_policy_set_info{")); // one only
    prg_meters_start(NULL);
    prg_metrics_free(metrics);
    prg_policy_life_retell(f->life);
    assert_has(events_of(f), "perigee/rules Warning PolicySetRefused x2 ");
    assert_has(events_of(f), "perigee/rules Normal PolicySetActive x1 ");
    stop(f);
}

static void a_set_that_goes_leaves_the_last_good_one(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"", "ConfigMap", "perigee", "rules"};
    start(f, "");
    assert_true(prg_store_mem_drop(f->store, &key));
    change(f, "perigee", "rules");
    assert_true(is_refused(f)); // known without a thread
    assert_string_equal(state_of(f, NULL).problem, "configmap perigee/rules: there is no such object");
    (void)plan_image(f, "team-b", NULL);
    assert_int_equal(f->number, 0);
    stop(f);
}

static void a_life_may_end_in_the_middle_of_a_load(void **state)
{
    struct fixture *f = *state;
    start(f, "");
    put_set(f, 1, "");
    change(f, "perigee", "rules");
    stop(f);
    assert_int_equal(f->notified, 0);
}

static void a_bad_set_ends_the_start(void **state)
{
    static const struct {
        const char *policies, *error;
    } cases[] = {
        {"configmap:perigee/none", "policies: configmap perigee/none: there is no such object"},
        {"configmap:perigee", "policies configmap:perigee: configmap:NAMESPACE/NAME is needed"},
        {"configmap:/rules", "configmap:NAMESPACE/NAME is needed"},
        {"configmap:a/b/c", "configmap:NAMESPACE/NAME is needed"},
        {"/no/such/folder", "/no/such/folder: No such file"},
    };
    struct fixture *f = *state;
    struct prg_error err = {0};
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_policy_life_options options = options_of(f, cases[i].policies, "");
        prg_error_clear(&err);
        assert_int_equal(prg_policy_life_new(&options, &f->life, &err), PRG_INVALID);
        assert_error_has(&err, cases[i].error);
    }
    struct prg_policy_life_options options = options_of(f, "configmap:perigee/none", "");
    options.is_optional = true;
    prg_error_clear(&err);
    assert_ok(prg_policy_life_new(&options, &f->life, &err), &err);
}

static bool is_told_once(struct fixture *f)
{
    return f->notified > 0;
}

static void an_optional_set_may_come_and_go(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"", "ConfigMap", "perigee", "rules"};
    assert_true(prg_store_mem_drop(f->store, &key));
    start_with(f, "", true, false);
    assert_string_equal(plan_image(f, "team-b", NULL), "kserve/sklearnserver:v1");
    put_set(f, 3, "");
    change(f, "perigee", "rules");
    run_until(f, is_told_once);
    assert_string_equal(plan_image(f, "team-b", NULL), "set-3/kserve/sklearnserver:v1");
    f->notified = 0;
    assert_true(prg_store_mem_drop(f->store, &key));
    change(f, "perigee", "rules");
    run_until(f, is_told_once);
    assert_string_equal(plan_image(f, "team-b", NULL), "kserve/sklearnserver:v1");
    stop(f);
}

// ---- conditions ----

static void wake(void *ctx)
{
    ((struct fixture *)ctx)->woken++;
}

// Gives the part a turn and its writes their answers; what the ConfigMap says then.
static const char *turn_status(struct fixture *f, struct prg_policy_status *status, int64_t wall_s)
{
    prg_policy_status_part.run(prg_process_now_ms(), wall_s * 1000000000, status);
    prg_store_deliver(f->store);
    const cJSON *map = prg_reader_get(&f->store->reader, "", "ConfigMap", "perigee", PRG_POLICY_STATUS_NAME);
    const char *text = prg_json_get_text(prg_json_get(map, "data"), "policies");
    return prg_arena_strdup(&f->arena, text ? text : "");
}

static void a_refused_set_has_a_condition_in_the_namespace_of_the_controller(void **state)
{
    struct fixture *f = *state;
    put_namespace_set(f, "mine", SCOPED, "image.lua: 'return {'");
    start(f, "image");
    struct prg_policy_status *status = prg_policy_status_new("perigee", f->life, f->store, wake, f);
    prg_policy_status_part.start(&f->loop, status);
    assert_string_equal(turn_status(f, status, 1000), ""); // another replica leads
    prg_policy_status_part.work(true, status);
    const char *good = turn_status(f, status, 1000);
    const char *revision = prg_policy_set_revision(prg_policy_life_active(f->life));
    assert_has(good, "set: configmap perigee/rules\n");
    assert_has(good, revision);
    assert_has(good, "lastTransitionTime: \"1970-01-01T00:16:40Z\"");
    assert_has(good, "set: namespace team-a\n");
    assert_has(good, "configmap team-a/mine:image.lua:1:9: ");
    put_set(f, 1, "  image_spec.lua: |\n    it('fails', function() error('no') end)\n");
    change(f, "perigee", "rules");
    int woken = f->woken;
    run_until(f, is_refused);
    assert_true(f->woken > woken);
    const char *bad = turn_status(f, status, 2000);
    assert_has(bad, "reason: PolicySetRefused\n    status: \"False\"\n    type: PolicySetAccepted\n");
    assert_has(bad, "configmap perigee/rules:image_spec.lua:1: ");
    assert_has(bad, "lastTransitionTime: \"1970-01-01T00:33:20Z\"");
    assert_has(bad, revision);                                       // what decides is still named
    assert_has(bad, "lastTransitionTime: \"1970-01-01T00:16:40Z\""); // of the namespace, which is as before
    assert_int_equal(prg_policy_status_part.next_ms(prg_process_now_ms(), status), -1);
    put_set(f, 2, "");
    change(f, "perigee", "rules");
    run_until(f, is_number_two);
    assert_null(strstr(turn_status(f, status, 3000), "configmap perigee/rules:image_spec.lua"));
    // Somebody's edit is undone.
    struct prg_key key = {"", "ConfigMap", "perigee", PRG_POLICY_STATUS_NAME};
    assert_true(prg_store_mem_drop(f->store, &key));
    prg_policy_status_part.changed(&key, prg_process_now_ms(), status);
    assert_has(turn_status(f, status, 4000), "set: configmap perigee/rules\n");
    prg_policy_status_part.free(status);
    stop(f);
}

// ---- namespaces ----

static const char mine[] =
    "image.lua: \"return { api = 'image/v1', tag = function(image) return 'mine/' .. image end }\"";

static bool is_planned_anew(struct fixture *f)
{
    return f->notified > 0;
}

static void a_namespace_decides_for_itself_while_its_map_is_there(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"", "ConfigMap", "team-a", "mine"};
    start(f, "image");
    put_namespace_set(f, "other", "perigee.dev/policy-scope: cluster", mine);
    change(f, "team-a", "other");
    put_namespace_set(f, "mine", SCOPED, mine);
    change(f, "team-a", "mine");
    run_until(f, is_planned_anew);
    assert_string_equal(f->last_ns, "team-a");
    assert_string_equal(plan_image(f, "team-a", NULL), "mine/kserve/sklearnserver:v1");
    assert_string_equal(plan_image(f, "team-b", NULL), "set-0/kserve/sklearnserver:v1");
    // The set below changes: what the namespace leaves to it changes too.
    put_set(f, 5, "");
    change(f, "perigee", "rules");
    run_until(f, is_number_five);
    assert_string_equal(plan_image(f, "team-a", NULL), "mine/kserve/sklearnserver:v1");
    assert_int_equal(f->number, 5);
    f->notified = 0;
    assert_true(prg_store_mem_drop(f->store, &key));
    change(f, "team-a", "mine");
    assert_int_equal(f->notified, 1);
    assert_string_equal(plan_image(f, "team-a", NULL), "set-5/kserve/sklearnserver:v1");
    stop(f);
}

// team-a changes in each turn.
static bool is_other_namespace_active(struct fixture *f)
{
    put_namespace_set(f, "mine", SCOPED,
                      prg_arena_printf(&f->arena,
                                       "image.lua: \"return { api = 'image/v1', tag = function() return 'a-%d' end }\"",
                                       ++f->changes));
    change(f, "team-a", "mine");
    return state_of(f, "team-z").accepted > 0;
}

static void a_namespace_that_never_rests_keeps_no_other_waiting(void **state)
{
    struct fixture *f = *state;
    start(f, "image");
    (void)is_other_namespace_active(f);
    put(f, "apiVersion: v1\nkind: ConfigMap\n"
           "metadata: {name: mine, namespace: team-z, labels: {" SCOPED "}}\n"
           "data: {image.lua: \"return { api = 'image/v1', tag = function() return 'z' end }\"}\n");
    change(f, "team-z", "mine");
    run_until(f, is_other_namespace_active);
    stop(f);
}

static bool is_team_refused(struct fixture *f)
{
    return state_of(f, "team-a").is_refused;
}

static void what_a_namespace_may_not_set_is_refused(void **state)
{
    struct fixture *f = *state;
    start(f, "image");
    put_namespace_set(f, "mine", SCOPED, "multi_node.lua: \"return { api = 'multi_node/v1' }\"");
    change(f, "team-a", "mine");
    run_until(f, is_team_refused);
    assert_has(events_of(f), "team-a/mine Warning PolicySetRefused x1 configmap team-a/mine:multi_node.lua: policy "
                             "multi_node is not one that namespaces may set here");
    assert_string_equal(plan_image(f, "team-a", NULL), "set-0/kserve/sklearnserver:v1"); // as before
    put_namespace_set(f, "mine", SCOPED, "image: ''");
    change(f, "team-a", "mine");
    assert_has(state_of(f, "team-a").problem, "configmap team-a/mine: /data/image: a set is made of");
    stop(f);
}

static void namespaces_are_not_looked_at_unless_asked_for(void **state)
{
    struct fixture *f = *state;
    put_namespace_set(f, "mine", SCOPED, mine);
    start(f, "");
    assert_string_equal(plan_image(f, "team-a", NULL), "set-0/kserve/sklearnserver:v1");
    change(f, "team-a", "mine");
    assert_null(state_of(f, "team-a").revision);
    stop(f);
}

static bool is_team_good(struct fixture *f)
{
    return f->notified > 0 && !is_team_refused(f);
}

static void a_namespace_whose_set_is_bad_at_start_waits(void **state)
{
    struct fixture *f = *state;
    const char *error;
    put_namespace_set(f, "mine", SCOPED, "image.lua: 'return {'");
    start(f, "image");
    assert_string_equal(plan_image(f, "team-a", &error), "");
    assert_has(error, "the policies of namespace team-a are refused: configmap team-a/mine:image.lua:1:9: ");
    assert_string_equal(plan_image(f, "team-b", NULL), "set-0/kserve/sklearnserver:v1");
    put_namespace_set(f, "mine", SCOPED, mine);
    change(f, "team-a", "mine");
    run_until(f, is_team_good);
    assert_string_equal(plan_image(f, "team-a", NULL), "mine/kserve/sklearnserver:v1");
    stop(f);
}

static void a_namespace_that_does_not_fit_the_new_set_waits(void **state)
{
    struct fixture *f = *state;
    const char *error;
    put_set(f, 1, "  multi_node.lua: \"return { api = 'multi_node/v1', options = { most = 3 } }\"\n");
    put_namespace_set(f, "mine", SCOPED, "policies.yaml: 'options: {multi_node: {most: 4}}'");
    start(f, "multi_node,image");
    assert_string_equal(plan_image(f, "team-a", NULL), "set-1/kserve/sklearnserver:v1");
    put_set(f, 5, "");
    change(f, "perigee", "rules");
    run_until(f, is_team_refused);
    assert_int_equal(f->number, 5);
    assert_string_equal(plan_image(f, "team-a", &error), "");
    assert_has(error, "there is no option of multi_node 'most'");
    stop(f);
}

enum { TEAMS = 60 };

static void put_team(struct fixture *f, int team)
{
    put(f,
        prg_arena_printf(&f->arena,
                         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: team-%d, labels: {%s}}\n"
                         "data: {container_merge.lua: \"return { api = 'container_merge/v1' }\"}\n",
                         team, SCOPED));
    add_service(f, prg_arena_printf(&f->arena, "team-%d", team));
}

// Each plan is of one set, the new one or the one before, and in the end all are of the new one.
static bool are_all_moved(struct fixture *f)
{
    int moved = 0;
    if (f->number != 7)
        return false;
    for (int team = 0; team < TEAMS; team++) {
        (void)plan_image(f, prg_arena_printf(&f->arena, "team-%d", team), NULL);
        assert_true(f->number == 7 || f->number == 0);
        moved += f->number == 7;
    }
    if (!f->changes)
        f->changes = moved;
    f->number = 7;
    return moved == TEAMS;
}

static void many_namespaces_are_laid_over_a_new_set_in_steps(void **state)
{
    struct fixture *f = *state;
    for (int team = 0; team < TEAMS; team++)
        put_team(f, team);
    start_with(f, "container_merge", false, true);
    put_set(f, 7, "");
    change(f, "perigee", "rules");
    run_until(f, are_all_moved);
    assert_in_range(f->changes, 1, TEAMS - 1); // not all in the turn in which the set was swapped
    assert_in_range(f->notified, 2, TEAMS);    // everybody at once, then those that came later
    stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sets_are_swapped_between_plans_of_a_loop_that_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_set_that_never_rests_becomes_active_all_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_namespace_that_never_rests_keeps_no_other_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_set_that_contradicts_itself_is_refused_and_the_last_good_one_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_set_that_goes_leaves_the_last_good_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_optional_set_may_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_set_has_a_condition_in_the_namespace_of_the_controller, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(many_namespaces_are_laid_over_a_new_set_in_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_life_may_end_in_the_middle_of_a_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_set_ends_the_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_namespace_decides_for_itself_while_its_map_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_namespace_may_not_set_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(namespaces_are_not_looked_at_unless_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_namespace_whose_set_is_bad_at_start_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_namespace_that_does_not_fit_the_new_set_waits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
