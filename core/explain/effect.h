// SPDX-License-Identifier: Apache-2.0
// effect.h: what it means for one service when its plan becomes another: which objects change, whether pods restart,
// how many pods and GPUs that touches.
#pragma once
#include "explain/fields.h"
#include "object/reader.h"
#include "plan/plan.h"

enum prg_effect_group { // a service is in the last group that applies
    PRG_EFFECT_UNCHANGED,
    PRG_EFFECT_METADATA, // labels, annotations, status or the text of an error; no pod template
    PRG_EFFECT_IN_PLACE, // objects change, pods stay: scaling, ports, strategy
    PRG_EFFECT_RESTART,  // a pod template changes
    PRG_EFFECT_GPUS,     // pods get other GPUs, or another number of them
    PRG_EFFECT_OBJECTS,  // objects appear or vanish
    PRG_EFFECT_ERROR,    // the new plan fails where the old one did not
    PRG_EFFECT_COUNT,
};
const char *prg_effect_name(enum prg_effect_group group);  // "unchanged", "metadata", "inPlace", … as in JSON
const char *prg_effect_title(enum prg_effect_group group); // "pods restart" …, for people

struct prg_field_effect {
    struct prg_field_effect *next;
    enum prg_field_change_kind kind;
    const char *path;
    const cJSON *from, *to;        // NULL: absent
    enum prg_origin before, after; // who sets the field
};

enum prg_object_effect_kind { PRG_OBJECT_CHANGES, PRG_OBJECT_APPEARS, PRG_OBJECT_VANISHES };

struct prg_object_effect {
    struct prg_object_effect *next;
    enum prg_object_effect_kind change;
    const char *kind, *ns, *name;
    bool restarts;      // its pods restart
    int64_t pods, gpus; // that this touches
    struct prg_field_effect *first, *last;
    size_t field_count; // all of them; those kept are at most PRG_EFFECT_FIELDS
};
#define PRG_EFFECT_FIELDS 200

struct prg_effect {
    enum prg_effect_group group;
    const char *error[2]; // of the two plans, or NULL
    int64_t restarts;     // pods that restart
    int64_t pods, gpus;   // touched: of templates that change, of objects that appear or vanish
    int64_t gpus_total[2];
    struct prg_object_effect *first, *last;
};

// The plans are of one subject; NULL: it is not there on that side. store tells how many pods run (it may be NULL).
// Everything in ret is in arena and nothing of it in the plans' arenas.
void prg_effect_of(struct prg_arena *arena, const struct prg_reader *store, const struct prg_plan *before,
                   const struct prg_plan *after, struct prg_effect *ret);
