/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/error.h"

#include <stdarg.h>

G_DEFINE_QUARK(store-error, store_error)

bool store_fail(GError **error, enum store_error code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (error)
		*error = g_error_new_valist(STORE_ERROR, (int)code, format, ap);
	va_end(ap);
	return false;
}
