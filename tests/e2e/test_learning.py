# SPDX-License-Identifier: Apache-2.0
"""Learning jobs on a real control plane with Sedna's kinds: from a job to the second deployed model, the edge played
through the API; the controller killed at every step; reports that race with its writes."""
import json
import signal
import time

from controlled import Controller, ControlledCase
from lab import Refused

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
