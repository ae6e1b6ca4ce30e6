/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * pair SECONDS PID PID: two sessions at once in one process, each by a thread of its own from its making to its end, and of one of the
 * two processes.  The second one's window ends half a second earlier.  Says "recording" when both windows are open, and prints each as a
 * line of JSON, in the order of the processes.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "print_window.h"
#include "session/session.h"

struct one {
	GArray *pids;
	uint64_t length_ns;
	GError *error;
	struct profile *profile;	/* NULL: it failed */
};

static struct {
	GMutex lock;
	GCond changed;
	unsigned open_cnt;
} windows;

static void await_both(void)
{
	g_mutex_lock(&windows.lock);
	if (++windows.open_cnt == 2) {
		printf("recording\n");
		fflush(stdout);
	}
	g_cond_broadcast(&windows.changed);
	while (windows.open_cnt < 2)
		g_cond_wait(&windows.changed, &windows.lock);
	g_mutex_unlock(&windows.lock);
}

static gpointer record(gpointer data)
{
	struct one *one = data;
	struct collect_options options = { .pids = one->pids, .want_wakers = true, .want_locks = true, .want_objects = true };
	struct session *s = session_new(&options, &one->error);
	bool ok = s && session_start(s, &one->error);

	await_both();	/* a failure, too, ends in time */
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + one->length_ns;

	while (ok && clock_ns(CLOCK_MONOTONIC) < until_ns)
		if (!session_drain(s))
			poll(NULL, 0, 20);
	if (ok && session_stop(s, &one->error))
		one->profile = session_take_profile(s);
	if (one->profile && !profile_check(one->profile, &one->error))
		g_clear_pointer(&one->profile, profile_free);
	session_free(s);
	return NULL;
}

int main(int argc, char **argv)
{
	struct one two[2] = { 0 };
	GThread *threads[2];
	bool ok = true;

	if (argc != 4)
		return 2;
	for (int i = 0; i < 2; i++) {
		uint32_t pid = (uint32_t)strtoul(argv[2 + i], NULL, 10);

		two[i].length_ns = (uint64_t)(strtod(argv[1], NULL) * 1e9) - (i ? 500000000ULL : 0);
		two[i].pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_array_append_val(two[i].pids, pid);
		threads[i] = g_thread_new("record", record, &two[i]);
	}
	for (int i = 0; i < 2; i++)
		g_thread_join(threads[i]);
	for (int i = 0; i < 2; i++) {
		if (two[i].profile)
			print_window(two[i].profile);
		else
			fprintf(stderr, "pair: %s\n", two[i].error ? two[i].error->message : "failed");
		ok = ok && two[i].profile;
		g_clear_pointer(&two[i].profile, profile_free);
		g_clear_error(&two[i].error);
		g_array_unref(two[i].pids);
	}
	return !ok;
}
