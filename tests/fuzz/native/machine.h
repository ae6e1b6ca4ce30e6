/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NATIVE_MACHINE_H
#define NATIVE_MACHINE_H

/*
 * What programs of src/bpf ask when they are compiled for this machine: the memory of a thread, of which nothing else
 * can be read, the kernel's, and maps.  Values of maps lie in objects of their own, so that the sanitizers see each
 * access beyond one.  Before any other header of the C library, since bpf/ktypes.h has types of its own.
 */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-attributes"
#else
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define __TARGET_ARCH_x86
#define __bpf__
#include "bpf/ktypes.h"
#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/walk/stack.bpf.h"
#include "bpf/walk/gil.bpf.h"
#undef __bpf__

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_WORDS 512
#define STACK_PAGES 2	/* of each of two stacks */
#define CODE_PAGES 16	/* of addresses; all are the same page of memory */
#define CODE_BYTES_MAX (CODE_PAGES * PAGE_BYTES)
#define STACK_BYTES (STACK_PAGES * PAGE_BYTES)
#define CODE_AT 0x7ffdc0000000ULL
#define STACK_AT (CODE_AT + CODE_BYTES_MAX)
#define OTHER_STACK_AT (STACK_AT + STACK_BYTES)
#define USER_PAGES (CODE_PAGES + 2 * STACK_PAGES)

/* Physical pages: five levels of tables, the code, the stacks, and one that a page of theirs can be moved to. */
enum { TABLE_LEVELS = 5, CODE_PAGE = TABLE_LEVELS, STACK_PAGE, SPARE_PAGE = STACK_PAGE + 2 * STACK_PAGES, PHYSICAL_PAGES };

#define DIRECT_MAP 0xffff888000000000ULL
#define DIRECT_MAP_5 0xff11000000000000ULL	/* with five levels */

#define SPACES_KEPT 4
#define BLOCKS_KEPT 16
#define KERNEL_WORDS_KEPT 1024	/* what the kernel has of the thread: task, mm and what they lead to */

static struct {
	uint64_t physical[PHYSICAL_PAGES][PAGE_WORDS];
	uint8_t page[USER_PAGES];	/* the physical page of each of the program's */
	uint64_t kernel[KERNEL_WORDS_KEPT] __attribute__((aligned(256)));
	struct pt_regs regs;
	uint64_t space_key[SPACES_KEPT];
	struct space *space[SPACES_KEPT];
	struct unwind_block *block[BLOCKS_KEPT];	/* all of slab 0; another slab is not there */
	struct found_rules *rules;
	struct scratch *scratch;
	struct memory *memory[2];
	struct made_space *made[2];
	struct offcpu_language *language;
	struct offcpu_context_place *context;
	struct file_table *file_table;
	struct offcpu_loss_count losses[OFFCPU_LOSS_COUNT];
	uint64_t reads, moves_at;	/* words of physical memory read; at this one a page is moved */
	uint8_t moved_page;
	bool has_read_unaligned;	/* a word of the program's that is not at a multiple of 8 */
} machine;

/* No guide to a fuzzer. */
#ifdef __clang__
#define UNTRACED __attribute__((no_sanitize("coverage")))
#else
#define UNTRACED
#endif

UNTRACED static uint64_t *user_word_at(uint64_t addr)
{
	uint64_t page = (addr - CODE_AT) / PAGE_BYTES;

	return addr < CODE_AT || page >= USER_PAGES ? NULL :
						      &machine.physical[machine.page[page]][addr % PAGE_BYTES / 8];
}

/* A page of the first stack is moved as the kernel does it: what is left behind is anything. */
static void move_page(void)
{
	uint8_t *page = &machine.page[CODE_PAGES + machine.moved_page];
	uint64_t *entry = &machine.physical[TABLE_LEVELS - 1][CODE_PAGES + machine.moved_page];

	if (*page == SPARE_PAGE || !(*entry & ENTRY_PRESENT))
		return;
	memcpy(machine.physical[SPARE_PAGE], machine.physical[*page], PAGE_BYTES);
	memset(machine.physical[*page], 0x5a, PAGE_BYTES);
	*page = SPARE_PAGE;
	*entry = (uint64_t)SPARE_PAGE * PAGE_BYTES | ENTRY_PRESENT;
}

UNTRACED long bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	uint64_t addr = (uint64_t)(uintptr_t)from;

	machine.has_read_unaligned |= size % 8 == 0 && addr % 8;
	for (__u32 done = 0, now; done < size; done += now, addr += now) {
		const uint64_t *word = user_word_at(addr);

		if (!word) {
			memset(to, 0, size);
			return -14;
		}
		now = PAGE_BYTES - addr % PAGE_BYTES;
		now = now < size - done ? now : size - done;
		memcpy((char *)to + done, (const char *)word + addr % 8, now);
	}
	return 0;
}

long bpf_copy_from_user_task(void *to, __u32 size, const void *from, struct task_struct *task, __u64 flags)
{
	return bpf_probe_read_user(to, size, from);
}

UNTRACED long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	uint64_t at = (uint64_t)(uintptr_t)from, physical = at - direct_map;
	const char *kernel = (const char *)machine.kernel;

	if (physical < sizeof(machine.physical) && sizeof(machine.physical) - physical >= size) {
		if (++machine.reads == machine.moves_at)
			move_page();
		memcpy(to, (const char *)machine.physical + physical, size);
		return 0;
	}
	if ((const char *)from >= kernel && at - (uint64_t)(uintptr_t)kernel <= sizeof(machine.kernel) - size) {
		memcpy(to, from, size);
		return 0;
	}
	memset(to, 0, size);
	return -14;
}

static void *element(void *value, __u32 bytes, const void *key, __u32 cnt)
{
	__u32 number = *(const __u32 *)key;

	return number < cnt ? (char *)value + (size_t)number * bytes : NULL;
}

static void *one_of(void *const *values, const void *key, __u32 cnt)
{
	__u32 number = *(const __u32 *)key;

	return number < cnt ? values[number] : NULL;
}

static void *space_with(uint64_t key)
{
	for (unsigned i = 0; i < SPACES_KEPT; i++)
		if (machine.space[i] && machine.space_key[i] == key)
			return machine.space[i];
	return NULL;
}

UNTRACED void *bpf_map_lookup_elem(const void *map, const void *key)
{
	if (map == &spaces)
		return space_with(*(const __u64 *)key);
	if (map == &slabs)
		return *(const __u32 *)key ? NULL : (void *)machine.block;
	if (map == machine.block)
		return one_of((void *const *)machine.block, key, BLOCKS_KEPT);
	if (map == &rules)
		return element(machine.rules, 0, key, 1);
	if (map == &scratches)
		return element(machine.scratch, 0, key, 1);
	if (map == &memories)
		return one_of((void *const *)machine.memory, key, 2);
	if (map == &made_spaces)
		return one_of((void *const *)machine.made, key, 2);
	if (map == &losses)
		return element(machine.losses, sizeof(machine.losses[0]), key, OFFCPU_LOSS_COUNT);
	if (map == &languages)
		return machine.language;
	if (map == &contexts)
		return machine.context;
	if (map == &file_tables)
		return machine.file_table;
	return NULL;
}

long bpf_map_update_elem(const void *map, const void *key, const void *value, __u64 flags)
{
	return 0;
}

long bpf_ringbuf_output(void *map, void *record, __u64 size, __u64 flags)
{
	const volatile uint8_t *bytes = record;

	for (__u64 i = 0; i < size; i++)	/* all of it is there */
		(void)bytes[i];
	return 0;
}

void *bpf_ringbuf_reserve(void *map, __u64 size, __u64 flags)
{
	return NULL;
}

long bpf_task_pt_regs(struct task_struct *task)
{
	return (long)(uintptr_t)&machine.regs;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return (struct task_struct *)machine.kernel;
}

long bpf_get_stack(void *ctx, void *to, __u32 size, __u64 flags)
{
	return -14;
}

long bpf_get_task_stack(struct task_struct *task, void *to, __u32 size, __u64 flags)
{
	return -14;
}

long bpf_probe_read_kernel_str(void *to, __u32 size, const void *from)
{
	return -14;
}

__u64 bpf_ktime_get_ns(void)
{
	return 1;
}

__u32 bpf_get_prandom_u32(void)
{
	return 1;
}

void *bpf_rdonly_cast(const void *obj, __u32 btf_id)
{
	return (void *)(uintptr_t)obj;
}

/* The configuration is a constant to programs: user space writes it before they are loaded. */
static struct offcpu_config *machine_config(void)
{
	static bool is_writable;
	uintptr_t at = (uintptr_t)&cfg, first = at & ~(PAGE_BYTES - 1);

	if (!is_writable && mprotect((void *)first, at + sizeof(cfg) - first, PROT_READ | PROT_WRITE))
		abort();
	is_writable = true;
	barrier_var(at);	/* the compiler knows that nobody may write there */
	return (struct offcpu_config *)at;
}

static void make_tables(bool has_five_levels)
{
	for (unsigned level = 0; level + 1 < TABLE_LEVELS; level++)
		machine.physical[level][CODE_AT >> (48 - 9 * level) & 511] = (level + 1) * PAGE_BYTES | ENTRY_PRESENT;
	for (unsigned i = 0; i < USER_PAGES; i++) {
		machine.page[i] = (uint8_t)(i < CODE_PAGES ? CODE_PAGE : STACK_PAGE + i - CODE_PAGES);
		machine.physical[TABLE_LEVELS - 1][i] = machine.page[i] * PAGE_BYTES | ENTRY_PRESENT;
	}
	direct_map = has_five_levels ? DIRECT_MAP_5 : DIRECT_MAP;
	struct task_struct *task = (struct task_struct *)machine.kernel;

	task->mm = (struct mm_struct *)(machine.kernel + 256);
	task->mm->pgd = (unsigned long *)(uintptr_t)(direct_map + (has_five_levels ? 0 : PAGE_BYTES));
}

/* Everything as it is before the first event. */
UNTRACED static void machine_reset(bool has_five_levels)
{
	struct offcpu_config *c = machine_config();

	if (!machine.scratch) {
		machine.rules = malloc(sizeof(*machine.rules));
		machine.scratch = malloc(sizeof(*machine.scratch));
		for (unsigned i = 0; i < 2; i++) {
			machine.memory[i] = malloc(sizeof(*machine.memory[i]));
			machine.made[i] = malloc(sizeof(*machine.made[i]));
		}
		for (unsigned i = 0; i < BLOCKS_KEPT; i++)
			machine.block[i] = malloc(sizeof(*machine.block[i]));
	}
	memset(machine.rules, 0, sizeof(*machine.rules));
	memset(machine.scratch, 0, sizeof(*machine.scratch));
	for (unsigned i = 0; i < 2; i++) {
		memset(machine.memory[i], 0, sizeof(*machine.memory[i]));
		memset(machine.made[i], 0, sizeof(*machine.made[i]));
	}
	for (unsigned i = 0; i < BLOCKS_KEPT; i++)
		memset(machine.block[i], 0, sizeof(*machine.block[i]));
	for (unsigned i = 0; i < SPACES_KEPT; i++) {
		free(machine.space[i]);
		machine.space[i] = NULL;
	}
	memset(machine.physical, 0, sizeof(machine.physical));
	memset(machine.kernel, 0, sizeof(machine.kernel));
	memset(machine.losses, 0, sizeof(machine.losses));
	machine.reads = machine.moves_at = 0;
	next_memory = memories_taken = 0;
	machine.has_read_unaligned = false;
	*c = (struct offcpu_config){ .max_depth = OFFCPU_MAX_DEPTH, .can_walk = 1, .want_ustack = 1, .want_user = 1,
				     .want_tables = 1, .memories = 2, .memories_max = 2, .page_shift = 12 };
	make_tables(has_five_levels);
}

/* The program's memory made of bytes: of each word of them the low bits say what it is. */
UNTRACED static uint64_t word_meant(uint64_t word)
{
	if (word >> 16)
		return word;
	return word & 1 ? CODE_AT + word : word & 4 ? word >> 3 : STACK_AT + (word & ~7ULL) % STACK_BYTES;
}

UNTRACED static void machine_fill(const uint8_t *data, size_t size)
{
	size_t words = size / 2 < PAGE_WORDS * (STACK_PAGES + 1) ? size / 2 : PAGE_WORDS * (STACK_PAGES + 1);

	/* two bytes make a word; the stack comes first */
	for (size_t i = 0; i < words; i++) {
		uint64_t word = word_meant(data[2 * i] | data[2 * i + 1] << 8);

		if (i < PAGE_WORDS * STACK_PAGES)
			machine.physical[STACK_PAGE + i / PAGE_WORDS][i % PAGE_WORDS] = word;
		else
			machine.physical[CODE_PAGE][i % PAGE_WORDS] = word;
	}
}

/* What requests add to a context (features/requests/route.bpf.h): no thread here has one. */
int saw_route(struct thread_state *st, struct context_scratch *s, __u64 now)
{
	(void)st;
	(void)s;
	(void)now;
	return 0;
}

#endif
