/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "analyse/label.h"
#include "analyse/plumbing.h"
#include "base/order.h"
#include "explain/explain.h"
#include "explain/text.h"
#include "render/json/parts.h"
#include "render/text/text.h"

#define PROCESSES_MAX 6
#define FAMILIES_MAX 3
#define TREE_LINES 24
#define TEXT_MAX 600	/* bytes per sentence */

static bool is_word(char c)
{
	return g_ascii_isalnum(c) || (unsigned char)c >= 0x80;
}

/* Whether a link, a mention or an issue number would begin here. */
static bool begins_link(const char *from, const char *c)
{
	return ((*c == '@' || *c == '#') && is_word(c[1])) || (*c == ':' && c[1] == '/') ||
	       (*c == '.' && c - from >= 3 && g_ascii_strncasecmp(c - 3, "www", 3) == 0);
}

void markdown_escape(GString *s, const char *text, bool is_ours)
{
	g_autofree char *safe = text_made_safe(text);
	bool is_code = false;

	for (const char *c = safe; *c; c++) {
		bool is_within_word = *c == '_' && c > safe && is_word(c[-1]) && is_word(c[1]);

		is_code = is_code != (is_ours && *c == '`');
		if (is_code || (is_ours && *c == '`')) {
			g_string_append_c(s, *c);
			continue;
		}
		if (begins_link(safe, c))
			g_string_append(s, *c == '@' || *c == '#' ? "" : "\\");
		else if (strchr("\\`*_[]<>|~$&", *c) && !is_within_word)
			g_string_append_c(s, '\\');
		g_string_append_c(s, *c);
		if (begins_link(safe, c) && (*c == '@' || *c == '#'))
			g_string_append(s, "<!-- -->");
	}
}

static void append_text(GString *s, const char *text, bool is_ours)
{
	g_autofree char *cut = strlen(text) > TEXT_MAX ? g_strndup(text, TEXT_MAX) : NULL;

	markdown_escape(s, cut ? cut : text, is_ours);
	g_string_append(s, cut ? "..." : "");
}

/* A sentence with names, and optionally a command as code. */
static void append_sentence(GString *s, const char *text)
{
	const char *command = g_strrstr(text, " `offcpu ");
	g_autofree char *names = g_strndup(text, command ? (gsize)(command - text) : strlen(text));

	append_text(s, names, false);
	append_text(s, command ? command : "", true);
}

/* For another tool's profile, host and coverage are unknown. */
static void append_imported(GString *head, const char *imported, const struct profile_info *info)
{
	g_autofree char *unknown = profile_unknown_text(info->unknown, info->has_wakers);

	g_string_append_printf(head, "%s; unknown: %s", imported, unknown);
}

static void append_head(GString *s, const struct explanation *e, const struct query *query)
{
	const struct profile *p = e->findings->profile;
	g_autoptr(GString) head = g_string_new("offcpu: ");
	g_autofree char *asked = query ? query_text(query) : NULL, *imported = profile_imported_text(&p->info);

	if (imported) {
		append_imported(head, imported, &p->info);
	} else {
		text_target(head, e->findings);
		g_string_append_printf(head, ", %s, %u CPU%s, ", TEXT_NS(p->info.duration_ns),
				       p->info.cpus, p->info.cpus == 1 ? "" : "s");
		text_verdict(head, p);
	}
	g_string_append(s, "**");
	append_text(s, head->str, false);
	g_string_append(s, "**\n");
	if (asked && *asked) {
		g_string_append(s, "Shown: ");
		append_text(s, asked, false);
		g_string_append_c(s, '\n');
	}
	g_string_append_c(s, '\n');
}

static void append_headlines(GString *s, const struct explanation *e)
{
	const char *const others[] = { e->little, e->also, e->storm, e->unseen };

	EACH_ROW(i, const struct headline, h, e->headlines) {
		g_string_append_printf(s, "%u. **", i + 1);
		append_text(s, h->sentence, false);
		g_string_append(s, "**\n   ");
		append_text(s, h->evidence, false);
		g_string_append(s, "\n   ");
		append_text(s, h->advice, true);
		g_string_append(s, *h->command ? " " : "");
		append_text(s, h->command, true);
		g_string_append_c(s, '\n');
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
		if (!others[i])
			continue;
		g_string_append(s, s->str[s->len - 2] == '\n' ? "" : "\n");
		append_sentence(s, others[i]);
		g_string_append_c(s, '\n');
	}
}

struct family_part {
	enum reason_family family;
	uint64_t ns;
};

ORDER(compare_families, struct family_part, ORDER_HIGH(ns) ORDER_LOW(family))

/* "lock 28%, disk 15%" */
static void append_families(GString *s, const struct finding_class *c)
{
	struct family_part parts[FAMILY_COUNT];

	for (unsigned i = 0; i < FAMILY_COUNT; i++)
		parts[i] = (struct family_part){ (enum reason_family)i, c->family_ns[i] };
	qsort(parts, FAMILY_COUNT, sizeof(parts[0]), compare_families);
	for (unsigned i = 0; i < FAMILIES_MAX && parts[i].ns > c->observed_ns / 200; i++)
		g_string_append_printf(s, "%s%s %.0f%%", i ? ", " : "", reason_family_name(parts[i].family),
				       text_percent(parts[i].ns, c->observed_ns));
}

static void append_processes(GString *s, const struct findings *f)
{
	const guint shown = MIN(f->classes->len, PROCESSES_MAX);

	if (!shown)
		return;
	g_string_append(s, "\n| process | threads | on CPU | run queue | waits | idle |\n|---|--:|--:|--:|---|--:|\n");
	for (guint i = 0; i < shown; i++) {
		const struct finding_class *c = &g_array_index(f->classes, struct finding_class, i);

		g_string_append(s, "| ");
		append_text(s, c->process, false);
		g_string_append_printf(s, " | %u | %.0f%% | %.0f%% | ", c->threads_cnt,
				       text_percent(c->on_cpu_ns, c->observed_ns),
				       text_percent(c->queue_ns, c->observed_ns));
		append_families(s, c);
		g_string_append_printf(s, " | %.0f%% |\n", text_percent(c->idle_ns, c->observed_ns));
	}
	if (shown < f->classes->len)
		g_string_append_printf(s, "\nand %u more.\n", f->classes->len - shown);
}

/* Labels of functions in libraries and runtimes. */
static GHashTable *runtime_labels(const struct findings *f)
{
	GHashTable *runtime = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GPtrArray) labels = label_all(f->profile);

	for (guint i = 0; i < labels->len; i++)
		if (plumbing_frame_is_runtime(reasons_plumbing(f->reasons), i))
			g_hash_table_add(runtime, g_strdup(g_ptr_array_index(labels, i)));
	return runtime;
}

/* Without idle waits; for another tool's profile all. */
static void append_stacks(GString *s, const struct findings *f, const struct selection *selection)
{
	const struct profile *p = f->profile;
	struct selection *awake = p->info.imported ? NULL : json_without_idle(f);
	const struct selection *shown = awake ? awake : selection;
	const bool is_counted = profile_rows_are_counted(p->info.rows_are);
	const struct tree_options options = { .weight = is_counted ? WEIGHT_COUNT : WEIGHT_OFF_CPU,
					      .keep = shown ? shown->waits : NULL };
	struct tree *t = tree_from_profile(p, &options);
	g_autoptr(GHashTable) runtime = runtime_labels(f);

	if (tree_node(t, 0)->total) {
		g_string_append_printf(s, "\n<details><summary>The heaviest stacks, of ");
		if (is_counted)
			text_thousands(s, tree_node(t, 0)->total);
		else
			text_duration(s, tree_node(t, 0)->total);
		g_string_append_printf(s, " %s</summary>\n\n```text\n",
				       is_counted	? p->info.rows_are :
				       p->info.imported ? "in all" :
							  "off CPU without idle time");
		text_tree(s, t, runtime, TREE_LINES);
		g_string_append(s, "```\n\n</details>\n");
	}
	tree_free(t);
	selection_free(awake);
}

void markdown_report(GString *s, const struct profile *p, const struct query *query, const struct selection *selection)
{
	struct explanation *e = explanation_new(p, selection);

	append_head(s, e, query);
	append_headlines(s, e);
	append_processes(s, e->findings);
	if (!e->little)	/* shares of a small total are large and mean nothing */
		append_stacks(s, e->findings, selection);
	explanation_free(e);
}
