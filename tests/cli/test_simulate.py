# SPDX-License-Identifier: Apache-2.0
"""perigee simulate, and plans of learning jobs."""
import json
import os
import unittest

from support import ROOT, Case

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

    def test_misuse_is_exit_2(self):
        for args in (["simulate"], ["simulate", "/nowhere.json"], ["simulate", "--random", "x", JOBS],
                     ["simulate", "--random", "1"], ["simulate", "--random", "1", "--faults", "rain", JOBS]):
            _, err = self.run_perigee(*args, code=2)
            self.assertIn("error: ", err)


class PlanJob(Case):
    def test_a_job_is_planned_by_kind_and_name(self):
        for kind in ("incrementallearningjob", "il", "IncrementalLearningJobs.sedna.io"):
            plan = self.plan("-f", JOBS, "-n", "factory", kind + "/helmet")
            self.assertEqual(plan["resource"]["status"]["conditions"][0]["type"], "Waiting")
            self.assertEqual([o["kind"] for o in plan["objects"]], ["Pod"])
            self.assertEqual(plan["messages"][0]["node"], "edge1")

    def test_the_explanation_says_what_happens_next(self):
        out, _ = self.run_perigee("plan", "-f", JOBS, "-n", "factory", "il/helmet", "--explain")
        self.assertIn("Train Waiting: the job begins", out)

    def test_unknown_kinds_are_refused(self):
        _, err = self.run_perigee("plan", "-f", JOBS, "dataset/helmet-photos", code=2)
        self.assertIn("incrementallearningjob", err)


if __name__ == "__main__":
    unittest.main()
