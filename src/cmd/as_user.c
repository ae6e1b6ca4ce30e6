/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/refuse.h"
#include "cmd/target.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIELDS 7	/* of a line of passwd(5) */

static bool fail_user(GError **error, const char *name, const char *why)
{
	return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "user \"%s\": %s", name, why);
}

/* Output of a system program, which also knows network users; the static program cannot use NSS itself. */
static char *output_of(const char *const *argv)
{
	char *text = NULL;
	int status = 0;

	if (g_spawn_sync("/", (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text, NULL,
			 &status, NULL) && status == 0)
		return text;
	g_free(text);
	return NULL;
}

static bool take_id(const char *text, unsigned *ret)
{
	guint64 id = 0;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &id, NULL))
		return false;
	*ret = (unsigned)id;
	return true;
}

static bool take_entry(struct as_user *u, const char *line)
{
	g_auto(GStrv) fields = g_strsplit(line, ":", FIELDS);

	if (g_strv_length(fields) != FIELDS || !take_id(fields[2], &u->uid) || !take_id(fields[3], &u->gid))
		return false;
	u->name = g_strdup(fields[0]);
	u->home = g_strdup(*fields[5] ? fields[5] : "/");
	u->shell = g_strdup(*g_strchomp(fields[6]) ? fields[6] : "/bin/sh");
	return true;
}

static bool take_groups(struct as_user *u, char *text)
{
	g_auto(GStrv) words = g_strsplit_set(g_strchomp(text), " ", -1);

	for (char **w = words; *w; w++) {
		gid_t gid;

		if (!take_id(*w, &gid))
			return false;
		g_array_append_val(u->groups, gid);
	}
	return u->groups->len > 0;
}

static bool look_up(struct as_user *u, const char *name, GError **error)
{
	const char *entry_argv[] = { "getent", "passwd", "--", name, NULL }, *group_argv[] = { "id", "-G", "--", name, NULL };
	g_autofree char *entry = output_of(entry_argv), *groups = NULL;

	if (!entry || !take_entry(u, entry))
		return fail_user(error, name, "there is none that `getent passwd` knows");
	groups = output_of(group_argv);
	return (groups && take_groups(u, groups)) || fail_user(error, name, "`id -G` does not tell its groups");
}

bool as_user_find(const char *asked, struct as_user **ret, GError **error)
{
	const char *caller = g_getenv("SUDO_USER");
	const char *name = asked ? asked : geteuid() == 0 ? caller : NULL;
	struct as_user *u;

	*ret = NULL;
	if (!name || !*name)
		return true;
	u = g_new0(struct as_user, 1);
	u->groups = g_array_new(FALSE, FALSE, sizeof(gid_t));
	bool is_found = look_up(u, name, error);

	if (is_found && geteuid() != 0 && u->uid != geteuid())
		is_found = fail_user(error, name, "only root can run a command as somebody else");
	if (is_found && u->uid != geteuid())
		*ret = u;
	else
		as_user_free(u);
	return is_found;
}

char **as_user_environment(const struct as_user *u)
{
	static const char *const of_root[] = { "SUDO_USER", "SUDO_UID", "SUDO_GID", "SUDO_COMMAND", "SUDO_HOME", "MAIL",
					       "OFFCPU_PUSH_USER", "OFFCPU_PUSH_PASSWORD", "OFFCPU_PUSH_TOKEN" };
	char **e = g_get_environ();
	struct stat st;

	if (!u)
		return e;
	for (size_t i = 0; i < G_N_ELEMENTS(of_root); i++)
		e = g_environ_unsetenv(e, of_root[i]);
	g_autofree char *run = g_strdup_printf("/run/user/%u", u->uid);

	e = stat(run, &st) == 0 && st.st_uid == u->uid ? g_environ_setenv(e, "XDG_RUNTIME_DIR", run, TRUE)
						       : g_environ_unsetenv(e, "XDG_RUNTIME_DIR");
	e = g_environ_setenv(e, "HOME", u->home, TRUE);
	e = g_environ_setenv(e, "SHELL", u->shell, TRUE);
	e = g_environ_setenv(e, "USER", u->name, TRUE);
	return g_environ_setenv(e, "LOGNAME", u->name, TRUE);
}

bool as_user_become(const struct as_user *u)
{
	return !u || (setgroups(u->groups->len, (const gid_t *)(const void *)u->groups->data) == 0 &&
		      setresgid(u->gid, u->gid, u->gid) == 0 && setresuid(u->uid, u->uid, u->uid) == 0);
}

FREES(as_user_free, struct as_user, u, g_free(u->name); g_free(u->home); g_free(u->shell); g_array_unref(u->groups))
