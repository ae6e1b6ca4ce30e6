/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_KERNEL_WALK_BPF_H
#define BPF_ARM64_KERNEL_WALK_BPF_H

#include "bpf/remember.bpf.h"

/* On arm64 the kernel's own walk, a chain of frame records, is done each time: nothing of it is remembered. */
static __always_inline __u64 known_kernel_stack(struct thread_state *st, struct scratch *scratch, __u64 fp)
{
	return 0;
}

static __always_inline void remember_kernel_walk(const struct thread_state *st, struct scratch *scratch, __u64 fp)
{
}

static __always_inline void fetch_stack_early(const struct task_struct *task)
{
}

/* The scheduler's frames. */

/* An address of the kernel's code, whose upper bits pointer authentication may have signed. */
static __always_inline __u64 kernel_code(__u64 word)
{
	__u64 limit = address_limit < 1ULL << 48 ? address_limit : 1ULL << 48;

	return word | ~(limit - 1);
}

/* The function called just before a return address: bl, with 26 bits of distance in words. */
static __always_inline __u64 callee_of(__u64 word)
{
	__u32 call;

	if (bpf_probe_read_kernel(&call, sizeof(call), (void *)(word - sizeof(call))) || call >> 26 != 0x25)
		return 0;
	return word - sizeof(call) + (__s64)((__s32)(call << 6) >> 4);
}

struct sleep_path_walk {
	struct offcpu_rec_sleep_path *path;
	__u64 fp, first;
};

/* One frame's record; 1 ends the loop. */
static long sleep_path_record(__u32 i, struct sleep_path_walk *walk)
{
	struct offcpu_rec_sleep_path *path = walk->path;
	__u32 cnt = path->cnt;
	__u64 record[2];

	if (cnt >= OFFCPU_SLEEP_PATH_MAX || walk->fp & 7 || bpf_probe_read_kernel(record, sizeof(record), (void *)walk->fp))
		return 1;
	walk->fp = record[0];
	record[1] = kernel_code(record[1]);
	path->word[cnt] = record[1];
	path->callee[cnt] = callee_of(record[1]);
	path->cnt = cnt + 1;
	return record[1] == walk->first;
}

/* Sent once, before the stack itself crosses.  See struct offcpu_rec_sleep_path. */
static __always_inline void send_sleep_path(__u64 fp, struct scratch *scratch, __u64 id)
{
	struct offcpu_rec_sleep_path *path = &scratch->path;
	struct sleep_path_walk walk = {
		.path = path,
		.fp = fp,
		.first = scratch->stack.ip[0],
	};

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return;
	path->type = OFFCPU_REC_SLEEP_PATH;
	path->cnt = 0;
	path->id = id;
	bpf_loop(OFFCPU_SLEEP_PATH_MAX, sleep_path_record, &walk, 0);
	ring_send(path, sizeof(*path));
}

#endif
