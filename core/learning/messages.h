// SPDX-License-Identifier: Apache-2.0
// messages.h: what edge nodes are told: each message is {node, header: {namespace, resourceKind, resourceName,
// operation}, content}.
#pragma once
#include "object/reader.h"

enum prg_learning_change { PRG_CHANGE_STORED, PRG_CHANGE_DELETED };

// What a job that was stored (added, changed, or seen again at a resync) or deleted makes edge nodes be told, appended
// to messages. Models, the Dataset and Secrets come from store. A message to the node "" is one for which no node is
// known yet.
void prg_learning_downstream(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                             enum prg_learning_change change, cJSON *messages);
// The same for a Dataset.
void prg_dataset_downstream(struct prg_arena *arena, const struct prg_reader *store, const cJSON *dataset,
                            enum prg_learning_change change, cJSON *messages);

// The object as an edge node gets it: whole, with its kind, and with the Secret that spec.credentialName names.
cJSON *prg_learning_content(struct prg_arena *arena, const struct prg_reader *store, const cJSON *object,
                            const char *kind);

// The node whose report moves the job on in its present state: that of the Dataset or of a worker; "" when it is not
// known, NULL when no report is waited for. Borrowed from the job or the store.
const char *prg_learning_awaited_node(const struct prg_reader *store, const cJSON *job);
