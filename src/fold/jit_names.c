/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/stacks_part.h"

#include <string.h>

#include "abi/offcpu_abi.h"
#include "base/hash.h"

/* A program may rewrite its list of names forever: later changes all get the last of these names. */
#define CHANGES_MAX 64

struct version {
	uint64_t from_ns;
	uint32_t frame;
};

struct noted {
	uint64_t addr, ts_ns;
	uint32_t pid;
	GArray *versions;	/* struct version after the first; NULL: none */
};

struct fold_jit_names {
	GHashTable *frames;	/* frame id -> struct noted */
	GHashTable *processes;	/* pid -> time of one of its stacks, uint64_t */
	GHashTable *stacks;	/* id -> time of arrival, both uint64_t */
	GHashTable *variants;	/* id -> struct fold_jit_variant */
	uint64_t changes[CHANGES_MAX];	/* times of name changes, in order */
	unsigned change_cnt;
};

static void noted_free(void *noted)
{
	struct noted *x = noted;

	if (x->versions)
		g_array_unref(x->versions);
	g_free(x);
}

struct fold_jit_names *fold_jit_names_new(void)
{
	struct fold_jit_names *n = g_new0(struct fold_jit_names, 1);

	n->frames = g_hash_table_new_full(NULL, NULL, NULL, noted_free);
	n->processes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	n->stacks = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	n->variants = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	return n;
}

FREES(fold_jit_names_free, struct fold_jit_names, n, g_hash_table_unref(n->frames);
      g_hash_table_unref(n->processes); g_hash_table_unref(n->stacks);
      g_hash_table_unref(n->variants))

void fold_jit_names_note(struct fold_jit_names *n, uint32_t frame, uint32_t pid, uint64_t ts_ns, uint64_t addr)
{
	struct noted *x;

	if (g_hash_table_contains(n->frames, GUINT_TO_POINTER(frame)))
		return;
	x = g_new(struct noted, 1);
	*x = (struct noted){ .addr = addr, .ts_ns = ts_ns, .pid = pid };
	g_hash_table_insert(n->frames, GUINT_TO_POINTER(frame), x);
	g_hash_table_insert(n->processes, GUINT_TO_POINTER(pid), g_memdup2(&ts_ns, sizeof(ts_ns)));
}

static void put_stack(struct fold_jit_names *n, uint64_t id, uint64_t ts_ns)
{
	g_hash_table_insert(n->stacks, g_memdup2(&id, sizeof(id)), g_memdup2(&ts_ns, sizeof(ts_ns)));
}

void fold_jit_names_stack(struct fold_jit_names *n, uint64_t id, uint64_t ts_ns, const uint32_t *frames, unsigned cnt)
{
	if (!g_hash_table_size(n->frames))
		return;
	for (unsigned i = 0; i < cnt; i++)
		if (g_hash_table_contains(n->frames, GUINT_TO_POINTER(frames[i]))) {
			put_stack(n, id, ts_ns);
			return;
		}
}

void fold_jit_names_merged(struct fold_jit_names *n, uint64_t id, uint64_t ustack)
{
	const uint64_t *ts_ns = g_hash_table_lookup(n->stacks, &ustack);

	if (ts_ns)
		put_stack(n, id, *ts_ns);
}

static uint32_t newest_name(uint32_t frame, const struct noted *x)
{
	return x->versions ? g_array_index(x->versions, struct version, x->versions->len - 1).frame : frame;
}

static void add_version(struct fold_jit_names *n, struct noted *x, const struct version *version)
{
	unsigned at = n->change_cnt;

	while (at && n->changes[at - 1] > version->from_ns)
		at--;
	if (!at || n->changes[at - 1] != version->from_ns) {
		memmove(&n->changes[at + 1], &n->changes[at], (n->change_cnt++ - at) * sizeof(n->changes[0]));
		n->changes[at] = version->from_ns;
	}
	if (!x->versions)
		x->versions = g_array_new(FALSE, FALSE, sizeof(struct version));
	g_array_append_vals(x->versions, version, 1);
}

void fold_jit_names_poll(const struct fold_jit_names *n, struct symbolizer *s)
{
	GHashTableIter i;
	gpointer pid, ts_ns;

	g_hash_table_iter_init(&i, n->processes);
	while (g_hash_table_iter_next(&i, &pid, &ts_ns))
		symbolizer_poll_jit(s, GPOINTER_TO_UINT(pid), *(uint64_t *)ts_ns);
}

void fold_jit_names_look(struct fold_jit_names *n, struct symbolizer *s, struct profile *p)
{
	GHashTableIter i;
	gpointer key, value;

	g_hash_table_iter_init(&i, n->frames);
	while (g_hash_table_iter_next(&i, &key, &value) && n->change_cnt < CHANGES_MAX) {
		struct noted *x = value;
		struct frame frame = *profile_get_frame(p, newest_name(GPOINTER_TO_UINT(key), x));
		struct version version;
		const char *name = symbolizer_newest_jit_name(s, x->pid, x->ts_ns, x->addr, &version.from_ns);

		if (!name || version.from_ns <= x->ts_ns || strcmp(name, frame.name) == 0)
			continue;
		frame.name = name;
		version.frame = profile_frame(p, &frame);
		add_version(n, x, &version);
	}
}

uint64_t fold_jit_names_id_at(struct fold_jit_names *n, uint64_t id, uint64_t at_ns)
{
	const uint64_t *crossed_ns = n->change_cnt ? g_hash_table_lookup(n->stacks, &id) : NULL;
	struct fold_jit_variant v = { .id = id };
	uint64_t own;

	for (unsigned i = 0; crossed_ns && i < n->change_cnt && n->changes[i] <= at_ns; i++)
		v.at_ns = n->changes[i];
	if (!v.at_ns || v.at_ns <= *crossed_ns)
		return id;
	own = hash_more(id, v.at_ns);
	if (!g_hash_table_contains(n->variants, &own))
		g_hash_table_insert(n->variants, g_memdup2(&own, sizeof(own)), g_memdup2(&v, sizeof(v)));
	return own;
}

const struct fold_jit_variant *fold_jit_names_variant(const struct fold_jit_names *n, uint64_t id)
{
	return g_hash_table_size(n->variants) ? g_hash_table_lookup(n->variants, &id) : NULL;
}

static uint32_t frame_at(const struct fold_jit_names *n, uint32_t frame, uint64_t at_ns)
{
	const struct noted *x = g_hash_table_lookup(n->frames, GUINT_TO_POINTER(frame));

	for (guint i = x && x->versions ? x->versions->len : 0; i-- > 0;)
		if (g_array_index(x->versions, struct version, i).from_ns <= at_ns)
			return g_array_index(x->versions, struct version, i).frame;
	return frame;
}

uint32_t fold_jit_names_node(const struct fold_jit_names *n, struct profile *p, uint32_t node, uint64_t at_ns)
{
	g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	const uint8_t end = profile_get_node(p, node)->end;
	uint32_t own = 0;

	for (uint32_t at = node; at; at = profile_get_node(p, at)->parent) {
		uint32_t frame = frame_at(n, profile_get_node(p, at)->frame, at_ns);

		g_array_append_val(frames, frame);
	}
	for (guint i = frames->len; i-- > 0;)
		own = profile_node(p, own, g_array_index(frames, uint32_t, i));
	g_array_index(p->nodes, struct stack_node, own).end = end;
	return own;
}

void fold_jit_names_forget(struct fold_jit_names *n)
{
	g_hash_table_remove_all(n->frames);
	g_hash_table_remove_all(n->processes);
	g_hash_table_remove_all(n->stacks);
	g_hash_table_remove_all(n->variants);
	n->change_cnt = 0;
}
