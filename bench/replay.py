#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves the bodies of synth.py as an API server does, as fast as the reader takes them: so a client's own speed is the
bound of a benchmark of lists and watches, and not the server's.

    replay.py FOLDER [--port N] [--endless]

GET .../RESOURCE gives RESOURCE.list.json, or .pb to those who accept protobuf; with watch=1 it gives RESOURCE.watch.*,
once GET /start has been asked for, and then stays open. Of a namespace, or by name, objects are picked
from the list. The port is printed when it listens. With --endless the events of a watch come again and again until
the client goes, and to one that watches anew, the next ones; in JSON their versions grow from one time to the next (15…, 25… for
5…), as a client that looks at them demands; protobuf ones stay as they are.
"""
import argparse
import http.server
import json
import os
import select
import threading
from urllib.parse import parse_qs, urlsplit


def parse_path(path):
    """Resource, namespace and name of /api/v1/... or /apis/GROUP/VERSION/..., each None where it is not there."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = None
    if len(parts) > 2 and parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    return (parts + [None])[0], namespace, parts[1] if len(parts) > 1 else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as API servers do; else a body waits up to 40 ms for the client's word that it has the head

    def log_message(self, *args):
        pass

    def send_file(self, path):
        with open(path, "rb") as f:
            self.connection.settimeout(None)
            self.connection.sendfile(f)

    def send_again(self, path):
        """Whole lines, so that no version is cut."""
        self.server.times += 1
        loop = self.server.times
        if not path.endswith(".json"):
            self.send_file(path)
            return
        with open(path, "rb") as f:
            while chunk := f.read(1 << 22):
                chunk += f.readline()
                self.wfile.write(chunk.replace(b'"resourceVersion":"', b'"resourceVersion":"%d' % loop))

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/start":
            self.server.started.set()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        resource, namespace, name = parse_path(url.path)
        if namespace or name:
            self.pick(resource, namespace, name)
            return
        is_watch = parse_qs(url.query).get("watch", ["0"])[0] not in ("0", "false")
        is_protobuf = "protobuf" in self.headers.get("Accept", "") and not url.path.endswith("/inferenceservices")
        path = os.path.join(self.server.folder, resource or "none")
        path += f".{'watch' if is_watch else 'list'}.{'pb' if is_protobuf else 'json'}"
        if not is_watch and not os.path.exists(path):
            self.send_error(404)
            return
        content = "application/vnd.kubernetes.protobuf" if is_protobuf else "application/json"
        self.send_response(200)
        self.send_header("Content-Type", content + (";stream=watch" if is_watch and is_protobuf else ""))
        if is_watch:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(os.path.getsize(path)))
        self.end_headers()
        try:
            self.watch(path) if is_watch else self.send_file(path)
        except OSError:
            self.close_connection = True  # the client has had enough

    def pick(self, resource, namespace, name):
        path = os.path.join(self.server.folder, f"{resource}.list.json")
        answer = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                answer = json.load(f)
        picked = [item for item in answer.get("items", [])
                  if item["metadata"].get("namespace") == namespace and name in (None, item["metadata"]["name"])]
        if name or not answer:
            answer = picked[0] if picked else {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                                               "message": f"{resource} {name} not found", "code": 404}
        else:
            answer["items"] = picked
        text = json.dumps(answer).encode()
        self.send_response(404 if answer.get("kind") == "Status" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def watch(self, path):
        self.wfile.flush()
        if os.path.exists(path):
            self.server.started.wait()
            if not self.server.times:
                self.send_file(path)
            while self.server.is_endless:
                self.send_again(path)
        poll = select.poll()
        poll.register(self.connection, select.POLLIN | select.POLLHUP)
        poll.poll()  # until the client goes


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # as API servers: with 5 the eighth connection of a client waits a second

    def __init__(self, folder, port, is_endless):
        super().__init__(("127.0.0.1", port), Handler)
        self.folder, self.is_endless, self.started = folder, is_endless, threading.Event()
        self.times = 0  # that the events were sent after the first


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--endless", action="store_true")
    args = parser.parse_args()
    server = Server(args.folder, args.port, args.endless)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
