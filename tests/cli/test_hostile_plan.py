# SPDX-License-Identifier: Apache-2.0
"""perigee plan on what somebody got wrong: no crash, the exit status that fits, an error that names object and place, and nothing
half made. One table of single mistakes, and a sweep that puts odd values in every place of a service, a runtime and stored objects."""
import concurrent.futures
import copy
import json
import os
import re
import subprocess
import unittest

from support import PERIGEE, ROOT

with open(os.path.join(ROOT, "tests", "cases", "hostile", "whole.json")) as f:
    WHOLE = json.load(f)
GONE = object()
LONG = "x" * 5000


def deep(levels):
    return json.loads('{"a":' * levels + "1" + "}" * levels)


def config_map(sections):
    data = {k: v if isinstance(v, str) else json.dumps(v) for k, v in sections.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inferenceservice-config", "namespace": "kserve"}, "data": data}


def put(document, path, value):
    """Sets, or with GONE removes, what a JSON pointer (without its first slash) names."""
    *parents, last = (part.replace("~1", "/") for part in path.split("/"))
    for part in parents:
        document = document[int(part) if isinstance(document, list) else part]
    last = int(last) if isinstance(document, list) else last
    if value is GONE:
        del document[last]
    elif isinstance(document, list) and last == len(document):
        document.append(value)
    else:
        document[last] = value


def run(text, *args):
    if not isinstance(text, bytes):
        text = (text if isinstance(text, str) else json.dumps({"apiVersion": "v1", "kind": "List", "items": text})).encode()
    return subprocess.run([PERIGEE, "plan", "-f", "-", "--now", "2026-06-01T00:00:00Z", *args], input=text, capture_output=True, timeout=300)


def crash(p):
    err = p.stderr.decode(errors="replace")
    return p.returncode not in (0, 1, 2) or "Sanitizer" in err or "runtime error:" in err


# (name, what, path, value, exit status, texts that the error holds). Status 0: nothing is wrong, or not for the predictor.
# A path may be a dict: several places.
M = "spec/predictor/model/"
W = "spec/predictor/workerSpec/"
ANNOTATION = "metadata/annotations/serving.kserve.io~1"
TABLE = [
    # ---- the service: wrong types at every level
    ("spec is a text", "service", "spec", "x", 1, ["/spec: expected object, got string"]),
    ("spec is null", "service", "spec", None, 1, ["/spec/predictor is missing"]),
    ("spec is gone", "service", "spec", GONE, 1, ["/spec/predictor is missing"]),
    ("spec is a list", "service", "spec", [{}], 1, ["/spec: expected object, got array"]),
    ("predictor is null", "service", "spec/predictor", None, 1, ["/spec/predictor"]),
    ("predictor is empty", "service", "spec/predictor", {}, 1, ["/spec/predictor", "neither a model nor containers"]),
    ("predictor is a number", "service", "spec/predictor", 7, 1, ["/spec/predictor: expected object, got number"]),
    ("model is a text", "service", M[:-1], "sklearn", 1, ["/spec/predictor/model: expected object, got string"]),
    ("model is a list", "service", M[:-1], [], 1, ["/spec/predictor/model: expected object"]),
    ("modelFormat is a text", "service", M + "modelFormat", "sklearn", 1, ["/spec/predictor/model/modelFormat: expected object"]),
    ("format without name", "service", M + "modelFormat", {}, 1, ["format ''"]),
    ("format name is a number", "service", M + "modelFormat/name", 3, 1, ["/spec/predictor/model/modelFormat/name: expected string, got number"]),
    ("format version is a number", "service", M + "modelFormat/version", 1, 1, ["/spec/predictor/model/modelFormat/version: expected string"]),
    ("format name with NUL", "service", M + "modelFormat/name", "a\0b", 1, ["/spec/predictor/model/modelFormat/name", "NUL"]),
    ("runtime is a list", "service", M + "runtime", ["rt"], 1, ["/spec/predictor/model/runtime: expected string, got array"]),
    ("runtime is empty", "service", M + "runtime", "", 1, ["/spec/predictor/model/runtime", "''"]),
    ("runtime is very long", "service", M + "runtime", LONG, 1, ["/spec/predictor/model/runtime"]),
    ("runtime is not there", "service", M + "runtime", "nope", 1, ["'nope'", "default"]),
    ("args is a text", "service", M + "args", "--x", 1, ["/spec/predictor/model/args: expected list, got string"]),
    ("an argument is a number", "service", M + "args/0", 1, 1, ["/spec/predictor/model/args/0: expected string, got number"]),
    ("env is an object", "service", M + "env", {"A": "1"}, 1, ["/spec/predictor/model/env: expected list, got object"]),
    # Names that are missing are empty ones, as in the original; the API server says what it thinks of them.
    ("a variable without name", "service", M + "env/0", {"value": "1"}, 0, []),
    ("a variable that is null", "service", M + "env/0", None, 0, []),
    ("a variable with a number", "service", M + "env/0/value", 1, 1, ["/spec/predictor/model/env/0/value: expected string"]),
    ("a variable that the server's default sets", "service", M + "env/0", {"name": "MLSERVER_MODEL_NAME", "value": "own"}, 0, []),
    ("one variable twice", "service", M + "env/1/name", "A", 0, []),
    ("quantity without digits", "service", M + "resources/limits/cpu", "lots", 1, ["/resources/limits/cpu", "'lots'"]),
    ("quantity with a wrong suffix", "service", M + "resources/limits/cpu", "1Gib", 1, ["/resources/limits/cpu", "1Gib"]),
    ("quantity beyond all bounds", "service", M + "resources/limits/cpu", "1e999999999", 1, ["/resources/limits/cpu"]),
    ("quantity is true", "service", M + "resources/limits/cpu", True, 1, ["/resources/limits/cpu: expected quantity, got boolean"]),
    ("quantity is null", "service", M + "resources/limits/cpu", None, 0, []),
    ("quantity very long", "service", M + "resources/limits/cpu", "1" * 5000, 1, ["/resources/limits/cpu", "too long"]),
    ("limits with an empty name", "service", M + "resources/limits", {"": "1"}, 0, []),
    ("limits is a list", "service", M + "resources/limits", ["cpu"], 1, ["/spec/predictor/model/resources/limits: expected object"]),
    ("port is a text", "service", M + "ports/0/containerPort", "8080", 1, ["/ports/0/containerPort: expected integer, got string"]),
    ("port has a fraction", "service", M + "ports/0/containerPort", 80.5, 1, ["/ports/0/containerPort: expected integer"]),
    ("a number beyond int64", "service", "spec/predictor/minReplicas", 10 ** 30, 1, ["/spec/predictor/minReplicas: expected integer"]),
    ("minReplicas is a text", "service", "spec/predictor/minReplicas", "1", 1, ["/spec/predictor/minReplicas: expected integer, got string"]),
    ("unknown field deep down", "service", "spec/predictor/newerThanUs", deep(60), 0, []),
    ("containers is an object", "service", "spec/predictor/containers", {}, 1, ["/spec/predictor/containers: expected list, got object"]),
    ("a container that is null", "service", "spec/predictor/containers/0", None, 0, []),
    ("a container that is a text", "service", "spec/predictor/containers/1", "x", 1, ["/spec/predictor/containers/1: expected object"]),
    ("a container without name", "service", "spec/predictor/containers/1", {"image": "i"}, 0, []),
    ("a container with an empty name", "service", "spec/predictor/containers/1/name", "", 0, []),
    ("two containers of one name", "service", "spec/predictor/containers/1/name", "transformer-container", 0, []),
    ("container called as the predictor's", "service", "spec/predictor/containers/1/name", "kserve-container", 0, []),
    ("volumes without name", "service", "spec/predictor/volumes/0", {"emptyDir": {}}, 0, []),
    ("a volume that is null", "service", "spec/predictor/volumes/0", None, 0, []),
    ("pull secret without name", "service", "spec/predictor/imagePullSecrets/0", {}, 1, ["service", "/imagePullSecrets/0", "name"]),
    ("custom predictor without kserve-container", "service", {M[:-1]: GONE}, None, 1, ["kserve-container", "/spec/predictor/containers"]),
    ("custom predictor with workerSpec", "service", {M[:-1]: GONE, "spec/predictor/containers/0/name": "kserve-container"}, None, 1, ["/spec/predictor/workerSpec"]),
    # ---- workerSpec
    ("workerSpec is a text", "service", W[:-1], "2", 1, ["/spec/predictor/workerSpec: expected object, got string"]),
    ("workerSpec is empty", "service", W[:-1], {}, 0, []),
    ("workerSpec is null", "service", W[:-1], None, 0, []),
    ("tensor size 0", "service", W + "tensorParallelSize", 0, 1, ["/spec/predictor/workerSpec/tensorParallelSize", "1 or more"]),
    ("tensor size negative", "service", W + "tensorParallelSize", -3, 1, ["/spec/predictor/workerSpec/tensorParallelSize", "-3"]),
    ("tensor size is a text", "service", W + "tensorParallelSize", "2", 1, ["/spec/predictor/workerSpec/tensorParallelSize: expected integer"]),
    ("sizes beyond any cluster", "service", {W + "tensorParallelSize": 2 ** 40, W + "pipelineParallelSize": 2 ** 40}, None, 1, ["ParallelSize", "beyond"]),
    ("worker container without name", "service", W + "containers/0", {}, 0, []),
    ("worker container of another name", "service", W + "containers/0", {"name": "other"}, 1, ["worker-container"]),
    ("worker containers that are texts", "service", W + "containers", ["x"], 1, ["/spec/predictor/workerSpec/containers/0: expected object"]),
    ("GPU count negative", "service", M + "resources/requests", {"nvidia.com/gpu": "-5"}, 1, ["head", "-5"]),
    ("GPU count beyond any node", "service", M + "resources/requests", {"nvidia.com/gpu": "1e30"}, 1, ["head", "nvidia.com/gpu"]),
    ("GPU types that are no JSON", "service", ANNOTATION + "gpu-resource-types", "nvidia", 1, ["serving.kserve.io/gpu-resource-types", "JSON"]),
    ("GPU types that are numbers", "service", ANNOTATION + "gpu-resource-types", "[1]", 1, ["serving.kserve.io/gpu-resource-types", "JSON"]),
    # ---- metadata and annotations of the service
    ("annotations is a list", "service", "metadata/annotations", ["a"], 1, ["/metadata/annotations: expected object, got array"]),
    ("an annotation is a number", "service", "metadata/annotations/x", 5, 1, ["/metadata/annotations/x: expected string, got number"]),
    ("an annotation is null", "service", "metadata/annotations/x", None, 0, []),
    ("labels is a text", "service", "metadata/labels", "a=b", 1, ["/metadata/labels: expected object"]),
    ("unknown mode in the annotation", "service", ANNOTATION + "deploymentMode", "Cluster", 0, []),
    ("unknown autoscaler class", "service", ANNOTATION + "autoscalerClass", "vpa", 1, ["autoscaler class", "vpa"]),
    ("name is gone", "service", "metadata/name", GONE, 2, ["<stdin>:1", "/metadata/name"]),
    ("name is a number", "service", "metadata/name", 7, 2, ["<stdin>:1", "/metadata/name"]),
    ("name is empty", "service", "metadata/name", "", 2, ["<stdin>:1", "/metadata/name"]),
    ("metadata is gone", "service", "metadata", GONE, 2, ["<stdin>:1", "/metadata"]),
    ("metadata is a text", "service", "metadata", "m", 2, ["<stdin>:1", "/metadata"]),
    ("apiVersion is gone", "service", "apiVersion", GONE, 2, ["<stdin>:1", "/apiVersion"]),
    ("kind is a number", "service", "kind", 1, 2, ["<stdin>:1", "/kind"]),
    ("name beyond a host name", "service", "metadata/name", "a" * 70, 1, ["63"]),
    ("generation is a text", "service", "metadata/generation", "3", 1, ["/metadata/generation: expected integer, got string"]),
    # ---- scaling, storage
    ("metric without its part", "service", "spec/predictor/autoScaling/metrics/1", {"type": "PodMetric"}, 1, ["/spec/predictor/autoScaling/metrics/1", "podmetric"]),
    ("averageValue that is no quantity", "service", "spec/predictor/autoScaling/metrics/0/resource/target/averageValue", "much", 1, ["averageValue", "'much'"]),
    ("storageUri with an unknown scheme", "service", M + "storageUri", "foo://x", 1, ["foo://x"]),
    ("storageUri is a list", "service", M + "storageUri", [], 1, ["/spec/predictor/model/storageUri: expected string"]),
    ("storageUri and storage.path", "service", M + "storage", {"path": "a"}, 1, ["storageUri", "storage.path"]),
    ("logger is a text", "service", "spec/predictor/logger", "on", 1, ["/spec/predictor/logger: expected object"]),
    ("batcher size is a text", "service", "spec/predictor/batcher/maxBatchSize", "3", 1, ["/spec/predictor/batcher/maxBatchSize: expected integer"]),
    # ---- status as somebody left it
    ("status is a text", "service", "status", "x", 1, ["/status: expected object"]),
    ("conditions is an object", "service", "status/conditions", {}, 1, ["/status/conditions: expected list"]),
    ("a condition that is null", "service", "status/conditions/0", None, 0, []),
    ("modelStatus is empty", "service", "status/modelStatus", {}, 0, []),
    ("status of another mode", "service", "status/deploymentMode", "Other", 0, []),
    # ---- the runtime
    ("runtime's spec is null", "runtime", "spec", None, 1, ["ClusterServingRuntime RT", "/spec"]),
    ("runtime's spec is a text", "runtime", "spec", "x", 1, ["ClusterServingRuntime RT", "/spec: expected object"]),
    ("runtime without containers", "runtime", "spec/containers", GONE, 1, ["ClusterServingRuntime RT", "container"]),
    ("runtime's containers is an object", "runtime", "spec/containers", {}, 1, ["ClusterServingRuntime RT", "/spec/containers: expected list"]),
    ("runtime's container is null", "runtime", "spec/containers/0", None, 1, ["ClusterServingRuntime RT", "/spec/containers/0"]),
    ("runtime without kserve-container", "runtime", "spec/containers/0/name", "other", 1, ["ClusterServingRuntime RT", "kserve-container"]),
    ("runtime's container without name", "runtime", "spec/containers/0/name", GONE, 1, ["ClusterServingRuntime RT", "kserve-container"]),
    ("runtime's image is a number", "runtime", "spec/containers/0/image", 1, 1, ["ClusterServingRuntime RT", "/spec/containers/0/image: expected string"]),
    ("runtime's quantity is bad", "runtime", "spec/containers/0/resources/limits/cpu", "??", 1, ["ClusterServingRuntime RT", "runtime", "/resources/limits/cpu", "'??'"]),
    ("runtime's variable without name", "runtime", "spec/containers/0/env/0", {"value": "x"}, 0, []),
    ("runtime's mount without path", "runtime", "spec/containers/0/volumeMounts/0", {"name": "v"}, 0, []),
    ("runtime's pull secret without name", "runtime", "spec/imagePullSecrets/0", {}, 1, ["ClusterServingRuntime RT", "runtime", "/imagePullSecrets/0", "name"]),
    ("runtime's extra container has a bad quantity", "runtime", "spec/containers/2", {"name": "extra", "resources": {"limits": {"cpu": "??"}}}, 1,
     ["ClusterServingRuntime RT", "container extra", "/resources/limits/cpu"]),
    ("runtime's placeholder is unknown", "runtime", "spec/containers/0/args/0", "{{.Bad}}", 1, ["RT", "kserve-container", "/args/", ".Bad"]),
    ("runtime's placeholder never ends", "runtime", "spec/containers/0/args/0", "{{ if .Name }}x", 1, ["RT", "kserve-container", "/args/"]),
    ("formats is a text", "runtime", "spec/supportedModelFormats", "sklearn", 1, ["ClusterServingRuntime RT", "/spec/supportedModelFormats"]),
    ("a format that is null", "runtime", "spec/supportedModelFormats/0", None, 1, ["ClusterServingRuntime RT", "/spec/supportedModelFormats"]),
    ("protocols that are null", "runtime", "spec/protocolVersions", [None], 1, ["ClusterServingRuntime RT", "/spec/protocolVersions"]),
    ("disabled is a text", "runtime", "spec/disabled", "no", 1, ["ClusterServingRuntime RT", "/spec/disabled: expected boolean"]),
    ("runtime's workerSpec is null", "runtime", "spec/workerSpec", None, 1, ["ClusterServingRuntime RT", "WorkerSpec"]),
    ("runtime's worker containers are empty", "runtime", "spec/workerSpec/containers", [], 1, ["ClusterServingRuntime RT", "workerSpec"]),
    ("runtime's labels hold numbers", "runtime", "spec/labels", {"a": 1}, 1, ["ClusterServingRuntime RT", "/spec/labels/a: expected string"]),
    ("runtime without metadata", "runtime", "metadata", GONE, 2, ["<stdin>:1", "/metadata"]),
    # ---- the configuration
    ("deploy is no JSON", "config", "deploy", "{", 0, []),
    ("ingress is no JSON", "config", "ingress", "{", 1, ["inferenceservice-config", "ingress"]),
    ("ingress is a list", "config", "ingress", [], 1, ["ingress"]),
    ("domainTemplate is a number", "config", "ingress/domainTemplate", 3, 1, ["inferenceservice-config", "domainTemplate"]),
    ("domainTemplate never ends", "config", "ingress/domainTemplate", "{{ .Name", 1, ["domain"]),
    ("storageInitializer is no JSON", "config", "storageInitializer", "nothing", 1, ["inferenceservice-config", "storageInitializer"]),
    ("storageInitializer is a text", "config", "storageInitializer", '"x"', 1, ["storageInitializer"]),
    ("a size of the initializer is missing", "config", "storageInitializer/cpuLimit", GONE, 1, ["inferenceservice-config", "storageInitializer", "cpuLimit"]),
    ("a size of the initializer is bad", "config", "storageInitializer/cpuLimit", "1x", 1, ["inferenceservice-config", "storageInitializer", "cpuLimit", "'1x'"]),
    ("a size of the initializer is a number", "config", "storageInitializer/cpuLimit", 1, 1, ["inferenceservice-config", "cpuLimit must be a string"]),
    ("inferenceService is null", "config", "inferenceService", "null", 0, []),
    ("disallowed list holds numbers", "config", "inferenceService/serviceAnnotationDisallowedList", [1, None], 1, ["inferenceservice-config", "/serviceAnnotationDisallowedList"]),
    ("GPU types of the configuration are no list", "config", "multiNode/customGPUResourceTypeList", "x", 0, []),
    ("nothing is configured", "config", "", {}, 1, ["inferenceservice-config"]),
    # ---- stored objects
    ("Deployment's status is a text", "stored", "0/status", "x", 0, []),
    ("Deployment's conditions are null", "stored", "0/status/conditions", [None], 0, []),
    ("Deployment's spec is a list", "stored", "0/spec", [], 0, []),
    ("Service without spec", "stored", "2/spec", GONE, 0, []),
    ("HPA's owners are texts", "stored", "3/metadata/ownerReferences", ["m"], 0, []),
    ("pod's status is null", "stored", "7/status", None, 0, []),
    ("pod's container statuses are texts", "stored", "7/status/containerStatuses", ["x"], 0, []),
    ("pod's state is a number", "stored", "7/status/containerStatuses/0/state", 1, 0, []),
    ("pod was made at no time", "stored", "7/metadata/creationTimestamp", "yesterday", 0, []),
    ("pod ends without saying how", "stored", "7/status/containerStatuses/0/lastState", {}, 1, ["pod p1", "lastState"]),
    ("stored object without name", "stored", "0/metadata/name", GONE, 2, ["<stdin>:1", "/metadata/name"]),
    # ---- storage containers
    ("storage container without spec", "storageContainer", "spec", GONE, 0, []),
    ("storage container with a bad expression", "storageContainer", "spec/supportedUriFormats", [{"regex": "("}], 1, ["storage"]),
    ("storage container with an escaped letter", "storageContainer", "spec/supportedUriFormats", [{"regex": "\\\u00e9"}], 1, ["storage", "escape"]),
    ("storage container with texts for formats", "storageContainer", "spec/supportedUriFormats", ["gs://"], 0, []),
]
# Errors that the plan goes on after: what is stored tells them, and the objects do not depend on it.
KEEPS_OBJECTS = {"pod ends without saying how"}


def items_of(whole):
    return [whole["service"], whole["runtime"], whole["storageContainer"], config_map(whole["config"])] + whole["stored"]


def mistake(what, path, value):
    whole = copy.deepcopy(WHOLE)
    for one, new in (path if isinstance(path, dict) else {path: value}).items():
        if not one:
            whole[what] = new
        elif what == "config" and isinstance(new, str) and "/" not in one:
            whole["config"][one] = new
        else:
            put(whole[what], one, new)
    return items_of(whole)


def judge(row):
    name, what, path, value, code, texts = row
    p = run(mistake(what, path, value), "-n", "default", "-o", "json")
    err = p.stderr.decode(errors="replace")
    if crash(p) or p.returncode != code:
        return f"{name}: exit {p.returncode}, expected {code}: {err[:1500] or p.stdout[-500:]}"
    if code == 2:
        error, objects = err, []
    else:
        plan = json.loads(p.stdout)
        plan = plan["items"][0] if "items" in plan else plan
        error, objects = plan["error"] or "", plan["objects"]
        if bool(error) != (code == 1):
            return f"{name}: exit {code}, but error {error!r}"
        if error and objects and name not in KEEPS_OBJECTS:
            return f"{name}: {len(objects)} objects beside the error {error!r}"
        # for people who do not read JSON: the object is named on stderr
        out = run(mistake(what, path, value), "-n", "default", "-o", "name")
        if error and not re.match(r"error: InferenceService default/\S+: \S", out.stderr.decode(errors="replace").split("warning: ")[-1].splitlines()[-1] + " "):
            return f"{name}: stderr does not name the object: {out.stderr.decode(errors='replace')[-300:]}"
    for text in texts:
        if text not in error:
            return f"{name}: {error!r} does not hold {text!r}"
    return None


TEXTS = [
    ("empty input", b"", 2, ""),
    ("not UTF-8", b"apiVersion: v1\nkind: \xff\xfe\n", 2, "<stdin>"),
    ("bad YAML", b"a: [1\nb: }", 2, "<stdin>:2"),
    ("bad indentation", b"apiVersion: v1\n kind: x\n", 2, "<stdin>:2"),
    ("a list of texts", b"- a\n- b\n", 2, "<stdin>"),
    ("a number", b"42\n", 2, "<stdin>"),
    ("a key twice", b"apiVersion: v1\napiVersion: v2\nkind: A\nmetadata: {name: a}\n", 2, "<stdin>:2"),
    ("nested without end", b"[" * 100000, 2, "<stdin>"),
    ("an anchor that explodes", b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % ((i + 1, i + 1) + (i,) * 9) for i in range(97, 110)), 2, "<stdin>"),
    ("a List whose items are texts", b'{"apiVersion": "v1", "kind": "List", "items": ["a"]}', 2, "<stdin>"),
    ("a List without items", b'{"apiVersion": "v1", "kind": "List"}', 2, ""),
    ("NUL in the text", b"apiVersion: v1\nkind: A\0B\nmetadata: {name: a}\n", 2, "<stdin>"),
]


def paths(node, path=()):
    if path:
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from paths(value, path + (key,))


IDENTITY = re.compile(r"^(\d+/)?(apiVersion|kind|metadata|metadata/name(space)?)$|^\d+$")
ODD = [None, "", -1, [None], {"": None}, "a\0b"]


def sweep(what):
    """Stores of many services, each with one odd value somewhere, in a namespace of its own."""
    variants = []
    for path in paths(WHOLE[what]):
        text = "/".join(str(part).replace("/", "~1") for part in path)
        if not IDENTITY.match(text):
            variants += [(text, value) for value in ODD]
    for start in range(0, len(variants), 80):
        items = [config_map(WHOLE["config"]), WHOLE["storageContainer"]]
        for n, (text, value) in enumerate(variants[start:start + 80]):
            whole = {k: copy.deepcopy(WHOLE[k]) for k in ("service", "runtime", "stored")}
            put(whole[what], text, copy.deepcopy(value))
            whole["service"]["metadata"]["namespace"] = f"n{n}"
            whole["runtime"]["metadata"]["name"] = f"RT{n}"
            try:
                if whole["service"]["spec"]["predictor"]["model"]["runtime"] == "RT":
                    whole["service"]["spec"]["predictor"]["model"]["runtime"] = f"RT{n}"
            except (TypeError, KeyError):
                pass
            items += [whole["service"], whole["runtime"]]
            if what == "stored":
                for o in whole["stored"]:
                    o["metadata"]["namespace"] = f"n{n}"
                items += [o for o in whole["stored"] if o["kind"] != "Namespace"]
        yield [f"{text} = {value!r}" for text, value in variants[start:start + 80]], items


def judge_batch(batch):
    names, items = batch
    p = run(items, "-A", "-o", "name")
    err = p.stderr.decode(errors="replace")
    if crash(p) or p.returncode == 2:
        return f"one of {names[0]} … {names[-1]}: exit {p.returncode}: {err[-1500:]}"
    for line in err.splitlines():
        if line.startswith("error: ") and (not re.match(r"error: InferenceService n\d+/m: \S", line) or "policy " in line):
            return f"one of {names[0]} … {names[-1]}: {line[:600]}"
    return None


class HostilePlan(unittest.TestCase):
    def all(self, judge_one, rows):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            bad = [b for b in pool.map(judge_one, rows) if b]
        self.assertEqual(bad, [], "\n".join(bad))

    def test_without_a_mistake_everything_is_planned(self):
        p = run(items_of(WHOLE), "-n", "default", "-o", "name")
        self.assertEqual((p.returncode, p.stderr), (0, b""))
        self.assertIn(b"deployment.apps/m-predictor-worker", p.stdout)

    def test_single_mistakes(self):
        self.assertGreaterEqual(len(TABLE), 60)
        self.assertEqual(len({row[0] for row in TABLE}), len(TABLE))
        self.all(judge, TABLE)

    def test_a_name_with_control_characters_stays_on_its_line(self):
        name = "odd\n::error::not ours\x1b[31m\x7f"
        manifest = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": name},
                    "spec": {"predictor": {"model": {"modelFormat": {"name": "none"}, "storageUri": "s3://a/b"}}}}
        p = subprocess.run([PERIGEE, "plan", "-f", "-", "--explain"], input=json.dumps(manifest), capture_output=True, text=True)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stderr, r"^error: InferenceService default/odd ::error::not ours \[31m : [^\n]*\n$")
        self.assertNotRegex(p.stdout + p.stderr, "[\x1b\x7f]")

    def test_texts_that_are_no_manifests(self):
        for name, text, code, part in TEXTS:
            with self.subTest(name):
                p = run(text)
                self.assertFalse(crash(p), p.stderr[-2000:])
                self.assertEqual(p.returncode, code, p.stderr)
                self.assertIn(part, p.stderr.decode(errors="replace"))
                self.assertEqual(p.stdout, b"")

    def test_where_only_the_configuration_says_the_mode_it_must_be_readable(self):
        for deploy, parts in (("{", ["inferenceservice-config", "deploy"]), ('{"defaultDeploymentMode": "Cloud"}', ["/defaultDeploymentMode", "'Cloud'"])):
            whole = copy.deepcopy(WHOLE)
            del whole["service"]["metadata"]["annotations"]["serving.kserve.io/deploymentMode"]
            del whole["service"]["status"]["deploymentMode"]
            whole["config"]["deploy"] = deploy
            p = run(items_of(whole), "-n", "default", "inferenceservice/m", "-o", "json")
            plan = json.loads(p.stdout)
            self.assertEqual((p.returncode, plan["objects"]), (1, []))
            for part in parts:
                self.assertIn(part, plan["error"])

    def test_odd_values_everywhere_in_a_service(self):
        self.all(judge_batch, sweep("service"))

    def test_odd_values_everywhere_in_a_runtime(self):
        self.all(judge_batch, sweep("runtime"))

    def test_odd_values_everywhere_in_stored_objects(self):
        self.all(judge_batch, sweep("stored"))

    def test_a_broken_runtime_does_not_keep_services_from_another(self):
        for path, value in (("spec", None), ("spec/protocolVersions", [None]), ("spec/supportedModelFormats", [7]), ("spec/disabled", "x"),
                            ("spec/supportedModelFormats/0/name", "a\0b")):
            with self.subTest(path):
                whole = copy.deepcopy(WHOLE)
                del whole["service"]["spec"]["predictor"]["model"]["runtime"]
                broken = copy.deepcopy(WHOLE["runtime"])
                broken["metadata"]["name"] = "broken"
                put(broken, path, value)
                p = run(items_of(whole) + [broken], "-n", "default", "inferenceservice/m", "-o", "json")
                plan = json.loads(p.stdout)
                self.assertEqual((p.returncode, plan["error"]), (0, None))
                self.assertEqual(plan["resource"]["status"]["clusterServingRuntimeName"], "RT")
                why = [t["reason"] for t in plan["trace"] if t["subject"] == "ClusterServingRuntime broken" and t["outcome"] == "rejected"]
                self.assertEqual(len(why), 1)
                self.assertIn("/spec", why[0])
