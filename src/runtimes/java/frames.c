/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/frames.h"

#include <string.h>

#include "base/hash.h"
#include "symbolize/runtime/memory.h"

#define WORD 8
#define STEPS_MAX 512
#define KNOWN_MAX 8192
#define CHECKED_AT_ONCE 256u
#define HEAD_BYTES 384	/* including a compiled method's number */
#define ACCESS_SYNCHRONIZED 0x20
#define METHOD_BYTES 64	/* including its constants */

/* Offsets in an interpreted frame, in words from its frame pointer: frame_x86.hpp. */
#define METHOD_WORDS (-3)
#define SENDER_SP_WORDS (-1)

/* The frames below it belong to the JVM. */
#define OUTERMOST "jdk.internal.vm.Continuation.enter"
/* A mounted thread's frames end here; the others are still in its chunk: "StubRoutines (continuationstubs)". */
#define RETURN_BARRIER "StubRoutines (continuation"

struct place {
	uint64_t sp, pc, fp;
	uint64_t unextended;	/* where a compiled frame's size counts from */
};

/* What is known of a code address, or of an interpreted method. */
struct known {
	uint64_t at;
	bool is_entry, is_barrier;
	uint32_t frame_bytes;
	unsigned cnt;
	const char *const *names;
	const char *name;	/* of the methods */
	uint64_t synchronized;	/* bits: which of them are synchronized */
	uint64_t read_at;	/* where it was read, and how that begins */
	uint32_t head_cnt;
	uint8_t head[HEAD_BYTES];
};

struct java_code {
	struct hotspot *hotspot;
	struct hotspot_names *names;
	GHashTable *known;	/* struct known */
};

struct java_code *java_code_new(struct hotspot *h)
{
	struct java_code *c = g_new0(struct java_code, 1);

	c->hotspot = h;
	c->names = hotspot_names_new();
	c->known = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	return c;
}

FREES(java_code_free, struct java_code, c, g_hash_table_unref(c->known); hotspot_names_free(c->names))

static void check_some(struct java_code *c, struct known *const *known, guint cnt)
{
	g_autofree uint8_t *now = g_malloc0(CHECKED_AT_ONCE * HEAD_BYTES);
	struct memory_piece pieces[CHECKED_AT_ONCE] = { 0 };
	bool is_read[CHECKED_AT_ONCE];

	for (guint i = 0; i < cnt; i++)
		pieces[i] = (struct memory_piece){ known[i]->read_at, now + (size_t)i * HEAD_BYTES,
						   known[i]->head_cnt };
	memory_read_pieces(c->hotspot->pid, pieces, cnt, is_read);
	for (guint i = 0; i < cnt; i++)
		if (!is_read[i] || memcmp(known[i]->head, now + (size_t)i * HEAD_BYTES, known[i]->head_cnt) != 0)
			g_hash_table_remove(c->known, &known[i]->at);
}

void java_code_check(struct java_code *c)
{
	g_autofree gpointer *values = NULL;
	guint cnt = g_hash_table_size(c->known);
	GHashTableIter iter;
	gpointer value;

	if (cnt > KNOWN_MAX) {
		g_hash_table_remove_all(c->known);
		hotspot_names_free(c->names);
		c->names = hotspot_names_new();
		return;
	}
	values = g_new(gpointer, cnt + 1);
	g_hash_table_iter_init(&iter, c->known);
	for (guint i = 0; g_hash_table_iter_next(&iter, NULL, &value); i++)
		values[i] = value;
	for (guint i = 0; i < cnt; i += CHECKED_AT_ONCE)
		check_some(c, (struct known *const *)values + i, MIN(cnt - i, CHECKED_AT_ONCE));
}

static struct known *known_new(struct java_code *c, uint64_t at, uint64_t read_at, uint32_t head_cnt)
{
	struct known *k = g_new0(struct known, 1);

	k->at = at;
	k->read_at = read_at;
	k->head_cnt = head_cnt;
	memory_read(c->hotspot->pid, read_at, k->head, head_cnt);
	g_hash_table_insert(c->known, &k->at, k);
	return k;
}

static bool is_synchronized(const struct hotspot *h, uint64_t method)
{
	uint64_t flags;

	return hotspot_field_at(&h->layout, h->pid, HOTSPOT_METHOD_ACCESS, method, &flags) &&
	       flags & ACCESS_SYNCHRONIZED;
}

/* Which methods at a place of compiled code are synchronized. */
static uint64_t synchronized_at(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc, unsigned cnt)
{
	uint64_t methods[HOTSPOT_INLINED_MAX], bits = 0;

	if (hotspot_inlined(h, blob, pc, true, methods) != cnt) {
		methods[0] = blob->method;
		cnt = cnt == 1;
	}
	for (unsigned i = 0; i < cnt; i++)
		bits |= (uint64_t)is_synchronized(h, methods[i]) << i;
	return bits;
}

/* NULL: none. */
static const struct known *code_at(struct java_code *c, uint64_t pc)
{
	struct known *k = g_hash_table_lookup(c->known, &pc);
	struct hotspot_blob blob;

	if (k || !hotspot_find_blob(c->hotspot, pc, &blob))
		return k;
	k = known_new(c, pc, blob.at, HEAD_BYTES);
	k->is_entry = blob.kind == HOTSPOT_KIND_CALL_STUB;
	k->frame_bytes = blob.frame_bytes;
	k->cnt = k->is_entry ? 0 : hotspot_names_code(c->names, c->hotspot, pc, true, &k->names);
	k->synchronized = blob.method ? synchronized_at(c->hotspot, &blob, pc, k->cnt) : 0;
	k->is_barrier = k->cnt == 1 && g_str_has_prefix(k->names[0], RETURN_BARRIER);
	return k;
}

static const struct known *method_at(struct java_code *c, uint64_t method)
{
	struct known *k = g_hash_table_lookup(c->known, &method);

	if (!k) {
		k = known_new(c, method, method, METHOD_BYTES);
		k->name = hotspot_names_method(c->names, c->hotspot, method);
		k->synchronized = k->name && is_synchronized(c->hotspot, method);
	}
	return k;
}

static bool word_at(const struct java_stack *s, uint64_t at, uint64_t *ret)
{
	uint64_t offset = at - (s->sp - 2 * WORD);

	if (at < s->sp - 2 * WORD || s->cnt < WORD || offset > s->cnt - WORD)
		return false;
	*ret = memory_word(s->bytes, offset);
	return true;
}

/* Reads the caller's frame pointer and return address, which a call saves below the caller's frame. */
static bool read_place(const struct java_stack *s, uint64_t sp, struct place *ret)
{
	uint64_t fp;

	*ret = (struct place){ .sp = sp, .unextended = sp };
	if (!word_at(s, sp - WORD, &ret->pc) || !word_at(s, sp - 2 * WORD, &fp))
		return false;
	ret->fp = s->is_chunk ? sp - 2 * WORD + fp * WORD : fp;
	return true;
}

static bool add_name(struct java_frames *f, const char *name, bool is_synchronized)
{
	if (!name || f->cnt == JAVA_FRAMES_MAX) {
		f->end = name ? STACK_TRUNCATED : STACK_BROKEN;
		return false;
	}
	f->is_synchronized[f->cnt] = is_synchronized;
	f->names[f->cnt++] = name;
	if (!strcmp(name, OUTERMOST))
		f->end = STACK_COMPLETE;
	return f->end != STACK_COMPLETE;
}

static bool step_interpreted(struct java_frames *f, struct java_code *code, const struct java_stack *s,
			     struct place *at)
{
	uint64_t method, unextended, fp = at->fp;
	const struct known *known;

	if (fp < at->sp - 2 * WORD || !word_at(s, fp + (uint64_t)(METHOD_WORDS * WORD), &method))
		return false;
	known = method_at(code, method);
	if (!add_name(f, known->name, known->synchronized) || !read_place(s, fp + 2 * WORD, at))
		return false;
	if (!word_at(s, fp + (uint64_t)(SENDER_SP_WORDS * WORD), &unextended))
		return false;
	/* the compiled caller's arguments were copied for the interpreter, between the frames */
	at->unextended = s->is_chunk ? fp + unextended * WORD : unextended;
	return at->unextended >= at->sp;
}

static bool step_compiled(struct java_frames *f, const struct java_stack *s, const struct known *known,
			  struct place *at)
{
	for (unsigned i = 0; i < known->cnt; i++)
		if (!add_name(f, known->names[i], known->synchronized >> i & 1))
			return false;
	return known->cnt && known->frame_bytes && read_place(s, at->unextended + known->frame_bytes, at);
}

/* C++ that calls Java stores the last Java frame. The JVM itself crosses such frames in this way. */
static bool step_entry(struct java_frames *f, const struct hotspot *h, const struct java_stack *s, struct place *at)
{
	const struct hotspot_layout *l = &h->layout;
	uint64_t wrapper, anchor, before = at->sp;

	if (s->is_chunk || !l->wrapper_words || !l->field[HOTSPOT_WRAPPER_ANCHOR].bytes ||
	    !word_at(s, at->fp + (uint64_t)((int64_t)l->wrapper_words * WORD), &wrapper))
		return false;
	anchor = wrapper + l->field[HOTSPOT_WRAPPER_ANCHOR].at;
	if (!hotspot_field_at(l, h->pid, HOTSPOT_ANCHOR_SP, anchor, &at->sp) || at->sp <= before ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_ANCHOR_PC, anchor, &at->pc) ||
	    !hotspot_field_at(l, h->pid, HOTSPOT_ANCHOR_FP, anchor, &at->fp))
		return false;
	at->unextended = at->sp;
	if (!f->entered)
		f->entered = f->cnt;
	return at->pc || word_at(s, at->sp - WORD, &at->pc);
}

static bool step_out(struct java_frames *f, struct java_code *code, const struct java_stack *s, struct place *at)
{
	const struct hotspot *h = code->hotspot;
	const struct known *known;

	if (at->pc >= h->interpreter && at->pc < h->interpreter_end)
		return step_interpreted(f, code, s, at);
	known = code_at(code, at->pc);
	if (!known)
		return false;
	f->is_at_barrier = known->is_barrier;
	if (known->is_barrier)
		return false;
	return known->is_entry ? step_entry(f, h, s, at) : step_compiled(f, s, known, at);
}

void java_frames_add(struct java_frames *f, struct java_code *code, const struct java_stack *s)
{
	struct place at;

	f->end = STACK_BROKEN;
	f->is_at_barrier = false;
	if (!read_place(s, s->sp, &at))
		return;
	if (!s->is_chunk) {
		at.pc = s->pc ? s->pc : at.pc;
		at.fp = s->fp ? s->fp : at.fp;
	}
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		uint64_t sp = at.sp;

		if (!step_out(f, code, s, &at) || at.sp <= sp)
			return;
		if (s->is_chunk && at.sp + 2 * WORD >= s->end)
			return (void)(f->is_at_barrier = true);
	}
}
