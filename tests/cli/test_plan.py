# SPDX-License-Identifier: Apache-2.0
"""perigee plan: formats, subjects, exit statuses, what bad input gets."""
import json
import os
import shutil
import subprocess
import unittest

from support import CATALOG, PERIGEE, Case, kinds, read_file, service


class Plan(Case):
    def test_prints_the_plan_of_a_named_service_as_json(self):
        plan = self.plan("-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "isvc/iris")
        self.assertEqual(kinds(plan), ["Deployment", "HorizontalPodAutoscaler", "Service"])
        self.assertIsNone(plan["error"])
        self.assertEqual(plan["resource"]["spec"]["predictor"]["model"]["runtime"], "kserve-sklearnserver")
        self.assertEqual(sorted(plan), ["deletes", "error", "events", "messages", "objects", "policyRevision",
                                        "requeueAfterSeconds", "resource", "trace"])

    def test_same_input_gives_the_same_bytes(self):
        args = ("plan", "-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "-o", "json", "--now",
                "2026-06-01T00:00:00Z", "isvc/iris")
        self.assertEqual(self.run_perigee(*args)[0], self.run_perigee(*args)[0])

    def test_several_services_are_a_list(self):
        path = self.write("two.yaml", service("a") + "---\n" + service("b"))
        plans = self.plan("-f", CATALOG, "-R", "-f", path)
        self.assertEqual([p["resource"]["metadata"]["name"] for p in plans["items"]], ["a", "b"])

    def test_name_format_is_what_kubectl_prints(self):
        out, _ = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "-o", "name")
        self.assertEqual(out.split(), ["deployment.apps/iris-predictor", "horizontalpodautoscaler.autoscaling/iris-predictor",
                                       "service/iris-predictor"])

    def test_yaml_format_can_be_read_again(self):
        out, _ = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "-o", "yaml")
        again = self.plan("-f", CATALOG, "-R", "-f", self.path("iris.yaml"), "-f", self.write("out.yaml", out), "isvc/iris")
        first = self.plan("-f", CATALOG, "-R", "-f", self.path("iris.yaml"), "isvc/iris")
        self.assertEqual(again["objects"], first["objects"])

    def test_wide_names_runtime_image_and_gpus(self):
        text = service("llm", framework="huggingface", extra="""\
            resources:
              limits: {nvidia.com/gpu: "2"}
              requests: {nvidia.com/gpu: "2"}
            """)
        out, _ = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.write("llm.yaml", text), "-o", "wide")
        row = out.splitlines()[1].split()
        self.assertEqual(row[:5], ["default", "llm", "kserve-huggingfaceserver", "kserve/huggingfaceserver:latest-gpu", "2"])

    def test_explain_says_why_each_candidate_lost_and_who_set_a_field(self):
        out, _ = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "--explain", "isvc/iris")
        self.assertRegex(out, r"kserve-xgbserver.*rejected")
        self.assertRegex(out, r"kserve-sklearnserver.*chosen")
        self.assertRegex(out, r"runtime +\.spec\.template\.spec\.containers\[0\]\.image")

    def test_standard_input_is_a_file(self):
        plan = self.plan("-f", CATALOG, "-R", "-f", "-", "isvc/iris", stdin=service())
        self.assertEqual(plan["resource"]["metadata"]["name"], "iris")

    def test_nothing_is_written(self):
        self.write("store/iris.yaml", service())
        self.write("store/runtime.yaml", read_file(CATALOG, "runtimes", "kserve-sklearnserver.yaml"))
        shutil.copytree(os.path.join(CATALOG, "config"), self.path("store", "config"))
        self.run_perigee("plan", "--store", "dir:" + self.path("store"))
        self.assertEqual(sorted(os.listdir(self.path("store"))), ["config", "iris.yaml", "runtime.yaml"])

    def test_namespace_option_picks_and_fills_in(self):
        text = service().replace("  namespace: default\n", "")
        plan = self.plan("-f", CATALOG, "-R", "-f", self.write("iris.yaml", text), "-n", "team", "isvc/iris")
        self.assertEqual({o["metadata"]["namespace"] for o in plan["objects"]}, {"team"})


class BadInput(Case):
    def fails(self, *args, code=2, has=(), stdin=None):
        out, err = self.run_perigee("plan", *args, code=code, stdin=stdin)
        for text in has:
            self.assertIn(text, err)
        return out

    def test_unparsable_yaml_names_file_line_and_column(self):
        path = self.write("bad.yaml", "a: b\n  c: [\n")
        self.fails("-f", path, has=["bad.yaml:2:"])

    def test_no_such_file(self):
        self.fails("-f", self.path("none.yaml"), has=["none.yaml", "No such file"])

    def test_empty_folder(self):
        os.mkdir(self.path("empty"))
        self.fails("-f", self.path("empty"), has=["no objects"])

    def test_a_folder_without_manifests_of_its_own_is_noted_beside_other_files(self):
        self.write("iris.yaml", service())
        self.write("outer/inner/rose.yaml", service("rose"))
        _, err = self.run_perigee("plan", "-f", self.path("outer"), "-f", self.path("iris.yaml"), code=1)
        self.assertIn(f"note: {self.path('outer')}: no manifests in it (files end in .yaml, .yml or .json; -R goes into subfolders)\n", err)
        _, err = self.run_perigee("plan", "-R", "-f", self.path("outer"), "-f", self.path("iris.yaml"), code=1)
        self.assertNotIn("note: ", err)

    def test_wrong_type_names_object_and_pointer(self):
        text = service().replace("  predictor:\n", "  predictor:\n    containers: {}\n")
        out = self.fails("-f", CATALOG, "-R", "-f", self.write("iris.yaml", text), "isvc/iris", "-o", "json", code=1)
        self.assertIn("/spec/predictor/containers", json.loads(out)["error"])
        self.assertEqual(json.loads(out)["objects"], [])

    def test_unknown_field_is_a_warning_with_the_nearest_name(self):
        text = service().replace("storageUri:", "storageUrl:")
        _, err = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.write("iris.yaml", text), "isvc/iris")
        self.assertRegex(err, r"warning: .*iris\.yaml:\d+:\d+: .*storageUrl.*did you mean 'storageUri'")

    def test_missing_runtime_is_a_plan_error_that_names_it(self):
        text = service(extra="runtime: nope\n").replace("          runtime", "      runtime")
        plan = self.plan("-f", CATALOG, "-R", "-f", self.write("iris.yaml", text), "isvc/iris", code=1)
        self.assertIn("nope", plan["error"])
        self.assertEqual(plan["objects"], [])
        self.assertEqual(plan["resource"]["status"]["modelStatus"]["lastFailureInfo"]["reason"], "RuntimeNotRecognized")

    def test_unsupported_format_lists_no_go_syntax(self):
        plan = self.plan("-f", CATALOG, "-R", "-f", self.write("iris.yaml", service(framework="fortran")), "isvc/iris", code=1)
        self.assertIn("fortran", plan["error"])
        self.assertNotIn("<nil>", plan["error"])

    def test_unknown_subject_and_the_namespace_it_is_in(self):
        path = self.write("iris.yaml", service(namespace="team"))
        self.fails("-f", path, "isvc/nope", has=["isvc/nope"])
        self.fails("-f", path, "isvc/iris", has=["-n team"])

    def test_the_same_object_twice(self):
        self.fails("-f", self.write("a.yaml", service()), "-f", self.write("b.yaml", service()), has=["b.yaml:1"])

    def test_an_error_of_a_plan_tells_file_and_line(self):
        path = self.write("two.yaml", service("iris") + "---\n" + service("odd", framework="none-such") + "    minReplicas: many\n")
        lines = self.read("two.yaml").splitlines()
        _, err = self.run_perigee("plan", "-f", path, code=1)
        self.assertRegex(err, rf"error: InferenceService default/iris: .*  \[{path}:1\]\n")
        self.assertRegex(err, rf"error: InferenceService default/odd: /spec/predictor/minReplicas: .*  \[{path}:{len(lines)}\]\n")

    def test_policy_with_a_syntax_error_names_line_and_column_and_plans_nothing(self):
        self.write("set/runtime_selection.lua", 'local M = { api = "runtime_selection/v1" }\nfunction M.accept( end\nreturn M\n')
        out = self.fails("-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "--policies", self.path("set"),
                         has=["runtime_selection.lua:2:"])
        self.assertEqual(out, "")

    def test_policy_that_raises_leaves_the_object_as_it_is(self):
        self.write("set/runtime_selection.lua",
                   'local M = { api = "runtime_selection/v1" }\nfunction M.accept(c)\n  return c.nope.x\nend\nreturn M\n')
        out = self.fails("-f", CATALOG, "-R", "-f", self.write("iris.yaml", service()), "--policies", self.path("set"), "isvc/iris",
                         "-o", "json", code=1)
        plan = json.loads(out)
        self.assertEqual((plan["objects"], plan["deletes"]), ([], []))
        self.assertIn("runtime_selection.lua:3", plan["error"])
        self.assertIn("PolicyFailed", json.dumps(plan["resource"]["status"]["conditions"]))

    def test_misuse(self):
        for args in (("--nope",), ("-o", "xml", "-f", "x"), (), ("-f",), ("-f", "x", "--now", "today"), ("-f", "x", "--seed", "-1")):
            self.fails(*args, has=["error: "])

    def test_numbers_at_the_ends_of_their_range(self):
        text = service("many", framework="sklearn", extra="""\
            resources:
              limits: {nvidia.com/gpu: "9223372036854775807", amd.com/gpu: "9223372036854775807"}
            """)
        text += "---\n" + service("canary").replace("Standard", "Serverless").replace(
            "  predictor:\n", "  predictor:\n    canaryTrafficPercent: -9223372036854775808\n")
        text += "status: {components: {predictor: {latestRolledoutRevision: canary-predictor-1}}}\n"
        out, err = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.write("ends.yaml", text), "-o", "wide")
        self.assertIn(" 9223372036854775807 ", out)
        self.assertNotIn("runtime error", err)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_output_that_cannot_be_written_is_trouble(self):
        path = self.write("iris.yaml", service())
        with open("/dev/full", "w") as full:
            p = subprocess.run([PERIGEE, "plan", "-f", CATALOG, "-R", "-f", path], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(p.returncode, 2, p.stderr)
        self.assertIn("error: standard output: No space left on device", p.stderr)

    def test_hostile_bytes(self):
        for text in ("\x00", "{" * 100000, "[" * 100000, "&a [*a]", "a: &a [x, *a]\n", "- " * 5000, "\ufeff", "!!binary x", "? ?"):
            self.fails("-f", "-", stdin=text, has=["error: "])


if __name__ == "__main__":
    unittest.main()
