#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Local Controller of an edge node for tests, after the description of Sedna's: connects, watches Datasets, runs the
loops of learning jobs, passes on what workers post, and dies where the real one dies.

    GM_ADDRESS=127.0.0.1:9000 NODENAME=edge1 ROOTFS_MOUNT_DIR=/tmp/root python3 local_controller.py

From a test: LocalController(address, node, root).start(), stop(); `crashed` says why it died, `hazards` what would have
harmed a real one, `heard` and `said` what went over the wire. The loops of the real one run each 10 s and 60 s; here
each `tick` seconds.
"""
import base64
import contextlib
import http.server
import json
import os
import shutil
import socket
import struct
import sys
import threading
import time

HOT_ANNOTATION = "sedna.io/model-hot-update-config"
SETTLE = 0.2  # a second first message about an object within this time may lose one of them


class Crash(Exception):
    """The process would have died here."""


# ---- Go's decoder: a message is laid over what is there ----

def lay_over(old, new):
    if isinstance(old, dict) and isinstance(new, dict):
        out = dict(old)
        for key, value in new.items():
            out[key] = lay_over(old.get(key), value)
        return out
    if isinstance(old, list) and isinstance(new, list):  # entries keep what the new ones do not name
        return [lay_over(old[i], v) if i < len(old) else v for i, v in enumerate(new)]
    return new


# ---- triggers ----

def holds(value, operator, threshold):
    equal = abs(value - threshold) < 1e-6
    return {"gt": not equal and value > threshold, "ge": equal or value >= threshold, "eq": equal, "ne": not equal,
            "le": equal or value <= threshold, "lt": not equal and value < threshold}.get(
                {">": "gt", ">=": "ge", "=": "eq", "==": "eq", "!=": "ne", "<=": "le", "<": "lt"}.get(operator, operator),
                False)


def fires(trigger, values):
    timer, condition = trigger.get("timer"), trigger.get("condition")
    if timer:
        now, start, end = time.strftime("%H:%M"), timer.get("start", ""), timer.get("end", "")
        if not (start <= now or now <= end if start > end else start <= now <= end):
            return False
    if not condition:
        return True
    metric, operator, threshold = condition["metric"], condition["operator"], condition["threshold"]
    if "[" not in metric:
        if metric not in values:
            return False
        value = values[metric]
        return holds(0 if isinstance(value, list) else value, operator, threshold)
    name, left, right = metric[:metric.index("[")].strip(), metric.index("["), metric.rfind("]")
    if name not in values:
        return False
    if right < left + 1:
        raise Crash(f"slice bounds out of range in metric {metric!r}")
    try:
        index = int(metric[left + 1:right])
    except ValueError:
        return False
    if not isinstance(values[name], list) or index >= len(values[name]):
        return False
    if index < 0:
        raise Crash(f"index {index} in metric {metric!r}")
    return holds(values[name][index], operator, threshold)


# ---- a WebSocket client ----

class Socket:
    def __init__(self, address, headers):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=5)
        try:
            self.shake_hands(address, headers)
        except OSError:
            self.socket.close()
            raise

    def shake_hands(self, address, headers):
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lock = threading.Lock()
        request = "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: Go-http-client/1.1\r\nConnection: Upgrade\r\n" % address
        request += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n"
        request += "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        self.socket.sendall(request.encode() + b"\r\n")
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        self.answer = {k.lower(): v for k, v in (line.split(": ", 1) for line in head.decode().split("\r\n")[1:])}
        if self.status != 101:
            raise ConnectionError(f"bad handshake: {self.status}")
        self.socket.settimeout(None)

    def fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("closed")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def send(self, opcode, payload):
        mask = os.urandom(4)
        length = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | length]) if length < 126 else (
            struct.pack("!BH", 0x80 | 126, length) if length < 65536 else struct.pack("!BQ", 0x80 | 127, length))
        body = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
        with self.lock:
            self.socket.sendall(head + mask + body)

    def receive(self):
        """The next text message; answers pings; raises ConnectionError at the end."""
        message = b""
        while True:
            first, second = self.take(2)
            length = second & 0x7F
            if length == 126:
                length = struct.unpack("!H", self.take(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", self.take(8))[0]
            payload, opcode = self.take(length), first & 0x0F
            if opcode == 9:
                self.send(10, payload)
            elif opcode == 8:
                raise ConnectionError("close %d" % struct.unpack("!H", payload[:2])[0] if len(payload) > 1 else "close")
            elif opcode in (0, 1, 2):
                message += payload
                if first & 0x80:
                    return message.decode()

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


# ---- one job on the node ----

class Job:
    def __init__(self):
        self.object = {}
        self.rounds = 0
        self.previous = 0
        self.train, self.eval, self.versions = [], [], []
        self.dataset = None
        self.models = {}  # loaded once: "train", "deploy", "eval"
        self.is_started = False
        self.reset()

    def reset(self):
        self.done = {"Train": False, "Eval": False, "Deploy": False, "hot": False}

    @property
    def conditions(self):
        return (self.object.get("status") or {}).get("conditions") or []

    def latest(self):
        return (self.conditions[-1].get("stage", ""), self.conditions[-1].get("type", "")) if self.conditions else ("", "")

    def newest(self, stage, type_, part):
        """The models of the newest condition of that kind whose data has that part; None when there is none."""
        for condition in reversed(self.conditions):
            if (condition.get("stage"), condition.get("type")) != (stage, type_):
                continue
            try:
                found = (json.loads(condition.get("data") or "") or {}).get(part)
            except ValueError:
                continue
            if found is not None:
                return found.get("models") or []
        return None

    def trained_for(self, model):
        for trained in self.newest("Train", "Completed", "output") or []:
            devices = trained.get("device_soc_versions") or []
            if trained.get("format", "") != model["format"]:
                continue
            if model["devices"] is None or len(devices) != 1 or devices[0] in model["devices"]:
                return trained
        raise Crash(f"no trained model of format {model['format']!r} (nil pointer)")


class LocalController:
    def __init__(self, address, node, root, tick=0.05, port=0, hot_root=None):
        self.address, self.node, self.root, self.tick, self.port = address, node, root, tick, port
        self.hot_root = hot_root or root  # nodes of a test may share the rest, as if it were on a file server
        self.lock = threading.RLock()
        self.datasets, self.models, self.jobs = {}, {}, {}
        self.first_heard = {}
        self.heard, self.said, self.hazards = [], [], []
        self.outbox = []
        self.crashed = None
        self.socket = None
        self.is_stopped = threading.Event()
        self.wake = threading.Event()
        self.has_network = threading.Event()
        self.has_network.set()
        self.leaves_after = None  # (phase, status): leave() when that has been sent
        self.server = None
        self.threads = []

    # ---- life ----

    def start(self):
        controller = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                status, answer = controller.take_post(self.path, self.rfile.read(length))
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        for target in (self.server.serve_forever, self.connect_loop, self.send_loop, self.dataset_loop, self.job_loop):
            thread = threading.Thread(target=target, daemon=True)
            self.threads.append(thread)
            thread.start()
        return self

    def stop(self):
        self.is_stopped.set()
        self.wake.set()
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None
        self.drop()
        for thread in self.threads:
            thread.join(5)

    def drop(self):
        """The connection breaks; it is dialled again at once."""
        current = self.socket
        if current:
            current.close()

    def leave(self):
        """The node is cut off, and its Local Controller runs on, until come_back()."""
        self.has_network.clear()
        self.drop()

    def come_back(self):
        self.has_network.set()

    def die(self, why):
        with self.lock:
            self.crashed = self.crashed or str(why)
        self.is_stopped.set()
        self.wake.set()
        self.drop()

    # ---- the wire ----

    def connect_loop(self):
        while not self.is_stopped.is_set():
            if not self.has_network.wait(self.tick):
                continue
            try:
                current = None
                current = Socket(self.address, {"Node-Name": self.node})
                current.send(1, b'{"namespace":"","resourceKind":"","resourceName":"","operation":""}\n')
            except OSError:
                if current:
                    current.close()
                self.is_stopped.wait(self.tick * 2)
                continue
            self.socket = current
            self.wake.set()
            try:
                while not self.is_stopped.is_set():
                    self.hear(json.loads(current.receive()))
            except (OSError, ValueError):
                pass
            self.socket = None
            current.close()

    def send_loop(self):
        while not self.is_stopped.is_set():
            self.wake.wait(self.tick)
            self.wake.clear()
            while self.outbox and self.socket and not self.is_stopped.is_set():
                message = self.outbox.pop(0)
                try:
                    self.socket.send(1, (json.dumps(message) + "\n").encode())
                except (OSError, AttributeError):
                    self.outbox.append(message)
                    break
                content = json.loads(base64.b64decode(message["content"]))
                if self.leaves_after and (content.get("phase"), content.get("status")) == self.leaves_after:
                    self.leaves_after = None
                    self.leave()

    def say(self, object_, content):
        header = {"namespace": object_["metadata"]["namespace"], "resourceKind": object_.get("kind", ""),
                  "resourceName": object_["metadata"]["name"], "operation": "status"}
        with self.lock:
            self.said.append((header["resourceKind"], header["resourceName"], content))
            self.outbox.append({"header": header, "content": base64.b64encode(json.dumps(content).encode()).decode()})
        self.wake.set()

    # ---- what is told ----

    def hear(self, message):
        header, text = message["header"], base64.b64decode(message["content"])
        kind, key = header["resourceKind"], (header["namespace"], header["resourceName"])
        content = json.loads(text)
        with self.lock:
            self.heard.append((header["operation"], kind, header["resourceName"], content))
            try:
                if header["operation"] == "delete":
                    first = self.first_heard.pop((kind, key), None)
                    if first and time.monotonic() - first < SETTLE:
                        self.hazards.append(f"{kind} {key[1]} is deleted while it starts")
                    self.forget(kind, key)
                elif header["operation"] == "insert":
                    now, first = time.monotonic(), self.first_heard.setdefault((kind, key), time.monotonic())
                    if 0 < now - first < SETTLE:
                        self.hazards.append(f"second message about the new {kind} {key[1]} after {now - first:.3f} s")
                    self.learn(kind, key, content)
                else:
                    self.hazards.append(f"operation {header['operation']}")
            except Crash as crash:
                self.die(crash)

    def learn(self, kind, key, content):
        if kind == "model":
            self.models[key] = content
        elif kind == "dataset":
            dataset = self.datasets.setdefault(key, {"object": {}, "samples": None, "told": 0})
            dataset["object"] = lay_over(dataset["object"], content)
        elif kind == "incrementallearningjob":
            job = self.jobs.setdefault(key, Job())
            job.object = lay_over(job.object, content)
            job.is_started = True

    def forget(self, kind, key):
        if kind == "dataset":
            self.datasets.pop(key, None)
        elif kind == "incrementallearningjob":
            job = self.jobs.pop(key, None)
            folder = ((job.object["metadata"].get("annotations") or {}).get(HOT_ANNOTATION)) if job else None
            if folder and os.path.isdir(os.path.dirname(self.hot_root + folder)):
                for name in os.listdir(os.path.dirname(self.hot_root + folder)):
                    os.remove(os.path.join(os.path.dirname(self.hot_root + folder), name))

    # ---- loops ----

    def under(self, path):
        return self.root.rstrip("/") + path

    def dataset_loop(self):
        while not self.is_stopped.wait(self.tick):
            with self.lock:
                for dataset in self.datasets.values():
                    spec = dataset["object"]["spec"]
                    if spec["format"].lower() not in ("txt", "csv") or not os.path.isfile(self.under(spec["url"])):
                        continue
                    with open(self.under(spec["url"])) as f:
                        lines = f.read().splitlines()
                    dataset["samples"] = lines[1:] if spec["format"].lower() == "csv" else lines
                    if len(dataset["samples"]) != dataset["told"]:
                        dataset["told"] = len(dataset["samples"])
                        self.say(dataset["object"], {"numberOfSamples": dataset["told"]})

    def job_loop(self):
        while not self.is_stopped.wait(self.tick):
            with self.lock:
                for key, job in list(self.jobs.items()):
                    try:
                        self.run(key, job)
                    except Crash as crash:
                        self.die(crash)
                        return

    def load(self, job, which, name):
        if which not in job.models:
            model = self.models.get((job.object["metadata"]["namespace"], name))
            if not model:
                return None
            job.models[which] = {"format": model["spec"].get("format", ""), "url": model["spec"].get("url", ""),
                                 "devices": model["spec"].get("device_soc_versions")}
        return job.models[which]

    def take_samples(self, job):
        if not job.dataset or job.dataset["samples"] is None:
            return
        samples = job.dataset["samples"]
        new = len(samples) - job.previous
        if new <= 0:
            return
        count = int(job.object["spec"]["dataset"]["trainProb"] * new)
        if count < 0 or count > new:
            raise Crash("slice bounds out of range: trainProb")
        job.train += samples[job.previous:job.previous + count]
        job.versions.append(samples[job.previous + count:])
        for version in job.versions:
            job.eval += version
        job.previous = len(samples)

    def write_samples(self, job, what, samples):
        folder = self.under(f"{job.object['spec']['outputDir']}/data/{what}/{job.rounds}")
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/data.txt", "w") as f:
            f.write("".join(line + "\n" for line in samples))
        return f"{job.object['spec']['outputDir']}/data/{what}/{job.rounds}/data.txt"

    def report(self, job, phase, status, models=None, **more):
        content = {"phase": phase, "status": status, "output": None}
        if models is not None:
            listed = [{k: v for k, v in (("format", m.get("format")), ("url", m.get("url")), ("metrics", m.get("metrics")),
                                         ("classes", None)) if k == "classes" or v is not None} for m in models]
            content["input"] = dict(models=listed, **more)
        self.say(job.object, content)

    def run(self, key, job):
        stage, type_ = job.latest()
        self.take_samples(job)
        if stage not in ("Train", "Eval", "Deploy"):
            self.hazards.append(f"the loop of {key[1]} spins: stage {stage!r}")
        elif type_ == "Waiting":
            {"Train": self.wait_train, "Eval": self.wait_eval, "Deploy": self.wait_deploy}[stage](key, job)
        elif stage == "Deploy" and type_ == "Running" and job.object["spec"]["deploySpec"]["model"].get("hotUpdateEnabled"):
            self.update_hot(job)

    def find_dataset(self, key, job):
        if not job.dataset:
            job.dataset = self.datasets.get((key[0], job.object["spec"]["dataset"]["name"]))
        return job.dataset and job.dataset["samples"] is not None

    def wait_train(self, key, job):
        spec = job.object["spec"]
        if not self.find_dataset(key, job) or not self.load(job, "train", spec["initialModel"]["name"]):
            return
        job.reset()
        if not fires(spec["trainSpec"]["trigger"], {"num_of_samples": len(job.train)}):
            return
        job.rounds += 1
        base = job.models["train"] if job.rounds <= 1 else job.trained_for(job.models["train"])
        url = self.write_samples(job, "train", job.train)
        self.report(job, "Train", "Ready", [base], dataURL=url, outputDir=f"{spec['outputDir']}/train/{job.rounds}")
        job.train = []

    def eval_model(self, job):
        spec = job.object["spec"]
        reference = spec["evalSpec"].get("initialEvalModel")
        return self.load(job, "eval", reference["name"]) if reference else job.models.get("deploy")

    def wait_eval(self, key, job):
        spec = job.object["spec"]
        if not self.find_dataset(key, job) or not self.load(job, "deploy", spec["deploySpec"]["model"]["name"]):
            return
        base = self.eval_model(job)
        if not base or job.done["Eval"]:
            return
        trained = job.trained_for(base)
        url = self.write_samples(job, "eval", job.eval)
        self.report(job, "Eval", "Ready", [trained, base], dataURL=url)
        job.done["Eval"] = True
        if len(job.versions) > 5:
            job.versions.pop(0)

    def deltas(self, job):
        models = job.newest("Eval", "Completed", "output") or []
        if len(models) != 2:
            return None
        metrics = [m.get("metrics") or {} for m in models]
        if not all(isinstance(v, list) for m in metrics for v in m.values()):
            return None
        values = {}
        for name, new in metrics[0].items():
            old = metrics[1].get(name, [])
            if len(old) < len(new):
                raise Crash(f"metric {name} is missing in the second model")
            values[name] = new
            values[name + "_delta"] = [a - b for a, b in zip(new, old)]
        return values

    def copy(self, source, target):
        shutil.copyfile(self.under(source), self.under(target))

    def wait_deploy(self, key, job):
        spec = job.object["spec"]
        if job.done["Deploy"] or not self.load(job, "deploy", spec["deploySpec"]["model"]["name"]):
            return
        values = self.deltas(job)
        job.done["Deploy"] = True
        if values is None or not fires(spec["deploySpec"]["trigger"], values):
            self.report(job, "Deploy", "Completed")
            return
        trained, served = job.trained_for(job.models["deploy"]), job.models["deploy"]
        status = "Ready"
        if not spec["deploySpec"]["model"].get("hotUpdateEnabled"):
            try:
                self.copy(trained["url"], served["url"])
            except OSError:
                status = "Failed"
        self.report(job, "Deploy", status, [trained, served])

    def update_hot(self, job):
        spec = job.object["spec"]
        config = (job.object["metadata"].get("annotations") or {}).get(HOT_ANNOTATION)
        if not config or job.done["hot"] or not self.load(job, "deploy", spec["deploySpec"]["model"]["name"]):
            return
        trained = job.trained_for(job.models["deploy"])
        try:
            shutil.copyfile(self.under(trained["url"]), os.path.join(os.path.dirname(self.hot_root + config),
                                                                     os.path.basename(trained["url"])))
            self.copy(trained["url"], job.models["deploy"]["url"])
            with open(self.hot_root + config, "w") as f:
                json.dump({"model_config": {"model_path": "/model-hot-update/" + os.path.basename(trained["url"]),
                                            "model_update_time": str(time.time())}}, f)
        except OSError:
            return  # tried again
        job.done["hot"] = True

    # ---- workers ----

    def take_post(self, path, body):
        parts = path.strip("/").split("/")
        try:
            message = json.loads(body)
        except ValueError:
            message = {}
        if len(parts) != 4 or parts[:2] != ["sedna", "workers"] or message.get("name") != parts[2]:
            return 400, {"Status": 400, "Message": "bad request"}
        with self.lock:
            job = self.jobs.get((message.get("namespace"), message.get("ownerName")))
            if job and message.get("ownerKind") == "incrementallearningjob":
                self.say(job.object, {"phase": message.get("kind"), "status": message.get("status"),
                                      "output": {"models": message.get("results"), "ownerInfo": message.get("ownerInfo")}})
        return 200, {"Status": 200, "Message": "OK"}


def when_all_is_stored(controllers, conditions, act):
    """Calls act() when every report about the job is among conditions(), and lets nothing be said meanwhile: a report that is
    under way when a connection breaks or the controller is killed is lost, as a real one is. Returns whether it did."""
    with contextlib.ExitStack() as locks:
        for controller in controllers:
            locks.enter_context(controller.lock)
        said = [content for c in controllers for kind, _, content in c.said if kind == "IncrementalLearningJob"]
        stored = [c for c in conditions() if c.get("message") == "reported by lc"]
        if sum(content["status"] != "running" for content in said) > len(stored):
            return False
        act()
        return True


def main():
    controller = LocalController(os.environ["GM_ADDRESS"], os.environ.get("NODENAME") or os.environ["HOSTNAME"],
                                 os.environ.get("ROOTFS_MOUNT_DIR", "/rootfs"), tick=float(os.environ.get("TICK", 10)),
                                 port=int(os.environ.get("BIND_PORT", 9100))).start()
    try:
        controller.is_stopped.wait()
    except KeyboardInterrupt:
        pass
    controller.stop()
    for hazard in controller.hazards:
        print("hazard:", hazard, file=sys.stderr)
    if controller.crashed:
        print("crashed:", controller.crashed, file=sys.stderr)
    return 1 if controller.crashed else 0


if __name__ == "__main__":
    sys.exit(main())
