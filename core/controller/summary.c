// SPDX-License-Identifier: Apache-2.0
// summary.c: a plan in a few words, and its trace for people.
#include "controller/summary.h"

#include <inttypes.h>
#include <string.h>

#include "object/meta.h"
#include "object/quantity.h"
#include "serving/podspec.h"
#include "json/schema.h"

static const cJSON *find_object(const struct prg_plan *plan, const char *kind, const char *name)
{
    const cJSON *object;
    prg_json_each (object, plan->objects) {
        if (prg_text_equal(prg_json_get_text(object, "kind"), kind) && strcmp(prg_meta_name(object), name) == 0)
            return object;
    }
    return NULL;
}

// spec.template.spec of a Deployment or a Knative Service.
static const cJSON *pod_spec_of(const cJSON *object)
{
    return prg_json_at(object, "spec", "template", "spec");
}

int64_t prg_pod_gpus(const cJSON *pod_spec, const cJSON *gpu_types)
{
    const cJSON *container, *limit;
    int64_t sum = 0;
    prg_json_each (container, prg_json_get(pod_spec, "containers")) {
        prg_json_each (limit, prg_json_at(container, "resources", "limits")) {
            struct prg_quantity quantity;
            if (prg_gpu_is(limit->string, gpu_types) && prg_quantity_of(limit, &quantity, NULL) == PRG_OK)
                sum = prg_saturated_add(sum, prg_quantity_value_saturated(&quantity));
        }
    }
    return sum;
}

static const char *gpu_text(struct prg_plan *plan, const cJSON *head, const cJSON *worker)
{
    int64_t replicas = 1, worker_replicas = 1, worker_gpus = 0;
    int64_t head_gpus = prg_pod_gpus(pod_spec_of(head), plan->gpu_types);
    const cJSON *hpa = find_object(plan, "HorizontalPodAutoscaler", prg_meta_name(head));
    if (!prg_json_int64(prg_json_at(head, "spec", "replicas"), &replicas) &&
        !prg_json_int64(prg_json_at(hpa, "spec", "minReplicas"), &replicas))
        replicas = 1;
    if (worker) {
        prg_json_int64(prg_json_at(worker, "spec", "replicas"), &worker_replicas);
        worker_gpus = prg_pod_gpus(pod_spec_of(worker), plan->gpu_types);
    }
    int64_t of_heads = prg_saturated_multiply(head_gpus, replicas);
    int64_t of_workers = prg_saturated_multiply(worker_gpus, worker_replicas);
    if (worker)
        return prg_arena_printf(plan->arena, "%" PRId64 " (%" PRId64 " + %" PRId64 "x%" PRId64 ")",
                                prg_saturated_add(of_heads, of_workers), of_heads, worker_replicas, worker_gpus);
    return prg_arena_printf(plan->arena, "%" PRId64, of_heads);
}

static const char *objects_text(struct prg_plan *plan)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const cJSON *object;
    const char *last = NULL;
    prg_strbuf_printf(&text, "%zu", prg_json_count(plan->objects));
    prg_json_each (object, plan->objects) // sorted by kind
    {
        const char *kind = prg_json_get_text(object, "kind");
        if (!prg_text_equal(kind, last))
            prg_strbuf_printf(&text, "%s%s", last ? ", " : ": ", kind);
        last = kind;
    }
    return prg_arena_strndup(plan->arena, text.text, text.length);
}

static const cJSON *condition_of(const struct prg_plan *plan, const char *type)
{
    const cJSON *condition;
    prg_json_each (condition, prg_json_at(plan->resource, "status", "conditions")) {
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return condition;
    }
    return NULL;
}

static const char *ready_text(struct prg_plan *plan)
{
    const cJSON *ready = condition_of(plan, "Ready"), *predictor = condition_of(plan, "PredictorReady");
    if (plan->error)
        return plan->error;
    if (prg_text_equal(prg_json_get_text(ready, "status"), "True"))
        return "True";
    const cJSON *why = prg_text_equal(prg_json_get_text(predictor, "status"), "True") ? ready : predictor;
    const char *reason = prg_json_get_text(why, "reason"), *message = prg_json_get_text(why, "message");
    const char *status = prg_json_get_text(ready, "status");
    if (!reason && prg_text_equal(prg_json_get_text(predictor, "status"), "True"))
        return "predictor ready, the route is not";
    return prg_arena_printf(plan->arena, "%s%s%s%s%s", status ? status : "Unknown", reason ? ": " : "",
                            reason ? reason : "", message ? ": " : "",
                            message  ? message
                            : reason ? ""
                                     : ": waiting for pods");
}

// A cell of a table: what is longer is cut at a word, whole in the status, in `plan` and in the log.
static const char *short_text(struct prg_plan *plan, const char *text)
{
    enum { SHOWN = 110 };
    size_t length = SHOWN;
    if (strlen(text) <= SHOWN)
        return text;
    while (length > SHOWN / 2 && text[length] != ' ')
        length--;
    while (((unsigned char)text[length] & 0xc0) == 0x80) // within a character
        length--;
    return prg_arena_printf(plan->arena, "%.*s …", (int)length, text);
}

void prg_plan_summarise(struct prg_plan *plan, struct prg_plan_summary *ret)
{
    const char *name = prg_meta_name(plan->resource);
    const char *predictor = prg_arena_printf(plan->arena, "%s-predictor", name);
    const cJSON *head = find_object(plan, "Deployment", predictor);
    const cJSON *worker = find_object(plan, "Deployment", prg_arena_printf(plan->arena, "%s-worker", predictor));
    if (!head)
        head = find_object(plan, "Service", predictor);
    const char *runtime = prg_json_get_text(prg_json_at(plan->resource, "spec", "predictor", "model"), "runtime");
    const char *image = prg_json_get_text(prg_json_item(prg_json_get(pod_spec_of(head), "containers"), 0), "image");
    bool is_custom = !prg_json_at(plan->resource, "spec", "predictor", "model");
    *ret = (struct prg_plan_summary){
        .runtime = runtime     ? runtime
                   : is_custom ? "(containers)"
                               : "-",
        .image = image ? image : "-",
        .gpus = head ? gpu_text(plan, head, worker) : "-",
        .objects = objects_text(plan),
        .ready = short_text(plan, ready_text(plan)),
    };
}

struct field_writer {
    struct prg_strbuf *out;
};

// Ends the line that begins at `start`: names in manifests may hold line ends and what a terminal would obey.
static void end_line(struct prg_strbuf *out, size_t start)
{
    for (size_t i = start; i < out->length; i++)
        if ((unsigned char)out->text[i] < ' ' || out->text[i] == 0x7f)
            out->text[i] = ' ';
    prg_strbuf_putc(out, '\n');
}

static void write_field(const char *path, const cJSON *node, enum prg_origin origin, void *ctx)
{
    struct field_writer *writer = ctx;
    const char *name = prg_origin_name(origin);
    struct prg_json_position at = prg_json_position(node);
    size_t start = writer->out->length;
    prg_strbuf_printf(writer->out, "    %-18s %s", name[0] ? name : "rule", path);
    if (at.line && (origin == PRG_ORIGIN_RUNTIME || origin == PRG_ORIGIN_SERVICE || origin == PRG_ORIGIN_PREDICTOR))
        prg_strbuf_printf(writer->out, "  (line %u)", at.line);
    end_line(writer->out, start);
}

void prg_plan_explain(struct prg_plan *plan, bool fields, struct prg_strbuf *out)
{
    const char *last = "";
    size_t start = out->length;
    prg_strbuf_printf(out, "%s/%s", prg_meta_namespace(plan->resource), prg_meta_name(plan->resource));
    end_line(out, start);
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next) {
        if (strcmp(last, entry->decision) != 0)
            prg_strbuf_printf(out, "  %s\n", entry->decision);
        last = entry->decision;
        start = out->length;
        prg_strbuf_printf(out, "    %s: %s", entry->subject ? entry->subject : "", entry->outcome);
        if (entry->reason)
            prg_strbuf_printf(out, ": %s", entry->reason);
        if (entry->source.file)
            prg_strbuf_printf(out, "  [%s:%d %s]", entry->source.file, entry->source.line, entry->source.function);
        end_line(out, start);
    }
    if (plan->error) {
        prg_strbuf_puts(out, "  error\n");
        start = out->length;
        prg_strbuf_printf(out, "    %s", plan->error);
        end_line(out, start);
    }
    const cJSON *object;
    struct field_writer writer = {out};
    if (!fields)
        return;
    prg_json_each (object, plan->objects) {
        start = out->length;
        prg_strbuf_printf(out, "  fields of %s %s", prg_json_get_text(object, "kind"), prg_meta_name(object));
        end_line(out, start);
        prg_plan_each_field(object, write_field, &writer);
    }
}
