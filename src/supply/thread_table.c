/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "abi/offcpu_abi.h"
#include "attach/error.h"
#include "base/urgency.h"
#include "supply/tables_part.h"
#include "offcpu.skel.h"

#define BITS_MIN 13	/* 6.5 MiB */
#define BITS_MAX 16	/* 52 MiB */
#define LINE 64		/* bytes of a cache line */
/* In a fork storm a CPU makes some 10,000 threads a second, which the kernel frees some ten ms after they end. */
#define SLOTS_A_CPU 2048

/* ADDER_LEFT: the adder owns it, and frees it when the kernel call returns. */
enum { ADDER_IDLE, ADDER_WORKING, ADDER_LEFT };

struct thread_table {
	struct offcpu_bpf *skel;	/* the adder must not use it, as it may outlive it */
	enum bpf_map_type type;	/* this and the following: of each table */
	uint32_t flags, key_bytes, value_bytes, slots;
	int outer_fd;
	int fd[OFFCPU_THREAD_TABLES];
	uint32_t cnt, wanted;
	GThread *adder;		/* while it works it owns cnt and fd */
	gint state;
	int err;		/* why adding failed */
};

/* log2 of the slots of each table. */
static uint32_t table_bits(unsigned threads, unsigned cpus)
{
	uint64_t slots = threads + SLOTS_A_CPU * (uint64_t)cpus;
	uint32_t bits = BITS_MIN;

	while (bits < BITS_MAX && 1ULL << bits < slots)
		bits++;
	return bits;
}

/* libbpf has no setters for the map that describes the inner ones: its declaration has all but number and length. */
static void describe_tables(struct thread_table *t)
{
	const struct bpf_map *like = bpf_map__inner_map(t->skel->maps.thread_tables);
	const struct offcpu_config *cfg = (const struct offcpu_config *)&t->skel->rodata->cfg;
	uint32_t bytes = bpf_map__value_size(like) + (cfg->chain_depth ? t->skel->rodata->chain_state_bytes : 0);

	t->type = bpf_map__type(like);
	t->flags = bpf_map__map_flags(like);
	t->key_bytes = bpf_map__key_size(like);
	t->value_bytes = (bytes + LINE - 1) / LINE * LINE;
	t->slots = 1U << cfg->thread_bits;
}

static int create_table(const struct thread_table *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = t->flags);
	int fd = bpf_map_create(t->type, "thread_slots", t->key_bytes, t->value_bytes, t->slots, &opts);

	return fd < 0 ? -errno : fd;
}

static void free_table(struct thread_table *t)
{
	for (uint32_t i = 0; i < OFFCPU_THREAD_TABLES; i++)
		if (t->fd[i] > 0)
			close(t->fd[i]);
	if (t->outer_fd >= 0)
		close(t->outer_fd);
	g_free(t);
}

/*
 * The programs see a new table at once, but the kernel's call returns only when no running program can still see the
 * old state: some 10 ms later, and many seconds where thousands of threads are runnable. So a thread of its own does
 * this.
 */
static gpointer add_tables(gpointer data)
{
	struct thread_table *t = data;

	for (; !t->err && t->cnt < t->wanted && g_atomic_int_get(&t->state) == ADDER_WORKING; t->cnt++) {
		int fd = t->cnt ? create_table(t) : t->fd[0];

		if (fd < 0) {
			t->err = fd;
			break;
		}
		t->fd[t->cnt] = fd;
		if (bpf_map_update_elem(t->outer_fd, &t->cnt, &fd, BPF_ANY))
			t->err = -errno;
	}
	if (!g_atomic_int_compare_and_exchange(&t->state, ADDER_WORKING, ADDER_IDLE))
		free_table(t);
	return NULL;
}

static void begin_to_add(struct thread_table *t, uint32_t wanted)
{
	t->wanted = wanted;
	t->state = ADDER_WORKING;
	t->adder = urgency_thread_new("threads", add_tables, t);
}

struct thread_table *thread_table_new(struct offcpu_bpf *skel, unsigned threads, GError **error)
{
	struct offcpu_config *cfg = (struct offcpu_config *)&skel->rodata->cfg;
	struct thread_table *t = g_new0(struct thread_table, 1);
	int err;

	t->skel = skel;
	t->outer_fd = -1;
	cfg->thread_bits = table_bits(threads, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	describe_tables(t);
	t->fd[0] = err = create_table(t);
	if (err >= 0)
		t->outer_fd = err = slabs_create_map(skel->maps.thread_tables, t->fd[0]);
	if (err >= 0)
		err = bpf_map__reuse_fd(skel->maps.thread_tables, t->outer_fd);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.second_index, OFFCPU_THREAD_TABLES << cfg->thread_bits);
	if (err < 0) {
		attach_set_error(error, err, "make room for the threads' accounts");
		thread_table_free(t);
		return NULL;
	}
	begin_to_add(t, 2);
	return t;
}

void thread_table_free(struct thread_table *t)
{
	if (!t)
		return;
	/* the end of a recording must not wait for that */
	if (g_atomic_int_compare_and_exchange(&t->state, ADDER_WORKING, ADDER_LEFT)) {
		g_thread_unref(t->adder);
		return;
	}
	if (t->adder)
		g_thread_join(t->adder);
	free_table(t);
}

int thread_table_ready(struct thread_table *t)
{
	uint32_t first = 0, id;

	while (bpf_map_lookup_elem(t->outer_fd, &first, &id)) {
		if (g_atomic_int_get(&t->state) == ADDER_IDLE)
			return t->err;
		g_usleep(100);
	}
	return 0;
}

void thread_table_grow(struct thread_table *t)
{
	uint32_t wanted;

	if (g_atomic_int_get(&t->state) != ADDER_IDLE)
		return;
	/* one is spare, until the next check */
	wanted = MIN((t->skel->bss->threads_taken >> t->skel->rodata->cfg.thread_bits) + 2, OFFCPU_THREAD_TABLES);
	if (t->err || wanted <= t->cnt)
		return;
	g_thread_join(t->adder);
	begin_to_add(t, wanted);
}
