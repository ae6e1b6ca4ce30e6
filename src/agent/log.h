/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_LOG_H
#define AGENT_LOG_H

#include <glib.h>

/* values as in syslog(3) */
enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6 };
/* Receives one line, without its end. */
typedef void (*log_fn)(enum log_level level, const char *text);

/* The only way to write it. Texts contain others' names: everything is escaped, or one could forge a line. */
void log_say(log_fn log, enum log_level level, const char *format, ...) G_GNUC_PRINTF(3, 4);

#endif
