/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/error.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MAX (64 * 1024)
#define WHY_BYTES_MAX 200
#define LOG_BEGINS "-- BEGIN PROG LOAD LOG --"
#define LOG_ENDS "-- END PROG LOAD LOG --"

static GMutex lock;
static GString *kept;

static int keep_line(enum libbpf_print_level level, const char *format, va_list args)
{
	g_autofree char *line = level == LIBBPF_DEBUG ? NULL : g_strdup_vprintf(format, args);

	if (!line)
		return 0;
	g_mutex_lock(&lock);
	if (!kept)
		kept = g_string_new(NULL);
	/* The reason is at the end: a verifier's log may be long. */
	g_string_append(kept, line);
	if (kept->len > BYTES_MAX)
		g_string_erase(kept, 0, (gssize)(kept->len - BYTES_MAX));
	g_mutex_unlock(&lock);
	return 0;
}

void load_log_keep(void)
{
	libbpf_set_print(keep_line);
}

char *load_log_take(void)
{
	char *text;

	g_mutex_lock(&lock);
	text = kept ? g_string_free(kept, FALSE) : g_strdup("");
	kept = NULL;
	g_mutex_unlock(&lock);
	return text;
}

char *load_log_reason(void)
{
	char *why;

	g_mutex_lock(&lock);
	why = kept ? load_log_reason_of(kept->str) : NULL;
	g_mutex_unlock(&lock);
	return why;
}

/* Statistics after the verifier's last message, and what libbpf prints at every failure. */
static bool is_of_no_use(const char *line)
{
	static const char *const begins[] = {
		"processed ", "verification time ", "stack depth ", "max_states", "libbpf: failed to load ",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(begins); i++)
		if (g_str_has_prefix(line, begins[i]))
			return true;
	return !*line || strstr(line, ": failed to load: ") || strstr(line, LOG_ENDS);
}

/* libbpf prefixes its own lines with the program's name, but not the verifier's. */
static char *program_of(const char *line)
{
	const char *name = strstr(line, "prog '"), *end = name ? strchr(name + strlen("prog '"), '\'') : NULL;

	return end ? g_strndup(name + strlen("prog '"), (gsize)(end - name) - strlen("prog '")) : NULL;
}

char *load_log_reason_of(const char *log)
{
	g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
	g_autofree char *program = NULL;
	const char *why = NULL;

	for (char **line = lines; *line; line++) {
		g_strstrip(*line);
		if (is_of_no_use(*line))
			continue;
		if (strstr(*line, LOG_BEGINS)) {
			g_free(program);
			program = program_of(*line);
		} else {
			why = *line;
		}
	}
	if (!why)
		return NULL;
	if (g_str_has_prefix(why, "libbpf: "))
		why += strlen("libbpf: ");
	if (program && !strstr(why, program))
		return g_strdup_printf("%s: %.*s", program, WHY_BYTES_MAX, why);
	return g_strdup_printf("%.*s", WHY_BYTES_MAX, why);
}
