/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/file_calls.h"

#include <stddef.h>
#include <sys/syscall.h>

/* Without io_submit and io_uring_enter, whose operations go on after them; without mmap, whose pages are read by faults. */
static const struct {
	const char *name;
	uint32_t nr;
	uint8_t fd, other_fd, path, flags;
	bool has_bytes;
} table[] = {
	{ "read", SYS_read, .fd = 1, .has_bytes = true },
	{ "pread", SYS_pread64, .fd = 1, .has_bytes = true },
	{ "readv", SYS_readv, .fd = 1, .has_bytes = true },
	{ "preadv", SYS_preadv, .fd = 1, .has_bytes = true },
	{ "preadv2", SYS_preadv2, .fd = 1, .has_bytes = true },
	{ "write", SYS_write, .fd = 1, .has_bytes = true },
	{ "pwrite", SYS_pwrite64, .fd = 1, .has_bytes = true },
	{ "writev", SYS_writev, .fd = 1, .has_bytes = true },
	{ "pwritev", SYS_pwritev, .fd = 1, .has_bytes = true },
	{ "pwritev2", SYS_pwritev2, .fd = 1, .has_bytes = true },
	{ "sendfile", SYS_sendfile, .fd = 2, .other_fd = 1, .has_bytes = true },
	{ "copy_file_range", SYS_copy_file_range, .fd = 1, .other_fd = 3, .has_bytes = true },
	{ "splice", SYS_splice, .fd = 1, .other_fd = 3, .has_bytes = true },
	{ "getdents", SYS_getdents64, .fd = 1, .has_bytes = true },
	{ "fsync", SYS_fsync, .fd = 1 },
	{ "fdatasync", SYS_fdatasync, .fd = 1 },
	{ "sync_file_range", SYS_sync_file_range, .fd = 1 },
	{ "syncfs", SYS_syncfs, .fd = 1 },
	{ "sync", SYS_sync, .flags = FILE_CALL_FREE },
	{ "msync", SYS_msync, .flags = FILE_CALL_FREE },
	{ "openat", SYS_openat, .fd = 1, .path = 2, .flags = FILE_CALL_OPENS },
	{ "openat2", SYS_openat2, .fd = 1, .path = 2, .flags = FILE_CALL_OPENS },
	{ "close", SYS_close, .fd = 1, .flags = FILE_CALL_CLOSES },
	{ "flock", SYS_flock, .fd = 1 },
	{ "lock", SYS_fcntl, .fd = 1, .flags = FILE_CALL_LOCKS },
	{ "ioctl", SYS_ioctl, .fd = 1 },
	{ "lseek", SYS_lseek, .fd = 1 },
	{ "readahead", SYS_readahead, .fd = 1 },
	{ "fadvise", SYS_fadvise64, .fd = 1 },
	{ "fallocate", SYS_fallocate, .fd = 1 },
	{ "ftruncate", SYS_ftruncate, .fd = 1 },
	{ "truncate", SYS_truncate, .path = 1 },
	{ "fstat", SYS_fstat, .fd = 1 },
	{ "statx", SYS_statx, .fd = 1, .path = 2 },
#ifdef SYS_newfstatat
	{ "stat", SYS_newfstatat, .fd = 1, .path = 2 },
#endif
	{ "statfs", SYS_statfs, .path = 1 },
	{ "fstatfs", SYS_fstatfs, .fd = 1 },
	{ "faccessat", SYS_faccessat, .fd = 1, .path = 2 },
	{ "faccessat2", SYS_faccessat2, .fd = 1, .path = 2 },
	{ "readlinkat", SYS_readlinkat, .fd = 1, .path = 2 },
#ifdef SYS_renameat
	{ "renameat", SYS_renameat, .fd = 1, .path = 2 },
#endif
	{ "renameat2", SYS_renameat2, .fd = 1, .path = 2 },
	{ "unlinkat", SYS_unlinkat, .fd = 1, .path = 2 },
	{ "mkdirat", SYS_mkdirat, .fd = 1, .path = 2 },
	{ "mknodat", SYS_mknodat, .fd = 1, .path = 2 },
	{ "linkat", SYS_linkat, .fd = 1, .path = 2 },
	{ "symlinkat", SYS_symlinkat, .fd = 2, .path = 3 },
	{ "fchmod", SYS_fchmod, .fd = 1 },
	{ "fchmodat", SYS_fchmodat, .fd = 1, .path = 2 },
	{ "fchown", SYS_fchown, .fd = 1 },
	{ "fchownat", SYS_fchownat, .fd = 1, .path = 2 },
	{ "utimensat", SYS_utimensat, .fd = 1, .path = 2 },
	{ "chdir", SYS_chdir, .path = 1 },
	{ "getxattr", SYS_getxattr, .path = 1 },
	{ "lgetxattr", SYS_lgetxattr, .path = 1 },
	{ "fgetxattr", SYS_fgetxattr, .fd = 1 },
	{ "setxattr", SYS_setxattr, .path = 1 },
	{ "lsetxattr", SYS_lsetxattr, .path = 1 },
	{ "fsetxattr", SYS_fsetxattr, .fd = 1 },
	{ "listxattr", SYS_listxattr, .path = 1 },
	{ "removexattr", SYS_removexattr, .path = 1 },
#ifdef SYS_open	/* x86 alone has these beside those of the same names with "at" */
	{ "open", SYS_open, .path = 1, .flags = FILE_CALL_OPENS },
	{ "creat", SYS_creat, .path = 1, .flags = FILE_CALL_OPENS },
	{ "stat", SYS_stat, .path = 1 },
	{ "lstat", SYS_lstat, .path = 1 },
	{ "access", SYS_access, .path = 1 },
	{ "readlink", SYS_readlink, .path = 1 },
	{ "rename", SYS_rename, .path = 1 },
	{ "unlink", SYS_unlink, .path = 1 },
	{ "rmdir", SYS_rmdir, .path = 1 },
	{ "mkdir", SYS_mkdir, .path = 1 },
	{ "mknod", SYS_mknod, .path = 1 },
	{ "link", SYS_link, .path = 1 },
	{ "symlink", SYS_symlink, .path = 2 },
	{ "chmod", SYS_chmod, .path = 1 },
	{ "chown", SYS_chown, .path = 1 },
	{ "lchown", SYS_lchown, .path = 1 },
	{ "utimes", SYS_utimes, .path = 1 },
	{ "getdents", SYS_getdents, .fd = 1, .has_bytes = true },
#endif
};

#define ROWS (sizeof(table) / sizeof(table[0]))
_Static_assert(ROWS < 255, "a row's number is a byte");

void file_calls_fill(struct file_call *calls)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].nr < FILE_CALLS_END)
			calls[table[i].nr] = (struct file_call){
				.op = (uint8_t)(i + 1), .fd = table[i].fd, .other_fd = table[i].other_fd, .path = table[i].path,
				.flags = table[i].flags,
			};
}

const char *file_call_name(uint32_t op)
{
	return op && op <= ROWS ? table[op - 1].name : "?";
}

bool file_call_has_bytes(uint32_t op)
{
	return op && op <= ROWS && table[op - 1].has_bytes;
}
