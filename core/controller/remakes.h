// SPDX-License-Identifier: Apache-2.0
// remakes.h: objects that vanish as often as they are made, or that the server refuses while they vanish. Somebody else
// deletes them: the garbage collector, when the owner went and our watch of it is still broken, a namespace that goes,
// or a rival. Making them again at once, with each change of another one, is a storm at the server.
//
// What vanished is made again at once, and once more; each next time within PRG_REMAKES_FORGET_MS waits twice as long
// as the one before, up to PRG_REMAKES_MOST_MS. The key's other work waits with it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define PRG_REMAKES_FIRST_MS 200
#define PRG_REMAKES_MOST_MS 10000
#define PRG_REMAKES_FORGET_MS 30000
#define PRG_REMAKES_KEPT 256 // keys; beyond that the one that made something longest ago is forgotten

struct prg_remakes {
    struct prg_remake {
        uint64_t hash; // of the key
        uint64_t made_ms;
        unsigned again; // how often after the first
    } kept[PRG_REMAKES_KEPT];
    size_t count;
};

// A reconcile under this queue key created objects, or was refused.
void prg_remakes_note(struct prg_remakes *remakes, const char *key, uint64_t now_ms);
// Milliseconds that the next plan of key has to wait, 0: none.
uint64_t prg_remakes_wait_ms(const struct prg_remakes *remakes, const char *key, uint64_t now_ms);
