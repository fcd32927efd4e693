// SPDX-License-Identifier: Apache-2.0
// hints.c: what would help a service that no runtime serves. Each hint is an edit of the service or of a runtime; it is
// tried out by planning with it, so that nobody is sent after something that does not help.
#include "explain/hints.h"

#include <limits.h>
#include <string.h>

#include "explain/doc.h"
#include "explain/overlay.h"
#include "explain/rank.h"
#include "object/meta.h"

static const char group[] = "serving.kserve.io";
enum { HINTS_MAX = 6 };

struct hinting {
    struct prg_arena *arena;
    const struct prg_why_input *in;
    const struct prg_plan *plan;
    const cJSON *model;   // of the subject as defaulted
    const char *where;    // "spec.predictor.model", or where the user wrote it: "spec.predictor.sklearn"
    cJSON *list, *others; // those that help when tried, and the others
    size_t count;
};

// ---- trying out ----

// What a plan says when edited (a service or a runtime) takes the place of what is stored.
static const char *try_out(struct hinting *h, const cJSON *edited, const char *hoped_for, bool *ret_helps)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    const char *answer = NULL;
    *ret_helps = false;
    prg_arena_init(&arena);
    struct prg_overlay *overlay = prg_overlay_new(h->in->store);
    struct prg_plan *plan = prg_plan_new(&arena);
    if (prg_overlay_put(overlay, edited, NULL, &err) == PRG_OK &&
        prg_planner_plan(h->in->planner, prg_overlay_reader(overlay), &h->in->subject, h->in->now_ns, h->in->seed, plan,
                         &err) == PRG_OK &&
        plan->runtimes) {
        const struct prg_candidate *chosen = plan->runtimes->selection.chosen;
        *ret_helps = chosen && !plan->error;
        if (chosen)
            answer = prg_arena_printf(h->arena, "then %s serves it%s%s", chosen->name,
                                      plan->error ? ", but the plan fails: " : "", plan->error ? plan->error : "");
        for (size_t i = 0; !chosen && hoped_for && i < plan->runtimes->count; i++)
            if (strcmp(plan->runtimes->candidates[i].name, hoped_for) == 0)
                answer = prg_arena_printf(h->arena, "not enough: %s: %s", hoped_for,
                                          plan->runtimes->candidates[i].reason ? plan->runtimes->candidates[i].reason
                                                                               : "the policy refuses it");
    }
    prg_overlay_free(overlay);
    return answer;
}

// edited NULL: nothing to try. hoped_for is the runtime that should serve it then; "": told whatever comes of it; NULL:
// told only if it helps.
static void add_hint(struct hinting *h, const char *text, const cJSON *edited, const char *hoped_for)
{
    bool helps = false;
    if (h->count >= HINTS_MAX)
        return;
    const char *checked = edited ? try_out(h, edited, hoped_for, &helps) : NULL;
    if (edited && !checked && !hoped_for)
        return; // it does not help
    cJSON *hint = prg_json_object(h->arena);
    prg_doc_text(h->arena, hint, "text", text);
    prg_doc_text(h->arena, hint, "checked", checked);
    prg_json_append(helps ? h->list : h->others, hint);
    h->count++;
}

// A copy of the subject as defaulted; *ret_model is its model.
static cJSON *copy_service(struct hinting *h, cJSON **ret_model)
{
    cJSON *copy = prg_json_copy(h->arena, h->plan->resource);
    *ret_model = prg_json_at(copy, "spec", "predictor", "model");
    return copy;
}

static cJSON *with_text(struct hinting *h, const char *member, const char *text)
{
    cJSON *model, *service = copy_service(h, &model);
    prg_json_set(h->arena, model, member, prg_json_string(h->arena, text));
    return service;
}

static cJSON *with_format(struct hinting *h, const char *member, const char *text)
{
    cJSON *model, *service = copy_service(h, &model);
    prg_json_set(h->arena, prg_json_ensure_object(h->arena, model, "modelFormat"), member,
                 prg_json_string(h->arena, text));
    return service;
}

static cJSON *without(struct hinting *h, const char *member)
{
    cJSON *model, *service = copy_service(h, &model);
    prg_json_remove(model, member);
    return service;
}

// ---- near misses ----

// Versions in which the runtime offers the format: "1, 2", and the first of them.
static const char *offered_versions(struct hinting *h, const struct prg_candidate *candidate, const char **ret_first)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const cJSON *entry;
    *ret_first = NULL;
    prg_json_each (entry, prg_json_at(candidate->object, "spec", "supportedModelFormats")) {
        const char *version = prg_json_get_text(entry, "version");
        if (!version || !prg_text_equal(prg_json_get_text(entry, "name"), h->plan->runtimes->request.format_name))
            continue;
        prg_strbuf_printf(&text, "%s'%s'", text.length ? ", " : "", version);
        if (!*ret_first || prg_json_get_true(entry, "autoSelect"))
            *ret_first = version;
    }
    return prg_arena_strndup(h->arena, text.text, text.length);
}

static void hint_version(struct hinting *h, const struct prg_candidate *candidate)
{
    const struct prg_runtime_request *request = &h->plan->runtimes->request;
    const char *first, *versions = offered_versions(h, candidate, &first);
    if (!first) {
        add_hint(h,
                 prg_arena_printf(h->arena, "%s serves %s without naming a version: remove %s.modelFormat.version",
                                  candidate->name, request->format_name, h->where),
                 NULL, NULL);
        return;
    }
    add_hint(h,
             prg_arena_printf(h->arena,
                              "%s serves %s in version %s, not '%s': set %s.modelFormat.version to \"%s\", or give the "
                              "runtime an entry of version \"%s\"",
                              candidate->name, request->format_name, versions, request->format_version, h->where, first,
                              request->format_version),
             with_format(h, "version", first), candidate->name);
}

static void hint_protocol(struct hinting *h, const struct prg_candidate *candidate)
{
    const struct prg_runtime_request *request = &h->plan->runtimes->request;
    const char *spoken = prg_json_text(prg_json_item(prg_json_at(candidate->object, "spec", "protocolVersions"), 0));
    if (!spoken)
        return;
    add_hint(h,
             prg_arena_printf(h->arena, "%s speaks %s, not %s%s: set %s.protocolVersion to %s", candidate->name, spoken,
                              request->protocol,
                              request->protocol_given ? "" : " (which is assumed, as the service names none)", h->where,
                              spoken),
             with_text(h, "protocolVersion", spoken), candidate->name);
}

static void hint_auto_select(struct hinting *h, const struct prg_candidate *candidate)
{
    add_hint(
        h,
        prg_arena_printf(h->arena,
                         "%s would do, but is not chosen by itself (autoSelect of its entry): name it, %s.runtime: "
                         "%s",
                         candidate->name, h->where, candidate->name),
        with_text(h, "runtime", candidate->name), candidate->name);
}

static void hint_disabled(struct hinting *h, const struct prg_candidate *candidate)
{
    cJSON *runtime = prg_json_copy(h->arena, candidate->object);
    prg_json_set_bool(h->arena, prg_json_ensure_object(h->arena, runtime, "spec"), "disabled", false);
    add_hint(h,
             prg_arena_printf(h->arena, "%s is disabled: an administrator can set its spec.disabled to false",
                              candidate->name),
             runtime, candidate->name);
}

static void hint_multi_node(struct hinting *h, const struct prg_candidate *candidate)
{
    cJSON *model, *service = copy_service(h, &model), *predictor = prg_json_at(service, "spec", "predictor");
    bool is_asked = h->plan->runtimes->request.multi_node;
    if (is_asked)
        prg_json_remove(predictor, "workerSpec");
    else
        (void)prg_json_ensure_object(h->arena, predictor, "workerSpec");
    add_hint(h,
             prg_arena_printf(h->arena,
                              is_asked
                                  ? "%s runs on one node only: remove spec.predictor.workerSpec, or take a runtime "
                                    "that has a workerSpec"
                                  : "%s runs on several nodes only: give the service a spec.predictor.workerSpec",
                              candidate->name),
             service, candidate->name);
}

static void hint_candidate(struct hinting *h, const struct prg_candidate *candidate)
{
    static const struct {
        const char *code;
        void (*hint)(struct hinting *h, const struct prg_candidate *candidate);
    } hints[] = {{"disabled", hint_disabled},
                 {"auto_select", hint_auto_select},
                 {"protocol", hint_protocol},
                 {"version", hint_version},
                 {"multi_node", hint_multi_node}};
    for (size_t i = 0; i < PRG_COUNT(hints); i++)
        if (prg_text_equal(candidate->code, hints[i].code))
            hints[i].hint(h, candidate);
}

static void hint_candidates(struct hinting *h)
{
    const struct prg_runtime_record *record = h->plan->runtimes;
    int farthest = prg_rank_nearness("format");
    for (int nearness = 0; nearness < farthest; nearness++)
        for (size_t i = 0; i < record->count; i++)
            if (prg_rank_nearness(record->candidates[i].code) == nearness)
                hint_candidate(h, &record->candidates[i]);
}

// ---- names that are nearly right ----

// A name that people may have meant: few slips apart, else one within the other ("sklearnserver").
static bool is_meant(struct prg_nearest *nearest, const char *known)
{
    const char *asked = nearest->text;
    if (prg_nearest_offer(nearest, known))
        return true;
    if (nearest->name || strlen(asked) < 4 || strcmp(asked, known) == 0 ||
        !(strstr(known, asked) || strstr(asked, known)))
        return false;
    nearest->name = known;
    nearest->distance = UINT_MAX; // any that is few slips apart is nearer
    return true;
}

static void hint_format(struct hinting *h)
{
    const struct prg_runtime_record *record = h->plan->runtimes;
    struct prg_nearest nearest = {.text = record->request.format_name};
    for (size_t i = 0; i < record->count; i++) {
        const cJSON *entry;
        prg_json_each (entry, prg_json_at(record->candidates[i].object, "spec", "supportedModelFormats")) {
            const char *name = prg_json_get_text(entry, "name");
            if (name)
                (void)is_meant(&nearest, name);
        }
    }
    if (nearest.name)
        add_hint(h,
                 prg_arena_printf(h->arena,
                                  "no runtime offers the format '%s'; did you mean '%s' (%s.modelFormat.name)?",
                                  nearest.text, nearest.name, h->where),
                 with_format(h, "name", nearest.name), "");
}

struct near_names {
    struct prg_nearest nearest;
    const char *meant_kind, *elsewhere;
    const char *ns;
    const char *kind;
};

static void look_at_name(const cJSON *object, void *ctx)
{
    struct near_names *names = ctx;
    const char *name = prg_meta_name(object), *ns = prg_meta_namespace(object);
    if (*ns && strcmp(ns, names->ns) != 0) {
        if (strcmp(name, names->nearest.text) == 0)
            names->elsewhere = ns;
        return;
    }
    if (is_meant(&names->nearest, name))
        names->meant_kind = names->kind;
}

// The service names a runtime that is not there.
static void hint_missing(struct hinting *h, const char *asked)
{
    struct near_names names = {.nearest = {.text = asked}, .ns = h->in->subject.ns, .kind = "ClusterServingRuntime"};
    h->in->store->list(h->in->store, group, "ClusterServingRuntime", NULL, look_at_name, &names);
    names.kind = "ServingRuntime";
    h->in->store->list(h->in->store, group, "ServingRuntime", NULL, look_at_name, &names);
    if (names.elsewhere)
        add_hint(h,
                 prg_arena_printf(h->arena,
                                  "there is a ServingRuntime '%s' in namespace %s; a service sees those of its own "
                                  "namespace and ClusterServingRuntimes only",
                                  asked, names.elsewhere),
                 NULL, NULL);
    if (names.nearest.name)
        add_hint(h,
                 prg_arena_printf(h->arena, "did you mean %s '%s' (%s.runtime)?", names.meant_kind, names.nearest.name,
                                  h->where),
                 with_text(h, "runtime", names.nearest.name), names.nearest.name);
}

// ---- all of it ----

// Where the user wrote the model: the shorthand of a framework counts as one.
static const char *where_is_model(struct hinting *h)
{
    static const char *const frameworks[] = {"sklearn", "xgboost", "tensorflow",  "pytorch",  "triton",
                                             "onnx",    "pmml",    "huggingface", "lightgbm", "paddle"};
    const cJSON *stored = h->in->store->get(h->in->store, &h->in->subject);
    const cJSON *predictor = prg_json_at(stored, "spec", "predictor");
    for (size_t i = 0; i < PRG_COUNT(frameworks) && !prg_json_get(predictor, "model"); i++)
        if (prg_json_is_object(prg_json_get(predictor, frameworks[i])))
            return prg_arena_printf(h->arena, "spec.predictor.%s", frameworks[i]);
    return "spec.predictor.model";
}

cJSON *prg_hints(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan)
{
    struct hinting h = {.arena = arena, .in = in, .plan = plan, .list = prg_json_array(arena)};
    h.others = prg_json_array(arena);
    h.model = prg_json_at(plan->resource, "spec", "predictor", "model");
    const char *named = prg_json_get_text(h.model, "runtime");
    bool is_missing = !plan->runtimes && named && plan->error_code == PRG_NOTFOUND;
    if (!plan->error || !h.model || !(is_missing || (plan->runtimes && !plan->runtimes->selection.chosen)))
        return h.list;
    h.where = where_is_model(&h);
    if (is_missing) {
        hint_missing(&h, named);
    } else if (!plan->runtimes->count) {
        add_hint(&h,
                 "there are no runtimes at all: install some (KServe ships them), or give their files with -f as well",
                 NULL, NULL);
    } else {
        hint_candidates(&h);
        if (!h.count)
            hint_format(&h);
    }
    if (named)
        add_hint(&h, prg_arena_printf(arena, "leave %s.runtime out, and the best runtime is chosen", h.where),
                 without(&h, "runtime"), NULL);
    while (h.others->child) {
        cJSON *hint = h.others->child;
        prg_json_detach(h.others, hint);
        prg_json_append(h.list, hint);
    }
    return h.list;
}
