// SPDX-License-Identifier: Apache-2.0
// url.c: the predictor's URL in Standard mode: the domain template of the configuration, filled in and checked as a
// host name. Rules: NewIngressConfig, GenerateDomainName and createRawURL of KServe;
// validation.IsFullyQualifiedDomainName.
#include <string.h>

#include "object/scalar.h"
#include "serving/render.h"
#include "serving/template.h"

#define DEFAULT_TEMPLATE "{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}"
#define DEFAULT_DOMAIN "example.com"

// ---- configuration ----

// Every known field must have its type, whether it is used here or not.
static int check_types(const cJSON *section, struct prg_error *err)
{
    static const char *const texts[] = {
        "kserveIngressGateway",
        "ingressGateway",
        "knativeLocalGatewayService",
        "localGateway",
        "localGatewayService",
        "ingressDomain",
        "ingressClassName",
        "domainTemplate",
        "urlScheme",
        "pathTemplate",
        "modelBasedRoutingHeaderName",
        "modelBasedRoutingMode",
    };
    static const char *const switches[] = {"enableGatewayApi", "enableLLMInferenceServiceTLS",
                                           "disableIstioVirtualHost", "disableIngressCreation",
                                           "disableHTTPRouteTimeout"};
    const char *ignored;
    for (size_t i = 0; i < PRG_COUNT(texts); i++)
        if (prg_render_config_text(section, "ingress", texts[i], &ignored, err) != PRG_OK)
            return (int)err->code;
    for (size_t i = 0; i < PRG_COUNT(switches); i++) {
        const cJSON *member = prg_render_config_member(section, switches[i]);
        if (member && !prg_json_is_bool(member)) {
            prg_fail(err, PRG_INVALID, "ConfigMap inferenceservice-config: %s must be true or false, not %s",
                     switches[i], prg_json_type_name(member));
            return prg_wrap(err, "unable to parse ingress config json");
        }
    }
    return PRG_OK;
}

static const char *text_of(const cJSON *section, const char *name)
{
    const char *text = prg_json_text(prg_render_config_member(section, name));
    return text ? text : "";
}

// "NAMESPACE/NAME" of DNS labels.
static bool is_gateway_name(struct prg_serving *s, const char *text)
{
    const char *slash = strchr(text, '/');
    return slash && !strchr(slash + 1, '/') && prg_name_is_dns1123_label(slash + 1) &&
           prg_name_is_dns1123_label(prg_arena_strndup(s->arena, text, (size_t)(slash - text)));
}

static int check_ingress(struct prg_serving *s, const cJSON *section, struct prg_error *err)
{
    if (!section)
        return PRG_OK;
    if (check_types(section, err) != PRG_OK)
        return (int)err->code;
    if (prg_json_is_true(prg_render_config_member(section, "enableGatewayApi"))) {
        const char *gateway = text_of(section, "kserveIngressGateway");
        if (!*gateway)
            return prg_fail(err, PRG_INVALID, "invalid ingress config - kserveIngressGateway is required");
        if (!is_gateway_name(s, gateway))
            return prg_fail(err, PRG_INVALID,
                            "invalid ingress config - kserveIngressGateway '%s' should be NAMESPACE/NAME", gateway);
    }
    if (!*text_of(section, "ingressGateway"))
        return prg_fail(err, PRG_INVALID, "invalid ingress config - ingressGateway is required");
    const char *path = text_of(section, "pathTemplate");
    struct template_run run = {.arena = s->arena, .source = path, .length = strlen(path), .err = err};
    struct node *nodes = NULL;
    if (*path && template_parse(&run, &nodes) != PRG_OK)
        return prg_wrap(err, "invalid ingress config, unable to parse pathTemplate");
    if (*path && !*text_of(section, "ingressDomain"))
        return prg_fail(err, PRG_INVALID,
                        "invalid ingress config - ingressDomain is required if pathTemplate is given");
    return PRG_OK;
}

// ---- template ----

// The template engine runs over an ObjectMeta and prints nothing for an absent key. Of the fields of ObjectMeta the
// domain template has four; IngressDomain, which it has besides, travels in generateName; and an absent label or
// annotation prints as in text/template, which makes the host name invalid.
static const char *const allowed_fields[] = {"Name", "Namespace", "Annotations", "Labels"};
#define DOMAIN_FIELD "IngressDomain"
#define DOMAIN_CARRIER "GenerateName"
#define DOMAIN_MEMBER "generateName"
#define NO_VALUE "<no value>"

static int adapt_name(struct template_run *run, const struct operand *operand)
{
    const char **name = operand->names;
    if (!name || !*name)
        return PRG_OK;
    if (prg_text_equal(*name, DOMAIN_FIELD)) {
        *name = DOMAIN_CARRIER;
        return PRG_OK;
    }
    for (size_t i = 0; i < PRG_COUNT(allowed_fields); i++)
        if (prg_text_equal(*name, allowed_fields[i]))
            return PRG_OK;
    return template_fail(run, operand->offset,
                         "can't evaluate field %s; there are Name, Namespace, IngressDomain, Annotations and Labels",
                         *name);
}

static int adapt_pipe(struct template_run *run, struct pipe *pipe)
{
    for (struct command *command = pipe ? pipe->commands : NULL; command; command = command->next) {
        for (struct operand *operand = command->operands; operand; operand = operand->next) {
            bool is_root = operand->type == OPERAND_FIELD ||
                           (operand->type == OPERAND_VARIABLE && operand->length == 1); // "$" itself
            if (is_root && adapt_name(run, operand) != PRG_OK)
                return (int)run->err->code;
            if (adapt_pipe(run, operand->pipe) != PRG_OK)
                return (int)run->err->code;
        }
    }
    return PRG_OK;
}

// {{ .Labels.KEY }} and {{ .Annotations.KEY }} alone.
static void adapt_print(struct node *node, const cJSON *metadata)
{
    const struct command *command = node->type == NODE_ACTION ? node->pipe->commands : NULL;
    if (!command || command->next || node->pipe->variable_count > 0)
        return;
    const struct operand *operand = command->operands;
    bool is_root = operand->type == OPERAND_FIELD || (operand->type == OPERAND_VARIABLE && operand->length == 1);
    if (operand->next || !is_root || !operand->names || !operand->names[0] || !operand->names[1])
        return;
    bool is_label = prg_text_equal(operand->names[0], "Labels");
    if (prg_json_at(metadata, is_label ? "labels" : "annotations", operand->names[1]))
        return;
    node->type = NODE_TEXT;
    node->text = NO_VALUE;
    node->length = strlen(NO_VALUE);
}

static int adapt_nodes(struct template_run *run, struct node *nodes, const cJSON *metadata)
{
    for (struct node *node = nodes; node; node = node->next) {
        if (adapt_pipe(run, node->pipe) != PRG_OK || adapt_nodes(run, node->body, metadata) != PRG_OK ||
            adapt_nodes(run, node->otherwise, metadata) != PRG_OK)
            return (int)run->err->code;
        adapt_print(node, metadata);
    }
    return PRG_OK;
}

static void emit(struct prg_strbuf *out, const char *text, size_t length)
{
    prg_strbuf_add(out, text, length);
}

static int fill_in(struct prg_serving *s, const char *source, const cJSON *metadata, struct prg_strbuf *out,
                   struct prg_error *err)
{
    if (strcmp(source, DEFAULT_TEMPLATE) == 0) { // what nearly all have, without the engine
        prg_strbuf_puts(out, prg_json_get_text(metadata, "name"));
        prg_strbuf_putc(out, '-');
        prg_strbuf_puts(out, prg_json_get_text(metadata, "namespace"));
        prg_strbuf_putc(out, '.');
        prg_strbuf_puts(out, prg_json_get_text(metadata, DOMAIN_MEMBER));
        return PRG_OK;
    }
    struct template_run run = {.arena = s->arena, .source = source, .length = strlen(source), .err = err};
    struct node *nodes = NULL;
    if (template_parse(&run, &nodes) != PRG_OK)
        return prg_wrap(err, "template: domain-template");
    if (adapt_nodes(&run, nodes, metadata) != PRG_OK || template_execute(&run, nodes, metadata, emit, out) != PRG_OK)
        return prg_wrap(err, "error rendering the domain template");
    return PRG_OK;
}

static cJSON *template_metadata(struct prg_serving *s, const cJSON *labels, const cJSON *annotations,
                                const char *domain)
{
    cJSON *metadata = prg_json_object(s->arena);
    prg_json_set_string(s->arena, metadata, "name", s->predictor_name);
    prg_json_set_string(s->arena, metadata, "namespace", s->ns);
    prg_json_set_string(s->arena, metadata, DOMAIN_MEMBER, domain);
    if (labels)
        prg_json_set(s->arena, metadata, "labels", prg_json_clone(s->arena, labels));
    if (annotations)
        prg_json_set(s->arena, metadata, "annotations", prg_json_clone(s->arena, annotations));
    return metadata;
}

// ---- host name ----

// As Go quotes a text in an error.
static const char *quoted(struct prg_serving *s, const char *text)
{
    prg_auto_strbuf buf = PRG_STRBUF_INIT;
    prg_strbuf_putc(&buf, '"');
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            prg_strbuf_printf(&buf, "\\%c", c);
        else if (c == '\n')
            prg_strbuf_puts(&buf, "\\n");
        else if (c == '\t')
            prg_strbuf_puts(&buf, "\\t");
        else if (c < 0x20 || c == 0x7f)
            prg_strbuf_printf(&buf, "\\x%02x", c);
        else
            prg_strbuf_putc(&buf, *p);
    }
    prg_strbuf_putc(&buf, '"');
    return prg_arena_strdup(s->arena, buf.text);
}

static int refuse(struct prg_serving *s, const char *value, const char *reason, struct prg_error *err)
{
    prg_fail(err, PRG_INVALID, "%s", reason);
    prg_wrap(err, "Invalid value: %s", quoted(s, value));
    return prg_wrap(err, "url");
}

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

// Labels of lower case letters, digits and inner hyphens between single dots; their length is looked at later.
static bool is_subdomain_shape(const char *text)
{
    char before = '.';
    for (const char *p = text; *p; before = *p++) {
        if (*p != '.' && !is_label_char(*p))
            return false;
        if ((*p == '.' && (before == '.' || before == '-')) || (*p == '-' && before == '.'))
            return false;
    }
    return before != '.' && before != '-';
}

#define SHAPE_RULE                                                                                                     \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "   \
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "                        \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LENGTH_RULE "must be no more than 253 characters"

static int check_host(struct prg_serving *s, const char *host, struct prg_error *err)
{
    size_t length = strlen(host);
    if (length == 0) {
        prg_fail(err, PRG_INVALID, "Required value");
        return prg_wrap(err, "url");
    }
    if (host[length - 1] == '.')
        host = prg_arena_strndup(s->arena, host, --length);
    bool is_long = length > 253, is_shaped = length > 0 && is_subdomain_shape(host);
    if (is_long || !is_shaped)
        return refuse(s, host, is_shaped ? LENGTH_RULE : is_long ? LENGTH_RULE "," SHAPE_RULE : SHAPE_RULE, err);
    if (!strchr(host, '.'))
        return refuse(s, host, "should be a domain with at least two segments separated by dots", err);
    for (const char *label = host; label; label = strchr(label, '.') ? strchr(label, '.') + 1 : NULL) {
        size_t size = strcspn(label, ".");
        if (size > 63)
            return refuse(s, prg_arena_strndup(s->arena, label, size), "must be no more than 63 characters", err);
    }
    return PRG_OK;
}

int prg_render_url(struct prg_serving *s, const cJSON *labels, const cJSON *annotations, const char **ret,
                   struct prg_error *err)
{
    const cJSON *section = NULL;
    prg_auto_strbuf host = PRG_STRBUF_INIT;
    if (prg_render_section(s, "ingress", "ingress", &section, err) != PRG_OK ||
        check_ingress(s, section, err) != PRG_OK)
        return (int)err->code;
    const char *template = text_of(section, "domainTemplate"), *domain = text_of(section, "ingressDomain");
    cJSON *metadata = template_metadata(s, labels, annotations, *domain ? domain : DEFAULT_DOMAIN);
    if (fill_in(s, *template ? template : DEFAULT_TEMPLATE, metadata, &host, err) != PRG_OK)
        return prg_wrap(err, "failed creating host name");
    const char *name = prg_arena_strndup(s->arena, host.text, host.length);
    if (check_host(s, name, err) != PRG_OK) {
        prg_wrap(err, "invalid domain name %s", quoted(s, name));
        return prg_wrap(err, "failed creating host name");
    }
    *ret = prg_arena_printf(s->arena, "http://%s", name); // urlScheme of the configuration is for the ingress only
    prg_plan_trace(s->plan, "url", NULL, s->predictor_name, *ret,
                   *template ? "domainTemplate of the configuration" : "the default domain template");
    return PRG_OK;
}
