// SPDX-License-Identifier: Apache-2.0
// overlay.c: few objects over a reader. They are kept sorted as lists are, so that a list is a merge of two.
#include "explain/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "object/meta.h"

struct prg_overlay {
    struct prg_reader reader; // first member
    const struct prg_reader *base;
    struct prg_arena arena;
    struct prg_key *keys; // sorted by prg_key_compare: kind, namespace, name, group
    struct place {
        const cJSON *object; // NULL: hidden
        const char *file;    // or NULL
    } * places;              // of each key
    size_t count, cap;
};

// ---- making ----

// Index of key, or where it belongs.
static size_t place_of(const struct prg_overlay *overlay, const struct prg_key *key, bool *ret_found)
{
    size_t low = 0, high = overlay->count;
    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = prg_key_compare(&overlay->keys[middle], key);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct prg_overlay *overlay, size_t at, const struct prg_key *key, struct place place)
{
    if (overlay->count == overlay->cap) {
        overlay->cap = overlay->cap ? overlay->cap * 2 : 16;
        overlay->keys = prg_xrealloc(overlay->keys, overlay->cap * sizeof(*overlay->keys));
        overlay->places = prg_xrealloc(overlay->places, overlay->cap * sizeof(*overlay->places));
    }
    memmove(overlay->keys + at + 1, overlay->keys + at, (overlay->count - at) * sizeof(*overlay->keys));
    memmove(overlay->places + at + 1, overlay->places + at, (overlay->count - at) * sizeof(*overlay->places));
    struct prg_arena *arena = &overlay->arena;
    overlay->keys[at] = (struct prg_key){prg_arena_strdup(arena, key->group), prg_arena_strdup(arena, key->kind),
                                         prg_arena_strdup(arena, key->ns), prg_arena_strdup(arena, key->name)};
    overlay->places[at] = place;
    overlay->count++;
}

int prg_overlay_put(struct prg_overlay *overlay, const cJSON *object, const char *file, struct prg_error *err)
{
    prg_auto_arena scratch;
    struct prg_key key;
    bool is_there;
    prg_arena_init(&scratch);
    if (prg_key_of(&scratch, object, &key, err) != PRG_OK)
        return err ? (int)err->code : PRG_INVALID;
    size_t at = place_of(overlay, &key, &is_there);
    if (is_there && overlay->places[at].object)
        return prg_fail(err, PRG_CONFLICT, "%s is given twice", prg_key_text(&scratch, &key));
    struct place place = {object, file};
    if (is_there)
        overlay->places[at] = place;
    else
        insert(overlay, at, &key, place);
    return PRG_OK;
}

void prg_overlay_hide(struct prg_overlay *overlay, const struct prg_key *key)
{
    bool is_there;
    size_t at = place_of(overlay, key, &is_there);
    if (!is_there)
        insert(overlay, at, key, (struct place){NULL, NULL});
}

// ---- reading ----

const cJSON *prg_overlay_get(const struct prg_overlay *overlay, const struct prg_key *key, bool *ret_known)
{
    size_t at = place_of(overlay, key, ret_known);
    return *ret_known ? overlay->places[at].object : NULL;
}

static const cJSON *overlay_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct prg_overlay *overlay = (const struct prg_overlay *)reader;
    bool is_known;
    const cJSON *object = prg_overlay_get(overlay, key, &is_known);
    return is_known ? object : overlay->base->get(overlay->base, key);
}

// A list of the base into which the overlay's objects are merged.
struct merging {
    const struct prg_overlay *overlay;
    const char *group, *kind, *ns; // ns NULL: all
    const char *label, *value;     // NULL: all
    size_t next;                   // of the overlay's objects
    prg_reader_visit_fn visit;
    void *ctx;
};

static bool is_listed(const struct merging *m, size_t at)
{
    const struct prg_key *key = &m->overlay->keys[at];
    const cJSON *object = m->overlay->places[at].object;
    if (!object || strcmp(key->group, m->group) != 0 || (m->ns && strcmp(key->ns, m->ns) != 0))
        return false;
    return !m->label || prg_text_equal(prg_meta_label(object, m->label), m->value);
}

// Visits the overlay's objects that come before ns/name (NULL: all that are left).
static void visit_until(struct merging *m, const char *ns, const char *name)
{
    for (; m->next < m->overlay->count; m->next++) {
        const struct prg_key *key = &m->overlay->keys[m->next];
        int order = strcmp(key->kind, m->kind);
        if (order > 0)
            return;
        if (order < 0)
            continue;
        if (ns) {
            order = strcmp(key->ns, ns);
            if (order > 0 || (order == 0 && strcmp(key->name, name) >= 0))
                return;
        }
        if (is_listed(m, m->next))
            m->visit(m->overlay->places[m->next].object, m->ctx);
    }
}

static void merge_one(const cJSON *object, void *ctx)
{
    struct merging *m = ctx;
    const char *ns = prg_meta_namespace(object), *name = prg_meta_name(object);
    struct prg_key key = {m->group, m->kind, ns, name};
    bool is_known;
    (void)prg_overlay_get(m->overlay, &key, &is_known);
    visit_until(m, ns, name);
    if (!is_known)
        m->visit(object, m->ctx);
}

static void overlay_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                         prg_reader_visit_fn visit, void *ctx)
{
    struct merging m = {.overlay = (const struct prg_overlay *)reader,
                        .group = group,
                        .kind = kind,
                        .ns = ns,
                        .visit = visit,
                        .ctx = ctx};
    m.overlay->base->list(m.overlay->base, group, kind, ns, merge_one, &m);
    visit_until(&m, NULL, NULL);
}

static void overlay_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                                  const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct merging m = {.overlay = (const struct prg_overlay *)reader,
                        .group = group,
                        .kind = kind,
                        .ns = ns,
                        .label = label,
                        .value = value,
                        .visit = visit,
                        .ctx = ctx};
    prg_reader_list_labelled(m.overlay->base, group, kind, ns, label, value, merge_one, &m);
    visit_until(&m, NULL, NULL);
}

static const char *overlay_file(const struct prg_reader *reader, const struct prg_key *key, struct prg_arena *arena)
{
    const struct prg_overlay *overlay = (const struct prg_overlay *)reader;
    bool is_known;
    size_t at = place_of(overlay, key, &is_known);
    if (is_known)
        return overlay->places[at].file;
    return overlay->base->file ? overlay->base->file(overlay->base, key, arena) : NULL;
}

static int overlay_trouble(const struct prg_reader *reader, struct prg_error *err)
{
    return prg_reader_trouble(((const struct prg_overlay *)reader)->base, err);
}

struct prg_overlay *prg_overlay_new(const struct prg_reader *base)
{
    struct prg_overlay *overlay = prg_xcalloc(1, sizeof(*overlay));
    overlay->reader = (struct prg_reader){.get = overlay_get,
                                          .list = overlay_list,
                                          .list_labelled = overlay_list_labelled,
                                          .trouble = overlay_trouble,
                                          .file = overlay_file};
    overlay->base = base;
    prg_arena_init(&overlay->arena);
    return overlay;
}

void prg_overlay_free(struct prg_overlay *overlay)
{
    if (!overlay)
        return;
    prg_arena_release(&overlay->arena);
    free(overlay->keys);
    free(overlay->places);
    free(overlay);
}

const struct prg_reader *prg_overlay_reader(const struct prg_overlay *overlay)
{
    return &overlay->reader;
}

const struct prg_key *prg_overlay_keys(const struct prg_overlay *overlay, size_t *ret_count)
{
    *ret_count = overlay->count;
    return overlay->keys;
}
