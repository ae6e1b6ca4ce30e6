/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_ONLY_H
#define IO_ONLY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_map;
struct bpf_program;

/* Whose requests or operations are looked at. */
struct io_only {
	const GArray *pids;	/* of uint32_t, borrowed; NULL: all processes */
	const GArray *cgroups;	/* of uint64_t, borrowed; NULL: all groups */
	bool follow;		/* what the processes fork, too */
};

/* Of a skeleton that includes bpf/only.bpf.h. */
struct only_parts {
	bool *by_process, *by_cgroup;
	struct bpf_map *tgids, *cgroups;
	struct bpf_program *fork, *free;
};

/* Each skeleton has a type of its own. */
#define ONLY_PARTS(skel)                                    \
	((struct only_parts){                               \
		.by_process = &(skel)->rodata->by_process,  \
		.by_cgroup = &(skel)->rodata->by_cgroup,    \
		.tgids = (skel)->maps.only_tgids,           \
		.cgroups = (skel)->maps.filter_cgroups,     \
		.fork = (skel)->progs.only_fork,            \
		.free = (skel)->progs.only_free,            \
	})

static inline bool only_some(const struct io_only *only)
{
	return only->pids || only->cgroups;
}

/* Before the skeleton is loaded. */
void only_configure(const struct only_parts *parts, const struct io_only *only);
/* After it, before it is attached. */
bool only_fill(const struct only_parts *parts, const struct io_only *only, GError **error);

#endif
