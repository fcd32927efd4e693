// SPDX-License-Identifier: Apache-2.0
// placeholders.c: placeholders in a container, filled from the metadata of the service (ReplacePlaceholders).
//
// The original writes the container as JSON, takes that text for an HTML template, and reads the result as JSON again.
// So a placeholder may begin in one field and end in another, a variable set in args is known in env, quotes inside a
// placeholder arrive as \" (and are errors), values are escaped for HTML, a backslash in a value is read as an escape
// of JSON afterwards and a line break makes the result unreadable. html keeps all that. Without html the text is built
// the same way, but placeholders stand in it as their author wrote them and values are put in as JSON text, so that
// they arrive as they are.
#include <string.h>

#include "serving/podspec.h"
#include "serving/template.h"
#include "json/pointer.h"

// The order in which Go writes the fields of a type: it decides what comes before what in the template.
static const struct {
    const char *type, *fields;
} go_order[] = {
    {"Container",
     "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy "
     "restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle "
     "terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"},
    {"ContainerPort", "name hostPort containerPort protocol hostIP"},
    {"EnvFromSource", "prefix configMapRef secretRef"},
    {"EnvVar", "name value valueFrom"},
    {"EnvVarSource", "fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef"},
    {"ObjectFieldSelector", "apiVersion fieldPath"},
    {"ResourceFieldSelector", "containerName resource divisor"},
    {"ConfigMapKeySelector", "name key optional"},
    {"SecretKeySelector", "name key optional"},
    {"FileKeySelector", "volumeName path key optional"},
    {"ResourceRequirements", "limits requests claims"},
    {"ContainerResizePolicy", "resourceName restartPolicy"},
    {"ContainerRestartRule", "action exitCodes"},
    {"VolumeMount", "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr"},
    {"VolumeDevice", "name devicePath"},
    {"Probe", "exec httpGet tcpSocket grpc initialDelaySeconds timeoutSeconds periodSeconds successThreshold "
              "failureThreshold terminationGracePeriodSeconds"},
    {"HTTPGetAction", "path port host scheme httpHeaders"},
    {"TCPSocketAction", "port host"},
    {"GRPCAction", "port service"},
    {"HTTPHeader", "name value"},
    {"Lifecycle", "postStart preStop stopSignal"},
    {"LifecycleHandler", "exec httpGet tcpSocket sleep"},
    {"SecurityContext", "capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot "
                        "readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile appArmorProfile"},
    {"SELinuxOptions", "user role type level"},
    {"WindowsSecurityContextOptions", "gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess"},
    {"SeccompProfile", "type localhostProfile"},
    {"AppArmorProfile", "type localhostProfile"},
};

// ---- the container as the text of a template ----

struct text_span { // a text of the container in the template's source
    size_t from;
    const char *pointer;
};
struct writer {
    struct prg_arena *arena;
    bool is_html;
    struct prg_strbuf out, pointer;
    struct text_span *spans;
    size_t span_count, span_cap;
};

static void add_span(struct writer *w)
{
    if (w->span_count == w->span_cap) {
        size_t cap = w->span_cap ? w->span_cap * 2 : 32;
        struct text_span *spans = prg_arena_array(w->arena, struct text_span, cap);
        if (w->span_count)
            memcpy(spans, w->spans, w->span_count * sizeof(*spans));
        w->spans = spans;
        w->span_cap = cap;
    }
    w->spans[w->span_count++] = (struct text_span){w->out.length, prg_arena_strdup(w->arena, w->pointer.text)};
}

static void put_json_escaped(struct prg_strbuf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            prg_strbuf_printf(out, "\\%c", c);
        else if (c < ' ')
            prg_strbuf_printf(out, "\\u%04x", c);
        else
            prg_strbuf_putc(out, (char)c);
    }
}

// Escapes what stands between placeholders and leaves those as they are. What the lexer does not understand stays as
// it is from its braces on: parsing the whole then says what is wrong.
static void put_template_text(struct writer *w, const char *text, size_t length)
{
    struct tokens tokens;
    size_t at = 0, next = 0;
    template_lex(w->arena, text, length, &tokens);
    while (at < length) {
        const char *left = memmem(text + at, length - at, "{{", 2);
        size_t from = left ? (size_t)(left - text) : length, to = length;
        put_json_escaped(&w->out, text + at, from - at);
        for (; next < tokens.count && to == length; next++) {
            const struct token *token = &tokens.items[next];
            if (token->type == TOKEN_RIGHT || token->type == TOKEN_COMMENT)
                to = token->offset + token->length;
        }
        prg_strbuf_add(&w->out, text + from, to - from);
        at = to;
    }
}

static void put_text(struct writer *w, const char *text, size_t length)
{
    add_span(w);
    if (!w->is_html && memmem(text, length, "{{", 2)) {
        prg_strbuf_putc(&w->out, '"');
        put_template_text(w, text, length);
        prg_strbuf_putc(&w->out, '"');
        return;
    }
    const cJSON *node = prg_json_stringn(w->arena, text, length);
    prg_json_print(&w->out, node, PRG_JSON_COMPACT | (w->is_html ? PRG_JSON_ESCAPE_HTML : 0));
}

static void put_value(struct writer *w, const struct prg_schema *type, const cJSON *node);

static void put_member(struct writer *w, const struct prg_schema *type, const cJSON *member, bool *is_first)
{
    const struct prg_schema_field *field = type ? prg_schema_find(type, member->string) : NULL;
    size_t length = w->pointer.length;
    if (!*is_first)
        prg_strbuf_putc(&w->out, ',');
    *is_first = false;
    prg_pointer_push(&w->pointer, member->string);
    put_text(w, member->string, strlen(member->string));
    prg_strbuf_putc(&w->out, ':');
    put_value(w, field ? field->type : NULL, member);
    prg_strbuf_truncate(&w->pointer, length);
}

static const char *order_of(const struct prg_schema *type)
{
    for (size_t i = 0; type && i < PRG_COUNT(go_order); i++)
        if (strcmp(go_order[i].type, type->name) == 0)
            return go_order[i].fields;
    return "";
}

static bool is_listed(const char *order, const char *key)
{
    size_t length = strlen(key);
    if (length == 0) // found everywhere, and listed nowhere
        return false;
    for (const char *p = order; (p = strstr(p, key)); p += length)
        if ((p == order || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
            return true;
    return false;
}

// Listed fields in their order, then the others: members of maps are sorted, as Go writes them.
static void put_object(struct writer *w, const struct prg_schema *type, const cJSON *node)
{
    const char *order = order_of(type);
    bool is_first = true;
    char name[64];
    size_t count;
    prg_strbuf_putc(&w->out, '{');
    for (const char *p = order; *p;) {
        size_t length = strcspn(p, " ");
        prg_require(length < sizeof(name));
        memcpy(name, p, length);
        name[length] = '\0';
        p += length + (p[length] == ' ');
        const cJSON *member = prg_json_get(node, name);
        if (member)
            put_member(w, type, member, &is_first);
    }
    const cJSON **members = template_sorted_members(w->arena, node, &count);
    for (size_t i = 0; i < count; i++)
        if (!is_listed(order, members[i]->string))
            put_member(w, type, members[i], &is_first);
    prg_strbuf_putc(&w->out, '}');
}

static void put_value(struct writer *w, const struct prg_schema *type, const cJSON *node)
{
    const cJSON *item;
    size_t index = 0, length = w->pointer.length;
    if (prg_json_is_object(node)) {
        put_object(w, type, node);
    } else if (prg_json_is_array(node)) {
        prg_strbuf_putc(&w->out, '[');
        prg_json_each (item, node) {
            if (index)
                prg_strbuf_putc(&w->out, ',');
            prg_pointer_push_index(&w->pointer, index++);
            put_value(w, type, item);
            prg_strbuf_truncate(&w->pointer, length);
        }
        prg_strbuf_putc(&w->out, ']');
    } else if (prg_json_is_string(node)) {
        put_text(w, prg_json_text(node), prg_json_text_length(node));
    } else {
        prg_json_print(&w->out, node, PRG_JSON_COMPACT);
    }
}

// ---- values into the text ----

// As html/template escapes a value in plain text (its htmlReplacementTable).
static void emit_html(struct prg_strbuf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        switch (text[i]) {
        case '\0':
            prg_strbuf_puts(out, "\xef\xbf\xbd");
            break;
        case '"':
            prg_strbuf_puts(out, "&#34;");
            break;
        case '&':
            prg_strbuf_puts(out, "&amp;");
            break;
        case '\'':
            prg_strbuf_puts(out, "&#39;");
            break;
        case '+':
            prg_strbuf_puts(out, "&#43;");
            break;
        case '<':
            prg_strbuf_puts(out, "&lt;");
            break;
        case '>':
            prg_strbuf_puts(out, "&gt;");
            break;
        default:
            prg_strbuf_putc(out, text[i]);
        }
    }
}

// ---- the result ----

// Nodes of the result that are as before keep position and origin; the others are marked. Both trees were made here.
static void carry_origins(const cJSON *before, cJSON *after)
{
    cJSON *child;
    bool is_same = before && (before->type & 0xff) == (after->type & 0xff);
    if (is_same && (prg_json_is_object(after) || prg_json_is_array(after))) {
        const cJSON *item = before->child;
        prg_json_each (child, after) {
            carry_origins(prg_json_is_object(after) ? prg_json_get(before, child->string) : item, child);
            item = item ? item->next : NULL;
        }
    } else if (!is_same || !prg_json_equal(before, after)) {
        prg_json_tag(after, PRG_ORIGIN_PLACEHOLDER);
        return;
    }
    struct prg_json_position position = prg_json_position(before);
    prg_json_set_position(after, position.line, position.column);
    prg_json_tag_one(after, prg_json_origin(before));
}

// The original reads the result into the container that it wrote, and reading JSON into a value leaves alone what the
// JSON does not name: a limit whose name holds a placeholder is there under both names, and what a placeholder cuts out
// of the text stays.
static void keep_unnamed(struct prg_arena *arena, const cJSON *before, cJSON *after)
{
    const cJSON *old;
    cJSON *item;
    if (prg_json_is_object(before) && prg_json_is_object(after)) {
        prg_json_each (old, before) {
            item = prg_json_get(after, old->string);
            if (item)
                keep_unnamed(arena, old, item);
            else
                prg_json_add(arena, after, old->string, prg_json_copy(arena, old));
        }
    } else if (prg_json_is_array(before) && prg_json_is_array(after)) {
        old = before->child;
        prg_json_each (item, after) {
            keep_unnamed(arena, old, item);
            old = old ? old->next : NULL;
        }
    }
}

// Says in which text of the container, and in which placeholder, the error lies.
static int explain(const struct writer *w, const struct template_run *run)
{
    const char *pointer = "";
    size_t from = run->bad_offset < run->length ? run->bad_offset : run->length, to;
    for (size_t i = 0; i < w->span_count && w->spans[i].from <= run->bad_offset; i++)
        pointer = w->spans[i].pointer;
    while (from > 0 && strncmp(run->source + from, "{{", 2) != 0)
        from--;
    const char *end = memmem(run->source + from, run->length - from, "}}", 2);
    to = end ? (size_t)(end - run->source) + 2 : run->length;
    return prg_wrap(run->err, "%s: %.*s", pointer, (int)(to - from > 80 ? 80 : to - from), run->source + from);
}

static int run_template(struct writer *w, const cJSON *metadata, struct prg_strbuf *out, struct prg_error *err)
{
    struct template_run run = {.arena = w->arena, .source = w->out.text, .length = w->out.length, .err = err};
    struct node *nodes;
    int rc = template_parse(&run, &nodes);
    if (rc == PRG_OK)
        rc = template_execute(&run, nodes, metadata, w->is_html ? emit_html : put_json_escaped, out);
    return rc == PRG_OK ? rc : explain(w, &run);
}

static int read_result(struct prg_arena *arena, const struct prg_strbuf *text, const cJSON *before, bool html,
                       cJSON **ret, struct prg_error *err)
{
    cJSON *parsed, *after;
    int rc = prg_json_parse(arena, text->text, text->length, NULL, &parsed, err);
    if (rc != PRG_OK)
        return prg_wrap(err, "the container is no readable JSON once its placeholders are filled; a value with a line "
                             "break, a tab or a backslash does that");
    if (html)
        keep_unnamed(arena, before, parsed);
    rc = prg_typed_normal(arena, &prg_schema_container, parsed, &after, err);
    if (rc != PRG_OK)
        return prg_wrap(err, "once its placeholders are filled");
    carry_origins(before, after);
    *ret = after;
    return PRG_OK;
}

// ---- the short way ----
//
// Nearly all placeholders are {{.Name}} or {{.Namespace}}, whole within one text, and names need no escapes: then texts
// can be filled where they stand, with the same result. Anything else goes the long way.

enum extent { EXTENT_NONE, EXTENT_SIMPLE, EXTENT_OTHER };
enum { SHORT_WAY = 64 * 1024 }; // bytes of all texts; templates have limits that only the long way knows

static bool is_name(const char *text)
{
    return text && *text &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == strlen(text);
}

// Length of the simple placeholder at `at`, 0 when it is none. *ret_key: the field of the metadata.
static size_t simple_length(const char *at, const char **ret_key)
{
    const char *p = at + 2;
    p += strspn(p, " ");
    *ret_key = strncmp(p, ".Namespace", 10) == 0 ? "namespace" : strncmp(p, ".Name", 5) == 0 ? "name" : NULL;
    if (!*ret_key)
        return 0;
    p += 1 + strlen(*ret_key);
    p += strspn(p, " ");
    return strncmp(p, "}}", 2) == 0 ? (size_t)(p + 2 - at) : 0;
}

static enum extent text_extent(const char *text, size_t length)
{
    enum extent extent = EXTENT_NONE;
    const char *key;
    if (!memchr(text, '{', length)) // nearly all
        return EXTENT_NONE;
    if (strlen(text) != length)
        return memmem(text, length, "{{", 2) ? EXTENT_OTHER : EXTENT_NONE;
    while ((text = strstr(text, "{{"))) {
        size_t simple = simple_length(text, &key);
        if (!simple)
            return EXTENT_OTHER;
        text += simple;
        extent = EXTENT_SIMPLE;
    }
    return extent;
}

// *bytes: of the texts so far.
static enum extent extent_of(const cJSON *node, size_t *bytes)
{
    enum extent extent = EXTENT_NONE;
    const cJSON *item;
    if (prg_json_is_string(node)) {
        *bytes += prg_json_text_length(node);
        return *bytes > SHORT_WAY ? EXTENT_OTHER : text_extent(prg_json_text(node), prg_json_text_length(node));
    }
    prg_json_each (item, node) {
        enum extent inner = extent_of(item, bytes);
        if (inner > extent)
            extent = inner;
        if (extent == EXTENT_OTHER || (item->string && strchr(item->string, '{') && strstr(item->string, "{{")))
            return EXTENT_OTHER;
    }
    return extent;
}

static const char *filled(struct prg_arena *arena, const char *text, const cJSON *metadata)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    const char *next, *key;
    for (; (next = strstr(text, "{{")); text = next + simple_length(next, &key)) {
        (void)simple_length(next, &key);
        prg_strbuf_add(&out, text, (size_t)(next - text));
        prg_strbuf_puts(&out, prg_json_get_text(metadata, key));
    }
    prg_strbuf_puts(&out, text);
    return prg_arena_strdup(arena, out.text);
}

static bool holds_simple(const cJSON *node)
{
    const cJSON *item;
    if (prg_json_is_string(node))
        return strstr(prg_json_text(node), "{{") != NULL;
    prg_json_each (item, node)
        if (holds_simple(item))
            return true;
    return false;
}

// node with its texts filled; what holds no placeholder is shared.
static cJSON *fill(struct prg_arena *arena, const cJSON *node, const cJSON *metadata)
{
    if (!holds_simple(node))
        return prg_json_reference(arena, node);
    if (prg_json_is_string(node)) {
        cJSON *value = prg_json_string(arena, filled(arena, prg_json_text(node), metadata));
        prg_json_tag_one(value, PRG_ORIGIN_PLACEHOLDER);
        return value;
    }
    cJSON *copy = prg_json_clone_empty(arena, node);
    const cJSON *item;
    prg_json_each (item, node) {
        cJSON *value = fill(arena, item, metadata);
        if (prg_json_is_object(node))
            prg_json_add_shared(copy, item->string, value);
        else
            prg_json_append(copy, value);
    }
    return copy;
}

int prg_placeholders_replace(struct prg_arena *arena, const cJSON *container, const cJSON *metadata, bool html,
                             cJSON **ret, struct prg_error *err)
{
    cJSON *normal;
    int rc = prg_typed_normal(arena, &prg_schema_container, container, &normal, err);
    return rc == PRG_OK ? prg_placeholders_fill(arena, normal, metadata, html, ret, err) : rc;
}

int prg_placeholders_fill(struct prg_arena *arena, cJSON *before, const cJSON *metadata, bool html, cJSON **ret,
                          struct prg_error *err)
{
    struct writer w = {.arena = arena, .is_html = html, .out = PRG_STRBUF_INIT, .pointer = PRG_STRBUF_INIT};
    prg_auto_strbuf result = PRG_STRBUF_INIT;
    size_t bytes = 0;
    int rc = PRG_OK;
    enum extent extent = extent_of(before, &bytes);
    if (extent == EXTENT_NONE || (extent == EXTENT_SIMPLE && is_name(prg_json_get_text(metadata, "name")) &&
                                  is_name(prg_json_get_text(metadata, "namespace")))) {
        *ret = extent == EXTENT_NONE ? before : fill(arena, before, metadata);
        return PRG_OK;
    }
    put_value(&w, &prg_schema_container, before);
    if (!memmem(w.out.text, w.out.length, "{{", 2)) {
        *ret = before;
    } else {
        rc = run_template(&w, metadata, &result, err);
        if (rc == PRG_OK)
            rc = read_result(arena, &result, before, html, ret, err);
    }
    prg_strbuf_release(&w.out);
    prg_strbuf_release(&w.pointer);
    return rc;
}
