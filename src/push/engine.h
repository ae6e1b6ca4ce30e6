/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_ENGINE_H
#define PUSH_ENGINE_H

#include "push/http.h"
#include "push/series.h"

/*
 * The engines that windows can be pushed to, a row each.  An engine that takes one profile per request needs a row and
 * a format.
 */
enum push_engine { PUSH_PYROSCOPE, PUSH_CLICKHOUSE, PUSH_OTLP, PUSH_PARCA, PUSH_ENGINES };

enum target_outcome {
	TARGET_TAKEN,
	TARGET_LATER,	/* nothing was taken, or sending it again does no harm */
	TARGET_REFUSED,	/* rejected for good */
	TARGET_UNSURE,	/* it may have arrived: sending it again might count it twice */
};

struct engine {
	/* "pyroscope": name of the option, the configuration's key, the spool's folder and the metrics' label */
	const char *name;
	const char *title;	/* "Pyroscope" */
	const char *alive_path;	/* any status below 500 means that it is up */
	unsigned age_max_s;	/* maximum age of windows it accepts; 0: unlimited */
	/*
	 * For engines that take a series per request and would count it twice.  NULL: ClickHouse, which target.c
	 * handles.
	 */
	const struct series_format *series;
	const char *path, *content_type;
	const char *metrics_path;	/* where it takes metrics of request latencies; NULL: it takes none */
	/*
	 * What a 2xx answer means, if not simply that all was taken, and its message (free with g_free(), may be
	 * NULL).  NULL: all was taken.
	 */
	enum target_outcome (*verdict)(const struct http_answer *answer, char **ret_words);
	/*
	 * Extracts the message of a failure; NULL if there is none.  Function NULL: the message is the text, or
	 * "message" in its JSON.
	 */
	char *(*words)(const void *bytes, gsize len_bytes);
};

extern const struct engine engines[PUSH_ENGINES];

#endif
