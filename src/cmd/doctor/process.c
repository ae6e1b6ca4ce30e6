/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu doctor -p: what can be recorded of a process. */
#include "cmd/doctor/doctor.h"

#include <stdio.h>

#include "base/opener/opener.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "render/json/write.h"
#include "explain/text.h"
#include "unwind/table.h"

#define COMMAND "doctor"
#define DEBUG_DIR "/usr/lib/debug"
#define FORMAT_VERSION 1
#define LINE_WIDTH 80

/* musl has no unwind tables, but its code can be analysed (unwind/frames.h). */
static bool has_rules(int fd)
{
	struct unwind_table *t = unwind_table_build(fd, NULL);
	bool has = t && t->stats.gap_bytes < t->stats.text_bytes / 2;

	if (t)
		unwind_table_free(t);
	return has;
}

/* "CPython 3.11.2, Go go1.22", or "native code". */
static char *describe_runtimes(const struct recognised *r)
{
	GString *text = g_string_new(NULL);

	for (int i = 0; i < RUNTIME_CNT; i++) {
		const char *version = r->versions[i];

		if (!recognised_is(r, i))
			continue;
		g_string_append_printf(text, "%s%s", text->len ? ", " : "",
				       version && i == RUNTIME_GO ? "Go" : runtime_name(i));
		if (version)
			g_string_append_printf(text, " %s",
					       i == RUNTIME_GO && g_str_has_prefix(version, "go") ? version + 2
												  : version);
	}
	if (!text->len)
		g_string_append(text, r->is_kernel_thread ? "kernel" : "native code");
	return g_string_free(text, FALSE);
}

/* Appends `first` and a sentence, wrapped. */
static void append_wrapped(GString *out, const char *first, const char *sentence)
{
	g_autoptr(GString) safe = g_string_new(NULL);
	g_auto(GStrv) words = NULL;
	unsigned indent = text_width(first), used = indent;

	text_safe(safe, sentence);
	words = g_strsplit(safe->str, " ", -1);
	g_string_append(out, first);
	for (char **word = words; *word; word++) {
		unsigned width = text_width(*word);

		if (word != words && used + 1 + width > LINE_WIDTH) {
			g_string_append_printf(out, "\n%*s", (int)indent, "");
			used = indent;
		} else if (word != words) {
			g_string_append_c(out, ' ');
			used++;
		}
		g_string_append(out, *word);
		used += width;
	}
	g_string_append_c(out, '\n');
}

static void print_text(const struct recognised *r, const GArray *findings, unsigned same_cnt)
{
	g_autofree char *runtimes = describe_runtimes(r);
	g_autoptr(GString) out = g_string_new(NULL);

	text_safe(out, r->name);
	g_string_append_printf(out, " (PID %u): ", r->pid);
	text_safe(out, runtimes);
	g_string_append_c(out, '\n');
	if (same_cnt)
		g_string_append_printf(out, "  %u more process%s called so; this is the first\n", same_cnt,
				       same_cnt == 1 ? " is" : "es are");
	EACH_ROW(i, const struct doctor_finding, f, findings) {
		append_wrapped(out, f->is_there ? "  yes  " : "  no   ", f->text);
		if (f->advice)
			append_wrapped(out, "       do: ", f->advice);
	}
	g_string_append_printf(out, "Next: offcpu record -p %u -d 10\n", r->pid);
	fputs(out->str, stdout);
}

static void write_runtimes(struct json *j, const struct recognised *r)
{
	json_member_array(j, "runtimes");
	for (int i = 0; i < RUNTIME_CNT; i++) {
		if (!recognised_is(r, i))
			continue;
		JSON_OBJECT(j, "name", runtime_name(i), "version", r->versions[i]);
	}
	json_array_end(j);
}

static void write_findings(struct json *j, const GArray *findings)
{
	json_member_array(j, "findings");
	EACH_ROW(i, const struct doctor_finding, f, findings)
		JSON_OBJECT(j, "what", f->what, "is_there", (bool)f->is_there, "text", f->text, "advice", f->advice);
	json_array_end(j);
}

static void write_files(struct json *j, const struct recognised *r)
{
	json_member_array(j, "files");
	EACH_ROW(i, const struct recognised_file, f, r->files) {
		json_object_begin(j);
		JSON(j, "path", f->path, "is_program", f->is_program, "is_deleted", f->is_deleted);
		json_member_bool(j, "is_readable", f->is_readable);
		json_member_bool(j, "has_symbols", f->facts.has_symbols || f->facts.debug_file);
		json_member_bool(j, "has_debug_info", f->facts.has_debug_info);
		json_member_bool(j, "has_unwind_table", f->facts.has_unwind_table);
		json_member_string(j, "build_id", f->facts.build_id[0] ? f->facts.build_id : NULL);
		json_member_string(j, "debug_file", f->facts.debug_file);
		json_object_end(j);
	}
	json_array_end(j);
}

static void print_json(const struct recognised *r, const GArray *findings, const struct answer_args *answer)
{
	g_autoptr(GString) text = g_string_new(NULL);
	struct json j;

	json_begin(&j, text);
	JSON(&j, "version", FORMAT_VERSION, "pid", r->pid, "inner_pid", r->inner_pid, "name", r->name);
	JSON(&j, "has_own_root", r->has_own_root, "made_code_bytes", r->made_bytes);
	write_runtimes(&j, r);
	write_findings(&j, findings);
	write_files(&j, r);
	json_object_end(&j);
	g_string_append_c(text, '\n');
	answer_print(COMMAND, text, answer);
}

int doctor_process(uint32_t pid, unsigned same_cnt, bool as_json, const struct answer_args *answer)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) findings = NULL;
	struct recognised *r;

	opener_begin();
	r = recognise("/proc", pid, DEBUG_DIR, has_rules, &error);
	run_end_opener(COMMAND);
	if (!r) {
		cmd_error(COMMAND, "%s", error->message);
		return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES) ? EXIT_NOT_PERMITTED : EXIT_FAILED;
	}
	findings = doctor_findings(r);
	if (as_json || answer_is_asked(answer))
		print_json(r, findings, answer);
	else
		print_text(r, findings, same_cnt);
	recognised_free(r);
	return EXIT_OK;
}
