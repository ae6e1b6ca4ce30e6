/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/frames.h"

#include "abi/unwind_abi.h"

#define STEPS_MAX (16u << 20)	/* wrong guesses are followed repeatedly */
#define GUESSES_MAX (1u << 20)
#define PENDING_MAX 65536	/* places of one function still to be followed */

/* Flags of a byte. */
enum {
	CODE_BEGINS = 1,	/* an instruction begins */
	CODE_WITHIN = 2,	/* inside an instruction */
	CODE_STARTS = 4,	/* a function begins */
	CODE_DISCOVERED = 8,	/* see discover() */
	CODE_NEVER_RETURNS = 16,	/* the function that begins here */
	CODE_GUESSED = 32,	/* a function may begin */
};

struct place {
	uint64_t vaddr;
	struct code_state state;
};

/* State while one function is followed. */
struct trace {
	struct code_frames *code;
	uint64_t start;
	GArray *pending;	/* struct place */
	GArray *visited;	/* uint32_t: indices into flags and rules */
	GArray *called;		/* uint64_t */
	struct code_state at_jump;	/* state at an indirect jump: the cases of a switch have it */
	bool has_jump, is_wrong;
};

/* The gap that contains vaddr, and the byte's index in flags and rules; NULL: none. */
static const struct code_gap *gap_of(const struct code_frames *c, uint64_t vaddr, uint32_t *ret_at)
{
	const struct code_gap *g = code_gap_of(c->gaps, vaddr);

	if (g)
		*ret_at = g->at + (uint32_t)(vaddr - g->start);
	return g;
}

static bool is_start(const struct code_frames *c, uint64_t vaddr)
{
	uint32_t at;

	return gap_of(c, vaddr, &at) && c->flags[at] & CODE_STARTS;
}

/* True if it was not known before. */
static bool add_start(struct code_frames *c, uint64_t vaddr)
{
	uint32_t at;

	if (!gap_of(c, vaddr, &at) || c->flags[at] & CODE_STARTS)
		return false;
	c->flags[at] |= CODE_STARTS;
	g_array_append_val(c->starts, vaddr);
	return true;
}

/* The instruction takes an address, perhaps of a function. */
static void add_guess(struct code_frames *c, const struct code_step *step)
{
	uint64_t vaddr = code_step_taken(step, c->is_fixed);
	uint32_t at;

	if (!vaddr || c->guesses->len >= GUESSES_MAX || !gap_of(c, vaddr, &at) || c->flags[at] & CODE_GUESSED)
		return;
	c->flags[at] |= CODE_GUESSED;
	g_array_append_val(c->guesses, vaddr);
}

static bool never_returns(const struct code_frames *c, uint64_t function)
{
	uint32_t at;

	return function && gap_of(c, function, &at) && c->flags[at] & CODE_NEVER_RETURNS;
}

/* Does it continue at the next instruction? */
static bool goes_on(const struct code_frames *c, const struct code_step *step)
{
	return step->flow == CODE_GOES_ON || step->flow == CODE_BRANCHES ||
	       (step->flow == CODE_CALLS && !never_returns(c, step->target));
}

/*
 * Finds the functions that this one calls, and whether it ever returns; number: identifies it in visited places. After
 * a call that never returns there is unrelated code: another function, or another part of this one. Since all
 * functions are known before states are followed, such a path ends there, or at the latest at the next function.
 */
static void discover(struct code_frames *c, uint64_t start, uint32_t number)
{
	g_autoptr(GArray) pending = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	struct code_state state = c->arch->code->entry;
	bool returns = false;
	uint32_t first;

	g_array_append_val(pending, start);
	while (pending->len && c->steps_left) {
		uint64_t vaddr = g_array_index(pending, uint64_t, pending->len - 1);
		const struct code_gap *gap;
		struct code_step step;
		uint32_t at;

		g_array_set_size(pending, pending->len - 1);
		while (c->steps_left) {
			gap = gap_of(c, vaddr, &at);
			if (!gap || c->flags[at] & CODE_DISCOVERED) {
				/* rules are not set yet: their array holds the numbers */
				returns |= !gap || c->rules[at] != number;
				break;
			}
			c->steps_left--;
			c->flags[at] |= CODE_DISCOVERED;
			c->rules[at] = number;
			step = c->arch->code->step(gap->code + (vaddr - gap->start), gap->end - vaddr, vaddr, &state);
			vaddr += step.bytes;
			if (step.flow == CODE_CALLS && step.target && step.target != vaddr)
				add_start(c, step.target);
			add_guess(c, &step);
			if ((step.flow == CODE_BRANCHES || step.flow == CODE_JUMPS) && pending->len < PENDING_MAX)
				g_array_append_val(pending, step.target);
			returns |= !step.bytes || step.flow == CODE_RETURNS || step.flow == CODE_JUMPS_ANYWHERE;
			if (!step.bytes || !goes_on(c, &step))
				break;
		}
	}
	if (!returns && c->steps_left && gap_of(c, start, &first))
		c->flags[first] |= CODE_NEVER_RETURNS;
}

/* Twice: a function that ends by calling one that never returns does not return either. */
static void discover_all(struct code_frames *c)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < c->bytes; i++)
			c->flags[i] &= (uint8_t)~CODE_DISCOVERED;
		for (guint i = 0; i < c->starts->len; i++)
			discover(c, g_array_index(c->starts, uint64_t, i), i + 1);
	}
	memset(c->rules, 0, c->bytes * sizeof(*c->rules));
}

static void put_off(struct trace *t, uint64_t vaddr, const struct code_state *state)
{
	const struct place place = { vaddr, *state };

	if (t->pending->len < PENDING_MAX)
		g_array_append_val(t->pending, place);
}

static void mark_visited(struct trace *t, uint32_t at, size_t bytes, uint32_t rule)
{
	struct code_frames *c = t->code;

	c->flags[at] |= CODE_BEGINS;
	c->rules[at] = rule;
	for (size_t i = 1; i < bytes; i++)
		c->flags[at + i] |= CODE_WITHIN;
	g_array_append_val(t->visited, at);
}

/* Follows a path to its end, or to known code. */
static void follow(struct trace *t, struct place place)
{
	struct code_frames *c = t->code;
	const struct code_gap *gap;
	struct code_step step;
	bool is_jump = true;	/* whether this path came by a jump */
	uint32_t at, of_signal;

	while ((gap = gap_of(c, place.vaddr, &at)) && !(c->flags[at] & (CODE_BEGINS | CODE_WITHIN)) && c->steps_left) {
		uint32_t rule = code_rule(&place.state, c->arch);

		/* the last call never returned; a jump may lead to a stored pointer, such as a switch's case */
		if (place.vaddr != t->start && c->flags[at] & (CODE_STARTS | (is_jump ? 0 : CODE_GUESSED)))
			return;
		if (place.vaddr == t->start && c->arch->code->is_signal_return(gap->code + (place.vaddr - gap->start),
									       gap->end - place.vaddr, &of_signal))
			rule = of_signal;
		c->steps_left--;
		step = c->arch->code->step(gap->code + (place.vaddr - gap->start), gap->end - place.vaddr, place.vaddr,
					&place.state);
		if (!step.bytes)
			return;
		mark_visited(t, at, step.bytes, rule);
		is_jump = false;
		place.vaddr += step.bytes;
		if (step.flow == CODE_CALLS && step.target && step.target != place.vaddr)
			g_array_append_val(t->called, step.target);
		add_guess(c, &step);	/* a function that discover() did not know */
		if (step.flow == CODE_RETURNS && !place.state.is_outermost)
			t->is_wrong |= !c->arch->code->is_balanced(&place.state);
		if (step.flow == CODE_JUMPS_ANYWHERE && !t->has_jump) {
			t->has_jump = true;
			t->at_jump = place.state;
		}
		if (step.flow == CODE_BRANCHES || (step.flow == CODE_JUMPS && !is_start(c, step.target)))
			put_off(t, step.target, &place.state);
		if (!goes_on(c, &step))
			return;
	}
}

static void follow_all(struct trace *t)
{
	while (t->pending->len && t->code->steps_left) {
		struct place place = g_array_index(t->pending, struct place, t->pending->len - 1);

		g_array_set_size(t->pending, t->pending->len - 1);
		follow(t, place);
	}
}

/*
 * Undoes what was found since index `from` of visited and was not understood; is_guess: also forget that it was
 * examined.
 */
static void take_back(struct trace *t, guint from, bool is_guess)
{
	struct code_frames *c = t->code;

	for (guint i = from; i < t->visited->len; i++) {
		uint32_t at = g_array_index(t->visited, uint32_t, i);

		c->rules[at] = 0;
		if (!is_guess)
			continue;
		c->flags[at] &= (uint8_t)~CODE_BEGINS;
		for (at++; at < c->bytes && c->flags[at] & CODE_WITHIN && !(c->flags[at] & CODE_BEGINS); at++)
			c->flags[at] &= (uint8_t)~CODE_WITHIN;
	}
	g_array_set_size(t->visited, from);
}

/* The cases of a switch, reached through a table: all code up to the next function that nothing else leads to. */
static void follow_cases(struct trace *t)
{
	struct code_frames *c = t->code;
	const struct code_gap *gap;
	uint64_t vaddr = t->start;
	uint32_t at;
	guint known;

	while (t->has_jump && (gap = gap_of(c, vaddr, &at)) && c->steps_left &&
	       (vaddr == t->start || !(c->flags[at] & CODE_STARTS))) {
		struct code_state unused = c->arch->code->entry;
		struct code_step step;

		if (c->flags[at] & (CODE_BEGINS | CODE_WITHIN)) {
			vaddr++;
			continue;
		}
		if (c->arch->code->is_padding(gap->code + (vaddr - gap->start), gap->end - vaddr)) {
			step = c->arch->code->step(gap->code + (vaddr - gap->start), gap->end - vaddr, vaddr, &unused);
			if (!step.bytes)
				return;
			vaddr += step.bytes;
			continue;
		}
		known = t->visited->len;
		put_off(t, vaddr, &t->at_jump);
		follow_all(t);
		if (t->is_wrong) {	/* not a case, but a function that only a pointer leads to */
			take_back(t, known, true);
			t->is_wrong = false;
			return;
		}
		if (!(c->flags[at] & CODE_BEGINS))
			return;
	}
}

static void trace(struct code_frames *c, uint64_t start, bool is_guess)
{
	struct trace t = {
		.code = c, .start = start, .pending = g_array_new(FALSE, FALSE, sizeof(struct place)),
		.visited = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.called = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
	};
	const struct code_state entry = c->arch->code->entry;

	put_off(&t, start, &entry);
	follow_all(&t);
	if (!t.is_wrong && !is_guess)
		follow_cases(&t);
	if (t.is_wrong)
		take_back(&t, 0, is_guess);
	for (guint i = 0; i < t.called->len && !(t.is_wrong && is_guess); i++)
		add_start(c, g_array_index(t.called, uint64_t, i));
	g_array_unref(t.pending);
	g_array_unref(t.visited);
	g_array_unref(t.called);
}

static void trace_starts(struct code_frames *c, guint from)
{
	for (guint i = from; i < c->starts->len; i++)
		trace(c, g_array_index(c->starts, uint64_t, i), false);
}

static void init_gaps(struct code_frames *c, const struct unwind_arch *arch)
{
	*c = (struct code_frames){
		.arch = arch, .gaps = g_array_new(FALSE, FALSE, sizeof(struct code_gap)),
		.starts = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
		.guesses = g_array_new(FALSE, FALSE, sizeof(uint64_t)), .steps_left = STEPS_MAX,
	};
}

static void find_rules(struct code_frames *c, const GArray *starts)
{
	uint32_t at;

	c->flags = g_malloc0(c->bytes);
	c->rules = g_new0(uint32_t, c->bytes);
	for (guint i = 0; i < starts->len; i++)
		add_start(c, g_array_index(starts, uint64_t, i));
	for (guint i = 0; i < c->guesses->len; i++)
		if (gap_of(c, g_array_index(c->guesses, uint64_t, i), &at))
			c->flags[at] |= CODE_GUESSED;
	discover_all(c);
	trace_starts(c, 0);
	for (guint i = 0; i < c->guesses->len; i++) {
		guint known = c->starts->len;

		trace(c, g_array_index(c->guesses, uint64_t, i), true);
		trace_starts(c, known);
	}
}

void code_frames_open(struct code_frames *c, const struct elf_file *file, const struct unwind_arch *arch,
		      const GArray *fdes)
{
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));

	init_gaps(c, arch);
	c->bytes = code_gaps_find(file, arch->code, fdes, c->gaps);
	if (c->bytes)
		c->is_fixed = code_starts_find(file, arch->code, fdes, c->gaps, starts, c->guesses);
	if (starts->len || c->guesses->len)
		find_rules(c, starts);
}

void code_frames_open_gap(struct code_frames *c, const struct unwind_arch *arch, const struct code_gap *gap,
			  uint64_t start)
{
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));

	init_gaps(c, arch);
	g_array_append_val(c->gaps, *gap);
	g_array_append_val(starts, start);
	c->bytes = (uint32_t)(gap->end - gap->start);
	find_rules(c, starts);
}

void code_frames_close(struct code_frames *c)
{
	g_array_unref(c->gaps);
	g_array_unref(c->starts);
	g_array_unref(c->guesses);
	g_free(c->flags);
	g_free(c->rules);
}

/* A return address is looked up one byte earlier; but a signal handler returns to the first byte of its function. */
static bool is_returned_to(const struct code_frames *c, uint32_t at)
{
	return unwind_rule_cfa(c->rules[at]) == UNWIND_CFA_SIGNAL;
}

/* Start and end of the next known part in a gap; false: none. */
static bool known_part(const struct code_frames *c, const struct code_gap *g, uint64_t *ret_start, uint64_t *ret_end)
{
	uint32_t from = g->at, to = g->at + (uint32_t)(g->end - g->start);

	while (from < to && !c->rules[from])
		from++;
	while (to > from && !(c->flags[to - 1] & (CODE_BEGINS | CODE_WITHIN)))
		to--;
	if (from >= to)
		return false;
	*ret_start = g->start + (from - g->at) - (from > g->at && is_returned_to(c, from));
	*ret_end = g->start + (to - g->at);
	return true;
}

void code_frames_add(const struct code_frames *c, struct cfi_entries *e)
{
	for (guint i = 0; c->rules && i < c->gaps->len; i++) {
		struct cfi_fde fde = { .cie = CFI_CIE_CODE, .program_bytes = i, .order = e->fdes->len };

		if (known_part(c, &g_array_index(c->gaps, struct code_gap, i), &fde.start, &fde.end))
			g_array_append_val(e->fdes, fde);
	}
}

void code_frames_run(const struct code_frames *c, const struct cfi_fde *fde,
		     bool (*row)(void *ctx, uint64_t vaddr, uint32_t rule), void *ctx)
{
	const struct code_gap *g = &g_array_index(c->gaps, struct code_gap, fde->program_bytes);
	uint32_t last = UINT32_MAX;

	for (uint64_t vaddr = fde->start; vaddr < fde->end; vaddr++) {
		uint32_t at = g->at + (uint32_t)(vaddr - g->start), rule = c->rules[at];

		if (at + 1 < c->bytes && is_returned_to(c, at + 1) && !(c->flags[at] & CODE_BEGINS))
			rule = c->rules[at + 1];
		else if (c->flags[at] & CODE_WITHIN && !(c->flags[at] & CODE_BEGINS))
			continue;
		if (rule != last && !row(ctx, vaddr, rule))
			return;
		last = rule;
	}
}
