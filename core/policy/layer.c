// SPDX-License-Identifier: Apache-2.0
// layer.c: one layer of a policy set: the shipped files, those of a set, or those of a namespace.
//
// Files come as texts with names: those of a folder and the entries of a ConfigMap are the same from here on. NAME.lua
// decides for the policy NAME (or for the one that `use` in policies.yaml gives it), NAME_spec.lua is its spec.
#include <stdlib.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/set.h"

enum { MANIFEST_BYTES = 256 << 10 };

struct loading {
    struct prg_set_layer *layer;
    uint32_t allowed;
    const struct prg_policy_limits *limits;
    struct prg_report *report;
};

static bool is_allowed(uint32_t allowed, const struct prg_contract *contract)
{
    return allowed >> (contract - prg_contracts) & 1;
}

static struct prg_set_layer *layer_new(void)
{
    struct prg_set_layer *layer = prg_xcalloc(1, sizeof(*layer));
    layer->refs = 1;
    prg_arena_init(&layer->arena);
    return layer;
}

// ---- built-in files ----

const struct prg_builtin *prg_set_builtin(const char *name)
{
    for (size_t i = 0; i < prg_builtin_policy_count; i++)
        if (strcmp(prg_builtin_policies[i].name, name) == 0)
            return &prg_builtin_policies[i];
    return NULL;
}

static void load_builtin(struct prg_set_layer *layer, const struct prg_builtin *builtin,
                         const struct prg_contract *contract, const struct prg_policy_limits *limits,
                         const struct prg_set_manifest *manifest, struct prg_report *report)
{
    struct prg_report ignored = {0}; // wrong limits are told once, with the manifest
    struct prg_source source = {.path = prg_arena_printf(&layer->arena, "shipped/%s.lua", builtin->name),
                                .text = builtin->text,
                                .length = builtin->length};
    struct prg_policy_limits own = prg_set_manifest_limits(manifest, contract, limits, &ignored);
    struct prg_policy_file *file = prg_policy_file_load(&layer->arena, builtin->name, &source, contract, &own, report);
    if (!file)
        return;
    file->is_shipped = true;
    layer->files[file->contract - prg_contracts] = file;
}

// Built-in files that are not named after a policy are alternatives: `use` switches to them.
struct prg_set_layer *prg_set_layer_shipped(const struct prg_set_manifest *manifest,
                                            const struct prg_policy_limits *limits, struct prg_report *report)
{
    struct prg_set_layer *layer = layer_new();
    for (size_t i = 0; i < prg_builtin_policy_count; i++) {
        const struct prg_contract *contract = prg_contract_by_name(prg_builtin_policies[i].name);
        if (contract)
            load_builtin(layer, &prg_builtin_policies[i], contract, limits, manifest, report);
    }
    return layer;
}

static void keep_texts(struct prg_set_layer *layer, const struct prg_vec *texts);

struct prg_set_layer *prg_set_layer_shipped_texts(const struct prg_vec *texts, const struct prg_set_manifest *manifest,
                                                  const struct prg_policy_limits *limits, struct prg_report *report)
{
    struct prg_set_layer *layer = layer_new();
    keep_texts(layer, texts);
    for (size_t i = 0; i < layer->text_count; i++) {
        const struct prg_policy_text *text = &layer->texts[i];
        const char *name = prg_arena_strndup(&layer->arena, text->name, strlen(text->name) - strlen(".lua"));
        const struct prg_contract *contract = prg_contract_by_name(name);
        struct prg_builtin builtin = {name, text->text, text->length};
        if (contract)
            load_builtin(layer, &builtin, contract, limits, manifest, report);
    }
    return layer;
}

// ---- files of a set ----

// The policy that decides with the file `name`: by `use`, else by its own name unless another file is used for that.
static const struct prg_contract *policy_of(const struct prg_set_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        if (manifest->use[i] && strcmp(manifest->use[i], name) == 0)
            return &prg_contracts[i];
    const struct prg_contract *contract = prg_contract_by_name(name);
    return contract && !manifest->use[contract - prg_contracts] ? contract : NULL;
}

static void load_source(struct loading *loading, const struct prg_source *source, const char *name)
{
    struct prg_set_layer *layer = loading->layer;
    const struct prg_contract *contract = policy_of(&layer->manifest, name);
    struct prg_report ignored = {0};
    struct prg_policy_limits own = prg_set_manifest_limits(&layer->manifest, contract, loading->limits, &ignored);
    if (contract && !is_allowed(loading->allowed, contract)) {
        prg_report_add(loading->report, "%s: policy %s is not one that namespaces may set here", source->path,
                       contract->name);
        return;
    }
    struct prg_policy_file *file = prg_policy_file_load(&layer->arena, name, source, contract, &own, loading->report);
    if (!file)
        return;
    layer->sources[layer->source_count++] =
        (struct prg_set_source){.name = name, .source = *source, .options = file->options};
    if (contract)
        layer->files[contract - prg_contracts] = file;
    else // checked, so that `use` can switch to it, but nobody asks it
        prg_policy_file_free(file);
}

static bool has_text(const struct prg_set_layer *layer, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < layer->text_count; i++) {
        const char *found = layer->texts[i].name;
        if (strncmp(found, name, length) == 0 && strcmp(found + length, ".lua") == 0)
            return true;
    }
    return false;
}

// `use` of a file that the layer does not have means a built-in one.
static void load_used(struct loading *loading)
{
    struct prg_set_layer *layer = loading->layer;
    const struct prg_set_manifest *manifest = &layer->manifest;
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++) {
        if (!manifest->use[i] || has_text(layer, manifest->use[i]))
            continue;
        const struct prg_builtin *builtin = prg_set_builtin(manifest->use[i]);
        if (builtin)
            load_builtin(layer, builtin, &prg_contracts[i], loading->limits, manifest, loading->report);
        else
            prg_report_add(loading->report, "%s: use of %s: there is no %s.lua in the set, nor among the shipped ones",
                           manifest->path, prg_contracts[i].name, manifest->use[i]);
    }
}

static void keep_texts(struct prg_set_layer *layer, const struct prg_vec *texts)
{
    struct prg_arena *arena = &layer->arena;
    layer->texts = prg_arena_array(arena, struct prg_policy_text, texts->count + 1);
    for (size_t i = 0; i < texts->count; i++) {
        const struct prg_policy_text *text = texts->items[i];
        layer->texts[layer->text_count++] =
            (struct prg_policy_text){.name = prg_arena_strdup(arena, text->name),
                                     .path = prg_arena_strdup(arena, text->path),
                                     .text = prg_arena_strndup(arena, text->text, text->length),
                                     .length = text->length};
    }
}

static void read_manifest(struct loading *loading, const struct prg_policy_text *text)
{
    struct prg_set_layer *layer = loading->layer;
    if (text->length > MANIFEST_BYTES)
        prg_report_add(loading->report, "%s: larger than %d bytes", text->path, MANIFEST_BYTES);
    else
        prg_set_manifest_read(&layer->arena, text, loading->allowed, &layer->manifest, loading->report);
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        (void)prg_set_manifest_limits(&layer->manifest, &prg_contracts[i], loading->limits, loading->report);
}

static void load_text(struct loading *loading, const struct prg_policy_text *text)
{
    struct prg_set_layer *layer = loading->layer;
    struct prg_source *source = prg_arena_new(&layer->arena, struct prg_source);
    *source = (struct prg_source){.path = text->path, .text = text->text, .length = text->length};
    if (prg_text_has_suffix(text->name, "_spec.lua"))
        layer->specs[layer->spec_count++] = source;
    else if (prg_text_has_suffix(text->name, ".lua"))
        load_source(loading, source, prg_arena_strndup(&layer->arena, text->name, strlen(text->name) - strlen(".lua")));
}

struct prg_set_layer *prg_set_layer_load(const struct prg_vec *texts, uint32_t allowed,
                                         const struct prg_policy_limits *limits, struct prg_report *report)
{
    struct prg_set_layer *layer = layer_new();
    struct loading loading = {.layer = layer, .allowed = allowed, .limits = limits, .report = report};
    keep_texts(layer, texts);
    layer->sources = prg_arena_array(&layer->arena, struct prg_set_source, texts->count + 1);
    layer->specs = prg_arena_array(&layer->arena, const struct prg_source *, texts->count + 1);
    for (size_t i = 0; i < layer->text_count; i++)
        if (strcmp(layer->texts[i].name, "policies.yaml") == 0)
            read_manifest(&loading, &layer->texts[i]);
    for (size_t i = 0; i < layer->text_count; i++)
        load_text(&loading, &layer->texts[i]);
    load_used(&loading);
    return layer;
}

struct prg_set_layer *prg_set_layer_ref(struct prg_set_layer *layer)
{
    if (layer)
        layer->refs++;
    return layer;
}

void prg_set_layer_unref(struct prg_set_layer *layer)
{
    if (!layer || --layer->refs)
        return;
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        prg_policy_file_free(layer->files[i]);
    prg_arena_release(&layer->arena);
    free(layer);
}
