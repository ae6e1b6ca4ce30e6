/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_PROBE_H
#define ATTACH_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Uprobes: many by one link where the kernel can (uprobe_multi, Linux 6.6), else one perf event each. Removing such an
 * event takes a tenth of a second, so several threads do it. They apply to every process that maps the file; none is
 * filtered by process here.
 */
struct bpf_program;
struct probe_set;

struct probe_point {
	uint64_t offset;	/* in the file */
	uint64_t semaphore;	/* offset of the counter that enables the place; 0: none */
	uint64_t cookie;
};

/* Before loading: makes the program one for probes, of the kind that this kernel supports. */
void probe_prepare(struct bpf_program *prog);

struct probe_set *probe_set_new(void);
void probe_set_free(struct probe_set *s);	/* removes all; NULL is fine */

/*
 * In the file behind the descriptor, which may be O_PATH. 0, or a negative errno, and then none of them is set.
 * -EDEADLK: some process does not answer. If it maps the file the kernel would wait for its memory, and so would its
 * callers.
 */
int probe_set_add(struct probe_set *s, const struct bpf_program *prog, int file_fd, const struct probe_point *points,
		  size_t cnt);

/*
 * One link to places of a file: arrays of offsets, counters and cookies, one after the other. Returns a descriptor, or
 * a negative errno. Requires uprobe_multi; allocates nothing.
 */
int probe_link(int prog_fd, int file_fd, const uint64_t *numbers, bool has_semaphores, size_t cnt);

/* Where in x86-64 code a probe costs least. */

/*
 * Offset from a function's entry at which to set the probe: at the first push or nop, if each run of the function
 * passes it once, with the stack as at the entry. 0: at the entry.
 */
size_t insn_entry_place(const uint8_t *code, size_t len);
/*
 * The same after a call: at the first instruction that the kernel emulates, with the stack pointer as after the call.
 */
size_t insn_return_place(const uint8_t *code, size_t len);

/*
 * The kernel sets and removes a uprobe in every process that maps the file, and waits for each one's memory without a
 * limit. A process that faults in a page of a file system that never answers thus blocks the caller, and no signal
 * ends that. So a helper process makes the links and keeps them. If it does not come back it is left behind, like
 * openers (base/opener/opener.h).
 */
struct probe_holder;

/* NULL: no process can be started. */
struct probe_holder *probe_holder_new(void);
/* Removes all links and waits for that for a while; NULL is fine. */
void probe_holder_free(struct probe_holder *h);

/*
 * Links the program to offsets in a file. The array has the offsets, then as many counters that enable the places (all
 * 0: none), then as many cookies. 0 or a negative errno. -ETIMEDOUT: the helper does not come back, or an end was
 * requested meanwhile; no more links can be made.
 */
int probe_holder_add(struct probe_holder *h, int prog_fd, int file_fd, const uint64_t *numbers, uint32_t cnt);

/*
 * While probes are set, or taken away: whoever holds that up for seconds by a FUSE file system that does not answer gets
 * an error in place of an answer, which opener_news() tells.  Other file systems hold it up as ever.
 */
struct probe_guard;
struct probe_guard *probe_guard_begin(void);
void probe_guard_end(struct probe_guard *g);

#endif
