/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/objects.h"

#include <linux/futex.h>
#include <string.h>

#include "base/module.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13	/* Linux 5.14 */
#endif

#define FRAMES_MAX 24	/* frames to check, innermost first */

struct rule {
	const char *begins;
	enum lock_kind kind;
};

/* Functions of libc, without leading underscores. */
static const struct rule libc_rules[] = {
	{ "pthread_mutex_", LOCK_MUTEX }, { "mtx_", LOCK_MUTEX },
	{ "pthread_cond_", LOCK_CONDITION }, { "cnd_", LOCK_CONDITION },
	{ "pthread_rwlock_", LOCK_RWLOCK },
	{ "sem_wait", LOCK_SEMAPHORE }, { "sem_timedwait", LOCK_SEMAPHORE }, { "sem_clockwait", LOCK_SEMAPHORE },
	{ "new_sem_wait", LOCK_SEMAPHORE },
	{ "pthread_barrier_", LOCK_BARRIER },
	{ "pthread_join", LOCK_JOIN }, { "pthread_timedjoin", LOCK_JOIN }, { "pthread_clockjoin", LOCK_JOIN },
	{ "thrd_join", LOCK_JOIN },
	{ "pthread_once", LOCK_ONCE }, { "call_once", LOCK_ONCE },
};

/* Functions of others, anywhere in the name: "a::Mutex::lock" and, as newer Rust mangles it, "<a::Mutex>::lock". */
static const struct rule other_rules[] = {
	{ "mutex::futex::Mutex", LOCK_MUTEX }, { "futex_mutex::Mutex", LOCK_MUTEX },
	{ "condvar::futex::Condvar", LOCK_CONDITION }, { "futex_condvar::Condvar", LOCK_CONDITION },
	{ "rwlock::futex::RwLock", LOCK_RWLOCK }, { "futex_rwlock::RwLock", LOCK_RWLOCK },
	{ "once::futex::Once", LOCK_ONCE }, { "cxa_guard_acquire", LOCK_ONCE },
	{ "std::thread::park", LOCK_PARK }, { "std::thread::functions::park", LOCK_PARK },
	{ "std::thread::thread::Thread>::park", LOCK_PARK }, { "std::thread::thread::Thread::park", LOCK_PARK },
	{ "thread_parking::futex::Parker", LOCK_PARK },
	{ "parking_lot::raw_mutex::RawMutex", LOCK_MUTEX }, { "parking_lot::raw_rwlock::RawRwLock", LOCK_RWLOCK },
	{ "parking_lot::condvar::Condvar", LOCK_CONDITION },
};

/* The loader has locks, too. */
static bool is_libc(const char *module)
{
	return module && (module_is_libc(module) || g_str_has_prefix(module_base_name(module), "ld-"));
}

static bool by_rules(const char *name, const struct rule *rules, size_t cnt, bool anywhere, enum lock_kind *ret_kind)
{
	for (size_t i = 0; i < cnt; i++) {
		if (anywhere ? !strstr(name, rules[i].begins) : !g_str_has_prefix(name, rules[i].begins))
			continue;
		*ret_kind = rules[i].kind;
		return true;
	}
	return false;
}

/*
 * A condition variable takes its mutex again before it returns, in a nested function with a plain wait. The wait for
 * the condition has, or could have, a time limit. glibc before 2.32 waits plainly for both, but for the condition in
 * the outer function itself. musl waits plainly for both and takes the mutex in a function with a name.
 */
static enum lock_kind of_condition(const struct frame *f, uint32_t op, bool is_innermost)
{
	return (op & FUTEX_CMD_MASK) == FUTEX_WAIT && !is_innermost && !module_is_musl(f->module) ? LOCK_MUTEX
												    : LOCK_CONDITION;
}

static enum lock_kind by_frames(const struct profile *p, uint32_t user, uint32_t op)
{
	bool in_libc = false, is_innermost = true;
	unsigned left = FRAMES_MAX;

	for (uint32_t n = user; n && left--; n = profile_get_node(p, n)->parent, is_innermost = false) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, n)->frame);
		const char *name = f->name ? f->name : "";
		enum lock_kind kind;

		if (by_rules(name, other_rules, G_N_ELEMENTS(other_rules), true, &kind))
			return kind;
		while (*name == '_')
			name++;
		/* statically linked programs contain libc */
		if (!is_libc(f->module) && !g_str_has_prefix(name, "pthread_")) {
			if (in_libc)
				return LOCK_LIBC;
			continue;
		}
		if (strcmp(name, "syscall") == 0)
			continue;	/* the caller created the lock */
		if (!is_innermost && !in_libc && is_libc(f->module))
			return LOCK_FUTEX;	/* the caller is a callback from libc, not libc itself */
		if (by_rules(name, libc_rules, G_N_ELEMENTS(libc_rules), false, &kind))
			return kind == LOCK_CONDITION ? of_condition(f, op, is_innermost) : kind;
		in_libc = true;
	}
	return LOCK_FUTEX;
}

enum lock_kind lock_kind_of(const struct profile *p, uint32_t user, uint32_t op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2: return LOCK_MUTEX;
	case FUTEX_WAIT_REQUEUE_PI: return LOCK_CONDITION;
	case OFFCPU_FUTEX_WAITV: return LOCK_FUTEX;
	default: return by_frames(p, user, op);
	}
}

const char *lock_operation(uint32_t op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT: return "FUTEX_WAIT";
	case FUTEX_LOCK_PI: return "FUTEX_LOCK_PI";
	case FUTEX_WAIT_BITSET: return "FUTEX_WAIT_BITSET";
	case FUTEX_WAIT_REQUEUE_PI: return "FUTEX_WAIT_REQUEUE_PI";
	case FUTEX_LOCK_PI2: return "FUTEX_LOCK_PI2";
	case OFFCPU_FUTEX_WAITV: return "futex_waitv";
	default: return "futex";
	}
}

enum lock_kind lock_kind_by_holder(enum lock_kind kind, enum offcpu_holder holder)
{
	if (kind != LOCK_LIBC)
		return kind;
	switch (holder) {
	case OFFCPU_HOLDER_MUTEX: return LOCK_MUTEX;
	case OFFCPU_HOLDER_RWLOCK: return LOCK_RWLOCK;
	case OFFCPU_HOLDER_JOIN: return LOCK_JOIN;
	case OFFCPU_HOLDER_SEMAPHORE: return LOCK_SEMAPHORE;
	default: return kind;
	}
}

bool lock_holder_is_sure(enum lock_kind kind, enum offcpu_holder holder)
{
	switch (holder) {
	case OFFCPU_HOLDER_PI: return true;
	case OFFCPU_HOLDER_MUTEX: return kind == LOCK_MUTEX;
	case OFFCPU_HOLDER_RWLOCK: return kind == LOCK_RWLOCK;
	case OFFCPU_HOLDER_JOIN: return kind == LOCK_JOIN;
	case OFFCPU_HOLDER_SEMAPHORE:
	case OFFCPU_HOLDER_NONE: break;
	}
	return false;
}
