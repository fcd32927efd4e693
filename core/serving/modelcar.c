// SPDX-License-Identifier: Apache-2.0
// modelcar.c: models inside OCI images: a sidecar holds the image's files, a link in a shared volume leads to them.
// Source: utils.ConfigureModelcarToContainer, ModelcarNames, ValidateOCIMountPaths.
#include <string.h>

#include "plan/origin.h"
#include "serving/initializer.h"
#include "serving/predictor.h"

#define IMAGES_MAX 10 // per pod; each adds two containers and a volume

static const char *numbered(struct prg_arena *arena, const char *name, size_t index)
{
    return index ? prg_arena_printf(arena, "%s-%zu", name, index) : name;
}

static const char *parent_of(struct prg_arena *arena, const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    while (length > 0 && path[length - 1] == '/')
        length--;
    return length ? prg_arena_strndup(arena, path, length) : "/";
}

// Text inside single quotes of a shell.
static const char *quoted(struct prg_arena *arena, const char *text)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    for (; *text; text++) {
        if (*text == '\'')
            prg_strbuf_puts(&out, "'\\''");
        else
            prg_strbuf_putc(&out, *text);
    }
    return prg_arena_strdup(arena, out.text);
}

int prg_modelcar_check_paths(struct prg_arena *arena, const cJSON *uris, struct prg_error *err)
{
    const cJSON *entry, *other;
    if (prg_json_count(uris) > IMAGES_MAX)
        return prg_fail(err, PRG_INVALID, "%zu OCI storage URIs; a pod holds at most %d", prg_json_count(uris),
                        IMAGES_MAX);
    prg_json_each (entry, uris) {
        const char *path = prg_json_get_text(entry, "mountPath");
        for (other = uris->child; other != entry; other = other->next) {
            const char *earlier = prg_json_get_text(other, "mountPath");
            const char *parent = parent_of(arena, path ? path : "");
            if (prg_text_equal(parent_of(arena, earlier ? earlier : ""), parent))
                return prg_fail(err, PRG_INVALID,
                                "OCI mount paths \"%s\" and \"%s\" share parent directory \"%s\", which would cause "
                                "volume mount shadowing; use mount paths with distinct parent directories",
                                earlier ? earlier : "", path ? path : "", parent);
        }
    }
    return PRG_OK;
}

static cJSON *modelcar_container(struct prg_arena *arena, const struct prg_initializer_config *config, const char *name,
                                 const char *image, const char *script)
{
    cJSON *container = prg_json_object(arena);
    prg_json_set_string(arena, container, "name", name);
    prg_json_set_string(arena, container, "image", image);
    cJSON *args = prg_json_ensure_array(arena, container, "args");
    prg_json_append(args, prg_json_string(arena, "sh"));
    prg_json_append(args, prg_json_string(arena, "-c"));
    prg_json_append(args, prg_json_string(arena, script));
    prg_json_set(arena, container, "resources",
                 prg_resources(arena, config->cpu_modelcar, config->memory_modelcar, config->cpu_modelcar,
                               config->memory_modelcar));
    prg_json_set_string(arena, container, "terminationMessagePolicy", "FallbackToLogsOnError");
    return container;
}

static void set_user(struct prg_arena *arena, const struct prg_initializer_config *config, cJSON *container)
{
    if (!config->has_uid_modelcar)
        return;
    cJSON *uid = prg_json_int(arena, config->uid_modelcar);
    prg_json_tag(uid, PRG_ORIGIN_CONFIG);
    prg_json_set(arena, prg_json_ensure_object(arena, container, "securityContext"), "runAsUser", uid);
}

// The sidecar, which keeps the image's files reachable, and an init container, which pulls the image and looks into it.
static void add_containers(struct prg_arena *arena, const struct prg_initializer_config *config, const char *image,
                           const char *path, size_t index, cJSON *pod_spec)
{
    cJSON *containers = prg_json_ensure_array(arena, pod_spec, "containers");
    const char *name = numbered(arena, "modelcar", index), *parent = parent_of(arena, path);
    if (prg_named_item(containers, name))
        return;
    // The kubelet turns $$$$ into $$, the shell's own process id.
    const char *link =
        prg_arena_printf(arena, "ln -sf /proc/$$$$/root/models '%s' && sleep infinity", quoted(arena, path));
    if (!prg_text_equal(path, PRG_MODEL_PATH))
        link = prg_arena_printf(arena, "mkdir -p '%s' && %s", quoted(arena, parent), link);
    cJSON *sidecar = modelcar_container(arena, config, name, image, link);
    prg_json_append(prg_json_ensure_array(arena, sidecar, "volumeMounts"),
                    prg_volume_mount(arena, numbered(arena, "kserve-provision-location", index), parent, "", false));
    prg_json_tag(sidecar, PRG_ORIGIN_STORAGE);
    set_user(arena, config, sidecar);
    prg_json_append(containers, sidecar);

    const char *check =
        prg_arena_printf(arena,
                         "echo 'Pre-fetching modelcar %s: ' && [ -d /models ] && [ \"$$(ls -A /models)\" ] "
                         "&& echo 'OK ... Prefetched and valid (/models exists)' "
                         "|| (echo 'NOK ... Prefetched but modelcar is invalid (/models does not exist or is empty)' "
                         "&& exit 1)",
                         quoted(arena, image));
    cJSON *fetch = modelcar_container(arena, config, numbered(arena, "modelcar-init", index), image, check);
    prg_json_tag(fetch, PRG_ORIGIN_STORAGE);
    prg_json_append(prg_json_ensure_array(arena, pod_spec, "initContainers"), fetch);
}

static void set_env(struct prg_arena *arena, cJSON *container, const char *name, const char *value)
{
    cJSON *entry = prg_named_item(prg_json_get(container, "env"), name);
    if (!entry) {
        prg_env_append(arena, container, name, value);
        return;
    }
    prg_json_set_string(arena, entry, "value", value);
    prg_json_tag(prg_json_get(entry, "value"), PRG_ORIGIN_STORAGE);
}

int prg_modelcar_add(struct prg_arena *arena, const struct prg_initializer_config *config, const char *uri,
                     const char *path, const char *target, size_t index, cJSON *pod_spec, struct prg_error *err)
{
    cJSON *container = prg_named_item(prg_json_get(pod_spec, "containers"), target);
    const char *volume = numbered(arena, "kserve-provision-location", index);
    if (!container)
        return prg_fail(err, PRG_NOTFOUND, "no container found with name %s", target);
    // The model may appear after the server has started: it shall wait and try again.
    set_env(arena, container, "MODEL_INIT_MODE", "async");
    prg_volume_add(arena, pod_spec, prg_empty_dir(arena, volume));
    cJSON *mounts = prg_json_ensure_array(arena, container, "volumeMounts");
    if (!prg_named_item(mounts, volume))
        prg_json_append(mounts, prg_volume_mount(arena, volume, parent_of(arena, path), "", false));
    set_user(arena, config, container);
    const char *image = prg_text_has_prefix(uri, "oci://") ? uri + strlen("oci://") : uri;
    add_containers(arena, config, image, path, index, pod_spec);
    cJSON *shared = prg_json_bool(arena, true);
    prg_json_tag(shared, PRG_ORIGIN_STORAGE);
    prg_json_set(arena, pod_spec, "shareProcessNamespace", shared);
    return PRG_OK;
}
