// SPDX-License-Identifier: Apache-2.0
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/outbox.h"

struct fixture {
    struct prg_outbox *outbox;
    char read[1000]; // what was read, "insert job a; …"
    uint64_t number;
};

static void on_read(const char *node, const struct prg_outbox_item *item, bool is_deletion, void *ctx)
{
    struct fixture *f = ctx;
    size_t length = strlen(f->read);
    snprintf(f->read + length, sizeof(f->read) - length, "%s%s %s %s@%s", length ? "; " : "",
             is_deletion ? "delete" : "insert", item->kind, item->name, node);
}

static int set_up(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    struct prg_outbox_options options = {.settle_ms = 1000, .gap_ms = 10, .window = 3, .read = on_read, .ctx = f};
    f->outbox = prg_outbox_new(&options);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_outbox_free(f->outbox);
    free(f);
    return 0;
}

static void put(struct fixture *f, const char *node, const char *kind, const char *name, const char *text)
{
    struct prg_outbox_want want = {
        .kind = kind, .ns = "ns", .name = name, .text = text, .length = text ? strlen(text) : 0};
    prg_outbox_put(f->outbox, node, &want);
}

static void put_deletion(struct fixture *f, const char *node, const char *name, const char *prelude, bool is_final)
{
    struct prg_outbox_want want = {.kind = "job",
                                   .ns = "ns",
                                   .name = name,
                                   .text = "gone",
                                   .length = 4,
                                   .is_deletion = true,
                                   .is_final = is_final,
                                   .prelude = prelude,
                                   .prelude_length = prelude ? strlen(prelude) : 0};
    prg_outbox_put(f->outbox, node, &want);
}

// What is sent to the node at a time: "+a:text -b:text", "" for nothing. wait: of the next.
static const char *sent_at(struct fixture *f, const char *node, uint64_t now_ms, int64_t *ret_wait)
{
    static char text[1000];
    struct prg_outbox_item *item;
    *text = '\0';
    while ((item = prg_outbox_next(f->outbox, node, now_ms, ret_wait))) {
        const char *content;
        size_t length, used = strlen(text);
        bool is_deletion = prg_outbox_message(item, &content, &length);
        snprintf(text + used, sizeof(text) - used, "%s%c%s:%.*s", used ? " " : "", is_deletion ? '-' : '+', item->name,
                 (int)length, content);
        prg_outbox_sent(f->outbox, item, ++f->number, now_ms);
    }
    return text;
}

static void a_model_wanted_anew_is_not_told_before_it_has_settled(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "model", "m", "one");
    prg_outbox_hold(f->outbox, "n", "model", "ns", "m");
    assert_string_equal(sent_at(f, "n", 5000, &wait), "+m:one");
    prg_outbox_release(f->outbox, "n", "model", "ns", "m"); // the next stage does not name it …
    assert_string_equal(sent_at(f, "n", 5100, &wait), "");
    assert_int_equal(prg_outbox_waiting(f->outbox), 0);
    put(f, "n", "model", "m", "one"); // … the one after it does
    prg_outbox_hold(f->outbox, "n", "model", "ns", "m");
    assert_string_equal(sent_at(f, "n", 5200, &wait), "");
    assert_int_equal(wait, 800);
    // The connection breaks; the node may be the same.
    prg_outbox_release(f->outbox, "n", "model", "ns", "m");
    prg_outbox_disconnect(f->outbox, "n");
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "model", "m", "one");
    prg_outbox_hold(f->outbox, "n", "model", "ns", "m");
    assert_string_equal(sent_at(f, "n", 5300, &wait), "");
    assert_string_equal(sent_at(f, "n", 6000, &wait), "+m:one");
    prg_outbox_release(f->outbox, "n", "model", "ns", "m");
    (void)sent_at(f, "n", 7000, &wait);
    prg_outbox_disconnect(f->outbox, "n"); // settled: nothing is kept
    assert_null(prg_outbox_find(f->outbox, "n", "model", "ns", "m"));
    assert_int_equal(prg_outbox_node_count(f->outbox), 0);
}

static void list_node(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    struct prg_strbuf *text = ctx;
    prg_strbuf_printf(text, "%s%s%s", text->length ? " " : "", item->is_deletion ? "-" : "+", node);
}

static void every_node_that_was_told_about_an_object_is_found_by_it_in_order(void **state)
{
    struct fixture *f = *state;
    static const char *const nodes[] = {"c", "a", "d", "b"};
    struct prg_strbuf text = PRG_STRBUF_INIT;
    int64_t wait;
    for (size_t i = 0; i < 4; i++) {
        prg_outbox_connect(f->outbox, nodes[i]);
        put(f, nodes[i], "job", "j", "one");
        put(f, nodes[i], "job", "other", "one");
    }
    prg_outbox_each(f->outbox, "job", "ns", "j", list_node, &text);
    assert_string_equal(text.text, "+a +b +c +d");
    // Whoever goes, first, last or between: the others are found.
    for (size_t i = 0; i < 4; i++) {
        put_deletion(f, nodes[i], "j", NULL, true);
        assert_string_equal(sent_at(f, nodes[i], 2000 * i, &wait), "-j:gone");
        prg_outbox_acknowledge(f->outbox, nodes[i], f->number);
        sent_at(f, nodes[i], 2000 * i + 1000, &wait); // it has settled
        prg_strbuf_truncate(&text, 0);
        prg_outbox_each(f->outbox, "job", "ns", "j", list_node, &text);
        assert_string_equal(text.text, i == 0 ? "+a +b +d" : i == 1 ? "+b +d" : i == 2 ? "+b" : "");
    }
    put(f, "b", "job", "j", "again");
    prg_outbox_each(f->outbox, "job", "ns", "j", list_node, &text);
    assert_string_equal(text.text, "+b");
    prg_strbuf_release(&text);
}

static void a_node_that_makes_up_names_is_kept_so_many_deletions_and_no_more(void **state)
{
    struct fixture *f = *state;
    char name[32];
    for (int i = 0; i < PRG_OUTBOX_DELETIONS + 100; i++) {
        snprintf(name, sizeof(name), "made-up-%d", i);
        put_deletion(f, "n", name, NULL, true);
    }
    assert_int_equal(prg_outbox_waiting(f->outbox), PRG_OUTBOX_DELETIONS);
    put(f, "n", "job", "real", "text");       // what there is goes on to be told …
    put_deletion(f, "n", "real", NULL, true); // … and so does its end
    assert_true(prg_outbox_find(f->outbox, "n", "job", "ns", "real")->is_deletion);
    put_deletion(f, "other", "made-up-0", NULL, true);
    assert_int_equal(prg_outbox_waiting(f->outbox), PRG_OUTBOX_DELETIONS + 2);
}

static void a_node_that_connects_is_told_datasets_models_and_jobs_one_by_one(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    put(f, "n", "job", "j", "1");
    put(f, "n", "model", "m", "2");
    put(f, "n", "dataset", "d", "3");
    assert_string_equal(sent_at(f, "n", 0, &wait), ""); // not there yet
    assert_int_equal(prg_outbox_waiting(f->outbox), 3);
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 0, &wait), "+d:3");
    assert_int_equal(wait, 10);
    assert_string_equal(sent_at(f, "n", 10, &wait), "+m:2");
    assert_string_equal(sent_at(f, "n", 20, &wait), "+j:1");
    prg_outbox_acknowledge(f->outbox, "n", 2);
    assert_string_equal(f->read, "insert dataset d@n; insert model m@n");
    assert_int_equal(prg_outbox_waiting(f->outbox), 1);
    prg_outbox_acknowledge(f->outbox, "n", 3);
    assert_int_equal(prg_outbox_waiting(f->outbox), 0);
}

static void a_new_object_settles_before_its_next_message_and_only_the_last_counts(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "job", "j", "1");
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    put(f, "n", "job", "j", "2");
    put(f, "n", "job", "j", "3");
    assert_string_equal(sent_at(f, "n", 500, &wait), "");
    assert_int_equal(wait, 500);
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:3");
    put(f, "n", "job", "j", "4"); // an update follows an update sooner
    assert_string_equal(sent_at(f, "n", 1199, &wait), "");
    assert_string_equal(sent_at(f, "n", 1200, &wait), "+j:4");
}

static void the_same_content_is_not_told_twice_on_one_connection(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "job", "j", "1");
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    put(f, "n", "job", "j", "1");
    assert_string_equal(sent_at(f, "n", 5000, &wait), "");
    put(f, "n", "job", "j", "2");
    put(f, "n", "job", "j", "1"); // back to what the node has
    assert_string_equal(sent_at(f, "n", 6000, &wait), "");
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 7000, &wait), "+j:1");
}

static void a_deletion_is_told_until_it_has_been_read(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "job", "j", "1");
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    put_deletion(f, "n", "j", NULL, false);
    assert_string_equal(sent_at(f, "n", 999, &wait), ""); // it may not run yet
    assert_string_equal(sent_at(f, "n", 1000, &wait), "-j:gone");
    prg_outbox_disconnect(f->outbox, "n"); // nobody knows whether it was read
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 2000, &wait), "-j:gone");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    put_deletion(f, "n", "j", NULL, false); // told again by the objects: the node has read it
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 9000, &wait), "");
    put(f, "n", "job", "j", "5");
    assert_string_equal(sent_at(f, "n", 9000, &wait), "+j:5");
}

static void a_deletion_for_good_is_dropped_when_it_has_been_read_and_has_settled(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    put_deletion(f, "n", "j", NULL, true);
    assert_int_equal(prg_outbox_node_count(f->outbox), 1);
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 0, &wait), "-j:gone");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    put_deletion(f, "n", "j", NULL, true); // of no use any more
    assert_string_equal(sent_at(f, "n", 999, &wait), "");
    assert_int_equal(wait, -1);
    prg_outbox_disconnect(f->outbox, "n");
    assert_string_equal(sent_at(f, "another", 1000, &wait), "");
    assert_null(prg_outbox_find(f->outbox, "n", "job", "ns", "j"));
    assert_int_equal(prg_outbox_node_count(f->outbox), 0);
}

static void what_is_made_anew_is_not_told_before_its_deletion_has_settled(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    put_deletion(f, "n", "j", NULL, true);
    put_deletion(f, "n", "i", NULL, true);
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 0, &wait), "-j:gone");
    assert_string_equal(sent_at(f, "n", 10, &wait), "-i:gone");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    put(f, "n", "job", "j", "anew");
    assert_string_equal(sent_at(f, "n", 30, &wait), "");
    assert_int_equal(wait, 970);
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:anew");
    assert_string_equal(sent_at(f, "n", 1100, &wait), "");
    assert_null(prg_outbox_find(f->outbox, "n", "job", "ns", "i"));
    assert_non_null(prg_outbox_find(f->outbox, "n", "job", "ns", "j"));
}

static void a_gentle_deletion_says_something_else_first(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "job", "j", "1");
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    put_deletion(f, "n", "j", "leave the folder", false);
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:leave the folder");
    assert_string_equal(sent_at(f, "n", 1999, &wait), "");
    assert_string_equal(sent_at(f, "n", 2000, &wait), "-j:gone");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    assert_string_equal(f->read, "insert job j@n; delete job j@n" + strlen("insert job j@n; "));
}

static void an_insertion_that_replaces_an_unread_deletion_is_told(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put_deletion(f, "n", "j", NULL, false);
    assert_string_equal(sent_at(f, "n", 0, &wait), "-j:gone");
    put(f, "n", "job", "j", "1");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:1");
}

static void what_is_to_be_forgotten_is_forgotten_before_it_is_told_anew(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "job", "j", "1");
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    put_deletion(f, "n", "j", "gently", false);
    put(f, "n", "job", "j", "2"); // before the deletion could be told
    put(f, "n", "job", "j", NULL);
    assert_string_equal(sent_at(f, "n", 1000, &wait), ""); // nothing to tell
    put(f, "n", "job", "j", "3");
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:gently");
    assert_string_equal(sent_at(f, "n", 2000, &wait), "-j:3");
    assert_string_equal(sent_at(f, "n", 3000, &wait), ""); // not before it has been read
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 4000, &wait), "+j:gently");
    assert_string_equal(sent_at(f, "n", 5000, &wait), "-j:3");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    assert_string_equal(sent_at(f, "n", 5999, &wait), "");
    assert_string_equal(sent_at(f, "n", 6000, &wait), "+j:3");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 9000, &wait), "+j:3"); // once
}

// After a start of the controller: that a node has not forgotten yet is known from elsewhere.
static void what_is_to_be_forgotten_first_is_said_when_a_node_connects(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    struct prg_outbox_want want = {.kind = "job",
                                   .ns = "ns",
                                   .name = "j",
                                   .text = "new",
                                   .length = 3,
                                   .deletes_first = true,
                                   .prelude = "idle",
                                   .prelude_length = 4};
    prg_outbox_put(f->outbox, "n", &want);
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:idle");
    assert_string_equal(sent_at(f, "n", 2000, &wait), "-j:new");
    prg_outbox_put(f->outbox, "n", &want); // not read yet
    assert_string_equal(sent_at(f, "n", 3000, &wait), "");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    want.deletes_first = false;
    prg_outbox_put(f->outbox, "n", &want);
    assert_string_equal(sent_at(f, "n", 3000, &wait), "+j:new");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    assert_string_equal(f->read, "delete job j@n; insert job j@n");
    assert_int_equal(prg_outbox_waiting(f->outbox), 0);
}

// Who asks for it may not have heard yet that the node has read it.
static void what_has_just_been_forgotten_is_not_forgotten_again(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    struct prg_outbox_want want = {
        .kind = "job", .ns = "ns", .name = "j", .text = "1", .length = 1, .deletes_first = true};
    prg_outbox_connect(f->outbox, "n");
    prg_outbox_put(f->outbox, "n", &want);
    assert_string_equal(sent_at(f, "n", 0, &wait), "-j:1");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    want.text = "2";
    prg_outbox_put(f->outbox, "n", &want);
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:2");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    put(f, "n", "job", "j", "3");
    assert_string_equal(sent_at(f, "n", 2000, &wait), "+j:3");
}

// One deletion that was read says nothing about the next.
static void a_second_deletion_is_sent_too_and_once(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put_deletion(f, "n", "j", NULL, false);
    assert_string_equal(sent_at(f, "n", 0, &wait), "-j:gone");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    put(f, "n", "job", "j", "A");
    put_deletion(f, "n", "j", NULL, false);
    put(f, "n", "job", "j", "B"); // all before it has settled
    assert_string_equal(sent_at(f, "n", 1000, &wait), "-j:B");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    assert_string_equal(sent_at(f, "n", 2000, &wait), "+j:B");
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    put(f, "n", "job", "j", "C");
    assert_string_equal(sent_at(f, "n", 3000, &wait), "+j:C"); // while it is at work
}

static void all_is_forgotten_but_who_is_connected(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    put(f, "n", "job", "j", "1");
    put(f, "n", "model", "m", "1");
    put(f, "away", "model", "m", "1");
    put_deletion(f, "away", "j", NULL, false);
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    prg_outbox_clear(f->outbox);
    assert_int_equal(prg_outbox_node_count(f->outbox), 1);
    assert_int_equal(prg_outbox_waiting(f->outbox), 0);
    assert_null(prg_outbox_find(f->outbox, "n", "job", "ns", "j"));
    prg_outbox_acknowledge(f->outbox, "n", f->number);
    assert_string_equal(f->read, "");
    put(f, "n", "job", "j", "2");
    assert_string_equal(sent_at(f, "n", 1000, &wait), "+j:2");
    prg_outbox_disconnect(f->outbox, "n");
    prg_outbox_clear(f->outbox);
    assert_int_equal(prg_outbox_node_count(f->outbox), 0);
}

static void no_more_than_the_window_is_unread(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    prg_outbox_connect(f->outbox, "n");
    for (char name[2] = "a"; *name <= 'e'; ++*name)
        put(f, "n", "model", name, "x");
    for (uint64_t now = 0; now < 100; now += 10)
        sent_at(f, "n", now, &wait);
    assert_int_equal(f->number, 3);
    assert_int_equal(wait, -1);
    prg_outbox_acknowledge(f->outbox, "n", 1);
    assert_string_equal(sent_at(f, "n", 200, &wait), "+d:x");
}

static void what_is_held_waits_and_what_nothing_is_told_of_stays_known(void **state)
{
    struct fixture *f = *state;
    int64_t wait;
    struct prg_outbox_want want = {
        .kind = "job", .ns = "ns", .name = "j", .text = "1", .length = 1, .held = "no model"};
    prg_outbox_connect(f->outbox, "n");
    prg_outbox_put(f->outbox, "n", &want);
    assert_string_equal(sent_at(f, "n", 0, &wait), "");
    assert_int_equal(prg_outbox_held(f->outbox), 1);
    want.held = NULL;
    prg_outbox_put(f->outbox, "n", &want);
    assert_string_equal(sent_at(f, "n", 0, &wait), "+j:1");
    put(f, "n", "job", "j", NULL);
    prg_outbox_connect(f->outbox, "n");
    assert_string_equal(sent_at(f, "n", 5000, &wait), "");
    assert_non_null(prg_outbox_find(f->outbox, "n", "job", "ns", "j"));
}

static void a_model_is_known_as_long_as_one_job_wants_it(void **state)
{
    struct fixture *f = *state;
    put(f, "n", "model", "m", "1");
    prg_outbox_hold(f->outbox, "n", "model", "ns", "m");
    prg_outbox_hold(f->outbox, "n", "model", "ns", "m");
    prg_outbox_release(f->outbox, "n", "model", "ns", "m");
    assert_non_null(prg_outbox_find(f->outbox, "n", "model", "ns", "m"));
    prg_outbox_release(f->outbox, "n", "model", "ns", "m");
    assert_null(prg_outbox_find(f->outbox, "n", "model", "ns", "m"));
    assert_int_equal(prg_outbox_waiting(f->outbox), 0);
    assert_int_equal(prg_outbox_node_count(f->outbox), 0);
}

// The next message to the node, if one is due, as what it knows then.
static void send_one(struct fixture *f, uint64_t now_ms, char known[4])
{
    const char *content;
    size_t length;
    int64_t wait;
    struct prg_outbox_item *item = prg_outbox_next(f->outbox, "n", now_ms, &wait);
    if (!item)
        return;
    bool is_deletion = prg_outbox_message(item, &content, &length);
    known[*item->name - 'a'] = is_deletion ? '-' : *content;
    prg_outbox_sent(f->outbox, item, ++f->number, now_ms);
}

// Whatever happens in whatever order: the counters fit the items, and a node that reads all ends up with the last that
// was said of each object.
static void random_events_end_in_what_was_said_last(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 7, now = 0;
    char last[4] = "", known[4] = ""; // per object: content, '-' for deleted
    for (int step = 0; step < 20000; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned dice = (unsigned)(seed >> 33) % 100, object = (unsigned)(seed >> 50) % 4;
        char name[2] = {(char)('a' + object), '\0'}, text[2] = {(char)('0' + dice % 10), '\0'};
        now += (seed >> 20) % 400;
        if (dice < 30) {
            put(f, "n", "job", name, text);
            last[object] = *text;
        } else if (dice < 40) {
            put_deletion(f, "n", name, dice < 35 ? "p" : NULL, false);
            last[object] = '-';
        } else if (dice < 45) {
            prg_outbox_disconnect(f->outbox, "n");
        } else if (dice < 60) {
            prg_outbox_connect(f->outbox, "n");
        } else if (dice < 90) {
            send_one(f, now, known);
        } else {
            prg_outbox_acknowledge(f->outbox, "n", f->number);
            *f->read = '\0';
        }
    }
    prg_outbox_connect(f->outbox, "n");
    for (int i = 0; i < 50; i++) {
        send_one(f, now += 1000, known);
        prg_outbox_acknowledge(f->outbox, "n", f->number);
        *f->read = '\0';
    }
    assert_memory_equal(known, last, sizeof(last));
    assert_int_equal(prg_outbox_waiting(f->outbox), 0);
    assert_int_equal(prg_outbox_held(f->outbox), 0);
}

// A node at the end of a line that breaks: messages and answers that are under way are lost then. Contents are numbers
// that a deletion raises; -1: it knows nothing of the object.
struct reader {
    struct on_the_way {
        uint64_t number;
        int object, content; // content -1: a deletion, -2: a prelude
    } way[100];
    size_t count;
    uint64_t read; // what it has read last, and not answered yet; 0: nothing
    int known[4];
};

static void send_next(struct fixture *f, struct reader *node, uint64_t now_ms)
{
    const char *content;
    size_t length;
    int64_t wait;
    struct prg_outbox_item *item = prg_outbox_next(f->outbox, "n", now_ms, &wait);
    if (!item || node->count == PRG_COUNT(node->way))
        return;
    struct on_the_way message = {.object = *item->name - 'a', .content = -1};
    if (!prg_outbox_message(item, &content, &length))
        message.content = *content == 'p' ? -2 : atoi(content);
    prg_outbox_sent(f->outbox, item, ++f->number, now_ms);
    message.number = f->number;
    node->way[node->count++] = message;
}

static void read_next(struct reader *node)
{
    if (!node->count)
        return;
    struct on_the_way message = node->way[0];
    node->count--;
    memmove(node->way, node->way + 1, node->count * sizeof(message));
    int *known = &node->known[message.object];
    if (message.content == -1)
        *known = -1;
    else if (message.content == -2)
        *known = *known == -1 ? 0 : *known;
    else if (*known != -1 && *known != message.content)
        fail_msg("told %d while it knows %d", message.content, *known);
    else
        *known = message.content;
    node->read = message.number;
}

static void who_was_to_forget_an_object_does_so_before_it_is_told_of_it_anew(void **state)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct reader node = {.known = {-1, -1, -1, -1}};
        uint64_t random = seed, now = 0;
        int content[4] = {1, 1, 1, 1};
        set_up(state);
        struct fixture *f = *state;
        for (int step = 0; step < 400; step++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            unsigned dice = (unsigned)(random >> 33) % 100, object = (unsigned)(random >> 50) % 4;
            char name[2] = {(char)('a' + object), '\0'}, text[12];
            now += (random >> 20) % 400;
            if (dice < 15) {
                snprintf(text, sizeof(text), "%d", content[object]);
                put(f, "n", "job", name, dice < 3 ? NULL : text);
            } else if (dice < 25) {
                content[object]++;
                put_deletion(f, "n", name, dice < 20 ? "p" : NULL, false);
            } else if (dice < 30) {
                snprintf(text, sizeof(text), "%d", ++content[object]);
                struct prg_outbox_want want = {.kind = "job",
                                               .ns = "ns",
                                               .name = name,
                                               .text = text,
                                               .length = strlen(text),
                                               .deletes_first = true};
                prg_outbox_put(f->outbox, "n", &want);
            } else if (dice < 40) {
                node.count = node.read = 0;
                if (dice < 35)
                    prg_outbox_disconnect(f->outbox, "n");
                prg_outbox_connect(f->outbox, "n");
            } else if (dice < 65) {
                send_next(f, &node, now);
            } else if (dice < 85) {
                read_next(&node);
            } else if (node.read) {
                prg_outbox_acknowledge(f->outbox, "n", node.read);
                node.read = 0;
                *f->read = '\0';
            }
        }
        tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_to_forget_an_object_does_so_before_it_is_told_of_it_anew),
        cmocka_unit_test_setup_teardown(a_model_wanted_anew_is_not_told_before_it_has_settled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_node_that_was_told_about_an_object_is_found_by_it_in_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_node_that_makes_up_names_is_kept_so_many_deletions_and_no_more, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_node_that_connects_is_told_datasets_models_and_jobs_one_by_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_new_object_settles_before_its_next_message_and_only_the_last_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_same_content_is_not_told_twice_on_one_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_deletion_is_told_until_it_has_been_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_deletion_for_good_is_dropped_when_it_has_been_read_and_has_settled, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_made_anew_is_not_told_before_its_deletion_has_settled, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_gentle_deletion_says_something_else_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_insertion_that_replaces_an_unread_deletion_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_to_be_forgotten_is_forgotten_before_it_is_told_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_to_be_forgotten_first_is_said_when_a_node_connects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_just_been_forgotten_is_not_forgotten_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_second_deletion_is_sent_too_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_is_forgotten_but_who_is_connected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_more_than_the_window_is_unread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_held_waits_and_what_nothing_is_told_of_stays_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model_is_known_as_long_as_one_job_wants_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_events_end_in_what_was_said_last, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
