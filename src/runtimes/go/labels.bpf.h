/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUNTIMES_GO_LABELS_BPF_H
#define RUNTIMES_GO_LABELS_BPF_H

/*
 * The labels (runtime/pprof) of the goroutine that a thread of a Go program runs, or has a system call, C or the
 * runtime run for.  A set of labels is never changed once it is made, and is the goroutine's as long as the thread
 * stands still.  They are made a record as programs with trace contexts have it.
 *
 * A goroutine may have others' labels again at the same address, once the garbage collector was there.  So nothing is
 * remembered by addresses: keys and values are read each time.
 *
 * Only included by features/traces/context.bpf.h.
 */

/* In Go until 1.23, struct hmap and what its buckets look like (src/runtime/map.go): of strings with strings. */
#define GO_MAP_BUCKETS_AT 16	/* behind it old ones, while it grows */
#define GO_MAP_BITS_SHIFT 8	/* of how many buckets there are, in the word at 8 */
#define GO_MAP_BITS_MAX 3
#define GO_SLOTS 8
#define GO_SLOT_TAKEN 5		/* bytes of `used` below it: it holds nothing */
#define GO_KEYS_AT 8
#define GO_STRING 16		/* an address and a length */
#define GO_VALUES_AT (GO_KEYS_AT + GO_SLOTS * GO_STRING)
#define GO_OVERFLOW_AT (GO_VALUES_AT + GO_SLOTS * GO_STRING)
#define GO_BUCKET (GO_OVERFLOW_AT + 8)

/* Names that are asked for, with zeroes behind their ends; how long each is; and the first that is so long, 0: none. */
const volatile __u64 label_name[OFFCPU_LABEL_NAMES][OFFCPU_LABEL_NAME_BYTES / 8] = {};
const volatile __u8 label_bytes[OFFCPU_LABEL_NAMES] = {}, first_label[OFFCPU_LABEL_NAME_BYTES] = {};
/* Of those that say a trace or a span: how many hexadecimal digits.  0: a name is of an attribute. */
const volatile __u8 label_digits[OFFCPU_LABEL_NAMES] = {};

/* Two words: a string's address and length.  A thread that is current is asked at once. */
static __always_inline bool two_words(struct walk_state *at, __u64 addr, __u64 *ret)
{
	if (!at->view.pgd)
		return !bpf_probe_read_user(ret, 2 * sizeof(*ret), (void *)addr);
	return viewed_word(&at->view, addr, &ret[0]) && viewed_word(&at->view, addr + 8, &ret[1]);
}

/* Whole words of a page, from that address up to `end`, to that byte of the record. */
static __always_inline bool copy_of_page(struct page_view *v, struct context_scratch *s, __u64 from, __u64 end,
					 __u32 to)
{
	if (!has_page(v, from))
		return false;
	for (__u32 i = 0; i < OFFCPU_LABEL_VALUE_BYTES + 8 && from + i < end; i += 8)
		*(__u64 *)((__u8 *)s->word + ((to + i) & (CONTEXT_BUFFER - 1))) =
			word_at(v->page + (from & (PAGE_BYTES - 1)) + i);
	return true;
}

/* Copies a text of at most OFFCPU_LABEL_VALUE_BYTES: words are whole, and what stands before it is put back. */
static __always_inline bool copy_text(struct page_view *v, struct context_scratch *s, __u64 from, __u32 bytes,
				      __u32 to)
{
	__u64 end = from + bytes, page_end = (from | (PAGE_BYTES - 1)) + 1;
	__u64 *before = (__u64 *)((__u8 *)s->word + to - 8), kept = *before;
	__u64 first = from & ~7ULL, first_end = end < page_end ? end : page_end;
	bool is_copied;

	is_copied = copy_of_page(v, s, first, first_end, to - (from & 7)) &&
		(end <= page_end || copy_of_page(v, s, page_end, end, to + (page_end - from)));
	*before = kept;
	return is_copied;
}

/*
 * Copies a label's name or value to where it belongs in the record: behind the two bytes of the entry that it begins.
 * Its length; 0: the name is not asked for, or the value is empty or has no room; negative: it could not be read.
 *
 * Four global functions make a record of a label, for each is verified once.  They do not call one another: of calls
 * only eight may lie in one another.
 */
__noinline int copy_label(struct walk_state *at, struct context_scratch *s, __u64 string_at, bool is_name)
{
	__u64 text[2], bytes;
	__u32 to;

	if (!at || !s)
		return -1;
	s->is_bad = (string_at & 7) || !two_words(at, string_at, text);
	if (s->is_bad)
		return -1;
	bytes = text[1];
	if (is_name && (bytes >= OFFCPU_LABEL_NAME_BYTES || !first_label[bytes & (OFFCPU_LABEL_NAME_BYTES - 1)]))
		return 0;
	if (bytes > OFFCPU_LABEL_VALUE_BYTES)
		bytes = OFFCPU_LABEL_VALUE_BYTES;
	to = s->attribute_at + 2;
	if (!bytes || to < 8 || to + bytes > OFFCPU_CONTEXT_HEAD_BYTES + OFFCPU_CONTEXT_BYTES)
		return 0;
	barrier_var(to);
	if (to < 8 || to > OFFCPU_CONTEXT_HEAD_BYTES + OFFCPU_CONTEXT_BYTES)
		return 0;
	s->is_bad = at->view.pgd ? !copy_text(&at->view, s, text[0], bytes, to) :
		bpf_probe_read_user((__u8 *)s->word + to, bytes, (void *)text[0]) != 0;
	return s->is_bad ? -1 : (int)bytes;
}

/* Is the text at that byte this name?  A global function: it is verified once. */
__noinline int is_label_name(struct context_scratch *s, __u32 at, __u32 number)
{
	__u32 bytes;

	if (!s)
		return false;
	number &= OFFCPU_LABEL_NAMES - 1;
	bytes = label_bytes[number];
	for (__u32 i = 0; i < OFFCPU_LABEL_NAME_BYTES / 8 && 8 * i < bytes; i++) {
		__u32 left = bytes - 8 * i, unused = left < 8 ? 8 - left : 0;
		__u64 word = *(const __u64 *)((const __u8 *)s->word + ((at + 8 * i) & (CONTEXT_BUFFER - 1)));

		if ((word ^ label_name[number][i]) << unused * 8)
			return false;
	}
	return true;
}

/* The number of the name that was copied last; 0: it is not asked for. */
__noinline __u32 label_number(struct context_scratch *s, __u32 bytes)
{
	__u32 number = first_label[bytes & (OFFCPU_LABEL_NAME_BYTES - 1)];

	if (!s)
		return 0;
	for (__u32 i = 0; i < OFFCPU_LABEL_NAMES && number && number < OFFCPU_LABEL_NAMES; i++, number++) {
		if (label_bytes[number] != bytes)
			break;
		if (is_label_name(s, s->attribute_at + 2, number))
			return number;
	}
	return 0;
}

/* The entry of the record that a label makes, whose value was copied last. */
__noinline int put_label(struct context_scratch *s, __u32 key, __u32 bytes)
{
	__u32 at;
	__u64 others;

	if (!s)
		return 0;
	at = s->attribute_at;
	others = s->hash;
	*(__u16 *)((__u8 *)s->word + (at & (CONTEXT_BUFFER - 1))) = key | bytes << 8;
	s->attribute_at = at + 2 + bytes;
	/* maps have no order */
	s->hash = mix(s->labels.seed, (__u64)bytes << 8 | key);
	hash_value(s, at + 2, bytes);
	s->hash ^= others;
	return 0;
}

/* The record's trace, or its span, by the value that was copied last; another text than of so many digits is none. */
__noinline int put_trace_id(struct context_scratch *s, __u32 digits, __u32 bytes)
{
	__u32 to = digits == OFFCPU_LABEL_TRACE_DIGITS ? 0 : OFFCPU_LABEL_TRACE_DIGITS / 2, byte = 0;

	if (!s || bytes != digits)
		return 0;
	for (__u32 i = 0; i < OFFCPU_LABEL_TRACE_DIGITS && i < digits; i++) {
		__u32 c = context_byte(s, s->attribute_at + 2 + i), digit = c - '0' < 10 ? c - '0' : c - 'a' + 10;

		if (c - '0' >= 10 && c - 'a' >= 6) {
			s->word[to / 8] = s->word[to / 8 + !to] = 0;
			return 0;
		}
		byte = byte << 4 | digit;
		((__u8 *)s->word)[(to + i / 2) & (CONTEXT_BUFFER - 1)] = byte;
	}
	return 0;
}

/* One label.  False: it could not be read. */
static __always_inline bool take_label(struct walk_state *at, struct context_scratch *s, __u64 key_at, __u64 value_at)
{
	int bytes = copy_label(at, s, key_at, true);
	__u32 number = bytes > 0 ? label_number(s, bytes) : 0, digits = label_digits[number & (OFFCPU_LABEL_NAMES - 1)];

	if (number) {
		bytes = copy_label(at, s, value_at, false);
		if (bytes > 0 && digits)
			put_trace_id(s, digits, bytes);
		else if (bytes > 0)
			put_label(s, number, bytes);
	}
	return bytes >= 0;
}

/* The first bucket, or the one after this.  False: there is none, or it could not be read. */
static __always_inline bool next_bucket(struct context_walk *w, bool is_first)
{
	struct label_place *l = &w->s->labels;
	__u64 more = 0;

	if (!is_first && !language_word(w->at, l->bucket + GO_OVERFLOW_AT, &more))
		return false;
	if (!more) {
		if (!is_first && ++l->bucket_no >= l->bucket_cnt)
			return false;
		more = l->pairs + (__u64)l->bucket_no * GO_BUCKET;
	}
	l->bucket = more;
	return language_word(w->at, more, &l->used);
}

static long label_of_map(__u32 i, struct context_walk *w)
{
	struct label_place *l = &w->s->labels;
	__u32 slot = i & (GO_SLOTS - 1);
	__u64 key_at;

	if (!l->left || (!slot && !next_bucket(w, !i)))
		return 1;
	if ((l->used >> 8 * slot & 0xff) < GO_SLOT_TAKEN)
		return 0;
	l->left--;
	key_at = l->bucket + GO_KEYS_AT + slot * GO_STRING;
	return !take_label(w->at, w->s, key_at, key_at + GO_VALUES_AT - GO_KEYS_AT);
}

static long label_of_list(__u32 i, struct context_walk *w)
{
	struct label_place *l = &w->s->labels;
	__u64 key_at = l->pairs + i * 2ULL * GO_STRING;

	if (!l->left)
		return 1;
	l->left--;
	return !take_label(w->at, w->s, key_at, key_at + GO_STRING);
}

/* Where a set's labels are.  False: it could not be read, or is none. */
static __always_inline bool find_labels(struct walk_state *at, struct label_place *l, __u64 set, bool is_list)
{
	__u64 map, head[2], buckets[2] = {}, bits;

	if (is_list) {
		if ((set & 7) || !two_words(at, set, head))
			return false;
		l->pairs = head[0];
		l->left = head[1];
		return head[1] <= OFFCPU_GO_LABELS_MAX;
	}
	if (!language_word(at, set, &map) || (map & 7) || !two_words(at, map, head) ||
	    !two_words(at, map + GO_MAP_BUCKETS_AT, buckets) || buckets[1])
		return false;
	bits = head[1] >> GO_MAP_BITS_SHIFT & 0xff;
	l->pairs = buckets[0];
	l->left = head[0];
	l->bucket_no = 0;
	l->bucket_cnt = 1U << (bits & GO_MAP_BITS_MAX);
	return bits <= GO_MAP_BITS_MAX && head[0] <= OFFCPU_GO_LABELS_MAX;
}

/* The page that stands for all that were read before they were written to.  Bit 0: it is there, on each architecture. */
static __always_inline bool is_zero_page(__u64 entry)
{
	return entry & 1 && entry & ENTRY_SPECIAL;
}

/* A word of a goroutine, of which a part may lie on a page that nobody has written to yet: that is zero. */
static __always_inline bool goroutine_word(struct walk_state *at, __u64 addr, __u64 *ret)
{
	if (language_word(at, addr, ret))
		return true;
	*ret = 0;
	return at->view.pgd && (!at->view.leaf || is_zero_page(at->view.leaf));
}

/*
 * The set of labels of the goroutine that the thread is at work for; 0: it has none, or there is no goroutine.  The
 * thread's own goroutines, for the scheduler and for signals, have none, begin nowhere, and lead to the other.
 */
static __always_inline bool find_label_set(struct context_walk *w, const struct offcpu_context_place *place, __u64 *ret)
{
	__u64 goroutine, begins, thread, runs, its_thread;

	*ret = 0;
	if (!context_address(w->at, place, &goroutine))
		return false;
	if (!goroutine)
		return true;
	if (!goroutine_word(w->at, goroutine + place->labels_at, ret))
		return false;
	if (*ret || !place->runs_at)
		return true;
	if (!goroutine_word(w->at, goroutine + place->labels_at - OFFCPU_GO_LABELS_BEHIND, &begins))
		return false;
	if (begins)
		return true;
	if (!language_word(w->at, goroutine + OFFCPU_GO_THREAD_AT, &thread))
		return false;
	if (!thread)
		return true;
	if (!language_word(w->at, thread + place->runs_at, &runs))
		return false;
	if (!runs || runs == goroutine)
		return true;
	if (!language_word(w->at, runs + OFFCPU_GO_THREAD_AT, &its_thread))
		return false;
	return its_thread != thread || goroutine_word(w->at, runs + place->labels_at, ret);
}

/* The labels as a record into s->word, and those asked for into the hash.  False as read_context(). */
static __always_inline bool read_labels(struct context_walk *w, const struct offcpu_context_place *place)
{
	struct context_scratch *s = w->s;
	__u64 set;

	s->is_bad = !find_label_set(w, place, &set);
	if (s->is_bad || !set)
		return false;
	s->is_bad = !find_labels(w->at, &s->labels, set, place->has_list);
	if (s->is_bad)
		return false;
	s->shift = 0;
	s->word[0] = s->word[1] = s->word[2] = 0;
	s->attribute_at = OFFCPU_CONTEXT_HEAD_BYTES;
	s->labels.seed = s->hash;
	if (place->has_list)
		bpf_loop(OFFCPU_GO_LABELS_MAX + 1, label_of_list, w, 0);
	else
		bpf_loop(OFFCPU_GO_LABELS_MAX * 2, label_of_map, w, 0);
	s->is_bad |= s->labels.left != 0;
	*(__u32 *)((__u8 *)s->word + OFFCPU_CONTEXT_VALID_AT) = 1 | (s->attribute_at - OFFCPU_CONTEXT_HEAD_BYTES) << 16;
	return !s->is_bad;
}

#endif
