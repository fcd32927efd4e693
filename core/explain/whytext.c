// SPDX-License-Identifier: Apache-2.0
// whytext.c: a decision record for people: the deciding line on top, then what led to it, in aligned rows.
#include <string.h>

#include "explain/doc.h"
#include "explain/why.h"
#include "learning/why.h"

#define LABEL_WIDTH 12 // of the words at the left
enum { VALUE_SHOWN = 100, FIELDS_SHOWN = 20 };

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = prg_json_get_text(object, key);
    return text ? text : "";
}

static void put_label(struct prg_strbuf *out, const char *label)
{
    prg_strbuf_puts(out, label);
    prg_strbuf_pad(out, ' ', strlen(label) < LABEL_WIDTH ? LABEL_WIDTH - strlen(label) : 1);
}

static void put_row(struct prg_strbuf *out, const char *label, const char *text)
{
    if (!*text)
        return;
    put_label(out, label);
    prg_doc_put_line(out, text);
    prg_strbuf_putc(out, '\n');
}

// ---- what was asked ----

static void put_request(struct prg_strbuf *out, const cJSON *document)
{
    const cJSON *request = prg_json_get(document, "request"), *mode = prg_json_get(document, "mode");
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (*text_of(request, "format"))
        prg_strbuf_printf(&text, "format %s", text_of(request, "format"));
    if (*text_of(request, "version"))
        prg_strbuf_printf(&text, ", version %s", text_of(request, "version"));
    if (*text_of(request, "protocol"))
        prg_strbuf_printf(&text, ", protocol %s%s", text_of(request, "protocol"),
                          prg_json_get_true(request, "protocolGiven") ? "" : " (assumed: the service names none)");
    if (*text_of(request, "runtime"))
        prg_strbuf_printf(&text, ", runtime %s", text_of(request, "runtime"));
    if (prg_json_get_true(request, "multiNode"))
        prg_strbuf_puts(&text, ", several nodes");
    put_row(out, "asked for", text.text);
    prg_strbuf_clear(&text);
    if (mode)
        prg_strbuf_printf(&text, "%s (%s)", text_of(mode, "name"), text_of(mode, "reason"));
    put_row(out, "mode", text.text);
}

static void put_hints(struct prg_strbuf *out, const cJSON *document)
{
    const cJSON *hint;
    prg_json_each (hint, prg_json_get(document, "hints")) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        prg_strbuf_puts(&text, text_of(hint, "text"));
        if (*text_of(hint, "checked"))
            prg_strbuf_printf(&text, " (tried: %s)", text_of(hint, "checked"));
        put_row(out, "hint", text.text);
    }
}

// ---- runtimes ----

static size_t longest(const cJSON *list, const char *key)
{
    size_t width = 0;
    const cJSON *item;
    prg_json_each (item, list) {
        size_t length = strlen(text_of(item, key));
        width = length > width ? length : width;
    }
    return width;
}

static void pad_to(struct prg_strbuf *out, const char *text, size_t width)
{
    size_t length = strlen(text);
    prg_doc_put_line(out, text);
    prg_strbuf_pad(out, ' ', (width > length ? width - length : 0) + 2);
}

static void put_facts(struct prg_strbuf *out, const cJSON *runtime)
{
    int64_t priority;
    prg_strbuf_puts(out, "priority ");
    if (prg_json_get_int64(runtime, "priority", &priority))
        prg_strbuf_printf(out, "%lld", (long long)priority);
    else
        prg_strbuf_puts(out, "none");
    if (*text_of(runtime, "protocol"))
        prg_strbuf_printf(out, ", lowest protocol %s", text_of(runtime, "protocol"));
}

static bool is_same_source(const cJSON *a, const cJSON *b)
{
    return a && b && prg_json_equal(a, b);
}

// One row a candidate; the policy's place stands where it changes.
static void put_runtimes(struct prg_strbuf *out, const cJSON *document)
{
    const cJSON *list = prg_json_get(document, "runtimes"), *runtime, *last = NULL;
    size_t names = longest(list, "name"), words = strlen("rejected");
    if (!prg_json_count(list))
        return;
    prg_strbuf_puts(out, "\nruntimes\n");
    prg_json_each (runtime, list) {
        const char *code = text_of(runtime, "code"), *outcome = text_of(runtime, "outcome");
        const cJSON *source = prg_json_get(runtime, "policy");
        const char *word = *code ? code : outcome;
        prg_strbuf_puts(out, "  ");
        pad_to(out, word, strlen("multi_model") > words ? strlen("multi_model") : words);
        pad_to(out, text_of(runtime, "name"), names);
        prg_strbuf_puts(out, strcmp(text_of(runtime, "kind"), "ServingRuntime") == 0 ? "namespace  " : "cluster    ");
        prg_doc_put_line(out, text_of(runtime, "reason"));
        if (!*text_of(runtime, "reason"))
            put_facts(out, runtime);
        if (strcmp(code, "unreadable") == 0 && *text_of(runtime, "place")) {
            prg_strbuf_puts(out, "  [");
            prg_doc_put_line(out, text_of(runtime, "place"));
            prg_strbuf_putc(out, ']');
        }
        if (!is_same_source(source, last))
            prg_doc_put_source(out, source);
        last = source;
        prg_strbuf_putc(out, '\n');
    }
}

// The manifests that led to it: of the subject, and of the runtime that it got or named.
static void put_places(struct prg_strbuf *out, const cJSON *document)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const cJSON *first = prg_json_item(prg_json_get(document, "runtimes"), 0);
    const char *of_subject = text_of(prg_json_get(document, "subject"), "place"), *of_runtime = text_of(first, "place");
    bool is_taken = strcmp(text_of(first, "outcome"), "chosen") == 0;
    prg_strbuf_puts(&text, of_subject);
    if (is_taken && *of_runtime)
        prg_strbuf_printf(&text, "%s%s %s at %s", text.length ? "; " : "", text_of(first, "kind"),
                          text_of(first, "name"), of_runtime);
    if (text.length)
        put_row(out, "manifest", text.text);
}

// ---- other decisions ----

static void put_decisions(struct prg_strbuf *out, const cJSON *document, const char *key, const char *title)
{
    const cJSON *list = prg_json_get(document, key), *entry;
    if (!prg_json_count(list))
        return;
    prg_strbuf_printf(out, "\n%s\n", title);
    prg_json_each (entry, list) {
        prg_strbuf_puts(out, "  ");
        if (strcmp(key, "steps") == 0 || strcmp(key, "merges") == 0)
            pad_to(out, text_of(entry, "decision"), LABEL_WIDTH);
        prg_doc_put_line(out, text_of(entry, "subject"));
        prg_strbuf_puts(out, ": ");
        prg_doc_put_line(out, text_of(entry, "outcome"));
        if (*text_of(entry, "reason")) {
            prg_strbuf_puts(out, ": ");
            prg_doc_put_line(out, text_of(entry, "reason"));
        }
        prg_doc_put_source(out, prg_json_get(entry, "policy"));
        prg_strbuf_putc(out, '\n');
    }
}

// ---- objects ----

static void put_field(struct prg_strbuf *out, const cJSON *field)
{
    prg_strbuf_puts(out, "      ");
    prg_doc_put_line(out, text_of(field, "path"));
    prg_strbuf_puts(out, ": ");
    prg_doc_value(out, prg_json_get(field, "from"), VALUE_SHOWN);
    prg_strbuf_puts(out, " -> ");
    prg_doc_value(out, prg_json_get(field, "to"), VALUE_SHOWN);
    if (*text_of(field, "layer"))
        prg_strbuf_printf(out, "  (%s)", text_of(field, "layer"));
    prg_strbuf_putc(out, '\n');
}

static void put_objects(struct prg_strbuf *out, const cJSON *document)
{
    const cJSON *list = prg_json_get(document, "objects"), *object, *field;
    size_t kinds = longest(list, "kind"), names = longest(list, "name");
    if (!prg_json_count(list))
        return;
    prg_strbuf_puts(out, "\nobjects\n");
    prg_json_each (object, list) {
        const cJSON *fields = prg_json_get(object, "fields");
        size_t shown = 0;
        prg_strbuf_puts(out, "  ");
        pad_to(out, text_of(object, "kind"), kinds);
        pad_to(out, text_of(object, "name"), names);
        prg_strbuf_printf(out, "%s\n", text_of(object, "state"));
        prg_json_each (field, fields)
            if (shown++ < FIELDS_SHOWN)
                put_field(out, field);
        if (shown > FIELDS_SHOWN)
            prg_strbuf_printf(out, "      … and %zu more\n", shown - FIELDS_SHOWN);
    }
}

// ---- the last change ----

static void put_last_change(struct prg_strbuf *out, const cJSON *document)
{
    const cJSON *last = prg_json_get(document, "lastChange"), *change = prg_json_get(last, "change");
    const cJSON *condition = prg_json_get(last, "condition"), *policies = prg_json_get(document, "policies");
    int64_t generation, observed;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (prg_json_get_int64(last, "generation", &generation))
        prg_strbuf_printf(&text, "generation %lld", (long long)generation);
    if (prg_json_get_int64(last, "generation", &generation) &&
        prg_json_get_int64(last, "observedGeneration", &observed))
        prg_strbuf_printf(&text, observed == generation ? ", seen by the controller" : ", the controller has seen %lld",
                          (long long)observed);
    if (change)
        prg_strbuf_printf(&text, "%s%s by %s%s%s", text.length ? "; " : "", text_of(change, "at"),
                          text_of(change, "by"), *text_of(change, "fields") ? ": " : "", text_of(change, "fields"));
    prg_strbuf_putc(out, '\n');
    put_row(out, "last change", text.text);
    prg_strbuf_clear(&text);
    if (condition)
        prg_strbuf_printf(&text, "%s %s since %s%s%s%s%s", text_of(condition, "type"), text_of(condition, "status"),
                          text_of(condition, "at"), *text_of(condition, "reason") ? ": " : "",
                          text_of(condition, "reason"), *text_of(condition, "message") ? ": " : "",
                          text_of(condition, "message"));
    put_row(out, "condition", text.text);
    prg_strbuf_clear(&text);
    prg_strbuf_printf(&text, "revision %s", text_of(policies, "revision"));
    if (*text_of(policies, "compat"))
        prg_strbuf_printf(&text, ", compat %s", text_of(policies, "compat"));
    if (*text_of(last, "revision") && strcmp(text_of(last, "revision"), text_of(policies, "revision")) != 0)
        prg_strbuf_printf(&text, "; the stored objects were written with revision %s", text_of(last, "revision"));
    put_row(out, "policies", text.text);
}

// Messages to edge nodes that are held back: a Local Controller would not survive them.
static void put_held(struct prg_strbuf *out, const cJSON *job)
{
    const cJSON *entry, *held = prg_json_get(job, "held");
    if (prg_json_count(held))
        prg_strbuf_puts(out, "held back\n");
    prg_json_each (entry, held) {
        prg_strbuf_printf(out, "  edge node %s is not told about %s %s: ", text_of(entry, "node"),
                          text_of(entry, "kind"), text_of(entry, "name"));
        prg_doc_put_line(out, text_of(entry, "why"));
        prg_strbuf_putc(out, '\n');
    }
}

void prg_why_text(const cJSON *document, struct prg_strbuf *out)
{
    const cJSON *subject = prg_json_get(document, "subject");
    prg_doc_put_line(out, text_of(subject, "namespace"));
    prg_strbuf_putc(out, '/');
    prg_doc_put_line(out, text_of(subject, "name"));
    prg_strbuf_puts(out, ": ");
    prg_doc_put_line(out, text_of(document, "verdict"));
    prg_strbuf_putc(out, '\n');
    if (prg_json_get(document, "job")) {
        prg_strbuf_putc(out, '\n');
        prg_learning_why_text(prg_json_get(document, "job"), out);
        put_held(out, prg_json_get(document, "job"));
    }
    put_hints(out, document);
    put_places(out, document);
    put_request(out, document);
    put_runtimes(out, document);
    put_decisions(out, document, "topology", "topology");
    put_decisions(out, document, "annotations", "annotations");
    put_decisions(out, document, "labels", "labels");
    put_decisions(out, document, "images", "image");
    put_decisions(out, document, "merges", "merge");
    put_decisions(out, document, "defaults", "defaults");
    put_decisions(out, document, "steps", "steps");
    put_objects(out, document);
    put_last_change(out, document);
}
