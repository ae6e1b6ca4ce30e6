/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reads JSON value by value, without making a tree of it.  Errors are sticky: after one everything is at its end, and
 * `bad` says so.  The text is untrusted.
 */
#define JSON_READ_DEPTH_MAX 64

struct json_reader {
	const char *at, *end;
	bool bad;
};

static inline struct json_reader json_reader_of(const char *text, gsize len)
{
	return (struct json_reader){ .at = text, .end = text + len };
}

/* What comes next: one of { [ " n (number) t f z (null), or 0 at the end or where it is bad. */
char json_peek(struct json_reader *r);
/*
 * Into an object: then, until it is false, the key of a member, whose value must be read or skipped.  `key` is
 * replaced.
 */
bool json_enter(struct json_reader *r, char open);
bool json_next_member(struct json_reader *r, bool *first, GString *key);
/* Into an array: then, until it is false, an element is next. */
bool json_next_element(struct json_reader *r, bool *first);

bool json_read_string(struct json_reader *r, GString *ret_text); /* replaced */
/* The digits as they stand, "12.5e3"; valid until the text goes. */
bool json_read_number(struct json_reader *r, const char **ret_text, gsize *ret_len);
bool json_read_bool(struct json_reader *r);	/* false, too, where it is bad */
/* Whatever comes next, of at most JSON_READ_DEPTH_MAX levels. */
void json_skip(struct json_reader *r);
/* The same, as it stands; valid until the text goes. */
bool json_read_raw(struct json_reader *r, const char **ret_text, gsize *ret_len);
/* All was read, and it was good. */
bool json_at_end(struct json_reader *r);

#endif
