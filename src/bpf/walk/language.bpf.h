/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_LANGUAGE_BPF_H
#define BPF_WALK_LANGUAGE_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/walk/pages.bpf.h"
#include "bpf/walk/unwind.bpf.h"

/*
 * The frames of an interpreter, read with the user stack from the thread's own list, which does not change while it is
 * off CPU. For other programs the cost is one check of the thread's slot.
 *
 * The list and the user stack together are one stack: its id is a hash of both, and waits are summed under that.
 */

#define PERL_CONTEXTS 1024	/* most contexts are loops and blocks */

struct language_walk {
	const struct offcpu_language *l;
	struct walk_state *at;
	struct language_scratch *s;
};

static __always_inline bool language_word(struct walk_state *at, __u64 addr, __u64 *ret)
{
	if (at->view.pgd)
		return viewed_word(&at->view, addr, ret);
	return !(addr & 7) && !bpf_probe_read_user(ret, sizeof(*ret), (void *)addr);
}

/* A field of 1, 4 or 8 bytes, within an aligned word. */
static __always_inline bool language_field(struct walk_state *at, __u64 addr, __u32 bytes, __u64 *ret)
{
	__u64 word;

	if (!language_word(at, addr & ~7ULL, &word))
		return false;
	word >>= (addr & 7) * 8;
	*ret = bytes == 8 ? word : word & ((1ULL << bytes * 8) - 1);
	return true;
}

/* 0: not on the stack. */
static __always_inline __u32 entry_place(__u64 above_sp)
{
	return above_sp < 1U << 31 ? above_sp : 0;
}

/* Identifies a PHP function, in case another one takes its place; 0: it has no name, or that is unreadable. */
static __always_inline __u64 text_hash(struct walk_state *at, __u64 text_at)
{
	__u64 text, hash;

	return language_word(at, text_at, &text) && text && language_word(at, text + OFFCPU_PHP_HASH_AT, &hash) ? hash
														: 0;
}

/* Is a PHP frame the first of its call? C functions never are. */
static __always_inline bool php_entry(struct walk_state *at, const struct offcpu_language *l, __u64 code, __u64 mark,
				      __u64 *instr, __u32 *ret_hash)
{
	__u64 type, hash = text_hash(at, code + l->name_at);
	bool is_own = language_field(at, code, 1, &type) && type != OFFCPU_PHP_INTERNAL;

	if (is_own)
		hash ^= text_hash(at, code + l->file_at);
	else
		*instr = 0;
	*ret_hash = (__u32)(hash ^ hash >> 32);
	return is_own && mark & l->entry_value;
}

/* Ruby: the next frame is adjacent; the last one ends at the stack's end. */
static __always_inline bool next_in_array(struct language_walk *w, __u64 frame, __u64 *ret_mark)
{
	struct language_scratch *s = w->s;
	__u64 locals;

	s->frame = frame + w->l->frame_bytes < s->end ? frame + w->l->frame_bytes : 0;
	return language_word(w->at, frame + w->l->entry_at, &locals) && language_word(w->at, locals, ret_mark);
}

/* A frame of the interpreter itself, or of a C function without code. */
static __always_inline bool is_no_frame(const struct offcpu_language *l, __u64 code, __u64 instr, __u64 mark)
{
	if (l->entry == OFFCPU_ENTRY_BIT)
		return !code;
	return l->entry == OFFCPU_ENTRY_BEHIND &&
	       (!code || !instr || mark & OFFCPU_RUBY_IS_C || (mark & OFFCPU_RUBY_KIND) == OFFCPU_RUBY_IS_DUMMY);
}

static __always_inline bool begins_call(const struct offcpu_language *l, __u64 mark)
{
	return l->entry == OFFCPU_ENTRY_EACH || (l->entry == OFFCPU_ENTRY_FLAG && mark) ||
	       (l->entry == OFFCPU_ENTRY_BEHIND && mark & l->entry_value);
}

/* To the next frame, with the marks of this one. */
static __always_inline bool language_next(struct language_walk *w, __u64 frame, __u64 *ret_mark)
{
	const struct offcpu_language *l = w->l;

	*ret_mark = 0;
	if (l->frame_bytes)
		return next_in_array(w, frame, ret_mark);
	return language_word(w->at, frame + l->previous_at, &w->s->frame) &&
	       (l->entry == OFFCPU_ENTRY_EACH || language_field(w->at, frame + l->entry_at, 1, ret_mark));
}

/* `told`: identifies the code. False: no room, and the walk ends. */
static __always_inline bool language_put(struct language_scratch *s, __u64 code, __u64 instr, __u32 hash, __u64 told)
{
	struct offcpu_rec_language *rec = &s->rec;
	__u32 cnt = rec->depth;

	barrier_var(cnt);
	if (cnt >= OFFCPU_LANGUAGE_DEPTH) {
		rec->is_cut = 1;
		s->frame = 0;
		return false;
	}
	rec->frame[cnt].code = code;
	rec->frame[cnt].instr = instr;
	rec->frame[cnt].entry_at = hash;
	rec->depth = cnt + 1;
	s->hash = mix(mix(s->hash, told), instr ^ (__u64)hash << 32);
	return true;
}

/* Ends the walk at unreadable memory. */
static __always_inline long language_fails(struct language_scratch *s)
{
	s->frame = 1;
	return 1;
}

/* One frame; 1 ends the walk. The walk is complete if the next frame is 0. */
static long language_step(__u32 i, struct language_walk *w)
{
	struct language_scratch *s = w->s;
	struct walk_state *at = w->at;
	struct offcpu_rec_language *rec = &s->rec;
	const struct offcpu_language *l = w->l;
	__u64 frame = s->frame, code, instr, mark;
	__u32 hash = 0;

	if (!frame)
		return 1;
	if (!language_next(w, frame, &mark))
		return language_fails(s);
	if (l->entry == OFFCPU_ENTRY_OWNER && mark == l->entry_value) {
		__u32 last = rec->depth - 1;

		barrier_var(last);
		/* 3.15: below the outermost frame is another one, which is the thread's own and not on the C stack */
		if (last < OFFCPU_LANGUAGE_DEPTH && !(rec->frame[last].code & OFFCPU_LANGUAGE_ENTRY)) {
			rec->frame[last].code |= OFFCPU_LANGUAGE_ENTRY;
			rec->frame[last].entry_at = entry_place(frame - at->begin_sp);
		}
		return 0;
	}
	if (!language_word(at, frame + l->code_at, &code) ||
	    !language_field(at, frame + l->instr_at, l->instr_bytes, &instr))
		return language_fails(s);
	code &= ~7ULL;
	if (is_no_frame(l, code, instr, mark))
		return 0;
	if (l->entry == OFFCPU_ENTRY_BIT ? php_entry(at, l, code, mark, &instr, &hash) : begins_call(l, mark))
		code |= OFFCPU_LANGUAGE_ENTRY;
	return !language_put(s, code, instr, hash, code);
}

/* ---- Perl */

static __always_inline bool perl_enter(struct language_walk *w, __u64 stack)
{
	struct language_scratch *s = w->s;
	__u64 last;

	if (!language_word(w->at, stack + OFFCPU_PERL_CONTEXTS_AT, &s->end) ||
	    !language_word(w->at, stack + OFFCPU_PERL_OUTER_AT, &s->outer) ||
	    !language_field(w->at, stack + OFFCPU_PERL_LAST_AT, 4, &last))
		return false;
	s->frame = s->end + (__s64)(__s32)last * w->l->frame_bytes;
	return s->frame > 1;
}

/*
 * Identifies the function of a frame and its line, once for a stack: a statement belongs to one function. Where
 * statements are temporary (BEGIN, evaluated strings) another one may take its place, so there lines distinguish
 * stacks, too. A closure is created anew each time, so it is identified by its name's place.
 */
static long perl_tell(__u32 i, struct language_walk *w)
{
	struct offcpu_rec_language *rec = &w->s->rec;
	__u64 code, body, flags, line = 0;

	if (i >= rec->depth || i >= OFFCPU_LANGUAGE_DEPTH)
		return 1;
	code = rec->frame[i].code & ~7ULL;
	if (code > OFFCPU_PERL_SORT) {
		if (!language_word(w->at, code, &body) ||
		    !language_field(w->at, body + OFFCPU_PERL_FLAGS_AT, 4, &flags) ||
		    (!(flags & OFFCPU_PERL_HAS_NAME) && !language_word(w->at, body + OFFCPU_PERL_NAME_AT, &code)))
			return language_fails(w->s);
		rec->frame[i].code = (code & ~7ULL) | (rec->frame[i].code & OFFCPU_LANGUAGE_ENTRY);
	}
	/* before a program's first statement there is none */
	if (rec->frame[i].instr)
		language_field(w->at, rec->frame[i].instr + OFFCPU_PERL_LINE_AT, 4, &line);
	rec->frame[i].entry_at = line;
	if (w->s->may_go)
		w->s->hash = mix(w->s->hash, line);
	return 0;
}

/* One context; result as in language_step(). */
static long perl_step(__u32 i, struct language_walk *w)
{
	struct language_scratch *s = w->s;
	__u64 frame = s->frame, kind, code, told = 0, go_on = 0;

	if (frame <= 1)
		return 1;
	if (frame < s->end) {
		if (s->outer)
			return perl_enter(w, s->outer) ? 0 : language_fails(s);
		s->may_go |= s->instr - s->state < OFFCPU_PERL_BYTES;
		language_put(s, OFFCPU_PERL_MAIN, s->instr, 0, OFFCPU_PERL_MAIN);
		s->frame = 0;
		return 1;
	}
	if (!language_field(w->at, frame, 1, &kind))
		return language_fails(s);
	s->frame = frame - w->l->frame_bytes;
	s->may_go |= s->instr - s->state < OFFCPU_PERL_BYTES;
	if ((kind & OFFCPU_PERL_KIND) == OFFCPU_PERL_IS_SORT) {
		code = told = OFFCPU_PERL_SORT;
	} else if ((kind & OFFCPU_PERL_KIND) == OFFCPU_PERL_IS_EVAL) {
		if (kind & OFFCPU_PERL_EVALS_BLOCK)
			return 0;
		code = told = kind & OFFCPU_PERL_EVALS_TEXT ? OFFCPU_PERL_EVAL : OFFCPU_PERL_REQUIRE;
		s->may_go = true;
	} else if ((kind & OFFCPU_PERL_KIND) != OFFCPU_PERL_IS_SUB &&
		   (kind & OFFCPU_PERL_KIND) != OFFCPU_PERL_IS_FORMAT) {
		return 0;
	} else if (!language_word(w->at, frame + w->l->code_at, &code)) {
		return language_fails(s);
	}
	if (code != OFFCPU_PERL_SORT && !language_word(w->at, frame + w->l->entry_at, &go_on))
		return language_fails(s);
	code = (code & ~7ULL) | (go_on ? 0 : OFFCPU_LANGUAGE_ENTRY);
	if (!language_put(s, code, s->instr, 0, told | (code & OFFCPU_LANGUAGE_ENTRY)))
		return 1;
	return language_word(w->at, frame + OFFCPU_PERL_CALLER_AT, &s->instr) ? 0 : language_fails(s);
}

static __always_inline bool perl_first(struct language_walk *w, __u64 state)
{
	struct language_scratch *s = w->s;
	__u64 stack;

	s->state = state;
	s->may_go = false;
	return language_word(w->at, state + w->l->frame_at, &stack) &&
	       language_word(w->at, state + w->l->instr_at, &s->instr) && (!stack || perl_enter(w, stack));
}

/* The thread's state; 0: the thread runs no code of the interpreter. False: memory could not be read. */
static __always_inline bool language_state(struct thread_state *st, struct walk_state *at,
					   const struct offcpu_language *l, __u64 *ret)
{
	__u64 keys;

	*ret = 0;
	if (l->state) {
		if (st->tid == st->pid)
			*ret = l->state;
		return true;
	}
	if (!language_word(at, at->thread_pointer + l->keys_at, &keys))
		return false;
	if (l->key_at == OFFCPU_KEY_NONE) {
		*ret = keys;
		return true;
	}
	return !keys || language_word(at, keys + l->key_at, ret);
}

/* The innermost frame; 0: the thread runs no code of the interpreter. False: memory could not be read. */
static __always_inline bool language_first(struct thread_state *st, struct language_walk *w)
{
	const struct offcpu_language *l = w->l;
	struct language_scratch *s = w->s;
	struct walk_state *at = w->at;
	__u64 state, holder, words;

	s->frame = 0;
	if (!language_state(st, at, l, &state))
		return false;
	if (!state)
		return true;
	if (l->entry == OFFCPU_ENTRY_CONTEXT)
		return perl_first(w, state);
	holder = state;
	if (l->has_cframe && !language_word(at, state + l->cframe_at, &holder))
		return false;
	if (!holder)
		return true;
	if (l->frame_bytes) {
		if (!language_word(at, holder, &s->end) || !language_word(at, holder + sizeof(s->end), &words))
			return false;
		s->end += words * sizeof(words);
	}
	return language_word(at, holder + l->frame_at, &s->frame);
}

static __always_inline bool language_cross(const struct thread_state *st, struct offcpu_rec_language *rec,
					   const struct offcpu_language *l, __u64 id, __u64 ustack, __u64 now)
{
	__u64 size = offsetof(struct offcpu_rec_language, frame) + (__u64)rec->depth * sizeof(rec->frame[0]);

	if (has_crossed(id))
		return true;
	rec->type = OFFCPU_REC_LANGUAGE;
	rec->id = id;
	rec->ustack = ustack;
	rec->ts_ns = now;
	rec->proc_start_ns = st->proc_start_ns;
	rec->code_type = l->code_type;
	rec->pid = st->pid;
	rec->exec_no = st->exec_no;
	rec->version = l->version;
	barrier_var(size);
	if (size > sizeof(*rec))
		return false;
	return send_crossing(rec, size, id, OFFCPU_LOSS_RING_STACK);
}

/*
 * The id of the user stack just walked, with the interpreter's frames; the plain stack's id if there are none, or they
 * are unreadable. A global function: the verifier checks it once.
 */
__noinline __u64 language_stack(struct thread_state *st, struct walk_state *at, struct language_scratch *s,
				__u64 ustack, __u64 now)
{
	struct language_walk w = { .at = at, .s = s };
	__u64 key;

	if (!st || !at || !s || ustack <= OFFCPU_STACK_LOST)
		return ustack;
	key = at->in_parents ? st->forked_space : stack_seed(st);
	w.l = bpf_map_lookup_elem(&languages, &key);
	if (!w.l)
		return ustack;
	s->rec.depth = 0;
	s->rec.is_cut = 0;
	s->hash = mix(key, ustack);
	if (language_first(st, &w)) {
		if (w.l->entry != OFFCPU_ENTRY_CONTEXT)	/* internal frames are adjacent */
			bpf_loop(2 * OFFCPU_LANGUAGE_DEPTH, language_step, &w, 0);
		else if (bpf_loop(PERL_CONTEXTS, perl_step, &w, 0) > 0 && !s->frame &&
			 (s->may_go || !has_crossed(s->hash)))
			bpf_loop(OFFCPU_LANGUAGE_DEPTH, perl_tell, &w, 0);
		if (!s->frame && (!at->view.pgd || view_held(&at->view))) {
			if (!s->rec.depth ||
			    !language_cross(st, &s->rec, w.l, s->hash, ustack, now))
				return ustack;
			return s->hash;
		}
	}
	count_loss(OFFCPU_LOSS_LANGUAGE, 0);
	return ustack;
}

#endif
