/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_ALERT_H
#define AGENT_ALERT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "features/requests/rows.h"
#include "profile/profile.h"

/*
 * A condition on windows, [alert NAME] of offcpu-agent.conf(5):
 *
 *   [process=GLOB] [service=GLOB] reason=NAME METRIC > VALUE
 *   [process=GLOB] storms > VALUE
 *   request=NAME p99 > VALUE, rate < VALUE, p99 > 2x yesterday
 *
 * NAME: a reason, the family of several, or any.  METRIC and VALUE: share > 30% of the time that matters, of those
 * processes; threads > 4, how many waited on the average, or > 2x yesterday; p50, p90, p99, max > 20ms; waits > 1000,
 * a second.  Idle time counts nowhere.  storms: a second, by threads or interrupts of that name.  Of a request,
 * [request NAME] there: p50, p90, p99 and max of its latency, rate: how many ended a second.
 */

enum alert_metric {
	ALERT_SHARE,
	ALERT_THREADS,
	ALERT_WAITS,
	ALERT_P50,
	ALERT_P90,
	ALERT_P99,
	ALERT_MAX,
	ALERT_STORMS,
	ALERT_RATE,
	ALERT_METRICS
};

#define ALERT_NAME_MAX_BYTES 64
#define ALERT_FOR_MAX 8640	/* windows: a day of the usual ones */

struct alert_rule {
	char *name;
	char *when;			/* as it was given */
	char *process, *service;	/* patterns; NULL: all */
	char *reason;			/* NULL: any */
	char *request;			/* NULL: it is about waits, or storms */
	bool is_below;			/* it holds below the threshold, not above */
	enum alert_metric metric;
	double threshold;		/* percent, threads, a second, or ns; of what was yesterday: times */
	bool is_of_yesterday;
	/* in so many in a row it holds before it is told, and so many it does not before it is over */
	uint32_t for_windows;
	/* windows that are put aside, from when it begins and from when it is over; both 0: none */
	uint64_t keep_before_ns, keep_after_ns;
	uint64_t record_ns;		/* a full recording of that length as it begins; 0: none */
	char **run;			/* a command and its arguments; NULL: none */
};

struct alert_rule *alert_rule_new(const char *name);
void alert_rule_free(struct alert_rule *r);	/* NULL is fine */
/* Reads the condition.  False with a sentence. */
bool alert_rule_parse(struct alert_rule *r, const char *when, GError **error);
/* A command as a shell would split it, but run by none. */
bool alert_rule_parse_run(struct alert_rule *r, const char *run, GError **error);
/* What they ask for is there, of requests these (struct request_rule); false with a sentence. */
bool alert_rules_check(const GPtrArray *rules, const GPtrArray *requests, GError **error);
bool alert_rules_same(const struct alert_rule *a, const struct alert_rule *b);

/* What a window has to say to a rule. */
struct alert_value {
	bool is_known;		/* false: nothing that it could be said of */
	double value;		/* in the unit of the threshold; of yesterday's: threads, ns, a second */
	const char *process;	/* which has most of it; the window's */
	double process_percent;
};
struct reasons;
struct alert_value alert_value(const struct alert_rule *rule, const struct profile *window,
			       const struct reasons *reasons);

/* The same of a request's sum over so much time; in ns, or a second. */
double alert_request_value(const struct alert_rule *rule, const struct offcpu_request_sum *sum, uint64_t ns,
			   bool *ret_is_known);

/* How a rule stands. */
struct alert_state {
	uint32_t windows;	/* in a row that speak against what it is now */
	bool is_firing;
	uint64_t since_unix_ns;	/* it fires: the end of the window that said so */
};
enum alert_change { ALERT_STAYS, ALERT_FIRES, ALERT_IS_OVER };
enum alert_change alert_step(struct alert_state *s, const struct alert_rule *rule, bool holds, uint64_t end_unix_ns);

/*
 * Of a command that an alert runs: what it is about, where programs are, and how they write.  Nothing else of the
 * agent's, whose own may hold the secrets of [push].  Free with g_strfreev().
 */
char **alert_environment(const struct alert_rule *rule, bool is_firing, double value, const char *text);
/*
 * "reason=lock share > 30%: it is 41%; 90% of it in mariadbd" into s; yesterday: what it was then, 0 where that does
 * not matter
 */
void alert_append_text(GString *s, const struct alert_rule *rule, const struct alert_value *v, double yesterday);

#endif
