/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_file.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "features/io/file_abi.h"
#include "attach/kernel_btf.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "base/clock.h"
#include "base/proc/mount_point.h"
#include "file.skel.h"
#include "features/io/record_part.h"
#include "symbolize/runtime/memory.h"

#define ERRNO_MAX 4095	/* include/linux/err.h */

struct file_io {
	struct file_options options;
	struct file_bpf *skel;
	struct file_attach *attach;
	struct core_btf *core_btf;
	struct ring_buffer *ring;
	struct profile *profile;
	struct io_places *places;
	struct file_rows *rows;
	GString *path;
	uint64_t start_ns, start_unix_ns, stop_ns;
	bool has_faults;
};

/* Reads the argument of a call in progress from its process's memory. "" if it cannot be read. */
static void read_given(const struct file_rec_op *r, char ret[FILE_TEXT_BYTES])
{
	const size_t page = 4096, end = page - r->given % page;	/* the next page may be unmapped */
	const size_t room = FILE_TEXT_BYTES - 1, first = MIN(end, room);
	const struct memory_piece from[] = { { r->given, ret, first }, { r->given + end, ret + first, room - first } };
	bool is_read[G_N_ELEMENTS(from)];

	memset(ret, 0, FILE_TEXT_BYTES);
	memory_read_pieces(r->pid, from, first < room ? 2 : 1, is_read);
	if (!is_read[0])
		ret[0] = '\0';
}

static void fill_op(const struct file_io *f, const struct file_rec_op *r, struct file_op *ret)
{
	uint64_t off_ns;

	*ret = (struct file_op){
		.start_unix_ns = f->start_unix_ns + (r->start_ns - f->start_ns),
		.latency_ns = r->end_ns - MIN(r->start_ns, r->end_ns), .requests = r->requests, .pid = r->pid,
		.tid = r->tid, .op = file_call_name(r->op), .is_open = r->flags & FILE_OP_OPEN,
		.is_before = r->flags & FILE_OP_BEFORE, .is_async = r->flags & FILE_OP_ASYNC,
	};
	off_ns = MIN(r->off_ns, ret->latency_ns);
	ret->runq_ns = MIN(r->runq_ns, off_ns);
	ret->blocked_ns = off_ns - ret->runq_ns;
	ret->on_cpu_ns = ret->is_async ? 0 : ret->latency_ns - off_ns;
	ret->disk_ns = MIN(r->disk_ns, ret->latency_ns);
	if (ret->is_open || r->flags & FILE_OP_LOOSE)
		return;
	if (r->result < 0 && r->result >= -ERRNO_MAX)
		ret->error = (int)-r->result;
	ret->has_bytes = !ret->error && file_call_has_bytes(r->op);
	ret->bytes = ret->has_bytes ? (uint64_t)r->result : 0;
}

/* For a mapped file the kernel may not know the mount. */
static void put_mount(const struct file_io *f, const struct file_rec_op *r)
{
	g_autofree char *name = g_strdup_printf("/proc/%u/mountinfo", r->pid), *text = NULL;

	if (!(r->flags & FILE_OP_FAULT) || r->flags & (FILE_OP_ABSOLUTE | FILE_OP_CUT) || !f->path->len)
		return;
	if (!g_file_get_contents(name, &text, NULL, NULL))
		g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL);
	mount_point_prepend(f->path, text, r->dev);
}

static void take_op(struct file_io *f, const struct file_rec_op *r, size_t size)
{
	char comm[FILE_COMM_LEN + 1] = { 0 }, process[FILE_COMM_LEN + 1] = { 0 }, given[FILE_TEXT_BYTES] = "";
	struct io_place place = { 0 };
	struct file_op op;

	if (size < sizeof(*r) || r->path_bytes > size - sizeof(*r))
		return;
	if (r->given)
		read_given(r, given);
	memcpy(comm, r->comm, sizeof(r->comm));
	memcpy(process, r->process, sizeof(r->process));
	g_string_truncate(f->path, 0);
	file_path_append(f->path, r, (const char *)(r + 1), given);
	put_mount(f, r);
	fill_op(f, r, &op);
	op.comm = comm;
	op.process = process;
	op.path = f->path->str;
	if (r->number)
		place = io_places_give(f->places, r->number);
	file_rows_add(f->rows, &op, place.user, place.kernel);
	if (f->options.on_op)
		f->options.on_op(&op, f->options.data);
}

static int take_record(void *ctx, void *data, size_t size)
{
	struct file_io *f = ctx;
	uint32_t type;

	if (size < sizeof(type))
		return 0;
	memcpy(&type, data, sizeof(type));
	if (type == FILE_REC_STACK)
		io_places_take(f->places, data, size);
	else if (type == FILE_REC_OP)
		take_op(f, data, size);
	return 0;
}

static bool has_tracepoint(const char *name)
{
	const struct kernel_btf *btf = feature_kernel_btf();
	g_autofree char *type = g_strconcat("btf_trace_", name, NULL);

	return btf && kernel_btf_id(btf, type, BTF_KIND_TYPEDEF) > 0;
}

/*
 * block_io_start and block_io_done need Linux 6.5, io_uring_submit_req 6.4. There may be no block devices or no
 * io_uring.
 */
static void select_programs(struct file_bpf *skel)
{
	bool has_start = has_tracepoint("block_io_start"), has_insert = !has_start && has_tracepoint("block_rq_insert");
	bool has_req = has_tracepoint("io_uring_submit_req"), has_fault = has_tracepoint("mm_filemap_fault");

	bpf_program__set_autoload(skel->progs.file_block_start, has_start);
	bpf_program__set_autoload(skel->progs.file_block_done, has_start);
	bpf_program__set_autoload(skel->progs.file_block_insert, has_insert);
	bpf_program__set_autoload(skel->progs.file_block_issue, has_insert);
	bpf_program__set_autoload(skel->progs.file_block_complete, has_insert);
	bpf_program__set_autoload(skel->progs.file_block_merge, has_tracepoint("block_rq_merge"));
	bpf_program__set_autoload(skel->progs.file_fault, has_fault);
	bpf_program__set_autoload(skel->progs.file_fault_maps, has_fault && has_tracepoint("mm_filemap_map_pages"));
	bpf_program__set_autoload(skel->progs.file_uring_req, has_req);
	bpf_program__set_autoload(skel->progs.file_uring_sqe, !has_req && has_tracepoint("io_uring_submit_sqe"));
	bpf_program__set_autoload(skel->progs.file_uring_end, has_tracepoint("io_uring_complete"));
}

static void configure(struct file_bpf *skel, const struct file_options *o)
{
	struct file_call calls[FILE_CALLS_END] = { 0 };
	const struct only_parts only = ONLY_PARTS(skel);

	file_calls_fill(calls);
	memcpy((void *)skel->rodata->calls, calls, sizeof(calls));
	skel->rodata->uring_file_ops = file_uring_ops(false);
	skel->rodata->uring_open_ops = file_uring_ops(true);
	skel->rodata->want_ustack = !o->no_user_stacks;
	skel->rodata->want_kstack = !o->no_kernel_stacks;
	skel->rodata->self_tgid = (uint32_t)getpid();
	skel->rodata->slower_ns = o->slower_ns;
	only_configure(&only, &o->only);
}

static bool load(struct file_io *f, GError **error)
{
	size_t elf_bytes;
	const void *elf = file_bpf__elf_bytes(&elf_bytes);
	int err;

	load_log_keep();
	if (feature_kernel_btf())
		f->core_btf = core_btf_new(feature_kernel_btf(), elf, elf_bytes);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_btf_path(f->core_btf));
	f->skel = file_bpf__open_opts(&opts);
	if (!f->skel)
		return attach_refuse(error, -errno, "open the BPF object");
	select_programs(f->skel);
	f->has_faults = file_attach_select(f->skel, has_tracepoint("mm_filemap_fault"));
	configure(f->skel, &f->options);
	err = file_bpf__load(f->skel);
	if (err)
		return attach_refuse_load(error, err);
	const struct only_parts only = ONLY_PARTS(f->skel);
	if (!only_fill(&only, &f->options.only, error))
		return false;
	err = file_bpf__attach(f->skel);
	if (err)
		return attach_refuse(error, err, "attach to the tracepoints of the scheduler and of block requests");
	f->attach = file_attach_new(f->skel, error);
	if (!f->attach)
		return false;
	f->ring = ring_buffer__new(bpf_map__fd(f->skel->maps.file_ring), take_record, f, NULL);
	if (!f->ring)
		attach_set_error(error, -errno, "map the ring buffer");
	return f->ring != NULL;
}

/* Runs the iterator over all threads once. */
static void look_at_threads(struct file_io *f)
{
	int fd = f->skel->links.file_look ? bpf_iter_create(bpf_link__fd(f->skel->links.file_look)) : -1;
	char text[64];

	if (fd < 0)
		return;
	while (read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
}

struct file_io *file_io_new(const struct file_options *options, GError **error)
{
	struct file_io *f = g_new0(struct file_io, 1);

	f->options = *options;
	f->profile = profile_new();
	f->places = io_places_new(f->profile, !options->no_kernel_stacks);
	f->rows = file_rows_new(f->profile);
	f->path = g_string_new(NULL);
	if (!load(f, error)) {
		file_io_free(f);
		return NULL;
	}
	f->start_ns = clock_ns(CLOCK_MONOTONIC);
	f->start_unix_ns = clock_ns(CLOCK_REALTIME);
	f->skel->bss->is_open = 1;
	look_at_threads(f);
	return f;
}

FREES(file_io_free, struct file_io, f, ring_buffer__free(f->ring); file_attach_free(f->attach);
      file_bpf__destroy(f->skel); core_btf_free(f->core_btf); file_rows_free(f->rows); io_places_free(f->places);
      profile_free(f->profile); g_string_free(f->path, TRUE))

bool file_io_slows_all_calls(const struct file_io *f)
{
	return file_attach_is_by_tracepoints(f->attach);
}

void file_io_poll(struct file_io *f)
{
	ring_buffer__consume(f->ring);
}

void file_io_stop(struct file_io *f)
{
	ring_buffer__consume(f->ring);
	f->skel->bss->is_end = 1;
	look_at_threads(f);
	f->skel->bss->is_open = 0;
	f->stop_ns = clock_ns(CLOCK_MONOTONIC);
	file_bpf__detach(f->skel);
	file_attach_settle(f->attach);
	ring_buffer__consume(f->ring);
	io_places_finish(f->places);
}

static uint64_t count_of(const struct file_io *f, enum file_count what)
{
	return io_count(f->skel->maps.file_counts, what);
}

void file_io_result(struct file_io *f, struct file_result *ret)
{
	*ret = (struct file_result){ .profile = f->profile, .duration_ns = f->stop_ns - f->start_ns };
	file_rows_result(f->rows, ret);
	ret->has_faults = f->has_faults;
	ret->counts.not_file = count_of(f, FILE_NOT_FILE);
	ret->counts.uring = count_of(f, FILE_URING);
	ret->counts.lost_op = count_of(f, FILE_LOST_OP);
	ret->counts.lost_stack = count_of(f, FILE_LOST_STACK);
	ret->counts.lost_room = count_of(f, FILE_LOST_ROOM);
	ret->counts.lost_disk = count_of(f, FILE_LOST_DISK);
}

void file_result_clear(struct file_result *r)
{
	g_array_unref(r->rows);
	g_array_unref(r->files);
}

static void add_losses(struct file_io *f)
{
	static const struct io_loss losses[] = {
		{ FILE_LOST_OP, "file_ring", "the ring buffer was full for a slow file operation" },
		{ FILE_LOST_STACK, "file_stack", "the ring buffer was full for the stacks of a slow file operation" },
		{ FILE_LOST_ROOM, "file_room", "there was no memory to follow a thread's file operation" },
	};

	io_add_losses(f->profile, f->skel->maps.file_counts, losses, G_N_ELEMENTS(losses));
}

struct profile *file_io_take_profile(struct file_io *f)
{
	struct profile *p = f->profile;

	io_recording_info(p, "file operations, from a system call's begin to its end", ROWS_OPERATIONS, f->start_ns,
			  f->start_unix_ns, f->stop_ns);
	add_losses(f);
	file_rows_to_profile(f->rows);
	f->profile = NULL;
	return p;
}
