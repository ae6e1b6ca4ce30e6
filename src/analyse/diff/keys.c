/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/keys.h"

#include <math.h>

#include "analyse/actors.h"
#include "analyse/diff/merge.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "base/hash.h"

uint32_t diff_keys_name(struct diff_keys *k, const char *name, const char *shown)
{
	gpointer known = g_hash_table_lookup(k->names, name);

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	g_ptr_array_add(k->shown, g_string_chunk_insert(k->strings, shown));
	g_hash_table_insert(k->names, g_string_chunk_insert(k->strings, name), GUINT_TO_POINTER(k->shown->len));
	return k->shown->len - 1;
}

/* Names of each side with numbers in the same places: "w1", "w2"; their pattern is "w#", their kind "w*". */
struct name_family {
	GHashTable *names[DIFF_SIDES];
};

FREES_DATA(family_free, struct name_family, f, g_hash_table_unref(f->names[DIFF_BEFORE]);
	   g_hash_table_unref(f->names[DIFF_AFTER]))

/* A kind stands for a process's threads whose names differ only by number: actors.h. */
static void append_numberless(GString *s, const char *name)
{
	diff_name_append_numberless(s, name);
	if (g_str_has_suffix(name, "*"))
		s->str[s->len - 1] = '#';
}

static struct name_family *family_of(GHashTable *families, const char *name)
{
	g_autoptr(GString) s = g_string_new(NULL);

	append_numberless(s, name);
	struct name_family *f = g_hash_table_lookup(families, s->str);
	if (f)
		return f;
	f = g_new0(struct name_family, 1);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		f->names[side] = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(families, g_strdup(s->str), f);
	return f;
}

static bool has_same_names(const struct name_family *f)
{
	if (g_hash_table_size(f->names[DIFF_BEFORE]) != g_hash_table_size(f->names[DIFF_AFTER]))
		return false;
	EACH_KEY(void, name, f->names[DIFF_BEFORE])
		if (!g_hash_table_contains(f->names[DIFF_AFTER], name))
			return false;
	return true;
}

static const char **process_names(const struct profile *p)
{
	const char **names = g_new0(const char *, (gsize)p->threads->len + 1);

	for (uint32_t i = 0; i < p->threads->len; i++)
		names[i] = profile_thread(p, i)->process ? profile_thread(p, i)->process : "";
	return names;
}

/*
 * Names of each side's threads, spelled for comparison.  Numbers in them are kept ("node1" differs from "node2") if
 * both recordings have the same ones.  Else they are just counters, as in pools and kernel workers.
 */
static void compare_names(struct diff_keys *k, const char **names[DIFF_SIDES])
{
	g_autoptr(GHashTable) families = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, family_free);
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct profile *p = k->side[side].p;

		for (uint32_t i = 0; i < p->threads->len; i++)
			g_hash_table_add(family_of(families, names[side][i])->names[side], (gpointer)names[side][i]);
	}
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct profile *p = k->side[side].p;

		for (uint32_t i = 0; i < p->threads->len; i++) {
			const char *name = names[side][i];

			g_string_assign(s, "");
			if (has_same_names(family_of(families, name)))
				g_string_append(s, name);
			else
				append_numberless(s, name);
			names[side][i] = g_string_chunk_insert_const(k->strings, s->str);
		}
	}
}

/* The tree's label for all frames that compare equal; the first frame gives it its name. */
static uint32_t label_of_frame(struct diff_keys *k, const struct frame *f, GString *name, GString *text)
{
	g_string_assign(name, f->kind == FRAME_KERNEL ? "k" : "u");
	diff_name_append_frame(name, f, false);
	gpointer known = g_hash_table_lookup(k->frame_labels, name->str);
	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	g_string_truncate(text, 0);
	if (f->name)
		label_append(text, f);
	else
		g_string_append(text, name->str + 1);	/* addresses differ between builds */
	struct tree_label label = {
		.text = text->str, .module = f->module, .why = f->name ? FRAME_NAMED : f->why,
		.kind = f->kind == FRAME_KERNEL ? TREE_KERNEL : TREE_USER,
	};
	uint32_t id = tree_label(k->tree, &label);

	g_hash_table_insert(k->frame_labels, g_string_chunk_insert(k->strings, name->str), GUINT_TO_POINTER(id + 1));
	return id;
}

static void label_side(struct diff_keys *k, struct diff_side_keys *s)
{
	g_autoptr(GString) name = g_string_new(NULL), text = g_string_new(NULL);

	s->labels = g_new0(uint32_t, s->p->frames->len + 1);
	s->comm_labels = g_new0(uint32_t, s->p->threads->len + 1);
	for (uint32_t i = 0; i < s->p->frames->len; i++)
		s->labels[i] = label_of_frame(k, profile_get_frame(s->p, i), name, text);
	for (uint32_t i = 0; i < s->p->threads->len; i++)
		s->comm_labels[i] = tree_label(k->tree, &(struct tree_label){ .text = s->comms[i], .kind = TREE_COMM });
}

/*
 * Where stacks of the profile were placed in the tree: stacks share outer frames, and consecutive waits most of their
 * frames.
 */
struct placed {
	uint32_t *comm, *at;	/* by node of the profile: the name below which it was placed last, and where */
	uint32_t *path;		/* nodes, leaf first */
};

/*
 * Descends from `at` along the path's frames, outermost first.  Merges adjacent unnamed frames of one file.  False:
 * the tree is full.
 */
static bool place_path(struct diff_keys *k, const struct diff_side_keys *s, struct placed *placed, size_t cnt,
		       uint32_t comm, uint32_t *at)
{
	while (cnt--) {
		uint32_t node = placed->path[cnt], above = profile_get_node(s->p, node)->parent;
		uint32_t label = s->labels[profile_get_node(s->p, node)->frame];

		if (!above || s->labels[profile_get_node(s->p, above)->frame] != label ||
		    g_array_index(k->tree->labels, struct tree_label, label).why == FRAME_NAMED) {
			uint32_t child = tree_child(k->tree, *at, label);

			if (child == TREE_NONE)
				return false;
			*at = child;
		}
		if (comm) {
			placed->comm[node] = comm;
			placed->at[node] = *at;
		}
	}
	return true;
}

/* Collects the frames up to the first that was placed below comm (0: all frames). */
static size_t unplaced_path(const struct diff_side_keys *s, struct placed *placed, uint32_t node, uint32_t comm,
			    uint32_t *at)
{
	size_t cnt = 0;

	for (; node; node = profile_get_node(s->p, node)->parent) {
		if (comm && placed->comm[node] == comm) {
			*at = placed->at[node];
			break;
		}
		placed->path[cnt++] = node;
	}
	return cnt;
}

static uint32_t place_wait(struct diff_keys *k, const struct diff_side_keys *s, struct placed *placed,
			   const struct wait *w)
{
	uint32_t comm = s->comm_labels[w->thread], at = tree_child(k->tree, 0, comm);
	size_t cnt;

	if (at == TREE_NONE)
		return 0;
	cnt = unplaced_path(s, placed, w->user, comm, &at);
	if (place_path(k, s, placed, cnt, comm, &at)) {
		cnt = unplaced_path(s, placed, w->kernel, 0, &at);
		place_path(k, s, placed, cnt, 0, &at);
	}
	return at;
}

static void place_waits(struct diff_keys *k, struct diff_side_keys *s)
{
	g_autofree uint32_t *comm = g_new0(uint32_t, s->p->nodes->len + 1), *at = g_new(uint32_t, s->p->nodes->len + 1);
	g_autofree uint32_t *path = g_new(uint32_t, PROFILE_DEPTH_MAX + 1);
	struct placed placed = { comm, at, path };

	s->paths = g_new0(uint32_t, s->p->waits->len + 1);
	for (uint32_t i = 0; i < s->p->waits->len; i++)
		s->paths[i] = place_wait(k, s, &placed, profile_wait(s->p, i));
}

/*
 * Each thread's begin and end is a random event: it might have lived for the rest of the window, or not at all.  If
 * others of its name were alive, only its own time is uncertain (docs/diff.md).
 */
static double *lives_of(const struct diff_side_keys *s)
{
	g_autoptr(GHashTable) there = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	double *lives = g_new0(double, s->p->threads->len + 1), window = (double)s->p->info.duration_ns;

	for (uint32_t i = 0; i < s->p->threads->len; i++) {
		double *sum = g_hash_table_lookup(there, s->comms[i]);

		if (!sum)
			g_hash_table_insert(there, (gpointer)s->comms[i], sum = g_new0(double, 1));
		*sum += (double)thread_observed_ns(profile_thread(s->p, i));
	}
	for (uint32_t i = 0; i < s->p->threads->len; i++) {
		double own = (double)thread_observed_ns(profile_thread(s->p, i)),
		       all = *(double *)g_hash_table_lookup(there, s->comms[i]);

		if (own > 0 && own < window)
			lives[i] = fmin((window - own) / own, fmax(1, (window - all) / all));
	}
	return lives;
}

struct diff_keys *diff_keys_new(const struct profile *before, const struct profile *after)
{
	struct diff_keys *k = g_new0(struct diff_keys, 1);
	const char **comms[DIFF_SIDES], **processes[DIFF_SIDES];

	k->tree = tree_new(WEIGHT_OFF_CPU, false);
	k->names = g_hash_table_new(g_str_hash, g_str_equal);
	k->shown = g_ptr_array_new();
	k->strings = g_string_chunk_new(1 << 16);
	k->frame_labels = g_hash_table_new(g_str_hash, g_str_equal);
	k->stack_nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	k->stack_keys = g_hash_table_new(NULL, NULL);
	k->side[DIFF_BEFORE].p = before;
	k->side[DIFF_AFTER].p = after;
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		comms[i] = actors_kind_names(k->side[i].p, k->strings);
		processes[i] = process_names(k->side[i].p);
	}
	compare_names(k, comms);
	compare_names(k, processes);
	for (unsigned i = DIFF_SIDES; i-- > 0;) {	/* AFTER first, since it gives the names */
		struct diff_side_keys *s = &k->side[i];

		s->reasons = reasons_new(s->p, NULL);
		s->plumbing = reasons_plumbing(s->reasons);
		s->comms = comms[i];
		s->processes = processes[i];
		s->lives = lives_of(s);
		s->batches = row_batches_new(s->p);
		s->locks = lock_ids_new(s->p);
		s->by_pointer = g_hash_table_new(NULL, NULL);
		label_side(k, s);
		place_waits(k, s);
	}
	k->stamps = g_new0(uint32_t, k->tree->labels->len + 1);
	return k;
}

void diff_keys_note_idle(struct diff_keys *k, enum diff_side side, const struct selection *selection)
{
	const struct diff_side_keys *s = &k->side[side];

	if (!k->idle_ns) {
		k->blocked_ns = g_new0(uint64_t, k->tree->nodes->len);
		k->idle_ns = g_new0(uint64_t, k->tree->nodes->len);
	}
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		if (selection && !selection->waits[i])
			continue;
		k->blocked_ns[s->paths[i]] += w->blocked_ns;
		k->idle_ns[s->paths[i]] += reasons_is_idle(s->reasons, i) ? w->blocked_ns : 0;
	}
}

bool diff_keys_is_idle(const struct diff_keys *k, enum diff_side side, uint32_t wait)
{
	const struct profile *p = k->side[side].p;
	const struct thread *t = profile_thread(p, profile_wait(p, wait)->thread);
	uint32_t node = k->side[side].paths[wait];

	/* a main thread that ended had work to do, and its pauses are part of the run */
	if (k->are_whole_runs && t->pid == t->tid)
		return false;
	return k->idle_ns[node] * 2 > k->blocked_ns[node];
}

void diff_keys_free(struct diff_keys *k)
{
	if (!k)
		return;
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		struct diff_side_keys *s = &k->side[i];

		reasons_free(s->reasons);
		row_batches_free(s->batches);
		g_free(s->comms);
		g_free(s->processes);
		g_free(s->lives);
		g_free(s->comm_labels);
		g_free(s->labels);
		g_free(s->paths);
		g_free(s->locks);
		g_hash_table_unref(s->by_pointer);
	}
	tree_free(k->tree);
	g_hash_table_unref(k->names);
	g_ptr_array_unref(k->shown);
	g_string_chunk_free(k->strings);
	g_hash_table_unref(k->frame_labels);
	g_array_unref(k->stack_nodes);
	g_hash_table_unref(k->stack_keys);
	g_free(k->stamps);
	g_free(k->blocked_ns);
	g_free(k->idle_ns);
	diff_moves_free(k->moves);
	g_free(k);
}
