// SPDX-License-Identifier: Apache-2.0
// recording.c: the reader of recordings.
//
// Lines are kept as they are, checked when they are loaded and read again when a decision needs them: trees would take
// six times the room.
#include "record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/meta.h"
#include "record/format.h"
#include "record/frames.h"
#include "record/record.h"
#include "store/store_mem.h"

struct line {
    char *text;
    size_t length;
    unsigned number;
};

struct decision {
    struct prg_recorded_head head;
    struct line line;
    uint64_t plan;
    char digest[17];
};

struct prg_recording {
    char *path;
    char *note;
    struct prg_arena arena;   // texts of heads
    struct prg_vec defines;   // struct line *; number n is at n - 1
    struct prg_vec decisions; // struct decision *
    bool has_head;
};

// ---- loading ----

static int number_of(const cJSON *line, const char *key, uint64_t most, uint64_t *ret, struct prg_error *err)
{
    int64_t value;
    if (!prg_json_get_int64(line, key, &value) || value < 1 || (uint64_t)value > most)
        return prg_fail(err, PRG_INVALID, "/%s is not the number of a line before this one", key);
    *ret = (uint64_t)value;
    return PRG_OK;
}

static struct line *keep_line(const char *text, size_t length, unsigned number)
{
    struct line *line = prg_xcalloc(1, sizeof(*line));
    *line = (struct line){prg_xstrndup(text, length), length, number};
    return line;
}

static int read_head(struct prg_recording *r, const cJSON *line, struct prg_error *err)
{
    int64_t version;
    if (!prg_json_get_int64(line, PRG_FORMAT_HEAD, &version))
        return prg_fail(err, PRG_INVALID, "this is no recording of perigee (its first line has no %s)",
                        PRG_FORMAT_HEAD);
    if (version != PRG_FORMAT_VERSION)
        return prg_fail(err, PRG_INVALID, "the recording has version %" PRId64 ", this perigee reads version %d",
                        version, PRG_FORMAT_VERSION);
    r->has_head = true;
    return PRG_OK;
}

static int read_define(struct prg_recording *r, const cJSON *tree, const char *text, size_t length, unsigned number,
                       struct prg_error *err)
{
    uint64_t id;
    if (number_of(tree, PRG_FORMAT_DEFINE, UINT32_MAX, &id, err) != PRG_OK)
        return err->code;
    if (id != r->defines.count + 1)
        return prg_fail(err, PRG_INVALID, "/" PRG_FORMAT_DEFINE " is %" PRIu64 ", but the next is %zu", id,
                        r->defines.count + 1);
    if (!prg_json_get(tree, PRG_FORMAT_VALUE))
        return prg_fail(err, PRG_INVALID, "/" PRG_FORMAT_VALUE " is missing");
    prg_vec_push(&r->defines, keep_line(text, length, number));
    return PRG_OK;
}

static int check_ids(const struct prg_recording *r, const cJSON *read, const cJSON *ids, struct prg_error *err)
{
    const cJSON *item;
    prg_json_each (item, ids) {
        int64_t id;
        if (!prg_json_int64(item, &id) || id < 1 || (uint64_t)id > r->defines.count)
            return prg_fail(err, PRG_INVALID, "/reads: %s %s: an object is not the number of a line before this one",
                            prg_json_text(prg_json_item(read, 0)), prg_json_text(prg_json_item(read, 2)));
    }
    return PRG_OK;
}

static bool is_text_or_null(const cJSON *node)
{
    return prg_json_is_string(node) || prg_json_is_null(node);
}

// The form that prg_record_end writes.
static int check_read(const struct prg_recording *r, const cJSON *read, struct prg_error *err)
{
    const char *how = prg_json_text(prg_json_item(read, 0));
    size_t count = prg_json_count(read);
    bool is_get = prg_text_equal(how, "get"), is_list = prg_text_equal(how, "list");
    bool is_labelled = prg_text_equal(how, "labelled");
    size_t texts = is_get ? 4 : is_labelled ? 5 : 3; // behind the first
    bool is_good = prg_json_is_array(read) && (is_get || is_list || is_labelled) && count == texts + 2;
    for (size_t i = 1; is_good && i <= texts; i++)
        is_good =
            i == 3 && !is_get ? is_text_or_null(prg_json_item(read, i)) : prg_json_is_string(prg_json_item(read, i));
    const cJSON *last = is_good ? prg_json_item(read, count - 1) : NULL;
    if (is_good && !is_get)
        is_good = prg_json_is_array(last);
    if (!is_good)
        return prg_fail(err, PRG_INVALID,
                        "/reads: an entry is none of [get, group, kind, namespace, name, object], "
                        "[list, group, kind, namespace, objects], "
                        "[labelled, group, kind, namespace, label, value, objects]");
    if (!is_get)
        return check_ids(r, read, last, err);
    int64_t id;
    if (!prg_json_is_null(last) && (!prg_json_int64(last, &id) || id < 1 || (uint64_t)id > r->defines.count))
        return prg_fail(err, PRG_INVALID, "/reads: get %s: the object is not the number of a line before this one",
                        prg_json_text(prg_json_item(read, 2)));
    return PRG_OK;
}

static bool read_seed(const char *text, uint64_t *ret)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return !errno && !*end;
}

static int read_decision(struct prg_recording *r, const cJSON *tree, const char *text, size_t length, unsigned number,
                         struct prg_error *err)
{
    struct decision decision = {.line = {.number = number}};
    struct prg_recorded_head *head = &decision.head;
    const cJSON *item, *reads = prg_json_get(tree, "reads");
    const char *texts[5];
    static const char *const keys[] = {"group", "kind", "namespace", "name", "digest"};
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        const char *value = prg_json_get_text(tree, keys[i]);
        if (!value)
            return prg_fail(err, PRG_INVALID, "/%s is no text", keys[i]);
        texts[i] = prg_arena_strdup(&r->arena, value);
    }
    if (!prg_json_get_int64(tree, "nowNs", &head->now_ns))
        return prg_fail(err, PRG_INVALID, "/nowNs is no whole number");
    if (!read_seed(prg_json_get_text(tree, "seed"), &head->seed))
        return prg_fail(err, PRG_INVALID, "/seed is no text of a whole number");
    if (number_of(tree, "policies", r->defines.count, &head->policies, err) != PRG_OK ||
        number_of(tree, "settings", r->defines.count, &head->settings, err) != PRG_OK ||
        number_of(tree, "plan", r->defines.count, &decision.plan, err) != PRG_OK)
        return err->code;
    if (!prg_json_is_array(reads))
        return prg_fail(err, PRG_INVALID, "/reads is no list");
    prg_json_each (item, reads)
        if (check_read(r, item, err) != PRG_OK)
            return err->code;
    head->key = (struct prg_key){texts[0], texts[1], texts[2], texts[3]};
    head->digest = texts[4];
    head->line = number;
    head->is_redacted = prg_json_get_true(tree, "redacted");
    decision.line.text = prg_xstrndup(text, length);
    decision.line.length = length;
    struct decision *kept = prg_xcalloc(1, sizeof(*kept));
    *kept = decision;
    prg_vec_push(&r->decisions, kept);
    return PRG_OK;
}

static int take_line(const char *text, size_t length, unsigned number, void *ctx, struct prg_error *err)
{
    struct prg_recording *r = ctx;
    prg_auto_arena arena = {0};
    cJSON *tree = NULL;
    if (prg_json_parse(&arena, text, length, NULL, &tree, err) != PRG_OK)
        return err->code;
    if (!r->has_head)
        return read_head(r, tree, err);
    if (prg_json_get(tree, PRG_FORMAT_DEFINE))
        return read_define(r, tree, text, length, number, err);
    if (prg_json_get(tree, PRG_FORMAT_HEAD))
        return prg_fail(err, PRG_INVALID,
                        "another recording begins here: files were joined; each has to be read by itself");
    if (prg_json_get(tree, PRG_FORMAT_DECISION))
        return read_decision(r, tree, text, length, number, err);
    return prg_fail(err, PRG_INVALID, "neither a definition nor a decision");
}

// The file that path means.
static char *place_of(const char *path)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct stat st;
    prg_strbuf_puts(&text, path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        prg_strbuf_printf(&text, "%s%s", prg_text_has_suffix(path, "/") ? "" : "/", PRG_RECORD_FILE);
    return prg_strbuf_steal(&text, NULL);
}

int prg_recording_load(const char *path, struct prg_recording **ret, struct prg_error *err)
{
    struct prg_recording *r = prg_xcalloc(1, sizeof(*r));
    bool is_cut = false;
    struct prg_error local = {0};
    err = err ? err : &local;
    r->path = place_of(path);
    path = r->path;
    prg_arena_init(&r->arena);
    prg_vec_init(&r->defines);
    prg_vec_init(&r->decisions);
    int rc = prg_frames_read(path, NULL, take_line, r, &is_cut, err);
    if (rc == PRG_OK && !r->has_head)
        rc = prg_fail(err, PRG_INVALID, "%s: there is no whole line in it", path);
    if (rc != PRG_OK) {
        prg_recording_free(r);
        return rc;
    }
    if (is_cut) {
        prg_auto_strbuf note = PRG_STRBUF_INIT;
        prg_strbuf_printf(&note,
                          "%s: the recording was not ended (its writer was killed, or still writes); %zu whole "
                          "%s in it",
                          path, r->decisions.count,
                          prg_plural((int64_t)r->decisions.count, "decision is", "decisions are"));
        r->note = prg_strbuf_steal(&note, NULL);
    }
    *ret = r;
    return PRG_OK;
}

void prg_recording_free(struct prg_recording *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->defines.count; i++) {
        free(((struct line *)r->defines.items[i])->text);
        free(r->defines.items[i]);
    }
    for (size_t i = 0; i < r->decisions.count; i++) {
        free(((struct decision *)r->decisions.items[i])->line.text);
        free(r->decisions.items[i]);
    }
    prg_vec_release(&r->defines);
    prg_vec_release(&r->decisions);
    prg_arena_release(&r->arena);
    free(r->path);
    free(r->note);
    free(r);
}

const char *prg_recording_path(const struct prg_recording *r)
{
    return r->path;
}

const char *prg_recording_note(const struct prg_recording *r)
{
    return r->note;
}

size_t prg_recording_count(const struct prg_recording *r)
{
    return r->decisions.count;
}

const struct prg_recorded_head *prg_recording_head(const struct prg_recording *r, size_t index)
{
    return &((const struct decision *)r->decisions.items[index])->head;
}

// ---- one decision ----

struct answer {
    const cJSON *object;   // of a get, or NULL
    const cJSON **objects; // of a list, ended by NULL; NULL: a get
};

struct replaying {
    struct prg_reader reader; // first
    const struct prg_recording *recording;
    struct prg_arena *arena;
    struct prg_map answers; // question -> struct answer
    struct prg_map values;  // number -> tree
    struct prg_store *rest; // every object of the decision: for other questions
    bool is_beyond;
};

static const char PART_END = '\x1f';

static const char *question(struct prg_strbuf *out, const char *how, const struct prg_key *key, const char *label,
                            const char *value)
{
    const char *const parts[] = {how, key->group, key->kind, key->ns ? key->ns : "*", key->name, label, value};
    prg_strbuf_clear(out);
    for (size_t i = 0; i < PRG_COUNT(parts); i++)
        prg_strbuf_printf(out, "%s%c", parts[i] ? parts[i] : "", PART_END);
    return out->text;
}

static int parse_value(const struct prg_recording *r, struct prg_arena *arena, uint64_t id, const cJSON **ret,
                       struct prg_error *err)
{
    const struct line *line = r->defines.items[id - 1];
    cJSON *tree;
    if (prg_json_parse(arena, line->text, line->length, NULL, &tree, err) != PRG_OK)
        return prg_wrap(err, "%s:%u", r->path, line->number);
    *ret = prg_json_get(tree, PRG_FORMAT_VALUE);
    return PRG_OK;
}

// An object by its number; the same number is the same tree.
static int object_of(struct replaying *replaying, const cJSON *number, const cJSON **ret, struct prg_error *err)
{
    const struct prg_recording *r = replaying->recording;
    struct prg_key key;
    int64_t id = 0;
    prg_json_int64(number, &id);
    const cJSON *object = prg_map_getn(&replaying->values, (const char *)&id, sizeof(id));
    if (!object) {
        if (parse_value(r, replaying->arena, (uint64_t)id, &object, err) != PRG_OK)
            return err ? (int)err->code : PRG_INVALID;
        unsigned line = ((const struct line *)r->defines.items[id - 1])->number;
        if (prg_key_of(replaying->arena, object, &key, err) != PRG_OK ||
            prg_store_mem_put(replaying->rest, object, true, true, err) != PRG_OK)
            return prg_wrap(err, "%s:%u: /" PRG_FORMAT_VALUE " is no object", r->path, line);
        prg_map_putn(&replaying->values, (const char *)&id, sizeof(id), (void *)object);
    }
    *ret = object;
    return PRG_OK;
}

static const char *text_at(const cJSON *list, size_t index)
{
    return prg_json_text(prg_json_item(list, index));
}

static int take_read(struct replaying *replaying, const cJSON *read, struct prg_error *err)
{
    const char *how = text_at(read, 0);
    bool is_get = strcmp(how, "get") == 0, is_labelled = strcmp(how, "labelled") == 0;
    struct prg_key key = {text_at(read, 1), text_at(read, 2), text_at(read, 3), is_get ? text_at(read, 4) : NULL};
    const cJSON *last = prg_json_item(read, prg_json_count(read) - 1), *item;
    struct answer *answer = prg_arena_new(replaying->arena, struct answer);
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    size_t count = 0;
    if (is_get && !prg_json_is_null(last) && object_of(replaying, last, &answer->object, err) != PRG_OK)
        return err ? (int)err->code : PRG_INVALID;
    if (!is_get) {
        answer->objects = prg_arena_array(replaying->arena, const cJSON *, prg_json_count(last) + 1);
        prg_json_each (item, last)
            if (object_of(replaying, item, &answer->objects[count++], err) != PRG_OK)
                return err ? (int)err->code : PRG_INVALID;
    }
    prg_map_put(
        &replaying->answers,
        question(&bytes, how, &key, is_labelled ? text_at(read, 4) : NULL, is_labelled ? text_at(read, 5) : NULL),
        answer);
    return PRG_OK;
}

static const cJSON *replay_get(const struct prg_reader *reader, const struct prg_key *key)
{
    struct replaying *replaying = (struct replaying *)reader;
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    const struct answer *answer = prg_map_get(&replaying->answers, question(&bytes, "get", key, NULL, NULL));
    if (answer)
        return answer->object;
    replaying->is_beyond = true;
    return replaying->rest->reader.get(&replaying->rest->reader, key);
}

static void visit_answer(const struct answer *answer, prg_reader_visit_fn visit, void *ctx)
{
    for (const cJSON *const *object = answer->objects; *object; object++)
        visit(*object, ctx);
}

static void replay_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                        prg_reader_visit_fn visit, void *ctx)
{
    struct replaying *replaying = (struct replaying *)reader;
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    struct prg_key key = {group, kind, ns, NULL};
    const struct answer *answer = prg_map_get(&replaying->answers, question(&bytes, "list", &key, NULL, NULL));
    if (answer) {
        visit_answer(answer, visit, ctx);
        return;
    }
    replaying->is_beyond = true;
    replaying->rest->reader.list(&replaying->rest->reader, group, kind, ns, visit, ctx);
}

static void replay_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                            const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct replaying *replaying = (struct replaying *)reader;
    struct prg_reader_filter filter = {label, value, visit, ctx};
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    struct prg_key key = {group, kind, ns, NULL};
    const struct answer *answer = prg_map_get(&replaying->answers, question(&bytes, "labelled", &key, label, value));
    if (answer)
        visit_answer(answer, visit, ctx);
    else
        replay_list(reader, group, kind, ns, prg_reader_visit_filtered, &filter);
}

static struct replaying *replaying_new(const struct prg_recording *r, struct prg_arena *arena)
{
    struct replaying *replaying = prg_arena_new(arena, struct replaying);
    replaying->reader = (struct prg_reader){.get = replay_get, .list = replay_list, .list_labelled = replay_labelled};
    replaying->recording = r;
    replaying->arena = arena;
    prg_map_init(&replaying->answers);
    prg_map_init(&replaying->values);
    replaying->rest = prg_store_mem_new();
    return replaying;
}

int prg_recording_open(const struct prg_recording *r, size_t index, struct prg_arena *arena, struct prg_recorded *ret,
                       struct prg_error *err)
{
    const struct decision *decision = r->decisions.items[index];
    struct replaying *replaying = replaying_new(r, arena);
    const cJSON *read;
    cJSON *tree;
    *ret = (struct prg_recorded){.head = &decision->head, .reader = &replaying->reader};
    int rc = prg_json_parse(arena, decision->line.text, decision->line.length, NULL, &tree, err);
    if (rc == PRG_OK)
        rc = parse_value(r, arena, decision->head.policies, &ret->policies, err);
    if (rc == PRG_OK)
        rc = parse_value(r, arena, decision->head.settings, &ret->settings, err);
    if (rc == PRG_OK)
        rc = parse_value(r, arena, decision->plan, &ret->plan, err);
    if (rc == PRG_OK)
        prg_json_each (read, prg_json_get(tree, "reads"))
            if (rc == PRG_OK)
                rc = take_read(replaying, read, err);
    if (rc != PRG_OK)
        prg_recorded_close(ret);
    return rc;
}

bool prg_recorded_is_beyond(const struct prg_recorded *recorded)
{
    return ((const struct replaying *)recorded->reader)->is_beyond;
}

void prg_recorded_close(struct prg_recorded *recorded)
{
    struct replaying *replaying = (struct replaying *)recorded->reader;
    if (!replaying)
        return;
    prg_map_release(&replaying->answers);
    prg_map_release(&replaying->values);
    prg_store_free(replaying->rest);
    recorded->reader = NULL;
}

// ---- the newest state ----

struct known { // an object of the file
    struct prg_key key;
    const char *bytes; // of the key
};

struct gathering {
    const struct prg_recording *recording;
    struct prg_store *store;
    struct prg_arena arena;
    struct known **known;   // by number
    struct prg_map current; // bytes of a key -> struct known of the newest state
};

static int know(struct gathering *g, const cJSON *number, struct known **ret, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    const cJSON *object;
    struct prg_key key;
    int64_t id = 0;
    prg_json_int64(number, &id);
    struct known *known = g->known[id - 1];
    if (!known) {
        const struct prg_recording *r = g->recording;
        unsigned line = ((const struct line *)r->defines.items[id - 1])->number;
        if (parse_value(r, &arena, (uint64_t)id, &object, err) != PRG_OK)
            return err ? (int)err->code : PRG_INVALID;
        if (prg_key_of(&arena, object, &key, err) != PRG_OK)
            return prg_wrap(err, "%s:%u: /" PRG_FORMAT_VALUE " is no object", r->path, line);
        known = g->known[id - 1] = prg_arena_new(&g->arena, struct known);
        known->key = (struct prg_key){prg_arena_strdup(&g->arena, key.group), prg_arena_strdup(&g->arena, key.kind),
                                      prg_arena_strdup(&g->arena, key.ns), prg_arena_strdup(&g->arena, key.name)};
        known->bytes = prg_key_text(&g->arena, &known->key);
    }
    *ret = known;
    return PRG_OK;
}

static int put_newest(struct gathering *g, const cJSON *number, struct known *known, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    const cJSON *object;
    int64_t id = 0;
    prg_json_int64(number, &id);
    if (prg_map_put(&g->current, known->bytes, known) == known)
        return PRG_OK;
    if (parse_value(g->recording, &arena, (uint64_t)id, &object, err) != PRG_OK)
        return err ? (int)err->code : PRG_INVALID;
    return prg_store_mem_put(g->store, object, false, true, err);
}

static void drop_newest(struct gathering *g, const struct prg_key *key)
{
    prg_auto_arena arena = {0};
    prg_map_remove(&g->current, prg_key_text(&arena, key));
    prg_store_mem_drop(g->store, key);
}

// Of a kind that was listed as a whole: what is not in the list is gone.
static void drop_others(struct gathering *g, const cJSON *read, const struct prg_map *present)
{
    const struct prg_map_entry *entry;
    const char *ns = text_at(read, 3);
    for (size_t i = 0; (entry = prg_map_next(&g->current, &i));) {
        const struct known *known = entry->value;
        if (strcmp(known->key.kind, text_at(read, 2)) == 0 && strcmp(known->key.group, text_at(read, 1)) == 0 &&
            (!ns || strcmp(known->key.ns, ns) == 0) && !prg_map_get(present, known->bytes))
            drop_newest(g, &known->key);
    }
}

static int gather_list(struct gathering *g, const cJSON *read, const cJSON *numbers, struct prg_error *err)
{
    const cJSON *number;
    struct prg_map present;
    int rc = PRG_OK;
    prg_map_init(&present);
    prg_json_each (number, numbers) {
        struct known *known = NULL;
        if (rc == PRG_OK)
            rc = know(g, number, &known, err);
        if (rc == PRG_OK && known) {
            prg_map_put(&present, known->bytes, known);
            rc = put_newest(g, number, known, err);
        }
    }
    if (rc == PRG_OK && strcmp(text_at(read, 0), "list") == 0)
        drop_others(g, read, &present);
    prg_map_release(&present);
    return rc;
}

static int gather_read(struct gathering *g, const cJSON *read, struct prg_error *err)
{
    const cJSON *last = prg_json_item(read, prg_json_count(read) - 1);
    struct known *known = NULL;
    if (strcmp(text_at(read, 0), "get") != 0)
        return gather_list(g, read, last, err);
    if (prg_json_is_null(last)) {
        struct prg_key key = {text_at(read, 1), text_at(read, 2), text_at(read, 3), text_at(read, 4)};
        drop_newest(g, &key);
        return PRG_OK;
    }
    int rc = know(g, last, &known, err);
    return rc == PRG_OK && known ? put_newest(g, last, known, err) : rc;
}

int prg_recording_store(const struct prg_recording *r, struct prg_store **ret, struct prg_error *err)
{
    struct gathering g = {.recording = r, .store = prg_store_mem_new()};
    int rc = PRG_OK;
    prg_arena_init(&g.arena);
    prg_map_init(&g.current);
    g.known = prg_arena_array(&g.arena, struct known *, r->defines.count + 1);
    for (size_t i = 0; rc == PRG_OK && i < r->decisions.count; i++) {
        prg_auto_arena arena = {0};
        const struct decision *decision = r->decisions.items[i];
        const cJSON *read;
        cJSON *tree;
        rc = prg_json_parse(&arena, decision->line.text, decision->line.length, NULL, &tree, err);
        if (rc == PRG_OK)
            prg_json_each (read, prg_json_get(tree, "reads"))
                if (rc == PRG_OK)
                    rc = gather_read(&g, read, err);
    }
    prg_map_release(&g.current);
    prg_arena_release(&g.arena);
    if (rc != PRG_OK) {
        prg_store_free(g.store);
        return rc;
    }
    *ret = g.store;
    return PRG_OK;
}
