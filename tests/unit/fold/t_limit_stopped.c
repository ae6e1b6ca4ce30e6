/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who is stopped while others wait for it, from a /proc of files. */
#include "fold/limits/limits.h"

#include <unistd.h>

#include "proc_files.h"

#define MS UINT64_C(1000000)

/* A wait of half of the window, which was not over at its end. */
static struct profile *window_new(const struct object *o)
{
	struct profile *p = profile_new();
	const uint32_t t = fixture_thread(p, 10, 11, "app", "app");
	const struct wait w = { .thread = t, .state = 'S', .count = 1, .max_ns = 500 * MS, .blocked_ns = 500 * MS, .flags = WAIT_OPEN_AT_END };

	profile_add_wait(p, &w);
	p->info.duration_ns = 1000 * MS;
	if (o)
		fixture_is_for(p, 0, o);
	return p;
}

static void look(struct profile *p)
{
	g_autofree char *proc = g_build_filename(folder, "proc", NULL);
	struct group_limits *groups = group_limits_new(proc);
	struct net_looks *looks = net_looks_new(proc);

	limits_look(p, groups, looks, proc);
	net_looks_free(looks);
	group_limits_free(groups);
}

static void assert_stopped(const struct profile *p, uint32_t awaited, uint32_t by, const char *name)
{
	const struct profile_limit *l = profile_stopped(p, profile_wait(p, 0));

	g_assert_cmpstr(l ? l->text : NULL, ==, name);
	g_assert_true(!l || (l->pid == awaited && limit_stopped_pid(l) == by));
}

/* The holder of a shared lock, one of whose threads has it, and the holder of a file's; not whom a debugger has stopped. */
static void test_stopped_holders(void)
{
	enum { MUTEX, PRIVATE, FILE_LOCK, OWN_DEBUGGEE, RUNS, CASES };

	for (unsigned i = 0; i < CASES; i++) {
		const struct object lock = { .kind = LOCK_MUTEX, .is_private = i == PRIVATE, .operation = "", .name = "/dev/shm/t+0x0",
					     .place = "/dev/shm/t", .holder_tid = 21 };
		const struct object child = { .kind = OBJECT_CHILD, .operation = "", .name = "reaper", .place = "", .pid = 20 };
		struct profile *p = window_new(i == FILE_LOCK ? NULL : i == OWN_DEBUGGEE ? &child : &lock);

		begin();
		if (i == FILE_LOCK)
			g_array_index(p->waits, struct wait, 0).kernel =
				fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "__do_sys_flock@[kernel] locks_lock_inode_wait@[kernel]");
		put("proc/locks", "1: FLOCK  ADVISORY  WRITE 20 fe:00:12 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 10 fe:00:12 0 EOF\n");
		put("proc/20/comm", "reaper\n");
		put("proc/20/task/20/status", "Name:\treaper\nState:\tT (stopped)\nTgid:\t20\nTracerPid:\t%u\n", i == OWN_DEBUGGEE ? 10 : 0);
		put("proc/21/task/21/status", "Name:\tworker\nState:\t%s\nTgid:\t20\n", i == RUNS ? "S (sleeping)" : "T (stopped)");
		look(p);
		assert_stopped(p, i == FILE_LOCK ? 20 : 21, 20, i == MUTEX || i == FILE_LOCK ? "reaper" : NULL);
		end(p);
	}
}

/* Who shares the memory of what nobody holds: a semaphore in the same file, also one whose name is gone. */
static void test_stopped_sharer(void)
{
	static const struct { const char *place, *path; unsigned inode; uint64_t waited_ns; bool is_told; } cases[] = {
		{ "/dev/shm/frames", "/dev/shm/frames", 5, 500 * MS, true },
		{ "/dev/shm/sem.* (deleted)", "/dev/shm/sem.xYz (deleted)", 5, 500 * MS, true },
		{ "/dev/shm/frames", "/dev/shm/frames", 6, 500 * MS, false },
		{ "/dev/shm/frames", "/dev/shm/frames", 5, 400 * MS, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct object o = { .kind = LOCK_SEMAPHORE, .operation = "", .name = "frames", .place = cases[i].place };
		struct profile *p = window_new(&o);

		begin();
		g_array_index(p->waits, struct wait, 0).max_ns = cases[i].waited_ns;
		put("proc/10/maps", "7f0000000000-7f0000001000 rw-s 00000000 00:18 5                          %s\n", cases[i].path);
		put("proc/20/maps", "7f0000000000-7f0000001000 rw-s 00000000 00:18 %u                          %s\n", cases[i].inode,
		    cases[i].path);
		put("proc/20/comm", "encoder\n");
		put("proc/20/task/20/status", "Name:\tencoder\nState:\tT (stopped)\nTgid:\t20\n");
		look(p);
		assert_stopped(p, 20, 20, cases[i].is_told ? "encoder" : NULL);
		end(p);
	}
}

/* Connections wait at a server's address, and its child that accepts them is stopped; so are all, or another one goes on. */
static void test_stopped_worker(void)
{
	static const struct { const char *states; unsigned queued; bool is_told; } cases[] = {
		{ "T", 3, true }, { "TT", 3, true }, { "TS", 3, false }, { "S", 3, false }, { "T", 0, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct object o = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:8000 (gunicorn)", .place = "tcp", .pid = 20 };
		struct profile *p = window_new(&o);

		begin();
		put("proc/10/net/tcp", "  sl  local_address ...\n   0: 0100007F:1F40 00000000:0000 0A 00000000:%08X 00:00000000 00000000 0 0 77 1 x\n",
		    cases[i].queued);
		put("proc/10/ns/net", "%s", "");
		put("proc/20/task/20/status", "Name:\tgunicorn\nState:\tS (sleeping)\nTgid:\t20\n");
		put("proc/20/task/20/children", "%s", cases[i].states[1] ? "21 22 " : "21 ");
		for (unsigned k = 0; cases[i].states[k]; k++) {
			g_autofree char *status = g_strdup_printf("proc/%u/task/%u/status", 21 + k, 21 + k);
			g_autofree char *dir = g_strdup_printf("%s/proc/%u/fd", folder, 21 + k), *fd = g_strdup_printf("%s/5", dir);

			put(status, "Name:\tgunicorn\nState:\t%c (whatever)\nTgid:\t%u\n", cases[i].states[k], 21 + k);
			g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
			g_assert_cmpint(symlink("socket:[77]", fd), ==, 0);
		}
		look(p);
		assert_stopped(p, 20, cases[i].states[1] ? 22 : 21, cases[i].is_told ? "gunicorn" : NULL);
		end(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/limits/stopped/holders", test_stopped_holders);
	g_test_add_func("/limits/stopped/sharer", test_stopped_sharer);
	g_test_add_func("/limits/stopped/worker", test_stopped_worker);
	return g_test_run();
}
