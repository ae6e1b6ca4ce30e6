/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_PROBE_H
#define SESSION_PROBE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a session traces besides the threads' accounts and their waits, which are in session.c and load.c: one row for
 * each, with all that is to be done for it during a session. For a row that is not wanted only configure() is called,
 * to leave its programs and maps out.
 */
struct fold;
struct offcpu_config;
struct profile;
struct session;

/* A command-line switch, which sets a gboolean of struct collect_options. */
struct session_option {
	const char *name;
	size_t at;
	const char *help;
};

/* A record of the ring (enum offcpu_rec_type), of any size: passed to the fold, or else to the row's take(). */
struct session_record {
	uint32_t type;
	void (*fold)(struct fold *f, const void *record, size_t size);
	void (*take)(struct session *s, void *state, const void *record, size_t size);
};

struct session_probe {
	const char *name;
	const struct session_option *options;	/* ends with a NULL name; NULL: none, or each command's own */
	const struct session_record *records;	/* ends with type 0; NULL: none */
	unsigned drain_ms;	/* maximal interval of session_drain() while it is traced; 0: the default */
	/*
	 * Before the programs are loaded. Returns whether it is wanted. Fills its part of the config, sizes its maps,
	 * and leaves out what it does not need. *ret_state is passed to all others, and NULL at first. NULL instead of
	 * the function: always wanted.
	 */
	bool (*configure)(struct session *s, struct offcpu_config *cfg, void **ret_state);
	/* After the programs are attached. */
	bool (*start)(struct session *s, void *state, GError **error);
	/* Before the window opens: waits for what must be known by then. */
	void (*prepare)(struct session *s, void *state);
	/* Called periodically. */
	void (*drain)(struct session *s, void *state);
	/*
	 * For sums that change halves with those of the waits: are they nearly full? read_half() reads the half that
	 * no program uses any more.
	 */
	bool (*is_filling)(const struct session *s, const void *state);
	void (*read_half)(struct session *s, void *state, bool second, bool is_last);
	/* At a cut, before the programs learn when the next window begins. */
	void (*cut)(struct session *s, void *state);
	/*
	 * After the window, or a cut, when its threads, stacks and waits are in the profile: adds the rest, and
	 * losses.
	 */
	void (*finish)(struct session *s, void *state, struct profile *p);
	void (*free)(void *state);	/* before the programs leave the kernel */
};

/* All rows, in the order in which they are called. Requests are stopped first: each probed call costs time. */
#define SESSION_PROBES(X)                                                                               \
	X(requests) X(wakers) X(objects) X(connects) X(tcp) X(languages) X(services) X(blame) X(storms) \
	X(on_cpu) X(switches)
#define SESSION_PROBE_DECLARE(name) extern const struct session_probe probe_##name;
SESSION_PROBES(SESSION_PROBE_DECLARE)

#define SESSION_PROBES_MAX 16
#define SESSION_RECORDS_MAX 64	/* types of records */

/* The same rows; ends with NULL. */
extern const struct session_probe *const session_probes[];

/* Which are wanted, with their state: a part of the session. */
struct session_probe_set {
	bool is_wanted[SESSION_PROBES_MAX];
	void *states[SESSION_PROBES_MAX];
	uint8_t takers[SESSION_RECORDS_MAX];	/* row + 1 */
};

/* These call the functions of all rows that are wanted. */
void probes_configure(struct session *s, struct offcpu_config *cfg);
bool probes_start(struct session *s, GError **error);
void probes_prepare(struct session *s);
void probes_drain(struct session *s);
bool probes_are_filling(const struct session *s);
void probes_read_half(struct session *s, bool second, bool is_last);
void probes_cut(struct session *s);
void probes_finish(struct session *s, struct profile *p);
void probes_free(struct session *s);
/* Passes a record to the row that takes it, if any. */
void probes_take(struct session *s, uint32_t type, const void *record, size_t size);
/* The shortest interval of those that are wanted, or `usual`. */
unsigned probes_drain_ms(const struct session *s, unsigned usual);
/* A row's state; NULL if it is not wanted. */
void *probe_state(const struct session *s, const struct session_probe *probe);

#endif
