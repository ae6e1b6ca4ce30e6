/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/weight.h"

static const char *const names[WEIGHT_KINDS] = {
	[WEIGHT_OFF_CPU] = "off_cpu",
	[WEIGHT_BLOCKED] = "blocked",
	[WEIGHT_RUNNABLE] = "runnable",
	[WEIGHT_PREEMPTED] = "preempted",
	[WEIGHT_COUNT] = "count",
	[WEIGHT_ON_CPU] = "on_cpu",
	[WEIGHT_TIME] = "time",
};

const char *weight_name(enum weight weight)
{
	return (unsigned)weight < WEIGHT_KINDS ? names[weight] : "unknown";
}

const char *weight_names(void)
{
	return "off_cpu, blocked, runnable, preempted, count, on_cpu, time";
}

bool weight_parse(const char *name, enum weight *ret_weight)
{
	for (unsigned i = 0; i < WEIGHT_KINDS; i++) {
		if (g_strcmp0(name, names[i]) == 0) {
			*ret_weight = (enum weight)i;
			return true;
		}
	}
	return false;
}

uint64_t weight_of_wait(const struct wait *w, enum weight weight)
{
	switch (weight) {
	case WEIGHT_OFF_CPU: return wait_off_cpu_ns(w);
	case WEIGHT_BLOCKED: return w->blocked_ns;
	case WEIGHT_RUNNABLE: return w->runnable_ns;
	case WEIGHT_PREEMPTED: return w->preempted_ns;
	case WEIGHT_COUNT: return w->state == ON_CPU_STATE ? 0 : w->count;
	case WEIGHT_ON_CPU: return w->on_cpu_ns;
	case WEIGHT_TIME: return wait_off_cpu_ns(w) + w->on_cpu_ns;
	case WEIGHT_KINDS: break;
	}
	return 0;
}

const char *state_text(uint8_t state)
{
	switch (state) {
	case 'S': return "sleeping";
	case 'D': return "uninterruptible sleep";
	case 'T': return "stopped";
	case 't': return "stopped by a tracer";
	case 'P': return "parked";
	case 'I': return "idle";
	case 'R': return "preempted or yielded";
	case ON_CPU_STATE: return "on CPU";
	default: return "unknown state";
	}
}
