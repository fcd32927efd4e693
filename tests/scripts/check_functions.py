#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the recorded function cases of tests/cases/functions through the Lua API: `perigee eval tests/lua/golden/NAME.lua` gets each
line of NAME.ndjson ({"id", "in", "out"}, without its out) as the global `input` and must return that out.

    check_functions.py --perigee build/asan/perigee [--only NAME] [-v]

Error texts are compared by presence only. Prints a line for each failing case and "N passed, N failed"; exits 1 when a case fails,
2 when none ran.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import kserve  # noqa: E402  the comparison of the reconcile cases


def run_adapter(perigee, script, cases):
    """One answer a case: a tree, or an Exception."""
    with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as f:
        for case in cases:
            f.write(json.dumps({"id": case["id"], "in": case["in"]}) + "\n")
        f.flush()
        p = subprocess.run([perigee, "eval", script, "--input", f.name], capture_output=True, timeout=600)
    lines = p.stdout.decode(errors="replace").splitlines()
    if p.returncode not in (0, 1) or len(lines) != len(cases):
        why = f"exit {p.returncode}, {len(lines)} lines for {len(cases)} cases: {p.stderr.decode(errors='replace')[:300]}"
        return [RuntimeError(why)] * len(cases)
    return [json.loads(line) for line in lines]


def compare(want, got):
    if isinstance(got, Exception):
        return [str(got)]
    if isinstance(want, dict) and isinstance(got, dict):
        want, got = dict(want), dict(got)
        expected, error = want.pop("error", None), got.pop("error", None)
        if bool(expected) != bool(error):
            return [f"error: {kserve.short(error)}, expected {kserve.short(expected)}"]
        if expected:
            return []
    return list(kserve.diff(kserve.clean(want), kserve.clean(got)))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--perigee", required=True)
    ap.add_argument("--only", default="", help="only files whose name contains this text")
    ap.add_argument("-v", action="store_true", help="print every difference")
    a = ap.parse_args()
    passed = failed = 0
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "cases", "functions", "*.ndjson"))):
        name = os.path.basename(path)[:-len(".ndjson")]
        if a.only not in name:
            continue
        with open(path, encoding="utf-8") as f:
            cases = [json.loads(line) for line in f]
        script = os.path.join(ROOT, "tests", "lua", "golden", name + ".lua")
        if os.path.exists(script):
            answers = run_adapter(a.perigee, script, cases)
        else:
            answers = [RuntimeError(f"there is no {os.path.relpath(script, ROOT)}")] * len(cases)
        bad = 0
        for case, answer in zip(cases, answers):
            differences = compare(case["out"], answer)
            if differences:
                bad += 1
                if bad <= 5 or a.v:
                    more = "" if a.v or len(differences) == 1 else f" (+{len(differences) - 1} more)"
                    print(f"FAIL {name}#{case['id']}: " + ("\n     ".join(differences) if a.v else differences[0] + more))
        print(f"{name:22} {len(cases) - bad:5} equal {bad:5} failed")
        passed, failed = passed + len(cases) - bad, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 2 if passed + failed == 0 else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
