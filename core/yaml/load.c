// SPDX-License-Identifier: Apache-2.0
// load.c: texts and files to documents: JSON where the text is JSON, else YAML, and what is wrong when it is neither.
#include "yaml/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yaml/build.h"

#define MAX_BYTES ((size_t)16 * 1024 * 1024)
#define MAX_EXPANSION ((size_t)100000)

static struct prg_yaml_limits effective(const struct prg_yaml_limits *limits)
{
    struct prg_yaml_limits ret = limits ? *limits : (struct prg_yaml_limits){0};
    if (!ret.max_bytes)
        ret.max_bytes = MAX_BYTES;
    if (!ret.max_depth || ret.max_depth > PRG_JSON_DEPTH)
        ret.max_depth = PRG_JSON_DEPTH;
    if (!ret.max_expansion)
        ret.max_expansion = MAX_EXPANSION;
    return ret;
}

// ---- what libyaml found wrong ----

struct place {
    size_t line, column;
};

// Of the byte at offset.
static struct place place_of_offset(const char *text, size_t length, size_t offset)
{
    struct place place = {1, 1};
    for (size_t i = 0; i < offset && i < length; i++) {
        if (text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static bool is_before(const struct place *a, const struct place *b)
{
    return a->line < b->line || (a->line == b->line && a->column < b->column);
}

// The byte at a mark, whose index counts characters; 0 at the end.
static char byte_at_mark(const char *text, size_t length, const yaml_mark_t *mark)
{
    size_t characters = 0;
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80)
            continue;
        if (characters++ == mark->index)
            return text[i];
    }
    return '\0';
}

static int reader_error(const yaml_parser_t *parser, const char *name, const char *text, size_t length,
                        struct prg_error *err)
{
    struct place place = place_of_offset(text, length, parser->problem_offset);
    if (!strstr(parser->problem, "control"))
        return prg_yaml_fail(err, PRG_INVALID, name, place.line, place.column, "the text is not valid UTF-8");
    if (parser->problem_value == 0)
        return prg_yaml_fail(err, PRG_INVALID, name, place.line, place.column, "the text holds a NUL byte");
    return prg_yaml_fail(err, PRG_INVALID, name, place.line, place.column,
                         "control character 0x%02x; write it as an escape in a double-quoted text",
                         (unsigned)parser->problem_value);
}

// libyaml's usual complaints in terms of what to do; NULL when its own words serve.
static const char *advice(const yaml_parser_t *parser, const char *text, size_t length)
{
    const char *problem = parser->problem;
    if (strstr(problem, "cannot start any token")) {
        char c = byte_at_mark(text, length, &parser->problem_mark);
        return c == '\t' ? "a tab stands where only spaces may; indent with spaces"
                         : "no text can begin with this character; quote it";
    }
    if (strstr(problem, "mapping values are not allowed"))
        return "no key may stand here; check the indentation, or quote the text that holds ': '";
    if (strstr(problem, "did not find expected key"))
        return "this line does not fit into the mapping around it; check the indentation";
    if (strstr(problem, "did not find expected '-' indicator"))
        return "this line does not fit into the list around it; check the indentation and the '-'";
    if (strstr(problem, "could not find expected ':'"))
        return "a key without ':'";
    if (strstr(problem, "unexpected end of stream"))
        return "the text ends inside quotes";
    if (strstr(problem, "did not find expected <document start>"))
        return "the document has ended, but more text follows; begin another with a line '---'";
    if (strstr(problem, "invalid Unicode character escape"))
        return "an escape that stands for no character; write characters beyond \\uFFFF as \\U and eight digits";
    return NULL;
}

static int parser_error(const yaml_parser_t *parser, const char *name, const char *text, size_t length,
                        struct prg_error *err)
{
    prg_require(parser->error != YAML_MEMORY_ERROR && parser->problem);
    if (parser->error == YAML_READER_ERROR)
        return reader_error(parser, name, text, length, err);

    const char *hint = advice(parser, text, length);
    prg_auto_strbuf since = PRG_STRBUF_INIT;
    if (parser->context && parser->context_mark.line != parser->problem_mark.line)
        prg_strbuf_printf(&since, " (%s that begins at line %zu)",
                          strncmp(parser->context, "while ", 6) == 0 ? parser->context : "in a part",
                          parser->context_mark.line + 1);
    return prg_yaml_fail(err, PRG_INVALID, name, parser->problem_mark.line + 1, parser->problem_mark.column + 1, "%s%s",
                         hint ? hint : parser->problem, since.text);
}

// ---- YAML ----

static int run_parser(yaml_parser_t *parser, struct prg_yaml_builder *b, const char *text, size_t length)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return parser_error(parser, b->name, text, length, b->err);
        bool is_last = event.type == YAML_STREAM_END_EVENT;
        int rc = prg_yaml_builder_event(b, &event);
        yaml_event_delete(&event);
        if (rc != PRG_OK || is_last)
            return rc;
    }
}

static int load_yaml(struct prg_arena *arena, const char *name, const char *text, size_t length,
                     const struct prg_yaml_limits *limits, struct prg_yaml_docs *ret, struct prg_error *err)
{
    struct prg_yaml_builder builder;
    yaml_parser_t parser;
    prg_require(yaml_parser_initialize(&parser)); // fails for want of memory only
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    prg_yaml_builder_init(&builder, arena, name, limits, err);
    int rc = run_parser(&parser, &builder, text, length);
    if (rc == PRG_OK) {
        ret->count = builder.docs.count;
        ret->items = prg_arena_array(arena, cJSON *, builder.docs.count + 1);
        for (size_t i = 0; i < builder.docs.count; i++)
            ret->items[i] = builder.docs.items[i];
    }
    prg_yaml_builder_release(&builder);
    yaml_parser_delete(&parser);
    return rc;
}

// ---- JSON or YAML ----

// Reads prefix and a number; returns what follows, or NULL.
static const char *read_number(const char *p, const char *prefix, size_t *ret)
{
    size_t length = strlen(prefix);
    if (!p || strncmp(p, prefix, length) != 0)
        return NULL;
    char *end;
    *ret = strtoul(p + length, &end, 10);
    return end > p + length ? end : NULL;
}

// The place that prg_json_parse says first ("line 1, column 2: what"); false when it names none.
static bool json_place(const struct prg_error *err, struct place *ret, const char **ret_what)
{
    const char *p = read_number(err->frame[0].text, "line ", &ret->line);
    p = read_number(p, ", column ", &ret->column);
    if (!p || strncmp(p, ": ", 2) != 0)
        return false;
    *ret_what = p + 2;
    return true;
}

static bool yaml_place(const struct prg_error *err, const char *name, struct place *ret)
{
    const char *text = err->frame[0].text;
    const char *p = prg_text_has_prefix(text, name) ? text + strlen(name) : NULL;
    p = read_number(p, ":", &ret->line);
    return read_number(p, ":", &ret->column);
}

// Says what prg_json_parse said the way this module does.
static int json_error(const struct prg_error *cause, const char *name, struct prg_error *err)
{
    struct place place;
    const char *what;
    if (json_place(cause, &place, &what))
        return prg_yaml_fail(err, cause->code, name, place.line, place.column, "%s", what);
    return prg_fail(err, cause->code, "%s: %s", name, cause->frame[0].text);
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

// Whether somebody meant to write JSON: it begins with a quoted key or with a list of quoted or bracketed things, and
// the JSON reader got at least as far as the YAML reader did.
static bool is_meant_as_json(const char *text, size_t length, const struct prg_error *json,
                             const struct prg_error *yaml, const char *name)
{
    const char *end = text + length, *p = skip_space(text, end), *what;
    bool is_list = *p == '[';
    if (*p != '{' && !is_list)
        return false;
    p = skip_space(p + 1, end);
    if (p < end && *p != '"' && !(is_list && (*p == '{' || *p == '[')))
        return false;

    struct place j, y, last = place_of_offset(text, length, length);
    if (!json_place(json, &j, &what) || !yaml_place(yaml, name, &y))
        return true;
    if (is_before(&last, &y))
        y = last; // libyaml puts the end of a text onto the next line
    return !is_before(&j, &y);
}

int prg_yaml_load(struct prg_arena *arena, const char *name, const char *text, size_t length,
                  const struct prg_yaml_limits *given, struct prg_yaml_docs *ret, struct prg_error *err)
{
    struct prg_yaml_limits limits = effective(given);
    if (length > limits.max_bytes)
        return prg_fail(err, PRG_LIMIT, "%s: %zu bytes are more than the %zu allowed", name, length, limits.max_bytes);

    const char *first = skip_space(text, text + length);
    if (first == text + length || !strchr("{[\"", *first))
        return load_yaml(arena, name, text, length, &limits, ret, err);

    struct prg_json_limits json_limits = {limits.max_bytes, limits.max_depth};
    struct prg_error json_problem = {0}, yaml_problem = {0};
    cJSON *doc;
    int rc = prg_json_parse(arena, text, length, &json_limits, &doc, &json_problem);
    if (rc == PRG_OK) {
        ret->items = prg_arena_array(arena, cJSON *, 1);
        ret->items[0] = doc;
        ret->count = 1;
        return PRG_OK;
    }
    if (rc == PRG_LIMIT || prg_text_has_suffix(name, ".json"))
        return json_error(&json_problem, name, err);
    // What is not strict JSON may still be YAML: comments, trailing commas, unquoted words, more documents. Not in a
    // file named .json: there a forgotten comma would make a text of two members.
    rc = load_yaml(arena, name, text, length, &limits, ret, &yaml_problem);
    if (rc == PRG_INVALID && is_meant_as_json(text, length, &json_problem, &yaml_problem, name))
        return json_error(&json_problem, name, err);
    if (rc != PRG_OK && err)
        *err = yaml_problem;
    return rc;
}

// ---- files ----

static int read_all(FILE *file, const char *name, size_t max_bytes, struct prg_strbuf *ret, struct prg_error *err)
{
    char chunk[32768];
    size_t count;
    while ((count = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        prg_strbuf_add(ret, chunk, count);
        if (ret->length > max_bytes)
            return prg_fail(err, PRG_LIMIT, "%s: more than the %zu bytes allowed", name, max_bytes);
    }
    if (ferror(file))
        return prg_fail(err, PRG_IO, "%s: cannot be read: %s", name, strerror(errno));
    return PRG_OK;
}

int prg_yaml_load_file(struct prg_arena *arena, const char *path, const struct prg_yaml_limits *limits,
                       struct prg_yaml_docs *ret, struct prg_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "<stdin>" : path;
    prg_auto_strbuf text = PRG_STRBUF_INIT;

    FILE *file = is_stdin ? stdin : fopen(path, "rbe");
    if (!file)
        return prg_fail(err, errno == ENOENT ? PRG_NOTFOUND : PRG_IO, "%s: %s", name, strerror(errno));
    int rc = read_all(file, name, effective(limits).max_bytes, &text, err);
    if (!is_stdin)
        fclose(file);
    return rc == PRG_OK ? prg_yaml_load(arena, name, text.text, text.length, limits, ret, err) : rc;
}
