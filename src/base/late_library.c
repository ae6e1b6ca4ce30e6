/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/late_library.h"

#include <dlfcn.h>
#include <glib.h>
#include <string.h>

#ifndef OFFCPU_STATIC
/* Libraries stay loaded: their dependencies have registered work for the ends of threads and of the program. */
static void *open_first(const char *const *names)
{
	void *handle = NULL;

	for (; *names && !handle; names++)
		handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
	return handle;
}
#endif

char *late_library(const char *const *names, const struct late_function *functions, size_t cnt)
{
#ifdef OFFCPU_STATIC
	/* A library of this host would load this host's libc, besides the one that is linked in. */
	return g_strdup_printf("%s cannot be loaded by the static build of offcpu, only by that of a package", *names);
#else
	void *handle = open_first(names);

	if (!handle)
		return g_strdup_printf("%s is not installed", *names);
	for (size_t i = 0; i < cnt; i++) {
		void *found = dlsym(handle, functions[i].name);

		if (!found)
			return g_strdup_printf("%s has no %s()", *names, functions[i].name);
		memcpy(functions[i].function, &found, sizeof(found));
	}
	return NULL;
#endif
}
