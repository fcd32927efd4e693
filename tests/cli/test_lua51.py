# SPDX-License-Identifier: Apache-2.0
"""Scripts written for Lua 5.1 in perigee eval: Argo CD's health checks, Karmada's interpreters."""
import json
import os
import unittest

from support import Case, ROOT

SCRIPTS = os.path.join(ROOT, "examples", "scripts")


def deployment(**spec):
    template = {"spec": {
        "serviceAccountName": "robot",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        "volumes": [{"name": "a", "secret": {"secretName": "s"}}, {"name": "b", "configMap": {"name": "c"}},
                    {"name": "d", "persistentVolumeClaim": {"claimName": "p"}},
                    {"name": "e", "projected": {"sources": [{"secret": {"name": "t"}}]}}],
        "imagePullSecrets": [{"name": "pull"}],
        "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}],
        "containers": [
            {"name": "a", "resources": {"limits": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 2, "odd": "1"}},
             "envFrom": [{"configMapRef": {"name": "env"}}]},
            {"name": "b", "resources": {"requests": {"cpu": 1, "memory": "512Mi"}, "limits": {"memory": "4Gi"}}}],
    }}
    return {"metadata": {"name": "d", "namespace": "n"}, "spec": {"replicas": 3, "template": template, **spec}}


class Lua51(Case):
    def eval(self, script, lines, *args, code=0):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        out, _ = self.run_perigee("eval", script, "--input", "-", *args, stdin=text, code=code)
        return [json.loads(line) for line in out.splitlines()]

    def value(self, text, *lines, code=0):
        return self.eval(self.write("a.lua", text), lines or [{}], code=code)[0]

    def test_argo_cd_health_checks_run_as_they_are(self):
        def ready(status, **more):
            return {"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": status, **more}]}}
        got = self.eval(os.path.join(SCRIPTS, "argocd_health.lua"),
                        [{}, {"status": {"conditions": []}}, ready("True"), ready("False", reason="RevisionMissing", message="no such"),
                         ready("Unknown")], "--as", "obj")
        waiting = {"status": "Progressing", "message": "nothing is known yet"}
        self.assertEqual(got, [waiting, waiting, {"status": "Healthy", "message": "ready"},
                               {"status": "Degraded", "message": "revision missing: no such"}, waiting])

    def test_karmada_interpreters_run_as_they_are(self):
        script = os.path.join(SCRIPTS, "karmada_deployment.lua")
        self.assertEqual(self.eval(script, [deployment()], "--call", "GetReplicas"), [3])
        [[replicas, needs]] = self.eval(script, [deployment()], "--call", "GetReplicas", "--all-results")
        self.assertEqual(replicas, 3)
        self.assertEqual(needs, {
            "nodeClaim": {"hardNodeAffinity": {"nodeSelectorTerms": []}, "nodeSelector": {"disk": "ssd"},
                          "tolerations": [{"key": "spot", "operator": "Exists"}]},
            "resourceRequest": {"cpu": "3", "memory": "1536Mi", "nvidia.com/gpu": "2"}})
        self.assertEqual(self.eval(script, [[deployment(), 7]], "--call", "ReviseReplica", "--spread"), [deployment(replicas=7)])
        self.assertEqual(self.eval(script, [[deployment(), deployment(paused=True)]], "--call", "Retain", "--spread"),
                         [deployment(paused=True)])
        found = self.eval(script, [deployment()], "--call", "GetDependencies")[0]
        self.assertEqual([(o["kind"], o["name"]) for o in found],
                         [("ConfigMap", "c"), ("ConfigMap", "env"), ("Secret", "pull"), ("Secret", "s"), ("Secret", "t"),
                          ("ServiceAccount", "robot"), ("PersistentVolumeClaim", "p")])
        self.assertEqual({(o["apiVersion"], o["namespace"]) for o in found}, {("v1", "n")})

    def test_a_pod_that_needs_nothing(self):
        text = 'local kube = require("kube") return { kube.accuratePodRequirements({ spec = { containers = {} } }) == nil, kube.resourceAdd() }'
        self.assertEqual(self.value(text), [True, "0"])

    def test_sums_of_quantities(self):
        text = 'local k = require("kube") return { k.resourceAdd("1Gi", nil, "512Mi"), k.resourceAdd("500m", "1"), k.resourceAdd("1k", "1Ki") }'
        self.assertEqual(self.value(text), ["1536Mi", "1500m", "2024"])

    def test_memory_is_written_as_the_original_does(self):
        text = """
local kube = require("kube")
local function memory(q)
  local pod = { spec = { containers = { { resources = { requests = { memory = q } } } } } }
  return kube.accuratePodRequirements(pod).resourceRequest.memory
end
return { memory("500M"), memory("1024"), memory("1536Mi"), memory("1024Gi") }
"""
        self.assertEqual(self.value(text), ["500000000", "1Ki", "1536Mi", "1Ti"])

    def test_names_of_5_1(self):
        text = """
local words, visited = {}, 0
for word in string.gfind("a b", "%a") do words[#words + 1] = word end
for word in ("c d"):gfind("%a") do words[#words + 1] = word end
table.foreach({ 1, 2 }, function(_, v) visited = visited + v end)
return { unpack({ 1, 2, 3 }) == 1, select("#", unpack({ 1, 2, 3 })), table.getn({ 1, 2 }), table.maxn({ [7] = 1 }),
  math.pow(2, 10), math.pow(2, 0.5) > 1.41, math.mod(7, 4), table.concat(words), visited, tostring(math.pow(2, 3)) }
"""
        self.assertEqual(self.value(text), [True, 3, 2, 7, 1024, True, 3, "abcd", 3, "8"])

    def test_what_would_make_code_is_refused_by_name(self):
        for call, name in (("loadstring('return 1')", "loadstring"), ("load('x')", "load"), ("dofile('x')", "dofile"),
                           ("setfenv(1, {})", "setfenv"), ("math.random()", "math.random"), ("table.setn({}, 1)", "table.setn")):
            self.assertIn(f"a.lua:1: {name} is not available: ", self.value(f"local x = {call}", code=1)["error"])
        self.assertIn("module 'socket' is not available", self.value("return require('socket')", code=1)["error"])

    def test_names_that_nobody_knows_stay_nil(self):
        self.assertEqual(self.value("return { nosuch == nil, string.nosuch == nil, os == nil, io == nil }"), [True] * 4)

    def test_what_one_line_sets_the_next_does_not_see(self):
        script = self.write("a.lua", "local seen = x; x = 1; return seen == nil")
        self.assertEqual(self.eval(script, [{}, {}]), [True, True])

    def test_policies_do_not_have_them(self):
        self.write("set/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag(i) return unpack({ i }) end\nreturn M\n')
        out, _ = self.run_perigee("check", self.path("set"), code=1)
        self.assertIn("'unpack' is not there for policies", out)

    def test_spread_wants_a_list(self):
        script = self.write("a.lua", "function f(a, b) return b end")
        self.assertIn("list of arguments", self.eval(script, [{}], "--call", "f", "--spread", code=1)[0]["error"])
        self.assertEqual(self.eval(script, [[1, None, 3]], "--call", "f", "--spread", "--all-results"), [[None]])


if __name__ == "__main__":
    unittest.main()
