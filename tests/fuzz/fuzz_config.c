/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files of whoever administers: the agent's configuration, and who may read a page. */
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "server/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_good, GError *error)
{
	if (is_good != !error || (error && !*error->message))
		abort();
	g_clear_error(&error);
}

static void read_config(const uint8_t *data, size_t size, const char *text)
{
	struct agent_config *c = agent_config_new(), *other = agent_config_new();
	GError *error = NULL;
	bool is_good = agent_config_take(c, (const char *)data, size, "a.conf", &error);

	check(is_good, error);
	if (is_good)
		agent_config_records_same(c, other);
	error = NULL;
	is_good = agent_config_set(other, text, &error);
	check(is_good, error);
	agent_config_free(other);
	agent_config_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	GError *error = NULL;
	GArray *readers = readers_parse(text, &error);

	check(readers, error);
	if (readers)
		g_array_unref(readers);
	read_config(data, size, text);
	return 0;
}
