/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/ended.h"

#include "analyse/wakers.h"

/* setitimer(), alarm(): kernel/time/itimer.c; timer_create(): kernel/time/posix-timers.c, whose name changed in 6.12 */
bool ended_by_timer_signal(const struct profile *p, const struct waker *w)
{
	static const char *const of_signals[] = { "it_real_fn", "posix_timer_fn", "posix_timer_event",
						  "posixtimer_send_sigqueue", NULL };

	return waker_is_timer(w) && profile_stack_names(p, w->kernel, of_signals);
}

/* dup_mmap() (kernel/fork.c, mm/mmap.c since Linux 6.16) takes the lock.  Compilers may put it into its callers. */
bool ended_by_fork(const struct profile *p, const struct waker *w)
{
	static const char *const of_fork[] = { "dup_mmap", "dup_mm", "copy_process", NULL };

	return profile_stack_names(p, w->kernel, of_fork);
}
