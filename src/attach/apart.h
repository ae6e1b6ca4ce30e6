/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_APART_H
#define ATTACH_APART_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A program that is loaded apart from the others: by a thread, as a second object that shares the first one's maps.
 * The verifier checks one program at a time.  So those that it takes longest for are checked side by side, as soon as
 * the first object is loaded, which has the maps and all that is checked quickly.  What reads all accounts out in the
 * end is of no use before: it is loaded when the window is open.  All functions but apart_new() and apart_link() take
 * NULL as a program that is loaded with the others.
 */
struct apart;
struct bpf_link;
struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;

/*
 * Before the first object is loaded: it will do without `prog`.  core_btf: the file of types that it was opened with,
 * or NULL.  All of them must outlive this.
 */
struct apart *apart_new(const struct bpf_object_skeleton *first, struct bpf_program *prog, const char *core_btf);
/* Waits for the thread. */
void apart_free(struct apart *a);

/* When the first object is loaded: a thread begins to load it, if that is yet to be done. */
void apart_begin(struct apart *a);
bool apart_is_done(const struct apart *a);
/* Waits until it is loaded; loads it itself where that was not begun.  0 or a negative errno. */
int apart_wait(struct apart *a);
/* Of one that is loaded: attached at the first call; NULL: errno tells why not. */
struct bpf_link *apart_link(struct apart *a);
/* Of one that is loaded; NULL of another. */
struct bpf_object *apart_object(const struct apart *a);

#endif
