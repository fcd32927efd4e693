// SPDX-License-Identifier: Apache-2.0
// candidates.h: which runtimes a service could take and what fits in each. Accepting and ordering them is for the
// policy runtime_selection: select.c asks it with what is collected here.
//
// Source: ModelSpec.GetSupportingRuntimes, RuntimeSupportsModel.
#pragma once
#include "policy/decision.h"
#include "serving/compat.h"

// v1 1, v2 2, grpc-v1 3, grpc-v2 4; anything else, and no list, 5.
#define PRG_PROTOCOL_UNKNOWN 5
int prg_protocol_number(const char *protocol);
const char *prg_protocol_name(int number);           // "" for 5
int prg_protocol_lowest(const cJSON *protocol_list); // of protocolVersions

// What model asks for. service and namespace_object may be NULL. A model that names a runtime makes `named` true.
void prg_candidates_request(const cJSON *service, const cJSON *namespace_object, const cJSON *model,
                            struct prg_runtime_request *ret);

// One candidate: everything but the answers of the policy. The entry that fits is the first one with the format (and
// the version, when the request has one) that may be auto-selected, else the first at all; see compat matched_priority.
void prg_candidate_of(const cJSON *object, bool is_cluster, const struct prg_runtime_request *request,
                      const struct prg_compat *compat, struct prg_candidate *ret);

// Candidates of both scopes in arena: ServingRuntimes of the namespace (others in the list are passed over; NULL takes
// all), then ClusterServingRuntimes, each in the order given. The arrays may be NULL. Returns their number.
size_t prg_candidates_collect(struct prg_arena *arena, const cJSON *runtimes, const cJSON *cluster_runtimes,
                              const char *ns, const struct prg_runtime_request *request,
                              const struct prg_compat *compat, struct prg_candidate **ret);
