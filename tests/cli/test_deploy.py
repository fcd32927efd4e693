# SPDX-License-Identifier: Apache-2.0
"""deploy/ without a cluster: what its kustomizations name is there, and its definitions are as their generator writes them."""
import os
import subprocess
import sys
import unittest

import yaml

from support import ROOT

DEPLOY = os.path.join(ROOT, "deploy")


def documents(path):
    with open(path) as f:
        return [d for d in yaml.safe_load_all(f) if d]


class Deploy(unittest.TestCase):
    def folders(self):
        return sorted(d for d in os.listdir(DEPLOY) if os.path.exists(os.path.join(DEPLOY, d, "kustomization.yaml")))

    def resources(self, folder):
        return documents(os.path.join(DEPLOY, folder, "kustomization.yaml"))[0]["resources"]

    def test_each_kustomization_names_all_its_files_and_no_other(self):
        self.assertEqual(self.folders(), ["base", "controller", "crds"])
        for folder in self.folders():
            files = {f for f in os.listdir(os.path.join(DEPLOY, folder)) if f.endswith(".yaml")} - {"kustomization.yaml"}
            named = set(self.resources(folder))
            self.assertEqual({r for r in named if r.endswith(".yaml")}, files, folder)
            for r in named - files:
                self.assertTrue(os.path.isdir(os.path.join(DEPLOY, folder, r)), r)

    def test_the_definitions_are_as_their_generator_writes_them(self):
        p = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "generate-crds"), "--check"], capture_output=True, text=True)
        self.assertEqual((p.returncode, p.stdout), (0, ""))

    def test_the_catalog_names_only_fields_of_the_definitions(self):
        """Where a definition is not open, a field that it lacks would be dropped by the server without a word."""
        schemas = {}
        for name in self.resources("crds"):
            d = documents(os.path.join(DEPLOY, "crds", name))[0]
            schemas[d["spec"]["names"]["kind"]] = d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        unknown, seen = [], 0
        for folder in ("runtime-catalog/runtimes", "runtime-catalog/storagecontainers", "examples"):
            for at, _, files in os.walk(os.path.join(ROOT, folder)):
                for name in (f for f in files if f.endswith(".yaml")):
                    for o in documents(os.path.join(at, name)):
                        if isinstance(o, dict) and o.get("kind") in schemas:
                            seen += 1
                            unknown += [f"{name}: {p}" for p in self.unknown_fields(schemas[o["kind"]], o)]
        self.assertGreater(seen, 15)
        self.assertEqual(unknown, [])

    def unknown_fields(self, schema, value, path=""):
        if path == ".metadata":
            return
        if isinstance(value, dict):
            for key, item in value.items():
                if key in schema.get("properties", {}):
                    yield from self.unknown_fields(schema["properties"][key], item, f"{path}.{key}")
                elif isinstance(schema.get("additionalProperties"), dict):
                    yield from self.unknown_fields(schema["additionalProperties"], item, f"{path}.{key}")
                elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                    yield f"{path}.{key}"
        elif isinstance(value, list):
            for i, item in enumerate(value):
                yield from self.unknown_fields(schema.get("items", {}), item, f"{path}[{i}]")

    def test_the_controller_runs_with_no_more_rights_than_it_needs_in_its_pod(self):
        deployment = next(d for d in documents(os.path.join(DEPLOY, "controller", "deployment.yaml")) if d["kind"] == "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        for container in pod["containers"]:
            context = container["securityContext"]
            self.assertEqual((context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"], context["capabilities"]),
                             (False, True, {"drop": ["ALL"]}))
        self.assertEqual(deployment["spec"]["replicas"], 2)

    def test_no_rule_grants_everything(self):
        for d in documents(os.path.join(DEPLOY, "controller", "rbac.yaml")):
            for rule in d.get("rules", []):
                for part in ("apiGroups", "resources", "verbs"):
                    self.assertNotIn("*", rule[part], rule)


if __name__ == "__main__":
    unittest.main()
