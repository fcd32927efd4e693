// SPDX-License-Identifier: Apache-2.0
// replaying.h: recordings as the commands use them: as a source of objects, and decision by decision.
#pragma once
#include "cli/cli.h"
#include "controller/policy_life.h"
#include "record/recording.h"

// ---- a recording as a source ----
// Loads it; what is worth knowing goes to standard error. Readers of the store see the newest state of every object.
int prg_replaying_open_store(const char *path, struct prg_store **ret, struct prg_error *err) PRG_MUST_USE;
// The recording behind a store, NULL: it is another kind of store.
const struct prg_recording *prg_replaying_recording(const struct prg_store *store);

// ---- what a command plans with ----
struct prg_inputs {
    struct prg_policy_set *policies;
    struct prg_policy_life *life; // that of flags and settings, with the sets of namespaces; NULL: it is a recorded one
    struct prg_planner *planner;
    const struct prg_reader *reader;
    int64_t now_ns;
    uint64_t seed;
    struct prg_arena arena;
    struct prg_recorded recorded; // the decision that it is from; zeroed: none
};

// From flags, settings (loaded before) and store. With a recording, where no flag says otherwise, from its latest
// decision about subject (NULL: of all): policies, compatibility (written into settings as well), clock and seed, and
// with a subject the objects as that decision saw them. The caller closes *ret, also after an error.
int prg_inputs_open(const struct prg_cli_options *options, const struct prg_store *store, const struct prg_key *subject,
                    struct prg_settings *settings, struct prg_inputs *ret, struct prg_error *err) PRG_MUST_USE;
// One decision of a recording, but for policies and planner, which the caller sets.
int prg_inputs_read_decision(const struct prg_cli_options *options, const struct prg_recording *recording, size_t index,
                             struct prg_settings *settings, struct prg_inputs *ret, struct prg_error *err) PRG_MUST_USE;
// Makes the planner of policies, settings and reader.
void prg_inputs_make_planner(struct prg_inputs *inputs, const struct prg_settings *settings);
void prg_inputs_close(struct prg_inputs *inputs); // a zeroed one is fine
// The policies were chosen by a flag, not taken from the recording.
bool prg_inputs_has_own_policies(const struct prg_cli_options *options, const struct prg_settings *settings);
