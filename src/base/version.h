/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* The version in recordings and exports. Until it is set: the project's version. */
const char *version_text(void);

/*
 * `text` stays owned by the caller, and must stay valid. Only main.c knows the commit: others need not be linked again
 * for it.
 */
void version_set(const char *text);

#endif
