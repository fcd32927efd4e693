# SPDX-License-Identifier: Apache-2.0
"""perigee test: specs in the sandbox, their output, and specs as the gate of a set."""
import os
import unittest
import xml.etree.ElementTree as ET

from support import ROOT, Case

POLICY = """\
local M = { api = "image/v1", options = { suffix = "-x" } }

function M.tag(image, request)
  if request.loop then
    while true do end
  end
  if request.boom then
    return request.missing.field
  end
  return image .. options.suffix
end

return M
"""

SPEC = """\
local support = require("support.perigee")

describe("image", function()
  local policy = support.policy("image")
%s
end)
"""


class SpecCase(Case):
    def spec(self, body, name="set/image_spec.lua"):
        self.write("set/image.lua", POLICY)
        return self.write(name, SPEC % body)

    def run_specs(self, *args, code=0):
        return self.run_perigee("test", self.path("set"), *args, code=code)[0]


class Specs(SpecCase):
    def test_the_shipped_policies_pass_and_are_covered(self):
        out, _ = self.run_perigee("test", os.path.join(ROOT, "tests/lua/policies"), "--fixtures", ROOT, "--coverage")
        self.assertRegex(out, r"^\d+ passed, 0 failed\n")
        self.assertRegex(out, r"shipped/runtime_selection.lua +\d+ +\d+ +100.0% +-")

    def test_a_policy_runs_anew_for_each_call_with_its_options(self):
        self.spec("""
  it("adds the suffix", function() assert.are.equal("a-x", policy.tag("a", {})) end)
  it("takes other options", function()
    assert.are.equal("a-y", support.policy("image", { options = { suffix = "-y" } }).tag("a", {}))
  end)""")
        self.assertEqual(self.run_specs(), "2 passed, 0 failed\n")
        self.write("set/policies.yaml", "options: {image: {suffix: -set}}\n")
        self.assertIn('expected "a-x", got "a-set"', self.run_specs(code=1))

    def test_blocks_run_in_busteds_order(self):
        self.spec("""
  local log = {}
  local function note(text) return function() log[#log + 1] = text end end
  setup(note("setup"))
  teardown(note("teardown"))
  before_each(note("before"))
  after_each(note("after"))
  it("one", note("one"))
  describe("inner", function()
    before_each(note("inner before"))
    after_each(note("inner after"))
    it("two", function()
      finally(note("finally"))
      log[#log + 1] = "two"
    end)
  end)
  it("all", function()
    assert.are.same({ "setup", "before", "one", "after", "before", "inner before", "two", "finally",
      "inner after", "after", "before" }, log)
  end)""")
        self.assertEqual(self.run_specs(), "3 passed, 0 failed\n")

    def test_a_failure_shows_the_place_the_values_and_the_path(self):
        spec = self.spec("""
  it("differs", function()
    print("seen")
    assert.are.same({ a = { b = 1 } }, { a = { b = 2 } })
  end)""")
        out = self.run_specs(code=1)
        self.assertIn(spec + ":8: expected { a = { b = 1 } }, got { a = { b = 2 } } (they differ at /a/b)", out)
        self.assertIn("| seen", out)
        self.assertIn("0 passed, 1 failed", out)

    def test_errors_name_the_line_of_the_policy(self):
        spec = self.spec("""
  it("breaks", function() policy.tag("a", { boom = true }) end)
  it("never ends", function() policy.tag("a", { loop = true }) end)
  it("goes on", function() assert.is_true(true) end)""")
        out = self.run_specs("--limit", "steps=100000", code=1)
        image = self.path("set/image.lua")
        self.assertIn(f"{spec}:6: {image}:8: attempt to index a nil value", out)
        self.assertIn(f"{image}:5: stopped: it took more than 100000 steps (limit steps)", out)
        self.assertIn("1 passed, 2 failed", out)

    def test_a_limit_cannot_be_caught_by_a_spec(self):
        self.spec("""
  it("catches", function() pcall(policy.tag, "a", { loop = true }) end)
  it("expects", function() assert.has_error(function() policy.tag("a", { loop = true }) end) end)""")
        self.assertIn("0 passed, 2 failed", self.run_specs("--limit", "steps=100000", code=1))

    def test_views_are_read_only_in_specs_too(self):
        self.spec("""
  it("writes", function() support.view({ a = 1 }).a = 2 end)""")
        self.assertIn("views are read-only", self.run_specs(code=1))

    def test_assertions_in_all_their_forms(self):
        self.spec("""
  it("hold", function()
    assert.is_true(true)
    assert.is.not_true(false)
    assert.is_not_nil(1)
    assert.is_nil(nil)
    assert.is_not.equal(1, 2)
    assert.are_not.same({ 1 }, { 2 })
    assert.truthy(1)
    assert.falsy(nil)
    assert.is_string("x")
    assert.is_function(print)
    assert.is_table(support.view({}))
    assert.near(1, 1.05, 0.1)
    assert.matches("^a", "abc")
    assert.has_no.errors(function() end)
    assert.has_error(function() error("x", 0) end, "x")
    assert.error_matches(function() error("some text") end, "me te")
    assert.unique({ 1, 2 })
    assert.contains("b", { "a", "b" })
    assert.are.equal(1, (assert(1, "unused")))
    local s = spy.new(function() return 7 end)
    assert.are.equal(7, s(1, 2))
    assert.spy(s).was.called(1)
    assert.spy(s).was_called_with(1, 2)
    assert.spy(s).was_called()
  end)
  it("negated", function() assert.is_not_true(true) end)
  it("unknown", function() assert.is_blue(1) end)
  it("no error", function() assert.has_error(function() end) end)
  it("other error", function() assert.has_error(function() error("y", 0) end, "x") end)
  it("message", function() assert(false, "told") end)""")
        out = self.run_specs(code=1)
        self.assertIn("1 passed, 5 failed", out)
        for part in ("there is no assertion 'blue'", "expected an error, got none", 'expected the error "x", got "y"', ": told"):
            self.assertIn(part, out)

    def test_pending_ones_are_told_with_their_reason(self):
        self.spec("""
  pending("later")
  it("bare")
  it("inside", function() pending("soon") error("not reached") end)""")
        out = self.run_specs()
        self.assertIn("0 passed, 0 failed, 3 pending", out)
        self.assertIn("soon", out)

    def test_filter_is_a_pattern_on_the_full_name(self):
        self.spec("""
  it("one", function() end)
  it("two", function() error("no") end)""")
        self.assertEqual(self.run_specs("--filter", "^image o.e$"), "1 passed, 0 failed\n")
        self.assertIn("no test has a name", self.run_perigee("test", self.path("set"), "--filter", "three", code=2)[1])

    def test_fixtures_are_read_below_one_folder(self):
        self.write("set/objects.yaml", "kind: A\n---\nkind: B\nspec: {list: [1, null]}\n")
        self.spec("""
  it("reads", function()
    local objects = support.objects("objects.yaml")
    assert.are.same({ kind = "B", spec = { list = { 1, support.null } } }, objects[2])
    assert.are.equal(2, #objects)
  end)
  it("climbs", function() support.read("../../etc/passwd") end)
  it("is absolute", function() support.read("/etc/passwd") end)
  it("is not there", function() support.read("none.txt") end)
  it("requires", function() require("os") end)
  it("opens", function() io.open("x") end)""")
        out = self.run_specs(code=1)
        self.assertIn("1 passed, 5 failed", out)
        self.assertEqual(out.count("a spec reads files below"), 2)

    def test_tap(self):
        self.spec("""
  it("good #1", function() end)
  it("bad", function() assert.is_true(false) end)
  pending("later")""")
        out = self.run_specs("-o", "tap", code=1).splitlines()
        self.assertEqual(out[:4], ["TAP version 13", "1..3", "ok 1 - image good \\#1", "not ok 2 - image bad"])
        self.assertEqual(out[-1], "ok 3 - image later # SKIP pending")
        self.assertIn("expected true, got false", out[4])

    def test_junit(self):
        self.spec("""
  it("good", function() print("a < b") end)
  it("bad", function() assert.are.equal("<&>", "\\1") end)
  it("broken", function() error("no") end)
  pending("later")""")
        root = ET.fromstring(self.run_specs("-o", "junit", code=1))
        suite = root.find("testsuite")
        self.assertEqual([suite.get(n) for n in ("tests", "failures", "errors", "skipped")], ["4", "1", "1", "1"])
        cases = {case.get("name"): case for case in suite}
        self.assertEqual(cases["image good"].find("system-out").text, "a < b\n")
        self.assertIn('expected "<&>"', cases["image bad"].find("failure").get("message"))
        self.assertIn("no", cases["image broken"].find("error").get("message"))
        self.assertIsNotNone(cases["image later"].find("skipped"))

    def test_coverage_names_the_lines_that_did_not_run(self):
        self.spec("""
  it("adds", function() policy.tag("a", {}) end)""")
        self.assertRegex(self.run_specs("--coverage"), r"image.lua +\d+ +\d+ +\d+\.\d% +5, 8\n")

    def test_a_spec_that_does_not_load_is_a_failure(self):
        self.spec("", name="set/image_spec.lua")
        self.write("set/image_spec.lua", "describe('x', function(\n")
        self.assertIn("image_spec.lua:2:1", self.run_specs(code=1))

    def test_a_folder_without_specs_is_trouble(self):
        self.write("set/image.lua", POLICY)
        self.assertIn("no specs", self.run_perigee("test", self.path("set"), code=2)[1])


class Gate(SpecCase):
    def test_a_set_whose_spec_fails_is_refused(self):
        spec = self.spec("""
  it("wants more", function() assert.are.equal("a-y", policy.tag("a", {})) end)
  it("is fine", function() end)""")
        _, err = self.run_perigee("policies", "list", "--policies", self.path("set"), code=2)
        self.assertIn(f'{spec}:6: expected "a-y", got "a-x" (spec "image wants more")', err)
        self.write("set/image_spec.lua", "describe('image', function() it('is fine', function() end) end)\n")
        self.run_perigee("policies", "list", "--policies", self.path("set"))

    def test_specs_at_load_are_bounded_in_all(self):
        self.spec("""
  for i = 1, 100 do
    it("test " .. i, function() for _ = 1, 8000 do end end)
  end""")
        _, err = self.run_perigee("policies", "list", "--policies", self.path("set"), "--limit", "steps=10000", code=2)
        self.assertIn("the specs that a set carries may take 4 times the steps of one call in all", err)


if __name__ == "__main__":
    unittest.main()
