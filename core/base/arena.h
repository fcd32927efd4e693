// SPDX-License-Identifier: Apache-2.0
// arena.h: bump allocation. Everything allocated from an arena lives until it is reset or released; nothing is freed
// alone.
//
// One arena per plan, per document set, per decision. Not thread-safe. Blocks are aligned to 16 bytes for structs;
// texts are packed.
#pragma once
#include "base/base.h"

// Private, but for prg_arena_alloc.
struct prg_arena_chunk {
    struct prg_arena_chunk *next;
    size_t size; // of data
    char *low;   // first free byte above the structs
    char *high;  // first byte of the texts
    _Alignas(16) char data[];
};

struct prg_arena {
    struct prg_arena_chunk *chunk; // newest first; private
    size_t used_bytes;             // handed out since init or reset
};

void prg_arena_init(struct prg_arena *arena);
void prg_arena_release(struct prg_arena *arena); // frees all; a zeroed arena is fine; usable again after init
void prg_arena_reset(struct prg_arena *arena);   // forgets all, keeps one chunk for reuse
// What was allocated from other lives as long as arena from now on; other is empty, as after init.
void prg_arena_adopt(struct prg_arena *arena, struct prg_arena *other);

void *prg_arena_take(struct prg_arena *arena, size_t size); // what prg_arena_alloc does when it needs a chunk
// Uninitialised. Inline: making a node of a tree is little more than this.
static inline void *prg_arena_alloc(struct prg_arena *arena, size_t size)
{
#if !defined(__SANITIZE_ADDRESS__) // blocks are marked there
    struct prg_arena_chunk *chunk = arena->chunk;
    size_t padded = (size + 15) & ~(size_t)15;
    if (size && chunk && padded >= size && padded <= (size_t)(chunk->high - chunk->low)) {
        void *block = chunk->low;
        chunk->low += padded;
        arena->used_bytes += size;
        return block;
    }
#endif
    return prg_arena_take(arena, size);
}
void *prg_arena_zalloc(struct prg_arena *arena, size_t size); // zeroed
char *prg_arena_strdup(struct prg_arena *arena, const char *text);
char *prg_arena_strndup(struct prg_arena *arena, const char *text, size_t length); // adds the terminator
char *prg_arena_printf(struct prg_arena *arena, const char *format, ...) PRG_PRINTF(2, 3);
// prg_arena_join(arena, "a", text, "b"): the texts one behind the other.
#define prg_arena_join(arena, ...) prg_arena_join_all((arena), (const char *const[]){__VA_ARGS__, NULL})
char *prg_arena_join_all(struct prg_arena *arena, const char *const *texts); // NULL at the end
char *prg_arena_vprintf(struct prg_arena *arena, const char *format, va_list args);

#define prg_auto_arena __attribute__((cleanup(prg_arena_release))) struct prg_arena
#define prg_arena_new(arena, type) ((type *)prg_arena_zalloc((arena), sizeof(type)))
#define prg_arena_array(arena, type, count) ((type *)prg_arena_zalloc((arena), sizeof(type) * (count)))
