/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "push/engine.h"

/* The agent's configuration: offcpu-agent.conf(5). Every key has a default; an unknown key is an error. */

#define AGENT_CONFIG_PATH "/etc/offcpu/agent.conf"
#define AGENT_HASH_CHARS 16
#define AGENT_CHAIN_STEPS 8	/* length of chains of wakers */
/* Values of [push] windows: all; those with a finding or during an alert; only the latter. */
#define AGENT_PUSH_ALL "all"
#define AGENT_PUSH_FINDINGS "findings"
#define AGENT_PUSH_ALERTS "alerts"

#define AGENT_CONFIG_ERROR (agent_config_error_quark())
GQuark agent_config_error_quark(void);
/* Sets what is wrong with a value, without its place; returns false. */
bool config_wrong(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

struct agent_config {
	/* [agent] */
	uint64_t window_ns;
	uint32_t budget_ppm;		/* of all CPUs' time; 0: no budget, everything stays exact */
	uint64_t memory_bytes;		/* the recorder restarts above it; 0: never */
	char *host;			/* this host's name; NULL: the kernel's */
	/* [store] */
	char *dir;
	uint64_t max_bytes;
	uint64_t keep_windows_ns, keep_minutes_ns, keep_hours_ns;
	uint64_t incidents_bytes;	/* 0: incidents are not kept */
	/* [push] */
	char *push_urls[PUSH_ENGINES];	/* NULL: not to that engine */
	char *push_database, *push_tenant, *push_credentials, *push_ca;	/* NULL: the defaults of push/target.h */
	char *push_spool, *push_windows;
	uint32_t push_one_host_in;
	uint64_t push_spool_bytes, push_spool_age_ns;
	/* [metrics] */
	char *metrics_listen;		/* address and port; NULL: not served */
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
	char hash[AGENT_HASH_CHARS + 1];	/* of the texts of all files; "": no file */
};

/* The defaults. */
struct agent_config *agent_config_new(void);
void agent_config_free(struct agent_config *c);	/* NULL is fine */
/*
 * Applies a file's text to c, its values and its alerts; errors name the file `path`. False with one sentence, which
 * names the line.
 */
bool agent_config_take(struct agent_config *c, const char *text, gsize len_bytes, const char *path, GError **error);
/*
 * The file, then those in the folder PATH.d that end in ".conf", in order of names. may_lack: the file may be missing.
 * NULL with one sentence.
 */
struct agent_config *agent_config_read(const char *path, bool may_lack, GError **error);
/* "GROUP.KEY=VALUE", from the command line; false with a sentence. */
bool agent_config_set(struct agent_config *c, const char *setting, GError **error);
/* Are storms recorded, possibly only for an alert? */
bool agent_config_storms(const struct agent_config *c);
/* May chains of wakers be recorded: always, or while an alert fires? */
bool agent_config_chains(const struct agent_config *c);
/* Does an alert record, and is there room for that? */
bool agent_config_records(const struct agent_config *c);
/* Do both record the same? Then a change needs no new session. */
bool agent_config_records_same(const struct agent_config *a, const struct agent_config *b);

#endif
