/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <string.h>

#include "render/json/write.h"
#include "explain/text.h"

void csv_field(GString *out, const char *s)
{
	if (!s)
		return;
	bool is_formula = *s && strchr("=+-@\t\r", *s);

	if (!strpbrk(s, ",\"\r\n") && *s != ' ') {
		g_string_append(out, is_formula ? "'" : "");
		g_string_append(out, s);
		return;
	}
	g_string_append(out, is_formula ? "\"'" : "\"");
	for (; *s; s++) {
		if (*s == '"')
			g_string_append_c(out, '"');
		g_string_append_c(out, *s);
	}
	g_string_append_c(out, '"');
}

static void text_field(GString *out, const char *name)
{
	g_autoptr(GString) safe = g_string_new(NULL);

	text_safe(safe, name);
	csv_field(out, safe->str);
	g_string_append_c(out, ',');
}

static void number_field(GString *out, uint64_t n)
{
	json_digits(out, n);
	g_string_append_c(out, ',');
}

/* Empty if unknown: 0 would be a claim. */
static void known_field(GString *out, uint64_t n, bool is_known)
{
	if (is_known)
		number_field(out, n);
	else
		g_string_append_c(out, ',');
}

static void stack_field(GString *out, const struct folded_names *names, uint32_t node, GString *scratch)
{
	g_string_truncate(scratch, 0);
	folded_append_stack(scratch, names, node);
	csv_field(out, scratch->len ? scratch->str + 1 : "");	/* without the leading ';' */
}

void csv_waits(GString *out, const struct profile *p, const struct selection *selection,
	       const struct folded_options *options, const struct drain *drain)
{
	struct folded_names *names = folded_names_new(p, options);
	g_autoptr(GString) scratch = g_string_new(NULL);
	const uint32_t unknown = p->info.unknown;

	g_string_append(out, "pid,tid,comm,process,state,count,off_cpu_ns,blocked_ns,runnable_ns,preempted_ns,max_ns,"
			     "open_at_start,open_at_end,user_end,user,kernel");
	g_string_append(out, p->info.on_cpu_as_waits ? ",on_cpu_ns,on_cpu_se_ns\n" : "\n");
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);

		if (selection && !selection->waits[i])
			continue;
		known_field(out, t->pid, !(unknown & UNKNOWN_IDS));
		known_field(out, t->tid, !(unknown & UNKNOWN_IDS));
		text_field(out, t->comm);
		text_field(out, t->process);
		g_string_append_c(out, w->state ? (char)w->state : '?');
		g_string_append_c(out, ',');
		known_field(out, w->count, !(unknown & UNKNOWN_COUNTS));
		known_field(out, wait_off_cpu_ns(w), !profile_rows_are_counted(p->info.rows_are));
		known_field(out, w->blocked_ns, !(unknown & UNKNOWN_PARTS));
		known_field(out, w->runnable_ns, !(unknown & UNKNOWN_PARTS));
		known_field(out, w->preempted_ns, !(unknown & UNKNOWN_PARTS));
		known_field(out, w->max_ns, !(unknown & UNKNOWN_DURATIONS));
		number_field(out, w->flags & WAIT_OPEN_AT_START ? 1 : 0);
		number_field(out, w->flags & WAIT_OPEN_AT_END ? 1 : 0);
		g_string_append(out, unknown & UNKNOWN_STACK_ENDS ? "" : stack_end_text(coverage_stack_end(p, w)));
		g_string_append_c(out, ',');
		stack_field(out, names, w->user, scratch);
		g_string_append_c(out, ',');
		stack_field(out, names, w->kernel, scratch);
		if (p->info.on_cpu_as_waits)
			g_string_append_printf(out, ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT, w->on_cpu_ns,
					       w->state == ON_CPU_STATE ? w->off_cpu_se_ns : 0);
		g_string_append_c(out, '\n');
		drain_rows(drain);
	}
	folded_names_free(names);
}
