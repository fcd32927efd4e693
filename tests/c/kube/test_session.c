// SPDX-License-Identifier: Apache-2.0
// test_session.c: reflector, client and cache over real connections to a scripted server, TLS included.
#include "kube/client.h"
#include "kube/http.h"
#include "kube/reflector.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "support/support.h"

struct fixture {
    uv_loop_t loop;
    uv_timer_t pulse; // so that uv_run returns when only a timer had something to do
    struct prg_timers *timers;
    struct server *server;
    struct identity *identity;
    SSL_CTX *tls;
    struct prg_kube_config config;
    struct prg_http *http;
    struct prg_objects *objects;
    struct prg_object_kind *kind;
    struct prg_reflector *reflector;
    struct prg_arena arena;
    struct prg_strbuf log;
    enum prg_write_result written;
    bool is_written;
};

static void on_change(enum prg_object_change change, const struct prg_object *old, const struct prg_object *object,
                      void *ctx)
{
    struct fixture *f = ctx;
    (void)old;
    prg_strbuf_printf(&f->log, "%c%s@%s ", "=+~-"[change], prg_object_name(object), prg_object_version(object));
}

static void on_pulse(uv_timer_t *pulse)
{
    (void)pulse;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct prg_http_options options = {.rate = -1};
    assert_int_equal(uv_loop_init(&f->loop), 0);
    uv_timer_init(&f->loop, &f->pulse);
    uv_timer_start(&f->pulse, on_pulse, 1, 1);
    f->timers = prg_timers_new_manual(1000000, 0);
    f->identity = identity_new("server", "IP:127.0.0.1", NULL);
    f->tls = identity_server(f->identity, NULL);
    f->server = server_new(&f->loop, f->tls);
    f->config = (struct prg_kube_config){.source = "test", .context = "", .cluster = "c", .user = "u", .ns = ""};
    f->config.server = prg_arena_printf(&f->arena, "https://127.0.0.1:%d", f->server->port);
    f->config.ca_data = f->identity->cert;
    f->http = prg_http_new(&f->loop, f->timers, &f->config, &options);
    f->objects = prg_objects_new(0);
    f->kind = prg_objects_kind(f->objects, &(struct prg_kind_options){"", "v1", "Pod", NULL, NULL});
    struct prg_reflector_options reflecting = {.path = "/api/v1/pods", .seed = 1};
    struct prg_reflector_handler handler = {.changed = on_change, .ctx = f};
    f->reflector = prg_reflector_new(prg_http_transport(f->http), f->timers, f->kind, &reflecting, &handler);
    prg_strbuf_init(&f->log);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_reflector_free(f->reflector);
    prg_http_close(f->http);
    server_close(f->server);
    uv_close((uv_handle_t *)&f->pulse, NULL);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    prg_timers_free(f->timers);
    prg_objects_free(f->objects);
    SSL_CTX_free(f->tls);
    identity_free(f->identity);
    prg_strbuf_release(&f->log);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static char *quoted(struct fixture *f, const char *text)
{
    char *copy = prg_arena_strdup(&f->arena, text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return copy;
}

static void answer(struct fixture *f, const char *path, const char *body, unsigned flags)
{
    server_answer(f->server, 1, "GET", path, 200, "", quoted(f, body), flags);
}

static void run_until_log(struct fixture *f, const char *want)
{
    while (f->log.length < strlen(want))
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_string_equal(f->log.text, want);
    prg_strbuf_clear(&f->log);
}

#define LIST "/api/v1/pods?limit=500&resourceVersion=0"
#define WATCH "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion="
#define A1 "{'metadata':{'name':'a','uid':'u','resourceVersion':'1'}}"

static void objects_arrive_however_the_network_cuts_them(void **state)
{
    struct fixture *f = *state;
    answer(f, LIST, "{'items':[" A1 "],'metadata':{'resourceVersion':'10'}}", SERVER_CHUNKED | SERVER_BYTEWISE);
    answer(f, WATCH "10", "{'type':'ADDED','object':{'metadata':{'name':'b','uid':'v','resourceVersion':'11'}}}\n",
           SERVER_OPEN | SERVER_BYTEWISE);
    prg_reflector_start(f->reflector);
    run_until_log(f, "+a@1 +b@11 ");
    server_push(f->server,
                quoted(f, "{'type':'DELETED','object':{'metadata':{'name':'a','uid':'u','resourceVersion':'12"));
    server_push(f->server, quoted(f, "'}}}\n{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'20'}}}\n"));
    run_until_log(f, "-a@1 ");
    assert_string_equal(prg_reflector_version(f->reflector), "20");
}

static void a_connection_that_breaks_loses_nothing(void **state)
{
    static const unsigned ends[] = {SERVER_RESET, SERVER_CLOSE};
    struct fixture *f = *state;
    answer(f, LIST, "{'metadata':{'resourceVersion':'10'},'items':[" A1 "]}", SERVER_KEEP);
    answer(f, WATCH "10", "", SERVER_OPEN);
    prg_reflector_start(f->reflector);
    run_until_log(f, "+a@1 ");
    for (int i = 0; i < 2; i++) {
        int version = 11 + i;
        answer(f, prg_arena_printf(&f->arena, WATCH "%d", version), "", SERVER_OPEN);
        while (!f->server->held)
            uv_run(&f->loop, UV_RUN_ONCE);
        server_push(f->server,
                    quoted(f, prg_arena_printf(&f->arena,
                                               "{'type':'MODIFIED','object':{'metadata':{'name':'a','uid':'u',"
                                               "'resourceVersion':'%d'}}}\n{'type':'MODI",
                                               version)));
        run_until_log(f, prg_arena_printf(&f->arena, "~a@%d ", version));
        size_t seen = f->server->seen.count;
        server_end_held(f->server, ends[i]);
        while (f->server->seen.count == seen)
            uv_run(&f->loop, UV_RUN_ONCE);
        assert_true(
            prg_text_has_prefix(server_seen(f->server, seen)->path, prg_arena_printf(&f->arena, WATCH "%d&", version)));
    }
    assert_int_equal(prg_reflector_count(f->reflector)->lists, 1);
}

static void a_list_that_breaks_in_the_middle_is_asked_for_again(void **state)
{
    struct fixture *f = *state;
    answer(f, LIST, "{'metadata':{'resourceVersion':'10'},'items':[" A1 ",", SERVER_OPEN);
    prg_reflector_start(f->reflector);
    while (!f->server->held)
        uv_run(&f->loop, UV_RUN_ONCE);
    server_end_held(f->server, SERVER_CLOSE);
    answer(f, LIST, "{'metadata':{'resourceVersion':'10'},'items':[" A1 "]}", SERVER_KEEP);
    answer(f, WATCH "10", "", SERVER_OPEN);
    while (prg_reflector_health(f->reflector) != PRG_REFLECTOR_BROKEN)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_string_equal(f->log.text, "");
    prg_timers_step(f->timers); // the back-off
    run_until_log(f, "+a@1 ");
}

static void an_expired_watch_is_listed_anew(void **state)
{
    struct fixture *f = *state;
    answer(f, LIST, "{'metadata':{'resourceVersion':'10'},'items':[" A1 "]}", SERVER_KEEP);
    answer(f, WATCH "10", "{'type':'ERROR','object':{'kind':'Status','code':410,'reason':'Expired'}}\n",
           SERVER_CHUNKED);
    prg_reflector_start(f->reflector);
    run_until_log(f, "+a@1 ");
    while (prg_reflector_health(f->reflector) != PRG_REFLECTOR_BROKEN)
        uv_run(&f->loop, UV_RUN_ONCE);
    answer(f, "/api/v1/pods?resourceVersion=10", "{'metadata':{'resourceVersion':'30'},'items':[]}", SERVER_KEEP);
    answer(f, WATCH "30", "", SERVER_OPEN);
    prg_timers_step(f->timers);
    run_until_log(f, "-a@1 ");
}

static void a_silent_connection_is_left_for_a_new_one(void **state)
{
    struct fixture *f = *state;
    answer(f, LIST, "{'metadata':{'resourceVersion':'10'},'items':[]}", SERVER_KEEP);
    answer(f, WATCH "10", "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'11'}}}\n", SERVER_CHUNKED);
    answer(f, WATCH "11", "{'type':'ADDED','object':{'metadata':{'name':'b','resourceVersion':'12'}}}\n", SERVER_OPEN);
    answer(f, WATCH "12", "{'type':'ADDED','object':{'metadata':{'name':'c','resourceVersion':'13'}}}\n", SERVER_OPEN);
    prg_reflector_start(f->reflector);
    run_until_log(f, "+b@12 ");
    prg_timers_advance(f->timers, 90000); // nothing, not even a bookmark, and nobody says so
    run_until_log(f, "+c@13 ");
    assert_int_equal(f->server->seen.count, 4);
    assert_int_not_equal(server_seen(f->server, 3)->connection, server_seen(f->server, 2)->connection);
}

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    struct fixture *f = ctx;
    f->is_written = true;
    f->written = outcome->result;
}

static void an_object_is_applied(void **state)
{
    struct fixture *f = *state;
    struct prg_discovery *discovery = prg_discovery_new(prg_http_transport(f->http), f->timers);
    struct prg_client *client = prg_client_new(prg_http_transport(f->http), f->timers, discovery, NULL);
    answer(f, "/api/v1", "{'resources':[{'name':'configmaps','kind':'ConfigMap','namespaced':true}]}", SERVER_KEEP);
    server_answer(f->server, 1, "PATCH", "/api/v1/namespaces/n/configmaps/c?fieldManager=perigee&force=false", 201, "",
                  "{\"metadata\":{\"uid\":\"u\"}}", SERVER_KEEP);
    prg_client_apply(
        client,
        json_of(&f->arena,
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':'n'},'data':{'a':'b'}}"),
        NULL, 0, on_written, f);
    while (!f->is_written) {
        if (prg_timers_next_ms(f->timers) == 0)
            prg_timers_advance(f->timers, 0);
        else
            uv_run(&f->loop, UV_RUN_ONCE);
    }
    assert_int_equal(f->written, PRG_WRITE_CREATED);
    assert_non_null(strstr(server_seen(f->server, 1)->body, "\"data\":{\"a\":\"b\"}"));
    prg_client_free(client);
    prg_discovery_free(discovery);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(objects_arrive_however_the_network_cuts_them),        TEST(a_connection_that_breaks_loses_nothing),
        TEST(a_list_that_breaks_in_the_middle_is_asked_for_again), TEST(an_expired_watch_is_listed_anew),
        TEST(a_silent_connection_is_left_for_a_new_one),           TEST(an_object_is_applied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
