#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED" for a JUnit report of ctest: the single tests of cmocka programs, other entries as one each.

    count_ctest.py REPORT.xml
"""
import os
import re
import sys
import xml.etree.ElementTree


def main():
    if not os.path.exists(sys.argv[1]):
        print("0 1")
        return
    passed = failed = 0
    for case in xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"):
        output = case.findtext("system-out") or ""
        ok = len(re.findall(r"^\[       OK \] ", output, re.M))
        # cmocka names a failing test twice: where it ran and in the list at the end
        bad = len(set(re.findall(r"^\[  (?:FAILED|ERROR)  \] (?!\d+ test)(\S+)", output, re.M)))
        if case.get("status") != "run":
            bad = max(bad, 1)
        passed += ok if ok or bad else 1
        failed += bad
    print(passed, failed)


if __name__ == "__main__":
    main()
