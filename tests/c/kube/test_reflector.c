// SPDX-License-Identifier: Apache-2.0
// test_reflector.c: list and watch against answers given by hand, with a clock moved by hand.
#include "kube/reflector.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

struct fixture {
    struct script script;
    struct prg_timers *timers;
    struct prg_objects *objects;
    struct prg_object_kind *kind;
    struct prg_reflector *reflector;
    struct prg_arena arena;
    struct prg_strbuf log;    // changes: "+a@1 ~a@2 -a@3 "
    struct prg_strbuf health; // "OK BROKEN:text "
    unsigned synced;
    bool stops_at_change;
};

static void on_change(enum prg_object_change change, const struct prg_object *old, const struct prg_object *object,
                      void *ctx)
{
    struct fixture *f = ctx;
    (void)old;
    prg_strbuf_printf(&f->log, "%c%s@%s ", "=+~-"[change], prg_object_name(object), prg_object_version(object));
    if (f->stops_at_change)
        prg_reflector_stop(f->reflector);
}

static void on_health(enum prg_reflector_health health, const struct prg_error *err, void *ctx)
{
    static const char *const names[] = {"STARTING", "OK", "BROKEN", "MISSING", "DENIED"};
    struct fixture *f = ctx;
    char text[PRG_ERROR_LINE] = "";
    if (err)
        prg_error_text(err, text, sizeof(text));
    prg_strbuf_printf(&f->health, "%s:%s\n", names[health], text);
}

static void on_synced(void *ctx)
{
    ((struct fixture *)ctx)->synced++;
}

static void begin(struct fixture *f, const struct prg_reflector_options *more)
{
    struct prg_reflector_handler handler = {on_change, on_health, on_synced, f};
    struct prg_reflector_options options = more ? *more : (struct prg_reflector_options){0};
    options.path = "/api/v1/pods";
    options.seed = 1;
    f->reflector = prg_reflector_new(&f->script.transport, f->timers, f->kind, &options, &handler);
    prg_reflector_start(f->reflector);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    script_init(&f->script);
    f->timers = prg_timers_new_manual(1000, 0);
    f->objects = prg_objects_new(0);
    f->kind = prg_objects_kind(f->objects, &(struct prg_kind_options){"", "v1", "Pod", NULL, NULL});
    prg_strbuf_init(&f->log);
    prg_strbuf_init(&f->health);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_reflector_free(f->reflector);
    script_expect_none(&f->script); // the open one was cancelled
    script_release(&f->script);
    prg_objects_free(f->objects);
    prg_timers_free(f->timers);
    prg_strbuf_release(&f->log);
    prg_strbuf_release(&f->health);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static void assert_log(struct fixture *f, const char *want)
{
    assert_string_equal(f->log.text, want);
    prg_strbuf_clear(&f->log);
}

static void assert_health(struct fixture *f, const char *part)
{
    if (!strstr(f->health.text, part))
        fail_msg("'%s' is not in: %s", part, f->health.text);
    prg_strbuf_clear(&f->health);
}

static const char *item(struct fixture *f, const char *name, const char *version)
{
    return prg_arena_printf(&f->arena, "{'metadata':{'name':'%s','uid':'u-%s','resourceVersion':'%s'}}", name, name,
                            version);
}

// A list at a version with objects as "a@1 b@2".
static const char *list_of(struct fixture *f, const char *version, const char *token, const char *objects)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_strbuf_printf(&out, "{'kind':'PodList','metadata':{'resourceVersion':'%s','continue':'%s'},'items':[", version,
                      token);
    for (const char *at = objects, *comma = ""; *at; comma = ",") {
        const char *sign = strchr(at, '@');
        size_t length = strcspn(sign, " ");
        prg_strbuf_printf(&out, "%s%s", comma,
                          item(f, prg_arena_strndup(&f->arena, at, (size_t)(sign - at)),
                               prg_arena_strndup(&f->arena, sign + 1, length - 1)));
        at = sign + length;
        at += *at == ' ';
    }
    prg_strbuf_puts(&out, "]}");
    return prg_arena_strdup(&f->arena, out.text);
}

static const char *event(struct fixture *f, const char *type, const char *name, const char *version)
{
    return prg_arena_printf(&f->arena, "{'type':'%s','object':%s}\n", type, item(f, name, version));
}

static const char *bookmark(struct fixture *f, const char *version)
{
    return prg_arena_printf(
        &f->arena, "{'type':'BOOKMARK','object':{'kind':'Pod','metadata':{'resourceVersion':'%s'}}}\n", version);
}

static const char *error_event(struct fixture *f, int code, const char *reason, int retry_seconds)
{
    return prg_arena_printf(&f->arena,
                            "{'type':'ERROR','object':{'kind':'Status','code':%d,'reason':'%s','message':'m',"
                            "'details':{'retryAfterSeconds':%d}}}\n",
                            code, reason, retry_seconds);
}

static struct prg_call *expect_list(struct fixture *f, const char *part)
{
    struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods", part);
    assert_null(strstr(call->request.path, "watch="));
    assert_int_equal(call->request.kind, PRG_CALL_READ);
    return call;
}

static struct prg_call *expect_watch(struct fixture *f, const char *version)
{
    const char *part = prg_arena_printf(&f->arena, "&resourceVersion=%s&timeoutSeconds=", version);
    struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true&allowWatchBookmarks=true&", part);
    assert_int_equal(call->request.kind, PRG_CALL_WATCH);
    return call;
}

// Lists a@1 at version 10 and begins to watch.
static void sync_first(struct fixture *f)
{
    begin(f, NULL);
    script_answer(&f->script, expect_list(f, "resourceVersion=0"), 200, list_of(f, "10", "", "a@1"));
    assert_log(f, "+a@1 ");
    expect_watch(f, "10");
    prg_strbuf_clear(&f->health);
}

// Moves on to the next timer, which must be due within [low, high] ms.
static void step(struct fixture *f, int64_t low, int64_t high)
{
    int64_t next = prg_timers_next_ms(f->timers);
    if (next < low || next > high)
        fail_msg("the next timer is due in %lld ms, not in %lld to %lld", (long long)next, (long long)low,
                 (long long)high);
    prg_timers_step(f->timers);
}

// ---- the good way ----

static void lists_then_watches_then_follows(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL);
    struct prg_call *call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?limit=500&resourceVersion=0");
    script_answer(&f->script, call, 200, list_of(f, "10", "", "a@1 b@2"));
    assert_log(f, "+a@1 +b@2 ");
    assert_int_equal(f->synced, 1);
    assert_health(f, "OK:\n");
    call = expect_watch(f, "10");
    script_data(call, event(f, "ADDED", "c", "11"), 0);
    script_data(call, event(f, "MODIFIED", "a", "12"), 0);
    script_data(call, event(f, "DELETED", "b", "13"), 0);
    assert_log(f, "+c@11 ~a@12 -b@2 ");
    assert_string_equal(prg_reflector_version(f->reflector), "13");
    script_data(call, bookmark(f, "20"), 0);
    assert_string_equal(prg_reflector_version(f->reflector), "20");
    script_answer(&f->script, call, 200, ""); // the server's timeout
    expect_watch(f, "20");
    assert_int_equal(f->synced, 1);
}

static void a_watch_is_asked_for_five_to_ten_minutes(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    uint64_t shortest = UINT64_MAX, longest = 0;
    for (int i = 0; i < 50; i++) {
        struct prg_call *call = expect_watch(f, "10");
        uint64_t seconds = strtoull(strstr(call->request.path, "timeoutSeconds=") + 15, NULL, 10);
        assert_int_equal(call->request.deadline_ms, seconds * 1000 + 15000);
        shortest = seconds < shortest ? seconds : shortest;
        longest = seconds > longest ? seconds : longest;
        prg_timers_advance(f->timers, 300000);
        script_answer(&f->script, call, 200, "");
    }
    assert_true(shortest >= 300 && shortest < 360 && longest < 600 && longest > 540);
}

static void events_may_come_in_any_pieces(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    const char *text = prg_arena_printf(&f->arena, "%s\r\n\n%s%s", event(f, "ADDED", "c", "11"),
                                        event(f, "MODIFIED", "c", "12"), bookmark(f, "14"));
    script_data(expect_watch(f, "10"), text, 1);
    assert_log(f, "+c@11 ~c@12 ");
    assert_string_equal(prg_reflector_version(f->reflector), "14");
}

static void an_event_that_is_cut_off_is_dropped_and_watched_again(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    struct prg_call *call = expect_watch(f, "10");
    const char *second = event(f, "ADDED", "d", "12");
    script_data(call, event(f, "ADDED", "c", "11"), 0);
    script_data(call, prg_arena_strndup(&f->arena, second, strlen(second) / 2), 0);
    script_fault(&f->script, call, 200, PRG_FAULT_CUT);
    assert_log(f, "+c@11 ");
    script_data(expect_watch(f, "11"), second, 0); // at once, from the last whole one
    assert_log(f, "+d@12 ");
}

// ---- pages ----

static void long_lists_come_in_pages(void **state)
{
    struct fixture *f = *state;
    begin(f, &(struct prg_reflector_options){.page_size = 2});
    script_answer(&f->script, expect_list(f, "?limit=2&resourceVersion=0"), 200, list_of(f, "10", "a/b=", "a@1 b@2"));
    assert_log(f, ""); // nothing before all is there
    struct prg_call *call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?limit=2&continue=a%2Fb%3D");
    script_answer(&f->script, call, 200, list_of(f, "10", "", "c@3"));
    assert_log(f, "+a@1 +b@2 +c@3 ");
    expect_watch(f, "10");
}

static void an_expired_continue_token_lists_all_at_once(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL);
    script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "10", "t", "a@1"));
    script_answer(&f->script, expect_list(f, "continue=t"), 410, "{'kind':'Status','reason':'Expired'}");
    struct prg_call *call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?resourceVersion=0");
    script_answer(&f->script, call, 200, list_of(f, "20", "", "b@2"));
    assert_log(f, "+b@2 "); // no page of the first list
    expect_watch(f, "20");
}

static void a_list_that_is_cut_or_broken_changes_nothing(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    script_answer(&f->script, expect_watch(f, "10"), 200, error_event(f, 410, "Expired", 0));
    step(f, 800, 1600);
    struct prg_call *call = expect_list(f, "resourceVersion=10");
    script_data(call, "{'metadata':{'resourceVersion':'20'},'items':[", 0);
    script_data(call, item(f, "z", "15"), 0);
    script_fault(&f->script, call, 200, PRG_FAULT_CUT);
    assert_log(f, "");
    assert_health(f, "BROKEN:/api/v1/pods: fault 2");
    step(f, 1600, 3200);
    script_answer(&f->script, expect_list(f, "resourceVersion=10"), 200, "{'items':[");
    assert_health(f, "in the middle of the list");
    step(f, 3200, 6400);
    script_answer(&f->script, expect_list(f, "resourceVersion=10"), 200, "{'items':[{'metadata':{}}]}");
    assert_health(f, "metadata.name is missing");
    step(f, 6400, 12800);
    script_answer(&f->script, expect_list(f, "resourceVersion=10"), 200, "{'items':[],'metadata':{}}");
    assert_health(f, "the list has no metadata.resourceVersion");
    assert_log(f, "");
    step(f, 12800, 25600);
    script_answer(&f->script, expect_list(f, "resourceVersion=10"), 200, list_of(f, "30", "", ""));
    assert_log(f, "-a@1 ");
    assert_health(f, "OK:");
}

// ---- expired and strange versions ----

static void an_expired_watch_lists_anew_and_finds_deletions(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    script_answer(&f->script, expect_watch(f, "10"), 200, error_event(f, 410, "Expired", 0));
    script_expect_none(&f->script);
    assert_health(f, "the watch says 410 Expired: m");
    step(f, 800, 1600);
    struct prg_call *call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?resourceVersion=10"); // no pages: from a server's cache
    script_answer(&f->script, call, 200, list_of(f, "30", "", "b@25"));
    assert_log(f, "+b@25 -a@1 ");
    expect_watch(f, "30");
    assert_int_equal(prg_reflector_count(f->reflector)->expired, 1);
}

static void an_expired_or_future_version_lists_without_one_at_once(void **state)
{
    static const struct {
        int status;
        const char *body;
    } cases[] = {
        {410, "{'kind':'Status','reason':'Expired'}"},
        {504, "{'kind':'Status','reason':'Timeout','details':{'causes':[{'reason':'ResourceVersionTooLarge'}]}}"},
        {500, "{'kind':'Status','message':'Too large resource version: 10, current: 3'}"},
    };
    struct fixture *f = *state;
    sync_first(f);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", NULL);
        script_answer(&f->script, call, 200, error_event(f, 410, "Gone", 0));
        prg_timers_step(f->timers);
        script_answer(&f->script, expect_list(f, "resourceVersion="), cases[i].status, cases[i].body);
        call = expect_list(f, NULL);
        assert_string_equal(call->request.path, "/api/v1/pods?limit=500");
        script_answer(&f->script, call, 200, list_of(f, i == 2 ? "3" : "40", "", "a@1"));
        assert_log(f, "");
    }
    expect_watch(f, "3"); // a restored etcd counts anew
}

static void expiry_again_and_again_is_slowed_down(void **state)
{
    struct fixture *f = *state;
    static const int64_t delays[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    sync_first(f);
    for (size_t i = 0; i < PRG_COUNT(delays); i++) {
        struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", NULL);
        script_answer(&f->script, call, 200, error_event(f, 410, "Expired", 0));
        step(f, delays[i], 2 * delays[i]);
        script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "30", "", "a@1"));
    }
    // Two quiet minutes, and the delays begin anew.
    struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", NULL);
    prg_timers_advance(f->timers, 120000);
    script_answer(&f->script, call, 200, error_event(f, 410, "Expired", 0));
    step(f, 800, 1600);
}

static void an_older_list_is_not_taken_from_a_cache(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    script_answer(&f->script, expect_watch(f, "10"), 200, error_event(f, 410, "Expired", 0));
    prg_timers_step(f->timers);
    script_answer(&f->script, expect_list(f, "resourceVersion=10"), 200, list_of(f, "9", "", "old@1"));
    assert_log(f, "");
    struct prg_call *call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?limit=500");
    script_answer(&f->script, call, 200, list_of(f, "9", "", "b@1")); // etcd says so: restored
    assert_log(f, "+b@1 -a@1 ");
    expect_watch(f, "9");
}

static void a_version_that_goes_back_in_a_watch_lists_without_one(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    struct prg_call *call = expect_watch(f, "10");
    script_answer(&f->script, call, 200, bookmark(f, "7"));
    assert_health(f, "the server went back from resourceVersion 10 to 7");
    prg_timers_step(f->timers);
    call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?limit=500");
    script_answer(&f->script, call, 200, list_of(f, "7", "", "b@5"));
    assert_log(f, "+b@5 -a@1 ");
    script_answer(&f->script, expect_watch(f, "7"), 200, event(f, "MODIFIED", "b", "6"));
    assert_health(f, "went back from resourceVersion 7 to 6");
}

static void a_deletion_with_an_old_version_deletes_and_moves_nothing(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    script_data(expect_watch(f, "10"), event(f, "DELETED", "a", "1"), 0);
    assert_log(f, "-a@1 ");
    assert_string_equal(prg_reflector_version(f->reflector), "10");
}

static void an_object_made_again_under_its_name_is_another(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    script_data(expect_watch(f, "10"),
                "{'type':'MODIFIED','object':{'metadata':{'name':'a','uid':'other','resourceVersion':'15'}}}", 0);
    assert_log(f, "-a@1 +a@15 ");
}

// ---- faults ----

static void a_refused_connection_at_the_start_is_tried_again_ever_more_slowly(void **state)
{
    static const int64_t delays[] = {800, 1600, 3200, 6400, 12800, 25600, 30000};
    struct fixture *f = *state;
    begin(f, NULL);
    for (size_t i = 0; i < PRG_COUNT(delays); i++) {
        script_fault(&f->script, expect_list(f, "resourceVersion=0"), 0, PRG_FAULT_CONNECT);
        step(f, delays[i], 2 * delays[i]);
    }
    assert_int_equal(prg_reflector_health(f->reflector), PRG_REFLECTOR_BROKEN);
    assert_false(prg_reflector_is_synced(f->reflector));
    script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "10", "", ""));
    assert_true(prg_reflector_is_synced(f->reflector));
}

static void the_same_problem_is_told_once(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL);
    for (int i = 0; i < 5; i++) {
        script_fault(&f->script, expect_list(f, NULL), 0, PRG_FAULT_CONNECT);
        prg_timers_step(f->timers);
    }
    assert_string_equal(f->health.text, "BROKEN:/api/v1/pods: fault 1\n");
}

static void a_watch_that_cannot_connect_or_is_throttled_needs_no_new_list(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    script_fault(&f->script, expect_watch(f, "10"), 0, PRG_FAULT_CONNECT);
    step(f, 800, 1600);
    script_answer_later(&f->script, expect_watch(f, "10"), 429, "{}", 7000);
    step(f, 7000, 7000);
    script_answer(&f->script, expect_watch(f, "10"), 200, error_event(f, 429, "TooManyRequests", 9));
    step(f, 9000, 9000);
    expect_watch(f, "10");
    assert_int_equal(prg_reflector_count(f->reflector)->lists, 1);
}

static void any_other_refusal_of_a_watch_lists_anew(void **state)
{
    static const int statuses[] = {500, 503, 400, 410, 401};
    struct fixture *f = *state;
    sync_first(f);
    for (size_t i = 0; i < PRG_COUNT(statuses); i++) {
        script_answer(&f->script, expect_watch(f, "10"), statuses[i], "{'kind':'Status','message':'because'}");
        assert_health(f, "because");
        prg_timers_step(f->timers);
        script_answer(&f->script, expect_list(f, "resourceVersion=10"), 200, list_of(f, "10", "", "a@1"));
    }
    assert_log(f, "");
}

static void a_watch_that_ends_at_once_is_no_busy_loop(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    for (int i = 0; i < 3; i++) {
        struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", NULL);
        if (i == 1)
            script_data(call, bookmark(f, "10"), 0); // which is no news
        script_answer(&f->script, call, 200, "");
        script_expect_none(&f->script);
        assert_int_equal(prg_reflector_health(f->reflector), PRG_REFLECTOR_BROKEN);
        step(f, 800 << i, 1600 << i);
        script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "10", "", "a@1"));
    }
    assert_int_equal(f->script.started, 8);
}

static void an_internal_error_is_tried_again_for_half_a_minute(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    uint64_t began = prg_timers_now(f->timers);
    while (prg_timers_now(f->timers) - began < 30000) {
        script_answer(&f->script, expect_watch(f, "10"), 200, error_event(f, 500, "InternalError", 0));
        prg_timers_step(f->timers);
    }
    script_answer(&f->script, expect_watch(f, "10"), 200, error_event(f, 500, "InternalError", 0));
    prg_timers_step(f->timers);
    expect_list(f, "resourceVersion=10");
}

static void lines_that_cannot_be_read_end_the_watch(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"{'type':'SURPRISE','object':{}}", "an event of unknown type 'SURPRISE'"},
        {"{'type':'ADDED'}", "an event without an object"},
        {"{'type':'ADDED','object':{'metadata':{'name':'\xff'}}}", "not valid UTF-8"},
        {"{'type':'ADDED','object':{}}", "metadata.name is missing"},
        {"{'type':'BOOKMARK','object':{}}", "a bookmark without a resourceVersion"},
        {"{'type':'BOOKMARK','object':{]}}", "line 1"},
        {"<html>", "'<' where '{' is expected"},
        {"{'type':'ERROR','object':{}}", "the watch says 0: "},
    };
    struct fixture *f = *state;
    sync_first(f);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        script_answer(&f->script, expect_watch(f, "10"), 200, cases[i].text);
        assert_health(f, cases[i].problem);
        prg_timers_step(f->timers);
        script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "10", "", "a@1"));
    }
    assert_log(f, "");
    assert_int_equal(prg_reflector_count(f->reflector)->refused_lines, 7);
}

static void a_silent_watch_is_found_by_missing_bookmarks(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    struct prg_call *call = expect_watch(f, "10");
    assert_int_equal(call->request.idle_ms, 0); // it is not known yet that this server sends bookmarks
    script_data(call, bookmark(f, "11"), 0);
    prg_timers_advance(f->timers, 2000);
    script_answer(&f->script, call, 200, "");
    for (int i = 0; i < 2; i++) {
        call = expect_watch(f, "11");
        assert_int_equal(call->request.idle_ms, 90000);
        prg_timers_advance(f->timers, 90000);
        script_fault(&f->script, call, 200, PRG_FAULT_TIMEOUT);
    }
    // Perhaps the server never reaches our version: an answer from etcd will tell.
    prg_timers_step(f->timers);
    call = expect_list(f, NULL);
    assert_string_equal(call->request.path, "/api/v1/pods?limit=500");
}

// ---- missing and denied kinds ----

static void a_missing_kind_is_no_failure_and_is_picked_up_later(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL);
    script_answer(&f->script, expect_list(f, NULL), 404, "404 page not found\n");
    assert_int_equal(f->synced, 1);
    assert_health(f, "MISSING:/api/v1/pods: the server answers 404: 404 page not found");
    step(f, 10000, 12000);
    script_answer(&f->script, expect_list(f, NULL), 404, "404 page not found\n");
    prg_reflector_retry(f->reflector); // discovery knows more
    script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "10", "", "a@1"));
    assert_log(f, "+a@1 ");
    assert_health(f, "OK:");
    // Then it is removed.
    script_answer(&f->script, expect_watch(f, "10"), 404, "{}");
    script_answer(&f->script, expect_list(f, NULL), 404, "{}");
    assert_log(f, "-a@1 ");
    assert_int_equal(prg_reflector_health(f->reflector), PRG_REFLECTOR_MISSING);
    prg_timers_step(f->timers);
    assert_string_equal(expect_list(f, NULL)->request.path, "/api/v1/pods?limit=500&resourceVersion=0");
}

static void a_denied_kind_says_what_is_missing_and_keeps_what_it_has(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    const char *body =
        "{'kind':'Status','reason':'Forbidden','message':'pods is forbidden: User x cannot list resource "
        "pods'}";
    script_answer(&f->script, expect_watch(f, "10"), 403, body);
    script_answer(&f->script, expect_list(f, NULL), 403, body);
    assert_health(f, "DENIED:/api/v1/pods: the server answers 403 Forbidden: pods is forbidden: User x cannot list");
    assert_log(f, "");
    step(f, 10000, 12000);
    script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "12", "", "a@1"));
    assert_health(f, "OK:");
}

// ---- streamed lists ----

static const char *initial_end(struct fixture *f, const char *version)
{
    return prg_arena_printf(&f->arena,
                            "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'%s','annotations':"
                            "{'k8s.io/initial-events-end':'true'}}}}\n",
                            version);
}

static void a_list_may_be_streamed(void **state)
{
    struct fixture *f = *state;
    begin(f, &(struct prg_reflector_options){.uses_watch_list = true});
    struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true&allowWatchBookmarks=true&",
                                          "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=");
    script_data(call, event(f, "ADDED", "a", "8"), 0);
    script_data(call, event(f, "ADDED", "b", "3"), 0); // in order of names: versions go up and down
    script_data(call, event(f, "ADDED", "c", "4"), 0);
    script_data(call, event(f, "DELETED", "c", "9"), 0);
    assert_log(f, "");
    script_data(call, initial_end(f, "10"), 0);
    assert_log(f, "+a@8 +b@3 ");
    assert_int_equal(f->synced, 1);
    script_data(call, event(f, "MODIFIED", "b", "11"), 0); // and the same watch goes on
    assert_log(f, "~b@11 ");
    prg_timers_advance(f->timers, 300000);
    script_answer(&f->script, call, 200, "");
    expect_watch(f, "11");
}

static void a_streamed_list_that_is_cut_changes_nothing(void **state)
{
    struct fixture *f = *state;
    begin(f, &(struct prg_reflector_options){.uses_watch_list = true});
    struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", "sendInitialEvents");
    script_data(call, event(f, "ADDED", "a", "8"), 0);
    script_fault(&f->script, call, 200, PRG_FAULT_CUT);
    assert_log(f, "");
    assert_int_equal(f->synced, 0);
    step(f, 800, 1600);
    call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", "sendInitialEvents");
    script_data(call, event(f, "ADDED", "b", "9"), 0);
    script_data(call, initial_end(f, "10"), 0);
    assert_log(f, "+b@9 ");
}

static void a_server_without_streamed_lists_is_listed(void **state)
{
    struct fixture *f = *state;
    begin(f, &(struct prg_reflector_options){.uses_watch_list = true});
    struct prg_call *call = script_expect(&f->script, "GET", "/api/v1/pods?watch=true", "sendInitialEvents");
    script_answer(&f->script, call, 422, "{'kind':'Status','reason':'Invalid'}");
    script_answer(&f->script, expect_list(f, "resourceVersion=0"), 200, list_of(f, "10", "", "a@1"));
    expect_watch(f, "10");
}

// ---- stopping ----

static void it_stops_in_every_state(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL);
    prg_reflector_stop(f->reflector); // listing
    assert_int_equal(f->script.cancelled, 1);
    prg_reflector_start(f->reflector);
    script_fault(&f->script, expect_list(f, NULL), 0, PRG_FAULT_CONNECT);
    prg_reflector_stop(f->reflector); // waiting
    assert_false(prg_timers_step(f->timers));
    prg_reflector_start(f->reflector);
    script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "10", "", "a@1"));
    prg_reflector_stop(f->reflector); // watching
    assert_int_equal(f->script.cancelled, 2);
    prg_reflector_start(f->reflector);
    expect_list(f, "resourceVersion=10");
}

static void it_stops_from_within_a_change(void **state)
{
    struct fixture *f = *state;
    sync_first(f);
    f->stops_at_change = true;
    assert_false(script_data(
        expect_watch(f, "10"),
        prg_arena_printf(&f->arena, "%s%s", event(f, "ADDED", "b", "11"), event(f, "ADDED", "c", "12")), 0));
    assert_log(f, "+b@11 ");
    assert_int_equal(f->script.cancelled, 1);
    f->stops_at_change = false;
    prg_reflector_start(f->reflector);
    f->stops_at_change = true;
    script_answer(&f->script, expect_list(f, NULL), 200, list_of(f, "20", "", "z@19"));
    script_expect_none(&f->script);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(lists_then_watches_then_follows),
        TEST(a_watch_is_asked_for_five_to_ten_minutes),
        TEST(events_may_come_in_any_pieces),
        TEST(an_event_that_is_cut_off_is_dropped_and_watched_again),
        TEST(long_lists_come_in_pages),
        TEST(an_expired_continue_token_lists_all_at_once),
        TEST(a_list_that_is_cut_or_broken_changes_nothing),
        TEST(an_expired_watch_lists_anew_and_finds_deletions),
        TEST(an_expired_or_future_version_lists_without_one_at_once),
        TEST(expiry_again_and_again_is_slowed_down),
        TEST(an_older_list_is_not_taken_from_a_cache),
        TEST(a_version_that_goes_back_in_a_watch_lists_without_one),
        TEST(a_deletion_with_an_old_version_deletes_and_moves_nothing),
        TEST(an_object_made_again_under_its_name_is_another),
        TEST(a_refused_connection_at_the_start_is_tried_again_ever_more_slowly),
        TEST(the_same_problem_is_told_once),
        TEST(a_watch_that_cannot_connect_or_is_throttled_needs_no_new_list),
        TEST(any_other_refusal_of_a_watch_lists_anew),
        TEST(a_watch_that_ends_at_once_is_no_busy_loop),
        TEST(an_internal_error_is_tried_again_for_half_a_minute),
        TEST(lines_that_cannot_be_read_end_the_watch),
        TEST(a_silent_watch_is_found_by_missing_bookmarks),
        TEST(a_missing_kind_is_no_failure_and_is_picked_up_later),
        TEST(a_denied_kind_says_what_is_missing_and_keeps_what_it_has),
        TEST(a_list_may_be_streamed),
        TEST(a_streamed_list_that_is_cut_changes_nothing),
        TEST(a_server_without_streamed_lists_is_listed),
        TEST(it_stops_in_every_state),
        TEST(it_stops_from_within_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
