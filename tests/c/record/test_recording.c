// SPDX-License-Identifier: Apache-2.0
// test_recording.c: decisions in and out of a file: what is noted, hostile lines, files that grow, the newest state.
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <zstd.h>

#include "base/vec.h"
#include "object/meta.h"
#include "record_fixture.h"
#include "recorded.h"

#define NOW_NS INT64_C(1780272000123456789)

// ---- hostile files ----

static void write_lines(const struct folder *folder, const char *lines)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (; *lines; lines++)
        prg_strbuf_putc(&text, *lines == '\'' ? '"' : *lines);
    size_t room = ZSTD_compressBound(text.length);
    char *bytes = malloc(room);
    size_t n = ZSTD_compress(bytes, room, text.text, text.length, 1);
    write_bytes(folder->file, bytes, n);
    free(bytes);
}

#define HEAD "{'perigeeRecording':1}\n"
#define DEFINE "{'define':1,'value':{}}\n"
#define DECISION(more)                                                                                                 \
    HEAD DEFINE                                                                                                        \
        "{'decision':1,'group':'g','kind':'K','namespace':'n','name':'x','digest':'d','nowNs':5,'seed':'1'," more      \
        "}\n"
#define NUMBERS "'policies':1,'settings':1,'plan':1"
#define READS(entry) DECISION(NUMBERS ",'reads':[" entry "]")

static void hostile_lines_are_told_with_their_place(void **state)
{
    static const struct {
        const char *lines, *part;
    } rows[] = {
        {"", "there is no whole line in it"},
        {"{'a':1}\n", "r.ndjson.zst:1: this is no recording of perigee"},
        {"[]\n", ":1: this is no recording of perigee"},
        {"{'perigeeRecording':2}\n", ":1: the recording has version 2, this perigee reads version 1"},
        {"{'perigeeRecording':'1'}\n", ":1: this is no recording of perigee"},
        {HEAD "\n", ":2: "},
        {HEAD "{}\n", ":2: neither a definition nor a decision"},
        {HEAD "{'define':2,'value':{}}\n", ":2: /define is 2, but the next is 1"},
        {HEAD "{'define':1}\n", ":2: /value is missing"},
        {HEAD "{'define':-1,'value':1}\n", ":2: /define is not the number"},
        {HEAD "{'define':1e99,'value':1}\n", ":2: /define is not the number"},
        {HEAD DEFINE DEFINE, ":3: /define is 1, but the next is 2"},
        {HEAD "{'define':1,'value':{}\n", ":2: "},
        {HEAD "{'define':1,'define':1,'value':1}\n", ":2: "},
        {HEAD "{'decision':1}\n", ":2: /group is no text"},
        {DECISION("'policies':1,'settings':1"), ":3: /plan is not the number of a line before this one"},
        {DECISION("'policies':2,'settings':1,'plan':1"), ":3: /policies is not the number"},
        {DECISION(NUMBERS), ":3: /reads is no list"},
        {READS("{}"), ":3: /reads: an entry is none of"},
        {READS("['get']"), ":3: /reads: an entry is none of"},
        {READS("['get','g','K','n','x',2]"), ":3: /reads: get K: the object is not the number"},
        {READS("['get','g','K','n','x',0]"), ":3: /reads: get K: the object is not the number"},
        {READS("['get','g','K',null,'x',1]"), ":3: /reads: an entry is none of"},
        {READS("['list','g','K',null,1]"), ":3: /reads: an entry is none of"},
        {READS("['list','g','K',null,[1,9223372036854775807]]"), ":3: /reads: list K: an object is not the number"},
        {READS("['list','g','K',null,['1']]"), ":3: /reads: list K: an object is not the number"},
        {READS("['labelled','g','K',null,'l',null,[]]"), ":3: /reads: an entry is none of"},
        {READS("['watch','g','K',null,[]]"), ":3: /reads: an entry is none of"},
        {HEAD DEFINE
         "{'decision':1,'group':'g','kind':'K','namespace':'n','name':'x','digest':'d','nowNs':5,'seed':1," NUMBERS
         ",'reads':[]}\n",
         ":3: /seed is no text of a whole number"},
        {HEAD DEFINE "{'decision':1,'group':'g','kind':'K','namespace':'n','name':'x','digest':'d','nowNs':5,'seed':'"
                     "18446744073709551616'," NUMBERS ",'reads':[]}\n",
         ":3: /seed is no text of a whole number"},
    };
    struct folder folder;
    (void)state;
    folder_make(&folder);
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_recording *recording = NULL;
        struct prg_error err = {0};
        write_lines(&folder, rows[i].lines);
        if (prg_recording_load(folder.file, &recording, &err) == PRG_OK)
            fail_msg("taken: %s", rows[i].lines);
        assert_error_has(&err, rows[i].part);
        assert_error_has(&err, folder.file);
    }
    folder_remove(&folder);
}

static void contents_of_the_wrong_kind_are_told_when_they_are_used(void **state)
{
    struct folder folder;
    struct prg_recording *recording;
    struct prg_recorded recorded;
    struct prg_store *store;
    struct prg_error err = {0};
    prg_auto_arena arena;
    (void)state;
    folder_make(&folder);
    prg_arena_init(&arena);
    write_lines(&folder, READS("['get','g','K','n','x',1]"));
    assert_ok(prg_recording_load(folder.file, &recording, &err), &err);
    assert_int_not_equal(prg_recording_open(recording, 0, &arena, &recorded, &err), PRG_OK);
    assert_error_has(&err, ":2: /value is no object");
    prg_error_clear(&err);
    assert_int_not_equal(prg_recording_store(recording, &store, &err), PRG_OK);
    assert_error_has(&err, ":2: /value is no object");
    prg_recording_free(recording);
    folder_remove(&folder);
}

// ---- notes ----

struct fixture {
    struct folder folder;
    struct prg_arena arena;
    struct prg_policy_set *set;
    struct prg_store *store;
    struct prg_planner *planner;
};

static void put(struct fixture *f, const char *text)
{
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(f->store, json_of(&f->arena, text), true, true, &err), &err);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    folder_make(&f->folder);
    prg_arena_init(&f->arena);
    f->set = shipped_set();
    f->store = prg_store_mem_new();
    cJSON *config = prg_json_array(&f->arena);
    struct prg_error err = {0};
    recorded_load_folder(&f->arena, "../runtime-catalog/config", config);
    assert_ok(prg_store_mem_put(f->store, prg_json_item(config, 0), true, true, &err), &err);
    put(f,
        "{'apiVersion':'serving.kserve.io/v1beta1','kind':'InferenceService','metadata':{'name':'a','namespace':'n'},"
        "'spec':{'predictor':{'model':{'modelFormat':{'name':'f'}}}}}");
    f->planner = prg_planner_new(f->set, &prg_compat_fixed, "kserve");
    prg_planner_load_config(f->planner, &f->store->reader);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_planner_free(f->planner);
    prg_store_free(f->store);
    prg_policy_set_unref(f->set);
    prg_arena_release(&f->arena);
    folder_remove(&f->folder);
    free(f);
    return 0;
}

static const struct prg_key subject = {"serving.kserve.io", "InferenceService", "n", "a"};

static struct prg_plan *plan(struct fixture *f)
{
    struct prg_plan *made = prg_plan_new(&f->arena);
    struct prg_error err = {0};
    assert_ok(prg_planner_plan(f->planner, &f->store->reader, &subject, NOW_NS, UINT64_MAX, made, &err), &err);
    return made;
}

static void a_runtime(struct fixture *f, const char *name, const char *env)
{
    put(f, prg_arena_printf(
               &f->arena,
               "{'apiVersion':'serving.kserve.io/v1alpha1','kind':'ClusterServingRuntime','metadata':{'name':'%s'},"
               "'spec':{'supportedModelFormats':[{'name':'f','autoSelect':true}],'containers':["
               "{'name':'kserve-container','image':'i:1','env':[%s]}]}}",
               name, env));
}

static struct prg_recording *load(struct fixture *f)
{
    struct prg_recording *recording;
    struct prg_error err = {0};
    assert_ok(prg_recording_load(f->folder.file, &recording, &err), &err);
    return recording;
}

static char *plain_text(struct fixture *f)
{
    size_t length, room = (size_t)4 << 20;
    char *bytes = read_bytes(f->folder.file, &length), *plain = prg_arena_alloc(&f->arena, room);
    size_t n = ZSTD_decompress(plain, room - 1, bytes, length);
    assert_false(ZSTD_isError(n));
    plain[n] = '\0';
    free(bytes);
    return plain;
}

static void contents_are_in_the_file_once(void **state)
{
    struct fixture *f = *state;
    struct prg_record *record = record_open(&f->folder);
    a_runtime(f, "only-runtime", "");
    prg_planner_record(f->planner, record);
    plan(f);
    plan(f);
    plan(f);
    prg_planner_record(f->planner, NULL);
    plan(f);
    record_close(record);
    const char *text = plain_text(f), *found = strstr(text, "\"metadata\":{\"name\":\"only-runtime\"}");
    assert_non_null(found);
    assert_null(strstr(found + 1, "\"metadata\":{\"name\":\"only-runtime\"}"));
    struct prg_recording *recording = load(f);
    assert_int_equal(prg_recording_count(recording), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(replays(recording, i, NULL));
    const struct prg_recorded_head *head = prg_recording_head(recording, 2);
    assert_int_equal(head->now_ns, NOW_NS);
    assert_true(head->seed == UINT64_MAX);
    assert_true(prg_key_equal(&head->key, &subject));
    assert_false(head->is_redacted);
    prg_recording_free(recording);
}

static void a_plan_that_saw_a_secret_is_recorded_from_stand_ins(void **state)
{
    struct fixture *f = *state;
    struct prg_record *record = record_open(&f->folder);
    a_runtime(f, "r", "{'name':'HF_TOKEN','value':'XYZZY'},{'name':'A','value':'kept'}");
    prg_planner_record(f->planner, record);
    const char *real = prg_json_print_arena(&f->arena, prg_plan_to_json(plan(f), 0), PRG_JSON_SORTED);
    prg_planner_record(f->planner, NULL);
    record_close(record);
    assert_non_null(strstr(real, "XYZZY")); // the plan at hand is the real one
    assert_null(strstr(plain_text(f), "XYZZY"));
    assert_non_null(strstr(plain_text(f), "\"kept\""));
    struct prg_recording *recording = load(f);
    assert_true(prg_recording_head(recording, 0)->is_redacted);
    assert_true(replays(recording, 0, NULL));
    prg_recording_free(recording);
}

static void a_plan_that_cannot_be_made_is_recorded_too(void **state)
{
    static const struct prg_key nobody = {"serving.kserve.io", "InferenceService", "n", "nobody"};
    struct fixture *f = *state;
    struct prg_record *record = record_open(&f->folder);
    struct prg_error err = {0};
    prg_planner_record(f->planner, record);
    assert_int_equal(prg_planner_plan(f->planner, &f->store->reader, &nobody, NOW_NS, 1, prg_plan_new(&f->arena), &err),
                     PRG_NOTFOUND);
    prg_planner_record(f->planner, NULL);
    record_close(record);
    struct prg_recording *recording = load(f);
    assert_true(replays(recording, 0, NULL));
    prg_recording_free(recording);
}

static int no_trouble_yet(const struct prg_reader *reader, struct prg_error *err)
{
    (void)reader;
    return prg_fail(err, PRG_IO, "the server is gone");
}

static void a_plan_whose_objects_could_not_be_read_is_none(void **state)
{
    struct fixture *f = *state;
    struct prg_record *record = record_open(&f->folder);
    struct prg_recording *recording;
    struct prg_error err = {0};
    f->store->reader.trouble = no_trouble_yet;
    prg_planner_record(f->planner, record);
    assert_int_not_equal(
        prg_planner_plan(f->planner, &f->store->reader, &subject, NOW_NS, 1, prg_plan_new(&f->arena), &err), PRG_OK);
    prg_planner_record(f->planner, NULL);
    record_close(record);
    assert_ok(prg_recording_load(f->folder.file, &recording, &err), &err);
    assert_int_equal(prg_recording_count(recording), 0);
    prg_recording_free(recording);
}

static void other_questions_are_answered_from_what_there_is_and_told(void **state)
{
    struct fixture *f = *state;
    struct prg_record *record = record_open(&f->folder);
    struct prg_recorded recorded;
    struct prg_error err = {0};
    a_runtime(f, "r", "");
    prg_planner_record(f->planner, record);
    plan(f);
    prg_planner_record(f->planner, NULL);
    record_close(record);
    struct prg_recording *recording = load(f);
    assert_ok(prg_recording_open(recording, 0, &f->arena, &recorded, &err), &err);
    assert_false(prg_recorded_is_beyond(&recorded));
    const struct prg_reader *reader = recorded.reader;
    assert_non_null(prg_reader_get(reader, "serving.kserve.io", "ClusterServingRuntime", "", "r"));
    assert_true(prg_recorded_is_beyond(&recorded)); // it was listed, never asked for alone
    assert_null(prg_reader_get(reader, "", "Secret", "n", "x"));
    prg_recorded_close(&recorded);
    prg_recording_free(recording);
}

// ---- sets ----

static struct prg_policy_set *set_of(const struct prg_policy_text *text, struct prg_policy_set *base)
{
    struct prg_vec texts = {0};
    struct prg_policy_set *set = NULL;
    struct prg_policy_options options = {.texts = &texts, .base = base, .allowed = UINT32_MAX, .without_specs = true};
    struct prg_error err = {0};
    prg_vec_push(&texts, (void *)text);
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    prg_vec_release(&texts);
    return set;
}

static void a_set_comes_back_with_all_its_layers(void **state)
{
    static const char spec[] = "-- caf\xe9, in Latin-1\n";
    static const char lua[] = "return { api = \"image/v1\", tag = function() return \"a:1\" end }\n";
    static const char own_lua[] = "return { api = \"annotation_filter/v1\" }\n";
    static const struct prg_policy_text spec_text = {"image_spec.lua", "DIR/image_spec.lua", spec, sizeof(spec) - 1};
    static const struct prg_policy_text base_text = {"image.lua", "DIR/image.lua", lua, sizeof(lua) - 1};
    static const struct prg_policy_text own_text = {"annotation_filter.lua", "configmap n/r:annotation_filter.lua",
                                                    own_lua, sizeof(own_lua) - 1};
    struct fixture *f = *state;
    struct prg_policy_set *odd = set_of(&spec_text, NULL), *base = set_of(&base_text, NULL);
    struct prg_policy_set *own = set_of(&own_text, base), *again = NULL;
    struct prg_policy_set *refused = prg_policy_set_refused(own, "not today");
    struct prg_policy_set *const sets[] = {f->set, odd, base, own, refused};
    struct prg_policy_limits limits = {0};
    struct prg_error err = {0};
    for (size_t i = 0; i < PRG_COUNT(sets); i++) {
        const cJSON *tree = prg_policy_set_to_json(&f->arena, sets[i]);
        const char *text = prg_json_print_arena(&f->arena, tree, PRG_JSON_COMPACT);
        assert_ok(prg_policy_set_from_json(tree, &limits, &again, &err), &err);
        assert_string_equal(prg_policy_set_revision(again), prg_policy_set_revision(sets[i]));
        assert_string_equal(prg_json_print_arena(&f->arena, prg_policy_set_to_json(&f->arena, again), PRG_JSON_COMPACT),
                            text);
        prg_policy_set_unref(again);
    }
    prg_policy_set_unref(odd);
    prg_policy_set_unref(refused);
    prg_policy_set_unref(own);
    prg_policy_set_unref(base);
}

static void a_state_of_a_server_is_known_by_its_version(void **state)
{
    struct fixture *f = *state;
    struct prg_record_options options = {.path = f->folder.file, .has_versions = true};
    struct prg_record *record;
    struct prg_error err = {0};
    static const char runtime[] =
        "{'apiVersion':'serving.kserve.io/v1alpha1','kind':'ClusterServingRuntime','metadata':"
        "{'name':'r','uid':'u','resourceVersion':'%d'},'spec':{'containers':[]}}";
    assert_ok(prg_record_open(&options, &record, &err), &err);
    prg_planner_record(f->planner, record);
    for (int i = 0; i < 4; i++) {
        char text[300];
        snprintf(text, sizeof(text), runtime, i / 2);
        put(f, text);
        plan(f);
    }
    prg_planner_record(f->planner, NULL);
    record_close(record);
    size_t found = 0;
    for (const char *at = plain_text(f); (at = strstr(at, "\"uid\":\"u\"")); at++)
        found++;
    assert_int_equal(found, 2); // two states, four plans
    struct prg_recording *recording = load(f);
    for (size_t i = 0; i < 4; i++)
        assert_true(replays(recording, i, NULL));
    prg_recording_free(recording);
}

// ---- files ----

static void a_full_file_makes_room_and_the_next_is_whole_in_itself(void **state)
{
    struct fixture *f = *state;
    struct prg_record_options options = {.path = f->folder.file, .max_bytes = 1, .keep = 2};
    struct prg_record *record;
    struct prg_error err = {0};
    static const char *const files[] = {"r.ndjson.zst", "r.ndjson.zst.1", "r.ndjson.zst.2", "r.ndjson.zst.3"};
    assert_ok(prg_record_open(&options, &record, &err), &err);
    a_runtime(f, "r", "");
    prg_planner_record(f->planner, record);
    for (int i = 0; i < 5; i++)
        plan(f);
    prg_planner_record(f->planner, NULL);
    record_close(record);
    for (size_t i = 0; i < PRG_COUNT(files); i++) {
        struct prg_recording *recording;
        const char *path = prg_arena_printf(&f->arena, "%s/%s", f->folder.path, files[i]);
        if (i == 3) { // two are kept
            assert_int_not_equal(access(path, F_OK), 0);
            break;
        }
        assert_ok(prg_recording_load(path, &recording, &err), &err);
        assert_int_equal(prg_recording_count(recording), i ? 1 : 0);
        if (i)
            assert_true(replays(recording, 0, NULL));
        prg_recording_free(recording);
    }
}

static void another_file_is_not_written_over(void **state)
{
    struct fixture *f = *state;
    struct prg_record_options options = {.path = f->folder.file, .replaces = true};
    struct prg_record *record = NULL, *second = NULL;
    struct prg_error err = {0};
    size_t length;
    write_bytes(f->folder.file, "precious", 8);
    assert_int_equal(prg_record_open(&options, &record, &err), PRG_CONFLICT);
    assert_error_has(&err, "is no recording; name another file");
    char *bytes = read_bytes(f->folder.file, &length);
    assert_int_equal(length, 8);
    free(bytes);
    unlink(f->folder.file);
    prg_error_clear(&err);
    assert_ok(prg_record_open(&options, &record, &err), &err);
    assert_int_equal(prg_record_open(&options, &second, &err), PRG_CONFLICT);
    assert_error_has(&err, "another process is recording there");
    record_close(record);
    prg_error_clear(&err);
    assert_ok(prg_record_open(&options, &second, &err), &err); // a recording may be replaced
    record_close(second);
    options.path = f->folder.path; // a folder
    assert_ok(prg_record_open(&options, &second, &err), &err);
    assert_true(prg_text_has_suffix(prg_record_path(second), "/" PRG_RECORD_FILE));
    record_close(second);
    options.path = "/nowhere/at/all/x";
    assert_int_equal(prg_record_open(&options, &second, &err), PRG_IO);
    assert_error_has(&err, "/nowhere/at/all/x");
}

static void count_problem(const struct prg_error *err, void *ctx)
{
    assert_error_has(err, "recording");
    ++*(int *)ctx;
}

static void a_full_disk_ends_the_recording_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    int problems = 0;
    struct prg_record_options options = {
        .path = "/dev/full", .replaces = true, .problem = count_problem, .ctx = &problems};
    struct prg_record *record;
    struct prg_error err = {0};
    assert_int_equal(prg_record_open(&options, &record, &err), PRG_CONFLICT); // no device is a recording
    options.path = f->folder.file;
    prg_error_clear(&err);
    assert_ok(prg_record_open(&options, &record, &err), &err);
    struct rlimit before, none = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){.rlim_cur = 200, .rlim_max = before.rlim_max}; // a file that may not grow
    signal(SIGXFSZ, SIG_IGN);
    prg_planner_record(f->planner, record);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    plan(f);
    plan(f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    prg_planner_record(f->planner, NULL);
    assert_int_equal(problems, 1);
    assert_int_equal(prg_record_close(record, &err), PRG_IO);
    assert_error_has(&err, f->folder.file);
}

// ---- the newest state ----

static void visit(const cJSON *object, void *ctx)
{
    (void)object;
    ++*(size_t *)ctx;
}

static size_t count_kind(const struct prg_store *store, const char *kind)
{
    size_t count = 0;
    store->reader.list(&store->reader, "serving.kserve.io", kind, NULL, visit, &count);
    return count;
}

static void the_newest_state_forgets_what_went(void **state)
{
    static const struct prg_key gone = {"serving.kserve.io", "ClusterServingRuntime", "", "b"};
    struct fixture *f = *state;
    struct prg_record *record = record_open(&f->folder);
    struct prg_store *store;
    struct prg_error err = {0};
    a_runtime(f, "a", "");
    a_runtime(f, "b", "");
    prg_planner_record(f->planner, record);
    plan(f);
    prg_store_mem_drop(f->store, &gone);
    a_runtime(f, "a", "{'name':'NEW','value':'1'}");
    plan(f);
    prg_planner_record(f->planner, NULL);
    record_close(record);
    struct prg_recording *recording = load(f);
    assert_ok(prg_recording_store(recording, &store, &err), &err);
    assert_int_equal(count_kind(store, "ClusterServingRuntime"), 1);
    assert_int_equal(count_kind(store, "InferenceService"), 1);
    const cJSON *runtime = prg_reader_get(&store->reader, "serving.kserve.io", "ClusterServingRuntime", "", "a");
    const cJSON *container = prg_json_item(prg_json_at(runtime, "spec", "containers"), 0);
    assert_int_equal(prg_json_count(prg_json_get(container, "env")), 1);
    prg_store_free(store);
    prg_recording_free(recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_lines_are_told_with_their_place),
        cmocka_unit_test(contents_of_the_wrong_kind_are_told_when_they_are_used),
        cmocka_unit_test_setup_teardown(contents_are_in_the_file_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_that_saw_a_secret_is_recorded_from_stand_ins, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_that_cannot_be_made_is_recorded_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_whose_objects_could_not_be_read_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(other_questions_are_answered_from_what_there_is_and_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_set_comes_back_with_all_its_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_state_of_a_server_is_known_by_its_version, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_file_makes_room_and_the_next_is_whole_in_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(another_file_is_not_written_over, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_ends_the_recording_and_nothing_else, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_state_forgets_what_went, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
