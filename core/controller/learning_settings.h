// SPDX-License-Identifier: Apache-2.0
// learning_settings.h: how learning jobs are looked after in a process, and whether edge nodes are listened to.
#pragma once
#include "base/arena.h"
#include "base/error.h"

struct prg_learning_settings { // of the whole process; texts and lists are borrowed
    bool is_off;               // no learning jobs are looked after
    const char *lc_server;     // LC_SERVER of the workers; NULL: the default
    bool has_edge;             // nodes are listened to
    const char *edge_address;  // NULL: loopback
    uint16_t edge_port;        // 0: any that is free
    const char *const *nodes;  // allow list; empty: nobody; NULL: every proper name
    size_t node_count;
};

#define PRG_LEARNING_EDGE_PORT 9000 // where Local Controllers look for it by default

// "ADDRESS:PORT", "[IPV6]:PORT", ":PORT", "PORT" or "off" into has_edge, edge_address (in arena) and edge_port.
int prg_learning_parse_listen(struct prg_arena *arena, const char *text, struct prg_learning_settings *ret,
                              struct prg_error *err) PRG_MUST_USE;
