/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_PROFILE_PLACE_H
#define TESTS_PROFILE_PLACE_H

#include "profile/profile.h"

/* For tests of recordings on disk: a directory of its own, and the path of a recording in it. */
struct place {
	char *dir, *path, *old;
};

/* A fixture of g_test_add(). */
void place_make(struct place *at, gconstpointer data);
void place_remove(struct place *at, gconstpointer data);

void write_sample(const struct profile *p, const char *path);
void assert_reads_as(const struct profile *p, const char *path);

#endif
