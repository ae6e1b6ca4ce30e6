/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/vthreads.h"

#include <string.h>

#include "base/find.h"
#include "base/hash.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define TABLE_MAX (1u << 22)
#define CHAIN_MAX 1024
#define FEW 64
#define SCATTER 2654435761u	/* Knuth, The Art of Computer Programming, 6.4 */
#define NODE_BYTES 40
#define CONTINUATION_BYTES 72
#define CHUNK_BYTES 64
#define CHUNKS_MAX 8
#define STACK_BYTES_MAX (64u << 10)
#define LOOKS_MAX 3	/* of the same threads, if a garbage collection intervened */
#define AT_ONCE 256
#define TRIES_AGAIN 2	/* for a thread that changed while being read */
#define THREADS_AT_ONCE 64	/* few enough that most do not change meanwhile */
#define CHUNK_WORDS_MAX (1 << 24)
#define ANCHOR_BYTES 24
#define MAJOR_MIN 19	/* the first that can have virtual threads, if asked to */
#define MAJOR_MONITORS_DO_NOT_PIN 24	/* JEP 491 */
#define WORD 8
#define REDUCED 16	/* bytes that a call saves below its caller's frame */
#define NAME_MAX_BYTES 256

/* ConcurrentHashMap.Node.hash */
#define HASH_MOVED (-1)
#define HASH_TREE (-2)

#define SUSPENDED 0x100	/* VirtualThread.SUSPENDED */

/* VirtualThread.state by the names that each version has. Others mean not started, or terminated. */
static const struct state {
	const char *name;
	enum java_vthread_does does;
	bool is_pinned;
} states[] = {
	{ "STARTED", JAVA_RUNNABLE, false },	 { "RUNNABLE", JAVA_RUNNABLE, false },	  { "RUNNING", JAVA_RUNS, false },
	{ "PARKING", JAVA_RUNS, false },	 { "PARKED", JAVA_PARKED, false },	  { "PINNED", JAVA_PARKED, true },
	{ "TIMED_PARKING", JAVA_RUNS, false },	 { "TIMED_PARKED", JAVA_PARKED_FOR_A_TIME, false },
	{ "TIMED_PINNED", JAVA_PARKED_FOR_A_TIME, true }, { "UNPARKED", JAVA_RUNNABLE, false }, { "YIELDING", JAVA_RUNS, false },
	{ "YIELDED", JAVA_RUNNABLE, false },	 { "BLOCKING", JAVA_RUNS, false },	  { "BLOCKED", JAVA_BLOCKED, false },
	{ "UNBLOCKED", JAVA_RUNNABLE, false },	 { "WAITING", JAVA_RUNS, false },	  { "WAIT", JAVA_WAITS, false },
	{ "TIMED_WAITING", JAVA_RUNS, false },	 { "TIMED_WAIT", JAVA_WAITS, false },
};

/* Data that was read, to be compared with a second reading. */
struct evidence {
	uint64_t at;
	uint8_t *bytes;
	uint32_t cnt;
	guint of;	/* index in `seen` */
};

struct lock {
	uint64_t at, holder;	/* thread id */
	const char *class;
};

struct seen {
	struct java_vthread t;
	bool is_taken_again;	/* it had changed: a later entry replaces it */
	struct java_stack stacks[CHUNKS_MAX];
	unsigned stack_cnt;
};

struct look {
	struct java_vthreads *v;
	uint64_t first, stride;
	GArray *threads;	/* uint64_t */
	GHashTable *known;	/* a set of these */
	GArray *seen;		/* struct seen */
	GArray *evidence;	/* struct evidence */
	guint checked;		/* number of entries compared so far */
	GHashTable *locks;	/* struct lock, by address */
	struct java_vthreads_census *census;
};

static void evidence_clear(gpointer p)
{
	g_free(((struct evidence *)p)->bytes);
}

/* Discards what was read before. */
static void read_anew(const struct look *l)
{
	memory_keep_anew(l->v->hotspot.pid);
	java_forget_ahead(&l->v->objects);
}

static void look_begin(struct look *l)
{
	l->threads = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	l->known = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	l->seen = g_array_new(FALSE, TRUE, sizeof(struct seen));
	l->evidence = g_array_new(FALSE, TRUE, sizeof(struct evidence));
	g_array_set_clear_func(l->evidence, evidence_clear);
	l->checked = 0;
	l->locks = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
}

static void look_end(struct look *l)
{
	g_array_unref(l->threads);
	g_hash_table_unref(l->known);
	g_array_unref(l->seen);
	g_array_unref(l->evidence);
	g_hash_table_unref(l->locks);
}

/* ---- opening */

static bool read_states(struct java_vthreads *v)
{
	uint64_t statics = java_class_statics(&v->objects, v->threads);
	int32_t number;

	v->states = g_hash_table_new(NULL, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
		uint32_t offset = java_field_offset(&v->objects, v->threads, states[i].name);

		if (statics && offset && memory_read(v->hotspot.pid, statics + offset, &number, sizeof(number)))
			g_hash_table_insert(v->states, GINT_TO_POINTER(number), (gpointer)&states[i]);
	}
	return g_hash_table_size(v->states) > G_N_ELEMENTS(states) / 3;
}

void java_vthreads_close(struct java_vthreads *v)
{
	java_objects_close(&v->objects);
	java_code_free(v->code);
	g_clear_pointer(&v->strings, g_string_chunk_free);
	g_clear_pointer(&v->states, g_hash_table_unref);
}

/* ---- the list */

typedef void (*member_fn)(struct look *l, uint64_t object);

static void add_thread(struct look *l, uint64_t object)
{
	if (l->threads->len >= JAVA_VTHREADS_MAX) {
		l->census->is_cut = true;
		return;
	}
	if (object && g_hash_table_add(l->known, g_memdup2(&object, sizeof(object))))
		g_array_append_val(l->threads, object);
}

/* For a large set, about every stride-th chain of the table, which limits the cost of a look. */
struct chains {
	GArray *nodes;	/* struct java_piece */
	uint64_t first, stride;
};

static void add_node(GArray *nodes, uint64_t node)
{
	const struct java_piece piece = { node, NODE_BYTES };

	g_array_append_val(nodes, piece);
}

static void add_chain(void *ctx, uint32_t index, uint64_t node)
{
	const struct chains *c = ctx;

	/* table indexes are thread ids, which may all be even */
	if ((index * SCATTER >> 8) % c->stride == c->first)
		add_node(c->nodes, node);
}

static void add_nodes(struct look *l, struct chains *c, uint64_t table)
{
	if (table && !java_each_of_array(&l->v->objects, table, TABLE_MAX, add_chain, c))
		l->census->is_cut = true;
}

/* Reports a node's key and adds its successor. *next: a growing table has moved some chains to another table. */
static bool add_member(struct look *l, uint64_t at, GArray *nodes, uint64_t *next, member_fn fn)
{
	const struct java_objects *o = &l->v->objects;
	struct java_object node;
	int32_t hash;
	uint64_t next_node;

	if (!java_read(o, at, &node) || !java_get_int(o, &node, "hash", &hash))
		return false;
	if (hash == HASH_MOVED) {
		*next = *next ?: java_get(o, &node, "nextTable");
		return true;
	}
	next_node = java_get(o, &node, hash == HASH_TREE ? "first" : "next");
	if (next_node)
		add_node(nodes, next_node);
	if (hash != HASH_TREE)
		fn(l, java_get(o, &node, "key"));
	return true;
}

/* A set from ConcurrentHashMap.newKeySet(): the first nodes of all chains, then the second ones, and so on. */
static void each_of_set(struct look *l, uint64_t set, uint64_t stride, member_fn fn)
{
	g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(struct java_piece));
	struct chains chains = { nodes, l->first % stride, stride };
	const struct java_objects *o = &l->v->objects;
	uint64_t next = 0;
	guint done = 0;

	add_nodes(l, &chains, java_follow(o, java_follow(o, set, "map"), "table"));
	for (unsigned round = 0; done < nodes->len || next; round++) {
		guint len = nodes->len;

		java_read_ahead(o, &g_array_index(nodes, struct java_piece, done), len - done);
		for (; done < len; done++)
			if (round >= CHAIN_MAX || len > JAVA_VTHREADS_MAX ||
			    !add_member(l, g_array_index(nodes, struct java_piece, done).at, nodes, &next, fn))
				l->census->is_cut = true;
		if (done == nodes->len && next) {
			add_nodes(l, &chains, next);
			next = 0;
		}
	}
	java_forget_ahead(o);
}

/* An executor with a thread per task, or a pool of virtual threads; others have no virtual threads. */
static void add_container(struct look *l, uint64_t reference)
{
	const struct java_objects *o = &l->v->objects;
	struct java_object container;

	if (java_read(o, java_follow(o, reference, "referent"), &container))
		each_of_set(l, java_get(o, &container, "virtualThreads") ?: java_get(o, &container, "threads"), l->stride, add_thread);
}

static uint64_t static_object(const struct java_objects *o, uint64_t class, const char *name)
{
	uint32_t offset = java_field_offset(o, class, name);
	uint64_t statics = offset ? java_class_statics(o, class) : 0;

	return statics ? java_object_at(o, statics + offset) : 0;
}

/* Threads that were started directly: THREADS until JDK 21. */
static void list_threads(struct look *l)
{
	const struct java_objects *o = &l->v->objects;
	uint64_t root = java_class_of(o, static_object(o, l->v->containers, "ROOT_CONTAINER")),
		 set = static_object(o, root, "VTHREADS") ?: static_object(o, root, "THREADS");

	l->census->is_partial = !set;
	each_of_set(l, set, l->stride, add_thread);
	each_of_set(l, static_object(o, l->v->containers, "CONTAINER_REGISTRY"), 1, add_container);
	l->census->listed = l->v->listed = l->threads->len * l->stride;
}

enum java_vthreads_state java_vthreads_are_there(struct java_vthreads *v)
{
	static const char *const names[] = { "jdk/internal/vm/ThreadContainers", "java/lang/VirtualThread" };
	struct java_vthreads_census census = { 0 };
	struct look l = { .v = v, .census = &census, .stride = FEW };
	uint64_t classes[G_N_ELEMENTS(names)];

	/* a JVM loads these classes before it creates a virtual thread */
	if (!v->states) {
		java_classes_find(&v->objects, names, classes, G_N_ELEMENTS(names));
		v->containers = classes[0];
		v->threads = classes[1];
		if (!v->containers || !v->threads)
			return JAVA_VTHREADS_NONE;
		if (!read_states(v)) {
			g_clear_pointer(&v->states, g_hash_table_unref);
			return JAVA_VTHREADS_UNKNOWN;
		}
	}
	/* a sample is enough if there are many */
	for (; !census.listed && l.stride; l.stride /= FEW) {
		look_begin(&l);
		list_threads(&l);
		look_end(&l);
	}
	return census.listed ? JAVA_VTHREADS_READABLE : census.is_partial ? JAVA_VTHREADS_UNLISTED : JAVA_VTHREADS_NONE;
}

enum java_vthreads_state java_vthreads_open(struct java_vthreads *v, const char *proc_dir, uint32_t pid,
					    const GArray *lines)
{
	enum java_objects_state state;

	*v = (struct java_vthreads){ 0 };
	if (!ANY_ROW(const struct maps_line, line, lines, hotspot_is_file(line->path) && line->inode))
		return JAVA_VTHREADS_NO_JVM;
	if (!hotspot_open(&v->hotspot, proc_dir, pid, lines))
		return JAVA_VTHREADS_UNKNOWN;
	if (v->hotspot.layout.major && v->hotspot.layout.major < MAJOR_MIN)
		return JAVA_VTHREADS_NO_JVM;
	state = java_objects_open(&v->objects, &v->hotspot);
	if (state != JAVA_OBJECTS_READABLE)
		return state == JAVA_OBJECTS_MOVE ? JAVA_VTHREADS_MOVE : JAVA_VTHREADS_UNKNOWN;
	v->code = java_code_new(&v->hotspot);
	v->strings = g_string_chunk_new(1024);
	return JAVA_VTHREADS_READABLE;
}

/* ---- one thread */

static const uint8_t *note_read(struct look *l, guint of, uint64_t at, uint8_t *bytes, size_t cnt)
{
	const struct evidence e = { .at = at, .bytes = bytes, .cnt = (uint32_t)cnt, .of = of };

	g_array_append_val(l->evidence, e);
	return bytes;
}

/* Reads memory now, to be compared with a second reading after some more threads. */
static const uint8_t *read_evidence(struct look *l, guint of, uint64_t at, size_t cnt)
{
	g_autofree uint8_t *bytes = at && cnt && cnt <= STACK_BYTES_MAX + REDUCED ? g_malloc(cnt) : NULL;

	return bytes && java_memory(&l->v->objects, at, bytes, cnt) ? note_read(l, of, at, g_steal_pointer(&bytes), cnt)
								    : NULL;
}

/* The whole object except the lock bits in its header. */
static bool take_object(struct look *l, guint of, uint64_t at, struct java_object *ret)
{
	uint64_t bytes = java_read(&l->v->objects, at, ret) ? java_class_bytes(&l->v->objects, ret->class) : 0;

	if (bytes <= WORD || bytes > ret->cnt)
		return false;
	note_read(l, of, at + WORD, g_memdup2(ret->bytes + WORD, bytes - WORD), bytes - WORD);
	return true;
}

/* The frames of a chunk, the innermost ones that fit. False: none, or invalid. */
static bool stack_of(const struct java_objects *o, const struct java_object *chunk, struct java_stack *ret)
{
	uint64_t at = chunk->at + java_class_bytes(o, chunk->class);
	int32_t size, sp, bottom, arguments;

	if (!java_get_int(o, chunk, "size", &size) || !java_get_int(o, chunk, "sp", &sp))
		return false;
	if (!java_get_int(o, chunk, "bottom", &bottom))	/* since JDK 22 */
		bottom = java_get_int(o, chunk, "argsize", &arguments) ? size - arguments : -1;
	if (sp < 0 || bottom <= sp || size < bottom || size > CHUNK_WORDS_MAX)
		return false;
	*ret = (struct java_stack){ .sp = at + (uint64_t)sp * WORD, .end = at + (uint64_t)bottom * WORD, .is_chunk = true };
	ret->cnt = MIN((size_t)(bottom - sp) * WORD, STACK_BYTES_MAX) + REDUCED;
	return true;
}

/* Reads the stack that it left on the heap. */
static void take_chunks(struct look *l, guint of, struct seen *s, uint64_t at)
{
	const struct java_objects *o = &l->v->objects;
	struct java_object chunk;

	for (; at && s->stack_cnt < CHUNKS_MAX && take_object(l, of, at, &chunk); at = java_get(o, &chunk, "parent")) {
		struct java_stack *copy = &s->stacks[s->stack_cnt];

		if (!stack_of(o, &chunk, copy))
			continue;
		copy->bytes = read_evidence(l, of, copy->sp - REDUCED, copy->cnt);
		if (!copy->bytes)
			return;
		s->stack_cnt++;
	}
}

/* ---- batches of threads */

static void add_piece(GArray *pieces, uint64_t at, size_t cnt)
{
	const struct java_piece piece = { at, (uint32_t)cnt };

	if (at)
		g_array_append_val(pieces, piece);
}

static GArray *pieces_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct java_piece));
}

static void read_pieces(const struct java_objects *o, const GArray *pieces)
{
	java_read_ahead(o, (const struct java_piece *)(void *)pieces->data, pieces->len);
}

/* The values of a field in these objects. */
static GArray *objects_in_field(const struct java_objects *o, const GArray *pieces, const char *field, size_t cnt)
{
	GArray *found = pieces_new();
	struct java_object object;

	for (guint i = 0; i < pieces->len; i++)
		if (java_read(o, g_array_index(pieces, struct java_piece, i).at, &object))
			add_piece(found, java_get(o, &object, field), cnt);
	read_pieces(o, found);
	return found;
}

static void add_stacks(const struct java_objects *o, const GArray *chunks, GArray *stacks)
{
	struct java_object chunk;
	struct java_stack stack;

	for (guint i = 0; i < chunks->len; i++)
		if (java_read(o, g_array_index(chunks, struct java_piece, i).at, &chunk) && stack_of(o, &chunk, &stack))
			add_piece(stacks, stack.sp - REDUCED, stack.cnt);
}

/* Reads ahead for parked threads: themselves, their continuations, chunks, and the stacks in these. */
static void read_ahead(struct look *l, guint first)
{
	const struct java_objects *o = &l->v->objects;
	g_autoptr(GArray) threads = pieces_new(), stacks = pieces_new(), conts = NULL;
	GArray *chunks;

	for (guint i = first; i < l->threads->len && i - first < THREADS_AT_ONCE; i++)
		add_piece(threads, g_array_index(l->threads, uint64_t, i), JAVA_OBJECT_BYTES_MAX);
	read_pieces(o, threads);
	conts = objects_in_field(o, threads, "cont", CONTINUATION_BYTES);
	chunks = objects_in_field(o, conts, "tail", CHUNK_BYTES);
	for (unsigned i = 0; i < CHUNKS_MAX && chunks->len; i++) {
		GArray *parents = objects_in_field(o, chunks, "parent", CHUNK_BYTES);

		add_stacks(o, chunks, stacks);
		g_array_unref(chunks);
		chunks = parents;
	}
	g_array_unref(chunks);
	read_pieces(o, stacks);
}

/* Does this JavaThread run the virtual thread? */
static bool runs_vthread(const struct java_vthreads *v, uint64_t java_thread, uint64_t object)
{
	uint64_t handle, current;

	return hotspot_field_at(&v->hotspot.layout, v->hotspot.pid, HOTSPOT_THREAD_RUNS, java_thread, &handle) &&
	       handle && memory_read(v->hotspot.pid, handle, &current, sizeof(current)) && current == object;
}

static uint64_t anchor_word(const struct java_vthreads *v, const uint8_t *anchor, enum hotspot_field field)
{
	uint64_t word;

	return hotspot_field_of(&v->hotspot.layout, field, anchor, ANCHOR_BYTES, &word) ? word : 0;
}

/* Reads the stack on a carrier in native code or blocked: only then it stands still and the JVM has its position. */
static void take_mounted(struct look *l, guint of, struct seen *s, uint64_t carrier)
{
	const struct java_vthreads *v = l->v;
	const struct hotspot_layout *layout = &v->hotspot.layout;
	uint64_t at, base, blocked_by = 0, waits_for = 0;
	struct java_object thread;
	const uint8_t *anchor;

	if (!java_read(&v->objects, carrier, &thread) || !java_get_long(&v->objects, &thread, "eetop", &at) ||
	    !runs_vthread(v, at, s->t.object) || !layout->field[HOTSPOT_THREAD_ANCHOR].bytes ||
	    !hotspot_field_at(layout, v->hotspot.pid, HOTSPOT_THREAD_STACK, at, &base))
		return;
	anchor = read_evidence(l, of, at + layout->field[HOTSPOT_THREAD_ANCHOR].at, ANCHOR_BYTES);
	if (!anchor)
		return;
	struct java_stack copy = { .sp = anchor_word(v, anchor, HOTSPOT_ANCHOR_SP),
				   .pc = anchor_word(v, anchor, HOTSPOT_ANCHOR_PC),
				   .fp = anchor_word(v, anchor, HOTSPOT_ANCHOR_FP),
				   .end = base };

	if (copy.sp < REDUCED || copy.sp >= base)
		return;
	copy.cnt = MIN(base - copy.sp, STACK_BYTES_MAX) + REDUCED;
	copy.bytes = read_evidence(l, of, copy.sp - REDUCED, copy.cnt);
	if (copy.bytes)
		s->stacks[s->stack_cnt++] = copy;
	hotspot_field_at(layout, v->hotspot.pid, HOTSPOT_THREAD_PENDING, at, &blocked_by);
	hotspot_field_at(layout, v->hotspot.pid, HOTSPOT_THREAD_WAITING, at, &waits_for);
	if (s->t.does == JAVA_RUNS && (blocked_by || waits_for)) {
		s->t.does = blocked_by ? JAVA_BLOCKED : JAVA_WAITS;
		s->t.pin = JAVA_PIN_UNKNOWN;
	}
}

/* LockSupport stores what a thread parks for; locks of java.util.concurrent store their owner. */
static const struct lock *lock_of(struct look *l, uint64_t at)
{
	const struct java_objects *o = &l->v->objects;
	struct lock *lock = g_hash_table_lookup(l->locks, &at);
	char class[NAME_MAX_BYTES];
	struct java_object object, owner;

	if (lock)
		return lock;
	lock = g_new0(struct lock, 1);
	lock->at = at;
	g_hash_table_insert(l->locks, &lock->at, lock);
	if (!java_read(o, at, &object))
		return lock;
	if (java_class_name(o, object.class, class, sizeof(class)))
		lock->class = g_string_chunk_insert_const(l->v->strings, class);
	if (java_read(o, java_get(o, &object, "exclusiveOwnerThread"), &owner))
		java_get_long(o, &owner, "tid", &lock->holder);
	return lock;
}

static void take_thread(struct look *l, uint64_t at)
{
	const struct java_vthreads *v = l->v;
	const struct java_objects *o = &v->objects;
	struct seen s = { .t.object = at };
	const guint of = l->seen->len, taken = l->evidence->len;
	struct java_object object, continuation;
	const struct state *state;
	int32_t number;

	if (java_read(o, at, &object) && object.class != v->threads)
		return;	/* a platform thread in an executor */
	if (!take_object(l, of, at, &object) || !java_get_int(o, &object, "state", &number) ||
	    !java_get_long(o, &object, "tid", &s.t.number)) {
		l->census->unreadable++;
		return;
	}
	state = g_hash_table_lookup(v->states, GINT_TO_POINTER(number & ~SUSPENDED));
	if (!state) {	/* not started, or terminated */
		g_array_set_size(l->evidence, taken);
		return;
	}
	s.t.does = state->does;
	s.t.pin = state->is_pinned ? JAVA_PIN_UNKNOWN : JAVA_PIN_NONE;
	if (state->is_pinned || state->does == JAVA_RUNS)
		take_mounted(l, of, &s, java_get(o, &object, "carrierThread"));
	/* the outer frames of a mounted thread may still be in its chunk */
	if ((s.stack_cnt || state->does != JAVA_RUNS) && take_object(l, of, java_get(o, &object, "cont"), &continuation))
		take_chunks(l, of, &s, java_get(o, &continuation, "tail"));
	s.t.blocker = state->does == JAVA_PARKED || state->does == JAVA_PARKED_FOR_A_TIME ? java_get(o, &object, "parkBlocker") : 0;
	if (s.t.blocker) {
		const struct lock *lock = lock_of(l, s.t.blocker);

		s.t.blocker_class = lock->class;
		s.t.holder = lock->holder;
	}
	g_array_append_val(l->seen, s);
}

/* ---- consistency */

static void read_again(const struct look *l, const struct evidence *first, guint cnt, bool *is_same)
{
	struct memory_piece pieces[AT_ONCE];
	bool is_read[AT_ONCE];
	size_t bytes = 0;

	for (guint i = 0; i < cnt; i++)
		bytes += first[i].cnt;
	g_autofree uint8_t *room = g_malloc(bytes + 1);
	uint8_t *at = room;
	for (guint i = 0; i < cnt; at += first[i++].cnt)
		pieces[i] = (struct memory_piece){ first[i].at, at, first[i].cnt };
	memory_read_pieces(l->v->hotspot.pid, pieces, cnt, is_read);
	for (guint i = 0; i < cnt; i++)
		is_same[i] = is_read[i] && !memcmp(pieces[i].ret, first[i].bytes, first[i].cnt);
}

/* Compares, and drops the page cache, so that later reads are current. */
static void check_evidence(struct look *l)
{
	bool is_same[AT_ONCE];
	guint cnt;

	for (; l->checked < l->evidence->len; l->checked += cnt) {
		cnt = MIN(l->evidence->len - l->checked, AT_ONCE);
		read_again(l, &g_array_index(l->evidence, struct evidence, l->checked), cnt, is_same);
		for (guint i = 0; i < cnt; i++) {
			guint of = g_array_index(l->evidence, struct evidence, l->checked + i).of;

			if (!is_same[i] && of < l->seen->len)
				g_array_index(l->seen, struct seen, of).t.is_stale = true;
		}
	}
	read_anew(l);
}

/* Only few threads change while being read, mostly those with waiters. */
static void take_changed_again(struct look *l)
{
	guint cnt = l->seen->len;

	for (guint i = 0; i < cnt; i++) {
		struct seen *s = &g_array_index(l->seen, struct seen, i);

		if (!s->t.is_stale || s->is_taken_again)
			continue;
		s->is_taken_again = true;
		take_thread(l, s->t.object);
		check_evidence(l);
	}
}

static void forget_all(struct look *l)
{
	for (guint i = 0; i < l->seen->len; i++)
		g_array_index(l->seen, struct seen, i).t.is_stale = true;
}

/* ---- its frames */

/* A frame of a synchronized method; a synchronized block cannot be recognized. */
static const char *monitor_frame(const struct java_frames *f)
{
	for (unsigned i = 0; i < f->cnt; i++)
		if (f->is_synchronized[i])
			return f->names[i];
	return NULL;
}

static void find_pin(const struct java_vthreads *v, const struct java_frames *f, struct java_vthread *t)
{
	if (!t->pin || f->end != STACK_COMPLETE)
		return;
	if (!f->entered) {
		t->pin = v->hotspot.layout.major < MAJOR_MONITORS_DO_NOT_PIN ? JAVA_PIN_MONITOR : JAVA_PIN_UNKNOWN;
		t->pinned_by = t->pin == JAVA_PIN_MONITOR ? monitor_frame(f) : NULL;
		return;
	}
	t->pinned_by = f->names[f->entered - 1];
	t->pin = JAVA_PIN_CLASS;
	if (!g_str_has_suffix(t->pinned_by, ".<clinit>")) {
		t->pin = JAVA_PIN_NATIVE;
		t->pinned_by = f->names[f->entered];
	}
}

static void report_thread(const struct look *l, struct seen *s, java_vthread_fn fn, void *ctx)
{
	struct java_frames f = { 0 };

	for (unsigned i = 0; i < s->stack_cnt && !s->t.is_stale && f.end != STACK_COMPLETE && (!i || f.is_at_barrier);
	     i++)
		java_frames_add(&f, l->v->code, &s->stacks[i]);
	if (s->t.does == JAVA_RUNS && f.end != STACK_COMPLETE)
		f.cnt = 0;	/* it was being mounted or unmounted, so these are the carrier's frames */
	s->t.names = f.names;
	s->t.frame_cnt = f.cnt;
	s->t.end = f.cnt ? f.end : STACK_NONE;
	find_pin(l->v, &f, &s->t);
	fn(ctx, &s->t);
}

static bool is_blocked(const struct seen *s)
{
	return s->t.does == JAVA_BLOCKED && !s->t.pin && !s->t.is_stale && !s->is_taken_again;
}

/* Which monitor each thread waits for is unknown, except if there is only one with waiters. */
static void find_monitor(struct look *l)
{
	g_autoptr(GArray) contended = NULL;
	const struct lock *lock = NULL;
	uint64_t owner = 0;

	EACH_ROW(i, struct seen, s, l->seen) {
		if (!is_blocked(s))
			continue;
		if (!contended) {
			contended = g_array_new(FALSE, FALSE, sizeof(struct hotspot_contended));
			if (!hotspot_contended(&l->v->hotspot, contended) || contended->len != 1)
				return;
			const struct hotspot_contended *one = &g_array_index(contended, struct hotspot_contended, 0);

			owner = one->owner;
			lock = one->object ? lock_of(l, one->object) : NULL;
		}
		s->t.holder = owner;
		s->t.blocker_class = lock ? lock->class : NULL;
	}
}

static bool look_once(struct look *l)
{
	uint64_t before, after;
	bool is_calm = java_objects_collections(&l->v->objects, &before);

	list_threads(l);
	read_anew(l);
	for (guint i = 0; i < l->threads->len; i++) {
		if (i % THREADS_AT_ONCE == 0) {
			check_evidence(l);
			read_ahead(l, i);
		}
		take_thread(l, g_array_index(l->threads, uint64_t, i));
	}
	check_evidence(l);
	for (unsigned i = 0; i < TRIES_AGAIN; i++)
		take_changed_again(l);
	find_monitor(l);
	return is_calm && java_objects_collections(&l->v->objects, &after) && before == after;
}

bool java_vthreads_read(struct java_vthreads *v, uint64_t first, uint64_t stride, java_vthread_fn fn, void *ctx,
			struct java_vthreads_census *ret)
{
	struct look l = { .v = v, .census = ret, .first = first, .stride = stride };
	uint64_t list;
	bool is_sure = false;

	g_string_chunk_clear(v->strings);
	for (unsigned i = 0; i < LOOKS_MAX && !is_sure; i++) {
		if (i) {
			look_end(&l);
			read_anew(&l);
		}
		*ret = (struct java_vthreads_census){ 0 };
		look_begin(&l);
		is_sure = look_once(&l);
	}
	if (!is_sure)
		forget_all(&l);
	java_code_check(v->code);
	for (guint i = 0; i < l.seen->len; i++)
		if (!g_array_index(l.seen, struct seen, i).is_taken_again)
			report_thread(&l, &g_array_index(l.seen, struct seen, i), fn, ctx);
	look_end(&l);
	return hotspot_field_at(&v->hotspot.layout, v->hotspot.pid, HOTSPOT_THREADS, 0, &list);
}
