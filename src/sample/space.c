/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample/space.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "unwind/arch.h"
#include "unwind/walk.h"

#define PROC_DIR "/proc"
#define MAPS_MAX_BYTES (8u << 20)
#define REREAD_NS 1000000000ULL	/* for an unknown address a process's mappings are read again at most this often */
#define BLOCK_BYTES 4096
#define BLOCKS 8

struct range {
	uint64_t start, end;
	struct unwind_mapping m;
};

struct program {
	uint64_t space, read_ns;
	GArray *ranges;	/* struct range, sorted */
};

struct spaces_read {
	GHashTable *files;	/* struct maps_file -> struct unwind_table or NULL */
	GHashTable *programs;	/* pid -> struct program */
	struct unwind_table *vdso;
};

/* The blocks of memory that one walk has read. */
struct reading {
	struct spaces_read *s;
	struct program *program;
	pid_t pid;
	const struct space_regs *regs;
	uint64_t block_at[BLOCKS];
	uint8_t block[BLOCKS][BLOCK_BYTES];
	unsigned block_cnt, next;
	int error;
};

FREES_DATA(program_free, struct program, program, g_array_unref(program->ranges))

static void table_free(gpointer table)
{
	unwind_table_free(table);
}

struct spaces_read *spaces_read_new(void)
{
	struct spaces_read *s = g_new0(struct spaces_read, 1);

	s->files = g_hash_table_new_full(maps_file_hash, maps_file_equal, g_free, table_free);
	s->programs = g_hash_table_new_full(NULL, NULL, NULL, program_free);
	return s;
}

FREES(spaces_read_free, struct spaces_read, s, g_hash_table_destroy(s->programs); g_hash_table_destroy(s->files);
      unwind_table_free(s->vdso))

void spaces_read_forget(struct spaces_read *s, pid_t pid)
{
	g_hash_table_remove(s->programs, GINT_TO_POINTER(pid));
}

/* The kernel's vdso, the same in every 64-bit process: ours is used. */
static struct unwind_table *vdso_table(struct spaces_read *s, const struct maps_line *line)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (!s->vdso && image)
		s->vdso = unwind_table_build_memory(image, line->end - line->start, NULL);
	return s->vdso;
}

static struct unwind_table *file_table(struct spaces_read *s, pid_t pid, const struct maps_line *line)
{
	struct maps_file key = maps_file_of(line);
	struct unwind_table *table = NULL;
	gpointer known;

	if (g_hash_table_lookup_extended(s->files, &key, NULL, &known))
		return known;
	int fd = file_open_line(PROC_DIR, (uint32_t)pid, line);

	if (fd >= 0) {
		table = unwind_table_build(fd, NULL);
		close(fd);
	}
	g_hash_table_insert(s->files, g_memdup2(&key, sizeof(key)), table);
	return table;
}

static void add_range(struct spaces_read *s, struct program *program, pid_t pid, const struct maps_line *line)
{
	struct range r = { .start = line->start, .end = line->end };
	uint64_t vaddr = 0;

	if (strcmp(line->path, "[vdso]") == 0)
		r.m = (struct unwind_mapping){ vdso_table(s, line), line->start };
	else if (line->inode)
		r.m.table = file_table(s, pid, line);
	if (r.m.table && line->inode) {
		if (elf_segments_vaddr(r.m.table->segments, r.m.table->segment_cnt, line->pgoff, &vaddr))
			r.m.bias = line->start - vaddr;
		else
			r.m.table = NULL;
	}
	g_array_append_val(program->ranges, r);
}

static void read_program(struct spaces_read *s, struct program *program, pid_t pid)
{
	g_autofree char *path = g_strdup_printf(PROC_DIR "/%d/maps", pid);
	size_t len;
	g_autofree char *text = opener_text(path, MAPS_MAX_BYTES, &len);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;

	program->read_ns = clock_ns(CLOCK_MONOTONIC);
	g_array_set_size(program->ranges, 0);
	EACH_ROW_OF(i, const struct maps_line, line, lines)
		if (line->is_exec)
			add_range(s, program, pid, line);
}

static struct program *program_of(struct spaces_read *s, pid_t pid, uint64_t space)
{
	struct program *program = g_hash_table_lookup(s->programs, GINT_TO_POINTER(pid));

	if (program && program->space == space)
		return program;
	if (!program) {
		program = g_new0(struct program, 1);
		program->ranges = g_array_new(FALSE, FALSE, sizeof(struct range));
		g_hash_table_insert(s->programs, GINT_TO_POINTER(pid), program);
	}
	program->space = space;
	read_program(s, program, pid);
	return program;
}

static const struct range *range_of(const struct program *program, uint64_t addr)
{
	guint low = 0, high = program->ranges->len;

	while (low < high) {
		guint mid = low + (high - low) / 2;
		const struct range *r = &g_array_index(program->ranges, struct range, mid);

		if (addr < r->start)
			high = mid;
		else if (addr >= r->end)
			low = mid + 1;
		else
			return r;
	}
	return NULL;
}

static bool find_mapping(void *ctx, uint64_t addr, struct unwind_mapping *ret)
{
	struct reading *r = ctx;
	const struct range *range = range_of(r->program, addr);

	if (!range)
		return false;
	*ret = range->m;
	return true;
}

static const uint8_t *block_of(struct reading *r, uint64_t at)
{
	for (unsigned i = 0; i < r->block_cnt; i++)
		if (r->block_at[i] == at)
			return r->block[i];
	unsigned slot = r->next++ % BLOCKS;

	r->block_at[slot] = 0;
	r->block_cnt = MAX(r->block_cnt, slot + 1);
	if (!memory_read((uint32_t)r->pid, at, r->block[slot], BLOCK_BYTES)) {
		r->error = errno;
		return NULL;
	}
	r->block_at[slot] = at;
	return r->block[slot];
}

static bool read_memory(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	struct reading *r = ctx;
	uint64_t in_stack = addr - r->regs->sp;

	if (r->regs->stack && in_stack < r->regs->stack_bytes && bytes <= r->regs->stack_bytes - in_stack) {
		memcpy(ret, (const char *)r->regs->stack + in_stack, bytes);
		return true;
	}
	for (size_t done = 0; done < bytes;) {
		uint64_t at = (addr + done) & ~(uint64_t)(BLOCK_BYTES - 1), skip = addr + done - at;
		size_t here = MIN(bytes - done, BLOCK_BYTES - skip);
		const uint8_t *block = at ? block_of(r, at) : NULL;

		if (!block)
			return false;
		memcpy((char *)ret + done, block + skip, here);
		done += here;
	}
	return true;
}

static const uint8_t walk_ends[] = {
	[UNWIND_COMPLETE] = OFFCPU_WALK_COMPLETE,
	[UNWIND_TRUNCATED] = OFFCPU_WALK_CUT,
	[UNWIND_BROKEN] = OFFCPU_WALK_UNKNOWN,
};

bool spaces_read_walk(struct spaces_read *s, pid_t pid, uint64_t space, const struct space_regs *regs,
		      struct offcpu_rec_stack *ret)
{
	struct reading r = { .s = s, .program = program_of(s, pid, space), .pid = pid, .regs = regs };
	const struct unwind_source source = {
		.arch = unwind_arch_here(), .find = find_mapping, .read = read_memory, .ctx = &r,
		.max_depth = OFFCPU_MAX_DEPTH, .finds_frames = !regs->has_bp,
	};
	struct unwind_stack stack;
	struct unwind_regs start;

	if (regs->has_bp)
		unwind_regs_set(source.arch, regs->ip, regs->sp, regs->bp, &start);
	else
		unwind_regs_set_sp(source.arch, regs->ip, regs->sp, &start);
	if (regs->link) {
		start.reg[source.arch->ra_reg] = regs->link;
		start.known |= 1u << source.arch->ra_reg;
	}
	unwind_walk(&source, &start, &stack);
	if (stack.end == UNWIND_BROKEN && stack.why == UNWIND_WHY_NOT_MAPPED &&
	    clock_ns(CLOCK_MONOTONIC) - r.program->read_ns > REREAD_NS) {
		read_program(s, r.program, pid);
		unwind_walk(&source, &start, &stack);
	}
	ret->depth = MAX(stack.depth, 1);
	ret->end = walk_ends[stack.end];
	ret->ip[0] = regs->ip;
	memcpy(ret->ip, stack.ip, stack.depth * sizeof(stack.ip[0]));
	errno = r.error;
	return !(stack.end == UNWIND_BROKEN && stack.why == UNWIND_WHY_MEMORY && stack.depth <= 1);
}
