/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/arch.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_hash(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)ret)[i] = (uint8_t)((addr + i) * 0x9e3779b1u >> 24);
	return addr % 13;
}

/* Any rule, and even any number, can be followed. */
static void try_rule(uint32_t rule)
{
	struct unwind_regs regs = { .ip = rule, .known = 0xffff & ~(rule >> 3) };

	unwind_x86_64_step(rule, &regs, read_hash, NULL);
	unwind_x86_64_step_fp(&regs, read_hash, NULL);
}

static void check(const struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		if (i ? t->rows[i].pc <= t->rows[i - 1].pc : t->rows[i].pc)
			abort();
		if (i + 1 < t->row_cnt && unwind_table_find(t, t->base + t->rows[i].pc) != t->rows[i].rule)
			abort();
		try_rule(t->rows[i].rule);
	}
	if (t->rows[t->row_cnt - 1].rule)
		abort();
}

static bool take_row(void *ctx, uint64_t vaddr, const struct cfi_state *state)
{
	uint64_t *last = ctx;

	if (vaddr < *last)
		abort();
	*last = vaddr;
	try_rule(unwind_arch_x86_64.compile(state));
	return vaddr % 64 != 63;
}

/* The bytes as a section by themselves: no file around them in the fuzzer's way. */
static void run_section(const uint8_t *data, size_t size, unsigned flags)
{
	struct cfi_section s = { .bytes = data, .size = size, .vaddr = 0x500000, .is_debug = flags & 1,
				 .ends_at_zero = flags & 2 };
	struct cfi_entries e;

	cfi_entries_init(&e);
	cfi_entries_add(&e, &s, &unwind_arch_x86_64);
	for (guint i = 0; i < e.fdes->len; i++) {
		const struct cfi_fde *fde = &g_array_index(e.fdes, struct cfi_fde, i);
		uint64_t last = fde->start, stopped;

		if (fde->end <= fde->start)
			abort();
		if (!cfi_run(&e, fde, &unwind_arch_x86_64, take_row, &last, &stopped) && stopped < last)
			abort();
	}
	cfi_entries_clear(&e);
}

/* An ELF file of the traced user; or, if the first byte says so, only its section. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table *t;
	int fd;

	if (size && data[0] < 4) {
		run_section(data + 1, size - 1, data[0]);
		if (size >= 5)
			try_rule(data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16 | (uint32_t)data[4] << 24);
		return 0;
	}
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	t = unwind_table_build(fd, NULL);
	if (t)
		check(t);
	unwind_table_free(t);
	close(fd);
	return 0;
}
