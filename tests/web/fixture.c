/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fixture.h"

#include <string.h>

#include "features/requests/rows.h"
#include "features/slices/rows_build.h"

#define MS UINT64_C(1000000)
#define WINDOW_NS (5000 * MS)

static uint32_t stack_of(struct profile *p, char *frames, enum frame_kind kind)
{
	bool broken = strchr(frames, '?') != NULL;
	uint32_t node = 0;

	for (char *save, *name = strtok_r(frames, ";", &save); name; name = strtok_r(NULL, ";", &save)) {
		struct frame f = { .kind = kind };
		char *at = strchr(name, '@');

		f.module = kind == FRAME_KERNEL ? "[kernel]" : "/usr/sbin/mariadbd";
		if (at) {
			*at = '\0';
			f.module = at + 1;
		}
		f.name = name;
		if (name[0] == '?') {
			f.name = NULL;
			f.why = FRAME_NO_SYMBOLS;
			f.offset = g_ascii_strtoull(name + 1, NULL, 16);
		}
		node = profile_node(p, node, profile_frame(p, &f));
	}
	if (node && kind == FRAME_USER)
		profile_stack_end(p, node, broken ? STACK_BROKEN : STACK_COMPLETE);
	return node;
}

void fixture_wait(struct profile *p, uint32_t thread, char state, const char *stacks, uint64_t count,
		  uint64_t blocked_ns, uint64_t runnable_ns, uint64_t preempted_ns)
{
	g_auto(GStrv) halves = g_strsplit(stacks, "|", 2);
	uint64_t sum = blocked_ns + runnable_ns + preempted_ns;
	struct wait w = {
		.thread = thread, .state = (uint8_t)state, .count = count, .blocked_ns = blocked_ns,
		.runnable_ns = runnable_ns, .preempted_ns = preempted_ns,
		.max_ns = count > 1 ? sum * 2 / count : sum,
	};

	w.user = stack_of(p, halves[0], FRAME_USER);
	w.kernel = halves[0] && halves[1] ? stack_of(p, halves[1], FRAME_KERNEL) : 0;
	profile_add_wait(p, &w);
}

uint32_t fixture_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, const char *process)
{
	struct thread t = {
		.pid = pid, .tid = tid, .comm = profile_string(p, comm), .process = profile_string(p, process),
		.to_ns = WINDOW_NS, .switches = 1000,
	};

	return profile_add_thread(p, &t);
}

void fixture_settle(struct profile *p)
{
	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		struct thread *t = &g_array_index(p->threads, struct thread, w->thread);

		t->blocked_ns += w->blocked_ns;
		t->runnable_ns += w->runnable_ns;
		t->preempted_ns += w->preempted_ns;
	}
	for (uint32_t i = 0; i < p->threads->len; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		t->to_ns = MAX(t->to_ns, thread_off_cpu_ns(t));
		t->on_cpu_ns = t->to_ns - thread_off_cpu_ns(t);
	}
}

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	p->info.start_unix_ns = UINT64_C(1790000000) * 1000000000;
	p->info.duration_ns = WINDOW_NS;
	p->info.host = profile_string(p, "db1");
	p->info.kernel = profile_string(p, "6.12.0");
	p->info.cpus = 8;
	p->info.switches = 1234567;
	return p;
}

#define LIBC "@/lib/x86_64-linux-gnu/libc.so.6"
#define START "__clone3" LIBC ";start_thread" LIBC ";"
#define SYSCALL "entry_SYSCALL_64_after_hwframe;do_syscall_64;"
#define CONNECTION START "handle_one_connection;do_handle_one_connection(CONNECT*, bool);do_command(THD*, bool);" \
	"dispatch_command(enum_server_command, THD*, char*, unsigned int, bool);"
#define QUERY CONNECTION "mysql_parse(THD*, char*, unsigned int, Parser_state*);mysql_execute_command(THD*, bool);"
#define FUTEX "|" SYSCALL "__x64_sys_futex;do_futex;futex_wait;__futex_wait;futex_wait_queue;schedule;__schedule"
#define COMMIT QUERY "trans_commit(THD*);ha_commit_trans(THD*, bool);MYSQL_BIN_LOG::log_and_order(THD*, unsigned long long, bool, bool, bool);" \
	"innobase_commit(handlerton*, THD*, bool);trx_commit_complete_for_mysql(trx_t*);log_write_up_to(unsigned long, bool, completion_callback const*);"

static void add_connection(struct profile *p, uint32_t t, unsigned i)
{
	uint64_t k = 3 + i * 5 % 7;

	fixture_wait(p, t, 'S', CONNECTION "vio_read;__GI___poll" LIBC "|" SYSCALL "__x64_sys_poll;do_sys_poll;"
		     "schedule_hrtimeout_range;schedule;__schedule", 900 * k, 190 * k * MS, 3 * k * MS, 0);
	fixture_wait(p, t, 'S', COMMIT "group_commit_lock::acquire(unsigned long, completion_callback const*);"
		     "binary_semaphore::wait();syscall" LIBC FUTEX, 400 * k, 150 * k * MS, 5 * k * MS, 0);
	fixture_wait(p, t, 'D', COMMIT "log_t::flush(unsigned long);fdatasync" LIBC "|" SYSCALL "__x64_sys_fdatasync;"
		     "do_fsync;ext4_sync_file@[ext4];jbd2_complete_transaction@[jbd2];jbd2_log_wait_commit@[jbd2];schedule;__schedule",
		     120 * k, 95 * k * MS, 1 * k * MS, 0);
	fixture_wait(p, t, 'D', QUERY "mysql_select(THD*);JOIN::exec();sub_select(JOIN*, st_join_table*, bool);"
		     "ha_innobase::index_read(unsigned char*);buf_page_get_gen(page_id_t, unsigned long);pread64" LIBC "|" SYSCALL
		     "__x64_sys_pread64;vfs_read;ext4_file_read_iter@[ext4];filemap_read;folio_wait_bit_common;io_schedule;schedule;__schedule",
		     60 * k, 42 * k * MS, 1 * k * MS, 0);
	fixture_wait(p, t, 'R', QUERY "mysql_select(THD*);JOIN::exec();sub_select(JOIN*, st_join_table*, bool);"
		     "evaluate_join_record(JOIN*, st_join_table*, int);my_strnncollsp_utf8mb4|asm_sysvec_apic_timer_interrupt;"
		     "sysvec_apic_timer_interrupt;irqentry_exit;schedule;__schedule", 30 * k, 0, 0, 14 * k * MS);
	fixture_wait(p, t, 'S', QUERY "lock_tables(THD*, TABLE_LIST*, unsigned int, unsigned int);?40f2a0@/usr/lib/mysql/plugin/ha_rocks.so;"
		     "?5d0010@/usr/lib/mysql/plugin/ha_rocks.so;pthread_cond_wait" LIBC FUTEX, 11 * k, 9 * k * MS, 0, 0);
	for (unsigned n = 0; n < 12; n++) {
		g_autofree char *stacks = g_strdup_printf(QUERY "Item_func_%c::val_int();nanosleep" LIBC "|" SYSCALL
			"__x64_sys_nanosleep;hrtimer_nanosleep;do_nanosleep;schedule;__schedule", 'a' + (int)n);
		fixture_wait(p, t, 'S', stacks, 1 + n, (1 + n * n) * 100000, 1000, 0);
	}
}

struct profile *fixture_server(void)
{
	struct profile *p = new_profile();
	uint32_t t;

	for (unsigned i = 0; i < 6; i++) {
		t = fixture_thread(p, 812, 830 + i, "mariadbd", "mariadbd");
		add_connection(p, t, i);
	}
	t = fixture_thread(p, 812, 820, "ib_io_rd", "mariadbd");
	fixture_wait(p, t, 'S', START "tpool::aio_linux::getevent_thread_routine(tpool::aio_linux*);io_getevents@/lib/libaio.so.1|"
		     SYSCALL "__x64_sys_io_getevents;do_io_getevents;read_events;schedule;__schedule", 2200, 4700 * MS, 20 * MS, 0);
	t = fixture_thread(p, 901, 901, "sysbench", "sysbench");
	fixture_wait(p, t, 'S', "_start@/usr/bin/sysbench;__libc_start_main" LIBC ";main@/usr/bin/sysbench;run_test@/usr/bin/sysbench;"
		     "pthread_join" LIBC FUTEX, 1, 5000 * MS, 0, 0);
	t = fixture_thread(p, 901, 902, "sysbench", "sysbench");
	fixture_wait(p, t, 'S', START "worker_thread@/usr/bin/sysbench;db_query@/usr/bin/sysbench;recv" LIBC "|" SYSCALL
		     "__x64_sys_recvfrom;sock_recvmsg;unix_stream_read_generic;schedule_timeout;schedule;__schedule", 21000, 3900 * MS, 300 * MS, 0);
	fixture_wait(p, t, 'R', START "worker_thread@/usr/bin/sysbench;?1a2b|asm_sysvec_apic_timer_interrupt;irqentry_exit;schedule;__schedule",
		     400, 0, 0, 260 * MS);
	t = fixture_thread(p, 1201, 1201, "gdb-target", "gdb-target");
	fixture_wait(p, t, 'T', "_start@/usr/bin/target;main@/usr/bin/target;raise" LIBC "|" SYSCALL "get_signal;do_signal_stop;schedule;__schedule",
		     1, 1900 * MS, 0, 0);
	t = fixture_thread(p, 55, 55, "kworker/u16:3", "kworker/u16:3");
	fixture_wait(p, t, 'I', "|ret_from_fork;kthread;worker_thread;schedule;__schedule", 812, 2900 * MS, 40 * MS, 0);
	t = fixture_thread(p, 301, 301, "jbd2/vda1-8", "jbd2/vda1-8");
	fixture_wait(p, t, 'D', "|ret_from_fork;kthread;kjournald2@[jbd2];jbd2_journal_commit_transaction@[jbd2];wait_on_buffer;"
		     "bit_wait_io;io_schedule;schedule;__schedule", 3400, 2100 * MS, 30 * MS, 0);
	fixture_wait(p, t, 'S', "|ret_from_fork;kthread;kjournald2@[jbd2];schedule;__schedule", 3300, 2500 * MS, 35 * MS, 0);
	profile_add_loss(p, "ring_stack", "A stack did not fit into the ring buffer.", 12, 3 * MS);
	fixture_settle(p);
	return p;
}

struct profile *fixture_hostile(void)
{
	struct profile *p = new_profile();
	uint32_t t = fixture_thread(p, 1, 1, "<&\"'>]]>", "<&\"'>]]>");

	fixture_wait(p, t, 'S', "<script>alert(1)</script>;]]><x/>;&amp;&#0;\"onload=\"x\";a\nb\x01\x7f\tc|\xff\xfe bad \xc3", 3, 900 * MS, 0, 0);
	fixture_wait(p, t, 'S', "<script>alert(1)</script>;\xe2\x80\xae" "reversed\xe2\x80\xac;日本語の関数名はとても長いので切られる", 2, 500 * MS, 0, 0);
	fixture_wait(p, t, 'D', "<script>alert(1)</script>;__proto__;constructor;$&$1;%s%n%d", 1, 100 * MS, 0, 0);
	p->info.host = profile_string(p, "<host>&");
	fixture_settle(p);
	return p;
}

struct profile *fixture_one(void)
{
	struct profile *p = new_profile();

	fixture_wait(p, fixture_thread(p, 7, 7, "single", "single"), 'S', "main@/bin/single", 1, 900 * MS, 0, 0);
	fixture_settle(p);
	return p;
}

struct profile *fixture_empty(void)
{
	struct profile *p = new_profile();

	fixture_thread(p, 7, 7, "busy", "busy");
	fixture_settle(p);
	return p;
}

/* Deterministic: a linear congruential generator. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* A stack that leaves an earlier one somewhere: nodes[] holds the path of the last one. */
static uint32_t grow_stack(struct profile *p, uint32_t *nodes, unsigned *depth, unsigned *frames, uint32_t *seed)
{
	unsigned from = *depth ? next_random(seed) % *depth : 0, to = 30 + next_random(seed) % 20;

	for (*depth = from; *depth < to; (*depth)++) {
		g_autofree char *name = g_strdup_printf("module_%u::Class%u::method_%u", *frames % 97, *frames % 1009, *frames);
		struct frame f = { .name = name, .module = "/usr/lib/libmany.so", .offset = *frames };

		nodes[*depth] = profile_node(p, *depth ? nodes[*depth - 1] : 0, profile_frame(p, &f));
		(*frames)++;
	}
	profile_stack_end(p, nodes[*depth - 1], STACK_COMPLETE);
	return nodes[*depth - 1];
}

struct profile *fixture_many(unsigned frames_cnt)
{
	struct profile *p = new_profile();
	uint32_t nodes[64], seed = 1;
	unsigned depth = 0, frames = 0;
	struct waker waker = { .pid = 9, .tid = 9, .comm = "waker" };

	p->info.has_wakers = true;
	waker.user = grow_stack(p, nodes, &depth, &frames, &seed);
	uint32_t waker_id = profile_waker(p, &waker);
	for (unsigned i = 0; i < 64; i++)
		fixture_thread(p, 100, 100 + i, "worker", "many");
	while (frames < frames_cnt) {
		uint64_t ns = 1000 + (uint64_t)next_random(&seed) * (next_random(&seed) % 16 ? 1 : 40);
		struct wait w = { .thread = next_random(&seed) % 64, .state = "SSSDR"[next_random(&seed) % 5], .count = 1 + next_random(&seed) % 50 };

		w.user = grow_stack(p, nodes, &depth, &frames, &seed);
		w.blocked_ns = w.state == 'R' ? 0 : ns;
		w.preempted_ns = w.state == 'R' ? ns : 0;
		w.runnable_ns = w.state == 'R' ? 0 : ns / 20;
		w.max_ns = ns / w.count + 1;
		w.hist[profile_hist_slot(ns / w.count)] = (uint32_t)w.count;
		uint32_t row = profile_add_wait(p, &w);
		struct wake k = { .wait = row, .waker = waker_id, .count = w.count, .blocked_ns = w.blocked_ns, .runnable_ns = w.runnable_ns };
		if (w.state != 'R')
			profile_add_wake(p, &k);
	}
	fixture_settle(p);
	return p;
}

/* One wait of 1 ms to 800 ms each, one after another, of two rows in turn; the second row's in the middle second are long. */
struct profile *fixture_sliced(void)
{
	static const char *const stacks[] = { "main@/bin/app;read_page@/bin/app|" SYSCALL "folio_wait_bit_common;io_schedule",
					      "main@/bin/app;take_lock@/bin/app|" SYSCALL "futex_wait;schedule" };
	struct profile *p = new_profile();
	struct slice_builder *b = slice_builder_new(100 * MS);
	uint32_t thread = fixture_thread(p, 7, 7, "app", "app"), codes[2], seed = 3;

	for (unsigned i = 0; i < 2; i++)
		fixture_wait(p, thread, i ? 'S' : 'D', stacks[i], 0, 0, 0, 0);
	for (uint64_t at_ns = 0, i = 0; at_ns < WINDOW_NS - 900 * MS; i++) {
		bool is_long = i % 2 && at_ns > 2000 * MS && at_ns < 3000 * MS;
		uint64_t ns = is_long ? 400 * MS + next_random(&seed) : 1 * MS + next_random(&seed) % (20 * MS);
		struct wait *w = &g_array_index(p->waits, struct wait, i % 2);
		struct slice_cell cell = { .row = (uint32_t)(i % 2), .count_q8 = SLICE_COUNT_Q8, .blocked_ns = ns - ns / 10,
					   .runnable_ns = ns / 10, .max_ns = ns };

		slice_hist_add(&cell.bars, profile_hist_slot(ns), SLICE_COUNT_Q8);
		slice_builder_add_wait(b, at_ns, &cell);
		w->count++;
		w->blocked_ns += ns - ns / 10;
		w->runnable_ns += ns / 10;
		w->max_ns = MAX(w->max_ns, ns);
		w->hist[profile_hist_slot(ns)]++;
		at_ns += ns;
	}
	for (uint32_t i = 0; i < 2; i++)
		codes[i] = slice_code_of_wait(i);
	fixture_settle(p);
	p->slices = slice_builder_finish(b, p, codes);
	slice_builder_free(b);
	return p;
}

/* Thread i waits 40 ms of each slice from i on, so that i + 1 of them wait at a time. */
struct profile *fixture_lanes(void)
{
	struct profile *p = new_profile();
	struct slice_builder *b = slice_builder_new(100 * MS);
	uint32_t codes[24];

	for (uint32_t i = 0; i < G_N_ELEMENTS(codes); i++) {
		g_autofree char *comm = g_strdup_printf("lane %02u", i);
		uint32_t thread = fixture_thread(p, 7, 10 + i, comm, "app");
		struct slice_cell cell = { .row = i, .count_q8 = SLICE_COUNT_Q8, .blocked_ns = 40 * MS, .max_ns = 40 * MS };

		slice_hist_add(&cell.bars, profile_hist_slot(40 * MS), SLICE_COUNT_Q8);
		fixture_wait(p, thread, 'S', "main@/bin/app;take_lock@/bin/app|" SYSCALL "futex_wait;schedule", 0, 0, 0, 0);
		for (uint64_t slice = i; slice < 48; slice++) {
			struct wait *w = &g_array_index(p->waits, struct wait, i);

			slice_builder_add_wait(b, slice * 100 * MS + 10 * MS, &cell);
			w->count++;
			w->blocked_ns += 40 * MS;
			w->max_ns = 40 * MS;
			w->hist[profile_hist_slot(40 * MS)]++;
		}
		codes[i] = slice_code_of_wait(i);
	}
	fixture_settle(p);
	p->slices = slice_builder_finish(b, p, codes);
	slice_builder_free(b);
	return p;
}

/* The wait is added to its row of the profile, and to the span. */
static void add_span_wait(struct profile *p, struct request_span *s, uint32_t row, uint64_t blocked_ns, uint64_t runnable_ns)
{
	struct wait *w = &g_array_index(p->waits, struct wait, row);
	const struct span_wait own = { .user = w->user, .kernel = w->kernel, .state = w->state, .count = 1,
				       .blocked_ns = blocked_ns, .runnable_ns = runnable_ns };

	w->count++;
	w->blocked_ns += blocked_ns;
	w->runnable_ns += runnable_ns;
	w->max_ns = MAX(w->max_ns, blocked_ns + runnable_ns);
	w->hist[profile_hist_slot(blocked_ns + runnable_ns)]++;
	s->blocked_ns += blocked_ns;
	s->runnable_ns += runnable_ns;
	s->wait_cnt++;
	g_array_append_val(p->span_waits, own);
}

struct profile *fixture_requests(void)
{
	static const char *const stacks[] = { "main;serve;take_lock|" SYSCALL "futex_wait;schedule", "main;serve;read_page|" SYSCALL "io_schedule" };
	const struct request_row row = { .name = "serve<&>", .file = "server" };
	const double weights[] = { 0 };
	struct profile *p = new_profile();

	p->info.has_requests = true;
	p->info.start_ns = 1000 * MS;
	g_array_append_val(p->requests, row);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread = fixture_thread(p, 7, 10 + i, "server", "server");

		fixture_wait(p, thread, 'S', stacks[0], 0, 0, 0, 0);
		fixture_wait(p, thread, 'D', stacks[1], 0, 0, 0, 0);
	}
	for (uint32_t i = 0; i < 400; i++) {
		struct request_span s = { .thread = i % 2, .start_ns = 1000 * MS + i * 12 * MS, .on_cpu_ns = 1 * MS,
					  .flags = OFFCPU_SPAN_SLOWEST, .wait = p->span_waits->len };

		add_span_wait(p, &s, 2 * s.thread, 1900000 + i * 100, 100000);
		if (i % 50 == 49)
			add_span_wait(p, &s, 2 * s.thread + 1, 50 * MS, 0);
		s.wall_ns = s.on_cpu_ns + s.blocked_ns + s.runnable_ns;
		g_array_append_val(p->spans, s);
	}
	requests_estimate(p, weights);
	fixture_settle(p);
	return p;
}

#define RECEIVE "|" SYSCALL "__x64_sys_recvfrom;tcp_recvmsg;sk_wait_data;schedule;__schedule"
#define LOOP_SERVICE 4
#define HOSTILE_SERVICE 5
#define SERVICES_ASK_MAX 2

static void wait_for(struct profile *p, uint32_t thread, char state, const char *stacks, uint8_t kind, const char *name, uint64_t ns)
{
	const struct object o = { .kind = kind, .name = name, .place = kind == OBJECT_SOCKET ? "tcp" : "" };
	guint before = p->waits->len;
	struct wait *w;

	fixture_wait(p, thread, state, stacks, 100, ns, 0, 0);
	g_assert_cmpuint(p->waits->len, ==, before + 1);
	w = &g_array_index(p->waits, struct wait, before);
	w->object = profile_object(p, &o) + 1;
}

/* It is there for its waits alone. */
static uint32_t service_thread(struct profile *p, unsigned service, uint32_t tid, const char *name)
{
	uint32_t thread = fixture_thread(p, 100 + service, tid, name, name);
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->service = profile_string(p, name);
	t->to_ns = 0;
	return thread;
}

/* The service `from` waits so long for `to`, by a thread of its own. */
static void ask_service(struct profile *p, unsigned from, unsigned to, uint64_t ns)
{
	g_autofree char *there = to ? g_strdup_printf("127.0.0.1:%u", 7000 + to) : g_strdup("10.0.0.5:3306");
	g_autofree char *set = g_strdup_printf("3 sockets -> %s", there);
	g_autofree char *stacks = g_strdup_printf("main;ask_%u;recv" LIBC RECEIVE, to);
	const struct connection c = { .pid = 100 + from, .side = CONNECTION_CLIENT, .local = "127.0.0.1:48120", .remote = there };
	const char *name = profile_thread(p, from)->process;
	uint32_t thread = service_thread(p, from, 1000 + p->threads->len, name);

	if (from == LOOP_SERVICE)
		wait_for(p, thread, 'S', "main;uv_run;uv__io_poll;epoll_wait" LIBC "|" SYSCALL "do_epoll_wait;ep_poll;schedule;__schedule", OBJECT_EPOLL,
			 set, 4500 * MS);
	else
		wait_for(p, thread, 'S', stacks, OBJECT_SOCKET, there, ns);
	profile_add_connection(p, &c);
}

static void add_service(struct profile *p, unsigned i)
{
	static const char *const names[] = { "cart", "quoter", "ledgerd", "mail", "gateway-node", "\"><script>alert(1)</script>" };
	g_autofree char *name = i < G_N_ELEMENTS(names) ? g_strdup(names[i]) : g_strdup_printf("service-%03u", i);
	g_autofree char *local = g_strdup_printf("127.0.0.1:%u", 7000 + i);
	const struct connection c = { .pid = 100 + i, .side = CONNECTION_SERVER, .local = local, .remote = "" };
	uint32_t thread = service_thread(p, i, 100 + i, name);

	wait_for(p, thread, 'D', "main;commit_order;fsync" LIBC "|" SYSCALL "__x64_sys_fsync;do_fsync;jbd2_log_wait_commit@[jbd2];schedule;__schedule",
		 OBJECT_FILE, "/var/lib/ledger", (i == 2 ? 4400 : 20 + i % 17) * MS);
	profile_add_connection(p, &c);
}

struct profile *fixture_services(unsigned cnt)
{
	struct profile *p = new_profile();

	p->info.has_objects = true;
	for (unsigned i = 0; i < cnt; i++)
		add_service(p, i);
	ask_service(p, 0, 1, 4800 * MS);
	ask_service(p, 1, 2, 4500 * MS);
	for (unsigned i = 2; i < cnt; i++)
		for (unsigned k = 1; k <= SERVICES_ASK_MAX && i * SERVICES_ASK_MAX + k - 2 < cnt; k++)
			if (i != 2)
				ask_service(p, i, i * SERVICES_ASK_MAX + k - 2, 4000 * MS / (i * k));
	if (cnt > 8)
		ask_service(p, 8, 0, 900 * MS);
	fixture_settle(p);
	return p;
}
