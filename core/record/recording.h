// SPDX-License-Identifier: Apache-2.0
// recording.h: reading recordings. Everything in such a file is from outside: sizes, depth and every reference are
// checked, errors name file and line.
#pragma once
#include "store/store.h"

struct prg_recording;

// Reads the whole file (of a folder PRG_RECORD_FILE in it) and checks its form. A file that ends in the middle of a
// line is fine up to there, see prg_recording_note.
int prg_recording_load(const char *path, struct prg_recording **ret, struct prg_error *err) PRG_MUST_USE;
void prg_recording_free(struct prg_recording *recording); // NULL is fine
const char *prg_recording_path(const struct prg_recording *recording);
// What people should know though it is no error, or NULL: "FILE:LINE: the recording ends …".
const char *prg_recording_note(const struct prg_recording *recording);

size_t prg_recording_count(const struct prg_recording *recording); // decisions

struct prg_recorded_head { // borrowed from the recording
    struct prg_key key;
    int64_t now_ns;
    uint64_t seed;
    unsigned line;
    uint64_t policies, settings; // equal numbers: the same content
    bool is_redacted;            // secrets were replaced, before the plan that is recorded
    const char *digest;
};
// index < count.
const struct prg_recorded_head *prg_recording_head(const struct prg_recording *recording, size_t index);

// A decision with what its plan was made from. One at a time may be open.
struct prg_recorded {
    const struct prg_recorded_head *head;
    const cJSON *policies, *settings;
    const cJSON *plan;
    const struct prg_reader *reader; // answers what was asked then; see prg_recorded_is_beyond
};
// In arena, which must outlive it. PRG_INVALID: what it refers to is not what it should be.
int prg_recording_open(const struct prg_recording *recording, size_t index, struct prg_arena *arena,
                       struct prg_recorded *ret, struct prg_error *err) PRG_MUST_USE;
// The reader was asked for something that was not asked for when the decision was recorded (another policy, another
// version): the answer was what other reads of the decision hold, which may not be all.
bool prg_recorded_is_beyond(const struct prg_recorded *recorded);
void prg_recorded_close(struct prg_recorded *recorded); // the arena stays. A zeroed one is fine

// The newest state of every object in the recording, as a store to read from, which must not outlive the recording.
int prg_recording_store(const struct prg_recording *recording, struct prg_store **ret,
                        struct prg_error *err) PRG_MUST_USE;
