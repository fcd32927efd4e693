// SPDX-License-Identifier: Apache-2.0
// record.c: the writer of recordings.
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "object/meta.h"
#include "policy/portable.h"
#include "record/format.h"
#include "record/frames.h"
#include "record/redact.h"

enum { KEEP = 4, SETS = 64 };
static const uint64_t max_bytes = UINT64_C(64) << 20, max_plain_bytes = UINT64_C(512) << 20;
static const char PART_END = '\x1f'; // in no name

struct note { // what a plan asked the store, and the answer
    struct note *next;
    const char *how;    // "get", "list", "labelled"
    struct prg_key key; // name NULL: a list; ns NULL: of all namespaces
    const char *label, *value;
    struct prg_vec objects; // const cJSON *; at most one for "get"
};

struct seen { // one object of a store during one plan
    const cJSON *object, *redacted;
};

struct recording_reader {
    struct prg_reader reader; // first
    struct prg_record *record;
    bool is_redacted;
};

struct set_seen {
    struct prg_policy_set *set; // a reference: its address stays its own
    uint64_t id;
};

struct prg_record {
    struct prg_record_options options;
    char *path;
    struct prg_frames_writer *writer;
    struct prg_error err; // the first; code PRG_OK: none
    uint64_t count;

    // of the file
    struct prg_map ids; // content -> number of its line's "define"
    uint64_t id_count;
    struct set_seen sets[SETS];
    size_t set_count;
    struct prg_strbuf lines; // not written yet

    // of the plan under way
    const struct prg_reader *store; // NULL: none
    struct recording_reader plain, redacted;
    struct prg_arena arena;
    struct prg_map notes; // question -> struct note
    struct note *first, *last;
    struct prg_map seen; // address -> struct seen
    bool has_secrets;
};

// ---- files ----

static void fail(struct prg_record *record, const struct prg_error *err)
{
    if (record->err.code != PRG_OK)
        return;
    record->err = *err;
    prg_wrap(&record->err, "recording");
    prg_frames_abandon(record->writer);
    record->writer = NULL;
    if (record->options.problem)
        record->options.problem(&record->err, record->options.ctx);
}

static void forget_file(struct prg_record *record)
{
    for (size_t i = 0; i < record->set_count; i++)
        prg_policy_set_unref(record->sets[i].set);
    record->set_count = 0;
    record->id_count = 0;
    prg_map_clear(&record->ids);
    prg_strbuf_clear(&record->lines);
}

static void add_line(struct prg_record *record, const cJSON *tree)
{
    prg_json_print(&record->lines, tree, PRG_JSON_COMPACT);
    prg_strbuf_putc(&record->lines, '\n');
}

static int begin_file(struct prg_record *record, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    char now[PRG_CLOCK_TEXT];
    cJSON *head = prg_json_object(&arena);
    forget_file(record);
    if (prg_frames_create(record->path, &record->writer, err) != PRG_OK)
        return err->code;
    prg_json_set_int(&arena, head, PRG_FORMAT_HEAD, PRG_FORMAT_VERSION);
    prg_json_set_string(&arena, head, "created", prg_clock_format(prg_clock_wall_ns(), now));
    add_line(record, head);
    int rc = prg_frames_write(record->writer, &record->lines, err);
    prg_strbuf_clear(&record->lines);
    return rc;
}

// PATH becomes PATH.1, PATH.1 PATH.2 …; the oldest goes.
static int shift_files(const struct prg_record *record, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    for (unsigned i = record->options.keep; i > 0; i--) {
        const char *from = i == 1 ? record->path : prg_arena_printf(&arena, "%s.%u", record->path, i - 1);
        if (rename(from, prg_arena_printf(&arena, "%s.%u", record->path, i)) != 0 && errno != ENOENT)
            return prg_fail(err, PRG_IO, "%s: %s", from, strerror(errno));
    }
    return PRG_OK;
}

// Another process that records here holds a lock.
static int check_place(const struct prg_record *record, struct prg_error *err)
{
    const char *path = record->path;
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == ENOENT ? PRG_OK : prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || !prg_frames_is_one(path))
        return prg_fail(err, PRG_CONFLICT, "%s is there and is no recording; name another file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_free = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return is_free ? PRG_OK : prg_fail(err, PRG_CONFLICT, "%s: another process is recording there", path);
}

// The file that path means.
static char *place_of(const char *path, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct stat st;
    bool is_slashed = prg_text_has_suffix(path, "/");
    if (is_slashed && mkdir(path, 0777) != 0 && errno != EEXIST) {
        prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    prg_strbuf_puts(&text, path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        prg_strbuf_printf(&text, "%s%s", is_slashed ? "" : "/", PRG_RECORD_FILE);
    return prg_strbuf_steal(&text, NULL);
}

static void rotate(struct prg_record *record)
{
    struct prg_error err = {0};
    uint64_t plain, bytes = prg_frames_written(record->writer, &plain);
    if (bytes < record->options.max_bytes && plain < max_plain_bytes)
        return;
    int rc = prg_frames_close(record->writer, &err);
    record->writer = NULL;
    if (rc == PRG_OK)
        rc = shift_files(record, &err);
    if (rc == PRG_OK)
        rc = begin_file(record, &err);
    if (rc != PRG_OK)
        fail(record, &err);
}

static void record_free(struct prg_record *record)
{
    forget_file(record);
    prg_map_release(&record->ids);
    prg_map_release(&record->notes);
    prg_map_release(&record->seen);
    prg_arena_release(&record->arena);
    prg_strbuf_release(&record->lines);
    free(record->path);
    free(record);
}

static const cJSON *note_get(const struct prg_reader *reader, const struct prg_key *key);
static void note_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                      prg_reader_visit_fn visit, void *ctx);
static void note_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                          const char *label, const char *value, prg_reader_visit_fn visit, void *ctx);
static int note_trouble(const struct prg_reader *reader, struct prg_error *err);

int prg_record_open(const struct prg_record_options *options, struct prg_record **ret, struct prg_error *err)
{
    char *path = place_of(options->path, err);
    if (!path)
        return err ? (int)err->code : PRG_IO;
    struct prg_record *record = prg_xcalloc(1, sizeof(*record));
    record->path = path;
    record->options = *options;
    record->options.max_bytes = options->max_bytes ? options->max_bytes : max_bytes;
    record->options.keep = options->keep ? options->keep : KEEP;
    record->plain = (struct recording_reader){
        .reader = {.get = note_get, .list = note_list, .trouble = note_trouble, .list_labelled = note_labelled},
        .record = record};
    record->redacted = record->plain;
    record->redacted.is_redacted = true;
    prg_map_init(&record->ids);
    prg_map_init(&record->notes);
    prg_map_init(&record->seen);
    prg_arena_init(&record->arena);
    prg_strbuf_init(&record->lines);
    int rc = check_place(record, err);
    if (rc == PRG_OK && options->replaces && unlink(path) != 0 && errno != ENOENT)
        rc = prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    if (rc == PRG_OK && !options->replaces)
        rc = shift_files(record, err);
    if (rc == PRG_OK)
        rc = begin_file(record, err);
    if (rc != PRG_OK) {
        prg_frames_abandon(record->writer);
        record_free(record);
        return rc;
    }
    *ret = record;
    return PRG_OK;
}

int prg_record_close(struct prg_record *record, struct prg_error *err)
{
    if (!record)
        return PRG_OK;
    int rc = prg_frames_close(record->writer, err);
    if (record->err.code != PRG_OK) {
        if (err)
            *err = record->err;
        rc = record->err.code;
    }
    record_free(record);
    return rc;
}

const char *prg_record_path(const struct prg_record *record)
{
    return record->path;
}

bool prg_record_is_broken(const struct prg_record *record)
{
    return record->err.code != PRG_OK;
}

// ---- contents ----

// The number under which text (one JSON value) is in the file.
static uint64_t define(struct prg_record *record, const char *identity, const char *text, size_t length)
{
    char digest[64];
    if (!identity) {
        snprintf(digest, sizeof(digest), "%016" PRIx64 "%016" PRIx64 "%zx", prg_map_hash(text, length),
                 prg_format_digest(text, length), length);
        identity = digest;
    }
    uintptr_t known = (uintptr_t)prg_map_get(&record->ids, identity);
    if (known)
        return known;
    prg_map_put(&record->ids, identity, (void *)(uintptr_t)++record->id_count); // NOLINT(performance-no-int-to-ptr)
    prg_strbuf_printf(&record->lines,
                      "{\"" PRG_FORMAT_DEFINE "\":%" PRIu64 ",\"" PRG_FORMAT_VALUE "\":", record->id_count);
    prg_strbuf_add(&record->lines, text, length);
    prg_strbuf_puts(&record->lines, "}\n");
    return record->id_count;
}

static uint64_t define_tree(struct prg_record *record, const char *identity, const cJSON *tree)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_json_print(&text, tree, PRG_JSON_COMPACT);
    return define(record, identity, text.text, text.length);
}

// A state of an object on an API server, or NULL: its content has to be looked at.
static const char *state_of(struct prg_record *record, const cJSON *object)
{
    const char *version = prg_json_get_text(prg_json_get(object, "metadata"), "resourceVersion");
    const char *uid = prg_meta_uid(object);
    if (!record->options.has_versions || !version || !*version || !*uid)
        return NULL;
    return prg_arena_printf(&record->arena, "%s%c%s", uid, PART_END, version);
}

static struct seen *see(struct prg_record *record, const cJSON *object)
{
    struct seen *seen = prg_map_getn(&record->seen, (const char *)&object, sizeof(object));
    if (seen)
        return seen;
    seen = prg_arena_new(&record->arena, struct seen);
    seen->object = object;
    seen->redacted = prg_redact(&record->arena, object);
    record->has_secrets = record->has_secrets || seen->redacted != object;
    prg_map_putn(&record->seen, (const char *)&object, sizeof(object), seen);
    return seen;
}

static uint64_t define_object(struct prg_record *record, const cJSON *object)
{
    const char *state = state_of(record, object);
    uintptr_t known = state ? (uintptr_t)prg_map_get(&record->ids, state) : 0;
    return known ? known : define_tree(record, state, see(record, object)->redacted);
}

static uint64_t define_policies(struct prg_record *record, struct prg_policy_set *set)
{
    for (size_t i = 0; i < record->set_count; i++)
        if (record->sets[i].set == set)
            return record->sets[i].id;
    prg_auto_arena arena = {0};
    uint64_t id = define_tree(record, NULL, prg_policy_set_to_json(&arena, set));
    if (record->set_count == SETS)
        prg_policy_set_unref(record->sets[--record->set_count].set);
    record->sets[record->set_count++] = (struct set_seen){prg_policy_set_ref(set), id};
    return id;
}

// ---- notes ----

static struct note *find_note(struct prg_record *record, const char *how, const struct prg_key *key, const char *label,
                              const char *value, bool *ret_is_new)
{
    prg_auto_strbuf question = PRG_STRBUF_INIT;
    const char *const parts[] = {how, key->group, key->kind, key->ns ? key->ns : "*", key->name, label, value};
    for (size_t i = 0; i < PRG_COUNT(parts); i++)
        prg_strbuf_printf(&question, "%s%c", parts[i] ? parts[i] : "", PART_END);
    struct note *note = prg_map_get(&record->notes, question.text);
    *ret_is_new = !note;
    if (note)
        return note;
    struct prg_arena *arena = &record->arena;
    note = prg_arena_new(arena, struct note);
    note->how = how;
    note->key = (struct prg_key){prg_arena_strdup(arena, key->group), prg_arena_strdup(arena, key->kind),
                                 key->ns ? prg_arena_strdup(arena, key->ns) : NULL,
                                 key->name ? prg_arena_strdup(arena, key->name) : NULL};
    note->label = label ? prg_arena_strdup(arena, label) : NULL;
    note->value = value ? prg_arena_strdup(arena, value) : NULL;
    prg_map_put(&record->notes, question.text, note);
    *(record->last ? &record->last->next : &record->first) = note;
    record->last = note;
    return note;
}

static const cJSON *shown(const struct recording_reader *reader, const cJSON *object)
{
    return reader->is_redacted ? see(reader->record, object)->redacted : object;
}

static const cJSON *note_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct recording_reader *own = (const struct recording_reader *)reader;
    const struct prg_reader *store = own->record->store;
    bool is_new;
    struct note *note = find_note(own->record, "get", key, NULL, NULL, &is_new);
    const cJSON *object = is_new ? store->get(store, key) : note->objects.count ? note->objects.items[0] : NULL;
    if (is_new && object)
        prg_vec_push(&note->objects, (void *)object);
    return object ? shown(own, object) : NULL;
}

static void take_note(const cJSON *object, void *ctx)
{
    prg_vec_push(&((struct note *)ctx)->objects, (void *)object);
}

static void show_list(const struct recording_reader *reader, const struct note *note, prg_reader_visit_fn visit,
                      void *ctx)
{
    for (size_t i = 0; i < note->objects.count; i++)
        visit(shown(reader, note->objects.items[i]), ctx);
}

static void note_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                      prg_reader_visit_fn visit, void *ctx)
{
    const struct recording_reader *own = (const struct recording_reader *)reader;
    const struct prg_reader *store = own->record->store;
    struct prg_key key = {group, kind, ns, NULL};
    bool is_new;
    struct note *note = find_note(own->record, "list", &key, NULL, NULL, &is_new);
    if (is_new)
        store->list(store, group, kind, ns, take_note, note);
    show_list(own, note, visit, ctx);
}

static void note_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                          const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    const struct recording_reader *own = (const struct recording_reader *)reader;
    struct prg_key key = {group, kind, ns, NULL};
    bool is_new;
    struct note *note = find_note(own->record, "labelled", &key, label, value, &is_new);
    if (is_new)
        prg_reader_list_labelled(own->record->store, group, kind, ns, label, value, take_note, note);
    show_list(own, note, visit, ctx);
}

static int note_trouble(const struct prg_reader *reader, struct prg_error *err)
{
    return prg_reader_trouble(((const struct recording_reader *)reader)->record->store, err);
}

const struct prg_reader *prg_record_begin(struct prg_record *record, const struct prg_reader *store)
{
    prg_require(!record->store);
    if (record->err.code != PRG_OK)
        return store;
    record->store = store;
    return &record->plain.reader;
}

void prg_record_note(struct prg_record *record, const struct prg_key *key, const cJSON *object)
{
    bool is_new;
    if (!record->store)
        return;
    struct note *note = find_note(record, "get", key, NULL, NULL, &is_new);
    if (is_new && object)
        prg_vec_push(&note->objects, (void *)object);
}

const struct prg_reader *prg_record_redacted(struct prg_record *record)
{
    if (!record->store)
        return NULL;
    for (const struct note *note = record->first; note; note = note->next)
        for (size_t i = 0; i < note->objects.count; i++)
            see(record, note->objects.items[i]);
    return record->has_secrets ? &record->redacted.reader : NULL;
}

// ---- decisions ----

void prg_record_print_plan(struct prg_strbuf *out, struct prg_plan *plan, const struct prg_error *err)
{
    prg_auto_arena arena = {0};
    char text[PRG_ERROR_LINE];
    cJSON *failed;
    if (plan) {
        prg_json_print(out, prg_plan_to_json(plan, 0), PRG_JSON_SORTED);
        return;
    }
    failed = prg_json_object(&arena);
    prg_json_set_string(&arena, failed, "failed", prg_error_text(err, text, sizeof(text)));
    prg_json_print(out, failed, PRG_JSON_SORTED);
}

static cJSON *id_to_json(struct prg_arena *arena, uint64_t id)
{
    return prg_json_int(arena, (int64_t)id);
}

static void add_text(struct prg_arena *arena, cJSON *list, const char *text)
{
    prg_json_append(list, text ? prg_json_string(arena, text) : prg_json_null(arena));
}

// ["get", group, kind, namespace, name, ID or null], ["list", group, kind, namespace or null, [ID, ...]],
// ["labelled", group, kind, namespace or null, label, value, [ID, ...]]
static cJSON *note_to_json(struct prg_record *record, struct prg_arena *arena, const struct note *note)
{
    cJSON *list = prg_json_array(arena), *ids = prg_json_array(arena);
    add_text(arena, list, note->how);
    add_text(arena, list, note->key.group);
    add_text(arena, list, note->key.kind);
    add_text(arena, list, note->key.ns);
    for (size_t i = 0; i < note->objects.count; i++)
        prg_json_append(ids, id_to_json(arena, define_object(record, note->objects.items[i])));
    if (note->key.name) {
        add_text(arena, list, note->key.name);
        prg_json_append(list, note->objects.count ? id_to_json(arena, define_object(record, note->objects.items[0]))
                                                  : prg_json_null(arena));
        return list;
    }
    if (note->label) {
        add_text(arena, list, note->label);
        add_text(arena, list, note->value);
    }
    prg_json_append(list, ids);
    return list;
}

static cJSON *settings_to_json(const struct prg_record *record, struct prg_arena *arena, const cJSON *settings)
{
    const struct prg_policy_limits *limits = &record->options.limits;
    cJSON *all = prg_json_copy(arena, settings), *tree = prg_json_object(arena);
    prg_json_set_int(arena, tree, "steps", (int64_t)limits->max_steps);
    prg_json_set_int(arena, tree, "memoryBytes", (int64_t)limits->max_memory_bytes);
    prg_json_set_int(arena, tree, "blockBytes", (int64_t)limits->max_block_bytes);
    prg_json_set_int(arena, tree, "resultNodes", (int64_t)limits->max_result_nodes);
    prg_json_set_int(arena, tree, "wallMs", limits->max_wall_ms);
    prg_json_set(arena, all, "limits", tree);
    return all;
}

static void write_decision(struct prg_record *record, const struct prg_record_decision *decision)
{
    prg_auto_arena arena = {0};
    prg_auto_strbuf plan = PRG_STRBUF_INIT;
    struct prg_error err = {0};
    char now[PRG_CLOCK_TEXT];
    cJSON *line = prg_json_object(&arena), *reads = prg_json_array(&arena);
    for (const struct note *note = record->first; note; note = note->next)
        prg_json_append(reads, note_to_json(record, &arena, note));
    prg_record_print_plan(&plan, decision->plan, decision->err);
    prg_json_set_int(&arena, line, PRG_FORMAT_DECISION, (int64_t)++record->count);
    prg_json_set_string(&arena, line, "group", decision->key->group);
    prg_json_set_string(&arena, line, "kind", decision->key->kind);
    prg_json_set_string(&arena, line, "namespace", decision->key->ns);
    prg_json_set_string(&arena, line, "name", decision->key->name);
    prg_json_set_string(&arena, line, "now", prg_clock_format(decision->now_ns, now));
    prg_json_set_int(&arena, line, "nowNs", decision->now_ns);
    prg_json_set(&arena, line, "seed", prg_json_stringf(&arena, "%" PRIu64, decision->seed));
    prg_json_set(&arena, line, "policies", id_to_json(&arena, define_policies(record, decision->policies)));
    prg_json_set(&arena, line, "settings",
                 id_to_json(&arena, define_tree(record, NULL, settings_to_json(record, &arena, decision->settings))));
    prg_json_set(&arena, line, "reads", reads);
    if (record->has_secrets)
        prg_json_set_bool(&arena, line, "redacted", true);
    prg_json_set(&arena, line, "plan", id_to_json(&arena, define(record, NULL, plan.text, plan.length)));
    prg_json_set(&arena, line, "digest",
                 prg_json_stringf(&arena, "%016" PRIx64, prg_format_digest(plan.text, plan.length)));
    add_line(record, line);
    if (prg_frames_write(record->writer, &record->lines, &err) != PRG_OK)
        fail(record, &err);
    else
        rotate(record);
    prg_strbuf_clear(&record->lines);
}

void prg_record_cancel(struct prg_record *record)
{
    for (struct note *note = record->first; note; note = note->next)
        prg_vec_release(&note->objects);
    record->first = record->last = NULL;
    record->store = NULL;
    record->has_secrets = false;
    prg_map_clear(&record->notes);
    prg_map_clear(&record->seen);
    prg_arena_reset(&record->arena);
}

void prg_record_end(struct prg_record *record, const struct prg_record_decision *decision)
{
    if (!record->store)
        return;
    (void)prg_record_redacted(record); // what the second plan read besides
    write_decision(record, decision);
    prg_record_cancel(record);
}
