/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_WORDS_H
#define RENDER_HTML_WORDS_H

#include "analyse/diff/merge.h"
#include "explain/explain.h"
#include "render/html/bytes.h"
#include "render/json/write.h"

/* What the page says in words: the findings of `offcpu report`, and of each wait what its thread does meanwhile. */

struct html_words {
	const struct explanation *explanation;	/* NULL: of a difference, which has none */
	const struct wait_reason *known;	/* of a difference: by wait */
	const uint32_t *wait_number;	/* by wait: its number in the page + 1; 0: not in it */
	const uint32_t *frame_label;	/* by frame: its label in the page */
	const uint32_t *frame_id;	/* by frame; 0: not in the page */
};

/* What was recorded: "mariadbd (1736)".  For g_free(). */
char *html_words_target(const struct findings *f);

/* Members of what describes the page: "findings", "target", "verdict", and "says" of time that is no wait for anything but a CPU. */
void html_words_about(struct json *j, const struct html_words *w);

/* Appends of each of `waits` (indices) what its thread does while it is blocked, then what can be done. */
void html_words_of_waits(const struct html_words *w, const GArray *waits, struct texts *texts, GByteArray *out);

#endif
