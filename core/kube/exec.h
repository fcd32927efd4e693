// SPDX-License-Identifier: Apache-2.0
// exec.h: one run of an exec credential plugin. The process runs beside the loop and is killed at its time limit.
#pragma once
#include "kube/config.h"
#include "kube/timers.h"

struct prg_exec_answer {    // borrowed during done
    const char *token;      // or NULL
    const char *cert, *key; // PEM; both or neither
    int64_t expires_ns;     // 1970; 0: does not expire
};

struct prg_exec_run;

// answer is NULL after an error, which names the user, the plugin and what it said.
typedef void (*prg_exec_fn)(const struct prg_exec_answer *answer, const struct prg_error *err, void *ctx);

// config (with an exec) is borrowed until done. done comes once, later.
struct prg_exec_run *prg_exec_start(uv_loop_t *loop, struct prg_timers *timers, const struct prg_kube_config *config,
                                    uint64_t limit_ms, prg_exec_fn done, void *ctx);
void prg_exec_cancel(struct prg_exec_run *run); // kills it; done does not come. Memory goes with the loop's next rounds

// The answer in text (an ExecCredential as JSON), checked: for prg_exec_start and tests. Texts are in arena.
int prg_exec_parse(struct prg_arena *arena, const struct prg_kube_exec *exec, const char *text, size_t length,
                   struct prg_exec_answer *ret, struct prg_error *err) PRG_MUST_USE;
// What the plugin is told in KUBERNETES_EXEC_INFO.
char *prg_exec_info(struct prg_arena *arena, const struct prg_kube_config *config, bool is_interactive);
