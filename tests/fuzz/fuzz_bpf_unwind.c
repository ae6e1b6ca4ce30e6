/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The kernel's walk of a user stack, compiled for this machine: any tables, any stack.  It reads nothing beyond what
 * it may, and ends.  Where the tables are as user space makes them each step is also the one that the rules say
 * (unwind/arch.h), what a walk is recognised by later is true, and reading by page tables makes no difference, also
 * where the kernel moves a page meanwhile.
 */
#include "native/machine.h"	/* first */

#include <glib.h>

#include "unwind/arch.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_MAX 255
#define CHANGES 4
#define NOW 1
#define GENERATION 3

enum { HAS_FIVE_LEVELS = 1, IS_PARTED = 2, IS_HOSTILE = 4, HAS_V8 = 8, IS_COLD = 16, HAS_PROBES = 32, FEW_FRAMES = 64 };

struct shape {
	uint8_t flags, rows, moved_page, moves_at;
	uint16_t ip, sp, bp, rdi;
	uint16_t change_at[CHANGES], change_to[CHANGES];
} __attribute__((packed));

struct row_shape {
	uint8_t bytes, kind, arg, bp;
} __attribute__((packed));

static struct shape shape;
static struct unwind_table *table;
static struct thread_state threads[2];

static struct task_struct *task(void)
{
	return (struct task_struct *)machine.kernel;
}

/* Mostly one that fits the small stack. */
static uint32_t rule_meant(const struct row_shape *r)
{
	uint32_t kind = r->kind & 15, arg = (uint32_t)(int8_t)r->arg & 0xffff, bp = r->kind >> 4 & 3;

	if (kind == UNWIND_CFA_DEREF_SP || kind == UNWIND_CFA_DEREF_BP || kind == UNWIND_CFA_REG ||
	    kind == UNWIND_CFA_RA_REG)
		arg = (arg >> 2 << 4 & 0xffff) | (arg & 3 ? arg & 3 : r->bp & 15);
	if (kind == UNWIND_CFA_GAP || kind == UNWIND_CFA_END || kind == UNWIND_CFA_COMPLEX)
		return kind << 16;
	return (uint32_t)(int8_t)r->bp << 22 | bp << 20 | kind << 16 | arg;
}

/* The table as rows say; the bytes that they took. */
UNTRACED static size_t make_table(const uint8_t *data, size_t size)
{
	struct unwind_row row[ROWS_MAX + 2] = { { 0, UNWIND_CFA_SP << 16 | 1 } };
	uint32_t cnt = 1, pc = 0;
	struct row_shape r;
	size_t used = 0;

	for (; cnt <= shape.rows && size - used >= sizeof(r); used += sizeof(r)) {
		memcpy(&r, data + used, sizeof(r));
		pc += 1 + r.bytes * (r.kind & 0x80 ? 64 : 1);
		row[cnt++] = (struct unwind_row){ pc, rule_meant(&r) };
	}
	row[cnt++] = (struct unwind_row){ MAX(pc + 1, CODE_BYTES_MAX), 0 };
	table = unwind_table_of_rows(0, row, cnt);
	return used;
}

/* As supply/slabs.c does it; or so that nothing in it holds. */
UNTRACED static void store_table(struct space_mapping *m)
{
	const uint32_t rows_blocks = (table->row_cnt + SPACE_BLOCK_ROWS - 1) / SPACE_BLOCK_ROWS;

	for (uint32_t i = 0; i < table->row_cnt; i++)
		machine.block[i / SPACE_BLOCK_ROWS]->row[i % SPACE_BLOCK_ROWS] = table->rows[i];
	for (uint32_t i = 0; i <= table->page_cnt; i++)
		machine.block[rows_blocks + i / SPACE_BLOCK_INDEX]->index[i % SPACE_BLOCK_INDEX] = table->index[i];
	m->rows_block = 0;
	m->index_block = rows_blocks;
	m->page_cnt = table->page_cnt;
	if (shape.flags & IS_HOSTILE) {
		memcpy(machine.block[rows_blocks]->index, machine.physical[CODE_PAGE], sizeof(machine.block[0]->index));
		m->rows_block = (uint32_t)machine.physical[CODE_PAGE][0];
		m->index_block ^= machine.physical[CODE_PAGE][1] & 3;
		m->page_cnt = (uint32_t)machine.physical[CODE_PAGE][2];
	}
}

/* Half of the code has a table, the other half the same one at another place, but for its last page, which has none. */
static void make_spaces(void)
{
	struct space *s = g_new0(struct space, 1), *own = s;
	const uint64_t half = CODE_BYTES_MAX / 2;

	machine.space[0] = s;
	machine.space_key[0] = stack_seed(&threads[0]);
	if (shape.flags & IS_PARTED) {
		own->cnt = 1;
		own->mapping[0] = (struct space_mapping){ .start = CODE_AT, .end = CODE_AT + CODE_BYTES_MAX - PAGE_BYTES,
							  .part_key = 1, .is_part = 1 };
		machine.space[1] = s = g_new0(struct space, 1);
		machine.space_key[1] = 1;
	}
	own->generation = GENERATION;
	own->v8 = shape.flags & HAS_V8 ? unwind_v8_offsets(16, 24, shape.rows & 1) : 0;
	s->cnt = 2;
	s->mapping[0] = (struct space_mapping){ .start = CODE_AT, .end = CODE_AT + half, .bias = CODE_AT };
	store_table(&s->mapping[0]);
	s->mapping[1] = s->mapping[0];
	s->mapping[1].start = s->mapping[1].bias = CODE_AT + half;
	s->mapping[1].end = CODE_AT + CODE_BYTES_MAX - PAGE_BYTES;
	if (shape.flags & IS_HOSTILE) {
		s->cnt = (uint32_t)machine.physical[CODE_PAGE][3];
		memcpy(s->mapping + 2, machine.physical[CODE_PAGE], PAGE_BYTES);
	}
}

/* Where the kernel keeps what uretprobes took away from the stack. */
static void make_probes(void)
{
	uint64_t *k = machine.kernel, base = (uint64_t)(uintptr_t)k;

	if (!(shape.flags & HAS_PROBES))
		return;
	k[256 + 512 / 8] = base + 8 * 400;	/* mm: the trampoline's area */
	k[400] = CODE_AT + 0x101;
	k[1024 / 8] = base + 8 * 410;	/* task: utask */
	k[410] = base + 8 * 420;
	for (unsigned i = 0; i < CHANGES; i++) {
		k[420 + 3 * i] = STACK_AT + shape.change_at[i] % STACK_BYTES;
		k[421 + 3 * i] = CODE_AT + shape.change_to[i];
		k[422 + 3 * i] = base + 8 * (423 + 3 * i);
	}
}

static void make_threads(void)
{
	const uint64_t sp = shape.sp & (shape.sp >> 12 == 15 ? ~0ULL : ~7ULL);

	machine.regs = (struct pt_regs){ .ip = CODE_AT + shape.ip, .sp = STACK_AT + sp % STACK_BYTES,
					 .bp = STACK_AT + (shape.bp & ~7ULL) % STACK_BYTES, .di = CODE_AT + shape.rdi,
					 .r10 = STACK_AT + (shape.rdi & ~7ULL) % STACK_BYTES, .cs = 0x33 };
	for (unsigned i = 0; i < 2; i++) {
		threads[i] = (struct thread_state){ .proc_start_ns = 5, .pid = 7, .exec_no = 1, .tid = 7 + i,
						    .tables_generation = GENERATION, .is_cold = !!(shape.flags & IS_COLD) };
		take_memory(&threads[i]);
	}
}

static uint32_t rule_of(uint64_t addr)
{
	const uint64_t half = CODE_BYTES_MAX / 2, off = addr - CODE_AT;

	if (off >= CODE_BYTES_MAX - PAGE_BYTES)
		return UNWIND_RULE_NO_FILE;
	return unwind_table_find(table, off % half);
}

static bool read_stack_word(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	return !bpf_probe_read_user(ret, (uint32_t)bytes, (const void *)(uintptr_t)addr);
}

/* All of the table, and what lies beside its rows, in a space that has room for it. */
static void check_rules(void)
{
	static struct space whole = { .cnt = 1 };
	struct walk_state at = { 0 };

	whole.mapping[0] = (struct space_mapping){ .end = ~0ULL };
	store_table(&whole.mapping[0]);
	for (uint32_t i = 0; i < table->row_cnt; i++)
		for (uint64_t pc = table->rows[i].pc; pc < table->rows[i].pc + 3ULL; pc++)
			if (rule_at(&whole, &at, pc ? pc - 1 : 0) != unwind_table_find(table, pc ? pc - 1 : 0))
				abort();
}

static bool is_stepped_by_rule(uint32_t kind)
{
	return kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP || kind == UNWIND_CFA_DEREF_SP ||
	       kind == UNWIND_CFA_DEREF_BP || kind == UNWIND_CFA_PLT || kind == UNWIND_CFA_BP_SWITCH;
}

/* Is the step to `at` the one that the rule says? */
static void check_step(const struct walk_state *was, const struct walk_state *at, bool has_ended)
{
	uint32_t rule = rule_of(was->ip - !was->exact), kind = unwind_rule_cfa(rule);
	struct unwind_regs regs = { .ip = was->ip, .known = 1u << X86_64_RSP | (was->bp_lost ? 0 : 1u << X86_64_RBP) };
	uint64_t ra;

	regs.reg[X86_64_RSP] = was->sp;
	regs.reg[X86_64_RBP] = was->bp;
	if (has_ended || at->depth == was->depth)
		return;
	if (kind == UNWIND_CFA_END || kind == UNWIND_CFA_COMPLEX || kind > UNWIND_CFA_INTERPRETED)
		abort();
	if (kind == UNWIND_CFA_GAP && (at->sp <= was->sp || !read_stack_word(NULL, at->sp - 8, &ra, 8) || ra != at->ip))
		abort();
	if (!is_stepped_by_rule(kind))
		return;
	if (unwind_x86_64_step(rule, &regs, read_stack_word, NULL) != UNWIND_STEP_OK || regs.ip != at->ip ||
	    regs.reg[X86_64_RSP] != at->sp || at->bp_lost == (regs.known >> X86_64_RBP & 1) ||
	    (!at->bp_lost && regs.reg[X86_64_RBP] != at->bp))
		abort();
}

static void check_end(const struct walk_state *at)
{
	if (at->depth > OFFCPU_MAX_DEPTH || at->depth > cfg.max_depth + 1 || at->end > OFFCPU_WALK_BROKEN)
		abort();
}

static void walk_by_steps(const struct space *space)
{
	struct scratch *s = machine.scratch;
	struct user_walk w = { .space = space, .stack = &s->stack, .at = &s->walk, .found = machine.rules };

	if (!begin_walk(w.at, task(), false))
		return;
	for (uint32_t i = 0; i < WALK_STEPS; i++) {
		struct walk_state was = s->walk;
		bool has_ended = walk_step_now(i, &w);

		if (!(shape.flags & IS_HOSTILE))
			check_step(&was, w.at, has_ended);
		if (has_ended)
			break;
	}
	check_end(w.at);
}

/* The stack's id and its frames, which are left in the scratch. */
static uint64_t walk(struct thread_state *st, bool by_pages)
{
	uint64_t id;

	if (!begin_walk(&machine.scratch->walk, task(), by_pages))
		return 0;
	machine.scratch->walk.in_parents = false;
	id = walk_user_stack(st, machine.scratch, NOW);
	check_end(&machine.scratch->walk);
	return id;
}

/* Its code may be read where no table tells of it: then it is more than the words that a walk goes by. */
UNTRACED static bool runs_on_stack(void)
{
	for (uint32_t i = 0; i < machine.scratch->walk.depth; i++)
		if (machine.scratch->stack.ip[i] - STACK_AT < 2 * STACK_BYTES)
			return true;
	return false;
}

/* Walked again, and with other words on the stack, a stack that is recognised is what it is taken for. */
static void walk_again(struct thread_state *st, bool by_pages)
{
	bool is_told = shape.flags & (HAS_V8 | IS_HOSTILE);	/* V8's objects are told by the heap, too */

	for (unsigned i = 0; i <= CHANGES; i++) {
		walk(st, by_pages);
		is_told |= runs_on_stack();
		walk(st, by_pages);
		if (!is_told && machine.losses[OFFCPU_LOSS_REMEMBERED].count)
			abort();
		if (i < CHANGES && shape.change_at[i] & 1)
			machine.regs.bp += shape.change_to[i] & 0xff8;
		else if (i < CHANGES)
			*user_word_at(STACK_AT + shape.change_at[i] % STACK_BYTES) = word_meant(shape.change_to[i]);
	}
	machine.losses[OFFCPU_LOSS_REMEMBERED].count = 0;
}

/* The same stack at another place, of another thread. */
UNTRACED static void move_stack(void)
{
	for (size_t i = 0; i < STACK_PAGES * PAGE_WORDS; i++) {
		uint64_t word = *user_word_at(STACK_AT + 8 * i);

		*user_word_at(OTHER_STACK_AT + 8 * i) = word - STACK_AT < STACK_BYTES ? word + STACK_BYTES : word;
	}
	machine.regs.sp += STACK_BYTES;
	machine.regs.bp += STACK_BYTES;
	machine.regs.r10 += STACK_BYTES;
}

/* By page tables, and with a page that the kernel moves: the same frames, or none. */
static void walk_by_pages(void)
{
	uint64_t ids[3];

	for (unsigned i = 0; i < 3; i++) {
		machine_config()->memories = machine_config()->memories_max = 0;
		threads[0].memory = 0;
		memset(machine.scratch->shared_walks, 0, sizeof(machine.scratch->shared_walks));
		machine.reads = 0;
		machine.moved_page = shape.moved_page % STACK_PAGES;
		machine.moves_at = i == 2 ? 1 + shape.moves_at : 0;
		ids[i] = walk(&threads[0], i > 0);
	}
	/* by page tables whole words are read only */
	if ((ids[0] != ids[1] && !machine.has_read_unaligned) || (ids[2] && ids[2] != ids[1]))
		abort();
}

/* By the kernel's own list of the program's mappings, a tree of any nodes, and of files that may have a table. */
static void walk_by_made_space(void)
{
	static struct file_table file = { .page_cnt = 1 };
	const uint64_t base = (uint64_t)(uintptr_t)machine.kernel;
	const struct space *made;

	for (size_t i = PAGE_WORDS; i < KERNEL_WORDS_KEPT; i++) {
		uint64_t v = machine.physical[CODE_PAGE][i - PAGE_WORDS];

		machine.kernel[i] = v & 0x80 ? base + 8 * 256 : v & 0x800 ? v & 0xff :
				    base + 8 * PAGE_WORDS + (v & 0xf7f);
	}
	machine.kernel[256 + 256 / 8] = base + 8 * PAGE_WORDS + (machine.physical[CODE_PAGE][0] & 0x78) + MAPLE_ROOT;
	machine.file_table = &file;
	made = made_space(&threads[0], (uint64_t)(uintptr_t)task(), MADE_FOR_SWITCHES);
	if (!made || made->cnt > SPACE_MAPPINGS_MAX)
		abort();
	shape.flags |= IS_HOSTILE;
	walk_by_steps(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t used;

	if (size < sizeof(shape))
		return 0;
	memcpy(&shape, data, sizeof(shape));
	machine_reset(shape.flags & HAS_FIVE_LEVELS);
	machine_config()->verify_walks = 1;
	if (shape.flags & FEW_FRAMES)
		machine_config()->max_depth = 1 + shape.moves_at % 8;
	used = sizeof(shape) + make_table(data + sizeof(shape), size - sizeof(shape));
	machine_fill(data + used, size - used);
	make_threads();
	make_spaces();
	make_probes();
	if (!(shape.flags & IS_HOSTILE))
		check_rules();
	walk_by_steps(machine.space[0]);
	walk_by_pages();
	machine_config()->memories = machine_config()->memories_max = 2;
	take_memory(&threads[0]);
	walk_again(&threads[0], shape.moved_page & 1);
	move_stack();
	walk_again(&threads[1], shape.moved_page & 1);
	if (shape.moves_at % 4 == 0)	/* it takes as long as all else */
		walk_by_made_space();
	unwind_table_free(table);
	return 0;
}
