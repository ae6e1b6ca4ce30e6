/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/tasks/look_list.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/refuse.h"
#include "base/text.h"
#include "features/tasks/look_parts.h"

#define NS_PER_S 1e9
#define NAMED_MOST 5	/* processes listed in messages */

static bool is_stopped(const struct census_options *o)
{
	return o->stop && *o->stop;
}

static void sleep_until(const struct census_options *o, uint64_t ns)
{
	const struct timespec at = { .tv_sec = (time_t)(ns / (uint64_t)NS_PER_S),
				     .tv_nsec = (long)(ns % (uint64_t)NS_PER_S) };

	while (!is_stopped(o) && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void watch(struct watched *w, const struct census_options *o)
{
	const struct periods p = { clock_ns(CLOCK_MONOTONIC), MAX((uint64_t)(NS_PER_S / o->hz), 1) };
	const uint64_t cnt = MAX(o->duration_ns / p.length_ns, 2);
	const uint64_t room_ns = MAX((uint64_t)((double)o->budget_ppm / 1e6 / o->hz * NS_PER_S), 1);

	for (uint64_t i = 0; i < cnt && !is_stopped(o);) {
		uint64_t now;

		sleep_until(o, periods_instant(&p, i));
		now = MIN(periods_number(&p, clock_ns(CLOCK_MONOTONIC)), cnt - 1);
		if (is_stopped(o) || !watched_look(w, periods_end(&p, now), p.length_ns * (now + 1 - i), room_ns))
			return;
		i = now + 1;
	}
}

static void append_process(GString *text, uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/comm", pid), *comm = NULL;

	if (text->len)
		g_string_append(text, ", ");
	g_string_append_printf(text, "%u", pid);
	if (g_file_get_contents(path, &comm, NULL, NULL)) {
		g_string_append(text, " (");
		text_safe(text, g_strchomp(comm));
		g_string_append_c(text, ')');
	}
}


static struct watched *open_one(uint32_t pid, GError **error)
{
	struct watched *w = watched_new(pid);

	if (watched_find(w, error))
		return w;
	watched_close(w);
	return NULL;
}

/* Of several processes, one may have tasks. */
static struct watched *open_one_of(const GArray *pids, GError **error)
{
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GError) first = NULL;
	struct watched *chosen = NULL;
	uint32_t cnt = 0;

	for (guint i = 0; i < pids->len; i++) {
		uint32_t pid = g_array_index(pids, uint32_t, i);
		struct watched *w = open_one(pid, first ? NULL : &first);

		if (!w)
			continue;
		if (cnt++ < NAMED_MOST)
			append_process(names, pid);
		if (cnt == 1)
			chosen = w;
		else
			tasks_free(watched_close(w));
	}
	if (cnt == 1)
		return chosen;
	if (!cnt) {
		refuse(error, CENSUS_ERROR, CENSUS_NO_RUNTIME, "of these %u processes none has tasks that can be seen: %s",
		       pids->len, first->message);
		return NULL;
	}
	tasks_free(watched_close(chosen));
	refuse(error, CENSUS_ERROR, CENSUS_FAILED,
	       "tasks are looked at in one process, and %u of these have a runtime of such: %s%s; name one by -p", cnt, names->str,
	       cnt > NAMED_MOST ? ", ..." : "");
	return NULL;
}

struct tasks *census_take(const struct census_options *options, GError **error)
{
	struct watched *w = options->pids->len == 1 ? open_one(g_array_index(options->pids, uint32_t, 0), error) :
						      open_one_of(options->pids, error);
	struct tasks *t;

	if (!w)
		return NULL;
	if (options->duration_ns)
		watch(w, options);
	else
		watched_look(w, 0, 0, 0);
	t = watched_close(w);
	if (!t)
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED, "the process ended before its tasks could be read");
	else
		t->rate_hz = options->duration_ns ? options->hz : 0;
	return t;
}
