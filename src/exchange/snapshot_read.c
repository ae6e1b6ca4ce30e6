/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where each thread stood at one or several instants: gdb's "thread apply all bt" and FreeBSD's "procstat -ka".  They
 * do not tell how long threads stood there, so looks at threads are counted and have no time.
 */
#include <string.h>

#include "exchange/import.h"

/* A frame's arguments may continue over several lines. */
#define FRAME_MAX_BYTES 16384
#define PEEK_LINES 1000

struct snapshots {
	struct import im;
	GHashTable *seen; /* uint32_t ids of threads of this snapshot */
	uint64_t cnt, number; /* number of snapshots, of the current line */
	struct wait look;
	bool has_thread;
};

/* A thread that was seen already begins another snapshot.  A thread without an id gets a number of its own. */
static void begin_look(struct snapshots *s, uint32_t pid, uint32_t tid, const char *comm, uint32_t number)
{
	gpointer key = GUINT_TO_POINTER(tid ? tid : ~number);

	s->look = (struct wait){ .state = '?', .count = 1 };
	s->has_thread = true;
	s->cnt += !s->cnt;
	if (!g_hash_table_add(s->seen, key)) {
		g_hash_table_remove_all(s->seen);
		g_hash_table_add(s->seen, key);
		s->cnt++;
	}
	if (tid)
		s->im.p->info.unknown &= ~(uint32_t)UNKNOWN_IDS;
	s->look.thread = import_thread(&s->im, pid, tid, comm);
}

static bool end_look(struct snapshots *s, GError **error)
{
	bool ok = !s->has_thread || (!s->look.user && !s->look.kernel) || import_wait(&s->im, &s->look, error);

	s->has_thread = false;
	return ok;
}

static void begin_import(struct snapshots *s, struct profile *p, const char *of)
{
	s->seen = g_hash_table_new(NULL, NULL);
	import_begin(&s->im, p, of, UNKNOWN_ALL & ~(uint32_t)UNKNOWN_COUNTS);
	p->info.rows_are = ROWS_LOOKS;
}

static bool end_import(struct snapshots *s, const char *of, bool ok, GError **why, GError **error)
{
	g_autofree char *from = g_strdup_printf("%s (%" G_GUINT64_FORMAT " snapshot%s)", of, s->cnt, s->cnt == 1 ? "" : "s");

	s->im.p->info.imported = profile_string(s->im.p, from);
	g_hash_table_unref(s->seen);
	return import_end(&s->im, ok, g_steal_pointer(why), error);
}

/* --- gdb --- */

struct gdb {
	struct snapshots s;
	GPtrArray *frames; /* char *, innermost first */
	GString *frame; /* current frame, which may continue; empty: none */
};

/* "Thread 3 (Thread 0x7f5c3b7fe700 (LWP 12345) "worker"):", "Thread 1 (process 77):", "Thread 2.1 (LWP 9):" */
static bool is_gdb_thread(const char *line)
{
	gsize len = strlen(line);

	return HAS_PREFIX(line, "Thread ") && g_ascii_isdigit(line[7]) && len > 10 && line[len - 1] == ':' &&
	       (strstr(line, "(LWP ") || strstr(line, "(process ") || strstr(line, "(Thread "));
}

static bool is_gdb_frame(const char *line)
{
	return *line == '#' && g_ascii_isdigit(line[1]);
}

bool sniff_gdb(const char *bytes, gsize len_bytes)
{
	g_autofree char *text = g_strndup(bytes, len_bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", PEEK_LINES);

	for (char **line = lines; *line && line[1]; line++)
		if (is_gdb_thread(g_strchomp(*line)) && is_gdb_frame(line[1]))
			return true;
	return false;
}

static uint32_t number_behind(const char *line, const char *mark)
{
	const char *at = strstr(line, mark);
	uint64_t n = at ? g_ascii_strtoull(at + strlen(mark), NULL, 10) : 0;

	return n <= G_MAXINT32 ? (uint32_t)n : 0;
}

static void take_gdb_thread(struct gdb *g, char *line)
{
	char *quote = strchr(line, '"'), *end = quote ? strrchr(line, '"') : NULL;
	uint32_t tid = number_behind(line, "(LWP "), pid = number_behind(line, "(process ");
	const char *comm = "";

	if (end && end > quote) {
		*end = '\0';
		comm = quote + 1;
	}
	begin_look(&g->s, pid, tid ? tid : pid, comm, number_behind(line, "Thread "));
}

/*
 * Start of a function's arguments: at "()", "(...)" or "(name=".  Parentheses need not be balanced, since an argument
 * may be text, and function names may contain parentheses.  NULL: no arguments.
 */
static char *arguments_of(char *text)
{
	for (char *at = strstr(text, " ("); at; at = strstr(at + 1, " (")) {
		const char *name = at + 2 + strspn(at + 2, " ");
		const gsize len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

		if (strcmp(name, ")") == 0 || strcmp(name, "...)") == 0 || (len && name[len] == '='))
			return at;
	}
	return NULL;
}

/* Cuts the text at ") WORD " and returns what follows. */
static char *cut_behind(char *text, const char *word)
{
	char *at = g_strrstr(text, word);

	if (!at)
		return NULL;
	at[1] = '\0';
	return at + strlen(word);
}

/* "#1  0x7f12 in poll (fds=0x1, n=2) at poll.c:29", "#2  run () from /lib/libx.so.1", "#3  <signal handler called>" */
static void add_gdb_frame(struct gdb *g, char *text)
{
	struct import_frame f = { 0 };
	char *in, *open, *line;

	text += strcspn(text, " ");
	text += strspn(text, " ");
	if (!*text)
		return;
	if (HAS_PREFIX(text, "0x") && (in = strstr(text, " in "))) {
		f.offset = g_ascii_strtoull(text, NULL, 16);
		text = in + strlen(" in ");
	}
	f.module = cut_behind(text, ") from ");
	f.file = f.module ? NULL : cut_behind(text, ") at ");
	line = f.file ? strrchr(f.file, ':') : NULL;
	if (line) {
		*line = '\0';
		f.line = (uint32_t)MIN(g_ascii_strtoull(line + 1, NULL, 10), (uint64_t)G_MAXINT32);
	}
	open = arguments_of(text);
	if (open)
		*open = '\0';
	if (strcmp(text, "??") != 0) {
		f.name = text;
		f.offset = 0;
	}
	g->s.look.user = import_node(&g->s.im, g->s.look.user, &f);
}

static void end_frame(struct gdb *g)
{
	if (g->frame->len && g->frames->len < PROFILE_DEPTH_MAX)
		g_ptr_array_add(g->frames, g_strdup(g->frame->str));
	g_string_truncate(g->frame, 0);
}

static bool end_gdb_thread(struct gdb *g, GError **error)
{
	end_frame(g);
	for (guint i = g->frames->len; i-- > 0;)
		add_gdb_frame(g, g_ptr_array_index(g->frames, i));
	g_ptr_array_set_size(g->frames, 0);
	return end_look(&g->s, error);
}

/* On a narrow terminal, arguments and the location continue on the next line. */
static bool is_more(const struct gdb *g, const char *indented)
{
	return g->frame->len && g->frame->len + strlen(indented) < FRAME_MAX_BYTES &&
	       (HAS_PREFIX(indented, "at ") || HAS_PREFIX(indented, "from ") ||
		!(strstr(g->frame->str, ") at ") || strstr(g->frame->str, ") from ") || g_str_has_suffix(g->frame->str, ")")));
}

static bool take_gdb_line(void *reader, char *line, GError **error)
{
	struct gdb *g = reader;
	char *text = line + strspn(line, " \t");

	g_strchomp(line);
	while (HAS_PREFIX(text, "(gdb) "))	/* from a log of the session */
		text += strlen("(gdb) ");
	if (is_gdb_thread(text)) {
		bool ok = end_gdb_thread(g, error);

		take_gdb_thread(g, text);
		return ok;
	}
	if (!*text)
		return end_gdb_thread(g, error);
	if (!g->s.has_thread)
		return true;
	if (is_gdb_frame(line)) {
		end_frame(g);
		g_string_assign(g->frame, line);
	} else if (text > line && is_more(g, text)) {
		g_string_append_printf(g->frame, " %s", text);
	} else {
		end_frame(g);	/* variables of "bt full", or a message of gdb */
	}
	return true;
}

bool read_gdb(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	struct gdb g = { .frames = g_ptr_array_new_with_free_func(g_free), .frame = g_string_new(NULL) };
	g_autoptr(GError) why = NULL;
	bool ok;

	begin_import(&g.s, p, "gdb's backtraces");
	ok = import_lines(&g.s.im, source, take_gdb_line, &g, &why) && end_gdb_thread(&g, &why);
	g_ptr_array_unref(g.frames);
	g_string_free(g.frame, TRUE);
	return end_import(&g.s, "gdb's backtraces", ok, &why, error);
}

/* --- procstat --- */

/*
 *   PID    TID COMM                TDNAME              KSTACK
 *  1234 100079 nginx               -                   mi_switch+0xe1 sleepq_catch_signals+0x405 ...
 *
 * Names contain blanks, so columns have the header's widths.  Wider ids shift the rest.
 */
struct procstat {
	struct snapshots s;
	gsize comm_width, name_width; /* 0: no such column */
	bool has_head;
	GString *stack; /* of the current thread */
};

static bool take_procstat_head(const char *line, gsize *ret_comm_width, gsize *ret_name_width)
{
	const char *at = line + strspn(line, " "), *comm = strstr(line, " COMM "), *name = strstr(line, " TDNAME ");
	const char *stack = strstr(line, " KSTACK");

	if (!HAS_PREFIX(at, "PID ") || !strstr(line, " TID ") || !comm || !stack || stack < comm || (name && name < comm) ||
	    (name && stack < name))
		return false;
	*ret_comm_width = (gsize)((name ? name : stack) - comm);
	*ret_name_width = name ? (gsize)(stack - name) : 0;
	return true;
}

bool sniff_procstat(const char *bytes, gsize len_bytes)
{
	g_autofree char *text = g_strndup(bytes, len_bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", PEEK_LINES);
	gsize widths[2];

	for (char **line = lines; *line; line++)
		if (take_procstat_head(g_strchomp(*line), &widths[0], &widths[1]))
			return true;
	return false;
}

/* Cuts the next column of that width; *at moves behind it. */
static char *column(char **at, gsize width)
{
	gsize len = MIN(width, strlen(*at));
	char *text = g_strstrip(g_strndup(*at, len));

	*at += len;
	return text;
}

/* Parses "mi_switch+0xe1 sleepq_wait+0x2c", innermost first. */
static bool end_procstat_thread(struct procstat *t, GError **error)
{
	g_auto(GStrv) names = g_strsplit_set(t->stack->str, " \t", 4 * PROFILE_DEPTH_MAX);
	guint cnt = g_strv_length(names);

	for (guint i = cnt, depth = 0; t->s.has_thread && i-- > 0 && depth < PROFILE_DEPTH_MAX;) {
		char *plus = strstr(names[i], "+0x");
		const struct import_frame f = { .name = names[i], .is_kernel = true };

		if (plus)
			*plus = '\0';
		if (!*names[i] || strcmp(names[i], "-") == 0)
			continue;
		t->s.look.kernel = import_node(&t->s.im, t->s.look.kernel, &f);
		depth++;
	}
	g_string_truncate(t->stack, 0);
	return end_look(&t->s, error);
}

static bool take_procstat_line(void *reader, char *line, GError **error)
{
	struct procstat *t = reader;
	char *at = line + strspn(line, " "), *end;
	gsize comm_width, name_width;
	uint64_t ids[2];

	t->s.number++;
	if (take_procstat_head(g_strchomp(line), &comm_width, &name_width)) {
		bool ok = end_procstat_thread(t, error);

		/* a list without a header has the same columns as the one before */
		t->comm_width = comm_width;
		t->name_width = name_width;
		t->has_head = true;
		return ok;
	}
	if (!t->has_head || !*at)
		return end_procstat_thread(t, error);
	for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++) {
		ids[i] = g_ascii_strtoull(at, &end, 10);
		if (end == at || *end != ' ' || ids[i] > G_MAXINT32) {
			if (i || *line != ' ' || !t->s.has_thread || t->stack->len > FRAME_MAX_BYTES)
				return import_bad(error, "line %" G_GUINT64_FORMAT ": no ids of a thread", t->s.number);
			g_string_append_printf(t->stack, " %s", at);	/* the stack continues */
			return true;
		}
		at = end + strspn(end, " ");
	}
	if (!end_procstat_thread(t, error))
		return false;
	g_autofree char *comm = column(&at, t->comm_width), *name = column(&at, t->name_width);
	const bool has_name = *name && strcmp(name, "-") != 0;

	begin_look(&t->s, (uint32_t)ids[0], (uint32_t)ids[1], has_name ? name : comm, 0);
	g_array_index(t->s.im.p->threads, struct thread, t->s.look.thread).process = profile_string(t->s.im.p, comm);
	g_string_assign(t->stack, at);
	return true;
}

bool read_procstat(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	struct procstat t = { .stack = g_string_new(NULL) };
	g_autoptr(GError) why = NULL;
	bool ok;

	begin_import(&t.s, p, "procstat's kernel stacks");
	ok = import_lines(&t.s.im, source, take_procstat_line, &t, &why) && end_procstat_thread(&t, &why);
	g_string_free(t.stack, TRUE);
	return end_import(&t.s, "procstat's kernel stacks", ok, &why, error);
}
