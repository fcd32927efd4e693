// SPDX-License-Identifier: Apache-2.0
// seen.c: the log of what is remembered of users' objects.
//
// One file for all, not one per object: the first look at a fleet would otherwise make ten thousand files, each with
// its fsync.
#include "catalog/seen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "catalog/disk.h"
#include "catalog/ndjson.h"
#include "catalog/path.h"

#define SEEN_PATH ".perigee/seen.ndjson"
#define SPARE_LINES 1000 // out-of-date lines that are not worth a rewrite

struct entry {
    struct prg_seen seen;
    char *object; // the key as JSON
};

struct prg_seen_log {
    const char *root;
    struct prg_map entries;    // path -> struct entry
    struct prg_strbuf pending; // lines for the file
    size_t line_count;         // in the file and pending
};

static void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    free(entry->object);
    free(entry);
}

static struct entry *entry_new(const struct prg_key *key, const struct prg_seen *seen)
{
    prg_auto_arena arena = {0};
    struct entry *entry = prg_xcalloc(1, sizeof(*entry));
    entry->seen = *seen;
    entry->object = prg_xstrdup(prg_json_print_arena(&arena, prg_ndjson_of_key(&arena, key), PRG_JSON_COMPACT));
    return entry;
}

static void add_line(struct prg_strbuf *out, const struct entry *entry)
{
    prg_strbuf_printf(
        out, "{\"object\":%s,\"creationTimestamp\":\"%s\",\"generation\":%" PRId64 ",\"spec\":\"%016" PRIx64 "\"}\n",
        entry->object, entry->seen.created, entry->seen.generation, entry->seen.spec_digest);
}

// ---- reading ----

static bool parse_digest(const char *text, uint64_t *ret)
{
    char *end;
    if (!text || strlen(text) != 16)
        return false;
    *ret = strtoull(text, &end, 16);
    return !*end;
}

static void load_line(const cJSON *line, void *ctx)
{
    struct prg_seen_log *log = ctx;
    struct prg_key key;
    struct prg_seen seen = {0};
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    const char *created = prg_json_get_text(line, "creationTimestamp");
    int64_t ns;
    log->line_count++;
    if (!prg_ndjson_to_key(prg_json_get(line, "object"), &key))
        return;
    prg_catalog_path(&path, &key);
    if (prg_json_get_true(line, "gone")) {
        entry_free(prg_map_remove(&log->entries, path.text));
        return;
    }
    if (!created || strlen(created) >= sizeof(seen.created) || !prg_clock_parse(created, &ns) ||
        !prg_json_get_int64(line, "generation", &seen.generation) ||
        !parse_digest(prg_json_get_text(line, "spec"), &seen.spec_digest))
        return;
    snprintf(seen.created, sizeof(seen.created), "%s", created);
    entry_free(prg_map_put(&log->entries, path.text, entry_new(&key, &seen)));
}

int prg_seen_log_open(const char *root, struct prg_seen_log **ret, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct prg_seen_log *log = prg_xcalloc(1, sizeof(*log));
    log->root = root;
    prg_map_init(&log->entries);
    prg_strbuf_init(&log->pending);
    prg_strbuf_printf(&path, "%s/%s", root, SEEN_PATH);
    int rc = prg_ndjson_read(&arena, path.text, load_line, log, NULL, err);
    if (rc != PRG_OK) {
        prg_seen_log_free(log);
        return rc;
    }
    *ret = log;
    return PRG_OK;
}

void prg_seen_log_free(struct prg_seen_log *log)
{
    const struct prg_map_entry *entry;
    if (!log)
        return;
    for (size_t i = 0; (entry = prg_map_next(&log->entries, &i));)
        entry_free(entry->value);
    prg_map_release(&log->entries);
    prg_strbuf_release(&log->pending);
    free(log);
}

// ---- changing ----

const struct prg_seen *prg_seen_get(const struct prg_seen_log *log, const char *path)
{
    const struct entry *entry = prg_map_get(&log->entries, path);
    return entry ? &entry->seen : NULL;
}

void prg_seen_set(struct prg_seen_log *log, const char *path, const struct prg_key *key, const struct prg_seen *seen)
{
    struct entry *entry = entry_new(key, seen);
    entry_free(prg_map_put(&log->entries, path, entry));
    add_line(&log->pending, entry);
    log->line_count++;
}

void prg_seen_forget(struct prg_seen_log *log, const char *path)
{
    struct entry *entry = prg_map_remove(&log->entries, path);
    if (!entry)
        return;
    prg_strbuf_printf(&log->pending, "{\"object\":%s,\"gone\":true}\n", entry->object);
    log->line_count++;
    entry_free(entry);
}

void prg_seen_each(const struct prg_seen_log *log, void (*visit)(const char *path, void *ctx), void *ctx)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&log->entries, &i));)
        visit(entry->key, ctx);
}

static int rewrite(struct prg_seen_log *log, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&log->entries, &i));)
        add_line(&text, entry->value);
    int rc = prg_disk_write(log->root, SEEN_PATH, text.text, text.length, NULL, err);
    if (rc == PRG_OK)
        log->line_count = log->entries.count;
    return rc;
}

int prg_seen_flush(struct prg_seen_log *log, struct prg_error *err)
{
    if (log->pending.length == 0)
        return PRG_OK;
    int rc = log->line_count > 2 * log->entries.count + SPARE_LINES
                 ? rewrite(log, err)
                 : prg_disk_append(log->root, SEEN_PATH, log->pending.text, log->pending.length, true, err);
    if (rc == PRG_OK)
        prg_strbuf_clear(&log->pending);
    return rc;
}
