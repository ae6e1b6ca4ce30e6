/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The output of `perf script`.  An event is a line, followed by its stack, innermost first, and an empty line:
 *
 *     comm 123/124 [001] 12.345678: 1000 offcpu-time:
 *             7f12 poll+0x4f (/usr/lib/libc.so.6)
 *
 * sched_switch gives each wait, from the thread's switch-out, which has its stack, to its switch-in.  With
 * sched_waking or sched_wakeup, blocked time is separated from run-queue time.  The stack of sched_waking tells the
 * waker.  Without a stack the event's thread may just have been interrupted.  The period of offcpu-time (perf record
 * --off-cpu) is the time of one or several waits.  If a file has both, the first one found is used.  If it has
 * neither, the periods of cpu-clock or task-clock are a CPU profile.
 */
#include <string.h>

#include "base/hash.h"
#include "exchange/import.h"

#define THREADS_MAX PROFILE_ROWS_MAX
#define COMM_BYTES 16		/* maximum length of a thread's name in the kernel */
#define MORE_LINES_MAX (2 * COMM_BYTES)	/* of an event with two names */
#define MORE_MAX_BYTES 512
#define ENDLESS_PERCENT 10	/* maximum share of waits without an end, due to lost events */
#define RECORD_ALL "record with `perf record -a -g -e sched:sched_switch`"

/* sched_wakeup may run on another CPU than the waker, so it does not tell the waker. */
enum kind { EVENT_OTHER, EVENT_SWITCH, EVENT_WAKING, EVENT_WAKEUP, EVENT_OFF_CPU, EVENT_CPU };

/* A thread's state after its last event. */
struct state {
	bool is_off, is_woken;
	uint8_t letter;
	uint32_t thread, user, kernel;
	uint32_t waker;	/* index + 1; 0: unknown */
	uint64_t off_ns, woken_ns;
};

struct event {
	enum kind kind;
	char *comm, *args;
	uint32_t pid, tid;
	uint64_t ns, period_ns;
};

struct script {
	struct import im;
	GHashTable *states; /* uint64_t tid -> struct state */
	enum kind takes; /* EVENT_SWITCH or EVENT_OFF_CPU, once decided */
	bool has_wakings;
	uint64_t first_ns, last_ns, missed_cnt, missed_ns;
	uint64_t ended_cnt, endless_cnt; /* switch-outs with and without the switch-in that ends the wait */
	bool sees_all; /* system-wide recording */
	GArray *samples; /* struct import_sample: used if there are no waits */
	GPtrArray *frames; /* char *: lines of the current stack, innermost first */
	char *head; /* line of the current event */
	struct event event; /* parsed head, if is_event */
	bool is_event;
	GString *line; /* head as read, with its continuation lines */
	unsigned more_lines;
};

static char *skip_blanks(char *s)
{
	return s + strspn(s, " \t");
}

/* "123"; "-1", a thread that has ended, is 0. */
static uint64_t parse_id(char *at, char **ret_end)
{
	bool has_ended = HAS_PREFIX(at, "-1");
	uint64_t id = g_ascii_strtoull(at + has_ended, ret_end, 10);

	return has_ended ? 0 : id;
}

/* Parses "123" or "123/124"; returns the end, or NULL. */
static char *parse_ids(char *at, struct event *e)
{
	char *end;
	uint64_t a = parse_id(at, &end), b = a;

	if (end == at || a > G_MAXINT32)
		return NULL;
	if (*end == '/') {
		char *from = end + 1;

		b = parse_id(from, &end);
		if (end == from || b > G_MAXINT32)
			return NULL;
		e->pid = (uint32_t)a;
	}
	e->tid = (uint32_t)b;
	return *end == ' ' || *end == '\t' ? end : NULL;
}

/* Parses "12.345678:"; returns the end, or NULL. */
static char *parse_time(char *at, uint64_t *ret_ns)
{
	gsize len = strspn(at, "0123456789.");

	return len && at[len] == ':' && memchr(at, '.', len) && import_time(at, len, 1000000000, ret_ns) ? at + len + 1
													 : NULL;
}

static enum kind kind_of(const char *name)
{
	const char *colon = strrchr(name, ':');
	const char *last = colon ? colon + 1 : name;

	if (strcmp(last, "sched_switch") == 0)
		return EVENT_SWITCH;
	if (strcmp(last, "sched_waking") == 0)
		return EVENT_WAKING;
	if (strcmp(last, "sched_wakeup") == 0)
		return EVENT_WAKEUP;
	if (HAS_PREFIX(name, "cpu-clock") || HAS_PREFIX(name, "task-clock"))
		return EVENT_CPU;
	return HAS_PREFIX(name, "offcpu-time") ? EVENT_OFF_CPU : EVENT_OTHER;
}

/* Parses what follows the ids: optional "[001]", the time, an optional period, the event's name and arguments. */
static bool parse_rest(char *at, struct event *e)
{
	at = skip_blanks(at);
	if (*at == '[') {
		at = strchr(at, ']');
		if (!at)
			return false;
		at = skip_blanks(at + 1);
	}
	if (g_ascii_isalpha(*at) || *at == '.') { /* flags, of -F +irqflags */
		at += strcspn(at, " ");
		at = skip_blanks(at);
	}
	at = parse_time(at, &e->ns);
	if (!at)
		return false;
	at = skip_blanks(at);
	gsize digits = strspn(at, "0123456789");

	if (digits && at[digits] == ' ') {
		if (!import_time(at, digits, 1, &e->period_ns))
			return false;
		at = skip_blanks(at + digits);
	}
	gsize name = strcspn(at, " \t");

	if (name < 2 || at[name - 1] != ':')
		return false;
	g_autofree char *event = g_strndup(at, name - 1);

	e->kind = kind_of(event);
	e->args = at[name] ? at + name + 1 : at + name;
	return true;
}

/*
 * A name may contain blanks and digits: it ends at the first blank after which the rest parses.  For a thread named "a
 * 1 1.0: x:" the event is not x: within the maximum length of a name, a split that yields a known event wins.
 */
static bool parse_event(char *line, struct event *e)
{
	char *start = skip_blanks(line), *end = NULL;

	for (char *at = start; (at = strpbrk(at, " \t")) != NULL && (!end || at - start < COMM_BYTES); at++) {
		char *ids = skip_blanks(at), *rest;
		struct event one = { .comm = start };

		rest = g_ascii_isdigit(*ids) || HAS_PREFIX(ids, "-1") ? parse_ids(ids, &one) : NULL;
		if (!rest || !parse_rest(rest, &one))
			continue;
		if (one.kind != EVENT_OTHER || !end) {
			*e = one;
			end = at;
		}
		if (one.kind != EVENT_OTHER)
			break;
	}
	if (end)
		*end = '\0';
	return end;
}

bool sniff_perf_script(const char *bytes, gsize len_bytes)
{
	g_autofree char *text = g_strndup(bytes, len_bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", 1000);
	struct event e;

	for (char **line = lines; *line; line++)
		if (**line != '#' && **line != '\t' && strlen(*line) < 4096 && parse_event(*line, &e))
			return true;
	return false;
}

/* --- stacks --- */

/* The bracket that matches the line's last one: in "f(int) (/memfd:x (deleted))" the second one. */
static char *last_bracket(char *line)
{
	int depth = 0;

	for (char *at = line + strlen(line); at-- > line;) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return at;
	}
	return strrchr(line, '(');
}

/* "  7f12 poll+0x4f (/usr/lib/libc.so.6)" */
static void add_frame(struct script *s, char *line, uint32_t at[2])
{
	struct import_frame f = { .module = NULL };
	char *end, *open = last_bracket(line), *plus;

	f.offset = g_ascii_strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return;
	f.name = end + 1;
	if (open && open > end && open[-1] == ' ' && line[strlen(line) - 1] == ')') {
		line[strlen(line) - 1] = '\0';
		f.name = open == f.name ? "[unknown]" : f.name;	/* only the module was recorded */
		open[-1] = '\0';
		f.module = open + 1;
	}
	plus = f.name == end + 1 ? strrchr(end + 1, '+') : NULL;
	if (plus && HAS_PREFIX(plus, "+0x") && !HAS_PREFIX(f.name, "-> "))
		*plus = '\0';
	f.is_inline = g_strcmp0(f.module, "inlined") == 0;
	if (f.is_inline || g_strcmp0(f.module, "[unknown]") == 0)
		f.module = NULL;
	f.is_kernel = import_is_kernel(f.name, f.module) || (f.module && g_str_has_suffix(f.module, ".ko"));
	if (strcmp(f.name, "[unknown]") == 0)
		f.name = NULL;
	else
		f.offset = 0;
	at[f.is_kernel] = import_node(&s->im, at[f.is_kernel], &f);
}

static void take_stack(struct script *s, uint32_t *ret_user, uint32_t *ret_kernel)
{
	uint32_t at[2] = { 0 };

	for (guint i = s->frames->len; i-- > 0;)
		add_frame(s, g_ptr_array_index(s->frames, i), at);
	*ret_user = at[0];
	*ret_kernel = at[1];
}

/* --- events --- */

static struct state *state_of(struct script *s, uint32_t tid)
{
	uint64_t key = tid;
	struct state *state = g_hash_table_lookup(s->states, &key);

	if (!state && g_hash_table_size(s->states) < THREADS_MAX) {
		state = g_new0(struct state, 1);
		g_hash_table_insert(s->states, g_memdup2(&key, sizeof(key)), state);
	}
	return state;
}

/* The interrupt in the kernel's frames, or NULL. */
static const char *interrupt_of(const struct profile *p, uint32_t kernel)
{
	static const char *const entries[] = { "asm_sysvec_", "asm_common_interrupt", "common_interrupt", "handle_softirqs",
					       "__do_softirq", "do_softirq", "el0_irq", "el1_irq", "el0t_64_irq",
					       "el1h_64_irq", "asm_exc_nmi", NULL };
	static const char *const timers[] = { "hrtimer_interrupt", "__hrtimer_run_queues", "call_timer_fn", NULL };
	static const char *const networks[] = { "net_rx_action", NULL };

	if (!profile_stack_names(p, kernel, entries))
		return NULL;
	return profile_stack_names(p, kernel, timers)     ? "timer"
	       : profile_stack_names(p, kernel, networks) ? "softirq:NET_RX"
							  : "irq";
}

/* The waker, index + 1; 0: without a stack it may be an interrupt. */
static uint32_t waker_of(struct script *s, const struct event *e)
{
	struct waker w = { .pid = e->pid, .tid = e->tid, .comm = e->comm };

	take_stack(s, &w.user, &w.kernel);
	if (!w.kernel)
		return 0;
	w.irq = interrupt_of(s->im.p, w.kernel);
	if (w.irq) {
		w.pid = w.tid = w.user = 0;
		w.comm = "";
	}
	return profile_waker(s->im.p, &w) + 1;
}

static void add_wake(struct script *s, const struct wait *w, uint32_t waker)
{
	const struct wait same = {
		.thread = w->thread, .state = w->state, .user = w->user, .kernel = w->kernel, .flags = w->flags
	};
	struct wake wake = { .wait = profile_add_wait(s->im.p, &same), .waker = waker - 1, .count = 1,
			     .blocked_ns = w->blocked_ns, .runnable_ns = w->runnable_ns };

	wake.hist[profile_hist_slot(w->runnable_ns)] = 1;
	profile_add_wake(s->im.p, &wake);
	s->im.p->info.has_wakers = true;
}

/* Ends a wait.  Splits it at its waking, if that was seen. */
static bool end_wait(struct script *s, struct state *state, uint64_t ns, uint8_t flags, GError **error)
{
	struct wait w = { .thread = state->thread,
			 .state = state->letter,
			 .user = state->user,
			 .kernel = state->kernel,
			 .flags = flags };
	uint64_t all_ns = ns > state->off_ns ? ns - state->off_ns : 0;
	uint64_t woken_ns = state->is_woken && state->woken_ns < ns ? ns - state->woken_ns : 0;

	state->is_off = false;
	if (w.state == 'R') {
		w.preempted_ns = all_ns;
	} else {
		w.runnable_ns = MIN(woken_ns, all_ns);
		w.blocked_ns = all_ns - w.runnable_ns;
		s->missed_cnt += !state->is_woken && !flags;
		s->missed_ns += state->is_woken || flags ? 0 : all_ns;
	}
	if (!import_single_wait(&s->im, &w, error))
		return false;
	if (state->waker && woken_ns && w.state != 'R')
		add_wake(s, &w, state->waker);
	return true;
}

/*
 * The value of " prev_pid=1" and the like before `end`; NULL: not found.  The last match counts, since thread names
 * precede it and may contain the same.
 */
static const char *arg_value(const char *args, const char *end, const char *name)
{
	const char *at = args && end ? g_strrstr_len(args, end - args, name) : NULL;

	return at ? at + strlen(name) : NULL;
}

/* Start of the second part of "... prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=x next_pid=2 ...". */
static const char *part_next(const char *args)
{
	const char *at = args;

	while ((at = strstr(at, " ==> next_comm=")) && !arg_value(args, at, " prev_pid="))
		at++;
	return at;
}

/* Whether all arguments are there.  If not, a line break in a name has split the line. */
static bool is_whole(const struct event *e)
{
	const char *end = e->args + strlen(e->args);

	if (e->kind == EVENT_SWITCH)
		return part_next(e->args) && arg_value(part_next(e->args), end, " next_pid=");
	return (e->kind != EVENT_WAKING && e->kind != EVENT_WAKEUP) || arg_value(e->args, end, " pid=");
}

/* 'S' for "S", "R+", "D|W"; 0: the thread has ended, or the letter is unknown. */
static uint8_t state_letter(const char *text)
{
	if (!text || !*text || strchr("XZx", *text))
		return 0;
	return strchr("SDTtPIR", *text) ? (uint8_t)*text : *text == 'W' || *text == 'K' ? 'D' : 0;
}

static bool take_switch(struct script *s, const struct event *e, GError **error)
{
	const char *part = part_next(e->args), *prev = arg_value(e->args, part, " prev_pid=");
	const char *next = part ? arg_value(part, part + strlen(part), " next_pid=") : NULL;
	struct state *out, *in;

	if (!next || !prev)
		return import_bad(error, "a sched_switch says no prev_pid or next_pid");
	uint32_t prev_tid = (uint32_t)g_ascii_strtoull(prev, NULL, 10),
		 next_tid = (uint32_t)g_ascii_strtoull(next, NULL, 10);

	s->sees_all |= !prev_tid || HAS_PREFIX(e->comm, "kworker/") || HAS_PREFIX(e->comm, "migration/");
	out = prev_tid ? state_of(s, prev_tid) : NULL;
	if (out) {
		uint8_t letter = state_letter(arg_value(e->args, part, " prev_state="));

		/* two switch-outs in a row: the switch-in between them is missing */
		s->endless_cnt += out->is_off;
		*out = (struct state){ .is_off = letter != 0, .letter = letter, .off_ns = e->ns };
		if (letter) {
			out->thread = import_thread(&s->im, e->pid, prev_tid, e->comm);
			take_stack(s, &out->user, &out->kernel);
		}
	}
	in = next_tid ? state_of(s, next_tid) : NULL;
	if (!in || !in->is_off)
		return true;
	s->ended_cnt++;
	return end_wait(s, in, e->ns, 0, error);
}

static void take_waking(struct script *s, const struct event *e)
{
	const char *pid = arg_value(e->args, e->args + strlen(e->args), " pid=");
	struct state *state = pid ? state_of(s, (uint32_t)g_ascii_strtoull(pid, NULL, 10)) : NULL;

	s->has_wakings = true;
	if (!state || !state->is_off || state->is_woken)
		return;
	state->is_woken = true;
	state->woken_ns = e->ns;
	if (e->kind == EVENT_WAKING)
		state->waker = waker_of(s, e);
}

static void take_cpu(struct script *s, const struct event *e)
{
	struct import_sample one = { .ns = e->period_ns };

	if (s->takes != EVENT_OTHER || s->samples->len > PROFILE_ROWS_MAX)
		return;
	take_stack(s, &one.user, &one.kernel);
	one.thread = import_thread(&s->im, e->pid, e->tid, e->comm);
	g_array_append_val(s->samples, one);
}

static bool take_off_cpu(struct script *s, const struct event *e, GError **error)
{
	struct wait w = { .state = '?', .blocked_ns = e->period_ns };

	take_stack(s, &w.user, &w.kernel);
	w.thread = import_thread(&s->im, e->pid, e->tid, e->comm);
	return import_wait(&s->im, &w, error);
}

static bool take_event(struct script *s, GError **error)
{
	const struct event *e = &s->event;

	if (s->head && !s->is_event)
		return import_bad(error, "\"%.60s\" is no event", s->head);
	if (!s->head || e->kind == EVENT_OTHER)
		return true;
	bool is_waking = e->kind == EVENT_WAKING || e->kind == EVENT_WAKEUP;

	if (s->takes == EVENT_OTHER && !is_waking && e->kind != EVENT_CPU)
		s->takes = e->kind;
	s->first_ns = s->first_ns ? MIN(s->first_ns, e->ns) : e->ns;
	s->last_ns = MAX(s->last_ns, e->ns);
	if (e->kind == EVENT_CPU)
		take_cpu(s, e);
	if (is_waking)
		take_waking(s, e);
	if (e->kind != s->takes)
		return true;
	return e->kind == EVENT_SWITCH ? take_switch(s, e, error) : take_off_cpu(s, e, error);
}

static void begin_event(struct script *s)
{
	g_free(s->head);
	s->head = g_strdup(s->line->str);
	s->is_event = parse_event(s->head, &s->event);
}

static bool is_event_line(const char *line)
{
	g_autofree char *copy = g_strdup(line);
	struct event e;

	return parse_event(copy, &e);
}

/* True if `line` continues an event whose line was split by a line break in a name. */
static bool continue_event(struct script *s, const char *line)
{
	if (!s->head || !s->is_event || is_whole(&s->event) || s->frames->len || s->more_lines == MORE_LINES_MAX ||
	    strlen(line) > MORE_MAX_BYTES || is_event_line(line))
		return false;
	s->more_lines++;
	g_string_append_c(s->line, ' ');
	g_string_append(s->line, line);
	begin_event(s);
	return true;
}

/* Ends the current event.  `line` may begin the next one. */
static bool next_event(struct script *s, const char *line, GError **error)
{
	bool ok = take_event(s, error);

	g_clear_pointer(&s->head, g_free);
	s->is_event = false;
	s->more_lines = 0;
	g_ptr_array_set_size(s->frames, 0);
	if (line) {
		g_string_assign(s->line, line);
		begin_event(s);
	}
	return ok;
}

static bool take_line(void *reader, char *line, GError **error)
{
	struct script *s = reader;
	char *text = skip_blanks(line);

	if (continue_event(s, line))
		return true;
	if (!*text || (*line == '#' && !is_event_line(line)))
		return *line == '\0' || *line == '#' ? next_event(s, NULL, error) : true;
	if (*line == '\t' ? !s->is_event && is_event_line(line)
			  : !(*line == ' ' && s->head && g_ascii_isxdigit(*text) && strchr(text, '(')))
		return next_event(s, line, error);
	if (s->frames->len < PROFILE_DEPTH_MAX)
		g_ptr_array_add(s->frames, g_strdup(text));
	return true;
}

/*
 * Ends the waits that are open when the trace ends.  If a single process was recorded, perf sees all switch-outs, but
 * a switch-in only if another thread of the process is switched out.  Such a thread may have run since.
 */
static bool end_open_waits(struct script *s, GError **error)
{
	bool has_ends = s->sees_all || s->endless_cnt <= s->ended_cnt * ENDLESS_PERCENT / 100;

	EACH_VALUE(struct state, state, s->states) {
		if (state->is_off && !has_ends)
			s->endless_cnt++;
		else if (state->is_off && !end_wait(s, state, s->last_ns, WAIT_OPEN_AT_END, error))
			return false;
	}
	return true;
}

/* Call it after the last line. */
static bool end_events(struct script *s, GError **error)
{
	if (s->takes != EVENT_OTHER && !end_open_waits(s, error))
		return false;
	if (s->takes == EVENT_SWITCH && s->endless_cnt && !s->ended_cnt)
		return import_bad(error, "it has the begin of %" G_GUINT64_FORMAT " waits and the end of none, as no switch to these "
				  "threads was traced: " RECORD_ALL, s->endless_cnt);
	if (s->takes == EVENT_OTHER && !s->samples->len)
		return import_bad(error, "it is text of perf script, but with no event sched_switch, offcpu-time, cpu-clock or "
				  "task-clock: " RECORD_ALL);
	return s->takes != EVENT_OTHER || import_samples(&s->im, s->samples, error);
}

static void set_info(struct script *s)
{
	struct profile_info *info = &s->im.p->info;

	if (s->takes == EVENT_OTHER) {
		info->imported = profile_string(s->im.p, "perf script (cpu-clock)");
		info->rows_are = ROWS_CPU;
		info->duration_ns = s->last_ns - s->first_ns;
		info->unknown = UNKNOWN_ALL &
				~(uint32_t)(UNKNOWN_IDS | UNKNOWN_COUNTS | (info->duration_ns ? UNKNOWN_WINDOW : 0));
		return;
	}
	/* perf writes the sums at its end, so their times say nothing about the window. */
	if (s->takes == EVENT_OFF_CPU) {
		info->imported = profile_string(s->im.p, "perf script (offcpu-time)");
		info->unknown = UNKNOWN_ALL & ~(uint32_t)UNKNOWN_IDS;
		return;
	}
	info->duration_ns = s->last_ns - s->first_ns;
	info->imported = profile_string(s->im.p, s->has_wakings ? "perf script (sched_switch, sched_waking)"
								: "perf script (sched_switch)");
	info->unknown = UNKNOWN_ACCOUNTS | UNKNOWN_HOST | UNKNOWN_STACK_ENDS | (s->has_wakings ? 0 : UNKNOWN_PARTS);
	if (s->endless_cnt)
		profile_add_loss(s->im.p, "missed_switch",
				 s->sees_all ? "waits whose end perf lost, which are left out" :
					       "waits whose end was not traced, which are left out: " RECORD_ALL,
				 s->endless_cnt, 0);
	if (s->has_wakings && s->missed_cnt)
		profile_add_loss(s->im.p, "missed_wakeup",
				 "wakings that were not traced: their sleeps count as blocked up to the switch", s->missed_cnt,
				 s->missed_ns);
}

bool read_perf_script(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	struct script s = { .frames = g_ptr_array_new_with_free_func(g_free),
			   .samples = g_array_new(FALSE, FALSE, sizeof(struct import_sample)),
			   .line = g_string_new(NULL) };
	g_autoptr(GError) why = NULL;
	bool ok;

	s.states = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	import_begin(&s.im, p, "perf script", UNKNOWN_ALL);
	ok = import_lines(&s.im, source, take_line, &s, &why) && (take_event(&s, &why) || import_skip(&s.im, &why)) &&
	     end_events(&s, &why);
	if (ok)
		set_info(&s);
	g_hash_table_unref(s.states);
	g_ptr_array_unref(s.frames);
	g_array_unref(s.samples);
	g_string_free(s.line, TRUE);
	g_free(s.head);
	return import_end(&s.im, ok, g_steal_pointer(&why), error);
}
