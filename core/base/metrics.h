// SPDX-License-Identifier: Apache-2.0
// metrics.h: counters, gauges and histograms with labels, and their text for Prometheus.
//
// A family is made once, a series (one set of label values) on its first use; finding a series that is there and adding
// to it allocates nothing. Any thread may find, make and add; families and the text are for one thread. A family has at
// most PRG_METRIC_SERIES series: further label values are gathered in one whose labels all read "other".
#pragma once
#include "base/strbuf.h"

#define PRG_METRIC_LABELS 4
#define PRG_METRIC_SERIES 4096

struct prg_metrics;
struct prg_metric_family;
struct prg_metric; // a series

struct prg_metrics *prg_metrics_new(void);
void prg_metrics_free(struct prg_metrics *metrics); // families and series go with it. NULL is fine

// labels: names, ended by NULL; NULL for none. Texts must stay (literals). A name that is there already with the same
// labels is given again.
struct prg_metric_family *prg_metrics_counter(struct prg_metrics *metrics, const char *name, const char *help,
                                              const char *const *labels);
struct prg_metric_family *prg_metrics_gauge(struct prg_metrics *metrics, const char *name, const char *help,
                                            const char *const *labels);
// bounds: upper bounds of buckets in rising order, without the infinite one.
struct prg_metric_family *prg_metrics_histogram(struct prg_metrics *metrics, const char *name, const char *help,
                                                const char *const *labels, const double *bounds, size_t bound_count);

// The series with these label values (as many as the family has labels, copied). NULL family: NULL, which is fine
// everywhere below, so that code may count whether or not anybody listens.
struct prg_metric *prg_metric_at(struct prg_metric_family *family, const char *const *values);
// prg_metric_of(family, "get", "200"): the same.
#define prg_metric_of(family, ...) prg_metric_at((family), (const char *const[]){__VA_ARGS__})
struct prg_metric *prg_metric_only(struct prg_metric_family *family); // of a family without labels
// It is printed no more. Nobody may use the series meanwhile or later.
void prg_metric_drop(struct prg_metric_family *family, const char *const *values);

void prg_metric_add(struct prg_metric *metric, uint64_t count);   // counters
void prg_metric_set(struct prg_metric *metric, double value);     // gauges, and counters that are counted elsewhere
void prg_metric_move(struct prg_metric *metric, double delta);    // gauges
void prg_metric_observe(struct prg_metric *metric, double value); // histograms

// Called before each text, to set what is counted elsewhere.
void prg_metrics_on_print(struct prg_metrics *metrics, void (*fn)(void *ctx), void *ctx);
// The text format 0.0.4, families by name, series by label values.
void prg_metrics_print(struct prg_metrics *metrics, struct prg_strbuf *out);

// Buckets that fit calls of policies (10 µs to 1 s), requests and reconciles (1 ms to 60 s) and waiting times (10 µs to
// 1000 s).
extern const double prg_metric_bounds_call[16], prg_metric_bounds_work[15], prg_metric_bounds_queue[9];
