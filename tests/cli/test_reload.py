# SPDX-License-Identifier: Apache-2.0
"""Policy sets that change while the controller runs: ConfigMap mounts, editors, half-written files, bad sets."""
import json
import os
import shutil
import signal
import unittest

import yaml

from support import read_file, service
from test_controller import Running as Controller


def image(prefix):
    return 'return { api = "image/v1", tag = function(image) return "%s/" .. image end }\n' % prefix


class Reload(Controller):
    """The inherited tests are those of test_controller; they run there."""

    def mount(self, version, files):
        """A ConfigMap as kubelet mounts it: files behind ..data, which is swapped as a whole."""
        folder = self.path("mounted", ".." + version)
        os.makedirs(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        os.symlink(".." + version, self.path("mounted", "..data_tmp"))
        os.rename(self.path("mounted", "..data_tmp"), self.path("mounted", "..data"))
        for name in files:
            if not os.path.lexists(self.path("mounted", name)):
                os.symlink(os.path.join("..data", name), self.path("mounted", name))
        for name in os.listdir(self.path("mounted")):
            if not name.startswith("..") and not os.path.exists(self.path("mounted", name)):
                os.unlink(self.path("mounted", name))
        for name in os.listdir(self.path("mounted")):
            if name.startswith("..2") and name != ".." + version:
                shutil.rmtree(self.path("mounted", name))

    def deployed(self, part):
        self.wait_for(lambda: part in self.deployment())

    def logged(self, part):
        self.wait_for(lambda: part in self.read("log"))
        return [line for line in self.read("log").splitlines() if part in line]

    def test_a_configmap_mount_is_read_through_its_links_and_swapped(self):
        self.mount("2026_06_01_1", {"image.lua": image("one")})
        self.start("--policies", self.path("mounted"))
        self.deployed("one/kserve/sklearnserver")
        self.mount("2026_06_01_2", {"image.lua": image("two"), "policies.yaml": "options: {}\n"})
        self.deployed("two/kserve/sklearnserver")
        self.mount("2026_06_01_3", {"image.lua": "return {"})
        self.logged("policy set refused")
        self.mount("2026_06_01_4", {"image.lua": image("four")})
        self.deployed("four/kserve/sklearnserver")
        self.end(signal.SIGTERM)

    def test_a_link_to_the_set_may_be_pointed_elsewhere(self):
        self.write("sets/a/image.lua", image("a"))
        self.write("sets/b/image.lua", image("b"))
        os.symlink("sets/a", self.path("current"))
        self.start("--policies", self.path("current"))
        self.deployed("a/kserve/sklearnserver")
        os.symlink("sets/b", self.path("current.new"))
        os.rename(self.path("current.new"), self.path("current"))
        self.deployed("b/kserve/sklearnserver")
        self.write("sets/b/image.lua", image("b2"))
        self.deployed("b2/kserve/sklearnserver")
        self.end(signal.SIGTERM)

    def test_a_folder_may_be_replaced_as_a_whole(self):
        self.write("set/image.lua", image("a"))
        self.write("next/image.lua", image("b"))
        self.start("--policies", self.path("set"))
        self.deployed("a/kserve/sklearnserver")
        os.rename(self.path("set"), self.path("old"))
        os.rename(self.path("next"), self.path("set"))
        self.deployed("b/kserve/sklearnserver")
        self.end(signal.SIGTERM)

    def test_a_file_written_in_pieces_is_taken_when_it_is_whole(self):
        self.write("set/image.lua", image("a"))
        self.start("--policies", self.path("set"))
        self.deployed("a/kserve/sklearnserver")
        text = image("b")
        with open(self.path("set", "image.lua"), "w") as f:
            for at in range(0, len(text), 7):
                f.write(text[at:at + 7])
                f.flush()
        self.deployed("b/kserve/sklearnserver")
        self.end(signal.SIGTERM)

    def test_an_editors_backup_and_rename_are_taken(self):
        self.write("set/image.lua", image("a"))
        self.start("--policies", self.path("set"))
        self.deployed("a/kserve/sklearnserver")
        path = self.path("set", "image.lua")
        os.rename(path, path + "~")
        with open(path, "w") as f:
            f.write(image("b"))
        os.unlink(path + "~")
        self.deployed("b/kserve/sklearnserver")
        self.end(signal.SIGTERM)

    def test_all_errors_of_a_bad_set_are_in_one_line_with_the_active_revision(self):
        self.write("set/image.lua", image("a"))
        self.start("--log-format", "json", "--policies", self.path("set"))
        self.deployed("a/kserve/sklearnserver")
        os.mkdir(self.path("next"))
        self.write("next/image.lua", "return {")
        self.write("next/multi_node.lua", 'return { api = "multi_node/v1", topolgy = function() end }\n')
        self.write("next/policies.yaml", "options: {imge: {}}\n")
        os.rename(self.path("set"), self.path("old"))
        os.rename(self.path("next"), self.path("set"))
        lines = [json.loads(line) for line in self.logged("image.lua:1:")]
        self.assertEqual(len(lines), 1)
        self.assertEqual(lines[0]["message"], "policy set refused, the last good one stays")
        for part in ("image.lua:1:", "did you mean 'topology'", "policies.yaml:1:", "did you mean 'image'"):
            self.assertIn(part, lines[0]["errors"])
        self.assertRegex(lines[0]["active"], r"^[0-9a-f]{16}$")
        self.assertIn("a/kserve/sklearnserver", self.deployment())
        os.rename(self.path("set"), self.path("bad"))
        os.rename(self.path("old"), self.path("set"))
        self.logged("policy set active")
        self.end(signal.SIGTERM)

    def test_a_failing_spec_keeps_the_set_from_becoming_active(self):
        self.write("set/image.lua", image("a"))
        self.start("--policies", self.path("set"))
        self.deployed("a/kserve/sklearnserver")
        self.write("set/image_spec.lua", """\
local support = require("support.perigee")
describe("image", function()
  it("stays a", function() assert.are.equal("a/x", support.policy("image").tag("x", {})) end)
end)
""")
        self.write("set/image.lua", image("b"))
        self.logged("image stays a")
        self.assertIn("a/kserve/sklearnserver", self.deployment())
        self.write("set/image_spec.lua", "describe('image', function() it('may be b', function() end) end)\n")
        self.deployed("b/kserve/sklearnserver")
        self.end(signal.SIGTERM)

    def test_an_edit_that_changes_no_output_writes_nothing(self):
        self.write("set/image.lua", image("a"))
        self.start("--policies", self.path("set"))
        self.deployed("a/kserve/sklearnserver")
        path = self.object("apps", "Deployment", "default", "iris-predictor")
        before = os.stat(path).st_mtime_ns
        self.write("set/image.lua", "-- a comment\n" + image("a"))
        self.logged("policy set active")
        self.write("demo/two.yaml", service("two"))
        self.wait_for(lambda: self.deployment("two-predictor"))
        self.assertEqual(os.stat(path).st_mtime_ns, before)
        # The revision that an object was last changed by is in its own metadata; the pods know nothing of it.
        revisions = [yaml.safe_load(self.deployment(name))["metadata"]["annotations"]["perigee.dev/policy-revision"]
                     for name in ("iris-predictor", "two-predictor")]
        self.assertIn(f"revision={revisions[1]}", self.read("log"))
        self.assertNotEqual(revisions[0], revisions[1])
        self.assertNotIn("perigee.dev", str(yaml.safe_load(self.deployment())["spec"]))
        self.write("set/image.lua", image("b"))
        self.deployed("b/kserve/sklearnserver")
        after = yaml.safe_load(self.deployment())["metadata"]["annotations"]["perigee.dev/policy-revision"]
        self.assertNotIn(after, revisions)
        self.end(signal.SIGTERM)


class PlanWithConfigMaps(Controller):
    """What the controller would plan: the sets are taken from the objects that are read."""
    SCOPED = {"perigee.dev/policy-scope": "namespace"}

    def traced(self, namespace, *options):
        plan = self.plan("-f", self.path("demo"), "-R", "-n", namespace, "inferenceservice/iris", *options)
        return plan, [t["file"] for t in plan["trace"] if t.get("policy") == "image"]

    def test_the_trace_names_map_and_key(self):
        self.write("demo/rules.yaml", config_map("rules", "perigee", {"image.lua": image("a")}))
        self.write("demo/two.yaml", service("iris", "team-a"))
        self.write("demo/mine.yaml", config_map("mine", "team-a", {"image.lua": image("mine")}, self.SCOPED))
        options = ("--policies", "configmap:perigee/rules")
        self.assertEqual(self.traced("team-a", *options)[1], ["configmap perigee/rules:image.lua"])
        options += ("--namespace-policies", "image")
        self.assertEqual(self.traced("team-a", *options)[1], ["configmap team-a/mine:image.lua"])
        self.assertEqual(self.traced("default", *options)[1], ["configmap perigee/rules:image.lua"])

    def test_a_map_that_is_not_there_or_not_named_right_is_an_error(self):
        for policies, message in (("configmap:perigee/none", "configmap perigee/none: there is no such object"),
                                  ("configmap:none", "configmap:NAMESPACE/NAME is needed")):
            _, err = self.run_perigee("plan", "-f", self.path("demo"), "-R", "--policies", policies, code=2)
            self.assertIn(message, err)
        _, err = self.run_perigee("plan", "-f", self.path("demo"), "-R", "--namespace-policies", "imgae", code=2)
        self.assertIn("--namespace-policies imgae: there is no policy 'imgae'; did you mean 'image'?", err)

    def test_settings_may_say_it(self):
        self.write("demo/mine.yaml", config_map("mine", "default", {"image.lua": image("mine")}, self.SCOPED))
        self.write("settings.yaml", "namespacePolicies: [image]\n")
        self.assertEqual(self.traced("default", "--config", self.path("settings.yaml"))[1],
                         ["configmap default/mine:image.lua"])
        self.write("settings.yaml", "namespacePolicies: [imgae]\n")
        _, err = self.run_perigee("plan", "-f", self.path("demo"), "--config", self.path("settings.yaml"), code=2)
        self.assertIn("settings.yaml:1:21: namespacePolicies: there is no policy 'imgae'; did you mean 'image'?", err)


class Failing(Controller):
    FAILS_ON_IRIS = """\
local M = { api = "image/v1" }

function M.tag(image, request)
  if request.service.metadata.name == "iris" then
    return request.no.such
  end
  return "good/" .. image
end

return M
"""

    def status(self, name):
        path = self.path("demo", ".perigee", "status", "serving.kserve.io", "InferenceService", "default", name + ".yaml")
        if not os.path.exists(path):
            return {}
        return {c["type"]: c for c in yaml.safe_load(self.read(path))["status"].get("conditions", [])}

    def events(self):
        path = self.path("demo", ".perigee", "events.ndjson")
        return [json.loads(line) for line in self.read(path).splitlines()] if os.path.exists(path) else []

    def test_a_policy_that_fails_on_one_object_leaves_it_and_serves_the_others(self):
        self.write("set/image.lua", image("a"))
        self.start("--policies", self.path("set"))
        self.wait_for(lambda: "a/kserve/sklearnserver" in self.deployment())
        self.write("set/image.lua", self.FAILS_ON_IRIS)
        failed = self.wait_for(lambda: self.status("iris").get("PolicyFailed"))
        self.assertEqual((failed["status"], failed["reason"]), ("True", "PolicyError"))
        for part in ("policy image, function tag", self.path("set/image.lua") + ":5:", "attempt to index a nil value"):
            self.assertIn(part, failed["message"])
        self.write("demo/two.yaml", service("two"))
        self.wait_for(lambda: "good/kserve/sklearnserver" in self.deployment("two-predictor"))
        self.assertIn("a/kserve/sklearnserver", self.deployment())
        self.assertNotIn("PolicyFailed", self.status("two"))
        told = [e for e in self.events() if e["reason"] == "PolicyFailed"]
        self.assertEqual(len(told), 1, told)
        self.write("set/image.lua", image("mended"))
        self.wait_for(lambda: "mended/kserve/sklearnserver" in self.deployment())
        self.wait_for(lambda: "PolicyFailed" not in self.status("iris"))
        self.end(signal.SIGTERM)

    def test_an_answer_of_the_wrong_shape_is_told_with_its_pointer(self):
        self.write("set/multi_node.lua", 'return { api = "multi_node/v1", topology = function() return 1 end }\n')
        self.write("set/object_patch.lua", """\
local M = { api = "object_patch/v1" }

function M.patch(object)
  return { metadata = { annotations = { bad = print } } }
end

return M
""")
        self.start("--policies", self.path("set"))
        failed = self.wait_for(lambda: self.status("iris").get("PolicyFailed"))
        for part in ("policy object_patch, function patch", "object_patch.lua:3:", "/metadata/annotations/bad"):
            self.assertIn(part, failed["message"])
        self.assertEqual(self.deployment(), "")
        self.end(signal.SIGTERM)


def config_map(name, namespace, files, labels=None):
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": name, "namespace": namespace, "labels": labels or {}}, "data": files})


class ConfigMaps(Reload):
    """ConfigMaps of the folder store as sets: that of everybody, and those of namespaces over it."""
    SCOPED = {"perigee.dev/policy-scope": "namespace"}

    def events(self):
        path = self.path("demo", ".perigee", "events.ndjson")
        return [json.loads(line) for line in self.read(path).splitlines()] if os.path.exists(path) else []

    def told(self, reason, name):
        return [e for e in self.events() if e["reason"] == reason and e["object"]["name"] == name]

    def deployment(self, name="iris-predictor", namespace="default"):
        path = self.object("apps", "Deployment", namespace, name)
        return read_file(path) if os.path.exists(path) else ""

    def image(self, text, namespace="default"):
        self.wait_for(lambda: text in self.deployment(namespace=namespace))

    def test_a_config_map_of_the_store_is_the_set(self):
        self.write("demo/rules.yaml", config_map("rules", "perigee", {"image.lua": image("a")}))
        self.start("--policies", "configmap:perigee/rules")
        self.image("a/kserve/sklearnserver")
        self.write("demo/rules.yaml", config_map("rules", "perigee", {"image.lua": "return {", "x": ""}))
        self.logged("policy set refused")
        event = self.wait_for(lambda: self.told("PolicySetRefused", "rules"))[0]
        self.assertEqual((event["type"], event["object"]["kind"]), ("Warning", "ConfigMap"))
        self.assertIn("configmap perigee/rules: /data/x: ", event["message"])
        self.image("a/kserve/sklearnserver")
        self.write("demo/rules.yaml", config_map("rules", "perigee", {"image.lua": image("b")}))
        self.image("b/kserve/sklearnserver")
        self.wait_for(lambda: self.told("PolicySetActive", "rules"))
        self.end(signal.SIGTERM)

    def test_a_namespace_lies_over_the_set_and_its_trace_says_so(self):
        self.write("demo/rules.yaml", config_map("rules", "perigee", {"image.lua": image("a")}))
        self.write("demo/two.yaml", service("iris", "team-a"))
        self.write("demo/mine.yaml", config_map("mine", "team-a", {"image.lua": image("mine")}, self.SCOPED))
        options = ("--policies", "configmap:perigee/rules", "--namespace-policies", "image,object_patch")
        self.start(*options)
        self.image("mine/kserve/sklearnserver", "team-a")
        self.image("a/kserve/sklearnserver")
        self.write("demo/mine.yaml", config_map("mine", "team-a", {"multi_node.lua": "return {}"}, self.SCOPED))
        self.wait_for(lambda: self.told("PolicySetRefused", "mine"))
        self.assertIn("mine/kserve/sklearnserver", self.deployment(namespace="team-a"))
        os.unlink(self.path("demo/mine.yaml"))
        self.image("a/kserve/sklearnserver", "team-a")
        self.end(signal.SIGTERM)

    def test_a_bad_set_of_a_namespace_at_start_changes_nothing_there(self):
        self.write("demo/two.yaml", service("iris", "team-a"))
        self.write("demo/mine.yaml", config_map("mine", "team-a", {"image.lua": "return {"}, self.SCOPED))
        self.start("--namespace-policies", "image")
        self.image("kserve/sklearnserver")
        path = self.path("demo", ".perigee", "status", "serving.kserve.io", "InferenceService", "team-a", "iris.yaml")
        status = self.wait_for(lambda: os.path.exists(path) and yaml.safe_load(self.read(path)))
        failed = [c for c in status["status"]["conditions"] if c["type"] == "PolicyFailed"][0]
        self.assertIn("the policies of namespace team-a are refused: configmap team-a/mine:image.lua:1:", failed["message"])
        self.assertEqual(self.deployment(namespace="team-a"), "")
        self.write("demo/mine.yaml", config_map("mine", "team-a", {"image.lua": image("mine")}, self.SCOPED))
        self.image("mine/kserve/sklearnserver", "team-a")
        self.end(signal.SIGTERM)

    def test_a_set_that_contradicts_itself_is_refused(self):
        self.write("set/image.lua", image("a"))
        self.start("--policies", self.path("set"))
        self.image("a/kserve/sklearnserver")
        self.write("set/runtime_selection.lua",
                   'return { api = "runtime_selection/v1", before = function(a, b) return true end }\n')
        self.logged("(strict-weak-order)")
        self.assertIn("policy set refused", self.read("log"))
        self.end(signal.SIGTERM)


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite()
    for case in (Reload, ConfigMaps, PlanWithConfigMaps, Failing):
        suite.addTests(case(name) for name in loader.getTestCaseNames(case) if name in vars(case))
    return suite


if __name__ == "__main__":
    unittest.main()
