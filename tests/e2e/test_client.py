# SPDX-License-Identifier: Apache-2.0
"""core/kube against a real API server: what tests/c/kube plays with a script, here with the real answers."""
import contextlib
import io
import signal
import sys
import time
import unittest

from support import Case, Client, Refused


class Remote(unittest.TestCase):
    """The other end of kube_client is a program that does what no good one would."""

    def client(self, program, seconds=60):
        client = Client(None, [sys.executable, "-c", program], seconds)
        self.addCleanup(client.close)
        return client

    def test_it_may_talk_before_it_listens(self):
        client = self.client("""
import json, sys
for i in range(3000):
    print(json.dumps({"id": 7, "what": "noise", "more": "x" * 100}), flush=True)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "what": "done"}), flush=True)""")
        self.assertEqual(client.ask("apply", intent="y" * 500000)["what"], "done")

    def test_it_does_not_answer(self):
        client = self.client("import sys; print('out of breath', file=sys.stderr, flush=True); print('{\"id\": 7}', flush=True); sys.stdin.read()", 0.2)
        client.next(7, 60)  # it runs
        with self.assertRaisesRegex(AssertionError, r'(?s)command 1 .*"do": "find".*nothing came within 0.2 s.*"id": 7.*out of breath'):
            client.ask("find", kind="Pod")

    def test_it_does_not_listen(self):
        client = self.client("import time; time.sleep(60)", 0.2)
        self.addCleanup(client.process.kill)
        with self.assertRaisesRegex(AssertionError, r'(?s)command 1 .*"do": "apply".*it was not taken within 0.2 s'):
            client.ask("apply", intent="y" * 500000)

    def test_it_dies(self):
        client = self.client("import sys; sys.stdin.readline(); sys.stdout.write('{\"id\"'); sys.exit('no memory')")
        with self.assertRaisesRegex(AssertionError, r'(?s)command 1 .*"do": "find".*the program has ended.*no memory'):
            client.ask("find")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(client.close(), 1)
        self.assertIn("no memory", said.getvalue())


class Connected(Case):
    def setUp(self):
        super().setUp()
        self.client = self.connect()

    def connect(self, kubeconfig=None):
        client = Client(kubeconfig or self.lab.kubeconfig)
        self.addCleanup(client.close)
        return client

    def tearDown(self):
        self.assertEqual(self.client.close(), 0, "kube_client ends without a complaint of the sanitizers")
        super().tearDown()

    def collection(self, resource="configmaps", group="api/v1"):
        return f"/{group}/namespaces/{self.ns}/{resource}"

    def watch(self, client=None, **options):
        return (client or self.client).send("watch", **{"group": "", "version": "v1", "kind": "ConfigMap",
                                                        "path": self.collection(), **options})

    def make(self, count, **data):
        for i in range(count):
            self.api.create(self.config_map(f"c{i:03}", **data))

    def names_until_synced(self, watch, client=None):
        names = []
        while True:
            line = (client or self.client).next(watch)
            if line["what"] == "synced":
                return names
            if line["what"] == "added" and not line["name"].startswith("kube-root"):
                names.append(line["name"])


class Reading(Connected):
    def test_a_list_in_chunks_holds_every_object_once(self):
        self.make(25)
        watch = self.watch(pageSize=4, strict=True)
        self.assertEqual(self.names_until_synced(watch), [f"c{i:03}" for i in range(25)])
        self.assertGreaterEqual(self.client.counts(watch)["requests"], 7)

    def test_a_streamed_list_holds_every_object_once(self):
        self.make(5)
        watch = self.watch(watchList=True)
        self.assertEqual(sorted(self.names_until_synced(watch)), [f"c{i:03}" for i in range(5)])
        self.assertEqual(self.client.counts(watch)["lists"], 0, "the server streams lists, so none was asked for")
        self.api.create(self.config_map("later"))
        self.assertEqual(self.client.wait(watch, "added")["name"], "later")

    def test_changes_arrive_as_they_happen(self):
        watch = self.watch()
        self.names_until_synced(watch)
        made = self.api.create(self.config_map("one", a="1"))
        line = self.client.wait(watch, "added")
        self.assertEqual((line["name"], line["version"]), ("one", made["metadata"]["resourceVersion"]))
        changed = self.api.patch(made, {"data": {"a": "2"}})
        self.assertEqual(self.client.wait(watch, "updated")["version"], changed["metadata"]["resourceVersion"])
        self.api.delete(made)
        self.assertEqual(self.client.wait(watch, "removed")["name"], "one")

    def test_an_object_of_a_megabyte_arrives_whole(self):
        watch = self.watch()
        self.names_until_synced(watch)
        self.api.create(self.config_map("large", text="ä\"\\\n" * 200000))
        self.assertEqual(self.client.wait(watch, "added")["name"], "large")

    def test_a_restarted_server_answers_410_and_what_was_missed_is_found(self):
        """A server that starts knows nothing of versions before its start, and etcd forgets them when told to: the watch's
        version is too old for both."""
        watch = self.watch()
        gone, changed = (self.api.create(self.config_map(n, a="1")) for n in ("gone", "changed"))
        seen = set()
        while seen != {"gone", "changed"}:
            seen.add(self.client.wait(watch, "added")["name"])
        now = self.api.call("GET", self.collection())["metadata"]["resourceVersion"]
        self.lab.kill("apiserver")
        self.lab.etcd("/v3/kv/compaction", {"revision": now, "physical": True})
        self.lab.start("apiserver")
        with self.assertRaises(Refused) as refused:
            version = gone["metadata"]["resourceVersion"]
            self.api.call("GET", self.collection() + f"?resourceVersion={version}&resourceVersionMatch=Exact")
        self.assertEqual(refused.exception.code, 410, "the server did forget")
        self.api.delete(gone)
        self.api.patch(changed, {"data": {"a": "2"}})
        self.assertEqual(self.client.wait(watch, "removed", 90)["name"], "gone")
        self.eventually(lambda: self.client.counts(watch)["failures"] > 0)
        self.api.create(self.config_map("after"))
        while self.client.wait(watch, "added")["name"] != "after":
            pass

    def test_a_server_that_is_away_is_asked_ever_more_rarely(self):
        watch = self.watch()
        self.names_until_synced(watch)
        self.lab.kill("apiserver")
        try:
            self.client.wait(watch, "broken", 90)
            begun, before = time.monotonic(), self.client.counts(watch)["requests"]
            self.eventually(lambda: time.monotonic() - begun > 8)
            self.assertLess(self.client.counts(watch)["requests"] - before, 12)
        finally:
            self.lab.start("apiserver")
        self.client.wait(watch, "ok", 90)
        self.api.create(self.config_map("after"))
        while self.client.wait(watch, "added")["name"] != "after":
            pass

    def test_a_kind_that_is_missing_is_picked_up_when_it_is_installed(self):
        group = f"e2e{self.ns.replace('-', '')}.example.com"
        found = self.client.ask("find", apiVersion=f"{group}/v1", kind="Widget")
        self.assertEqual((found["known"], found.get("error")), (False, None))
        watch = self.watch(group=group, version="v1", kind="Widget", path=self.collection("widgets", f"apis/{group}/v1"))
        self.client.wait(watch, "missing")
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"widgets.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
        self.api.create(definition)
        self.addCleanup(self.api.delete, definition)
        self.client.wait(watch, "ok", 90)
        self.eventually(lambda: self.client.ask("find", apiVersion=f"{group}/v1", kind="Widget")["known"], 60)
        widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": self.ns}}
        self.assertEqual(self.client.ask("apply", intent=widget)["what"], "created")
        self.assertEqual(self.client.wait(watch, "added")["name"], "w")

    def test_who_may_not_list_is_told_verb_and_resource(self):
        limited = self.connect(self.lab.path("kubeconfig.limited"))
        line = limited.wait(self.watch(limited), "denied")
        self.assertRegex(line["error"], r"configmaps.*list|list.*configmaps")
        self.assertIn("limited", line["error"])

    def test_a_token_that_nobody_knows_is_refused_and_a_new_one_in_the_file_is_taken(self):
        token_file = self.lab.path(f"token-{self.ns}")
        with open(token_file, "w") as f:
            f.write("nobody")
        kubeconfig = self.lab.write_kubeconfig(f"kubeconfig-{self.ns}", None, token_file=token_file)
        client = self.connect(kubeconfig)
        watch = self.watch(client)
        self.assertRegex(client.wait(watch, "broken")["error"], "401|nauthorized")
        with open(token_file, "w") as f:
            f.write(self.lab.shape["token"])
        client.wait(watch, "synced", 90)


class Writing(Connected):
    def apply(self, intent, stored=None, client=None):
        return (client or self.client).ask("apply", intent=intent, **({"stored": stored} if stored else {}))

    def deployment(self, **spec):
        labels = {"app": "x"}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": self.ns}, "spec": {
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}}, **spec}}

    def test_apply_creates_changes_and_leaves_alone(self):
        intent = self.config_map("a", x="1")
        self.assertEqual(self.apply(intent)["what"], "created")
        stored = self.api.read(intent)
        self.assertEqual([f["manager"] for f in stored["metadata"]["managedFields"]], ["perigee"])
        requests = self.client.counts(0)["writes"]
        self.assertEqual(self.apply(intent, stored)["what"], "unchanged")
        self.assertEqual(self.client.counts(0)["writes"], requests, "nothing was sent")
        self.assertEqual(self.apply(self.config_map("a", x="2"), stored)["what"], "updated")
        self.assertEqual(self.api.read(intent)["data"], {"x": "2"})

    def test_the_same_intent_sent_again_does_not_move_the_version(self):
        first = self.apply(self.deployment(replicas=0))
        again = self.apply(self.deployment(replicas=0))
        self.assertEqual(first["what"], "created")
        # The controllers of the server write the status meanwhile; the generation counts changes of the spec.
        self.assertEqual(self.api.read(self.deployment())["metadata"]["generation"], 1, again)

    def test_a_field_left_out_is_removed_and_what_others_added_stays(self):
        self.apply(self.config_map("a", x="1", y="2"))
        self.api.patch(self.config_map("a"), {"data": {"theirs": "3"}, "metadata": {"labels": {"team": "a"}}}, manager="somebody")
        self.apply(self.config_map("a", x="1"), self.api.read(self.config_map("a")))
        stored = self.api.read(self.config_map("a"))
        self.assertEqual(stored["data"], {"x": "1", "theirs": "3"})
        self.assertEqual(stored["metadata"]["labels"], {"team": "a"})

    def test_a_field_of_another_manager_that_is_ours_is_taken_over_and_told(self):
        self.api.apply(self.config_map("a", x="theirs"), manager="original")
        outcome = self.apply(self.config_map("a", x="ours"), self.api.read(self.config_map("a")))
        self.assertEqual(outcome["what"], "updated")
        self.assertRegex(outcome["takenOver"], r"x.*original")
        self.assertEqual(self.api.read(self.config_map("a"))["data"], {"x": "ours"})

    def test_the_replica_count_that_somebody_scaled_is_left_to_them(self):
        self.assertEqual(self.apply(self.deployment(replicas=1))["what"], "created")
        self.api.patch(self.deployment(), {"spec": {"replicas": 3}}, manager="autoscaler", sub="scale")
        outcome = self.apply(self.deployment(replicas=1, paused=True), self.api.read(self.deployment()))
        self.assertEqual(outcome["what"], "updated", outcome)
        stored = self.api.read(self.deployment())
        self.assertEqual((stored["spec"]["replicas"], stored["spec"]["paused"]), (3, True))

    def test_the_mark_of_a_rollout_by_hand_is_left_alone(self):
        self.apply(self.deployment(replicas=0))
        self.lab.kubectl("-n", self.ns, "rollout", "restart", "deployment/x")
        stored = self.api.read(self.deployment())
        mark = stored["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"]
        self.apply(self.deployment(replicas=0, paused=True), stored)
        annotations = self.api.read(self.deployment())["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(annotations["kubectl.kubernetes.io/restartedAt"], mark)

    def test_an_invalid_object_is_refused_with_the_server_s_words(self):
        outcome = self.apply(self.deployment(replicas=-1))
        self.assertEqual((outcome["what"], outcome["retry"]), ("failed", "on change"))
        self.assertRegex(outcome["error"], r"spec\.replicas.*greater than or equal to 0")

    def test_who_may_not_write_is_told_verb_and_resource(self):
        limited = self.connect(self.lab.path("kubeconfig.limited"))
        outcome = self.apply(self.config_map("a"), client=limited)
        self.assertEqual((outcome["what"], outcome["retry"]), ("failed", "slowly"))
        self.assertRegex(outcome["error"], r"patch.*configmaps|configmaps.*patch")

    def test_a_namespace_that_is_going_is_not_written_to(self):
        held = self.config_map("held")
        held["metadata"]["finalizers"] = ["e2e.perigee.dev/hold"]
        self.api.create(held)
        self.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.ns}})
        outcome = self.apply(self.config_map("new"))
        self.api.patch(held, {"metadata": {"finalizers": None}})
        self.assertEqual((outcome["what"], outcome["retry"]), ("failed", "on change"))
        self.assertIn("terminat", outcome["error"])

    def test_a_status_keeps_the_conditions_of_others(self):
        o = self.deployment(replicas=1)
        self.api.create(o)
        self.eventually(lambda: "Available" in [c["type"] for c in self.api.read(o).get("status", {}).get("conditions", [])], 60)
        mine = {"type": "Mine", "status": "True", "lastTransitionTime": "2026-06-01T00:00:00Z"}

        def updated():
            outcome = self.client.ask("status", stored=self.api.read(o), status={"conditions": [mine]}, owned=["Mine"])
            self.assertIn(outcome["what"], ("updated", "unchanged"), outcome)  # or it changed in between
            return True
        self.eventually(updated)
        types = [c["type"] for c in self.api.read(o)["status"]["conditions"]]
        self.assertEqual(sorted(types), ["Available", "Mine", "Progressing"])

    def test_a_status_from_an_old_state_is_refused(self):
        self.apply(self.deployment(replicas=0))
        old = self.api.read(self.deployment())
        self.api.patch(old, {"metadata": {"labels": {"a": "b"}}})
        outcome = self.client.ask("status", stored=old, status={"observedGeneration": 7})
        self.assertEqual((outcome["what"], outcome["retry"]), ("failed", "soon"), outcome)

    def delete(self, o, **precondition):
        return self.client.ask("delete", apiVersion=o["apiVersion"], group="", kind=o["kind"], namespace=self.ns,
                               name=o["metadata"]["name"], **precondition)

    def test_a_delete_takes_only_the_object_that_was_meant(self):
        first = self.api.create(self.config_map("a"))
        self.api.delete(first)
        second = self.api.create(self.config_map("a"))
        outcome = self.delete(first, uid=first["metadata"]["uid"])
        self.assertIn(outcome["what"], ("failed", "unchanged"), outcome)
        self.assertIsNotNone(self.api.read(second))
        outcome = self.delete(second, uid=second["metadata"]["uid"], version="1")
        self.assertEqual(outcome["what"], "failed", "another version is another state")
        self.assertEqual(self.delete(second, uid=second["metadata"]["uid"])["what"], "deleted")
        self.assertIsNone(self.api.read(second))
        self.assertEqual(self.delete(second, uid=second["metadata"]["uid"])["what"], "unchanged")

    def test_events_are_stored_and_counted(self):
        about = self.api.create(self.config_map("a"))
        o = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": self.ns, "name": "a", "uid": about["metadata"]["uid"],
             "version": about["metadata"]["resourceVersion"]}
        for _ in range(3):
            self.client.ask("event", object=o, type="Warning", reason="Odd", message="something is odd")

        def stored():
            events = self.api.list("v1", "events", self.ns)
            return [e for e in events if e["reason"] == "Odd" and e.get("count") == 3]
        event = self.eventually(stored)[0]
        self.assertEqual((event["type"], event["message"], event["involvedObject"]["name"]), ("Warning", "something is odd", "a"))


class Leading(Connected):
    def lease(self, client, identity, **timings):
        return client.send("lease", namespace=self.ns, name="lock", identity=identity,
                           **{"durationMs": 3000, "renewMs": 2000, "retryMs": 400, **timings})

    def stored(self):
        return self.api.get("coordination.k8s.io/v1", "leases", self.ns, "lock")

    def test_one_leads_and_the_other_takes_over_at_once_when_it_is_given_back(self):
        one = self.lease(self.client, "one")
        self.client.wait(one, "leading")
        other = self.connect()
        two = self.lease(other, "two")
        self.assertEqual(other.wait(two, "observed")["holder"], "one")
        spec = self.stored()["spec"]
        self.assertEqual(spec["holderIdentity"], "one")
        self.assertRegex(spec["renewTime"], r"\.\d{6}Z$")
        self.client.send("release", one)
        self.client.wait(one, "released")
        other.wait(two, "leading")
        self.assertEqual(self.stored()["spec"]["holderIdentity"], "two")
        self.assertEqual(self.stored()["spec"]["leaseTransitions"], 1)

    def test_a_leader_that_was_killed_is_followed_after_the_lease_ran_out(self):
        first = Client(self.lab.kubeconfig)
        first.wait(self.lease(first, "one"), "leading")
        two = self.lease(self.client, "two")
        self.client.wait(two, "observed")
        first.process.kill()
        self.assertEqual(first.close(), -signal.SIGKILL)
        self.client.wait(two, "leading", 30)

    def test_a_leader_whose_lease_was_taken_stops(self):
        one = self.lease(self.client, "one")
        self.client.wait(one, "leading")
        self.api.patch({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "lock", "namespace": self.ns}},
                       {"spec": {"holderIdentity": "thief", "renewTime": "2026-06-01T00:00:00.000000Z"}})
        self.client.wait(one, "stopped", 20)

    def test_a_leader_without_a_server_stops(self):
        """When, to the millisecond, is shown by tests/c/kube/test_lease.c with a clock moved by hand."""
        one = self.lease(self.client, "one", durationMs=10000, renewMs=4000)
        self.client.wait(one, "leading")
        self.lab.send("apiserver", signal.SIGSTOP)  # connections stay open, nothing answers
        try:
            self.client.wait(one, "stopped")
        finally:
            self.lab.send("apiserver", signal.SIGCONT)
        self.client.wait(one, "leading")
