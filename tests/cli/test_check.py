# SPDX-License-Identifier: Apache-2.0
"""perigee check and perigee types; the cookbook of examples/policies is checked and tested as CI of a set would."""
import json
import os
import re
import unittest

from support import Case, ROOT, service

BAD = """\
local M = { api = "image/v1" }

function M.tag(image, request)
\tlocal model = request.service.spec.predicter.model
  return image .. ":" .. request.runtime_versoin
end

return M
"""

RUNTIME = """\
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {{name: {name}}}
spec:
  supportedModelFormats: [{{name: sklearn, autoSelect: true, priority: {priority}}}]
  containers: [{{name: kserve-container, image: x}}]
"""


class Check(Case):
    def test_shows_the_line_and_a_caret_below_the_mistake(self):
        path = self.write("set/image.lua", BAD)
        out, _ = self.run_perigee("check", self.path("set"), code=1)
        self.assertEqual(out, f"""\
{path}:4:37: error: InferenceServiceSpec has no field 'predicter'; did you mean 'predictor'? [undefined-field]
  \tlocal model = request.service.spec.predicter.model
  \t                                   ^~~~~~~~~
{path}:5:34: error: perigee.ImageRequest has no field 'runtime_versoin'; did you mean 'runtime_version'? [undefined-field]
    return image .. ":" .. request.runtime_versoin
                                   ^~~~~~~~~~~~~~~
{path}:4: error: InferenceService team-a/full: policy image, function tag: attempt to index a nil value (field 'predicter') [policy-error]
{self.path("set")}: 1 file checked, 3 errors, 0 warnings
""")

    def test_a_file_that_nobody_asks_is_a_warning(self):
        good = 'return { api = "image/v1", tag = function(image) return image end }\n'
        for name in ("image.lua", "imgae.lua", "mirror.lua"):
            self.write("set/" + name, good)
        self.write("set/policies.yaml", "use: {image: mirror}\n")
        out, _ = self.run_perigee("check", self.path("set"))
        what = "warning: decides nothing: no policy has this name, and no use in policies.yaml names it [unused-file]"
        self.assertEqual(out.splitlines(), [f"{self.path('set', 'imgae.lua')}: {what}",
                                            f"{self.path('set')}: 4 files checked, 0 errors, 1 warning"])

    def test_an_option_that_cannot_be_meant(self):
        self.write("set/policies.yaml", "use: {il_stage: il_stage_resilient}\noptions:\n  il_stage: {tries: -1}\n")
        out, _ = self.run_perigee("check", self.path("set"), code=1)
        self.assertIn("option 'tries' of il_stage is -1: write a whole number, at least 1 [policy-error]", out)
        self.write("set/policies.yaml", "use: {il_stage: il_stage_resilient}\noptions:\n  il_stage: {tries: three}\n")
        out, _ = self.run_perigee("check", self.path("set"), code=1)
        self.assertIn("policies.yaml:3:21: error: option 'tries' of il_stage is a number, not string", out)

    def test_what_holds_for_every_file_is_told_once(self):
        self.write("set/policies.yaml", "limits: {memoryBytes: 1}\n")
        self.write("set/image.lua", 'return { api = "image/v1" }\n')
        out, _ = self.run_perigee("check", self.path("set"), code=1)
        self.assertEqual(out.count("memoryBytes 1 leaves no room for a Lua state; give it more"), 1, out)

    def test_json(self):
        self.write("set/image.lua", BAD)
        out, _ = self.run_perigee("check", self.path("set"), "-o", "json", code=1)
        got = json.loads(out)
        self.assertEqual((got["files"], got["errors"], got["warnings"], len(got["findings"])), (1, 3, 0, 3))
        self.assertEqual(got["findings"][0], {
            "file": self.path("set/image.lua"), "line": 4, "column": 37, "endColumn": 46, "severity": "error",
            "rule": "undefined-field",
            "message": "InferenceServiceSpec has no field 'predicter'; did you mean 'predictor'?"})

    def test_github(self):
        path = self.write("set/image.lua", BAD)
        out, _ = self.run_perigee("check", self.path("set"), "-o", "github", code=1)
        self.assertEqual(out.splitlines()[0],
                         f"::error file={path},line=4,col=37,endColumn=46,title=undefined-field::"
                         "InferenceServiceSpec has no field 'predicter'; did you mean 'predictor'?")

    def test_all_errors_of_all_files_are_listed(self):
        self.write("set/image.lua", "return {{")
        self.write("set/multi_node.lua", 'return { api = "image/v1" }')
        self.write("set/policies.yaml", "options: {image: 3}\nuze: {}\n")
        self.write("set/label_priority.lua", 'local M = { api = "label_priority/v1" }\nfunction M.layer() return undefned end\nreturn M\n')
        out, _ = self.run_perigee("check", self.path("set"), code=1)
        for part in ("image.lua:1:10: error", "multi_node.lua:1:10: error", "policies.yaml:1:18: error", "policies.yaml:2:6: error",
                     "label_priority.lua:2:12: error: label_priority/v1 has no function 'layer'; did you mean 'layers'?",
                     "undefined global 'undefned'"):
            self.assertIn(part, out)
        self.assertNotIn("no function of its contract", out)

    def test_a_folder_that_is_not_there_is_trouble(self):
        _, err = self.run_perigee("check", self.path("nothing"), code=2)
        self.assertIn(self.path("nothing"), err)
        os.makedirs(self.path("empty"))
        _, err = self.run_perigee("check", self.path("empty"), code=2)
        self.assertIn("no policies in it", err)
        self.run_perigee("check", "a", "b", code=2)
        self.run_perigee("check", "-o", "xml", code=2)

    def test_a_clean_set(self):
        self.run_perigee("policies", "export", self.path("set"))
        out, _ = self.run_perigee("check", self.path("set"))
        self.assertRegex(out, r": \d+ files checked, 0 errors, 0 warnings\n$")
        out, _ = self.run_perigee("check", self.path("set"), "-o", "github")
        self.assertEqual(out, "")

    def test_the_triple_that_is_no_order(self):
        self.write("set/runtime_selection.lua", """\
local M = { api = "runtime_selection/v1" }
local BEATS = { a = "b", b = "c", c = "a" }
function M.before(a, b)
  return BEATS[a.name] == b.name
end
return M
""")
        for name in "abc":
            self.write(f"objects/{name}.yaml", RUNTIME.format(name=name, priority=1))
        self.write("objects/service.yaml", service())
        out, _ = self.run_perigee("check", self.path("set"), "-f", self.path("objects"), code=1)
        found = re.search(r"runtime_selection\.lua:3: error: InferenceService default/iris: `before` is no order: '(.)' comes before '(.)' "
                          r"and '\2' before '(.)', but '\1' not before '\3' \[strict-weak-order\]", out)
        self.assertTrue(found, out)
        self.assertEqual(sorted(found.groups()), ["a", "b", "c"])

    def test_given_objects_are_asked_about(self):
        self.write("set/object_patch.lua", """\
local M = { api = "object_patch/v1" }
function M.patch(_object, service)
  if service.metadata.name == "odd" then
    error("not this one")
  end
end
return M
""")
        self.run_perigee("check", self.path("set"))
        self.write("objects/a.yaml", RUNTIME.format(name="a", priority=1))
        self.write("objects/service.yaml", service("odd"))
        out, _ = self.run_perigee("check", self.path("set"), "--store", "dir:" + self.path("objects"), code=1)
        self.assertIn("object_patch.lua:4: error: InferenceService default/odd", out)

    def test_globals_are_those_of_the_sandbox(self):
        out, _ = self.run_perigee("check", "--globals")
        with open(os.path.join(ROOT, "tests", "cases", "policy", "globals.txt")) as f:
            self.assertEqual(out, f.read())


class Odd(Case):
    """Texts that Lua takes and no author writes: an answer, in bounded time and stack."""

    def check(self, head, body="", code=0):
        self.write("set/image.lua", f"local M = {{ api = 'image/v1' }}\n{head}\nfunction M.tag(image) return image end\n{body}\nreturn M\n")
        return self.run_perigee("check", self.path("set"), code=code)[0]

    def test_types_nested_without_end(self):
        for opening in ("(", "{a: ", "fun(a: ", "table<"):
            self.assertIn("0 errors", self.check("---@param image " + opening * 30000))

    def test_trees_as_deep_as_the_file_is_long(self):
        for head in ("local x = 1" + " + 1" * 60000, "local function f() return f end\nlocal x = f" + "()" * 60000):
            self.assertIn("image.lua: warning: not looked at: a statement has too many operators", self.check(head))

    def test_a_long_chain_is_looked_at(self):
        self.assertIn("undefined global 'y'", self.check("local x = y" + " + 1" * 5000, code=1))

    def test_findings_of_a_file_are_bounded(self):
        out = self.check("", "".join(f"function M._f{i}() local l{i} = u{i} end\n" for i in range(400)), code=1)
        self.assertIn("what follows in this file is not shown", out)
        self.assertIn("200 errors, 1 warning", out)

    def test_many_unknown_fields_are_bounded(self):
        out = self.check("for i = 1, 5000 do M['x' .. i] = i end", code=1)
        self.assertIn("further fields are not looked at", out)
        self.assertLess(out.count("has no field"), 60)

    def test_files_of_other_systems_are_refused_by_name(self):
        for data, text in ((b"\xef\xbb\xbfreturn {}", "image.lua:1:1: error: the file begins with a byte order mark"),
                           (b"return {}\n--\0", "image.lua:2:3: error: the file holds a NUL byte")):
            os.makedirs(self.path("set"), exist_ok=True)
            with open(self.path("set", "image.lua"), "wb") as f:
                f.write(data)
            self.assertIn(text, self.run_perigee("check", self.path("set"), code=1)[0])

    def test_names_that_no_line_can_hold(self):
        self.write("set/image.lua", "return { api = 'image/v1', tag = function(image) return image end }\n")
        for name in (b"a\nb.lua", b"\xff.lua"):
            path = os.fsencode(self.path("set")) + b"/" + name
            with open(path, "w") as f:
                f.write("return {}\n")
            self.assertIn("control characters or bytes that are not UTF-8", self.run_perigee("check", self.path("set"), code=1)[0])
            os.unlink(path)

    def test_a_pipe_is_no_file(self):
        os.makedirs(self.path("set"))
        os.mkfifo(self.path("set", "image.lua"))
        for args in (["check", self.path("set")], ["test", self.path("set")], ["policies", "list", "--policies", self.path("set")]):
            out, err = self.run_perigee(*args, code=1 if args[0] == "check" else 2)
            self.assertRegex(out + err, "image.lua: (error: )?not a file of at most|no specs in it")


class Types(Case):
    def test_written_files_hold_the_kinds_the_contracts_and_the_library(self):
        self.run_perigee("types", self.path("types"))
        self.assertEqual(sorted(os.listdir(self.path("types"))), ["contracts.lua", "kinds.lua", "modules.lua", "perigee.lua"])
        kinds = self.read("types", "kinds.lua")
        self.assertTrue(kinds.startswith("---@meta\n"))
        self.assertIn("---@class k8s.PredictorSpec: k8s.ComponentSpec\n", kinds)
        self.assertRegex(kinds, r"---@class k8s\.ModelSpec: k8s\.PredictorExtensionSpec\n(---@field .*\n)*---@field modelFormat k8s\.ModelFormat\n")
        declared = re.findall(r"^---@class (k8s\.\w+)", kinds, re.M)
        self.assertEqual(len(declared), len(set(declared)))
        every = kinds + self.read("types", "contracts.lua") + self.read("types", "perigee.lua") + self.read("types", "modules.lua")
        for name in set(re.findall(r"\bk8s\.\w+|\bperigee\.[A-Z]\w+", every)):
            self.assertRegex(every, rf"---@(class|alias) {re.escape(name)}\b", name)
        self.assertIn("function labels.annotation(object, key) end", self.read("types", "modules.lua"))
        self.run_perigee("types", code=2)


class Cookbook(Case):
    FOLDER = os.path.join(ROOT, "examples", "policies")

    def test_every_example_passes_check_and_its_own_specs(self):
        names = sorted(os.listdir(self.FOLDER))
        self.assertGreaterEqual(len(names), 15)
        for name in names:
            with self.subTest(name):
                out, _ = self.run_perigee("check", os.path.join(self.FOLDER, name))
                self.assertIn("0 errors, 0 warnings", out)
                out, _ = self.run_perigee("test", os.path.join(self.FOLDER, name))
                self.assertRegex(out, r"^[1-9]\d* passed, 0 failed\n$")


if __name__ == "__main__":
    unittest.main()
