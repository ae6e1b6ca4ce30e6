/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/elf/table.h"
#include "symbolize/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_symbols(const struct symtab *symbols)
{
	for (size_t i = 0; i < symbols->cnt; i++) {
		const struct symtab_entry *e = &symbols->entries[i];
		const char *name = symtab_name(symbols, e);
		g_autofree char *shown = i < 64 ? demangle(name) : NULL;

		(void)shown;
		if (!*name || !symtab_find(symbols, e->addr) || (i && e->addr <= e[-1].addr))
			abort();
	}
}

static void check(const struct elf_table *t)
{
	check_symbols(&t->symbols);
	check_symbols(&t->plt);
	for (size_t i = 0; i < t->segment_cnt; i++) {
		uint64_t vaddr, start;

		if (elf_table_vaddr(t, t->segments[i].off, &vaddr) && elf_table_find(t, vaddr, &start) &&
		    start > vaddr)
			abort();
	}
}

/* An ELF file of the traced user, as a file: sections are read from it one by one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_table *t;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	t = elf_table_read(fd, NULL);
	if (t)
		check(t);
	elf_table_free(t);
	close(fd);
	return 0;
}
