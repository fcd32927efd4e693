# SPDX-License-Identifier: Apache-2.0
"""A fault matrix for reading: core/kube's cache behind a proxy with bad manners. After each fault the cache holds what the
server holds, and while it lasts the server is asked a bounded number of times."""
import gzip
import json
import os
import signal
import time

import faults
from faults import FaultProxy, answer, cut, drip, hang, lines, reset, status_of
from support import Case, Client, long

WATCH = r"[?&]watch=true"
LIST = r"/configmaps\?(?!.*watch=true)"
EXPIRED = json.dumps({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
                                                  "reason": "Expired", "message": "too old resource version"}})


def error_event(code, reason, **more):
    return json.dumps({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                                                   "reason": reason, "message": "made up by a test", **more}})


class Mirror:
    """What the cache of a kube_client holds, by what it says."""

    def __init__(self, client, watch):
        self.client, self.watch, self.objects, self.health, self.errors = client, watch, {}, "", []
        self.is_synced = False

    def read(self):
        """Takes in what has been said so far."""
        for line in self.client.so_far(self.watch):
            what = line["what"]
            if what in ("added", "updated"):
                self.objects[line["name"]] = line["version"]
            elif what == "removed":
                self.objects.pop(line["name"], None)
            elif what == "synced":
                self.is_synced = True
            elif what in ("starting", "ok", "broken", "missing", "denied"):
                self.health = what
                self.errors += [line["error"]] if "error" in line else []
        return self


class Reads(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.identity = faults.make_identity(cls.folder)

    def setUp(self):
        super().setUp()
        self.proxy = FaultProxy(self.lab, self.folder, self.identity)
        self.addCleanup(self.proxy.close)
        self.addCleanup(self.proxy.check_met)
        for name in ("kept", "changed", "gone"):
            self.api.create(self.config_map(name, a="1"))

    def open(self, **options):
        kubeconfig = self.lab.write_kubeconfig(os.path.join(self.folder, "kubeconfig"), self.lab.shape["token"], url=self.proxy.url,
                                               ca=self.proxy.ca)
        self.client = Client(kubeconfig)
        self.addCleanup(self.client.close)
        watch = self.client.send("watch", group="", version="v1", kind="ConfigMap",
                                 path=f"/api/v1/namespaces/{self.ns}/configmaps", **options)
        self.mirror = Mirror(self.client, watch)

    def synced(self, deadline=60):
        self.eventually(lambda: self.mirror.read().is_synced, deadline, f"the first list; errors {self.mirror.errors[-3:]}")

    def stored(self):
        return {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in self.api.list("v1", "configmaps", self.ns)}

    def change(self):
        """One of each: a new object, a changed and a deleted one."""
        self.api.create(self.config_map("new", a="1"))
        self.api.patch(self.config_map("changed"), {"data": {"a": "2"}})
        self.api.delete(self.config_map("gone"))

    def equal(self, deadline=60):
        """Once the faults have happened: until then it may be so by itself."""
        self.eventually(lambda: self.mirror.read().objects == self.stored() and self.proxy.are_met(), deadline,
                        f"the cache to equal the server; health {self.mirror.health}, errors {self.mirror.errors[-3:]}")

    def asked(self, since, seconds, most):
        """Waits for the time to pass; at most so many requests came in it."""
        self.eventually(lambda: time.monotonic() - since > seconds)
        self.assertLessEqual(len(self.proxy.requests(since=since)), most)

    def survives(self, fault, method="GET", path=WATCH, times=1, deadline=60, most=40, **rule):
        """The fault hits running watches' successors; changes made meanwhile arrive all the same."""
        self.open()
        self.synced()
        begun = time.monotonic()
        arranged = self.proxy.on(method, path, fault, times=times, **rule)
        self.proxy.cut_all()
        self.change()
        self.eventually(lambda: arranged["hits"] > 0, what="the fault to happen")
        self.equal(deadline)
        self.proxy.clear()
        self.api.create(self.config_map("later"))
        self.equal()
        self.assertLessEqual(len(self.proxy.requests(since=begun)), most)

    # ---- connections ----

    def test_01_refused_at_start(self):
        self.proxy.close_port()
        self.open()
        self.eventually(lambda: self.mirror.read().health == "broken")
        self.proxy.open_port()
        self.equal()

    def test_02_refused_during_a_watch(self):
        self.open()
        self.synced()
        self.api.create(self.config_map("news"))  # a watch that ends at once and told nothing is followed by a list
        self.equal()
        self.proxy.close_port()
        self.change()
        self.eventually(lambda: self.mirror.read().health == "broken")
        begun = time.monotonic()
        self.proxy.open_port()
        self.equal()
        self.assertEqual(self.proxy.requests("GET", LIST, begun), [], "the watch goes on from its version, no list is needed")

    def test_03_the_end_of_a_watch(self):
        self.survives(cut(0), times=3)

    def test_04_reset_of_a_watch(self):
        self.survives(cut(10, with_reset=True), times=3)

    def test_05_reset_before_an_answer(self):
        self.survives(reset, times=3)

    def test_06_reset_in_the_middle_of_a_list(self):
        self.proxy.on("GET", LIST, cut(300, with_reset=True), times=2)
        self.open()
        self.equal()

    def test_07_end_in_the_middle_of_a_list(self):
        self.proxy.on("GET", LIST, cut(300), times=2)
        self.open()
        self.equal()

    def test_08_a_byte_at_a_time(self):
        self.survives(drip(1))

    def test_09_a_list_a_byte_at_a_time(self):
        self.proxy.on("GET", LIST, drip(1))
        self.open()
        self.equal()

    def test_10_an_event_cut_in_the_middle(self):
        self.open()
        self.synced()
        self.proxy.on("GET", WATCH, cut(150), times=2)
        self.proxy.cut_all()
        self.change()
        self.equal()

    # ---- what a stream says ----

    def test_11_expired_in_the_stream(self):
        self.survives(answer(200, EXPIRED + "\n"))
        self.assertGreaterEqual(self.client.counts(self.mirror.watch)["expired"], 1)

    def test_12_expired_again_and_again(self):
        self.open()
        self.synced()
        begun = time.monotonic()
        self.proxy.on("GET", WATCH, answer(200, EXPIRED + "\n"))
        self.proxy.cut_all()
        self.asked(begun, 10, 20)
        self.change()
        self.proxy.clear()
        self.equal()

    def test_13_gone_as_a_status_of_http(self):
        self.survives(status_of(410, "Expired"))

    def test_14_a_watch_that_closes_at_once(self):
        self.open()
        self.synced()
        begun = time.monotonic()
        self.proxy.on("GET", WATCH, answer(200, ""))
        self.proxy.cut_all()
        self.asked(begun, 10, 16)
        self.change()
        self.proxy.clear()
        self.equal()

    def test_15_an_internal_error_in_the_stream(self):
        self.survives(answer(200, error_event(500, "InternalError") + "\n"), times=2)

    def test_16_too_many_requests_in_the_stream(self):
        self.survives(answer(200, error_event(429, "TooManyRequests", details={"retryAfterSeconds": 1}) + "\n"), times=2)

    def test_17_events_twice(self):
        self.survives(lines(lambda line: [line, line]), times=None)

    def test_18_blank_lines_and_carriage_returns(self):
        self.survives(lines(lambda line: [b"\r\n", line.replace(b"\n", b"\r\n"), b"\n \n"]), times=None)

    def test_19_a_line_that_is_no_json(self):
        self.survives(lines(lambda line: [b'{"type":"ADDED","object":{"metadata":}}\n']))

    @long
    def test_19b_a_line_that_does_not_end(self):
        """Braces that are never closed look like an event that is still arriving: found when no bookmark came for 90 s."""
        self.survives(lines(lambda line: [b'{"type":"ADDED","object":{"metadata"\n']), deadline=150)

    def test_20_a_line_with_a_zero_byte(self):
        self.survives(lines(lambda line: [line.replace(b'"a"', b'"a\0"')]))

    def test_21_a_line_that_is_not_utf8(self):
        self.survives(lines(lambda line: [line.replace(b'"ConfigMap"', b'"Config\xff\xfeMap"')]))

    def test_22_an_event_of_an_unknown_type(self):
        self.survives(lines(lambda line: [b'{"type":"FLOWN","object":{}}\n', line]))

    def test_23_an_event_without_an_object(self):
        self.survives(lines(lambda line: [b'{"type":"ADDED"}\n', line]))

    def test_24_nesting_without_end(self):
        self.survives(lines(lambda line: [b'{"type":"ADDED","object":' + b"[" * 100000 + b"\n"]))

    def test_25_bookmarks_only(self):
        """The stream is alive but swallows what happened; the next watch starts from the last version that was seen."""
        self.open()
        self.synced()
        arranged = self.proxy.on("GET", WATCH, lines(lambda line: [line] if b'"BOOKMARK"' in line else []), times=1)
        self.proxy.cut_all()
        self.eventually(lambda: arranged["hits"] > 0)
        self.change()
        self.proxy.clear()
        self.proxy.cut_all()
        self.equal(30)

    def test_26_a_version_far_ahead(self):
        self.open()
        self.synced()
        body = json.dumps({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
            "resourceVersion": "999999999"}}})
        self.proxy.on("GET", WATCH, answer(200, body + "\n"), times=1)
        self.proxy.cut_all()
        self.change()
        self.eventually(lambda: self.mirror.read() and self.client.counts(self.mirror.watch)["bookmarks"] >= 1)
        # Such a version is in no list of this server: the watch from it is silent for ever, which only its own end shows.
        self.proxy.cut_all()
        self.proxy.on("GET", WATCH, status_of(504, "Timeout", "Too large resource version: 999999999, current: 1",
                                              causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                                              retryAfterSeconds=1), times=1)
        self.proxy.cut_all()
        self.equal(90)

    # ---- what a list says ----

    def relisted(self, fault, times=2, deadline=60):
        self.proxy.on("GET", LIST, fault, times=times)
        self.open()
        self.equal(deadline)
        self.proxy.clear()
        self.change()
        self.equal()

    def test_27_a_list_that_is_no_json(self):
        self.relisted(answer(200, '{"kind":"ConfigMapList","items":['))

    def test_28_a_list_that_is_a_page_of_html(self):
        self.relisted(answer(200, "<html>Sign in</html>", [("Content-Type", "text/html")]))

    def test_29_a_list_that_is_empty(self):
        self.relisted(answer(200, ""))

    def test_30_a_cut_gzip(self):
        whole = gzip.compress(json.dumps({"kind": "ConfigMapList", "metadata": {"resourceVersion": "1"}, "items": [
            {"metadata": {"name": f"x{i}", "resourceVersion": str(i)}} for i in range(1000)]}).encode())
        self.relisted(answer(200, whole[:len(whole) // 2], [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]))

    def test_31_a_resource_version_that_is_too_large(self):
        self.relisted(status_of(504, "Timeout", "Too large resource version: 9, current: 1", retryAfterSeconds=1,
                                causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]))

    def test_32_server_errors(self):
        for code, reason in ((500, "InternalError"), (502, "Odd"), (503, "ServiceUnavailable"), (504, "Timeout")):
            with self.subTest(code):
                self.proxy.on("GET", LIST, status_of(code, reason), times=1)
                self.open()
                self.equal()
                self.proxy.clear()

    def test_33_too_many_requests_with_a_time(self):
        begun = time.monotonic()
        self.proxy.on("GET", LIST, status_of(429, "TooManyRequests", retryAfterSeconds=2), times=1)
        self.open()
        self.equal()
        self.assertGreaterEqual(time.monotonic() - begun, 2)

    def test_34_too_many_requests_with_a_date_or_nonsense(self):
        for value in (time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2)), "soon", "-5"):
            with self.subTest(value):
                self.proxy.on("GET", LIST, answer(429, "{}", [("Retry-After", value)]), times=1)
                self.open()
                self.equal()
                self.proxy.clear()

    def test_35_a_continue_token_that_expired(self):
        for i in range(10):
            self.api.create(self.config_map(f"p{i}"))
        self.proxy.on("GET", "continue=", status_of(410, "Expired", "The provided continue parameter is too old"), times=1)
        self.open(pageSize=4, strict=True)
        self.equal()

    def test_36_a_server_without_streamed_lists(self):
        self.proxy.on("GET", "sendInitialEvents=true", status_of(422, "Invalid", "sendInitialEvents is forbidden for watch"))
        self.open(watchList=True)
        self.equal()
        self.change()
        self.equal()

    def test_37_a_streamed_list_that_ends_early(self):
        self.proxy.on("GET", "sendInitialEvents=true", cut(400), times=2)
        self.open(watchList=True)
        self.equal()
        self.change()
        self.equal()

    def test_38_a_list_older_than_what_was_seen(self):
        """Another API server behind the same address that lags: its list lacks what a watch has shown already."""
        self.open()
        self.synced()
        old = self.api.request("GET", f"/api/v1/namespaces/{self.ns}/configmaps")[1]
        self.change()
        self.equal()
        self.proxy.on("GET", WATCH, answer(200, EXPIRED + "\n"), times=1)
        self.proxy.on("GET", LIST, answer(200, old), times=1)
        seen = dict(self.mirror.read().objects)
        self.proxy.cut_all()
        self.eventually(lambda: len(self.proxy.requests("GET", LIST)) >= 2)
        self.equal()
        self.assertEqual(self.mirror.objects, {**seen, **self.stored()})

    # ---- silence ----

    def test_39_no_answer_to_a_list(self):
        self.proxy.on("GET", LIST, hang, times=1)
        self.open()
        self.eventually(lambda: self.proxy.requests("GET", LIST))
        self.proxy.clear()
        self.equal()

    def test_40_a_token_that_ran_out(self):
        self.survives(status_of(401, "Unauthorized", "Unauthorized"), path="/configmaps", times=3)

    def test_41_rights_taken_and_given_back(self):
        self.open()
        self.synced()
        self.proxy.on("GET", "/configmaps", status_of(403, "Forbidden", 'configmaps is forbidden: User "x" cannot list resource "configmaps"'))
        self.proxy.cut_all()
        self.eventually(lambda: self.mirror.read().health == "denied")
        begun = time.monotonic()
        self.asked(begun, 5, 8)
        self.change()
        self.proxy.clear()
        self.equal(120)

    def test_42_a_new_certificate_of_another_ca(self):
        self.open()
        self.synced()
        second = faults.make_identity(self.folder, "second")
        self.proxy.load_identity((second[0], second[1], second[2]))
        self.proxy.cut_all()
        self.change()
        self.eventually(lambda: self.mirror.read().health == "broken" and any("ertificate" in e for e in self.mirror.errors))
        with open(second[0]) as new, open(self.identity[0], "r+") as ca:
            old = ca.read()
            ca.seek(0)
            ca.write(new.read() + old)
        try:
            self.equal(90)
        finally:
            with open(self.identity[0], "w") as ca:
                ca.write(old)

    def test_43_a_server_that_stands_still(self):
        self.open()
        self.synced()
        self.lab.send("apiserver", signal.SIGSTOP)
        self.lab.send("apiserver", signal.SIGCONT)
        self.change()
        self.equal()

    def test_44_etcd_killed_and_back(self):
        self.open()
        self.synced()
        self.lab.kill("etcd")
        self.lab.start("etcd")
        self.eventually(self.can_write, 60)
        self.change()
        self.equal(90)

    def test_45_a_server_without_bookmarks(self):
        self.survives(lines(lambda line: [] if b'"BOOKMARK"' in line else [line]), times=None)
        self.assertEqual(self.client.counts(self.mirror.watch)["bookmarks"], 0)

    def can_write(self):
        try:
            self.api.apply(self.config_map("probe", a=str(time.monotonic())))
            return True
        except Exception:  # whatever it is, it is not back yet
            return False
