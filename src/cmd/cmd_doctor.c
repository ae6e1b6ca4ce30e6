/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu doctor: what this kernel and these rights allow, and whether it measures truly. */
#include <stdio.h>
#include <sys/utsname.h>

#include "attach/feature.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "cmd/selftest.h"

static const char description[] =
	"Examples:\n"
	"  offcpu doctor               features, then waits of known length through the whole pipeline\n"
	"  offcpu doctor --no-test     features only\n"
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

int cmd_doctor(int argc, char **argv)
{
	gboolean no_test = FALSE;
	GOptionEntry entries[] = {
		{ "no-test", 0, 0, G_OPTION_ARG_NONE, &no_test, "Do not run the self-test", NULL },
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
	uname(&u);
	printf("offcpu %s on Linux %s %s\n\nFeatures\n", OFFCPU_VERSION, u.release, u.machine);
	if (!print_features()) {
		cmd_error("doctor", "this kernel, or these rights, lack something essential (see above)");
		return EXIT_NOT_PERMITTED;
	}
	return no_test ? EXIT_OK : run_selftest();
}
