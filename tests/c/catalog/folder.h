// SPDX-License-Identifier: Apache-2.0
// folder.h: a temporary folder store for tests: its files as texts, its objects as lookups.
#pragma once
#include "support/support.h"

#include "catalog/catalog.h"

struct folder {
    struct prg_arena arena;
    char root[64];
    struct prg_store *store; // NULL until open
    int64_t now_ns;          // the store's clock
    struct prg_error err;
    struct prg_strbuf changed;  // keys that the last refresh reported, "Kind ns/name;" each
    struct prg_strbuf problems; // texts that the last refresh reported, one a line
};

int folder_set_up(void **state); // cmocka fixtures; *state is the struct folder
int folder_tear_down(void **state);
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

#define NOON INT64_C(1780315200000000000) // 2026-06-01T12:00:00Z
#define NOON_TEXT "2026-06-01T12:00:00Z"

// Files by path relative to the root; folders are made. The time of the file is moved on, so that a change within one
// tick of the clock is one.
void write_file(struct folder *f, const char *path, const char *text);
void remove_path(struct folder *f, const char *path); // file or folder with all in it
bool has_file(const struct folder *f, const char *path);
const char *file_text(struct folder *f, const char *path); // fails the test when missing
cJSON *file_tree(struct folder *f, const char *path);      // of a YAML file with one document
void assert_no_temporary_files(struct folder *f);
size_t file_count(const struct folder *f, const char *path); // regular files below a folder

void open_folder(struct folder *f); // fails the test on error; closes the store that is open
void open_folder_with_kubelet(struct folder *f);
int try_open_folder(struct folder *f);                   // f->err
void refresh(struct folder *f);                          // tolerant; fills changed and problems
void assert_changed(struct folder *f, const char *want); // keys in any order

const cJSON *get(const struct folder *f, const char *group, const char *kind, const char *ns, const char *name);
const cJSON *get_widget(const struct folder *f, const char *name); // example.com Widget default/NAME
// YAML text of one object, applied.
enum prg_write_result apply(struct folder *f, const char *yaml);
int try_apply(struct folder *f, const char *yaml, enum prg_write_result *ret); // f->err
enum prg_write_result set_status(struct folder *f, const struct prg_key *key, const char *json);
cJSON *yaml_of(struct prg_arena *arena, const char *yaml);
