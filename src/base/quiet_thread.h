/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef QUIET_THREAD_H
#define QUIET_THREAD_H

#include <glib.h>

/*
 * A thread that takes no signals except its own faults: others are for threads that expect them. Join it; NULL with
 * error when it cannot be created.
 */
GThread *quiet_thread_new(const char *name, GThreadFunc func, gpointer data, GError **error);

/*
 * A separate stack for this thread's signal handlers, in case its own stack overflows. Each thread that processes
 * untrusted input calls it first; it may be called again. It allocates nothing: the stack is a thread-local variable.
 */
void spare_stack_use(void);

#endif
