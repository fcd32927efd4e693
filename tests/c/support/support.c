// SPDX-License-Identifier: Apache-2.0
// support.c: fixtures shared by C tests.
#include "support/support.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

cJSON *json_of(struct prg_arena *arena, const char *text)
{
    char *copy = prg_arena_strdup(arena, text);
    struct prg_error err = {0};
    cJSON *ret = NULL;
    if (!strchr(copy, '"'))
        for (char *p = copy; *p; p++)
            if (*p == '\'')
                *p = '"';
    assert_ok(prg_json_parse(arena, copy, strlen(copy), NULL, &ret, &err), &err);
    return ret;
}

void assert_json_equal_at(const cJSON *got, const cJSON *want, const char *file, int line)
{
    if (prg_json_equal(got, want))
        return;
    prg_auto_strbuf a = PRG_STRBUF_INIT, b = PRG_STRBUF_INIT;
    if (got)
        prg_json_print(&a, got, PRG_JSON_SORTED | PRG_JSON_PRETTY);
    if (want)
        prg_json_print(&b, want, PRG_JSON_SORTED | PRG_JSON_PRETTY);
    print_error("%s:%d: trees differ\ngot:  %s\nwant: %s\n", file, line, a.text, b.text);
    fail();
}

void assert_ok_at(int rc, const struct prg_error *err, const char *file, int line)
{
    char text[PRG_ERROR_LINE];
    if (rc == PRG_OK)
        return;
    print_error("%s:%d: error %d: %s\n", file, line, rc, prg_error_text(err, text, sizeof(text)));
    fail();
}

void assert_error_has_at(const struct prg_error *err, const char *part, const char *file, int line)
{
    char text[PRG_ERROR_LINE];
    prg_error_text(err, text, sizeof(text));
    if (strstr(text, part))
        return;
    print_error("%s:%d: error text '%s' does not contain '%s'\n", file, line, text, part);
    fail();
}

char *read_test_file(struct prg_arena *arena, const char *path, size_t *ret_length)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        print_error("cannot open %s (tests run in the folder tests/)\n", path);
    assert_non_null(f);
    prg_auto_strbuf buf = PRG_STRBUF_INIT;
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        prg_strbuf_add(&buf, chunk, n);
    fclose(f);
    *ret_length = buf.length;
    return prg_arena_strndup(arena, buf.text, buf.length);
}

cJSON *read_test_json(struct prg_arena *arena, const char *path)
{
    size_t length;
    const char *text = read_test_file(arena, path, &length);
    struct prg_error err = {0};
    cJSON *ret = NULL;
    assert_ok(prg_json_parse(arena, text, length, NULL, &ret, &err), &err);
    return ret;
}

// Its status as waitpid tells it.
static int run_in_child(void (*fn)(void), char *said, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while (used + 1 < size && (got = read(ends[0], said + used, size - 1 - used)) > 0)
        used += (size_t)got;
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

int exit_of(void (*fn)(void), char *said, size_t size)
{
    int status = run_in_child(fn, said, size);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int death_of(void (*fn)(void), char *said, size_t size)
{
    int status = run_in_child(fn, said, size);
    assert_true(WIFSIGNALED(status));
    return WTERMSIG(status);
}
