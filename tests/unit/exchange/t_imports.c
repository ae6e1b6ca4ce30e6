/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What other tools print, in their own words; the sums are written beside it. */
#include "exchange/format.h"

#include <string.h>

#include "analyse/top.h"
#include "explain/explain.h"

#include "../fixture.h"

static struct profile *read_text(const char *text, GError **error)
{
	struct source *s = source_of_bytes(text, strlen(text));
	struct profile *p = exchange_read(s, "input", &(struct import_options){ 0 }, error);

	source_free(s);
	return p;
}

static struct profile *check(const char *text, const char *from, const char *expected)
{
	const struct folded_options options = { .unit = FOLDED_NS, .by_thread = true, .delimiter = true };
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) s = g_string_new(NULL);
	struct profile *p = read_text(text, &error);

	g_assert_no_error(error);
	folded_render(s, p, NULL, &options, NULL);
	g_assert_cmpstr(s->str, ==, expected);
	g_assert_cmpstr(p->info.imported, ==, from);
	return p;
}

static void refused(const char *text, const char *sentence)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = read_text(text, &error);

	g_assert_null(p);
	g_assert_nonnull(error);
	if (!strstr(error->message, sentence))
		g_error("\"%s\" is not in \"%s\"", sentence, error->message);
}

static const struct profile_loss *only_loss(const struct profile *p)
{
	g_assert_cmpuint(p->losses->len, ==, 1);
	return &g_array_index(p->losses, struct profile_loss, 0);
}

static void test_collapsed(void)
{
	struct profile *p = check(
		"# a comment\nmysqld;main;poll;-;schedule 12\nmysqld-7/9;main_[i];do_it_[k] 1.5\nmysqld;main;poll;-;schedule 3\n",
		"collapsed stacks (numbers taken as microseconds)",
		"mysqld-0/0;main;poll;-;schedule 15000\nmysqld-7/9;main;-;do_it 1500\n");

	g_assert_cmpuint(p->info.unknown, ==, UNKNOWN_ALL & ~(unsigned)UNKNOWN_IDS);
	profile_free(p);
	p = check("a;b 5 7\na;c 1 2\n", "collapsed stacks (second column, numbers taken as microseconds)",
		  "a-0/0;b 7000\na-0/0;c 2000\n");
	profile_free(p);
	refused("a;b 5\na;c\n", "as collapsed stacks its line 2 does not end in a whole number");
	refused("# stacks\na;b 5\na;c 1e-3\n", "as collapsed stacks its line 3 does not end in a whole number");
	profile_free(check("a;b\t5\na;c \t 1\n", "collapsed stacks (numbers taken as microseconds)", "a-0/0;b 5000\na-0/0;c 1000\n"));
	refused("a;b 99999999999999999999\n", "is not an offcpu recording");
}

/* Of offcputime -f -d and offwaketime -f: the waker's stacks stand behind "--", innermost first, its name last. */
static void test_collapsed_wakers(void)
{
	struct profile *p = check("sleeper;main;read;-;schedule;--;try_to_wake_up;ksys_write;-;write;main;writer 40\n",
				  "collapsed stacks (numbers taken as microseconds)",
				  "sleeper-0/0;main;read;-;schedule 40000\n");

	g_assert_true(p->info.has_wakers);
	g_assert_cmpuint(p->wakers->len, ==, 1);
	g_assert_cmpstr(profile_get_waker(p, 0)->comm, ==, "writer");
	g_assert_cmpuint(profile_get_node(p, profile_get_waker(p, 0)->user)->depth, ==, 2);
	g_assert_cmpstr(profile_get_frame(p, profile_get_node(p, profile_get_waker(p, 0)->user)->frame)->name, ==,
			"write");
	g_assert_cmpuint(profile_wake(p, 0)->blocked_ns, ==, 40000);
	profile_free(p);
}

static void test_offcputime(void)
{
	struct profile
		*p = check("Tracing off-CPU time (us) of all threads by user + kernel stack for 5 secs.\n\n"
			   "    finish_task_switch\n    schedule\n    do_nanosleep\n    --\n    __nanosleep\n    main\n"
			   "    -                sleep (1234)\n        1000080\n\n"
			   "    b'schedule'\n    b'[unknown]'\n    -                my (odd) name (7)\n        5\n\n",
			   "stacks with sums (numbers taken as microseconds)",
			   "my (odd) name-0/7;[unknown];schedule 5000\n"
			   "sleep-0/1234;main;__nanosleep;-;do_nanosleep;schedule;finish_task_switch 1000080000\n");

	g_assert_false(p->info.unknown & UNKNOWN_IDS);
	profile_free(p);
}

static void test_offwaketime(void)
{
	struct profile *p = check(
		"Tracing blocked time (us) by user + kernel off-CPU and waker stack for 1 secs.\n\n"
		"    waker:           make 10\n    main\n    write\n    -\n    ksys_write\n    try_to_wake_up\n"
		"    --               --\n    schedule\n    -\n    read\n    main\n    target:          cc1 99\n        77\n\n",
		"stacks with sums (numbers taken as microseconds)", "cc1-0/99;main;read;-;schedule 77000\n");

	g_assert_true(p->info.has_wakers);
	g_assert_cmpstr(profile_get_waker(p, 0)->comm, ==, "make");
	g_assert_cmpuint(profile_get_waker(p, 0)->tid, ==, 10);
	g_assert_cmpuint(profile_get_node(p, profile_get_waker(p, 0)->kernel)->depth, ==, 2);
	profile_free(p);
}

/* libbpf-tools' and bcc's; of the second libbpf's has an empty stack, and a name has a blank. */
static void test_wakeuptime(void)
{
	struct profile *p = check(
		"Tracing blocked time (us) by kernel stack\n\n"
		"\ttarget:          my server\n\tffffffff814b840d try_to_wake_up\n\tffffffff813d1808 pollwake\n"
		"\tffffffff81e2f330 __x64_sys_sendto\n\t          waker: sysbench\n\t414\n"
		"    target:          other\n    waker:           swapper/5\n        3\n",
		"stacks with sums (numbers taken as microseconds)", "my server-0/0 414000\nother-0/0 3000\n");
	const struct waker *waker = profile_get_waker(p, 0);

	g_assert_true(p->info.has_wakers);
	g_assert_true(p->info.unknown & UNKNOWN_IDS);
	g_assert_cmpstr(waker->comm, ==, "sysbench");
	g_assert_cmpuint(waker->user, ==, 0);
	g_assert_cmpuint(profile_get_node(p, waker->kernel)->depth, ==, 3);
	g_assert_cmpstr(profile_get_frame(p, profile_get_node(p, waker->kernel)->frame)->name, ==, "try_to_wake_up");
	g_assert_cmpstr(profile_get_waker(p, 1)->comm, ==, "swapper/5");
	g_assert_cmpuint(p->wakes->len, ==, 2);
	profile_free(p);
}

/* As linkers know them, from a tool that does not translate; a cut one stays. */
static void test_names_of_linkers(void)
{
	profile_free(check("mysqld;_Z10do_commandP3THD;_ZN4JOIN7prepareEv;_RNvC1a4main;_Znot 7\n",
			   "collapsed stacks (numbers taken as microseconds)",
			   "mysqld-0/0;do_command(THD*);JOIN::prepare();a::main;_Znot 7000\n"));
}

static void test_dtrace(void)
{
	profile_free(check("\n  mysqld                                            \n"
			   "              libc.so.1`__lwp_park+0x17\n              mysqld`os_event_wait+0x40\n"
			   "              libc.so.1`_lwp_start\n         12345\n\n"
			   "              libc.so.1`__read+0x15\n               55\n",
			   "stacks with sums (numbers taken as nanoseconds)",
			   "-0/0;__read 55\nmysqld-0/0;_lwp_start;os_event_wait;__lwp_park 12345\n"));
}

/* Both stacks, with the name behind them: illumos, and FreeBSD. */
static void test_dtrace_both_stacks(void)
{
	profile_free(check("dtrace: description 'sched:::off-cpu ' matched 6 probes\n\n"
			   "              genunix`cv_wait+0x61\n              zfs`zfs_read+0x19a\n              unix`sys_syscall+0x17a\n\n"
			   "              libc.so.1`__pread+0xa\n              mysqld`os_file_pread+0x8e\n"
			   "  mysqld                                                \n         12345678\n\n"
			   "              kernel`mi_switch+0xe1\n              kernel`0xffffffff80c84c3b\n\n"
			   "              sleep`main+0x2c\n  sleep   \n  ns  \n           1000\n",
			   "stacks with sums (numbers taken as nanoseconds)",
			   "mysqld-0/0;os_file_pread;__pread;-;sys_syscall;zfs_read;cv_wait 12345678\n"
			   "sleep-0/0;main;-;0xffffffff80c84c3b;mi_switch 1000\n"));
}

#define DISTRIBUTION "           value  ------------- Distribution ------------- count    \n"

/* quantize(): the sum lies between the parts' ends. */
static void test_dtrace_distributions(void)
{
	static const char key[] = "              genunix`cv_wait+0x61\n\n              libc.so.1`__read+0x15\n              app`fetch+0x9\n  app     \n";
	g_autofree char *text = g_strconcat(key, DISTRIBUTION,
					    "          262144 |                                         0        \n"
					    "          524288 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@             7\n"
					    "         1048576 |@@@@@@@@@@@@                             3        \n"
					    "         2097152 |                                         0        \n\n", NULL);
	g_autofree char *both = g_strconcat(text, key, "         9000000\n", NULL);
	g_autofree char *linear = g_strconcat(key, DISTRIBUTION, "             < 0 |                0\n               0 |@@@@@  3\n"
					      "             100 |     0\n", NULL);
	g_autofree char *cut = g_strconcat(key, DISTRIBUTION, "          262144 | 0\n          524288 |@@@@@@@  7\n", NULL);
	struct profile *p = check(text, "stacks with distributions, whose sums are estimates, at most a third off (numbers taken as nanoseconds)",
				  "app-0/0;fetch;__read;-;cv_wait 10223616\n");

	g_assert_cmpuint(profile_wait(p, 0)->count, ==, 10);
	g_assert_cmpuint(profile_wait(p, 0)->off_cpu_se_ns, ==, (7 * 524288 + 5) / 6 + (3 * 1048576 + 5) / 6);
	g_assert_cmpuint(p->info.unknown & UNKNOWN_COUNTS, ==, 0);
	profile_free(p);
	/* sums of the same waits are better */
	profile_free(check(both, "stacks with sums (numbers taken as nanoseconds)", "app-0/0;fetch;__read;-;cv_wait 9000000\n"));
	refused(linear, "none of quantize()");
	refused(cut, "none of quantize()");
}

/* The script decides what it sums: it is time off CPU where threads stop in the scheduler, else of a kind that is not named. */
static void test_systemtap(void)
{
	static const char frames[] = " 0x7f1d2c0d7e63 : epoll_wait+0x33/0x90 [/usr/lib64/libc-2.17.so]\n"
				     " 0x42f7c1 : ngx_process(int)+0x31/0x4f0 [/opt/nginx/sbin/nginx]\n 0x7f1d : 0x7f1d [/usr/lib64/libx.so]\n";
	g_autofree char *waits = g_strconcat("WARNING: Tracing 8736 (/opt/nginx/sbin/nginx)...\n"
					     " 0xffffffff8161a2c4 : schedule+0x44/0xb0 [kernel]\n"
					     " 0xffffffffc0123456 : xfs_file_read+0x1d/0x90 [xfs] (inexact)\n", frames, "\t4500\n", NULL);
	g_autofree char *samples = g_strconcat(frames, "\t7\n", NULL);
	struct profile *p = check(waits, "stacks with sums (numbers taken as microseconds)",
				  "-0/0;libx.so+0x7f1d;ngx_process(int);epoll_wait;-;xfs_file_read;schedule 4500000\n");

	g_assert_null(p->info.rows_are);
	profile_free(p);
	p = check(samples, "stacks with sums (numbers taken as microseconds)", "-0/0;libx.so+0x7f1d;ngx_process(int);epoll_wait 7000\n");
	g_assert_cmpstr(p->info.rows_are, ==, ROWS_SAMPLES);
	profile_free(p);
}

/* Looks are counted: nobody knows how long a thread stood there. */
static struct profile *check_looks(const char *text, const char *from, const char *expected)
{
	const struct folded_options options = { .weight = WEIGHT_COUNT, .by_thread = true, .delimiter = true };
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) s = g_string_new(NULL);
	struct profile *p = read_text(text, &error);

	g_assert_no_error(error);
	folded_render(s, p, NULL, &options, NULL);
	g_assert_cmpstr(s->str, ==, expected);
	g_assert_cmpstr(p->info.imported, ==, from);
	g_assert_cmpstr(p->info.rows_are, ==, ROWS_LOOKS);
	for (guint i = 0; i < p->waits->len; i++)
		g_assert_cmpuint(wait_off_cpu_ns(profile_wait(p, i)), ==, 0);
	return p;
}

#define GDB_FIRST \
	"[New LWP 12]\n0x1f in poll () at poll.c:29\n\nThread 2 (Thread 0x7f1d (LWP 12) \"io (\\\"x\"):\n" \
	"#0  0x00007f4d in __GI___poll (fds=0x0, nfds=0) at ../sysdeps/poll.c:29\n" \
	"#1  0x000055f3 in std::function<void (int)>::operator()(int) const (this=0x1, s=0x2 \"a)(\") at /src/my (app)/t.cc:7\n" \
	"        local = {x = 1 (2)}\n#2  <signal handler called>\n#3  run (\n    arg=0x0)\n    from /lib/libx.so.1\n#4  0x1f in ?? ()\n" \
	"Backtrace stopped: previous frame identical to this frame (corrupt stack?)\n\n"
#define GDB_SECOND "Thread 1 (Thread 0x7f1e (LWP 11)):\n#0  main () at t.cc:9\n\n"
#define GDB_STACK "0x1f;run;<signal handler called>;std::function<void (int)>::operator()(int) const;__GI___poll"

static void test_gdb(void)
{
	struct profile *p = check_looks(GDB_FIRST GDB_SECOND "[Inferior 1 (process 11) detached]\n(gdb) " GDB_FIRST,
					"gdb's backtraces (2 snapshots)", "-0/11;main 1\nio (\\\"x-0/12;" GDB_STACK " 2\n");
	const struct frame *leaf = profile_get_frame(p, profile_get_node(p, profile_wait(p, 0)->user)->frame);

	g_assert_cmpstr(leaf->file, ==, "../sysdeps/poll.c");
	g_assert_cmpuint(leaf->line, ==, 29);
	g_assert_cmpuint(p->info.unknown, ==, UNKNOWN_ALL & ~(unsigned)(UNKNOWN_IDS | UNKNOWN_COUNTS));
	profile_free(p);
	/* threads without ids are no snapshots of one another */
	profile_free(check_looks("Thread 2 (Thread 0x7f1d):\n#0  f ()\n\nThread 1 (Thread 0x7f1e):\n#0  g ()\n", "gdb's backtraces (1 snapshot)",
				 "-0/0;f 1\n-0/0;g 1\n"));
	refused("Thread 1 (LWP 7):\n#0\n", "holds no time");
}

static void test_procstat(void)
{
	static const char head[] = "  PID    TID COMM                TDNAME              KSTACK                       \n";
	static const char one[] = "  653 100079 devd                -                   mi_switch+0xe1 sleepq_wait_sig+0xf\n"
				  "                                 pipe_read+0x3d7 sys_read+0xbc \n";
	g_autofree char *text = g_strconcat(head, "   11 100003 idle                idle: cpu0          <running>\n", one,
					    "123456 100101 my sql              flusher             mi_switch zil_commit\nno ids\n", head, one, NULL);
	struct profile *p = check_looks(text, "procstat's kernel stacks (2 snapshots)",
					"devd-653/100079;-;sys_read;pipe_read;sleepq_wait_sig;mi_switch 2\n"
					"flusher-123456/100101;-;zil_commit;mi_switch 1\nidle: cpu0-11/100003;-;<running> 1\n");

	g_assert_cmpstr(profile_thread(p, 2)->process, ==, "my sql");
	struct top *leaves = top_new(p, NULL, TOP_BY_LEAF, WEIGHT_COUNT);

	g_assert_cmpstr(g_array_index(leaves->rows, struct top_row, 0).name, ==, "pipe_read");
	top_free(leaves);
	g_assert_cmpstr(only_loss(p)->reason, ==, "not_readable");
	profile_free(p);
}

#define SP_HEAD(trace) "meta_info:\n  trace_offcpu: " trace "\n  event_type: cpu-clock\n"
#define SP_SAMPLE(event, time, count) \
	"sample:\n  event_type: " event "\n  time: " time "\n  event_count: " count "\n  thread_id: 71\n  thread_name: Render: 1\n" \
	"  vaddr_in_file: ffffffc010\n  file: [kernel.kallsyms]\n  symbol: __schedule\n  callchain:\n" \
	"    vaddr_in_file: 7d\n    file: /system/lib64/libc.so\n    symbol: syscall\n"
#define SP_ON(time) "context_switch:\n  switch_on: true\n  time: " time "\n  thread_id: 71\n"

static void test_simpleperf(void)
{
	struct profile *p = check(SP_HEAD("true") SP_SAMPLE("cpu-clock:u", "1000", "250") SP_SAMPLE("sched:sched_switch", "2000", "1")
				  "context_switch:\n  switch_on: false\n  time: 2001\n  thread_id: 71\n" SP_ON("9000")
				  SP_SAMPLE("sched:sched_switch", "9500", "1") "lost_situation:\n  sample_count: 3\n  lost_count: 0\n",
				  "simpleperf (sched_switch)", "Render: 1-0/71;syscall;-;__schedule 7000\n");

	g_assert_null(p->info.rows_are);
	g_assert_cmpuint(profile_wait(p, 0)->max_ns, ==, 7000);
	g_assert_cmpuint(p->info.duration_ns, ==, 8500);
	g_assert_cmpstr(only_loss(p)->reason, ==, "missed_switch");
	profile_free(p);
	/* of older versions the end is where the thread was seen again */
	p = check(SP_HEAD("true") SP_SAMPLE("sched:sched_switch", "2000", "1") SP_SAMPLE("cpu-clock", "5000", "250"),
		  "simpleperf (sched_switch; waits last up to the thread's next sample, which is too long)",
		  "Render: 1-0/71;syscall;-;__schedule 3000\n");
	g_assert_true(p->info.unknown & UNKNOWN_DURATIONS);
	profile_free(p);
	p = check(SP_HEAD("false") SP_SAMPLE("cpu-clock", "1000", "250"), "simpleperf (cpu-clock)", "Render: 1-0/71;syscall;-;__schedule 250\n");
	g_assert_cmpstr(p->info.rows_are, ==, ROWS_CPU);
	profile_free(p);
	refused(SP_HEAD("false") SP_SAMPLE("cpu-cycles", "1000", "250"), "of cpu-cycles, which is no time");
	refused(SP_HEAD("true") "sample:\n  event_type: cpu-clock\n", "has no samples that make sense");
}

/* As fgprof writes it: its type is "time", and only the period tells of which clock; `period` of a length of 9 bytes. */
static void check_period(const char *period, const char *rows_are)
{
	static const char head[] = "\x0a\x04\x08\x01\x10\x02"	/* samples, count */
				   "\x0a\x04\x08\x03\x10\x04"	/* time, nanoseconds */
				   "\x12\x08\x0a\x01\x01\x12\x03\x02\x88\x27"	/* at location 1: 2 of them, 5000 */
				   "\x1a\x02\x08\x01"		/* a mapping */
				   "\x22\x08\x08\x01\x10\x01\x22\x02\x08\x01"	/* location 1, function 1 */
				   "\x2a\x04\x08\x01\x10\x06"	/* its name */
				   "\x32\x00\x32\x07samples\x32\x05" "count\x32\x04time\x32\x0bnanoseconds\x32\x09";
	static const char tail[] = "\x32\x0bmain.commit\x5a\x04\x08\x05\x10\x04";	/* the period's type, nanoseconds */
	g_autoptr(GString) bytes = g_string_new_len(head, sizeof(head) - 1);
	g_autoptr(GError) error = NULL;

	g_string_append(bytes, period);
	g_string_append_len(bytes, tail, sizeof(tail) - 1);
	struct source *s = source_of_bytes(bytes->str, bytes->len);
	struct profile *p = exchange_read(s, "input", &(struct import_options){ 0 }, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(p->info.rows_are, ==, rows_are);
	g_assert_cmpuint(profile_wait(p, 0)->blocked_ns, ==, 5000);
	g_assert_cmpuint(profile_wait(p, 0)->count, ==, 2);
	profile_free(p);
	source_free(s);
}

static void test_fgprof(void)
{
	check_period("wallclock", ROWS_WALL);
	check_period("somewhat1", ROWS_SAMPLES);
}

/* libbpf-tools' offcputime draws no line between the kernel's frames and the user's. */
static void test_offcputime_of_libbpf_tools(void)
{
	profile_free(check("failed to get syms\n    bpf_prog_6896d07dd3e1383c_sched_switch\n    bpf_trace_run4\n    __schedule\n    schedule\n"
			   "    anon_pipe_read\n    entry_SYSCALL_64_after_hwframe\n    read\n    start_thread\n"
			   "    -                reader (7265)\n        2980918\n\n"
			   "    __schedule\n    schedule\n    worker_thread\n    ret_from_fork_asm\n    -                kworker/0:1 (9)\n        5\n\n"
			   "    [Missed Kernel Stack]\n    read\n    main\n    -                odd (8)\n        6\n\n",
			   "stacks with sums (numbers taken as microseconds)",
			   "kworker/0:1-0/9;-;ret_from_fork_asm;worker_thread;schedule;__schedule 5000\n"
			   "odd-0/8;main;read;[Missed Kernel Stack] 6000\n"
			   "reader-0/7265;start_thread;read;-;entry_SYSCALL_64_after_hwframe;anon_pipe_read;schedule;__schedule;bpf_trace_run4;"
			   "bpf_prog_6896d07dd3e1383c_sched_switch 2980918000\n"));
}

static void test_bpftrace(void)
{
	profile_free(check(
		"Attaching 2 probes...\n@start[12]: 99\n"
		"@[\n    finish_task_switch+1\n    schedule+44\n    do_syscall_64+91\n,\n    __read+20\n    main+5\n, mysqld]: 1234\n"
		"@us[mysqld, \n    poll+3\n    main+8\n]: 66\n",
		"stacks with sums (numbers taken as nanoseconds)",
		"mysqld-0/0;main;__read;-;do_syscall_64;schedule;finish_task_switch 1234\nmysqld-0/0;main;poll 66\n"));
}

/* tid 11 sleeps from 1.000000 to 1.000500 (woken at 1.000400), is preempted from 1.000600 to the end at 1.001000. */
static void test_sched_switch(void)
{
	static const char text[] =
		"# ========\n"
		"a b 10/11 [000]     1.000000: sched:sched_switch: prev_comm=a b prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n"
		"\tffffffff81 __schedule+0x2c ([kernel.kallsyms])\n"
		"\t    7f1234 read+0x10 (/usr/lib/libc.so.6)\n"
		"\t    55aa00 [unknown] (/usr/bin/a)\n"
		"\n"
		"swapper     0/0     [000]     1.000400: sched:sched_waking: comm=a b pid=11 prio=120 target_cpu=000\n\n"
		"swapper     0/0     [000]     1.000500: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a b next_pid=11 next_prio=120\n\n"
		"a b 10/11 [000]     1.000600: sched:sched_switch: prev_comm=a b prev_pid=11 prev_prio=120 prev_state=R+ ==> next_comm=c next_pid=12 next_prio=120\n"
		"\tffffffff81 __schedule+0x2c ([kernel.kallsyms])\n\n"
		"c 12/12 [000]     1.001000: sched:sched_switch: prev_comm=c prev_pid=12 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\n";
	struct profile *p = check(text, "perf script (sched_switch, sched_waking)",
				  "a b-10/11;-;__schedule 400000\na b-10/11;a+0x55aa00;read;-;__schedule 500000\n");
	const struct thread *t = profile_thread(p, 0);

	g_assert_cmpuint(t->blocked_ns, ==, 400000);
	g_assert_cmpuint(t->runnable_ns, ==, 100000);
	g_assert_cmpuint(t->preempted_ns, ==, 400000);
	g_assert_cmpuint(p->info.unknown &
				 (UNKNOWN_PARTS | UNKNOWN_STATES | UNKNOWN_COUNTS | UNKNOWN_DURATIONS | UNKNOWN_WINDOW),
			 ==, 0);
	g_assert_cmpuint(p->info.duration_ns, ==, 1000000);
	profile_free(p);
}

#define SLEEPS(at) "a 10/11 [000] 1.000" at ": sched:sched_switch: prev_comm=a prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=b next_pid=12 next_prio=120\n\tf1 schedule+0x1 ([kernel.kallsyms])\n\n"
#define WAKES(at, name, stack) "b 10/12 [000] 1.000" at ": sched:" name ": comm=a pid=11 prio=120 target_cpu=000\n\tf2 try_to_wake_up+0x1 ([kernel.kallsyms])\n" stack "\n"
#define RUNS(at) "b 10/12 [000] 1.000" at ": sched:sched_switch: prev_comm=b prev_pid=12 prev_prio=120 prev_state=R ==> next_comm=a next_pid=11 next_prio=120\n\n"
#define BY_CALL "\tf3 ksys_write+0x1 ([kernel.kallsyms])\n\tf4 entry_SYSCALL_64_after_hwframe+0x1 ([kernel.kallsyms])\n\t7f1 write+0x1 (/lib/libc.so.6)\n"
#define BY_TIMER "\tf3 hrtimer_interrupt+0x1 ([kernel.kallsyms])\n\tf4 asm_sysvec_apic_timer_interrupt+0x1 ([kernel.kallsyms])\n\t55 spin+0x1 (/bin/b)\n"

/* As a crash leaves it in a file that was being written: the line is lost, or has a blank there. */
static void test_zero_bytes(void)
{
	static const char text[] = "a;main;f 1\na;ma\0in;g 2\na;main;\0\0\n\0\0\0\na;main;h 3\na;main;i 4\n";
	struct source *s = source_of_bytes(text, sizeof(text) - 1);
	struct profile *p = exchange_read(s, "input", &(struct import_options){ 0 }, NULL);

	g_assert_nonnull(p);
	g_assert_cmpuint(p->waits->len, ==, 4);
	g_assert_cmpuint(profile_find_loss(p, "not_readable")->count, ==, 2);
	profile_free(p);
	source_free(s);
}

/* Who woke is known by the stack of sched_waking; an interrupt is none of the thread's that it came upon. */
static void test_perf_wakers(void)
{
	static const char text[] = SLEEPS("100") WAKES("300", "sched_waking", BY_CALL) RUNS("400")
		SLEEPS("500") WAKES("800", "sched_waking", BY_TIMER) RUNS("801")
		SLEEPS("900") WAKES("910", "sched_wakeup", BY_TIMER) RUNS("920");
	struct source *s = source_of_bytes(text, sizeof(text) - 1);
	struct profile *p = exchange_read(s, "input", &(struct import_options){ 0 }, NULL);
	const struct wake *wake;

	g_assert_nonnull(p);
	g_assert_true(p->info.has_wakers);
	g_assert_cmpuint(p->wakes->len, ==, 2);
	wake = profile_wake(p, 0);
	g_assert_cmpuint(wake->blocked_ns, ==, 200000);
	g_assert_cmpuint(wake->runnable_ns, ==, 100000);
	g_assert_cmpstr(profile_get_waker(p, wake->waker)->comm, ==, "b");
	g_assert_cmpuint(profile_get_waker(p, wake->waker)->tid, ==, 12);
	g_assert_null(profile_get_waker(p, wake->waker)->irq);
	wake = profile_wake(p, 1);
	g_assert_cmpuint(wake->blocked_ns, ==, 300000);
	g_assert_cmpstr(profile_get_waker(p, wake->waker)->irq, ==, "timer");
	g_assert_cmpuint(profile_get_waker(p, wake->waker)->user, ==, 0);
	profile_free(p);
	source_free(s);
}

static void test_offcpu_time(void)
{
	struct profile *p = check(
		"sleep  77/78  12.000001:    2500000 offcpu-time: \n\t7f12 nanosleep+0x4 (/lib/libc.so.6)\n\t7f00 inl (inlined)\n\t7f00 main+0x1 (/bin/sleep)\n\n",
		"perf script (offcpu-time)", "sleep-77/78;main;inl;nanosleep 2500000\n");

	g_assert_true(p->info.unknown & UNKNOWN_STATES);
	profile_free(p);
}

/* perf of one process sees its threads go; who comes only where another of them goes. */
static void test_perf_of_one_process(void)
{
	static const char one[] = SLEEPS("100") SLEEPS("300");
	struct profile *p = check(SLEEPS("100") SLEEPS("200") RUNS("250") SLEEPS("300"), "perf script (sched_switch)",
				  "a-10/11;-;schedule 50000\nb-10/12 50000\n");

	g_assert_cmpstr(only_loss(p)->reason, ==, "missed_switch");
	g_assert_cmpuint(only_loss(p)->count, ==, 2);
	g_assert_nonnull(strstr(only_loss(p)->help, "perf record -a"));
	profile_free(p);
	refused(one, "the begin of 2 waits and the end of none");
	/* of the whole system an event was lost */
	p = check(SLEEPS("100") SLEEPS("200") RUNS("250")
		  "kworker/1:2 9/9 [000] 1.000260: sched:sched_switch: prev_comm=kworker/1:2 prev_pid=9 prev_prio=120 prev_state=I ==> "
		  "next_comm=b next_pid=12 next_prio=120\n\n",
		  "perf script (sched_switch)", "a-10/11;-;schedule 50000\nb-10/12 10000\n");
	g_assert_null(strstr(only_loss(p)->help, "record"));
	profile_free(p);
}

/* Of one that has ended there is no id; what lies in "/memfd:x (deleted)", and what has no name. */
static void test_perf_frames(void)
{
	profile_free(check(SLEEPS("100")
			   ":-1 10/-1 [000] 1.000200: sched:sched_switch: prev_comm=b prev_pid=12 prev_prio=120 prev_state=X ==> next_comm=a "
			   "next_pid=11 next_prio=120\n\n"
			   "c 7/7 [000] 1.000200: sched:sched_switch: prev_comm=c prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=q next_pid=8 "
			   "next_prio=120\n\t1 f(int) (/memfd:x (deleted))\n\t2 (/bin/c)\n\t3 (program) (/tmp/perf-7.map)\n\n"
			   "q 8/8 [000] 1.000300: sched:sched_switch: prev_comm=q prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=c next_pid=7 "
			   "next_prio=120\n\n",
			   "perf script (sched_switch)",
			   "a-10/11;-;schedule 100000\nc-7/7;(program);c+0x2;f(int) 100000\n"));
}

/* Where there is nothing better; what it is in goes with it. */
static void test_cpu_profile(void)
{
	static const char cpu[] = "a 1/2 1.000000: 250000 cpu-clock:pppH: \n\t1 poll (/bin/a)\n\n"
				  "a 1/2 1.000250: 250000 cpu-clock:pppH: \n\t1 poll (/bin/a)\n\n";
	static const char cycles[] = "a 1/2 1.000000: 250000 cycles: \n\t1 poll (/bin/a)\n\n";
	struct profile *p = check(cpu, "perf script (cpu-clock)", "a-1/2;poll 500000\n");
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpstr(p->info.rows_are, ==, ROWS_CPU);
	g_assert_cmpuint(profile_wait(p, 0)->count, ==, 2);
	g_assert_cmpuint(e->headlines->len + e->findings->rows->len, ==, 0);
	g_assert_cmpint(reasons_of(e->findings->reasons, 0), ==, REASON_OTHER);
	explanation_free(e);
	profile_free(p);
	g_autofree char *both = g_strconcat(cpu, SLEEPS("100") RUNS("200"), NULL);

	p = check(both, "perf script (sched_switch)", "a-10/11;-;schedule 100000\nb-10/12 50000\n");
	g_assert_null(p->info.rows_are);
	profile_free(p);
	refused(cycles, "no event sched_switch");
}

/* What time it is no word of the format says: the stacks do, where threads stop in them. */
static void test_kinds_of_time(void)
{
	static const struct {
		const char *text, *rows_are;
	} known[] = {
		{ "a;main;f;-;schedule 10\na;main;g 9\n", NULL },
		{ "a;main;f;-;schedule 10\na;main;g 11\n", ROWS_SAMPLES },
		{ "Attaching 1 probe...\n@[\n    schedule+44\n, a]: 10\n@[\n    main+1\n, a]: 11\n", ROWS_SAMPLES },
		{ "{\"exporter\":\"py-spy@1\",\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"profiles\":[{\"type\":\"sampled\",\"name\":"
		  "\"x\",\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":[1.5]}]}",
		  ROWS_SAMPLES },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
		g_autoptr(GError) error = NULL;
		struct profile *p = read_text(known[i].text, &error);

		g_assert_no_error(error);
		g_assert_cmpstr(p->info.rows_are, ==, known[i].rows_are);
		profile_free(p);
	}
}

/* A wait of a microsecond in that function, written and read. */
static void check_kind(const char *rows_are, const char *function, const char *format, const char *expected)
{
	const struct export_plan plan = { .columns = 1 };
	const struct frame frame = { .name = function, .kind = FRAME_USER };
	struct profile *p = profile_new();
	struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = 'S', .count = 1, .blocked_ns = 1000 };
	g_autoptr(GString) out = g_string_new(NULL);
	const struct sink sink = sink_of_string(out);

	w.user = profile_node(p, 0, profile_frame(p, &frame));
	profile_add_wait(p, &w);
	p->info.rows_are = rows_are;
	g_assert_true(format_write(format_by_name(format), p, &plan, &sink, NULL));
	profile_free(p);
	struct source *s = source_of_bytes(out->str, out->len);

	p = exchange_read(s, "input", &(struct import_options){ 0 }, NULL);
	g_assert_nonnull(p);
	g_assert_cmpstr(p->info.rows_are, ==, expected);
	profile_free(p);
	source_free(s);
}

static void test_kinds_stay(void)
{
	static const char *const kinds[] = { NULL, ROWS_TASKS, ROWS_CPU, ROWS_WALL, ROWS_CONTENTIONS, ROWS_SAMPLES };

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		check_kind(kinds[i], "main", "pprof", kinds[i]);
		check_kind(kinds[i], "main", "speedscope", kinds[i]);
	}
	/* of Go's two the types are the same */
	check_kind(ROWS_CONTENTIONS, "sync.(*Mutex).Unlock", "pprof", ROWS_CONTENTIONS);
	check_kind(ROWS_CONTENTIONS, "sync.(*Mutex).Lock", "pprof", ROWS_GOROUTINES);
	check_kind(ROWS_CPU, "main", "perf-script", ROWS_CPU);
}

static void test_speedscope(void)
{
	profile_free(check(
		"{ \"profiles\": [ { \"type\": \"sampled\", \"name\": \"x\", \"unit\": \"milliseconds\", \"startValue\": 0, \"endValue\": 3,"
		"\"weights\": [1.5, 2], \"samples\": [[0, 1], []] }, {\"type\": \"evented\", \"name\": \"e\", \"unit\": \"none\", \"events\": [{}] } ],"
		"\"shared\": { \"frames\": [ { \"name\": \"m\\u00e4in\" }, { \"name\": \"f\", \"file\": \"a.c\", \"line\": 3 } ] } }",
		"speedscope", "x-0/0 2000000\nx-0/0;m\u00e4in;f 1500000\n"));
	refused("{\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\",\"unit\":\"nanoseconds\",\"samples\":[[1]],\"weights\":[1]}]}",
		"no such frame");
	refused("{\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\",\"unit\":\"nanoseconds\",\"samples\":[[0]],\"weights\":[1,2]}]}",
		"as many weights");
	refused("{\"schema\":1}", "no speedscope profile");
	refused("{\"shared\":", "no valid JSON");
}

/* What a thread, a function or a library may be called, and what formats are told by. */
static const char *const hostile[] = {
	"a\nb", "\n\t7f1 x (y)\n", "@x[1]: 5", "@[", " lead", "\tlead", "   ", "#c", "-", "--", "x;y", "x 12", "12", "x 1.5",
	"1/2 1.0: x:", "a 1/2 1.0: x:", "a-1/2", "=cmd|x", "\xff\xfe", "\xc2\x9b" "31m", "_[k]", "x_[k]", "\"q\\", "{", "{\"x", "waker: x",
	"- x (1)", "Tracing off-CPU time", "target: x", "]: 3", "x]", "unix`x", "-> x", "(", "x (y)", "x+0x1", "_ZN", "",
};

static void add_hostile(struct profile *p, const char *name, uint32_t id)
{
	const struct frame frames[] = {
		{ .name = profile_string(p, "main"), .module = profile_string(p, "app") },
		{ .name = profile_string(p, name), .module = profile_string(p, name) },
		{ .name = profile_string(p, "poll"), .module = profile_string(p, "libc.so.6") },
	};
	const char *comm = profile_string(p, name);
	struct thread t = { .pid = id, .tid = id, .comm = comm, .process = comm };
	struct wait w = { .thread = profile_add_thread(p, &t), .state = 'S', .count = 1, .blocked_ns = 1000 * id };

	for (size_t i = 0; i < G_N_ELEMENTS(frames); i++)
		w.user = profile_node(p, w.user, profile_frame(p, &frames[i]));
	profile_add_wait(p, &w);
}

static uint64_t all_ns(const struct profile *p)
{
	uint64_t ns = 0;

	for (guint i = 0; i < p->waits->len; i++)
		ns += wait_off_cpu_ns(profile_wait(p, i));
	return ns;
}

static void check_round_trip(const struct format *format, const struct profile *p, const char *of)
{
	const struct export_plan plan = { .columns = 1 };
	g_autoptr(GString) out = g_string_new(NULL);
	const struct sink sink = sink_of_string(out);
	g_autoptr(GError) error = NULL;

	g_assert_true(format_write(format, p, &plan, &sink, &error));
	struct source *s = source_of_bytes(out->str, out->len);
	struct profile *again = exchange_read(s, "input", &(struct import_options){ 0 }, &error);

	if (!again || all_ns(again) != all_ns(p) || again->losses->len)
		g_error("%s of \"%s\": %s; %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " ns\n%s", format->name, of,
			error ? error->message : "read", again ? all_ns(again) : 0, all_ns(p), out->str);
	profile_free(again);
	source_free(s);
}

/* Whatever we write of whatever names, we read, whole. */
static void test_round_trip(void)
{
	for (size_t f = 0; f < formats_cnt; f++) {
		struct profile *all = profile_new();

		if (!formats[f].write || !(formats[f].read || strcmp(formats[f].name, "folded") == 0)) {
			profile_free(all);
			continue;
		}
		all->info.start_ns = 1;
		for (uint32_t i = 0; i < G_N_ELEMENTS(hostile); i++) {
			struct profile *one = profile_new();

			one->info.start_ns = 1;
			add_hostile(one, hostile[i], i + 1);
			check_round_trip(&formats[f], one, hostile[i]);
			add_hostile(all, hostile[i], i + 1);
			profile_free(one);
		}
		check_round_trip(&formats[f], all, "all");
		profile_free(all);
	}
}

/* As other tools print a thread called "a\nb": its lines are what they are, and the others are read. */
static void test_broken_lines(void)
{
	struct profile *p = check("x;main;f 10\na\nb;main;f 20\nx;main;g 30\n", "collapsed stacks (numbers taken as microseconds)",
				  "b-0/0;main;f 20000\nx-0/0;main;f 10000\nx-0/0;main;g 30000\n");

	g_assert_cmpstr(only_loss(p)->reason, ==, "not_readable");
	g_assert_cmpuint(only_loss(p)->count, ==, 1);
	profile_free(p);
	/* of sched_switch it is told within a line, which ends there; the name may hold a pid, too */
	p = check("x 5/5 [000] 1.000000: sched:sched_switch: prev_comm=x prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=a\n"
		  "b next_pid=6 next_prio=120\n\t 1f main+0x1 (/app)\n\n"
		  "a\nb 6/6 [000] 1.000010: sched:sched_switch: prev_comm=a\nb prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=q "
		  "next_pid=5 next_pid=5 next_prio=120\n\t 2f wait+0x1 (/app)\n\n"
		  "z 7/7 [000] 1.000030: sched:sched_switch: prev_comm=prev_pid=9 prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=a\n"
		  "b next_pid=6 next_prio=120\n\t 3f idle+0x1 (/app)\n\n",
		  "perf script (sched_switch)", "b-6/6;wait 20000\nx-5/5;main 10000\n");
	g_assert_cmpuint(only_loss(p)->count, ==, 1);
	profile_free(p);
}

static void test_refused(void)
{
	refused("", "is empty");
	refused("hello\n", "of no other format");
	refused("Tracing off-CPU time (us) of all threads\n", "holds no time");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/imports/collapsed", test_collapsed);
	g_test_add_func("/imports/collapsed_wakers", test_collapsed_wakers);
	g_test_add_func("/imports/offcputime", test_offcputime);
	g_test_add_func("/imports/offwaketime", test_offwaketime);
	g_test_add_func("/imports/wakeuptime", test_wakeuptime);
	g_test_add_func("/imports/names-of-linkers", test_names_of_linkers);
	g_test_add_func("/imports/dtrace", test_dtrace);
	g_test_add_func("/imports/dtrace-both-stacks", test_dtrace_both_stacks);
	g_test_add_func("/imports/dtrace-distributions", test_dtrace_distributions);
	g_test_add_func("/imports/systemtap", test_systemtap);
	g_test_add_func("/imports/fgprof", test_fgprof);
	g_test_add_func("/imports/gdb", test_gdb);
	g_test_add_func("/imports/procstat", test_procstat);
	g_test_add_func("/imports/simpleperf", test_simpleperf);
	g_test_add_func("/imports/offcputime-of-libbpf-tools", test_offcputime_of_libbpf_tools);
	g_test_add_func("/imports/bpftrace", test_bpftrace);
	g_test_add_func("/imports/sched_switch", test_sched_switch);
	g_test_add_func("/imports/offcpu_time", test_offcpu_time);
	g_test_add_func("/imports/perf_wakers", test_perf_wakers);
	g_test_add_func("/imports/perf-of-one-process", test_perf_of_one_process);
	g_test_add_func("/imports/perf-frames", test_perf_frames);
	g_test_add_func("/imports/cpu-profile", test_cpu_profile);
	g_test_add_func("/imports/kinds-of-time", test_kinds_of_time);
	g_test_add_func("/imports/kinds-stay", test_kinds_stay);
	g_test_add_func("/imports/speedscope", test_speedscope);
	g_test_add_func("/imports/zero-bytes", test_zero_bytes);
	g_test_add_func("/imports/round-trip", test_round_trip);
	g_test_add_func("/imports/broken-lines", test_broken_lines);
	g_test_add_func("/imports/refused", test_refused);
	return g_test_run();
}
