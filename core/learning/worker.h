// SPDX-License-Identifier: Apache-2.0
// worker.h: a worker's pod out of its template: labels, owner, variables, mounts, storage initializer. Private to
// core/learning.
//
// What a mount becomes:
//   s3, http, https, to be downloaded   /downloads/HOST/PATH; an init container fetches it before the worker starts
//   no scheme                           a path of the node: its folder is mounted below /home/data
//   no scheme, indirect                 the folder is mounted into the init container only, which fetches what the file
//   lists anything else                       nothing: the worker gets the URL as it is
#pragma once
#include "learning/context.h"

struct prg_mount {
    const char *url;
    const cJSON *secret; // or NULL
    bool is_downloaded;  // false: the worker writes there itself
    bool is_indirect;    // a list of URLs to be downloaded
};

// A variable that holds the place of one mount, or of several, joined with ';'.
struct prg_mount_variable {
    const char *name;
    const struct prg_mount *mounts;
    size_t count;
};

struct prg_worker {
    const char *type;      // "train", "eval", "inference"
    const cJSON *template; // PodTemplateSpec of the job, or NULL
    cJSON *environment;    // list of {name, value}, fixed ones
    const struct prg_mount_variable *variables;
    size_t variable_count;
    const char *restart_policy; // unless the template has one; NULL: leave it out
    bool has_hot_update;
    const char *poll_period; // seconds, of hot update
    const char *identity;    // what makes the pod's name: the same text, the same name
};

// The directory on the node for hot updates, with its final '/'.
const char *prg_hot_update_directory(struct prg_arena *arena, const char *ns, const char *job);

// The pod, as it is to be created. It has both a generateName (as the original's) and the name that Perigee gives it,
// so that making it twice makes it once. PRG_INVALID names a URL that cannot be read.
int prg_worker_pod(struct prg_learning *l, const struct prg_worker *worker, cJSON **ret,
                   struct prg_error *err) PRG_MUST_USE;
