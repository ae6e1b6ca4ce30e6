/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/python/greenlets.h"

#include <string.h>

#include "base/clock.h"
#include "base/find.h"
#include "base/hash.h"
#include "base/module.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

#define PAGE_BYTES 4096
#define MINOR_FIRST_CODE 12	/* from then on a frame begins with its code */
#define TAG_BITS 7		/* 3.14: tag bits in a frame's pointers */
#define STATE_AT 32		/* of a greenlet: its memory; in it */
#define STATE_WORDS 24
#define TOP_FRAME_MIN 8		/* the first word that may be the innermost frame; before it are: */
#define STACK_START 6
#define STACK_STOP 5
#define STACK_COPY 4
#define STACK_SAVED 3
#define STACK_BYTES_MAX (UINT64_C(1) << 32)
#define FRAME_AT 24		/* of a frame object */
#define FRAME_BYTES 80
#define INSTR_AT 56
#define INNER_MAX (2 * PYTHON_GREENLET_FRAMES_MAX)
#define TRIES 3

static guint address_hash(gconstpointer key)
{
	return hash_end(hash_pointer(key));
}

static uint64_t find_type(const char *proc_dir, uint32_t pid, const GArray *lines)
{
	EACH_ROW_OF(i, const struct maps_line, m, lines) {
		struct variable wanted = { "PyGreenlet_Type", 0 };

		if (m->is_exec && g_str_has_prefix(module_base_name(m->path), "_greenlet.") &&
		    variables_find(proc_dir, pid, m, &wanted, 1) && wanted.addr)
			return wanted.addr;
	}
	return 0;
}

/* A program with asyncio's tasks uses greenlets for something else, as SQLAlchemy does. */
static bool is_for_others(struct python_greenlets *g, const GArray *lines)
{
	for (guint i = 0; i < lines->len; i++)
		if (strstr(g_array_index(lines, struct maps_line, i).path, "/gevent/"))
			return false;
	return python_module(&g->p, lines, "asyncio.tasks") && !python_module(&g->p, lines, "eventlet");
}

static void free_tables(struct python_greenlets *g)
{
	g_clear_pointer(&g->types, g_hash_table_unref);
	g_clear_pointer(&g->greenlets, g_hash_table_unref);
	g_clear_pointer(&g->waited_for, g_hash_table_unref);
	g_clear_pointer(&g->list_words, g_hash_table_unref);
	g_clear_pointer(&g->waits, g_hash_table_unref);
}

void python_greenlets_forget(struct python_greenlets *g)
{
	free_tables(g);
	g->types = g_hash_table_new(address_hash, NULL);
	g->greenlets = g_hash_table_new(address_hash, NULL);
	g->waited_for = g_hash_table_new(address_hash, NULL);
	g->list_words = g_hash_table_new(address_hash, NULL);
	g->waits = g_hash_table_new_full(address_hash, NULL, NULL, g_free);
	g->noted_ns = 0;
}

enum python_greenlets_state python_greenlets_open(struct python_greenlets *g, const char *proc_dir, uint32_t pid,
						  const GArray *lines)
{
	uint64_t type = find_type(proc_dir, pid, lines);
	enum python_tasks_state state;

	*g = (struct python_greenlets){ .greenlet_type = type };
	if (!type)
		return PYTHON_GREENLETS_NONE;
	state = python_program_open(&g->p, proc_dir, pid, lines);
	if (state == PYTHON_TASKS_NONE || (state == PYTHON_TASKS_READABLE && is_for_others(g, lines)))
		return PYTHON_GREENLETS_NONE;
	if (state != PYTHON_TASKS_READABLE || g->p.minor < PYTHON_GREENLET_MINOR_MIN ||
	    g->p.minor > PYTHON_GREENLET_MINOR_MAX || !python_greenlet_lists_open(g, lines))
		return PYTHON_GREENLETS_OTHER_VERSION;
	python_greenlets_forget(g);
	return PYTHON_GREENLETS_READABLE;
}

void python_greenlets_close(struct python_greenlets *g)
{
	python_tasks_close(&g->p);
	free_tables(g);
}

/* A greenlet as read, to be compared with a second reading. */
struct greenlet_reading {
	struct python_greenlets *g;
	uint64_t at, state[STATE_WORDS], state_again[STATE_WORDS];
	uint64_t frame_at[INNER_MAX];	/* where each was read */
	uint8_t frames[INNER_MAX][FRAME_BYTES], again[INNER_MAX][FRAME_BYTES];
	unsigned frame_cnt;
};

static uint64_t state_word(const struct greenlet_reading *r, unsigned before_top)
{
	return r->state[r->g->top_frame_at - before_top];
}

/* The frame of a frame object, if both refer to each other. */
static uint64_t frame_behind(const struct python_program *p, uint64_t object)
{
	uint64_t frame = object % 8 == 0 && python_type(p, object) == p->frame_type ? python_word(p, object + FRAME_AT)
										    : 0;

	return frame > PAGE_BYTES && python_word(p, frame + (p->minor < MINOR_FIRST_CODE ? 40 : 48)) == object ? frame
													       : 0;
}

/* Does it have a C stack, of which a part may have been copied away? */
static bool has_stack(const struct greenlet_reading *r, unsigned top)
{
	uint64_t start = r->state[top - STACK_START], stop = r->state[top - STACK_STOP],
		 saved = r->state[top - STACK_SAVED];

	if (start <= PAGE_BYTES || start >= stop || (stop != UINT64_MAX && stop - start >= STACK_BYTES_MAX))
		return false;
	return saved <= stop - start && saved < STACK_BYTES_MAX && !saved == !r->state[top - STACK_COPY];
}

/* Finds the offset from the first parked greenlet; it is the same for all. */
static void find_top_frame(struct greenlet_reading *r)
{
	for (unsigned i = TOP_FRAME_MIN; i < STATE_WORDS; i++)
		if (r->state[i] > PAGE_BYTES && frame_behind(&r->g->p, r->state[i]) && has_stack(r, i))
			r->g->top_frame_at = i;
}

/* Translates an address on its C stack to the saved copy. Heap addresses stay the same. */
static uint64_t as_saved(const struct greenlet_reading *r, uint64_t addr)
{
	uint64_t start = state_word(r, STACK_START), saved = state_word(r, STACK_SAVED);

	return addr >= start && addr - start < saved ? addr - start + state_word(r, STACK_COPY) : addr;
}

static bool name_frame(struct greenlet_reading *r, const struct python_layout *l, const uint8_t *frame,
		       struct language_frame *ret)
{
	const struct language_place place = { .version = l->walk.version,
					      .pid = r->g->p.pid,
					      .space = 1,
					      .code_type = r->g->p.code_type,
					      .code = memory_word(frame, l->walk.code_at) & ~(uint64_t)TAG_BITS,
					      .instr = memory_word(frame, INSTR_AT) };

	return python_code_name(r->g->p.code, &place, ret);
}

/* False: these cannot be its frames. */
static bool walk_frames(struct greenlet_reading *r, uint64_t frame, struct python_greenlet *t)
{
	const struct python_layout *l = python_layout_of(3 << 8 | r->g->p.minor);

	while (frame && t->frame_cnt < PYTHON_GREENLET_FRAMES_MAX && r->frame_cnt < INNER_MAX) {
		uint8_t *bytes = r->frames[r->frame_cnt];

		r->frame_at[r->frame_cnt] = as_saved(r, frame);
		if (frame % 8 || !memory_read(r->g->p.pid, r->frame_at[r->frame_cnt], bytes, FRAME_BYTES))
			return false;
		r->frame_cnt++;
		/* the entry frame of a call from C */
		bool is_entry = l->walk.entry == OFFCPU_ENTRY_OWNER && bytes[l->walk.entry_at] == l->walk.entry_value;
		if (!is_entry && !name_frame(r, l, bytes, &t->frames[t->frame_cnt++]))
			return false;
		frame = memory_word(bytes, l->walk.previous_at);
	}
	t->is_cut = frame;
	return true;
}

static bool is_unchanged(struct greenlet_reading *r)
{
	struct memory_piece pieces[INNER_MAX + 1] = { { r->at, r->state_again, sizeof(r->state) } };
	bool is_read[INNER_MAX + 1];

	for (unsigned i = 0; i < r->frame_cnt; i++)
		pieces[i + 1] = (struct memory_piece){ r->frame_at[i], r->again[i], FRAME_BYTES };
	memory_read_pieces(r->g->p.pid, pieces, r->frame_cnt + 1, is_read);
	if (!is_read[0] || memcmp(r->state, r->state_again, sizeof(r->state)) != 0)
		return false;
	for (unsigned i = 0; i < r->frame_cnt; i++)
		if (!is_read[i + 1] || memcmp(r->frames[i], r->again[i], FRAME_BYTES) != 0)
			return false;
	return true;
}

static bool is_hub(const struct python_greenlet *t)
{
	for (unsigned i = t->frame_cnt; i-- > 0;) {
		const struct language_frame *f = &t->frames[i];

		if ((!strcmp(f->name, "Hub.run") || !strcmp(f->name, "BaseHub.run")) && g_str_has_suffix(f->file, "/hub.py"))
			return true;
	}
	return false;
}

/* False: finished, running, or not to be reported. */
static bool read_greenlet(struct greenlet_reading *r, uint64_t address, struct python_greenlet *t)
{
	uint64_t top;

	*t = (struct python_greenlet){ .address = address };
	r->frame_cnt = 0;
	r->at = python_word(&r->g->p, address + STATE_AT);
	if (r->at <= PAGE_BYTES || !memory_read(r->g->p.pid, r->at, r->state, sizeof(r->state)))
		return false;
	if (!r->g->top_frame_at)
		find_top_frame(r);
	if (!r->g->top_frame_at)
		return false;
	if (!state_word(r, STACK_START))
		return !state_word(r, STACK_STOP);	/* it has not started */
	top = r->state[r->g->top_frame_at];
	if (!top)
		return false;
	t->is_parked = true;
	top = has_stack(r, r->g->top_frame_at) ? frame_behind(&r->g->p, top) : 0;
	if (top && walk_frames(r, top, t) && is_unchanged(r))
		return !is_hub(t);
	t->is_stale = true;
	t->frame_cnt = 0;
	return true;
}

/* The process changes it occasionally, so try again. */
static bool read_while_it_stands(struct greenlet_reading *r, uint64_t greenlet, struct python_greenlet *t)
{
	bool is_told = read_greenlet(r, greenlet, t);

	for (unsigned i = 1; i < TRIES && is_told && t->is_stale; i++) {
		memory_keep_anew(r->g->p.pid);
		is_told = read_greenlet(r, greenlet, t);
	}
	if (is_told && t->is_parked && !t->is_stale)
		t->waits_in = python_greenlets_waits_in(r->g, greenlet);
	return is_told;
}

/* Every stride-th of the known ones (uint64_t). */
static GArray *choose_greenlets(const struct python_greenlets *g, uint64_t first, uint64_t stride)
{
	GArray *chosen = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, g->greenlets);
	for (uint64_t i = 0; g_hash_table_iter_next(&iter, &key, NULL); i++)
		if (i % stride == first)
			g_array_append_vals(chosen, &(uint64_t){ GPOINTER_TO_SIZE(key) }, 1);
	return chosen;
}

bool python_greenlets_read(struct python_greenlets *g, uint64_t first, uint64_t stride, python_greenlet_fn fn,
			   void *ctx, struct python_tasks_census *ret)
{
	g_autoptr(GArray) living = g_array_new(FALSE, FALSE, sizeof(struct python_greenlet_object)), chosen = NULL;
	g_autofree struct greenlet_reading *r = g_new(struct greenlet_reading, 1);
	struct python_greenlet t;
	uint64_t is_there, begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	*ret = (struct python_tasks_census){ 0 };
	g->p.entries_left = PYTHON_ENTRIES_MAX;
	if (!stride || !memory_read(g->p.pid, g->p.runtime, &is_there, sizeof(is_there)))
		return false;
	ret->unreadable = !python_greenlet_lists_read(g);
	ret->is_cut = g_hash_table_size(g->greenlets) >= PYTHON_GREENLETS_MAX;
	python_greenlets_note(g);
	g->listing_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	chosen = choose_greenlets(g, first, stride);
	python_greenlets_living(g, chosen, living);
	r->g = g;
	for (guint i = 0; i < living->len; i++)
		if (read_while_it_stands(r, g_array_index(living, struct python_greenlet_object, i).address, &t))
			fn(ctx, &t);
	return true;
}
