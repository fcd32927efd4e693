# SPDX-License-Identifier: Apache-2.0
"""The recorded Standard cases on a real server: what Perigee plans and applies is stored as what KServe's controller would
have stored, and objects that KServe's controller made are taken over without a restart of a pod, and given back.

A server refuses what some cases make (both controllers make it). Those are listed in refused.txt with its answer.
"""
import concurrent.futures
import copy
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading

import support
from lab import Refused, definition_files, place
from support import PERIGEE, ROOT, Case, Client, original_definitions

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import kserve as recorded  # noqa: E402

REFUSED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "refused.txt")
OWNER_UID = "00000000-0000-0000-0000-000000000001"
ORIGINAL = "manager"  # the field manager of KServe's controller: the name of its program
MADE = ("Deployment", "Service", "HorizontalPodAutoscaler", "ConfigMap", "ScaledObject", "OpenTelemetryCollector")
WORKERS = 4


def standard_cases():
    return [(n, c) for n, c in recorded.cases() if c["input"].get("deploymentMode") == "Standard"
            and not c["expected"].get("error") and "panic" not in c["expected"]]


def moved(o, ns, uid=None):
    """The object as it is in another namespace, of the service with this uid; without what a server sets."""
    o = copy.deepcopy(o)
    meta = o["metadata"]
    meta["namespace"] = ns
    for key in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
        meta.pop(key, None)
    for owner in meta.get("ownerReferences", []):
        if uid:
            owner["uid"] = uid
    template = (o.get("spec") or {}).get("template") or {}
    if o["kind"] == "Deployment":
        (template.get("metadata") or {}).pop("creationTimestamp", None)
        if (template.get("metadata") or {}).get("namespace"):
            template["metadata"]["namespace"] = ns
    o.pop("status", None)
    return o


def comparable(o):
    """What is compared of a stored object: everything but what only a server says."""
    o = moved(o, "-")
    meta = o["metadata"]
    for owner in meta.get("ownerReferences", []):
        owner["uid"] = "-"
    annotations = {k: v for k, v in (meta.get("annotations") or {}).items()
                   if "perigee.dev/" not in k and k != "deployment.kubernetes.io/revision"}
    meta["annotations"] = annotations
    meta["labels"] = {k: v for k, v in (meta.get("labels") or {}).items() if "perigee.dev/" not in k}
    if o["kind"] in ("OpenTelemetryCollector", "ScaledObject"):
        return recorded.clean(o, True)
    if o["kind"] == "Service":
        for key in ("clusterIP", "clusterIPs"):
            if o["spec"].get(key) not in ("None", ["None"]):
                o["spec"].pop(key, None)
        for port in o["spec"].get("ports") or []:
            port.pop("nodePort", None)
    return o


def unordered(refused):
    """A server names what is wrong with several fields in an order that is another one each time."""
    return {name: sorted(part.strip() for part in re.split(r"[\[\],]", text) if part.strip()) for name, text in refused.items()}


def read_refused():
    out = {}
    with open(REFUSED) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, answer = line.rstrip("\n").split("\t", 1)
                out[name] = answer
    return out


class Recorded(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        original_definitions(cls.api)
        support.install_definitions(cls.api, *definition_files("keda"))
        cls.has_collectors = support.install_shared(cls.api, "otel-collectors.yaml")
        cls.defaults = recorded.load_defaults()
        cls.local = threading.local()
        cls.oracle = "oracle"
        support.install(cls.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cls.oracle}}])

    def setUp(self):
        super().setUp()
        self.client = Client(self.lab.kubeconfig)
        self.addCleanup(self.client.close)
        # Nobody makes pods of what is stored here, and a namespace is used again as soon as it was emptied.
        for part in ("controllers", "scheduler", "kubelets"):
            self.lab.send(part, signal.SIGSTOP)
            self.addCleanup(self.lab.send, part, signal.SIGCONT)
        self.namespaces = queue.Queue()
        for _ in range(WORKERS):
            self.namespaces.put(self.new_namespace())

    def empty(self, api, ns):
        for version, resource in [("serving.kserve.io/v1beta1", "inferenceservices"), ("serving.kserve.io/v1alpha1", "servingruntimes"),
                                  ("apps/v1", "deployments"), ("autoscaling/v2", "horizontalpodautoscalers"), ("v1", "configmaps"),
                                  ("keda.sh/v1alpha1", "scaledobjects"), ("v1", "services")]:
            for o in api.list(version, resource, ns):
                api.call("DELETE", place(version, resource, ns, o["metadata"]["name"]))
        for o in api.list("opentelemetry.io/v1beta1", "opentelemetrycollectors", ns) if self.has_collectors else []:
            api.call("DELETE", place("opentelemetry.io/v1beta1", "opentelemetrycollectors", ns, o["metadata"]["name"]))

    def my_api(self):
        if not hasattr(self.local, "api"):
            self.local.api = self.lab.api()
        return self.local.api

    def kinds(self, objects):
        return [o for o in objects if o["kind"] in MADE and (o["kind"] != "OpenTelemetryCollector" or self.has_collectors)]

    def each_case(self, check, cases=None):
        """check(name, case, namespace) for every case (or those), several at a time; returns {name: what was refused} and
        complaints."""
        refused, bad = {}, []

        def one(item):
            name, case = item
            api = self.my_api()
            ns = self.namespaces.get()
            try:
                return name, check(name, case, ns, api), None
            except Refused as e:
                return name, [], re.sub(r"\s+", " ", e.message.replace(ns, "NAMESPACE"))
            except Exception as e:  # a broken case fails alone
                return name, [f"{type(e).__name__}: {e}"], None
            finally:
                self.empty(api, ns)
                self.namespaces.put(ns)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for name, complaints, answer in pool.map(one, standard_cases() if cases is None else cases):
                if answer is not None:
                    refused[name] = answer
                bad += [f"{name}: {c}" for c in complaints]
        return refused, bad

    # ---- pieces of a case ----

    def make_service(self, api, case, ns):
        """The InferenceService as its user wrote it, in the server; without a recording of that as it was defaulted."""
        i = case["input"]
        service = moved(i.get("isvcRaw") or i["isvc"], ns)
        return api.create(service, manager="user")

    def store_of(self, case, stored=None):
        """What the case's cluster holds beside the service; stored: objects in place of those of the same name."""
        objects = recorded.store_of(case["input"], self.defaults)
        if stored:
            names = {recorded.key(o) for o in stored}
            objects = [o for o in objects if recorded.key(o) not in names] + stored
        return objects

    def planned(self, case, stored=None):
        """What Perigee plans for the case."""
        return recorded.run_plan(PERIGEE, copy.deepcopy(case["input"]["isvc"]), self.store_of(case, stored))

    def made_by_the_original(self, case):
        """What is there when the original has done its work: {key: object}."""
        final = {recorded.key(o): o for o in self.kinds(case["input"]["objects"] or [])}
        final.update((recorded.key(o), o) for o in self.kinds(case["expected"]["created"] + case["expected"]["updated"]))
        gone = set(case["expected"]["deleted"])
        return {k: o for k, o in final.items() if recorded.name_of(o) not in gone}

    def defaulted(self, api, o):
        """The object as a server would store it."""
        return api.create(moved(o, self.oracle), options="&dryRun=All")

    def apply(self, intent, stored=None):
        for _ in range(3):
            answer = self.client.ask("apply", intent=intent, **({"stored": stored} if stored else {}))
            if answer["what"] == "failed" and answer["retry"] == "soon":
                continue  # the server asked the connection to go (GOAWAY) while the write was on its way; a controller tries again
            if answer["what"] == "failed":
                raise Refused("PATCH", intent["metadata"]["name"], 422, answer["error"].encode())
            return answer
        raise AssertionError(answer["error"])

    def compare(self, name, want, got):
        if not got:
            return [f"{name}: not stored"]
        return [f"{name}{d}" for d in recorded.diff(comparable(want), comparable(got))]


class Stored(Recorded):
    def check(self, name, case, ns, api):
        """Objects that were there are made first, then what is planned is applied over them."""
        service = self.make_service(api, case, ns)
        uid = service["metadata"]["uid"]
        for o in self.kinds(case["input"]["objects"] or []):
            api.create(moved(o, ns, uid), manager=ORIGINAL)
        bad, plan = [], self.planned(case)
        wanted = {recorded.key(o): o for o in self.kinds(case["expected"]["created"] + case["expected"]["updated"])}
        defaulted = {k: self.defaulted(api, o) for k, o in wanted.items()}
        for o in self.kinds(plan["objects"]):
            intent = moved(o, ns, uid)
            self.apply(intent, api.read(intent))
        for k, want in defaulted.items():
            bad += self.compare(recorded.name_of(wanted[k]), want, api.read(moved(wanted[k], ns)))
        return bad

    def test_every_case_is_stored_as_the_original_would_store_it(self):
        refused, bad = self.each_case(self.check)
        self.assertEqual(bad, [], f"{len(bad)} differences")
        if os.environ.get("PERIGEE_WRITE_REFUSED"):
            self.write_refused(refused)
        self.assertEqual(unordered(refused), unordered(read_refused()))

    def write_refused(self, refused):
        with open(REFUSED, "w") as f:
            f.write("# Recorded cases of which a server (Kubernetes 1.36, definitions of KServe v0.19) refuses something: the case, a tab,\n"
                    "# the answer. Most are random data (requests above limits, mounts without volumes) that both controllers send. A name\n"
                    "# that comes twice in env is refused to Perigee alone: server-side apply keys the list by it.\n"
                    "# Written by PERIGEE_WRITE_REFUSED=1 scripts/e2e test test_recorded.Stored; read it before you commit it.\n")
            for name, answer in sorted(refused.items()):
                f.write(f"{name}\t{answer}\n")


class Adopted(Recorded):
    """compat kserve: switching over changes no pod template, and switching back none either."""

    def check(self, name, case, ns, api):
        if name in self.refused:
            return []
        uid = self.make_service(api, case, ns)["metadata"]["uid"]
        final = self.made_by_the_original(case)
        before = {k: api.create(moved(o, ns, uid), manager=ORIGINAL) for k, o in final.items()}
        planned = {recorded.key(o): moved(o, ns, uid) for o in self.kinds(self.planned(case, list(final.values()))["objects"])}
        bad = []
        for k, intent in planned.items():
            self.apply(intent, api.read(intent))
        for k, o in before.items():
            after = api.read(o)
            what = recorded.name_of(final[k])
            if (after["spec"] if "spec" in after else after.get("data")) != (o["spec"] if "spec" in o else o.get("data")):
                bad += [f"{what} after switching over{d}" for d in recorded.diff(comparable(o), comparable(after))]
            if k in planned and not any(f["manager"] == "perigee" for f in after["metadata"]["managedFields"]):
                bad.append(f"{what}: nothing of it belongs to perigee")
            # Back: the original's controller replaces the object, as it does.
            again = moved(final[k], ns, uid)
            again["metadata"]["resourceVersion"] = after["metadata"]["resourceVersion"]
            if o["kind"] == "Service":
                again["spec"].update({key: after["spec"][key] for key in ("clusterIP", "clusterIPs") if key in after["spec"]})
            back = api.update(again, manager=ORIGINAL)
            if o["kind"] == "Deployment" and back["spec"]["template"] != o["spec"]["template"]:
                bad += [f"{what} after switching back{d}" for d in recorded.diff(o["spec"]["template"], back["spec"]["template"])]
        return bad

    def test_every_case_is_taken_over_and_given_back_without_a_restart(self):
        self.refused = read_refused()
        # All of them take minutes more: scripts/nightly.
        refused, bad = self.each_case(self.check, standard_cases()[::1 if os.environ.get("PERIGEE_E2E_LONG") else 4])
        self.assertEqual(refused, {})
        self.assertEqual(bad, [], f"{len(bad)} differences")

    def test_a_field_that_was_the_original_s_can_be_removed_later(self):
        name, case = next((n, c) for n, c in standard_cases() if c["expected"]["created"])
        uid = self.make_service(self.api, case, self.ns)["metadata"]["uid"]
        deployment = next(o for o in case["expected"]["created"] if o["kind"] == "Deployment")
        theirs = moved(deployment, self.ns, uid)
        theirs["metadata"].setdefault("annotations", {})["example.com/old"] = "1"
        self.api.create(theirs, manager=ORIGINAL)
        with_it = copy.deepcopy(theirs)
        self.apply(with_it, self.api.read(theirs))
        without = moved(deployment, self.ns, uid)
        self.apply(without, self.api.read(theirs))
        self.assertNotIn("example.com/old", self.api.read(theirs)["metadata"]["annotations"])


# Cases for which the modes plan different objects. That they do is checked, so that the test is about something.
DIFFERENT = {
    "autoscale--update-hpa-to-keda", "image--runtimeversion-empty", "image--runtimeversion-with-dollar", "merge--env-value-vs-valuefrom",
    "merge--pod-hostipc-runtime-ignored", "merge--pod-volumes", "merge--probe-field-merge", "multinode--gpu-limits-only",
    "placeholder--backslash-in-value", "placeholder--generation-uid", "runtime-auto--cluster-chosen-but-namespace-has-same-name",
    "stop--multinode-existing", "stop--standard-existing"}


def steps(path):
    """The steps of a path as `diff` prints it: members, and items of lists by name or place in brackets."""
    out = []
    for member, item in re.findall(r"\.((?:[^.\[\\]|\\.)+)|\[((?:[^\]\\]|\\.)*)\]", path):
        out.append(re.sub(r"\\(.)", r"\1", member) if member else "[" + item + "]")
    return tuple(out)


def item_steps(items):
    """What each item of a list is called in a path: its name where all have another one."""
    for key in ("name", "mountPath", "containerPort", "type", "key"):
        names = [str(x.get(key)) for x in items if isinstance(x, dict) and key in x]
        if len(names) == len(items) and len(set(names)) == len(names):
            return dict(zip((f"[{n}]" for n in names), items))
    return {f"[{i}]": x for i, x in enumerate(items)}


def changes(old, new, path=()):
    """Paths (as steps) that differ between two stored objects."""
    if isinstance(old, list) and isinstance(new, list):
        old, new = item_steps(old), item_steps(new)
    if isinstance(old, dict) and isinstance(new, dict):
        return [p for k in sorted(set(old) | set(new)) for p in changes(old.get(k), new.get(k), path + (k,))]
    return [path] if old != new else []


def is_part(a, b):
    """One of the paths leads to the other."""
    n = min(len(a), len(b))
    return a[:n] == b[:n]


class Mended(Recorded):
    """compat fixed over objects that the original made: `diff` lists beforehand what changes, exactly that does, and back again."""

    def run_perigee(self, command, case, objects, *args):
        isvc = copy.deepcopy(case["input"]["isvc"])
        subject = ["-n", isvc["metadata"].get("namespace", "default"), f"inferenceservice/{isvc['metadata']['name']}"]
        store = json.dumps({"apiVersion": "v1", "kind": "List", "items": [isvc] + objects})
        p = subprocess.run([PERIGEE, command, "-f", "-", *subject, "--now", recorded.NOW, "--seed", "1", "-o", "json", *args],
                           input=store, capture_output=True, text=True, timeout=120)
        if p.returncode not in (0, 1):
            raise AssertionError(f"perigee {command}: {p.returncode}: {p.stderr[:1000]}")
        return json.loads(p.stdout)

    def listed(self, case, objects):
        """What diff says of the objects: {(kind, name): [paths]}, those that vanish, those that are an error."""
        services = self.run_perigee("diff", case, objects, "--base-compat", "kserve", "--compat", "fixed")["services"]
        fields, vanish, appear = {}, set(), set()
        for o in (o for s in services for o in s["objects"]):
            place = (o["kind"], o["name"])
            if o["change"] == "vanishes":
                vanish.add(place)
            elif o["change"] == "appears":
                appear.add(place)
            elif o["kind"] != "InferenceService":
                fields[place] = [steps(f["path"]) for f in o["fields"]]
        return fields, vanish, appear, any(s["errorAfter"] for s in services)

    def change_to(self, plan, ns, uid, api):
        """What the controller does with this plan of one service. Returns what is its own."""
        for o in self.kinds(plan["objects"]):
            intent = moved(o, ns, uid)
            self.apply(intent, api.read(intent))
        for o in plan["deletes"]:
            api.delete({**o, "metadata": {"name": o["name"], "namespace": ns}})
        return {(o["kind"], o["metadata"]["name"]) for o in self.kinds(plan["objects"])}

    def check(self, name, case, ns, api):
        if name in self.refused:
            return []
        uid = self.make_service(api, case, ns)["metadata"]["uid"]
        originals = list(self.made_by_the_original(case).values())
        before = {(o["kind"], o["metadata"]["name"]): api.create(moved(o, ns, uid), manager=ORIGINAL) for o in originals}
        store = self.store_of(case, originals)
        fields, vanish, appear, is_error = self.listed(case, store)
        as_before, mended = (self.run_perigee("plan", case, store, "--compat", mode) for mode in ("kserve", "fixed"))
        # What is not as the original would make it today is put right in either mode: it compares no metadata, and it takes an
        # object for its own that it finds under its name.
        gone = {(o["kind"], o["name"]) for o in as_before["deletes"]}
        right = {(o["kind"], o["metadata"]["name"]): moved(o, "-") for o in as_before["objects"]}
        with self.lock:
            self.different |= {name} if fields or vanish or appear else set()
        ours = set() if is_error else self.change_to(mended, ns, uid, api)
        bad = []
        for place, old in before.items():
            new = api.read(old)
            what = " ".join(place)
            if place in gone:
                continue
            if new is None or place in vanish:
                bad += [] if new is None and place in vanish else [f"{what}: {'is gone' if new is None else 'is still there'}"]
                continue
            bad += self.compare_listed(what, comparable(old), comparable(new), fields.get(place, []), right.get(place))
            left = [f["manager"] for f in new["metadata"]["managedFields"] if f["manager"] == ORIGINAL and f.get("subresource") != "status"]
            if place in ours and old["metadata"].get("ownerReferences") and left:
                bad.append(f"{what}: the original still owns fields of it, which nobody could remove")
        there = {(o["kind"], o["metadata"]["name"]) for o in self.stored(api, ns)}
        bad += [f"{' '.join(p)}: made, but not listed" for p in there - set(before) - appear]
        if not is_error:
            self.change_to(as_before, ns, uid, api)
            for place, old in [(p, o) for p, o in before.items() if p not in gone]:
                bad += [f"{' '.join(place)} back again: {'.'.join(p)}" for p in changes(comparable(old), comparable(api.read(old) or old))
                        if p[:2] not in (("metadata", "annotations"), ("metadata", "labels"))]
        return bad

    def stored(self, api, ns):
        return [{**o, "kind": kind} for kind, (version, resource) in
                {"Deployment": ("apps/v1", "deployments"), "Service": ("v1", "services"),
                 "HorizontalPodAutoscaler": ("autoscaling/v2", "horizontalpodautoscalers")}.items() for o in api.list(version, resource, ns)]

    def compare_listed(self, what, old, new, listed, right):
        found = [p for p in changes(old, new) if p[0] != "metadata" or not right or recorded.get(right, p) != recorded.get(new, p)]
        bad = [f"{what}: {'.'.join(p)} changed, which diff did not list ({listed})" for p in found if not any(is_part(p, l) for l in listed)]
        bad += [f"{what}: diff lists {'.'.join(l)}, which did not change" for l in listed if not any(is_part(p, l) for p in found)]
        for path in (("spec", "selector"), ("metadata", "name")):
            bad += [f"{what}: {'.'.join(path)} changed" for p in found if is_part(p, path) and p[:len(path)] == path]
        return bad

    def test_what_diff_lists_changes_and_nothing_else(self):
        self.refused, self.different, self.lock = read_refused(), set(), threading.Lock()
        cases = standard_cases()
        if not os.environ.get("PERIGEE_E2E_LONG"):  # all of them take minutes more: scripts/nightly
            cases = [(n, c) for i, (n, c) in enumerate(cases) if n in DIFFERENT or i % 24 == 0]
        refused, bad = self.each_case(self.check, cases)
        self.assertEqual(refused, {})
        self.assertEqual(bad, [], f"{len(bad)} differences")
        self.assertEqual(DIFFERENT - self.different - set(self.refused), set(), "here the modes were to differ")
