// SPDX-License-Identifier: Apache-2.0
// names.h: the names that incremental learning shares with the edge nodes and with whatever else looks at its objects.
#pragma once

#define PRG_SEDNA_GROUP "sedna.io"
#define PRG_SEDNA_VERSION "sedna.io/v1alpha1"
#define PRG_KIND_JOB "IncrementalLearningJob"
#define PRG_KIND_DATASET "Dataset"
#define PRG_KIND_MODEL "Model"

// Stages and types of conditions. Both are free text in the CRD: others may turn up.
#define PRG_STAGE_TRAIN "Train"
#define PRG_STAGE_EVAL "Eval"
#define PRG_STAGE_DEPLOY "Deploy"
#define PRG_TYPE_WAITING "Waiting"
#define PRG_TYPE_READY "Ready"
#define PRG_TYPE_STARTING "Starting"
#define PRG_TYPE_RUNNING "Running"
#define PRG_TYPE_COMPLETED "Completed"
#define PRG_TYPE_FAILED "Failed"
#define PRG_MESSAGE_REPORTED "reported by lc" // message of a condition that an edge node reported

// Worker types: part of a pod's name and the value of its label.
#define PRG_WORKER_TRAIN "train"
#define PRG_WORKER_EVAL "eval"
#define PRG_WORKER_INFERENCE "inference"

#define PRG_LABEL_JOB_NAME "incrementallearningjob.sedna.io/name"
#define PRG_LABEL_JOB_UID "incrementallearningjob.sedna.io/uid"
#define PRG_LABEL_WORKER_TYPE "incrementallearningjob.sedna.io/worker-type"

#define PRG_ANNOTATION_NODE_PREFIX "sedna.io/" // with a stage: the node on which its worker ran last
#define PRG_ANNOTATION_HOT_UPDATE "sedna.io/model-hot-update-config"
#define PRG_ANNOTATION_CREDENTIAL "sedna.io/credential" // only in messages, never in a stored object
