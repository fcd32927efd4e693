# SPDX-License-Identifier: Apache-2.0
"""perigee controller on a real control plane: the life of a service, what others own, kinds that come later."""
import json

import yaml

from controlled import ControlledCase, Controller
from lab import Refused, definition_files
from support import SYSTEM, install_definitions

KNATIVE = "serving.knative.dev/v1"
RESTARTED = "kubectl.kubernetes.io/restartedAt"


class Life(ControlledCase):
    def test_a_service_gets_its_objects_and_becomes_ready(self):
        service = self.service()
        self.api.create(service)
        deployment = self.wait_owned("Deployment")
        self.wait_owned("Service")
        self.wait_owned("HorizontalPodAutoscaler")
        uid = self.api.read(service)["metadata"]["uid"]
        self.assertEqual([(o["kind"], o["uid"], o["controller"]) for o in deployment["metadata"]["ownerReferences"]],
                         [("InferenceService", uid, True)])
        self.wait_condition(service, "PredictorReady")
        status = self.api.read(service)["status"]
        self.assertEqual(status["clusterServingRuntimeName"], "kserve-sklearnserver")
        self.assertEqual(self.conditions(service)["Ready"]["status"], "Unknown", "whoever makes the route has not said anything")
        self.route(service)
        self.wait_condition(service, "Ready")
        self.eventually(lambda: self.api.read(service)["status"]["modelStatus"]["states"]["targetModelState"] == "Loaded")

    def route(self, service):
        """Plays the controller that makes routes: its condition is one of several in the list."""
        def said():
            stored = self.api.read(service)
            conditions = [{**c, "status": "True"} if c["type"] == "IngressReady" else c for c in stored["status"]["conditions"]]
            stored["status"]["conditions"] = conditions
            try:
                return self.api.update(stored, manager="router", sub="status")
            except Refused as e:
                self.assertEqual(e.reason, "Conflict")
        self.eventually(said)

    def test_a_change_reaches_the_pods_and_nothing_else_is_written(self):
        service = self.service()
        self.api.create(service)
        self.wait_owned("Deployment")
        self.wait_condition(service, "PredictorReady")
        self.settle()
        self.api.patch(service, {"spec": {"predictor": {"model": {"storageUri": "gs://bucket/other"}}}})
        self.eventually(lambda: "gs://bucket/other" in json.dumps(self.owned("Deployment")["spec"]["template"]))
        self.settle()
        since = self.audit_end()
        self.settle(quiet=5)
        self.assertEqual(self.writes(since), [])

    def test_a_deleted_service_takes_its_objects_along(self):
        service = self.service()
        self.api.create(service)
        for kind in ("Deployment", "Service", "HorizontalPodAutoscaler"):
            self.wait_owned(kind)
        self.api.delete(service)
        for kind in ("Deployment", "Service", "HorizontalPodAutoscaler"):
            self.wait_gone(kind)
        self.assertIsNone(self.api.read(service), "nothing holds it back")

    def test_scaling_reaches_the_autoscaler(self):
        service = self.service(predictor={"minReplicas": 1, "maxReplicas": 2})
        self.api.create(service)
        self.wait_owned("HorizontalPodAutoscaler")
        self.api.patch(service, {"spec": {"predictor": {"minReplicas": 2, "maxReplicas": 5}}})
        self.eventually(lambda: (self.owned("HorizontalPodAutoscaler")["spec"]["minReplicas"],
                                 self.owned("HorizontalPodAutoscaler")["spec"]["maxReplicas"]) == (2, 5))

    def test_a_stopped_service_has_no_objects_until_it_is_started(self):
        service = self.service()
        self.api.create(service)
        self.wait_owned("Deployment")
        self.api.patch(service, {"metadata": {"annotations": {"serving.kserve.io/stop": "true"}}})
        for kind in ("Deployment", "Service", "HorizontalPodAutoscaler"):
            self.wait_gone(kind)
        self.eventually(lambda: self.conditions(service).get("Ready", {}).get("reason") == "Stopped")
        self.api.patch(service, {"metadata": {"annotations": {"serving.kserve.io/stop": None}}})
        for kind in ("Deployment", "Service", "HorizontalPodAutoscaler"):
            self.wait_owned(kind)
        self.wait_condition(service, "PredictorReady")

    def test_an_object_that_somebody_deleted_is_made_again(self):
        self.api.create(self.service())
        old = self.wait_owned("Deployment")
        self.wait_owned("Service")
        self.api.delete(old)
        self.eventually(lambda: (self.owned("Deployment") or old)["metadata"]["uid"] != old["metadata"]["uid"])

    def test_a_changed_runtime_reaches_its_services(self):
        runtime = {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ServingRuntime",
                   "metadata": {"name": "mine", "namespace": self.ns},
                   "spec": {"supportedModelFormats": [{"name": "sklearn", "autoSelect": True}],
                            "containers": [{"name": "kserve-container", "image": "example.com/server:1"}]}}
        self.api.create(runtime)
        self.api.create(self.service(runtime="mine"))
        self.wait_owned("Deployment")
        self.assertEqual(self.container()["image"], "example.com/server:1")
        runtime["spec"]["containers"][0]["image"] = "example.com/server:2"
        self.api.patch(runtime, {"spec": runtime["spec"]})
        self.eventually(lambda: self.container()["image"] == "example.com/server:2")

    def test_a_service_over_several_nodes_has_a_head_and_workers(self):
        service = self.service("llm", "huggingface", storageUri="pvc://models/llm", predictor={
            "minReplicas": 1, "maxReplicas": 1, "workerSpec": {"pipelineParallelSize": 2, "tensorParallelSize": 1}},
            annotations={"serving.kserve.io/autoscalerClass": "none"}, runtime="kserve-huggingfaceserver-multinode")
        self.api.create(service)
        head = self.wait_owned("Deployment", "llm-predictor")
        worker = self.wait_owned("Deployment", "llm-predictor-worker")
        self.assertEqual(head["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1")
        self.assertEqual(worker["spec"]["replicas"], 1)
        self.eventually(lambda: self.owned("Deployment", "llm-predictor-worker")["status"].get("readyReplicas") == 1, 60)

    def test_a_service_that_no_runtime_supports_says_so_and_costs_nothing(self):
        service = self.service(framework="fortran")
        self.api.create(service)
        self.eventually(lambda: "NoSupportingRuntime" in json.dumps(self.api.read(service).get("status", {})))
        self.assertIsNone(self.owned("Deployment"))
        events = self.eventually(lambda: [e for e in self.api.list("v1", "events", self.ns) if e["type"] == "Warning"])
        self.assertIn("fortran", json.dumps(events))
        since = self.audit_end()
        self.settle(quiet=5)
        self.assertLess(len(self.writes(since)), 3)

    def test_pods_that_fail_are_told_in_the_status(self):
        service = self.service(annotations={"lab.perigee.dev/outcome": "oom"})
        self.api.create(service)
        failure = self.eventually(lambda: self.api.read(service).get("status", {}).get("modelStatus", {}).get("lastFailureInfo"), 90)
        self.assertIn("OOMKilled", json.dumps(failure))


class Others(ControlledCase):
    def test_a_rollout_by_hand_is_left_alone(self):
        service = self.service()
        self.api.create(service)
        self.wait_condition(service, "PredictorReady")
        self.lab.kubectl("-n", self.ns, "rollout", "restart", "deployment/iris-predictor")
        mark = self.owned("Deployment")["spec"]["template"]["metadata"]["annotations"][RESTARTED]
        self.api.patch(service, {"spec": {"predictor": {"model": {"storageUri": "gs://bucket/other"}}}})
        self.eventually(lambda: "gs://bucket/other" in json.dumps(self.owned("Deployment")["spec"]["template"]))
        self.assertEqual(self.owned("Deployment")["spec"]["template"]["metadata"]["annotations"][RESTARTED], mark)

    def test_a_replica_count_that_an_autoscaler_owns_is_left_alone(self):
        service = self.service(predictor={"minReplicas": 1, "maxReplicas": 5})
        self.api.create(service)
        deployment = self.wait_owned("Deployment")
        self.wait_condition(service, "PredictorReady")
        self.api.patch(deployment, {"spec": {"replicas": 4}}, manager="kube-controller-manager", sub="scale")
        self.api.patch(service, {"spec": {"predictor": {"model": {"storageUri": "gs://bucket/other"}}}})
        self.eventually(lambda: "gs://bucket/other" in json.dumps(self.owned("Deployment")["spec"]["template"]))
        self.settle()
        self.assertEqual(self.owned("Deployment")["spec"]["replicas"], 4)

    def test_labels_and_annotations_of_others_stay(self):
        service = self.service()
        self.api.create(service)
        for kind in ("Deployment", "Service"):
            self.api.patch(self.wait_owned(kind), {"metadata": {"labels": {"team": "blue"}, "annotations": {"example.com/a": "1"}}})
        self.api.patch(service, {"spec": {"predictor": {"model": {"storageUri": "gs://bucket/other"}}}})
        self.eventually(lambda: "gs://bucket/other" in json.dumps(self.owned("Deployment")["spec"]["template"]))
        self.settle()
        for kind in ("Deployment", "Service"):
            meta = self.owned(kind)["metadata"]
            self.assertEqual((meta["labels"]["team"], meta["annotations"]["example.com/a"]), ("blue", "1"))

    def test_an_own_field_that_somebody_changed_is_put_right(self):
        self.api.create(self.service())
        service = self.wait_owned("Service")
        self.api.patch(service, {"spec": {"selector": {"app": "elsewhere"}}})
        self.eventually(lambda: self.owned("Service")["spec"]["selector"] == service["spec"]["selector"])

    def test_conditions_of_others_stay(self):
        service = self.service()
        self.api.create(service)
        self.wait_condition(service, "PredictorReady")
        self.settle()
        stored = self.api.read(service)
        conditions = stored["status"]["conditions"] + [{"type": "Theirs", "status": "True"}]
        self.api.patch(service, {"status": {"conditions": conditions}}, sub="status")
        self.api.patch(service, {"spec": {"predictor": {"model": {"storageUri": "gs://bucket/other"}}}})
        self.eventually(lambda: self.api.read(service)["status"]["observedGeneration"] == 2)
        self.settle()
        self.assertIn("Theirs", self.conditions(service))


class Kinds(ControlledCase):
    def test_a_kind_that_is_installed_later_is_picked_up(self):
        name = "scaledobjects.keda.sh"
        self.api.delete({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name}})
        self.eventually(lambda: self.api.get("apiextensions.k8s.io/v1", "customresourcedefinitions", None, name) is None, 60)
        service = self.service("keda", annotations={"serving.kserve.io/autoscalerClass": "keda"}, predictor={
            "autoScaling": {"metrics": [{"type": "External", "external": {
                "metric": {"backend": "prometheus", "serverAddress": "http://prometheus:9090", "query": "up"},
                "target": {"type": "Value", "value": "10"}}}]}})
        other = self.service("other")
        self.api.create(service)
        self.api.create(other)
        self.wait_owned("Deployment", "other-predictor")
        self.assertIsNone(self.owned("ScaledObject", "keda-predictor", "keda.sh/v1alpha1"))
        install_definitions(self.api, *definition_files("keda"))
        self.wait_owned("ScaledObject", "keda-predictor", "keda.sh/v1alpha1", 120)

    def test_a_service_that_changes_its_mode_leaves_nothing_of_the_other_behind(self):
        install_definitions(self.api, *definition_files("knative"))
        service = self.service("mode")
        self.api.create(service)
        self.wait_owned("Deployment", "mode-predictor")
        self.api.patch(service, {"metadata": {"annotations": {"serving.kserve.io/deploymentMode": "Knative"}}})
        self.api.patch(service, {"status": {"deploymentMode": None}}, sub="status")
        self.wait_owned("Service", "mode-predictor", KNATIVE, 120)
        self.wait_gone("Deployment", "mode-predictor")


class Policies(ControlledCase):
    def tearDown(self):
        self.api.patch(self.policies(), {"data": None})
        super().tearDown()

    def policies(self):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "perigee-policies", "namespace": SYSTEM}}

    def test_a_policy_in_the_config_map_takes_effect_and_a_bad_one_does_not(self):
        service = self.service()
        self.api.create(service)
        self.wait_owned("Deployment")
        image = self.container()["image"]
        self.api.patch(self.policies(), {"data": {"image.lua":
                       'return { api = "image/v1", tag = function(image) return "mirror.example.com/" .. image end }\n'}})
        self.eventually(lambda: self.container()["image"].startswith("mirror.example.com/"), 60, f"the policy; log:\n{self.tail()}")
        self.api.patch(self.policies(), {"data": {"image.lua": "return {"}})
        self.eventually(lambda: "image.lua" in self.controller.log[-4000:] and "syntax" in self.controller.log or
                        "near" in self.controller.log, 60)
        self.settle()
        self.assertTrue(self.container()["image"].startswith("mirror.example.com/"), "the last good set stays")
        condition = self.eventually(lambda: self.condition("False"), 30, "the condition of the refused set")
        self.assertEqual(condition["reason"], "PolicySetRefused")
        self.assertIn("image.lua:1:", condition["message"])
        self.api.patch(self.policies(), {"data": None})
        self.eventually(lambda: self.container()["image"] == image, 60)
        self.eventually(lambda: self.condition("True"), 30, "the condition of the good set")

    def condition(self, status):
        """Of the set that decides everywhere, in ConfigMap perigee-status, if it has that status."""
        stored = self.api.read({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "perigee-status", "namespace": SYSTEM}})
        first = yaml.safe_load(stored["data"]["policies"])[0] if stored else None
        found = [c for c in first["conditions"] if c["type"] == "PolicySetAccepted"] if first else []
        return found[0] if found and found[0]["status"] == status else None


class Replicas(ControlledCase):
    STARTS = False

    def test_the_second_replica_takes_over_when_the_first_is_killed(self):
        one = Controller(self.lab, self.folder, "one").start()
        self.addCleanup(one.stop)
        one.wait_ready()
        self.controller = one
        self.api.create(self.service("before"))
        self.wait_owned("Deployment", "before-predictor")
        two = Controller(self.lab, self.folder, "two").start()
        self.addCleanup(two.stop)
        two.wait_ready()
        lease = self.eventually(lambda: self.api.get("coordination.k8s.io/v1", "leases", SYSTEM, "perigee"))
        holder = lease["spec"]["holderIdentity"]
        one.process.kill()
        self.controller = two
        self.api.create(self.service("after"))
        self.wait_owned("Deployment", "after-predictor", deadline=60)
        lease = self.api.get("coordination.k8s.io/v1", "leases", SYSTEM, "perigee")
        self.assertNotEqual(lease["spec"]["holderIdentity"], holder)

    def test_a_replica_that_ends_in_order_is_followed_at_once(self):
        one, two = (Controller(self.lab, self.folder, n).start() for n in ("first", "second"))
        self.addCleanup(one.stop)
        self.addCleanup(two.stop)
        one.wait_ready()
        two.wait_ready()
        holder = self.eventually(lambda: self.api.get("coordination.k8s.io/v1", "leases", SYSTEM, "perigee"))["spec"]["holderIdentity"]
        leader = one if one.name in holder else two
        self.controller = two if leader is one else one
        self.assertEqual(leader.stop(), 0)
        self.api.create(self.service("after"))
        self.wait_owned("Deployment", "after-predictor", deadline=12)


class Refusals(ControlledCase):
    STARTS = False

    def test_who_may_not_read_is_told_verb_and_resource(self):
        limited = Controller(self.lab, self.folder, "limited", kubeconfig=self.lab.path("kubeconfig.limited")).start()
        self.addCleanup(limited.stop)
        self.eventually(lambda: "inferenceservices" in limited.log and "list" in limited.log, 30, f"a word; log: {limited.log[-500:]}")
        self.assertIn("limited", limited.log)
        self.assertNotEqual(limited.get("/readyz")[0], 200)
