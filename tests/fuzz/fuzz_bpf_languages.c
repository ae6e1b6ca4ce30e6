/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The kernel's walks of interpreters' frames, compiled for this machine: CPython's, Ruby's, PHP's and Perl's, any place of what
 * they go by, any memory; and who holds the interpreter's lock.
 */
#include "native/machine.h"	/* first */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1

static struct thread_state thread;
static struct offcpu_language language;

/* Offsets as small as the memory. */
static void make_language(const uint8_t *data)
{
	struct offcpu_language *l = &language;
	uint32_t *offsets[] = { &l->key_at, &l->cframe_at, &l->frame_at, &l->code_at, &l->previous_at, &l->instr_at,
				&l->entry_at, &l->interp_at, &l->gil_at, &l->thread_at, &l->tid_at };

	memset(l, 0, sizeof(*l));
	l->version = 1;
	l->keys_at = (int8_t)data[0] & ~7;
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		*offsets[i] = data[1 + i] & (i == 5 || i == 6 ? ~0U : ~7U);
	if (data[12] & 1)
		l->key_at = OFFCPU_KEY_NONE;
	l->instr_bytes = data[12] & 2 ? 8 : 4;
	l->entry = (data[12] >> 2) % (OFFCPU_ENTRY_CONTEXT + 1);
	l->entry_value = data[13];
	l->has_cframe = data[12] >> 5 & 1;
	l->state = data[12] & 64 ? STACK_AT + 8 * data[14] : 0;
	l->gil = data[12] & 128 ? STACK_AT + 8 * data[15] : 0;
	l->frame_bytes = data[16] & 1 ? data[16] & ~7U : 0;
	l->name_at = data[17] & ~7U;
	l->file_at = data[18] & ~7U;
	l->ractor_at = data[19] & ~7U;
	l->context_at = data[20] & ~7U;
	l->queue_at = data[21] & 1 ? data[21] & ~7U : 0;
	l->sleeps_in_queue = data[21] >> 1 & 1;
}

#define LANGUAGE_BYTES 24

static void begin(bool by_pages)
{
	struct walk_state *at = &machine.scratch->walk;

	if (!begin_walk(at, (struct task_struct *)machine.kernel, by_pages))
		abort();
	at->in_parents = false;
	at->thread_pointer = STACK_AT + 256;
}

static void check_frames(const struct offcpu_rec_language *rec, uint32_t max)
{
	if (rec->depth > max)
		abort();
	for (uint32_t i = 0; i < rec->depth; i++)
		if (rec->frame[i].code & 6)
			abort();
}

/* The stack's id; by page tables it is the same. */
static uint64_t walk(bool by_pages)
{
	uint64_t id;

	begin(by_pages);
	id = language_stack(&thread, &machine.scratch->walk, &machine.scratch->language, 1000, NOW);
	check_frames(&machine.scratch->language.rec, OFFCPU_LANGUAGE_DEPTH);
	return id;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct offcpu_rec_language *rec;
	uint64_t id, key;

	if (size < LANGUAGE_BYTES)
		return 0;
	machine_reset(data[22] & 1);
	machine_fill(data + LANGUAGE_BYTES, size - LANGUAGE_BYTES);
	make_language(data);
	machine.language = &language;
	machine.regs = (struct pt_regs){ .ip = CODE_AT + 1, .sp = STACK_AT, .bp = STACK_AT, .cs = 0x33 };
	thread = (struct thread_state){ .proc_start_ns = 5, .pid = 7, .tid = 7 + (data[22] >> 1 & 1), .exec_no = 1 };
	key = stack_seed(&thread);
	id = walk(false);
	if (walk(true) != id)
		abort();
	machine.moves_at = 1 + data[23] + machine.reads;
	machine.moved_page = data[22] >> 2 & 1;
	if (walk(true) != id && machine.losses[OFFCPU_LOSS_LANGUAGE].count == 0)
		abort();
	begin(false);
	rec = &machine.scratch->language.rec;
	thread.futex.addr[0] = STACK_AT + 8 * data[15] + (data[22] & 0xf8);
	if (gil_of_futex(&thread, machine.scratch, key, thread.futex.addr[0]))
		check_frames(rec, OFFCPU_GIL_DEPTH);
	return 0;
}
