/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/glob.h"

/* The last star is the only one worth going back to: what stood before it was found as early as possible. */
bool glob_match(const char *pattern, const char *text, size_t text_len)
{
	const char *end = text + text_len, *star = NULL, *retry = NULL;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
