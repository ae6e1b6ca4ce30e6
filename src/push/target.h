/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_TARGET_H
#define PUSH_TARGET_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"
#include "push/engine.h"
#include "push/http.h"
#include "push/services.h"
#include "push/unit.h"

/* An engine that windows are pushed to: where it is, how windows become requests, and what its answers mean. */

struct target_options {
	enum push_engine engine;
	const char *url;
	const char *database;	/* ClickHouse's database; NULL: TARGET_DATABASE */
	const char *tenant;	/* X-Scope-OrgID, for Pyroscope and collectors in front of it; NULL: none */
	const char *credentials_path;	/* NULL: from the environment, see http.h */
	const char *ca_path;	/* NULL: the system's */
	unsigned timeout_s;	/* per request; 0: HTTP_TIMEOUT_S */
	gint64 until_us;	/* as in http.h; 0: never */
};
#define TARGET_DATABASE "offcpu"

struct target;

/* Does not connect yet.  NULL on error. */
struct target *target_open(const struct target_options *options, GError **error);
void target_close(struct target *t);	/* NULL is fine */
/* May be called from any thread: the current request fails soon. */
void target_cancel(struct target *t);
const char *target_name(const struct target *t);	/* "Pyroscope at http://..." */
/* Whether a password would cross a network unencrypted. */
bool target_is_clear(const struct target *t);

/* The window as struct push_unit; NULL on error.  One thread at a time, which may differ from the sender's. */
GPtrArray *target_units(struct target *t, const struct profile *p, const struct reasons *reasons, GError **error);

/* Sends all requests of the unit.  *ret_why is an error message (free with g_free()) unless all was taken. */
enum target_outcome target_send(struct target *t, const struct push_unit *u, char **ret_why,
				unsigned *ret_retry_after_s);
/* Whether it answers.  Asked after an unsure outcome, so that no second window is risked while it is down. */
bool target_is_there(struct target *t, char **ret_why);
/*
 * Whether a unit may be sent any number of times.  If not, a unit that was being sent when the process ended is
 * unsure.
 */
bool target_may_repeat(const struct target *t);

/* ClickHouse only: the answer to a query, at most max_bytes.  NULL on error. */
GByteArray *target_query(struct target *t, const char *sql, gsize max_bytes, GError **error);
const char *target_database(const struct target *t);
/* After how many days ClickHouse drops a window; 0: never, or it does not say. */
unsigned target_keeps_days(struct target *t);

#endif
