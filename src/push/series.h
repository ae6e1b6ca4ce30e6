/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SERIES_H
#define PUSH_SERIES_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * A window as requests to engines that take a profile at a time: a series for each service and for idle time apart,
 * without threads, off-CPU time and numbers of waits by stack.  One series a request, since a batch of which one part
 * is refused must be sent again as a whole, and would count twice.  What is too large for one is several, a
 * millisecond apart.  Tasks, where the window has any, are series of their own in the same way.
 */
struct series_part {
	const struct profile *p;	/* of this part alone: its stacks, host, time and build ids */
	const char *service;
	bool is_idle;
	bool is_tasks;	/* task time in place of off-CPU time */
};

struct series_format {
	const char *engine;	/* for people */
	guint samples_max;	/* of a request */
	bool is_gzip;		/* the body is packed as a whole */
	/*
	 * The body of a request.  False: too large for the engine, so it is asked for less; is_last: there is no less.
	 */
	bool (*body)(const struct series_part *part, bool is_last, GString *ret_body);
};

/* struct push_unit, each a request.  reasons: of p.  Names are learnt from the window.  NULL with one sentence. */
GPtrArray *series_units(const struct profile *p, const struct reasons *reasons, struct services *services,
			const struct series_format *format, GError **error);

/* The part as pprof, appended to ret and packed; false: before that it has more bytes than max_bytes. */
bool series_pprof(const struct series_part *part, gsize max_bytes, GString *ret);

struct series_label { const char *name, *value; };
#define SERIES_LABELS 4
/* What names a series: __name__, service_name, instance (the host), idle; borrowed from the part. */
void series_labels(const struct series_part *part, struct series_label ret_labels[SERIES_LABELS]);
/* Appends one as protobuf's field, a message of name and value as Pyroscope and Parca both have it. */
void series_append_label(GString *out, unsigned field, const struct series_label *label);
/* A label's value as engines take it: valid UTF-8 and not too long; free with g_free(). */
char *series_value(const char *value);

/* Windows for Pyroscope's push.v1: a gzipped pprof with its labels, as a protobuf. */
#define PYROSCOPE_SAMPLES_MAX 16000
#define PYROSCOPE_BYTES_MAX 1900000 /* of a profile before it is packed: the engine's rate limit has a burst of 2 MB */

extern const struct series_format pyroscope_series;

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
