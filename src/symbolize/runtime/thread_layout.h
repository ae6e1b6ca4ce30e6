/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_THREAD_LAYOUT_H
#define SYMBOLIZE_THREAD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/language_abi.h"
#include "symbolize/process/maps.h"

/* Where a process's C library keeps what a thread has of its own. */
struct thread_layout {
	int32_t keys_at;	/* from the thread pointer: a pointer to thread-specific data */
	uint32_t first_key;	/* there: the value of key 0; those after it follow */
	uint32_t key_bytes, key_cnt;	/* key_cnt 0: not known */
	uint32_t tid_at;	/* from pthread_self(): the thread's id; 0: not known */
	uint32_t more_in_mutex;	/* bytes that a pthread_mutex_t has more than the usual 40 */
	bool is_musl;
};

/* False, with *ret as it was: none of the mappings' files (struct maps_line) is a C library that tells. */
bool thread_layout_find(const char *proc_dir, uint32_t pid, const GArray *lines, struct thread_layout *ret);
/* Where a thread has the value of a key.  False: it has no such key. */
bool thread_layout_key(const struct thread_layout *l, uint32_t number, struct offcpu_language *ret);

/*
 * By how much the first load of a function of musl's lies beyond the thread pointer; where it loads nothing: what it
 * returns.  INT32_MIN: it is not of that form.
 */
int32_t musl_offset_x86_64(const uint8_t *code, size_t bytes);
int32_t musl_offset_arm64(const uint8_t *code, size_t bytes);

#endif
