// SPDX-License-Identifier: Apache-2.0
// test_schema.c: the tables of the Kubernetes types: sorted, reachable, with Go's merge keys; the check against them.
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "json/schema.h"

// ---- walking every table that a kind leads to ----
struct tables {
    const struct prg_schema *items[512];
    size_t count;
};

static void collect(struct tables *tables, const struct prg_schema *schema)
{
    if (!schema)
        return;
    for (size_t i = 0; i < tables->count; i++)
        if (tables->items[i] == schema)
            return;
    assert_true(tables->count < PRG_COUNT(tables->items));
    tables->items[tables->count++] = schema;
    collect(tables, schema->inlined);
    for (size_t i = 0; i < schema->count; i++)
        collect(tables, schema->fields[i].type);
}

static const struct {
    const char *group, *kind;
} kinds[] = {
    {"", "Pod"},
    {"", "Service"},
    {"", "ConfigMap"},
    {"", "Secret"},
    {"apps", "Deployment"},
    {"autoscaling", "HorizontalPodAutoscaler"},
    {"serving.knative.dev", "Service"},
    {"serving.kserve.io", "InferenceService"},
    {"serving.kserve.io", "ServingRuntime"},
    {"serving.kserve.io", "ClusterServingRuntime"},
    {"serving.kserve.io", "ClusterStorageContainer"},
};

static void collect_all(struct tables *tables)
{
    tables->count = 0;
    for (size_t i = 0; i < PRG_COUNT(kinds); i++) {
        const struct prg_schema *schema = prg_schema_of_kind(kinds[i].group, kinds[i].kind);
        assert_non_null(schema);
        collect(tables, schema);
    }
    collect(tables, &prg_schema_pod_template);
    assert_true(tables->count > 150);
}

static void every_table_is_sorted_without_doubles(void **state)
{
    struct tables tables;
    (void)state;
    collect_all(&tables);
    for (size_t t = 0; t < tables.count; t++) {
        const struct prg_schema *schema = tables.items[t];
        for (size_t i = 1; i < schema->count; i++) {
            if (strcmp(schema->fields[i - 1].name, schema->fields[i].name) >= 0)
                print_error("%s: '%s' stands after '%s'\n", schema->name, schema->fields[i].name,
                            schema->fields[i - 1].name);
            assert_true(strcmp(schema->fields[i - 1].name, schema->fields[i].name) < 0);
        }
    }
}

static void every_field_is_found_by_its_name(void **state)
{
    struct tables tables;
    (void)state;
    collect_all(&tables);
    for (size_t t = 0; t < tables.count; t++) {
        const struct prg_schema *schema = tables.items[t];
        assert_null(prg_schema_find(schema, "no such field"));
        assert_null(prg_schema_find(schema, ""));
        for (size_t i = 0; i < schema->count; i++)
            assert_ptr_equal(prg_schema_find(schema, schema->fields[i].name), &schema->fields[i]);
        if (schema->inlined && schema->inlined->count > 0) {
            const struct prg_schema_field *field = &schema->inlined->fields[0];
            assert_non_null(prg_schema_find(schema, field->name));
        }
    }
}

static void every_field_makes_sense(void **state)
{
    struct tables tables;
    (void)state;
    collect_all(&tables);
    for (size_t t = 0; t < tables.count; t++) {
        for (size_t i = 0; i < tables.items[t]->count; i++) {
            const struct prg_schema_field *field = &tables.items[t]->fields[i];
            bool holds_structs = field->kind == PRG_KIND_OBJECT || field->element == PRG_KIND_OBJECT;
            bool holds_many = field->kind == PRG_KIND_LIST || field->kind == PRG_KIND_MAP;
            assert_true(holds_structs == (field->type != NULL));
            assert_true(holds_many || field->element == PRG_KIND_ANY);
            // A merge key names a field of the elements, and only a merged list has one.
            if (field->merge_key) {
                assert_true(field->flags & PRG_FIELD_MERGE);
                assert_int_equal(field->kind, PRG_KIND_LIST);
                assert_non_null(prg_schema_find(field->type, field->merge_key));
            }
            if ((field->flags & PRG_FIELD_MERGE) && field->element == PRG_KIND_OBJECT)
                assert_non_null(field->merge_key);
            // What Go always prints keeps its zero value too.
            if ((field->flags & PRG_FIELD_REQUIRED))
                assert_true(field->flags & PRG_FIELD_KEEP_ZERO);
        }
    }
}

// ---- facts of core/v1 ----
static const struct prg_schema_field *at(const struct prg_schema *schema, const char *path)
{
    char copy[256], *save = NULL;
    const struct prg_schema_field *field = NULL;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *step = strtok_r(copy, ".", &save); step; step = strtok_r(NULL, ".", &save)) {
        assert_non_null(schema);
        field = prg_schema_find(schema, step);
        if (!field)
            print_error("%s: '%s' is unknown\n", path, step);
        assert_non_null(field);
        schema = field->type;
    }
    return field;
}

static void lists_of_a_pod_have_the_merge_keys_of_kubernetes(void **state)
{
    static const struct {
        const char *path, *key;
        bool is_merged, retains_keys;
    } rows[] = {
        {"metadata.ownerReferences", "uid", true, false},
        {"metadata.finalizers", NULL, true, false},
        {"metadata.managedFields", NULL, false, false},
        {"spec.containers", "name", true, false},
        {"spec.initContainers", "name", true, false},
        {"spec.ephemeralContainers", "name", true, false},
        {"spec.containers.args", NULL, false, false},
        {"spec.containers.command", NULL, false, false},
        {"spec.containers.env", "name", true, false},
        {"spec.ephemeralContainers.env", "name", true, false},
        {"spec.containers.envFrom", NULL, false, false},
        {"spec.containers.ports", "containerPort", true, false},
        {"spec.containers.volumeMounts", "mountPath", true, false},
        {"spec.containers.volumeDevices", "devicePath", true, false},
        {"spec.containers.resizePolicy", NULL, false, false},
        {"spec.containers.restartPolicyRules", NULL, false, false},
        {"spec.containers.resources.claims", NULL, false, false},
        {"spec.containers.securityContext.capabilities.add", NULL, false, false},
        {"spec.containers.readinessProbe.httpGet.httpHeaders", NULL, false, false},
        {"spec.volumes", "name", true, true},
        {"spec.volumes.projected.sources", NULL, false, false},
        {"spec.volumes.configMap.items", NULL, false, false},
        {"spec.resourceClaims", "name", true, true},
        {"spec.imagePullSecrets", "name", true, false},
        {"spec.hostAliases", "ip", true, false},
        {"spec.schedulingGates", "name", true, false},
        {"spec.topologySpreadConstraints", "topologyKey", true, false},
        {"spec.topologySpreadConstraints.matchLabelKeys", NULL, false, false},
        {"spec.tolerations", NULL, false, false},
        {"spec.readinessGates", NULL, false, false},
        {"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", NULL, false, false},
        {"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", NULL, false, false},
        {"spec.securityContext.sysctls", NULL, false, false},
        {"spec.dnsConfig.options", NULL, false, false},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        const struct prg_schema_field *field = at(&prg_schema_pod, rows[i].path);
        assert_int_equal(field->kind, PRG_KIND_LIST);
        assert_int_equal((field->flags & PRG_FIELD_MERGE) != 0, rows[i].is_merged);
        assert_int_equal((field->flags & PRG_FIELD_RETAIN_KEYS) != 0, rows[i].retains_keys);
        if (rows[i].key)
            assert_string_equal(field->merge_key, rows[i].key);
        else
            assert_null(field->merge_key);
    }
}

static void pointers_keep_their_zero_values_and_others_do_not(void **state)
{
    static const struct {
        const char *path;
        enum prg_schema_kind kind;
        bool keeps_zero, is_required;
    } rows[] = {
        {"spec.containers.name", PRG_KIND_STRING, true, true},
        {"spec.containers.image", PRG_KIND_STRING, false, false},
        {"spec.containers.tty", PRG_KIND_BOOL, false, false},
        {"spec.containers.ports.containerPort", PRG_KIND_INT, true, true},
        {"spec.containers.ports.hostPort", PRG_KIND_INT, false, false},
        {"spec.containers.env.value", PRG_KIND_STRING, false, false},
        {"spec.containers.env.valueFrom.resourceFieldRef.divisor", PRG_KIND_QUANTITY, false, false},
        {"spec.containers.env.valueFrom.secretKeyRef.optional", PRG_KIND_BOOL, true, false},
        {"spec.containers.livenessProbe.initialDelaySeconds", PRG_KIND_INT, false, false},
        {"spec.containers.livenessProbe.terminationGracePeriodSeconds", PRG_KIND_INT, true, false},
        {"spec.containers.livenessProbe.httpGet.port", PRG_KIND_INTORSTRING, true, true},
        {"spec.containers.livenessProbe.grpc.service", PRG_KIND_STRING, true, false},
        {"spec.containers.securityContext.privileged", PRG_KIND_BOOL, true, false},
        {"spec.containers.securityContext.runAsUser", PRG_KIND_INT, true, false},
        {"spec.containers.restartPolicy", PRG_KIND_STRING, true, false},
        {"spec.ephemeralContainers.targetContainerName", PRG_KIND_STRING, false, false},
        {"spec.volumes.emptyDir.sizeLimit", PRG_KIND_QUANTITY, true, false},
        {"spec.volumes.hostPath.type", PRG_KIND_STRING, true, false},
        {"spec.volumes.csi.readOnly", PRG_KIND_BOOL, true, false},
        {"spec.volumes.image.pullPolicy", PRG_KIND_STRING, false, false},
        {"spec.priority", PRG_KIND_INT, true, false},
        {"spec.hostIPC", PRG_KIND_BOOL, false, false},
        {"spec.hostUsers", PRG_KIND_BOOL, true, false},
        {"spec.serviceAccountName", PRG_KIND_STRING, false, false},
        {"metadata.deletionTimestamp", PRG_KIND_TIME, false, false},
        {"metadata.generation", PRG_KIND_INT, false, false},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        const struct prg_schema_field *field = at(&prg_schema_pod, rows[i].path);
        if ((int)rows[i].kind != (int)field->kind || ((field->flags & PRG_FIELD_KEEP_ZERO) != 0) != rows[i].keeps_zero)
            print_error("%s\n", rows[i].path);
        assert_int_equal(field->kind, rows[i].kind);
        assert_int_equal((field->flags & PRG_FIELD_KEEP_ZERO) != 0, rows[i].keeps_zero);
        assert_int_equal((field->flags & PRG_FIELD_REQUIRED) != 0, rows[i].is_required);
    }
    assert_int_equal(at(&prg_schema_resources, "limits")->element, PRG_KIND_QUANTITY);
}

static void a_component_knows_its_own_fields_and_those_of_a_pod(void **state)
{
    static const char *const known[] = {
        "spec.predictor.model.modelFormat.version",
        "spec.predictor.model.storage.parameters",
        "spec.predictor.model.env.valueFrom.configMapKeyRef.key",
        "spec.predictor.sklearn.resources.limits",
        "spec.predictor.huggingface.args",
        "spec.predictor.containers.image",
        "spec.predictor.nodeSelector",
        "spec.predictor.volumes.persistentVolumeClaim.claimName",
        "spec.predictor.workerSpec.pipelineParallelSize",
        "spec.predictor.workerSpec.containers.resources.requests",
        "spec.predictor.autoScaling.metrics.external.metric.serverAddress",
        "spec.predictor.autoScaling.behavior.scaleDown.policies.periodSeconds",
        "spec.predictor.deploymentStrategy.rollingUpdate.maxSurge",
        "spec.predictor.logger.storage.serviceAccountName",
        "spec.predictor.storageUris.mountPath",
        "spec.predictor.canaryTrafficPercent",
        "spec.transformer.containers.ports.containerPort",
        "spec.transformer.batcher.maxLatency",
        "spec.explainer.art.config",
        "status.components.traffic.revisionName",
        "status.modelStatus.states.activeModelState",
        "status.conditions.lastTransitionTime",
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(known); i++)
        assert_non_null(at(&prg_schema_inference_service, known[i]));
    // In a component the containers may be missing, in a runtime they may not.
    assert_false(at(&prg_schema_inference_service, "spec.predictor.containers")->flags & PRG_FIELD_REQUIRED);
    assert_true(at(&prg_schema_serving_runtime, "spec.containers")->flags & PRG_FIELD_REQUIRED);
    assert_non_null(at(&prg_schema_serving_runtime, "spec.supportedModelFormats.autoSelect"));
    assert_non_null(at(&prg_schema_serving_runtime, "spec.workerSpec.tensorParallelSize"));
    assert_non_null(at(&prg_schema_serving_runtime, "spec.runtimeClassName"));
    assert_non_null(at(&prg_schema_storage_container, "spec.supportedUriFormats.regex"));
    assert_null(prg_schema_find(&prg_schema_storage_container, "predictor"));
}

static void kinds_are_found_by_group_and_kind(void **state)
{
    (void)state;
    assert_ptr_equal(prg_schema_of_kind("", "Pod"), &prg_schema_pod);
    assert_ptr_equal(prg_schema_of_kind("serving.kserve.io", "InferenceService"), &prg_schema_inference_service);
    assert_ptr_equal(prg_schema_of_kind("serving.kserve.io", "ClusterServingRuntime"), &prg_schema_serving_runtime);
    assert_ptr_not_equal(prg_schema_of_kind("", "Service"), prg_schema_of_kind("serving.knative.dev", "Service"));
    assert_null(prg_schema_of_kind("", "Deployment"));
    assert_null(prg_schema_of_kind("example.com", "InferenceService"));
    assert_null(prg_schema_of_kind("", "pod"));
}

// ---- did you mean ----
static void the_nearest_name_is_what_was_meant(void **state)
{
    static const struct {
        const struct prg_schema *schema;
        const char *typed, *meant;
    } rows[] = {
        {&prg_schema_container, "imagePullPolcy", "imagePullPolicy"},
        {&prg_schema_container, "volumemounts", "volumeMounts"},
        {&prg_schema_container, "enviroment", NULL},
        {&prg_schema_container, "arg", "args"},
        {&prg_schema_container, "comand", "command"},
        {&prg_schema_container, "Image", "image"},
        {&prg_schema_container, "readynessProbe", "readinessProbe"},
        {&prg_schema_pod_spec, "nodeselector", "nodeSelector"},
        {&prg_schema_pod_spec, "toleration", "tolerations"},
        {&prg_schema_pod_spec, "quiteSomethingElse", NULL},
        {&prg_schema_pod_spec, "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        const struct prg_schema_field *field = prg_schema_nearest(rows[i].schema, rows[i].typed);
        if (!rows[i].meant) {
            assert_null(field);
            continue;
        }
        assert_non_null(field);
        assert_string_equal(field->name, rows[i].meant);
    }
}

static void the_nearest_name_may_be_an_inlined_one(void **state)
{
    const struct prg_schema *predictor = at(&prg_schema_inference_service, "spec.predictor")->type;
    const struct prg_schema *model = at(&prg_schema_inference_service, "spec.predictor.model")->type;
    (void)state;
    assert_string_equal(prg_schema_nearest(predictor, "sklern")->name, "sklearn");
    assert_string_equal(prg_schema_nearest(predictor, "serviceAcountName")->name, "serviceAccountName");
    assert_string_equal(prg_schema_nearest(model, "storageURI")->name, "storageUri");
    assert_string_equal(prg_schema_nearest(model, "modelformat")->name, "modelFormat");
    assert_string_equal(prg_schema_nearest(model, "resource")->name, "resources");
}

// ---- the check ----
struct findings {
    struct prg_strbuf text; // one line a finding
};

static void add_finding(const struct prg_schema_finding *finding, void *ctx)
{
    struct findings *findings = ctx;
    assert_non_null(finding->node);
    if (finding->problem == PRG_PROBLEM_WRONG_TYPE)
        prg_strbuf_printf(&findings->text, "%s: not %s\n", finding->pointer, finding->expected);
    else
        prg_strbuf_printf(&findings->text, "%s: unknown, nearest %s\n", finding->pointer,
                          finding->nearest ? finding->nearest : "none");
}

static void assert_findings(const struct prg_schema *schema, const char *json, const char *want)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct findings findings = {PRG_STRBUF_INIT};
    prg_schema_check(schema, json ? json_of(&arena, json) : NULL, add_finding, &findings);
    assert_string_equal(findings.text.text, want);
    prg_strbuf_release(&findings.text);
}

static void a_good_pod_has_no_findings(void **state)
{
    (void)state;
    assert_findings(
        &prg_schema_pod,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','labels':{'a':'b'},'creationTimestamp':null},"
        "'spec':{'containers':[{'name':'c','args':['x'],'ports':[{'containerPort':80}],"
        "'resources':{'limits':{'cpu':1,'memory':'2Gi'}},"
        "'livenessProbe':{'httpGet':{'port':'http'},'periodSeconds':5},"
        "'readinessProbe':{'tcpSocket':{'port':80}},'securityContext':null}],'hostIPC':false},"
        "'status':{'whatever':[1,2]}}",
        "");
    assert_findings(&prg_schema_pod, "null", "");
    assert_findings(&prg_schema_pod, NULL, "");
}

static void wrong_types_are_reported_where_they_are(void **state)
{
    (void)state;
    assert_findings(&prg_schema_pod, "[]", ": not object\n");
    assert_findings(&prg_schema_pod_spec,
                    "{'containers':{},'hostIPC':'yes','priority':'1','nodeSelector':{'a/b':true,'c':'d'},"
                    "'terminationGracePeriodSeconds':1.5,'dnsPolicy':7}",
                    "/containers: not list\n"
                    "/hostIPC: not boolean\n"
                    "/priority: not integer\n"
                    "/nodeSelector/a~1b: not string\n"
                    "/terminationGracePeriodSeconds: not integer\n"
                    "/dnsPolicy: not string\n");
    assert_findings(&prg_schema_container,
                    "{'args':['a',1],'env':[{'name':'A'},'B'],'resources':{'limits':{'cpu':[]},'requests':[]},"
                    "'livenessProbe':{'httpGet':{'port':80.5}},'ports':[{'containerPort':'80'}]}",
                    "/args/1: not string\n"
                    "/env/1: not object\n"
                    "/resources/limits/cpu: not quantity\n"
                    "/resources/requests: not object\n"
                    "/livenessProbe/httpGet/port: not integer or string\n"
                    "/ports/0/containerPort: not integer\n");
    assert_findings(&prg_schema_object_meta, "{'creationTimestamp':5}", "/creationTimestamp: not time\n");
}

static void unknown_fields_are_reported_with_the_nearest_known_one(void **state)
{
    (void)state;
    assert_findings(&prg_schema_inference_service,
                    "{'metadata':{'name':'m'},'spec':{'predictor':{'modle':{},"
                    "'model':{'modelFormat':{'name':'sklearn'},'storageURI':'gs://x','zz':{'deep':[1]}},"
                    "'minReplica':1}}}",
                    "/spec/predictor/modle: unknown, nearest model\n"
                    "/spec/predictor/model/storageURI: unknown, nearest storageUri\n"
                    "/spec/predictor/model/zz: unknown, nearest none\n"
                    "/spec/predictor/minReplica: unknown, nearest minReplicas\n");
}

static void findings_come_in_the_order_of_the_document(void **state)
{
    (void)state;
    assert_findings(&prg_schema_pod_spec, "{'volumes':[{'nam':'v'},{'emptyDir':[]}],'aaa':1,'containers':5}",
                    "/volumes/0/nam: unknown, nearest name\n"
                    "/volumes/1/emptyDir: not object\n"
                    "/aaa: unknown, nearest none\n"
                    "/containers: not list\n");
}

static void fields_that_are_always_printed_are_found(void **state)
{
    struct tables tables;
    (void)state;
    collect_all(&tables);
    for (size_t t = 0; t < tables.count; t++) {
        const struct prg_schema *schema = tables.items[t], *inlined = schema->inlined;
        struct prg_schema plain = {.name = schema->name, .fields = schema->fields, .count = schema->count};
        size_t at = 0, plain_at = 0, count = 0;
        for (size_t i = 0; i < schema->count; i++) {
            if (!prg_schema_is_printed(&schema->fields[i]))
                continue;
            assert_ptr_equal(prg_schema_next_printed(schema, &at), &schema->fields[i]);
            assert_ptr_equal(prg_schema_next_printed(&plain, &plain_at), &schema->fields[i]); // without an index
            count++;
        }
        assert_null(prg_schema_next_printed(schema, &at));
        assert_null(prg_schema_next_printed(&plain, &plain_at));
        assert_int_equal(prg_schema_printed_count(&plain), count);
        assert_int_equal(prg_schema_printed_count(schema), count + (inlined ? prg_schema_printed_count(inlined) : 0));
        for (size_t i = 0; i < schema->count; i++)
            assert_ptr_equal(prg_schema_find(&plain, schema->fields[i].name), &schema->fields[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_sorted_without_doubles),
        cmocka_unit_test(every_field_is_found_by_its_name),
        cmocka_unit_test(fields_that_are_always_printed_are_found),
        cmocka_unit_test(every_field_makes_sense),
        cmocka_unit_test(lists_of_a_pod_have_the_merge_keys_of_kubernetes),
        cmocka_unit_test(pointers_keep_their_zero_values_and_others_do_not),
        cmocka_unit_test(a_component_knows_its_own_fields_and_those_of_a_pod),
        cmocka_unit_test(kinds_are_found_by_group_and_kind),
        cmocka_unit_test(the_nearest_name_is_what_was_meant),
        cmocka_unit_test(the_nearest_name_may_be_an_inlined_one),
        cmocka_unit_test(a_good_pod_has_no_findings),
        cmocka_unit_test(wrong_types_are_reported_where_they_are),
        cmocka_unit_test(unknown_fields_are_reported_with_the_nearest_known_one),
        cmocka_unit_test(findings_come_in_the_order_of_the_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
