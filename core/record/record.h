// SPDX-License-Identifier: Apache-2.0
// record.h: writing recordings: what each plan was made from, and what came out. The form: docs/recordings.md.
//
// prg_planner_record (controller/planner.h) makes every plan of a planner a decision of the file; drivers only open and
// close. What is read at the store boundary is noted, each content once in a file. Secrets never get into the file
// (record/redact.h says which texts are): a plan that read one is made a second time from the stand-ins, and that one
// is recorded.
#pragma once
#include "object/reader.h"
#include "plan/plan.h"
#include "policy/policy.h"

struct prg_record;

#define PRG_RECORD_FILE "recording.ndjson.zst" // in a folder

struct prg_record_options {
    // A file, or a folder that is there (or ends in a slash; it is made): PRG_RECORD_FILE in it.
    const char *path;
    uint64_t max_bytes; // of one file, 0: 64 MiB; when it is reached the file becomes PATH.1, that PATH.2, …
    unsigned keep;      // such older files, 0: 4
    bool replaces;      // an older recording at path goes; otherwise it becomes PATH.1
    bool has_versions;  // uid and resourceVersion tell states of an object apart (an API server): saves time
    struct prg_policy_limits limits;                   // under which the policies run
    void (*problem)(const struct prg_error *, void *); // once: nothing is recorded from here on; may be NULL
    void *ctx;
};

// Begins the file. PRG_CONFLICT: at path is something else than a recording, or another process writes it.
int prg_record_open(const struct prg_record_options *options, struct prg_record **ret,
                    struct prg_error *err) PRG_MUST_USE;
// Completes the file. An error is the first of all that went wrong. NULL is fine.
int prg_record_close(struct prg_record *record, struct prg_error *err) PRG_MUST_USE;
const char *prg_record_path(const struct prg_record *record); // of the file
bool prg_record_is_broken(const struct prg_record *record);   // `problem` was called

// ---- for the planner: begin, plan with the reader it gives, (redacted, plan anew,) end ----

struct prg_record_decision { // borrowed during end
    const struct prg_key *key;
    int64_t now_ns;
    uint64_t seed;
    struct prg_policy_set *policies;
    const cJSON *settings;       // object: whatever else plans depend on, for the planner of the replay
    struct prg_plan *plan;       // NULL: there is none, because of
    const struct prg_error *err; // this
};

// The reader to plan with: reads from store (borrowed until end) and notes it. store itself when nothing can be
// recorded any more.
const struct prg_reader *prg_record_begin(struct prg_record *record, const struct prg_reader *store);
// The plan depends on an object that was read before: as if it had been read now. object NULL: there is none.
void prg_record_note(struct prg_record *record, const struct prg_key *key, const cJSON *object);
// A reader with stand-ins for all that was read; NULL: nothing of it was secret, so the plan can be recorded as it is.
const struct prg_reader *prg_record_redacted(struct prg_record *record);
// Instead of end: the plan is no plan, its objects could not be read.
void prg_record_cancel(struct prg_record *record);
void prg_record_end(struct prg_record *record, const struct prg_record_decision *decision);

// ---- the texts that are compared ----
// Appends the plan as one line of JSON, members by key.
void prg_record_print_plan(struct prg_strbuf *out, struct prg_plan *plan, const struct prg_error *err);
