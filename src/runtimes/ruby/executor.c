/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "symbolize/runtime/language.h"

#include <elf.h>
#include <string.h>

#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

/*
 * Ruby uses threaded code: each instruction is the address of its handler inside one function. The file's sorted
 * table of function starts (.eh_frame_hdr), which is in memory, gives the range of that function.
 */

#define HEADERS_MAX 64
#define FUNCTIONS_MAX (1u << 22)
/* DW_EH_PE_* values that linkers write */
#define TABLE_VERSION 1
#define POINTER_ENCODING 0x1b	/* 4 bytes, relative to here */
#define COUNT_ENCODING 0x03	/* 4 bytes */
#define ENTRY_ENCODING 0x3b	/* 4 bytes, relative to the table */

struct image {
	uint32_t pid;
	uint64_t bias;	/* memory address minus file address */
	uint64_t table;	/* address in the file */
};

/* The mapping of the file's beginning. */
static uint64_t beginning_of(const GArray *lines, uint64_t addr)
{
	const struct maps_line *there = NULL;

	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !there)
		there = m->is_exec && addr >= m->start && addr < m->end ? m : NULL;
	return FIRST_ROW(const struct maps_line, m, lines, there && !m->pgoff && m->inode &&
			 m->inode == there->inode && !strcmp(m->path, there->path), m->start, 0);
}

static bool open_image(struct image *image, uint32_t pid, uint64_t begin)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr head;
	bool has_begin = false;

	if (!begin || !memory_read(pid, begin, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(headers[0]) ||
	    head.e_phnum > HEADERS_MAX ||
	    !memory_read(pid, begin + head.e_phoff, headers, head.e_phnum * sizeof(headers[0])))
		return false;
	*image = (struct image){ .pid = pid };
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (headers[i].p_type == PT_GNU_EH_FRAME)
			image->table = headers[i].p_vaddr;
		if (headers[i].p_type == PT_LOAD && !headers[i].p_offset && !has_begin) {
			image->bias = begin - headers[i].p_vaddr;
			has_begin = true;
		}
	}
	return has_begin && image->table;
}

/* The start of a function in the table. */
static bool start_at(const struct image *image, uint32_t number, uint64_t *ret)
{
	int32_t entry[2];

	if (!memory_read(image->pid, image->bias + image->table + 12 + number * sizeof(entry), entry, sizeof(entry)))
		return false;
	*ret = image->table + (uint64_t)(int64_t)entry[0];
	return true;
}

bool ruby_executor_find(uint32_t pid, uint64_t handler, struct ruby_executor *ret)
{
	g_autofree char *text = living_maps("/proc", pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;
	struct image image;
	struct {
		uint8_t version, pointer, count, entry;
		int32_t frames;
		uint32_t cnt;
	} head;
	uint64_t start, wanted;
	uint32_t low = 0, high;

	if (!lines || !open_image(&image, pid, beginning_of(lines, handler)) ||
	    !memory_read(pid, image.bias + image.table, &head, sizeof(head)) || head.version != TABLE_VERSION ||
	    head.pointer != POINTER_ENCODING || head.count != COUNT_ENCODING || head.entry != ENTRY_ENCODING ||
	    head.cnt < 2 || head.cnt > FUNCTIONS_MAX)
		return false;
	wanted = handler - image.bias;
	for (high = head.cnt - 1; low + 1 < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (!start_at(&image, middle, &start))
			return false;
		if (start <= wanted)
			low = middle;
		else
			high = middle;
	}
	return start_at(&image, low, &ret->start) && start_at(&image, low + 1, &ret->end) && ret->start <= wanted &&
	       wanted < ret->end;
}
