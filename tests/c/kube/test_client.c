// SPDX-License-Identifier: Apache-2.0
// test_client.c: discovery and writes against answers given by hand.
#include "kube/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define APPS                                                                                                           \
    "{'kind':'APIResourceList','resources':[{'name':'deployments','kind':'Deployment','namespaced':true},"             \
    "{'name':'deployments/status','kind':'Deployment','namespaced':true},"                                             \
    "{'name':'deployments/scale','kind':'Scale','namespaced':true}]}"
#define DEPLOYMENT                                                                                                     \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','namespace':'n','labels':{'a':'b'}},'spec':{'" \
    "replicas':2,'paused':false},'status':{'x':1}}"

struct outcome {
    unsigned count;
    enum prg_write_result result;
    enum prg_write_retry retry;
    uint64_t retry_after_ms;
    bool is_unknown;
    struct prg_error err;
    char taken_over[200], warnings[100];
};

struct fixture {
    struct script script;
    struct prg_timers *timers;
    struct prg_discovery *discovery;
    struct prg_client *client;
    struct prg_arena arena;
    struct outcome outcome;
    bool is_leader;
    struct prg_resource resource; // what discovery said
    unsigned answers, absent;
    struct prg_error err;
};

static bool may_write(void *ctx)
{
    return ((struct fixture *)ctx)->is_leader;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct prg_client_options options = {.may_write = may_write, .ctx = f, .max_remembered = 2};
    script_init(&f->script);
    f->timers = prg_timers_new_manual(1000, 0);
    f->discovery = prg_discovery_new(&f->script.transport, f->timers);
    f->client = prg_client_new(&f->script.transport, f->timers, f->discovery, &options);
    f->is_leader = true;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_client_free(f->client);
    prg_discovery_free(f->discovery);
    script_expect_none(&f->script);
    script_release(&f->script);
    prg_timers_free(f->timers);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    struct outcome *o = ctx;
    o->count++;
    o->result = outcome->result;
    o->retry = outcome->retry;
    o->retry_after_ms = outcome->retry_after_ms;
    o->is_unknown = outcome->is_unknown;
    assert_true((outcome->err != NULL) == (outcome->result == PRG_WRITE_FAILED));
    if (outcome->err)
        o->err = *outcome->err;
    snprintf(o->taken_over, sizeof(o->taken_over), "%s", outcome->taken_over ? outcome->taken_over : "");
    snprintf(o->warnings, sizeof(o->warnings), "%s", outcome->warnings ? outcome->warnings : "");
}

static void apply(struct fixture *f, const cJSON *intent, const cJSON *stored)
{
    memset(&f->outcome, 0, sizeof(f->outcome));
    prg_client_apply(f->client, intent, stored, 0, on_written, &f->outcome);
    assert_int_equal(f->outcome.count, 0); // never from within
}

static void answer_discovery(struct fixture *f)
{
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/apps/v1", NULL), 200, APPS);
    prg_timers_advance(f->timers, 0);
}

static struct prg_call *expect_patch(struct fixture *f, const char *part)
{
    return script_expect(&f->script, "PATCH", "/apis/apps/v1/namespaces/n/deployments/d", part);
}

static const cJSON *body_of(struct fixture *f, const struct prg_call *call)
{
    return json_of(&f->arena, prg_arena_strndup(&f->arena, call->request.body, call->request.body_length));
}

// The object as stored, with uid, version and generation.
static const cJSON *stored_as(struct fixture *f, const char *version, int generation)
{
    cJSON *object = json_of(&f->arena, DEPLOYMENT), *metadata = prg_json_get(object, "metadata");
    prg_json_set_string(&f->arena, metadata, "uid", "u");
    prg_json_set_string(&f->arena, metadata, "resourceVersion", version);
    prg_json_set_int(&f->arena, metadata, "generation", generation);
    return object;
}

static const char *answer_as(struct fixture *f, const char *version, int generation)
{
    return prg_json_print_arena(&f->arena, stored_as(f, version, generation), PRG_JSON_COMPACT);
}

static const char *conflict(struct fixture *f, const char *field, const char *manager)
{
    return prg_arena_printf(
        &f->arena,
        "{'kind':'Status','reason':'Conflict','code':409,'message':'Apply failed with 1 conflict','details'"
        ":{'causes':[{'reason':'FieldManagerConflict','field':'%s','message':'conflict with \\'%s\\' "
        "using apps/v1'}]}}",
        field, manager);
}

// ---- discovery ----

static void on_found(const struct prg_resource *resource, const struct prg_error *err, void *ctx)
{
    struct fixture *f = ctx;
    f->answers++;
    if (resource) {
        f->resource = *resource;
        f->resource.plural = prg_arena_strdup(&f->arena, resource->plural);
    } else if (err) {
        f->err = *err;
    } else {
        f->absent++;
    }
}

static void kinds_are_found_once_for_all_who_ask(void **state)
{
    struct fixture *f = *state;
    prg_discovery_find(f->discovery, "apps/v1", "Deployment", on_found, f);
    prg_discovery_find(f->discovery, "apps/v1", "Scale", on_found, f); // only a subresource
    assert_int_equal(script_open(&f->script), 1);
    answer_discovery(f);
    assert_int_equal(f->answers, 2);
    assert_int_equal(f->absent, 1);
    assert_string_equal(f->resource.plural, "deployments");
    assert_true(f->resource.is_namespaced);
    prg_discovery_find(f->discovery, "apps/v1", "Deployment", on_found, f);
    assert_int_equal(f->answers, 2);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->answers, 3);
    script_expect_none(&f->script);
    prg_timers_advance(f->timers, PRG_DISCOVERY_KEEP_MS);
    prg_discovery_find(f->discovery, "apps/v1", "Deployment", on_found, f);
    answer_discovery(f);
    assert_int_equal(f->answers, 4);
}

static void what_is_missing_is_asked_for_again_later(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        prg_discovery_find(f->discovery, "keda.sh/v1alpha1", "ScaledObject", on_found, f);
        if (i == 0)
            script_answer(&f->script, script_expect(&f->script, "GET", "/apis/keda.sh/v1alpha1", NULL), 404, "no");
        prg_timers_advance(f->timers, 0);
    }
    assert_int_equal(f->absent, 3);
    prg_timers_advance(f->timers, PRG_DISCOVERY_MISS_MS);
    prg_discovery_find(f->discovery, "keda.sh/v1alpha1", "ScaledObject", on_found, f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/keda.sh/v1alpha1", NULL), 200,
                  "{'resources':[{'name':'scaledobjects','kind':'ScaledObject','namespaced':true}]}");
    prg_timers_advance(f->timers, 0);
    assert_string_equal(f->resource.plural, "scaledobjects");
}

static void a_server_that_cannot_be_asked_is_an_error_and_old_answers_stay(void **state)
{
    struct fixture *f = *state;
    prg_discovery_find(f->discovery, "v1", "Pod", on_found, f);
    script_fault(&f->script, script_expect(&f->script, "GET", "/api/v1", NULL), 0, PRG_FAULT_CONNECT);
    prg_timers_advance(f->timers, 0);
    assert_error_has(&f->err, "resources of v1: fault");
    prg_discovery_find(f->discovery, "v1", "Pod", on_found, f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/api/v1", NULL), 200, "{'kind':'Status'}");
    prg_timers_advance(f->timers, 0);
    assert_error_has(&f->err, "no APIResourceList");
    prg_discovery_find(f->discovery, "v1", "Pod", on_found, f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/api/v1", NULL), 200,
                  "{'resources':[{'name':'pods','kind':'Pod','namespaced':true}]}");
    prg_timers_advance(f->timers, PRG_DISCOVERY_KEEP_MS);
    assert_string_equal(f->resource.plural, "pods");
    f->resource.plural = "";
    prg_discovery_find(f->discovery, "v1", "Pod", on_found, f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/api/v1", NULL), 503, "{}");
    prg_timers_advance(f->timers, 0);
    assert_string_equal(f->resource.plural, "pods");
}

// ---- apply ----

static void an_apply_sends_the_intent_as_ours(void **state)
{
    struct fixture *f = *state;
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    answer_discovery(f);
    struct prg_call *call = expect_patch(f, NULL);
    assert_string_equal(call->request.path,
                        "/apis/apps/v1/namespaces/n/deployments/d?fieldManager=perigee&force=false");
    assert_string_equal(call->request.content_type, "application/apply-patch+yaml");
    assert_int_equal(call->request.kind, PRG_CALL_WRITE);
    assert_json_text(
        &f->arena, body_of(f, call),
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','namespace':'n','labels':{'a':'b'"
        "}},'spec':{'replicas':2,'paused':false}}");
    script_answer(&f->script, call, 201, answer_as(f, "5", 1));
    assert_int_equal(f->outcome.count, 1);
    assert_int_equal(f->outcome.result, PRG_WRITE_CREATED);
    assert_int_equal(prg_client_open(f->client), 0);
}

static void what_the_server_sets_is_not_applied(void **state)
{
    struct fixture *f = *state;
    apply(f, stored_as(f, "7", 3), NULL);
    answer_discovery(f);
    struct prg_call *call = expect_patch(f, NULL);
    assert_json_text(&f->arena, prg_json_get(body_of(f, call), "metadata"),
                     "{'name':'d','namespace':'n','labels':{'a':'b'}}");
    script_answer(&f->script, call, 200, answer_as(f, "8", 1));
    assert_int_equal(f->outcome.result, PRG_WRITE_UPDATED);
}

static void an_intent_in_place_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    const cJSON *intent = json_of(&f->arena, DEPLOYMENT);
    apply(f, intent, NULL);
    answer_discovery(f);
    script_answer(&f->script, expect_patch(f, NULL), 201, answer_as(f, "5", 1));

    apply(f, intent, stored_as(f, "9", 1)); // only the status moved the version
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
    script_expect_none(&f->script);

    apply(f, intent, stored_as(f, "10", 2)); // somebody changed the spec
    prg_timers_advance(f->timers, 0);
    script_answer(&f->script, expect_patch(f, NULL), 200, answer_as(f, "11", 3));
    assert_int_equal(f->outcome.result, PRG_WRITE_UPDATED);

    cJSON *relabelled = prg_json_copy(&f->arena, stored_as(f, "12", 3)); // or a label
    prg_json_set_string(&f->arena, prg_json_get(prg_json_get(relabelled, "metadata"), "labels"), "a", "other");
    apply(f, intent, relabelled);
    prg_timers_advance(f->timers, 0);
    script_answer(&f->script, expect_patch(f, NULL), 200, answer_as(f, "13", 3));

    cJSON *again = prg_json_copy(&f->arena, stored_as(f, "13", 3)); // or made it anew
    prg_json_set_string(&f->arena, prg_json_get(again, "metadata"), "uid", "u2");
    apply(f, intent, again);
    prg_timers_advance(f->timers, 0);
    script_answer(&f->script, expect_patch(f, NULL), 200, answer_as(f, "13", 3));
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED); // the version did not move

    cJSON *other = prg_json_copy(&f->arena, intent); // or we want something else
    prg_json_remove(prg_json_get(other, "spec"), "paused");
    apply(f, other, stored_as(f, "13", 3));
    prg_timers_advance(f->timers, 0);
    script_answer(&f->script, expect_patch(f, NULL), 200, answer_as(f, "14", 4));
}

// Applies an object of this name as the cache shows it. True: it was sent.
static bool is_sent(struct fixture *f, const char *name)
{
    cJSON *intent = json_of(&f->arena, DEPLOYMENT), *stored = prg_json_copy(&f->arena, stored_as(f, "9", 1));
    prg_json_set_string(&f->arena, prg_json_get(intent, "metadata"), "name", name);
    prg_json_set_string(&f->arena, prg_json_get(stored, "metadata"), "name", name);
    apply(f, intent, stored);
    prg_timers_advance(f->timers, 0);
    if (f->outcome.count)
        return false;
    const char *path = prg_arena_printf(&f->arena, "/apis/apps/v1/namespaces/n/deployments/%s", name);
    script_answer(&f->script, script_expect(&f->script, "PATCH", path, NULL), 200,
                  prg_json_print_arena(&f->arena, stored, PRG_JSON_COMPACT));
    return true;
}

static void the_applies_remembered_are_those_used_last(void **state)
{
    struct fixture *f = *state;
    const struct prg_key gone = {"apps", "Deployment", "n", "a"};
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    answer_discovery(f);
    script_answer(&f->script, expect_patch(f, NULL), 201, answer_as(f, "5", 1));
    assert_true(is_sent(f, "a"));
    assert_true(is_sent(f, "b")); // "d" is forgotten: there is room for two
    assert_false(is_sent(f, "a"));
    assert_true(is_sent(f, "c")); // for "b"
    assert_false(is_sent(f, "a"));
    assert_false(is_sent(f, "c"));
    assert_true(is_sent(f, "b"));
    prg_client_forget(f->client, &gone);
    assert_true(is_sent(f, "a"));
    assert_false(is_sent(f, "b")); // there was room
}

static void a_field_of_ours_is_taken_over_and_that_is_told(void **state)
{
    struct fixture *f = *state;
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    answer_discovery(f);
    script_answer(&f->script, expect_patch(f, "force=false"), 409, conflict(f, ".spec.paused", "kubectl-edit"));
    struct prg_call *call = expect_patch(f, "force=true");
    assert_non_null(prg_json_at(body_of(f, call), "spec", "paused"));
    script_answer(&f->script, call, 200, answer_as(f, "5", 2));
    assert_int_equal(f->outcome.result, PRG_WRITE_UPDATED);
    assert_string_equal(f->outcome.taken_over, ".spec.paused (kubectl-edit)");
}

static void a_field_of_others_is_left_to_them(void **state)
{
    struct fixture *f = *state;
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    answer_discovery(f);
    script_answer(&f->script, expect_patch(f, "force=false"), 409,
                  conflict(f, ".spec.replicas", "kube-controller-manager"));
    struct prg_call *call = expect_patch(f, "force=true");
    assert_json_text(&f->arena, prg_json_get(body_of(f, call), "spec"), "{'paused':false}");
    script_answer(&f->script, call, 200, answer_as(f, "5", 1));
    assert_string_equal(f->outcome.taken_over, "");
    apply(f, json_of(&f->arena, DEPLOYMENT), stored_as(f, "6", 1)); // and not asked for each time
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
}

static void a_fight_over_a_field_is_given_up(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i <= 5; i++) {
        apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
        if (i == 0)
            answer_discovery(f);
        prg_timers_advance(f->timers, 1000);
        script_answer(&f->script, expect_patch(f, "force=false"), 409, conflict(f, ".spec.paused", "rival"));
        if (i < 5)
            script_answer(&f->script, expect_patch(f, "force=true"), 200, answer_as(f, "5", 1));
    }
    assert_int_equal(f->outcome.result, PRG_WRITE_FAILED);
    assert_int_equal(f->outcome.retry, PRG_RETRY_SLOWLY);
    assert_error_has(&f->outcome.err,
                     "apply apps/Deployment n/d: taken over 5 times in ten minutes and each time changed "
                     "back: .spec.paused (rival)");
    // After the window it is tried again.
    prg_timers_advance(f->timers, 10 * 60 * 1000);
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    answer_discovery(f);
    script_answer(&f->script, expect_patch(f, "force=false"), 409, conflict(f, ".spec.paused", "rival"));
    script_answer(&f->script, expect_patch(f, "force=true"), 200, answer_as(f, "5", 1));
    assert_int_equal(f->outcome.result, PRG_WRITE_UPDATED);
}

static void refusals_say_why_and_when_to_try_again(void **state)
{
    static const struct {
        int status;
        const char *body, *error;
        enum prg_code code;
        enum prg_write_retry retry;
    } cases[] = {
        {409, "{'kind':'Status','reason':'Conflict','message':'the object has been modified'}",
         "409 Conflict: the object", PRG_CONFLICT, PRG_RETRY_SOON},
        {422, "{'kind':'Status','reason':'Invalid','message':'spec.x: bad'}", "422 Invalid: spec.x: bad", PRG_INVALID,
         PRG_RETRY_ON_CHANGE},
        {400, "{'kind':'Status','reason':'BadRequest','message':'strict'}", "400 BadRequest", PRG_INVALID,
         PRG_RETRY_ON_CHANGE},
        {403, "{'kind':'Status','reason':'Forbidden','message':'cannot patch resource deployments'}",
         "cannot patch resource deployments", PRG_IO, PRG_RETRY_SLOWLY},
        {403,
         "{'kind':'Status','reason':'Forbidden','message':'going','details':{'causes':[{'reason':'NamespaceTerminating'"
         "}]}}",
         "going", PRG_IO, PRG_RETRY_ON_CHANGE},
        {413, "", "413: no reason given", PRG_LIMIT, PRG_RETRY_ON_CHANGE},
        {500, "{'kind':'Status','message':'webhook'}", "webhook", PRG_IO, PRG_RETRY_SOON},
        {503, "overloaded", "503: overloaded", PRG_IO, PRG_RETRY_SOON},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
        if (i == 0)
            answer_discovery(f);
        prg_timers_advance(f->timers, 0);
        script_answer_later(&f->script, expect_patch(f, NULL), cases[i].status, cases[i].body, i == 7 ? 7000 : 0);
        assert_int_equal(f->outcome.result, PRG_WRITE_FAILED);
        assert_int_equal(f->outcome.err.code, cases[i].code);
        assert_error_has(&f->outcome.err, "apply apps/Deployment n/d: the server answers ");
        assert_error_has(&f->outcome.err, cases[i].error);
        assert_int_equal(f->outcome.retry, cases[i].retry);
        assert_false(f->outcome.is_unknown);
    }
    assert_int_equal(f->outcome.retry_after_ms, 7000);
}

static void an_answer_that_is_lost_leaves_it_open_whether_it_was_done(void **state)
{
    struct fixture *f = *state;
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    answer_discovery(f);
    script_fault(&f->script, expect_patch(f, NULL), 0, PRG_FAULT_CUT);
    assert_true(f->outcome.is_unknown);
    assert_int_equal(f->outcome.retry, PRG_RETRY_SOON);
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    prg_timers_advance(f->timers, 0);
    script_fault(&f->script, expect_patch(f, NULL), 0, PRG_FAULT_CONNECT);
    assert_false(f->outcome.is_unknown);
}

static void kinds_that_the_server_lacks_are_named(void **state)
{
    struct fixture *f = *state;
    apply(f, json_of(&f->arena, "{'apiVersion':'apps/v1','kind':'Gadget','metadata':{'name':'g','namespace':'n'}}"),
          NULL);
    answer_discovery(f);
    assert_int_equal(f->outcome.err.code, PRG_NOTFOUND);
    assert_error_has(&f->outcome.err, "the server has no kind Gadget of apps/v1");
    assert_int_equal(f->outcome.retry, PRG_RETRY_SLOWLY);
    apply(f, json_of(&f->arena, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'g'}}"), NULL);
    prg_timers_advance(f->timers, 0);
    assert_error_has(&f->outcome.err, "needs a metadata.namespace");
    apply(f, json_of(&f->arena, "{'kind':'Deployment'}"), NULL);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.err.code, PRG_INVALID);
}

// ---- leading ----

static void nothing_is_sent_by_a_replica_that_does_not_lead(void **state)
{
    struct fixture *f = *state;
    apply(f, json_of(&f->arena, DEPLOYMENT), NULL);
    f->is_leader = false; // lost while discovery was asked
    answer_discovery(f);
    script_expect_none(&f->script);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.count, 1);
    assert_error_has(&f->outcome.err, "not sent: this replica does not lead");
    assert_false(f->outcome.is_unknown);
}

static void a_halt_ends_all_writes_at_once(void **state)
{
    struct fixture *f = *state;
    struct outcome first = {0}, second = {0};
    prg_client_apply(f->client, json_of(&f->arena, DEPLOYMENT), NULL, 0, on_written, &first);
    answer_discovery(f);
    expect_patch(f, NULL);
    prg_client_apply(f->client, json_of(&f->arena, DEPLOYMENT), NULL, 0, on_written, &second);
    prg_client_halt(f->client);
    assert_int_equal(first.count, 1);
    assert_true(first.is_unknown);
    assert_int_equal(second.count, 1);
    assert_false(second.is_unknown);
    assert_error_has(&second.err, "given up: this replica does not lead any more");
    script_expect_none(&f->script);
    assert_int_equal(prg_client_open(f->client), 0);
}

static void a_write_may_be_cancelled(void **state)
{
    struct fixture *f = *state;
    prg_client_apply(f->client, json_of(&f->arena, DEPLOYMENT), NULL, 0, on_written, &f->outcome);
    prg_client_cancel(f->client, &f->outcome);
    answer_discovery(f);
    assert_int_equal(f->outcome.count, 0);
    script_expect_none(&f->script);
}

// ---- status ----

static void patch_is(struct fixture *f, const char *before, const char *after, const char *const *owned,
                     const char *want)
{
    cJSON *patch = NULL;
    struct prg_error err = {0};
    cJSON *stored = prg_json_object(&f->arena);
    if (before)
        prg_json_set(&f->arena, stored, "status", json_of(&f->arena, before));
    assert_ok(prg_client_status_patch(&f->arena, stored, json_of(&f->arena, after), owned, &patch, &err), &err);
    if (want)
        assert_json_text(&f->arena, patch, want);
    else
        assert_null(patch);
}

static void a_status_patch_holds_only_what_changes(void **state)
{
    struct fixture *f = *state;
    patch_is(f, NULL, "{'a':1}", NULL, "{'a':1}");
    patch_is(f, "{'a':1,'b':2}", "{'a':1,'c':3}", NULL, "{'b':null,'c':3}");
    patch_is(f, "{'a':1}", "{'a':1}", NULL, NULL);
}

static void a_history_of_conditions_is_replaced_as_a_whole(void **state)
{
    struct fixture *f = *state;
    const char *before = "{'conditions':[{'type':'Waiting','n':1},{'type':'Ready','n':2}]}";
    const char *again = "{'conditions':[{'type':'Waiting','n':1},{'type':'Ready','n':2},{'type':'Waiting','n':3}]}";
    patch_is(f, before, again, NULL, again);
    patch_is(f, again, "{'conditions':[{'type':'Ready','n':2},{'type':'Waiting','n':3}]}", NULL,
             "{'conditions':[{'type':'Ready','n':2},{'type':'Waiting','n':3}]}");
    patch_is(f, again, again, NULL, NULL);
}

static void conditions_of_others_stay(void **state)
{
    static const char *const owned[] = {"Ready", "Old", NULL};
    struct fixture *f = *state;
    const char *before =
        "{'conditions':[{'type':'Ready','status':'False'},{'type':'Theirs','status':'True'},{'type':'Old',"
        "'status':'True'}]}";
    patch_is(f, before, "{'conditions':[{'type':'New','status':'True'},{'type':'Ready','status':'True'}]}", owned,
             "{'conditions':[{'type':'Ready','status':'True'},{'type':'Theirs','status':'True'},{'type':'New','status':"
             "'True'}]}");
    // Without a list of ours only those that we name are ours.
    patch_is(f, before, "{'conditions':[{'type':'Ready','status':'True'}]}", NULL,
             "{'conditions':[{'type':'Ready','status':'True'},{'type':'Theirs','status':'True'},{'type':'Old','status':"
             "'True'}]}");
    patch_is(f, before, "{'conditions':[{'type':'Old','status':'True'},{'type':'Ready','status':'False'}]}", owned,
             NULL); // another order is no change
}

static void a_condition_of_others_may_hold_null(void **state)
{
    struct fixture *f = *state;
    const char *before =
        "{'gone':null,'conditions':[{'type':'Theirs','status':'True','lastProbeTime':null,'more':{'x':null}}]}";
    patch_is(f, before, "{'a':1,'conditions':[{'type':'Ready','status':'True'}]}", NULL,
             "{'a':1,'conditions':[{'type':'Theirs','status':'True','more':{}},{'type':'Ready','status':'True'}]}");
    patch_is(f, before, "{'a':1}", NULL, "{'a':1}");
    patch_is(f, before, "{'a':null}", NULL, NULL);
    patch_is(f, "null", "{'a':1}", NULL, "{'a':1}");
}

static void a_status_is_written_for_the_version_that_was_read(void **state)
{
    struct fixture *f = *state;
    prg_client_set_status(f->client, stored_as(f, "7", 1), json_of(&f->arena, "{'x':2}"), NULL, on_written,
                          &f->outcome);
    answer_discovery(f);
    struct prg_call *call = expect_patch(f, NULL);
    assert_string_equal(call->request.path, "/apis/apps/v1/namespaces/n/deployments/d/status?fieldManager=perigee");
    assert_string_equal(call->request.content_type, "application/merge-patch+json");
    assert_json_text(&f->arena, body_of(f, call), "{'metadata':{'uid':'u','resourceVersion':'7'},'status':{'x':2}}");
    script_answer(&f->script, call, 200, answer_as(f, "8", 1));
    assert_int_equal(f->outcome.result, PRG_WRITE_UPDATED);

    prg_client_set_status(f->client, stored_as(f, "8", 1), json_of(&f->arena, "{'x':1}"), NULL, on_written,
                          &f->outcome);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
    script_expect_none(&f->script);
}

// ---- delete ----

static void a_deletion_names_the_object_that_it_means(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"apps", "Deployment", "n", "d"};
    static const struct {
        int status;
        const char *body;
        enum prg_write_result result;
    } cases[] = {{200, "{'kind':'Status'}", PRG_WRITE_DELETED},
                 {404, "{'kind':'Status','reason':'NotFound'}", PRG_WRITE_UNCHANGED},
                 {409, "{'kind':'Status','reason':'Conflict','message':'uid'}", PRG_WRITE_FAILED}};
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_client_delete(f->client, "apps/v1", &key, "u", "7", on_written, &f->outcome);
        if (i == 0)
            answer_discovery(f);
        prg_timers_advance(f->timers, 0);
        struct prg_call *call = script_expect(&f->script, "DELETE", "/apis/apps/v1/namespaces/n/deployments/d", NULL);
        assert_json_text(
            &f->arena, body_of(f, call),
            "{'apiVersion':'v1','kind':'DeleteOptions','propagationPolicy':'Background','preconditions':{'uid'"
            ":'u','resourceVersion':'7'}}");
        script_answer(&f->script, call, cases[i].status, cases[i].body);
        assert_int_equal(f->outcome.result, cases[i].result);
    }
    assert_int_equal(f->outcome.err.code, PRG_CONFLICT);
    assert_error_has(&f->outcome.err, "delete apps/Deployment n/d: ");
}

static void a_kind_that_is_gone_has_nothing_to_delete(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"serving.knative.dev", "Service", "n", "d"};
    prg_client_delete(f->client, "serving.knative.dev/v1", &key, "u", NULL, on_written, &f->outcome);
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/serving.knative.dev/v1", NULL), 404, "");
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
}

// ---- create, patch, prepare ----

static void create(struct fixture *f)
{
    memset(&f->outcome, 0, sizeof(f->outcome));
    prg_client_create(f->client, json_of(&f->arena, DEPLOYMENT), on_written, &f->outcome);
    answer_discovery(f);
}

static struct prg_call *expect_post(struct fixture *f)
{
    return script_expect(&f->script, "POST", "/apis/apps/v1/namespaces/n/deployments", "fieldManager=perigee");
}

static void a_create_is_posted_to_the_collection_without_a_status(void **state)
{
    struct fixture *f = *state;
    create(f);
    struct prg_call *call = expect_post(f);
    assert_null(strstr(call->request.path, "deployments/d"));
    assert_null(prg_json_get(body_of(f, call), "status"));
    script_answer(&f->script, call, 201, "{'metadata':{'name':'d','resourceVersion':'7'}}");
    assert_int_equal(f->outcome.result, PRG_WRITE_CREATED);
}

static void one_that_is_there_already_is_left_as_it_is(void **state)
{
    struct fixture *f = *state;
    create(f);
    script_answer(&f->script, expect_post(f), 409,
                  "{'kind':'Status','status':'Failure','reason':'AlreadyExists','message':'deployments d already "
                  "exists','code':409}");
    assert_int_equal(f->outcome.count, 1);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
}

#define STORED                                                                                                         \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','namespace':'n','uid':'u','resourceVersion':"  \
    "'5','annotations':{'a':'1'}}}"

static void a_patch_is_tied_to_what_was_read_and_not_sent_when_it_changes_nothing(void **state)
{
    struct fixture *f = *state;
    const cJSON *stored = json_of(&f->arena, STORED);
    prg_client_patch(f->client, stored, json_of(&f->arena, "{'metadata':{'annotations':{'a':'1','b':null}}}"),
                     on_written, &f->outcome);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
    memset(&f->outcome, 0, sizeof(f->outcome));
    prg_client_patch(f->client, stored, json_of(&f->arena, "{'metadata':{'annotations':{'a':'2'}}}"), on_written,
                     &f->outcome);
    answer_discovery(f);
    struct prg_call *call = expect_patch(f, "fieldManager=perigee");
    assert_string_equal(call->request.content_type, "application/merge-patch+json");
    const cJSON *metadata = prg_json_get(body_of(f, call), "metadata");
    assert_string_equal(prg_json_get_text(metadata, "uid"), "u");
    assert_string_equal(prg_json_get_text(metadata, "resourceVersion"), "5");
    script_answer(&f->script, call, 409, "{'kind':'Status','reason':'Conflict','message':'changed','code':409}");
    assert_int_equal(f->outcome.result, PRG_WRITE_FAILED);
    assert_int_equal(f->outcome.retry, PRG_RETRY_SOON);
}

static void begin_marked(struct fixture *f)
{
    memset(&f->outcome, 0, sizeof(f->outcome));
    prg_client_apply(f->client, json_of(&f->arena, DEPLOYMENT), json_of(&f->arena, STORED), 1, on_written, &f->outcome);
    answer_discovery(f);
}

#define LIVE                                                                                                           \
    "{'metadata':{'resourceVersion':'9','managedFields':[{'manager':'manager','operation':'Update','apiVersion':"      \
    "'apps/v1','fieldsV1':{'f:spec':{'f:paused':{}}}}]}}"

static void fields_of_an_old_controller_are_taken_over_before_the_apply(void **state)
{
    struct fixture *f = *state;
    begin_marked(f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/apps/v1/namespaces/n/deployments/d", NULL), 200,
                  LIVE);
    struct prg_call *call = expect_patch(f, NULL);
    assert_string_equal(call->request.content_type, "application/json-patch+json");
    const cJSON *steps = body_of(f, call);
    assert_string_equal(prg_json_get_text(prg_json_item(steps, 0), "path"), "/metadata/managedFields");
    assert_string_equal(prg_json_get_text(prg_json_item(prg_json_get(prg_json_item(steps, 0), "value"), 0), "manager"),
                        "perigee");
    assert_string_equal(prg_json_get_text(prg_json_item(steps, 1), "value"), "9");
    script_answer(&f->script, call, 200, "{'metadata':{'resourceVersion':'10'}}");
    call = expect_patch(f, "force=false");
    assert_string_equal(call->request.content_type, "application/apply-patch+yaml");
    script_answer(&f->script, call, 200, "{'metadata':{'resourceVersion':'11'}}");
    assert_int_equal(f->outcome.count, 1);
    assert_int_equal(f->outcome.result, PRG_WRITE_UPDATED);
}

static void an_object_that_changes_while_it_is_taken_over_is_tried_again_later(void **state)
{
    struct fixture *f = *state;
    begin_marked(f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/apps/v1/namespaces/n/deployments/d", NULL), 200,
                  LIVE);
    script_answer(&f->script, expect_patch(f, NULL), 409,
                  "{'kind':'Status','reason':'Conflict','message':'changed','code':409}");
    assert_int_equal(f->outcome.result, PRG_WRITE_FAILED);
    assert_int_equal(f->outcome.retry, PRG_RETRY_SOON);
}

static void an_object_that_is_gone_meanwhile_is_simply_applied(void **state)
{
    struct fixture *f = *state;
    begin_marked(f);
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/apps/v1/namespaces/n/deployments/d", NULL), 404,
                  "{'kind':'Status','reason':'NotFound','message':'gone','code':404}");
    script_answer(&f->script, expect_patch(f, "force=false"), 201, "{'metadata':{'resourceVersion':'1'}}");
    assert_int_equal(f->outcome.result, PRG_WRITE_CREATED);
}

static void who_does_not_lead_takes_nothing_over(void **state)
{
    struct fixture *f = *state;
    begin_marked(f);
    f->is_leader = false;
    script_answer(&f->script, script_expect(&f->script, "GET", "/apis/apps/v1/namespaces/n/deployments/d", NULL), 200,
                  LIVE);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_FAILED);
    script_expect_none(&f->script);
}

static void writes_are_cancelled_by_who_asked(void **state)
{
    struct fixture *f = *state;
    struct outcome other = {0};
    prg_client_apply(f->client, json_of(&f->arena, DEPLOYMENT), NULL, 0, on_written, &f->outcome);
    prg_client_create(f->client, json_of(&f->arena, DEPLOYMENT), on_written, &other);
    prg_client_cancel(f->client, &f->outcome);
    assert_int_equal(prg_client_open(f->client), 1);
    answer_discovery(f);
    script_answer(&f->script, expect_post(f), 201, "{'metadata':{'resourceVersion':'7'}}");
    assert_int_equal(f->outcome.count, 0);
    assert_int_equal(other.count, 1);
}

static void another_policy_revision_alone_is_not_applied(void **state)
{
    struct fixture *f = *state;
    cJSON *intent = json_of(&f->arena, DEPLOYMENT);
    cJSON *annotations = prg_json_ensure_object(&f->arena, prg_json_get(intent, "metadata"), "annotations");
    prg_json_set_string(&f->arena, annotations, "perigee.dev/policy-revision", "one");
    apply(f, intent, NULL);
    answer_discovery(f);
    static const char answer[] =
        "{'metadata':{'name':'d','namespace':'n','uid':'u','resourceVersion':'1','generation':1"
        ",'labels':{'a':'b'},'annotations':{'perigee.dev/policy-revision':'one'}}}";
    script_answer(&f->script, expect_patch(f, NULL), 201, answer);
    prg_json_set_string(&f->arena, annotations, "perigee.dev/policy-revision", "two");
    apply(f, intent, json_of(&f->arena, answer));
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
    script_expect_none(&f->script);
}

// The revision that is sent for `intent`, marked with "new", over a stored object that an earlier process made: not
// sent, or the revision.
static const char *revision_sent(struct fixture *f, const char *stored_revision, const char *changed_label)
{
    static int uid;
    cJSON *intent = json_of(&f->arena, DEPLOYMENT), *stored = prg_json_copy(&f->arena, intent);
    cJSON *metadata = prg_json_get(intent, "metadata"), *stored_metadata = prg_json_get(stored, "metadata");
    cJSON *annotations = prg_json_ensure_object(&f->arena, metadata, "annotations");
    prg_json_remove(intent, "status");
    prg_json_set_string(&f->arena, annotations, "perigee.dev/policy-revision", "new");
    if (changed_label)
        prg_json_set_string(&f->arena, prg_json_get(metadata, "labels"), "a", changed_label);
    prg_json_set_string(&f->arena, stored_metadata, "uid", prg_arena_printf(&f->arena, "u%d", ++uid)); // never applied
    if (stored_revision)
        prg_json_set_string(&f->arena, prg_json_ensure_object(&f->arena, stored_metadata, "annotations"),
                            "perigee.dev/policy-revision", stored_revision);
    apply(f, intent, stored);
    if (uid == 1)
        answer_discovery(f);
    else
        prg_timers_advance(f->timers, 0);
    struct prg_call *call = expect_patch(f, NULL);
    const cJSON *sent = prg_json_get(body_of(f, call), "metadata");
    script_answer(&f->script, call, 200, "{'metadata':{'name':'d','namespace':'n','resourceVersion':'9'}}");
    assert_true(prg_json_get(sent, "annotations") == NULL || prg_json_get(sent, "annotations")->child != NULL);
    const char *revision = prg_json_get_text(prg_json_get(sent, "annotations"), "perigee.dev/policy-revision");
    return revision ? revision : "not sent";
}

static void after_a_restart_another_policy_revision_alone_changes_nothing(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(revision_sent(f, NULL, NULL), "not sent"); // made by somebody else
    assert_string_equal(revision_sent(f, "old", NULL), "old");     // still ours, as it is
    assert_string_equal(revision_sent(f, "old", "other"), "new");
    assert_string_equal(revision_sent(f, NULL, "other"), "new");
}

static void a_version_that_others_moved_on_is_no_change_of_ours(void **state)
{
    struct fixture *f = *state;
    const cJSON *stored =
        json_of(&f->arena, "{'metadata':{'name':'d','namespace':'n','uid':'u','resourceVersion':'3','generation':2,"
                           "'labels':{'a':'b','more':'x'}}}");
    apply(f, json_of(&f->arena, DEPLOYMENT), stored);
    answer_discovery(f);
    script_answer(&f->script, expect_patch(f, NULL), 200,
                  "{'metadata':{'name':'d','uid':'u','resourceVersion':'4','generation':2}}");
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
    apply(f, json_of(&f->arena, DEPLOYMENT), stored);
    prg_timers_advance(f->timers, 0);
    assert_int_equal(f->outcome.result, PRG_WRITE_UNCHANGED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(kinds_are_found_once_for_all_who_ask),
        TEST(what_is_missing_is_asked_for_again_later),
        TEST(a_server_that_cannot_be_asked_is_an_error_and_old_answers_stay),
        TEST(an_apply_sends_the_intent_as_ours),
        TEST(what_the_server_sets_is_not_applied),
        TEST(an_intent_in_place_is_not_sent_again),
        TEST(the_applies_remembered_are_those_used_last),
        TEST(a_field_of_ours_is_taken_over_and_that_is_told),
        TEST(a_field_of_others_is_left_to_them),
        TEST(a_fight_over_a_field_is_given_up),
        TEST(refusals_say_why_and_when_to_try_again),
        TEST(an_answer_that_is_lost_leaves_it_open_whether_it_was_done),
        TEST(kinds_that_the_server_lacks_are_named),
        TEST(nothing_is_sent_by_a_replica_that_does_not_lead),
        TEST(a_halt_ends_all_writes_at_once),
        TEST(a_write_may_be_cancelled),
        TEST(a_status_patch_holds_only_what_changes),
        TEST(a_history_of_conditions_is_replaced_as_a_whole),
        TEST(conditions_of_others_stay),
        TEST(a_condition_of_others_may_hold_null),
        TEST(a_status_is_written_for_the_version_that_was_read),
        TEST(a_deletion_names_the_object_that_it_means),
        TEST(a_kind_that_is_gone_has_nothing_to_delete),
        TEST(a_create_is_posted_to_the_collection_without_a_status),
        TEST(one_that_is_there_already_is_left_as_it_is),
        TEST(a_patch_is_tied_to_what_was_read_and_not_sent_when_it_changes_nothing),
        TEST(fields_of_an_old_controller_are_taken_over_before_the_apply),
        TEST(an_object_that_changes_while_it_is_taken_over_is_tried_again_later),
        TEST(an_object_that_is_gone_meanwhile_is_simply_applied),
        TEST(who_does_not_lead_takes_nothing_over),
        TEST(writes_are_cancelled_by_who_asked),
        TEST(another_policy_revision_alone_is_not_applied),
        TEST(a_version_that_others_moved_on_is_no_change_of_ours),
        TEST(after_a_restart_another_policy_revision_alone_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
