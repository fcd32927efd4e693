#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the project's own cases of the two answers (tests/cases/compat) against a perigee binary.

    compat.py --perigee build/asan/perigee [--only TEXT] [-v]

A case FLAG--NAME.json shows what a flag of core/serving/compat.h changes, both--NAME.json what is the same with and without:

    {"about": why, in words,
     "input": {"service": …, "objects": […], "configPatch": {key: text or null}, "noConfigMap": false},
     "kserve": EXPECT, "fixed": EXPECT}          or "both": EXPECT

    EXPECT = {"error": null, or texts that the error holds,
              "objects": ["Kind name", …]        all of them; left out: not compared
              "deletes": ["Kind name", …],
              "at": {"Kind name": {"/json/pointer": value}}    {"$absent": true}: is not there
              "status": {"/json/pointer": value}               conditions are addressed as /conditions/TYPE
              "events": {"Reason": text}         there is such an Event and it holds the text; null: there is none
              "trace": [{"decision": …, "subject": …, "outcome": …, "reason": text}]}   there is such an entry, reason holds the text

Whatever a case says: no error, Event or trace entry shows how some program prints its memory, and an error leaves no objects behind
but those that the case names. Every flag must have a case. Ends with "N passed, N failed"; exits 1 when a case fails, 2 when none ran.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

import kserve

CASES = os.path.join(kserve.ROOT, "tests", "cases", "compat")
ANSWERS = ("kserve", "fixed")
ABSENT = {"$absent": True}
# %!d(…), &{…}, {name <nil>}, addresses, map[a:b], <nil>: what Go and C print when somebody forgot a text
LEAKS = re.compile(r"<nil>|0x[0-9a-f]{5,}|%!|&\{|map\[|\(null\)|%l?l?[dsuz]\b")


def flags():
    with open(os.path.join(kserve.ROOT, "core", "serving", "compat.h")) as f:
        return re.findall(r"^    X\((\w+), \"", f.read(), re.M)


def run_plan(perigee, isvc, objects, compat):
    ns, name = isvc["metadata"].get("namespace", "default"), isvc["metadata"]["name"]
    store = json.dumps({"apiVersion": "v1", "kind": "List", "items": [isvc] + objects})
    p = subprocess.run([perigee, "plan", "-f", "-", "-n", ns, f"inferenceservice/{name}", "--now", kserve.NOW, "--compat", compat,
                        "-o", "json"], input=store.encode(), capture_output=True, timeout=120)
    try:
        got = json.loads(p.stdout)
    except ValueError:
        raise RuntimeError(f"exit {p.returncode}, no JSON: {p.stderr.decode(errors='replace')[:2000]}")
    if p.returncode != (1 if got.get("error") else 0):
        raise RuntimeError(f"exit {p.returncode} with error {got.get('error')}: {p.stderr.decode(errors='replace')[:2000]}")
    return got


def find(v, pointer):
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(v, list) and part.isdigit() and int(part) < len(v):
            v = v[int(part)]
        elif isinstance(v, list):  # by name or type
            v = next((x for x in v if isinstance(x, dict) and part in (x.get("name"), x.get("type"))), ABSENT)
        elif isinstance(v, dict) and part in v:
            v = v[part]
        else:
            return ABSENT
        if v is ABSENT:
            return ABSENT
    return v


def titles(objects):
    return sorted(f"{o['kind']} {o.get('name') or o['metadata']['name']}" for o in objects)


def compare_parts(what, tree, want):
    for pointer, value in want.items():
        got = find(tree, pointer)
        if got != value:
            yield f"{what} {pointer}: {kserve.short(got)}, expected {kserve.short(value)}"


def compare(got, want):
    error = want.get("error")
    if (error is None) != (got["error"] is None):
        yield f"error: {kserve.short(got['error'])}, expected {kserve.short(error)}"
    for text in ([error] if isinstance(error, str) else error or []):
        if text not in (got["error"] or ""):
            yield f"error: {kserve.short(got['error'])} does not hold {text!r}"
    objects = {t: o for o in got["objects"] for t in titles([o])}
    if "objects" in want or error is not None:
        if sorted(objects) != sorted(want.get("objects", [])):
            yield f"objects: {sorted(objects)}, expected {sorted(want.get('objects', []))}"
    if "deletes" in want and titles(got["deletes"]) != sorted(want["deletes"]):
        yield f"deletes: {titles(got['deletes'])}, expected {sorted(want['deletes'])}"
    for title, parts in want.get("at", {}).items():
        if title not in objects:
            yield f"{title}: is not there"
        else:
            yield from compare_parts(title, objects[title], parts)
    yield from compare_parts("status", got["resource"].get("status", {}), want.get("status", {}))
    for reason, text in want.get("events", {}).items():
        messages = [e["message"] for e in got["events"] if e["reason"] == reason]
        if text is None and messages:
            yield f"event {reason}: {messages[0]}, expected none"
        elif text is not None and not any(text in m for m in messages):
            yield f"event {reason}: {kserve.short(messages)}, expected one with {text!r}"
    for entry in want.get("trace", []):
        if not any(all((v in (t[k] or "")) if k == "reason" else t[k] == v for k, v in entry.items()) for t in got["trace"]):
            near = [t for t in got["trace"] if t["decision"] == entry.get("decision")]
            yield f"trace: no {kserve.short(entry)} among {kserve.short(near)}"


def leaks(got):
    texts = [got["error"]] + [e["message"] for e in got["events"]]
    texts += [text for entry in got["trace"] if entry["decision"] not in ("field", "placeholder")  # these two show values of users
              for text in (entry["outcome"], entry["reason"])]
    for text in filter(None, texts):
        if LEAKS.search(text):
            yield f"not for people: {text}"


def check(perigee, case, defaults):
    i, bad = case["input"], []
    objects = kserve.store_of({"useDefaultStorageContainers": True, **i}, defaults)
    for answer in ANSWERS:
        got = run_plan(perigee, i["service"], objects, answer)
        bad += [f"{answer}: {d}" for d in compare(got, case[answer] if answer in case else case["both"])]
        bad += [f"{answer}: {d}" for d in leaks(got)]
    return bad


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--perigee", required=True)
    ap.add_argument("--only", default="", help="only cases whose name contains this text")
    ap.add_argument("-v", action="store_true", help="print every difference")
    a = ap.parse_args()
    defaults, cases, results = kserve.load_defaults(), {}, {}
    for path in sorted(glob.glob(os.path.join(CASES, "*.json"))):
        name = os.path.basename(path)[:-5]
        if a.only in name:
            with open(path) as f:
                cases[name] = json.load(f)

    def one(item):
        name, case = item
        try:
            return name, check(a.perigee, case, defaults)
        except Exception as e:  # a broken answer fails its case, not the run
            return name, [f"{type(e).__name__}: {e}"]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(pool.map(one, cases.items()))
    if not a.only:
        for flag in flags():
            mine = [c for n, c in cases.items() if n.split("--")[0] == flag]
            results[f"flag {flag} has a case for both answers"] = [] if any(set(ANSWERS) <= set(c) for c in mine) else ["it has none"]
    for name, bad in sorted(results.items()):
        if bad:
            print(f"FAIL {name}: {bad[0]}" + (f" (+{len(bad) - 1} more)" if len(bad) > 1 else ""))
            for line in bad[1:] if a.v else []:
                print("     " + line)
    failed = sum(1 for bad in results.values() if bad)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 2 if not cases else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
