/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_ANSWER_H
#define RENDER_ANSWER_H

#include "render/json/write.h"

/*
 * A JSON object of a bounded size, for whoever cannot read all of a report: a model, a chat, an alert.  It is made of
 * pieces, which are members of it and items of its arrays.  A piece without room is left out whole, the least important
 * first, and "left_out" counts it.  So the text is valid at every size.
 */

#define ANSWER_SCHEMA "offcpu.answer/1"
#define ANSWER_BYTES_DEFAULT 8192
#define ANSWER_BYTES_MIN 1024
#define ANSWER_BYTES_MAX (1u << 20)

#define ANSWER_NAME_MAX 200	/* bytes of a name that a recorded program chose */
#define ANSWER_TEXT_MAX 1000	/* and of a sentence with such names in it */

/* Who asks, and for what. */
struct answer_options {
	size_t max_bytes;	/* ANSWER_BYTES_MIN to ANSWER_BYTES_MAX */
	const char *id;		/* only this, in full; NULL: the summary */
	uint64_t cursor;	/* of it the pieces from there on */
	const char *command;	/* what takes --id: the command line without --id and --cursor, for a shell; NULL: nothing does */
	/* NULL ends it: pairs of a command that shows something else, and what that is */
	const char *const *more;
	const char *const *not_recorded;	/* the same of what the recording lacks: options of `offcpu record` */
};

struct answer;

/* `of`: the command that answers. */
struct answer *answer_new(const char *of, const struct answer_options *options);
void answer_free(struct answer *a);	/* NULL is fine */

/*
 * Writes a piece: a member, or an item of the array `key`, by the writer that is returned, and then ends it.  Strings
 * are cut to ANSWER_NAME_MAX there.  The lower the rank, the later the piece is left out; of one array none is taken
 * behind one that was left out.  Members stand in the order of their first pieces.  Keys are constants.
 */
struct json *answer_member(struct answer *a, const char *key);
struct json *answer_item(struct answer *a, const char *key);
void answer_end(struct answer *a, unsigned rank);
/* The same piece in fewer words, for where the other one has no room; ended by answer_end(), which has no rank then. */
struct json *answer_in_short(struct answer *a);

/* A member of the open piece that is a sentence. */
void answer_text(struct answer *a, const char *key, const char *text);
/* A member of the answer that is a sentence. */
void answer_member_text(struct answer *a, const char *key, const char *text, unsigned rank);
/* Writes an object, whose members become the answer's, one a piece; those that the answer has already stay as they are. */
struct json *answer_members(struct answer *a);
void answer_members_end(struct answer *a, unsigned rank);
/* Has it a member of that name? */
bool answer_has(const struct answer *a, const char *key);
/* So many more items there would be. */
void answer_left_out(struct answer *a, const char *key, guint cnt);
/*
 * What leads on: "deeper", a command with ID in the place of an id, and "note", that names are not ours; then, of another
 * rank, "more" and "not_recorded".
 */
void answer_leads(struct answer *a, unsigned rank, unsigned rank_more);

/* Appends the answer and a newline; false with a sentence where the cursor is behind its end. */
bool answer_write(GString *out, struct answer *a, GError **error);

/*
 * "wait-3f9a01c2de": made of what the thing is, and so the same in each run and in other recordings of the same program.
 * `taken`: ids given so far (char * as key, any value); two things of one id are told apart by a number.  Parts may be
 * NULL.  Free with g_free().
 */
char *answer_id(GHashTable *taken, const char *kind, const char *const *parts, unsigned parts_cnt);

#endif
