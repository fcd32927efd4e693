// SPDX-License-Identifier: Apache-2.0
// credentials.h: who we are and whom we trust, as it is now: tokens, certificates and CAs change while we run.
//
// Rules as in client-go transport/token_source.go, cert_rotation.go and the exec plugin: a token file is read again
// after a minute (less ten seconds), certificates and CA after five minutes, both at once after a refusal; when a read
// fails or finds nothing the last good content stays. A plugin runs once at a time, again when what it gave expires or
// was refused; while it fails it is asked ever more rarely.
#pragma once
#include "kube/config.h"
#include "kube/timers.h"

struct prg_credentials;

struct prg_auth {                    // borrowed until the next call to prg_credentials_get
    const char *token;               // or NULL
    const char *username, *password; // or NULL
    const char *ca, *cert, *key;     // PEM or NULL; ca NULL: what the system trusts
    uint64_t revision;               // of ca, cert and key: connections of another one are not to be used
};

enum prg_auth_state {
    PRG_AUTH_READY,
    PRG_AUTH_WAIT,  // the plugin runs; wake is called when it has ended
    PRG_AUTH_FAILED // and err says why
};

typedef void (*prg_wake_fn)(void *ctx);

// config is borrowed.
struct prg_credentials *prg_credentials_new(uv_loop_t *loop, struct prg_timers *timers,
                                            const struct prg_kube_config *config, prg_wake_fn wake, void *ctx);
void prg_credentials_free(struct prg_credentials *credentials); // NULL is fine; wake does not come any more

enum prg_auth_state prg_credentials_get(struct prg_credentials *credentials, struct prg_auth *ret,
                                        struct prg_error *err);
// The server refused (401) what was got at asked_ms: drops it unless it was renewed since.
void prg_credentials_refused(struct prg_credentials *credentials, uint64_t asked_ms);
// The TLS handshake failed: reads CA and certificates again, at most once in ten seconds.
void prg_credentials_distrusted(struct prg_credentials *credentials);

#define PRG_EXEC_LIMIT_MS 60000
