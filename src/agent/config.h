/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "push/engine.h"

/* The agent's configuration: offcpu-agent.conf(5).  Every key has a default; a key that is not known is an error. */

#define AGENT_CONFIG_PATH "/etc/offcpu/agent.conf"
#define AGENT_HASH_CHARS 16
#define AGENT_CHAIN_STEPS 8	/* who woke a waker, and that one, and so on */
/* Of [push] windows: all of them, those that have a finding or in which an alert holds, or the latter alone. */
#define AGENT_PUSH_ALL "all"
#define AGENT_PUSH_FINDINGS "findings"
#define AGENT_PUSH_ALERTS "alerts"

#define AGENT_CONFIG_ERROR (agent_config_error_quark())
GQuark agent_config_error_quark(void);
/* What is wrong with a value, without where it stands; false. */
bool config_wrong(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

struct agent_config {
	/* [agent] */
	uint64_t window_ns;
	uint32_t budget_ppm;		/* of all CPUs' time; 0: there is none, everything stays exact */
	uint64_t memory_bytes;		/* above it the recorder begins anew; 0: it never does */
	char *host;			/* what this host is called; NULL: as the kernel says */
	/* [store] */
	char *dir;
	uint64_t max_bytes;
	uint64_t keep_windows_ns, keep_minutes_ns, keep_hours_ns;
	uint64_t incidents_bytes;	/* 0: none are kept */
	/* [push] */
	char *push_urls[PUSH_ENGINES];	/* NULL: not to that one */
	char *push_database, *push_tenant, *push_credentials, *push_ca;	/* NULL: as push/target.h has it */
	char *push_spool, *push_windows;
	uint32_t push_one_host_in;
	uint64_t push_spool_bytes, push_spool_age_ns;
	/* [metrics] */
	char *metrics_listen;		/* address and port; NULL: none are served */
	/* [record] */
	/* as bools */
	uint32_t objects, locks, wakers, chains, runq_blame, storms, services, tasks, kernel_threads, fold_short_lived;
	uint32_t on_cpu_hz;
	char *comm;			/* a pattern; NULL: all */
	char **cgroups, **exclude;	/* NULL: none */
	/* [request NAME] */
	GPtrArray *requests;		/* struct request_rule: features/requests/agent_rule.h */
	/* [alert NAME] */
	GPtrArray *alerts;		/* struct alert_rule: agent/alert.h */
	char hash[AGENT_HASH_CHARS + 1];	/* of the files' texts; "": there was none */
};

/* What holds where nothing is said. */
struct agent_config *agent_config_new(void);
void agent_config_free(struct agent_config *c);	/* NULL is fine */
/*
 * The text of a file that is called `path` in messages, over what c holds: values that it sets, alerts that it has.  False
 * with one sentence, which names the line.
 */
bool agent_config_take(struct agent_config *c, const char *text, gsize len_bytes, const char *path, GError **error);
/*
 * The file, and over it those in the folder PATH.d that end in ".conf", by their names.  may_lack: where there is no such
 * file the defaults hold.  NULL with one sentence.
 */
struct agent_config *agent_config_read(const char *path, bool may_lack, GError **error);
/* "GROUP.KEY=VALUE", from the command line; false with a sentence. */
bool agent_config_set(struct agent_config *c, const char *setting, GError **error);
/* They are asked for, be it by an alert. */
bool agent_config_storms(const struct agent_config *c);
/* Chains of wakers may be told: all the time, or while an alert fires. */
bool agent_config_chains(const struct agent_config *c);
/* An alert asks for recordings, and there is room for them. */
bool agent_config_records(const struct agent_config *c);
/* Do both record the same?  Then a change asks for no new session. */
bool agent_config_records_same(const struct agent_config *a, const struct agent_config *b);

#endif
