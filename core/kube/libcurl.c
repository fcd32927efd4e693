// SPDX-License-Identifier: Apache-2.0
// libcurl.c: the functions of libcurl that the client uses, bound when the first of them is called (base/late.h).
#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>

#include "base/late.h"

#define LIBRARY "libcurl.so.4"

#define FUNCTIONS(X)                                                                                                   \
    X(curl_easy_cleanup)                                                                                               \
    X(curl_easy_escape)                                                                                                \
    X(curl_easy_getinfo)                                                                                               \
    X(curl_easy_init)                                                                                                  \
    X(curl_easy_setopt)                                                                                                \
    X(curl_easy_strerror)                                                                                              \
    X(curl_free)                                                                                                       \
    X(curl_getdate)                                                                                                    \
    X(curl_global_cleanup)                                                                                             \
    X(curl_global_init_mem)                                                                                            \
    X(curl_multi_add_handle)                                                                                           \
    X(curl_multi_assign)                                                                                               \
    X(curl_multi_cleanup)                                                                                              \
    X(curl_multi_info_read)                                                                                            \
    X(curl_multi_init)                                                                                                 \
    X(curl_multi_remove_handle)                                                                                        \
    X(curl_multi_setopt)                                                                                               \
    X(curl_multi_socket_action)                                                                                        \
    X(curl_slist_append)                                                                                               \
    X(curl_slist_free_all)

#define DECLARE(name) __typeof__(name) *(name);
static struct {
    FUNCTIONS(DECLARE)
} real;

static void load(void)
{
    void *library = prg_late_library(LIBRARY, "libcurl4");
#define BIND(name) *(void **)&real.name = prg_late_symbol(library, LIBRARY, #name);
    FUNCTIONS(BIND)
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
#define REAL(name) (pthread_once(&once, load), real.name)

// An option's value is a long, a pointer or a curl_off_t. All are passed on alike where they are of one size.
_Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *),
               "values of options are of one size");
#define VALUE(last, value)                                                                                             \
    va_list values;                                                                                                    \
    va_start(values, last);                                                                                            \
    void *(value) = va_arg(values, void *);                                                                            \
    va_end(values)

// In parentheses: curl.h has macros of some of the names.

CURL *(curl_easy_init)(void)
{
    return REAL(curl_easy_init)();
}

void(curl_easy_cleanup)(CURL *curl)
{
    REAL(curl_easy_cleanup)(curl);
}

char *(curl_easy_escape)(CURL *curl, const char *text, int length)
{
    return REAL(curl_easy_escape)(curl, text, length);
}

CURLcode(curl_easy_setopt)(CURL *curl, CURLoption option, ...)
{
    VALUE(option, value);
    return (REAL(curl_easy_setopt))(curl, option, value);
}

CURLcode(curl_easy_getinfo)(CURL *curl, CURLINFO info, ...)
{
    VALUE(info, value);
    return (REAL(curl_easy_getinfo))(curl, info, value);
}

const char *(curl_easy_strerror)(CURLcode code)
{
    return REAL(curl_easy_strerror)(code);
}

void(curl_free)(void *p)
{
    REAL(curl_free)(p);
}

time_t(curl_getdate)(const char *text, const time_t *unused)
{
    return REAL(curl_getdate)(text, unused);
}

CURLcode(curl_global_init_mem)(long flags, curl_malloc_callback m, curl_free_callback f, curl_realloc_callback r,
                               curl_strdup_callback s, curl_calloc_callback c)
{
    return REAL(curl_global_init_mem)(flags, m, f, r, s, c);
}

void(curl_global_cleanup)(void)
{
    REAL(curl_global_cleanup)();
}

CURLM *(curl_multi_init)(void)
{
    return REAL(curl_multi_init)();
}

CURLMcode(curl_multi_cleanup)(CURLM *multi)
{
    return REAL(curl_multi_cleanup)(multi);
}

CURLMcode(curl_multi_add_handle)(CURLM *multi, CURL *curl)
{
    return REAL(curl_multi_add_handle)(multi, curl);
}

CURLMcode(curl_multi_remove_handle)(CURLM *multi, CURL *curl)
{
    return REAL(curl_multi_remove_handle)(multi, curl);
}

CURLMcode(curl_multi_assign)(CURLM *multi, curl_socket_t socket, void *data)
{
    return REAL(curl_multi_assign)(multi, socket, data);
}

CURLMsg *(curl_multi_info_read)(CURLM *multi, int *waiting)
{
    return REAL(curl_multi_info_read)(multi, waiting);
}

CURLMcode(curl_multi_setopt)(CURLM *multi, CURLMoption option, ...)
{
    VALUE(option, value);
    return (REAL(curl_multi_setopt))(multi, option, value);
}

CURLMcode(curl_multi_socket_action)(CURLM *multi, curl_socket_t socket, int events, int *running)
{
    return REAL(curl_multi_socket_action)(multi, socket, events, running);
}

struct curl_slist *(curl_slist_append)(struct curl_slist *list, const char *text)
{
    return REAL(curl_slist_append)(list, text);
}

void(curl_slist_free_all)(struct curl_slist *list)
{
    REAL(curl_slist_free_all)(list);
}
