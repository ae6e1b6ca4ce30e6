/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/call_path.h"

#include <sys/syscall.h>

#include "base/find.h"

static const uint16_t first[] = {
#ifdef SYS_open	/* only x86 has these beside their "at" variants */
	SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_rename, SYS_unlink, SYS_rmdir,
	SYS_mkdir, SYS_mknod, SYS_link, SYS_chmod, SYS_chown, SYS_lchown, SYS_utimes,
#endif
	SYS_execve, SYS_statfs, SYS_chdir, SYS_truncate, SYS_getxattr, SYS_lgetxattr, SYS_setxattr, SYS_lsetxattr,
	SYS_listxattr, SYS_removexattr,
};
static const uint16_t behind_directory[] = {
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
	SYS_openat, SYS_openat2, SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_renameat2, SYS_unlinkat,
	SYS_mkdirat, SYS_mknodat, SYS_linkat, SYS_fchmodat, SYS_fchownat, SYS_utimensat,
};

struct call_path call_path_of(uint64_t nr)
{
#ifdef SYS_symlink
	if (nr == SYS_symlink)
		return (struct call_path){ 0, 2 };
#endif
	if (nr == SYS_symlinkat)
		return (struct call_path){ 2, 3 };
	if (ANY(x, behind_directory, *x == nr))
		return (struct call_path){ 1, 2 };
	const bool is_first = ANY(x, first, *x == nr);
	return (struct call_path){ 0, is_first };
}
