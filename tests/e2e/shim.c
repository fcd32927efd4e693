// SPDX-License-Identifier: Apache-2.0
// shim.c: what a test changes about the machine under one process (LD_PRELOAD), while it runs.
//
// PERIGEE_SHIM names a file with one line, read again at each call:
//   CLOCK ADDRESS
// CLOCK: seconds by which the wall clock is wrong; the clock that only measures is left alone, as a kernel leaves it
// alone when somebody sets the date. ADDRESS: what the name lab.test resolves to, "-" while no name server answers.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

// Plain calls of the kernel: streams take locks, and the process may be anywhere when it asks for the time.
static void read_line(long *ret_clock, char *ret_address, size_t size)
{
    char line[128] = "";
    const char *path = getenv("PERIGEE_SHIM");
    long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    *ret_clock = 0;
    ret_address[0] = '\0';
    if (fd < 0)
        return;
    long count = syscall(SYS_read, fd, line, sizeof(line) - 1);
    syscall(SYS_close, fd);
    if (count <= 0)
        return;
    char *rest;
    *ret_clock = strtol(line, &rest, 10);
    rest += strspn(rest, " ");
    rest[strcspn(rest, " \n")] = '\0';
    if (strlen(rest) < size)
        memcpy(ret_address, rest, strlen(rest) + 1);
}

static long wrong_by(void)
{
    char address[64];
    long seconds;
    read_line(&seconds, address, sizeof(address));
    return seconds;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ts);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ts->tv_sec += wrong_by();
    return rc;
}

EXPORT int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    (void)zone;
    struct timespec ts;
    int rc = clock_gettime(CLOCK_REALTIME, &ts);
    *tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
    return rc;
}

EXPORT time_t time(time_t *ret)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (ret)
        *ret = ts.tv_sec;
    return ts.tv_sec;
}

EXPORT int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                       struct addrinfo **restrict ret)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    char address[64];
    long seconds;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || strcmp(name, "lab.test") != 0)
        return real(name, service, hints, ret);
    read_line(&seconds, address, sizeof(address));
    return strcmp(address, "-") == 0 || !*address ? EAI_AGAIN : real(address, service, hints, ret);
}
