// SPDX-License-Identifier: Apache-2.0
// learning_part.h: the learning jobs as a part of the controller process. Private to core/controller.
#pragma once
#include "controller/process.h"

// Adds the part that options->learning describes; nothing when there is none, or it is off.
void prg_process_add_learning(struct prg_process *process);
