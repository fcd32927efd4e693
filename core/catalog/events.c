// SPDX-License-Identifier: Apache-2.0
// events.c: recording Events in a file of bounded size.
//
// A new event is one appended line. A count changes a line in the middle, which takes a new file; that is done at once
// while the file is small, and later otherwise, so that a storm of equal events costs no more than memory. Appending
// does not wait for the disk: an Event lost with the power is no harm.
#include "catalog/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/map.h"
#include "catalog/disk.h"
#include "catalog/ndjson.h"

#define EVENTS_PATH ".perigee/events.ndjson"
#define LARGEST_FILE ((size_t)1024 * 1024)
#define KEPT_EVENTS 1000
#define KEPT_BYTES (LARGEST_FILE / 2)
#define SMALL_FILE ((size_t)64 * 1024)
#define LONGEST_MESSAGE 1024 // bytes, as the API server allows

struct event {
    char first[PRG_CLOCK_TEXT], last[PRG_CLOCK_TEXT];
    int64_t count;
};

struct prg_event_log {
    const char *root;
    struct prg_map events; // what makes an event the same, as JSON -> struct event; the latest is the last
    struct prg_file_sign sign;
    size_t size;   // of the file, bytes
    bool is_dirty; // counts that the file does not have yet
};

struct prg_event_log *prg_event_log_new(const char *root)
{
    struct prg_event_log *log = prg_xcalloc(1, sizeof(*log));
    log->root = root;
    prg_map_init(&log->events);
    return log;
}

static void forget_all(struct prg_event_log *log)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&log->events, &i));)
        free(entry->value);
    prg_map_clear(&log->events);
    log->is_dirty = false;
}

void prg_event_log_free(struct prg_event_log *log)
{
    if (!log)
        return;
    forget_all(log);
    prg_map_release(&log->events);
    free(log);
}

// ---- lines ----

// Length of text cut to LONGEST_MESSAGE at a character boundary.
static size_t cut_length(const char *text)
{
    size_t length = strlen(text);
    if (length <= LONGEST_MESSAGE)
        return length;
    length = LONGEST_MESSAGE;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

// {"type", "reason", "message", "object"} as compact JSON: what the identity of an event is.
static void identity(struct prg_strbuf *out, const struct prg_key *key, const struct prg_store_event *event)
{
    prg_auto_arena arena = {0};
    cJSON *node = prg_json_object(&arena);
    prg_json_set_string(&arena, node, "type", event->type);
    prg_json_set_string(&arena, node, "reason", event->reason);
    prg_json_set(&arena, node, "message", prg_json_stringn(&arena, event->message, cut_length(event->message)));
    prg_json_set(&arena, node, "object", prg_ndjson_of_key(&arena, key));
    prg_json_print(out, node, PRG_JSON_COMPACT);
}

static void add_line(struct prg_strbuf *out, const char *id, const struct event *event)
{
    prg_strbuf_puts(out, id);
    prg_strbuf_truncate(out, out->length - 1); // the closing brace
    prg_strbuf_printf(out, ",\"firstTimestamp\":\"%s\",\"lastTimestamp\":\"%s\",\"count\":%" PRId64 "}\n", event->first,
                      event->last, event->count);
}

static struct event *event_new(const char *first, const char *last, int64_t count)
{
    struct event *event = prg_xcalloc(1, sizeof(*event));
    snprintf(event->first, sizeof(event->first), "%s", first ? first : "");
    snprintf(event->last, sizeof(event->last), "%s", last ? last : "");
    event->count = count;
    return event;
}

static void load_line(const cJSON *line, void *ctx)
{
    struct prg_event_log *log = ctx;
    struct prg_store_event event = {prg_json_get_text(line, "type"), prg_json_get_text(line, "reason"),
                                    prg_json_get_text(line, "message")};
    prg_auto_strbuf id = PRG_STRBUF_INIT;
    struct prg_key key;
    int64_t count = 1;
    if (!event.type || !event.reason || !event.message || !prg_ndjson_to_key(prg_json_get(line, "object"), &key))
        return;
    (void)prg_json_get_int64(line, "count", &count);
    identity(&id, &key, &event);
    struct event *known = prg_map_remove(&log->events, id.text);
    if (known)
        count += known->count;
    // The texts come from a file that anybody may write: take times only.
    int64_t ns;
    const char *first = known ? known->first : prg_json_get_text(line, "firstTimestamp");
    const char *last = prg_json_get_text(line, "lastTimestamp");
    prg_map_put(&log->events, id.text,
                event_new(first && prg_clock_parse(first, &ns) ? first : "",
                          last && prg_clock_parse(last, &ns) ? last : "", count));
    free(known);
}

// ---- the file ----

static int stat_file(const struct prg_event_log *log, struct prg_file_sign *ret)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct stat info;
    prg_strbuf_printf(&path, "%s/%s", log->root, EVENTS_PATH);
    *ret = (struct prg_file_sign){0};
    if (stat(path.text, &info) != 0)
        return -1;
    *ret = prg_file_sign_of(&info);
    return 0;
}

// Reads the file unless it is as this log left it.
static int load(struct prg_event_log *log, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_auto_arena arena = {0};
    struct prg_file_sign sign;
    (void)stat_file(log, &sign);
    if (prg_file_sign_equal(&sign, &log->sign))
        return PRG_OK;
    forget_all(log);
    prg_strbuf_printf(&path, "%s/%s", log->root, EVENTS_PATH);
    int rc = prg_ndjson_read(&arena, path.text, load_line, log, &log->size, err);
    log->sign = rc == PRG_OK ? sign : (struct prg_file_sign){0};
    return rc;
}

// Drops the oldest events beyond what a new file may hold.
static void trim(struct prg_event_log *log)
{
    size_t bytes = 0, kept = 0;
    for (size_t i = log->events.count_all; i-- > 0;) {
        struct prg_map_entry *entry = &log->events.entries[i];
        if (!entry->key)
            continue;
        bytes += entry->key_length + 2 * PRG_CLOCK_TEXT + 64;
        if (++kept > KEPT_EVENTS || bytes > KEPT_BYTES)
            free(prg_map_remove(&log->events, entry->key));
    }
}

static int rewrite(struct prg_event_log *log, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&log->events, &i));)
        add_line(&text, entry->key, entry->value);
    int rc = prg_disk_write(log->root, EVENTS_PATH, text.text, text.length, &log->sign, err);
    if (rc != PRG_OK)
        return rc;
    log->size = text.length;
    log->is_dirty = false;
    return PRG_OK;
}

static int append(struct prg_event_log *log, const char *id, const struct event *event, struct prg_error *err)
{
    prg_auto_strbuf line = PRG_STRBUF_INIT;
    add_line(&line, id, event);
    int rc = prg_disk_append(log->root, EVENTS_PATH, line.text, line.length, false, err);
    if (rc != PRG_OK)
        return rc;
    log->size += line.length;
    (void)stat_file(log, &log->sign);
    return PRG_OK;
}

int prg_event_log_flush(struct prg_event_log *log, struct prg_error *err)
{
    return log->is_dirty ? rewrite(log, err) : PRG_OK;
}

int prg_event_log_record(struct prg_event_log *log, const struct prg_key *key, const struct prg_store_event *event,
                         int64_t now_ns, struct prg_error *err)
{
    prg_auto_strbuf id = PRG_STRBUF_INIT;
    char now[PRG_CLOCK_TEXT];
    int rc = load(log, err);
    if (rc != PRG_OK)
        return rc;
    prg_clock_format(now_ns, now);
    identity(&id, key, event);
    struct event *known = prg_map_remove(&log->events, id.text);
    struct event *latest = event_new(known && known->first[0] ? known->first : now, now, known ? known->count + 1 : 1);
    prg_map_put(&log->events, id.text, latest);
    if (known) {
        free(known);
        log->is_dirty = true;
        return log->size <= SMALL_FILE ? prg_event_log_flush(log, err) : PRG_OK;
    }
    rc = log->is_dirty ? rewrite(log, err) : append(log, id.text, latest, err);
    if (rc == PRG_OK && log->size > LARGEST_FILE) {
        trim(log);
        rc = rewrite(log, err);
    }
    if (rc != PRG_OK) // not in the file: the next time it is new again
        free(prg_map_remove(&log->events, id.text));
    return rc;
}
