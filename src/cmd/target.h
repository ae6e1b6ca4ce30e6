/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_TARGET_H
#define CMD_TARGET_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "session/options.h"

/* The user as whom programs that are not ours run if we are root, with groups and environment. */
struct as_user {
	uid_t uid;
	gid_t gid;
	char *name, *home, *shell;
	GArray *groups; /* gid_t, including gid */
};

/* asked: a name, or NULL for the user who called sudo.  *ret is NULL if programs run as we do.  False on error. */
bool as_user_find(const char *asked, struct as_user **ret, GError **error);
/* Our environment with that user's variables; u NULL: unchanged.  Free with g_strfreev(). */
char **as_user_environment(const struct as_user *u);
/* Call it in a child; irreversible.  NULL changes nothing.  False with errno. */
bool as_user_become(const struct as_user *u);
void as_user_free(struct as_user *u);	/* NULL is fine */

/* Options that record, trace, hist and events share. */

struct target {
	struct collect_options collect;
	char **command;		/* after "--", or NULL */
	struct as_user *as;	/* who runs it; NULL: our user */
	bool tells_user;	/* print who that is */
	/* option values */
	char **pids, **tids, **cgroups;
	char *user, *comm, *states, *min_block, *max_block, *unwind, *sample, *max_overhead, *frequency, *attributes;
	char **attribute_list;
	gboolean all, user_threads, kernel_threads, user_stacks_only, kernel_stacks_only, self, exact, verbose, lines,
		 no_objects, follow, cpu, verify_walks;
	bool is_named;		/* TARGET_NAMED */
	bool takes_children;	/* set by the command: include children that -p's processes have already forked */
	gint max_depth, rows_max;
	char *wakers;
	bool wants_wakers;	/* set by the command: wakers are recorded unless --no-wakers is given */
	gboolean no_wakers;
	uint32_t wakers_cnt;	/* the same: length of a chain, 0: none */
	/* defaults unless --exact, --sample or --max-overhead are given */
	uint64_t default_sample_ns;
	uint32_t default_budget_ppm;	/* 0: no governor by default */
};

enum target_part {
	TARGET_WHO = 1 << 0,		/* -a -p -t --cgroup --comm -u -k */
	TARGET_FILTER = 1 << 1,		/* --state -m -M */
	TARGET_CAPTURE = 1 << 2,	/* -U -K --max-depth --unwind --exact */
	TARGET_WHY = 1 << 3,		/* --wakers --runq-blame --storms --locks --inline */
	TARGET_SAMPLING = 1 << 4,	/* --sample --max-overhead */
	TARGET_ON_CPU = 1 << 5,		/* --cpu -F */
	TARGET_NAMED = 1 << 6,		/* --locks and --objects are on unless --no-objects is given */
};

/* Option entries of those parts, followed by `own`; valid as long as *t. */
GArray *target_entries(struct target *t, unsigned parts, const GOptionEntry *own);

/* Removes "-- COMMAND ..." from argv. */
void target_cut_command(struct target *t, int *argc, char **argv);
/* Adds the number to each option of TARGET_WHY that may lack it; call it after the above. */
void target_fill_in(int argc, char **argv);

/* Checks the options and fills t->collect.  On failure prints an error and returns an exit status, else EXIT_OK. */
int target_resolve(struct target *t, const char *command);
void target_release(struct target *t);

/*
 * Appends the processes named by -p to *ret_ids (uint32_t, created if NULL).  Error if one of them cannot be traced.
 */
bool target_processes(char **typed, GArray **ret_ids, GError **error);

/* Appends processes with a thread in these control groups, units or containers, or below them; there may be none. */
bool target_group_processes(char **typed, GArray **ret_ids, GError **error);

/* "PID 12, state D, waits from 1ms", or "" for no restriction. */
char *target_describe(const struct target *t);

#endif
