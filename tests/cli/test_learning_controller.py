# SPDX-License-Identifier: Apache-2.0
"""perigee controller over a folder with a learning job: the edge played by hand in status files, whole rounds, kills."""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import textwrap
import unittest

import yaml

from support import PERIGEE, ROOT, Case, read_file

JOB = """\
apiVersion: sedna.io/v1alpha1
kind: IncrementalLearningJob
metadata: {{name: helmet, namespace: factory}}
spec:
  dataset: {{name: photos, trainProb: 0.8}}
  initialModel: {{name: base}}
  outputDir: /output
  trainSpec:
    template: {{spec: {{nodeName: edge1, containers: [{{name: w, image: train}}]}}}}
    trigger: {{condition: {{operator: ">", threshold: 5, metric: num_of_samples}}}}
  evalSpec:
    template: {{spec: {{nodeName: edge1, containers: [{{name: w, image: eval}}]}}}}
  deploySpec:
    model: {{name: served, hotUpdateEnabled: {hot}}}
    trigger: {{condition: {{operator: ">", threshold: 0.1, metric: "precision_delta[0]"}}}}
    hardExampleMining: {{name: IBT}}
    template: {{spec: {{nodeName: edge1, containers: [{{name: w, image: infer}}]}}}}
"""
DATA = """\
apiVersion: sedna.io/v1alpha1
kind: Dataset
metadata: {name: photos, namespace: factory}
spec: {url: /data/train.txt, format: txt, nodeName: edge1}
---
apiVersion: sedna.io/v1alpha1
kind: Model
metadata: {name: base, namespace: factory}
spec: {url: /models/base, format: ckpt}
---
apiVersion: sedna.io/v1alpha1
kind: Model
metadata: {name: served, namespace: factory}
spec: {url: /models/served, format: ckpt}
"""
READY = {"input": {"models": [{"url": "/models/base", "format": "ckpt"}], "dataURL": "/output/data/train/1/data.txt",
                   "outputDir": "/output/train/1"}}
MADE = {"output": {"models": [{"url": "/output/train/1/m", "format": "ckpt", "metrics": {"precision": [0.9]}},
                              {"url": "/models/served", "format": "ckpt", "metrics": {"precision": [0.1]}}]}}


def stage(name):
    return [f"{name} {t}" for t in ("Waiting", "Ready", "Starting", "Running", "Completed")]


ROUND = {True: stage("Train") + stage("Eval") + stage("Deploy"),
         False: stage("Train") + stage("Eval") + ["Deploy Waiting", "Deploy Ready", "Deploy Completed"]}


class Learning(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("store"))
        self.process = None
        self.starts = 0
        self.addCleanup(self.kill)

    def make(self, hot=False, job=JOB):
        self.write("store/data.yaml", DATA)
        self.write("store/job.yaml", job.format(hot=str(hot).lower()))

    # ---- the controller ----

    def start(self, *args):
        self.starts += 1
        self.log = self.path(f"log{self.starts}")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [PERIGEE, "controller", "--store", "dir:" + self.path("store"), "--play-kubelet", *args],
                stdout=log, stderr=subprocess.STDOUT)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(30), 0, read_file(self.log))

    # ---- what is stored ----

    def status_path(self, group, kind, name):
        return self.path("store", ".perigee", "status", group, kind, "factory", name + ".yaml")

    def document(self):
        try:
            return yaml.safe_load(read_file(self.status_path("sedna.io", "IncrementalLearningJob", "helmet"))) or {}
        except FileNotFoundError:
            return {}

    def conditions(self):
        return self.document().get("status", {}).get("conditions", [])

    def history(self):
        return [f"{c['stage']} {c['type']}" for c in self.conditions()]

    def pods(self, kind=""):
        folder = self.path("store", ".perigee", "objects", "core", "Pod", "factory")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(n[:-len(".yaml")] for n in names if n.startswith("helmet-" + kind) and n.endswith(".yaml"))

    def events(self, reason):
        path = self.path("store", ".perigee", "events.ndjson")
        lines = read_file(path).splitlines() if os.path.exists(path) else []
        return [e["message"] for e in map(json.loads, lines) if e["reason"] == reason]

    # ---- the edge, by hand ----

    def edit(self, path, document):
        with open(path + ".tmp~", "w") as f:
            yaml.safe_dump(document, f)
        os.rename(path + ".tmp~", path)

    def report(self, name, kind, data=None):
        document = self.document()
        condition = {"stage": name, "type": kind, "status": "True", "message": "reported by lc",
                     "lastHeartbeatTime": "2026-06-01T00:00:00Z",
                     "lastTransitionTime": f"2026-06-01T00:00:{len(self.history()) % 60:02}Z"}
        if data:
            condition["data"] = json.dumps(data)
        document["status"]["conditions"].append(condition)
        self.edit(self.status_path("sedna.io", "IncrementalLearningJob", "helmet"), document)

    def end_pod(self, kind, phase="Succeeded"):
        for name in self.pods(kind):
            path = self.status_path("core", "Pod", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.edit(path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "factory"},
                             "status": {"phase": phase}})

    def reach(self, *wanted):
        """Waits until the job's history is this, at least."""
        self.wait_for(lambda: self.history()[:len(wanted)] == list(wanted))

    def quiet(self):
        """The state in which the job waits for the edge, once it is there."""
        def look():
            history = self.history()
            if not history:
                return None
            name, kind = history[-1].split()
            return (name, kind) if kind == "Waiting" or kind == "Running" else None
        return self.wait_for(look)

    def act(self, hot):
        """Answers the state in which the job waits, as an edge node would."""
        name, kind = self.quiet()
        if kind == "Waiting":
            for old in ("train", "eval"):
                self.end_pod(old)
            self.report(name, "Ready", READY)
        elif name != "Deploy" or hot:
            self.report(name, "Completed", MADE)
        return name, kind


class Rounds(Learning):
    def whole_rounds(self, hot, rounds, before=lambda: None):
        while True:
            history = self.history()
            if history == ROUND[hot] * rounds + ["Train Waiting"]:
                return
            self.assertEqual(history, (ROUND[hot] * (rounds + 1))[:len(history)])
            before()
            self.quiet()
            if self.history() == ROUND[hot] * rounds + ["Train Waiting"]:
                return
            count = len(self.history())
            self.act(hot)
            before()
            self.wait_for(lambda: len(self.history()) > count + 1)

    def check_end(self, hot, rounds):
        self.assertEqual(len(self.pods("train-")), rounds)
        self.assertEqual(len(self.pods("eval-")), rounds)
        self.assertEqual(len(self.pods("inference-")), 1)
        annotations = self.document()["metadata"]["annotations"]
        self.assertEqual(annotations["sedna.io/Train"], "edge1")
        self.assertEqual(annotations["sedna.io/Eval"], "edge1")
        self.assertEqual("sedna.io/Deploy" in annotations, hot)

    def test_two_rounds_with_a_restart_of_inference(self):
        self.make()
        self.start()
        self.wait_for(lambda: self.pods("inference-"))
        first = self.pods("inference-")
        self.whole_rounds(False, 2)
        self.check_end(False, 2)
        self.assertNotEqual(self.pods("inference-"), first)
        self.end()

    def test_two_rounds_with_hot_update(self):
        self.make(hot=True)
        self.start()
        self.wait_for(lambda: self.pods("inference-"))
        first = self.pods("inference-")
        self.whole_rounds(True, 2)
        self.check_end(True, 2)
        self.assertEqual(self.pods("inference-"), first)
        self.end()

    def killed(self, hot):
        """Killed at each step, and at odd moments of it; started again; nothing is lost and nothing made twice."""
        chance = random.Random(7 if hot else 8)
        self.make(hot=hot)
        self.start()

        def kill_and_start():
            try:
                self.process.wait(chance.choice((0, 0.01, 0.03, 0.06, 0.1)))
            except subprocess.TimeoutExpired:
                pass
            self.kill()
            self.start()
        self.wait_for(self.history)
        self.whole_rounds(hot, 2, before=kill_and_start)
        self.check_end(hot, 2)
        self.assertGreater(self.starts, 16)
        self.end()

    def test_killed_at_many_steps_with_a_restart_of_inference(self):
        self.killed(False)

    def test_killed_at_many_steps_with_hot_update(self):
        self.killed(True)

    def test_once_goes_as_far_as_it_can_and_shows_the_job(self):
        self.make()
        out, _ = self.run_perigee("controller", "--store", "dir:" + self.path("store"), "--play-kubelet", "--once")
        self.assertRegex(out, r"NAMESPACE +JOB +STATE")
        self.assertRegex(out, r"factory +helmet +Train Waiting .*edge1: its report on Train")
        self.report("Train", "Ready", READY)
        out, _ = self.run_perigee("controller", "--store", "dir:" + self.path("store"), "--play-kubelet", "--once")
        self.assertRegex(out, r"factory +helmet +Train Running ")
        self.assertEqual(len(self.pods("train-")), 1)

    def test_a_manifest_is_never_written(self):
        self.make(hot=True)
        before = self.read("store/job.yaml")
        self.start()
        self.whole_rounds(True, 1)
        self.assertEqual(self.read("store/job.yaml"), before)


class Example(Learning):
    """examples/learning, as its README goes through it."""

    def edge(self, name, kind, code=0, store=None):
        p = subprocess.run([os.path.join(ROOT, "examples", "learning", "edge"), store or self.path("store"), "factory/helmet",
                            name, kind], capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, code, p.stderr)
        return p.stderr

    def test_a_round_by_hand(self):
        shutil.copytree(os.path.join(ROOT, "examples", "learning", "jobs"), self.path("store"), dirs_exist_ok=True)
        self.assertIn("has not seen the job yet", self.edge("Train", "Ready", code=1))
        self.start("--controllers", "learning")
        self.reach("Train Waiting")
        out, _ = self.run_perigee("why", "--store", "dir:" + self.path("store"), "-n", "factory", "incrementallearningjob/helmet")
        self.assertIn("edge node edge1: its report Train Ready", out)
        self.assertIn("a new model is never deployed", out)
        done = ["Train Waiting"]
        for name in ("Train", "Eval", "Deploy"):
            self.edge(name, "Ready")
            done += [f"{name} {t}" for t in ("Ready", "Starting", "Running")]
            self.reach(*done)
            self.edge(name, "Completed")
            done += [f"{name} Completed", {"Train": "Eval", "Eval": "Deploy", "Deploy": "Train"}[name] + " Waiting"]
            self.reach(*done)
        self.edge("Train", "Ready")  # round 2
        self.reach(*done, "Train Ready", "Train Starting", "Train Running")
        self.assertEqual(len(self.pods("train-")), 2)


class ByHand(Learning):
    def test_a_failed_pod_starts_the_round_over(self):
        self.make()
        self.start()
        self.reach("Train Waiting")
        self.report("Train", "Ready", READY)
        self.reach(*stage("Train")[:4])
        self.end_pod("train-", "Failed")
        self.reach(*stage("Train")[:4], "Train Failed", "Train Waiting")

    def test_many_reports_at_once_are_all_kept(self):
        self.make()
        self.start()
        self.reach("Train Waiting")
        document = self.document()
        for kind in ("Ready", "Failed", "Completed"):
            document["status"]["conditions"].append({"stage": "Train", "type": kind, "status": "True",
                                                     "data": json.dumps(READY)})
        self.edit(self.status_path("sedna.io", "IncrementalLearningJob", "helmet"), document)
        self.reach("Train Waiting", "Train Ready", "Train Failed", "Train Completed", "Eval Waiting")

    def test_a_broken_status_file_is_told_and_changes_nothing(self):
        self.make()
        self.start()
        self.reach("Train Waiting")
        path = self.status_path("sedna.io", "IncrementalLearningJob", "helmet")
        good = read_file(path)
        with open(path, "w") as f:
            f.write("status: [")
        self.wait_for(lambda: "helmet.yaml" in read_file(self.log))
        self.write("store/other.yaml", JOB.format(hot="false").replace("name: helmet", "name: other"))
        self.wait_for(lambda: os.path.exists(self.status_path("sedna.io", "IncrementalLearningJob", "other")))
        self.assertEqual(read_file(path), "status: [")  # nobody's edit is written over
        with open(path, "w") as f:
            f.write(good)
        self.report("Train", "Ready", READY)
        self.reach("Train Waiting", "Train Ready", "Train Starting")

    def test_a_missing_model_is_told_and_taken_up_when_it_comes(self):
        self.make()
        data = self.read("store/data.yaml")
        self.write("store/data.yaml", data.replace("name: served", "name: elsewhere"))
        self.start()
        message = 'failed to get infer model served: models.sedna.io "served" not found'
        self.wait_for(lambda: message in self.events("StageBlocked"))
        self.assertEqual(self.pods(), [])
        self.write("store/data.yaml", data)  # long before the pause is over
        self.reach("Train Waiting")

    def test_what_will_never_happen_is_told(self):
        self.make(job=JOB.replace("precision_delta[0]", "precision_delta"))
        self.start()
        self.reach("Train Waiting")
        told = self.wait_for(lambda: self.events("EdgeOutlook"))
        self.assertIn("0 > 0.1 is always false, so a new model is never deployed", told[0])

    def test_a_deleted_job_takes_its_pods_along(self):
        self.make()
        self.start()
        self.reach("Train Waiting")
        os.unlink(self.path("store", "job.yaml"))
        self.wait_for(lambda: not self.pods())
        self.wait_for(lambda: not self.document())
        self.make()  # another job of the same name
        self.reach("Train Waiting")
        self.assertEqual(len(self.pods()), 1)

    def test_hostile_jobs_do_no_harm_to_others(self):
        odd = [{"spec": 5}, {"spec": {"dataset": []}}, {}, {"spec": {"trainSpec": {"template": "x"}}, "status": {"conditions": 7}},
               {"status": {"conditions": [1, None, {"stage": [], "type": {}}]}},
               {"status": {"conditions": [{"stage": "Train", "type": "Ready", "data": "{"}], "startTime": 5}}]
        self.make()
        self.write("store/odd.yaml", "---\n".join(
            yaml.safe_dump({"apiVersion": "sedna.io/v1alpha1", "kind": "IncrementalLearningJob",
                            "metadata": {"name": f"odd-{i}", "namespace": "factory"}, **o}) for i, o in enumerate(odd)))
        self.start()
        self.reach("Train Waiting")
        self.report("Train", "Ready", READY)
        self.reach(*stage("Train")[:4])
        self.assertIsNone(self.process.poll())
        self.end()

    def test_controllers_chooses(self):
        self.make()
        self.write("store/iris.yaml", textwrap.dedent("""\
            apiVersion: serving.kserve.io/v1beta1
            kind: InferenceService
            metadata: {name: iris, namespace: factory}
            spec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: "gs://b/m"}}}
            """))
        store = ("--store", "dir:" + self.path("store"), "--once")
        out, _ = self.run_perigee("controller", *store, "--controllers", "serving")
        self.assertIn("iris", out)
        self.assertNotIn("helmet", out)
        out, _ = self.run_perigee("controller", *store, "--controllers", "learning")
        self.assertIn("helmet", out)
        self.assertNotIn("iris", out)
        _, err = self.run_perigee("controller", *store, "--controllers", "serving,leanring", code=2)
        self.assertIn("--controllers serving,leanring: serving, learning or serving,learning", err)

    def test_settings(self):
        self.make()
        self.write("settings.yaml", "learning: {lcServer: 'http://10.0.0.1:9100', nodes: [edge*]}\n")
        store = ("--store", "dir:" + self.path("store"), "--once")
        self.run_perigee("controller", *store, "--config", self.path("settings.yaml"))
        pod = yaml.safe_load(self.read("store", ".perigee", "objects", "core", "Pod", "factory", self.pods()[0] + ".yaml"))
        env = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0]["env"]}
        self.assertEqual(env["LC_SERVER"], "http://10.0.0.1:9100")
        for text, message in (("learning: 5\n", "settings.yaml:1:11: learning is an object"),
                              ("learning: {lcserver: x}\n", "unknown setting of learning"),
                              ("learning: {nodes: edge1}\n", "nodes is a list of names"),
                              ("learning: {nodes: [1]}\n", "settings.yaml:1:20: the name of a node is needed"),
                              ("learning:\n  nodes: [edge1, 'a*b']\n", "settings.yaml:2:18: nodes holds names of letters, "
                               "digits, '-', '.' and '_' (253 at most), a * at the end for any rest; not a*b\n"),
                              ("learning: {nodes: ['']}\n", "at the end for any rest; not \n"),
                              ("learning: {nodes: ['**']}\n", "at the end for any rest; not **\n"),
                              ("learning: {nodes: ['a b']}\n", "at the end for any rest; not a b\n"),
                              ("learning: {nodes: [" + 254 * "a" + "]}\n", "at the end for any rest; not aaaa"),
                              ("learning: {lcServer: ''}\n", "a text is needed: lcServer"),
                              ("learning: {listen: nowhere}\n", "learning.listen: 'nowhere': ADDRESS:PORT"),
                              ("learninf: {}\n", "did you mean 'learning'?")):
            self.write("settings.yaml", text)
            _, err = self.run_perigee("controller", *store, "--config", self.path("settings.yaml"), code=2)
            self.assertIn(message, err)
        for listen in ("9000x", "1.2.3.4:99999", ":", "host:-1"):
            _, err = self.run_perigee("controller", *store, "--edge-listen", listen, code=2)
            self.assertIn(f"--edge-listen: '{listen}': ADDRESS:PORT, as in 127.0.0.1:9000, or off", err)

    def test_an_address_where_nobody_can_ever_listen_is_refused(self):
        self.make()
        store = ("--store", "dir:" + self.path("store"), "--once")
        for address in ("localhost", "1.2.3", "300.1.1.1", "[::1", "::1]", "edge.example.com", "127.0.0.1 "):
            for option in ("--edge-listen", "--metrics-listen"):
                _, err = self.run_perigee("controller", *store, option, address + ":9000", code=2)
                self.assertEqual(err, f"error: {option}: '{address}:9000': '{address}' is no IP address; "
                                 "ADDRESS:PORT, as in 127.0.0.1:9000, or off\n")
        elsewhere = "192.0.2.1"  # for documentation only, RFC 5737
        _, err = self.run_perigee("controller", *store, "--edge-listen", elsewhere + ":9000", code=2)
        self.assertEqual(err, f"error: --edge-listen: cannot listen on {elsewhere} port 9000: Cannot assign requested "
                         "address; it has to be an address of this machine, 0.0.0.0 is every one\n")
        self.write("settings.yaml", f"learning: {{listen: '{elsewhere}:9000'}}\n")
        _, err = self.run_perigee("controller", *store, "--config", self.path("settings.yaml"), code=2)
        self.assertIn("error: learning.listen: cannot listen on 192.0.2.1 port 9000", err)

    def test_an_address_in_use_is_waited_for(self):
        self.make()
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.start("--edge-listen", f"127.0.0.1:{other.getsockname()[1]}")
            self.wait_for(lambda: "edge nodes cannot be listened to; tried again" in read_file(self.log))
            self.assertIsNone(self.process.poll())
        self.end()


if __name__ == "__main__":
    unittest.main()
