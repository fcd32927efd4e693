// SPDX-License-Identifier: Apache-2.0
#include "base/late.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *prg_late_library(const char *soname, const char *package)
{
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    fprintf(stderr, "perigee: %s cannot be loaded: %s; it is in the package %s\n", soname, dlerror(), package);
    exit(2);
}

void *prg_late_symbol(void *library, const char *soname, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol)
        return symbol;
    fprintf(stderr, "perigee: %s has no function %s: it is older than the one that perigee was built with\n", soname,
            name);
    exit(2);
}
