// SPDX-License-Identifier: Apache-2.0
// test_stdlib.c: the modules of lua/stdlib in the sandbox itself, on views, with their C functions.
#include "policy_support.h"

#include <string.h>

static void json_texts_are_exact(void **state)
{
    assert_script(*state,
                  "return perigee.json.encode(input) == '{\"a\":[],\"b\":{},\"n\":null,\"z\":18446744073709551617}'",
                  "{'z': 18446744073709551617, 'n': null, 'b': {}, 'a': []}", "true");
    assert_script(*state,
                  "return {perigee.json.encode({2, 1}), perigee.json.encode(nil), perigee.json.encode({a = 1}, true)}",
                  NULL, "[\"[2,1]\", \"null\", \"{\\n  \\\"a\\\": 1\\n}\"]");
    assert_script(*state,
                  "local v = perigee.json.decode('{\"a\": [1, {\"b\": null}]}') "
                  "return {v.a[1], v.a[2].b == perigee.null, #v.a}",
                  NULL, "[1, true, 2]");
    assert_script(*state, "local v, why = perigee.json.decode('{\"a\": 01}') return {v == nil, type(why)}", NULL,
                  "[true, 'string']");
    assert_script_error(*state, "perigee.json.decode({})",
                        "script.lua:1: perigee.json.decode: a text is needed, not object");
    assert_script(*state, "return {perigee.json.at(input, 'a', 1, 'b'), perigee.json.at(input, 'x', 'y') == nil}",
                  "{'a': [{'b': 'c'}]}", "['c', true]");
}

static void objects_are_found_in_lists(void **state)
{
    assert_script(
        *state,
        "local find = perigee.json.find return {find(input.l, 'name', 'b').v, find(input.l, 'name', 'x') == nil, "
        "find(nil, 'name', 'a') == nil, find(input.n, 'name', 'a') == nil, find({{name = 'a', v = 3}}, 'name', 'a').v}",
        "{'l': [{'name': 'a'}, 1, {'name': 'b', 'v': 2}, {'name': 'b', 'v': 9}], 'n': null}",
        "[2, true, true, true, 3]");
    assert_script_error(*state, "perigee.json.find({}, 'name')", "a list, a key and a text are needed");
}

static void quantities_are_exact(void **state)
{
    assert_script(
        *state,
        "local q = perigee.quantity return {q.compare('1Ki', '1k'), q.compare('1000m', 1), q.add('1Gi', '1Gi'), "
        "q.sub('1', '1500m'), q.value('1500m'), q.milli('1.5'), q.is_zero('0.000'), q.is_zero('1n'), q.sum({}), "
        "q.sum({'500m', '500m', 2}), q.max('1Gi', '1G'), q.min('1Gi', '1G'), q.less('1', '2'), "
        "q.is_valid('1Gib'), q.is_valid(nil), q.canonical('2048Mi'), q.canonical('0.5')}",
        NULL, "[1, 0, '2Gi', '-500m', 2, 1500, true, false, '0', '3', '1Gi', '1G', true, false, false, '2Gi', '500m']");
    assert_script_error(*state, "perigee.quantity.add('1', 'x')", "perigee.quantity.add: argument 2: ");
    assert_script_error(*state, "perigee.quantity.value({})", "argument 1: a quantity is needed, not object");
    assert_script(*state, "return perigee.quantity.compare(input.a, input.b)", "{'a': '2', 'b': 2}", "0");
}

static void selectors_match_labels(void **state)
{
    const char *labels = "{'app': 'x', 'tier': 'web'}";
    assert_script(
        *state,
        "local s = perigee.selectors return {s.matches('app=x', input), s.matches('app in (y), tier', input), "
        "s.matches({matchLabels = {app = 'x'}}, input), s.matches({}, input), s.matches(nil, input), "
        "s.matches(s.for_labels(input), input), s.matches('!none', nil), s.text('b,a = 1')}",
        labels, "[true, false, true, true, false, true, true, 'a=1,b']");
    assert_script(*state,
                  "return perigee.selectors.matches({matchExpressions = {{key = 'tier', operator = 'In', values = "
                  "{'web', 'db'}}}}, "
                  "input)",
                  labels, "true");
    assert_script_error(*state, "perigee.selectors.matches('a in (', {})", "script.lua:1: perigee.selectors.matches: ");
    assert_script_error(*state, "perigee.selectors.matches('a', {a = 1})", "label 'a' is not a text");
    assert_script_error(*state, "perigee.selectors.matches(1, {})",
                        "a selector is a text or a LabelSelector, not number");
}

static void labels_work_on_views(void **state)
{
    assert_script(
        *state,
        "local l = perigee.labels return {l.get(input, 'a'), l.annotation(input, 'x') == nil, "
        "l.merge(input.metadata.labels, nil, perigee.null, {b = '2'}), l.with_prefix(input.metadata.labels, 'x/'), "
        "l.without_prefix(input.metadata.labels, 'x/'), l.pick(input.metadata.labels, {'a', 'none'}), "
        "l.prefix('x/y'), l.is_true('TRUE')}",
        "{'metadata': {'labels': {'a': '1', 'x/c': '3'}}}",
        "['1', true, {'a': '1', 'b': '2', 'x/c': '3'}, {'x/c': '3'}, {'a': '1'}, {'a': '1'}, 'x', true]");
}

static void flags_work_on_views(void **state)
{
    assert_script(*state,
                  "local f = perigee.flags return {f.merge(input.a, input.b), f.get(input.a, '--n'), "
                  "f.set(input.a, '--n', '9'), f.remove(input.a, '--n'), f.merge(nil, perigee.null)}",
                  "{'a': ['serve', '--n', '1', '--x'], 'b': ['--n=2']}",
                  "[['serve', '--x', '--n=2'], '1', ['serve', '--n=9', '--x'], ['serve', '--x'], {}]");
}

static void images_and_versions_work(void **state)
{
    assert_script(
        *state,
        "local i, v = perigee.images, perigee.versions return {i.parse('h:5/a/b:1'), i.with_registry('a/b:1', 'm'), "
        "i.with_tag('a@sha256:0', '2'), v.compare('1.9', '1.10'), v.newest({'1', '2-rc1', '2'}), "
        "v.at_least('v1.2', '1.2')}",
        NULL, "[{'registry': 'h:5', 'repository': 'a/b', 'tag': '1'}, 'm/a/b:1', 'a:2', -1, '2', true]");
    assert_script_error(*state, "\nperigee.versions.compare('1', 'x')", "script.lua:2: not a version: x");
}

static void reasons_are_made_for_people(void **state)
{
    assert_script(*state,
                  "local e = perigee.explain return {e.formats(input), e.formats(nil), e.format(input[1]), e.list({}), "
                  "e.list({'a', 'b', 'c'}), e.list({'a', 'b', 'c'}, 2)}",
                  "[{'name': 'sklearn', 'version': '1'}, {'name': 'onnx'}, {'version': '2'}]",
                  "['sklearn 1, onnx', 'nothing', 'sklearn 1', 'nothing', 'a, b and c', 'a, b and 1 more']");
    assert_script(
        *state,
        "local t = {} for i = 1, 100 do t[i] = {name = 'format' .. i} end local s = perigee.explain.formats(t) "
        "return {#s < 210, s:find(', …$') ~= nil}",
        NULL, "[true, true]");
}

static void modules_are_read_only_and_the_same_each_time(void **state)
{
    assert_script(*state, "return {perigee.labels == perigee.labels, type(perigee.labels), perigee.none == nil}", NULL,
                  "[true, 'table', true]");
    assert_script_error(*state, "for _ in pairs(perigee.shipped) do end", "perigee.shipped cannot be walked");
    assert_script(*state, "return {perigee.shipped.image.api, #perigee.labels, perigee.shipped.nothing == nil}", NULL,
                  "['image/v1', 0, true]");
    assert_script_error(*state, "perigee.flags.parse = 1", "'perigee.flags' is read-only");
    assert_script(*state,
                  "local n = 0 for k, v in pairs(perigee.labels) do n = n + (type(v) == 'function' and 1 or 0) end "
                  "return n",
                  NULL, "8");
}

// An error inside a module is told at the line of the script that called it.
static void errors_of_modules_name_the_script(void **state)
{
    assert_script_error(*state, "local x = 1\nlocal y = perigee.labels.merge(7)", "script.lua:2: perigee/labels.lua:");
    const char *text =
        script_error(*state, "return perigee.images.parse(nil)", NULL, NULL); // a tail call leaves no line
    assert_text_has(text, "perigee/images.lua:");
    assert_null(strstr(strstr(text, "perigee/images.lua:") + 1, "perigee/images.lua:"));
}

static void configuration_is_nothing_for_a_script(void **state)
{
    assert_script(*state, "return {perigee.config == nil, perigee.compat == nil}", NULL, "[true, true]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_texts_are_exact),
        cmocka_unit_test(objects_are_found_in_lists),
        cmocka_unit_test(quantities_are_exact),
        cmocka_unit_test(selectors_match_labels),
        cmocka_unit_test(labels_work_on_views),
        cmocka_unit_test(flags_work_on_views),
        cmocka_unit_test(images_and_versions_work),
        cmocka_unit_test(reasons_are_made_for_people),
        cmocka_unit_test(modules_are_read_only_and_the_same_each_time),
        cmocka_unit_test(errors_of_modules_name_the_script),
        cmocka_unit_test(configuration_is_nothing_for_a_script),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
