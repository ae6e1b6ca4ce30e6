/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/quiet_thread.h"

#include <signal.h>

GThread *quiet_thread_new(const char *name, GThreadFunc func, gpointer data, GError **error)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t every, before;
	GThread *thread;

	sigfillset(&every);
	/*
	 * A fault is the thread's own; where it is blocked, the kernel ends the process without a handler.  So does
	 * abort(), which unblocked its signal before glibc 2.41.
	 */
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
		sigdelset(&every, own[i]);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	thread = g_thread_try_new(name, func, data, error);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}
