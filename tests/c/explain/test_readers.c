// SPDX-License-Identifier: Apache-2.0
// test_readers.c: an overlay and a snapshot answer as a store would that holds the same objects; a snapshot does so for
// several threads at once.
#include "support/support.h"

#include <pthread.h>
#include <string.h>

#include "explain/overlay.h"
#include "explain/snapshot.h"
#include "object/meta.h"
#include "store/store_mem.h"

struct fixture {
    struct prg_arena arena;
    struct prg_store *base, *expected; // expected: what base is with the overlay
    struct prg_overlay *overlay;
    struct prg_error err;
};

static cJSON *object(struct fixture *f, const char *api, const char *kind, const char *ns, const char *name,
                     const char *label)
{
    cJSON *made = json_of(&f->arena, "{'metadata': {'labels': {}}}");
    cJSON *meta = prg_json_get(made, "metadata");
    prg_json_set_string(&f->arena, made, "apiVersion", api);
    prg_json_set_string(&f->arena, made, "kind", kind);
    prg_json_set_string(&f->arena, meta, "name", name);
    if (*ns)
        prg_json_set_string(&f->arena, meta, "namespace", ns);
    prg_json_set_string(&f->arena, prg_json_get(meta, "labels"), "app", label);
    return made;
}

static void put(struct fixture *f, struct prg_store *store, const cJSON *made)
{
    assert_ok(prg_store_mem_put(store, made, true, true, &f->err), &f->err);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    static const char *const spaces[] = {"a", "b", "b-c"}, *const names[] = {"m", "n", "o"};
    struct fixture *f = &fixture;
    *f = (struct fixture){.base = prg_store_mem_new(), .expected = prg_store_mem_new()};
    f->overlay = prg_overlay_new(&f->base->reader);
    for (size_t ns = 0; ns < PRG_COUNT(spaces); ns++)
        for (size_t name = 0; name < PRG_COUNT(names); name++) {
            const cJSON *pod = object(f, "v1", "Pod", spaces[ns], names[name], name ? "x" : "y");
            const cJSON *service = object(f, "serving.knative.dev/v1", "Service", spaces[ns], names[name], "x");
            put(f, f->base, pod);
            put(f, f->base, service);
            put(f, f->expected, pod);
            put(f, f->expected, service);
        }
    const cJSON *changes[] = {
        object(f, "v1", "Pod", "a", "m", "x"),     // another label
        object(f, "v1", "Pod", "b", "nn", "x"),    // new, in the middle
        object(f, "v1", "Pod", "zz", "z", "x"),    // new, in a namespace of its own
        object(f, "v1", "Service", "b", "m", "x"), // of the core group, beside Knative's
        object(f, "v1", "Namespace", "", "only-here", "x"),
    };
    for (size_t i = 0; i < PRG_COUNT(changes); i++) {
        assert_ok(prg_overlay_put(f->overlay, changes[i], NULL, &f->err), &f->err);
        put(f, f->expected, changes[i]);
    }
    struct prg_key gone = {"", "Pod", "b-c", "n"}, never = {"", "Pod", "b-c", "never"};
    prg_overlay_hide(f->overlay, &gone);
    prg_overlay_hide(f->overlay, &never);
    assert_true(prg_store_mem_drop(f->expected, &gone));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_overlay_free(f->overlay);
    prg_store_free(f->base);
    prg_store_free(f->expected);
    prg_arena_release(&f->arena);
    return 0;
}

static void note(const cJSON *made, void *ctx)
{
    struct prg_strbuf *out = ctx;
    prg_strbuf_printf(out, "%s %s/%s %s\n", prg_json_get_text(made, "apiVersion"), prg_meta_namespace(made),
                      prg_meta_name(made), prg_meta_label(made, "app"));
}

static const struct prg_key kinds[] = {{"", "Pod", "", ""},
                                       {"", "Service", "", ""},
                                       {"serving.knative.dev", "Service", "", ""},
                                       {"", "Namespace", "", ""},
                                       {"", "Secret", "", ""}};
static const char *const places[] = {NULL, "a", "b", "b-c", "zz", "nowhere", ""};

// Everything that can be asked, as text.
static void ask_all(const struct prg_reader *reader, struct prg_strbuf *out)
{
    static const char *const names[] = {"m", "n", "nn", "o", "z", "only-here", "never"}, *const labels[] = {"x", "y",
                                                                                                            "z"};
    for (size_t k = 0; k < PRG_COUNT(kinds); k++)
        for (size_t p = 0; p < PRG_COUNT(places); p++) {
            prg_strbuf_printf(out, "== %s %s %s\n", kinds[k].group, kinds[k].kind, places[p] ? places[p] : "*");
            reader->list(reader, kinds[k].group, kinds[k].kind, places[p], note, out);
            for (size_t l = 0; l < PRG_COUNT(labels); l++) {
                prg_strbuf_printf(out, "app=%s\n", labels[l]);
                prg_reader_list_labelled(reader, kinds[k].group, kinds[k].kind, places[p], "app", labels[l], note, out);
            }
            for (size_t n = 0; places[p] && n < PRG_COUNT(names); n++) {
                const cJSON *found = prg_reader_get(reader, kinds[k].group, kinds[k].kind, places[p], names[n]);
                if (found)
                    note(found, out);
            }
        }
}

static void assert_same_answers(const struct prg_reader *got, const struct prg_reader *expected)
{
    prg_auto_strbuf a = PRG_STRBUF_INIT, b = PRG_STRBUF_INIT;
    ask_all(got, &a);
    ask_all(expected, &b);
    assert_string_equal(a.text, b.text);
}

static void an_overlay_answers_as_a_store_with_its_objects(void **state)
{
    struct fixture *f = *state;
    assert_same_answers(prg_overlay_reader(f->overlay), &f->expected->reader);
}

static void a_snapshot_answers_as_its_base(void **state)
{
    struct fixture *f = *state;
    const struct prg_reader *bases[] = {&f->base->reader, prg_overlay_reader(f->overlay)};
    const struct prg_reader *expected[] = {&f->base->reader, &f->expected->reader};
    for (int i = 0; i < 2; i++) {
        struct prg_snapshot *snapshot = prg_snapshot_new(bases[i]);
        assert_same_answers(prg_snapshot_reader(snapshot), expected[i]);
        assert_same_answers(prg_snapshot_reader(snapshot), expected[i]); // from what it has by now
        prg_snapshot_free(snapshot);
    }
}

struct asker {
    const struct prg_reader *reader;
    struct prg_strbuf out;
};

static void *ask_in_thread(void *ctx)
{
    struct asker *asker = ctx;
    ask_all(asker->reader, &asker->out);
    return NULL;
}

static void threads_that_begin_at_once_get_the_same_answers(void **state)
{
    enum { THREADS = 4, ROUNDS = 50 };
    struct fixture *f = *state;
    prg_auto_strbuf expected = PRG_STRBUF_INIT;
    ask_all(&f->expected->reader, &expected);
    for (int round = 0; round < ROUNDS; round++) {
        struct prg_snapshot *snapshot = prg_snapshot_new(prg_overlay_reader(f->overlay));
        struct asker askers[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            askers[i] = (struct asker){prg_snapshot_reader(snapshot), PRG_STRBUF_INIT};
            assert_int_equal(pthread_create(&threads[i], NULL, ask_in_thread, &askers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_string_equal(askers[i].out.text, expected.text);
            prg_strbuf_release(&askers[i].out);
        }
        prg_snapshot_free(snapshot);
    }
}

static void an_overlay_refuses_two_objects_of_one_key(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(prg_overlay_put(f->overlay, object(f, "v1", "Pod", "a", "m", "x"), NULL, &f->err), PRG_CONFLICT);
    assert_error_has(&f->err, "Pod a/m is given twice");
    f->err = (struct prg_error){0};
    assert_int_equal(prg_overlay_put(f->overlay, json_of(&f->arena, "{'kind': 'Pod'}"), NULL, &f->err), PRG_INVALID);
}

static int fail_to_read(const struct prg_reader *reader, struct prg_error *err)
{
    (void)reader;
    return prg_fail(err, PRG_IO, "the server refuses");
}

static void trouble_of_the_base_comes_through(void **state)
{
    struct fixture *f = *state;
    f->base->reader.trouble = fail_to_read;
    struct prg_snapshot *snapshot = prg_snapshot_new(prg_overlay_reader(f->overlay));
    assert_int_equal(prg_reader_trouble(prg_snapshot_reader(snapshot), &f->err), PRG_IO);
    assert_error_has(&f->err, "the server refuses");
    prg_snapshot_free(snapshot);
    f->base->reader.trouble = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_overlay_answers_as_a_store_with_its_objects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_snapshot_answers_as_its_base, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_that_begin_at_once_get_the_same_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_overlay_refuses_two_objects_of_one_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trouble_of_the_base_comes_through, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
