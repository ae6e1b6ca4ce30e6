/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* What recordings and exports say of their maker.  Until it is set: the project's version. */
const char *version_text(void);

/*
 * `text` stays the caller's and valid.  Only main.c knows which commit it was built from: others need not be linked
 * anew for it.
 */
void version_set(const char *text);

#endif
