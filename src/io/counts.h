/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_COUNTS_H
#define IO_COUNTS_H

#include <glib.h>
#include <stdint.h>

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

#endif
