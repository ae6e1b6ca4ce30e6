/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_THREAD_LAYOUT_H
#define SYMBOLIZE_THREAD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/language_abi.h"
#include "symbolize/process/maps.h"

/* Where a process's C library has thread-specific data. */
struct thread_layout {
	int32_t keys_at;	/* offset from the thread pointer: a pointer to the data */
	uint32_t first_key;	/* offset in it: the value of key 0; others follow */
	uint32_t key_bytes, key_cnt;	/* key_cnt 0: unknown */
	uint32_t tid_at;	/* offset from pthread_self(): thread id; 0: unknown */
	uint32_t more_in_mutex;	/* size of a pthread_mutex_t above the usual 40 */
	bool is_musl;
};

/* False, without a change of *ret: no mapping's file (struct maps_line) is a known C library. */
bool thread_layout_find(const char *proc_dir, uint32_t pid, const GArray *lines, struct thread_layout *ret);
/* Where a thread has the value of a key. False: no such key. */
bool thread_layout_key(const struct thread_layout *l, uint32_t number, struct offcpu_language *ret);

/*
 * The offset from the thread pointer of the first load in a musl function, or, without a load, of its result.
 * INT32_MIN: unknown code.
 */
int32_t musl_offset_x86_64(const uint8_t *code, size_t bytes);
int32_t musl_offset_arm64(const uint8_t *code, size_t bytes);

#endif
