/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "supply/tables_part.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/quiet_thread.h"
#include "base/urgency.h"
#include "symbolize/process/fileopen.h"

#define BUILDERS_MAX 2
#define HURRY_NICE (-10)
#define FRESH_US 2000000	/* how long a file is taken to be the same by its inode */
#define FILES_KEPT 512		/* number of unused files that are kept */
#define UNUSED_KEPT_US 60000000	/* how long further ones are kept */
/*
 * A table is not overwritten while a program may still use it. Walks take microseconds; the mappings that led to it
 * were withdrawn this long ago.
 */
#define GRACE_US 5000000
#define SWEEP_EVERY_US 2000000
#define SCRIPT_LINE_MAX 256
#define INTERPRETERS_MAX 4	/* depth of interpreters: a script's, and that one's loader */

/* A file by its identity in /proc/PID/maps, to avoid opening it for every process. */
struct seen_file {
	struct maps_file key;
	struct table_file *file;	/* NULL: it cannot be opened */
	int64_t seen_us;
	bool is_published;		/* the kernel's map has the file's table under this key */
};

struct table_files {
	struct slabs *slabs;
	int kernel_fd;
	unsigned changed_cnt;	/* of the kernel's map */
	bool hurries;
	table_files_fn on_built;
	void *data;
	GHashTable *files;	/* struct table_file_key -> struct table_file */
	GHashTable *seen;	/* struct maps_file -> struct seen_file */
	GThreadPool *builders;
	struct table_cache *cache;	/* NULL: none */
	struct table_file *vdso;
	unsigned building;
	uint64_t refused_cnt;
	bool is_short;		/* some files were refused */
	int64_t swept_us;
};

HASH_BYTES(file_key, struct table_file_key)

static void file_free(struct table_files *tf, struct table_file *file)
{
	if (file->table)
		slabs_drop(tf->slabs, file->table);
	g_free(file->segments);
	g_free(file);
}

void table_files_hurry(void)
{
	setpriority(PRIO_PROCESS, (id_t)gettid(), HURRY_NICE);	/* refused: then it takes longer */
}

/* In a builder's thread. It uses only constant fields of *tf. */
static void build(gpointer job, gpointer data)
{
	static _Thread_local bool has_begun;
	struct table_file *file = job;
	struct table_files *tf = data;
	struct unwind_table *table;

	spare_stack_use();
	if (!has_begun)
		urgency_decline();
	if (tf->hurries && !has_begun)
		table_files_hurry();
	has_begun = true;
	table = table_cache_build(tf->cache, file->fd, NULL);
	file->result = TABLE_FILE_WITHOUT;
	if (table) {
		file->base = table->base;
		g_free(file->segments);	/* of an earlier attempt */
		file->segments = g_steal_pointer(&table->segments);
		file->segment_cnt = table->segment_cnt;
		file->table = slabs_store(tf->slabs, table);
		file->result = file->table ? TABLE_FILE_READY : TABLE_FILE_REFUSED;
	}
	unwind_table_free(table);
	go_labels_place_read(file->fd, &file->labels);
	close(file->fd);
	file->fd = -1;
	tf->on_built(file, tf->data);
}

/* Small files first: most programs have few and wait for nothing else. */
static gint compare_jobs(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct table_file *x = a, *y = b;

	return x->key.bytes < y->key.bytes ? -1 : x->key.bytes > y->key.bytes;
}

struct table_files *table_files_new(struct slabs *slabs, int kernel_fd, bool hurries, table_files_fn on_built,
				    void *data)
{
	struct table_files *tf = g_new0(struct table_files, 1);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	tf->slabs = slabs;
	tf->kernel_fd = kernel_fd;
	tf->hurries = hurries;
	tf->on_built = on_built;
	tf->data = data;
	tf->files = g_hash_table_new(file_key_hash, file_key_equal);
	tf->seen = g_hash_table_new_full(maps_file_hash, maps_file_equal, NULL, g_free);
	tf->cache = table_cache_open();
	elf_version(EV_CURRENT);
	/* exclusive: these threads have their own priority */
	tf->builders = g_thread_pool_new(build, tf, (gint)CLAMP(cpus, 1, BUILDERS_MAX), TRUE, NULL);
	g_thread_pool_set_sort_function(tf->builders, compare_jobs, NULL);
	return tf;
}

bool table_files_free(struct table_files *tf)
{
	GHashTableIter iter;
	gpointer file;

	/*
	 * A large file may take a builder long, and the end of a recording must not wait for it: what it works on is
	 * left to it, what is queued is dropped.
	 */
	g_thread_pool_free(tf->builders, TRUE, tf->building == 0);
	if (tf->building)
		return false;
	g_hash_table_iter_init(&iter, tf->files);
	while (g_hash_table_iter_next(&iter, NULL, &file))
		file_free(tf, file);
	if (tf->vdso)
		file_free(tf, tf->vdso);
	g_hash_table_destroy(tf->files);
	g_hash_table_destroy(tf->seen);
	table_cache_close(tf->cache);
	g_free(tf);
	return true;
}

static void queue_build(struct table_files *tf, struct table_file *file, int fd)
{
	file->fd = fd;
	file->state = TABLE_FILE_QUEUED;
	tf->building++;
	g_thread_pool_push(tf->builders, file, NULL);
}

/* shift of struct file_table; false: the executable parts have different offsets from their place in the file. */
static bool shift_of(const struct table_file *file, uint64_t *ret)
{
	bool is_known = false;

	EACH_IN(i, const struct elf_segment, s, file->segments, file->segment_cnt) {
		uint64_t shift = s->off - s->vaddr + file->base;

		if (!s->is_exec)
			continue;
		if (is_known && shift != *ret)
			return false;
		*ret = shift;
		is_known = true;
	}
	return is_known;
}

static struct file_table_key kernel_key(const struct seen_file *seen)
{
	uint32_t major = (uint32_t)(seen->key.device >> 32), minor = (uint32_t)seen->key.device;

	return (struct file_table_key){ .inode = seen->key.inode, .device = major << 20 | minor };
}

static void publish_to_kernel(struct table_files *tf, struct seen_file *seen)
{
	struct table_file *file = seen->file;
	struct file_table_key key = kernel_key(seen);
	uint64_t shift = 0;

	if (seen->is_published || !file || file->state != TABLE_FILE_READY || !shift_of(file, &shift))
		return;
	const struct file_table table = {
		.bytes = file->key.bytes,
		.changed_ns = (uint64_t)file->key.mtime_s * 1000000000 + (uint64_t)file->key.mtime_ns,
		.shift = shift, .rows_block = file->table->rows_block,
		.index_block = file->table->index_block, .page_cnt = file->table->page_cnt,
	};

	if (bpf_map_update_elem(tf->kernel_fd, &key, &table, BPF_ANY))
		return;	/* no room: such programs are walked by frame pointer, as before */
	seen->is_published = true;
	file->published_cnt++;
	table_file_use(file);
	tf->changed_cnt++;
}

/* Later walks do not find the table; current ones end before it is dropped (GRACE_US). */
static void withdraw_from_kernel(struct table_files *tf, struct seen_file *seen)
{
	struct file_table_key key = kernel_key(seen);

	if (!seen->is_published)
		return;
	bpf_map_delete_elem(tf->kernel_fd, &key);
	seen->is_published = false;
	tf->changed_cnt++;
	seen->file->published_cnt--;
	table_file_unuse(seen->file);
}

unsigned table_files_changed_cnt(const struct table_files *tf)
{
	return tf->changed_cnt;
}

void table_files_built(struct table_files *tf, struct table_file *file)
{
	GHashTableIter iter;
	gpointer value;

	tf->building--;
	file->state = file->result;
	g_hash_table_iter_init(&iter, tf->seen);
	while (file->state == TABLE_FILE_READY && g_hash_table_iter_next(&iter, NULL, &value))
		if (((struct seen_file *)value)->file == file)
			publish_to_kernel(tf, value);
	if (file->state != TABLE_FILE_REFUSED)
		return;
	tf->refused_cnt++;
	tf->is_short = true;
}

unsigned table_files_building(const struct table_files *tf)
{
	return tf->building;
}

uint64_t table_files_refused_cnt(const struct table_files *tf)
{
	return tf->refused_cnt;
}

void table_file_use(struct table_file *file)
{
	file->users++;
}

void table_file_unuse(struct table_file *file)
{
	if (!--file->users)
		file->unused_us = g_get_monotonic_time();
}

/* The kernel's own code in every process: ours is the same. */
static struct table_file *vdso_file(struct table_files *tf)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = 2 * (size_t)sysconf(_SC_PAGESIZE);
	int fd;

	if (tf->vdso)
		return tf->vdso;
	tf->vdso = g_new0(struct table_file, 1);
	tf->vdso->state = TABLE_FILE_WITHOUT;
	fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	if (fd < 0)
		return tf->vdso;
	/* it is one or two pages long; what follows may be unreadable */
	while (bytes && write(fd, image, bytes) != (ssize_t)bytes)
		bytes -= (size_t)sysconf(_SC_PAGESIZE);
	if (bytes)
		queue_build(tf, tf->vdso, fd);
	else
		close(fd);
	return tf->vdso;
}

/* The file behind an O_PATH descriptor, queued if it is new. */
static struct table_file *file_held(struct table_files *tf, int held, const struct stat *st)
{
	struct table_file_key key = { st->st_dev, st->st_ino, (uint64_t)st->st_size, st->st_mtim.tv_sec,
				      st->st_mtim.tv_nsec };
	struct table_file *file = g_hash_table_lookup(tf->files, &key);
	int fd;

	if (file && file->state != TABLE_FILE_RETRY)
		return file;
	if (!file) {
		file = g_new0(struct table_file, 1);
		file->key = key;
		file->unused_us = g_get_monotonic_time();
		g_hash_table_insert(tf->files, &file->key, file);
	}
	file->state = TABLE_FILE_WITHOUT;
	fd = opener_read_held(held);
	if (fd >= 0)
		queue_build(tf, file, fd);
	return file;
}

static struct table_file *open_mapped(struct table_files *tf, uint32_t pid, const struct maps_line *line)
{
	struct table_file *file;
	struct stat st;
	int held = file_hold_line("/proc", pid, line, true, &st);

	if (held < 0)
		return NULL;
	file = file_held(tf, held, &st);
	close(held);
	return file;
}

struct table_file *table_files_of_mapping(struct table_files *tf, uint32_t pid, const struct maps_line *line)
{
	struct maps_file key = maps_file_of(line);
	int64_t now_us = g_get_monotonic_time();
	struct seen_file *seen;
	struct table_file *file;

	if (strcmp(line->path, "[vdso]") == 0)
		return vdso_file(tf);
	if (!line->inode)
		return NULL;
	seen = g_hash_table_lookup(tf->seen, &key);
	if (seen && now_us - seen->seen_us < FRESH_US && (!seen->file || seen->file->state != TABLE_FILE_RETRY))
		return seen->file;
	file = open_mapped(tf, pid, line);
	if (!file && errno != EPERM)	/* the process may have ended; but a refused file stays refused */
		return NULL;
	if (!seen) {
		seen = g_new0(struct seen_file, 1);
		seen->key = key;
		g_hash_table_insert(tf->seen, &seen->key, seen);
	}
	if (seen->file != file)
		withdraw_from_kernel(tf, seen);
	seen->file = file;
	seen->seen_us = now_us;
	publish_to_kernel(tf, seen);
	return file;
}

bool table_files_suffice(const struct table_files *tf, const struct maps_file *id)
{
	const struct seen_file *seen = g_hash_table_lookup(tf->seen, id);

	return seen && seen->is_published && !seen->file->labels.labels_at;
}

/* The interpreter of a program: from a script's first line, or PT_INTERP. NULL: none. */
static char *interpreter_of(int fd)
{
	char text[SCRIPT_LINE_MAX + 1], *path = NULL;
	struct elf_file elf;
	GElf_Phdr ph;
	ssize_t n = pread(fd, text, SCRIPT_LINE_MAX, 0);

	if (n <= 2)
		return NULL;
	text[n] = '\0';
	if (text[0] == '#' && text[1] == '!') {
		char *begin = text + 2 + strspn(text + 2, " \t");

		return g_strndup(begin, strcspn(begin, " \t\n"));
	}
	if (elf_file_open(&elf, fd, NULL) && elf_file_phdr(&elf, PT_INTERP, &ph) && ph.p_offset <= INT64_MAX &&
	    (n = pread(fd, text, MIN(ph.p_filesz, SCRIPT_LINE_MAX), (off_t)ph.p_offset)) > 0) {
		text[n] = '\0';
		path = g_strdup(text);
	}
	elf_file_close(&elf);
	return path;
}

void table_files_prefetch(struct table_files *tf, const char *path)
{
	g_autofree char *at = g_strdup(path);

	for (unsigned i = 0; at && at[0] == '/' && i < INTERPRETERS_MAX; i++) {
		struct stat st;
		int held = file_hold_here(at, &st), fd;

		if (held < 0)
			return;
		file_held(tf, held, &st);
		fd = opener_read_held(held);
		close(held);
		g_free(at);
		at = fd >= 0 ? interpreter_of(fd) : NULL;
		if (fd >= 0)
			close(fd);
	}
}

static bool is_forgettable(const struct table_file *file, int64_t before_us)
{
	return !file->users && file->state != TABLE_FILE_QUEUED && file->unused_us < before_us;
}

/* First removes unmapped files from the kernel's map; their tables go with a later sweep. */
static void forget_seen(struct table_files *tf, int64_t before_us)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, tf->seen);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct seen_file *seen = value;
		const struct table_file *file = seen->file;

		if (file && !seen->is_published ? !is_forgettable(file, before_us) : seen->seen_us >= before_us)
			continue;
		if (seen->is_published && file->users > file->published_cnt)
			continue;
		withdraw_from_kernel(tf, seen);
		g_hash_table_iter_remove(&iter);
	}
}

bool table_files_sweep(struct table_files *tf)
{
	int64_t now_us = g_get_monotonic_time(), before_us = now_us - (tf->is_short ? GRACE_US : UNUSED_KEPT_US);
	bool is_freed = false, was_short = tf->is_short;
	GHashTableIter iter;
	gpointer value;

	if (now_us - tf->swept_us < SWEEP_EVERY_US || (!was_short && g_hash_table_size(tf->files) <= FILES_KEPT))
		return false;
	tf->swept_us = now_us;
	forget_seen(tf, before_us);
	g_hash_table_iter_init(&iter, tf->files);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (is_forgettable(value, before_us)) {
			struct table_file *file = value;

			is_freed |= file->table != NULL;
			g_hash_table_iter_remove(&iter);
			file_free(tf, file);
		}
	if (!is_freed || !was_short)
		return false;
	tf->is_short = false;
	g_hash_table_iter_init(&iter, tf->files);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (((struct table_file *)value)->state == TABLE_FILE_REFUSED)
			((struct table_file *)value)->state = TABLE_FILE_RETRY;
	return true;
}
