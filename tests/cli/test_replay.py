# SPDX-License-Identifier: Apache-2.0
"""perigee plan --record, replay, and recordings as a source. Needs the zstd program to look into files and to make bad ones."""
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import CATALOG, PERIGEE, ROOT, Case, read_file, service  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples")
SECRET = "XYZZY-very-secret"


def unpack(path):
    return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout.decode()


def lines_of(path):
    return [json.loads(line) for line in unpack(path).splitlines()]


def defined(lines):
    return {line["define"]: line["value"] for line in lines if "define" in line}


class ReplayCase(Case):
    def record(self, *args, code=0, name="r.zst"):
        self.file = self.path(name)
        return self.run_perigee("plan", *args, "--record", self.file, code=code)

    def catalog(self, *more):
        return ["-f", CATALOG, "-R", *[a for m in more for a in ("-f", m)]]

    def replay(self, *args, code=0):
        return self.run_perigee("replay", self.file, *args, code=code)

    def pack(self, text):
        self.file = self.path("made.zst")
        subprocess.run(["zstd", "-qf", "-o", self.file], input=text.encode(), check=True)

    def iris(self, **kwargs):
        return self.write("iris.yaml", service(**kwargs))


class Replay(ReplayCase):
    def test_every_example_of_a_cluster_replays(self):
        parts = [os.path.join(CATALOG, p) for p in ("runtimes", "storagecontainers")]
        self.record("-f", os.path.join(EXAMPLES, "cluster"), "-f", parts[0], "-f", parts[1], "-R", code=1)
        out, err = self.replay()
        self.assertRegex(out, r"^(\d+) decisions: \1 the same, 0 different\n$")
        self.assertEqual(err, "")

    def test_the_example_of_learning_replays(self):
        self.record("-f", os.path.join(EXAMPLES, "learning", "jobs"), "-R")
        self.assertEqual(self.replay()[0], "1 decision: 1 the same, 0 different\n")

    def test_a_recording_may_come_from_standard_input(self):
        self.record(*self.catalog(self.iris()))
        for args in (["replay", "-"], ["plan", "--replay", "-", "-o", "name"], ["why", "--replay", "-", "isvc/iris"]):
            with open(self.file, "rb") as f:
                p = subprocess.run([PERIGEE, *args], stdin=f, capture_output=True, timeout=120)
            self.assertEqual((p.returncode, p.stderr), (0, b""), args)
            self.assertIn(b"1 the same" if args[0] == "replay" else b"iris", p.stdout)

    def test_clock_and_seed_are_in_the_file(self):
        self.record(*self.catalog(self.iris()), "--now", "2020-02-03T04:05:06.789Z", "--seed", "18446744073709551615")
        decision = [line for line in lines_of(self.file) if "decision" in line][0]
        self.assertEqual((decision["nowNs"], decision["seed"]), (1580702706789000000, "18446744073709551615"))
        self.replay()

    def test_the_policies_are_in_the_file(self):
        self.write("set/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag() return "9" end\nreturn M\n')
        self.record(*self.catalog(self.iris()), "--policies", self.path("set"))
        self.write("set/image.lua", "this is no Lua")
        self.replay()
        sets = [v for v in defined(lines_of(self.file)).values() if "shipped" in v]
        self.assertEqual([f["name"] for f in sets[0]["set"]], ["image.lua"])
        self.assertIn("runtime_selection.lua", [f["name"] for f in sets[0]["shipped"]])

    def test_other_shipped_policies_than_ours_are_used(self):
        self.record(*self.catalog(self.iris()))
        lines = lines_of(self.file)
        for value in defined(lines).values():
            for file in value.get("shipped", []):
                if file["name"] == "image.lua":
                    file["text"] = 'local M = { api = "image/v1" }\nfunction M.tag() return "old" end\nreturn M\n'
        self.pack("".join(json.dumps(line) + "\n" for line in lines))
        out, _ = self.replay(code=1)
        self.assertIn('-> "old"', out)

    def test_other_policies_show_what_they_would_change(self):
        self.record(*self.catalog(self.iris()))
        self.write("same/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag() return nil end\nreturn M\n')
        out, _ = self.replay("--policies", self.path("same"))
        self.assertIn("1 the same", out)
        self.write("other/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag() return "9" end\nreturn M\n')
        out, _ = self.replay("--policies", self.path("other"), code=1)
        self.assertIn("InferenceService default/iris: another plan", out)
        self.assertRegex(out, r'/objects/\d/spec/template/spec/containers/0/image: ".*" -> "9"')
        self.assertIn("1 decision: 0 the same, 1 different", out)
        doc = json.loads(self.replay("--policies", self.path("other"), "-o", "json", code=1)[0])
        self.assertEqual((doc["same"], doc["different"]), (0, 1))
        self.assertEqual(doc["decisions"][0]["name"], "iris")
        self.assertTrue(doc["decisions"][0]["differences"])

    def test_a_changed_plan_is_found(self):
        self.record(*self.catalog(self.iris()))
        self.pack(unpack(self.file).replace('"reason":"MinimumReplicasUnavailable"', '"reason":"Changed"')
                  .replace('"kind":"HorizontalPodAutoscaler"', '"kind":"Horizontal"'))
        out, _ = self.replay(code=1)
        self.assertIn('-> "HorizontalPodAutoscaler"', out)

    def test_large_values_are_shortened(self):
        self.record(*self.catalog(self.iris()))
        self.write("other/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag() return ("a"):rep(5000) end\nreturn M\n')
        out, _ = self.replay("--policies", self.path("other"), code=1)
        self.assertRegex(out, r'/image: ".*" -> "a{199} … \(5\d\d\d bytes\)\n')
        self.assertLess(max(map(len, out.splitlines())), 600)

    def test_a_plan_that_fails_over_a_type_replays(self):
        path = self.write("odd.yaml", "# a comment\n" + service("odd") + "    minReplicas: many\n")
        _, err = self.record(*self.catalog(path), code=1)
        self.assertIn("/spec/predictor/minReplicas: expected integer, got string", err)
        self.assertIn("1 the same, 0 different", self.replay()[0])

    def test_an_empty_recording_is_fine(self):
        self.pack('{"perigeeRecording": 1}\n')
        self.assertEqual(self.replay()[0], "0 decisions: 0 the same, 0 different\n")
        self.assertEqual(json.loads(self.replay("-o", "json")[0])["decisions"], [])


class Secrets(ReplayCase):
    def check(self):
        self.assertNotIn(SECRET, unpack(self.file))
        self.assertTrue([line for line in lines_of(self.file) if line.get("redacted")])
        self.replay()

    def test_a_file_is_for_its_owner_only(self):
        self.record(*self.catalog(self.iris()))
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)

    def test_credentials_of_a_service_stay_at_home(self):
        extra = f"env: [{{name: HF_TOKEN, value: {SECRET}}}]\nargs: [--api-key, {SECRET}, --password={SECRET}]\n"
        out, _ = self.record(*self.catalog(self.iris(extra=extra)), "-o", "yaml")
        self.assertIn(SECRET, out)
        self.check()

    def test_what_a_job_takes_from_a_secret_stays_at_home(self):
        jobs = os.path.join(EXAMPLES, "learning", "jobs")
        out, _ = self.run_perigee("plan", "-f", jobs, "-R", "-o", "json")
        plan = json.loads(out)["items"][0]
        ns = plan["resource"]["metadata"]["namespace"]
        text = read_file(jobs, "job.yaml").replace("\nspec:\n", "\nspec:\n  credentialName: keys\n", 1)
        self.write("jobs.yaml", text + "\n---\n" + read_file(jobs, "data.yaml"))
        self.write("secret.yaml", textwrap.dedent(f"""\
            apiVersion: v1
            kind: Secret
            metadata:
              name: keys
              namespace: {ns}
              annotations: {{s3-endpoint: s3.example.com}}
            stringData: {{ACCESS_KEY_ID: {SECRET}-id, SECRET_ACCESS_KEY: {SECRET}}}
            """))
        out, _ = self.record("-f", self.path("jobs.yaml"), "-f", self.path("secret.yaml"), "-o", "json")
        self.assertIn(SECRET, out)
        self.check()

    def test_a_recorded_storage_secret_still_decides(self):
        self.write("secret.yaml", textwrap.dedent(f"""\
            apiVersion: v1
            kind: Secret
            metadata: {{name: storage-config, namespace: default}}
            stringData:
              mine: '{{"type": "s3", "bucket": "models", "access_key_id": "{SECRET}", "secret_access_key": "{SECRET}"}}'
            """))
        text = service().replace("storageUri: gs://bucket/iris", "storage: {key: mine, path: iris}")
        self.write("iris.yaml", text)
        self.record(*self.catalog(self.path("iris.yaml"), self.path("secret.yaml")))
        self.replay()
        self.assertNotIn(SECRET, unpack(self.file))


class Source(ReplayCase):
    def setUp(self):
        super().setUp()
        self.write("services.yaml", service("iris") + "---\n" + service("rose", extra="args: [--a]\n"))
        self.record(*self.catalog(self.path("services.yaml")), "--now", "2020-02-03T04:05:06Z")

    def test_plan_gives_the_recorded_plan(self):
        out, _ = self.run_perigee("plan", "--replay", self.file, "isvc/rose", "-o", "json")
        plan = json.loads(out)
        lines = lines_of(self.file)
        decision = [line for line in lines if line.get("name") == "rose"][0]
        want = defined(lines)[decision["plan"]]
        plan["trace"] = [t for t in plan["trace"] if t["decision"] != "field"]
        self.assertEqual(plan, want)

    def test_plan_can_record_from_a_recording(self):
        again = self.path("again.zst")
        self.run_perigee("plan", "--replay", self.file, "isvc/rose", "--record", again)
        self.file = again
        self.replay()

    def test_a_folder_means_the_recording_in_it(self):
        os.mkdir(self.path("rec"))
        shutil.copy(self.file, self.path("rec", "recording.ndjson.zst"))
        self.assertIn("2 the same", self.run_perigee("replay", self.path("rec"))[0])
        self.assertIn("default/iris", self.run_perigee("why", "--replay", self.path("rec") + "/", "isvc/iris")[0])
        os.mkdir(self.path("empty"))
        _, err = self.run_perigee("replay", self.path("empty"), code=2)
        self.assertIn("empty/recording.ndjson.zst: No such file", err)

    def test_why_explains_a_decision(self):
        out, _ = self.run_perigee("why", "--replay", self.file, "isvc/rose")
        self.assertIn("served by ClusterServingRuntime", out)
        _, err = self.run_perigee("why", "--replay", self.file, "isvc/lily", code=2)
        self.assertIn("isvc/lily: no such object", err)

    def test_the_repl_opens_decisions(self):
        lines = "decisions\ndecision 2\nservice.metadata.name\nwhy\nplan\ndecisions iris\nselect iris\nservice.metadata.name\n"
        p = subprocess.run([PERIGEE, "repl", "--replay", self.file], input=lines, capture_output=True, text=True, timeout=120)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertIn("decision 2: InferenceService default/rose", p.stdout)
        self.assertIn("\nrose\n", p.stdout)
        self.assertIn("selected default/iris", p.stdout)
        self.assertIn("kind: Deployment", p.stdout)

    def test_the_repl_explains_the_decision_that_a_name_opens(self):
        lines = "decision 2\nwhy iris\nwhy rose .metadata.name\n"
        p = subprocess.run([PERIGEE, "repl", "--replay", self.file], input=lines, capture_output=True, text=True, timeout=120)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertIn("default/iris: served by ClusterServingRuntime", p.stdout)
        self.assertIn('.metadata.name = "rose-predictor"', p.stdout)

    def test_decisions_of_other_sources_are_an_error(self):
        lines = "decisions\n"
        p = subprocess.run([PERIGEE, "repl", "-f", self.path("services.yaml")], input=lines, capture_output=True, text=True,
                           timeout=120)
        self.assertEqual(p.returncode, 1)
        self.assertIn("start with --replay FILE", p.stderr)
        p = subprocess.run([PERIGEE, "repl", "--replay", self.file], input="decision 3\ndecision x\ndecision\n",
                           capture_output=True, text=True, timeout=120)
        self.assertEqual(p.stderr.count("a number from 1 to 2"), 3)


class Controller(ReplayCase):
    def setUp(self):
        super().setUp()
        self.file = self.path("c.zst")
        shutil.copytree(os.path.join(EXAMPLES, "cluster"), self.path("store"))
        for part in ("runtimes", "storagecontainers"):
            shutil.copytree(os.path.join(CATALOG, part), self.path("store", part))

    def test_a_whole_run_replays(self):
        self.run_perigee("controller", "--store", "dir:" + self.path("store"), "--once", "--play-kubelet", "--record",
                         self.file)
        out, err = self.replay()
        self.assertRegex(out, r"^(\d\d+) decisions: \1 the same, 0 different\n$")
        self.assertEqual(err, "")

    def test_the_recording_of_an_earlier_run_is_kept(self):
        config = self.write("config.yaml", f"record: {self.path('records')}/\n")
        self.file = self.path("records", "recording.ndjson.zst")
        for _ in range(2):
            self.run_perigee("controller", "--store", "dir:" + self.path("store"), "--once", "--config", config)
            self.replay()
        self.file += ".1"
        self.replay()

    def test_a_killed_controller_leaves_what_it_decided(self):
        p = subprocess.Popen([PERIGEE, "controller", "--store", "dir:" + self.path("store"), "--record", self.file],
                             stderr=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: os.path.exists(self.file) and os.path.getsize(self.file) > 20000)
        finally:
            p.kill()
            p.wait()
        out, err = self.replay()
        self.assertRegex(out, r"^(\d+) decisions: \1 the same, 0 different\n$")
        self.assertIn("was not ended (its writer was killed", err)

    def test_two_controllers_do_not_share_a_file(self):
        p = subprocess.Popen([PERIGEE, "controller", "--store", "dir:" + self.path("store"), "--record", self.file],
                             stderr=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: os.path.exists(self.file) and os.path.getsize(self.file) > 20000)
            _, err = self.run_perigee("controller", "--store", "dir:" + self.path("store"), "--once", "--record",
                                      self.file, code=2)
        finally:
            p.terminate()
            p.wait()
        self.assertIn("another process is recording there", err)
        self.assertEqual(self.replay()[1], "") # ended as it should be


class BadFiles(ReplayCase):
    def refused(self, part):
        out, err = self.replay(code=2)
        self.assertIn(part, err)
        self.assertIn(os.path.basename(self.file), err)
        return out

    def test_files_that_are_no_recordings(self):
        self.file = self.path("missing")
        self.refused("No such file")
        self.file = self.write("text", "hello")
        self.refused("this is no recording")
        self.file = self.write("empty", "")
        self.refused("there is no whole line")
        self.file = self.folder
        self.replay(code=2)
        for text, part in (("", "no whole line"), ("{}\n", ":1: this is no recording of perigee"),
                           ('{"perigeeRecording": 7}\n', "has version 7, this perigee reads version 1"),
                           ('{"perigeeRecording": 1}\n{"perigee": 1}\n', ":2: neither a definition nor a decision"),
                           ("[" * 100000, "no whole line"), ("[" * 100000 + "\n", ":1: ")):
            with self.subTest(text[:30]):
                self.pack(text)
                self.refused(part)

    def test_joined_files_are_told_apart(self):
        self.record(*self.catalog(self.iris()))
        count = len(lines_of(self.file))
        with open(self.file, "rb") as f:
            one = f.read()
        with open(self.file, "wb") as f:
            f.write(one + one)
        self.refused(f":{count + 1}: another recording begins here: files were joined; each has to be read by itself")

    def test_bombs_are_defused(self):
        self.file = self.path("bomb.zst")
        zeros = subprocess.Popen(["head", "-c", "300M", "/dev/zero"], stdout=subprocess.PIPE)
        subprocess.run(["zstd", "-qf", "-1", "-o", self.file], stdin=zeros.stdout, check=True)
        zeros.stdout.close()
        zeros.wait()
        self.refused("the line is longer than 67108864 bytes")

    def test_a_large_window_is_refused(self):
        self.file = self.path("window.zst")
        subprocess.run(["zstd", "-qf", "--ultra", "--long=27", "-o", self.file],
                       input=b'{"perigeeRecording": 1}\n' + b" " * (2 << 20), check=True)
        self.refused("damaged from here on (Frame requires too much memory for decoding)")

    def test_a_cut_file_is_read_up_to_there(self):
        services = "---\n".join(service(f"s{i}") for i in range(8))
        self.record(*self.catalog(self.write("services.yaml", services)))
        with open(self.file, "rb") as f:
            whole = f.read()
        counts = []
        for cut in (*range(5, len(whole), len(whole) // 15), len(whole) - 1):
            with open(self.file, "wb") as f:
                f.write(whole[:cut])
            p = subprocess.run([PERIGEE, "replay", self.file], capture_output=True, text=True, timeout=120)
            if p.returncode == 0:
                counts.append(int(p.stdout.split()[0]))
                self.assertIn("1 whole decision is in it" if counts[-1] == 1 else f"{counts[-1]} whole decisions are in it", p.stderr)
            else: # not even the first line is whole
                self.assertEqual(p.returncode, 2, p.stderr)
                self.assertIn("there is no whole line in it", p.stderr)
                self.assertFalse(counts)
        self.assertEqual(counts, sorted(counts))
        self.assertEqual(counts[-1], 8)

    def test_recorded_policies_that_do_not_load_are_an_error(self):
        self.record(*self.catalog(self.iris()))
        lines = lines_of(self.file)
        for value in defined(lines).values():
            for file in value.get("shipped", []):
                if file["name"] == "image.lua":
                    file["text"] = "return {"
        self.pack("".join(json.dumps(line) + "\n" for line in lines))
        self.refused("recorded policies")

    def test_contents_of_the_wrong_kind_are_errors(self):
        self.record(*self.catalog(self.iris()))
        lines = lines_of(self.file)
        decision = [line for line in lines if "decision" in line][0]
        for number in {decision["policies"], decision["settings"]}:
            for value in (None, 3, [], {}, {"set": 3, "shipped": []}, {"compat": {"nonsense": True}}):
                with self.subTest(number=number, value=value):
                    self.pack("".join(json.dumps(dict(line, value=value) if line.get("define") == number else line) + "\n"
                                      for line in lines))
                    self.refused("recorded ")


class Writing(ReplayCase):
    def test_only_a_recording_is_replaced(self):
        self.iris()
        self.file = self.write("notes.txt", "precious")
        _, err = self.run_perigee("plan", *self.catalog(self.path("iris.yaml")), "--record", self.file, code=2)
        self.assertIn("is no recording; name another file", err)
        self.assertEqual(self.read("notes.txt"), "precious")
        self.record(*self.catalog(self.path("iris.yaml")))
        self.record(*self.catalog(self.path("iris.yaml")))
        self.assertEqual(self.replay()[0], "1 decision: 1 the same, 0 different\n")

    def test_a_file_that_cannot_be_written_is_an_error(self):
        _, err = self.run_perigee("plan", *self.catalog(self.iris()), "--record", "/nowhere/x.zst", code=2)
        self.assertIn("--record: /nowhere/x.zst: No such file or directory", err)

    def test_a_folder_gets_a_file(self):
        os.mkdir(self.path("d"))
        self.run_perigee("plan", *self.catalog(self.iris()), "--record", self.path("d"))
        self.file = self.path("d", "recording.ndjson.zst")
        self.replay()


if __name__ == "__main__":
    unittest.main()
