/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* BPF objects are compressed in the program; the skeletons written by tools/pack-skeleton get them here. */
#ifndef OFFCPU_ATTACH_PACKED_OBJECT_H
#define OFFCPU_ATTACH_PACKED_OBJECT_H

#include <stddef.h>

/* The object, unpacked at the first call into *at, where it stays, as skeletons point into it. */
const void *packed_object(size_t *at, const char *packed, size_t packed_bytes, size_t bytes);

#endif
