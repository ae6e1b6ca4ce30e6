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

/* What the BPF programs count, each CPU for itself: by an enum, in an array map. */
uint64_t io_count(const struct bpf_map *map, uint32_t what);

struct io_loss {
	uint32_t what;
	const char *reason, *help;
};
/* Those that are not 0 become losses of the profile. */
void io_add_losses(struct profile *p, const struct bpf_map *map, const struct io_loss *losses, gsize cnt);

/*
 * Says of a profile that it holds `what` ("block requests, ...") in place of waits, since when and until when.
 * rows_are: see struct profile_info.
 */
void io_recording_info(struct profile *p, const char *what, const char *rows_are, uint64_t start_ns,
		       uint64_t start_unix_ns, uint64_t stop_ns);

struct bpf_map;
struct bpf_program;

/* Whose requests or operations are looked at. */
struct io_only {
	const GArray *pids;	/* of uint32_t, borrowed; NULL: all processes */
	const GArray *cgroups;	/* of uint64_t, borrowed; NULL: all groups */
	bool follow;		/* what the processes fork, too */
};

/* Of a skeleton that includes features/io/chosen.bpf.h. */
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

/*
 * The stacks where requests and operations were made, as they arrive: walked, named, kept as nodes of the profile
 * until asked for.
 */
struct io_places;

struct io_place {
	uint64_t number;	/* of the request or operation */
	uint32_t user, kernel;	/* stack nodes; 0: none */
};

/* with_kernel: kernel stacks will come. */
struct io_places *io_places_new(struct profile *p, bool with_kernel);
void io_places_free(struct io_places *s);	/* NULL is fine */
/* One of impossible size is dropped. */
void io_places_take(struct io_places *s, const struct io_rec_stack *rec, size_t size);
/* Both 0 where it did not arrive.  Nobody will ask for it again. */
struct io_place io_places_give(struct io_places *s, uint64_t number);
/* No more will come. */
void io_places_finish(struct io_places *s);

#endif
