/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/actors.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/plumbing.h"
#include "analyse/roles.h"
#include "analyse/strset.h"
#include "base/each.h"
#include "base/hash.h"
#include "base/order.h"

#define NONE UINT32_MAX

static const char *const by_names[ACTOR_BY_COUNT] = { "role", "thread", "comm", "process" };

const char *actor_by_name(enum actor_by by)
{
	return by_names[by];
}

const char *actor_by_names(void)
{
	return "role, thread, comm, process";
}

bool actor_by_parse(const char *name, enum actor_by *ret_by)
{
	for (unsigned i = 0; i < ACTOR_BY_COUNT; i++) {
		if (strcmp(name, by_names[i]) == 0) {
			*ret_by = (enum actor_by)i;
			return true;
		}
	}
	return false;
}

const char *actor_kind_text(enum actor_kind kind)
{
	return kind == ACTOR_THREADS ? "threads" : kind == ACTOR_INTERRUPT ? "interrupt" : "unknown";
}

/* A thread's identity as in a waker. */
struct who {
	uint32_t pid, tid, thread;
	uint64_t start_ns;
};

ORDER(compare_who, struct who, ORDER_LOW(tid) ORDER_LOW(pid) ORDER_LOW(start_ns) ORDER_LOW(thread))

/* Index of the first thread that does not sort before the waker. */
static uint32_t first_not_before(const struct who *threads, uint32_t cnt, const struct who *waker)
{
	uint32_t low = 0, high = cnt;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_who(&threads[middle], waker) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t *actors_threads_of_wakers(const struct profile *p)
{
	uint32_t *of = g_new(uint32_t, (gsize)p->wakers->len + 1), cnt = p->threads->len;
	g_autofree struct who *threads = g_new(struct who, (gsize)cnt + 1);

	for (uint32_t i = 0; i < cnt; i++) {
		const struct thread *t = profile_thread(p, i);

		threads[i] = (struct who){ t->pid, t->tid, i, t->start_ns };
	}
	qsort(threads, cnt, sizeof(*threads), compare_who);
	EACH_ROW(i, const struct waker, w, p->wakers) {
		const struct who who = { w->pid, w->tid, 0, w->start_ns };
		uint32_t first = first_not_before(threads, cnt, &who);

		of[i] = NONE;
		/* an exec makes a few rows per thread; a hostile recording may have more */
		for (uint32_t n = first; !w->irq && n < cnt && n - first < 64; n++) {
			const struct who *t = &threads[n];

			if (t->tid != who.tid || t->pid != who.pid || t->start_ns != who.start_ns)
				break;
			/*
			 * of rows with the same name the last: a shell that executes itself has one row when it forks
			 * and another at its end
			 */
			if (of[i] == NONE || profile_thread(p, t->thread)->comm == w->comm)
				of[i] = t->thread;
		}
	}
	return of;
}

static uint32_t add_actor(struct actors *a, enum actor_kind kind, const char *name, const char *comm,
			  const char *process)
{
	struct actor row = {
		.kind = kind, .name = strset_add(a->names, name), .comm = strset_add(a->names, comm),
		.process = strset_add(a->names, process),
	};

	g_array_append_val(a->rows, row);
	return a->rows->len - 1;
}

static void add_account(struct actor *row, const struct thread *t)
{
	if (!row->threads_cnt) {
		row->pid = t->pid;
		row->tid = t->tid;
		row->is_kernel = t->flags & THREAD_KERNEL;
	} else {
		row->pid = row->pid == t->pid ? row->pid : 0;
		row->tid = 0;
	}
	row->threads_cnt++;
	row->observed_ns += thread_observed_ns(t);
	ADD_MEMBERS(row, t, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
}

/*
 * "mariadbd:do_command": the name and, if others have it too, the function common to all its stacks; NULL if that has
 * no name.
 */
static char *role_name(const struct profile *p, const struct plumbing *plumbing, const struct role *role,
		       uint32_t namesakes)
{
	int64_t frame = role->trunk ? plumbing_user_parent(plumbing, role->trunk) : -1;

	if (namesakes < 2 || role->is_kernel)
		return g_strdup(role->comm);
	if (frame < 0 || !profile_get_frame(p, (uint32_t)frame)->name)
		return NULL;
	g_autofree char *function = function_shown_name(profile_get_frame(p, (uint32_t)frame)->name);
	return g_strdup_printf("%s:%s", role->comm, function);
}

/* "pgbench/21399", "pgbench/21400+": the first thread, and whether there are others. */
static char *name_by_thread(const struct profile *p, const struct role *role)
{
	return g_strdup_printf("%s/%u%s", role->comm, profile_thread(p, role->first_thread)->tid,
			       role->threads_cnt > 1 ? "+" : "");
}

/*
 * The next function outwards from a stack's node that tells what a thread does; NULL: none.  *node is set to its node.
 */
static const char *next_function(const struct profile *p, uint32_t *node)
{
	for (; *node; *node = profile_get_node(p, *node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, *node)->frame);

		if (f->name && !plumbing_is_runtime(f->module) && strcmp(f->name, "_start") != 0)
			return f->name;
	}
	return NULL;
}

/* A function, and the number of roles with that name whose stacks contain it.  Strings are interned. */
struct passage {
	const char *comm, *function;
	guint roles_cnt, last_role;	/* last_role: + 1 */
};

HASH_KEY(passage, struct passage, comm, function)

static GHashTable *passages_of_roles(const struct profile *p, const struct roles *roles)
{
	GHashTable *all = g_hash_table_new_full(passage_hash, passage_equal, g_free, NULL);

	EACH_ROW(i, const struct role, role, roles->rows) {
		struct passage one = { .comm = role->comm };

		for (uint32_t n = role->trunk; (one.function = next_function(p, &n));
		     n = profile_get_node(p, n)->parent) {
			struct passage *known = g_hash_table_lookup(all, &one);

			if (!known) {
				known = g_memdup2(&one, sizeof(one));
				g_hash_table_add(all, known);
			}
			known->roles_cnt += known->last_role != i + 1;
			known->last_role = i + 1;
		}
	}
	return all;
}

/* "postgres:WalWriterMain": the outermost function that no other role of that name has; NULL: none. */
static char *own_function_name(const struct profile *p, const struct role *role, GHashTable *passages)
{
	struct passage one = { .comm = role->comm };
	const char *own = NULL;

	for (uint32_t n = role->trunk; (one.function = next_function(p, &n)); n = profile_get_node(p, n)->parent)
		if (((const struct passage *)g_hash_table_lookup(passages, &one))->roles_cnt == 1)
			own = one.function;
	if (!own)
		return NULL;
	g_autofree char *plain = function_plain_name(own);
	return g_strdup_printf("%s:%s", role->comm, plain);
}

/*
 * Names all roles.  Roles that would get the same name are named after a function of their own, or else after their
 * threads.
 */
static void name_roles(struct actors *a, const struct profile *p, const struct plumbing *plumbing,
		       const struct roles *roles)
{
	struct strset *comms = strset_new(), *seen = strset_new();
	g_autoptr(GHashTable) passages = passages_of_roles(p, roles);
	g_autofree uint32_t *namesakes = g_new0(uint32_t, (gsize)roles->rows->len + 1);
	g_autofree uint32_t *uses = g_new0(uint32_t, (gsize)roles->rows->len + 1);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < roles->rows->len; i++)
		namesakes[strset_id(comms, g_array_index(roles->rows, struct role, i).comm)]++;
	EACH_ROW(i, const struct role, role, roles->rows) {
		char *name = role_name(p, plumbing, role, namesakes[strset_id(comms, role->comm)]);

		g_ptr_array_add(names, name);
		if (name)
			uses[strset_id(seen, name)]++;
	}
	EACH_ROW(i, const struct role, role, roles->rows) {
		const char *name = g_ptr_array_index(names, i);
		g_autofree char *other = NULL;

		if (!name || uses[strset_id(seen, name)] > 1) {
			other = own_function_name(p, role, passages);
			if (!other)
				other = name_by_thread(p, role);
		}
		add_actor(a, ACTOR_THREADS, other ? other : name, role->comm, role->process);
	}
	strset_free(comms);
	strset_free(seen);
}

static void by_role(struct actors *a, const struct profile *p, struct plumbing *given)
{
	struct plumbing *plumbing = given ? plumbing_ref(given) : plumbing_new(p);
	struct roles *roles = roles_new(p, plumbing);

	name_roles(a, p, plumbing, roles);
	for (uint32_t t = 0; t < p->threads->len; t++) {
		a->of_thread[t] = roles->of_thread[t];
		add_account(&g_array_index(a->rows, struct actor, a->of_thread[t]), profile_thread(p, t));
	}
	roles_free(roles);
	plumbing_free(plumbing);
}

static char *thread_name(enum actor_by by, const char *comm, const char *process, uint32_t pid, uint32_t tid)
{
	switch (by) {
	case ACTOR_BY_THREAD: return g_strdup_printf("%s-%u/%u", comm, pid, tid);
	case ACTOR_BY_PROCESS: return g_strdup_printf("%s (%u)", process, pid);
	default: return g_strdup(comm);
	}
}

/* Finds or adds the actor of that name and sort. */
static uint32_t actor_named(struct actors *a, GHashTable *index, char sort, const char *name, const char *comm,
			    const char *process)
{
	g_autofree char *sorted = g_strdup_printf("%c%s", sort, name);
	const char *key = strset_add(a->names, sorted);
	gpointer at;

	if (g_hash_table_lookup_extended(index, key, NULL, &at))
		return GPOINTER_TO_UINT(at);
	uint32_t i = add_actor(a, sort == 'i' ? ACTOR_INTERRUPT : ACTOR_THREADS, name, comm, process);
	g_hash_table_insert(index, (gpointer)key, GUINT_TO_POINTER(i));
	return i;
}

static void by_name(struct actors *a, const struct profile *p, GHashTable *index)
{
	EACH_ROW(i, const struct thread, t, p->threads) {
		g_autofree char *name = thread_name(a->by, t->comm, t->process, t->pid, t->tid);

		a->of_thread[i] = actor_named(a, index, 't', name, t->comm, t->process);
		add_account(&g_array_index(a->rows, struct actor, a->of_thread[i]), t);
	}
}

/* A waker without an account: a thread that was filtered out, or an interrupt. */
static uint32_t actor_of_stranger(struct actors *a, GHashTable *index, const struct waker *w)
{
	if (w->irq)
		return actor_named(a, index, 'i', w->irq, "", "");
	g_autofree char *kernel = role_kernel_name(w->comm);
	g_autofree char *name = thread_name(a->by, a->by == ACTOR_BY_ROLE ? kernel : w->comm, w->comm, w->pid, w->tid);
	/* roles come from stacks, which an unrecorded thread does not have */
	uint32_t known = a->rows->len;
	uint32_t i = actor_named(a, index, a->by == ACTOR_BY_ROLE ? 's' : 't', name, w->comm, "");
	struct actor *row = &g_array_index(a->rows, struct actor, i);

	if (i == known) {
		row->pid = w->pid;
		row->tid = w->tid;
	} else if (!row->threads_cnt) {
		row->pid = row->pid == w->pid ? row->pid : 0;
		row->tid = row->tid == w->tid ? row->tid : 0;
	}
	return i;
}

struct actors *actors_new(const struct profile *p, struct plumbing *plumbing, enum actor_by by)
{
	struct actors *a = g_new0(struct actors, 1);
	g_autoptr(GHashTable) index = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);

	a->by = by;
	a->rows = g_array_new(FALSE, TRUE, sizeof(struct actor));
	a->of_thread = g_new0(uint32_t, (gsize)p->threads->len + 1);
	a->of_waker = g_new0(uint32_t, (gsize)p->wakers->len + 1);
	a->names = strset_new();
	if (by == ACTOR_BY_ROLE)
		by_role(a, p, plumbing);
	else
		by_name(a, p, index);
	for (uint32_t i = 0; i < p->wakers->len; i++)
		a->of_waker[i] = threads[i] != NONE ? a->of_thread[threads[i]] :
						      actor_of_stranger(a, index, profile_get_waker(p, i));
	a->unknown = add_actor(a, ACTOR_UNKNOWN, "unknown", "", "");
	return a;
}

FREES(actors_free, struct actors, a, g_array_unref(a->rows); g_free(a->of_thread); g_free(a->of_waker);
      strset_free(a->names))

size_t actors_kind_bytes(const char *comm)
{
	size_t len = strlen(comm);

	while (len && g_ascii_isdigit(comm[len - 1]))
		len--;
	return len;
}

bool actors_same_kind(const char *comm, const char *other)
{
	size_t len = actors_kind_bytes(comm);

	return comm == other || (len && len == actors_kind_bytes(other) && strncmp(comm, other, len) == 0);
}

char *actors_kind_key(const struct thread *t)
{
	const char *comm = t->comm ?: "";

	return g_strdup_printf("%u %.*s", t->pid, (int)actors_kind_bytes(comm), comm);
}

const char **actors_kind_names(const struct profile *p, GStringChunk *strings)
{
	static const char several[] = "";
	g_autoptr(GHashTable) kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const char **names = g_new0(const char *, (gsize)p->threads->len + 1);

	for (uint32_t i = 0; i < p->threads->len; i++) {
		const char *comm = profile_thread(p, i)->comm;
		char *key = comm ? actors_kind_key(profile_thread(p, i)) : NULL;
		const char *other = key ? g_hash_table_lookup(kinds, key) : NULL;

		if (key)
			g_hash_table_insert(kinds, key, (gpointer)(!other || other == comm ? comm : several));
	}
	for (uint32_t i = 0; i < p->threads->len; i++) {
		const char *comm = profile_thread(p, i)->comm;
		g_autofree char *key = comm ? actors_kind_key(profile_thread(p, i)) : NULL;
		g_autofree char *all = key ? g_strdup_printf("%.*s*", (int)actors_kind_bytes(comm), comm) : NULL;

		names[i] = comm ? comm : "?";
		if (key && *all != '*' && g_hash_table_lookup(kinds, key) == several)
			names[i] = g_string_chunk_insert_const(strings, all);
	}
	return names;
}

#define NUMBERED_MIN 2
#define NUMBERED_GLUED_MIN 3	/* without a separator, as in "worker1": "python2" and "python3" are two programs */

static bool is_apart(const char *name, size_t from, size_t to)
{
	return (!from || !g_ascii_isalnum(name[from - 1])) && !g_ascii_isalnum(name[to]);
}

/* "worker-*" for "worker-3"; NULL: without a number, or nothing but a number. */
static char *program_kind(const char *name)
{
	GString *kind = g_string_new(NULL);
	bool has_number = false, has_letter = false;

	for (size_t from = 0, to; name && name[from]; from = to) {
		for (to = from; g_ascii_isdigit(name[to]); to++)
			;
		bool is_number = to > from && (!name[to] || is_apart(name, from, to));

		to = MAX(to, from + 1);
		has_number = has_number || is_number;
		has_letter = has_letter || g_ascii_isalpha(name[from]);
		g_string_append_len(kind, is_number ? "*" : name + from, is_number ? 1 : (gssize)(to - from));
	}
	return g_string_free(kind, !has_number || !has_letter);
}

/* Minimum number of names to form a kind. */
static guint kind_min(const char *kind)
{
	size_t len = strlen(kind);

	return len > 1 && kind[len - 1] == '*' && g_ascii_isalpha(kind[len - 2]) ? NUMBERED_GLUED_MIN : NUMBERED_MIN;
}

const char **actors_programs(const struct profile *p, GStringChunk *strings)
{
	const char **programs = g_new0(const char *, (gsize)p->threads->len + 1);
	g_autoptr(GHashTable) kinds = g_hash_table_new(NULL, NULL);	/* name -> its kind, interned */
	g_autoptr(GHashTable) names = g_hash_table_new(NULL, NULL);	/* kind -> number of names */

	for (uint32_t i = 0; i < p->threads->len; i++) {
		const char *name = profile_thread(p, i)->process;
		g_autofree char *text = NULL;

		if (profile_thread(p, i)->flags & THREAD_KERNEL || g_hash_table_contains(kinds, name))
			continue;
		text = program_kind(name);
		const char *kind = text ? g_string_chunk_insert_const(strings, text) : NULL;
		guint cnt = GPOINTER_TO_UINT(g_hash_table_lookup(names, kind));

		g_hash_table_insert(kinds, (gpointer)name, (gpointer)kind);
		g_hash_table_insert(names, (gpointer)kind, GUINT_TO_POINTER(cnt + 1));
	}
	for (uint32_t i = 0; i < p->threads->len; i++) {
		const char *name = profile_thread(p, i)->process, *kind = g_hash_table_lookup(kinds, name);

		programs[i] = kind && GPOINTER_TO_UINT(g_hash_table_lookup(names, kind)) >= kind_min(kind) ? kind
													   : name;
	}
	return programs;
}
