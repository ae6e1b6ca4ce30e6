/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "../../web/fixture.h"
#include "analyse/tree.h"

/* The path of labels from below the root to the node, "a;b;c". */
static char *path_of(const struct tree *t, uint32_t i)
{
	GString *s = g_string_new(NULL);

	for (; i; i = tree_node(t, i)->parent) {
		if (s->len)
			g_string_prepend_c(s, ';');
		g_string_prepend(s, tree_node_label(t, i)->text);
	}
	return g_string_free(s, FALSE);
}

static const struct tree_node *find(const struct tree *t, const char *path)
{
	for (uint32_t i = 0; i != TREE_NONE; i = tree_next(t, i, false)) {
		g_autofree char *own = path_of(t, i);
		if (strcmp(own, path) == 0)
			return tree_node(t, i);
	}
	g_test_message("no node %s", path);
	return NULL;
}

static uint64_t weight_of_profile(const struct profile *p, enum weight weight)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->waits->len; i++)
		sum += weight_of_wait(profile_wait(p, i), weight);
	return sum;
}

/* total = self + children = states; children sorted; each node met once, after its parent. */
static void check_sums(const struct tree *t)
{
	g_autofree bool *seen = g_new0(bool, t->nodes->len);
	unsigned seen_cnt = 0;

	for (uint32_t i = 0; i != TREE_NONE; i = tree_next(t, i, false)) {
		const struct tree_node *n = tree_node(t, i);
		uint64_t sum = n->self, states = 0, count = 0;
		const char *before = "";

		g_assert_false(seen[i]);
		seen[i] = true;
		seen_cnt++;
		g_assert_true(i == 0 || seen[n->parent]);
		for (uint32_t c = n->first_child; c != TREE_NONE; c = tree_node(t, c)->next_sibling) {
			g_assert_cmpuint(tree_node(t, c)->parent, ==, i);
			g_assert_cmpuint(tree_node(t, c)->depth, ==, n->depth + 1);
			g_assert_cmpint(strcmp(before, tree_node_label(t, c)->text), <=, 0);
			g_assert_cmpuint(tree_node(t, c)->max_ns, <=, n->max_ns);
			before = tree_node_label(t, c)->text;
			sum += tree_node(t, c)->total;
			count += tree_node(t, c)->count;
		}
		for (unsigned s = 0; s < TREE_STATE_COUNT; s++)
			states += n->states[s];
		g_assert_cmpuint(n->total, ==, sum);
		g_assert_cmpuint(n->total, ==, states);
		g_assert_cmpuint(n->count, >=, count);
	}
	g_assert_cmpuint(seen_cnt, ==, t->nodes->len);
}

static void test_sums(void)
{
	struct profile *p = fixture_server();

	for (enum weight w = 0; w < WEIGHT_KINDS; w++) {
		for (unsigned variant = 0; variant < 8; variant++) {
			struct tree_options o = { .weight = w, .reverse = variant & 1, .by_thread = variant & 2,
						  .delimiters = variant & 4 };
			struct tree *t = tree_from_profile(p, &o);

			check_sums(t);
			g_assert_cmpuint(tree_node(t, 0)->total, ==, weight_of_profile(p, w));
			tree_free(t);
		}
	}
	profile_free(p);
}

/* Two threads of one name, one stack in common. */
static struct profile *small_profile(void)
{
	struct profile *p = profile_new();
	uint32_t a = fixture_thread(p, 7, 7, "app", "app"), b = fixture_thread(p, 7, 8, "app", "app");

	fixture_wait(p, a, 'S', "main;work;lock|sys_futex;schedule", 2, 100, 10, 0);
	fixture_wait(p, b, 'D', "main;work;lock|sys_futex;schedule", 3, 50, 0, 0);
	fixture_wait(p, b, 'R', "main;work", 4, 0, 0, 7);
	fixture_wait(p, b, 'S', "main;idle|sys_futex;schedule", 1, 1000, 0, 0);
	return p;
}

/* Of what is idle there is only the wait for a CPU. */
static void test_without_idle(void)
{
	struct profile *p = small_profile();
	const bool idle[] = { true, false, false, true };
	struct tree *t = tree_from_profile(p, &(struct tree_options){ .idle = idle });

	check_sums(t);
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 10 + 50 + 7);
	g_assert_cmpuint(tree_node(t, 0)->count, ==, 3 + 4);
	g_assert_null(find(t, "app;main;idle"));
	tree_free(t);
	t = tree_from_profile(p, &(struct tree_options){ .idle = idle, .weight = WEIGHT_COUNT });
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 3 + 4);
	tree_free(t);
	profile_free(p);
}

static void test_root_first(void)
{
	struct profile *p = small_profile();
	struct tree *t = tree_from_profile(p, &(struct tree_options){ 0 });
	const struct tree_node *n = find(t, "app;main;work");

	check_sums(t);
	g_assert_cmpuint(n->total, ==, 167);
	g_assert_cmpuint(n->self, ==, 7);
	g_assert_cmpuint(n->count, ==, 9);
	g_assert_cmpuint(n->max_ns, ==, 110);
	g_assert_cmpuint(n->states[TREE_STATE_SLEEPING], ==, 100);
	g_assert_cmpuint(n->states[TREE_STATE_DISK], ==, 50);
	g_assert_cmpuint(n->states[TREE_STATE_RUNNABLE], ==, 10);
	g_assert_cmpuint(n->states[TREE_STATE_PREEMPTED], ==, 7);
	g_assert_cmpint(tree_dominant_state(n), ==, TREE_STATE_SLEEPING);
	g_assert_cmpuint(find(t, "app;main;work;lock;sys_futex;schedule")->self, ==, 160);
	g_assert_cmpuint(t->nodes->len, ==, 10);
	tree_free(t);
	profile_free(p);
}

static void test_reverse(void)
{
	struct profile *p = small_profile();
	struct tree *t = tree_from_profile(p, &(struct tree_options){ .reverse = true });

	check_sums(t);
	g_assert_cmpuint(find(t, "schedule")->total, ==, 1160);
	g_assert_cmpuint(find(t, "schedule;sys_futex;idle;main;app")->self, ==, 1000);
	g_assert_cmpuint(find(t, "work;main;app")->self, ==, 7);
	tree_free(t);
	profile_free(p);
}

static void test_thread_and_delimiter(void)
{
	struct profile *p = small_profile();
	struct tree *t = tree_from_profile(p, &(struct tree_options){ .by_thread = true, .delimiters = true });

	check_sums(t);
	g_assert_cmpuint(find(t, "app-7/7")->total, ==, 110);
	g_assert_cmpuint(find(t, "app-7/8")->total, ==, 1057);
	g_assert_cmpuint(find(t, "app-7/8;main;work;lock;-;sys_futex;schedule")->self, ==, 50);
	g_assert_cmpuint(find(t, "app-7/8;main;work")->self, ==, 7);
	tree_free(t);
	profile_free(p);
}

static void test_weights(void)
{
	static const uint64_t expected[WEIGHT_KINDS] = { 167, 150, 10, 7, 9, 0, 167 };
	struct profile *p = small_profile();

	for (enum weight w = 0; w < WEIGHT_KINDS; w++) {
		struct tree *t = tree_from_profile(p, &(struct tree_options){ .weight = w });
		if (!expected[w]) {
			g_assert_cmpuint(t->nodes->len, ==, 1);
			tree_free(t);
			continue;
		}
		g_assert_cmpuint(find(t, "app;main;work")->total, ==, expected[w]);
		tree_free(t);
	}
	profile_free(p);
}

static void test_keep(void)
{
	struct profile *p = small_profile();
	bool keep[4] = { false, true, false, false };
	struct tree *t = tree_from_profile(p, &(struct tree_options){ .keep = keep });

	check_sums(t);
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 50);
	tree_free(t);
	keep[1] = false;
	t = tree_from_profile(p, &(struct tree_options){ .keep = keep });
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 0);
	g_assert_cmpuint(t->nodes->len, ==, 1);
	tree_free(t);
	profile_free(p);
}

/* Equal names of different modules are different functions; user and kernel ones as well. */
static void test_same_name(void)
{
	struct profile *p = profile_new();
	uint32_t a = fixture_thread(p, 7, 7, "app", "app");

	fixture_wait(p, a, 'S', "init@/lib/a.so", 1, 5, 0, 0);
	fixture_wait(p, a, 'S', "init@/lib/b.so", 1, 6, 0, 0);
	fixture_wait(p, a, 'S', "|init@/lib/b.so", 1, 7, 0, 0);
	fixture_wait(p, a, 'S', "?10@/lib/b.so", 1, 8, 0, 0);
	struct tree *t = tree_from_profile(p, &(struct tree_options){ 0 });
	check_sums(t);
	g_assert_cmpuint(t->nodes->len, ==, 6);
	g_assert_cmpuint(find(t, "app;b.so+0x10")->total, ==, 8);
	tree_free(t);
	profile_free(p);
}

static uint32_t named_stack(struct profile *p, enum frame_kind kind, const char *name)
{
	const struct frame f = { .kind = kind, .name = name, .module = "app" };
	uint32_t node = profile_node(p, 0, profile_frame(p, &f));

	profile_stack_end(p, node, STACK_COMPLETE);
	return node;
}

/* Of 100 ms asleep a disk ended 60 and who ended 40 is not known; 7 nobody had ended; 5 it was preempted. */
static struct profile *woken_by_a_disk(void)
{
	struct profile *p = profile_new();
	const struct thread t = { .pid = 1, .tid = 2, .comm = "app", .process = "app" };
	const uint32_t thread = profile_add_thread(p, &t);
	const uint32_t user = named_stack(p, FRAME_USER, "main"), kernel = named_stack(p, FRAME_KERNEL, "read");
	const struct waker disk = { .comm = "", .irq = "irq:disk", .kernel = named_stack(p, FRAME_KERNEL, "wake") };
	const struct wait waits[] = {
		{ .thread = thread, .user = user, .kernel = kernel, .state = 'S', .count = 3, .blocked_ns = 100, .max_ns = 50 },
		{ .thread = thread, .user = user, .state = 'S', .count = 1, .blocked_ns = 7, .max_ns = 7,
		  .flags = WAIT_OPEN_AT_END },
		{ .thread = thread, .user = user, .state = 'R', .count = 1, .preempted_ns = 5, .max_ns = 5 },
	};
	struct wake k = { .waker = profile_waker(p, &disk), .count = 2, .blocked_ns = 60 };

	for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
		uint32_t wait = profile_add_wait(p, &waits[i]);

		if (!i)
			k.wait = wait;
	}
	profile_add_wake(p, &k);
	return p;
}

static void test_offwake(void)
{
	struct profile *p = woken_by_a_disk();
	const struct tree_options o = { .view = TREE_OFFWAKE, .delimiters = true };
	struct tree *t = tree_from_profile(p, &o);

	check_sums(t);
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 112);
	g_assert_cmpuint(find(t, "app;main;-;read;--;wake;irq:disk")->self, ==, 60);
	g_assert_cmpuint(find(t, "app;main;-;read;--;[unknown]")->self, ==, 40);
	g_assert_cmpuint(find(t, "app;main;--;[still asleep]")->self, ==, 7);
	g_assert_cmpuint(find(t, "app;main")->self, ==, 5);
	tree_free(t);
	profile_free(p);
}

static void test_wakeup(void)
{
	struct profile *p = woken_by_a_disk();
	const struct tree_options o = { .view = TREE_WAKERS, .delimiters = true, .by_thread = true };
	struct tree *t = tree_from_profile(p, &o);

	check_sums(t);
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 107);
	g_assert_cmpuint(find(t, "irq:disk;wake;app-1/2")->self, ==, 60);
	g_assert_cmpuint(find(t, "[unknown];app-1/2")->self, ==, 40);
	g_assert_cmpuint(find(t, "[still asleep];app-1/2")->self, ==, 7);
	tree_free(t);
	profile_free(p);
}

/* A path deeper than any stack keeps its weight. */
static void test_too_deep(void)
{
	struct tree *t = tree_new(WEIGHT_OFF_CPU, false);
	size_t cnt = TREE_MAX_DEPTH + 100;
	g_autofree uint32_t *path = g_new(uint32_t, cnt);
	struct tree_event e = { .states = { [TREE_STATE_DISK] = 9 }, .count = 1 };

	for (size_t i = 0; i < cnt; i++)
		path[i] = tree_label(t, &(struct tree_label){ .text = i % 2 ? "a" : "b", .kind = TREE_USER });
	tree_add(t, path, NULL, cnt, &e);
	tree_finish(t);
	check_sums(t);
	g_assert_cmpuint(t->nodes->len, ==, TREE_MAX_DEPTH + 1);
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 9);
	tree_free(t);
}

/* 20,000 waits of 60 frames, as a minute of a busy server holds: it must not be felt. */
static void test_large(void)
{
	struct tree *t = tree_new(WEIGHT_OFF_CPU, false);
	struct tree_event e = { .states = { 1000 }, .count = 1 };
	uint32_t labels[500], path[60], seed = 1;

	for (unsigned i = 0; i < G_N_ELEMENTS(labels); i++) {
		char name[32];
		g_snprintf(name, sizeof(name), "function_%u", i);
		labels[i] = tree_label(t, &(struct tree_label){ .text = name, .kind = TREE_USER });
	}
	gint64 before = g_get_monotonic_time();
	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < G_N_ELEMENTS(path); k++) {
			seed = seed * 1664525 + 1013904223;
			path[k] = labels[k < 45 ? k + (i % 7 == k) : (seed >> 16) % (k < 55 ? 2 : 500)];
		}
		tree_add(t, path, NULL, G_N_ELEMENTS(path), &e);
	}
	tree_finish(t);
	gint64 us = g_get_monotonic_time() - before;
	g_test_message("20000 waits of 60 frames: %u nodes in %.1f ms", t->nodes->len, (double)us / 1000);
	g_assert_cmpuint(tree_node(t, 0)->total, ==, 20000000);
	g_assert_cmpint(us, <, 5 * G_USEC_PER_SEC);	/* generous: sanitizers, loaded machines */
	tree_free(t);
}

/* Threads of a pool are one column, unless each is to stand apart; one that has no like keeps its number. */
static void test_pools(void)
{
	static const char *const comms[] = { "pool-1-thread-1", "pool-1-thread-2", "pool-1-thread-2", "disk-7", "disk-8" };
	struct profile *p = profile_new();
	bool found = false;

	for (guint i = 0; i < G_N_ELEMENTS(comms); i++) {
		const struct thread thread = { .pid = i < 4 ? 50 : 60, .tid = 51 + i, .comm = comms[i], .process = "java" };
		const struct wait w = { .thread = profile_add_thread(p, &thread), .state = 'S', .count = 1, .blocked_ns = 1000 };

		profile_add_wait(p, &w);
	}
	struct tree *t = tree_from_profile(p, &(struct tree_options){ .weight = WEIGHT_OFF_CPU });

	for (guint i = 0; i < t->nodes->len; i++) {
		const struct tree_node *n = &g_array_index(t->nodes, struct tree_node, i);
		const struct tree_label *l = &g_array_index(t->labels, struct tree_label, n->label);

		if (l->kind == TREE_COMM)
			g_assert_cmpuint(n->total, ==, strcmp(l->text, "pool-1-thread-*") == 0 ? 3000 : 1000);
		found = found || strcmp(l->text, "pool-1-thread-*") == 0;
	}
	g_assert_true(found);
	tree_free(t);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tree/sums", test_sums);
	g_test_add_func("/tree/root-first", test_root_first);
	g_test_add_func("/tree/without-idle", test_without_idle);
	g_test_add_func("/tree/reverse", test_reverse);
	g_test_add_func("/tree/thread-and-delimiter", test_thread_and_delimiter);
	g_test_add_func("/tree/weights", test_weights);
	g_test_add_func("/tree/keep", test_keep);
	g_test_add_func("/tree/same-name", test_same_name);
	g_test_add_func("/tree/offwake", test_offwake);
	g_test_add_func("/tree/wakeup", test_wakeup);
	g_test_add_func("/tree/too-deep", test_too_deep);
	g_test_add_func("/tree/large", test_large);
	g_test_add_func("/tree/pools", test_pools);
	return g_test_run();
}
