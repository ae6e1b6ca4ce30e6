/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include "base/hash.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define TOLD_MAX 3	/* maximum places listed */

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

/* A futex does not show whether it has a time limit, but the functions do; for Python it is libc's, which has both. */
static bool may_time_out(const struct findings *f, uint32_t i)
{
	static const char *const timed[] = { "*timedwait*", "*clockwait*", "*wait_timeout*", "*park_timeout*", NULL };
	static const char *const untimed[] = { "__new_sem_wait_slow64.constprop*", "sem_wait*", "__new_sem_wait", "pthread_cond_wait*", NULL };
	uint32_t user = profile_wait(f->profile, i)->user;

	if (g_str_has_prefix(reasons_protocol(f->reasons, i), "Python"))
		return !has_function(f->profile, user, untimed);
	return has_function(f->profile, user, timed);
}

/* State of a thread during the whole window; of several states the last one applies. */
enum stand {
	STAND_UNKNOWN,		/* it waited for nothing */
	STAND_HELPER,		/* its runtime's, or a worker without work, which wakes nobody */
	STAND_STUCK,		/* where another thread would have to wake it */
	STAND_CLOCK,		/* woken by a timer, or by a thread woken by one */
	STAND_GOES_ON,
};

struct still {
	const struct findings *f;
	uint8_t *of_wait, *of_thread;
};

/* A runtime's own threads, like Node's for a debugger; Java's launcher waits for the thread that runs main(). */
static bool is_helper(const struct findings *f, uint32_t i)
{
	static const char *const functions[] = { "java.lang.ref.*", "CallJavaMainInNewThread*", "node::inspector::*",
						 NULL };
	const struct rule *rule = reasons_rule(f->reasons, i);

	return (g_strcmp0(rule->protocol, "JVM") == 0 && rule->idle == RULE_IDLE_YES) ||
	       has_function(f->profile, profile_wait(f->profile, i)->user, functions);
}

static bool is_of_python(const struct findings *f, uint32_t i)
{
	return g_str_has_prefix(reasons_protocol(f->reasons, i), "Python");
}

/*
 * A Node loop without external input: it watches only what its own threads signal.  Timers end its waits, or messages
 * of workers.
 */
static bool is_closed_loop(const struct object *o)
{
	return o && o->kind == OBJECT_EPOLL && *o->name && !strstr(o->name, "socket");
}

static enum stand stand_of(const struct findings *f, uint32_t i)
{
	const struct rule *rule = reasons_rule(f->reasons, i);
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, i));

	if (!rule)
		return STAND_GOES_ON;
	if (is_helper(f, i))
		return STAND_HELPER;
	const bool is_join = (o && o->kind == LOCK_JOIN) || (rule->reason == REASON_CHILD_EXIT && is_of_python(f, i));

	if (rule->reason == REASON_EVENT_LOOP && strcmp(reasons_protocol(f->reasons, i), "libuv") == 0)
		return is_closed_loop(o) ? STAND_CLOCK : o ? STAND_GOES_ON : STAND_UNKNOWN;
	if (rule->reason == REASON_SLEEP)
		return STAND_CLOCK;
	const bool is_lock = reason_family((enum reason)rule->reason) == FAMILY_LOCK &&
			     (rule->reason != REASON_LOCK_OTHER || rule->protocol);
	if (!is_join && !is_lock && rule->reason != REASON_POOL_IDLE)
		return STAND_GOES_ON;
	if (may_time_out(f, i))
		return STAND_CLOCK;
	if (rule->reason == REASON_POOL_IDLE && !is_of_python(f, i))
		return STAND_HELPER;
	return finding_wait_is_all_along(profile_wait(f->profile, i)) ? STAND_STUCK : STAND_CLOCK;
}

/* Number of waits by the same rule in the same function; *ret_is_first: no earlier wait is one. */
static unsigned alike_cnt(const struct still *s, uint32_t pid, uint32_t wait, bool *ret_is_first, bool *ret_all_stuck)
{
	const struct profile *p = s->f->profile;
	unsigned cnt = 0;

	*ret_is_first = *ret_all_stuck = true;
	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (profile_thread(p, profile_wait(p, i)->thread)->pid != pid ||
		    reasons_rule(s->f->reasons, i) != reasons_rule(s->f->reasons, wait) ||
		    finding_frame(s->f, i) != finding_frame(s->f, wait))
			continue;
		*ret_is_first = *ret_is_first && i >= wait;
		*ret_all_stuck = *ret_all_stuck && s->of_wait[i] == STAND_STUCK;
		cnt++;
	}
	return cnt;
}

/*
 * Beside a clock the main thread may wait for all threads to end, and workers may wait for work that comes through a
 * queue or that one of them got.
 */
static bool is_left_beside_clock(const struct still *s, uint32_t wait, bool all_stuck)
{
	static const char *const meant[] = { "JavaMain", "*Queue.take*", "*Deque.take*", "*::recv*", NULL };
	const struct wait *w = profile_wait(s->f->profile, wait);
	const struct thread *t = profile_thread(s->f->profile, w->thread);
	const struct rule *rule = reasons_rule(s->f->reasons, wait);

	return all_stuck && t->pid != t->tid && rule->idle != RULE_IDLE_YES && rule->reason != REASON_CHILD_EXIT &&
	       !has_function(s->f->profile, w->user, meant);
}

/* ", one waits for .. in .., each of 5 .."; returns the number of places */
static unsigned append_places(GString *text, const struct still *s, uint32_t pid, bool beside_clock)
{
	const struct profile *p = s->f->profile;
	unsigned told = 0;

	for (uint32_t i = 0; i < p->waits->len && told < TOLD_MAX; i++) {
		/* which does not call it a worker without work */
		const struct rule *rule = reasons_rule(s->f->reasons, i);
		bool is_first, all_stuck;

		if (profile_thread(p, profile_wait(p, i)->thread)->pid != pid || s->of_wait[i] != STAND_STUCK)
			continue;
		const unsigned cnt = alike_cnt(s, pid, i, &is_first, &all_stuck);

		if (!is_first || (beside_clock && !is_left_beside_clock(s, i, all_stuck)))
			continue;
		g_string_append(text, told++ ? ", " : "");
		if (cnt == 1)
			g_string_append(text, "one ");
		else
			g_string_append_printf(text, "each of %u ", cnt);
		g_string_append(text, rule->says ?: reason_says((enum reason)rule->reason));
		sentence_function(text, s->f, finding_frame(s->f, i), " in ");
	}
	return told;
}

/* Number of a process's threads in each state. */
struct stands {
	uint32_t cnt[STAND_GOES_ON + 1];
};

/*
 * Whether its threads are stuck and none continues except by a clock; if the only thread is stuck, a signal is
 * supposed to end that.
 */
static uint32_t still_process(const struct still *s, bool beside_clock)
{
	g_autoptr(GHashTable) pids = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	const struct profile *p = s->f->profile;

	EACH_ROW(i, const struct thread, t, p->threads) {
		struct stands *all = hash_row(pids, GUINT_TO_POINTER(t->pid), sizeof(*all));
		bool is_selected = !s->f->selection || s->f->selection->threads[i];

		all->cnt[is_selected ? s->of_thread[i] : STAND_GOES_ON]++;
	}
	EACH_ROW(i, const struct thread, t, p->threads) {
		const struct stands *all = g_hash_table_lookup(pids, GUINT_TO_POINTER(t->pid));
		const uint32_t stuck = all->cnt[STAND_STUCK];

		if (!all->cnt[STAND_GOES_ON] && !all->cnt[STAND_UNKNOWN] && !all->cnt[STAND_CLOCK] == !beside_clock &&
		    stuck && stuck + all->cnt[STAND_HELPER] + all->cnt[STAND_CLOCK] > 1)
			return t->pid;
	}
	return 0;
}

static void find_stands(struct still *s)
{
	const struct profile *p = s->f->profile;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!wait_is_asleep(w))
			continue;
		s->of_wait[i] = (uint8_t)stand_of(s->f, i);
		s->of_thread[w->thread] = MAX(s->of_thread[w->thread], s->of_wait[i]);
	}
}

/* The first wait that takes the whole window without a break, for an exit or a sleep; UINT32_MAX: none. */
static uint32_t all_along_of(const struct findings *f, uint32_t pid, enum reason reason)
{
	const struct profile *p = f->profile;

	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct rule *rule = reasons_rule(f->reasons, i);
		const struct wait *w = profile_wait(p, i);

		if (rule && rule->reason == reason && finding_wait_is_all_along(w) &&
		    (!pid || profile_thread(p, w->thread)->pid == pid) &&
		    (reason == REASON_SLEEP || g_str_has_prefix(rule->name, "join")))
			return i;
	}
	return UINT32_MAX;
}

/* The program's outermost function waits itself: nothing shows that it was told to stop. */
static bool is_in_main(const struct findings *f, uint32_t wait)
{
	static const char *const mains[] = { "main", "<module>", NULL };
	const int64_t frame = finding_frame(f, wait);
	const char *name = frame < 0 ? NULL : profile_get_frame(f->profile, (uint32_t)frame)->name;

	return !name || g_strv_contains(mains, name);
}

bool still_append_join(GString *text, const struct findings *f)
{
	const struct profile *p = f->profile;
	const uint32_t join = all_along_of(f, 0, REASON_CHILD_EXIT);

	if (join == UINT32_MAX || profile_is_of_machine(p))
		return false;
	const struct thread *t = profile_thread(p, profile_wait(p, join)->thread);
	const uint32_t sleep = all_along_of(f, t->pid, REASON_SLEEP);

	if (t->pid != t->tid || sleep == UINT32_MAX || is_in_main(f, join))
		return false;
	g_string_append_c(text, ' ');
	text_safe_cut(text, t->process, FINDING_NAME_COLUMNS);
	g_string_append(text, " waits for a thread of its own to end");
	sentence_function(text, f, finding_frame(f, join), " in ");
	g_string_append(text, ", and one sleeps");
	sentence_function(text, f, finding_frame(f, sleep), " in ");
	g_string_append(text, " all the time: if that is to stop, it does not notice. Let it wait for an event, with that pause as time limit.");
	return true;
}

struct still *still_new(const struct findings *f)
{
	const struct profile *p = f->profile;
	struct still *s;

	if (profile_is_of_machine(p))	/* on a whole machine there is always a process at rest */
		return NULL;
	s = g_new0(struct still, 1);
	s->f = f;
	s->of_wait = g_new0(uint8_t, (gsize)p->waits->len + 1);
	s->of_thread = g_new0(uint8_t, (gsize)p->threads->len + 1);
	find_stands(s);
	return s;
}

FREES(still_free, struct still, s, g_free(s->of_wait); g_free(s->of_thread))

bool still_append(GString *text, const struct still *s, bool beside_clock)
{
	g_autoptr(GString) places = g_string_new(NULL);
	const uint32_t pid = s ? still_process(s, beside_clock) : 0;

	if (!pid || !append_places(places, s, pid, beside_clock))
		return false;
	if (beside_clock) {
		g_string_append_printf(text, " Only timers wake other threads of ");
		text_safe_cut(text, finding_process_name(s->f, pid), FINDING_NAME_COLUMNS);
		g_string_append_printf(text, ", and %s all the time: if that is no worker without work, see who should have woken it.", places->str);
		return true;
	}
	g_string_append(text, "No thread of ");
	text_safe_cut(text, finding_process_name(s->f, pid), FINDING_NAME_COLUMNS);
	g_string_append_printf(text, " is left to wake the others: %s, all the time. If no signal and no other program is to end that, it stands "
				     "still: see who should have woken them (gdb -p, thread apply all bt).", places->str);
	return true;
}
