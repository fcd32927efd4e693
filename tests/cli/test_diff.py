# SPDX-License-Identifier: Apache-2.0
"""perigee diff: groups, counts, gates, output forms, what bad input gets."""
import json
import os
import re
import shutil
import unittest

import yaml

from support import CATALOG, ROOT, Case, service

NOW = "2026-06-01T00:00:00Z"
GPU = """\
    resources:
      limits: {nvidia.com/gpu: "2"}
      requests: {nvidia.com/gpu: "2"}
    """
GROUPS = ["unchanged", "metadata", "inPlace", "restart", "gpus", "objects", "error"]


class Diff(Case):
    def setUp(self):
        super().setUp()
        self.write("fleet/services.yaml", "---\n".join([service("iris"), service("wine", namespace="team-a"),
                                                        service("llm", framework="huggingface", extra=GPU)]))
        self.sources = ("-f", CATALOG, "-f", self.path("fleet"), "-R")

    def run_diff(self, *args, code=0, stdin=None):
        return self.run_perigee("diff", *self.sources, *args, "--now", NOW, code=code, stdin=stdin)

    def diff(self, *args, code=1, stdin=None):
        return json.loads(self.run_diff(*args, "-o", "json", code=code, stdin=stdin)[0])

    def policy(self, name, body, folder="set"):
        self.write(f"{folder}/{name}.lua", f'local M = {{ api = "{name}/v1" }}\n{body}\nreturn M\n')
        return self.path(folder)

    def groups(self, report):
        return {k: v["services"] for k, v in report["groups"].items() if v["services"]}

    def runtime(self, name, change):
        with open(os.path.join(CATALOG, "runtimes", name + ".yaml")) as f:
            made = yaml.safe_load(f)
        change(made)
        return self.write(f"with-{name}.yaml", yaml.safe_dump(made))

    def namespace_set(self, namespace, policy, body):
        """A ConfigMap with a policy of the namespace's own."""
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": "rules", "namespace": namespace, "labels": {"perigee.dev/policy-scope": "namespace"}},
                           "data": {f"{policy}.lua": f'local M = {{ api = "{policy}/v1" }}\n{body}\nreturn M\n'}})

    # ---- groups ----

    def test_the_same_policies_change_nothing(self):
        self.run_perigee("policies", "export", self.path("same"))
        report = self.diff("--policies", self.path("same"), code=0)
        self.assertEqual(self.groups(report), {"unchanged": 3})
        self.assertEqual(sorted(report["groups"]), sorted(GROUPS))
        self.assertEqual((report["services"], report["restarts"], report["gpus"]), ([], 0, 0))
        self.assertEqual((report["gpusBefore"], report["gpusAfter"]), (2, 2))

    def test_a_set_in_which_nothing_decides_is_told(self):
        note = "no file in it decides anything, so the shipped policies do"
        os.mkdir(self.path("empty"))
        self.write("typo/imgae.lua", 'return { api = "image/v1", tag = function() return "a:b" end }\n')
        self.write("used/mirror.lua", 'return { api = "image/v1", tag = function() return "a:b" end }\n')
        self.write("used/policies.yaml", "use: {image: mirror}\n")
        self.write("settings/policies.yaml", "use: {il_stage: il_stage_resilient}\n")
        for name, is_idle in (("empty", True), ("typo", True), ("used", False), ("settings", False)):
            commands = [("diff", *self.sources, "--policies", self.path(name), "-o", "summary"),
                        ("plan", *self.sources, "--policies", self.path(name), "-o", "name"),
                        ("policies", "list", "--policies", self.path(name))]
            for command in commands:
                _, err = self.run_perigee(*command, code=1 if name == "used" and command[0] == "diff" else 0)
                self.assertEqual(err.count(f"note: {self.path(name)}: {note}"), 1 if is_idle else 0, (command, err))

    def test_a_label_of_objects_is_metadata_only(self):
        patch = self.policy("object_patch", 'function M.patch() return { metadata = { labels = { seen = "yes" } } } end')
        report = self.diff("--policies", patch)
        self.assertEqual(self.groups(report), {"metadata": 3})
        self.assertEqual((report["restarts"], report["gpus"]), (0, 0))
        field = report["services"][0]["objects"][0]["fields"][0]
        self.assertEqual(field, {"path": ".metadata.labels.seen", "to": "yes", "layer": "object_patch policy"})

    def test_a_port_of_a_service_changes_in_place(self):
        patch = self.policy("object_patch", 'function M.patch(o) if o.kind == "Service" then '
                            'return { spec = { sessionAffinity = "ClientIP" } } end end')
        self.assertEqual(self.groups(self.diff("--policies", patch)), {"inPlace": 3})

    def test_an_image_restarts_pods_and_counts_them(self):
        patch = self.policy("image", 'function M.tag(image) return image .. "-x" end')
        report = self.diff("--policies", patch)
        self.assertEqual(self.groups(report), {"restart": 3})
        self.assertEqual((report["restarts"], report["gpus"]), (3, 2))
        llm = next(s for s in report["services"] if s["name"] == "llm")
        deployment = next(o for o in llm["objects"] if o["kind"] == "Deployment")
        self.assertEqual((deployment["restarts"], deployment["pods"], deployment["gpus"]), (True, 1, 2))
        self.assertEqual([f["layer"] for f in deployment["fields"]], ["image policy"])

    def test_stored_deployments_tell_how_many_pods_run(self):
        plan = self.plan(*self.sources, "-n", "default", "isvc/iris")
        deployment = next(o for o in plan["objects"] if o["kind"] == "Deployment")
        deployment["status"] = {"replicas": 5}
        self.write("fleet/stored.json", json.dumps(deployment))
        report = self.diff("--policies", self.policy("image", 'function M.tag() return "a:b" end'), "-n", "default", "isvc/iris")
        self.assertEqual(report["restarts"], 5)

    def test_pods_that_run_count_before_those_that_are_asked_for(self):
        self.write("fleet/services.yaml", service("iris", extra=GPU).replace(
            "serving.kserve.io/deploymentMode: Standard", "serving.kserve.io/deploymentMode: Standard\n    serving.kserve.io/autoscalerClass: none") +
            "    minReplicas: 3\n")
        plan = self.plan(*self.sources, "isvc/iris")
        deployment = next(o for o in plan["objects"] if o["kind"] == "Deployment")
        self.assertEqual(deployment["spec"]["replicas"], 3)
        deployment["status"] = {"replicas": 5}
        self.write("fleet/stored.json", json.dumps(deployment))
        image = self.policy("image", 'function M.tag() return "a:b" end')
        report = self.diff("--policies", image)
        self.assertEqual((report["restarts"], report["gpusBefore"], report["gpusAfter"]), (5, 10, 10))
        self.write("with.yaml", self.read("fleet/services.yaml").replace("minReplicas: 3", "minReplicas: 4"))
        report = self.diff("--with", self.path("with.yaml"))
        self.assertEqual((report["restarts"], report["gpusBefore"], report["gpusAfter"]), (0, 10, 8))

    def test_another_number_of_gpus(self):
        changed = yaml.safe_load(service("llm", framework="huggingface", extra=GPU))
        changed["spec"]["predictor"]["model"]["resources"] = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}
        report = self.diff("--with", self.write("with.json", json.dumps(changed)))
        self.assertEqual(self.groups(report), {"unchanged": 2, "gpus": 1})
        self.assertEqual((report["gpus"], report["gpusBefore"], report["gpusAfter"]), (4, 2, 4))

    def test_objects_appear_and_vanish(self):
        report = self.diff("--with", self.write("new.yaml", service("brand-new")))
        self.assertEqual(self.groups(report), {"unchanged": 3, "objects": 1})
        self.assertEqual({o["change"] for o in report["services"][0]["objects"]}, {"appears"})
        report = self.diff("--without", "inferenceservice/llm")
        self.assertEqual(self.groups(report), {"unchanged": 2, "objects": 1})
        self.assertEqual({o["change"] for o in report["services"][0]["objects"]}, {"vanishes"})
        self.assertEqual((report["gpusBefore"], report["gpusAfter"]), (2, 0))

    def test_a_service_that_fails_newly_is_an_error(self):
        self.write("fleet/paddle.yaml", service("pad", framework="paddle", extra=GPU))
        report = self.diff("--without", "clusterservingruntime/kserve-paddleserver")
        self.assertEqual(self.groups(report), {"unchanged": 3, "error": 1})
        pad = report["services"][0]
        self.assertIsNone(pad["errorBefore"])
        self.assertIn("no runtime serves format 'paddle'", pad["errorAfter"])
        self.assertEqual((pad["pods"], report["gpusBefore"], report["gpusAfter"], report["failingAfter"]), (0, 4, 4, 1))

    def test_a_policy_that_fails_is_an_error_of_each_service(self):
        report = self.diff("--policies", self.policy("image", 'function M.tag() error("no") end'))
        self.assertEqual(self.groups(report), {"error": 3})
        self.assertIn("image.lua:2", report["services"][0]["errorAfter"])

    # ---- namespaces with policies of their own ----

    def image_of(self, report, name):
        service = next(s for s in report["services"] if s["name"] == name)
        deployment = next(o for o in service["objects"] if o["kind"] == "Deployment")
        return [(f["from"], f["to"]) for f in deployment["fields"] if f["path"].endswith(".image")][0]

    def test_a_namespace_keeps_its_own_policy_on_both_sides(self):
        self.write("fleet/rules.json", self.namespace_set("team-a", "image", 'function M.tag() return "own:1" end'))
        new = self.policy("image", 'function M.tag() return "everybody:1" end')
        report = self.diff("--policies", new, "--namespace-policies", "image")
        self.assertEqual({s["name"] for s in report["services"]}, {"iris", "llm"})
        self.assertIn("1 namespace with policies of its own", report["new"])
        report = self.diff("--policies", new)  # nobody may set anything
        self.assertEqual({s["name"] for s in report["services"]}, {"iris", "llm", "wine"})

    def test_a_namespace_gets_another_set(self):
        self.write("fleet/rules.json", self.namespace_set("team-a", "image", 'function M.tag() return "own:1" end'))
        change = self.write("with.json", self.namespace_set("team-a", "image", 'function M.tag() return "own:2" end'))
        for jobs in ("1", "2"):
            report = self.diff("--with", change, "--namespace-policies", "image", "--jobs", jobs)
            self.assertEqual([s["name"] for s in report["services"]], ["wine"])
            self.assertEqual(self.image_of(report, "wine"), ("own:1", "own:2"))
        report = self.diff("--without", "configmap/rules", "-n", "team-a", "--namespace-policies", "image")
        self.assertEqual(self.image_of(report, "wine")[0], "own:1")

    def test_a_namespace_whose_set_is_refused_fails(self):
        change = self.write("with.json", self.namespace_set("team-a", "image", "function M.tag( end"))
        report = self.diff("--with", change, "--namespace-policies", "image")
        self.assertEqual(self.groups(report), {"unchanged": 2, "error": 1})
        self.assertIn("the policies of namespace team-a are refused", report["services"][0]["errorAfter"])

    def test_a_recording_holds_the_sets_of_namespaces(self):
        self.write("fleet/rules.json", self.namespace_set("team-a", "image", 'function M.tag() return "own:1" end'))
        recording = self.path("all.ndjson.zst")
        self.run_perigee("plan", *self.sources, "--namespace-policies", "image", "--record", recording, "-o", "name")
        new = self.policy("image", 'function M.tag() return "everybody:1" end')
        for jobs in ("1", "2"):
            out, _ = self.run_perigee("diff", "--replay", recording, "--policies", new, "-o", "json", "--jobs", jobs, code=1)
            report = json.loads(out)
            self.assertEqual({s["name"] for s in report["services"]}, {"iris", "llm"})
            self.assertIn("1 namespace with policies of its own", report["base"])
        self.run_perigee("diff", "--replay", recording, "--without", "configmap/none", code=2)

    # ---- where it is from ----

    def test_services_are_told_with_file_and_line(self):
        report = self.diff("--policies", self.policy("image", 'function M.tag() return "a:b" end'))
        places = {s["name"]: s["place"] for s in report["services"]}
        lines = self.read("fleet/services.yaml").splitlines()
        self.assertEqual(places["iris"], self.path("fleet/services.yaml") + ":1")
        self.assertEqual(places["llm"], f"{self.path('fleet/services.yaml')}:{[i for i, l in enumerate(lines, 1) if l == '---'][1] + 1}")
        out, _ = self.run_diff("--policies", self.path("set"), code=1)
        self.assertIn(f"default/iris: pods restart  [{self.path('fleet/services.yaml')}:1]", out)
        changed = self.write("changed.yaml", "# mine\n" + service("iris", framework="none-such"))
        out, _ = self.run_diff("--with", changed, code=1)
        self.assertIn(f"[{changed}:2]", out[out.index("\nerrors\n"):])

    def test_a_folder_store_knows_its_files(self):
        self.write("store/a/iris.yaml", service("iris"))
        shutil.copytree(CATALOG, self.path("store/catalog"))
        new = self.policy("image", 'function M.tag() return "a:b" end')
        out, _ = self.run_perigee("diff", "--store", f"dir:{self.path('store')}", "--policies", new, code=1)
        self.assertIn(f"[{self.path('store')}/a/iris.yaml:1]", out)

    def test_a_changed_runtime_and_configuration(self):
        def newer(made):
            made["spec"]["containers"][0]["image"] = "new/sklearn:9"
        report = self.diff("--with", self.runtime("kserve-sklearnserver", newer))
        self.assertEqual(self.groups(report), {"unchanged": 1, "restart": 2})
        with open(os.path.join(CATALOG, "config", "inferenceservice-config.yaml")) as f:
            config = yaml.safe_load(f)
        deploy = json.loads(config["data"]["deploy"])
        deploy["defaultDeploymentMode"] = "Standard"
        deploy["deploymentRolloutStrategy"] = {"defaultRollout": {"maxSurge": "7", "maxUnavailable": "1"}}
        config["data"]["deploy"] = json.dumps(deploy)
        report = self.diff("--with", self.write("config.json", json.dumps(config)))
        self.assertEqual(self.groups(report), {"inPlace": 3})
        fields = report["services"][0]["objects"][0]["fields"]
        self.assertIn((".spec.strategy.rollingUpdate.maxSurge", "7", "configuration"), [(f["path"], f.get("to"), f["layer"]) for f in fields])

    def test_the_compatibility_switch(self):
        isvc = yaml.safe_load(service("iris"))
        isvc["metadata"]["annotations"]["q"] = "a&b"
        isvc["spec"]["predictor"]["model"]["args"] = ["--q={{.Annotations.q}}"]
        self.write("fleet/services.yaml", json.dumps(isvc))
        report = self.diff("--compat", "fixed")
        self.assertEqual(self.groups(report), {"restart": 1})
        self.assertIn("compat kserve", report["base"])
        self.assertIn("compat fixed", report["new"])
        self.assertEqual(self.groups(self.diff("--compat", "kserve", "--base-compat", "kserve", code=0)), {"unchanged": 1})
        config = self.write("settings.yaml", "compat: fixed\n")
        self.assertEqual(self.groups(self.diff("--compat", "fixed", "--config", config, code=0)), {"unchanged": 1})
        # beside another change it is the mode of both sides
        self.run_perigee("policies", "export", self.path("same"))
        self.assertEqual(self.groups(self.diff("--compat", "kserve", "--policies", self.path("same"), code=0)), {"unchanged": 1})

    def test_the_base_may_be_another_set(self):
        one = self.policy("image", 'function M.tag() return "a:1" end', "one")
        two = self.policy("image", 'function M.tag() return "a:2" end', "two")
        report = self.diff("--base", one, "--policies", two)
        fields = report["services"][0]["objects"][0]["fields"]
        self.assertEqual([(f["from"], f["to"]) for f in fields], [("a:1", "a:2")])
        self.assertEqual(self.groups(self.diff("--base", one, "--policies", one, code=0)), {"unchanged": 3})

    def test_learning_jobs_are_compared_too(self):
        jobs = os.path.join(ROOT, "examples", "learning", "jobs")
        self.sources = ("-f", jobs)
        before = self.diff("--policies", self.policy("image", ""), code=0)
        self.assertGreaterEqual(before["serviceCount"], 1)
        stage = self.policy("il_stage", 'function M.transit() error("never") end', "jobs")
        self.assertEqual(list(self.groups(self.diff("--policies", stage))), ["error"])

    def test_a_recording_is_a_base_with_its_own_policies_and_mode(self):
        isvc = yaml.safe_load(service("iris"))
        isvc["metadata"]["annotations"]["q"] = "a&b"
        isvc["spec"]["predictor"]["model"]["args"] = ["--q={{.Annotations.q}}"]
        self.write("fleet/services.yaml", json.dumps(isvc))
        old = self.policy("image", 'function M.tag() return "old:1" end', "old")
        self.plan(*self.sources, "--policies", old, "--compat", "kserve", "--record", self.path("record"))
        self.sources = ("--replay", self.path("record"))
        report = self.diff("--policies", self.policy("image", 'function M.tag() return "new:1" end', "new"))
        fields = report["services"][0]["objects"][0]["fields"]
        self.assertEqual([(f["from"], f["to"]) for f in fields], [("old:1", "new:1")])
        self.assertRegex(report["base"], "^policies of the recording .*compat kserve$")
        report = self.diff("--compat", "fixed")
        self.assertEqual([f["path"] for f in report["services"][0]["objects"][0]["fields"]],
                         [".spec.template.spec.containers[kserve-container].args"])
        self.assertRegex(report["new"], "^policies of the recording .*compat fixed$")

    # ---- output ----

    def test_the_result_does_not_depend_on_threads_or_order_of_files(self):
        services = [service(f"m-{i:03d}", namespace=f"team-{i % 7}", framework=("sklearn", "xgboost", "nothing")[i % 3]) for i in range(150)]
        self.write("fleet/services.yaml", "---\n".join(services))
        patch = self.policy("image", 'function M.tag(image) if image:find("xgb") then return image .. "-x" end end')
        one, _ = self.run_diff("--policies", patch, "-o", "json", "-j", "1", code=1)
        for jobs in ("2", "7"):
            self.assertEqual(self.run_diff("--policies", patch, "-o", "json", "-j", jobs, code=1)[0], one)
        self.write("fleet/services.yaml", "---\n".join(reversed(services)))
        other = self.run_diff("--policies", patch, "-o", "json", code=1)[0]
        places = r'"place":"[^"]*",'  # of the same services, in another order
        self.assertEqual(re.sub(places, "", other), re.sub(places, "", one))
        self.assertEqual(self.groups(json.loads(one)), {"unchanged": 100, "restart": 50})

    def test_the_summary_names_groups_and_frequent_changes(self):
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        out, _ = self.run_diff("--policies", patch, "-o", "summary", code=1)
        self.assertIn("3 of 3 services change\n", out)
        self.assertRegex(out, r"(?m)^pods restart +3 +3 +2$")
        self.assertIn("3 pods restart, 2 GPUs are touched; GPUs in all: 2 -> 2\n", out)
        self.assertRegex(out, r"(?m)^ +3  Deployment \.spec\.template\.spec\.containers\[kserve-container\]\.image: as in ")
        self.assertIn("default/iris, default/llm, team-a/wine", out)
        self.assertNotIn("default/iris: pods restart", out)

    def test_details_show_fields_and_are_cut_unless_full(self):
        self.write("fleet/services.yaml", "---\n".join(service(f"m-{i:02d}") for i in range(30)))
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        out, _ = self.run_diff("--policies", patch, code=1)
        self.assertEqual(out.count(": pods restart  ["), 20)
        self.assertIn("… and 10 more services; -o full shows all\n", out)
        out, _ = self.run_diff("--policies", patch, "-o", "full", code=1)
        self.assertEqual(out.count(": pods restart  ["), 30)
        self.assertIn('  ~ Deployment m-00-predictor  restarts 1 pod\n      .spec.template.spec.containers[kserve-container].image: '
                      '"kserve/sklearnserver:latest" -> "a:b"  (image policy)\n', out)

    def test_paths_of_details_can_be_asked_for(self):
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        path = self.diff("--policies", patch)["services"][0]["objects"][0]["fields"][0]["path"]
        out, _ = self.run_perigee("why", *self.sources, "--policies", patch, "-n", "default", "isvc/iris", path)
        self.assertIn("image policy", out)

    def test_github_gets_one_command_a_group(self):
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        out, _ = self.run_diff("--policies", patch, "-o", "github", "--max-restarts", "1", code=1)
        self.assertEqual(out.splitlines(), [
            "::error title=perigee diff::3 pods restart; --max-restarts allows 1",
            "::warning title=pods restart::3 services, 3 pods, 2 GPUs: default/iris, default/llm, team-a/wine"])
        out, _ = self.run_diff("--policies", self.policy("image", "", "none"), "-o", "github")
        self.assertEqual(out, "::notice title=perigee diff::no service changes\n")
        bad = self.policy("image", 'function M.tag() error("50%\\n::error::x") end', "bad")
        out, _ = self.run_diff("--policies", bad, "-o", "github", code=1)
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("50%25", out)

    # ---- gates ----

    def test_limits_decide_the_exit_status(self):
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        for args, code, text in ((("--max-restarts", "3"), 0, ""), (("--max-restarts", "2"), 1, "3 pods restart; --max-restarts allows 2"),
                                 (("--max-gpus", "2"), 0, ""), (("--max-gpus", "1"), 1, "2 GPUs are touched; --max-gpus allows 1"),
                                 (("--max-restarts", "3", "--max-gpus", "0"), 1, "2 GPUs are touched")):
            with self.subTest(args):
                out, err = self.run_diff("--policies", patch, *args, code=code)
                self.assertIn(text, err)
                self.assertIn("3 of 3 services change", out)

    def test_one_is_singular(self):
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        out, err = self.run_diff("--policies", patch, "isvc/iris", "-n", "default", "--max-restarts", "0", code=1)
        self.assertIn("1 pod restarts; --max-restarts allows 0", err)
        self.assertIn("1 of 1 service changes\n", out)
        self.assertIn("\n1 pod restarts, 0 GPUs are touched", out)

    def test_a_new_failure_passes_no_gate(self):
        self.write("fleet/paddle.yaml", service("pad", framework="paddle"))
        _, err = self.run_diff("--without", "clusterservingruntime/kserve-paddleserver", "--max-restarts", "100", code=1)
        self.assertIn("1 service cannot be planned any more", err)

    def test_a_failure_of_old_passes(self):
        self.write("fleet/broken.yaml", service("broken", framework="nothing"))
        report = self.diff("--without", "clusterservingruntime/kserve-lgbserver", "--max-restarts", "0", code=0)
        self.assertEqual(self.groups(report), {"unchanged": 3, "metadata": 1})
        self.assertEqual((report["failingBefore"], report["failingAfter"]), (1, 1))

    # ---- input ----

    def test_standard_input_may_be_the_change(self):
        self.assertEqual(self.groups(self.diff("--with", "-", stdin=service("brand-new"))), {"unchanged": 3, "objects": 1})

    def test_nothing_is_written_to_a_folder_store(self):
        self.sources = ("--store", "dir:" + self.path("fleet"))
        self.run_diff("--with", os.path.join(CATALOG, "runtimes"), "--with", os.path.join(CATALOG, "config"), code=1)
        self.assertEqual(sorted(os.listdir(self.path("fleet"))), ["services.yaml"])

    def test_kinds_have_the_names_that_they_have_everywhere(self):
        for name in ("isvc/iris", "inferenceservices/iris", "inferenceservice.serving.kserve.io/iris"):
            with self.subTest(name):
                self.assertEqual(self.groups(self.diff("--without", name)), {"unchanged": 2, "objects": 1})
                self.run_perigee("why", *self.sources, name, ".spec.selector", "--object", "deploy/iris-predictor")
        self.diff("--without", "clusterservingruntimes/kserve-sklearnserver")

    def test_a_namespace_or_names_choose_the_services(self):
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        self.assertEqual(self.diff("--policies", patch, "-n", "team-a")["serviceCount"], 1)
        self.assertEqual(self.diff("--policies", patch, "-n", "default", "isvc/iris")["serviceCount"], 1)
        report = self.diff("--with", self.write("new.yaml", service("new", namespace="team-b")), "--policies", patch, "-n", "team-b")
        self.assertEqual([s["name"] for s in report["services"]], ["new"])

    def test_misuse_and_bad_input_are_trouble(self):
        broken = self.write("broken.yaml", "a: [\n")
        twice = self.write("twice.yaml", service("x") + "---\n" + service("x"))
        bad_set = self.policy("image", "function M.tag(", "bad")
        no_files = self.path("no-files")
        os.mkdir(no_files)
        for args, text in (((), "nothing to compare"), (("--policies", self.path("none")), "no such folder"),
                           (("--policies", bad_set), "image.lua:"), (("--with", broken), "broken.yaml:"),
                           (("--with", self.path("absent")), "absent"), (("--with", twice), "given twice"),
                           *((("--with", path), f"--with: {path}: no objects in it") for path in (self.write("none.yaml", "---\n"), "-", no_files)),
                           (("--without", "pod/x"), "no such object in namespace default"), (("--without", "thing/x"), "unknown kind"), (("--without", "clusterservingruntime/none"), "no such object"),
                           (("--without", "nonsense"), "KIND/NAME"), (("--compat", "other"), "one of kserve|fixed"),
                           (("--compat", "kserve", "--max-restarts", "-1"), "0 or more"), (("--compat", "kserve", "--max-gpus", "x"), "whole number"),
                           *((("--compat", "kserve", "-j", bad), f"--jobs {bad}: a whole number from 1 to 64") for bad in ("0", "9999", "x", "")), (("--compat", "kserve", "-o", "xml"), "one of"),
                           (("--compat", "kserve", "isvc/none"), "no such object")):
            with self.subTest(args):
                out, err = self.run_diff(*args, code=2)
                self.assertEqual(out, "")
                self.assertIn(text, err)

    def test_odd_services_do_not_stop_the_others(self):
        odd = [{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": f"odd-{i}", "namespace": "default"},
                **rest} for i, rest in enumerate(({}, {"spec": None}, {"spec": {"predictor": []}}, {"spec": {"predictor": {"model": 7}}},
                                                  {"spec": {"predictor": {"model": {"modelFormat": {"name": "a\nb"}}}}}))]
        self.write("fleet/odd.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": odd}))
        patch = self.policy("image", 'function M.tag() return "a:b" end')
        report = self.diff("--policies", patch)
        self.assertEqual(report["serviceCount"], 8)
        self.assertEqual(self.groups(report), {"unchanged": 5, "restart": 3})
        self.assertEqual(report["failingAfter"], 5)


if __name__ == "__main__":
    unittest.main()
