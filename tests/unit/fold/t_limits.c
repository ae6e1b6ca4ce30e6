/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc_files.h"

#define MS UINT64_C(1000000)

/* Half of a second in that state. */
static struct profile *window_new(char state)
{
	struct profile *p = profile_new();
	uint32_t t = fixture_thread(p, 10, 11, "app", "app");
	struct thread *thread = &g_array_index(p->threads, struct thread, t);
	struct wait w = { .thread = t, .state = (uint8_t)state, .count = 1, .max_ns = 500 * MS };

	thread->to_ns = 1000 * MS;
	*(state == 'R' ? &w.preempted_ns : &w.blocked_ns) = 500 * MS;
	*(state == 'R' ? &thread->preempted_ns : &thread->blocked_ns) = 500 * MS;
	profile_add_wait(p, &w);
	p->info.duration_ns = 1000 * MS;
	p->info.cpus = 4;
	return p;
}

static void look_with(struct profile *p, struct group_limits *groups)
{
	g_autofree char *proc = g_build_filename(folder, "proc", NULL);
	struct net_looks *looks = net_looks_new(proc);

	limits_look(p, groups, looks, proc);
	net_looks_free(looks);
}

static void look(struct profile *p)
{
	g_autofree char *proc = g_build_filename(folder, "proc", NULL);
	struct group_limits *groups = group_limits_new(proc);

	look_with(p, groups);
	group_limits_free(groups);
}

static void remove_file(const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);

	g_assert_cmpint(g_remove(path), ==, 0);
}

static void assert_limit(const struct profile *p, enum profile_limit_kind kind, uint32_t tid, const char *text)
{
	const struct profile_limit *l = profile_find_limit(p, kind, 10, tid);

	if (text)
		g_assert_nonnull(l);
	g_assert_cmpstr(l ? l->text : NULL, ==, text);
}

static void test_version_2(void)
{
	struct profile *p;

	begin();
	put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
	put("proc/10/cgroup", "0::/outer/inner\n");
	put("cg/outer/io.max", "7:99 rbps=1048576 wbps=max riops=max wiops=120\n");
	put("cg/outer/inner/io.max", "%s", "");
	put("cg/outer/inner/memory.high", "41943040\n");
	put("cg/outer/inner/memory.current", "40894464\n");
	put("cg/outer/inner/memory.max", "max\n");
	put("cg/outer/inner/cpu.max", "20000 100000\n");
	p = window_new('D');
	look(p);
	assert_limit(p, LIMIT_DISK, 0, "reads of 7:99 at 1.00 MiB/s, writes of 7:99 at 120 a second (io.max)");
	assert_limit(p, LIMIT_MEMORY, 0, "40.0 MiB of memory, of which 39.0 MiB are in use (memory.high)");
	assert_limit(p, LIMIT_QUOTA, 0, NULL);	/* it did not wait for a CPU */
	profile_free(p);
	put("cg/outer/inner/memory.current", "1000000\n");
	p = window_new('D');
	look(p);
	assert_limit(p, LIMIT_MEMORY, 0, NULL);	/* there is room */
	profile_free(p);
	p = window_new('R');
	look(p);
	assert_limit(p, LIMIT_QUOTA, 0, "0.20 CPUs (cpu.max)");
	assert_limit(p, LIMIT_DISK, 0, NULL);
	end(p);
}

/* Of busy CPUs a group gets less than groups beside it that have processes, or than processes beside it. */
static void test_weight(void)
{
	static const struct {
		const char *beside, *in_beside, *in_outer, *told;
	} cases[] = {
		{ "100", "77\n", "", "cpu.weight 10, and others beside it up to 100" },
		{ "30", "77\n", "", NULL },
		{ "100", "", "", NULL },
		{ "30", "77\n", "1\n", "cpu.weight 10, and others beside it up to 100" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('R');

		begin();
		put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
		put("proc/10/cgroup", "0::/jobs/low/app\n");
		put("cg/jobs/cgroup.procs", "%s", cases[i].in_outer);
		put("cg/jobs/low/cpu.weight", "10\n");
		put("cg/jobs/low/app/cpu.weight", "100\n");
		put("cg/jobs/other/cpu.weight", "%s\n", cases[i].beside);
		put("cg/jobs/other/cgroup.procs", "%s", "");
		put("cg/jobs/other/in/cgroup.procs", "%s", cases[i].in_beside);
		look(p);
		assert_limit(p, LIMIT_WEIGHT, 0, cases[i].told);
		end(p);
	}
}

/* Asynchronous I/O is collected asleep, as if nobody were held up by a disk. */
static void test_asynchronous(void)
{
	static const struct {
		const char *kernel;
		bool is_told;
	} cases[] = {
		{ "__x64_sys_io_getevents@[kernel] read_events@[kernel]", true },
		{ "__x64_sys_io_uring_enter@[kernel] io_cqring_wait@[kernel]", true },
		{ "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');

		begin();
		put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
		put("proc/10/cgroup", "0::/shop\n");
		put("cg/shop/io.max", "7:99 rbps=max wbps=max riops=max wiops=40\n");
		g_array_index(p->waits, struct wait, 0).kernel =
			fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].kernel);
		look(p);
		assert_limit(p, LIMIT_DISK, 0, cases[i].is_told ? "writes of 7:99 at 40 a second (io.max)" : NULL);
		end(p);
	}
}

static void test_version_1(void)
{
	struct profile *p;

	begin();
	put("proc/self/mounts", "cgroup %s/b cgroup rw,blkio 0 0\ncgroup %s/c cgroup rw,cpu,cpuacct 0 0\ncgroup %s/m cgroup rw,memory 0 0\n",
	    folder, folder, folder);
	put("proc/10/cgroup", "7:blkio:/slow\n4:memory:/../outside\n3:cpu,cpuacct:/q\n0::/\n");
	put("b/slow/blkio.throttle.read_bps_device", "7:99 2097152\n");
	put("b/slow/blkio.throttle.write_iops_device", "%s", "");
	put("outside/memory.limit_in_bytes", "1\n");
	put("outside/memory.usage_in_bytes", "1\n");
	put("c/q/cpu.cfs_quota_us", "50000\n");
	put("c/q/cpu.cfs_period_us", "100000\n");
	p = window_new('D');
	look(p);
	assert_limit(p, LIMIT_DISK, 0, "reads of 7:99 at 2.00 MiB/s (blkio.throttle)");
	assert_limit(p, LIMIT_MEMORY, 0, NULL);
	profile_free(p);
	p = window_new('R');
	look(p);
	assert_limit(p, LIMIT_QUOTA, 0, "0.50 CPUs (cpu.cfs_quota_us)");
	put("c/q/cpu.cfs_quota_us", "-1\n");
	profile_free(p);
	p = window_new('R');
	look(p);
	assert_limit(p, LIMIT_QUOTA, 0, NULL);
	end(p);
}

static void test_cpus(void)
{
	static const struct {
		const char *list;
		bool is_told;
	} cases[] = { { "1", true }, { "0,2-3", true }, { "0-3", false }, { "", false }, { "9-1", false } };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('R');

		begin();
		put("proc/10/task/11/status", "Name:\tapp\nCpus_allowed_list:\t%s\n", cases[i].list);
		look(p);
		assert_limit(p, LIMIT_CPUS, 11, cases[i].is_told ? cases[i].list : NULL);
		end(p);
	}
}

static void test_peers(void)
{
	static const char states[] = "TtS";

	for (unsigned i = 0; states[i]; i++) {
		struct profile *p = window_new('S');
		const struct object object = { .kind = OBJECT_SOCKET, .operation = "", .name = "unix socket (db)", .place = "unix", .pid = 10 };

		begin();
		fixture_is_for(p, 0, &object);
		g_array_index(p->waits, struct wait, 0).flags = WAIT_OPEN_AT_END;
		put("proc/10/task/10/status", "Name:\tdb\nState:\t%c (whatever)\n", states[i]);
		look(p);
		assert_limit(p, LIMIT_STOPPED, 0, states[i] == 'S' ? NULL : "db");
		end(p);
	}
}

/* The outermost group that is frozen; of what was thawed its own; none of the root, which cannot be frozen. */
static void test_frozen(void)
{
	static const struct {
		const char *outer, *inner, *first, *path, *told;
	} cases[] = {
		{ "1", "1", "THAWED", "/outer/inner", "/outer" },
		{ "0", "1", "THAWED", "/outer/inner", "/outer/inner" },
		{ "0", "0", "FROZEN", "/outer/inner", "/pay" },
		{ "0", "0", "THAWED", "/outer/inner", "/pay" },
		{ "0", "0", NULL, "/outer/inner", "/outer/inner" },
		{ "0", "0", NULL, "/", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('T');

		begin();
		put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\ncgroup %s/f cgroup rw,freezer 0 0\n", folder, folder);
		put("proc/10/cgroup", "9:freezer:%s\n0::%s\n", cases[i].first ? "/pay" : "/", cases[i].path);
		put("cg/outer/cgroup.freeze", "%s\n", cases[i].outer);
		put("cg/outer/inner/cgroup.freeze", "%s\n", cases[i].inner);
		put("f/pay/freezer.self_freezing", "%d\n", !g_strcmp0(cases[i].first, "FROZEN"));
		look(p);
		assert_limit(p, LIMIT_FROZEN, 0, cases[i].told);
		end(p);
	}
}

static void put_socket(GString *table, unsigned inode, unsigned local_port, unsigned remote_port, unsigned state)
{
	g_autofree char *fd = g_strdup_printf("%s/proc/20/fd/%u", folder, inode), *link = g_strdup_printf("socket:[%u]", inode);

	g_string_append_printf(table, "   0: 0100007F:%04X %s:%04X %02X 00000000:00000000 00:00000000 00000000 0 0 %u 1 x\n",
			       local_port, state == 10 ? "00000000" : "0100007F", remote_port, state, inode);
	g_assert_cmpint(symlink(link, fd), ==, 0);
}

/* A process that others wait for: connections of its own, and its clients'. */
static void test_pool(void)
{
	static const struct {
		unsigned clients, made, elsewhere;
		uint64_t waited_ns;
		const char *told;
	} cases[] = {
		{ 5, 2, 0, 5000 * MS, "2 of 2 connections to 127.0.0.1:5432, for 5 from clients" },
		{ 5, 2, 1, 5000 * MS, "2 of 3 connections to 127.0.0.1:5432, for 5 from clients" },
		{ 5, 5, 0, 5000 * MS, NULL },
		{ 5, 0, 0, 5000 * MS, NULL },
		{ 5, 2, 0, 1900 * MS, NULL },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		const struct object object = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:6432 (proxy)", .place = "tcp", .pid = 20 };
		g_autoptr(GString) table = g_string_new("  sl  local_address ...\n");

		begin();
		put("proc/20/fd/README", "%s", "no socket");
		put_socket(table, 1000, 6432, 0, 10);
		for (unsigned c = 0; c < cases[i].clients; c++)
			put_socket(table, 1100 + c, 6432, 40000 + c, 1);
		for (unsigned c = 0; c < cases[i].made; c++)
			put_socket(table, 1200 + c, 50000 + c, 5432, 1);
		for (unsigned c = 0; c < cases[i].elsewhere; c++)
			put_socket(table, 1300 + c, 51000 + c, 9999, 1);
		put("proc/20/net/tcp", "%s", table->str);
		put("proc/20/ns/net", "%s", "");
		fixture_is_for(p, 0, &object);
		g_array_index(p->waits, struct wait, 0).blocked_ns = cases[i].waited_ns;
		look(p);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_POOL, 20, 0);
		g_assert_cmpstr(l ? l->text : NULL, ==, cases[i].told);
		end(p);
	}
}

/* A stream socket that listens at that abstract name, or is connected to it. */
static int unix_socket(const char *name, bool listens)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int bytes = g_snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);

	if (listens)
		g_assert_cmpint(bind(fd, (struct sockaddr *)&address, len) | listen(fd, 8), ==, 0);
	else
		g_assert_cmpint(connect(fd, (struct sockaddr *)&address, len), ==, 0);
	return fd;
}

/* The same by Unix sockets: a child that accepted three connections of ours, and made one to us. */
static void test_pool_of_unix(void)
{
	g_autofree char *up = g_strdup_printf("offcpu-up-%d", getpid()), *down = g_strdup_printf("offcpu-down-%d", getpid());
	g_autofree char *told = g_strdup_printf("1 of 1 connections to @%s, for 3 from clients", up);
	struct profile *p = profile_new();
	struct net_tables *nets = net_tables_new("/proc");
	int listens = unix_socket(up, true), pid, ready[2];
	char byte;

	g_assert_cmpint(pipe(ready), ==, 0);
	pid = fork();
	if (!pid) {
		int fd = unix_socket(down, true);

		unix_socket(up, false);
		g_assert_cmpint(write(ready[1], "x", 1), ==, 1);
		for (unsigned i = 0; i < 3; i++)
			g_assert_cmpint(accept(fd, NULL, NULL), >=, 0);
		g_assert_cmpint(write(ready[1], "x", 1), ==, 1);
		pause();
	}
	g_assert_cmpint(accept(listens, NULL, NULL), >=, 0);
	g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
	for (unsigned i = 0; i < 3; i++)
		unix_socket(down, false);
	g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
	if (net_tables_unix(nets))	/* else the kernel does not tell */
		pool_look(p, nets, NULL, "/proc", (uint32_t)pid);
	const struct profile_limit *l = profile_find_limit(p, LIMIT_POOL, (uint32_t)pid, 0);
	g_assert_cmpstr(l ? l->text : NULL, ==, net_tables_unix(nets) ? told : NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	net_tables_free(nets);
	profile_free(p);
}

/* Who has the lock of a file that a process waits for as the recording ends. */
static void test_file_locks(void)
{
	static const struct { const char *text, *told; } cases[] = {
		{ "1: FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 10 fe:00:12 0 EOF\n", "77" },
		{ "1: FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 9 fe:00:12 0 EOF\n"
		  "1:    -> FLOCK  ADVISORY  WRITE 10 fe:00:12 0 EOF\n", "77" },
		{ "1: FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF\n2: POSIX  ADVISORY  WRITE 10 fe:00:12 0 EOF\n", NULL },
		{ "1: -> FLOCK  ADVISORY  WRITE 10 fe:00:12 0 EOF\n", NULL },
		{ "nonsense\n", NULL },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		struct wait *w = &g_array_index(p->waits, struct wait, 0);

		begin();
		put("proc/locks", "%s", cases[i].text);
		w->flags = WAIT_OPEN_AT_END;
		w->kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "__do_sys_flock@[kernel] locks_lock_inode_wait@[kernel]");
		look(p);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_FILE_LOCK, 10, 0);
		g_assert_cmpstr(l ? l->text : NULL, ==, cases[i].told);
		end(p);
	}
}

/* flock(1) took it for the shell that handed it the open file, whose next flock(1) waits for another one. */
static void test_file_lock_of_shell(void)
{
	static const struct { uint32_t keeper; const char *wchan, *told; } cases[] = {
		{ 5, "do_wait", "5 12" }, { 5, "hrtimer_nanosleep", "5" }, { 99, "do_wait", "77 0 my job" } /* younger: it has inherited it */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		struct wait *w = &g_array_index(p->waits, struct wait, 0);
		g_autofree char *fdinfo = g_strdup_printf("proc/%u/fdinfo/9", cases[i].keeper);

		begin();
		put("proc/locks", "1: FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 10 fe:00:12 0 EOF\n");
		put(fdinfo, "pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF\n");
		put("proc/77/comm", "my job\n");
		put("proc/5/status", "Name:\tsh\nState:\tS (sleeping)\n");
		put("proc/5/wchan", "%s", cases[i].wchan);
		put("proc/5/task/5/children", "12 ");
		put("proc/12/status", "Name:\tflock\nState:\tS (sleeping)\n");
		put("proc/12/wchan", "locks_lock_inode_wait");
		w->flags = WAIT_OPEN_AT_END;
		w->kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "__do_sys_flock@[kernel] locks_lock_inode_wait@[kernel]");
		look(p);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_FILE_LOCK, 10, 0);
		g_assert_cmpstr(l ? l->text : NULL, ==, cases[i].told);
		end(p);
	}
}

static void test_pool_text(void)
{
	static const struct {
		const char *text;
		bool is_one;
	} cases[] = {
		{ "2 of 3 connections to [::1]:5432, for 5 from clients", true },
		{ "2 of 3 connections to [::1]:5432, for 5 from clients, of which 4 wait", true },
		{ "2 of 3 connections to [::1]:5432, for 5 from clients, of which 6 wait", false },
		{ "3 of 2 connections to [::1]:5432, for 5 from clients", false },
		{ "2 of 3 connections to [::1]:5432, for 3 from clients", false },
		{ "0 of 3 connections to x, for 5 from clients", false },
		{ "2 of 3 connections to , for 5 from clients", false },
		{ "nonsense", false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct profile_limit l = { .kind = LIMIT_POOL, .text = cases[i].text };
		struct limit_pool pool;

		g_assert_true(limit_pool_read(&l, &pool) == cases[i].is_one);
		if (cases[i].is_one)
			g_assert_cmpstr(pool.there, ==, "[::1]:5432");
	}
	g_assert_false(limit_pool_read(NULL, &(struct limit_pool){ 0 }));
}

static void test_connect_text(void)
{
	static const struct {
		const char *text;
		uint64_t cnt;	/* 0: it is none */
		enum connect_failure failure;
	} cases[] = {
		{ "35 connections to 10.0.0.5:5432: refused", 35, CONNECT_REFUSED },
		{ "1 connections to [::1]:80: unanswered", 1, CONNECT_UNANSWERED },
		{ "1 connections to [::1]:80: without a port", 1, CONNECT_NO_PORT },
		{ "0 connections to [::1]:80: refused", 0, 0 },
		{ "1 connections to [::1]:80 refused", 0, 0 },
		{ "1 connections to [::1]:80: laughed at", 0, 0 },
		{ "1 connections to [::1]:80:", 0, 0 },
		{ "", 0, 0 },
	};
	struct profile *p = profile_new();

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct profile_limit l = { .kind = LIMIT_CONNECT, .text = cases[i].text };
		struct limit_connect failed;
		bool is_one = limit_connect_read(&l, &failed);

		g_assert_true(is_one == (cases[i].cnt > 0));
		if (is_one) {
			g_assert_cmpuint(failed.cnt, ==, cases[i].cnt);
			g_assert_cmpint(failed.failure, ==, cases[i].failure);
		}
		profile_add_limit(p, LIMIT_CONNECT, 10, 11, cases[i].text);
	}
	profile_add_limit(p, LIMIT_CONNECT, 10, 12, cases[0].text);
	g_assert_cmpuint(profile_failed_connects(p, 10, 11), ==, 37);
	g_assert_cmpuint(profile_failed_connects(p, 10, 0), ==, 72);
	g_assert_cmpuint(profile_failed_connects(p, 11, 11), ==, 0);
	profile_free(p);
}

/* What the child does that a process waits for, by what /proc tells of it. */
static void test_child(void)
{
	static const struct {
		const char *children, *state, *wchan, *call, *told;
	} cases[] = {
		{ "20 ", "S (sleeping)", "hrtimer_nanosleep", "230 0x0 0x0", "20 sleeps 0 - my tool" },
		{ "20 ", "R (running)", "0", "running", "20 runs 0 - my tool" },
		{ "20 ", "T (stopped)", "do_signal_stop", "0 0x0", "20 stopped 0 - my tool" },
		{ "20 ", "D (disk sleep)", "folio_wait_bit_common", "0 0x3", "20 disk 0 - my tool" },
		{ "20 ", "S (sleeping)", "wait_woken", "0 0x1 0x0", "20 terminal 0 - my tool" },
		{ "20 ", "S (sleeping)", "wait_woken", "0 0x2 0x0", "20 events 0 - my tool" },
		{ "20 ", "S (sleeping)", "poll_schedule_timeout.constprop.0", "7 0x7ffd 0x1", "20 events 0 - my tool" },
		{ "20 ", "S (sleeping)", "do_wait", "61 0xffffffffffffffff", "30 lock 0 - deep" },	/* its own child */
		{ "20 31 ", "S (sleeping)", "hrtimer_nanosleep", "230 0x0", "20 sleeps 0 - my tool" },	/* 31 reads what 20 writes */
		{ "20 30 ", "S (sleeping)", "hrtimer_nanosleep", "230 0x0", "20 several 0 - my tool" },	/* which of them? */
		{ "20 ", "Z (zombie)", "0", "0", NULL },
		{ "21 ", "S (sleeping)", "do_wait", "61", NULL },	/* it is not there */
		{ "", "S (sleeping)", "do_wait", "61", NULL },
		{ "12 ", "S (sleeping)", "do_wait", "61", NULL },	/* it is recorded, too */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		struct wait *w = &g_array_index(p->waits, struct wait, 0);
		struct object any = { .kind = OBJECT_CHILD, .name = "any", .operation = "", .place = "" };

		fixture_thread(p, 12, 12, "known", "known");
		begin();
		put("proc/10/task/10/children", "%s", cases[i].children);
		put("proc/12/status", "%s", "Name:\tknown\nState:\tS (sleeping)\n");
		put("proc/20/status", "Name:\tmy tool\nState:\t%s\n", cases[i].state);
		put("proc/20/comm", "%s", "my tool\n");
		put("proc/20/wchan", "%s", cases[i].wchan);
		put("proc/20/syscall", "%s\n", cases[i].call);
		put("proc/20/task/20/children", "%s", "30 ");
		put("proc/30/status", "%s", "Name:\tdeep\nState:\tS (sleeping)\n");
		put("proc/30/comm", "%s", "deep\n");
		put("proc/30/wchan", "%s", "futex_wait_queue");
		put("proc/31/status", "%s", "Name:\tgzip\nState:\tS (sleeping)\n");
		put("proc/31/wchan", "%s", "anon_pipe_read");
		put("proc/20/fd/2", "%s", "a file");
		g_autofree char *fd = g_build_filename(folder, "proc/20/fd/1", NULL);
		g_assert_cmpint(symlink("/dev/pts/7", fd), ==, 0);
		w->object = profile_object(p, &any) + 1;
		w->flags = WAIT_OPEN_AT_END;
		w->kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "kernel_wait4@[kernel] do_wait@[kernel]");
		look(p);
		assert_limit(p, LIMIT_CHILD, 0, cases[i].told);
		end(p);
	}
}

/* Counts up in the files of a group and a process, as a kernel would, until it is told to end. */
static gpointer thrash(gpointer data)
{
	gint *is_over = data;

	for (uint64_t i = 1; !g_atomic_int_get(is_over); i++) {
		put("cg/shop/memory.stat", "anon 5\nworkingset_refault_anon 7\nworkingset_refault_file %" G_GUINT64_FORMAT "\n", 1000 * i);
		put("proc/10/stat", "10 (a) b) S 1 1 1 0 -1 0 0 0 0 0 %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " 0 0 20", i, 3 * i);
		g_usleep(10000);
	}
	return NULL;
}

/* A group at its limit: pages that come back tell whether they are missed. */
static void test_refaults(void)
{
	for (unsigned is_missed = 0; is_missed < 2; is_missed++) {
		struct profile *p = window_new('D');
		gint is_over = 0;
		uint32_t pct = 0;

		begin();
		put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
		put("proc/10/cgroup", "0::/shop\n");
		put("proc/10/stat", "%s", "10 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20");
		put("cg/shop/memory.max", "1000\n");
		put("cg/shop/memory.current", "990\n");
		put("cg/shop/memory.stat", "anon 5\nworkingset_refault_anon 7\nworkingset_refault_file 500000\n");
		GThread *kernel = is_missed ? g_thread_new("kernel", thrash, &is_over) : NULL;

		if (is_missed)
			g_usleep(50000);
		look(p);
		g_atomic_int_set(&is_over, 1);
		if (kernel)
			g_thread_join(kernel);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_REFAULTS, 10, 0);

		g_assert_nonnull(profile_find_limit(p, LIMIT_MEMORY, 10, 0));
		g_assert_true((limit_refaults_read(l, &pct) > 0) == (is_missed > 0));
		g_assert_cmpuint(pct, >=, is_missed ? 70 : 0);
		g_assert_cmpuint(pct, <=, is_missed ? 80 : 0);
		end(p);
	}
}

/* One child after another, of which the last had not ended: of their pipes together the time is enough, in a poll() as well. */
static void test_child_output(void)
{
	static const struct { enum object_kind kind; const char *name, *kernel; uint64_t open_ms; bool is_told; unsigned parent; } cases[] = {
		{ OBJECT_PIPE, "pipe from sh", "anon_pipe_read@[kernel]", 60, true, 10 },
		{ OBJECT_POLL, "pipe from sh and 1 more", "do_sys_poll@[kernel]", 60, true, 10 },
		{ OBJECT_PIPE, "pipe from sh", "anon_pipe_read@[kernel]", 0, false, 10 },	/* none was under way */
		{ OBJECT_SOCKET, "10.0.0.5:80", "do_sys_poll@[kernel]", 60, false, 10 },
		{ OBJECT_PIPE, "pipe from sh", "anon_pipe_read@[kernel]", 60, false, 1 },
		{ OBJECT_PIPE, "pipe to sh", "anon_pipe_write@[kernel]", 500, true, 1 },	/* a reader may be any program */
		{ OBJECT_PIPE, "pipe to sh", "anon_pipe_write@[kernel]", 60, false, 1 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		const struct object o = { .kind = (uint8_t)cases[i].kind, .name = cases[i].name, .operation = "", .place = "", .pid = 20 };
		struct wait *w = &g_array_index(p->waits, struct wait, 0);
		struct wait last = *w;

		w->blocked_ns = 450 * MS;
		w->kernel = last.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].kernel);
		w->object = last.object = profile_object(p, &o) + 1;
		last.blocked_ns = cases[i].open_ms * MS;
		last.flags = WAIT_OPEN_AT_END;
		if (cases[i].open_ms)
			profile_add_wait(p, &last);
		begin();
		put("proc/20/status", "Name:\tsh\nState:\tS (sleeping)\nPPid:\t%u\n", cases[i].parent);
		put("proc/20/comm", "%s", "sh\n");
		put("proc/20/wchan", "%s", "hrtimer_nanosleep");
		look(p);
		assert_limit(p, LIMIT_CHILD, 0, cases[i].is_told ? "20 sleeps 0 - sh" : NULL);
		end(p);
	}
}

#define UDP_LINE " 401: 0100007F:%s 00000000:0000 07 00000000:00000300 00:00000000 00000000     0        0 %u 2 0000000000000000 %u\n"

/* Datagrams that were dropped meanwhile, at a socket of the process; not those from before, nor a few. */
static void test_drops(void)
{
	static const struct { unsigned before, after, inode; const char *text; } cases[] = {
		{ 100, 150, 77, "50 datagrams dropped at :7891" }, { 100, 105, 77, NULL }, { 100, 150, 78, NULL },
		{ 0, 4000000000, 77, NULL }, { 100, 0, 77, NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		const uint32_t pid = 10;

		begin();
		put("proc/self/ns/net", "%s", "");
		put("proc/10/ns/net", "%s", "");
		put("proc/10/net/udp", UDP_LINE, "1ED3", 77, cases[i].before);
		put("proc/10/net/udp6", "%s", "junk\n");
		put("proc/10/fd/README", "%s", "");
		g_autofree char *fd = g_build_filename(folder, "proc/10/fd/4", NULL);

		g_assert_cmpint(symlink(cases[i].inode == 77 ? "socket:[77]" : "socket:[78]", fd), ==, 0);
		g_array_append_val(pids, pid);
		g_autofree char *proc = g_build_filename(folder, "proc", NULL);
		struct datagram_drops *d = datagram_drops_begin(proc, pids);

		put("proc/10/net/udp", UDP_LINE, "1ED3", 77, cases[i].after);
		datagram_drops_end(d, p);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_DROPPED, 10, 0);
		const char *where = "";

		g_assert_cmpstr(l ? l->text : NULL, ==, cases[i].text);
		if (l) {
			g_assert_cmpuint(limit_backlog_read(l, &where), ==, 50);
			g_assert_cmpstr(where, ==, ":7891");
		}
		end(p);
	}
}

/* Who uses a group's quota: the processes of groups within count, and children that have ended. */
static void test_quota_users(void)
{
	for (unsigned is_other = 0; is_other < 2; is_other++) {
		struct profile *p = window_new('R');
		g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		uint32_t pid = 10;
		struct limit_used used;

		begin();
		put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
		put("proc/10/cgroup", "0::/pod/worker\n");
		put("cg/pod/cpu.max", "20000 100000\n");
		put("cg/pod/cgroup.procs", "%s", "");
		put("cg/pod/worker/cgroup.procs", "10\n");
		put("cg/pod/sidecar/cgroup.procs", "77\n78\n");
		put("proc/10/stat", "%s", "10 (app) S 1 1 1 0 -1 0 0 0 0 0 500 0 0 0 20");
		put("proc/77/stat", "%s", "77 (ship) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20");
		put("proc/78/stat", "%s", "78 (ship) S 1 1 1 0 -1 0 0 0 0 0 1 0 0 0 20");
		put("proc/77/comm", "%s", "ship\n");
		put("proc/78/comm", "%s", "ship\n");
		g_array_append_val(pids, pid);
		g_autofree char *proc = g_build_filename(folder, "proc", NULL);
		struct quota_users *q = quota_users_begin(proc, pids);

		g_assert_nonnull(q);
		put("proc/10/stat", "%s", is_other ? "10 (app) S 1 1 1 0 -1 0 0 0 0 0 503 0 0 0 20" :
						     "10 (app) S 1 1 1 0 -1 0 0 0 0 0 999 0 0 0 20");
		put("proc/77/stat", "%s", "77 (ship) S 1 1 1 0 -1 0 0 0 0 0 1 1 4 3 20");
		put("proc/78/stat", "%s", "78 (ship) S 1 1 1 0 -1 0 0 0 0 0 2 0 0 0 20");
		look(p);
		quota_users_end(q, p);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_USED, 10, 0);

		g_assert_true((l != NULL) == (is_other > 0));
		if (l) {
			g_assert_true(limit_used_read(l, &used));
			g_assert_cmpuint(used.other_pid, ==, 77);
			g_assert_cmpstr(used.name, ==, "ship");
			/* 10 ticks and 3 */
			g_assert_cmpuint(used.other_permille, >, 3 * used.own_permille);
			g_assert_cmpuint(used.other_permille, <, 4 * used.own_permille);
		}
		g_assert_null(quota_users_begin(proc, NULL));
		end(p);
	}
}

/* A command's processes have mostly ended by the window's end, and a scope of systemd's is gone with them. */
static void test_ended(void)
{
	struct profile *p = window_new('D');

	begin();
	g_autofree char *proc = g_build_filename(folder, "proc", NULL);
	struct group_limits *groups = group_limits_new(proc);

	put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
	put("proc/9/cgroup", "0::/\n");
	put("proc/9/task/9/children", "10 ");
	put("cg/slow/io.max", "7:99 rbps=max wbps=max riops=40 wiops=max\n");
	group_limits_note_tree(groups, 9);
	put("proc/10/cgroup", "0::/\n");
	group_limits_note_tree(groups, 9);
	put("proc/10/cgroup", "0::/slow\n");	/* it has gone there itself */
	group_limits_note_tree(groups, 9);
	remove_file("proc/10/cgroup");
	remove_file("proc/10");
	remove_file("cg/slow/io.max");
	look_with(p, groups);
	assert_limit(p, LIMIT_DISK, 0, "reads of 7:99 at 40 a second (io.max)");
	profile_free(p);
	put("proc/9/cgroup", "0::/slow\n");
	put("cg/slow/io.max", "7:99 rbps=max wbps=max riops=50 wiops=max\n");
	struct group_limits *others = group_limits_new(proc);

	group_limits_note_tree(others, 9);
	p = window_new('D');
	look_with(p, others);	/* nobody looked at 10: it is a program of the command's */
	assert_limit(p, LIMIT_DISK, 0, "reads of 7:99 at 50 a second (io.max)");
	group_limits_free(groups);
	group_limits_free(others);
	end(p);
}

/* Descriptors, processes and threads: only where there is no more to be had. */
static void test_used_up(void)
{
	static const struct {
		const char *size, *files, *tasks;
		unsigned open, there, allowed;
	} cases[] = {
		{ "64", "3 of 3 descriptors", "4 processes and threads, of which 4 are there (pids.max)", 3, 4, 4 },
		{ "64", NULL, NULL, 2, 3, 4 },
		{ "64", NULL, NULL, 5, 0, 4 },	/* a sandbox */
		{ "2", NULL, NULL, 3, 0, 4 },	/* the table never was that large */
		{ "64", NULL, NULL, 1, 1, 1 },	/* nothing is to be started there */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');

		begin();
		put("proc/self/mounts", "cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
		put("proc/10/cgroup", "0::/jobs/a\n");
		put("cg/jobs/pids.max", "%u\n", cases[i].allowed);
		put("cg/jobs/pids.current", "%u\n", cases[i].there);
		put("cg/jobs/a/pids.max", "max\n");
		put("proc/10/status", "Name:\tapp\nFDSize:\t%s\n", cases[i].size);
		put("proc/10/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
				      "Max processes             9                    9                    processes \n"
				      "Max open files            3                    4096                 files     \n");
		for (unsigned fd = 0; fd < cases[i].open; fd++) {
			g_autofree char *name = g_strdup_printf("proc/10/fd/%u", fd);

			put(name, "%s", "");
		}
		look(p);
		assert_limit(p, LIMIT_FILES, 0, cases[i].files);
		assert_limit(p, LIMIT_TASKS, 0, cases[i].tasks);
		end(p);
	}
}

/* A process that waits in a call with a path is asked for it: a path from its folder, or from a folder that it has open. */
static void test_paths(void)
{
	static const struct {
		const char *kernel;
		enum object_kind kind;
		bool is_at;
	} cases[] = {
		{ "__x64_sys_openat@[kernel] fifo_open@[kernel]", OBJECT_PIPE, false },
		{ "__x64_sys_openat@[kernel] fuse_lookup@[kernel] request_wait_answer@[kernel]", OBJECT_FILE, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		begin();
		g_autofree char *path = g_build_filename(folder, "events", NULL);
		g_assert_cmpint(mkfifo(path, 0600), ==, 0);
		pid_t child = fork();

		if (child == 0) {
			int fd = open(folder, O_PATH);

			if (!cases[i].is_at && chdir(folder))
				_exit(1);
			_exit(openat(cases[i].is_at ? fd : AT_FDCWD, "events", O_WRONLY) < 0);
		}
		struct profile *p = profile_new();
		uint32_t t = fixture_thread(p, (uint32_t)child, (uint32_t)child, "app", "app");
		struct wait w = { .thread = t, .state = 'S', .count = 1, .flags = WAIT_OPEN_AT_END, .blocked_ns = 500 * MS,
				  .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].kernel) };
		const struct object *o = NULL;

		profile_add_wait(p, &w);
		for (unsigned left = 500; left && !o; left--) {
			g_usleep(10000);
			paths_look(p, "/proc");
			o = profile_wait_object(p, profile_wait(p, 0));
		}
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		g_assert_nonnull(o);
		g_assert_cmpint(o->kind, ==, cases[i].kind);
		g_assert_cmpstr(o->name, ==, path);
		end(p);
	}
}

/* What a session of PostgreSQL does that somebody waits for, by its title. */
static void test_session(void)
{
	static const struct { const char *title, *does; } cases[] = {
		{ "postgres: app shop 127.0.0.1(40202) SELECT waiting", "SELECT waiting" },
		{ "postgres: main: app shop [local] idle in transaction", "idle in transaction" },
		{ "postgres: checkpointer", NULL }, { "app 127.0.0.1(40202) SELECT waiting", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new('S');
		struct wait *w = &g_array_index(p->waits, struct wait, 0);
		const struct object o = { .kind = OBJECT_SOCKET, .name = "127.0.0.1:5432 (postgres)", .place = "tcp", .pid = 77 };

		begin();
		w->object = 1 + profile_object(p, &o);
		w->flags = WAIT_OPEN_AT_END;
		put("proc/77/cmdline", "%s", cases[i].title);
		look(p);
		assert_limit(p, LIMIT_SESSION, 11, cases[i].does);
		end(p);
	}
}

/* Who waits for a named semaphore, and whether anybody else could raise it. */
static void test_semaphore(void)
{
	static const char *const others[] = { NULL, "/dev/shm/sem.jobs", "/dev/shm/sem.jobs2" };

	for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
		struct profile *p = window_new('S');
		struct wait *w = &g_array_index(p->waits, struct wait, 0);
		const struct object o = { .kind = LOCK_SEMAPHORE, .name = "/dev/shm/sem.jobs+0x0", .place = "/dev/shm/sem.jobs" };

		begin();
		w->object = 1 + profile_object(p, &o);
		w->flags = WAIT_OPEN_AT_END | (i == 0 ? 0 : WAIT_OPEN_AT_START);
		put("proc/10/maps", "7f0000000000-7f0000001000 rw-s 00000000 00:18 5                          /dev/shm/sem.jobs\n");
		put("proc/20/comm", "printer\n");
		put("proc/20/maps", "7f0000000000-7f0000001000 rw-s 00000000 00:18 5                          %s\n",
		    others[i] ? others[i] : "[heap]");
		look(p);
		assert_limit(p, LIMIT_SEMAPHORE, 0, i == 0 ? NULL : i == 1 ? "20 printer" : "nobody");
		end(p);
	}
}

/* Calls that fail: as written, and what a forged recording may hold. */
static void test_fails_text(void)
{
	static const char *const forged[] = {
		"", "x", "4 in 2000 ns", "4 in 2000 ns, errno 2", "-4 in 2000 ns, errno 2, open", "4 in 0 ns, errno 2, open x",
		"18446744073709551615 in 2000 ns, errno 2, open x", "4 in 2000 ns, errno -1, open x",
	};
	const struct limit_fails written = { .cnt = 4, .ns = 2000, .error = 2, .call = "open", .name = "a b/c\td" };
	g_autofree char *text = limit_fails_text(&written);
	struct profile_limit l = { .kind = LIMIT_FAILS, .text = text };
	struct limit_fails read;

	g_assert_true(limit_fails_read(&l, &read));
	g_assert_cmpuint(read.cnt, ==, 4);
	g_assert_cmpuint(read.ns, ==, 2000);
	g_assert_cmpuint(read.error, ==, 2);
	g_assert_cmpstr(read.call, ==, "open");
	g_assert_cmpstr(read.name, ==, "a b/c\td");
	for (size_t i = 0; i < G_N_ELEMENTS(forged); i++) {
		l.text = forged[i];
		if (limit_fails_read(&l, &read)) {
			g_assert_cmpuint(read.cnt, <=, PROFILE_NS_MAX);
			g_assert_cmpuint(read.ns, >, 0);
		}
	}
	l = (struct profile_limit){ .kind = LIMIT_GONE, .text = text };
	g_assert_false(limit_fails_read(&l, &read));
}

/* As in a recording, and what a forged one may hold. */
static void test_text(void)
{
	struct profile *p = profile_new(), *q = profile_new();

	profile_add_limit(p, LIMIT_CPUS, 10, 11, "0-1");
	profile_add_limit(p, LIMIT_DISK, 10, 0, "reads of vda at 9 a second (io.max)");
	profile_add_limit(p, LIMIT_STOPPED, 10, 0, "two\nlines");
	g_autofree char *text = profile_limits_text(p);

	g_assert_cmpstr(text, ==, "cpus 10 11 0-1\ndisk 10 0 reads of vda at 9 a second (io.max)\n");
	profile_read_limits(q, text);
	g_assert_cmpuint(q->limits->len, ==, 2);
	g_assert_cmpstr(profile_find_limit(q, LIMIT_CPUS, 10, 11)->text, ==, "0-1");
	profile_read_limits(q, "cpus\ncpus x 1 y\nnonsense 1 1 x\ncpus 99999999999 1 x\ncpus -1 1 x\n\ndisk 1\ndisk 1 2");
	g_assert_cmpuint(q->limits->len, ==, 2);
	for (unsigned i = 0; i < 2 * PROFILE_LIMITS_MAX; i++)
		profile_read_limits(q, "cpus 1 1 x\n");
	g_assert_cmpuint(q->limits->len, ==, PROFILE_LIMITS_MAX);
	profile_free(p);
	profile_free(q);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/limits/version 2", test_version_2);
	g_test_add_func("/limits/weight", test_weight);
	g_test_add_func("/limits/version 1", test_version_1);
	g_test_add_func("/limits/asynchronous", test_asynchronous);
	g_test_add_func("/limits/cpus", test_cpus);
	g_test_add_func("/limits/peers", test_peers);
	g_test_add_func("/limits/frozen", test_frozen);
	g_test_add_func("/limits/pool", test_pool);
	g_test_add_func("/limits/pool-of-unix", test_pool_of_unix);
	g_test_add_func("/limits/file-locks", test_file_locks);
	g_test_add_func("/limits/file-lock-of-shell", test_file_lock_of_shell);
	g_test_add_func("/limits/pool-text", test_pool_text);
	g_test_add_func("/limits/connect-text", test_connect_text);
	g_test_add_func("/limits/child", test_child);
	g_test_add_func("/limits/refaults", test_refaults);
	g_test_add_func("/limits/quota-users", test_quota_users);
	g_test_add_func("/limits/drops", test_drops);
	g_test_add_func("/limits/child-output", test_child_output);
	g_test_add_func("/limits/ended", test_ended);
	g_test_add_func("/limits/used-up", test_used_up);
	g_test_add_func("/limits/paths", test_paths);
	g_test_add_func("/limits/session", test_session);
	g_test_add_func("/limits/semaphore", test_semaphore);
	g_test_add_func("/limits/fails-text", test_fails_text);
	g_test_add_func("/limits/text", test_text);
	return g_test_run();
}
