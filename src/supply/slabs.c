/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/tables_part.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/error.h"
#include "base/hash.h"

/* No file takes more than this fraction of the free room: a crafted large one must not take it all. */
#define SHARE_MAX 4
#define SLAB_BYTES (SPACE_SLAB_BLOCKS * sizeof(struct unwind_block))

struct slabs {
	GMutex lock;
	uint32_t slab_flags;	/* flags in the BPF object's declaration */
	int outer_fd;
	int spare_fd;		/* a slab that is in no map yet, or -1 */
	int slab_fd[SPACE_SLABS_MAX];
	uint32_t slab_cnt;
	uint32_t mapped_no;	/* one is mapped at a time, as mappings count as our memory */
	char *mapped;
	struct extents *room;
	GHashTable *stored;	/* struct slab_table by hash of its contents */
};

HASH_KEY(stored, struct slab_table, hash, row_cnt, page_cnt)

int slabs_create_map(struct bpf_map *like, int inner_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(like));
	int fd;

	if (inner_fd >= 0)
		opts.inner_map_fd = (__u32)inner_fd;
	fd = bpf_map_create(bpf_map__type(like), bpf_map__name(like), bpf_map__key_size(like),
			    bpf_map__value_size(like), bpf_map__max_entries(like), &opts);
	return fd < 0 ? -errno : fd;
}

static int create_slab(struct slabs *s)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = s->slab_flags);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(uint32_t), sizeof(struct unwind_block),
			      SPACE_SLAB_BLOCKS, &opts);
}

struct slabs *slabs_new(struct bpf_map *outer, GError **error)
{
	struct slabs *s = g_new0(struct slabs, 1);
	int err;

	s->slab_flags = bpf_map__map_flags(bpf_map__inner_map(outer));
	s->room = extents_new();
	s->stored = g_hash_table_new(stored_hash, stored_equal);
	s->spare_fd = create_slab(s);
	s->outer_fd = s->spare_fd < 0 ? -errno : slabs_create_map(outer, s->spare_fd);
	err = s->outer_fd < 0 ? s->outer_fd : bpf_map__reuse_fd(outer, s->outer_fd);
	if (!err)
		return s;
	attach_set_error(error, err, "make room for unwind tables");
	slabs_free(s);
	return NULL;
}

void slabs_free(struct slabs *s)
{
	if (!s)
		return;
	if (s->mapped)
		munmap(s->mapped, SLAB_BYTES);
	for (uint32_t i = 0; i < s->slab_cnt; i++)
		close(s->slab_fd[i]);
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	if (s->outer_fd >= 0)
		close(s->outer_fd);
	g_hash_table_destroy(s->stored);
	extents_free(s->room);
	g_free(s);
}

/*
 * Adds slabs. Inserting one into the map of slabs waits for running programs; several at once wait only once where the
 * kernel can (Linux 6.8).
 */
static bool add_slabs(struct slabs *s, uint32_t cnt)
{
	uint32_t numbers[SPACE_SLABS_MAX], done = 0, added = cnt;

	if (cnt > SPACE_SLABS_MAX - s->slab_cnt)
		return false;
	for (; done < cnt; done++) {
		int fd = done ? create_slab(s) : s->spare_fd >= 0 ? s->spare_fd : create_slab(s);

		if (fd < 0)
			break;
		numbers[done] = s->slab_cnt + done;
		s->slab_fd[s->slab_cnt + done] = fd;
		s->spare_fd = -1;
	}
	if (done < cnt || bpf_map_update_batch(s->outer_fd, numbers, &s->slab_fd[s->slab_cnt], &added, NULL))
		for (added = 0; added < done; added++)
			if (bpf_map_update_elem(s->outer_fd, &numbers[added], &s->slab_fd[s->slab_cnt + added],
						BPF_ANY))
				break;
	for (uint32_t i = added; i < done; i++)
		close(s->slab_fd[s->slab_cnt + i]);
	extents_give(s->room, s->slab_cnt * SPACE_SLAB_BLOCKS, added * SPACE_SLAB_BLOCKS);
	s->slab_cnt += added;
	return added == cnt;
}

/* The bytes from an offset in the slabs to the end of its slab; NULL when it cannot be mapped. */
static char *bytes_at(struct slabs *s, uint64_t offset, size_t *ret_bytes)
{
	uint32_t no = (uint32_t)(offset / SLAB_BYTES);

	if (s->mapped && s->mapped_no != no) {
		munmap(s->mapped, SLAB_BYTES);
		s->mapped = NULL;
	}
	if (!s->mapped) {
		void *memory = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->slab_fd[no], 0);

		if (memory == MAP_FAILED)
			return NULL;
		s->mapped = memory;
		s->mapped_no = no;
	}
	*ret_bytes = SLAB_BYTES - offset % SLAB_BYTES;
	return s->mapped + offset % SLAB_BYTES;
}

/* Blocks are adjacent, and are filled with rows and index entries. */
static bool write_at(struct slabs *s, uint32_t block, const void *items, size_t bytes)
{
	uint64_t offset = (uint64_t)block * sizeof(struct unwind_block);
	const char *from = items;

	while (bytes) {
		size_t room, now;
		char *to = bytes_at(s, offset, &room);

		if (!to)
			return false;
		now = MIN(bytes, room);
		memcpy(to, from, now);
		from += now;
		offset += now;
		bytes -= now;
	}
	return true;
}

static bool is_at(struct slabs *s, uint32_t block, const void *items, size_t bytes)
{
	uint64_t offset = (uint64_t)block * sizeof(struct unwind_block);
	const char *with = items;

	while (bytes) {
		size_t room, now;
		const char *at = bytes_at(s, offset, &room);

		now = at ? MIN(bytes, room) : 0;
		if (!at || memcmp(at, with, now) != 0)
			return false;
		with += now;
		offset += now;
		bytes -= now;
	}
	return true;
}

static size_t row_bytes(const struct unwind_table *t)
{
	return t->row_cnt * sizeof(*t->rows);
}

static size_t index_bytes(const struct unwind_table *t)
{
	return ((size_t)t->page_cnt + 1) * sizeof(*t->index);
}

static uint64_t hash_of(const struct unwind_table *t)
{
	uint64_t h = t->row_cnt, word;

	G_STATIC_ASSERT(sizeof(*t->rows) == sizeof(word));
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		memcpy(&word, &t->rows[i], sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h;
}

/* The stored table of the same contents. An equal hash is no proof: the file's author may have forged it. */
static struct slab_table *find_equal(struct slabs *s, const struct unwind_table *t, uint64_t hash)
{
	struct slab_table key = { .hash = hash, .row_cnt = t->row_cnt, .page_cnt = t->page_cnt };
	struct slab_table *found = g_hash_table_lookup(s->stored, &key);

	if (!found || !is_at(s, found->rows_block, t->rows, row_bytes(t)) ||
	    !is_at(s, found->index_block, t->index, index_bytes(t)))
		return NULL;
	return found;
}

/* Adjacent blocks, in new slabs if need be. */
static bool take_blocks(struct slabs *s, uint32_t cnt, uint32_t *ret_first)
{
	uint32_t tail, missing;
	uint64_t left;

	left = extents_free_cnt(s->room) + (uint64_t)(SPACE_SLABS_MAX - s->slab_cnt) * SPACE_SLAB_BLOCKS;
	if (cnt > left / SHARE_MAX)
		return false;
	if (extents_take(s->room, cnt, ret_first))
		return true;
	tail = extents_tail(s->room, s->slab_cnt * SPACE_SLAB_BLOCKS);
	missing = (cnt - tail + SPACE_SLAB_BLOCKS - 1) / SPACE_SLAB_BLOCKS;
	return add_slabs(s, missing) && extents_take(s->room, cnt, ret_first);
}

static struct slab_table *store(struct slabs *s, const struct unwind_table *t, uint64_t hash)
{
	uint32_t rows_blocks = (t->row_cnt + SPACE_BLOCK_ROWS - 1) / SPACE_BLOCK_ROWS;
	uint32_t index_blocks = (t->page_cnt + SPACE_BLOCK_INDEX) / SPACE_BLOCK_INDEX, first;
	struct slab_table *stored;

	if (!take_blocks(s, rows_blocks + index_blocks, &first))
		return NULL;
	if (!write_at(s, first, t->rows, row_bytes(t)) ||
	    !write_at(s, first + rows_blocks, t->index, index_bytes(t))) {
		extents_give(s->room, first, rows_blocks + index_blocks);
		return NULL;
	}
	stored = g_new0(struct slab_table, 1);
	*stored = (struct slab_table){ .rows_block = first,
				       .index_block = first + rows_blocks,
				       .row_cnt = t->row_cnt,
				       .page_cnt = t->page_cnt,
				       .hash = hash,
				       .block_cnt = rows_blocks + index_blocks };
	stored->is_known = !g_hash_table_contains(s->stored, stored);
	if (stored->is_known)
		g_hash_table_add(s->stored, stored);
	return stored;
}

struct slab_table *slabs_store(struct slabs *s, const struct unwind_table *t)
{
	uint64_t hash = hash_of(t);
	struct slab_table *stored;

	g_mutex_lock(&s->lock);
	stored = find_equal(s, t, hash);
	if (!stored)
		stored = store(s, t, hash);
	if (stored)
		stored->users++;
	g_mutex_unlock(&s->lock);
	return stored;
}

void slabs_drop(struct slabs *s, struct slab_table *t)
{
	g_mutex_lock(&s->lock);
	if (!--t->users) {
		extents_give(s->room, t->rows_block, t->block_cnt);
		if (t->is_known)
			g_hash_table_remove(s->stored, t);
		g_free(t);
	}
	g_mutex_unlock(&s->lock);
}
