/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_NAMES_H
#define SYMBOLIZE_HOTSPOT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/hotspot_code.h"

/*
 * Names of a JVM's code and methods, read from its memory while it lives, as they are just now: compiled code moves,
 * and what was known of a place says nothing once other code lies there.
 */
struct hotspot_names;

struct hotspot_names *hotspot_names_new(void);
void hotspot_names_free(struct hotspot_names *n);	/* NULL is fine */
/* No name is in use any more: where there are many, most of programs that are gone, all are read anew. */
void hotspot_names_next_turn(struct hotspot_names *n);

/* "com.example.Shop.pay", for as long as *n lives; NULL: no method lies there, or its process is gone. */
const char *hotspot_names_method(struct hotspot_names *n, const struct hotspot *h, uint64_t method);

/*
 * Of the code at ip, which may be a return address: the methods that run there, of which all but the last are inlined
 * in the one after, or what the JVM calls it ("StubRoutines (1)").  How many, innermost first, for as long as *n
 * lives; 0: as above.
 */
unsigned hotspot_names_code(struct hotspot_names *n, struct hotspot *h, uint64_t ip, bool is_return,
			    const char *const **ret_names);

#endif
