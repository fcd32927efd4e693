// SPDX-License-Identifier: Apache-2.0
// test_link.c: the link over real sockets. Wherever a test waits it waits for a condition, at most five seconds.
#include "client.h"

#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base64.h"
#include "edge/edge.h"
#include "learning/status.h"
#include "object/meta.h"
#include "store/store_mem.h"

struct fixture {
    uv_loop_t loop;
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_edge *edge;
    uint16_t port;
    struct prg_strbuf log; // "report edge1 Dataset photos {…}; connected edge1; …"
    bool is_holding;       // reports are kept in `held` and not finished
    const struct prg_edge_report *held[600];
    size_t held_count;
    enum prg_edge_outcome outcome;
    bool is_closed;
};

static void note(struct fixture *f, const char *format, ...) PRG_PRINTF(2, 3);
static void note(struct fixture *f, const char *format, ...)
{
    va_list args;
    if (f->log.length)
        prg_strbuf_puts(&f->log, "; ");
    va_start(args, format);
    prg_strbuf_vprintf(&f->log, format, args);
    va_end(args);
}

static void on_report(const struct prg_edge_report *report, void *ctx)
{
    struct fixture *f = ctx;
    char *content = prg_json_print_arena(&f->arena, report->content, PRG_JSON_COMPACT);
    note(f, "report %s %s %s/%s %s%s", report->node, report->kind, report->ns, report->name, content,
         report->attempts ? " again" : "");
    if (f->is_holding)
        f->held[f->held_count++] = report;
    else
        prg_edge_report_finish(f->edge, report, f->outcome, "no such job");
    if (f->outcome == PRG_EDGE_RETRY)
        f->outcome = PRG_EDGE_STORED;
}

static void on_connection(const char *node, bool is_connected, void *ctx)
{
    note(ctx, "%s %s", node, is_connected ? "came" : "went");
}

static void on_delivered(const char *node, const char *kind, const char *ns, const char *name, bool is_deletion,
                         void *ctx)
{
    (void)ns;
    note(ctx, "%s read %s of %s %s", node, is_deletion ? "deletion" : "insertion", kind, name);
}

static void on_remark(const char *kind, const char *ns, const char *name, const char *reason, const char *message,
                      void *ctx)
{
    (void)ns;
    note(ctx, "%s %s: %s: %s", kind, name, reason, message);
}

static void start(struct fixture *f, const struct prg_edge_options *given)
{
    struct prg_edge_options options = given ? *given : (struct prg_edge_options){0};
    struct prg_error err = {0};
    options.report = on_report;
    options.connection = on_connection;
    options.ctx = f;
    options.settle_ms = options.settle_ms ? options.settle_ms : 50;
    options.gap_ms = 1;
    f->edge = prg_edge_new(&f->loop, &options);
    assert_ok(prg_edge_listen(f->edge, &err), &err);
    f->port = prg_edge_port(f->edge);
}

static void put(struct fixture *f, const char *text)
{
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(f->store, json_of(&f->arena, text), false, true, &err), &err);
}

static int set_up(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    assert_int_equal(uv_loop_init(&f->loop), 0);
    prg_arena_init(&f->arena);
    prg_strbuf_init(&f->log);
    f->store = prg_store_mem_new();
    put(f, "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'Dataset', 'metadata': {'name': 'photos', 'namespace': 'ns'}, "
           "'spec': {'url': '/data/x.txt', 'format': 'txt', 'nodeName': 'edge1'}}");
    put(f, "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'Model', 'metadata': {'name': 'base', 'namespace': 'ns'}, "
           "'spec': {'url': '/m', 'format': 'ckpt'}}");
    put(f, "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'IncrementalLearningJob', 'metadata': {'name': 'helmet', "
           "'namespace': 'ns', 'uid': 'u1'}, 'spec': {'dataset': {'name': 'photos', 'trainProb': 0.8}, 'initialModel': "
           "{'name': 'base'}, 'outputDir': '/output', 'deploySpec': {'model': {'name': 'base'}, 'trigger': "
           "{'condition': {'metric': 'p[0]', 'operator': '>', 'threshold': 0}}}, 'trainSpec': {'trigger': "
           "{'condition': {'metric': 'num_of_samples', 'operator': '>', 'threshold': 1}}}}, 'status': {'conditions': "
           "[{'stage': 'Train', 'type': 'Waiting', 'status': 'True'}]}}");
    *state = f;
    return 0;
}

static void on_edge_closed(void *ctx)
{
    ((struct fixture *)ctx)->is_closed = true;
}

static bool is_closed(void *ctx)
{
    return ((struct fixture *)ctx)->is_closed;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f->edge) {
        f->is_closed = false;
        prg_edge_close(f->edge, on_edge_closed, f);
        assert_true(run_until(&f->loop, is_closed, f));
        prg_edge_free(f->edge);
    }
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0); // no handle is left open
    prg_store_free(f->store);
    prg_strbuf_release(&f->log);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static const cJSON *object(struct fixture *f, const char *kind, const char *name)
{
    const cJSON *found = prg_reader_get(&f->store->reader, "sedna.io", kind, "ns", name);
    assert_non_null(found);
    return found;
}

static void tell(struct fixture *f)
{
    prg_edge_tell_dataset(f->edge, &f->store->reader, object(f, "Dataset", "photos"), PRG_CHANGE_STORED);
    prg_edge_tell_job(f->edge, &f->store->reader, object(f, "IncrementalLearningJob", "helmet"), NULL,
                      PRG_CHANGE_STORED);
}

// The job gets one condition more and the nodes of its workers.
static void move_on(struct fixture *f, const char *stage, const char *type, const char *data, const char *annotations)
{
    cJSON *job = prg_json_copy(&f->arena, object(f, "IncrementalLearningJob", "helmet"));
    struct prg_error err = {0};
    prg_job_condition_append(&f->arena, job,
                             prg_job_condition_new(&f->arena, stage, type, NULL, NULL, data, "2026-06-01T00:00:00Z"));
    if (annotations)
        prg_json_set(&f->arena, prg_json_get(job, "metadata"), "annotations", json_of(&f->arena, annotations));
    assert_ok(prg_store_mem_put(f->store, job, false, true, &err), &err);
    tell(f);
}

// "insert dataset photos", "delete …", "close 1001", "gone".
static const char *next(struct fixture *f, struct client *client)
{
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    if (!client_next(client, frame, 5000))
        return client->is_gone ? "gone" : "nothing";
    if (frame->opcode == 8)
        return prg_arena_printf(&f->arena, "close %u",
                                (unsigned)(unsigned char)frame->text[0] << 8 | (unsigned char)frame->text[1]);
    assert_int_equal(frame->opcode, 1);
    assert_true(frame->is_whole && frame->text[frame->length - 1] == '\n');
    cJSON *message = NULL, *content = NULL;
    struct prg_error err = {0};
    size_t length;
    assert_ok(prg_json_parse(&f->arena, frame->text, frame->length, NULL, &message, &err), &err);
    const cJSON *header = prg_json_get(message, "header");
    const char *text = prg_json_get_text(message, "content");
    text = prg_base64_decode(&f->arena, text, strlen(text), &length);
    assert_ok(prg_json_parse(&f->arena, text, length, NULL, &content, &err), &err);
    assert_string_equal(prg_meta_name(content), prg_json_get_text(header, "resourceName"));
    assert_string_equal(prg_json_get_text(header, "namespace"), "ns");
    struct prg_job_condition latest = prg_job_condition_latest(content);
    return prg_arena_printf(&f->arena, "%s %s %s%s%s%s", prg_json_get_text(header, "operation"),
                            prg_json_get_text(header, "resourceKind"), prg_json_get_text(header, "resourceName"),
                            latest.node ? " in " : "", latest.node ? latest.stage : "", latest.node ? latest.type : "");
}

struct awaited {
    struct fixture *f;
    const char *text;
};

static bool is_noted(void *ctx)
{
    const struct awaited *awaited = ctx;
    return strstr(awaited->f->log.text, awaited->text) != NULL;
}

static void await(struct fixture *f, const char *text)
{
    struct awaited awaited = {f, text};
    if (!run_until(&f->loop, is_noted, &awaited))
        fail_msg("'%s' is not in: %s", text, f->log.text);
}

struct count_awaited {
    const uint64_t *counter;
    uint64_t value;
};

static bool has_count(void *ctx)
{
    const struct count_awaited *awaited = ctx;
    return *awaited->counter >= awaited->value;
}

static void await_refusal(struct fixture *f, enum prg_edge_refusal refusal, uint64_t value)
{
    struct count_awaited awaited = {&prg_edge_stats(f->edge)->refused[refusal], value};
    if (!run_until(&f->loop, has_count, &awaited))
        fail_msg("%s was counted %u times", prg_edge_refusal_name(refusal), (unsigned)*awaited.counter);
}

// ---- handshakes ----

static void handshakes_that_are_none_get_an_answer_that_says_why(void **state)
{
    static const char key[] = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    static const struct {
        const char *request; // without the end of the headers
        unsigned status;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", 400},
        {"GET / HTTP/1.0\r\nHost: x\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 8\r\n",
         426},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n",
         400},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n%sOrigin: http://elsewhere.example\r\n",
         403},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: ../a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n%s",
         403},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: a b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n%s",
         403},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name: n\r\nNODE-name: m\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n%s",
         400},
        {"GET / HTTP/1.1\r\nHost: x\r\nNode-Name:\r\nNode-Name: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n%s",
         400},
        {"\x16\x03\x01\x02\x03 TLS, it seems\r\n", 400},
    };
    struct fixture *f = *state;
    start(f, NULL);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct client client;
        const char *mark = strstr(cases[i].request, "%s");
        const char *request = mark ? prg_arena_printf(&f->arena, "%.*s%s%s", (int)(mark - cases[i].request),
                                                      cases[i].request, key, mark + 2)
                                   : cases[i].request;
        client_connect(&client, &f->loop, f->port);
        client_send(&client, request, strlen(request));
        client_send(&client, "\r\n", 2);
        unsigned status = client_status(&client);
        if (status != cases[i].status)
            fail_msg("%u for %s", status, request);
        client_close(&client);
    }
    assert_int_equal(prg_edge_stats(f->edge)->refused[PRG_EDGE_UNKNOWN_NODE], 2);
    assert_int_equal(prg_edge_stats(f->edge)->refused[PRG_EDGE_BAD_HANDSHAKE],
                     PRG_COUNT(cases) - 3); // no HTTP: uncounted
    assert_int_equal(prg_edge_stats(f->edge)->connections, 0);
}

static void handshakes_may_be_written_in_other_ways(void **state)
{
    struct fixture *f = *state;
    struct client client;
    start(f, NULL);
    client_connect(&client, &f->loop, f->port);
    static const char request[] = "GET /any/path?x=1 HTTP/1.1\r\nhost: gm:9000\r\nNODE-NAME: edge1\r\n"
                                  "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
                                  "sec-websocket-version: 13\r\nOrigin: http://gm:9000\r\n"
                                  "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    for (size_t at = 0; at < strlen(request); at += 7) // in small pieces
        client_send(&client, request + at, strlen(request + at) < 7 ? strlen(request + at) : 7);
    assert_int_equal(client_status(&client), 101);
    assert_true(prg_edge_is_connected(f->edge, "edge1"));
    client_close(&client);
    await(f, "edge1 went");
}

static bool only_lab(const char *node, void *ctx)
{
    (void)ctx;
    return strcmp(node, "edge-b") != 0;
}

static void nodes_that_are_not_known_are_refused(void **state)
{
    static const char *const nodes[] = {"edge1", "edge-*"};
    static const struct {
        const char *node;
        unsigned status;
    } cases[] = {{"edge1", 101},  {"edge-a", 101}, {"edge2", 403}, {"edge", 403},
                 {"edge-b", 403}, {NULL, 403},     {"", 403}};
    struct fixture *f = *state;
    struct prg_edge_options options = {.nodes = nodes, .node_count = 2, .is_known = only_lab};
    start(f, &options);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct client client;
        client_connect(&client, &f->loop, f->port);
        client_handshake(&client, cases[i].node, NULL);
        assert_int_equal(client_status(&client), cases[i].status);
        client_close(&client);
    }
    assert_int_equal(prg_edge_stats(f->edge)->refused[PRG_EDGE_UNKNOWN_NODE], 5);
}

static void an_empty_list_of_nodes_lets_nobody_in(void **state)
{
    static const char *const nodes[] = {NULL};
    static const char *const names[] = {"edge1", NULL, ""};
    struct fixture *f = *state;
    struct prg_edge_options options = {.nodes = nodes};
    start(f, &options);
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        struct client client;
        client_connect(&client, &f->loop, f->port);
        client_handshake(&client, names[i], NULL);
        assert_int_equal(client_status(&client), 403);
        client_close(&client);
    }
    assert_int_equal(prg_edge_stats(f->edge)->refused[PRG_EDGE_UNKNOWN_NODE], PRG_COUNT(names));
}

static void connections_above_the_limit_are_refused(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.max_connections = 1};
    struct client first, second;
    start(f, &options);
    client_open(&first, &f->loop, f->port, "edge1");
    client_connect(&second, &f->loop, f->port);
    client_handshake(&second, "edge2", NULL);
    assert_int_equal(client_status(&second), 503);
    assert_int_equal(prg_edge_stats(f->edge)->refused[PRG_EDGE_TOO_MANY], 1);
    client_close(&second);
    client_close(&first);
}

// ---- reports ----

static void reports_come_in_order_and_the_bare_first_message_is_none(void **state)
{
    struct fixture *f = *state;
    struct client client;
    start(f, NULL);
    client_open(&client, &f->loop, f->port, "edge1");
    client_send_text(&client, "{\"namespace\":\"\",\"resourceKind\":\"\",\"resourceName\":\"\",\"operation\":\"\"}\n");
    client_report(&client, "Dataset", "photos", "{\"numberOfSamples\":20}");
    client_report(&client, "IncrementalLearningJob", "helmet", "{\"phase\":\"Train\",\"status\":\"Ready\"}");
    client_report(&client, "incrementallearningjob", "helmet", "null");
    await(f, "ns/helmet null");
    assert_string_equal(f->log.text,
                        "edge1 came; report edge1 Dataset ns/photos {\"numberOfSamples\":20}; report edge1 "
                        "IncrementalLearningJob ns/helmet {\"phase\":\"Train\",\"status\":\"Ready\"}; report edge1 "
                        "IncrementalLearningJob ns/helmet null");
    client_close(&client);
}

static void what_is_sent_before_the_answer_is_read_as_well(void **state)
{
    struct fixture *f = *state;
    struct client client;
    start(f, NULL);
    client_connect(&client, &f->loop, f->port);
    client_handshake(&client, "edge1", NULL);
    for (int i = 0; i < 300; i++)
        client_report(&client, "Dataset", "photos", "{\"numberOfSamples\":20}");
    assert_int_equal(client_status(&client), 101);
    struct count_awaited awaited = {&prg_edge_stats(f->edge)->reports, 100};
    assert_true(run_until(&f->loop, has_count, &awaited));
    client_close(&client);
}

static void messages_in_fragments_with_pings_between_are_whole(void **state)
{
    static const char text[] = "{\"header\":{\"namespace\":\"ns\",\"resourceKind\":\"Dataset\",\"resourceName\":"
                               "\"photos\",\"operation\":\"status\"},\"content\":\"eyJuIjoxfQ==\"}";
    struct fixture *f = *state;
    struct client client;
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    start(f, NULL);
    client_open(&client, &f->loop, f->port, "edge1");
    for (size_t i = 0; text[i]; i++) {
        client_send_frame(&client, (i ? 0x00 : 0x01) | (text[i + 1] ? 0 : 0x80), text + i, 1);
        if (i == 10)
            client_send_frame(&client, 0x89, "are you there", 13);
    }
    await(f, "report edge1 Dataset ns/photos {\"n\":1}");
    assert_true(client_next(&client, frame, 5000));
    assert_int_equal(frame->opcode, 10);
    assert_string_equal(frame->text, "are you there");
    client_close(&client);
}

static void messages_that_are_none_are_counted_and_end_the_connection_where_the_original_ends_it(void **state)
{
    static const struct {
        const char *text;
        enum prg_edge_refusal refusal;
        bool ends;
    } cases[] = {
        {"not json", PRG_EDGE_MALFORMED, true},
        {"[]", PRG_EDGE_MALFORMED, true},
        {"{\"header\":7}", PRG_EDGE_MALFORMED, true},
        {"{\"header\":{\"operation\":7}}", PRG_EDGE_MALFORMED, true},
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"d\",\"operation\":\"status\"},\"content\":\"***"
         "\"}",
         PRG_EDGE_MALFORMED, true},
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"d\",\"operation\":\"status\"},\"content\":7}",
         PRG_EDGE_MALFORMED, true},
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"d\",\"operation\":\"status\"},\"content\":null}",
         PRG_EDGE_MALFORMED, false},
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"d\",\"operation\":\"status\"},\"content\":"
         "\"eyJu\"}",
         PRG_EDGE_MALFORMED, false}, // {"n
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"\",\"operation\":\"status\"},\"content\":"
         "\"e30=\"}",
         PRG_EDGE_MALFORMED, false},
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"../x\",\"operation\":\"status\"},\"content\":"
         "\"e30=\"}",
         PRG_EDGE_MALFORMED, false},
        {"{\"header\":{\"resourceKind\":\"dataset\",\"resourceName\":\"d\",\"operation\":\"update\"},\"content\":"
         "\"e30=\"}",
         PRG_EDGE_OPERATION, false},
        {"{}", PRG_EDGE_OPERATION, false},
        {"{\"header\":{\"resourceKind\":\"Model\",\"resourceName\":\"d\",\"operation\":\"status\"},\"content\":"
         "\"e30=\"}",
         PRG_EDGE_KIND, false},
        {"{\"header\":{\"resourceKind\":\"JointInferenceService\",\"resourceName\":\"d\",\"operation\":\"status\"},"
         "\"content\":\"e30=\"}",
         PRG_EDGE_KIND, false},
    };
    struct fixture *f = *state;
    start(f, NULL);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct client client;
        const char *node = prg_arena_printf(&f->arena, "node%zu", i);
        uint64_t before = prg_edge_stats(f->edge)->refused[cases[i].refusal];
        client_open(&client, &f->loop, f->port, node);
        client_send_text(&client, cases[i].text);
        await_refusal(f, cases[i].refusal, before + 1);
        if (cases[i].ends) {
            assert_string_equal(next(f, &client), "close 1007");
        } else {
            client_report(&client, "Dataset", node, "{}");
            await(f, prg_arena_printf(&f->arena, "ns/%s {}", node));
        }
        client_close(&client);
    }
}

// What is kept by its name is not made long by it, and leads nowhere else.
static void what_cannot_be_the_name_of_an_object_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client client;
    char *names[] = {prg_arena_alloc(&f->arena, 254),      prg_arena_alloc(&f->arena, 255),
                     prg_arena_strdup(&f->arena, "a\\nb"), prg_arena_strdup(&f->arena, ".."),
                     prg_arena_strdup(&f->arena, "a b"),   prg_arena_strdup(&f->arena, "\xc3\xa4")};
    for (size_t i = 0; i < 2; i++) {
        memset(names[i], 'x', 253 + i);
        names[i][253 + i] = '\0';
    }
    start(f, NULL);
    client_open(&client, &f->loop, f->port, "edge1");
    for (size_t i = 1; i < PRG_COUNT(names); i++) {
        client_report(&client, "dataset", names[i], "{\"numberOfSamples\":7}");
        await_refusal(f, PRG_EDGE_MALFORMED, i);
    }
    client_report(&client, "dataset", names[0], "{\"numberOfSamples\":7}");
    await(f, names[0]);
    assert_int_equal(prg_edge_stats(f->edge)->reports, 1);
    client_close(&client);
}

static void broken_frames_end_the_connection_with_the_right_code(void **state)
{
    static const struct {
        unsigned first;
        const char *payload;
        size_t length;
        const char *code; // NULL: it may just end
        enum prg_edge_refusal refusal;
    } cases[] = {
        {0x81, "\xff\xfe", 2, "close 1007", PRG_EDGE_MALFORMED}, // not UTF-8
        {0xc1, "x", 1, "close 1002", PRG_EDGE_MALFORMED},        // a reserved bit
        {0x83, "x", 1, "close 1002", PRG_EDGE_MALFORMED},        // a reserved opcode
        {0x80, "x", 1, "close 1002", PRG_EDGE_MALFORMED},        // goes on with nothing
        {0x09, "x", 1, NULL, PRG_EDGE_MALFORMED},                // a ping in fragments
    };
    struct fixture *f = *state;
    start(f, NULL);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct client client;
        uint64_t before = prg_edge_stats(f->edge)->refused[cases[i].refusal];
        client_open(&client, &f->loop, f->port, "edge1");
        client_send_frame(&client, cases[i].first, cases[i].payload, cases[i].length);
        const char *got = next(f, &client);
        if (cases[i].code ? strcmp(got, cases[i].code) != 0 : strcmp(got, "nothing") == 0)
            fail_msg("case %zu: %s", i, got);
        client_close(&client);
        await_refusal(f, cases[i].refusal, before + 1);
    }
    struct client client; // a frame that is not masked
    client_open(&client, &f->loop, f->port, "edge1");
    client_send(&client, "\x81\x01x", 3);
    assert_string_not_equal(next(f, &client), "nothing");
    client_close(&client);
}

static void a_message_above_the_limit_is_refused_with_1009(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.max_message_bytes = 100000};
    struct client client;
    start(f, &options);
    client_open(&client, &f->loop, f->port, "edge1");
    size_t length = 200000;
    char *big = prg_arena_alloc(&f->arena, length);
    memset(big, 'x', length);
    client_send_frame(&client, 0x81, big, length);
    assert_string_equal(next(f, &client), "close 1009");
    client_close(&client);
    await_refusal(f, PRG_EDGE_TOO_LARGE, 1);
    client_open(&client, &f->loop, f->port, "edge2"); // in fragments, each of which is small
    for (int i = 0; i < 4; i++)
        client_send_frame(&client, i ? 0x00 : 0x01, big, 30000);
    assert_string_equal(next(f, &client), "close 1009");
    client_close(&client);
    await_refusal(f, PRG_EDGE_TOO_LARGE, 2);
}

static void a_report_that_cannot_be_stored_comes_again_and_those_behind_it_wait(void **state)
{
    struct fixture *f = *state;
    struct client client;
    start(f, NULL);
    f->outcome = PRG_EDGE_RETRY; // once
    client_open(&client, &f->loop, f->port, "edge1");
    client_report(&client, "IncrementalLearningJob", "helmet", "1");
    client_report(&client, "IncrementalLearningJob", "helmet", "2");
    client_report(&client, "Dataset", "photos", "3");
    client_close(&client); // whoever sent them
    await(f, "ns/helmet 2");
    assert_string_equal(strstr(f->log.text, "report"),
                        "report edge1 IncrementalLearningJob ns/helmet 1; report edge1 Dataset ns/photos 3; edge1 "
                        "went; report edge1 IncrementalLearningJob ns/helmet 1 again; report edge1 "
                        "IncrementalLearningJob ns/helmet 2");
    assert_int_equal(prg_edge_stats(f->edge)->waiting_reports, 0);
}

static bool has_sixteen(void *ctx)
{
    return ((struct fixture *)ctx)->held_count >= 16;
}

static void a_node_whose_reports_are_not_finished_is_not_read_any_more(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.max_reports = 16, .reports_per_second = 1000000};
    struct client client, other;
    start(f, &options);
    f->is_holding = true;
    client_open(&client, &f->loop, f->port, "edge1");
    for (int i = 0; i < 400; i++)
        client_report(&client, "Dataset", prg_arena_printf(&f->arena, "d%d", i), "{\"numberOfSamples\":20}");
    assert_true(run_until(&f->loop, has_sixteen, f));
    client_open(&other, &f->loop, f->port, "edge2"); // others are
    client_report(&other, "Dataset", "other", "1");
    await(f, "report edge2 Dataset ns/other 1");
    assert_true(prg_edge_stats(f->edge)->waiting_reports < 120); // what one read had brought, no more
    f->is_holding = false;
    for (size_t i = 0; i < f->held_count; i++)
        prg_edge_report_finish(f->edge, f->held[i], PRG_EDGE_STORED, NULL);
    await(f, "ns/d399"); // all come in the end
    assert_int_equal(prg_edge_stats(f->edge)->reports, 401);
    client_close(&client);
    client_close(&other);
}

static void a_node_with_large_reports_is_not_read_any_more_long_before(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.max_report_bytes = 1 << 20, .reports_per_second = 1000000};
    struct client client, other;
    const char *large = prg_arena_printf(&f->arena, "{\"numberOfSamples\":20,\"x\":\"%0100000d\"}", 7);
    start(f, &options);
    f->is_holding = true;
    client_open(&client, &f->loop, f->port, "edge1");
    for (int i = 0; i < 30; i++)
        client_report(&client, "Dataset", prg_arena_printf(&f->arena, "d%d", i), large);
    client_open(&other, &f->loop, f->port, "edge2"); // others are
    client_report(&other, "Dataset", "other", "1");
    await(f, "report edge2 Dataset ns/other 1");
    assert_true(prg_edge_stats(f->edge)->waiting_reports < 16); // of 133 kB each
    f->is_holding = false;
    for (size_t i = 0; i < f->held_count; i++)
        prg_edge_report_finish(f->edge, f->held[i], PRG_EDGE_STORED, NULL);
    await(f, "ns/d29"); // all come in the end
    assert_int_equal(prg_edge_stats(f->edge)->reports, 31);
    client_close(&client);
    client_close(&other);
}

static void a_node_that_reports_too_fast_is_slowed_down_and_loses_nothing(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.reports_per_second = 200}; // 800 at once
    struct client client;
    start(f, &options);
    client_open(&client, &f->loop, f->port, "edge1");
    for (int i = 0; i < 1200; i++)
        client_report(&client, "Dataset", "photos", "{\"numberOfSamples\":20}");
    client_report(&client, "Dataset", "last", "1");
    await(f, "ns/last");
    assert_int_equal(prg_edge_stats(f->edge)->reports, 1201);
    client_close(&client);
}

static void reports_before_a_reset_are_not_lost(void **state)
{
    struct fixture *f = *state;
    start(f, NULL);
    for (int round = 0; round < 20; round++) {
        struct client client;
        const char *name = prg_arena_printf(&f->arena, "d%d", round);
        client_open(&client, &f->loop, f->port, "edge1");
        client_report(&client, "Dataset", name, "1");
        client_report(&client, "Dataset", name, "2");
        client_report(&client, "Dataset", name, "3");
        if (round % 2)
            client_close(&client); // with FIN; a reset throws away what is still in flight
        else
            client_reset(&client);
        await(f, prg_arena_printf(&f->arena, "ns/%s 3", name));
    }
}

static void reports_before_a_new_connection_are_not_lost(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.max_reports = 4};
    start(f, &options);
    for (int round = 0; round < 10; round++) {
        struct client older, newer;
        const char *node = prg_arena_printf(&f->arena, "n%d", round);
        client_open(&older, &f->loop, f->port, node);
        for (int i = 0; i < 20; i++) // the server reads none of it before the new connection is there
            client_report(&older, "Dataset", prg_arena_printf(&f->arena, "%s-%d", node, i), "1");
        client_connect(&newer, &f->loop, f->port);
        client_handshake(&newer, node, NULL);
        if (round % 2)
            client_close(&older);
        assert_int_equal(client_status(&newer), 101);
        for (int i = 0; i < 20; i++)
            await(f, prg_arena_printf(&f->arena, "ns/%s-%d 1", node, i));
        if (!(round % 2))
            client_close(&older);
        client_close(&newer);
    }
}

// ---- messages to nodes ----

static void a_node_is_told_in_order_and_what_it_has_read_is_known(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.delivered = on_delivered};
    struct client client;
    start(f, &options);
    tell(f);
    tell(f); // the same once more
    client_open(&client, &f->loop, f->port, "edge1");
    assert_string_equal(next(f, &client), "insert dataset photos");
    assert_int_equal(client.pings, 0); // the one that says it is read comes behind it
    assert_string_equal(next(f, &client), "insert model base");
    assert_string_equal(next(f, &client), "insert incrementallearningjob helmet in TrainWaiting");
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    assert_false(client_next(&client, frame, 300));
    await(f, "edge1 read insertion of IncrementalLearningJob helmet");
    assert_int_equal(prg_edge_stats(f->edge)->waiting_messages, 0);
    assert_int_equal(prg_edge_stats(f->edge)->messages_sent, 3);
    client_close(&client);
}

static void a_node_that_connects_again_is_told_all_again(void **state)
{
    struct fixture *f = *state;
    start(f, NULL);
    tell(f);
    for (int round = 0; round < 3; round++) {
        struct client client;
        client_open(&client, &f->loop, f->port, "edge1");
        assert_string_equal(next(f, &client), "insert dataset photos");
        assert_string_equal(next(f, &client), "insert model base");
        assert_string_equal(next(f, &client), "insert incrementallearningjob helmet in TrainWaiting");
        client_reset(&client);
        await(f, "edge1 went");
        prg_strbuf_clear(&f->log);
    }
}

static void a_newer_connection_of_a_node_takes_the_place_of_the_older_one(void **state)
{
    struct fixture *f = *state;
    struct client older, newer, third;
    start(f, NULL);
    client_open(&older, &f->loop, f->port, "edge1");
    client_open(&newer, &f->loop, f->port, "edge1");
    assert_string_equal(next(f, &older), "close 1008");
    tell(f);
    assert_string_equal(next(f, &newer), "insert dataset photos");
    assert_string_equal(next(f, &newer), "insert model base");
    assert_true(prg_edge_is_connected(f->edge, "edge1"));
    client_connect(&third, &f->loop, f->port); // two that take turns are slowed down
    client_handshake(&third, "edge1", NULL);
    assert_int_equal(client_status(&third), 503);
    client_close(&third);
    client_close(&older);
    client_close(&newer);
}

static void two_nodes_are_told_what_concerns_them(void **state)
{
    static const char annotations[] = "{'sedna.io/Train': 'edge2'}";
    struct fixture *f = *state;
    struct prg_edge_options options = {.delivered = on_delivered};
    struct client one, two;
    start(f, &options);
    tell(f);
    client_open(&one, &f->loop, f->port, "edge1");
    client_open(&two, &f->loop, f->port, "edge2");
    assert_string_equal(next(f, &one), "insert dataset photos");
    assert_string_equal(next(f, &one), "insert model base");
    assert_string_equal(next(f, &one), "insert incrementallearningjob helmet in TrainWaiting");
    move_on(f, "Train", "Ready", "{}", NULL);
    assert_string_equal(next(f, &one), "insert incrementallearningjob helmet in TrainReady"); // it stops asking
    move_on(f, "Train", "Running", NULL, annotations);
    assert_string_equal(next(f, &two), "insert incrementallearningjob helmet in TrainRunning");
    move_on(f, "Train", "Completed", "{\"output\":{\"models\":[{\"format\":\"ckpt\",\"url\":\"/t\"}]}}", annotations);
    assert_string_equal(next(f, &two), "delete incrementallearningjob helmet in TrainCompleted");
    move_on(f, "Eval", "Waiting", NULL, annotations);
    const char *told = next(f, &one);
    if (strstr(told, "TrainRunning")) // unless a later state took its place before it was sent
        told = next(f, &one);
    assert_string_equal(told, "insert model base");
    assert_string_equal(next(f, &one), "insert incrementallearningjob helmet in EvalWaiting");
    client_close(&one);
    client_close(&two);
}

static void a_deletion_reaches_a_node_that_was_away(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.delivered = on_delivered};
    struct client client;
    start(f, &options);
    tell(f);
    client_open(&client, &f->loop, f->port, "edge1");
    for (int i = 0; i < 3; i++)
        next(f, &client);
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    assert_false(client_next(&client, frame, 100));
    await(f, "insertion of IncrementalLearningJob helmet");
    client_close(&client);
    await(f, "edge1 went");
    prg_edge_tell_job(f->edge, &f->store->reader, object(f, "IncrementalLearningJob", "helmet"), NULL,
                      PRG_CHANGE_DELETED);
    prg_edge_tell_dataset(f->edge, &f->store->reader, object(f, "Dataset", "photos"), PRG_CHANGE_DELETED);
    assert_int_equal(prg_edge_waiting_deletions(f->edge, "IncrementalLearningJob", "ns", "helmet"), 1);
    client_open(&client, &f->loop, f->port, "edge1");
    client.is_mute = true; // it gets the deletion and dies before it reads it
    assert_string_equal(next(f, &client), "delete dataset photos");
    client_reset(&client);
    client_open(&client, &f->loop, f->port, "edge1");
    const char *one = next(f, &client), *two = next(f, &client); // what was told just before may have to settle
    assert_true(strstr(one, "delete dataset photos") || strstr(two, "delete dataset photos"));
    assert_true(strstr(one, "delete incremental") || strstr(two, "delete incremental"));
    assert_false(client_next(&client, frame, 100));
    await(f, "edge1 read deletion of IncrementalLearningJob helmet");
    assert_int_equal(prg_edge_waiting_deletions(f->edge, "IncrementalLearningJob", "ns", "helmet"), 0);
    client_close(&client);
}

static void a_node_that_stays_away_is_given_up(void **state)
{
    struct fixture *f = *state;
    struct client client;
    start(f, NULL);
    tell(f);
    prg_edge_tell_job(f->edge, &f->store->reader, object(f, "IncrementalLearningJob", "helmet"), NULL,
                      PRG_CHANGE_DELETED);
    assert_int_equal(prg_edge_waiting_deletions(f->edge, "IncrementalLearningJob", "ns", "helmet"), 1);
    prg_edge_give_up_deletions(f->edge, "IncrementalLearningJob", "ns", "helmet");
    assert_int_equal(prg_edge_waiting_deletions(f->edge, "IncrementalLearningJob", "ns", "helmet"), 0);
    client_open(&client, &f->loop, f->port, "edge1");
    assert_string_equal(next(f, &client), "insert dataset photos");
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    assert_false(client_next(&client, frame, 100));
    client_close(&client);
}

// As with the original: what would go to a node that is not known goes to whoever has no name.
static void a_node_without_a_name_is_told_what_no_node_is_known_for(void **state)
{
    struct fixture *f = *state;
    struct client client, other;
    start(f, NULL);
    tell(f);
    prg_edge_tell_job(f->edge, &f->store->reader, object(f, "IncrementalLearningJob", "helmet"), NULL,
                      PRG_CHANGE_DELETED);
    prg_edge_tell_job(f->edge, &f->store->reader, object(f, "IncrementalLearningJob", "helmet"), NULL,
                      PRG_CHANGE_STORED);
    assert_int_equal(prg_edge_stats(f->edge)->nodes, 1); // nothing is kept for one that is not there
    client_open(&client, &f->loop, f->port, NULL);
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    assert_false(client_next(&client, frame, 100));
    client_report(&client, "dataset", "photos", "{\"numberOfSamples\":7}");
    await(f, "report  Dataset ns/photos {\"numberOfSamples\":7}");
    prg_edge_tell_job(f->edge, &f->store->reader, object(f, "IncrementalLearningJob", "helmet"), NULL,
                      PRG_CHANGE_DELETED);
    assert_string_equal(next(f, &client), "delete incrementallearningjob helmet in TrainWaiting");
    client_open(&other, &f->loop, f->port, ""); // its successor
    assert_false(client_next(&other, frame, 100));
    client_close(&client);
    client_close(&other);
}

static void a_dataset_that_moves_is_deleted_from_its_old_node(void **state)
{
    struct fixture *f = *state;
    struct client one, two;
    start(f, NULL);
    tell(f);
    client_open(&one, &f->loop, f->port, "edge1");
    client_open(&two, &f->loop, f->port, "edge2");
    for (int i = 0; i < 3; i++)
        next(f, &one);
    put(f, "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'Dataset', 'metadata': {'name': 'photos', 'namespace': 'ns'}, "
           "'spec': {'url': '/data/x.txt', 'format': 'txt', 'nodeName': 'edge2'}}");
    tell(f);
    assert_string_equal(next(f, &one), "delete dataset photos");
    assert_string_equal(next(f, &one), "delete incrementallearningjob helmet in TrainWaiting");
    assert_string_equal(next(f, &two), "insert dataset photos");
    assert_string_equal(next(f, &two), "insert model base");
    assert_string_equal(next(f, &two), "insert incrementallearningjob helmet in TrainWaiting");
    client_close(&one);
    client_close(&two);
}

static void what_is_held_back_is_remarked_once(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.remark = on_remark};
    start(f, &options);
    cJSON *job = prg_json_copy(&f->arena, object(f, "IncrementalLearningJob", "helmet"));
    struct prg_error err = {0};
    prg_json_set(&f->arena, prg_json_at(job, "spec", "dataset"), "trainProb", prg_json_int(&f->arena, 2));
    assert_ok(prg_store_mem_put(f->store, job, false, true, &err), &err);
    tell(f);
    tell(f);
    assert_string_equal(f->log.text, "IncrementalLearningJob helmet: EdgeMessageHeld: node edge1 is not told about "
                                     "IncrementalLearningJob helmet: /spec/dataset/trainProb: must lie between 0 and "
                                     "1, not 2");
    assert_int_equal(prg_edge_stats(f->edge)->held, 1);
}

// ---- connections that are no use ----

static void a_node_that_answers_no_ping_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.ping_ms = 50};
    struct client mute;
    start(f, &options);
    client_open(&mute, &f->loop, f->port, "edge1");
    mute.is_mute = true;
    assert_string_equal(next(f, &mute), "gone");
    assert_true(mute.pings >= 2);
    assert_int_equal(prg_edge_stats(f->edge)->refused[PRG_EDGE_UNANSWERED], 1);
    client_close(&mute);
}

static void a_node_that_does_not_read_costs_little_and_stops_nobody(void **state)
{
    struct fixture *f = *state;
    struct client stuck, other;
    start(f, NULL);
    client_open(&stuck, &f->loop, f->port, "edge1");
    int small = 4096;
    setsockopt(stuck.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    char *ping = prg_arena_zalloc(&f->arena, 125);
    for (int i = 0; i < 3000; i++) { // never reads the answers
        prg_auto_strbuf bytes = PRG_STRBUF_INIT;
        prg_strbuf_add(&bytes, "\x89\xfd\0\0\0\0", 6);
        prg_strbuf_add(&bytes, ping, 125);
        if (send(stuck.fd, bytes.text, bytes.length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    client_open(&other, &f->loop, f->port, "edge2");
    client_report(&other, "Dataset", "photos", "1");
    await(f, "report edge2 Dataset ns/photos 1");
    client_close(&other);
    client_close(&stuck);
}

static void a_close_of_the_node_is_answered(void **state)
{
    struct fixture *f = *state;
    struct client client;
    start(f, NULL);
    client_open(&client, &f->loop, f->port, "edge1");
    client_send_frame(&client, 0x88, "\x03\xe8", 2);
    assert_string_equal(next(f, &client), "close 1000");
    assert_string_equal(next(f, &client), "gone");
    await(f, "edge1 went");
    client_close(&client);
}

// ---- the end ----

static void the_end_is_told_to_every_node(void **state)
{
    struct fixture *f = *state;
    struct client nodes[20], half;
    start(f, NULL);
    tell(f);
    for (size_t i = 0; i < PRG_COUNT(nodes); i++)
        client_open(&nodes[i], &f->loop, f->port, prg_arena_printf(&f->arena, "n%zu", i));
    client_connect(&half, &f->loop, f->port); // a handshake that never ends
    client_send(&half, "GET / HTTP/1.1\r\n", 16);
    nodes[3].is_mute = true;
    prg_edge_close(f->edge, on_edge_closed, f);
    for (size_t i = 0; i < PRG_COUNT(nodes); i++)
        if (i != 3)
            assert_string_equal(next(f, &nodes[i]), "close 1001");
    assert_true(run_until(&f->loop, is_closed, f)); // though no node answers the close
    for (size_t i = 0; i < PRG_COUNT(nodes); i++)
        client_close(&nodes[i]);
    client_close(&half);
    assert_int_equal(prg_edge_port(f->edge), 0);
}

static void it_begins_anew_after_an_end(void **state)
{
    struct fixture *f = *state;
    struct client client;
    struct prg_error err = {0};
    start(f, NULL);
    tell(f);
    client_open(&client, &f->loop, f->port, "edge1");
    prg_edge_close(f->edge, on_edge_closed, f);
    assert_true(run_until(&f->loop, is_closed, f));
    client_close(&client);
    assert_ok(prg_edge_listen(f->edge, &err), &err);
    client_open(&client, &f->loop, prg_edge_port(f->edge), "edge1");
    assert_string_equal(next(f, &client), "insert dataset photos");
    client_close(&client);
}

// Another controller may have led meanwhile: what counted as read in this one's last term says nothing.
static void in_another_term_all_is_told_anew_also_what_was_read(void **state)
{
    struct fixture *f = *state;
    struct prg_edge_options options = {.delivered = on_delivered};
    struct client client;
    struct prg_error err = {0};
    start(f, &options);
    client_open(&client, &f->loop, f->port, "edge2");
    move_on(f, "Train", "Waiting", NULL, "{'sedna.io/Train': 'edge2'}");
    assert_string_equal(next(f, &client), "delete incrementallearningjob helmet in TrainWaiting");
    struct frame *frame = prg_arena_new(&f->arena, struct frame);
    assert_false(client_next(&client, frame, 100)); // answers the ping behind it
    await(f, "edge2 read deletion of IncrementalLearningJob helmet");
    prg_edge_close(f->edge, on_edge_closed, f);
    assert_true(run_until(&f->loop, is_closed, f));
    client_close(&client);
    prg_edge_forget(f->edge);
    assert_int_equal(prg_edge_stats(f->edge)->nodes, 0);
    tell(f);
    assert_ok(prg_edge_listen(f->edge, &err), &err);
    client_open(&client, &f->loop, prg_edge_port(f->edge), "edge2");
    assert_string_equal(next(f, &client), "delete incrementallearningjob helmet in TrainWaiting");
    client_close(&client);
}

static void an_address_that_is_taken_or_none_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct prg_error err = {0};
    start(f, NULL);
    struct prg_edge_options options = {.port = f->port, .report = on_report};
    struct prg_edge *other = prg_edge_new(&f->loop, &options);
    assert_int_equal(prg_edge_listen(other, &err), PRG_IO);
    assert_error_has(&err, "edge link: cannot listen on 127.0.0.1 port");
    prg_edge_free(other);
    options.address = "localhost";
    other = prg_edge_new(&f->loop, &options);
    assert_int_equal(prg_edge_listen(other, &err), PRG_INVALID);
    assert_error_has(&err, "'localhost' is no IP address");
    prg_edge_free(other);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST(handshakes_that_are_none_get_an_answer_that_says_why),
        LINK_TEST(handshakes_may_be_written_in_other_ways),
        LINK_TEST(nodes_that_are_not_known_are_refused),
        LINK_TEST(an_empty_list_of_nodes_lets_nobody_in),
        LINK_TEST(connections_above_the_limit_are_refused),
        LINK_TEST(reports_come_in_order_and_the_bare_first_message_is_none),
        LINK_TEST(what_is_sent_before_the_answer_is_read_as_well),
        LINK_TEST(messages_in_fragments_with_pings_between_are_whole),
        LINK_TEST(messages_that_are_none_are_counted_and_end_the_connection_where_the_original_ends_it),
        LINK_TEST(what_cannot_be_the_name_of_an_object_is_refused),
        LINK_TEST(broken_frames_end_the_connection_with_the_right_code),
        LINK_TEST(a_message_above_the_limit_is_refused_with_1009),
        LINK_TEST(a_report_that_cannot_be_stored_comes_again_and_those_behind_it_wait),
        LINK_TEST(a_node_whose_reports_are_not_finished_is_not_read_any_more),
        LINK_TEST(a_node_with_large_reports_is_not_read_any_more_long_before),
        LINK_TEST(a_node_that_reports_too_fast_is_slowed_down_and_loses_nothing),
        LINK_TEST(reports_before_a_reset_are_not_lost),
        LINK_TEST(reports_before_a_new_connection_are_not_lost),
        LINK_TEST(a_node_is_told_in_order_and_what_it_has_read_is_known),
        LINK_TEST(a_node_that_connects_again_is_told_all_again),
        LINK_TEST(a_newer_connection_of_a_node_takes_the_place_of_the_older_one),
        LINK_TEST(two_nodes_are_told_what_concerns_them),
        LINK_TEST(a_deletion_reaches_a_node_that_was_away),
        LINK_TEST(a_node_that_stays_away_is_given_up),
        LINK_TEST(a_node_without_a_name_is_told_what_no_node_is_known_for),
        LINK_TEST(a_dataset_that_moves_is_deleted_from_its_old_node),
        LINK_TEST(what_is_held_back_is_remarked_once),
        LINK_TEST(a_node_that_answers_no_ping_is_dropped),
        LINK_TEST(a_node_that_does_not_read_costs_little_and_stops_nobody),
        LINK_TEST(a_close_of_the_node_is_answered),
        LINK_TEST(the_end_is_told_to_every_node),
        LINK_TEST(it_begins_anew_after_an_end),
        LINK_TEST(in_another_term_all_is_told_anew_also_what_was_read),
        LINK_TEST(an_address_that_is_taken_or_none_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
