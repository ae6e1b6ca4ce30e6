/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_TASKS_H
#define STORE_PACK_TASKS_H

#include "store/dict_map.h"
#include "store/dict_write.h"

/* Tasks as bytes: each population and its rows, by most tasks.  When they were seen is not kept. */
void pack_tasks(struct dict_writer *w, const struct profile *p, GByteArray *into);
/* False: these are no such bytes. */
bool unpack_tasks(struct dict_map *m, struct cursor *c, struct profile *p);

#endif
