/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What unwind_dlopen loads: its frames are nobody's until the recorder has seen the file. */
#include <stdint.h>
#include <time.h>

void plugin_run(uint64_t count, uint64_t nap_us);

static volatile unsigned sink;

static __attribute__((noinline)) void plugin_site(uint64_t nap_us)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };

	nanosleep(&ts, NULL);
	sink++;
}

void plugin_run(uint64_t count, uint64_t nap_us)
{
	for (uint64_t i = 0; i < count; i++)
		plugin_site(nap_us);
	sink++;
}
