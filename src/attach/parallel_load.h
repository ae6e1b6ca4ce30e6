/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_PARALLEL_LOAD_H
#define ATTACH_PARALLEL_LOAD_H

#include <stdbool.h>

/*
 * A program that is loaded separately: by a thread, as a second object that shares the first one's maps. The verifier
 * checks one program at a time. So those that take it longest are checked in parallel, as soon as the first object is
 * loaded with the maps and all other programs. The program that reads all accounts at the end is needed last: it is
 * loaded when the window is open. All functions but parallel_load_new() and parallel_load_link() accept NULL, for a
 * program that is loaded with the others.
 */
struct parallel_load;
struct bpf_link;
struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;

/*
 * Before the first object is loaded: excludes `prog` from it. core_btf: the type file that it was opened with, or
 * NULL. All of them must outlive this.
 */
struct parallel_load *parallel_load_new(const struct bpf_object_skeleton *first, struct bpf_program *prog,
					const char *core_btf);
/* Joins the thread. */
void parallel_load_free(struct parallel_load *a);

/* When the first object is loaded: starts a thread that loads it, if that is yet to be done. */
void parallel_load_begin(struct parallel_load *a);
bool parallel_load_is_done(const struct parallel_load *a);
/* Waits until it is loaded; loads it itself if parallel_load_begin() was not called. 0 or a negative errno. */
int parallel_load_wait(struct parallel_load *a);
/* The program must be loaded. Attaches it at the first call; NULL: errno has the reason. */
struct bpf_link *parallel_load_link(struct parallel_load *a);
/* NULL if it is not loaded. */
struct bpf_object *parallel_load_object(const struct parallel_load *a);

#endif
