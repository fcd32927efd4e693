// SPDX-License-Identifier: Apache-2.0
// intent.c: laying an intent over a stored object.
#include "store/intent.h"

#include <string.h>

#include "json/index.h"

// Source: ObjectMeta of apimachinery; these are set by the API server or by other controllers.
static const char *const metadata_of_others[] = {
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "selfLink",
    "managedFields",
};

static void keep_member(struct prg_arena *arena, cJSON *object, const cJSON *stored, const char *key)
{
    const cJSON *value = prg_json_get(stored, key);
    if (value && !prg_json_get(object, key))
        prg_json_set(arena, object, key, prg_json_copy(arena, value));
}

static bool has_replicas(const cJSON *object)
{
    static const char *const kinds[] = {"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"};
    const char *kind = prg_json_get_text(object, "kind");
    for (size_t i = 0; i < PRG_COUNT(kinds); i++)
        if (prg_text_equal(kind, kinds[i]))
            return true;
    return false;
}

// Equal but for the members named in skip (NULL-terminated).
static bool equal_without(const cJSON *a, const cJSON *b, const char *const *skip)
{
    const cJSON *sides[2] = {a, b};
    for (int side = 0; side < 2; side++) {
        struct prg_json_index other;
        bool equal = true;
        prg_json_index_members(&other, sides[1 - side]);
        for (const cJSON *member = sides[side] ? sides[side]->child : NULL; member && equal; member = member->next) {
            size_t i = 0;
            while (skip[i] && strcmp(skip[i], member->string) != 0)
                i++;
            equal = skip[i] || prg_json_equal(member, prg_json_index_get(&other, member->string));
        }
        prg_json_index_release(&other);
        if (!equal)
            return false;
    }
    return true;
}

static bool same_metadata(const cJSON *a, const cJSON *b)
{
    static const char *const annotations[] = {"annotations", NULL};
    static const char *const revision[] = {PRG_ANNOTATION_POLICY_REVISION, NULL};
    return equal_without(a, b, annotations) &&
           equal_without(prg_json_get(a, "annotations"), prg_json_get(b, "annotations"), revision);
}

enum prg_intent_change prg_intent_merge(struct prg_arena *arena, const cJSON *stored, const cJSON *intent,
                                        const cJSON **ret)
{
    static const char *const not_spec[] = {"metadata", "status", NULL};
    cJSON *object = prg_json_copy(arena, intent);
    prg_json_remove(object, "status");
    *ret = object;
    if (!stored)
        return PRG_INTENT_SPEC;
    keep_member(arena, object, stored, "status");
    cJSON *meta = prg_json_ensure_object(arena, object, "metadata");
    for (size_t i = 0; i < PRG_COUNT(metadata_of_others); i++)
        keep_member(arena, meta, prg_json_get(stored, "metadata"), metadata_of_others[i]);
    if (has_replicas(object) && prg_json_at(stored, "spec", "replicas"))
        keep_member(arena, prg_json_ensure_object(arena, object, "spec"), prg_json_get(stored, "spec"), "replicas");
    if (!equal_without(object, stored, not_spec))
        return PRG_INTENT_SPEC;
    if (!same_metadata(meta, prg_json_get(stored, "metadata")))
        return PRG_INTENT_META;
    *ret = stored;
    return PRG_INTENT_SAME;
}
