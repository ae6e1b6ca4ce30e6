/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_CONFINE_H
#define BASE_OPENER_CONFINE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A process that handles what strangers send or wrote gives up whatever it will not need, for good, so that a fault in
 * it is worth nothing: another user, no capability, no_new_privs, files by Landlock, system calls by seccomp.  Called
 * before threads are made.
 */

enum confine_calls {
	/*
	 * answers clients of a socket that listens already, and reads files; opens no connection, writes and runs
	 * nothing
	 */
	CONFINE_SERVER,
	CONFINE_CLIENT,	/* the same, and asks other servers: it connects to them and reads any file that user may read */
	CONFINE_PARSER,	/* reads descriptors that it is sent, and answers; opens nothing */
	CONFINE_OPENER,	/* opens what others have, to read, and hands it over */
	CONFINE_NO_CALLS,	/* none is refused: it will fork those that are one of these */
	CONFINE_OPENER_KEEPER,	/* the same, for openers */
};

struct confine {
	enum confine_calls calls;
	const char *folder;	/* whose files may be read; NULL: none */
	uint64_t memory_bytes;	/* that it may write to; 0: no limit */
	uint64_t kept;		/* capabilities, see below */
	/* what came of it */
	bool has_left_root;	/* false: it never was root */
	bool reads_by_capability;	/* the folder is closed to that user, so CAP_DAC_READ_SEARCH stays */
	bool has_landlock;	/* false: the kernel has none */
	char user[32];
};

/*
 * In a process that was forked: fds are descriptors 3 and on, in that order, 0 to 2 are /dev/null, and nothing else of
 * the parent's is open: its store's lock would be held here, too.
 */
void confine_descriptors(const int *fds, unsigned cnt);
/* False with a sentence: something that has to hold does not, and nothing should be done in this process. */
bool confine(struct confine *c, GError **error);

/* From now on all other system calls of this thread, and of those it makes, are refused (EPERM).  False with errno. */
bool confine_calls(enum confine_calls calls);

/*
 * Giving up what is not needed, for good.  Called before threads are made, so that all of them have it; what was not
 * there is not taken.
 */

/* Capabilities as bits. */
#define PRIVILEGE(capability) (UINT64_C(1) << (capability))
/* What it takes to trace. */
uint64_t privileges_to_trace(void);
/* What it takes to open what other users have, and what names are made of.  with_admin: CAP_SYS_ADMIN, too. */
uint64_t privileges_to_open(bool with_admin);
/*
 * As limits, which stay when the capabilities for them are given up: threads may get a CPU among thousands that want
 * one, and buffers may be locked in memory.  The capabilities that stand for limits that may not be raised.
 */
uint64_t privileges_to_limits(void);
/* For programs that are run: no more of the first, nor of what the thread has by it just now. */
void privileges_limits_drop(void);
/* "bpf, perfmon"; free with g_free(). */
char *privileges_text(uint64_t privileges);
/*
 * Keeps those of `wanted` that there are, in all sets, and sets no_new_privs: no program that it runs can have more.
 * False with a sentence.
 */
bool privileges_drop(uint64_t wanted, GError **error);
/* What it has now: effective capabilities; 0 when it cannot be told. */
uint64_t privileges_now(void);

#endif
