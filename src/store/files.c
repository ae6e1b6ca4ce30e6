/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/blob.h"

#define FILES_MAX 100000	/* a folder with more is not ours */

static const struct {
	const char *name;
	uint64_t step_ns;
} tiers[TIER_CNT] = {
	[TIER_WINDOW] = { "10s", UINT64_C(10) * 1000000000 },
	[TIER_MINUTE] = { "1m", UINT64_C(60) * 1000000000 },
	[TIER_HOUR] = { "1h", UINT64_C(3600) * 1000000000 },
};

uint64_t tier_step_ns(enum store_tier tier)
{
	return tiers[tier].step_ns;
}

char *store_path(const char *dir, const struct store_name *name)
{
	g_autoptr(GDateTime) day = g_date_time_new_from_unix_utc(name->day * 86400);
	g_autofree char *date = day ? g_date_time_format(day, "%Y-%m-%d") : g_strdup("0000-00-00");

	if (name->part)
		return g_strdup_printf("%s/%s.%s.%u.db", dir, date, tiers[name->tier].name, name->part);
	return g_strdup_printf("%s/%s.%s.db", dir, date, tiers[name->tier].name);
}

static bool parse_tier(const char *text, enum store_tier *ret_tier)
{
	for (int i = 0; i < TIER_CNT; i++) {
		if (strcmp(text, tiers[i].name) == 0) {
			*ret_tier = (enum store_tier)i;
			return true;
		}
	}
	return false;
}

/* Accepts only what store_path() writes. */
static bool parse_name(const char *text, struct store_name *ret_name)
{
	int year, month, day;
	unsigned part = 0;
	char tier[4] = "";

	if (sscanf(text, "%4d-%2d-%2d.%3[0-9a-z].%u.db", &year, &month, &day, tier, &part) < 4 ||
	    !parse_tier(tier, &ret_name->tier))
		return false;
	g_autoptr(GDateTime) at = g_date_time_new_utc(year, month, day, 0, 0, 0);

	if (!at)
		return false;
	ret_name->day = g_date_time_to_unix(at) / 86400;
	ret_name->part = part;
	g_autofree char *own = store_path("", ret_name);

	return strcmp(own + 1, text) == 0;
}

int store_name_compare(gconstpointer a, gconstpointer b)
{
	const struct store_name *x = a, *y = b;

	if (x->tier != y->tier)
		return x->tier < y->tier ? -1 : 1;
	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

GArray *store_list(const char *dir, GError **error)
{
	DIR *folder = opendir(dir);
	int err = errno;
	struct dirent *entry;

	if (!folder) {
		if (err == ENOENT)
			store_fail(error, STORE_ERROR_EMPTY,
				   "there is no history in '%s', which does not exist: offcpu agent writes it", dir);
		else
			store_fail(error, STORE_ERROR_FILE, "cannot read the history in '%s': %s", dir,
				   g_strerror(err));
		return NULL;
	}
	GArray *names = g_array_new(FALSE, FALSE, sizeof(struct store_name));

	while (names->len < FILES_MAX && (entry = readdir(folder))) {
		struct store_name name = { 0 };

		if (parse_name(entry->d_name, &name))
			g_array_append_val(names, name);
	}
	closedir(folder);
	g_array_sort(names, store_name_compare);
	for (guint i = 0; i + 1 < names->len; i++) {
		struct store_name *name = &g_array_index(names, struct store_name, i);

		name->is_ended = name[1].tier == name->tier && name[1].day == name->day;
	}
	return names;
}

static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

uint64_t store_file_bytes(const char *path)
{
	uint64_t bytes = 0;

	for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		g_autofree char *own = g_strconcat(path, suffixes[i], NULL);
		struct stat st;

		if (lstat(own, &st) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

void store_file_unlink(const char *path)
{
	for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		g_autofree char *own = g_strconcat(path, suffixes[i], NULL);

		unlink(own);
	}
}
