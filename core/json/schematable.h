// SPDX-License-Identifier: Apache-2.0
// schematable.h: how the tables of podschema.c, kubeschema.c and servingschema.c are written down. Only they include
// it.
//
// One line is one field of a Go struct:
//   F_STRING("name", REQUIRED)         a scalar: F_STRING F_INT F_BOOL F_QUANTITY F_INTORSTRING F_TIME F_ANY
//   F_OBJECT("spec", 0, pod_spec)                a struct, of the table SCHEMA(pod_spec, …)
//   F_LIST("args", 0, STRING), F_MAP("labels", 0, STRING)
//   F_OBJECTS("env", MERGE, env_var, "name")     a list of structs and its patchMergeKey (NULL: replaced as a whole)
//   F_OBJECT_MAP("components", 0, status)        a map from text to structs
#pragma once
#include "json/schema.h"

#define KEEP PRG_FIELD_KEEP_ZERO
#define MERGE PRG_FIELD_MERGE
#define RETAIN PRG_FIELD_RETAIN_KEYS
#define REQUIRED (PRG_FIELD_REQUIRED | PRG_FIELD_KEEP_ZERO)

#define F_SCALAR(name, flags, kind)                                                                                    \
    {                                                                                                                  \
        name, kind, PRG_KIND_ANY, flags, NULL, NULL                                                                    \
    }
#define F_STRING(name, flags) F_SCALAR(name, flags, PRG_KIND_STRING)
#define F_INT(name, flags) F_SCALAR(name, flags, PRG_KIND_INT)
#define F_BOOL(name, flags) F_SCALAR(name, flags, PRG_KIND_BOOL)
#define F_QUANTITY(name, flags) F_SCALAR(name, flags, PRG_KIND_QUANTITY)
#define F_INTORSTRING(name, flags) F_SCALAR(name, flags, PRG_KIND_INTORSTRING)
#define F_TIME(name, flags) F_SCALAR(name, flags, PRG_KIND_TIME)
#define F_ANY(name, flags) F_SCALAR(name, flags, PRG_KIND_ANY)
#define F_OBJECT(name, flags, id)                                                                                      \
    {                                                                                                                  \
        name, PRG_KIND_OBJECT, PRG_KIND_ANY, flags, &prg_schema_##id, NULL                                             \
    }
#define F_LIST(name, flags, element)                                                                                   \
    {                                                                                                                  \
        name, PRG_KIND_LIST, PRG_KIND_##element, flags, NULL, NULL                                                     \
    }
#define F_MAP(name, flags, element)                                                                                    \
    {                                                                                                                  \
        name, PRG_KIND_MAP, PRG_KIND_##element, flags, NULL, NULL                                                      \
    }
#define F_OBJECTS(name, flags, id, key)                                                                                \
    {                                                                                                                  \
        name, PRG_KIND_LIST, PRG_KIND_OBJECT, flags, &prg_schema_##id, key                                             \
    }
#define F_OBJECT_MAP(name, flags, id)                                                                                  \
    {                                                                                                                  \
        name, PRG_KIND_MAP, PRG_KIND_OBJECT, flags, &prg_schema_##id, NULL                                             \
    }

// SCHEMA(env_var, "EnvVar"): prg_schema_env_var over env_var_fields.
#define SCHEMA(id, go_name) SCHEMA_OVER(id, go_name, NULL)
// SCHEMA_INLINE(ephemeral_container, "EphemeralContainer", container): the fields of container as well.
#define SCHEMA_INLINE(id, go_name, inlined) SCHEMA_OVER(id, go_name, &prg_schema_##inlined)
#define SCHEMA_OVER(id, go_name, inlined)                                                                              \
    const struct prg_schema prg_schema_##id = {go_name, id##_fields, PRG_COUNT(id##_fields), inlined,                  \
                                               &(_Atomic(struct prg_schema_index *)){NULL}}
