// SPDX-License-Identifier: Apache-2.0
// commands.h: the commands, in the order of `perigee --help`.
#pragma once
#include "cli/cli.h"

extern const struct prg_command prg_command_controller;
extern const struct prg_command prg_command_plan;
extern const struct prg_command prg_command_why;
extern const struct prg_command prg_command_diff;
extern const struct prg_command prg_command_replay;
extern const struct prg_command prg_command_eval;
extern const struct prg_command prg_command_test;
extern const struct prg_command prg_command_repl;
extern const struct prg_command prg_command_policies;
extern const struct prg_command prg_command_simulate;
extern const struct prg_command prg_command_check;
extern const struct prg_command prg_command_types;
extern const struct prg_command prg_command_version;
extern const struct prg_command prg_command_completion;

extern const struct prg_command *const prg_commands[]; // ends with NULL
