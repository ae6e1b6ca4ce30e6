/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "cmd/cmd.h"
#include "build_version.h"

static const struct command commands[] = {
	{ "record", "[TARGET] [-d SECS] [-o FILE] [-- COMMAND ...]", "trace and write a recording", cmd_record },
	{ "top", "[TARGET] [--batch]", "live: who waits for what, interval by interval", cmd_top },
	{ "trace", "[TARGET] [SECS]", "trace, then print the stacks (as bcc's offcputime)", cmd_trace },
	{ "sample", "[TARGET] -F HZ [--proc]", "look at threads now and then instead of tracing them", cmd_sample },
	{ "tasks", "-p PID [-d SECS]", "what goroutines, tasks of asyncio and Tokio, greenlets and virtual threads wait for", cmd_tasks },
	{ "io", "[--slower T | --block]", "slow file operations; requests to disks, and who issued them", cmd_io },
	{ "report", "FILE", "the findings of a recording, and what stands behind them", cmd_report },
	{ "flame", "FILE [-o OUT.svg]", "draw a flame graph", cmd_flame },
	{ "view", "FILE [--open]", "serve a recording to the browser, and to other viewers", cmd_view },
	{ "serve", "[--history DIR]", "the history of the agent in the browser, over any range of time", cmd_serve },
	{ "diff", "BEFORE AFTER", "what changed between two recordings", cmd_diff },
	{ "whatif", "FILE CHANGE ...", "what a shorter hold, a faster peer or more CPUs would gain", cmd_whatif },
	{ "hist", "[TARGET] [INTERVAL [COUNT]]", "histograms of off-CPU, on-CPU or run-queue time", cmd_hist },
	{ "request", "-p PID [BIN:]FUNC | socket:PORT ...",
	  "latency of calls or requests to a port, and what they wait for", cmd_request },
	{ "events", "[TARGET]", "every wait by itself, as lines or by the clock", cmd_events },
	{ "export", "FILE -f FORMAT", "to pprof, speedscope, Firefox, Perfetto, folded stacks, JSON, CSV", cmd_export },
	{ "push", "FILE --pyroscope URL | --clickhouse URL", "send a recording to an engine for many hosts", cmd_push },
	{ "mcp", "[--allow-record]", "answers for assistants, over stdin and stdout", cmd_mcp },
	{ "agent", "[--config FILE] [--check]", "records always, and keeps it in a store", cmd_agent },
	{ "doctor", "[-p PID]", "what this kernel and these rights allow, with a self-test", cmd_doctor },
};

static void print_help(FILE *to)
{
	fputs("Usage: offcpu COMMAND [OPTIONS]\n\n"
	      "Explains where threads spend the time they are not running.\n\n", to);
	for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\nStart with: offcpu record -d 5 && offcpu report && offcpu flame -o out.svg\n"
	      "`offcpu COMMAND --help` shows a command's options, `offcpu help COMMAND` its manual.\n\n"
	      "Words:\n"
	      "  off CPU    blocked (asleep until somebody wakes it), runnable (woken, and waits\n"
	      "             for a CPU) or preempted (lost its CPU, and waits for one)\n"
	      "  run queue  where threads wait for a CPU\n"
	      "  idle       waits for work; the time that matters is off CPU and not idle\n"
	      "  p99        99 of 100 waits are not longer\n", to);
}

static bool has_page(char *page)
{
	char *const line[] = { (char *)"man", (char *)"-w", page, NULL };
	int status;

	return g_spawn_sync(NULL, (char **)line, NULL,
			    G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
			    NULL, NULL, &status, NULL) &&
	       g_spawn_check_wait_status(status, NULL);
}

static int help(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stdout);
		return EXIT_OK;
	}
	for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		g_autofree char *page = g_strdup_printf("offcpu-%s", argv[1]);
		if (has_page(page))
			execlp("man", "man", page, (char *)NULL);
		char *fallback[] = { argv[1], (char *)"--help", NULL };
		return commands[i].run(2, fallback);
	}
	return cmd_wrong(NULL, "there is no command '%s'", argv[1]);
}

/* Otherwise the next file that is opened would get the number, and output would go there. */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			_exit(EXIT_FAILED);
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("offcpu %s\n", version_text());
		return EXIT_OK;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_help(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return cmd_wrong(NULL, "there is no command '%s' (see `offcpu --help`)", argv[1]);
}

static void set_locale(void)
{
#ifdef OFFCPU_STATIC
	/* Locale files of this host belong to another libc.  Only the terminal's encoding matters. */
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(names) && (!value || !*value); i++)
		value = getenv(names[i]);
	if (value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8")))
		setlocale(LC_CTYPE, "C.UTF-8");
#else
	setlocale(LC_ALL, "");
	/* Numbers must never have a locale's decimal comma: programs read them, too. */
	setlocale(LC_NUMERIC, "C");
#endif
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	no_room_tell();
	set_locale();
	version_set(BUILD_VERSION);
	int status = run(argc, argv);

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cmd_error(NULL, "standard output: %s", errno ? g_strerror(errno) : "not all could be written");
	return status == EXIT_OK ? EXIT_FAILED : status;
}
