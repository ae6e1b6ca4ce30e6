/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_PROBE_H
#define ATTACH_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Uprobes: many at once by one link where the kernel can (uprobe_multi, Linux 6.6), else one perf event each, which
 * are taken away by several threads, for each takes a tenth of a second.  They hold for every process that maps the
 * file; none is filtered by process here.
 */
struct bpf_program;
struct probe_set;

struct probe_point {
	uint64_t offset;	/* in the file */
	uint64_t semaphore;	/* the same of the counter that switches the place on; 0: none */
	uint64_t cookie;
};

/* Before it is loaded: the program is one for probes, of the kind that this kernel takes. */
void probe_prepare(struct bpf_program *prog);

struct probe_set *probe_set_new(void);
void probe_set_free(struct probe_set *s);	/* takes all away; NULL is fine */

/*
 * Of the file behind the descriptor, which need only be O_PATH.  0, or a negative errno, and then there is none of
 * them.  -EDEADLK: some process does not answer.  The kernel would wait for its memory if it maps the file, and whoever
 * forks for the kernel.
 */
int probe_set_add(struct probe_set *s, const struct bpf_program *prog, int file_fd, const struct probe_point *points,
		  size_t cnt);

/*
 * One link to places of the file: their offsets, counters and cookies, one behind the other.  A descriptor, or a
 * negative errno.  Where uprobe_multi is known to work; it allocates nothing.
 */
int probe_link(int prog_fd, int file_fd, const uint64_t *numbers, bool has_semaphores, size_t cnt);

/* Where in the code of 64-bit x86 a probe costs least. */

/*
 * How far behind the entry of a function a probe is to lie: at the first push or nop, if each run of the function
 * passes it once, with the stack as at the entry.  0: at the entry.
 */
size_t insn_entry_place(const uint8_t *code, size_t len);
/*
 * The same behind a call: at the first instruction that the kernel emulates, with the stack pointer as after the call.
 */
size_t insn_return_place(const uint8_t *code, size_t len);

/*
 * The kernel sets a uprobe, and takes it away, in every process that maps the file, and waits for each one's memory
 * without an end: a process that faults in a page of a file system that never answers holds whoever probes, and no
 * signal ends that.  So a process of its own makes the links and keeps them.  It is left behind where it does not come
 * back, as openers are (base/opener/opener.h).
 */
struct probe_holder;

/* NULL: no process can be had. */
struct probe_holder *probe_holder_new(void);
/* Takes all links away, which is waited for for a while; NULL is fine. */
void probe_holder_free(struct probe_holder *h);

/*
 * A link of the program to offsets of a file, which are followed by as many counters that switch the places on (all 0:
 * none), and by as many cookies.  0 or a negative errno; -ETIMEDOUT: it does not come back, or somebody asked for the
 * end meanwhile, and there will be no more links.
 */
int probe_holder_add(struct probe_holder *h, int prog_fd, int file_fd, const uint64_t *numbers, uint32_t cnt);

#endif
