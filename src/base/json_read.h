/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <glib.h>
#include <stdbool.h>

/*
 * Reads JSON value by value, without building a tree. Errors are sticky: after one every read is at the end, and `bad`
 * is set. The text is untrusted.
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

/* Type of the next value: { [ " n (number) t f z (null), or 0 at the end or after an error. */
char json_peek(struct json_reader *r);
/*
 * Enters an object: then returns the key of each member, whose value must be read or skipped, until it is false. `key`
 * is overwritten.
 */
bool json_enter(struct json_reader *r, char open);
bool json_next_member(struct json_reader *r, bool *first, GString *key);
/* In an array: true while there is another element. */
bool json_next_element(struct json_reader *r, bool *first);

bool json_read_string(struct json_reader *r, GString *ret_text); /* overwritten */
/* The digits as written, "12.5e3"; valid as long as the text. */
bool json_read_number(struct json_reader *r, const char **ret_text, gsize *ret_len);
bool json_read_bool(struct json_reader *r);	/* false also after an error */
/* Any value, of at most JSON_READ_DEPTH_MAX levels. */
void json_skip(struct json_reader *r);
/* The same, as written; valid as long as the text. */
bool json_read_raw(struct json_reader *r, const char **ret_text, gsize *ret_len);
/* Everything was read without an error. */
bool json_at_end(struct json_reader *r);

#endif
