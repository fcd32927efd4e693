// SPDX-License-Identifier: Apache-2.0
// worker.c: pods of workers. Source: runtime/worker.go and runtime/storage_initializer_injector.go of Sedna's Global
// Manager.
//
// Three things differ, since an API server would refuse the pod or a wrong Secret would be used: a mount path is
// mounted once, a volume or container never takes a name that the template uses, and URLs with different Secrets are
// downloaded by init containers of their own.
#include "learning/worker.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "learning/names.h"
#include "learning/secret.h"
#include "learning/url.h"
#include "object/meta.h"
#include "object/quantity.h"

#define DOWNLOADS "/downloads"
#define NODE_DATA "/home/data"
#define INITIALIZER "storage-initializer"
#define INITIALIZER_IMAGE "kubeedge/sedna-storage-initializer:v0.3.0"
#define INITIALIZER_VOLUME "sedna-storage-initializer"
#define INDIRECT_MARK "@"
#define HOT_UPDATE_VOLUME "sedna-model-hot-update-volume"
#define HOT_UPDATE_MOUNT "/model-hot-update"
#define HOT_UPDATE_FOLDER "/var/lib/sedna/model-hot-update"
#define HOT_UPDATE_FILE "model_config.json"
enum { VOLUME_NAME_LENGTH = 63, GENERATE_NAME_LENGTH = 58 };

// A mount taken apart.
struct place {
    const struct prg_mount *mount;
    const char *inside;     // path in the container, or NULL: none
    const char *mount_path; // of the folder in the container
    const char *folder;     // on the node, or ""
    const char *source;     // to be downloaded, or NULL
    const char *target;     // folder it is downloaded to
    cJSON *secret;          // variables, or NULL
};

struct building {
    struct prg_learning *l;
    struct prg_arena *arena;
    const struct prg_worker *worker;
    cJSON *pod, *spec;
    struct place *places;
    size_t place_count;
};

// ---- URLs ----

static bool is_initializer_scheme(const char *scheme)
{
    return strcmp(scheme, "s3") == 0 || strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
}

static int find_place(struct building *b, const struct prg_mount *mount, struct place *ret, struct prg_error *err)
{
    struct prg_url url;
    struct prg_arena *arena = b->arena;
    *ret = (struct place){.mount = mount, .folder = ""};
    if (prg_url_parse(arena, mount->url, &url, err) != PRG_OK)
        return prg_wrap(err, "URL of the %s worker", b->worker->type);
    const char *full = prg_arena_printf(arena, "%s%s", url.host, url.path);
    if (mount->is_downloaded && is_initializer_scheme(url.scheme)) {
        ret->inside = prg_path_join(arena, DOWNLOADS, full);
        ret->source = mount->url;
        ret->target = prg_path_directory(arena, ret->inside);
    }
    if (!*url.scheme) {
        ret->folder = prg_path_directory(arena, mount->url);
        ret->inside = prg_path_join(arena, NODE_DATA, url.path);
        ret->mount_path = prg_path_directory(arena, ret->inside);
        if (mount->is_indirect) {
            ret->source = ret->inside;
            ret->inside = prg_path_join(arena, DOWNLOADS, full);
            ret->target = prg_path_directory(arena, ret->inside);
        }
    }
    if (mount->secret && (strcmp(url.scheme, "s3") == 0 || mount->is_indirect))
        ret->secret = prg_secret_environment(arena, mount->secret);
    return PRG_OK;
}

// ---- parts of the pod ----

static cJSON *rule(cJSON *node, enum prg_origin origin)
{
    prg_json_tag(node, origin);
    return node;
}

static void set_variable(struct prg_arena *arena, cJSON *list, const char *name, const char *value)
{
    cJSON *entry = prg_json_object(arena);
    prg_json_set_string(arena, entry, "name", name);
    prg_json_set_string(arena, entry, "value", value);
    prg_json_append(list, rule(entry, PRG_ORIGIN_RULE));
}

// Appends copies of variables to the environment of each container of the template.
static void add_environment(struct building *b, const cJSON *variables)
{
    cJSON *container;
    const cJSON *variable;
    prg_json_each (container, prg_json_get(b->spec, "containers"))
        prg_json_each (variable, variables)
            prg_json_append(prg_json_ensure_array(b->arena, container, "env"), prg_json_copy(b->arena, variable));
}

static const cJSON *with_text(const cJSON *list, const char *key, const char *value)
{
    const cJSON *item;
    prg_json_each (item, list)
        if (prg_text_equal(prg_json_get_text(item, key), value))
            return item;
    return NULL;
}

// A path is mounted once: an API server refuses it twice.
static void add_mount(struct building *b, cJSON *container, const char *volume, const char *path, bool is_read_only)
{
    cJSON *mounts = prg_json_ensure_array(b->arena, container, "volumeMounts");
    if (with_text(mounts, "mountPath", path))
        return;
    cJSON *mount = prg_json_object(b->arena);
    prg_json_set_string(b->arena, mount, "mountPath", path);
    prg_json_set_string(b->arena, mount, "name", volume);
    if (is_read_only)
        prg_json_set_bool(b->arena, mount, "readOnly", true);
    prg_json_append(mounts, rule(mount, PRG_ORIGIN_STORAGE));
}

static void add_mounts(struct building *b, const char *volume, const char *path, bool is_read_only)
{
    cJSON *container;
    prg_json_each (container, prg_json_get(b->spec, "containers"))
        add_mount(b, container, volume, path, is_read_only);
}

// The name, or the name with a number behind it when the template uses it already.
static const char *free_name(struct building *b, const cJSON *const *lists, size_t count, const char *name)
{
    const char *tried = name;
    for (unsigned number = 2;; number++) {
        bool is_taken = false;
        for (size_t i = 0; i < count; i++)
            is_taken = is_taken || with_text(lists[i], "name", tried);
        if (!is_taken)
            return tried;
        char suffix[16];
        int length = snprintf(suffix, sizeof(suffix), "-%u", number);
        tried = prg_arena_printf(b->arena, "%.*s%s", VOLUME_NAME_LENGTH - length, name, suffix);
    }
}

static const char *add_volume(struct building *b, const char *name, const char *source, cJSON *details)
{
    cJSON *volumes = prg_json_ensure_array(b->arena, b->spec, "volumes"), *volume = prg_json_object(b->arena);
    const cJSON *const lists[] = {volumes};
    const char *own = free_name(b, lists, 1, name);
    prg_json_set(b->arena, volume, source, details);
    prg_json_set_string(b->arena, volume, "name", own);
    prg_json_append(volumes, rule(volume, PRG_ORIGIN_STORAGE));
    return own;
}

static cJSON *host_path(struct building *b, const char *path, const char *type)
{
    cJSON *details = prg_json_object(b->arena);
    prg_json_set_string(b->arena, details, "path", path);
    prg_json_set_string(b->arena, details, "type", type);
    return details;
}

// ---- folders of the node ----

// Source: ConvertK8SValidName.
static const char *volume_name(struct prg_arena *arena, const char *folder)
{
    char *name = prg_arena_alloc(arena, strlen(folder) + 1);
    size_t length = 0;
    for (const char *p = folder; *p; p++) {
        char c = (char)tolower((unsigned char)*p);
        bool is_kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        if (is_kept || (length && name[length - 1] != '-'))
            name[length++] = is_kept ? c : '-';
    }
    if (length > VOLUME_NAME_LENGTH)
        length = VOLUME_NAME_LENGTH;
    if (length && name[length - 1] == '-')
        name[length - 1] = 'z';
    if (length && name[0] == '-')
        name[0] = 'z'; // an API server would refuse it
    name[length] = '\0';
    return length ? name : "sedna-default-volume-name";
}

struct node_volume {
    const char *name, *own_name, *folder;
};

// One volume per name: the first folder wins, which a user should hear of.
static const char *folder_volume(struct building *b, const char *folder, struct node_volume *seen, size_t *count)
{
    const char *name = volume_name(b->arena, folder);
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(seen[i].name, name) != 0)
            continue;
        if (strcmp(seen[i].folder, folder) != 0)
            prg_plan_add_event(b->l->plan, "Warning", "VolumeShared",
                               "folders %s and %s of the %s worker get one volume name, %s: only the first is mounted; "
                               "rename one of them",
                               seen[i].folder, folder, b->worker->type, name);
        return seen[i].own_name;
    }
    const char *own = add_volume(b, name, "hostPath", host_path(b, folder, "Directory"));
    seen[(*count)++] = (struct node_volume){name, own, folder};
    return own;
}

static cJSON *initializer_of(const struct building *b, const char *source)
{
    cJSON *container;
    const cJSON *arg;
    prg_json_each (container, prg_json_get(b->spec, "initContainers"))
        prg_json_each (arg, prg_json_get(container, "args"))
            if (prg_text_equal(prg_json_text(arg), source))
                return container;
    return NULL;
}

static void mount_folders(struct building *b)
{
    struct node_volume *seen = prg_arena_array(b->arena, struct node_volume, b->place_count + 1);
    size_t count = 0;
    bool is_seen_by_worker = false;
    for (size_t i = 0; i < b->place_count; i++) {
        const struct place *place = &b->places[i];
        if (!*place->folder)
            continue;
        const char *volume = folder_volume(b, place->folder, seen, &count);
        if (place->mount->is_indirect) {
            add_mount(b, initializer_of(b, place->source), volume, place->mount_path, false);
        } else {
            add_mounts(b, volume, place->mount_path, false);
            is_seen_by_worker = true;
        }
    }
    if (is_seen_by_worker) {
        cJSON *list = prg_json_array(b->arena);
        set_variable(b->arena, list, "DATA_PATH_PREFIX", NODE_DATA);
        add_environment(b, list);
    }
}

// ---- storage initializer ----

static cJSON *new_initializer(struct building *b)
{
    struct prg_arena *arena = b->arena;
    cJSON *list = prg_json_ensure_array(arena, b->spec, "initContainers"), *container = prg_json_object(arena);
    const cJSON *const lists[] = {list, prg_json_get(b->spec, "containers")};
    cJSON *limits = prg_json_object(arena), *resources = prg_json_object(arena);
    prg_json_set(arena, container, "args", prg_json_array(arena));
    prg_json_set(arena, container, "env", prg_json_array(arena));
    prg_json_set_string(arena, container, "image", INITIALIZER_IMAGE);
    prg_json_set_string(arena, container, "imagePullPolicy", "IfNotPresent");
    prg_json_set_string(arena, container, "name", free_name(b, lists, PRG_COUNT(lists), INITIALIZER));
    prg_json_set_string(arena, limits, "cpu", "1");
    prg_json_set_string(arena, limits, "memory", "1Gi");
    prg_json_set(arena, resources, "limits", limits);
    prg_json_set(arena, container, "resources", resources);
    prg_json_set_string(arena, container, "terminationMessagePolicy", "FallbackToLogsOnError");
    prg_json_append(list, rule(container, PRG_ORIGIN_STORAGE));
    return container;
}

struct initializer {
    cJSON *container;
    const cJSON *secret; // variables, or NULL as long as nothing in it needs any
};

// The initializer for a Secret's variables: URLs without a Secret go to the first one, each Secret has one of its own.
static struct initializer *initializer_for(struct building *b, struct initializer *list, size_t *count,
                                           const cJSON *secret)
{
    for (size_t i = 0; i < *count; i++) {
        if (!secret)
            return &list[0];
        if (!list[i].secret)
            list[i].secret = secret;
        if (prg_json_equal(list[i].secret, secret))
            return &list[i];
    }
    list[*count] = (struct initializer){new_initializer(b), secret};
    return &list[(*count)++];
}

static void finish_initializer(struct building *b, const struct initializer *initializer, const char *volume)
{
    cJSON *env = prg_json_get(initializer->container, "env");
    const cJSON *variable;
    prg_json_each (variable, initializer->secret)
        prg_json_append(env, prg_json_copy(b->arena, variable));
    set_variable(b->arena, env, "INDIRECT_URL_MARK", INDIRECT_MARK);
    add_mount(b, initializer->container, volume, DOWNLOADS, false);
}

static void add_initializers(struct building *b)
{
    struct initializer *list = prg_arena_array(b->arena, struct initializer, b->place_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < b->place_count; i++) {
        const struct place *place = &b->places[i];
        if (!place->source)
            continue;
        const struct initializer *initializer = initializer_for(b, list, &count, place->secret);
        cJSON *args = prg_json_get(initializer->container, "args");
        prg_json_append(args, prg_json_string(b->arena, place->source));
        prg_json_append(
            args, prg_json_stringf(b->arena, "%s%s", place->mount->is_indirect ? INDIRECT_MARK : "", place->target));
    }
    if (!count)
        return;
    const char *volume = add_volume(b, INITIALIZER_VOLUME, "emptyDir", prg_json_object(b->arena));
    for (size_t i = 0; i < count; i++)
        finish_initializer(b, &list[i], volume);
    add_mounts(b, volume, DOWNLOADS, true);
}

// Secrets of what a worker writes itself are its own variables; of several the first wins.
static void add_worker_secrets(struct building *b)
{
    for (size_t i = 0; i < b->place_count; i++)
        if (!b->places[i].mount->is_downloaded && b->places[i].secret) {
            add_environment(b, b->places[i].secret);
            return;
        }
}

// ---- hot update ----

const char *prg_hot_update_directory(struct prg_arena *arena, const char *ns, const char *job)
{
    char *path = prg_arena_printf(arena, HOT_UPDATE_FOLDER "/%s/incrementallearningjob/%s/", ns, job);
    for (char *p = path; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return path;
}

static void add_hot_update(struct building *b, cJSON *environment)
{
    const char *folder = prg_hot_update_directory(b->arena, b->l->ns, b->l->name);
    const char *volume = add_volume(b, HOT_UPDATE_VOLUME, "hostPath", host_path(b, folder, "DirectoryOrCreate"));
    add_mounts(b, volume, HOT_UPDATE_MOUNT, false);
    set_variable(b->arena, environment, "MODEL_HOT_UPDATE", "true");
    set_variable(b->arena, environment, "MODEL_POLL_PERIOD_SECONDS", b->worker->poll_period);
    set_variable(b->arena, environment, "MODEL_HOT_UPDATE_CONFIG", HOT_UPDATE_MOUNT "/" HOT_UPDATE_FILE);
}

// ---- template ----

static void canonical_quantities(struct prg_arena *arena, cJSON *quantities)
{
    cJSON *item;
    if (!prg_json_is_object(quantities))
        return;
    for (item = quantities->child; item; item = item->next) {
        struct prg_error ignored;
        const char *text = prg_json_is_number(item) ? prg_json_number_text(item) : prg_json_text(item), *canonical;
        if (!text || prg_quantity_canonical(arena, text, &canonical, &ignored) != PRG_OK)
            continue; // the API server will say what is wrong with it
        cJSON *value = prg_json_string(arena, canonical);
        prg_json_tag(value, prg_json_origin(item));
        prg_json_replace(quantities, item, value);
        item = value;
    }
}

static void canonical_resources(struct prg_arena *arena, const cJSON *containers)
{
    const cJSON *container;
    prg_json_each (container, containers) {
        canonical_quantities(arena, prg_json_at(container, "resources", "limits"));
        canonical_quantities(arena, prg_json_at(container, "resources", "requests"));
    }
}

static void set_labels(struct building *b, cJSON *meta)
{
    cJSON *labels = prg_json_ensure_object(b->arena, meta, "labels");
    const char *const pairs[][2] = {
        {PRG_LABEL_JOB_NAME, b->l->name}, {PRG_LABEL_JOB_UID, b->l->uid}, {PRG_LABEL_WORKER_TYPE, b->worker->type}};
    for (size_t i = 0; i < PRG_COUNT(pairs); i++)
        prg_json_set(b->arena, labels, pairs[i][0], rule(prg_json_string(b->arena, pairs[i][1]), PRG_ORIGIN_RULE));
}

static cJSON *make_metadata(struct building *b)
{
    static const char *const copied[] = {"annotations", "finalizers", "labels"};
    struct prg_arena *arena = b->arena;
    cJSON *meta = prg_json_object(arena), *owners = prg_json_array(arena), *owner = prg_json_object(arena);
    const char *base = prg_arena_printf(arena, "%s-%s-", b->l->name, b->worker->type);
    char suffix[6];
    if (strlen(base) > GENERATE_NAME_LENGTH) // as an API server cuts it
        base = prg_arena_strndup(arena, base, GENERATE_NAME_LENGTH);
    prg_learning_suffix(b->worker->identity, suffix);
    prg_json_set_string(arena, meta, "generateName", base);
    prg_json_set(arena, meta, "name", prg_json_stringf(arena, "%s%s", base, suffix));
    prg_json_set_string(arena, meta, "namespace", b->l->ns);
    prg_json_set_string(arena, owner, "apiVersion", PRG_SEDNA_VERSION);
    prg_json_set_string(arena, owner, "kind", PRG_KIND_JOB);
    prg_json_set_string(arena, owner, "name", b->l->name);
    prg_json_set_string(arena, owner, "uid", b->l->uid);
    prg_json_set_bool(arena, owner, "controller", true);
    prg_json_set_bool(arena, owner, "blockOwnerDeletion", true);
    prg_json_append(owners, owner);
    prg_json_set(arena, meta, "ownerReferences", owners);
    rule(meta, PRG_ORIGIN_RULE);
    for (size_t i = 0; i < PRG_COUNT(copied); i++) {
        const cJSON *part = prg_json_at(b->worker->template, "metadata", copied[i]);
        if (prg_json_count(part))
            prg_json_set(arena, meta, copied[i], rule(prg_json_copy(arena, part), PRG_ORIGIN_SERVICE));
    }
    set_labels(b, meta);
    return meta;
}

static void start_pod(struct building *b)
{
    const cJSON *spec = prg_json_get(b->worker->template, "spec");
    b->pod = prg_json_object(b->arena);
    prg_json_set_string(b->arena, b->pod, "apiVersion", "v1");
    prg_json_set_string(b->arena, b->pod, "kind", "Pod");
    prg_json_set(b->arena, b->pod, "metadata", make_metadata(b));
    b->spec =
        prg_json_is_object(spec) ? rule(prg_json_copy(b->arena, spec), PRG_ORIGIN_SERVICE) : prg_json_object(b->arena);
    prg_json_set(b->arena, b->pod, "spec", b->spec);
    canonical_resources(b->arena, prg_json_get(b->spec, "containers"));
    canonical_resources(b->arena, prg_json_get(b->spec, "initContainers"));
}

// ---- the pod ----

// A template may hold anything where no API server has looked at it: what is filled in below goes into objects.
static int check_template(const struct building *b, struct prg_error *err)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *type = b->worker->type;
    const char *part = strcmp(type, "train") == 0 ? "trainSpec" : strcmp(type, "eval") == 0 ? "evalSpec" : "deploySpec";
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        const cJSON *list = prg_json_at(b->worker->template, "spec", lists[i]), *item;
        size_t index = 0;
        if (!list || prg_json_is_null(list))
            continue;
        if (!prg_json_is_array(list))
            return prg_fail(err, PRG_INVALID, "/spec/%s/template/spec/%s: must be a list of containers, not %s", part,
                            lists[i], prg_json_type_name(list));
        prg_json_each (item, list) {
            if (!prg_json_is_object(item))
                return prg_fail(err, PRG_INVALID,
                                "/spec/%s/template/spec/%s/%zu: must be a container, an object, not %s", part, lists[i],
                                index, prg_json_type_name(item));
            index++;
        }
    }
    return PRG_OK;
}

// Takes all mounts apart, and adds the variables that hold their places to environment.
static int place_mounts(struct building *b, cJSON *environment, struct prg_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < b->worker->variable_count; i++)
        count += b->worker->variables[i].count;
    b->places = prg_arena_array(b->arena, struct place, count + 1);
    for (size_t i = 0; i < b->worker->variable_count; i++) {
        const struct prg_mount_variable *variable = &b->worker->variables[i];
        const char *text = "";
        for (size_t k = 0; k < variable->count; k++) {
            struct place *place = &b->places[b->place_count];
            if (find_place(b, &variable->mounts[k], place, err) != PRG_OK)
                return prg_wrap(err, "%s", variable->name);
            b->place_count++;
            text = prg_arena_printf(b->arena, "%s%s%s", text, k ? ";" : "",
                                    place->inside ? place->inside : variable->mounts[k].url);
        }
        set_variable(b->arena, environment, variable->name, text);
    }
    return PRG_OK;
}

int prg_worker_pod(struct prg_learning *l, const struct prg_worker *worker, cJSON **ret, struct prg_error *err)
{
    struct building b = {.l = l, .arena = l->arena, .worker = worker};
    cJSON *environment = prg_json_copy(l->arena, worker->environment);
    int rc = check_template(&b, err);
    if (rc == PRG_OK)
        rc = place_mounts(&b, environment, err);
    if (rc != PRG_OK)
        return rc;
    start_pod(&b);
    add_initializers(&b);
    mount_folders(&b);
    add_worker_secrets(&b);
    if (worker->has_hot_update)
        add_hot_update(&b, environment);
    add_environment(&b, environment);
    prg_json_set(l->arena, b.spec, "hostNetwork", rule(prg_json_bool(l->arena, true), PRG_ORIGIN_RULE));
    const char *policy = prg_json_get_text(b.spec, "restartPolicy");
    if (worker->restart_policy && (!policy || !*policy))
        prg_json_set(l->arena, b.spec, "restartPolicy",
                     rule(prg_json_string(l->arena, worker->restart_policy), PRG_ORIGIN_RULE));
    *ret = b.pod;
    return PRG_OK;
}
