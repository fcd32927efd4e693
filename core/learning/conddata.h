// SPDX-License-Identifier: Apache-2.0
// conddata.h: the data of a condition: what an edge node hands to the next stage ("input") and what a worker made
// ("output"). Private to core/learning, but for the drivers' tests.
//
//   {"input": {"model": M, "models": [M …], "dataURL", "dataIndexURL", "outputDir"}, "output": {"model": M, "models":
//   [M …]}}
//
// Fields are read as Go reads them: letter case of keys is free, a later spelling wins, null is absent.
#pragma once
#include "json/value.h"

// Member of an object by name in any letter case, the last one that is not null; NULL when there is none.
const cJSON *prg_field(const cJSON *object, const char *name);
const char *prg_field_text(const cJSON *object, const char *name); // or NULL

// The data of a report, brought into the form in which it is stored: unknown fields dropped, members in a fixed order,
// numbers as doubles. {} when it has neither input nor output. PRG_INVALID names the JSON pointer of a field with a
// wrong type.
int prg_conddata_normalise(struct prg_arena *arena, const cJSON *content, cJSON **ret,
                           struct prg_error *err) PRG_MUST_USE;

// The data text of a stored condition as a tree, NULL when there is none or it is not a JSON object.
cJSON *prg_conddata_parse(struct prg_arena *arena, const char *text);
// That part ("input", "output") of the data of a job's newest condition of this stage and type that has it, or NULL.
const cJSON *prg_conddata_latest(struct prg_arena *arena, const cJSON *job, const char *stage, const char *type,
                                 const char *part);

// URLs of the models of an input or output: that of `model`, else those of `models`. An array of strings, maybe empty.
cJSON *prg_conddata_model_urls(struct prg_arena *arena, const cJSON *part);
