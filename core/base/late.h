// SPDX-License-Identifier: Apache-2.0
// late.h: libraries that are loaded when a command first needs them. libcurl and libmicrohttpd bring some forty others
// with them (TLS, LDAP, Kerberos), and binding those took nearly half the time of a plan from files, which talks to
// nobody. A file beside the code that uses such a library defines the library's functions under their own names and
// hands each call on (kube/libcurl.c, httpd/libmicrohttpd.c), so nothing else knows of it.
#ifndef PRG_BASE_LATE_H
#define PRG_BASE_LATE_H

// The library of that soname, kept for good. `package` is the Debian package that holds it, for the message: a library
// that is not there ends the program with exit code 2, as a missing one does at start.
void *prg_late_library(const char *soname, const char *package);

// Address of a function of it; one that is not there ends the program in the same way.
void *prg_late_symbol(void *library, const char *soname, const char *name);

#endif
