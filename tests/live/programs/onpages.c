/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * onpages OUT KIND COUNT US: a thread sleeps with its stack on memory of a kind: `huge` pages,
 * `shared` pages of a file in memory, or pages that are `moved` to a huge one and back meanwhile.
 */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25	/* Linux 6.1 */
#endif
#define HUGE (2UL << 20)
#define PAGE 4096UL

static struct truth there = { .kind = "nanosleep", .state = 'S', .chain = { "sleep_on_pages_run", "sleep_on_pages" } };
static uint64_t count, us;
static atomic_bool is_over;

SITE void sleep_on_pages(void)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };
	struct truth_bracket b;

	truth_begin(&b);
	sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, 0);
	truth_end(&there, &b);
}

SITE void *sleep_on_pages_run(void *unused)
{
	for (uint64_t i = 0; i < count; i++)
		sleep_on_pages();
	truth_write(&there);
	is_over = true;
	return unused;
}

static void *stack_of(const char *kind)
{
	bool shared = strcmp(kind, "shared") == 0;
	int fd = shared ? memfd_create("stack", 0) : -1;
	char *room;

	if (shared && ftruncate(fd, 2 * HUGE))
		return NULL;
	room = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (room == MAP_FAILED)
		return NULL;
	room += (HUGE - (uintptr_t)room % HUGE) % HUGE;
	if (strcmp(kind, "huge") == 0)
		madvise(room, HUGE, MADV_HUGEPAGE);
	else
		madvise(room, HUGE, MADV_NOHUGEPAGE);
	memset(room, 0, shared ? HUGE / 2 : HUGE);
	return room;
}

/* Collapses the stack's pages into a huge one, which moves them, and splits that again. */
static void move(char *room)
{
	madvise(room, HUGE, MADV_HUGEPAGE);
	madvise(room, HUGE, MADV_COLLAPSE);
	mprotect(room, PAGE, PROT_READ);
	madvise(room, PAGE, MADV_DONTNEED);
	mprotect(room, PAGE, PROT_READ | PROT_WRITE);
	memset(room, 0, PAGE);
}

int main(int argc, char **argv)
{
	const char *kind = truth_arg_string(argc, argv, 2);
	struct timespec pause = { .tv_nsec = 5000000 };
	pthread_attr_t attr;
	pthread_t thread;
	char *room;

	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 3);
	us = truth_arg(argc, argv, 4);
	room = stack_of(kind);
	if (!room || pthread_attr_init(&attr) || pthread_attr_setstack(&attr, room, strcmp(kind, "shared") ? HUGE : HUGE / 2)) {
		perror(kind);
		return 1;
	}
	truth_ready(NULL, 0);
	if (pthread_create(&thread, &attr, sleep_on_pages_run, NULL))
		return 1;
	while (strcmp(kind, "moved") == 0 && !is_over) {
		move(room);
		nanosleep(&pause, NULL);
	}
	pthread_join(thread, NULL);
	truth_done();
	return 0;
}
