/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/thread_layout.h"

#include <glib.h>
#include <string.h>

#include "base/find.h"
#include "base/module.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

/*
 * glibc publishes it for its debugger library in exported variables. musl does not, but pthread_getspecific(),
 * gettid() and pthread_self() are a few instructions each: the thread pointer, and a load at a fixed offset.
 */

#define GLIBC_KEYS 32	/* later keys are in a second level (PTHREAD_KEY_2NDLEVEL_SIZE) */
#define GLIBC_KEY_BYTES 16
#define MUSL_KEYS 128	/* PTHREAD_KEYS_MAX */
#define MUSL_KEY_BYTES 8
#define STRUCT_MAX (1 << 16)
#define CODE_BYTES 48
#ifdef __aarch64__
#define GLIBC_MORE_IN_MUTEX 8	/* __SIZEOF_PTHREAD_MUTEX_T */
#else
#define GLIBC_MORE_IN_MUTEX 0
#endif

/* Size in bits, count, offset. */
static bool read_descriptor(uint32_t pid, uint64_t addr, uint32_t *ret_offset)
{
	uint32_t words[3];

	if (!addr || !memory_read(pid, addr, words, sizeof(words)))
		return false;
	*ret_offset = words[2];
	return words[2] < STRUCT_MAX;
}

/*
 * The begin of glibc's struct pthread: at the thread pointer on x86-64, before it on arm64
 * (sysdeps/aarch64/nptl/tls.h).
 */
static bool begin_of_pthread(uint32_t pid, uint64_t size_addr, int32_t *ret)
{
	*ret = 0;
#ifdef __aarch64__
	uint32_t size;

	if (!size_addr || !memory_read(pid, size_addr, &size, sizeof(size)) || size >= STRUCT_MAX)
		return false;
	*ret = -(int32_t)size;
#else
#endif
	return true;
}

static bool look_at_glibc(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct thread_layout *ret)
{
	struct variable wanted[] = { { "_thread_db_pthread_specific", 0 }, { "_thread_db_pthread_key_data_data", 0 },
				     { "_thread_db_pthread_tid", 0 }, { "_thread_db_sizeof_pthread", 0 } };
	struct thread_layout l = { .key_bytes = GLIBC_KEY_BYTES,
				   .key_cnt = GLIBC_KEYS,
				   .more_in_mutex = GLIBC_MORE_IN_MUTEX };
	uint32_t keys, tid;
	int32_t begin;

	if (!variables_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) ||
	    !read_descriptor(pid, wanted[0].addr, &keys) || !read_descriptor(pid, wanted[1].addr, &l.first_key) ||
	    !begin_of_pthread(pid, wanted[3].addr, &begin))
		return false;
	l.keys_at = begin + (int32_t)keys;
	if (read_descriptor(pid, wanted[2].addr, &tid))
		l.tid_at = tid;
	if (!l.keys_at || l.keys_at % 8 || l.first_key % 8)
		return false;
	*ret = l;
	return true;
}

/* A load of 4 or 8 bytes at an offset from a register: 8b, with or without REX.W. */
static bool x86_load(const uint8_t *at, size_t left, uint8_t base, int32_t *ret)
{
	int8_t byte;

	if (left && *at == 0x48) {
		at++;
		left--;
	}
	if (left < 6 || at[0] != 0x8b || (at[1] & 7) != base)
		return false;
	if (at[1] >> 6 == 1) {
		memcpy(&byte, at + 2, sizeof(byte));
		*ret = byte;
		return true;
	}
	memcpy(ret, at + 2, sizeof(*ret));
	return at[1] >> 6 == 2;
}

int32_t musl_offset_x86_64(const uint8_t *code, size_t bytes)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, pointer[] = { 0x25, 0, 0, 0, 0 };
	int32_t offset;
	uint8_t base = 4;	/* the stack pointer: none yet */

	for (size_t i = 0; i + 9 <= bytes;) {
		const uint8_t *at = code + i;

		if (!memcmp(at, endbr, sizeof(endbr))) {
			i += sizeof(endbr);
		} else if (at[0] == 0x64 && at[1] == 0x48 && at[2] == 0x8b && (at[3] & 0xc7) == 4 &&
			   !memcmp(at + 4, pointer, sizeof(pointer))) {	/* mov %fs:0,register */
			base = at[3] >> 3 & 7;
			i += 9;
		} else if (at[0] == 0x89 && at[1] >> 6 == 3) {	/* mov %edi,register: the key */
			i += 2;
		} else if (base != 4 && at[0] == 0xc3) {
			return 0;
		} else {
			return base != 4 && x86_load(at, bytes - i, base, &offset) ? offset : INT32_MIN;
		}
	}
	return INT32_MIN;
}

static int32_t sign_extended(uint32_t value, unsigned int bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

int32_t musl_offset_arm64(const uint8_t *code, size_t bytes)
{
	uint32_t word, base = 31;	/* 31: none yet */
	int32_t offset = 0;

	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		memcpy(&word, code + i, sizeof(word));
		if ((word & 0xfffff01f) == 0xd503201f || (word & 0xffe0ffe0) == 0x2a0003e0)
			continue;	/* a hint (bti, paciasp); mov w: the key */
		if ((word & 0xffffffe0) == 0xd53bd040) {	/* mrs x, tpidr_el0 */
			base = word & 31;
			continue;
		}
		if (base == 31)
			return INT32_MIN;
		if (word == 0xd65f03c0)	/* ret */
			return base ? INT32_MIN : offset;
		if ((word >> 5 & 31) != base)
			return INT32_MIN;
		if ((word & 0xff800000) == 0xd1000000) {	/* sub x, x, #n */
			offset -= (int32_t)((word >> 10 & 0xfff) << (word & 1 << 22 ? 12 : 0));
			base = word & 31;
		} else if ((word & 0xbfc00000) == 0xb9400000) {	/* ldr w or x */
			return offset + (int32_t)((word >> 10 & 0xfff) << (word >> 30));
		} else {	/* ldur w or x */
			return (word & 0xbfe00c00) == 0xb8400000 ? offset + sign_extended(word >> 12 & 0x1ff, 9)
								 : INT32_MIN;
		}
	}
	return INT32_MIN;
}

static int32_t offset_in(uint32_t pid, uint64_t function)
{
	uint8_t code[CODE_BYTES];

	if (!function || !memory_read(pid, function, code, sizeof(code)))
		return INT32_MIN;
#ifdef __aarch64__
	return musl_offset_arm64(code, sizeof(code));
#else
	return musl_offset_x86_64(code, sizeof(code));
#endif
}

static bool is_within_struct(int32_t offset)
{
	return offset > -STRUCT_MAX && offset < STRUCT_MAX;
}

static bool look_at_musl(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct thread_layout *ret)
{
	struct variable wanted[] = { { "pthread_getspecific", 0 }, { "pthread_self", 0 }, { "gettid", 0 } };
	int32_t keys, self, tid;

	if (!symbols_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)))
		return false;
	keys = offset_in(pid, wanted[0].addr);
	self = offset_in(pid, wanted[1].addr);
	tid = offset_in(pid, wanted[2].addr);
	if (!keys || !is_within_struct(keys) || !is_within_struct(self) || keys % 8)
		return false;
	*ret = (struct thread_layout){ .keys_at = keys, .key_bytes = MUSL_KEY_BYTES, .key_cnt = MUSL_KEYS, .is_musl = true };
	if (is_within_struct(tid) && tid > self)
		ret->tid_at = (uint32_t)(tid - self);
	return true;
}

static bool look_at_file(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct thread_layout *ret)
{
	const char *name = module_base_name(line->path);

	if (module_is_musl(name))
		return look_at_musl(proc_dir, pid, line, ret);
	return (g_str_has_prefix(name, "libc.so.") || g_str_has_prefix(name, "libc-2") || g_str_has_prefix(name, "libpthread")) &&
	       look_at_glibc(proc_dir, pid, line, ret);
}

bool thread_layout_find(const char *proc_dir, uint32_t pid, const GArray *lines, struct thread_layout *ret)
{
	return ANY_ROW(const struct maps_line, m, lines,
		       m->is_exec && look_at_file(proc_dir, pid, m, ret) && ret->key_cnt);
}

bool thread_layout_key(const struct thread_layout *l, uint32_t number, struct offcpu_language *ret)
{
	ret->keys_at = l->keys_at;
	ret->key_at = number * l->key_bytes + l->first_key;
	return number < l->key_cnt;
}
