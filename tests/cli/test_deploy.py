# SPDX-License-Identifier: Apache-2.0
"""deploy/ without a cluster: what its kustomizations name is there, its definitions are as their generator writes them, and
its image has what the program needs."""
import glob
import os
import re
import subprocess
import sys
import unittest

import yaml

from support import PERIGEE, ROOT, read_file

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

    def libraries(self):
        """Those that the program is linked with, and those that it loads later (core/base/late.h): name and place, name and package."""
        needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", PERIGEE], capture_output=True, text=True).stdout)
        places = dict(re.findall(r"(\S+) => (\S+)", subprocess.run(["ldd", PERIGEE], capture_output=True, text=True).stdout))
        later = {}
        for source in glob.glob(os.path.join(ROOT, "core", "*", "*.c")):
            text = read_file(source)
            for package in re.findall(r'prg_late_library\(LIBRARY, "(.*)"\)', text):
                later[re.search(r'#define LIBRARY "(.*)"', text).group(1)] = package
        cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
        for library in later:
            places[library] = re.search(rf"{re.escape(library)} .* => (\S+)", cache).group(1)
        # libraries of a test build are not shipped
        return {n: places[n] for n in [*needed, *later] if not re.match(r"lib([alt]|ub)san\.", n)}, later

    def test_the_image_holds_the_libraries_that_the_program_is_linked_with_or_loads(self):
        lists = subprocess.run(["bash", "-ec", '. scripts/lib.sh; printf "%s\\n" "${RUN_PACKAGES[@]}"'], cwd=ROOT, capture_output=True, text=True)
        packages = set(lists.stdout.split()) | {"libc6"}
        places, later = self.libraries()
        self.assertIn("liblua5.4.so.0", places)
        self.assertEqual(sorted(later), ["libcrypto.so.3", "libcurl.so.4", "libmicrohttpd.so.12"])
        files = [name for place in places.values() for name in (place, os.path.realpath(place), "/usr" + place)]
        found = subprocess.run(["dpkg-query", "-S", *files], capture_output=True, text=True).stdout
        owners = {os.path.basename(line.split(": ")[1]): line.split(":")[0] for line in found.splitlines()}
        for library, place in places.items():
            owner = owners.get(library) or owners.get(os.path.basename(os.path.realpath(place)))
            self.assertIn(owner, packages, f"{library} is of {owner}, which RUN_PACKAGES in scripts/lib.sh lacks")
            self.assertEqual(later.get(library, owner), owner)

    def test_the_image_is_built_from_files_that_are_there_and_has_the_name_that_the_deployment_asks_for(self):
        text = read_file(DEPLOY, "Containerfile")
        for source in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M):
            for name in source.split():
                self.assertTrue(os.path.exists(os.path.join(ROOT, name)), name)
        image = documents(os.path.join(DEPLOY, "controller", "kustomization.yaml"))[0]["images"][0]
        self.assertIn(f"-t {image['newName']}:{image['newTag']} ", text)
        version = re.search(r"project\(perigee VERSION (\S+)", read_file(ROOT, "CMakeLists.txt")).group(1)
        self.assertEqual(image["newTag"], version)


if __name__ == "__main__":
    unittest.main()
