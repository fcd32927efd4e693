// SPDX-License-Identifier: Apache-2.0
// test_metadata.c: which annotations pass, and whose label or annotation wins.
#include "function_cases.h"
#include "plan_fixture.h"

#include "plan/origin.h"
#include "serving/context.h"
#include "serving/metadata.h"

static void check_object_meta(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    static const char *const layers[] = {"runtime", "isvc", "predictor"};
    const cJSON *labels[4], *annotations[3], *disallowed = prg_json_get(in, "annotationDisallowedList");
    const char *name = prg_json_get_text(in, "name");
    cJSON *fixed = prg_json_object(arena), *got = prg_json_object(arena);
    for (size_t i = 0; i < PRG_COUNT(layers); i++) {
        labels[i] = prg_json_get(in, prg_arena_printf(arena, "%sLabels", layers[i]));
        annotations[i] =
            prg_meta_filter(arena, prg_json_get(in, prg_arena_printf(arena, "%sAnnotations", layers[i])), disallowed);
    }
    prg_json_set_string(arena, fixed, "serving.kserve.io/inferenceservice", name);
    prg_json_set_string(arena, fixed, "component", "predictor");
    labels[3] = fixed;
    prg_json_set(arena, got, "labels", prg_meta_union(arena, labels, 4));
    cJSON *merged = prg_meta_union(arena, annotations, 3);
    if (merged->child)
        prg_json_set(arena, got, "annotations", merged);
    prg_json_set_string(arena, got, "name", prg_arena_printf(arena, "%s-predictor", name));
    prg_json_set_string(arena, got, "namespace", prg_json_get_text(in, "namespace"));
    assert_cleaned_equal(arena, got, prg_json_get(out, "metadata"), id);
}

static void metadata_is_as_recorded(void **state)
{
    (void)state;
    each_function_case("object_meta", 300, check_object_meta);
}

static void results_are_sorted_by_key(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *layers[] = {json_of(&arena, "{'b': '1', 'B': '2'}"), NULL, json_of(&arena, "{'a': '3', 'b': '4'}")};
    assert_string_equal(prg_json_print_arena(&arena, prg_meta_union(&arena, layers, 3), 0),
                        "{\"B\":\"2\",\"a\":\"3\",\"b\":\"4\"}");
    assert_string_equal(
        prg_json_print_arena(&arena, prg_meta_filter(&arena, layers[0], json_of(&arena, "['B', 'x']")), 0),
        "{\"b\":\"1\"}");
    assert_json_text(&arena, prg_meta_filter(&arena, NULL, NULL), "{}");
}

// ---- with policies ----

struct fixture {
    struct px px;
    struct prg_serving s;
};

static struct fixture *fixture_new(const char *disallowed)
{
    struct fixture *f = test_calloc(1, sizeof(*f));
    px_init(&f->px, &prg_compat_fixed);
    f->px.config.annotation_disallowed = json_of(&f->px.arena, disallowed ? disallowed : "[]");
    px_decider_init(&f->px.decider, &f->px.arena, &f->px.config, f->px.in.compat);
    f->s = (struct prg_serving){.arena = &f->px.arena,
                                .in = &f->px.in,
                                .decide = &f->px.decider.base,
                                .compat = f->px.in.compat,
                                .config = &f->px.config,
                                .plan = prg_plan_new(&f->px.arena)};
    return f;
}

static void fixture_free(struct fixture *f)
{
    px_release(&f->px);
    test_free(f);
}

static const struct prg_trace_entry *traced(const struct fixture *f, const char *subject)
{
    const struct prg_trace_entry *entry = f->s.plan->trace_first;
    while (entry && !prg_text_equal(entry->subject, subject))
        entry = entry->next;
    return entry;
}

static void own_annotations_are_never_passed_on(void **state)
{
    struct fixture *f = fixture_new(NULL);
    cJSON *kept = NULL;
    (void)state;
    const cJSON *annotations =
        json_of(&f->px.arena, "{'perigee.dev/stage': 'x', 'a': '1', 'perigee.development': '2'}");
    assert_ok(prg_serving_filter_annotations(&f->s, annotations, "service", PRG_ORIGIN_SERVICE, &kept, &f->px.err),
              &f->px.err);
    assert_json_text(&f->px.arena, kept, "{'a': '1', 'perigee.development': '2'}");
    assert_int_equal(prg_json_origin(prg_json_get(kept, "a")), PRG_ORIGIN_SERVICE);
    const struct prg_trace_entry *entry = traced(f, "perigee.dev/stage");
    assert_non_null(entry);
    assert_string_equal(entry->outcome, "dropped");
    assert_null(entry->source.file); // a fixed rule
    fixture_free(f);
}

static void dropped_annotations_are_traced_with_the_policy_and_its_reason(void **state)
{
    struct fixture *f = fixture_new("['secret']");
    cJSON *kept = NULL;
    (void)state;
    const cJSON *annotations = json_of(&f->px.arena, "{'secret': '1', 'a': '2'}");
    assert_ok(prg_serving_filter_annotations(&f->s, annotations, "runtime", PRG_ORIGIN_RUNTIME, &kept, &f->px.err),
              &f->px.err);
    assert_json_text(&f->px.arena, kept, "{'a': '2'}");
    const struct prg_trace_entry *entry = traced(f, "secret");
    assert_string_equal(entry->source.policy, "annotation_filter");
    assert_string_equal(entry->reason, "runtime: on the disallowed list");
    assert_ok(prg_serving_filter_annotations(&f->s, NULL, "runtime", PRG_ORIGIN_RUNTIME, &kept, &f->px.err),
              &f->px.err);
    assert_json_text(&f->px.arena, kept, "{}");
    fixture_free(f);
}

static int keep_fails(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                      const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)key;
    (void)value;
    (void)layer;
    (void)ret;
    (void)ret_reason;
    (void)source;
    return prg_fail(err, PRG_POLICY, "annotation_filter.keep: f.lua:3: boom");
}

static void a_failing_filter_names_key_and_layer(void **state)
{
    struct fixture *f = fixture_new(NULL);
    cJSON *kept = NULL;
    (void)state;
    f->px.decider.base.keep_annotation = keep_fails;
    const cJSON *annotations = json_of(&f->px.arena, "{'a': '1'}");
    assert_int_equal(
        prg_serving_filter_annotations(&f->s, annotations, "predictor", PRG_ORIGIN_PREDICTOR, &kept, &f->px.err),
        PRG_POLICY);
    assert_error_has(&f->px.err, "annotation 'a' (predictor): annotation_filter.keep: f.lua:3: boom");
    fixture_free(f);
}

static cJSON *union_of(struct fixture *f, const char *runtime, const char *service, const char *predictor,
                       const char *fixed)
{
    cJSON *ret = NULL;
    struct prg_meta_layers layers = {json_of(&f->px.arena, runtime), json_of(&f->px.arena, service),
                                     json_of(&f->px.arena, predictor), json_of(&f->px.arena, fixed)};
    assert_ok(prg_serving_union(&f->s, &layers, "labels", "head", &ret, &f->px.err), &f->px.err);
    return ret;
}

static void the_highest_layer_wins_and_disagreement_is_traced(void **state)
{
    struct fixture *f = fixture_new(NULL);
    (void)state;
    cJSON *labels = union_of(f, "{'a': 'r', 'same': '1', 'c': 'r'}", "{'a': 's', 'same': '1', 'k': 's'}",
                             "{'a': 'p', 'b': 'p'}", "{'k': 'f', 'c': 'f'}");
    assert_json_text(&f->px.arena, labels, "{'a': 'p', 'b': 'p', 'c': 'f', 'k': 'f', 'same': '1'}");
    assert_string_equal(traced(f, "a")->outcome, "predictor wins");
    assert_string_equal(traced(f, "a")->reason, "runtime 'r' < service 's' < predictor 'p'");
    assert_string_equal(traced(f, "a")->decision, "label");
    assert_string_equal(traced(f, "k")->outcome, "fixed wins");
    assert_null(traced(f, "same"));
    assert_null(traced(f, "b"));
    assert_int_equal(prg_json_origin(prg_json_get(labels, "b")), PRG_ORIGIN_PREDICTOR);
    assert_int_equal(prg_json_origin(prg_json_get(labels, "k")), PRG_ORIGIN_RULE);
    fixture_free(f);
}

static const char *order[4];
static size_t order_count;

static int own_layers(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                      size_t cap, struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)part;
    (void)target;
    (void)source;
    (void)err;
    assert_true(cap >= order_count);
    for (size_t i = 0; i < order_count; i++)
        ret_layers[i] = order[i];
    *ret_count = order_count;
    return PRG_OK;
}

static void a_policy_orders_the_layers(void **state)
{
    struct fixture *f = fixture_new(NULL);
    (void)state;
    f->px.decider.base.label_layers = own_layers;
    order[0] = "predictor";
    order[1] = "runtime";
    order_count = 2; // the service's labels are not passed on at all
    assert_json_text(&f->px.arena, union_of(f, "{'a': 'r'}", "{'a': 's', 'x': 's'}", "{'a': 'p'}", "{'f': 'f'}"),
                     "{'a': 'r', 'f': 'f'}");
    fixture_free(f);
}

static void a_layer_that_does_not_exist_is_a_policy_failure(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct prg_meta_layers layers = {NULL, NULL, NULL, NULL};
    cJSON *ret = NULL;
    (void)state;
    f->px.decider.base.label_layers = own_layers;
    order[0] = "cluster";
    order_count = 1;
    assert_int_equal(prg_serving_union(&f->s, &layers, "annotations", "worker", &ret, &f->px.err), PRG_POLICY);
    assert_error_has(&f->px.err, "annotations of the worker: 'cluster' is not a layer");
    fixture_free(f);
}

// ---- resolve ----

static bool yes(void *ctx)
{
    (void)ctx;
    return true;
}

// "drop" goes, "join" joins all values, "fail" fails, anything else has no opinion. Fixed keys must not get here.
static int resolve(void *ctx, const char *key, const struct prg_label_value *values, size_t count, const char *part,
                   const char **ret_value, bool *ret_dropped, struct prg_policy_source *source, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    *source = px_source("label_priority", "resolve");
    assert_string_equal(part, "labels");
    assert_string_not_equal(key, "fixed");
    if (prg_text_equal(key, "fail"))
        return prg_fail(err, PRG_POLICY, "label_priority.resolve: boom");
    *ret_dropped = prg_text_equal(key, "drop");
    if (prg_text_equal(key, "join"))
        *ret_value = prg_arena_printf(d->arena, "%s+%s of %zu", values[0].value, values[count - 1].value, count);
    return PRG_OK;
}

static void a_policy_settles_single_labels(void **state)
{
    struct fixture *f = fixture_new(NULL);
    (void)state;
    f->px.decider.base.has_resolve_label = yes;
    f->px.decider.base.resolve_label = resolve;
    cJSON *labels = union_of(f, "{'join': 'r', 'drop': 'r', 'a': 'r'}", "{'drop': 's', 'fixed': 's'}",
                             "{'join': 'p', 'a': 'p'}", "{'fixed': 'f'}");
    assert_json_text(&f->px.arena, labels, "{'a': 'p', 'fixed': 'f', 'join': 'r+p of 2'}");
    assert_int_equal(prg_json_origin(prg_json_get(labels, "join")), PRG_ORIGIN_LABEL_POLICY);
    assert_string_equal(traced(f, "join")->outcome, "'r+p of 2' by policy");
    assert_string_equal(traced(f, "join")->source.function, "resolve");
    assert_string_equal(traced(f, "drop")->outcome, "dropped");
    assert_string_equal(traced(f, "a")->source.function, "layers");
    fixture_free(f);
}

static void a_failing_resolve_names_the_key(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct prg_meta_layers layers = {json_of(&f->px.arena, "{'fail': '1'}"), NULL, NULL, NULL};
    cJSON *ret = NULL;
    (void)state;
    f->px.decider.base.has_resolve_label = yes;
    f->px.decider.base.resolve_label = resolve;
    assert_int_equal(prg_serving_union(&f->s, &layers, "labels", "head", &ret, &f->px.err), PRG_POLICY);
    assert_error_has(&f->px.err, "labels: 'fail': label_priority.resolve: boom");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_is_as_recorded),
        cmocka_unit_test(results_are_sorted_by_key),
        cmocka_unit_test(own_annotations_are_never_passed_on),
        cmocka_unit_test(dropped_annotations_are_traced_with_the_policy_and_its_reason),
        cmocka_unit_test(a_failing_filter_names_key_and_layer),
        cmocka_unit_test(the_highest_layer_wins_and_disagreement_is_traced),
        cmocka_unit_test(a_policy_orders_the_layers),
        cmocka_unit_test(a_layer_that_does_not_exist_is_a_policy_failure),
        cmocka_unit_test(a_policy_settles_single_labels),
        cmocka_unit_test(a_failing_resolve_names_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
