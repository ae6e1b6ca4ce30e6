/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_FILES_H
#define STORE_FILES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The files of a history: which there are, and how they are called (docs/history.md). */

enum store_tier { TIER_WINDOW, TIER_MINUTE, TIER_HOUR, TIER_CNT };
uint64_t tier_step_ns(enum store_tier tier);

struct store_name {
	int64_t day;		/* since 1970, UTC: of the starts of its windows */
	enum store_tier tier;
	uint32_t part;		/* a day that is too large for one file has several */
	bool is_ended;		/* of store_list(): there is a later part, so nobody writes to this one any more */
};

#define STORE_NS_A_DAY (UINT64_C(86400) * 1000 * 1000 * 1000)
static inline int64_t store_day_of(uint64_t unix_ns)
{
	return (int64_t)(unix_ns / STORE_NS_A_DAY);
}

/* "DIR/2026-11-25.10s.db"; free with g_free(). */
char *store_path(const char *dir, const struct store_name *name);
int store_name_compare(gconstpointer a, gconstpointer b);	/* tier, day, part */
/*
 * struct store_name, by tier, day and part; what has another name is none of ours.  NULL with a sentence: there is no
 * such folder.
 */
GArray *store_list(const char *dir, GError **error);
/* Of the file and what SQLite has beside it; 0: there is none. */
uint64_t store_file_bytes(const char *path);
/* Removes it and what SQLite has beside it. */
void store_file_unlink(const char *path);

#endif
