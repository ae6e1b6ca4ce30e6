/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SPOOL_H
#define PUSH_SPOOL_H

#include "push/unit.h"

/*
 * Units on disk until their engine has them: a file each, written whole, named by when its window began.  It is
 * bounded by age and by size: the oldest go first, and each one that goes is counted.  One process at a time, which
 * flock() holds.  A folder is one engine's.
 */
struct spool;

struct spool_options {
	const char *dir;	/* made when it is not there (0700) */
	uint64_t max_bytes;	/* 0: SPOOL_BYTES */
	uint64_t max_age_s;	/* since it was put here; 0: SPOOL_AGE_S */
	bool may_repeat;	/* else a unit that was being sent as a process ended is not sent again */
};
#define SPOOL_BYTES (UINT64_C(256) << 20)
#define SPOOL_AGE_S (24 * 3600)
#define SPOOL_FILES_MAX 100000

/* What went without having been taken by an engine, since spool_open(). */
struct spool_drops {
	uint64_t old, large;	/* beyond the age, beyond the size */
	uint64_t damaged;
	uint64_t unsure;	/* was being sent as the process ended */
};

struct spool *spool_open(const struct spool_options *options, GError **error);
void spool_close(struct spool *s);	/* NULL is fine; what is left stays */

/*
 * False with one sentence (a full disk): then nothing of the unit is kept.  A unit that is there already, by key and
 * part, is one.
 */
bool spool_add(struct spool *s, const struct push_unit *u, GError **error);
/* Drops what is beyond the bounds. */
void spool_bound(struct spool *s);
/*
 * The unit behind that one, or the first for NULL and for the last, in *ret_name (free with g_free()); NULL: there is
 * none.  What is damaged is dropped on the way.
 */
struct push_unit *spool_next(struct spool *s, const char *after, char **ret_name);
/* It is about to be sent; false with one sentence. */
bool spool_begin(struct spool *s, const char *name, GError **error);
/* It was not taken: it stays. */
void spool_keep(struct spool *s, const char *name);
/* It was taken, or is given up. */
void spool_remove(struct spool *s, const char *name);

guint spool_cnt(const struct spool *s);
uint64_t spool_bytes(const struct spool *s);
struct spool_drops spool_drops(const struct spool *s);

#endif
