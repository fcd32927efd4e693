// SPDX-License-Identifier: Apache-2.0
// test_set.c: loading policy sets: errors with their place, overlays, options, limits, revisions, export.
#include "policy_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "yaml/load.h"

// ---- errors ----

struct bad_file {
    const char *name, *text;
    const char *error; // what the report says after "FOLDER/NAME:"
};

static const struct bad_file syntax_errors[] = {
    {"image.lua", "local M = {}\nlocal x = = 1\nreturn M\n", "2:11: unexpected symbol near '='"},
    {"image.lua", "local M = {}\nfunction M.tag(image)\n  local x = image\n\nM.y = 1\n",
     "6:1: 'end' expected (to close 'function' at line 2) near <eof>"},
    {"image.lua", "local t = { a = 1 b = 2 }\n", "1:19: '}' expected near 'b'"},
    {"image.lua", "return { api = 'image/v1' }}\n", "1:28: <eof> expected near '}'"},
    {"image.lua", "local s = \"abc\nreturn s\n", "1:11: unfinished string near '\"abc'"},
    {"image.lua", "local ä = 1\n", "1:7: "},
    {"image.lua", "local a <const> = 1\n  a = 2\n", "2:3: attempt to assign to const variable 'a'"},
    {"image.lua", "goto nowhere\n", "1:6: no visible label 'nowhere' for <goto>"},
    {"image.lua", "x = 'é' 5\n", "1:9: unexpected symbol near '5'"},
    {"image.lua", "if x then then end\n", "1:11: unexpected symbol near 'then'"},
    {"image.lua", "local x = 3..4\n", "1:11: malformed number near '3..4'"},
    {"image.lua", "", "1:1: the file must return a table, not nothing"},
    {"image.lua", "\xff\xfe", "1:1: the file is not a UTF-8 text"},
};

static const struct bad_file contract_errors[] = {
    {"image.lua", "return {}", "1:1: api is missing: the table that the file returns needs api = \"image/v1\""},
    {"image.lua", "local M = {\n  api = 'image/v2' }\nreturn M",
     "2:3: api is \"image/v2\"; policy image needs \"image/v1\""},
    {"image.lua", "return { api = 'multi_node/v1' }",
     "1:10: api is \"multi_node/v1\"; policy image needs \"image/v1\""},
    {"image.lua", "local M = { api = 'image/v1' }\n\nfunction M.tagg() end\nreturn M",
     "3:12: image/v1 has no function 'tagg'; did you mean 'tag'?"},
    {"image.lua", "local M = { api = 'image/v1' }\nM.tag = 'x'\nreturn M", "2:3: tag must be a function"},
    {"image.lua", "local M = { api = 'image/v1', option = {} }\nreturn M",
     "1:31: image/v1 has no field 'option'; did you mean 'options'?"},
    {"image.lua", "local M = { api = 'image/v1' }\nfunction M.helper() end\nreturn M",
     "2:12: image/v1 has no function 'helper'; names of your own begin with '_'"},
    {"image.lua", "return { api = 'image/v1', options = 3 }", "1:28: options must be a table of names and defaults"},
    {"image.lua", "return { api = 'image/v1',\n options = { a = print } }",
     "2: options /a: a function cannot be turned into JSON"},
    {"image.lua", "return 'image/v1'", "1:1: the file must return a table, not string"},
    {"image.lua", "local M = {}\nM.x.y = 1\nreturn M", "2: attempt to index a nil value (field 'x')"},
    {"image.lua", "local M = {}\nwhile true do end\nreturn M", "2: stopped: it "},
    {"image.lua", "local list = perigee.config\nreturn {}",
     "1: perigee.config can be read inside the functions of a policy only"},
    {"images.lua", "return { api = 'images/v1' }", "1:10: there is no api \"images/v1\"; did you mean \"image/v1\"?"},
    {"mine.lua", "return { api = 'image/v2' }", "1:10: there is no api \"image/v2\"; did you mean \"image/v1\"?"},
    {"mine.lua", "return { api = 'coffee/v1' }", "1:10: there is no api \"coffee/v1\""},
    {"mine.lua", "return {}", "1:1: api is missing"},
};

static const struct bad_file manifest_errors[] = {
    {"policies.yaml", "options: {\n", "policies.yaml:"},
    {"policies.yaml", "optoins: {}\n", "1:10: there is no setting 'optoins'; did you mean 'options'?"},
    {"policies.yaml", "options: []\n", "1:10: options must be an object, not array"},
    {"policies.yaml", "options:\n  imagee: {}\n", "2:11: there is no policy 'imagee'; did you mean 'image'?"},
    {"policies.yaml", "options:\n  image: 3\n", "2:10: options of a policy are an object, not number"},
    {"policies.yaml", "options:\n  image:\n    x: 1\n", "3:8: there is no option of image 'x'"},
    {"policies.yaml", "limits:\n  step: 5\n", "2:9: there is no limit 'step'; did you mean 'steps'?"},
    {"policies.yaml", "limits:\n  steps: 0\n", "2:10: a limit is a whole number above 0"},
    {"policies.yaml", "limits:\n  steps: 100000000\n",
     "2:10: steps: a set may not raise a limit above the program's 50000000"},
    {"policies.yaml", "limits:\n  image:\n    wallMs: 5000\n",
     "3:13: wallMs: a set may not raise a limit above the program's 1000"},
    {"policies.yaml", "use:\n  image: other\n", " use of image: there is no other.lua in the set"},
    {"policies.yaml", "use:\n  image: other.lua\n", "2:10: use needs the name of a file of the set, without .lua"},
    {"policies.yaml", "use:\n  imgae: x\n", "2:10: there is no policy 'imgae'; did you mean 'image'?"},
    {"policies.yaml", "- a\n", "one document with options, limits and use is needed"},
};

static void check_bad_files(struct prg_arena *arena, const struct bad_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *folder = policy_folder(arena, files[i].name, files[i].text, NULL);
        const char *want = prg_arena_printf(arena, "%s/%s:%s", folder, files[i].name, files[i].error);
        if (strncmp(files[i].error, files[i].name, strlen(files[i].name)) == 0 || files[i].error[0] == 'o')
            want = files[i].error;
        assert_text_has(load_errors(arena, folder), want);
        remove_folder(folder);
    }
}

static void syntax_errors_have_line_and_column(void **state)
{
    check_bad_files(*state, syntax_errors, PRG_COUNT(syntax_errors));
}

static void files_are_held_to_their_contract(void **state)
{
    check_bad_files(*state, contract_errors, PRG_COUNT(contract_errors));
}

static void policies_yaml_is_checked(void **state)
{
    check_bad_files(*state, manifest_errors, PRG_COUNT(manifest_errors));
}

static void every_error_of_a_set_is_reported(void **state)
{
    struct prg_arena *arena = *state;
    char *folder = policy_folder(arena, "image.lua", "x x", "multi_node.lua", "return {}", "policies.yaml",
                                 "options: {image: {a: 1}}\nuses: {}\n", "label_priority.lua",
                                 "return { api = 'label_priority/v1', layer = print, resolv = print }", NULL);
    const char *errors = load_errors(arena, folder);
    assert_text_has(errors, "image.lua:1:3: syntax error near 'x'");
    assert_text_has(errors, "multi_node.lua:1:1: api is missing");
    assert_text_has(errors, "policies.yaml:2:7: there is no setting 'uses'; did you mean 'use'?");
    assert_text_has(errors, "has no function 'layer'; did you mean 'layers'?");
    assert_text_has(errors, "has no function 'resolv'; did you mean 'resolve'?");
    struct prg_policy_options options = {.folder = folder};
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    assert_int_equal(prg_policy_set_load(&options, &set, &err), PRG_INVALID);
    assert_error_has(&err, "6 errors, the first: ");
    remove_folder(folder);
}

static void a_folder_that_cannot_be_read_is_an_error(void **state)
{
    struct prg_arena *arena = *state;
    assert_text_has(load_errors(arena, "/tmp/perigee-no-such-folder"), "/tmp/perigee-no-such-folder: No such file");
    char *folder = policy_folder(arena, NULL);
    char *large = prg_arena_alloc(arena, 300001);
    memset(large, ' ', 300000);
    large[300000] = '\0';
    char *with_large = policy_folder(arena, "image.lua", large, NULL);
    assert_text_has(load_errors(arena, with_large), "image.lua: not a file of at most 262144 bytes");
    assert_int_equal(mkdir(prg_arena_printf(arena, "%s/image.lua", folder), 0777), 0);
    assert_text_has(load_errors(arena, folder), "image.lua: not a file");
    assert_int_equal(remove(prg_arena_printf(arena, "%s/image.lua", folder)), 0);
    remove_folder(folder);
    remove_folder(with_large);
}

// ---- sets ----

static void add_file(const char *policy, const char *file, bool shipped, void *ctx)
{
    const char *slash = strrchr(file, '/');
    prg_strbuf_printf(ctx, "%s=%s%s ", policy, shipped ? "shipped" : "", slash);
}

static void the_shipped_set_loads(void **state)
{
    prg_auto_strbuf files = PRG_STRBUF_INIT;
    struct prg_policy_set *set = load_set(NULL);
    prg_policy_set_each_file(set, add_file, &files);
    static const char *const policies[] = {"annotation_filter", "container_merge", "image",
                                           "label_priority",    "multi_node",      "object_patch",
                                           "runtime_selection"};
    for (size_t i = 0; i < PRG_COUNT(policies); i++)
        assert_text_has(files.text, prg_arena_printf(*state, "%s=shipped/%s.lua ", policies[i], policies[i]));
    assert_int_equal(strlen(prg_policy_set_revision(set)), 16);
    assert_int_equal(strspn(prg_policy_set_revision(set), "0123456789abcdef"), 16);
    prg_policy_set_unref(prg_policy_set_ref(set));
    prg_policy_set_unref(set);
    prg_policy_set_unref(NULL);
}

static void an_overlay_comes_before_the_shipped_file(void **state)
{
    struct prg_arena *arena = *state;
    prg_auto_strbuf files = PRG_STRBUF_INIT;
    char *folder = policy_folder(arena, "image.lua", "return { api = 'image/v1', _note = 1 }", ".hidden.lua", "not Lua",
                                 "README.md", "not Lua", NULL);
    struct prg_policy_set *set = load_set(folder);
    prg_policy_set_each_file(set, add_file, &files);
    assert_text_has(files.text, "image=/image.lua image=shipped/image.lua ");
    prg_policy_set_unref(set);
    unlink(prg_arena_printf(arena, "%s/.hidden.lua", folder));
    remove_folder(folder);
}

static void use_names_another_file(void **state)
{
    struct prg_arena *arena = *state;
    prg_auto_strbuf files = PRG_STRBUF_INIT;
    char *folder = policy_folder(arena, "image.lua", "return { api = 'image/v1' }", "image_mirror.lua",
                                 "return { api = 'image/v1' }", "policies.yaml", "use: {image: image_mirror}\n", NULL);
    struct prg_policy_set *set = load_set(folder);
    prg_policy_set_each_file(set, add_file, &files);
    assert_text_has(files.text, " image=/image_mirror.lua image=shipped/image.lua ");
    prg_policy_set_unref(set);
    remove_folder(folder);
}

static char *revision_of(struct prg_arena *arena, const char *lua, const char *yaml)
{
    char *folder = yaml ? policy_folder(arena, "image.lua", lua, "policies.yaml", yaml, NULL)
                        : policy_folder(arena, "image.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    char *revision = prg_arena_strdup(arena, prg_policy_set_revision(set));
    prg_policy_set_unref(set);
    remove_folder(folder);
    return revision;
}

static void the_revision_is_that_of_texts_and_options(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "return { api = 'image/v1', options = { a = 1 } }";
    const char *first = revision_of(arena, lua, NULL);
    assert_string_equal(first, revision_of(arena, lua, NULL)); // another folder, the same set
    assert_string_equal(first, revision_of(arena, lua, "options: {image: {a: 1}}\n"));
    assert_string_equal(first, revision_of(arena, lua, "limits: {steps: 1000000}\n"));
    assert_string_not_equal(first, revision_of(arena, lua, "options: {image: {a: 2}}\n"));
    assert_string_not_equal(first, revision_of(arena, "return { api = 'image/v1', options = { a = 1 } } ", NULL));
    struct prg_policy_set *set = load_set(NULL);
    assert_string_not_equal(first, prg_policy_set_revision(set));
    prg_policy_set_unref(set);
}

// Asks the image policy of a set in a plan of its own.
static const char *ask_image(struct prg_arena *arena, struct prg_policy_set *set, struct prg_error *err)
{
    const struct prg_decider *decide = prg_policy_set_decider(set);
    struct prg_decision_context context = {.arena = arena,
                                           .service = json_of(arena, "{}"),
                                           .config = json_of(arena, "{}"),
                                           .compat = json_of(arena, "{}")};
    struct prg_image_request request = {.runtime_name = "r"};
    const char *image = NULL;
    assert_ok(decide->begin(decide->ctx, &context, err), err);
    int rc = decide->image_tag(decide->ctx, "a:1", &request, &image, NULL, err);
    decide->end(decide->ctx);
    return rc == PRG_OK ? image : NULL;
}

static void options_reach_the_functions(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'image/v1', options = { mirror = 'none', deep = { list = {} } } }\n"
                      "function M.tag(image) return options.mirror .. '/' .. image .. #options.deep.list end\n"
                      "return M\n";
    struct prg_error err = {0};
    char *folder = policy_folder(arena, "image.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    assert_string_equal(ask_image(arena, set, &err), "none/a:10");
    prg_policy_set_unref(set);
    remove_folder(folder);
    folder = policy_folder(arena, "image.lua", lua, "policies.yaml",
                           "options:\n  image:\n    mirror: m.example\n    deep: {list: [1, 2]}\n", NULL);
    set = load_set(folder);
    assert_string_equal(ask_image(arena, set, &err), "m.example/a:12");
    prg_policy_set_unref(set);
    remove_folder(folder);
    folder =
        policy_folder(arena, "image.lua", lua, "policies.yaml", "options: {image: {mirror: 3, mirorr: x}}\n", NULL);
    const char *errors = load_errors(arena, folder);
    assert_text_has(errors, "policies.yaml:1:27: option 'mirror' of image is a string, not number");
    assert_text_has(errors, "there is no option of image 'mirorr'; did you mean 'mirror'?");
    remove_folder(folder);
}

static void limits_of_a_set_hold_for_its_policies(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'image/v1' }\n"
                      "function M.tag(image)\n  for _ = 1, 100000 do end\n  return image\nend\n"
                      "return M\n";
    struct prg_error err = {0};
    char *folder = policy_folder(arena, "image.lua", lua, "policies.yaml",
                                 "limits:\n  steps: 1000000\n  image: {steps: 5000}\n", NULL);
    struct prg_policy_set *set = load_set(folder);
    assert_null(ask_image(arena, set, &err));
    assert_int_equal(err.code, PRG_POLICY);
    assert_error_has(&err, "policy image, function tag: /tmp/perigee-policy-");
    assert_error_has(&err, "/image.lua:3: stopped: it took more than 5000 steps (limit steps)");
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// ---- sets whose texts are at hand ----

// data: YAML.
static const cJSON *config_map(struct prg_arena *arena, const char *name, const char *data)
{
    struct prg_yaml_docs docs;
    struct prg_error err = {0};
    const char *text = prg_arena_printf(arena, "{metadata: {name: %s, namespace: team-a}, %s}", name, data);
    assert_ok(prg_yaml_load(arena, "map", text, strlen(text), NULL, &docs, &err), &err);
    return docs.items[0];
}

static void add_error(const char *text, void *ctx)
{
    prg_strbuf_puts(ctx, text);
    prg_strbuf_putc(ctx, '\n');
}

// The set of a ConfigMap's entries, over base when there is one. Fails the test when it does not load.
static struct prg_policy_set *load_map(struct prg_arena *arena, const cJSON *map, struct prg_policy_set *base,
                                       const char *allowed)
{
    struct prg_vec texts;
    struct prg_error err = {0};
    struct prg_policy_options options = {.texts = &texts, .base = base};
    struct prg_policy_set *set = NULL;
    prg_vec_init(&texts);
    assert_ok(prg_policy_config_map_read(arena, map, &texts, NULL, NULL, &err), &err);
    assert_ok(prg_policy_names_read(allowed, &options.allowed, &err), &err);
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    prg_vec_release(&texts);
    return set;
}

static const char *map_errors(struct prg_arena *arena, const cJSON *map, struct prg_policy_set *base,
                              const char *allowed)
{
    struct prg_vec texts;
    struct prg_error err = {0};
    prg_auto_strbuf errors = PRG_STRBUF_INIT;
    struct prg_policy_options options = {.texts = &texts, .base = base, .report = add_error, .report_ctx = &errors};
    struct prg_policy_set *set = NULL;
    prg_vec_init(&texts);
    assert_ok(prg_policy_names_read(allowed, &options.allowed, &err), &err);
    if (prg_policy_config_map_read(arena, map, &texts, add_error, &errors, &err) == PRG_OK)
        assert_int_equal(prg_policy_set_load(&options, &set, &err), PRG_INVALID);
    prg_vec_release(&texts);
    return prg_arena_strdup(arena, errors.text);
}

static const char image_map[] =
    "'data': {'image.lua': \"return { api = 'image/v1', options = { to = 'x' },\\n"
    " tag = function(image) return options.to .. '/' .. image end }\", 'policies.yaml': 'options: {image: {to: yy}}'}";

static void a_config_map_is_a_set(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_error err = {0};
    prg_auto_strbuf files = PRG_STRBUF_INIT;
    char *folder = policy_folder(arena, "image.lua",
                                 "return { api = 'image/v1', options = { to = 'x' },\n tag = function(image) return "
                                 "options.to .. '/' .. image end }",
                                 "policies.yaml", "options: {image: {to: yy}}", NULL);
    struct prg_policy_set *set = load_map(arena, config_map(arena, "rules", image_map), NULL, ""),
                          *same = load_set(folder);
    assert_string_equal(ask_image(arena, set, &err), "yy/a:1");
    assert_string_equal(prg_policy_set_revision(set), prg_policy_set_revision(same)); // wherever it lies
    prg_policy_set_each_file(set, add_file, &files);
    assert_text_has(files.text, "image=/rules:image.lua ");
    prg_policy_set_unref(set);
    prg_policy_set_unref(same);
    remove_folder(folder);
    set = load_map(arena, config_map(arena, "empty", "'data': null"), NULL, "");
    same = load_set(NULL);
    assert_string_equal(prg_policy_set_revision(set), prg_policy_set_revision(same));
    prg_policy_set_unref(set);
    prg_policy_set_unref(same);
}

static void what_is_wrong_with_a_config_map_is_told_with_object_and_pointer(void **state)
{
    static const struct {
        const char *data, *error;
    } cases[] = {
        {"'data': []", "configmap team-a/rules: /data: must be an object of texts, not array\n"},
        {"'data': {'image.lua': 1}", "configmap team-a/rules: /data/image.lua: must be a text, not number\n"},
        {"'binaryData': {'image.lua': 'AAAA'}",
         "configmap team-a/rules: /binaryData/image.lua: policies are texts and belong under data\n"},
        {"'binaryData': 3", "configmap team-a/rules: /binaryData: must be an object, not number\n"},
        {"'data': {'a/b.lua': ''}", "configmap team-a/rules: /data/a~1b.lua: not the name of a file"},
        {"'data': {'../x.lua': ''}", "configmap team-a/rules: /data/..~1x.lua: not the name of a file"},
        {"'data': {'': ''}", "configmap team-a/rules: /data/: not the name of a file"},
        {"'data': {'.image.lua': ''}", "configmap team-a/rules: /data/.image.lua: not the name of a file"},
        {"'data': {'policies.yml': ''}", "/data/policies.yml: a set is made of NAME.lua, NAME_spec.lua and "
                                         "policies.yaml; did you mean 'policies.yaml'?"},
        {"'data': {'image': ''}", "/data/image: a set is made of "},
        {"'data': {'_spec.lua': ''}", "/data/_spec.lua: a set is made of "},
        {"'data': {'image.lua': \"a\\0b\"}", "/data/image.lua: byte 2 is NUL\n"},
        {"'data': {'image.lua': 'return {'}", "configmap team-a/rules:image.lua:1:9: unexpected symbol near <eof>\n"},
        {"'data': {'policies.yaml': 'optoins: {}'}",
         "configmap team-a/rules:policies.yaml:1:10: there is no setting 'optoins'; did you mean 'options'?\n"},
        {"'data': {'policies.yaml': 'limits: {steps: 100000000}'}",
         "configmap team-a/rules:policies.yaml:1:17: steps: a set may not raise a limit"},
        {"'data': {'image_spec.lua': \"it('is met', function() assert.is_true(false) end)\"}",
         "configmap team-a/rules:image_spec.lua:1: "},
    };
    struct prg_arena *arena = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_text_has(map_errors(arena, config_map(arena, "rules", cases[i].data), NULL, ""), cases[i].error);
}

static void config_maps_beyond_all_measure_are_refused(void **state)
{
    struct prg_arena *arena = *state;
    cJSON *map = prg_json_copy(arena, config_map(arena, "rules", "'data': {}"));
    cJSON *data = prg_json_ensure_object(arena, map, "data");
    char *large = prg_arena_alloc(arena, 300000);
    memset(large, ' ', 300000);
    prg_json_set(arena, data, "image.lua", prg_json_stringn(arena, large, 300000));
    assert_text_has(map_errors(arena, map, NULL, ""), "/data/image.lua: longer than 262144 bytes\n");
    for (int i = 0; i < 5; i++)
        prg_json_set(arena, data, prg_arena_printf(arena, "%d_spec.lua", i), prg_json_stringn(arena, large, 250000));
    assert_text_has(map_errors(arena, map, NULL, ""), "/data: 1550000 bytes; a set has at most 1048576\n");
    map = prg_json_copy(arena, config_map(arena, "rules", "'data': {}"));
    prg_json_set(arena, prg_json_ensure_object(arena, map, "data"), "image.lua", prg_json_stringn(arena, "a\xc3(", 3));
    assert_text_has(map_errors(arena, map, NULL, ""), "/data/image.lua: byte 2 is not UTF-8\n");
}

static void two_maps_may_not_have_one_file(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_vec texts;
    struct prg_error err = {0};
    prg_vec_init(&texts);
    assert_ok(prg_policy_config_map_read(arena, config_map(arena, "a", image_map), &texts, NULL, NULL, &err), &err);
    assert_int_equal(prg_policy_config_map_read(arena, config_map(arena, "b", image_map), &texts, NULL, NULL, &err),
                     PRG_INVALID);
    assert_error_has(&err,
                     "configmap team-a/b: /data/image.lua: there is one of that name already, in configmap team-a/a");
    assert_int_equal(texts.count, 2);
    prg_vec_release(&texts);
}

// ---- namespaces ----

static void a_namespace_lies_over_the_set_and_shares_its_files(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_error err = {0};
    prg_auto_strbuf files = PRG_STRBUF_INIT;
    struct prg_policy_set *base = load_map(arena, config_map(arena, "rules", image_map), NULL, "");
    // Its own file has no opinion about what begins with b, so the set is asked; an option of the set's file is its
    // own.
    struct prg_policy_set *own =
        load_map(arena,
                 config_map(arena, "mine",
                            "'data': {'image.lua': \"return { api = 'image/v1', tag = function(image) "
                            "if image == 'a:1' then return nil end return 'mine' end }\","
                            " 'policies.yaml': 'options: {image: {to: z}}'}"),
                 base, "image");
    prg_policy_set_each_file(own, add_file, &files);
    assert_text_has(files.text, "image=/mine:image.lua image=/rules:image.lua image=shipped/image.lua ");
    assert_string_equal(ask_image(arena, own, &err), "z/a:1");
    assert_string_equal(ask_image(arena, base, &err), "yy/a:1");
    assert_string_equal(ask_image(arena, own, &err), "z/a:1");
    assert_string_not_equal(prg_policy_set_revision(own), prg_policy_set_revision(base));
    // The set changes below it.
    struct prg_policy_set *next = load_set(NULL), *moved = NULL;
    assert_int_equal(prg_policy_set_rebase(own, next, &moved, &err), PRG_INVALID);
    assert_error_has(&err, "configmap team-a/mine:policies.yaml:1:23: there is no option of image 'to'");
    prg_policy_set_unref(next);
    next = load_map(arena,
                    config_map(arena, "rules",
                               "'data': {'image.lua': \"return { api = 'image/v1', options = { to = 'n' },"
                               " tag = function(image) return options.to .. '-new/' .. image end }\"}"),
                    NULL, "");
    assert_ok(prg_policy_set_rebase(own, next, &moved, &err), &err);
    prg_policy_set_unref(base);
    prg_policy_set_unref(own);
    prg_policy_set_unref(next);
    assert_string_equal(ask_image(arena, moved, &err), "z-new/a:1");
    prg_policy_set_unref(moved);
}

static void a_namespace_sets_what_it_may(void **state)
{
    static const struct {
        const char *data, *error;
    } cases[] = {
        {"'data': {'multi_node.lua': \"return { api = 'multi_node/v1' }\"}",
         "configmap team-a/mine:multi_node.lua: policy multi_node is not one that namespaces may set here\n"},
        {"'data': {'mine.lua': \"return { api = 'multi_node/v1' }\", 'policies.yaml': 'use: {multi_node: mine}'}",
         "configmap team-a/mine:policies.yaml:1:19: policy multi_node is not one that namespaces may set here\n"},
        {"'data': {'policies.yaml': 'options: {multi_node: {}}'}",
         "policies.yaml:1:23: policy multi_node is not one that namespaces may set here\n"},
        {"'data': {'policies.yaml': 'limits: {multi_node: {steps: 1}}'}",
         "policies.yaml:1:22: policy multi_node is not one that namespaces may set here\n"},
        {"'data': {'policies.yaml': 'limits: {wallMs: 100000}'}", "a set may not raise a limit"},
    };
    struct prg_arena *arena = *state;
    struct prg_error err = {0};
    uint32_t allowed;
    struct prg_policy_set *base = load_set(NULL);
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_text_has(map_errors(arena, config_map(arena, "mine", cases[i].data), base, "image,object_patch"),
                        cases[i].error);
    prg_policy_set_unref(base);
    assert_int_equal(prg_policy_names_read("image,imgae", &allowed, &err), PRG_INVALID);
    assert_error_has(&err, "there is no policy 'imgae'; did you mean 'image'?");
    assert_int_equal(prg_policy_names_read("image,,multi_node", &allowed, &err), PRG_INVALID);
}

// ---- export ----

static void shipped_policies_are_exported_and_kept(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_error err = {0};
    char *parent = policy_folder(arena, NULL), *folder = prg_arena_printf(arena, "%s/policies", parent);
    assert_ok(prg_policy_export(folder, false, &err), &err);
    assert_ok(prg_policy_export(folder, false, &err), &err);
    struct prg_policy_set *set = load_set(folder);
    prg_policy_set_unref(set);
    const char *image = prg_arena_printf(arena, "%s/image.lua", folder);
    FILE *file = fopen(image, "ab");
    fputs("-- mine\n", file);
    fclose(file);
    assert_int_equal(prg_policy_export(folder, false, &err), PRG_CONFLICT);
    assert_error_has(&err, "image.lua: it differs from the shipped one; --force overwrites it");
    assert_ok(prg_policy_export(folder, true, &err), &err);
    prg_error_clear(&err);
    assert_ok(prg_policy_export(folder, false, &err), &err);
    assert_int_equal(prg_policy_export("/proc/none", false, &err), PRG_IO);
    remove_folder(folder);
    remove_folder(parent);
}

struct visited {
    size_t count;
    bool in_order;
    char last[64];
};

static void visit_shipped(const char *name, const char *text, size_t length, void *ctx)
{
    struct visited *visited = ctx;
    visited->in_order = visited->in_order && strcmp(visited->last, name) < 0;
    snprintf(visited->last, sizeof(visited->last), "%s", name);
    visited->count++;
    assert_int_equal(strlen(text), length);
    assert_text_has(text, "SPDX-License-Identifier");
}

static void shipped_policies_can_be_visited(void **state)
{
    struct visited visited = {.in_order = true};
    (void)state;
    prg_policy_each_shipped(visit_shipped, &visited);
    assert_true(visited.count >= 7);
    assert_true(visited.in_order);
}

static void assert_differs(const char *folder, bool stage, bool image)
{
    struct prg_policy_options options = {.folder = folder};
    struct prg_policy_set *set;
    struct prg_error err = {0};
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    assert_int_equal(prg_policy_set_differs(set, "il_stage"), stage);
    assert_int_equal(prg_policy_set_differs(set, "image"), image);
    assert_false(prg_policy_set_differs(set, "multi_node"));
    prg_policy_set_unref(set);
}

static void a_set_knows_what_it_decides_otherwise_than_the_shipped_one(void **state)
{
    struct prg_error err = {0};
    char *used = policy_folder(*state, "policies.yaml", "use: {il_stage: il_stage_resilient}\n", NULL);
    char *edited =
        policy_folder(*state, "image.lua", "return { api = 'image/v1', tag = function(image) return image end }", NULL);
    char *exported = policy_folder(*state, "policies.yaml", "limits: {steps: 1000000}\n", NULL);
    assert_ok(prg_policy_export(exported, false, &err), &err);
    assert_differs(NULL, false, false);
    assert_differs(exported, false, false);
    assert_differs(used, true, false);
    assert_differs(edited, false, true);
    remove_folder(used);
    remove_folder(edited);
    remove_folder(exported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_knows_what_it_decides_otherwise_than_the_shipped_one),
        cmocka_unit_test(syntax_errors_have_line_and_column),
        cmocka_unit_test(files_are_held_to_their_contract),
        cmocka_unit_test(policies_yaml_is_checked),
        cmocka_unit_test(every_error_of_a_set_is_reported),
        cmocka_unit_test(a_folder_that_cannot_be_read_is_an_error),
        cmocka_unit_test(the_shipped_set_loads),
        cmocka_unit_test(an_overlay_comes_before_the_shipped_file),
        cmocka_unit_test(use_names_another_file),
        cmocka_unit_test(the_revision_is_that_of_texts_and_options),
        cmocka_unit_test(options_reach_the_functions),
        cmocka_unit_test(limits_of_a_set_hold_for_its_policies),
        cmocka_unit_test(a_config_map_is_a_set),
        cmocka_unit_test(what_is_wrong_with_a_config_map_is_told_with_object_and_pointer),
        cmocka_unit_test(config_maps_beyond_all_measure_are_refused),
        cmocka_unit_test(two_maps_may_not_have_one_file),
        cmocka_unit_test(a_namespace_lies_over_the_set_and_shares_its_files),
        cmocka_unit_test(a_namespace_sets_what_it_may),
        cmocka_unit_test(shipped_policies_are_exported_and_kept),
        cmocka_unit_test(shipped_policies_can_be_visited),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
