/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_TARGET_H
#define PUSH_TARGET_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"
#include "push/engine.h"
#include "push/http.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * An engine that windows are pushed to: what it is and where, how windows become requests, and what its answers mean.
 */

struct target_options {
	enum push_engine engine;
	const char *url;
	const char *database;	/* of ClickHouse; NULL: TARGET_DATABASE */
	const char *tenant;	/* of Pyroscope, and collectors in front of it, X-Scope-OrgID; NULL: none */
	const char *credentials_path;	/* NULL: the environment, see http.h */
	const char *ca_path;	/* NULL: the system's */
	unsigned timeout_s;	/* of a request; 0: HTTP_TIMEOUT_S */
	gint64 until_us;	/* as in http.h; 0: no end */
};
#define TARGET_DATABASE "offcpu"

struct target;

/* Asks nobody yet.  NULL with one sentence. */
struct target *target_open(const struct target_options *options, GError **error);
void target_close(struct target *t);	/* NULL is fine */
/* From any thread: what is being sent fails soon. */
void target_cancel(struct target *t);
const char *target_name(const struct target *t);	/* "Pyroscope at http://..." */
/* Does a password go over a network in the clear? */
bool target_is_clear(const struct target *t);

/*
 * struct push_unit of a window; NULL with one sentence.  Of one thread at a time, which may be another than the
 * sender's.
 */
GPtrArray *target_units(struct target *t, const struct profile *p, const struct reasons *reasons, GError **error);

/* Sends all requests of the unit; a sentence in *ret_why (free with g_free()) unless it is taken. */
enum target_outcome target_send(struct target *t, const struct push_unit *u, char **ret_why,
				unsigned *ret_retry_after_s);
/* Does it answer?  Asked after an unsure outcome, so that no second window is put at risk while it is down. */
bool target_is_there(struct target *t, char **ret_why);
/* May a unit be sent any number of times?  Else a unit that was being sent when the process ended is unsure, too. */
bool target_may_repeat(const struct target *t);

/* Of ClickHouse: the answer to a query, up to so many bytes.  NULL with one sentence. */
GByteArray *target_query(struct target *t, const char *sql, gsize max_bytes, GError **error);
const char *target_database(const struct target *t);
/* After how many days ClickHouse drops a window; 0: never, as far as it says. */
unsigned target_keeps_days(struct target *t);

#endif
