/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_PYROSCOPE_H
#define PUSH_PYROSCOPE_H

#include "push/series.h"

/* Windows for Pyroscope's push.v1: a gzipped pprof with its labels, as a protobuf. */
#define PYROSCOPE_SAMPLES_MAX 16000
#define PYROSCOPE_BYTES_MAX 1900000 /* of a profile before it is packed: the engine's rate limit has a burst of 2 MB */

extern const struct series_format pyroscope_series;

#endif
