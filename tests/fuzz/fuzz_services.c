/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What processes and containers say of themselves: their environment, their control group, the files that runtimes
 * keep of containers, what an SDK publishes in memory.  The first byte tells which of these the others are.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolize/process/process_context.h"
#include "fold/services.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UID 1000

static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void check_text(const char *text)
{
	if (text && !g_utf8_validate(text, -1, NULL))
		abort();
}

static void check_context(struct process_context *c)
{
	if (!c)
		return;
	check_text(c->service);
	check_text(c->schema);
	if (c->keys->len > PROCESS_CONTEXT_KEYS_MAX)
		abort();
	for (guint i = 0; i < c->keys->len; i++)
		check_text(g_ptr_array_index(c->keys, i));
	process_context_free(c);
}

/* Names are the caller's, and valid as text. */
static void check(char *name)
{
	if (name && !g_utf8_validate(name, -1, NULL))
		abort();
	g_free(name);
}

static void check_cgroup(const char *text)
{
	g_autofree char *path = service_cgroup_path(text), *container = service_container_id(text),
			*pod = g_strdup(text);

	if (container && strlen(container) != CONTAINER_ID_DIGITS)
		abort();
	g_free(service_of_cgroup(text, NULL));
	g_free(service_of_cgroup(path ? path : text, "web-0"));
	service_uid_of_cgroup(text);
	container_workload(pod);
	g_free(container_home(text, UID));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = size ? g_strndup((const char *)data + 1, size - 1) : NULL, *host_name = NULL;

	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0: check_context(process_context_decode(data + 1, size - 1)); break;
	case 1: check(container_decode((const char *)data + 1, size - 1, id)); break;
	case 2: g_free(service_of_environ((const char *)data + 1, size - 1, &host_name)); break;
	default: check_cgroup(text);
	}
	return 0;
}
