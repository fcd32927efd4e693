# SPDX-License-Identifier: Apache-2.0
"""The link to edge nodes under hostile and odd input over real sockets: the controller goes on, says what it refused,
and a node that behaves is served meanwhile; objects of any content never end a Local Controller."""
import base64
import json
import os
import socket
import struct
import threading
import unittest

import test_learning_controller as learning
from support import read_file
from test_edge import Edge, local_controller

READY = {"phase": "Train", "status": "Ready", **learning.READY}


def envelope(kind, name, content, ns="factory", operation="status"):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return json.dumps({"header": {"namespace": ns, "resourceKind": kind, "resourceName": name, "operation": operation},
                       "content": base64.b64encode(text).decode()})


class Hostile(Edge):
    def connect_as(self, node):
        connection = local_controller.Socket(f"127.0.0.1:{self.port}", {"Node-Name": node})
        self.addCleanup(connection.close)
        connection.socket.settimeout(10)
        return connection

    def check_alive(self, node="probe"):
        """Shakes hands and gets a ping answered; a busy machine may take its time."""
        def answers():
            self.assertIsNone(self.process.poll(), "the controller ended")
            try:
                connection = self.connect_as(node)
                connection.send(9, b"x")
                opcode = connection.take(2)[0]
                connection.close()
                return opcode == 0x8A
            except OSError:
                return False
        self.wait_for(answers, 60)

    def refusals(self):
        return [json.loads(line) for line in read_file(self.log).splitlines() if "edge link refuses" in line]

    def await_refusal(self, reason, part):
        self.wait_for(lambda: any(r["reason"] == reason and part in r["detail"] for r in self.refusals()),
                      what=lambda: f"for {reason}: {part}; but {self.refusals()}")

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def ready(self):
        self.make_edge()
        self.start()
        self.wait_for(lambda: self.history() == ["Train Waiting"])

    def test_reports_of_nonsense_change_nothing(self):
        self.ready()
        node = self.connect_as("edge1")
        job, long = "IncrementalLearningJob", "x" * 253
        for text, reason, part in (
                (envelope(job, "helmet", b"[" * 100000), "malformed", "nested more than 128 levels"),
                (envelope(job, "helmet", b"\xff\xfe{}"), "malformed", "byte 0xff"),
                (envelope(job, "helmet", b'{"phase":"Train","status":"Ready\\u0000"}'), "refused", "/status: holds a NUL character"),
                (envelope(job, "helmet", {"phase": "Train", "status": "Completed", "output": {"models": {"url": "x"}}}),
                 "refused", "/output/models"),
                (envelope(job, "helmet", {"phase": "Train", "status": "Completed", "output": {"models": [{"metrics": [1]}]}}),
                 "refused", "/output/models/0/metrics"),
                (envelope(job, "helmet", b"1e999999"), "refused", "must be an object"),
                (envelope(job, "helmet", READY, ns="nosuch"), "refused", "there is no IncrementalLearningJob nosuch/helmet"),
                (envelope(job, "helmet", READY, ns="../factory"), "malformed", "not the name of an object"),
                (envelope(job, "..", READY), "malformed", "not the name of an object"),
                (envelope(job, "a\nb%s%n", READY), "malformed", "not the name of an object"),
                (envelope(job, long, READY), "refused", f"there is no IncrementalLearningJob factory/{long}"),
                (envelope(job, long + "x", READY), "malformed", "not the name of an object"),
                (envelope("Dataset", "photos", {"numberOfSamples": "7"}), "refused", "/numberOfSamples"),
                (envelope("Dataset", "photos", {"numberOfSamples": 1.5}), "refused",
                 "/numberOfSamples: must be a whole number of 64 bits, not 1.5"),
                (envelope("Dataset", "photos", {"numberOfSamples": 2 ** 63}), "refused", "64 bits, not 9223372036854775808"),
                (envelope("Dataset", "gone", {"numberOfSamples": 7}), "refused", "there is no Dataset factory/gone"),
                (envelope("Secret", "s3", {}), "kind", "'Secret'"),
                (envelope(job, "helmet", READY, operation="delete"), "operation", "'delete'")):
            node.send(1, text.encode())
            self.await_refusal(reason, part)
        node.send(1, envelope("dAtAsEt", "photos", {"numberOfSamples": 3, "more": "is dropped"}).encode())
        path = self.status_path("sedna.io", "Dataset", "photos")
        self.wait_for(lambda: os.path.exists(path) and "numberOfSamples: 3" in read_file(path))
        self.assertEqual(self.history(), ["Train Waiting"])
        self.end()

    def test_thousands_of_connections_leave_nothing_behind(self):
        self.ready()
        self.check_alive()
        before = self.files()

        def many(thread):
            for i in range(150):
                connection = local_controller.Socket(f"127.0.0.1:{self.port}", {"Node-Name": f"n{thread}-{i}"})
                if i % 3 == 0:  # with a reset
                    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.socket.close()
                else:
                    connection.close()
        threads = [threading.Thread(target=many, args=(t,)) for t in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.wait_for(lambda: self.files() <= before + 1, what=lambda: f"for {before} files, now {self.files()}")
        self.check_alive()
        self.end()

    def test_handshakes_that_never_end_keep_nobody_out(self):
        self.ready()
        slow = []
        for _ in range(300):
            connection = socket.create_connection(("127.0.0.1", self.port))
            connection.sendall(b"GET / HTT")
            slow.append(connection)
        self.check_alive()
        for connection in slow:  # the server hangs up: no request came
            connection.settimeout(30)
            self.assertIn(connection.recv(100)[:8], (b"", b"HTTP/1.1"))
            connection.close()
        self.end()

    def test_floods_of_reports_and_pings_do_not_keep_others_out(self):
        self.ready()
        flood, pings = self.connect_as("flood"), self.connect_as("pings")
        report = envelope("Dataset", "photos", {"numberOfSamples": 1}).encode()
        frame = b"\x81\xfe" + struct.pack("!H", len(report)) + b"\0\0\0\0" + report

        def send(connection, data, count):
            try:
                for _ in range(count):
                    connection.socket.sendall(data)
            except OSError:
                pass  # it was slowed down, or dropped
        threads = [threading.Thread(target=send, args=(flood, frame, 5000), daemon=True),
                   threading.Thread(target=send, args=(pings, b"\x89\x84\0\0\0\0ping" * 100, 1000), daemon=True)]
        for thread in threads:
            thread.start()
        controller = self.connect("edge1")
        self.wait_for(lambda: self.knows_job("edge1"), 30)
        self.add_samples()
        self.wait_for(lambda: "Train Ready" in self.history(), 60)
        self.assertIsNone(controller.crashed)
        flood.close()
        pings.close()
        self.check_alive()
        self.end()

    def test_urls_of_any_kind_never_end_a_local_controller(self):
        self.make_edge()
        urls = ("http://h/x", "https://h/x.txt", "s3://b/x", "S3://b/x", "gs://b/x", "ftp://h/x", "file:///x", "data:,x", "", "://",
                "s3:", "/%zz", "h:80:90/x", "//h/x", "relative/x", "/a\nb", "/ä", "s3://b/%zz", "[::1]/x", "/" + "x" * 5000)
        for i, url in enumerate(urls):
            self.write(f"store/d{i}.json", json.dumps(
                {"apiVersion": "sedna.io/v1alpha1", "kind": "Dataset", "metadata": {"name": f"d{i}", "namespace": "factory"},
                 "spec": {"url": url, "format": "txt", "nodeName": "edge1"}}))
            self.write(f"store/m{i}.json", json.dumps(
                {"apiVersion": "sedna.io/v1alpha1", "kind": "Model", "metadata": {"name": f"m{i}", "namespace": "factory"},
                 "spec": {"url": url, "format": "ckpt"}}))
        self.start()
        controller = self.connect("edge1")
        self.wait_for(lambda: self.knows_job("edge1"), 30)
        told = {h[2] for h in list(controller.heard) if h[1] == "dataset"}
        odd = {f"d{i}" for i, url in enumerate(urls) if not url.startswith("/") or url.startswith("//") or "%zz" in url}
        self.assertFalse(told & (odd - {f"d{urls.index('//h/x')}", f"d{urls.index('relative/x')}"}), told)
        self.check_nodes()
        self.add_samples()
        self.until(lambda: "Train Completed" in self.history())
        self.end()


if __name__ == "__main__":
    unittest.main()
