# SPDX-License-Identifier: Apache-2.0
"""perigee why: the recorded cases of choosing a runtime, hints, who set a field, what bad input gets."""
import json
import os
import shutil
import sys
import unittest

import yaml

from support import CATALOG, ROOT, Case, service

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import kserve  # noqa: E402  the loader of the recorded cases

NOW = "2026-06-01T00:00:00Z"
RUNTIMES, CONFIG = os.path.join(CATALOG, "runtimes"), os.path.join(CATALOG, "config")
PROTOCOLS = {"v1": 1, "v2": 2, "grpc-v1": 3, "grpc-v2": 4}


def runtime(name, formats, kind="ClusterServingRuntime", namespace=None, **spec):
    meta = {"name": name, "creationTimestamp": spec.pop("created", "2026-01-01T00:00:00Z")}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": "serving.kserve.io/v1alpha1", "kind": kind, "metadata": meta,
            "spec": {"supportedModelFormats": formats, "containers": [{"name": "kserve-container", "image": "a/b:1"}], **spec}}


def format_of(name="mine", version=None, auto=True, **more):
    entry = {"name": name, "autoSelect": auto, **more}
    if version is not None:
        entry["version"] = version
    return entry


# ---- the rules of choosing, in the plainest way: what a refusal may be about, and the order of those that fit ----

def faults(candidate, model, isvc, named):
    """Every reason why the runtime does not fit; the record must name one of them, and none when there is none."""
    spec, found = candidate["spec"], set()
    name, version = model["modelFormat"]["name"], model["modelFormat"].get("version")
    entries = [e for e in spec.get("supportedModelFormats") or [] if e["name"] == name]
    fitting = [e for e in entries if version is None or e.get("version") == version]
    if spec.get("disabled"):
        found.add("disabled")
    if not fitting:
        found.add("version" if entries and version is not None else "format")
    elif not named and not any(e.get("autoSelect") for e in fitting):
        found.add("auto_select")
    spoken, given = spec.get("protocolVersions") or [], model.get("protocolVersion")
    if spoken and (given or not named) and (given or "v1") not in spoken:
        found.add("protocol")
    if not named:
        if spec.get("multiModel"):
            found.add("multi_model")
        if (spec.get("workerSpec") is not None) != ("workerSpec" in isvc["spec"]["predictor"]):
            found.add("multi_node")
    return found


def order_key(candidate, model):
    """KServe's: namespace, priority of the first entry of the format (none last), lowest protocol, newest, name."""
    spec = candidate["spec"]
    first = next(e for e in spec["supportedModelFormats"] if e["name"] == model["modelFormat"]["name"])
    protocol = min([PROTOCOLS.get(p, 5) for p in spec.get("protocolVersions") or []] or [5])
    priority = first.get("priority")
    return (candidate["kind"] == "ClusterServingRuntime", priority is None, -(priority or 0), protocol,
            Descending(candidate["metadata"].get("creationTimestamp") or ""), candidate["metadata"]["name"])


class Descending(str):
    def __lt__(self, other):
        return str.__gt__(self, other)


class Why(Case):
    def why(self, *args, code=0, stdin=None):
        out, _ = self.run_perigee("why", *args, "--now", NOW, "-o", "json", code=code, stdin=stdin)
        return json.loads(out)

    def text(self, *args, code=0, stdin=None):
        return self.run_perigee("why", *args, "--now", NOW, code=code, stdin=stdin)[0]

    def objects(self, *objects):
        return self.write("objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    # ---- recorded cases ----

    def test_every_reason_of_the_recorded_choices_is_named_right(self):
        defaults = kserve.load_defaults()
        seen, checked = set(), 0
        for name, case in kserve.cases():
            if case.get("theme") not in ("runtime-auto", "runtime-explicit"):
                continue
            with self.subTest(name):
                seen |= self.check_recorded(case, defaults)
                checked += 1
        self.assertEqual(checked, 50)
        self.assertEqual(seen, {"chosen", "order", "disabled", "format", "version", "auto_select", "protocol", "multi_model",
                                "multi_node", "missing"})

    def check_recorded(self, case, defaults):
        i = case["input"]
        isvc, store = i["isvc"], kserve.store_of(i, defaults)
        ns = isvc["metadata"].get("namespace", "default")
        got = self.why("-f", "-", "-n", ns, "--compat", "kserve", f"isvc/{isvc['metadata']['name']}",
                       stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [isvc] + store}),
                       code=1 if case["expected"]["error"] else 0)
        model = isvc["spec"]["predictor"]["model"]
        named = model.get("runtime")
        visible = [o for o in store if o["kind"] == "ClusterServingRuntime"
                   or (o["kind"] == "ServingRuntime" and o["metadata"]["namespace"] == ns)]
        if named:  # one of the namespace hides one of the cluster
            visible = sorted((o for o in visible if o["metadata"]["name"] == named), key=lambda o: o["kind"], reverse=True)[:1]
            if not visible:
                self.assertIn("is not there", got["verdict"])
                self.assertNotIn("runtimes", got)
                return {"missing"}
        rows = {(r["kind"], r["name"]): r for r in got.get("runtimes", [])}
        self.assertEqual(set(rows), {(o["kind"], o["metadata"]["name"]) for o in visible})
        fitting, seen = [], set()
        for o in visible:
            row, wrong = rows[(o["kind"], o["metadata"]["name"])], faults(o, model, isvc, bool(named))
            if wrong:
                self.assertEqual(row["outcome"], "rejected", row)
                self.assertIn(row["code"], wrong, row)
                self.assertTrue(row["reason"])
                seen.add(row["code"])
            else:
                self.assertIn(row["outcome"], ("chosen", "order"), row)
                fitting.append(o)
        fitting.sort(key=lambda o: order_key(o, model))
        listed = [(r["kind"], r["name"]) for r in got.get("runtimes", []) if r["outcome"] != "rejected"]
        self.assertEqual(listed, [(o["kind"], o["metadata"]["name"]) for o in fitting])
        self.assertEqual([r["outcome"] for r in got.get("runtimes", []) if r["outcome"] != "rejected"],
                         ["chosen", *["order"] * (len(fitting) - 1)][:len(fitting)])
        if not case["expected"]["error"]:
            self.assertEqual(case["expected"]["isvc"]["spec"]["predictor"]["model"]["runtime"], listed[0][1])
        self.assertEqual("not served" in got["verdict"], not fitting)
        return seen | {r["outcome"] for r in got.get("runtimes", []) if r["outcome"] != "rejected"}

    def test_cases_that_are_about_one_reason_name_that_reason(self):
        table = {
            "runtime-auto--disabled-filtered": {"a": "disabled"},
            "runtime-auto--autoselect-missing-ignored": {"a": "auto_select", "b": "auto_select"},
            "runtime-auto--multimodel-filtered": {"a": "multi_model"},
            "runtime-auto--multinode-none": {"b": "multi_node"},
            "runtime-auto--protocol-filtered": {"a": "protocol"},
            "runtime-auto--version-filter": {"a": "version"},
            "runtime-auto--highest-priority-wins": {"a": "order", "b": "chosen", "c": "order"},
            "runtime-explicit--cluster-disabled": {"dis": "disabled"},
            "runtime-explicit--format-unsupported": {"r": "format"},
            "runtime-explicit--version-exact-string": {"r": "version"},
        }
        defaults, cases = kserve.load_defaults(), dict(kserve.cases())
        for name, expected in table.items():
            with self.subTest(name):
                i = cases[name]["input"]
                isvc = i["isvc"]
                got = self.why("-f", "-", "-n", isvc["metadata"]["namespace"], "--compat", "kserve",
                               f"isvc/{isvc['metadata']['name']}", code=1 if cases[name]["expected"]["error"] else 0,
                               stdin=json.dumps({"apiVersion": "v1", "kind": "List",
                                                 "items": [isvc] + kserve.store_of(i, defaults)}))
                rows = {r["name"]: r.get("code", r["outcome"]) for r in got["runtimes"]}
                self.assertEqual({k: rows[k] for k in expected}, expected)

    # ---- order ----

    def test_the_order_says_what_decided(self):
        pairs = [
            (runtime("a", [format_of()], kind="ServingRuntime", namespace="default"), runtime("b", [format_of(priority=9)]),
             "a ServingRuntime of the namespace before those of the cluster"),
            (runtime("b", [format_of(priority=2)]), runtime("a", [format_of(priority=1)]), "priority 2 before 1"),
            (runtime("b", [format_of(priority=1)]), runtime("a", [format_of()]), "priority 1 before none"),
            (runtime("b", [format_of()], protocolVersions=["v1"]), runtime("a", [format_of()], protocolVersions=["v2", "v1"][:0]),
             "lowest protocol v1 before none"),
            (runtime("b", [format_of()], created="2026-02-01T00:00:00Z"), runtime("a", [format_of()]), "the newer one"),
            (runtime("a", [format_of()]), runtime("b", [format_of()]), "by name: 'a' before 'b'"),
        ]
        for first, second, reason in pairs:
            with self.subTest(reason):
                got = self.why("-f", CONFIG, "-f", self.objects(first, second), "-f", self.write("s.yaml", service(framework="mine")), "isvc/iris")
                self.assertIn(reason, got["verdict"])
                self.assertEqual(got["runtimes"][0]["name"], first["metadata"]["name"])
                self.assertIn(reason, got["runtimes"][1]["reason"])
                self.assertEqual(got["runtimes"][1]["policy"]["file"], "shipped/runtime_selection.lua")

    def test_an_order_of_ones_own_is_named_by_file_and_line(self):
        self.write("set/runtime_selection.lua", 'local M = { api = "runtime_selection/v1" }\n\n'
                   "function M.before(a, b)\n  return a.name > b.name\nend\nreturn M\n")
        got = self.why("-f", CONFIG, "-f", self.objects(runtime("a", [format_of()]), runtime("b", [format_of()])), "--policies", self.path("set"),
                       "-f", self.write("s.yaml", service(framework="mine")), "isvc/iris")
        self.assertEqual([(r["name"], r["outcome"]) for r in got["runtimes"]], [("b", "chosen"), ("a", "order")])
        self.assertEqual(got["runtimes"][1]["reason"], "the policy's order puts b first")
        self.assertEqual(got["runtimes"][1]["policy"], {"policy": "runtime_selection", "function": "before", "line": 3,
                                                        "file": self.path("set/runtime_selection.lua")})

    def test_a_choice_against_the_order_is_told_with_its_reason(self):
        self.write("set/runtime_selection.lua", 'local M = { api = "runtime_selection/v1" }\nfunction M.choose(c)\n'
                   '  return c[#c].name, "the last is the cheapest"\nend\nreturn M\n')
        got = self.why("-f", CONFIG, "-f", self.objects(runtime("a", [format_of()]), runtime("b", [format_of()])), "--policies", self.path("set"),
                       "-f", self.write("s.yaml", service(framework="mine")), "isvc/iris")
        self.assertIn("served by ClusterServingRuntime b: the last is the cheapest", got["verdict"])
        self.assertEqual(got["runtimes"][1]["reason"], "the policy chose b: the last is the cheapest")

    # ---- no runtime ----

    def hints(self, model, *objects, name="iris"):
        isvc = yaml.safe_load(service(name))
        isvc["spec"]["predictor"]["model"] = model
        return self.why("-f", CONFIG, "-f", self.objects(isvc, *objects), f"isvc/{name}", code=1)

    def test_a_protocol_that_is_assumed_is_the_hint(self):
        got = self.hints({"modelFormat": {"name": "mine", "version": "24.01"}, "storageUri": "gs://a/b"},
                         runtime("own", [format_of(version="24.01")], protocolVersions=["v2"]))
        self.assertIn("of 1 runtime 1 serves the format, refused for another reason", got["verdict"])
        self.assertIn("own speaks v2, not v1 (which is assumed, as the service names none)", got["hints"][0]["text"])
        self.assertEqual(got["hints"][0]["checked"], "then own serves it")

    def test_hints_that_do_not_help_say_so_and_come_last(self):
        got = self.hints({"modelFormat": {"name": "mine", "version": "2"}, "storageUri": "gs://a/b"},
                         runtime("a", [format_of(version="1")], protocolVersions=["v2"]),
                         runtime("b", [format_of(version="3")]))
        self.assertEqual([h["checked"] for h in got["hints"]],
                         ["then b serves it", "not enough: a: asked for protocol v1, the runtime speaks v2"])

    def test_each_near_miss_has_a_hint_that_was_tried(self):
        model = {"modelFormat": {"name": "mine"}, "storageUri": "gs://a/b"}
        for near, text in ((runtime("a", [format_of()], disabled=True), "a is disabled"),
                           (runtime("a", [format_of(auto=False)]), "name it, spec.predictor.model.runtime: a"),
                           (runtime("a", [format_of()], workerSpec={"containers": [{"name": "worker-container", "image": "a/b:1"}]}),
                            "a runs on several nodes only")):
            with self.subTest(text):
                got = self.hints(model, near)
                self.assertIn(text, got["hints"][0]["text"])
                self.assertTrue(got["hints"][0]["checked"].startswith("then a serves it"), got["hints"])

    def test_a_misspelled_format_gets_the_nearest_one(self):
        got = self.hints({"modelFormat": {"name": "sklaern"}, "storageUri": "gs://a/b"}, runtime("a", [format_of("sklearn")]))
        self.assertIn("did you mean 'sklearn' (spec.predictor.model.modelFormat.name)?", got["hints"][0]["text"])
        self.assertEqual(got["hints"][0]["checked"], "then a serves it")

    def test_a_shorthand_is_named_where_its_user_wrote_it(self):
        isvc = yaml.safe_load(service())
        isvc["spec"]["predictor"] = {"sklearn": {"storageUri": "gs://a/b", "protocolVersion": "grpc-v2"}}
        got = self.why("-f", CONFIG, "-f", self.objects(isvc, runtime("a", [format_of("sklearn")], protocolVersions=["v2"])), "isvc/iris", code=1)
        self.assertIn("set spec.predictor.sklearn.protocolVersion to v2", got["hints"][0]["text"])

    def test_a_named_runtime_that_is_not_there(self):
        model = {"modelFormat": {"name": "mine"}, "storageUri": "gs://a/b", "runtime": "my-servr"}
        got = self.hints(model, runtime("my-server", [format_of()]),
                         runtime("my-servr", [format_of()], kind="ServingRuntime", namespace="elsewhere"))
        self.assertIn("no ServingRuntime 'my-servr' in namespace default", got["verdict"])
        texts = " | ".join(h["text"] for h in got["hints"])
        self.assertIn("in namespace elsewhere; a service sees those of its own namespace", texts)
        self.assertIn("did you mean ClusterServingRuntime 'my-server'", texts)
        self.assertIn("leave spec.predictor.model.runtime out", texts)

    def test_no_runtimes_at_all(self):
        got = self.hints({"modelFormat": {"name": "mine"}, "storageUri": "gs://a/b"})
        self.assertIn("there are no runtimes at all", got["verdict"])
        self.assertIn("install some", got["hints"][0]["text"])

    def test_a_broken_runtime_is_listed_with_its_field(self):
        got = self.hints({"modelFormat": {"name": "mine"}, "storageUri": "gs://a/b"},
                         runtime("a", [format_of()], protocolVersions="v1"))
        self.assertEqual(got["runtimes"][0]["code"], "unreadable")
        self.assertIn("/spec/protocolVersions", got["runtimes"][0]["reason"])

    def test_the_text_has_the_deciding_line_on_top_and_names_every_candidate(self):
        out = self.text("-f", CATALOG, "-R", "-f", self.write("s.yaml", service(framework="sklaern")), "isvc/iris", code=1)
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("default/iris: not served: no runtime takes sklaern with protocol v1 (assumed)"), lines[0])
        self.assertTrue(lines[1].startswith("hint        no runtime offers the format 'sklaern'; did you mean 'sklearn'"), lines[1])
        names = [os.path.splitext(n)[0] for n in os.listdir(RUNTIMES)]
        for name in names:
            self.assertRegex(out, rf"(?m)^  format +{name} +cluster +asked for sklaern, the runtime offers ")

    # ---- the rest of the record ----

    def test_dropped_annotations_and_label_layers_have_their_policy(self):
        isvc = yaml.safe_load(service())
        isvc["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "x"
        isvc["metadata"]["labels"] = {"team": "service"}
        isvc["spec"]["predictor"]["labels"] = {"team": "predictor"}
        got = self.why("-f", CATALOG, "-R", "-f", self.objects(isvc), "isvc/iris")
        dropped = {a["subject"]: a for a in got["annotations"]}["kubectl.kubernetes.io/last-applied-configuration"]
        self.assertEqual((dropped["outcome"], dropped["policy"]["file"]), ("dropped", "shipped/annotation_filter.lua"))
        label = {a["subject"]: a for a in got["labels"]}["team"]
        self.assertEqual((label["outcome"], label["reason"]), ("predictor wins", "service 'service' < predictor 'predictor'"))

    def test_gpu_arithmetic_of_several_nodes_is_told(self):
        isvc = yaml.safe_load(service("llm", framework="huggingface"))
        isvc["spec"]["predictor"]["workerSpec"] = {"tensorParallelSize": 2, "pipelineParallelSize": 2}
        got = self.why("-f", CATALOG, "-R", "-f", self.objects(isvc), "isvc/llm")
        self.assertEqual(got["topology"][0]["policy"]["file"], "shipped/multi_node.lua")
        self.assertIn("tensor parallel 2, pipeline parallel 2", got["topology"][0]["reason"])

    def test_the_last_change_comes_from_managed_fields_and_conditions(self):
        isvc = yaml.safe_load(service())
        isvc["metadata"].update(generation=3, managedFields=[
            {"manager": "first", "operation": "Update", "time": "2026-05-01T00:00:00Z", "fieldsV1": {"f:spec": {}}},
            {"manager": "kubectl", "operation": "Apply", "time": "2026-05-02T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:predictor": {"f:model": {"f:storageUri": {}}}}}},
            {"manager": "perigee", "operation": "Apply", "subresource": "status", "time": "2026-05-03T00:00:00Z"}])
        isvc["status"] = {"observedGeneration": 2, "conditions": [
            {"type": "PredictorReady", "status": "False", "reason": "Stopped", "lastTransitionTime": "2026-05-01T00:00:00Z"}]}
        args = ("-f", CATALOG, "-R", "-f", self.objects(isvc), "isvc/iris")
        last = self.why(*args)["lastChange"]
        self.assertEqual(last["change"], {"at": "2026-05-02T00:00:00Z", "by": "kubectl", "operation": "Apply",
                                          "fields": ".spec.predictor.model.storageUri"})
        self.assertEqual((last["generation"], last["observedGeneration"]), (3, 2))
        self.assertIn("last change generation 3, the controller has seen 2; 2026-05-02T00:00:00Z by kubectl: "
                      ".spec.predictor.model.storageUri\n", self.text(*args))

    def test_what_applying_would_change_has_its_layer(self):
        args = ("-f", CATALOG, "-R", "-f", self.write("s.yaml", service()))
        plan = self.plan(*args, "isvc/iris")
        for o in plan["objects"]:
            if o["kind"] == "Deployment":
                o["spec"]["template"]["spec"]["containers"][0]["image"] = "old/image:1"
        stored = self.objects(*plan["objects"])
        got = {o["kind"]: o for o in self.why(*args, "-f", stored, "isvc/iris")["objects"]}
        self.assertEqual({k: o["state"] for k, o in got.items()},
                         {"Deployment": "changes", "HorizontalPodAutoscaler": "unchanged", "Service": "unchanged"})
        self.assertEqual([(f["path"], f["from"], f["layer"]) for f in got["Deployment"]["fields"]],
                         [(".spec.template.spec.containers[kserve-container].image", "old/image:1", "runtime")])

    def test_a_learning_job_says_what_it_waits_for(self):
        folder = os.path.join(ROOT, "examples", "learning", "jobs")
        with open(os.path.join(folder, "job.yaml")) as f:
            job = next(d for d in yaml.safe_load_all(f) if d and d["kind"] == "IncrementalLearningJob")
        out, _ = self.run_perigee("why", "-f", folder, "-n", job["metadata"].get("namespace", "default"),
                                  "il/" + job["metadata"]["name"], "--now", NOW, "-o", "json")
        self.assertIn("awaited", json.loads(out)["job"])

    def test_output_forms_say_the_same_and_the_same_bytes(self):
        args = ("-f", CATALOG, "-R", "-f", self.write("s.yaml", service()), "isvc/iris", "--now", NOW)
        as_json, _ = self.run_perigee("why", *args, "-o", "json")
        as_yaml, _ = self.run_perigee("why", *args, "-o", "yaml")
        self.assertEqual(json.loads(as_json), yaml.safe_load(as_yaml))
        self.assertEqual(as_json, self.run_perigee("why", *args, "-o", "json")[0])

    def test_a_recording_is_asked_with_its_own_policies(self):
        self.write("old/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag() return "old:1" end\nreturn M\n')
        self.plan("-f", CATALOG, "-R", "-f", self.write("s.yaml", service()), "--policies", self.path("old"), "--compat", "kserve",
                  "--record", self.path("record"))
        got = self.why("--replay", self.path("record"), "isvc/iris")
        self.assertEqual(got["images"][0]["outcome"], "old:1")
        self.assertEqual(got["policies"]["compat"], "kserve")
        got = self.why("--replay", self.path("record"), "isvc/iris", ".spec.template.spec.containers[0].image")["found"][0]
        self.assertEqual((got["layer"], got["value"]), ("image policy", "old:1"))

    # ---- fields ----

    def field(self, path, *more, text=service(), code=0):
        return self.why("-f", CATALOG, "-R", "-f", self.write("s.yaml", text), "isvc/iris", path, *more, code=code)

    def test_a_field_has_its_layer_and_manifest_line(self):
        got = self.field(".spec.template.spec.containers[0].image")["found"]
        with open(os.path.join(RUNTIMES, "kserve-sklearnserver.yaml")) as f:
            line = next(n for n, text in enumerate(f, 1) if "image:" in text)
        self.assertEqual(got[0]["layer"], "runtime")
        self.assertEqual(got[0]["manifest"], {"object": "ClusterServingRuntime kserve-sklearnserver", "line": line, "file": f.name})

    def test_items_go_by_name_place_or_pointer(self):
        for path in (".spec.template.spec.containers[kserve-container].image", "spec.template.spec.containers[0].image",
                     "/spec/template/spec/containers/0/image", ".spec['template'].spec[\"containers\"][0].image"):
            with self.subTest(path):
                got = self.field(path)["found"]
                self.assertEqual([f["path"] for f in got], [".spec.template.spec.containers[0].image"])

    def test_objects_are_told_with_file_and_line(self):
        self.write("broken.yaml", "# broken\n" + yaml.safe_dump(runtime("broken", "no list")))
        path = self.write("two.yaml", service("iris") + "---\n" + service("wine"))
        line = self.read("two.yaml").splitlines().index("---") + 2
        sources = ("-f", CATALOG, "-R", "-f", path, "-f", self.path("broken.yaml"))
        got = self.why(*sources, "isvc/wine")
        self.assertEqual(got["subject"]["place"], f"{path}:{line}")
        places = {r["name"]: r.get("place") for r in got["runtimes"]}
        self.assertTrue(all(places.values()), places)
        self.assertEqual(places["broken"], self.path("broken.yaml") + ":2")
        out = self.text(*sources, "isvc/wine")
        self.assertIn(f"manifest    {path}:{line}; ClusterServingRuntime kserve-sklearnserver at {places['kserve-sklearnserver']}\n", out)
        self.assertRegex(out, rf"unreadable +broken .*\[{self.path('broken.yaml')}:2\]")
        out = self.text(*sources, "isvc/wine", ".spec.template.spec.containers[0].image")
        self.assertRegex(out, r"runtime: ClusterServingRuntime kserve-sklearnserver at \S+/kserve-sklearnserver.yaml:\d+\n")

    def test_a_folder_store_tells_file_and_line_too(self):
        shutil.copytree(CATALOG, self.path("store/catalog"))
        self.write("store/mine.yaml", service())
        got = self.why("--store", f"dir:{self.path('store')}", "isvc/iris")
        self.assertEqual(got["subject"]["place"], self.path("store/mine.yaml") + ":1")
        self.assertRegex(got["runtimes"][0]["place"], rf"^{self.path('store/catalog/runtimes')}/kserve-\S+\.yaml:\d+$")

    def test_what_is_not_from_a_file_has_no_place(self):
        recording = self.path("r.ndjson.zst")
        self.write("iris.yaml", service())
        self.run_perigee("plan", "-f", CATALOG, "-R", "-f", self.path("iris.yaml"), "--record", recording)
        got = self.why("--replay", recording, "isvc/iris")
        self.assertNotIn("place", got["subject"])
        self.assertNotIn("manifest ", self.text("--replay", recording, "isvc/iris"))

    def test_an_image_policy_is_named_with_its_line(self):
        self.write("set/image.lua", 'local M = { api = "image/v1" }\nfunction M.tag()\n  return "mine:2"\nend\nreturn M\n')
        got = self.field(".spec.template.spec.containers[0].image", "--policies", self.path("set"))["found"][0]
        self.assertEqual((got["layer"], got["value"]), ("image policy", "mine:2"))
        self.assertEqual(got["decisions"][0]["policy"], {"policy": "image", "function": "tag", "line": 2,
                                                         "file": self.path("set/image.lua")})

    def test_patch_and_label_policies_are_named(self):
        self.write("set/object_patch.lua", 'local M = { api = "object_patch/v1" }\nfunction M.patch(object)\n'
                   '  if object.kind == "Deployment" then return { spec = { minReadySeconds = 7 } } end\nend\nreturn M\n')
        self.write("set/label_priority.lua", 'local M = { api = "label_priority/v1" }\nfunction M.resolve(key, values)\n'
                   '  if key == "team" then return "won" end\nend\nreturn M\n')
        isvc = yaml.safe_load(service())
        isvc["metadata"]["labels"], isvc["spec"]["predictor"]["labels"] = {"team": "a"}, {"team": "b"}
        args = ("-f", CATALOG, "-R", "-f", self.objects(isvc), "--policies", self.path("set"), "isvc/iris")
        got = self.why(*args, ".spec.minReadySeconds")["found"][0]
        self.assertEqual((got["layer"], got["decisions"][0]["policy"]["file"]), ("object_patch policy", self.path("set/object_patch.lua")))
        got = self.why(*args, ".metadata.labels.team", "--object", "Deployment")["found"][0]
        self.assertEqual((got["layer"], got["value"], got["decisions"][0]["policy"]["line"]), ("label_priority policy", "won", 2))

    def test_a_dropped_annotation_is_an_answer(self):
        out = self.text("-f", CATALOG, "-R", "-f", self.write("s.yaml", service()), "isvc/iris", "--object", "Deployment",
                        ".metadata.annotations.modelFormat")
        self.assertRegex(out, r"is not there: dropped\n +annotation: dropped: .*\[shipped/annotation_filter.lua:\d+ keep\]")

    def test_a_field_that_is_not_there_says_what_is(self):
        for path, text in ((".spec.template.spec.containers[0].imagee", "has no 'imagee' in .spec.template.spec.containers[0]: there is args,"),
                           (".spec.template.spec.containers[nobody]", "there is kserve-container"),
                           (".spec.template.spec.containers[7]", "there is kserve-container"),
                           (".nothing.at.all", "has no 'nothing' in it: there is apiVersion"),
                           (".metadata.name.deeper", "nothing below it"),
                           (".spec[", "nothing within [ ]"), ("..", "a key is missing"), (".a['b", "the quotes are not closed"),
                           ("/spec/~2", "no JSON pointer")):
            with self.subTest(path):
                out, err = self.run_perigee("why", "-f", CATALOG, "-R", "-f", self.write("s.yaml", service()), "isvc/iris", path, code=2)
                self.assertEqual(out, "")
                self.assertIn(text, err)
        _, err = self.run_perigee("why", "-f", CATALOG, "-R", "-f", self.path("s.yaml"), "isvc/iris", ".spec", "--object", "Pod", code=2)
        self.assertEqual(err, "error: --object Pod: the plan of default/iris has no such object; "
                              "there is Deployment/iris-predictor, HorizontalPodAutoscaler/iris-predictor, "
                              "InferenceService/iris, Service/iris-predictor\n")

    # ---- misuse ----

    def test_misuse_is_told(self):
        path = self.write("s.yaml", service() + "---\n" + service(namespace="other"))
        for args, text in (((), "one subject"), (("isvc/iris", ".a", ".b"), "one subject"), (("isvc/no",), "no such object"),
                           (("pod/iris",), "can be planned"), (("-A", "isvc/iris"), "in namespaces default and other"),
                           (("isvc/iris", "--seed", "x"), "--seed x")):
            with self.subTest(args):
                _, err = self.run_perigee("why", "-f", path, *args, code=2)
                self.assertIn(text, err)

    def test_hostile_names_stay_within_their_line(self):
        isvc = yaml.safe_load(service(framework="sklearn"))
        isvc["metadata"]["annotations"]["evil\nline"] = "x\n::error::y"
        isvc["spec"]["predictor"]["model"]["modelFormat"]["name"] = "a\nb\x1b[31m"
        out = self.text("-f", CATALOG, "-R", "-f", self.objects(isvc), "isvc/iris", code=1)
        self.assertNotIn("\x1b", out)
        self.assertFalse([line for line in out.splitlines() if line.startswith(("line", "b", "::error"))])


# ---- who set each field of ten Deployments: said here from the manifests alone ----

DEFAULTED = ["imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "dnsPolicy", "restartPolicy", "schedulerName",
             "terminationGracePeriodSeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]
MULTI_NODE = {"head": ["PIPELINE_PARALLEL_SIZE", "TENSOR_PARALLEL_SIZE", "RAY_NODE_COUNT", "REQUEST_GPU_COUNT", "MODEL_NAME", "MODEL_DIR"],
              "worker": ["RAY_NODE_COUNT", "REQUEST_GPU_COUNT", "PIPELINE_PARALLEL_SIZE", "TENSOR_PARALLEL_SIZE", "ISVC_NAME", "HEAD_SVC",
                         "WORKER_SVC"]}
FRAMEWORKS = ["sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "pmml", "huggingface", "lightgbm", "paddle"]


def dig(tree, path):
    for step in path:
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, list):
            tree = next((x for x in tree if isinstance(x, dict) and step in (x.get("name"), x.get("containerPort"), x.get("mountPath"))),
                        tree[step] if isinstance(step, int) and step < len(tree) else None)
        else:
            return None
    return tree


class Expectation:
    """Who must have set a field, derived from the service's and the runtime's manifest and the configuration."""

    def __init__(self, isvc, runtime, deployment):
        self.isvc, self.deployment = isvc, deployment
        self.predictor = isvc["spec"]["predictor"]
        shorthand = next((f for f in FRAMEWORKS if f in self.predictor), None)
        self.model = self.predictor.get("model") or (self.predictor[shorthand] if shorthand else None)
        self.runtime = runtime["spec"] if runtime else {}
        self.is_worker = deployment["metadata"]["name"].endswith("-worker")

    def layer(self, path):
        """path: keys and places from the root of the Deployment."""
        if path[0] in ("apiVersion", "kind"):
            return "rule"
        if path[0] == "metadata":
            return self.of_metadata(path[1:])
        if path[1] == "template" and path[2] == "metadata":
            return self.of_metadata(path[3:])
        if path[1] == "template":
            return self.of_pod(path[3:])
        return self.of_deployment(path[1:])

    def of_metadata(self, path):
        if path[0] not in ("labels", "annotations"):
            return "rule"
        part, key = path
        if part == "labels" and key in ("app", "component", "serving.kserve.io/inferenceservice", "isvc.generation", "modelClass",
                                        "serviceEnvelope"):
            return "rule"
        if part == "annotations" and key.startswith("internal.serving.kserve.io/"):
            return "storage"
        if key in (self.predictor.get(part) or {}):
            return "predictor"
        if key in (self.isvc["metadata"].get(part) or {}):
            return "service"
        source = self.runtime.get("workerSpec", {}) if self.is_worker else self.runtime
        if key in (source.get(part) or {}):
            return "runtime"
        return "rule"  # deploymentMode, which defaulting writes down

    def of_deployment(self, path):
        if path[0] == "strategy":
            if self.is_worker and path[1] == "rollingUpdate":
                return "multi-node"
            if dig(self.predictor, ("deploymentStrategy", *path[1:])) is not None:
                return "predictor"
            return "configuration" if path[1] == "rollingUpdate" else "kubernetes default"
        if path[0] == "replicas":
            return "multi-node" if "workerSpec" in self.predictor else "predictor"
        return "kubernetes default" if path[0] in DEFAULTED else "rule"

    def of_pod(self, path):
        if path[0] == "containers":
            return self.of_container(path[1], path[2:])
        own = self.predictor.get("workerSpec", {}) if self.is_worker else self.predictor
        source = self.runtime.get("workerSpec", {}) if self.is_worker else self.runtime
        if dig(own, path) is not None:
            return "predictor"
        if dig(source, path) is not None:
            return "runtime"
        return "configuration" if path[0] == "automountServiceAccountToken" else "kubernetes default"

    def of_container(self, at, path):
        made = self.deployment["spec"]["template"]["spec"]["containers"][at]
        source = self.runtime.get("workerSpec", {}) if self.is_worker else self.runtime
        theirs = next((c for c in source.get("containers", []) if c["name"] == made["name"]), {})
        layer = "service"
        if self.is_worker:
            own, layer = (self.predictor["workerSpec"].get("containers") or [{}])[0], "predictor"
        elif self.model is not None:
            own = self.model
        else:
            own, layer = next(c for c in self.predictor["containers"] if c["name"] == made["name"]), "predictor"
        if path[0] == "env":
            return self.of_variable(made["env"][path[1]]["name"], path[2:], own, theirs, layer)
        if path[0] == "args":
            given = theirs.get("args", [])
            if path[1] >= len(given):
                return layer
            return "placeholder" if "{{" in given[path[1]] else "runtime"
        if path[0] == "image" and made["image"] not in (own.get("image"), theirs.get("image")):
            return "image policy"
        if path[0] == "resources" and "gpu" in path[-1] and "workerSpec" in self.predictor:
            return "multi-node"
        if dig(own, path) is not None:
            return layer
        if dig(theirs, path) is not None:
            return "runtime"
        if path[0] == "name" and not theirs:
            return layer
        if path[0] == "resources":
            return "configuration"
        return "rule" if path[0] == "readinessProbe" else "kubernetes default"

    def of_variable(self, name, path, own, theirs, layer):
        if name == "INFERENCE_SERVICE_NAME":
            return "rule"
        is_name = path == ("name",)
        in_own = next((e for e in own.get("env", []) if e["name"] == name), None)
        in_theirs = next((e for e in theirs.get("env", []) if e["name"] == name), None)
        if "workerSpec" in self.predictor and name in MULTI_NODE["worker" if self.is_worker else "head"]:
            if not is_name or not (in_own or in_theirs):
                return "multi-node"
        if in_own:
            return layer
        if in_theirs:
            return "placeholder" if "{{" in str(dig(in_theirs, path)) else "runtime"
        return "rule"  # for this kind of server


class Provenance(Case):
    def steps(self, path):
        """'.spec.a\\.b[0]' to keys and places; no key of these objects needs quotes."""
        out = []
        for part in path.replace("\\.", "\0").split(".")[1:]:
            key, *places = part.replace("]", "").split("[")
            out += [key.replace("\0", "."), *(int(p) for p in places)]
        return tuple(out)

    def test_every_field_of_ten_deployments_was_set_by_whom_the_manifests_say(self):
        cluster = os.path.join(ROOT, "examples", "cluster")
        sources = ("-f", cluster, "-f", RUNTIMES, "-f", os.path.join(CATALOG, "storagecontainers"), "-R")
        manifests = []
        for folder in (cluster, RUNTIMES):
            for at, _, names in os.walk(folder):
                for name in names:
                    if name.endswith(".yaml"):
                        with open(os.path.join(at, name)) as f:
                            manifests += [d for d in yaml.safe_load_all(f) if d]
        by_key = {(m["kind"], m["metadata"].get("namespace", ""), m["metadata"]["name"]): m for m in manifests}
        plans, _ = self.run_perigee("plan", *sources, "-o", "json", "--now", NOW, code=1)
        checked = fields = 0
        layers = set()
        for plan in json.loads(plans)["items"]:
            meta, model = plan["resource"]["metadata"], plan["resource"]["spec"]["predictor"].get("model")
            isvc = by_key["InferenceService", meta["namespace"], meta["name"]]
            for deployment in (o for o in plan["objects"] if o["kind"] == "Deployment"):
                chosen = model and (by_key.get(("ServingRuntime", meta["namespace"], model["runtime"]))
                                    or by_key["ClusterServingRuntime", "", model["runtime"]])
                expected = Expectation(isvc, chosen, deployment)
                out, _ = self.run_perigee("why", *sources, "-n", meta["namespace"], "isvc/" + meta["name"], ".", "--object",
                                          "Deployment/" + deployment["metadata"]["name"], "-o", "json", "--now", NOW)
                found = json.loads(out)["found"]
                self.assertEqual(len(found), self.leaves(deployment))
                for field in found:
                    with self.subTest(deployment=deployment["metadata"]["name"], path=field["path"]):
                        self.assertEqual(field["layer"], expected.layer(self.steps(field["path"])))
                    fields += 1
                    layers.add(field["layer"])
                    self.assertEqual(field["value"], dig(deployment, self.steps(field["path"])))
                checked += 1
        self.assertGreaterEqual(checked, 10)
        self.assertGreaterEqual(fields, 500)
        self.assertEqual(layers, {"rule", "runtime", "service", "predictor", "configuration", "kubernetes default", "placeholder",
                                  "image policy", "multi-node", "storage"})

    def leaves(self, node):
        if isinstance(node, dict) and node:
            return sum(map(self.leaves, node.values()))
        if isinstance(node, list) and node:
            return sum(map(self.leaves, node))
        return 1


if __name__ == "__main__":
    unittest.main()
