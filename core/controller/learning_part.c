// SPDX-License-Identifier: Apache-2.0
// learning_part.c: the learning driver among the parts of the process.
#include "controller/learning_part.h"

#include "controller/learning_driver.h"

static void part_work(bool is_working, void *ctx)
{
    if (is_working)
        prg_learning_driver_start(ctx, prg_process_now_ms());
    else
        prg_learning_driver_stop(ctx);
}

static void part_changed(const struct prg_key *key, uint64_t now_ms, void *ctx)
{
    prg_learning_driver_changed(ctx, key, now_ms);
}

static void part_replan(const char *ns, uint64_t now_ms, void *ctx)
{
    if (ns)
        prg_learning_driver_replan(ctx, ns, now_ms);
    else
        prg_learning_driver_enqueue_all(ctx, now_ms);
}

static void part_run(uint64_t now_ms, int64_t wall_ns, void *ctx)
{
    prg_learning_driver_run(ctx, now_ms, wall_ns);
}

static int64_t part_next_ms(uint64_t now_ms, void *ctx)
{
    return prg_learning_driver_next_ms(ctx, now_ms);
}

static size_t part_open(void *ctx)
{
    return prg_learning_driver_open(ctx);
}

static void part_stop(void *ctx)
{
    prg_learning_driver_stop(ctx);
}

static void part_free(void *ctx)
{
    prg_learning_driver_free(ctx);
}

static void on_report(const struct prg_reconcile_report *report, void *ctx)
{
    const struct prg_process *process = ctx;
    prg_process_count("incrementallearningjob", report);
    if (process->options->report)
        process->options->report(report, process->options->ctx);
}

static void wake(void *ctx)
{
    prg_process_wake(ctx);
}

void prg_process_add_learning(struct prg_process *process)
{
    static const struct prg_part part = {
        .name = "learning",
        .work = part_work,
        .changed = part_changed,
        .replan = part_replan,
        .run = part_run,
        .next_ms = part_next_ms,
        .open = part_open,
        .stop = part_stop,
        .free = part_free,
    };
    const struct prg_run_options *options = process->options;
    if (!options->learning || options->learning->is_off)
        return;
    struct prg_learning_driver_options driver = {.settings = options->learning,
                                                 .workers = options->workers,
                                                 .report = on_report,
                                                 .report_ctx = process,
                                                 .wake = wake,
                                                 .wake_ctx = process};
    struct prg_learning_driver *made =
        prg_learning_driver_new(options->once ? NULL : &process->loop, process->store, process->planner, &driver);
    prg_operations_set_learning(process->operations, made);
    prg_process_add(process, &part, made);
}
