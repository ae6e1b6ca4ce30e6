/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings: any bytes are refused with a reason, or are a valid profile. */
#include <stdlib.h>
#include <string.h>

#include "profile/profile_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_bytes(const uint8_t *data, size_t size, bool mend)
{
	/* A copy of exactly this size: a sanitizer sees a read beyond it. */
	g_autofree unsigned char *bytes = g_malloc(size ? size : 1);
	GError *error = NULL;

	if (size)
		memcpy(bytes, data, size);
	/* Without a page count in the header, what was cut off gets to SQLite, too. */
	if (mend && size >= 100)
		memset(bytes + 28, 0, 4);
	struct profile *p = profile_file_read_bytes(bytes, size, "input", &error);

	if (!p != !!error || (p && !profile_check(p, NULL)))
		abort();
	g_clear_error(&error);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_bytes(data, size, false);
	read_bytes(data, size, true);
	return 0;
}
