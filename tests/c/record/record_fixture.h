// SPDX-License-Identifier: Apache-2.0
// record_fixture.h: a folder for recordings, and replaying one without the command line.
#pragma once
#include "support/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/planner.h"
#include "policy/portable.h"
#include "record/record.h"
#include "record/recording.h"
#include "stdlib/natives.h"
#include "store/store_mem.h"

struct folder {
    char path[64];
    char file[96];
};

static inline void folder_make(struct folder *folder)
{
    strcpy(folder->path, "/tmp/perigee-record-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->file, sizeof(folder->file), "%s/r.ndjson.zst", folder->path);
}

static inline void folder_remove(const struct folder *folder)
{
    DIR *dir = opendir(folder->path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder->path, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder->path);
}

static inline char *read_bytes(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *ret_length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*ret_length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *ret_length, file), *ret_length);
    fclose(file);
    return bytes;
}

static inline void write_bytes(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static inline struct prg_record *record_open(const struct folder *folder)
{
    struct prg_record *record = NULL;
    struct prg_record_options options = {.path = folder->file};
    struct prg_error err = {0};
    assert_ok(prg_record_open(&options, &record, &err), &err);
    return record;
}

static inline void record_close(struct prg_record *record)
{
    struct prg_error err = {0};
    assert_ok(prg_record_close(record, &err), &err);
}

static inline struct prg_policy_set *shipped_set(void)
{
    struct prg_policy_set *set = NULL;
    struct prg_policy_options options = {.folder = NULL};
    struct prg_error err = {0};
    prg_stdlib_register();
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    return set;
}

// Plans decision `index` anew, with the recorded policies unless set is given, and compares it byte for byte.
static inline bool replays(const struct prg_recording *recording, size_t index, struct prg_policy_set *set)
{
    prg_auto_arena arena;
    prg_auto_strbuf want = PRG_STRBUF_INIT, got = PRG_STRBUF_INIT;
    struct prg_recorded recorded;
    struct prg_error err = {0};
    struct prg_policy_limits limits = {.max_wall_ms = 60000};
    struct prg_compat compat = prg_compat_fixed;
    struct prg_policy_set *own = NULL;
    prg_arena_init(&arena);
    assert_ok(prg_recording_open(recording, index, &arena, &recorded, &err), &err);
    for (int flag = 0; flag < PRG_COMPAT_COUNT; flag++)
        compat.mended[flag] = prg_json_get_true(prg_json_get(recorded.settings, "compat"),
                                                prg_compat_flag_name((enum prg_compat_flag)flag));
    if (!set)
        assert_ok(prg_policy_set_from_json(recorded.policies, &limits, &own, &err), &err);
    struct prg_planner *planner =
        prg_planner_new(set ? set : own, &compat, prg_json_get_text(recorded.settings, "configNamespace"));
    prg_planner_load_config(planner, recorded.reader);
    struct prg_plan *plan = prg_plan_new(&arena);
    int rc = prg_planner_plan(planner, recorded.reader, &recorded.head->key, recorded.head->now_ns, recorded.head->seed,
                              plan, &err);
    prg_record_print_plan(&got, rc == PRG_OK ? plan : NULL, &err);
    prg_json_print(&want, recorded.plan, PRG_JSON_SORTED);
    bool is_same = got.length == want.length && memcmp(got.text, want.text, got.length) == 0;
    is_same = is_same && !prg_recorded_is_beyond(&recorded);
    prg_planner_free(planner);
    prg_policy_set_unref(own);
    prg_recorded_close(&recorded);
    return is_same;
}
