/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu hist: histograms of off-CPU, on-CPU or run-queue time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "abi/sample.h"
#include "analyse/accounts.h"
#include "base/hash.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "render/text/text.h"

static const char description[] =
	"Examples:\n"
	"  offcpu hist                      off-CPU time of all threads until Ctrl-C\n"
	"  offcpu hist --runq 1 10          run-queue delay, ten times a second apart\n"
	"  offcpu hist --on-cpu -P 5 1      how long threads run at a time, per process\n"
	"  offcpu hist -p 1234 --json 1\n"
	"\n"
	"A wait counts when it ends. Run-queue time is the time a thread was runnable and had no\n"
	"CPU, woken or preempted.";

struct hist {
	gboolean on_cpu, runq, by_process, by_thread, json, milliseconds, nanoseconds, timestamp;
	uint64_t interval_ns;
	uint32_t count;			/* 0: until Ctrl-C */
	GHashTable *rows;		/* uint64_t pid << 32 | tid -> struct hist_sum */
	uint64_t begun_ns;		/* start of this interval, relative to the run's */
	uint32_t printed;
};

struct hist_sum {
	uint64_t slots[OFFCPU_HIST_SLOTS];
	uint64_t sum_ns, max_ns;
};

static void on_sum(const struct offcpu_wait_slot *sum, void *data)
{
	struct hist *h = data;
	uint64_t id = h->by_thread ? sum->ustack : h->by_process ? sum->ustack >> 32 << 32 : 0;
	struct hist_sum *row = g_hash_table_lookup(h->rows, &id);

	if (!row) {
		row = g_new0(struct hist_sum, 1);
		g_hash_table_insert(h->rows, g_memdup2(&id, sizeof(id)), row);
	}
	for (uint32_t i = 0; i < OFFCPU_HIST_SLOTS; i++)
		row->slots[i] += sum->hist_q8[offcpu_hist_place(i)] / SAMPLE_ONE_Q8;	/* histograms are exact */
	row->sum_ns += sum->blocked_ns + sum->runnable_ns + sum->preempted_ns;
	row->max_ns = MAX(row->max_ns, sum->max_ns);
}

static char *comm_of(uint32_t pid, uint32_t tid)
{
	g_autofree char *path = tid ? g_strdup_printf("/proc/%u/task/%u/comm", pid, tid) :
				      g_strdup_printf("/proc/%u/comm", pid);
	char *comm = NULL;

	if (!g_file_get_contents(path, &comm, NULL, NULL))
		return g_strdup("[gone]");
	return g_strchomp(comm);
}

static int by_id(gconstpointer a, gconstpointer b)
{
	const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;

	return (*x > *y) - (*x < *y);
}

static const char *what_of(const struct hist *h)
{
	return h->on_cpu ? "on_cpu" : h->runq ? "run_queue" : "off_cpu";
}

static void print_interval(struct hist *h, uint64_t now_ns)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint cnt;
	g_autofree gpointer *ids = g_hash_table_get_keys_as_array(h->rows, &cnt);
	g_autofree struct hist_row *rows = g_new0(struct hist_row, MAX(cnt, 1));
	g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
	enum hist_unit unit = h->nanoseconds ? HIST_NS : h->milliseconds ? HIST_MS : HIST_US;
	struct timespec wall;

	if (cnt)
		qsort(ids, cnt, sizeof(*ids), by_id);
	for (guint i = 0; i < cnt; i++) {
		uint64_t id = *(uint64_t *)ids[i];
		const struct hist_sum *sum = g_hash_table_lookup(h->rows, ids[i]);

		rows[i] = (struct hist_row){ .pid = (uint32_t)(id >> 32), .tid = (uint32_t)id,
					     .slots = sum->slots, .sum_ns = sum->sum_ns, .max_ns = sum->max_ns };
		if (!id)
			continue;
		char *comm = comm_of(rows[i].pid, rows[i].tid);
		g_ptr_array_add(strings, comm);
		rows[i].comm = comm;
		rows[i].label = rows[i].tid ? g_strdup_printf("tid = %u %s", rows[i].tid, comm) :
					      g_strdup_printf("pid = %u %s", rows[i].pid, comm);
		g_ptr_array_add(strings, (gpointer)rows[i].label);
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	uint64_t length_ns = now_ns - h->begun_ns;
	if (h->json) {
		hist_json(text, what_of(h), (uint64_t)wall.tv_sec * 1000000000ULL + (uint64_t)wall.tv_nsec - length_ns,
			  length_ns, rows, cnt);
	} else {
		if (h->timestamp) {
			g_autoptr(GDateTime) now = g_date_time_new_now_local();
			g_autofree char *stamp = g_date_time_format(now, "%H:%M:%S");
			g_string_append_printf(text, "%s\n", stamp);
		}
		for (guint i = 0; i < cnt; i++) {
			hist_text(text, &rows[i], unit);
			g_string_append_c(text, '\n');
		}
		if (!cnt)
			g_string_append(text, "nothing to count\n\n");
	}
	fwrite(text->str, 1, text->len, stdout);
	fflush(stdout);
	g_hash_table_remove_all(h->rows);
	h->begun_ns = now_ns;
	h->printed++;
}

static bool on_tick(struct run *run, uint64_t elapsed_ns)
{
	struct hist *h = run->data;

	if (ferror(stdout))
		return false;
	if (!h->interval_ns || elapsed_ns < h->interval_ns * (h->printed + 1))
		return true;
	session_take_sums(run->session);
	print_interval(h, elapsed_ns);
	return !h->count || h->printed < h->count;
}

static int parse_own(struct hist *h, const struct target *target, int argc, char **argv)
{
	const char *wrong = NULL;
	g_autoptr(GError) error = NULL;

	if (argc > 3)
		return cmd_unexpected("hist", argv[3]);
	if ((argc > 1 && (!parse_duration(argv[1], 1000000000, &h->interval_ns, &error) || !h->interval_ns)) ||
	    (argc > 2 && (!parse_u32(argv[2], &h->count, &error) || !h->count)))
		return cmd_wrong("hist", "%s", error ? error->message : "INTERVAL and COUNT must be above 0");
	if (h->on_cpu && h->runq)
		wrong = "--on-cpu and --runq exclude each other";
	else if (h->by_process && h->by_thread)
		wrong = "-P and -L exclude each other";
	else if (h->on_cpu && (target->states || target->min_block || target->max_block))
		wrong = "--state, -m and -M are about waits, and --on-cpu counts none";
	if (wrong)
		cmd_error("hist", "%s", wrong);
	return wrong ? EXIT_USAGE : EXIT_OK;
}

/* Reports waits that have not ended, since histograms cannot contain them. */
static void print_end(const struct profile *p, const struct hist *h)
{
	struct coverage c;

	coverage_of(p, NULL, &c);
	if (!h->on_cpu)
		fprintf(stderr, "%" G_GUINT64_FORMAT " wait%s had not ended", c.open_end_cnt,
			c.open_end_cnt == 1 ? "" : "s");
	run_print_losses(p, h->on_cpu ? "lost: " : "; lost: ", NULL);
	if (!h->on_cpu || p->losses->len)
		fputc('\n', stderr);
}

static int run_hist(struct run *run, struct hist *h)
{
	int status = run_session(run);

	if (status != EXIT_OK)
		return status;
	struct profile *p = session_take_profile(run->session);
	/* the rest after the last full interval, unless COUNT intervals were printed */
	if (!h->interval_ns || ((!h->count || h->printed < h->count) && g_hash_table_size(h->rows)))
		print_interval(h, p->info.duration_ns);
	print_end(p, h);
	profile_free(p);
	return run_command_status(run);
}

int cmd_hist(int argc, char **argv)
{
	struct target target = { 0 };
	struct hist h = { 0 };
	struct run run = { .name = "hist", .target = &target, .on_tick = on_tick, .data = &h };
	const GOptionEntry own[] = {
		{ "on-cpu", 0, 0, G_OPTION_ARG_NONE, &h.on_cpu, "Stretches on CPU instead of waits", NULL },
		{ "runq", 0, 0, G_OPTION_ARG_NONE, &h.runq, "Run-queue time: runnable, but without a CPU", NULL },
		{ "per-process", 'P', 0, G_OPTION_ARG_NONE, &h.by_process, "One histogram per process", NULL },
		{ "per-thread", 'L', 0, G_OPTION_ARG_NONE, &h.by_thread, "One histogram per thread", NULL },
		{ "milliseconds", 0, 0, G_OPTION_ARG_NONE, &h.milliseconds, "Print ms instead of us", NULL },
		{ "nanoseconds", 0, 0, G_OPTION_ARG_NONE, &h.nanoseconds, "Print ns instead of us", NULL },
		{ "timestamp", 'T', 0, G_OPTION_ARG_NONE, &h.timestamp, "Print the time of day", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &h.json, "One JSON object per interval", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK;

	h.rows = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	target_cut_command(&target, &argc, argv);
	g_autoptr(GArray) entries = target_entries(&target, TARGET_WHO | TARGET_FILTER, own);
	if (!cmd_parse("hist", "[INTERVAL [COUNT]] [-- COMMAND ...]", description,
		       (GOptionEntry *)entries->data, &argc, &argv, &status))
		goto out;
	if ((status = parse_own(&h, &target, argc, argv)) != EXIT_OK ||
	    (status = target_resolve(&target, "hist")) != EXIT_OK)
		goto out;
	target.collect.mode = h.on_cpu ? COLLECT_HIST_ON : h.runq ? COLLECT_HIST_RUNQ : COLLECT_HIST_OFF;
	target.collect.on_sum = on_sum;
	target.collect.callback_data = &h;
	status = run_hist(&run, &h);
out:
	run_release(&run);
	target_release(&target);
	g_hash_table_destroy(h.rows);
	return status;
}
