/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/run.h"

static volatile int stop_asked;

static void on_stop(int sig)
{
	stop_asked = 1;
}

const volatile int *stop_catch(void)
{
	run_on_signals(on_stop);
	return &stop_asked;
}

void stop_release(void)
{
	run_window_over();
}

void cmd_error(const char *command, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *message = g_strdup_vprintf(format, ap);
	va_end(ap);
	/* Quoted text may be hostile, and must not control the terminal. */
	g_auto(GStrv) lines = g_strsplit(message, "\n", -1);
	g_autoptr(GString) safe = g_string_new(NULL);
	for (char **line = lines; *line; line++) {
		g_string_append(safe, line == lines ? "" : "\n");
		text_safe(safe, *line);
	}
	fprintf(stderr, "offcpu%s%s: %s\n", command ? " " : "", command ? command : "", safe->str);
}

int cmd_unexpected(const char *command, const char *argument)
{
	if (g_file_test(argument, G_FILE_TEST_IS_REGULAR) && !g_file_test(argument, G_FILE_TEST_IS_EXECUTABLE))
		cmd_error(command, "'%s' is a file, and `offcpu %s` looks at what happens now: `offcpu report` reads recordings",
			  argument, command);
	else
		cmd_error(command, "unexpected argument '%s' (a command goes behind --)", argument);
	return EXIT_USAGE;
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

	/* GLib's own -h calls exit() and cannot put examples first. */
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
		g_autofree char *shown = isatty(STDOUT_FILENO) ? help_text_wrap(text, cmd_stdout_width())
							       : g_strdup(text);

		fputs(shown, stdout);
		*ret_status = EXIT_OK;
		return false;
	}
	/* GLib keeps a "--" in front of the positional arguments. */
	if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
		memmove(&(*argv)[1], &(*argv)[2], sizeof(char *) * (size_t)(*argc - 1));
		(*argc)--;
	}
	return true;
}

bool cmd_write_output(const char *path, const char *text, gsize len, GError **error)
{
	struct output *o = output_begin(path, error);

	if (o && output_put(o, text, len, error))
		return output_end(o, error);
	output_drop(o);
	return false;
}

bool cmd_is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return strcmp(a, b) == 0 ||
	       (stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}

bool cmd_may_draw(const char *path, GError **error)
{
	static const char *const endings[] = { "png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "pdf", "ps", "eps" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < G_N_ELEMENTS(endings); i++) {
		if (g_ascii_strcasecmp(dot + 1, endings[i]) != 0)
			continue;
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			      "-o %s: a graph is written as .svg or .html, not as .%s", path, endings[i]);
	}
	return true;
}

bool cmd_is_html(const char *path)
{
	g_autofree char *lower = g_ascii_strdown(path, -1);

	return g_str_has_suffix(lower, ".html") || g_str_has_suffix(lower, ".htm");
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
