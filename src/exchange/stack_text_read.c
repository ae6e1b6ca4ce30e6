/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Stacks as tracers print them: a frame per line, innermost first, and the sum on its own line:
 *
 *   bcc            frames, maybe "--" between kernel and user, "-  COMM (TID)", the sum in microseconds
 *   offwaketime    "waker: COMM TID", its frames outermost first, "--  --", frames, "target: COMM TID", the sum
 *   wakeuptime     "target: COMM", the waker's kernel frames with addresses, "waker: COMM", the sum
 *   DTrace         maybe a name, frames as module`function+0x12, the sum in nanoseconds, or a distribution
 *                  by powers of two instead
 *   SystemTap      frames as "0xffff12 : schedule+0x2c/0x90 [kernel]", then a number, assumed to be microseconds
 *   bpftrace       "@NAME[", stacks and words separated by commas, "]: SUM", in nanoseconds
 */
#include <string.h>

#include "exchange/import.h"
#include "exchange/parts.h"

#define BLOCK_LINES_MAX (2 * PROFILE_DEPTH_MAX)

/*
 * DTrace's quantize(): how many waits took between a power of two and the next.  Their sum is between both bounds; its
 * middle is off by a third at most.
 */
struct distribution {
	struct wait wait;
	uint64_t from, cnt; /* of the last line */
	bool is_open, has_stack, is_odd, has_from;
};

struct block {
	struct import im;
	GPtrArray *lines; /* char *, stripped */
	uint64_t unit_ns, number; /* unit_ns 0: neither a header nor the user told */
	bool is_us;
	struct distribution distribution;
	GArray *estimates; /* struct wait: from distributions; used if the file has no sums */
};

static bool is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

/* "-                sshd (1234)" */
static bool is_bcc_thread(const char *line)
{
	const char *open = strrchr(line, '(');

	return HAS_PREFIX(line, "- ") && open && open[strlen(open) - 1] == ')' && g_ascii_isdigit(open[1]);
}

/* "0xffffffff81b2a5c0 : schedule+0x2c/0x90 [kernel]" */
static bool is_stap_frame(const char *line)
{
	return HAS_PREFIX(line, "0x") && HAS_PREFIX(line + 2 + strspn(line + 2, "0123456789abcdef"), " : ");
}

bool sniff_stack_text(const char *bytes, gsize len_bytes)
{
	g_autofree char *text = g_strndup(bytes, len_bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", 1000);

	for (char **line = lines; *line; line++) {
		bool indented = g_ascii_isspace(**line);
		char *s = g_strstrip(*line);

		if (HAS_PREFIX(s, "Tracing off-CPU time") || HAS_PREFIX(s, "Tracing blocked time"))
			return true;
		if (indented && (is_bcc_thread(s) || strchr(s, '`') || is_stap_frame(s)))
			return true;
		if (!indented && *s == '@' && strchr(s, '['))
			return true;
	}
	return false;
}

/* Parses "libc.so.1`poll+0x66", "#2  0xffff12 schedule+0x2c" or "b'schedule'" into name and module. */
static uint32_t add_frame(struct block *b, uint32_t parent, char *line, bool is_kernel)
{
	struct import_frame f = { .is_kernel = is_kernel };
	char *tick, *plus;

	if (*line == '#' && g_ascii_isdigit(line[1])) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
		if (HAS_PREFIX(line, "0x") && strchr(line, ' '))
			line = strchr(line, ' ') + 1;
	}
	/* "ffffffff814b840d bpf_trace_run1" */
	if (strspn(line, "0123456789abcdef") >= 8 && line[strspn(line, "0123456789abcdef")] == ' ')
		line += strcspn(line, " ") + 1;
	if (HAS_PREFIX(line, "b'") && line[strlen(line) - 1] == '\'') {
		line[strlen(line) - 1] = '\0';
		line += 2;
	}
	tick = strchr(line, '`');
	if (tick) {
		*tick = '\0';
		f.module = line;
		line = tick + 1;
	}
	/* The offset within a function is dropped. */
	plus = strrchr(line, '+');
	if (plus && plus > line && g_ascii_isdigit(plus[1]))
		*plus = '\0';
	f.name = line;
	return import_node(&b->im, parent, &f);
}

/* If there is no "-" line: how many of the lines [from, to) are user frames. */
static guint user_lines(const struct block *b, guint from, guint to, bool outermost_first)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	for (guint i = 0; i < to - from; i++)
		g_ptr_array_add(names, g_ptr_array_index(b->lines, outermost_first ? from + i : to - 1 - i));
	return kernel_part_begins(names, outermost_first);
}

/* Adds lines [from, to) as a stack, innermost frame first unless outermost_first. */
static void add_stacks(struct block *b, guint from, guint to, bool outermost_first, struct wait *w)
{
	guint split = from, user_cnt = user_lines(b, from, to, outermost_first);
	bool is_split = false;

	for (guint i = from; i < to; i++) {
		const char *line = g_ptr_array_index(b->lines, i);

		if (strcmp(line, "--") == 0 || strcmp(line, "-") == 0) {
			split = i;
			is_split = true;
		}
	}
	for (guint k = 0; k < to - from; k++) {
		guint i = outermost_first ? from + k : to - 1 - k;
		/* Kernel frames are the inner ones; only a delimiter tells how many. */
		bool kernel = is_split ? (outermost_first ? i > split : i < split) : k >= user_cnt;
		uint32_t *stack = kernel ? &w->kernel : &w->user;

		if (!is_split || i != split)
			*stack = add_frame(b, *stack, g_ptr_array_index(b->lines, i), kernel);
	}
}

/* The thread in "target:          sshd 1234" or "-  sshd (1234)".  The number is a tid; the process is unknown. */
static uint32_t thread_of(struct block *b, char *text, char before_id)
{
	char *at = strrchr(text, before_id);
	uint64_t tid = 0;

	if (at && at > text) {
		g_strdelimit(at, "()", ' ');
		g_strstrip(at);
		if (g_ascii_string_to_unsigned(g_strstrip(at + (*at == before_id)), 10, 0, G_MAXINT32, &tid, NULL))
			*at = '\0';
	}
	if (tid)
		b->im.p->info.unknown &= ~(uint32_t)UNKNOWN_IDS;
	return import_thread(&b->im, 0, (uint32_t)tid, g_strstrip(text));
}

static char *line_at(const struct block *b, guint i)
{
	return g_ptr_array_index(b->lines, i);
}

/* Index of the line with that prefix; the number of lines if there is none. */
static guint find_line(const struct block *b, const char *prefix)
{
	guint i = 0;

	while (i < b->lines->len && !g_str_has_prefix(line_at(b, i), prefix))
		i++;
	return i;
}

/* Splits "COMM 123" at the last blank; returns the id, which the caller may ignore. */
static uint32_t word_and_id(char *text, char **ret_comm)
{
	char *blank;
	uint64_t id = 0;

	g_strstrip(text);
	*ret_comm = text;
	if (is_number(text)) {	/* offwaketime prints no name for an unknown waker */
		*ret_comm = text + strlen(text);
		return 0;
	}
	blank = strrchr(text, ' ');
	if (blank && g_ascii_string_to_unsigned(blank + 1, 10, 0, G_MAXINT32, &id, NULL))
		*blank = '\0';
	*ret_comm = g_strstrip(text);
	return (uint32_t)id;
}

static void add_wake(struct block *b, const struct wait *w, const struct waker *who)
{
	const struct wait same = { .thread = w->thread, .state = w->state, .user = w->user, .kernel = w->kernel };
	const struct wake wake = { .wait = profile_add_wait(b->im.p, &same),
				   .waker = profile_waker(b->im.p, who),
				   .blocked_ns = w->blocked_ns };

	profile_add_wake(b->im.p, &wake);
	b->im.p->info.has_wakers = true;
}

/* Only the sleeper's name is known. */
static bool take_wakeuptime(struct block *b, uint64_t ns, guint target, guint waker, GError **error)
{
	struct wait w = { .state = '?', .blocked_ns = ns };
	struct waker who = { 0 };
	char *comm;

	word_and_id(line_at(b, target) + strlen("target:"), &comm);
	w.thread = import_thread(&b->im, 0, 0, comm);
	if (!import_wait(&b->im, &w, error))
		return false;
	for (guint i = waker; i-- > target + 1;)
		who.kernel = add_frame(b, who.kernel, line_at(b, i), true);
	word_and_id(line_at(b, waker) + strlen("waker:"), &comm);
	who.comm = comm;
	add_wake(b, &w, &who);
	return true;
}

static bool take_offwaketime(struct block *b, uint64_t ns, guint target, GError **error)
{
	guint waker = find_line(b, "waker:"), delimiter = find_line(b, "-- ");
	struct wait w = { .state = '?', .blocked_ns = ns }, of_waker = { 0 };
	char *comm;
	uint32_t tid = word_and_id(line_at(b, target) + strlen("target:"), &comm);

	if (tid)
		b->im.p->info.unknown &= ~(uint32_t)UNKNOWN_IDS;
	w.thread = import_thread(&b->im, 0, tid, comm);
	if (delimiter < target)
		add_stacks(b, delimiter + 1, target, false, &w);
	if (!import_wait(&b->im, &w, error))
		return false;
	if (waker >= delimiter || delimiter >= target)
		return true;
	add_stacks(b, waker + 1, delimiter, true, &of_waker);
	tid = word_and_id(line_at(b, waker) + strlen("waker:"), &comm);
	if (!*comm && !of_waker.user && !of_waker.kernel)
		return true;

	const struct waker who = { .tid = tid, .comm = comm, .user = of_waker.user, .kernel = of_waker.kernel };

	add_wake(b, &w, &who);
	return true;
}

/* Cuts off the module at the end of SystemTap's frame: a path, or a part of the kernel. */
static char *cut_stap_module(char *line)
{
	char *open = strrchr(line, '['), *end = open ? strchr(open, ']') : NULL;

	if (!end || open == line || open[-1] != ' ')
		return NULL;
	open[-1] = *end = '\0';
	return open + 1;
}

static void add_stap_frame(struct block *b, char *line, struct wait *w)
{
	char *name = strstr(line, " : ") + strlen(" : "), *module = cut_stap_module(name), *plus = strstr(name, "+0x");
	struct import_frame f = { .module = module, .is_kernel = module && *module != '/' };
	uint32_t *stack = f.is_kernel ? &w->kernel : &w->user;

	if (plus)
		*plus = '\0';
	if (HAS_PREFIX(name, "0x"))
		f.offset = g_ascii_strtoull(name, NULL, 16);
	else
		f.name = name;
	*stack = import_node(&b->im, *stack, &f);
	b->im.is_any_time = true;	/* the script decides what to sum: a number of samples would look the same */
}

static bool is_dtrace_frame(const char *line)
{
	return strchr(line, '`') || HAS_PREFIX(line, "0x");
}

/* Kernel modules of systems with DTrace: illumos and Solaris, FreeBSD, macOS. */
static bool is_kernel_module(const char *line)
{
	static const char *const names[] = { "unix`", "genunix`", "kernel`", "mach_kernel`" };

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_str_has_prefix(line, names[i]))
			return true;
	return false;
}

/* Lines [from, to) are one stack, either kernel or user; not every module need be known. */
static void add_dtrace_stack(struct block *b, guint from, guint to, struct wait *w)
{
	bool is_kernel = false;
	uint32_t *stack;

	for (guint i = from; i < to; i++)
		is_kernel |= is_kernel_module(line_at(b, i));
	stack = is_kernel ? &w->kernel : &w->user;
	for (guint i = to; i-- > from;)
		if (is_stap_frame(line_at(b, i)))
			add_stap_frame(b, line_at(b, i), w);
		else
			*stack = add_frame(b, *stack, line_at(b, i), is_kernel);
}

/* The program's name is before or after the stacks, depending on the aggregation's keys.  "ns" is a label. */
static const char *dtrace_name(const struct block *b, guint from, guint end)
{
	for (guint i = end; i < b->lines->len; i++)
		if (*line_at(b, i) && strcmp(line_at(b, i), "ns") != 0)
			return line_at(b, i);
	while (from > 0 && !*line_at(b, from - 1))
		from--;
	return from ? line_at(b, from - 1) : "";
}

/* Parses thread and stacks of the lines; false: an aggregation without a stack. */
static bool dtrace_key(struct block *b, struct wait *w)
{
	guint from = 0, end = b->lines->len;

	while (from < b->lines->len && !is_dtrace_frame(line_at(b, from)))
		from++;
	if (from == b->lines->len)
		return false;
	while (!is_dtrace_frame(line_at(b, end - 1)))
		end--;
	w->thread = import_thread(&b->im, 0, 0, dtrace_name(b, from, end));
	for (guint i = from, to; i < end; i = to + 1) {
		for (to = i; to < end && *line_at(b, to); to++)
			;
		add_dtrace_stack(b, i, to, w);
	}
	return true;
}

static bool take_dtrace(struct block *b, uint64_t ns, GError **error)
{
	struct wait w = { .state = '?', .blocked_ns = ns };

	return !dtrace_key(b, &w) || import_wait(&b->im, &w, error);
}

/* The sum completes a block. */
static bool take_block(struct block *b, const char *sum, GError **error)
{
	guint thread = 0, target = find_line(b, "target:"), waker = find_line(b, "waker:");
	bool is_us, ok;
	uint64_t ns;

	while (thread < b->lines->len && !is_bcc_thread(line_at(b, thread)))
		thread++;
	is_us = thread < b->lines->len || target < b->lines->len ||
		(b->lines->len && is_stap_frame(line_at(b, b->lines->len - 1)));
	b->is_us = b->is_us || is_us;
	if (!import_time(sum, strlen(sum), b->unit_ns ? b->unit_ns : is_us ? 1000 : 1, &ns))
		return import_bad(error, "line %" G_GUINT64_FORMAT ": the sum is out of range", b->number);
	if (target < waker && waker < b->lines->len) {
		ok = take_wakeuptime(b, ns, target, waker, error);
	} else if (target < b->lines->len) {
		ok = take_offwaketime(b, ns, target, error);
	} else if (thread < b->lines->len) {
		struct wait w = { .state = '?', .blocked_ns = ns };

		add_stacks(b, 0, thread, false, &w);
		w.thread = thread_of(b, line_at(b, thread) + 1, '(');
		ok = import_wait(&b->im, &w, error);
	} else {
		ok = take_dtrace(b, ns, error);
	}
	g_ptr_array_set_size(b->lines, 0);
	return ok;
}

/* --- bpftrace --- */

/* The lines between two commas of a key: a stack, or a name if it is a single word. */
struct key_part {
	guint from, to;
	bool is_stack, is_kernel;
};

static bool take_bpftrace(struct block *b, const char *sum, GError **error)
{
	struct key_part parts[8] = { { 0, 0, false, false } };
	struct wait w = { .state = '?' };
	const char *comm = "";
	guint cnt = 0;
	bool has_stack = false;

	if (!is_number(sum) || !import_time(sum, strlen(sum), b->unit_ns ? b->unit_ns : 1, &w.blocked_ns)) {
		g_ptr_array_set_size(b->lines, 0);
		return true; /* an average or a histogram, not a sum */
	}
	for (guint i = 0; i < b->lines->len; i++) {
		const char *line = line_at(b, i);
		struct key_part *part = &parts[cnt];

		if (strcmp(line, ",") == 0) {
			cnt = MIN(cnt + 1, G_N_ELEMENTS(parts) - 1);
			parts[cnt] = (struct key_part){ .from = i + 1, .to = i + 1 };
			continue;
		}
		part->to = i + 1;
		part->is_stack = *line == ' ';
		part->is_kernel = part->is_kernel ||
				  (part->is_stack && i == part->from && kernel_part_is_scheduler(line + 1));
	}
	for (guint i = 0; i <= cnt; i++) {
		if (!parts[i].is_stack && parts[i].to > parts[i].from && !is_number(line_at(b, parts[i].from)))
			comm = line_at(b, parts[i].from);
		for (guint k = parts[i].to; parts[i].is_stack && k-- > parts[i].from;) {
			uint32_t *stack = parts[i].is_kernel ? &w.kernel : &w.user;

			*stack = add_frame(b, *stack, g_strchug(line_at(b, k)), parts[i].is_kernel);
			has_stack = true;
		}
	}
	b->im.is_any_time = true;	/* a count of samples would look the same */
	w.thread = import_thread(&b->im, 0, 0, comm);
	g_ptr_array_set_size(b->lines, 0);
	return !has_stack || import_wait(&b->im, &w, error);
}

/* Parses words and commas in a line of a key; frames keep a blank before them as a mark. */
static void key_words(struct block *b, char *text, bool indented)
{
	if (indented && *text && *text != ',') {
		g_ptr_array_add(b->lines, g_strconcat(" ", text, NULL));
		return;
	}
	for (char *at = text; at && *at;) {
		char *comma = strchr(at, ',');

		if (comma)
			*comma = '\0';
		if (*g_strstrip(at))
			g_ptr_array_add(b->lines, g_strdup(at));
		if (comma)
			g_ptr_array_add(b->lines, g_strdup(","));
		at = comma ? comma + 1 : NULL;
	}
}

/* True while the key continues on the next line. */
static bool take_key_line(struct block *b, char *line, bool *ok, GError **error)
{
	bool indented = g_ascii_isspace(*line);
	char *end = strstr(line, "]: ");

	if (!end && strcmp(line, "]:") != 0) {
		key_words(b, g_strstrip(line), indented);
		return true;
	}
	if (end) {
		*end = '\0';
		key_words(b, g_strstrip(line), false);
		*ok = take_bpftrace(b, g_strstrip(end + 3), error);
	}
	return false;
}

/* --- lines --- */

static void take_header(struct block *b, const char *line)
{
	const char *unit = strstr(line, "time (");

	if (!unit || b->unit_ns)
		return;
	b->unit_ns = HAS_PREFIX(unit, "time (ns)") ? 1 : HAS_PREFIX(unit, "time (ms)") ? 1000000 : 1000;
}

/* --- DTrace's distributions --- */

/* The bucket's upper bound is in the next line: the next power of two.  Otherwise it is lquantize(). */
static void end_part(struct distribution *d, uint64_t to, uint64_t unit_ns)
{
	const uint64_t from = d->from, cnt = d->cnt;

	if (!d->has_from || !cnt)
		return;
	if ((from || to != unit_ns) && (!from || to != 2 * from))
		d->is_odd = true;
	else if (from && cnt > (PROFILE_NS_MAX - d->wait.blocked_ns) / 2 / from)
		d->is_odd = true;
	else {
		d->wait.count += cnt;
		d->wait.blocked_ns += cnt * from + cnt * from / 2;
		/* a standard error such that the true value is within three times that */
		d->wait.off_cpu_se_ns += (cnt * from + 5) / 6;
	}
}

static void add_bucket(struct block *b, const char *line, const char *bar)
{
	struct distribution *d = &b->distribution;
	g_autofree char *value = g_strstrip(g_strndup(line, (gsize)(bar - line)));
	const char *cnt = bar + 1 + strspn(bar + 1, "@ ");
	guint64 waits;
	uint64_t from;

	if (!is_number(value) || !import_time(value, strlen(value), b->unit_ns ? b->unit_ns : 1, &from) ||
	    !g_ascii_string_to_unsigned(cnt, 10, 0, G_MAXUINT32, &waits, NULL)) {
		d->is_odd = true;
		return;
	}
	end_part(d, from, b->unit_ns ? b->unit_ns : 1);
	d->from = from;
	d->cnt = waits;
	d->has_from = true;
}

static bool end_distribution(struct block *b, GError **error)
{
	struct distribution d = b->distribution;

	b->distribution = (struct distribution){ 0 };
	if (!d.is_open || !d.has_stack)
		return true;
	if (d.is_odd || d.cnt || b->estimates->len >= PROFILE_ROWS_MAX)
		return import_bad(error, "line %" G_GUINT64_FORMAT ": the distribution before it is none of quantize()", b->number);
	if (d.wait.count)
		g_array_append_val(b->estimates, d.wait);
	return true;
}

/* Whether the line belongs to a distribution.  *ok: false with *error, if the last distribution was not understood. */
static bool take_distribution(struct block *b, const char *line, bool *ok, GError **error)
{
	struct distribution *d = &b->distribution;
	const char *bar = strchr(line, '|');
	const bool is_head = strstr(line, "------------- Distribution -------------") != NULL;

	if (d->is_open && (is_head || !bar))
		*ok = end_distribution(b, error);
	if (is_head) {
		d->is_open = true;
		d->wait.state = '?';
		d->has_stack = dtrace_key(b, &d->wait);
		g_ptr_array_set_size(b->lines, 0);
	} else if (d->is_open) {
		add_bucket(b, line, bar);
	}
	return d->is_open;
}

/* Sums are preferred to estimates: a script may print both for the same waits. */
static bool take_estimates(struct block *b, GError **error)
{
	bool ok = end_distribution(b, error);

	if (b->im.p->waits->len || !b->estimates->len)
		return ok;
	b->im.p->info.unknown &= ~(uint32_t)UNKNOWN_COUNTS;
	for (guint i = 0; ok && i < b->estimates->len; i++)
		ok = import_wait(&b->im, &g_array_index(b->estimates, struct wait, i), error);
	return ok;
}

static bool take_line(struct block *b, char *line, bool *in_key, GError **error)
{
	bool ok = true;

	if (b->lines->len > BLOCK_LINES_MAX)
		return import_bad(error, "line %" G_GUINT64_FORMAT ": a stack has more than %d frames", b->number,
				  BLOCK_LINES_MAX);
	if (*in_key) {
		*in_key = take_key_line(b, line, &ok, error);
		return ok;
	}
	if (*line == '@' && strchr(line, '[')) {
		g_ptr_array_set_size(b->lines, 0);
		*in_key = take_key_line(b, strchr(line, '[') + 1, &ok, error);
		return ok;
	}
	bool indented = g_ascii_isspace(*line);
	char *s = g_strstrip(line);

	if (!*s) {
		if (b->distribution.has_from)
			return end_distribution(b, error);
		/* separates DTrace's kernel stack from the user stack */
		if (b->lines->len && is_dtrace_frame(line_at(b, b->lines->len - 1)))
			g_ptr_array_add(b->lines, g_strdup(""));
		return true;
	}
	if (take_distribution(b, s, &ok, error) || !ok)
		return ok;
	if (is_number(s))
		return take_block(b, s, error);
	if (!indented && (HAS_PREFIX(s, "Tracing ") || HAS_PREFIX(s, "WARNING:") || HAS_PREFIX(s, "dtrace:") ||
			  HAS_PREFIX(s, "Attaching ")))
		take_header(b, s);
	else if (indented)
		g_ptr_array_add(b->lines, g_strdup(s));
	return true;
}

/* Sets info.imported with the unit that was assumed. */
static void set_info(struct block *b)
{
	const bool is_estimated = b->im.p->waits->len && profile_wait(b->im.p, 0)->off_cpu_se_ns;
	g_autofree char *from = g_strdup_printf("stacks with %s (numbers taken as %s)",
						is_estimated ? "distributions, whose sums are estimates, at most a third off" : "sums",
						import_unit_name(b->unit_ns  ? b->unit_ns
								 : b->is_us ? 1000
									     : 1));

	b->im.p->info.imported = profile_string(b->im.p, from);
}

bool read_stack_text(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	struct block b = { .lines = g_ptr_array_new_with_free_func(g_free),
			   .estimates = g_array_new(FALSE, FALSE, sizeof(struct wait)) };
	g_autoptr(GError) why = NULL;
	bool in_key = false, ok = true;
	char *line;
	gsize len;

	b.unit_ns = options->unit_ns;
	import_begin(&b.im, p, "stacks with sums", UNKNOWN_ALL);
	while (ok && (line = import_line(&b.im, source, &len, &why))) {
		b.number++;
		ok = take_line(&b, line, &in_key, &why);
		if (!ok && import_skip(&b.im, &why)) {
			g_ptr_array_set_size(b.lines, 0);
			in_key = false;
			ok = true;
		}
	}
	ok = ok && !why && (take_estimates(&b, &why) || import_skip(&b.im, &why)) && !why;
	g_ptr_array_unref(b.lines);
	g_array_unref(b.estimates);
	set_info(&b);
	return import_end(&b.im, ok, g_steal_pointer(&why), error);
}
