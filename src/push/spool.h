/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SPOOL_H
#define PUSH_SPOOL_H

#include "push/unit.h"

/*
 * Units on disk until their engine takes them: one file each, written atomically and named by the window's start.  The
 * spool is bounded by age and size: the oldest units are dropped first, and counted.  flock() admits one process at a
 * time.  A folder belongs to one engine.
 */
struct spool;

struct spool_options {
	const char *dir;	/* created if missing (0700) */
	uint64_t max_bytes;	/* 0: SPOOL_BYTES */
	uint64_t max_age_s;	/* since it was added; 0: SPOOL_AGE_S */
	bool may_repeat;	/* else a unit that was being sent when a process ended is dropped */
};
#define SPOOL_BYTES (UINT64_C(256) << 20)
#define SPOOL_AGE_S (24 * 3600)
#define SPOOL_FILES_MAX 100000

/* Units dropped since spool_open() without having been taken. */
struct spool_drops {
	uint64_t old, large;	/* exceeded the age, exceeded the size */
	uint64_t damaged;
	uint64_t unsure;	/* was being sent when the process ended */
};

struct spool *spool_open(const struct spool_options *options, GError **error);
void spool_close(struct spool *s);	/* NULL is fine; units stay on disk */

/* False on error (a full disk): nothing of the unit is kept.  A unit with the same key and part is replaced. */
bool spool_add(struct spool *s, const struct push_unit *u, GError **error);
/* Drops units beyond the bounds. */
void spool_bound(struct spool *s);
/*
 * The unit after `after`.  The first one if `after` is NULL or the last one.  *ret_name: its name (free with
 * g_free()).  NULL: the spool is empty.  Drops damaged units on the way.
 */
struct push_unit *spool_next(struct spool *s, const char *after, char **ret_name);
/* Marks it as being sent; false on error. */
bool spool_begin(struct spool *s, const char *name, GError **error);
/* It was not taken: keep it. */
void spool_keep(struct spool *s, const char *name);
/* It was taken or given up: remove it. */
void spool_remove(struct spool *s, const char *name);

guint spool_cnt(const struct spool *s);
uint64_t spool_bytes(const struct spool *s);
struct spool_drops spool_drops(const struct spool *s);

#endif
