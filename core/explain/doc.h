// SPDX-License-Identifier: Apache-2.0
// doc.h: making the documents of core/explain, and values shortened for a line.
#pragma once
#include "plan/plan.h"

// Sets object[key], unless there is nothing to say.
void prg_doc_text(struct prg_arena *arena, cJSON *object, const char *key, const char *text);
void prg_doc_node(struct prg_arena *arena, cJSON *object, const char *key, cJSON *node); // NULL, {} and [] are nothing
// {policy, function, file, line}, or NULL when a fixed rule decided.
cJSON *prg_doc_source(struct prg_arena *arena, const struct prg_policy_source *source);
// {decision, subject, outcome, reason, policy}
cJSON *prg_doc_trace(struct prg_arena *arena, const struct prg_trace_entry *entry);
// {kind, namespace, name}
cJSON *prg_doc_subject(struct prg_arena *arena, const cJSON *object);
// A value in one line, cut when it is long.
void prg_doc_value(struct prg_strbuf *out, const cJSON *node, size_t max);
// "[file:line function]" of what prg_doc_source made, with a space in front; nothing for NULL.
void prg_doc_put_source(struct prg_strbuf *out, const cJSON *source);
// text without line breaks and control characters.
void prg_doc_put_line(struct prg_strbuf *out, const char *text);
