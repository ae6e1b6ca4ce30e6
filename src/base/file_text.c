/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/wire.h"

#include <unistd.h>

char *file_read_fd(int fd, size_t max_bytes, size_t *ret_len)
{
	size_t room = 16 << 10, len = 0;
	char *text = g_malloc(room + 1);

	for (;;) {
		if (len == room) {
			room *= 2;
			text = g_realloc(text, room + 1);
		}
		const ssize_t n = TEMP_FAILURE_RETRY(read(fd, text + len, room - len));
		if (n < 0) {
			g_free(text);
			return NULL;
		}
		len += (size_t)n;
		if (!n || len >= max_bytes)
			break;
	}
	len = MIN(len, max_bytes);
	text[len] = 0;
	*ret_len = len;
	return text;
}

bool file_read_at(int fd, uint64_t off, void *buffer, size_t len)
{
	if (off > INT64_MAX || len > INT64_MAX - off)
		return false;
	for (size_t done = 0; done < len;) {
		const ssize_t n = TEMP_FAILURE_RETRY(pread(fd, (char *)buffer + done, len - done, (off_t)(off + done)));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

bool file_write_all(int fd, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		const ssize_t n = TEMP_FAILURE_RETRY(write(fd, (const char *)bytes + done, len - done));

		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}
