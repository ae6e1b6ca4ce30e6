/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strict parsing of user input: the whole text, or an error that quotes it. */

#define PARSE_ERROR (parse_error_quark())
GQuark parse_error_quark(void);

/* A duration with suffix ns, us, ms, s or m; a bare number is in units of bare_ns. */
bool parse_duration(const char *text, uint64_t bare_ns, uint64_t *ret_ns, GError **error);
bool parse_u32(const char *text, uint32_t *ret, GError **error);
/* A rate in Hz, from min to max. */
bool parse_rate(const char *text, double min, double max, double *ret_hz, GError **error);
/* Appends "1,2,3" to *list (uint32_t), which is created if NULL. */
bool parse_u32_list(const char *text, GArray **list, GError **error);
/*
 * Letters of thread states ("S,D" or "SD"), or bcc's numbers (a mask of TASK_* bits, 0 for
 * running).  The result is each letter once, "SD"; free with g_free().
 */
bool parse_state_letters(const char *text, char **ret_letters, GError **error);
/*
 * Can a name pattern be matched while tracing, where only * and ? are wildcards? max_bytes: of the pattern;
 * name_bytes: of the longest name.
 */
bool parse_name_glob(const char *text, size_t max_bytes, size_t name_bytes, GError **error);

/* The kernel's list of online CPUs: "0-3,8"; NULL with *error. Free with g_free(). */
char *cpu_list_online(GError **error);
/* The CPUs of such a list (int). */
GArray *cpu_list_parse(const char *list);
bool cpu_list_has(const GArray *cpus, int cpu);

/* Lower-case hexadecimal digits, 2 * cnt of them and a 0 byte. */
static inline void hex_text(char *ret, const uint8_t *bytes, size_t cnt)
{
	for (size_t i = 0; i < 2 * cnt; i++)
		ret[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
	ret[2 * cnt] = '\0';
}

/* Converts pairs of digits to at most `room` bytes; returns their number. */
static inline size_t hex_bytes(uint8_t *ret, size_t room, const char *text)
{
	size_t cnt = 0;

	for (; cnt < room && g_ascii_isxdigit(text[0]) && g_ascii_isxdigit(text[1]); text += 2)
		ret[cnt++] = (uint8_t)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));
	return cnt;
}

#endif
