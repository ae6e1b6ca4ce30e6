/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TASK_JAVA_H
#define ANALYSE_TASK_JAVA_H

#include "profile/tasks.h"

/* Is the function Java's own? */
bool task_java_is_library(const char *name);
/* As task_idle() has it, of one that waits. */
const char *task_java_idle(const struct task_row *row);
bool task_java_answers_request(const struct task_row *row);
bool task_java_reads_socket(const struct task_row *row);
/* It waits within a client's call, HTTP or a database. */
bool task_java_has_asked(const struct task_row *row);
/* A pool has no connection to give it. */
bool task_java_awaits_connection(const struct task_row *row);

#endif
