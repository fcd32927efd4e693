// SPDX-License-Identifier: Apache-2.0
// test_redact.c: what becomes a stand-in, and what stays.
#include "record/redact.h"

#include <string.h>

#include "base/base64.h"
#include "support/support.h"

static void names_of_credentials_are_known(void **state)
{
    static const struct {
        const char *name;
        bool is_credential;
    } rows[] = {
        {"HF_TOKEN", true},
        {"HUGGING_FACE_HUB_TOKEN", true},
        {"AWS_SECRET_ACCESS_KEY", true},
        {"AWS_ACCESS_KEY_ID", true},
        {"secretAccessKey", true},
        {"S3SecretKey", true},
        {"--api-key", true},
        {"apiKey", true},
        {"APIKey", true},
        {"APIKEY", true},
        {"password", true},
        {"db.password", true},
        {"sedna.io/credential", true},
        {"PGPASSWORD", false}, // one word, and not one of them
        {"private_key", true},
        {"token", true},
        {"SECRET_NAME", false},
        {"storageSecretName", false},
        {"serving.kserve.io/storageSecretName", false},
        {"s3SecretAccessKeyName", false},
        {"TOKEN_FILE", false},
        {"tokenPath", false},
        {"max_tokens", false},
        {"MAX_TOKEN_LENGTH", false},
        {"tokenizer", false},
        {"--tokenizer-mode", false},
        {"key", false},
        {"KEY", false},
        {"primary_key", false},
        {"MODEL_NAME", false},
        {"passwordless", false},
        {"", false},
        {"_", false},
        {"a.very.long.name.with.more.words.than.are.looked.at.and.still.more.of.them.and.at.its.end.a.token", true},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++)
        if (prg_redact_is_credential(rows[i].name, strlen(rows[i].name)) != rows[i].is_credential)
            fail_msg("%s: %d", rows[i].name, !rows[i].is_credential);
}

static char *redacted(struct prg_arena *arena, const char *text)
{
    return prg_json_print_arena(arena, prg_redact(arena, json_of(arena, text)), PRG_JSON_COMPACT);
}

static void what_holds_no_secret_is_handed_back_itself(void **state)
{
    static const char *const texts[] = {
        "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'x','annotations':{'a':'b'}}}",
        "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'x'},'data':{}}",
        "{'kind':'Deployment','spec':{'containers':[{'env':[{'name':'A','value':'b'},{'name':'HF_TOKEN','value':''},"
        "{'name':'T_TOKEN','value':'$(HF_TOKEN)'},{'name':'S_TOKEN','valueFrom':{'secretKeyRef':{'name':'s','key':'"
        "password'}}}],"
        "'args':['--model_name={{.Name}}','--max-tokens=5','--enable-token=true','--api-key','--port=1']}]}}",
        "{'kind':'X','metadata':{'annotations':{'serving.kserve.io/storageSecretName':'mine'}}}",
        "{'kind':'X','spec':{'automountServiceAccountToken':false,'storageUri':'s3://bucket/a@b:c'}}",
        "[]",
        "3",
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        const cJSON *object = json_of(&arena, texts[i]);
        if (prg_redact(&arena, object) != object)
            fail_msg("%s: %s", texts[i], redacted(&arena, texts[i]));
    }
}

static void secrets_become_stand_ins(void **state)
{
    static const char *const texts[] = {
        "{'kind':'P','env':[{'name':'HF_TOKEN','value':'XYZZY'}]}",
        "{'kind':'P','env':[{'value':'XYZZY','name':'db-password'}]}",
        "{'kind':'P','spec':{'auth':{'password':'XYZZY'}}}",
        "{'kind':'P','args':['--api-key=XYZZY','-v']}",
        "{'kind':'P','args':['--api-key','XYZZY','-v']}",
        "{'kind':'P','command':['sh','-c','export HF_TOKEN=XYZZY; run --token=XYZZY,x']}",
        "{'kind':'P','url':'https://user:XYZZY@host/path'}",
        "{'kind':'P','url':'see https://a:80/b and https://user:XYZZY@host/path'}",
        "{'kind':'P','note':'https://h/p?token=XYZZY&a=b'}",
        "{'kind':'P','metadata':{'annotations':{'sedna.io/credential':'XYZZY','a':'b'}}}",
        "{'kind':'P','metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'all XYZZY'}}}",
        "{'apiVersion':'v1','kind':'Secret','stringData':{'a':'XYZZY'}}",
        "{'apiVersion':'v1','kind':'Secret','data':{'a':'WFlaWlk='}}",
        "{'apiVersion':'v1','kind':'Secret','data':{'a':'not base64 XYZZY'}}",
        "{'apiVersion':'v1','kind':'Secret','metadata':{'annotations':{'x-token':'XYZZY'}}}",
        "{'apiVersion':'v1','kind':'ConfigMap','data':{'a.json':'https://u:XYZZY@h'}}",
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        const char *got = redacted(&arena, texts[i]);
        if (strstr(got, "XYZZY") || strstr(got, "WFlaWlk") ||
            (!strstr(got, "redacted-") && !strstr(got, "cmVkYWN0ZWQ")))
            fail_msg("%s: %s", texts[i], got);
        // Again changes nothing more.
        assert_string_equal(redacted(&arena, got), got);
    }
}

static void json_in_a_text_is_looked_through(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    cJSON *object = prg_json_object(&arena);
    prg_json_set_string(&arena, object, "note",
                        "{\"user\": \"u\", \"password\" : \"XY\\\"ZZY\", \"secretName\": \"kept\"}");
    const char *got = prg_json_get_text(prg_redact(&arena, object), "note");
    assert_null(strstr(got, "ZZY"));
    assert_non_null(strstr(got, "\"secretName\": \"kept\"}"));
    assert_non_null(strstr(got, "\"password\" : \"redacted-"));
}

static void the_data_of_a_configmap_keeps_its_keys(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *object =
        json_of(&arena, "{'apiVersion':'v1','kind':'ConfigMap','data':{'credentials':'{}','token':'x'}}");
    assert_ptr_equal(prg_redact(&arena, object), object);
}

static const char *decoded(struct prg_arena *arena, const cJSON *secret, const char *key)
{
    size_t length;
    const char *text = prg_json_get_text(prg_json_get(secret, "data"), key);
    assert_non_null(text);
    return prg_base64_decode(arena, text, strlen(text), &length);
}

static void a_storage_secret_keeps_its_form(void **state)
{
    static const char inner[] =
        "{\"type\":\"s3\",\"bucket\":\"b\",\"access_key_id\":\"XYZZY\",\"n\":5,\"on\":true,\"e\":\"\"}";
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    cJSON *secret =
        json_of(&arena, "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'storage-config'},'data':{}}");
    prg_json_set_string(&arena, prg_json_get(secret, "data"), "s3", prg_base64_encode(&arena, inner, strlen(inner)));
    const cJSON *got = json_of(&arena, decoded(&arena, prg_redact(&arena, secret), "s3"));
    assert_string_equal(prg_json_get_text(got, "type"), "s3");
    assert_string_equal(prg_json_get_text(got, "bucket"), "b");
    assert_true(prg_text_has_prefix(prg_json_get_text(got, "access_key_id"), "redacted-"));
    assert_string_equal(prg_json_get_text(got, "n"), "redacted");
    assert_true(prg_json_get_true(got, "on"));
    assert_string_equal(prg_json_get_text(got, "e"), "");
}

static void equal_values_have_equal_stand_ins(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *secret = prg_redact(
        &arena,
        json_of(&arena, "{'apiVersion':'v1','kind':'Secret','data':{'a':'WFlaWlk=','b':'WFlaWlk=','c':'eA=='}}"));
    const cJSON *pod = prg_redact(&arena, json_of(&arena, "{'kind':'P','env':[{'name':'X_TOKEN','value':'XYZZY'}]}"));
    const cJSON *entry = prg_json_item(prg_json_get(pod, "env"), 0);
    assert_string_equal(decoded(&arena, secret, "a"), decoded(&arena, secret, "b"));
    assert_string_not_equal(decoded(&arena, secret, "a"), decoded(&arena, secret, "c"));
    assert_string_equal(decoded(&arena, secret, "a"), prg_json_get_text(entry, "value"));
}

static void long_texts_are_looked_through_once(void **state)
{
    static const char *const parts[] = {
        "a=", "token=$(", "a://", "\"token\":", "token='", "https://a:b", "A-", "token=\\"};
    enum { TIMES = 200000 };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(parts); i++) { // squared this would not end today
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        for (int n = 0; n < TIMES; n++)
            prg_strbuf_puts(&text, parts[i]);
        cJSON *object = prg_json_object(&arena);
        prg_json_set_string(&arena, object, "note", text.text);
        assert_non_null(prg_redact(&arena, object));
    }
}

static void the_object_itself_is_never_changed(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *object = json_of(&arena, "{'kind':'P','args':['--api-key','XYZZY','HF_TOKEN=a']}");
    const char *before = prg_json_print_arena(&arena, object, PRG_JSON_COMPACT);
    assert_ptr_not_equal(prg_redact(&arena, object), object);
    assert_string_equal(prg_json_print_arena(&arena, object, PRG_JSON_COMPACT), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_credentials_are_known),
        cmocka_unit_test(what_holds_no_secret_is_handed_back_itself),
        cmocka_unit_test(secrets_become_stand_ins),
        cmocka_unit_test(json_in_a_text_is_looked_through),
        cmocka_unit_test(the_data_of_a_configmap_keeps_its_keys),
        cmocka_unit_test(a_storage_secret_keeps_its_form),
        cmocka_unit_test(equal_values_have_equal_stand_ins),
        cmocka_unit_test(long_texts_are_looked_through_once),
        cmocka_unit_test(the_object_itself_is_never_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
