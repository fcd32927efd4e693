// SPDX-License-Identifier: Apache-2.0
// pick.c: the newest pod of a type. Unlike getSpecifiedPods of Sedna's Global Manager the answer does not depend on the
// order in which pods are listed.
#include "learning/pick.h"

#include <string.h>

#include "learning/names.h"
#include "object/meta.h"

bool prg_worker_type_of(const cJSON *job, const cJSON *pod, char ret_type[64])
{
    const char *type = prg_meta_label(pod, PRG_LABEL_WORKER_TYPE), *name = prg_meta_name(pod);
    const char *owner_name = prg_meta_label(pod, PRG_LABEL_JOB_NAME),
               *owner_uid = prg_meta_label(pod, PRG_LABEL_JOB_UID);
    if (!prg_text_equal(owner_name, prg_meta_name(job)) || !prg_text_equal(owner_uid, prg_meta_uid(job)))
        return false;
    if (prg_owner_controller(pod) && !prg_owner_controls(job, pod))
        return false;
    size_t length = type ? strlen(type) : 0;
    if (!type) { // the second last part of the name
        const char *last = strrchr(name, '-'), *start = last;
        while (start && start > name && start[-1] != '-')
            start--;
        if (!last || start == last)
            return false;
        type = start;
        length = (size_t)(last - start);
    }
    if (length >= 64)
        return false;
    if (ret_type) {
        memcpy(ret_type, type, length);
        ret_type[length] = '\0';
    }
    return true;
}

struct picking {
    const cJSON *job;
    const char *type;
    const cJSON *best;
};

static bool is_finished(const cJSON *pod)
{
    const char *phase = prg_pod_phase(pod);
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

// Times of an API server are RFC 3339 in UTC without fractions: the order of texts is the order of times. Of two pods
// of one second the one that has finished is that of the round before: the next is made when it has.
static bool is_newer(const cJSON *pod, const cJSON *than)
{
    int order = strcmp(prg_meta_created(pod), prg_meta_created(than));
    if (order == 0)
        order = (int)is_finished(than) - (int)is_finished(pod);
    return order > 0 || (order == 0 && strcmp(prg_meta_name(pod), prg_meta_name(than)) > 0);
}

static void visit(const cJSON *pod, void *ctx)
{
    struct picking *picking = ctx;
    char type[64];
    if (!prg_worker_type_of(picking->job, pod, type) || strcmp(type, picking->type) != 0)
        return;
    if (!picking->best || is_newer(pod, picking->best))
        picking->best = pod;
}

const cJSON *prg_pick_worker(const struct prg_reader *store, const cJSON *job, const char *type)
{
    struct picking picking = {job, type, NULL};
    prg_reader_list_labelled(store, "", "Pod", prg_meta_namespace(job), PRG_LABEL_JOB_NAME, prg_meta_name(job), visit,
                             &picking);
    return picking.best;
}

const char *prg_pod_phase(const cJSON *pod)
{
    const char *phase = prg_json_get_text(prg_json_get(pod, "status"), "phase");
    if (!pod)
        return "Unknown";
    return phase && *phase ? phase : "Pending"; // what an API server would have said; a folder says nothing at first
}

const char *prg_pod_node(const cJSON *pod)
{
    const char *node = prg_json_get_text(prg_json_get(pod, "spec"), "nodeName");
    return node ? node : "";
}
