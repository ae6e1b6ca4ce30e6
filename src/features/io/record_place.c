/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_counts.h"

#include <string.h>

#include "attach/kernel_names.h"
#include "base/hash.h"
#include "fold/stacks.h"
#include "sample/space.h"
#include "symbolize/symbolize.h"

struct io_places {
	struct symbolizer *symbolizer;
	struct fold_stacks *stacks;
	struct spaces_read *spaces;
	GHashTable *places;	/* number -> struct io_place */
	struct offcpu_rec_stack rec;
};

struct io_places *io_places_new(struct profile *p, bool with_kernel)
{
	struct io_places *s = g_new0(struct io_places, 1);

	s->symbolizer = symbolizer_new();
	if (with_kernel)
		kernel_names_use(s->symbolizer);
	s->stacks = fold_stacks_new(p, s->symbolizer, OFFCPU_MAX_DEPTH);
	s->spaces = spaces_read_new();
	s->places = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	if (with_kernel)
		symbolizer_foresee_kernel(s->symbolizer);
	return s;
}

FREES(io_places_free, struct io_places, s, g_hash_table_destroy(s->places); spaces_read_free(s->spaces);
      fold_stacks_free(s->stacks); symbolizer_free(s->symbolizer))

void io_places_take(struct io_places *s, const struct io_rec_stack *r, size_t size)
{
	struct io_place place = { 0 };

	if (size < sizeof(*r) || r->frames > IO_FRAMES_MAX || r->stack_bytes > size - sizeof(*r))
		return;
	place.number = r->number;
	if (r->frames) {
		s->rec.depth = r->frames;
		s->rec.end = r->frames >= IO_FRAMES_MAX ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
		memcpy(s->rec.ip, r->frame, r->frames * sizeof(r->frame[0]));
		place.kernel = fold_stacks_take(s->stacks, &s->rec, 0, 0, false);
	}
	if (r->ip) {
		const struct space_regs regs = {
			.ip = r->ip, .sp = r->sp, .bp = r->bp, .link = r->link, .has_bp = true,
			.stack = r + 1, .stack_bytes = r->stack_bytes,
		};

		spaces_read_walk(s->spaces, (pid_t)r->pid, r->code, &regs, &s->rec);
		place.user = fold_stacks_take(s->stacks, &s->rec, r->pid, r->code, true);
	}
	struct io_place *kept = g_memdup2(&place, sizeof(place));

	g_hash_table_replace(s->places, &kept->number, kept);
}

struct io_place io_places_give(struct io_places *s, uint64_t number)
{
	const struct io_place *place = g_hash_table_lookup(s->places, &number);
	struct io_place ret = { .number = number };

	if (place)
		ret = *place;
	g_hash_table_remove(s->places, &number);
	return ret;
}

void io_places_finish(struct io_places *s)
{
	fold_stacks_finish(s->stacks);
}
