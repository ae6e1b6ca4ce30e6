/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Samples of `perf record --off-cpu` as `perf script` prints them: the period is the time in nanoseconds.  A sum of
 * waits has neither a time nor a CPU.  Readers require a time, so all samples have the window's start.
 */
#include <inttypes.h>
#include <string.h>

#include "exchange/parts.h"
#include "profile/profile.h"
#include "explain/text.h"

static void append_frame(GString *out, const struct frame *f)
{
	g_string_append_printf(out, "\t%16" PRIx64 " ", f->offset);
	text_safe(out, f->name ? f->name : f->why == FRAME_PENDING ? "[stack lost]" : "[unknown]");
	g_string_append(out, " (");
	text_safe(out, f->is_inline ? "inlined" : f->module ? f->module : "[unknown]");
	g_string_append(out, ")\n");
}

/*
 * Readers find the ids by what follows, take a line that begins with # as a comment, and leading blanks as
 * indentation.  So blanks in an ambiguous name become underscores, as in stackcollapse-perf.pl.
 */
static void append_name(GString *out, const char *comm)
{
	gsize from = out->len;

	text_safe(out, *comm ? comm : "[unknown]");
	if (out->str[from] == '#')
		out->str[from] = '_';
	for (char *at = out->str + from; *at; at++)
		if (*at == ' ' && (out->str[from] == ' ' || strchr(comm, ':')))
			*at = '_';
}

static void append_time(GString *out, uint64_t ns)
{
	g_string_append_printf(out, "%" PRIu64 ".%06" PRIu64 ":", ns / 1000000000, ns / 1000 % 1000000);
}

void write_perf_script(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	GString *out = writer_text(writer);
	const struct rows_kind *kind = profile_rows_kind(p->info.rows_are);
	const bool is_cpu = g_strcmp0(p->info.rows_are, ROWS_CPU) == 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);

		if (!plan_has(plan, i))
			continue;
		append_name(out, t->comm);
		g_string_append_printf(out, " %u/%u ", t->pid, t->tid);
		append_time(out, p->info.start_ns);
		g_string_append_printf(out, " %10" PRIu64 " %s:\n", wait_off_cpu_ns(w) + w->on_cpu_ns,
				       w->state == ON_CPU_STATE || is_cpu ? "cpu-clock"
				       : kind && kind->what		  ? kind->time_type
									  : "offcpu-time");
		path_frames(p, w->user, w->kernel, path);
		for (guint k = path->len; k-- > 0;)
			append_frame(out, profile_get_frame(p, g_array_index(path, uint32_t, k)));
		g_string_append_c(out, '\n');
		writer_flush(writer);
	}
}
