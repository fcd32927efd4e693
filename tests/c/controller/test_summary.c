// SPDX-License-Identifier: Apache-2.0
// test_summary.c: a plan in a few words.
#include "controller/summary.h"

#include <string.h>

#include "base/utf8.h"
#include "support/support.h"

static struct prg_plan *plan_of(struct prg_arena *arena, const char *error)
{
    struct prg_plan *plan = prg_plan_new(arena);
    plan->resource = json_of(arena, "{'kind':'InferenceService','metadata':{'name':'s','namespace':'n'},'spec':{"
                                    "'predictor':{'model':{'runtime':'r'}}}}");
    plan->error = error;
    return plan;
}

static void assert_text(const char *text)
{
    for (size_t room = strlen(text); room;) {
        size_t length = (unsigned char)*text < 0x80 ? 1 : prg_utf8_length(text, room);
        assert_true(length > 0);
        text += length;
        room -= length;
    }
}

// Every place where a cut may fall, with characters of every length.
static void a_long_reason_is_cut_between_characters(void **state)
{
    static const char *const characters[] = {"x", "é", "語", "😀"};
    (void)state;
    for (size_t c = 0; c < PRG_COUNT(characters); c++)
        for (size_t before = 0; before < 8; before++) {
            prg_auto_arena arena = {0};
            prg_auto_strbuf text = PRG_STRBUF_INIT;
            struct prg_plan_summary summary;
            prg_strbuf_pad(&text, 'a', before);
            while (text.length < 300)
                prg_strbuf_puts(&text, characters[c]);
            prg_plan_summarise(plan_of(&arena, text.text), &summary);
            assert_text(summary.ready);
            assert_true(strlen(summary.ready) < 120);
            assert_true(prg_text_has_suffix(summary.ready, " …"));
        }
}

static void a_reason_is_cut_at_a_word_where_there_is_one(void **state)
{
    prg_auto_arena arena = {0};
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct prg_plan_summary summary;
    (void)state;
    while (text.length < 100)
        prg_strbuf_puts(&text, "word ");
    prg_strbuf_puts(&text, "eineinzigeslangeswort");
    prg_plan_summarise(plan_of(&arena, text.text), &summary);
    assert_true(prg_text_has_suffix(summary.ready, "word …"));
    prg_plan_summarise(plan_of(&arena, "short"), &summary);
    assert_string_equal(summary.ready, "short");
    assert_string_equal(summary.runtime, "r");
    assert_string_equal(summary.image, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_reason_is_cut_between_characters),
        cmocka_unit_test(a_reason_is_cut_at_a_word_where_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
