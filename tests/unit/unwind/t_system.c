/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tables of the system's own files against elfutils' interpretation of the same bytes: at the
 * first and the last address of every row a step by our rule and an evaluation of elfutils'
 * expressions, on the same made-up registers and memory, must give the same caller.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/arch.h"
#include "unwind/table.h"

#define STACK_MAX 16

/* Memory that holds something else at every address. */
static bool read_hash(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t v = (addr + i) * 0x9e3779b97f4a7c15ull;

		v ^= v >> 29;
		memcpy((char *)ret + i, &v, 8);
	}
	return true;
}

static uint64_t load(uint64_t addr)
{
	uint64_t v;

	read_hash(NULL, addr, &v, 8);
	return v;
}

static void make_regs(uint64_t ip, uint64_t seed, struct unwind_regs *ret)
{
	*ret = (struct unwind_regs){ .ip = ip, .known = 0xffff };
	for (unsigned i = 0; i < 16; i++)
		ret->reg[i] = 0x7fff00000000 + ((seed * 31 + i) * 0x9e3779b1u & 0xffffff0);
	ret->reg[X86_64_RBP] = ret->reg[X86_64_RSP] + 0x4000000;
}

/* What elfutils says of one register. */
struct value {
	enum { SAME, UNDEFINED, VALUE, UNKNOWN } kind;
	uint64_t v;
};

/* An expression; *ret_is_value: its result is no address but the value. */
static bool evaluate(const Dwarf_Op *ops, size_t cnt, const struct unwind_regs *regs, uint64_t cfa, uint64_t *ret,
		     bool *ret_is_value)
{
	uint64_t s[STACK_MAX + 2];
	unsigned n = 0;

	*ret_is_value = false;
	for (size_t i = 0; i < cnt; i++) {
		uint8_t op = ops[i].atom;
		uint64_t arg = ops[i].number, reg;

		if (n >= STACK_MAX)
			return false;
		if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
			s[n++] = op - DW_OP_lit0;
		} else if ((op >= DW_OP_breg0 && op <= DW_OP_breg16) || op == DW_OP_bregx) {
			reg = op == DW_OP_bregx ? arg : (uint64_t)(op - DW_OP_breg0);
			s[n++] = (reg == 16 ? regs->ip : regs->reg[reg & 15]) + (op == DW_OP_bregx ? ops[i].number2 : arg);
		} else if (op == DW_OP_call_frame_cfa) {
			s[n++] = cfa;
		} else if (op == DW_OP_regx || (op >= DW_OP_reg0 && op <= DW_OP_reg16)) {
			s[n++] = regs->reg[(op == DW_OP_regx ? arg : (uint64_t)(op - DW_OP_reg0)) & 15];
			*ret_is_value = true;
		} else if (op == DW_OP_stack_value) {
			*ret_is_value = true;
		} else if (op >= DW_OP_const1u && op <= DW_OP_consts) {
			s[n++] = arg;
		} else if (!n) {
			return false;
		} else if (op == DW_OP_deref) {
			s[n - 1] = load(s[n - 1]);
		} else if (op == DW_OP_plus_uconst) {
			s[n - 1] += arg;
		} else if (n < 2) {
			return false;
		} else if (op == DW_OP_plus) {
			s[n - 2] += s[n - 1];
			n--;
		} else if (op == DW_OP_and) {
			s[n - 2] &= s[n - 1];
			n--;
		} else if (op == DW_OP_ge) {
			s[n - 2] = (int64_t)s[n - 2] >= (int64_t)s[n - 1];
			n--;
		} else if (op == DW_OP_shl) {
			s[n - 2] <<= s[n - 1] & 63;
			n--;
		} else {
			return false;
		}
	}
	*ret = n ? s[n - 1] : 0;
	return n;
}

static struct value frame_register(Dwarf_Frame *frame, int reg, const struct unwind_regs *regs, uint64_t cfa)
{
	Dwarf_Op mem[3], *ops = NULL;
	struct value v = { UNKNOWN, 0 };
	bool is_value;
	size_t cnt;

	if (dwarf_frame_register(frame, reg, mem, &ops, &cnt))
		return v;
	if (!cnt) {
		v.kind = ops == mem ? UNDEFINED : SAME;
		return v;
	}
	if (evaluate(ops, cnt, regs, cfa, &v.v, &is_value)) {
		v.kind = VALUE;
		if (!is_value)
			v.v = load(v.v);
	}
	return v;
}

struct tally {
	const char *path;
	uint64_t checked, complex, lost, padding, wrong;
};

static void wrong(struct tally *t, uint64_t vaddr, uint32_t rule, const char *what, uint64_t ours, uint64_t theirs)
{
	if (t->wrong++ < 5)
		g_test_message("%s: %#" PRIx64 ": rule %#x: %s: %#" PRIx64 ", elfutils %#" PRIx64, t->path, vaddr, rule,
			       what, ours, theirs);
}

/* No FDE there, by elfutils: a gap, or the padding after a function. */
static void check_uncovered(struct tally *t, Dwarf_CFI *cfi, uint64_t vaddr, uint32_t rule)
{
	if (!rule)
		return;
	t->padding++;
	for (unsigned back = 1; back <= 15; back++) {
		Dwarf_Frame *frame = NULL;

		if (!dwarf_cfi_addrframe(cfi, vaddr - back, &frame)) {
			free(frame);
			return;
		}
	}
	wrong(t, vaddr, rule, "a rule where there is no FDE", rule, 0);
}

static void check_frame(struct tally *t, Dwarf_Frame *frame, uint64_t vaddr, uint32_t rule)
{
	struct unwind_regs regs, to;
	enum unwind_step step;
	struct value ra, bp;
	Dwarf_Op *ops;
	uint64_t cfa;
	bool is_value;
	size_t cnt;

	make_regs(vaddr, t->checked, &regs);
	to = regs;
	step = unwind_x86_64_step(rule, &to, read_hash, NULL);
	if (step == UNWIND_STEP_END) {
		ra = frame_register(frame, X86_64_RIP, &regs, 0);
		if (ra.kind != UNDEFINED)
			wrong(t, vaddr, rule, "outermost, kind of return address", UNDEFINED, ra.kind);
		return;
	}
	if (step == UNWIND_STEP_COMPLEX) {
		t->complex++;
		return;
	}
	if (step != UNWIND_STEP_OK && step != UNWIND_STEP_SIGNAL) {
		wrong(t, vaddr, rule, "step", step, 0);
		return;
	}
	if (dwarf_frame_cfa(frame, &ops, &cnt) || !evaluate(ops, cnt, &regs, 0, &cfa, &is_value)) {
		wrong(t, vaddr, rule, "a CFA that elfutils or this test does not know", to.reg[X86_64_RSP], 0);
		return;
	}
	if (to.reg[X86_64_RSP] != cfa)
		wrong(t, vaddr, rule, "CFA", to.reg[X86_64_RSP], cfa);
	ra = frame_register(frame, X86_64_RIP, &regs, cfa);
	if (ra.kind != VALUE || to.ip != ra.v)
		wrong(t, vaddr, rule, "return address", to.ip, ra.v);
	bp = frame_register(frame, X86_64_RBP, &regs, cfa);
	if (!(to.known >> X86_64_RBP & 1))
		t->lost++;
	else if (bp.kind == SAME ? to.reg[X86_64_RBP] != regs.reg[X86_64_RBP] :
		 bp.kind != VALUE || to.reg[X86_64_RBP] != bp.v)
		wrong(t, vaddr, rule, "frame pointer", to.reg[X86_64_RBP], bp.v);
}

static void check_at(struct tally *t, Dwarf_CFI *cfi, const struct unwind_table *table, uint64_t vaddr)
{
	uint32_t rule = unwind_table_find(table, vaddr);
	Dwarf_Frame *frame = NULL;

	t->checked++;
	if (dwarf_cfi_addrframe(cfi, vaddr, &frame)) {
		check_uncovered(t, cfi, vaddr, rule);
		return;
	}
	if (rule)
		check_frame(t, frame, vaddr, rule);
	else
		wrong(t, vaddr, rule, "no information", 0, 1);
	free(frame);
}

/* The vdso lies in no file but in every process. */
static int open_subject(const char *path)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = 2 * (size_t)sysconf(_SC_PAGESIZE);
	int fd;

	if (strcmp(path, "[vdso]") != 0)
		return open(path, O_RDONLY | O_CLOEXEC);
	fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	/* one or two pages; what lies behind may be unreadable */
	while (fd >= 0 && bytes && write(fd, image, bytes) != (ssize_t)bytes)
		bytes /= 2;
	return fd;
}

static void check_file(const void *data)
{
	struct tally t = { .path = data };
	g_autoptr(GError) error = NULL;
	int fd = open_subject(t.path);
	struct unwind_table *table;
	Dwarf_CFI *cfi;
	Elf *elf;

	if (fd < 0) {
		g_test_skip("not installed");
		return;
	}
	table = unwind_table_build(fd, &error);
	g_assert_no_error(error);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	g_assert_nonnull(cfi);
	for (uint32_t i = 0; i < table->row_cnt; i++) {
		check_at(&t, cfi, table, table->base + table->rows[i].pc);
		if (i + 1 == table->row_cnt)
			break;
		check_at(&t, cfi, table, table->base + table->rows[i + 1].pc - 1);
		/* This rule depends on the address. */
		if (unwind_rule_cfa(table->rows[i].rule) == UNWIND_CFA_PLT)
			for (uint32_t pc = table->rows[i].pc; pc < table->rows[i + 1].pc; pc++)
				check_at(&t, cfi, table, table->base + pc);
	}
	g_test_message("%s: %u rows, %" PRIu64 " addresses, %" PRIu64 " too complex, %" PRIu64
		       " lose the frame pointer, %" PRIu64 " in padding, %" PRIu64 " wrong",
		       t.path, table->row_cnt, t.checked, t.complex, t.lost, t.padding, t.wrong);
	g_assert_cmpuint(t.wrong, ==, 0);
	g_assert_cmpuint(t.complex, <=, 16);
	g_assert_cmpuint(t.lost, <=, 16);
	g_assert_cmpuint(table->row_cnt, >, 20);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	unwind_table_free(table);
	close(fd);
}

#define LIB "/usr/lib/x86_64-linux-gnu/"

int main(int argc, char **argv)
{
	static const char *const paths[] = {
		"/proc/self/exe", "[vdso]", LIB "libc.so.6", LIB "ld-linux-x86-64.so.2", LIB "libm.so.6", LIB "libstdc++.so.6",
		LIB "libgcc_s.so.1", LIB "libpython3.11.so.1.0", LIB "libglib-2.0.so.0", LIB "libcrypto.so.3", LIB "libsqlite3.so.0",
		"/usr/bin/python3.11", "/bin/bash", "/bin/tar", "/usr/bin/gdb", "/usr/bin/curl", "/usr/sbin/nginx",
		"/usr/bin/redis-server", "/usr/sbin/mariadbd", "/usr/lib/postgresql/15/bin/postgres",
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree char *name = g_strconcat("/unwind/system", paths[i], NULL);

		g_test_add_data_func(name, paths[i], check_file);
	}
	return g_test_run();
}
