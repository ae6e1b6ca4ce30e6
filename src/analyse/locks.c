/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/locks.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/plumbing.h"
#include "analyse/rows.h"
#include "base/hash.h"
#include "base/order.h"
#include "features/wakers/analysis.h"

/* A row under construction. */
struct row_building {
	struct lock_row row;
	GHashTable *threads;	/* set of waiters */
	GHashTable *places;	/* struct lock_place, by function */
	GHashTable *holders, *releasers;	/* struct adding, by lock_holder */
};

struct builder {
	const struct profile *p;
	struct plumbing *pl;
	const uint32_t *ids;	/* see lock_ids_new() */
	GHashTable *rows;	/* id -> struct building */
	GHashTable *by_tid;	/* tid -> thread index + 1 */
};

/*
 * A futex word is one lock, even if its waits disagree on the kind: a mutex whose inner frames have no names in a
 * stack is a plain futex there.  Three kinds need the name too: kernel locks, which have no address; the word that
 * pthread_join() waits for, which another thread takes over with its stack; and a wait for several words, of which
 * only the first is in the address.
 */
static bool is_known_by_address(const struct object *o)
{
	return o->pid && o->kind != LOCK_JOIN && o->kind != OBJECT_KERNEL_LOCK && strcmp(o->operation, "futex_waitv") != 0;
}

static guint lock_hash(gconstpointer key)
{
	const struct object *o = key;
	uint64_t h = hash_more(is_known_by_address(o) ? 0 : hash_pointer(o->name), o->addr);

	return hash_end(hash_more(h, o->pid));
}

/* Strings are interned. */
static gboolean lock_equal(gconstpointer va, gconstpointer vb)
{
	const struct object *a = va, *b = vb;

	if (a->addr != b->addr || a->pid != b->pid || is_known_by_address(a) != is_known_by_address(b))
		return false;
	return is_known_by_address(a) || (a->name == b->name && a->place == b->place);
}

/* How informative the object is about the lock: its kind first, then its place. */
static unsigned informativeness(const struct object *o)
{
	unsigned by_kind = o->kind == LOCK_FUTEX ? 0 : o->kind == LOCK_LIBC ? 1 : 2;

	return 2 * by_kind + (*o->place != '\0');
}

/* Releasers are distinguished by place, holders by thread. */
static bool has_place(const struct lock_holder *h)
{
	return h->user || h->kernel;
}

static guint holder_hash(gconstpointer key)
{
	const struct lock_holder *h = key;

	return hash_end(hash_more(hash_more(hash_pointer(h->comm), has_place(h) ? 0 : h->tid),
				  (uint64_t)h->user << 32 | h->kernel));
}

static gboolean holder_equal(gconstpointer va, gconstpointer vb)
{
	const struct lock_holder *a = va, *b = vb;

	return a->comm == b->comm && (has_place(a) || a->tid == b->tid) && a->pid == b->pid && a->user == b->user &&
	       a->kernel == b->kernel;
}

/* Names are interned. */
static guint place_hash(gconstpointer key)
{
	return hash_end(hash_pointer(((const struct lock_place *)key)->function));
}

static gboolean place_equal(gconstpointer va, gconstpointer vb)
{
	return ((const struct lock_place *)va)->function == ((const struct lock_place *)vb)->function;
}

/* A holder under construction. */
struct holder_building {
	struct lock_holder holder;	/* must be first: it is also the key */
	GHashTable *tids;
};

FREES_DATA(adding_free, struct holder_building, a, g_hash_table_unref(a->tids))

FREES_DATA(building_free, struct row_building, b, g_hash_table_unref(b->threads); g_hash_table_unref(b->places);
	   g_hash_table_unref(b->holders); g_hash_table_unref(b->releasers))

static struct row_building *building_of(struct builder *all, const struct wait *w)
{
	uint32_t id = all->ids[w->object];
	struct row_building *b = g_hash_table_lookup(all->rows, GUINT_TO_POINTER(id));
	const char *process = profile_thread(all->p, w->thread)->process;

	if (!b) {
		b = g_new0(struct row_building, 1);
		b->row.object = profile_get_object(all->p, id - 1);
		b->row.process = process;
		b->threads = g_hash_table_new(NULL, NULL);
		b->places = g_hash_table_new_full(place_hash, place_equal, g_free, NULL);
		b->holders = g_hash_table_new_full(holder_hash, holder_equal, adding_free, NULL);
		b->releasers = g_hash_table_new_full(holder_hash, holder_equal, adding_free, NULL);
		g_hash_table_insert(all->rows, GUINT_TO_POINTER(id), b);
	}
	if (b->row.process != process)
		b->row.process = "";
	return b;
}

static void add_holder(GHashTable *holders, const struct lock_holder *one)
{
	struct holder_building *a = g_hash_table_lookup(holders, one);

	if (!a) {
		a = g_new0(struct holder_building, 1);
		a->holder = *one;
		a->holder.blocked_ns = a->holder.count = 0;
		a->tids = g_hash_table_new(NULL, NULL);
		g_hash_table_add(holders, a);
	}
	a->holder.blocked_ns += one->blocked_ns;
	a->holder.count += one->count;
	g_hash_table_add(a->tids, GUINT_TO_POINTER(one->tid));
	a->holder.threads_cnt = g_hash_table_size(a->tids);
}

static void add_held(struct builder *all, struct row_building *b, const struct object *o, const struct wait *w)
{
	guint index = GPOINTER_TO_UINT(g_hash_table_lookup(all->by_tid, GUINT_TO_POINTER(o->holder_tid)));
	const struct thread *t = index ? profile_thread(all->p, index - 1) : NULL;
	const struct lock_holder one = {
		.comm = t ? t->comm : "", .pid = t ? t->pid : 0, .tid = o->holder_tid,
		.blocked_ns = w->blocked_ns, .count = w->count,
	};

	if (o->holder_tid)
		add_holder(b->holders, &one);
}

static void add_released(struct builder *all, struct row_building *b, const struct wake *k)
{
	const struct waker *w = profile_get_waker(all->p, k->waker);
	const struct lock_holder one = {
		.comm = waker_name(w), .pid = w->pid, .tid = w->tid,
		/* the kernel's wakeup functions are the same for all */
		.user = w->user, .kernel = w->user ? 0 : w->kernel,
		.blocked_ns = k->blocked_ns, .count = k->count,
	};

	add_holder(b->releasers, &one);
}

static void add_place(struct builder *all, struct row_building *b, const struct wait *w)
{
	int64_t frame = plumbing_user_parent(all->pl, w->user);
	const char *name = frame >= 0 ? profile_get_frame(all->p, (uint32_t)frame)->name : NULL;
	const struct lock_place one = { .function = name, .frame = (uint32_t)frame };

	if (!name)
		return;
	struct lock_place *place = g_hash_table_lookup(b->places, &one);
	if (!place) {
		place = g_memdup2(&one, sizeof(one));
		g_hash_table_add(b->places, place);
	}
	place->blocked_ns += w->blocked_ns;
	place->count += w->count;
}

static void add_wait(struct builder *all, const struct wakes_by_wait *by, uint32_t index)
{
	const struct wait *w = profile_wait(all->p, index);
	const struct object *o = profile_wait_object(all->p, w);
	struct row_building *b = building_of(all, w);

	b->row.blocked_ns += w->blocked_ns;
	b->row.runnable_ns += w->runnable_ns;
	b->row.count += w->count;
	b->row.max_ns = MAX(b->row.max_ns, w->max_ns);
	g_hash_table_add(b->threads, GUINT_TO_POINTER(w->thread));
	add_place(all, b, w);
	add_held(all, b, o, w);
	for (uint32_t n = by->first[index]; n < by->first[index + 1]; n++)
		add_released(all, b, profile_wake(all->p, by->order[n]));
}

ORDER(compare_holders, struct lock_holder, ORDER_HIGH(blocked_ns) ORDER_LOW(tid) ORDER_LOW(user) ORDER_LOW(kernel))

ORDER(compare_places, struct lock_place, ORDER_HIGH(blocked_ns) ORDER_LOW(frame))

ORDER(compare_rows, struct lock_row, ORDER_HIGH(blocked_ns) ORDER_TEXT(object->name) ORDER_LOW(object->pid)
      ORDER_LOW(object->addr) ORDER_LOW(object->kind))

static void row_clear(gpointer data)
{
	struct lock_row *r = data;

	g_array_unref(r->places);
	g_array_unref(r->holders);
	g_array_unref(r->releasers);
}

static void take_rows(struct lock_table *t, GHashTable *rows)
{
	GHashTableIter iter;
	gpointer data;

	t->rows = g_array_new(FALSE, FALSE, sizeof(struct lock_row));
	g_array_set_clear_func(t->rows, row_clear);
	g_hash_table_iter_init(&iter, rows);
	while (g_hash_table_iter_next(&iter, NULL, &data)) {
		struct row_building *b = data;

		b->row.threads_cnt = g_hash_table_size(b->threads);
		b->row.places = rows_in_order(b->places, sizeof(struct lock_place), compare_places);
		b->row.holders = rows_in_order(b->holders, sizeof(struct lock_holder), compare_holders);
		b->row.releasers = rows_in_order(b->releasers, sizeof(struct lock_holder), compare_holders);
		t->blocked_ns += b->row.blocked_ns;
		g_array_append_val(t->rows, b->row);
	}
	g_array_sort(t->rows, compare_rows);
}

struct lock_table *lock_table_new(const struct profile *p, const struct selection *selection)
{
	struct lock_table *t = g_new0(struct lock_table, 1);
	g_autofree uint32_t *ids = lock_ids_new(p);
	struct builder all = {
		.p = p,
		.pl = plumbing_new(p),
		.ids = ids,
		.rows = g_hash_table_new_full(NULL, NULL, NULL, building_free),
		.by_tid = g_hash_table_new(NULL, NULL),
	};
	struct wakes_by_wait *by = wakes_by_wait_new(p);

	for (guint i = 0; i < p->threads->len; i++)
		g_hash_table_insert(all.by_tid, GUINT_TO_POINTER(profile_thread(p, i)->tid), GUINT_TO_POINTER(i + 1));
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);
		bool is_of_kernel = o && o->kind == OBJECT_KERNEL_LOCK;	/* most of these are waited for in state D */

		if ((selection && !selection->waits[i]) || (w->state != 'S' && !is_of_kernel))
			continue;
		t->asleep_ns += w->blocked_ns;
		if (o && object_is_lock(o))
			add_wait(&all, by, i);
	}
	take_rows(t, all.rows);
	g_hash_table_unref(all.rows);
	g_hash_table_unref(all.by_tid);
	plumbing_free(all.pl);
	wakes_by_wait_free(by);
	return t;
}

FREES(lock_table_free, struct lock_table, t, g_array_unref(t->rows))

/* Index + 1 of the most informative object for o's lock. */
static uint32_t best_of(const struct profile *p, GHashTable *best, const struct object *o)
{
	uint32_t id = GPOINTER_TO_UINT(g_hash_table_lookup(best, o));
	struct object lower = *o;

	if (o->kind != LOCK_FUTEX && o->kind != LOCK_LIBC)
		return id;
	/* glibc's condition variables and rwlocks wait on two words: this is the second */
	lower.addr &= ~UINT64_C(7);
	uint32_t of_lower = GPOINTER_TO_UINT(g_hash_table_lookup(best, &lower));
	uint8_t kind = of_lower ? profile_get_object(p, of_lower - 1)->kind : LOCK_FUTEX;

	return kind == LOCK_CONDITION || kind == LOCK_RWLOCK ? of_lower : id;
}

uint32_t *lock_ids_new(const struct profile *p)
{
	uint32_t *ids = g_new0(uint32_t, (gsize)p->objects->len + 1);
	g_autoptr(GHashTable) best = g_hash_table_new(lock_hash, lock_equal);	/* struct object -> index + 1 */

	EACH_ROW(i, const struct object, o, p->objects) {
		uint32_t of_best = GPOINTER_TO_UINT(g_hash_table_lookup(best, o));

		if (!of_best || informativeness(o) > informativeness(profile_get_object(p, of_best - 1)))
			g_hash_table_insert(best, (gpointer)o, GUINT_TO_POINTER(i + 1));
	}
	for (uint32_t i = 0; i < p->objects->len; i++)
		ids[i + 1] = best_of(p, best, profile_get_object(p, i));
	return ids;
}

bool lock_is_held(const struct object *o)
{
	switch (o->kind) {
	case LOCK_CONDITION:
	case LOCK_SEMAPHORE:
	case LOCK_BARRIER:
	case LOCK_JOIN:
	case LOCK_PARK: return false;
	default: return object_is_lock(o);
	}
}

#define UNNAMED_SEMAPHORE "/dev/shm/sem.* (deleted)"	/* glibc's placeholder: the real name is gone */

bool lock_is_nameless(const struct object *o)
{
	return object_is_lock(o) && (o->place[0] == '[' || g_pattern_match_simple(UNNAMED_SEMAPHORE, o->place));
}

void lock_append_name(GString *s, const struct object *o)
{
	bool is_set = o->kind == OBJECT_EPOLL && g_ascii_isdigit(*o->name);	/* "2 sockets (fd 5 of node)" */

	if ((o->kind == OBJECT_SOCKET || o->kind == OBJECT_PIPE) && strstr(o->name, object_kind_text(o->kind))) {
		g_string_append(s, o->name);	/* "unix socket (postgres)", "pipe from bash" */
		return;
	}
	g_string_append_printf(s, "%s%s %s", object_kind_text(o->kind), is_set || o->kind == OBJECT_JOURNAL ? " of" : "", o->name);
	if (o->kind == OBJECT_KERNEL_LOCK && o->pid)	/* "mmap_lock of httpd/4711" */
		g_string_append_printf(s, "/%" PRIu32, o->pid);
	/* of many short-lived processes, which have no common address */
	if (object_is_lock(o) && g_str_has_suffix(s->str, " *"))
		g_string_truncate(s, s->len - strlen(" *"));
}
