/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "cmd/cmd.h"

/*
 * GLib logs last when it gets no memory or no thread.  There may be no memory to format the message, so it is written
 * unformatted.
 */
static GLogWriterOutput on_log(GLogLevelFlags level, const GLogField *fields, gsize cnt, gpointer data)
{
	static const char before[] = "offcpu: the system gave no room: ", after[] = " (`ulimit -a` shows the limits)\n";

	if (!(level & G_LOG_LEVEL_ERROR))
		return g_log_writer_default(level, fields, cnt, data);
	for (gsize i = 0; i < cnt; i++) {
		const char *text = fields[i].value;

		if (strcmp(fields[i].key, "MESSAGE") != 0)
			continue;
		struct iovec parts[] = {
			{ .iov_base = (char *)before, .iov_len = sizeof(before) - 1 },
			{ .iov_base = (char *)text, .iov_len = strlen(text) },
			{ .iov_base = (char *)after, .iov_len = sizeof(after) - 1 },
		};

		if (writev(STDERR_FILENO, parts, G_N_ELEMENTS(parts)) < 0)
			break;
	}
	_exit(EXIT_FAILED);
}

#define ROOM_BYTES (1u << 20)

/*
 * GLib fails in two ways without logging.  Slices abort.  And if formatting a message gets no memory, that is logged
 * as an error: g_log() and g_vasprintf() then recurse until the stack overflows.
 */
static void on_fault(int sig)
{
	static const char text[] = "offcpu: the system gave no room (`ulimit -a` shows the limits)\n";

	if (mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	    write(STDERR_FILENO, text, sizeof(text) - 1))
		_exit(EXIT_FAILED);
	/* a different fault: the default action follows when it recurs, or by abort() */
	signal(sig, SIG_DFL);
}

void no_room_tell(void)
{
	const struct sigaction fault = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };

	g_log_set_writer_func(on_log, NULL, NULL);
	spare_stack_use();
	sigaction(SIGABRT, &fault, NULL);
#ifndef __SANITIZE_ADDRESS__	/* the sanitizer reports faults in more detail */
	sigaction(SIGSEGV, &fault, NULL);
#endif
}
