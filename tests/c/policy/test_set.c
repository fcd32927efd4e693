// SPDX-License-Identifier: Apache-2.0
// test_set.c: loading policy sets: errors with their place, overlays, options, limits, revisions, export.
#include "policy_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(shipped_policies_are_exported_and_kept),
        cmocka_unit_test(shipped_policies_can_be_visited),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
