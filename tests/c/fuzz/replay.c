// SPDX-License-Identifier: Apache-2.0
// replay.c: runs a fuzz program over files and the files of folders, for builds without libFuzzer.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    struct prg_strbuf content = PRG_STRBUF_INIT;
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        prg_strbuf_add(&content, chunk, got);
    fclose(file);
    // A block of exactly the content's size, so that the sanitizer sees reading beyond its end.
    uint8_t *data = prg_xmalloc(content.length);
    memcpy(data, content.text, content.length);
    LLVMFuzzerTestOneInput(data, content.length);
    // Every prefix of a short input as well: cheap variety without a fuzzer.
    for (size_t size = 0; size < content.length && content.length <= 1024; size++) {
        uint8_t *prefix = prg_xmalloc(size);
        memcpy(prefix, data, size);
        LLVMFuzzerTestOneInput(prefix, size);
        free(prefix);
    }
    free(data);
    prg_strbuf_release(&content);
    return true;
}

static int run_folder(const char *path, DIR *folder)
{
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        char name[4096];
        struct stat status;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
            count += run_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        count += folder ? run_folder(argv[i], folder) : run_file(argv[i]);
    }
    printf("%d inputs\n", count);
    return count == 0; // an empty corpus is a mistake
}
