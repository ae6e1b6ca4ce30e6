/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_part.h"

#include <sys/syscall.h>

#include "base/call_path.h"

#ifdef __aarch64__
#define FADVISE "fadvise64_64"
#else
#define FADVISE "fadvise64"
#endif

/* Without io_submit, whose operations continue after it, and mmap, whose pages are read by faults. */
static const struct {
	const char *name;
	uint32_t nr;
	const char *function;	/* after "sys_" in the kernel */
	uint8_t fd, other_fd, flags;	/* of those with a path: base/call_path.h */
	bool has_bytes;
} table[] = {
	{ "read", SYS_read, "read", .fd = 1, .has_bytes = true },
	{ "pread", SYS_pread64, "pread64", .fd = 1, .has_bytes = true },
	{ "readv", SYS_readv, "readv", .fd = 1, .has_bytes = true },
	{ "preadv", SYS_preadv, "preadv", .fd = 1, .has_bytes = true },
	{ "preadv2", SYS_preadv2, "preadv2", .fd = 1, .has_bytes = true },
	{ "write", SYS_write, "write", .fd = 1, .has_bytes = true },
	{ "pwrite", SYS_pwrite64, "pwrite64", .fd = 1, .has_bytes = true },
	{ "writev", SYS_writev, "writev", .fd = 1, .has_bytes = true },
	{ "pwritev", SYS_pwritev, "pwritev", .fd = 1, .has_bytes = true },
	{ "pwritev2", SYS_pwritev2, "pwritev2", .fd = 1, .has_bytes = true },
	{ "sendfile", SYS_sendfile, "sendfile64", .fd = 2, .other_fd = 1, .has_bytes = true },
	{ "copy_file_range", SYS_copy_file_range, "copy_file_range", .fd = 1, .other_fd = 3, .has_bytes = true },
	{ "splice", SYS_splice, "splice", .fd = 1, .other_fd = 3, .has_bytes = true },
	{ "getdents", SYS_getdents64, "getdents64", .fd = 1, .has_bytes = true },
	{ "fsync", SYS_fsync, "fsync", .fd = 1 },
	{ "fdatasync", SYS_fdatasync, "fdatasync", .fd = 1 },
	{ "sync_file_range", SYS_sync_file_range, "sync_file_range", .fd = 1 },
	{ "syncfs", SYS_syncfs, "syncfs", .fd = 1 },
	{ "sync", SYS_sync, "sync", .flags = FILE_CALL_FREE },
	{ "msync", SYS_msync, "msync", .flags = FILE_CALL_FREE },
	{ "openat", SYS_openat, "openat", .flags = FILE_CALL_OPENS },
	{ "openat2", SYS_openat2, "openat2", .flags = FILE_CALL_OPENS },
	{ "close", SYS_close, "close", .fd = 1, .flags = FILE_CALL_CLOSES },
	{ "flock", SYS_flock, "flock", .fd = 1 },
	{ "lock", SYS_fcntl, "fcntl", .fd = 1, .flags = FILE_CALL_LOCKS },
	{ "ioctl", SYS_ioctl, "ioctl", .fd = 1 },
	{ "lseek", SYS_lseek, "lseek", .fd = 1 },
	{ "readahead", SYS_readahead, "readahead", .fd = 1 },
	{ "fadvise", SYS_fadvise64, FADVISE, .fd = 1 },
	{ "fallocate", SYS_fallocate, "fallocate", .fd = 1 },
	{ "ftruncate", SYS_ftruncate, "ftruncate", .fd = 1 },
	{ "truncate", SYS_truncate, .function = "truncate" },
	{ "fstat", SYS_fstat, "newfstat", .fd = 1 },
	{ "statx", SYS_statx, .function = "statx" },
#ifdef SYS_newfstatat
	{ "stat", SYS_newfstatat, .function = "newfstatat" },
#endif
	{ "statfs", SYS_statfs, .function = "statfs" },
	{ "fstatfs", SYS_fstatfs, "fstatfs", .fd = 1 },
	{ "faccessat", SYS_faccessat, .function = "faccessat" },
	{ "faccessat2", SYS_faccessat2, .function = "faccessat2" },
	{ "readlinkat", SYS_readlinkat, .function = "readlinkat" },
#ifdef SYS_renameat
	{ "renameat", SYS_renameat, .function = "renameat" },
#endif
	{ "renameat2", SYS_renameat2, .function = "renameat2" },
	{ "unlinkat", SYS_unlinkat, .function = "unlinkat" },
	{ "mkdirat", SYS_mkdirat, .function = "mkdirat" },
	{ "mknodat", SYS_mknodat, .function = "mknodat" },
	{ "linkat", SYS_linkat, .function = "linkat" },
	{ "symlinkat", SYS_symlinkat, .function = "symlinkat" },
	{ "fchmod", SYS_fchmod, "fchmod", .fd = 1 },
	{ "fchmodat", SYS_fchmodat, .function = "fchmodat" },
	{ "fchown", SYS_fchown, "fchown", .fd = 1 },
	{ "fchownat", SYS_fchownat, .function = "fchownat" },
	{ "utimensat", SYS_utimensat, .function = "utimensat" },
	{ "chdir", SYS_chdir, .function = "chdir" },
	{ "getxattr", SYS_getxattr, .function = "getxattr" },
	{ "lgetxattr", SYS_lgetxattr, .function = "lgetxattr" },
	{ "fgetxattr", SYS_fgetxattr, "fgetxattr", .fd = 1 },
	{ "setxattr", SYS_setxattr, .function = "setxattr" },
	{ "lsetxattr", SYS_lsetxattr, .function = "lsetxattr" },
	{ "fsetxattr", SYS_fsetxattr, "fsetxattr", .fd = 1 },
	{ "listxattr", SYS_listxattr, .function = "listxattr" },
	{ "removexattr", SYS_removexattr, .function = "removexattr" },
#ifdef SYS_open	/* only x86 has these beside their "at" variants */
	{ "open", SYS_open, "open", .flags = FILE_CALL_OPENS },
	{ "creat", SYS_creat, "creat", .flags = FILE_CALL_OPENS },
	{ "stat", SYS_stat, .function = "newstat" },
	{ "lstat", SYS_lstat, .function = "newlstat" },
	{ "access", SYS_access, .function = "access" },
	{ "readlink", SYS_readlink, .function = "readlink" },
	{ "rename", SYS_rename, .function = "rename" },
	{ "unlink", SYS_unlink, .function = "unlink" },
	{ "rmdir", SYS_rmdir, .function = "rmdir" },
	{ "mkdir", SYS_mkdir, .function = "mkdir" },
	{ "mknod", SYS_mknod, .function = "mknod" },
	{ "link", SYS_link, .function = "link" },
	{ "symlink", SYS_symlink, .function = "symlink" },
	{ "chmod", SYS_chmod, .function = "chmod" },
	{ "chown", SYS_chown, .function = "chown" },
	{ "lchown", SYS_lchown, .function = "lchown" },
	{ "utimes", SYS_utimes, .function = "utimes" },
	{ "getdents", SYS_getdents, "getdents", .fd = 1, .has_bytes = true },
#endif
};

#define ROWS (sizeof(table) / sizeof(table[0]))
_Static_assert(ROWS < FILE_OP_URING, "a row's number is below those of io_uring");

/* By IORING_OP_*, include/uapi/linux/io_uring.h. The path is unknown for operations on paths, and for close. */
static const struct {
	const char *name;
	bool has_bytes, opens;
} uring[] = {
	[1] = { .name = "uring_readv", .has_bytes = true },
	[2] = { .name = "uring_writev", .has_bytes = true },
	[3] = { .name = "uring_fsync" },
	[4] = { .name = "uring_read", .has_bytes = true },	/* with fixed buffers, like the next one */
	[5] = { .name = "uring_write", .has_bytes = true },
	[8] = { .name = "uring_sync" },				/* sync_file_range */
	[17] = { .name = "uring_falloc" },
	[18] = { .name = "uring_open", .opens = true },
	[19] = { .name = "uring_close" },
	[21] = { .name = "uring_statx" },
	[22] = { .name = "uring_read", .has_bytes = true },
	[23] = { .name = "uring_write", .has_bytes = true },
	[24] = { .name = "uring_fadvise" },
	[28] = { .name = "uring_open", .opens = true },
	[30] = { .name = "uring_splice", .has_bytes = true },
	[35] = { .name = "uring_rename" },
	[36] = { .name = "uring_unlink" },
	[37] = { .name = "uring_mkdir" },
	[38] = { .name = "uring_symlink" },
	[39] = { .name = "uring_link" },
	[55] = { .name = "uring_ftrunc" },
};
_Static_assert(G_N_ELEMENTS(uring) <= 64, "a bit for each");

uint64_t file_uring_ops(bool opens_only)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(uring); i++)
		if (uring[i].name && (uring[i].opens || !opens_only))
			ret |= 1ULL << i;
	return ret;
}

static bool is_uring(uint32_t op)
{
	return op >= FILE_OP_URING && op - FILE_OP_URING < G_N_ELEMENTS(uring) && uring[op - FILE_OP_URING].name;
}

void file_calls_fill(struct file_call *calls)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct call_path path = call_path_of(table[i].nr);

		if (table[i].nr < FILE_CALLS_END)
			calls[table[i].nr] = (struct file_call){
				.op = (uint8_t)(i + 1), .fd = table[i].fd ?: path.directory,
				.other_fd = table[i].other_fd, .path = path.path, .flags = table[i].flags,
			};
	}
}

const char *file_call_function(size_t at)
{
	return at < ROWS ? table[at].function : NULL;
}

const char *file_call_name(uint32_t op)
{
	if (is_uring(op))
		return uring[op - FILE_OP_URING].name;
	if (op == FILE_OP_PAGE)
		return "fault";
	return op && op <= ROWS ? table[op - 1].name : "?";
}

bool file_call_has_bytes(uint32_t op)
{
	if (is_uring(op))
		return uring[op - FILE_OP_URING].has_bytes;
	return op && op <= ROWS && table[op - 1].has_bytes;
}
