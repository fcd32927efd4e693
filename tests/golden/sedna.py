#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the recorded Sedna cases of tests/cases/sedna through `perigee simulate` and compares step by step.

    sedna.py --perigee build/asan/perigee [--only TEXT] [-v] [--update]

Compared: conditions, annotations and start of each job, pods, requests for pods and annotations in order and in full, messages to each
node in order and in full. Where this project answers otherwise on purpose, tests/cases/deviations/list.txt names the case and why, and
deviations/CASE.json holds the answer; --update writes those files anew from the binary's answers (read the diff).
Prints a line for each failing case, a table by theme and "N passed, N failed"; exits 1 when a case fails, 2 when none ran.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(os.path.dirname(HERE), "cases", "sedna")
DEVIATIONS = os.path.join(os.path.dirname(HERE), "cases", "deviations")
TIMES = {"lastHeartbeatTime", "lastTransitionTime", "startTime", "updateTime", "resourceVersion"}


def bare(v):
    """Without times, and with absent, null, zero and empty as one."""
    if isinstance(v, dict):
        v = {k: bare(x) for k, x in v.items() if k not in TIMES}
        return {k: x for k, x in v.items() if x not in (None, "", 0, False, {}, [])}
    if isinstance(v, list):
        return [bare(x) for x in v]
    return re.sub(r"^((?:train-|eval-|infer)worker)-[a-z0-9]{5}$", r"\1-<rand5>", v) if isinstance(v, str) else v


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def condition(c):
    if isinstance(c, dict) and isinstance(c.get("data"), str):
        c = dict(c, data=parsed(c["data"]))
    return bare(c)


def job(j):
    status = j.get("status") or {}
    return {"conditions": [condition(c) for c in status.get("conditions") or []], "annotations": bare(j.get("annotations")),
            "started": bool(status.get("startTime"))}


def in_order(items):
    return sorted(items, key=lambda x: json.dumps(x, sort_keys=True))


def pod(o):
    o = bare(o)
    meta, spec = o.get("metadata", {}), o.get("spec", {})
    for part in ("labels", "annotations"):
        own = {k: v for k, v in meta.get(part, {}).items() if "perigee.dev/" not in k}
        meta.pop(part, None)
        if own:
            meta[part] = own
    for container in spec.get("containers", []) + spec.get("initContainers", []):
        for part in ("env", "volumeMounts"):
            if part in container:
                container[part] = in_order(container[part])
    if "volumes" in spec:
        spec["volumes"] = in_order(spec["volumes"])
    return o


def is_pod_request(a):
    return a.get("resource") == "pods" and a["verb"] in ("create", "delete")


def is_patch(a):
    return a["verb"] == "patch" and not a.get("subresource")


def full_requests(api):
    for a in api or []:
        if is_pod_request(a):
            failed = bool(a.get("error"))  # then the name is told in two ways
            yield a["verb"], None if failed else a.get("assignedName") or a.get("name"), failed, pod(a.get("object") or {})
        elif is_patch(a):
            yield "patch", a["name"], bool(a.get("error")), bare(a["patch"])


def short_requests(api):
    for a in api or []:
        if is_pod_request(a):
            yield f"{a['verb']} pods {a.get('assignedName') or a.get('name')}"
        elif is_patch(a):
            yield f"patch {a['resource']} {a['name']} " + json.dumps(a["patch"]["metadata"]["annotations"], sort_keys=True,
                                                                    separators=(",", ":"))


def content(want, got):
    """A message's content as recorded, in which the job's spec and earlier conditions may be cut short."""
    want, got = json.loads(json.dumps(want or {})), json.loads(json.dumps(got or {}))
    for o in (want, got):
        o.pop("apiVersion", None)
    if want.get("spec") == "<job.spec>":
        want["spec"], got["spec"] = True, bool(got.get("spec"))
    listed = (want.get("status") or {}).get("conditions")
    if listed:
        have = (got.get("status") or {}).get("conditions") or []
        if isinstance(listed[0], str):
            earlier, listed = int(listed[0].strip("<>").split()[0]), listed[1:]
            have = have[earlier:]
        want["status"]["conditions"] = [condition(c) for c in listed]
        got.setdefault("status", {})["conditions"] = [condition(c) for c in have]
    return bare(want), bare(got)


def short_message(m):
    h = m["header"]
    return f"{h['operation']} {h['resourceKind'].lower()} {h['namespace']}/{h['resourceName']} -> \"{m['node']}\""


def by_node(messages, node_of):
    nodes = {}
    for m in messages or []:
        nodes.setdefault(node_of(m), []).append(m)
    return nodes


def short(v):
    s = json.dumps(v, sort_keys=True, ensure_ascii=False)
    return s if len(s) < 240 else s[:237] + "..."


def differ(what, got, want):
    return [] if got == want else [f"{what}: {short(got)}, expected {short(want)}"]


def compare_full(want, got):
    def jobs(state):
        return {f"{j['namespace']}/{j['name']}": job(j) for j in state.get("jobs") or []}

    def pods(state):
        return sorted([p["namespace"], p["name"], p.get("phase") or "", p.get("nodeName") or ""] for p in state.get("pods") or [])

    bad = differ("jobs", jobs(got["state"]), jobs(want["state"])) + differ("pods", pods(got["state"]), pods(want["state"]))
    bad += differ("requests", list(full_requests(got["api"])), list(full_requests(want["api"])))
    w, g = (by_node(x["downstream"], lambda m: m["node"]) for x in (want, got))
    for node in sorted(set(w) | set(g)):
        a, b = w.get(node, []), g.get(node, [])
        bad += differ(f"messages to '{node}'", [short_message(m) for m in b], [short_message(m) for m in a])
        if len(a) == len(b):
            for x, y in zip(a, b):
                cx, cy = content(x.get("content"), y.get("content"))
                bad += differ(f"content of {short_message(x)}", cy, cx)
    return bad


def stages(state):
    return [f"{c['stage']}/{c['type']}" for j in state.get("jobs") or [] for c in (j.get("status") or {}).get("conditions") or []]


def compare_short(want, got, before):
    bad = differ("appended", stages(got["state"])[len(before):], [a.replace("@lc", "") for a in want["appended"]])
    bad += differ("pods", sorted(f"{p['name']}:{p.get('phase')}" for p in got["state"].get("pods") or []), sorted(want["pods"]))
    bad += differ("requests", list(short_requests(got["api"])), want["actions"])
    node_of = lambda text: text.split(" -> ")[1]
    return bad + differ("messages", by_node([short_message(m) for m in got["downstream"]], node_of),
                        by_node(want["downstream"], node_of))


def run(perigee, case):
    body = json.dumps({k: case[k] for k in ("options", "objects", "steps") if k in case})
    p = subprocess.run([perigee, "simulate", "-", "-o", "json"], input=body.encode(), capture_output=True, timeout=120)
    if p.returncode != 0:
        raise RuntimeError(f"exit {p.returncode}: {p.stderr.decode(errors='replace')[:500]}")
    return json.loads(p.stdout)["steps"]


def check(perigee, case, expected):
    got = run(perigee, case)
    bad, before = differ("entries", len(got), len(expected)), []
    for i, (w, g) in enumerate(zip(expected, got)):
        step = compare_full(w["expect"], g) if "expect" in w else compare_short(w, g, before)
        bad += [f"step {i} {b}" for b in step]
        before = stages(g["state"])
    return bad


def lines_of(pattern):
    """Those of all files of that name, one after the other: large sets are in several."""
    for path in sorted(glob.glob(os.path.join(CASES, pattern))):
        with open(path) as f:
            yield from f


def cases():
    for path in sorted(glob.glob(os.path.join(CASES, "scenarios", "*.json"))):
        with open(path) as f:
            yield "scenario--" + os.path.basename(path)[:-5], json.load(f)
    for part in ("transitions", "walks"):
        for n, line in enumerate(lines_of(part + "*.ndjson")):
            case = json.loads(line)
            yield f"{part}--{case.get('name', n)}", case


def deviations():
    with open(os.path.join(DEVIATIONS, "list.txt")) as f:
        return {line.split()[0] for line in f if line.strip() and not line.startswith("#")}


def own_answer(name):
    with open(os.path.join(DEVIATIONS, name + ".json")) as f:
        return json.load(f)


def update(perigee, names):
    for name, case in cases():
        if name in names:
            entries = [{"step": s["step"], "op": s["op"], "expect": {k: s[k] for k in ("api", "downstream", "state", "syncs")}}
                       for s in run(perigee, case)]
            with open(os.path.join(DEVIATIONS, name + ".json"), "w") as f:
                json.dump(entries, f, indent=1, sort_keys=True, ensure_ascii=False)
                f.write("\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--perigee", required=True)
    ap.add_argument("--only", default="", help="only cases whose name contains this text")
    ap.add_argument("--update", action="store_true", help="write the answers of the deviations anew")
    ap.add_argument("-v", action="store_true", help="print every difference")
    a = ap.parse_args()
    own = deviations()
    if a.update:
        update(a.perigee, own)

    def one(item):
        name, case = item
        try:
            return name, check(a.perigee, case, own_answer(name) if name in own else case["expected"])
        except Exception as e:  # a broken answer fails its case, not the run
            return name, [f"{type(e).__name__}: {e}"]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(pool.map(one, [c for c in cases() if a.only in c[0]]))
    table = {}
    for name, bad in sorted(results.items()):
        theme = "-".join(name.replace("--", "-").split("-")[:2]) if name.startswith("scenario") else name.split("--")[0]
        row = table.setdefault(theme, [0, 0, 0])
        row[1 if bad else 2 if name in own else 0] += 1
        if bad:
            print(f"FAIL {name}: {bad[0]}" + (f" (+{len(bad) - 1} more)" if len(bad) > 1 else ""))
            for line in bad[1:] if a.v else []:
                print("     " + line)
    for theme, (ok, no, mine) in sorted(table.items()):
        print(f"{theme:22} {ok:5} equal {no:5} failed {mine:5} with an answer of our own")
    failed = sum(1 for bad in results.values() if bad)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 2 if not results else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
