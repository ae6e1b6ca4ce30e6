/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Collapsed stacks, one per line: "comm;outermost;...;innermost 1234", as this program, bcc's offcputime -f and
 * stackcollapse-*.pl write them.  By convention the first frame is the thread's name.  A frame "-" precedes the
 * kernel's frames, and "--" the waker's, which are innermost first and end with its name.  If there are two columns,
 * the second one is the time, as for flamegraph.pl.
 */
#include <string.h>

#include "exchange/import.h"
#include "exchange/parts.h"

#define LINES_TO_LOOK_AT 64
#define UNIT_NS 1000 /* the unit of offcputime, and our default; the format does not state it */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Parses the last word of the line as a number.  Returns the length before it, 0 if it is no number. */
static gsize number_before(const char *line, gsize len, uint64_t unit_ns, uint64_t *ret_ns)
{
	gsize end = len, at;

	while (end && is_blank(line[end - 1]))
		end--;
	for (at = end; at && !is_blank(line[at - 1]); at--)
		;
	if (at < 2 || !import_time(line + at, end - at, unit_ns, ret_ns))
		return 0;
	while (at && is_blank(line[at - 1]))
		at--;
	return at;
}

static bool is_comment(const char *line)
{
	return !*line || *line == '#';
}

/* Number of columns in the first lines, tolerating odd ones; 0: not this format. */
static unsigned count_columns(const char *bytes, gsize len_bytes)
{
	unsigned columns = 2, lines = 0, odd = 0, with_frames = 0;

	for (const char *at = bytes, *end = bytes + len_bytes; at < end && lines + odd < LINES_TO_LOOK_AT;) {
		const char *newline = memchr(at, '\n', (gsize)(end - at));
		g_autofree char *line = g_strndup(at, (gsize)((newline ? newline : end) - at));
		uint64_t ns;

		if (!newline && lines + odd)
			break; /* truncated by the peek, or the last line */
		at = newline ? newline + 1 : end;
		if (is_comment(line))
			continue;
		gsize len = number_before(line, strlen(line), UNIT_NS, &ns);

		if (!len) {
			odd++;
			continue;
		}
		if (!number_before(line, len, UNIT_NS, &ns))
			columns = 1;
		lines++;
		with_frames += memchr(line, ';', len) != NULL;
	}
	/* names may look like another format, or break a line */
	return with_frames * 2 > lines + odd ? columns : 0;
}

bool sniff_collapsed(const char *bytes, gsize len_bytes)
{
	return count_columns(bytes, len_bytes) > 0;
}

uint64_t collapsed_odd_line(const char *bytes, gsize len_bytes)
{
	uint64_t number = 0, odd = 0, lines = 0;

	for (const char *at = bytes, *end = bytes + len_bytes; at < end && number < LINES_TO_LOOK_AT;) {
		const char *newline = memchr(at, '\n', (gsize)(end - at));
		g_autofree char *line = g_strndup(at, (gsize)((newline ? newline : end) - at));
		uint64_t ns;

		at = newline ? newline + 1 : end;
		number++;
		if (is_comment(line) || !strchr(line, ';'))
			continue;
		if (number_before(line, strlen(line), UNIT_NS, &ns))
			lines++;
		else if (!odd)
			odd = number;
	}
	return lines ? odd : 0;
}

/* Parses the suffix "_[k]" and others of stackcollapse-perf.pl --all. */
static void take_annotation(char *name, struct import_frame *f)
{
	gsize len = strlen(name);

	if (len <= 4 || strncmp(name + len - 4, "_[", 2) != 0 || name[len - 1] != ']')
		return;
	switch (name[len - 2]) {
	case 'k': f->is_kernel = true; break;
	case 'i': f->is_inline = true; break;
	case 'j': f->module = "[jit]"; break;
	default: return;
	}
	name[len - 4] = '\0';
}

/* Splits at the next ';'; NULL at the end. */
static char *next_frame(char **at)
{
	char *frame = *at;

	if (!frame)
		return NULL;
	*at = strchr(frame, ';');
	if (*at)
		*(*at)++ = '\0';
	return frame;
}

struct line_stacks {
	uint32_t user, kernel;
};

/* Parses up to "--" (true) or the end of the line (false). */
static bool take_sleeper(struct import *im, char **at, struct line_stacks *st)
{
	g_autoptr(GPtrArray) frames = g_ptr_array_new();
	guint begins = G_MAXUINT;	/* index of the first kernel frame */
	char *name;

	for (name = next_frame(at); name && strcmp(name, "--") != 0; name = next_frame(at)) {
		if (strcmp(name, "-") == 0)
			begins = frames->len;
		else if (*name)
			g_ptr_array_add(frames, name);
	}
	if (begins == G_MAXUINT)
		begins = kernel_part_begins(frames, false);
	for (guint i = 0; i < frames->len; i++) {
		struct import_frame f = { .name = g_ptr_array_index(frames, i), .is_kernel = i >= begins };

		take_annotation(g_ptr_array_index(frames, i), &f);
		uint32_t *stack = f.is_kernel ? &st->kernel : &st->user;
		*stack = import_node(im, *stack, &f);
	}
	return name != NULL;
}

/* Number of kernel frames among a waker's frames, which are innermost first and end with its name. */
static guint kernel_frames(const GPtrArray *frames)
{
	g_autoptr(GPtrArray) outermost_first = g_ptr_array_new();

	for (guint i = frames->len - 1; i-- > 0;)
		g_ptr_array_add(outermost_first, g_ptr_array_index(frames, i));
	return outermost_first->len - kernel_part_begins(outermost_first, true);
}

/*
 * Parses the waker's frames, innermost first and its name last.  Further wakers of a chain, after another "--", are
 * ignored.
 */
static void take_waker(struct import *im, char *at, const struct wait *w, uint32_t wait)
{
	g_autoptr(GPtrArray) frames = g_ptr_array_new();
	struct line_stacks st = { 0 };
	guint kernel_cnt = G_MAXUINT;

	for (char *name = next_frame(&at); name && strcmp(name, "--") != 0; name = next_frame(&at)) {
		if (strcmp(name, "-") == 0)
			kernel_cnt = frames->len;
		else
			g_ptr_array_add(frames, name);
	}
	/* offwaketime had no waker */
	if (!frames->len || (frames->len == 1 && !*(const char *)g_ptr_array_index(frames, 0)))
		return;
	if (kernel_cnt == G_MAXUINT)
		kernel_cnt = kernel_frames(frames);
	/* Outermost first, without the name. */
	for (guint i = frames->len - 1; i-- > 0;) {
		struct import_frame f = { .name = g_ptr_array_index(frames, i), .is_kernel = i < kernel_cnt };
		uint32_t *stack;

		take_annotation(g_ptr_array_index(frames, i), &f);
		stack = f.is_kernel ? &st.kernel : &st.user;
		*stack = import_node(im, *stack, &f);
	}
	struct waker waker = { .comm = g_ptr_array_index(frames, frames->len - 1),
			       .user = st.user,
			       .kernel = st.kernel };
	struct wake wake = { .wait = wait, .waker = profile_waker(im->p, &waker), .blocked_ns = w->blocked_ns };

	profile_add_wake(im->p, &wake);
	im->p->info.has_wakers = true;
}

/* Format of the lines. */
struct layout {
	unsigned columns;
	uint64_t unit_ns, number; /* of the current line */
};

static bool take_line(struct import *im, char *line, gsize len, const struct layout *layout, GError **error)
{
	struct wait w = { .state = '?' };
	struct line_stacks st = { 0 };
	char *at = line;

	len = number_before(line, len, layout->unit_ns, &w.blocked_ns);
	if (len && layout->columns == 2) {
		uint64_t other_ns;

		len = number_before(line, len, UNIT_NS, &other_ns);
	}
	if (!len)
		return import_bad(error, "line %" G_GUINT64_FORMAT " does not end in %s", layout->number,
				  layout->columns == 2 ? "two numbers" : "a number");
	line[len] = '\0';
	w.thread = import_thread_text(im, next_frame(&at));
	bool has_waker = take_sleeper(im, &at, &st);

	w.user = st.user;
	w.kernel = st.kernel;
	if (!import_wait(im, &w, error))
		return false;
	if (has_waker)
		take_waker(im, at, &w,
			   profile_add_wait(im->p, &(struct wait){ .thread = w.thread,
								  .state = w.state,
								  .user = w.user,
								  .kernel = w.kernel }));
	return true;
}

bool read_collapsed(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	gsize len = 0;
	const char *peek = source_peek(source, &len, error);
	struct layout layout = { .columns = peek ? count_columns(peek, len) : 0,
				.unit_ns = options->unit_ns ? options->unit_ns : UNIT_NS };
	g_autoptr(GError) why = NULL;
	struct import im;
	char *line;
	bool ok = true;

	if (!peek)
		return false;
	g_autofree char *from = g_strdup_printf("collapsed stacks (%snumbers taken as %s)",
						layout.columns == 2 ? "second column, " : "",
						import_unit_name(layout.unit_ns));

	import_begin(&im, p, from, UNKNOWN_ALL);
	im.is_any_time = true;
	while (ok && (line = import_line(&im, source, &len, &why))) {
		layout.number++;
		if (!is_comment(line))
			ok = take_line(&im, line, len, &layout, &why) || import_skip(&im, &why);
	}
	ok = ok && !why;
	return import_end(&im, ok, g_steal_pointer(&why), error);
}
