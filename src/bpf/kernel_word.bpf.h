/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_KERNEL_WORD_BPF_H
#define BPF_KERNEL_WORD_BPF_H

#include "bpf/maps.bpf.h"

/* Reads the kernel's memory at addresses that the verifier takes for numbers; unreadable memory reads as 0. */

#define AT(type, base, member) ((base) + bpf_core_field_offset(type, member))

static __always_inline __u64 word_at(__u64 addr)
{
	__u64 word;

#ifndef WITHOUT_CAST
	if (can_cast()) {
		const struct timespec64 *at = bpf_rdonly_cast((const void *)addr, cfg.timespec64_id);

		word = at->tv_sec;
		barrier_var(word);	/* or clang merges the loads of this word and of another one on our stack */
		return word;
	}
#endif
	return bpf_probe_read_kernel(&word, sizeof(word), (const void *)addr) ? 0 : word;
}

/* Half of a word at an address that is a multiple of 4: it may be the upper half of the aligned word. */
static __always_inline __u32 half_of(__u64 word, __u64 addr)
{
	return addr & 4 ? word >> 32 : word;
}

static __always_inline __u32 half_at(__u64 addr)
{
	return half_of(word_at(addr & ~7ULL), addr);
}

#define POINTER(type, base, member) word_at(AT(type, base, member))
#define NUMBER(type, base, member) half_at(AT(type, base, member))

/*
 * The same for code that reads many words and is not critical. A global function: the verifier checks it once.
 * Inlined, it would have to remove the untaken branch at every place, each time with a pass over the whole program.
 */
__noinline __u64 read_word(__u64 addr)
{
	return word_at(addr);
}

static __always_inline __u32 read_half(__u64 addr)
{
	return half_of(read_word(addr & ~7ULL), addr);
}

#define READ_POINTER(type, base, member) read_word(AT(type, base, member))
#define READ_NUMBER(type, base, member) read_half(AT(type, base, member))

#endif
