/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/space_abi.h"
#include "symbolize/fileopen.h"
#include "symbolize/maps.h"
#include "unwind/table.h"

#define MAPS_TEXT_MAX (16 << 20)

#define YOUNG_US 50000		/* most short-lived processes are gone by then */
#define FRESH_US 2000000	/* a file seen by its inode is taken for the same so long */
#define SEGMENTS_MAX 16

/* Executable segments: file offset to virtual address. */
struct segments {
	unsigned cnt;
	struct {
		uint64_t offset, vaddr, bytes;
	} segment[SEGMENTS_MAX];
};

/* A file, as it was when mapped. */
struct file_key {
	uint64_t device, inode, bytes;
	int64_t mtime_s, mtime_ns;
};

enum file_state { FILE_QUEUED, FILE_READY, FILE_WITHOUT };

struct table_file {
	struct file_key key;
	enum file_state state;
	/* the builder's until it is handed over */
	enum file_state result;
	uint64_t base;
	struct segments segments;
	uint32_t rows_block, index_block, page_cnt, row_cnt;
	int fd;
};

struct program_mapping {
	uint64_t start, end, pgoff;
	struct table_file *file;
};

/* What runs in a process. */
struct program {
	uint32_t pid;
	uint64_t space;
	GArray *mappings;	/* struct program_mapping, by address */
	bool stale;		/* it has mapped more since, or was never looked at */
	int64_t due_us;		/* look at it from then on */
	bool is_new;		/* the mappings have not been handed over since they were read */
	bool published;
};

/* A file by what /proc/PID/maps says of it, to save opening it for every process. */
struct inode_key {
	uint64_t device, inode;
};

struct seen_file {
	struct inode_key key;
	struct table_file *file;
	int64_t seen_us;
};

struct tables {
	int slabs_fd, spaces_fd;
	GHashTable *files;	/* struct file_key -> struct table_file */
	GHashTable *seen;	/* struct inode_key -> struct seen_file */
	GHashTable *programs;	/* pid -> struct program */
	GThreadPool *builder;
	GAsyncQueue *built;	/* struct table_file */
	unsigned building;
	bool changed;		/* programs to look at again */
	uint32_t generation;
	/* the builder's */
	uint32_t next_block, slab_cnt;
	struct unwind_block *slab;	/* the newest, mapped */
	struct table_file *vdso;
	uint64_t refused_cnt;
};

static guint file_key_hash(gconstpointer p)
{
	const struct file_key *k = p;
	uint64_t h = (k->inode ^ k->device << 40 ^ k->bytes << 20 ^ (uint64_t)k->mtime_ns) * 0x9e3779b97f4a7c15ULL;

	return (guint)(h >> 32);
}

static gboolean file_key_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct file_key)) == 0;
}

static guint inode_key_hash(gconstpointer p)
{
	const struct inode_key *k = p;

	return (guint)((k->inode ^ k->device << 40) * 0x9e3779b97f4a7c15ULL >> 32);
}

static gboolean inode_key_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct inode_key)) == 0;
}

static void program_free(gpointer p)
{
	struct program *program = p;

	g_array_unref(program->mappings);
	g_free(program);
}

static void file_free(gpointer p)
{
	struct table_file *file = p;

	g_free(file);
}

static void read_segments(int fd, struct segments *ret)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	size_t cnt = 0;
	GElf_Phdr ph;

	ret->cnt = 0;
	if (elf && elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &cnt) == 0)
		for (size_t i = 0; i < MIN(cnt, 4096) && ret->cnt < SEGMENTS_MAX; i++) {
			if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
				continue;
			ret->segment[ret->cnt].offset = ph.p_offset;
			ret->segment[ret->cnt].vaddr = ph.p_vaddr;
			ret->segment[ret->cnt++].bytes = ph.p_filesz;
		}
	elf_end(elf);
}

/* Of the file offset at which a mapping begins: a page's start, perhaps before the segment's. */
static bool segments_vaddr(const struct segments *s, uint64_t offset, uint64_t *ret_vaddr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < s->cnt; i++) {
		uint64_t first = s->segment[i].offset & ~(page - 1);
		if (offset < first || offset - first >= s->segment[i].bytes + (s->segment[i].offset - first))
			continue;
		*ret_vaddr = s->segment[i].vaddr + (offset - s->segment[i].offset);
		return true;
	}
	return false;
}

static void build(gpointer job, gpointer data);
static void hand_over(struct tables *t, struct table_file *file);

struct tables *tables_new(int slabs_fd, int spaces_fd)
{
	struct tables *t = g_new0(struct tables, 1);

	/* our own: the builder may outlive the caller's */
	t->slabs_fd = fcntl(slabs_fd, F_DUPFD_CLOEXEC, 0);
	t->spaces_fd = fcntl(spaces_fd, F_DUPFD_CLOEXEC, 0);
	t->files = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, file_free);
	t->seen = g_hash_table_new_full(inode_key_hash, inode_key_equal, NULL, g_free);
	t->programs = g_hash_table_new_full(NULL, NULL, NULL, program_free);
	t->built = g_async_queue_new();
	elf_version(EV_CURRENT);
	t->builder = g_thread_pool_new(build, t, 1, FALSE, NULL);
	return t;
}

void tables_free(struct tables *t)
{
	struct table_file *file;

	if (!t)
		return;
	while ((file = g_async_queue_try_pop(t->built)))
		hand_over(t, file);
	g_hash_table_destroy(t->programs);
	g_hash_table_destroy(t->seen);
	/*
	 * A large file may take the builder seconds, and nobody should wait for it at the end of a
	 * recording: what it still works on is left to it, what is queued is dropped.
	 */
	if (t->building) {
		g_thread_pool_free(t->builder, TRUE, FALSE);
		return;
	}
	g_thread_pool_free(t->builder, TRUE, TRUE);
	if (t->slab)
		munmap(t->slab, SPACE_SLAB_BLOCKS * sizeof(*t->slab));
	g_async_queue_unref(t->built);
	close(t->slabs_fd);
	close(t->spaces_fd);
	g_hash_table_destroy(t->files);
	if (t->vdso)
		file_free(t->vdso);
	g_free(t);
}

/* The kernel's slabs. */

static bool add_slab(struct tables *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	size_t bytes = SPACE_SLAB_BLOCKS * sizeof(struct unwind_block);
	uint32_t number = t->slab_cnt;
	void *memory;
	int fd;

	if (number >= SPACE_SLABS_MAX)
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(uint32_t), sizeof(struct unwind_block),
			    SPACE_SLAB_BLOCKS, &opts);
	if (fd < 0)
		return false;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED || bpf_map_update_elem(t->slabs_fd, &number, &fd, BPF_ANY)) {
		if (memory != MAP_FAILED)
			munmap(memory, bytes);
		close(fd);
		return false;
	}
	close(fd);	/* the map of slabs keeps it */
	if (t->slab)
		munmap(t->slab, bytes);
	t->slab = memory;
	t->slab_cnt++;
	return true;
}

/* Copies n items into blocks of per_block items that begin a block; false when there is no room. */
static bool store(struct tables *t, const void *items, size_t item_bytes, size_t n, size_t per_block,
		  uint32_t *ret_block)
{
	const char *from = items;

	*ret_block = t->next_block;
	while (n) {
		uint32_t in_slab = t->next_block % SPACE_SLAB_BLOCKS;
		size_t now = MIN(n, per_block);

		if (t->next_block / SPACE_SLAB_BLOCKS >= t->slab_cnt && !add_slab(t))
			return false;
		memcpy(&t->slab[in_slab], from, now * item_bytes);
		from += now * item_bytes;
		n -= now;
		t->next_block++;
	}
	return true;
}

/*
 * In the builder's thread, which alone fills slabs: a new one waits until no program can
 * still run with the old map of slabs.  Of *t nothing else is touched but the queue.
 */
static void build(gpointer job, gpointer data)
{
	struct table_file *file = job;
	struct tables *t = data;
	struct unwind_table *table = unwind_table_build(file->fd, NULL);

	file->result = FILE_WITHOUT;
	if (table) {
		read_segments(file->fd, &file->segments);
		file->base = table->base;
		file->page_cnt = table->page_cnt;
		file->row_cnt = table->row_cnt;
		if (store(t, table->rows, sizeof(*table->rows), table->row_cnt, SPACE_BLOCK_ROWS,
			  &file->rows_block) &&
		    store(t, table->index, sizeof(*table->index), (size_t)table->page_cnt + 1,
			  SPACE_BLOCK_INDEX, &file->index_block))
			file->result = FILE_READY;
	}
	unwind_table_free(table);
	close(file->fd);
	file->fd = -1;
	g_async_queue_push(t->built, file);
}

static void hand_over(struct tables *t, struct table_file *file)
{
	file->state = file->result;
	t->building--;
	t->changed = true;
	if (file->state != FILE_READY && file->row_cnt)
		t->refused_cnt++;
}

/* Files and programs. */

static void queue(struct tables *t, struct table_file *file, int fd)
{
	file->fd = fd;
	file->state = FILE_QUEUED;
	t->building++;
	g_thread_pool_push(t->builder, file, NULL);
}

/* The kernel's own code in every process: ours is the same. */
static struct table_file *vdso_file(struct tables *t)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = 2 * (size_t)sysconf(_SC_PAGESIZE);
	int fd;

	if (t->vdso)
		return t->vdso;
	t->vdso = g_new0(struct table_file, 1);
	t->vdso->state = FILE_WITHOUT;
	fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	if (fd < 0)
		return t->vdso;
	/* it is one or two pages long; what lies behind it may be unreadable */
	while (bytes && write(fd, image, bytes) != (ssize_t)bytes)
		bytes -= (size_t)sysconf(_SC_PAGESIZE);
	if (bytes)
		queue(t, t->vdso, fd);
	else
		close(fd);
	return t->vdso;
}

static struct table_file *open_mapped(struct tables *t, uint32_t pid, const struct maps_line *line)
{
	struct table_file *file;
	struct stat st;
	int held = file_hold_mapped("/proc", pid, line->start, line->end, &st), fd;

	if (held < 0)
		return NULL;
	struct file_key key = { st.st_dev, st.st_ino, (uint64_t)st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec };
	file = g_hash_table_lookup(t->files, &key);
	if (!file) {
		file = g_new0(struct table_file, 1);
		file->key = key;
		file->state = FILE_WITHOUT;
		g_hash_table_insert(t->files, &file->key, file);
		fd = file_open_held(held);
		if (fd >= 0)
			queue(t, file, fd);
	}
	close(held);
	return file;
}

static struct table_file *file_of(struct tables *t, uint32_t pid, const struct maps_line *line)
{
	struct inode_key key = { (uint64_t)line->dev_major << 32 | line->dev_minor, line->inode };
	int64_t now_us = g_get_monotonic_time();
	struct seen_file *seen;

	if (strcmp(line->path, "[vdso]") == 0)
		return vdso_file(t);
	if (!line->inode)
		return NULL;
	seen = g_hash_table_lookup(t->seen, &key);
	if (seen && now_us - seen->seen_us < FRESH_US)
		return seen->file;
	struct table_file *file = open_mapped(t, pid, line);
	if (!file)
		return NULL;
	if (!seen) {
		seen = g_new0(struct seen_file, 1);
		seen->key = key;
		g_hash_table_insert(t->seen, &seen->key, seen);
	}
	seen->file = file;
	seen->seen_us = now_us;
	return file;
}

/* False when the process is gone. */
static bool read_mappings(struct tables *t, struct program *program)
{
	char path[40];
	size_t len;

	g_snprintf(path, sizeof(path), "/proc/%u/maps", program->pid);
	g_autofree char *text = file_read_text(path, MAPS_TEXT_MAX, &len);
	if (!text || !len)
		return false;
	g_array_set_size(program->mappings, 0);
	program->stale = false;
	program->is_new = true;
	for (char *line = text, *next; line && *line; line = next) {
		struct maps_line m;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!maps_parse_line(line, &m) || !m.is_exec)
			continue;
		struct program_mapping mapping = { m.start, m.end, m.pgoff, file_of(t, program->pid, &m) };
		if (mapping.file)
			g_array_append_val(program->mappings, mapping);
	}
	return true;
}

static bool is_ready(const struct program *program)
{
	for (guint i = 0; i < program->mappings->len; i++)
		if (g_array_index(program->mappings, struct program_mapping, i).file->state == FILE_QUEUED)
			return false;
	return true;
}

static bool publish(struct tables *t, struct program *program)
{
	g_autofree struct space *space = g_new0(struct space, 1);

	for (guint i = 0; i < program->mappings->len && space->cnt < SPACE_MAPPINGS_MAX; i++) {
		const struct program_mapping *m =
			&g_array_index(program->mappings, struct program_mapping, i);
		uint64_t vaddr;

		if (m->file->state != FILE_READY || !segments_vaddr(&m->file->segments, m->pgoff, &vaddr))
			continue;
		space->mapping[space->cnt++] = (struct space_mapping){
			.start = m->start, .end = m->end, .bias = m->start - vaddr + m->file->base,
			.rows_block = m->file->rows_block, .index_block = m->file->index_block,
			.page_cnt = m->file->page_cnt,
		};
	}
	space->generation = ++t->generation;
	program->is_new = false;
	program->published = bpf_map_update_elem(t->spaces_fd, &program->space, space, BPF_ANY) == 0;
	return program->published;
}

static void withdraw(struct tables *t, struct program *program)
{
	if (program->published)
		bpf_map_delete_elem(t->spaces_fd, &program->space);
	program->published = false;
}

void tables_want(struct tables *t, uint32_t pid, uint64_t space, bool is_young)
{
	struct program *program = g_hash_table_lookup(t->programs, GUINT_TO_POINTER(pid));

	if (program && program->space == space)
		return;
	if (program)
		withdraw(t, program);
	program = g_new0(struct program, 1);
	program->pid = pid;
	program->space = space;
	program->mappings = g_array_new(FALSE, FALSE, sizeof(struct program_mapping));
	program->stale = true;
	program->due_us = is_young ? g_get_monotonic_time() + YOUNG_US : 0;
	g_hash_table_insert(t->programs, GUINT_TO_POINTER(pid), program);
	t->changed = true;
}

void tables_note_mmap(struct tables *t, uint32_t pid)
{
	struct program *program = g_hash_table_lookup(t->programs, GUINT_TO_POINTER(pid));

	if (program)
		program->stale = t->changed = true;
}

void tables_note_loss(struct tables *t)
{
	GHashTableIter iter;
	gpointer program;

	g_hash_table_iter_init(&iter, t->programs);
	while (g_hash_table_iter_next(&iter, NULL, &program))
		((struct program *)program)->stale = true;
	t->changed = true;
}

void tables_note_exit(struct tables *t, uint32_t pid)
{
	struct program *program = g_hash_table_lookup(t->programs, GUINT_TO_POINTER(pid));

	if (!program)
		return;
	withdraw(t, program);
	g_hash_table_remove(t->programs, GUINT_TO_POINTER(pid));
}

/* False when there is no use in it any more. */
static bool look_at_program(struct tables *t, struct program *program, int64_t now_us)
{
	if (program->stale && program->due_us > now_us) {
		t->changed = true;	/* later */
		return true;
	}
	if (program->stale && !read_mappings(t, program))
		return false;
	if (program->is_new && is_ready(program))
		publish(t, program);
	return true;
}

bool tables_poll(struct tables *t)
{
	int64_t now_us = g_get_monotonic_time();
	struct table_file *file;
	GHashTableIter iter;
	gpointer value;

	while ((file = g_async_queue_try_pop(t->built)))
		hand_over(t, file);
	if (!t->changed)
		return t->building == 0;
	t->changed = false;
	g_hash_table_iter_init(&iter, t->programs);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (!look_at_program(t, value, now_us)) {
			withdraw(t, value);
			g_hash_table_iter_remove(&iter);
		}
	return t->building == 0;
}

uint64_t tables_published_cnt(const struct tables *t)
{
	return t->generation;
}

uint64_t tables_refused_cnt(const struct tables *t)
{
	return t->refused_cnt;
}
