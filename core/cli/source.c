// SPDX-License-Identifier: Apache-2.0
// source.c: where a command's objects come from (-f, --store, --replay, a cluster) and which of them it is about.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "catalog/catalog.h"
#include "catalog/manifest.h"
#include "cli/cli.h"
#include "cli/replaying.h"
#include "kube/snapshot.h"
#include "learning/names.h"
#include "object/kinds.h"
#include "object/meta.h"
#include "store/store_mem.h"
#include "json/schema.h"

// ---- files ----

// Objects of files, with the file of each.
struct files_store {
    struct prg_store store; // first
    struct prg_store *objects;
    struct prg_map files; // key text -> file
};

static const struct prg_reader *objects_of(const struct prg_reader *reader)
{
    return &((const struct files_store *)reader)->objects->reader;
}

static const cJSON *files_get(const struct prg_reader *reader, const struct prg_key *key)
{
    return objects_of(reader)->get(objects_of(reader), key);
}

static void files_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                       prg_reader_visit_fn visit, void *ctx)
{
    objects_of(reader)->list(objects_of(reader), group, kind, ns, visit, ctx);
}

static void files_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                                const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    prg_reader_list_labelled(objects_of(reader), group, kind, ns, label, value, visit, ctx);
}

static const char *files_file(const struct prg_reader *reader, const struct prg_key *key, struct prg_arena *arena)
{
    return prg_map_get(&((const struct files_store *)reader)->files, prg_key_text(arena, key));
}

static int files_refresh(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    (void)store;
    (void)changed;
    (void)ctx;
    (void)err;
    return PRG_OK;
}

static void files_free(struct prg_store *store)
{
    struct files_store *files = (struct files_store *)store;
    prg_store_free(files->objects);
    prg_map_release(&files->files);
    free(files);
}

static struct files_store *files_new(void)
{
    // Nothing is written: there are no writing operations.
    static const struct prg_store_ops ops = {.refresh = files_refresh, .free = files_free};
    struct files_store *files = prg_xcalloc(1, sizeof(*files));
    files->store.ops = &ops;
    files->store.reader = (struct prg_reader){
        .get = files_get, .list = files_list, .list_labelled = files_list_labelled, .file = files_file};
    files->objects = prg_store_mem_new();
    prg_map_init(&files->files);
    return files;
}

struct reading {
    struct prg_arena *arena;
    struct files_store *files;
    size_t object_count;
};

struct finding_context {
    const char *file, *object;
    bool has_found;
};

static void find_unknown(const struct prg_schema_finding *finding, void *ctx)
{
    struct finding_context *found = ctx;
    found->has_found = found->has_found || finding->problem == PRG_PROBLEM_UNKNOWN_FIELD;
}

static bool has_unknown(const struct prg_manifest *manifest)
{
    const struct prg_schema *schema = prg_schema_of_kind(manifest->key.group, manifest->key.kind);
    struct finding_context found = {0};
    if (schema)
        prg_schema_check(schema, manifest->object, find_unknown, &found);
    return found.has_found;
}

// Wrong types are told by the plan, as errors; here only what is silently ignored otherwise.
static void warn_unknown(const struct prg_schema_finding *finding, void *ctx)
{
    const struct finding_context *where = ctx;
    struct prg_json_position at = prg_json_position(finding->node);
    if (finding->problem != PRG_PROBLEM_UNKNOWN_FIELD)
        return;
    fprintf(stderr, "warning: %s:%u:%u: %s: unknown field %s", where->file, at.line, at.column, where->object,
            finding->pointer);
    if (finding->nearest)
        fprintf(stderr, "; did you mean '%s'?", finding->nearest);
    fputc('\n', stderr);
}

static int add_manifest(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    struct reading *reading = ctx;
    struct files_store *files = reading->files;
    const char *text = prg_key_text(reading->arena, &manifest->key);
    if (manifest->is_marked) {
        struct finding_context where = {manifest->file, text, true};
        prg_schema_check(prg_schema_of_kind(manifest->key.group, manifest->key.kind), manifest->object, warn_unknown,
                         &where);
    }
    reading->object_count++;
    if (prg_store_mem_put(files->objects, manifest->object, true, false, err) == PRG_OK) {
        prg_map_put(&files->files, text, (void *)(uintptr_t)manifest->file);
        return PRG_OK;
    }
    return prg_fail(err, PRG_CONFLICT, "%s:%u: %s is also at %s; keep one of the two", manifest->file, manifest->line,
                    text, prg_reader_place(&files->store.reader, &manifest->key, NULL, reading->arena));
}

// Standard input holds its text once, however often it is named.
static bool is_named(const struct prg_vec *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i], path) == 0)
            return true;
    return false;
}

static int name_file(const char *path, void *ctx, struct prg_error *err)
{
    (void)err;
    if (strcmp(path, "-") != 0 || !is_named(ctx, path))
        prg_vec_push(ctx, prg_xstrdup(path));
    return PRG_OK;
}

#define WHICH_FILES "files end in .yaml, .yml or .json; -R goes into subfolders"

int prg_source_fail_empty(const char *path, struct prg_error *err)
{
    return prg_fail(err, PRG_INVALID, "%s: no objects in it (" WHICH_FILES ")", path);
}

static int open_files(const struct prg_cli_options *options, struct prg_arena *arena, struct prg_store **ret,
                      struct prg_error *err)
{
    struct reading reading = {.arena = arena, .files = files_new()};
    struct prg_vec paths;
    int rc = PRG_OK;
    prg_vec_init(&paths);
    for (size_t i = 0; rc == PRG_OK && i < options->files.count; i++) {
        const char *path = options->files.items[i];
        size_t before = paths.count;
        bool is_stdin = strcmp(path, "-") == 0;
        rc = is_stdin ? name_file(path, &paths, err)
                      : prg_manifest_each_file(path, options->recursive, name_file, &paths, err);
        if (rc == PRG_OK && !is_stdin && paths.count == before && options->files.count > 1)
            fprintf(stderr, "note: %s: no manifests in it (" WHICH_FILES ")\n", path);
    }
    if (rc == PRG_OK)
        rc = prg_manifest_load_files(arena, &paths, options->ns, has_unknown, add_manifest, &reading, err);
    if (rc == PRG_OK && reading.object_count == 0)
        rc = prg_source_fail_empty(options->files.items[0], err);
    for (size_t i = 0; i < paths.count; i++)
        free(paths.items[i]);
    prg_vec_release(&paths);
    if (rc != PRG_OK) {
        prg_store_free(&reading.files->store);
        return rc;
    }
    *ret = &reading.files->store;
    return PRG_OK;
}

int prg_source_folder(const char *store, const char **ret_path, struct prg_error *err)
{
    if (!prg_text_has_prefix(store, "dir:") || !store[4])
        return prg_fail(err, PRG_INVALID, "--store %s: dir:PATH, a folder of manifests", store);
    *ret_path = store + 4;
    return PRG_OK;
}

static const struct prg_kind subject_kinds[] = {{"serving.kserve.io", "InferenceService"},
                                                {PRG_SEDNA_GROUP, PRG_KIND_JOB}};

// The kind that can be planned of KIND/NAME, or NULL.
static const struct prg_kind *subject_kind_of(struct prg_arena *arena, const char *arg, const char *slash)
{
    struct prg_kind kind;
    if (prg_kind_named(arena, arg, (size_t)(slash - arg), &kind))
        for (size_t i = 0; i < PRG_COUNT(subject_kinds); i++)
            if (strcmp(kind.kind, subject_kinds[i].kind) == 0 && strcmp(kind.group, subject_kinds[i].group) == 0)
                return &subject_kinds[i];
    return NULL;
}

// ---- a cluster ----

static void warn_cluster(const char *text, void *ctx)
{
    (void)ctx;
    fprintf(stderr, "warning: %s\n", text);
}

// Asks for what a plan of the service reads in any case, so that the answers arrive together.
static void hint_service(const struct prg_cli_options *options, struct prg_store *store, const char *ns,
                         const char *name)
{
    static const char group[] = "serving.kserve.io";
    const char *config_ns = options->config_namespace ? options->config_namespace : "kserve";
    prg_auto_arena arena = {0};
    const char *predictor = prg_arena_printf(&arena, "%s-predictor", name);
    prg_snapshot_hint(store, group, "InferenceService", ns, name);
    prg_snapshot_hint(store, "", "ConfigMap", config_ns, "inferenceservice-config");
    prg_snapshot_hint_list(store, group, "ServingRuntime", ns, NULL, NULL);
    prg_snapshot_hint_list(store, group, "ClusterServingRuntime", NULL, NULL, NULL);
    prg_snapshot_hint_list(store, group, "ClusterStorageContainer", NULL, NULL, NULL);
    prg_snapshot_hint(store, "", "Namespace", NULL, ns);
    prg_snapshot_hint(store, "", "Service", ns, predictor);
    prg_snapshot_hint(store, "apps", "Deployment", ns, predictor);
    prg_snapshot_hint(store, "autoscaling", "HorizontalPodAutoscaler", ns, predictor);
    prg_snapshot_hint(store, "keda.sh", "ScaledObject", ns, predictor);
    prg_snapshot_hint_list(store, "", "Pod", ns, "app", prg_arena_printf(&arena, "isvc.%s", predictor));
}

static void hint_subject(const struct prg_cli_options *options, struct prg_store *store, const char *arg)
{
    const char *slash = strchr(arg, '/'), *ns = options->ns ? options->ns : prg_snapshot_namespace(store);
    prg_auto_arena arena = {0};
    const struct prg_kind *kind = slash ? subject_kind_of(&arena, arg, slash) : NULL;
    if (!kind || !slash[1] || options->all_namespaces)
        return;
    if (strcmp(kind->kind, PRG_KIND_JOB) != 0) {
        hint_service(options, store, ns, slash + 1);
        return;
    }
    prg_snapshot_hint(store, kind->group, kind->kind, ns, slash + 1);
    prg_snapshot_hint_list(store, "", "Pod", ns, PRG_LABEL_JOB_NAME, slash + 1);
}

static int open_cluster(const struct prg_cli_options *options, struct prg_store **ret, struct prg_error *err)
{
    struct prg_kube_choice choice = {.kubeconfig = options->kubeconfig, .context = options->context, .ns = options->ns};
    struct prg_snapshot_options snapshot = {
        .is_bulk = options->arg_count == 0,
        .bulk_ns = options->all_namespaces ? NULL
                   : options->ns           ? options->ns
                                           : "",
        .warn = warn_cluster,
    };
    if (prg_snapshot_open(&choice, &snapshot, ret, err) != PRG_OK)
        return err->code == PRG_NOTFOUND && !options->kubeconfig && !options->context
                   ? prg_wrap(err, "nothing to read: give -f FILE, --store dir:PATH, --replay FILE, or a cluster")
                   : (int)err->code;
    for (int i = 0; i < options->arg_count; i++)
        hint_subject(options, *ret, options->args[i]);
    return PRG_OK;
}

bool prg_source_is_cluster(const struct prg_cli_options *options)
{
    return !options->files.count && !options->store && !options->replay;
}

// ---- opening ----

int prg_source_open(const struct prg_cli_options *options, struct prg_arena *arena, struct prg_store **ret,
                    struct prg_error *err)
{
    const char *given[] = {options->files.count ? "-f" : NULL, options->store ? "--store" : NULL,
                           options->replay ? "--replay" : NULL,
                           options->kubeconfig ? "--kubeconfig"
                           : options->context  ? "--context"
                                               : NULL};
    const char *first = NULL;
    for (size_t i = 0; i < PRG_COUNT(given); i++) {
        if (first && given[i])
            return prg_fail(err, PRG_INVALID, "%s and %s exclude each other: objects come from one place", first,
                            given[i]);
        first = first ? first : given[i];
    }
    if (options->files.count)
        return open_files(options, arena, ret, err);
    if (options->replay)
        return prg_replaying_open_store(options->replay, ret, err);
    if (!options->store)
        return open_cluster(options, ret, err);
    const char *path;
    struct prg_catalog_options catalog = {.default_namespace = options->ns};
    if (prg_source_folder(options->store, &path, err) != PRG_OK)
        return err->code;
    return prg_catalog_open(path, &catalog, ret, err);
}

// ---- subjects ----

struct collecting {
    struct prg_arena *arena;
    struct prg_key *keys;
    size_t count, cap;
    const struct prg_kind *kind;
    const char *name; // only this one, or NULL
};

static void collect(const cJSON *object, void *ctx)
{
    struct collecting *collecting = ctx;
    if (collecting->name && strcmp(collecting->name, prg_meta_name(object)) != 0)
        return;
    if (collecting->count == collecting->cap) {
        size_t cap = collecting->cap ? collecting->cap * 2 : 16;
        struct prg_key *keys = prg_arena_array(collecting->arena, struct prg_key, cap);
        if (collecting->count)
            memcpy(keys, collecting->keys, collecting->count * sizeof(*keys));
        collecting->keys = keys;
        collecting->cap = cap;
    }
    collecting->keys[collecting->count++] =
        (struct prg_key){collecting->kind->group, collecting->kind->kind,
                         prg_arena_strdup(collecting->arena, prg_meta_namespace(object)),
                         prg_arena_strdup(collecting->arena, prg_meta_name(object))};
}

static void list_subjects(const struct prg_store *store, const char *ns, struct collecting *collecting)
{
    store->reader.list(&store->reader, collecting->kind->group, collecting->kind->kind, ns, collect, collecting);
}

const char *prg_source_namespace(const struct prg_cli_options *options, const struct prg_store *store)
{
    return options->all_namespaces  ? NULL
           : options->ns            ? options->ns
           : prg_snapshot_is(store) ? prg_snapshot_namespace(store)
                                    : NULL;
}

static int not_found(const struct prg_store *store, const struct prg_kind *kind, const char *arg, const char *ns,
                     struct collecting *elsewhere, struct prg_error *err)
{
    if (prg_reader_trouble(&store->reader, err) != PRG_OK)
        return err->code;
    if (prg_snapshot_is(store) && !prg_snapshot_has_kind((struct prg_store *)store, kind->group, kind->kind))
        return prg_fail(err, PRG_NOTFOUND, "%s: the server has no kind %s (%s); its CRDs have to be installed first",
                        arg, kind->kind, kind->group);
    if (!prg_snapshot_is(store)) // a cluster may not show other namespaces
        list_subjects(store, NULL, elsewhere);
    if (elsewhere->count)
        return prg_fail(err, PRG_NOTFOUND, "%s: not in namespace %s, but in %s: give -n %s", arg, ns,
                        elsewhere->keys[0].ns, elsewhere->keys[0].ns);
    return prg_fail(err, PRG_NOTFOUND, "%s: no such object%s%s", arg, ns ? " in namespace " : " in any namespace",
                    ns ? ns : "");
}

static int one_subject(const struct prg_cli_options *options, const struct prg_store *store, const char *arg,
                       struct collecting *subjects, struct prg_error *err)
{
    const char *slash = strchr(arg, '/');
    struct collecting elsewhere = {.arena = subjects->arena};
    if (!slash || !slash[1])
        return prg_fail(err, PRG_INVALID, "%s: a subject is KIND/NAME, as in inferenceservice/iris", arg);
    const struct prg_kind *kind = subjects->kind = elsewhere.kind = subject_kind_of(subjects->arena, arg, slash);
    if (!kind)
        return prg_fail(err, PRG_INVALID, "%s: only an inferenceservice or an incrementallearningjob can be planned",
                        arg);
    const char *ns = prg_source_namespace(options, store);
    if (!ns && !options->all_namespaces)
        ns = "default";
    size_t before = subjects->count;
    subjects->name = elsewhere.name = slash + 1;
    if (ns) {
        const cJSON *object = prg_reader_get(&store->reader, kind->group, kind->kind, ns, slash + 1);
        if (object)
            collect(object, subjects);
    } else {
        list_subjects(store, NULL, subjects);
    }
    return subjects->count > before ? PRG_OK : not_found(store, kind, arg, ns, &elsewhere, err);
}

static int compare_keys(const void *a, const void *b)
{
    return prg_key_compare(a, b);
}

int prg_source_subjects(const struct prg_cli_options *options, const struct prg_store *store, struct prg_arena *arena,
                        struct prg_key **ret, size_t *ret_count, struct prg_error *err)
{
    struct collecting subjects = {.arena = arena};
    for (int i = 0; i < options->arg_count; i++)
        if (one_subject(options, store, options->args[i], &subjects, err) != PRG_OK)
            return err->code;
    if (options->arg_count == 0) {
        const char *ns = prg_source_namespace(options, store);
        for (size_t i = 0; i < PRG_COUNT(subject_kinds); i++) {
            subjects.kind = &subject_kinds[i];
            list_subjects(store, ns, &subjects);
        }
        if (prg_reader_trouble(&store->reader, err) != PRG_OK)
            return err->code;
        if (!subjects.count)
            return prg_fail(err, PRG_NOTFOUND, "no InferenceService or IncrementalLearningJob%s%s",
                            ns ? " in namespace " : " among the objects", ns ? ns : "");
    }
    if (subjects.count > 1)
        qsort(subjects.keys, subjects.count, sizeof(*subjects.keys), compare_keys);
    *ret = subjects.keys;
    *ret_count = subjects.count;
    return PRG_OK;
}

// ---- objects of any kind ----

int prg_source_object(const struct prg_cli_options *options, const struct prg_store *store, struct prg_arena *arena,
                      const char *arg, struct prg_key *ret_key, const cJSON **ret, struct prg_error *err)
{
    const char *slash = strchr(arg, '/'), *ns = prg_source_namespace(options, store);
    struct prg_kind kind;
    if (!slash || !slash[1])
        return prg_fail(err, PRG_INVALID, "%s: an object is KIND/NAME, as in deployment/iris-predictor", arg);
    if (!prg_kind_named(arena, arg, (size_t)(slash - arg), &kind))
        return prg_fail(err, PRG_INVALID, "%s: an unknown kind; give it as Kind.group, as in Rollout.argoproj.io/x",
                        arg);
    bool is_cluster = prg_kind_is_cluster_scoped(kind.group, kind.kind);
    struct prg_key key = {kind.group, kind.kind, is_cluster ? "" : ns ? ns : "default", slash + 1};
    const cJSON *object = store->reader.get(&store->reader, &key);
    if (prg_reader_trouble(&store->reader, err) != PRG_OK)
        return err->code;
    if (!object)
        return prg_fail(err, PRG_NOTFOUND, "%s: no such object%s%s", arg, *key.ns ? " in namespace " : "", key.ns);
    *ret_key = key;
    *ret = object;
    return PRG_OK;
}
