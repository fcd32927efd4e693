// SPDX-License-Identifier: Apache-2.0
// pick.h: which pod is a job's worker. Private to core/learning and its drivers.
#pragma once
#include "object/reader.h"

// The newest pod of a worker type ("train", "eval", "inference") of a job; NULL when there is none. Two of one second:
// the one that goes on, else the last by name. Borrowed from the store.
//
// A pod belongs to the job when it carries the job's name and uid as labels and is not controlled by somebody else. Its
// type is that of the worker-type label; a pod without that label has the type that its name says (JOB-TYPE-SUFFIX).
const cJSON *prg_pick_worker(const struct prg_reader *store, const cJSON *job, const char *type);
// Whether pod is one of the job's workers, and of which type. false leaves *ret_type alone; ret_type may be NULL.
bool prg_worker_type_of(const cJSON *job, const cJSON *pod, char ret_type[64]);
// "Pending", "Running" …; "Unknown" for NULL, "Pending" for a pod of which nobody has said anything yet.
const char *prg_pod_phase(const cJSON *pod);
const char *prg_pod_node(const cJSON *pod); // spec.nodeName or ""
