// SPDX-License-Identifier: Apache-2.0
// meters.h: what the process counts about itself, under the names that controller-runtime and client-go use, and
// perigee_policy_* for the policies. Like the log there is one set for the process; code counts here whether or not
// anybody listens, and before prg_meters_start it costs a comparison.
//
//   controller_runtime_reconcile_total{controller,result}         success, error, requeue_after
//   controller_runtime_reconcile_errors_total{controller}
//   controller_runtime_reconcile_time_seconds{controller}
//   controller_runtime_active_workers{controller}
//   controller_runtime_max_concurrent_reconciles{controller}
//   workqueue_depth, _adds_total, _retries_total, _queue_duration_seconds, _work_duration_seconds{controller,name}
//   rest_client_requests_total{code,host,method}                  code "<error>" without an answer
//   rest_client_request_duration_seconds{host,verb}
//   leader_election_master_status{name}                           1: this replica leads
//   perigee_policy_calls_total{policy,function,result}            answered, no_opinion, error
//   perigee_policy_call_seconds{policy,function}
//   perigee_policy_loads_total{result}                            active, refused
//   perigee_policy_set_info{namespace,revision}                   1: the active set; namespace "": of everybody
//   perigee_policy_set_refused{namespace}                         1: the latest set is not the active one
#pragma once
#include "base/metrics.h"

// NULL: not counted any more. metrics must stay until then.
void prg_meters_start(struct prg_metrics *metrics);
bool prg_meters_are_on(void); // for those who would have to look at the clock

void prg_meter_reconcile(const char *controller, const char *result);
void prg_meter_workers(const char *controller, int active_change, int most); // most 0: as before

void prg_meter_queue_added(const char *controller);
void prg_meter_queue_retried(const char *controller);
void prg_meter_queue_depth(const char *controller, size_t depth);
void prg_meter_queue_taken(const char *controller, double seconds_waited);
void prg_meter_queue_done(const char *controller, double seconds_worked); // one item is one reconcile

void prg_meter_request(const char *host, const char *method, int status, double seconds); // status 0: no answer;
                                                                                          // seconds below 0: not timed
void prg_meter_leader(const char *name, bool is_leader);

enum prg_meter_answer { PRG_METER_ANSWERED, PRG_METER_NO_OPINION, PRG_METER_ERROR };
void prg_meter_policy(const char *policy, const char *function, enum prg_meter_answer answer, double seconds);
void prg_meter_policy_load(bool is_active);
// The set of a namespace (""), as it is now. revision NULL: none. before: the revision told last, or NULL.
void prg_meter_policy_set(const char *ns, const char *before, const char *revision, bool is_refused);
void prg_meter_policy_set_gone(const char *ns, const char *before);
