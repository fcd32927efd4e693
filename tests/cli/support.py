# SPDX-License-Identifier: Apache-2.0
"""What the command line tests share: running the binary, temporary folders, waiting for something to become true."""
import json
import os
import shutil
import subprocess
import tempfile
import textwrap
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PERIGEE = os.environ.get("PERIGEE", os.path.join(ROOT, "build", "asan", "perigee"))
CATALOG = os.path.join(ROOT, "runtime-catalog")


def read_file(*parts):
    with open(os.path.join(*parts)) as f:
        return f.read()


def service(name="iris", namespace="default", framework="sklearn", extra=""):
    return textwrap.dedent(f"""\
        apiVersion: serving.kserve.io/v1beta1
        kind: InferenceService
        metadata:
          name: {name}
          namespace: {namespace}
          annotations:
            serving.kserve.io/deploymentMode: Standard
        spec:
          predictor:
            model:
              modelFormat:
                name: {framework}
              storageUri: gs://bucket/{name}
        """) + textwrap.indent(textwrap.dedent(extra), "      ")


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perigee-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Written beside and renamed, as editors do: a watcher never sees half a file.
        with open(path + ".tmp~", "w") as f:
            f.write(text)
        os.rename(path + ".tmp~", path)
        return path

    def read(self, *parts):
        return read_file(self.path(*parts))

    def run_perigee(self, *args, stdin=None, code=0, env=None):
        """Runs the binary, checks its exit status, returns (stdout, stderr)."""
        p = subprocess.run([PERIGEE, *args], input=stdin, capture_output=True, text=True, timeout=120,
                           env=dict(os.environ, **(env or {})))
        self.assertEqual(p.returncode, code, f"perigee {' '.join(args)}\nstdout: {p.stdout[:2000]}\nstderr: {p.stderr[:4000]}")
        return p.stdout, p.stderr

    def plan(self, *args, code=0, stdin=None):
        out, _ = self.run_perigee("plan", *args, "-o", "json", "--now", "2026-06-01T00:00:00Z", code=code, stdin=stdin)
        return json.loads(out)

    def wait_for(self, condition, seconds=20, what=lambda: ""):
        """Waits for condition() to be true; the limit only bounds a failing test, which says what() it waited for."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.01)
        self.fail(f"waited in vain {what()}")


def kinds(plan):
    return [o["kind"] for o in plan["objects"]]
