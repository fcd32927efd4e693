# SPDX-License-Identifier: Apache-2.0
"""What changes hands: services that the original held with its finalizer, replica counts that an autoscaler takes over."""
from controlled import ControlledCase

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
