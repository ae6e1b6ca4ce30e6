/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SERIES_H
#define PUSH_SERIES_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * A window as requests for engines that take one profile each: off-CPU time and number of waits by stack, without
 * threads.  Each service has one series, and another one for its idle time.  A request holds one series: if part of a
 * batch is refused, the whole batch would have to be sent again and count twice.  A series that is too large becomes
 * several requests, a millisecond apart.  Tasks, if any, are series of their own.
 */
struct series_part {
	const struct profile *p;	/* only this part: its stacks, host, time and build ids */
	const char *service;
	bool is_idle;
	bool is_tasks;	/* task time instead of off-CPU time */
};

struct series_format {
	const char *engine;	/* for messages */
	guint samples_max;	/* per request */
	bool is_gzip;		/* the whole body is compressed */
	/*
	 * Appends the body of a request.  False: too large for the engine, retry with less.  is_last: there is no
	 * less.
	 */
	bool (*body)(const struct series_part *part, bool is_last, GString *ret_body);
};

/*
 * struct push_unit, each one request.  `reasons` are those of p.  Service names are learnt from the window.  NULL on
 * error.
 */
GPtrArray *series_units(const struct profile *p, const struct reasons *reasons, struct services *services,
			const struct series_format *format, GError **error);

/* Appends the part as compressed pprof.  False if it exceeds max_bytes uncompressed. */
bool series_pprof(const struct series_part *part, gsize max_bytes, GString *ret);

struct series_label { const char *name, *value; };
#define SERIES_LABELS 4
/* Labels of a series: __name__, service_name, instance (the host), idle; borrowed from the part. */
void series_labels(const struct series_part *part, struct series_label ret_labels[SERIES_LABELS]);
/* Appends a protobuf message of name and value, as Pyroscope and Parca define it. */
void series_append_label(GString *out, unsigned field, const struct series_label *label);
/* A label value that engines accept: valid UTF-8 of limited length.  Free with g_free(). */
char *series_value(const char *value);

/* Windows for Pyroscope's push.v1: a gzipped pprof with labels in a protobuf. */
#define PYROSCOPE_SAMPLES_MAX 16000
#define PYROSCOPE_BYTES_MAX 1900000 /* of an uncompressed profile: the engine's rate limit allows bursts of 2 MB */

extern const struct series_format pyroscope_series;

/*
 * Windows for Parca's ProfileStoreService/WriteRaw: a gzipped pprof with labels, by gRPC-Web, which works without
 * HTTP/2.
 */
#define PARCA_SAMPLES_MAX 16000
#define PARCA_BYTES_MAX (8 << 20)	/* of an uncompressed profile; the server accepts messages of 32 MB */

extern const struct series_format parca_series;

/*
 * The gRPC status in an answer's body or its header lines, which are untrusted.  0: taken; -1: no status.  *ret_words:
 * its message; free with g_free(), may be NULL.
 */
long parca_status(const void *bytes, gsize len_bytes, const char *headers, char **ret_words);

/*
 * Windows as OpenTelemetry profiles over HTTP (OTLP 1.10 and later, v1development): a request per service.  Service
 * and host are attributes of the resource.
 */
#define OTLP_SAMPLES_MAX 16000
#define OTLP_BYTES_MAX (8 << 20)	/* uncompressed; a collector accepts 20 MiB */

extern const struct series_format otlp_series;

/*
 * How many profiles of an accepted request the collector dropped (0: none), and its message, which is untrusted and
 * truncated; free with g_free().
 */
uint64_t otlp_rejected(const void *bytes, gsize len_bytes, char **ret_words);
/* The message of a failure, which is a google.rpc.Status; NULL if there is none. */
char *otlp_words(const void *bytes, gsize len_bytes);

#endif
