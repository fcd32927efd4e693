// SPDX-License-Identifier: Apache-2.0
// main.c: the benchmark program: runs the groups it is asked for. See scripts/bench.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "stdlib/natives.h"

struct bench_options bench_options = {.data = ".", .most = SIZE_MAX, .batches = 7, .window_ms = 40};

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {{"merge", bench_merge},   {"select", bench_select},   {"policy", bench_policy}, {"plan", bench_plan},
              {"reload", bench_reload}, {"objects", bench_objects}, {"growth", bench_growth}, {"sync", bench_sync}};

// ---- measuring ----

void bench_print(const char *name, double value, const char *unit)
{
    printf("%s %.10g %s\n", name, value, unit);
    fflush(stdout);
}

double bench_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double run_batch(void (*fn)(void *ctx), void *ctx, long count)
{
    double start = bench_cpu_ns();
    for (long i = 0; i < count; i++)
        fn(ctx);
    return bench_cpu_ns() - start;
}

double bench_measure(const char *name, void (*fn)(void *ctx), void *ctx)
{
    double batches[64], window = bench_options.window_ms * 1e6;
    char text[128];
    long count = 1;
    size_t batch_count = (size_t)bench_options.batches;
    if (batch_count > PRG_COUNT(batches))
        batch_count = PRG_COUNT(batches);
    fn(ctx);
    for (double used; (used = run_batch(fn, ctx, count)) < window && count < 1L << 30;)
        count *= used < window / 16 ? 8 : 2;
    for (size_t i = 0; i < batch_count; i++)
        batches[i] = run_batch(fn, ctx, count) / (double)count;
    qsort(batches, batch_count, sizeof(batches[0]), compare_doubles);
    snprintf(text, sizeof(text), "%s.cpu", name);
    bench_print(text, batches[batch_count / 2], "ns/op");
    snprintf(text, sizeof(text), "%s.best", name);
    bench_print(text, batches[0], "ns/op");
    return batches[batch_count / 2];
}

double bench_memory(const char *name)
{
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtod(line + strlen(name) + 1, NULL) * 1024;
    if (file)
        fclose(file);
    return value;
}

// ---- data ----

void bench_fail(const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    fprintf(stderr, "bench: %s\n", prg_error_text(err, text, sizeof(text)));
    exit(1);
}

void bench_check(int rc, const struct prg_error *err)
{
    if (rc != PRG_OK)
        bench_fail(err);
}

static FILE *open_data(const char *name, const char *mode)
{
    char path[4096];
    struct prg_error err = {0};
    snprintf(path, sizeof(path), "%s/%s", bench_options.data, name);
    FILE *file = fopen(path, mode);
    if (!file)
        bench_check(prg_fail(&err, PRG_IO, "%s: cannot be opened; scripts/bench makes the data", path), &err);
    return file;
}

char *bench_read(const char *name, size_t *ret_length)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    char piece[65536];
    FILE *file = open_data(name, "rb");
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        prg_strbuf_add(&text, piece, n);
    fclose(file);
    return prg_strbuf_steal(&text, ret_length);
}

cJSON *bench_read_json(struct prg_arena *arena, const char *name)
{
    size_t length;
    struct prg_error err = {0};
    cJSON *value = NULL;
    char *text = bench_read(name, &length);
    bench_check(prg_json_parse(arena, text, length, NULL, &value, &err), &err);
    free(text);
    return value;
}

void bench_write_json(const char *name, const cJSON *value)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    FILE *file = open_data(name, "wb");
    prg_json_print(&text, value, PRG_JSON_PRETTY);
    fwrite(text.text, 1, text.length, file);
    fclose(file);
}

// ---- command line ----

PRG_NORETURN static void usage(int status)
{
    fprintf(
        status ? stderr : stdout,
        "perigee_bench [--data DIR] [--batches N] [--window MS] [--policies DIR] [--server URL] [--events N] GROUP...\n"
        "groups:");
    for (size_t i = 0; i < PRG_COUNT(groups); i++)
        fprintf(status ? stderr : stdout, " %s", groups[i].name);
    fputc('\n', status ? stderr : stdout);
    exit(status);
}

static void run_group(const char *name)
{
    for (size_t i = 0; i < PRG_COUNT(groups); i++)
        if (strcmp(groups[i].name, name) == 0) {
            groups[i].run();
            return;
        }
    fprintf(stderr, "bench: no group '%s'\n", name);
    usage(2);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"data", required_argument, NULL, 'd'},
                                            {"batches", required_argument, NULL, 'b'},
                                            {"window", required_argument, NULL, 'w'},
                                            {"server", required_argument, NULL, 's'},
                                            {"policies", required_argument, NULL, 'p'},
                                            {"events", required_argument, NULL, 'e'},
                                            {"most", required_argument, NULL, 'm'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        switch (c) {
        case 'd':
            bench_options.data = optarg;
            break;
        case 'b':
            bench_options.batches = atoi(optarg);
            break;
        case 'w':
            bench_options.window_ms = strtod(optarg, NULL);
            break;
        case 'p':
            bench_options.policies = optarg;
            break;
        case 's':
            bench_options.server = optarg;
            break;
        case 'm':
            bench_options.most = strtoul(optarg, NULL, 10);
            break;
        case 'e':
            bench_options.events = atol(optarg);
            break;
        default:
            usage(c == 'h' ? 0 : 2);
        }
    if (optind == argc || bench_options.batches < 1)
        usage(2);
    prg_stdlib_register();
    for (int i = optind; i < argc; i++)
        run_group(argv[i]);
    return 0;
}
