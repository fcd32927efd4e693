// SPDX-License-Identifier: Apache-2.0
// log.h: lines on standard error: time, level, message, key=value pairs. Text or JSON. Pure modules do not log.
#pragma once
#include "base/base.h"

enum prg_log_level { PRG_LOG_DEBUG, PRG_LOG_INFO, PRG_LOG_WARNING, PRG_LOG_ERROR };

void prg_log_set_level(enum prg_log_level level); // default PRG_LOG_INFO
void prg_log_set_json(bool json);
// Pairs of const char * key, value, ended by NULL: prg_log(PRG_LOG_INFO, "reconciled", "object", key, NULL)
void prg_log(enum prg_log_level level, const char *message, ...) __attribute__((sentinel));
