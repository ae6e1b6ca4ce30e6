/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_ENGINE_H
#define PUSH_ENGINE_H

#include "push/http.h"
#include "push/series.h"

/*
 * The engines that windows can be pushed to, one row each: a new one that takes a profile a request is a row and its
 * format.
 */
enum push_engine { PUSH_PYROSCOPE, PUSH_CLICKHOUSE, PUSH_OTLP, PUSH_PARCA, PUSH_ENGINES };

enum target_outcome {
	TARGET_TAKEN,
	TARGET_LATER,	/* it has taken nothing of it, or once more does no harm */
	TARGET_REFUSED,	/* what was sent is not to its liking, and will not be */
	TARGET_UNSURE,	/* it may have it: to send it again might count it twice */
};

struct engine {
	/* "pyroscope": the option, the key of the configuration, the folder in the spool, the metrics' label */
	const char *name;
	const char *title;	/* "Pyroscope" */
	const char *alive_path;	/* anything but a status of 500 and more tells that it is there */
	unsigned age_max_s;	/* of the windows it takes; 0: any */
	/* Of those that take a series a request and would count it twice; NULL: ClickHouse, which target.c knows. */
	const struct series_format *series;
	const char *path, *content_type;
	const char *metrics_path;	/* of requests' latencies, which it takes apart; NULL: it takes none */
	/*
	 * What an answer with a status of success means, where that is not all, and its words (free with g_free(), may
	 * be NULL).  NULL: all is taken.
	 */
	enum target_outcome (*verdict)(const struct http_answer *answer, char **ret_words);
	/*
	 * The words in an answer that is a failure; NULL when there are none, and NULL: they are its text or its
	 * JSON's "message".
	 */
	char *(*words)(const void *bytes, gsize len_bytes);
};

extern const struct engine engines[PUSH_ENGINES];

#endif
