// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

#include "learning/pick.h"

static const char *picked(struct learning_fixture *f, const char *type)
{
    return prg_meta_name(prg_pick_worker(&f->store->reader, job_copy(f), type));
}

static void the_newest_of_the_type_is_picked(void **state)
{
    struct learning_fixture *f = *state;
    assert_string_equal(picked(f, "train"), "");
    put_pod(f, "helmet-train-a", "train", "Running", "2026-01-01T00:00:01Z");
    put_pod(f, "helmet-train-b", "train", "Failed", "2026-01-01T00:00:02Z");
    put_pod(f, "helmet-eval-c", "eval", "Running", "2026-01-01T00:00:03Z");
    assert_string_equal(picked(f, "train"), "helmet-train-b");
    put_pod(f, "helmet-train-z", "train", "Pending", "2026-01-01T00:00:02Z");
    assert_string_equal(picked(f, "train"), "helmet-train-z");
}

static void of_two_of_one_second_the_one_that_goes_on_is_picked(void **state)
{
    struct learning_fixture *f = *state;
    put_pod(f, "helmet-train-z", "train", "Succeeded", "2026-01-01T00:00:01Z"); // of the round before
    put_pod(f, "helmet-train-a", "train", "Pending", "2026-01-01T00:00:01Z");
    assert_string_equal(picked(f, "train"), "helmet-train-a");
    put_pod(f, "helmet-train-b", "train", "Failed", "2026-01-01T00:00:01Z");
    assert_string_equal(picked(f, "train"), "helmet-train-a");
    put_pod(f, "helmet-train-c", "train", "Running", "2026-01-01T00:00:01Z");
    assert_string_equal(picked(f, "train"), "helmet-train-c");
    put_pod(f, "helmet-train-0", "train", "Failed", "2026-01-01T00:00:02Z"); // newer is newer
    assert_string_equal(picked(f, "train"), "helmet-train-0");
}

static void the_label_wins_over_the_name(void **state)
{
    struct learning_fixture *f = *state;
    put_pod(f, "helmet-eval-a", "train", "Running", "2026-01-01T00:00:01Z");
    assert_string_equal(picked(f, "train"), "helmet-eval-a");
    assert_string_equal(picked(f, "eval"), "");
}

static void without_the_label_the_name_says_the_type(void **state)
{
    struct learning_fixture *f = *state;
    put_pod(f, "helmet-eval-a", NULL, "Running", "2026-01-01T00:00:01Z");
    put_pod(f, "nodash", NULL, "Running", "2026-01-01T00:00:01Z");
    put_pod(f, "a--b", NULL, "Running", "2026-01-01T00:00:01Z");
    assert_string_equal(picked(f, "eval"), "helmet-eval-a");
    assert_string_equal(picked(f, "train"), "");
}

static void pods_of_others_do_not_count(void **state)
{
    struct learning_fixture *f = *state;
    put_yaml(f, "{apiVersion: v1, kind: Pod, metadata: {name: helmet-train-a, namespace: ns, labels: "
                "{incrementallearningjob.sedna.io/name: "
                "helmet, incrementallearningjob.sedna.io/uid: other, incrementallearningjob.sedna.io/worker-type: "
                "train}}}\n---\n"
                "{apiVersion: v1, kind: Pod, metadata: {name: helmet-train-b, namespace: ns, labels: "
                "{incrementallearningjob.sedna.io/name: "
                "helmet, incrementallearningjob.sedna.io/uid: u1, incrementallearningjob.sedna.io/worker-type: train}, "
                "ownerReferences: "
                "[{kind: ReplicaSet, name: x, uid: u9, controller: true}]}}\n");
    assert_string_equal(picked(f, "train"), "");
    put_yaml(
        f, "{apiVersion: v1, kind: Pod, metadata: {name: helmet-train-c, namespace: ns, labels: "
           "{incrementallearningjob.sedna.io/name: "
           "helmet, incrementallearningjob.sedna.io/uid: u1, incrementallearningjob.sedna.io/worker-type: train}}}\n");
    assert_string_equal(picked(f, "train"), "helmet-train-c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(the_newest_of_the_type_is_picked),
        learning_test(of_two_of_one_second_the_one_that_goes_on_is_picked),
        learning_test(the_label_wins_over_the_name),
        learning_test(without_the_label_the_name_says_the_type),
        learning_test(pods_of_others_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
