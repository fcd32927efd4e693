// SPDX-License-Identifier: Apache-2.0
// field.c: who set a field of a rendered object: its node carries the layer, the trace the policies and reasons.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "explain/doc.h"
#include "explain/path.h"
#include "explain/why.h"
#include "object/kinds.h"
#include "object/meta.h"

enum { LEAVES_MAX = 500, MEMBERS_SHOWN = 12, VALUE_SHOWN = 120 };

struct asking {
    struct prg_arena *arena;
    const struct prg_why_input *in;
    const struct prg_plan *plan;
    cJSON *found;
    bool is_cut;
};

// ---- where a field is ----

// What the trace calls the places around a field.
struct place {
    const cJSON *object;
    const char *path;
    const char *key; // of a label or annotation, else NULL
    bool is_annotation;
    const char *container;    // name of the container that it is in, or NULL
    const char *in_container; // path within it: "env[2].value", or NULL
    const char *variable;     // name of the variable, or NULL
};

static const char *name_at(struct asking *a, const cJSON *object, const char *path, size_t length)
{
    struct prg_path_found found;
    if (prg_path_find(a->arena, object, prg_arena_strndup(a->arena, path, length), &found, NULL) != PRG_OK)
        return NULL;
    return prg_json_get_text(found.node, "name");
}

// Length of path up to the ] of the item of list `list` (".containers["), or 0.
static size_t item_end(const char *path, const char *list)
{
    const char *at = strstr(path, list), *end = at ? strchr(at, ']') : NULL;
    return end ? (size_t)(end - path) + 1 : 0;
}

static struct place place_of(struct asking *a, const cJSON *object, const char *path, const cJSON *node)
{
    struct place place = {.object = object, .path = path};
    bool is_label = strstr(path, ".labels") != NULL || strstr(path, ".matchLabels") != NULL;
    place.is_annotation = strstr(path, ".annotations") != NULL;
    if ((is_label || place.is_annotation) && !prg_json_is_object(node))
        place.key = node->string;
    size_t length = item_end(path, ".containers[");
    if (length) {
        place.container = name_at(a, object, path, length);
        place.in_container = path + length;
    }
    length = item_end(path, ".env[");
    if (length)
        place.variable = name_at(a, object, path, length);
    return place;
}

// ---- what the trace says about it ----

static bool has_end(const char *text, const char *end)
{
    return text && end && prg_text_has_suffix(text, end);
}

static bool is_about_default(struct asking *a, const struct prg_trace_entry *entry, const struct place *place)
{
    if (place->key && !place->is_annotation)
        return has_end(entry->subject, prg_arena_printf(a->arena, "/metadata/labels/%s", place->key));
    if (place->key)
        return has_end(entry->subject, "/metadata/annotations") ||
               has_end(entry->subject, prg_arena_printf(a->arena, "/metadata/annotations/%s", place->key));
    if (place->variable)
        return has_end(entry->subject, prg_arena_printf(a->arena, "/env/%s", place->variable));
    const char *last = strrchr(place->path, '.');
    if (place->in_container && strstr(place->in_container, ".args"))
        return has_end(entry->subject, "/args");
    return last && has_end(entry->subject, prg_arena_printf(a->arena, "/%s", last + 1));
}

static bool is_about(struct asking *a, const struct prg_trace_entry *entry, const struct place *place,
                     enum prg_origin origin)
{
    const char *decision = entry->decision;
    if (strcmp(decision, "label") == 0 || strcmp(decision, "annotation") == 0)
        return place->key && strcmp(entry->subject, place->key) == 0 &&
               place->is_annotation == (strcmp(decision, "annotation") == 0);
    if (strcmp(decision, "default") == 0)
        return (origin == PRG_ORIGIN_RULE || origin == PRG_ORIGIN_CONFIG) && is_about_default(a, entry, place);
    if (strcmp(decision, "image") == 0)
        return origin == PRG_ORIGIN_IMAGE && prg_text_equal(entry->subject, place->container);
    if (strcmp(decision, "placeholder") == 0)
        return origin == PRG_ORIGIN_PLACEHOLDER && place->container &&
               strcmp(entry->subject, prg_arena_printf(a->arena, "%s%s", place->container, place->in_container)) == 0;
    if (strcmp(decision, "merge") == 0)
        return origin == PRG_ORIGIN_MERGE_POLICY && prg_text_equal(entry->outcome, "policy") &&
               (!place->variable || strstr(entry->subject, place->variable) || strstr(entry->subject, "args"));
    if (strcmp(decision, "patch") == 0)
        return origin == PRG_ORIGIN_PATCH_POLICY &&
               strcmp(entry->subject, prg_arena_printf(a->arena, "%s %s", prg_json_get_text(place->object, "kind"),
                                                       prg_meta_name(place->object))) == 0;
    if (strcmp(decision, "topology") == 0)
        return origin == PRG_ORIGIN_MULTI_NODE;
    if (strcmp(decision, "storage") == 0)
        return origin == PRG_ORIGIN_STORAGE;
    if (strcmp(decision, "autoscaler") == 0)
        return origin == PRG_ORIGIN_AUTOSCALER;
    if (strcmp(decision, "strategy") == 0)
        return strstr(place->path, ".strategy") != NULL;
    if (strcmp(decision, "port") == 0)
        return strstr(place->path, ".ports[") != NULL && origin == PRG_ORIGIN_RULE;
    return false;
}

static cJSON *decisions_about(struct asking *a, const struct place *place, enum prg_origin origin)
{
    cJSON *list = prg_json_array(a->arena);
    for (const struct prg_trace_entry *entry = a->plan->trace_first; entry; entry = entry->next)
        if (entry->subject && is_about(a, entry, place, origin))
            prg_json_append(list, prg_doc_trace(a->arena, entry));
    return list;
}

// ---- fixed rules ----

// What a fixed rule sets where: part of the path, and the rule in words. The first that fits.
static const struct {
    const char *part, *rule;
} rules[] = {
    {".ownerReferences", "the service owns what is made for it, so that it goes with the service"},
    {".labels.app", "label app is isvc.NAME-predictor; the selector of the Deployment needs it"},
    {".matchLabels", "pods of this predictor are found by their label"},
    {".labels.component", "a fixed label: no layer may set it"},
    {".labels.serving\\.kserve\\.io/inferenceservice", "a fixed label: no layer may set it"},
    {".labels.isvc\\.generation", "a fixed label of models on several nodes: the service's generation"},
    {".selector", "pods of this predictor are found by their label"},
    {".readinessProbe", "the container has no readiness probe: its port is tried"},
    {".metadata.name", "named after the service: NAME-predictor"},
    {".metadata.namespace", "the namespace of the service"},
    {".ports", "ports of the predictor's Service follow the container's"},
    {".apiVersion", "the kind of object that the deployment mode asks for"},
    {".kind", "the kind of object that the deployment mode asks for"},
};

static const char *rule_of(const struct place *place)
{
    if (prg_text_equal(place->variable, "INFERENCE_SERVICE_NAME"))
        return "every container is told the service's name";
    for (size_t i = 0; i < PRG_COUNT(rules); i++)
        if (strstr(place->path, rules[i].part))
            return rules[i].rule;
    return NULL;
}

static const char *reason_of(const struct place *place, enum prg_origin origin)
{
    switch (origin) {
    case PRG_ORIGIN_NONE:
    case PRG_ORIGIN_RULE:
        return rule_of(place);
    case PRG_ORIGIN_CONFIG:
        return "ConfigMap inferenceservice-config";
    case PRG_ORIGIN_KUBERNETES:
        return "what an API server would fill in";
    case PRG_ORIGIN_STORED:
        return "kept from the stored object";
    case PRG_ORIGIN_MULTI_NODE:
        return "how head and workers find each other and share the model";
    case PRG_ORIGIN_AUTOSCALER:
        return "scaling rules of the service's autoscaler class";
    case PRG_ORIGIN_STORAGE:
        return "how the model gets into the pod";
    default:
        return NULL;
    }
}

// ---- a field ----

static cJSON *manifest_of(struct asking *a, const cJSON *node, enum prg_origin origin)
{
    cJSON *manifest = prg_json_object(a->arena);
    struct prg_json_position at = prg_json_position(node);
    struct prg_key key = a->in->subject;
    if (origin == PRG_ORIGIN_RUNTIME && a->plan->runtimes && a->plan->runtimes->selection.chosen) {
        const struct prg_candidate *chosen = a->plan->runtimes->selection.chosen;
        key = (struct prg_key){"serving.kserve.io", chosen->is_cluster ? "ClusterServingRuntime" : "ServingRuntime",
                               chosen->is_cluster ? "" : a->in->subject.ns, chosen->name};
        prg_json_set(a->arena, manifest, "object",
                     prg_json_stringf(a->arena, "%s %s",
                                      chosen->is_cluster ? "ClusterServingRuntime" : "ServingRuntime", chosen->name));
    } else if (origin == PRG_ORIGIN_SERVICE || origin == PRG_ORIGIN_PREDICTOR) {
        prg_json_set(
            a->arena, manifest, "object",
            prg_json_stringf(a->arena, "%s %s/%s", a->in->subject.kind, a->in->subject.ns, a->in->subject.name));
    } else {
        return manifest;
    }
    const struct prg_reader *store = a->in->store;
    prg_doc_text(a->arena, manifest, "file", store->file ? store->file(store, &key, a->arena) : NULL);
    if (at.line)
        prg_json_set_int(a->arena, manifest, "line", at.line);
    return manifest;
}

static void add_leaf(struct asking *a, const cJSON *object, const char *path, const cJSON *node)
{
    struct prg_arena *arena = a->arena;
    enum prg_origin origin = (enum prg_origin)prg_json_origin(node);
    if (prg_json_count(a->found) >= LEAVES_MAX) {
        a->is_cut = true;
        return;
    }
    struct place place = place_of(a, object, path, node);
    cJSON *entry = prg_json_object(arena);
    const char *layer = prg_origin_name(origin);
    prg_doc_node(arena, entry, "object", prg_doc_subject(arena, object));
    prg_doc_text(arena, entry, "path", path);
    prg_json_add(arena, entry, "value", prg_json_reference(arena, node));
    prg_doc_text(arena, entry, "layer", *layer ? layer : "rule");
    prg_doc_text(arena, entry, "reason", reason_of(&place, origin));
    prg_doc_node(arena, entry, "manifest", manifest_of(a, node, origin));
    prg_doc_node(arena, entry, "decisions", decisions_about(a, &place, origin));
    prg_json_append(a->found, entry);
}

struct leaves {
    struct asking *asking;
    const cJSON *object;
    const char *prefix;
};

static void visit_leaf(const char *path, const cJSON *node, enum prg_origin origin, void *ctx)
{
    struct leaves *leaves = ctx;
    struct prg_arena *arena = leaves->asking->arena;
    (void)origin;
    add_leaf(leaves->asking, leaves->object, prg_arena_printf(arena, "%s%s", leaves->prefix, path), node);
}

static void add_found(struct asking *a, const cJSON *object, const struct prg_path_found *found)
{
    struct leaves leaves = {a, object, found->path};
    prg_plan_each_field(found->node, visit_leaf, &leaves);
}

// ---- what is not there ----

// The deepest place that some object has of the path.
struct missing {
    const cJSON *object, *parent;
    const char *path, *step;
};

static void keep_deepest(struct missing *missing, const cJSON *object, const struct prg_path_found *found)
{
    if (missing->path && strlen(missing->path) >= strlen(found->path))
        return;
    *missing = (struct missing){object, found->parent, found->path, found->missing};
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Sorts the names, of which there is at least one, and puts them in a row.
static const char *names_text(struct prg_arena *arena, const char **names, size_t count)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    qsort(names, count, sizeof(*names), compare_texts);
    for (size_t n = 0; n < count && n < MEMBERS_SHOWN; n++) {
        prg_strbuf_puts(&text, n ? ", " : "");
        prg_doc_put_line(&text, names[n]);
    }
    if (count > MEMBERS_SHOWN)
        prg_strbuf_printf(&text, " and %zu more", count - MEMBERS_SHOWN);
    return prg_arena_strndup(arena, text.text, text.length);
}

static const char *object_name(struct prg_arena *arena, const cJSON *object)
{
    return prg_arena_printf(arena, "%s/%s", prg_json_get_text(object, "kind"), prg_meta_name(object));
}

static const char *members_of(struct prg_arena *arena, const cJSON *parent)
{
    size_t count = prg_json_count(parent), i = 0;
    const char **names = prg_arena_array(arena, const char *, count ? count : 1);
    const cJSON *child;
    prg_json_each (child, prg_json_is_object(parent) || prg_json_is_array(parent) ? parent : NULL) {
        const char *name = prg_json_is_array(parent) ? prg_path_item_name(arena, child) : child->string;
        names[i] = name ? name : prg_arena_printf(arena, "%zu", i);
        i++;
    }
    return i ? names_text(arena, names, i) : "nothing below it";
}

// What --object can name.
static const char *objects_of(struct asking *a)
{
    size_t count = 0;
    const char **names = prg_arena_array(a->arena, const char *, prg_json_count(a->plan->objects) + 1);
    const cJSON *object;
    prg_json_each (object, a->plan->objects)
        names[count++] = object_name(a->arena, object);
    names[count++] = object_name(a->arena, a->plan->resource);
    return names_text(a->arena, names, count);
}

static int not_there(struct asking *a, const struct missing *missing, const char *wanted, const char *path,
                     struct prg_error *err)
{
    if (!missing->object)
        return prg_fail(err, PRG_NOTFOUND, "--object %s: the plan of %s/%s has no such object; there is %s", wanted,
                        a->in->subject.ns, a->in->subject.name, objects_of(a));
    return prg_fail(err, PRG_NOTFOUND, "%s: %s %s has no '%s' in %s: there is %s", path,
                    prg_json_get_text(missing->object, "kind"), prg_meta_name(missing->object), missing->step,
                    *missing->path ? missing->path : "it", members_of(a->arena, missing->parent));
}

// A label or annotation that somebody dropped is an answer: it is not there, and the trace says why.
static cJSON *dropped(struct asking *a, const char *step)
{
    cJSON *list = prg_json_array(a->arena);
    for (const struct prg_trace_entry *entry = a->plan->trace_first; entry; entry = entry->next)
        if (entry->subject && strcmp(entry->subject, step) == 0 && prg_text_equal(entry->outcome, "dropped"))
            prg_json_append(list, prg_doc_trace(a->arena, entry));
    return list;
}

// ---- objects ----

// KIND or KIND/NAME; the plan may hold a kind that only its policies know.
static bool is_wanted(struct prg_arena *arena, const cJSON *object, const char *wanted)
{
    const char *slash = wanted ? strchr(wanted, '/') : NULL, *kind = prg_json_get_text(object, "kind");
    struct prg_kind named;
    if (!wanted)
        return true;
    size_t length = slash ? (size_t)(slash - wanted) : strlen(wanted);
    bool is_kind = strlen(kind) == length && strncasecmp(kind, wanted, length) == 0;
    if (!is_kind && prg_kind_named(arena, wanted, length, &named))
        is_kind = strcmp(kind, named.kind) == 0;
    return is_kind && (!slash || strcmp(slash + 1, prg_meta_name(object)) == 0);
}

static int look_into(struct asking *a, const cJSON *object, const char *path, struct missing *missing,
                     struct prg_error *err)
{
    struct prg_path_found found;
    int rc = prg_path_find(a->arena, object, path, &found, err);
    if (rc != PRG_OK)
        return rc;
    if (found.node)
        add_found(a, object, &found);
    else
        keep_deepest(missing, object, &found);
    return PRG_OK;
}

static int look(struct asking *a, const char *wanted, const char *path, struct missing *missing, struct prg_error *err)
{
    const cJSON *object;
    int rc = PRG_OK;
    prg_json_each (object, a->plan->objects)
        if (rc == PRG_OK && is_wanted(a->arena, object, wanted))
            rc = look_into(a, object, path, missing, err);
    if (rc == PRG_OK && !prg_json_count(a->found) && is_wanted(a->arena, a->plan->resource, wanted))
        rc = look_into(a, a->plan->resource, path, missing, err);
    return rc;
}

int prg_why_field(struct prg_arena *arena, const struct prg_why_input *in, struct prg_plan *plan, const char *object,
                  const char *path, cJSON **ret, struct prg_error *err)
{
    struct asking a = {.arena = arena, .in = in, .plan = plan, .found = prg_json_array(arena)};
    struct missing missing = {0};
    cJSON *document = prg_json_object(arena), *gone = NULL;
    int rc = look(&a, object, path, &missing, err);
    if (rc != PRG_OK)
        return rc;
    if (!prg_json_count(a.found)) {
        gone = missing.step ? dropped(&a, missing.step) : NULL;
        if (!prg_json_count(gone))
            return not_there(&a, &missing, object, path, err);
    }
    prg_json_set_string(arena, document, "apiVersion", "perigee.dev/v1");
    prg_json_set_string(arena, document, "kind", "WhyField");
    prg_doc_node(arena, document, "subject", prg_doc_subject(arena, plan->resource));
    prg_doc_text(arena, document, "field", path);
    prg_doc_text(arena, document, "error", plan->error);
    prg_doc_node(arena, document, "found", a.found);
    prg_doc_node(arena, document, "dropped", gone);
    if (a.is_cut)
        prg_json_set_bool(arena, document, "isCut", true);
    *ret = document;
    return PRG_OK;
}

// ---- text ----

static void put_decisions(struct prg_strbuf *out, const cJSON *list)
{
    const cJSON *entry;
    prg_json_each (entry, list) {
        const char *reason = prg_json_get_text(entry, "reason"), *outcome = prg_json_get_text(entry, "outcome");
        prg_strbuf_printf(out, "      %s: ", prg_json_get_text(entry, "decision"));
        prg_doc_put_line(out, outcome ? outcome : "");
        if (reason) {
            prg_strbuf_puts(out, ": ");
            prg_doc_put_line(out, reason);
        }
        prg_doc_put_source(out, prg_json_get(entry, "policy"));
        prg_strbuf_putc(out, '\n');
    }
}

static void put_leaf(struct prg_strbuf *out, const cJSON *leaf)
{
    const cJSON *manifest = prg_json_get(leaf, "manifest");
    const char *reason = prg_json_get_text(leaf, "reason"), *object = prg_json_get_text(manifest, "object");
    const char *file = prg_json_get_text(manifest, "file");
    int64_t line;
    prg_strbuf_puts(out, "  ");
    prg_doc_put_line(out, prg_json_get_text(leaf, "path"));
    prg_strbuf_puts(out, " = ");
    prg_doc_value(out, prg_json_get(leaf, "value"), VALUE_SHOWN);
    prg_strbuf_printf(out, "\n    %s", prg_json_get_text(leaf, "layer"));
    if (object)
        prg_strbuf_printf(out, ": %s", object);
    bool has_line = prg_json_get_int64(manifest, "line", &line);
    if (file) {
        prg_strbuf_puts(out, " at ");
        prg_doc_put_line(out, file);
    }
    if (has_line)
        prg_strbuf_printf(out, file ? ":%lld" : ", line %lld", (long long)line);
    if (reason)
        prg_strbuf_printf(out, ": %s", reason);
    prg_strbuf_putc(out, '\n');
    put_decisions(out, prg_json_get(leaf, "decisions"));
}

void prg_why_field_text(const cJSON *document, struct prg_strbuf *out)
{
    const cJSON *leaf, *object, *last = NULL, *gone = prg_json_get(document, "dropped");
    prg_json_each (leaf, prg_json_get(document, "found")) {
        object = prg_json_get(leaf, "object");
        if (!last || !prg_json_equal(object, last))
            prg_strbuf_printf(out, "%s %s\n", prg_json_get_text(object, "kind"), prg_json_get_text(object, "name"));
        last = object;
        put_leaf(out, leaf);
    }
    if (prg_json_count(gone)) {
        prg_doc_put_line(out, prg_json_get_text(document, "field"));
        prg_strbuf_puts(out, " is not there: dropped\n");
        put_decisions(out, gone);
    }
    if (prg_json_get_true(document, "isCut"))
        prg_strbuf_printf(out, "… only the first %d fields are shown\n", LEAVES_MAX);
}
