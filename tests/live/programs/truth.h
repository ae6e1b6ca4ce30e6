/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIVE_TRUTH_H
#define LIVE_TRUTH_H

/*
 * What every test program shares: it measures its own waits and says where they happened.
 *
 * A program is run as PROGRAM OUT ARGS.  It sets itself up, prints "ready PID [PID ...]",
 * waits for a byte on stdin, does its work, appends its truth to OUT as JSON lines, prints
 * "done" and stays until stdin is closed.  With stdin at its end from the start it does not
 * wait: so it runs under `record -- COMMAND` too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys.h"

#define TRUTH_CHAIN 8
#define TRUTH_WAITS 512	/* durations kept one by one */

/* The waits of one thread at one place. */
struct truth {
	const char *kind;
	char state;			/* letter expected */
	const char *chain[TRUTH_CHAIN];	/* functions, root first, the last one is the innermost */
	uint64_t calls;			/* brackets closed */
	uint64_t slept;			/* voluntary switches inside them, as the kernel counts */
	uint64_t yielded;		/* involuntary ones, sched_yield included */
	uint64_t wall_ns, cpu_ns;	/* inside the brackets */
	uint64_t min_ns, max_ns;	/* wall of one */
	uint64_t waits_ns[TRUTH_WAITS];
};

struct truth_bracket {
	uint64_t wall_ns, cpu_ns;
	uint64_t slept, yielded;
};

/* A thread's own account between two marks. */
struct truth_thread {
	uint64_t wall_ns, cpu_ns, slept, yielded;
};

uint64_t truth_now_ns(void);
void truth_open(const char *path);	/* exits on failure */
void truth_begin(struct truth_bracket *b);
void truth_end(struct truth *t, const struct truth_bracket *b);
/* Appends *t for the calling thread in one write. */
void truth_write(const struct truth *t);

void truth_thread_begin(struct truth_thread *t);
void truth_thread_write(const struct truth_thread *begin, const char *kind);
void truth_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A gate, shut until opened; shared with children forked after truth_open. */
void truth_gate_wait(void);
void truth_gate_open(void);
int truth_gettid(void);

/* Prints "ready" with the given process ids (own pid when cnt is 0) and waits for the word to go. */
void truth_ready(const int *pids, size_t cnt);
/* Prints "done" and waits for the end of stdin. */
void truth_done(void);

/* A connection over the loopback: what is written to one end is read from the other. */
void truth_tcp_pair(int ret_ends[2]);

/* A number argument; exits with a message when it is none. */
uint64_t truth_arg(int argc, char **argv, int i);
const char *truth_arg_string(int argc, char **argv, int i);
/* Complains and exits 1. */
void truth_die(const char *what, long err) __attribute__((noreturn));

#endif
