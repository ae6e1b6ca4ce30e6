/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_block.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <string.h>

#include "features/io/block_abi.h"
#include "attach/kernel_btf.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "base/clock.h"
#include "base/each.h"
#include "base/hash.h"
#include "base/order.h"
#include "block.skel.h"

#define BLOCK_DIR "/sys/block"

/* The reads, writes and discards in a disk's stat file; 0 if it is malformed. */
static uint64_t disk_stats_parse(const char *text)
{
	/* Documentation/ABI/stable/sysfs-block: reads are first, writes fifth, discards twelfth (Linux 4.18) */
	static const bool is_count[] = { [0] = true, [4] = true, [11] = true };
	uint64_t sum = 0;
	char *at = (char *)text;

	for (gsize i = 0; i < G_N_ELEMENTS(is_count); i++) {
		char *before = at;
		uint64_t value = g_ascii_strtoull(at, &at, 10);

		if (at == before)
			break;
		sum += is_count[i] ? value : 0;
	}
	return sum;
}

/* Devices without a request queue (zram, dm, md; but not loop) are counted at the device below, if at all. */
static bool has_requests(const char *name)
{
	g_autofree char *path = g_strdup_printf(BLOCK_DIR "/%s/mq", name);

	return g_file_test(path, G_FILE_TEST_IS_DIR);
}

/* The kernel's own count of completed requests on all disks with a queue: /sys/block/DISK/stat. */
static uint64_t disk_stats_sum(void)
{
	GDir *dir = g_dir_open(BLOCK_DIR, 0, NULL);
	const char *name;
	uint64_t sum = 0;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_strdup_printf(BLOCK_DIR "/%s/stat", name), *text = NULL;

		if (has_requests(name) && g_file_get_contents(path, &text, NULL, NULL))
			sum += disk_stats_parse(text);
	}
	if (dir)
		g_dir_close(dir);
	return sum;
}

#define EDGE_TRIES 100

struct row_key {
	const char *comm, *disk, *op, *file, *dirtier;	/* interned */
	uint32_t pid, user, kernel, is_kernel;
};

/* The kernel's count and ours at the same instant: they differ at the edges of the window. */
struct edge {
	uint64_t disks, ours;
};

struct block_io {
	struct block_options options;
	struct block_bpf *skel;
	struct core_btf *core_btf;
	struct ring_buffer *ring;
	struct profile *profile;
	struct io_places *places;
	GHashTable *index;	/* struct row_key -> row + 1 */
	GArray *rows;		/* struct block_row */
	GHashTable *threads;	/* (pid, comm) as text -> thread + 1 */
	struct edge start;
	uint64_t start_ns, start_unix_ns, stop_ns, open_at_end, kernels;
};

HASH_BYTES(row_key, struct row_key)

static const char *op_text(uint32_t op)
{
	static const char *const names[] = { "read",         "write", "flush",       "discard", "op 4",
					     "secure erase", "op 6",  "zone append", "op 8",    "write zeroes" };

	return op < G_N_ELEMENTS(names) ? names[op] : op == 34 || op == 35 ? "driver" : "other";
}

static uint32_t thread_of(struct block_io *b, uint32_t pid, const char *comm, bool is_kernel)
{
	g_autofree char *key = g_strdup_printf("%u %s", pid, comm);
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(b->threads, key));

	if (known)
		return known - 1;
	const struct thread t = {
		.pid = pid, .tid = pid, .comm = comm, .process = comm, .flags = is_kernel ? THREAD_KERNEL : 0,
	};
	uint32_t id = profile_add_thread(b->profile, &t);

	g_hash_table_insert(b->threads, g_steal_pointer(&key), GUINT_TO_POINTER(id + 1));
	return id;
}

static struct block_row *row_of(struct block_io *b, const struct row_key *key)
{
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(b->index, key));

	if (!known) {
		const struct block_row row = {
			.thread = thread_of(b, key->pid, key->comm, key->is_kernel), .user = key->user,
			.kernel = key->kernel, .disk = key->disk, .op = key->op, .file = key->file,
			.dirtier = key->dirtier,
		};

		g_array_append_val(b->rows, row);
		known = b->rows->len;
		g_hash_table_insert(b->index, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(known));
	}
	return &g_array_index(b->rows, struct block_row, known - 1);
}

/* Names may contain any bytes. */
static const char *own_text(struct block_io *b, const char *text, size_t size)
{
	char copy[BLOCK_NAME_LEN + 1] = { 0 };

	memcpy(copy, text, MIN(size, BLOCK_NAME_LEN));
	return profile_string(b->profile, copy);
}

/* How long it was held before it was made, waited for the driver, and took in the device. */
struct times {
	uint64_t held_ns, queue_ns, device_ns, all_ns;
};

static struct times times_of(const struct block_rec_done *r)
{
	uint64_t made_ns = r->done_ns - MIN(r->start_ns, r->done_ns);
	struct times t = {
		.held_ns = r->asked_ns && r->asked_ns < r->start_ns ? r->start_ns - r->asked_ns : 0,
		.queue_ns = r->issue_ns > r->start_ns ? MIN(r->issue_ns - r->start_ns, made_ns) : 0,
	};

	t.device_ns = made_ns - t.queue_ns;
	t.all_ns = t.held_ns + made_ns;
	return t;
}

static void add_request(struct block_sum *s, const struct block_rec_done *r)
{
	const struct times t = times_of(r);

	s->count++;
	s->bytes += r->bytes;
	s->held_cnt += r->is_held;
	s->held_unknown_cnt += r->is_held && !t.held_ns;
	s->held_ns += t.held_ns;
	s->queue_ns += t.queue_ns;
	s->device_ns += t.device_ns;
	s->max_ns = MAX(s->max_ns, t.all_ns);
	s->hist[profile_hist_slot(t.all_ns)]++;
}

/* "dd (1234)" */
static const char *dirtier_text(struct block_io *b, const struct block_rec_done *r)
{
	char comm[BLOCK_COMM_LEN + 1] = { 0 };
	g_autofree char *text = NULL;

	if (!r->dirtier)
		return profile_string(b->profile, "");
	memcpy(comm, r->dirtier_comm, sizeof(r->dirtier_comm));
	text = g_strdup_printf("%s (%u)", comm, r->dirtier);
	return profile_string(b->profile, text);
}

static void tell_op(const struct block_io *b, const struct block_rec_done *r, const struct row_key *key)
{
	const struct times t = times_of(r);
	const struct block_op op = {
		.start_unix_ns = b->start_unix_ns + (r->start_ns - t.held_ns - b->start_ns),
		.held_ns = t.held_ns, .queue_ns = t.queue_ns, .device_ns = t.device_ns, .bytes = r->bytes,
		.sector = r->sector == UINT64_MAX ? 0 : r->sector,	/* UINT64_MAX: no sector */
		.pid = r->pid, .tid = r->tid, .comm = key->comm, .disk = key->disk, .op = key->op,
		.file = key->file, .dirtier = key->dirtier,
	};

	if (t.all_ns >= b->options.slower_ns)
		b->options.on_op(&op, b->options.data);
}

static void take_done(struct block_io *b, const struct block_rec_done *r, size_t size)
{
	if (size < sizeof(*r))
		return;
	struct io_place place = io_places_give(b->places, r->number);
	struct row_key key = {
		.comm = own_text(b, r->comm, sizeof(r->comm)), .disk = own_text(b, r->disk, sizeof(r->disk)),
		.file = own_text(b, r->file, sizeof(r->file)), .dirtier = dirtier_text(b, r),
		.op = op_text(r->op), .pid = r->pid, .user = place.user, .kernel = place.kernel,
		.is_kernel = r->is_kernel,
	};

	add_request(&row_of(b, &key)->sum, r);
	if (b->options.on_op)
		tell_op(b, r, &key);
}

static int take_record(void *ctx, void *data, size_t size)
{
	uint32_t type;

	if (size < sizeof(type))
		return 0;
	memcpy(&type, data, sizeof(type));
	if (type == BLOCK_REC_STACK)
		io_places_take(((struct block_io *)ctx)->places, data, size);
	else if (type == BLOCK_REC_DONE)
		take_done(ctx, data, size);
	return 0;
}

/* block_io_start and block_io_done need Linux 6.5, writeback_dirty_folio 5.18. */
static void select_programs(struct block_bpf *skel)
{
	const struct kernel_btf *btf = feature_kernel_btf();
	bool has_start = btf && kernel_btf_id(btf, "btf_trace_block_io_start", BTF_KIND_TYPEDEF) > 0;

	bpf_program__set_autoload(skel->progs.block_start, has_start);
	bpf_program__set_autoload(skel->progs.block_done, has_start);
	bpf_program__set_autoload(skel->progs.block_issue, has_start);
	bpf_program__set_autoload(skel->progs.block_insert, !has_start);
	bpf_program__set_autoload(skel->progs.block_issue_or_start, !has_start);
	bpf_program__set_autoload(skel->progs.block_complete, !has_start);
	bool has_cache = btf && kernel_btf_id(btf, "btf_trace_mm_filemap_add_to_page_cache", BTF_KIND_TYPEDEF) > 0;
	bool has_folio = btf && kernel_btf_id(btf, "btf_trace_writeback_dirty_folio", BTF_KIND_TYPEDEF) > 0;

	bpf_program__set_autoload(skel->progs.block_page_asked, has_cache);
	bpf_program__set_autoload(skel->progs.block_dirty_folio, has_folio);
	bpf_program__set_autoload(skel->progs.block_dirty_page, !has_folio);
}

static bool load(struct block_io *b, GError **error)
{
	size_t elf_bytes;
	const void *elf = block_bpf__elf_bytes(&elf_bytes);
	struct only_parts only;
	int err;

	load_log_keep();
	if (feature_kernel_btf())
		b->core_btf = core_btf_new(feature_kernel_btf(), elf, elf_bytes);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_btf_path(b->core_btf));
	b->skel = block_bpf__open_opts(&opts);
	if (!b->skel)
		return attach_refuse(error, -errno, "open the BPF object");
	select_programs(b->skel);
	only = ONLY_PARTS(b->skel);
	b->skel->rodata->want_ustack = !b->options.no_user_stacks;
	b->skel->rodata->want_kstack = !b->options.no_kernel_stacks;
	b->skel->rodata->want_file = true;
	only_configure(&only, &b->options.only);
	err = block_bpf__load(b->skel);
	if (err)
		return attach_refuse_load(error, err);
	if (!only_fill(&only, &b->options.only, error))
		return false;
	err = block_bpf__attach(b->skel);
	if (err)
		return attach_refuse(error, err, "attach to the tracepoints of block requests");
	b->ring = ring_buffer__new(bpf_map__fd(b->skel->maps.block_ring), take_record, b, NULL);
	if (!b->ring)
		attach_set_error(error, -errno, "map the ring buffer");
	return b->ring != NULL;
}

static uint64_t count_of(const struct block_io *b, enum block_count what)
{
	return io_count(b->skel->maps.block_counts, what);
}

static uint64_t ended(const struct block_io *b)
{
	return count_of(b, BLOCK_DONE) + count_of(b, BLOCK_OPEN_AT_START) + count_of(b, BLOCK_LOST_DONE);
}

/*
 * No request ended between two equal readings of the disks' counters. If none are equal, the closest two are used: on
 * a busy machine this thread may lose its CPU between readings while hundreds of requests end.
 */
static struct edge edge_now(const struct block_io *b)
{
	struct edge best = { 0 };
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < EDGE_TRIES && least; i++) {
		uint64_t before = disk_stats_sum(), ours = ended(b), between = disk_stats_sum() - before;

		if (between >= least)
			continue;
		least = between;
		best = (struct edge){ .disks = before + between / 2, .ours = ours };
	}
	return best;
}

struct block_io *block_io_new(const struct block_options *options, GError **error)
{
	struct block_io *b = g_new0(struct block_io, 1);

	b->options = *options;
	b->profile = profile_new();
	b->places = io_places_new(b->profile, !options->no_kernel_stacks);
	b->index = g_hash_table_new_full(row_key_hash, row_key_equal, g_free, NULL);
	b->rows = g_array_new(FALSE, TRUE, sizeof(struct block_row));
	b->threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (!load(b, error)) {
		block_io_free(b);
		return NULL;
	}
	b->skel->bss->is_open = 1;
	b->start_ns = clock_ns(CLOCK_MONOTONIC);
	b->start_unix_ns = clock_ns(CLOCK_REALTIME);
	b->start = edge_now(b);
	return b;
}

FREES(block_io_free, struct block_io, b, ring_buffer__free(b->ring); block_bpf__destroy(b->skel);
      core_btf_free(b->core_btf); io_places_free(b->places); g_hash_table_destroy(b->index);
      g_hash_table_destroy(b->threads); g_array_unref(b->rows); profile_free(b->profile))

void block_io_poll(struct block_io *b)
{
	ring_buffer__consume(b->ring);
}

static uint64_t flights_left(const struct block_io *b)
{
	int fd = bpf_map__fd(b->skel->maps.flights);
	uint64_t key, next, cnt = 0;

	for (int err = bpf_map_get_next_key(fd, NULL, &next); !err; err = bpf_map_get_next_key(fd, &key, &next)) {
		cnt++;
		key = next;
	}
	return cnt;
}

void block_io_stop(struct block_io *b)
{
	struct edge stop = edge_now(b);

	b->skel->bss->is_open = 0;
	b->stop_ns = clock_ns(CLOCK_MONOTONIC);
	block_bpf__detach(b->skel);
	b->kernels = stop.disks - b->start.disks + b->start.ours + (ended(b) - stop.ours);
	ring_buffer__consume(b->ring);
	b->open_at_end = flights_left(b);
	io_places_finish(b->places);
}

#define ROW_NS(row) block_sum_ns(&(row)->sum)
ORDER(compare_rows, struct block_row, ORDER_HIGH_OF(ROW_NS))

static void merge_sums(struct block_sum *into, const struct block_sum *s)
{
	ADD_MEMBERS(into, s, count, bytes, held_cnt, held_unknown_cnt, held_ns, queue_ns, device_ns);
	into->max_ns = MAX(into->max_ns, s->max_ns);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		into->hist[i] += s->hist[i];
}

static void add_disk(GArray *disks, const struct block_row *row)
{
	EACH_ROW(i, struct block_disk, d, disks) {
		if (d->disk == row->disk && d->op == row->op) {
			merge_sums(&d->sum, &row->sum);
			return;
		}
	}
	const struct block_disk disk = { .disk = row->disk, .op = row->op, .sum = row->sum };

	g_array_append_val(disks, disk);
}

static void add_file(GArray *files, GHashTable *index, const struct block_row *row)
{
	g_autofree char *key = g_strdup_printf("%p %p %p %p", (const void *)row->file, (const void *)row->disk,
					       (const void *)row->op, (const void *)row->dirtier);
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(index, key));

	if (known) {
		merge_sums(&g_array_index(files, struct block_row, known - 1).sum, &row->sum);
		return;
	}
	g_array_append_val(files, *row);
	g_hash_table_insert(index, g_steal_pointer(&key), GUINT_TO_POINTER(files->len));
}

/*
 * Some kernels run no program for an interrupt of a thread that they hide, such as a hypervisor's agent. A request
 * that ends there is found by the next one in its memory, or at the window's end by the disks' own count.
 */
static void tell_unseen(const struct block_io *b, struct block_counts *c)
{
	uint64_t seen = c->done + c->open_at_start + c->lost_done + c->unseen;
	uint64_t more = only_some(&b->options.only) || c->kernels <= seen ? 0 : MIN(c->kernels - seen, c->open_at_end);

	c->unseen += more;
	c->open_at_end -= more;
}

void block_io_result(struct block_io *b, struct block_result *ret)
{
	g_autoptr(GHashTable) index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	*ret = (struct block_result){
		.rows = g_array_ref(b->rows), .disks = g_array_new(FALSE, FALSE, sizeof(struct block_disk)),
		.files = g_array_new(FALSE, FALSE, sizeof(struct block_row)), .profile = b->profile,
		.duration_ns = b->stop_ns - b->start_ns,
		.counts = {
			.done = count_of(b, BLOCK_DONE), .merged = count_of(b, BLOCK_MERGED),
			.open_at_start = count_of(b, BLOCK_OPEN_AT_START), .open_at_end = b->open_at_end,
			.lost_done = count_of(b, BLOCK_LOST_DONE), .lost_stack = count_of(b, BLOCK_LOST_STACK),
			.lost_room = count_of(b, BLOCK_LOST_ROOM), .kernels = b->kernels,
			.unseen = count_of(b, BLOCK_UNSEEN),
		},
	};
	tell_unseen(b, &ret->counts);
	for (guint i = 0; i < b->rows->len; i++) {
		add_disk(ret->disks, &g_array_index(b->rows, struct block_row, i));
		add_file(ret->files, index, &g_array_index(b->rows, struct block_row, i));
	}
	g_array_sort(ret->files, compare_rows);
	g_array_sort(b->rows, compare_rows);
}

void block_result_clear(struct block_result *r)
{
	g_array_unref(r->rows);
	g_array_unref(r->disks);
	g_array_unref(r->files);
}

static void add_losses(struct block_io *b)
{
	static const struct io_loss losses[] = {
		{ BLOCK_LOST_DONE, "block_ring", "the ring buffer was full for a request that was done" },
		{ BLOCK_LOST_STACK, "block_stack", "the ring buffer was full for the stacks of a request" },
		{ BLOCK_UNSEEN, "block_end", "the kernel did not tell of the end of a request" },
		{ BLOCK_LOST_ROOM, "block_room", "more requests were on their way than are followed" },
	};

	io_add_losses(b->profile, b->skel->maps.block_counts, losses, G_N_ELEMENTS(losses));
}

struct profile *block_io_take_profile(struct block_io *b)
{
	struct profile *p = b->profile;

	io_recording_info(p, "block requests, from their making to their end", ROWS_REQUESTS, b->start_ns,
			  b->start_unix_ns, b->stop_ns);
	add_losses(b);
	EACH_ROW(i, const struct block_row, row, b->rows) {
		g_autofree char *name = g_strdup_printf("%s %s", row->disk, row->op);
		const struct object disk = { .kind = OBJECT_BLOCK_DEVICE,
					     .name = profile_string(p, name),
					     .place = row->file };
		struct wait w = {
			.thread = row->thread, .user = row->user, .kernel = row->kernel, .state = '?',
			.count = row->sum.count, .blocked_ns = block_sum_ns(&row->sum),
			.max_ns = row->sum.max_ns, .object = profile_object(p, &disk) + 1,
		};
		struct thread *t = &g_array_index(p->threads, struct thread, row->thread);

		memcpy(w.hist, row->sum.hist, sizeof(w.hist));
		t->blocked_ns += w.blocked_ns;
		t->to_ns = t->blocked_ns;
		profile_add_wait(p, &w);
	}
	b->profile = NULL;
	return p;
}
