# SPDX-License-Identifier: Apache-2.0
"""The link to edge nodes: perigee controller over a folder, simulated Local Controllers over real sockets, workers that
post their results to them; whole rounds with a restart and with hot update, on one node and on several, connections that
break, a controller that is killed."""
import json
import os
import random
import re
import sys
import threading
import unittest
import urllib.request

import yaml

import test_learning_controller as learning
from support import ROOT, read_file

sys.path.insert(0, os.path.join(ROOT, "tests", "edge"))
import local_controller  # noqa: E402

HOT = "/var/lib/sedna/model-hot-update/factory/incrementallearningjob/helmet"
WAITED_FOR = ("Train Waiting", "Train Running", "Eval Running")  # states that last until a test's worker or samples end them


class Edge(learning.Learning):
    """nodes: where the Dataset is, and where the workers run."""

    def make_edge(self, hot=False, nodes=("edge1", "edge1", "edge1", "edge1"), job=None):
        job = job or learning.JOB
        for worker, node in zip(("train", "eval", "infer"), nodes[1:]):
            job = job.replace(f"nodeName: edge1, containers: [{{{{name: w, image: {worker}}}}}]",
                              f"nodeName: {node}, containers: [{{{{name: w, image: {worker}}}}}]")
        self.make(hot, job)
        self.write("store/data.yaml", learning.DATA.replace("nodeName: edge1", f"nodeName: {nodes[0]}"))
        self.root = self.path("root")
        for name, text in (("data/train.txt", ""), ("models/served", "an old model"), ("models/base", "base")):
            os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
            with open(os.path.join(self.root, name), "w") as f:
                f.write(text)
        self.samples = 0
        self.controllers = {}
        self.posted = set()
        self.port = None
        self.configured = ""

    def start(self, *args):
        port = self.port or 0
        super().start("--edge-listen", f"127.0.0.1:{port}", "--log-format", "json", "--log-level", "debug", *args)
        self.port = self.wait_for(self.find_port)

    def find_port(self):
        if self.process.poll() is not None:
            self.fail(read_file(self.log))
        for line in read_file(self.log).splitlines():
            if "listening for edge nodes" in line:
                return int(json.loads(line)["port"])
        return None

    def connect(self, node):
        os.makedirs(self.path("hot", node) + HOT, exist_ok=True)  # as the kubelet does for the inference pod
        controller = local_controller.LocalController(f"127.0.0.1:{self.port}", node, self.root,
                                                      hot_root=self.path("hot", node))
        self.controllers[node] = controller.start()
        self.addCleanup(controller.stop)
        return controller

    def add_samples(self, count=20):
        with open(os.path.join(self.root, "data/train.txt"), "a") as f:
            f.write("".join(f"sample {self.samples + i}\n" for i in range(count)))
        self.samples += count

    # ---- workers ----

    def post(self, node, kind, status, results):
        name = f"{kind}-worker-aaaaa"
        body = {"name": name, "namespace": "factory", "ownerName": "helmet", "ownerKind": "incrementallearningjob",
                "ownerInfo": None, "kind": kind, "status": status, "results": results}
        request = urllib.request.Request(f"http://127.0.0.1:{self.controllers[node].port}/sedna/workers/{name}/info",
                                         json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            self.assertEqual(json.load(answer)["Status"], 200)

    def pod(self, name):
        path = self.path("store", ".perigee", "objects", "core", "Pod", "factory", name + ".yaml")
        return yaml.safe_load(read_file(path))

    def ledger(self):
        return read_file(self.path("store", ".perigee", "objects", "core", "ConfigMap", "factory", "perigee-edge-helmet.yaml"))

    def knows_job(self, node):
        return ("factory", "helmet") in self.controllers[node].jobs

    def is_told(self, node, state):
        job = self.controllers[node].jobs.get(("factory", "helmet"))
        return job and list(job.latest()) == state.split()

    def work(self, history):
        """What the workers do in this state: each train and eval pod posts once, when its job runs."""
        if not history or history[-1] not in ("Train Running", "Eval Running", "Deploy Running"):
            return
        kind = history[-1].split()[0].lower()
        if kind == "deploy":
            return self.load_model()
        new = [p for p in self.pods(kind + "-") if p not in self.posted]
        if not new:
            return
        node = self.pod(new[-1])["spec"]["nodeName"]
        if not self.is_told(node, history[-1]):
            return  # workers take longer than messages
        self.posted.update(new)
        url = f"/output/train/{len(self.pods('train-'))}/model.ckpt"
        os.makedirs(os.path.dirname(self.root + url), exist_ok=True)
        with open(self.root + url, "w") as f:
            f.write(f"model {len(self.pods('train-'))}")
        self.post(node, kind, "running", None)
        if kind == "train":
            self.post(node, kind, "completed", [{"format": "ckpt", "url": url, "metrics": {"precision": [0.8]}}])
        else:
            self.post(node, kind, "completed",
                      [{"format": "ckpt", "url": url, "metrics": {"precision": [0.9]}},
                       {"format": "ckpt", "url": "/models/served", "metrics": {"precision": [0.7]}}])
        self.wait_for(lambda: self.history()[-1] != history[-1], 60, self.where_it_stands)
        self.end_pod(kind)

    def load_model(self):
        """The inference worker sees that the file changed, and loads the model."""
        node = self.document()["metadata"]["annotations"]["sedna.io/Deploy"]
        path = self.path("hot", node) + HOT + "/model_config.json"
        text = read_file(path) if os.path.exists(path) else ""
        if text in ("", self.configured) or not self.knows_job(node):
            return
        self.configured = text
        self.post(node, "deploy", "completed", None)
        self.wait_for(lambda: self.history()[-1] != "Deploy Running")

    # ---- rounds ----

    def when_all_is_stored(self, act):
        return local_controller.when_all_is_stored(self.controllers.values(), self.conditions, act)

    def check_nodes(self):
        for node, controller in self.controllers.items():
            self.assertIsNone(controller.crashed, node)
            self.assertEqual(controller.hazards, [], node)

    def until(self, condition, seconds=90, meanwhile=lambda history: None):
        def look():
            history = self.history()
            self.check_nodes()
            meanwhile(history)
            self.work(history)
            return condition()
        return self.wait_for(look, seconds, self.where_it_stands)

    def where_it_stands(self):
        said = {node: c.said[-4:] for node, c in self.controllers.items()}
        told = {node: [h[:3] for h in c.heard[-60:]] for node, c in self.controllers.items()}
        return f": states {self.history()}; said {said}; told {told}; log:\n{read_file(self.log)[-12000:]}"

    def run_round(self, number, hot, meanwhile=lambda history: None):
        self.add_samples()
        self.until(lambda: self.history().count("Deploy Completed") >= number
                   and self.history()[-1] == "Train Waiting", meanwhile=meanwhile)
        self.assertEqual(read_file(self.root, "models/served"), f"model {number}")

    def two_rounds(self, hot, nodes):
        self.make_edge(hot, nodes)
        self.start()
        for node in sorted(set(nodes)):
            self.connect(node)
        for number in (1, 2):
            self.run_round(number, hot)
        self.assertEqual(self.history(), learning.ROUND[hot] * 2 + ["Train Waiting"])
        self.assertEqual(len(self.pods("inference-")), 1)
        self.end()


class Rounds(Edge):
    def test_two_rounds_with_a_restart_on_one_node(self):
        self.two_rounds(False, ("edge1", "edge1", "edge1", "edge1"))

    def test_two_rounds_with_hot_update_on_one_node(self):
        self.two_rounds(True, ("edge1", "edge1", "edge1", "edge1"))

    def test_two_rounds_with_a_restart_on_three_nodes(self):
        self.two_rounds(False, ("edge1", "edge2", "edge3", "edge1"))

    def test_two_rounds_with_hot_update_on_four_nodes(self):
        self.two_rounds(True, ("edge1", "edge2", "edge3", "edge4"))

    def test_two_rounds_with_hot_update_where_evaluation_and_inference_share_a_node(self):
        self.two_rounds(True, ("edge1", "edge1", "edge2", "edge2"))

    def test_two_rounds_with_the_resilient_policy(self):
        self.make_edge(False, ("edge1", "edge2", "edge3", "edge1"))
        self.write("policies/policies.yaml", "use: {il_stage: il_stage_resilient}\n")
        self.start("--policies", self.path("policies"))
        for node in ("edge1", "edge2", "edge3"):
            self.connect(node)
        for number in (1, 2):
            self.run_round(number, False)


class Faults(Edge):
    def test_connections_break_all_the_time(self):
        dice = random.Random(5)
        self.make_edge(False, ("edge1", "edge2", "edge2", "edge1"))
        self.start()
        for node in ("edge1", "edge2"):
            self.connect(node)

        broken = set()

        def breaks(history):
            state = history[-1] if history else ""
            for node, controller in self.controllers.items():
                where = history.count("Deploy Completed"), state, node
                if state in WAITED_FOR and (where not in broken or dice.random() < 0.02) \
                        and self.when_all_is_stored(controller.drop):
                    broken.add(where)
        for number in (1, 2):
            self.run_round(number, False, breaks)
        self.assertLessEqual({(done, state, node) for done in (0, 1) for state in WAITED_FOR for node in self.controllers}, broken)

    def test_the_controller_is_killed_between_steps(self):
        self.make_edge(False, ("edge1", "edge2", "edge2", "edge1"))
        self.start()
        for node in ("edge1", "edge2"):
            self.connect(node)
        seen = set()

        def kills(history):
            state = history[-1] if history else ""
            where = history.count("Deploy Completed"), state
            if state in WAITED_FOR + ("Eval Waiting", "Deploy Waiting") and where not in seen \
                    and self.when_all_is_stored(self.kill):
                seen.add(where)
                self.start()
        for number in (1, 2):
            self.run_round(number, False, kills)
        self.assertLessEqual({(done, state) for done in (0, 1) for state in WAITED_FOR}, seen)
        self.assertEqual(len(self.pods("train-")), 2)
        self.assertEqual(len(self.pods("eval-")), 2)

    def cut_off(self, hot, nodes, report):
        """One round; the last of the nodes that is not the Dataset's is cut off once it has sent this report. Returns it."""
        self.make_edge(hot, nodes)
        self.start()
        for node in sorted(set(nodes)):
            self.connect(node)
        away = self.controllers[max(nodes)]
        away.leaves_after = report
        self.add_samples()
        self.until(lambda: "Deploy Completed" in self.history() and self.history()[-1] == "Train Waiting")
        self.wait_for(lambda: not away.has_network.is_set())
        return away

    def comes_back(self, away):
        """The controller is killed and started anew; then the node has a network again. Returns whether it has been told since to
        forget the job, as a function."""
        self.kill()
        self.start()
        heard = len(away.heard)
        away.come_back()
        return lambda: ("delete", "incrementallearningjob", "helmet") in [h[:3] for h in list(away.heard)[heard:]]

    def second_round(self):
        self.until(lambda: self.history().count("Deploy Completed") == 2 and self.history()[-1] == "Train Waiting")
        self.assertEqual(read_file(self.root, "models/served"), "model 2")
        self.assertEqual(len(self.pods("train-")), 2)

    def test_a_node_that_missed_the_end_of_a_round_forgets_it_after_a_restart_of_the_controller(self):
        # It trains and evaluates; while it is cut off the next round begins and the controller is killed.
        away = self.cut_off(False, ("edge1", "edge2", "edge2", "edge1"), ("Deploy", "Ready"))
        self.add_samples()
        self.wait_for(lambda: self.history().count("Train Running") == 2)
        self.assertIn('"deployed":[{"node":"edge2"', self.ledger())
        is_told = self.comes_back(away)
        self.until(lambda: self.history().count("Train Completed") == 2)
        self.wait_for(is_told)
        self.wait_for(lambda: "deployed" not in self.ledger())
        self.wait_for(lambda: self.knows_job("edge2"))
        self.second_round()

    def test_a_node_that_was_away_from_one_deployment_to_the_next_takes_part_in_it(self):
        # Its part is to load the model, as its worker reports; it hears of the job again only with its next part.
        away = self.cut_off(True, ("edge1", "edge1", "edge1", "edge4"), ("deploy", "completed"))
        self.add_samples()
        self.until(lambda: self.history().count("Deploy Running") == 2)
        self.wait_for(lambda: self.ledger().count('{"node":"edge4"') == 2)
        is_told = self.comes_back(away)
        self.second_round()
        self.assertTrue(is_told())

    def test_a_job_that_is_made_anew_while_a_node_is_away_is_forgotten_there(self):
        away = self.cut_off(False, ("edge1", "edge2", "edge2", "edge1"), ("Deploy", "Ready"))
        text = read_file(self.path("store/job.yaml")).replace("{name: helmet, ", "{name: helmet, uid: another, ", 1)
        os.remove(self.path("store/job.yaml"))
        self.wait_for(lambda: not self.history())
        self.write("store/job.yaml", text)
        self.wait_for(lambda: self.history()[-1:] == ["Train Waiting"])
        self.wait_for(lambda: '{"node":"edge2","since":""}' in self.ledger())
        self.wait_for(self.comes_back(away))
        self.wait_for(lambda: "edge2" not in self.ledger())

    def test_a_local_controller_that_starts_anew_goes_on(self):
        self.make_edge(False, ("edge1", "edge1", "edge1", "edge1"))
        self.start()
        self.connect("edge1")
        self.add_samples()
        self.until(lambda: "Eval Waiting" in self.history())
        self.controllers["edge1"].stop()
        self.connect("edge1")
        self.until(lambda: "Deploy Completed" in self.history())

    def test_a_job_that_is_deleted_while_a_node_is_away_is_deleted_there_later(self):
        self.make_edge(False, ("edge1", "edge1", "edge1", "edge1"))
        self.start()
        controller = self.connect("edge1")
        self.wait_for(lambda: self.knows_job("edge1"))
        controller.stop()
        os.remove(self.path("store/job.yaml"))
        self.wait_for(lambda: not self.history())
        self.kill()
        self.start()
        again = self.connect("edge1")
        self.wait_for(lambda: ("delete", "incrementallearningjob", "helmet") in [h[:3] for h in list(again.heard)])

    def test_a_job_that_would_end_the_local_controller_is_held_back_with_an_event(self):
        self.make_edge(job=learning.JOB.replace("trainProb: 0.8", "trainProb: 1.5"))
        self.start()
        controller = self.connect("edge1")
        self.add_samples()
        self.wait_for(lambda: self.events("EdgeMessageHeld"))
        self.assertIn("/spec/dataset/trainProb: must lie between 0 and 1, not 1.5", self.events("EdgeMessageHeld")[0])
        said, _ = self.run_perigee("why", "--store", "dir:" + self.path("store"), "-n", "factory",
                                   "incrementallearningjob/helmet")
        self.assertIn("held back\n  edge node edge1 is not told about IncrementalLearningJob helmet: "
                      "/spec/dataset/trainProb: must lie between 0 and 1, not 1.5\n", said)
        self.wait_for(lambda: [h for h in list(controller.heard) if h[1] == "dataset"])
        self.write("store/job.yaml", learning.JOB.format(hot="false"))
        self.wait_for(lambda: self.knows_job("edge1"))
        self.check_nodes()

    def test_a_first_training_that_fails_begins_again_with_new_samples(self):
        self.make_edge()
        self.start()
        self.connect("edge1")
        self.add_samples()
        self.wait_for(lambda: self.history()[-1:] == ["Train Running"])
        self.wait_for(lambda: self.knows_job("edge1") and
                      self.controllers["edge1"].jobs[("factory", "helmet")].latest() == ("Train", "Running"))
        self.posted.update(self.pods("train-"))
        self.post("edge1", "train", "failed", None)
        self.wait_for(lambda: self.history()[-1:] == ["Train Waiting"])
        self.end_pod("train", "Failed")
        self.add_samples()  # the Local Controller counts round 2, and looks for a model
        self.until(lambda: "Eval Completed" in self.history())
        self.assertEqual(self.history().count("Train Ready"), 2)
        self.check_nodes()

    def test_nothing_of_a_secret_is_logged(self):
        self.make_edge(job=learning.JOB.replace("outputDir: /output", "outputDir: /output\n  credentialName: s3"))
        self.write("store/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s3, namespace: factory, annotations: "
                   "{s3-endpoint: 'minio:9000'}}\nstringData: {ACCESS_KEY_ID: akey, SECRET_ACCESS_KEY: hush-hush}\n")
        self.start()
        controller = self.connect("edge1")
        self.wait_for(lambda: self.knows_job("edge1"))
        annotations = controller.jobs[("factory", "helmet")].object["metadata"]["annotations"]
        self.assertIn("hush-hush", annotations["sedna.io/credential"])
        self.end()
        self.assertNotIn("hush-hush", read_file(self.log))
        self.assertNotIn(annotations["sedna.io/credential"][:20], read_file(self.log))


class Port(Edge):
    def test_metrics_count_nodes_messages_and_refusals(self):
        self.make_edge()
        self.write("settings.yaml", "learning: {nodes: [edge1, lab-*]}\n")
        self.start("--metrics-listen", "127.0.0.1:0", "--config", self.path("settings.yaml"))
        self.connect("edge1")
        with self.assertRaisesRegex(ConnectionError, "403"):
            local_controller.Socket(f"127.0.0.1:{self.port}", {"Node-Name": "elsewhere"})
        self.add_samples()
        self.until(lambda: "Train Completed" in self.history())
        port = next(json.loads(line)["port"] for line in read_file(self.log).splitlines() if "metrics and health" in line)

        def metrics():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                return dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
        self.assertEqual(metrics()["perigee_edge_connected_nodes"], "1")
        self.assertEqual(metrics()['perigee_edge_refused_total{reason="unknown_node"}'], "1")
        self.assertEqual(metrics()['perigee_edge_refused_total{reason="refused"}'], "1")  # status "running"
        self.assertGreater(int(metrics()["perigee_edge_messages_read_total"]), 2)
        self.assertGreater(int(metrics()['perigee_policy_calls_total{policy="il_stage",function="transit",result="answered"}']), 2)
        self.assertGreater(int(metrics()['controller_runtime_reconcile_total{controller="incrementallearningjob",result="success"}']), 2)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz/edge", timeout=5) as answer:
            self.assertEqual(answer.read(), b"ok")
        self.end()
        refusals = [json.loads(line) for line in read_file(self.log).splitlines() if "edge link refuses" in line]
        self.assertEqual(sorted(r["reason"] for r in refusals), ["refused", "unknown_node"])


if __name__ == "__main__":
    unittest.main()
