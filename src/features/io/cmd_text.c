/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <inttypes.h>

#include "analyse/label.h"
#include "base/each.h"
#include "base/find.h"
#include "base/order.h"
#include "base/text.h"
#include "explain/text.h"
#include "features/io/cmd.h"
#include "features/wakers/analysis.h"

void stack_text(GString *s, const struct profile *p, uint32_t node, int indent)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		g_autoptr(GString) label = g_string_new(NULL);

		label_append(label, profile_get_frame(p, profile_get_node(p, node)->frame));
		g_string_append_printf(s, "%*s", indent, "");
		text_safe(s, label->str);
		g_string_append_c(s, '\n');
	}
}

#define WHO_WIDTH 16

static void widen(const struct block_sum *sum, uint64_t *ret_hist)
{
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		ret_hist[i] = sum->hist[i];
}

static void percentile(GString *s, const char *name, const struct block_sum *sum, double share)
{
	uint64_t hist[PROFILE_HIST_SLOTS];

	widen(sum, hist);
	g_string_append_printf(s, "%s ", name);
	text_duration(s, wait_percentile_ns(hist, share, block_sum_ns(sum), sum->max_ns));
}

/* "held 12.4 s (4 more for an unknown time), ", "40 held for an unknown time, " */
static void append_held(GString *s, const struct block_sum *sum)
{
	if (sum->held_ns)
		g_string_append_printf(s, "held %s", TEXT_NS(sum->held_ns));
	if (sum->held_unknown_cnt)
		g_string_append_printf(s, "%s%s%s", sum->held_ns ? " (" : "", TEXT_COUNT(sum->held_unknown_cnt),
				       sum->held_ns ? " more for an unknown time)" : " held for an unknown time");
	g_string_append(s, sum->held_cnt ? ", " : "");
}

static void append_times(GString *s, const struct block_sum *sum)
{
	append_held(s, sum);
	g_string_append_printf(s, "queue %s, device %s", TEXT_NS(sum->queue_ns), TEXT_NS(sum->device_ns));
	percentile(s, "; median", sum, 0.5);
	percentile(s, ", p99", sum, 0.99);
	g_string_append_printf(s, ", max %s", TEXT_NS(sum->max_ns));
}

static void append_amount(GString *s, const struct block_sum *sum)
{
	g_string_append_printf(s, "%s%s%s", TEXT_COUNT(sum->count), sum->count == 1 ? " request, " : " requests, ",
			       TEXT_SIZE(sum->bytes));
}

static void append_hist(GString *s, const struct block_sum *sum, const char *indent)
{
	uint64_t hist[PROFILE_HIST_SLOTS];

	widen(sum, hist);
	text_quantize(s, hist, indent);
}

static uint64_t all_ns(const struct block_result *r)
{
	uint64_t sum = 0;

	for (guint i = 0; i < r->disks->len; i++)
		sum += block_sum_ns(&g_array_index(r->disks, struct block_disk, i).sum);
	return sum;
}

/* "Block requests of 5.00 s: 1,234 done (the kernel counts 1,234)" and what is missing. */
static void append_head(GString *s, const struct block_result *r, const struct io_text_options *o)
{
	const struct block_counts *c = &r->counts;
	const struct { uint64_t cnt; const char *text;
	} parts[] = {
		{ c->open_at_start, "had begun before" },
		{ c->open_at_end, "still under way" },
		{ c->merged, "merged into others" },
		{ c->unseen, "ended untold by the kernel" },
		{ c->lost_done, "lost: the ring buffer was full" },
		{ c->lost_stack, "without stacks: the ring buffer was full" },
		{ c->lost_room, "lost: too many at once" },
	};

	g_string_append_printf(s, "Block requests of %s: %s done", TEXT_NS(r->duration_ns), TEXT_COUNT(c->done));
	if (!o->is_of_some)
		g_string_append_printf(s, " (the disks count %s)", TEXT_COUNT(c->kernels));
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		if (!parts[i].cnt || (o->is_of_some && parts[i].text == parts[0].text))
			continue;
		g_string_append_printf(s, ", %s %s", TEXT_COUNT(parts[i].cnt), parts[i].text);
	}
	g_string_append_c(s, '\n');
}

static void append_disks(GString *s, const struct block_result *r, bool has_hist)
{
	EACH_ROW(i, const struct block_disk, d, r->disks) {
		g_string_append(s, has_hist ? "\n" : "  ");
		text_safe(s, *d->disk ? d->disk : "?");
		g_string_append_printf(s, " %s: ", d->op);
		append_amount(s, &d->sum);
		g_string_append(s, "; ");
		append_times(s, &d->sum);
		g_string_append_c(s, '\n');
		if (has_hist)
			append_hist(s, &d->sum, "");
	}
}

static void append_dirtier(GString *s, const char *dirtier)
{
	if (!*dirtier)
		return;
	g_string_append(s, ", dirtied by ");
	text_safe(s, dirtier);
}

void io_line_heading(GString *s)
{
	g_string_append_printf(s, "%-12s %7s %-*s %-10s %-12s %11s %8s %8s %8s %8s  %s\n", "TIME", "PID", WHO_WIDTH,
			       "THREAD", "DISK", "OP", "SECTOR", "BYTES", "LATENCY", "QUEUE", "DEVICE", "FILE");
}

void io_line(GString *s, const struct block_op *op)
{
	const uint64_t queue_ns = op->held_ns + op->queue_ns;
	const uint64_t times[] = { queue_ns + op->device_ns, queue_ns, op->device_ns };

	io_append_clock(s, op->start_unix_ns);
	g_string_append_printf(s, " %7" PRIu32 " ", op->pid);
	text_safe_cell(s, op->comm, WHO_WIDTH);
	g_string_append_c(s, ' ');
	text_safe_cell(s, *op->disk ? op->disk : "?", 10);
	g_string_append_printf(s, " %-12s %11" PRIu64 " %8" PRIu64, op->op, op->sector, op->bytes);
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		g_string_append_c(s, ' ');
		text_duration_cell(s, times[i], 8);
	}
	g_string_append(s, "  ");
	text_safe(s, *op->file ? op->file : "-");
	append_dirtier(s, op->dirtier);
	g_string_append_c(s, '\n');
}

static void append_files(GString *s, const struct block_result *r, unsigned top)
{
	bool any = false;

	EACH_ROW_WHILE(i, const struct block_row, f, r->files, i < top) {
		if (!any)
			g_string_append(s, "\nBy file, most time first (direct I/O and metadata have no name here)\n");
		any = true;
		g_string_append(s, "  ");
		text_safe_cell(s, *f->file ? f->file : "[no file]", 28);
		g_string_append_printf(s, " %s ", f->op);
		append_amount(s, &f->sum);
		g_string_append_printf(s, ", %s", TEXT_NS(block_sum_ns(&f->sum)));
		percentile(s, "; median", &f->sum, 0.5);
		percentile(s, ", p99", &f->sum, 0.99);
		append_dirtier(s, f->dirtier);
		g_string_append_c(s, '\n');
	}
}

static void append_row(GString *s, const struct block_result *r, guint at, uint64_t whole_ns)
{
	const struct block_row *row = &g_array_index(r->rows, struct block_row, at);
	const struct thread *t = profile_thread(r->profile, row->thread);

	g_string_append_printf(s, "\n%3u. %s  %.1f%%  ", at + 1, TEXT_NS(block_sum_ns(&row->sum)),
			       text_percent(block_sum_ns(&row->sum), whole_ns));
	text_safe(s, t->comm);
	g_string_append_printf(s, " (%" PRIu32 ")  ", t->pid);
	text_safe(s, *row->disk ? row->disk : "?");
	g_string_append_printf(s, " %s", row->op);
	if (*row->file) {
		g_string_append(s, " of ");
		text_safe(s, row->file);
	}
	append_dirtier(s, row->dirtier);
	g_string_append(s, "\n     ");
	append_amount(s, &row->sum);
	g_string_append(s, "; ");
	append_times(s, &row->sum);
	g_string_append_c(s, '\n');
	stack_text(s, r->profile, row->kernel, 7);
	if (row->user) {
		g_string_append(s, "       --\n");
		stack_text(s, r->profile, row->user, 7);
	}
	append_hist(s, &row->sum, "");
}

ORDER(compare_counts, struct block_row, ORDER_HIGH(sum.count))

void io_text(GString *s, const struct block_result *r, const struct io_text_options *o)
{
	uint64_t whole_ns = all_ns(r);

	append_head(s, r, o);
	append_disks(s, r, !o->by_stack);
	if (!o->by_stack) {
		append_files(s, r, o->top);
		return;
	}
	if (o->by_count)
		g_array_sort(r->rows, compare_counts);
	g_string_append_printf(s, "\nBy place, %s first\n", o->by_count ? "most requests" : "most time");
	for (guint i = 0; i < r->rows->len && i < o->top; i++)
		append_row(s, r, i, whole_ns);
	if (r->rows->len > o->top)
		g_string_append_printf(s, "\n     (%u more: --top)\n", r->rows->len - o->top);
}
