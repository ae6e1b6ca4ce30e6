/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>

#include "analyse/plumbing.h"
#include "features/slices/rows.h"
#include "features/wakers/analysis.h"
#include "profile/profile.h"
#include "render/html/html.h"
#include "render/html/part.h"

/*
 * Only what the selected waits need is written.  It is renumbered in the order in which the script reads it: stacks
 * depth first, frames and labels by first use.  So most numbers are small, equal or one above the previous one.
 */

struct columns {
	const struct profile *p;
	const struct html_options *options;
	GPtrArray *facets;
	struct texts *texts;
	struct explanation *explanation;	/* NULL for a difference */
	struct tree *labels;	/* used only for its labels */
	struct plumbing *plumbing;
	bool *is_folded;	/* by label */
	GArray *waits;		/* uint32_t: indices of the selected waits in output order */
	uint32_t *node_id;	/* by stack node: its new number; 0: unused */
	uint32_t *frame_id;	/* by frame: its new number + 1 */
	uint32_t *frame_label;	/* by frame: index of its label */
	GArray *nodes, *frames;	/* uint32_t: old numbers in new order; nodes[0] is the root */
	bool *waker_used;
};

static bool is_selected(const struct columns *c, uint32_t wait)
{
	return !c->options->selection || c->options->selection->waits[wait];
}

static gint by_thread_and_stack(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct profile *p = data;
	const struct wait *x = profile_wait(p, *(const uint32_t *)a), *y = profile_wait(p, *(const uint32_t *)b);

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* Marks the path from the root to `node` as used. */
static void use_stack(struct columns *c, uint32_t node)
{
	for (; node && !c->node_id[node]; node = profile_get_node(c->p, node)->parent)
		c->node_id[node] = 1;
}

static void use_all(struct columns *c)
{
	const struct profile *p = c->p;
	g_autofree bool *used = g_new0(bool, p->waits->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (!is_selected(c, i))
			continue;
		used[i] = true;
		g_array_append_val(c->waits, i);
		use_stack(c, profile_wait(p, i)->user);
		use_stack(c, profile_wait(p, i)->kernel);
	}
	g_array_sort_with_data(c->waits, by_thread_and_stack, (gpointer)p);
	EACH_ROW(i, const struct wake, k, p->wakes) {
		const struct waker *w = profile_get_waker(p, k->waker);

		if (!used[k->wait])
			continue;
		c->waker_used[k->waker] = true;
		use_stack(c, w->user);
		use_stack(c, w->kernel);
	}
}

/* Numbers used nodes depth first, and frames and labels by first use. */
static void number_nodes(struct columns *c)
{
	const struct profile *p = c->p;
	g_autofree uint32_t *first = g_new0(uint32_t, p->nodes->len), *next = g_new0(uint32_t, p->nodes->len);
	g_autoptr(GString) text = g_string_new(NULL);
	uint32_t root = 0;

	for (uint32_t i = p->nodes->len; i-- > 1;) {
		uint32_t parent = profile_get_node(p, i)->parent;

		if (!c->node_id[i])
			continue;
		next[i] = first[parent];
		first[parent] = i;
	}
	g_array_append_val(c->nodes, root);
	for (uint32_t i = first[0]; i;) {
		uint32_t frame = profile_get_node(p, i)->frame;

		c->node_id[i] = c->nodes->len;
		g_array_append_val(c->nodes, i);
		if (!c->frame_id[frame]) {
			g_array_append_val(c->frames, frame);
			c->frame_id[frame] = c->frames->len;
			c->frame_label[frame] = tree_label_of_frame(c->labels, profile_get_frame(c->p, frame), false,
								    text);
		}
		if (first[i]) {
			i = first[i];
			continue;
		}
		while (i && !next[i])
			i = profile_get_node(p, i)->parent;
		i = i ? next[i] : 0;
	}
}

/*
 * The kernel's entry and scheduler functions and interpreter loops are in every stack.  The page folds these frames;
 * the report skips them.
 */
static bool is_folded(const struct columns *c, uint32_t frame)
{
	const struct frame *f = profile_get_frame(c->p, frame);
	const char *shown = NULL;

	if (!f->name)
		return false;
	if (f->kind == FRAME_KERNEL)
		return plumbing_kernel_rule(f->name, &shown) && !shown;
	return plumbing_frame_level(c->plumbing, frame) == RUNTIME_ENTRY;
}

static void fold_labels(struct columns *c)
{
	c->is_folded = g_new0(bool, c->labels->labels->len + 1);
	for (uint32_t i = 0; i < c->frames->len; i++) {
		uint32_t frame = g_array_index(c->frames, uint32_t, i);

		if (is_folded(c, frame))
			c->is_folded[c->frame_label[frame]] = true;
	}
}

static void write_labels(const struct columns *c, GByteArray *out)
{
	bytes_put(out, c->labels->labels->len);
	EACH_ROW(i, const struct tree_label, l, c->labels->labels) {
		bytes_put(out, texts_id(c->texts, l->text));
		bytes_put(out, texts_id(c->texts, l->module));
		bytes_put(out, (uint64_t)l->why << 2 | (uint64_t)c->is_folded[i] << 1 | (l->kind == TREE_KERNEL));
	}
}

static void write_frames(const struct columns *c, GByteArray *out)
{
	bytes_put(out, c->frames->len);
	for (uint32_t i = 0; i < c->frames->len; i++)
		bytes_put(out, c->frame_label[g_array_index(c->frames, uint32_t, i)]);
}

/* Writes how many levels above the last node the parent is, and the frame as distance back from the next new one. */
static void write_nodes(const struct columns *c, GByteArray *out)
{
	g_autoptr(GByteArray) frames = g_byte_array_new();
	g_autofree uint32_t *depth = g_new0(uint32_t, c->nodes->len);
	uint32_t new_frame = 1, last = 0;

	bytes_put(out, c->nodes->len - 1);
	for (uint32_t i = 1; i < c->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(c->p, g_array_index(c->nodes, uint32_t, i));
		uint32_t frame = c->frame_id[n->frame];

		depth[i] = depth[c->node_id[n->parent]] + 1;
		bytes_put(out, last + 1 - depth[i]);
		last = depth[i];
		bytes_put(frames, new_frame - frame);
		new_frame += frame == new_frame;
	}
	g_byte_array_append(out, frames->data, frames->len);
}

static void write_threads(const struct columns *c, GByteArray *out)
{
	uint32_t pid = 0, tid = 0;

	bytes_put(out, c->p->threads->len);
	EACH_ROW(i, const struct thread, t, c->p->threads) {
		bytes_put_signed(out, (int64_t)t->pid - pid);
		bytes_put_signed(out, (int64_t)t->tid - tid);
		bytes_put(out, texts_id(c->texts, t->comm));
		bytes_put(out, texts_id(c->texts, t->process));
		bytes_put(out, t->on_cpu_ns);
		bytes_put(out, thread_observed_ns(t));
		pid = t->pid;
		tid = t->tid;
	}
}

typedef uint64_t (*wait_number)(const struct columns *c, const struct wait *w);

static uint64_t count_of(const struct columns *c, const struct wait *w) { return weight_of_wait(w, WEIGHT_COUNT); }
static uint64_t on_cpu_of(const struct columns *c, const struct wait *w) { return w->on_cpu_ns; }
static uint64_t samples_of(const struct columns *c, const struct wait *w)
{
	return w->state == ON_CPU_STATE ? w->count : 0;
}
static uint64_t max_of(const struct columns *c, const struct wait *w) { return w->max_ns; }
static uint64_t blocked_of(const struct columns *c, const struct wait *w) { return w->blocked_ns; }
static uint64_t runnable_of(const struct columns *c, const struct wait *w) { return w->runnable_ns; }
static uint64_t preempted_of(const struct columns *c, const struct wait *w) { return w->preempted_ns; }
static uint64_t flags_of(const struct columns *c, const struct wait *w) { return w->flags; }
static uint64_t object_of(const struct columns *c, const struct wait *w) { return w->object; }

static void write_waits(const struct columns *c, GByteArray *out)
{
	static const wait_number plain[] = { flags_of,   object_of,   count_of,     samples_of, max_of,
					     blocked_of, runnable_of, preempted_of, on_cpu_of };
	int64_t last[3] = { 0 };

	bytes_put(out, c->waits->len);
	for (unsigned column = 0; column < 3; column++) {
		for (uint32_t i = 0; i < c->waits->len; i++) {
			const struct wait *w = profile_wait(c->p, g_array_index(c->waits, uint32_t, i));
			int64_t n = column == 0 ? w->thread : c->node_id[column == 1 ? w->user : w->kernel];

			bytes_put_signed(out, n - last[column]);
			last[column] = n;
		}
	}
	for (unsigned k = 0; k < G_N_ELEMENTS(plain); k++)
		for (uint32_t i = 0; i < c->waits->len; i++)
			bytes_put(out, plain[k](c, profile_wait(c->p, g_array_index(c->waits, uint32_t, i))));
	for (unsigned f = 0; f < c->facets->len; f++)
		for (uint32_t i = 0; i < c->waits->len; i++)
			bytes_put(out, ((const struct facet *)g_ptr_array_index(c->facets, f))
					       ->of_wait[g_array_index(c->waits, uint32_t, i)]);
}

/* Writes the first slot that is not 0, the number of slots, and their values. */
static void write_hist(const uint32_t *hist, GByteArray *out)
{
	unsigned from = 0, to = PROFILE_HIST_SLOTS;

	while (from < to && !hist[from])
		from++;
	while (to > from && !hist[to - 1])
		to--;
	bytes_put(out, to - from);
	if (to > from)
		bytes_put(out, from);
	for (; from < to; from++)
		bytes_put(out, hist[from]);
}

/* By wait: its number in the page + 1; 0: not in the page.  Free with g_free(). */
static uint32_t *wait_numbers(const struct columns *c)
{
	uint32_t *number = g_new0(uint32_t, c->p->waits->len + 1);

	for (uint32_t i = 0; i < c->waits->len; i++)
		number[g_array_index(c->waits, uint32_t, i)] = i + 1;
	return number;
}

/* What only the details of a frame need: distributions, texts, and source locations. */
static void write_detail(const struct columns *c, const struct html_words *words, GByteArray *out)
{
	for (uint32_t i = 0; i < c->waits->len; i++)
		write_hist(profile_wait(c->p, g_array_index(c->waits, uint32_t, i))->hist, out);
	html_words_of_waits(words, c->waits, c->texts, out);
	for (uint32_t i = 0; i < c->frames->len; i++) {
		const struct frame *f = profile_get_frame(c->p, g_array_index(c->frames, uint32_t, i));

		bytes_put(out, texts_id(c->texts, f->file));
		bytes_put(out, (uint64_t)f->line << 1 | f->is_inline);
	}
}

static void write_objects(const struct columns *c, GByteArray *out)
{
	bytes_put(out, c->p->objects->len);
	EACH_ROW(i, const struct object, o, c->p->objects) {
		g_autofree char *address = *o->name || !o->addr ? NULL
								: g_strdup_printf("0x%" G_GINT64_MODIFIER "x", o->addr);

		bytes_put(out, texts_id(c->texts, object_kind_text(o->kind)));
		bytes_put(out, texts_id(c->texts, address ? address : o->name));
		bytes_put(out, texts_id(c->texts, o->place));
		bytes_put(out, o->holder_tid);
	}
}

static void write_wakers(const struct columns *c, GByteArray *out)
{
	const struct profile *p = c->p;
	g_autofree uint32_t *id = g_new0(uint32_t, p->wakers->len + 1);
	struct wakes_by_wait *by = wakes_by_wait_new(p);
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->wakers->len; i++)
		id[i] = c->waker_used[i] ? cnt++ : 0;
	bytes_put(out, cnt);
	EACH_ROW(i, const struct waker, w, p->wakers) {
		if (!c->waker_used[i])
			continue;
		bytes_put(out, texts_id(c->texts, waker_name(w)));
		bytes_put(out, w->pid);
		bytes_put(out, w->tid);
		bytes_put(out, c->node_id[w->user]);
		bytes_put(out, c->node_id[w->kernel]);
	}
	for (uint32_t i = 0; i < c->waits->len; i++) {
		uint32_t wait = g_array_index(c->waits, uint32_t, i);

		bytes_put(out, by->first[wait + 1] - by->first[wait]);
		for (uint32_t n = by->first[wait]; n < by->first[wait + 1]; n++) {
			const struct wake *k = profile_wake(p, by->order[n]);

			bytes_put(out, id[k->waker]);
			bytes_put(out, k->count);
			bytes_put(out, k->blocked_ns);
			bytes_put(out, k->runnable_ns);
		}
	}
	wakes_by_wait_free(by);
}

/* For a difference: those of BEFORE, then those of AFTER. */
static void write_slices(const struct columns *c, const uint32_t *numbers, GByteArray *out)
{
	const struct html_diff *diff = c->options->diff;

	if (!diff) {
		html_slices(c->p, numbers, c->waits->len, out);
		return;
	}
	if (!profile_has_slices(diff->d->in[DIFF_BEFORE].profile) ||
	    !profile_has_slices(diff->d->in[DIFF_AFTER].profile))
		return;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct profile *p = diff->d->in[side].profile;
		g_autofree uint32_t *of_side = g_new0(uint32_t, p->waits->len + 1);

		for (uint32_t i = 0; i < p->waits->len; i++)
			of_side[i] = diff->merged->rows[side][i] ? numbers[diff->merged->rows[side][i] - 1] : 0;
		html_slices(p, of_side, c->waits->len, out);
	}
}

/* For each row its longest wait: its start in milliseconds, and who ended it. */
static void write_longest(const struct columns *c, GByteArray *out)
{
	const uint64_t from_ms = c->p->info.start_unix_ns / 1000000;

	for (uint32_t i = 0; i < c->waits->len && html_has_longest(c->p); i++) {
		const struct wait *w = profile_wait(c->p, g_array_index(c->waits, uint32_t, i));
		const struct waker *k = w->max_start_unix_ns && w->max_waker ? profile_get_waker(c->p, w->max_waker - 1)
									     : NULL;

		bytes_put(out, w->max_start_unix_ns != 0);
		if (!w->max_start_unix_ns)
			continue;
		bytes_put_signed(out, (int64_t)(w->max_start_unix_ns / 1000000 - from_ms));
		bytes_put(out, texts_id(c->texts, k ? waker_name(k) : ""));
		bytes_put(out, k ? k->tid : 0);
	}
}

#define BATCH_UNIT_NS 1024	/* finer than their variance justifies */

/* Writes which waits have batches, as distances, and the batches. */
static void write_batches(const struct columns *c, GByteArray *out)
{
	const struct diff_merged *m = c->options->diff->merged;
	uint32_t last = 0, cnt = 0;

	for (uint32_t i = 0; i < c->waits->len; i++)
		cnt += m->batches_of[g_array_index(c->waits, uint32_t, i)] != 0;
	bytes_put(out, cnt);
	for (uint32_t i = 0; i < c->waits->len; i++) {
		uint32_t at = m->batches_of[g_array_index(c->waits, uint32_t, i)];

		if (!at)
			continue;
		const struct wait_batches *b = &g_array_index(m->batches, struct wait_batches, at - 1);

		bytes_put(out, i - last);
		last = i;
		for (unsigned k = 0; k < BATCHES_CNT; k++)
			bytes_put(out, (uint64_t)lroundf(b->blocked_ns[k] / BATCH_UNIT_NS));
		for (unsigned k = 0; k < BATCHES_CNT; k++)
			bytes_put(out, (uint64_t)lroundf(b->cpu_ns[k] / BATCH_UNIT_NS));
		for (unsigned k = 0; k < BATCHES_CNT; k++)
			bytes_put(out, (uint64_t)lroundf(b->count[k]));
	}
}

/* Writes how precisely a wait's time is known. */
static void write_errors(const struct columns *c, GByteArray *out)
{
	for (uint32_t i = 0; i < c->waits->len; i++)
		bytes_put(out, c->options->diff->merged->root_squares_ns[g_array_index(c->waits, uint32_t, i)]);
	for (uint32_t i = 0; i < c->waits->len; i++)
		bytes_put(out, profile_wait(c->p, g_array_index(c->waits, uint32_t, i))->off_cpu_se_ns);
	write_batches(c, out);
}

static void columns_init(struct columns *c, const struct profile *p, const struct html_options *options)
{
	struct explanation *e = options->diff ? NULL : explanation_new(p, options->selection);

	*c = (struct columns){
		.p = p,
		.options = options,
		.explanation = e,
		.facets = facets_new(p, e ? e->findings->reasons : NULL,
				     options->diff ? options->diff->merged->reasons : NULL),
		.texts = texts_new(),
		.labels = tree_new(WEIGHT_OFF_CPU, false),
		.plumbing = e ? plumbing_ref(reasons_plumbing(e->findings->reasons)) : plumbing_new(p),
		.waits = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.frames = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.node_id = g_new0(uint32_t, p->nodes->len + 1),
		.frame_id = g_new0(uint32_t, p->frames->len + 1),
		.frame_label = g_new0(uint32_t, p->frames->len + 1),
		.waker_used = g_new0(bool, p->wakers->len + 1),
	};
}

static void columns_clear(struct columns *c)
{
	explanation_free(c->explanation);
	g_ptr_array_unref(c->facets);
	texts_free(c->texts);
	tree_free(c->labels);
	plumbing_free(c->plumbing);
	g_free(c->is_folded);
	g_array_unref(c->waits);
	g_array_unref(c->nodes);
	g_array_unref(c->frames);
	g_free(c->node_id);
	g_free(c->frame_id);
	g_free(c->frame_label);
	g_free(c->waker_used);
}

void html_blocks_make(const struct profile *p, const struct html_options *options, struct html_blocks *ret_blocks)
{
	g_autoptr(GByteArray) core = g_byte_array_new(), rows = g_byte_array_new(), detail = g_byte_array_new(),
			      wakers = g_byte_array_new(), slices = g_byte_array_new(), errors = g_byte_array_new(),
			      requests = g_byte_array_new();
	g_autoptr(GString) about = g_string_new(NULL);
	struct columns c;

	columns_init(&c, p, options);
	use_all(&c);
	number_nodes(&c);
	fold_labels(&c);
	g_autofree uint32_t *numbers = wait_numbers(&c);
	const struct html_words words = {
		.explanation = c.explanation, .known = options->diff ? options->diff->merged->reasons : NULL,
		.wait_number = numbers, .frame_label = c.frame_label, .frame_id = c.frame_id,
	};
	write_labels(&c, rows);
	write_frames(&c, rows);
	write_nodes(&c, rows);
	write_threads(&c, rows);
	write_waits(&c, rows);
	write_detail(&c, &words, detail);
	write_longest(&c, detail);
	write_objects(&c, wakers);
	write_wakers(&c, wakers);
	write_slices(&c, numbers, slices);
	if (!options->diff)
		html_requests(p, numbers, c.texts, requests);
	if (options->diff)
		write_errors(&c, errors);
	html_about(p, options, c.facets, &words, about);
	/* Texts stand first in the core, but are complete only now. */
	bytes_put(core, about->len);
	g_byte_array_append(core, (const guint8 *)about->str, (guint)about->len);
	texts_write(c.texts, core);
	g_byte_array_append(core, rows->data, rows->len);
	*ret_blocks = (struct html_blocks){
		.core = g_string_new(NULL),
		.detail = g_string_new(NULL),
		.wakers = g_string_new(NULL),
		.slices = g_string_new(NULL),
		.diff = g_string_new(NULL),
		.requests = g_string_new(NULL),
		.target = c.explanation ? html_words_target(c.explanation->findings) : NULL,
	};
	bytes_pack(core, ret_blocks->core);
	bytes_pack(detail, ret_blocks->detail);
	bytes_pack(wakers, ret_blocks->wakers);
	if (slices->len)
		bytes_pack(slices, ret_blocks->slices);
	if (errors->len)
		bytes_pack(errors, ret_blocks->diff);
	if (requests->len)
		bytes_pack(requests, ret_blocks->requests);
	columns_clear(&c);
}

void html_blocks_clear(struct html_blocks *blocks)
{
	g_string_free(blocks->core, TRUE);
	g_string_free(blocks->detail, TRUE);
	g_string_free(blocks->wakers, TRUE);
	g_string_free(blocks->slices, TRUE);
	g_string_free(blocks->diff, TRUE);
	g_string_free(blocks->requests, TRUE);
	g_free(blocks->target);
}
