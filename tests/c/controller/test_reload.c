// SPDX-License-Identifier: Apache-2.0
// test_reload.c: a policy set that changes all the time, well and badly, while plans run. Two policies of the set carry
// a number; whatever happens to the folder, a plan shows one number only, and one of a set that was whole and good.
#include "manifests.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/planner.h"
#include "stdlib/natives.h"
#include "store/store_mem.h"

enum { SWAPS = 1000, RACES = 400 };

struct fixture {
    struct prg_arena arena;
    char folder[64];
    struct prg_store *store;
    struct prg_planner *planner;
    struct prg_key key;
    uint64_t random;
};

// xorshift: the same order of events in each run.
static unsigned roll(struct fixture *f, unsigned sides)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (unsigned)(f->random % sides);
}

// ---- the folder: a ConfigMap mount, …/..data -> ..N, and NAME.lua -> ..data/NAME.lua ----

static const char image_format[] = "local M = { api = 'image/v1' }\n"
                                   "function M.tag(image) return 'set-%d/' .. image end\n"
                                   "return M\n";
static const char patch_format[] =
    "local M = { api = 'object_patch/v1' }\n"
    "function M.patch(object) return { metadata = { annotations = { set = 'set-%d' } } } end\n"
    "return M\n";
static const char spec_text[] = "local support = require('support.perigee')\n"
                                "describe('the set', function()\n"
                                "  it('is of one piece', function()\n"
                                "    local set = support.policy('object_patch').patch({}).metadata.annotations.set\n"
                                "    assert.are.equal(set .. '/a', support.policy('image').tag('a'))\n"
                                "  end)\n"
                                "end)\n";

static void write_text(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void write_in(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    write_text(path, text, strlen(text));
}

static void write_number(const char *folder, const char *name, const char *format, int number)
{
    char text[512];
    snprintf(text, sizeof(text), format[0] == 'l' && strstr(format, "image/v1") ? image_format : patch_format, number);
    write_in(folder, name, text);
}

static void remove_version(const char *folder, int number)
{
    static const char *const names[] = {"image.lua", "object_patch.lua", "set_spec.lua"};
    char path[256];
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/..%d/%s", folder, number, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/..%d", folder, number);
    rmdir(path);
}

// Makes version `number` and swaps it in as kubelet does.
static void swap_in(const char *folder, int number, bool with_spec)
{
    char path[128], link[128], data[128];
    snprintf(path, sizeof(path), "%s/..%d", folder, number);
    assert_int_equal(mkdir(path, 0777), 0);
    write_number(path, "image.lua", image_format, number);
    write_number(path, "object_patch.lua", patch_format, number);
    write_in(path, "set_spec.lua", with_spec ? spec_text : "");
    snprintf(path, sizeof(path), "..%d", number);
    snprintf(link, sizeof(link), "%s/..data_tmp", folder);
    snprintf(data, sizeof(data), "%s/..data", folder);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(rename(link, data), 0);
}

static void link_names(const char *folder)
{
    static const char *const names[] = {"image.lua", "object_patch.lua", "set_spec.lua"};
    char path[128], target[64];
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        snprintf(target, sizeof(target), "..data/%s", names[i]);
        assert_int_equal(symlink(target, path), 0);
    }
}

// ---- plans ----

static struct prg_policy_set *try_load(const char *folder, struct prg_error *err)
{
    struct prg_policy_options options = {.folder = folder};
    struct prg_policy_set *set = NULL;
    prg_error_clear(err);
    return prg_policy_set_load(&options, &set, err) == PRG_OK ? set : NULL;
}

static int setup(void **state)
{
    static const char service[] = "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'metadata': "
                                  "{'name': 's', 'namespace': "
                                  "'default', 'uid': 'u', 'annotations': {'serving.kserve.io/deploymentMode': "
                                  "'Standard'}}, 'spec': {'predictor': "
                                  "{'model': {'modelFormat': {'name': 'sklearn'}, 'storageUri': 'gs://b/m'}}}}";
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    struct prg_error err = {0};
    *state = f;
    prg_stdlib_register();
    prg_arena_init(&f->arena);
    snprintf(f->folder, sizeof(f->folder), "/tmp/perigee-reload-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    swap_in(f->folder, 0, true);
    link_names(f->folder);
    f->random = 88172645463325252u;
    f->store = prg_store_mem_new();
    manifests_load(&f->arena, f->store, "../runtime-catalog");
    assert_ok(prg_store_mem_put(f->store, json_of(&f->arena, service), false, true, &err), &err);
    f->key = (struct prg_key){"serving.kserve.io", "InferenceService", "default", "s"};
    struct prg_policy_set *set = try_load(f->folder, &err);
    assert_non_null(set);
    f->planner = prg_planner_new(set, &prg_compat_fixed, "kserve");
    prg_planner_load_config(f->planner, &f->store->reader);
    prg_policy_set_unref(set);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    prg_planner_free(f->planner);
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    int rc = system(command); // NOLINT(cert-env33-c): a folder of this test
    free(f);
    return rc;
}

// The number that the plan shows in images and patches; fails the test when it shows two.
static int number_of_plan(struct fixture *f)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_plan *plan = prg_plan_new(&arena);
    struct prg_error err = {0};
    const cJSON *object;
    int number = -1;
    assert_ok(prg_planner_plan(f->planner, &f->store->reader, &f->key, 0, 0, plan, &err), &err);
    if (plan->error)
        fail_msg("plan: %s", plan->error);
    prg_json_each (object, plan->objects) {
        const char *set = prg_json_text(prg_json_at(object, "metadata", "annotations", "set"));
        const cJSON *containers = prg_json_at(object, "spec", "template", "spec", "containers");
        const char *image = containers ? prg_json_get_text(containers->child, "image") : NULL;
        assert_non_null(set);
        if (number < 0)
            assert_int_equal(sscanf(set, "set-%d", &number), 1);
        if (strtol(set + 4, NULL, 10) != number || (image && strtol(image + 4, NULL, 10) != number))
            fail_msg("a plan of set %d has %s and %s", number, set, image ? image : "no image");
    }
    assert_true(number >= 0);
    return number;
}

// ---- what happens to the folder ----

enum event { SWAP, PART_OF_FILE, SYNTAX, WRONG_NAME, ONE_FILE_OF_TWO, EMPTY, GONE, FAILING_SPEC, ENDLESS, EVENT_COUNT };

// Breaks version `number` of the folder in one way.
static void break_in(struct fixture *f, enum event event, int number)
{
    char folder[128], text[512];
    snprintf(folder, sizeof(folder), "%s/..%d", f->folder, number);
    switch (event) {
    case PART_OF_FILE:
        snprintf(text, sizeof(text), image_format, number);
        text[roll(f, (unsigned)strlen(text) - 10)] = '\0'; // never the whole: at least the "return M" is missing
        write_in(folder, "image.lua", text);
        break;
    case SYNTAX:
        write_in(folder, "object_patch.lua", "return {");
        break;
    case WRONG_NAME:
        write_in(folder, "image.lua", "return { api = 'image/v1', tags = function() return 'set-0/x' end }");
        break;
    case ONE_FILE_OF_TWO: // of the next version: good by itself
        write_number(folder, "image.lua", image_format, number + 1000000);
        break;
    case EMPTY:
        write_in(folder, "image.lua", "");
        break;
    case GONE:
        snprintf(text, sizeof(text), "%s/image.lua", folder);
        unlink(text);
        break;
    case FAILING_SPEC:
        write_in(folder, "set_spec.lua", "it('is never content', function() assert.is_true(false) end)");
        break;
    default:
        write_in(folder, "set_spec.lua", "it('goes on', function() for _ = 1, 1e9 do end end)");
        break;
    }
}

static void a_thousand_swaps_never_let_a_mixed_or_bad_set_decide(void **state)
{
    struct fixture *f = *state;
    int active = 0, activated = 0, refused = 0;
    for (int number = 1; number <= SWAPS; number++) {
        struct prg_error err;
        enum event event = roll(f, 2) ? SWAP : 1 + roll(f, EVENT_COUNT - 2); // ENDLESS costs: once below
        swap_in(f->folder, number, true);
        if (number == SWAPS / 2)
            event = ENDLESS;
        if (event != SWAP)
            break_in(f, event, number);
        remove_version(f->folder, number - 1);
        struct prg_policy_set *set = try_load(f->folder, &err);
        if ((set != NULL) != (event == SWAP))
            fail_msg("swap %d, event %d: %s", number, (int)event, set ? "loaded" : "refused");
        if (set) {
            prg_planner_set_policies(f->planner, set);
            active = number;
            activated++;
        } else {
            char text[PRG_ERROR_LINE];
            prg_error_text(&err, text, sizeof(text));
            assert_non_null(strstr(text, event == GONE ? "image" : f->folder)); // it says where
            refused++;
        }
        prg_policy_set_unref(set);
        if (number % 5 == 0)
            assert_int_equal(number_of_plan(f), active);
    }
    assert_true(activated > SWAPS / 3);
    assert_true(refused > SWAPS / 3);
}

// A writer swaps versions as fast as it can, without a spec to help: what loads is still of one piece.
static void a_set_is_never_read_across_a_swap(void **state)
{
    struct fixture *f = *state;
    int status = 0;
    fflush(NULL);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        for (int number = 1; number <= RACES; number++) {
            swap_in(f->folder, number, false);
            remove_version(f->folder, number - 1);
        }
        _exit(0);
    }
    pid_t ended = 0;
    while (ended == 0) {
        struct prg_error err;
        struct prg_policy_set *set = try_load(f->folder, &err);
        if (set) {
            prg_planner_set_policies(f->planner, set);
            number_of_plan(f);
        }
        prg_policy_set_unref(set);
        ended = waitpid(writer, &status, WNOHANG);
    }
    assert_int_equal(ended, writer);
    assert_int_equal(status, 0);
    struct prg_error err;
    struct prg_policy_set *set = try_load(f->folder, &err);
    assert_non_null(set); // when all is quiet it loads
    prg_planner_set_policies(f->planner, set);
    prg_policy_set_unref(set);
    assert_int_equal(number_of_plan(f), RACES);
}

// What is under way when the planner gets another set ends with the one it began with.
static void a_plan_under_way_ends_with_its_own_set(void **state)
{
    struct fixture *f = *state;
    struct prg_error err;
    struct prg_policy_set *old = try_load(f->folder, &err), *next;
    const struct prg_decider *decide = prg_policy_set_decider(old);
    struct prg_decision_context context = {.arena = &f->arena,
                                           .service = json_of(&f->arena, "{}"),
                                           .config = json_of(&f->arena, "{}"),
                                           .compat = json_of(&f->arena, "{}")};
    struct prg_image_request request = {.runtime_name = "r"};
    const char *image;
    prg_planner_set_policies(f->planner, old);
    prg_policy_set_ref(old); // as a plan does
    assert_ok(decide->begin(decide->ctx, &context, &err), &err);
    swap_in(f->folder, 1, true);
    next = try_load(f->folder, &err);
    assert_non_null(next);
    prg_planner_set_policies(f->planner, next);
    prg_policy_set_unref(old);
    assert_ok(decide->image_tag(decide->ctx, "a", &request, &image, NULL, &err), &err);
    assert_string_equal(image, "set-0/a");
    decide->end(decide->ctx);
    prg_policy_set_unref(old);
    prg_policy_set_unref(next);
    assert_int_equal(number_of_plan(f), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thousand_swaps_never_let_a_mixed_or_bad_set_decide, setup, teardown),
        cmocka_unit_test_setup_teardown(a_set_is_never_read_across_a_swap, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_under_way_ends_with_its_own_set, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
