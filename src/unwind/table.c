/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/table.h"

#include "base/each.h"
#include "base/opener/parser.h"
#include "base/order.h"
#include "base/refuse.h"
#include "unwind/cfi.h"
#include "unwind/frames.h"

#define PAGE_BYTES (1ull << UNWIND_PAGE_SHIFT)

struct builder {
	struct unwind_table *table;
	const struct elf_frames *frames;
	struct cfi_entries entries;
	struct go_frames go;
	struct code_frames code;
	uint32_t row_room;
	uint64_t covered;	/* end of the text that rows describe so far */
	uint64_t limit;	/* end of the current FDE, as far as it is used */
	bool is_full;
};

ORDER(fde_cmp, struct cfi_fde, ORDER_LOW(start) ORDER_LOW(order))

/* Linkers usually write them in order. */
static void sort_fdes(GArray *fdes)
{
	const struct cfi_fde *f = (const struct cfi_fde *)fdes->data;

	for (guint i = 1; i < fdes->len; i++)
		if (fde_cmp(&f[i - 1], &f[i]) > 0) {
			g_array_sort(fdes, fde_cmp);
			return;
		}
}

/* Adds a row, unless the previous one is equal; one at the same address replaces it. */
static bool push(struct builder *b, uint64_t vaddr, uint32_t rule)
{
	struct unwind_table *t = b->table;
	uint32_t pc = (uint32_t)(vaddr - t->base);

	t->stats.row_raw_cnt++;
	if (t->row_cnt && t->rows[t->row_cnt - 1].pc == pc)
		t->row_cnt--;
	if (t->row_cnt && t->rows[t->row_cnt - 1].rule == rule)
		return true;
	if (t->row_cnt >= UNWIND_MAX_ROWS - 1) {	/* one is reserved for the gap at the end */
		b->is_full = true;
		return false;
	}
	if (t->row_cnt == b->row_room) {
		b->row_room = MIN(b->row_room * 2, UNWIND_MAX_ROWS);
		t->rows = g_renew(struct unwind_row, t->rows, b->row_room);
	}
	t->rows[t->row_cnt++] = (struct unwind_row){ pc, rule };
	return true;
}

/* A row that begins below `covered` applies only from there on. */
static bool take_row(void *ctx, uint64_t vaddr, const struct cfi_state *state)
{
	struct builder *b = ctx;

	if (vaddr >= b->limit)
		return false;
	return push(b, MAX(vaddr, b->covered), b->table->arch->compile(state));
}

/* The same for a known rule: from Go's own table, or from instructions. */
static bool take_rule(void *ctx, uint64_t vaddr, uint32_t rule)
{
	struct builder *b = ctx;

	return vaddr < b->limit && push(b, MAX(vaddr, b->covered), rule);
}

static bool run_fde(struct builder *b, const struct cfi_fde *fde, uint64_t *ret_stopped)
{
	if (go_frames_is_entry(fde))
		return go_frames_run(&b->go, fde, take_rule, b, ret_stopped);
	if (code_frames_is_entry(fde)) {
		code_frames_run(&b->code, fde, take_rule, b);
		return true;
	}
	return cfi_run(&b->entries, fde, b->table->arch, take_row, b, ret_stopped);
}

/* The part of an FDE in one executable segment; false if there is none. */
static bool clip_to_text(const struct elf_frames *f, const struct cfi_fde *fde, uint64_t *ret_end)
{
	for (unsigned i = 0; i < f->text_cnt; i++)
		if (fde->start >= f->texts[i].start && fde->start < f->texts[i].end) {
			*ret_end = MIN(fde->end, f->texts[i].end);
			return true;
		}
	return false;
}

static void add_fde(struct builder *b, const struct cfi_fde *fde)
{
	struct unwind_table *t = b->table;
	uint64_t start = MAX(fde->start, b->covered), stopped;
	bool is_first = !t->row_cnt;

	if (!clip_to_text(b->frames, fde, &b->limit) || b->limit - t->base > UINT32_MAX) {
		t->stats.fde_bad_cnt++;
		return;
	}
	t->stats.fde_cnt++;
	t->stats.fde_overlap_cnt += start > fde->start;
	if (start >= b->limit)
		return;
	if (is_first ? start > t->base : start - b->covered > t->arch->padding_bytes) {
		if (!push(b, b->covered, 0))
			return;
		t->stats.gap_bytes += is_first ? 0 : start - b->covered;
	}
	b->covered = start;
	if (!run_fde(b, fde, &stopped) && stopped < b->limit)
		push(b, MAX(stopped, start), UNWIND_CFA_COMPLEX << 16);
	if (b->is_full)
		return;
	t->stats.text_bytes += b->limit - start;
	b->covered = b->limit;
}

static void add_fdes(struct builder *b)
{
	GArray *fdes = b->entries.fdes;
	struct unwind_table *t = b->table;

	b->row_room = MAX(fdes->len * 2, 1024);
	b->row_room = MIN(b->row_room, UNWIND_MAX_ROWS);
	t->rows = g_new(struct unwind_row, b->row_room);
	b->covered = t->base;
	for (guint i = 0; i < fdes->len && !b->is_full; i++)
		add_fde(b, &g_array_index(fdes, struct cfi_fde, i));
	if (!t->row_cnt)
		return;
	t->stats.is_cut = b->is_full || b->entries.is_cut;
	t->stats.fde_bad_cnt += b->entries.bad_cnt;
	t->stats.text_bytes += t->stats.gap_bytes;
	/* room for it is reserved; if the table is full the last row may be beyond `covered` */
	b->is_full = false;
	if (t->rows[t->row_cnt - 1].pc > b->covered - t->base)
		b->covered = t->base + t->rows[t->row_cnt - 1].pc;
	if (t->row_cnt == b->row_room)
		t->rows = g_renew(struct unwind_row, t->rows, ++b->row_room);
	if (t->rows[t->row_cnt - 1].pc == b->covered - t->base)
		t->row_cnt--;
	t->rows[t->row_cnt++] = (struct unwind_row){ (uint32_t)(b->covered - t->base), 0 };
	t->rows = g_renew(struct unwind_row, t->rows, t->row_cnt);
}

static void count_kinds(struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		uint32_t kind = unwind_rule_cfa(t->rows[i].rule);

		t->stats.gap_cnt += kind == UNWIND_CFA_GAP;
		if (kind == UNWIND_CFA_COMPLEX) {
			t->stats.complex_cnt++;
			t->stats.complex_bytes += t->rows[i + 1].pc - t->rows[i].pc;
		}
	}
}

void unwind_table_index(struct unwind_table *t)
{
	uint64_t end = t->rows[t->row_cnt - 1].pc;
	uint32_t row = 0;

	t->page_cnt = (uint32_t)((end + PAGE_BYTES - 1) / PAGE_BYTES);
	t->index = g_new(uint32_t, (size_t)t->page_cnt + 1);
	for (uint32_t page = 0; page <= t->page_cnt; page++) {
		while (row + 1 < t->row_cnt && t->rows[row + 1].pc <= (uint64_t)page * PAGE_BYTES)
			row++;
		t->index[page] = row;
	}
}

static struct unwind_table *build(struct elf_file *file, GError **error)
{
	struct elf_frames frames;
	struct builder b = { .frames = &frames };
	const struct unwind_arch *arch;
	struct unwind_table *t;

	if (!elf_frames_find(file, &frames, error))
		return NULL;
	arch = unwind_arch_of(file->machine);
	if (!arch)
		return refuse_null(error, UNWIND_ERROR, 0,
			"the file is for a machine (ELF number %u) that is not supported", file->machine);
	t = b.table = g_new0(struct unwind_table, 1);
	t->arch = arch;
	t->base = frames.texts[0].start;
	cfi_entries_init(&b.entries);
	/* of entries with the same start the first one counts: Go's own table rather than .debug_frame */
	if (go_frames_open(&b.go, file))
		go_frames_add(&b.go, &b.entries);
	for (unsigned i = 0; i < frames.section_cnt; i++)
		cfi_entries_add(&b.entries, &frames.sections[i], arch);
	sort_fdes(b.entries.fdes);
	code_frames_open(&b.code, file, arch, b.entries.fdes);
	code_frames_add(&b.code, &b.entries);
	sort_fdes(b.entries.fdes);
	add_fdes(&b);
	code_frames_close(&b.code);
	cfi_entries_clear(&b.entries);
	if (!t->row_cnt) {
		g_set_error(error, UNWIND_ERROR, 0, "the file has no call frame information for its text");
		unwind_table_free(t);
		return NULL;
	}
	count_kinds(t);
	unwind_table_index(t);
	t->segments = g_steal_pointer(&file->segments);
	t->segment_cnt = file->segment_cnt;
	return t;
}

struct unwind_table *unwind_table_build(int fd, GError **error)
{
	struct unwind_table *t = NULL;
	struct elf_file file;

	if (parser_is_apart())
		return unwind_table_ask(fd, error);
	if (elf_file_open(&file, fd, error))
		t = build(&file, error);
	elf_file_close(&file);
	return t;
}

struct unwind_table *unwind_table_build_memory(const void *image, size_t bytes, GError **error)
{
	struct unwind_table *t = NULL;
	struct elf_file file;

	if (elf_file_open_memory(&file, image, bytes, error))
		t = build(&file, error);
	elf_file_close(&file);
	return t;
}

struct unwind_table *unwind_table_of_rows(uint64_t base, const struct unwind_row *rows, uint32_t cnt)
{
	struct unwind_table *t = g_new0(struct unwind_table, 1);

	t->base = base;
	t->rows = g_memdup2(rows, cnt * sizeof(*rows));
	t->row_cnt = cnt;
	unwind_table_index(t);
	return t;
}

FREES(unwind_table_free, struct unwind_table, t, g_free(t->rows); g_free(t->index); g_free(t->segments))

const struct unwind_row *unwind_table_row(const struct unwind_table *t, uint64_t vaddr)
{
	uint64_t pc = vaddr - t->base, page = pc >> UNWIND_PAGE_SHIFT;
	uint32_t low, high;

	if (vaddr < t->base || page >= t->page_cnt)
		return NULL;
	low = t->index[page];
	high = t->index[page + 1];
	while (low < high) {	/* the row is in [low, high] */
		uint32_t mid = low + (high - low + 1) / 2;

		if (t->rows[mid].pc <= pc)
			low = mid;
		else
			high = mid - 1;
	}
	return &t->rows[low];
}

uint32_t unwind_table_find(const struct unwind_table *t, uint64_t vaddr)
{
	const struct unwind_row *row = unwind_table_row(t, vaddr);

	return row ? row->rule : 0;
}
