/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/stacks_part.h"

#include "base/hash.h"

/* The name of inlined functions whose debug information has no name. */
#define NAMELESS "[inlined]"

struct place {
	struct elf_table *source;
	uint64_t offset;
	uint32_t frame;		/* without line */
	uint32_t padding;	/* 0, because places are compared as bytes */
};

struct stack {
	uint64_t id;
	guint from;		/* first index in `spots` */
	uint16_t cnt;
	uint8_t end;
};

/* Frames of a place, innermost first, as a part of one common array. */
struct expansion {
	guint from, cnt;
};

struct fold_lines {
	struct profile *profile;
	struct symbolizer *symbolizer;
	GArray *places;		/* struct place */
	GHashTable *index;	/* struct place -> id */
	GArray *stacks;		/* struct stack */
	GArray *spots;		/* uint32_t: the places of all stacks in turn */
};

HASH_BYTES(place, struct place)

struct fold_lines *fold_lines_new(struct profile *profile, struct symbolizer *symbolizer)
{
	struct fold_lines *l = g_new0(struct fold_lines, 1);

	l->profile = profile;
	l->symbolizer = symbolizer;
	l->places = g_array_new(FALSE, FALSE, sizeof(struct place));
	l->index = g_hash_table_new_full(place_hash, place_equal, g_free, NULL);
	l->stacks = g_array_new(FALSE, FALSE, sizeof(struct stack));
	l->spots = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	return l;
}

FREES(fold_lines_free, struct fold_lines, l, g_array_unref(l->places); g_hash_table_unref(l->index);
      g_array_unref(l->stacks); g_array_unref(l->spots))

uint32_t fold_lines_place(struct fold_lines *l, const struct symbol *symbol, uint32_t frame)
{
	struct place p = { .source = symbol->source, .offset = symbol->source ? symbol->offset : 0, .frame = frame };
	gpointer id;

	if (g_hash_table_lookup_extended(l->index, &p, NULL, &id))
		return GPOINTER_TO_UINT(id);
	g_hash_table_insert(l->index, g_memdup2(&p, sizeof(p)), GUINT_TO_POINTER(l->places->len));
	g_array_append_val(l->places, p);
	return l->places->len - 1;
}

uint32_t fold_lines_frame(const struct fold_lines *l, uint32_t place)
{
	return g_array_index(l->places, struct place, place).frame;
}

void fold_lines_stack(struct fold_lines *l, uint64_t id, const uint32_t *places, unsigned cnt, enum stack_end end)
{
	struct stack s = { id, l->spots->len, (uint16_t)cnt, (uint8_t)end };

	g_array_append_vals(l->spots, places, cnt);
	g_array_append_val(l->stacks, s);
}

/*
 * The outermost frame of a place is the symbol table's function, with the line of the call if others are inlined in
 * it. Its name is the same as without --inline.
 */
static void expand(struct fold_lines *l, const struct place *p, const struct symbol_place *found, GArray *frames)
{
	EACH_IN(i, const struct symbol_frame, in, found->frames, found->frame_cnt) {
		struct frame f = *profile_get_frame(l->profile, p->frame);
		uint32_t id;

		f.file = in->file;
		f.line = in->line;
		f.is_inline = i + 1 < found->frame_cnt;
		if (f.is_inline)
			f.name = in->name ? in->name : NAMELESS;
		else if (!f.name)
			f.name = in->name;
		id = profile_frame(l->profile, &f);
		g_array_append_val(frames, id);
	}
	if (!found->frame_cnt)
		g_array_append_val(frames, p->frame);
}

static struct expansion *expand_all(struct fold_lines *l, GArray *frames)
{
	struct expansion *all = g_new(struct expansion, l->places->len + 1);
	g_autofree struct symbol_place *asked = g_new0(struct symbol_place, l->places->len + 1);
	uint64_t missed[SYMBOL_MISSED_CNT];

	for (guint i = 0; i < l->places->len; i++) {
		asked[i].source = g_array_index(l->places, struct place, i).source;
		asked[i].offset = g_array_index(l->places, struct place, i).offset;
	}
	symbolizer_lines(l->symbolizer, asked, l->places->len, missed);
	for (guint i = 0; i < l->places->len; i++) {
		all[i].from = frames->len;
		expand(l, &g_array_index(l->places, struct place, i), &asked[i], frames);
		all[i].cnt = frames->len - all[i].from;
		g_free(asked[i].frames);
	}
	for (unsigned i = 0; i < SYMBOL_MISSED_CNT; i++) {
		const char *id, *text = symbol_missed_text(i, &id);

		profile_add_loss(l->profile, id, text, missed[i], 0);
	}
	return all;
}

void fold_lines_finish(struct fold_lines *l, fold_lines_fn tell, void *data)
{
	g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autofree struct expansion *all = expand_all(l, frames);

	EACH_ROW(i, const struct stack, s, l->stacks) {
		uint32_t node = 0;

		for (guint k = s->cnt; k-- > 0;) {
			const struct expansion *e = &all[g_array_index(l->spots, uint32_t, s->from + k)];

			for (guint j = e->cnt; j-- > 0;)
				node = profile_node(l->profile, node, g_array_index(frames, uint32_t, e->from + j));
		}
		profile_stack_end(l->profile, node, (enum stack_end)s->end);
		tell(s->id, node, data);
	}
	g_array_set_size(l->stacks, 0);
}
