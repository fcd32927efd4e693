# SPDX-License-Identifier: Apache-2.0
"""Recorded talks between Sedna's Global Manager and its Local Controllers (tests/cases/sedna/wire), played again against
the controller: what the nodes said is said again, when they have been told what they had been told before it; what they
are told must be what they were told: header, operation, content in meaning. Told twice is once here, and what the guards
add is in `added`."""
import base64
import json
import os
import threading
import unittest

import yaml

from support import ROOT
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

    def __init__(self, name, port):
        self.told = []
        self.socket = local_controller.Socket(f"127.0.0.1:{port}", {"Node-Name": name})
        self.socket.send(1, b'{"namespace":"","resourceKind":"","resourceName":"","operation":""}\n')
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            while True:
                message = json.loads(self.socket.receive())
                self.told.append(Told(message["header"], json.loads(base64.b64decode(message["content"]))))
        except OSError:
            pass

    def about(self, key):
        return [t for t in list(self.told) if t.key == key]


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
                nodes[node] = Node(node, self.port)
            elif event["ev"] == "frame" and event["dir"] == "gm->lc":
                expected.setdefault(node, []).append(Told(event["header"], event["content"]))
            elif event["ev"] == "frame" and "header" in event:
                self.wait_for(lambda: self.has_been_told(nodes[node], expected.get(node, [])), 60)
                message = {"header": event["header"],
                           "content": base64.b64encode(json.dumps(event["content"]).encode()).decode()}
                nodes[node].socket.send(1, (json.dumps(message) + "\n").encode())
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

    def test_two_rounds_with_a_restart(self):
        self.compare("restart-two-rounds")

    def test_a_round_with_hot_update(self):
        self.compare("hot-update-round")

    def test_a_round_on_three_nodes(self):
        self.compare("multi-node-restart")


if __name__ == "__main__":
    unittest.main()
