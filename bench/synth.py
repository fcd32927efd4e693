# SPDX-License-Identifier: Apache-2.0
"""Makes the objects that both sides of the benchmarks read: runtimes, InferenceServices, their Deployments and Pods.

An object depends on its number only, so every run sees the same bytes. Pods, Deployments and services look as an API
server stores them: defaults filled in, uid, resourceVersion, managedFields, status. A Pod takes 7 KB, 3 KB of it
managedFields.
"""
import hashlib
import json
import os
import time

NAMESPACES = 50
EPOCH = 1767225600  # 2026-01-01T00:00:00Z
MODEL = "hf://meta-llama/Llama-3.1-8B-Instruct"

# name, image, protocols, formats (name, version, priority, autoSelect), on a GPU: the shape of a usual catalog.
RUNTIMES = [
    ("huggingface-vllm", "vllm/vllm-openai:v0.11.0", ["v2", "v1"], [("huggingface", "1", 1, True), ("vLLM", "1", 1, True)], True),
    ("huggingface-multi", "kserve/huggingfaceserver:v0.19.0-gpu", ["v2", "v1"], [("huggingface", "1", 2, True)], True),
    ("huggingface-cpu", "kserve/huggingfaceserver:v0.19.0", ["v2", "v1"], [("huggingface", "1", 1, True)], False),
    ("lightgbm", "kserve/lgbserver:v0.19.0", ["v1", "v2"], [("lightgbm", "4", 1, True)], False),
    ("mlserver", "docker.io/seldonio/mlserver:1.7.1", ["v2"],
     [("sklearn", "0", 2, True), ("sklearn", "1", 2, True), ("xgboost", "1", 2, True), ("xgboost", "2", 2, True),
      ("lightgbm", "3", 2, True), ("lightgbm", "4", 2, True), ("mlflow", "1", 1, True), ("mlflow", "2", 1, True)], False),
    ("openvino", "openvino/model_server:2025.3", ["v2"],
     [("openvino", "10", 1, True), ("onnx", "1", 2, True), ("tensorflow", "1", 3, True), ("huggingface", "1", 0, False)], False),
    ("paddle", "kserve/paddleserver:v0.19.0", ["v1", "v2"], [("paddle", "2", 1, True)], False),
    ("pmml", "kserve/pmmlserver:v0.19.0", ["v1", "v2"], [("pmml", "3", 1, True), ("pmml", "4", 1, True)], False),
    ("predictive", "kserve/predictiveserver:v0.19.0", ["v1", "v2"],
     [("sklearn", "1", 3, False), ("xgboost", "2", 3, False), ("lightgbm", "4", 3, False)], False),
    ("sklearn", "kserve/sklearnserver:v0.19.0", ["v1", "v2"], [("sklearn", "1", 1, True)], False),
    ("tensorflow", "tensorflow/serving:2.19.0", ["v1", "grpc-v1"], [("tensorflow", "1", 2, True), ("tensorflow", "2", 2, True)], False),
    ("torchserve", "pytorch/torchserve-kfs:0.12.0", ["v1", "v2", "grpc-v2"], [("pytorch", "1", 2, True)], True),
    ("triton", "nvcr.io/nvidia/tritonserver:25.08-py3", ["v2", "grpc-v2"],
     [("tensorrt", "8", 1, True), ("tensorflow", "1", 1, True), ("tensorflow", "2", 1, True), ("onnx", "1", 1, True),
      ("pytorch", "1", 0, False), ("triton", "2", 1, True)], True),
    ("xgboost", "kserve/xgbserver:v0.19.0", ["v1", "v2"], [("xgboost", "2", 1, True)], False),
    ("huggingface-lab", "untrusted/hf-lab:nightly", ["v1", "v2"], [("huggingface", "1", 9, True)], True),
]


def stamp(i):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH + i))


def uid(kind, i):
    h = hashlib.md5(f"{kind}/{i}".encode(), usedforsecurity=False).hexdigest()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def namespace(i):
    return f"team-{i % NAMESPACES:02d}"


def probe(delay, **more):
    return {"httpGet": {"path": "/health", "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": delay, "timeoutSeconds": 1,
            "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 60, **more}


def container(image, gpu):
    limits = {"cpu": "8", "memory": "32Gi"}
    requests = {"cpu": "4", "memory": "16Gi"}
    if gpu:
        limits["nvidia.com/gpu"] = requests["nvidia.com/gpu"] = "1"
    return {
        "name": "kserve-container",
        "image": image,
        "command": ["python3", "-m", "vllm.entrypoints.openai.api_server"],
        "args": ["--port=8080", "--model=/mnt/models", "--served-model-name={{.Name}}", "--disable-log-requests",
                 "--gpu-memory-utilization=0.92"],
        "ports": [{"name": "http1", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "HF_HOME", "value": "/hf-cache"},
            {"name": "LMCACHE_USE_EXPERIMENTAL", "value": "True"},
            {"name": "VLLM_WORKER_MULTIPROC_METHOD", "value": "spawn"},
            {"name": "OMP_NUM_THREADS", "value": "8"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {"requests": requests, "limits": limits},
        "volumeMounts": [{"name": "devshm", "mountPath": "/dev/shm"}, {"name": "hf-cache", "mountPath": "/hf-cache"}],
        "readinessProbe": probe(30),
        "livenessProbe": probe(60),
        "securityContext": {"allowPrivilegeEscalation": False, "privileged": False, "runAsNonRoot": True,
                            "capabilities": {"drop": ["ALL"]}},
    }


def runtime(i):
    """Every fifth after the first fifteen is of namespace 0, the others of the cluster; every seventeenth is disabled."""
    base, image, protocols, formats, gpu = RUNTIMES[i % len(RUNTIMES)]
    generation = i // len(RUNTIMES)
    name = f"rt-{base}" + (f"-r{generation:03d}" if generation else "")
    metadata = {
        "name": name, "uid": uid("runtime", i), "resourceVersion": str(1000 + i), "creationTimestamp": stamp(i), "generation": 1,
        "labels": {"app.kubernetes.io/part-of": "model-serving", "accelerator": "nvidia" if gpu else "none"},
        "annotations": {"serving.kserve.io/server-type": base},
    }
    kind = "ClusterServingRuntime"
    if i >= len(RUNTIMES) and i % 5 == 0:
        kind = "ServingRuntime"
        metadata["namespace"] = namespace(0)
    spec = {
        "annotations": {"prometheus.kserve.io/port": "8080", "prometheus.kserve.io/path": "/metrics"},
        "labels": {"runtime-family": base},
        "supportedModelFormats": [{"name": n, "version": v, "autoSelect": auto, **({"priority": p} if p else {})}
                                  for n, v, p, auto in formats],
        "protocolVersions": protocols,
        "containers": [container(image, gpu)],
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [{"name": "devshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
                    {"name": "hf-cache", "persistentVolumeClaim": {"claimName": "hf-cache"}}],
    }
    if i % 17 == 16:
        spec["disabled"] = True
    return {"apiVersion": "serving.kserve.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


# ---- what a server adds ----

LIST_KEYS = (("name",), ("containerPort", "protocol"), ("mountPath",), ("type",), ("ip",), ("uid",))


def field_set(value):
    """FieldsV1 of a value: maps by member, lists of named things by their keys, other lists as one."""
    if isinstance(value, dict):
        return {f"f:{key}": field_set(item) for key, item in value.items()}
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return {}
    for keys in LIST_KEYS:
        if all(key in value[0] for key in keys):
            out = {".": {}}
            for item in value:
                key = json.dumps({k: item[k] for k in keys}, separators=(",", ":"))
                out[f"k:{key}"] = {".": {}, **field_set(item)}
            return out
    return {}


def stored(obj, i, status, controller, status_manager):
    """The object as an API server stores it, with its two managers."""
    metadata = obj["metadata"]
    api = obj["apiVersion"]
    owned = {"f:metadata": field_set({k: metadata[k] for k in ("annotations", "labels", "ownerReferences") if k in metadata}),
             "f:spec": field_set(obj["spec"])}
    entry = {"operation": "Update", "apiVersion": api, "time": stamp(i), "fieldsType": "FieldsV1"}
    obj["metadata"] = {
        **{k: metadata[k] for k in ("name", "namespace")}, "uid": uid(obj["kind"], i), "resourceVersion": str(100000 + i),
        "generation": 1, "creationTimestamp": stamp(i), **metadata,
        "managedFields": [{"manager": controller, **entry, "fieldsV1": owned},
                          {"manager": status_manager, **entry, "fieldsV1": {"f:status": field_set(status)}, "subresource": "status"}],
    }
    obj["status"] = status
    return obj


# ---- a service, its Deployment and its Pods ----

def service_spec():
    return {"predictor": {
        "minReplicas": 1, "maxReplicas": 4, "scaleMetric": "cpu", "scaleTarget": 70,
        "serviceAccountName": "models",
        "nodeSelector": {"accelerator": "nvidia-h100"},
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "llm", "effect": "NoSchedule"}],
        "volumes": [{"name": "adapters", "persistentVolumeClaim": {"claimName": "lora-adapters"}},
                    {"name": "devshm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}],
        "model": {
            "modelFormat": {"name": "huggingface", "version": "1"},
            "protocolVersion": "v2",
            "storageUri": MODEL,
            "args": ["--max-model-len=32768", "--enable-lora", "--max-num-seqs=256", "--tensor-parallel-size=1"],
            "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token"}}},
                    {"name": "OMP_NUM_THREADS", "value": "16"},
                    {"name": "VLLM_ATTENTION_BACKEND", "value": "FLASHINFER"}],
            "resources": {"requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                          "limits": {"cpu": "16", "memory": "96Gi", "nvidia.com/gpu": "1"}},
            "volumeMounts": [{"name": "adapters", "mountPath": "/adapters", "readOnly": True}],
            "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}, "initialDelaySeconds": 60, "periodSeconds": 5,
                               "failureThreshold": 120},
        },
    }}


def service(i):
    return {
        "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
        "metadata": {
            "name": f"llm-{i:05d}", "namespace": namespace(i),
            "labels": {"team": namespace(i), "model-family": "llama", "tier": "gold"},
            "annotations": {"example.com/owner": "ml-platform@example.com", "serving.kserve.io/autoscalerClass": "hpa",
                            "serving.kserve.io/deploymentMode": "Standard"},
        },
        "spec": service_spec(),
    }


def service_status(i):
    name, ns = f"llm-{i:05d}", namespace(i)
    return {
        "observedGeneration": 1,
        "conditions": [{"type": t, "status": "True", "severity": "Info", "lastTransitionTime": stamp(i)}
                       for t in ("IngressReady", "PredictorReady", "Ready")],
        "url": f"http://{name}-{ns}.example.com",
        "address": {"url": f"http://{name}-predictor.{ns}.svc.cluster.local"},
        "deploymentMode": "Standard",
        "servingRuntimeName": "rt-huggingface-vllm",
        "components": {"predictor": {"url": f"http://{name}-predictor-{ns}.example.com"}},
        "modelStatus": {"copies": {"failedCopies": 0, "totalCopies": 1},
                        "states": {"activeModelState": "Loaded", "targetModelState": "Loaded"}, "transitionStatus": "UpToDate"},
    }


def stored_service(i):
    return stored(service(i), i, service_status(i), "kubectl-create", "kserve")


def template(i):
    labels = {
        "app": f"isvc.llm-{i:05d}-predictor", "component": "predictor", "serving.kserve.io/inferenceservice": f"llm-{i:05d}",
        "team": namespace(i), "model-family": "llama", "tier": "gold",
    }
    annotations = {
        "internal.serving.kserve.io/storage-initializer-sourceuri": MODEL, "prometheus.kserve.io/path": "/metrics",
        "prometheus.kserve.io/port": "8080", "serving.kserve.io/autoscalerClass": "hpa", "serving.kserve.io/deploymentMode": "Standard",
    }
    main = container("vllm/vllm-openai:v0.11.0", True)
    main.update({
        "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "volumeMounts": [{"name": "devshm", "mountPath": "/dev/shm"}, {"name": "hf-cache", "mountPath": "/hf-cache"},
                         {"name": "kserve-provision-location", "mountPath": "/mnt/models", "readOnly": True}],
    })
    spec = {
        "volumes": [{"name": "devshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
                    {"name": "hf-cache", "persistentVolumeClaim": {"claimName": "hf-cache"}},
                    {"name": "kserve-provision-location", "emptyDir": {}}],
        "containers": [main], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "nodeSelector": {"accelerator": "nvidia-h100", "kubernetes.io/arch": "amd64"},
        "serviceAccountName": "models", "serviceAccount": "models", "securityContext": {}, "schedulerName": "default-scheduler",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                        {"key": "dedicated", "operator": "Equal", "value": "llm", "effect": "NoSchedule"}],
    }
    return labels, annotations, spec


def owner(api, kind, name, owner_uid):
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": owner_uid, "controller": True, "blockOwnerDeletion": True}]


def deployment(i):
    labels, annotations, spec = template(i)
    obj = {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": f"llm-{i:05d}-predictor", "namespace": namespace(i), "labels": labels, "annotations": annotations,
                     "ownerReferences": owner("serving.kserve.io/v1beta1", "InferenceService", f"llm-{i:05d}",
                                              uid("InferenceService", i))},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": labels["app"]}},
                 "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec},
                 "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
                 "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    }
    times = {"lastUpdateTime": stamp(i), "lastTransitionTime": stamp(i)}
    status = {
        "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "conditions": [{"type": "Available", "status": "True", **times, "reason": "MinimumReplicasAvailable",
                        "message": "Deployment has minimum availability."},
                       {"type": "Progressing", "status": "True", **times, "reason": "NewReplicaSetAvailable",
                        "message": "ReplicaSet has successfully progressed."}],
    }
    return stored(obj, i, status, "kube-controller-manager", "kube-controller-manager")


def pod_status(i, n):
    """Of running pod i after n updates."""
    ip, host = f"10.{64 + (i >> 16)}.{i >> 8 & 255}.{i & 255}", f"172.16.{i % 512 >> 8}.{i & 255}"
    return {
        "phase": "Running",
        "conditions": [{"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": stamp(i + n)} for t in
                       ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")],
        "hostIP": host, "hostIPs": [{"ip": host}], "podIP": ip, "podIPs": [{"ip": ip}], "startTime": stamp(i),
        "containerStatuses": [{
            "name": "kserve-container", "state": {"running": {"startedAt": stamp(i + n)}}, "lastState": {}, "ready": True,
            "restartCount": n, "image": "docker.io/vllm/vllm-openai:v0.11.0",
            "imageID": "docker.io/vllm/vllm-openai@sha256:" + hashlib.sha256(b"image").hexdigest(),
            "containerID": "containerd://" + hashlib.sha256(str(i).encode()).hexdigest(), "started": True}],
        "qosClass": "Burstable",
    }


def pod(i):
    """Three Pods belong to each service."""
    labels, annotations, spec = template(i // 3)
    for key in ("tier", "model-family"):
        del labels[key]
    for key in ("serving.kserve.io/autoscalerClass", "serving.kserve.io/deploymentMode", "prometheus.kserve.io/path"):
        del annotations[key]
    labels["pod-template-hash"] = f"{i // 3 * 7919:010x}"
    replica_set = f"llm-{i // 3:05d}-predictor-{labels['pod-template-hash']}"
    main = spec["containers"][0]
    main["env"] = main["env"][:2]
    del main["livenessProbe"]
    spec.update({"nodeName": f"gpu-node-{i % 512:04d}", "priority": 0, "enableServiceLinks": True,
                 "preemptionPolicy": "PreemptLowerPriority"})
    spec["tolerations"] += [{"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                            for why in ("not-ready", "unreachable")]
    obj = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": f"{replica_set}-{i:05x}", "namespace": namespace(i // 3), "labels": labels, "annotations": annotations,
                     "ownerReferences": owner("apps/v1", "ReplicaSet", replica_set, uid("ReplicaSet", i // 3))},
        "spec": spec,
    }
    return stored(obj, i, pod_status(i, 0), "kube-controller-manager", "kubelet")


CONFIG = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inferenceservice-config", "namespace": "kserve"},
    "data": {key: json.dumps(value) for key, value in {
        "explainers": {},
        "storageInitializer": {"image": "kserve/storage-initializer:v0.19.0", "memoryRequest": "100Mi", "memoryLimit": "1Gi",
                               "cpuRequest": "100m", "cpuLimit": "1", "enableModelcar": True, "cpuModelcar": "10m",
                               "memoryModelcar": "15Mi", "uidModelcar": 1010},
        "credentials": {"storageSpecSecretName": "storage-config"},
        "ingress": {"ingressGateway": "kserve/kserve-ingress-gateway", "ingressDomain": "example.com", "ingressClassName": "istio",
                    "domainTemplate": "{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}", "urlScheme": "http"},
        "deploy": {"defaultDeploymentMode": "Standard"},
        "service": {"serviceClusterIPNone": False},
    }.items()},
}


# ---- files ----

def compact(obj):
    return json.dumps(obj, separators=(",", ":"))


def write(folder, name, text):
    # Written beside and renamed: a run that is stopped leaves no half file behind.
    path = os.path.join(folder, name)
    new = f"{path}.{os.getpid()}.new"
    with open(new, "w") as f:
        f.write(text)
    os.rename(new, path)


def write_lists(folder, counts, most=None):
    """runtimes-N.json, runtime.json, isvc.json, config.json: what decisions are about."""
    os.makedirs(folder, exist_ok=True)
    for n in counts:
        write(folder, f"runtimes-{n}.json", compact({"apiVersion": "v1", "kind": "List", "items": [runtime(i) for i in range(min(n, most or n))]}))
    subject = service(0)
    subject["metadata"].update({"uid": uid("InferenceService", 0), "generation": 1})
    write(folder, "isvc.json", compact(subject))
    write(folder, "runtime.json", compact(runtime(0)))
    write(folder, "config.json", compact(CONFIG))


def write_stream(folder, name, head, texts, tail, between):
    path = os.path.join(folder, name)
    new = f"{path}.{os.getpid()}.new"
    with open(new, "w") as f:
        f.write(head)
        for i, text in enumerate(texts):
            f.write((between if i else "") + text)
        f.write(tail)
    os.rename(new, path)


def item(obj):
    """As in a list of a built-in kind: without apiVersion and kind."""
    return compact({key: value for key, value in obj.items() if key not in ("apiVersion", "kind")})


def churned(i, n, version):
    """The watch event of the n-th status update of pod i."""
    obj = pod(i)
    obj["status"] = pod_status(i, n)
    obj["metadata"]["resourceVersion"] = str(version)
    return compact({"type": "MODIFIED", "object": obj})


def write_fleet(folder, services, pods, events):
    """Bodies of LIST and WATCH as replay.py serves them: <resource>.list.json, pods.watch.json, and discovery."""
    os.makedirs(folder, exist_ok=True)
    meta = '"metadata":{"resourceVersion":"500000"}'
    built_in = '{"kind":"%sList","apiVersion":"%s",' + meta + ',"items":['
    write_stream(folder, "deployments.list.json", built_in % ("Deployment", "apps/v1"), (item(deployment(i)) for i in range(services)), "]}", ",")
    write_stream(folder, "pods.list.json", built_in % ("Pod", "v1"), (item(pod(i)) for i in range(pods)), "]}", ",")
    # Custom resources: every item with its type, the metadata last.
    write_stream(folder, "inferenceservices.list.json", '{"apiVersion":"serving.kserve.io/v1beta1","items":[',
                 (compact(stored_service(i)) for i in range(services)), '],"kind":"InferenceServiceList",' + meta + "}", ",")
    write_stream(folder, "pods.watch.json", "", (churned(i % pods, 1 + i // pods, 500001 + i) for i in range(events)), "\n", "\n")
    write(folder, "counts.json", compact({"inferenceservices": services, "deployments": services, "pods": pods, "events": events}))


def write_cluster(folder, runtimes):
    """The lists beside those of a fleet that planning a service asks for."""
    made = [runtime(i) for i in range(runtimes)]
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(0)}}
    lists = {"servingruntimes": [r for r in made if r["kind"] == "ServingRuntime"],
             "clusterservingruntimes": [r for r in made if r["kind"] == "ClusterServingRuntime"],
             "clusterstoragecontainers": [], "configmaps": [CONFIG], "namespaces": [space]}
    for resource, items in lists.items():
        kind = {"servingruntimes": "ServingRuntimeList", "clusterservingruntimes": "ClusterServingRuntimeList"}.get(resource, "List")
        api = "serving.kserve.io/v1alpha1" if "serving" in resource or "storage" in resource else "v1"
        write(folder, f"{resource}.list.json", compact({"kind": kind, "apiVersion": api, "metadata": {"resourceVersion": "500000"}, "items": items}))
