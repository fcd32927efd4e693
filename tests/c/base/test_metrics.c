// SPDX-License-Identifier: Apache-2.0
#include "support/support.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/metrics.h"

static const char *const by_code[] = {"method", "code", NULL};

static int set_up(void **state)
{
    *state = prg_metrics_new();
    return 0;
}

static int tear_down(void **state)
{
    prg_metrics_free(*state);
    return 0;
}

static void assert_text(struct prg_metrics *metrics, const char *want)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_metrics_print(metrics, &out);
    assert_string_equal(out.text, want);
}

static void families_and_series_are_printed_in_order(void **state)
{
    struct prg_metrics *m = *state;
    struct prg_metric_family *requests = prg_metrics_counter(m, "requests_total", "Requests\nby \\code", by_code);
    struct prg_metric_family *depth = prg_metrics_gauge(m, "depth", "Waiting.", NULL);
    prg_metrics_counter(m, "never_total", "Nothing of it is printed.", by_code);
    prg_metric_add(prg_metric_of(requests, "PUT", "200"), 2);
    prg_metric_add(prg_metric_of(requests, "GET", "200"), 1);
    prg_metric_add(prg_metric_of(requests, "GET", "200"), 1);
    prg_metric_add(prg_metric_of(requests, "GET", "a\"b\\c\n"), UINT64_MAX / 2);
    prg_metric_set(prg_metric_only(depth), 0.1);
    prg_metric_move(prg_metric_only(depth), 2);
    assert_text(m, "# HELP depth Waiting.\n# TYPE depth gauge\ndepth 2.1\n"
                   "# HELP requests_total Requests\\nby \\\\code\n# TYPE requests_total counter\n"
                   "requests_total{method=\"GET\",code=\"200\"} 2\n"
                   "requests_total{method=\"GET\",code=\"a\\\"b\\\\c\\n\"} 9223372036854775807\n"
                   "requests_total{method=\"PUT\",code=\"200\"} 2\n");
}

static void a_histogram_counts_up_to_each_bound(void **state)
{
    static const double bounds[] = {0.005, 1};
    static const char *const labels[] = {"controller", NULL};
    struct prg_metrics *m = *state;
    struct prg_metric *seconds =
        prg_metric_of(prg_metrics_histogram(m, "seconds", "Time.", labels, bounds, PRG_COUNT(bounds)), "x");
    prg_metric_observe(seconds, 0.005);
    prg_metric_observe(seconds, 0.5);
    prg_metric_observe(seconds, 2);
    assert_text(m, "# HELP seconds Time.\n# TYPE seconds histogram\n"
                   "seconds_bucket{controller=\"x\",le=\"0.005\"} 1\nseconds_bucket{controller=\"x\",le=\"1\"} 2\n"
                   "seconds_bucket{controller=\"x\",le=\"+Inf\"} 3\nseconds_sum{controller=\"x\"} 2.505\n"
                   "seconds_count{controller=\"x\"} 3\n");
}

static void numbers_that_are_none_are_printed_as_such(void **state)
{
    struct prg_metrics *m = *state;
    static const char *const labels[] = {"x", NULL};
    struct prg_metric_family *g = prg_metrics_gauge(m, "g", "G.", labels);
    prg_metric_set(prg_metric_of(g, "a"), NAN);
    prg_metric_set(prg_metric_of(g, "b"), -INFINITY);
    prg_metric_set(prg_metric_of(g, "c"), 1e21);
    prg_metric_set(prg_metric_of(g, "\xff"), 1.0 / 3);
    assert_text(m, "# HELP g G.\n# TYPE g gauge\ng{x=\"?\"} 0.3333333333333333\ng{x=\"a\"} NaN\ng{x=\"b\"} -Inf\n"
                   "g{x=\"c\"} 1e+21\n");
}

static void too_many_series_are_gathered_in_one(void **state)
{
    struct prg_metrics *m = *state;
    static const char *const labels[] = {"name", NULL};
    struct prg_metric_family *c = prg_metrics_counter(m, "c", "C.", labels);
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    for (int i = 0; i < PRG_METRIC_SERIES + 1000; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", i);
        prg_metric_add(prg_metric_of(c, name), 1);
    }
    prg_metrics_print(m, &out);
    assert_non_null(strstr(out.text, "\nc{name=\"other\"} 1000\n"));
}

static void a_series_that_is_dropped_is_printed_no_more(void **state)
{
    struct prg_metrics *m = *state;
    struct prg_metric_family *c = prg_metrics_counter(m, "c", "C.", by_code);
    prg_metric_add(prg_metric_of(c, "a", "1"), 1);
    prg_metric_add(prg_metric_of(c, "b", "1"), 1);
    prg_metric_drop(c, (const char *const[]){"a", "1"});
    prg_metric_drop(c, (const char *const[]){"z", "1"});
    assert_text(m, "# HELP c C.\n# TYPE c counter\nc{method=\"b\",code=\"1\"} 1\n");
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    prg_metric_add(prg_metric_of((struct prg_metric_family *)NULL, "a"), 1);
    prg_metric_observe(prg_metric_only(NULL), 1);
    prg_metric_set(NULL, 1);
}

static void set_depth(void *ctx)
{
    prg_metric_set(ctx, 7);
}

static void what_is_counted_elsewhere_is_set_before_each_text(void **state)
{
    struct prg_metrics *m = *state;
    prg_metrics_on_print(m, set_depth, prg_metric_only(prg_metrics_gauge(m, "depth", "D.", NULL)));
    assert_text(m, "# HELP depth D.\n# TYPE depth gauge\ndepth 7\n");
}

static void *add_many(void *ctx)
{
    for (int i = 0; i < 100000; i++)
        prg_metric_observe(ctx, 1);
    return NULL;
}

static void threads_may_add_at_a_time(void **state)
{
    struct prg_metrics *m = *state;
    struct prg_metric *h = prg_metric_only(prg_metrics_histogram(m, "h", "H.", NULL, prg_metric_bounds_queue, 9));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, h), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_metrics_print(m, &out);
    assert_non_null(strstr(out.text, "h_sum 200000\nh_count 200000\n"));
}

#define METRIC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        METRIC_TEST(families_and_series_are_printed_in_order),
        METRIC_TEST(a_histogram_counts_up_to_each_bound),
        METRIC_TEST(numbers_that_are_none_are_printed_as_such),
        METRIC_TEST(too_many_series_are_gathered_in_one),
        METRIC_TEST(a_series_that_is_dropped_is_printed_no_more),
        METRIC_TEST(nobody_has_to_listen),
        METRIC_TEST(what_is_counted_elsewhere_is_set_before_each_text),
        METRIC_TEST(threads_may_add_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
