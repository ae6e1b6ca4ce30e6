/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/mmap_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/each.h"
#include "base/order.h"
#include "base/parse.h"
#include "base/opener/opener.h"

/* About 1000 to 4000 records; a build makes some thousand a second on one CPU. */
/* half a second of a storm of execs, while the programs are loaded on a busy machine */
#define RING_MAX_BYTES (1024u << 10)
#define RING_MIN_BYTES (32u << 10)
#define RINGS_MAX_BYTES (32u << 20)	/* all CPUs together, where there are many */
#define RECORD_MAX_BYTES 4352u	/* a mapping with a path of PATH_MAX bytes */
/* Interval of checks for CPUs that came online; one that was offline in between is not noticed. */
#define LOOK_EVERY_NS 1000000000ULL

struct ring {
	int cpu, fd;
	struct perf_event_mmap_page *page;	/* the data follow in the next page */
	uint8_t *data;
	uint64_t data_bytes;	/* a power of two */
	bool was_full;	/* or nearly: a record may have been lost */
};

/* A record to be passed on. */
struct pending {
	uint64_t ts_ns;
	uint32_t off;	/* offset in bytes */
	uint32_t number;	/* of arrival, for records of equal time */
};

struct mmap_events {
	struct ring *rings;
	unsigned ring_cnt;
	GByteArray *bytes;
	GArray *pending;
	size_t ring_bytes;	/* of each ring, if there is room */
	char *online;		/* the kernel's list of online CPUs, at the last check */
	uint64_t looked_ns;
	bool kernel_counts;	/* the kernel counts each ring's losses: PERF_FORMAT_LOST */
	uint64_t lost_cnt;	/* otherwise losses in records; plus one for each CPU that came later */
};

/* Layouts of the records in the ring, each followed by struct trailer. */
struct record_task {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];	/* ends with 0 */
};

struct record_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t prot, flags;
	char path[];
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

static int event_open(int cpu, bool kernel_counts)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.read_format = kernel_counts ? PERF_FORMAT_LOST : 0,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME, .sample_id_all = 1,
		.mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1,
		.exclude_kernel = 1, .exclude_hv = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.watermark = 1, .wakeup_watermark = 1u << 31,
	};

	return opener_perf_event(&attr, cpu);
}

static bool ring_open(struct mmap_events *me, int cpu, GError **error)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), ring_bytes = me->ring_bytes;
	int fd = event_open(cpu, me->kernel_counts);
	void *mem = MAP_FAILED;

	if (fd < 0 && errno == EINVAL && me->kernel_counts) {	/* before Linux 6.0 (119a784c8127) */
		me->kernel_counts = false;
		fd = event_open(cpu, false);
	}
	if (fd < 0 && errno == ENODEV)	/* has gone offline meanwhile */
		return true;
	if (fd >= 0) {
		for (; mem == MAP_FAILED && ring_bytes >= RING_MIN_BYTES; ring_bytes /= 2)
			mem = mmap(NULL, page_bytes + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ring_bytes *= 2;
	}
	if (mem == MAP_FAILED) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "perf's events of new mappings cannot be opened on CPU %d: %s", cpu, g_strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	me->rings = g_renew(struct ring, me->rings, me->ring_cnt + 1);
	me->rings[me->ring_cnt++] = (struct ring){ .cpu = cpu,
						   .fd = fd,
						   .page = mem,
						   .data = (uint8_t *)mem + page_bytes,
						   .data_bytes = ring_bytes };
	return true;
}

static void ring_close(struct ring *r)
{
	munmap(r->page, (size_t)(r->data - (uint8_t *)r->page) + r->data_bytes);
	close(r->fd);
}

struct mmap_events *mmap_events_open(GError **error)
{
	struct mmap_events *me;
	g_autofree char *online = NULL;
	g_autoptr(GArray) cpus = NULL;
	long cpu_cnt = sysconf(_SC_NPROCESSORS_ONLN);

	online = cpu_list_online(error);
	if (!online)
		return NULL;
	me = g_new0(struct mmap_events, 1);
	me->ring_bytes = RING_MAX_BYTES;
	while (me->ring_bytes > RING_MIN_BYTES && me->ring_bytes * (size_t)MAX(cpu_cnt, 1) > RINGS_MAX_BYTES)
		me->ring_bytes /= 2;
	me->kernel_counts = true;
	me->bytes = g_byte_array_new();
	me->pending = g_array_new(FALSE, FALSE, sizeof(struct pending));
	me->online = g_steal_pointer(&online);
	me->looked_ns = clock_ns(CLOCK_MONOTONIC);
	cpus = cpu_list_parse(me->online);
	for (guint i = 0; i < cpus->len; i++) {
		if (!ring_open(me, g_array_index(cpus, int, i), error)) {
			mmap_events_free(me);
			return NULL;
		}
	}
	return me;
}

void mmap_events_free(struct mmap_events *me)
{
	if (!me)
		return;
	for (unsigned i = 0; i < me->ring_cnt; i++)
		ring_close(&me->rings[i]);
	g_free(me->rings);
	g_free(me->online);
	g_byte_array_unref(me->bytes);
	g_array_unref(me->pending);
	g_free(me);
}

static bool is_full(const struct ring *r, uint64_t tail)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) - tail + RECORD_MAX_BYTES > r->data_bytes;
}

static uint64_t ring_lost_cnt(const struct ring *r)
{
	struct {
		uint64_t value, lost_cnt;
	} counted;

	return read(r->fd, &counted, sizeof(counted)) == (ssize_t)sizeof(counted) ? counted.lost_cnt : 0;
}

/*
 * A record that reports losses is written only with the next one that fits: only the kernel's count is up to date. It
 * takes a system call, which is saved for a ring that never was full.
 */
uint64_t mmap_events_lost_cnt(const struct mmap_events *me)
{
	uint64_t sum = me->lost_cnt;

	for (unsigned i = 0; me->kernel_counts && i < me->ring_cnt; i++) {
		const struct ring *r = &me->rings[i];

		if (r->was_full || is_full(r, r->page->data_tail))
			sum += ring_lost_cnt(r);
	}
	return sum;
}

unsigned mmap_events_fd_count(const struct mmap_events *me)
{
	return me->ring_cnt;
}

static void ring_copy(const struct ring *r, uint64_t at, void *to, size_t bytes)
{
	size_t from = at & (r->data_bytes - 1), first = MIN(bytes, r->data_bytes - from);

	memcpy(to, r->data + from, first);
	memcpy((uint8_t *)to + first, r->data, bytes - first);
}

/* Takes the record at `at` out of the ring; returns its size, 0 when it is invalid. */
static size_t take_record(struct mmap_events *me, const struct ring *r, uint64_t at, uint64_t head)
{
	struct perf_event_header header;
	struct pending pending = { .off = me->bytes->len, .number = me->pending->len };
	struct trailer trailer;
	uint8_t *copy;

	ring_copy(r, at, &header, sizeof(header));
	if (header.size < sizeof(header) + sizeof(trailer) || header.size > head - at || header.size % 8)
		return 0;
	g_byte_array_set_size(me->bytes, me->bytes->len + header.size);
	copy = me->bytes->data + pending.off;
	ring_copy(r, at, copy, header.size);
	memcpy(&trailer, copy + header.size - sizeof(trailer), sizeof(trailer));
	pending.ts_ns = trailer.time;
	if (header.type == PERF_RECORD_LOST && !me->kernel_counts)
		me->lost_cnt += ((struct record_lost *)(void *)copy)->lost;
	if (header.type == PERF_RECORD_LOST || header.type == PERF_RECORD_THROTTLE)
		g_byte_array_set_size(me->bytes, pending.off);
	else
		g_array_append_val(me->pending, pending);
	return header.size;
}

static void ring_take(struct mmap_events *me, struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t begin = r->page->data_tail, tail = begin;

	while (head - tail >= sizeof(struct perf_event_header)) {
		size_t bytes = take_record(me, r, tail, head);

		if (!bytes) {
			tail = head;
			break;
		}
		tail += bytes;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_SEQ_CST);
	/* read after that: until then the room was counted from `begin` */
	r->was_full |= is_full(r, begin);
}

static struct ring *ring_of(struct mmap_events *me, int cpu)
{
	for (unsigned i = 0; i < me->ring_cnt; i++)
		if (me->rings[i].cpu == cpu)
			return &me->rings[i];
	return NULL;
}

static void drop_ring(struct mmap_events *me, struct ring *r)
{
	me->lost_cnt += me->kernel_counts ? ring_lost_cnt(r) : 0;
	ring_close(r);
	*r = me->rings[--me->ring_cnt];
}

/*
 * A CPU that goes offline loses its event and needs a new one when it returns. What happens there until then is lost.
 * The rings have just been emptied.
 */
static void look_for_cpus(struct mmap_events *me)
{
	g_autofree char *online = cpu_list_online(NULL);

	if (!online || strcmp(online, me->online) == 0)
		return;
	g_autoptr(GArray) cpus = cpu_list_parse(online);

	for (unsigned i = me->ring_cnt; i-- > 0;)
		if (!cpu_list_has(cpus, me->rings[i].cpu))
			drop_ring(me, &me->rings[i]);
	for (guint i = 0; i < cpus->len; i++) {
		int cpu = g_array_index(cpus, int, i);

		if (ring_of(me, cpu))
			continue;
		me->lost_cnt++;
		ring_open(me, cpu, NULL);	/* else the CPU is ignored */
	}
	g_free(me->online);
	me->online = g_steal_pointer(&online);
}

/* Passes on one record; 1 if it was of interest. */
static unsigned pass_on(const struct mmap_events_sink *sink, const struct perf_event_header *header, uint64_t ts_ns)
{
	const struct record_task *task = (const void *)header;
	const struct record_comm *comm = (const void *)header;
	const struct record_mmap2 *map = (const void *)header;

	if (comm->pid == 0 || comm->pid == UINT32_MAX)	/* not in our pid namespace */
		return 0;
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		if (header->size <= sizeof(*map) + sizeof(struct trailer) || !(map->prot & PROT_EXEC))
			return 0;
		sink->mmap(sink->data, map->pid, ts_ns, &(struct symbolizer_mapping){
			.start = map->addr, .len = map->len, .pgoff = map->pgoff, .dev_major = map->major,
			.dev_minor = map->minor, .inode = map->inode, .path = map->path });
		return 1;
	case PERF_RECORD_COMM:
		if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC) ||
		    header->size <= sizeof(*comm) + sizeof(struct trailer))
			return 0;
		sink->exec(sink->data, comm->pid, ts_ns, comm->name);
		return 1;
	case PERF_RECORD_FORK:
		if (header->size < sizeof(*task) || task->pid == task->ppid)
			return 0;
		sink->fork(sink->data, task->ppid, task->pid, ts_ns);
		return 1;
	case PERF_RECORD_EXIT:
		if (header->size < sizeof(*task) || task->pid != task->tid)
			return 0;
		sink->exit(sink->data, task->pid, ts_ns);
		return 1;
	default: return 0;
	}
}

ORDER(pending_compare, struct pending, ORDER_LOW(ts_ns) ORDER_LOW(number))

/* Drops the first `cnt` pending records. */
static void drop_passed_on(struct mmap_events *me, guint cnt)
{
	GByteArray *bytes = g_byte_array_new();

	g_array_remove_range(me->pending, 0, cnt);
	EACH_ROW(i, struct pending, p, me->pending) {
		const struct perf_event_header *header = (const void *)(me->bytes->data + p->off);

		p->off = bytes->len;
		p->number = i;
		g_byte_array_append(bytes, (const guint8 *)header, header->size);
	}
	g_byte_array_unref(me->bytes);
	me->bytes = bytes;
}

unsigned mmap_events_drain(struct mmap_events *me, const struct mmap_events_sink *sink)
{
	unsigned passed_cnt = 0;
	uint64_t until_ns;
	guint i;

	/*
	 * Later events are left for the next time: the rings are read in sequence, and one read early may lack the
	 * predecessors of a record in one read late.
	 */
	until_ns = clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < me->ring_cnt; i++)
		ring_take(me, &me->rings[i]);
	if (until_ns - me->looked_ns > LOOK_EVERY_NS) {
		look_for_cpus(me);
		me->looked_ns = until_ns;
	}
	if (!me->pending->len)
		return 0;
	g_array_sort(me->pending, pending_compare);
	for (i = 0; i < me->pending->len; i++) {
		const struct pending *p = &g_array_index(me->pending, struct pending, i);

		if (p->ts_ns > until_ns)
			break;
		passed_cnt += pass_on(sink, (const void *)(me->bytes->data + p->off), p->ts_ns);
	}
	drop_passed_on(me, i);
	return passed_cnt;
}
