// SPDX-License-Identifier: Apache-2.0
// test_runtimes.c: candidates from kept lines are those that the trees would give, whatever has changed meanwhile.
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "object/meta.h"
#include "serving/runtimes.h"
#include "store/store_mem.h"

struct fixture {
    struct prg_arena arena, answers;
    struct prg_store *store;
    struct prg_runtimes *runtimes;
    uint32_t random;
    size_t refused;
};

static int setup(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    f->store = prg_store_mem_new();
    f->runtimes = prg_runtimes_new();
    f->random = 12345;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_runtimes_free(f->runtimes);
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    prg_arena_release(&f->answers);
    free(f);
    return 0;
}

static uint32_t below(struct fixture *f, uint32_t limit)
{
    f->random = f->random * 1664525 + 1013904223;
    return (f->random >> 8) % limit;
}

static const char *some(struct fixture *f, const char *const *texts, size_t count)
{
    return texts[below(f, (uint32_t)count)];
}
#define SOME(f, ...)                                                                                                   \
    some((f), (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static const char *formats_text(struct fixture *f)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (below(f, 12) == 0)
        return SOME(f, "null", "'text'", "[7]", "[{'name': 7}]");
    prg_strbuf_puts(&text, "[");
    for (uint32_t i = below(f, 5); i > 0; i--)
        prg_strbuf_printf(&text, "{%s%s%s%s}%s", SOME(f, "'name': 'a'", "'name': 'b'", "'name': ''", "'name': null"),
                          SOME(f, "", ", 'version': '1'", ", 'version': '2'", ", 'version': null"),
                          SOME(f, "", ", 'autoSelect': true", ", 'autoSelect': false"),
                          SOME(f, "", ", 'priority': 1", ", 'priority': -7", ", 'priority': 1.5"), i > 1 ? "," : "");
    prg_strbuf_puts(&text, "]");
    return prg_arena_strdup(&f->arena, text.text);
}

static void put_runtime(struct fixture *f, bool is_cluster, const char *ns, uint32_t number)
{
    struct prg_error err = {0};
    const char *text = prg_arena_printf(
        &f->arena,
        "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': '%s', 'metadata': {'name': 'r%u'%s%s%s%s}, 'spec': "
        "{'supportedModelFormats': %s%s}}",
        is_cluster ? "ClusterServingRuntime" : "ServingRuntime", number, is_cluster ? "" : ", 'namespace': '",
        is_cluster ? "" : ns, is_cluster ? "" : "'",
        SOME(f, "", ", 'creationTimestamp': '2026-01-01T00:00:00Z'",
             ", 'creationTimestamp': '2026-01-01T03:00:00.5+01:00'", ", 'creationTimestamp': 'once'"),
        formats_text(f),
        SOME(f, "", ", 'protocolVersions': ['v2', 'v1']", ", 'protocolVersions': ['grpc-v2']",
             ", 'protocolVersions': 'v1'", ", 'disabled': 7"));
    assert_ok(prg_store_mem_put(f->store, json_of(&f->arena, text), false, true, &err), &err);
}

static void drop_runtime(struct fixture *f, bool is_cluster, const char *ns, uint32_t number)
{
    struct prg_key key = {"serving.kserve.io", is_cluster ? "ClusterServingRuntime" : "ServingRuntime",
                          is_cluster ? "" : ns, prg_arena_printf(&f->arena, "r%u", number)};
    prg_store_mem_drop(f->store, &key);
}

static void change_something(struct fixture *f)
{
    bool is_cluster = below(f, 2);
    const char *ns = SOME(f, "one", "two");
    if (below(f, 3))
        put_runtime(f, is_cluster, ns, below(f, 8));
    else
        drop_runtime(f, is_cluster, ns, below(f, 8));
}

struct expected {
    struct fixture *f;
    const struct prg_runtime_request *request;
    const struct prg_compat *compat;
    bool is_cluster;
    struct prg_candidate candidates[32];
    size_t count, unreadable;
};

static void expect(const cJSON *object, void *ctx)
{
    struct expected *e = ctx;
    if (prg_runtime_unreadable(object))
        e->unreadable++;
    else
        prg_candidate_of(object, e->is_cluster, e->request, e->compat, &e->candidates[e->count++]);
}

static void refuse(const cJSON *object, const char *why, void *ctx)
{
    assert_non_null(object);
    assert_string_equal(why, prg_runtime_unreadable(object));
    ((struct fixture *)ctx)->refused++;
}

static void assert_same_candidate(const struct prg_candidate *a, const struct prg_candidate *b)
{
    char buffer[PRG_CLOCK_TEXT];
    assert_ptr_equal(a->object, b->object);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->created, prg_clock_plain(b->created, buffer));
    assert_int_equal(a->is_cluster, b->is_cluster);
    assert_int_equal(a->protocol, b->protocol);
    assert_int_equal(a->match.present, b->match.present);
    assert_int_equal(a->match.auto_select, b->match.auto_select);
    assert_int_equal(a->match.has_priority, b->match.has_priority);
    assert_int_equal(a->match.has_priority ? a->match.priority : 0, b->match.has_priority ? b->match.priority : 0);
    assert_true(prg_text_equal(a->match.name, b->match.name) || a->match.name == b->match.name);
    assert_true(prg_text_equal(a->match.version, b->match.version) || a->match.version == b->match.version);
    assert_int_equal(a->identity, prg_json_identity(b->object));
}

// The order that ranks give: scope, protocol, newest, name.
static void assert_ranked(const struct prg_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            const struct prg_candidate *a = &candidates[i], *b = &candidates[j];
            int order = (int)a->is_cluster - (int)b->is_cluster;
            order = order ? order : a->protocol - b->protocol;
            order = order ? order : strcmp(b->created, a->created);
            order = order ? order : strcmp(a->name, b->name);
            assert_int_equal(a->rank < b->rank, order < 0);
            assert_true(a->rank > 0);
        }
}

// Alike are those whose policies are shown the same.
static void assert_alike(struct fixture *f, const struct prg_candidate *candidates, size_t count)
{
    static const char *const members[] = {PRG_CANDIDATE_ALIKE};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const cJSON *a = prg_json_get(candidates[i].object, "spec"),
                        *b = prg_json_get(candidates[j].object, "spec");
            bool is_same = true;
            for (size_t k = 0; k < PRG_COUNT(members); k++) {
                const cJSON *x = prg_json_get(a, members[k]), *y = prg_json_get(b, members[k]);
                const char *of_x = x ? prg_json_print_arena(&f->answers, x, PRG_JSON_SORTED) : "nothing";
                const char *of_y = y ? prg_json_print_arena(&f->answers, y, PRG_JSON_SORTED) : "nothing";
                is_same = is_same && strcmp(of_x, of_y) == 0;
            }
            assert_int_equal(candidates[i].alike == candidates[j].alike, is_same);
        }
}

static uint64_t compare(struct fixture *f, const char *ns, const struct prg_reader *reader,
                        struct prg_runtimes *runtimes)
{
    const struct prg_compat *compat = below(f, 2) ? &prg_compat_fixed : &prg_compat_kserve;
    struct prg_runtime_request request = {
        .format_name = SOME(f, "a", "b", "", "c"), .format_version = SOME(f, NULL, "1", "2"), .protocol = "v1"};
    struct expected e = {.f = f, .request = &request, .compat = compat};
    struct prg_runtimes_handler handler = {refuse, f};
    struct prg_candidate *candidates;
    prg_arena_reset(&f->answers);
    reader->list(reader, "serving.kserve.io", "ServingRuntime", ns, expect, &e);
    e.is_cluster = true;
    reader->list(reader, "serving.kserve.io", "ClusterServingRuntime", NULL, expect, &e);
    f->refused = 0;
    size_t count = prg_runtimes_candidates(runtimes, reader, ns, &request, compat, &f->answers, &handler, &candidates);
    assert_int_equal(count, e.count);
    assert_int_equal(f->refused, e.unreadable);
    for (size_t i = 0; i < count; i++)
        assert_same_candidate(&candidates[i], &e.candidates[i]);
    assert_ranked(candidates, count);
    assert_alike(f, candidates, count);
    return request.candidates;
}

static void candidates_are_those_of_the_trees_after_any_change(void **state)
{
    struct fixture *f = *state;
    struct prg_reader blind = f->store->reader, *real = &f->store->reader;
    for (int i = 0; i < 3000; i++) {
        if (below(f, 3) == 0)
            change_something(f);
        const char *ns = SOME(f, "one", "two", "none");
        f->store->reader.state = below(f, 2) ? blind.state : NULL; // told by states, or by identities
        compare(f, ns, real, f->runtimes);
    }
    assert_int_equal(compare(f, "one", real, NULL), 0);
    f->store->reader.state = blind.state;
}

static uint64_t number_of(struct fixture *f, const char *ns, const char *format)
{
    struct prg_runtime_request request = {.format_name = format, .protocol = "v1"};
    struct prg_runtimes_handler handler = {refuse, f};
    struct prg_candidate *candidates;
    prg_runtimes_candidates(f->runtimes, &f->store->reader, ns, &request, &prg_compat_fixed, &f->answers, &handler,
                            &candidates);
    return request.candidates;
}

static void the_number_is_another_one_exactly_when_the_candidates_are(void **state)
{
    struct fixture *f = *state;
    put_runtime(f, true, "", 1);
    put_runtime(f, false, "one", 2);
    uint64_t one = number_of(f, "one", "a"), none = number_of(f, "none", "a"), other = number_of(f, "one", "b");
    assert_true(one && none && other && one != none && one != other);
    assert_true(number_of(f, "one", "a") == one && number_of(f, "none", "a") == none);
    assert_true(number_of(f, "nothing-either", "a") == none); // without runtimes of their own they are alike
    put_runtime(f, false, "elsewhere", 3);
    assert_true(number_of(f, "one", "a") == one);
    put_runtime(f, false, "one", 4);
    assert_true(number_of(f, "one", "a") != one && number_of(f, "none", "a") == none);
    put_runtime(f, true, "", 1);
    assert_true(number_of(f, "none", "a") != none);
    one = number_of(f, "one", "a");
    drop_runtime(f, false, "one", 4);
    assert_true(number_of(f, "one", "a") != one);
    drop_runtime(f, false, "one", 2);
    assert_true(number_of(f, "one", "a") == number_of(f, "none", "a"));
    prg_runtimes_forget_candidates(f->runtimes);
    assert_true(number_of(f, "one", "a") != none);
}

// Texts of services are in what is kept, however large they are.
static void long_names_of_formats_fill_no_memory(void **state)
{
    struct fixture *f = *state;
    prg_auto_strbuf name = PRG_STRBUF_INIT;
    put_runtime(f, true, "", 1);
    uint64_t first = number_of(f, "one", "a");
    prg_strbuf_pad(&name, 'x', 1 << 20);
    for (int i = 0; i < 20; i++) {
        name.text[0] = (char)('a' + i);
        (void)number_of(f, "one", name.text);
    }
    assert_true(number_of(f, "one", "a") != first); // it was forgotten
}

// Two stores may be in the same state by number; their trees are not the same.
static void another_store_is_another_one(void **state)
{
    struct fixture *f = *state;
    struct fixture second = {.store = prg_store_mem_new(), .random = 99};
    put_runtime(f, true, "", 1);
    put_runtime(&second, true, "", 1);
    compare(f, "one", &f->store->reader, f->runtimes);
    compare(f, "one", &second.store->reader, f->runtimes);
    prg_store_free(second.store);
    compare(f, "one", &f->store->reader, f->runtimes);
    prg_arena_release(&second.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(candidates_are_those_of_the_trees_after_any_change, setup, teardown),
        cmocka_unit_test_setup_teardown(the_number_is_another_one_exactly_when_the_candidates_are, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names_of_formats_fill_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(another_store_is_another_one, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
