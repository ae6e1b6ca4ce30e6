/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/call.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "/proc/self/exe"	/* the running build, even after another one was installed */
#define OUT_MAX (64u << 10)
#define ERR_MAX (4u << 10)
#define GRACE_MS 1500
#define READ_BYTES 4096

struct stream {
	int fd;
	guint source;
	GString *text;
	gsize max;
};

struct child {
	GPid pid;
	int input;
	struct stream out, err;
	guint deadline, kill;
	bool ends_with_input;
	struct child_result result;
	void (*done)(const struct child_result *result, void *data);
	void *data;
};

/* A process group of its own, so that killing it kills its children, too. */
static void set_up(gpointer data)
{
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
}

static void kill_all(const struct child *c, int sig)
{
	if (kill(-c->pid, sig))
		kill(c->pid, sig);
}

static gboolean on_grace_over(gpointer data)
{
	struct child *c = data;

	c->kill = 0;
	kill_all(c, SIGKILL);
	return G_SOURCE_REMOVE;
}

void child_stop(struct child *c)
{
	if (c->input >= 0)
		close(c->input);
	c->input = -1;
	if (!c->ends_with_input)
		kill_all(c, SIGKILL);
	else if (!c->kill)
		c->kill = g_timeout_add(GRACE_MS, on_grace_over, c);
}

static gboolean on_deadline(gpointer data)
{
	struct child *c = data;

	c->deadline = 0;
	c->result.is_late = true;
	child_stop(c);
	return G_SOURCE_REMOVE;
}

/* False: end of file. */
static bool read_some(struct child *c, struct stream *s)
{
	char bytes[READ_BYTES];
	ssize_t n = read(s->fd, bytes, sizeof(bytes));

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	g_string_append_len(s->text, bytes, MIN(n, (gssize)(s->max - s->text->len)));
	if (s == &c->out && s->text->len == s->max && !c->result.is_long) {
		c->result.is_long = true;
		kill_all(c, SIGKILL);
	}
	return true;
}

static gboolean on_output(gint fd, GIOCondition condition, gpointer data)
{
	struct child *c = data;
	struct stream *s = fd == c->out.fd ? &c->out : &c->err;

	if (read_some(c, s))
		return G_SOURCE_CONTINUE;
	s->source = 0;
	return G_SOURCE_REMOVE;
}

static void stream_begin(struct child *c, struct stream *s, gsize max)
{
	s->text = g_string_new(NULL);
	s->max = max;
	fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) | O_NONBLOCK);
	s->source = g_unix_fd_add(s->fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_output, c);
}

/* Reads what is left in the pipe, but does not wait for other processes that hold it open. */
static void stream_end(struct child *c, struct stream *s)
{
	gsize before;

	do {
		before = s->text->len;
	} while (s->source && read_some(c, s) && s->text->len > before);
	if (s->source)
		g_source_remove(s->source);
	close(s->fd);
}

static void on_end(GPid pid, gint status, gpointer data)
{
	struct child *c = data;

	stream_end(c, &c->out);
	stream_end(c, &c->err);
	if (c->input >= 0)
		close(c->input);
	if (c->deadline)
		g_source_remove(c->deadline);
	if (c->kill)
		g_source_remove(c->kill);
	g_spawn_close_pid(pid);
	c->result.status = status;
	c->result.out = c->out.text->str;
	c->result.err = c->err.text->str;
	c->done(&c->result, c->data);
	g_string_free(c->out.text, TRUE);
	g_string_free(c->err.text, TRUE);
	g_free(c);
}

/* The program and its arguments for g_spawn_*() with the file in front. NULL with an error. */
static GPtrArray *words_of(const struct child_options *o, GError **error)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *program = o->runner ? g_file_read_link(PROGRAM, error) : g_strdup("offcpu");

	if (!program)
		return NULL;
	for (guint i = 0; o->runner && o->runner[i]; i++)
		g_ptr_array_add(words, g_strdup(o->runner[i]));
	g_ptr_array_add(words, g_steal_pointer(&program));
	if (!o->runner)
		g_ptr_array_insert(words, 0, g_strdup(PROGRAM));
	for (guint i = 0; o->words[i]; i++)
		g_ptr_array_add(words, g_strdup(o->words[i]));
	g_ptr_array_add(words, NULL);
	return g_steal_pointer(&words);
}

struct child *child_start(const struct child_options *o, GError **error)
{
	g_autoptr(GPtrArray) words = words_of(o, error);
	struct child *c = g_new0(struct child, 1);
	const GSpawnFlags flags = G_SPAWN_DO_NOT_REAP_CHILD |
				  (o->runner ? G_SPAWN_SEARCH_PATH : G_SPAWN_FILE_AND_ARGV_ZERO);

	c->input = -1;
	c->ends_with_input = o->ends_with_input;
	c->done = o->done;
	c->data = o->data;
	if (!words || !g_spawn_async_with_pipes(NULL, (char **)words->pdata, NULL, flags, set_up, NULL, &c->pid,
						o->ends_with_input ? &c->input : NULL, &c->out.fd, &c->err.fd, error)) {
		g_free(c);
		return NULL;
	}
	stream_begin(c, &c->out, OUT_MAX);
	stream_begin(c, &c->err, ERR_MAX);
	c->deadline = g_timeout_add_seconds(o->seconds, on_deadline, c);
	g_child_watch_add(c->pid, on_end, c);
	return c;
}
