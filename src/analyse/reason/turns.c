/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/reason/reasons.h"
#include "base/find.h"
#include "features/slices/rows.h"
#include "features/wakers/analysis.h"

#define IDLE_PART 10	/* of the window: tolerance for missing or excess idle time */
#define BUSY_PART 4	/* of the window: maximum of what all of them do otherwise */
#define SAMPLED_PART 3	/* for both if times are estimates */
#define OTHERS_PART 10	/* of the waits for a turn: maximum ended by others */
#define TAKER_PART 100	/* of its time: who waits less there takes no turns */
#define LOOKS_PER_S 20	/* per thread, ended by a timer: more is a poll loop */
#define NONE UINT32_MAX

/* Threads of one kind, in one or several processes, that wait for the same reason. */
struct queue {
	enum reason reason;
	GHashTable *members, *takers;	/* threads; those that wait there, or end waits, for a noteworthy time */
	uint64_t observed_ns, waits_ns;
	uint64_t ended_ns, by_members_ns;	/* without those that a timer ended */
	uint64_t timed_cnt;
	bool is_of_sessions;	/* all of these waits are for what a database's session keeps until its client lets go */
};

struct search {
	const struct profile *p;
	const struct rule *const *rule;
	const uint8_t *reason;
	uint8_t *idle;
	GHashTable *by_kind;	/* key of names and reason -> index + 1 */
	GArray *queues;	/* struct queue */
	uint32_t *of_wait;	/* of each: index + 1 of its queue; 0: none */
	bool *kept;	/* see reasons_is_kept_for_client() */
	uint64_t *rests_ns, *clients_ns;	/* of each thread */
	uint32_t *by;	/* the thread of each waker; NONE */
};

static bool may_be_turn(const struct search *s, uint32_t i)
{
	const struct wait *w = profile_wait(s->p, i);

	if (!wait_is_asleep(w) || s->idle[i])
		return false;
	switch ((enum reason)s->reason[i]) {
	case REASON_LOCK_MUTEX:
	case REASON_LOCK_SEMAPHORE:
	case REASON_LOCK_CONDITION:
	case REASON_LOCK_OTHER:
	case REASON_LOCK_KERNEL:
	case REASON_PIPE: return true;
	default: return false;
	}
}

static size_t kind_bytes(const char *name)
{
	size_t bytes = actors_kind_bytes(name);

	return bytes ? bytes : strlen(name);
}

static guint queue_of(struct search *s, uint32_t i)
{
	const struct thread *t = profile_thread(s->p, profile_wait(s->p, i)->thread);
	const char *process = t->process ?: "", *comm = t->comm ?: "";
	char *key = g_strdup_printf("%u %.*s/%.*s", s->reason[i], (int)kind_bytes(process), process, (int)kind_bytes(comm), comm);
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(s->by_kind, key));

	if (!at) {
		const struct queue fresh = {
			.reason = (enum reason)s->reason[i],
			.members = g_hash_table_new(NULL, NULL),
			.takers = g_hash_table_new(NULL, NULL),
			.is_of_sessions = true,
		};

		g_array_append_val(s->queues, fresh);
		at = s->queues->len;
	}
	g_hash_table_insert(s->by_kind, key, GUINT_TO_POINTER(at));
	return at;
}

static void add_taker(struct search *s, struct queue *q, uint32_t thread)
{
	if (g_hash_table_add(q->takers, GUINT_TO_POINTER(thread + 1)))
		q->observed_ns += thread_observed_ns(profile_thread(s->p, thread));
}

/* A database's lock that a session keeps until its transaction or itself ends, also while its client does other work. */
static bool is_sessions_lock(const char *rule)
{
	static const char *const rules[] = {
		"postgres-row-lock", "postgres-advisory-lock", "innodb-lock-wait*", "mariadb-user-lock",
		"mariadb-table-lock", "mariadb-metadata-lock",
	};

	return ANY(x, rules, g_pattern_match_simple(*x, rule));
}

static void find_queues(struct search *s)
{
	g_autofree uint64_t *waits_ns = g_new0(uint64_t, (gsize)s->p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, s->p->waits)
		waits_ns[w->thread] += may_be_turn(s, i) ? w->blocked_ns : 0;
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		if (!may_be_turn(s, i))
			continue;
		s->of_wait[i] = queue_of(s, i);
		struct queue *q = &g_array_index(s->queues, struct queue, s->of_wait[i] - 1);
		q->waits_ns += w->blocked_ns;
		q->is_of_sessions &= s->rule[i] && is_sessions_lock(s->rule[i]->name);
		g_hash_table_add(q->members, GUINT_TO_POINTER(w->thread + 1));
		if (waits_ns[w->thread] >= thread_observed_ns(profile_thread(s->p, w->thread)) / TAKER_PART)
			add_taker(s, q, w->thread);
	}
}

static bool is_member(const struct queue *q, uint32_t thread)
{
	return g_hash_table_contains(q->members, GUINT_TO_POINTER(thread + 1));
}

/*
 * How long each thread rested: it waited for clients, or for work that others bring.  Who sleeps while it has its turn
 * holds the others up, and so does who waits for its own client, as a session of a database that has a row's lock:
 * nobody else could serve that one meanwhile.
 */
static void find_rests(struct search *s)
{
	s->rests_ns = g_new0(uint64_t, (gsize)s->p->threads->len + 1);
	s->clients_ns = g_new0(uint64_t, (gsize)s->p->threads->len + 1);
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		const struct object *o = profile_wait_object(s->p, w);
		bool is_client = s->idle[i] == IDLE_CLIENT && !(o && object_serves_datagrams(o));

		if (w->state != ON_CPU_STATE && idle_kind_is_rest((enum idle_kind)s->idle[i]))
			(is_client ? s->clients_ns : s->rests_ns)[w->thread] += w->blocked_ns;
	}
}

static uint64_t sum_of_takers(const struct queue *q, const uint64_t *of_thread)
{
	uint64_t ns = 0;

	EACH_KEY(void, member, q->takers)
		ns += of_thread[GPOINTER_TO_UINT(member) - 1];
	return ns;
}

static void find_who_ends(struct search *s)
{
	EACH_ROW(i, const struct wake, wake, s->p->wakes) {
		uint32_t at = s->of_wait[wake->wait], by = s->by[wake->waker];
		struct queue *q = at ? &g_array_index(s->queues, struct queue, at - 1) : NULL;

		if (!q)
			continue;
		if (waker_is_timer(profile_get_waker(s->p, wake->waker))) {
			q->timed_cnt += wake->count;
			continue;
		}
		q->ended_ns += wake->blocked_ns;
		if (by == NONE || !is_member(q, by))
			continue;
		q->by_members_ns += wake->blocked_ns;
		if (wake->blocked_ns >= q->waits_ns / TAKER_PART)
			add_taker(s, q, by);
	}
}

/* Threads woken by members: what these deliver may be answers. */
static bool *asked_new(const struct search *s, const struct queue *q)
{
	bool *is_asked = g_new0(bool, (gsize)s->p->threads->len + 1);

	EACH_ROW(i, const struct wake, wake, s->p->wakes) {
		uint32_t by = s->by[wake->waker];

		if (by != NONE && is_member(q, by))
			is_asked[profile_wait(s->p, wake->wait)->thread] = true;
	}
	return is_asked;
}

/*
 * Waits of members during their turn for work that others bring unasked: a channel's receiver under a mutex is passed
 * on like that.  Per place (user node): yes or no; a wait that is open at the end counts like earlier ones there.
 */
static bool *brought_new(const struct search *s, guint queue)
{
	const struct queue *q = &g_array_index(s->queues, struct queue, queue);
	g_autofree bool *is_asked = asked_new(s, q);
	g_autofree uint64_t *all_ns = g_new0(uint64_t, (gsize)s->p->nodes->len + 1),
			    *brought_ns = g_new0(uint64_t, (gsize)s->p->nodes->len + 1);
	bool *is_brought = g_new0(bool, (gsize)s->p->waits->len + 1);

	EACH_ROW(i, const struct wake, wake, s->p->wakes) {
		uint32_t by = s->by[wake->waker], at = profile_wait(s->p, wake->wait)->user;

		all_ns[at] += wake->blocked_ns;
		brought_ns[at] += by != NONE && !is_asked[by] && !is_member(q, by) ? wake->blocked_ns : 0;
	}
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		enum reason reason = (enum reason)s->reason[i];

		is_brought[i] = s->of_wait[i] && s->of_wait[i] != queue + 1 && is_member(q, w->thread) && w->user &&
				reason_is_signalled(reason) && brought_ns[w->user] &&
				brought_ns[w->user] >= all_ns[w->user] - all_ns[w->user] / OTHERS_PART;
	}
	return is_brought;
}

/* Lower bound of the time that all of them wait at once, so that none holds what they wait for. */
static uint64_t all_wait_ns(const struct search *s, guint queue, uint64_t window_ns)
{
	const struct queue *q = &g_array_index(s->queues, struct queue, queue);
	const uint32_t takers = g_hash_table_size(q->takers);
	uint64_t all_ns = 0;

	if (!profile_has_slices(s->p))
		return q->waits_ns - MIN(q->waits_ns, window_ns * (takers - 1));
	g_autofree bool *is_in = g_new0(bool, (gsize)s->p->waits->len + 1);
	for (uint32_t i = 0; i < s->p->waits->len; i++)
		is_in[i] = s->of_wait[i] == queue + 1;
	g_autofree struct slice_total *slices = profile_slice_totals(s->p, is_in);
	for (uint32_t i = 0; i < profile_slice_cnt(s->p); i++) {
		uint64_t most_ns = (slices[i].to_ns - slices[i].from_ns) * (takers - 1);

		all_ns += slices[i].blocked_ns - MIN(slices[i].blocked_ns, most_ns);
	}
	return all_ns;
}

/* One rests at a time, and they do little else; aside_ns: their time that is not work either. */
static bool are_turns(const struct search *s, guint queue, uint64_t idle_ns, uint64_t aside_ns)
{
	const struct queue *q = &g_array_index(s->queues, struct queue, queue);
	const uint64_t window_ns = q->observed_ns / g_hash_table_size(q->takers);
	const bool is_sampled = profile_is_sampled(s->p);
	const uint64_t off_ns = window_ns / (is_sampled ? SAMPLED_PART : IDLE_PART);
	const uint64_t busy_ns = window_ns / (is_sampled ? SAMPLED_PART : BUSY_PART);

	return idle_ns >= window_ns - off_ns && idle_ns <= window_ns + off_ns &&
	       idle_ns + aside_ns + q->waits_ns >= q->observed_ns - busy_ns &&
	       (!profile_has_slices(s->p) || all_wait_ns(s, queue, window_ns) <= off_ns);
}

/* They end one another's waits, which are long, unless their time is up. */
static bool is_handed_round(const struct queue *q)
{
	uint32_t takers = g_hash_table_size(q->takers);
	bool polls = (double)q->timed_cnt * 1e9 >= LOOKS_PER_S * (double)q->observed_ns;

	return takers >= 2 && !polls && q->ended_ns && q->by_members_ns >= q->ended_ns - q->ended_ns / OTHERS_PART &&
	       q->waits_ns >= q->observed_ns / takers / 2;
}

/*
 * If threads are short of something, one of them holds it.  Where only they end each other's waits, and all of them
 * wait at once for half as long as each waits, none holds anything for most of that time: they pass work to each
 * other, and are idle.
 */
static bool is_nobodys(const struct search *s, guint queue)
{
	const struct queue *q = &g_array_index(s->queues, struct queue, queue);
	g_autofree uint64_t *each_ns = g_new0(uint64_t, (gsize)s->p->threads->len + 1);
	uint64_t longest_ns = 0;

	if (!reason_is_signalled((enum reason)q->reason))
		return false;
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		if (s->of_wait[i] != queue + 1)
			continue;
		if (s->rule[i] && s->rule[i]->idle == RULE_IDLE_NO)	/* it is known to be none */
			return false;
		each_ns[w->thread] += w->blocked_ns;
		longest_ns = MAX(longest_ns, each_ns[w->thread]);
	}
	return all_wait_ns(s, queue, q->observed_ns / g_hash_table_size(q->takers)) >= longest_ns / 2;
}

/*
 * A lock that at least one session waits for at any time is held by another one.  If all of them do little but wait for
 * the lock or for their clients, the holder waits for its client: a transaction that stays open.
 */
static bool is_held_at_rest(const struct queue *q, uint64_t clients_ns)
{
	const uint64_t window_ns = q->observed_ns / g_hash_table_size(q->takers);
	const uint64_t others_ns = q->observed_ns - MIN(q->waits_ns + clients_ns, q->observed_ns);

	return q->is_of_sessions && q->waits_ns >= window_ns && clients_ns >= window_ns / 2 &&
	       others_ns <= window_ns / 2;
}

static void find_turns(struct search *s, guint queue)
{
	const struct queue *q = &g_array_index(s->queues, struct queue, queue);
	uint64_t idle_ns = sum_of_takers(q, s->rests_ns), clients_ns = sum_of_takers(q, s->clients_ns);

	if (!is_handed_round(q))
		return;
	const bool is_kept = are_turns(s, queue, clients_ns, 0) || is_held_at_rest(q, clients_ns);

	for (uint32_t i = 0; i < s->p->waits->len; i++)
		s->kept[i] |= is_kept && s->of_wait[i] == queue + 1;
	g_autofree bool *is_brought = brought_new(s, queue);
	for (uint32_t i = 0; i < s->p->waits->len; i++)
		idle_ns += is_brought[i] ? profile_wait(s->p, i)->blocked_ns : 0;
	/* who has had its turn may wait for its own client's next request, without the lock */
	if (!are_turns(s, queue, idle_ns, clients_ns) && !is_nobodys(s, queue))
		return;
	for (uint32_t i = 0; i < s->p->waits->len; i++)
		if (is_brought[i] || s->of_wait[i] == queue + 1)
			s->idle[i] = IDLE_POOL;
}

void turns_find(const struct profile *p, const struct rule *const *rule, const uint8_t *reason, uint8_t *idle,
		bool *ret_kept)
{
	struct search s = {
		.p = p,
		.rule = rule,
		.reason = reason,
		.idle = idle,
		.kept = ret_kept,
		.by_kind = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.queues = g_array_new(FALSE, FALSE, sizeof(struct queue)),
		.of_wait = g_new0(uint32_t, (gsize)p->waits->len + 1),
		.by = actors_threads_of_wakers(p),
	};

	find_queues(&s);
	find_who_ends(&s);
	find_rests(&s);
	for (guint i = 0; i < s.queues->len; i++)
		find_turns(&s, i);
	EACH_ROW(i, const struct queue, q, s.queues) {
		g_hash_table_unref(q->members);
		g_hash_table_unref(q->takers);
	}
	g_hash_table_unref(s.by_kind);
	g_array_unref(s.queues);
	g_free(s.of_wait);
	g_free(s.rests_ns);
	g_free(s.clients_ns);
	g_free(s.by);
}
