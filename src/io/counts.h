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

#endif
