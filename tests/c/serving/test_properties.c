// SPDX-License-Identifier: Apache-2.0
// test_properties.c: what must hold for every plan, tried on every recorded case in both answers with the shipped
// policies: planning is a function of its input alone, does not touch it, does not care in which order the members of
// an object are written, and comes to rest when what it planned is stored.
#include "recorded.h"

#include "plan/plan.h"
#include "policy/policy.h"
#include "stdlib/natives.h"
#include "json/diff.h"
#include "json/merge.h"

#define STEP_NS 60000000000 // between two plans of one service: a condition must not change only because time passes

static struct prg_policy_set *policies;

// What one plan depends on, and where it is made.
struct given {
    const cJSON *service, *objects, *configmap;
    const struct prg_compat *compat;
    int64_t now_ns;
};

static struct prg_plan *plan_of(struct prg_arena *arena, const struct given *given)
{
    struct px_reader reader = {{.get = px_get, .list = px_list}, arena, given->objects};
    struct prg_serving_config config;
    struct prg_error err = {0};
    prg_serving_config_parse(arena, given->configmap, &config);
    struct prg_serving_input in = {.service = given->service,
                                   .store = &reader.base,
                                   .config = &config,
                                   .compat = given->compat,
                                   .now_ns = given->now_ns,
                                   .seed = 1};
    struct prg_plan *plan = prg_plan_new(arena);
    assert_ok(prg_serving_plan(&in, prg_policy_set_decider(policies), plan, &err), &err);
    return plan;
}

static const char *plan_text(struct prg_arena *arena, const struct given *given, unsigned flags)
{
    return prg_json_print_arena(arena, prg_plan_to_json(plan_of(arena, given), PRG_PLAN_FIELDS), flags);
}

static const char *input_text(struct prg_arena *arena, const struct given *given)
{
    return prg_arena_printf(arena, "%s\n%s\n%s", prg_json_print_arena(arena, given->service, 0),
                            prg_json_print_arena(arena, given->objects, 0),
                            given->configmap ? prg_json_print_arena(arena, given->configmap, 0) : "");
}

// ---- reporting ----

static unsigned failures;

static void fail_case(const struct recorded_case *recorded, const struct prg_compat *compat, const char *what,
                      const char *detail)
{
    if (++failures <= 60)
        print_error("%s (compat %s): %s: %.1500s\n", recorded->name, compat == &prg_compat_kserve ? "kserve" : "fixed",
                    what, detail);
}

// The first place where two texts part, with what stands around it.
static const char *first_difference(struct prg_arena *arena, const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] && a[at] == b[at])
        at++;
    size_t from = at > 200 ? at - 200 : 0;
    return prg_arena_printf(arena, "\n  …%.500s\n  …%.500s", a + from, b + from);
}

static void add_difference(const struct prg_diff_entry *entry, void *ctx)
{
    struct prg_strbuf *out = ctx;
    prg_strbuf_printf(out, "\n  %s: ", entry->pointer);
    if (entry->from)
        prg_json_print(out, entry->from, PRG_JSON_SORTED);
    prg_strbuf_puts(out, " -> ");
    if (entry->to)
        prg_json_print(out, entry->to, PRG_JSON_SORTED);
}

static const char *tree_difference(struct prg_arena *arena, const cJSON *a, const cJSON *b)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    (void)prg_diff(a, b, add_difference, &out);
    return prg_arena_strndup(arena, out.text, out.length);
}

// ---- the same members in another order ----

struct shuffle {
    struct prg_arena *arena;
    uint64_t state; // 0: reverse
};

static size_t below(struct shuffle *shuffle, size_t limit)
{
    shuffle->state = shuffle->state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(shuffle->state >> 33) % limit;
}

static void permute_members(struct shuffle *shuffle, cJSON *object)
{
    size_t count = prg_json_count(object);
    cJSON **members = prg_arena_array(shuffle->arena, cJSON *, count + 1);
    for (size_t i = 0; i < count; i++) {
        members[i] = object->child;
        prg_json_detach(object, members[i]);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = shuffle->state ? i + below(shuffle, count - i) : count - 1 - i;
        cJSON *member = members[at];
        if (shuffle->state) {
            members[at] = members[i];
            members[i] = member;
        }
        prg_json_add(shuffle->arena, object, member->string, member);
    }
}

static void permute(struct shuffle *shuffle, cJSON *node)
{
    cJSON *item;
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return;
    if (prg_json_is_object(node))
        permute_members(shuffle, node);
    prg_json_each (item, node)
        permute(shuffle, item);
}

static cJSON *permuted(struct shuffle *shuffle, const cJSON *node)
{
    cJSON *copy = node ? prg_json_copy(shuffle->arena, node) : NULL;
    permute(shuffle, copy);
    return copy;
}

// The sections of the configuration are JSON in texts; their members count too.
static cJSON *permuted_configmap(struct shuffle *shuffle, const cJSON *configmap)
{
    cJSON *copy = permuted(shuffle, configmap), *data = prg_json_get(copy, "data"), *section, *next;
    for (section = data ? data->child : NULL; section; section = next) {
        const char *text = prg_json_text(section);
        cJSON *tree = NULL;
        next = section->next;
        if (!text || prg_json_parse(shuffle->arena, text, strlen(text), NULL, &tree, NULL) != PRG_OK)
            continue;
        permute(shuffle, tree);
        prg_json_replace(data, section, prg_json_string(shuffle->arena, prg_json_print_arena(shuffle->arena, tree, 0)));
    }
    return copy;
}

// Stores list by name, so the order in which they hold objects must not show either.
static cJSON *permuted_objects(struct shuffle *shuffle, const cJSON *objects)
{
    cJSON *copy = permuted(shuffle, objects), *ret = prg_json_array(shuffle->arena), *object;
    while ((object = copy->child)) {
        prg_json_detach(copy, object);
        prg_json_insert(ret, shuffle->state ? below(shuffle, prg_json_count(ret) + 1) : 0, object);
    }
    return ret;
}

static struct given permuted_input(struct shuffle *shuffle, const struct given *given)
{
    struct given ret = *given;
    ret.service = permuted(shuffle, given->service);
    ret.objects = permuted_objects(shuffle, given->objects);
    ret.configmap = permuted_configmap(shuffle, given->configmap);
    return ret;
}

// ---- a store that took the plan ----

static bool is_same_object(struct prg_arena *arena, const cJSON *a, const cJSON *b)
{
    return px_is_kind(arena, a, prg_api_group(arena, prg_json_get_text(b, "apiVersion")),
                      prg_json_get_text(b, "kind")) &&
           prg_text_equal(prg_meta_name(a), prg_meta_name(b)) &&
           prg_text_equal(prg_meta_namespace(a), prg_meta_namespace(b));
}

static cJSON *find_same(struct prg_arena *arena, const cJSON *objects, const cJSON *object)
{
    cJSON *item;
    prg_json_each (item, objects) {
        if (is_same_object(arena, item, object))
            return item;
    }
    return NULL;
}

// As a server-side apply by one manager: what the plan says is there, what others put beside it stays.
static void store_object(struct prg_arena *arena, cJSON *objects, const cJSON *object)
{
    cJSON *old = find_same(arena, objects, object), *merged = NULL;
    if (!old) {
        prg_json_append(objects, prg_json_copy(arena, object));
        return;
    }
    merged = prg_merge_apply(arena, old, object);
    // Inside a spec much excludes each other, so there the plan counts alone, but for what others own.
    static const char *const of_others[] = {"clusterIP", "replicas"};
    cJSON *spec = prg_json_copy(arena, prg_json_get(object, "spec"));
    for (size_t i = 0; spec && i < PRG_COUNT(of_others); i++) {
        const cJSON *owned = prg_json_at(old, "spec", of_others[i]);
        if (owned && !prg_json_get(spec, of_others[i]))
            prg_json_set(arena, spec, of_others[i], prg_json_copy(arena, owned));
    }
    if (spec)
        prg_json_set(arena, merged, "spec", spec);
    prg_json_replace(objects, old, merged);
}

static void delete_object(struct prg_arena *arena, cJSON *objects, const cJSON *deleted)
{
    cJSON *item, *next;
    const char *ns = prg_json_get_text(deleted, "namespace");
    for (item = objects->child; item; item = next) {
        next = item->next;
        if (px_is_kind(arena, item, prg_api_group(arena, prg_json_get_text(deleted, "apiVersion")),
                       prg_json_get_text(deleted, "kind")) &&
            prg_text_equal(prg_meta_name(item), prg_json_get_text(deleted, "name")) &&
            prg_text_equal(prg_meta_namespace(item), ns ? ns : ""))
            prg_json_detach(objects, item);
    }
}

// The input of the next plan: the plan's objects and status are stored, its deletions done, a minute has gone by.
static struct given after(struct prg_arena *arena, const struct given *given, const struct prg_plan *plan)
{
    struct given ret = *given;
    cJSON *objects = prg_json_copy(arena, given->objects), *service = prg_json_copy(arena, given->service);
    const cJSON *item, *status = prg_json_get(plan->resource, "status");
    prg_json_each (item, plan->objects)
        store_object(arena, objects, item);
    prg_json_each (item, plan->deletes)
        delete_object(arena, objects, item);
    prg_json_remove(service, "status");
    if (status)
        prg_json_set(arena, service, "status", prg_json_copy(arena, status));
    ret.objects = objects;
    ret.service = service;
    ret.now_ns += STEP_NS;
    return ret;
}

// ---- the properties ----

static void check_repeatable(struct prg_arena *arena, const struct recorded_case *recorded, const struct given *given)
{
    const char *before = input_text(arena, given), *first = plan_text(arena, given, PRG_JSON_COMPACT);
    const char *second = plan_text(arena, given, PRG_JSON_COMPACT), *later = input_text(arena, given);
    if (strcmp(first, second) != 0)
        fail_case(recorded, given->compat, "planning twice differs", first_difference(arena, first, second));
    if (strcmp(before, later) != 0)
        fail_case(recorded, given->compat, "planning changes its input", first_difference(arena, before, later));
}

static void check_permutation(struct prg_arena *arena, const struct recorded_case *recorded, const struct given *given)
{
    const char *want = plan_text(arena, given, PRG_JSON_SORTED);
    static const uint64_t seeds[] = {0, 20260601};
    for (size_t i = 0; i < PRG_COUNT(seeds); i++) {
        struct shuffle shuffle = {arena, seeds[i]};
        struct given other = permuted_input(&shuffle, given);
        const char *got = plan_text(arena, &other, PRG_JSON_SORTED);
        if (strcmp(want, got) != 0)
            fail_case(recorded, given->compat, seeds[i] ? "shuffled members differ" : "reversed members differ",
                      first_difference(arena, want, got));
    }
}

static bool is_owned(const cJSON *object)
{
    return prg_json_count(prg_json_at(object, "metadata", "ownerReferences")) > 0;
}

// What is known to differ the second time. Turns what the first plan made into what the second one must make.
static void expect_exceptions(struct prg_arena *arena, const struct given *given, cJSON *objects, cJSON *deletes)
{
    cJSON *object, *next;
    for (object = objects->child; object; object = next) {
        const char *kind = prg_json_get_text(object, "kind");
        const cJSON *stored = find_same(arena, given->objects, object);
        const char *class = prg_meta_annotation(object, "serving.kserve.io/autoscalerClass");
        next = object->next;
        // The list of models belongs to whoever adds models, once it is there: it is made once only.
        if (prg_text_equal(kind, "ConfigMap") && prg_text_has_prefix(prg_meta_name(object), "modelconfig-"))
            prg_json_detach(objects, object);
        // The original overwrites an HPA that nobody owns even when the class wants none; it owns it then, so that it
        // is removed the next time.
        if (given->compat == &prg_compat_kserve && prg_text_equal(kind, "HorizontalPodAutoscaler") && stored &&
            !is_owned(stored) && class && !prg_text_equal(class, "hpa")) {
            cJSON *deleted = prg_json_object(arena);
            prg_json_set_string(arena, deleted, "apiVersion", prg_json_get_text(object, "apiVersion"));
            prg_json_set_string(arena, deleted, "kind", kind);
            prg_json_set_string(arena, deleted, "namespace", prg_meta_namespace(object));
            prg_json_set_string(arena, deleted, "name", prg_meta_name(object));
            prg_json_append(deletes, deleted);
            prg_json_detach(objects, object);
        }
    }
}

static void check_fixed_point(struct prg_arena *arena, const struct recorded_case *recorded, const struct given *given)
{
    const struct prg_plan *first = plan_of(arena, given);
    struct given second_given = after(arena, given, first);
    const struct prg_plan *second = plan_of(arena, &second_given);
    struct given third_given = after(arena, &second_given, second);
    const struct prg_plan *third = plan_of(arena, &third_given);
    cJSON *want = prg_json_copy(arena, first->objects), *want_deletes = prg_json_array(arena);
    expect_exceptions(arena, given, want, want_deletes);
    if (!prg_json_equal(want, second->objects))
        fail_case(recorded, given->compat, "objects change when planned again",
                  tree_difference(arena, want, second->objects));
    if (!prg_json_equal(want_deletes, second->deletes))
        fail_case(recorded, given->compat, "something is deleted again",
                  prg_json_print_arena(arena, second->deletes, PRG_JSON_SORTED));
    if (!prg_text_equal(first->error ? first->error : "", second->error ? second->error : ""))
        fail_case(recorded, given->compat, "the error changes when planned again",
                  second->error ? second->error : "(none)");
    const cJSON *status = prg_json_get(second->resource, "status"), *again = prg_json_get(third->resource, "status");
    if (!prg_json_equal(status, again))
        fail_case(recorded, given->compat, "the status does not come to rest", tree_difference(arena, status, again));
    if (!prg_json_equal(second->objects, third->objects))
        fail_case(recorded, given->compat, "objects change at the third time",
                  tree_difference(arena, second->objects, third->objects));
}

// ---- all cases ----

typedef void (*property_fn)(struct prg_arena *arena, const struct recorded_case *recorded, const struct given *given);

// The service before defaulting, with what the API server and the status had of it; NULL where the case has none.
static const cJSON *as_written(struct prg_arena *arena, const cJSON *input)
{
    static const char *const of_server[] = {"uid", "generation"};
    const cJSON *service = prg_json_get(input, "isvc"), *status = prg_json_get(service, "status");
    const cJSON *defaulted = prg_json_get(input, "isvcIsDefaulted"), *raw = prg_json_get(input, "isvcRaw");
    if (!prg_json_is_object(raw) || (defaulted && !prg_json_is_true(defaulted)) ||
        prg_json_get_true(input, "isvcIsResultOfEarlierReconcile"))
        return NULL;
    cJSON *copy = prg_json_copy(arena, raw), *metadata = prg_json_ensure_object(arena, copy, "metadata");
    for (size_t i = 0; i < PRG_COUNT(of_server); i++) {
        const cJSON *given = prg_json_at(service, "metadata", of_server[i]);
        if (given)
            prg_json_set(arena, metadata, of_server[i], prg_json_copy(arena, given));
    }
    if (status)
        prg_json_set(arena, copy, "status", prg_json_copy(arena, status));
    return copy;
}

// `kserve` plans the service as it was recorded, `fixed` as its user wrote it.
static void in_both_answers(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    property_fn check = *(property_fn *)ctx;
    static const struct prg_compat *const answers[] = {&prg_compat_kserve, &prg_compat_fixed};
    for (size_t i = 0; i < PRG_COUNT(answers); i++) {
        struct given given = {.service = prg_json_get(recorded->input, "isvc"),
                              .objects = recorded->objects,
                              .configmap = recorded->configmap,
                              .compat = answers[i],
                              .now_ns = PX_NOW_NS};
        const cJSON *written = answers[i] == &prg_compat_fixed ? as_written(arena, recorded->input) : NULL;
        if (written)
            given.service = written;
        check(arena, recorded, &given);
    }
}

// The cases of one file, numbered from `first`. Returns how many.
static size_t each_random_of(const char *path, size_t first, const struct recorded_catalog *catalog, recorded_fn visit,
                             void *ctx)
{
    prg_auto_arena file, one;
    size_t length, count = 0;
    prg_arena_init(&file);
    prg_arena_init(&one);
    const char *line = read_test_file(&file, path, &length), *end = line + length;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        cJSON *document = NULL;
        struct prg_error err = {0};
        if (!stop)
            stop = end;
        assert_ok(prg_json_parse(&one, line, (size_t)(stop - line), NULL, &document, &err), &err);
        struct recorded_case recorded = {.name = prg_arena_printf(&one, "random#%zu", first + count),
                                         .input = prg_json_get(document, "input"),
                                         .expected = prg_json_get(document, "expected")};
        recorded_build(&one, catalog, &recorded);
        visit(&one, &recorded, ctx);
        prg_arena_reset(&one);
        line = stop + 1;
        count++;
    }
    return count;
}

static size_t each_random(recorded_fn visit, void *ctx)
{
    prg_auto_arena arena;
    struct recorded_catalog catalog;
    prg_arena_init(&arena);
    recorded_catalog_load(&arena, &catalog);
    size_t count = each_random_of("cases/kserve/reconcile_random_1.ndjson", 0, &catalog, visit, ctx);
    return count + each_random_of("cases/kserve/reconcile_random_2.ndjson", count, &catalog, visit, ctx);
}

static void for_all_cases(property_fn check)
{
    failures = 0;
    assert_int_equal(each_recorded(in_both_answers, &check), 421);
    assert_int_equal(each_random(in_both_answers, &check), 260);
    assert_int_equal(failures, 0);
}

static void planning_twice_gives_the_same_bytes_and_leaves_the_input_alone(void **state)
{
    (void)state;
    for_all_cases(check_repeatable);
}

static void the_order_of_members_does_not_show(void **state)
{
    (void)state;
    for_all_cases(check_permutation);
}

static void planning_what_was_planned_changes_nothing(void **state)
{
    (void)state;
    for_all_cases(check_fixed_point);
}

static int load_policies(void **state)
{
    struct prg_error err = {0};
    struct prg_policy_options options = {.folder = NULL};
    (void)state;
    prg_stdlib_register();
    assert_ok(prg_policy_set_load(&options, &policies, &err), &err);
    return 0;
}

static int drop_policies(void **state)
{
    (void)state;
    prg_policy_set_unref(policies);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planning_twice_gives_the_same_bytes_and_leaves_the_input_alone),
        cmocka_unit_test(the_order_of_members_does_not_show),
        cmocka_unit_test(planning_what_was_planned_changes_nothing),
    };
    return cmocka_run_group_tests(tests, load_policies, drop_policies);
}
