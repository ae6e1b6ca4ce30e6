/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu agent: records continuously and keeps it in the store. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/alert.h"
#include "agent/chosen_groups.h"
#include "agent/pusher.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/range.h"
#include "cmd/run.h"
#include "features/requests/agent_rule.h"
#include "push/clickhouse.h"
#include "push/target.h"
#include "store/store.h"

#define ENGINE_TIMEOUT_S 5

static const char description[] =
	"Examples:\n"
	"  offcpu agent --check              what it would do here, and what is in its way\n"
	"  offcpu agent                      as systemd starts it\n"
	"  offcpu agent --keep 'deploy 17' --from 14:00 --to 14:20    put that aside, for as long as there is room\n"
	"  offcpu agent --windows 3 --set agent.window=2s --set store.dir=/tmp/history   to try it\n"
	"\n"
	"Records all threads in windows of 10 s and adds each to the store in /var/lib/offcpu.\n"
	"SIGHUP: reads its configuration again.  SIGTERM: ends, with the last window stored.\n"
	"What it kept is read by the commands that take --history.";

/* The journal reads a line's priority from its prefix; on a terminal it is omitted. */
static void log_line(enum log_level level, const char *text)
{
	if (isatty(STDERR_FILENO))
		cmd_error("agent", "%s", text);
	else
		fprintf(stderr, "<%d>%s\n", level, text);
}

static void show_span(const char *what, uint64_t ns)
{
	const uint64_t s = ns / UINT64_C(1000000000);

	if (s % 86400 == 0 && s > 86400)
		printf("%s %" G_GUINT64_FORMAT " days", what, s / 86400);
	else if (s % 3600 == 0)
		printf("%s %" G_GUINT64_FORMAT " h", what, s / 3600);
	else
		printf("%s %" G_GUINT64_FORMAT " s", what, s);
}

static const char *yes_no(bool is_so)
{
	return is_so ? "yes" : "no";
}

/* As in the configuration: 512M is 512 MiB. */
static void show_size(const char *before, uint64_t bytes, const char *after)
{
	g_autoptr(GString) size = g_string_new(NULL);

	size_text(size, bytes);
	printf("%s%s%s", before, size->str, after);
}

static void show_push(const struct agent_config *c)
{
	bool is_any = false;

	for (int i = 0; i < PUSH_ENGINES; i++) {
		if (!c->push_urls[i])
			continue;
		is_any = true;
		printf("Pushed         to %s at %s\n", engines[i].title, c->push_urls[i]);
	}
	if (is_any && strcmp(c->push_windows, AGENT_PUSH_ALERTS) == 0)
		puts("               windows in which an alert holds, no others");
	if (is_any && strcmp(c->push_windows, AGENT_PUSH_FINDINGS) == 0)
		puts("               windows with a finding or in which an alert holds, no others");
	if (is_any && c->push_one_host_in > 1)
		printf("               by one host of %u, %s\n", c->push_one_host_in,
		       pusher_takes_host(c) ? "of which this is one" : "and not by this one: nothing is pushed");
}

static void show_config(const struct agent_config *c, const char *path)
{
	printf("Configuration  %s%s%s\n", path, *c->hash ? ", its hash " : "", c->hash);
	if (c->host)
		printf("Host           is called %s\n", c->host);
	show_span("Windows        of", c->window_ns);
	printf(", to %s\n", c->dir);
	show_span("Kept           windows", c->keep_windows_ns);
	show_span(", minutes", c->keep_minutes_ns);
	show_span(", hours", c->keep_hours_ns);
	show_size("; at most ", c->max_bytes, "\n");
	if (c->incidents_bytes)
		show_size("Incidents      are put aside; at most ", c->incidents_bytes, "\n");
	else
		puts("Incidents      none");
	printf("Recorded       objects %s, locks %s, wakers %s, who held CPUs %s, services %s, tasks %s, samples on CPU ",
	       yes_no(c->objects), yes_no(c->locks), yes_no(c->wakers), yes_no(c->runq_blame), yes_no(c->services),
	       yes_no(c->tasks));
	if (c->on_cpu_hz)
		printf("%u a second\n", c->on_cpu_hz);
	else
		puts("none");
	if (c->comm)
		printf("Only           threads called %s\n", c->comm);
	for (char **group = c->cgroups; group && *group; group++)
		printf("Only           the cgroup %s\n", *group);
	for (char **name = c->exclude; name && *name; name++)
		printf("Without names  %s\n", *name);
	EACH_POINTER(i, const struct request_rule, rule, c->requests) {
		g_autofree char *text = request_rule_text(rule);

		printf("Requests       %s: %s\n", rule->name, text);
	}
	EACH_POINTER(i, const struct alert_rule, rule, c->alerts) {
		printf("Alert          %s: %s, in %u windows%s%s", rule->name, rule->when, rule->for_windows,
		       rule->run ? "; runs " : "", rule->run ? rule->run[0] : "");
		if (rule->keep_before_ns + rule->keep_after_ns) {
			show_span("; keeps", rule->keep_before_ns);
			show_span(" before and", rule->keep_after_ns);
			fputs(" after", stdout);
		}
		if (rule->record_ns)
			show_span("; records", rule->record_ns);
		putchar('\n');
	}
	if (c->metrics_listen)
		printf("Metrics        for Prometheus, at http://%s/metrics\n", c->metrics_listen);
	show_push(c);
	if (c->budget_ppm)
		printf("Budget         %g%% of this machine: above it short waits are sampled\n", c->budget_ppm / 1e4);
	else
		puts("Budget         none: everything is exact");
}

/* The folder, or its nearest existing parent. */
static char *first_folder(const char *dir)
{
	char *at = g_strdup(dir);

	while (access(at, F_OK) && errno == ENOENT && strcmp(at, "/") != 0) {
		char *up = g_path_get_dirname(at);

		g_free(at);
		at = up;
	}
	return at;
}

static bool check_store(const struct agent_config *c)
{
	g_autofree char *folder = first_folder(c->dir);
	struct statvfs fs;

	if (access(folder, W_OK | X_OK) || !g_file_test(folder, G_FILE_TEST_IS_DIR) || statvfs(folder, &fs)) {
		printf("  NO!  store: %s: %s\n", folder,
		       g_file_test(folder, G_FILE_TEST_IS_DIR) ? g_strerror(errno) : "it is no folder");
		return false;
	}
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;

	if (free_bytes < STORE_ROOM_MIN_BYTES) {
		printf("  NO!  store: nothing is free in %s\n", folder);
		return false;
	}
	bool is_enough = free_bytes >= c->max_bytes;

	printf("  %s  store: ", is_enough ? "yes" : "no ");
	show_size("", free_bytes, " are free in ");
	printf("%s%s\n", folder,
	       is_enough ? "" : ", which is less than it may take: windows will be lost once it is full");
	return true;
}

static bool check_kernel(void)
{
	bool is_well = true;

	for (int f = 0; f < FEATURE_COUNT; f++) {
		if (feature_supported(f))
			continue;
		printf("  %s  %s: %s\n       without it: %s\n", feature_essential(f) ? "NO!" : "no ", feature_name(f),
		       feature_reason(f), feature_without(f));
		is_well &= !feature_essential(f);
	}
	return is_well;
}

/* Features that seem available are weaker evidence than loading the programs. */
static bool check_programs(const struct agent_options *options, struct agent_config *c)
{
	g_autoptr(GError) error = NULL;

	attach_errors_of_doctor();
	if (!agent_try(options, c, &error)) {
		printf("  NO!  %s\n", error->message);
		return false;
	}
	puts("  yes  kernel and rights to trace with: the programs are loaded");
	return true;
}

static void say_nothing(enum log_level level, const char *text)
{
}

static void check_rights(void)
{
	const struct {
		const char *what, *without;
		int err;
	} rights[] = {
		{ "reading other users' mappings (CAP_SYS_PTRACE)", "their frames have no names",
		  rights_try_others_maps() },
		{ "reading files closed to us (CAP_DAC_READ_SEARCH)", "frames in such files have no names",
		  rights_try_others_files() },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rights); i++) {
		if (rights[i].err)
			printf("  no   %s: %s\n       without it: %s\n", rights[i].what, g_strerror(-rights[i].err),
			       rights[i].without);
		else
			printf("  yes  %s\n", rights[i].what);
	}
}

enum engine_state { ENGINE_ANSWERS, ENGINE_AWAY, ENGINE_IMPOSSIBLE };

static enum engine_state state_of_engine(const struct agent_config *c, int engine, char **ret_why)
{
	const struct target_options options = {
		.engine = (enum push_engine)engine, .url = c->push_urls[engine], .database = c->push_database,
		.tenant = c->push_tenant, .credentials_path = c->push_credentials, .ca_path = c->push_ca,
		.timeout_s = ENGINE_TIMEOUT_S,
	};
	g_autoptr(GError) error = NULL;
	struct target *t = target_open(&options, &error);
	enum engine_state state = !t ? ENGINE_IMPOSSIBLE : target_is_there(t, ret_why) ? ENGINE_ANSWERS : ENGINE_AWAY;

	if (state == ENGINE_ANSWERS && engine == PUSH_CLICKHOUSE) {
		g_autoptr(GString) sql = g_string_new("SELECT host FROM ");

		clickhouse_name(sql, target_database(t));
		g_string_append(sql, ".windows LIMIT 0");
		g_autoptr(GByteArray) answer = target_query(t, sql->str, 4096, &error);

		if (!answer)
			state = ENGINE_AWAY;
	}
	if (error)
		*ret_why = g_strdup(error->message);
	target_close(t);
	return state;
}

static void check_engines(const struct agent_config *c)
{
	for (int i = 0; i < PUSH_ENGINES; i++) {
		g_autofree char *why = NULL;

		if (!c->push_urls[i])
			continue;
		switch (state_of_engine(c, i, &why)) {
		case ENGINE_ANSWERS: printf("  yes  %s answers\n", engines[i].title); break;
		case ENGINE_IMPOSSIBLE:
			printf("  no   push to %s: %s\n       without it: nothing is pushed there, and windows are stored here alone\n",
			       engines[i].title, why);
			break;
		case ENGINE_AWAY:
			printf("  no   %s\n       without it: windows wait in %s", why, c->push_spool);
			show_size(", the oldest are dropped above ", c->push_spool_bytes, "\n");
		}
	}
}

static void check_groups(const struct agent_config *c)
{
	g_autofree char *missing = NULL, *why = NULL;
	GArray *ids = chosen_groups(c->cgroups, &missing, &why);

	if (why)
		printf("  no   %s\n       without it: nothing of it is recorded until it is there\n", why);
	g_clear_pointer(&ids, g_array_unref);
}

static void check_alerts(const struct agent_config *c)
{
	EACH_POINTER(i, const struct alert_rule, rule, c->alerts)
		if (rule->run && access(rule->run[0], X_OK))
			printf("  no   alert %s: %s cannot be run: %s\n       without it: the journal and the metrics tell\n",
			       rule->name, rule->run[0], g_strerror(errno));
}

static int check_all(struct agent_config *c, const char *path)
{
	const struct agent_options quiet = { .log = say_nothing };
	bool can_trace, can_store;

	show_config(c, path);
	putchar('\n');
	can_trace = check_kernel() && check_programs(&quiet, c);
	check_rights();
	check_groups(c);
	check_alerts(c);
	check_engines(c);
	can_store = check_store(c);
	if (can_trace && can_store)
		puts("\nIt can run: systemctl enable --now offcpu-agent");
	fflush(stdout);
	if (!can_trace)
		cmd_error("agent", "this kernel, or these rights, lack something essential (see above)");
	else if (!can_store)
		cmd_error("agent", "it could not store anything (see above)");
	return !can_trace ? EXIT_NOT_PERMITTED : can_store ? EXIT_OK : EXIT_FAILED;
}

int cmd_agent(int argc, char **argv)
{
	struct agent_options options = { .log = log_line };
	g_autofree char *path = NULL;
	g_auto(GStrv) settings = NULL;
	gboolean is_check = FALSE;
	gint windows = 0;
	struct incident_request keep = { 0 };
	const GOptionEntry entries[] = {
		{ "config", 0, 0, G_OPTION_ARG_FILENAME, &path, "What to do (" AGENT_CONFIG_PATH ")", "FILE" },
		{ "check", 0, 0, G_OPTION_ARG_NONE, &is_check, "Say what it would do and what is in its way, and end",
		  NULL },
		{ "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &settings,
		  "A setting over the file's, as store.dir=/tmp/history", "GROUP.KEY=VALUE" },
		{ "windows", 0, 0, G_OPTION_ARG_INT, &windows, "End after so many windows", "N" },
		{ "keep", 0, 0, G_OPTION_ARG_STRING, &keep.name,
		  "Put what --from and --to say aside under that name, and end", "NAME" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &keep.from, "Of --keep: a clock time (an hour before --to)", "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &keep.to, "Of --keep: a clock time (now)", "TIME" },
		{ "said", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &keep.said, "", NULL },
		{ "recording", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &keep.recording, "", NULL },
		{ "again", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &keep.may_replace, "", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autofree char *arguments = g_strjoinv(" ", argv);
	g_autofree char *command_line = g_strconcat("offcpu ", arguments, NULL);
	g_autoptr(GError) error = NULL;
	struct agent_config *config;
	int status = EXIT_OK;

	if (!cmd_parse("agent", NULL, description, (GOptionEntry *)entries, &argc, &argv, &status))
		return status;
	if (argc > 1 || windows < 0)
		return cmd_wrong("agent", argc > 1 ? "unexpected argument '%s'" : "--windows takes a number from 1 on",
			argc > 1 ? argv[1] : "");
	if (!keep.name && (keep.from || keep.to))
		return cmd_wrong("agent", "--from and --to: only with --keep");
	options.config_path = path ? path : AGENT_CONFIG_PATH;
	options.may_lack_config = !path;
	options.settings = settings;
	options.windows = (unsigned)windows;
	options.command_line = command_line;
	config = agent_read_config(&options, &error);
	if (!config)
		return cmd_wrong("agent", "%s", error->message);
	if (is_check || keep.name) {
		status = is_check ? check_all(config, options.config_path) : incidents_keep(config, &keep);
		agent_config_free(config);
	} else if (!agent_run(&options, config, &error)) {
		log_say(log_line, LOG_LEVEL_ERROR, "%s", error->message);
		status = run_status_of(error);
	}
	g_free(keep.name);
	g_free(keep.from);
	g_free(keep.to);
	g_free(keep.said);
	g_free(keep.recording);
	return status;
}
