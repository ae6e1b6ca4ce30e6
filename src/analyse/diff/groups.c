/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/keys.h"

#include "analyse/locks.h"
#include "analyse/weight.h"

/*
 * A grouping is a row of the table: a name, and a function that gives the keys of a wait's time.  Unless parts of a
 * wait overlap, they add up to its time.
 */

typedef void (*parts_fn)(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts);

static void add_part(GArray *parts, uint32_t key, uint64_t ns, bool is_main)
{
	struct diff_part part = { .key = key, .ns = ns, .is_main = is_main };

	g_array_append_val(parts, part);
}

static void add_all(const struct diff_side_keys *s, uint32_t wait, GArray *parts, uint32_t key)
{
	add_part(parts, key, wait_or_on_cpu_ns(profile_wait(s->p, wait)), true);
}

/* Idle time is a separate row: it would hide other changes, and threads without work do not matter. */
static void by_total(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const struct wait *w = profile_wait(s->p, wait);
	uint64_t cpu_ns = w->runnable_ns + w->preempted_ns;

	if (!diff_keys_is_idle(k, side, wait)) {
		add_all(s, wait, parts, DIFF_TOTAL_KEY);
		return;
	}
	if (cpu_ns)
		add_part(parts, DIFF_TOTAL_KEY, cpu_ns, false);
	add_part(parts, DIFF_IDLE_KEY, w->blocked_ns, true);
}

static void by_stack(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	uint32_t node = k->side[side].paths[wait];
	/* Preemption in a function that also sleeps is a different wait. */
	bool is_preempted = profile_wait(k->side[side].p, wait)->state == 'R';
	gpointer id = GSIZE_TO_POINTER((gsize)node << 1 | is_preempted), known = g_hash_table_lookup(k->stack_keys, id);

	if (!known) {
		g_array_append_val(k->stack_nodes, node);
		known = GUINT_TO_POINTER(k->stack_nodes->len);
		g_hash_table_insert(k->stack_keys, id, known);
	}
	add_all(&k->side[side], wait, parts, GPOINTER_TO_UINT(known) - 1);
}

/* Each function of the stack once, even if it is recursive. */
static void by_function(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const struct wait *w = profile_wait(s->p, wait);
	const uint32_t stacks[] = { w->kernel, w->user };
	uint32_t stamp = ++k->stamp;

	for (unsigned i = 0; i < G_N_ELEMENTS(stacks); i++) {
		for (uint32_t node = stacks[i]; node; node = profile_get_node(s->p, node)->parent) {
			uint32_t label = s->labels[profile_get_node(s->p, node)->frame];

			if (k->stamps[label] == stamp)
				continue;
			k->stamps[label] = stamp;
			add_all(s, wait, parts, label);
		}
	}
}

/* The key of an interned string, as plumbing.h returns them. */
static uint32_t key_of_string(struct diff_keys *k, struct diff_side_keys *s, const char *text)
{
	gpointer known = g_hash_table_lookup(s->by_pointer, text);

	if (!known) {
		g_autoptr(GString) name = g_string_new(NULL);

		diff_name_append(name, text);
		known = GUINT_TO_POINTER(diff_keys_name(k, name->str, text) + 1);
		g_hash_table_insert(s->by_pointer, (gpointer)text, known);
	}
	return GPOINTER_TO_UINT(known) - 1;
}

static void by_leaf(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	struct diff_side_keys *s = &k->side[side];

	add_all(s, wait, parts, key_of_string(k, s, plumbing_leaf(s->plumbing, profile_wait(s->p, wait))));
}

static void by_syscall(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	struct diff_side_keys *s = &k->side[side];

	add_all(s, wait, parts, key_of_string(k, s, plumbing_syscall(s->plumbing, profile_wait(s->p, wait))));
}

static void by_comm(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const char *comm = s->comms[profile_wait(s->p, wait)->thread];

	add_all(s, wait, parts, diff_keys_name(k, comm, comm));
}

static void by_process(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const char *process = s->processes[profile_wait(s->p, wait)->thread];

	add_all(s, wait, parts, diff_keys_name(k, process, process));
}

static void by_state(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const struct wait *w = profile_wait(s->p, wait);
	const struct {
		const char *name;
		uint64_t ns;
	} classes[] = {
		{ state_text(w->state), w->blocked_ns },
		{ "waiting for a CPU", w->runnable_ns },
		{ "preempted", w->preempted_ns },
		{ state_text(ON_CPU_STATE), w->on_cpu_ns },
	};
	uint64_t most = MAX(MAX(w->blocked_ns, w->runnable_ns), MAX(w->preempted_ns, w->on_cpu_ns));
	bool has_main = false;

	for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++) {
		bool is_main = !has_main && classes[i].ns == most;

		if (!classes[i].ns && !is_main)
			continue;
		add_part(parts, diff_keys_name(k, classes[i].name, classes[i].name), classes[i].ns, is_main);
		has_main = has_main || is_main;
	}
}

/* The reason applies to blocked time; the rest is run-queue time, whatever came before. */
static void by_reason(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const struct wait *w = profile_wait(s->p, wait);
	const char *name = reason_name(reasons_of(s->reasons, wait)), *cpu = reason_name(REASON_CPU_QUEUE);
	uint64_t cpu_ns = w->runnable_ns + w->preempted_ns;
	bool is_cpu = cpu_ns > w->blocked_ns;

	if (w->on_cpu_ns) {
		add_part(parts, diff_keys_name(k, name, name), w->on_cpu_ns, true);
		return;
	}
	if (w->blocked_ns || !is_cpu)
		add_part(parts, diff_keys_name(k, name, name), w->blocked_ns, !is_cpu);
	if (cpu_ns)
		add_part(parts, diff_keys_name(k, cpu, cpu), cpu_ns, is_cpu);
}

/* Without a name, a lock's address differs in each run: it is identified by where it is waited for. */
static void append_lock(GString *text, const struct diff_side_keys *s, const struct object *o, const struct wait *w)
{
	int64_t frame = lock_is_nameless(o) ? plumbing_user_parent(s->plumbing, w->user) : -1;

	if (frame < 0) {
		lock_append_name(text, o);
		return;
	}
	g_string_append_printf(text, "%s in ", object_kind_text(o->kind));
	diff_name_append_frame(text, profile_get_frame(s->p, (uint32_t)frame), true);
}

static void by_lock(struct diff_keys *k, enum diff_side side, uint32_t wait, GArray *parts)
{
	const struct diff_side_keys *s = &k->side[side];
	const struct wait *w = profile_wait(s->p, wait);
	uint32_t lock = s->locks[w->object];
	g_autoptr(GString) text = g_string_new(NULL);

	if (!lock)
		return;
	append_lock(text, s, profile_get_object(s->p, lock - 1), w);
	add_all(s, wait, parts, diff_keys_name(k, text->str, text->str));
}

static const struct grouping {
	const char *name;
	parts_fn parts;
} groupings[DIFF_BY_COUNT] = {
	[DIFF_BY_TOTAL] = { "total", by_total },
	[DIFF_BY_REASON] = { "reason", by_reason },
	[DIFF_BY_STACK] = { "stack", by_stack },
	[DIFF_BY_FUNCTION] = { "function", by_function },
	[DIFF_BY_LEAF] = { "leaf", by_leaf },
	[DIFF_BY_STATE] = { "state", by_state },
	[DIFF_BY_COMM] = { "comm", by_comm },
	[DIFF_BY_PROCESS] = { "process", by_process },
	[DIFF_BY_SYSCALL] = { "syscall", by_syscall },
	[DIFF_BY_LOCK] = { "lock", by_lock },
};

void diff_keys_of(struct diff_keys *k, enum diff_side side, enum diff_by by, uint32_t wait, GArray *parts)
{
	/* in these groupings a thread's on-CPU and off-CPU time are one sum */
	bool is_of_waits = by == DIFF_BY_TOTAL || by == DIFF_BY_COMM || by == DIFF_BY_PROCESS ||
			   by == DIFF_BY_SYSCALL || by == DIFF_BY_LOCK;

	if (!is_of_waits || profile_wait(k->side[side].p, wait)->state != ON_CPU_STATE)
		groupings[by].parts(k, side, wait, parts);
}

const char *diff_keys_text(const struct diff_keys *k, enum diff_by by, uint32_t key)
{
	switch (by) {
	case DIFF_BY_TOTAL: return key == DIFF_IDLE_KEY ? "idle" : "total";
	case DIFF_BY_STACK: {
		uint32_t node = g_array_index(k->stack_nodes, uint32_t, key);
		return tree_node_label(k->tree, node)->text;
	}
	case DIFF_BY_FUNCTION: return g_array_index(k->tree->labels, struct tree_label, key).text;
	default: return g_ptr_array_index(k->shown, key);
	}
}

const char *diff_by_name(enum diff_by by)
{
	return (unsigned)by < DIFF_BY_COUNT ? groupings[by].name : "unknown";
}

const char *diff_by_names(void)
{
	return "reason, stack, function, leaf, state, comm, process, syscall, lock";
}

bool diff_by_parse(const char *name, enum diff_by *ret_by)
{
	for (unsigned i = DIFF_BY_TOTAL + 1; i < DIFF_BY_COUNT; i++) {
		if (g_strcmp0(name, groupings[i].name) == 0) {
			*ret_by = (enum diff_by)i;
			return true;
		}
	}
	return false;
}
