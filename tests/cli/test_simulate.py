# SPDX-License-Identifier: Apache-2.0
"""perigee simulate, and plans of learning jobs."""
import copy
import json
import os
import re
import threading
import unittest

import yaml

from support import CATALOG, ROOT, Case, service

JOBS = os.path.join(ROOT, "examples", "learning", "jobs")
POLICIES = os.path.join(ROOT, "examples", "learning", "policies")
SCENARIO = os.path.join(ROOT, "tests", "cases", "sedna", "scenarios", "lifecycle-deploy-skipped.json")


class Simulate(Case):
    def test_a_scenario_is_a_timeline(self):
        out, _ = self.run_perigee("simulate", SCENARIO)
        self.assertIn("helmet: Train/Waiting", out)
        self.assertIn("create  pods helmet-train-00002", out)

    def test_a_scenario_as_json(self):
        out, _ = self.run_perigee("simulate", SCENARIO, "-o", "json")
        self.assertEqual(json.loads(out)["steps"][0]["op"], "start")

    def test_random_schedules_of_manifests(self):
        out, _ = self.run_perigee("simulate", "--random", "5", "--faults", "drop,kill", "--policies", POLICIES, JOBS)
        self.assertIn("5 schedules:", out)
        self.assertIn("jobs 0 stuck", out)

    def test_a_stuck_job_is_exit_1_with_its_timeline(self):
        out, _ = self.run_perigee("simulate", "--random", "20", "--faults", "drop", SCENARIO, code=1)
        self.assertIn("stuck in", out)
        self.assertIn("is lost", out)

    def test_of_a_job_that_waits_for_ever_not_every_line_is_shown(self):
        command = ["simulate", "--random", "11", "--faults", "drop,repeat,reorder,delay,kill", JOBS]
        out, _ = self.run_perigee(*command, code=1)
        for case in out.split("\n\n")[1:]:
            head, *lines = case.splitlines()
            since = re.search(r"since (\S+): ", head).group(1)
            after = [line for line in lines if line.split()[0] > since]
            self.assertLessEqual(len(after), 22, head)
            self.assertIn(": stuck in", lines[-1])
        self.assertRegex(out, r"\n  … \d+ more in this state; -o json has them\n")
        cases = json.loads(self.run_perigee(*command, "-o", "json", code=1)[0])["cases"]
        self.assertGreater(max(len(case["timeline"]) for case in cases), 100)

    def test_a_job_that_repeats_itself_is_endless_with_the_reason(self):
        with open(os.path.join(JOBS, "job.yaml")) as f:
            job = yaml.safe_load(f)
        with open(os.path.join(JOBS, "data.yaml")) as f:
            objects = list(yaml.safe_load_all(f)) + [job]
        containers = job["spec"]["trainSpec"]["template"]["spec"]["containers"]
        job["spec"]["trainSpec"]["template"]["spec"]["containers"] = [None]
        self.write("jobs.json", json.dumps({"objects": objects}))
        out, _ = self.run_perigee("simulate", "--random", "1", self.path("jobs.json"), code=1)
        self.assertIn("jobs 1 stuck", out)
        self.assertIn("endless in Train Ready since ", out)
        self.assertIn(": tried 100 times: /spec/trainSpec/template/spec/containers/0: must be a container", out)
        job["spec"]["trainSpec"]["template"]["spec"]["containers"] = containers
        self.write("jobs.json", json.dumps({"objects": objects}))
        self.write("circle/il_stage.lua", """\
local M = { api = "il_stage/v1" }
function M.transit(input)
  return { stage = "Train", type = input.condition.type == "A" and "B" or "A" }
end
return M
""")
        out, _ = self.run_perigee("simulate", "--random", "1", "--policies", self.path("circle"), self.path("jobs.json"), "-o", "json", code=1)
        _, err = self.run_perigee("simulate", "--policies", self.path("circle"), self.path("jobs.json"), code=2)
        self.assertIn("jobs.json:1:1: /objects: factory/helmet goes on for ever: 500 syncs at one moment", err)
        case = json.loads(out)["cases"][0]
        self.assertEqual((case["problem"], case["reason"]), ("endless", "500 conditions without the end of a round"))

    def test_what_is_wrong_in_a_scenario_is_told_with_its_place(self):
        job = {"apiVersion": "sedna.io/v1alpha1", "kind": "IncrementalLearningJob", "metadata": {"name": "helmet"}}
        for scenario, place in (({"steps": {}}, "/steps: must be a list, not object"),
                                ({"objects": {}}, "/objects: must be a list, not object"),
                                ({"objects": [None]}, "/objects/0: an object is expected, not null"),
                                ({"objects": [{"kind": "Pod"}]}, "/objects/0: /apiVersion is missing"),
                                ({"steps": [None]}, "/steps/0: there is no operation ''"),
                                ({"steps": [{"op": "resync"}, {"op": "fly"}]}, "/steps/1: there is no operation 'fly'"),
                                ({"steps": [{"op": "advance", "seconds": -5}]}, "/steps/0: seconds, a whole number"),
                                ({"steps": [{"op": "podPhase", "phase": "Running"}]}, "/steps/0: name or podType is needed"),
                                ({"steps": [{"op": "podPhase", "podType": "train", "phase": 7}]}, "/steps/0: phase, as in Running"),
                                ({"steps": [{"op": "podDelete"}]}, "/steps/0: name or podType is needed"),
                                ({"steps": [{"op": "upstream", "content": {}}]}, "/steps/0: name, of what the node reports"),
                                ({"steps": [{"op": "inject", "verb": "create", "resource": "pods", "times": -1}]}, "/steps/0: times"),
                                ({"steps": [{"op": "create", "object": []}]}, "/steps/0: /object is missing")):
            self.write("scenario.json", json.dumps({"objects": [job], **scenario}))
            _, err = self.run_perigee("simulate", self.path("scenario.json"), code=2)
            self.assertIn(place, err)
        for text in ("", "[1]", "null", "\0", "[" * 5000, '{"objects": [], "objects": []}'):
            self.write("scenario.json", text)
            _, err = self.run_perigee("simulate", self.path("scenario.json"), code=2)
            self.assertIn("scenario.json", err)

    def test_keys_that_nobody_reads_are_refused_with_their_place(self):
        for text, said in (("objects: []\nstep: []\n", "2: /step: unknown; did you mean 'steps'?"),
                           ("objects: []\nsetps: []\n", "2: /setps: unknown; did you mean 'steps'?"),
                           ("a/b~c: 1\n", "1: /a~1b~0c: unknown; a scenario has options, objects and steps"),
                           ("whatever: 1\n", "1: /whatever: unknown; a scenario has options, objects and steps"),
                           ("options:\n  lcserver: x\n", "2: /options/lcserver: unknown; did you mean 'lcServer'?"),
                           ("options: {speed: 1}\n", "1: /options/speed: unknown; known here: lcServer, gracefulDelete"),
                           ("options: {lcServer: 5}\n", "1: /options/lcServer: must be a text, not number"),
                           ("options: {gracefulDelete: 'yes'}\n", "1: /options/gracefulDelete: must be true or false, not string"),
                           ("options: []\n", "1: /options: must be an object, not array"),
                           ("steps:\n- {op: advance, second: 5}\n", "2: /steps/0/second: unknown; did you mean 'seconds'?"),
                           ("steps:\n- op: resync\n- op: podPhase\n  podtype: train\n  phase: Running\n",
                            "4: /steps/1/podtype: unknown; did you mean 'podType'?"),
                           ("steps:\n- {op: resync, podType: train}\n", "2: /steps/0/podType: unknown; resync has no fields"),
                           ("steps: [{op: upstream, name: a, elsewhere: x}]\n",
                            "1: /steps/0/elsewhere: unknown; known here: namespace, name, kind, operation, content, contentText"),
                           ("steps: [{op: podfase}]\n", "1: /steps/0: there is no operation 'podfase'; did you mean 'podPhase'?"),
                           ("steps:\n- {op: resync}\n- {op: advance, seconds: 1.5}\n", "3: /steps/1: seconds, a whole number"),
                           ("steps:\n- {op: advance, seconds: 3162240001}\n", "2: /steps/0: seconds: all steps together may "
                            "advance by 3162240000 seconds (100 years) at most"),
                           ("steps:\n" + 2 * "- {op: advance, seconds: 3162240000}\n", "3: /steps/1: seconds: all steps together"),
                           ("steps:\n- {op: advance, seconds: -9223372036854775808}\n", "2: /steps/0: seconds, a whole number"),
                           ("steps:\n- {op: inject, verb: creat, resource: pods}\n",
                            "2: /steps/0: there is no verb 'creat'; did you mean 'create'?"),
                           ("steps:\n- {op: inject, verb: create, resource: pod}\n",
                            "2: /steps/0: there is no resource 'pod'; did you mean 'pods'?"),
                           ("steps:\n- {op: inject, verb: create, resource: pods, error: rain}\n",
                            "2: /steps/0: there is no error 'rain'; known here: conflict, internal"),
                           ("objects:\n- {kind: Pod}\n", "2: /objects/0: /apiVersion is missing")):
            self.write("scenario.yaml", text)
            _, err = self.run_perigee("simulate", self.path("scenario.yaml"), code=2)
            line, _, rest = said.partition(": ")
            self.assertRegex(err, "^error: " + re.escape(self.path("scenario.yaml")) + f":{line}:[0-9]+: " + re.escape(rest))
        notes = {"name": "x", "theme": "y", "description": "z", "case": "c", "flags": [], "seed": 7, "expected": [{}],
                 "options": {"podOrder": "newest-first", "fullContent": True}, "objects": [], "steps": [{"op": "podOrder", "order": "x"}]}
        self.write("scenario.yaml", json.dumps(notes))
        self.run_perigee("simulate", self.path("scenario.yaml"))

    def test_misuse_is_exit_2(self):
        for args in (["simulate"], ["simulate", "/nowhere.json"], ["simulate", "--random", "x", JOBS],
                     ["simulate", "--random", "1"], ["simulate", "--random", "1", "--faults", "rain", JOBS]):
            _, err = self.run_perigee(*args, code=2)
            self.assertIn("error: ", err)

    def test_options_of_random_schedules_are_not_ignored_without_them(self):
        for option, value in (("--faults", "drop"), ("--seed", "7"), ("--rounds", "2")):
            for path in (SCENARIO, JOBS):
                _, err = self.run_perigee("simulate", option, value, path, code=2)
                self.assertEqual(err, f"error: {option} goes with --random N; a scenario has its faults among its steps\n")

    def test_numbers_are_digits_and_within_their_range(self):
        for option, value, said in (("--random", " -1", "a whole number from 1 to 18446744073709551615"),
                                    ("--random", "+3", "a whole number from 1 to 18446744073709551615"),
                                    ("--seed", " -3", "a whole number from 0 to 18446744073709551615"),
                                    ("--rounds", "0", "a whole number from 1 to 1000"),
                                    ("--rounds", "1001", "a whole number from 1 to 1000")):
            args = [] if option == "--random" else ["--random", "1"]
            _, err = self.run_perigee("simulate", *args, option, value, JOBS, code=2)
            self.assertEqual(err, f"error: {option} {value}: {said}\n")
        _, err = self.run_perigee("plan", "-f", JOBS, "--seed", " -3", code=2)
        self.assertEqual(err, "error: --seed  -3: a whole number from 0 to 18446744073709551615\n")
        _, err = self.run_perigee("plan", "-f", JOBS, "--limit", "steps= -3", code=2)
        self.assertIn("--limit steps= -3: NAME=N", err)

    def test_a_namespace_is_for_random_schedules(self):
        _, err = self.run_perigee("simulate", "-n", "factory", SCENARIO, code=2)
        self.assertEqual(err, "error: --namespace goes with --random N; what says no namespace in a scenario is in default\n")

    def objects(self):
        with open(os.path.join(JOBS, "data.yaml")) as f, open(os.path.join(JOBS, "job.yaml")) as g:
            return [*yaml.safe_load_all(f), yaml.safe_load(g)]

    def test_objects_without_a_namespace_are_in_the_same_one_in_random_schedules(self):
        objects = self.objects()
        for one in objects:
            del one["metadata"]["namespace"]
        self.write("scenario.json", json.dumps({"objects": objects}))
        out, _ = self.run_perigee("simulate", "--random", "2", self.path("scenario.json"))
        self.assertIn("jobs 0 stuck", out)
        out, _ = self.run_perigee("simulate", "--random", "20", "--faults", "drop", "-n", "here", self.path("scenario.json"), code=1)
        self.assertIn(": here/helmet: stuck in", out)

    def write_pipe(self, path, text):
        with open(path, "w") as f:
            f.write(text)

    def test_files_of_random_schedules_are_read_once_and_errors_say_where(self):
        objects = self.objects()
        text = yaml.safe_dump_all(objects)
        out, _ = self.run_perigee("simulate", "--random", "1", "-", stdin=text)
        self.assertIn("jobs 0 stuck", out)
        path = self.path("pipe")
        os.mkfifo(path)
        writer = threading.Thread(target=self.write_pipe, args=(path, text), daemon=True)
        writer.start()
        out, _ = self.run_perigee("simulate", "--random", "1", path)
        writer.join()
        self.assertIn("jobs 0 stuck", out)
        self.write("odd.json", json.dumps({"objects": [{"apiVersion": "v1", "kind": []}]}))
        _, err = self.run_perigee("simulate", "--random", "1", self.path("odd.json"), code=2)
        self.assertEqual(err, f"error: {self.path('odd.json')}:1: /kind must be a string, not array\n")

    def test_an_object_is_given_once(self):
        objects = self.objects()
        self.write("twice.json", json.dumps({"objects": objects + objects[:1]}, indent=1))
        _, err = self.run_perigee("simulate", self.path("twice.json"), code=2)
        self.assertRegex(err, ":[0-9]+:3: /objects/4: sedna.io/Dataset factory/helmet-photos is among the objects already; keep one of the two\n$")
        _, err = self.run_perigee("simulate", "--random", "1", self.path("twice.json"), code=2)
        self.assertRegex(err, ":[0-9]+: sedna.io/Dataset factory/helmet-photos is also at .*twice.json:[0-9]+; keep one of the two\n$")

    def test_a_pod_of_a_type_is_looked_for_in_the_namespace_given(self):
        objects = self.objects()
        other = json.loads(json.dumps(objects).replace('"factory"', '"other"'))
        ready = {"phase": "Train", "status": "Ready", "input": {"models": [{"url": "/m", "format": "ckpt"}], "dataURL": "/d"}}
        steps = [{"op": "upstream", "namespace": ns, "name": "helmet", "content": ready} for ns in ("factory", "other")]
        steps += [{"op": "podPhase", "podType": "train", "namespace": "factory", "phase": "Running"},
                  {"op": "podDelete", "podType": "train", "namespace": "nowhere"}]
        self.write("two.json", json.dumps({"objects": objects + other, "steps": steps}))
        out, _ = self.run_perigee("simulate", self.path("two.json"), "-o", "json")
        results = [step.get("result") for step in json.loads(out)["steps"]]
        self.assertEqual(results[-2], {"outcome": "ok", "pod": "helmet-train-00003"})
        self.assertEqual(results[-1]["outcome"], "no such pod")

    def one_schedule(self, lua):
        self.write("odd/il_stage.lua", 'local M = { api = "il_stage/v1" }\n' + lua + "\nreturn M\n")
        out, _ = self.run_perigee("simulate", "--random", "1", "--policies", self.path("odd"), JOBS, code=1)
        return out

    def test_a_job_that_never_begins_is_told_as_such(self):
        out = self.one_schedule("function M.transit() end")
        self.assertIn("seed 1: factory/helmet: stuck in (not begun) since 2024-01-01T00:00:00Z: ", out)
        self.assertIn("helmet: stuck in (not begun) since 2024-01-01T00:00:00Z\n", out)

    def test_a_policy_that_fails_on_reports_is_the_reason(self):
        out = self.one_schedule("""\
function M.transit(input)
  if input.condition.type == "" then return { stage = "Train", type = "Waiting" } end
end
function M.report() error("no such luck") end""")
        self.assertIn("endless in Train Waiting since 2024-01-01T00:00:00Z: tried 100 times: policy il_stage, function report: ", out)
        self.assertIn("no such luck", out)

    def test_deadlines_count_as_events(self):
        out = self.one_schedule("function M.transit() return { after = 0.001 } end")
        self.assertIn("endless in (not begun) since 2024-01-01T00:00:00Z: the end is not in sight after 50000 events", out)

    def test_no_schedule_at_all_is_no_success(self):
        _, err = self.run_perigee("simulate", "--random", "0", JOBS, code=2)
        self.assertEqual(err, "error: --random 0: a whole number from 1 to 18446744073709551615\n")


class PlanJob(Case):
    def test_limits_that_are_a_list_are_compared_without_harm(self):
        with open(os.path.join(JOBS, "job.yaml")) as f:
            job = yaml.safe_load(f)
        job["spec"]["trainSpec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = [{}]
        ready = {"stage": "Train", "type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z",
                 "data": json.dumps({"input": {"models": [{"url": "/m", "format": "ckpt"}], "dataURL": "/d"}})}
        job["status"] = {"conditions": [ready]}
        with open(os.path.join(JOBS, "data.yaml")) as f:
            self.write("jobs.yaml", yaml.safe_dump_all([job, *yaml.safe_load_all(f)]))
        _, err = self.run_perigee("diff", "-f", self.path("jobs.yaml"), "--policies", POLICIES, code=1)
        self.assertNotIn("runtime error", err)

    def test_a_job_is_planned_by_kind_and_name(self):
        for kind in ("incrementallearningjob", "il", "IncrementalLearningJobs.sedna.io"):
            plan = self.plan("-f", JOBS, "-n", "factory", kind + "/helmet")
            self.assertEqual(plan["resource"]["status"]["conditions"][0]["type"], "Waiting")
            self.assertEqual([o["kind"] for o in plan["objects"]], ["Pod"])
            self.assertEqual(plan["messages"][0]["node"], "edge1")

    def test_a_template_without_containers_that_are_objects_is_an_error_with_its_place(self):
        with open(os.path.join(JOBS, "data.yaml")) as f:
            data = list(yaml.safe_load_all(f))
        with open(os.path.join(JOBS, "job.yaml")) as f:
            job = yaml.safe_load(f)
        for part, run in (("deploySpec", "plan"), ("trainSpec", "simulate"), ("evalSpec", "simulate")):
            for containers, said in (({"containers": [{"name": "a"}, None]}, "containers/1: must be a container, an object, not null"),
                                     ({"containers": [[]]}, "containers/0: must be a container, an object, not array"),
                                     ({"containers": {"a": 1}}, "containers: must be a list of containers, not object"),
                                     ({"initContainers": ["x"]}, "initContainers/0: must be a container, an object, not string")):
                odd = copy.deepcopy(job)
                odd["spec"][part]["template"]["spec"].update(containers)
                self.write("jobs.json", json.dumps({"objects": [odd, *data]}))
                self.write("jobs.yaml", yaml.safe_dump_all([odd, *data]))
                if run == "plan":
                    _, err = self.run_perigee("plan", "-f", self.path("jobs.yaml"), code=1)
                else:
                    steps = [{"op": "upstream", "namespace": "factory", "name": "helmet",
                              "content": {"phase": part[:-4], "status": "Ready",
                                          "input": {"models": [{"url": "/m", "format": "ckpt"}], "dataURL": "/d"}}}]
                    self.write("jobs.json", json.dumps({"objects": [odd, *data], "steps": steps}))
                    err, _ = self.run_perigee("simulate", self.path("jobs.json"))
                self.assertIn(f"/spec/{part}/template/spec/{said}", err)

    def test_the_table_says_what_its_objects_belong_to(self):
        out, _ = self.run_perigee("plan", "-f", JOBS)
        self.assertRegex(out, "^NAMESPACE +JOB +KIND +NAME +STATE\nfactory +helmet +Pod ")
        self.write("iris.yaml", service())
        out, _ = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.path("iris.yaml"))
        self.assertRegex(out, "^NAMESPACE +SERVICE +KIND ")
        out, _ = self.run_perigee("plan", "-f", CATALOG, "-R", "-f", JOBS, "-f", self.path("iris.yaml"))
        self.assertRegex(out, "^NAMESPACE +SERVICE/JOB +KIND ")

    def test_the_explanation_says_what_happens_next(self):
        out, _ = self.run_perigee("plan", "-f", JOBS, "-n", "factory", "il/helmet", "--explain")
        self.assertIn("Train Waiting: the job begins", out)

    def test_configuration_and_compat_are_empty_for_a_stage_in_plans_and_in_checks(self):
        with open(os.path.join(ROOT, "lua", "policies", "il_stage.lua")) as f:
            text = f.read()
        asks = 'function M.transit(input)\n  assert(perigee.config.inferenceService == nil and next(perigee.compat) == nil)\n'
        self.write("policies/il_stage.lua", text.replace("function M.transit(input)\n", asks))
        plan = self.plan("-f", JOBS, "-n", "factory", "il/helmet", "--policies", self.path("policies"))
        self.assertEqual(plan["resource"]["status"]["conditions"][0]["type"], "Waiting")
        self.run_perigee("check", self.path("policies"))

    def test_the_steps_of_a_policy_grow_with_the_history_and_no_faster(self):
        with open(os.path.join(JOBS, "job.yaml")) as f:
            job = yaml.safe_load(f)
        since = "2026-01-01T00:00:00Z"
        job["status"] = {"startTime": since, "conditions": [
            {"stage": "Train", "type": "Waiting" if i == 0 else "Running", "lastTransitionTime": since} for i in range(5000)]}
        job["status"]["conditions"].append({"stage": "Eval", "type": "Failed", "lastTransitionTime": since})
        self.write("jobs/job.yaml", json.dumps(job))
        with open(os.path.join(JOBS, "data.yaml")) as f:
            self.write("jobs/data.yaml", f.read())
        plan = self.plan("-f", self.path("jobs"), "-n", "factory", "il/helmet", "--policies", POLICIES,
                         "--limit", "steps=400000", "--limit", "wall-ms=100000")
        self.assertEqual(plan["trace"][-1]["outcome"], "Eval Waiting")

    def test_unknown_kinds_are_refused(self):
        _, err = self.run_perigee("plan", "-f", JOBS, "dataset/helmet-photos", code=2)
        self.assertIn("incrementallearningjob", err)


if __name__ == "__main__":
    unittest.main()
