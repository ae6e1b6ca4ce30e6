/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Other tools' formats, packed or not: any bytes are refused with a reason, or are a valid profile, which every format writes. */
#include <stdlib.h>

#include "exchange/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_bytes(void *ctx, const void *bytes, gsize len_bytes, GError **error)
{
	*(gsize *)ctx += len_bytes;
	return true;
}

static void write_all(const struct profile *p)
{
	for (size_t i = 0; i < formats_cnt; i++) {
		gsize len_bytes = 0;
		const struct sink sink = { count_bytes, &len_bytes };
		const struct export_plan plan = { .columns = 1, .selection_text = "" };

		if (formats[i].write && !format_write(&formats[i], p, &plan, &sink, NULL))
			abort();
	}
}

static void check(struct profile *p, GError *error)
{
	if (!p != !!error || (p && (!profile_check(p, NULL) || !p->info.imported)))
		abort();
	/* What is large is written slowly, and says nothing new. */
	if (p && p->waits->len < 1000)
		write_all(p);
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

/* By each reader, whatever it looks like. */
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
	read_sniffed(data, size);
	for (size_t i = 0; i < formats_cnt; i++)
		if (formats[i].read)
			read_as(&formats[i], data, size);
	return 0;
}
