// SPDX-License-Identifier: Apache-2.0
// remakes.c: who made what lately.
#include "controller/remakes.h"

#include <stdbool.h>
#include <string.h>

#include "base/map.h"

// Its place, or count.
static size_t find(const struct prg_remakes *remakes, uint64_t hash)
{
    size_t i = 0;
    while (i < remakes->count && remakes->kept[i].hash != hash)
        i++;
    return i;
}

static size_t oldest(const struct prg_remakes *remakes)
{
    size_t found = 0;
    for (size_t i = 1; i < remakes->count; i++)
        if (remakes->kept[i].made_ms < remakes->kept[found].made_ms)
            found = i;
    return found;
}

static bool is_forgotten(const struct prg_remake *remake, uint64_t now_ms)
{
    return now_ms - remake->made_ms >= PRG_REMAKES_FORGET_MS;
}

void prg_remakes_note(struct prg_remakes *remakes, const char *key, uint64_t now_ms)
{
    uint64_t hash = prg_map_hash(key, strlen(key));
    size_t at = find(remakes, hash);
    if (at < remakes->count && !is_forgotten(&remakes->kept[at], now_ms)) {
        remakes->kept[at].again++;
        remakes->kept[at].made_ms = now_ms;
        return;
    }
    if (at == remakes->count && at < PRG_REMAKES_KEPT)
        remakes->count++;
    else if (at == remakes->count)
        at = oldest(remakes);
    remakes->kept[at] = (struct prg_remake){.hash = hash, .made_ms = now_ms};
}

uint64_t prg_remakes_wait_ms(const struct prg_remakes *remakes, const char *key, uint64_t now_ms)
{
    size_t at = remakes->count ? find(remakes, prg_map_hash(key, strlen(key))) : 0;
    const struct prg_remake *remake = &remakes->kept[at];
    if (at == remakes->count || remake->again < 2 || is_forgotten(remake, now_ms))
        return 0;
    uint64_t pause_ms = PRG_REMAKES_FIRST_MS;
    for (unsigned i = 2; i < remake->again && pause_ms < PRG_REMAKES_MOST_MS; i++)
        pause_ms *= 2;
    if (pause_ms > PRG_REMAKES_MOST_MS)
        pause_ms = PRG_REMAKES_MOST_MS;
    uint64_t passed_ms = now_ms - remake->made_ms;
    return passed_ms < pause_ms ? pause_ms - passed_ms : 0;
}
