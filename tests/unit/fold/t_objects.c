/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/objects.h"

#include <linux/futex.h>
#include <unistd.h>

/* Locks of this very process. */
uint64_t fold_objects_test_words[16];

struct fixture {
	struct profile *profile;
	struct fold_objects *objects;
};

static void set_up(struct fixture *x, gconstpointer data)
{
	x->profile = profile_new();
	x->objects = fold_objects_new(x->profile, "/proc", "/nowhere");
}

static void tear_down(struct fixture *x, gconstpointer data)
{
	fold_objects_free(x->objects);
	profile_free(x->profile);
}

static void send(struct fixture *x, uint64_t id, uint32_t op, const void *at, uint32_t holder, enum offcpu_holder by)
{
	const struct offcpu_rec_object rec = {
		.type = OFFCPU_REC_OBJECT, .id = id, .op = op, .pid = (uint32_t)getpid(), .cnt = 1, .holder = holder,
		.holder_kind = (uint8_t)by, .addr = { (uint64_t)(uintptr_t)at },
	};

	fold_objects_add(x->objects, &rec, sizeof(rec));
}

static uint32_t stack(struct profile *p, const char *inner, const char *module)
{
	struct frame outer = { .name = "work", .module = "/bin/app" }, f = { .name = inner, .module = module };

	return profile_node(p, profile_node(p, 0, profile_frame(p, &outer)), profile_frame(p, &f));
}

static uint32_t kernel_stack(struct profile *p, const char *name)
{
	struct frame f = { .name = name, .module = "[kernel]", .kind = FRAME_KERNEL };

	return profile_node(p, 0, profile_frame(p, &f));
}

static const struct object *object_of(const struct fixture *x, uint32_t index)
{
	g_assert_cmpuint(index, >, 0);
	return profile_get_object(x->profile, index - 1);
}

static void test_mutex(struct fixture *x, gconstpointer data)
{
	uint32_t user = stack(x->profile, "pthread_mutex_lock", "libc.so.6"), own = stack(x->profile, "own_lock", "/bin/app");
	const struct object *o;

	send(x, 5, FUTEX_WAIT_PRIVATE, &fold_objects_test_words[2], (uint32_t)getpid(), OFFCPU_HOLDER_MUTEX);
	o = object_of(x, fold_objects_wait(x->objects, 5, user, 0));
	g_assert_cmpint(o->kind, ==, LOCK_MUTEX);
	g_assert_cmpstr(o->name, ==, "fold_objects_test_words+0x10");
	g_assert_cmpstr(o->operation, ==, "FUTEX_WAIT");
	g_assert_cmpuint(o->holder_tid, ==, (guint)getpid());
	g_assert_cmpuint(o->pid, ==, (guint)getpid());
	g_assert_cmpuint(o->addr, ==, (uintptr_t)&fold_objects_test_words[2]);
	g_assert_true(o->is_private);
	/* the same word of a lock that is no mutex: nobody is blamed */
	o = object_of(x, fold_objects_wait(x->objects, 5, own, 0));
	g_assert_cmpint(o->kind, ==, LOCK_FUTEX);
	g_assert_cmpuint(o->holder_tid, ==, 0);
}

/* The two words of a condition variable are one lock. */
static void test_condition(struct fixture *x, gconstpointer data)
{
	uint32_t user = stack(x->profile, "pthread_cond_wait", "libc.so.6"), a, b;

	send(x, 1, FUTEX_WAIT_BITSET_PRIVATE, &fold_objects_test_words[5], 0, OFFCPU_HOLDER_NONE);
	send(x, 2, FUTEX_WAIT_BITSET_PRIVATE, (char *)&fold_objects_test_words[5] + 4, 0, OFFCPU_HOLDER_NONE);
	a = fold_objects_wait(x->objects, 1, user, 0);
	b = fold_objects_wait(x->objects, 2, user, 0);
	g_assert_cmpuint(a, ==, b);
	g_assert_cmpint(object_of(x, a)->kind, ==, LOCK_CONDITION);
	g_assert_cmpstr(object_of(x, a)->name, ==, "fold_objects_test_words+0x28");
}

static void test_join(struct fixture *x, gconstpointer data)
{
	uint32_t user = stack(x->profile, "pthread_join", "libc.so.6");
	g_autofree char *name = g_strdup_printf("thread %d", (int)getpid());

	send(x, 1, FUTEX_WAIT_BITSET, &fold_objects_test_words[0], (uint32_t)getpid(), OFFCPU_HOLDER_JOIN);
	g_assert_cmpstr(object_of(x, fold_objects_wait(x->objects, 1, user, 0))->name, ==, name);
}

/* libc without its debug symbols: no frame has a name.  Who is joined has ended, too. */
static void test_stripped(struct fixture *x, gconstpointer data)
{
	const uint32_t gone = 4194304;	/* no thread has this id: they are below */
	uint32_t user = stack(x->profile, NULL, "libc.so.6");
	const struct object *o;

	send(x, 1, FUTEX_WAIT_BITSET, &fold_objects_test_words[0], gone, OFFCPU_HOLDER_JOIN);
	send(x, 2, FUTEX_WAIT_BITSET_PRIVATE, &fold_objects_test_words[2], 0, OFFCPU_HOLDER_SEMAPHORE);
	send(x, 3, FUTEX_WAIT_PRIVATE, &fold_objects_test_words[4], gone, OFFCPU_HOLDER_MUTEX);
	o = object_of(x, fold_objects_wait(x->objects, 1, user, 0));
	g_assert_cmpint(o->kind, ==, LOCK_JOIN);
	g_assert_cmpuint(o->holder_tid, ==, gone);
	g_assert_cmpstr(o->name, ==, "thread 4194304");
	o = object_of(x, fold_objects_wait(x->objects, 2, user, 0));
	g_assert_cmpint(o->kind, ==, LOCK_SEMAPHORE);
	g_assert_cmpuint(o->holder_tid, ==, 0);
	g_assert_cmpint(object_of(x, fold_objects_wait(x->objects, 3, user, 0))->kind, ==, LOCK_LIBC);
}

/* The registers are those of a call that is over. */
static void test_elsewhere(struct fixture *x, gconstpointer data)
{
	uint32_t user = stack(x->profile, "pthread_mutex_lock", "libc.so.6");

	send(x, 1, FUTEX_WAIT_PRIVATE, &fold_objects_test_words[0], 0, OFFCPU_HOLDER_NONE);
	g_assert_cmpuint(fold_objects_wait(x->objects, 1, user, kernel_stack(x->profile, "do_freezer_trap")), ==, 0);
	g_assert_cmpuint(fold_objects_wait(x->objects, 1, user, kernel_stack(x->profile, "futex_wait_queue")), >, 0);
	g_assert_cmpuint(fold_objects_wait(x->objects, 77, user, 0), ==, 0);
	g_assert_cmpuint(fold_objects_wait(x->objects, 0, user, 0), ==, 0);
}

/* An interpreter's lock: with its holder, and the same futex before the kernel programs knew of it. */
static void test_gil(struct fixture *x, gconstpointer data)
{
	uint32_t user = stack(x->profile, "pthread_cond_timedwait", "libc.so.6"), a, b;
	const char *gil = (const char *)&fold_objects_test_words[0];
	const struct offcpu_rec_language rec = {
		.type = OFFCPU_REC_GIL, .id = 3, .ustack = (uintptr_t)gil, .pid = (uint32_t)getpid(), .holder = (uint32_t)getpid(),
	};

	send(x, 1, FUTEX_WAIT_BITSET_PRIVATE, gil + OFFCPU_GIL_COND_AT + 8, 0, OFFCPU_HOLDER_NONE);
	send(x, 2, FUTEX_WAIT_BITSET_PRIVATE, gil + 8, 0, OFFCPU_HOLDER_NONE);
	g_assert_false(object_is_gil(object_of(x, fold_objects_wait(x->objects, 1, user, 0))));
	fold_objects_add_gil(x->objects, &rec, "crunch (app.py:12) < main (app.py:40)");
	a = fold_objects_wait(x->objects, 3, user, 0);
	g_assert_true(object_is_gil(object_of(x, a)));
	g_assert_cmpuint(object_of(x, a)->holder_tid, ==, (guint)getpid());
	g_assert_cmpstr(object_of(x, a)->place, ==, "crunch (app.py:12) < main (app.py:40)");
	b = fold_objects_wait(x->objects, 1, user, 0);
	g_assert_true(object_is_gil(object_of(x, b)));
	g_assert_cmpuint(object_of(x, b)->holder_tid, ==, 0);
	g_assert_cmpuint(object_of(x, b)->addr, ==, object_of(x, a)->addr);
	/* beside it */
	g_assert_false(object_is_gil(object_of(x, fold_objects_wait(x->objects, 2, user, 0))));
	g_assert_cmpuint(fold_objects_wait(x->objects, 3, user, kernel_stack(x->profile, "do_freezer_trap")), ==, 0);
}

static void test_bad_records(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_object rec = { .id = 9, .op = OFFCPU_FUTEX_WAITV, .pid = (uint32_t)getpid(), .cnt = 65535 };

	fold_objects_add(x->objects, &rec, sizeof(rec) - 1);
	g_assert_cmpuint(fold_objects_wait(x->objects, 9, 0, 0), ==, 0);
	fold_objects_add(x->objects, &rec, sizeof(rec));
	const struct object *o = object_of(x, fold_objects_wait(x->objects, 9, 0, 0));
	g_assert_true(g_str_has_suffix(o->name, " and 65527 more"));
	g_assert_cmpuint(x->profile->losses->len, ==, 1);
}

static const struct object *kernel_lock(struct fixture *x, struct offcpu_rec_kernel_lock rec, uint32_t target, uint32_t kernel)
{
	static uint64_t id;
	struct symbolizer *symbolizer = symbolizer_new();
	struct fold_kernel_locks *all = fold_kernel_locks_new(x->profile, symbolizer, "/proc");

	rec.id = ++id;
	rec.pid = (uint32_t)getpid();
	fold_kernel_locks_add(all, &rec, sizeof(rec));
	uint32_t object = fold_kernel_locks_object(all, fold_kernel_locks_find(all, id), target, kernel);
	fold_kernel_locks_free(all);
	symbolizer_free(symbolizer);
	return object == target ? NULL : object_of(x, object);
}

static void test_kernel_locks(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_kernel_lock space = { .what = OFFCPU_LOCK_MMAP, .flags = OFFCPU_LOCK_WRITES, .parts = 1, .owner = 7,
						.holder = 9, .path = { "httpd" } };
	struct offcpu_rec_kernel_lock cut = { .what = OFFCPU_LOCK_INODE, .flags = OFFCPU_LOCK_READS | OFFCPU_LOCK_HAS_READERS,
					      .parts = 2, .path = { "q", "spool" } };
	struct offcpu_rec_kernel_lock gone = { .what = OFFCPU_LOCK_INODE, .ino = 12, .dev = 254 << 20 | 1 };
	struct offcpu_rec_kernel_lock any = { .flags = OFFCPU_LOCK_MUTEX, .addr = 16 };
	struct frame take = { .name = "ext4_map_blocks", .module = "[kernel]", .kind = FRAME_KERNEL },
		     slow = { .name = "__mutex_lock", .module = "[kernel]", .kind = FRAME_KERNEL };
	uint32_t taker = profile_node(x->profile, 0, profile_frame(x->profile, &take));
	uint32_t lock = profile_node(x->profile, taker, profile_frame(x->profile, &slow));
	const struct object *o = kernel_lock(x, space, 0, lock);

	g_assert_cmpstr(o->name, ==, "mmap_lock of httpd");
	g_assert_cmpstr(o->operation, ==, "write");
	g_assert_cmpuint(o->pid, ==, 7);
	g_assert_cmpuint(o->holder_tid, ==, 9);
	g_assert_true(object_is_lock(o));
	o = kernel_lock(x, cut, 0, lock);
	g_assert_cmpstr(o->name, ==, "i_rwsem of .../spool/q");
	g_assert_cmpstr(o->operation, ==, "read, behind readers");
	g_assert_cmpstr(kernel_lock(x, gone, 0, lock)->name, ==, "i_rwsem of inode 12 of device 254:1");
	g_assert_cmpstr(kernel_lock(x, any, 0, lock)->name, ==, "taken in ext4_map_blocks");
	/* what the system call is for says more than a function; and where nobody waits for a lock it is that in any case */
	g_assert_null(kernel_lock(x, any, 77, lock));
	g_assert_null(kernel_lock(x, space, 77, taker));
}

static uint32_t kernel_path(struct profile *p, const char *outer, const char *inner)
{
	struct frame frames[] = { { .name = outer }, { .name = inner }, { .name = "schedule" } };
	uint32_t node = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(frames); i++) {
		frames[i].kind = FRAME_KERNEL;
		node = profile_node(p, node, profile_frame(p, &frames[i]));
	}
	return node;
}

static const char *journal_of(const struct fixture *x, const struct waker *waker)
{
	uint32_t object = fold_journal_object(x->profile, waker);

	return object ? object_of(x, object)->name : NULL;
}

static void test_journal(struct fixture *x, gconstpointer data)
{
	struct profile *p = x->profile;
	struct waker waker = { .tid = 9, .comm = "jbd2/vda1-8" }, timer = { .comm = "", .irq = "timer" };

	g_assert_true(fold_journal_is_awaited(p, kernel_path(p, "add_transaction_credits", "wait_transaction_locked.isra.0"), true));
	g_assert_true(fold_journal_is_awaited(p, kernel_path(p, "ext4_sync_fs", "jbd2_log_wait_commit"), false));
	/* of fsync() that is the file; room in the journal is not */
	g_assert_false(fold_journal_is_awaited(p, kernel_path(p, "ext4_sync_file", "jbd2_log_wait_commit"), true));
	g_assert_true(fold_journal_is_awaited(p, kernel_path(p, "__jbd2_log_wait_for_space", "jbd2_log_wait_commit"), true));
	g_assert_false(fold_journal_is_awaited(p, kernel_path(p, "start_this_handle", "mutex_lock"), false));
	g_assert_false(fold_journal_is_awaited(p, 0, false));

	g_assert_cmpstr(journal_of(x, &waker), ==, "vda1");
	g_assert_cmpuint(object_of(x, fold_journal_object(p, &waker))->holder_tid, ==, 9);
	waker.comm = "jbd2/nvme0n1p2-";
	g_assert_cmpstr(journal_of(x, &waker), ==, "nvme0n1p2");
	waker.comm = "jbd2/nvme10n1p1";
	g_assert_cmpstr(journal_of(x, &waker), ==, "nvme10n1p1...");
	waker.comm = "kworker/0:1";
	g_assert_null(journal_of(x, &waker));
	g_assert_null(journal_of(x, &timer));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/fold-objects/" name, struct fixture, NULL, set_up, test, tear_down)
	ADD("mutex", test_mutex);
	ADD("condition", test_condition);
	ADD("join", test_join);
	ADD("stripped", test_stripped);
	ADD("elsewhere", test_elsewhere);
	ADD("gil", test_gil);
	ADD("kernel-locks", test_kernel_locks);
	ADD("journal", test_journal);
	ADD("bad-records", test_bad_records);
	return g_test_run();
}
