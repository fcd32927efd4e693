# SPDX-License-Identifier: Apache-2.0
"""A proxy with bad manners: HTTPS between a client and the lab's API server, in which tests make things go wrong.

    proxy = FaultProxy(lab, folder)                     forwards everything, and notes each request in proxy.seen
    proxy.on("GET", r"/pods\\?", answer(503))           every GET that matches is answered with 503
    proxy.on("PATCH", "/deployments/", drop, times=1)   the first one takes effect, but its answer is lost
    proxy.clear()                                       good manners again
    proxy.check_met()                                   fails when a fault never happened
    proxy.close_port() … proxy.open_port()              connections are refused meanwhile
    proxy.freeze() … proxy.thaw()                       sockets stay open, no byte passes in either direction

A fault is a function of one Exchange; those below are made to be used as they are. It speaks HTTP/1.1 only, so that one
connection carries one request at a time.
"""
import http.client
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import threading
import time

from lab import free_ports


def make_identity(folder, name="proxy", ca=None, env=None):
    """A CA (unless given) and a certificate for 127.0.0.1 signed by it; returns (ca.crt, server.crt, server.key)."""
    def path(end):
        return os.path.join(folder, name + end)

    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, env=env)
    if ca is None:
        ca = (path("-ca.crt"), path("-ca.key"))
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-keyout", ca[1], "-out", ca[0], "-subj", f"/CN={name} ca {os.urandom(4).hex()}")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path(".key"),
            "-out", path(".csr"), "-subj", "/CN=127.0.0.1")
    with open(path(".ext"), "w") as f:
        f.write("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", path(".csr"), "-CA", ca[0], "-CAkey", ca[1], "-CAcreateserial", "-days", "30",
            "-extfile", path(".ext"), "-out", path(".crt"))
    return ca[0], path(".crt"), path(".key")


class Closed(Exception):
    """The connection is over."""


class Exchange:
    """One request on its way: head and body as the client sent them, and what may be done with it."""

    def __init__(self, proxy, client, method, path, headers, body):
        self.proxy, self.client = proxy, client
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.upstream = None

    @property
    def is_watch(self):
        return "watch=true" in self.path or "watch=1" in self.path

    def send(self, data):
        self.proxy.wait_thawed()
        self.client.sendall(data)

    def answer(self, status, body=b"", headers=()):
        body = body if isinstance(body, bytes) else body.encode()
        head = f"HTTP/1.1 {status} {http.client.responses.get(status, 'Odd')}\r\n"
        for name, value in headers or [("Content-Type", "application/json")]:
            head += f"{name}: {value}\r\n"
        self.send(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def reset(self):
        """Ends the connection with RST instead of FIN."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Closed

    def ask(self):
        """Sends the request on and returns the server's answer (http.client), its body unread."""
        lab = self.proxy.lab
        context = ssl.create_default_context(cafile=lab.ca)
        connection = http.client.HTTPSConnection("127.0.0.1", lab.port, context=context)
        self.upstream = connection
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("accept-encoding", "expect", "content-length")}
        connection.request(self.method, self.path, self.body or None, headers)
        self.proxy.track(connection.sock)
        return connection.getresponse()

    def forward(self, lines=None, cut_after=None, end=None, piece=0):
        """Passes the answer on. lines: what to send for each line of the body (a watch's events), a list of bytes; cut_after:
        only so many bytes of the body, then end(); piece: bytes at a time."""
        response = self.ask()
        head = f"HTTP/1.1 {response.status} {response.reason}\r\n"
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                head += f"{name}: {value}\r\n"
        self.send((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
        left, rest = cut_after, b""
        while True:
            data = response.read1(65536)
            if lines:
                *whole, rest = (rest + data).split(b"\n")
                out = b"".join(part for line in whole for part in lines(line + b"\n"))
                out += b"".join(lines(rest)) if not data and rest else b""
            else:
                out = data
            if left is not None:
                out, left = out[:left], left - len(out)
            step = piece or len(out) or 1
            for i in range(0, len(out), step):
                part = out[i:i + step]
                self.send(b"%x\r\n%s\r\n" % (len(part), part))
            if left is not None and left <= 0:
                (end or self.shut)()
            if not data:
                break
        self.send(b"0\r\n\r\n")
        response.close()

    def shut(self):
        """Ends the connection with FIN in the middle of whatever it was."""
        raise Closed


# ---- faults ----

def answer(status, body="", headers=()):
    def fault(exchange):
        exchange.answer(status, body, headers)
    return fault


def status_of(code, reason, message="made up by a test", **details):
    """A fault: the Status object that an API server would send."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
    if details:
        body["details"] = details
    headers = [("Content-Type", "application/json")]
    if "retryAfterSeconds" in details:
        headers.append(("Retry-After", str(details["retryAfterSeconds"])))
    return answer(code, json.dumps(body), headers)


def reset(exchange):
    """RST instead of an answer: the request did not reach the server."""
    exchange.reset()


def drop(exchange):
    """The request takes effect, its answer is lost."""
    exchange.ask().read()
    exchange.shut()


def hang(exchange):
    """No answer, until the proxy's faults are cleared."""
    exchange.proxy.wait_cleared()
    exchange.shut()


def late(seconds):
    def fault(exchange):
        exchange.proxy.pause(seconds)
        exchange.forward()
    return fault


def cut(after, with_reset=False):
    """The answer ends after so many bytes of its body."""
    def fault(exchange):
        exchange.forward(cut_after=after, end=exchange.reset if with_reset else exchange.shut)
    return fault


def drip(size):
    def fault(exchange):
        exchange.forward(piece=size)
    return fault


def lines(edit):
    """Each line of the body becomes what edit(line) gives."""
    def fault(exchange):
        exchange.forward(lines=edit)
    return fault


class FaultProxy:
    def __init__(self, lab, folder, identity=None):
        self.lab = lab
        self.identity = identity or make_identity(folder)
        self.rules, self.seen, self.unmet, self.lock = [], [], [], threading.Lock()
        self.cleared, self.thawed = threading.Event(), threading.Event()
        self.thawed.set()
        self.sockets = set()
        self.port, self.listener, self.is_closed = free_ports(1)[0], None, False
        self.load_identity(self.identity)
        self.open_port()

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca(self):
        return self.identity[0]

    def load_identity(self, identity):
        """Shows another certificate from the next connection on."""
        self.identity = identity
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity[1], identity[2])
        context.set_alpn_protocols(["http/1.1"])
        self.context = context

    # ---- rules ----

    def on(self, method, path, fault, times=None, after=0, may_miss=False):
        """The fault for requests of this method ("" for any) whose path matches, `times` of them, the first `after` spared. A
        test in which it never happened has shown nothing, see check_met, unless it may_miss."""
        with self.lock:
            self.cleared.clear()
            self.rules.append({"method": method, "path": re.compile(path), "fault": fault, "times": times, "after": after, "hits": 0,
                               "may_miss": may_miss})
            return self.rules[-1]

    def clear(self):
        with self.lock:
            self.unmet += [f"{r['method']} {r['path'].pattern}" for r in self.rules if r["hits"] <= r["after"] and not r["may_miss"]]
            self.rules.clear()
            self.cleared.set()

    def are_met(self):
        """Whether every fault that has to happen has."""
        with self.lock:
            return all(r["hits"] > r["after"] or r["may_miss"] for r in self.rules)

    def check_met(self):
        """Fails when a fault was arranged that never happened."""
        self.clear()
        unmet, self.unmet = self.unmet, []
        if unmet:
            raise AssertionError(f"no request came for the faults of {', '.join(unmet)}")

    def fault_for(self, exchange):
        with self.lock:
            self.seen.append((time.monotonic(), exchange.method, exchange.path))
            for rule in self.rules:
                if rule["method"] in ("", exchange.method) and rule["path"].search(exchange.path):
                    rule["hits"] += 1
                    n = rule["hits"] - rule["after"]
                    if n > 0 and (rule["times"] is None or n <= rule["times"]):
                        return rule["fault"]
        return None

    def requests(self, method="", path="", since=0.0):
        """Those seen since, as (time, method, path)."""
        with self.lock:
            return [s for s in self.seen if s[0] >= since and method in ("", s[1]) and re.search(path, s[2])]

    # ---- the network ----

    def open_port(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close_port(self, cut_open_ones=True):
        """Nobody listens any more."""
        listener, self.listener = self.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        if cut_open_ones:
            self.cut_all()

    def cut_all(self, with_reset=False):
        """Ends all connections that are open now."""
        with self.lock:
            sockets, self.sockets = self.sockets, set()
        for s in sockets:
            try:
                if with_reset:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.close()
                else:
                    s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def freeze(self):
        self.thawed.clear()

    def thaw(self):
        self.thawed.set()

    def wait_thawed(self):
        self.thawed.wait()

    def wait_cleared(self):
        self.cleared.wait(600)

    def pause(self, seconds):
        """Time passes, unless the faults are cleared before."""
        self.cleared.wait(seconds)

    def track(self, s):
        with self.lock:
            self.sockets.add(s)

    def close(self):
        self.is_closed = True
        self.clear()
        self.thaw()
        if self.listener:
            self.close_port()
        self.cut_all()

    def _accept(self, listener):
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw):
        self.track(raw)
        exchange = None
        try:
            self.wait_thawed()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = self.context.wrap_socket(raw, server_side=True)
            self.track(client)
            stream = client.makefile("rb")
            while True:
                exchange = self._read(client, stream)
                if exchange is None:
                    return
                self.wait_thawed()
                fault = self.fault_for(exchange)
                fault(exchange) if fault else exchange.forward()
                if exchange.upstream:
                    exchange.upstream.close()
        except (Closed, OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            if exchange and exchange.upstream:
                exchange.upstream.close()
            with self.lock:
                self.sockets.discard(raw)
            try:
                client.close()
            except (OSError, UnboundLocalError):
                raw.close()

    def _read(self, client, stream):
        first = stream.readline(65536).decode("latin-1")
        if not first:
            return None
        method, path, _ = first.split()
        headers = {}
        while True:
            line = stream.readline(65536).decode("latin-1")
            if line in ("\r\n", "\n", ""):
                break
            name, value = line.split(":", 1)
            headers[name.strip()] = value.strip()
        low = {k.lower(): v for k, v in headers.items()}
        if low.get("expect", "").lower() == "100-continue":
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(low.get("content-length", "0"))
        return Exchange(self, client, method, path, headers, stream.read(length) if length else b"")


class Tunnel:
    """An HTTP proxy that leads anywhere (CONNECT), or has manners of its own: `manner` is "tunnel", "hang" (takes the
    connection and says nothing), or the status line of an answer ("407 Proxy Authentication Required")."""

    def __init__(self):
        self.manner, self.asked, self.sockets, self.lock = "tunnel", [], set(), threading.Lock()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cut_all(self):
        with self.lock:
            sockets, self.sockets = self.sockets, set()
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        self.cut_all()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.sockets.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, client.makefile("rb") as stream:
                first = stream.readline(8192).decode("latin-1").split()
                while stream.readline(8192).strip():
                    pass
                if len(first) < 2 or first[0] != "CONNECT":
                    return
                self.asked.append((time.monotonic(), first[1]))
                if self.manner == "hang":
                    client.recv(1)  # until somebody gives up
                elif self.manner != "tunnel":
                    client.sendall(f"HTTP/1.1 {self.manner}\r\nContent-Length: 0\r\nProxy-Authenticate: Basic\r\n\r\n".encode())
                else:
                    self._lead(client, first[1])
        except OSError:
            pass
        finally:
            with self.lock:
                self.sockets.discard(client)

    def _lead(self, client, place):
        host, port = place.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            with self.lock:
                self.sockets.add(server)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self._pass, args=(server, client), daemon=True)
            back.start()
            self._pass(client, server)
            back.join()

    @staticmethod
    def _pass(source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
