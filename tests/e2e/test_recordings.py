# SPDX-License-Identifier: Apache-2.0
"""Commands that look at a cluster, and recordings: what a controller decided in the cluster is decided again without it."""
import json
import os
import subprocess

import yaml

from controlled import ControlledCase, Controller
from support import PERIGEE

SECRET = "XYZZY-very-secret"


class CommandCase(ControlledCase):
    def perigee(self, *args, code=0, kubeconfig=None, stdin=None):
        p = subprocess.run([PERIGEE, *args], capture_output=True, text=True, timeout=120, input=stdin,
                           env=dict(os.environ, KUBECONFIG=kubeconfig or self.lab.kubeconfig))
        self.assertEqual(p.returncode, code, f"{args}\n{p.stdout[:2000]}\n{p.stderr[:4000]}")
        return p.stdout, p.stderr

    def path(self, name):
        return os.path.join(self.folder, name)


class Commands(CommandCase):
    STARTS = False

    def dump(self):
        """Everything that a plan in this namespace may read, as a file."""
        kinds = ("inferenceservices.serving.kserve.io,servingruntimes.serving.kserve.io,configmaps,secrets,serviceaccounts,"
                 "services,deployments.apps,pods,horizontalpodautoscalers")
        shared = ("clusterservingruntimes.serving.kserve.io,clusterstoragecontainers.serving.kserve.io", f"namespace/{self.ns}")
        texts = [self.lab.kubectl("get", "-n", self.ns, kinds, "-o", "json"), self.lab.kubectl("get", shared[0], "-o", "json"),
                 self.lab.kubectl("get", shared[1], "-o", "json"),
                 self.lab.kubectl("get", "-n", "kserve", "configmap", "inferenceservice-config", "-o", "json")]
        items = []
        for text in texts:
            document = json.loads(text)
            items += document["items"] if document["kind"] == "List" else [document]
        for item in items:
            item["metadata"].pop("managedFields", None)
            item["metadata"].get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
        with open(self.path("dump.yaml"), "w") as f:
            yaml.safe_dump_all(items, f)
        return self.path("dump.yaml")

    def test_a_cluster_and_its_dump_give_the_same_plans(self):
        for service in (self.service(), self.service("rose", "onnx"), self.service("lily", "nonsense")):
            self.api.create(service)
        now = ("--now", "2026-06-01T00:00:00Z", "-o", "json")
        for name, code in (("iris", 0), ("rose", 0), ("lily", 1)):
            live, _ = self.perigee("plan", "-n", self.ns, f"isvc/{name}", *now, code=code)
            file, _ = self.perigee("plan", "-n", self.ns, f"isvc/{name}", "-f", self.dump(), *now, code=code)
            self.assertEqual(json.loads(live), json.loads(file))
        several, _ = self.perigee("plan", "-n", self.ns, *now, code=1)
        self.assertEqual([i["resource"]["metadata"]["name"] for i in json.loads(several)["items"]], ["iris", "lily", "rose"])

    def test_what_why_diff_and_eval_say_about_a_cluster(self):
        self.api.create(self.service())
        out, _ = self.perigee("why", "-n", self.ns, "isvc/iris")
        self.assertIn("served by ClusterServingRuntime", out)
        os.makedirs(self.path("set"), exist_ok=True)
        with open(self.path("set/image.lua"), "w") as f:
            f.write('local M = { api = "image/v1" }\nfunction M.tag() return "r/x:9" end\nreturn M\n')
        out, _ = self.perigee("diff", "-n", self.ns, "--policies", self.path("set"), code=1)
        self.assertIn("1 of 1 service changes", out)
        with open(self.path("phase.lua"), "w") as f:
            f.write("return input.status.phase")
        self.assertEqual(self.perigee("eval", self.path("phase.lua"), f"ns/{self.ns}")[0], '"Active"\n')
        out, _ = self.perigee("repl", "-n", self.ns, stdin="select iris\nservice.metadata.name\n")
        self.assertIn("iris", out)

    def test_what_may_not_be_read_is_named(self):
        limited = self.lab.write_kubeconfig(self.path("limited"), "limited-token")
        _, err = self.perigee("plan", "-n", self.ns, "isvc/iris", code=2, kubeconfig=limited)
        self.assertRegex(err, r'cannot get resource "inferenceservices" in API group "serving.kserve.io"|'
                              r"the credentials of user")
        _, err = self.perigee("plan", "-n", self.ns, "isvc/nobody", code=2)
        self.assertIn(f"isvc/nobody: no such object in namespace {self.ns}", err)


class Recordings(CommandCase):
    STARTS = False

    def decisions(self, *args, code=0):
        out, _ = self.perigee("replay", self.path("records/recording.ndjson.zst"), *args, "-o", "json", code=code,
                              kubeconfig="/nowhere")
        return json.loads(out)

    def test_a_run_of_the_controller_replays_bit_for_bit_elsewhere(self):
        controller = Controller(self.lab, self.folder, "recorded", "--record", self.path("records") + "/").start()
        self.addCleanup(controller.stop)
        controller.wait_ready()
        self.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": self.ns},
                         "stringData": {"awsAccessKeyID": SECRET, "awsSecretAccessKey": SECRET}})
        self.api.create(self.service(env=[{"name": "HF_TOKEN", "value": SECRET}]))
        self.api.create(self.service("lily", "nonsense"))
        deployment = self.eventually(lambda: self.owned("Deployment"), what="the Deployment")
        self.assertIn(SECRET, json.dumps(deployment), "the real value has to reach the cluster")
        self.api.patch(self.service(), {"spec": {"predictor": {"minReplicas": 2}}})
        self.eventually(lambda: (self.owned("HorizontalPodAutoscaler") or {}).get("spec", {}).get("minReplicas") == 2,
                        what="the change")
        self.api.delete(self.service())
        self.eventually(lambda: self.owned("Deployment") is None, 60, "the Deployment to go")
        self.assertEqual(controller.stop(), 0)

        replay = self.decisions()
        self.assertEqual(replay["different"], 0)
        ours = [d for d in replay["decisions"] if d["namespace"] == self.ns]
        self.assertEqual({d["name"] for d in ours}, {"iris", "lily"})
        self.assertGreater(len([d for d in ours if d["name"] == "iris"]), 1)
        file = self.path("records/recording.ndjson.zst")
        plain = subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout.decode()
        self.assertNotIn(SECRET, plain)
        out, _ = self.perigee("why", "--replay", file, "-n", self.ns, "isvc/lily", kubeconfig="/nowhere", code=1)
        self.assertIn("nonsense", out)
