/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/tree.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/label.h"
#include "features/wakers/analysis.h"
#include "features/wakers/analysis_chains.h"

/*
 * Building costs one table look-up per frame of each wait: (parent, label) -> child.  It dominates the run time, so
 * the table is a simple open-addressing one.  Weights are added to the last node of a path only and summed towards the
 * root at the end.  That needs no recursion, because a parent's id is smaller than its children's.
 */
struct tree_table {
	uint64_t *keys;		/* parent << 32 | label, + 1 so that 0 is a free slot */
	uint32_t *nodes;
	size_t mask, used;
};

static inline uint64_t mix(uint64_t k)
{
	k ^= k >> 33;
	k *= 0xff51afd7ed558ccdULL;
	k ^= k >> 33;
	k *= 0xc4ceb9fe1a85ec53ULL;
	return k ^ (k >> 33);
}

static struct tree_table *table_new(size_t slots)
{
	struct tree_table *t = g_new0(struct tree_table, 1);

	t->keys = g_new0(uint64_t, slots);
	t->nodes = g_new0(uint32_t, slots);
	t->mask = slots - 1;
	return t;
}

static FREES(table_free, struct tree_table, t, g_free(t->keys); g_free(t->nodes))

static inline size_t table_slot(const struct tree_table *t, uint64_t key)
{
	size_t i = mix(key) & t->mask;

	while (t->keys[i] && t->keys[i] != key)
		i = (i + 1) & t->mask;
	return i;
}

static struct tree_table *table_grow(struct tree_table *old)
{
	struct tree_table *t = table_new((old->mask + 1) * 2);

	for (size_t i = 0; i <= old->mask; i++) {
		if (!old->keys[i])
			continue;
		size_t slot = table_slot(t, old->keys[i]);
		t->keys[slot] = old->keys[i];
		t->nodes[slot] = old->nodes[i];
	}
	t->used = old->used;
	table_free(old);
	return t;
}

static guint label_hash(gconstpointer v)
{
	const struct tree_label *l = v;

	return g_str_hash(l->text) * 31 + (l->module ? g_str_hash(l->module) : 0) + l->kind * 7u + l->waker;
}

static gboolean label_equal(gconstpointer va, gconstpointer vb)
{
	const struct tree_label *a = va, *b = vb;

	return a->kind == b->kind && a->waker == b->waker && strcmp(a->text, b->text) == 0 &&
	       g_strcmp0(a->module, b->module) == 0;
}

uint32_t tree_label(struct tree *t, const struct tree_label *label)
{
	gpointer found;

	if (g_hash_table_lookup_extended(t->label_index, label, NULL, &found))
		return GPOINTER_TO_UINT(found);
	struct tree_label copy = *label;
	copy.text = g_string_chunk_insert_const(t->strings, label->text);
	copy.module = label->module ? g_string_chunk_insert_const(t->strings, label->module) : NULL;
	g_array_append_val(t->labels, copy);
	g_hash_table_insert(t->label_index, g_memdup2(&copy, sizeof(copy)), GUINT_TO_POINTER(t->labels->len - 1));
	return t->labels->len - 1;
}

struct tree *tree_new(enum weight weight, bool reverse)
{
	struct tree *t = g_new0(struct tree, 1);
	struct tree_node root = { .parent = TREE_NONE, .first_child = TREE_NONE, .next_sibling = TREE_NONE };

	t->labels = g_array_new(FALSE, FALSE, sizeof(struct tree_label));
	t->nodes = g_array_new(FALSE, FALSE, sizeof(struct tree_node));
	t->strings = g_string_chunk_new(4096);
	t->label_index = g_hash_table_new_full(label_hash, label_equal, g_free, NULL);
	t->table = table_new(4096);
	t->weight = weight;
	t->reverse = reverse;
	root.label = tree_label(t, &(struct tree_label){ .text = "all", .kind = TREE_ROOT });
	g_array_append_val(t->nodes, root);
	return t;
}

FREES(tree_free, struct tree, t, g_array_unref(t->labels); g_array_unref(t->nodes); g_string_chunk_free(t->strings);
      g_hash_table_unref(t->label_index); table_free(t->table))

uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t label)
{
	uint64_t key = ((uint64_t)parent << 32 | label) + 1;
	size_t slot = table_slot(t->table, key);

	if (t->table->keys[slot])
		return t->table->nodes[slot];
	if (t->nodes->len >= TREE_MAX_NODES)
		return TREE_NONE;
	struct tree_node n = {
		.label = label, .parent = parent, .first_child = TREE_NONE, .next_sibling = TREE_NONE,
		.depth = tree_node(t, parent)->depth + 1,
	};
	uint32_t id = t->nodes->len;
	g_array_append_val(t->nodes, n);
	t->table->keys[slot] = key;
	t->table->nodes[slot] = id;
	if (++t->table->used * 2 > t->table->mask)
		t->table = table_grow(t->table);
	return id;
}

/* Extends the node's range of source lines. */
static void note_line(struct tree_node *n, const struct frame *f)
{
	n->has_inlined = n->has_inlined || f->is_inline;
	n->has_called = n->has_called || !f->is_inline;
	if (!f->file)
		return;
	if (!n->file) {
		n->file = f->file;
		n->line_first = n->line_last = f->line;
	} else if (n->file != f->file) {	/* the profile interns strings */
		n->has_other_files = true;
	} else if (f->line) {
		n->line_first = n->line_first ? MIN(n->line_first, f->line) : f->line;
		n->line_last = MAX(n->line_last, f->line);
	}
}

uint32_t tree_add(struct tree *t, const uint32_t *path, const struct frame *const *frames, size_t path_cnt,
		  const struct tree_event *event)
{
	uint32_t at = 0;

	for (size_t i = 0; i < MIN(path_cnt, TREE_MAX_DEPTH); i++) {
		uint32_t child = tree_child(t, at, path[i]);
		if (child == TREE_NONE)
			break;
		at = child;
		if (frames && frames[i])
			note_line(&g_array_index(t->nodes, struct tree_node, at), frames[i]);
	}
	struct tree_node *n = &g_array_index(t->nodes, struct tree_node, at);
	for (unsigned s = 0; s < TREE_STATE_COUNT; s++) {
		n->states[s] += event->states[s];
		n->self += event->states[s];
	}
	n->count += event->count;
	n->max_ns = MAX(n->max_ns, event->max_ns);
	return at;
}

static int compare_labels(gconstpointer va, gconstpointer vb, gpointer data)
{
	const struct tree *t = data;
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct tree_label *a = &g_array_index(t->labels, struct tree_label, ia);
	const struct tree_label *b = &g_array_index(t->labels, struct tree_label, ib);
	int c = strcmp(a->text, b->text);

	if (c == 0)
		c = (int)a->kind - (int)b->kind;
	if (c == 0)
		c = g_strcmp0(a->module, b->module);
	return c ? c : (ia < ib ? -1 : ia > ib);
}

/*
 * Links every parent's children in order of their labels: a counting sort of the nodes by rank of the label, then each
 * is pushed to the front of its parent's list, last first.
 */
static void link_children(struct tree *t)
{
	uint32_t labels = t->labels->len, nodes = t->nodes->len;
	g_autofree uint32_t *order = g_new(uint32_t, labels), *first = g_new0(uint32_t, labels + 1);
	g_autofree uint32_t *rank = g_new(uint32_t, labels), *sorted = g_new(uint32_t, nodes);

	for (uint32_t i = 0; i < labels; i++)
		order[i] = i;
	g_qsort_with_data(order, (int)labels, sizeof(*order), compare_labels, t);
	for (uint32_t i = 0; i < labels; i++)
		rank[order[i]] = i;
	for (uint32_t i = 1; i < nodes; i++)
		first[rank[tree_node(t, i)->label] + 1]++;
	for (uint32_t i = 0; i < labels; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 1; i < nodes; i++)
		sorted[first[rank[tree_node(t, i)->label]]++] = i;
	for (uint32_t i = nodes - 1; i-- > 0;) {
		struct tree_node *n = &g_array_index(t->nodes, struct tree_node, sorted[i]);
		struct tree_node *parent = &g_array_index(t->nodes, struct tree_node, n->parent);
		n->next_sibling = parent->first_child;
		parent->first_child = sorted[i];
	}
}

void tree_finish(struct tree *t)
{
	for (uint32_t i = t->nodes->len; i-- > 0;) {
		struct tree_node *n = &g_array_index(t->nodes, struct tree_node, i);
		n->total += n->self;
		if (i == 0)
			break;
		struct tree_node *parent = &g_array_index(t->nodes, struct tree_node, n->parent);
		parent->total += n->total;
		parent->count += n->count;
		parent->max_ns = MAX(parent->max_ns, n->max_ns);
		for (unsigned s = 0; s < TREE_STATE_COUNT; s++)
			parent->states[s] += n->states[s];
	}
	link_children(t);
}

uint32_t tree_label_of_frame(struct tree *t, const struct frame *f, bool waker, GString *text)
{
	struct tree_label l = {
		.module = f->module, .why = f->name ? FRAME_NAMED : f->why,
		.kind = f->kind == FRAME_KERNEL ? TREE_KERNEL : TREE_USER, .waker = waker,
	};

	g_string_truncate(text, 0);
	if (!f->name && g_strcmp0(f->module, "[anon]") == 0)
		/* generated code: addresses of one thread would separate all others */
		g_string_append(text, f->module);
	else
		label_append(text, f);
	l.text = text->str;
	return tree_label(t, &l);
}

static uint32_t label_of_who(struct tree *t, const char *comm, uint32_t pid, uint32_t tid, bool by_thread, bool waker)
{
	g_autofree char *made = by_thread ? g_strdup_printf("%s-%u/%u", comm, pid, tid) : NULL;

	return tree_label(t, &(struct tree_label){ .text = made ? made : comm, .kind = TREE_COMM, .waker = waker });
}

/* Each thread has a label, or those of a pool ("worker-*") share one. */
static void label_threads(struct tree *t, const struct profile *p, bool by_thread, uint32_t *labels)
{
	g_autoptr(GStringChunk) strings = g_string_chunk_new(256);
	g_autofree const char **names = actors_kind_names(p, strings);

	const struct thread *th = (const struct thread *)p->threads->data;

	for (uint32_t i = 0; i < p->threads->len; i++, th++)
		labels[i] = label_of_who(t, by_thread && th->comm ? th->comm : names[i], th->pid, th->tid, by_thread,
					 false);
}

/* Appends labels of a stack and its frames, leaf first. */
static size_t append_stack(const struct profile *p, uint32_t stack, const uint32_t *frame_labels, uint32_t *path,
			   const struct frame **frames)
{
	size_t cnt = 0;

	for (; stack && cnt < PROFILE_DEPTH_MAX; cnt++) {
		const struct stack_node *n = profile_get_node(p, stack);
		path[cnt] = frame_labels[n->frame];
		frames[cnt] = profile_get_frame(p, n->frame);
		stack = n->parent;
	}
	return cnt;
}

static enum tree_state state_of_letter(uint8_t letter)
{
	switch (letter) {
	case 'S': return TREE_STATE_SLEEPING;
	case 'D': return TREE_STATE_DISK;
	case 'T':
	case 't': return TREE_STATE_STOPPED;
	default: return TREE_STATE_IDLE;
	}
}

static void event_of_wait(const struct wait *w, enum weight weight, struct tree_event *ret_event)
{
	struct tree_event *e = ret_event;
	bool all = weight == WEIGHT_OFF_CPU || weight == WEIGHT_TIME;

	*e = (struct tree_event){ .count = w->count, .max_ns = w->max_ns };
	if (w->state == ON_CPU_STATE) {
		e->count = 0;	/* samples are not waits */
		e->states[TREE_STATE_ON_CPU] = weight == WEIGHT_ON_CPU || weight == WEIGHT_TIME ? w->on_cpu_ns : 0;
		return;
	}
	if (weight == WEIGHT_COUNT) {
		if (w->state != 'R')
			e->states[state_of_letter(w->state)] = w->count;
		else
			e->states[w->preempted_ns ? TREE_STATE_PREEMPTED : TREE_STATE_RUNNABLE] = w->count;
		return;
	}
	if (all || weight == WEIGHT_BLOCKED)
		e->states[state_of_letter(w->state)] = w->blocked_ns;
	if (all || weight == WEIGHT_RUNNABLE)
		e->states[TREE_STATE_RUNNABLE] = w->runnable_ns;
	if (all || weight == WEIGHT_PREEMPTED)
		e->states[TREE_STATE_PREEMPTED] = w->preempted_ns;
}

static bool event_is_empty(const struct tree_event *e)
{
	uint64_t sum = 0;

	for (unsigned s = 0; s < TREE_STATE_COUNT; s++)
		sum |= e->states[s];
	return sum == 0;
}

static void reverse_in_place(uint32_t *path, const struct frame **frames, size_t cnt)
{
	for (size_t i = 0; i < cnt / 2; i++) {
		uint32_t label = path[i];
		const struct frame *frame = frames[i];

		path[i] = path[cnt - 1 - i];
		path[cnt - 1 - i] = label;
		frames[i] = frames[cnt - 1 - i];
		frames[cnt - 1 - i] = frame;
	}
}

/* Context for the paths of one profile; path and frames are reused for each wait. */
struct path_maker {
	struct tree *t;
	const struct profile *p;
	const struct tree_options *options;
	const uint32_t *frame_labels, *waker_frame_labels, *thread_labels;
	uint32_t delimiter, meeting;
	const struct stories_by_wake *stories;
	uint32_t *path;
	const struct frame **frames;
	bool is_idle;	/* of the current wait only the run-queue time */
};

static size_t put_label(const struct path_maker *m, size_t cnt, uint32_t label)
{
	m->frames[cnt] = NULL;
	m->path[cnt] = label;
	return cnt + 1;
}

/* Both stacks, leaf first. */
static size_t put_stacks(const struct path_maker *m, size_t cnt, uint32_t user, uint32_t kernel,
			 const uint32_t *labels)
{
	cnt += append_stack(m->p, kernel, labels, m->path + cnt, m->frames + cnt);
	if (m->options->delimiters && kernel && user)
		cnt = put_label(m, cnt, m->delimiter);
	return cnt + append_stack(m->p, user, labels, m->path + cnt, m->frames + cnt);
}

/* Labels of the sleeper, comm first. */
static size_t sleeper_path(const struct path_maker *m, const struct wait *w)
{
	size_t cnt = put_label(m, put_stacks(m, 0, w->user, w->kernel, m->frame_labels), m->thread_labels[w->thread]);

	reverse_in_place(m->path, m->frames, cnt);
	return cnt;
}

/* *part: what the path weighs. */
static void add_part(const struct path_maker *m, size_t cnt, const struct wait *part)
{
	struct tree_event event;

	event_of_wait(m->is_idle ? &(struct wait){ .state = 'R',
						   .runnable_ns = part->runnable_ns,
						   .preempted_ns = part->preempted_ns }
				 : part,
		      m->options->weight, &event);
	if (event_is_empty(&event))
		return;
	if (m->options->reverse)
		reverse_in_place(m->path, m->frames, cnt);
	tree_add(m->t, m->path, m->frames, cnt, &event);
}

/* The part of *w that one waker, or none, accounts for. */
static struct wait share_of(const struct wait *w, uint64_t count, uint64_t blocked_ns, uint64_t runnable_ns)
{
	return (struct wait){ .state = w->state, .count = count, .blocked_ns = blocked_ns, .runnable_ns = runnable_ns,
			      .max_ns = w->max_ns };
}

/* is_above: it stands above its sleeper. */
static size_t put_waker_name(const struct path_maker *m, size_t cnt, const struct waker *waker, bool is_above)
{
	return put_label(m, cnt, label_of_who(m->t, waker_name(waker), waker->pid, waker->tid,
					      m->options->by_thread && waker->tid, is_above));
}

/* "--", the stacks leaf first, the name. */
static size_t put_waker(const struct path_maker *m, size_t cnt, const struct waker *waker)
{
	cnt = put_stacks(m, put_label(m, cnt, m->meeting), waker->user, waker->kernel, m->waker_frame_labels);
	return put_waker_name(m, cnt, waker, true);
}

/* The chain above the sleeper, up to the tree's maximum depth. */
static void add_story(const struct path_maker *m, const struct wait *w, const struct story *s)
{
	const struct wait part = share_of(w, s->count, s->blocked_ns, s->runnable_ns);
	const struct waker *wakers[PROFILE_CHAIN_MAX];
	const struct chain_node *last;
	unsigned waker_cnt = chain_wakers(m->p, s->chain, wakers, &last);
	size_t cnt = sleeper_path(m, w);

	for (unsigned i = 0; i < waker_cnt && cnt < TREE_MAX_DEPTH; i++)
		cnt = put_waker(m, cnt, wakers[i]);
	if (last->end != CHAIN_AWAKE && last->end != CHAIN_INTERRUPT && cnt < TREE_MAX_DEPTH) {
		g_autofree char *text = g_strdup_printf("[%s]", chain_end_text(last->end));
		const struct tree_label end = { .text = text, .kind = TREE_DELIMITER, .waker = true };

		cnt = put_label(m, cnt, tree_label(m->t, &end));
	}
	add_part(m, cnt, &part);
}

/* A label that says why there is no waker. */
static size_t put_missing(const struct path_maker *m, size_t cnt, const struct wait *w)
{
	const struct tree_label why = { .text = waker_missing(w), .kind = TREE_DELIMITER, .waker = true };

	return put_label(m, cnt, tree_label(m->t, &why));
}

/* Time without a known waker; preempted threads have none. */
static void add_rest(const struct path_maker *m, const struct wakes_by_wait *by, uint32_t wait)
{
	const struct wait *w = profile_wait(m->p, wait);
	struct wake rest;
	size_t cnt;

	wakes_unknown(m->p, by, wait, &rest);
	struct wait part = share_of(w, rest.count, rest.blocked_ns, rest.runnable_ns);

	part.preempted_ns = w->preempted_ns;
	if (m->options->view == TREE_WAKERS) {
		if (!wait_is_sleep(w))
			return;
		cnt = put_label(m, put_missing(m, 0, w), m->thread_labels[w->thread]);
	} else {
		cnt = sleeper_path(m, w);
		if (wait_is_sleep(w))
			cnt = put_missing(m, put_label(m, cnt, m->meeting), w);
	}
	add_part(m, cnt, &part);
}

/* The waker's comm and stacks, root first, and the thread that it woke. */
static void add_waker_first(const struct path_maker *m, const struct wait *w, const struct wake *k)
{
	const struct wait part = share_of(w, k->count, k->blocked_ns, k->runnable_ns);
	const struct waker *waker = profile_get_waker(m->p, k->waker);
	size_t cnt = put_stacks(m, 0, waker->user, waker->kernel, m->frame_labels);

	cnt = put_waker_name(m, cnt, waker, false);
	reverse_in_place(m->path, m->frames, cnt);
	add_part(m, put_label(m, cnt, m->thread_labels[w->thread]), &part);
}

/* The waker above the sleeper, with its recorded chain. */
static void add_waker_above(const struct path_maker *m, const struct wait *w, uint32_t wake)
{
	const struct wake rest = stories_rest(m->p, m->stories, wake);
	const struct wait part = share_of(w, rest.count, rest.blocked_ns, rest.runnable_ns);
	const struct waker *waker = profile_get_waker(m->p, rest.waker);
	size_t cnt;

	for (uint32_t i = m->stories->first[wake]; i < m->stories->first[wake + 1]; i++)
		add_story(m, w, profile_story(m->p, m->stories->order[i]));
	cnt = put_waker(m, sleeper_path(m, w), waker);
	if (m->p->stories->len && !waker->irq) {
		const struct tree_label why = { .text = CHAIN_NOT_RECORDED, .kind = TREE_DELIMITER, .waker = true };

		cnt = put_label(m, cnt, tree_label(m->t, &why));
	}
	add_part(m, cnt, &part);
}

/* A path for each waker of a sleep, or each chain, and one for the part without a known waker. */
static void add_woken(const struct path_maker *m, const struct wakes_by_wait *by, uint32_t wait)
{
	const struct wait *w = profile_wait(m->p, wait);

	for (uint32_t n = by->first[wait]; n < by->first[wait + 1]; n++) {
		if (m->options->view == TREE_WAKERS)
			add_waker_first(m, w, profile_wake(m->p, by->order[n]));
		else
			add_waker_above(m, w, by->order[n]);
	}
	add_rest(m, by, wait);
}

struct tree *tree_from_profile(const struct profile *p, const struct tree_options *options)
{
	struct tree *t = tree_new(options->weight, options->reverse);

	t->unknown = p->info.unknown;
	t->rows_are = p->info.rows_are;
	g_autofree uint32_t *frame_labels = g_new(uint32_t, p->frames->len + 1);
	g_autofree uint32_t *waker_frame_labels = g_new0(uint32_t, p->frames->len + 1);
	g_autofree uint32_t *thread_labels = g_new(uint32_t, p->threads->len + 1);
	g_autofree uint32_t *path = g_new(uint32_t, 2 * TREE_MAX_DEPTH);
	struct wakes_by_wait *by = options->view != TREE_SLEEPERS ? wakes_by_wait_new(p) : NULL;
	struct stories_by_wake *stories = by ? stories_by_wake_new(p) : NULL;
	g_autofree const struct frame **frames = g_new(const struct frame *, 2 * TREE_MAX_DEPTH);
	g_autoptr(GString) text = g_string_new(NULL);
	struct path_maker m = {
		.t = t, .p = p, .options = options, .path = path, .frames = frames, .frame_labels = frame_labels,
		.waker_frame_labels = waker_frame_labels, .thread_labels = thread_labels, .stories = stories,
		.delimiter = tree_label(t, &(struct tree_label){ .text = "-", .kind = TREE_DELIMITER }),
		.meeting = by ? tree_label(t, &(struct tree_label){ .text = "--", .kind = TREE_DELIMITER }) : 0,
	};

	t->view = options->view;
	t->has_chains = options->view == TREE_OFFWAKE && p->stories->len;
	for (uint32_t i = 0; i < p->frames->len; i++)
		frame_labels[i] = tree_label_of_frame(t, profile_get_frame(p, i), false, text);
	for (uint32_t i = 0; by && i < p->frames->len; i++)
		waker_frame_labels[i] = tree_label_of_frame(t, profile_get_frame(p, i), true, text);
	label_threads(t, p, options->by_thread, thread_labels);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (options->keep && !options->keep[i])
			continue;
		m.is_idle = options->idle && options->idle[i];
		if (by) {
			add_woken(&m, by, i);
			continue;
		}
		add_part(&m, sleeper_path(&m, profile_wait(p, i)), profile_wait(p, i));
	}
	wakes_by_wait_free(by);
	stories_by_wake_free(stories);
	tree_finish(t);
	return t;
}

uint32_t tree_next(const struct tree *t, uint32_t i, bool skip)
{
	const struct tree_node *n = tree_node(t, i);

	if (!skip && n->first_child != TREE_NONE)
		return n->first_child;
	while (n->next_sibling == TREE_NONE) {
		if (n->parent == TREE_NONE)
			return TREE_NONE;
		n = tree_node(t, n->parent);
	}
	return n->next_sibling;
}

enum tree_state tree_dominant_state(const struct tree_node *n)
{
	enum tree_state best = TREE_STATE_SLEEPING;

	for (unsigned s = 1; s < TREE_STATE_COUNT; s++)
		if (n->states[s] > n->states[best])
			best = s;
	return best;
}
