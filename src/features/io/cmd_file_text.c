/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <inttypes.h>
#include <string.h>

#include "base/find.h"
#include "base/order.h"
#include "explain/text.h"
#include "features/io/cmd.h"
#include "features/wakers/analysis.h"

#define WHO_WIDTH 22
#define NO_PATH "-"

/* "mariadbd", or "mariadbd/ib_log_flush" if the thread has its own name. */
static void append_who(GString *s, const struct file_op *op, unsigned width)
{
	g_autofree char *both = strcmp(op->comm, op->process) ? g_strdup_printf("%s/%s", op->process, op->comm)
							      : g_strdup(op->comm);

	text_safe_cell(s, both, width);
}

void file_line_heading(GString *s)
{
	g_string_append_printf(s, "%-12s %7s %7s %-*s %-13s %9s %8s %8s %8s %8s  %s\n", "TIME", "PID", "TID", WHO_WIDTH,
			       "PROCESS/THREAD", "OP", "BYTES", "LATENCY", "BLOCKED", "RUNQ", "DISK", "FILE");
}

static void append_bytes(GString *s, const struct file_op *op)
{
	g_autoptr(GString) cell = g_string_new(NULL);
	const char *name = op->error ? strerrorname_np(op->error) : NULL;

	if (op->has_bytes)
		g_string_append_printf(cell, "%" PRIu64, op->bytes);
	else if (op->error && name)
		g_string_append(cell, name);
	else if (op->error)
		g_string_append_printf(cell, "E%d", op->error);
	else
		g_string_append_c(cell, '-');
	text_right(s, cell->str, 9);
}

/* The share of a thread's state in the operation. Nothing for an operation without a thread. */
static void append_part_of(GString *s, const struct file_op *op, uint64_t ns)
{
	if (op->is_async)
		text_right(s, "-", 8);
	else
		text_duration_cell(s, ns, 8);
}

void file_line(GString *s, const struct file_op *op)
{
	g_autoptr(GString) latency = g_string_new(op->is_open || op->is_before ? ">" : "");

	io_append_clock(s, op->start_unix_ns);
	g_string_append_printf(s, " %7" PRIu32 " %7" PRIu32 " ", op->pid, op->tid);
	append_who(s, op, WHO_WIDTH);
	g_string_append_printf(s, " %-13s ", op->op);
	append_bytes(s, op);
	text_duration(latency, op->latency_ns);
	g_string_append_c(s, ' ');
	text_right(s, latency->str, 8);
	g_string_append_c(s, ' ');
	append_part_of(s, op, op->blocked_ns);
	g_string_append_c(s, ' ');
	append_part_of(s, op, op->runq_ns);
	g_string_append_c(s, ' ');
	if (op->requests)
		text_duration_cell(s, op->disk_ns, 8);
	else
		text_right(s, "-", 8);
	g_string_append(s, "  ");
	text_safe(s, *op->path ? op->path : NO_PATH);
	g_string_append_c(s, '\n');
}

static void append_part(GString *s, uint64_t cnt, const char *text)
{
	if (!cnt)
		return;
	g_string_append_printf(s, ", %s %s", TEXT_COUNT(cnt), text);
}

/* "File operations of 10 ms or more in 5.00 s: 12, 1.23 s in all (blocked 1.20 s, ...)", and what is missing. */
static void append_head(GString *s, const struct file_result *r, const struct file_text_options *o)
{
	const struct file_counts *c = &r->counts;

	g_string_append(s, "File operations");
	if (o->slower_ns)
		g_string_append_printf(s, " of %s or more", TEXT_NS(o->slower_ns));
	g_string_append_printf(s, " in %s: %s", TEXT_NS(r->duration_ns), TEXT_COUNT(c->done));
	append_part(s, c->open_at_end, "of them still going on (>)");
	append_part(s, c->begun_before, "begun before (>)");
	append_part(s, c->lost_op, "lost: the ring buffer was full");
	append_part(s, c->lost_stack, "without stacks: the ring buffer was full");
	append_part(s, c->lost_room, "lost: no memory to follow them");
	append_part(s, c->lost_disk, "requests to disks not followed");
	append_part(s, c->unlisted, "in the row [other files]: there are too many");
	g_string_append_c(s, '\n');
	if (!c->done)
		return;
	g_string_append(s, "In all ");
	text_duration(s, r->all.all_ns);
	g_string_append(s, ": blocked ");
	text_duration(s, r->all.blocked_ns);
	g_string_append(s, ", run queue ");
	text_duration(s, r->all.runq_ns);
	g_string_append(s, ", on CPU ");
	text_duration(s, r->all.all_ns - MIN(r->all.blocked_ns + r->all.runq_ns + r->all.async_ns, r->all.all_ns));
	if (r->all.async_ns)
		g_string_append_printf(s, ", in io_uring %s", TEXT_NS(r->all.async_ns));
	if (r->all.requests)
		g_string_append_printf(s, "; own disk requests under way %s", TEXT_NS(r->all.disk_ns));
	g_string_append_c(s, '\n');
}

/* What is not covered. */
static void append_not_seen(GString *s, const struct file_result *r)
{
	const struct file_counts *c = &r->counts;

	g_string_append(
		s,
		r->has_faults
			? "Not among them: io_submit"
			: "Not among them: page faults on mapped files (before Linux 6.11 they need kprobe.multi), io_submit");
	if (c->uring) {
		g_string_append(s, ", ");
		text_thousands(s, c->uring);
		g_string_append(s, c->uring == 1 ? " request to io_uring that is none of files"
						 : " requests to io_uring that are none of files");
	}
	if (c->not_file) {
		g_string_append(s, ", ");
		text_thousands(s, c->not_file);
		g_string_append(s, c->not_file == 1 ? " slow call on a socket, pipe or device"
						    : " slow calls on sockets, pipes and devices");
	}
	g_string_append_c(s, '\n');
}

ORDER(compare_file_counts, struct file_by_file, ORDER_HIGH(sum.count))

static void append_files(GString *s, const struct file_result *r, const struct file_text_options *o)
{
	if (!r->files->len)
		return;
	if (o->by_count)
		g_array_sort(r->files, compare_file_counts);
	g_string_append_printf(s, "\n%-13s %9s %8s %8s %8s %8s %8s %8s  %s\n", "OP", "COUNT", "TOTAL", "P50", "P99",
			       "MAX", "BLOCKED", "DISK",
			       o->by_count ? "FILE (most operations first)" : "FILE (most time first)");
	EACH_ROW_WHILE(i, const struct file_by_file, f, r->files, i < o->top) {
		const uint64_t cells[] = { f->sum.all_ns, file_percentile_ns(f, 0.5), file_percentile_ns(f, 0.99),
					   f->sum.max_ns };
		g_autoptr(GString) cnt = g_string_new(NULL);

		text_thousands(cnt, f->sum.count);
		g_string_append_printf(s, "%-13s %9s", f->op, cnt->str);
		for (size_t k = 0; k < G_N_ELEMENTS(cells); k++) {
			g_string_append_c(s, ' ');
			text_duration_cell(s, cells[k], 8);
		}
		g_string_append_c(s, ' ');
		if (f->sum.async_ns)	/* all of them: their names are their own */
			text_right(s, "-", 8);
		else
			text_duration_cell(s, f->sum.blocked_ns, 8);
		g_string_append_c(s, ' ');
		if (f->sum.requests)
			text_duration_cell(s, f->sum.disk_ns, 8);
		else
			text_right(s, "-", 8);
		g_string_append(s, "  ");
		text_safe(s, *f->path ? f->path : NO_PATH);
		g_string_append_c(s, '\n');
	}
	if (r->files->len > o->top)
		g_string_append_printf(s, "(%u more: --top)\n", r->files->len - o->top);
}

static void append_percentile(GString *s, const char *name, const struct file_sum *sum, double share)
{
	uint64_t hist[PROFILE_HIST_SLOTS];

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		hist[i] = sum->hist[i];
	g_string_append_printf(s, "%s %s", name, TEXT_NS(wait_percentile_ns(hist, share, sum->all_ns, sum->max_ns)));
}

static void append_row(GString *s, const struct file_result *r, guint at)
{
	const struct file_row *row = &g_array_index(r->rows, struct file_row, at);
	const struct thread *t = profile_thread(r->profile, row->thread);
	uint64_t hist[PROFILE_HIST_SLOTS];

	g_string_append_printf(s, "\n%3u. %s  %.1f%%  ", at + 1, TEXT_NS(row->sum.all_ns),
			       text_percent(row->sum.all_ns, r->all.all_ns));
	text_safe(s, t->comm);
	g_string_append_printf(s, " (%" PRIu32 ")  %s of ", t->pid, row->op);
	text_safe(s, *row->path ? row->path : NO_PATH);
	g_string_append_printf(s, "\n     %s%s%s, run queue %s", TEXT_COUNT(row->sum.count),
			       row->sum.count == 1 ? " operation; blocked " : " operations; blocked ",
			       TEXT_NS(row->sum.blocked_ns), TEXT_NS(row->sum.runq_ns));
	if (row->sum.requests)
		g_string_append_printf(s, ", own disk requests %s", TEXT_NS(row->sum.disk_ns));
	append_percentile(s, "; median", &row->sum, 0.5);
	append_percentile(s, ", p99", &row->sum, 0.99);
	g_string_append_printf(s, ", max %s\n", TEXT_NS(row->sum.max_ns));
	stack_text(s, r->profile, row->kernel, 7);
	if (row->user) {
		g_string_append(s, "       --\n");
		stack_text(s, r->profile, row->user, 7);
	}
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		hist[i] = row->sum.hist[i];
	text_quantize(s, hist, "");
}

ORDER(compare_row_counts, struct file_row, ORDER_HIGH(sum.count))

void file_text(GString *s, const struct file_result *r, const struct file_text_options *o)
{
	if (o->with_lines)
		g_string_append_c(s, '\n');
	append_head(s, r, o);
	append_not_seen(s, r);
	if (!o->by_stack) {
		append_files(s, r, o);
		return;
	}
	if (o->by_count)
		g_array_sort(r->rows, compare_row_counts);
	g_string_append_printf(s, "\nBy place, %s first; kernel frames are those of an operation's longest wait\n",
			       o->by_count ? "most operations" : "most time");
	for (guint i = 0; i < r->rows->len && i < o->top; i++)
		append_row(s, r, i);
	if (r->rows->len > o->top)
		g_string_append_printf(s, "\n     (%u more: --top)\n", r->rows->len - o->top);
}
