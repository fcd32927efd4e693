// SPDX-License-Identifier: Apache-2.0
// timeline.c: prints what a scenario's steps made happen.
#include "simulate/timeline.h"

#include <string.h>

#include "learning/status.h"

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = prg_json_get_text(object, key);
    return text ? text : "";
}

// A request that failed, or one that changed something.
static void print_request(const cJSON *request, struct prg_strbuf *out)
{
    const char *verb = text_of(request, "verb"), *error = prg_json_get_text(request, "error");
    const cJSON *conditions = prg_json_get(request, "conditions"), *patch = prg_json_get(request, "patch");
    size_t count = prg_json_count(conditions);
    prg_strbuf_printf(out, "    %-8s", verb);
    if (count) {
        prg_strbuf_printf(out, "%s: %s", text_of(request, "name"), prg_json_text(prg_json_item(conditions, count - 1)));
    } else if (patch) {
        const cJSON *annotation = prg_json_at(patch, "metadata", "annotations");
        prg_strbuf_printf(out, "%s: ", text_of(request, "name"));
        prg_json_print(out, annotation, PRG_JSON_SORTED);
    } else {
        const char *name = prg_json_get_text(request, "assignedName");
        prg_strbuf_printf(out, "%s %s", text_of(request, "resource"), name ? name : text_of(request, "name"));
    }
    if (error)
        prg_strbuf_printf(out, "  failed: %s", error);
    prg_strbuf_putc(out, '\n');
}

static void print_message(const cJSON *message, struct prg_strbuf *out)
{
    const cJSON *header = prg_json_get(message, "header");
    prg_strbuf_printf(out, "    tell    %s: %s %s %s\n",
                      *text_of(message, "node") ? text_of(message, "node") : "(no node)", text_of(header, "operation"),
                      text_of(header, "resourceKind"), text_of(header, "resourceName"));
}

static void print_state(const cJSON *state, struct prg_strbuf *out)
{
    const cJSON *job, *pod;
    prg_json_each (job, prg_json_get(state, "jobs")) {
        const cJSON *last = prg_job_condition_last(job);
        prg_strbuf_printf(out, "    job     %s: %s %s\n", text_of(job, "name"),
                          last ? text_of(last, "stage") : "(not begun)", text_of(last, "type"));
    }
    prg_json_each (pod, prg_json_get(state, "pods"))
        prg_strbuf_printf(out, "    pod     %s: %s%s\n", text_of(pod, "name"), text_of(pod, "phase"),
                          prg_json_get(pod, "deletionTimestamp") ? ", being deleted" : "");
}

static void print_step(const cJSON *step, struct prg_strbuf *out)
{
    const cJSON *entry, *result = prg_json_get(step, "result");
    prg_strbuf_printf(out, "%s  ", text_of(step, "at"));
    prg_json_print(out, prg_json_get(step, "step"), PRG_JSON_COMPACT);
    prg_strbuf_printf(out, " %s", text_of(step, "op"));
    if (prg_json_get(result, "pod"))
        prg_strbuf_printf(out, " %s", text_of(result, "pod"));
    if (prg_json_get(result, "error"))
        prg_strbuf_printf(out, ": %s", text_of(result, "error"));
    else if (result && strcmp(text_of(result, "outcome"), "ok") != 0)
        prg_strbuf_printf(out, ": %s", text_of(result, "outcome"));
    prg_strbuf_putc(out, '\n');
    prg_json_each (entry, prg_json_get(step, "api"))
        print_request(entry, out);
    prg_json_each (entry, prg_json_get(step, "syncs"))
        if (prg_json_get(entry, "error"))
            prg_strbuf_printf(out, "    error   %s: %s\n", text_of(entry, "key"), text_of(entry, "error"));
    prg_json_each (entry, prg_json_get(step, "downstream"))
        print_message(entry, out);
    if (!step->next)
        print_state(prg_json_get(step, "state"), out);
}

void prg_simulate_timeline(const cJSON *answer, struct prg_strbuf *out)
{
    const cJSON *step;
    prg_json_each (step, prg_json_get(answer, "steps"))
        print_step(step, out);
}
