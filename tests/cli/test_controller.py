# SPDX-License-Identifier: Apache-2.0
"""perigee controller over a folder: once and running, edits noticed, policies swapped, a clean end."""
import json
import os
import shutil
import signal
import subprocess
import unittest

import yaml

from support import CATALOG, PERIGEE, Case, read_file, service


class Folder(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("demo"))
        shutil.copytree(os.path.join(CATALOG, "runtimes"), self.path("demo", "runtimes"))
        shutil.copytree(os.path.join(CATALOG, "storagecontainers"), self.path("demo", "storagecontainers"))
        shutil.copytree(os.path.join(CATALOG, "config"), self.path("demo", "config"))
        self.write("demo/iris.yaml", service())

    def object(self, group, kind, namespace, name):
        return self.path("demo", ".perigee", "objects", group, kind, namespace, name + ".yaml")

    def deployment(self, name="iris-predictor"):
        path = self.object("apps", "Deployment", "default", name)
        return read_file(path) if os.path.exists(path) else ""

    def once(self, *args, code=0):
        return self.run_perigee("controller", "--store", "dir:" + self.path("demo"), "--once", *args, code=code)


class Once(Folder):
    def test_renders_objects_and_prints_a_table(self):
        out, _ = self.once()
        self.assertIn("kserve-sklearnserver", out)
        self.assertIn("kserve/sklearnserver:latest", self.deployment())
        for group, kind in (("core", "Service"), ("autoscaling", "HorizontalPodAutoscaler")):
            self.assertTrue(os.path.exists(self.object(group, kind, "default", "iris-predictor")))

    def test_gpus_are_counted_by_the_kinds_that_there_are_and_those_that_are_named(self):
        own = """\
            resources:
              limits:
                example.com/accelerator: 2
                nvidia.com/gpu: 1
                example.com/gpu-memory-gpu: 8
            """
        self.write("demo/iris.yaml", service(extra=own))
        out, _ = self.once()
        self.assertRegex(out, r"iris +\S+ +\S+ +1 ")
        self.write("demo/iris.yaml", service(extra=own).replace(
            "  annotations:\n", "  annotations:\n    serving.kserve.io/gpu-resource-types: '[\"example.com/accelerator\"]'\n"))
        out, _ = self.once()
        self.assertRegex(out, r"iris +\S+ +\S+ +3 ")

    def test_a_second_run_writes_nothing(self):
        self.once()
        before = {p: os.stat(p).st_mtime_ns for p in self.files()}
        self.once()
        self.assertEqual({p: os.stat(p).st_mtime_ns for p in self.files()}, before)

    def files(self):
        return sorted(os.path.join(d, f) for d, _, names in os.walk(self.path("demo")) for f in names)

    def test_a_service_that_no_runtime_supports_says_so_and_the_others_go_on(self):
        self.write("demo/odd.yaml", service("odd", framework="fortran"))
        out, _ = self.once()
        self.assertRegex(out, r"odd .*fortran")
        self.assertTrue(self.deployment())

    def test_a_removed_service_takes_its_objects_along(self):
        self.once()
        os.unlink(self.path("demo", "iris.yaml"))
        self.once()
        self.assertEqual(self.deployment(), "")

    def test_play_kubelet_reaches_ready_and_rests(self):
        out, _ = self.once("--play-kubelet")
        self.assertRegex(out, r"iris .*True")
        conditions = {c["type"]: c["status"] for c in self.read_status("iris")["conditions"]}
        self.assertEqual(conditions, {"IngressReady": "True", "PredictorReady": "True", "Ready": "True"})
        self.assertEqual(self.read_status("iris")["modelStatus"]["states"]["targetModelState"], "Loaded")
        before = {p: os.stat(p).st_mtime_ns for p in self.files()}
        self.once("--play-kubelet")
        self.assertEqual({p: os.stat(p).st_mtime_ns for p in self.files()}, before)

    def read_status(self, name):
        path = self.path("demo", ".perigee", "status", "serving.kserve.io", "InferenceService", "default", name + ".yaml")
        return yaml.safe_load(read_file(path))["status"]

    def test_two_manifests_for_one_object_name_both_places(self):
        self.write("demo/again.yaml", service())
        _, err = self.once(code=2)
        self.assertIn("again.yaml", err)
        self.assertIn("iris.yaml", err)

    def test_unreadable_folder(self):
        _, err = self.run_perigee("controller", "--store", "dir:" + self.path("none"), "--once", code=2)
        self.assertIn(self.path("none"), err)

    def test_a_policy_edit_changes_the_choice(self):
        self.run_perigee("policies", "export", self.path("demo", "policies"))
        self.write("demo/mine.yaml", read_file(CATALOG, "runtimes", "kserve-sklearnserver.yaml")
                   .replace("kserve-sklearnserver", "aaa-sklearn").replace("priority: 1", "priority: 0"))
        out, _ = self.once("--policies", self.path("demo", "policies"))
        self.assertIn("kserve-sklearnserver", out)
        self.write("demo/policies/runtime_selection.lua",
                   'local M = { api = "runtime_selection/v1" }\nfunction M.before(a, b)\n  return a.name < b.name\nend\nreturn M\n')
        out, _ = self.once("--policies", self.path("demo", "policies"))
        self.assertIn("aaa-sklearn", out)

    def test_a_broken_policy_applies_nothing(self):
        self.write("set/image.lua", "return {")
        self.once("--policies", self.path("set"), code=2)
        self.assertEqual(self.deployment(), "")


class Running(Folder):
    def start(self, *args):
        self.log = open(self.path("log"), "w")
        self.process = subprocess.Popen([PERIGEE, "controller", "--store", "dir:" + self.path("demo"), *args],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        self.addCleanup(self.stop)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def end(self, number):
        self.process.send_signal(number)
        self.assertEqual(self.process.wait(30), 0, self.read("log"))

    def test_notices_edited_new_and_removed_manifests_and_ends_on_sigterm(self):
        self.start()
        self.wait_for(lambda: "sklearnserver" in self.deployment())
        self.write("demo/iris.yaml", service().replace("gs://bucket/iris", "gs://bucket/other"))
        self.wait_for(lambda: "gs://bucket/other" in self.deployment())
        self.write("demo/sub/new.yaml", service("new"))
        self.wait_for(lambda: self.deployment("new-predictor"))
        os.unlink(self.path("demo", "sub", "new.yaml"))
        self.wait_for(lambda: not self.deployment("new-predictor"))
        self.end(signal.SIGTERM)

    def test_notices_runtimes_and_configuration_and_ends_on_sigint(self):
        self.start()
        self.wait_for(lambda: self.deployment())
        runtime = self.read("demo/runtimes/kserve-sklearnserver.yaml")
        self.write("demo/runtimes/kserve-sklearnserver.yaml", runtime.replace("kserve/sklearnserver:latest", "mirror/sk:2"))
        self.wait_for(lambda: "mirror/sk:2" in self.deployment())
        path = os.path.join("demo", "config", os.listdir(self.path("demo", "config"))[0])
        config = yaml.safe_load(self.read(path))
        config["data"]["deploy"] = json.dumps({"defaultDeploymentMode": "Standard", "deploymentRolloutStrategy": {
            "defaultRollout": {"maxSurge": "3", "maxUnavailable": "2"}}})
        self.write(path, yaml.safe_dump(config))
        self.wait_for(lambda: yaml.safe_load(self.deployment())["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == "3")
        self.end(signal.SIGINT)

    def test_swaps_policies_and_keeps_the_last_good_set(self):
        self.run_perigee("policies", "export", self.path("policies"))
        self.start("--policies", self.path("policies"))
        self.wait_for(lambda: "sklearnserver:latest" in self.deployment())
        self.write("policies/image.lua", 'return { api = "image/v1", tag = function(image) return "mirror/" .. image end }\n')
        self.wait_for(lambda: "mirror/kserve/sklearnserver" in self.deployment())
        self.write("policies/image.lua", "return {")
        self.wait_for(lambda: "policy set refused" in self.read("log"))
        self.assertIn("mirror/kserve/sklearnserver", self.deployment())
        self.write("policies/image.lua", 'return { api = "image/v1", tag = function(image) return "other/" .. image end }\n')
        self.wait_for(lambda: "other/kserve/sklearnserver" in self.deployment())
        self.end(signal.SIGTERM)

    def test_a_broken_manifest_keeps_the_last_good_object(self):
        self.start()
        self.wait_for(lambda: self.deployment())
        self.write("demo/iris.yaml", "a: [")
        self.wait_for(lambda: "iris.yaml" in self.read("log"))
        self.write("demo/two.yaml", service("two"))
        self.wait_for(lambda: self.deployment("two-predictor"))
        self.assertTrue(self.deployment())
        self.end(signal.SIGTERM)

    def test_a_deployment_removed_by_hand_comes_back(self):
        self.start()
        self.wait_for(lambda: self.deployment())
        os.unlink(self.object("apps", "Deployment", "default", "iris-predictor"))
        self.wait_for(lambda: self.deployment())
        self.end(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
