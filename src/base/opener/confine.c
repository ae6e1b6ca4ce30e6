/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/refuse.h"

#define USER "offcpu"		/* if the administrator has created it */
#define USER_ELSE "nobody"
#define NOBODY 65534	/* shown by the kernel for users without a number in this namespace */

/* linux/landlock.h; the installed headers may be older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define LANDLOCK_VERSION 1u
#define LANDLOCK_PATH_BENEATH 1
#define LANDLOCK_READ (1u << 2 | 1u << 3)	/* files and folders */
struct landlock_rules { uint64_t fs, net, scoped; };
struct landlock_beneath { uint64_t allowed; int32_t fd; } __attribute__((packed));

static bool fail(GError **error, const char *what, int err)
{
	return refuse(error, G_FILE_ERROR, (int)g_file_error_from_errno(err), "%s: %s", what, g_strerror(err));
}

static void lower_limit(int resource, uint64_t max)
{
	struct rlimit r;

	if (getrlimit(resource, &r))
		return;
	r.rlim_max = MIN(r.rlim_max, max);
	r.rlim_cur = MIN(r.rlim_cur, r.rlim_max);
	setrlimit(resource, &r);
}

/* The folder and each file in it; other errors are reported elsewhere. */
static bool may_read(const char *folder)
{
	DIR *d = opendir(folder);
	bool may = d || (errno != EACCES && errno != EPERM);

	for (struct dirent *e; may && d && (e = readdir(d));)
		may = faccessat(dirfd(d), e->d_name, R_OK, 0) == 0 || errno != EACCES;
	if (d)
		closedir(d);
	return may;
}

/*
 * Uses the folder's group, since histories are for their owner and group; but never root's, which owns much. Changing
 * real and effective user clears all effective capabilities, so access to the folder is tried without any.
 */
static bool leave_root(struct confine *c, uid_t uid, gid_t group, GError **error)
{
	struct stat st = { 0 };

	if (c->folder && stat(c->folder, &st) == 0 && st.st_gid != 0)
		group = st.st_gid;
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (setgroups(0, NULL) || setresgid(group, group, group) || setresuid(uid, uid, uid))
		return fail(error, "become another user than root", errno);
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	c->has_left_root = true;
	c->reads_by_capability = c->folder && !may_read(c->folder);
	return true;
}

/* All access rights that this kernel's Landlock knows; each version has added some. */
static struct landlock_rules all_rights(long version)
{
	static const unsigned fs_bits[] = { 0, 13, 14, 15, 15, 16 };
	unsigned bits = fs_bits[MIN((size_t)version, G_N_ELEMENTS(fs_bits) - 1)];

	return (struct landlock_rules){ .fs = (UINT64_C(1) << bits) - 1,
					.net = version >= 4 ? 3 : 0,
					.scoped = version >= 6 ? 3 : 0 };
}

/*
 * Allows reading the folder and, for local times, the time zone; nothing else can be opened, connected to or
 * signalled.
 */
static bool close_files(struct confine *c, GError **error)
{
	bool shows_times = c->calls == CONFINE_SERVER;
	const char *const paths[] = { c->folder, shows_times ? "/etc/localtime" : NULL,
				      shows_times ? "/usr/share/zoneinfo" : NULL };
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
	struct landlock_rules rules;
	bool is_well = true;

	/* Landlock denies access to other processes, whatever the capabilities */
	if (version <= 0 || c->calls == CONFINE_OPENER || c->calls == CONFINE_OPENER_KEEPER ||
	    c->calls == CONFINE_CLIENT)
		return true;
	rules = all_rights(version);
	int set = (int)syscall(SYS_landlock_create_ruleset, &rules, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);

	if (set < 0)
		return fail(error, "Landlock", errno);
	for (size_t i = 0; i < G_N_ELEMENTS(paths) && is_well; i++) {
		int fd = paths[i] ? open(paths[i], O_PATH | O_CLOEXEC) : -1;
		struct stat st;

		if (fd < 0 || fstat(fd, &st)) {
			is_well = i > 0 || !paths[i];
			continue;
		}
		const struct landlock_beneath rule = { .allowed = S_ISDIR(st.st_mode) ? LANDLOCK_READ : 1u << 2,
						       .fd = fd };

		is_well = syscall(SYS_landlock_add_rule, set, LANDLOCK_PATH_BENEATH, &rule, 0) == 0;
		close(fd);
	}
	is_well = is_well && syscall(SYS_landlock_restrict_self, set, 0) == 0;
	c->has_landlock = is_well;
	int err = errno;

	close(set);
	return is_well || fail(error, c->folder ? c->folder : "Landlock", err);
}

/*
 * System users are in this file. Name services could only add others, and would load libraries into a process that is
 * still root's. The static program could not load them at all.
 */
static const struct passwd *user_called(const char *name)
{
	const struct passwd *user = NULL;
	FILE *file = fopen("/etc/passwd", "re");

	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (file)
		fclose(file);
	return user;
}

void confine_descriptors(const int *fds, unsigned cnt)
{
	const int first = STDERR_FILENO + 1, end = first + (int)cnt;
	g_autofree int *moved = g_new(int, cnt);
	int nothing;

	/* first out of the way: each may have another one's number */
	for (unsigned i = 0; i < cnt; i++)
		moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, end);
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < first; fd++)
		dup2(nothing, fd);
	for (unsigned i = 0; i < cnt; i++)
		dup2(moved[i], first + (int)i);
	if (syscall(SYS_close_range, end, ~0u, 0))
		for (int fd = end; fd < 65536; fd++)
			close(fd);
}

bool confine(struct confine *c, GError **error)
{
	static const struct passwd in_an_empty_container = { .pw_name = (char *)USER_ELSE,
							     .pw_uid = NOBODY,
							     .pw_gid = NOBODY };
	const struct passwd *user = NULL;

	if (geteuid() == 0) {
		user = user_called(USER);
		user = user ? user : user_called(USER_ELSE);
		user = user ? user : &in_an_empty_container;
	}
	if (user)
		g_strlcpy(c->user, user->pw_name, sizeof(c->user));
	/* Landlock requires no_new_privs; the folder is opened while everything is still readable */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail(error, "no_new_privs", errno);
	if (!close_files(c, error) || (user && !leave_root(c, user->pw_uid, user->pw_gid, error)) ||
	    !privileges_drop(c->kept | (c->reads_by_capability ? PRIVILEGE(CAP_DAC_READ_SEARCH) : 0), error))
		return false;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	lower_limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__	/* its shadow memory counts as data */
	if (c->memory_bytes)
		lower_limit(RLIMIT_DATA, c->memory_bytes);
#endif
	return c->calls == CONFINE_NO_CALLS || c->calls == CONFINE_OPENER_KEEPER || confine_calls(c->calls) ||
	       fail(error, "seccomp", errno);
}
