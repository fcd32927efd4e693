// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd.c: the functions of libmicrohttpd that health, metrics and the edge link use, bound when the first of
// them is called (base/late.h).
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>

#include "base/late.h"

#define LIBRARY "libmicrohttpd.so.12"

#define FUNCTIONS(X)                                                                                                   \
    X(MHD_add_response_header)                                                                                         \
    X(MHD_create_response_for_upgrade)                                                                                 \
    X(MHD_create_response_from_buffer)                                                                                 \
    X(MHD_destroy_response)                                                                                            \
    X(MHD_get_connection_values)                                                                                       \
    X(MHD_get_daemon_info)                                                                                             \
    X(MHD_get_timeout)                                                                                                 \
    X(MHD_lookup_connection_value)                                                                                     \
    X(MHD_queue_response)                                                                                              \
    X(MHD_quiesce_daemon)                                                                                              \
    X(MHD_run)                                                                                                         \
    X(MHD_start_daemon_va)                                                                                             \
    X(MHD_stop_daemon)                                                                                                 \
    X(MHD_upgrade_action)

#define DECLARE(name) __typeof__(name) *(name);
static struct {
    FUNCTIONS(DECLARE)
} real;

static void load(void)
{
    void *library = prg_late_library(LIBRARY, "libmicrohttpd12");
#define BIND(name) *(void **)&real.name = prg_late_symbol(library, LIBRARY, #name);
    FUNCTIONS(BIND)
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
#define REAL(name) (pthread_once(&once, load), real.name)

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept, void *accept_ctx,
                                    MHD_AccessHandlerCallback on_request, void *request_ctx, ...)
{
    va_list options;
    va_start(options, request_ctx);
    struct MHD_Daemon *daemon =
        REAL(MHD_start_daemon_va)(flags, port, accept, accept_ctx, on_request, request_ctx, options);
    va_end(options);
    return daemon;
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
    REAL(MHD_stop_daemon)(daemon);
}

MHD_socket MHD_quiesce_daemon(struct MHD_Daemon *daemon)
{
    return REAL(MHD_quiesce_daemon)(daemon);
}

enum MHD_Result MHD_run(struct MHD_Daemon *daemon)
{
    return REAL(MHD_run)(daemon);
}

enum MHD_Result MHD_get_timeout(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *timeout)
{
    return REAL(MHD_get_timeout)(daemon, timeout);
}

// The facts that are asked for here take no further argument.
const union MHD_DaemonInfo *MHD_get_daemon_info(struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...)
{
    return REAL(MHD_get_daemon_info)(daemon, type);
}

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIterator each,
                              void *ctx)
{
    return REAL(MHD_get_connection_values)(connection, kind, each, ctx);
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *key)
{
    return REAL(MHD_lookup_connection_value)(connection, kind, key);
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *data, enum MHD_ResponseMemoryMode mode)
{
    return REAL(MHD_create_response_from_buffer)(size, data, mode);
}

struct MHD_Response *MHD_create_response_for_upgrade(MHD_UpgradeHandler on_upgrade, void *ctx)
{
    return REAL(MHD_create_response_for_upgrade)(on_upgrade, ctx);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *name, const char *value)
{
    return REAL(MHD_add_response_header)(response, name, value);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    return REAL(MHD_queue_response)(connection, status, response);
}

void MHD_destroy_response(struct MHD_Response *response)
{
    REAL(MHD_destroy_response)(response);
}

enum MHD_Result MHD_upgrade_action(struct MHD_UpgradeResponseHandle *handle, enum MHD_UpgradeAction action, ...)
{
    return REAL(MHD_upgrade_action)(handle, action);
}
