/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROCESS_IDS_H
#define BASE_PROCESS_IDS_H

#include <glib.h>

/* The processes that there are now, in our pid namespace: uint32_t, owned by the caller; empty where /proc cannot be read. */
GArray *process_ids(void);

#endif
