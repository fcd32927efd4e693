// SPDX-License-Identifier: Apache-2.0
// policy_support.c: fixtures of the policy tests.
#include "policy_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int try_script(struct prg_arena *arena, const char *code, const char *input_json,
                      const struct prg_policy_limits *limits, cJSON **ret, struct prg_error *err)
{
    struct prg_script *script = NULL;
    const cJSON *input = input_json ? json_of(arena, input_json) : NULL;
    int rc = prg_script_load("script.lua", code, strlen(code), limits, &script, err);
    if (rc == PRG_OK)
        rc = prg_script_run(script, arena, "input", input, NULL, ret, err);
    prg_script_free(script);
    return rc;
}

cJSON *run_script(struct prg_arena *arena, const char *code, const char *input_json)
{
    struct prg_error err = {0};
    cJSON *value = NULL;
    int rc = try_script(arena, code, input_json, NULL, &value, &err);
    if (rc != PRG_OK)
        print_error("script: %s\n", code);
    assert_ok(rc, &err);
    return value;
}

const char *script_error(struct prg_arena *arena, const char *code, const char *input_json,
                         const struct prg_policy_limits *limits)
{
    struct prg_error err = {0};
    cJSON *value = NULL;
    char text[PRG_ERROR_LINE];
    if (try_script(arena, code, input_json, limits, &value, &err) == PRG_OK) {
        print_error("no error from: %s\n", code);
        fail();
    }
    return prg_arena_strdup(arena, prg_error_text(&err, text, sizeof(text)));
}

void assert_text_has_at(const char *text, const char *part, const char *file, int line)
{
    if (text && strstr(text, part))
        return;
    print_error("%s:%d: '%s' does not contain '%s'\n", file, line, text ? text : "(null)", part);
    fail();
}

char *policy_folder(struct prg_arena *arena, ...)
{
    char pattern[] = "/tmp/perigee-policy-XXXXXX";
    const char *name;
    va_list args;
    assert_non_null(mkdtemp(pattern));
    va_start(args, arena);
    while ((name = va_arg(args, const char *))) {
        const char *text = va_arg(args, const char *);
        FILE *file = fopen(prg_arena_printf(arena, "%s/%s", pattern, name), "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        fclose(file);
    }
    va_end(args);
    return prg_arena_strdup(arena, pattern);
}

void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char path[512];
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%.200s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(dir);
    rmdir(folder);
}

struct prg_policy_set *load_set(const char *folder)
{
    struct prg_policy_options options = {.folder = folder};
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    return set;
}

static void add_line(const char *text, void *ctx)
{
    prg_strbuf_puts(ctx, text);
    prg_strbuf_putc(ctx, '\n');
}

const char *load_errors(struct prg_arena *arena, const char *folder)
{
    prg_auto_strbuf lines = PRG_STRBUF_INIT;
    struct prg_policy_options options = {.folder = folder, .report = add_line, .report_ctx = &lines};
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    assert_int_equal(prg_policy_set_load(&options, &set, &err), PRG_INVALID);
    assert_null(set);
    return prg_arena_strdup(arena, lines.text);
}

int set_up_arena(void **state)
{
    struct prg_arena *arena = prg_xmalloc(sizeof(*arena));
    prg_arena_init(arena);
    *state = arena;
    return 0;
}

int tear_down_arena(void **state)
{
    prg_arena_release(*state);
    free(*state);
    return 0;
}
