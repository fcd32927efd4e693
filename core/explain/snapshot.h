// SPDX-License-Identifier: Apache-2.0
// snapshot.h: a reader that several threads may read at once, over one that only one may.
//
// A kind is listed once, when it is first asked for, and from then on answered from that list without touching the
// base. So what planning many objects costs does not depend on what a single read costs the base. The base must not
// change while the snapshot is in use; its objects are borrowed.
#pragma once
#include "object/reader.h"

struct prg_snapshot;

struct prg_snapshot *prg_snapshot_new(const struct prg_reader *base);
void prg_snapshot_free(struct prg_snapshot *snapshot); // NULL is fine
const struct prg_reader *prg_snapshot_reader(const struct prg_snapshot *snapshot);
