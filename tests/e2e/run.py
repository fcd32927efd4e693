#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the end-to-end tests in a lab of their own, which goes with them however they end.

    run.py [--lab FOLDER] [--keep] [--again] [-v] [NAME…]   NAME: a part of a test's full name (module.Class.test); any may match

--again gives a test that failed one more try, alone: one that passes then is named as unstable, with how it failed, and
counts as passed.
--lab uses one that is up already (lab.py up FOLDER) and leaves it up. --keep leaves the folder with all logs behind.
"""
import argparse
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import lab as lab_module
import support

HERE = os.path.dirname(os.path.abspath(__file__))


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def chosen(names):
    """The tests whose full name contains one of names, in suites by class so that class fixtures run once."""
    found = unittest.defaultTestLoader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    wanted = [t for t in tests_of(found) if not names or any(n in t.id() for n in names)]
    classes = {}
    for test in wanted:
        classes.setdefault(type(test), unittest.TestSuite()).addTest(test)
    return unittest.TestSuite(classes.values()), len(wanted)


class Recorded(unittest.TestCase):
    """After all others: what their controllers decided, killed ones too, is decided again without the cluster."""

    def test_every_decision_is_made_again_bit_for_bit(self):
        files = sorted(glob.glob(support.LAB.path("recordings", "*")))
        if not files:
            self.skipTest("no controller ran")
        decisions, bad = 0, []
        for file in files:
            p = subprocess.run([support.PERIGEE, "replay", file, "-o", "json"], capture_output=True, text=True, timeout=600,
                               env=dict(os.environ, KUBECONFIG="/nowhere"))
            if p.returncode:
                bad.append(f"{os.path.basename(file)}: exit status {p.returncode}\n{p.stdout[-2000:]}{p.stderr[-2000:]}")
            else:
                decisions += len(json.loads(p.stdout)["decisions"])
        self.assertEqual(bad, [])
        self.assertGreater(decisions, 0)
        print(f"{decisions} decisions in {len(files)} recordings are made again bit for bit", file=sys.stderr)


def failed_of(result):
    return [(test, text) for test, text in result.failures + result.errors]


def once_more(bad, verbosity):
    """Runs what failed again. A class that could not be set up runs as a whole. Returns what failed again."""
    suites = {}
    for test, _ in bad:
        if isinstance(test, unittest.TestCase):
            suites.setdefault(type(test), unittest.TestSuite()).addTest(type(test)(test._testMethodName))
        else:  # setUpClass (module.Class)
            suites[test.id()] = chosen([test.id().split("(")[-1].rstrip(")") + "."])[0]
    result = unittest.TextTestRunner(verbosity=verbosity).run(unittest.TestSuite(suites.values()))
    again = failed_of(result)
    for test, text in bad:
        if test.id() not in {t.id() for t, _ in again}:
            print(f"unstable: {test.id()} failed and then passed:\n{text}", file=sys.stderr)
    return again


def stopped(_number, _frame):
    raise KeyboardInterrupt  # the one exception that unittest does not take for a failing test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lab", metavar="FOLDER")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stopped)

    folder = options.lab or tempfile.mkdtemp(prefix="perigee-lab-")
    lab = lab_module.Lab(folder)
    good = False
    try:
        if options.lab:
            lab.detached = True  # parts that tests kill and start again stay up as well
            if lab.shape is None:
                raise lab_module.Trouble(f"there is no lab in {folder}")
        else:
            lab.up()
        support.LAB = lab
        suite, count = chosen(options.names)
        if not count:
            raise lab_module.Trouble(f"no test is called {' or '.join(options.names)}")
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(Recorded))
        result = unittest.TextTestRunner(verbosity=2 if options.v else 1).run(suite)
        failed = failed_of(result)
        if failed and options.again:
            failed = once_more(failed, 2 if options.v else 1)
        good = not failed and not result.unexpectedSuccesses
        bad = len(failed) + len(result.unexpectedSuccesses)
        print(f"{result.testsRun - bad - len(result.skipped) - len(result.expectedFailures)} passed, {bad} failed", flush=True)
    finally:
        if not options.lab:
            lab.down()
            if options.keep or not good:
                print(f"logs of the lab: {folder}", file=sys.stderr)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except lab_module.Trouble as e:
        print(f"e2e: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("e2e: stopped", file=sys.stderr)
        sys.exit(130)
