/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/data_symbols.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/module.h"
#include "base/opener/opener.h"
#include "symbolize/elf/table.h"
#include "symbolize/names/demangle.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"

#define MAPS_MAX_BYTES (16 << 20)
#define PROCESSES_MAX 256	/* limit of cached processes */
#define PROCESSES_FEW 32	/* with more than this, those unused for a while are removed */
#define ASKED_US 10000000
#define FILES_MAX 1024
#define VARIABLES_MAX_BYTES ((size_t)256 << 20)	/* for all files together; a browser's debug file has 20 MiB */
#define THREADS_MAX 4096	/* per process, for finding stacks */
/* Mappings of a process are read again for unknown addresses, after a pause, or if older than FRESH_US. */
#define PAUSE_US 10000
#define PAUSE_TIMES 20	/* minimum pause in durations of the last reading */
#define STALE_US 2000000
#define SEMAPHORE_PREFIX "sem."
#define SEMAPHORES_MAX 4096	/* limit of files to check */
#define ARENA_BYTES (UINT64_C(64) << 20)	/* glibc's HEAP_MAX_SIZE, to which a thread's heap is aligned */

struct stack {
	uint64_t sp;
	uint32_t tid;
};

struct process {
	uint64_t space;
	uint32_t pid;
	char *text;		/* text of /proc/PID/maps, which contains the paths */
	GArray *maps;		/* struct maps_line, by address */
	GArray *stacks;		/* struct stack; NULL: not read yet */
	int64_t read_us, took_us;
};

struct data_symbols {
	char *proc_dir, *debug_dir;
	GHashTable *processes;	/* uint64_t space -> struct process */
	GHashTable *files;	/* struct maps_file -> struct data_file, NULL: not an ELF file */
	size_t variables_bytes;	/* memory used by these */
	GStringChunk *strings;
};

static void process_free(gpointer data)
{
	struct process *p = data;

	g_array_unref(p->maps);
	if (p->stacks)
		g_array_unref(p->stacks);
	g_free(p->text);
	g_free(p);
}

static void file_free(gpointer data)
{
	if (data)
		data_file_clear(data);
	g_free(data);
}

struct data_symbols *data_symbols_new(const char *proc_dir, const char *debug_dir)
{
	struct data_symbols *d = g_new0(struct data_symbols, 1);

	d->proc_dir = g_strdup(proc_dir);
	d->debug_dir = g_strdup(debug_dir);
	d->processes = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, process_free);
	d->files = g_hash_table_new_full(maps_file_hash, maps_file_equal, g_free, file_free);
	d->strings = g_string_chunk_new(4096);
	return d;
}

FREES(data_symbols_free, struct data_symbols, d, g_hash_table_destroy(d->processes); g_hash_table_destroy(d->files);
      g_string_chunk_free(d->strings); g_free(d->proc_dir); g_free(d->debug_dir))

GStringChunk *data_symbols_begin_forgetting(struct data_symbols *d)
{
	GStringChunk *forgotten = d->strings;

	d->strings = g_string_chunk_new(4096);
	/* at half already, so that there is room for another program */
	if (g_hash_table_size(d->files) > FILES_MAX / 2 || d->variables_bytes > VARIABLES_MAX_BYTES / 2) {
		g_hash_table_remove_all(d->files);
		d->variables_bytes = 0;
	}
	return forgotten;
}

void data_symbols_keep(struct data_symbols *d, struct data_place *place)
{
	if (place->name)
		place->name = g_string_chunk_insert_const(d->strings, place->name);
	if (place->module)
		place->module = g_string_chunk_insert_const(d->strings, place->module);
}

static void read_maps(const struct data_symbols *d, struct process *p)
{
	int64_t began_us = g_get_monotonic_time();
	char *text = living_maps(d->proc_dir, p->pid, MAPS_MAX_BYTES);

	p->read_us = g_get_monotonic_time();
	p->took_us = p->read_us - began_us;
	if (!text || !*text) {	/* the process is gone: keep what is known */
		g_free(text);
		return;
	}
	g_free(p->text);
	p->text = text = g_realloc(text, strlen(text) + 1);	/* shrink it: it was read into a larger buffer */
	g_array_unref(p->maps);
	p->maps = maps_lines(text);
	g_clear_pointer(&p->stacks, g_array_unref);
}

/* A process in use was read anew before. */
static gboolean is_old(gpointer space, gpointer process, gpointer now_us)
{
	return *(const int64_t *)now_us - ((const struct process *)process)->read_us > ASKED_US;
}

static void make_room(struct data_symbols *d)
{
	int64_t now_us = g_get_monotonic_time();

	if (g_hash_table_size(d->processes) >= PROCESSES_FEW)
		g_hash_table_foreach_remove(d->processes, is_old, &now_us);
	if (g_hash_table_size(d->processes) >= PROCESSES_MAX)
		g_hash_table_remove_all(d->processes);
}

static struct process *process_of(struct data_symbols *d, uint32_t pid, uint64_t space)
{
	struct process *p = g_hash_table_lookup(d->processes, &space);

	if (p)
		return p;
	make_room(d);
	p = g_new0(struct process, 1);
	p->space = space;
	p->pid = pid;
	p->maps = g_array_new(FALSE, FALSE, sizeof(struct maps_line));
	read_maps(d, p);
	g_hash_table_insert(d->processes, &p->space, p);
	return p;
}

static const struct maps_line *map_at(const struct process *p, guint i)
{
	return &g_array_index(p->maps, struct maps_line, i);
}

static bool find_map(const struct process *p, uint64_t addr, guint *ret_i)
{
	guint low = 0, high = p->maps->len;

	while (low < high) {
		guint mid = low + (high - low) / 2;

		if (map_at(p, mid)->end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_i = low;
	return low < p->maps->len && map_at(p, low)->start <= addr;
}

static bool same_file(const struct maps_line *a, const struct maps_line *b)
{
	return a->inode && a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* The mapping of the file's beginning in the same program or library. NULL: none. */
static const struct maps_line *first_of_module(const struct process *p, guint i)
{
	const struct maps_line *m = map_at(p, i);

	while (map_at(p, i)->pgoff) {
		if (!i || !same_file(map_at(p, i - 1), m))
			return NULL;
		i--;
	}
	return map_at(p, i);
}

static const struct data_file *file_of(struct data_symbols *d, uint32_t pid, const struct maps_line *m)
{
	const struct maps_file key = maps_file_of(m);
	struct data_file read, *own = NULL;
	gpointer known;

	if (g_hash_table_lookup_extended(d->files, &key, NULL, &known))
		return known;
	bool has_room = g_hash_table_size(d->files) < FILES_MAX && d->variables_bytes < VARIABLES_MAX_BYTES;
	int fd = has_room ? file_open_line(d->proc_dir, pid, m) : -1;

	if (fd >= 0 && data_file_read(fd, &read)) {
		data_file_add_debug(&read, fd, m->path, d->debug_dir);
		own = g_memdup2(&read, sizeof(read));
		d->variables_bytes += symtab_memory_bytes(&own->variables);
	}
	if (fd >= 0) {
		close(fd);
		g_hash_table_insert(d->files, g_memdup2(&key, sizeof(key)), own);
	}
	return own;
}

/* The address that the first segment gives to the file's first byte. */
static bool vaddr_of_start(const struct data_file *f, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		if (f->segments[i].off >= 4096)
			continue;
		*ret_vaddr = f->segments[i].vaddr - f->segments[i].off;
		return true;
	}
	return false;
}

static bool is_in_segment(const struct data_file *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->segment_cnt; i++)
		if (vaddr - f->segments[i].vaddr < f->segments[i].mem_bytes)
			return true;
	return false;
}

/* Something else may be mounted there, and another file system might hang. */
static DIR *open_semaphores(const char *proc_dir, uint32_t pid)
{
	int at = folder_hold_in_process(proc_dir, pid, OPENER_SEMAPHORES), fd = -1;
	struct statfs fs;

	if (at >= 0 && !fstatfs(at, &fs) && fs.f_type == TMPFS_MAGIC)
		fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at >= 0)
		close(at);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static bool is_made_by_sem_open(const struct maps_line *m)
{
	return g_str_has_prefix(m->path, OPENER_SEMAPHORES "/" SEMAPHORE_PREFIX) && g_str_has_suffix(m->path, MAPS_DELETED);
}

/*
 * sem_open() creates a semaphore with a temporary name, which its creator's mapping keeps, and then links it to its
 * own name. NULL: not a semaphore, or that name is gone, too. The process controls the folder, so only a limited
 * number of files is checked.
 */
static char *semaphore_path(const struct data_symbols *d, uint32_t pid, const struct maps_line *m)
{
	if (!is_made_by_sem_open(m))
		return NULL;
	DIR *dir = open_semaphores(d->proc_dir, pid);
	const struct dirent *e;
	char *found = NULL;

	for (unsigned left = SEMAPHORES_MAX; dir && left && !found && (e = readdir(dir)); left--)
		if (e->d_ino == m->inode && g_str_has_prefix(e->d_name, SEMAPHORE_PREFIX))
			found = g_strdup_printf(OPENER_SEMAPHORES "/%s", e->d_name);
	if (dir)
		closedir(dir);
	return found;
}

static const char *shown_path(struct data_symbols *d, uint32_t pid, const struct maps_line *m)
{
	g_autofree char *program = program_path(d->proc_dir, pid);
	g_autofree char *executed = executed_path(d->proc_dir, pid, program, m);
	g_autofree char *semaphore = semaphore_path(d, pid, m);
	size_t len = strlen(m->path);

	if (executed)
		return g_string_chunk_insert_const(d->strings, executed);
	/* six letters after the prefix may be its own name; the temporary one shows as deleted */
	if (g_str_has_suffix(m->path, MAPS_DELETED) && !is_made_by_sem_open(m) &&
	    !file_is_at_path(d->proc_dir, pid, m, true))
		len -= strlen(MAPS_DELETED);
	g_autofree char *plain = semaphore ? g_steal_pointer(&semaphore) : g_strndup(m->path, len);
	g_autofree char *valid = g_utf8_make_valid(plain, -1);

	return g_string_chunk_insert_const(d->strings, valid);
}

static void name_variable(struct data_symbols *d, const struct data_file *f, uint64_t vaddr, struct data_place *ret)
{
	const struct symtab_entry *e = symtab_find(&f->variables, vaddr);

	if (!e)
		return;
	g_autofree char *plain = demangle(symtab_name(&f->variables, e));
	g_autofree char *valid = g_utf8_make_valid(plain ? plain : symtab_name(&f->variables, e), -1);

	ret->name = g_string_chunk_insert_const(d->strings, valid);
	ret->name_offset = vaddr - e->addr;
	ret->name_bytes = e->size;
}

/* Finds data of the program or library that the i-th mapping, a private file mapping, belongs to. */
static bool find_in_module(struct data_symbols *d, const struct process *p, guint i, uint64_t addr,
			   struct data_place *ret)
{
	const struct maps_line *first = first_of_module(p, i);
	const struct data_file *f = first ? file_of(d, p->pid, first) : NULL;
	uint64_t vaddr;

	if (!f || !vaddr_of_start(f, &vaddr))
		return false;
	vaddr += addr - first->start;
	if (!is_in_segment(f, vaddr))
		return false;
	ret->kind = DATA_MODULE;
	ret->module = shown_path(d, p->pid, first);
	ret->offset = vaddr;
	name_variable(d, f, vaddr, ret);
	return true;
}

/* The stack pointer in /proc/PID/task/TID/syscall, its last number but one. 0: the thread runs. */
static uint64_t stack_pointer(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", 16);
	guint cnt = g_strv_length(words);

	return cnt >= 3 ? g_ascii_strtoull(words[cnt - 2], NULL, 16) : 0;
}

struct stacks {
	const char *task;
	GArray *into;
	unsigned read_cnt;
};

static bool read_stack(const struct opener_entry *e, void *data)
{
	struct stacks *of = data;
	g_autofree char *file = g_strdup_printf("%s/%s/syscall", of->task, e->name);
	size_t len;
	g_autofree char *text = opener_text(file, 4096, &len);
	struct stack s = { .sp = text ? stack_pointer(text) : 0,
			   .tid = (uint32_t)g_ascii_strtoull(e->name, NULL, 10) };

	if (s.sp)
		g_array_append_val(of->into, s);
	return ++of->read_cnt < THREADS_MAX;
}

static void read_stacks(const struct data_symbols *d, struct process *p)
{
	g_autofree char *task = g_strdup_printf("%s/%" PRIu32 "/task", d->proc_dir, p->pid);

	p->stacks = g_array_new(FALSE, FALSE, sizeof(struct stack));
	struct stacks s = { .task = task, .into = p->stacks };

	opener_list(task, false, read_stack, &s);
}

/* The thread whose stack is in this mapping below addr, the nearest one. 0: unknown. */
static uint32_t stack_owner(struct data_symbols *d, struct process *p, const struct maps_line *m, uint64_t addr,
			    uint64_t sp, uint32_t tid)
{
	uint64_t best = 0;
	uint32_t owner = 0;

	if (sp >= m->start && sp <= addr)
		return tid;
	if (!p->stacks)
		read_stacks(d, p);
	EACH_ROW(i, const struct stack, s, p->stacks) {
		if (s->sp < m->start || s->sp > addr || s->sp < best)
			continue;
		best = s->sp;
		owner = s->tid;
	}
	return owner;
}

/* A heap of malloc for threads: aligned to its maximum size, with reserved memory after it. */
static bool is_arena(const struct process *p, guint i)
{
	const struct maps_line *m = map_at(p, i), *next = i + 1 < p->maps->len ? map_at(p, i + 1) : NULL;

	if (m->start % ARENA_BYTES || m->end - m->start > ARENA_BYTES)
		return false;
	return m->end - m->start == ARENA_BYTES || (next && next->start == m->end && !next->is_readable &&
						    !next->inode && next->end - m->start == ARENA_BYTES);
}

static void find_anonymous(struct data_symbols *d, struct process *p, guint i, uint64_t addr, uint64_t sp, uint32_t tid,
			   struct data_place *ret)
{
	const struct maps_line *m = map_at(p, i);
	guint before = i;

	/* .bss directly follows the data from the file; so may the heap */
	while (before && !map_at(p, before)->inode && map_at(p, before - 1)->end == map_at(p, before)->start &&
	       i - before < 4)
		before--;
	if (map_at(p, before)->inode && !map_at(p, before)->is_shared && find_in_module(d, p, before, addr, ret))
		return;
	ret->offset = addr - m->start;
	if (strcmp(m->path, "[heap]") == 0 || (!m->path[0] && is_arena(p, i))) {
		ret->kind = DATA_HEAP;
		ret->module = "[heap]";
		return;
	}
	ret->tid = strcmp(m->path, "[stack]") == 0 ? p->pid : stack_owner(d, p, m, addr, sp, tid);
	ret->kind = ret->tid ? DATA_STACK : DATA_ANON;
	ret->module = ret->tid ? "[stack]" : "[anon]";
}

static bool has_no_name(const char *path)
{
	return !path[0] || g_str_has_prefix(path, "/dev/zero") || g_str_has_prefix(path, "/SYSV") ||
	       g_str_has_prefix(path, "[anon_shmem");
}

static void find_in_map(struct data_symbols *d, struct process *p, guint i, uint64_t addr, uint64_t sp, uint32_t tid,
			struct data_place *ret)
{
	const struct maps_line *m = map_at(p, i);

	ret->is_shared = m->is_shared;
	if (m->is_shared) {
		ret->kind = has_no_name(m->path) ? DATA_SHARED : DATA_FILE;
		ret->module = ret->kind == DATA_SHARED ? "[shared]" : shown_path(d, p->pid, m);
		ret->inode = m->inode;
		ret->offset = addr - m->start + m->pgoff;
	} else if (m->inode) {
		if (find_in_module(d, p, i, addr, ret))
			return;
		ret->kind = DATA_FILE;
		ret->module = shown_path(d, p->pid, m);
		ret->offset = addr - m->start + m->pgoff;
	} else if (!m->path[0] || strcmp(m->path, "[heap]") == 0 || strcmp(m->path, "[stack]") == 0 ||
		   g_str_has_prefix(m->path, "[anon")) {
		find_anonymous(d, p, i, addr, sp, tid, ret);
	} else {
		ret->kind = DATA_OTHER;
		ret->module = shown_path(d, p->pid, m);
		ret->offset = addr - m->start;
	}
}

static bool is_due(const struct process *p, bool is_found)
{
	int64_t age_us = g_get_monotonic_time() - p->read_us;

	return age_us > STALE_US || (!is_found && age_us > MAX(PAUSE_US, p->took_us * PAUSE_TIMES));
}

void data_symbols_find(struct data_symbols *d, uint32_t pid, uint64_t space, uint64_t addr, uint64_t sp, uint32_t tid,
		       struct data_place *ret)
{
	struct process *p = process_of(d, pid, space);
	guint i;

	memset(ret, 0, sizeof(*ret));
	ret->offset = addr;
	if (is_due(p, find_map(p, addr, &i)))
		read_maps(d, p);
	if (!find_map(p, addr, &i))
		return;
	find_in_map(d, p, i, addr, sp, tid, ret);
}

char *data_place_text(const struct data_place *place, uint64_t addr, uint64_t whole_bytes)
{
	if (place->name && (!place->name_offset || place->name_bytes <= whole_bytes))
		return g_strdup(place->name);
	if (place->name)
		return g_strdup_printf("%s+0x%" PRIx64, place->name, place->name_offset);
	switch (place->kind) {
	case DATA_MODULE: return g_strdup_printf("%s+0x%" PRIx64, module_base_name(place->module), place->offset);
	case DATA_FILE: return g_strdup_printf("%s+0x%" PRIx64, place->module, place->offset);
	case DATA_SHARED:
		return g_strdup_printf("shared memory %" PRIu64 "+0x%" PRIx64, place->inode, place->offset);
	case DATA_HEAP: return g_strdup_printf("heap 0x%" PRIx64, addr);
	case DATA_STACK: return g_strdup_printf("stack of thread %" PRIu32 ", 0x%" PRIx64, place->tid, addr);
	case DATA_ANON: return g_strdup_printf("anonymous memory 0x%" PRIx64, addr);
	case DATA_OTHER: return g_strdup_printf("%s+0x%" PRIx64, place->module, place->offset);
	case DATA_UNKNOWN: break;
	}
	return g_strdup_printf("0x%" PRIx64, addr);
}
