# SPDX-License-Identifier: Apache-2.0
"""perigee repl, scripted from standard input; on a terminal: test_repl_terminal.py."""
import os
import unittest

from support import CATALOG, ROOT, Case, service

MIRROR = 'return { api = "image/v1", tag = function(image) return "mirror/" .. image end }\n'


class ReplCase(Case):
    def setUp(self):
        super().setUp()
        self.write("objects/iris.yaml", service())
        self.write("set/image.lua", MIRROR)
        self.sources = ["-f", self.path("objects"), "-f", CATALOG, "-R", "--policies", self.path("set")]

    def repl(self, *lines, code=0, env=None, sources=None):
        return self.run_perigee("repl", *(self.sources if sources is None else sources), stdin="\n".join(lines) + "\n",
                                code=code, env=env)


class Scripted(ReplCase):
    def test_values_are_shown_as_yaml(self):
        out, _ = self.repl("1 + 1", '"text"', "{ b = { 1, 2 }, a = perigee.null }", "x = 5", "x, nil", "print")
        self.assertEqual(out, "2\ntext\na: null\nb:\n- 1\n- 2\n5\n---\nnil\nfunction\n")

    def test_statements_may_take_several_lines(self):
        out, _ = self.repl("for i = 1, 2 do", "print(i)", "end", "function f(a)", "return a * 2", "end", "f(21)")
        self.assertEqual(out, "1\n2\n42\n")
        self.assertIn("in the middle of a statement", self.repl("for i = 1, 2 do", code=1)[1])

    def test_lines_that_cannot_be_taken_are_refused(self):
        long = "-" * (256 << 10)
        for lines, text in (((long + "-", "1 + 1"), "the line is longer than 256 KiB"), (("1\0002", "1 + 1"), "NUL byte in the line"),
                            (("--[[", long, "1 + 1"), "the statement is longer than 256 KiB"), (("f(", "1\0002", "1 + 1"), "NUL byte in the line")):
            with self.subTest(text):
                out, err = self.repl(*lines, code=1)
                self.assertEqual(out, "2\n")
                self.assertIn(text, err)
        self.assertEqual(self.repl(long, "1 + 1\r")[0], "2\n")

    def test_errors_are_told_and_the_session_goes_on(self):
        out, err = self.repl("nope.x", "bad syntax here", "1", code=1)
        self.assertEqual(out, "1\n")
        self.assertIn("nil value (global 'nope')", err)
        self.assertIn("syntax error near 'syntax'", err)

    def test_limits_hold(self):
        out, err = self.repl("while true do end", 'string.rep("x", 1e9)', "pcall(function() while true do end end)", "1",
                             code=1, sources=["--limit", "steps=100000"])
        self.assertEqual(out, "1\n")
        self.assertEqual(err.count("(limit steps)"), 2)
        self.assertIn("io", self.repl("io.open('/etc/passwd')", code=1)[1])

    def test_select_makes_views_of_the_service(self):
        out, err = self.repl("select", "select iris", "service.spec.predictor.model.modelFormat",
                             "runtimes[1].kind", "config.deploy.defaultDeploymentMode", "compat.image_suffix",
                             "service.x = 1", code=1)
        self.assertRegex(out, r"SELECTED +NAMESPACE +NAME\n- +default +iris\n")
        self.assertIn("name: sklearn\nClusterServingRuntime\nServerless\ntrue\n", out)
        self.assertIn("views are read-only", err)
        self.assertIn("no such object", self.repl("select none", code=1)[1])

    def test_why_and_plan(self):
        out, _ = self.repl("why iris", "plan")
        self.assertIn("default/iris: served by ClusterServingRuntime kserve-sklearnserver: ", out)
        self.assertRegex(out, r"(?m)^  protocol +kserve-mlserver +cluster +asked for protocol v1")
        self.assertIn("image: mirror/kserve/sklearnserver:latest", out)
        self.assertIn("nothing is selected", self.repl("why", code=1)[1])

    def test_why_with_a_field_says_who_set_it(self):
        out, _ = self.repl("why iris .spec.template.spec.containers[0].image", "why .spec.template.spec.containers[0].image")
        answer = f'= "mirror/kserve/sklearnserver:latest"\n    image policy\n'
        self.assertEqual(out.count(answer), 2)
        self.assertIn(self.path("set", "image.lua"), out)
        self.assertIn("has no 'nothing'", self.repl("why iris .nothing", code=1)[1])

    def test_call_asks_a_policy_of_the_set_or_a_shipped_one(self):
        out, err = self.repl('call image tag "a/b", {}', 'call label_priority layers "labels", "head"',
                             "call image tgg 1", "call imag tag 1", "call image", code=1)
        self.assertEqual(out.split("\n")[0], "mirror/a/b")
        self.assertIn("- runtime\n", out)
        self.assertIn("image has no function 'tgg'; it has tag", err)
        self.assertIn("no policy 'imag'", err)

    def test_save_spec_writes_a_spec_that_runs_in_both(self):
        out, _ = self.repl("select iris", 'call image tag "a/b", { service = service, n = 1 }', "save-spec")
        self.assertIn(self.path("set/image_spec.lua"), out)
        self.assertEqual(self.run_perigee("test", self.path("set"))[0], "1 passed, 0 failed\n")
        self.write("set/image.lua", MIRROR.replace("mirror", "other"))
        self.run_perigee("test", self.path("set"), code=1)
        self.write("set/image.lua", MIRROR)
        _, err = self.repl("save-spec", 'call image tag "a"', "save-spec", code=1)
        self.assertIn("error: nothing to save: call POLICY FUNCTION comes first\n", err)
        self.assertIn("it is there already", err)

    def test_reload_keeps_the_last_good_set(self):
        editor = self.write("edit.sh", "printf 'return {' > \"$1\"\n")
        out, err = self.repl("edit image", 'call image tag "a"', "reload", code=1, env={"EDITOR": "sh " + editor})
        self.assertEqual(out, "mirror/a\n")
        self.assertIn("image.lua:1:", err)
        self.assertRegex(err, r"error: the set in use stays, revision [0-9a-f]{16}: .*/set is refused: it has 1 error\n")

    def test_an_error_of_a_set_is_told_once(self):
        self.write("bad/image.lua", "return {\n")
        self.write("bad/label_priority.lua", "return 3\n")
        _, err = self.repl("diff " + self.path("bad"), "diff " + self.path("none"), code=1)
        self.assertEqual([line.split(": ")[-1] for line in err.splitlines()],
                         ["unexpected symbol near <eof>", "the file must return a table, not number", "it has 2 errors",
                          "No such file or directory", "it has 1 error"])

    def test_learning_jobs_are_subjects_too(self):
        jobs = ["-f", os.path.join(ROOT, "examples", "learning", "jobs")]
        out, _ = self.repl("select il/helmet", "select", "service.kind", sources=jobs)
        self.assertRegex(out, r"(?m)^\* +factory +il/helmet\nIncrementalLearningJob$")

    def test_commands_without_arguments_take_none(self):
        out, err = self.repl("quit now", "1", "reload x", code=1)
        self.assertEqual(out, "1\n")
        self.assertEqual(err, "error: quit takes no arguments\nerror: reload takes no arguments\n")

    def test_edit_opens_a_file_of_the_set_and_reloads(self):
        editor = self.write("edit.sh", "sed -i s/mirror/edited/ \"$1\"\n")
        out, _ = self.repl("edit image", 'call image tag "a"', env={"EDITOR": "sh " + editor})
        self.assertRegex(out, r"^revision [0-9a-f]{16}\nedited/a\n$")
        out, _ = self.repl("edit object_patch", env={"EDITOR": "true"})
        self.assertIn("object_patch/v1", self.read("set/object_patch.lua"))
        out, err = self.repl("edit image", "1", env={"EDITOR": ""}, code=1)
        self.assertEqual((out, err), ("1\n", "error: edit: without a terminal $EDITOR has to name a program\n"))
        self.assertIn("edit needs a set", self.repl("edit image", code=1, sources=[])[1])

    def test_diff_shows_what_another_set_changes(self):
        out, _ = self.repl("diff shipped", "diff " + self.path("set"))
        self.assertIn('.spec.template.spec.containers[kserve-container].image: "mirror/kserve/sklearnserver:latest" -> '
                      '"kserve/sklearnserver:latest"', out)
        self.assertIn("1 of 1 service changes", out)
        self.assertIn("0 of 1 service change", out)

    def test_names_of_commands_stay_usable_in_lua(self):
        self.assertEqual(self.repl("select('#', 1, 2)", "plan = 3", "plan + 1 - 1 == 3 and (plan)", "quit", "1", code=1)[0]
                         .split("\n")[0], "2")

    def test_a_folder_store_is_not_written_to(self):
        self.repl("select iris", "why", "diff shipped",
                  sources=["--store", "dir:" + self.path("objects"), "--policies", self.path("set")])
        self.assertEqual(sorted(os.listdir(self.path("objects"))), ["iris.yaml"])

    def test_a_bad_set_is_trouble(self):
        self.write("set/image.lua", "return {")
        self.repl("1", code=2)


if __name__ == "__main__":
    unittest.main()
