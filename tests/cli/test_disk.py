# SPDX-License-Identifier: Apache-2.0
"""perigee controller over a folder on a disk that is full: nothing is half written, and all is made up for when there is room."""
import glob
import os
import shutil
import subprocess
import unittest

import yaml

import support
import test_controller

OBJECTS = [("core", "Service"), ("apps", "Deployment"), ("autoscaling", "HorizontalPodAutoscaler")]


class FullDisk(test_controller.Folder):
    start, stop = test_controller.Running.start, test_controller.Running.stop

    def setUp(self):
        super().setUp()
        disk = self.path("disk")
        os.mkdir(disk)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True, text=True)
        if done.returncode:
            self.skipTest(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        shutil.copytree(self.path("demo"), os.path.join(disk, "demo"))
        shutil.rmtree(self.path("demo"))
        os.symlink(os.path.join(disk, "demo"), self.path("demo"))

    def fill(self):
        """Takes all the room there is, to the last byte."""
        with open(self.path("disk", "filler"), "wb", buffering=0) as f:
            for size in (65536, 4096, 512, 1):
                try:
                    while True:
                        f.write(b"x" * size)
                except OSError:
                    continue

    def whole_files(self):
        """Every file below .perigee can be read and is what it says it is; none is a leftover of writing."""
        for path in glob.glob(self.path("demo", ".perigee", "**", "*"), recursive=True):
            if os.path.isfile(path):
                self.assertRegex(path, r"\.(yaml|ndjson)$|/lock$")
                text = support.read_file(path)
                if path.endswith(".yaml"):
                    self.assertTrue((yaml.safe_load(text) or {}).get("kind"), f"{path}: {text[:200]!r}")
        return True

    def manifests(self):
        return {p: support.read_file(p) for p in glob.glob(self.path("demo", "**", "*.yaml"), recursive=True)}

    def test_exports_say_that_the_disk_is_full(self):
        os.mkdir(self.path("disk", "set"))
        self.fill()
        _, err = self.run_perigee("policies", "export", self.path("disk", "set"), code=2)
        self.assertRegex(err, r"^error: \S+\.lua: No space left on device\n$")
        self.assertEqual(os.listdir(self.path("disk", "set")), [])

    def test_a_disk_that_is_full_at_start_and_then_has_room(self):
        before = self.manifests()
        self.fill()
        self.start()
        self.wait_for(lambda: "No space left on device" in self.read("log"), what=lambda: self.read("log"))
        self.assertEqual(self.deployment(), "")
        self.whole_files()
        self.assertEqual(self.manifests(), before)
        os.unlink(self.path("disk", "filler"))
        for group, kind in OBJECTS:
            self.wait_for(lambda: os.path.exists(self.object(group, kind, "default", "iris-predictor")), 60, lambda: self.read("log"))
        self.whole_files()
        self.assertIsNone(self.process.poll())

    def test_a_disk_that_fills_while_it_runs_keeps_what_was_written(self):
        self.start()
        self.wait_for(lambda: "sklearnserver" in self.deployment())
        edited = support.service().replace("gs://bucket/iris", "gs://bucket/" + "other" * 2000)
        self.write("disk/demo/iris.yaml", support.service().replace("gs://bucket/iris", "gs://bucket/x"))  # the file has its room
        self.wait_for(lambda: "gs://bucket/x" in self.deployment())
        old = self.deployment()
        os.rename(self.write("disk/edited.yaml", edited), self.path("disk", "edited"))
        self.fill()
        os.rename(self.path("disk", "edited"), self.path("demo", "iris.yaml"))
        self.wait_for(lambda: "No space left on device" in self.read("log"), what=lambda: self.read("log"))
        self.assertEqual(self.deployment(), old)
        self.whole_files()
        os.unlink(self.path("disk", "filler"))
        self.wait_for(lambda: "otherother" in self.deployment(), 60, lambda: self.read("log"))
        self.whole_files()


del test_controller  # its own tests are not run a second time here

if __name__ == "__main__":
    unittest.main()
