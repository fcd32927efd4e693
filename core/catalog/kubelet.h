// SPDX-License-Identifier: Apache-2.0
// kubelet.h: what --play-kubelet puts in place of a cluster: rendered workloads become available, their pods run. Pure:
// the same object and time give the same answer.
#pragma once
#include "object/meta.h"

struct prg_kubelet_play {
    cJSON *status; // the new status, or NULL: nothing to do, as the object runs already or is of no kind that runs
    cJSON *pods; // array of the pods that belong to the object, complete and running; NULL when it has none of its own
};

// Deployment, Knative Service, Pod: a status is played once per generation, one edited by hand afterwards stays.
// InferenceService: its route becomes ready (IngressReady) once its predictor is.
bool prg_kubelet_runs(const struct prg_key *key);
bool prg_kubelet_routes(const struct prg_key *key); // a user's object whose route is played
void prg_kubelet_play(struct prg_arena *arena, const struct prg_key *key, const cJSON *object, int64_t now_ns,
                      struct prg_kubelet_play *ret);
