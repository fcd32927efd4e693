// SPDX-License-Identifier: Apache-2.0
// policy_life.c: loading, reloading and refusing the policy set.
#include "controller/policy_life.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"

enum {
    SETTLE_MS = 100, // a second look at the policies: times of files are coarse
    SHOWN_ERRORS = 50,
};

struct prg_policy_life {
    char *folder; // or NULL
    struct prg_policy_limits limits;
    struct prg_policy_set *active;
    struct prg_strbuf problem; // all errors of the set, as last reported; empty when the set is good
    uint64_t stamp;            // of the folder when it was last loaded
    bool is_noticed;           // something happened in the folder
    bool is_started;
    uv_timer_t settle;
    prg_policy_active_fn fn;
    void *ctx;
};

// ---- loading ----

struct listing {
    struct prg_strbuf *text;
    size_t count;
};

static void list_error(const char *text, void *ctx)
{
    struct listing *listing = ctx;
    if (listing->count++ >= SHOWN_ERRORS)
        return;
    prg_strbuf_puts(listing->text, listing->count > 1 ? "; " : "");
    prg_strbuf_puts(listing->text, text);
}

// problems gets every error of the set; NULL: the first is in err.
static int load(const struct prg_policy_life *life, struct prg_strbuf *problems, struct prg_policy_set **ret,
                struct prg_error *err)
{
    struct listing listing = {.text = problems};
    struct prg_policy_options options = {.folder = life->folder, .limits = life->limits};
    if (problems) {
        options.report = list_error;
        options.report_ctx = &listing;
    }
    int rc = prg_policy_set_load(&options, ret, err);
    if (listing.count > SHOWN_ERRORS)
        prg_strbuf_printf(problems, "; and %zu more", listing.count - SHOWN_ERRORS);
    return rc;
}

// ---- another set ----

// A set that does not load leaves the last good one in place. One line tells all its errors, once; the set is tried
// again when its files change.
static void refuse(struct prg_policy_life *life, struct prg_strbuf *problems, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    if (!problems->length)
        prg_strbuf_puts(problems, prg_error_text(err, text, sizeof(text)));
    if (strcmp(problems->text, life->problem.text) == 0)
        return;
    prg_log(PRG_LOG_ERROR, "policy set refused, the last good one stays", "errors", problems->text, "active",
            prg_policy_set_revision(life->active), NULL);
    prg_strbuf_clear(&life->problem);
    prg_strbuf_puts(&life->problem, problems->text);
}

static void activate(struct prg_policy_life *life, struct prg_policy_set *set)
{
    bool is_other = strcmp(prg_policy_set_revision(set), prg_policy_set_revision(life->active)) != 0;
    if (is_other || life->problem.length)
        prg_log(PRG_LOG_INFO, "policy set active", "revision", prg_policy_set_revision(set), NULL);
    prg_strbuf_clear(&life->problem);
    if (!is_other)
        return;
    struct prg_policy_set *old = life->active;
    life->active = prg_policy_set_ref(set);
    life->fn(set, life->ctx);
    prg_policy_set_unref(old);
}

// What was written within the tick of the clock in which the set was loaded leaves no trace in the stamp.
static void on_settle(uv_timer_t *timer)
{
    struct prg_policy_life *life = timer->data;
    life->stamp = 0;
    prg_policy_life_reload(life);
}

void prg_policy_life_reload(struct prg_policy_life *life)
{
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    prg_auto_strbuf problems = PRG_STRBUF_INIT;
    if (!life->folder || !life->is_started)
        return;
    uint64_t stamp = prg_policy_folder_stamp(life->folder);
    if (stamp == life->stamp && !life->is_noticed)
        return;
    if (life->is_noticed)
        uv_timer_start(&life->settle, on_settle, SETTLE_MS, 0);
    life->is_noticed = false;
    life->stamp = stamp;
    if (load(life, &problems, &set, &err) == PRG_OK)
        activate(life, set);
    else
        refuse(life, &problems, &err);
    prg_policy_set_unref(set);
}

void prg_policy_life_noticed(struct prg_policy_life *life)
{
    life->is_noticed = true;
}

// ---- life ----

int prg_policy_life_new(const char *folder, const struct prg_policy_limits *limits, struct prg_policy_life **ret,
                        struct prg_error *err)
{
    struct prg_policy_life *life = prg_xcalloc(1, sizeof(*life));
    life->folder = folder ? prg_xstrdup(folder) : NULL;
    life->limits = *limits;
    prg_strbuf_init(&life->problem);
    life->stamp = folder ? prg_policy_folder_stamp(folder) : 0;
    int rc = load(life, NULL, &life->active, err);
    if (rc != PRG_OK) {
        prg_policy_life_free(life);
        return rc;
    }
    *ret = life;
    return PRG_OK;
}

void prg_policy_life_free(struct prg_policy_life *life)
{
    if (!life)
        return;
    prg_policy_set_unref(life->active);
    prg_strbuf_release(&life->problem);
    free(life->folder);
    free(life);
}

struct prg_policy_set *prg_policy_life_active(const struct prg_policy_life *life)
{
    return life->active;
}

const char *prg_policy_life_folder(const struct prg_policy_life *life)
{
    return life->folder;
}

void prg_policy_life_start(struct prg_policy_life *life, uv_loop_t *loop, prg_policy_active_fn active, void *ctx)
{
    life->fn = active;
    life->ctx = ctx;
    life->is_started = true;
    life->settle.data = life;
    uv_timer_init(loop, &life->settle);
}

void prg_policy_life_stop(struct prg_policy_life *life)
{
    if (life->is_started)
        uv_close((uv_handle_t *)&life->settle, NULL);
    life->is_started = false;
}
