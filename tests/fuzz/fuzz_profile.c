/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings: any bytes are refused with a reason, or are a valid profile, of which who woke whom can be told. */
#include <stdlib.h>
#include <string.h>

#include "features/critical/analysis.h"
#include "features/wakers/text.h"
#include "profile/profile_file.h"
#include "render/json/parts.h"
#include "render/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sums are exact whatever the numbers are. */
static void check_critical(const struct profile *p, enum actor_by by, GString *out)
{
	const struct text_options options = { .top = 3, .width = 80 };
	struct critical *c = critical_new(p, "*", by, NULL);
	uint64_t ns = 0;

	if (!c)
		return;
	for (guint i = 0; i < c->parts->len; i++)
		if (critical_get(c, i)->parent == UINT32_MAX)
			ns += (uint64_t)critical_get(c, i)->ns;
	if (ns != c->observed_ns)
		abort();
	critical_text(out, c, &options);
	critical_json(out, c);
	critical_free(c);
}

static void check_wakers(const struct profile *p)
{
	const struct text_options options = { .top = 3, .width = 80 };
	g_autoptr(GString) out = g_string_new(NULL);

	for (int by = 0; by < ACTOR_BY_COUNT; by++) {
		struct waitgraph *g = waitgraph_new(p, NULL, (enum actor_by)by, false);

		wakers_text(out, g, &options);
		waitgraph_dot(out, g, 10);
		waitgraph_json(out, g);
		waitgraph_free(g);
		check_critical(p, (enum actor_by)by, out);
	}
}

static void check_tasks(const struct profile *p)
{
	const struct text_options options = { .top = 3, .width = 80 };
	g_autoptr(GString) out = g_string_new(NULL);
	struct json j;

	text_tasks_of(out, p, NULL, &options);
	text_tasks_first(out, p, NULL, &options);
	g_string_truncate(out, 0);
	json_init(&j, out);
	json_object_begin(&j);
	json_tasks(&j, p, NULL, NULL);
	json_object_end(&j);
}

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
	if (p) {
		check_wakers(p);
		check_tasks(p);
	}
	g_clear_error(&error);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_bytes(data, size, false);
	read_bytes(data, size, true);
	return 0;
}
