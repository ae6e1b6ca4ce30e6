/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/head.h"

#include "analyse/accounts.h"
#include "base/version.h"

#define GAP_PX 4
#define COLOUR 0xdfe4ec
#define CHAR_PX 6.7	/* width of a 12 px sans-serif character, rounded up */

/* "idle 12.3 s, 92%" */
static void svg_idle_text(GString *out, const struct idle_part *idle, enum weight weight)
{
	g_string_append(out, "idle ");
	svg_amount(out, weight, idle->amount);
	g_string_append(out, ", ");
	svg_percent(out, idle->amount, idle->amount + idle->rest);
}

static void append_kinds(GString *out, const struct idle_part *idle, enum weight weight)
{
	for (unsigned kind = IDLE_NOT + 1; kind < IDLE_KIND_COUNT; kind++) {
		if (!idle->of_kind[kind])
			continue;
		g_string_append_c(out, '\n');
		svg_amount(out, weight, idle->of_kind[kind]);
		g_string_append_printf(out, " %s", idle_kind_text(kind));
	}
}

void svg_idle_append(GString *out, const struct idle_part *idle, enum weight weight, double x, double y,
		     unsigned height_px)
{
	g_autoptr(GString) text = g_string_new(NULL);

	svg_idle_text(text, idle, weight);
	g_string_append_printf(out,
			       "<g class=\"idle\"><title>%s of the time\nnobody waits for what these wait for; "
			       "the column is not as wide as its time",
			       text->str);
	append_kinds(out, idle, weight);
	g_string_append(out, "</title><rect x=\"");
	svg_px(out, x + GAP_PX);
	g_string_append(out, "\" y=\"");
	svg_px(out, y);
	g_string_append_printf(out, "\" width=\"%d\" height=\"%u\" fill=\"#%06x\"/><text transform=\"translate(",
			       SVG_IDLE_PX - GAP_PX, height_px - 1, COLOUR);
	svg_px(out, x + SVG_IDLE_PX - 5);
	g_string_append_c(out, ',');
	svg_px(out, y + height_px - 6);
	g_string_append(out, ") rotate(-90)\">");
	svg_escape_cut(out, text->str, (unsigned)((height_px - 8) / CHAR_PX));
	g_string_append(out, "</text></g>\n");
}

#define TITLE_BASE_PX 27
#define SUBTITLE_BASE_PX 49
#define LINE_PX 17
#define STATUS_PX 26
#define CHAR_PX 6.7	/* width of a 12 px sans-serif character, rounded up: what fits by this estimate fits */

const char *svg_state_text(enum tree_state state)
{
	switch (state) {
	case TREE_STATE_SLEEPING: return "sleeping";
	case TREE_STATE_DISK: return "uninterruptible";
	case TREE_STATE_STOPPED: return "stopped";
	case TREE_STATE_IDLE: return "idle or parked";
	case TREE_STATE_RUNNABLE: return "waiting for a CPU";
	case TREE_STATE_PREEMPTED: return "preempted";
	case TREE_STATE_ON_CPU: return "on CPU";
	case TREE_STATE_COUNT: break;
	}
	return "unknown";
}

static char *default_title(const struct tree *t)
{
	static const char *const what[WEIGHT_KINDS] = {
		[WEIGHT_OFF_CPU] = "Off-CPU time",
		[WEIGHT_BLOCKED] = "Blocked time",
		[WEIGHT_RUNNABLE] = "Time waiting for a CPU",
		[WEIGHT_PREEMPTED] = "Preempted time",
		[WEIGHT_COUNT] = "Number of waits",
		[WEIGHT_ON_CPU] = "On-CPU time",
		[WEIGHT_TIME] = "Time on and off CPU",
	};

	const char *by = t->view == TREE_WAKERS    ? "the stack that ended it"
			 : t->has_chains           ? "stack and chain of wakers"
			 : t->view == TREE_OFFWAKE ? "stack and waker"
						   : "stack";
	const struct rows_kind *kind = profile_rows_kind(t->rows_are);

	if (kind && t->weight != WEIGHT_COUNT)
		return g_strdup(kind->title);
	if (kind)
		return g_strdup_printf("Number of %s by stack", kind->many);
	return g_strdup_printf("%s by %s%s", what[t->weight], by, t->reverse ? ", merged from the leaves" : "");
}

/* Escapes the parts of a line and wraps it between parts. */
static GPtrArray *wrap(const GPtrArray *parts, unsigned width_px)
{
	unsigned room = (unsigned)((width_px - 2 * SVG_PAD_PX) / CHAR_PX), used = 0;
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) line = g_string_new(NULL);

	EACH_POINTER(i, const char, part, parts) {
		unsigned cells = svg_cells(part);

		if (used && used + 3 + cells > room) {
			g_ptr_array_add(lines, g_strndup(line->str, line->len));
			g_string_truncate(line, 0);
			used = 0;
		}
		g_string_append(line, used ? " · " : "");
		svg_escape_cut(line, part, room);
		used += (used ? 3 : 0) + MIN(cells, room);
	}
	if (line->len)
		g_ptr_array_add(lines, g_strndup(line->str, line->len));
	return lines;
}

/* Ends the part in s and begins the next. */
static void add_part(GPtrArray *parts, GString *s)
{
	if (s->len)
		g_ptr_array_add(parts, g_strndup(s->str, s->len));
	g_string_truncate(s, 0);
}

static void add_window(const struct profile_info *info, GPtrArray *parts, GString *s)
{
	g_autoptr(GDateTime) start = g_date_time_new_from_unix_utc((gint64)(info->start_unix_ns / 1000000000));

	if (info->host && *info->host)
		g_string_append(s, info->host);
	add_part(parts, s);
	if (info->start_unix_ns && start) {
		g_autofree char *date = g_date_time_format(start, "%Y-%m-%d %H:%M:%S UTC");
		g_string_append_printf(s, "%s, ", date ? date : "");
	}
	if (!(info->unknown & UNKNOWN_WINDOW)) {
		svg_time(s, info->duration_ns);
		g_string_append(s, " window");
	}
	add_part(parts, s);
}

/* Each process with tasks is one thread of the profile. */
static void append_who(GString *s, const struct profile *p)
{
	const bool is_tasks = g_strcmp0(p->info.rows_are, ROWS_TASKS) == 0;

	svg_count(s, p->threads->len);
	g_string_append_printf(s, " %s%s", is_tasks ? "process" : "thread",
			       p->threads->len == 1 ? "" : is_tasks ? "es" : "s");
}

static GPtrArray *subtitle_parts(const struct profile *p, const struct tree *t, const struct svg_options *o)
{
	GPtrArray *parts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) s = g_string_new(NULL);
	uint64_t all = 0, shown = tree_node(t, 0)->total;

	for (const char *const *part = o->paint ? o->paint->subtitle : NULL; part && *part; part++)
		g_ptr_array_add(parts, g_strdup(*part));
	if (o->paint)
		return parts;
	if (o->subtitle) {
		g_ptr_array_add(parts, g_strdup(o->subtitle));
		return parts;
	}
	for (unsigned i = 0; i < p->waits->len; i++)
		all += weight_of_wait(profile_wait(p, i), t->weight);
	add_window(&p->info, parts, s);
	append_who(s, p);
	add_part(parts, s);
	svg_amount(s, t->weight, shown);
	if (t->weight == WEIGHT_OFF_CPU && !t->rows_are)
		g_string_append(s, " off CPU");
	if (shown + (o->idle ? o->idle->amount : 0) != all) {
		g_string_append(s, " shown of ");
		svg_amount(s, t->weight, all);
	}
	add_part(parts, s);
	if (o->idle) {
		svg_idle_text(s, o->idle, t->weight);
		g_string_append(s, ", is the column at the right");
	}
	add_part(parts, s);
	if (o->selection_text && *o->selection_text)
		g_string_append_printf(s, "only %s", o->selection_text);
	add_part(parts, s);
	if (!profile_is_of_machine(p))
		g_string_append_printf(s, "recorded with %s", p->info.filters);
	add_part(parts, s);
	return parts;
}

static void add_stack_quality(const struct coverage *c, GPtrArray *parts, GString *s)
{
	static const enum stack_end ends[] = { STACK_COMPLETE, STACK_TRUNCATED, STACK_BROKEN, STACK_PENDING };
	uint64_t with_user_ns = c->listed_ns - c->stacks_ns[STACK_NONE];

	for (unsigned i = 0; with_user_ns && i < G_N_ELEMENTS(ends); i++) {
		if (!c->stacks_ns[ends[i]])
			continue;
		g_string_append(s, s->len ? ", " : "user stacks ");
		svg_percent(s, c->stacks_ns[ends[i]], with_user_ns);
		g_string_append_printf(s, " %s", stack_end_text(ends[i]));
	}
	add_part(parts, s);
}

/* Replaces the coverage, which other tools do not report. */
static void add_import(const struct profile *p, GPtrArray *parts, GString *s)
{
	const struct profile_info *info = &p->info;
	g_autofree char *unknown = profile_unknown_text(info->unknown, info->has_wakers);
	g_autofree char *imported = profile_imported_text(info);

	g_string_append_printf(s, "%s: %s", imported ? "Imported" : "Recorded", imported ? imported : info->imported);
	add_part(parts, s);
	for (guint i = 0; imported && i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		g_string_append(s, "missing ");
		svg_count(s, l->count);
		g_string_append_printf(s, ": %s", l->help);
		add_part(parts, s);
	}
	if (info->rows_are)
		return;
	g_string_append_printf(s, "unknown: %s", unknown);
	add_part(parts, s);
}

static void add_coverage(const struct profile *p, const struct svg_options *o, GPtrArray *parts, GString *s)
{
	struct accounts *a = accounts_new(p, o->selection);
	const struct account_row *total = &a->total;
	struct coverage c;

	coverage_of(p, o->selection, &c);
	g_string_append(s, "Coverage: ");
	svg_percent(s, MIN(c.listed_ns, total->off_cpu_ns), total->off_cpu_ns);
	g_string_append(s, " of the off-CPU time is in stacks");
	if (total->filtered_ns) {
		g_string_append(s, ", ");
		svg_percent(s, total->filtered_ns, total->off_cpu_ns);
		g_string_append(s, " filtered");
	}
	if (total->lost_ns) {
		g_string_append(s, ", ");
		svg_percent(s, total->lost_ns, total->off_cpu_ns);
		g_string_append(s, " lost");
	}
	add_part(parts, s);
	add_stack_quality(&c, parts, s);
	if (c.lost_cnt) {
		svg_count(s, c.lost_cnt);
		g_string_append(s, c.lost_cnt == 1 ? " detail lost" : " details lost");
	} else {
		g_string_append(s, "nothing lost");
	}
	add_part(parts, s);
	g_string_append(s, "residual ");
	svg_percent(s, total->residual_abs_ns, total->observed_ns);
	add_part(parts, s);
	svg_count(s, total->switches);
	g_string_append(s, total->switches == 1 ? " switch" : " switches");
	add_part(parts, s);
	accounts_free(a);
}

/* ": 12 left out, 3.4 s (0.1%)" */
static void add_left_out(GString *s, const struct tree *t, uint64_t frames_cnt, uint64_t amount)
{
	g_string_append(s, ": ");
	svg_count(s, frames_cnt);
	g_string_append(s, " left out, ");
	svg_amount(s, t->weight, amount);
	g_string_append(s, " (");
	svg_percent(s, amount, tree_node(t, 0)->total);
	g_string_append(s, ")");
}

static GPtrArray *foot_parts(const struct profile *p, const struct tree *t, const struct svg_options *o,
			     const struct svg_elided *elided)
{
	GPtrArray *parts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) s = g_string_new(NULL);

	for (const char *const *part = o->paint ? o->paint->foot : NULL; part && *part; part++)
		g_ptr_array_add(parts, g_strdup(*part));
	if (!o->paint && p->info.imported)
		add_import(p, parts, s);
	else if (!o->paint)
		add_coverage(p, o, parts, s);
	if (elided->frames_cnt > elided->deep_frames_cnt) {
		g_string_append(s, "frames narrower than ");
		svg_percent(s, (uint64_t)(elided->min_width * 1e9), 1000000000);
		add_left_out(s, t, elided->frames_cnt - elided->deep_frames_cnt, elided->amount - elided->deep_amount);
		add_part(parts, s);
	}
	if (elided->deep_frames_cnt) {
		g_string_append_printf(s, "frames deeper than %u", o->max_rows);
		add_left_out(s, t, elided->deep_frames_cnt, elided->deep_amount);
		add_part(parts, s);
	}
	if (!elided->frames_cnt) {
		g_string_append(s, "every frame drawn");
	}
	add_part(parts, s);
	g_string_append_printf(s, "offcpu %s", version_text());
	add_part(parts, s);
	return parts;
}

struct legend {
	GString *out;
	double x, room;
	unsigned rows;
};

static void legend_item(struct legend *l, uint32_t colour, const char *text)
{
	double width = 18 + svg_cells(text) * CHAR_PX + 12;

	if (l->x > 0 && l->x + width > l->room) {
		l->x = 0;
		l->rows++;
	}
	double y = (l->rows - 1) * LINE_PX;
	g_string_append_printf(l->out, "<rect class=\"key\" x=\"");
	svg_px(l->out, l->x);
	g_string_append_printf(l->out, "\" y=\"%d\" width=\"12\" height=\"12\" fill=\"#%06x\"/><text x=\"", (int)y,
			       colour);
	svg_px(l->out, l->x + 18);
	g_string_append_printf(l->out, "\" y=\"%d\">", (int)y + 10);
	svg_escape(l->out, text);
	g_string_append(l->out, "</text>");
	l->x += width;
}

static void legend_states(struct legend *l, const struct tree *t)
{
	const struct tree_node *root = tree_node(t, 0);
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned i = 0; i < TREE_STATE_COUNT; i++) {
		if (!root->states[i])
			continue;
		g_string_printf(s, "%s ", svg_state_text(i));
		svg_percent(s, root->states[i], root->total);
		legend_item(l, palette_state_colour(i), s->str);
	}
}

static void legend_kinds(struct legend *l, const struct tree *t, enum palette palette)
{
	static const char *const texts[TREE_KIND_COUNT][2] = {
		[TREE_USER] = { "user", "waker, user" },
		[TREE_KERNEL] = { "kernel", "waker, kernel" },
		[TREE_DELIMITER] = { "boundary", "boundary" },
	};
	bool seen[TREE_KIND_COUNT][2] = { { false } };

	for (unsigned i = 0; i < t->nodes->len; i++) {
		const struct tree_label *label = tree_node_label(t, i);
		seen[label->kind][label->waker && label->kind != TREE_DELIMITER] = true;
	}
	for (unsigned waker = 0; waker < 2; waker++)
		for (unsigned kind = 0; kind < TREE_KIND_COUNT; kind++)
			if (seen[kind][waker] && texts[kind][waker])
				legend_item(l, palette_kind_colour(palette, kind, waker), texts[kind][waker]);
	if (tree_node(t, 0)->states[TREE_STATE_ON_CPU])
		legend_item(l, palette_state_colour(TREE_STATE_ON_CPU), "mostly on CPU, by samples");
}

struct svg_head *svg_head_new(const struct profile *p, const struct tree *t, const struct svg_options *options,
			      const struct svg_elided *elided)
{
	struct svg_head *head = g_new0(struct svg_head, 1);
	g_autoptr(GPtrArray) subtitle = subtitle_parts(p, t, options);
	g_autoptr(GPtrArray) foot = foot_parts(p, t, options, elided);
	struct legend legend = { g_string_new(NULL), 0, options->width_px - 2 * SVG_PAD_PX, 1 };

	head->title = options->title ? g_strdup(options->title) : default_title(t);
	head->subtitle = wrap(subtitle, options->width_px);
	head->foot = wrap(foot, options->width_px);
	for (unsigned i = 0; options->paint && i < options->paint->legend_cnt; i++)
		legend_item(&legend, options->paint->legend[i].colour, options->paint->legend[i].text);
	if (!options->paint && options->palette == PALETTE_STATE)
		legend_states(&legend, t);
	else if (!options->paint)
		legend_kinds(&legend, t, options->palette);
	head->legend = legend.out;
	head->legend_rows = legend.rows;
	head->height_px = SUBTITLE_BASE_PX + (head->subtitle->len + legend.rows) * LINE_PX - 8 + STATUS_PX;
	head->foot_height_px = head->foot->len * LINE_PX + 14;
	return head;
}

FREES(svg_head_free, struct svg_head, head, g_free(head->title); g_ptr_array_unref(head->subtitle);
      g_ptr_array_unref(head->foot); g_string_free(head->legend, TRUE))

static void append_line(GString *out, const char *class, unsigned y, const char *escaped)
{
	g_string_append_printf(out, "<text class=\"%s\" x=\"%d\" y=\"%u\">%s</text>\n", class, SVG_PAD_PX, y, escaped);
}

void svg_head_append(const struct svg_head *head, const struct svg_options *options, GString *out)
{
	unsigned y = SUBTITLE_BASE_PX;

	g_string_append_printf(out,
			       "<g class=\"head\">\n<rect class=\"cover\" width=\"%u\" height=\"%u\" fill=\"%s\"/>\n",
			       options->width_px, head->height_px - 3, palette_background(options->palette));
	g_string_append_printf(out, "<text class=\"title\" x=\"%d\" y=\"%d\">", SVG_PAD_PX, TITLE_BASE_PX);
	svg_escape_cut(out, head->title, (options->width_px - 2 * SVG_PAD_PX) / 11);
	g_string_append(out, "</text>\n");
	for (unsigned i = 0; i < head->subtitle->len; i++, y += LINE_PX)
		append_line(out, "sub", y, g_ptr_array_index(head->subtitle, i));
	g_string_append_printf(out, "<g class=\"legend\" transform=\"translate(%d,%u)\">%s</g>\n", SVG_PAD_PX, y - 9,
			       head->legend->str);
	y += head->legend_rows * LINE_PX;
	append_line(out, "status", y + 3, "");
	g_string_append(out, "</g>\n");
}

void svg_foot_append(const struct svg_head *head, unsigned y, GString *out)
{
	g_string_append(out, "<g class=\"foot\">\n");
	for (unsigned i = 0; i < head->foot->len; i++)
		append_line(out, "sub", y + 18 + i * LINE_PX, g_ptr_array_index(head->foot, i));
	g_string_append(out, "</g>\n");
}
