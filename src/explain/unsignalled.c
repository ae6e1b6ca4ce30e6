/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/wakers.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define THREADS_MIN 3
#define WAITS_MIN 2		/* of each thread, on average */
#define NOTICED_NS 100000000ULL	/* people notice a wait of that length */
#define SIGNALLED_PART 20	/* of its waits: fewer are as good as none */

/* All waits for one condition. */
struct condition {
	uint64_t ns, woken_cnt, timed_out_cnt;
	uint32_t threads_cnt;
	int64_t frames[2];	/* of two functions; -1: none */
};

static const char *name_of(const struct findings *f, int64_t frame)
{
	return frame >= 0 ? profile_get_frame(f->profile, (uint32_t)frame)->name : NULL;
}

static void add_wait(const struct findings *f, struct condition *c, const struct wait *w, GHashTable *seen)
{
	int64_t frame = plumbing_user_parent(reasons_plumbing(f->reasons), w->user);

	c->ns += w->blocked_ns;
	if (g_hash_table_add(seen, GUINT_TO_POINTER(w->thread + 1)))
		c->threads_cnt++;
	if (!name_of(f, frame))
		return;
	if (c->frames[0] < 0)
		c->frames[0] = frame;
	else if (c->frames[1] < 0 && name_of(f, frame) != name_of(f, c->frames[0]))
		c->frames[1] = frame;
}

static bool is_condition(const struct findings *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->profile, i);
	const struct object *o = profile_wait_object(f->profile, w);

	return o && o->kind == LOCK_CONDITION && w->blocked_ns && (!f->selection || f->selection->waits[i]);
}

/* Of each lock, by its id. */
static struct condition *conditions_new(const struct findings *f, const uint32_t *locks)
{
	const struct profile *p = f->profile;
	struct condition *all = g_new0(struct condition, (gsize)p->objects->len + 1);
	GHashTable **seen = g_new0(GHashTable *, (gsize)p->objects->len + 1);	/* threads */

	for (uint32_t i = 0; i < p->waits->len; i++) {
		uint32_t lock = is_condition(f, i) ? locks[profile_wait(p, i)->object] : 0;

		if (!lock)
			continue;
		if (!seen[lock]) {
			seen[lock] = g_hash_table_new(NULL, NULL);
			all[lock].frames[0] = all[lock].frames[1] = -1;
		}
		add_wait(f, &all[lock], profile_wait(p, i), seen[lock]);
	}
	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *wake = profile_wake(p, i);
		uint32_t lock = is_condition(f, wake->wait) ? locks[profile_wait(p, wake->wait)->object] : 0;

		all[lock].woken_cnt += wake->count;
		all[lock].timed_out_cnt += waker_is_timer(profile_get_waker(p, wake->waker)) ? wake->count : 0;
	}
	for (guint i = 0; i <= p->objects->len; i++)
		if (seen[i])
			g_hash_table_unref(seen[i]);
	g_free(seen);
	return all;
}

static bool is_unsignalled(const struct condition *c)
{
	return c->threads_cnt >= THREADS_MIN && c->woken_cnt >= WAITS_MIN * c->threads_cnt && c->frames[1] >= 0 &&
	       c->timed_out_cnt >= c->woken_cnt - c->woken_cnt / SIGNALLED_PART && c->ns / c->woken_cnt >= NOTICED_NS;
}

void unsignalled_append_most(GString *s, const struct findings *f)
{
	g_autofree uint32_t *locks = lock_ids_new(f->profile);
	g_autofree struct condition *all = conditions_new(f, locks);
	uint32_t most = 0;

	for (uint32_t i = 1; i <= f->profile->objects->len; i++)
		if (is_unsignalled(&all[i]) && all[i].ns > all[most].ns)
			most = i;
	if (!most)
		return;
	g_string_append_printf(s, " %s threads wait for one condition, ", TEXT_COUNT(all[most].threads_cnt));
	text_safe_cut(s, profile_get_object(f->profile, most - 1)->name, FINDING_NAME_COLUMNS);
	sentence_function(s, f, all[most].frames[0], ", in ");
	sentence_function(s, f, all[most].frames[1], " and ");
	g_string_append(s, "; ");
	text_thousands(s, all[most].timed_out_cnt);
	g_string_append(s, " of ");
	text_thousands(s, all[most].woken_cnt);
	g_string_append(s, " waits timed out. If they find work then, nobody had signalled them: signal all (broadcast, notify_all), or "
			   "have a condition for each kind of waiter.");
}
