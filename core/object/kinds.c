// SPDX-License-Identifier: Apache-2.0
// kinds.c: the table of names.
#include "object/kinds.h"

#include <string.h>
#include <strings.h>

#include "base/base.h"

static const struct {
    struct prg_kind kind;
    const char *plural;     // NULL: the kind with an s
    const char *short_name; // as kubectl has it, or NULL
} kinds[] = {
    {{"serving.kserve.io", "InferenceService"}, NULL, "isvc"},
    {{"serving.kserve.io", "ServingRuntime"}, NULL, NULL},
    {{"serving.kserve.io", "ClusterServingRuntime"}, NULL, NULL},
    {{"serving.kserve.io", "ClusterStorageContainer"}, NULL, NULL},
    {{"sedna.io", "IncrementalLearningJob"}, NULL, "il"},
    {{"sedna.io", "Dataset"}, NULL, NULL},
    {{"sedna.io", "Model"}, NULL, NULL},
    {{"apps", "Deployment"}, NULL, "deploy"},
    {{"", "Service"}, NULL, "svc"},
    {{"serving.knative.dev", "Service"}, NULL, "ksvc"},
    {{"", "Pod"}, NULL, "po"},
    {{"", "ConfigMap"}, NULL, "cm"},
    {{"", "Secret"}, NULL, NULL},
    {{"", "Namespace"}, NULL, "ns"},
    {{"autoscaling", "HorizontalPodAutoscaler"}, NULL, "hpa"},
    {{"keda.sh", "ScaledObject"}, NULL, "so"},
    {{"networking.k8s.io", "Ingress"}, "ingresses", "ing"},
    {{"gateway.networking.k8s.io", "HTTPRoute"}, NULL, NULL},
};

static bool is_word(const char *text, size_t length, const char *word)
{
    return word && strlen(word) == length && strncasecmp(word, text, length) == 0;
}

static bool is_plural(const char *text, size_t length, size_t index)
{
    if (kinds[index].plural)
        return is_word(text, length, kinds[index].plural);
    return length > 1 && (text[length - 1] | 0x20) == 's' && is_word(text, length - 1, kinds[index].kind.kind);
}

// "group" or "version.group".
static bool is_group(const char *text, size_t length, const char *group)
{
    const char *dot = memchr(text, '.', length);
    if (is_word(text, length, group))
        return true;
    return dot && text[0] == 'v' && text[1] >= '1' && text[1] <= '9' &&
           is_word(dot + 1, length - (size_t)(dot + 1 - text), group);
}

bool prg_kind_named(struct prg_arena *arena, const char *text, size_t length, struct prg_kind *ret)
{
    const char *dot = memchr(text, '.', length);
    size_t word = dot ? (size_t)(dot - text) : length, rest = dot ? length - word - 1 : 0;
    for (size_t i = 0; i < PRG_COUNT(kinds); i++) {
        const struct prg_kind *kind = &kinds[i].kind;
        if (!is_word(text, word, kind->kind) && !is_plural(text, word, i) && !is_word(text, word, kinds[i].short_name))
            continue;
        if (dot && !is_group(dot + 1, rest, kind->group))
            continue;
        *ret = *kind;
        return true;
    }
    if (!dot || !word || !rest)
        return false;
    *ret = (struct prg_kind){prg_arena_strndup(arena, dot + 1, rest), prg_arena_strndup(arena, text, word)};
    return true;
}
