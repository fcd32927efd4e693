// SPDX-License-Identifier: Apache-2.0
// reconcile.h: carrying out one plan: its writes, then the status, then the Events. What all loops share.
//
// Writes go out in groups. Those of one group concern different objects and are all asked for at once; the next group
// follows only when every write of the group succeeded. After the last group comes the status of the subject, over the
// one that was planned on and no other, then the Events. A write that fails ends it: what follows is not done, but for
// a status that says so (see failed). A plan that a policy could not finish (PRG_POLICY) has no writes but the status.
//
// One lasts from its making to done; the driver keeps each key in one hand. It has an arena of its own, so the store
// may change while it lasts.
#pragma once
#include "plan/plan.h"
#include "store/store.h"

struct prg_reconcile;

struct prg_reconcile_report { // borrowed
    const struct prg_key *key;
    struct prg_plan *plan;
    size_t created, updated, deleted, unchanged; // objects
    bool status_changed;
    const struct prg_error *error; // of applying, or NULL; plan->error is told by the plan
    enum prg_write_retry retry;    // after an error: the soonest of all that failed
    uint64_t retry_after_ms;       // as the server asks, or 0
    bool is_unknown;               // a write may have been done without our knowing
    const char *taken_over;        // "apps/Deployment a/b: .spec.x (manager)", one a line, or NULL
    const char *warnings;          // the server's, one a line, or NULL
};
typedef void (*prg_reconcile_fn)(const struct prg_reconcile_report *report, void *ctx);

struct prg_reconcile_handler {
    // A write failed with err. The plan's resource may be given a status that says so, which is then written, with a
    // Warning of this reason when that changed anything. NULL: the status stays.
    const char *(*failed)(struct prg_plan *plan, const struct prg_error *err, void *ctx); // returns the reason
    // Are the plan's Events to be recorded? NULL: always.
    bool (*is_news)(const struct prg_reconcile_report *report, void *ctx);
    // Over, for better or worse. May free the reconcile. Comes from prg_reconcile_start when there is nothing to write.
    void (*done)(struct prg_reconcile *reconcile, void *ctx);
    void *ctx;
    // Condition types that are the planner's, NULL-ended, beside those in its status: it may drop them. NULL: none.
    const char *const *conditions;
};

// subject: the object that is planned, as the store has it now; only read during the call.
struct prg_reconcile *prg_reconcile_new(struct prg_store *store, const cJSON *subject,
                                        const struct prg_reconcile_handler *handler);
void prg_reconcile_free(struct prg_reconcile *reconcile); // callbacks of open writes do not come. NULL is fine
struct prg_plan *prg_reconcile_plan(struct prg_reconcile *reconcile); // to be filled; all of it in the plan's arena
// It failed because something changed since it was read: nothing is wrong, it is planned again.
bool prg_reconcile_is_overtaken(const struct prg_reconcile_report *report);
const struct prg_reconcile_report *prg_reconcile_report(const struct prg_reconcile *reconcile);

// Adds a write: to the last group, or as a new one. request's object is in the plan's arena, stored is copied.
void prg_reconcile_add(struct prg_reconcile *reconcile, const struct prg_write_request *request, bool begins_group);
// Adds the plan's objects, annotated with the plan's policy revision, as one group and its deletes (of objects that the
// store has, as it has them) as the next. PRG_INVALID: an object without a name or kind.
int prg_reconcile_add_plan(struct prg_reconcile *reconcile, struct prg_error *err) PRG_MUST_USE;
// The status of the plan's resource is not written.
void prg_reconcile_skip_status(struct prg_reconcile *reconcile);
// wall_ns: of the Events.
void prg_reconcile_start(struct prg_reconcile *reconcile, int64_t wall_ns);

// What was written: the object as the server answered (key, uid, resourceVersion), is_gone after a delete.
struct prg_written {
    struct prg_key key;
    const char *uid, *version;
    bool is_gone;
};
void prg_reconcile_each_written(const struct prg_reconcile *reconcile,
                                void (*visit)(const struct prg_written *written, void *ctx), void *ctx);
