# SPDX-License-Identifier: Apache-2.0
"""The definitions of deploy/crds beside the originals: what those accept is accepted, and stored alike."""
import copy
import json
import os

import yaml

import support
from lab import Refused
from support import ROOT, Case, load, original_definitions
from test_recorded import recorded

GROUP, OURS = "serving.kserve.io", "serving.e2e.perigee.dev"


class Definitions(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        original_definitions(cls.api)
        # Under another group, so that one server has both.
        ours = []
        folder = os.path.join(ROOT, "deploy", "crds")
        for name in sorted(f for f in os.listdir(folder) if f.endswith(GROUP + ".yaml")):
            with open(os.path.join(folder, name)) as f:
                d = yaml.safe_load(f.read().replace(GROUP, OURS))
            d["spec"]["names"].pop("shortNames", None)
            ours.append(d)
        for d in ours:
            cls.api.apply(d)
        support.wait_established(cls.api, [d["metadata"]["name"] for d in ours])

    def answer(self, o):
        """What a server would store, or its words when it refuses."""
        o = copy.deepcopy(o)
        if "namespace" in o["metadata"] or o["kind"] in ("InferenceService", "ServingRuntime"):
            o["metadata"]["namespace"] = self.ns
        for key in ("uid", "resourceVersion", "creationTimestamp", "generation"):
            o["metadata"].pop(key, None)
        try:
            stored = self.api.create(o, options="&dryRun=All")
        except Refused as e:
            return None, e.message
        for key in ("uid", "creationTimestamp", "managedFields"):
            stored["metadata"].pop(key, None)
        return {k: v for k, v in stored.items() if k != "apiVersion"}, None

    def compare(self, objects):
        seen, bad = set(), []
        for name, o in objects:
            text = repr(o)
            if text in seen:
                continue
            seen.add(text)
            theirs, refused = self.answer(o)
            if theirs is None:
                continue
            ours, why = self.answer({**o, "apiVersion": o["apiVersion"].replace(GROUP, OURS)})
            if ours is None:
                bad.append(f"{name}: {why}")
            else:
                bad += [f"{name}{d}" for d in recorded.diff(theirs, ours)]
        self.assertGreater(len(seen), 0)
        self.assertEqual(bad, [])

    def test_the_catalog(self):
        objects = []
        for folder in ("runtimes", "storagecontainers"):
            for name in sorted(os.listdir(os.path.join(ROOT, "runtime-catalog", folder))):
                objects += [(name, o) for o in load("runtime-catalog", folder, name)]
        self.compare(objects)

    def test_every_recorded_service_and_runtime(self):
        objects = []
        for name, case in recorded.cases():
            i = case["input"]
            objects += [(f"{name} {o['kind']}", o) for o in [i.get("isvcRaw") or i["isvc"], *(i["objects"] or [])]
                        if o["apiVersion"].startswith(GROUP)]
        # Newer than KServe v0.19, which drops it.
        for _, o in objects:
            for part in ((o["spec"].get("predictor") or {}).values() if o["kind"] == "InferenceService" else ()):
                if isinstance(part, dict):
                    part.pop("confidential", None)
            if o["kind"] == "InferenceService":
                (o["spec"].get("predictor") or {}).pop("storageContainerName", None)
        self.compare(objects)

    def test_a_status_as_it_is_written(self):
        """Conditions, modelStatus and components of recorded answers go through the status subresource of both."""
        bad = []
        for version in (f"{GROUP}/v1beta1", f"{OURS}/v1beta1"):
            o = {"apiVersion": version, "kind": "InferenceService", "metadata": {"name": "s", "namespace": self.ns},
                 "spec": {"predictor": {"model": {"modelFormat": {"name": "sklearn"}}}}}
            self.api.create(o)
        for name, case in recorded.cases():
            status = case["expected"].get("isvc", {}).get("status")
            if not status or case["expected"].get("error"):
                continue
            stored = []
            for version in (f"{GROUP}/v1beta1", f"{OURS}/v1beta1"):
                change = {"status": json.loads(json.dumps(status).replace("<NOW>", "2026-06-01T00:00:00Z"))}
                try:
                    stored.append(self.api.call("PATCH", f"/apis/{version}/namespaces/{self.ns}/inferenceservices/s/status?dryRun=All",
                                                change, "application/merge-patch+json")["status"])
                except Refused as e:
                    stored.append(e.message.replace(OURS, GROUP))
            if stored[0] != stored[1]:
                bad.append(f"{name}: {stored[0]!r:.300} against {stored[1]!r:.300}")
        self.assertEqual(bad, [])
