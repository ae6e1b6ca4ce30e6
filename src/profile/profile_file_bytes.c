/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "profile/on_cpu.h"
#include "profile/profile_file.h"
#include "profile/profile_rows.h"

static int fill(sqlite3 *db, const struct profile *p, profile_file_more more, void *data)
{
	struct profile plain = *p;
	GArray waits = *p->waits;
	int rc = profile_create_tables(db);

	/* samples have a table of their own, whatever analyses made of them (profile_on_cpu_as_waits()) */
	while (waits.len && profile_wait(p, waits.len - 1)->state == ON_CPU_STATE)
		waits.len--;
	plain.waits = &waits;
	if (rc == SQLITE_OK)
		rc = profile_write_threads(db, &plain);
	if (rc == SQLITE_OK)
		rc = profile_write_rest(db, &plain);
	if (rc == SQLITE_OK && more)
		rc = more(db, data);
	return rc == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : rc;
}

GBytes *profile_file_bytes(const struct profile *p, profile_file_more more, void *data, GError **error)
{
	sqlite3 *db = NULL;
	sqlite3_int64 len_bytes = 0;
	unsigned char *bytes = NULL;
	int rc = sqlite3_open(":memory:", &db);

	if (rc == SQLITE_OK)
		rc = fill(db, p, more, data);
	if (rc == SQLITE_OK)
		bytes = sqlite3_serialize(db, "main", &len_bytes, 0);
	if (!bytes)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "the recording cannot be made: %s",
			    rc != SQLITE_OK && db ? sqlite3_errmsg(db) : "no memory");
	sqlite3_close(db);
	return bytes ? g_bytes_new_with_free_func(bytes, (gsize)len_bytes, sqlite3_free, bytes) : NULL;
}
