/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/wire.h"

#include <errno.h>
#include <unistd.h>

char *file_read_fd(int fd, size_t max_bytes, size_t *ret_len)
{
	size_t room = 16 << 10, len = 0;
	char *text = g_malloc(room + 1);

	for (;;) {
		ssize_t n;

		if (len == room) {
			room *= 2;
			text = g_realloc(text, room + 1);
		}
		n = read(fd, text + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
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
