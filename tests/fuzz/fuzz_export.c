/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the importers take is what every format writes: apart from their fuzzer, whose runs this would make hundreds of times as long. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *s = source_of_bytes(data, size);
	struct profile *p = exchange_read(s, "input", &(struct import_options){ 0 }, NULL);

	/* What is large is written slowly, and says nothing new. */
	if (p && p->waits->len < 1000)
		write_all(p);
	profile_free(p);
	source_free(s);
	return 0;
}
