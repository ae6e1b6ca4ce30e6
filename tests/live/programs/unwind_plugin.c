/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What unwind_dlopen loads: its frames are nobody's until the recorder has seen the file.  The frame of plugin_site()
 * is larger by ROOM.  A walk by the rules of one that is larger by as much as plugin_run()'s frame leaves that one out.
 */
#include <stdint.h>
#include <time.h>

#ifndef ROOM
#define ROOM 48
#endif

void plugin_run(uint64_t count, uint64_t nap_us);

static volatile unsigned sink;

static __attribute__((noinline)) void plugin_site(uint64_t nap_us)
{
	volatile char room[ROOM];
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };

	room[0] = 1;
	nanosleep(&ts, NULL);
	sink += (unsigned)room[0];
}

/* At the same address whatever ROOM is. */
__attribute__((aligned(512))) void plugin_run(uint64_t count, uint64_t nap_us)
{
	for (uint64_t i = 0; i < count; i++)
		plugin_site(nap_us);
	sink++;
}
