// SPDX-License-Identifier: Apache-2.0
// test_hostile.c: each script of cases/hostile is the body of a policy function that tries to run for ever, eat memory,
// get out of the sandbox, or answer what may not be answered. It ends with the error of its first line:
//
//   -- POLICY LINE: TEXT      LINE "*": any line of the script
//
// and the same set decides on as if nothing had happened. PRG_TEST_SHOW=1 prints what each of them says.
#include "policy_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "policy/set.h"

enum { STEPS = 100000, MEMORY = 2 << 20, BLOCK = 256 << 10, AT_LEAST = 60 };

struct hostile {
    char *name, *text;
    const char *policy, *function, *arguments;
    char line[16], error[128];
};

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    char chunk[4096];
    size_t n;
    assert_non_null(file);
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        prg_strbuf_add(&text, chunk, n);
    fclose(file);
    return prg_strbuf_steal(&text, NULL);
}

static struct hostile *read_hostile(struct prg_arena *arena, const char *name)
{
    struct hostile *hostile = prg_arena_new(arena, struct hostile);
    char policy[32] = "";
    char *text = read_text(prg_arena_printf(arena, "cases/hostile/%s", name));
    hostile->name = prg_arena_strdup(arena, name);
    hostile->text = prg_arena_strdup(arena, text);
    free(text);
    char *body = strchr(hostile->text, '\n');
    assert_non_null(body);
    *body = '\0';
    if (sscanf(hostile->text, "-- %31s %15[^:]: %127[^\n]", policy, hostile->line, hostile->error) != 3)
        fail_msg("%s: the first line must be '-- POLICY LINE: TEXT'", name);
    *body = '\n';
    hostile->text = body; // the line break stays, so that lines are numbered as in the file
    bool is_patch = strcmp(policy, "object_patch") == 0;
    assert_true(is_patch || strcmp(policy, "image") == 0);
    hostile->policy = is_patch ? "object_patch" : "image";
    hostile->function = is_patch ? "patch" : "tag";
    hostile->arguments = is_patch ? "object, service" : "image, request";
    return hostile;
}

static int compare_names(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(a, b);
}

static void each_hostile(struct prg_arena *arena, void (*run)(struct prg_arena *arena, const struct hostile *hostile))
{
    struct prg_vec names;
    DIR *dir = opendir("cases/hostile");
    const struct dirent *entry;
    prg_vec_init(&names);
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        if (prg_text_has_suffix(entry->d_name, ".lua"))
            prg_vec_push(&names, prg_arena_strdup(arena, entry->d_name));
    closedir(dir);
    assert_true(names.count >= AT_LEAST);
    prg_vec_sort(&names, compare_names, NULL);
    for (size_t i = 0; i < names.count; i++) {
        prg_auto_arena own;
        prg_arena_init(&own);
        run(&own, read_hostile(&own, names.items[i]));
    }
    prg_vec_release(&names);
}

// ---- a plan with the script in it ----

struct plan {
    struct prg_arena *arena;
    char *folder;
    struct prg_policy_set *set;
    struct prg_decision_context context;
    const struct prg_decider *decide;
    struct prg_vm *vm; // of the hostile file
};

static struct plan *open_plan(struct prg_arena *arena, const struct hostile *hostile)
{
    struct plan *plan = prg_arena_new(arena, struct plan);
    const char *code =
        prg_arena_printf(arena, "local M = { api = '%s/v1', options = { x = 0 } } function M.%s(%s)%s\nend\nreturn M\n",
                         hostile->policy, hostile->function, hostile->arguments, hostile->text);
    struct prg_policy_options options = {.limits = {.max_steps = STEPS,
                                                    .max_memory_bytes = MEMORY,
                                                    .max_block_bytes = BLOCK,
                                                    .max_wall_ms = 60000,
                                                    .max_result_nodes = 2000}};
    struct prg_error err = {0};
    plan->arena = arena;
    options.folder = plan->folder =
        policy_folder(arena, prg_arena_printf(arena, "%s.lua", hostile->policy), code, NULL);
    assert_ok(prg_policy_set_load(&options, &plan->set, &err), &err);
    const struct prg_contract *contract = prg_contract_by_name(hostile->policy);
    plan->vm = plan->set->files[contract - prg_contracts][PRG_LAYER_SET]->vm;
    plan->decide = prg_policy_set_decider(plan->set);
    plan->context = (struct prg_decision_context){.arena = arena,
                                                  .service = json_of(arena, "{'metadata': {'name': 's'}}"),
                                                  .config = json_of(arena, "{'deploy': {'x': [1, {'y': 'z'}]}}"),
                                                  .compat = json_of(arena, "{'image_suffix': true}")};
    assert_ok(plan->decide->begin(plan->decide->ctx, &plan->context, &err), &err);
    return plan;
}

static void close_plan(struct plan *plan)
{
    plan->decide->end(plan->decide->ctx);
    prg_policy_set_unref(plan->set);
    remove_folder(plan->folder);
}

static int ask(struct plan *plan, const struct hostile *hostile, char text[PRG_ERROR_LINE])
{
    static const struct prg_gpu_count gpus[] = {{"nvidia.com/gpu", "1"}};
    static const struct prg_image_request request = {.runtime_name = "mine", .gpus = gpus, .gpu_count = 1};
    struct prg_policy_source source;
    struct prg_error err = {0};
    int rc;
    if (strcmp(hostile->policy, "image") == 0) {
        const char *image;
        rc = plan->decide->image_tag(plan->decide->ctx, "a/b:1", &request, &image, &source, &err);
    } else {
        cJSON *patch;
        const cJSON *object = json_of(plan->arena, "{'kind': 'Service', 'spec': {'ports': [{'port': 80}]}}");
        rc = plan->decide->object_patch(plan->decide->ctx, object, &patch, &source, &err);
    }
    snprintf(text, PRG_ERROR_LINE, "(no error)");
    if (rc != PRG_OK)
        prg_error_text(&err, text, PRG_ERROR_LINE);
    return rc;
}

static void check_error(struct plan *plan, const struct hostile *hostile, int rc, const char *text)
{
    const char *function =
        prg_arena_printf(plan->arena, "policy %s, function %s: ", hostile->policy, hostile->function);
    const char *place = prg_arena_printf(plan->arena, "%s/%s.lua:%s", plan->folder, hostile->policy,
                                         strcmp(hostile->line, "*") == 0 ? "" : hostile->line);
    if (getenv("PRG_TEST_SHOW"))
        print_message("%s\t%llu\t%s\n", hostile->name, (unsigned long long)plan->vm->steps, text);
    else if (rc != PRG_POLICY || !strstr(text, function) || !strstr(text, place) || !strstr(text, hostile->error))
        fail_msg("%s: expected '%s' and '%s' at %s, got: %s", hostile->name, function, hostile->error, place, text);
}

// A set's other policies do not notice, and the one that failed answers its next question as if it were the first.
static void check_others(struct plan *plan)
{
    enum prg_keep keep = PRG_DROP;
    const char *reason;
    struct prg_policy_source source;
    struct prg_error err = {0};
    assert_ok(plan->decide->keep_annotation(plan->decide->ctx, "example.com/a", "b", "service", &keep, &reason, &source,
                                            &err),
              &err);
}

// The same script in a new set takes the same number of steps, whatever went on in this process before.
static uint64_t steps_in_another_set(struct prg_arena *arena, const struct hostile *hostile)
{
    char text[PRG_ERROR_LINE];
    struct plan *plan = open_plan(arena, hostile);
    ask(plan, hostile, text);
    uint64_t steps = plan->vm->steps;
    close_plan(plan);
    return steps;
}

static void end_as_expected(struct prg_arena *arena, const struct hostile *hostile)
{
    char first[PRG_ERROR_LINE], second[PRG_ERROR_LINE];
    struct plan *plan = open_plan(arena, hostile);
    int rc = ask(plan, hostile, first);
    uint64_t steps = plan->vm->steps;
    check_error(plan, hostile, rc, first);
    // What one charge may overrun: the work on a block of the largest size.
    if (steps > STEPS + BLOCK || plan->vm->peak_bytes > MEMORY)
        fail_msg("%s: %llu steps, %zu bytes", hostile->name, (unsigned long long)steps, plan->vm->peak_bytes);
    check_others(plan);
    ask(plan, hostile, second);
    if (strcmp(first, second) != 0)
        fail_msg("%s: first %s, then %s", hostile->name, first, second);
    close_plan(plan);
    uint64_t again = steps_in_another_set(arena, hostile);
    if (again != steps)
        fail_msg("%s: %llu steps, then %llu", hostile->name, (unsigned long long)steps, (unsigned long long)again);
}

static void every_hostile_script_ends_with_its_error(void **state)
{
    each_hostile(*state, end_as_expected);
}

static void must_fail(struct plan *plan, const struct hostile *hostile)
{
    char text[PRG_ERROR_LINE];
    if (ask(plan, hostile, text) != PRG_POLICY)
        fail_msg("%s: no error, allocation %zu of %zu fails", hostile->name, plan->vm->stress.fail_at,
                 plan->vm->stress.count);
}

static void end_under_stress(struct prg_arena *arena, const struct hostile *hostile)
{
    struct plan *plan = open_plan(arena, hostile);
    plan->vm->limits.max_steps = 3000;
    plan->vm->stress.collect_every = 7;
    must_fail(plan, hostile);
    plan->vm->stress.collect_every = 0;
    for (size_t n = 1; n < 400; n = n * 5 / 3 + 1) {
        plan->vm->stress.fail_at = n;
        must_fail(plan, hostile);
    }
    plan->vm->stress.fail_at = 0;
    check_others(plan);
    close_plan(plan);
}

static void hostile_scripts_end_when_memory_is_short_too(void **state)
{
    each_hostile(*state, end_under_stress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hostile_script_ends_with_its_error),
        cmocka_unit_test(hostile_scripts_end_when_memory_is_short_too),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
