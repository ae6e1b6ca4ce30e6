/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_TARGET_H
#define CMD_TARGET_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "session/options.h"

/* Programs that are not ours to run as root: as whom they run, with that user's groups and environment. */
struct as_user {
	uid_t uid;
	gid_t gid;
	char *name, *home, *shell;
	GArray *groups; /* gid_t, gid among them */
};

/*
 * asked: a name, or NULL for who called sudo, where we are root by sudo.  *ret is NULL where programs run as we do.  False
 * with a sentence.
 */
bool as_user_find(const char *asked, struct as_user **ret, GError **error);
/* Ours, with what it says of a user changed; for NULL as it is.  Free with g_strfreev(). */
char **as_user_environment(const struct as_user *u);
/* In a child, for good; NULL changes nothing.  False with errno. */
bool as_user_become(const struct as_user *u);
void as_user_free(struct as_user *u);	/* NULL is fine */

/* The options that record, trace, hist and events share. */

struct target {
	struct collect_options collect;
	char **command;		/* after "--", or NULL */
	struct as_user *as;	/* who runs it; NULL: who we are */
	bool tells_user;	/* it is not plain who that is */
	/* as typed */
	char **pids, **tids, **cgroups;
	char *user, *comm, *states, *min_block, *max_block, *unwind, *sample, *max_overhead, *frequency, *attributes;
	char **attribute_list;
	gboolean all, user_threads, kernel_threads, user_stacks_only, kernel_stacks_only, self, exact, verbose, lines,
		 no_objects, follow, cpu, verify_walks;
	bool is_named;		/* TARGET_NAMED */
	bool takes_children;	/* set by the command: those that -p's processes have forked already, too */
	gint max_depth, rows_max;
	char *wakers;
	bool wants_wakers;	/* set by the command: they are recorded unless --no-wakers is given */
	gboolean no_wakers;
	uint32_t wakers_cnt;	/* the same: how many of a chain, 0: none */
	/* what holds when none of --exact, --sample and --max-overhead says otherwise */
	uint64_t default_sample_ns;
	uint32_t default_budget_ppm;	/* 0: no governor unless asked for */
};

enum target_part {
	TARGET_WHO = 1 << 0,		/* -a -p -t --cgroup --comm -u -k */
	TARGET_FILTER = 1 << 1,		/* --state -m -M */
	TARGET_CAPTURE = 1 << 2,	/* -U -K --max-depth --unwind --exact */
	TARGET_WHY = 1 << 3,		/* --wakers --runq-blame --storms --locks --inline */
	TARGET_SAMPLING = 1 << 4,	/* --sample --max-overhead */
	TARGET_ON_CPU = 1 << 5,		/* --cpu -F */
	TARGET_NAMED = 1 << 6,		/* --locks and --objects hold unless --no-objects is given */
};

/* Option entries of those parts followed by `own`; valid as long as *t. */
GArray *target_entries(struct target *t, unsigned parts, const GOptionEntry *own);

/* Cuts "-- COMMAND ..." off argv. */
void target_cut_command(struct target *t, int *argc, char **argv);
/* Gives every option of TARGET_WHY that may lack its number one; behind the above. */
void target_fill_in(int argc, char **argv);

/*
 * Checks what was typed and fills t->collect.  On failure prints one sentence and returns
 * an exit status; EXIT_OK otherwise.
 */
int target_resolve(struct target *t, const char *command);
void target_release(struct target *t);

/*
 * The processes (uint32_t, appended to *ret_ids, made when NULL) that the arguments of -p name; an error where one
 * cannot be traced.
 */
bool target_processes(char **typed, GArray **ret_ids, GError **error);

/* The processes that have a thread in one of these control groups, units or containers, or below it; they may be none. */
bool target_group_processes(char **typed, GArray **ret_ids, GError **error);

/* "PID 12, state D, waits from 1ms", or "" for everything. */
char *target_describe(const struct target *t);

#endif
