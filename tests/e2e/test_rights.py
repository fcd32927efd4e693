# SPDX-License-Identifier: Apache-2.0
"""What the controller's account may do is what it does: looks at every request of the whole run, so it comes last."""
import json

from controlled import deploy, kustomize
from support import ACCOUNT, SYSTEM, Case

# Rights that no test of a whole run uses, each with the reason to keep it. "*" stands for any verb or resource.
UNUSED = {
    ("get", "*"): "an object is read when its fields change hands, which not every kind does in a run",
    ("create", "*"): "asked for by the server in a patch that makes an object; it logs the patch",
    ("list", "*"): "first lists are streamed by a server of today; an older one is asked for lists",
    ("*", "opentelemetry.io/opentelemetrycollectors"): "the lab has no definition of the kind",
    ("delete", "keda.sh/scaledobjects"): "services of the tests do not leave the class",
    ("delete", "serving.knative.dev/services"): "services of the tests do not leave the mode",
    ("update", "serving.kserve.io/inferenceservices/finalizers"): "asked for by the admission plugin for owner references",
    ("update", "sedna.io/incrementallearningjobs/finalizers"): "the same",
}


class Rights(Case):
    def granted(self):
        out = set()
        for o in kustomize(self.lab, "controller"):
            for rule in o.get("rules", []) if o["kind"] in ("ClusterRole", "Role") else []:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        out |= {(verb, f"{group}/{resource}".lstrip("/")) for verb in rule["verbs"]}
        return out

    def used(self):
        """What was allowed, and what was not."""
        used, forbidden = set(), set()
        with open(self.lab.path("audit.log")) as f:
            for line in f:
                e = json.loads(line)
                if e["user"]["username"] != f"system:serviceaccount:{SYSTEM}:{ACCOUNT}" or "objectRef" not in e:
                    continue
                ref = e["objectRef"]
                name = f"{ref.get('apiGroup', '')}/{ref['resource']}".lstrip("/")
                if ref.get("subresource"):
                    name += "/" + ref["subresource"]
                is_forbidden = e.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
                (forbidden if is_forbidden else used).add((e["verb"], name))
        return used, forbidden

    def test_nothing_was_forbidden_and_nothing_is_granted_for_nothing(self):
        deploy(self.lab, self.api)
        used, forbidden = self.used()
        if len(used) < 20:
            self.skipTest("the controller's tests did not run before this one")
        # A server that has just been started forbids everything for a moment.
        self.assertEqual(forbidden - self.granted(), set())
        idle = {(v, r) for v, r in self.granted() - used if not {(v, r), (v, "*"), ("*", r)} & set(UNUSED)}
        self.assertEqual(idle, set(), "granted, but never used in the whole run")

    def test_the_whole_base_is_accepted(self):
        """The definitions of this project and everything else of deploy/base, by a server that checks them."""
        for o in kustomize(self.lab, "base"):
            text = json.dumps(o)
            with self.subTest(f"{o['kind']} {o['metadata']['name']}"):
                p = self.lab.kubectl("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", stdin=text, check=False)
                self.assertTrue(p.returncode == 0 or "namespaces \"perigee-system\" not found" in p.stderr, p.stderr)
                self.assertNotIn("Warning", p.stderr)
