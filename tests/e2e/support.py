# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the lab they run in, namespaces of their own, waiting, objects, kube_client."""
import collections
import io
import json
import os
import queue
import selectors
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import yaml

from lab import Lab, Refused, Trouble, definition_files, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PERIGEE_BUILD", os.path.join(ROOT, "build", "asan"))
PERIGEE = os.environ.get("PERIGEE", os.path.join(BUILD, "perigee"))
KUBE_CLIENT = os.path.join(BUILD, "kube_client")
SYSTEM = "perigee-system"  # the namespace of deploy/base
ACCOUNT = "perigee"

long = unittest.skipUnless(os.environ.get("PERIGEE_E2E_LONG"), "takes long: only in scripts/nightly")

LAB = None  # set by run.py before the tests are loaded
_installed = set()
_counter = [0]


def lab() -> Lab:
    if LAB is None:
        raise Trouble("there is no lab: run the tests with scripts/e2e")
    return LAB


def eventually(condition, deadline=30, what="it to become true"):
    """The first value of condition() that is true. An AssertionError of condition counts as not yet."""
    last = [None]

    def attempt():
        try:
            return condition()
        except AssertionError as e:
            last[0] = e
            return None
    try:
        return until(attempt, deadline, what)
    except Trouble as e:
        raise AssertionError(f"{e}" + (f"; the last time: {last[0]}" if last[0] else "")) from None


def load(*parts):
    with open(os.path.join(ROOT, *parts)) as f:
        return [d for d in yaml.load_all(f, Loader=yaml.CSafeLoader) if d]


def install(api, objects):
    """Creates what is not there yet."""
    for o in objects:
        try:
            api.create(o)
        except Refused as e:
            if e.reason != "AlreadyExists":
                raise


def install_definitions(api, *files):
    """Installs definitions of kinds and waits until the server serves them."""
    wanted = []
    for path in files:
        with open(path) as f:
            wanted += [d for d in yaml.load_all(f, Loader=yaml.CSafeLoader) if d and d["kind"] == "CustomResourceDefinition"]
    for d in wanted:
        # Those of Knative and KEDA name webhooks for conversion that nobody runs here.
        d["spec"].pop("conversion", None)
    install(api, wanted)
    wait_established(api, [d["metadata"]["name"] for d in wanted])


def wait_established(api, names):
    def established(name):
        d = api.get("apiextensions.k8s.io/v1", "customresourcedefinitions", None, name)
        conditions = {c["type"]: c["status"] for c in ((d or {}).get("status") or {}).get("conditions") or []}
        return conditions.get("Established") == "True"
    for name in names:
        eventually(lambda: established(name), 60, f"{name} to be served")


def original_definitions(api):
    """The definitions of KServe's own release, and those of the learning kinds, which no Go module holds, from here."""
    if "kserve" not in _installed:
        install_definitions(api, *definition_files("kserve"))
        folder = os.path.join(ROOT, "deploy", "crds")
        install_definitions(api, *sorted(os.path.join(folder, f) for f in os.listdir(folder) if "sedna" in f))
        _installed.add("kserve")


def install_shared(api, name):
    """A definition that no Go module holds, from the folder of recorded originals. False where that is not at hand."""
    path = os.path.join(ROOT, os.environ.get("PERIGEE_SHARED", "../shared"), "data", "crds", name)
    if not os.path.exists(path):
        return False
    install_definitions(api, path)
    return True


class Case(unittest.TestCase):
    """A test with a namespace of its own."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = lab()
        cls.api = cls.lab.api()
        cls.folder = tempfile.mkdtemp(prefix=cls.__name__ + "-", dir=cls.lab.folder)

    def setUp(self):
        super().setUp()
        self.ns = self.new_namespace()

    def new_namespace(self):
        _counter[0] += 1
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"t{os.getpid()}-{_counter[0]}"}}
        self.api.create(namespace)
        # Not waited for: the namespaces go while the next test runs.
        self.addCleanup(self.api.delete, namespace)
        return namespace["metadata"]["name"]

    def eventually(self, condition, deadline=30, what="it to become true"):
        return eventually(condition, deadline, what)

    def config_map(self, name, **data):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": self.ns}, "data": data}


class Client:
    """kube_client, see kube_client.c. Each call sends one command; what comes back is sorted by its id. Nothing is waited
    for longer than it may take: what was asked and what was last heard is in the error."""

    def __init__(self, kubeconfig, command=None, seconds=60):
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(command or [KUBE_CLIENT, kubeconfig], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, bufsize=0)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.seconds, self.lines, self.asked, self.last = seconds, {}, {}, 0
        self.heard = collections.deque(maxlen=5)
        self.lock = threading.Lock()     # of lines and asked: never held while something is written or waited for
        self.sending = threading.Lock()  # commands are written one after the other
        self.ended = False               # nothing more comes
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _queue(self, number):
        with self.lock:
            return self.lines.setdefault(number, queue.Queue())

    def _read(self):
        with io.TextIOWrapper(io.BufferedReader(self.process.stdout), encoding="utf-8", errors="replace") as lines:
            for text in lines:
                self.heard.append(text[:300].rstrip())
                if text.endswith("\n"):  # the last one of a process that was killed may be cut
                    line = json.loads(text)
                    self._queue(line["id"]).put(line)
        with self.lock:
            self.ended = True
            for lines in self.lines.values():
                lines.put(None)

    def trouble(self, number, what):
        """An error with all that is known."""
        self.log.seek(0)
        told = [f"kube_client, command {number} {self.asked.get(number, '')}: {what}", "last heard:", *self.heard,
                "its log:", *self.log.read().splitlines()[-20:]]
        return AssertionError("\n  ".join(told))

    def _write(self, number, data):
        end = time.monotonic() + self.seconds
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdin, selectors.EVENT_WRITE)
            while data:
                if not ready.select(max(0, end - time.monotonic())) and time.monotonic() > end:
                    raise self.trouble(number, f"it was not taken within {self.seconds} s")
                try:
                    data = data[os.write(self.process.stdin.fileno(), data):]
                except BlockingIOError:
                    pass
                except BrokenPipeError:
                    raise self.trouble(number, "the program has ended") from None

    def send(self, do, _id=None, **command):
        with self.sending:
            with self.lock:
                if _id is None:
                    self.last += 1
                    _id = self.last
                lines = self.lines.setdefault(_id, queue.Queue())
                text = json.dumps({"do": do, "id": _id, **command})
                self.asked[_id] = text[:300]
                if self.ended:
                    lines.put(None)
            self._write(_id, text.encode() + b"\n")
        return _id

    def next(self, number, seconds=None):
        """The next line for the command with this id."""
        seconds = self.seconds if seconds is None else seconds
        try:
            line = self._queue(number).get(timeout=seconds)
        except queue.Empty:
            raise self.trouble(number, f"nothing came within {seconds} s") from None
        if line is None:
            self._queue(number).put(None)
            raise self.trouble(number, "the program has ended")
        return line

    def so_far(self, number):
        """The lines that have come for the command by now."""
        while not (lines := self._queue(number)).empty():
            line = lines.get()
            if line is None:
                lines.put(None)
                return
            yield line

    def wait(self, number, what, seconds=None):
        """The first line with this `what`; those before it are dropped."""
        seconds = self.seconds if seconds is None else seconds
        end = time.monotonic() + seconds
        while True:
            line = self.next(number, max(0.01, end - time.monotonic()))
            if line["what"] == what:
                return line

    def ask(self, do, **command):
        return self.next(self.send(do, **command))

    def counts(self, number):
        self.send("counts", number)
        return self.wait(number, "counts")

    def close(self):
        """Returns how it ended; -9 and its log on standard error when it did not by itself."""
        self.process.stdin.close()
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join(10)
        if code and not self.log.closed:
            self.log.seek(0)
            sys.stderr.write(self.log.read())
        self.log.close()
        return code
