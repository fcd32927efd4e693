// SPDX-License-Identifier: Apache-2.0
// compat.c: the two answers as values, made from the table in compat.h.
#include "serving/compat.h"

#include "base/base.h"

const struct prg_compat prg_compat_kserve = {{false}};

const struct prg_compat prg_compat_fixed = {{
#define X(flag, text, issue) [PRG_COMPAT_##flag] = true,
    PRG_COMPAT_TABLE(X)
#undef X
}};

static const char *const names[PRG_COMPAT_COUNT] = {
#define X(flag, text, issue) [PRG_COMPAT_##flag] = #flag,
    PRG_COMPAT_TABLE(X)
#undef X
};

const char *prg_compat_flag_name(enum prg_compat_flag flag)
{
    prg_require((unsigned)flag < PRG_COMPAT_COUNT);
    return names[flag];
}

const struct prg_compat *prg_compat_by_name(const char *name)
{
    if (prg_text_equal(name, "kserve"))
        return &prg_compat_kserve;
    if (prg_text_equal(name, "fixed"))
        return &prg_compat_fixed;
    return NULL;
}

cJSON *prg_compat_to_json(struct prg_arena *arena, const struct prg_compat *compat)
{
    cJSON *flags = prg_json_object(arena);
    for (size_t i = 0; i < PRG_COMPAT_COUNT; i++)
        prg_json_add_shared(flags, names[i], prg_json_bool(arena, compat->mended[i]));
    return flags;
}
