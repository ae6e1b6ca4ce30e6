/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Part of an opener: decides which files a client may read by itself, and copies the others. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/find.h"
#include "base/opener/wire.h"

#define COPY_MAX_BYTES ((uint64_t)256 << 20)
#define CHUNK_BYTES (1 << 20)
#define GO_ON_BYTES (16 << 20)

/* missing in linux/magic.h */
#define EROFS_MAGIC 0xe0f5e1e2
#define EXFAT_MAGIC 0x2011bab0
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e

/*
 * Is the file served by this kernel alone, not by a process or another machine? For overlayfs, which all containers
 * use, the file's mapping shows that: any user may mount one over FUSE.
 */
bool opener_is_local(int fd)
{
	static const uint32_t local[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,   SQUASHFS_MAGIC,
		F2FS_SUPER_MAGIC, RAMFS_MAGIC,	   EROFS_MAGIC,	      EXFAT_MAGIC,   ZFS_MAGIC,	      BCACHEFS_MAGIC,
		HUGETLBFS_MAGIC,  ISOFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC, PROC_SUPER_MAGIC, REISERFS_SUPER_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	if ((uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return opener_maps_local(fd);
	return ANY(x, local, (uint32_t)fs.f_type == *x);
}

/* Copies from fd's current position. */
static bool copy_all(int fd, int to, uint64_t max_bytes, void (*go_on)(void))
{
	static char chunk[CHUNK_BYTES];
	uint64_t done = 0, reported = 0;
	ssize_t n = 1;

	while (n && done < max_bytes) {
		n = TEMP_FAILURE_RETRY(read(fd, chunk, (size_t)MIN(sizeof(chunk), max_bytes - done)));
		if (n < 0 || !file_write_all(to, chunk, (size_t)n))
			return false;
		done += (uint64_t)n;
		if (go_on && done - reported >= GO_ON_BYTES) {
			reported = done;
			go_on();
		}
	}
	return lseek(to, 0, SEEK_SET) == 0;
}

static int kept_if(int to, bool is_well)
{
	if (is_well || to < 0)
		return to;
	int error = errno;

	close(to);
	errno = error;
	return -1;
}

int opener_copy(int fd, void (*go_on)(void))
{
	struct stat st;
	int to;

	if (fstat(fd, &st))
		return -1;
	if ((uint64_t)st.st_size > COPY_MAX_BYTES) {
		errno = EFBIG;
		return -1;
	}
	to = memfd_create("opened", MFD_CLOEXEC);
	return kept_if(to, to >= 0 && copy_all(fd, to, (uint64_t)st.st_size, go_on));
}

int opener_copy_text(int fd, const char *first, long first_bytes, uint64_t max_bytes)
{
	int to = memfd_create("text", MFD_CLOEXEC);

	return kept_if(to, to >= 0 && file_write_all(to, first, (size_t)first_bytes) &&
				   copy_all(fd, to, max_bytes - (uint64_t)first_bytes, NULL));
}
