// SPDX-License-Identifier: Apache-2.0
// report.c: a comparison of many services, printed.
#include "explain/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "explain/doc.h"

enum { NAMED = 10, FREQUENT = 10, VALUE_SHOWN = 90, VALUE_IN_FULL = 400 };

const char *prg_report_compat(const struct prg_compat *compat)
{
    if (memcmp(compat, &prg_compat_fixed, sizeof(*compat)) == 0)
        return "fixed";
    return memcmp(compat, &prg_compat_kserve, sizeof(*compat)) == 0 ? "kserve" : "mixed";
}

bool prg_report_has_changes(const struct prg_fleet *fleet)
{
    return fleet->services[PRG_EFFECT_UNCHANGED] < fleet->count;
}

const char *const *prg_report_objections(struct prg_arena *arena, const struct prg_report *report, size_t *ret_count)
{
    const struct prg_fleet *fleet = report->fleet;
    const struct prg_gate *gate = &report->gate;
    const char **lines = prg_arena_array(arena, const char *, 3);
    size_t count = 0;
    if (gate->has_restarts && fleet->restarts > gate->max_restarts)
        lines[count++] =
            prg_arena_printf(arena, "%" PRId64 " %s; --max-restarts allows %" PRId64, fleet->restarts,
                             prg_plural(fleet->restarts, "pod restarts", "pods restart"), gate->max_restarts);
    if (gate->has_gpus && fleet->touched_gpus > gate->max_gpus)
        lines[count++] =
            prg_arena_printf(arena, "%" PRId64 " %s touched; --max-gpus allows %" PRId64, fleet->touched_gpus,
                             prg_plural(fleet->touched_gpus, "GPU is", "GPUs are"), gate->max_gpus);
    if ((gate->has_restarts || gate->has_gpus) && fleet->services[PRG_EFFECT_ERROR])
        lines[count++] =
            prg_arena_printf(arena, "%zu %s cannot be planned any more", fleet->services[PRG_EFFECT_ERROR],
                             prg_plural((int64_t)fleet->services[PRG_EFFECT_ERROR], "service", "services"));
    *ret_count = count;
    return lines;
}

// Names and paths come from manifests: whatever they hold, a line is a line.
static void put_words(struct prg_strbuf *out, const char *first, const char *between, const char *second)
{
    prg_doc_put_line(out, first);
    prg_strbuf_puts(out, between);
    prg_doc_put_line(out, second);
}

// The manifest of a service, with the change when that has one of its own, in arena; or NULL.
static const char *place_of(const struct prg_report *report, const struct prg_key *key, struct prg_arena *arena)
{
    const char *place = NULL;
    for (int side = PRG_SIDE_NEW; !place && side >= PRG_SIDE_BASE; side--)
        if (report->stores[side])
            place = prg_reader_place(report->stores[side], key, NULL, arena);
    return place;
}

static void put_place(struct prg_strbuf *out, const struct prg_report *report, const struct prg_key *key)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const char *place = place_of(report, key, &arena);
    if (place)
        put_words(out, "  [", place, "]");
}

// ---- what changes most ----

// One kind of change, in however many services.
struct frequent {
    const char *kind, *path;
    const struct prg_field_effect *example;
    size_t services, last_service; // the service counted last, from 1
    bool is_uniform;               // the same two values everywhere
    size_t order;                  // of the first
};

struct frequencies {
    struct prg_arena arena;
    struct prg_map by_text;
    struct prg_vec list; // struct frequent
};

static void count_field(struct frequencies *f, const struct prg_object_effect *object,
                        const struct prg_field_effect *field, size_t service)
{
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    prg_strbuf_printf(&key, "%s %s %d", object->kind, field->path, (int)field->kind);
    struct frequent *entry = prg_map_get(&f->by_text, key.text);
    if (!entry) {
        entry = prg_arena_new(&f->arena, struct frequent);
        *entry = (struct frequent){object->kind, field->path, field, 0, 0, true, f->list.count};
        prg_map_put(&f->by_text, key.text, entry);
        prg_vec_push(&f->list, entry);
    }
    if (entry->last_service != service)
        entry->services++;
    entry->last_service = service;
    entry->is_uniform = entry->is_uniform && prg_json_equal(entry->example->from, field->from) &&
                        prg_json_equal(entry->example->to, field->to);
}

static int compare_frequent(const void *a, const void *b, void *ctx)
{
    const struct frequent *x = a, *y = b;
    (void)ctx;
    if (x->services != y->services)
        return x->services > y->services ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void count_fields(const struct prg_fleet *fleet, struct frequencies *f)
{
    prg_arena_init(&f->arena);
    prg_map_init(&f->by_text);
    prg_vec_init(&f->list);
    for (size_t i = 0; i < fleet->count; i++)
        for (const struct prg_object_effect *object = fleet->effects[i].first; object; object = object->next)
            for (const struct prg_field_effect *field = object->first; field; field = field->next)
                count_field(f, object, field, i + 1);
    prg_vec_sort(&f->list, compare_frequent, NULL);
}

static void release_frequencies(struct frequencies *f)
{
    prg_vec_release(&f->list);
    prg_map_release(&f->by_text);
    prg_arena_release(&f->arena);
}

static void put_values(struct prg_strbuf *out, const struct prg_field_effect *field, size_t max)
{
    if (field->kind == PRG_FIELD_ORDER)
        prg_strbuf_puts(out, "order ");
    prg_doc_value(out, field->from, max);
    prg_strbuf_puts(out, " -> ");
    prg_doc_value(out, field->to, max);
}

static void put_frequent(struct prg_strbuf *out, const struct prg_fleet *fleet)
{
    struct frequencies f;
    count_fields(fleet, &f);
    if (f.list.count)
        prg_strbuf_puts(out, "\nmost frequent changes\n");
    for (size_t i = 0; i < f.list.count && i < FREQUENT; i++) {
        const struct frequent *entry = f.list.items[i];
        prg_strbuf_printf(out, "  %6zu  ", entry->services);
        put_words(out, entry->kind, " ", entry->path);
        prg_strbuf_puts(out, entry->is_uniform ? ": " : ": as in ");
        put_values(out, entry->example, VALUE_SHOWN);
        prg_strbuf_putc(out, '\n');
    }
    if (f.list.count > FREQUENT)
        prg_strbuf_printf(out, "          … and %zu more\n", f.list.count - FREQUENT);
    release_frequencies(&f);
}

// ---- groups ----

// "team-a/iris, team-a/wine … and 12 more": the first services of a group.
static void put_names(struct prg_strbuf *out, const struct prg_fleet *fleet, enum prg_effect_group group)
{
    size_t shown = 0;
    for (size_t i = 0; i < fleet->count && shown < NAMED; i++) {
        if (fleet->effects[i].group != group)
            continue;
        prg_strbuf_puts(out, shown++ ? ", " : "");
        put_words(out, fleet->keys[i].ns, "/", fleet->keys[i].name);
    }
    if (fleet->services[group] > NAMED)
        prg_strbuf_printf(out, " … and %zu more", fleet->services[group] - NAMED);
}

// Errors in the order of their number, each with the first service that has it.
static void put_errors(struct prg_strbuf *out, const struct prg_report *report)
{
    const struct prg_fleet *fleet = report->fleet;
    size_t shown = 0;
    for (size_t i = 0; i < fleet->count && shown < NAMED; i++) {
        const struct prg_effect *effect = &fleet->effects[i];
        if (effect->group != PRG_EFFECT_ERROR)
            continue;
        if (!shown++)
            prg_strbuf_puts(out, "\nerrors\n");
        prg_strbuf_puts(out, "  ");
        put_words(out, fleet->keys[i].ns, "/", fleet->keys[i].name);
        prg_strbuf_puts(out, ": ");
        prg_doc_put_line(out, effect->error[1]);
        put_place(out, report, &fleet->keys[i]);
        prg_strbuf_putc(out, '\n');
    }
}

void prg_report_summary(const struct prg_report *report, struct prg_strbuf *out)
{
    const struct prg_fleet *fleet = report->fleet;
    size_t changed = fleet->count - fleet->services[PRG_EFFECT_UNCHANGED];
    prg_strbuf_printf(out, "%zu of %zu %s %s\n  base: %s\n  new:  %s\n\n", changed, fleet->count,
                      prg_plural((int64_t)fleet->count, "service", "services"),
                      prg_plural((int64_t)changed, "changes", "change"), report->base, report->new);
    prg_strbuf_printf(out, "%-26s%9s%9s%9s\n", "GROUP", "SERVICES", "PODS", "GPUS");
    for (int group = 0; group < PRG_EFFECT_COUNT; group++)
        prg_strbuf_printf(out, "%-26s%9zu%9" PRId64 "%9" PRId64 "\n", prg_effect_title((enum prg_effect_group)group),
                          fleet->services[group], fleet->pods[group], fleet->gpus[group]);
    prg_strbuf_printf(out, "\n%" PRId64 " %s, %" PRId64 " %s touched; GPUs in all: %" PRId64 " -> %" PRId64 "\n",
                      fleet->restarts, prg_plural(fleet->restarts, "pod restarts", "pods restart"), fleet->touched_gpus,
                      prg_plural(fleet->touched_gpus, "GPU is", "GPUs are"), fleet->gpus_total[0],
                      fleet->gpus_total[1]);
    if (fleet->failing[0] || fleet->failing[1])
        prg_strbuf_printf(out, "%zu %s cannot be planned now, %zu with the change\n", fleet->failing[0],
                          prg_plural((int64_t)fleet->failing[0], "service", "services"), fleet->failing[1]);
    put_frequent(out, fleet);
    for (int group = PRG_EFFECT_ERROR; group > PRG_EFFECT_UNCHANGED; group--) {
        if (!fleet->services[group])
            continue;
        prg_strbuf_printf(out, "\n%s\n  ", prg_effect_title((enum prg_effect_group)group));
        put_names(out, fleet, (enum prg_effect_group)group);
        prg_strbuf_putc(out, '\n');
    }
    put_errors(out, report);
}

// ---- each service ----

static const char *origin_text(const struct prg_field_effect *field)
{
    const char *name = prg_origin_name(field->to ? field->after : field->before);
    return *name ? name : "rule";
}

static void put_field(struct prg_strbuf *out, const struct prg_field_effect *field)
{
    prg_strbuf_puts(out, "      ");
    put_words(out, field->path, ": ", "");
    put_values(out, field, VALUE_IN_FULL);
    prg_strbuf_printf(out, "  (%s)\n", origin_text(field));
}

static void put_object(struct prg_strbuf *out, const struct prg_object_effect *object)
{
    static const char marks[] = {'~', '+', '-'};
    prg_strbuf_printf(out, "  %c ", marks[object->change]);
    put_words(out, object->kind, " ", object->name);
    if (object->restarts)
        prg_strbuf_printf(out, "  restarts %" PRId64 " %s", object->pods, prg_plural(object->pods, "pod", "pods"));
    else if (object->pods && object->change != PRG_OBJECT_CHANGES)
        prg_strbuf_printf(out, "  %" PRId64 " %s", object->pods, prg_plural(object->pods, "pod", "pods"));
    if (object->gpus)
        prg_strbuf_printf(out, " on %" PRId64 " %s", object->gpus, prg_plural(object->gpus, "GPU", "GPUs"));
    prg_strbuf_putc(out, '\n');
    for (const struct prg_field_effect *field = object->first; field; field = field->next)
        put_field(out, field);
    if (object->field_count > PRG_EFFECT_FIELDS)
        prg_strbuf_printf(out, "      … and %zu more %s\n", object->field_count - PRG_EFFECT_FIELDS,
                          prg_plural((int64_t)object->field_count - PRG_EFFECT_FIELDS, "field", "fields"));
}

static void put_service(struct prg_strbuf *out, const struct prg_report *report, const struct prg_key *key,
                        const struct prg_effect *effect)
{
    prg_strbuf_putc(out, '\n');
    put_words(out, key->ns, "/", key->name);
    prg_strbuf_printf(out, ": %s", prg_effect_title(effect->group));
    if (effect->gpus_total[0] != effect->gpus_total[1])
        prg_strbuf_printf(out, ", GPUs %" PRId64 " -> %" PRId64, effect->gpus_total[0], effect->gpus_total[1]);
    put_place(out, report, key);
    prg_strbuf_putc(out, '\n');
    if (!prg_text_equal(effect->error[0], effect->error[1])) {
        prg_strbuf_puts(out, "  error: ");
        prg_doc_put_line(out, effect->error[0] ? effect->error[0] : "none");
        prg_strbuf_puts(out, " -> ");
        prg_doc_put_line(out, effect->error[1] ? effect->error[1] : "none");
        prg_strbuf_putc(out, '\n');
    }
    for (const struct prg_object_effect *object = effect->first; object; object = object->next)
        put_object(out, object);
}

void prg_report_details(const struct prg_report *report, size_t max, struct prg_strbuf *out)
{
    const struct prg_fleet *fleet = report->fleet;
    size_t shown = 0, changed = fleet->count - fleet->services[PRG_EFFECT_UNCHANGED];
    for (size_t i = 0; i < fleet->count; i++) {
        if (fleet->effects[i].group == PRG_EFFECT_UNCHANGED)
            continue;
        if (max && shown == max) {
            prg_strbuf_printf(out, "\n… and %zu more %s; -o full shows all\n", changed - shown,
                              prg_plural((int64_t)(changed - shown), "service", "services"));
            return;
        }
        put_service(out, report, &fleet->keys[i], &fleet->effects[i]);
        shown++;
    }
}

// ---- JSON ----
// Each service is printed by itself: a fleet's tree would be many times its text.

static cJSON *field_json(struct prg_arena *arena, const struct prg_field_effect *field)
{
    cJSON *node = prg_json_object(arena);
    prg_json_set_string(arena, node, "path", field->path);
    if (field->kind == PRG_FIELD_ORDER)
        prg_json_set_bool(arena, node, "orderOnly", true);
    if (field->from)
        prg_json_add(arena, node, "from", prg_json_reference(arena, field->from));
    if (field->to)
        prg_json_add(arena, node, "to", prg_json_reference(arena, field->to));
    prg_json_set_string(arena, node, "layer", origin_text(field));
    return node;
}

static cJSON *object_json(struct prg_arena *arena, const struct prg_object_effect *object)
{
    static const char *const changes[] = {"changes", "appears", "vanishes"};
    cJSON *node = prg_json_object(arena), *fields = prg_json_array(arena);
    prg_json_set_string(arena, node, "kind", object->kind);
    prg_json_set_string(arena, node, "namespace", object->ns);
    prg_json_set_string(arena, node, "name", object->name);
    prg_json_set_string(arena, node, "change", changes[object->change]);
    prg_json_set_bool(arena, node, "restarts", object->restarts);
    prg_json_set_int(arena, node, "pods", object->pods);
    prg_json_set_int(arena, node, "gpus", object->gpus);
    for (const struct prg_field_effect *field = object->first; field; field = field->next)
        prg_json_append(fields, field_json(arena, field));
    prg_json_add(arena, node, "fields", fields);
    if (object->field_count > PRG_EFFECT_FIELDS)
        prg_json_set_int(arena, node, "fieldCount", (int64_t)object->field_count);
    return node;
}

static void set_error(struct prg_arena *arena, cJSON *node, const char *key, const char *error)
{
    prg_json_set(arena, node, key, error ? prg_json_string(arena, error) : prg_json_null(arena));
}

static cJSON *service_json(struct prg_arena *arena, const struct prg_key *key, const struct prg_effect *effect)
{
    cJSON *node = prg_json_object(arena), *objects = prg_json_array(arena);
    prg_json_set_string(arena, node, "kind", key->kind);
    prg_json_set_string(arena, node, "namespace", key->ns);
    prg_json_set_string(arena, node, "name", key->name);
    prg_json_set_string(arena, node, "group", prg_effect_name(effect->group));
    prg_json_set_int(arena, node, "restarts", effect->restarts);
    prg_json_set_int(arena, node, "pods", effect->pods);
    prg_json_set_int(arena, node, "gpus", effect->gpus);
    prg_json_set_int(arena, node, "gpusBefore", effect->gpus_total[0]);
    prg_json_set_int(arena, node, "gpusAfter", effect->gpus_total[1]);
    set_error(arena, node, "errorBefore", effect->error[0]);
    set_error(arena, node, "errorAfter", effect->error[1]);
    for (const struct prg_object_effect *object = effect->first; object; object = object->next)
        prg_json_append(objects, object_json(arena, object));
    prg_json_add(arena, node, "objects", objects);
    return node;
}

static cJSON *groups_json(struct prg_arena *arena, const struct prg_fleet *fleet)
{
    cJSON *groups = prg_json_object(arena);
    for (int i = 0; i < PRG_EFFECT_COUNT; i++) {
        cJSON *group = prg_json_object(arena);
        prg_json_set_int(arena, group, "services", (int64_t)fleet->services[i]);
        prg_json_set_int(arena, group, "pods", fleet->pods[i]);
        prg_json_set_int(arena, group, "gpus", fleet->gpus[i]);
        prg_json_set(arena, groups, prg_effect_name((enum prg_effect_group)i), group);
    }
    return groups;
}

static cJSON *head_json(struct prg_arena *arena, const struct prg_report *report)
{
    const struct prg_fleet *fleet = report->fleet;
    cJSON *head = prg_json_object(arena), *objections = prg_json_array(arena);
    size_t count;
    const char *const *lines = prg_report_objections(arena, report, &count);
    for (size_t i = 0; i < count; i++)
        prg_json_append(objections, prg_json_string(arena, lines[i]));
    prg_json_set_string(arena, head, "apiVersion", "perigee.dev/v1");
    prg_json_set_string(arena, head, "kind", "Diff");
    prg_json_set_string(arena, head, "base", report->base);
    prg_json_set_string(arena, head, "new", report->new);
    prg_json_set_int(arena, head, "serviceCount", (int64_t)fleet->count);
    prg_json_set(arena, head, "groups", groups_json(arena, fleet));
    prg_json_set_int(arena, head, "restarts", fleet->restarts);
    prg_json_set_int(arena, head, "gpus", fleet->touched_gpus);
    prg_json_set_int(arena, head, "gpusBefore", fleet->gpus_total[0]);
    prg_json_set_int(arena, head, "gpusAfter", fleet->gpus_total[1]);
    prg_json_set_int(arena, head, "failingBefore", (int64_t)fleet->failing[0]);
    prg_json_set_int(arena, head, "failingAfter", (int64_t)fleet->failing[1]);
    prg_json_set(arena, head, "objections", objections);
    return head;
}

void prg_report_json(const struct prg_report *report, struct prg_strbuf *out)
{
    prg_auto_arena arena;
    const struct prg_fleet *fleet = report->fleet;
    bool is_first = true;
    prg_arena_init(&arena);
    prg_json_print(out, head_json(&arena, report), PRG_JSON_SORTED);
    prg_strbuf_truncate(out, out->length - 1); // the brace: the services come within
    prg_strbuf_puts(out, ",\n\"services\":[");
    for (size_t i = 0; i < fleet->count; i++) {
        if (fleet->effects[i].group == PRG_EFFECT_UNCHANGED)
            continue;
        prg_strbuf_puts(out, is_first ? "\n" : ",\n");
        is_first = false;
        prg_arena_reset(&arena);
        cJSON *service = service_json(&arena, &fleet->keys[i], &fleet->effects[i]);
        prg_json_set_string(&arena, service, "place", place_of(report, &fleet->keys[i], &arena));
        prg_json_print(out, service, PRG_JSON_SORTED);
    }
    prg_strbuf_puts(out, "\n]}\n");
}

// ---- GitHub ----

// The message of a workflow command: %, and line breaks, are escaped.
static void put_command(struct prg_strbuf *out, const char *command, const char *title, const char *message)
{
    prg_strbuf_printf(out, "::%s title=%s::", command, title);
    for (; *message; message++) {
        if (*message == '%')
            prg_strbuf_puts(out, "%25");
        else if (*message == '\n')
            prg_strbuf_puts(out, "%0A");
        else if (*message == '\r')
            prg_strbuf_puts(out, "%0D");
        else
            prg_strbuf_putc(out, *message);
    }
    prg_strbuf_putc(out, '\n');
}

void prg_report_github(const struct prg_report *report, struct prg_strbuf *out)
{
    prg_auto_arena arena;
    const struct prg_fleet *fleet = report->fleet;
    size_t count;
    prg_arena_init(&arena);
    const char *const *lines = prg_report_objections(&arena, report, &count);
    for (size_t i = 0; i < count; i++)
        put_command(out, "error", "perigee diff", lines[i]);
    for (int group = PRG_EFFECT_ERROR; group > PRG_EFFECT_UNCHANGED; group--) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        if (!fleet->services[group])
            continue;
        prg_strbuf_printf(&text, "%zu %s, %" PRId64 " %s, %" PRId64 " %s: ", fleet->services[group],
                          prg_plural((int64_t)fleet->services[group], "service", "services"), fleet->pods[group],
                          prg_plural(fleet->pods[group], "pod", "pods"), fleet->gpus[group],
                          prg_plural(fleet->gpus[group], "GPU", "GPUs"));
        put_names(&text, fleet, (enum prg_effect_group)group);
        if (group == PRG_EFFECT_ERROR)
            put_errors(&text, report);
        const char *command = group == PRG_EFFECT_ERROR ? "error" : group >= PRG_EFFECT_RESTART ? "warning" : "notice";
        put_command(out, command, prg_effect_title((enum prg_effect_group)group), text.text);
    }
    if (!prg_report_has_changes(fleet))
        put_command(out, "notice", "perigee diff", "no service changes");
}
