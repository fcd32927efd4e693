# SPDX-License-Identifier: Apache-2.0
"""perigee controller in the lab: installed as deploy/ says, run with the account that deploy/ makes."""
import copy
import itertools
import json
import os
import re
import signal
import subprocess
import time
import urllib.request

import yaml

from lab import Refused, definition_files, free_ports, until
from support import ACCOUNT, PERIGEE, ROOT, SYSTEM, Case, install, install_definitions, load, original_definitions

CONFIG = {"deploy": '{"defaultDeploymentMode": "Standard"}'}  # over the shipped inferenceservice-config
_deployed = []
_numbers = itertools.count(1)


def kustomize(lab, *folder):
    """What `kubectl apply -k` would send."""
    return [d for d in yaml.safe_load_all(lab.kubectl("kustomize", os.path.join(ROOT, "deploy", *folder))) if d]


def deploy(lab, api):
    """Everything of deploy/controller but the pods: the tests run the binary themselves."""
    if _deployed:
        return
    original_definitions(api)
    install(api, [o for o in kustomize(lab, "controller") if o["kind"] not in ("Deployment", "PodDisruptionBudget")])
    install(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kserve"}}])
    config = load("runtime-catalog", "config", "inferenceservice-config.yaml")[0]
    config["data"].update(CONFIG)
    install(api, [config, *load("runtime-catalog", "storagecontainers", "default.yaml")])
    for name in sorted(os.listdir(os.path.join(ROOT, "runtime-catalog", "runtimes"))):
        install(api, load("runtime-catalog", "runtimes", name))
    _deployed.append(True)


def account_token(api, name=ACCOUNT, seconds=7200):
    answer = api.call("POST", f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{name}/token",
                      {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}})
    return answer["status"]["token"]


class Controller:
    """One process of `perigee controller`. Its log is in .log; where it listens in .url."""

    def __init__(self, lab, folder, name, *args, url=None, ca=None, token=None, kubeconfig=None, env=None):
        self.lab, self.name, self.env = lab, name, env or {}
        if kubeconfig is None:
            file = os.path.join(folder, name + ".token")
            with open(file, "w") as f:
                f.write(token or account_token(lab.api()))
            kubeconfig = lab.write_kubeconfig(os.path.join(folder, name + ".kubeconfig"), None, url=url, ca=ca,
                                              token_file=file, namespace=SYSTEM)
            self.token_file = file
        self.port = free_ports(1)[0]
        self.log_path = os.path.join(folder, name + ".log")
        # Without --policies: in a pod (POD_NAMESPACE) that is the ConfigMap perigee-policies beside it.
        self.command = [PERIGEE, "controller", "--kubeconfig", kubeconfig,
                        "--metrics-listen", f"127.0.0.1:{self.port}", *args]
        if "--edge-listen" not in args:
            self.command += ["--edge-listen", "off"]  # one process of the machine can have the usual port
        if "--record" not in args:  # run.py makes every decision of all controllers again at the end
            os.makedirs(lab.path("recordings"), exist_ok=True)
            self.command += ["--record", lab.path("recordings", f"{next(_numbers):03d}-{name}.ndjson.zst")]
        self.process = None

    @property
    def log(self):
        with open(self.log_path) as f:
            return f.read()

    def start(self):
        env = dict(os.environ, POD_NAMESPACE=SYSTEM, POD_NAME=self.name, **self.env)
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=env)
        return self

    def get(self, path):
        """(status, text) of its own HTTP server; (0, "") while it does not listen."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError:
            return 0, ""

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the controller ended with {self.process.returncode}:\n{self.log[-3000:]}")
        return self.get("/readyz")[0] == 200

    def wait_ready(self, seconds=60):
        until(self.is_ready, seconds, f"{self.name} to be ready; its log ends:\n{self.log[-1500:]}")
        return self

    def metric(self, name):
        """Sum of a metric over its labels."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics")[1].splitlines()
                   if re.match(re.escape(name) + r"[{ ]", line))

    def stop(self, number=signal.SIGTERM, seconds=45):
        """Sends the signal, returns the exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"{self.name} did not end within {seconds} s of signal {number}:\n{self.log[-2000:]}") from None
        return self.process.returncode


class ControlledCase(Case):
    """Tests with a controller that runs for the whole class (with ARGS)."""
    ARGS = ()
    STARTS = True  # a controller for the class

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        deploy(cls.lab, cls.api)
        if cls.STARTS:
            cls.controller = Controller(cls.lab, cls.folder, "perigee", *cls.ARGS).start()
            cls.addClassCleanup(cls.controller.stop)
            cls.controller.wait_ready()

    def service(self, name="iris", framework="sklearn", annotations=None, predictor=None, **model):
        return {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
                "metadata": {"name": name, "namespace": self.ns, "annotations": annotations or {}},
                "spec": {"predictor": {"model": {"modelFormat": {"name": framework}, "storageUri": f"gs://bucket/{name}", **model},
                                       **(predictor or {})}}}

    def owned(self, kind, name="iris-predictor", api_version=None):
        api_version = api_version or {"Deployment": "apps/v1", "HorizontalPodAutoscaler": "autoscaling/v2"}.get(kind, "v1")
        return self.api.read({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": self.ns}})

    def wait_owned(self, kind, name="iris-predictor", api_version=None, deadline=30):
        return self.eventually(lambda: self.owned(kind, name, api_version), deadline, f"{kind} {name}; log:\n{self.tail()}")

    def wait_gone(self, kind, name="iris-predictor", api_version=None, deadline=60):
        self.eventually(lambda: self.owned(kind, name, api_version) is None, deadline, f"{kind} {name} to go; log:\n{self.tail()}")

    def tail(self):
        return self.controller.log[-1500:] if getattr(self, "controller", None) else ""

    def conditions(self, service):
        stored = self.api.read(service) or {}
        return {c["type"]: c for c in stored.get("status", {}).get("conditions", [])}

    def wait_condition(self, service, kind, status="True", deadline=60):
        return self.eventually(lambda: (self.conditions(service).get(kind) or {}).get("status") == status, deadline,
                               f"condition {kind} of {service['metadata']['name']} to be {status}; log:\n{self.tail()}")

    def container(self, name="iris-predictor"):
        return self.owned("Deployment", name)["spec"]["template"]["spec"]["containers"][0]

    # ---- what the controller sent, from the server's own log ----

    def requests(self, since=0):
        """The controller's requests that ended, as (verb, resource, subresource, namespace, name, status)."""
        out = []
        with open(self.lab.path("audit.log")) as f:
            f.seek(since)
            for line in f:
                try:
                    e = json.loads(line)
                except ValueError:
                    continue  # being written
                ref = e.get("objectRef", {})
                if e["user"]["username"].startswith(f"system:serviceaccount:{SYSTEM}:"):
                    out.append((e["verb"], ref.get("resource", ""), ref.get("subresource", ""), ref.get("namespace", ""),
                                ref.get("name", ""), e.get("responseStatus", {}).get("code", 0)))
        return out

    def audit_end(self):
        return os.path.getsize(self.lab.path("audit.log"))

    def writes(self, since=0, own_namespace=True):
        return [r for r in self.requests(since) if r[0] not in ("get", "list", "watch") and r[1] not in ("leases", "events")
                and (not own_namespace or r[3] == self.ns)]

    def settle(self, quiet=2.0, deadline=60):
        """Waits until the controller has written nothing for `quiet` seconds."""
        mark = [self.audit_end(), time.monotonic()]

        def is_quiet():
            if self.writes(mark[0], own_namespace=False):
                mark[:] = [self.audit_end(), time.monotonic()]
            return time.monotonic() - mark[1] > quiet
        self.eventually(is_quiet, deadline, "the controller to come to rest")
