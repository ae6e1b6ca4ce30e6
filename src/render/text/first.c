/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/order.h"
#include "explain/text.h"
#include "features/requests/text.h"

#define INDENT "   "
#define WRAPPED_AWAY 16	/* columns that breaking a text into two lines may leave empty */
#define CLASSES_MAX 4
#define CLASSES_SHORT 2
#define BAR_CELLS 8
#define ON_CPU_MAX 3
#define ON_CPU_NAME 60
#define NAMES_ALIKE_MOST 5

bool idle_choice_parse(const char *text, enum idle_choice *ret_choice)
{
	static const char *const names[] = { "fold", "keep", "drop" };

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_choice = (enum idle_choice)i;
			return true;
		}
	}
	return false;
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	return n;
}

/* "offcpu: mariadbd (1736), 30.0 s, 2 CPUs, exact, complete" */
static void append_head(GString *s, const struct findings *f, const struct query *query, const struct text_options *o)
{
	const struct profile *p = f->profile;
	g_autofree char *asked = query ? query_text(query) : NULL;
	g_autoptr(GString) head = g_string_new("offcpu: ");

	text_target(head, f);
	g_string_append_printf(head, ", %s, %u CPU%s, ", TEXT_NS(p->info.duration_ns),
			       p->info.cpus, p->info.cpus == 1 ? "" : "s");
	text_verdict(head, p);
	if (text_lost_percent(p) > 0)
		g_string_append(head, " (see --full)");
	g_string_append(s, text_bold(o));
	text_wrap(s, head->str, "  ", text_screen_width(o));
	g_string_truncate(s, s->len - 1);
	g_string_append_printf(s, "%s\n", text_plain(o));
	if (p->info.history.windows) {
		g_autoptr(GString) line = g_string_new("From the history: ");

		text_history(line, &p->info);
		g_string_append_c(line, '.');
		text_wrap(s, line->str, "", text_screen_width(o));
	}
	if (asked && *asked) {
		g_string_append(s, "Shown: ");
		text_safe_cut(s, asked, text_screen_width(o) - 7);
		g_string_append_c(s, '\n');
	}
}

struct part {
	const char *name;
	uint64_t ns;
};

ORDER(compare_parts, struct part, ORDER_HIGH(ns) ORDER_TEXT(name))

static GArray *parts_of(const struct finding_class *c, enum idle_choice idle)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	const struct part known[] = {
		{ "on-CPU", c->on_cpu_ns },       { "run queue", c->queue_ns },
		{ "throttled", c->throttled_ns }, { "idle", idle == IDLE_DROP ? 0 : c->idle_ns },
		{ "not listed", c->unlisted_ns },
	};

	g_array_append_vals(parts, known, G_N_ELEMENTS(known));
	for (unsigned i = 0; i < FAMILY_COUNT; i++) {
		struct part part = { reason_family_name((enum reason_family)i), c->family_ns[i] };

		g_array_append_val(parts, part);
	}
	g_array_sort(parts, compare_parts);
	return parts;
}

/* "█████▌": a bar with a resolution of an eighth of a cell. */
static void append_bar(GString *s, uint64_t part, uint64_t whole)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned n = whole ? (unsigned)((double)part / (double)whole * BAR_CELLS * 8 + 0.5) : 0;

	for (unsigned i = 0; i < n / 8; i++)
		g_string_append(s, "█");
	g_string_append(s, n ? eighths[n % 8] : "▏");
}

/* One line, with as many parts as fit, the largest first. */
static void append_class(GString *s, const struct finding_class *c, const struct text_options *o,
			 enum idle_choice idle)
{
	g_autoptr(GArray) parts = parts_of(c, idle);
	g_autoptr(GString) line = g_string_new(NULL), cell = g_string_new(NULL);
	uint64_t whole = c->observed_ns - (idle == IDLE_DROP ? MIN(c->idle_ns, c->observed_ns) : 0);
	bool is_full = false;

	text_safe_cell(line, c->process, 15);
	g_string_append_printf(line, " %4u thread%s", c->threads_cnt, c->threads_cnt == 1 ? " " : "s");
	for (guint i = 0; i < parts->len && !is_full; i++) {
		const struct part *part = &g_array_index(parts, struct part, i);

		if (part->ns < whole / 200)
			break;
		g_string_truncate(cell, 0);
		g_string_append_printf(cell, "  %s ", part->name);
		append_bar(cell, part->ns, whole);
		g_string_append_printf(cell, " %.0f%%", text_percent(part->ns, whole));
		is_full = text_width(line->str) + text_width(cell->str) > text_screen_width(o);
		if (!is_full)
			g_string_append(line, cell->str);
	}
	g_string_append(s, line->str);
	g_string_append_c(s, '\n');
}

static unsigned classes_shown(const struct findings *f, unsigned most)
{
	unsigned n = 0;

	while (n < f->classes->len && n < most) {
		const struct finding_class *c = &g_array_index(f->classes, struct finding_class, n);

		if (n && finding_class_matters_ns(c) + c->on_cpu_ns < c->observed_ns / 100)
			break;
		n++;
	}
	return n;
}

static void append_classes(GString *s, const struct findings *f, const struct text_options *o, enum idle_choice idle,
			   unsigned most)
{
	unsigned shown = classes_shown(f, most);
	uint32_t more = 0;

	EACH_ROW(i, const struct finding_class, c, f->classes) {
		if (i < shown)
			append_class(s, c, o, idle);
		else
			more += c->processes_cnt;
	}
	if (more)
		g_string_append_printf(s, "and %u process%s that did less: --full\n", more, more == 1 ? "" : "es");
}

/* "Idle, folded: 4.1 min in 9 threads (workers without work, event loops with nothing due)." */
static void append_idle(GString *s, const struct findings *f, const struct text_options *o, enum idle_choice choice,
			bool has_kinds)
{
	g_autoptr(GString) line = g_string_new(NULL), kinds = g_string_new(NULL);
	struct part parts[IDLE_KIND_COUNT];
	const uint32_t threads = f->idle_threads_cnt;

	if (choice == IDLE_DROP)
		return;
	for (unsigned i = 0; i < IDLE_KIND_COUNT; i++)
		parts[i] = (struct part){ idle_kind_text((enum idle_kind)i), i == IDLE_KERNEL ? 0 : f->idle_ns[i] };
	qsort(parts, IDLE_KIND_COUNT, sizeof(parts[0]), compare_parts);
	for (unsigned i = 0; i < IDLE_KIND_COUNT && parts[i].ns; i++) {
		g_string_append_printf(kinds, "%s%s", i ? ", " : "", parts[i].name);
		if (choice == IDLE_KEEP)
			g_string_append_printf(kinds, " %s", TEXT_NS(parts[i].ns));
	}
	if (f->idle_sum_ns) {
		g_string_append_printf(line, "%s%s in %u thread%s", choice == IDLE_KEEP ? "Idle: " : "Idle, folded: ",
				       TEXT_NS(f->idle_sum_ns), threads, threads == 1 ? "" : "s");
		g_string_append_printf(line, has_kinds ? " (%s)." : ".", kinds->str);
	}
	if (f->idle_ns[IDLE_KERNEL] && !f->has_kernel_only)
		g_string_append_printf(line, "%s%u kernel thread%s: -k.", line->len ? " " : "",
				       f->idle_kernel_cnt, f->idle_kernel_cnt == 1 ? "" : "s");
	if (line->len)
		text_wrap(s, line->str, "", text_screen_width(o));
}

/* " 67% ±4%", " 5.2% ±0.3%": the error determines the number of digits. */
static void append_estimate(GString *s, double percent, double error)
{
	int digits = error < 0.95 ? 1 : 0;

	g_string_append_printf(s, " %.*f%%", digits, percent);
	if (error > 0)
		g_string_append_printf(s, " \302\261%.*f%%", digits, MAX(error, 0.1));
}

/* "On CPU, by 123 samples: parse 67% (error 4%), hash 15% (error 3%)."; shares are of all on-CPU time. */
static void append_on_cpu(GString *s, const struct profile *p, const struct selection *selection,
			  const struct text_options *o)
{
	struct top *top = p->info.on_cpu_as_waits ? top_new(p, selection, TOP_BY_LEAF, WEIGHT_ON_CPU) : NULL;
	g_autoptr(GString) line = g_string_new(NULL);
	static const char prefix[] = "on CPU: ";
	uint64_t samples = 0;

	for (guint i = 0; top && i < top->rows->len; i++)
		samples += g_array_index(top->rows, struct top_row, i).samples;
	if (samples)
		g_string_append_printf(line, "On CPU, by %" PRIu64 " samples:", samples);
	for (guint i = 0, shown = 0; samples && i < top->rows->len && shown < ON_CPU_MAX; i++) {
		const struct top_row *r = &g_array_index(top->rows, struct top_row, i);

		if (!r->samples || (shown && top_percent(top, r->weight) < 1))
			continue;
		g_string_append(line, shown++ ? ", " : " ");
		text_safe_cut(line, g_str_has_prefix(r->name, prefix) ? r->name + strlen(prefix) : r->name,
			      ON_CPU_NAME);
		append_estimate(line, top_percent(top, r->weight),
				text_percent((uint64_t)r->off_cpu_se_ns, top->whole));
	}
	if (samples)
		g_string_append(line, " of it. `offcpu report --weight on_cpu --stacks`");
	if (line->len)
		text_wrap(s, line->str, "", text_screen_width(o));
	top_free(top);
}

static void append_more(GString *s, const struct profile *p, const struct text_options *o)
{
	g_autoptr(GString) line = g_string_new("More: --stacks, --by reason, --full");

	if (p->info.has_wakers)
		g_string_append(line, ", --wakers");
	if (p->info.has_locks)
		g_string_append(line, ", --locks");
	if (p->info.has_blame)
		g_string_append(line, ", --runq-blame");
	if (p->info.has_storms)
		g_string_append(line, ", --storms");
	if (p->info.has_tasks)
		g_string_append(line, ", --by task");
	g_string_append(line, p->info.history.windows ? "; offcpu flame --history" : "; offcpu flame");
	if (p->info.history.windows)
		g_string_append(line, "; the same hour of another day: offcpu diff --history");
	else if (!p->info.has_wakers)
		g_string_append(line, p->info.has_locks ? "; who wakes: record --wakers" :
							  "; who wakes and who holds: record --wakers --locks");
	text_wrap(s, line->str, "", text_screen_width(o));
}

/* Does not repeat advice given above. */
static const char *advice_of(const struct explanation *e, guint at)
{
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	for (guint i = 0; i < at; i++)
		if (g_strcmp0(h[i].advice, h[at].advice) == 0)
			return "As above.";
	return h[at].advice;
}

static void append_headline(GString *s, const struct explanation *e, guint at, const struct text_options *options)
{
	const struct headline *h = &g_array_index(e->headlines, struct headline, at);
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_append(s, text_bold(options));
	g_string_printf(line, "%u. %s", at + 1, h->sentence);
	text_wrap(s, line->str, INDENT, text_screen_width(options));
	g_string_append(s, text_plain(options));
	g_string_printf(line, INDENT "%s", h->evidence);
	text_wrap(s, line->str, INDENT, text_screen_width(options));
	g_string_printf(line, INDENT "%s%s%s", advice_of(e, at), *h->command ? " " : "", h->command);
	text_wrap(s, line->str, INDENT, text_screen_width(options));
}

/* Appends as many headlines as fit, at least one; returns their number. */
static guint append_rows(GString *body, const struct explanation *e, unsigned used, const struct text_options *options)
{
	for (guint i = 0; i < e->headlines->len; i++) {
		g_autoptr(GString) one = g_string_new(NULL);

		append_headline(one, e, i, options);
		if (i && used + lines_of(body->str) + lines_of(one->str) > FIRST_LINES)
			return i;
		g_string_append(body, one->str);
	}
	return e->headlines->len;
}

/*
 * A short line for each headline that did not fit: the cause may not be the largest one. Where there is room one has two,
 * since the place and the culprit stand at its end.
 */
static void append_briefs(GString *body, const struct explanation *e, guint at, unsigned used,
			  const struct text_options *options)
{
	const unsigned width = text_screen_width(options);

	for (guint i = at; i < e->headlines->len && used + lines_of(body->str) < FIRST_LINES; i++) {
		const unsigned room = FIRST_LINES - used - lines_of(body->str);
		const char *brief = g_array_index(e->headlines, struct headline, i).brief;
		g_autofree char *text = g_strdup_printf("%u. %s", i + 1, brief);
		g_autoptr(GString) line = g_string_new(NULL);

		if (room > e->headlines->len - i && strlen(text) > width) {
			text_safe_cut(line, text, 2 * width - WRAPPED_AWAY);
			text_wrap(body, line->str, INDENT, width);
			continue;
		}
		text_safe_cut(body, text, width);
		g_string_append_c(body, '\n');
	}
}

/* Returns how many are shown in full. */
static guint append_headlines(GString *body, const struct explanation *e, unsigned used,
			      const struct text_options *options)
{
	g_autoptr(GString) also = g_string_new(NULL);
	guint shown;

	if (e->little) {
		text_wrap(body, e->little, "", text_screen_width(options));
		return 0;
	}
	shown = append_rows(body, e, used, options);
	if (e->also && e->also_at >= shown) {
		text_wrap(also, e->also, "", text_screen_width(options));
		g_string_truncate(body, 0);
		shown = append_rows(body, e, used + lines_of(also->str), options);
	}
	append_briefs(body, e, shown, used + lines_of(also->str), options);
	g_string_append(body, also->str);
	return shown;
}

/* "No thread here matches. Do you mean mariadbd?" */
static void append_nobody(GString *body, const struct profile *p, const struct query *query,
			  const struct text_options *o)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autoptr(GString) line = g_string_new(NULL);

	if (!p->threads->len) {
		g_string_append(line, "No thread was seen");
		if (!profile_is_of_machine(p)) {
			g_string_append(line, " of what was to be recorded (");
			text_safe(line, p->info.filters);
			g_string_append_c(line, ')');
		}
		g_string_append(line, ": there was none, or the kernel hides it from tracing programs.");
		text_wrap(body, line->str, "", text_screen_width(o));
		return;
	}
	if (query && (query->grep || query->attribute || query->trace)) {
		text_wrap(body, "No wait matches. `offcpu report --stacks` tells which there are.", "",
			  text_screen_width(o));
		return;
	}
	g_string_append(line, "No thread in it matches.");
	for (guint i = 0; i < p->threads->len; i++)
		g_ptr_array_add(names, (gpointer)profile_thread(p, i)->process);
	g_autofree char *alike = query && query->processes
					 ? alike_list(names, *query->processes, ALIKE_NOT - 1, NAMES_ALIKE_MOST)
					 : NULL;
	if (alike) {
		g_string_append(line, " Do you mean the process ");
		text_safe(line, alike);
		g_string_append_c(line, '?');
	} else {
		g_string_append(line, " `offcpu report --by process` tells which there are.");
	}
	text_wrap(body, line->str, "", text_screen_width(o));
}

struct screen {
	const struct profile *p;
	const struct selection *selection;
	const struct explanation *e;
	const struct text_options *options;
	const struct first_options *first;
};

/* is_short: leave room for findings. */
static void append_tail(GString *tail, const struct screen *w, bool is_short)
{
	const struct findings *f = w->e->findings;

	if (w->e->storm)
		text_wrap(tail, w->e->storm, "", text_screen_width(w->options));
	append_classes(tail, f, w->options, w->first->idle, is_short ? CLASSES_SHORT : CLASSES_MAX);
	append_on_cpu(tail, w->p, w->selection, w->options);
	append_idle(tail, f, w->options, w->first->idle, !is_short);
	if (w->first->rate > 0)
		text_budget(tail, f, w->options, w->first->rate);
	text_tasks_first(tail, w->p, w->selection, w->options);
	if (w->e->unseen)
		text_wrap(tail, w->e->unseen, "", text_screen_width(w->options));
	append_more(tail, w->p, w->options);
}

void text_first(GString *s, const struct profile *p, const struct query *query, const struct selection *selection,
		const struct text_options *options, const struct first_options *first)
{
	struct explanation *e = explanation_new(p, selection);
	const struct screen w = { p, selection, e, options, first };
	g_autoptr(GString) head = g_string_new(NULL), body = g_string_new(NULL), tail = g_string_new(NULL);

	append_head(head, e->findings, query, options);
	requests_first_text(head, p, options);
	append_tail(tail, &w, false);
	if (selection && !e->findings->classes->len) {
		append_nobody(body, p, query, options);
	} else if (append_headlines(body, e, lines_of(head->str) + lines_of(tail->str), options) <
		   MIN(e->headlines->len, 2)) {
		g_string_truncate(body, 0);
		g_string_truncate(tail, 0);
		append_tail(tail, &w, true);
		append_headlines(body, e, lines_of(head->str) + lines_of(tail->str), options);
	}
	g_string_append(s, head->str);
	g_string_append(s, body->str);
	g_string_append(s, tail->str);
	explanation_free(e);
}
