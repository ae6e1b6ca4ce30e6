/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_H
#define RENDER_ANSWER_H

#include "render/json/write.h"

/*
 * A JSON object of bounded size, for readers that cannot take a full report: a model, a chat, an alert.  It consists
 * of pieces: its members, and items of its arrays.  Pieces that do not fit are left out whole, the least important
 * first, and counted in "left_out".  So the text is valid JSON at every size.
 */

#define ANSWER_SCHEMA "offcpu.answer/1"
#define ANSWER_BYTES_DEFAULT 8192
#define ANSWER_BYTES_MIN 1024
#define ANSWER_BYTES_MAX (1u << 20)

#define ANSWER_NAME_MAX 200	/* maximum bytes of a name from a recorded program */
#define ANSWER_TEXT_MAX 1000	/* of a sentence with such names */

/* What is asked, and how long the answer may be. */
struct answer_options {
	size_t max_bytes;	/* ANSWER_BYTES_MIN to ANSWER_BYTES_MAX */
	const char *id;		/* only the thing with this id, in full; NULL: the summary */
	uint64_t cursor;	/* start with this piece */
	/* command line that takes --id, without --id and --cursor, quoted for a shell; NULL: none */
	const char *command;
	/* pairs of a command and what it shows, ended by NULL */
	const char *const *more;
	/* pairs of an option of `offcpu record` and what the recording lacks without it */
	const char *const *not_recorded;
};

struct answer;

/* `of`: the command that answers. */
struct answer *answer_new(const char *of, const struct answer_options *options);
void answer_free(struct answer *a);	/* NULL is fine */

/*
 * Begins a piece, a member or an item of the array `key`; write it with the returned writer and call answer_end().
 * Strings are cut to ANSWER_NAME_MAX.  Pieces with lower rank are kept longer.  If an item is left out, later items of
 * its array are too.  Members stand in the order of their first pieces.  Keys must be constants.
 */
struct json *answer_member(struct answer *a, const char *key);
struct json *answer_item(struct answer *a, const char *key);
void answer_end(struct answer *a, unsigned rank);
/*
 * A short form of the same piece, used if the long one does not fit; end it with answer_end(), which ignores its rank.
 */
struct json *answer_in_short(struct answer *a);

/* Adds a sentence as a member of the open piece. */
void answer_text(struct answer *a, const char *key, const char *text);
/* Adds a sentence as a member of the answer. */
void answer_member_text(struct answer *a, const char *key, const char *text, unsigned rank);
/* Write an object: its members become members of the answer, one piece each, unless the answer has them already. */
struct json *answer_members(struct answer *a);
void answer_members_end(struct answer *a, unsigned rank);
/* Whether it has a member of that name. */
bool answer_has(const struct answer *a, const char *key);
/* Counts further items that are left out. */
void answer_left_out(struct answer *a, const char *key, guint cnt);
/*
 * Adds how to continue: "deeper", a command with ID as a placeholder, and "note", which says that names are untrusted;
 * with rank_more also "more" and "not_recorded".
 */
void answer_leads(struct answer *a, unsigned rank, unsigned rank_more);

/* Appends the answer and a newline; false on error: the cursor is beyond the end. */
bool answer_write(GString *out, struct answer *a, GError **error);

/*
 * "wait-3f9a01c2de": derived from what the thing is, so equal in each run and in other recordings of the same program.
 * `taken`: ids in use (char * as key, any value); duplicates get a number.  Parts may be NULL.  Free with g_free().
 */
char *answer_id(GHashTable *taken, const char *kind, const char *const *parts, unsigned parts_cnt);

#endif
