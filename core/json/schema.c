// SPDX-License-Identifier: Apache-2.0
// schema.c: lookups in the tables of podschema.c, kubeschema.c and servingschema.c, and the check of a tree against
// them.
#include "json/schema.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "json/podschema.h"
#include "json/pointer.h"

// ---- lookups ----
#define LETTERS 26 // fields mostly begin with one of a to z

struct prg_schema_index {
    uint8_t begin[LETTERS + 1]; // the first field of each letter; where the next letter's begin it ends
    uint8_t printed_count;
    const uint8_t *printed; // places of the fields that are printed always
    char second[];          // the second byte of each field
};

static struct prg_schema_index *make_index(const struct prg_schema *schema)
{
    struct prg_schema_index *index = prg_xcalloc(1, sizeof(*index) + 2 * schema->count);
    uint8_t *printed = (uint8_t *)index->second + schema->count;
    size_t i = 0;
    prg_require(schema->count <= UINT8_MAX);
    for (int letter = 0; letter <= LETTERS; letter++) {
        while (i < schema->count && (unsigned char)schema->fields[i].name[0] < 'a' + letter)
            i++;
        index->begin[letter] = (uint8_t)i;
    }
    index->printed = printed;
    for (i = 0; i < schema->count; i++) {
        index->second[i] = schema->fields[i].name[0] ? schema->fields[i].name[1] : '\0';
        if (prg_schema_is_printed(&schema->fields[i]))
            printed[index->printed_count++] = (uint8_t)i;
    }
    return index;
}

// Several threads may come here at once: the first one's index stays, for as long as the process runs.
static const struct prg_schema_index *new_index(const struct prg_schema *schema)
{
    struct prg_schema_index *index = NULL, *made = make_index(schema);
    if (atomic_compare_exchange_strong(schema->index, &index, made))
        return made;
    free(made);
    return index;
}

static inline const struct prg_schema_index *index_of(const struct prg_schema *schema)
{
    const struct prg_schema_index *index =
        schema->index ? atomic_load_explicit(schema->index, memory_order_acquire) : NULL;
    return index || !schema->index ? index : new_index(schema);
}

static const struct prg_schema_field *search(const struct prg_schema *schema, const char *name)
{
    size_t low = 0, high = schema->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, schema->fields[middle].name);
        if (order == 0)
            return &schema->fields[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static const struct prg_schema_field *find_own(const struct prg_schema *schema, const char *name)
{
    unsigned letter = (unsigned)(unsigned char)name[0] - 'a';
    const struct prg_schema_index *index = letter < LETTERS ? index_of(schema) : NULL;
    if (!index)
        return search(schema, name);
    for (size_t i = index->begin[letter], end = index->begin[letter + 1]; i < end; i++)
        if (name[1] == index->second[i] && strcmp(name, schema->fields[i].name) == 0)
            return &schema->fields[i];
    return NULL;
}

const struct prg_schema_field *prg_schema_find(const struct prg_schema *schema, const char *name)
{
    for (; schema; schema = schema->inlined) {
        const struct prg_schema_field *field = find_own(schema, name);
        if (field)
            return field;
    }
    return NULL;
}

const struct prg_schema_field *prg_schema_next_printed(const struct prg_schema *schema, size_t *at)
{
    const struct prg_schema_index *index = index_of(schema);
    if (index)
        return *at < index->printed_count ? &schema->fields[index->printed[(*at)++]] : NULL;
    while (*at < schema->count) {
        const struct prg_schema_field *field = &schema->fields[(*at)++];
        if (prg_schema_is_printed(field))
            return field;
    }
    return NULL;
}

size_t prg_schema_printed_count(const struct prg_schema *schema)
{
    size_t count = 0;
    for (; schema; schema = schema->inlined) {
        const struct prg_schema_index *index = index_of(schema);
        if (index)
            count += index->printed_count;
        else
            for (size_t at = 0; prg_schema_next_printed(schema, &at);)
                count++;
    }
    return count;
}

const struct prg_schema_field *prg_schema_nearest(const struct prg_schema *schema, const char *name)
{
    const struct prg_schema_field *meant = NULL;
    struct prg_nearest nearest = {.text = name};
    for (; schema; schema = schema->inlined)
        for (size_t i = 0; i < schema->count; i++)
            if (prg_nearest_offer(&nearest, schema->fields[i].name))
                meant = &schema->fields[i];
    return meant;
}

const struct prg_schema *prg_schema_of_kind(const char *api_group, const char *kind)
{
    static const struct {
        const char *group, *kind;
        const struct prg_schema *schema;
    } known[] = {
        {"", "ConfigMap", &prg_schema_config_map},
        {"", "Pod", &prg_schema_pod},
        {"", "Secret", &prg_schema_secret},
        {"", "Service", &prg_schema_service},
        {"apps", "Deployment", &prg_schema_deployment},
        {"autoscaling", "HorizontalPodAutoscaler", &prg_schema_hpa},
        {"serving.knative.dev", "Service", &prg_schema_knative_service},
        {"serving.kserve.io", "ClusterServingRuntime", &prg_schema_serving_runtime},
        {"serving.kserve.io", "ClusterStorageContainer", &prg_schema_storage_container},
        {"serving.kserve.io", "InferenceService", &prg_schema_inference_service},
        {"serving.kserve.io", "ServingRuntime", &prg_schema_serving_runtime},
    };
    for (size_t i = 0; i < PRG_COUNT(known); i++)
        if (prg_text_equal(known[i].group, api_group) && prg_text_equal(known[i].kind, kind))
            return known[i].schema;
    return NULL;
}

// ---- the check ----
struct check {
    prg_schema_report_fn report;
    void *ctx;
};

static const char *kind_name(enum prg_schema_kind kind)
{
    switch (kind) {
    case PRG_KIND_STRING:
        return "string";
    case PRG_KIND_INT:
        return "integer";
    case PRG_KIND_BOOL:
        return "boolean";
    case PRG_KIND_NUMBER:
        return "number";
    case PRG_KIND_QUANTITY:
        return "quantity";
    case PRG_KIND_INTORSTRING:
        return "integer or string";
    case PRG_KIND_TIME:
        return "time";
    case PRG_KIND_OBJECT:
    case PRG_KIND_MAP:
        return "object";
    case PRG_KIND_LIST:
        return "list";
    case PRG_KIND_ANY:
        break;
    }
    return "anything";
}

static bool is_integer(const cJSON *node)
{
    int64_t value;
    return prg_json_is_number(node) && prg_json_int64(node, &value);
}

// The JSON type only: whether a quantity or time is well formed is for the code that reads it.
static bool kind_accepts(enum prg_schema_kind kind, const cJSON *node)
{
    switch (kind) {
    case PRG_KIND_STRING:
    case PRG_KIND_TIME:
        return prg_json_is_string(node);
    case PRG_KIND_INT:
        return is_integer(node);
    case PRG_KIND_BOOL:
        return prg_json_is_bool(node);
    case PRG_KIND_NUMBER:
        return prg_json_is_number(node);
    case PRG_KIND_QUANTITY:
        return prg_json_is_string(node) || prg_json_is_number(node);
    case PRG_KIND_INTORSTRING:
        return prg_json_is_string(node) || is_integer(node);
    case PRG_KIND_OBJECT:
    case PRG_KIND_MAP:
        return prg_json_is_object(node);
    case PRG_KIND_LIST:
        return prg_json_is_array(node);
    case PRG_KIND_ANY:
        break;
    }
    return true;
}

static void tell(struct check *check, struct prg_schema_finding *finding, const struct prg_step *place)
{
    prg_auto_strbuf pointer = PRG_STRBUF_INIT;
    prg_pointer_push_steps(&pointer, place);
    finding->pointer = pointer.text;
    check->report(finding, check->ctx);
}

static void check_object(struct check *check, const struct prg_schema *schema, const cJSON *node,
                         const struct prg_step *place);
static void check_elements(struct check *check, const struct prg_schema_field *field, const cJSON *node,
                           const struct prg_step *place);

// field describes node itself, or with as_element the elements of the list or map that node is in.
static void check_value(struct check *check, const struct prg_schema_field *field, bool as_element, const cJSON *node,
                        const struct prg_step *place)
{
    enum prg_schema_kind kind = as_element ? field->element : field->kind;
    if (prg_json_is_null(node))
        return;
    if (!kind_accepts(kind, node)) {
        struct prg_schema_finding finding = {PRG_PROBLEM_WRONG_TYPE, NULL, node, kind_name(kind), NULL};
        tell(check, &finding, place);
        return;
    }
    if (kind == PRG_KIND_OBJECT && field->type)
        check_object(check, field->type, node, place);
    else if (!as_element && (kind == PRG_KIND_MAP || kind == PRG_KIND_LIST))
        check_elements(check, field, node, place);
}

static void check_elements(struct check *check, const struct prg_schema_field *field, const cJSON *node,
                           const struct prg_step *place)
{
    struct prg_step inner = {.up = place};
    const cJSON *item;
    prg_json_each (item, node) {
        inner.key = field->kind == PRG_KIND_MAP ? item->string : NULL;
        check_value(check, field, true, item, &inner);
        inner.index++;
    }
}

static void check_object(struct check *check, const struct prg_schema *schema, const cJSON *node,
                         const struct prg_step *place)
{
    struct prg_step inner = {.up = place};
    const cJSON *member;
    prg_json_each (member, node) {
        const struct prg_schema_field *field = prg_schema_find(schema, member->string);
        inner.key = member->string;
        if (field) {
            check_value(check, field, false, member, &inner);
        } else {
            const struct prg_schema_field *nearest = prg_schema_nearest(schema, member->string);
            struct prg_schema_finding finding = {PRG_PROBLEM_UNKNOWN_FIELD, NULL, member, NULL,
                                                 nearest ? nearest->name : NULL};
            tell(check, &finding, &inner);
        }
    }
}

void prg_schema_check(const struct prg_schema *schema, const cJSON *node, prg_schema_report_fn report, void *ctx)
{
    struct check check = {report, ctx};
    struct prg_schema_field root = {"", PRG_KIND_OBJECT, PRG_KIND_ANY, 0, schema, NULL};
    if (node)
        check_value(&check, &root, false, node, NULL);
}
