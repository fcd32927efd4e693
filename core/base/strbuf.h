// SPDX-License-Identifier: Apache-2.0
// strbuf.h: a growing text on the heap, always terminated, may hold NUL bytes.
#pragma once
#include "base/base.h"

struct prg_strbuf {
    char *text;    // "" (static) while empty and never grown; do not free yourself
    size_t length; // without the terminator
    size_t cap;
};
#define PRG_STRBUF_INIT                                                                                                \
    {                                                                                                                  \
        (char *)"", 0, 0                                                                                               \
    }
#define prg_auto_strbuf __attribute__((cleanup(prg_strbuf_release))) struct prg_strbuf

void prg_strbuf_init(struct prg_strbuf *buf);
void prg_strbuf_release(struct prg_strbuf *buf);
void prg_strbuf_clear(struct prg_strbuf *buf); // length 0, memory kept
void prg_strbuf_add(struct prg_strbuf *buf, const void *bytes, size_t length);
void prg_strbuf_puts(struct prg_strbuf *buf, const char *text);
void prg_strbuf_putc(struct prg_strbuf *buf, char c);
void prg_strbuf_pad(struct prg_strbuf *buf, char c, size_t count);
void prg_strbuf_printf(struct prg_strbuf *buf, const char *format, ...) PRG_PRINTF(2, 3);
void prg_strbuf_vprintf(struct prg_strbuf *buf, const char *format, va_list args);
void prg_strbuf_truncate(struct prg_strbuf *buf, size_t length);
char *prg_strbuf_steal(struct prg_strbuf *buf, size_t *ret_length); // caller frees; ret_length may be NULL
