/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/frames.h"

#include <string.h>

#include "abi/unwind_abi.h"

#define FUNCS_MAX (2u << 20)
#define STEPS_MAX (64u << 20)
#define TEXT_MAX_BYTES ((size_t)1 << 30)

enum kind {
	KIND_PLAIN,
	KIND_END,	/* the outermost frame of its stack */
	KIND_SWITCH,	/* its caller follows from the frame pointer, perhaps on another stack */
	KIND_SIGNAL,	/* a signal handler returns to it: a signal frame is above */
};

/*
 * mcall() and morestack() leave a goroutine's stack for good: the scheduler that they call then serves other
 * goroutines, and resumes by gogo(). Others that switch stacks return, and keep the frame pointer: what they call
 * waits on behalf of their caller. cgocallback() pushes its caller, so its frame is an ordinary one.
 */
static enum kind kind_of(const struct go_func *f)
{
	if (go_table_is_returned_to(f) && strcmp(f->name, "runtime.systemstack_switch") != 0)
		return KIND_SIGNAL;
	if (!strncmp(f->name, "runtime.sigtramp", strlen("runtime.sigtramp")) ||
	    !strcmp(f->name, "runtime.cgocallback"))
		return KIND_PLAIN;
	if (f->flags & GO_FUNC_TOPFRAME || !strcmp(f->name, "runtime.mcall") || !strcmp(f->name, "runtime.gogo") ||
	    !strncmp(f->name, "runtime.morestack", strlen("runtime.morestack")))
		return KIND_END;
	return f->flags & GO_FUNC_SPWRITE ? KIND_SWITCH : KIND_PLAIN;
}

bool go_frames_open(struct go_frames *g, const struct elf_file *file)
{
	Elf_Scn *scn;
	Elf_Data *data;
	GElf_Shdr sh;

	*g = (struct go_frames){ .machine = file->machine, .steps_left = STEPS_MAX };
	if ((file->machine != EM_X86_64 && file->machine != EM_AARCH64) || !go_table_open(&g->table, file))
		return false;
	scn = elf_file_section_named(file, ".text");
	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_flags & SHF_COMPRESSED ||
	    sh.sh_size > TEXT_MAX_BYTES)
		return true;
	data = elf_rawdata(scn, NULL);
	if (data && data->d_buf) {
		g->code = data->d_buf;
		g->code_bytes = data->d_size;
		g->code_vaddr = sh.sh_addr;
	}
	return true;
}

/* Return addresses are looked up one byte earlier: one that is a function's first byte still belongs to it. */
static uint64_t entry_start(const struct go_func *f)
{
	return go_table_is_returned_to(f) ? f->start - 1 : f->start;
}

void go_frames_add(const struct go_frames *g, struct cfi_entries *e)
{
	struct go_func f, next;
	bool is_next = false;

	for (uint32_t i = 0; i < g->table.func_cnt; i++) {
		bool is_there = is_next || go_table_func(&g->table, i, &f);

		is_next = go_table_func(&g->table, i + 1, &next);
		if (e->fdes->len >= FUNCS_MAX) {
			e->is_cut = true;
			return;
		}
		if (is_there) {
			struct cfi_fde fde = { .start = entry_start(&f), .end = f.end, .cie = CFI_CIE_GO,
					       .program_bytes = i, .order = e->fdes->len };

			if (is_next && entry_start(&next) < f.end && entry_start(&next) > fde.start)
				fde.end = entry_start(&next);
			g_array_append_val(e->fdes, fde);
		} else if (i + 1 < g->table.func_cnt) {
			e->bad_cnt++;
		}
		f = next;
	}
}

static bool code_is(const struct go_frames *g, uint64_t vaddr, const char *bytes, size_t cnt)
{
	uint64_t at = vaddr - g->code_vaddr;

	return g->code && vaddr >= g->code_vaddr && at <= g->code_bytes && g->code_bytes - at >= cnt &&
	       !memcmp(g->code + at, bytes, cnt);
}

/*
 * A function has just made its frame, at vaddr: from where on its saved frame pointer can be used; 0: it saves none.
 * Go 1.21 and later: push %rbp; mov %rsp,%rbp. Before: sub $n,%rsp; mov %rbp,n-8(%rsp).
 */
static uint64_t saves_bp(const struct go_frames *g, uint64_t vaddr, int32_t frame)
{
	uint32_t at = GUINT32_TO_LE((uint32_t)frame - 8);
	char near[5] = "\x48\x89\x6c\x24", far[8] = "\x48\x89\xac\x24";

	near[4] = (char)at;
	memcpy(far + 4, &at, sizeof(at));
	if (frame == 8 && code_is(g, vaddr - 1, "\x55\x48\x89\xe5", 4))
		return vaddr;
	if (frame - 8 < 128 && code_is(g, vaddr, near, sizeof(near)))
		return vaddr + sizeof(near);
	return code_is(g, vaddr, far, sizeof(far)) ? vaddr + sizeof(far) : 0;
}

static uint32_t sp_rule(int64_t frame, bool has_bp)
{
	int64_t words = frame / 8 + 1;

	if (frame < 0 || frame % 8 || words > INT16_MAX)
		return UNWIND_CFA_COMPLEX << 16;
	return UNWIND_CFA_SP << 16 | (uint32_t)words |
	       (has_bp ? UNWIND_BP_AT_CFA << 20 | ((uint32_t)-2 & 0x3ff) << 22 : 0);
}

/*
 * arm64: a frame has the return address in its lowest word and the caller's x29 in the word below. A frame that has
 * saved neither belongs to a leaf. If the offset of x29 does not fit, the frame is found by its size alone, which is
 * enough for Go's callers.
 */
static uint32_t arm64_rule(int64_t frame)
{
	int64_t words = frame / 8;

	if (frame < 0 || frame % 8 || words > INT16_MAX)
		return UNWIND_CFA_COMPLEX << 16;
	if (!frame)
		return UNWIND_CFA_SP << 16 | UNWIND_ARM64_LINK << 20;
	if (words + 1 > 512)
		return UNWIND_CFA_SP << 16 | (uint32_t)words | UNWIND_ARM64_RETURN_LOST << 20;
	return UNWIND_CFA_SP << 16 | (uint32_t)words | UNWIND_ARM64_RECORD << 20 |
	       ((uint32_t) - (words + 1) & 0x3ff) << 22;
}

static uint32_t fixed_rule(const struct go_frames *g, enum kind kind)
{
	switch (kind) {
	case KIND_END: return UNWIND_CFA_END << 16;
	case KIND_SIGNAL: return UNWIND_CFA_SIGNAL << 16;
	default: /* the frame pointer is saved where it points; on arm64 x29 can be left over from another stack */
		if (g->machine == EM_AARCH64)
			return UNWIND_CFA_COMPLEX << 16;
		return UNWIND_CFA_BP_SWITCH << 16 | 2 | UNWIND_BP_AT_BP << 20;
	}
}

/* The rows for one frame size; false ends the run. */
static bool tell_size(const struct go_frames *g, const struct go_values *v, uint64_t from, uint64_t *bp_from,
		      go_row_fn row, void *ctx)
{
	if (g->machine == EM_AARCH64)
		return row(ctx, from, arm64_rule(v->value));
	if (!*bp_from && v->value > 0)
		*bp_from = saves_bp(g, v->from, v->value);
	if (!row(ctx, from, sp_rule(v->value, *bp_from && v->value > 0 && v->from >= *bp_from)))
		return false;
	return v->value <= 0 || *bp_from <= v->from || *bp_from >= v->to || row(ctx, *bp_from, sp_rule(v->value, true));
}

bool go_frames_run(struct go_frames *g, const struct cfi_fde *fde, go_row_fn row, void *ctx, uint64_t *ret_vaddr)
{
	uint64_t bp_from = 0;
	struct go_values v;
	struct go_func f;
	enum kind kind;

	*ret_vaddr = fde->start;
	if (!go_table_func(&g->table, fde->program_bytes, &f))
		return false;
	kind = kind_of(&f);
	if (kind != KIND_PLAIN) {
		row(ctx, fde->start, fixed_rule(g, kind));
		return true;
	}
	go_values(&g->table, &f, f.sp_values, &v);
	while (go_values_next(&v)) {
		if (!g->steps_left--) {
			g->steps_left = 0;
			return false;
		}
		/* the entry may begin a byte before the function */
		if (!tell_size(g, &v, v.from == f.start ? fde->start : v.from, &bp_from, row, ctx))
			return true;
		*ret_vaddr = v.to;
	}
	return *ret_vaddr >= fde->end;
}
