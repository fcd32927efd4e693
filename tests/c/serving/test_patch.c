// SPDX-License-Identifier: Apache-2.0
// test_patch.c: the object_patch policy.
#include "plan_fixture.h"

#include "serving/patch.h"
#include "serving/predictor.h"

static const char *patch_text;    // of every object; NULL: no opinion
static const char *patch_of_kind; // only for this kind; NULL: all
static unsigned asked;

static int patch(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    (void)err;
    *source = px_source("object_patch", "patch");
    asked++;
    if (patch_text && (!patch_of_kind || prg_text_equal(prg_json_get_text(object, "kind"), patch_of_kind)))
        *ret = json_of(d->arena, patch_text);
    return PRG_OK;
}

static bool yes(void *ctx)
{
    (void)ctx;
    return true;
}

#define DEPLOYMENT                                                                                                     \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd', 'namespace': 'ns'}, 'spec': "           \
    "{'selector': {'matchLabels': {'app': 'x'}}, 'template': {'metadata': {'labels': {'app': 'x', 'team': 't'}}, "     \
    "'spec': {'containers': [{'name': 'a', 'image': 'i', "                                                             \
    "'env': [{'name': 'X', 'value': '1'}]}, {'name': 'b'}]}}}}"
#define SERVICE "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 's', 'namespace': 'ns'}, 'spec': {}}"

struct fixture {
    struct px px;
    struct prg_serving s;
    int rc;
};

static struct fixture *patched(const char *objects, const char *text, const char *kind)
{
    struct fixture *f = test_calloc(1, sizeof(*f));
    px_init(&f->px, &prg_compat_fixed);
    f->s = px_serving(&f->px, "{}", NULL, NULL);
    f->px.decider.base.has_object_patch = yes;
    f->px.decider.base.object_patch = patch;
    f->s.plan->objects = json_of(&f->px.arena, objects);
    patch_text = text;
    patch_of_kind = kind;
    asked = 0;
    f->rc = prg_serving_patch_objects(&f->s, &f->px.err);
    return f;
}

static void done(struct fixture *f)
{
    px_release(&f->px);
    test_free(f);
}

static void lists_of_pods_merge_by_their_keys(void **state)
{
    struct fixture *f = patched("[" DEPLOYMENT ", " SERVICE "]",
                                "{'spec': {'template': {'spec': {'containers': [{'name': 'a', 'env': [{'name': 'Y', "
                                "'value': '2'}]}]}}}}",
                                "Deployment");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    const cJSON *object = prg_json_item(f->s.plan->objects, 0);
    const cJSON *containers = prg_json_at(object, "spec", "template", "spec", "containers");
    assert_int_equal(prg_json_count(containers), 2);
    const cJSON *a = prg_named_item(containers, "a");
    assert_string_equal(prg_json_get_text(a, "image"), "i");
    assert_int_equal(prg_json_count(prg_json_get(a, "env")), 2);
    assert_int_equal(prg_json_origin(prg_named_item(prg_json_get(a, "env"), "Y")), PRG_ORIGIN_PATCH_POLICY);
    const struct prg_trace_entry *entry = px_traced(f->s.plan, "Deployment d", "patched");
    assert_string_equal(entry->source.policy, "object_patch");
    assert_null(px_traced(f->s.plan, "Service s", "patched"));
    assert_json_text(&f->px.arena, prg_json_item(f->s.plan->objects, 1), SERVICE);
    done(f);
}

static void a_patch_that_changes_nothing_leaves_no_trace(void **state)
{
    struct fixture *f = patched("[" DEPLOYMENT "]", "{'spec': {'selector': {'matchLabels': {'app': 'x'}}}}", NULL);
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_json_text(&f->px.arena, f->s.plan->objects, "[" DEPLOYMENT "]");
    assert_null(px_traced(f->s.plan, "Deployment d", "patched"));
    done(f);
}

static void no_opinion_leaves_objects_alone(void **state)
{
    struct fixture *f = patched("[" DEPLOYMENT ", " SERVICE "]", NULL, NULL);
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_int_equal(asked, 2);
    assert_json_text(&f->px.arena, f->s.plan->objects, "[" DEPLOYMENT ", " SERVICE "]");
    done(f);
}

static void what_holds_objects_together_cannot_be_patched(void **state)
{
    static const char *const patches[][2] = {
        {"{'metadata': {'name': 'other'}}", "/metadata/name"},
        {"{'metadata': {'namespace': 'other'}}", "/metadata/namespace"},
        {"{'metadata': {'ownerReferences': [{'uid': 'x', 'name': 'y'}]}}", "/metadata/ownerReferences"},
        {"{'kind': 'DaemonSet'}", "/kind"},
        {"{'apiVersion': 'apps/v2'}", "/apiVersion"},
        {"{'spec': {'selector': {'matchLabels': {'app': 'y'}}}}", "/spec/selector"},
        {"{'spec': {'template': {'metadata': {'labels': {'app': null}}}}}", "label 'app' of /spec/template"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(patches); i++) {
        struct fixture *f = patched("[" DEPLOYMENT "]", patches[i][0], NULL);
        assert_int_equal(f->rc, PRG_POLICY);
        assert_error_has(&f->px.err, "Deployment d: fixture.c:1: patch must not change ");
        assert_error_has(&f->px.err, patches[i][1]);
        done(f);
    }
}

// Counts up: its result is never what it was before.
static int unstable(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source,
                    struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    int64_t replicas = 0;
    (void)err;
    *source = px_source("object_patch", "patch");
    (void)prg_json_get_int64(prg_json_get(object, "spec"), "replicas", &replicas);
    *ret = json_of(d->arena, prg_arena_printf(d->arena, "{'spec': {'replicas': %d}}", (int)replicas + 1));
    return PRG_OK;
}

static void a_patch_must_be_stable(void **state)
{
    struct fixture *f = patched("[]", NULL, NULL);
    (void)state;
    f->px.decider.base.object_patch = unstable;
    f->s.plan->objects = json_of(&f->px.arena, "[" DEPLOYMENT "]");
    assert_int_equal(prg_serving_patch_objects(&f->s, &f->px.err), PRG_POLICY);
    assert_error_has(&f->px.err, "patch is not stable: applied to its own result it changes /spec/replicas again");
    done(f);
}

static void a_patch_that_does_not_apply_names_the_object(void **state)
{
    struct fixture *f =
        patched("[" DEPLOYMENT "]", "{'spec': {'template': {'spec': {'containers': [{'image': 'x'}]}}}}", NULL);
    (void)state;
    assert_int_equal(f->rc, PRG_POLICY);
    assert_error_has(&f->px.err, "Deployment d: the patch of fixture.c does not apply: ");
    done(f);
}

static int fails(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)object;
    (void)ret;
    (void)source;
    return prg_fail(err, PRG_POLICY, "object_patch.patch: p.lua:2: boom");
}

static void a_failing_patch_names_the_object(void **state)
{
    struct fixture *f = patched("[]", NULL, NULL);
    (void)state;
    f->px.decider.base.object_patch = fails;
    f->s.plan->objects = json_of(&f->px.arena, "[" SERVICE "]");
    assert_int_equal(prg_serving_patch_objects(&f->s, &f->px.err), PRG_POLICY);
    assert_error_has(&f->px.err, "Service s: object_patch.patch: p.lua:2: boom");
    done(f);
}

static void nobody_is_asked_when_the_set_has_no_patches(void **state)
{
    struct fixture *f = patched("[]", NULL, NULL);
    (void)state;
    f->px.decider.base.has_object_patch = px_no;
    f->px.decider.base.object_patch = NULL;
    f->s.plan->objects = json_of(&f->px.arena, "[" SERVICE "]");
    assert_ok(prg_serving_patch_objects(&f->s, &f->px.err), &f->px.err);
    done(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_pods_merge_by_their_keys),
        cmocka_unit_test(a_patch_that_changes_nothing_leaves_no_trace),
        cmocka_unit_test(no_opinion_leaves_objects_alone),
        cmocka_unit_test(what_holds_objects_together_cannot_be_patched),
        cmocka_unit_test(a_patch_must_be_stable),
        cmocka_unit_test(a_patch_that_does_not_apply_names_the_object),
        cmocka_unit_test(a_failing_patch_names_the_object),
        cmocka_unit_test(nobody_is_asked_when_the_set_has_no_patches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
