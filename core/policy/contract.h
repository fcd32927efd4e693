// SPDX-License-Identifier: Apache-2.0
// contract.h: which policies there are and which functions each may define. Private to core/policy.
#pragma once
#include "base/base.h"

enum prg_policy_id {
    PRG_POLICY_ANNOTATION_FILTER,
    PRG_POLICY_CONTAINER_MERGE,
    PRG_POLICY_IL_STAGE,
    PRG_POLICY_IMAGE,
    PRG_POLICY_LABEL_PRIORITY,
    PRG_POLICY_MULTI_NODE,
    PRG_POLICY_OBJECT_PATCH,
    PRG_POLICY_RUNTIME_SELECTION,
    PRG_POLICY_COUNT
};

// Functions by their place in the contract.
enum { PRG_FN_KEEP = 0 };
enum { PRG_FN_ARGS = 0, PRG_FN_ENV = 1 };
enum { PRG_FN_TRANSIT = 0, PRG_FN_REPORT = 1 };
enum { PRG_FN_TAG = 0 };
enum { PRG_FN_LAYERS = 0, PRG_FN_RESOLVE = 1 };
enum { PRG_FN_TOPOLOGY = 0 };
enum { PRG_FN_PATCH = 0 };
enum { PRG_FN_ACCEPT = 0, PRG_FN_BEFORE = 1, PRG_FN_CHOOSE = 2 };
enum { PRG_CONTRACT_FUNCTIONS = 3 };

struct prg_contract {
    const char *name;                                  // "image"
    const char *api;                                   // "image/v1"
    const char *functions[PRG_CONTRACT_FUNCTIONS + 1]; // ends with NULL
};

extern const struct prg_contract prg_contracts[PRG_POLICY_COUNT];  // by name
const struct prg_contract *prg_contract_by_name(const char *name); // NULL when there is none
const struct prg_contract *prg_contract_by_api(const char *api);   // NULL when there is none

// The nearest policy name, or NULL.
const char *prg_contract_nearest(const char *name);
