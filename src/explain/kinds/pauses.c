/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/each.h"
#include "base/hash.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define ASKS_MIN 3
#define REST_PART 20	/* of the sleeps: so much the process may wait for beside them */
#define RUNS_MIN 3	/* of one program by a script; fewer if it is known how they ended */

bool pauses_is_of_connection(const struct findings *f, uint32_t wait)
{
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, wait));
	enum reason reason = reasons_of(f->reasons, wait);

	return (reason == REASON_NETWORK_RECEIVE || reason == REASON_NETWORK_CONNECT) && o &&
	       (o->kind == OBJECT_SOCKET || o->kind == OBJECT_POLL) &&
	       *o->name && *o->name != ':' && !strstr(o->name, " from");
}

bool pauses_is_question(const struct findings *f, uint32_t wait)
{
	return pauses_is_of_connection(f, wait) && !reasons_is_idle(f->reasons, wait);
}

/* Whom these threads ask at least half as often as they sleep: the object's index + 1; 0: nobody. */
static uint32_t whom_asks(const struct findings *f, uint64_t sleeps_cnt, const bool *sleeps)
{
	const struct profile *p = f->profile;
	g_autofree uint64_t *cnt = g_new0(uint64_t, (gsize)p->objects->len + 1);
	uint32_t most = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!sleeps[w->thread] || !w->blocked_ns || !pauses_is_question(f, i))
			continue;
		cnt[w->object] += w->count;
		most = cnt[w->object] > cnt[most] ? w->object : most;
	}
	return cnt[most] >= MAX(sleeps_cnt / 2, ASKS_MIN) ? most : 0;
}

/* The holder of the database that these wait for is unknown. */
static bool is_of_unknown_holder(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);

	return row->reason == REASON_LOCK_OTHER && rule && rule->protocol && *rule->protocol && !row->by.tid &&
	       !row->deadlock;
}

/* Whether these threads also wait for that lock now and then, but hardly as long as they sleep. */
static bool use_it_too(const struct findings *f, const struct finding *lock, const bool *sleeps, uint64_t sleep_ns)
{
	const struct rule *rule = reasons_rule(f->reasons, lock->wait);
	uint64_t ns = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits)
		ns += sleeps[w->thread] && w->blocked_ns && reasons_rule(f->reasons, i) == rule ? w->blocked_ns : 0;
	return ns && ns < sleep_ns / 4;
}

static void find_lock(struct findings *f, struct finding *row, const bool *sleeps)
{
	EACH_FIRST(i, lock, f, FINDINGS_TOLD_MAX) {
		if (!row->pid || lock->pid != row->pid || lock->time_ns < row->time_ns ||
		    !is_of_unknown_holder(f, lock) || !use_it_too(f, lock, sleeps, row->time_ns))
			continue;
		row->may_hold = true;
		lock->meanwhile = lock->meanwhile ? lock->meanwhile : row->id;
	}
}

uint32_t pauses_asked_by(const struct findings *f, uint32_t thread, uint64_t sleeps_cnt)
{
	g_autofree bool *sleeps = g_new0(bool, (gsize)f->profile->threads->len + 1);

	sleeps[thread] = true;
	return whom_asks(f, sleeps_cnt, sleeps);
}

void pauses_find(struct findings *f)
{
	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		g_autofree bool *sleeps = row->reason == REASON_SLEEP ? finding_waiters_new(f, row) : NULL;

		if (!sleeps)
			continue;
		row->asks_object = whom_asks(f, row->count, sleeps);
		find_lock(f, row, sleeps);
	}
}

bool pauses_are_all_work(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);
	uint64_t other_ns = 0;

	/* others wait for what an executor does */
	if (row->reason != REASON_SLEEP || row->threads_cnt < 2 || !row->pid || row->waited_ns || row->leads_ns ||
	    row->limit.limit || row->loop || (rule && (rule->advice || rule->idle == RULE_IDLE_NO)))
		return false;
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const enum idle_kind idle = reasons_idle(f->reasons, i);

		if (f->blocked_in[i] != row->id && profile_thread(f->profile, w->thread)->pid == row->pid &&
		    idle != IDLE_JOIN && idle != IDLE_TIMER)
			other_ns += w->blocked_ns;
	}
	return other_ns <= row->time_ns / REST_PART;
}

/* It is a child that the script waits for beside its `sleep`: counts how it ended. */
static void count_run(GHashTable *runs, const struct object *o, uint64_t cnt)
{
	struct script_run *r = hash_row(runs, o->name, sizeof(*r));

	r->name = o->name;
	r->cnt += cnt;
	r->known_cnt += *o->place ? cnt : 0;
	if (!*o->place || strcmp(o->place, CHILD_STATUS "0") == 0)
		return;
	r->failed_cnt += cnt;
	r->how = o->place;
}

/* What fails tells more than what runs more often. */
static bool tells_more(const struct script_run *a, const struct script_run *b)
{
	return a->failed_cnt != b->failed_cnt ? a->failed_cnt > b->failed_cnt : a->cnt > b->cnt;
}

struct script_run script_run_of(const struct findings *f, const struct finding *row)
{
	const struct object *told = finding_object(f, row);
	g_autoptr(GHashTable) runs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	struct script_run most = { 0 };
	uint64_t ticks = 0;

	if (!told || told->kind != OBJECT_CHILD || !told->pid)
		return (struct script_run){ .tick_cnt = row->count };
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const struct object *o = f->blocked_in[i] == row->id ? profile_wait_object(f->profile, w) : NULL;

		if (!o || o->kind != OBJECT_CHILD)
			continue;
		/* without a number: an end of the window cuts it off */
		if (!o->pid || strcmp(o->name, told->name) == 0)
			ticks += w->count;
		else
			count_run(runs, o, w->count);
	}
	EACH_VALUE(struct script_run, r, runs)
		most = tells_more(r, &most) ? *r : most;
	if (most.cnt < (most.known_cnt ? RUNS_MIN - 1 : RUNS_MIN) || most.cnt < ticks / 2)
		most = (struct script_run){ 0 };
	most.tick_cnt = ticks;
	return most;
}

void script_run_append(GString *s, const struct script_run *r)
{
	text_safe_cut(s, r->name, FINDING_NAME_COLUMNS);
	if (!r->known_cnt)
		g_string_append_printf(s, ", %" PRIu64 " times", r->cnt);
	else if (!r->failed_cnt)
		g_string_append(s, ", which succeeds");
	if (!r->failed_cnt)
		return;
	g_string_append_printf(s, ", which ended %" PRIu64 " of %" PRIu64 " times with ", r->failed_cnt, r->known_cnt);
	text_safe_cut(s, r->how, FINDING_NAME_COLUMNS);
}

void pauses_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct script_run run = row->has_sleep ? script_run_of(f, row) : (struct script_run){ 0 };

	if (run.known_cnt) {
		g_string_append(s, "; in between it runs ");
		script_run_append(s, &run);
	}
	if (row->reason != REASON_SLEEP || !row->asks_object)
		return;
	g_string_append(s, row->threads_cnt == 1 ? "; between its sleeps it asks " : "; between their sleeps they ask ");
	text_safe_cut(s, profile_get_object(f->profile, row->asks_object - 1)->name, FINDING_NAME_COLUMNS);
}

const char *pauses_advice(const struct finding *row)
{
	if (row->may_hold)
		return "Others wait meanwhile for a lock that this thread uses, too: if it sleeps with it, as within a transaction, let it "
		       "go before.";
	if (row->asks_object)
		return "A pause between tries, a limit of its rate, or a look whether something has come: see what is answered, "
		       "and why it pauses.";
	if (row->unended || !row->may_be_meant)
		return row->unended;
	return "They do little else: a pause between tries, a limit of their rate, or a look whether something has come. "
	       "See what they try in between, and whether it fails.";
}
