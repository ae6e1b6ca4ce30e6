/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/hurry.h"

#include <glib.h>
#include <signal.h>

/* Used by all threads, each variable independently. */
static gint is_begun, is_hangup_other;
static gint64 due_us;		/* 0: never */
static gint64 until_us;		/* 0: at the last check no end was requested */
static uint64_t left_out;
static _Thread_local bool is_for_later;

void hurry_begin(void)
{
	g_atomic_int_set(&is_begun, 1);
}

void hurry_after_ms(int64_t ms)
{
	__atomic_store_n(&due_us, g_get_monotonic_time() + ms * 1000, __ATOMIC_RELAXED);
}

void hurry_not_by_hangup(void)
{
	g_atomic_int_set(&is_hangup_other, 1);
}

bool hurry_is_asked(void)
{
	gint64 due = __atomic_load_n(&due_us, __ATOMIC_RELAXED);
	sigset_t set;

	if (g_atomic_int_get(&is_begun) || (due && g_get_monotonic_time() >= due))
		return true;
	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
		(sigismember(&set, SIGHUP) == 1 && !g_atomic_int_get(&is_hangup_other)));
}

void hurry_for_later(bool is)
{
	is_for_later = is;
}

bool hurry_is_over(void)
{
	gint64 now_us = g_get_monotonic_time(), until = __atomic_load_n(&until_us, __ATOMIC_RELAXED);

	if (!hurry_is_asked()) {
		__atomic_store_n(&until_us, 0, __ATOMIC_RELAXED);
		return false;
	}
	if (is_for_later)
		return true;
	if (!until) {
		until = now_us + HURRY_MS * 1000;
		__atomic_store_n(&until_us, until, __ATOMIC_RELAXED);
	}
	if (now_us < until)
		return false;
	__atomic_fetch_add(&left_out, 1, __ATOMIC_RELAXED);
	return true;
}

uint64_t hurry_left_out(void)
{
	return __atomic_load_n(&left_out, __ATOMIC_RELAXED);
}
