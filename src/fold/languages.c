/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/languages.h"

#include <inttypes.h>
#include <string.h>

#include "abi/unwind_abi.h"
#include "base/hash.h"
#include "base/module.h"
#include "fold/parts.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

static uint32_t run_frame(struct profile *p, const char *module)
{
	g_autofree char *name = g_strdup_printf("[%s]", module_base_name(module));
	const struct frame f = { .name = name, .module = module, .kind = FRAME_USER };

	return profile_frame(p, &f);
}

const char *fold_methods_module(const struct profile *p, const struct offcpu_rec_stack *rec, const uint32_t *frames,
				unsigned cnt)
{
	bool has_methods = false;

	for (unsigned i = 0; rec->is_user && i < rec->depth && !has_methods; i++)
		has_methods = unwind_is_method(rec->ip[i]);
	for (unsigned i = 0; has_methods && i < cnt; i++) {
		const char *module = profile_get_frame(p, frames[i])->module;

		if (module && runtime_of_file(module) != RUNTIME_CNT)
			return module;
	}
	return NULL;
}

static bool is_bare(const struct frame *f, const char *module)
{
	return f->kind == FRAME_USER && !f->name && f->module == module;	/* module strings are interned */
}

unsigned fold_interpreter_runs(struct profile *p, const struct fold_spots *by, const char *module, uint32_t *spots,
			       unsigned cnt)
{
	bool is_run = false;
	unsigned kept = 0;

	for (unsigned i = 0; module && i < cnt; i++) {
		bool is_next = is_bare(profile_get_frame(p, by->frame_of(by->ctx, spots[i])), module);

		if (!is_next)
			spots[kept++] = spots[i];
		else if (!is_run)
			spots[kept++] = by->spot_of(by->ctx, run_frame(p, module));
		is_run = is_next;
	}
	return module ? kept : cnt;
}

/* A user stack; spots that are calls of the interpreter get marked. */
struct native {
	uint64_t id;
	uint16_t cnt;
	uint8_t end;
	bool has_sp;
	/* then their stack positions, if has_sp; then addresses of unnamed spots in Ruby's file, else 0 */
	uint32_t spots[];
};

#define HOLDER_BYTES_MAX 512	/* the program chooses the names */
#define SPOT_IS_EVAL (1u << 31)
#define SPOT_MAY_CATCH (1u << 30)
#define SPOT_MARKS (SPOT_IS_EVAL | SPOT_MAY_CATCH)
#define DOCATCH_FRAMES 2

struct fold_languages {
	struct profile *profile;
	GHashTable *natives;	/* struct native, by its id */
	struct python_code *python;
	struct ruby_code *ruby;
	struct php_code *php;
	struct perl_code *perl;
};

static void begin_codes(struct fold_languages *l)
{
	l->python = python_code_new();
	l->ruby = ruby_code_new();
	l->php = php_code_new();
	l->perl = perl_code_new();
}

static void free_codes(struct fold_languages *l)
{
	python_code_free(l->python);
	ruby_code_free(l->ruby);
	php_code_free(l->php);
	perl_code_free(l->perl);
}

struct fold_languages *fold_languages_new(struct profile *profile)
{
	struct fold_languages *l = g_new0(struct fold_languages, 1);

	l->profile = profile;
	l->natives = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	begin_codes(l);
	return l;
}

FREES(fold_languages_free, struct fold_languages, l, g_hash_table_destroy(l->natives); free_codes(l))

/* The function that runs CPython's, Ruby's, PHP's or Perl's code. Compilers split CPython's into parts. */
static bool is_eval(const struct frame *f)
{
	static const char *const names[] = { "rb_vm_exec", "execute_ex", "Perl_runops_standard", "Perl_runops_debug", NULL };

	return f->name && (g_str_has_prefix(f->name, "_PyEval_EvalFrameDefault") || g_strv_contains(names, f->name));
}

static uint32_t address_in_ruby(const struct frame *f)
{
	return !f->name && f->offset <= UINT32_MAX && runtime_of_file(f->module) == RUNTIME_RUBY ? (uint32_t)f->offset
												 : 0;
}

/*
 * How many innermost frames belong to the running greenlet. A greenlet begins in greenlet's own file. Frames further
 * out belong to others or are stale (greenlet copies stacks away and back). The interpreter's frames end there, too.
 */
static unsigned count_own(const struct fold_languages *l, const struct fold_stack_spots *stack)
{
	for (unsigned i = 0; i < stack->cnt; i++) {
		const char *module = profile_get_frame(l->profile, stack->frames[i])->module;

		if (module && g_str_has_prefix(module_base_name(module), "_greenlet."))
			return i + 1;
	}
	return stack->cnt;
}

static bool runs_perl(const struct frame *f)
{
	return f->name && g_str_has_prefix(f->name, "Perl_runops_");
}

/*
 * Perl's eval in a function that C called runs Perl again within the same call, through docatch(). That lies near the
 * next function and, unlike most of the interpreter's functions, usually has no name.
 */
static bool may_be_docatch(const struct fold_languages *l, const struct fold_stack_spots *stack, unsigned i)
{
	if (!runs_perl(profile_get_frame(l->profile, stack->frames[i])))
		return false;
	for (unsigned at = i + 1; at < stack->cnt && at <= i + DOCATCH_FRAMES + 1; at++) {
		const struct frame *f = profile_get_frame(l->profile, stack->frames[at]);

		if (runs_perl(f))
			return at > i + 1;
		if (runtime_of_file(f->module) != RUNTIME_PERL ||
		    (f->name && !strstr(f->name, "docatch") && !g_str_has_prefix(f->name, "Perl_pp_")))
			return false;
	}
	return false;
}

void fold_languages_native(struct fold_languages *l, const struct fold_stack_spots *stack)
{
	struct native *n;
	unsigned cnt, i = 0;

	while (i < stack->cnt && !is_eval(profile_get_frame(l->profile, stack->frames[i])))
		i++;
	if (i == stack->cnt && !stack->sp)
		return;
	cnt = count_own(l, stack);
	if (i >= cnt && !stack->sp)
		return;
	n = g_malloc(sizeof(*n) + 3 * cnt * sizeof(n->spots[0]));
	*n = (struct native){ .id = stack->id, .cnt = (uint16_t)cnt, .has_sp = stack->sp,
			      .end = cnt < stack->cnt ? STACK_COMPLETE : (uint8_t)stack->end };
	if (stack->sp)
		memcpy(n->spots + cnt, stack->sp, cnt * sizeof(n->spots[0]));
	for (i = 0; i < cnt; i++) {
		const struct frame *f = profile_get_frame(l->profile, stack->frames[i]);

		n->spots[i] = stack->spots[i] | (is_eval(f) ? SPOT_IS_EVAL : 0) |
			      (may_be_docatch(l, stack, i) ? SPOT_MAY_CATCH : 0);
		n->spots[2 * cnt + i] = address_in_ruby(f);
	}
	g_hash_table_replace(l->natives, &n->id, n);
}

void fold_languages_forget(struct fold_languages *l, fold_known_fn is_known, void *data)
{
	GHashTableIter iter;
	gpointer native;

	g_hash_table_iter_init(&iter, l->natives);
	while (g_hash_table_iter_next(&iter, NULL, &native))
		if (!is_known(((const struct native *)native)->id, data))
			g_hash_table_iter_remove(&iter);
	/* Most entries are of ended programs. Others are read again when needed. */
	free_codes(l);
	begin_codes(l);
}

void fold_languages_keep(struct fold_languages *l, struct profile_compact *c)
{
	EACH_VALUE(struct native, n, l->natives) {
		for (unsigned i = 0; i < n->cnt; i++)
			n->spots[i] = profile_compact_frame(c, n->spots[i] & ~SPOT_MARKS) | (n->spots[i] & SPOT_MARKS);
	}
}

void fold_languages_count_stale(struct fold_languages *l)
{
	profile_add_loss(l->profile, "interpreter_stale",
			 "an interpreter's frame has no name: its process had ended, or the function was gone", 1, 0);
}

static bool read_name(struct fold_languages *l, const struct language_place *place, struct language_frame *ret)
{
	switch (OFFCPU_LANGUAGE_KIND(place->version)) {
	case OFFCPU_LANGUAGE_RUBY:
		return ruby_code_name(l->ruby, place, ret);
	case OFFCPU_LANGUAGE_PHP:
		return php_code_name(l->php, place, ret);
	case OFFCPU_LANGUAGE_PERL:
		return perl_code_name(l->perl, place, ret);
	default:
		return python_code_name(l->python, place, ret);
	}
}

/* Shown in place of a file. */
static const char *language_name(const struct offcpu_rec_language *rec)
{
	switch (OFFCPU_LANGUAGE_KIND(rec->version)) {
	case OFFCPU_LANGUAGE_RUBY:
		return "[ruby]";
	case OFFCPU_LANGUAGE_PHP:
		return "[php]";
	case OFFCPU_LANGUAGE_PERL:
		return "[perl]";
	default:
		return "[python]";
	}
}

static struct language_place place_of(const struct offcpu_rec_language *rec, unsigned i)
{
	return (struct language_place){
		.version = rec->version, .pid = rec->pid, .code_type = rec->code_type,
		.space = fold_space(rec->proc_start_ns, rec->pid, rec->exec_no),
		.code = rec->frame[i].code & ~(uint64_t)OFFCPU_LANGUAGE_ENTRY, .instr = rec->frame[i].instr,
		.hashes = rec->frame[i].entry_at, .is_outermost = i + 1 == rec->depth && !rec->is_cut,
	};
}

/* False: it cannot be read any more. */
static bool name_frame(struct fold_languages *l, const struct offcpu_rec_language *rec, unsigned i, struct frame *ret)
{
	const struct language_place place = place_of(rec, i);
	struct language_frame found;

	if (!read_name(l, &place, &found))
		return false;
	*ret = (struct frame){ .name = found.name, .module = found.file ? found.file : language_name(rec), .offset = found.first_line,
			       .file = found.file, .line = found.line, .kind = FRAME_USER };
	return true;
}

/* The frame of an interpreter's function. Without a readable name it keeps the address. */
static uint32_t frame_of(struct fold_languages *l, const struct offcpu_rec_language *rec, unsigned i)
{
	struct frame f = { .module = language_name(rec),
			   .offset = rec->frame[i].code & ~(uint64_t)OFFCPU_LANGUAGE_ENTRY,
			   .kind = FRAME_USER,
			   .why = FRAME_PROCESS_GONE };

	if (!name_frame(l, rec, i, &f))
		fold_languages_count_stale(l);
	return profile_frame(l->profile, &f);
}

/* Perl's main program, which C calls. Not while it is compiled, nor in other threads. */
static bool is_main(const struct offcpu_rec_language *rec, unsigned i)
{
	return OFFCPU_LANGUAGE_KIND(rec->version) == OFFCPU_LANGUAGE_PERL && rec->frame[i].code == OFFCPU_PERL_MAIN;
}

static unsigned count_groups(const struct offcpu_rec_language *rec)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < rec->depth; i++)
		cnt += (rec->frame[i].code & OFFCPU_LANGUAGE_ENTRY) || is_main(rec, i);
	return cnt;
}

/*
 * From Python 3.12 on, the frame after the last of a call lies in the C frame that made the call. So that C frame is
 * found by its position, even without a name (a tail-calling interpreter, stripped).
 */
static bool mark_by_entries(const struct native *n, const struct offcpu_rec_language *rec, bool *is_eval)
{
	const uint32_t *sp = n->spots + n->cnt;
	unsigned at = 0;

	if (!n->has_sp || OFFCPU_LANGUAGE_KIND(rec->version) != OFFCPU_LANGUAGE_PYTHON)
		return false;
	for (unsigned i = 0; i < rec->depth; i++) {
		uint32_t place = rec->frame[i].entry_at;

		if (!(rec->frame[i].code & OFFCPU_LANGUAGE_ENTRY))
			continue;
		while (at + 1 < n->cnt && sp[at + 1] <= place)
			at++;
		if (at + 1 == n->cnt && n->end != STACK_COMPLETE)
			return true;	/* frames further out were not walked */
		if (!place || sp[at] > place || is_eval[at])
			return false;
		is_eval[at] = true;
	}
	return true;
}

/* Returns how many were marked. */
static unsigned mark_by_names(const struct native *n, bool *is_eval)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < n->cnt; i++)
		cnt += is_eval[i] = n->spots[i] & SPOT_IS_EVAL;
	return cnt;
}

/* Where Ruby's file is stripped: finds the function that executes instructions by its code. */
static unsigned mark_by_executor(struct fold_languages *l, const struct native *n,
				 const struct offcpu_rec_language *rec, bool *is_eval)
{
	const struct language_place place = place_of(rec, 0);
	struct ruby_executor executor;
	unsigned cnt = 0;

	if (OFFCPU_LANGUAGE_KIND(rec->version) != OFFCPU_LANGUAGE_RUBY ||
	    !ruby_code_executor(l->ruby, &place, &executor))
		return 0;
	for (unsigned i = 0; i < n->cnt; i++) {
		uint32_t addr = n->spots[2 * n->cnt + i];

		cnt += is_eval[i] = addr && addr >= executor.start && addr <= executor.end;
	}
	return cnt;
}

/* Either stack may be truncated, but two complete ones must agree. */
static bool fits(const struct native *n, const struct offcpu_rec_language *rec, unsigned evals)
{
	unsigned groups = count_groups(rec);

	if (evals > groups)
		return rec->is_cut;
	return evals == groups || n->end == STACK_TRUNCATED || n->end == STACK_BROKEN ||
	       (evals + 1 == groups && is_main(rec, rec->depth - 1));
}

/* Skips interpreter calls made within the outer call. Returns how many calls are left. */
static unsigned pass_catches(const struct native *n, const struct offcpu_rec_language *rec, bool *is_eval,
			     bool *is_passed, unsigned evals)
{
	unsigned catches = 0;

	for (unsigned i = 0; i < n->cnt; i++)
		catches += (n->spots[i] & SPOT_MAY_CATCH) != 0;
	if (!catches || (evals <= count_groups(rec) && n->end != STACK_TRUNCATED) || !fits(n, rec, evals - catches))
		return evals;
	for (unsigned i = 0; i < n->cnt; i++) {
		is_passed[i] = n->spots[i] & SPOT_MAY_CATCH || (i && is_passed[i - 1] && !is_eval[i]);
		is_eval[i] &= !is_passed[i];
	}
	return evals - catches;
}

/*
 * A thread may be preempted when a call from C has no interpreter frame yet, or no more. Then there is one call more
 * than groups of frames. Positions on the stack show which; by names it can only be the innermost call.
 */
static bool find_evals(struct fold_languages *l, const struct native *n, const struct offcpu_rec_language *rec,
		       bool *is_eval, bool *is_passed)
{
	unsigned cnt;
	bool is_begun;

	if (!rec->is_cut && mark_by_entries(n, rec, is_eval))
		return true;
	memset(is_eval, 0, n->cnt * sizeof(*is_eval));
	cnt = pass_catches(n, rec, is_eval, is_passed, mark_by_names(n, is_eval));
	if (!cnt)
		cnt = mark_by_executor(l, n, rec, is_eval);
	if (!cnt)
		return rec->is_cut && mark_by_entries(n, rec, is_eval);
	is_begun = is_eval[0] && cnt == count_groups(rec) + 1 && !rec->is_cut;
	is_eval[0] &= !is_begun;
	return is_begun || fits(n, rec, cnt);
}

unsigned fold_languages_merge(struct fold_languages *l, const struct offcpu_rec_language *rec,
			      const struct fold_spots *by, uint32_t *ret_spots, enum stack_end *ret_end)
{
	const char *module = NULL;	/* the interpreter's file, which contains these calls */
	const struct native *n = g_hash_table_lookup(l->natives, &rec->ustack);
	bool is_mergeable, is_eval[OFFCPU_MAX_DEPTH] = { false }, is_passed[OFFCPU_MAX_DEPTH] = { false };
	unsigned cnt = 0, at = 0;

	if (!n)
		return 0;
	is_mergeable = find_evals(l, n, rec, is_eval, is_passed);
	if (!is_mergeable)
		fold_languages_count_lost(l);
	*ret_end = (enum stack_end)n->end;
	memory_begin_names();	/* names of neighbouring frames lie near each other in memory */
	for (unsigned i = 0; i < n->cnt && cnt < FOLD_LANGUAGE_SPOTS; i++) {
		bool is_entry = !is_mergeable || !is_eval[i] || at >= rec->depth;
		uint32_t own = n->spots[i] & ~SPOT_MARKS;

		if (is_passed[i])
			continue;
		if (is_entry)
			ret_spots[cnt++] = own;
		else
			module = profile_get_frame(l->profile, by->frame_of(by->ctx, own))->module;
		while (!is_entry && at < rec->depth && cnt < FOLD_LANGUAGE_SPOTS) {
			is_entry = rec->frame[at].code & OFFCPU_LANGUAGE_ENTRY;
			ret_spots[cnt++] = by->spot_of(by->ctx, frame_of(l, rec, at++));
		}
	}
	memory_end_names();
	return fold_interpreter_runs(l->profile, by, module, ret_spots, cnt);
}

/* A file such as ".../lib/python3.11/queue.py", but not below ".../lib/python3.11/site-packages". */
static bool is_pythons_own(const char *file)
{
	const char *at = file ? strstr(file, "/lib/python3.") : NULL;

	return (at && !strstr(at, "-packages/")) || (file && file[0] == '<');
}

void fold_languages_append_holder(struct fold_languages *l, const struct offcpu_rec_language *rec, GString *s)
{
	uint32_t frames[OFFCPU_GIL_DEPTH];	/* a copy, because a new frame may move the others */
	unsigned cnt = 0, first = 0;

	memory_begin_names();
	for (unsigned i = 0; i < MIN(rec->depth, OFFCPU_GIL_DEPTH); i++) {
		struct frame f;

		/* its frames may have changed since */
		if (name_frame(l, rec, i, &f))
			frames[cnt++] = profile_frame(l->profile, &f);
	}
	memory_end_names();
	while (first < cnt && is_pythons_own(profile_get_frame(l->profile, frames[first])->file))
		first++;
	for (unsigned i = first < cnt ? first : 0; i < cnt; i++) {
		const struct frame *f = profile_get_frame(l->profile, frames[i]);
		const char *file = module_base_name(f->file);

		if (s->len + strlen(f->name) + strlen(file) > HOLDER_BYTES_MAX)
			break;
		g_string_append_printf(s, "%s%s (%s:%" PRIu32 ")", s->len ? " < " : "", f->name, file, f->line);
	}
}

void fold_languages_count_lost(struct fold_languages *l)
{
	profile_add_loss(l->profile, "interpreter_unmerged",
			 "an interpreter's frames do not fit into their user stack: it is shown without them", 1, 0);
}
