/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include "base/clock.h"
#include "base/proc/cpu.h"

#define TICKS_MIN 6	/* of the process, minimum for a percentage */

struct look {
	uint32_t pid;
	char *group;
	uint64_t pages;
	struct proc_cpu cpu;
};

CLEARS(clear_look, struct look, l, g_free(l->group))

static GArray *looks_new(const struct profile *p, struct group_limits *groups, const char *proc_dir)
{
	GArray *looks = g_array_new(FALSE, TRUE, sizeof(struct look));

	g_array_set_clear_func(looks, clear_look);
	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		g_autoptr(GString) text = g_string_new(NULL);
		struct look one = { .pid = l->pid };

		if (l->kind == LIMIT_MEMORY)
			one.group = group_limits_find(groups, LIMIT_MEMORY, l->pid, text);
		if (!one.group)
			continue;
		one.pages = group_limits_refaults(one.group);
		proc_cpu_read(proc_dir, one.pid, &one.cpu);
		g_array_append_val(looks, one);
	}
	return looks;
}

/* Since the first look: pages a second, and the process's ticks. */
static uint64_t look_again(const struct look *l, const char *proc_dir, double seconds, struct proc_cpu *ret_ran)
{
	uint64_t pages = group_limits_refaults(l->group);
	struct proc_cpu cpu = l->cpu;

	proc_cpu_read(proc_dir, l->pid, &cpu);
	ret_ran->user = cpu.user - MIN(l->cpu.user, cpu.user);
	ret_ran->kernel = cpu.kernel - MIN(l->cpu.kernel, cpu.kernel);
	return pages > l->pages && seconds > 0 ? (uint64_t)((double)(pages - l->pages) / seconds) : 0;
}

/* False: pages come back, but the process has not run for long enough yet. */
static bool look_at(struct profile *p, const struct look *l, const char *proc_dir, double seconds, bool is_last)
{
	struct proc_cpu ran;
	uint64_t rate = look_again(l, proc_dir, seconds, &ran), ticks = ran.user + ran.kernel;
	uint32_t pct = ticks >= TICKS_MIN ? (uint32_t)(ran.kernel * 100 / ticks) : 0;
	g_autofree char *text = g_strdup_printf(LIMIT_REFAULTS_FORMAT, rate, pct);

	if (rate >= REFAULTS_MIN && ticks < TICKS_MIN && !is_last)
		return false;
	if (rate >= REFAULTS_MIN)
		profile_add_limit(p, LIMIT_REFAULTS, l->pid, 0, text);
	return true;
}

void refaults_look(struct profile *p, struct group_limits *groups, const char *proc_dir)
{
	g_autoptr(GArray) looks = looks_new(p, groups, proc_dir);
	uint64_t from_ns = clock_ns(CLOCK_MONOTONIC);

	for (unsigned left = REFAULTS_PAUSES; looks->len && left--;) {
		g_usleep(REFAULTS_PAUSE_US);
		double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - from_ns) / 1e9;

		for (guint i = looks->len; i-- > 0;)
			if (look_at(p, &g_array_index(looks, struct look, i), proc_dir, seconds, !left))
				g_array_remove_index(looks, i);
	}
}
