/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROCESS_IDS_H
#define BASE_PROCESS_IDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The processes that there are now, in our pid namespace: uint32_t, owned by the caller; empty where /proc cannot be
 * read.
 */
GArray *process_ids(void);

/*
 * Appends to ids (uint32_t) the processes whose name, or whose executable's file name, is `name`; not the caller.
 * False: there is none.
 */
bool process_ids_named(const char *name, GArray *ids);

/* ids: uint32_t; NULL: none. */
bool process_ids_contain(const GArray *ids, uint32_t id);

/* Appends to ids the processes that these have forked, and those that these have; not the caller. */
void process_ids_add_descendants(GArray *ids);

#endif
