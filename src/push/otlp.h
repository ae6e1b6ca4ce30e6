/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_OTLP_H
#define PUSH_OTLP_H

#include "push/series.h"

/*
 * Windows as OpenTelemetry profiles over HTTP (OTLP 1.10 and later, v1development): a request for each service, its
 * name and the host as attributes of the resource.
 */
#define OTLP_SAMPLES_MAX 16000
#define OTLP_BYTES_MAX (8 << 20)	/* before it is packed; a collector takes 20 MiB */

extern const struct series_format otlp_series;

/*
 * What a collector says in its answer, which is anybody's: how many of the profiles of a request that it took it
 * dropped (0: none), and its words, cut from the bytes; free with g_free().
 */
uint64_t otlp_rejected(const void *bytes, gsize len_bytes, char **ret_words);
/* The words of an answer that is a failure, which is a google.rpc.Status; NULL when it is none. */
char *otlp_words(const void *bytes, gsize len_bytes);

#endif
