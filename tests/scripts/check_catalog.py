#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks runtime-catalog/: every manifest is well formed, the table in its README says what the manifests say, and, where the
recorded originals are at hand (PERIGEE_SHARED, else ../shared), each object equals its original in meaning.

    check_catalog.py [--write]        --write brings the table in the README up to date

Prints a line for each failure and "N passed, N failed"; exits 1 when one failed.
"""
import argparse
import glob
import json
import os
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CATALOG = os.path.join(ROOT, "runtime-catalog")
README = os.path.join(CATALOG, "README.md")
BEGIN, END = "<!-- table of runtimes: tests/scripts/check_catalog.py --write -->", "<!-- end of table -->"
SERVER_TYPE = "serving.kserve.io/server-type"


class Results:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {what}")


def load_manifests(results):
    """All objects below the catalog as (kind, name) -> object."""
    objects = {}
    for path in sorted(glob.glob(os.path.join(CATALOG, "**", "*.yaml"), recursive=True)):
        where = os.path.relpath(path, ROOT)
        try:
            with open(path, encoding="utf-8") as f:
                documents = [d for d in yaml.safe_load_all(f) if d is not None]
        except yaml.YAMLError as e:
            results.expect(False, f"{where}: {e}")
            continue
        results.expect(len(documents) == 1, f"{where}: {len(documents)} documents, expected one")
        for o in documents:
            key = (o.get("kind"), o.get("metadata", {}).get("name"))
            results.expect(key not in objects, f"{where}: a second {key[0]} {key[1]}")
            objects[key] = o
            if key[0] == "ClusterServingRuntime":
                results.expect(os.path.basename(path) == f"{key[1]}.yaml", f"{where}: holds {key[1]}; name the file after it")
    return objects


def row(runtime):
    """The line of the README's table for a runtime."""
    spec, formats = runtime["spec"], {}
    for f in spec.get("supportedModelFormats", []):
        mark = f.get("version", "any")
        mark += f" (priority {f['priority']})" if "priority" in f else ""
        mark += "" if f.get("autoSelect") else ", only when named"
        formats.setdefault(f["name"], []).append(mark)
    cells = [
        f"`{runtime['metadata']['name']}`",
        "<br>".join(f"{name} {'; '.join(marks)}" for name, marks in formats.items()),
        ", ".join(spec.get("protocolVersions", [])) or "any",
        f"`{spec['containers'][0]['image']}`",
        runtime["metadata"].get("annotations", {}).get(SERVER_TYPE, ""),
        "several" if "workerSpec" in spec else "one",
    ]
    return "| " + " | ".join(cells) + " |"


def table(objects):
    lines = ["| runtime | model formats and versions | protocols | image | server type | nodes |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [row(o) for (kind, _), o in sorted(objects.items()) if kind == "ClusterServingRuntime"]
    return "\n".join(lines)


def check_readme(objects, results, write):
    with open(README, encoding="utf-8") as f:
        text = f.read()
    before, found, rest = text.partition(BEGIN)
    current, end, after = rest.partition(END)
    results.expect(found and end, "runtime-catalog/README.md: the marks around the table are missing")
    if not (found and end):
        return
    want = "\n" + table(objects) + "\n"
    if write and current != want:
        with open(README, "w", encoding="utf-8") as f:
            f.write(before + BEGIN + want + END + after)
        current = want
    results.expect(current == want, "runtime-catalog/README.md: the table is not that of the manifests; run tests/scripts/check_catalog.py --write")


def differences(want, got, path=""):
    if isinstance(want, dict) and isinstance(got, dict):
        for k in sorted(set(want) | set(got)):
            yield from differences(want.get(k), got.get(k), f"{path}/{k}")
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (a, b) in enumerate(zip(want, got)):
            yield from differences(a, b, f"{path}/{i}")
    elif want != got or type(want) is not type(got):
        yield f"{path}: {json.dumps(got)[:120]}, the original says {json.dumps(want)[:120]}"


def meaning(o):
    """The part of an object that a plan depends on."""
    if o["kind"] == "ConfigMap":
        return {k: json.loads(v) for k, v in o["data"].items() if k != "_example"}
    annotations = o["metadata"].get("annotations") or {}
    return {"spec": o["spec"], "disabled": o.get("disabled"), "server type": annotations.get(SERVER_TYPE)}


def check_originals(objects, results):
    shared = os.environ.get("PERIGEE_SHARED") or os.path.join(os.path.dirname(ROOT), "shared")
    path = os.path.join(shared, "golden", "kserve", "defaults", "all.json")
    if not os.path.exists(path):
        print("comparison with the recorded originals left out: they are not at hand (PERIGEE_SHARED)")
        return
    with open(path, encoding="utf-8") as f:
        originals = [o for part in json.load(f).values() for o in part]
    for want in originals:
        kind, name = want["kind"], want["metadata"]["name"]
        got = objects.get((kind, name))
        bad = list(differences(meaning(want), meaning(got))) if got else ["is not in the catalog"]
        results.expect(not bad, f"{kind} {name}: {'; '.join(bad[:5])}")
    runtimes = {k for k in objects if k[0] == "ClusterServingRuntime"}
    extra = runtimes - {(o["kind"], o["metadata"]["name"]) for o in originals}
    results.expect(not extra, f"runtimes without an original: {sorted(name for _, name in extra)}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--write", action="store_true", help="bring the table in the README up to date")
    args = ap.parse_args()
    results = Results()
    objects = load_manifests(results)
    results.expect(any(kind == "ClusterServingRuntime" for kind, _ in objects), "runtime-catalog/: no runtimes found")
    check_readme(objects, results, args.write)
    check_originals(objects, results)
    print(f"{results.passed} passed, {results.failed} failed")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
