// SPDX-License-Identifier: Apache-2.0
// kube_client.c: core/kube by remote control, for tests against a real API server.
//
//   kube_client KUBECONFIG
//
// Reads one command a line (JSON with "do" and "id") from standard input and writes what comes of it, one JSON line
// each, with the same "id". Ends with standard input. The commands are the rows of `commands` below;
// tests/e2e/client.py is the other side.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kube/adopt.h"
#include "kube/client.h"
#include "kube/http.h"
#include "kube/lease.h"
#include "kube/recorder.h"
#include "kube/reflector.h"
#include "json/value.h"

struct driver;

struct watched { // a kind with its reflector, or a lease: what goes on until the end
    struct watched *next;
    struct driver *driver;
    int64_t id;
    struct prg_reflector *reflector;
    struct prg_lease *lease;
};

struct asked { // one question or write under way
    struct driver *driver;
    int64_t id;
};

struct driver {
    uv_loop_t loop;
    uv_pipe_t input;
    struct prg_timers *timers;
    struct prg_kube_config config;
    struct prg_http *http;
    struct prg_discovery *discovery;
    struct prg_client *client;
    struct prg_recorder *recorder;
    struct prg_objects *objects;
    struct watched *watched;
    struct prg_arena arena; // of the command at hand and of the answers, until the next command
    struct prg_strbuf text; // of standard input, up to the first line that is not whole
};

// ---- answers ----

static cJSON *line_new(struct driver *driver, int64_t id, const char *what)
{
    cJSON *line = prg_json_object(&driver->arena);
    prg_json_set_int(&driver->arena, line, "id", id);
    prg_json_set_string(&driver->arena, line, "what", what);
    return line;
}

static void say(cJSON *line)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_json_print(&out, line, PRG_JSON_COMPACT);
    prg_strbuf_putc(&out, '\n');
    fwrite(out.text, 1, out.length, stdout);
    fflush(stdout);
}

static void set_error(struct driver *driver, cJSON *line, const struct prg_error *err)
{
    char buffer[PRG_ERROR_LINE];
    if (err)
        prg_json_set_string(&driver->arena, line, "error", prg_error_text(err, buffer, sizeof(buffer)));
}

static void say_error(struct driver *driver, int64_t id, const struct prg_error *err)
{
    cJSON *line = line_new(driver, id, "failed");
    set_error(driver, line, err);
    say(line);
}

// ---- questions and writes ----

static struct asked *asked_new(struct driver *driver, int64_t id)
{
    struct asked *asked = prg_xcalloc(1, sizeof(*asked));
    *asked = (struct asked){driver, id};
    return asked;
}

static void on_found(const struct prg_resource *resource, const struct prg_error *err, void *ctx)
{
    struct asked *asked = ctx;
    struct prg_arena *arena = &asked->driver->arena;
    cJSON *line = line_new(asked->driver, asked->id, "found");
    prg_json_set_bool(arena, line, "known", resource != NULL);
    if (resource) {
        prg_json_set_string(arena, line, "plural", resource->plural);
        prg_json_set_bool(arena, line, "namespaced", resource->is_namespaced);
    }
    set_error(asked->driver, line, err);
    say(line);
    free(asked);
}

static void do_find(struct driver *driver, int64_t id, const cJSON *command)
{
    prg_discovery_find(driver->discovery, prg_json_get_text(command, "apiVersion"), prg_json_get_text(command, "kind"),
                       on_found, asked_new(driver, id));
}

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    static const char *const results[] = {"unchanged", "created", "updated", "deleted", "failed"};
    static const char *const retries[] = {"soon", "slowly", "on change"};
    struct asked *asked = ctx;
    struct prg_arena *arena = &asked->driver->arena;
    cJSON *line = line_new(asked->driver, asked->id, results[outcome->result]);
    if (outcome->result == PRG_WRITE_FAILED)
        prg_json_set_string(arena, line, "retry", retries[outcome->retry]);
    prg_json_set_bool(arena, line, "unknown", outcome->is_unknown);
    prg_json_set_string(arena, line, "warnings", outcome->warnings);
    prg_json_set_string(arena, line, "takenOver", outcome->taken_over);
    if (outcome->object)
        prg_json_set(arena, line, "object", prg_json_reference(arena, outcome->object));
    set_error(asked->driver, line, outcome->err);
    say(line);
    free(asked);
}

static void do_apply(struct driver *driver, int64_t id, const cJSON *command)
{
    const cJSON *stored = prg_json_get(command, "stored");
    uint32_t marks = stored ? prg_adopt_mark(stored, "perigee") : 0;
    prg_client_apply(driver->client, prg_json_get(command, "intent"), stored, marks, on_written, asked_new(driver, id));
}

static void do_status(struct driver *driver, int64_t id, const cJSON *command)
{
    const cJSON *types = prg_json_get(command, "owned"), *item;
    const char **owned = NULL;
    if (types) {
        size_t count = 0;
        owned = prg_arena_array(&driver->arena, const char *, prg_json_count(types) + 1);
        prg_json_each (item, types)
            owned[count++] = prg_json_text(item);
    }
    prg_client_set_status(driver->client, prg_json_get(command, "stored"), prg_json_get(command, "status"), owned,
                          on_written, asked_new(driver, id));
}

static void do_delete(struct driver *driver, int64_t id, const cJSON *command)
{
    struct prg_key key = {prg_json_get_text(command, "group"), prg_json_get_text(command, "kind"),
                          prg_json_get_text(command, "namespace"), prg_json_get_text(command, "name")};
    prg_client_delete(driver->client, prg_json_get_text(command, "apiVersion"), &key, prg_json_get_text(command, "uid"),
                      prg_json_get_text(command, "version"), on_written, asked_new(driver, id));
}

static void do_event(struct driver *driver, int64_t id, const cJSON *command)
{
    const cJSON *o = prg_json_get(command, "object");
    struct prg_event_object object = {prg_json_get_text(o, "apiVersion"), prg_json_get_text(o, "kind"),
                                      prg_json_get_text(o, "namespace"),  prg_json_get_text(o, "name"),
                                      prg_json_get_text(o, "uid"),        prg_json_get_text(o, "version")};
    prg_recorder_add(driver->recorder, &object, prg_json_get_text(command, "type"),
                     prg_json_get_text(command, "reason"), prg_json_get_text(command, "message"));
    say(line_new(driver, id, "recorded"));
}

// ---- what goes on ----

static struct watched *watched_new(struct driver *driver, int64_t id)
{
    struct watched *watched = prg_xcalloc(1, sizeof(*watched));
    *watched = (struct watched){.next = driver->watched, .driver = driver, .id = id};
    return driver->watched = watched;
}

static struct watched *watched_find(struct driver *driver, int64_t id)
{
    struct watched *watched = driver->watched;
    while (watched && watched->id != id)
        watched = watched->next;
    return watched;
}

static void on_changed(enum prg_object_change change, const struct prg_object *old, const struct prg_object *object,
                       void *ctx)
{
    static const char *const changes[] = {"same", "added", "updated", "removed"};
    struct watched *watched = ctx;
    const struct prg_object *shown = object ? object : old;
    cJSON *line = line_new(watched->driver, watched->id, changes[change]);
    prg_json_set_string(&watched->driver->arena, line, "namespace", prg_object_namespace(shown));
    prg_json_set_string(&watched->driver->arena, line, "name", prg_object_name(shown));
    prg_json_set_string(&watched->driver->arena, line, "version", prg_object_version(shown));
    say(line);
}

static void on_health(enum prg_reflector_health health, const struct prg_error *err, void *ctx)
{
    static const char *const healths[] = {"starting", "ok", "broken", "missing", "denied"};
    struct watched *watched = ctx;
    cJSON *line = line_new(watched->driver, watched->id, healths[health]);
    set_error(watched->driver, line, err);
    say(line);
}

static void on_synced(void *ctx)
{
    struct watched *watched = ctx;
    say(line_new(watched->driver, watched->id, "synced"));
}

static void do_watch(struct driver *driver, int64_t id, const cJSON *command)
{
    struct watched *watched = watched_new(driver, id);
    int64_t page_size = 0;
    (void)prg_json_get_int64(command, "pageSize", &page_size);
    struct prg_kind_options of = {prg_json_get_text(command, "group"), prg_json_get_text(command, "version"),
                                  prg_json_get_text(command, "kind"), NULL, NULL};
    struct prg_reflector_options options = {.path = prg_json_get_text(command, "path"),
                                            .selector = prg_json_get_text(command, "selector"),
                                            .seed = (uint64_t)id,
                                            .page_size = (unsigned)page_size,
                                            .uses_watch_list = prg_json_get_true(command, "watchList"),
                                            .is_strict = prg_json_get_true(command, "strict")};
    struct prg_reflector_handler handler = {on_changed, on_health, on_synced, watched};
    watched->reflector = prg_reflector_new(prg_http_transport(driver->http), driver->timers,
                                           prg_objects_kind(driver->objects, &of), &options, &handler);
    prg_reflector_start(watched->reflector);
}

static void do_counts(struct driver *driver, int64_t id, const cJSON *command)
{
    const struct watched *watched = watched_find(driver, id);
    const struct prg_http_counts *http = prg_http_count(driver->http);
    struct prg_arena *arena = &driver->arena;
    cJSON *line = line_new(driver, id, "counts");
    (void)command;
    prg_json_set_int(arena, line, "requests", (int64_t)http->requests);
    prg_json_set_int(arena, line, "writes", (int64_t)prg_client_requests(driver->client));
    if (watched && watched->reflector) {
        const struct prg_reflector_counts *counts = prg_reflector_count(watched->reflector);
        prg_json_set_int(arena, line, "lists", (int64_t)counts->lists);
        prg_json_set_int(arena, line, "watches", (int64_t)counts->watches);
        prg_json_set_int(arena, line, "events", (int64_t)counts->events);
        prg_json_set_int(arena, line, "bookmarks", (int64_t)counts->bookmarks);
        prg_json_set_int(arena, line, "expired", (int64_t)counts->expired);
        prg_json_set_int(arena, line, "failures", (int64_t)counts->failures);
        prg_json_set_string(arena, line, "version", prg_reflector_version(watched->reflector));
    }
    say(line);
}

static void say_lease(struct watched *watched, const char *what)
{
    say(line_new(watched->driver, watched->id, what));
}

static void on_started(void *ctx)
{
    say_lease(ctx, "leading");
}

static void on_stopped(void *ctx)
{
    say_lease(ctx, "stopped");
}

static void on_observed(const char *identity, void *ctx)
{
    struct watched *watched = ctx;
    cJSON *line = line_new(watched->driver, watched->id, "observed");
    prg_json_set_string(&watched->driver->arena, line, "holder", identity);
    say(line);
}

static void on_problem(const struct prg_error *err, void *ctx)
{
    struct watched *watched = ctx;
    cJSON *line = line_new(watched->driver, watched->id, "problem");
    set_error(watched->driver, line, err);
    say(line);
}

static void on_released(void *ctx)
{
    say_lease(ctx, "released");
}

static uint64_t get_ms(const cJSON *command, const char *key)
{
    int64_t ms = 0;
    (void)prg_json_get_int64(command, key, &ms);
    return (uint64_t)ms;
}

static void do_lease(struct driver *driver, int64_t id, const cJSON *command)
{
    struct watched *watched = watched_new(driver, id);
    struct prg_error err = {0};
    struct prg_lease_options options = {.ns = prg_json_get_text(command, "namespace"),
                                        .name = prg_json_get_text(command, "name"),
                                        .identity = prg_json_get_text(command, "identity"),
                                        .duration_ms = get_ms(command, "durationMs"),
                                        .renew_ms = get_ms(command, "renewMs"),
                                        .retry_ms = get_ms(command, "retryMs"),
                                        .seed = (uint64_t)id};
    struct prg_lease_handler handler = {on_started, on_stopped, on_observed, on_problem, watched};
    if (prg_lease_new(prg_http_transport(driver->http), driver->timers, &options, &handler, &watched->lease, &err))
        say_error(driver, id, &err);
    else
        prg_lease_start(watched->lease);
}

static void do_release(struct driver *driver, int64_t id, const cJSON *command)
{
    struct watched *watched = watched_find(driver, id);
    (void)command;
    if (watched && watched->lease)
        prg_lease_release(watched->lease, on_released, watched);
}

// ---- commands ----

static const struct {
    const char *name;
    void (*run)(struct driver *driver, int64_t id, const cJSON *command);
} commands[] = {
    {"find", do_find},     {"watch", do_watch}, {"counts", do_counts}, {"apply", do_apply},     {"status", do_status},
    {"delete", do_delete}, {"event", do_event}, {"lease", do_lease},   {"release", do_release},
};

static void obey(struct driver *driver, const char *text, size_t length)
{
    struct prg_error err = {0};
    cJSON *command;
    int64_t id = 0;
    prg_arena_reset(&driver->arena);
    if (prg_json_parse(&driver->arena, text, length, NULL, &command, &err)) {
        say_error(driver, 0, &err);
        return;
    }
    const char *name = prg_json_get_text(command, "do");
    (void)prg_json_get_int64(command, "id", &id);
    for (size_t i = 0; name && i < PRG_COUNT(commands); i++)
        if (!strcmp(commands[i].name, name)) {
            commands[i].run(driver, id, command);
            return;
        }
    prg_error_set(&err, PRG_INVALID, __FILE__, __LINE__, "unknown command '%s'", name ? name : "");
    say_error(driver, id, &err);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char room[65536];
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(room, sizeof(room));
}

static void finish(struct driver *driver)
{
    uv_close((uv_handle_t *)&driver->input, NULL);
    for (struct watched *watched = driver->watched, *next; watched; watched = next) {
        next = watched->next;
        prg_reflector_free(watched->reflector);
        prg_lease_free(watched->lease);
        free(watched);
    }
    driver->watched = NULL;
    prg_client_halt(driver->client); // each write under way hears of it, so none of their notes is left
    prg_client_free(driver->client);
    prg_recorder_free(driver->recorder);
    prg_discovery_free(driver->discovery);
    prg_http_close(driver->http);
    prg_timers_free(driver->timers);
}

static void on_input(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct driver *driver = stream->data;
    if (got < 0) {
        finish(driver);
        return;
    }
    prg_strbuf_add(&driver->text, buffer->base, (size_t)got);
    char *from = driver->text.text, *end;
    size_t left = driver->text.length;
    while ((end = memchr(from, '\n', left))) {
        obey(driver, from, (size_t)(end - from));
        left -= (size_t)(end + 1 - from);
        from = end + 1;
    }
    memmove(driver->text.text, from, left);
    prg_strbuf_truncate(&driver->text, left);
}

int main(int argc, char **argv)
{
    struct driver *driver = prg_xcalloc(1, sizeof(*driver));
    struct prg_error err = {0};
    struct prg_kube_choice choice = {.kubeconfig = argc > 1 ? argv[1] : NULL};
    char buffer[PRG_ERROR_LINE];
    if (argc != 2 || prg_kube_config_load(&driver->config, &choice, NULL, &err)) {
        fprintf(stderr, "kube_client: %s\n",
                err.depth ? prg_error_text(&err, buffer, sizeof(buffer)) : "usage: kube_client KUBECONFIG");
        return 2;
    }
    uv_loop_init(&driver->loop);
    prg_strbuf_init(&driver->text);
    driver->timers = prg_timers_new(&driver->loop);
    struct prg_http_options options = {.user_agent = "perigee-test", .rate = -1};
    driver->http = prg_http_new(&driver->loop, driver->timers, &driver->config, &options);
    struct prg_transport *transport = prg_http_transport(driver->http);
    driver->discovery = prg_discovery_new(transport, driver->timers);
    driver->client = prg_client_new(transport, driver->timers, driver->discovery, &(struct prg_client_options){0});
    driver->recorder = prg_recorder_new(transport, driver->timers, &(struct prg_recorder_options){0});
    driver->objects = prg_objects_new(0);
    uv_pipe_init(&driver->loop, &driver->input, 0);
    driver->input.data = driver;
    uv_pipe_open(&driver->input, STDIN_FILENO);
    uv_read_start((uv_stream_t *)&driver->input, on_room, on_input);
    uv_run(&driver->loop, UV_RUN_DEFAULT);

    int status = uv_loop_close(&driver->loop) ? 1 : 0;
    prg_objects_free(driver->objects);
    prg_kube_config_release(&driver->config);
    prg_strbuf_release(&driver->text);
    prg_arena_release(&driver->arena);
    free(driver);
    return status;
}
