// SPDX-License-Identifier: Apache-2.0
// meta.c: reading and making ObjectMeta.
#include "object/meta.h"

static const cJSON *meta_member(const cJSON *object, const char *key)
{
    return prg_json_get(prg_json_get(object, "metadata"), key);
}

static const char *meta_text(const cJSON *object, const char *key)
{
    const char *text = prg_json_text(meta_member(object, key));
    return text ? text : "";
}

const char *prg_meta_name(const cJSON *object)
{
    return meta_text(object, "name");
}

const char *prg_meta_namespace(const cJSON *object)
{
    return meta_text(object, "namespace");
}

const char *prg_meta_uid(const cJSON *object)
{
    return meta_text(object, "uid");
}

int64_t prg_meta_generation(const cJSON *object)
{
    int64_t generation = 0;
    return prg_json_int64(meta_member(object, "generation"), &generation) ? generation : 0;
}

const char *prg_meta_created(const cJSON *object)
{
    return meta_text(object, "creationTimestamp");
}

static const cJSON *meta_map(const cJSON *object, const char *key)
{
    const cJSON *map = meta_member(object, key);
    return prg_json_is_object(map) ? map : NULL;
}

const cJSON *prg_meta_labels(const cJSON *object)
{
    return meta_map(object, "labels");
}

const cJSON *prg_meta_annotations(const cJSON *object)
{
    return meta_map(object, "annotations");
}

const char *prg_meta_label(const cJSON *object, const char *key)
{
    return prg_json_get_text(prg_meta_labels(object), key);
}

const char *prg_meta_annotation(const cJSON *object, const char *key)
{
    return prg_json_get_text(prg_meta_annotations(object), key);
}

bool prg_meta_is_deleting(const cJSON *object)
{
    return *meta_text(object, "deletionTimestamp") != '\0';
}

// Source: controller-runtime controllerutil.SetControllerReference. Members in the order of Go's OwnerReference.
cJSON *prg_owner_reference(struct prg_arena *arena, const cJSON *owner)
{
    cJSON *reference = prg_json_object(arena);
    prg_json_set_string(arena, reference, "apiVersion", prg_json_get_text(owner, "apiVersion"));
    prg_json_set_string(arena, reference, "kind", prg_json_get_text(owner, "kind"));
    prg_json_set_string(arena, reference, "name", prg_meta_name(owner));
    prg_json_set_string(arena, reference, "uid", prg_meta_uid(owner));
    prg_json_set_bool(arena, reference, "controller", true);
    prg_json_set_bool(arena, reference, "blockOwnerDeletion", true);
    return reference;
}

const cJSON *prg_owner_controller(const cJSON *object)
{
    const cJSON *references = meta_member(object, "ownerReferences");
    const cJSON *reference;
    if (!prg_json_is_array(references))
        return NULL;
    prg_json_each (reference, references)
        if (prg_json_get_true(reference, "controller"))
            return reference;
    return NULL;
}

// Source: metav1.IsControlledBy: uids are compared, also when both are empty (an owner read from a file has none).
bool prg_owner_controls(const cJSON *owner, const cJSON *object)
{
    const cJSON *reference = prg_owner_controller(object);
    if (!reference)
        return false;
    const char *uid = prg_json_get_text(reference, "uid");
    return prg_text_equal(uid ? uid : "", prg_meta_uid(owner));
}
