// SPDX-License-Identifier: Apache-2.0
// set.c: policy sets: layers laid over each other, with the settings of each.
#include "policy/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/digest.h"
#include "policy/sandbox.h"
#include "policy/spec.h"

// ---- laying layers over each other ----

// The files of a layer as files of the set: the state is shared, the options are the set's own.
static void take_files(struct prg_policy_set *set, int layer)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++) {
        const struct prg_policy_file *file = set->layers[layer]->files[i];
        if (!file)
            continue;
        struct prg_policy_file *own = prg_arena_new(&set->arena, struct prg_policy_file);
        *own = *file;
        own->options = prg_json_copy(&set->arena, file->options);
        set->files[i][layer] = own;
    }
}

static void take_sources(struct prg_policy_set *set, int layer)
{
    const struct prg_set_layer *from = set->layers[layer];
    for (size_t s = 0; s < from->source_count; s++) {
        struct prg_set_source *source = &set->sources[set->source_count++];
        *source = from->sources[s];
        for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
            if (set->files[i][layer] && strcmp(set->files[i][layer]->source.path, source->source.path) == 0)
                source->options = set->files[i][layer]->options;
    }
}

static void make_revision(struct prg_policy_set *set)
{
    uint64_t digest = PRG_DIGEST_START;
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++) {
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++) {
            const struct prg_policy_file *file = set->files[i][layer];
            prg_auto_strbuf options = PRG_STRBUF_INIT;
            if (!file)
                continue;
            prg_json_print(&options, file->options, PRG_JSON_SORTED);
            digest = prg_digest_text(digest, prg_contracts[i].name, strlen(prg_contracts[i].name));
            digest = prg_digest_text(digest, file->source.text, file->source.length);
            digest = prg_digest_text(digest, options.text, options.length);
        }
    }
    snprintf(set->revision, sizeof(set->revision), "%016" PRIx64, digest);
}

// Settings of a layer go into its own files and those below it that declare them.
static void apply_settings(struct prg_policy_set *set, int layer, struct prg_report *report)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++) {
        struct prg_policy_file *files[PRG_SET_LAYERS] = {NULL};
        for (int below = layer; below < PRG_SET_LAYERS; below++)
            files[below] = set->files[i][below];
        prg_set_manifest_apply_options(&set->arena, &set->layers[layer]->manifest, &prg_contracts[i], files, report);
    }
}

// Takes the references to the layers.
static struct prg_policy_set *compose(struct prg_set_layer *const layers[PRG_SET_LAYERS], struct prg_report *report)
{
    struct prg_policy_set *set = prg_xcalloc(1, sizeof(*set));
    size_t sources = 0;
    set->refs = 1;
    prg_arena_init(&set->arena);
    prg_answers_init(&set->answers);
    for (int layer = 0; layer < PRG_SET_LAYERS; layer++) {
        set->layers[layer] = layers[layer];
        if (!layers[layer])
            continue;
        take_files(set, layer);
        sources += layers[layer]->source_count;
    }
    for (int layer = PRG_SET_LAYERS - 1; layer >= 0; layer--)
        if (layers[layer])
            apply_settings(set, layer, report);
    set->sources = prg_arena_array(&set->arena, struct prg_set_source, sources + 1);
    for (int layer = 0; layer < PRG_SET_LAYERS; layer++)
        if (layers[layer])
            take_sources(set, layer);
    make_revision(set);
    prg_set_fill_decider(set);
    return set;
}

// ---- loading ----

static int report_to_error(const struct prg_report *report, struct prg_error *err)
{
    prg_fail(err, PRG_INVALID, "%s", report->first);
    if (report->count > 1)
        prg_wrap(err, "%zu errors, the first", report->count);
    return prg_wrap(err, "policies");
}

// The set, or NULL with an error.
static int give(struct prg_policy_set *set, const struct prg_report *report, struct prg_policy_set **ret,
                struct prg_error *err)
{
    if (report->count) {
        prg_policy_set_unref(set);
        return report_to_error(report, err);
    }
    *ret = set;
    return PRG_OK;
}

static struct prg_set_layer *load_layer(const struct prg_policy_options *options, struct prg_report *report)
{
    struct prg_vec texts;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    prg_vec_init(&texts);
    if (options->folder)
        prg_set_read_folder(&arena, options->folder, &texts, report);
    for (size_t i = 0; options->texts && i < options->texts->count; i++)
        prg_vec_push(&texts, options->texts->items[i]);
    uint32_t allowed = options->base ? options->allowed : UINT32_MAX;
    struct prg_set_layer *layer = prg_set_layer_load(&texts, allowed, &options->limits, report);
    prg_vec_release(&texts);
    return layer;
}

int prg_policy_set_load(const struct prg_policy_options *options, struct prg_policy_set **ret, struct prg_error *err)
{
    struct prg_report report = {.visit = options->report, .ctx = options->report_ctx};
    struct prg_set_layer *layers[PRG_SET_LAYERS] = {NULL};
    int own = options->base ? PRG_LAYER_NAMESPACE : PRG_LAYER_SET;
    prg_require(!options->folder || (!options->texts && !options->base));
    layers[own] = load_layer(options, &report);
    if (options->base) {
        layers[PRG_LAYER_SET] = prg_set_layer_ref(options->base->layers[PRG_LAYER_SET]);
        layers[PRG_LAYER_SHIPPED] = prg_set_layer_ref(options->base->layers[PRG_LAYER_SHIPPED]);
    } else {
        const struct prg_set_manifest *manifest = &layers[own]->manifest;
        layers[PRG_LAYER_SHIPPED] =
            options->shipped ? prg_set_layer_shipped_texts(options->shipped, manifest, &options->limits, &report)
                             : prg_set_layer_shipped(manifest, &options->limits, &report);
    }
    struct prg_policy_set *set = compose(layers, &report);
    if (!report.count && !options->without_specs)
        prg_spec_gate(set, layers[own], options->folder, &options->limits, &report);
    return give(set, &report, ret, err);
}

int prg_policy_set_rebase(const struct prg_policy_set *set, struct prg_policy_set *base, struct prg_policy_set **ret,
                          struct prg_error *err)
{
    struct prg_report report = {0};
    struct prg_set_layer *const layers[PRG_SET_LAYERS] = {
        [PRG_LAYER_NAMESPACE] = prg_set_layer_ref(set->layers[PRG_LAYER_NAMESPACE]),
        [PRG_LAYER_SET] = prg_set_layer_ref(base->layers[PRG_LAYER_SET]),
        [PRG_LAYER_SHIPPED] = prg_set_layer_ref(base->layers[PRG_LAYER_SHIPPED])};
    return give(compose(layers, &report), &report, ret, err);
}

struct prg_policy_set *prg_policy_set_refused(const struct prg_policy_set *base, const char *why)
{
    struct prg_report none = {0};
    struct prg_set_layer *const layers[PRG_SET_LAYERS] = {
        [PRG_LAYER_SET] = prg_set_layer_ref(base->layers[PRG_LAYER_SET]),
        [PRG_LAYER_SHIPPED] = prg_set_layer_ref(base->layers[PRG_LAYER_SHIPPED])};
    struct prg_policy_set *set = compose(layers, &none);
    set->refusal = prg_arena_strdup(&set->arena, why);
    return set;
}

// A set of the texts of two layers, over base (NULL: there is none).
static int load_again(const struct prg_policy_set *set, int layer, const struct prg_policy_limits *limits,
                      struct prg_policy_set *base, struct prg_policy_set **ret, struct prg_error *err)
{
    const struct prg_set_layer *shipped = set->layers[PRG_LAYER_SHIPPED];
    struct prg_vec texts, shipped_texts;
    struct prg_policy_options options = {
        .texts = &texts, .limits = *limits, .base = base, .allowed = UINT32_MAX, .without_specs = true};
    prg_vec_init(&texts);
    prg_vec_init(&shipped_texts);
    for (size_t i = 0; i < set->layers[layer]->text_count; i++)
        prg_vec_push(&texts, &set->layers[layer]->texts[i]);
    for (size_t i = 0; i < shipped->text_count; i++)
        prg_vec_push(&shipped_texts, &shipped->texts[i]);
    options.shipped = shipped->text_count ? &shipped_texts : NULL;
    int rc = prg_policy_set_load(&options, ret, err);
    prg_vec_release(&texts);
    prg_vec_release(&shipped_texts);
    return rc;
}

int prg_policy_set_copy(const struct prg_policy_set *set, const struct prg_policy_limits *limits,
                        struct prg_policy_set **ret, struct prg_error *err)
{
    struct prg_policy_set *base = NULL;
    int rc = load_again(set, PRG_LAYER_SET, limits, NULL, &base, err);
    if (rc == PRG_OK && set->layers[PRG_LAYER_NAMESPACE])
        rc = load_again(set, PRG_LAYER_NAMESPACE, limits, base, ret, err);
    else if (rc == PRG_OK)
        *ret = prg_policy_set_ref(base);
    if (rc == PRG_OK && set->refusal)
        (*ret)->refusal = prg_arena_strdup(&(*ret)->arena, set->refusal);
    prg_policy_set_unref(base);
    return rc;
}

// ---- the set ----

struct prg_policy_set *prg_policy_set_ref(struct prg_policy_set *set)
{
    set->refs++;
    return set;
}

void prg_policy_set_unref(struct prg_policy_set *set)
{
    if (!set || --set->refs)
        return;
    for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++)
        prg_set_layer_unref(set->layers[layer]);
    prg_answers_release(&set->answers);
    prg_arena_release(&set->arena);
    free(set);
}

void prg_policy_set_trial(struct prg_policy_set *set, bool is_trial)
{
    set->is_trial = is_trial;
}

const struct prg_decider *prg_policy_set_decider(struct prg_policy_set *set)
{
    return &set->decider;
}

const char *prg_policy_set_revision(const struct prg_policy_set *set)
{
    return set->revision;
}

static bool is_as_shipped(const struct prg_policy_file *file, const struct prg_policy_file *declared)
{
    const struct prg_builtin *builtin = prg_set_builtin(file->contract->name);
    return builtin && builtin->length == file->source.length &&
           memcmp(builtin->text, file->source.text, builtin->length) == 0 &&
           prg_json_equal(file->options, declared->options);
}

bool prg_policy_set_differs(const struct prg_policy_set *set, const char *policy)
{
    const struct prg_contract *contract = prg_contract_by_name(policy);
    size_t at = contract ? (size_t)(contract - prg_contracts) : PRG_POLICY_COUNT;
    for (size_t layer = 0; contract && layer < PRG_SET_LAYERS; layer++)
        if (set->files[at][layer] && !is_as_shipped(set->files[at][layer], set->layers[layer]->files[at]))
            return true;
    return set->refusal != NULL;
}

void prg_policy_set_each_file(const struct prg_policy_set *set,
                              void (*visit)(const char *policy, const char *file, bool shipped, void *ctx), void *ctx)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++)
            if (set->files[i][layer])
                visit(prg_contracts[i].name, set->files[i][layer]->source.path, set->files[i][layer]->is_shipped, ctx);
}

void prg_policy_each_global(void (*visit)(const char *name, void *ctx), void *ctx)
{
    prg_sandbox_each_global(visit, ctx);
}
