/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A program of 32 bits that sleeps 20 times for 10 ms, below functions with frame pointers, and writes how long that
 * took by its own clock, in us.  Freestanding: it needs no library of 32 bits.
 */
#define NR_EXIT 1
#define NR_WRITE 4
#define NR_NANOSLEEP 162
#define NR_CLOCK_GETTIME 265
#define CLOCK_MONOTONIC 1
#define NAPS 20
#define NAP_NS 10000000
#define SITE static __attribute__((noinline, noipa))

struct time {
	long sec, nsec;
};

static inline __attribute__((always_inline)) long sys3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}

SITE void nap_site_32(void)
{
	struct time nap = { 0, NAP_NS };

	sys3(NR_NANOSLEEP, (long)&nap, 0, 0);
	__asm__ volatile("");
}

SITE void middle_32(void)
{
	for (int i = 0; i < NAPS; i++)
		nap_site_32();
	__asm__ volatile("");
}

SITE void write_number(unsigned long number)
{
	char text[24];
	int at = sizeof(text);

	text[--at] = '\n';
	for (; number && at; number /= 10)
		text[--at] = (char)('0' + number % 10);
	sys3(NR_WRITE, 1, (long)(text + at), (long)sizeof(text) - at);
}

void _start(void);
void _start(void)
{
	struct time from, to;

	sys3(NR_CLOCK_GETTIME, CLOCK_MONOTONIC, (long)&from, 0);
	middle_32();
	sys3(NR_CLOCK_GETTIME, CLOCK_MONOTONIC, (long)&to, 0);
	write_number((unsigned long)((to.sec - from.sec) * 1000000 + (to.nsec - from.nsec) / 1000));
	sys3(NR_EXIT, 0, 0, 0);
}
