// SPDX-License-Identifier: Apache-2.0
// test_placeholders.c: placeholders in containers, and the language they are written in.
#include "plan/origin.h"
#include "serving/function_cases.h"
#include "serving/podspec.h"

static const char metadata[] =
    "{\"name\":\"m1\",\"namespace\":\"ns\",\"generation\":3,\"uid\":\"u-1\","
    "\"creationTimestamp\":\"2026-05-01T10:20:30Z\",\"finalizers\":[\"f1\",\"f2\"],"
    "\"labels\":{\"b\":\"2\",\"a\":\"1\",\"odd\":\"a&b+c\\\"d\\\\n<e>'\"},"
    "\"annotations\":{\"a/b\":\"v\",\"line\":\"l1\\nl2\",\"quote\":\"\\\"\"},"
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"K\",\"name\":\"o\",\"uid\":\"x\",\"controller\":true}]}";

// ---- recorded ----

static void check_recorded(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    struct prg_error err = {0};
    cJSON *got = NULL;
    int rc =
        prg_placeholders_replace(arena, prg_json_get(in, "container"), prg_json_get(in, "metadata"), true, &got, &err);
    if (prg_json_get_text(out, "error")) {
        if (rc == PRG_OK)
            print_error("case %lld: an error was expected: %s\n", (long long)id, prg_json_get_text(out, "error"));
        assert_int_not_equal(rc, PRG_OK);
        return;
    }
    if (rc != PRG_OK)
        print_error("case %lld\n", (long long)id);
    assert_ok(rc, &err);
    assert_cleaned_equal(arena, got, prg_json_get(out, "container"), id);
    // A container in normal form, which nobody else needs, gives the same.
    cJSON *normal = NULL, *filled = NULL;
    assert_ok(prg_typed_normal(arena, &prg_schema_container, prg_json_get(in, "container"), &normal, &err), &err);
    const char *before = prg_json_print_arena(arena, normal, 0);
    assert_ok(prg_placeholders_fill(arena, normal, prg_json_get(in, "metadata"), true, &filled, &err), &err);
    assert_string_equal(prg_json_print_arena(arena, filled, 0), prg_json_print_arena(arena, got, 0));
    assert_string_equal(prg_json_print_arena(arena, normal, 0), before);
}

static void recorded_containers_come_out_as_recorded(void **state)
{
    (void)state;
    each_function_case("placeholders", 300, check_recorded);
}

// ---- one argument ----

static int fill(struct prg_arena *arena, const char *text, bool html, const char **ret, struct prg_error *err)
{
    cJSON *container = json_of(arena, "{'name':'c'}"), *got = NULL;
    cJSON *args = prg_json_ensure_array(arena, container, "args");
    prg_json_append(args, prg_json_string(arena, text));
    int rc = prg_placeholders_replace(arena, container, json_of(arena, metadata), html, &got, err);
    if (rc == PRG_OK)
        *ret = prg_json_text(prg_json_item(prg_json_get(got, "args"), 0));
    return rc;
}

static void assert_filled(const char *text, bool html, const char *want)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    const char *got = NULL;
    int rc = fill(&arena, text, html, &got, &err);
    if (rc != PRG_OK)
        print_error("%s\n", text);
    assert_ok(rc, &err);
    assert_string_equal(got, want);
}

static void assert_filled_both(const char *text, const char *want)
{
    assert_filled(text, true, want);
    assert_filled(text, false, want);
}

static void values_arrive_as_they_are_when_mended(void **state)
{
    (void)state;
    assert_filled("{{.Labels.odd}}", false, "a&b+c\"d\\n<e>'");
    assert_filled("{{.Labels.odd}}", true, "a&amp;b&#43;c&#34;d\n&lt;e&gt;&#39;");
    assert_filled("{{.Annotations.line}}", false, "l1\nl2");
    assert_filled("x{{.Annotations.quote}}y", false, "x\"y");
    assert_filled("{{.DeletionTimestamp}}", true, "&lt;nil&gt;");
    assert_filled("{{.DeletionTimestamp}}", false, "<nil>");
}

static void text_beside_placeholders_is_never_touched(void **state)
{
    (void)state;
    assert_filled_both("<a href=\"{{.Name}}\">&amp;\\n\t'+</a>", "<a href=\"m1\">&amp;\\n\t'+</a>");
    assert_filled_both("no placeholder } }} { at all", "no placeholder } }} { at all");
}

static void double_quotes_work_in_placeholders_when_mended(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    const char *got;
    (void)state;
    assert_filled("\"{{index .Annotations \"a/b\"}}\"", false, "\"v\"");
    assert_filled("{{printf \"%s\\t\\u00e9\\x41\\101|\" .Name}}", false,
                  "m1\t\xc3\xa9"
                  "AA|");
    assert_filled("{{/* \"quoted\" */}}\"{{.Name}}", false, "\"m1");
    assert_filled("{{\"}}\"}}\"", false, "}}\"");
    assert_int_equal(fill(&arena, "{{index .Annotations \"a/b\"}}", true, &got, &err), PRG_INVALID);
    assert_error_has(&err, "/args/0: {{index .Annotations \\\"a/b\\\"}}");
}

static void fields_of_the_metadata(void **state)
{
    static const char *const cases[][2] = {
        {"{{.Name}}-{{ .Namespace }}", "m1-ns"},
        {"{{.Generation}}/{{.UID}}/{{.GenerateName}}/{{.ResourceVersion}}/{{.SelfLink}}", "3/u-1///"},
        {"{{.Labels.a}}{{.Labels.missing}}{{.Labels.missing.deep}}", "1"},
        {"{{$.Name}}{{$.Labels.b}}", "m12"},
        {"{{.Finalizers}}", "[f1 f2]"},
        {"{{index .Finalizers 1}}{{len .Finalizers}}", "f22"},
        {"{{range .OwnerReferences}}{{.APIVersion}} {{.Kind}} {{.Name}} {{.UID}} {{.Controller}} {{.BlockOwnerDeletion "
         "| not}}{{end}}",
         "v1 K o x true true"},
        {"{{if .DeletionTimestamp}}y{{else}}n{{end}}{{if .CreationTimestamp}}y{{end}}", "ny"},
        {"{{if .DeletionGracePeriodSeconds}}y{{else}}n{{end}}", "n"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_filled_both(cases[i][0], cases[i][1]);
    assert_filled("{{.CreationTimestamp}}", false, "2026-05-01 10:20:30 +0000 UTC");
    assert_filled("{{.CreationTimestamp}}", true, "2026-05-01 10:20:30 &#43;0000 UTC");
    assert_filled("{{printf `%q` .Labels}}", false, "map[\"a\":\"1\" \"b\":\"2\" \"odd\":\"a&b+c\\\"d\\\\n<e>'\"]");
    assert_filled("{{.Labels}}", false, "map[a:1 b:2 odd:a&b+c\"d\\n<e>']");
}

static void blocks_and_variables(void **state)
{
    static const char *const cases[][2] = {
        {"{{if .Labels.a}}y{{else}}n{{end}}", "y"},
        {"{{if .Labels.z}}y{{else if eq .Name `m1`}}e{{else}}n{{end}}", "e"},
        {"{{if .Labels.z}}y{{end}}", ""},
        {"{{range $k, $v := .Labels}}{{if ne $k `odd`}}{{$k}}={{$v}};{{end}}{{end}}", "a=1;b=2;"},
        {"{{range $v := .Finalizers}}{{$v}},{{end}}{{range .Finalizers}}<{{.}}>{{end}}", "f1,f2,<f1><f2>"},
        {"{{range $i, $v := .Finalizers}}{{$i}}{{$v}}{{end}}", "0f11f2"},
        {"{{range .Labels.missing}}x{{else}}none{{end}}", "none"},
        {"{{range $i := 3}}{{$i}}{{end}}{{range 2}}{{.}}{{end}}", "01201"},
        {"{{if .OwnerReferences}}y{{end}}{{if .Labels}}y{{end}}{{if (index .OwnerReferences 0).Controller}}y{{end}}",
         "yyy"},
        {"{{(index .OwnerReferences 0).Name}}{{range .Labels}}{{break}}{{end}}", "o"},
        {"{{range .Finalizers}}{{if eq . `f2`}}{{break}}{{end}}{{.}}{{end}}", "f1"},
        {"{{range .Finalizers}}{{if eq . `f1`}}{{continue}}{{end}}{{.}}{{end}}", "f2"},
        {"{{with .Labels.a}}{{.}}{{$.Name}}{{else}}n{{end}}{{with .Labels.z}}y{{else}}n{{end}}", "1m1n"},
        {"{{with $x := .Name}}{{$x}}{{.}}{{end}}", "m1m1"},
        {"{{with .Labels.z}}{{else with .Name}}{{.}}{{end}}", "m1"},
        {"{{$x := .Name}}{{$x}}{{$x = `z`}}{{$x}}{{if true}}{{$x = `y`}}{{$x := `w`}}{{end}}{{$x}}", "m1zy"},
        {"{{$last := ``}}{{range $last = .Finalizers}}{{end}}{{$last}}", "f2"},
        {"{{$k := 0}}{{$v := 0}}{{range $k, $v = .Finalizers}}{{end}}{{$k}}{{$v}}", "1f2"},
        {"a  {{- .Name -}}  b {{- /* c */ -}} c", "am1bc"},
        {"a {{/* comment {{ */}}b", "a b"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_filled_both(cases[i][0], cases[i][1]);
}

static void functions_and_pipes(void **state)
{
    static const char *const cases[][2] = {
        {"{{.Name | printf `%s-x`}}{{.Name | len |}}{{len `\xc3\xa9`}}", "m1-x22"},
        {"{{eq .Name `m1`}} {{eq .Name `a` `m1`}} {{ne .Name `m1`}} {{eq 1 1}} {{eq true true}}",
         "true true false true "
         "true"},
        {"{{eq .Labels.missing ``}} {{eq (index .Labels `missing`) ``}} {{eq .Labels.missing nil}}", "false true true"},
        {"{{lt 1 2}}{{le 2 2}}{{gt 1 2}}{{ge 2 3}}{{lt `a` `b`}}{{ge `b` `ba`}}", "truetruefalsefalsetruefalse"},
        {"{{and .Name .Labels.a}}{{and .Labels.z .Name}}|{{or .Labels.z .Name}}{{or .Labels.z ``}}|{{not .Name}}",
         "1|m1|false"},
        {"{{or .Name (index .Finalizers 9)}}", "m1"},
        {"{{and .Labels.z (index .Finalizers 9)}}", ""},
        {"{{print .Name 1 2 true `x`}}", "m11 2 truex"},
        {"{{println .Name 1 | len}}{{eq print ``}}{{true | and `x`}}{{`` | or .Labels.z}}", "5truetrue"},
        {"{{eq .DeletionTimestamp nil}}{{eq nil .Labels}}{{printf `%v` .DeletionTimestamp}}", "truefalse<nil>"},
        {"{{(index .Labels `a`)}}{{((.Name))}}{{(print .Name) | len}}", "1m12"},
        {"{{index .Labels `a` | printf `%s%v` .Name}}", "m11"},
        {"{{index .Labels `nope`}}", ""},
        {"{{index .Name 1}}", "49"},
        {"{{0x1F}} {{-3}} {{true}} {{`raw\\n`}}", "31 -3 true raw\\n"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_filled(cases[i][0], false, cases[i][1]);
}

static void printf_prints_as_go_does(void **state)
{
    static const char *const cases[][2] = {
        {"{{printf `%v %s %q` .Name .Name .Name}}", "m1 m1 \"m1\""},
        {"{{printf `%d %5d|%-5d|%05d|%+d|% d` 7 7 7 7 7 7}}", "7     7|7    |00007|+7| 7"},
        {"{{printf `%x %X %o %b` 255 255 8 5}}", "ff FF 10 101"},
        {"{{printf `%.3d|%6.3d|%.0d|` -7 7 0}}", "-007|   007||"},
        {"{{printf `%5s|%-5s|%.1s|%x|%X` .Name .Name .Name .Name `z`}}", "   m1|m1   |m|6d31|7A"},
        {"{{printf `%t %v` true false}}", "true false"},
        {"{{printf `%d %s` .Name 1}}", "%!d(string=m1) %!s(int=1)"},
        {"{{printf `%s` .Generation}}", "%!s(int64=3)"},
        {"{{printf `%s %s` .Name}}", "m1 %!s(MISSING)"},
        {"{{printf `x` .Name 1}}", "x%!(EXTRA string=m1, int=1)"},
        {"{{printf `%`}}", "%!(NOVERB)"},
        {"{{printf `100%%`}}", "100%"},
        {"{{printf `%s` .Labels.missing}}", "%!s(<nil>)"},
        {"{{printf `%v %s %d` .Finalizers .Finalizers .Finalizers}}",
         "[f1 f2] [f1 f2] [%!d(string=f1) %!d(string=f2)]"},
        {"{{printf `%s|%s|%v` .CreationTimestamp .Labels.a .CreationTimestamp}}",
         "2026-05-01 10:20:30 +0000 UTC|1|2026-05-01 10:20:30 +0000 UTC"},
        {"{{printf `x` .Labels.missing}}", "x%!(EXTRA <nil>)"},
        {"{{printf `%.1x` `abc`}}{{printf `%q` ``}}", "61\"\\x01\""},
        {"{{printf `%5t|` true}}{{printf `%s` true}}", " true|%!s(bool=true)"},
        {"{{printf `%q` `a\\b`}}", "\"a\\\\b\""},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_filled(cases[i][0], false, cases[i][1]);
}

static void a_language_error_names_construct_and_field(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{{.name}}", "/args/0: {{.name}}: there is no field .name; did you mean .Name?"},
        {"{{.Completely}}", "there is no field .Completely in the metadata of a service"},
        {"{{.Labels.a.b}}", "there is no field .b in a string"},
        {"{{.GetName}}", "there is no field .GetName"},
        {"{{.DeletionTimestamp.Year}}", ".Year of a field that is not set"},
        {"{{.CreationTimestamp.Year}}", "fields of a time are not supported in placeholders"},
        {"{{.Name", "/args/0: {{.Name"},
        {"{{{.Name}}", "'{' is not expected"},
        {"{{.Name}", "cannot follow"},
        {"{{}}", "a value is missing"},
        {"{{end}}", "{{end}} without a block"},
        {"{{else}}", "{{else}} without a block"},
        {"{{if .Name}}x", "the block is not closed by {{end}}"},
        {"{{if .Name}}x{{else}}y{{else}}z{{end}}", "a second {{else}}"},
        {"{{if}}x{{end}}", "a value is missing in if"},
        {"{{template `x`}}", "'template' is not supported in placeholders"},
        {"{{define `x`}}{{end}}", "'define' is not supported in placeholders"},
        {"{{block `x` .}}{{end}}", "'block' is not supported in placeholders"},
        {"{{html .Name}}", "the function 'html' is not supported in placeholders"},
        {"{{call .Name}}", "the function 'call' is not supported"},
        {"{{lower .Name}}", "there is no function 'lower'"},
        {"{{if false}}{{lower .Name}}{{end}}", "there is no function 'lower'"},
        {"{{$x}}", "the variable $x is not declared"},
        {"{{if true}}{{$x := 1}}{{end}}{{$x}}", "the variable $x is not declared"},
        {"{{$x = 1}}", "the variable $x is not declared here"},
        {"{{$x, $y := .Labels}}", "declares too many variables"},
        {"{{break}}", "'break' outside a range"},
        {"{{.Name | .Namespace}}", "arguments are given to something that is no function"},
        {"{{.Name `x`}}", "arguments are given to something that is no function"},
        {"{{.Name | `x`}}", "a | must lead to a function"},
        {"{{.Name || len}}", "is not expected in"},
        {"{{| len}}", "is not expected in a placeholder"},
        {"{{nil}}", "nil alone is no value"},
        {"{{len 3}}", "a int has no length"},
        {"{{len}}", "len needs one argument"},
        {"{{index .Finalizers 5}}", "index 5 is out of range: there are 2"},
        {"{{index .Labels 1}}", "the key of a map is a text, not a int"},
        {"{{index .Labels .UID}}", "not a types.UID"},
        {"{{index .Labels.missing 1}}", "index of nothing"},
        {"{{index 1 1}}", "a int cannot be indexed"},
        {"{{eq .Name 1}}", "a string and a int cannot be compared"},
        {"{{eq .Labels .Labels}}", "a map[string]string cannot be compared"},
        {"{{eq .Name}}", "eq needs two arguments at least"},
        {"{{lt .Name 1}}", "lt compares two texts or two numbers"},
        {"{{range .Name}}{{end}}", "range goes over maps and lists, not over a string"},
        {"{{range $a, $b := 3}}{{end}}", "a range over a number has one variable"},
        {"{{.}}", "a v1.ObjectMeta has no text of its own; name one of its fields"},
        {"{{.OwnerReferences}}", "has no text of its own"},
        {"{{1.5}}", "the number 1.5 is not supported in placeholders"},
        {"{{017}}", "the number 017 is not supported"},
        {"{{99999999999999999999}}", "is no number, or too large"},
        {"{{1a}}", "'1a' is no number"},
        {"{{'a'}}", "the character constant 'a' is not supported"},
        {"{{(.Name}}", "a ( is not closed"},
        {"{{.Name)}}", "a ) without ("},
        {"{{`x}}", "the text in backquotes is not closed"},
        {"{{/* x}}", "the comment is not closed"},
        {"{{/* x */ }}", "a comment must end right before }}"},
        {"{{: 1}}", ":= is expected"},
        {"{{true.x}}", "this has no fields"},
        {"{{printf 1}}", "the format of printf is a text, not a int"},
        {"{{printf}}", "printf needs a format"},
        {"{{printf `%e` 1}}", "printf's %e is not supported in placeholders"},
        {"{{printf `%q` 1}}", "printf's %q of a number is not supported"},
        {"{{printf `%d` .CreationTimestamp}}", "printf's %d of a v1.Time is not supported"},
        {"{{printf `%d` .OwnerReferences}}", "printf's %d of a []v1.OwnerReference is not supported"},
        {"{{printf `% ` 1}}{{printf `%\x01` 1}}", "followed by no letter"},
        {"{{printf `x` .}}", "has no text of its own"},
        {"{{range .OwnerReferences}}{{printf `%v` .Controller}}{{end}}", "has no fixed text here"},
        {"{{range .OwnerReferences}}{{printf `x` .Controller}}{{end}}", "has no fixed text here"},
        {"{{if .Name}}{{end x}}", "is not expected in end"},
        {"{{end .Name}}", "is not expected in end"},
        {"{{range $k, 1 := .Labels}}{{end}}", "only variables can stand before the := of a range"},
        {"{{if .Name}}x{{else}}y", "the block is not closed by {{end}}"},
        {"{{print if}}", "'if' cannot stand in"},
        {"{{index .Finalizers `a`}}", "a list is indexed by a number, not by a string"},
        {"{{index}}", "index needs a map or list, and a key"},
        {"{{lt 1}}", "lt needs two arguments"},
        {"{{if false}}{{$y := 1}}{{else}}{{$y}}{{end}}", "the variable $y is not declared here"},
        {"{{printf `%99999d` 1}}", "a width in printf is at most 1000"},
        {"{{printf `%05s` .Name}}", "printf pads only numbers with zeros"},
        {"{{range .OwnerReferences}}{{print .Controller}}{{end}}", "has no fixed text here"},
        {"{{ne 1}}", "ne needs two arguments"},
        {"{{not}}", "not needs one argument"},
        {"{{and}}", "and needs an argument"},
        {"\x7f{{\x01}}", "a character that cannot stand here"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena = {0};
        struct prg_error err = {0};
        const char *got = NULL;
        int rc = fill(&arena, cases[i].text, false, &got, &err);
        if (rc == PRG_OK)
            print_error("%s gives '%s'\n", cases[i].text, got);
        assert_int_equal(rc, PRG_INVALID);
        assert_error_has(&err, cases[i].error);
        assert_error_has(&err, "/args/0: ");
        prg_error_clear(&err);
        assert_int_not_equal(fill(&arena, cases[i].text, true, &got, &err), PRG_OK);
    }
}

static void quoted_texts_are_checked_when_mended(void **state)
{
    static const char *const texts[] = {"{{\"x}}", "{{\"\\q\"}}", "{{\"\\x4\"}}", "{{\"\\ud800\"}}", "{{\"\\777\"}}"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        prg_auto_arena arena = {0};
        struct prg_error err = {0};
        const char *got;
        assert_int_equal(fill(&arena, texts[i], false, &got, &err), PRG_INVALID);
    }
    assert_filled("{{\"\\U0001F600\\n\"}}", false, "\xf0\x9f\x98\x80\n");
}

static void long_field_chains_and_wide_runes(void **state)
{
    (void)state;
    assert_filled_both("{{.Labels.missing.a.b.c.d.e.f.g}}", "");
    assert_filled("{{\"\\u20ac\\u0041\"}}", false,
                  "\xe2\x82\xac"
                  "A");
}

static void metadata_of_a_service_that_is_going_away(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    const cJSON *meta =
        json_of(&arena, "{'deletionTimestamp':'2026-05-01T10:20:30+02:00','deletionGracePeriodSeconds':0,"
                        "'labels':{'n':'a'}}");
    prg_json_set((struct prg_arena *)&arena, prg_json_get(meta, "labels"), "nul", prg_json_stringn(&arena, "a\0b", 3));
    const cJSON *container = json_of(&arena, "{'args':['{{.DeletionTimestamp}}/{{.DeletionGracePeriodSeconds}}/"
                                             "{{if .DeletionGracePeriodSeconds}}set{{end}}/{{.CreationTimestamp}}/"
                                             "{{.OwnerReferences}}/{{.Finalizers}}','{{.Labels.nul}}']}");
    assert_ok(prg_placeholders_replace(&arena, container, meta, false, &got, &err), &err);
    assert_string_equal(prg_json_text(prg_json_item(prg_json_get(got, "args"), 0)),
                        "2026-05-01 08:20:30 +0000 UTC/0/set/0001-01-01 00:00:00 +0000 UTC/[]/[]");
    assert_int_equal(prg_json_text_length(prg_json_item(prg_json_get(got, "args"), 1)), 3);
    assert_ok(prg_placeholders_replace(&arena, container, meta, true, &got, &err), &err);
    assert_string_equal(prg_json_text(prg_json_item(prg_json_get(got, "args"), 1)), "a\xef\xbf\xbd"
                                                                                    "b");
}

static void a_result_of_another_type_is_an_error(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    // The placeholder cuts a piece out of the names: what is left is {"args": 2}.
    const cJSON *container = json_of(&arena, "{'args{{if .Labels.z}}':1,'b{{end}}':2}");
    assert_int_not_equal(prg_placeholders_replace(&arena, container, json_of(&arena, metadata), false, &got, &err),
                         PRG_OK);
    assert_error_has(&err, "once its placeholders are filled");
}

// ---- bounds ----

// Each use of a text that functions made makes another one: the bytes of all of them are counted, printed or not.
static void texts_that_are_never_printed_are_bounded_too(void **state)
{
    static const char *const makers[] = {
        "print",    "println", "printf `%s%s%s%s%s%s%s%s`", "printf `%q%q%q%q%q%q%q%q`", "printf `%x%x%x%x%x%x%x%x`",
        "printf ``"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(makers); i++) {
        prg_auto_arena arena = {0};
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        struct prg_error err = {0};
        const char *got;
        prg_strbuf_puts(&text, "{{$x := .Name}}");
        for (int round = 0; round < 20; round++)
            prg_strbuf_printf(&text, "{{$x = %s $x $x $x $x $x $x $x $x}}", makers[i]);
        prg_strbuf_puts(&text, "{{len $x}}");
        assert_int_equal(fill(&arena, text.text, false, &got, &err), PRG_LIMIT);
        assert_error_has(&err, "make more than 8388608 bytes");
        assert_true(arena.used_bytes < 64 << 20);
    }
}

static void nesting_steps_and_size_are_bounded(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    const char *got;
    (void)state;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_puts(&text, "{{");
    prg_strbuf_pad(&text, '(', 5000);
    prg_strbuf_puts(&text, ".Name");
    prg_strbuf_pad(&text, ')', 5000);
    prg_strbuf_puts(&text, "}}");
    assert_int_equal(fill(&arena, text.text, false, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "nested more than 64 deep");
    prg_error_clear(&err);
    assert_int_equal(fill(&arena, "{{range 1000000000}}{{end}}", true, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "more than 200000 steps");
    prg_error_clear(&err);
    prg_strbuf_clear(&text);
    prg_strbuf_puts(&text, "{{range 60000}}");
    prg_strbuf_pad(&text, 'x', 1000);
    prg_strbuf_puts(&text, "{{end}}");
    assert_int_equal(fill(&arena, text.text, false, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "make more than 8388608 bytes");
    prg_error_clear(&err);
    prg_strbuf_clear(&text);
    for (int i = 0; i < 300; i++)
        prg_strbuf_printf(&text, "{{$v%d := 1}}", i);
    assert_int_equal(fill(&arena, text.text, false, &got, &err), PRG_INVALID);
    assert_error_has(&err, "more than 256 variables");
    prg_error_clear(&err);
    prg_strbuf_clear(&text);
    prg_strbuf_puts(&text, "{{print");
    for (int i = 0; i < 100; i++)
        prg_strbuf_puts(&text, " 1");
    prg_strbuf_puts(&text, "}}");
    assert_int_equal(fill(&arena, text.text, false, &got, &err), PRG_INVALID);
    assert_error_has(&err, "at most 31 arguments");
    prg_error_clear(&err);
    prg_strbuf_clear(&text);
    prg_strbuf_pad(&text, 'x', 5u << 20);
    prg_strbuf_puts(&text, "{{.Name}}");
    assert_int_equal(fill(&arena, text.text, false, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "may have 4194304 bytes");
}

// ---- containers ----

static cJSON *filled(struct prg_arena *arena, const char *container, bool html)
{
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_ok(prg_placeholders_replace(arena, json_of(arena, container), json_of(arena, metadata), html, &got, &err),
              &err);
    return got;
}

static void every_text_of_the_container_is_filled(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    for (int html = 0; html < 2; html++)
        assert_json_text(&arena,
                         filled(&arena,
                                "{'name':'c','image':'r/{{.Name}}:1','command':['{{.Name}}'],"
                                "'env':[{'name':'E','value':'{{.Namespace}}'}],'newer':{'deep':['{{.Name}}']},"
                                "'livenessProbe':{'httpGet':{'port':80,'path':'/{{.Name}}'}}}",
                                html),
                         "{'name':'c','image':'r/m1:1','command':['m1'],'env':[{'name':'E','value':'ns'}],"
                         "'newer':{'deep':['m1']},'livenessProbe':{'httpGet':{'port':80,'path':'/m1'}}}");
}

static void an_empty_result_drops_the_field(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    assert_json_text(
        &arena,
        filled(&arena, "{'name':'c','image':'{{.Labels.z}}','env':[{'name':'E','value':'{{.Labels.z}}'}]}", false),
        "{'name':'c','env':[{'name':'E'}]}");
}

// The fields stand in Go's order, whatever order they are written in: image before command before args before env.
static void a_variable_reaches_the_fields_behind_it(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    for (int html = 0; html < 2; html++)
        assert_json_text(&arena,
                         filled(&arena,
                                "{'env':[{'value':'{{$x}}','name':'E'}],'args':['{{$x}}'],"
                                "'image':'i{{$x := .Name}}','name':'c'}",
                                html),
                         "{'name':'c','image':'i','args':['m1'],'env':[{'name':'E','value':'m1'}]}");
}

static void a_block_may_span_fields(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    assert_json_text(&arena, filled(&arena, "{'name':'c','args':['{{if .Labels.z}}a','b{{else}}c{{end}}','d']}", false),
                     "{'name':'c','args':['c','d']}");
}

static void names_of_limits_are_filled(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    assert_json_text(&arena, filled(&arena, "{'name':'c','resources':{'limits':{'x.com/{{.Name}}':'1'}}}", false),
                     "{'name':'c','resources':{'limits':{'x.com/m1':'1'}}}");
    // The original reads the result into the old container: the old name stays as well.
    assert_json_text(&arena, filled(&arena, "{'name':'c','resources':{'limits':{'x.com/{{.Name}}':'1'}}}", true),
                     "{'name':'c','resources':{'limits':{'x.com/m1':'1','x.com/{{.Name}}':'1'}}}");
}

static void an_unreadable_result_is_an_error(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    const char *got;
    (void)state;
    assert_int_not_equal(fill(&arena, "{{.Annotations.line}}", true, &got, &err), PRG_OK);
    assert_error_has(&err, "a value with a line break, a tab or a backslash");
    prg_error_clear(&err);
    cJSON *container = json_of(&arena, "{'name':'c','resources':{'limits':{'{{if .Name}}cpu':'1','z':'{{end}}2'}}}"),
          *out;
    assert_int_not_equal(prg_placeholders_replace(&arena, container, json_of(&arena, metadata), false, &out, &err),
                         PRG_OK);
}

static void wrong_containers_are_refused(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    assert_int_equal(prg_placeholders_replace(&arena, json_of(&arena, "{'args':'{{.Name}}'}"), NULL, false, &got, &err),
                     PRG_INVALID);
    assert_error_has(&err, "/args: a list is expected");
    assert_ok(prg_placeholders_replace(&arena, json_of(&arena, "{'args':['{{.Name}}x{{.Labels.a}}']}"), NULL, false,
                                       &got, &err),
              &err);
    assert_json_text(&arena, got, "{'name':'','args':['x']}");
}

static void wrong_metadata_reads_as_absent(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    const cJSON *odd = json_of(&arena, "{'name':1,'labels':[],'annotations':{'a':1},'generation':'x','finalizers':{},"
                                       "'ownerReferences':['x',{'controller':'x'}],'creationTimestamp':7}");
    const cJSON *container = json_of(&arena, "{'args':['{{.Name}}{{.Labels.a}}{{.Annotations.a}}{{.Generation}}"
                                             "{{.Finalizers}}{{range .OwnerReferences}}<{{.Name}}{{.Controller | not}}>"
                                             "{{end}}{{range $k, $v := .Annotations}}{{$k}}{{$v}}{{end}}']}");
    assert_ok(prg_placeholders_replace(&arena, container, odd, false, &got, &err), &err);
    assert_json_text(&arena, prg_json_get(got, "args"), "['0[]<true><true>a']");
}

static void only_filled_texts_change_their_origin(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got, *container = json_of(&arena, "{'name':'c','image':'i','args':['x','{{.Name}}']}");
    (void)state;
    prg_json_tag(container, PRG_ORIGIN_RUNTIME);
    prg_json_set_position(prg_json_get(container, "image"), 3, 4);
    assert_ok(prg_placeholders_replace(&arena, container, json_of(&arena, metadata), false, &got, &err), &err);
    const cJSON *args = prg_json_get(got, "args");
    assert_int_equal(prg_json_origin(prg_json_get(got, "image")), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_position(prg_json_get(got, "image")).line, 3);
    assert_int_equal(prg_json_origin(args), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_origin(prg_json_item(args, 0)), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_origin(prg_json_item(args, 1)), PRG_ORIGIN_PLACEHOLDER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_containers_come_out_as_recorded),
        cmocka_unit_test(values_arrive_as_they_are_when_mended),
        cmocka_unit_test(text_beside_placeholders_is_never_touched),
        cmocka_unit_test(double_quotes_work_in_placeholders_when_mended),
        cmocka_unit_test(fields_of_the_metadata),
        cmocka_unit_test(blocks_and_variables),
        cmocka_unit_test(functions_and_pipes),
        cmocka_unit_test(printf_prints_as_go_does),
        cmocka_unit_test(a_language_error_names_construct_and_field),
        cmocka_unit_test(quoted_texts_are_checked_when_mended),
        cmocka_unit_test(long_field_chains_and_wide_runes),
        cmocka_unit_test(metadata_of_a_service_that_is_going_away),
        cmocka_unit_test(a_result_of_another_type_is_an_error),
        cmocka_unit_test(texts_that_are_never_printed_are_bounded_too),
        cmocka_unit_test(nesting_steps_and_size_are_bounded),
        cmocka_unit_test(every_text_of_the_container_is_filled),
        cmocka_unit_test(an_empty_result_drops_the_field),
        cmocka_unit_test(a_variable_reaches_the_fields_behind_it),
        cmocka_unit_test(a_block_may_span_fields),
        cmocka_unit_test(names_of_limits_are_filled),
        cmocka_unit_test(an_unreadable_result_is_an_error),
        cmocka_unit_test(wrong_containers_are_refused),
        cmocka_unit_test(wrong_metadata_reads_as_absent),
        cmocka_unit_test(only_filled_texts_change_their_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
