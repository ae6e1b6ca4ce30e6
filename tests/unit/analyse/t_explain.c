/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "../fixture.h"
#include "explain/explain.h"

#define MS UINT64_C(1000000)
#define WINDOW_MS 10000
#define READ "__x64_sys_pread64@[kernel] filemap_read@[kernel] folio_wait_bit_common@[kernel] io_schedule@[kernel]"
#define USER "main@app serve@app read@libc.so.6"

static struct profile *window_new(void)
{
	struct profile *p = profile_new();

	p->info.duration_ns = WINDOW_MS * MS;
	p->info.cpus = 2;
	return p;
}

static uint32_t thread_of(struct profile *p, uint32_t tid, const char *process, uint64_t on_cpu_ms)
{
	uint32_t thread = fixture_thread(p, 10, tid, process, process);
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->to_ns = WINDOW_MS * MS;
	t->on_cpu_ns = on_cpu_ms * MS;
	return thread;
}

static uint32_t add_wait(struct profile *p, uint32_t thread, char state, uint64_t count, uint64_t each_ms,
			 const char *user, const char *kernel)
{
	uint64_t ns = count * each_ms * MS;
	struct wait w = {
		.thread = thread,
		.state = (uint8_t)state,
		.count = count,
		.max_ns = each_ms * MS,
		.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, user),
		.kernel = *kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, kernel) : 0,
	};

	w.hist[profile_hist_slot(each_ms * MS)] = (uint32_t)count;
	*(state == 'R' ? &w.preempted_ns : &w.blocked_ns) = ns;
	return profile_add_wait(p, &w);
}

/* A timer that ends the waits of a kernel thread is known as it is of others. */
static void test_kernel_thread(void)
{
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 7, "kwork", 0);
	const struct waker timer = { .comm = "", .irq = "timer" };

	g_array_index(p->threads, struct thread, thread).flags = THREAD_KERNEL;
	p->info.has_wakers = true;
	uint32_t wait = add_wait(p, thread, 'D', 100, 50, "", "kthread@[kernel] msleep@[kernel] schedule_timeout@[kernel]");
	const struct wake wake = { .wait = wait, .waker = profile_waker(p, &timer), .count = 100, .blocked_ns = 5000 * MS };

	profile_add_wake(p, &wake);
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->headlines->len, ==, 1);
	g_assert_cmpstr(g_array_index(e->findings->rows, struct finding, 0).by.comm, ==, "timer");
	g_assert_cmpuint(explanation_headline_of(e, wait), ==, 1);
	explanation_free(e);
	profile_free(p);
}

/* Eighty short waits in ten seconds are nobody's trouble; one that somebody notices is. */
static void test_healthy(void)
{
	for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "app", 40);

		add_wait(p, thread, 'D', 80, 4, USER, READ);
		add_wait(p, thread, 'R', 80, 1, USER, "");
		if (is_slow)
			add_wait(p, thread, 'D', 1, 150, "main@app flush@app read@libc.so.6", READ);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->little == NULL, ==, is_slow);
		g_assert_cmpint(e->headlines->len > 0, ==, is_slow);
		if (e->little)
			g_assert_nonnull(strstr(e->little, "Little to find: "));
		explanation_free(e);
		profile_free(p);
	}
}

/* What computes waits for a CPU now and then, and is told to look elsewhere; with as many waits as work it is not. */
static void test_computes(void)
{
	for (unsigned is_crowded = 0; is_crowded < 2; is_crowded++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < 2; i++)
			add_wait(p, thread_of(p, 20 + i, "xz", is_crowded ? 5000 : 9700), 'R', 100, is_crowded ? 50 : 3,
				 "main@xz encode@xz", "");
		struct explanation *e = explanation_new(p, NULL);

		if (is_crowded)
			g_assert_cmpuint(e->headlines->len, ==, 1);
		else
			g_assert_cmpstr(e->little, ==,
					"Little to find: xz computes: 97% of its workers' time is on CPU; a CPU profile tells more.");
		/* the two CPUs were free for half of the time */
		if (is_crowded)
			g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).advice, "CPUs were free"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A run queue ranks behind what has less time, and the screen says why. */
static void test_order(void)
{
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 11, "app", 1000);

	add_wait(p, thread, 'D', 20, 100, USER, READ);
	add_wait(p, thread, 'R', 100, 40, "main@app work@app", "");
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_cmpuint(e->headlines->len, ==, 2);
	g_assert_true(g_str_has_prefix(h[0].sentence, "33% of the time that matters: app waits for a read"));
	g_assert_true(g_str_has_prefix(h[1].sentence, "67% of the time that matters: app waits for a CPU"));
	g_assert_nonnull(strstr(h[1].evidence, "behind others, as their load makes it"));
	explanation_free(e);
	profile_free(p);
}

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"

static void set_lock(struct profile *p, uint32_t wait, uint8_t kind, const char *name, uint64_t addr)
{
	const struct object lock = {
		.kind = kind,
		.is_private = true,
		.operation = "FUTEX_WAIT",
		.name = profile_string(p, name),
		.place = profile_string(p, *name == 'h' ? "[heap]" : "/usr/bin/app"),
		.pid = 10,
		.addr = addr,
	};

	g_array_index(p->waits, struct wait, wait).object = profile_object(p, &lock) + 1;
}

/* Twelve locks on the heap at one place are one finding, and so is an array; a name of its own is told apart. */
static void test_one_of(void)
{
	static const struct {
		unsigned cnt;
		const char *function, *name;
		const char *says;
	} kinds[] = {
		{ 12, "put_row", "heap 0x%x", "waits for a mutex, one of 12, in put_row" },
		{ 4, "hash_put", "stripes+0x%x", "waits for a mutex, one of 4 in stripes, in hash_put" },
		{ 1, "audit", "audit_lock+0x0", "waits for a mutex, audit_lock, in audit" },
	};
	struct profile *p = window_new();
	uint32_t tid = 100;

	for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++)
		for (unsigned i = 0; i < kinds[k].cnt; i++, tid++) {
			char user[128], name[64];

			g_snprintf(user, sizeof(user), "main@app %s@app pthread_mutex_lock@libc.so.6", kinds[k].function);
			if (k == 2)
				g_strlcpy(name, kinds[k].name, sizeof(name));
			else
				g_snprintf(name, sizeof(name), k ? "stripes+0x%x" : "heap 0x%x", 0x1000 + 64 * i);
			uint32_t wait = add_wait(p, thread_of(p, tid, "app", 0), 'S', 20, 100, user, FUTEX);

			set_lock(p, wait, LOCK_MUTEX, name, 0x10000 * (k + 1) + 64 * i);
		}
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->findings->rows->len, ==, 3);
	for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++) {
		const struct headline *h = &g_array_index(e->headlines, struct headline, k);

		g_assert_nonnull(strstr(h->sentence, kinds[k].says));
		g_assert_cmpuint(h->finding->locks_cnt, ==, kinds[k].cnt);
		g_assert_cmpuint(h->finding->time_ns, ==, kinds[k].cnt * 2000 * MS);
	}
	explanation_free(e);
	profile_free(p);
}

#define UV "start_thread@libc.so.6 worker@node "
#define LOOKUP "uv__getaddrinfo_work@node getaddrinfo@libc.so.6 send_dg@libc.so.6 poll@libc.so.6"
#define SUBMIT "fetchPrice@/app/dns.js <anonymous>@/app/dns.js lookup@node:dns uv_getaddrinfo@node uv__work_submit@node "

/* Of a name server that answers nobody: the program's function and libuv's queue, not its threads' function. */
static void test_queue_of_lookups(void)
{
	struct profile *p = window_new();
	const struct waker timer = { .comm = "", .irq = "timer" };
	const struct waker main = { .comm = "node", .pid = 10, .tid = 10,
				    .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE,
							  SUBMIT "uv_cond_signal@node pthread_cond_signal@libc.so.6") };

	p->info.has_wakers = true;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t thread = thread_of(p, 20 + i, "node", 0);
		uint32_t idle = add_wait(p, thread, 'S', 5, 1000, UV "uv_cond_wait@node pthread_cond_wait@libc.so.6", FUTEX);
		uint32_t lookup = add_wait(p, thread, 'S', 5, 1000, UV LOOKUP, "__x64_sys_poll@[kernel] do_sys_poll@[kernel]");
		const struct wake asked = { .wait = idle, .waker = profile_waker(p, &main), .count = 5, .blocked_ns = 5000 * MS };
		const struct wake late = { .wait = lookup, .waker = profile_waker(p, &timer), .count = 5, .blocked_ns = 5000 * MS };

		profile_add_wake(p, &asked);
		profile_add_wake(p, &late);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_nonnull(strstr(h->sentence, "node waits for a name server (DNS) for fetchPrice"));
	g_assert_nonnull(strstr(h->evidence, "libuv does 2 of them at a time, so others queue"));
	g_assert_true(g_str_has_prefix(h->advice, "This name server does not answer"));
	explanation_free(e);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/kernel-thread", test_kernel_thread);
	g_test_add_func("/explain/healthy", test_healthy);
	g_test_add_func("/explain/computes", test_computes);
	g_test_add_func("/explain/order", test_order);
	g_test_add_func("/explain/one-of", test_one_of);
	g_test_add_func("/explain/queue-of-lookups", test_queue_of_lookups);
	return g_test_run();
}
