# SPDX-License-Identifier: Apache-2.0
"""perigee plan and its kin reading an API server: a small one in this process, which can be made to misbehave."""
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import unittest
import urllib.parse

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import CATALOG, PERIGEE, Case, kinds, read_file, service  # noqa: E402

PLURALS = {
    ("serving.kserve.io/v1beta1", "InferenceService"): "inferenceservices",
    ("serving.kserve.io/v1alpha1", "ServingRuntime"): "servingruntimes",
    ("serving.kserve.io/v1alpha1", "ClusterServingRuntime"): "clusterservingruntimes",
    ("serving.kserve.io/v1alpha1", "ClusterStorageContainer"): "clusterstoragecontainers",
    ("sedna.io/v1alpha1", "IncrementalLearningJob"): "incrementallearningjobs",
    ("sedna.io/v1alpha1", "Dataset"): "datasets",
    ("sedna.io/v1alpha1", "Model"): "models",
    ("apps/v1", "Deployment"): "deployments",
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "Secret"): "secrets",
    ("v1", "ServiceAccount"): "serviceaccounts",
    ("v1", "Namespace"): "namespaces",
    ("v1", "Service"): "services",
    ("v1", "Pod"): "pods",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "horizontalpodautoscalers",
}
CLUSTER_SCOPED = {"clusterservingruntimes", "clusterstoragecontainers", "namespaces"}


class Server:
    """Answers GETs of objects and lists. Rules (path prefix -> status, body) come first."""

    def __init__(self, objects):
        self.objects = {}     # (path of the collection, namespace, name) -> object
        self.served = set(PLURALS.values())
        self.rules = {}       # path -> list of (status, body), used up one by one but for the last
        self.page_size = 0    # of lists, whatever is asked for
        self.requests = []
        for o in objects:
            self.add(o)
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.answer(self)

            def log_message(self, *args):
                pass

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.httpd.handle_error = lambda *args: None  # a client that has enough closes
        threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.httpd.server_address[1]}"

    def close(self):
        self.httpd.shutdown()
        self.httpd.server_close()

    def add(self, o):
        api, meta = o["apiVersion"], o["metadata"]
        plural = PLURALS[(api, o["kind"])]
        root = f"/apis/{api}" if "/" in api else f"/api/{api}"
        ns = "" if plural in CLUSTER_SCOPED else meta.setdefault("namespace", "default")
        self.objects[(root, plural, ns, meta["name"])] = o

    def answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.requests.append(request.path)
        for path, answers in self.rules.items():
            if request.path.startswith(path):
                status, body = answers.pop(0) if len(answers) > 1 else answers[0]
                if status is not None:
                    return self.reply(request, status, body)
                break
        status, body = self.look_up(url.path, query)
        return self.reply(request, status, body)

    def reply(self, request, status, body):
        if status == "cut":
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json" if not isinstance(body, str) else "text/plain")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def look_up(self, path, query):
        parts = path.strip("/").split("/")
        root = "/" + "/".join(parts[:2] if parts[0] == "api" else parts[:3])
        rest, ns = parts[2 if parts[0] == "api" else 3:], None
        if len(rest) > 2 and rest[0] == "namespaces":
            ns, rest = rest[1], rest[2:]
        if not rest or rest[0] not in self.served:
            return 404, "404 page not found\n"
        plural, name = rest[0], rest[1] if len(rest) > 1 else None
        if name:
            o = self.objects.get((root, plural, ns or "", name))
            return (200, o) if o else (404, refusal(404, "NotFound", f'{plural} "{name}" not found',
                                                    {"name": name, "kind": plural}))
        found = [o for (r, p, n, _), o in sorted(self.objects.items(), key=lambda i: i[0])
                 if r == root and p == plural and ns in (None, n)]
        if "labelSelector" in query:
            key, value = query["labelSelector"].split("=")
            found = [o for o in found if o["metadata"].get("labels", {}).get(key) == value]
        start, size = int(query.get("continue", 0)), self.page_size or int(query.get("limit", 500))
        meta = {"resourceVersion": "10"}
        if start + size < len(found):
            meta["continue"] = str(start + size)
        items = [{k: v for k, v in o.items() if k not in ("apiVersion", "kind")} for o in found[start:start + size]]
        return 200, {"kind": "List", "apiVersion": "v1", "items": items, "metadata": meta}


def refusal(code, reason, message, details=None):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
            "message": message, "details": details or {}}


def catalog():
    return [d for folder, _, names in sorted(os.walk(CATALOG)) for n in sorted(names) if n.endswith(".yaml")
            for d in yaml.safe_load_all(read_file(folder, n))]


class LiveCase(Case):
    def start(self, *objects):
        self.server = Server([*catalog(), *[yaml.safe_load(o) if isinstance(o, str) else o for o in objects]])
        self.addCleanup(self.server.close)
        self.kubeconfig = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": self.server.url}}],
            "users": [{"name": "somebody", "user": {"token": "t"}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "somebody", "namespace": "team"}}]}))

    def live(self, *args, code=0):
        return self.run_perigee(*args, "--kubeconfig", self.kubeconfig, code=code)

    def live_plan(self, *args, code=0):
        out, _ = self.live("plan", *args, "-o", "json", "--now", "2026-06-01T00:00:00Z", code=code)
        return json.loads(out)


class Plan(LiveCase):
    def test_a_plan_from_a_cluster_is_the_plan_from_files(self):
        self.start(service(namespace="team"))
        self.write("objects.yaml", "---\n".join(yaml.dump(o) for o in self.server.objects.values()))
        self.assertEqual(self.live_plan("isvc/iris"),
                         self.plan("-f", self.path("objects.yaml"), "-n", "team", "isvc/iris"))

    def test_only_what_a_plan_needs_is_read(self):
        self.start(service(namespace="team"), *[service(f"other-{i}", "team") for i in range(50)])
        self.live_plan("isvc/iris")
        self.assertLess(len(self.server.requests), 20)
        self.assertEqual([r for r in self.server.requests if "inferenceservices" in r],
                         ["/apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices/iris"])
        self.assertFalse([r for r in self.server.requests if "/secrets" in r])
        self.assertEqual(len(self.server.requests), len(set(self.server.requests)), "something was asked for twice")

    def test_the_namespace_is_that_of_the_context_unless_given(self):
        self.start(service("iris", "team"), service("iris", "other"), service("rose", "other"))
        self.assertEqual(self.live_plan("isvc/iris")["resource"]["metadata"]["namespace"], "team")
        self.assertEqual(self.live_plan("isvc/iris", "-n", "other")["resource"]["metadata"]["namespace"], "other")
        _, err = self.live("plan", "isvc/rose", code=2)
        self.assertIn("isvc/rose: no such object in namespace team", err)

    def test_without_a_subject_all_of_the_namespace_is_planned(self):
        self.start(*[service(f"s{i:02}", "team") for i in range(60)], service("far", "other"))
        out, _ = self.live("plan", "-o", "wide")
        self.assertEqual(len(out.splitlines()), 61)
        self.assertNotIn("far", out)
        self.assertLess(len(self.server.requests), 60)
        out, _ = self.live("plan", "-A", "-o", "wide")
        self.assertEqual(len(out.splitlines()), 62)

    def test_lists_come_in_pages(self):
        self.start(*[service(f"s{i}", "team") for i in range(7)])
        self.server.page_size = 2
        out, _ = self.live("plan", "-o", "wide")
        self.assertEqual([line.split()[1] for line in out.splitlines()[1:]], [f"s{i}" for i in range(7)])

    def test_a_list_whose_token_expires_begins_again(self):
        self.start(*[service(f"s{i}", "team") for i in range(7)])
        self.server.page_size = 3
        path = "/apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices?limit=500&continue=3"
        self.server.rules[path] = [(410, refusal(410, "Expired", "The provided continue parameter is too old")),
                                   (None, None)]
        out, _ = self.live("plan", "-o", "wide")
        self.assertEqual([line.split()[1] for line in out.splitlines()[1:]], [f"s{i}" for i in range(7)])

    def test_stored_objects_count(self):
        self.start(service(namespace="team"),
                   {"apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": {"name": "iris-predictor", "namespace": "team"}, "spec": {"replicas": 4}})
        out, _ = self.live("plan", "isvc/iris")
        states = {line.split()[2]: line.split()[4] for line in out.splitlines()[1:]}
        self.assertEqual(states["Deployment"], "exists")
        self.assertEqual(states["Service"], "new")

    def test_a_learning_job_is_planned(self):
        folder = os.path.join(os.path.dirname(CATALOG), "examples", "learning")
        objects = [d for top, _, names in sorted(os.walk(folder)) for n in sorted(names) if n.endswith(".yaml")
                   for d in yaml.safe_load_all(read_file(top, n)) if d and (d.get("apiVersion"), d.get("kind")) in PLURALS]
        jobs = [o for o in objects if o["kind"] == "IncrementalLearningJob"]
        self.start(*objects)
        ns, name = jobs[0]["metadata"].get("namespace", "default"), jobs[0]["metadata"]["name"]
        plan = self.live_plan(f"il/{name}", "-n", ns)
        self.assertIsNone(plan["error"])
        self.assertEqual(plan["resource"]["kind"], "IncrementalLearningJob")


class Trouble(LiveCase):
    def fails(self, *args):
        out, err = self.live("plan", *(args or ("isvc/iris",)), code=2)
        self.assertEqual(out, "")
        return err

    def test_a_forbidden_read_names_verb_and_resource(self):
        self.start(service(namespace="team"))
        message = ('clusterservingruntimes.serving.kserve.io is forbidden: User "somebody" cannot list resource '
                   '"clusterservingruntimes" in API group "serving.kserve.io" at the cluster scope')
        self.server.rules["/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"] = [
            (403, refusal(403, "Forbidden", message))]
        err = self.fails()
        self.assertIn(message, err)
        self.assertIn("cluster 'lab'", err)

    def test_a_namespace_object_that_may_not_be_read_is_a_warning(self):
        self.start(service(namespace="team"))
        look_up = self.server.look_up
        self.server.look_up = lambda path, query: (
            (403, refusal(403, "Forbidden", "no namespaces for you")) if path == "/api/v1/namespaces/team"
            else look_up(path, query))
        out, err = self.live("plan", "isvc/iris")
        self.assertIn("iris-predictor", out)
        self.assertIn("warning: ", err)
        self.assertIn("no namespaces for you", err)

    def test_refused_credentials_say_whose(self):
        self.start(service(namespace="team"))
        self.server.rules["/"] = [(401, refusal(401, "Unauthorized", "Unauthorized"))]
        err = self.fails()
        self.assertIn("the credentials of user 'somebody' are not accepted", err)

    def test_a_server_that_is_not_there_is_told_at_once(self):
        self.start(service(namespace="team"))
        config = json.loads(self.read("kubeconfig"))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{s.getsockname()[1]}"
            self.write("kubeconfig", json.dumps(config))
            self.assertIn("Failed to connect", self.fails())

    def test_a_kind_that_the_server_does_not_have(self):
        self.start()
        self.server.served.discard("inferenceservices")
        self.assertIn("the server has no kind InferenceService (serving.kserve.io)", self.fails())

    def test_kinds_that_a_plan_can_do_without_may_be_missing(self):
        self.start(service(namespace="team"))
        self.server.served -= {"horizontalpodautoscalers", "clusterstoragecontainers", "servingruntimes"}
        self.assertIn("Deployment", kinds(self.live_plan("isvc/iris")))

    def test_an_unknown_context_names_the_known_ones(self):
        self.start()
        err = self.fails("isvc/iris", "--context", "prod")
        self.assertIn("there is no context 'prod'", err)
        self.assertIn("known: lab", err)

    def test_answers_that_are_no_objects(self):
        self.start(service(namespace="team"))
        path = "/apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices/iris"
        for body in ("", "<html>", "[]", "{}", '{"metadata": {"name": 3}}', '{"metadata": {"name": "iris"'):
            with self.subTest(body):
                self.server.rules[path] = [(200, body)]
                self.assertIn("InferenceService team/iris", self.fails())

    def test_lists_that_are_no_lists(self):
        self.start(service(namespace="team"))
        path = "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
        for body in ("", "<html>", '{"items": [{}]}', '{"items": [{"metadata": {"name": "x"}}'):
            with self.subTest(body):
                self.server.rules[path] = [(200, body)]
                self.assertIn("list of kind ClusterServingRuntime", self.fails())

    def test_a_failing_server_ends_with_its_words(self):
        self.start(service(namespace="team"))
        self.server.rules["/api/v1/namespaces/kserve/configmaps"] = [
            (500, refusal(500, "InternalError", "etcdserver: request timed out"))]
        self.assertIn("etcdserver: request timed out", self.fails())

    def test_sources_exclude_each_other(self):
        self.start()
        self.assertIn("exclude each other", self.fails("-f", self.path("x.yaml")))
        self.assertIn("exclude each other", self.fails("--store", "dir:x"))


class Repl(LiveCase):
    def repl(self, lines, code=0):
        p = subprocess.run([PERIGEE, "repl", "--kubeconfig", self.kubeconfig], input=lines, capture_output=True,
                           text=True, timeout=120)
        self.assertEqual(p.returncode, code, p.stderr)
        return p.stdout, p.stderr

    def test_services_of_a_cluster_can_be_selected(self):
        self.start(service(namespace="team"))
        out, _ = self.repl("select\nselect iris\nservice.metadata.name\n#runtimes > 3\n")
        self.assertIn("selected team/iris", out)
        self.assertIn("iris\ntrue", out)


class Eval(LiveCase):
    def test_a_script_runs_on_objects_of_a_cluster(self):
        self.start(service(namespace="team"), {"apiVersion": "apps/v1", "kind": "Deployment",
                                               "metadata": {"name": "d", "namespace": "other"}, "spec": {"replicas": 4}})
        script = self.write("name.lua", "return input.metadata.name .. tostring(input.spec.replicas)")
        self.assertEqual(self.live("eval", script, "isvc/iris")[0], '"irisnil"\n')
        self.assertEqual(self.live("eval", script, "-n", "other", "deploy/d", "Deployment.apps/d")[0], '"d4"\n"d4"\n')
        self.assertEqual(self.live("eval", script, "clusterservingruntime/kserve-mlserver")[0], '"kserve-mlservernil"\n')
        for args, part in ((("deploy/d",), "deploy/d: no such object in namespace team"),
                           (("rollout/d",), "give it as Kind.group"),
                           (("Rollout.argoproj.io/d",), "no such object"), (("x",), "an object is KIND/NAME"),
                           (("isvc/iris", "--input", "x"), "exclude each other")):
            with self.subTest(args):
                self.assertIn(part, self.live("eval", script, *args, code=2)[1])


if __name__ == "__main__":
    unittest.main()
