/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/server.h"

#include <errno.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "mcp/call.h"
#include "mcp/protocol.h"

#define READ_BYTES (16u << 10)
#define RUNNING_MAX 3	/* concurrent calls; others wait */
#define CALLS_MAX 32	/* including waiting ones */

/* A call that waits until fewer run. */
struct waiting {
	const struct tool *tool;
	char *id, *token, *arguments;
};

struct server {
	const struct mcp_options *options;
	struct call_options call;
	GMainLoop *loop;
	GString *line;		/* an incomplete line */
	bool is_skipping;	/* skip the rest of an overlong line */
	GPtrArray *running;	/* struct call */
	GQueue waiting;		/* struct waiting */
	bool is_over;		/* end of input: stop after the last call */
	bool is_broken;		/* the client no longer reads our output */
};

static FREES(waiting_free, struct waiting, w, g_free(w->id); g_free(w->token); g_free(w->arguments))

static void leave_when_done(struct server *s)
{
	if (s->is_over && !s->running->len && !s->waiting.length)
		g_main_loop_quit(s->loop);
}

static void cancel_all(struct server *s)
{
	for (guint i = 0; i < s->running->len; i++)
		call_cancel(g_ptr_array_index(s->running, i));
	g_queue_clear_full(&s->waiting, (GDestroyNotify)waiting_free);
}

static void write_all(struct server *s, const GString *text)
{
	for (gsize done = 0; done < text->len && !s->is_broken;) {
		ssize_t n = write(STDOUT_FILENO, text->str + done, text->len - done);
		struct pollfd wait = { .fd = STDOUT_FILENO, .events = POLLOUT };

		if (n >= 0)
			done += (gsize)n;
		else if (errno == EAGAIN)
			poll(&wait, 1, -1);
		else if (errno != EINTR)
			s->is_broken = true;
	}
	if (!s->is_broken || s->is_over)
		return;
	s->is_over = true;
	cancel_all(s);
	leave_when_done(s);
}

static void answer_raw(struct server *s, const char *id, const char *result)
{
	g_autoptr(GString) out = g_string_new(NULL);

	protocol_answer(out, id, result);
	write_all(s, out);
}

static void answer_error(struct server *s, const char *id, enum message_error code, const char *why)
{
	g_autoptr(GString) out = g_string_new(NULL);

	protocol_error(out, id, code, why);
	write_all(s, out);
}

static void begin_next(struct server *s);

static void on_done(const char *id, const char *result, void *data)
{
	struct server *s = data;

	for (guint i = 0; i < s->running->len; i++) {
		if (strcmp(call_id(g_ptr_array_index(s->running, i)), id) == 0) {
			g_ptr_array_remove_index_fast(s->running, i);
			break;
		}
	}
	if (result)
		answer_raw(s, id, result);
	begin_next(s);
	leave_when_done(s);
}

static void on_progress(const char *token, unsigned seconds, unsigned total, void *data)
{
	struct server *s = data;
	g_autoptr(GString) out = g_string_new(NULL);
	g_autofree char *text = g_strdup_printf("recording, %u of %u s", seconds, total);
	struct json j;

	json_begin(&j, out);
	JSON(&j, "jsonrpc", "2.0", "method", "notifications/progress");
	json_key(&j, "params");
	json_object_begin(&j);
	json_key(&j, "progressToken");
	json_raw(&j, token, strlen(token));
	JSON(&j, "progress", seconds, "total", total, "message", text);
	json_object_end(&j);
	json_end(&j);
	write_all(s, out);
}

static void begin(struct server *s, const struct waiting *w)
{
	struct call *c = call_start(&s->call, w->tool, w->id, w->token, w->arguments);

	if (c)
		g_ptr_array_add(s->running, c);
}

static void begin_next(struct server *s)
{
	while (s->running->len < RUNNING_MAX && s->waiting.length) {
		struct waiting *w = g_queue_pop_head(&s->waiting);

		begin(s, w);
		waiting_free(w);
	}
}

static bool is_recording(const struct server *s)
{
	for (guint i = 0; i < s->running->len; i++)
		if (call_records(g_ptr_array_index(s->running, i)))
			return true;
	for (const GList *at = s->waiting.head; at; at = at->next)
		if (((const struct waiting *)at->data)->tool->records)
			return true;
	return false;
}

static struct call *running_of(const struct server *s, const char *id)
{
	for (guint i = 0; i < s->running->len; i++)
		if (strcmp(call_id(g_ptr_array_index(s->running, i)), id) == 0)
			return g_ptr_array_index(s->running, i);
	return NULL;
}

static GList *waiting_of(struct server *s, const char *id)
{
	for (GList *at = s->waiting.head; at; at = at->next)
		if (strcmp(((const struct waiting *)at->data)->id, id) == 0)
			return at;
	return NULL;
}

static void refuse_call(struct server *s, const char *id, const char *sentence)
{
	g_autofree char *result = protocol_tool_error(sentence);

	answer_raw(s, id, result);
}

static void call_tool(struct server *s, const struct message *m)
{
	g_autofree char *name = message_member_string(m->params, "name");
	g_autofree char *arguments = message_member_raw(m->params, "arguments");
	g_autofree char *meta = message_member_raw(m->params, "_meta");
	const struct tool *tool = tools_find(&s->call.tool, name);

	if (!tool) {
		answer_error(s, m->id, MESSAGE_INVALID_PARAMS, "there is no tool of that name");
	} else if (running_of(s, m->id) || waiting_of(s, m->id)) {
		answer_error(s, m->id, MESSAGE_INVALID_REQUEST, "a call of that id has not ended");
	} else if (s->running->len + s->waiting.length >= CALLS_MAX) {
		refuse_call(s, m->id, "too many calls are running: wait for their answers");
	} else if (tool->records && is_recording(s)) {
		refuse_call(s, m->id, "a recording is being made: wait for its end, or cancel it");
	} else {
		struct waiting *w = g_new0(struct waiting, 1);

		w->tool = tool;
		w->id = g_strdup(m->id);
		w->token = meta ? message_member_id(meta, "progressToken") : NULL;
		w->arguments = g_strdup(arguments ? arguments : "{}");
		g_queue_push_tail(&s->waiting, w);
		begin_next(s);
	}
}

static void cancel(struct server *s, const struct message *m)
{
	g_autofree char *id = message_member_id(m->params, "requestId");
	struct call *c = id ? running_of(s, id) : NULL;
	GList *at = id ? waiting_of(s, id) : NULL;

	if (c)
		call_cancel(c);
	if (!at)
		return;
	waiting_free(at->data);
	g_queue_delete_link(&s->waiting, at);
}

static void answer_request(struct server *s, const struct message *m)
{
	g_autofree char *result = NULL;
	enum message_error code;
	const char *why;

	if (strcmp(m->method, "tools/call") == 0) {
		call_tool(s, m);
		return;
	}
	result = protocol_result(&s->call.tool, s->options->version, m, &code, &why);
	if (result)
		answer_raw(s, m->id, result);
	else
		answer_error(s, m->id, code, why);
}

static void take_line(struct server *s, const char *line, gsize len)
{
	struct message m;

	if (len && line[len - 1] == '\r')
		len--;
	if (!len)
		return;
	message_read(&m, line, len);
	if (m.kind == MESSAGE_BAD)
		answer_error(s, m.id, m.code, m.why);
	else if (m.kind == MESSAGE_REQUEST)
		answer_request(s, &m);
	else if (m.kind == MESSAGE_NOTIFICATION && strcmp(m.method, "notifications/cancelled") == 0)
		cancel(s, &m);
	message_clear(&m);
}

/* Handles a part of a line, or the end of it. */
static void take_part(struct server *s, const char *bytes, gsize len, bool is_end)
{
	if (!s->is_skipping && s->line->len + len > MESSAGE_BYTES_MAX) {
		answer_error(s, NULL, MESSAGE_PARSE_ERROR, "the message is longer than 256 KiB");
		s->is_skipping = true;
	}
	if (!s->is_skipping)
		g_string_append_len(s->line, bytes, (gssize)len);
	if (!is_end)
		return;
	if (!s->is_skipping)
		take_line(s, s->line->str, s->line->len);
	g_string_truncate(s->line, 0);
	s->is_skipping = false;
}

static void take_input(struct server *s, const char *bytes, gsize len)
{
	while (len && !s->is_over) {
		const char *end = memchr(bytes, '\n', len);
		gsize part = end ? (gsize)(end - bytes) : len;

		take_part(s, bytes, part, end != NULL);
		part += end != NULL;
		bytes += part;
		len -= part;
	}
}

/* At the end of input, calls that read still answer. Recordings are cancelled, because nobody waits for them. */
static void end_of_input(struct server *s)
{
	s->is_over = true;
	for (guint i = 0; i < s->running->len; i++)
		if (call_records(g_ptr_array_index(s->running, i)))
			call_cancel(g_ptr_array_index(s->running, i));
	leave_when_done(s);
}

static gboolean on_input(gint fd, GIOCondition condition, gpointer data)
{
	struct server *s = data;
	char bytes[READ_BYTES];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return G_SOURCE_CONTINUE;
	if (n <= 0)
		end_of_input(s);
	else
		take_input(s, bytes, (gsize)n);
	return s->is_over ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

static gboolean on_signal(gpointer data)
{
	struct server *s = data;

	s->is_over = true;
	cancel_all(s);
	leave_when_done(s);
	return G_SOURCE_CONTINUE;
}

bool mcp_serve(const struct mcp_options *options)
{
	struct server s = {
		.options = options,
		.call = { .tool = { .history = options->history, .allows_recording = options->allows_recording },
			  .record_with = options->record_with,
			  .recordings = recordings_new(),
			  .done = on_done,
			  .progress = on_progress },
		.loop = g_main_loop_new(NULL, FALSE),
		.line = g_string_new(NULL),
		.running = g_ptr_array_new(),
	};
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	guint input = g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, &s);

	s.call.data = &s;
	g_queue_init(&s.waiting);
	signal(SIGPIPE, SIG_IGN);
	for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
		g_unix_signal_add(ends[i], on_signal, &s);
	g_main_loop_run(s.loop);
	if (g_main_context_find_source_by_id(NULL, input))
		g_source_remove(input);
	recordings_free(s.call.recordings);
	g_queue_clear_full(&s.waiting, (GDestroyNotify)waiting_free);
	g_ptr_array_unref(s.running);
	g_string_free(s.line, TRUE);
	g_main_loop_unref(s.loop);
	return !s.is_broken;
}
