/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_ERROR_H
#define STORE_ERROR_H

#include <glib.h>
#include <stdbool.h>

#define STORE_ERROR store_error_quark()
GQuark store_error_quark(void);
enum store_error {
	STORE_ERROR_FILE,	/* it cannot be opened, read or written */
	STORE_ERROR_DAMAGED,	/* a file of the history is none, or is cut off, corrupted or forged */
	STORE_ERROR_EMPTY,	/* there is nothing in that time */
	STORE_ERROR_TOO_MUCH,
	STORE_ERROR_BUSY,	/* another process writes */
};

/* Sets *error; false. */
bool store_fail(GError **error, enum store_error code, const char *format, ...) G_GNUC_PRINTF(3, 4);

#endif
