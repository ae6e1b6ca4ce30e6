/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_PROBE_H
#define SESSION_PROBE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a session traces beside the threads' accounts and their waits, which session.c and load.c are about: one row
 * for each, with all that is to be done for it in the course of a session.  A row that is not wanted is asked nothing
 * but to leave its programs and maps out.
 */
struct fold;
struct offcpu_config;
struct profile;
struct session;

/* A switch on the command line, which sets a gboolean of struct collect_options. */
struct session_option {
	const char *name;
	size_t at;
	const char *help;
};

/* A record of the ring (enum offcpu_rec_type), of any size: the fold takes it as it is, or else the row does. */
struct session_record {
	uint32_t type;
	void (*fold)(struct fold *f, const void *record, size_t size);
	void (*take)(struct session *s, void *state, const void *record, size_t size);
};

struct session_probe {
	const char *name;
	const struct session_option *options;	/* ends with a NULL name; NULL: none, or commands have their own */
	const struct session_record *records;	/* ends with type 0; NULL: none */
	unsigned drain_ms;	/* session_drain() is wanted as often while it is traced; 0: as usual */
	/*
	 * Before the programs are loaded: is it wanted?  Fills its part of the config, sizes its maps, leaves out what
	 * it does not need. *ret_state is passed to all others, and NULL at first.  NULL instead of the function:
	 * always wanted.
	 */
	bool (*configure)(struct session *s, struct offcpu_config *cfg, void **ret_state);
	/* Once the programs are attached. */
	bool (*start)(struct session *s, void *state, GError **error);
	/* Before the window opens: waits for what it must have seen by then. */
	void (*prepare)(struct session *s, void *state);
	/* Now and then. */
	void (*drain)(struct session *s, void *state);
	/*
	 * Sums of its own that change halves with those of the waits: are they filling up?  And reads the half that no
	 * program adds to any more.
	 */
	bool (*is_filling)(const struct session *s, const void *state);
	void (*read_half)(struct session *s, void *state, bool second, bool is_last);
	/* At a cut, before the programs are told when the next window begins. */
	void (*cut)(struct session *s, void *state);
	/*
	 * The window is over, or cut, and its threads, stacks and waits are in the profile: the rest, with what was
	 * lost of it.
	 */
	void (*finish)(struct session *s, void *state, struct profile *p);
	void (*free)(void *state);	/* before the programs leave the kernel */
};

/* All rows, in the order in which they are asked.  Requests are the first to go: each probed call costs time. */
#define SESSION_PROBES(X)                                                                               \
	X(requests) X(wakers) X(objects) X(connects) X(tcp) X(languages) X(services) X(blame) X(storms) \
	X(on_cpu) X(switches)
#define SESSION_PROBE_DECLARE(name) extern const struct session_probe probe_##name;
SESSION_PROBES(SESSION_PROBE_DECLARE)

#define SESSION_PROBES_MAX 16
#define SESSION_RECORDS_MAX 64	/* types of records */

/* The same; ends with NULL. */
extern const struct session_probe *const session_probes[];

/* Which are wanted, with what they keep: a part of the session. */
struct session_probe_set {
	bool is_wanted[SESSION_PROBES_MAX];
	void *states[SESSION_PROBES_MAX];
	uint8_t takers[SESSION_RECORDS_MAX];	/* row + 1 */
};

/* As the functions of the rows, of all that are wanted. */
void probes_configure(struct session *s, struct offcpu_config *cfg);
bool probes_start(struct session *s, GError **error);
void probes_prepare(struct session *s);
void probes_drain(struct session *s);
bool probes_are_filling(const struct session *s);
void probes_read_half(struct session *s, bool second, bool is_last);
void probes_cut(struct session *s);
void probes_finish(struct session *s, struct profile *p);
void probes_free(struct session *s);
/* The record's row takes it, where there is one. */
void probes_take(struct session *s, uint32_t type, const void *record, size_t size);
/* The shortest of those that are wanted, or `usual`. */
unsigned probes_drain_ms(const struct session *s, unsigned usual);
/* What a row keeps; NULL where it is not wanted. */
void *probe_state(const struct session *s, const struct session_probe *probe);

#endif
