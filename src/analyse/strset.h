/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_STRSET_H
#define ANALYSE_STRSET_H

#include <stdint.h>

/*
 * Strings stored once each, with dense ids in order of first use.  The hash is keyed by a secret, since a hostile
 * recording may provoke collisions.
 */
struct strset;

struct strset *strset_new(void);
void strset_free(struct strset *set);	/* NULL is fine */

uint32_t strset_id(struct strset *set, const char *s);
/* Returns the set's copy: the same pointer for equal strings. */
const char *strset_add(struct strset *set, const char *s);
const char *strset_get(const struct strset *set, uint32_t id);

#endif
