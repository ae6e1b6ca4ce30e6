/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/go/answers.h"

#include <stdio.h>
#include <string.h>

#include "runtimes/go/program.h"

/*
 * Finds the labels in a goroutine, and the goroutine of a thread, from x86-64 code of the runtime. So no offsets by
 * version are needed, and the program need not have started.
 */

#define FS 0x64
#define LOAD 0x8b
#define STORE 0x89
#define MOVE_NUMBER 0xc7
#define REX_MASK 0xf8
#define REX_W 0x48	/* REX prefix with W and any register extension */

static int32_t number_at(const uint8_t *code)
{
	int32_t n;

	memcpy(&n, code, sizeof(n));
	return n;
}

/* runtime.m: before `curg` lie g0, a gobuf (one word shorter since Go 1.25), and fields for signals and C. */
bool go_labels_by_version(const char *version, struct go_labels_place *ret)
{
	unsigned minor;

	if (sscanf(version, "go1.%2u", &minor) != 1 || minor < GO_LABELS_FIRST_MINOR || minor > GO_LABELS_LAST_MINOR)
		return false;
	ret->has_list = minor >= GO_LABELS_SORTED_MINOR;
	ret->runs_at = minor >= 25 ? 184 : 192;
	return true;
}

/* mov %rax,LABELS(REG), 32-bit offset: the first argument is stored in the goroutine. */
static bool is_store(const uint8_t *c)
{
	return (c[0] & ~1) == REX_W && c[1] == STORE && (c[2] & 0xf8) == 0x80 && (c[2] & 7) != 4;
}

bool go_labels_by_code(const uint8_t *sets, size_t bytes, struct go_labels_place *ret)
{
	for (size_t i = 0; i + 7 <= bytes; i++) {
		if (!is_store(sets + i))
			continue;
		ret->labels_at = (uint32_t)number_at(sets + i + 3);
		return true;
	}
	return false;
}

/* mov %fs:AT,REG */
static bool is_fixed(const uint8_t *c)
{
	return c[0] == FS && (c[1] & REX_MASK) == REX_W && c[2] == LOAD && (c[3] & 0xc7) == 0x04 && c[4] == 0x25;
}

/* mov %fs:(REG),REG */
static bool is_by_register(const uint8_t *c)
{
	return c[0] == FS && (c[1] & REX_MASK) == REX_W && c[2] == LOAD && (c[3] & 0xc0) == 0;
}

/*
 * The first value loaded is the goroutine. In a position-independent program its offset is first loaded into a
 * register, or set as a constant by the linker.
 */
bool go_goroutine_by_code(const uint8_t *checks, size_t bytes, uint64_t at, struct go_labels_place *ret)
{
	for (size_t i = 0; i + 11 <= bytes; i++) {
		const uint8_t *c = checks + i;

		if (is_fixed(c)) {
			ret->goroutine_at = number_at(c + 5);
			return true;
		}
		if ((c[0] & REX_MASK) != REX_W || !is_by_register(c + 7))
			continue;
		if (c[1] == LOAD && (c[2] & 0xc7) == 0x05) {
			ret->offset_at = at + i + 7 + (uint64_t)(int64_t)number_at(c + 3);
			return true;
		}
		if (c[1] == MOVE_NUMBER && (c[2] & 0xf8) == 0xc0) {
			ret->goroutine_at = number_at(c + 3);
			return true;
		}
	}
	return false;
}
