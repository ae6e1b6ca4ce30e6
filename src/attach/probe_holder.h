/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_PROBE_HOLDER_H
#define ATTACH_PROBE_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The kernel sets a uprobe, and takes it away, in every process that maps the file, and waits for each one's memory
 * without an end: a process that faults in a page of a file system that never answers holds whoever probes, and no
 * signal ends that.  So a process of its own makes the links and keeps them.  It is left behind where it does not come
 * back, as openers are (base/opener.h).
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
