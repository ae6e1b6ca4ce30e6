/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "supply/tables_part.h"

#include "base/clock.h"
#include "runtimes/java/code.h"
#include "symbolize/runtime/memory.h"

#define GRACE_US 5000000	/* as in table_files.c */
/* Interval between checks of the blocks' places, longer while they stay the same; one takes some 30 us. */
#define PAUSE_MIN_US 50000
#define PAUSE_MAX_US 100000
/* All blobs are read when that has changed and, as it may not show, at intervals: at most 1% of a CPU's time. */
#define READ_TIMES 100
#define READ_EVERY_US 2000000
/* To run into a method until it is compiled takes longer: a JVM that ran less is checked at intervals only. */
#define COMPILES_NS 500000

struct retired {
	struct slab_table *table;
	int64_t since_us;
};

struct retired_tables {
	struct slabs *slabs;
	GArray *tables;	/* struct retired, the oldest first */
};

struct retired_tables *retired_tables_new(struct slabs *slabs)
{
	struct retired_tables *r = g_new0(struct retired_tables, 1);

	r->slabs = slabs;
	r->tables = g_array_new(FALSE, FALSE, sizeof(struct retired));
	return r;
}

static void retire(struct retired_tables *r, struct slab_table *table)
{
	struct retired retired = { table, g_get_monotonic_time() };

	if (table)
		g_array_append_val(r->tables, retired);
}

void retired_tables_sweep(struct retired_tables *r, bool all)
{
	int64_t before_us = g_get_monotonic_time() - GRACE_US;
	guint cnt = 0;

	for (; cnt < r->tables->len; cnt++) {
		struct retired *retired = &g_array_index(r->tables, struct retired, cnt);

		if (!all && retired->since_us > before_us)
			break;
		slabs_drop(r->slabs, retired->table);
	}
	if (cnt)
		g_array_remove_range(r->tables, 0, cnt);
}

FREES(retired_tables_free, struct retired_tables, r, retired_tables_sweep(r, true); g_array_unref(r->tables))

struct heap_table {
	uint64_t start, end;	/* addresses that were published when it was made */
	struct slab_table *table;
};

struct made_code {
	struct slabs *slabs;
	struct retired_tables *retired;
	struct hotspot hotspot;
	bool is_open;
	struct heap_table heaps[HOTSPOT_HEAPS_MAX];
	unsigned heap_cnt;
	int64_t due_us, pause_us;
	int64_t looked_us;
	uint64_t ran_ns;	/* its CPU time before it was last looked at */
	int64_t read_us, next_read_us;	/* when all blobs were last read, and the earliest next time */
	uint64_t blocks_hash;
	uint64_t refused_cnt;
};

bool made_code_is_by(const char *path)
{
	return hotspot_is_file(path);
}

struct made_code *made_code_new(struct slabs *slabs, struct retired_tables *retired, uint32_t pid)
{
	struct made_code *m = g_new0(struct made_code, 1);

	m->slabs = slabs;
	m->retired = retired;
	m->hotspot.pid = pid;
	m->pause_us = PAUSE_MIN_US;
	return m;
}

void made_code_free(struct made_code *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->heap_cnt; i++)
		retire(m->retired, m->heaps[i].table);
	g_free(m);
}

static uint32_t rule_of(const struct hotspot_blob *b)
{
	uint32_t bp_saved = UNWIND_BP_AT_CFA << 20 | ((uint32_t)-2 & 0x3ff) << 22;

	if (b->kind == HOTSPOT_KIND_INTERPRETER)
		return UNWIND_CFA_INTERPRETED << 16;
	if (b->kind == HOTSPOT_KIND_CALL_STUB)
		return UNWIND_CFA_BP << 16 | 2 | UNWIND_BP_AT_BP << 20;
	if (!b->frame_bytes)
		return UNWIND_CFA_GAP << 16;	/* small stubs: without a frame, or with a frame pointer */
	return UNWIND_CFA_SP << 16 | b->frame_bytes / 8 | (b->frame_bytes > 8 ? bp_saved : 0);
}

struct rows {
	GArray *rows;	/* struct unwind_row */
	uint64_t base, covered;
};

static bool add_row(struct rows *r, uint64_t addr, uint32_t rule)
{
	struct unwind_row row = { (uint32_t)(addr - r->base), rule }, *last;

	last = r->rows->len ? &g_array_index(r->rows, struct unwind_row, r->rows->len - 1) : NULL;
	if (last && last->pc == row.pc)
		last->rule = rule;
	else if (!last || last->rule != rule)
		g_array_append_val(r->rows, row);
	return r->rows->len < UNWIND_MAX_ROWS;
}

/*
 * Code being compiled: the frame pointer is that of some outer caller, and a walk by it would omit the frames between.
 */
#define UNKNOWN_CODE (UNWIND_CFA_COMPLEX << 16)

/* At its entry code has its caller's return address on top of the stack. */
static bool add_blob(void *ctx, const struct hotspot_blob *b)
{
	struct rows *r = ctx;
	uint32_t rule = rule_of(b);

	if (b->code < r->covered)
		return true;
	r->covered = b->code_end;
	return (!b->complete || !b->frame_bytes || add_row(r, b->code, UNWIND_CFA_SP << 16 | 1)) &&
	       add_row(r, b->code + (b->frame_bytes ? b->complete : 0), rule) && add_row(r, b->code_end, UNKNOWN_CODE);
}

/* NULL: the heap is unreadable, or there is no room. */
static struct slab_table *make_table(struct made_code *m, const struct hotspot_heap *heap)
{
	struct rows r = { .base = heap->low, .covered = heap->low };
	struct slab_table *stored = NULL;
	struct unwind_table *table;

	r.rows = g_array_new(FALSE, FALSE, sizeof(struct unwind_row));
	add_row(&r, heap->low, UNKNOWN_CODE);
	if (hotspot_for_each_blob(&m->hotspot, heap, add_blob, &r)) {
		add_row(&r, heap->high, 0);
		table = unwind_table_of_rows(heap->low, (const struct unwind_row *)(const void *)r.rows->data,
					     r.rows->len);
		stored = slabs_store(m->slabs, table);
		m->refused_cnt += !stored;
		unwind_table_free(table);
	}
	g_array_unref(r.rows);
	return stored;
}

/* True: another table, or the heap has moved. */
static bool renew(struct made_code *m, unsigned i)
{
	const struct hotspot_heap *heap = &m->hotspot.heaps[i];
	struct heap_table *old = &m->heaps[i], new = { heap->low, heap->high, make_table(m, heap) };
	bool is_same = i < m->heap_cnt && old->start == new.start && old->end == new.end && old->table == new.table;

	if (!new.table && i < m->heap_cnt)
		return false;	/* the old one is right for most of the code */
	if (i < m->heap_cnt)
		retire(m->retired, old->table);
	*old = new;
	return !is_same;
}

static bool open_runtime(struct made_code *m)
{
	g_autofree char *text = living_maps("/proc", m->hotspot.pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;

	return lines && hotspot_open(&m->hotspot, "/proc", m->hotspot.pid, lines);
}

static bool renew_all(struct made_code *m)
{
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_changed = false;

	for (unsigned i = 0; i < m->hotspot.heap_cnt; i++) {
		is_changed |= renew(m, i);
		m->heap_cnt = MAX(m->heap_cnt, i + 1);
	}
	m->read_us = g_get_monotonic_time();
	m->next_read_us = m->read_us + READ_TIMES * (int64_t)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / 1000;
	return is_changed;
}

static bool update_table(struct made_code *m, int64_t now_us)
{
	uint64_t hash;

	m->is_open = m->is_open || open_runtime(m);
	if (!m->is_open || !hotspot_read_heaps(&m->hotspot))
		return false;
	hash = hotspot_blocks_hash(&m->hotspot);
	if (hash != m->blocks_hash)
		m->pause_us = PAUSE_MIN_US;
	if (now_us < m->next_read_us || (hash == m->blocks_hash && now_us - m->read_us < READ_EVERY_US))
		return false;
	m->blocks_hash = hash;
	return renew_all(m);
}

/* May it have compiled anything since? */
static bool has_run(struct made_code *m, int64_t now_us)
{
	const uint64_t ran_ns = clock_of_process_ns((pid_t)m->hotspot.pid);

	if (m->is_open && ran_ns - m->ran_ns < COMPILES_NS && now_us - m->looked_us < READ_EVERY_US)
		return false;
	m->ran_ns = ran_ns;
	m->looked_us = now_us;
	return true;
}

bool made_code_look(struct made_code *m, uint64_t *refused_cnt)
{
	int64_t now_us = g_get_monotonic_time();
	bool is_changed;

	if (now_us < m->due_us)
		return false;
	m->pause_us = MIN(m->pause_us * 2, PAUSE_MAX_US);
	if (!has_run(m, now_us)) {
		m->due_us = now_us + m->pause_us;
		return false;
	}
	memory_begin_names();
	is_changed = update_table(m, now_us);
	memory_end_names();
	*refused_cnt += m->refused_cnt;
	m->refused_cnt = 0;
	m->due_us = g_get_monotonic_time() + m->pause_us;
	return is_changed;
}

int64_t made_code_due_us(const struct made_code *m)
{
	return m ? m->due_us : INT64_MAX;
}

void made_code_add_mappings(const struct made_code *m, GArray *mappings)
{
	EACH_IN(i, const struct heap_table, heap, m->heaps, m->heap_cnt) {
		struct space_mapping mapping = { .start = heap->start, .end = heap->end, .bias = heap->start };
		guint at = 0;

		while (at < mappings->len && g_array_index(mappings, struct space_mapping, at).start < heap->end)
			at++;
		if (!heap->table || (at && g_array_index(mappings, struct space_mapping, at - 1).end > heap->start))
			continue;
		mapping.rows_block = heap->table->rows_block;
		mapping.index_block = heap->table->index_block;
		mapping.page_cnt = heap->table->page_cnt;
		g_array_insert_val(mappings, at, mapping);
	}
}
