// SPDX-License-Identifier: Apache-2.0
// test_answers.c: what `perigee check` finds in the answers of a set.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "check/samples.h"
#include "serving/plan.h"
#include "stdlib/natives.h"

struct folder {
    char path[64];
    char file[128];
    struct prg_policy_set *set;
    struct prg_check_counts counts;
    struct prg_strbuf found;
};

static void append(const struct prg_check_finding *finding, void *ctx)
{
    struct folder *folder = ctx;
    const char *name = strrchr(finding->file, '/');
    prg_strbuf_printf(&folder->found, "%s:%u %s: %s\n", name ? name + 1 : finding->file, finding->line, finding->rule,
                      finding->message);
}

// Checks a set of one file, texts and answers.
static void check(struct folder *folder, const char *name, const char *text)
{
    struct prg_policy_limits limits = {0};
    struct prg_check_samples samples = {.objects = NULL, .compat = NULL, .config_namespace = NULL};
    struct prg_error err = {0};
    *folder = (struct folder){.path = "/tmp/perigee-check-XXXXXX", .found = PRG_STRBUF_INIT};
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->file, sizeof(folder->file), "%s/%s", folder->path, name);
    FILE *file = fopen(folder->file, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    int rc = prg_check_set(folder->path, NULL, &limits, append, folder, &folder->counts, &folder->set, &err);
    assert_ok(rc, &err);
    if (folder->set)
        assert_ok(prg_check_answers(folder->set, &samples, append, folder, &folder->counts, &err), &err);
}

static void done(struct folder *folder)
{
    prg_policy_set_unref(folder->set);
    prg_strbuf_release(&folder->found);
    unlink(folder->file);
    rmdir(folder->path);
}

static void assert_found(const char *name, const char *text, const char *part)
{
    struct folder folder;
    check(&folder, name, text);
    if (!strstr(folder.found.text, part))
        fail_msg("of\n%s\nfound:\n%swanted: %s", text, folder.found.text, part);
    assert_true(folder.counts.errors > 0);
    done(&folder);
}

static void assert_clean(const char *name, const char *text)
{
    struct folder folder;
    check(&folder, name, text);
    if (folder.found.length)
        fail_msg("of\n%s\nfound:\n%s", text, folder.found.text);
    done(&folder);
}

#define BEFORE(body) "local M = { api = 'runtime_selection/v1' }\nfunction M.before(a, b)\n  " body "\nend\nreturn M\n"

static void an_order_is_an_order(void **state)
{
    (void)state;
    assert_clean("runtime_selection.lua", BEFORE("return a.name < b.name"));
    assert_clean("runtime_selection.lua", BEFORE("return false, b == a"));
    assert_clean("runtime_selection.lua", BEFORE("return a.protocol > b.protocol"));
}

static void a_before_that_is_no_order_is_named_with_its_candidates(void **state)
{
    (void)state;
    assert_found(
        "runtime_selection.lua", BEFORE("return a.name <= b.name"),
        "runtime_selection.lua:2 strict-weak-order: InferenceService team-a/full: `before` is no order: it holds '");
    assert_found("runtime_selection.lua", BEFORE("return a.name ~= b.name"), "' to come before '");
    // Stone, scissors, paper by the length of the name.
    assert_found("runtime_selection.lua", BEFORE("return (#a.name - #b.name) % 3 == 1"), ", but '");
    // Near enough is equal, but not to everybody.
    assert_found("runtime_selection.lua", BEFORE("return #a.name - #b.name > 1"), "' is equal to '");
}

// All are asked about in one call; what was asked before must not matter.
static void what_is_kept_from_candidate_to_candidate_is_found(void **state)
{
    (void)state;
    static const char *const bodies[] = {"return n % 2 == 0", "return n < 3", "return n > 0, 'number ' .. n",
                                         "return false, 'number ' .. n", "return next(seen) == candidate.name"};
    for (size_t i = 0; i < PRG_COUNT(bodies); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "local n, seen = 0, {}\nlocal M = { api = 'runtime_selection/v1' }\nfunction M.accept(candidate)\n"
                 "  n = n + 1\n  seen[candidate.name] = true\n  %s\nend\nreturn M\n",
                 bodies[i]);
        assert_found("runtime_selection.lua", text, "runtime_selection.lua:3 pure: InferenceService team-a/");
    }
    assert_found("runtime_selection.lua",
                 "local n = 0\n" BEFORE("n = n + 1\n  if n % 2 == 0 then return false end return a.name < b.name"),
                 "runtime_selection.lua:3 pure: InferenceService team-a/full: whether '");
}

#define PATCH(body)                                                                                                    \
    "local M = { api = 'object_patch/v1' }\nfunction M.patch(object, service)\n  " body "\nend\nreturn M\n"

static void a_patch_that_changes_its_own_result_is_found(void **state)
{
    (void)state;
    assert_found("object_patch.lua",
                 PATCH("local n = object.metadata.annotations and object.metadata.annotations.n or ''\n"
                       "return { metadata = { annotations = { n = n .. 'x', s = service.metadata.name } } }"),
                 "object_patch.lua:2 fixed-point: InferenceService ");
    assert_clean("object_patch.lua", PATCH("return { metadata = { annotations = { of = service.metadata.name } } }"));
}

static void a_policy_that_raises_is_found_on_the_samples(void **state)
{
    (void)state;
    assert_found("object_patch.lua",
                 PATCH("return { metadata = { labels = { n = #service.metadata.labels.app, k = object.kind } } }"),
                 "object_patch.lua:3 policy-error: InferenceService ");
    assert_found("image.lua",
                 "local M = { api = 'image/v1' }\nfunction M.tag(image)\n  return { image }\nend\nreturn M\n",
                 "image.lua:2 policy-error: InferenceService ");
    assert_found(
        "il_stage.lua",
        "local M = { api = 'il_stage/v1' }\nfunction M.transit(input)\n  return input.pod.phase\nend\nreturn M\n",
        "il_stage.lua:3 policy-error: a learning job in stage Train: ");
}

static void every_error_of_the_set_is_listed(void **state)
{
    struct folder folder;
    (void)state;
    check(&folder, "image.lua",
          "local M = { api = 'image/v1' }\nfunction M.tagg() return zzzz end\nM.tag = 3\nreturn M\n");
    assert_null(folder.set);
    assert_non_null(
        strstr(folder.found.text, "image.lua:2 contract: image/v1 has no function 'tagg'; did you mean 'tag'?"));
    assert_non_null(strstr(folder.found.text, "image.lua:3 contract: tag must be a function"));
    assert_non_null(strstr(folder.found.text, "image.lua:2 undefined-global: undefined global 'zzzz'"));
    done(&folder);
    check(&folder, "image.lua", "return {{\n");
    assert_string_equal("image.lua:2 syntax: unexpected symbol near <eof>\n", folder.found.text);
    done(&folder);
}

static void the_shipped_policies_answer_well(void **state)
{
    struct prg_policy_options options = {.folder = NULL};
    struct prg_check_samples samples = {.objects = NULL, .compat = NULL, .config_namespace = NULL};
    struct folder folder = {.found = PRG_STRBUF_INIT};
    struct prg_error err = {0};
    (void)state;
    assert_ok(prg_policy_set_load(&options, &folder.set, &err), &err);
    for (int i = 0; i < 2; i++) {
        samples.compat = i ? &prg_compat_kserve : &prg_compat_fixed;
        assert_ok(prg_check_answers(folder.set, &samples, append, &folder, &folder.counts, &err), &err);
        assert_string_equal("", folder.found.text);
    }
    prg_policy_set_unref(folder.set);
    prg_strbuf_release(&folder.found);
}

struct planning {
    struct prg_arena arena;
    struct prg_policy_set *set;
    struct prg_store *store;
    struct prg_serving_config config;
    int count;
};

static void plan(const cJSON *service, void *ctx)
{
    struct planning *planning = ctx;
    struct prg_plan *made = prg_plan_new(&planning->arena);
    struct prg_serving_input in = {.service = service,
                                   .store = &planning->store->reader,
                                   .config = &planning->config,
                                   .compat = &prg_compat_fixed};
    struct prg_error err = {0};
    const char *name = prg_json_text(prg_json_at(service, "metadata", "name"));
    assert_ok(prg_serving_plan(&in, prg_policy_set_decider(planning->set), made, &err), &err);
    if ((made->error != NULL) != (strcmp(name, "nothing-fits") == 0))
        fail_msg("%s: %s", name, made->error ? made->error : "it was to be refused");
    planning->count++;
}

static void the_samples_reach_the_policies(void **state)
{
    struct planning planning = {.count = 0};
    struct prg_policy_options options = {.folder = NULL};
    struct prg_error err = {0};
    (void)state;
    prg_arena_init(&planning.arena);
    planning.store = prg_check_samples_new(&planning.arena);
    prg_serving_config_parse(&planning.arena, prg_check_samples_config(&planning.arena), &planning.config);
    assert_ok(prg_policy_set_load(&options, &planning.set, &err), &err);
    planning.store->reader.list(&planning.store->reader, "serving.kserve.io", "InferenceService", NULL, plan,
                                &planning);
    assert_true(planning.count >= 14);
    prg_policy_set_unref(planning.set);
    prg_store_free(planning.store);
    prg_arena_release(&planning.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_is_an_order),
        cmocka_unit_test(a_before_that_is_no_order_is_named_with_its_candidates),
        cmocka_unit_test(what_is_kept_from_candidate_to_candidate_is_found),
        cmocka_unit_test(a_patch_that_changes_its_own_result_is_found),
        cmocka_unit_test(a_policy_that_raises_is_found_on_the_samples),
        cmocka_unit_test(every_error_of_the_set_is_listed),
        cmocka_unit_test(the_shipped_policies_answer_well),
        cmocka_unit_test(the_samples_reach_the_policies),
    };
    prg_stdlib_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
