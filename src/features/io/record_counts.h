/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_RECORD_COUNTS_H
#define FEATURES_IO_RECORD_COUNTS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "features/io/stack_abi.h"
#include "profile/profile.h"

struct bpf_map;

/* Counters of BPF programs, per CPU: array maps indexed by an enum. */
uint64_t io_count(const struct bpf_map *map, uint32_t what);

struct io_loss {
	uint32_t what;
	const char *reason, *help;
};
/* Adds counts above 0 as losses of the profile. */
void io_add_losses(struct profile *p, const struct bpf_map *map, const struct io_loss *losses, gsize cnt);

/*
 * Marks a profile as holding `what` ("block requests, ...") instead of waits, with its begin and end. rows_are: see
 * struct profile_info.
 */
void io_recording_info(struct profile *p, const char *what, const char *rows_are, uint64_t start_ns,
		       uint64_t start_unix_ns, uint64_t stop_ns);

struct bpf_map;
struct bpf_program;

/* The selected processes and groups. */
struct io_only {
	const GArray *pids;	/* uint32_t, borrowed; NULL: all processes */
	const GArray *cgroups;	/* uint64_t, borrowed; NULL: all groups */
	bool follow;		/* also their descendants */
};

/* The parts of a skeleton that includes features/io/chosen.bpf.h. */
struct only_parts {
	bool *by_process, *by_cgroup;
	struct bpf_map *tgids, *cgroups;
	struct bpf_program *fork, *free;
};

/* A macro, because each skeleton has its own type. */
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

/* Call it before the skeleton is loaded. */
void only_configure(const struct only_parts *parts, const struct io_only *only);
/* Call it after loading, before attaching. */
bool only_fill(const struct only_parts *parts, const struct io_only *only, GError **error);

/* Stacks at which requests and operations were made: symbolized as they arrive and kept as nodes of the profile. */
struct io_places;

struct io_place {
	uint64_t number;	/* number of the request or operation */
	uint32_t user, kernel;	/* stack nodes; 0: none */
};

/* with_kernel: there will be kernel stacks. */
struct io_places *io_places_new(struct profile *p, bool with_kernel);
void io_places_free(struct io_places *s);	/* NULL is fine */
/* A record of impossible size is dropped. */
void io_places_take(struct io_places *s, const struct io_rec_stack *rec, size_t size);
/* Both 0 if it has not arrived. The entry is removed. */
struct io_place io_places_give(struct io_places *s, uint64_t number);
/* No more stacks will come. */
void io_places_finish(struct io_places *s);

#endif
