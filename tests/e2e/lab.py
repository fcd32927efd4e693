#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab: a real Kubernetes control plane on loopback, without root, containers or a network.

    lab.py build               builds the two programs of the lab into the cache, prints where they are
    lab.py problem             says why it cannot be built here; exit status 0 and nothing when it can
    lab.py up FOLDER           starts all parts, with everything they write below FOLDER; prints how to reach it
    lab.py down FOLDER         stops them
    lab.py kill FOLDER PART    SIGKILL for one part: etcd, apiserver, controllers, scheduler, kubelets
    lab.py start FOLDER PART   starts it again, with the same data and ports
    lab.py kubectl FOLDER …    kubectl as its administrator

Built from Go modules: lab/main.go is etcd, the API server, the controller manager, the scheduler and kubectl; kwok plays
the kubelets. The cache is ${XDG_CACHE_HOME:-~/.cache}/perigee/lab/<digest of the sources>, so another checkout with the
same sources finds it. Tests use the class Lab; what it starts dies with the process that started it, however that ends.
"""
import fcntl
import glob
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "lab")
KWOK = "sigs.k8s.io/kwok/cmd/kwok@v0.7.0"
GO = (1, 26)  # what lab/go.mod asks for
# Every request of a ServiceAccount outside kube-system is written to audit.log: tests count them.
AUDIT = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "None", "userGroups": ["system:masters", "system:nodes", "system:serviceaccounts:kube-system"]},
              {"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}
PARTS = ("etcd", "apiserver", "controllers", "scheduler", "kubelets")  # in the order of starting


class Trouble(Exception):
    """Something that a person has to mend."""


# ---- building ----

def go_problem():
    """Why the lab cannot be built here, or None."""
    if not shutil.which("go"):
        return "there is no Go here"
    found = re.search(r"go(\d+)\.(\d+)", subprocess.run(["go", "version"], capture_output=True, text=True).stdout)
    if not found or tuple(map(int, found.groups())) < GO:
        return f"Go {GO[0]}.{GO[1]} or newer is needed" + (f", found {found.group()}" if found else "")
    return None


def cache_folder():
    digest = hashlib.sha256(KWOK.encode())
    for name in ("main.go", "go.mod", "go.sum"):
        with open(os.path.join(SOURCES, name), "rb") as f:
            digest.update(name.encode() + b"\0" + f.read())
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "perigee", "lab", digest.hexdigest()[:16])


def build():
    """Builds what is missing, once however many ask for it at a time. Returns the folder of the programs."""
    folder = cache_folder()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = [n for n in ("kwok", "lab") if not os.path.exists(os.path.join(folder, n))]
        if not wanted:
            return folder
        problem = go_problem()
        if problem:
            raise Trouble(problem)
        print(f"building {' and '.join(wanted)} of the lab into {folder} (many minutes the first time)", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            for name in wanted:
                if name == "kwok":
                    command, env = ["go", "install", "-trimpath", "-ldflags", "-s -w", KWOK], {"GOBIN": work}
                else:
                    for source in ("main.go", "go.mod", "go.sum"):
                        shutil.copy(os.path.join(SOURCES, source), work)
                    command, env = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "lab", "."], {}
                if subprocess.run(command, cwd=work, env=dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false", **env)).returncode:
                    raise Trouble(f"{' '.join(command)} failed")
                os.rename(os.path.join(work, name), os.path.join(folder, name))
    return folder


def definition_files(*names):
    """Files of the modules in lab/modules.txt whose names contain one of names (all of them without one)."""
    files = []
    with open(os.path.join(SOURCES, "modules.txt")) as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    for module, version, *patterns in rows:
        if names and not any(n in p for n in names for p in [module, *patterns]):
            continue
        files += module_files(module, version, patterns)
    return [f for f in files if not names or any(n in f for n in names)]


def module_files(module, version, patterns):
    p = subprocess.run(["go", "mod", "download", "-json", f"{module}@{version}"], capture_output=True, text=True, cwd="/")
    if p.returncode:
        raise Trouble(f"{module}@{version} cannot be had: {p.stdout}{p.stderr}")
    folder = json.loads(p.stdout)["Dir"]
    files = [f for pattern in patterns for f in sorted(glob.glob(os.path.join(folder, pattern)))
             if not f.endswith("kustomization.yaml")]
    if not files:
        raise Trouble(f"{module}@{version} has no {' '.join(patterns)}")
    return files


# ---- running ----

def free_ports(count):
    """Ports that nobody listens on. All are held until all are chosen. They lie outside the range from which connections get
    theirs: a server that is killed and started again finds its port free, however many clients try to reach it meanwhile (on
    loopback one of them could even meet itself there)."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first = int(f.read().split()[0])
    places = range(10000, first) or [0]  # 0: the machine leaves none aside
    sockets = []
    try:
        while len(sockets) < count:
            s = socket.socket()
            try:
                s.bind(("127.0.0.1", random.choice(places)))
            except OSError:  # taken
                s.close()
                continue
            sockets.append(s)
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Lab:
    """A control plane below folder. Its shape is in FOLDER/lab.json, so another process can find it."""

    def __init__(self, folder, programs=None):
        self.folder = os.path.abspath(folder)
        self.programs = programs or build()
        self.detached = False
        self.children = {}
        self.starts = 0  # of the API server: connections to an earlier one are dead
        if os.path.exists(self.path("lab.json")):
            with open(self.path("lab.json")) as f:
                self.shape = json.load(f)
        else:
            self.shape = None

    def path(self, *parts):
        """Below the lab's folder, unless the first part is absolute."""
        return os.path.join(self.folder, *parts)

    @property
    def port(self):
        return self.shape["apiserver"]

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self):
        return self.path("kubeconfig")

    @property
    def ca(self):
        return self.path("certs", "apiserver.crt")

    def up(self, detached=False):
        """Starts everything; detached: it goes on when this process ends."""
        os.makedirs(self.folder, exist_ok=True)
        self.detached = detached
        ports = free_ports(3)
        self.shape = dict(zip(("apiserver", "etcd", "peer"), ports), token=os.urandom(16).hex())
        with open(self.path("lab.json"), "w") as f:
            json.dump(self.shape, f)
        self.write_accounts()
        for part in PARTS:
            self.start(part)
        import yaml  # not needed to say why the lab cannot be built
        admin = self.api()
        with open(os.path.join(SOURCES, "nodes.yaml")) as f:
            for node in yaml.safe_load_all(f):
                admin.create(node)
        until(lambda: admin.get("v1", "serviceaccounts", "default", "default"), 60, "the default ServiceAccount")

    def write_accounts(self):
        key = self.path("account.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", key, "-pubout", "-out", self.path("account.pub")], check=True, capture_output=True)
        with open(self.path("tokens.csv"), "w") as f:
            f.write(f'{self.shape["token"]},admin,admin,"system:masters"\nlimited-token,limited,limited\n')
        with open(self.path("audit.json"), "w") as f:
            json.dump(AUDIT, f)
        self.write_kubeconfig("kubeconfig", self.shape["token"])
        self.write_kubeconfig("kubeconfig.limited", "limited-token")

    def write_kubeconfig(self, name, token, url=None, ca=None, namespace="default", token_file=None, user=None, cluster=None):
        """A kubeconfig with one user; returns its path. user: all of it, cluster: more of it."""
        path = self.path(name)
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": url or self.url, "certificate-authority": ca or self.ca,
                                                     **(cluster or {})}}],
            "users": [{"name": "user", "user": user or ({"tokenFile": token_file} if token_file else {"token": token})}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "user", "namespace": namespace}}],
        }
        with open(path, "w") as f:
            json.dump(config, f, indent=1)
        return path

    def command(self, part):
        lab, s = os.path.join(self.programs, "lab"), self.shape
        etcd = f"http://127.0.0.1:{s['etcd']}"
        kube = ["--kubeconfig", self.kubeconfig]
        return {
            "etcd": [lab, "etcd", "--data-dir", self.path("etcd"), "--unsafe-no-fsync", "--log-level", "warn",
                     "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
                     "--listen-peer-urls", f"http://127.0.0.1:{s['peer']}"],
            "apiserver": [lab, "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1",
                          "--secure-port", str(s["apiserver"]), "--cert-dir", self.path("certs"),
                          "--token-auth-file", self.path("tokens.csv"), "--authorization-mode", "RBAC",
                          "--audit-policy-file", self.path("audit.json"), "--audit-log-path", self.path("audit.log"),
                          "--goaway-chance", "0.01",  # HTTP/2 connections are asked to go elsewhere, as behind a load balancer
                          "--service-cluster-ip-range", "10.96.0.0/16",
                          "--service-account-key-file", self.path("account.pub"),
                          "--service-account-signing-key-file", self.path("account.key"),
                          "--service-account-issuer", "https://kubernetes.default.svc", "--allow-privileged"],
            "controllers": [lab, "kube-controller-manager", *kube, "--leader-elect=false", "--bind-address", "127.0.0.1",
                            "--secure-port", "0", "--service-account-private-key-file", self.path("account.key"),
                            "--root-ca-file", self.ca, "--use-service-account-credentials"],
            "scheduler": [lab, "kube-scheduler", *kube, "--leader-elect=false", "--bind-address", "127.0.0.1",
                          "--secure-port", "0"],
            "kubelets": [os.path.join(self.programs, "kwok"), *kube, "--manage-all-nodes", "--node-ip", "10.0.0.1",
                         "--config", os.path.join(SOURCES, "stages.yaml"), "--node-lease-duration-seconds", "40"],
        }[part]

    def start(self, part):
        """Starts one part. The API server (with etcd) is ready when this returns."""
        command = self.command(part)
        if not self.detached:
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        with open(self.path(part + ".log"), "ab") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.children[part] = child
        with open(self.path(part + ".pid"), "w") as f:
            f.write(str(child.pid))
        if part == "apiserver":
            self.starts += 1
            self.wait_ready()

    def wait_ready(self, seconds=180):
        def ready():
            child = self.children.get("apiserver")
            if child and child.poll() is not None:
                raise Trouble(f"the API server ended with {child.returncode}, see {self.path('apiserver.log')}")
            try:
                return self.api(timeout=10).request("GET", "/readyz")[0] == 200
            except (OSError, http.client.HTTPException):
                return False
        until(ready, seconds, f"the API server to be ready (see {self.path('apiserver.log')})")

    def pid(self, part):
        try:
            with open(self.path(part + ".pid")) as f:
                return int(f.read())
        except (OSError, ValueError):
            return None

    def send(self, part, number):
        pid = self.pid(part)
        if pid:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill(self, part, number=signal.SIGKILL):
        """Sends the signal and waits until the part is gone."""
        self.send(part, number)
        self.send(part, signal.SIGCONT)
        pid, child = self.pid(part), self.children.pop(part, None)
        if child:
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        elif pid:
            try:
                until(lambda: not is_alive(pid), 15, f"{part} to end")
            except Trouble:
                self.send(part, signal.SIGKILL)
                until(lambda: not is_alive(pid), 15, f"{part} to end")
        if pid:
            os.unlink(self.path(part + ".pid"))

    def down(self):
        for part in reversed(PARTS):
            # Nothing of it is wanted any more, so nobody waits for a graceful end but who must write: there is none.
            self.kill(part)

    def kubectl(self, *args, stdin=None, kubeconfig=None, check=True):
        """Standard output of kubectl; without check the finished process."""
        p = subprocess.run([os.path.join(self.programs, "lab"), "kubectl", "--kubeconfig", kubeconfig or self.kubeconfig, *args],
                           input=stdin, capture_output=True, text=True, timeout=120)
        if check and p.returncode:
            raise Trouble(f"kubectl {' '.join(args)}: {p.stderr}")
        return p.stdout if check else p

    def api(self, token=None, timeout=60):
        return Api(self, token or self.shape["token"], timeout)

    def etcd(self, path, body):
        """One call of etcd's JSON gateway."""
        c = http.client.HTTPConnection("127.0.0.1", self.shape["etcd"], timeout=30)
        c.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        r = c.getresponse()
        answer = r.read()
        c.close()
        if r.status != 200:
            raise Trouble(f"etcd {path}: {r.status} {answer[:300]!r}")
        return json.loads(answer)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds, what):
    """Waits for condition() to be true and returns its value; the limit only bounds what goes wrong."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Trouble(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)


# ---- talking to it ----

class Refused(Exception):
    """An answer of 400 or more: status, reason and message of the server."""

    def __init__(self, method, path, code, body):
        try:
            status = json.loads(body)
        except ValueError:
            status = {}
        self.code, self.reason, self.status = code, status.get("reason", ""), status
        self.message = status.get("message", body[:500].decode(errors="replace"))
        super().__init__(f"{method} {path}: {code} {self.message}")


PLURALS = {  # kind: (resource, is in a namespace)
    "Namespace": ("namespaces", False), "Node": ("nodes", False), "CustomResourceDefinition": ("customresourcedefinitions", False),
    "ClusterServingRuntime": ("clusterservingruntimes", False), "ServingRuntime": ("servingruntimes", True),
    "ClusterStorageContainer": ("clusterstoragecontainers", False), "InferenceService": ("inferenceservices", True),
    "ClusterRole": ("clusterroles", False), "ClusterRoleBinding": ("clusterrolebindings", False),
    "ValidatingWebhookConfiguration": ("validatingwebhookconfigurations", False),
    "HorizontalPodAutoscaler": ("horizontalpodautoscalers", True), "ScaledObject": ("scaledobjects", True),
    "PersistentVolume": ("persistentvolumes", False), "PriorityClass": ("priorityclasses", False),
    "RuntimeClass": ("runtimeclasses", False), "StorageClass": ("storageclasses", False),
}


def resource_of(kind):
    return PLURALS.get(kind) or (kind.lower() + "s", True)


def place(api_version, resource, namespace=None, name=None, sub=None):
    path = ("/api/" if "/" not in api_version else "/apis/") + api_version
    for part in (("namespaces/" + namespace) if namespace else None, resource, name, sub):
        if part:
            path += "/" + part
    return path


def place_of(o, sub=None, collection=False):
    resource, is_namespaced = resource_of(o["kind"])
    return place(o["apiVersion"], resource, o["metadata"].get("namespace", "default") if is_namespaced else None,
                 None if collection else o["metadata"]["name"], sub)


class Api:
    """HTTPS to the API server; one connection, made anew when it broke. Not for several threads at a time."""

    def __init__(self, lab, token, timeout=60):
        self.context = ssl.create_default_context(cafile=lab.ca)
        self.lab, self.token, self.timeout = lab, token, timeout
        self.connection, self.starts, self.used = None, 0, 0.0

    def request(self, method, path, body=None, content_type="application/json", headers=None):
        """(status, body) of one request. Only a GET is sent again when the connection had gone meanwhile."""
        head = {"Authorization": "Bearer " + self.token, "Accept": "application/json", **(headers or {})}
        if body is not None:
            head["Content-Type"] = content_type
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        for attempt in (1, 2):
            # A write goes out on a connection that cannot have gone stale.
            if self.starts != self.lab.starts or (method != "GET" and time.monotonic() - self.used > 10):
                self.close()
            fresh = self.connection is None
            if fresh:
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.lab.port, timeout=self.timeout, context=self.context)
            self.starts, self.used = self.lab.starts, time.monotonic()
            try:
                self.connection.request(method, path, body, head)
                response = self.connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh or attempt == 2 or method != "GET":
                    raise

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def call(self, method, path, body=None, content_type="application/json"):
        for _ in range(100):
            status, answer = self.request(method, path, body, content_type)
            if status != 429:  # "storage is (re)initializing": a kind has just been installed
                break
            time.sleep(0.1)
        if status >= 400:
            raise Refused(method, path, status, answer)
        return json.loads(answer) if answer else None

    def get(self, api_version, resource, namespace=None, name=None):
        """The object or list, None when it is not there."""
        try:
            return self.call("GET", place(api_version, resource, namespace, name))
        except Refused as e:
            if e.code == 404:
                return None
            raise

    def read(self, o):
        """The object as it is stored now, None when it is not there."""
        try:
            return self.call("GET", place_of(o))
        except Refused as e:
            if e.code == 404:
                return None
            raise

    def list(self, api_version, resource, namespace=None, selector=""):
        path = place(api_version, resource, namespace)
        return self.call("GET", path + (f"?labelSelector={selector}" if selector else ""))["items"]

    def create(self, o, manager="e2e", options=""):
        return self.call("POST", place_of(o, collection=True) + f"?fieldManager={manager}{options}", o)

    def update(self, o, manager="e2e", sub=None):
        return self.call("PUT", place_of(o, sub) + f"?fieldManager={manager}", o)

    def apply(self, o, manager="e2e", force=True, options=""):
        """Server-side apply."""
        return self.call("PATCH", place_of(o) + f"?fieldManager={manager}&force={str(force).lower()}{options}", o,
                         "application/apply-patch+yaml")

    def patch(self, o, change, manager="e2e", sub=None):
        """Merge patch."""
        return self.call("PATCH", place_of(o, sub) + f"?fieldManager={manager}", change, "application/merge-patch+json")

    def delete(self, o, propagation="Background"):
        """True when it was there."""
        try:
            self.call("DELETE", place_of(o) + f"?propagationPolicy={propagation}")
            return True
        except Refused as e:
            if e.code == 404:
                return False
            raise


def main(args):
    usage = re.sub(r"\n\n.*", "", __doc__.split("\n\n", 1)[1], flags=re.S)
    if not args or args[0] in ("-h", "--help"):
        print(usage)
        return 0 if args else 2
    verb, *rest = args
    if verb == "build" and not rest:
        print(build())
        return 0
    if verb == "problem" and not rest:
        problem = go_problem()
        print(problem or "", end="\n" if problem else "")
        return 1 if problem else 0
    if verb not in ("up", "down", "kill", "start", "kubectl") or not rest or (verb in ("kill", "start") and rest[1:2] + ["x"] == ["x"]):
        print(usage, file=sys.stderr)
        return 2
    lab = Lab(rest[0])
    lab.detached = True
    if verb == "up":
        if lab.pid("apiserver") and is_alive(lab.pid("apiserver")):
            raise Trouble(f"a lab is running in {rest[0]} already")
        try:
            lab.up(detached=True)
        except BaseException:
            lab.down()
            raise
        print(f"export KUBECONFIG={lab.kubeconfig}")
    elif lab.shape is None:
        raise Trouble(f"there is no lab in {rest[0]}")
    elif verb == "down":
        lab.down()
    elif verb == "kubectl":
        p = [os.path.join(lab.programs, "lab"), "kubectl", "--kubeconfig", lab.kubeconfig, *rest[1:]]
        os.execv(p[0], p)
    elif rest[1] not in PARTS:
        raise Trouble(f"unknown part {rest[1]}, there are {', '.join(PARTS)}")
    elif verb == "kill":
        lab.kill(rest[1])
    else:
        lab.start(rest[1])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Trouble as e:
        print(f"lab: {e}", file=sys.stderr)
        sys.exit(2)
