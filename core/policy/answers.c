// SPDX-License-Identifier: Apache-2.0
// answers.c: questions as texts, answers in one block each.
#include "policy/answers.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)8 << 20) // of all answers; beyond it all are forgotten

const char *const prg_answers_plain_fields[] = {"format",   "multi_model",    "multi_node", "named",
                                                "protocol", "protocol_given", NULL};

struct verdict {
    const char *code; // a constant, or NULL
    uint32_t reason;  // offset in texts, 0: none
    bool accepted;
};

struct source {
    const char *policy, *function; // constants, or NULL
    uint32_t file;                 // offset
    int line;
};

struct answer {
    struct source accept, before, choose;
    uint32_t reason; // of choose
    size_t count;    // of the order
    size_t chosen;   // index of a candidate, SIZE_MAX: none
    size_t *order;   // indices of candidates
    struct prg_strbuf texts;
    size_t bytes;
    struct verdict verdicts[];
};

// ---- questions ----

static void add_text(struct prg_strbuf *out, const char *text)
{
    prg_strbuf_putc(out, text ? 't' : 'n');
    if (text)
        prg_strbuf_add(out, text, strlen(text) + 1);
}

bool prg_answers_question(struct prg_strbuf *out, const struct prg_runtime_request *request,
                          const struct prg_candidate *candidates, size_t count)
{
    add_text(out, request->format_name);
    add_text(out, request->format_version);
    add_text(out, request->protocol);
    prg_strbuf_putc(out, (char)(request->protocol_given | request->named << 1 | request->multi_node << 2 |
                                request->multi_model << 3));
    prg_strbuf_add(out, &request->candidates, sizeof(request->candidates));
    for (size_t i = 0; !request->candidates && i < count; i++) {
        const struct prg_candidate *c = &candidates[i];
        // The rest of a candidate is what its object and the request say.
        struct {
            uint32_t identity;
            int16_t protocol;
            uint16_t flags;
            int64_t priority;
        } part = {.identity = c->object ? prg_json_identity(c->object) : 0, .protocol = (int16_t)c->protocol};
        if (!part.identity)
            return false;
        part.flags =
            (uint16_t)(c->is_cluster | c->match.present << 1 | c->match.auto_select << 2 | c->match.has_priority << 3);
        part.priority = c->match.has_priority ? c->match.priority : 0;
        prg_strbuf_add(out, &part, sizeof(part));
    }
    return true;
}

// ---- answers ----

static void answer_free(struct answer *answer)
{
    prg_strbuf_release(&answer->texts);
    free(answer->order);
    free(answer);
}

static void forget(struct prg_answers *answers)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&answers->by_question, &i));)
        answer_free(entry->value);
    prg_map_clear(&answers->by_question);
    answers->bytes = 0;
}

void prg_answers_init(struct prg_answers *answers)
{
    prg_map_init(&answers->by_question);
    answers->bytes = 0;
}

void prg_answers_release(struct prg_answers *answers)
{
    forget(answers);
    prg_map_release(&answers->by_question);
}

static uint32_t keep_text(struct answer *answer, const char *text)
{
    size_t offset = answer->texts.length;
    if (!text)
        return 0;
    prg_strbuf_add(&answer->texts, text, strlen(text) + 1);
    return (uint32_t)offset;
}

// A thousand candidates are refused for a handful of reasons: each text is kept once.
struct reasons {
    struct prg_map known; // text -> where it is
    struct {
        const char *text;
        uint32_t place;
    } recent[64]; // by address: most candidates share their text as well
};

static uint32_t keep_reason(struct answer *answer, struct reasons *reasons, const char *text)
{
    size_t slot = ((uintptr_t)text >> 4) % PRG_COUNT(reasons->recent);
    if (!text)
        return 0;
    if (reasons->recent[slot].text == text)
        return reasons->recent[slot].place;
    uintptr_t place = (uintptr_t)prg_map_get(&reasons->known, text);
    if (!place) {
        place = keep_text(answer, text);
        prg_map_put(&reasons->known, text, (void *)place); // NOLINT(performance-no-int-to-ptr)
    }
    reasons->recent[slot].text = text;
    reasons->recent[slot].place = (uint32_t)place;
    return (uint32_t)place;
}

static struct source keep_source(struct answer *answer, const struct prg_policy_source *source)
{
    return (struct source){source->policy, source->function, keep_text(answer, source->file), source->line};
}

static struct prg_policy_source source_of(const struct source *source, const char *texts)
{
    return (struct prg_policy_source){source->policy, source->function, source->file ? texts + source->file : NULL,
                                      source->line};
}

bool prg_answers_find(const struct prg_answers *answers, const struct prg_strbuf *question, struct prg_arena *arena,
                      struct prg_candidate *candidates, size_t count, struct prg_selection *ret)
{
    const struct answer *answer = prg_map_getn(&answers->by_question, question->text, question->length);
    if (!answer)
        return false;
    // The plan may outlive the set.
    const char *texts = prg_arena_strndup(arena, answer->texts.text, answer->texts.length);
    for (size_t i = 0; i < count; i++) {
        const struct verdict *verdict = &answer->verdicts[i];
        candidates[i].accepted = verdict->accepted;
        candidates[i].code = verdict->code;
        candidates[i].reason = verdict->reason ? texts + verdict->reason : NULL;
    }
    ret->ordered = prg_arena_array(arena, struct prg_candidate *, answer->count ? answer->count : 1);
    ret->count = answer->count;
    for (size_t i = 0; i < answer->count; i++)
        ret->ordered[i] = &candidates[answer->order[i]];
    ret->chosen = answer->chosen == SIZE_MAX ? NULL : &candidates[answer->chosen];
    ret->reason = answer->reason ? texts + answer->reason : NULL;
    ret->accept = source_of(&answer->accept, texts);
    ret->before = source_of(&answer->before, texts);
    ret->choose = source_of(&answer->choose, texts);
    return true;
}

void prg_answers_keep(struct prg_answers *answers, const struct prg_strbuf *question,
                      const struct prg_candidate *candidates, size_t count, const struct prg_selection *selection)
{
    struct answer *answer = prg_xcalloc(1, sizeof(*answer) + count * sizeof(answer->verdicts[0]));
    struct reasons reasons = {0};
    prg_map_init(&reasons.known);
    prg_strbuf_init(&answer->texts);
    prg_strbuf_putc(&answer->texts, '\0'); // offset 0 is no text
    for (size_t i = 0; i < count; i++)
        answer->verdicts[i] = (struct verdict){candidates[i].code, keep_reason(answer, &reasons, candidates[i].reason),
                                               candidates[i].accepted};
    prg_map_release(&reasons.known);
    answer->count = selection->count;
    answer->order = prg_xcalloc(selection->count + 1, sizeof(*answer->order));
    for (size_t i = 0; i < selection->count; i++)
        answer->order[i] = (size_t)(selection->ordered[i] - candidates);
    answer->chosen = selection->chosen ? (size_t)(selection->chosen - candidates) : SIZE_MAX;
    answer->reason = keep_text(answer, selection->reason);
    answer->accept = keep_source(answer, &selection->accept);
    answer->before = keep_source(answer, &selection->before);
    answer->choose = keep_source(answer, &selection->choose);
    answer->bytes = sizeof(*answer) + count * sizeof(answer->verdicts[0]) + answer->texts.cap + question->length +
                    (selection->count + 1) * sizeof(*answer->order);
    if (answer->bytes > MOST_BYTES) {
        answer_free(answer);
        return;
    }
    if (answers->bytes + answer->bytes > MOST_BYTES)
        forget(answers);
    answers->bytes += answer->bytes;
    prg_map_putn(&answers->by_question, question->text, question->length, answer);
}
