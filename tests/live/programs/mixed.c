/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * mixed OUT COUNT: a program of 64 bits writes to a pipe from code of 32 bits, as emulators do, and so wakes who reads it.
 * mixed try: does so once; a signal ends it where the kernel has no code of 32 bits.
 */
#include "truth.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOW_BYTES 8192
#define USER32_CS 0x23	/* arch/x86/include/asm/segment.h */

static int ends[2];
static uint64_t count;
static unsigned char *low;	/* the code, and its stack and byte to write; below 4 GiB, as all that 32 bits see */
static struct {
	uint32_t offset;
	uint16_t segment;
} __attribute__((packed)) far;

SITE void read_site(struct truth *t)
{
	struct truth_bracket b;
	char byte;

	truth_begin(&b);
	sys3(SYS_read, ends[0], &byte, 1);
	truth_end(t, &b);
}

SITE void *read_main(void *arg)
{
	struct truth t = { .kind = "pipe", .state = 'S', .chain = { "read_main", "read_site" } };

	truth_gate_wait();
	for (uint64_t i = 0; i < count; i++)
		read_site(&t);
	truth_write(&t);
	return arg;
}

/* mov $4,%eax; mov $fd,%ebx; mov $byte,%ecx; mov $1,%edx; int $0x80; lret: write(2) by its number for 32 bits. */
static void write_code(void)
{
	unsigned char code[] = { 0xb8, 4, 0, 0, 0, 0xbb, 0, 0, 0, 0, 0xb9, 0, 0, 0, 0, 0xba, 1, 0, 0, 0, 0xcd, 0x80, 0xcb };

	low = mmap(NULL, LOW_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		truth_die("mmap", 0);
	far.offset = (uint32_t)(uintptr_t)low;
	far.segment = USER32_CS;
	memcpy(code + 6, &ends[1], 4);
	memcpy(code + 11, &far.offset, 4);
	memcpy(low, code, sizeof(code));
}

/* The far call leaves an address of 32 bits to return to: this program is not position-independent. */
static void write_from_32_bits(void)
{
	unsigned char *stack = low + LOW_BYTES;

	__asm__ volatile("mov %%rsp, %%r12; mov %0, %%rsp; lcall *%1; mov %%r12, %%rsp"
			 :: "r"(stack), "m"(far)
			 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
}

int main(int argc, char **argv)
{
	struct timespec pause = { 0, 100000 };
	pthread_t reader;

	if (argc == 2 && strcmp(argv[1], "try") == 0) {
		if (pipe(ends))
			truth_die("pipe", 0);
		write_code();
		write_from_32_bits();
		return 0;
	}
	count = truth_arg(argc, argv, 2);
	truth_open(truth_arg_string(argc, argv, 1));
	if (pipe(ends))
		truth_die("pipe", 0);
	write_code();
	pthread_create(&reader, NULL, read_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (uint64_t i = 0; i < count; i++) {
		sys2(SYS_nanosleep, &pause, 0);
		write_from_32_bits();
	}
	pthread_join(reader, NULL);
	truth_done();
	return 0;
}
