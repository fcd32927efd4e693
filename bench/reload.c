// SPDX-License-Identifier: Apache-2.0
// reload.c: from a changed policy folder to the first decision of the new set: the shipped set, the same as a folder,
// and that folder with specs in it. Then what the controller makes of it: the load with the checks of answers, on a
// thread of its own, and the first decision; of the shipped set as a folder, and with an edit in one of its files,
// whose answers are then asked about (those of files as they were shipped are known). And the swap, on the loop's
// thread.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "controller/planner.h"
#include "controller/policy_load.h"

struct reload {
    struct prg_policy_options options;
    struct prg_arena arena;
};

static void ask(struct reload *r, struct prg_policy_set *set)
{
    struct prg_error err = {0};
    prg_arena_reset(&r->arena);
    struct prg_decision_context context = {.arena = &r->arena,
                                           .service = prg_json_object(&r->arena),
                                           .config = prg_json_object(&r->arena),
                                           .compat = prg_json_object(&r->arena)};
    struct prg_image_request request = {.runtime_name = "r", .runtime_version = "2"};
    const char *image = NULL;
    const struct prg_decider *decide = prg_policy_set_decider(set);
    bench_check(decide->begin(decide->ctx, &context, &err), &err);
    bench_check(decide->image_tag(decide->ctx, "a/b:1", &request, &image, NULL, &err), &err);
    decide->end(decide->ctx);
}

static void reload_once(void *ctx)
{
    struct reload *r = ctx;
    struct prg_policy_set *set;
    struct prg_error err = {0};
    bench_check(prg_policy_set_load(&r->options, &set, &err), &err);
    ask(r, set);
    prg_policy_set_unref(set);
}

static void load_checked(void *ctx)
{
    struct reload *r = ctx;
    struct prg_policy_load load;
    prg_policy_load_init(&load);
    load.folder = r->options.folder;
    load.compat = &prg_compat_fixed;
    prg_policy_load_run(&load);
    prg_require(load.set);
    ask(r, load.set);
    prg_policy_load_release(&load);
}

static void edit(const char *folder, const char *name)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/%s.lua", folder, name);
    FILE *file = fopen(path, "a");
    prg_require(file && fputs("-- edited\n", file) >= 0 && fclose(file) == 0);
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The old set goes and the first question is asked.
static void measure_swap(struct reload *r)
{
    enum { RUNS = 101 };
    double times[RUNS];
    struct prg_policy_set *set;
    struct prg_error err = {0};
    bench_check(prg_policy_set_load(&r->options, &set, &err), &err);
    struct prg_planner *planner = prg_planner_new(set, &prg_compat_fixed, "kserve");
    prg_policy_set_unref(set);
    for (int i = 0; i < RUNS; i++) {
        bench_check(prg_policy_set_load(&r->options, &set, &err), &err);
        double start = bench_cpu_ns();
        prg_planner_set_policies(planner, set);
        ask(r, set);
        prg_policy_set_unref(set);
        times[i] = bench_cpu_ns() - start;
    }
    prg_planner_free(planner);
    qsort(times, RUNS, sizeof(times[0]), compare_times);
    bench_print("reload.swap.cpu", times[RUNS / 2], "ns/op");
    bench_print("reload.swap.worst", times[RUNS - 1], "ns/op");
}

// A state and one script in it, as other engines load theirs.
static void load_once(void *ctx)
{
    const struct prg_strbuf *text = ctx;
    struct prg_script *script;
    struct prg_error err = {0};
    bench_check(prg_script_load("runtime_selection.lua", text->text, text->length, NULL, &script, &err), &err);
    prg_script_free(script);
}

static void measure_load(void)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    char path[4200], piece[4096];
    snprintf(path, sizeof(path), "%s/runtime_selection.lua", bench_options.policies);
    FILE *file = bench_options.policies ? fopen(path, "r") : NULL;
    for (size_t n; file && (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        prg_strbuf_add(&text, piece, n);
    if (file)
        fclose(file);
    if (text.length)
        bench_measure("load", load_once, &text);
}

static void write_specs(const char *folder)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/image_spec.lua", folder);
    FILE *file = fopen(path, "w");
    prg_require(file);
    fputs("local support = require(\"support.perigee\")\n"
          "describe(\"image\", function()\n"
          "  for i = 1, 20 do\n"
          "    it(\"takes version \" .. i, function()\n"
          "      local policy = support.policy(\"image\", { compat = { image_suffix = true } })\n"
          "      local request = { runtime_name = \"r\", runtime_version = tostring(i), gpus = {} }\n"
          "      assert.are.equal(\"a/b:\" .. i, policy.tag(\"a/b:1\", request))\n"
          "    end)\n"
          "  end\n"
          "end)\n",
          file);
    fclose(file);
}

void bench_reload(void)
{
    struct reload r = {0};
    struct prg_error err = {0};
    char folder[4096], command[5000];
    snprintf(folder, sizeof(folder), "%s/policies.XXXXXX", bench_options.data);
    prg_require(mkdtemp(folder));
    prg_arena_init(&r.arena);
    measure_load();
    bench_measure("reload.shipped", reload_once, &r);
    bench_check(prg_policy_export(folder, false, &err), &err);
    r.options.folder = folder;
    bench_measure("reload.folder", reload_once, &r);
    bench_measure("reload.checked", load_checked, &r);
    write_specs(folder);
    bench_measure("reload.specs", reload_once, &r);
    edit(folder, "il_stage");
    bench_measure("reload.checked.stage", load_checked, &r);
    bench_check(prg_policy_export(folder, true, &err), &err);
    edit(folder, "image");
    bench_measure("reload.checked.image", load_checked, &r);
    measure_swap(&r);
    prg_arena_release(&r.arena);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "bench: %s is left behind\n", folder);
}
