/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/table.h"

#include <string.h>

#include "base/cursor.h"
#include "base/opener/parser.h"
#include "unwind/frames.h"

#define SEGMENTS_MAX 65536

/* Both ends are one program: numbers have the format of memory. */
struct head {
	uint64_t base;
	uint32_t row_cnt, segment_cnt, machine, is_cut;
	uint64_t stats[10];
};

static void stats_out(const struct unwind_table_stats *s, uint64_t out[10])
{
	const uint64_t all[10] = { s->fde_cnt, s->fde_bad_cnt, s->fde_overlap_cnt, s->row_raw_cnt, s->complex_cnt,
				   s->gap_cnt, s->complex_bytes, s->gap_bytes, s->text_bytes, 0 };

	memcpy(out, all, sizeof(all));
}

void unwind_table_write(const struct unwind_table *t, GByteArray *into)
{
	struct head h = { .base = t->base,
			  .row_cnt = t->row_cnt,
			  .segment_cnt = (uint32_t)t->segment_cnt,
			  .machine = t->arch->machine,
			  .is_cut = t->stats.is_cut };

	stats_out(&t->stats, h.stats);
	g_byte_array_append(into, (const guint8 *)&h, sizeof(h));
	g_byte_array_append(into, (const guint8 *)t->rows, (guint)(t->row_cnt * sizeof(*t->rows)));
	g_byte_array_append(into, (const guint8 *)t->segments, (guint)(t->segment_cnt * sizeof(*t->segments)));
}

/* The first is at 0, each further than the previous one, and the last is a gap. */
static bool are_rows(const struct unwind_row *rows, uint32_t cnt)
{
	for (uint32_t i = 1; i < cnt; i++)
		if (rows[i].pc <= rows[i - 1].pc)
			return false;
	return rows[0].pc == 0 && unwind_rule_cfa(rows[cnt - 1].rule) == UNWIND_CFA_GAP;
}

static bool take_arrays(struct cursor *c, const struct head *h, struct unwind_table *t)
{
	if (!h->row_cnt || h->row_cnt > UNWIND_MAX_ROWS || h->segment_cnt > SEGMENTS_MAX || h->machine > UINT16_MAX ||
	    h->is_cut > 1)
		return false;
	const uint8_t *rows = cursor_take(c, (uint64_t)h->row_cnt * sizeof(*t->rows));
	const uint8_t *segments = cursor_take(c, (uint64_t)h->segment_cnt * sizeof(*t->segments));

	t->arch = unwind_arch_of((uint16_t)h->machine);
	if (!rows || !segments || cursor_left(c) || !t->arch)
		return false;
	t->base = h->base;
	t->rows = g_memdup2(rows, h->row_cnt * sizeof(*t->rows));
	t->row_cnt = h->row_cnt;
	if (!are_rows(t->rows, t->row_cnt))
		return false;
	t->segments = g_memdup2(segments, h->segment_cnt * sizeof(*t->segments));
	t->segment_cnt = h->segment_cnt;
	for (size_t i = 0; i < t->segment_cnt; i++)	/* any byte but 0 and 1 is an invalid bool */
		if (((const uint8_t *)&t->segments[i].is_exec)[0] > 1)
			return false;
	t->stats = (struct unwind_table_stats){ .fde_cnt = h->stats[0],
						.fde_bad_cnt = h->stats[1], .fde_overlap_cnt = h->stats[2],
						.row_raw_cnt = h->stats[3], .complex_cnt = h->stats[4],
						.gap_cnt = h->stats[5], .complex_bytes = h->stats[6],
						.gap_bytes = h->stats[7], .text_bytes = h->stats[8],
						.is_cut = h->is_cut };
	unwind_table_index(t);
	return true;
}

struct unwind_table *unwind_table_from_bytes(const void *bytes, size_t len_bytes)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	struct unwind_table *t = g_new0(struct unwind_table, 1);
	struct head h = { 0 };
	const uint8_t *head = cursor_take(&c, sizeof(h));

	if (head)
		memcpy(&h, head, sizeof(h));
	if (head && take_arrays(&c, &h, t))
		return t;
	unwind_table_free(t);
	return NULL;
}

bool unwind_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	struct unwind_table *t = unwind_table_build(fd, NULL);

	if (t)
		unwind_table_write(t, into);
	unwind_table_free(t);
	return t != NULL;
}

struct unwind_table *unwind_table_ask(int fd, GError **error)
{
	g_autoptr(GByteArray) a = parser_ask(PARSER_UNWIND, fd, NULL, 0);
	struct unwind_table *t = a ? unwind_table_from_bytes(a->data, a->len) : NULL;

	if (!t)
		g_set_error_literal(error, UNWIND_ERROR, 0, "the file has no unwind table, or its parser fell over it");
	return t;
}
