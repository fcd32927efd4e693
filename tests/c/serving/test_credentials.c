// SPDX-License-Identifier: Apache-2.0
// test_credentials.c: variables and volumes from Secrets. The recorded pods are in test_initializer.c; here is what
// they leave out.
#include "plan_fixture.h"

#include "serving/initializer.h"

struct fixture {
    struct px px;
    struct prg_initializer in;
    cJSON *container, *pod_spec;
    int rc;
};

#define SECRET(name, data)                                                                                             \
    "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': '" name "', 'namespace': 'ns'}, 'stringData': " data  \
    "}"
#define ACCOUNT(name, secrets)                                                                                         \
    "{'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': '" name                                       \
    "', 'namespace': 'ns'}, 'secrets': " secrets "}"

static struct fixture *prepare(const char *objects, const char *sections)
{
    struct fixture *f = test_calloc(1, sizeof(*f));
    px_init(&f->px, &prg_compat_fixed);
    px_prepare(&f->px, NULL, json_of(&f->px.arena, objects), px_config(&f->px.arena, sections));
    f->in = (struct prg_initializer){
        .arena = &f->px.arena, .store = &f->px.reader.base, .config = &f->px.config, .ns = "ns"};
    f->container =
        json_of(&f->px.arena, "{'name': 'storage-initializer', 'args': ['<scheme-placeholder>://a/b', '/mnt/models']}");
    f->pod_spec = json_of(&f->px.arena, "{}");
    return f;
}

static void from_account(struct fixture *f)
{
    f->rc = prg_credentials_from_account(&f->in, f->container, f->pod_spec, &f->px.err);
}

static void from_storage(struct fixture *f, const char *key, const char *parameters)
{
    f->in.storage_key = prg_json_string(&f->px.arena, key);
    f->in.storage_parameters = json_of(&f->px.arena, parameters);
    f->rc = prg_credentials_from_storage(&f->in, f->container, &f->px.err);
}

static void done(struct fixture *f)
{
    px_release(&f->px);
    test_free(f);
}

// ---- secrets of a service account ----

static void keys_decide_what_a_secret_is_for(void **state)
{
    static const struct {
        const char *objects, *env;
    } cases[] = {
        {"[" SECRET("s", "{'HF_TOKEN': 't'}") "]",
         "[{'name': 'HF_TOKEN', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'HF_TOKEN'}}}]"},
        {"[" SECRET("s", "{'https-host': 'h', 'headers': 'a: b'}") "]", "[{'name': 'h-headers', 'value': 'a: b'}]"},
        {"[" SECRET("s", "{'https-host': 'h'}") "]", NULL},
        {"[" SECRET("s", "{'AZ_CLIENT_ID': 'x'}") "]",
         "[{'name': 'AZURE_TENANT_ID', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'AZURE_TENANT_ID'}}},"
         " {'name': 'AZURE_CLIENT_ID', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'AZ_CLIENT_ID'}}}]"},
        {"[" SECRET("s", "{'gcloud-application-credentials.json': '{}'}") "]",
         "[{'name': 'GOOGLE_APPLICATION_CREDENTIALS', 'value': "
         "'/var/secrets/gcloud-application-credentials.json'}]"},
        {"[" SECRET("s", "{'something': 'else'}") "]", NULL},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fixture *f = prepare(cases[i].objects, NULL);
        cJSON *objects = prg_json_copy(&f->px.arena, f->px.reader.objects);
        prg_json_append(objects, json_of(&f->px.arena, ACCOUNT("default", "[{'name': 's'}]")));
        f->px.reader.objects = objects;
        from_account(f);
        assert_ok(f->rc, &f->px.err);
        const cJSON *env = prg_json_get(f->container, "env");
        if (cases[i].env)
            assert_json_text(&f->px.arena, env, cases[i].env);
        else
            assert_int_equal(prg_json_count(env), 0);
        done(f);
    }
}

static void s3_settings_come_from_annotation_secret_then_configuration(void **state)
{
    struct fixture *f =
        prepare("[{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 's', 'namespace': 'ns', 'annotations': "
                "{'serving.kserve.io/s3-endpoint': 'annotated'}}, 'stringData': {'mykey': 'x', 'S3_ENDPOINT': 'own', "
                "'AWS_DEFAULT_REGION': 'own'}}, " ACCOUNT("sa", "[{'name': 's'}]") "]",
                "{'credentials': {'s3': {'s3SecretAccessKeyName': 'mykey', 's3Endpoint': 'configured', 's3Region': "
                "'configured', 's3VerifySSL': '0'}}}");
    (void)state;
    prg_json_set_string(&f->px.arena, f->pod_spec, "serviceAccountName", "sa");
    from_account(f);
    assert_ok(f->rc, &f->px.err);
    assert_json_text(
        &f->px.arena, prg_json_get(f->container, "env"),
        "[{'name': 'AWS_ACCESS_KEY_ID', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'awsAccessKeyID'}}},"
        " {'name': 'AWS_SECRET_ACCESS_KEY', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'mykey'}}},"
        " {'name': 'S3_ENDPOINT', 'value': 'annotated'}, {'name': 'AWS_ENDPOINT_URL', 'value': 'https://annotated'},"
        " {'name': 'S3_VERIFY_SSL', 'value': '0'}, {'name': 'AWS_DEFAULT_REGION', 'value': 'own'}]");
    done(f);
}

static void a_second_s3_secret_only_gives_new_values(void **state)
{
    struct fixture *f =
        prepare("[" SECRET("a", "{'awsSecretAccessKey': 'x', 'AWS_DEFAULT_REGION': 'one'}") ", " SECRET(
                    "b", "{'awsSecretAccessKey': 'x', 'AWS_DEFAULT_REGION': 'two'}") ", " ACCOUNT("default",
                                                                                                  "[{'name': 'a'}, "
                                                                                                  "{'name': 'b'}]") "]",
                NULL);
    (void)state;
    from_account(f);
    assert_ok(f->rc, &f->px.err);
    const cJSON *env = prg_json_get(f->container, "env");
    assert_int_equal(prg_json_count(env), 3);
    assert_string_equal(prg_json_get_text(prg_json_item(env, 2), "value"), "two");
    // references are kept: only values are merged
    assert_string_equal(prg_json_text(prg_json_at(prg_json_item(env, 0), "valueFrom", "secretKeyRef", "name")), "a");
    done(f);
}

static void a_secret_named_by_annotation_takes_the_place_of_the_accounts(void **state)
{
    struct fixture *f = prepare("[" SECRET("a", "{'HF_TOKEN': 'x'}") ", " ACCOUNT("default", "[{'name': 'gone'}]") "]",
                                "{'credentials': {'storageSecretNameAnnotation': 'my/secret'}}");
    (void)state;
    f->in.annotations = json_of(&f->px.arena, "{'my/secret': 'a'}");
    from_account(f);
    assert_ok(f->rc, &f->px.err);
    assert_int_equal(prg_json_count(prg_json_get(f->container, "env")), 1);
    f->in.annotations = NULL;
    from_account(f);
    assert_int_equal(f->rc, PRG_NOTFOUND);
    assert_error_has(&f->px.err, "secrets \"gone\" not found");
    done(f);
}

static void without_an_account_there_are_no_credentials(void **state)
{
    struct fixture *f = prepare("[]", NULL);
    (void)state;
    from_account(f);
    assert_ok(f->rc, &f->px.err);
    assert_null(prg_json_get(f->container, "env"));
    done(f);
}

static void bad_configuration_of_credentials_is_an_error(void **state)
{
    struct fixture *f = prepare("[]", "{'credentials': []}");
    (void)state;
    from_account(f);
    assert_int_equal(f->rc, PRG_INVALID);
    from_storage(f, "", "{'type': 'hdfs'}");
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "key 'credentials'");
    done(f);
}

// ---- storage secrets ----

static const char *uri_of(const struct fixture *f)
{
    return prg_json_text(prg_json_item(prg_json_get(f->container, "args"), 0));
}

static void type_and_bucket_come_from_parameters_then_from_the_secret(void **state)
{
    static const struct {
        const char *data, *key, *parameters, *uri;
    } cases[] = {
        {"{'k': '{\\'type\\': \\'s3\\', \\'bucket\\': \\'own\\'}'}", "k", "{}", "s3://own/a/b"},
        {"{'k': '{\\'type\\': \\'s3\\', \\'bucket\\': \\'own\\'}'}", "k", "{'bucket': 'given'}", "s3://given/a/b"},
        {"{'k': 'not read'}", "k", "{'type': 'hdfs'}", "hdfs://a/b"},
        {"{'k': '{\\'type\\': \\'webhdfs\\'}'}", "k", "{}", "webhdfs://a/b"},
        {"{'default': '{\\'type\\': \\'hdfs\\'}'}", "", "{}", "hdfs://a/b"},
        {"{'default_s3': 'x'}", "", "{'type': 's3', 'bucket': 'b'}", "s3://b/a/b"},
        {"{}", "", "{'type': 's3', 'bucket': 'b'}", "s3://b/a/b"}, // no entry is fine when none was asked for
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        prg_auto_strbuf data = PRG_STRBUF_INIT;
        prg_arena_init(&arena);
        // JSON within JSON: \' stands for the inner quotes
        for (const char *at = cases[i].data; *at; at++) {
            if (*at == '\\')
                prg_strbuf_puts(&data, "\\\""), at++;
            else
                prg_strbuf_putc(&data, *at == '\'' ? '"' : *at);
        }
        struct fixture *f = prepare("[]", NULL);
        cJSON *secret = json_of(&f->px.arena, SECRET("storage-config", "{}")), *objects = prg_json_array(&f->px.arena);
        prg_json_set(&f->px.arena, secret, "stringData", json_of(&f->px.arena, data.text));
        prg_json_append(objects, secret);
        f->px.reader.objects = objects;
        from_storage(f, cases[i].key, cases[i].parameters);
        assert_ok(f->rc, &f->px.err);
        assert_string_equal(uri_of(f), cases[i].uri);
        done(f);
    }
}

static void parameters_are_handed_on(void **state)
{
    struct fixture *f = prepare("[" SECRET("storage-config", "{'k': 'x'}") "]", NULL);
    (void)state;
    from_storage(f, "k", "{'type': 'hdfs', 'b': '<'}");
    assert_ok(f->rc, &f->px.err);
    const cJSON *env = prg_json_get(f->container, "env");
    assert_json_text(&f->px.arena, prg_json_item(env, 0),
                     "{'name': 'STORAGE_CONFIG', 'valueFrom': {'secretKeyRef': {'name': 'storage-config', 'key': "
                     "'k'}}}");
    assert_string_equal(prg_json_get_text(prg_json_item(env, 1), "name"), "STORAGE_OVERRIDE_CONFIG");
    assert_string_equal(prg_json_get_text(prg_json_item(env, 1), "value"), "{\"b\":\"\\u003c\",\"type\":\"hdfs\"}");
    done(f);
}

static void what_is_wrong_with_storage_secrets_is_told_as_the_original_does(void **state)
{
    static const struct {
        const char *objects, *key, *parameters, *error;
    } cases[] = {
        {"[]", "k", "{}", "can't read storage secret storage-config: secrets \"storage-config\" not found"},
        {"[]", "", "{}", "unable to determine storage type"},
        {"[" SECRET("storage-config", "{}") "]", "k", "{}",
         "specified storage key k not found in storage secret storage-config"},
        {"[" SECRET("storage-config", "{'k': '{'}") "]", "k", "{}",
         "invalid json encountered in key k of storage secret storage-config"},
        {"[" SECRET("storage-config", "{'k': '[]'}") "]", "k", "{}", "of storage secret storage-config: expected an"},
        {"[" SECRET("storage-config", "{'k': '{}'}") "]", "k", "{}", "unable to determine storage type"},
        {"[]", "", "{'type': 's3'}", "format [s3] requires a bucket but one wasn't found"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fixture *f = prepare(cases[i].objects, NULL);
        from_storage(f, cases[i].key, cases[i].parameters);
        assert_true(f->rc != PRG_OK);
        assert_error_has(&f->px.err, cases[i].error);
        done(f);
    }
}

static void types_that_no_initializer_knows_are_refused(void **state)
{
    struct fixture *f = prepare("[]", NULL);
    (void)state;
    cJSON *secret = json_of(&f->px.arena, SECRET("storage-config", "{}")), *objects = prg_json_array(&f->px.arena);
    cJSON *data = prg_json_get(secret, "stringData");
    prg_json_set_string(&f->px.arena, data, "k", "{\"type\": \"ftp\"}");
    prg_json_set_string(&f->px.arena, data, "n", "{\"type\": \"s3\", \"n\": 1}");
    prg_json_set_string(&f->px.arena, data, "c",
                        "{\"type\": \"s3\", \"bucket\": \"b\", \"cabundle_configmap\": \"ca\"}");
    prg_json_append(objects, secret);
    f->px.reader.objects = objects;
    from_storage(f, "k", "{}");
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err,
                     "storage type must be one of [s3, hdfs, webhdfs]. storage type [ftp] is not supported");
    f->px.err = (struct prg_error){0};
    from_storage(f, "n", "{}");
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "'n' is no text");
    f->px.err = (struct prg_error){0};
    from_storage(f, "c", "{}");
    assert_ok(f->rc, &f->px.err);
    assert_json_text(&f->px.arena, prg_json_item(prg_json_get(f->container, "env"), 0),
                     "{'name': 'AWS_CA_BUNDLE_CONFIGMAP', 'value': 'ca'}");
    done(f);
}

static void a_uri_that_says_its_scheme_is_kept(void **state)
{
    struct fixture *f = prepare("[]", NULL);
    (void)state;
    f->container = json_of(&f->px.arena, "{'args': ['s3://b/p', '/mnt/models']}");
    from_storage(f, "", "{'type': 'hdfs'}");
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(uri_of(f), "s3://b/p");
    done(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_decide_what_a_secret_is_for),
        cmocka_unit_test(s3_settings_come_from_annotation_secret_then_configuration),
        cmocka_unit_test(a_second_s3_secret_only_gives_new_values),
        cmocka_unit_test(a_secret_named_by_annotation_takes_the_place_of_the_accounts),
        cmocka_unit_test(without_an_account_there_are_no_credentials),
        cmocka_unit_test(bad_configuration_of_credentials_is_an_error),
        cmocka_unit_test(type_and_bucket_come_from_parameters_then_from_the_secret),
        cmocka_unit_test(parameters_are_handed_on),
        cmocka_unit_test(what_is_wrong_with_storage_secrets_is_told_as_the_original_does),
        cmocka_unit_test(types_that_no_initializer_knows_are_refused),
        cmocka_unit_test(a_uri_that_says_its_scheme_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
