# SPDX-License-Identifier: Apache-2.0
"""What changes hands: services that the original held with its finalizer, replica counts that an autoscaler takes over, whole
clusters from the original to Perigee."""
import json
import subprocess

import test_recorded
from controlled import ControlledCase, Controller
from support import PERIGEE

FINALIZER = "inferenceservice.finalizers"


class Handover(ControlledCase):
    def test_a_service_that_the_original_held_is_let_go(self):
        service = self.service()
        service["metadata"]["finalizers"] = [FINALIZER]
        self.api.create(service)
        self.wait_owned("Deployment")
        self.api.delete(service)
        self.eventually(lambda: self.api.read(service) is None, 30, f"the service to go; log:\n{self.tail()}")
        self.wait_gone("Deployment")

    def test_finalizers_of_others_hold_it_as_before(self):
        service = self.service()
        service["metadata"]["finalizers"] = [FINALIZER, "example.com/hold"]
        self.api.create(service)
        self.wait_owned("Deployment")
        self.api.delete(service)
        self.eventually(lambda: self.api.read(service)["metadata"]["finalizers"] == ["example.com/hold"])
        self.settle()
        self.assertIsNotNone(self.owned("Deployment"))
        self.api.patch(service, {"metadata": {"finalizers": None}})
        self.wait_gone("Deployment")

    def test_a_replica_count_stays_when_an_autoscaler_takes_over(self):
        service = self.service(annotations={"serving.kserve.io/autoscalerClass": "none"}, predictor={"minReplicas": 3})
        self.api.create(service)
        self.eventually(lambda: (self.owned("Deployment") or {}).get("spec", {}).get("replicas") == 3)
        self.assertIsNone(self.owned("HorizontalPodAutoscaler"))
        # An autoscaler that may go down to 1 but knows no metrics leaves the count that it finds.
        self.api.patch(service, {"metadata": {"annotations": {"serving.kserve.io/autoscalerClass": "hpa"}},
                                 "spec": {"predictor": {"minReplicas": 1, "maxReplicas": 5}}})
        self.wait_owned("HorizontalPodAutoscaler")
        self.settle()
        deployment = self.owned("Deployment")
        self.assertEqual(deployment["spec"]["replicas"], 3)
        ours = [m for m in deployment["metadata"]["managedFields"] if m["manager"] == "perigee" and m["operation"] == "Apply"]
        self.assertNotIn("f:replicas", ours[0]["fieldsV1"]["f:spec"])


class Switched(ControlledCase):
    """A whole change of controllers: the original made everything; Perigee takes over as it was, then with its faults mended,
    then as it was again."""
    STARTS = False
    def runtime(self, name, **spec):
        return {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ServingRuntime", "metadata": {"name": name, "namespace": self.ns},
                "spec": {"supportedModelFormats": [{"name": "sklearn"}],
                         "containers": [{"name": "kserve-container", "image": "example.com/server:1",
                                         "args": ["--name={{.Name}}", "--note={{.Annotations.note}}"]}], **spec}}

    def services(self):
        """One that is the same in both modes, one whose text the original escapes, one whose runtime it does not take whole."""
        return [self.service("same", annotations={"example.com/note": "from the days before"}),
                self.service("text", runtime="plain", annotations={"note": "this & that"}),
                self.service("fields", runtime="more", annotations={"note": "none"})]

    def perigee(self, command, *args):
        p = subprocess.run([PERIGEE, command, "--kubeconfig", self.lab.kubeconfig, "-n", self.ns, *args, "-o", "json"], capture_output=True, text=True,
                           timeout=120)
        self.assertIn(p.returncode, (0, 1), p.stderr)
        return json.loads(p.stdout)

    def made_by_the_original(self):
        """Its objects, owned by its field manager, and its finalizer on the services."""
        for service in self.services():
            service["metadata"]["finalizers"] = [FINALIZER]
            self.api.create(service, manager=test_recorded.ORIGINAL)
        out = {}
        for plan in self.perigee("plan", "--compat", "kserve")["items"]:
            for o in plan["objects"]:
                o = test_recorded.moved(o, self.ns)
                out[o["kind"], o["metadata"]["name"]] = self.api.create(o, manager=test_recorded.ORIGINAL)
        return out

    def listed(self):
        """What diff says beforehand: {(kind, name): paths}."""
        out = {}
        for service in self.perigee("diff", "--base-compat", "kserve", "--compat", "fixed")["services"]:
            for o in service["objects"]:
                self.assertEqual(o["change"], "changes")
                if o["kind"] != "InferenceService":
                    out[o["kind"], o["name"]] = [test_recorded.steps(f["path"]) for f in o["fields"]]
        return out

    def runs(self, compat):
        """A controller in this mode does all that it has to do, and ends."""
        controller = self.controller = Controller(self.lab, self.folder, f"{compat}-{self.ns}", "--compat", compat).start()
        self.addCleanup(controller.stop)
        controller.wait_ready()
        for service in self.services():
            self.wait_condition(service, "PredictorReady", deadline=90)
        self.settle(quiet=3)
        return controller

    def stored(self, before):
        return {place: self.api.read(o) for place, o in before.items()}

    def compare(self, old, new, listed):
        bad = []
        for place in old:
            found = test_recorded.changes(test_recorded.comparable(old[place]), test_recorded.comparable(new[place]))
            found = [p for p in found if p != ("spec", "replicas")]  # the autoscaler's
            want = listed.get(place, [])
            bad += [f"{place}: {p} changed, which was not listed" for p in found if not any(test_recorded.is_part(p, w) for w in want)]
            bad += [f"{place}: {w} was listed and did not change" for w in want if not any(test_recorded.is_part(p, w) for p in found)]
        self.assertEqual(bad, [])

    def rollouts(self):
        """How many pod templates each Deployment has had."""
        owners = [s["metadata"]["ownerReferences"][0]["name"] for s in self.api.list("apps/v1", "replicasets", self.ns)]
        return {name: owners.count(name) for name in sorted(set(owners))}

    def test_over_and_mended_and_back(self):
        self.api.create(self.runtime("plain"))
        self.api.create(self.runtime("more", hostIPC=True))
        before = self.made_by_the_original()
        self.assertEqual(sorted(k for k, _ in before), ["Deployment"] * 3 + ["HorizontalPodAutoscaler"] * 3 + ["Service"] * 3)
        self.eventually(lambda: len(self.rollouts()) == 3)

        self.runs("kserve").stop()
        over = self.stored(before)
        self.compare(before, over, {})
        self.assertEqual(set(self.rollouts().values()), {1}, "no pod restarts")

        listed = self.listed()
        self.assertEqual({k for k, _ in listed}, {"Deployment"})
        self.assertEqual({n for _, n in listed}, {"text-predictor", "fields-predictor"})
        controller = self.runs("fixed")
        mended = self.stored(before)
        self.compare(over, mended, listed)
        self.assertEqual(self.rollouts(), {"fields-predictor": 2, "same-predictor": 1, "text-predictor": 2})
        self.assertIn("--note=this & that", self.container("text-predictor")["args"])
        self.assertEqual(mended["Deployment", "fields-predictor"]["spec"]["template"]["spec"]["hostIPC"], True)
        for place, o in mended.items():
            self.assertNotIn(test_recorded.ORIGINAL, [f["manager"] for f in o["metadata"]["managedFields"]], place)

        # What the original once wrote is ours to remove.
        self.assertEqual(mended["Deployment", "same-predictor"]["metadata"]["annotations"]["example.com/note"], "from the days before")
        self.api.patch(self.service("same"), {"metadata": {"annotations": {"example.com/note": None}}})
        self.eventually(lambda: "example.com/note" not in json.dumps(self.owned("Deployment", "same-predictor")))
        controller.stop()

        self.runs("kserve").stop()
        back = self.stored(before)
        for place in [p for p in before if "same" not in p[1]]:
            self.compare({place: over[place]}, {place: back[place]}, {})
        self.assertEqual(back["Deployment", "text-predictor"]["spec"]["template"], over["Deployment", "text-predictor"]["spec"]["template"])
