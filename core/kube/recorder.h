// SPDX-License-Identifier: Apache-2.0
// recorder.h: Kubernetes Events (core v1), counted, gathered and limited as client-go does, and sent beside everything
// else: a reconcile never waits for them, and none of them is worth more than twelve tries.
#pragma once
#include "kube/timers.h"
#include "kube/transport.h"
#include "json/value.h"

struct prg_recorder;

struct prg_event_object { // what the event is about; texts are borrowed during the call
    const char *api_version, *kind, *ns, *name, *uid, *version;
};

struct prg_recorder_options {
    const char *component;        // NULL: "perigee"
    const char *instance;         // reportingInstance, NULL: the component
    bool (*may_write)(void *ctx); // NULL: always
    void *ctx;
    uint64_t seed;
};

struct prg_recorder_counts {
    uint64_t sent, gathered, filtered, dropped;
};

struct prg_recorder *prg_recorder_new(struct prg_transport *transport, struct prg_timers *timers,
                                      const struct prg_recorder_options *options);
void prg_recorder_free(struct prg_recorder *recorder); // what waits is dropped. NULL is fine
// type "Normal" or "Warning". Messages over 1 kB are cut.
void prg_recorder_add(struct prg_recorder *recorder, const struct prg_event_object *object, const char *type,
                      const char *reason, const char *message);
size_t prg_recorder_waiting(const struct prg_recorder *recorder);
const struct prg_recorder_counts *prg_recorder_count(const struct prg_recorder *recorder);
