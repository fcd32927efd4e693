// SPDX-License-Identifier: Apache-2.0
#include "../learning/learning_fixture.h"

#include "edge/decodable.h"
#include "edge/guard.h"
#include "learning/status.h"

#define TRAINED "{\"output\":{\"models\":[{\"format\":\"ckpt\",\"url\":\"/output/train/1/m.ckpt\",\"classes\":null}]}}"
#define EVALUATED                                                                                                      \
    "{\"output\":{\"models\":[{\"format\":\"ckpt\",\"url\":\"/a\",\"metrics\":{\"p\":[0.9]},\"classes\":null},"        \
    "{\"format\":\"ckpt\",\"url\":\"/b\",\"metrics\":{\"p\":[0.7]},\"classes\":null}]}}"

struct step {
    const char *stage, *type, *data;
};

static void set_conditions(struct learning_fixture *f, const struct step *steps, size_t count)
{
    cJSON *job = job_copy(f);
    prg_json_remove(job, "status");
    for (size_t i = 0; i < count && steps[i].stage; i++)
        prg_job_condition_append(&f->arena, job,
                                 prg_job_condition_new(&f->arena, steps[i].stage, steps[i].type, NULL, NULL,
                                                       steps[i].data, "2026-06-01T00:00:00Z"));
    put(f, job);
}
#define SET_CONDITIONS(f, ...)                                                                                         \
    set_conditions((f), (const struct step[]){__VA_ARGS__}, PRG_COUNT(((const struct step[]){__VA_ARGS__})))

// Lays members over the job, as a merge patch would for objects.
static void lay_over(struct learning_fixture *f, cJSON *under, const cJSON *over)
{
    const cJSON *member;
    prg_json_each (member, over) {
        cJSON *there = prg_json_get(under, member->string);
        if (prg_json_is_object(member) && prg_json_is_object(there))
            lay_over(f, there, member);
        else if (prg_json_is_null(member))
            prg_json_remove(under, member->string);
        else
            prg_json_set(&f->arena, under, member->string, prg_json_copy(&f->arena, member));
    }
}

static void change(struct learning_fixture *f, const char *text)
{
    cJSON *job = job_copy(f);
    lay_over(f, job, json_of(&f->arena, text));
    put(f, job);
}

static struct prg_guard_answer ask_after(struct learning_fixture *f, const char *deployed,
                                         enum prg_learning_change what)
{
    struct prg_guard_answer answer;
    prg_guard_job(&f->arena, &f->store->reader, job_copy(f), json_of(&f->arena, deployed), what, &answer);
    return answer;
}

static struct prg_guard_answer ask(struct learning_fixture *f, enum prg_learning_change what)
{
    return ask_after(f, "[]", what);
}

// "edge1 +model base; edge1 +job; edge2 -job; edge3 ~job (gently); edge4 job (nothing); edge5 ?job: why"
static const char *brief(struct learning_fixture *f, const struct prg_guard_answer *answer)
{
    const char *text = "";
    for (const struct prg_guard_entry *e = answer->first; e; e = e->next) {
        bool is_job = strcmp(e->kind, "incrementallearningjob") == 0;
        text = prg_arena_printf(&f->arena, "%s%s%s %s%s%s%s%s%s", text, *text ? "; " : "", e->node,
                                e->held          ? "?"
                                : e->is_gentle   ? "~"
                                : e->is_deletion ? "-"
                                : e->content     ? "+"
                                                 : "",
                                is_job ? "job" : e->kind, is_job ? "" : " ", is_job ? "" : e->name, e->held ? ": " : "",
                                e->held ? e->held : "");
    }
    return answer->is_unknown ? "unknown" : text;
}

static const struct prg_guard_entry *job_at(const struct prg_guard_answer *answer, const char *node)
{
    const struct prg_guard_entry *e = answer->first;
    while (e && (strcmp(e->node, node) != 0 || strcmp(e->kind, "incrementallearningjob") != 0))
        e = e->next;
    assert_non_null(e);
    return e;
}

static void restart_every_node_but_the_datasets_forgets_the_job_when_its_part_is_done(void **state)
{
    static const struct {
        struct step steps[4];
        const char *want;
    } cases[] = {
        {{{"Train", "Waiting", NULL}}, "edge1 +model base; edge1 +job; edge2 -job; edge3 -job; edge4 -job"},
        {{{"Train", "Completed", TRAINED}, {"Train", "Ready", NULL}}, "edge1 job; edge2 -job; edge3 -job; edge4 -job"},
        {{{"Train", "Completed", TRAINED}, {"Train", "Running", NULL}},
         "edge1 job; edge2 +job; edge3 -job; edge4 -job"},
        {{{"Train", "Completed", TRAINED}}, "edge1 job; edge2 -job; edge3 -job; edge4 -job"},
        {{{"Train", "Completed", TRAINED}, {"Eval", "Waiting", NULL}},
         "edge1 +model served; edge1 +job; edge2 -job; edge3 -job; edge4 -job"},
        {{{"Eval", "Running", NULL}}, "edge1 job; edge2 -job; edge3 +job; edge4 -job"},
        {{{"Eval", "Completed", NULL}}, "edge1 job; edge2 -job; edge3 job; edge4 -job"},
        {{{"Eval", "Failed", NULL}}, "edge1 job; edge2 -job; edge3 job; edge4 -job"},
        {{{"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL}},
         "edge3 +model served; edge1 job; edge2 -job; edge3 +job; edge4 -job"},
        {{{"Deploy", "Ready", NULL}}, "edge1 job; edge2 -job; edge3 job; edge4 -job"},
        {{{"Deploy", "Completed", NULL}}, "edge1 job; edge2 -job; edge3 -job; edge4 -job"},
        {{{"Deploy", "Failed", NULL}}, "edge1 job; edge2 -job; edge3 -job; edge4 -job"},
        {{{"Deploy", "Paused", NULL}}, "edge1 job; edge2 -job; edge3 job; edge4 -job"},
    };
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge2', 'sedna.io/Eval': 'edge3', 'sedna.io/Deploy': "
              "'edge4'}}}");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        set_conditions(f, cases[i].steps, PRG_COUNT(cases[i].steps));
        struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
        assert_string_equal(brief(f, &answer), cases[i].want);
    }
}

static void a_node_that_deployed_forgets_the_job_before_its_next_part(void **state)
{
    static const char marks[] = "[{'node': 'edge2', 'since': '2026-05-31T00:00:00Z'}, {'node': 'edge9', 'since': '?'}]";
    static const struct {
        struct step steps[4];
        const char *deploying, *want;
        bool forgets_first;
    } cases[] = {
        {{{"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL}},
         "edge2",
         "edge2 +model served; edge1 job; edge2 +job; edge9 -job",
         true},
        {{{"Deploy", "Completed", NULL}}, "", "edge1 job; edge2 -job; edge9 -job", false},
        {{{"Train", "Completed", TRAINED}, {"Train", "Running", NULL}}, "", "edge1 job; edge2 +job; edge9 -job", false},
        {{{"Train", "Completed", NULL}}, "", "edge1 job; edge2 job; edge9 -job", false}, // its report may come yet
        {{{"Eval", "Ready", NULL}}, "", "edge1 job; edge2 -job; edge9 -job", false},
        {{{"Eval", "Running", NULL}}, "", "edge1 job; edge2 +job; edge9 -job", true},
    };
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge2', 'sedna.io/Eval': 'edge2'}}}");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        set_conditions(f, cases[i].steps, PRG_COUNT(cases[i].steps));
        struct prg_guard_answer answer = ask_after(f, marks, PRG_CHANGE_STORED);
        assert_string_equal(brief(f, &answer), cases[i].want);
        assert_string_equal(prg_guard_deploying_node(job_copy(f)), cases[i].deploying);
        assert_int_equal(job_at(&answer, "edge2")->forgets_first, cases[i].forgets_first);
    }
    struct prg_guard_answer answer = ask_after(f, marks, PRG_CHANGE_DELETED);
    assert_string_equal(brief(f, &answer), "edge1 -job; edge2 -job;  -job; edge9 -job");
}

#define TO_DEPLOY                                                                                                      \
    {"Train", "Completed", TRAINED},                                                                                   \
    {                                                                                                                  \
        "Eval", "Completed", EVALUATED                                                                                 \
    }
#define MARK(node, since) "{'node': '" node "', 'since': '" since "'}"

static void who_takes_part_in_a_deployment_forgets_earlier_ones_and_not_this_one(void **state)
{
    static const struct {
        struct step steps[4];
        const char *marks, *node;
        bool forgets_first;
    } cases[] = {
        {{TO_DEPLOY, {"Deploy", "Waiting", NULL}}, MARK("edge2", "2026-06-01T00:00:00Z"), "edge2", false},
        {{TO_DEPLOY, {"Deploy", "Waiting", NULL}},
         MARK("edge2", "2026-06-01T00:00:00Z") ", " MARK("edge2", "2026-05-31T00:00:00Z"),
         "edge2",
         true},
        {{TO_DEPLOY, {"Deploy", "Waiting", NULL}, {"Deploy", "Running", NULL}},
         MARK("edge4", "2026-05-31T00:00:00Z"),
         "edge4",
         true},
        {{TO_DEPLOY, {"Deploy", "Waiting", NULL}, {"Deploy", "Running", NULL}},
         MARK("edge4", "2026-06-01T00:00:00Z"),
         "edge4",
         false},
        // nothing says when it began
        {{TO_DEPLOY, {"Deploy", "Running", NULL}}, MARK("edge4", "?"), "edge4", false},
        // another job of its name
        {{{"Train", "Waiting", NULL}}, MARK("edge1", ""), "edge1", true},
        {{{"Train", "Completed", TRAINED}, {"Train", "Running", NULL}}, MARK("edge2", ""), "edge2", true},
        {{TO_DEPLOY, {"Deploy", "Running", NULL}}, MARK("edge4", ""), "edge4", true},
    };
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge2', 'sedna.io/Eval': 'edge2', 'sedna.io/Deploy': "
              "'edge4', 'sedna.io/model-hot-update-config': '/v/model_config.json'}}, "
              "'spec': {'deploySpec': {'model': {'hotUpdateEnabled': true}}}}");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        set_conditions(f, cases[i].steps, PRG_COUNT(cases[i].steps));
        struct prg_guard_answer answer =
            ask_after(f, prg_arena_printf(&f->arena, "[%s]", cases[i].marks), PRG_CHANGE_STORED);
        const struct prg_guard_entry *job = job_at(&answer, cases[i].node);
        assert_non_null(job->content);
        assert_false(job->is_deletion);
        assert_int_equal(job->forgets_first, cases[i].forgets_first);
        assert_int_equal(job->is_gentle, cases[i].forgets_first && strcmp(cases[i].node, "edge4") == 0);
    }
}

static void hot_update_leaves_the_folder_of_the_inference_worker_alone(void **state)
{
    static const struct {
        struct step steps[4];
        const char *want;
    } cases[] = {
        {{{"Deploy", "Completed", NULL}}, "edge1 job; edge2 -job; edge4 ~job"},
        {{{"Train", "Waiting", NULL}}, "edge1 +model base; edge1 +job; edge2 -job; edge4 ~job"},
        {{{"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Running", NULL}},
         "edge4 +model served; edge1 job; edge2 -job; edge4 +job"},
        {{{"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL}},
         "edge2 +model served; edge1 job; edge2 +job; edge4 ~job"},
    };
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge2', 'sedna.io/Eval': 'edge2', 'sedna.io/Deploy': "
              "'edge4', 'sedna.io/model-hot-update-config': '/v/model_config.json'}}, "
              "'spec': {'deploySpec': {'model': {'hotUpdateEnabled': true}}}}");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        set_conditions(f, cases[i].steps, PRG_COUNT(cases[i].steps));
        struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
        assert_string_equal(brief(f, &answer), cases[i].want);
    }
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_DELETED); // with the job the folder goes
    assert_string_equal(brief(f, &answer), "edge1 -job; edge2 -job; edge4 -job");
}

// Nobody saw on which node the evaluation ran: what that node would be told goes to the one without a name, and
// nobody is to mend what is held back from it.
static void what_is_meant_for_a_node_that_is_not_known_goes_to_the_one_without_a_name(void **state)
{
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge2'}}}");
    SET_CONDITIONS(f, {"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL});
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
    assert_string_equal(brief(f, &answer), " +model served; edge1 job; edge2 -job;  +job");
    answer = ask(f, PRG_CHANGE_DELETED);
    assert_string_equal(brief(f, &answer), "edge1 -job; edge2 -job;  -job");
    change(f, "{'spec': {'dataset': {'trainProb': 3}}}");
    answer = ask(f, PRG_CHANGE_STORED);
    assert_non_null(job_at(&answer, "")->held);
    assert_false(job_at(&answer, "")->is_for_people);
    assert_int_equal(prg_json_count(prg_guard_held(&f->arena, &f->store->reader, job_copy(f))), 0);
}

static void nobody_is_told_of_a_job_without_conditions_or_without_a_node(void **state)
{
    struct learning_fixture *f = *state;
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
    assert_string_equal(brief(f, &answer), "");
    SET_CONDITIONS(f, {"Train", "Waiting", NULL});
    put_yaml(f, "{apiVersion: sedna.io/v1alpha1, kind: Dataset, metadata: {name: photos, namespace: ns}, spec: {}}");
    answer = ask(f, PRG_CHANGE_STORED);
    assert_string_equal(brief(f, &answer), "unknown");
}

// What goes out in one state, after what was reported.
static void a_state_waits_for_what_the_node_would_look_for(void **state)
{
#define OTHER "{\"output\":{\"models\":[{\"format\":\"pb\",\"url\":\"/x\",\"classes\":null}]}}"
#define NOBODY "{\"output\":{\"models\":[]}}"
    static const struct {
        struct step steps[6];
        const char *held; // part of why, or NULL: it goes out
        bool is_for_people;
    } cases[] = {
        {{{"Train", "Completed", TRAINED}, {"Eval", "Waiting", NULL}}, NULL, false},
        {{{"Train", "Completed", NULL}, {"Eval", "Waiting", NULL}},
         "the train worker of this round has reported no",
         false},
        {{{"Train", "Completed", NOBODY}, {"Eval", "Waiting", NULL}}, "has reported no models", false},
        {{{"Train", "Completed", "{}"}, {"Eval", "Waiting", NULL}}, "has reported no models", false},
        {{{"Train", "Completed", "no json"}, {"Eval", "Waiting", NULL}}, "has reported no models", false},
        {{{"Train", "Completed", OTHER}, {"Eval", "Waiting", NULL}}, "no model of the format of Model 'served'", true},
        // the last round's models are not this round's
        {{{"Train", "Completed", TRAINED},
          {"Train", "Ready", "{}"},
          {"Train", "Completed", NULL},
          {"Eval", "Waiting", NULL}},
         "this round has reported no models",
         false},
        // the report comes after the pod: the original appends both
        {{{"Train", "Ready", "{}"},
          {"Train", "Completed", NULL},
          {"Eval", "Waiting", NULL},
          {"Train", "Completed", TRAINED},
          {"Eval", "Waiting", NULL}},
         NULL,
         false},
        // the node takes the newest models, not the newest that fit
        {{{"Train", "Completed", TRAINED}, {"Train", "Completed", OTHER}, {"Eval", "Waiting", NULL}},
         "no model of the format",
         true},
        {{{"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL}}, NULL, false},
        {{{"Train", "Completed", TRAINED}, {"Eval", "Completed", NULL}, {"Deploy", "Waiting", NULL}},
         "the eval worker of this round has reported no",
         false},
        {{{"Train", "Completed", OTHER}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL}},
         "no model of the format",
         true},
        {{{"Rest", "Waiting", NULL}}, "stage 'Rest'", true},
        {{{"", "Waiting", NULL}}, "stage ''", true},
    };
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge1', 'sedna.io/Eval': 'edge1'}}}");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        set_conditions(f, cases[i].steps, PRG_COUNT(cases[i].steps));
        struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
        const struct prg_guard_entry *job = job_at(&answer, "edge1");
        if (strcmp(cases[i].steps[0].stage, "Rest") == 0 || !*cases[i].steps[0].stage) {
            assert_null(job->content); // no message asks for it
            continue;
        }
        assert_non_null(job->content);
        if (!cases[i].held)
            assert_null(job->held);
        else
            assert_true(job->held && strstr(job->held, cases[i].held));
        assert_int_equal(job->is_for_people, cases[i].is_for_people);
    }
}

static void what_a_local_controller_would_not_survive_is_held_back(void **state)
{
    static const struct {
        const char *change, *held; // held NULL: fine
    } cases[] = {
        {"{'spec': {'dataset': {'trainProb': 1}}}", NULL},
        {"{'spec': {'dataset': {'trainProb': 1.01}}}", "/spec/dataset/trainProb: must lie between 0 and 1, not 1.01"},
        {"{'spec': {'dataset': {'trainProb': -0.1}}}", "/spec/dataset/trainProb"},
        {"{'spec': {'dataset': {'trainProb': 1e999}}}", "/spec/dataset/trainProb: must be a number"},
        {"{'spec': {'dataset': {'trainProb': '0.8'}}}", "/spec/dataset/trainProb: must be a number, not '0.8'"},
        {"{'spec': {'deploySpec': {'trigger': {'condition': {'metric': 'p_delta[0]', 'operator': '>', 'threshold': "
         "0.1}}}}}",
         NULL},
        {"{'spec': {'deploySpec': {'trigger': {'condition': {'metric': 'p_delta', 'operator': '>', 'threshold': "
         "0.1}}}}}",
         NULL}, // never deploys, but does no harm
        {"{'spec': {'deploySpec': {'trigger': {'condition': {'metric': 'p_delta[', 'operator': '>', 'threshold': "
         "0.1}}}}}",
         "/spec/deploySpec/trigger/condition/metric: 'p_delta[': its index is not closed"},
        {"{'spec': {'deploySpec': {'trigger': {'condition': {'metric': ']p[', 'operator': '>', 'threshold': 0.1}}}}}",
         "not closed"},
        {"{'spec': {'deploySpec': {'trigger': {'condition': {'metric': 'p[-1]', 'operator': '>', 'threshold': "
         "0.1}}}}}",
         "its index is negative"},
        {"{'spec': {'trainSpec': {'trigger': {'condition': {'metric': 'num_of_samples[', 'operator': '>', "
         "'threshold': 1}}}}}",
         "/spec/trainSpec/trigger/condition/metric"},
        {"{'spec': {'trainSpec': {'trigger': {'condition': {'metric': 3, 'operator': '>', 'threshold': 1}}}}}",
         "/spec/trainSpec/trigger/condition/metric: must be a text"},
        {"{'spec': {'trainSpec': {'trigger': {'checkPeriodSeconds': 60.0}}}}",
         "/spec/trainSpec/trigger/checkPeriodSeconds: must be a whole number, not '60.0'"},
        {"{'spec': {'trainSpec': {'trigger': {'timer': {'start': 120, 'end': '20:00'}}}}}",
         "/spec/trainSpec/trigger/timer/start: must be a text"},
        {"{'spec': {'outputDir': ''}}", "/spec/outputDir: '' is neither"},
        {"{'spec': {'outputDir': 'nfs://host/x'}}", "/spec/outputDir: 'nfs://host/x' is neither"},
        {"{'spec': {'outputDir': 'S3://bucket/x'}}", "/spec/outputDir: 'S3://bucket/x' needs a Secret"},
        {"{'spec': {'outputDir': 's3://bucket/x', 'credentialName': 'absent'}}", "needs a Secret"},
        {"{'spec': {'outputDir': 's3://bucket/x', 'credentialName': 'good'}}", NULL},
        {"{'spec': {'outputDir': '/x', 'credentialName': 'bare'}}", "its Secret has no s3-endpoint"},
        {"{'spec': {'outputDir': '/x', 'credentialName': 'odd'}}", "'http://minio:9000', is not HOST or HOST:PORT"},
        {"{'metadata': {'labels': {'a': 1}}}", "/metadata/labels/a: must be a text"},
        {"{'metadata': {'annotations': {'a': {}}}}", "/metadata/annotations/a: must be a text"},
        {"{'metadata': {'creationTimestamp': 'yesterday'}}", "/metadata/creationTimestamp: must be a time"},
        {"{'status': {'startTime': 'never'}}", "/status/startTime: must be a time"},
        {"{'spec': {'deploySpec': {'model': {'hotUpdateEnabled': 'yes'}}}}",
         "/spec/deploySpec/model/hotUpdateEnabled: must be true or false"},
    };
    struct learning_fixture *f = *state;
    put_yaml(f, "{apiVersion: v1, kind: Secret, metadata: {name: good, namespace: ns, annotations: {s3-endpoint: "
                "'minio:9000'}}, stringData: {ACCESS_KEY_ID: a, SECRET_ACCESS_KEY: b}}\n"
                "---\n"
                "{apiVersion: v1, kind: Secret, metadata: {name: bare, namespace: ns}, stringData: {ACCESS_KEY_ID: a, "
                "SECRET_ACCESS_KEY: b}}\n"
                "---\n"
                "{apiVersion: v1, kind: Secret, metadata: {name: odd, namespace: ns, annotations: {s3-endpoint: "
                "'http://minio:9000'}}, stringData: {ACCESS_KEY_ID: a, SECRET_ACCESS_KEY: b}}\n");
    SET_CONDITIONS(f, {"Train", "Waiting", NULL});
    const cJSON *before = job_copy(f);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        put(f, before);
        change(f, cases[i].change);
        struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
        const struct prg_guard_entry *job = job_at(&answer, "edge1");
        if (!job->held != !cases[i].held || (job->held && !strstr(job->held, cases[i].held)))
            fail_msg("%s: held for '%s'", cases[i].change, job->held ? job->held : "nothing");
        assert_int_equal(job->is_for_people, job->held != NULL);
    }
}

static void a_model_is_copied_from_or_to_an_object_store_with_a_secret_only(void **state)
{
    struct learning_fixture *f = *state;
    put_yaml(f, "{apiVersion: sedna.io/v1alpha1, kind: Model, metadata: {name: served, namespace: ns}, spec: {url: "
                "'s3://models/m.ckpt', format: ckpt}}");
    change(f, "{'metadata': {'annotations': {'sedna.io/Eval': 'edge1'}}}");
    SET_CONDITIONS(f, {"Train", "Completed", TRAINED}, {"Eval", "Completed", EVALUATED}, {"Deploy", "Waiting", NULL});
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
    assert_non_null(strstr(job_at(&answer, "edge1")->held, "'s3://models/m.ckpt' cannot be copied without a Secret"));
}

static void a_first_training_that_failed_lends_the_initial_model(void **state)
{
    struct learning_fixture *f = *state;
    SET_CONDITIONS(f, {"Train", "Ready", "{}"}, {"Train", "Failed", NULL}, {"Train", "Waiting", NULL});
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
    const cJSON *conditions = prg_json_at(job_at(&answer, "edge1")->content, "status", "conditions");
    assert_int_equal(prg_json_count(conditions), 4);
    const cJSON *lent = prg_json_item(conditions, 2);
    assert_string_equal(prg_json_get_text(lent, "stage"), "Train");
    assert_string_equal(prg_json_get_text(lent, "type"), "Completed");
    assert_string_equal(prg_json_get_text(lent, "data"),
                        "{\"output\":{\"models\":[{\"format\":\"ckpt\",\"url\":\"/models/base/m.ckpt\",\"classes\":"
                        "null}]}}");
    assert_string_equal(prg_json_get_text(prg_json_item(conditions, 3), "type"), "Waiting");
    // none is lent when the node would find one, or has not begun yet
    SET_CONDITIONS(f, {"Train", "Completed", TRAINED}, {"Train", "Waiting", NULL});
    answer = ask(f, PRG_CHANGE_STORED);
    assert_int_equal(prg_json_count(prg_json_at(job_at(&answer, "edge1")->content, "status", "conditions")), 2);
    SET_CONDITIONS(f, {"Train", "Waiting", NULL});
    answer = ask(f, PRG_CHANGE_STORED);
    assert_int_equal(prg_json_count(prg_json_at(job_at(&answer, "edge1")->content, "status", "conditions")), 1);
}

static void the_datasets_node_stops_asking_while_the_first_training_is_under_way(void **state)
{
    static const char *const types[] = {"Ready", "Starting", "Running", "Paused"};
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Train': 'edge2'}}}");
    for (size_t i = 0; i < PRG_COUNT(types); i++) {
        SET_CONDITIONS(f, {"Train", types[i], NULL});
        struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
        assert_non_null(job_at(&answer, "edge1")->content);
        SET_CONDITIONS(f, {"Train", "Completed", TRAINED}, {"Train", types[i], NULL});
        answer = ask(f, PRG_CHANGE_STORED);
        assert_null(job_at(&answer, "edge1")->content);
    }
}

static void metrics_that_cannot_be_compared_are_left_out(void **state)
{
    static const struct {
        const char *first, *second, *want_first;
    } cases[] = {
        {"{'p':[0.9],'q':[1]}", "{'p':[0.7]}", "{'p':[0.9]}"},
        {"{'p':[0.9,0.8]}", "{'p':[0.7]}", "{}"},
        {"{'p':[0.9]}", "{'p':[0.7,0.6],'q':[1]}", "{'p':[0.9]}"},
        {"{'p':0.9}", "{}", "{'p':0.9}"}, // no lists: nothing is compared
        {"{'p':[0.9]}", "{}", "{}"},
    };
    struct learning_fixture *f = *state;
    change(f, "{'metadata': {'annotations': {'sedna.io/Eval': 'edge1'}}}");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        cJSON *data = json_of(&f->arena, prg_arena_printf(&f->arena,
                                                          "{'output': {'models': [{'format': 'ckpt', 'metrics': %s}, "
                                                          "{'format': 'ckpt', 'metrics': %s}]}}",
                                                          cases[i].first, cases[i].second));
        const char *text = prg_json_print_arena(&f->arena, data, PRG_JSON_COMPACT);
        SET_CONDITIONS(f, {"Train", "Completed", TRAINED}, {"Eval", "Completed", text}, {"Deploy", "Waiting", NULL});
        struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
        const cJSON *condition =
            prg_json_item(prg_json_at(job_at(&answer, "edge1")->content, "status", "conditions"), 1);
        const cJSON *sent = json_of(&f->arena, prg_json_get_text(condition, "data"));
        const cJSON *metrics = prg_json_get(prg_json_item(prg_json_at(sent, "output", "models"), 0), "metrics");
        assert_json_text(&f->arena, metrics, cases[i].want_first);
    }
    // one result is none: two without metrics, so that nothing is deployed
    SET_CONDITIONS(f, {"Train", "Completed", TRAINED},
                   {"Eval", "Completed", "{\"output\":{\"models\":[{\"format\":\"ckpt\",\"metrics\":{\"p\":[1]}}]}}"},
                   {"Deploy", "Waiting", NULL});
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
    const cJSON *condition = prg_json_item(prg_json_at(job_at(&answer, "edge1")->content, "status", "conditions"), 1);
    assert_json_text(&f->arena, json_of(&f->arena, prg_json_get_text(condition, "data")),
                     "{'output': {'models': [{}, {}]}}");
}

static void what_a_node_decodes_is_whole_and_nothing_else(void **state)
{
    struct learning_fixture *f = *state;
    change(f, "{'JobConfig': {'Rounds': 9}, 'Spec': {'outputDir': '/other'}, 'metadata': {'managedFields': [{'time': "
              "'x'}], 'Labels': {'a': 1}}, 'spec': {'OutputDir': '/evil', 'trainSpec': {'template': {'spec': "
              "{'containers': [{'name': 'w', 'resources': {'limits': {'cpu': '1Gib'}}}]}}}, 'evalSpec': {'template': "
              "{'spec': {'containers': [{'name': 'w', 'newField': 1, 'Image': 'x'}]}}}}}");
    SET_CONDITIONS(f, {"Train", "Waiting", NULL});
    struct prg_guard_answer answer = ask(f, PRG_CHANGE_STORED);
    const struct prg_guard_entry *job = job_at(&answer, "edge1");
    assert_null(job->held);
    assert_json_text(&f->arena, job->content,
                     "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'IncrementalLearningJob', 'metadata': {'name': "
                     "'helmet', 'namespace': 'ns', 'uid': 'u1'}, 'spec': {'dataset': {'name': 'photos', 'trainProb': "
                     "0.8}, 'initialModel': {'name': 'base'}, 'outputDir': '/output', 'trainSpec': {'template': {}}, "
                     "'evalSpec': {'template': {'spec': {'containers': [{'name': 'w', 'newField': 1}]}}, "
                     "'initialEvalModel': null}, 'deploySpec': {'model': {'name': 'served', 'hotUpdateEnabled': "
                     "false}, 'hardExampleMining': {'name': 'IBT'}, 'template': {'spec': {'containers': [{'name': "
                     "'w', 'image': 'infer'}]}}}}, 'status': {'conditions': [{'type': 'Waiting', 'status': 'True', "
                     "'lastHeartbeatTime': '2026-06-01T00:00:00Z', 'lastTransitionTime': '2026-06-01T00:00:00Z', "
                     "'stage': 'Train', 'data': ''}]}}");
}

static void datasets_that_would_never_be_watched_are_held_back(void **state)
{
    static const struct {
        const char *spec, *held;
    } cases[] = {
        {"{url: /data/x.txt, format: txt, nodeName: edge1}", NULL},
        {"{url: '', format: txt, nodeName: edge1}", "/spec/url: '' is neither"},
        {"{url: 'http://host/x', format: txt, nodeName: edge1}", "neither a path nor an s3 URL"},
        {"{url: 's3://b/x', format: txt, nodeName: edge1}", "needs a Secret"},
        {"{url: 'a b\\x01', format: txt, nodeName: edge1}", "neither"},
        {"{url: /x, format: 7, nodeName: edge1}", "/spec/format: must be a text"},
    };
    struct learning_fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_yaml_docs docs;
        struct prg_guard_answer answer;
        struct prg_error err = {0};
        const char *text = prg_arena_printf(
            &f->arena, "{apiVersion: sedna.io/v1alpha1, kind: Dataset, metadata: {name: d, namespace: ns}, spec: %s}",
            cases[i].spec);
        if (strstr(text, "\\x01"))
            text = prg_arena_printf(&f->arena,
                                    "{apiVersion: sedna.io/v1alpha1, kind: Dataset, metadata: {name: d, namespace: "
                                    "ns}, spec: {url: \"a\\x01\", format: txt, nodeName: edge1}}");
        assert_ok(prg_yaml_load(&f->arena, "test", text, strlen(text), NULL, &docs, &err), &err);
        prg_guard_dataset(&f->arena, &f->store->reader, docs.items[0], PRG_CHANGE_STORED, &answer);
        assert_non_null(answer.first);
        if (!cases[i].held)
            assert_null(answer.first->held);
        else
            assert_true(answer.first->held && strstr(answer.first->held, cases[i].held));
        prg_guard_dataset(&f->arena, &f->store->reader, docs.items[0], PRG_CHANGE_DELETED, &answer);
        assert_true(answer.first->is_deletion && !answer.first->held); // a deletion does no harm
    }
}

#define GUARD_TEST(name) cmocka_unit_test_setup_teardown(name, learning_set_up, learning_tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARD_TEST(restart_every_node_but_the_datasets_forgets_the_job_when_its_part_is_done),
        GUARD_TEST(a_node_that_deployed_forgets_the_job_before_its_next_part),
        GUARD_TEST(who_takes_part_in_a_deployment_forgets_earlier_ones_and_not_this_one),
        GUARD_TEST(hot_update_leaves_the_folder_of_the_inference_worker_alone),
        GUARD_TEST(what_is_meant_for_a_node_that_is_not_known_goes_to_the_one_without_a_name),
        GUARD_TEST(nobody_is_told_of_a_job_without_conditions_or_without_a_node),
        GUARD_TEST(a_state_waits_for_what_the_node_would_look_for),
        GUARD_TEST(what_a_local_controller_would_not_survive_is_held_back),
        GUARD_TEST(a_model_is_copied_from_or_to_an_object_store_with_a_secret_only),
        GUARD_TEST(a_first_training_that_failed_lends_the_initial_model),
        GUARD_TEST(the_datasets_node_stops_asking_while_the_first_training_is_under_way),
        GUARD_TEST(metrics_that_cannot_be_compared_are_left_out),
        GUARD_TEST(what_a_node_decodes_is_whole_and_nothing_else),
        GUARD_TEST(datasets_that_would_never_be_watched_are_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
