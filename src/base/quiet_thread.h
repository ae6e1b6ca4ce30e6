/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef QUIET_THREAD_H
#define QUIET_THREAD_H

#include <glib.h>

/*
 * A thread that takes no signals but of its own faults: others are for the threads that expect them.  To be joined;
 * NULL with error when there can be none.
 */
GThread *quiet_thread_new(const char *name, GThreadFunc func, gpointer data, GError **error);

/*
 * A stack of its own for this thread's signal handlers, for when the thread's stack is used up.  Each thread that works
 * on what others decide calls it first; again is free.  It takes no memory: the stack lies with the thread's variables.
 */
void spare_stack_use(void);

#endif
