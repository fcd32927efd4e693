// SPDX-License-Identifier: Apache-2.0
// reload.c: from a changed policy folder to the first decision of the new set. Built and run by bench/reload.
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "policy/policy.h"
#include "stdlib/natives.h"

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t once(const char *folder)
{
    struct prg_policy_options options = {.folder = folder};
    struct prg_policy_set *set;
    struct prg_error err = {0};
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_decision_context context = {.arena = &arena,
                                           .service = prg_json_object(&arena),
                                           .config = prg_json_object(&arena),
                                           .compat = prg_json_object(&arena)};
    struct prg_image_request request = {.runtime_name = "r", .runtime_version = "2"};
    const char *image = NULL;
    int64_t start = prg_clock_monotonic_ns();
    int rc = prg_policy_set_load(&options, &set, &err);
    if (rc == PRG_OK) {
        const struct prg_decider *decide = prg_policy_set_decider(set);
        rc = decide->begin(decide->ctx, &context, &err);
        if (rc == PRG_OK)
            rc = decide->image_tag(decide->ctx, "a/b:1", &request, &image, NULL, &err);
        decide->end(decide->ctx);
    }
    int64_t used = prg_clock_monotonic_ns() - start;
    if (rc != PRG_OK) {
        char text[PRG_ERROR_LINE];
        fprintf(stderr, "%s\n", prg_error_text(&err, text, sizeof(text)));
        exit(1);
    }
    prg_policy_set_unref(set);
    return used;
}

int main(int argc, char **argv)
{
    enum { RUNS = 500 };
    static int64_t times[RUNS];
    prg_stdlib_register();
    for (int i = 0; i < RUNS; i++)
        times[i] = once(argc > 1 ? argv[1] : NULL);
    qsort(times, RUNS, sizeof(times[0]), compare);
    printf("reload to first decision: median %.2f ms, 99th percentile %.2f ms, worst %.2f ms (%d runs)\n",
           (double)times[RUNS / 2] / 1e6, (double)times[RUNS * 99 / 100] / 1e6, (double)times[RUNS - 1] / 1e6, RUNS);
    return 0;
}
