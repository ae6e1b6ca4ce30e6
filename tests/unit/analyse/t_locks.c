/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/locks.h"

#include "../fixture.h"

static uint32_t add_thread(struct profile *p, uint32_t tid, const char *comm)
{
	const struct thread t = { .pid = 10, .tid = tid, .comm = profile_string(p, comm), .process = profile_string(p, "app"),
				  .to_ns = 1000000 };

	return profile_add_thread(p, &t);
}

static uint32_t add_object_at(struct profile *p, enum lock_kind kind, const char *name, uint64_t addr, uint32_t holder)
{
	const struct object o = { .kind = (uint8_t)kind, .is_private = true, .operation = "FUTEX_WAIT", .name = name,
				  .place = "/bin/app", .pid = 10, .addr = addr, .holder_tid = holder };

	return profile_object(p, &o) + 1;
}

static uint32_t add_object(struct profile *p, enum lock_kind kind, const char *name, uint32_t holder)
{
	return add_object_at(p, kind, name, 4096, holder);
}

static uint32_t add_wait(struct profile *p, uint32_t thread, uint32_t object, uint64_t blocked_ns, char state)
{
	const struct wait w = { .thread = thread, .object = object, .state = (uint8_t)state, .count = 2, .blocked_ns = blocked_ns,
				.runnable_ns = 5, .max_ns = blocked_ns };

	return profile_add_wait(p, &w);
}

static void add_wake(struct profile *p, uint32_t wait, uint32_t tid, const char *comm, uint64_t blocked_ns)
{
	const struct waker w = { .pid = 10, .tid = tid, .comm = comm };
	const struct wake k = { .wait = wait, .waker = profile_waker(p, &w), .count = 1, .blocked_ns = blocked_ns };

	profile_add_wake(p, &k);
}

/* Two holders of one lock are one row; another word is another one, also of the same name. */
static void test_table(void)
{
	struct profile *p = profile_new();
	uint32_t a = add_thread(p, 11, "a"), b = add_thread(p, 12, "b"), c = add_thread(p, 13, "c");
	uint32_t by_b = add_object(p, LOCK_MUTEX, "queue", 12), by_gone = add_object(p, LOCK_MUTEX, "queue", 99);
	uint32_t other = add_object_at(p, LOCK_CONDITION, "queue", 8192, 0);
	uint32_t first = add_wait(p, a, by_b, 300, 'S');

	add_wake(p, first, 12, "b", 100);
	add_wake(p, first, 13, "c", 200);
	add_wait(p, c, by_gone, 500, 'S');
	add_wait(p, b, other, 50, 'S');
	add_wait(p, b, 0, 70, 'S');
	add_wait(p, b, 0, 900, 'D');
	struct lock_table *t = lock_table_new(p, NULL);
	g_assert_cmpuint(t->rows->len, ==, 2);
	g_assert_cmpuint(t->blocked_ns, ==, 850);
	g_assert_cmpuint(t->asleep_ns, ==, 920);
	const struct lock_row *r = &g_array_index(t->rows, struct lock_row, 0);
	g_assert_cmpuint(r->blocked_ns, ==, 800);
	g_assert_cmpuint(r->runnable_ns, ==, 10);
	g_assert_cmpuint(r->count, ==, 4);
	g_assert_cmpuint(r->max_ns, ==, 500);
	g_assert_cmpuint(r->threads_cnt, ==, 2);
	g_assert_cmpstr(r->process, ==, "app");
	g_assert_cmpuint(r->holders->len, ==, 2);
	const struct lock_holder *gone = &g_array_index(r->holders, struct lock_holder, 0);
	g_assert_cmpuint(gone->tid, ==, 99);
	g_assert_cmpstr(gone->comm, ==, "");
	g_assert_cmpuint(gone->blocked_ns, ==, 500);
	g_assert_cmpstr(g_array_index(r->holders, struct lock_holder, 1).comm, ==, "b");
	g_assert_cmpuint(r->releasers->len, ==, 2);
	g_assert_cmpuint(g_array_index(r->releasers, struct lock_holder, 0).threads_cnt, ==, 1);
	g_assert_cmpstr(g_array_index(r->releasers, struct lock_holder, 0).comm, ==, "c");
	g_assert_cmpuint(g_array_index(r->releasers, struct lock_holder, 0).blocked_ns, ==, 200);
	r = &g_array_index(t->rows, struct lock_row, 1);
	g_assert_cmpuint(r->holders->len, ==, 0);
	g_assert_cmpuint(r->releasers->len, ==, 0);
	g_autoptr(GString) name = g_string_new(NULL);
	lock_append_name(name, r->object);
	g_assert_cmpstr(name->str, ==, "condition variable queue");
	lock_table_free(t);

	g_autofree uint32_t *ids = lock_ids_new(p);
	g_assert_cmpuint(ids[0], ==, 0);
	g_assert_cmpuint(ids[by_b], ==, by_b);
	g_assert_cmpuint(ids[by_gone], ==, by_b);
	g_assert_cmpuint(ids[other], ==, other);
	profile_free(p);
}

/* Where the waiters stand in the program, whatever libc did between; the longest first. */
static void test_places(void)
{
	struct profile *p = profile_new();
	uint32_t a = add_thread(p, 11, "a"), o = add_object(p, LOCK_MUTEX, "queue", 0);
	static const struct {
		const char *stack;
		uint64_t blocked_ns;
	} waits[] = {
		{ "main@app push@app pthread_mutex_lock@libc.so.6", 100 },
		{ "main@app pop@app pthread_mutex_lock@libc.so.6", 300 },
		{ "main@app push@app pthread_mutex_lock@libc.so.6 __lll_lock_wait@libc.so.6", 250 },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
		uint32_t user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, waits[i].stack);
		const struct wait w = { .thread = a, .object = o, .user = user, .state = 'S', .count = 1,
					.blocked_ns = waits[i].blocked_ns };

		profile_add_wait(p, &w);
	}
	struct lock_table *t = lock_table_new(p, NULL);
	g_assert_cmpuint(t->rows->len, ==, 1);
	const GArray *places = g_array_index(t->rows, struct lock_row, 0).places;
	g_assert_cmpuint(places->len, ==, 2);
	g_assert_cmpstr(g_array_index(places, struct lock_place, 0).function, ==, "push");
	g_assert_cmpuint(g_array_index(places, struct lock_place, 0).blocked_ns, ==, 350);
	g_assert_cmpuint(g_array_index(places, struct lock_place, 0).count, ==, 2);
	g_assert_cmpstr(g_array_index(places, struct lock_place, 1).function, ==, "pop");
	lock_table_free(t);
	profile_free(p);
}

struct word {
	enum lock_kind kind[2];
	const char *name[2];
	unsigned rows;
	enum lock_kind shown;
};

/* What the stacks tell of one word differs; the longest waits tell least. */
static void test_one_word(void)
{
	static const struct word words[] = {
		{ { LOCK_FUTEX, LOCK_MUTEX }, { "queue", "queue" }, 1, LOCK_MUTEX },
		{ { LOCK_FUTEX, LOCK_SEMAPHORE }, { "[heap] 0x1000", "items" }, 1, LOCK_SEMAPHORE },
		{ { LOCK_LIBC, LOCK_RWLOCK }, { "queue", "queue" }, 1, LOCK_RWLOCK },
		{ { LOCK_FUTEX, LOCK_LIBC }, { "main_arena", "main_arena" }, 1, LOCK_LIBC },
		{ { LOCK_CONDITION, LOCK_MUTEX }, { "queue", "queue" }, 1, LOCK_CONDITION },
		/* a stack that ended is the next thread's */
		{ { LOCK_JOIN, LOCK_JOIN }, { "thread 12", "thread 13" }, 2, LOCK_JOIN },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
		const struct word *c = &words[i];
		struct profile *p = profile_new();
		uint32_t a = add_thread(p, 11, "a"), b = add_thread(p, 12, "b");
		uint32_t first = add_object(p, c->kind[0], c->name[0], 0), second = add_object(p, c->kind[1], c->name[1], 12);

		add_wait(p, a, first, 700, 'S');
		add_wait(p, b, second, 300, 'S');
		add_wait(p, b, add_object_at(p, LOCK_MUTEX, "other", 8192, 0), 1, 'S');
		struct lock_table *t = lock_table_new(p, NULL);
		const struct lock_row *r = &g_array_index(t->rows, struct lock_row, 0);

		g_assert_cmpuint(t->rows->len, ==, c->rows + 1);
		g_assert_cmpint(r->object->kind, ==, c->shown);
		g_assert_cmpuint(r->blocked_ns, ==, c->rows == 1 ? 1000 : 700);
		g_assert_cmpuint(r->threads_cnt, ==, c->rows == 1 ? 2 : 1);
		g_assert_cmpuint(t->blocked_ns, ==, 1001);
		lock_table_free(t);

		g_autofree uint32_t *ids = lock_ids_new(p);
		g_assert_cmpint(profile_get_object(p, ids[first] - 1)->kind, ==, c->shown);
		g_assert_cmpint(ids[first] == ids[second], ==, c->rows == 1);
		profile_free(p);
	}
}

/* Conditions and rwlocks of glibc wait on two words of 4 bytes; a plain futex beside another one is its own. */
static void test_two_words(void)
{
	struct profile *p = profile_new();
	uint32_t condition = add_object_at(p, LOCK_CONDITION, "ready", 4096, 0);
	uint32_t upper = add_object_at(p, LOCK_FUTEX, "ready+0x4", 4100, 0);
	uint32_t first = add_object_at(p, LOCK_FUTEX, "a", 8192, 0), second = add_object_at(p, LOCK_FUTEX, "b", 8196, 0);
	g_autofree uint32_t *ids = lock_ids_new(p);

	g_assert_cmpuint(ids[condition], ==, condition);
	g_assert_cmpuint(ids[upper], ==, condition);
	g_assert_cmpuint(ids[first], ==, first);
	g_assert_cmpuint(ids[second], ==, second);
	profile_free(p);
}

/* Shared words have other addresses in each process: the place tells, and the name. */
static void test_shared_words(void)
{
	struct profile *p = profile_new();
	const struct object first = { .kind = LOCK_FUTEX, .name = "/dev/shm/a+0x10", .place = "/dev/shm/a" };
	const struct object same = { .kind = LOCK_MUTEX, .name = "/dev/shm/a+0x10", .place = "/dev/shm/a" };
	const struct object other = { .kind = LOCK_MUTEX, .name = "/dev/shm/a+0x18", .place = "/dev/shm/a" };
	uint32_t a = profile_object(p, &first) + 1, b = profile_object(p, &same) + 1, c = profile_object(p, &other) + 1;
	g_autofree uint32_t *ids = lock_ids_new(p);

	g_assert_cmpuint(ids[a], ==, b);
	g_assert_cmpuint(ids[b], ==, b);
	g_assert_cmpuint(ids[c], ==, c);
	profile_free(p);
}

static void test_selection(void)
{
	struct profile *p = profile_new();
	uint32_t a = add_thread(p, 11, "a"), b = add_thread(p, 12, "b"), lock = add_object(p, LOCK_MUTEX, "queue", 0);
	const struct query q = { .comm = "a" };

	add_wait(p, a, lock, 300, 'S');
	add_wait(p, b, lock, 400, 'S');
	struct selection *s = selection_new(p, &q, NULL);
	struct lock_table *t = lock_table_new(p, s);
	g_assert_cmpuint(t->blocked_ns, ==, 300);
	g_assert_cmpuint(t->rows->len, ==, 1);
	lock_table_free(t);
	selection_free(s);
	profile_free(p);
}

/* The kind is told once, and no address that is nobody's. */
static void test_names(void)
{
	static const struct { unsigned kind; const char *name, *said; } names[] = {
		{ LOCK_MUTEX, "queue_lock", "mutex queue_lock" },
		{ LOCK_MUTEX, "heap 0x5581", "mutex heap 0x5581" },
		{ LOCK_SEMAPHORE, "*", "semaphore" },
		{ LOCK_SEMAPHORE, "heap *", "semaphore heap" },
		{ LOCK_MUTEX, "jobs+*", "mutex jobs+*" },
		{ OBJECT_PIPE, "pipe from bash", "pipe from bash" },
		{ OBJECT_SOCKET, "unix socket (postgres)", "unix socket (postgres)" },
		{ OBJECT_SOCKET, "10.0.0.5:5432", "socket 10.0.0.5:5432" },
		{ OBJECT_FILE, "/var/lib/file", "file /var/lib/file" },
		{ OBJECT_EPOLL, "2 sockets (fd 5 of node)", "epoll of 2 sockets (fd 5 of node)" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct object o = { .kind = (uint8_t)names[i].kind, .name = names[i].name };
		g_autoptr(GString) s = g_string_new(NULL);

		lock_append_name(s, &o);
		g_assert_cmpstr(s->str, ==, names[i].said);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/locks/table", test_table);
	g_test_add_func("/locks/places", test_places);
	g_test_add_func("/locks/one-word", test_one_word);
	g_test_add_func("/locks/two-words", test_two_words);
	g_test_add_func("/locks/shared-words", test_shared_words);
	g_test_add_func("/locks/selection", test_selection);
	g_test_add_func("/locks/names", test_names);
	return g_test_run();
}
