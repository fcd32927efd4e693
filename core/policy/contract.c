// SPDX-License-Identifier: Apache-2.0
// contract.c: the policies and their functions. Arguments and answers: docs/policy-guide.md; their checks: decide.c,
// select.c.
#include "policy/contract.h"

#include <stdio.h>
#include <string.h>

#include "policy/policy.h"

const struct prg_contract prg_contracts[PRG_POLICY_COUNT] = {
    [PRG_POLICY_ANNOTATION_FILTER] = {"annotation_filter", "annotation_filter/v1", {"keep"}},
    [PRG_POLICY_CONTAINER_MERGE] = {"container_merge", "container_merge/v1", {"args", "env"}},
    [PRG_POLICY_IL_STAGE] = {"il_stage", "il_stage/v1", {"transit", "report"}},
    [PRG_POLICY_IMAGE] = {"image", "image/v1", {"tag"}},
    [PRG_POLICY_LABEL_PRIORITY] = {"label_priority", "label_priority/v1", {"layers", "resolve"}},
    [PRG_POLICY_MULTI_NODE] = {"multi_node", "multi_node/v1", {"topology"}},
    [PRG_POLICY_OBJECT_PATCH] = {"object_patch", "object_patch/v1", {"patch"}},
    [PRG_POLICY_RUNTIME_SELECTION] = {"runtime_selection", "runtime_selection/v1", {"accept", "before", "choose"}},
};

const struct prg_contract *prg_contract_by_name(const char *name)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        if (prg_text_equal(prg_contracts[i].name, name))
            return &prg_contracts[i];
    return NULL;
}

const struct prg_contract *prg_contract_by_api(const char *api)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        if (prg_text_equal(prg_contracts[i].api, api))
            return &prg_contracts[i];
    return NULL;
}

const char *prg_contract_nearest(const char *name)
{
    const char *names[PRG_POLICY_COUNT];
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        names[i] = prg_contracts[i].name;
    return prg_text_nearest(name, names, PRG_POLICY_COUNT);
}

int prg_policy_names_read(const char *text, uint32_t *ret, struct prg_error *err)
{
    *ret = 0;
    while (*text) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, text);
        const struct prg_contract *contract = prg_contract_by_name(name);
        const char *nearest = prg_contract_nearest(name);
        if (!contract)
            return prg_fail(err, PRG_INVALID, "there is no policy '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : " (names with commas between them)");
        *ret |= UINT32_C(1) << (contract - prg_contracts);
        text += length;
        text += *text == ',';
    }
    return PRG_OK;
}
