/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_OBJECT_BPF_H
#define BPF_OBJECT_BPF_H

#include "bpf/walk/gil.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk/pages.bpf.h"
#include "bpf/walk/regs.bpf.h"
#include "bpf/walk/unwind.bpf.h"

/*
 * The lock that a thread waits for (--locks). In a sleep inside the futex system calls the saved registers have their
 * arguments. They are read at switch-out, since the memory around the futex names the holder only then: at the wait's
 * end the holder has released it. The kernel cannot know the kind of lock, so the guess is sent along, and user space
 * believes it only if the thread's stack agrees (fold/objects.h).
 */

/* include/uapi/linux/futex.h */
#define FUTEX_COMMAND 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_LOCK_PI2 13		/* Linux 5.14 */
#define FUTEX_TID_MASK 0x3fffffff
#define THREADS_MAX 0x400000		/* PID_MAX_LIMIT, include/linux/threads.h */
#define SEMAPHORE_SHARED 128	/* glibc: LLL_SHARED */
#define NR_FUTEX_WAITV 449		/* Linux 5.16; on all architectures */
#define NR_FUTEX_WAIT 455		/* Linux 6.7 */

static __always_inline bool is_waiting(__u32 op)
{
	switch (op & FUTEX_COMMAND) {
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI2:
		return true;
	}
	return false;
}

/* The arguments of the thread's system call, if it waits for a futex; of futex_waitv, the address of its array. */
static __always_inline void find_futex(struct task_struct *task, struct futex_wait *f)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct syscall call;

	f->cnt = 0;
	if (!regs)
		return;
	syscall_of(regs, &call);
	if (call.nr == NR_FUTEX && is_waiting(call.second)) {
		f->op = call.second;
		f->cnt = 1;
	} else if (call.nr == NR_FUTEX_WAITV) {
		f->op = OFFCPU_FUTEX_WAITV;
		f->cnt = call.second;
	} else if (call.nr == NR_FUTEX_WAIT) {
		f->op = FUTEX_WAIT_BITSET | (call.fourth & OFFCPU_FUTEX_PRIVATE);
		f->cnt = 1;
	} else {
		return;
	}
	f->addr[0] = call.first;
	f->sp = regs->REG_SP;
	f->holder = 0;
	f->holder_kind = OFFCPU_HOLDER_NONE;
}

static __always_inline bool is_thread_id(__u32 word)
{
	return word && word <= THREADS_MAX;
}

/*
 * The holder, from the three words at the futex. Layouts are glibc's: pthread_mutex_t (lock, count, owner, users,
 * kind), the part of pthread_rwlock_t from its two futexes on (phase, writers, padding, writer, shared), struct
 * pthread (tid, unused) and sem_t (value, waiters, shared).
 */
static __always_inline void find_holder(struct futex_wait *f, const __u64 *words)
{
	bool is_first = !(f->addr[0] & 7);
	__u32 value = is_first ? words[0] : words[0] >> 32, command = f->op & FUTEX_COMMAND;
	__u32 owner = words[1], users = words[1] >> 32, kind = words[2], shared = words[2] >> 32;

	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		f->holder = value & FUTEX_TID_MASK;
		f->holder_kind = OFFCPU_HOLDER_PI;
	} else if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) {
		return;
	} else if (is_first && is_thread_id(owner) && users && users <= THREADS_MAX && kind <= 0x3ff &&
		   (value == 2 || (value & FUTEX_TID_MASK) == owner)) {
		f->holder = owner;
		f->holder_kind = OFFCPU_HOLDER_MUTEX;
	} else if (!words[1] && is_thread_id(kind) && shared <= 1 && (value == 2 || value == 3)) {
		f->holder = kind;
		f->holder_kind = OFFCPU_HOLDER_RWLOCK;
	} else if (is_first && !(f->op & OFFCPU_FUTEX_PRIVATE) && words[0] > 2 && words[0] <= THREADS_MAX) {
		f->holder = value;
		f->holder_kind = OFFCPU_HOLDER_JOIN;
	} else if (command == FUTEX_WAIT_BITSET && is_first && !value && is_thread_id(words[0] >> 32) &&
		   owner == (f->op & OFFCPU_FUTEX_PRIVATE ? 0 : SEMAPHORE_SHARED)) {
		f->holder_kind = OFFCPU_HOLDER_SEMAPHORE;
	}
}

static __always_inline bool futex_word(struct page_view *view, __u64 addr, __u64 *ret)
{
	if (view)
		return viewed_word(view, addr, ret);
	return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)addr);
}

/* struct futex_waitv: expected value, address, flags. */
static __always_inline void read_waitv(struct futex_wait *f, struct page_view *view)
{
	__u64 at = f->addr[0], flags;

	for (__u32 i = 0; i < OFFCPU_FUTEXES_MAX; i++) {
		if (i >= f->cnt)
			break;
		if (!futex_word(view, at + i * 24 + 8, &f->addr[i])) {
			f->cnt = 0;
			return;
		}
		if (i == 0 && futex_word(view, at + 16, &flags) && flags & OFFCPU_FUTEX_PRIVATE)
			f->op |= OFFCPU_FUTEX_PRIVATE;
	}
}

/*
 * Since glibc 2.43 pthread_join() waits for a state (2: joinable) in the other thread's struct pthread, and no longer
 * for the thread number. The struct is recognised by its own address in it (tcbhead_t.self, x86-64). Layout of 2.43,
 * x86-64.
 */
#define GLIBC_JOINABLE 2
#define GLIBC_SELF 16
#define GLIBC_TID 720
#define GLIBC_JOINSTATE 1576

static __always_inline void find_joined(struct futex_wait *f, struct page_view *view)
{
	__u64 pthread = f->addr[0] - GLIBC_JOINSTATE, word;

	if (!futex_word(view, pthread + GLIBC_SELF, &word) || word != pthread ||
	    !futex_word(view, pthread + GLIBC_TID, &word) || !is_thread_id(word))
		return;
	f->holder = word;
	f->holder_kind = OFFCPU_HOLDER_JOIN;
}

static __always_inline void read_holder(struct futex_wait *f, struct page_view *view)
{
	__u64 at = f->addr[0] & ~7ULL, words[3];

	if (view ? !viewed_word(view, at, &words[0]) || !viewed_word(view, at + 8, &words[1]) ||
			   !viewed_word(view, at + 16, &words[2]) :
		   bpf_probe_read_user(words, sizeof(words), (const void *)at))
		return;
	find_holder(f, words);
	if (f->holder_kind == OFFCPU_HOLDER_NONE && !(f->op & OFFCPU_FUTEX_PRIVATE) && words[0] == GLIBC_JOINABLE)
		find_joined(f, view);
}

/* Global functions, like those of unwind.bpf.h: the verifier checks them once. Reads the current thread's memory: */
__noinline int read_futex(struct futex_wait *f)
{
	if (!f)
		return 0;
	if (f->op == OFFCPU_FUTEX_WAITV)
		read_waitv(f, NULL);
	else
		read_holder(f, NULL);
	return 0;
}

/* Reads another thread's memory, through its page tables. */
__noinline int read_futex_pages(struct futex_wait *f, struct page_view *view, bool is_waiting_still)
{
	if (!f || !view)
		return 0;
	if (f->op == OFFCPU_FUTEX_WAITV)
		read_waitv(f, view);
	else if (is_waiting_still)
		read_holder(f, view);
	if (!view_held(view)) {
		f->holder = 0;
		f->holder_kind = OFFCPU_HOLDER_NONE;
		if (f->op & OFFCPU_FUTEX_WAITV)
			f->cnt = 0;
	}
	return 0;
}

/* Called at switch-out. */
static __always_inline void note_futex(struct task_struct *task, struct thread_state *st, struct scratch *scratch)
{
	if (!cfg.want_locks)
		return;
	st->futex.noted = 1;
	st->futex.cnt = 0;
	st->futex.gil_before = st->futex.gil ? st->futex.sp : 0;
	st->futex.gil = 0;
	if (st->mode != MODE_ASLEEP || st->state != OFFCPU_STATE_S || !plain(task)->mm)
		return;
	find_futex(task, &st->futex);
	if (!st->futex.cnt)
		return;
	read_futex(&st->futex);
	if (rarely(st->speaks & SPACE_HAS_LANGUAGE) && st->futex.cnt == 1)
		note_gil(task, st, scratch);
}

/* For a thread that slept already as the window began. */
static __always_inline void look_at_futex(struct task_struct *task, struct thread_state *st,
					  struct scratch *scratch, bool is_waiting_still)
{
	struct futex_wait *f = &st->futex;

	if ((!cfg.want_locks && !cfg.want_objects) || f->noted)
		return;
	f->cnt = 0;
	if (!plain(task)->mm || task->flags & PF_KTHREAD)
		return;
	find_futex(task, f);
	if (!f->cnt)
		return;
	if (direct_map) {
		view_of(&scratch->walk.view, task);
		read_futex_pages(f, &scratch->walk.view, is_waiting_still);
	} else if (f->op & OFFCPU_FUTEX_WAITV) {
		f->cnt = 0;
	}
}

__noinline __u64 object_hash(const struct futex_wait *f, __u64 seed)
{
	__u64 h;

	if (!f)
		return 1;
	h = mix(mix(seed, (__u64)f->op << 32 | f->holder), (__u64)f->holder_kind << 32 | f->cnt);
	for (__u32 i = 0; i < OFFCPU_FUTEXES_MAX; i++) {
		if (i >= f->cnt)
			break;
		h = mix(h, f->addr[i]);
	}
	return h ? h : 1;
}

/* Sends the object unless it has crossed before; returns its id, or 0 when it was not sent. */
static __always_inline __u64 intern_object(struct thread_state *st, struct offcpu_rec_object *rec)
{
	struct futex_wait *f = &st->futex;
	__u64 id = object_hash(f, stack_seed(st));

	if (id == st->seen_object)
		return id;
	if (!has_crossed(id)) {
		rec->type = OFFCPU_REC_OBJECT;
		rec->op = f->op;
		rec->id = id;
		rec->proc_start_ns = st->proc_start_ns;
		rec->pid = st->pid;
		rec->exec_no = st->exec_no;
		rec->holder = f->holder;
		rec->holder_kind = f->holder_kind;
		rec->cnt = f->cnt;
		rec->tid = st->tid;
		rec->sp = f->sp;
		__builtin_memcpy(rec->addr, f->addr, sizeof(rec->addr));
		if (!send_crossing(rec, sizeof(*rec), id, OFFCPU_LOSS_OBJECT))
			return 0;
	}
	st->seen_object = id;
	return id;
}

/* What the thread sleeps for; 0: not known. */
static __always_inline __u64 object_of_sleep(struct thread_state *st, struct scratch *scratch)
{
	if (!cfg.want_locks && !cfg.want_objects)
		return 0;
	if (st->state == OFFCPU_STATE_S && st->futex.gil)
		return st->futex.gil;
	if (st->state == OFFCPU_STATE_S && st->futex.cnt)
		return intern_object(st, &scratch->object);
	return cfg.want_objects ? st->target : 0;
}

/* What the wait that ends was for; 0: not known. */
static __always_inline __u64 object_of_wait(struct thread_state *st, struct scratch *scratch)
{
	return st->mode == MODE_ASLEEP ? object_of_sleep(st, scratch) : 0;
}

#endif
