/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef COLLECT_CLOSING_H
#define COLLECT_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The program that reads all accounts out when the window has ended.  It is of no use before, and the
 * verifier takes a fifth of the start for it: a thread can load it once the window is open, as a second
 * object that shares the first one's maps.
 */
struct closing;
struct offcpu_bpf;
struct bpf_link;

/*
 * Before the object is loaded.  is_later: not with that, but by closing_load().  core_btf: the file of types that it
 * was opened with, or NULL.  Both must outlive this.
 */
struct closing *closing_new(struct offcpu_bpf *skel, const char *core_btf, bool is_later);
/* Waits for the thread. */
void closing_free(struct closing *c);

/* Begins to load it, if that is yet to be done. */
void closing_load(struct closing *c);
bool closing_is_done(const struct closing *c);
/* Waits until it is loaded: 0 and what bpf_iter_create() takes, or a negative errno. */
int closing_wait(struct closing *c, struct bpf_link **ret_link);
/* What cost_programs() tells, of an object of its own. */
void closing_cost(const struct closing *c, uint64_t *ret_ns, uint64_t *ret_runs, uint64_t *ret_missed);

#endif
