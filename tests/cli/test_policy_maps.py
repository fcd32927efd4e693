# SPDX-License-Identifier: Apache-2.0
"""Policy sets in ConfigMaps for every command that takes a set: from a cluster, from the objects at hand, from a file."""
import contextlib
import json
import os
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import CATALOG, PERIGEE, service  # noqa: E402
from test_live import LiveCase  # noqa: E402

IMAGE = "return { api = 'image/v1', tag = function(image) return 'mirror.example/' .. image end }\n"
SPEC = """local support = require("support.perigee")
it("takes the mirror", function()
  assert.are.equal("mirror.example/a", support.policy("image").tag("a"))
end)
"""
STAGE = """local M = { api = "il_stage/v1" }
function M.transit(input) return nil end
return M
"""


def policy_map(**files):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rules", "namespace": "perigee"},
            "data": {name.replace("__", "."): text for name, text in files.items()}}


GOOD = policy_map(image__lua=IMAGE, image_spec__lua=SPEC)


class Maps(LiveCase):
    def with_map(self, policy=GOOD):
        self.start(policy)
        return self.kubeconfig

    def as_file(self, policy=GOOD, name="map.yaml", more=""):
        return self.write(name, more + yaml.safe_dump(policy))

    def run_with(self, config, *args, **more):
        return self.run_perigee(*args, "--kubeconfig", config, **more)

    def test_check_reads_the_cluster(self):
        config = self.with_map()
        out, _ = self.run_with(config, "check", "configmap:perigee/rules")
        self.assertIn("configmap:perigee/rules: 2 files checked, 0 errors", out)

    def test_check_takes_a_map_that_only_policies_names(self):
        config = self.with_map()
        out, _ = self.run_with(config, "check", "--policies", "configmap:perigee/rules")
        self.assertIn("2 files checked", out)

    def test_check_names_the_key_and_shows_the_line(self):
        config = self.with_map(policy_map(image__lua="return { api = 'image/v1',\n  tag = function(image) return imge end }\n"))
        out, _ = self.run_with(config, "check", "configmap:perigee/rules", code=1)
        self.assertIn("configmap perigee/rules:image.lua:2:32: error: ", out)
        self.assertIn("  tag = function(image) return imge end }\n" + " " * 33 + "^~~~", out)

    def test_check_lists_entries_that_are_no_files_of_a_set(self):
        bad = policy_map(image__lua=IMAGE, notes__txt="x", policies__yml="x")
        bad["binaryData"] = {"a.lua": "AAAA"}
        out, _ = self.run_perigee("check", self.as_file(bad), code=1)
        self.assertIn("/data/notes.txt: a set is made of NAME.lua", out)
        self.assertIn("/data/policies.yml: a set is made of NAME.lua, NAME_spec.lua and policies.yaml; did you mean 'policies.yaml'?", out)
        self.assertIn("/binaryData/a.lua: policies are texts", out)
        self.assertIn("1 file checked, 3 errors", out)
        out, _ = self.run_perigee("check", self.path("map.yaml"), "-o", "json", code=1)
        self.assertEqual(json.loads(out)["errors"], 3)

    def test_a_map_has_as_many_files_as_a_folder(self):
        many = policy_map(**{f"f{i}__lua": IMAGE for i in range(400)})
        out, _ = self.run_perigee("check", self.as_file(many), code=1)
        self.assertEqual(out.count("a set has at most 256 files"), 144)

    def test_check_reads_a_manifest_with_other_objects_beside_it(self):
        out, _ = self.run_perigee("check", self.as_file(more=service() + "---\n"))
        self.assertIn("2 files checked, 0 errors", out)

    def test_a_file_without_a_map_or_with_two_is_trouble(self):
        _, err = self.run_perigee("check", self.write("service.yaml", service()), code=2)
        self.assertIn("service.yaml: no ConfigMap in it", err)
        two = yaml.safe_dump(GOOD) + "---\n" + yaml.safe_dump(GOOD)
        _, err = self.run_perigee("check", self.write("two.yaml", two), code=2)
        self.assertIn("a second ConfigMap, the first is at line 1", err)
        _, err = self.run_perigee("check", self.write("bad.yaml", "a: [\n"), code=2)
        self.assertIn("bad.yaml:2", err)

    def test_a_map_that_is_not_there_is_trouble_everywhere(self):
        config = self.with_map()
        scenario = self.write("scenario.yaml", "objects: []\nsteps: []\n")
        for args in (["check", "configmap:perigee/none"], ["test", "configmap:perigee/none"],
                     ["repl", "--policies", "configmap:perigee/none"], ["policies", "list", "--policies", "configmap:perigee/none"],
                     ["simulate", scenario, "--policies", "configmap:perigee/none"]):
            _, err = self.run_with(config, *args, code=2, stdin="")
            self.assertIn("configmap perigee/none: there is no such object", err, args)

    def test_a_name_that_is_none_is_trouble(self):
        for name in ("configmap:", "configmap:a", "configmap:a/", "configmap:a/b/c", "configmap:A/b"):
            _, err = self.run_perigee("check", name, code=2)
            self.assertIn("configmap:NAMESPACE/NAME is needed", err)

    def test_no_cluster_is_trouble(self):
        _, err = self.run_perigee("check", "configmap:perigee/rules", env={"KUBECONFIG": self.path("none"), "HOME": self.folder}, code=2)
        self.assertIn("policies configmap:perigee/rules: ", err)
        _, err = self.run_perigee("check", "configmap:perigee/rules", "--kubeconfig", self.path("none"), code=2)
        self.assertIn("none does not exist", err)

    def test_test_runs_the_specs_of_a_map(self):
        config = self.with_map()
        out, _ = self.run_with(config, "test", "configmap:perigee/rules", "-v")
        self.assertIn("configmap perigee/rules:image_spec.lua", out)
        self.assertIn("1 passed, 0 failed", out)
        out, _ = self.run_perigee("test", "--policies", self.as_file(), "--coverage")
        self.assertIn("configmap perigee/rules:image.lua", out)
        _, err = self.run_perigee("test", self.as_file(policy_map(image__lua=IMAGE)), code=2)
        self.assertIn("no specs in it", err)

    def test_specs_of_a_folder_test_the_policies_of_a_map(self):
        self.write("specs/image_spec.lua", SPEC)
        out, _ = self.run_perigee("test", self.path("specs"), "--policies", self.as_file())
        self.assertIn("1 passed", out)
        out, _ = self.run_perigee("test", self.path("specs"), code=1)
        self.assertIn("1 failed", out)

    def test_simulate_asks_the_stage_policy_of_a_map(self):
        config = self.with_map(policy_map(il_stage__lua="return { api = 'il_stage/v1', transit = 1 }"))
        scenario = self.write("scenario.yaml", "objects: []\nsteps: []\n")
        _, err = self.run_with(config, "simulate", scenario, "--policies", "configmap:perigee/rules", code=2)
        self.assertIn("configmap perigee/rules:il_stage.lua:1:", err)
        self.server.objects[("/api/v1", "configmaps", "perigee", "rules")] = policy_map(il_stage__lua=STAGE)
        self.run_with(config, "simulate", scenario, "--policies", "configmap:perigee/rules")
        self.run_perigee("simulate", scenario, "--policies", self.as_file(policy_map(il_stage__lua=STAGE)))

    def test_repl_asks_a_map_and_reloads_it(self):
        config = self.with_map()
        out, err = self.run_with(config, "repl", "--policies", "configmap:perigee/rules",
                                 stdin="call image tag 'a'\nreload\nedit image\n", code=1)
        self.assertIn("mirror.example/a", out)
        self.assertIn(", as before", out)
        self.assertIn("edit needs a set in a folder", err)

    def test_repl_takes_a_map_of_the_objects_at_hand(self):
        files = self.as_file(more=service() + "---\n")
        out, _ = self.run_perigee("repl", "-f", files, "--policies", "configmap:perigee/rules", stdin="call image tag 'a'\nreload\n")
        self.assertIn("mirror.example/a", out)

    def test_repl_reads_the_map_of_a_folder_store_again(self):
        self.write("store/map.yaml", yaml.safe_dump(GOOD))
        with self.session("--store", f"dir:{self.path('store')}", "--policies", "configmap:perigee/rules") as talk:
            self.assertIn("mirror.example/a", talk("call image tag 'a'"))
            self.write("store/map.yaml", yaml.safe_dump(policy_map(image__lua=IMAGE.replace("mirror", "other"))))
            self.assertNotIn("as before", talk("reload"))
            self.assertIn("other.example/a", talk("call image tag 'a'"))

    @contextlib.contextmanager
    def session(self, *args):
        """Lines to a REPL without a terminal, answers up to the first line of each."""
        with subprocess.Popen([PERIGEE, "repl", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            def talk(line):
                p.stdin.write(line + "\n")
                p.stdin.flush()
                return p.stdout.readline()
            yield talk
            p.stdin.close()
            self.assertEqual(p.wait(timeout=60), 0)

    def test_replay_and_diff_take_a_map(self):
        self.write("service.yaml", service())
        source = ["-f", self.path("service.yaml"), "-f", CATALOG, "-R", "-f", self.as_file(name="map.yaml")]
        self.run_perigee("plan", *source, "isvc/iris", "--record", self.path("r.ndjson"))
        for name in (self.path("map.yaml"), os.path.dirname(self.write("rules/image.lua", IMAGE))):
            out, _ = self.run_perigee("replay", self.path("r.ndjson"), "--policies", name, code=1)
            self.assertIn("mirror.example", out)
        for name in (self.path("map.yaml"), "configmap:perigee/rules"):
            out, _ = self.run_perigee("diff", *source, "--policies", name, code=1)
            self.assertIn("iris", out)
        config = self.write("conf.yaml", "policies: configmap:perigee/rules\nnamespacePolicies: [imag]\n")
        _, err = self.run_perigee("plan", *source, "--config", config, code=2)
        self.assertIn("conf.yaml:2:21: namespacePolicies: there is no policy 'imag'; did you mean 'image'?", err)

    def test_plan_takes_a_manifest_and_the_controller_does_not(self):
        self.write("service.yaml", service())
        shown = self.plan("-f", self.path("service.yaml"), "-f", CATALOG, "-R", "--policies", self.as_file(name="rules/map.yaml"), "isvc/iris")
        self.assertIn("mirror.example/", json.dumps(shown["objects"]))
        _, err = self.run_perigee("controller", "--store", f"dir:{self.folder}", "--policies", self.path("rules/map.yaml"), code=2)
        self.assertIn("a file is not watched", err)


if __name__ == "__main__":
    unittest.main()
