/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * cutter COUNT SECONDS [PID ...]: cuts so many windows of a session, and beside it has one that is not cut.  Prints each window as a line
 * of JSON, the last but one ended by a stop, the last one the other session's.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "print_window.h"
#include "session/session.h"

static bool drain(struct session *cut, struct session *whole, uint64_t length_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + length_ns;

	while (clock_ns(CLOCK_MONOTONIC) < until_ns) {
		bool is_more = session_drain(cut);

		if (!session_drain(whole) && !is_more)
			poll(NULL, 0, 20);
	}
	return true;
}

static bool print_last(struct session *s, GError **error)
{
	if (!session_stop(s, error))
		return false;
	struct profile *p = session_take_profile(s);
	bool ok = profile_check(p, error);

	print_window(p);
	profile_free(p);
	return ok;
}

static bool print_cut(struct session *s, GError **error)
{
	const struct profile *p = session_cut(s, error);

	if (!p || !profile_check(p, error))
		return false;
	print_window(p);
	return true;
}

/* The one that is cut lies within the other, which is not. */
static bool run(struct session *cut, struct session *whole, unsigned cnt, uint64_t length_ns, GError **error)
{
	bool ok = session_start(whole, error) && session_start(cut, error);

	for (unsigned i = 0; ok && i < cnt; i++)
		ok = drain(cut, whole, length_ns) && print_cut(cut, error);
	return ok && drain(cut, whole, length_ns) && print_last(cut, error) && print_last(whole, error);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct collect_options options = { .may_cut = true, .frees_windows = true, .forgets_always = true, .want_wakers = true, .want_locks = true, .want_objects = true };
	struct collect_options beside = { 0 };

	if (argc < 3)
		return 2;
	for (int i = 3; i < argc; i++) {
		uint32_t pid = (uint32_t)strtoul(argv[i], NULL, 10);

		g_array_append_val(pids, pid);
		options.pids = beside.pids = pids;
		options.follow = beside.follow = true;
	}
	struct session *whole = session_new(&beside, &error), *cut = whole ? session_new(&options, &error) : NULL;
	bool ok = cut && run(cut, whole, (unsigned)strtoul(argv[1], NULL, 10), (uint64_t)(strtod(argv[2], NULL) * 1e9), &error);

	session_free(cut);
	session_free(whole);
	if (!ok)
		fprintf(stderr, "cutter: %s\n", error ? error->message : "failed");
	return !ok;
}
