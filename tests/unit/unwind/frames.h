/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_UNWIND_FRAMES_H
#define TEST_UNWIND_FRAMES_H

#include <sys/types.h>

/* Threads that sleep for ever, each under another kind of frame; see frames.c. */
struct frames_case {
	const char *name;
	void (*run)(void);
	/* Functions of this program on the stack, innermost first; those of libraries are left out. */
	const char *functions[8];
};

extern const struct frames_case frames_cases[];
extern const unsigned frames_case_cnt;
/* Where threads tell their numbers, by case; the test makes it. */
extern volatile pid_t *frames_tids;
/* A thread's start, given its case. */
void *frames_thread(void *c);

/* In frames_asm.S. */
extern const char asm_no_info_return[], asm_complex_return[];
void asm_no_info(void (*then)(void));
void asm_complex(void (*then)(void));
void asm_signal_spin(volatile int *is_started);

#endif
