/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "runtimes/java/frames.h"

#include "symbolize/runtime/memory.h"

#define THREADS_MAX 8192
#define MONITORS_MAX 4096
#define ANONYMOUS_OWNER 1	/* the owner is a thread whose lock stack has the object */
#define LOCKS_MAX 8		/* LockStack::CAPACITY */

struct thread {
	uint64_t at;		/* address of the JavaThread */
	uint64_t number;	/* identifies owners since JDK 24 (JDK-8338383) */
	uint64_t stack, stack_bytes;	/* `stack` is its highest address */
	uint64_t pending;	/* monitor that it waits for; 0: none */
	uint64_t locks[LOCKS_MAX];	/* objects locked without waiters so far (since JDK 21) */
	unsigned locks_cnt;
	uint32_t tid;
};

static bool has_monitor_fields(const struct hotspot_layout *l)
{
	static const uint8_t needed[] = { HOTSPOT_THREADS,	    HOTSPOT_THREADS_LENGTH,    HOTSPOT_THREADS_LIST,
					  HOTSPOT_THREAD_STACK,	    HOTSPOT_THREAD_STACK_SIZE, HOTSPOT_THREAD_PENDING,
					  HOTSPOT_SYSTEM_THREAD_ID, HOTSPOT_MONITOR_OWNER };

	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		if (!l->field[needed[i]].bytes)
			return false;
	return l->field[HOTSPOT_THREAD_SYSTEM].bytes || l->field[HOTSPOT_THREAD_SYSTEM_BASE].bytes;
}

static void read_locks(const struct hotspot *h, struct thread *t)
{
	const struct hotspot_layout *l = &h->layout;
	uint64_t begin = l->field[HOTSPOT_THREAD_LOCKS].at + l->field[HOTSPOT_LOCKS_BASE].at, top;

	/* the top is an offset in the thread */
	if (!l->field[HOTSPOT_THREAD_LOCKS].bytes || !l->field[HOTSPOT_LOCKS_BASE].bytes ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_LOCKS_TOP, t->at + l->field[HOTSPOT_THREAD_LOCKS].at, &top) ||
	    top < begin)
		return;
	top = MIN((top - begin) / sizeof(uint64_t), LOCKS_MAX);
	if (top && memory_read(h->pid, t->at + begin, t->locks, top * sizeof(uint64_t)))
		t->locks_cnt = (unsigned)top;
}

static bool read_thread(const struct hotspot *h, uint64_t at, struct thread *ret)
{
	const struct hotspot_layout *l = &h->layout;
	bool is_base = !l->field[HOTSPOT_THREAD_SYSTEM].bytes;
	uint64_t system, tid;

	*ret = (struct thread){ .at = at };
	if (!at ||
	    !hotspot_field_at(l, h->pid, is_base ? HOTSPOT_THREAD_SYSTEM_BASE : HOTSPOT_THREAD_SYSTEM, at, &system) ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_SYSTEM_THREAD_ID, system, &tid) ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_THREAD_STACK, at, &ret->stack) ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_THREAD_STACK_SIZE, at, &ret->stack_bytes) ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_THREAD_PENDING, at, &ret->pending))
		return false;
	hotspot_field_at(l, h->pid, HOTSPOT_THREAD_NUMBER, at, &ret->number);
	read_locks(h, ret);
	ret->tid = (uint32_t)tid;
	return true;
}

static GArray *threads_new(const struct hotspot *h)
{
	GArray *threads = g_array_new(FALSE, FALSE, sizeof(struct thread));
	uint64_t list, length, array, at;
	struct thread t;

	if (!hotspot_field_at(&h->layout, h->pid, HOTSPOT_THREADS, 0, &list) ||
	    !hotspot_field_at(&h->layout, h->pid, HOTSPOT_THREADS_LENGTH, list, &length) ||
	    !hotspot_field_at(&h->layout, h->pid, HOTSPOT_THREADS_LIST, list, &array))
		return threads;
	length = MIN((uint32_t)length, THREADS_MAX);
	for (uint64_t i = 0; i < length; i++)
		if (memory_read(h->pid, array + i * sizeof(at), &at, sizeof(at)) && read_thread(h, at, &t))
			g_array_append_val(threads, t);
	return threads;
}

/* The object of the monitor, read through its weak handle. 0: not in this version. */
static uint64_t object_of(const struct hotspot *h, uint64_t monitor)
{
	uint64_t handle, object;

	return hotspot_field_at(&h->layout, h->pid, HOTSPOT_MONITOR_OBJECT, monitor, &handle) && handle &&
			       memory_read(h->pid, handle, &object, sizeof(object)) ?
		       object :
		       0;
}

/*
 * The owner is stored as the thread's number or, in older versions, its JavaThread. If the lock was on the owner's
 * stack before anybody waited, it is an address in that.
 */
static bool is_owner(const struct thread *t, uint64_t owner, uint64_t object)
{
	for (unsigned i = 0; owner == ANONYMOUS_OWNER && object && i < t->locks_cnt; i++)
		if (t->locks[i] == object)
			return true;
	if (owner == ANONYMOUS_OWNER)
		return false;
	if (t->number)
		return owner == t->number;
	return owner == t->at || (owner < t->stack && t->stack - owner <= t->stack_bytes);
}

static GArray *read_monitors(const struct hotspot *h)
{
	GArray *found = g_array_new(FALSE, FALSE, sizeof(struct hotspot_monitor));

	memory_keep_pages(h->pid);
	g_autoptr(GArray) threads = threads_new(h);

	EACH_ROW(i, const struct thread, t, threads) {
		uint64_t owner = 0;

		if (!t->pending || !hotspot_field_at(&h->layout, h->pid, HOTSPOT_MONITOR_OWNER, t->pending, &owner) ||
		    !owner)
			continue;
		uint64_t object = owner == ANONYMOUS_OWNER ? object_of(h, t->pending) : 0;
		EACH_ROW(k, const struct thread, other, threads) {
			const struct hotspot_monitor one = { .tid = t->tid, .holder_tid = other->tid };

			if (k == i || !is_owner(other, owner, object))
				continue;
			g_array_append_val(found, one);
			break;
		}
	}
	memory_drop_pages();
	return found;
}

void hotspot_monitors(const struct hotspot *h, GArray *ret)
{
	if (!has_monitor_fields(&h->layout))
		return;
	g_autoptr(GArray) first = read_monitors(h), second = read_monitors(h);

	EACH_ROW(i, const struct hotspot_monitor, one, first) {
		EACH_ROW(k, const struct hotspot_monitor, again, second)
			if (one->tid == again->tid && one->holder_tid == again->holder_tid)
				g_array_append_val(ret, *one);
	}
}

bool hotspot_contended(const struct hotspot *h, GArray *ret)
{
	const struct hotspot_layout *l = &h->layout;
	uint64_t at, owner, contentions;

	if (!l->field[HOTSPOT_THREAD_NUMBER].bytes || !l->field[HOTSPOT_MONITORS].bytes ||
	    !l->field[HOTSPOT_MONITORS_HEAD].bytes ||
	    !memory_read(h->pid, l->field[HOTSPOT_MONITORS].at + l->field[HOTSPOT_MONITORS_HEAD].at, &at, sizeof(at)))
		return false;
	for (unsigned i = 0; at; i++) {
		if (i == MONITORS_MAX || !hotspot_field_at(l, h->pid, HOTSPOT_MONITOR_CONTENTIONS, at, &contentions) ||
		    !hotspot_field_at(l, h->pid, HOTSPOT_MONITOR_OWNER, at, &owner))
			return false;
		if ((int64_t)contentions > 0) {
			const struct hotspot_contended one = { object_of(h, at), owner };

			g_array_append_val(ret, one);
		}
		if (!hotspot_field_at(l, h->pid, HOTSPOT_MONITOR_NEXT, at, &at))
			return false;
	}
	return true;
}
