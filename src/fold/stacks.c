/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/stacks.h"

#include <string.h>

#include "abi/unwind_abi.h"
#include "base/clock.h"
#include "base/find.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/module.h"
#include "features/traces/fold.h"
#include "fold/crossed.h"
#include "fold/languages.h"
#include "fold/stacks_part.h"
#include "fold/parts.h"
#include "symbolize/elf/table.h"
#include "symbolize/runtime/memory.h"

#define TRACERS_FRAMES_MAX 12U
/* Limit of addresses whose frames are kept for the next window; each new process adds some hundred. */
#define FRAMES_KEPT_MAX 32768

struct stack_row {
	struct crossed_row row;	/* kernel rows are limited in number and always kept */
	uint32_t node;
};

struct fold_stacks {
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct crossed *nodes;	/* struct stack_row */
	GHashTable *frames;	/* struct frame_key -> frame id, or place with lines */
	uint64_t replaced_cnt;	/* symbolizer_replaced_cnt() when `frames` was filled */
	struct fold_lines *lines;	/* NULL: no lines */
	struct fold_languages *languages;
	struct fold_jit_names *jit_names;
	GPtrArray *waiting;	/* struct offcpu_rec_language whose user stack has not arrived */
	struct fold_contexts *contexts;
	GPtrArray *contexts_waiting;	/* struct offcpu_rec_context, likewise */
	struct offcpu_rec_sleep_path path;	/* for the next kernel stack */
	const struct elf_table *noted;	/* the last file whose build id was noted */
	unsigned max_depth;
	uint32_t pending_user, pending_kernel;	/* nodes that stand for stacks that never arrived */
};

/* An address in a program; pid 0: in the kernel. */
struct frame_key {
	uint64_t ip;
	uint64_t proc_start_ns;
	uint32_t pid, exec_no;
	uint32_t is_return;
};

HASH_KEY(frame_key, struct frame_key, ip, proc_start_ns, pid, exec_no, is_return)

struct fold_stacks *fold_stacks_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth)
{
	struct fold_stacks *f = g_new0(struct fold_stacks, 1);

	f->profile = profile;
	f->symbolizer = symbolizer;
	f->max_depth = max_depth ? max_depth : OFFCPU_MAX_DEPTH;
	f->languages = fold_languages_new(profile);
	f->jit_names = fold_jit_names_new();
	f->waiting = g_ptr_array_new_with_free_func(g_free);
	f->contexts = fold_contexts_new(profile, "/proc");
	f->contexts_waiting = g_ptr_array_new_with_free_func(g_free);
	f->nodes = crossed_new(g_free);
	f->frames = g_hash_table_new_full(frame_key_hash, frame_key_equal, g_free, NULL);
	return f;
}

FREES(fold_stacks_free, struct fold_stacks, f, fold_lines_free(f->lines); fold_languages_free(f->languages);
      fold_jit_names_free(f->jit_names); g_ptr_array_unref(f->waiting); fold_contexts_free(f->contexts);
      g_ptr_array_unref(f->contexts_waiting); crossed_free(f->nodes); g_hash_table_destroy(f->frames))

void fold_stacks_with_lines(struct fold_stacks *f)
{
	symbolizer_keep_lines(f->symbolizer);
	f->lines = fold_lines_new(f->profile, f->symbolizer);
}

/* Adds the file's build id to the recording, so that an unnamed frame can be named elsewhere. */
static void note_build_id(struct fold_stacks *f, const struct symbol *symbol)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];

	if (!symbol->source || symbol->source == f->noted)
		return;
	f->noted = symbol->source;
	hex_text(hex, symbol->source->build_id, symbol->source->build_id_bytes);
	profile_set_build_id(f->profile, symbol->module, hex);
}

static uint32_t spot_of_frame(void *ctx, uint32_t frame)
{
	struct fold_stacks *f = ctx;
	const struct symbol none = { 0 };

	return f->lines ? fold_lines_place(f->lines, &none, frame) : frame;
}

/* The frames that a runtime inlined at this place; returns how many. */
static unsigned inlined_spots(struct fold_stacks *f, const struct symbol *symbol, uint32_t *ret_spots, unsigned room)
{
	unsigned cnt = MIN(symbol->inlined_cnt, room);

	EACH_IN(i, const struct symbol_frame, in, symbol->inlined, cnt) {
		const struct frame frame = { .name = in->name,
					     .module = in->module ? in->module : symbol->module,
					     .offset = in->line,
					     .file = in->file,
					     .line = in->line,
					     .kind = FRAME_USER };

		ret_spots[i] = spot_of_frame(f, profile_frame(f->profile, &frame));
	}
	return cnt;
}

static void find_user(struct fold_stacks *f, const struct offcpu_rec_stack *rec, uint64_t ip, bool is_return,
		      struct symbol *ret)
{
	struct symbol start;

	symbolizer_user(f->symbolizer, rec->pid, rec->ts_ns, ip, is_return, ret);
	/* the return address of a signal handler is a trampoline, not in the middle of a function */
	if (!ret->name && is_return) {
		symbolizer_user(f->symbolizer, rec->pid, rec->ts_ns, ip, false, &start);
		if (start.name && !start.symbol_offset)
			*ret = start;
	}
}

/*
 * Adds the frame's id (with lines: that of its place), after the frames inlined there, and returns how many. There
 * must be room for at least one. code: address of the method's code, if any, else 0.
 */
static unsigned add_spots(struct fold_stacks *f, const struct offcpu_rec_stack *rec, uint64_t ip, uint64_t code,
			  bool is_return, uint32_t *ret_spots, unsigned room)
{
	struct frame_key key = { ip, rec->proc_start_ns, rec->pid, rec->exec_no, is_return };
	struct symbol symbol = { 0 };
	gpointer found;
	unsigned cnt;

	if (g_hash_table_lookup_extended(f->frames, &key, NULL, &found)) {
		*ret_spots = GPOINTER_TO_UINT(found);
		return 1;
	}
	if (!rec->is_user)
		symbolizer_kernel(f->symbolizer, ip, is_return, &symbol);
	else if (code)
		symbolizer_method(f->symbolizer, rec->pid, rec->ts_ns, ip, code, is_return, &symbol);
	else
		find_user(f, rec, ip, is_return, &symbol);
	if (symbol.moves && !symbol.name)
		fold_languages_count_stale(f->languages);
	/*
	 * A named frame is the function, not the instruction: a thread preempted anywhere in a loop has one stack. An
	 * unnamed frame keeps the address, so that it can be named later.
	 */
	struct frame frame = {
		.name = symbol.name, .module = symbol.module,
		.offset = symbol.name ? symbol.offset - symbol.symbol_offset : symbol.offset,
		.file = symbol.file, .line = symbol.line,
		.why = symbol.why, .kind = rec->is_user ? FRAME_USER : FRAME_KERNEL,
	};
	uint32_t id = profile_frame(f->profile, &frame);

	if (symbol.name && !symbol.moves && strcmp(symbol.module, "[jit]") == 0)
		fold_jit_names_note(f->jit_names, id, rec->pid, rec->ts_ns, is_return ? ip - 1 : ip);
	note_build_id(f, &symbol);
	if (f->lines)
		id = fold_lines_place(f->lines, &symbol, id);
	/* Mappings that could not be read may become readable for a later stack. */
	if (frame.why != FRAME_PROCESS_GONE && frame.why != FRAME_NOT_MAPPED && !symbol.moves)
		g_hash_table_insert(f->frames, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(id));
	cnt = inlined_spots(f, &symbol, ret_spots, room - 1);
	ret_spots[cnt] = id;
	return cnt + 1;
}

static uint32_t frame_of(const void *ctx, uint32_t spot)
{
	const struct fold_stacks *f = ctx;

	return f->lines ? fold_lines_frame(f->lines, spot) : spot;
}

static bool is_start(const struct profile *p, uint32_t frame)
{
	const char *name = profile_get_frame(p, frame)->name;

	return name && symbol_is_thread_start(name);
}

/*
 * Did a user stack reach the thread's start? By name, or, because distributions strip __libc_start_call_main() and
 * start_thread(), if the outermost return address is in libc and its callee, main() or the thread's function, is not.
 */
static enum stack_end user_stack_end(const struct profile *p, const uint32_t *frames, unsigned cnt)
{
	if (!cnt)
		return STACK_BROKEN;
	if (is_start(p, frames[cnt - 1]))
		return STACK_COMPLETE;
	if (cnt >= 2 && module_is_libc(profile_get_frame(p, frames[cnt - 1])->module) &&
	    !module_is_libc(profile_get_frame(p, frames[cnt - 2])->module))
		return STACK_COMPLETE;
	return STACK_BROKEN;
}

static enum stack_end stack_end_of(const struct fold_stacks *f, const struct offcpu_rec_stack *rec,
				   const uint32_t *frames, unsigned cnt)
{
	if (rec->end == OFFCPU_WALK_CUT || cnt > f->max_depth)
		return STACK_TRUNCATED;
	if (rec->end == OFFCPU_WALK_COMPLETE)
		return STACK_COMPLETE;
	return rec->is_user ? user_stack_end(f->profile, frames, cnt) : STACK_BROKEN;
}

/* Cuts words that are not code: a walk by frame pointers that went wrong reads arbitrary memory. */
static unsigned cut_astray(const struct profile *p, const uint32_t *frames, unsigned cnt)
{
	while (cnt > 1 && profile_get_frame(p, frames[cnt - 1])->why == FRAME_NOT_MAPPED)
		cnt--;
	return cnt;
}

void fold_stacks_add_path(struct fold_stacks *f, const struct offcpu_rec_sleep_path *rec, size_t size)
{
	if (size >= sizeof(*rec) && rec->cnt <= OFFCPU_SLEEP_PATH_MAX)
		f->path = *rec;
}

static uint64_t kernel_function_start(struct fold_stacks *f, uint64_t ip)
{
	uint64_t start;
	const char *name;

	return symbolizer_kernel_function(f->symbolizer, ip, &name, &start) ? start : 0;
}

static bool is_schedule(struct fold_stacks *f, uint64_t ip)
{
	uint64_t start;
	const char *name;

	return symbolizer_kernel_function(f->symbolizer, ip, &name, &start) &&
	       g_str_has_prefix(name, "__schedule") && (name[10] == '\0' || name[10] == '.');
}

/*
 * Finds the frames between the thread's position in __schedule() and the innermost frame of its walk among the words
 * on its stack. A word counts as a frame only if the call before it calls the function of the previous frame, so a
 * stale word passes only if it fits, too. The chain must end at the walk. Returns how many, innermost first.
 */
static unsigned sleep_path(struct fold_stacks *f, const struct offcpu_rec_stack *rec, uint64_t *ret_ip)
{
	const struct offcpu_rec_sleep_path *path = &f->path;
	uint64_t function = 0;
	unsigned cnt = 0;

	if (path->id != rec->id || !path->cnt || path->word[path->cnt - 1] != rec->ip[0])
		return 0;
	for (unsigned i = 0; i + 1 < path->cnt; i++) {
		if (cnt ? path->callee[i] != function : !is_schedule(f, path->word[i]))
			continue;
		ret_ip[cnt++] = path->word[i];
		function = kernel_function_start(f, path->word[i]);
		if (!function)
			return 0;
	}
	/* exactly, or through a function that jumped instead of calling */
	uint64_t met = path->callee[path->cnt - 1];
	return met == function || (met && kernel_function_start(f, met + 1) == met) ? cnt : 0;
}

/*
 * How many innermost frames of a waker's kernel stack, or of an issuer's of a block request, belong to the tracepoint
 * and our program, where that walk began.
 */
static unsigned tracers_frames(struct fold_stacks *f, const struct offcpu_rec_stack *rec)
{
	static const char *const outermost[] = { "__traceiter_sched_waking",
						 "__bpf_trace_sched_waking",
						 "__bpf_trace_sched_wakeup_template",
						 "bpf_trace_run",
						 "__traceiter_block_",
						 "__bpf_trace_block_" };
	unsigned skip = 0;

	for (unsigned i = 0; i < MIN(rec->depth, TRACERS_FRAMES_MAX); i++) {
		uint64_t start;
		const char *name;

		if (!rec->ip[i])
			skip = i + 1;	/* the BPF programs counted them */
		if (!symbolizer_kernel_function(f->symbolizer, rec->ip[i], &name, &start))
			continue;
		for (size_t k = 0; k < G_N_ELEMENTS(outermost); k++)
			if (g_str_has_prefix(name, outermost[k]))
				skip = i + 1;
	}
	return skip < rec->depth ? skip : 0;
}

/* A thread that has not run yet is at ret_from_fork_asm, which no call returns to. */
static bool is_beginning(const struct fold_stacks *f, const struct offcpu_rec_stack *rec)
{
	struct symbol symbol;

	if (rec->is_user || rec->depth != 1)
		return false;
	symbolizer_kernel(f->symbolizer, rec->ip[0], false, &symbol);
	return symbol.name && !symbol.symbol_offset;
}

static void put_node(struct fold_stacks *f, uint64_t id, bool is_user, uint32_t node)
{
	struct stack_row *r = g_new(struct stack_row, 1);

	*r = (struct stack_row){ .row = { .id = id, .is_kept = !is_user }, .node = node };
	crossed_add(f->nodes, r);
}

/* Stores the stack as a node, or, with lines, for later. */
static void put_stack(struct fold_stacks *f, uint64_t id, bool is_user, const uint32_t *spots, unsigned cnt,
		      enum stack_end end)
{
	uint32_t node = 0;

	if (f->lines) {
		fold_lines_stack(f->lines, id, spots, cnt, end);
	} else {
		for (unsigned i = cnt; i-- > 0;)
			node = profile_node(f->profile, node, spots[i]);
		g_array_index(f->profile->nodes, struct stack_node, node).end = (uint8_t)end;
	}
	put_node(f, id, is_user, node);
}

void fold_stacks_append_holder(struct fold_stacks *f, const struct offcpu_rec_language *rec, GString *s)
{
	fold_languages_append_holder(f->languages, rec, s);
}

/* False: its user stack has not arrived. */
static bool put_language(struct fold_stacks *f, const struct offcpu_rec_language *rec)
{
	uint32_t spots[FOLD_LANGUAGE_SPOTS];
	const struct fold_spots by = { frame_of, spot_of_frame, f };
	enum stack_end end;
	unsigned cnt = fold_languages_merge(f->languages, rec, &by, spots, &end);

	if (!cnt)
		return false;
	fold_jit_names_merged(f->jit_names, rec->id, rec->ustack);
	put_stack(f, rec->id, true, spots, MIN(cnt, f->max_depth), cnt > f->max_depth ? STACK_TRUNCATED : end);
	return true;
}

/* A user stack has arrived after its interpreter's frames. */
static void put_waiting(struct fold_stacks *f, uint64_t ustack)
{
	for (guint i = f->waiting->len; i-- > 0;) {
		const struct offcpu_rec_language *rec = g_ptr_array_index(f->waiting, i);

		if (rec->ustack == ustack && (crossed_find(f->nodes, rec->id) || put_language(f, rec)))
			g_ptr_array_remove_index_fast(f->waiting, i);
	}
}

/* Uses the plain user stack where the two could not be merged. */
static void give_up(struct fold_stacks *f, const struct offcpu_rec_language *rec, uint32_t node)
{
	fold_languages_count_lost(f->languages);
	put_node(f, rec->id, true, node);
}

static void give_up_waiting(struct fold_stacks *f)
{
	uint32_t node;

	EACH_POINTER(i, const struct offcpu_rec_language, rec, f->waiting)
		if (!crossed_find(f->nodes, rec->id) && fold_stacks_find(f, rec->ustack, &node))
			give_up(f, rec, node);
	g_ptr_array_set_size(f->waiting, 0);
}

void fold_stacks_add_language(struct fold_stacks *f, const struct offcpu_rec_language *rec, size_t size)
{
	uint32_t node;

	if (size < offsetof(struct offcpu_rec_language, frame) || rec->depth == 0 ||
	    rec->depth > OFFCPU_LANGUAGE_DEPTH ||
	    size < offsetof(struct offcpu_rec_language, frame) + rec->depth * sizeof(rec->frame[0])) {
		fold_drop_record(f->profile);
		return;
	}
	if (crossed_find(f->nodes, rec->id) || put_language(f, rec))
		return;
	if (!f->lines && fold_stacks_find(f, rec->ustack, &node))
		give_up(f, rec, node);
	else
		g_ptr_array_add(f->waiting, g_memdup2(rec, size));
}

/* Appends the frames of the stack that ends at `node` below the context's frames. */
static uint32_t graft(struct fold_stacks *f, const uint32_t *outer, unsigned outer_cnt, uint32_t node)
{
	uint32_t frames[PROFILE_DEPTH_MAX], at = 0;
	uint8_t end = profile_get_node(f->profile, node)->end;
	unsigned cnt = 0;

	for (; node && cnt < G_N_ELEMENTS(frames); node = profile_get_node(f->profile, node)->parent)
		frames[cnt++] = profile_get_node(f->profile, node)->frame;
	for (unsigned i = 0; i < outer_cnt; i++)
		at = profile_node(f->profile, at, outer[i]);
	while (cnt-- > 0)
		at = profile_node(f->profile, at, frames[cnt]);
	g_array_index(f->profile->nodes, struct stack_node, at).end = end;
	return at;
}

/* node: its user stack. */
static void put_context(struct fold_stacks *f, const struct offcpu_rec_context *rec, uint32_t node)
{
	uint32_t outer[FOLD_CONTEXT_FRAMES];
	unsigned cnt = fold_contexts_frames(f->contexts, rec, outer);

	fold_jit_names_merged(f->jit_names, rec->id, rec->ustack);
	put_node(f, rec->id, true, graft(f, outer, cnt, node));
}

const char *fold_stacks_route(struct fold_stacks *f, const struct offcpu_rec_context *rec, size_t size,
			      GString *ret_route)
{
	uint32_t outer[FOLD_CONTEXT_FRAMES], at = 0;
	unsigned cnt;

	if (!fold_contexts_is_sound(rec, size))
		return NULL;
	cnt = fold_contexts_frames(f->contexts, rec, outer);
	for (unsigned i = 0; i < cnt; i++)
		at = profile_node(f->profile, at, outer[i]);
	context_append_route(f->profile, at, ret_route);
	if (!crossed_find(f->nodes, rec->id))
		put_node(f, rec->id, true, at);
	return fold_contexts_service(f->contexts, rec);
}

void fold_stacks_add_context(struct fold_stacks *f, const struct offcpu_rec_context *rec, size_t size)
{
	uint32_t node;

	if (!fold_contexts_is_sound(rec, size)) {
		fold_drop_record(f->profile);
		return;
	}
	if (crossed_find(f->nodes, rec->id))
		return;
	if (!f->lines && fold_stacks_find(f, rec->ustack, &node))
		put_context(f, rec, node);
	else
		g_ptr_array_add(f->contexts_waiting, g_memdup2(rec, sizeof(*rec)));
}

/* All user stacks have nodes now. One that never arrived is shown as "pending". */
static void put_waiting_contexts(struct fold_stacks *f)
{
	EACH_POINTER(i, const struct offcpu_rec_context, rec, f->contexts_waiting)
		if (!crossed_find(f->nodes, rec->id))
			put_context(f, rec, fold_stacks_node(f, rec->ustack, FRAME_USER));
	g_ptr_array_set_size(f->contexts_waiting, 0);
}

void fold_stacks_look_at_names(struct fold_stacks *f)
{
	fold_jit_names_look(f->jit_names, f->symbolizer, f->profile);
}

uint64_t fold_stacks_id_at(struct fold_stacks *f, uint64_t id, uint64_t at_ns)
{
	return fold_jit_names_id_at(f->jit_names, id, at_ns);
}

/* Forgets names of addresses where other code lies now. */
static void forget_replaced(struct fold_stacks *f)
{
	uint64_t cnt = symbolizer_replaced_cnt(f->symbolizer);

	if (cnt != f->replaced_cnt) {
		g_hash_table_remove_all(f->frames);
		fold_stacks_look_at_names(f);
	}
	f->replaced_cnt = cnt;
}

void fold_stacks_poll_names(struct fold_stacks *f)
{
	fold_jit_names_poll(f->jit_names, f->symbolizer);
	forget_replaced(f);
}

/*
 * After a library is loaded in place of another one, the unwinder uses the old table until it is updated, and may
 * skip callers.
 */
static bool went_by_old_tables(struct fold_stacks *f, const struct offcpu_rec_stack *rec)
{
	if (!rec->is_user || rec->end != OFFCPU_WALK_COMPLETE || !f->replaced_cnt)
		return false;
	for (unsigned i = 0; i < rec->depth; i++)
		if (symbolizer_replaced_since(f->symbolizer, rec->pid, rec->ts_ns, rec->ip[i] - (i > 0),
					      rec->tables_ns))
			return true;
	return false;
}

/* Is this spot a method's, and the one before it its code address? */
static bool code_before(const struct offcpu_rec_stack *rec, unsigned i)
{
	return rec->is_user && i < rec->depth && unwind_has_code(rec->ip[i]) && !unwind_is_method(rec->ip[i - 1]);
}

void fold_stacks_add(struct fold_stacks *f, const struct offcpu_rec_stack *rec, size_t size)
{
	uint32_t frames[2 * OFFCPU_MAX_DEPTH + OFFCPU_SLEEP_PATH_MAX], spots[G_N_ELEMENTS(frames)];
	const struct fold_spots by = { frame_of, spot_of_frame, f };
	uint64_t inner[OFFCPU_SLEEP_PATH_MAX];
	unsigned cnt = 0;

	if (size < offsetof(struct offcpu_rec_stack, ip) || rec->depth == 0 ||
	    rec->depth > OFFCPU_MAX_DEPTH ||
	    size < offsetof(struct offcpu_rec_stack, ip) + rec->depth * sizeof(rec->ip[0])) {
		fold_drop_record(f->profile);
		return;
	}
	if (crossed_find(f->nodes, rec->id))
		return;
	if (rec->is_user)
		symbolizer_poll_jit(f->symbolizer, rec->pid, rec->ts_ns);
	forget_replaced(f);
	bool is_exact = rec->is_user || rec->is_exact || is_beginning(f, rec);
	unsigned inner_cnt = rec->is_user ? 0 : sleep_path(f, rec, inner);
	memory_begin_names();
	for (unsigned i = 0; i < inner_cnt; i++)
		cnt += add_spots(f, rec, inner[i], 0, true, spots + cnt, 1);
	for (unsigned i = rec->is_user ? 0 : tracers_frames(f, rec); i < rec->depth && cnt < G_N_ELEMENTS(spots); i++) {
		bool is_return = i > 0 || !is_exact;
		uint64_t code = code_before(rec, i + 1) ? rec->ip[i++] : 0;

		cnt += add_spots(f, rec, rec->ip[i], code, is_return, spots + cnt, G_N_ELEMENTS(spots) - cnt);
	}
	memory_end_names();
	for (unsigned i = 0; i < cnt; i++)
		frames[i] = frame_of(f, spots[i]);
	unsigned mapped_cnt = rec->is_user ? cut_astray(f->profile, frames, cnt) : cnt;
	bool is_astray = mapped_cnt < cnt && !is_start(f->profile, frames[mapped_cnt - 1]);
	bool is_broken = is_astray || went_by_old_tables(f, rec);
	enum stack_end end = is_broken ? STACK_BROKEN : stack_end_of(f, rec, frames, mapped_cnt);
	cnt = MIN(mapped_cnt, f->max_depth);
	fold_jit_names_stack(f->jit_names, rec->id, rec->ts_ns, frames, cnt);
	if (rec->is_user)
		fold_languages_native(f->languages, &(struct fold_stack_spots){
							    .id = rec->id,
							    .spots = spots,
							    .frames = frames,
							    .sp = size >= sizeof(*rec) ? rec->sp : NULL,
							    .cnt = cnt,
							    .end = end });
	cnt = fold_interpreter_runs(f->profile, &by, fold_methods_module(f->profile, rec, frames, cnt), spots, cnt);
	put_stack(f, rec->id, rec->is_user, spots, cnt, end);
	if (rec->is_user && f->waiting->len)
		put_waiting(f, rec->id);
}

/* The stand-in for a stack that never arrived: one frame that says "pending". */
static uint32_t pending_node(struct fold_stacks *f, uint8_t kind)
{
	uint32_t *node = kind == FRAME_USER ? &f->pending_user : &f->pending_kernel;
	struct frame frame = { .kind = kind, .why = FRAME_PENDING };

	if (!*node) {
		*node = profile_node(f->profile, 0, profile_frame(f->profile, &frame));
		g_array_index(f->profile->nodes, struct stack_node, *node).end = STACK_PENDING;
	}
	return *node;
}

bool fold_stacks_find(const struct fold_stacks *f, uint64_t id, uint32_t *ret_node)
{
	const struct fold_jit_variant *v = fold_jit_names_variant(f->jit_names, id);
	const struct stack_row *r = crossed_find(f->nodes, v ? v->id : id);

	if (r)
		*ret_node = v ? fold_jit_names_node(f->jit_names, f->profile, r->node, v->at_ns) : r->node;
	return r;
}

uint32_t fold_stacks_node(struct fold_stacks *f, uint64_t id, uint8_t kind)
{
	uint32_t node;

	if (!id)
		return 0;
	return fold_stacks_find(f, id, &node) ? node : pending_node(f, kind);
}

void fold_stacks_next_window(struct fold_stacks *f)
{
	f->noted = NULL;	/* it may be freed */
	/* With lines the entries are places, which are no cache. */
	if (!f->lines && g_hash_table_size(f->frames) > FRAMES_KEPT_MAX)
		g_hash_table_remove_all(f->frames);
}

static void put_lined(uint64_t id, uint32_t node, void *data)
{
	struct fold_stacks *f = data;

	put_node(f, id, true, node);
}

static bool is_known(uint64_t id, void *data)
{
	const struct fold_stacks *f = data;

	return crossed_has(f->nodes, id);
}

void fold_stacks_forget(struct fold_stacks *f)
{
	crossed_forget(f->nodes);
	fold_languages_forget(f->languages, is_known, f);
}

uint32_t fold_stacks_take(struct fold_stacks *f, struct offcpu_rec_stack *rec, uint32_t pid, uint64_t space,
			  bool is_user)
{
	uint64_t id = hash_more(space, is_user ? pid : 0);

	for (uint32_t i = 0; i < rec->depth; i++)
		id = hash_more(id, rec->ip[i]);
	rec->type = OFFCPU_REC_STACK;
	rec->id = (id * HASH_MIX) | 1;
	rec->ts_ns = clock_ns(CLOCK_MONOTONIC);
	rec->pid = is_user ? pid : 0;
	rec->proc_start_ns = is_user ? space : 0;
	rec->exec_no = 0;
	rec->is_user = is_user;
	fold_stacks_add(f, rec, sizeof(*rec));
	return fold_stacks_node(f, rec->id, is_user ? FRAME_USER : FRAME_KERNEL);
}

static void keep_row(void *row, void *compact)
{
	struct stack_row *r = row;

	r->node = profile_compact_node(compact, r->node);
}

void fold_stacks_keep(struct fold_stacks *f, struct profile_compact *c)
{
	g_hash_table_remove_all(f->frames);
	fold_jit_names_forget(f->jit_names);
	crossed_for_each(f->nodes, keep_row, c);
	fold_languages_keep(f->languages, c);
	f->pending_user = profile_compact_node(c, f->pending_user);
	f->pending_kernel = profile_compact_node(c, f->pending_kernel);
}

void fold_stacks_finish(struct fold_stacks *f)
{
	if (f->lines)
		fold_lines_finish(f->lines, put_lined, f);
	give_up_waiting(f);
	put_waiting_contexts(f);
}

uint64_t fold_stacks_cnt(const struct fold_stacks *f)
{
	return crossed_cnt(f->nodes);
}
