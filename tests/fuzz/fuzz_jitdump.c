/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A jit-PID.dump of the traced user: each function it tells of is one line at most. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perf_map *m;
	size_t len = 0;
	char *text;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	text = jitdump_read(fd, &len);
	close(fd);
	if (!text)
		return 0;
	if (strlen(text) != len)
		abort();
	m = perf_map_parse(text, len);
	if (perf_map_cnt(m) > size / 16)
		abort();
	perf_map_free(m);
	return 0;
}
