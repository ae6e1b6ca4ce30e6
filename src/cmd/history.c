/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/range.h"

#include "analyse/range.h"
#include "base/parse.h"
#include "base/refuse.h"
#include "features/incidents/history.h"
#include "store/store.h"

static struct {
	bool is_asked;
	char *dir;
	char *incident;		/* NULL: read the history itself */
	char *incident_dir;
} history;

gboolean history_option(const char *name, const char *value, gpointer data, GError **error)
{
	history.is_asked = true;
	g_free(history.dir);
	history.dir = g_strdup(value);
	return TRUE;
}

gboolean history_incident_option(const char *name, const char *value, gpointer data, GError **error)
{
	if (!incident_check_name(value, error))
		return false;
	history.is_asked = true;
	g_free(history.incident);
	history.incident = g_strdup(value);
	return TRUE;
}

bool history_is_asked(void)
{
	return history.is_asked;
}

const char *history_store(void)
{
	return history.dir ? history.dir : STORE_DIR_DEFAULT;
}

const char *history_dir(void)
{
	if (!history.incident)
		return history_store();
	if (!history.incident_dir)	/* resolved once all options are read */
		history.incident_dir = incident_dir(history_store(), history.incident);
	return history.incident_dir;
}

/* False on error: there is no such incident. */
static bool extent_of_incident(struct store_extent *ret, GError **error)
{
	if (g_file_test(history_dir(), G_FILE_TEST_IS_DIR) || !g_file_test(history_store(), G_FILE_TEST_IS_DIR))
		return store_extent(history_dir(), ret, error);
	return refuse(error, PARSE_ERROR, 0,
		      "there is no incident called '%s' in '%s': offcpu report --incidents lists them", history.incident,
		      history_store());
}

bool history_range(const char *from, const char *to, uint64_t *ret_from_ns, uint64_t *ret_to_ns, GError **error)
{
	uint64_t now_ns = (uint64_t)g_get_real_time() * 1000, usual_ns = MOMENT_RANGE_USUAL_NS;
	struct store_extent all;

	/* in an incident, "14:32" and "-5m" refer to its time */
	if (history.incident) {
		if (!extent_of_incident(&all, error))
			return false;
		now_ns = all.to_unix_ns;
		usual_ns = all.to_unix_ns - all.from_unix_ns;
	}
	return moment_range(from, to, "--", usual_ns, now_ns, ret_from_ns, ret_to_ns, error);
}

char *history_as_long(const char *begin, const char *from, const char *to)
{
	uint64_t begin_ns, from_ns, to_ns;

	if (!moment_parse(begin, (uint64_t)g_get_real_time() * 1000, &begin_ns, NULL) ||
	    !history_range(from, to, &from_ns, &to_ns, NULL))
		return NULL;
	const uint64_t end_ns = begin_ns + (to_ns - from_ns);
	g_autoptr(GDateTime) end = g_date_time_new_from_unix_local((gint64)(end_ns / 1000000000));
	g_autofree char *time = end ? g_date_time_format(end, "%Y-%m-%dT%H:%M:%S") : NULL;
	g_autofree char *zone = end ? g_date_time_format(end, "%:z") : NULL;

	if (!time || !zone)
		return NULL;
	return end_ns % 1000000000 ? g_strdup_printf("%s.%09" G_GUINT64_FORMAT "%s", time, end_ns % 1000000000, zone)
				   : g_strconcat(time, zone, NULL);
}

bool history_check_times(const char *from, const char *to, GError **error)
{
	uint64_t from_ns, to_ns;

	return history_range(from, to, &from_ns, &to_ns, error);
}

struct profile *history_read_of(const char *dir, const char *from, const char *to, GError **error)
{
	uint64_t from_ns, to_ns;

	return history_range(from, to, &from_ns, &to_ns, error) ? store_read(dir, from_ns, to_ns, error) : NULL;
}

struct profile *history_read(const char *from, const char *to, GError **error)
{
	return history_read_of(history_dir(), from, to, error);
}
