/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/disk_stats.h"

#include <stdbool.h>

#define BLOCK_DIR "/sys/block"

uint64_t disk_stats_parse(const char *text)
{
	/* Documentation/ABI/stable/sysfs-block: reads come first, writes fifth, discards twelfth (Linux 4.18) */
	static const bool is_count[] = { [0] = true, [4] = true, [11] = true };
	uint64_t sum = 0;
	char *at = (char *)text;

	for (gsize i = 0; i < G_N_ELEMENTS(is_count); i++) {
		char *before = at;
		uint64_t value = g_ascii_strtoull(at, &at, 10);

		if (at == before)
			break;
		sum += is_count[i] ? value : 0;
	}
	return sum;
}

/* Those without a queue of requests (loop does have one; zram, dm and md do not) are counted below, if at all. */
static bool has_requests(const char *name)
{
	g_autofree char *path = g_strdup_printf(BLOCK_DIR "/%s/mq", name);

	return g_file_test(path, G_FILE_TEST_IS_DIR);
}

uint64_t disk_stats_sum(void)
{
	GDir *dir = g_dir_open(BLOCK_DIR, 0, NULL);
	const char *name;
	uint64_t sum = 0;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_strdup_printf(BLOCK_DIR "/%s/stat", name), *text = NULL;

		if (has_requests(name) && g_file_get_contents(path, &text, NULL, NULL))
			sum += disk_stats_parse(text);
	}
	if (dir)
		g_dir_close(dir);
	return sum;
}
