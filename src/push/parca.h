/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_PARCA_H
#define PUSH_PARCA_H

#include "push/series.h"

/*
 * Windows for Parca's ProfileStoreService/WriteRaw, a gzipped pprof with its labels, by gRPC-Web: that needs no
 * HTTP/2.
 */
#define PARCA_SAMPLES_MAX 16000
#define PARCA_BYTES_MAX (8 << 20)	/* of a profile before it is packed; the server takes messages of 32 MB */

extern const struct series_format parca_series;

/*
 * gRPC's status of an answer, which is anybody's: from its body, or from the lines of its head.  0: taken; -1: none is
 * there. *ret_words: its message; free with g_free(), may be NULL.
 */
long parca_status(const void *bytes, gsize len_bytes, const char *headers, char **ret_words);

#endif
