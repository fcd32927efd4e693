// SPDX-License-Identifier: Apache-2.0
// answers.c: what a set answers on sample objects: plans them and compares.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "check/check.h"
#include "check/samples.h"
#include "object/meta.h"
#include "serving/candidates.h"
#include "serving/plan.h"
#include "json/diff.h"

enum { CANDIDATES = 50, ASKED_AGAIN = 20 }; // of a service; services for which they are asked about again

struct asking {
    struct prg_policy_set *set;
    const struct prg_reader *objects;
    const struct prg_compat *compat;
    struct prg_serving_config config;
    struct prg_arena arena; // of all objects asked
    struct prg_map told;    // "rule file:line" -> anything: one finding is enough
    prg_check_visit_fn visit;
    void *ctx;
    struct prg_check_counts *counts;
    const atomic_bool *stop; // or NULL
    bool leaves_shipped;
    unsigned asked_again; // services
};

static bool is_asked_about(const struct asking *a, const char *policy)
{
    return !a->leaves_shipped || prg_policy_set_differs(a->set, policy);
}

// Any policy that plans of services ask.
static bool is_asked_about_plans(const struct asking *a)
{
    static const char *const policies[] = {"annotation_filter", "container_merge", "image",
                                           "label_priority",    "multi_node",      "object_patch",
                                           "runtime_selection"};
    for (size_t i = 0; i < PRG_COUNT(policies); i++)
        if (is_asked_about(a, policies[i]))
            return true;
    return false;
}

static bool is_stopped(const struct asking *a)
{
    return a->stop && atomic_load(a->stop);
}

static void report(struct asking *a, const char *rule, const char *file, unsigned line, const char *format, ...)
    PRG_PRINTF(5, 6);
static void report(struct asking *a, const char *rule, const char *file, unsigned line, const char *format, ...)
{
    va_list args;
    const char *key = prg_arena_printf(&a->arena, "%s %s:%u", rule, file, line);
    if (prg_map_put(&a->told, key, a))
        return;
    va_start(args, format);
    struct prg_check_finding finding = {
        .file = file, .line = line, .rule = rule, .message = prg_arena_vprintf(&a->arena, format, args)};
    va_end(args);
    a->counts->errors++;
    a->visit(&finding, a->ctx);
}

// "…: DIR/image.lua:12: what" as the text of a plan's error: the place in it, and the text without it.
static void report_text(struct asking *a, const char *rule, const char *subject, const char *text)
{
    static const char map[] = "configmap "; // "configmap NS/NAME:image.lua" is a path with a blank
    const char *found = strstr(text, ".lua:"), *start = found;
    unsigned long line = found ? strtoul(found + 5, NULL, 10) : 0;
    if (!line) {
        report(a, rule, "", 0, "%s: %s", subject, text);
        return;
    }
    while (start > text && start[-1] != ' ')
        start--;
    if (start - text >= (ptrdiff_t)strlen(map) && memcmp(start - strlen(map), map, strlen(map)) == 0)
        start -= strlen(map);
    const char *file = prg_arena_strndup(&a->arena, start, (size_t)(found + 4 - start));
    const char *rest = found + 5 + strspn(found + 5, "0123456789");
    report(a, rule, file, (unsigned)line, "%s: %.*s%s", subject, (int)(start - text), text, rest + strspn(rest, ": "));
}

// ---- the same objects in another order ----

struct turned {
    struct prg_reader reader;
    const struct prg_reader *inner;
    struct prg_arena *arena;
};

// A copy with the members of all objects the other way round.
static cJSON *turn(struct prg_arena *arena, const cJSON *node)
{
    const cJSON *item;
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return prg_json_copy(arena, node);
    cJSON *copy = prg_json_copy_empty(arena, node);
    if (prg_json_is_array(node)) {
        prg_json_each (item, node)
            prg_json_append(copy, turn(arena, item));
        return copy;
    }
    size_t count = prg_json_count(node);
    const cJSON **members = prg_arena_array(arena, const cJSON *, count + 1);
    count = 0;
    prg_json_each (item, node)
        members[count++] = item;
    while (count--)
        prg_json_add(arena, copy, members[count]->string, turn(arena, members[count]));
    return copy;
}

static const cJSON *turned_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct turned *turned = (const struct turned *)reader;
    const cJSON *object = turned->inner->get(turned->inner, key);
    return object ? turn(turned->arena, object) : NULL;
}

static void collect(const cJSON *object, void *ctx)
{
    prg_vec_push(ctx, (void *)object);
}

static void turned_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                        prg_reader_visit_fn visit, void *ctx)
{
    const struct turned *turned = (const struct turned *)reader;
    struct prg_vec objects;
    prg_vec_init(&objects);
    turned->inner->list(turned->inner, group, kind, ns, collect, &objects);
    for (size_t i = objects.count; i > 0; i--)
        visit(turn(turned->arena, objects.items[i - 1]), ctx);
    prg_vec_release(&objects);
}

// ---- plans ----

static struct prg_plan *plan(struct asking *a, const struct prg_reader *objects, const struct prg_key *key,
                             struct prg_arena *arena)
{
    struct prg_plan *made = prg_plan_new(arena);
    struct prg_error err = {0};
    struct prg_serving_input in = {.service = objects->get(objects, key),
                                   .store = objects,
                                   .config = &a->config,
                                   .compat = a->compat,
                                   .now_ns = INT64_C(1780315200) * 1000000000,
                                   .seed = 1};
    if (prg_serving_plan(&in, prg_policy_set_decider(a->set), made, &err) == PRG_OK)
        return made;
    char text[PRG_ERROR_LINE];
    made->error = prg_arena_strdup(arena, prg_error_text(&err, text, sizeof(text)));
    made->error_code = PRG_INVALID;
    return made;
}

static void keep_first(const struct prg_diff_entry *entry, void *ctx)
{
    struct asking *a = ((void **)ctx)[0];
    const char **pointer = ((void **)ctx)[1];
    if (!*pointer)
        *pointer = prg_arena_strdup(&a->arena, entry->pointer);
}

// What is made of a plan: the objects, and the subject with its status. Events and the trace list what was looked at in
// the order in which it came.
static cJSON *outcome(struct prg_arena *arena, struct prg_plan *made)
{
    cJSON *object = prg_json_object(arena);
    prg_json_set(arena, object, "objects", made->objects);
    prg_json_set(arena, object, "deletes", made->deletes);
    prg_json_set(arena, object, "resource", made->resource ? made->resource : prg_json_null(arena));
    prg_json_set_string(arena, object, "error", made->error ? "yes" : "no");
    return object;
}

// JSON pointer of the first place at which two plans are not the same, or NULL.
static const char *difference(struct asking *a, struct prg_plan *first, struct prg_plan *second)
{
    const char *pointer = NULL;
    void *both[] = {a, &pointer};
    if (!prg_diff(outcome(first->arena, first), outcome(second->arena, second), keep_first, both))
        return NULL;
    return pointer ? pointer : "/";
}

// ---- before ----

// Names the candidates of which `before` says what no order says; NULL: all is well.
static const char *find_contradiction(struct prg_arena *arena, struct prg_candidate **all, size_t n, const bool *before)
{
#define BEFORE(x, y) before[(x)*n + (y)]
    for (size_t i = 0; i < n; i++) {
        if (BEFORE(i, i))
            return prg_arena_printf(arena, "it holds '%s' to come before itself", all[i]->name);
        for (size_t j = 0; j < i; j++)
            if (BEFORE(i, j) && BEFORE(j, i))
                return prg_arena_printf(arena, "it holds '%s' to come before '%s', and '%s' before '%s'", all[i]->name,
                                        all[j]->name, all[j]->name, all[i]->name);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++) {
                const char *x = all[i]->name, *y = all[j]->name, *z = all[k]->name;
                if (BEFORE(i, j) && BEFORE(j, k) && !BEFORE(i, k))
                    return prg_arena_printf(arena,
                                            "'%s' comes before '%s' and '%s' before '%s', but '%s' not before '%s'", x,
                                            y, y, z, x, z);
                if (!BEFORE(i, j) && !BEFORE(j, i) && !BEFORE(j, k) && !BEFORE(k, j) && BEFORE(i, k))
                    return prg_arena_printf(arena, "'%s' is equal to '%s' and '%s' to '%s', but '%s' comes before '%s'",
                                            x, y, y, z, x, z);
            }
#undef BEFORE
    return NULL;
}

static void append_object(const cJSON *object, void *ctx)
{
    void **both = ctx;
    prg_json_append(both[1], prg_json_copy(both[0], object));
}

static cJSON *list_runtimes(struct asking *a, struct prg_arena *arena, const char *kind, const char *ns)
{
    cJSON *list = prg_json_array(arena);
    void *both[] = {arena, list};
    a->objects->list(a->objects, "serving.kserve.io", kind, ns, append_object, both);
    return list;
}

// accept is asked about all candidates in one call, and before about all pairs. What it kept from those before shows
// when fewer are asked about.

// Candidates one by one.
static int check_accept(struct asking *a, struct prg_arena *arena, const struct prg_runtime_request *request,
                        const struct prg_candidate *candidates, size_t count, const char *subject, bool *ret_is_pure,
                        struct prg_error *err)
{
    const struct prg_decider *decide = prg_policy_set_decider(a->set);
    size_t n = count < CANDIDATES ? count : CANDIDATES;
    int rc = PRG_OK;
    for (size_t i = 0; rc == PRG_OK && *ret_is_pure && i < n; i++) {
        const struct prg_candidate *candidate = &candidates[i * count / n];
        struct prg_candidate *alone = prg_arena_new(arena, struct prg_candidate);
        struct prg_selection selection;
        *alone = *candidate;
        rc = decide->select(decide->ctx, request, alone, 1, &selection, err);
        *ret_is_pure = rc != PRG_OK ||
                       (alone->accepted == candidate->accepted && prg_text_equal(alone->reason, candidate->reason));
        if (!*ret_is_pure)
            report(a, "pure", selection.accept.file, (unsigned)selection.accept.line,
                   "%s: the answer about candidate '%s' is another one when no other is asked about before it", subject,
                   candidate->name);
    }
    return rc;
}

// Pairs the other way round, or without the last candidate, so that every later pair comes earlier.
static int check_before_again(struct asking *a, struct prg_arena *arena, const struct prg_runtime_request *request,
                              struct prg_candidate **some, size_t n, const bool *before, bool is_reversed,
                              const char *subject, bool *ret_is_pure, struct prg_error *err)
{
    struct prg_policy_source source;
    size_t m = is_reversed || n == 0 ? n : n - 1;
    struct prg_candidate **turned = prg_arena_array(arena, struct prg_candidate *, n + 1);
    bool *again = prg_arena_array(arena, bool, m *m + 1);
    for (size_t i = 0; i < m; i++)
        turned[i] = some[is_reversed ? m - 1 - i : i];
    int rc = prg_policy_set_before(a->set, request, turned, m, again, &source, err);
    for (size_t k = 0; rc == PRG_OK && *ret_is_pure && k < m * m; k++) {
        size_t i = is_reversed ? m - 1 - k / m : k / m, j = is_reversed ? m - 1 - k % m : k % m;
        *ret_is_pure = again[k] == before[i * n + j];
        if (!*ret_is_pure)
            report(a, "pure", source.file, (unsigned)source.line,
                   "%s: whether '%s' comes before '%s' depends on what was compared earlier", subject, some[i]->name,
                   some[j]->name);
    }
    return rc;
}

// Of more than CANDIDATES some are asked about, evenly over the order: pairs are asked in one call with its limits.
static int check_pairs(struct asking *a, struct prg_arena *arena, const struct prg_runtime_request *request,
                       struct prg_candidate *candidates, size_t count, const char *subject, struct prg_error *err)
{
    const struct prg_decider *decide = prg_policy_set_decider(a->set);
    struct prg_selection selection;
    struct prg_policy_source source;
    bool is_pure = true;
    int rc = decide->select(decide->ctx, request, candidates, count, &selection, err);
    bool is_asked_again = a->asked_again++ < ASKED_AGAIN;
    if (rc == PRG_OK && is_asked_again)
        rc = check_accept(a, arena, request, candidates, count, subject, &is_pure, err);
    if (rc != PRG_OK || !is_pure)
        return rc;
    struct prg_candidate *some[CANDIDATES];
    size_t n = selection.count < CANDIDATES ? selection.count : CANDIDATES;
    for (size_t i = 0; i < n; i++)
        some[i] = selection.ordered[i * selection.count / n];
    bool *before = prg_arena_array(arena, bool, n *n + 1);
    rc = prg_policy_set_before(a->set, request, some, n, before, &source, err);
    for (int reversed = 0; rc == PRG_OK && is_pure && is_asked_again && reversed < 2; reversed++)
        rc = check_before_again(a, arena, request, some, n, before, reversed, subject, &is_pure, err);
    if (rc != PRG_OK || !is_pure)
        return rc;
    const char *why = find_contradiction(&a->arena, some, n, before);
    if (why)
        report(a, "strict-weak-order", source.file, (unsigned)source.line, "%s: `before` is no order: %s", subject,
               why);
    return PRG_OK;
}

static void check_before(struct asking *a, const cJSON *service, const char *subject, struct prg_arena *arena)
{
    const cJSON *model = prg_json_at(service, "spec", "predictor", "model");
    const char *ns = prg_meta_namespace(service);
    const struct prg_decider *decide = prg_policy_set_decider(a->set);
    struct prg_runtime_request request;
    struct prg_candidate *candidates;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    if (!prg_json_is_object(model))
        return;
    struct prg_decision_context context = {.arena = arena,
                                           .service = service,
                                           .config = prg_serving_config_to_json(arena, &a->config),
                                           .compat = prg_compat_to_json(arena, a->compat)};
    prg_candidates_request(service, prg_reader_get(a->objects, "", "Namespace", "", ns), model, &request);
    request.named = false; // how all that fit would be ordered
    request.multi_node = prg_json_at(service, "spec", "predictor", "workerSpec") != NULL;
    size_t count = prg_candidates_collect(arena, list_runtimes(a, arena, "ServingRuntime", ns),
                                          list_runtimes(a, arena, "ClusterServingRuntime", NULL), ns, &request,
                                          a->compat, &candidates);
    int rc = decide->begin(decide->ctx, &context, &err);
    if (rc == PRG_OK) {
        rc = check_pairs(a, arena, &request, candidates, count, subject, &err);
        decide->end(decide->ctx);
    }
    if (rc != PRG_OK)
        report_text(a, "policy-error", subject, prg_error_text(&err, text, sizeof(text)));
}

// ---- stages ----

static cJSON *stage_input(struct prg_arena *arena, const char *stage, const char *type, const char *phase, bool hot)
{
    cJSON *input = prg_json_object(arena), *condition = prg_json_ensure_object(arena, input, "condition");
    cJSON *job = prg_json_ensure_object(arena, input, "job"),
          *metadata = prg_json_ensure_object(arena, job, "metadata");
    prg_json_set_string(arena, job, "apiVersion", "sedna.io/v1alpha1");
    prg_json_set_string(arena, job, "kind", "IncrementalLearningJob");
    prg_json_set_string(arena, metadata, "name", "helmet");
    prg_json_set_string(arena, metadata, "namespace", "team-a");
    prg_json_ensure_object(arena, job, "spec");
    prg_json_set_string(arena, condition, "stage", stage);
    prg_json_set_string(arena, condition, "type", type);
    prg_json_set_bool(arena, condition, "reported", false);
    prg_json_set_string(arena, condition, "since", "2026-06-01T11:00:00Z");
    prg_json_ensure_array(arena, input, "history");
    prg_json_set_bool(arena, input, "hot_update", hot);
    prg_json_set_string(arena, input, "now", "2026-06-01T12:00:00Z");
    if (phase) {
        cJSON *pod = prg_json_ensure_object(arena, input, "pod");
        prg_json_set_string(arena, pod, "name", "helmet-worker");
        prg_json_set_string(arena, pod, "phase", phase);
        prg_json_set_string(arena, pod, "created", "2026-06-01T11:00:00Z");
        prg_json_set_bool(arena, pod, "deleting", false);
    }
    return input;
}

static void ask_stage(struct asking *a, struct prg_arena *arena, const cJSON *input)
{
    const struct prg_decider *decide = prg_policy_set_decider(a->set);
    struct prg_policy_source source = {0};
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    cJSON *answers[2] = {NULL, NULL};
    struct prg_decision_context context = {.arena = arena,
                                           .service = prg_json_get(input, "job"),
                                           .config = prg_json_object(arena), // as core/learning
                                           .compat = prg_json_object(arena)};
    int rc = decide->begin(decide->ctx, &context, &err);
    if (rc == PRG_OK) {
        for (int i = 0; rc == PRG_OK && i < 2; i++)
            rc = decide->stage_transit(decide->ctx, input, &answers[i], &source, &err);
        decide->end(decide->ctx);
    }
    const char *stage = prg_json_get_text(prg_json_get(input, "condition"), "stage");
    const char *type = prg_json_get_text(prg_json_get(input, "condition"), "type");
    const char *subject =
        prg_arena_printf(&a->arena, "a learning job in stage %s%s%s", stage, type[0] ? ", " : "", type);
    if (rc != PRG_OK)
        report_text(a, "policy-error", subject, prg_error_text(&err, text, sizeof(text)));
    else if (!prg_json_equal(answers[0], answers[1]))
        report(a, "pure", source.file ? source.file : "", (unsigned)source.line,
               "%s: the same question has another answer when it is asked again", subject);
}

static void check_stages(struct asking *a)
{
    static const char *const stages[] = {"Train", "Eval", "Deploy"};
    static const char *const types[] = {"", "Waiting", "Ready", "Starting", "Running", "Completed", "Failed"};
    static const char *const phases[] = {NULL, "Pending", "Running", "Succeeded", "Failed", "Unknown"};
    const struct prg_decider *decide = prg_policy_set_decider(a->set);
    struct prg_arena arena;
    if (!decide->stage_transit || !is_asked_about(a, "il_stage"))
        return;
    prg_arena_init(&arena);
    for (size_t s = 0; s < PRG_COUNT(stages) && !is_stopped(a); s++)
        for (size_t t = 0; t < PRG_COUNT(types); t++)
            for (size_t p = 0; p < PRG_COUNT(phases); p++) {
                ask_stage(a, &arena, stage_input(&arena, stages[s], types[t], phases[p], p % 2 == 0));
                prg_arena_reset(&arena);
            }
    prg_arena_release(&arena);
}

// ---- services ----

static void check_service(struct asking *a, const struct prg_key *key)
{
    struct prg_arena arena;
    prg_arena_init(&arena);
    const char *subject = prg_arena_printf(&a->arena, "InferenceService %s/%s", key->ns, key->name);
    struct turned turned = {{.get = turned_get, .list = turned_list}, a->objects, &arena};
    struct prg_plan *first = plan(a, a->objects, key, &arena);
    if (first->error && first->error_code == PRG_POLICY) {
        report_text(a, strstr(first->error, "is not stable") ? "fixed-point" : "policy-error", subject, first->error);
    } else {
        struct prg_plan *other = plan(a, &turned.reader, key, &arena);
        const char *pointer = difference(a, first, other);
        if (pointer && difference(a, first, plan(a, a->objects, key, &arena)))
            report(a, "pure", "", 0,
                   "%s: the same question has another answer when it is asked again; the plans differ at %s", subject,
                   pointer);
        else if (pointer)
            report(a, "permutation", "", 0,
                   "%s: the answer depends on the order in which objects and members come; the plans differ at %s",
                   subject, pointer);
    }
    if (is_asked_about(a, "runtime_selection"))
        check_before(a, first->resource ? first->resource : a->objects->get(a->objects, key), subject, &arena);
    prg_arena_release(&arena);
}

static int check_services(struct asking *a, const struct prg_check_samples *samples, struct prg_error *err)
{
    struct prg_store *store = samples->objects ? NULL : prg_check_samples_new(&a->arena);
    const char *ns = samples->config_namespace ? samples->config_namespace : "kserve";
    struct prg_vec services;
    int rc = PRG_OK;
    prg_vec_init(&services);
    a->objects = samples->objects ? samples->objects : &store->reader;
    const cJSON *config = prg_reader_get(a->objects, "", "ConfigMap", ns, "inferenceservice-config");
    prg_serving_config_parse(&a->arena, config ? config : prg_check_samples_config(&a->arena), &a->config);
    a->objects->list(a->objects, "serving.kserve.io", "InferenceService", NULL, collect, &services);
    for (size_t i = 0; rc == PRG_OK && i < services.count && !is_stopped(a); i++) {
        struct prg_key key;
        rc = prg_key_of(&a->arena, services.items[i], &key, err);
        if (rc == PRG_OK)
            check_service(a, &key);
    }
    prg_vec_release(&services);
    prg_store_free(store);
    a->objects = NULL;
    return rc;
}

int prg_check_answers(struct prg_policy_set *set, const struct prg_check_samples *samples, prg_check_visit_fn visit,
                      void *ctx, struct prg_check_counts *counts, struct prg_error *err)
{
    struct asking a = {.set = set,
                       .compat = samples->compat ? samples->compat : &prg_compat_fixed,
                       .visit = visit,
                       .ctx = ctx,
                       .counts = counts,
                       .stop = samples->stop,
                       .leaves_shipped = samples->leaves_shipped};
    int rc = PRG_OK;
    prg_arena_init(&a.arena);
    prg_map_init(&a.told);
    prg_policy_set_trial(set, true);
    if (is_asked_about_plans(&a))
        rc = check_services(&a, samples, err);
    if (rc == PRG_OK)
        check_stages(&a);
    if (rc == PRG_OK && is_stopped(&a))
        rc = prg_fail(err, PRG_CONFLICT, "the check was stopped");
    prg_policy_set_trial(set, false);
    prg_map_release(&a.told);
    prg_arena_release(&a.arena);
    return rc;
}
