/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/symtab.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* Limit of enclosing functions to check if the nearest one ends before the address. */
#define NESTING_MAX 32
/* How far names are compared: a hostile file may contain millions of long equal ones. */
#define COMPARED_BYTES 256

ORDER(raw_compare, struct symtab_raw, ORDER_LOW(addr) ORDER_LOW(rank) ORDER_LOW(name))

/*
 * Most tables are nearly sorted; /proc/kallsyms has only aliases in the wrong order. Moves the few misplaced entries,
 * and gives up if there are too many: *raw then still needs a real sort.
 */
static bool sort_stragglers(struct symtab_raw *raw, size_t cnt)
{
	size_t moves_left = 4 * cnt;

	for (size_t i = 1; i < cnt; i++) {
		struct symtab_raw straggler = raw[i];
		size_t at = i;

		for (; at > 0 && raw_compare(&raw[at - 1], &straggler) > 0 && moves_left; at--, moves_left--)
			raw[at] = raw[at - 1];
		raw[at] = straggler;
		if (!moves_left)
			return false;
	}
	return true;
}

/* The candidates raw[from..to) have the same address and are sorted by rank. */
static struct symtab_raw group_best(const struct symtab_raw *raw, size_t from, size_t to, const char *names)
{
	struct symtab_raw best = raw[from];
	bool sized = best.sized;
	uint64_t end = best.end;

	for (size_t i = from + 1; i < to; i++) {
		if (raw[i].rank == best.rank && raw[i].name != best.name &&
		    strncmp(names + raw[i].name, names + best.name, COMPARED_BYTES) < 0)
			best.name = raw[i].name;
		if (raw[i].sized && (!sized || raw[i].end > end)) {
			sized = true;
			end = raw[i].end;
		}
	}
	best.sized = sized;
	best.end = end;
	return best;
}

static void entry_append(struct symtab *t, const struct symtab_raw *r, uint64_t end)
{
	uint64_t size = end > r->addr ? end - r->addr : 0;

	if (!size)
		return;
	t->entries[t->cnt++] = (struct symtab_entry){
		.addr = r->addr, .size = (uint32_t)MIN(size, UINT32_MAX), .name = r->name };
}

void symtab_build(struct symtab *ret, GArray *raw_array, char *names, size_t names_bytes)
{
	struct symtab_raw *raw = (struct symtab_raw *)(void *)raw_array->data;
	size_t cnt = raw_array->len, next;
	uint64_t covered = 0;	/* end of the sized functions so far */

	*ret = (struct symtab){ .names = names, .names_bytes = names_bytes };
	if (!cnt)
		return;
	if (!sort_stragglers(raw, cnt))
		qsort(raw, cnt, sizeof(*raw), raw_compare);
	ret->entries = g_new(struct symtab_entry, cnt);
	for (size_t i = 0; i < cnt; i = next) {
		struct symtab_raw best;
		uint64_t end;

		for (next = i + 1; next < cnt && raw[next].addr == raw[i].addr; next++)
			;
		best = group_best(raw, i, next, names);
		end = best.end;
		if (!best.sized && next < cnt)
			end = MIN(end, raw[next].addr);
		if (best.rank == SYMTAB_BOUND || (best.rank >= SYMTAB_LABEL && best.addr < covered))
			continue;
		if (best.sized)
			covered = MAX(covered, end);
		entry_append(ret, &best, end);
	}
	ret->entries = g_renew(struct symtab_entry, ret->entries, MAX(ret->cnt, 1));
}

void symtab_clear(struct symtab *t)
{
	g_free(t->entries);
	g_free(t->names);
	*t = (struct symtab){ 0 };
}

struct symtab symtab_copy(const struct symtab *t)
{
	struct symtab copy = *t;

	copy.entries = g_memdup2(t->entries, t->cnt * sizeof(*t->entries));
	copy.names = g_memdup2(t->names, t->names_bytes);
	return copy;
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr)
{
	size_t low = 0, high = t->cnt;

	while (low < high) {	/* the first entry after addr */
		size_t middle = low + (high - low) / 2;

		if (t->entries[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, tries = NESTING_MAX; i > 0 && tries > 0; i--, tries--) {
		const struct symtab_entry *e = &t->entries[i - 1];

		if (addr >= e->addr && addr - e->addr < e->size)
			return e;
	}
	return NULL;
}
