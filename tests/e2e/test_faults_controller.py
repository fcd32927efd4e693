# SPDX-License-Identifier: Apache-2.0
"""A fault matrix for the controller. Each test makes the same changes while something is wrong; afterwards everything is as
it is without a fault, nothing was made twice, and the server was not flooded."""
import json
import os
import signal
import threading
import time

import faults
from controlled import ControlledCase, Controller, account_token
from faults import FaultProxy, answer, cut, drip, drop, hang, late, reset, status_of
from lab import Refused
from support import SYSTEM
from test_faults_reads import EXPIRED
from test_recorded import comparable

LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "perigee", "namespace": SYSTEM}}
WRITE = r"/namespaces/t\d+-\d+/"  # of the tests' own namespaces
OWNED = [("apps/v1", "deployments", "Deployment"), ("v1", "services", "Service"),
         ("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")]


class FaultCase(ControlledCase):
    STARTS = False
    reference = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.identity = faults.make_identity(cls.folder)
        cls.proxy = FaultProxy(cls.lab, cls.folder, cls.identity)
        cls.addClassCleanup(cls.proxy.close)
        cls.controller = cls.make_controller("perigee").start()
        cls.addClassCleanup(lambda: cls.controller.stop(signal.SIGKILL))
        cls.controller.wait_ready()

    @classmethod
    def make_controller(cls, name, *args):
        return Controller(cls.lab, cls.folder, name, *args, url=cls.proxy.url, ca=cls.proxy.ca)

    def setUp(self):
        super().setUp()
        self.prepare()

    def tearDown(self):
        self.proxy.clear()
        self.proxy.thaw()
        if self.controller.process.poll() is not None:
            type(self).controller = self.make_controller("perigee").start()
        self.controller.wait_ready(90)
        super().tearDown()
        self.proxy.check_met()

    # ---- the same story each time ----

    def prepare(self):
        """Two services that run."""
        for name in ("kept", "gone"):
            self.api.create(self.service(name))
        for name in ("kept", "gone"):
            self.wait_condition(self.service(name), "PredictorReady", deadline=60)
        self.first = self.owned("Deployment", "kept-predictor")
        self.begun, self.audit = time.monotonic(), self.audit_end()

    def change(self):
        """A new service, a changed one, and one that goes."""
        self.api.create(self.service("new"))
        self.api.patch(self.service("kept"), {"spec": {"predictor": {"model": {"storageUri": "gs://bucket/changed"}}}})
        self.api.delete(self.service("gone"))

    def state(self):
        """What is there, without names of this run and times."""
        out = {}
        for version, resource, kind in OWNED:
            for o in self.api.list(version, resource, self.ns):
                out[f"{kind} {o['metadata']['name']}"] = comparable({**o, "kind": kind, "apiVersion": version})
        for o in self.api.list("serving.kserve.io/v1beta1", "inferenceservices", self.ns):
            status = o.get("status", {})
            conditions = sorted((c["type"], c["status"], c.get("reason", "")) for c in status.get("conditions", []))
            out[f"InferenceService {o['metadata']['name']}"] = {
                "conditions": conditions, "runtime": status.get("clusterServingRuntimeName"),
                "model": status.get("modelStatus", {}).get("states"), "transition": status.get("modelStatus", {}).get("transitionStatus")}
        return json.loads(json.dumps(out).replace(self.ns, "NS"))

    def is_final(self):
        self.assertEqual(self.conditions(self.service("new")).get("PredictorReady", {}).get("status"), "True")
        self.assertIn("gs://bucket/changed", json.dumps(self.owned("Deployment", "kept-predictor")["spec"]["template"]))
        state = self.state()
        self.assertEqual([name for name in state if "gone" in name], [], "the garbage collector takes what belonged to it")
        if FaultCase.reference is not None:
            self.assertEqual(state, FaultCase.reference)
        return True

    def final(self, deadline=60, most_writes=60, most_requests=400):
        """The end of the story: everything as without a fault, each thing made once, requests within bounds."""
        self.proxy.clear()
        self.eventually(self.is_final, deadline, f"the final state; log:\n{self.controller.log[-2000:]}")
        if FaultCase.reference is None:
            self.settle()
            FaultCase.reference = self.state()
        self.assertEqual(self.owned("Deployment", "kept-predictor")["metadata"]["uid"], self.first["metadata"]["uid"])
        sets = [s["metadata"]["ownerReferences"][0]["name"] for s in self.api.list("apps/v1", "replicasets", self.ns)]
        self.assertLessEqual(sets.count("kept-predictor"), 2, "a changed pod template is rolled out once")
        self.assertEqual(sets.count("new-predictor"), 1)
        self.assertLessEqual(len(self.writes(self.audit)), most_writes)
        self.assertLessEqual(len(self.proxy.requests(since=self.begun)), most_requests)

    def story(self, method, path, fault, times=None, lasts=0.0, **limits):
        """The story with one fault, for at least `lasts` seconds or until it has happened `times` times."""
        rule = self.proxy.on(method, path, fault, times=times)
        begun = time.monotonic()
        self.change()
        if times:
            self.eventually(lambda: rule["hits"] >= times or time.monotonic() - begun > 20, 30)
        self.eventually(lambda: time.monotonic() - begun >= lasts, lasts + 5)
        self.final(**limits)


class A_Reference(FaultCase):
    def test_00_no_fault(self):
        self.change()
        self.final()


class Writes(FaultCase):
    def test_01_server_errors(self):
        self.story("PATCH", WRITE, status_of(500, "InternalError"), times=5)

    def test_02_bad_gateway(self):
        self.story("PATCH", WRITE, answer(502, "<html>bad gateway</html>", [("Content-Type", "text/html")]), times=5)

    def test_03_unavailable_with_a_time(self):
        self.story("PATCH", WRITE, status_of(503, "ServiceUnavailable", retryAfterSeconds=1), times=4)

    def test_04_gateway_timeout(self):
        self.story("PATCH", WRITE, status_of(504, "Timeout"), times=4)

    def test_05_too_many_requests(self):
        self.story("PATCH", WRITE, status_of(429, "TooManyRequests", retryAfterSeconds=1), times=4)

    def test_06_answers_lost_after_the_write_took_effect(self):
        self.story("PATCH", WRITE, drop, times=6)

    def test_07_reset_before_the_write(self):
        self.story("PATCH", WRITE, reset, times=6)

    def test_08_an_answer_cut_in_the_middle(self):
        self.story("PATCH", WRITE, cut(20), times=4)

    def test_09_conflicts(self):
        self.story("PATCH", WRITE, status_of(409, "Conflict", "the object has been modified"), times=8)

    def test_10_conflicts_of_the_status(self):
        self.story("PATCH", "/status", status_of(409, "Conflict", "the object has been modified"), times=8)

    def test_11_a_conflict_of_field_managers(self):
        causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "rival"', "field": ".spec.replicas"}]
        self.story("PATCH", r"/deployments/", status_of(409, "Conflict", 'Apply failed with 1 conflict: conflict with "rival": .spec.replicas',
                                                       causes=causes), times=2)

    def test_12_slow_answers(self):
        self.story("PATCH", WRITE, late(2), times=4)

    def test_13_an_answer_a_byte_at_a_time(self):
        self.story("PATCH", WRITE, drip(1), times=3)

    def test_14_an_answer_that_is_no_json(self):
        self.story("PATCH", WRITE, answer(200, "<html>welcome</html>", [("Content-Type", "text/html")]), times=3, deadline=90)

    def test_15_unauthorized(self):
        self.story("PATCH", WRITE, status_of(401, "Unauthorized"), times=4)

    def with_an_event(self, fault):
        """The story, and a service besides of which there is something to tell."""
        rule, odd = self.proxy.on("", "/events", fault), self.service("odd", framework="fortran")
        self.api.create(odd)
        self.change()
        self.eventually(lambda: rule["hits"] > 0, 30, "an Event")
        begun = time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 3)
        self.api.delete(odd)
        self.final()

    def test_16_events_that_are_refused(self):
        self.with_an_event(status_of(409, "AlreadyExists"))

    def test_17_events_that_are_never_answered(self):
        self.with_an_event(hang)

    def test_18_discovery_that_is_away(self):
        """Of a controller that has just been started and knows no kinds yet."""
        rule = self.proxy.on("GET", r"^/apis/(apps|autoscaling)/v\d$", status_of(503, "ServiceUnavailable"))
        self.controller.stop()
        self.controller.start()
        self.change()
        self.eventually(lambda: rule["hits"] > 2, 60, "kinds to be asked for")
        self.final(deadline=90, most_requests=900)


class Connections(FaultCase):
    def test_19_all_connections_cut_again_and_again(self):
        self.change()
        for _ in range(5):
            self.proxy.cut_all()
            begun = time.monotonic()
            self.eventually(lambda: time.monotonic() - begun > 0.7)
        self.final()

    def test_20_all_connections_reset(self):
        self.proxy.cut_all(with_reset=True)
        self.change()
        self.proxy.cut_all(with_reset=True)
        self.final()

    def test_21_refused_for_a_while(self):
        self.proxy.close_port()
        self.change()
        begun = time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 5)
        self.proxy.open_port()
        self.final(deadline=90)

    def test_22_frozen_for_a_while(self):
        self.proxy.freeze()
        self.change()
        begun = time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 6)
        self.proxy.thaw()
        self.final(deadline=90)

    def test_23_every_watch_expired(self):
        rule = self.proxy.on("GET", "watch=true", answer(200, EXPIRED + "\n"), times=10)
        self.proxy.cut_all()
        self.change()
        self.eventually(lambda: rule["hits"] >= 10, 90, "ten watches to expire")
        self.final(deadline=90)

    def test_24_lists_that_fail(self):
        self.proxy.on("GET", "watch=true", answer(200, EXPIRED + "\n"), times=10)
        rule = self.proxy.on("GET", r"limit=|resourceVersion=", status_of(500, "InternalError"), times=10)
        self.proxy.cut_all()
        self.change()
        self.eventually(lambda: rule["hits"] > 0, 90, "a list to be asked for")
        self.final(deadline=90)

    def test_25_a_new_token_in_the_file(self):
        with open(self.controller.token_file, "w") as f:
            f.write(account_token(self.api))
        self.story("", r".", status_of(401, "Unauthorized"), times=5, deadline=90)


class Lease(FaultCase):
    def test_26_renewals_that_fail_for_a_while(self):
        self.story("PUT", "/leases/", status_of(500, "InternalError"), times=2)

    def test_27_a_lease_that_was_deleted(self):
        self.api.delete(LEASE)
        self.change()
        self.final(deadline=90)
        self.eventually(lambda: self.api.read(LEASE), 30, "the lease to be made again")

    def test_28_a_lease_with_another_holder_is_respected_until_it_runs_out(self):
        self.api.patch(LEASE, {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 15}})
        self.eventually(lambda: self.is_led_by_another(), 20)
        begun, since = time.monotonic(), self.audit_end()
        self.change()
        self.eventually(lambda: time.monotonic() - begun > 5)
        self.assertEqual(self.writes(since), [], "who does not lead does not write")
        self.final(deadline=120)

    def is_led_by_another(self):
        return "thief" in self.api.read(LEASE)["spec"]["holderIdentity"] and self.controller.metric("leader_election_master_status") == 0

    def test_29_a_server_that_answers_renewals_too_late(self):
        """Past the deadline of ten seconds it stops writing, and leads again when the server is back."""
        rule = self.proxy.on("PUT", "/leases/", hang)
        self.eventually(lambda: rule["hits"] > 0, 30)
        self.eventually(lambda: self.controller.metric("leader_election_master_status") == 0, 30)
        since = self.audit_end()
        self.change()
        begun = time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 3)
        self.assertEqual(self.writes(since), [])
        self.final(deadline=120)


class Parts(FaultCase):
    """Parts of the control plane and the controller itself are killed."""

    def test_30_the_api_server_is_killed(self):
        self.lab.kill("apiserver")
        self.lab.start("apiserver")
        self.change()
        self.final(deadline=120)

    def test_31_etcd_is_killed(self):
        self.lab.kill("etcd")
        self.lab.start("etcd")
        self.eventually(self.can_write, 60)
        self.change()
        self.final(deadline=120)

    def can_write(self):
        try:
            self.api.apply(self.config_map("probe", a=str(time.monotonic())))
            return True
        except Exception:  # whatever it is, it is not back yet
            return False

    def test_32_the_controller_is_killed_at_each_write(self):
        """Killed right after the n-th write took effect, and started again, for n = 1, 2, 3 …"""
        done = threading.Event()

        def kill(exchange):
            exchange.ask().read()
            self.controller.process.kill()
            done.set()
            exchange.shut()
        self.change()
        for n in range(6):
            done.clear()
            self.proxy.on("PATCH", WRITE, kill, times=1)
            if not done.wait(8):
                break  # nothing is left to write
            self.controller.process.wait()
            self.proxy.clear()
            self.release()
            self.controller.start()
            if n == 2:
                self.api.patch(self.service("kept"), {"metadata": {"annotations": {"example.com/n": str(n)}}})
                self.api.patch(self.service("kept"), {"metadata": {"annotations": {"example.com/n": None}}})
        self.final(deadline=120, most_writes=120, most_requests=1500)

    def release(self):
        """So that the next one need not wait for the lease to run out; that it does is test 28."""
        self.api.patch(LEASE, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})

    def test_33_the_controller_is_told_to_end_while_it_works(self):
        self.change()
        self.assertEqual(self.controller.stop(), 0)
        self.assertEqual(self.api.read(LEASE)["spec"].get("holderIdentity", ""), "", "the lease is given back")
        self.controller.start()
        self.final(deadline=90, most_requests=800)

    def test_34_the_controller_is_stopped_and_goes_on(self):
        """A process that stood still longer than its lease asks for the lease before it writes again."""
        self.controller.process.send_signal(signal.SIGSTOP)
        self.api.patch(LEASE, {"spec": {"holderIdentity": "other"}})
        self.change()
        since, begun = self.audit_end(), time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 12)
        self.controller.process.send_signal(signal.SIGCONT)
        begun = time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 2)
        self.assertEqual(self.writes(since), [])
        self.final(deadline=120)


class Cluster(FaultCase):
    """The server is well; what happens in the cluster is not."""

    def test_35_a_webhook_that_nobody_answers(self):
        hook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": self.ns}, "webhooks": [{
                    "name": "deny.example.com", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                    "timeoutSeconds": 1, "clientConfig": {"url": "https://127.0.0.1:1/"},
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.ns}},
                    "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
                               "operations": ["CREATE", "UPDATE"]}]}]}
        self.api.create(hook)
        self.addCleanup(self.api.delete, hook)
        self.eventually(lambda: self.is_denied())
        self.change()
        begun = time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 5)
        self.assertIsNone(self.owned("Deployment", "new-predictor"))
        self.api.delete(hook)
        self.final(deadline=120, most_writes=120)

    def is_denied(self):
        try:
            self.api.apply({**self.first, "metadata": {"name": "kept-predictor", "namespace": self.ns}, "status": {}}, options="&dryRun=All")
            return False
        except Refused:
            return True

    def test_36_a_rival_that_changes_a_field_back_each_time(self):
        """The fight is noticed, told and slowed down; other services are none the worse."""
        self.api.create(self.service("fought"))
        target = self.wait_owned("Service", "fought-predictor")
        self.wait_condition(self.service("fought"), "PredictorReady")
        since, begun = self.audit_end(), time.monotonic()

        def flip():
            self.api.patch(target, {"spec": {"selector": {"app": "rival"}}}, manager="rival")
            return time.monotonic() - begun > 8
        self.eventually(flip, 20)
        self.eventually(lambda: "rival" in json.dumps(self.api.read(self.service("fought"))["status"]))
        self.assertLessEqual(len([w for w in self.writes(since) if w[1] == "services" and w[4] == "fought-predictor"]), 60)
        self.api.delete(self.service("fought"))
        self.wait_gone("Deployment", "fought-predictor")
        self.change()
        self.final(most_writes=150, most_requests=900)

    def test_37_deleted_and_made_again_under_the_same_name(self):
        for _ in range(3):
            self.api.delete(self.service("gone"))
            self.api.create(self.service("gone"))
        self.change()
        self.final(deadline=90, most_writes=100)

    def test_38_a_service_that_is_held_while_it_is_deleted(self):
        self.api.patch(self.service("gone"), {"metadata": {"finalizers": ["example.com/hold"]}})
        self.change()
        since, begun = self.audit_end(), time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 4)
        made = [w for w in self.writes(since) if w[4].startswith("gone") and w[5] == 201]
        self.assertEqual(made, [], "nothing is made for what is going")
        self.api.patch(self.service("gone"), {"metadata": {"finalizers": None}})
        self.final(deadline=90)

    def test_39_a_namespace_that_is_going_is_left_alone(self):
        other = self.new_namespace()
        service = self.service("x")
        service["metadata"]["namespace"] = other
        held = self.config_map("held")
        held["metadata"].update(namespace=other, finalizers=["example.com/hold"])
        self.api.create(held)
        self.api.create(service)
        self.eventually(lambda: self.api.get("apps/v1", "deployments", other, "x-predictor"))
        self.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
        since, begun = self.audit_end(), time.monotonic()
        self.eventually(lambda: time.monotonic() - begun > 6)
        writes = [w for w in self.writes(since, own_namespace=False) if w[3] == other]
        self.assertLessEqual(len(writes), 20, writes)
        self.api.patch(held, {"metadata": {"finalizers": None}})
        self.change()
        self.final()
