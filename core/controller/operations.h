// SPDX-License-Identifier: Apache-2.0
// operations.h: metrics and health of the controller process: the meters, the port for operators, and what the link to
// edge nodes counts. Private to core/controller.
//
// Checks: ping; store: everything was read, may be read on, and the policies are loaded; edge: the link listens while
// it should.
#pragma once
#include <uv.h>

#include "controller/learning_driver.h"
#include "controller/run.h"
#include "ops/ops.h"

struct prg_operations;

// Begins to count, and to listen when options say where. is_ready: of the check "store".
int prg_operations_new(uv_loop_t *loop, const struct prg_run_options *options, prg_ops_check_fn is_ready, void *ctx,
                       struct prg_operations **ret, struct prg_error *err) PRG_MUST_USE;
// driver: borrowed until close; NULL: there is none.
void prg_operations_set_learning(struct prg_operations *operations, const struct prg_learning_driver *driver);
// Stops listening and counting; handles close as the loop runs on. NULL is fine.
void prg_operations_close(struct prg_operations *operations);
void prg_operations_free(struct prg_operations *operations); // after the loop has run. NULL is fine
