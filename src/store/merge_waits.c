/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Joins waits that were split by a cut. */
#include "features/wakers/history.h"
#include "store/merge_part.h"

#include <string.h>

/* A wait of this window that continues an open one. */
struct join {
	uint32_t wait;		/* of the window */
	uint32_t sum;		/* index in the sum; UINT32_MAX: open again */
	struct open_wait whole;	/* both parts joined; the wake of the first */
	uint32_t wake;		/* index + 1 in the sum; 0: it has none, or the wait is open again */
};

/* Exactly one wait, not a sum of waits or a row for several threads. */
static bool is_single(const struct wait *w)
{
	return w->count == 1 && !w->off_cpu_se_ns && !w->count_se;
}

static void set_single(struct wait *w)
{
	w->max_ns = wait_off_cpu_ns(w);
	memset(w->hist, 0, sizeof(w->hist));
	w->hist[profile_hist_slot(w->max_ns)] = 1;
}

/* Takes stacks and object of the second part: objects are only looked up when a wait ends. */
static struct wait join_waits(const struct wait *a, const struct wait *b)
{
	struct wait whole = *b;
	bool longer = a->runnable_ns + a->preempted_ns > b->runnable_ns + b->preempted_ns;

	if (!b->user && !b->kernel) {
		whole.user = a->user;
		whole.kernel = a->kernel;
	}
	whole.object = b->object ? b->object : a->object;
	whole.max_start_unix_ns = a->max_start_unix_ns;
	whole.max_waker = b->max_waker ? b->max_waker : a->max_waker;
	whole.flags = (uint8_t)((a->flags & WAIT_OPEN_AT_START) | (b->flags & WAIT_OPEN_AT_END) |
				((longer ? a : b)->flags & WAIT_THROTTLED));
	whole.blocked_ns += a->blocked_ns;
	whole.runnable_ns += a->runnable_ns;
	whole.preempted_ns += a->preempted_ns;
	set_single(&whole);
	return whole;
}

/* The waking covers the whole wait, which was woken once. */
static void set_wake(struct wake *k, uint32_t waker, const struct wait *w)
{
	*k = (struct wake){ .waker = waker, .count = 1, .blocked_ns = w->blocked_ns, .runnable_ns = w->runnable_ns };
	k->hist[profile_hist_slot(w->runnable_ns)] = 1;
}

/* Corrects the thread's count: a joined wait was counted in both parts. */
static void count_once(struct merger *m, uint32_t thread, uint8_t state)
{
	struct state_total *total =
		&g_array_index(m->threads, struct merge_thread, thread).states[pack_state_at(state)];

	if (total->count > 1)
		total->count--;
}

static struct open_wait *open_of(struct merge_step *s, uint32_t thread)
{
	uint32_t at = s->is_next ? g_array_index(s->m->threads, struct merge_thread, thread).open : 0;

	return at ? &g_array_index(s->m->open, struct open_wait, at - 1) : NULL;
}

static void keep_open(struct merge_step *s, uint32_t i, const struct wait *w)
{
	const struct open_wait open = { .wait = *w };

	g_array_append_val(s->open_next, open);
	s->open[i] = s->open_next->len;
}

static void add_joined(struct merge_step *s, uint32_t i, struct open_wait *before, const struct wait *w)
{
	struct join j = { .wait = i,
			  .sum = UINT32_MAX,
			  .whole = { .wait = join_waits(&before->wait, w), .wake = before->wake } };

	count_once(s->m, w->thread, w->state);
	before->wait.count = 0;
	if (j.whole.wait.flags & WAIT_OPEN_AT_END)
		keep_open(s, i, &j.whole.wait);
	else
		s->wait[i] = (j.sum = profile_add_wait(s->m->p, &j.whole.wait)) + 1;
	g_array_append_val(s->joined, j);
}

/*
 * Fast path: a wait that spans the whole window is extended in place.  Most threads of a busy host do nothing else.
 * False: it needs the general path.
 */
static bool make_longer(struct merge_step *s, uint32_t i)
{
	const struct wait *w = profile_wait(s->window, i);
	const uint8_t both = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	struct open_wait *before = s->goes_on[w->thread] ? open_of(s, s->thread[w->thread]) : NULL;
	struct wait *whole;

	if (!before || w->flags != both || w->runnable_ns || w->preempted_ns || !is_single(w) || s->m->coarse ||
	    (s->is_woken && s->is_woken[i]))
		return false;
	whole = &before->wait;
	if (before->is_longer || before->wake.count || whole->count != 1 || whole->state != w->state ||
	    whole->runnable_ns || whole->preempted_ns)
		return false;
	if (w->user || w->kernel) {
		whole->user = profile_map_node(&s->map, w->user);
		whole->kernel = profile_map_node(&s->map, w->kernel);
	}
	whole->object = w->object ? profile_map_object(&s->map, w->object) : whole->object;
	whole->max_waker = w->max_waker ? profile_map_waker(&s->map, w->max_waker - 1) + 1 : whole->max_waker;
	whole->flags = (uint8_t)((whole->flags & WAIT_OPEN_AT_START) | WAIT_OPEN_AT_END);
	whole->hist[profile_hist_slot(whole->max_ns)] = 0;
	whole->max_ns = whole->blocked_ns += w->blocked_ns;
	whole->hist[profile_hist_slot(whole->max_ns)] = 1;
	count_once(s->m, s->thread[w->thread], w->state);
	before->is_longer = true;
	return true;
}

/* Replaces stacks that are not kept. */
static void set_coarse(struct merger *m, struct wait *w)
{
	bool is_kernel = profile_thread(m->p, w->thread)->flags & THREAD_KERNEL;
	const struct frame frame = { .name = MERGE_COARSE_NAME,
				     .kind = is_kernel ? FRAME_KERNEL : FRAME_USER,
				     .why = FRAME_NAMED };
	uint32_t node = profile_node(m->p, 0, profile_frame(m->p, &frame));

	w->user = is_kernel ? 0 : node;
	w->kernel = is_kernel ? node : 0;
}

static void add_wait(struct merge_step *s, uint32_t i)
{
	struct wait w = *profile_wait(s->window, i);
	uint32_t old = w.thread;

	w.thread = s->thread[old];
	if (s->m->coarse && s->m->coarse[i]) {
		set_coarse(s->m, &w);
	} else {
		w.user = profile_map_node(&s->map, w.user);
		w.kernel = profile_map_node(&s->map, w.kernel);
	}
	w.object = profile_map_object(&s->map, w.object);
	w.max_waker = w.max_waker ? profile_map_waker(&s->map, w.max_waker - 1) + 1 : 0;
	if ((w.flags & WAIT_OPEN_AT_START) && s->goes_on[old] && s->is_next) {
		struct open_wait *before = open_of(s, w.thread);

		if (before && is_single(&w) && before->wait.count == 1 && before->wait.state == w.state) {
			add_joined(s, i, before, &w);
			return;
		}
		w.flags &= (uint8_t)~WAIT_OPEN_AT_START;	/* not an edge of the sum */
	}
	if ((w.flags & WAIT_OPEN_AT_END) && is_single(&w))
		keep_open(s, i, &w);
	else
		s->wait[i] = profile_add_wait(s->m->p, &w) + 1;
}

static struct join *join_of(struct merge_step *s, uint32_t wait)
{
	guint low = 0, high = s->joined->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(s->joined, struct join, middle).wait < wait)
			low = middle + 1;
		else
			high = middle;
	}
	struct join *j = low < s->joined->len ? &g_array_index(s->joined, struct join, low) : NULL;

	return j && j->wait == wait ? j : NULL;
}

static void add_wake(struct merge_step *s, uint32_t i)
{
	const struct wake *own = profile_wake(s->window, i);
	struct join *j = join_of(s, own->wait);
	struct wake k = *own;

	k.waker = profile_map_waker(&s->map, own->waker);
	if (j)
		set_wake(&j->whole.wake, k.waker, &j->whole.wait);
	else if (s->open[own->wait])
		g_array_index(s->open_next, struct open_wait, s->open[own->wait] - 1).wake = k;
	else {
		k.wait = s->wait[own->wait] - 1;
		s->wake[i] = profile_add_wake(s->m->p, &k) + 1;
	}
}

/* Adds the wakings of joined waits. */
static void end_joined(struct merge_step *s)
{
	EACH_ROW(i, struct join, j, s->joined) {
		if (!j->whole.wake.count)
			continue;
		set_wake(&j->whole.wake, j->whole.wake.waker, &j->whole.wait);
		j->whole.wake.wait = j->sum;
		if (j->sum == UINT32_MAX)
			g_array_index(s->open_next, struct open_wait, s->open[j->wait] - 1).wake = j->whole.wake;
		else
			j->wake = profile_add_wake(s->m->p, &j->whole.wake) + 1;
	}
}

static uint32_t map_waker(void *step, uint32_t waker)
{
	struct merge_step *s = step;

	return profile_map_waker(&s->map, waker);
}

static bool same_story(const void *profile, const void *key, uint32_t id)
{
	const struct story *a = profile_story(profile, id), *b = key;

	return a->wake == b->wake && a->chain == b->chain;
}

static void add_story(struct merger *m, const struct story *s)
{
	const uint64_t key = (uint64_t)s->wake << 32 | s->chain;
	uint64_t hash = id_index_hash(m->story_index, &key, sizeof(key));
	int64_t at = id_index_find(m->story_index, hash, same_story, m->p, s);

	if (at < 0) {
		id_index_add(m->story_index, hash, m->p->stories->len);
		profile_add_story(m->p, s);
		return;
	}
	story_add(&g_array_index(m->p->stories, struct story, (guint)at), s);
}

/* A wait that is open again has no stories yet; its last part will bring them. */
static void add_stories(struct merge_step *s)
{
	g_autofree uint32_t *chains = s->window->stories->len ? chains_copy(s->window, s->m->p, map_waker, s) : NULL;

	for (guint i = 0; i < s->window->stories->len; i++) {
		struct story own = *profile_story(s->window, i);
		uint32_t wait = profile_wake(s->window, own.wake)->wait, wake = s->wake[own.wake];
		const struct join *j = wake ? NULL : join_of(s, wait);

		if (!wake && !(j && j->wake))
			continue;
		own.wake = (j ? j->wake : wake) - 1;
		own.chain = chains[own.chain];
		if (j && own.count)
			story_begins_earlier(s->m->p, &own,
					     j->whole.wait.blocked_ns - profile_wait(s->window, wait)->blocked_ns);
		add_story(s->m, &own);
	}
}

static void flush(struct merger *m, struct open_wait *o, bool is_inner_edge)
{
	g_array_index(m->threads, struct merge_thread, o->wait.thread).open = 0;
	if (!o->wait.count)
		return;
	if (is_inner_edge)
		o->wait.flags &= (uint8_t)~WAIT_OPEN_AT_END;
	o->wake.wait = profile_add_wait(m->p, &o->wait);
	if (o->wake.count)
		profile_add_wake(m->p, &o->wake);
}

void merge_flush_open(struct merger *m, bool is_inner_edge)
{
	for (guint i = 0; i < m->open->len; i++)
		flush(m, &g_array_index(m->open, struct open_wait, i), is_inner_edge);
	g_array_set_size(m->open, 0);
}

/* Keeps open waits that were extended and appends the window's other open waits. */
static void replace_open(struct merge_step *s)
{
	struct merger *m = s->m;
	guint kept = 0;

	EACH_ROW(i, struct open_wait, o, m->open) {
		if (!o->is_longer) {
			flush(m, o, s->is_next);
			continue;
		}
		o->is_longer = false;
		if (kept != i) {
			g_array_index(m->open, struct open_wait, kept) = *o;
			g_array_index(m->threads, struct merge_thread, o->wait.thread).open = kept + 1;
		}
		kept++;
	}
	g_array_set_size(m->open, kept);
	g_array_append_vals(m->open, s->open_next->data, s->open_next->len);
	for (guint i = kept; i < m->open->len; i++) {
		uint32_t thread = g_array_index(m->open, struct open_wait, i).wait.thread;

		g_array_index(m->threads, struct merge_thread, thread).open = i + 1;
	}
}

void merge_waits(struct merge_step *s)
{
	const GArray *wakes = s->window->wakes;

	s->open_next = g_array_new(FALSE, FALSE, sizeof(struct open_wait));
	s->joined = g_array_new(FALSE, FALSE, sizeof(struct join));
	s->is_woken = wakes->len ? g_new0(bool, s->window->waits->len + 1) : NULL;
	s->wake = g_new0(uint32_t, wakes->len + 1);
	for (guint i = 0; i < wakes->len; i++)
		s->is_woken[profile_wake(s->window, i)->wait] = true;
	for (guint i = 0; i < s->window->waits->len; i++)
		if (!make_longer(s, i))
			add_wait(s, i);
	for (guint i = 0; i < wakes->len; i++)
		add_wake(s, i);
	end_joined(s);
	add_stories(s);
	replace_open(s);
	g_array_unref(s->open_next);
	g_array_unref(s->joined);
	g_free(s->is_woken);
	g_free(s->wake);
}
