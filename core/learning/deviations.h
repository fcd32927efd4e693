// SPDX-License-Identifier: Apache-2.0
// deviations.h: where learning jobs are planned otherwise than by the original. docs/compatibility.md is generated from
// this table, and tests/cases/deviations/list.txt names the recorded cases in which it shows. There is no switch: each
// mends a crash, a loss, an answer that hangs on chance, a swallowed error, a wrong Secret or an object that an API
// server refuses.
#pragma once

// X(name, kind, original, perigee)
// clang-format off
#define PRG_LEARNING_DEVIATIONS(X) \
    X(no_models, "crash", "a Train Ready without models kills the controller", "an error, tried again with a growing pause") \
    X(name_without_dash, "crash", "a worker pod whose name has no dash kills the controller", "it is no worker unless its label says so") \
    X(secret_without_annotations, "crash", "a Secret with data but without annotations kills the controller when it goes into a message", "its data alone goes into the message") \
    X(bad_url, "crash", "a URL that cannot be parsed kills the controller", "an error that names the variable and the URL") \
    X(lost_report, "loses an update", "a report that is stored while a sync is under way is overwritten", "the sync's status is stored over the one it was planned on and no other; else the job is planned again") \
    X(tombstone, "loses a message", "a job that is seen to be gone only afterwards is not deleted from edge nodes", "every node that knows it is told") \
    X(pod_order, "order of a cache", "the newest pod of a type is missed when the cache lists a newer pod of another type first", "the newest pod of the type, whatever the order; of one second the one that goes on, or the last by name") \
    X(stale_pods, "order of a cache", "a pod cache that lags shows the last round's pod, which ends the new stage at once", "what the controller did itself is always in its view of pods") \
    X(restart_twice, "order of a cache", "a job cache that lags still says Deploy Ready when the new inference pod wakes the sync, which deletes that pod and makes another", "once for each report: the new pod's name is made from it") \
    X(twice_in_one_sync, "order of a cache", "a job that has not started and is Deploy Ready gets two inference pods", "one") \
    X(pod_type, "pod by its name", "the worker type is read from the pod's name, whatever its label says", "the label worker-type; the name only for pods without it") \
    X(pod_owner, "pod by its name", "a pod that another object controls counts when it carries the job's labels", "it does not") \
    X(start_error, "swallows an error", "when the first inference pod cannot be made nothing is tried again and nothing is told", "an error, tried again with a growing pause") \
    X(missing_secret, "swallows an error", "an inference pod is made without the deploy model's Secret when that is missing", "an error, tried again with a growing pause") \
    X(secret_per_url, "wrong Secret", "all URLs of a worker are downloaded with the first Secret", "one init container for each Secret: storage-initializer, storage-initializer-2 …") \
    X(model_secret, "wrong Secret", "the deploy model and the first evaluation model are downloaded for evaluation with the job's Secret", "with their own, where they name one") \
    X(data_secret, "wrong Secret", "evaluation data in the job's output folder is downloaded with the Dataset's Secret", "with the job's, where it names one") \
    X(mount_twice, "refused object", "two mounts in one folder, or a folder that the template mounts already, are mounted twice on one path", "once") \
    X(name_twice, "refused object", "a volume or init container gets a name that the template uses", "a number is put behind the name") \
    X(volume_dash, "refused object", "the volume of a folder like /-data gets a name that begins with a dash", "a z takes its place, as at the end of a name")

// The same of the link to edge nodes, which lies below the recorded plans.
#define PRG_EDGE_DEVIATIONS(X) \
    X(nameless_node, "loses a message", "messages for which no node is known wait for a connection without a node name, for ever", "a connection without a name is served and told them as well; deletions for it are told while it is there and not kept") \
    X(node_name, "refused", "any text is a node name", "403 for what no Node can be called: other than letters, digits, '-', '.' and '_', or above 253") \
    X(two_connections, "chance", "with two connections of one name it is chance which is told something", "the newer takes the place of the older (close 1008); two that replace each other within three seconds: the next is refused (503)") \
    X(queued_before_stored, "loses a message", "a message is queued before it is kept, and a fast writer drops it", "it is told until the node has read it") \
    X(broken_connection, "loses a message", "what was written into a connection that breaks is lost until the object changes", "a node that connects again is told all that it should know") \
    X(unstored_report, "loses a message", "a report that cannot be stored is logged and dropped", "it is kept and tried again until it is stored or refused") \
    X(evaluation_node, "waits for ever", "with restart the evaluation's node never forgets the job, and the second round hangs", "every node but the Dataset's forgets the job after Deploy") \
    X(moved_dataset, "loses a message", "a Dataset that moves stays known on its old node", "it is deleted there") \
    X(fragile_node, "crash of a node", "a second first message, a state without the models it asks for, a field it cannot read end a Local Controller", "held back, mended or put later, as docs/incremental-learning.md lists") \
    X(unbounded, "grows without end", "messages and reports are bounded by nothing", "size, rate, queue and number of connections are bounded; beyond the rate a node is read later")
// clang-format on
