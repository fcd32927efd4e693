// SPDX-License-Identifier: Apache-2.0
// credentials.c: how a storage initializer gets at private storage: variables and volumes from Secrets.
// Source: credentials.CredentialBuilder and the packages below pkg/credentials. Texts of errors are those of the
// original, because they become messages of conditions.
#include <string.h>

#include "base/base64.h"
#include "object/meta.h"
#include "plan/origin.h"
#include "serving/initializer.h"
#include "serving/predictor.h"

#define SCHEME_PLACEHOLDER "<scheme-placeholder>://"

// ---- Secrets ----

// The value of a key, or NULL. stringData is how manifests write it; an API server moves it into data.
static const char *secret_value(struct prg_arena *arena, const cJSON *secret, const char *key, size_t *ret_length)
{
    size_t ignored;
    const cJSON *plain = prg_json_at(secret, "stringData", key), *encoded = prg_json_at(secret, "data", key);
    if (!ret_length)
        ret_length = &ignored;
    if (prg_json_is_string(plain)) {
        *ret_length = prg_json_text_length(plain);
        return prg_json_text(plain);
    }
    if (!prg_json_is_string(encoded))
        return NULL;
    return prg_base64_decode(arena, prg_json_text(encoded), prg_json_text_length(encoded), ret_length);
}

static bool has_key(const cJSON *secret, const char *key)
{
    return prg_json_is_string(prg_json_at(secret, "data", key)) ||
           prg_json_is_string(prg_json_at(secret, "stringData", key));
}

static const cJSON *secret_of(const struct prg_initializer *in, const char *name)
{
    return prg_reader_get(in->store, "", "Secret", in->ns, name);
}

static int credentials_section(const struct prg_initializer *in, const cJSON **ret, struct prg_error *err)
{
    return prg_serving_config_section(in->config, "credentials", ret, err);
}

// A text of the section, or fallback when it is absent or empty.
static const char *setting(const cJSON *section, const char *group, const char *key, const char *fallback)
{
    const char *text = prg_json_get_text(group ? prg_json_get(section, group) : section, key);
    return text && *text ? text : fallback;
}

// ---- S3 ----

struct s3_variable {
    const char *name, *annotation, *setting;
};

// Order as in BuildS3EnvVars. Each value comes from an annotation, else from the secret's own key of the variable's
// name, else from the configuration.
static const struct s3_variable s3_https = {"S3_USE_HTTPS", "serving.kserve.io/s3-usehttps", "s3UseHttps"};
static const struct s3_variable s3_endpoint = {"S3_ENDPOINT", "serving.kserve.io/s3-endpoint", "s3Endpoint"};
static const struct s3_variable s3_others[] = {
    {"S3_VERIFY_SSL", "serving.kserve.io/s3-verifyssl", "s3VerifySSL"},
    {"awsAnonymousCredential", "serving.kserve.io/s3-useanoncredential", "s3UseAnonymousCredential"},
    {"AWS_DEFAULT_REGION", "serving.kserve.io/s3-region", "s3Region"},
    {"S3_USER_VIRTUAL_BUCKET", "serving.kserve.io/s3-usevirtualbucket", "s3UseVirtualBucket"},
    {"S3_USE_ACCELERATE", "serving.kserve.io/s3-useaccelerate", "s3UseAccelerate"},
    {"AWS_CA_BUNDLE", "serving.kserve.io/s3-cabundle", "s3CABundle"},
    {"AWS_CA_BUNDLE_CONFIGMAP", "serving.kserve.io/s3-cabundle-configmap", "s3CABundleConfigMap"},
};

struct s3_source {
    struct prg_arena *arena;
    const cJSON *object;  // the Secret or ServiceAccount, for its annotations
    const cJSON *secret;  // NULL for a service account
    const cJSON *section; // credentials
};

static const char *s3_value(const struct s3_source *source, const struct s3_variable *variable)
{
    const char *text = prg_meta_annotation(source->object, variable->annotation);
    if (!text)
        text = secret_value(source->arena, source->secret, variable->name, NULL);
    return text ? text : setting(source->section, "s3", variable->setting, "");
}

// Variables of the S3 settings, appended to a holder {env: []}.
static void s3_variables(const struct s3_source *source, cJSON *holder)
{
    const char *https = s3_value(source, &s3_https), *endpoint = s3_value(source, &s3_endpoint);
    if (*https)
        prg_env_append(source->arena, holder, s3_https.name, https);
    if (*endpoint) {
        prg_env_append(source->arena, holder, s3_endpoint.name, endpoint);
        prg_env_append(
            source->arena, holder, "AWS_ENDPOINT_URL",
            prg_arena_printf(source->arena, "%s://%s", prg_text_equal(https, "0") ? "http" : "https", endpoint));
    }
    for (size_t i = 0; i < PRG_COUNT(s3_others); i++) {
        const char *value = s3_value(source, &s3_others[i]);
        if (*value)
            prg_env_append(source->arena, holder, s3_others[i].name, value);
    }
}

// MergeEnvs: a variable that is there already only gets the new value; others are appended.
static void merge_variables(struct prg_arena *arena, cJSON *container, const cJSON *variables)
{
    const cJSON *variable;
    cJSON *added = prg_json_array(arena), *env = prg_json_ensure_array(arena, container, "env");
    prg_json_each (variable, variables) {
        const char *name = prg_json_get_text(variable, "name"), *value = prg_json_get_text(variable, "value");
        cJSON *present = prg_named_item(env, name ? name : "");
        if (!present) {
            prg_json_append(added, prg_json_copy(arena, variable));
        } else {
            prg_json_remove(present, "value");
            prg_json_set_string(arena, present, "value", value);
        }
    }
    prg_json_each (variable, added)
        prg_json_append(env, prg_json_copy(arena, variable));
}

static void mount_s3(const struct prg_initializer *in, const cJSON *section, const cJSON *secret, cJSON *container)
{
    struct s3_source source = {in->arena, secret, secret, section};
    cJSON *holder = prg_json_object(in->arena);
    prg_env_append_secret(in->arena, holder, "AWS_ACCESS_KEY_ID", prg_meta_name(secret),
                          setting(section, "s3", "s3AccessKeyIDName", "awsAccessKeyID"));
    prg_env_append_secret(in->arena, holder, "AWS_SECRET_ACCESS_KEY", prg_meta_name(secret),
                          setting(section, "s3", "s3SecretAccessKeyName", "awsSecretAccessKey"));
    s3_variables(&source, holder);
    merge_variables(in->arena, container, prg_json_get(holder, "env"));
}

// ---- the other kinds ----

static void mount_secret_volume(const struct prg_initializer *in, const cJSON *secret, const char *name,
                                const char *path, cJSON *container, cJSON *pod_spec)
{
    cJSON *volume = prg_json_object(in->arena);
    prg_json_set_string(in->arena, volume, "name", name);
    prg_json_set_string(in->arena, prg_json_ensure_object(in->arena, volume, "secret"), "secretName",
                        prg_meta_name(secret));
    prg_volume_add(in->arena, pod_spec, volume);
    prg_json_append(prg_json_ensure_array(in->arena, container, "volumeMounts"),
                    prg_volume_mount(in->arena, name, path, "", true));
}

// azure.BuildSecretEnvs: an old key goes before the present one; only AZURE_TENANT_ID is set without a key too.
static void mount_azure(const struct prg_initializer *in, const cJSON *secret, cJSON *container)
{
    static const struct {
        const char *name, *legacy;
    } keys[] = {
        {"AZURE_SUBSCRIPTION_ID", "AZ_SUBSCRIPTION_ID"},
        {"AZURE_TENANT_ID", "AZ_TENANT_ID"},
        {"AZURE_CLIENT_ID", "AZ_CLIENT_ID"},
        {"AZURE_CLIENT_SECRET", "AZ_CLIENT_SECRET"},
        {"AZURE_STORAGE_ACCESS_KEY", NULL},
        {"AZURE_ACCESS_TOKEN", NULL},
        {"AZURE_ACCESS_EXPIRES_ON_SECONDS", NULL},
        {"AZURE_ACCOUNT_NAME", NULL},
        {"AZURE_SERVICE_URL", NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        const char *key = keys[i].legacy && has_key(secret, keys[i].legacy) ? keys[i].legacy : keys[i].name;
        if (has_key(secret, key) || prg_text_equal(key, "AZURE_TENANT_ID"))
            prg_env_append_secret(in->arena, container, keys[i].name, prg_meta_name(secret), key);
    }
}

static void mount_headers(const struct prg_initializer *in, const cJSON *secret, cJSON *container)
{
    const char *host = secret_value(in->arena, secret, "https-host", NULL);
    const char *headers = secret_value(in->arena, secret, "headers", NULL);
    if (host && headers)
        prg_env_append(in->arena, container, prg_arena_printf(in->arena, "%s-headers", host), headers);
}

// mountSecretCredential: the first key that fits decides what the secret is for.
static int mount_secret(const struct prg_initializer *in, const cJSON *section, const char *name, cJSON *container,
                        cJSON *pod_spec, struct prg_error *err)
{
    const cJSON *secret = secret_of(in, name);
    const char *gcs_file = setting(section, "gcs", "gcsCredentialFileName", "gcloud-application-credentials.json");
    if (!secret)
        return prg_fail(err, PRG_NOTFOUND, "secrets \"%s\" not found", name);
    if (has_key(secret, setting(section, "s3", "s3SecretAccessKeyName", "awsSecretAccessKey"))) {
        mount_s3(in, section, secret, container);
    } else if (has_key(secret, gcs_file)) {
        mount_secret_volume(in, secret, "user-gcp-sa", "/var/secrets/", container, pod_spec);
        prg_env_append(in->arena, container, "GOOGLE_APPLICATION_CREDENTIALS",
                       prg_arena_printf(in->arena, "/var/secrets/%s", gcs_file));
    } else if (has_key(secret, "AZ_CLIENT_ID") || has_key(secret, "AZURE_CLIENT_ID") ||
               has_key(secret, "AZURE_ACCESS_TOKEN")) {
        mount_azure(in, secret, container);
    } else if (has_key(secret, "AZURE_STORAGE_ACCESS_KEY")) {
        prg_env_append_secret(in->arena, container, "AZURE_STORAGE_ACCESS_KEY", prg_meta_name(secret),
                              "AZURE_STORAGE_ACCESS_KEY");
    } else if (has_key(secret, "https-host")) {
        mount_headers(in, secret, container);
    } else if (has_key(secret, "HDFS_NAMENODE")) {
        mount_secret_volume(in, secret, "hdfs-secrets", "/var/secrets/kserve-hdfscreds", container, pod_spec);
    } else if (has_key(secret, "HF_TOKEN")) {
        prg_env_append_secret(in->arena, container, "HF_TOKEN", prg_meta_name(secret), "HF_TOKEN");
    }
    return PRG_OK;
}

int prg_credentials_from_account(const struct prg_initializer *in, cJSON *container, cJSON *pod_spec,
                                 struct prg_error *err)
{
    const cJSON *section = NULL, *reference;
    const char *name = prg_json_get_text(pod_spec, "serviceAccountName");
    if (credentials_section(in, &section, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    const cJSON *account = prg_reader_get(in->store, "", "ServiceAccount", in->ns, name && *name ? name : "default");
    if (!account)
        return PRG_OK; // as in the original: nothing to take from, nothing said
    if (prg_meta_annotation(account, "eks.amazonaws.com/role-arn")) {
        struct s3_source source = {in->arena, account, NULL, section};
        s3_variables(&source, container);
    }
    // A secret named by annotation takes the place of those of the account.
    const char *key = setting(section, NULL, "storageSecretNameAnnotation", NULL);
    const char *named = key ? prg_json_get_text(in->annotations, key) : NULL;
    if (named)
        return mount_secret(in, section, named, container, pod_spec, err);
    prg_json_each (reference, prg_json_get(account, "secrets")) {
        const char *secret = prg_json_get_text(reference, "name");
        if (mount_secret(in, section, secret ? secret : "", container, pod_spec, err) != PRG_OK)
            return err ? err->code : PRG_NOTFOUND;
    }
    return PRG_OK;
}

// ---- storage secrets ----

struct storage_secret {
    const char *name, *key; // of the Secret, and in it
    const char *value;      // JSON text, or NULL: no such entry, which is fine when no key was asked for
    size_t length;
    const char *type, *bucket; // "" when not known
};

static int find_entry(const struct prg_initializer *in, const char *asked_key, struct storage_secret *entry,
                      struct prg_error *err)
{
    const cJSON *secret = secret_of(in, entry->name);
    entry->key = asked_key;
    if (!secret)
        return *asked_key ? prg_fail(err, PRG_NOTFOUND, "can't read storage secret %s: secrets \"%s\" not found",
                                     entry->name, entry->name)
                          : PRG_OK;
    if (!*asked_key)
        entry->key = *entry->type ? prg_arena_printf(in->arena, "default_%s", entry->type) : "default";
    entry->value = secret_value(in->arena, secret, entry->key, &entry->length);
    if (!entry->value && *asked_key)
        return prg_fail(err, PRG_NOTFOUND, "specified storage key %s not found in storage secret %s", asked_key,
                        entry->name);
    return PRG_OK;
}

// Type, bucket and CA bundle from the secret's own JSON; asked only when the parameters name no type.
static int read_entry(const struct prg_initializer *in, struct storage_secret *entry, cJSON *container,
                      struct prg_error *err)
{
    cJSON *data = NULL;
    const cJSON *member;
    if (prg_json_parse(in->arena, entry->value, entry->length, NULL, &data, err) != PRG_OK)
        return prg_wrap(err, "invalid json encountered in key %s of storage secret %s", entry->key, entry->name);
    if (!prg_json_is_object(data) && !prg_json_is_null(data))
        return prg_fail(err, PRG_INVALID, "invalid json encountered in key %s of storage secret %s: expected an object",
                        entry->key, entry->name);
    if (prg_json_is_object(data))
        prg_json_each (member, data) {
            if (!prg_json_is_string(member))
                return prg_fail(err, PRG_INVALID,
                                "invalid json encountered in key %s of storage secret %s: '%s' is no text", entry->key,
                                entry->name, member->string);
        }
    const char *type = prg_json_get_text(data, "type"), *bucket = prg_json_get_text(data, "bucket");
    const char *ca_bundle = prg_json_get_text(data, "cabundle_configmap");
    if (type) {
        entry->type = type;
        if (!prg_text_equal(type, "s3") && !prg_text_equal(type, "hdfs") && !prg_text_equal(type, "webhdfs"))
            return prg_fail(err, PRG_INVALID,
                            "storage type must be one of [s3, hdfs, webhdfs]. storage type [%s] is not supported",
                            type);
    }
    if (bucket && !*entry->bucket)
        entry->bucket = bucket;
    if (ca_bundle)
        prg_env_append(in->arena, container, "AWS_CA_BUNDLE_CONFIGMAP", ca_bundle);
    return PRG_OK;
}

// "<scheme-placeholder>://PATH" becomes "TYPE://BUCKET/PATH"; only S3 has buckets.
static int complete_uri(const struct prg_initializer *in, const struct storage_secret *entry, cJSON *container,
                        struct prg_error *err)
{
    cJSON *args = prg_json_get(container, "args"), *first = prg_json_item(args, 0);
    const char *uri = prg_json_text(first);
    if (!prg_text_has_prefix(uri, SCHEME_PLACEHOLDER))
        return PRG_OK;
    const char *path = uri + strlen(SCHEME_PLACEHOLDER);
    bool has_bucket = prg_text_equal(entry->type, "s3");
    if (has_bucket && !*entry->bucket)
        return prg_fail(err, PRG_INVALID,
                        "format [%s] requires a bucket but one wasn't found in storage data or parameters",
                        entry->type);
    cJSON *value = has_bucket ? prg_json_stringf(in->arena, "%s://%s/%s", entry->type, entry->bucket, path)
                              : prg_json_stringf(in->arena, "%s://%s", entry->type, path);
    prg_json_tag(value, PRG_ORIGIN_STORAGE);
    prg_json_replace(args, first, value);
    return PRG_OK;
}

int prg_credentials_from_storage(const struct prg_initializer *in, cJSON *container, struct prg_error *err)
{
    const cJSON *section = NULL;
    if (credentials_section(in, &section, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    const char *asked_key = prg_json_text(in->storage_key);
    const char *type = prg_json_get_text(in->storage_parameters, "type");
    const char *bucket = prg_json_get_text(in->storage_parameters, "bucket");
    const char *annotation = setting(section, NULL, "storageSecretNameAnnotation", "");
    const char *named = prg_json_get_text(in->annotations, annotation);
    struct storage_secret entry = {.type = type ? type : "", .bucket = bucket ? bucket : ""};
    entry.name = named ? named : setting(section, NULL, "storageSpecSecretName", "storage-config");
    if (find_entry(in, asked_key ? asked_key : "", &entry, err) != PRG_OK)
        return err ? err->code : PRG_NOTFOUND;
    if (entry.value) {
        if (!*entry.type && read_entry(in, &entry, container, err) != PRG_OK)
            return err ? err->code : PRG_INVALID;
        prg_env_append_secret(in->arena, container, "STORAGE_CONFIG", entry.name, entry.key);
    }
    if (!*entry.type)
        return prg_fail(err, PRG_INVALID, "unable to determine storage type");
    if (complete_uri(in, &entry, container, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    if (prg_json_count(in->storage_parameters))
        prg_env_append(in->arena, container, "STORAGE_OVERRIDE_CONFIG",
                       prg_json_print_arena(in->arena, in->storage_parameters, PRG_JSON_SORTED | PRG_JSON_ESCAPE_HTML));
    return PRG_OK;
}
