/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_NETWORK_H
#define STORE_PACK_NETWORK_H

#include "profile/profile.h"
#include "store/dict_map.h"
#include "store/dict_write.h"

/*
 * What TCP waits went on, and connections, behind all other rows of a window; nothing where there are none, as in windows
 * of before December 2026.  Of connections the ports that the kernel chose are left out: they would fill the dictionary.
 */
void pack_network(struct dict_writer *w, const struct profile *p, GByteArray *into);
/* Up to the end of the bytes.  False: they are none of ours. */
bool unpack_network(struct dict_map *m, struct cursor *c, struct profile *rows);

#endif
