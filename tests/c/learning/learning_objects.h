// SPDX-License-Identifier: Apache-2.0
// learning_objects.h: a job with its Dataset and Models, and YAML into a store: what tests of learning jobs begin with.
#pragma once
#include "support/support.h"

#include <string.h>

#include "store/store_mem.h"
#include "yaml/load.h"

static const char learning_data[] =
    "{apiVersion: sedna.io/v1alpha1, kind: Dataset, metadata: {name: photos, namespace: ns, uid: d1},\n"
    " spec: {url: /data/train.txt, format: txt, nodeName: edge1}}\n"
    "---\n"
    "{apiVersion: sedna.io/v1alpha1, kind: Model, metadata: {name: base, namespace: ns}, spec: {url: "
    "/models/base/m.ckpt, format: ckpt}}\n"
    "---\n"
    "{apiVersion: sedna.io/v1alpha1, kind: Model, metadata: {name: served, namespace: ns}, spec: {url: "
    "/models/served/m.ckpt, format: ckpt}}\n";

static inline const char *learning_job(struct prg_arena *arena, bool is_hot)
{
    return prg_arena_printf(arena,
                            "apiVersion: sedna.io/v1alpha1\n"
                            "kind: IncrementalLearningJob\n"
                            "metadata: {name: helmet, namespace: ns, uid: u1}\n"
                            "spec:\n"
                            "  dataset: {name: photos, trainProb: 0.8}\n"
                            "  initialModel: {name: base}\n"
                            "  outputDir: /output\n"
                            "  trainSpec: {template: {spec: {containers: [{name: w, image: train}]}}}\n"
                            "  evalSpec: {template: {spec: {containers: [{name: w, image: eval}]}}}\n"
                            "  deploySpec:\n"
                            "    model: {name: served%s}\n"
                            "    hardExampleMining: {name: IBT}\n"
                            "    template: {spec: {containers: [{name: w, image: infer}]}}\n",
                            is_hot ? ", hotUpdateEnabled: true" : "");
}

// Adds or replaces every object of a YAML text.
static inline void store_yaml(struct prg_store *store, struct prg_arena *arena, const char *text)
{
    struct prg_yaml_docs docs;
    struct prg_error err = {0};
    assert_ok(prg_yaml_load(arena, "test", text, strlen(text), NULL, &docs, &err), &err);
    for (size_t i = 0; i < docs.count; i++)
        assert_ok(prg_store_mem_put(store, docs.items[i], false, true, &err), &err);
}
