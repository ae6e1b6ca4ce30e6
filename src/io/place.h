/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_PLACE_H
#define IO_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/io_stack_abi.h"
#include "profile/profile.h"

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
