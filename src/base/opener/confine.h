/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_CONFINE_H
#define BASE_OPENER_CONFINE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A process that handles strangers' input gives up for good whatever it does not need, so that a vulnerability gains
 * nothing: another user, no capability, no_new_privs, files by Landlock, system calls by seccomp. Called before
 * threads are created.
 */

enum confine_calls {
	/*
	 * answers clients of an open listening socket, and reads files; opens no connection, writes and runs nothing
	 */
	CONFINE_SERVER,
	CONFINE_CLIENT,	/* also queries other servers: it connects to them and reads any file that user may read */
	CONFINE_PARSER,	/* reads descriptors that it receives, and answers; opens nothing */
	CONFINE_OPENER,	/* opens other users' files for reading, and passes them on */
	CONFINE_NO_CALLS,	/* no restriction: it will fork processes of these kinds */
	CONFINE_OPENER_KEEPER,	/* the same, for openers */
};

struct confine {
	enum confine_calls calls;
	const char *folder;	/* whose files may be read; NULL: none */
	uint64_t memory_bytes;	/* limit of writable memory; 0: none */
	uint64_t kept;		/* capabilities, see below */
	/* results */
	bool has_left_root;	/* false: it was not root */
	bool reads_by_capability;	/* the folder is closed to that user, so CAP_DAC_READ_SEARCH is kept */
	bool has_landlock;	/* false: the kernel has none */
	char user[32];
};

/*
 * For a forked process: fds become descriptors 3 and up, in that order, 0 to 2 are /dev/null, and all others of the
 * parent are closed: its store's lock would be held here, too.
 */
void confine_descriptors(const int *fds, unsigned cnt);
/* False with a sentence: a required restriction failed, and this process should do nothing. */
bool confine(struct confine *c, GError **error);

/* From now on all other system calls of this thread and its children are refused (EPERM). False with errno. */
bool confine_calls(enum confine_calls calls);

/*
 * Gives up unneeded privileges for good. Called before threads are created, so that it applies to all; privileges that
 * are missing are not acquired.
 */

/* Capabilities as bits. */
#define PRIVILEGE(capability) (UINT64_C(1) << (capability))
/* Needed for tracing. */
uint64_t privileges_to_trace(void);
/* Needed to open other users' files, and sources of names. with_admin: CAP_SYS_ADMIN, too. */
uint64_t privileges_to_open(bool with_admin);
/*
 * Raises limits that outlast their capabilities: for real-time priority, and for buffers locked in memory. Returns the
 * capabilities for limits that could not be raised.
 */
uint64_t privileges_to_limits(void);
/* "bpf, perfmon"; free with g_free(). */
char *privileges_text(uint64_t privileges);
/*
 * Keeps those of `wanted` that the process has, in all sets, and sets no_new_privs: no program that it runs can have
 * more. False with a sentence.
 */
bool privileges_drop(uint64_t wanted, GError **error);
/* A GSpawnChildSetupFunc for programs that we run: no privileges, raised limits, priority or blocked signals. */
void privileges_drop_all(gpointer unused);
/* Current effective capabilities; 0 when unknown. */
uint64_t privileges_now(void);

#endif
