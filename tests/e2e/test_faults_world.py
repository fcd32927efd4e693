# SPDX-License-Identifier: Apache-2.0
"""The fault matrix around the controller: the machine it runs on (clock, files, name server), who lets it in (tokens,
certificates, plugins, proxies), and a cluster that is put back to an older state. The story is that of
test_faults_controller: afterwards all is as without the fault, nothing was made twice, nobody was flooded."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

import faults
from controlled import ControlledCase, Controller, account_token
from faults import FaultProxy, Tunnel, answer, hang, status_of
from support import ROOT, SYSTEM, long
from test_faults_controller import LEASE, WRITE, FaultCase


def passed(case, seconds):
    """So much time passes."""
    begun = time.monotonic()
    case.eventually(lambda: time.monotonic() - begun > seconds, seconds + 10)


class Shim:
    """shim.c under one process: what its line says can be changed while the process runs."""

    def __init__(self, folder):
        self.library, self.file = os.path.join(folder, "shim.so"), os.path.join(folder, "shim")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self.library, os.path.join(ROOT, "tests", "e2e", "shim.c")], check=True)
        self.set()

    def set(self, clock=0, address="-"):
        with open(self.file + ".new", "w") as f:
            f.write(f"{clock} {address}\n")
        os.rename(self.file + ".new", self.file)

    @property
    def env(self):
        options = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": self.library, "PERIGEE_SHIM": self.file,
                "ASAN_OPTIONS": (options + ":" if options else "") + "verify_asan_link_order=0"}


class Clock(FaultCase):
    """The date of the machine is set while everything is under way: leases, tokens and waiting go by the other clock."""

    @classmethod
    def make_controller(cls, name, *args):
        cls.shim = Shim(cls.folder)
        # Certificates that were good yesterday too: whether one is good is a question of the date.
        yesterday = dict(os.environ, **cls.shim.env)
        cls.shim.set(-86400)
        identity = faults.make_identity(cls.folder, "yesterday", env=yesterday)
        cls.shim.set(0)
        cls.proxy.load_identity(identity)
        return Controller(cls.lab, cls.folder, name, *args, url=cls.proxy.url, ca=identity[0], env=cls.shim.env)

    def tearDown(self):
        self.shim.set(0)
        super().tearDown()

    def test_01_an_hour_ahead_and_an_hour_behind(self):
        before = self.eventually(lambda: self.api.read(LEASE))["spec"]
        rule = self.proxy.on("PATCH", WRITE, status_of(503, "ServiceUnavailable", retryAfterSeconds=1), times=6)
        self.shim.set(3600)
        self.change()
        self.eventually(lambda: rule["hits"] >= 3, 30, "writes to be tried again by the clock that only measures")
        self.shim.set(-3600)
        self.eventually(lambda: rule["hits"] >= 6, 30, "writes to be tried again though the date went back")
        self.final()
        renewed = self.api.read(LEASE)["spec"]["renewTime"]
        self.eventually(lambda: self.api.read(LEASE)["spec"]["renewTime"] != renewed, 15, "the lease to be renewed")
        spec = self.api.read(LEASE)["spec"]
        self.assertEqual((spec["holderIdentity"], spec["leaseTransitions"]), (before["holderIdentity"], before["leaseTransitions"]))
        self.assertEqual(self.controller.metric("leader_election_master_status"), 1)

    @long
    def test_02_back_and_forth_while_another_waits_for_the_lease(self):
        """Who stands by judges by how long the lease has not changed, not by the times written in it."""
        other = Controller(self.lab, self.folder, "other").start()
        self.addCleanup(other.stop)
        other.wait_ready()
        for seconds in (7200, -7200, 86400 * 365, 0):
            self.shim.set(seconds)
            passed(self, 2.5)
            self.assertEqual((self.controller.metric("leader_election_master_status"), other.metric("leader_election_master_status")), (1, 0))
        self.change()
        self.final()


class Stopped(FaultCase):
    @long
    def test_03_a_leader_that_stood_still_while_another_took_over(self):
        """The second replica leads when the lease has run out and does the work; the first, woken, does not write."""
        other = Controller(self.lab, self.folder, "second").start()
        self.addCleanup(other.stop)
        other.wait_ready()
        self.controller.process.send_signal(signal.SIGSTOP)
        try:
            self.change()
            self.eventually(lambda: other.metric("leader_election_master_status") == 1, 40, "the other to lead")
            self.eventually(self.is_final, 60)
        finally:
            since = time.monotonic()
            self.controller.process.send_signal(signal.SIGCONT)
        self.eventually(lambda: self.controller.metric("leader_election_master_status") == 0, 20)
        passed(self, 2)
        self.assertEqual(self.proxy.requests("PATCH", WRITE, since), [], "who lost the lease does not write")
        self.assertEqual(other.stop(), 0)
        self.eventually(lambda: self.controller.metric("leader_election_master_status") == 1, 20)
        self.final()


class Access(FaultCase):
    def replace(self, path, text):
        with open(path + ".new", "w") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def test_04_a_token_that_the_server_does_not_take_any_more(self):
        """A token that is bound to an object dies with it; the one that lies in the file then is taken."""
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": self.ns, "namespace": SYSTEM}}
        secret = self.api.create(secret)
        bound = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": {
            "apiVersion": "v1", "kind": "Secret", "name": self.ns, "uid": secret["metadata"]["uid"]}}}
        token = self.api.call("POST", f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/perigee/token", bound)["status"]["token"]
        with open(self.controller.token_file) as f:
            good = f.read()
        self.addCleanup(self.replace, self.controller.token_file, good)
        self.replace(self.controller.token_file, token)
        self.controller.stop()
        self.controller.start().wait_ready()
        self.eventually(lambda: self.controller.metric("leader_election_master_status") == 1)
        self.replace(self.controller.token_file, "")  # emptied: the last one stays in use
        self.api.delete(secret)
        self.eventually(lambda: 'code="401"' in self.controller.get("/metrics")[1], 60, "the server to refuse the token")
        self.change()
        begun = time.monotonic()
        passed(self, 3)
        self.assertLess(len(self.proxy.requests(since=begun)), 120)
        self.replace(self.controller.token_file, good)
        self.final(deadline=90, most_requests=900)

    def test_05_a_new_authority_for_certificates(self):
        """First the file of the CA is broken, then it holds old and new one, then the new one alone."""
        with open(self.proxy.ca) as f:
            old = f.read()
        second = faults.make_identity(self.folder, f"ca-{self.ns}")
        with open(second[0]) as f:
            new = f.read()
        ca, first = self.proxy.ca, self.identity
        try:
            self.replace(ca, "half of a certif")
            self.proxy.cut_all()
            self.change()
            self.eventually(lambda: self.owned("Deployment", "new-predictor"), 30, "work to go on with the CA as it was")
            self.replace(ca, old + new)
            self.proxy.load_identity((ca, second[1], second[2]))
            self.proxy.cut_all()
            self.eventually(lambda: self.controller.metric("leader_election_master_status") == 1, 40)
            self.replace(ca, new)
            self.proxy.cut_all()
            self.final(deadline=90, most_requests=900)
        finally:
            self.replace(ca, new + old)
            type(self).identity = self.proxy.identity = first
            self.proxy.load_identity(first)

    def test_06_no_room_for_another_connection(self):
        """The process may open no file more than it has; then it may again."""
        pid = self.controller.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        self.proxy.cut_all()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        self.proxy.cut_all()
        self.change()
        passed(self, 4)
        self.assertIsNone(self.controller.process.poll(), "it lives")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.final(deadline=90, most_requests=900)

    @long
    def test_07_nowhere_to_log_to(self):
        self.controller.stop()
        path, self.controller.log_path = self.controller.log_path, "/dev/full"
        try:
            self.controller.start()
        finally:
            self.controller.log_path = path
        self.proxy.cut_all()
        self.change()
        self.final(deadline=90, most_requests=900)

    @long
    def test_08_writes_that_are_never_answered(self):
        """Each is given up after half a minute and asked anew."""
        rule = self.proxy.on("PATCH", WRITE, hang, times=2)
        self.change()
        self.eventually(lambda: rule["hits"] >= 2, 60)
        self.eventually(self.is_final, 120)
        self.final()


class NamedServer(ControlledCase):
    """The server is known by a name."""
    STARTS = False

    def start(self):
        self.shim = Shim(self.folder)
        identity = faults.make_identity(self.folder, "named")
        self.proxy = FaultProxy(self.lab, self.folder, identity)
        self.addCleanup(self.proxy.close)
        self.controller = Controller(self.lab, self.folder, "named", url=f"https://lab.test:{self.proxy.port}", ca=identity[0], env=self.shim.env)
        with open(self.controller.command[self.controller.command.index("--kubeconfig") + 1], "r+") as f:
            config = json.load(f)
            config["clusters"][0]["cluster"]["tls-server-name"] = "127.0.0.1"
            f.seek(0)
            json.dump(config, f)
            f.truncate()
        self.controller.start()
        self.addCleanup(self.controller.stop)

    def test_09_a_name_server_that_fails(self):
        self.start()
        self.eventually(lambda: "resolve" in self.controller.log, 30, "a word about the name")
        self.shim.set(address="127.0.0.1")
        self.controller.wait_ready(90)
        self.api.create(self.service())
        self.wait_owned("Deployment")

    @long
    def test_10_a_name_that_leads_elsewhere_from_now_on(self):
        self.start()
        self.shim.set(address="127.0.0.9")  # nobody is there
        self.eventually(lambda: "127.0.0.9" in self.controller.log or "onnect" in self.controller.log, 60)
        self.shim.set(address="127.0.0.1")
        self.controller.wait_ready(180)
        self.api.create(self.service())
        self.wait_owned("Deployment")


class Plugins(ControlledCase):
    """Credentials come from a program (exec)."""
    STARTS = False
    PLUGIN = r"""#!/bin/sh
echo run >> "$0.runs"
case $(cat "$0.manner") in
fail) echo "your session has ended, log in again" >&2; exit 1 ;;
garbage) echo "Welcome! <html>" ;;
version) cat "$0.version" ;;
hang) echo $$ > "$0.pid"; exec sleep 1000 ;;
expired) cat "$0.expired" ;;
good) cat "$0.good" ;;
esac
"""

    def setUp(self):
        super().setUp()
        self.plugin = os.path.join(self.folder, "plugin-" + self.ns)
        self.write("", self.PLUGIN)
        os.chmod(self.plugin, 0o755)
        token = account_token(self.api)
        self.write(".good", self.credential(token, "2099-01-01T00:00:00Z"))
        self.write(".expired", self.credential(token, "2001-01-01T00:00:00Z"))
        self.write(".version", self.credential(token, "2099-01-01T00:00:00Z", "client.authentication.k8s.io/v1alpha1"))
        self.write(".runs", "")

    def credential(self, token, expires, version="client.authentication.k8s.io/v1"):
        return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token, "expirationTimestamp": expires}})

    def write(self, end, text):
        with open(self.plugin + end + ".new", "w") as f:
            f.write(text)
        os.rename(self.plugin + end + ".new", self.plugin + end)

    def runs(self):
        with open(self.plugin + ".runs") as f:
            return len(f.readlines())

    def start(self, manner, command=None):
        self.write(".manner", manner)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command or self.plugin, "interactiveMode": "Never",
                         "installHint": "get it from the lab"}}
        kubeconfig = self.lab.write_kubeconfig(self.plugin + ".kubeconfig", None, namespace=SYSTEM, user=user)
        self.controller = Controller(self.lab, self.folder, "plugin-" + self.ns, kubeconfig=kubeconfig).start()
        self.addCleanup(self.controller.stop)
        return self.controller

    def complains(self, manner, words, most_runs=6):
        """What the plugin does is told by name, and it is not run again and again; when it is well, all goes on."""
        controller = self.start(manner)
        self.eventually(lambda: words in controller.log and self.plugin in controller.log, 30, f"'{words}'; log: {controller.log[-800:]}")
        self.assertEqual((controller.get("/healthz")[0], controller.get("/readyz")[0]), (200, 500))
        passed(self, 3)
        self.assertLessEqual(self.runs(), most_runs)
        self.write(".manner", "good")
        controller.wait_ready(60)
        self.api.create(self.service())
        self.wait_owned("Deployment")

    def test_11_one_that_fails(self):
        self.complains("fail", "your session has ended, log in again")

    @long
    def test_12_one_that_prints_something_else(self):
        self.complains("garbage", "its answer is not JSON")

    @long
    def test_13_one_that_speaks_another_version(self):
        self.complains("version", "v1alpha1")

    def test_14_one_that_is_not_there(self):
        controller = self.start("good", self.plugin + "-missing")
        self.eventually(lambda: "get it from the lab" in controller.log, 30, f"the hint; log: {controller.log[-800:]}")
        os.symlink(self.plugin, self.plugin + "-missing")
        for end in (".manner", ".good", ".runs"):
            os.symlink(self.plugin + end, self.plugin + "-missing" + end)
        controller.wait_ready(60)

    def test_15_one_that_hangs(self):
        """The loop goes on serving meanwhile, and the plugin goes with the controller."""
        controller = self.start("hang")
        pid = int(self.eventually(lambda: os.path.exists(self.plugin + ".pid") and open(self.plugin + ".pid").read().strip(), 30))
        self.assertEqual((controller.get("/healthz")[0], controller.get("/readyz")[0]), (200, 500))
        self.assertEqual(self.runs(), 1)
        begun = time.monotonic()
        self.assertEqual(controller.stop(), 0)
        self.assertLess(time.monotonic() - begun, 30)
        self.eventually(lambda: not os.path.exists(f"/proc/{pid}"), 10, "the plugin to end")

    @long
    def test_16_one_that_hangs_until_its_time_is_over(self):
        controller = self.start("hang")
        self.eventually(lambda: "did not answer within 60 seconds" in controller.log, 90)
        self.write(".manner", "good")
        controller.wait_ready(60)
        self.assertLessEqual(self.runs(), 3)

    def test_17_credentials_that_have_expired_already(self):
        """The server judges by its own clock and takes the token; the plugin is asked now and then."""
        controller = self.start("expired").wait_ready(60)
        self.api.create(self.service())
        self.wait_owned("Deployment")
        self.assertLessEqual(self.runs(), 10)
        self.write(".manner", "good")
        controller.stop()


class Proxies(ControlledCase):
    """The way to the server leads through an HTTP proxy."""
    STARTS = False

    def setUp(self):
        super().setUp()
        self.tunnel = Tunnel()
        self.addCleanup(self.tunnel.close)

    def start(self, url=None, env=None, **cluster):
        file = os.path.join(self.folder, self.ns + ".token")
        with open(file, "w") as f:
            f.write(account_token(self.api))
        kubeconfig = self.lab.write_kubeconfig(os.path.join(self.folder, self.ns + ".kubeconfig"), None, namespace=SYSTEM, token_file=file,
                                               cluster=cluster)
        self.controller = Controller(self.lab, self.folder, "proxied-" + self.ns, kubeconfig=kubeconfig, env=env).start()
        self.addCleanup(self.controller.stop)
        return self.controller

    def works(self, name="iris"):
        self.controller.wait_ready(90)
        self.api.create(self.service(name))
        self.wait_owned("Deployment", name + "-predictor", deadline=60)

    def test_18_one_that_refuses_and_then_does_not(self):
        for manner, words in (("407 Proxy Authentication Required", "407"), ("502 Bad Gateway", "502")):
            with self.subTest(manner):
                self.tunnel.manner, before = manner, len(self.tunnel.asked)
                controller = self.start(**{"proxy-url": self.tunnel.url})
                self.eventually(lambda: words in controller.log, 30, f"'{words}'; log: {controller.log[-800:]}")
                passed(self, 3)
                self.assertLess(len(self.tunnel.asked) - before, 150)
                self.tunnel.manner = "tunnel"
                self.works(f"m{words}")
                controller.stop()

    def test_19_one_that_cuts_and_fails_while_work_is_under_way(self):
        self.start(**{"proxy-url": self.tunnel.url})
        self.works("first")
        self.tunnel.manner = "502 Bad Gateway"
        self.tunnel.cut_all()
        self.api.create(self.service("second"))
        passed(self, 3)
        self.tunnel.manner = "tunnel"
        self.wait_owned("Deployment", "second-predictor", deadline=90)
        self.assertTrue(all(place == f"127.0.0.1:{self.lab.port}" for _, place in self.tunnel.asked))

    def test_20_one_that_is_not_there(self):
        port = self.tunnel.port
        self.tunnel.close()
        controller = self.start(**{"proxy-url": f"http://127.0.0.1:{port}"})
        self.eventually(lambda: str(port) in controller.log, 30, f"a word about the proxy; log: {controller.log[-800:]}")
        self.assertEqual((controller.get("/healthz")[0], controller.get("/readyz")[0]), (200, 500))

    @long
    def test_21_one_that_says_nothing(self):
        self.tunnel.manner = "hang"
        controller = self.start(**{"proxy-url": self.tunnel.url})
        self.eventually(lambda: self.tunnel.asked, 30)
        passed(self, 2)
        self.assertEqual((controller.get("/healthz")[0], controller.get("/readyz")[0]), (200, 500))
        self.tunnel.manner = "tunnel"
        self.tunnel.cut_all()
        self.works()

    def test_22_one_of_the_environment_that_this_server_is_spared(self):
        env = {"HTTPS_PROXY": self.tunnel.url, "https_proxy": self.tunnel.url}
        self.start(env={**env, "NO_PROXY": "10.0.0.0/8,127.0.0.0/8", "no_proxy": "10.0.0.0/8,127.0.0.0/8"})
        self.works("direct")
        self.assertEqual(self.tunnel.asked, [])
        self.controller.stop()
        self.start(env={**env, "NO_PROXY": "10.0.0.0/8", "no_proxy": "10.0.0.0/8"})
        self.works("led")
        self.assertNotEqual(self.tunnel.asked, [])


class Quota(FaultCase):
    """The namespace may hold no Deployment more."""

    def forbid(self):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": self.ns},
                 "spec": {"hard": {"count/deployments.apps": "0"}}}
        self.api.create(quota)
        self.addCleanup(self.api.delete, quota)
        self.eventually(lambda: (self.api.read(quota).get("status") or {}).get("hard"), 30, "the quota to be counted")
        self.change()
        self.eventually(lambda: "exceeded quota" in json.dumps(self.conditions(self.service("new"))), 30, "the condition to tell the quota")
        self.eventually(lambda: any("exceeded quota" in (e.get("message") or e.get("note") or "")
                                    for e in self.api.list("v1", "events", self.ns)
                                    if (e.get("involvedObject") or {}).get("kind") == "InferenceService"), 30, "an Event to tell it")
        since = self.audit_end()
        passed(self, 5)
        self.assertLess(len([w for w in self.writes(since) if w[1] == "deployments"]), 10, "it is not tried all the time")
        self.assertIsNone(self.owned("Deployment", "new-predictor"))
        self.api.delete(quota)

    def test_23_a_quota_that_is_lifted(self):
        self.forbid()
        # It is tried again each minute; whatever a plan reads wakes it before.
        self.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "news", "namespace": self.ns}})
        self.final(deadline=90, most_writes=100)

    @long
    def test_24_a_quota_that_is_lifted_without_a_word(self):
        self.forbid()
        self.final(deadline=150, most_writes=100)


class Restored(FaultCase):
    """etcd is put back to an older state: versions go back, and what was made since has never been."""

    def test_25_etcd_goes_back(self):
        self.settle()
        saved = self.lab.path("etcd.saved")
        self.lab.send("etcd", signal.SIGSTOP)
        shutil.copytree(self.lab.path("etcd"), saved)
        self.lab.send("etcd", signal.SIGCONT)
        self.change()
        self.eventually(self.is_final, 60)
        for i in range(100):  # versions go on
            self.api.apply(self.config_map("clock", n=str(i)))
        later = int(self.api.read(self.config_map("clock"))["metadata"]["resourceVersion"])
        parts = ("kubelets", "scheduler", "controllers", "apiserver", "etcd")
        for part in parts:
            self.lab.kill(part)
        shutil.rmtree(self.lab.path("etcd"))
        os.rename(saved, self.lab.path("etcd"))
        for part in reversed(parts):  # all of them, as one has to after a restore
            self.lab.start(part)
        self.assertIsNone(self.api.read(self.service("new")))
        self.assertLess(int(self.api.read(LEASE)["metadata"]["resourceVersion"]), later)
        self.assertIsNotNone(self.owned("Deployment", "gone-predictor"), "what was deleted is back")
        # A watch from a version that the server has not reached is silent: a bookmark, one a minute, shows it.
        self.change()
        self.final(deadline=180, most_writes=200, most_requests=1500)
        self.assertIsNone(self.owned("Deployment", "gone-predictor"))



class Table(unittest.TestCase):
    """faults.md names tests that are there, and each row has one or says why not."""
    FILES = {"reads": "test_faults_reads.py", "controller": "test_faults_controller.py", "world": "test_faults_world.py",
             "client": "test_client.py", "life": "test_controller.py"}

    def names_in(self, *parts):
        with open(os.path.join(ROOT, "tests", *parts)) as f:
            return re.findall(r"    def (test_\w+)", f.read())

    def check(self, reference):
        """Names in a cell that lead nowhere: "reads 03 19b(n), C kube/test_http, client `410`"."""
        bad = []
        for word, rest in re.findall(r"(reads|controller|world|client|life)((?: \d\d\w?(?:\(n\))?)+| `\w+`)", reference):
            names = self.names_in("e2e", self.FILES[word])
            for number in re.findall(r"\d\d\w?", rest) if "`" not in rest else []:
                bad += [] if any(n.startswith(f"test_{number}_") for n in names) else [f"{word} {number}"]
            for part in re.findall(r"`(\w+)`", rest):
                bad += [] if any(part in n for n in names) else [f"{word} {part}"]
        for path in re.findall(r"\w+/test_\w+", reference):
            bad += [] if os.path.exists(os.path.join(ROOT, "tests", "c", path + ".c")) else [path]
        for name in re.findall(r"cli (test_\w+)", reference):
            bad += [] if os.path.exists(os.path.join(ROOT, "tests", "cli", name + ".py")) else [name]
        return bad

    def test_every_row_names_tests_that_are_there(self):
        with open(os.path.join(ROOT, "tests", "e2e", "faults.md")) as f:
            text = f.read()
        rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", text, re.M)
        self.assertEqual([int(n) for n, _ in rows], list(range(1, 53)))
        self.assertEqual([n for n, cell in rows if cell == "-"], ["41"])
        self.assertEqual([(n, b) for n, cell in [*rows, ("besides", text.split("Besides the rows")[1])] for b in self.check(cell)], [])
