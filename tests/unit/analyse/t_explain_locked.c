/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who had a file lock, or a database of SQLite, when it was looked at. */
#include "window.h"

#include "profile/limits.h"

#define FLOCK "__do_sys_flock@[kernel] locks_lock_inode_wait@[kernel]"
#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define READ "ksys_read@[kernel] tcp_recvmsg@[kernel]"
#define SLEEP "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel] do_nanosleep@[kernel]"

/* app's threads queue at a lock, and hand it on to each other; each of them mostly waits for a client. */
static void test_file(void)
{
	static const struct { const char *object, *limit, *evidence, *advice; } cases[] = {
		{ "/data/seq", "8 of 9 looks, 77 of 1 78 runs file\tbackup.sh: flock\ttar\t\t/data/seq",
		  "backup.sh: flock/77 had it at 8 of 9 looks, whose child tar/78 meanwhile runs", "on a copy" },
		{ ".../seq", "8 of 9 looks, 77 of 1 77 sleeps file\tbackup.pl\t\t\t/data/seq",
		  "backup.pl/77 had it at 8 of 9 looks, and meanwhile sleeps until a timer", "pauses with the lock" },
		{ "/data/seq", "8 of 9 looks, 77 of 1 77 network file\tbackup.pl\t\t10.0.0.5:80\t/data/seq",
		  "and meanwhile waits for 10.0.0.5:80", "waits for an answer" },
		{ "/data/seq", "8 of 9 looks, 77 of 3 78 runs file\tbackup.sh: flock\ttar\t\t/data/seq",
		  "backup.sh: flock processes had it at 8 of 9 looks, each with a child, tar, that meanwhile runs", "on a copy" },
		/* another file; at few looks; one of the queue; a database */
		{ ".../other", "8 of 9 looks, 77 of 1 77 sleeps file\tbackup.pl\t\t\t/data/seq", NULL, NULL },
		{ "/data/seq", "3 of 9 looks, 77 of 1 77 sleeps file\tbackup.pl\t\t\t/data/seq", NULL, NULL },
		{ "/data/seq", "1 of 1 looks, 77 of 1 77 sleeps file\tbackup.pl\t\t\t/data/seq", NULL, NULL },
		{ "/data/seq", "8 of 9 looks, 10 of 1 10 sleeps file\tapp\t\t\t/data/seq", NULL, NULL },
		{ "/data/seq", "8 of 9 looks, 77 of 1 77 sleeps sqlite\tbackup.pl\t\t\t/data/seq", NULL, NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object o = { .kind = OBJECT_FILE, .name = cases[i].object, .operation = "", .place = "" };

		p->info.has_wakers = true;
		for (uint32_t tid = 11; tid < 13; tid++) {
			const uint32_t thread = thread_of(p, tid, "app", 5);
			const uint32_t wait = add_wait(p, thread, 'S', 10, 500, "main@app serve@app flock@libc.so.6", FLOCK);

			fixture_is_for(p, wait, &o);
			add_wait(p, thread, 'S', 10, 400, "main@app serve@app read@libc.so.6", READ);
			woken_in(p, wait, 0, "main@app serve@app close@libc.so.6", 10, 5000);
		}
		profile_add_limit(p, LIMIT_LOCKED, 10, 0, cases[i].limit);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "app waits for a lock on a file");

		g_test_message("case %zu: %s | %s | %s", i, h->sentence, h->evidence, h->advice);
		g_assert_cmpint(strstr(h->evidence, " looks") != NULL, ==, cases[i].evidence != NULL);
		if (cases[i].evidence) {
			g_assert_nonnull(strstr(h->evidence, cases[i].evidence));
			g_assert_null(strstr(h->evidence, "held by"));
			g_assert_nonnull(strstr(h->advice, cases[i].advice));
		}
		explanation_free(e);
		profile_free(p);
	}
}

/* Threads wait for one that waits for the lock: the chain ends at who has it. */
static void test_behind(void)
{
	struct profile *p = window_new();
	const struct object o = { .kind = OBJECT_FILE, .name = "/data/journal", .operation = "", .place = "" };
	const uint32_t writer = thread_of(p, 11, "app", 5);

	p->info.has_wakers = true;
	fixture_is_for(p, add_wait(p, writer, 'S', 4, 2400, "main@app write_all@app flock@libc.so.6", FLOCK), &o);
	for (uint32_t tid = 20; tid < 24; tid++)
		woken_in(p,
			 add_wait(p, thread_of(p, tid, "app", 5), 'S', 4, 2400,
				  "main@app push@app pthread_cond_wait@libc.so.6", FUTEX),
			 writer, "main@app write_all@app pthread_cond_broadcast@libc.so.6", 4, 9600);
	profile_add_limit(p, LIMIT_LOCKED, 10, 0, "9 of 9 looks, 77 of 1 77 sleeps file\tbackup.pl\t\t\t/data/journal");
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "app waits for a condition");

	g_test_message("%s | %s | %s", h->sentence, h->evidence, h->advice);
	g_assert_nonnull(strstr(h->evidence, ", which backup.pl/77 had at 9 of 9 looks, and meanwhile sleeps"));
	g_assert_nonnull(strstr(h->advice, "pauses with the lock"));
	explanation_free(e);
	profile_free(p);
}

static void test_sqlite(void)
{
	static const struct { const char *limit, *evidence, *advice; } cases[] = {
		{ "8 of 9 looks, 77 of 1 78 runs sqlite\trollup.pl\tsh\t\t/data/shop.db",
		  "rollup.pl/77 had /data/shop.db locked at 8 of 9 looks, whose child sh/78 meanwhile runs", "commit sooner" },
		{ "8 of 9 looks, 10 of 1 10 sleeps sqlite\tapp\t\t\t/data/shop.db",
		  "another connection of its own process had /data/shop.db locked at 8 of 9 looks", "Another connection writes" },
		{ "8 of 9 looks, 77 of 1 77 sleeps file\tapp\t\t\t/data/shop.db", NULL, "Another connection writes" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, thread_of(p, 11, "app", 5), 'S', 90, 100,
			 "main@app save@app sqliteDefaultBusyCallback@libsqlite3.so.0 nanosleep@libc.so.6", SLEEP);
		profile_add_limit(p, LIMIT_LOCKED, 10, 0, cases[i].limit);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "app waits for a locked database");

		g_test_message("case %zu: %s | %s | %s", i, h->sentence, h->evidence, h->advice);
		g_assert_cmpint(strstr(h->evidence, " looks") != NULL, ==, cases[i].evidence != NULL);
		g_assert_true(!cases[i].evidence || strstr(h->evidence, cases[i].evidence));
		g_assert_nonnull(strstr(h->advice, cases[i].advice));
		g_assert_null(strstr(h->evidence, "sleeps until a timer"));
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain-locked/file", test_file);
	g_test_add_func("/explain-locked/behind", test_behind);
	g_test_add_func("/explain-locked/sqlite", test_sqlite);
	return g_test_run();
}
