// SPDX-License-Identifier: Apache-2.0
// run_folder.c: the controller over a folder store.
//
// Sources of work: file watchers on every folder of the store and of the policy set (a burst of notices is taken
// together after DEBOUNCE_MS), a slow rescan for file systems that give no notice, the parts' own times.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "controller/process.h"

enum {
    DEBOUNCE_MS = 30,       // after the last notice …
    DEBOUNCE_MOST_MS = 300, // … but at most so long after the first
    RESCAN_MS = 10000,
    ONCE_PASSES = 20, // play_kubelet and status feed back into the store; a plan that never settles ends here
};

struct run;

struct watcher { // one folder; freed in its close callback
    uv_fs_event_t handle;
    struct run *run;
    bool is_of_policies; // the folder of the set itself
    bool seen;           // in the pass under way
    dev_t device;
    ino_t inode; // of the folder watched: one made anew under the same name needs a new watch
};

struct run {
    struct prg_process process;
    uv_timer_t debounce, rescan;
    struct prg_map watchers; // folder -> struct watcher
    struct prg_store *store;
    uint64_t first_notice_ms; // of the burst under way, 0: none
    char watch_problem[PRG_ERROR_LINE];
};

// ---- the store ----

struct changes {
    struct prg_arena arena;
    struct prg_vec keys; // struct prg_key *
};

static void note_change(const struct prg_key *key, void *ctx)
{
    struct changes *changes = ctx;
    struct prg_key *copy = prg_arena_new(&changes->arena, struct prg_key);
    *copy =
        (struct prg_key){prg_arena_strdup(&changes->arena, key->group), prg_arena_strdup(&changes->arena, key->kind),
                         prg_arena_strdup(&changes->arena, key->ns), prg_arena_strdup(&changes->arena, key->name)};
    prg_vec_push(&changes->keys, copy);
}

// Returns how many objects changed.
static size_t refresh_store(struct run *run)
{
    struct changes changes = {0};
    struct prg_error err = {0};
    prg_arena_init(&changes.arena);
    prg_vec_init(&changes.keys);
    if (run->store->ops->refresh(run->store, note_change, &changes, &err) != PRG_OK)
        prg_process_log_error("the folder cannot be read again; going on with what is known", &err);
    for (size_t i = 0; i < changes.keys.count; i++)
        prg_process_changed(&run->process, changes.keys.items[i]);
    size_t count = changes.keys.count;
    prg_vec_release(&changes.keys);
    prg_arena_release(&changes.arena);
    return count;
}

static void on_store_problem(const struct prg_error *err, void *ctx)
{
    (void)ctx;
    prg_process_log_error("manifest left out until it is mended", err);
}

// ---- the event loop ----

static void watch_folders(struct run *run);

static void on_debounce(uv_timer_t *timer)
{
    struct run *run = timer->data;
    run->first_notice_ms = 0;
    prg_policy_life_reload(run->process.policies);
    refresh_store(run);
    watch_folders(run);
    prg_process_wake(&run->process);
}

// Editors and copies write in bursts: the look waits for the end of it.
static void on_notice(uv_fs_event_t *handle, const char *filename, int events, int status)
{
    const struct watcher *watcher = handle->data;
    struct run *run = watcher->run;
    uint64_t now = prg_process_now_ms();
    (void)filename;
    (void)events;
    (void)status;
    if (watcher->is_of_policies)
        prg_policy_life_noticed(run->process.policies);
    if (!run->first_notice_ms)
        run->first_notice_ms = now;
    if (now - run->first_notice_ms < DEBOUNCE_MOST_MS)
        uv_timer_start(&run->debounce, on_debounce, DEBOUNCE_MS, 0);
}

static void on_watcher_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct watcher *watch(struct run *run, const char *path)
{
    struct watcher *watcher = prg_map_get(&run->watchers, path);
    struct stat info;
    if (stat(path, &info) != 0)
        return NULL; // gone again; the next pass finds it
    if (watcher && (watcher->inode != info.st_ino || watcher->device != info.st_dev)) {
        prg_map_remove(&run->watchers, path);
        uv_close((uv_handle_t *)&watcher->handle, on_watcher_closed);
        watcher = NULL;
    }
    if (!watcher) {
        watcher = prg_xcalloc(1, sizeof(*watcher));
        watcher->run = run;
        watcher->device = info.st_dev;
        watcher->inode = info.st_ino;
        watcher->handle.data = watcher;
        uv_fs_event_init(&run->process.loop, &watcher->handle);
        int rc = uv_fs_event_start(&watcher->handle, on_notice, path, 0);
        if (rc != 0) { // no watches left: the rescan still finds changes
            uv_close((uv_handle_t *)&watcher->handle, on_watcher_closed);
            if (strcmp(run->watch_problem, uv_strerror(rc)) != 0)
                prg_log(PRG_LOG_WARNING, "no change notice; changes are found by rescan", "folder", path, "error",
                        uv_strerror(rc), NULL);
            snprintf(run->watch_problem, sizeof(run->watch_problem), "%s", uv_strerror(rc));
            return NULL;
        }
        prg_map_put(&run->watchers, path, watcher);
    }
    watcher->seen = true;
    return watcher;
}

static void watch_folder(const char *path, void *ctx)
{
    (void)watch(ctx, path);
}

// The folder of the set and the one it is in: it may be a link that is pointed elsewhere, or be replaced as a whole. A
// ConfigMap mount swaps "..data" inside it.
static void watch_policies(struct run *run)
{
    const char *folder = prg_policy_life_folder(run->process.policies);
    prg_auto_strbuf parent = PRG_STRBUF_INIT;
    struct watcher *watcher = watch(run, folder);
    if (watcher)
        watcher->is_of_policies = true;
    prg_strbuf_puts(&parent, folder);
    while (parent.length > 1 && parent.text[parent.length - 1] == '/')
        prg_strbuf_truncate(&parent, parent.length - 1);
    const char *slash = strrchr(parent.text, '/');
    if (slash)
        prg_strbuf_truncate(&parent, slash == parent.text ? 1 : (size_t)(slash - parent.text));
    (void)watch(run, slash ? parent.text : ".");
}

// Brings the watchers in line with the folders that there are.
static void watch_folders(struct run *run)
{
    const struct prg_map_entry *entry;
    struct prg_vec gone;
    for (size_t i = 0; (entry = prg_map_next(&run->watchers, &i));)
        ((struct watcher *)entry->value)->seen = false;
    prg_catalog_each_folder(run->store, watch_folder, run);
    if (prg_policy_life_folder(run->process.policies))
        watch_policies(run);
    prg_vec_init(&gone);
    for (size_t i = 0; (entry = prg_map_next(&run->watchers, &i));)
        if (!((struct watcher *)entry->value)->seen)
            prg_vec_push(&gone, (void *)(uintptr_t)entry->key);
    for (size_t i = 0; i < gone.count; i++) {
        struct watcher *watcher = prg_map_remove(&run->watchers, gone.items[i]);
        uv_close((uv_handle_t *)&watcher->handle, on_watcher_closed);
    }
    prg_vec_release(&gone);
}

static void on_rescan(uv_timer_t *timer)
{
    on_debounce(&((struct run *)timer->data)->debounce);
}

static void on_signalled(void *ctx)
{
    struct run *run = ctx;
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&run->watchers, &i));)
        uv_close((uv_handle_t *)&((struct watcher *)entry->value)->handle, on_watcher_closed);
    prg_map_clear(&run->watchers);
    uv_close((uv_handle_t *)&run->debounce, NULL);
    uv_close((uv_handle_t *)&run->rescan, NULL);
    prg_process_close(&run->process);
}

static void serve(struct run *run)
{
    struct prg_process *process = &run->process;
    uv_timer_init(&process->loop, &run->debounce);
    uv_timer_init(&process->loop, &run->rescan);
    run->debounce.data = run->rescan.data = run;
    process->signalled = on_signalled;
    process->ctx = run;
    prg_process_listen(process);
    prg_process_start(process);
    uv_timer_start(&run->rescan, on_rescan, RESCAN_MS, RESCAN_MS);
    watch_folders(run);
    // What changed between reading and watching.
    prg_policy_life_reload(process->policies);
    refresh_store(run);
    prg_process_wake(process);
    prg_log(PRG_LOG_INFO, "watching", "folder", process->options->folder, NULL);
    uv_run(&process->loop, UV_RUN_DEFAULT);
}

static void run_once(struct run *run)
{
    for (int pass = 0; pass < ONCE_PASSES; pass++) {
        prg_process_turn(&run->process);
        if (refresh_store(run) == 0)
            break;
    }
}

int prg_run_folder(const struct prg_run_options *options, struct prg_error *err)
{
    struct run run = {0};
    struct prg_catalog_options catalog = {.play_kubelet = options->play_kubelet};
    int rc = prg_catalog_open(options->folder, &catalog, &run.store, err);
    if (rc != PRG_OK)
        return rc;
    rc = prg_process_open(&run.process, options, err);
    if (rc == PRG_OK) {
        rc = prg_process_load(&run.process, run.store, NULL, err);
        if (rc == PRG_OK) {
            prg_catalog_on_problem(run.store, on_store_problem, &run);
            prg_map_init(&run.watchers);
            prg_process_work(&run.process, true);
            if (options->once)
                run_once(&run);
            else
                serve(&run);
            prg_map_release(&run.watchers);
        }
        prg_process_release(&run.process);
    }
    prg_store_free(run.store);
    return rc;
}
