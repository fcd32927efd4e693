// SPDX-License-Identifier: Apache-2.0
// process.c: what Prometheus' client libraries tell of a process, under their names.
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "ops/ops.h"

struct meters {
    struct prg_metric *resident, *virtual_size, *cpu, *open_files, *most_files;
};

static void set_memory(const struct meters *meters)
{
    unsigned long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    if (fscanf(file, "%lu %lu", &pages, &resident) == 2) {
        double page = (double)sysconf(_SC_PAGESIZE);
        prg_metric_set(meters->virtual_size, (double)pages * page);
        prg_metric_set(meters->resident, (double)resident * page);
    }
    fclose(file);
}

static void set_files(const struct meters *meters)
{
    struct rlimit limit;
    DIR *folder = opendir("/proc/self/fd");
    int count = -3; // ".", ".." and the folder itself
    if (folder) {
        while (readdir(folder))
            count++;
        closedir(folder);
        prg_metric_set(meters->open_files, count);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        prg_metric_set(meters->most_files, (double)limit.rlim_cur);
}

static void on_print(void *ctx)
{
    const struct meters *meters = ctx;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        prg_metric_set(meters->cpu, (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    set_memory(meters);
    set_files(meters);
}

static struct prg_metric *gauge(struct prg_metrics *metrics, const char *name, const char *help)
{
    return prg_metric_only(prg_metrics_gauge(metrics, name, help, NULL));
}

void prg_ops_add_process(struct prg_metrics *metrics, const char *version)
{
    static struct meters meters; // of this process, of which there is one
    static const char *const labels[] = {"version", NULL};
    meters.resident = gauge(metrics, "process_resident_memory_bytes", "Resident memory size in bytes.");
    meters.virtual_size = gauge(metrics, "process_virtual_memory_bytes", "Virtual memory size in bytes.");
    meters.cpu = prg_metric_only(
        prg_metrics_counter(metrics, "process_cpu_seconds_total", "User and system CPU time in seconds.", NULL));
    meters.open_files = gauge(metrics, "process_open_fds", "Open file descriptors.");
    meters.most_files = gauge(metrics, "process_max_fds", "Most file descriptors that may be open.");
    prg_metric_set(gauge(metrics, "process_start_time_seconds", "Start of the process, in seconds since 1970."),
                   (double)prg_clock_wall_ns() / 1e9);
    prg_metric_set(
        prg_metric_of(prg_metrics_gauge(metrics, "perigee_build_info", "1, with the version.", labels), version), 1);
    prg_metrics_on_print(metrics, on_print, &meters);
}
