/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/cmd.h"

#include <string.h>

#include "analyse/label.h"
#include "features/wakers/analysis.h"
#include "render/json/write.h"

static void begin(struct json *j, GString *out, const char *type)
{
	json_begin(j, out);
	JSON(j, "schema", "offcpu.io/1", "type", type);
}

static void end(struct json *j, GString *out)
{
	json_object_end(j);
	g_string_append_c(out, '\n');
}

static void put_path(struct json *j, const char *path)
{
	json_member_string(j, "file", *path ? path : NULL);
}

void io_json_op(GString *out, const struct file_op *op)
{
	struct json j;

	begin(&j, out, "operation");
	JSON_UINTS(&j, op, start_unix_ns, pid, tid);
	JSON(&j, "process", op->process, "comm", op->comm, "op", op->op);
	put_path(&j, op->path);
	json_member_known(&j, "bytes", op->bytes, op->has_bytes);
	json_member_string(&j, "error", op->error ? strerrorname_np(op->error) : NULL);
	json_member_known(&j, "errno", (uint64_t)op->error, op->error);
	json_member_uint(&j, "latency_ns", op->latency_ns);
	json_member_known(&j, "blocked_ns", op->blocked_ns, !op->is_async);
	json_member_known(&j, "runq_ns", op->runq_ns, !op->is_async);
	json_member_known(&j, "on_cpu_ns", op->on_cpu_ns, !op->is_async);
	json_member_uint(&j, "disk_requests", op->requests);
	json_member_known(&j, "disk_ns", op->disk_ns, op->requests);
	JSON(&j, "still_open", op->is_open, "begun_before", op->is_before);
	end(&j, out);
}

void io_json_request(GString *out, const struct block_op *op)
{
	struct json j;

	begin(&j, out, "request");
	JSON_UINTS(&j, op, start_unix_ns, pid, tid);
	JSON(&j, "comm", op->comm, "disk", op->disk, "op", op->op);
	JSON_UINTS(&j, op, sector, bytes, held_ns, queue_ns, device_ns);
	put_path(&j, op->file);
	json_member_string(&j, "dirtied_by", *op->dirtier ? op->dirtier : NULL);
	end(&j, out);
}

static void put_percentiles(struct json *j, const uint32_t *hist, uint64_t sum_ns, uint64_t max_ns)
{
	uint64_t wide[PROFILE_HIST_SLOTS];

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		wide[i] = hist[i];
	json_member_uint(j, "median_ns", wait_percentile_ns(wide, 0.5, sum_ns, max_ns));
	JSON(j, "p99_ns", wait_percentile_ns(wide, 0.99, sum_ns, max_ns), "max_ns", max_ns);
	json_member_hist(j, hist);
}

/* Outermost frame first. */
static void put_stack(struct json *j, const struct profile *p, const char *key, uint32_t node)
{
	g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GString) label = g_string_new(NULL);

	for (uint32_t n = node; n; n = profile_get_node(p, n)->parent)
		g_array_append_val(frames, profile_get_node(p, n)->frame);
	json_member_array(j, key);
	for (guint i = frames->len; i-- > 0;) {
		g_string_truncate(label, 0);
		label_append(label, profile_get_frame(p, g_array_index(frames, uint32_t, i)));
		json_string(j, label->str);
	}
	json_array_end(j);
}

static void put_thread(struct json *j, const struct profile *p, uint32_t id)
{
	const struct thread *t = profile_thread(p, id);

	JSON(j, "pid", t->pid, "comm", t->comm);
}

static void put_file_sum(struct json *j, const struct file_sum *s)
{
	JSON_UINTS(j, s, count, bytes, errors);
	JSON(j, "latency_ns", s->all_ns, "blocked_ns", s->blocked_ns, "runq_ns", s->runq_ns);
	json_member_uint(j, "on_cpu_ns", s->all_ns - MIN(s->blocked_ns + s->runq_ns + s->async_ns, s->all_ns));
	JSON(j, "io_uring_ns", s->async_ns, "disk_requests", s->requests, "disk_ns", s->disk_ns);
}

static void put_files(struct json *j, const struct file_result *r)
{
	json_member_array(j, "files");
	EACH_ROW(i, const struct file_by_file, f, r->files) {
		json_object_begin(j);
		json_member_string(j, "op", f->op);
		put_path(j, f->path);
		put_file_sum(j, &f->sum);
		JSON(j, "median_ns", file_percentile_ns(f, 0.5), "p99_ns", file_percentile_ns(f, 0.99));
		json_member_uint(j, "max_ns", f->sum.max_ns);
		json_member_hist(j, f->sum.hist);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_file_places(struct json *j, const struct file_result *r)
{
	json_member_array(j, "places");
	EACH_ROW(i, const struct file_row, row, r->rows) {
		json_object_begin(j);
		put_thread(j, r->profile, row->thread);
		json_member_string(j, "op", row->op);
		put_path(j, row->path);
		put_file_sum(j, &row->sum);
		put_percentiles(j, row->sum.hist, row->sum.all_ns, row->sum.max_ns);
		put_stack(j, r->profile, "user", row->user);
		put_stack(j, r->profile, "kernel", row->kernel);
		json_object_end(j);
	}
	json_array_end(j);
}

void io_json_files(GString *out, const struct file_result *r, uint64_t slower_ns, bool with_places)
{
	const struct file_counts *c = &r->counts;
	struct json j;

	begin(&j, out, "files");
	JSON(&j, "duration_ns", r->duration_ns, "slower_ns", slower_ns);
	put_file_sum(&j, &r->all);
	JSON(&j, "still_open", c->open_at_end, "begun_before", c->begun_before, "slow_calls_on_no_file", c->not_file);
	JSON(&j, "io_uring_of_no_file", c->uring, "sees_page_faults", r->has_faults, "lost_operations", c->lost_op);
	JSON(&j, "lost_stacks", c->lost_stack, "lost_no_memory", c->lost_room, "lost_disk_requests", c->lost_disk);
	json_member_uint(&j, "unlisted", c->unlisted);
	put_files(&j, r);
	if (with_places)
		put_file_places(&j, r);
	end(&j, out);
}

static void put_block_sum(struct json *j, const struct block_sum *s)
{
	JSON(j, "requests", s->count, "bytes", s->bytes, "held_requests", s->held_cnt);
	json_member_uint(j, "held_unknown", s->held_unknown_cnt);
	JSON_UINTS(j, s, held_ns, queue_ns, device_ns);
	put_percentiles(j, s->hist, block_sum_ns(s), s->max_ns);
}

static void put_disks(struct json *j, const struct block_result *r)
{
	json_member_array(j, "disks");
	EACH_ROW(i, const struct block_disk, d, r->disks) {
		json_object_begin(j);
		JSON(j, "disk", d->disk, "op", d->op);
		put_block_sum(j, &d->sum);
		json_object_end(j);
	}
	json_array_end(j);
}

/* with_place: of a process at one place; else the total of a file. */
static void put_block_row(struct json *j, const struct block_result *r, const struct block_row *row, bool with_place)
{
	json_object_begin(j);
	if (with_place)
		put_thread(j, r->profile, row->thread);
	JSON(j, "disk", row->disk, "op", row->op);
	put_path(j, row->file);
	json_member_string(j, "dirtied_by", *row->dirtier ? row->dirtier : NULL);
	put_block_sum(j, &row->sum);
	if (with_place) {
		put_stack(j, r->profile, "user", row->user);
		put_stack(j, r->profile, "kernel", row->kernel);
	}
	json_object_end(j);
}

static void put_block_rows(struct json *j, const struct block_result *r, const GArray *rows, bool with_place)
{
	json_member_array(j, with_place ? "places" : "files");
	for (guint i = 0; i < rows->len; i++)
		put_block_row(j, r, &g_array_index(rows, struct block_row, i), with_place);
	json_array_end(j);
}

void io_json_block(GString *out, const struct block_result *r, bool with_places, bool is_of_some)
{
	const struct block_counts *c = &r->counts;
	struct json j;

	begin(&j, out, "block");
	JSON(&j, "duration_ns", r->duration_ns, "requests", c->done);
	json_member_known(&j, "disks_count", c->kernels, !is_of_some);
	json_member_known(&j, "begun_before", c->open_at_start, !is_of_some);
	JSON(&j, "still_open", c->open_at_end, "merged", c->merged, "ended_untold", c->unseen);
	JSON(&j, "lost_requests", c->lost_done + c->lost_room, "lost_stacks", c->lost_stack);
	put_disks(&j, r);
	put_block_rows(&j, r, r->files, false);
	if (with_places)
		put_block_rows(&j, r, r->rows, true);
	end(&j, out);
}
