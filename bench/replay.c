// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Windows of an agent's history, pushed again as those of another host and time: what a day of them costs a ClickHouse
 * is measured without waiting for it (docs/fleet.md, "A day").
 *
 * usage: replay DIR URL HOST TIMES AT_ONCE
 *
 * All windows of DIR, TIMES times one behind the other without a gap, as if the last one ended now.  They go the
 * agent's way, by a spool and its thread, AT_ONCE of them at a time: 1 makes an insert of each.  Prints windows, rows,
 * bytes sent, and seconds of CPU time of our own.
 */
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "push/sender.h"
#include "store/file.h"
#include "store/store.h"

#define NS_A_SECOND UINT64_C(1000000000)
#define PATIENCE_US (600 * G_USEC_PER_SEC)

struct replay {
	const char *dir, *host;
	struct sender *sender;
	struct store_choice *choice;
	unsigned at_once, waiting;
};

static void fail(const char *what, GError *error)
{
	fprintf(stderr, "replay: %s: %s\n", what, error ? error->message : "it cannot be had");
	exit(1);
}

static void drain(struct replay *r)
{
	if (!sender_drain(r->sender, g_get_monotonic_time() + PATIENCE_US))
		fail("the engine", NULL);
	r->waiting = 0;
}

static void push(struct replay *r, const struct store_row *row, uint64_t start_unix_ns)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = store_read(r->dir, row->start_unix_ns, store_row_end_ns(row), &error);

	if (!p)
		fail("a window", error);
	profile_set_start_unix(p, start_unix_ns);
	p->info.host = profile_string(p, r->host);
	p->info.command_line = profile_string(p, "offcpu agent");
	struct reasons *reasons = reasons_new(p, NULL);

	if (!sender_window(r->sender, p, reasons, &error))
		fail("the spool", error);
	reasons_free(reasons);
	profile_free(p);
	if (++r->waiting >= r->at_once)
		drain(r);
}

static void push_all(struct replay *r, unsigned times)
{
	const GArray *rows = r->choice->rows;
	uint64_t whole_ns = 0, at_ns = (uint64_t)g_get_real_time() * 1000;

	for (guint i = 0; i < rows->len; i++)
		whole_ns += g_array_index(rows, struct store_row, i).duration_ns;
	at_ns -= whole_ns * times;
	for (unsigned k = 0; k < times; k++)
		for (guint i = 0; i < rows->len; i++) {
			const struct store_row *row = &g_array_index(rows, struct store_row, i);

			push(r, row, at_ns);
			at_ns += row->duration_ns;
		}
	drain(r);
}

static void on_sentence(void *ctx, const char *sentence)
{
	fprintf(stderr, "replay: %s\n", sentence);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct store_extent extent;

	if (argc != 6) {
		fputs("usage: replay DIR URL HOST TIMES AT_ONCE\n", stderr);
		return 2;
	}
	struct replay r = { .dir = argv[1], .host = argv[3], .at_once = (unsigned)atoi(argv[5]) };
	g_autofree char *spool = g_dir_make_tmp("offcpu-replay-XXXXXX", NULL);
	const struct sender_options options = { .target = { .engine = PUSH_CLICKHOUSE, .url = argv[2] },
						.spool = { .dir = spool, .max_bytes = UINT64_C(4) << 30 },
						.say = on_sentence };

	if (store_extent(r.dir, &extent, &error))
		r.choice = store_choose(r.dir, extent.from_unix_ns, extent.to_unix_ns, NS_A_SECOND, false, &error);
	r.sender = r.choice ? sender_start(&options, &error) : NULL;
	if (!r.sender)
		fail(r.dir, error);
	push_all(&r, (unsigned)atoi(argv[4]));
	const struct sender_status s = sender_status(r.sender);

	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %.2f\n", s.taken, s.rows, s.bytes, (double)clock() / CLOCKS_PER_SEC);
	sender_stop(r.sender);
	store_choice_free(r.choice);
	g_autofree char *lock = g_build_filename(spool, "lock", NULL);

	g_unlink(lock);
	g_rmdir(spool);
	return s.taken == 0;
}
