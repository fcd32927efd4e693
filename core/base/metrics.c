// SPDX-License-Identifier: Apache-2.0
// metrics.c: families in a list, series in a map by their label values.
#include "base/metrics.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"

const double prg_metric_bounds_call[16] = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                           0.005,   0.01,     0.025,   0.05,   0.1,     0.25,   0.5,   1};
const double prg_metric_bounds_work[15] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                           0.5,   1,      2.5,   5,    10,    30,   60};
const double prg_metric_bounds_queue[9] = {0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000};

enum kind { COUNTER, GAUGE, HISTOGRAM };
enum { KEY_MOST = 1024 };

struct prg_metric {
    struct prg_metric_family *family;
    char *values[PRG_METRIC_LABELS];
    uint64_t count; // of a counter, or of observations
    uint64_t bits;  // a double: value of a gauge or of a counter that is counted elsewhere, sum of a histogram
    uint64_t buckets[];
};

struct prg_metric_family {
    struct prg_metrics *metrics;
    enum kind kind;
    const char *name, *help;
    const char *labels[PRG_METRIC_LABELS];
    size_t label_count;
    const double *bounds;
    size_t bound_count;
    struct prg_map series; // by label values, each ended by a byte that no text holds
};

struct hook {
    void (*fn)(void *ctx);
    void *ctx;
};

struct prg_metrics {
    pthread_mutex_t lock; // over families and series; values are atomic
    struct prg_vec families, hooks;
};

struct prg_metrics *prg_metrics_new(void)
{
    struct prg_metrics *metrics = prg_xcalloc(1, sizeof(*metrics));
    pthread_mutex_init(&metrics->lock, NULL);
    return metrics;
}

static void free_series(struct prg_metric *metric)
{
    for (size_t i = 0; i < PRG_METRIC_LABELS; i++)
        free(metric->values[i]);
    free(metric);
}

void prg_metrics_free(struct prg_metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->families.count; i++) {
        struct prg_metric_family *family = metrics->families.items[i];
        const struct prg_map_entry *entry;
        for (size_t k = 0; (entry = prg_map_next(&family->series, &k));)
            free_series(entry->value);
        prg_map_release(&family->series);
        free(family);
    }
    for (size_t i = 0; i < metrics->hooks.count; i++)
        free(metrics->hooks.items[i]);
    prg_vec_release(&metrics->families);
    prg_vec_release(&metrics->hooks);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

// ---- families ----

static struct prg_metric_family *family_of(struct prg_metrics *metrics, enum kind kind, const char *name,
                                           const char *help, const char *const *labels)
{
    for (size_t i = 0; i < metrics->families.count; i++) {
        struct prg_metric_family *family = metrics->families.items[i];
        if (strcmp(family->name, name) == 0) {
            prg_require(family->kind == kind);
            return family;
        }
    }
    struct prg_metric_family *family = prg_xcalloc(1, sizeof(*family));
    family->metrics = metrics;
    family->kind = kind;
    family->name = name;
    family->help = help;
    for (; labels && labels[family->label_count]; family->label_count++) {
        prg_require(family->label_count < PRG_METRIC_LABELS);
        family->labels[family->label_count] = labels[family->label_count];
    }
    prg_map_init(&family->series);
    prg_vec_push(&metrics->families, family);
    return family;
}

struct prg_metric_family *prg_metrics_counter(struct prg_metrics *metrics, const char *name, const char *help,
                                              const char *const *labels)
{
    return family_of(metrics, COUNTER, name, help, labels);
}

struct prg_metric_family *prg_metrics_gauge(struct prg_metrics *metrics, const char *name, const char *help,
                                            const char *const *labels)
{
    return family_of(metrics, GAUGE, name, help, labels);
}

struct prg_metric_family *prg_metrics_histogram(struct prg_metrics *metrics, const char *name, const char *help,
                                                const char *const *labels, const double *bounds, size_t bound_count)
{
    struct prg_metric_family *family = family_of(metrics, HISTOGRAM, name, help, labels);
    family->bounds = bounds;
    family->bound_count = bound_count;
    return family;
}

// ---- series ----

// One byte that is no UTF-8 would make the whole text unreadable.
static char *well_formed(const char *text)
{
    struct prg_strbuf out = PRG_STRBUF_INIT;
    for (size_t rest = strlen(text), length; rest; text += length, rest -= length) {
        length = (unsigned char)*text < 0x80 ? 1 : prg_utf8_length(text, rest);
        if (length)
            prg_strbuf_add(&out, text, length);
        else
            prg_strbuf_putc(&out, '?');
        length = length ? length : 1;
    }
    return out.length ? prg_strbuf_steal(&out, NULL) : prg_xstrdup("");
}

static struct prg_metric *make_series(struct prg_metric_family *family, const char *key, size_t length,
                                      const char *const *values)
{
    struct prg_metric *metric =
        prg_xcalloc(1, sizeof(*metric) + (family->kind == HISTOGRAM ? family->bound_count + 1 : 0) * sizeof(uint64_t));
    metric->family = family;
    for (size_t i = 0; i < family->label_count; i++)
        metric->values[i] = well_formed(values[i]);
    prg_map_putn(&family->series, key, length, metric);
    return metric;
}

static bool write_key(char key[KEY_MOST], size_t *ret_length, const struct prg_metric_family *family,
                      const char *const *values)
{
    size_t used = 0;
    for (size_t i = 0; i < family->label_count; i++) {
        size_t length = strlen(values[i]);
        if (used + length + 1 > KEY_MOST)
            return false;
        memcpy(key + used, values[i], length);
        used += length;
        key[used++] = '\xff';
    }
    *ret_length = used;
    return true;
}

static struct prg_metric *find_or_make(struct prg_metric_family *family, const char *const *values)
{
    static const char *const others[PRG_METRIC_LABELS] = {"other", "other", "other", "other"};
    char key[KEY_MOST];
    size_t length = 0;
    bool fits = write_key(key, &length, family, values);
    struct prg_metric *metric = fits ? prg_map_getn(&family->series, key, length) : NULL;
    if (metric)
        return metric;
    if (fits && family->series.count < PRG_METRIC_SERIES)
        return make_series(family, key, length, values);
    (void)write_key(key, &length, family, others);
    metric = prg_map_getn(&family->series, key, length);
    return metric ? metric : make_series(family, key, length, others);
}

struct prg_metric *prg_metric_at(struct prg_metric_family *family, const char *const *values)
{
    if (!family)
        return NULL;
    pthread_mutex_lock(&family->metrics->lock);
    struct prg_metric *metric = find_or_make(family, values);
    pthread_mutex_unlock(&family->metrics->lock);
    return metric;
}

struct prg_metric *prg_metric_only(struct prg_metric_family *family)
{
    static const char *const none[1] = {NULL};
    prg_require(!family || family->label_count == 0);
    return prg_metric_at(family, none);
}

void prg_metric_drop(struct prg_metric_family *family, const char *const *values)
{
    char key[KEY_MOST + 1];
    size_t length = 0;
    if (!family || !write_key(key, &length, family, values))
        return;
    // The map removes by text; a key that holds no NUL is one.
    key[length] = '\0';
    pthread_mutex_lock(&family->metrics->lock);
    struct prg_metric *metric = prg_map_remove(&family->series, key);
    pthread_mutex_unlock(&family->metrics->lock);
    if (metric)
        free_series(metric);
}

// ---- adding ----

static double as_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t as_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void add_double(uint64_t *bits, double delta)
{
    uint64_t before = __atomic_load_n(bits, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(bits, &before, as_bits(as_double(before) + delta), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

void prg_metric_add(struct prg_metric *metric, uint64_t count)
{
    if (metric)
        __atomic_fetch_add(&metric->count, count, __ATOMIC_RELAXED);
}

void prg_metric_set(struct prg_metric *metric, double value)
{
    if (!metric)
        return;
    __atomic_store_n(&metric->bits, as_bits(value), __ATOMIC_RELAXED);
}

void prg_metric_move(struct prg_metric *metric, double delta)
{
    if (metric)
        add_double(&metric->bits, delta);
}

void prg_metric_observe(struct prg_metric *metric, double value)
{
    if (!metric)
        return;
    const struct prg_metric_family *family = metric->family;
    size_t bucket = 0;
    while (bucket < family->bound_count && value > family->bounds[bucket])
        bucket++;
    __atomic_fetch_add(&metric->buckets[bucket], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&metric->count, 1, __ATOMIC_RELAXED);
    add_double(&metric->bits, value);
}

// ---- text ----

void prg_metrics_on_print(struct prg_metrics *metrics, void (*fn)(void *ctx), void *ctx)
{
    struct hook *hook = prg_xcalloc(1, sizeof(*hook));
    hook->fn = fn;
    hook->ctx = ctx;
    prg_vec_push(&metrics->hooks, hook);
}

static void print_escaped(struct prg_strbuf *out, const char *text, bool is_quoted)
{
    for (; *text; text++) {
        if (*text == '\\' || (is_quoted && *text == '"'))
            prg_strbuf_printf(out, "\\%c", *text);
        else if (*text == '\n')
            prg_strbuf_puts(out, "\\n");
        else
            prg_strbuf_putc(out, *text);
    }
}

static void print_number(struct prg_strbuf *out, double value)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        prg_strbuf_puts(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (value > -1e15 && value < 1e15) {
        int64_t whole = (int64_t)value;
        if (!((double)whole < value) && !((double)whole > value)) {
            prg_strbuf_printf(out, "%lld", (long long)whole);
            return;
        }
    }
    for (int digits = 1; digits <= 17; digits++) { // the shortest that reads back the same
        snprintf(text, sizeof(text), "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    prg_strbuf_puts(out, text);
}

// name_suffix{labels…, le="bound"}
static void print_name(struct prg_strbuf *out, const struct prg_metric *metric, const char *suffix, const double *bound)
{
    const struct prg_metric_family *family = metric->family;
    prg_strbuf_printf(out, "%s%s", family->name, suffix);
    if (family->label_count || bound) {
        prg_strbuf_putc(out, '{');
        for (size_t i = 0; i < family->label_count; i++) {
            prg_strbuf_printf(out, "%s%s=\"", i ? "," : "", family->labels[i]);
            print_escaped(out, metric->values[i], true);
            prg_strbuf_putc(out, '"');
        }
        if (bound) {
            prg_strbuf_puts(out, family->label_count ? ",le=\"" : "le=\"");
            print_number(out, *bound);
            prg_strbuf_putc(out, '"');
        }
        prg_strbuf_putc(out, '}');
    }
    prg_strbuf_putc(out, ' ');
}

static void print_series(struct prg_strbuf *out, const struct prg_metric *metric)
{
    const struct prg_metric_family *family = metric->family;
    const double infinite = INFINITY;
    uint64_t sum = 0;
    if (family->kind != HISTOGRAM) {
        print_name(out, metric, "", NULL);
        uint64_t bits = __atomic_load_n(&metric->bits, __ATOMIC_RELAXED);
        if (family->kind == COUNTER && !bits)
            prg_strbuf_printf(out, "%llu", (unsigned long long)__atomic_load_n(&metric->count, __ATOMIC_RELAXED));
        else
            print_number(out, as_double(bits));
        prg_strbuf_putc(out, '\n');
        return;
    }
    for (size_t i = 0; i <= family->bound_count; i++) {
        sum += __atomic_load_n(&metric->buckets[i], __ATOMIC_RELAXED);
        print_name(out, metric, "_bucket", i < family->bound_count ? &family->bounds[i] : &infinite);
        prg_strbuf_printf(out, "%llu\n", (unsigned long long)sum);
    }
    print_name(out, metric, "_sum", NULL);
    print_number(out, as_double(__atomic_load_n(&metric->bits, __ATOMIC_RELAXED)));
    prg_strbuf_putc(out, '\n');
    print_name(out, metric, "_count", NULL);
    prg_strbuf_printf(out, "%llu\n", (unsigned long long)sum); // of what the buckets had, though more came meanwhile
}

static int compare_families(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct prg_metric_family *)a)->name, ((const struct prg_metric_family *)b)->name);
}

static int compare_series(const void *a, const void *b, void *ctx)
{
    const struct prg_metric *x = a, *y = b;
    (void)ctx;
    for (size_t i = 0; i < x->family->label_count; i++) {
        int order = strcmp(x->values[i], y->values[i]);
        if (order)
            return order;
    }
    return 0;
}

static void print_family(struct prg_strbuf *out, const struct prg_metric_family *family)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    const struct prg_map_entry *entry;
    struct prg_vec series;
    if (!family->series.count)
        return;
    prg_strbuf_printf(out, "# HELP %s ", family->name);
    print_escaped(out, family->help, false);
    prg_strbuf_printf(out, "\n# TYPE %s %s\n", family->name, kinds[family->kind]);
    prg_vec_init(&series);
    for (size_t i = 0; (entry = prg_map_next(&family->series, &i));)
        prg_vec_push(&series, entry->value);
    prg_vec_sort(&series, compare_series, NULL);
    for (size_t i = 0; i < series.count; i++)
        print_series(out, series.items[i]);
    prg_vec_release(&series);
}

void prg_metrics_print(struct prg_metrics *metrics, struct prg_strbuf *out)
{
    for (size_t i = 0; i < metrics->hooks.count; i++) {
        const struct hook *hook = metrics->hooks.items[i];
        hook->fn(hook->ctx);
    }
    pthread_mutex_lock(&metrics->lock);
    prg_vec_sort(&metrics->families, compare_families, NULL);
    for (size_t i = 0; i < metrics->families.count; i++)
        print_family(out, metrics->families.items[i]);
    pthread_mutex_unlock(&metrics->lock);
}
