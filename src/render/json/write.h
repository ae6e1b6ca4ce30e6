/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_WRITE_H
#define RENDER_JSON_WRITE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/each.h"

/*
 * Writes compact JSON into a GString and places the commas.  Numbers are integers. Strings may hold any bytes: invalid
 * UTF-8 becomes U+FFFD.  Nesting of at most JSON_DEPTH_MAX is asserted.
 */
#define JSON_DEPTH_MAX 16

struct json {
	GString *out;
	unsigned depth;
	bool comma[JSON_DEPTH_MAX + 1];	/* per level: the next value needs a comma */
	bool after_key;
	/*
	 * Maximum bytes of a string, escaped and without quotation marks; 0: unlimited.  Longer strings are cut off.
	 */
	size_t string_max;
};

void json_init(struct json *j, GString *out);
/* The same, and begins an object. */
void json_begin(struct json *j, GString *out);

void json_object_begin(struct json *j);
void json_object_end(struct json *j);
void json_array_begin(struct json *j);
void json_array_end(struct json *j);

void json_key(struct json *j, const char *key);	/* key: not escaped */
void json_any_key(struct json *j, const char *key);
void json_string(struct json *j, const char *s);	/* NULL is written as null */
void json_uint(struct json *j, uint64_t n);
void json_int(struct json *j, int64_t n);
void json_bool(struct json *j, bool b);
void json_null(struct json *j);
/* A value that is JSON already. */
void json_raw(struct json *j, const char *text, gsize len);

/* Ends a document: the object, and a newline. */
void json_end(struct json *j);

/* key as in json_key() */
void json_member_string(struct json *j, const char *key, const char *s);
/* The same; writes nothing if s is NULL. */
void json_member_text(struct json *j, const char *key, const char *s);
void json_member_uint(struct json *j, const char *key, uint64_t n);
/* Members named like these members of *row, with their numbers. */
#define JSON_UINTS(j, row, ...)                                                 \
	do {                                                                    \
		struct json *json_ = (j);                                       \
		__typeof__(row) row_ = (row);                                   \
		EACH(JSON_UINT, __VA_ARGS__)                                    \
	} while (0)
#define JSON_UINT(member) json_member_uint(json_, #member, row_->member);
/* JSON(j, "pid", t->pid, "comm", t->comm): up to eight keys, each with a nonnegative number, a string or a bool. */
#define JSON(j, ...)                                                            \
	do {                                                                    \
		struct json *json_ = (j);                                       \
		JSON_OF(__VA_ARGS__, JSON_8, , JSON_7, , JSON_6, , JSON_5, , JSON_4, , JSON_3, , JSON_2, , JSON_1, )    \
		(__VA_ARGS__)                                                                                           \
	} while (0)
/* An object with only these members. */
#define JSON_OBJECT(j, ...)             \
	do {                            \
		json_object_begin(j);   \
		JSON(j, __VA_ARGS__);   \
		json_object_end(j);     \
	} while (0)
/* An object whose members are written by the call. */
#define JSON_IN(j, call)                \
	do {                            \
		json_object_begin(j);   \
		call;                   \
		json_object_end(j);     \
	} while (0)
/* A member `name`: an object with these members. */
#define JSON_MEMBER(j, name, ...)               \
	do {                                    \
		json_key(j, name);              \
		JSON_OBJECT(j, __VA_ARGS__);    \
	} while (0)
/*
 * A member `name`: an array.  The statement that follows writes its elements; with JSON_ROWS it runs for each row of a
 * GArray.
 */
#define JSON_ARRAY(j, name) for (bool goes_on_ = json_array_goes_on(j, name); goes_on_; goes_on_ = json_array_done(j))
#define JSON_ROWS(j, name, type, row, rows) JSON_ARRAY(j, name) EACH_ROW(row##_at_, type, row, rows)
#define JSON_1(key, value)                                                                                      \
	_Generic((value), bool: json_member_bool, char *: json_member_string, const char *: json_member_string, \
		 default: json_member_uint)(json_, key, value);
#define JSON_2(key, value, ...) JSON_1(key, value) JSON_1(__VA_ARGS__)
#define JSON_3(key, value, ...) JSON_1(key, value) JSON_2(__VA_ARGS__)
#define JSON_4(key, value, ...) JSON_1(key, value) JSON_3(__VA_ARGS__)
#define JSON_5(key, value, ...) JSON_1(key, value) JSON_4(__VA_ARGS__)
#define JSON_6(key, value, ...) JSON_1(key, value) JSON_5(__VA_ARGS__)
#define JSON_7(key, value, ...) JSON_1(key, value) JSON_6(__VA_ARGS__)
#define JSON_8(key, value, ...) JSON_1(key, value) JSON_7(__VA_ARGS__)
#define JSON_OF(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, pick, ...) pick
/* null if unknown: 0 would be a claim */
void json_member_known(struct json *j, const char *key, uint64_t n, bool is_known);
void json_member_int(struct json *j, const char *key, int64_t n);
void json_member_bool(struct json *j, const char *key, bool b);
/* End it as after json_object_begin() or json_array_begin(). */
void json_member_object(struct json *j, const char *key);
void json_member_array(struct json *j, const char *key);
static inline bool json_array_goes_on(struct json *j, const char *key)
{
	json_member_array(j, key);
	return true;
}
static inline bool json_array_done(struct json *j)
{
	json_array_end(j);
	return false;
}
/*
 * "log2_ns": PROFILE_HIST_SLOTS slots as pairs of the power of two of nanoseconds and the number from there up to the
 * next.
 */
void json_member_hist(struct json *j, const uint32_t *hist);

/* Appends the string quoted and escaped; "" for NULL. */
void json_quote(GString *out, const char *s);
/* The same with at most max_bytes between the quotation marks: "..." replaces what is cut off. */
void json_quote_within(GString *out, const char *s, size_t max_bytes);
/* Appends decimal digits, several times faster than printf. */
void json_digits(GString *out, uint64_t n);

#endif
