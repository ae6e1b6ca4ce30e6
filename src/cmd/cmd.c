/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void cmd_error(const char *command, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *message = g_strdup_vprintf(format, ap);
	va_end(ap);
	if (command)
		fprintf(stderr, "offcpu %s: %s\n", command, message);
	else
		fprintf(stderr, "offcpu: %s\n", message);
}

bool cmd_parse(const char *command, const char *args, const char *description, GOptionEntry *entries,
	       int *argc, char ***argv, int *ret_status)
{
	g_autoptr(GOptionContext) context = g_option_context_new(args);
	g_autoptr(GError) error = NULL;
	gboolean help = FALSE;
	GOptionEntry help_entry[] = {
		{ "help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this help", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	/* Ours, not GLib's: its own -h calls exit() and cannot lead with the examples. */
	g_option_context_set_help_enabled(context, FALSE);
	g_option_context_set_summary(context, description);
	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_add_main_entries(context, help_entry, NULL);
	g_autofree char *prgname = g_strdup_printf("offcpu %s", command);
	g_set_prgname(prgname);

	if (!g_option_context_parse(context, argc, argv, &error)) {
		cmd_error(command, "%s (see `offcpu %s --help`)", error->message, command);
		*ret_status = EXIT_USAGE;
		return false;
	}
	if (help) {
		g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
		fputs(text, stdout);
		*ret_status = EXIT_OK;
		return false;
	}
	/* GLib leaves a "--" that stands before the positional arguments. */
	if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
		memmove(&(*argv)[1], &(*argv)[2], sizeof(char *) * (size_t)(*argc - 1));
		(*argc)--;
	}
	return true;
}

bool cmd_write_output(const char *path, const char *text, gsize len, GError **error)
{
	if (path && strcmp(path, "-") != 0) {
		g_autoptr(GError) cause = NULL;

		if (g_file_set_contents_full(path, text, (gssize)len, G_FILE_SET_CONTENTS_CONSISTENT, 0644,
					     &cause))
			return true;
		/* GLib's own sentence names the temporary file beside it. */
		const char *reason = strrchr(cause->message, ':');
		g_set_error(error, cause->domain, cause->code, "cannot write '%s'%s", path,
			    reason ? reason : "");
		return false;
	}
	if (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "standard output: %s", g_strerror(errno));
		return false;
	}
	return true;
}

bool cmd_stdout_has_colour(void)
{
	const char *no_color = g_getenv("NO_COLOR"), *term = g_getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(STDOUT_FILENO) && g_strcmp0(term, "dumb") != 0;
}

unsigned cmd_stdout_width(void)
{
	struct winsize ws;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 40)
		return ws.ws_col;
	return 80;
}
