/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Other tools' formats, packed or not: any bytes are refused with a reason, or are a valid profile. */
#include <stdlib.h>

#include "exchange/format.h"

/* Behind bytes that are to be read by the first reader of the table; one more, the second. */
#define LAST_BYTE_CHOOSES 0xf8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct profile *p, GError *error)
{
	if (!p != !!error || (p && (!profile_check(p, NULL) || !p->info.imported)))
		abort();
	g_clear_error(&error);
	profile_free(p);
}

/* By what it looks like, as the commands do. */
static void read_sniffed(const uint8_t *data, size_t size)
{
	struct source *s = source_of_bytes(data, size);
	GError *error = NULL;
	struct profile *p = exchange_read(s, "input", &(struct import_options){ .unit_ns = size % 2 }, &error);

	check(p, error);
	source_free(s);
}

/* By one reader, whatever it looks like. */
static void read_as(const struct format *format, const uint8_t *data, size_t size)
{
	struct source *s = source_of_bytes(data, size);
	struct profile *p = profile_new();
	GError *error = NULL;

	if (!format->read(s, &(struct import_options){ 0 }, p, &error) || !profile_check(p, &error)) {
		profile_free(p);
		p = NULL;
	}
	check(p, error);
	source_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t which = size && data[size - 1] >= LAST_BYTE_CHOOSES ? (size_t)(data[size - 1] - LAST_BYTE_CHOOSES) : SIZE_MAX;

	read_sniffed(data, size);
	for (size_t i = 0; i < formats_cnt; i++)
		if (formats[i].read && which-- == 0)
			read_as(&formats[i], data, size - 1);
	return 0;
}
