// SPDX-License-Identifier: Apache-2.0
// patch.c: the object_patch policy.
#include "serving/patch.h"

#include "serving/podspec.h"
#include "json/diff.h"
#include "json/pointer.h"
#include "json/strategic.h"

// Workloads: their pod template merges by the keys of pod specs. Everything else merges as JSON merge patch does.
static const struct prg_schema_field template_spec_fields[] = {
    {"template", PRG_KIND_OBJECT, PRG_KIND_ANY, 0, &prg_schema_pod_template, NULL}};
static const struct prg_schema template_spec = {.name = "WorkloadSpec", .fields = template_spec_fields, .count = 1};
static const struct prg_schema_field workload_fields[] = {
    {"metadata", PRG_KIND_OBJECT, PRG_KIND_ANY, 0, &prg_schema_object_meta, NULL},
    {"spec", PRG_KIND_OBJECT, PRG_KIND_ANY, 0, &template_spec, NULL}};
static const struct prg_schema workload = {.name = "Workload", .fields = workload_fields, .count = 2};
static const struct prg_schema_field plain_fields[] = {
    {"metadata", PRG_KIND_OBJECT, PRG_KIND_ANY, 0, &prg_schema_object_meta, NULL}};
static const struct prg_schema plain = {.name = "Object", .fields = plain_fields, .count = 1};

static const char *const fixed_pointers[] = {"/apiVersion",
                                             "/kind",
                                             "/metadata/name",
                                             "/metadata/namespace",
                                             "/metadata/ownerReferences",
                                             "/spec/selector",
                                             "/spec/scaleTargetRef"};

static const struct prg_schema *schema_of(struct prg_arena *arena, const cJSON *object)
{
    const char *version = prg_json_get_text(object, "apiVersion"), *kind = prg_json_get_text(object, "kind");
    const struct prg_schema *schema =
        prg_schema_of_kind(prg_api_group(arena, version ? version : ""), kind ? kind : "");
    if (schema)
        return schema;
    return prg_json_at(object, "spec", "template") ? &workload : &plain;
}

struct patching {
    struct prg_serving *s;
    const char *what; // "Deployment m-predictor"
    struct prg_policy_source source;
};

// One application. *ret == object when the policy has nothing to say.
static int apply(struct patching *p, const cJSON *object, const cJSON **ret, struct prg_error *err)
{
    struct prg_serving *s = p->s;
    cJSON *patch = NULL, *patched = NULL;
    if (s->decide->object_patch(s->decide->ctx, object, &patch, &p->source, err) != PRG_OK)
        return prg_wrap(err, "%s", p->what);
    *ret = object;
    if (!patch)
        return PRG_OK;
    prg_podspec_tag(patch, PRG_ORIGIN_PATCH_POLICY);
    if (prg_strategic_apply(s->arena, schema_of(s->arena, object), object, patch, &patched, err) != PRG_OK) {
        char text[PRG_ERROR_LINE];
        const char *cause = prg_arena_strdup(s->arena, prg_error_text(err, text, sizeof(text)));
        prg_error_clear(err);
        return prg_fail(err, PRG_POLICY, "%s: the patch of %s does not apply: %s", p->what,
                        p->source.file ? p->source.file : "object_patch", cause);
    }
    *ret = patched;
    return PRG_OK;
}

// Labels of the pods that the object's selector looks for.
static int check_selected(struct patching *p, const cJSON *before, const cJSON *after, struct prg_error *err)
{
    const cJSON *wanted = prg_json_at(after, "spec", "selector", "matchLabels"), *label;
    const cJSON *old = prg_json_at(before, "spec", "template", "metadata", "labels");
    const cJSON *new = prg_json_at(after, "spec", "template", "metadata", "labels");
    prg_json_each (label, wanted) {
        if (!prg_json_equal(prg_json_get(old, label->string), prg_json_get(new, label->string)))
            return prg_fail(err, PRG_POLICY,
                            "%s: %s:%d: patch must not change label '%s' of /spec/template, which the selector needs",
                            p->what, p->source.file ? p->source.file : "object_patch", p->source.line, label->string);
    }
    return PRG_OK;
}

static int check_fixed(struct patching *p, const cJSON *before, const cJSON *after, struct prg_error *err)
{
    for (size_t i = 0; i < PRG_COUNT(fixed_pointers); i++) {
        const cJSON *old = prg_pointer_get(before, fixed_pointers[i]), *new = prg_pointer_get(after, fixed_pointers[i]);
        if (prg_json_equal(old, new))
            continue;
        return prg_fail(err, PRG_POLICY, "%s: %s:%d: patch must not change %s", p->what,
                        p->source.file ? p->source.file : "object_patch", p->source.line, fixed_pointers[i]);
    }
    return check_selected(p, before, after, err);
}

struct difference {
    struct prg_arena *arena;
    const char *pointer;
};

static void keep_difference(const struct prg_diff_entry *entry, void *ctx)
{
    struct difference *d = ctx;
    if (!d->pointer)
        d->pointer = prg_arena_strdup(d->arena, entry->pointer);
}

// A patch that changes its own result would make the controller write for ever.
static int check_fixed_point(struct patching *p, const cJSON *patched, struct prg_error *err)
{
    const cJSON *again = NULL;
    struct difference difference = {p->s->arena, NULL};
    if (apply(p, patched, &again, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    if (again == patched || prg_diff(patched, again, keep_difference, &difference) == 0)
        return PRG_OK;
    return prg_fail(err, PRG_POLICY, "%s: %s:%d: patch is not stable: applied to its own result it changes %s again",
                    p->what, p->source.file ? p->source.file : "object_patch", p->source.line,
                    difference.pointer ? difference.pointer : "it");
}

static int patch_one(struct prg_serving *s, cJSON **object, struct prg_error *err)
{
    struct patching p = {.s = s};
    const cJSON *patched = NULL;
    p.what = prg_arena_printf(s->arena, "%s %s", prg_json_get_text(*object, "kind"), prg_meta_name(*object));
    if (apply(&p, *object, &patched, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    if (patched == *object)
        return PRG_OK;
    if (check_fixed(&p, *object, patched, err) != PRG_OK || check_fixed_point(&p, patched, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    if (!prg_json_equal(*object, patched))
        prg_plan_trace(s->plan, "patch", &p.source, p.what, "patched", NULL);
    *object = prg_json_copy(s->arena, patched);
    return PRG_OK;
}

int prg_serving_patch_objects(struct prg_serving *s, struct prg_error *err)
{
    if (!s->decide->has_object_patch || !s->decide->has_object_patch(s->decide->ctx))
        return PRG_OK;
    cJSON *patched = prg_json_array(s->arena);
    while (s->plan->objects->child) {
        cJSON *object = s->plan->objects->child;
        prg_json_detach(s->plan->objects, object);
        if (patch_one(s, &object, err) != PRG_OK)
            return err ? err->code : PRG_POLICY;
        prg_json_append(patched, object);
    }
    s->plan->objects = patched;
    return PRG_OK;
}
