/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu doctor: what this kernel, these rights and a process allow, and whether it measures truly. */
#include <stdio.h>
#include <sys/utsname.h>

#include "attach/error.h"
#include "attach/feature.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/doctor_process.h"
#include "cmd/run.h"
#include "cmd/selftest.h"
#include "cmd/target.h"

static const char description[] =
	"Examples:\n"
	"  offcpu doctor               features, then waits of known length through the whole pipeline\n"
	"  offcpu doctor --no-test     features only\n"
	"  offcpu doctor -p 1234       what can be known of a process: its runtime, stacks, names; and what is missing\n"
	"\n"
	"Exit status 3: something essential is missing; 1: the self-test failed.";

static bool print_features(void)
{
	bool essential = true;

	for (int f = 0; f < FEATURE_COUNT; f++) {
		if (feature_supported(f)) {
			printf("  yes  %s\n", feature_name(f));
			continue;
		}
		printf("  %s  %s: %s\n       without it: %s\n", feature_essential(f) ? "NO!" : "no ",
		       feature_name(f), feature_reason(f), feature_without(f));
		if (feature_essential(f))
			essential = false;
	}
	return essential;
}

static int run_selftest(void)
{
	struct selftest_result results[SELFTEST_CNT] = { 0 };
	g_autoptr(GError) error = NULL;
	int failed = 0;

	puts("\nSelf-test: waits of known length");
	fflush(stdout);
	if (!selftest_run(results, &error)) {
		cmd_error("doctor", "%s", error->message);
		return run_status_of(error);
	}
	for (int i = 0; i < SELFTEST_CNT; i++) {
		const char *word = results[i].skipped ? "skip" : results[i].passed ? "ok" : "FAILED";
		printf("  %-6s %s: %s\n", word, results[i].name, results[i].detail);
		failed += !results[i].passed && !results[i].skipped;
		g_free(results[i].detail);
	}
	if (failed)
		printf("%d of %d failed: do not trust recordings made here.\n", failed, SELFTEST_CNT);
	else
		puts("All is well.");
	return failed ? EXIT_FAILED : EXIT_OK;
}

static int look_at_process(char **typed, bool as_json)
{
	g_autoptr(GArray) ids = NULL;
	g_autoptr(GError) error = NULL;

	if (!target_processes(typed, &ids, &error)) {
		cmd_error("doctor", "%s", error->message);
		return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? EXIT_FAILED : EXIT_USAGE;
	}
	if (!ids || !ids->len) {
		cmd_error("doctor", "-p names no process");
		return EXIT_USAGE;
	}
	return doctor_process(g_array_index(ids, uint32_t, 0), ids->len - 1, as_json);
}

int cmd_doctor(int argc, char **argv)
{
	gboolean no_test = FALSE, as_json = FALSE;
	g_auto(GStrv) pids = NULL;
	GOptionEntry entries[] = {
		{ "no-test", 0, 0, G_OPTION_ARG_NONE, &no_test, "Do not run the self-test", NULL },
		{ "pid", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &pids, "What can be known of this process", "PID|NAME" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "With -p: as JSON", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	struct utsname u;
	int status;

	if (!cmd_parse("doctor", NULL, description, entries, &argc, &argv, &status))
		return status;
	if (argc > 1) {
		cmd_error("doctor", "unexpected argument '%s'", argv[1]);
		return EXIT_USAGE;
	}
	if (pids)
		return look_at_process(pids, as_json);
	if (as_json) {
		cmd_error("doctor", "--json is of -p PID");
		return EXIT_USAGE;
	}
	attach_errors_of_doctor();
	uname(&u);
	printf("offcpu %s on Linux %s %s\n\nFeatures\n", version_text(), u.release, u.machine);
	if (!print_features()) {
		cmd_error("doctor", "this kernel, or these rights, lack something essential (see above)");
		return EXIT_NOT_PERMITTED;
	}
	return no_test ? EXIT_OK : run_selftest();
}
