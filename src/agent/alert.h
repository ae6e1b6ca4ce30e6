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
 * NAME: a reason, a family of reasons, or any. METRIC and VALUE: share > 30% of these processes' time that matters;
 * threads > 4, the mean number of waiting threads, or > 2x yesterday; p50, p90, p99, max > 20ms; waits > 1000, a
 * second. Idle time is ignored. storms: a second, by threads or interrupts of that name. For a request, as in [request
 * NAME]: p50, p90, p99 and max of its latency; rate: completed a second.
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
#define ALERT_FOR_MAX 8640	/* windows: a day of the default length */

struct alert_rule {
	char *name;
	char *when;			/* the condition as written */
	char *process, *service;	/* patterns; NULL: all */
	char *reason;			/* NULL: any */
	char *request;			/* NULL: the rule is about waits, or storms */
	bool is_below;			/* fires below the threshold, not above */
	enum alert_metric metric;
	double threshold;		/* percent, threads, a second, or ns; compared with yesterday: a factor */
	bool is_of_yesterday;
	/* number of consecutive windows that begin or end an alert */
	uint32_t for_windows;
	/* windows to keep before it begins and after it ends; both 0: none */
	uint64_t keep_before_ns, keep_after_ns;
	uint64_t record_ns;		/* length of a full recording when it begins; 0: none */
	char **run;			/* a command and its arguments; NULL: none */
};

struct alert_rule *alert_rule_new(const char *name);
void alert_rule_free(struct alert_rule *r);	/* NULL is fine */
/* Reads the condition.  False with a sentence. */
bool alert_rule_parse(struct alert_rule *r, const char *when, GError **error);
/* Splits a command as a shell would; no shell runs it. */
bool alert_rule_parse_run(struct alert_rule *r, const char *run, GError **error);
/* Does everything that they refer to exist, with these requests (struct request_rule)? False with a sentence. */
bool alert_rules_check(const GPtrArray *rules, const GPtrArray *requests, GError **error);
bool alert_rules_same(const struct alert_rule *a, const struct alert_rule *b);

/* A window's value for a rule. */
struct alert_value {
	bool is_known;		/* false: the window has nothing for it */
	double value;		/* in the threshold's unit; compared with yesterday: threads, ns, a second */
	const char *process;	/* the process with most of it; owned by the window */
	double process_percent;
};
struct reasons;
struct alert_value alert_value(const struct alert_rule *rule, const struct profile *window,
			       const struct reasons *reasons);

/* A request's value from its sum over a time; in ns, or a second. */
double alert_request_value(const struct alert_rule *rule, const struct offcpu_request_sum *sum, uint64_t ns,
			   bool *ret_is_known);

/* State of a rule. */
struct alert_state {
	uint32_t windows;	/* consecutive windows that contradict is_firing */
	bool is_firing;
	uint64_t since_unix_ns;	/* while it fires: end of the window that started it */
};
enum alert_change { ALERT_STAYS, ALERT_FIRES, ALERT_IS_OVER };
enum alert_change alert_step(struct alert_state *s, const struct alert_rule *rule, bool holds, uint64_t end_unix_ns);

/*
 * Environment of a rule's command: the alert's details, PATH and the locale. Nothing else of the agent's, which may
 * hold the secrets of [push]. Free with g_strfreev().
 */
char **alert_environment(const struct alert_rule *rule, bool is_firing, double value, const char *text);
/* Appends "reason=lock share > 30%: it is 41%; 90% of it in mariadbd"; yesterday: the value then, 0 if irrelevant */
void alert_append_text(GString *s, const struct alert_rule *rule, const struct alert_value *v, double yesterday);

#endif
