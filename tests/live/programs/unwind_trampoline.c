/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_trampoline OUT COUNT US: sleeps COUNT times for US below code made at run time, as CPython
 * makes it for perf (-X perf): no unwind table, no frame pointer, a name in /tmp/perf-PID.map.
 */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct truth t = { .kind = "unwind", .state = 'S', .chain = { "main", "call_site", "jit:trampoline", "nap_site" } };

#ifdef __x86_64__
/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const unsigned char trampoline[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
typedef void (*trampoline_fn)(uint64_t, uint64_t, uint64_t, void (*)(uint64_t, uint64_t));

SITE void nap_site(uint64_t count, uint64_t nap_us)
{
	struct timespec nap = { (time_t)(nap_us / 1000000), (long)(nap_us % 1000000) * 1000 };

	for (uint64_t i = 0; i < count; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
}

static void *make_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		truth_die("mmap", errno);
	memcpy(page, trampoline, sizeof(trampoline));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		truth_die("mprotect", errno);
	return page;
}

static void name_code(const void *code)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		truth_die(path, errno);
	fprintf(map, "%lx %zx jit:trampoline\n", (unsigned long)code, sizeof(trampoline));
	fclose(map);
}

SITE void call_site(void *code, uint64_t count, uint64_t nap_us)
{
	trampoline_fn call;
	struct truth_bracket b;

	memcpy(&call, &code, sizeof(call));
	truth_begin(&b);
	call(count, nap_us, 0, nap_site);
	truth_end(&t, &b);
}

int main(int argc, char **argv)
{
	void *code = make_code();

	truth_open(truth_arg_string(argc, argv, 1));
	name_code(code);
	truth_ready(NULL, 0);
	call_site(code, truth_arg(argc, argv, 2), truth_arg(argc, argv, 3));
	truth_write(&t);
	truth_done();
	return 0;
}
#else
int main(void)
{
	truth_die("code for this processor", ENOSYS);
	return 1;
}
#endif
