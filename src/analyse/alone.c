/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/alone.h"

#include "analyse/actors.h"
#include "base/hash.h"
#include "base/order.h"
#include "features/slices/rows.h"

#define CELLS_MAX (4u << 20)	/* limit for processes times slices: 32 MiB */
#define BESIDE_PART 4		/* of a slice: maximum work of others while one is alone */
#define WORKS_PART 2		/* of a slice: minimum work to be waited for */
#define AT_ONCE_PERMILLE 300	/* of a slice: minimum work of each to count as working at once */
#define BESIDE_MIN_NS 20000000	/* a sibling with less work does not count */
#define PIPE_MIN_NS 10000000	/* of a sibling's wait: stages of a pipeline are not workers */
#define SAME_PART 10		/* of its time: if a child is waited for nearly as long, the child is meant */
#define GAPS_PART 5		/* of a stretch, in which siblings are idle but alive */
#define NONE UINT32_MAX

struct process {
	uint32_t pid, main;	/* main: thread, the last program of its first one */
	uint64_t from_ns, to_ns;	/* relative to the window's start */
	uint32_t parent;	/* index; NONE: the command's first process */
	bool is_strong;		/* the parent waits for its children's exit */
	bool is_stray;		/* its parent is unknown */
	bool is_piped;		/* reads from or writes to a sibling */
	bool is_server;		/* waits for clients */
	uint32_t first, cnt;	/* slices of its life */
	size_t at;		/* index of its first slice in cells */
	uint64_t alone_ns;
};

struct tree {
	const struct profile *p;
	struct reasons *reasons;
	GArray *processes;	/* by start; parents precede children */
	GHashTable *by_pid;	/* pid -> index + 1 */
	uint32_t *of_thread;	/* index of the process; NONE: a kernel thread */
	uint32_t *of_waker;	/* index of the thread */
	bool *passive;		/* by wait */
	uint64_t slice_ns;
	uint32_t slices_cnt;
	int64_t *cells;		/* work of it and its children in each slice of its life */
	int64_t *total;		/* sum of all processes by slice */
};

static struct process *process_at(const struct tree *t, uint32_t i)
{
	return &g_array_index(t->processes, struct process, i);
}

static uint64_t slice_end_ns(const struct tree *t, uint32_t slice)
{
	return slice + 1 == t->slices_cnt ? t->p->info.duration_ns : (slice + 1) * t->slice_ns;
}

static int64_t slice_length_ns(const struct tree *t, uint32_t slice)
{
	return (int64_t)(slice_end_ns(t, slice) - slice * t->slice_ns);
}

static uint32_t slice_of(const struct tree *t, uint64_t ns)
{
	return (uint32_t)MIN(ns / t->slice_ns, t->slices_cnt - 1);
}

static uint64_t since_start_ns(const struct tree *t, uint64_t ns)
{
	ns = ns > t->p->info.start_ns ? ns - t->p->info.start_ns : 0;
	return MIN(ns, t->p->info.duration_ns);
}

ORDER(compare_processes, struct process, ORDER_LOW(from_ns) ORDER_LOW(pid))

/* False: the pid was reused, so processes' lifetimes are unknown. */
static bool add_thread(struct tree *t, uint32_t i)
{
	const struct thread *thread = profile_thread(t->p, i);
	uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(t->by_pid, GUINT_TO_POINTER(thread->pid)));
	const struct process fresh = { .pid = thread->pid, .main = i, .parent = NONE, .from_ns = UINT64_MAX };

	if (!at) {
		g_array_append_val(t->processes, fresh);
		at = t->processes->len;
		g_hash_table_insert(t->by_pid, GUINT_TO_POINTER(thread->pid), GUINT_TO_POINTER(at));
	}
	struct process *process = process_at(t, at - 1);
	const struct thread *main = profile_thread(t->p, process->main);
	bool is_main = thread->tid == thread->pid;

	if (is_main && main->tid == main->pid && main->start_ns != thread->start_ns)
		return false;
	if (is_main && (main->tid != main->pid || thread->from_ns >= main->from_ns))
		process->main = i;
	process->from_ns = MIN(process->from_ns, since_start_ns(t, thread->from_ns));
	process->to_ns = MAX(process->to_ns, since_start_ns(t, thread->to_ns));
	return true;
}

static bool add_processes(struct tree *t)
{
	for (uint32_t i = 0; i < t->p->threads->len; i++)
		if (!(profile_thread(t->p, i)->flags & THREAD_KERNEL) && !add_thread(t, i))
			return false;
	g_array_sort(t->processes, compare_processes);
	for (uint32_t i = 0; i < t->processes->len; i++)
		g_hash_table_insert(t->by_pid, GUINT_TO_POINTER(process_at(t, i)->pid), GUINT_TO_POINTER(i + 1));
	EACH_ROW(i, const struct thread, thread, t->p->threads) {
		t->of_thread[i] = GPOINTER_TO_UINT(g_hash_table_lookup(t->by_pid, GUINT_TO_POINTER(thread->pid))) - 1;
		if (thread->flags & THREAD_KERNEL)
			t->of_thread[i] = NONE;
	}
	return t->processes->len > 1;
}

static bool is_alive_at(const struct process *p, uint64_t ns)
{
	return p->from_ns <= ns && ns <= p->to_ns;
}

static void set_parent(struct tree *t, uint32_t child, uint32_t parent)
{
	process_at(t, child)->parent = parent;
	process_at(t, child)->is_strong = true;
}

static uint32_t process_that_waits(const struct tree *t, const struct wake *wake)
{
	return t->of_thread[profile_wait(t->p, wake->wait)->thread];
}

/* NONE: an interrupt, the kernel, or unknown. */
static uint32_t process_that_wakes(const struct tree *t, const struct wake *wake)
{
	uint32_t thread = t->of_waker[wake->waker];

	return thread == NONE ? NONE : t->of_thread[thread];
}

/* A process that waits for a child's exit is its parent. */
static void find_strong_parents(struct tree *t)
{
	EACH_ROW(i, const struct wait, w, t->p->waits) {
		const struct object *o = profile_wait_object(t->p, w);
		uint32_t child = o && o->kind == OBJECT_CHILD && o->pid ?
			GPOINTER_TO_UINT(g_hash_table_lookup(t->by_pid, GUINT_TO_POINTER(o->pid))) : 0;

		if (child && t->of_thread[w->thread] < child - 1)
			set_parent(t, child - 1, t->of_thread[w->thread]);
	}
	EACH_ROW(i, const struct wake, wake, t->p->wakes) {
		uint32_t parent = process_that_waits(t, wake), child = process_that_wakes(t, wake);

		if (child != NONE && parent < child && reasons_of(t->reasons, wake->wait) == REASON_CHILD_EXIT)
			set_parent(t, child, parent);
	}
}

/*
 * Other parents read what children write and check on them.  Of the processes that a child wakes, its parent is the
 * one that most processes wake.
 */
static void find_weak_parents(struct tree *t)
{
	g_autofree uint32_t *votes = g_new0(uint32_t, t->processes->len);
	g_autoptr(GHashTable) pairs = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	GHashTableIter iter;
	gpointer key;

	EACH_ROW(i, const struct wake, wake, t->p->wakes) {
		uint32_t parent = process_that_waits(t, wake), child = process_that_wakes(t, wake);

		if (child == NONE || parent >= child || process_at(t, child)->is_strong ||
		    !is_alive_at(process_at(t, parent), process_at(t, child)->from_ns))
			continue;
		const uint64_t pair = (uint64_t)child << 32 | parent;
		if (g_hash_table_add(pairs, g_memdup2(&pair, sizeof(pair))))
			votes[parent]++;
	}
	g_hash_table_iter_init(&iter, pairs);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		const uint64_t pair = *(const uint64_t *)key;
		struct process *child = process_at(t, (uint32_t)(pair >> 32));
		uint32_t parent = (uint32_t)pair;

		if (child->parent == NONE || votes[parent] > votes[child->parent] ||
		    (parent < child->parent && votes[parent] == votes[child->parent]))
			child->parent = parent;
	}
	for (uint32_t i = 1; i < t->processes->len; i++)
		if (process_at(t, i)->parent == NONE) {
			process_at(t, i)->parent = 0;
			process_at(t, i)->is_stray = true;
		}
}

/* Passive waits: for others of the command, or for work. */
static void find_passive(struct tree *t)
{
	g_autofree uint64_t *inner_ns = g_new0(uint64_t, (gsize)t->p->waits->len + 1);

	EACH_ROW(i, const struct wake, wake, t->p->wakes) {
		bool is_own = t->of_waker[wake->waker] == profile_wait(t->p, wake->wait)->thread;

		if (process_that_wakes(t, wake) != NONE && !is_own)
			inner_ns[wake->wait] += wake->blocked_ns;
	}
	for (uint32_t i = 0; i < t->p->waits->len; i++)
		t->passive[i] = reasons_is_idle(t->reasons, i) || reasons_of(t->reasons, i) == REASON_CHILD_EXIT ||
				inner_ns[i] > profile_wait(t->p, i)->blocked_ns / 2;
}

static bool is_passed(enum reason reason)
{
	return reason == REASON_PIPE || reason_family(reason) == FAMILY_NETWORK;
}

/* Stages of a pipeline, or server and client: they work for each other. */
static void find_partners(struct tree *t)
{
	EACH_ROW(i, const struct wake, wake, t->p->wakes) {
		uint32_t a = process_that_waits(t, wake), b = process_that_wakes(t, wake);

		if (a != NONE && b != NONE && a != b && process_at(t, a)->parent == process_at(t, b)->parent &&
		    wake->blocked_ns >= PIPE_MIN_NS && is_passed(reasons_of(t->reasons, wake->wait)))
			process_at(t, a)->is_piped = process_at(t, b)->is_piped = true;
	}
	EACH_ROW(i, const struct wait, w, t->p->waits) {
		uint32_t at = t->of_thread[w->thread];
		enum reason reason = reasons_of(t->reasons, i);

		if (at != NONE && (reason == REASON_NETWORK_ACCEPT || reason == REASON_EVENT_LOOP) &&
		    reasons_is_idle(t->reasons, i) &&
		    w->blocked_ns > (process_at(t, at)->to_ns - process_at(t, at)->from_ns) / 2)
			process_at(t, at)->is_server = true;
	}
}

static bool lay_cells(struct tree *t)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < t->processes->len; i++) {
		struct process *process = process_at(t, i);

		process->first = slice_of(t, process->from_ns);
		process->cnt = slice_of(t, process->to_ns) - process->first + 1;
		process->at = cnt;
		cnt += process->cnt;
	}
	if (cnt > CELLS_MAX)
		return false;
	t->cells = g_new0(int64_t, cnt);
	t->total = g_new0(int64_t, t->slices_cnt);
	return true;
}

static int64_t *cell_of(const struct tree *t, const struct process *process, uint32_t slice)
{
	bool is_in = slice >= process->first && slice - process->first < process->cnt;

	return is_in ? &t->cells[process->at + slice - process->first] : NULL;
}

static int64_t work_in(const struct tree *t, const struct process *process, uint32_t slice)
{
	const int64_t *cell = cell_of(t, process, slice);

	return cell ? MAX(*cell, 0) : 0;
}

static void add_life(struct tree *t, uint32_t thread)
{
	const struct thread *th = profile_thread(t->p, thread);
	uint64_t from_ns = since_start_ns(t, th->from_ns), to_ns = since_start_ns(t, th->to_ns);

	for (uint32_t s = slice_of(t, from_ns); from_ns < to_ns; s++) {
		uint64_t end_ns = MIN(to_ns, slice_end_ns(t, s));
		int64_t *cell = cell_of(t, process_at(t, t->of_thread[thread]), s);

		if (cell)
			*cell += (int64_t)(end_ns - from_ns);
		from_ns = end_ns;
	}
}

static void take_passive(uint32_t slice, const struct slice_part *part, void *data)
{
	const struct tree *t = data;
	uint32_t at = t->of_thread[profile_wait(t->p, part->wait)->thread];
	int64_t *cell = at != NONE && t->passive[part->wait] ? cell_of(t, process_at(t, at), slice) : NULL;

	if (cell)
		*cell -= (int64_t)part->blocked_ns;
}

static void fill_cells(struct tree *t)
{
	for (uint32_t i = 0; i < t->p->threads->len; i++)
		if (t->of_thread[i] != NONE)
			add_life(t, i);
	profile_slices_visit(t->p, take_passive, t);
	for (uint32_t i = 0; i < t->processes->len; i++) {
		const struct process *process = process_at(t, i);

		for (uint32_t s = process->first; s < process->first + process->cnt; s++)
			t->total[s] += work_in(t, process, s);
	}
	for (uint32_t i = t->processes->len; i-- > 1;) {
		const struct process *process = process_at(t, i), *parent = process_at(t, process->parent);

		for (uint32_t s = process->first; s < process->first + process->cnt; s++) {
			int64_t *cell = cell_of(t, parent, s);

			if (cell)
				*cell = MAX(*cell, 0) + work_in(t, process, s);
		}
	}
}

/* Time in the slice in which only this process worked. */
static uint64_t alone_in(const struct tree *t, const struct process *process, uint32_t slice)
{
	int64_t length = slice_length_ns(t, slice), work = work_in(t, process, slice);

	return work >= length / WORKS_PART && work <= length + length / BESIDE_PART &&
	       t->total[slice] - work <= length / BESIDE_PART ? (uint64_t)MIN(work, length) : 0;
}

static void sum_alone(struct tree *t)
{
	for (uint32_t i = 1; i < t->processes->len; i++) {
		struct process *process = process_at(t, i);

		for (uint32_t s = process->first; s < process->first + process->cnt; s++)
			process->alone_ns += alone_in(t, process, s);
	}
}

static bool is_worker_of(const struct tree *t, uint32_t i, uint32_t parent)
{
	const struct process *one = process_at(t, i);

	return i && one->parent == parent && !one->is_stray && !one->is_piped && !one->is_server;
}

/* Maximum number of its children that worked at once. */
static uint32_t at_once(const struct tree *t, uint32_t parent)
{
	g_autofree uint32_t *cnt = g_new0(uint32_t, t->slices_cnt);
	g_autofree int64_t *work = g_new0(int64_t, t->slices_cnt);
	uint32_t most = 0;

	for (uint32_t i = parent + 1; i < t->processes->len; i++) {
		const struct process *child = process_at(t, i);

		for (uint32_t s = child->first; is_worker_of(t, i, parent) && s < child->first + child->cnt; s++) {
			cnt[s] += work_in(t, child, s) > slice_length_ns(t, s) / 1000 * AT_ONCE_PERMILLE;
			work[s] += work_in(t, child, s);
		}
	}
	/* children that follow one another within a slice add up to at most the slice's length */
	for (uint32_t s = 0; s < t->slices_cnt; s++)
		if (work[s] > slice_length_ns(t, s) + slice_length_ns(t, s) / BESIDE_PART)
			most = MAX(most, cnt[s]);
	return most;
}

/* A sibling's work during the lifetime of `one`. */
static uint64_t work_beside(const struct tree *t, const struct process *sibling, const struct process *one)
{
	uint64_t sum_ns = 0;

	for (uint32_t s = one->first; s < one->first + one->cnt; s++)
		sum_ns += (uint64_t)work_in(t, sibling, s);
	return sum_ns;
}

/* Whether it worked alone in one stretch.  If not, processes wait for one another in turns. */
static bool is_one_stretch(const struct tree *t, const struct process *one)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	for (uint32_t s = one->first; s < one->first + one->cnt; s++) {
		if (!alone_in(t, one, s))
			continue;
		from_ns = MIN(from_ns, s * t->slice_ns);
		to_ns = slice_end_ns(t, s);
	}
	return to_ns > from_ns && one->alone_ns >= to_ns - from_ns - (to_ns - from_ns) / GAPS_PART;
}

/* False: siblings live as long as it does, and work again and again. */
static bool count_siblings(const struct tree *t, uint32_t at, struct alone *a)
{
	const struct process *one = process_at(t, at);

	a->siblings_cnt = 0;
	a->have_ended = true;
	for (uint32_t i = 1; i < t->processes->len; i++) {
		const struct process *sibling = process_at(t, i);

		if (i == at || !is_worker_of(t, i, one->parent) || sibling->from_ns >= one->to_ns ||
		    sibling->to_ns <= one->from_ns || work_beside(t, sibling, one) < BESIDE_MIN_NS)
			continue;
		a->siblings_cnt++;
		a->have_ended = a->have_ended && sibling->to_ns + one->alone_ns / 2 < one->to_ns;
	}
	return !a->siblings_cnt || a->have_ended || is_one_stretch(t, one);
}

/* If a child is waited for nearly as long, continues with the child. */
static uint32_t innermost_child(const struct tree *t, uint32_t at)
{
	for (uint32_t i = at + 1; i < t->processes->len; i++)
		if (process_at(t, i)->parent == at &&
		    process_at(t, i)->alone_ns >= process_at(t, at)->alone_ns - process_at(t, at)->alone_ns / SAME_PART)
			at = i;
	return at;
}

static void mark_threads(const struct tree *t, uint32_t at, struct alone *a)
{
	g_autofree bool *is_in = g_new0(bool, t->processes->len);

	is_in[at] = true;
	for (uint32_t i = at + 1; i < t->processes->len; i++)
		is_in[i] = is_in[process_at(t, i)->parent];
	for (uint32_t i = 0; i < t->p->threads->len; i++)
		a->threads[i] = t->of_thread[i] != NONE && is_in[t->of_thread[i]];
}

static bool find_one(const struct tree *t, struct alone *a)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < t->processes->len; i++) {
		const struct process *one = process_at(t, i);

		/* few processes are alone that long, so the siblings' work is rarely summed up */
		if (one->alone_ns <= MAX(process_at(t, best)->alone_ns, t->p->info.duration_ns / 10) ||
		    !is_worker_of(t, i, one->parent))
			continue;
		uint32_t most = at_once(t, one->parent);
		struct alone found = *a;

		if (most < 2 || !count_siblings(t, i, &found))
			continue;
		best = i;
		*a = found;
		a->at_once = most;
	}
	if (!best)
		return false;
	uint32_t inner = innermost_child(t, best);

	a->alone_ns = process_at(t, best)->alone_ns;
	a->whole_ns = process_at(t, 0)->to_ns - process_at(t, 0)->from_ns;
	a->parent = process_at(t, process_at(t, best)->parent)->main;
	a->thread = process_at(t, inner)->main;
	mark_threads(t, inner, a);
	return true;
}

/* Whether the recording covers a command from start to end. */
static bool is_of_command(const struct profile *p)
{
	return profile_is_of_command(p) && profile_has_slices(p) && profile_slice_cnt(p) && !p->info.range.is_cut &&
	       !p->info.imported && !p->info.looks.rounds && !p->info.rows_are && p->waits->len;
}

static bool tree_fill(struct tree *t)
{
	if (!add_processes(t) || !(profile_thread(t->p, process_at(t, 0)->main)->flags & THREAD_EXITED))
		return false;
	find_strong_parents(t);
	find_weak_parents(t);
	find_passive(t);
	find_partners(t);
	if (!lay_cells(t))
		return false;
	fill_cells(t);
	sum_alone(t);
	return true;
}

struct alone *alone_new(const struct profile *p, struct reasons *reasons)
{
	if (!is_of_command(p))
		return NULL;
	struct alone *a = g_new0(struct alone, 1);
	struct tree t = {
		.p = p,
		.reasons = reasons,
		.processes = g_array_new(FALSE, TRUE, sizeof(struct process)),
		.by_pid = g_hash_table_new(NULL, NULL),
		.of_thread = g_new(uint32_t, (gsize)p->threads->len + 1),
		.of_waker = actors_threads_of_wakers(p),
		.passive = g_new0(bool, (gsize)p->waits->len + 1),
		.slice_ns = profile_slice_ns(p),
		.slices_cnt = profile_slice_cnt(p),
	};

	a->threads = g_new0(bool, (gsize)p->threads->len + 1);
	a->passive = t.passive;
	if (!tree_fill(&t) || !find_one(&t, a))
		g_clear_pointer(&a, alone_free);
	g_array_unref(t.processes);
	g_hash_table_unref(t.by_pid);
	g_free(t.of_thread);
	g_free(t.of_waker);
	g_free(t.cells);
	g_free(t.total);
	return a;
}

FREES(alone_free, struct alone, a, g_free(a->threads); g_free(a->passive))
