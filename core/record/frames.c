// SPDX-License-Identifier: Apache-2.0
// frames.c: Zstandard streams over file descriptors.
#include "record/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zstd.h>

enum { LEVEL = 3, WINDOW_LOG = 22, MAX_WINDOW_LOG = 23 }; // 4 MiB of history; a reader takes 8

// ---- writing ----

struct prg_frames_writer {
    int fd;
    char *path;
    ZSTD_CStream *stream;
    char *chunk;
    size_t chunk_size;
    uint64_t bytes, plain_bytes;
};

int prg_frames_create(const char *path, struct prg_frames_writer **ret, struct prg_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    (void)flock(fd, LOCK_EX | LOCK_NB); // others see that it is being written, see prg_record_open
    struct prg_frames_writer *writer = prg_xcalloc(1, sizeof(*writer));
    writer->fd = fd;
    writer->path = prg_xstrdup(path);
    writer->stream = ZSTD_createCStream();
    prg_require(writer->stream);
    writer->chunk_size = ZSTD_CStreamOutSize();
    writer->chunk = prg_xmalloc(writer->chunk_size);
    prg_require(!ZSTD_isError(ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_compressionLevel, LEVEL)));
    prg_require(!ZSTD_isError(ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_windowLog, WINDOW_LOG)));
    prg_require(!ZSTD_isError(ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_checksumFlag, 1)));
    *ret = writer;
    return PRG_OK;
}

static int write_all(struct prg_frames_writer *writer, const char *bytes, size_t length, struct prg_error *err)
{
    while (length) {
        ssize_t n = write(writer->fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return prg_fail(err, PRG_IO, "%s: %s", writer->path, strerror(errno));
        bytes += n;
        length -= (size_t)n;
        writer->bytes += (size_t)n;
    }
    return PRG_OK;
}

static int compress(struct prg_frames_writer *writer, const struct prg_strbuf *lines, ZSTD_EndDirective directive,
                    struct prg_error *err)
{
    ZSTD_inBuffer in = {lines ? lines->text : "", lines ? lines->length : 0, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {writer->chunk, writer->chunk_size, 0};
        left = ZSTD_compressStream2(writer->stream, &out, &in, directive);
        if (ZSTD_isError(left))
            return prg_fail(err, PRG_IO, "%s: %s", writer->path, ZSTD_getErrorName(left));
        if (write_all(writer, writer->chunk, out.pos, err) != PRG_OK)
            return err ? (int)err->code : PRG_IO;
    } while (left || in.pos < in.size);
    return PRG_OK;
}

int prg_frames_write(struct prg_frames_writer *writer, const struct prg_strbuf *lines, struct prg_error *err)
{
    writer->plain_bytes += lines->length;
    return compress(writer, lines, ZSTD_e_flush, err);
}

uint64_t prg_frames_written(const struct prg_frames_writer *writer, uint64_t *ret_plain)
{
    if (ret_plain)
        *ret_plain = writer->plain_bytes;
    return writer->bytes;
}

static void writer_free(struct prg_frames_writer *writer)
{
    ZSTD_freeCStream(writer->stream);
    free(writer->chunk);
    free(writer->path);
    free(writer);
}

int prg_frames_close(struct prg_frames_writer *writer, struct prg_error *err)
{
    if (!writer)
        return PRG_OK;
    int rc = compress(writer, NULL, ZSTD_e_end, err);
    if (rc == PRG_OK && fsync(writer->fd) != 0)
        rc = prg_fail(err, PRG_IO, "%s: %s", writer->path, strerror(errno));
    if (close(writer->fd) != 0 && rc == PRG_OK)
        rc = prg_fail(err, PRG_IO, "%s: %s", writer->path, strerror(errno));
    writer_free(writer);
    return rc;
}

void prg_frames_abandon(struct prg_frames_writer *writer)
{
    if (!writer)
        return;
    close(writer->fd);
    writer_free(writer);
}

// ---- reading ----

struct reading {
    const char *path;
    struct prg_frames_limits limits;
    int (*visit)(const char *text, size_t length, unsigned line, void *ctx, struct prg_error *err);
    void *ctx;
    struct prg_strbuf rest; // of a line whose end has not come yet
    uint64_t plain_bytes;
    unsigned line; // the one that is being read
    struct prg_error *err;
};

static int take_line(struct reading *r, const char *text, size_t length)
{
    if (r->rest.length) {
        prg_strbuf_add(&r->rest, text, length);
        text = r->rest.text;
        length = r->rest.length;
    }
    int rc = r->visit(text, length, r->line, r->ctx, r->err);
    prg_strbuf_clear(&r->rest);
    if (rc != PRG_OK)
        return prg_wrap(r->err, "%s:%u", r->path, r->line);
    r->line++;
    return PRG_OK;
}

static int take_plain(struct reading *r, const char *bytes, size_t length)
{
    r->plain_bytes += length;
    if (r->plain_bytes > r->limits.plain_bytes)
        return prg_fail(r->err, PRG_LIMIT, "%s:%u: more than %llu MiB when unpacked", r->path, r->line,
                        (unsigned long long)(r->limits.plain_bytes >> 20));
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;
        if (r->rest.length + part > r->limits.line_bytes)
            return prg_fail(r->err, PRG_LIMIT, "%s:%u: the line is longer than %zu bytes", r->path, r->line,
                            r->limits.line_bytes);
        if (!end) {
            prg_strbuf_add(&r->rest, bytes, length);
            return PRG_OK;
        }
        if (take_line(r, bytes, part) != PRG_OK)
            return r->err ? (int)r->err->code : PRG_INVALID;
        bytes = end + 1;
        length -= part + 1;
    }
    return PRG_OK;
}

static int damaged(const struct reading *r, const char *what)
{
    return prg_fail(r->err, PRG_INVALID, "%s:%u: the file is damaged from here on (%s)", r->path, r->line, what);
}

// *left: what ZSTD_decompressStream said last: 0 between two frames.
static int take_compressed(struct reading *r, ZSTD_DStream *stream, const char *bytes, size_t length, char *chunk,
                           size_t chunk_size, size_t *left)
{
    ZSTD_inBuffer in = {bytes, length, 0};
    bool has_more = true;
    while (in.pos < in.size || has_more) {
        ZSTD_outBuffer out = {chunk, chunk_size, 0};
        size_t rc = ZSTD_decompressStream(stream, &out, &in);
        if (ZSTD_isError(rc))
            return damaged(r, ZSTD_getErrorName(rc));
        *left = rc;
        has_more = out.pos == out.size; // there may be more inside
        if (take_plain(r, chunk, out.pos) != PRG_OK)
            return r->err ? (int)r->err->code : PRG_INVALID;
    }
    return PRG_OK;
}

static int read_stream(struct reading *r, FILE *file, bool *ret_is_cut)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t in_size = ZSTD_DStreamInSize(), out_size = ZSTD_DStreamOutSize(), left = 0, n;
    char *in = prg_xmalloc(in_size), *out = prg_xmalloc(out_size);
    bool is_first = true;
    int rc = PRG_OK;
    prg_require(stream && !ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)));
    while (rc == PRG_OK && (n = fread(in, 1, in_size, file)) > 0) {
        static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
        if (is_first && (n < sizeof(magic) || memcmp(in, magic, sizeof(magic)) != 0))
            rc = prg_fail(r->err, PRG_INVALID, "%s: this is no recording (it is not compressed with zstd)", r->path);
        else
            rc = take_compressed(r, stream, in, n, out, out_size, &left);
        is_first = false;
    }
    if (rc == PRG_OK && ferror(file))
        rc = prg_fail(r->err, PRG_IO, "%s: %s", r->path, strerror(errno));
    *ret_is_cut = left != 0 || r->rest.length != 0;
    ZSTD_freeDStream(stream);
    free(in);
    free(out);
    return rc;
}

int prg_frames_read(const char *path, const struct prg_frames_limits *limits,
                    int (*visit)(const char *text, size_t length, unsigned line, void *ctx, struct prg_error *err),
                    void *ctx, bool *ret_is_cut, struct prg_error *err)
{
    struct reading r = {.path = path, .visit = visit, .ctx = ctx, .rest = PRG_STRBUF_INIT, .line = 1, .err = err};
    r.limits.line_bytes = limits && limits->line_bytes ? limits->line_bytes : (size_t)64 << 20;
    r.limits.plain_bytes = limits && limits->plain_bytes ? limits->plain_bytes : (uint64_t)1 << 30;
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "rbe");
    if (!file)
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    int rc = read_stream(&r, file, ret_is_cut);
    prg_strbuf_release(&r.rest);
    if (!is_input)
        fclose(file);
    return rc;
}

bool prg_frames_is_one(const char *path)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char found[sizeof(magic)];
    FILE *file = fopen(path, "rbe");
    size_t n = file ? fread(found, 1, sizeof(found), file) : 1;
    if (file)
        fclose(file);
    return n == 0 || (n == sizeof(found) && memcmp(found, magic, sizeof(magic)) == 0);
}
