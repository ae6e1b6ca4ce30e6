/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/refuse.h"

#define CPUS_MAX 65536

char *cpu_list_online(GError **error)
{
	char *online = NULL;

	return g_file_get_contents("/sys/devices/system/cpu/online", &online, NULL, error) ? online : NULL;
}

GArray *cpu_list_parse(const char *list)
{
	GArray *cpus = g_array_new(FALSE, FALSE, sizeof(int));

	for (const char *p = list; *p >= '0' && *p <= '9';) {
		char *end;
		long first = strtol(p, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first; i <= last && i < CPUS_MAX; i++) {
			int cpu = (int)i;

			g_array_append_val(cpus, cpu);
		}
		p = *end == ',' ? end + 1 : "";
	}
	return cpus;
}

bool cpu_list_has(const GArray *cpus, int cpu)
{
	return ANY_ROW(const int, x, cpus, *x == cpu);
}

G_DEFINE_QUARK(parse-error-quark, parse_error)

static bool fail(GError **error, const char *what, const char *text)
{
	return refuse(error, PARSE_ERROR, 0, "'%s' is not %s", text, what);
}

bool parse_duration(const char *text, uint64_t bare_ns, uint64_t *ret_ns, GError **error)
{
	static const struct { const char *suffix; double ns; } units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 },
	};
	const char *what = "a duration such as 10ms, 1.5s or a number";
	char *end = NULL;

	if (!g_ascii_isdigit(text[0]) && text[0] != '.')
		return fail(error, what, text);
	double value = g_ascii_strtod(text, &end), unit = 0;
	if (*end == '\0')
		unit = (double)bare_ns;
	for (guint i = 0; i < G_N_ELEMENTS(units); i++)
		if (strcmp(end, units[i].suffix) == 0)
			unit = units[i].ns;
	/* no hexadecimal either: strtod would accept 0x10 */
	if (end == text || unit == 0 || strpbrk(text, "xXpPiI") || !(value * unit < 9.2e18))
		return fail(error, what, text);
	*ret_ns = (uint64_t)llround(value * unit);
	return true;
}

bool parse_u32(const char *text, uint32_t *ret, GError **error)
{
	guint64 value;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, &value, NULL))
		return fail(error, "a number", text);
	*ret = (uint32_t)value;
	return true;
}

bool parse_rate(const char *text, double min, double max, double *ret_hz, GError **error)
{
	char *end;

	*ret_hz = g_ascii_strtod(text, &end);
	if (end != text && !*end && *ret_hz >= min && *ret_hz <= max)
		return true;
	return refuse(error, PARSE_ERROR, 0, "'%s' is not a rate from %g to %g Hz", text, min, max);
}

bool parse_u32_list(const char *text, GArray **list, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	for (char **part = parts; *part; part++) {
		uint32_t value;
		if (!parse_u32(*part, &value, NULL))
			return fail(error, "a list of numbers such as 1,2,3", text);
		if (!*list)
			*list = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_array_append_val(*list, value);
	}
	if (!parts[0])
		return fail(error, "a list of numbers such as 1,2,3", text);
	return true;
}

static const char state_letters[] = "RSDTtPIC";	/* indices into it are internal bit numbers */

/* bcc's --state: TASK_INTERRUPTIBLE 1, TASK_UNINTERRUPTIBLE 2, ... of include/linux/sched.h */
static bool states_of_bits(uint32_t bits, uint32_t *ret_mask)
{
	static const struct { uint32_t bit; char letter; } known[] = {
		{ 0x1, 'S' }, { 0x2, 'D' }, { 0x4, 'T' }, { 0x8, 't' }, { 0x40, 'P' },
	};

	*ret_mask = bits ? 0 : 1;
	if (bits == 0x402) {
		*ret_mask = 1U << 6;
		return true;
	}
	for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
		if (bits & known[i].bit)
			*ret_mask |= 1U << (strchr(state_letters, known[i].letter) - state_letters);
		bits &= ~known[i].bit;
	}
	return bits == 0;
}

static bool parse_states(const char *text, uint32_t *ret_mask, GError **error)
{
	const char *what = "a list of thread states out of R,S,D,T,t,P,I";
	uint32_t mask = 0, bits;

	if (g_ascii_isdigit(text[0])) {
		if (!parse_u32(text, &bits, NULL) || !states_of_bits(bits, &mask))
			return fail(error, what, text);
		*ret_mask = mask;
		return true;
	}
	for (const char *c = text; *c; c++) {
		const char *at = strchr(state_letters, *c);
		if (*c == ',')
			continue;
		if (!at)
			return fail(error, what, text);
		mask |= 1U << (at - state_letters);
	}
	if (!mask)
		return fail(error, what, text);
	*ret_mask = mask;
	return true;
}

bool parse_state_letters(const char *text, char **ret_letters, GError **error)
{
	g_autoptr(GString) letters = g_string_new(NULL);
	uint32_t mask;

	if (!parse_states(text, &mask, error))
		return false;
	for (unsigned i = 0; state_letters[i]; i++)
		if (mask & 1U << i)
			g_string_append_c(letters, state_letters[i]);
	*ret_letters = g_string_free(g_steal_pointer(&letters), FALSE);
	return true;
}

bool parse_name_glob(const char *text, size_t max_bytes, size_t name_bytes, GError **error)
{
	size_t least_bytes = 0;

	for (const char *c = text; *c; c++)
		least_bytes += *c != '*';
	if (!*text)
		g_set_error_literal(error, PARSE_ERROR, 0, "'' matches no name");
	else if (strpbrk(text, "[\\"))
		g_set_error(error, PARSE_ERROR, 0,
			    "'%s' has a %c: only * and ? are wildcards here, and ? stands for that, too", text,
			    *strpbrk(text, "[\\"));
	else if (least_bytes > name_bytes)
		g_set_error(error, PARSE_ERROR, 0, "'%s' matches no name: the longest have %zu bytes", text,
			    name_bytes);
	else if (strlen(text) > max_bytes)
		g_set_error(error, PARSE_ERROR, 0, "'%s' is longer than %zu bytes", text, max_bytes);
	else
		return true;
	return false;
}
