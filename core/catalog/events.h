// SPDX-License-Identifier: Apache-2.0
// events.h: the Events of a folder store: .perigee/events.ndjson, one a line:
//   {"type", "reason", "message", "object": {"group", "kind", "namespace", "name"}, "firstTimestamp", "lastTimestamp",
//    "count"}
// The same event again (object, type, reason, message) is counted, not added. The file is read when the first event is
// recorded, and kept below 1 MiB.
#pragma once
#include "object/key.h"
#include "store/store.h"

struct prg_event_log;

// root is borrowed.
struct prg_event_log *prg_event_log_new(const char *root);
// Does not write what is still due; flush first.
void prg_event_log_free(struct prg_event_log *log);
// A new event is in the file when this returns. So is a count while the file is small; counts in a large file wait for
// the next flush or new event.
int prg_event_log_record(struct prg_event_log *log, const struct prg_key *key, const struct prg_store_event *event,
                         int64_t now_ns, struct prg_error *err) PRG_MUST_USE;
int prg_event_log_flush(struct prg_event_log *log, struct prg_error *err) PRG_MUST_USE;
