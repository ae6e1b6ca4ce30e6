/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/target.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "nobody"

/* By sudo it is who called that, and by name whom one likes; never root by chance. */
static void test_found(void)
{
	g_autoptr(GError) none = NULL, other = NULL;
	struct as_user *u;

	g_unsetenv("SUDO_USER");
	g_assert_true(as_user_find(NULL, &u, NULL));
	g_assert_null(u);
	g_assert_false(as_user_find("nobody-of-that-name", &u, &none));
	g_assert_nonnull(none);
	g_assert_null(u);
	g_setenv("SUDO_USER", NAME, TRUE);
	if (geteuid() != 0) {	/* what it says is not for whoever may not become another one */
		g_assert_true(as_user_find(NULL, &u, NULL) && !u);
		g_assert_false(as_user_find("root", &u, &other));
		return;
	}
	g_assert_true(as_user_find("root", &u, NULL) && !u);
	g_assert_true(as_user_find(NULL, &u, NULL));
	g_assert_cmpstr(u->name, ==, NAME);
	g_assert_cmpuint(u->uid, !=, 0);
	as_user_free(u);
}

static int check_child(const struct as_user *u)
{
	gid_t groups[64];
	int cnt;

	if (!as_user_become(u) || getuid() != u->uid || geteuid() != u->uid || getegid() != u->gid || setuid(0) == 0)
		return 1;
	cnt = getgroups(G_N_ELEMENTS(groups), groups);
	for (int i = 0; i < cnt; i++)
		if (groups[i] == 0)
			return 2;
	return cnt > 0 ? 0 : 3;
}

/* With that user's groups and environment, and no way back. */
static void test_become(void)
{
	struct as_user *u;
	int status = -1;

	if (geteuid() != 0) {
		g_test_skip("only root becomes somebody else");
		return;
	}
	g_setenv("SUDO_UID", "1", TRUE);
	g_setenv("OFFCPU_PUSH_TOKEN", "secret", TRUE);
	g_assert_true(as_user_find(NAME, &u, NULL));
	g_auto(GStrv) e = as_user_environment(u);

	g_assert_cmpstr(g_environ_getenv(e, "USER"), ==, NAME);
	g_assert_cmpstr(g_environ_getenv(e, "LOGNAME"), ==, NAME);
	g_assert_cmpstr(g_environ_getenv(e, "HOME"), ==, u->home);
	g_assert_cmpstr(g_environ_getenv(e, "PATH"), ==, g_getenv("PATH"));
	g_assert_null(g_environ_getenv(e, "SUDO_UID"));
	g_assert_null(g_environ_getenv(e, "OFFCPU_PUSH_TOKEN"));
	pid_t pid = fork();

	if (pid == 0)
		_exit(check_child(u));
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	as_user_free(u);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/as-user/found", test_found);
	g_test_add_func("/as-user/become", test_become);
	return g_test_run();
}
