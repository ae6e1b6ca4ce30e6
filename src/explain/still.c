/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include "base/each.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define TOLD_MAX 3	/* places in which threads wait */

static bool has_function(const struct profile *p, uint32_t user, const char *const *patterns)
{
	for (uint32_t n = user; n; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		for (unsigned i = 0; name && patterns[i]; i++)
			if (g_pattern_match_simple(patterns[i], name))
				return true;
	}
	return false;
}

/* Nothing tells of a futex whether it has a time limit, but the functions do; of Python's the one of libc, which has both. */
static bool may_time_out(const struct findings *f, uint32_t i)
{
	static const char *const timed[] = { "*timedwait*", "*clockwait*", "*wait_timeout*", "*park_timeout*", NULL };
	static const char *const untimed[] = { "__new_sem_wait_slow64.constprop*", "sem_wait*", "__new_sem_wait", "pthread_cond_wait*", NULL };
	uint32_t user = profile_wait(f->profile, i)->user;

	if (g_str_has_prefix(reasons_protocol(f->reasons, i), "Python"))
		return !has_function(f->profile, user, untimed);
	return has_function(f->profile, user, timed);
}

/* A runtime's own threads are parked so while their program rests, as the rules about them say; Python has none. */
static bool is_for_others(const struct findings *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->profile, i);
	const struct object *o = profile_wait_object(f->profile, w);
	const struct rule *rule = reasons_rule(f->reasons, i);

	if (w->count != 1 || !(w->flags & WAIT_OPEN_AT_START) || !(w->flags & WAIT_OPEN_AT_END) || !rule ||
	    may_time_out(f, i))
		return false;
	if (g_str_has_prefix(reasons_protocol(f->reasons, i), "Python"))
		return reason_family((enum reason)rule->reason) == FAMILY_LOCK || rule->reason == REASON_POOL_IDLE ||
		       rule->reason == REASON_CHILD_EXIT;
	if (rule->protocol || rule->idle == RULE_IDLE_YES)
		return false;
	return (o && (o->kind == LOCK_CONDITION || o->kind == LOCK_JOIN || o->kind == LOCK_MUTEX)) ||
	       rule->reason == REASON_LOCK_CONDITION || rule->reason == REASON_LOCK_MUTEX;
}

/* All threads of a process wait so; of one whose only thread does a signal is meant to end that.  pid 0: of none. */
static uint32_t still_process(const struct findings *f, const bool *is_stuck)
{
	g_autoptr(GHashTable) stuck_cnts = g_hash_table_new(NULL, NULL), goes_on = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct thread, t, f->profile->threads) {
		gpointer pid = GUINT_TO_POINTER(t->pid);

		guint cnt = GPOINTER_TO_UINT(g_hash_table_lookup(stuck_cnts, pid));

		if (!is_stuck[i] || (f->selection && !f->selection->threads[i]))
			g_hash_table_add(goes_on, pid);
		else
			g_hash_table_insert(stuck_cnts, pid, GUINT_TO_POINTER(cnt + 1));
	}
	EACH_ROW(i, const struct thread, t, f->profile->threads) {
		gpointer pid = GUINT_TO_POINTER(t->pid);

		if (!g_hash_table_contains(goes_on, pid) && GPOINTER_TO_UINT(g_hash_table_lookup(stuck_cnts, pid)) > 1)
			return t->pid;
	}
	return 0;
}

/* The same rule in the same function; *ret_is_first: no wait before it is. */
static unsigned alike_cnt(const struct findings *f, uint32_t wait, bool *ret_is_first)
{
	const struct profile *p = f->profile;
	uint32_t pid = profile_thread(p, profile_wait(p, wait)->thread)->pid;
	unsigned cnt = 0;

	*ret_is_first = true;
	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (profile_thread(p, profile_wait(p, i)->thread)->pid != pid ||
		    reasons_rule(f->reasons, i) != reasons_rule(f->reasons, wait) ||
		    finding_frame(f, i) != finding_frame(f, wait))
			continue;
		*ret_is_first = *ret_is_first && i >= wait;
		cnt++;
	}
	return cnt;
}

static char *say(const struct findings *f, uint32_t pid)
{
	const struct profile *p = f->profile;
	GString *s = g_string_new("No thread of ");
	unsigned told = 0;

	text_safe_cut(s, finding_process_name(f, pid), FINDING_NAME_COLUMNS);
	g_string_append(s, " is left to wake the others: ");
	for (uint32_t i = 0; i < p->waits->len && told < TOLD_MAX; i++) {
		const struct rule *rule = reasons_rule(f->reasons, i);	/* which does not call it a worker without work */
		bool is_first;
		unsigned cnt = profile_thread(p, profile_wait(p, i)->thread)->pid == pid ? alike_cnt(f, i, &is_first)
											 : 0;

		if (!cnt || !is_first)
			continue;
		g_string_append(s, told++ ? ", " : "");
		if (cnt == 1)
			g_string_append(s, "one ");
		else
			g_string_append_printf(s, "each of %u ", cnt);
		g_string_append(s, rule->says ?: reason_says((enum reason)rule->reason));
		sentence_function(s, f, finding_frame(f, i), " in ");
	}
	g_string_append(s, ", all the time. If no signal and no other program is to end that, it stands still: see who should have woken "
			   "them (gdb -p, thread apply all bt).");
	return g_string_free(s, FALSE);
}

char *still_new(const struct findings *f)
{
	const struct profile *p = f->profile;
	g_autofree bool *is_stuck = g_new0(bool, (gsize)p->threads->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		is_stuck[profile_wait(p, i)->thread] = is_for_others(f, i);
	uint32_t pid = still_process(f, is_stuck);

	return pid ? say(f, pid) : NULL;
}
