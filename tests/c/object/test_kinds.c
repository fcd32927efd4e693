// SPDX-License-Identifier: Apache-2.0
// test_kinds.c: names of kinds as people type them.
#include <stdio.h>

#include "object_test.h"

#include "object/kinds.h"

static void every_usual_name_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *text, *group, *kind; // NULL: unknown
    } rows[] = {
        {"isvc", "serving.kserve.io", "InferenceService"},
        {"InferenceService", "serving.kserve.io", "InferenceService"},
        {"inferenceserviceS", "serving.kserve.io", "InferenceService"},
        {"isvc.serving.kserve.io", "serving.kserve.io", "InferenceService"},
        {"inferenceservices.v1beta1.serving.kserve.io", "serving.kserve.io", "InferenceService"},
        {"clusterservingruntimes", "serving.kserve.io", "ClusterServingRuntime"},
        {"il", "sedna.io", "IncrementalLearningJob"},
        {"deploy", "apps", "Deployment"},
        {"deployments.apps", "apps", "Deployment"},
        {"deploy.v1.apps", "apps", "Deployment"},
        {"svc", "", "Service"},
        {"secrets", "", "Secret"},
        {"ingresses", "networking.k8s.io", "Ingress"},
        {"ingresss", NULL, NULL},
        {"cm", "", "ConfigMap"},
        {"Service.serving.knative.dev", "serving.knative.dev", "Service"},
        {"services.serving.knative.dev", "serving.knative.dev", "Service"},
        {"ksvc", "serving.knative.dev", "Service"},
        {"deploy.example.com", "example.com", "deploy"},
        {"Rollout.argoproj.io", "argoproj.io", "Rollout"},
        {"isvcs", NULL, NULL},
        {"rollout", NULL, NULL},
        {"s", NULL, NULL},
        {"", NULL, NULL},
        {".apps", NULL, NULL},
        {"deploy.", NULL, NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        char text[64];
        struct prg_kind kind;
        int length = snprintf(text, sizeof(text), "%s/x", rows[i].text) - 2; // what stands behind does not count
        if (prg_kind_named(&arena, text, (size_t)length, &kind) != (rows[i].kind != NULL))
            fail_msg("%s", rows[i].text);
        if (!rows[i].kind)
            continue;
        assert_string_equal(kind.group, rows[i].group);
        assert_string_equal(kind.kind, rows[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_usual_name_is_understood)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
