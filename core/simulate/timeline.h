// SPDX-License-Identifier: Apache-2.0
// timeline.h: the answer of a simulated scenario for people: one line for each thing that happened.
#pragma once
#include "json/value.h"

void prg_simulate_timeline(const cJSON *answer, struct prg_strbuf *out);
