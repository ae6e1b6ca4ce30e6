/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu doctor: what this kernel, these privileges and a process allow, and whether measurements are correct. */
#include <stdio.h>
#include <sys/utsname.h>

#include "attach/error.h"
#include "attach/feature.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/doctor/doctor.h"
#include "cmd/doctor/selftest.h"
#include "cmd/run.h"
#include "cmd/target.h"

#define COMMAND "doctor"
#define FORMAT_VERSION 1

static const char description[] =
	"Examples:\n"
	"  offcpu doctor               features, then waits of known length through the whole pipeline\n"
	"  offcpu doctor --no-test     features only\n"
	"  offcpu doctor --json        features only, as JSON; --json=summary in 8 KB\n"
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

static void write_missing(struct json *j, enum feature f)
{
	json_object_begin(j);
	JSON(j, "name", feature_name(f), "is_essential", (bool)feature_essential(f), "reason", feature_reason(f));
	json_member_string(j, "without", feature_without(f));
	json_object_end(j);
}

/* Returns true if nothing essential is missing. */
static bool write_features(GString *out, const struct utsname *u)
{
	bool may_record = true;
	struct json j;

	json_begin(&j, out);
	JSON(&j, "version", FORMAT_VERSION, "offcpu", version_text(), "kernel", u->release, "machine", u->machine);
	json_member_array(&j, "missing");
	for (int f = 0; f < FEATURE_COUNT; f++) {
		if (feature_supported(f))
			continue;
		write_missing(&j, f);
		may_record = may_record && !feature_essential(f);
	}
	json_array_end(&j);
	json_member_bool(&j, "may_record", may_record);
	json_member_array(&j, "features");
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (feature_supported(f))
			json_string(&j, feature_name(f));
	json_array_end(&j);
	json_object_end(&j);
	g_string_append_c(out, '\n');
	return may_record;
}

static int print_json(const struct utsname *u, const struct answer_args *answer)
{
	g_autoptr(GString) text = g_string_new(NULL);
	bool may_record = write_features(text, u);

	answer_print(COMMAND, text, answer);
	return may_record ? EXIT_OK : EXIT_NOT_PERMITTED;
}

static int run_selftest(void)
{
	struct selftest_result results[SELFTEST_CNT] = { 0 };
	g_autoptr(GError) error = NULL;
	int failed = 0;

	puts("\nSelf-test: waits of known length");
	fflush(stdout);
	if (!selftest_run(results, &error)) {
		cmd_error(COMMAND, "%s", error->message);
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

static int look_at_process(char **typed, bool as_json, const struct answer_args *answer)
{
	g_autoptr(GArray) ids = NULL;
	g_autoptr(GError) error = NULL;

	if (!target_processes(typed, &ids, &error)) {
		cmd_error(COMMAND, "%s", error->message);
		return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? EXIT_FAILED : EXIT_USAGE;
	}
	if (!ids || !ids->len)
		return cmd_wrong(COMMAND, "-p names no process");
	return doctor_process(g_array_index(ids, uint32_t, 0), ids->len - 1, as_json, answer);
}

static int doctor(int argc, char **argv, char **pids, bool as_json, bool no_test, struct answer_args *answer)
{
	g_autoptr(GError) error = NULL;
	struct utsname u;

	if (argc > 1)
		return cmd_wrong(COMMAND, "unexpected argument '%s'", argv[1]);
	if (!answer_args_understand(answer, as_json, &error))
		return cmd_wrong(COMMAND, "%s", error->message);
	if (pids)
		return look_at_process(pids, as_json, answer);
	attach_errors_of_doctor();
	uname(&u);
	if (as_json || answer_is_asked(answer))
		return print_json(&u, answer);
	printf("offcpu %s on Linux %s %s\n\nFeatures\n", version_text(), u.release, u.machine);
	if (!print_features()) {
		cmd_error(COMMAND, "this kernel, or these rights, lack something essential (see above)");
		return EXIT_NOT_PERMITTED;
	}
	return no_test ? EXIT_OK : run_selftest();
}

int cmd_doctor(int argc, char **argv)
{
	gboolean no_test = FALSE, as_json = FALSE;
	g_auto(GStrv) pids = NULL;
	struct answer_args answer = { 0 };
	GOptionEntry entries[] = {
		{ "no-test", 0, 0, G_OPTION_ARG_NONE, &no_test, "Do not run the self-test", NULL },
		{ "pid", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &pids, "What can be known of this process", "PID|NAME" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "As JSON, without the self-test", NULL },
		ANSWER_SIZE_ENTRIES(answer),
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status;

	answer_args_note(&answer, argc, argv);
	if (cmd_parse(COMMAND, NULL, description, entries, &argc, &argv, &status))
		status = doctor(argc, argv, pids, as_json, no_test, &answer);
	answer_args_clear(&answer);
	return status;
}
