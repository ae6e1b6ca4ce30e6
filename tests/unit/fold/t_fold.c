/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/fold.h"

#include "abi/sample.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

struct fixture {
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct fold *fold;
};

static void set_up(struct fixture *x, gconstpointer data)
{
	x->profile = profile_new();
	x->profile->info.start_ns = 1000;
	x->symbolizer = symbolizer_new();
	x->fold = fold_new(x->profile, x->symbolizer, GPOINTER_TO_UINT(data));
}

static void tear_down(struct fixture *x, gconstpointer data)
{
	fold_free(x->fold);
	symbolizer_free(x->symbolizer);
	profile_free(x->profile);
}

/* A function of this program, to stand on a stack. */
enum { fold_test_line = __LINE__ };
__attribute__((noinline)) int fold_test_leaf(int n);
__attribute__((noinline)) int fold_test_leaf(int n)
{
	return n + 1;
}

static void send_stack(struct fixture *x, uint64_t id, unsigned depth, uint32_t end)
{
	struct offcpu_rec_stack rec = {
		.type = OFFCPU_REC_STACK, .depth = depth, .id = id, .ts_ns = UINT64_MAX / 2,
		.pid = (uint32_t)getpid(), .is_user = 1, .end = end,
	};

	for (unsigned i = 0; i < depth && i < OFFCPU_MAX_DEPTH; i++)
		rec.ip[i] = (uint64_t)(uintptr_t)fold_test_leaf + 1;
	fold_stack(x->fold, &rec, sizeof(rec));
}

static void send_thread(struct fixture *x, uint32_t tno, uint64_t blocked_ns)
{
	struct offcpu_rec_thread rec = {
		.type = OFFCPU_REC_THREAD, .tno = tno, .pid = 10, .tid = 10 + tno, .from_ns = 1000, .to_ns = 2000,
		.account = { .on_cpu_ns = 1000 - blocked_ns, .state[OFFCPU_STATE_S].blocked_ns = blocked_ns }, .comm = "worker",
		.process = "server",
	};

	fold_thread(x->fold, &rec, sizeof(rec));
}

static void send_sum(struct fixture *x, uint32_t tno, uint64_t ustack, uint64_t count, uint64_t each_ns)
{
	struct offcpu_wait_slot sum = { .ustack = ustack, .tno = tno, .state = 'S', .count_q8 = count * SAMPLE_ONE_Q8,
					.blocked_ns = count * each_ns, .max_ns = each_ns };

	sum.hist_q8[offcpu_hist_place(63 - (uint32_t)__builtin_clzll(each_ns))] = (uint32_t)count * SAMPLE_ONE_Q8;
	fold_sum(x->fold, &sum);
}

static const struct wait *only_wait(const struct fixture *x)
{
	g_assert_cmpuint(x->profile->waits->len, ==, 1);
	return profile_wait(x->profile, 0);
}

static void test_named(struct fixture *x, gconstpointer data)
{
	send_stack(x, 7, 1, OFFCPU_WALK_COMPLETE);
	send_thread(x, 1, 600);
	send_sum(x, 1, 7, 2, 300);
	fold_finish(x->fold);
	const struct wait *w = only_wait(x);
	const struct stack_node *n = profile_get_node(x->profile, w->user);
	g_assert_cmpstr(profile_get_frame(x->profile, n->frame)->name, ==, "fold_test_leaf");
	g_assert_cmpuint(n->end, ==, STACK_COMPLETE);
	g_assert_cmpuint(w->count, ==, 2);
	g_assert_cmpuint(w->blocked_ns, ==, 600);
	g_assert_cmpuint(w->hist[8], ==, 2);
	g_assert_cmpstr(profile_thread(x->profile, w->thread)->process, ==, "server");
}

/* With lines, stacks become nodes at the end only; their names, ends and sums are the same. */
static void test_lines(struct fixture *x, gconstpointer data)
{
	const struct stack_node *n;
	const struct frame *f;
	uint32_t node;

	fold_with_lines(x->fold);
	send_stack(x, 7, 3, OFFCPU_WALK_COMPLETE);
	send_stack(x, 7, 3, OFFCPU_WALK_COMPLETE);
	send_thread(x, 1, 600);
	send_sum(x, 1, 7, 2, 300);
	g_assert_cmpuint(x->profile->nodes->len, ==, 1);
	fold_finish(x->fold);
	g_assert_true(fold_find(x->fold, 7, &node));
	g_assert_cmpuint(only_wait(x)->user, ==, node);
	n = profile_get_node(x->profile, node);
	f = profile_get_frame(x->profile, n->frame);
	g_assert_cmpuint(n->depth, ==, 3);
	g_assert_cmpuint(n->end, ==, STACK_COMPLETE);
	g_assert_cmpstr(f->name, ==, "fold_test_leaf");
	g_assert_false(f->is_inline);
	if (!f->file) {
		g_test_skip("this program has no debug information");
		return;
	}
	g_assert_true(g_str_has_suffix(f->file, "/t_fold.c"));
	g_assert_cmpuint(f->line, >=, (guint)fold_test_line);
	g_assert_cmpuint(f->line, <=, (guint)fold_test_line + 5);
}

/* Once, once more, then many: the same as all at once. */
static void test_merged(struct fixture *x, gconstpointer data)
{
	send_thread(x, 1, 900);
	send_sum(x, 1, 0, 1, 100);
	send_sum(x, 1, 0, 1, 300);
	send_sum(x, 1, 0, 5, 100);
	fold_finish(x->fold);
	const struct wait *w = only_wait(x);
	g_assert_cmpuint(w->count, ==, 7);
	g_assert_cmpuint(w->blocked_ns, ==, 900);
	g_assert_cmpuint(w->max_ns, ==, 300);
	g_assert_cmpuint(w->hist[6], ==, 6);
	g_assert_cmpuint(w->hist[8], ==, 1);
}

/* A stack that never crossed is not dropped: its time stands under a frame that says so. */
static void test_pending(struct fixture *x, gconstpointer data)
{
	send_thread(x, 1, 100);
	send_sum(x, 1, 99, 1, 100);
	fold_finish(x->fold);
	const struct stack_node *n = profile_get_node(x->profile, only_wait(x)->user);
	g_assert_cmpuint(n->end, ==, STACK_PENDING);
	g_assert_cmpuint(profile_get_frame(x->profile, n->frame)->why, ==, FRAME_PENDING);
}

/* Nor are the waits of a thread whose account was lost. */
static void test_lost_thread(struct fixture *x, gconstpointer data)
{
	send_sum(x, 5, 0, 3, 100);
	send_sum(x, 6, 0, 1, 50);
	fold_finish(x->fold);
	g_assert_cmpuint(x->profile->threads->len, ==, 1);
	const struct thread *t = profile_thread(x->profile, 0);
	g_assert_cmpstr(t->comm, ==, "[lost]");
	g_assert_cmpuint(t->blocked_ns, ==, 350);
	g_assert_cmpint(thread_residual_ns(t), ==, 0);
}

static void test_open(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_thread rec = {
		.type = OFFCPU_REC_THREAD, .tno = 1, .pid = 10, .tid = 11, .from_ns = 1000, .to_ns = 2000,
		.account = { .state[OFFCPU_STATE_D].blocked_ns = 1000 }, .comm = "stuck", .process = "stuck",
		.flags = OFFCPU_THREAD_OPEN_AT_START | OFFCPU_THREAD_OPEN_AT_END, .open_state = 'D',
		.open_flags = OFFCPU_OPEN_AT_START, .open_blocked_ns = 1000,
	};

	fold_thread(x->fold, &rec, sizeof(rec));
	fold_finish(x->fold);
	const struct wait *w = only_wait(x);
	g_assert_cmpuint(w->flags, ==, WAIT_OPEN_AT_START | WAIT_OPEN_AT_END);
	g_assert_cmpuint(w->state, ==, 'D');
	g_assert_cmpuint(w->hist[9], ==, 1);
	g_assert_cmpuint(profile_thread(x->profile, 0)->flags, ==, THREAD_OPEN_AT_START | THREAD_OPEN_AT_END);
}

static void test_bad_records(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_stack rec = { .type = OFFCPU_REC_STACK, .depth = OFFCPU_MAX_DEPTH + 1, .id = 1 };
	struct offcpu_rec_thread thread = { .from_ns = 2, .to_ns = 1 };

	fold_stack(x->fold, &rec, sizeof(rec));
	rec.depth = 4;
	fold_stack(x->fold, &rec, offsetof(struct offcpu_rec_stack, ip) + 3 * sizeof(rec.ip[0]));
	rec.depth = 0;
	fold_stack(x->fold, &rec, sizeof(rec));
	fold_thread(x->fold, &thread, sizeof(thread));
	fold_thread(x->fold, &thread, 8);
	g_assert_cmpuint(fold_stack_cnt(x->fold), ==, 0);
	g_assert_cmpuint(x->profile->threads->len, ==, 0);
	uint64_t counted = 0;
	for (guint i = 0; i < x->profile->losses->len; i++)
		counted += g_array_index(x->profile->losses, struct profile_loss, i).count;
	g_assert_cmpuint(counted, ==, 5);
}

/* Of a stack deeper than asked for the innermost frames stay. */
static void test_depth(struct fixture *x, gconstpointer data)
{
	uint32_t node;

	send_stack(x, 3, 10, OFFCPU_WALK_COMPLETE);
	g_assert_true(fold_find(x->fold, 3, &node));
	g_assert_cmpuint(profile_get_node(x->profile, node)->depth, ==, 4);
	g_assert_cmpuint(profile_get_node(x->profile, node)->end, ==, STACK_TRUNCATED);
}

/* What a compiler says that lies at an address of ours. */
static void list_function(uint64_t addr, const char *name)
{
	g_autofree char *path = g_strdup_printf("/tmp/perf-%d.map", getpid());
	g_autofree char *text = g_strdup_printf("%" PRIx64 " 40 %s\n", addr, name);

	if (name)
		g_assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	else
		g_assert_cmpint(g_unlink(path), ==, 0);
}

static void send_made(struct fixture *x, uint64_t id, uint64_t addr, unsigned depth)
{
	struct offcpu_rec_stack rec = { .type = OFFCPU_REC_STACK, .depth = depth, .id = id, .is_user = 1,
					.ts_ns = (uint64_t)g_get_monotonic_time() * 1000, .pid = (uint32_t)getpid(),
					.end = OFFCPU_WALK_COMPLETE, .ip = { addr, addr + 0x10 } };

	fold_stack(x->fold, &rec, sizeof(rec));
}

static const char *name_of(const struct fixture *x, uint64_t id)
{
	uint32_t node = 0;

	g_assert_true(fold_find(x->fold, id, &node));
	return profile_get_frame(x->profile, profile_get_node(x->profile, node)->frame)->name;
}

static void finish_window(struct fixture *x)
{
	fold_finish(x->fold);
	g_assert_true(profile_check(x->profile, NULL));
}

#define SLICE_NS UINT64_C(10000000)

/* A wait in stack 7 that was over by at_ns. */
static void send_slot(struct fixture *x, uint64_t start_ns, uint64_t at_ns)
{
	struct offcpu_wait_slot sum = { .ustack = 7, .tno = 1, .state = 'S', .count_q8 = SAMPLE_ONE_Q8, .blocked_ns = 1000,
					.max_ns = 1000, .slice = (uint16_t)((at_ns - start_ns) / SLICE_NS) };

	sum.hist_q8[offcpu_hist_place(9)] = SAMPLE_ONE_Q8;
	fold_sum(x->fold, &sum);
}

/*
 * Functions made at run time, two of them at one address one after the other: what waited after the change waited in
 * the second, be it a stack that was met before or one that is new.
 */
static void check_two_at_an_address(struct fixture *x)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uint64_t)(uintptr_t)code, start_ns = (uint64_t)g_get_monotonic_time() * 1000, old_ns, new_ns;
	const char *names[2];

	g_assert_true(code != MAP_FAILED);
	x->profile->info.start_ns = start_ns;
	fold_with_slices(x->fold, SLICE_NS, start_ns);
	list_function(addr, "first");
	send_made(x, 7, addr, 1);
	g_usleep(350000);
	old_ns = (uint64_t)g_get_monotonic_time() * 1000 - SLICE_NS;
	list_function(addr, "other");
	g_usleep(50000);
	send_made(x, 8, addr, 2);
	new_ns = (uint64_t)g_get_monotonic_time() * 1000;
	fold_expect_sums(x->fold, 2);
	fold_slices_at(x->fold, new_ns);
	send_thread(x, 1, 600);
	send_slot(x, start_ns, old_ns);
	send_slot(x, start_ns, new_ns);
	list_function(addr, NULL);
	fold_finish(x->fold);
	g_assert_cmpstr(name_of(x, 7), ==, "first");
	g_assert_cmpstr(name_of(x, 8), ==, "other");
	g_assert_cmpuint(x->profile->waits->len, ==, 2);
	for (guint i = 0; i < 2; i++) {
		const struct stack_node *n = profile_get_node(x->profile, profile_wait(x->profile, i)->user);

		names[i] = profile_get_frame(x->profile, n->frame)->name;
		g_assert_cmpint(n->end, ==, STACK_COMPLETE);
	}
	g_assert_cmpstr(names[0], ==, "first");
	g_assert_cmpstr(names[1], ==, "other");
	munmap(code, 4096);
}

static void test_two_at_an_address(struct fixture *x, gconstpointer data)
{
	check_two_at_an_address(x);
}

static void test_two_at_an_address_lined(struct fixture *x, gconstpointer data)
{
	fold_with_lines(x->fold);
	check_two_at_an_address(x);
}

/* Names that change and change back while no new stack arrives, each told once more before the sums are read. */
static void test_names_change_back(struct fixture *x, gconstpointer data)
{
	static const char *const names[] = { "first", "other", "first" };
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uint64_t)(uintptr_t)code, start_ns = (uint64_t)g_get_monotonic_time() * 1000, at_ns[3];

	g_assert_true(code != MAP_FAILED);
	x->profile->info.start_ns = start_ns;
	fold_with_slices(x->fold, SLICE_NS, start_ns);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		list_function(addr, names[i]);
		if (i == 0)
			send_made(x, 7, addr, 1);
		g_usleep(350000);
		fold_poll(x->fold);
		at_ns[i] = (uint64_t)g_get_monotonic_time() * 1000 - SLICE_NS;
	}
	fold_expect_sums(x->fold, 3);
	fold_slices_at(x->fold, at_ns[2] + SLICE_NS);
	send_thread(x, 1, 600);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		send_slot(x, start_ns, at_ns[i]);
	list_function(addr, NULL);
	finish_window(x);
	for (guint i = 0; i < x->profile->waits->len; i++) {
		const struct wait *w = profile_wait(x->profile, i);

		g_assert_cmpstr(profile_get_frame(x->profile, profile_get_node(x->profile, w->user)->frame)->name, ==, names[i % 2]);
		g_assert_cmpuint(w->count, ==, i % 2 ? 1 : 2);
	}
	g_assert_cmpuint(x->profile->waits->len, ==, 2);
	munmap(code, 4096);
}

static void check_replaced(struct fixture *x, uint64_t id, uint64_t tables_ns, enum stack_end end)
{
	struct offcpu_rec_stack rec = {
		.type = OFFCPU_REC_STACK, .depth = 3, .id = id, .ts_ns = UINT64_MAX / 2, .pid = (uint32_t)getpid(), .is_user = 1,
		.end = OFFCPU_WALK_COMPLETE, .tables_ns = tables_ns,
	};
	uint32_t node;

	for (unsigned i = 0; i < rec.depth; i++)
		rec.ip[i] = (uint64_t)(uintptr_t)fold_test_leaf + 1;
	fold_stack(x->fold, &rec, sizeof(rec));
	g_assert_true(fold_find(x->fold, id, &node));
	g_assert_cmpuint(profile_get_node(x->profile, node)->depth, ==, 3);
	g_assert_cmpuint(profile_get_node(x->profile, node)->end, ==, end);
}

/* A walk by tables of before other code came to lie there is no complete stack, whatever it says. */
static void test_replaced(struct fixture *x, gconstpointer data)
{
	struct symbolizer_mapping other = { .start = (uint64_t)(uintptr_t)fold_test_leaf & ~4095ULL, .len = 4096, .path = "/other",
					    .dev_major = 1, .inode = 1 };

	g_assert_true(symbolizer_foresee_user(x->symbolizer, (uint32_t)getpid()));
	check_replaced(x, 1, 1000, STACK_COMPLETE);
	symbolizer_note_mmap(x->symbolizer, (uint32_t)getpid(), 2000, &other);
	check_replaced(x, 2, 1999, STACK_BROKEN);
	check_replaced(x, 3, 2000, STACK_COMPLETE);
}

static void send_waker(struct fixture *x, uint64_t id, uint32_t kind, const char *comm)
{
	struct offcpu_rec_waker rec = {
		.type = OFFCPU_REC_WAKER, .kind = kind, .id = id, .nr = -1,
		.pid = kind == OFFCPU_WAKER_TASK ? (uint32_t)id : 0, .tid = kind == OFFCPU_WAKER_TASK ? (uint32_t)id : 0,
		.vector = kind == OFFCPU_WAKER_TASK ? OFFCPU_VECTOR_NONE : OFFCPU_VECTOR_TIMER,
	};

	g_strlcpy(rec.comm, comm, sizeof(rec.comm));
	fold_waker(x->fold, &rec, sizeof(rec));
}

/* Woken by a chain, 400 ns in 2 waits. */
static void send_chained(struct fixture *x, uint64_t chain)
{
	struct offcpu_wait_slot sum = { .tno = 1, .state = 'S', .waker = chain, .count_q8 = 2 * SAMPLE_ONE_Q8,
					.blocked_ns = 400, .max_ns = 200 };

	sum.hist_q8[offcpu_hist_place(7)] = sum.wake_hist_q8[0] = 2 * SAMPLE_ONE_Q8;
	fold_sum(x->fold, &sum);
}

static void test_chain(struct fixture *x, gconstpointer data)
{
	const struct offcpu_rec_chain rec = {
		.type = OFFCPU_REC_CHAIN, .cnt = 3, .end = OFFCPU_CHAIN_INTERRUPT, .id = 50, .waker = { 101, 102, 103 },
	};
	const struct offcpu_wait_key key = { .tno = 1, .state = 'S', .waker = 50 };
	struct offcpu_chain_sum told = { .hop = { { 50, 10, 5 }, { 40, 20, 0 } }, .rest_ns = 125 };

	send_waker(x, 101, OFFCPU_WAKER_TASK, "near");
	send_waker(x, 102, OFFCPU_WAKER_TASK, "far");
	send_waker(x, 103, OFFCPU_WAKER_HARDIRQ, "");
	fold_chain(x->fold, &rec, sizeof(rec));
	fold_chain(x->fold, &rec, sizeof(rec));
	send_thread(x, 1, 600);
	send_chained(x, 50);
	fold_chain_sum(x->fold, &key, &told);
	told = (struct offcpu_chain_sum){ .hop = { { 20, 0, 0 } }, .rest_ns = 30 };
	fold_chain_sum(x->fold, &key, &told);
	fold_finish(x->fold);
	g_assert_cmpuint(x->profile->stories->len, ==, 1);
	const struct story *s = profile_story(x->profile, 0);
	const struct chain_node *c = profile_get_chain(x->profile, s->chain);
	g_assert_cmpstr(profile_get_waker(x->profile, c->waker)->comm, ==, "near");
	c = profile_get_chain(x->profile, c->next - 1);
	g_assert_cmpstr(profile_get_waker(x->profile, c->waker)->comm, ==, "far");
	g_assert_cmpuint(c->end, ==, CHAIN_GOES_ON);
	c = profile_get_chain(x->profile, c->next - 1);
	g_assert_cmpstr(profile_get_waker(x->profile, c->waker)->irq, ==, "timer");
	g_assert_cmpuint(c->end, ==, CHAIN_INTERRUPT);
	g_assert_cmpuint(c->next, ==, 0);
	/* 300 of 400 ns were told: the first waker ran the others */
	g_assert_cmpuint(s->hop[0].ran_ns, ==, 170);
	g_assert_cmpuint(s->hop[0].runnable_ns, ==, 10);
	g_assert_cmpuint(s->hop[0].earlier_ns, ==, 5);
	g_assert_cmpuint(s->hop[1].ran_ns, ==, 40);
	g_assert_cmpuint(s->rest_ns, ==, 155);
	g_assert_cmpuint(s->blocked_ns, ==, 400);
}

/* What the first waker did earlier is stories of their own; that on the path of the last sleeps is with these. */
static void test_chain_earlier(struct fixture *x, gconstpointer data)
{
	const struct offcpu_rec_chain rec = {
		.type = OFFCPU_REC_CHAIN, .cnt = 2, .end = OFFCPU_CHAIN_INTERRUPT, .id = 50, .waker = { 101, 103 },
	};
	const struct offcpu_wait_key key = { .tno = 1, .state = 'S', .waker = 50 };
	const struct offcpu_chain_sum told = { .hop = { { 50, 0, 300 } }, .rest_ns = 50 };
	const struct offcpu_rec_sleep sleeps[] = {
		{ .type = OFFCPU_REC_SLEEP, .tno = 7, .no = 1, .slept_ns = 10000000000 + 50, .woken_ns = 10000000000 + 90, .waker = 103 },
		{ .type = OFFCPU_REC_SLEEP, .tno = 7, .no = 2, .by_tno = 8, .slept_ns = 10000000000 + 100,
		  .woken_ns = 10000000000 + 200, .waker = 102 },
	};
	const struct offcpu_rec_earlier earlier = {
		.type = OFFCPU_REC_EARLIER, .tno = 7, .depth = 7, .start_ns = 10000000000, .end_ns = 10000000000 + 300,
		.weight_q8 = SAMPLE_ONE_Q8, .key = key,
	};

	send_waker(x, 101, OFFCPU_WAKER_TASK, "near");
	send_waker(x, 102, OFFCPU_WAKER_TASK, "far");
	send_waker(x, 103, OFFCPU_WAKER_HARDIRQ, "");
	fold_chain(x->fold, &rec, sizeof(rec));
	for (unsigned i = 0; i < G_N_ELEMENTS(sleeps); i++)
		fold_sleep(x->fold, &sleeps[i], sizeof(sleeps[i]));
	fold_earlier(x->fold, &earlier, sizeof(earlier));
	fold_earlier(x->fold, &earlier, sizeof(earlier) - 1);
	send_thread(x, 1, 600);
	send_chained(x, 50);
	fold_chain_sum(x->fold, &key, &told);
	fold_finish(x->fold);
	g_assert_cmpuint(x->profile->stories->len, ==, 2);
	const struct story *main = profile_story(x->profile, 0), *other = profile_story(x->profile, 1);
	const struct chain_node *c = profile_get_chain(x->profile, profile_get_chain(x->profile, other->chain)->next - 1);
	g_assert_cmpstr(profile_get_waker(x->profile, c->waker)->comm, ==, "far");
	g_assert_cmpuint(other->hop[1].ran_ns, ==, 100);
	g_assert_cmpuint(other->count, ==, 0);
	g_assert_cmpuint(main->count, ==, 2);
	g_assert_cmpuint(main->hop[0].earlier_ns, ==, 0);
	g_assert_cmpuint(main->rest_ns, ==, 50 + 40);
	g_assert_cmpuint(main->hop[0].ran_ns + other->hop[0].ran_ns, ==, 50 + 50 + 10 + 100);
	g_assert_cmpuint(main->blocked_ns + other->blocked_ns, ==, 400);
}

/* Sums that say more than the wait has are cut; a waker that never arrived ends the chain, the rest is its. */
static void test_chain_cut(struct fixture *x, gconstpointer data)
{
	const struct offcpu_rec_chain rec = {
		.type = OFFCPU_REC_CHAIN, .cnt = 2, .end = OFFCPU_CHAIN_LOOP, .id = 50, .waker = { 101, 102 },
	};
	const struct offcpu_wait_key key = { .tno = 1, .state = 'S', .waker = 50 };
	const struct offcpu_chain_sum told = { .hop = { { 150, 300, 10 }, { 40, 20, 0 } }, .rest_ns = 125 };

	send_waker(x, 101, OFFCPU_WAKER_TASK, "near");
	fold_chain(x->fold, &rec, sizeof(rec));
	send_thread(x, 1, 600);
	send_chained(x, 50);
	fold_chain_sum(x->fold, &key, &told);
	fold_finish(x->fold);
	const struct story *s = profile_story(x->profile, 0);
	const struct chain_node *c = profile_get_chain(x->profile, s->chain);
	g_assert_cmpuint(c->end, ==, CHAIN_UNKNOWN);
	g_assert_cmpuint(c->loop_steps, ==, 0);
	g_assert_cmpuint(s->hop[0].ran_ns, ==, 150);
	g_assert_cmpuint(s->hop[0].runnable_ns, ==, 250);
	g_assert_cmpuint(s->hop[0].earlier_ns, ==, 0);
	g_assert_cmpuint(s->hop[1].ran_ns, ==, 0);
	g_assert_cmpuint(s->rest_ns, ==, 0);
}

/* The same beside windows, as an agent has them: each has the names of its end. */
static void test_two_at_an_address_in_windows(struct fixture *x, gconstpointer data)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uint64_t)(uintptr_t)code;
	static const char *const names[] = { "first", "other", "other", "third" };

	g_assert_true(code != MAP_FAILED);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct wait *w;

		list_function(addr, names[i]);
		g_usleep(350000);
		if (i == 0)
			send_made(x, 7, addr, 1);
		fold_expect_sums(x->fold, 1);
		send_thread(x, 1, 600);
		send_sum(x, 1, 7, 2, 300);
		finish_window(x);
		w = profile_wait(x->profile, 0);
		g_assert_cmpuint(x->profile->waits->len, ==, 1);
		g_assert_cmpstr(profile_get_frame(x->profile, profile_get_node(x->profile, w->user)->frame)->name, ==, names[i]);
		fold_begin_window(x->fold);
	}
	list_function(addr, NULL);
	munmap(code, 4096);
}

/* Two windows on a stack that was not met is forgotten, and its names with it; one that was keeps them. */
static void test_forget(struct fixture *x, gconstpointer data)
{
	send_stack(x, 7, 1, OFFCPU_WALK_COMPLETE);
	for (unsigned i = 2; i < 40; i++)
		send_stack(x, 100 + i, i, OFFCPU_WALK_COMPLETE);
	for (unsigned window = 0; window < 3; window++) {
		send_thread(x, 1, 600);
		send_sum(x, 1, 7, 2, 300);
		send_sum(x, 1, 8, 1, 300);	/* it never arrives */
		finish_window(x);
		g_assert_cmpuint(x->profile->waits->len, ==, 2);
		for (guint i = 0; i < 2; i++) {
			const struct frame *f =
				profile_get_frame(x->profile, profile_get_node(x->profile, profile_wait(x->profile, i)->user)->frame);

			g_assert_true(f->why == FRAME_PENDING || g_strcmp0(f->name, "fold_test_leaf") == 0);
		}
		fold_begin_window(x->fold);
		fold_forget(x->fold, true);
	}
	/* the root, the stack, and the one that stands for what never arrived */
	g_assert_cmpuint(x->profile->nodes->len, ==, 3);
	g_assert_cmpuint(x->profile->frames->len, ==, 2);
	g_assert_cmpuint(fold_stack_cnt(x->fold), ==, 1);
	send_stack(x, 110, 10, OFFCPU_WALK_COMPLETE);
	g_assert_cmpuint(x->profile->nodes->len, ==, 12);	/* its first frame is the other's */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, depth) \
	g_test_add("/fold/" #name, struct fixture, GUINT_TO_POINTER(depth), set_up, test_##name, tear_down)
	ADD(named, 0);
	ADD(lines, 0);
	ADD(merged, 0);
	ADD(pending, 0);
	ADD(lost_thread, 0);
	ADD(open, 0);
	ADD(bad_records, 0);
	ADD(depth, 4);
	ADD(two_at_an_address, 0);
	ADD(two_at_an_address_lined, 0);
	ADD(replaced, 0);
	ADD(chain, 0);
	ADD(chain_earlier, 0);
	ADD(chain_cut, 0);
	ADD(forget, 0);
	ADD(two_at_an_address_in_windows, 0);
	ADD(names_change_back, 0);
	return g_test_run();
}
