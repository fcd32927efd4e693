// SPDX-License-Identifier: Apache-2.0
// arena.c: bump allocation in chunks that double up to 1 MiB.
//
// A chunk is used from both ends: structs grow up from its start (aligned to 16), texts grow down from its end
// (packed), so that neither pads the other. A block that would take more than a quarter of a full-size chunk gets a
// chunk of its own, linked in behind the newest so that bumping goes on where it was.
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(start, size) ASAN_POISON_MEMORY_REGION((start), (size))
#define UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION((start), (size))
#define GUARD 16 // unaddressable bytes between blocks
#else
#define POISON(start, size) ((void)(start), (void)(size))
#define UNPOISON(start, size) ((void)(start), (void)(size))
#define GUARD 0
#endif

#define ALIGNMENT 16
#define FIRST_CHUNK ((size_t)4 * 1024)
#define LARGEST_CHUNK ((size_t)1024 * 1024)
#define LARGEST_SHARED (LARGEST_CHUNK / 4)

static struct prg_arena_chunk *chunk_new(size_t size)
{
    prg_require(size < SIZE_MAX - sizeof(struct prg_arena_chunk));
    struct prg_arena_chunk *chunk = prg_xmalloc(sizeof(*chunk) + size);
    chunk->next = NULL;
    chunk->size = size;
    chunk->low = chunk->data;
    chunk->high = chunk->data + size;
    POISON(chunk->data, size);
    return chunk;
}

static void chunk_free(struct prg_arena_chunk *chunk)
{
    UNPOISON(chunk->data, chunk->size);
    free(chunk);
}

void prg_arena_init(struct prg_arena *arena)
{
    arena->chunk = NULL;
    arena->used_bytes = 0;
}

void prg_arena_release(struct prg_arena *arena)
{
    struct prg_arena_chunk *chunk = arena->chunk;
    while (chunk) {
        struct prg_arena_chunk *next = chunk->next;
        chunk_free(chunk);
        chunk = next;
    }
    prg_arena_init(arena);
}

void prg_arena_reset(struct prg_arena *arena)
{
    struct prg_arena_chunk *kept = arena->chunk;
    if (!kept)
        return;
    arena->chunk = kept->next;
    prg_arena_release(arena);
    if (kept->size > LARGEST_CHUNK) { // a single big block; not worth holding on to
        chunk_free(kept);
        return;
    }
    kept->next = NULL;
    kept->low = kept->data;
    kept->high = kept->data + kept->size;
    POISON(kept->data, kept->size);
    arena->chunk = kept;
}

void prg_arena_adopt(struct prg_arena *arena, struct prg_arena *other)
{
    struct prg_arena_chunk *last = other->chunk;
    if (last) {
        while (last->next)
            last = last->next;
        // Behind the newest, so that bumping goes on where it was.
        last->next = arena->chunk ? arena->chunk->next : NULL;
        if (arena->chunk)
            arena->chunk->next = other->chunk;
        else
            arena->chunk = other->chunk;
        arena->used_bytes += other->used_bytes;
    }
    prg_arena_init(other);
}

static struct prg_arena_chunk *next_chunk(struct prg_arena *arena, size_t size)
{
    struct prg_arena_chunk *newest = arena->chunk;
    if (newest && size > LARGEST_SHARED) {
        struct prg_arena_chunk *own = chunk_new(size);
        own->next = newest->next;
        newest->next = own;
        return own;
    }
    size_t next_size = newest ? newest->size * 2 : FIRST_CHUNK;
    if (next_size > LARGEST_CHUNK)
        next_size = LARGEST_CHUNK;
    if (next_size < size)
        next_size = size;
    struct prg_arena_chunk *chunk = chunk_new(next_size);
    chunk->next = newest;
    arena->chunk = chunk;
    return chunk;
}

// A chunk with room for size bytes at either end, however it is aligned.
static inline struct prg_arena_chunk *chunk_for(struct prg_arena *arena, size_t size)
{
    struct prg_arena_chunk *newest = arena->chunk;
    return newest && (size_t)(newest->high - newest->low) >= size ? newest : next_chunk(arena, size);
}

static void *take_low(struct prg_arena *arena, size_t size)
{
    prg_require(size < SIZE_MAX - ALIGNMENT - GUARD);
    size_t padded = ((size ? size : 1) + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    // low stays aligned because every step is a multiple of the alignment.
    struct prg_arena_chunk *chunk = chunk_for(arena, padded);
    void *block = chunk->low;
    chunk->low += padded;
    arena->used_bytes += size;
    UNPOISON(block, size);
    return block;
}

static char *take_high(struct prg_arena *arena, size_t size)
{
    prg_require(size < SIZE_MAX - ALIGNMENT - GUARD);
    // With guards, texts start at multiples of 8: the sanitizer cannot mark a finer grain.
    size_t padded = GUARD ? (size + GUARD + 7) / 8 * 8 : size;
    struct prg_arena_chunk *chunk = chunk_for(arena, padded + (GUARD ? 8 : 0));
    chunk->high -= padded;
    if (GUARD)
        chunk->high -= (uintptr_t)chunk->high % 8;
    arena->used_bytes += size;
    UNPOISON(chunk->high, size);
    return chunk->high;
}

void *prg_arena_take(struct prg_arena *arena, size_t size)
{
    return take_low(arena, size);
}

void *prg_arena_zalloc(struct prg_arena *arena, size_t size)
{
    return memset(take_low(arena, size), 0, size);
}

char *prg_arena_strdup(struct prg_arena *arena, const char *text)
{
    return prg_arena_strndup(arena, text, strlen(text));
}

char *prg_arena_strndup(struct prg_arena *arena, const char *text, size_t length)
{
    char *copy = take_high(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *prg_arena_join_all(struct prg_arena *arena, const char *const *texts)
{
    size_t length = 0;
    for (const char *const *text = texts; *text; text++)
        length += strlen(*text);
    char *joined = take_high(arena, length + 1), *at = joined;
    for (; *texts; texts++)
        at = stpcpy(at, *texts);
    *at = '\0';
    return joined;
}

char *prg_arena_printf(struct prg_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = prg_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

char *prg_arena_vprintf(struct prg_arena *arena, const char *format, va_list args)
{
    char shorter[256];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(shorter, sizeof(shorter), format, args);
    prg_require(length >= 0);
    char *text;
    if ((size_t)length < sizeof(shorter)) {
        text = prg_arena_strndup(arena, shorter, (size_t)length);
    } else {
        text = take_high(arena, (size_t)length + 1);
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}
