/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_ADVICE_H
#define PUSH_ADVICE_H

#include "push/engine.h"
#include "push/http.h"

/*
 * What the user can do about an answer that is a failure, for the end of a sentence; NULL: nothing that we know.
 * words are the engine's; free with g_free().
 */
char *advice_on(const struct engine *e, const struct http_answer *a, const char *words, bool has_credentials);
/* Is that a page for people, as proxies and log-ins answer with?  No engine's answer begins so. */
bool advice_is_page(const void *text, gsize len_bytes);

#endif
