# SPDX-License-Identifier: Apache-2.0
"""Recorded talks between Sedna's Global Manager and its Local Controllers (tests/cases/sedna/wire), played again against
the controller: what the nodes said is said again, when they have been told what they had been told before it; what they
are told must be what they were told: header, operation, content in meaning. Told twice is once here, and what the guards
add is in `added`. The script of a client in a Local Controller's role (gm-script) is followed line by line."""
import base64
import json
import os
import re
import threading
import unittest
import urllib.error
import urllib.request

import yaml

from support import ROOT, read_file
from test_edge import Edge, local_controller

WIRE = os.path.join(ROOT, "tests", "cases", "sedna", "wire")
LEFT_OUT = ("creationTimestamp", "resourceVersion", "uid", "generation", "updateTime", "startTime", "lastHeartbeatTime",
            "lastTransitionTime", "managedFields", "nodeName", "apiVersion")
# The node that watches the Dataset is told when the first training begins, so that it does not begin a second one.
BEGUN = {("insert", "TrainReady"), ("insert", "TrainStarting"), ("insert", "TrainRunning")}


def meaning(value, key=""):
    """Without what is made by the server, and without zero values; data of conditions as JSON."""
    if isinstance(value, dict):
        out = {k: meaning(v, k) for k, v in value.items() if k not in LEFT_OUT and not k.startswith("perigee.dev/")}
        return {k: v for k, v in out.items() if v not in (None, "", 0, False, {}, [])}
    if isinstance(value, list):
        return [meaning(v) for v in value]
    if key == "data" and isinstance(value, str) and value.startswith("{"):
        return meaning(json.loads(value))
    return value


def state_of(content):
    conditions = ((content or {}).get("status") or {}).get("conditions") or []
    return conditions[-1]["stage"] + conditions[-1]["type"] if conditions else ""


class Told:
    def __init__(self, header, content):
        self.operation, self.content, self.state = header["operation"], content, state_of(content)
        self.key = (header["resourceKind"], header["namespace"], header["resourceName"])

    def means(self, other):
        if self.operation != other.operation:
            return False
        return self.operation == "delete" or meaning(self.content) == meaning(other.content)

    def __repr__(self):
        return f"{self.operation} {self.key[0]} {self.key[2]} {self.state}"


class Node:
    """One end of a connection: keeps what it is told."""

    def __init__(self, headers, port):
        self.told, self.texts, self.is_closed = [], [], False
        self.socket = local_controller.Socket(f"127.0.0.1:{port}", headers)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            while True:
                text = self.socket.receive()
                message = json.loads(text)
                self.texts.append(text)
                self.told.append(Told(message["header"], json.loads(base64.b64decode(message["content"]))))
        except OSError:
            self.is_closed = True

    def say(self, text):
        self.socket.send(1, text.encode())

    def about(self, key):
        return [t for t in list(self.told) if t.key == key]


BARE = '{"namespace":"","resourceKind":"","resourceName":"","operation":""}\n'


def envelope(header, content):
    """A message as text, byte for byte as Local Controllers write it."""
    header = {k: header[k] for k in ("namespace", "resourceKind", "resourceName", "operation")}
    text = None if content is None else base64.b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()
    return json.dumps({"header": header, "content": text}, separators=(",", ":")) + "\n"


def form(text):
    """The text without what is in its fields: order and spaces are left, and the line's end."""
    return re.sub(r':"[^"]*"', ':"…"', text)


def merged(told):
    """Without what says the same as the message before it."""
    out = []
    for t in told:
        if not out or not t.means(out[-1]):
            out.append(t)
    return out


def follow(told, node, key):
    """What was told about an object, looked for in order in what it is told here: (the first that is missing or None, what
    it is told besides)."""
    mine, place, added = merged(node.about(key)), 0, []
    for t in merged([t for t in told if t.key == key]):
        while place < len(mine) and not t.means(mine[place]):
            added.append(mine[place])
            place += 1
        if place == len(mine):
            return t, added
        place += 1
    return None, added + mine[place:]


class Recorded(Edge):
    def read(self, name):
        with open(os.path.join(WIRE, name + ".ndjson")) as f:
            return [json.loads(line) for line in f]

    def node_of(self, event):
        return event.get("node") or "edge1"

    def make_store(self, events):
        """Everything that existed at the start, as the messages show it."""
        objects, workers = {}, {}
        for event in events:
            if event["ev"] == "pod-phase" and "nodeName" in event:
                workers.setdefault(event["pod"].split("-")[-2], event["nodeName"])
            if event["ev"] == "frame" and event["dir"] == "gm->lc":
                content = json.loads(json.dumps(event["content"]))
                objects.setdefault((content["kind"], content["metadata"]["name"]), content)
        for content in objects.values():
            content.pop("status", None)
            content["apiVersion"] = "sedna.io/v1alpha1"
            content["metadata"] = {k: v for k, v in content["metadata"].items() if k in ("name", "namespace")}
            for part, worker in (("trainSpec", "train"), ("evalSpec", "eval"), ("deploySpec", "inference")):
                if part in content["spec"]:
                    template = content["spec"][part]["template"]
                    template.pop("metadata", None)
                    template["spec"]["nodeName"] = workers.get(worker, "edge1")
            self.write(f"store/{content['kind']}-{content['metadata']['name']}.yaml", yaml.safe_dump(content))

    def status_path(self, group, kind, name):
        return self.path("store", ".perigee", "status", group, kind, "default", name + ".yaml")

    def pods(self, kind=""):
        folder = self.path("store", ".perigee", "objects", "core", "Pod", "default")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(n[:-len(".yaml")] for n in names if n.startswith("helmet-" + kind) and n.endswith(".yaml"))

    def end_pods(self, kind):
        for name in self.pods(kind):
            path = self.status_path("core", "Pod", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.edit(path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
                             "status": {"phase": "Succeeded"}})

    def has_been_told(self, node, expected):
        """The last that the node had been told about each object has been said to it here, too."""
        last = {t.key: t for t in expected}
        return all(any(t.means(mine) for mine in node.about(key)) for key, t in last.items())

    def play(self, name):
        events = self.read(name)
        os.makedirs(self.path("store"), exist_ok=True)
        self.port = None
        self.make_store(events)
        self.start()
        nodes, expected = {}, {}
        for event in events:
            node = self.node_of(event)
            if event["ev"] == "handshake":
                node = event["headers"]["Node-Name"][0]
                nodes[node] = Node({"Node-Name": node}, self.port)
                nodes[node].say(BARE)
            elif event["ev"] == "frame" and event["dir"] == "gm->lc":
                expected.setdefault(node, []).append(Told(event["header"], event["content"]))
            elif event["ev"] == "frame" and "header" in event:
                self.wait_for(lambda: self.has_been_told(nodes[node], expected.get(node, [])), 60)
                nodes[node].say(envelope(event["header"], event["content"]))
            elif event["ev"] == "condition":
                self.wait_for(lambda: f"{event['stage']} {event['type']}" in self.history(), 60)
            elif event["ev"] == "pod-phase" and event["phase"] == "Succeeded":
                self.end_pods(event["pod"].split("-")[-2])
            elif event["ev"] == "deleted" and event["resource"] != "pods":
                kind = {"incrementallearningjobs": "IncrementalLearningJob", "datasets": "Dataset"}[event["resource"]]
                self.wait_for(lambda: all(self.has_been_told(n, expected.get(k, [])) for k, n in nodes.items()), 60)
                os.remove(self.path("store", f"{kind}-{event['name']}.yaml"))
        for node, told in expected.items():
            for key in {t.key for t in told}:
                self.wait_for(lambda: follow(told, nodes[node], key)[0] is None, 60,
                              lambda: f"{node} to be told {follow(told, nodes[node], key)[0]}; but {nodes[node].about(key)}")
        return nodes, expected

    def compare(self, name, dataset_node="edge1"):
        nodes, expected = self.play(name)
        for node, told in expected.items():
            for key in {t.key for t in told}:
                added = follow(told, nodes[node], key)[1]
                for t in added:
                    is_guard = (node == dataset_node and (t.operation, t.state) in BEGUN) or \
                        (node != dataset_node and t.operation == "delete")
                    self.assertTrue(is_guard, f"{node} was told besides: {t}")
        for node in nodes.values():
            node.socket.close()


class Talks(Recorded):
    def test_two_rounds_with_a_restart(self):
        self.compare("restart-two-rounds")

    def test_a_round_with_hot_update(self):
        self.compare("hot-update-round")

    def test_a_round_on_three_nodes(self):
        self.compare("multi-node-restart")


# What the original says of a message that it does not take, and what is said here.
REFUSED = {"invalid condition stage: x": ("refused", "invalid condition stage: x"),
           'failed to append condition, err:incrementallearningjobs.sedna.io "nosuch" not found':
               ("refused", "there is no IncrementalLearningJob default/nosuch"),
           "unexpected end of JSON input": ("malformed", "the content is empty")}


class Script(Recorded):
    """gm-script: a client of several connections. Other than there the newer of two connections of one name is the one
    that is told something, and a node that connects again is told all again."""

    def setUp(self):
        super().setUp()
        self.nodes, self.places, self.names = {}, {}, {}
        self.taken, self.is_leaving, self.made = 0, False, set()

    def refusals(self):
        return [json.loads(line) for line in read_file(self.log).splitlines() if "edge link refuses" in line]

    def await_refusal(self, reason, part):
        self.wait_for(lambda: any(r["reason"] == reason and part in r["detail"] for r in self.refusals()),
                      what=lambda: f"for {reason}: {part}, but {self.refusals()}")

    def dial(self, event):
        headers = {k: v[0] for k, v in event["headers"].items()}
        if event["status"] != 101:
            with self.assertRaisesRegex(ConnectionError, str(event["status"])):
                local_controller.Socket(f"127.0.0.1:{self.port}", headers)
            return
        name = headers.get("Node-Name", "")
        older = [n for c, n in self.nodes.items() if self.names[c] == name and not n.is_closed]

        def connect():
            try:
                return Node(headers, self.port)
            except ConnectionError as error:
                self.assertRegex(str(error), "503")  # the name was in use twice a moment ago
                return None
        node = self.nodes[event["conn"]] = self.wait_for(connect)
        self.names[event["conn"]] = name
        for header, value in event["responseHeaders"].items():
            self.assertEqual(node.socket.answer[header.lower()], value[0])
        for other in older:
            self.wait_for(lambda: other.is_closed, what=lambda: "for the older connection to be closed")

    def connection(self, name):
        """The one that is told something in place of the one that was."""
        return [c for c in self.nodes if self.names[c] == self.names[name]][-1]

    def take(self, event):
        """The message of this line, behind those that were taken before; between them may only be what is known."""
        name = self.connection(event["conn"])
        told, node = Told(event["header"], event["content"]), self.nodes[name]

        def is_there():
            place = self.places.get((name, told.key), 0)
            about = node.about(told.key)
            for at in range(place, len(about)):
                if told.means(about[at]):
                    self.places[(name, told.key)] = at + 1
                    return True
            return False
        self.wait_for(is_there, 30, lambda: f"for line {event['n']}: {told} to {name}; but {node.about(told.key)}")

    def change_dataset(self, content):
        known = {k: content[k] for k in ("kind", "spec")}
        meta = {k: v for k, v in content["metadata"].items() if k in ("name", "namespace", "labels")}
        self.write("store/Dataset-incr-dataset.yaml",
                   yaml.safe_dump({"apiVersion": "sedna.io/v1alpha1", "metadata": meta, **known}))

    def check_pod(self, event):
        kind = event["pod"].split("-")[-2]
        name = self.wait_for(lambda: [p for p in self.pods(kind) if p not in self.made])[0]
        self.made.add(name)
        pod = yaml.safe_load(read_file(self.path("store", ".perigee", "objects", "core", "Pod", "default", name + ".yaml")))
        env = {e["name"]: re.sub("worker-[a-z0-9]{5}$", "worker-<rand5>", e["value"])
               for e in pod["spec"]["containers"][0]["env"]}
        self.assertEqual(env, {e["name"]: e["value"] for e in event["env"]})

    def check_conditions(self, event):
        def shown():
            out = []
            for c in self.conditions():
                data = " (lc) " + c.get("data", "{}") if c.get("message") == "reported by lc" else ""
                out.append(f"{c['stage']}/{c['type']}{data}")
            return out
        self.wait_for(lambda: shown()[:len(event["list"])] == event["list"], what=lambda: f"for {event['list']}: {shown()}")

    def follow_line(self, event):
        kind, conn = event["ev"], event.get("conn")
        if kind == "note":
            self.is_leaving = "closed by the client" in event["note"]
        elif kind == "http":
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5)
            self.assertEqual(caught.exception.code, event["status"])
        elif kind == "dial":
            self.dial(event)
        elif kind == "frame" and event["dir"] == "lc->gm":
            text = event["raw"] if "raw" in event else BARE if "bare" in event else envelope(event["header"], event["content"])
            self.nodes[conn].say(text)
        elif kind == "frame":
            change = event["content"]["metadata"].get("labels", {}).get("change")
            if change == "q":  # two changes while nobody is there: only the last arrives
                self.change_dataset({**event["content"], "metadata": {**event["content"]["metadata"], "labels": {"change": "p"}}})
            if change:
                self.change_dataset(event["content"])
            self.take(event)
        elif kind == "gm-ignored" and event["operation"]:
            self.await_refusal("operation", f"operation '{event['operation']}'")
        elif kind == "gm-no-handler":
            self.await_refusal("kind", f"kind '{event['kind'].capitalize()}'")
        elif kind == "gm-handler-error":
            self.await_refusal(*REFUSED[event["err"]])
        elif kind == "closed" and not self.is_leaving:
            self.wait_for(lambda: self.nodes[conn].is_closed)
        elif kind == "closed":
            self.nodes[conn].socket.close()
        elif kind == "pod-created":
            self.check_pod(event)
        elif kind == "conditions":
            self.check_conditions(event)
        elif kind == "pod-phase" and event["phase"] == "Running":
            self.wait_for(lambda: "Train Running" in self.history())
        elif kind == "pod-phase":
            self.end_pods(event["pod"].split("-")[-2])
        elif kind == "patch":
            wanted = event["patch"]["metadata"]["annotations"].items()
            self.wait_for(lambda: wanted <= (self.document().get("metadata", {}).get("annotations") or {}).items())
        elif kind == "deleted":
            os.remove(self.path("store", "IncrementalLearningJob-helmet.yaml"))

    def test_the_script_line_by_line(self):
        events = self.read("gm-script")
        os.makedirs(self.path("store"), exist_ok=True)
        self.port = None
        self.make_store(events)
        self.start()
        for event in events:
            self.is_leaving = self.is_leaving and event["ev"] == "closed"
            self.follow_line(event)
        # Besides, nodes were told again what they had been told, what the guards add, and that there is no "nosuch".
        recorded = [Told(e["header"], e["content"]) for e in events if e["ev"] == "frame" and e["dir"] == "gm->lc"]
        for name, node in self.nodes.items():
            for told in node.told:
                self.assertTrue(any(told.means(r) for r in recorded) or (told.operation, told.state) in BEGUN
                                or (told.operation, told.key[2]) == ("delete", "nosuch"), f"{name} was told besides: {told}")
        self.assertFalse([t for t in self.nodes["e"].told if "p" in str(t.content["metadata"].get("labels"))])
        self.assertEqual([t for t in self.nodes["c"].told if t.operation != "delete"], [])
        wanted = {form(m["text"]) for m in self.read("raw-frames") if m["dir"] == "gm->lc"}
        self.assertEqual({form(text) for node in self.nodes.values() for text in node.texts}, wanted)
        for node in self.nodes.values():
            node.socket.close()
        self.end()

    def test_frames_byte_for_byte(self):
        """One frame of each kind, in one round: what a node says as it said it, what it is told in the form it had."""
        frames = self.read("raw-frames")
        contents = [json.loads(base64.b64decode(json.loads(f["text"])["content"])) for f in frames if f["dir"] == "gm->lc"]
        os.makedirs(self.path("store"), exist_ok=True)
        self.port = None
        events = [{"ev": "frame", "dir": "gm->lc", "content": c} for c in contents if c["metadata"].get("name")]
        deploy = json.loads(json.dumps(next(c for c in contents if c["kind"] == "Model")))
        deploy["metadata"]["name"], deploy["spec"]["url"] = "deploy-model", "/models/deploy/model.ckpt"
        self.make_store(events + [{"ev": "frame", "dir": "gm->lc", "content": deploy}])
        self.start()
        node = Node({"Node-Name": "edge1"}, self.port)
        for frame in frames:
            text = frame["text"]
            if frame["dir"] == "gm->lc":
                message = json.loads(text)
                told = Told(message["header"], json.loads(base64.b64decode(message["content"])))
                if told.operation == "delete":
                    os.remove(self.path("store", f"{told.content['kind']}-{told.key[2]}.yaml"))
                self.wait_for(lambda: any(t.operation == told.operation for t in node.about(told.key)), 30,
                              lambda: f"for {told}; but {node.told}")
                continue
            report = json.loads(text)
            content = json.loads(base64.b64decode(report["content"])) if report.get("content") else {}
            stage, kind = str(content.get("phase", "")).capitalize(), str(content.get("status", "")).capitalize()
            if stage:  # not before the node is where it would say this
                before = "Waiting" if kind == "Ready" or (stage, kind) == ("Deploy", "Completed") else "Running"
                last = "Train Waiting" if (stage, kind) == ("Deploy", "Completed") else f"{stage} {before}"
                self.wait_for(lambda: self.history()[-1:] == [last], 30, lambda: f"for {last}: {self.history()}")
            node.say(text)
            if stage == "Train" and kind == "Running":
                self.await_refusal("refused", "invalid condition type: running")
            elif stage:
                self.wait_for(lambda: f"{stage} {kind}" in self.history())
            elif content:
                self.wait_for(lambda: any("numberOfSamples" in str(t.content.get("status")) and
                                          t.content["status"].get("numberOfSamples") == content["numberOfSamples"]
                                          for t in node.about(("dataset", "default", "incr-dataset"))))
        self.assertEqual({form(t) for t in node.texts}, {form(f["text"]) for f in frames if f["dir"] == "gm->lc"})
        node.socket.close()
        self.end()


if __name__ == "__main__":
    unittest.main()
