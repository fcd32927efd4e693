// SPDX-License-Identifier: Apache-2.0
// samples.h: objects to ask policies about when none are given. Private to core/check.
#pragma once
#include "store/store.h"

// A store of a configuration, runtimes of many kinds and services that use them. Trees in arena.
struct prg_store *prg_check_samples_new(struct prg_arena *arena);
// The configuration among them: for objects that bring none. Tree in arena.
const cJSON *prg_check_samples_config(struct prg_arena *arena);
