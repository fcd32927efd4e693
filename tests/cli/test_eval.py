# SPDX-License-Identifier: Apache-2.0
"""perigee eval, version, policies, completion, help."""
import json
import os
import shlex
import subprocess
import unittest

from support import Case


class Eval(Case):
    def test_prints_the_value_as_one_line_of_json(self):
        out, _ = self.run_perigee("eval", self.write("a.lua", "return { b = { 1, 2 }, a = perigee.null, c = 2^53 | 0 }"))
        self.assertEqual(out, '{"a":null,"b":[1,2],"c":9007199254740992}\n')

    def test_runs_once_for_each_line_and_goes_on_after_an_error(self):
        script = self.write("a.lua", "if input.bad then error('no good') end\nreturn input.id")
        lines = self.write("in.ndjson", '{"id": 1}\n{"bad": true}\n\n{"id": 9007199254740993}\n')
        out, _ = self.run_perigee("eval", script, "--input", lines, code=1)
        rows = out.splitlines()
        self.assertEqual((rows[0], rows[2]), ("1", "9007199254740993"))
        self.assertIn("no good", json.loads(rows[1])["error"])

    def test_call_and_as(self):
        script = self.write("a.lua", "function GetReplicas(o) return o.spec.replicas end\n")
        out, _ = self.run_perigee("eval", script, "--as", "obj", "--input", self.write("in", '{"spec": {"replicas": 3}}\n'),
                                  "--call", "GetReplicas")
        self.assertEqual(out, "3\n")

    def test_a_line_that_is_not_json_is_named(self):
        out, _ = self.run_perigee("eval", self.write("a.lua", "return 1"), "--input", self.write("in", '1\n{"a"\n'), code=1)
        self.assertIn("line 2", json.loads(out.splitlines()[1])["error"])

    def test_syntax_error_is_trouble(self):
        _, err = self.run_perigee("eval", self.write("a.lua", "return return"), code=2)
        self.assertIn("a.lua:1", err)

    def test_an_endless_loop_ends(self):
        out, _ = self.run_perigee("eval", self.write("a.lua", "while true do end"), "--limit", "steps=100000", code=1)
        self.assertIn("steps", json.loads(out)["error"])

    def test_a_limit_beyond_its_type_is_no_small_one(self):
        script = self.write("a.lua", "local n = 0\nfor i = 1, 3000000 do n = n + i end\nreturn n > 0")
        self.assertEqual(self.run_perigee("eval", script, "--limit", "wall-ms=4294967297")[0], "true\n")


class Others(Case):
    def test_version_and_help(self):
        self.assertRegex(self.run_perigee("version")[0], r"^perigee \d+\.\d+")
        for command in ("controller", "plan", "eval", "policies", "version", "completion"):
            self.assertIn("Usage: perigee " + command, self.run_perigee(command, "--help")[0])
            self.assertEqual(self.run_perigee("help", command)[0], self.run_perigee(command, "--help")[0])
        self.assertIn("did you mean 'plan'", self.run_perigee("plna", code=2)[1])
        self.run_perigee(code=2)

    def test_export_keeps_what_was_edited(self):
        self.run_perigee("policies", "export", self.path("set"))
        self.assertIn("runtime_selection.lua", os.listdir(self.path("set")))
        self.run_perigee("policies", "export", self.path("set"))
        self.write("set/image.lua", "-- mine\n")
        _, err = self.run_perigee("policies", "export", self.path("set"), code=2)
        self.assertIn("image.lua", err)
        self.assertEqual(self.read("set/image.lua"), "-- mine\n")
        self.run_perigee("policies", "export", self.path("set"), "--force")
        self.assertNotEqual(self.read("set/image.lua"), "-- mine\n")

    def test_an_exported_set_answers_as_the_shipped_one(self):
        self.run_perigee("policies", "export", self.path("set"))
        out, _ = self.run_perigee("policies", "list", "--policies", self.path("set"))
        self.assertIn(self.path("set"), out)

    def test_completion_is_a_script_that_bash_accepts(self):
        out, _ = self.run_perigee("completion", "bash")
        p = subprocess.run(["bash", "-n"], input=out, text=True, capture_output=True)
        self.assertEqual((p.returncode, p.stderr), (0, ""))

    def test_completion_for_fish_quotes_each_description_as_one_word(self):
        out, _ = self.run_perigee("completion", "fish")
        self.assertIn("policies\\' sandbox", out)
        for line in out.splitlines():
            words = shlex.split(line.replace("\\'", ""))  # fish knows \' within quotes, shlex does not
            self.assertEqual(words[-2:-1], ["-d"], line)


if __name__ == "__main__":
    unittest.main()
