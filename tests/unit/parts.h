/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_PARTS_H
#define TESTS_UNIT_PARTS_H

#include "explain/sentence.h"

/* A finding of findings_new() in words, whether it is told or not. */
struct parts {
	char *sentence, *evidence;
	const char *advice;
};

static inline void parts_of(const struct findings *f, guint row, struct parts *ret)
{
	const struct finding *r = &g_array_index(f->rows, struct finding, row);
	GString *sentence = g_string_new(NULL), *evidence = g_string_new(NULL);

	sentence_finding(sentence, f, r);
	sentence_evidence(evidence, f, r);
	*ret = (struct parts){ g_string_free(sentence, FALSE), g_string_free(evidence, FALSE), sentence_advice(f, r) };
}

static inline void parts_clear(struct parts *parts)
{
	g_free(parts->sentence);
	g_free(parts->evidence);
}

#endif
