// SPDX-License-Identifier: Apache-2.0
// test_kube_store.c: an API server as a store, against answers given by hand.
#include "kube/kube_store.h"

#include <stdlib.h>
#include <string.h>

#include "object/meta.h"
#include "script.h"

struct fixture {
    struct script script;
    struct prg_timers *timers;
    struct prg_kube_store *kube;
    struct prg_store *store;
    struct prg_arena arena;
    struct prg_strbuf log; // what was told, "changed KEY;" …
    unsigned synced, installed;
    enum prg_write_result result;
    unsigned written;
};

static void on_changed(const struct prg_key *key, void *ctx)
{
    struct fixture *f = ctx;
    prg_strbuf_printf(&f->log, "changed %s;", prg_key_text(&f->arena, key));
}

static void on_synced(void *ctx)
{
    ((struct fixture *)ctx)->synced++;
}

static void on_installed(const char *path, void *ctx)
{
    struct fixture *f = ctx;
    f->installed++;
    prg_strbuf_printf(&f->log, "installed %s;", path);
}

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    struct fixture *f = ctx;
    f->result = outcome->result;
    f->written++;
}

static void open_store(struct fixture *f, const char *const *namespaces, size_t count)
{
    struct prg_kube_store_options options = {.namespaces = namespaces,
                                             .namespace_count = count,
                                             .changed = on_changed,
                                             .synced = on_synced,
                                             .installed = on_installed,
                                             .ctx = f};
    f->kube = prg_kube_store_new(&f->script.transport, f->timers, &options);
    f->store = prg_kube_store_base(f->kube);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    script_init(&f->script);
    f->timers = prg_timers_new_manual(1000, 0);
    prg_strbuf_init(&f->log);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_store_free(f->store);
    script_expect_none(&f->script);
    script_release(&f->script);
    prg_timers_free(f->timers);
    prg_strbuf_release(&f->log);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static const struct prg_kube_watch widgets = {
    .group = "example.com", .version = "v1", .kind = "Widget", .plural = "widgets", .is_namespaced = true};
static const struct prg_kube_watch maps = {
    .group = "", .version = "v1", .kind = "ConfigMap", .plural = "configmaps", .is_namespaced = true};

// The oldest open call to this collection: watches of others stay open beside it.
static struct prg_call *open_call(struct fixture *f, const char *path)
{
    struct prg_call *call = f->script.calls;
    size_t length = strlen(path);
    while (call && (strncmp(call->request.path, path, length) != 0 || call->request.path[length] != '?'))
        call = call->next;
    assert_non_null(call);
    return call;
}

// A first list that is streamed: objects, then the bookmark that ends it.
static void send_list(struct fixture *f, const char *path, const char *events, const char *version)
{
    struct prg_call *call = open_call(f, path);
    assert_non_null(strstr(call->request.path, "sendInitialEvents=true"));
    script_data(call, events, 0);
    script_data(call,
                prg_arena_printf(&f->arena,
                                 "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'%s','annotations':{"
                                 "'k8s.io/initial-events-end':'true'}}}}\n",
                                 version),
                0);
}

#define WIDGET(ns, name, version)                                                                                      \
    "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'" name "','namespace':'" ns "','uid':'u-" name \
    "','resourceVersion':'" version "'},'spec':{'size':1}}"
#define ADDED(object) "{'type':'ADDED','object':" object "}\n"

#define INITIAL_END(version)                                                                                           \
    "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'" version                                             \
    "','annotations':{'k8s.io/initial-events-end':'true'}}}}\n"

static struct prg_call *call_with(struct fixture *f, const char *query)
{
    struct prg_call *call = f->script.calls;
    while (call && !strstr(call->request.path, query))
        call = call->next;
    assert_non_null(call);
    return call;
}

static void count(const cJSON *object, void *ctx)
{
    (void)object;
    ++*(size_t *)ctx;
}

static void what_the_server_has_is_read_and_told_from_then_on(void **state)
{
    struct fixture *f = *state;
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &widgets);
    prg_kube_store_start(f->kube);
    char why[200];
    assert_false(prg_kube_store_is_read(f->kube, why, sizeof(why)));
    assert_string_equal(why, "/apis/example.com/v1/widgets has not been read yet");
    send_list(f, "/apis/example.com/v1/widgets", ADDED(WIDGET("a", "x", "3")), "5");
    assert_int_equal(f->synced, 1);
    assert_string_equal(f->log.text ? f->log.text : "", ""); // the first reading is told as a whole
    size_t found = 0;
    f->store->reader.list(&f->store->reader, "example.com", "Widget", NULL, count, &found);
    assert_int_equal(found, 1);
    struct prg_call *watch = open_call(f, "/apis/example.com/v1/widgets");
    script_data(watch, ADDED(WIDGET("a", "y", "6")), 0);
    assert_string_equal(f->log.text, "changed example.com/Widget a/y;");
    assert_non_null(prg_reader_get(&f->store->reader, "example.com", "Widget", "a", "y"));
}

static void only_some_namespaces_are_read_and_what_lies_outside_may_be_denied(void **state)
{
    char first[] = "a", second[] = "b"; // copied
    const char *namespaces[] = {first, second};
    struct fixture *f = *state;
    struct prg_kube_watch outside = {.group = "example.com", .version = "v1", .kind = "Frame", .plural = "frames"};
    open_store(f, namespaces, 2);
    first[0] = second[0] = '?';
    namespaces[0] = namespaces[1] = NULL;
    prg_kube_store_watch(f->kube, &widgets);
    prg_kube_store_watch(f->kube, &outside);
    prg_kube_store_start(f->kube);
    send_list(f, "/apis/example.com/v1/namespaces/a/widgets", ADDED(WIDGET("a", "x", "3")), "5");
    send_list(f, "/apis/example.com/v1/namespaces/b/widgets", ADDED(WIDGET("b", "x", "4")), "5");
    assert_int_equal(f->synced, 0);
    struct prg_call *call = open_call(f, "/apis/example.com/v1/frames");
    script_answer(&f->script, call, 403, "{'kind':'Status','reason':'Forbidden','message':'no','code':403}");
    if (!f->synced) { // it may be asked again without the stream
        call = open_call(f, "/apis/example.com/v1/frames");
        script_answer(&f->script, call, 403, "{'kind':'Status','reason':'Forbidden','message':'no','code':403}");
    }
    assert_int_equal(f->synced, 1);
    size_t found = 0;
    f->store->reader.list(&f->store->reader, "example.com", "Widget", NULL, count, &found);
    assert_int_equal(found, 2);
}

static void what_one_selector_loses_the_other_keeps(void **state)
{
    static const char gone[] = "{'type':'DELETED','object':" WIDGET("a", "x", "6") "}\n";
    struct fixture *f = *state;
    struct prg_kube_watch one = widgets, two = widgets;
    one.label = "one";
    two.label = "two";
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &one);
    prg_kube_store_watch(f->kube, &two);
    prg_kube_store_start(f->kube);
    struct prg_call *first = call_with(f, "labelSelector=one"), *second = call_with(f, "labelSelector=two");
    script_data(first, ADDED(WIDGET("a", "x", "3")) INITIAL_END("5"), 0);
    script_data(second, ADDED(WIDGET("a", "x", "3")) INITIAL_END("5"), 0);
    script_data(first, gone, 0);
    assert_non_null(prg_reader_get(&f->store->reader, "example.com", "Widget", "a", "x"));
    script_data(second, gone, 0);
    assert_null(prg_reader_get(&f->store->reader, "example.com", "Widget", "a", "x"));
    assert_string_equal(f->log.text, "changed example.com/Widget a/x;");
}

static void who_is_not_let_in_is_told_what_it_lacks(void **state)
{
    static const char denied[] = "{'kind':'Status','reason':'Forbidden','message':'no','code':403}";
    struct fixture *f = *state;
    char why[200];
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &widgets);
    assert_false(prg_kube_store_is_read(f->kube, why, sizeof(why)));
    assert_string_equal(why, "reading has not begun");
    prg_kube_store_start(f->kube);
    send_list(f, "/apis/example.com/v1/widgets", ADDED(WIDGET("a", "x", "3")), "5");
    assert_true(prg_kube_store_is_read(f->kube, why, sizeof(why)));
    script_answer(&f->script, open_call(f, "/apis/example.com/v1/widgets"), 200, "");    // the watch ends
    for (int i = 0; i < 100 && prg_kube_store_is_read(f->kube, why, sizeof(why)); i++) { // and leave is gone meanwhile
        if (script_open(&f->script))
            script_answer(&f->script, open_call(f, "/apis/example.com/v1/widgets"), 403, denied);
        else
            prg_timers_advance(f->timers, 2000);
    }
    assert_false(prg_kube_store_is_read(f->kube, why, sizeof(why)));
    assert_string_equal(why, "not allowed to list or watch /apis/example.com/v1/widgets");
}

static void metadata_alone_stands_in_for_what_is_not_kept_whole(void **state)
{
    struct fixture *f = *state;
    struct prg_kube_watch one = maps, all = maps;
    one.ns = "k";
    one.name = "settings";
    all.is_metadata_only = true;
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &all);
    prg_kube_store_watch(f->kube, &one);
    prg_kube_store_start(f->kube);
    struct prg_call *call = open_call(f, "/api/v1/configmaps");
    assert_non_null(strstr(call->request.accept, "PartialObjectMetadata"));
    send_list(f, "/api/v1/configmaps",
              ADDED("{'apiVersion':'meta.k8s.io/v1','kind':'PartialObjectMetadata','metadata':{'name':'settings',"
                    "'namespace':'k','resourceVersion':'1'}}")
                  ADDED("{'apiVersion':'meta.k8s.io/v1','kind':'PartialObjectMetadata','metadata':{'name':'other',"
                        "'namespace':'k','resourceVersion':'2'}}"),
              "5");
    struct prg_reader_question settings = {"", "ConfigMap", "k", "settings", NULL, NULL};
    struct prg_reader_state before;
    assert_true(prg_reader_state(&f->store->reader, &settings, &before));
    send_list(f, "/api/v1/namespaces/k/configmaps",
              ADDED("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings','namespace':'k',"
                    "'resourceVersion':'1'},'data':{'a':'b'}}"),
              "5");
    const struct prg_reader *reader = &f->store->reader;
    struct prg_reader_state after;
    assert_true(prg_reader_state(reader, &settings, &after));
    assert_true(memcmp(&before, &after, sizeof(before)) != 0); // the same version, but more of it
    assert_non_null(prg_json_get(prg_reader_get(reader, "", "ConfigMap", "k", "settings"), "data"));
    const cJSON *other = prg_reader_get(reader, "", "ConfigMap", "k", "other");
    assert_string_equal(prg_json_get_text(other, "kind"), "ConfigMap");
    assert_null(prg_json_get(other, "data"));
}

static void a_kind_that_is_missing_is_taken_up_when_it_is_installed(void **state)
{
    static const char missing[] = "{'kind':'Status','reason':'NotFound','message':'no','code':404}";
    struct fixture *f = *state;
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &widgets);
    prg_kube_store_start(f->kube);
    while (!f->synced)
        script_answer(&f->script, open_call(f, "/apis/example.com/v1/widgets"), 404, missing);
    char why[200] = "";
    assert_true(prg_kube_store_is_read(f->kube, why, sizeof(why)));
    for (int i = 0; i < 100 && !script_open(&f->script); i++)
        prg_timers_advance(f->timers, 2000);
    send_list(f, "/apis/example.com/v1/widgets", ADDED(WIDGET("a", "x", "3")), "5");
    assert_int_equal(f->installed, 1);
    assert_non_null(strstr(f->log.text, "installed /apis/example.com/v1/widgets;"));
}

static void writes_go_to_the_server_and_call_back(void **state)
{
    struct fixture *f = *state;
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &widgets);
    prg_kube_store_start(f->kube);
    send_list(f, "/apis/example.com/v1/widgets", ADDED(WIDGET("a", "x", "3")), "5");
    const cJSON *stored = prg_reader_get(&f->store->reader, "example.com", "Widget", "a", "x");
    struct prg_write_request remove = {.kind = PRG_WRITE_DELETE, .stored = stored};
    struct prg_write_request status = {
        .kind = PRG_WRITE_STATUS, .stored = stored, .object = json_of(&f->arena, "{'ready':true}")};
    prg_store_write(f->store, &status, on_written, f);
    prg_store_write(f->store, &remove, on_written, f);
    assert_int_equal(prg_store_deliver(f->store), 0);
    struct prg_call *call = f->script.calls;
    while (call && strcmp(call->request.path, "/apis/example.com/v1") != 0)
        call = call->next;
    assert_non_null(call);
    script_answer(&f->script, call, 200,
                  "{'kind':'APIResourceList','resources':[{'name':'widgets','kind':'Widget','namespaced':true}]}");
    prg_timers_advance(f->timers, 0);
    for (call = f->script.calls; call && strcmp(call->request.method, "PATCH") != 0;)
        call = call->next;
    assert_non_null(call);
    assert_non_null(strstr(call->request.path, "/namespaces/a/widgets/x/status"));
    script_answer(&f->script, call, 200, WIDGET("a", "x", "9"));
    assert_int_equal(f->written, 1);
    assert_int_equal(f->result, PRG_WRITE_UPDATED);
    prg_store_cancel(f->store, f); // the deletion is not told any more
    assert_int_equal(f->written, 1);
    struct prg_kube_store_counts counts;
    prg_kube_store_count(f->kube, &counts);
    assert_int_equal(counts.objects, 1);
    assert_int_equal(counts.open_writes, 0);
}

static void an_event_is_about_what_is_there(void **state)
{
    struct fixture *f = *state;
    struct prg_store_event event = {"Normal", "Tried", "it"};
    struct prg_key key = {"example.com", "Widget", "a", "x"}, gone = {"example.com", "Widget", "a", "gone"};
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &widgets);
    prg_kube_store_start(f->kube);
    send_list(f, "/apis/example.com/v1/widgets", ADDED(WIDGET("a", "x", "3")), "5");
    struct prg_kube_store_counts counts;
    assert_int_equal(f->store->ops->record_event(f->store, &gone, &event, 0, NULL), PRG_OK);
    prg_kube_store_count(f->kube, &counts);
    assert_int_equal(counts.events_waiting, 0);
    assert_int_equal(f->store->ops->record_event(f->store, &key, &event, 0, NULL), PRG_OK);
    prg_kube_store_count(f->kube, &counts);
    assert_int_equal(counts.events_waiting, 1);
}

// ---- states ----

static bool is_changed(struct fixture *f, const struct prg_reader_question *question, struct prg_reader_state *state)
{
    struct prg_reader_state now;
    assert_true(prg_reader_state(&f->store->reader, question, &now));
    bool is_other = memcmp(&now, state, sizeof(now)) != 0;
    *state = now;
    return is_other;
}

#define LABELLED(verb, name, version, value)                                                                           \
    "{'type':'" verb "','object':{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'" name             \
    "','namespace':'a','uid':'u-" name "','resourceVersion':'" version "','labels':{'of':'" value "'}}}}\n"

static void a_state_changes_with_the_answer_and_with_nothing_else(void **state)
{
    static const char path[] = "/apis/example.com/v1/widgets";
    struct fixture *f = *state;
    const char *labels[] = {"of", NULL};
    struct prg_kube_watch watch = widgets;
    struct prg_reader_question one = {"example.com", "Widget", "a", "x", NULL, NULL},
                               list = {"example.com", "Widget", "a", NULL, NULL, NULL},
                               elsewhere = {"example.com", "Widget", "b", NULL, NULL, NULL},
                               all = {"example.com", "Widget", NULL, NULL, NULL, NULL},
                               ours = {"example.com", "Widget", "a", NULL, "of", "me"};
    struct prg_reader_state s_one = {0}, s_list = {0}, s_elsewhere = {0}, s_all = {0}, s_ours = {0};
    watch.labels = labels;
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &watch);
    prg_kube_store_start(f->kube);
    assert_false(is_changed(f, &one, &s_one));
    send_list(f, path, LABELLED("ADDED", "x", "3", "me") LABELLED("ADDED", "y", "4", "you"), "5");
    assert_true(is_changed(f, &one, &s_one) && is_changed(f, &list, &s_list) && is_changed(f, &all, &s_all));
    assert_true(is_changed(f, &ours, &s_ours));
    assert_false(is_changed(f, &elsewhere, &s_elsewhere));
    struct prg_call *call = open_call(f, path);
    script_data(call, LABELLED("MODIFIED", "y", "6", "you"), 0);
    assert_true(is_changed(f, &list, &s_list) && is_changed(f, &all, &s_all));
    assert_false(is_changed(f, &one, &s_one) || is_changed(f, &elsewhere, &s_elsewhere) ||
                 is_changed(f, &ours, &s_ours));
    script_data(call, LABELLED("MODIFIED", "y", "7", "me"), 0);
    assert_true(is_changed(f, &ours, &s_ours) && is_changed(f, &list, &s_list));
    script_data(call, LABELLED("DELETED", "y", "8", "me"), 0);
    assert_true(is_changed(f, &ours, &s_ours) && is_changed(f, &list, &s_list));
    script_data(call, LABELLED("DELETED", "x", "9", "me"), 0);
    assert_true(is_changed(f, &one, &s_one) && is_changed(f, &ours, &s_ours) && is_changed(f, &list, &s_list));
    script_data(call, ADDED(WIDGET("a", "x", "odd-9")), 0);
    assert_false(prg_reader_state(&f->store->reader, &one, &s_one) ||
                 prg_reader_state(&f->store->reader, &list, &s_list));
    assert_true(prg_reader_state(&f->store->reader, &elsewhere, &s_elsewhere));
}

// A server whose data were put back gives the same versions for other objects. Its watches end as expired.
static void versions_that_are_given_twice_are_other_objects(void **state)
{
    static const char path[] = "/apis/example.com/v1/widgets",
                      expired[] = "{'type':'ERROR','object':{'kind':'Status','code':410,'reason':'Expired'}}\n";
    struct fixture *f = *state;
    const char *labels[] = {"of", NULL};
    struct prg_kube_watch watch = widgets;
    struct prg_key key = {"example.com", "Widget", "a", "x"};
    struct prg_reader_question one = {"example.com", "Widget", "a", "x", NULL, NULL},
                               list = {"example.com", "Widget", "a", NULL, NULL, NULL},
                               none = {"example.com", "Widget", "a", "y", NULL, NULL};
    struct prg_reader_state s_one = {0}, s_list = {0}, s_none = {0};
    watch.labels = labels;
    open_store(f, NULL, 0);
    prg_kube_store_watch(f->kube, &watch);
    prg_kube_store_start(f->kube);
    send_list(f, path, LABELLED("ADDED", "x", "3", "me"), "5");
    assert_true(is_changed(f, &one, &s_one) && is_changed(f, &list, &s_list));
    assert_false(is_changed(f, &none, &s_none));
    script_answer(&f->script, open_call(f, path), 200, expired);
    prg_timers_advance(f->timers, 2000);
    send_list(f, path, LABELLED("ADDED", "x", "3", "you"), "5");
    const cJSON *labelled =
        prg_json_get(prg_json_get(f->store->reader.get(&f->store->reader, &key), "metadata"), "labels");
    assert_string_equal(prg_json_get_text(labelled, "of"), "you");
    assert_true(is_changed(f, &one, &s_one) && is_changed(f, &list, &s_list));
    assert_false(is_changed(f, &none, &s_none));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_server_has_is_read_and_told_from_then_on),
        TEST(only_some_namespaces_are_read_and_what_lies_outside_may_be_denied),
        TEST(what_one_selector_loses_the_other_keeps),
        TEST(who_is_not_let_in_is_told_what_it_lacks),
        TEST(metadata_alone_stands_in_for_what_is_not_kept_whole),
        TEST(a_kind_that_is_missing_is_taken_up_when_it_is_installed),
        TEST(writes_go_to_the_server_and_call_back),
        TEST(an_event_is_about_what_is_there),
        TEST(a_state_changes_with_the_answer_and_with_nothing_else),
        TEST(versions_that_are_given_twice_are_other_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
