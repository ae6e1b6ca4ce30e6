/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_TRACES_CONTEXT_BPF_H
#define FEATURES_TRACES_CONTEXT_BPF_H

#include "features/traces/abi.h"
#include "bpf/walk/language.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * The trace context of a thread that is off CPU or interrupted, so its record does not change. For programs without
 * one the cost is one check of the thread's slot. Go programs have labels instead: runtimes/go/labels.bpf.h.
 */

/* Argument of bpf_loop's callbacks. */
struct context_walk {
	struct walk_state *at;
	struct context_scratch *s;
};

/* The record's address; 0: none. False: memory could not be read. */
static __always_inline bool context_address(struct walk_state *at, const struct offcpu_context_place *place,
					    __u64 *ret)
{
	__u64 block = at->thread_pointer;

	*ret = 0;
	if (place->module) {
		if (!language_word(at, block + place->dtv_at, &block) ||
		    !language_word(at, block + place->module * place->dtv_bytes, &block))
			return false;
		/* the thread has not used it yet: glibc stores -1 */
		if (block + 1 <= 1)
			return true;
	}
	return language_word(at, block + place->at, ret);
}

/* Reads the i-th word of the record; 1: it was the last, or unreadable. */
static long context_word(__u32 i, struct context_walk *w)
{
	struct context_scratch *s = w->s;

	if (i >= OFFCPU_CONTEXT_WORDS || i >= s->words)
		return 1;
	s->is_bad = !language_word(w->at, s->from + 8ULL * i, &s->word[i]);
	return s->is_bad ? 1 : 0;
}

/* Reads words up to that number. */
static __always_inline bool context_words(struct context_walk *w, __u32 words)
{
	w->s->words = words;
	bpf_loop(OFFCPU_CONTEXT_WORDS, context_word, w, 0);
	return !w->s->is_bad;
}

static __always_inline __u32 context_byte(const struct context_scratch *s, __u32 at)
{
	return ((const __u8 *)s->word)[at & (CONTEXT_BUFFER - 1)];
}

/* Adds an attribute's value to the hash. A global function: the verifier checks its loop once. */
__noinline int hash_value(struct context_scratch *s, __u32 at, __u32 bytes)
{
	__u64 hash;
	__u32 i;

	if (!s)
		return 0;
	hash = s->hash;
	for (i = 0; i < 256 && i + 8 <= bytes; i += 8)
		hash = mix(hash, *(const __u64 *)((const __u8 *)s->word + ((at + i) & (CONTEXT_BUFFER - 1))));
	if (i < bytes)
		hash = mix(hash, *(const __u64 *)((const __u8 *)s->word + ((at + i) & (CONTEXT_BUFFER - 1)))
			   << (64 - 8 * (bytes & 7)));
	s->hash = hash;
	return 0;
}

/*
 * Processes one attribute; a wanted one is added to the hash. Not 0: there is none. A global function: the verifier
 * checks it once, but a callback many times.
 */
__noinline int next_attribute(struct context_scratch *s)
{
	__u32 at, key, bytes;

	if (!s || s->attribute_at + 2 > s->end)
		return 1;
	at = s->attribute_at;
	key = context_byte(s, at);
	bytes = context_byte(s, at + 1);
	if (at + 2 + bytes > s->end) {
		s->is_bad = !s->is_cut;
		return 1;
	}
	s->attribute_at = at + 2 + bytes;
	if (!(s->keys[key >> 6 & 3] >> (key & 63) & 1))
		return 0;
	s->hash = mix(s->hash, (__u64)bytes << 8 | key);
	hash_value(s, at + 2, bytes);
	return 0;
}

static long context_attribute(__u32 i, struct context_walk *w)
{
	int is_over = next_attribute(w->s);

	barrier_var(is_over);
	return is_over & 1;
}

#include "runtimes/go/labels.bpf.h"

/* with them the verifier of Linux 6.1 does not terminate; on kernels with casts (6.2) it does */
#ifdef WITHOUT_CAST
#define may_read_labels() false
#elif !defined(may_read_labels)
#define may_read_labels() can_cast()
#endif

/* Reads the record into s->word and hashes the wanted attributes. False: there is none, or it was unreadable. */
static __always_inline bool read_context(struct context_walk *w, const struct offcpu_context_place *place)
{
	struct context_scratch *s = w->s;
	__u64 address;
	__u32 bytes;

	s->is_cut = false;
	s->is_bad = !context_address(w->at, place, &address);
	if (s->is_bad || !address)
		return false;
	__builtin_memcpy(s->keys, place->keys, sizeof(s->keys));
	s->shift = address & 7;
	s->from = address & ~7ULL;
	if (!context_words(w, (s->shift + OFFCPU_CONTEXT_HEAD_BYTES + 7) / 8) ||
	    context_byte(s, s->shift + OFFCPU_CONTEXT_VALID_AT) != 1)
		return false;
	bytes = context_byte(s, s->shift + OFFCPU_CONTEXT_SIZE_AT) |
		context_byte(s, s->shift + OFFCPU_CONTEXT_SIZE_AT + 1) << 8;
	if (bytes > OFFCPU_CONTEXT_BYTES) {
		s->is_cut = true;
		bytes = OFFCPU_CONTEXT_BYTES;
	}
	s->attribute_at = s->shift + OFFCPU_CONTEXT_HEAD_BYTES;
	s->end = s->attribute_at + bytes;
	if (!context_words(w, (s->end + 7) / 8))
		return false;
	bpf_loop(OFFCPU_CONTEXT_BYTES / 2, context_attribute, w, 0);
	return !s->is_bad;
}

static __always_inline void fill_context(const struct thread_state *st, struct context_scratch *s, __u64 id,
					 __u64 ustack, __u64 now)
{
	struct offcpu_rec_context *rec = &s->rec;

	rec->type = OFFCPU_REC_CONTEXT;
	rec->shift = s->shift;
	rec->is_labels = s->is_labels;
	rec->id = id;
	rec->ustack = ustack;
	rec->ts_ns = now;
	rec->proc_start_ns = st->proc_start_ns;
	rec->pid = st->pid;
	rec->exec_no = st->exec_no;
	__builtin_memcpy(rec->word, s->word, sizeof(rec->word));
}

static __always_inline bool context_cross(const struct thread_state *st, struct context_scratch *s, __u64 id,
					  __u64 ustack, __u64 now)
{
	if (has_crossed(id))
		return true;
	fill_context(st, s, id, ustack, now);
	return send_crossing(&s->rec, sizeof(s->rec), id, OFFCPU_LOSS_RING_STACK);
}

/* For a thread with requests: see features/requests/route.bpf.h. */
int saw_route(struct thread_state *st, struct context_scratch *s, __u64 now);

/*
 * The id of a user stack with its thread's attributes; the plain stack's id if there are none, or they are unreadable.
 * s->tno: the thread, if a trace was read. A global function: the verifier checks it once.
 */
__noinline __u64 context_stack(struct thread_state *st, struct walk_state *at, struct context_scratch *s,
			       __u64 ustack, __u64 now)
{
	struct context_walk w = { .at = at, .s = s };
	const struct offcpu_context_place *place;
	__u64 key, begun, id;
	bool has;

	if (!st || !at || !s)
		return ustack;
	s->tno = 0;
	s->route = 0;
	key = at->in_parents ? st->forked_space : stack_seed(st);
	place = bpf_map_lookup_elem(&contexts, &key);
	if (!place)
		return ustack;
	s->hash = begun = mix(key, OFFCPU_CONTEXT_HEAD_BYTES);
	s->is_labels = place->labels_at != 0;
	has = s->is_labels ? may_read_labels() && read_labels(&w, place) : read_context(&w, place);
	/* an apparently empty one may be due to another page, too */
	if (s->is_bad || (at->view.pgd && !view_held(&at->view))) {
		count_loss(OFFCPU_LOSS_CONTEXT, 0);
		return ustack;
	}
	if (!has)
		return ustack;
	s->tno = st->tno;
	s->route = s->hash == begun ? 0 : s->hash;
	if (cfg.want_routes && st->request)
		saw_route(st, s, now);
	if (!s->route)
		return ustack;
	id = mix(s->hash, ustack);
	return ustack > OFFCPU_STACK_LOST && context_cross(st, s, id, ustack, now) ? id : ustack;
}

static __always_inline void context_trace(const struct context_scratch *s, __u64 *ret_words)
{
	for (__u32 i = 0; i < 3; i++)
		ret_words[i] = *(const __u64 *)((const __u8 *)s->word + ((s->shift + 8 * i) & (CONTEXT_BUFFER - 1)));
}

/*
 * Sends the trace of the wait just listed as the longest of its row, if the thread's context was read for it and has
 * one.
 */
__noinline int send_trace(struct thread_state *st, struct context_scratch *s, __u64 duration_ns)
{
	struct offcpu_rec_trace *rec;
	__u64 word[3];

	if (!st || !s || s->tno != st->tno)
		return 0;
	rec = &s->trace;
	rec->type = OFFCPU_REC_TRACE;
	rec->start_ns = st->since_ns;
	rec->duration_ns = duration_ns;
	context_trace(s, word);
	if (!(word[0] | word[1]))
		return 0;
	__builtin_memcpy(rec->trace, word, sizeof(rec->trace) + sizeof(rec->span));
	if (ring_send(rec, sizeof(*rec)))
		count_loss(OFFCPU_LOSS_RING_EVENT, 0);
	return 0;
}

#endif
