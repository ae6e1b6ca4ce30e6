/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/quiet_thread.h"

#include <signal.h>
#include <stdbool.h>

#define STACK_BYTES (32u << 10)	/* a frame with all registers takes 11 KiB on today's largest processors */

void spare_stack_use(void)
{
	static _Thread_local char stack[STACK_BYTES];
	static _Thread_local bool is_used;
	const stack_t spare = { .ss_sp = stack, .ss_size = sizeof(stack) };
	stack_t present;

	if (is_used)
		return;
	is_used = true;
	/* a sanitizer's own one stays */
	if (!sigaltstack(NULL, &present) && present.ss_flags & SS_DISABLE)
		sigaltstack(&spare, NULL);
}

GThread *quiet_thread_new(const char *name, GThreadFunc func, gpointer data, GError **error)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t every, before;
	GThread *thread;

	sigfillset(&every);
	/*
	 * A fault is the thread's own: if its signal is blocked, the kernel ends the process without calling a
	 * handler. So does abort(), which unblocked its signal only before glibc 2.41.
	 */
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
		sigdelset(&every, own[i]);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	thread = g_thread_try_new(name, func, data, error);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}
