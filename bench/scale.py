#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The controller against a real API server with a fleet: what it sends, how long it takes, what it holds.

    scripts/bench scale [--services N] [--replicas N] [--idle SECONDS] [--build DIR] [--json FILE] [--keep]

Starts a lab of its own (tests/e2e/lab.py, which needs Go the first time), makes N services (2,000, with three pods each),
and measures four things, one after the other:

    cold start   `perigee plan` of one service of a cluster that holds little, from exec to the printed plan
    fill         the controller starts with nothing made yet; until every service is ready as far as it is the controller's
    idle         so long without a change; anything written but the lease is a fault
    restart      the controller ends and starts over the whole fleet; until it has planned every service; no object changes

Requests are those of the API server's audit log. One machine runs all of it, etcd and the players of kubelets too, so
the time to fill says as much about them. Prints a table as docs/performance.md has it. Not a test: nothing is asserted
but that nothing is written while nothing changes.
"""
import argparse
import collections
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMESPACES = 20
WATCHED_KINDS = ("deployments", "services", "horizontalpodautoscalers", "inferenceservices", "pods")
# The other parts of a control plane are not what is measured: they may ask as often as they like.
FASTER = {"controllers": ["--kube-api-qps", "400", "--kube-api-burst", "800", "--concurrent-deployment-syncs", "20",
                          "--concurrent-replicaset-syncs", "20", "--concurrent-endpoint-syncs", "10"],
          "scheduler": ["--kube-api-qps", "400", "--kube-api-burst", "800"]}
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=2000)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--idle", type=int, default=300, help="seconds")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--keep", action="store_true", help="leaves the folder with all logs")
    return parser.parse_args()


def say(text):
    print(f"scale: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Scale:
    def __init__(self, args, lab_module, controlled):
        self.args, self.controlled = args, controlled
        self.folder = tempfile.mkdtemp(prefix="perigee-scale-")

        class Lab(lab_module.Lab):
            def command(self, part):
                return super().command(part) + FASTER.get(part, [])
        self.lab = Lab(self.folder)
        self.until = lab_module.until
        self.rows = []

    def row(self, name, value, unit):
        self.rows.append({"name": name, "value": value, "unit": unit})
        say(f"{name}: {value:,.6g} {unit}")

    # ---- the fleet ----

    def service(self, i):
        namespace = f"team-{i % NAMESPACES:02d}"
        return {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
                "metadata": {"name": f"model-{i:05d}", "namespace": namespace},
                "spec": {"predictor": {"minReplicas": self.args.replicas, "maxReplicas": self.args.replicas,
                                       "model": {"modelFormat": {"name": ("sklearn", "xgboost", "lightgbm", "pmml")[i % 4]},
                                                 "storageUri": f"gs://models/{i}"}}}}

    def make_fleet(self, api):
        for n in range(NAMESPACES):
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{n:02d}"}})
        for i in range(self.args.services):
            api.create(self.service(i))

    def count(self, api, path):
        """How many objects a list of one would leave, and the one."""
        answer = api.call("GET", path + "?limit=1")
        return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)

    def versions(self, api):
        """resourceVersion of everything that the controller writes."""
        kinds = [("serving.kserve.io/v1beta1", "inferenceservices"), ("apps/v1", "deployments"), ("v1", "services"),
                 ("autoscaling/v2", "horizontalpodautoscalers")]
        return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"] for version, resource in kinds for o in api.list(version, resource)}

    def not_ready(self, api):
        missing = 0
        for o in api.list("serving.kserve.io/v1beta1", "inferenceservices"):
            conditions = {c["type"]: c["status"] for c in o.get("status", {}).get("conditions", [])}
            missing += conditions.get("PredictorReady") != "True"
        return missing

    # ---- measuring ----

    def audit_end(self):
        return os.path.getsize(self.lab.path("audit.log"))

    def requests(self, since):
        """Of the controller: Counter of (what, verb, resource); what: read, watch, write, lease, event."""
        out = collections.Counter()
        account = f"system:serviceaccount:{self.controlled.SYSTEM}:{self.controlled.ACCOUNT}"
        with open(self.lab.path("audit.log")) as f:
            f.seek(since)
            for line in f:
                e = json.loads(line)
                ref = e.get("objectRef", {})
                if e["user"]["username"] != account:
                    continue
                resource, verb = ref.get("resource", ""), e["verb"]
                what = "lease" if resource == "leases" else "event" if resource == "events" else \
                    "watch" if verb == "watch" else "read" if verb in ("get", "list") else "write"
                out[what, verb, resource + ("/" + ref["subresource"] if ref.get("subresource") else "")] += 1
        return out

    def sums(self, requests):
        out = collections.Counter()
        for (what, _verb, _resource), n in requests.items():
            out[what] += n
        return out

    def memory(self, controller, field="VmRSS"):
        with open(f"/proc/{controller.process.pid}/status") as f:
            return next(int(line.split()[1]) / 1000 for line in f if line.startswith(field + ":"))

    def cpu(self, controller):
        with open(f"/proc/{controller.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def make_controller(self, name):
        controller = self.controlled.Controller(self.lab, self.folder, name, "--workers", "16", "--record", "none")
        at = controller.command.index("--record")
        del controller.command[at:at + 2]  # tests record; here the controller is as it is run
        return controller

    def cold_start(self, perigee, name, namespace, service):
        times, failed = [], 0
        for _ in range(15):
            start = time.monotonic()
            p = subprocess.run([perigee, "plan", "--kubeconfig", self.lab.kubeconfig, "-n", namespace, "inferenceservice/" + service,
                                "-o", "json"], stdout=subprocess.DEVNULL)
            times.append((time.monotonic() - start) * 1e3)
            failed += p.returncode != 0
        self.row(name, statistics.median(times), "ms")
        if failed:
            self.row(name + ", plans that failed", failed, "of 15")

    def settle(self, quiet=20, deadline=1800):
        """Until the controller has sent no write for so long."""
        mark, end = (self.audit_end(), time.monotonic()), time.monotonic() + deadline
        while time.monotonic() - mark[1] < quiet:
            if time.monotonic() > end:
                sys.exit("scale: the controller does not come to rest")
            time.sleep(1)
            if self.sums(self.requests(mark[0]))["write"]:
                mark = (self.audit_end(), time.monotonic())

    # ---- the story ----

    def run(self, perigee):
        self.lab.up()
        api = self.lab.api()
        self.controlled.deploy(self.lab, api)
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench-live"}})
        live = self.service(0)
        live["metadata"] = {"name": "live", "namespace": "bench-live"}
        api.create(live)
        self.cold_start(perigee, "cold start, live API server", "bench-live", "live")
        api.delete(live)
        say(f"making {self.args.services} services")
        self.make_fleet(api)
        self.fill(api)
        self.cold_start(perigee, "cold start, live API server with the fleet", "team-00", "model-00000")
        self.controller.stop()
        self.restart(api)
        self.controller.stop()
        return self.rows

    def fill(self, api):
        n, pods = self.args.services, self.args.services * self.args.replicas
        since, begun = self.audit_end(), time.monotonic()
        self.controller = controller = self.make_controller("fill").start()
        self.until(controller.is_ready, 300, "the controller to be ready")
        self.row("fill: first reading, until the controller is ready", time.monotonic() - begun, "s")
        made = {"deployments": "/apis/apps/v1/deployments", "horizontalpodautoscalers": "/apis/autoscaling/v2/horizontalpodautoscalers"}
        for resource, path in made.items():
            self.until(lambda path=path: self.count(api, path) >= n, 1800, f"{n} {resource}")
        self.row("fill: until every Deployment and autoscaler is there", time.monotonic() - begun, "s")
        self.until(lambda: (time.sleep(3), self.count(api, "/api/v1/pods") >= pods)[1], 3600, f"{pods} pods")
        self.until(lambda: (time.sleep(3), not self.not_ready(api))[1], 3600, "every predictor to be ready")
        self.row("fill: until every pod runs and every predictor is ready", time.monotonic() - begun, "s")
        self.settle()
        requests = self.requests(since)
        sums = self.sums(requests)
        for resource in WATCHED_KINDS:
            writes = sum(c for (what, _v, r), c in requests.items() if what == "write" and r.split("/")[0] == resource)
            if writes:
                self.row(f"fill: writes of {resource}", writes, "requests")
        self.row("fill: Events", sums["event"], "requests")
        self.row("fill: reads, lists and ended watches", sums["read"] + sums["watch"], "requests")
        self.row("fill: CPU time of the controller", self.cpu(controller), "s")
        self.row("fill: RSS at the end", self.memory(controller), "MB")
        self.row("fill: RSS at its peak", self.memory(controller, "VmHWM"), "MB")
        say(f"idle for {self.args.idle} s")
        since, before = self.audit_end(), self.cpu(controller)
        time.sleep(self.args.idle)
        self.idle("idle", since, self.args.idle)
        self.row("idle: CPU time a minute", (self.cpu(controller) - before) * 60 / self.args.idle, "s")
        self.row("idle: RSS", self.memory(controller), "MB")

    def idle(self, name, since, seconds):
        requests = self.requests(since)
        sums = self.sums(requests)
        self.row(f"{name}: writes a minute, the lease aside", (sums["write"] + sums["event"]) * 60 / seconds, "requests")
        self.row(f"{name}: renewals of the lease a minute", sums["lease"] * 60 / seconds, "requests")
        self.row(f"{name}: reads, lists and ended watches a minute", (sums["read"] + sums["watch"]) * 60 / seconds, "requests")
        self.blame(requests)

    def blame(self, requests):
        for key, n in requests.items():
            if key[0] in ("write", "event"):
                say(f"unexpected: {n} x {key[1]} {key[2]}")

    def restart(self, api):
        before = self.versions(api)
        since, begun = self.audit_end(), time.monotonic()
        controller = self.controller = self.make_controller("restart").start()
        self.until(controller.is_ready, 300, "the controller to be ready")
        self.row("restart: first reading, until the controller is ready", time.monotonic() - begun, "s")
        self.row("restart: CPU time until then", self.cpu(controller), "s")
        self.until(lambda: controller.metric("controller_runtime_reconcile_total") >= self.args.services, 900, "every service to be planned")
        self.row("restart: until every service is planned and compared", time.monotonic() - begun, "s")
        time.sleep(20)
        requests = self.requests(since)
        sums = self.sums(requests)
        after = self.versions(api)
        self.row("restart: writes of the controller", sums["write"] + sums["event"], "requests")
        self.row("restart: objects that changed", sum(before.get(uid) != version for uid, version in after.items()), "objects")
        self.row("restart: reads and lists", sums["read"], "requests")
        self.row("restart: RSS", self.memory(controller), "MB")
        self.row("restart: RSS at its peak", self.memory(controller, "VmHWM"), "MB")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), os.uname().machine)
    return f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} cores of {model}, Linux {os.uname().release}, " \
           f"load {os.getloadavg()[0]:.1f} before the run"


def main():
    args = parse()
    where = machine()
    if args.build == os.path.join(ROOT, "build", "release") and not os.path.exists(os.path.join(args.build, "build.ninja")):
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", args.build, "-j", os.environ.get("JOBS", "2"), "--target", "perigee"], check=True,
                   stdout=subprocess.DEVNULL)
    os.environ["PERIGEE"] = perigee = os.path.join(args.build, "perigee")
    import controlled  # reads PERIGEE
    import lab as lab_module
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        scale = Scale(args, lab_module, controlled)
        try:
            rows = scale.run(perigee)
        finally:
            scale.lab.down()
            if args.keep:
                say(f"logs of the lab: {scale.folder}")
            else:
                shutil.rmtree(scale.folder, ignore_errors=True)
    except lab_module.Trouble as e:
        sys.exit(f"scale: {e}")
    print(f"{where}; {args.services:,} services, {args.services * args.replicas:,} pods.\n\n| measure | value | unit |\n| --- | ---: | --- |")
    for row in rows:
        value = row["value"]
        text = f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"
        print(f"| {row['name']} | {text} | {row['unit']} |")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"machine": where, "services": args.services, "replicas": args.replicas, "rows": rows}, f, indent=1)
    faults = [r["name"] for r in rows if r["name"].startswith(("idle: writes", "restart: objects that changed")) and r["value"]]
    return f"scale: written though nothing changed: {', '.join(faults)}" if faults else 0


if __name__ == "__main__":
    sys.exit(main())
