// SPDX-License-Identifier: Apache-2.0
// quiet.h: has anything changed since the plan that had nothing to write? If not, the next plan would be the same one,
// and need not be made.
//
// What a plan reads is noted with its state (object/reader.h): every object, present or absent, every list, in the
// order of the reads. When all of it is as it was, and so are policies and configuration, a plan of the same inputs has
// the same outcome, since a plan is a function of them and of the time, and a plan that looked at the time is not kept.
// Wherever a state cannot be told, nothing is kept, and the plan is made.
//
// A kept plan takes about 370 bytes, 12 to 40 for each read (an object is told by its kind's number and what its name
// has beyond the service's), and some 70 of the map.
#pragma once
#include "object/reader.h"

struct prg_quiet; // what is kept, by queue key
struct prg_notes; // of one plan under way

// ---- while planning ----
// Reads of subject's plan go through the reader of the notes. store is borrowed.
struct prg_notes *prg_notes_new(const struct prg_reader *store, const struct prg_key *subject);
void prg_notes_free(struct prg_notes *notes); // NULL is fine
const struct prg_reader *prg_notes_reader(const struct prg_notes *notes);
// As if the object had been read now.
void prg_notes_add(struct prg_notes *notes, const struct prg_key *key);

// ---- afterwards ----
struct prg_quiet *prg_quiet_new(void);
void prg_quiet_free(struct prg_quiet *quiet); // NULL is fine
// The plan that was noted has nothing to write. planner: the state of all else that it came from (prg_planner_state).
void prg_quiet_keep(struct prg_quiet *quiet, const char *queue_key, const struct prg_notes *notes, uint64_t planner);
void prg_quiet_forget(struct prg_quiet *quiet, const char *queue_key);
// Everything is as it was when the key's plan was kept. False when none is.
bool prg_quiet_holds(const struct prg_quiet *quiet, const char *queue_key, const struct prg_key *subject,
                     const struct prg_reader *store, uint64_t planner);
size_t prg_quiet_bytes(const struct prg_quiet *quiet); // of all that is kept, without the map
