// SPDX-License-Identifier: Apache-2.0
// client.h: writes to the API server. Each is asked for with a callback that comes once, later, with its outcome.
//
// Applying is server-side apply with one field manager. A field of ours that another manager holds is taken over;
// fields that belong to others by rule (a replica count, the annotations of a rollout by hand) are left out and never
// forced. Nothing is sent when the cache shows that the intent is in place, and nothing while may_write says no.
#pragma once
#include "kube/discovery.h"
#include "object/key.h"
#include "store/write.h"

#define PRG_MANAGER "perigee" // field manager of all that is written

struct prg_client;
struct prg_write; // one under way

struct prg_client_options {
    const char *manager;          // NULL: PRG_MANAGER
    bool (*may_write)(void *ctx); // NULL: always. Asked right before each request
    void *ctx;
    // True: the field (".spec.replicas") is somebody else's and is left to them. NULL: prg_client_is_foreign.
    bool (*is_foreign)(const char *field, const char *manager);
    size_t max_remembered; // objects whose last apply is remembered, so that the same is not sent again; 0: 200,000
    bool is_strict;        // unknown and duplicate fields are refused by the server
};

// All are borrowed but the texts of options.
struct prg_client *prg_client_new(struct prg_transport *transport, struct prg_timers *timers,
                                  struct prg_discovery *discovery, const struct prg_client_options *options);
void prg_client_free(struct prg_client *client); // writes under way are dropped without a word. NULL is fine
// Ends all writes under way, each with a failure: the lease is lost. Those that were sent may still take effect.
void prg_client_halt(struct prg_client *client);
size_t prg_client_open(const struct prg_client *client);
uint64_t prg_client_requests(const struct prg_client *client);

// intent: apiVersion, kind, metadata and what shall be; status is left out. stored: the object as the cache has it, or
// NULL. Both are only read during the call. marks: of stored (adopt.h): fields are taken over or given up first where
// they say so.
struct prg_write *prg_client_apply(struct prg_client *client, const cJSON *intent, const cJSON *stored, uint32_t marks,
                                   prg_write_fn fn, void *ctx);
// One of this name that is there already is PRG_WRITE_UNCHANGED, whatever it holds.
struct prg_write *prg_client_create(struct prg_client *client, const cJSON *intent, prg_write_fn fn, void *ctx);
// Changes the object by a JSON merge patch. Refused with PRG_CONFLICT when it changed since, or is another.
struct prg_write *prg_client_patch(struct prg_client *client, const cJSON *stored, const cJSON *patch, prg_write_fn fn,
                                   void *ctx);
// Makes the status of `stored` what `status` says. Conditions of types that are not in `owned` (NULL-ended; NULL: those
// in status) stay as they are. Refused with PRG_CONFLICT when the object changed since.
struct prg_write *prg_client_set_status(struct prg_client *client, const cJSON *stored, const cJSON *status,
                                        const char *const *owned, prg_write_fn fn, void *ctx);
// Deletes the object only while it has this uid (and resourceVersion, unless NULL). Absent is PRG_WRITE_UNCHANGED.
struct prg_write *prg_client_delete(struct prg_client *client, const char *api_version, const struct prg_key *key,
                                    const char *uid, const char *version, prg_write_fn fn, void *ctx);
void prg_client_cancel(struct prg_client *client, const void *ctx); // the callbacks of writes with ctx do not come
void prg_client_forget(struct prg_client *client, const struct prg_key *key); // the object is gone

// The rule for fields: replica counts, and what `kubectl rollout restart` writes.
bool prg_client_is_foreign(const char *field, const char *manager);
// Everything in intent is in stored too: objects member by member, lists item by item, numbers by value.
bool prg_client_is_in_place(const cJSON *intent, const cJSON *stored);
// The merge patch of a status subresource from stored's to `status`; NULL when there is nothing to change.
int prg_client_status_patch(struct prg_arena *arena, const cJSON *stored, const cJSON *status, const char *const *owned,
                            cJSON **ret, struct prg_error *err) PRG_MUST_USE;
