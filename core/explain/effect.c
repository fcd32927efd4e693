// SPDX-License-Identifier: Apache-2.0
// effect.c: two plans of one subject side by side.
//
// Pods of a workload are those of its stored status, else the replicas that it is to have, else what its autoscaler
// starts with, else one. Where the new plan asks for another number of replicas than the base's, that is its number. A
// pod template that changes in any field restarts all of them.
#include "explain/effect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/summary.h"
#include "object/meta.h"
#include "serving/podspec.h"
#include "store/intent.h"

static const char *const names[][2] = {
    [PRG_EFFECT_UNCHANGED] = {"unchanged", "unchanged"},
    [PRG_EFFECT_METADATA] = {"metadata", "metadata only"},
    [PRG_EFFECT_IN_PLACE] = {"inPlace", "change in place"},
    [PRG_EFFECT_RESTART] = {"restart", "pods restart"},
    [PRG_EFFECT_GPUS] = {"gpus", "GPUs change"},
    [PRG_EFFECT_OBJECTS] = {"objects", "objects appear or vanish"},
    [PRG_EFFECT_ERROR] = {"error", "error"},
};

const char *prg_effect_name(enum prg_effect_group group)
{
    return names[group][0];
}

const char *prg_effect_title(enum prg_effect_group group)
{
    return names[group][1];
}

struct comparing {
    struct prg_arena *arena;
    const struct prg_reader *store;
    const struct prg_plan *plans[2];
    struct prg_effect *effect;
};

// ---- pods and GPUs ----

// Where the pods of an object are described, or NULL when it has none.
static const cJSON *template_of(const cJSON *object)
{
    const cJSON *template = prg_json_at(object, "spec", "template");
    if (prg_text_equal(prg_json_get_text(object, "kind"), "Pod"))
        return object;
    return prg_json_get(template, "spec") ? template : NULL;
}

static const cJSON *stored_of(const struct comparing *c, const cJSON *object)
{
    prg_auto_arena scratch;
    struct prg_key key;
    prg_arena_init(&scratch);
    return c->store && prg_key_of(&scratch, object, &key, NULL) == PRG_OK ? c->store->get(c->store, &key) : NULL;
}

static const cJSON *scaler_of(const struct prg_plan *plan, const cJSON *workload)
{
    const cJSON *object;
    prg_json_each (object, plan->objects) {
        const char *kind = prg_json_get_text(object, "kind");
        if ((prg_text_equal(kind, "HorizontalPodAutoscaler") || prg_text_equal(kind, "ScaledObject")) &&
            strcmp(prg_meta_name(object), prg_meta_name(workload)) == 0)
            return object;
    }
    return NULL;
}

// The new plan asks for another number of replicas than the base's.
static bool has_other_replicas(const struct comparing *c, const struct prg_plan *plan, const cJSON *workload)
{
    const cJSON *object;
    if (plan != c->plans[1] || !c->plans[0])
        return false;
    prg_json_each (object, c->plans[0]->objects)
        if (prg_text_equal(prg_json_get_text(object, "kind"), prg_json_get_text(workload, "kind")) &&
            strcmp(prg_meta_name(object), prg_meta_name(workload)) == 0)
            return !prg_json_equal(prg_json_at(object, "spec", "replicas"), prg_json_at(workload, "spec", "replicas"));
    return false;
}

static bool read_count(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long count = text ? strtoll(text, &end, 10) : 0;
    if (!text || !*text || errno || *end)
        return false;
    *ret = count;
    return true;
}

static int64_t pods_of(const struct comparing *c, const struct prg_plan *plan, const cJSON *workload)
{
    int64_t count;
    if (!template_of(workload))
        return 0;
    if (prg_text_equal(prg_json_get_text(workload, "kind"), "Pod"))
        return 1;
    const cJSON *stored = stored_of(c, workload), *planned = prg_json_at(workload, "spec", "replicas");
    if (has_other_replicas(c, plan, workload) && prg_json_int64(planned, &count))
        return count < 0 ? 0 : count;
    const cJSON *scaler = scaler_of(plan, workload);
    const char *least = prg_json_text(
        prg_json_at(workload, "spec", "template", "metadata", "annotations", "autoscaling.knative.dev/min-scale"));
    if (prg_json_int64(prg_json_at(stored, "status", "replicas"), &count) || prg_json_int64(planned, &count) ||
        prg_json_int64(prg_json_at(stored, "spec", "replicas"), &count) ||
        prg_json_int64(prg_json_at(scaler, "spec", "minReplicas"), &count) ||
        prg_json_int64(prg_json_at(scaler, "spec", "minReplicaCount"), &count) || read_count(least, &count))
        return count < 0 ? 0 : count;
    return 1;
}

// Which names of resources are GPUs: those of the new plan, as far as there is one.
static const cJSON *gpu_types(const struct comparing *c)
{
    const struct prg_plan *plan = c->plans[1] ? c->plans[1] : c->plans[0];
    return plan ? plan->gpu_types : NULL;
}

static int64_t pod_gpus(const struct comparing *c, const cJSON *workload)
{
    const cJSON *template = template_of(workload);
    return template ? prg_pod_gpus(prg_json_get(template, "spec"), gpu_types(c)) : 0;
}

static int64_t total_gpus(const struct comparing *c, const struct prg_plan *plan)
{
    const cJSON *object;
    int64_t sum = 0;
    if (!plan)
        return 0;
    prg_json_each (object, plan->objects)
        sum = prg_saturated_add(sum, prg_saturated_multiply(pod_gpus(c, object), pods_of(c, plan, object)));
    return sum;
}

// The kinds of GPUs of a container and their number must be the same, not only the sum.
static bool has_same_gpus(const struct comparing *c, const cJSON *before, const cJSON *after)
{
    const cJSON *x = prg_json_at(template_of(before), "spec", "containers");
    const cJSON *y = prg_json_at(template_of(after), "spec", "containers"), *a, *b;
    if (prg_json_count(x) != prg_json_count(y))
        return pod_gpus(c, before) == pod_gpus(c, after);
    for (a = x ? x->child : NULL, b = y ? y->child : NULL; a && b; a = a->next, b = b->next) {
        const cJSON *of_a = prg_json_at(a, "resources", "limits"), *of_b = prg_json_at(b, "resources", "limits"),
                    *limit;
        prg_json_each (limit, of_a)
            if (prg_gpu_is(limit->string, gpu_types(c)) && !prg_json_equal(limit, prg_json_get(of_b, limit->string)))
                return false;
        prg_json_each (limit, of_b)
            if (prg_gpu_is(limit->string, gpu_types(c)) && !prg_json_get(of_a, limit->string))
                return false;
    }
    return true;
}

// ---- objects ----

static void raise_group(struct prg_effect *effect, enum prg_effect_group group)
{
    if (effect->group < group)
        effect->group = group;
}

static struct prg_object_effect *add_object(struct comparing *c, enum prg_object_effect_kind change,
                                            const cJSON *object)
{
    struct prg_object_effect *entry = prg_arena_new(c->arena, struct prg_object_effect);
    const char *kind = prg_json_get_text(object, "kind");
    entry->change = change;
    entry->kind = prg_arena_strdup(c->arena, kind ? kind : "");
    entry->ns = prg_arena_strdup(c->arena, prg_meta_namespace(object));
    entry->name = prg_arena_strdup(c->arena, prg_meta_name(object));
    if (c->effect->last)
        c->effect->last->next = entry;
    else
        c->effect->first = entry;
    c->effect->last = entry;
    return entry;
}

struct fields {
    struct comparing *comparing;
    struct prg_object_effect *object;
};

static void add_field(const struct prg_field_change *change, void *ctx)
{
    struct fields *fields = ctx;
    struct prg_arena *arena = fields->comparing->arena;
    struct prg_object_effect *object = fields->object;
    if (object->field_count++ >= PRG_EFFECT_FIELDS)
        return;
    struct prg_field_effect *field = prg_arena_new(arena, struct prg_field_effect);
    *field = (struct prg_field_effect){.kind = change->kind,
                                       .path = prg_arena_strdup(arena, change->path),
                                       .from = change->from ? prg_json_copy(arena, change->from) : NULL,
                                       .to = change->to ? prg_json_copy(arena, change->to) : NULL,
                                       .before = (enum prg_origin)prg_json_origin(change->from),
                                       .after = (enum prg_origin)prg_json_origin(change->to)};
    if (object->last)
        object->last->next = field;
    else
        object->first = field;
    object->last = field;
}

// Everything but metadata and status is equal.
static bool is_metadata_only(const cJSON *before, const cJSON *after)
{
    const cJSON *member;
    const cJSON *const sides[] = {before, after};
    for (int side = 0; side < 2; side++)
        prg_json_each (member, sides[side]) {
            if (strcmp(member->string, "metadata") == 0 || strcmp(member->string, "status") == 0)
                continue;
            if (!prg_json_equal(member, prg_json_get(sides[1 - side], member->string)))
                return false;
        }
    return true;
}

static void touch(struct comparing *c, struct prg_object_effect *entry, int64_t pods, int64_t gpus_of_one)
{
    entry->pods = pods;
    entry->gpus = prg_saturated_multiply(gpus_of_one, pods);
    c->effect->pods = prg_saturated_add(c->effect->pods, entry->pods);
    c->effect->gpus = prg_saturated_add(c->effect->gpus, entry->gpus);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void compare_workload(struct comparing *c, struct prg_object_effect *entry, const cJSON *before,
                             const cJSON *after)
{
    int64_t pods = larger(pods_of(c, c->plans[0], before), pods_of(c, c->plans[1], after));
    bool same_gpus = has_same_gpus(c, before, after);
    entry->restarts = !prg_json_equal(template_of(before), template_of(after)) ||
                      !prg_json_equal(prg_json_at(before, "spec", "selector"), prg_json_at(after, "spec", "selector"));
    if (entry->restarts) {
        // Those that are there restart; those that a larger number of replicas adds are new.
        c->effect->restarts = prg_saturated_add(c->effect->restarts, pods_of(c, c->plans[0], before));
        touch(c, entry, pods, larger(pod_gpus(c, before), pod_gpus(c, after)));
        raise_group(c->effect, PRG_EFFECT_RESTART);
    }
    if (!same_gpus)
        raise_group(c->effect, PRG_EFFECT_GPUS);
}

static void compare_objects(struct comparing *c, const cJSON *before, const cJSON *after)
{
    if (prg_json_equal(before, after))
        return;
    struct prg_object_effect *entry = add_object(c, PRG_OBJECT_CHANGES, after);
    struct fields fields = {c, entry};
    (void)prg_fields_diff(c->arena, before, after, add_field, &fields);
    if (is_metadata_only(before, after)) {
        raise_group(c->effect, PRG_EFFECT_METADATA);
        return;
    }
    raise_group(c->effect, PRG_EFFECT_IN_PLACE);
    if (template_of(before) || template_of(after))
        compare_workload(c, entry, before, after);
}

// What only one plan has. A plan with an error says nothing of what it leaves out: that stays as it is stored.
static void lone_object(struct comparing *c, const cJSON *object, int side)
{
    const cJSON *merged, *stored = stored_of(c, object);
    if (side == 0 && c->plans[1] && c->plans[1]->error)
        return;
    if (side == 1 && c->plans[0] && c->plans[0]->error && stored) {
        if (prg_intent_merge(c->arena, stored, object, &merged) != PRG_INTENT_SAME)
            compare_objects(c, stored, merged);
        return;
    }
    struct prg_object_effect *entry = add_object(c, side ? PRG_OBJECT_APPEARS : PRG_OBJECT_VANISHES, object);
    touch(c, entry, pods_of(c, c->plans[side], object), pod_gpus(c, object));
    raise_group(c->effect, PRG_EFFECT_OBJECTS);
}

// Both lists are sorted by key (prg_plan_finish).
static void merge_objects(struct comparing *c)
{
    const cJSON *before = c->plans[0] ? c->plans[0]->objects->child : NULL;
    const cJSON *after = c->plans[1] ? c->plans[1]->objects->child : NULL;
    prg_auto_arena scratch;
    prg_arena_init(&scratch);
    while (before || after) {
        struct prg_key x = {"", "", "", ""}, y = {"", "", "", ""};
        int order = !before ? 1 : !after ? -1 : 0;
        if (!order && prg_key_of(&scratch, before, &x, NULL) == PRG_OK &&
            prg_key_of(&scratch, after, &y, NULL) == PRG_OK)
            order = prg_key_compare(&x, &y);
        if (order == 0)
            compare_objects(c, before, after);
        else
            lone_object(c, order < 0 ? before : after, order > 0);
        before = order <= 0 ? before->next : before;
        after = order >= 0 ? after->next : after;
    }
}

// ---- deletes ----

static bool has_entry(const cJSON *list, const cJSON *entry)
{
    const cJSON *other;
    prg_json_each (other, list)
        if (prg_json_equal(other, entry))
            return true;
    return false;
}

// What only the new plan deletes vanishes, unless the old one would have made it (then that has been told).
static void compare_deletes(struct comparing *c)
{
    const cJSON *entry;
    if (!c->plans[0] || !c->plans[1])
        return;
    prg_json_each (entry, c->plans[1]->deletes) {
        if (has_entry(c->plans[0]->deletes, entry))
            continue;
        const char *kind = prg_json_get_text(entry, "kind"), *name = prg_json_get_text(entry, "name");
        bool is_told = false;
        for (const struct prg_object_effect *o = c->effect->first; o; o = o->next)
            is_told = is_told || (strcmp(o->kind, kind) == 0 && strcmp(o->name, name) == 0);
        if (is_told)
            continue;
        struct prg_object_effect *object = prg_arena_new(c->arena, struct prg_object_effect);
        *object = (struct prg_object_effect){.change = PRG_OBJECT_VANISHES,
                                             .kind = prg_arena_strdup(c->arena, kind),
                                             .ns = prg_arena_strdup(c->arena, prg_json_get_text(entry, "namespace")),
                                             .name = prg_arena_strdup(c->arena, name)};
        if (c->effect->last)
            c->effect->last->next = object;
        else
            c->effect->first = object;
        c->effect->last = object;
        raise_group(c->effect, PRG_EFFECT_OBJECTS);
    }
}

// ---- the whole ----

// The status that the plans write: what it says, and nothing that is not written.
static void compare_status(struct comparing *c)
{
    const cJSON *before = c->plans[0] ? prg_json_get(c->plans[0]->resource, "status") : NULL;
    const cJSON *after = c->plans[1] ? prg_json_get(c->plans[1]->resource, "status") : NULL;
    if (!c->plans[0] || !c->plans[1] || prg_json_equal(before, after))
        return;
    struct prg_object_effect *entry = add_object(c, PRG_OBJECT_CHANGES, c->plans[1]->resource);
    struct fields fields = {c, entry};
    cJSON *x = prg_json_object(c->arena), *y = prg_json_object(c->arena);
    prg_json_add(c->arena, x, "status", prg_json_reference(c->arena, before));
    prg_json_add(c->arena, y, "status", prg_json_reference(c->arena, after));
    (void)prg_fields_diff(c->arena, x, y, add_field, &fields);
    raise_group(c->effect, PRG_EFFECT_METADATA);
}

static const char *error_of(struct prg_arena *arena, const struct prg_plan *plan)
{
    return plan && plan->error ? prg_arena_strdup(arena, plan->error) : NULL;
}

void prg_effect_of(struct prg_arena *arena, const struct prg_reader *store, const struct prg_plan *before,
                   const struct prg_plan *after, struct prg_effect *ret)
{
    struct comparing c = {.arena = arena, .store = store, .plans = {before, after}, .effect = ret};
    *ret = (struct prg_effect){.error = {error_of(arena, before), error_of(arena, after)}};
    ret->gpus_total[0] = ret->gpus_total[1] = total_gpus(&c, before);
    if (before == after)
        return;
    ret->gpus_total[1] = total_gpus(&c, after);
    if (ret->error[1])
        ret->gpus_total[1] = ret->gpus_total[0]; // what runs goes on running
    merge_objects(&c);
    compare_deletes(&c);
    compare_status(&c);
    if (ret->gpus_total[0] != ret->gpus_total[1])
        raise_group(ret, PRG_EFFECT_GPUS);
    if (ret->error[1] && !ret->error[0])
        raise_group(ret, PRG_EFFECT_ERROR);
    else if (!prg_text_equal(ret->error[0], ret->error[1]))
        raise_group(ret, PRG_EFFECT_METADATA);
}
