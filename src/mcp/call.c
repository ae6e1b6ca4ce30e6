/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/call.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/protocol.h"

#define READ_SECONDS 60
#define AROUND_SECONDS 30	/* starting a recording and writing its file take this long beside its window */
#define FILE_NAME_MAX 512	/* a longer name would bloat the answer, and the caller knows it */
#define PREFIX "offcpu "
#define RIGHTS_HINT "; start `offcpu mcp` with rights, or with --record-with 'sudo -n'"
#define STATUS_NOT_PERMITTED 3

struct call {
	const struct call_options *options;
	const struct tool *tool;
	char *id, *token;
	struct tool_input input;
	char *recording;	/* being made; NULL: none */
	unsigned seconds, total;	/* recorded so far, and in all */
	guint tick;
	struct child *child;
	bool is_cancelled;
};

const char *call_id(const struct call *c)
{
	return c->id;
}

bool call_records(const struct call *c)
{
	return c->tool->records;
}

static void stop_ticking(struct call *c)
{
	if (c->tick)
		g_source_remove(c->tick);
	c->tick = 0;
}

static void finish(struct call *c, char *result)
{
	stop_ticking(c);
	c->options->done(c->id, c->is_cancelled ? NULL : result, c->options->data);
	arguments_clear(&c->input);
	g_free(result);
	g_free(c->recording);
	g_free(c->token);
	g_free(c->id);
	g_free(c);
}

/* The error without its prefix, "offcpu report: db.offcpu: ", which the caller did not write, and without warnings. */
static char *sentence_of(const struct child_result *r)
{
	g_auto(GStrv) lines = g_strsplit(r->err, "\n", -1);
	const char *last = "";

	for (char **line = lines; *line; line++)
		if (g_str_has_prefix(*line, PREFIX) || (**line && !*last))
			last = *line;
	const char *colon = g_str_has_prefix(last, PREFIX) ? strstr(last, ": ") : NULL;

	if (*last)
		return g_strdup(colon ? colon + 2 : last);
	return WIFSIGNALED(r->status) ? g_strdup_printf("the reader was ended by signal %d", WTERMSIG(r->status))
				      : g_strdup("it failed, and did not say why");
}

static char *failure_of(const struct call *c, const struct child_result *r)
{
	g_autofree char *sentence = r->is_late ? g_strdup("it took too long, and was ended")
				    : r->is_long ? g_strdup("its answer was too long")
						 : sentence_of(r);
	const bool lacks_rights = c->tool->records && !c->options->record_with && WIFEXITED(r->status) &&
				  WEXITSTATUS(r->status) == STATUS_NOT_PERMITTED;
	g_autofree char *whole = g_strconcat(sentence, lacks_rights ? RIGHTS_HINT : "", NULL);

	return protocol_tool_error(whole);
}

/* `doctor` exits with an error status where something is missing, and its output is still the answer. */
static bool has_answered(const struct child_result *r)
{
	return !r->is_late && !r->is_long && WIFEXITED(r->status) && *r->out == '{';
}

static bool is_well(const struct child_result *r)
{
	return !r->is_late && !r->is_long && WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0;
}

/* `"file":"/tmp/1.offcpu",`, or nothing. */
static char *file_member(const struct call *c)
{
	const char *file = c->input.values[PARAM_FILE];
	g_autoptr(GString) quoted = g_string_new(NULL);

	if (!file)
		return g_strdup("");
	json_quote(quoted, file);
	return quoted->len > FILE_NAME_MAX ? g_strdup("") : g_strdup_printf("\"file\":%s,", quoted->str);
}

static void on_answered(const struct child_result *r, void *data)
{
	struct call *c = data;
	const gsize len = strlen(r->out);
	g_autofree char *line = g_strndup(r->out, len && r->out[len - 1] == '\n' ? len - 1 : len);

	c->child = NULL;
	if (!has_answered(r)) {
		finish(c, failure_of(c, r));
	} else if (!message_is_json(line, strlen(line))) {
		/* a hostile recording broke the reader: pass nothing on */
		finish(c, protocol_tool_error("the answer was no JSON"));
	} else {
		g_autofree char *file = file_member(c), *answer = g_strconcat("{", file, line + 1, NULL);

		finish(c, protocol_tool_answer(answer));
	}
}

static bool run(struct call *c, const struct child_options *options)
{
	g_autoptr(GError) error = NULL;

	c->child = child_start(options, &error);
	if (!c->child)
		finish(c, protocol_tool_error(error->message));
	return c->child != NULL;
}

static struct call *run_reader(struct call *c)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *file = file_member(c);

	c->tool->words(words, &c->input, TOOL_BYTES_MAX - (guint)strlen(file));
	g_ptr_array_add(words, NULL);
	const struct child_options options = {
		.words = (const char *const *)words->pdata, .seconds = READ_SECONDS, .done = on_answered, .data = c
	};

	return run(c, &options) ? c : NULL;
}

static void on_recorded(const struct child_result *r, void *data)
{
	struct call *c = data;

	c->child = NULL;
	stop_ticking(c);
	if (c->is_cancelled || !is_well(r)) {
		g_unlink(c->recording);
		finish(c, failure_of(c, r));
		return;
	}
	recordings_add(c->options->recordings, c->recording);
	g_free(c->input.values[PARAM_FILE]);
	c->input.values[PARAM_FILE] = g_strdup(c->recording);
	run_reader(c);
}

static gboolean on_tick(gpointer data)
{
	struct call *c = data;

	/* a recording may take longer than its window: progress grows but never reaches the total */
	c->seconds = MIN(c->seconds + 1, c->total);
	if (c->seconds < c->total)
		c->options->progress(c->token, c->seconds, c->total, c->options->data);
	return G_SOURCE_CONTINUE;
}

static struct call *record(struct call *c)
{
	const char *target = c->input.values[PARAM_TARGET], *seconds = c->input.values[PARAM_SECONDS];
	g_autofree char *who = target ? g_strconcat("--pid=", target, NULL) : g_strdup("--all");
	g_autofree char *how_long = g_strconcat("--duration=", seconds, NULL), *where = NULL;
	g_autoptr(GError) error = NULL;
	const char *words[] = { "record", "--until-eof", who, how_long, NULL, NULL, NULL };

	c->recording = recordings_next(c->options->recordings, &error);
	if (!c->recording) {
		finish(c, protocol_tool_error(error->message));
		return NULL;
	}
	where = g_strconcat("--output=", c->recording, NULL);
	words[4] = where;
	words[5] = c->input.values[PARAM_ON_CPU] ? "--cpu" : NULL;
	c->total = (unsigned)g_ascii_strtoull(seconds, NULL, 10);
	const struct child_options options = { .runner = c->options->record_with, .words = words,
					       .seconds = c->total + AROUND_SECONDS, .ends_with_input = true,
					       .done = on_recorded, .data = c };

	if (!run(c, &options))
		return NULL;
	if (c->token)
		c->tick = g_timeout_add_seconds(1, on_tick, c);
	return c;
}

struct call *call_start(const struct call_options *options, const struct tool *tool, const char *id, const char *token,
			const char *arguments)
{
	struct call *c = g_new0(struct call, 1);
	g_autoptr(GError) error = NULL;

	c->options = options;
	c->tool = tool;
	c->id = g_strdup(id);
	c->token = g_strdup(token);
	c->input.options = &options->tool;
	if (!arguments_read(&c->input, tool, arguments, &error)) {
		finish(c, protocol_tool_error(error->message));
		return NULL;
	}
	if (tool->records)
		return record(c);
	if (!c->input.values[PARAM_FILE] && !c->input.values[PARAM_INCIDENT] && tool_takes(tool, PARAM_FILE))
		c->input.values[PARAM_FILE] = g_strdup(recordings_last(options->recordings));
	return run_reader(c);
}

void call_cancel(struct call *c)
{
	c->is_cancelled = true;
	stop_ticking(c);
	child_stop(c->child);
}
