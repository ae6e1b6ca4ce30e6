/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_APART_H
#define ATTACH_APART_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A program that is loaded separately: by a thread, as a second object that shares the first one's maps. The verifier
 * checks one program at a time. So those that take it longest are checked in parallel, as soon as the first object is
 * loaded with the maps and all other programs. The program that reads all accounts at the end is needed last: it is
 * loaded when the window is open. All functions but apart_new() and apart_link() accept NULL for a program that is
 * loaded with the others.
 */
struct apart;
struct bpf_link;
struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;

/*
 * Before the first object is loaded: excludes `prog` from it. core_btf: the type file that it was opened with, or
 * NULL. All of them must outlive this.
 */
struct apart *apart_new(const struct bpf_object_skeleton *first, struct bpf_program *prog, const char *core_btf);
/* Joins the thread. */
void apart_free(struct apart *a);

/* When the first object is loaded: starts a thread that loads it, if that is yet to be done. */
void apart_begin(struct apart *a);
bool apart_is_done(const struct apart *a);
/* Waits until it is loaded; loads it itself if apart_begin() was not called. 0 or a negative errno. */
int apart_wait(struct apart *a);
/* The program must be loaded. Attaches it at the first call; NULL: errno has the reason. */
struct bpf_link *apart_link(struct apart *a);
/* NULL if it is not loaded. */
struct bpf_object *apart_object(const struct apart *a);

#endif
