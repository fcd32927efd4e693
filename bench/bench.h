// SPDX-License-Identifier: Apache-2.0
// bench.h: what the benchmarks of this folder share. Each prints lines "NAME VALUE UNIT", which scripts/bench reads;
// the Go programs in peers/ print the same.
#pragma once
#include "json/value.h"

struct bench_options {
    const char *data;     // folder that synth.py filled
    size_t most;          // objects in the fleets of the group growth
    int batches;          // timed batches of each measure; the median is told
    double window_ms;     // CPU time of a batch, at least
    const char *policies; // folder of the group policy
    const char *server;   // of the group sync
    long events;          // of the group sync: so many watch events are waited for
};
extern struct bench_options bench_options;

void bench_print(const char *name, double value, const char *unit);
// Times fn and prints NAME.cpu (median CPU time of a call) and NAME.best (the fastest batch), both in ns/op. Returns
// the median.
double bench_measure(const char *name, void (*fn)(void *ctx), void *ctx);
double bench_cpu_ns(void);             // CPU time of this process
double bench_memory(const char *name); // "VmRSS" or "VmHWM" of this process, bytes

// A file of the data folder. Failing ends the program, as everything here does.
char *bench_read(const char *name, size_t *ret_length);
cJSON *bench_read_json(struct prg_arena *arena, const char *name);
void bench_write_json(const char *name, const cJSON *value);
PRG_NORETURN void bench_fail(const struct prg_error *err);
void bench_check(int rc, const struct prg_error *err);

// The groups.
void bench_merge(void);
void bench_select(void);
void bench_policy(void);
void bench_plan(void);
void bench_reload(void);
void bench_objects(void);
void bench_growth(void);
void bench_sync(void);
