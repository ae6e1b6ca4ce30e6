/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu io --slower, --stacks: slow file operations. */
#include <stdio.h>

#include "base/opener/opener.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "features/io/cmd.h"
#include "features/io/record_file.h"

#define COMMAND "io"
#define SLOW_CALLS                                                                                                     \
	"offcpu io: this kernel has no kprobe.multi, so every system call of the machine takes a little longer meanwhile (0.13 us where it was measured)\n"

IO_PRINTS(print_line, struct file_op, file_line)
IO_PRINTS(print_json_line, struct file_op, io_json_op)

static void poll_files(void *data)
{
	file_io_poll(data);
	fflush(stdout);
}

static void print_result(struct file_io *f, const struct io_options *o)
{
	const struct file_text_options options = {
		.by_stack = o->by_stack, .by_count = o->by_count, .with_lines = !o->by_stack,
		.slower_ns = o->slower_ns, .top = (unsigned)o->top,
	};
	g_autoptr(GString) text = g_string_new(NULL);
	struct file_result r;

	file_io_result(f, &r);
	if (io_is_json(o)) {
		io_json_files(text, &r, o->slower_ns, o->by_stack);
		answer_print(COMMAND, text, &o->answer);
	} else {
		file_text(text, &r, &options);
		io_limits_append(text, "/proc", o->processes);
		fputs(text->str, stdout);
	}
	file_result_clear(&r);
}

int io_files(const struct io_options *o, uint64_t duration_ns, const char *command_line)
{
	g_autoptr(GString) line = g_string_new(NULL);
	bool with_lines = !o->by_stack, with_stacks = o->by_stack || o->output;
	const struct file_options options = {
		.only = o->only,
		.slower_ns = o->slower_ns,
		.on_op = !with_lines || answer_is_asked(&o->answer) ? NULL
			 : o->json   ? print_json_line
				     : print_line,
		.data = line, .no_user_stacks = o->no_user_stacks || !with_stacks,
		.no_kernel_stacks = o->no_kernel_stacks || !with_stacks,
	};
	g_autoptr(GError) error = NULL;
	struct file_io *f;
	int status = EXIT_OK;

	opener_begin();
	f = file_io_new(&options, &error);
	if (!f) {
		cmd_error(COMMAND, "%s", error->message);
		return run_status_of(error);
	}
	if (file_io_slows_all_calls(f))
		fputs(SLOW_CALLS, stderr);
	if (with_lines && !io_is_json(o)) {
		file_line_heading(line);
		fputs(line->str, stdout);
		fflush(stdout);
	}
	io_watch(poll_files, f, FILE_POLL_MS, duration_ns);
	file_io_stop(f);
	if (!o->folded)
		print_result(f, o);
	if (o->folded || o->output)
		status = io_give_away(file_io_take_profile(f), o, command_line);
	file_io_free(f);
	run_end_opener(COMMAND);
	return status;
}
