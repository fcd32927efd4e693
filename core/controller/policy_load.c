// SPDX-License-Identifier: Apache-2.0
// policy_load.c: loading one policy set with all its checks.
#include "controller/policy_load.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { SHOWN_ERRORS = 50 };

void prg_policy_load_init(struct prg_policy_load *load)
{
    *load = (struct prg_policy_load){0};
    prg_arena_init(&load->arena);
    prg_vec_init(&load->texts);
    prg_strbuf_init(&load->problems);
}

void prg_policy_load_release(struct prg_policy_load *load)
{
    prg_policy_set_unref(load->set);
    prg_vec_release(&load->texts);
    prg_strbuf_release(&load->problems);
    prg_arena_release(&load->arena);
}

void prg_policy_load_problem(struct prg_policy_load *load, const char *text)
{
    prg_strbuf_puts(&load->problems, load->problems.length ? "; " : "");
    prg_strbuf_puts(&load->problems, text);
}

struct listing {
    struct prg_policy_load *load;
    size_t count;
};

static void list_error(const char *text, void *ctx)
{
    struct listing *listing = ctx;
    if (listing->count++ < SHOWN_ERRORS)
        prg_policy_load_problem(listing->load, text);
}

// A policy that raises on a made-up sample may still be right for the objects there are (and is told at those that it
// fails for); one that contradicts itself is right for none.
static void list_finding(const struct prg_check_finding *finding, void *ctx)
{
    char text[PRG_ERROR_LINE];
    if (finding->is_warning || strcmp(finding->rule, "policy-error") == 0)
        return;
    if (finding->line)
        snprintf(text, sizeof(text), "%s:%u: %s (%s)", finding->file, finding->line, finding->message, finding->rule);
    else
        snprintf(text, sizeof(text), "%s (%s)", finding->message, finding->rule);
    list_error(text, ctx);
}

static int load_set(struct prg_policy_load *load, struct listing *listing, struct prg_policy_set **ret,
                    struct prg_error *err)
{
    struct prg_policy_options options = {.folder = load->folder,
                                         .texts = load->folder ? NULL : &load->texts,
                                         .allowed = load->allowed,
                                         .limits = load->limits,
                                         .report = list_error,
                                         .report_ctx = listing};
    if (!load->base)
        return prg_policy_set_load(&options, ret, err);
    // With states of its own: those of the set in use may be asked meanwhile.
    int rc = prg_policy_set_copy(load->base, &load->limits, &options.base, err);
    if (rc == PRG_OK)
        rc = prg_policy_set_load(&options, ret, err);
    prg_policy_set_unref(options.base);
    return rc;
}

void prg_policy_load_run(struct prg_policy_load *load)
{
    int64_t start = prg_clock_monotonic_ns();
    struct listing listing = {.load = load};
    struct prg_check_samples samples = {.compat = load->compat, .leaves_shipped = true, .stop = &load->stop};
    struct prg_check_counts counts = {0};
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    int rc = load_set(load, &listing, &set, &err);
    // What is shipped is checked by the project's own tests.
    if (rc == PRG_OK && !load->is_brief && (load->folder || load->texts.count))
        rc = prg_check_answers(set, &samples, list_finding, &listing, &counts, &err);
    if (listing.count > SHOWN_ERRORS)
        prg_strbuf_printf(&load->problems, "; and %zu more", listing.count - SHOWN_ERRORS);
    if (rc != PRG_OK && !load->problems.length)
        prg_policy_load_problem(load, prg_error_text(&err, text, sizeof(text)));
    if (load->problems.length) {
        prg_policy_set_unref(set);
        set = NULL;
    }
    load->set = set;
    load->seconds = (double)(prg_clock_monotonic_ns() - start) / 1e9;
}
