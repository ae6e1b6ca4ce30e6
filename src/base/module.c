/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/module.h"

#include <glib.h>
#include <string.h>

const char *module_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

bool module_is_libc(const char *path)
{
	const char *base = module_base_name(path);

	return base && (g_str_has_prefix(base, "libc.so") || g_str_has_prefix(base, "libc-2.") ||
			g_str_has_prefix(base, "libpthread") || g_str_has_prefix(base, "ld-musl"));
}

bool module_is_musl(const char *path)
{
	const char *base = module_base_name(path);

	return base && (g_str_has_prefix(base, "ld-musl-") || g_str_has_prefix(base, "libc.musl-") || !strcmp(base, "libc.so"));
}
