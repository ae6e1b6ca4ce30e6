/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "base/parse.h"
#include "base/text.h"
#include "analyse/reason/reasons.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "push/metrics.h"
#include "push/sender.h"
#include "push/target.h"
#include "explain/text.h"

#define COMMAND "push"
#define WAIT_NS (UINT64_C(30) * 1000000000)
#define NS_A_DAY (INT64_C(86400) * 1000000000)
#define PAUSE_FIRST_US (G_USEC_PER_SEC / 2)

static const char description[] =
	"Sends a recording to an engine that holds those of many hosts.\n"
	"\n"
	"  offcpu push --pyroscope http://pyroscope:4040          to look at: a series for each service\n"
	"  offcpu push --otlp http://collector:4318               to whatever takes OpenTelemetry profiles; --parca URL to Parca\n"
	"  offcpu push db.offcpu --clickhouse http://ch:8123      to ask and to read back: every row, to the nanosecond\n"
	"  offcpu push --clickhouse https://ch:8443 --spool DIR   what cannot be sent waits there for the next push\n"
	"\n"
	"A user and a password, or a token, come from --credentials or from OFFCPU_PUSH_USER, OFFCPU_PUSH_PASSWORD and\n"
	"OFFCPU_PUSH_TOKEN.  The tables of ClickHouse are in share/offcpu/clickhouse.";

struct push_args {
	char *urls[PUSH_ENGINES];	/* NULL: do not push to that engine */
	char *database, *tenant, *credentials, *ca, *spool, *wait, *metrics;
	uint64_t wait_ns;	/* 0: a single try, however long it takes */
	int engines_cnt;
};

static void args_clear(struct push_args *a)
{
	char **const texts[] = { &a->database, &a->tenant, &a->credentials, &a->ca, &a->spool, &a->wait,
				 &a->metrics };

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_free(*texts[i]);
	for (int i = 0; i < PUSH_ENGINES; i++)
		g_free(a->urls[i]);
}

static bool parse_args(struct push_args *a, int argc, char **argv, GError **error)
{
	a->wait_ns = WAIT_NS;
	if (argc > 2)
		return cmd_bad(error, "one recording at a time");
	bool is_series = false;

	for (int i = 0; i < PUSH_ENGINES; i++) {
		a->engines_cnt += a->urls[i] != NULL;
		is_series = is_series || (a->urls[i] && engines[i].series);
	}
	if (!a->engines_cnt && !a->metrics)
		return cmd_bad(error,
			   "where to: --pyroscope, --clickhouse, --otlp or --parca URL, or --metrics FILE is wanted");
	if (a->database && !a->urls[PUSH_CLICKHOUSE])
		return cmd_bad(error, "--database: only with --clickhouse");
	if (a->tenant && !is_series)
		return cmd_bad(error, "--tenant: only with --pyroscope, --otlp or --parca");
	return !a->wait || parse_duration(a->wait, UINT64_C(1000000000), &a->wait_ns, error);
}

static void warn_clear(const struct target *t)
{
	if (target_is_clear(t))
		cmd_error(COMMAND, "warning: the password goes to %s unencrypted: https is wanted", target_name(t));
}

/* The server accepts an old recording and drops it at its next merge. */
static void warn_old(const struct target_options *o, const struct profile *p)
{
	int64_t days = (g_get_real_time() * 1000 - (int64_t)p->info.start_unix_ns) / NS_A_DAY;
	struct target *t = days > 0 && o->engine == PUSH_CLICKHOUSE ? target_open(o, NULL) : NULL;
	unsigned keeps_days = t ? target_keeps_days(t) : 0;

	if (keeps_days && days >= keeps_days)
		cmd_error(COMMAND,
			  "warning: the recording is %" G_GINT64_FORMAT
			  " days old, and %s drops what is older than %u: "
			  "a longer TTL of its tables is wanted",
			  (gint64)days, target_name(t), keeps_days);
	target_close(t);
}

static void tell_taken(const char *name, guint cnt, uint64_t rows, uint64_t bytes)
{
	g_autoptr(GString) size = g_string_new(NULL);

	size_text(size, bytes);
	cmd_error(COMMAND, "%s took %" G_GUINT64_FORMAT " rows in %u request%s, %s packed", name, (guint64)rows, cnt,
		  cnt == 1 ? "" : "s", size->str);
}

/* Retries until it is taken or time is over, unless sending again might count twice. */
static bool send_unit(struct target *t, const struct push_unit *u, gint64 until_us, GError **error)
{
	gint64 pause_us = PAUSE_FIRST_US;

	for (;; pause_us *= 2) {
		g_autofree char *why = NULL;
		unsigned retry_after_s;
		enum target_outcome outcome = target_send(t, u, &why, &retry_after_s);
		gint64 wait_us = MAX(pause_us, (gint64)retry_after_s * G_USEC_PER_SEC);

		if (outcome == TARGET_TAKEN)
			return true;
		if (outcome != TARGET_LATER || g_get_monotonic_time() + wait_us > until_us)
			return refuse(error, PUSH_ERROR, PUSH_ERROR_FAILED, "%s%s", why,
				outcome == TARGET_UNSURE ? "; it may have taken it, so it was not sent again" : "");
		g_usleep((gulong)wait_us);
	}
}

static bool push_now(const struct push_args *a, const struct target_options *o, const struct profile *p,
		     const struct reasons *reasons, GError **error)
{
	struct target *t = target_open(o, error);
	g_autoptr(GPtrArray) units = t ? target_units(t, p, reasons, error) : NULL;
	uint64_t rows = 0, bytes = 0;
	guint taken = 0, requests = 0;

	if (units)
		warn_clear(t);
	for (; units && taken < units->len; taken++) {
		const struct push_unit *u = g_ptr_array_index(units, taken);

		if (!send_unit(t, u, o->until_us, error))
			break;
		bytes += unit_bytes(u);
		requests += u->requests->len;
		for (guint i = 0; i < u->requests->len; i++)
			rows += ((const struct push_request *)g_ptr_array_index(u->requests, i))->rows;
	}
	bool ok = units && taken == units->len;

	if (ok)
		tell_taken(target_name(t), requests, rows, bytes);
	else if (taken)
		g_prefix_error(error, "after %u of %u requests: ", taken, units->len);
	target_close(t);
	return ok;
}

static void on_sentence(void *ctx, const char *sentence)
{
	cmd_error(COMMAND, "%s", sentence);
}

/* Each engine has its own folder, so that one that is away does not block others. */
static bool push_by_spool(const struct push_args *a, const struct target_options *o, const struct profile *p,
			  const struct reasons *reasons, GError **error)
{
	g_autofree char *dir = g_build_filename(a->spool, engines[o->engine].name, NULL);
	const struct sender_options options = { .target = *o,
						.spool = { .dir = dir },
						.pause_max_s = 5,
						.say = on_sentence };
	struct sender *s = sender_start(&options, error);

	if (!s)
		return false;
	bool ok = sender_window(s, p, reasons, error);

	if (ok && !sender_drain(s, o->until_us)) {
		g_set_error(error, PUSH_ERROR, PUSH_ERROR_FAILED, "%u of its requests wait in '%s' for the next push",
			    (guint)sender_status(s).waiting, dir);
		ok = false;
	}
	const struct sender_status status = sender_status(s);

	if (status.taken)
		tell_taken(sender_name(s), (guint)status.taken, status.rows, status.bytes);
	if (ok && (status.refused || status.unsure || status.old || status.large || status.damaged)) {
		g_set_error(error, PUSH_ERROR, PUSH_ERROR_FAILED, "not all of it arrived");
		ok = false;
	}
	sender_stop(s);
	return ok;
}

/* For the textfile collector of Prometheus' node_exporter. */
static bool write_metrics(const char *path, const struct profile *p, const struct reasons *reasons, GError **error)
{
	struct metrics *m = metrics_new();
	g_autoptr(GString) text = g_string_new(NULL);

	metrics_add(m, p, reasons);
	metrics_text(m, text);
	metrics_free(m);
	return cmd_write_output(path, text->str, text->len, error);
}

static int push(const char *path, const struct push_args *a)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = recording_read(path, &error);
	struct reasons *reasons = p ? reasons_new(p, NULL) : NULL;
	gint64 end_us = g_get_monotonic_time() + (gint64)(a->wait_ns / 1000);
	int status = p ? EXIT_OK : EXIT_FAILED, left = a->engines_cnt;

	for (int i = 0; p && i < PUSH_ENGINES; i++) {
		const gint64 now_us = g_get_monotonic_time();
		const struct target_options o = { .engine = (enum push_engine)i,
						  .url = a->urls[i],
						  .database = a->database,
						  .tenant = a->tenant,
						  .credentials_path = a->credentials,
						  .ca_path = a->ca,
						  /*
						   * divides the time, so that a hanging engine leaves some for the
						   * others
						   */
						  .until_us = a->wait_ns ? now_us + (end_us - now_us) / MAX(left, 1) :
									   0 };

		if (!o.url)
			continue;
		left--;
		warn_old(&o, p);
		if ((a->spool ? push_by_spool : push_now)(a, &o, p, reasons, &error))
			continue;
		status = g_error_matches(error, PUSH_ERROR, PUSH_ERROR_USAGE) && status == EXIT_OK ? EXIT_USAGE
												   : EXIT_FAILED;
		cmd_error(COMMAND, "%s", error->message);
		g_clear_error(&error);
	}
	if (p && a->metrics && !write_metrics(a->metrics, p, reasons, &error))
		status = EXIT_FAILED;
	if (error)
		cmd_error(COMMAND, "%s", error->message);
	reasons_free(reasons);
	profile_free(p);
	return status;
}

int cmd_push(int argc, char **argv)
{
	struct push_args a = { 0 };
	g_autoptr(GError) error = NULL;
	int status;
	GOptionEntry entries[] = {
		{ "pyroscope", 0, 0, G_OPTION_ARG_STRING, &a.urls[PUSH_PYROSCOPE],
		  "To a Pyroscope there, like http://HOST:4040", "URL" },
		{ "clickhouse", 0, 0, G_OPTION_ARG_STRING, &a.urls[PUSH_CLICKHOUSE],
		  "To a ClickHouse there, like http://HOST:8123", "URL" },
		{ "otlp", 0, 0, G_OPTION_ARG_STRING, &a.urls[PUSH_OTLP],
		  "As OpenTelemetry profiles to a collector there, like http://HOST:4318", "URL" },
		{ "parca", 0, 0, G_OPTION_ARG_STRING, &a.urls[PUSH_PARCA], "To a Parca there, like http://HOST:7070",
		  "URL" },
		{ "metrics", 0, 0, G_OPTION_ARG_FILENAME, &a.metrics,
		  "As counters of Prometheus to this file, - for standard output", "FILE" },
		{ "database", 0, 0, G_OPTION_ARG_STRING, &a.database, "Of ClickHouse (" TARGET_DATABASE ")", "NAME" },
		{ "tenant", 0, 0, G_OPTION_ARG_STRING, &a.tenant, "X-Scope-OrgID of Pyroscope, where it has several",
		  "NAME" },
		{ "credentials", 0, 0, G_OPTION_ARG_FILENAME, &a.credentials,
		  "A file that says who we are: \"user NAME\" and \"password SECRET\", or \"token SECRET\"", "FILE" },
		{ "ca", 0, 0, G_OPTION_ARG_FILENAME, &a.ca, "Certificates to trust in place of the system's", "FILE" },
		{ "spool", 0, 0, G_OPTION_ARG_FILENAME, &a.spool,
		  "What cannot be sent waits there, and goes first next time", "DIR" },
		{ "wait", 0, 0, G_OPTION_ARG_STRING, &a.wait, "How long to try (30s; 0: once)", "DUR" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	if (cmd_parse(COMMAND, "[FILE]", description, entries, &argc, &argv, &status)) {
		if (parse_args(&a, argc, argv, &error)) {
			status = push(argc == 2 ? argv[1] : RECORDING_DEFAULT_FILE, &a);
		} else
			status = cmd_wrong(COMMAND, "%s", error->message);
	}
	args_clear(&a);
	return status;
}
