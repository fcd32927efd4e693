// SPDX-License-Identifier: Apache-2.0
// test_frames.c: compressed lines, read whole, cut anywhere and damaged anywhere.
#include "record/frames.h"

#include <zstd.h>

#include "record_fixture.h"

enum { GROUPS = 12 };

struct lines {
    unsigned count;
    bool is_wrong; // a line was not what was written
    unsigned last; // number of the last
};

static const char *text_of(unsigned line)
{
    static char text[200];
    snprintf(text, sizeof(text), "{\"line\":%u,\"filler\":\"%0*u\"}", line, (int)(line * 7 % 60 + 1),
             line * 2654435761u);
    return text;
}

static int on_line(const char *text, size_t length, unsigned line, void *ctx, struct prg_error *err)
{
    struct lines *lines = ctx;
    (void)err;
    lines->count++;
    lines->is_wrong = lines->is_wrong || lines->count != line || strlen(text_of(line)) != length ||
                      memcmp(text_of(line), text, length) != 0;
    lines->last = line;
    return PRG_OK;
}

static struct prg_frames_writer *written(const struct folder *folder)
{
    struct prg_frames_writer *writer;
    struct prg_error err = {0};
    unsigned line = 1;
    assert_ok(prg_frames_create(folder->file, &writer, &err), &err);
    for (unsigned group = 0; group < GROUPS; group++) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        for (unsigned i = 0; i <= group % 3; i++)
            prg_strbuf_printf(&text, "%s\n", text_of(line++));
        assert_ok(prg_frames_write(writer, &text, &err), &err);
    }
    return writer;
}

static void lines_come_back(void **state)
{
    struct folder folder;
    struct lines lines = {0};
    struct prg_error err = {0};
    bool is_cut = true;
    (void)state;
    folder_make(&folder);
    assert_ok(prg_frames_close(written(&folder), &err), &err);
    assert_ok(prg_frames_read(folder.file, NULL, on_line, &lines, &is_cut, &err), &err);
    assert_int_equal(lines.count, 24);
    assert_false(lines.is_wrong);
    assert_false(is_cut);
    assert_true(prg_frames_is_one(folder.file));
    folder_remove(&folder);
}

static void a_killed_writer_leaves_what_it_was_given(void **state)
{
    struct folder folder;
    struct lines lines = {0};
    struct prg_error err = {0};
    bool is_cut = false;
    (void)state;
    folder_make(&folder);
    prg_frames_abandon(written(&folder));
    assert_ok(prg_frames_read(folder.file, NULL, on_line, &lines, &is_cut, &err), &err);
    assert_int_equal(lines.count, 24);
    assert_false(lines.is_wrong);
    assert_true(is_cut);
    folder_remove(&folder);
}

static void a_file_cut_anywhere_is_whole_up_to_there(void **state)
{
    struct folder folder;
    struct prg_error err = {0};
    size_t length;
    unsigned before = 0;
    (void)state;
    folder_make(&folder);
    assert_ok(prg_frames_close(written(&folder), &err), &err);
    char *bytes = read_bytes(folder.file, &length);
    for (size_t cut = 4; cut < length; cut++) {
        struct lines lines = {0};
        bool is_cut = false;
        write_bytes(folder.file, bytes, cut);
        assert_ok(prg_frames_read(folder.file, NULL, on_line, &lines, &is_cut, &err), &err);
        assert_true(is_cut);
        assert_false(lines.is_wrong);
        assert_true(lines.count >= before);
        before = lines.count;
    }
    assert_int_equal(before, 24);
    free(bytes);
    folder_remove(&folder);
}

static void damage_anywhere_is_told_with_its_line(void **state)
{
    struct folder folder;
    struct prg_error err = {0};
    size_t length;
    (void)state;
    folder_make(&folder);
    assert_ok(prg_frames_close(written(&folder), &err), &err);
    char *bytes = read_bytes(folder.file, &length);
    for (size_t at = 0; at < length; at++) {
        struct lines lines = {0};
        bool is_cut = false;
        bytes[at] = (char)(bytes[at] ^ 0x01);
        write_bytes(folder.file, bytes, length);
        bytes[at] = (char)(bytes[at] ^ 0x01);
        prg_error_clear(&err);
        int rc = prg_frames_read(folder.file, NULL, on_line, &lines, &is_cut, &err);
        // A bit or two are of no account: what they say can be said in two ways.
        if (rc == PRG_OK && !is_cut && (lines.is_wrong || lines.count != 24))
            fail_msg("byte %zu of %zu: nobody noticed", at, length);
        if (rc != PRG_OK)
            assert_error_has(&err, folder.file);
    }
    free(bytes);
    folder_remove(&folder);
}

static void write_plain(const struct folder *folder, const char *plain, size_t length)
{
    size_t room = ZSTD_compressBound(length);
    char *bytes = malloc(room);
    size_t n = ZSTD_compress(bytes, room, plain, length, 1);
    assert_false(ZSTD_isError(n));
    write_bytes(folder->file, bytes, n);
    free(bytes);
}

static void more_than_the_limits_is_refused(void **state)
{
    static const struct {
        struct prg_frames_limits limits;
        const char *part;
    } rows[] = {
        {{.line_bytes = 1000}, ":1: the line is longer than 1000 bytes"},
        {{.line_bytes = 100000, .plain_bytes = 1 << 20}, ":1: the line is longer than 100000 bytes"},
        {{.plain_bytes = 1 << 20}, ":1: more than 1 MiB when unpacked"},
    };
    struct folder folder;
    size_t length = (size_t)8 << 20;
    char *zeros = calloc(1, length);
    (void)state;
    folder_make(&folder);
    write_plain(&folder, zeros, length);
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct lines lines = {0};
        struct prg_error err = {0};
        bool is_cut;
        assert_int_equal(prg_frames_read(folder.file, &rows[i].limits, on_line, &lines, &is_cut, &err), PRG_LIMIT);
        assert_error_has(&err, rows[i].part);
    }
    free(zeros);
    folder_remove(&folder);
}

static void several_frames_are_one_text(void **state)
{
    struct folder folder;
    struct lines lines = {0};
    struct prg_error err = {0};
    bool is_cut = true;
    prg_auto_strbuf both = PRG_STRBUF_INIT;
    (void)state;
    folder_make(&folder);
    for (unsigned part = 0; part < 2; part++) { // a line begins in the first and ends in the second
        char plain[500];
        size_t length;
        snprintf(plain, sizeof(plain), "%s\n", text_of(1));
        write_plain(&folder, part ? plain + 5 : plain, part ? strlen(plain) - 5 : 5);
        char *bytes = read_bytes(folder.file, &length);
        prg_strbuf_add(&both, bytes, length);
        free(bytes);
    }
    write_bytes(folder.file, both.text, both.length);
    assert_ok(prg_frames_read(folder.file, NULL, on_line, &lines, &is_cut, &err), &err);
    assert_int_equal(lines.count, 1);
    assert_false(lines.is_wrong);
    assert_false(is_cut);
    folder_remove(&folder);
}

static void other_files_are_told_apart(void **state)
{
    static const char *const texts[] = {"x", "{\"perigeeRecording\": 1}\n", "\x28\xb5\x2f"};
    struct folder folder;
    (void)state;
    folder_make(&folder);
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        struct lines lines = {0};
        struct prg_error err = {0};
        bool is_cut;
        write_bytes(folder.file, texts[i], strlen(texts[i]));
        assert_false(prg_frames_is_one(folder.file));
        assert_int_equal(prg_frames_read(folder.file, NULL, on_line, &lines, &is_cut, &err), PRG_INVALID);
        assert_error_has(&err, "this is no recording");
    }
    write_bytes(folder.file, "", 0);
    assert_true(prg_frames_is_one(folder.file));
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_back),
        cmocka_unit_test(a_killed_writer_leaves_what_it_was_given),
        cmocka_unit_test(a_file_cut_anywhere_is_whole_up_to_there),
        cmocka_unit_test(damage_anywhere_is_told_with_its_line),
        cmocka_unit_test(more_than_the_limits_is_refused),
        cmocka_unit_test(several_frames_are_one_text),
        cmocka_unit_test(other_files_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
