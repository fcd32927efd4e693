# SPDX-License-Identifier: Apache-2.0
"""Learning jobs on a real control plane with Sedna's kinds: from a job to the second deployed model, with the edge
played through the API and with a simulated Local Controller over real sockets; the controller killed at every step, the
edge node disconnected at every step; reports that race with its writes."""
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.request

from controlled import Controller, ControlledCase
from lab import Refused, free_ports
from support import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "edge"))
import local_controller  # noqa: E402

SEDNA = "sedna.io/v1alpha1"
WORKER = "incrementallearningjob.sedna.io/worker-type"
NODE = "edge-0"


def stage(name):
    return [f"{name} {t}" for t in ("Waiting", "Ready", "Starting", "Running", "Completed")]


ROUND = {True: stage("Train") + stage("Eval") + stage("Deploy"),
         False: stage("Train") + stage("Eval") + ["Deploy Waiting", "Deploy Ready", "Deploy Completed"]}


class LearningCase(ControlledCase):
    ARGS = ("--controllers", "learning", "--edge-listen", "off", "--leader-elect", "false")
    STARTS = False

    def setUp(self):
        super().setUp()
        self.controller = None
        self.addCleanup(lambda: self.controller and self.controller.stop(signal.SIGKILL))

    def start(self, *args):
        self.controller = Controller(self.lab, self.folder, self.id().rsplit(".", 1)[1], *self.ARGS, "-n", self.ns, *args)
        return self.controller.start()

    # ---- objects ----

    def sedna(self, kind, name, spec):
        return {"apiVersion": SEDNA, "kind": kind, "metadata": {"name": name, "namespace": self.ns}, "spec": spec}

    def template(self, image):
        return {"spec": {"nodeName": NODE, "containers": [{"name": "worker", "image": image}]}}

    def job(self, hot=False, name="helmet"):
        condition = {"operator": ">", "threshold": 5, "metric": "num_of_samples"}
        return self.sedna("IncrementalLearningJob", name, {
            "dataset": {"name": "photos", "trainProb": 0.8}, "initialModel": {"name": "base"}, "outputDir": "/output",
            "trainSpec": {"template": self.template("train:1"), "trigger": {"condition": condition}},
            "evalSpec": {"template": self.template("eval:1")},
            "deploySpec": {"model": {"name": "served", "hotUpdateEnabled": hot, "pollPeriodSeconds": 60},
                           "trigger": {"condition": {**condition, "threshold": 0.1, "metric": "precision_delta[0]"}},
                           "hardExampleMining": {"name": "IBT", "parameters": [{"key": "threshold_img", "value": "0.9"}]},
                           "template": self.template("infer:1")}})

    def make(self, hot=False):
        for o in (self.sedna("Model", "base", {"url": "/models/base", "format": "ckpt"}),
                  self.sedna("Model", "served", {"url": "/models/served", "format": "ckpt"}),
                  self.sedna("Dataset", "photos", {"url": "/data/train.txt", "format": "txt", "nodeName": NODE})):
            self.api.create(o)
        job = self.job(hot)
        self.api.create(job)
        return job

    def pods(self, kind=None):
        selector = "incrementallearningjob.sedna.io/name=helmet" + (f",{WORKER}={kind}" if kind else "")
        return [{"apiVersion": "v1", "kind": "Pod", **p} for p in self.api.list("v1", "pods", self.ns, selector)]

    def conditions(self, job):
        return ((self.api.read(job) or {}).get("status") or {}).get("conditions") or []

    def history(self, job):
        return [f"{c['stage']} {c['type']}" for c in self.conditions(job)]

    def reach(self, job, wanted, deadline=60):
        self.eventually(lambda: self.history(job)[:len(wanted)] == wanted, deadline,
                        f"the job to reach {wanted[-1]}; it is at {self.history(job)}; log:\n{self.tail()}")

    # ---- the edge ----

    def report(self, job, name, kind, data=None):
        """Appends a condition over what is stored, as the original's Global Manager does for an edge node."""
        while True:
            stored = self.api.read(job)
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            stored["status"].setdefault("conditions", []).append(
                {"stage": name, "type": kind, "status": "True", "message": "reported by lc", "lastHeartbeatTime": now,
                 "lastTransitionTime": now, **({"data": json.dumps(data)} if data else {})})
            try:
                self.api.update(stored, sub="status")
                return
            except Refused as e:
                if e.reason != "Conflict":
                    raise

    def data(self, kind, number):
        trained = {"url": f"/output/train/{number}/model", "format": "ckpt", "metrics": {"precision": [0.9]}}
        if kind == "Completed":
            return {"output": {"models": [trained, {"url": "/models/served", "format": "ckpt", "metrics": {"precision": [0.1]}}]}}
        return {"input": {"models": [{"url": "/models/base", "format": "ckpt"}], "dataURL": f"/output/data/train/{number}/data.txt",
                          "outputDir": f"/output/train/{number}"}}

    def end_pods(self, *kinds):
        for kind in kinds:
            for pod in self.pods(kind):
                if pod["status"].get("phase") == "Running":
                    self.api.patch(pod, {"status": {"phase": "Succeeded"}}, sub="status")

    def rounds(self, job, hot, count, between=lambda: None):
        """Plays the edge until `count` rounds are over; between is called before and after each report."""
        end = ROUND[hot] * count + ["Train Waiting"]
        for number in range(1, count + 1):
            done = ROUND[hot] * (number - 1)
            for name in ("Train", "Eval", "Deploy"):
                done = done + [f"{name} Waiting"]
                self.reach(job, done)
                between()
                self.report(job, name, "Ready", self.data("Ready", number))
                between()
                if name == "Deploy" and not hot:
                    done += ["Deploy Ready", "Deploy Completed"]
                    self.reach(job, done)
                    continue
                done += [f"{name} Ready", f"{name} Starting", f"{name} Running"]
                self.reach(job, done)
                between()
                self.report(job, name, "Completed", self.data("Completed", number))
                between()
                done += [f"{name} Completed"]
                self.reach(job, done)
                self.end_pods("train", "eval")
        self.reach(job, end)
        self.assertEqual(self.history(job), end)

    def check_end(self, job, hot, rounds):
        stored = self.api.read(job)
        self.assertEqual(len(self.pods("train")), rounds)
        self.assertEqual(len(self.pods("eval")), rounds)
        self.eventually(lambda: len(self.pods("inference")) == 1, 30, "the old inference pods to go")
        annotations = stored["metadata"]["annotations"]
        self.assertEqual(annotations["sedna.io/Train"], NODE)
        self.assertEqual(annotations["sedna.io/Eval"], NODE)
        self.assertEqual("sedna.io/Deploy" in annotations, hot)
        self.assertTrue(stored["status"]["startTime"])
        owner = self.pods("train")[0]["metadata"]["ownerReferences"][0]
        self.assertEqual((owner["kind"], owner["uid"], owner["controller"]),
                         ("IncrementalLearningJob", stored["metadata"]["uid"], True))


class Rounds(LearningCase):
    def whole(self, hot):
        job = self.make(hot)
        self.start()
        self.rounds(job, hot, 2)
        self.check_end(job, hot, 2)
        self.assertEqual(self.controller.stop(), 0)

    def test_to_the_second_model_with_a_restart_of_inference(self):
        self.whole(False)

    def test_to_the_second_model_with_hot_update(self):
        self.whole(True)

    def killed(self, hot):
        job = self.make(hot)
        self.start()
        starts = [1]

        def kill_and_start():
            self.controller.stop(signal.SIGKILL)
            starts[0] += 1
            self.controller.start()
        self.rounds(job, hot, 2, between=kill_and_start)
        self.check_end(job, hot, 2)
        self.assertGreater(starts[0], 16)

    def test_killed_at_every_step_with_a_restart_of_inference(self):
        self.killed(False)

    def test_killed_at_every_step_with_hot_update(self):
        self.killed(True)

    def test_reports_that_race_with_the_controller_are_all_kept(self):
        job = self.make()
        self.start()
        self.reach(job, ["Train Waiting"])
        for number in range(1, 21):
            self.report(job, "Train", "Failed", {"input": {"outputDir": f"/{number}"}})
        self.eventually(lambda: self.history(job)[-1] == "Train Waiting", 60)
        kept = [json.loads(c["data"])["input"]["outputDir"] for c in self.conditions(job) if c.get("data")]
        self.assertEqual(kept, [f"/{n}" for n in range(1, 21)])
        self.assertEqual(len(self.pods("train")), 0)

    def test_a_refused_pod_is_told_and_made_when_it_is_allowed(self):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": self.ns},
                 "spec": {"hard": {"pods": "0"}}}
        self.api.create(quota)
        self.eventually(lambda: "hard" in (self.api.read(quota).get("status") or {}), 30)
        job = self.make()
        self.start()

        def told():
            events = self.api.list("v1", "events", self.ns)
            return [e for e in events if e.get("reason") == "ReconcileFailed" and "exceeded quota" in e.get("message", "")]
        self.eventually(told, 60, f"an Event about the quota; log:\n{self.tail()}")
        self.assertEqual(self.history(job), [])
        self.api.delete(quota)
        self.reach(job, ["Train Waiting"], 90)
        self.assertEqual(len(self.pods("inference")), 1)

    def test_a_deleted_job_takes_its_pods_along(self):
        job = self.make()
        self.start()
        self.reach(job, ["Train Waiting"])
        self.api.delete(job)
        self.eventually(lambda: self.api.read(job) is None, 30)
        self.eventually(lambda: not self.pods(), 60)


class Edge(LearningCase):
    """A Local Controller on the node; its workers post to it what they made."""

    def setUp(self):
        super().setUp()
        self.port = free_ports(1)[0]
        self.ARGS = ("--controllers", "learning", "--edge-listen", f"127.0.0.1:{self.port}", "--leader-elect", "false")
        self.root = tempfile.mkdtemp(prefix="edge-", dir=self.folder)
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        for name, text in (("data/train.txt", ""), ("models/served", "old"), ("models/base", "base")):
            self.write(name, text)
        self.samples, self.local, self.posted, self.configured = 0, None, set(), ""

    def write(self, name, text, mode="w"):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode) as f:
            f.write(text)

    def read(self, name):
        try:
            with open(os.path.join(self.root, name)) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def connect(self):
        self.local = local_controller.LocalController(f"127.0.0.1:{self.port}", NODE, self.root).start()
        self.addCleanup(self.local.stop)

    def post(self, kind, status, results):
        name = f"{kind}-worker-aaaaa"
        body = {"name": name, "namespace": self.ns, "ownerName": "helmet", "ownerKind": "incrementallearningjob",
                "ownerInfo": None, "kind": kind, "status": status, "results": results}
        request = urllib.request.Request(f"http://127.0.0.1:{self.local.port}/sedna/workers/{name}/info", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.assertEqual(json.load(answer)["Status"], 200)

    def work(self, job, history):
        """What the workers do in this state, each once, when the node knows of the job."""
        state = history[-1] if history else ""
        if state not in ("Train Running", "Eval Running", "Deploy Running") or (self.ns, "helmet") not in self.local.jobs:
            return
        kind = state.split()[0].lower()
        if kind == "deploy":
            hot = f"var/lib/sedna/model-hot-update/{self.ns}/incrementallearningjob/helmet/model_config.json"
            text = self.read(hot)
            if text in ("", self.configured):
                return
            self.configured = text
            self.post("deploy", "completed", None)
        else:
            new = [p["metadata"]["name"] for p in self.pods(kind) if p["metadata"]["name"] not in self.posted]
            if not new:
                return
            self.posted.update(new)
            url = f"/output/train/{len(self.pods('train'))}/model.ckpt"
            self.write(url[1:], f"model {len(self.pods('train'))}")
            trained = {"format": "ckpt", "url": url, "metrics": {"precision": [0.9]}}
            served = {"format": "ckpt", "url": "/models/served", "metrics": {"precision": [0.7]}}
            self.post(kind, "completed", [trained] if kind == "train" else [trained, served])
        self.eventually(lambda: self.history(job)[len(history):], 60, f"a report about {state} to arrive; log:\n{self.tail()}")
        if kind != "deploy":
            self.end_pods(kind)

    def until(self, job, condition, meanwhile=lambda history: None, deadline=120):
        def look():
            history = self.history(job)
            self.assertIsNone(self.local.crashed)
            self.assertEqual(self.local.hazards, [])
            meanwhile(history)
            self.work(job, history)
            return condition()
        self.eventually(look, deadline, f"the edge to do its part; the job is at {self.history(job)[-3:]}; log:\n{self.tail()}")

    def two_rounds(self, hot, meanwhile=lambda history: None):
        os.makedirs(os.path.join(self.root, f"var/lib/sedna/model-hot-update/{self.ns}/incrementallearningjob/helmet"))
        job = self.make(hot)
        self.start()
        self.connect()
        for number in (1, 2):
            self.write("data/train.txt", "".join(f"sample {self.samples + i}\n" for i in range(20)), "a")
            self.samples += 20
            self.until(job, lambda: self.history(job).count("Deploy Completed") == number
                       and self.history(job)[-1] == "Train Waiting", meanwhile)
            self.assertEqual(self.read("models/served"), f"model {number}")
        self.check_end(job, hot, 2)
        samples = self.api.read(self.sedna("Dataset", "photos", {}))["status"]["numberOfSamples"]
        self.assertEqual(samples, 40)
        return job

    def test_two_rounds_with_a_restart_of_inference(self):
        job = self.two_rounds(False)
        self.assertEqual(self.history(job), ROUND[False] * 2 + ["Train Waiting"])
        self.assertEqual(self.controller.stop(), 0)

    def test_two_rounds_with_hot_update(self):
        job = self.two_rounds(True)
        self.assertEqual(self.history(job), ROUND[True] * 2 + ["Train Waiting"])

    def two_rounds_with(self, hot, first, then=lambda: None):
        """Two rounds; once in each state in which the job waits, when nothing is on its way from the node: first(), that
        would lose it, and then()."""
        seen = set()

        def meanwhile(history):
            state = (len(history), history[-1] if history else "")
            if state[1].endswith(("Waiting", "Running")) and state not in seen and \
                    local_controller.when_all_is_stored([self.local], lambda: self.conditions(self.job()), first):
                seen.add(state)
                then()
        self.two_rounds(hot, meanwhile)
        states = [state for _, state in sorted(seen)]
        for state in ("Train Waiting", "Train Running", "Eval Running") + (("Deploy Running",) if hot else ()):
            self.assertGreaterEqual(states.count(state), 2, states)

    def test_the_node_is_disconnected_at_every_step(self):
        self.two_rounds_with(False, lambda: self.local.drop())

    def test_the_controller_is_killed_at_every_step(self):
        self.two_rounds_with(True, lambda: self.controller.stop(signal.SIGKILL), lambda: self.controller.start())

    def test_a_job_that_is_deleted_while_no_controller_runs_is_deleted_from_the_node(self):
        job = self.make()
        self.start()
        self.connect()
        self.eventually(lambda: (self.ns, "helmet") in self.local.jobs, 60)
        kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "perigee-edge-helmet", "namespace": self.ns}}
        self.assertIsNotNone(self.api.read(kept))
        self.controller.stop(signal.SIGKILL)
        self.api.delete(job)
        self.api.delete(self.sedna("Dataset", "photos", {}))
        self.controller.start()
        self.eventually(lambda: (self.ns, "helmet") not in self.local.jobs, 90, f"the node to forget the job; log:\n{self.tail()}")
        self.eventually(lambda: self.api.read(kept) is None, 30, "what was kept to go")
        self.assertIsNone(self.local.crashed)
