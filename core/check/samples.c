// SPDX-License-Identifier: Apache-2.0
// samples.c: the built-in objects of `perigee check`: services with and without everything a policy may look at, and
// runtimes that differ in all that orders them (scope, priority, protocol, age), with ties.
#include "check/samples.h"

#include <string.h>

#include "store/store_mem.h"
#include "yaml/load.h"

// clang-format off
static const char config[] =
    "apiVersion: v1\n"
    "kind: ConfigMap\n"
    "metadata: {name: inferenceservice-config, namespace: kserve}\n"
    "data:\n"
    "  deploy: '{\"defaultDeploymentMode\": \"Standard\"}'\n"
    "  ingress: '{\"ingressDomain\": \"example.com\", \"domainTemplate\": \"{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}\","
    " \"urlScheme\": \"http\", \"ingressGateway\": \"a/b\", \"localGateway\": \"a/c\", \"localGatewayService\": \"c.a\","
    " \"disableIngressCreation\": true}'\n"
    "  inferenceService: '{\"serviceAnnotationDisallowedList\": [\"example.com/secret\"]}'\n"
    "  storageInitializer: '{\"image\": \"kserve/storage-initializer:latest\", \"cpuRequest\": \"100m\", \"memoryRequest\":"
    " \"100Mi\", \"cpuLimit\": \"1\", \"memoryLimit\": \"1Gi\", \"cpuModelcar\": \"10m\", \"memoryModelcar\": \"15Mi\"}'\n"
    "  credentials: '{\"storageSpecSecretName\": \"storage-config\"}'\n"
    "---\n"
    "{apiVersion: v1, kind: Namespace, metadata: {name: team-a, labels: {team: a, environment: production}}}\n"
    "---\n"
    "{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}\n";

// NAME, extra spec, extra metadata
#define RUNTIME(kind, name, metadata, spec, image)                                                                     \
    "---\n"                                                                                                            \
    "apiVersion: serving.kserve.io/v1alpha1\n"                                                                         \
    "kind: " kind "\n"                                                                                                 \
    "metadata: {name: " name metadata "}\n"                                                                            \
    "spec:\n" spec                                                                                                     \
    "  containers: [{name: kserve-container, image: " image ", args: ['--model_name={{.Name}}', '--port=8080'],\n"     \
    "    env: [{name: LOG_LEVEL, value: info}], resources: {requests: {cpu: '1', memory: 2Gi}, limits: {cpu: '1'}}}]\n"
#define CLUSTER(name, metadata, spec, image) RUNTIME("ClusterServingRuntime", name, metadata, spec, image)
#define FORMAT(entry) "  supportedModelFormats: [" entry "]\n"

static const char runtimes[] =
    CLUSTER("sklearn-one", ", creationTimestamp: '2026-01-01T00:00:00Z'",
            FORMAT("{name: sklearn, version: '1', autoSelect: true, priority: 1}") "  protocolVersions: [v1, v2]\n",
            "kserve/sklearnserver:latest")
    CLUSTER("sklearn-two", ", creationTimestamp: '2026-02-01T00:00:00Z', labels: {tier: gold}",
            FORMAT("{name: sklearn, version: '1', autoSelect: true, priority: 2}, {name: xgboost, version: '1', autoSelect: true}")
            "  protocolVersions: [v2]\n", "docker.io/seldonio/mlserver:1.5.0")
    CLUSTER("sklearn-tie", ", creationTimestamp: '2026-01-01T00:00:00Z'",
            FORMAT("{name: sklearn, version: '1', autoSelect: true, priority: 1}") "  protocolVersions: [v1, v2]\n",
            "kserve/sklearnserver:v0.15.0")
    CLUSTER("sklearn-plain", "", FORMAT("{name: sklearn, autoSelect: true}"), "sklearn")
    CLUSTER("sklearn-old", ", creationTimestamp: '2024-05-05T05:05:05Z', annotations: {example.com/note: old}",
            FORMAT("{name: sklearn, version: '0', autoSelect: true, priority: 3}, {name: sklearn, version: '1', autoSelect: true}")
            "  protocolVersions: [v1]\n  nodeSelector: {disk: ssd}\n", "registry.example.com:5000/sklearn:0.24@sha256:"
            "0000000000000000000000000000000000000000000000000000000000000000")
    CLUSTER("sklearn-manual", "", FORMAT("{name: sklearn, version: '1', autoSelect: false}"), "sklearn:manual")
    CLUSTER("sklearn-off", "", "  disabled: true\n" FORMAT("{name: sklearn, version: '1', autoSelect: true, priority: 9}"), "x")
    CLUSTER("multi-model", "", "  multiModel: true\n" FORMAT("{name: sklearn, autoSelect: true}"), "kserve/modelmesh:v1")
    CLUSTER("tensorflow", ", annotations: {serving.kserve.io/server-type: tensorflow-serving}",
            FORMAT("{name: tensorflow, version: '2', autoSelect: true, priority: 2}") "  protocolVersions: [v1, grpc-v1]\n"
            "  labels: {owner: platform}\n  annotations: {prometheus.io/port: '8080'}\n", "tensorflow/serving:2.6.2")
    CLUSTER("triton", "", FORMAT("{name: onnx, version: '1', autoSelect: true, priority: 1}, {name: tensorflow, version: '2',"
            " autoSelect: true, priority: 1}") "  protocolVersions: [v2, grpc-v2]\n"
            "  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]\n", "nvcr.io/nvidia/tritonserver:23.05-py3")
    CLUSTER("vllm", ", annotations: {serving.kserve.io/server-type: vllmserver}",
            FORMAT("{name: vLLM, autoSelect: true, priority: 1}") "  protocolVersions: [v2]\n", "vllm/vllm-openai:v0.9.0")
    "---\n"
    "apiVersion: serving.kserve.io/v1alpha1\n"
    "kind: ClusterServingRuntime\n"
    "metadata: {name: huggingface-multinode, annotations: {serving.kserve.io/server-type: huggingfaceserver}}\n"
    "spec:\n"
    "  supportedModelFormats: [{name: huggingface, version: '1', autoSelect: true, priority: 2}]\n"
    "  protocolVersions: [v2, v1]\n"
    "  containers: [{name: kserve-container, image: 'kserve/huggingfaceserver:latest-gpu',\n"
    "    resources: {requests: {nvidia.com/gpu: '1'}, limits: {nvidia.com/gpu: '1'}}}]\n"
    "  workerSpec:\n"
    "    pipelineParallelSize: 2\n"
    "    tensorParallelSize: 1\n"
    "    containers: [{name: worker-container, image: 'kserve/huggingfaceserver:latest-gpu',\n"
    "      resources: {requests: {nvidia.com/gpu: '1'}, limits: {nvidia.com/gpu: '1'}}}]\n"
    RUNTIME("ServingRuntime", "sklearn-team", ", namespace: team-a, creationTimestamp: '2026-03-01T00:00:00Z'",
            FORMAT("{name: sklearn, version: '1', autoSelect: true}") "  protocolVersions: [v1]\n", "team-a/sklearn:7")
    RUNTIME("ServingRuntime", "sklearn-team-two", ", namespace: team-a, creationTimestamp: '2026-03-02T00:00:00Z'",
            FORMAT("{name: sklearn, version: '1', autoSelect: true, priority: 5}") "  protocolVersions: [v2]\n", "team-a/sklearn:8");

#define SERVICE(name, ns, metadata, predictor)                                                                         \
    "---\n"                                                                                                            \
    "apiVersion: serving.kserve.io/v1beta1\n"                                                                          \
    "kind: InferenceService\n"                                                                                         \
    "metadata: {name: " name ", namespace: " ns metadata "}\n"                                                         \
    "spec: {predictor: {" predictor "}}\n"

static const char services[] =
    SERVICE("plain", "team-a", "", "model: {modelFormat: {name: sklearn}, storageUri: 'gs://bucket/model'}")
    SERVICE("plain-b", "team-b", "", "model: {modelFormat: {name: sklearn}}")
    SERVICE("full", "team-a",
            ", labels: {app: shop, cost-centre: '42', example.com/team: a}, annotations: {example.com/secret: x,"
            " example.com/note: why, serving.kserve.io/deploymentMode: Standard, perigee.dev/note: kept},"
            " creationTimestamp: '2026-04-01T10:00:00Z', generation: 3, uid: 11111111-1111-1111-1111-111111111111",
            "labels: {tier: gold}, annotations: {example.com/note: predictor}, minReplicas: 2, maxReplicas: 5, scaleTarget: 80,"
            " nodeSelector: {disk: ssd}, serviceAccountName: robot, model: {modelFormat: {name: sklearn, version: '1'},"
            " protocolVersion: v2, runtimeVersion: 1.2.3, storageUri: 's3://bucket/model', args: [--workers=4, --port, '9000'],"
            " env: [{name: LOG_LEVEL, value: debug}, {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}],"
            " resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: '2', memory: 4Gi}}}")
    SERVICE("named", "team-a", "", "model: {modelFormat: {name: sklearn}, runtime: sklearn-manual, storageUri: 'pvc://claim/model'}")
    SERVICE("named-cluster", "team-b", "", "model: {modelFormat: {name: sklearn, version: '1'}, runtime: sklearn-two}")
    SERVICE("nothing-fits", "team-a", "", "model: {modelFormat: {name: pmml, version: '4'}, storageUri: 'gs://bucket/model'}")
    SERVICE("tensorflow", "team-b", ", labels: {environment: production}",
            "model: {modelFormat: {name: tensorflow, version: '2'}, storageUri: 'hf://org/model', resources: {limits: {nvidia.com/gpu: '1'}}}")
    SERVICE("grpc", "team-b", "", "model: {modelFormat: {name: tensorflow}, protocolVersion: grpc-v1, storageUri: 'https://example.com/m.tar'}")
    SERVICE("mig", "team-a", "", "model: {modelFormat: {name: onnx}, protocolVersion: v2, storageUri: 'gs://bucket/onnx', resources: {requests:"
            " {nvidia.com/mig-1g.5gb: 1}, limits: {nvidia.com/mig-1g.5gb: 1}}}")
    SERVICE("other-gpu", "team-a", "", "model: {modelFormat: {name: vLLM}, storageUri: 'oci://registry/model:1', resources: {limits:"
            " {amd.com/gpu: '2'}}}")
    SERVICE("no-gpu", "team-a", "", "model: {modelFormat: {name: vLLM}, args: [--model=/mnt/models]}")
    SERVICE("nodes", "team-a", "",
            "model: {modelFormat: {name: huggingface}, storageUri: 'pvc://claim/big'}, workerSpec: {pipelineParallelSize: 2,"
            " tensorParallelSize: 1, containers: [{name: worker-container, resources: {requests: {nvidia.com/gpu: '1'},"
            " limits: {nvidia.com/gpu: '1'}}}]}")
    SERVICE("custom", "team-b", "", "containers: [{name: kserve-container, image: 'me/model:1', env: [{name: A, value: b}]}]")
    SERVICE("none", "team-b", ", annotations: {autoscaling.knative.dev/target: '3', serving.kserve.io/autoscalerClass: none}",
            "model: {modelFormat: {name: xgboost, version: '1'}, protocolVersion: v2, storageUri: 'https://example.com/x.tar'}");
// clang-format on

static struct prg_yaml_docs read_text(struct prg_arena *arena, const char *text)
{
    struct prg_yaml_docs docs;
    struct prg_error err = {0};
    char line[PRG_ERROR_LINE];
    if (prg_yaml_load(arena, "samples", text, strlen(text), NULL, &docs, &err) != PRG_OK)
        prg_require_failed(prg_error_text(&err, line, sizeof(line)), __FILE__, __LINE__);
    return docs;
}

static void add(struct prg_store *store, struct prg_arena *arena, const char *text)
{
    struct prg_yaml_docs docs = read_text(arena, text);
    struct prg_error err = {0};
    for (size_t i = 0; i < docs.count; i++)
        prg_require(prg_store_mem_put(store, docs.items[i], true, false, &err) == PRG_OK);
}

const cJSON *prg_check_samples_config(struct prg_arena *arena)
{
    return read_text(arena, config).items[0];
}

struct prg_store *prg_check_samples_new(struct prg_arena *arena)
{
    struct prg_store *store = prg_store_mem_new();
    add(store, arena, config);
    add(store, arena, runtimes);
    add(store, arena, services);
    return store;
}
