/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/quiet_thread.h"

#include <signal.h>

GThread *quiet_thread_new(const char *name, GThreadFunc func, gpointer data, GError **error)
{
	sigset_t every, before;
	GThread *thread;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	thread = g_thread_try_new(name, func, data, error);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}
