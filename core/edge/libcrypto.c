// SPDX-License-Identifier: Apache-2.0
// libcrypto.c: the functions of OpenSSL that a WebSocket handshake uses, bound when the first of them is called
// (base/late.h): binding the whole library costs more than reading a small set of manifests.
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>

#include "base/late.h"

#define LIBRARY "libcrypto.so.3"

#define FUNCTIONS(X)                                                                                                   \
    X(EVP_DecodeBlock)                                                                                                 \
    X(EVP_EncodeBlock)                                                                                                 \
    X(SHA1)

#define DECLARE(name) __typeof__(name) *(name);
static struct {
    FUNCTIONS(DECLARE)
} real;

static void load(void)
{
    void *library = prg_late_library(LIBRARY, "libssl3");
#define BIND(name) *(void **)&real.name = prg_late_symbol(library, LIBRARY, #name);
    FUNCTIONS(BIND)
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
#define REAL(name) (pthread_once(&once, load), real.name)

int EVP_DecodeBlock(unsigned char *out, const unsigned char *in, int length)
{
    return REAL(EVP_DecodeBlock)(out, in, length);
}

int EVP_EncodeBlock(unsigned char *out, const unsigned char *in, int length)
{
    return REAL(EVP_EncodeBlock)(out, in, length);
}

unsigned char *SHA1(const unsigned char *bytes, size_t length, unsigned char *ret)
{
    return REAL(SHA1)(bytes, length, ret);
}
