// SPDX-License-Identifier: Apache-2.0
// test_faults.c: full disks, forbidden folders, killed writers: nothing half-written, nothing lost, the path named.
#include "folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "object/meta.h"

#define WIDGET(name) "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: " name "\n"
#define RENDERED(name) WIDGET(name) "  namespace: default\n"
#define OBJECTS ".perigee/objects/example.com/Widget/default/"
#define STATUS ".perigee/status/example.com/Widget/default/"
#define NOBODY 65534

static const struct prg_key key_a = {"example.com", "Widget", "default", "a"};

static const char *full(struct folder *f, const char *path)
{
    return prg_arena_printf(&f->arena, "%s/%s", f->root, path);
}

// ---- no room ----

// Files cannot grow beyond this, as on a disk that is full.
static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static cJSON *large_widget(struct folder *f, const char *letter)
{
    char text[5000];
    cJSON *object = yaml_of(&f->arena, RENDERED("a"));
    memset(text, *letter, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    prg_json_set_string(&f->arena, object, "data", text);
    return object;
}

static void a_full_disk_leaves_the_old_object(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    open_folder(f);
    apply(f, RENDERED("a") "data: old\n");
    limit_file_size(2000);
    int rc = f->store->ops->apply(f->store, large_widget(f, "x"), &result, &f->err);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(rc, PRG_IO);
    assert_error_has(&f->err, OBJECTS "a.yaml: cannot write: ");
    assert_string_equal(prg_json_get_text(get_widget(f, "a"), "data"), "old");
    assert_string_equal(prg_json_get_text(file_tree(f, OBJECTS "a.yaml"), "data"), "old");
    assert_no_temporary_files(f);
    // And goes on once there is room.
    assert_ok(f->store->ops->apply(f->store, large_widget(f, "x"), &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UPDATED);
}

static void a_full_disk_leaves_no_trace_of_a_new_object(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    open_folder(f);
    limit_file_size(0);
    int rc = f->store->ops->apply(f->store, large_widget(f, "x"), &result, &f->err);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(rc, PRG_IO);
    assert_null(get_widget(f, "a"));
    assert_false(has_file(f, ".perigee"));
    refresh(f);
    assert_changed(f, "");
}

static void a_full_disk_leaves_the_old_status_and_whole_event_lines(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    struct prg_store_event event = {"Normal", "A", "a"}, second = {"Normal", "B", "b"};
    char text[3000];
    write_file(f, "a.yaml", WIDGET("a"));
    open_folder(f);
    set_status(f, &key_a, "{'v': 1}");
    assert_ok(f->store->ops->record_event(f->store, &key_a, &event, NOON, &f->err), &f->err);
    const char *events = file_text(f, ".perigee/events.ndjson");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    cJSON *status = prg_json_object(&f->arena);
    prg_json_set_string(&f->arena, status, "text", text);
    limit_file_size(strlen(events) + 20);
    int rc = f->store->ops->set_status(f->store, &key_a, status, &result, &f->err);
    int event_rc = f->store->ops->record_event(f->store, &key_a, &second, NOON, NULL);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(rc, PRG_IO);
    assert_error_has(&f->err, STATUS "a.yaml");
    assert_json_text(&f->arena, prg_json_get(file_tree(f, STATUS "a.yaml"), "status"), "{'v': 1}");
    assert_int_equal(event_rc, PRG_IO);
    assert_string_equal(file_text(f, ".perigee/events.ndjson"), events);
    assert_ok(f->store->ops->record_event(f->store, &key_a, &second, NOON, &f->err), &f->err);
    assert_non_null(strstr(file_text(f, ".perigee/events.ndjson"), "\"reason\":\"B\""));
}

// ---- forbidden, and in the way ----

// Runs body in a child that is not root, so that permissions count. The child's exit code is the test's answer.
static void as_nobody(struct folder *f, int (*body)(struct folder *f))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(99);
        _exit(body(f));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool error_has(const struct folder *f, const char *part)
{
    char text[PRG_ERROR_LINE];
    return strstr(prg_error_text(&f->err, text, sizeof(text)), part) != NULL;
}

static int write_where_it_is_forbidden(struct folder *f)
{
    enum prg_write_result result;
    if (try_open_folder(f) != PRG_OK)
        return 1;
    if (try_apply(f, RENDERED("a"), &result) != PRG_IO || !error_has(f, f->root) || !error_has(f, "Permission denied"))
        return 2;
    if (f->store->ops->set_status(f->store, &key_a, json_of(&f->arena, "{}"), &result, NULL) != PRG_NOTFOUND)
        return 3;
    return get_widget(f, "a") ? 4 : 0;
}

static void a_read_only_folder_can_be_read_and_writing_names_the_path(void **state)
{
    struct folder *f = *state;
    write_file(f, "b.yaml", WIDGET("b"));
    assert_int_equal(chmod(f->root, 0555), 0);
    as_nobody(f, write_where_it_is_forbidden);
    assert_false(has_file(f, ".perigee"));
}

static int open_with_a_forbidden_folder(struct folder *f)
{
    if (try_open_folder(f) != PRG_IO || !error_has(f, "/sub: cannot read the folder: Permission denied"))
        return 1;
    return 0;
}

static int refresh_with_a_forbidden_folder(struct folder *f)
{
    open_folder(f);
    if (chmod(full(f, "sub"), 0) != 0)
        return 1;
    refresh(f);
    if (f->changed.length || !strstr(f->problems.text, "/sub: cannot read the folder: Permission denied"))
        return 2;
    if (!get_widget(f, "a"))
        return 3;
    refresh(f);
    if (f->problems.length) // told once
        return 4;
    if (chmod(full(f, "sub"), 0755) != 0)
        return 5;
    refresh(f);
    return f->changed.length || f->problems.length ? 6 : 0;
}

static void a_folder_that_cannot_be_read_is_an_error_and_hides_nothing_later(void **state)
{
    struct folder *f = *state;
    write_file(f, "sub/a.yaml", WIDGET("a"));
    assert_int_equal(chmod(full(f, "sub"), 0), 0);
    assert_int_equal(chmod(f->root, 0755), 0);
    as_nobody(f, open_with_a_forbidden_folder);
    assert_int_equal(chmod(full(f, "sub"), 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(f->root, NOBODY, NOBODY), 0);
        assert_int_equal(chown(full(f, "sub"), NOBODY, NOBODY), 0);
    }
    as_nobody(f, refresh_with_a_forbidden_folder);
}

static int read_a_forbidden_file(struct folder *f)
{
    return try_open_folder(f) == PRG_IO && error_has(f, "/a.yaml: Permission denied") ? 0 : 1;
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    assert_int_equal(chmod(f->root, 0755), 0);
    assert_int_equal(chmod(full(f, "a.yaml"), 0), 0);
    as_nobody(f, read_a_forbidden_file);
}

static void a_file_where_a_folder_must_be_is_named(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    write_file(f, ".perigee/objects/example.com", "in the way");
    open_folder(f);
    assert_int_equal(try_apply(f, RENDERED("a"), &result), PRG_IO);
    assert_error_has(&f->err, ".perigee/objects/example.com");
    assert_null(get_widget(f, "a"));
    assert_string_equal(file_text(f, ".perigee/objects/example.com"), "in the way");
}

static void a_folder_where_a_file_must_be_is_named(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    write_file(f, OBJECTS "a.yaml/x", "in the way");
    open_folder(f);
    assert_int_equal(try_apply(f, RENDERED("a"), &result), PRG_IO);
    assert_error_has(&f->err, OBJECTS "a.yaml: cannot write: ");
    assert_no_temporary_files(f);
}

static void a_manifest_that_is_too_large_is_refused(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    assert_int_equal(truncate(full(f, "a.yaml"), 17 * 1024 * 1024), 0);
    assert_int_equal(try_open_folder(f), PRG_LIMIT);
    assert_error_has(&f->err, "/a.yaml: larger than 16 MiB");
}

// ---- killed writers ----

static void leftovers_of_a_killed_writer_are_removed_at_open(void **state)
{
    struct folder *f = *state;
    write_file(f, OBJECTS ".perigee-tmp-1-0", "half");
    write_file(f, STATUS ".perigee-tmp-1-1", "half");
    write_file(f, ".perigee/.perigee-tmp-1-2", "half");
    open_folder(f);
    assert_no_temporary_files(f);
    assert_null(get_widget(f, "a"));
}

static void the_temporary_file_of_a_living_writer_stays(void **state)
{
    struct folder *f = *state;
    int ready[2], go[2];
    char byte;
    write_file(f, OBJECTS ".perigee-tmp-1-0", "half");
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) { // writes: holds the lock until told
        int fd = open(full(f, OBJECTS ".perigee-tmp-1-0"), O_RDWR);
        bool is_locked = flock(fd, LOCK_EX) == 0 && write(ready[1], "x", 1) == 1;
        _exit(is_locked && read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    open_folder(f);
    assert_true(has_file(f, OBJECTS ".perigee-tmp-1-0"));
    assert_int_equal(write(go[1], "x", 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    open_folder(f);
    assert_false(has_file(f, OBJECTS ".perigee-tmp-1-0"));
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
}

// Applies, sets status, records and removes until it is killed.
static void write_for_ever(struct folder *f)
{
    enum prg_write_result result;
    struct prg_error err = {0};
    for (int i = 0;; i++) {
        char name[16], message[32];
        struct prg_key key = {"example.com", "Widget", "default", name};
        snprintf(name, sizeof(name), "w%d", i % 7);
        snprintf(message, sizeof(message), "message %d", i);
        cJSON *object = large_widget(f, "x");
        prg_json_set_string(&f->arena, prg_json_get(object, "metadata"), "name", name);
        prg_json_set_int(&f->arena, object, "round", i);
        prg_json_set_int(&f->arena, prg_json_ensure_object(&f->arena, object, "spec"), "round", i);
        struct prg_store_event event = {"Normal", "Round", message};
        cJSON *status = prg_json_object(&f->arena);
        prg_json_set_int(&f->arena, status, "round", i);
        if (f->store->ops->apply(f->store, object, &result, &err) != PRG_OK ||
            f->store->ops->set_status(f->store, &key_a, status, &result, &err) != PRG_OK ||
            f->store->ops->record_event(f->store, &key, &event, NOON, &err) != PRG_OK ||
            (i % 5 == 0 && f->store->ops->remove(f->store, &key, NULL, &result, &err) != PRG_OK))
            _exit(1);
        prg_arena_reset(&f->arena);
    }
}

static void a_kill_at_any_moment_leaves_whole_files(void **state)
{
    enum { KILLS = 25 };
    struct folder *f = *state;
    unsigned seed = 1;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    for (int i = 0; i < KILLS; i++) {
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            if (try_open_folder(f) != PRG_OK)
                _exit(2);
            write_for_ever(f);
        }
        usleep(2000 + (useconds_t)(rand_r(&seed) % 30000));
        kill(pid, SIGKILL);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status)); // it did not end by an error of its own
        // Strict: every file parses, and each object is in its place.
        open_folder(f);
        assert_no_temporary_files(f);
        refresh(f);
        assert_string_equal(f->problems.text, "");
        assert_non_null(get_widget(f, "a"));
        prg_store_free(f->store);
        f->store = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_full_disk_leaves_the_old_object),
        FOLDER_TEST(a_full_disk_leaves_no_trace_of_a_new_object),
        FOLDER_TEST(a_full_disk_leaves_the_old_status_and_whole_event_lines),
        FOLDER_TEST(a_read_only_folder_can_be_read_and_writing_names_the_path),
        FOLDER_TEST(a_folder_that_cannot_be_read_is_an_error_and_hides_nothing_later),
        FOLDER_TEST(a_file_that_cannot_be_read_is_an_error),
        FOLDER_TEST(a_file_where_a_folder_must_be_is_named),
        FOLDER_TEST(a_folder_where_a_file_must_be_is_named),
        FOLDER_TEST(a_manifest_that_is_too_large_is_refused),
        FOLDER_TEST(leftovers_of_a_killed_writer_are_removed_at_open),
        FOLDER_TEST(the_temporary_file_of_a_living_writer_stays),
        FOLDER_TEST(a_kill_at_any_moment_leaves_whole_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
