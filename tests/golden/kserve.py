#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the recorded KServe cases of tests/cases/kserve against a perigee binary, with this project's own runtime catalog and
default configuration beside them, and compares whole objects.

    kserve.py --perigee build/asan/perigee [--theme A,B] [--single-node] [--only TEXT] [-v]

A case is planned as recorded and, where it allows, once more as its user wrote the service. Prints a line for each failing case,
a table by theme and "N passed, N failed"; exits 1 when a case fails, 2 when none ran.
"""
import argparse
import concurrent.futures
import copy
import glob
import json
import os
import re
import subprocess
import sys

import yaml

NOW = "2026-06-01T00:00:00Z"
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = os.path.join(ROOT, "tests", "cases", "kserve")


def key(o):
    return (o.get("apiVersion", "").split("/")[0] if "/" in o.get("apiVersion", "") else "", o["kind"],
            o["metadata"].get("namespace", ""), o["metadata"]["name"])


def name_of(o):
    kind = o["kind"]
    if kind == "Service" and o["apiVersion"].startswith("serving.knative.dev"):
        kind = "KnativeService"
    ns = o["metadata"].get("namespace", "")
    return f"{kind} {ns + '/' if ns else ''}{o['metadata']['name']}"


def clean(v, drop_empty=False):
    """Normalisation rules 1 and 3 of the README."""
    if isinstance(v, dict):
        out = {}
        for k, x in v.items():
            if k in ("managedFields",) or (k == "creationTimestamp" and x is None):
                continue
            x = clean(x, drop_empty and k != "metadata")
            if k in ("resources", "strategy", "status", "metadata", "modelStatus") and x == {}:
                continue
            if k == "name" and x == "":
                continue
            if drop_empty and x in (None, "", {}, [], False, 0):
                continue
            if x is None:
                continue
            out[k] = x
        return out
    if isinstance(v, list):
        return [clean(x, drop_empty) for x in v]
    return v


def normal(o):
    o = copy.deepcopy(o)
    o.get("metadata", {}).pop("resourceVersion", None)
    o = clean(o, o["kind"] in ("OpenTelemetryCollector", "ScaledObject"))
    if o["kind"] == "Service" and o.get("status") == {"loadBalancer": {}}:
        o.pop("status")
    if o["kind"] == "HorizontalPodAutoscaler" and o.get("status", {}).get("desiredReplicas", 0) == 0:
        o.pop("status", None)
    own_marks(o)
    return o


def own_marks(o):
    """Perigee's own annotations and labels on an object are its business; in a pod template they would restart pods."""
    meta = o.get("metadata", {})
    for part in ("annotations", "labels"):
        if isinstance(meta.get(part), dict):
            meta[part] = {k: v for k, v in meta[part].items() if "perigee.dev/" not in k}
            if not meta[part]:
                meta.pop(part)


def beyond(want, got, path=""):
    """What got says that want does not: got may leave out what is stored already, never say something else."""
    if isinstance(want, dict) and isinstance(got, dict):
        for k in got:
            if k not in want:
                yield f"{path}.{k}: unexpected {short(got[k])}"
            else:
                yield from beyond(want[k], got[k], f"{path}.{k}")
    elif want != got:
        yield f"{path}: {short(got)}, expected {short(want)}"


def diff(a, b, path=""):
    """Differences, expected a against got b."""
    if isinstance(a, dict) and isinstance(b, dict):
        for k in sorted(set(a) | set(b)):
            p = f"{path}.{k}"
            if k not in b:
                yield f"{p}: missing, expected {short(a[k])}"
            elif k not in a:
                yield f"{p}: unexpected {short(b[k])}"
            else:
                yield from diff(a[k], b[k], p)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{path}: {len(b)} items, expected {len(a)}: got {short(b)} expected {short(a)}"
        else:
            for i, (x, y) in enumerate(zip(a, b)):
                yield from diff(x, y, f"{path}[{i}]")
    elif a != b or (type(a) is bool) != (type(b) is bool):
        yield f"{path}: {short(b)}, expected {short(a)}"


def short(v):
    s = json.dumps(v, sort_keys=True, ensure_ascii=False)
    return s if len(s) < 160 else s[:157] + "..."


def changed(old, new, path=()):
    """Paths whose value in new differs from old, with that value (None: removed)."""
    if isinstance(old, dict) and isinstance(new, dict):
        for k in sorted(set(old) | set(new)):
            yield from changed(old.get(k), new.get(k), path + (k,))
    elif old != new:
        yield path, new


def get(v, path):
    for k in path:
        if not isinstance(v, dict) or k not in v:
            return None
        v = v[k]
    return v


def documents(*parts):
    out = []
    for path in sorted(glob.glob(os.path.join(ROOT, "runtime-catalog", *parts))):
        with open(path) as f:
            out += [d for d in yaml.load_all(f, Loader=yaml.CSafeLoader) if d]
    return out


def load_defaults():
    """What every case has unless it says otherwise: the catalog of this project."""
    return {"runtimes": documents("runtimes", "*.yaml"), "storagecontainers": documents("storagecontainers", "*.yaml"),
            "configmap": documents("config", "*.yaml")}


def store_of(i, defaults):
    objects = list(copy.deepcopy(i["objects"] or []))
    if i.get("useDefaultRuntimes"):
        objects += defaults["runtimes"]
    if i.get("useDefaultStorageContainers"):
        objects += defaults["storagecontainers"]
    if not i.get("noConfigMap"):
        config = copy.deepcopy(defaults["configmap"][0])
        for k, v in (i.get("configPatch") or {}).items():
            if v is None:
                config["data"].pop(k, None)
            else:
                config["data"][k] = v
        objects.append(config)
    return objects


def run_plan(perigee, isvc, objects):
    ns, name = isvc["metadata"].get("namespace", "default"), isvc["metadata"]["name"]
    store = json.dumps({"apiVersion": "v1", "kind": "List", "items": [isvc] + objects})
    p = subprocess.run([perigee, "plan", "-f", "-", "-n", ns, f"inferenceservice/{name}", "--now", NOW, "--seed", "1",
                        "--compat", "kserve", "-o", "json"], input=store.encode(), capture_output=True, timeout=120)
    try:
        got = json.loads(p.stdout)
    except ValueError:
        raise RuntimeError(f"exit {p.returncode}, no JSON: {p.stderr.decode(errors='replace')[:2000]}")
    if p.returncode != (1 if got.get("error") else 0):
        raise RuntimeError(f"exit {p.returncode} with error {short(got.get('error'))}: {p.stderr.decode(errors='replace')[:2000]}")
    return got


def times(v):
    return json.loads(json.dumps(v).replace(f'"{NOW}"', '"<NOW>"'))


def check_reconcile(perigee, case, defaults, want):
    i = case["input"]
    objects = store_of(i, defaults)
    bad = compare_plan(run_plan(perigee, copy.deepcopy(i["isvc"]), objects), objects, want)
    if i.get("isvcIsDefaulted") and not i.get("isvcIsResultOfEarlierReconcile"):
        raw = copy.deepcopy(i["isvcRaw"])
        for k in ("uid", "generation"):
            if k in i["isvc"]["metadata"]:
                raw["metadata"][k] = i["isvc"]["metadata"][k]
        if "status" in i["isvc"]:
            raw["status"] = copy.deepcopy(i["isvc"]["status"])
        bad += ["as the user wrote it: " + d for d in compare_plan(run_plan(perigee, raw, objects), objects, want)]
    return bad


def compare_plan(got, store, want):
    if "panic" in want:
        return [] if got.get("error") else ["the original crashes here; an error was expected"]
    bad = []
    if bool(want["error"]) != bool(got.get("error")):
        return [f"error: {short(got.get('error'))}, expected {short(want['error'])}"]
    have = {key(o): o for o in store}
    listed = [key(o) for o in got.get("objects") or []]
    if len(set(listed)) != len(listed):
        bad.append("objects: the same object twice")
    order = [(k[1], k[2], k[3]) for k in listed]
    if order != sorted(order):
        bad.append("objects: not sorted by kind, namespace, name")
    out = {key(o): normal(o) for o in got.get("objects") or []}
    named = {key(o) for o in want["created"] + want["updated"]}
    if not want["error"]:
        for o in want["created"]:
            k = key(o)
            if k not in out:
                bad.append(f"{name_of(o)}: not made")
            else:
                bad += [f"{name_of(o)}{d}" for d in diff(normal(o), out[k])]
        for o in want["updated"]:
            k = key(o)
            if k not in out:
                bad.append(f"{name_of(o)}: not updated")
                continue
            bad += [f"{name_of(o)}{d}" for d in beyond(normal(o), out[k])]
            for path, value in changed(normal(have[k]) if k in have else {}, normal(o)):
                if get(out[k], path) != value:
                    bad.append(f"{name_of(o)}.{'.'.join(path)}: {short(get(out[k], path))}, expected {short(value)}")
    for k, o in out.items():
        if k in named:
            continue
        if k not in have:
            bad.append(f"{name_of(o)}: made, but not expected")
        else:
            # the original compares no metadata; repairing a label that somebody changed by hand is allowed
            bad += [f"{name_of(o)}{d}" for d in beyond(normal(have[k]), {x: v for x, v in o.items() if x not in ("status", "metadata")})]
    gone = {name_of({**d, "metadata": d.get("metadata", {"name": d.get("name"), "namespace": d.get("namespace", "")})})
            for d in got.get("deletes") or []}
    if gone != set(want["deleted"]) and not (want["error"] and gone <= set(want["deleted"])):
        bad.append(f"deletes: {sorted(gone)}, expected {sorted(want['deleted'])}")
    resource = got.get("resource") or {}
    bad += [f"status{d}" for d in diff(clean(want["isvc"].get("status") or {}),
                                       clean(times(resource.get("status") or {})))]
    for path in (("spec", "predictor", "model", "runtime"), ("spec", "predictor", "model", "protocolVersion")):
        w = get(want["isvc"], path)
        if w and not want["error"] and get(resource, path) != w:
            bad.append(f"{'.'.join(path)}: {short(get(resource, path))}, expected {short(w)}")
    requeue = {"0s": 0, "1s": 1}.get(want["requeueAfter"])
    if requeue is not None and not want["error"] and got.get("requeueAfterSeconds", 0) != requeue:
        bad.append(f"requeueAfterSeconds: {got.get('requeueAfterSeconds')}, expected {requeue}")
    return bad


def single_node(case):
    i = case["input"]
    if i.get("deploymentMode") != "Standard":
        return False
    return all("workerSpec" not in (((x.get("spec") or {}).get("predictor") or {}))
               for x in (i["isvc"], i.get("isvcRaw") or {}))


def lines_of(pattern):
    """Those of all files of that name, one after the other: large sets are in several."""
    for path in sorted(glob.glob(os.path.join(CASES, pattern))):
        with open(path) as f:
            yield from f


def cases():
    for path in sorted(glob.glob(os.path.join(CASES, "reconcile", "*.json"))):
        with open(path) as f:
            yield os.path.basename(path)[:-5], json.load(f)
    for n, line in enumerate(lines_of("reconcile_random_*.ndjson")):
        case = json.loads(line)
        yield f"random#{case.get('id', n)}", dict(case, theme="random")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--perigee", required=True)
    ap.add_argument("--theme", default="", help="only these themes, comma separated")
    ap.add_argument("--only", default="", help="only cases whose name contains this text")
    ap.add_argument("--single-node", action="store_true", help="leave out Knative mode and worker specs")
    ap.add_argument("-v", action="store_true", help="print every difference")
    a = ap.parse_args()
    themes, defaults = set(filter(None, a.theme.split(","))), load_defaults()
    wanted = [(n, c) for n, c in cases() if a.only in n and (not themes or c["theme"] in themes)
              and not (a.single_node and not single_node(c))]

    def check(item):
        name, case = item
        try:
            return name, check_reconcile(a.perigee, case, defaults, case["expected"])
        except Exception as e:  # a broken answer fails its case, not the run
            return name, [f"{type(e).__name__}: {e}"]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(pool.map(check, wanted))
    table = {}
    for name, bad in sorted(results.items()):
        row = table.setdefault(re.split(r"--|#", name)[0], [0, 0])
        row[1 if bad else 0] += 1
        if bad:
            print(f"FAIL {name}: {bad[0]}" + (f" (+{len(bad) - 1} more)" if len(bad) > 1 else ""))
            for line in bad[1:] if a.v else []:
                print("     " + line)
    for theme, (ok, no) in sorted(table.items()):
        print(f"{theme:22} {ok:5} equal {no:5} failed")
    failed = sum(1 for bad in results.values() if bad)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 2 if not results else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
