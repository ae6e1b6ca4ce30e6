/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_AS_USER_H
#define CMD_AS_USER_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Programs that are not ours to run as root: as whom they run, with that user's groups and environment. */
struct as_user {
	uid_t uid;
	gid_t gid;
	char *name, *home, *shell;
	GArray *groups; /* gid_t, gid among them */
};

/*
 * asked: a name, or NULL for who called sudo, where we are root by sudo.  *ret is NULL where programs run as we do.  False
 * with a sentence.
 */
bool as_user_find(const char *asked, struct as_user **ret, GError **error);
/* Ours, with what it says of a user changed; for NULL as it is.  Free with g_strfreev(). */
char **as_user_environment(const struct as_user *u);
/* In a child, for good; NULL changes nothing.  False with errno. */
bool as_user_become(const struct as_user *u);
void as_user_free(struct as_user *u);	/* NULL is fine */

#endif
