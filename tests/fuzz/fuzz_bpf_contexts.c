/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the kernel programs read of a thread's trace context and of a goroutine's labels, compiled for this machine: any
 * memory.  And sets of labels as Go makes them, of which each must come out as it is.
 */
#define may_read_labels() true	/* no verifier is in the way */
#include "native/machine.h"	/* first */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1
#define USTACK 1000
#define HEAD 8		/* bytes that say where things are */
#define THREAD_POINTER (STACK_AT + 256)

static struct thread_state thread = { .proc_start_ns = 5, .pid = 7, .tid = 8, .exec_no = 1, .tno = 3 };
static struct offcpu_context_place place;

/* Names are asked for that memory made of few words may have. */
static void want(unsigned number, const char *name, uint8_t digits)
{
	static bool is_writable;
	uintptr_t from = (uintptr_t)&label_name & ~(PAGE_BYTES - 1), to = (uintptr_t)(&label_digits + 1);

	if (!is_writable && mprotect((void *)from, to - from, PROT_READ | PROT_WRITE))
		abort();
	is_writable = true;
	uint8_t *bytes = (uint8_t *)(uintptr_t)label_bytes, *first = (uint8_t *)(uintptr_t)first_label,
		*of_trace = (uint8_t *)(uintptr_t)label_digits;
	void *text = (void *)(uintptr_t)label_name[number];

	barrier_var(bytes);	/* the compiler knows that nobody may write there */
	barrier_var(first);
	barrier_var(text);
	barrier_var(of_trace);
	of_trace[number] = digits;
	bytes[number] = (uint8_t)strlen(name);
	first[bytes[number]] = first[bytes[number]] ? first[bytes[number]] : (uint8_t)number;
	memcpy(text, name, bytes[number]);
}

static uint64_t read_once(bool by_pages)
{
	struct walk_state *at = &machine.scratch->walk;

	if (!begin_walk(at, (struct task_struct *)machine.kernel, by_pages))
		abort();
	at->in_parents = false;
	at->thread_pointer = THREAD_POINTER;
	return context_stack(&thread, at, &machine.scratch->context, USTACK, NOW);
}

/* What user space gets of it lies within, and says what it is. */
static void check_record(void)
{
	const struct context_scratch *s = &machine.scratch->context;
	const uint8_t *record = (const uint8_t *)s->word + s->shift;
	unsigned bytes = record[OFFCPU_CONTEXT_SIZE_AT] | record[OFFCPU_CONTEXT_SIZE_AT + 1] << 8;

	if (record[OFFCPU_CONTEXT_VALID_AT] != 1)
		abort();
	for (unsigned at = 0; s->is_labels && at < bytes; at += 2 + record[OFFCPU_CONTEXT_HEAD_BYTES + at + 1])
		if (bytes > OFFCPU_CONTEXT_BYTES || !record[OFFCPU_CONTEXT_HEAD_BYTES + at] ||
		    record[OFFCPU_CONTEXT_HEAD_BYTES + at] >= OFFCPU_LABEL_NAMES ||
		    at + 2 + record[OFFCPU_CONTEXT_HEAD_BYTES + at + 1] > bytes)
			abort();
}

static void put(uint64_t addr, const void *bytes, size_t cnt)
{
	memcpy((char *)machine.physical[STACK_PAGE] + (addr - STACK_AT), bytes, cnt);
}

static void put_word(uint64_t addr, uint64_t word)
{
	put(addr, &word, sizeof(word));
}

static uint64_t text_end;

static void put_text(uint64_t addr, const char *text)
{
	put(text_end, text, strlen(text));
	put_word(addr, text_end);
	put_word(addr + 8, strlen(text));
	text_end += strlen(text) + 3;
}

#define GOROUTINE STACK_AT
#define OWN (STACK_AT + 512)	/* the thread's, for the scheduler */
#define THREAD (STACK_AT + 1024)
#define SET (STACK_AT + 1536)
#define PAIRS (STACK_AT + 2048)
#define TEXTS (STACK_AT + PAGE_BYTES - 41)	/* they lie on both pages */

static const char *const pairs[][2] = {
	{ "request", "17" }, { "http.route", "/stock/{id} of all that there are, at length" }, { "rpc.method", "x" }, { "route", "" },
	{ "trace_id", "4bf92f3577b34da6a3ce929d0e0e4736" }, { "span_id", "00f067aa0ba902b7" },
};
#define PAIR_CNT (sizeof(pairs) / sizeof(pairs[0]))

static void put_map(void)
{
	uint64_t used = 0;

	put_word(SET, SET + 8);
	put_word(SET + 8, PAIR_CNT);
	put_word(SET + 16, 1 << GO_MAP_BITS_SHIFT);
	put_word(SET + 24, PAIRS);
	put_word(SET + 32, 0);
	for (unsigned i = 0; i < PAIR_CNT; i++) {
		unsigned slot = i < 2 ? i : i + 2;

		used |= 77ULL << 8 * slot;
		put_text(PAIRS + GO_BUCKET + GO_KEYS_AT + GO_STRING * slot, pairs[i][0]);
		put_text(PAIRS + GO_BUCKET + GO_VALUES_AT + GO_STRING * slot, pairs[i][1]);
	}
	put_word(PAIRS, 0x0101010101010101ULL);
	put_word(PAIRS + GO_BUCKET, used);
}

static void put_list(void)
{
	put_word(SET, PAIRS);
	put_word(SET + 8, PAIR_CNT);
	for (unsigned i = 0; i < PAIR_CNT; i++) {
		put_text(PAIRS + 2ULL * GO_STRING * i, pairs[i][0]);
		put_text(PAIRS + 2ULL * GO_STRING * i + GO_STRING, pairs[i][1]);
	}
}

/* A set as it is made comes out: by itself, and through the thread's own goroutine. */
static void check_set(bool is_list, bool by_pages, bool through_own, uint64_t *ret_id)
{
	static const uint8_t trace[] = { 0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d,
					 0x0e, 0x0e, 0x47, 0x36, 0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7 };
	static const char wanted[] = "\1\54/stock/{id} of all that there are, at length\2\1x";
	const uint8_t *record = (const uint8_t *)machine.scratch->context.word;

	memset(machine.physical[STACK_PAGE], 0, STACK_BYTES);
	text_end = TEXTS;
	place = (struct offcpu_context_place){ .at = -8, .labels_at = 160, .runs_at = 192, .has_list = is_list };
	put_word(THREAD_POINTER - 8, through_own ? OWN : GOROUTINE);
	put_word(OWN + OFFCPU_GO_THREAD_AT, THREAD);
	put_word(GOROUTINE + 160 - OFFCPU_GO_LABELS_BEHIND, CODE_AT);
	put_word(GOROUTINE + OFFCPU_GO_THREAD_AT, THREAD);
	put_word(THREAD + 192, GOROUTINE);
	put_word(GOROUTINE + 160, SET);
	if (is_list)
		put_list();
	else
		put_map();
	*ret_id = read_once(by_pages);
	if (*ret_id == USTACK || machine.losses[OFFCPU_LOSS_CONTEXT].count)
		abort();
	check_record();
	if (memcmp(record, trace, sizeof(trace)) != 0)
		abort();
	if ((record[OFFCPU_CONTEXT_SIZE_AT] | record[OFFCPU_CONTEXT_SIZE_AT + 1] << 8) != sizeof(wanted) - 1 ||
	    memcmp(record + OFFCPU_CONTEXT_HEAD_BYTES, wanted, sizeof(wanted) - 1) != 0)
		abort();
}

static void check_sets(void)
{
	uint64_t id, first = 0;

	for (unsigned i = 0; i < 8; i++) {
		check_set(i & 1, i & 2, i & 4, &id);
		first = first ? first : id;
		if (id != first)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool has_checked;
	uint64_t id, lost;

	if (size < HEAD)
		return 0;
	machine.context = &place;
	want(1, "http.route", 0);
	want(2, "rpc.method", 0);
	want(3, "route", 0);
	want(4, "trace_id", OFFCPU_LABEL_TRACE_DIGITS);
	want(5, "span_id", OFFCPU_LABEL_TRACE_DIGITS / 2);
	machine_reset(data[0] & 1);
	machine.regs = (struct pt_regs){ .ip = CODE_AT + 1, .sp = STACK_AT, .bp = STACK_AT, .cs = 0x33 };
	if (!has_checked)
		check_sets();
	has_checked = true;
	machine_reset(data[0] & 1);
	machine.regs = (struct pt_regs){ .ip = CODE_AT + 1, .sp = STACK_AT, .bp = STACK_AT, .cs = 0x33 };
	machine_fill(data + HEAD, size - HEAD);
	place = (struct offcpu_context_place){ .at = (int8_t)data[1] & ~7, .module = data[0] >> 1 & 1, .dtv_at = data[2] & ~7, .dtv_bytes = 16,
					       .keys = { ~0ULL, data[3] }, .has_list = data[0] >> 3 & 1 };
	if (data[0] & 4) {
		place.labels_at = OFFCPU_GO_LABELS_BEHIND + (data[4] & ~7);
		place.runs_at = data[5] & ~7;
	}
	id = read_once(false);
	lost = machine.losses[OFFCPU_LOSS_CONTEXT].count;
	if (id != USTACK)
		check_record();
	/* by pages what nobody has written to yet is known from what cannot be read */
	if (read_once(true) != id || machine.losses[OFFCPU_LOSS_CONTEXT].count > 2 * lost)
		abort();
	lost = machine.losses[OFFCPU_LOSS_CONTEXT].count;
	machine.moves_at = 1 + data[6] + machine.reads;
	machine.moved_page = data[0] >> 4 & 1;
	if (read_once(true) != id && machine.losses[OFFCPU_LOSS_CONTEXT].count == lost)
		abort();
	return 0;
}
