/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include <assert.h>

#include "base/each.h"
#include "base/order.h"
#include "features/requests/rows.h"
#include "features/slices/rows_build.h"
#include "features/tasks/rows.h"
#include "profile/id_index.h"
#include "profile/limits.h"
#include "profile/profile_schema.h"

/* Modules are few. They are strings of the profile, compared by pointer. */
void profile_set_build_id(struct profile *p, const char *module, const char *hex)
{
	struct module_id id = { .module = profile_string(p, module) };

	if (!module || !hex || !*hex || strlen(hex) > PROFILE_BUILD_ID_MAX_DIGITS ||
	    strspn(hex, "0123456789abcdef") != strlen(hex))
		return;
	if (profile_build_id(p, id.module) || p->build_ids->len >= PROFILE_MODULES_MAX)
		return;
	id.hex = profile_string(p, hex);
	g_array_append_val(p->build_ids, id);
}

const char *profile_build_id(const struct profile *p, const char *module)
{
	EACH_ROW(i, const struct module_id, id, p->build_ids)
		if (id->module == module)
			return id->hex;
	return NULL;
}

static const char *const kinds[OBJECT_KIND_COUNT] = {
	[LOCK_FUTEX] = "futex", [LOCK_MUTEX] = "mutex", [LOCK_CONDITION] = "condition variable",
	[LOCK_RWLOCK] = "rwlock", [LOCK_SEMAPHORE] = "semaphore", [LOCK_BARRIER] = "barrier", [LOCK_JOIN] = "join",
	[LOCK_ONCE] = "once", [LOCK_LIBC] = "libc lock", [LOCK_PARK] = "park",
	[OBJECT_FILE] = "file", [OBJECT_DIRECTORY] = "directory", [OBJECT_SOCKET] = "socket", [OBJECT_PIPE] = "pipe",
	[OBJECT_EVENTFD] = "eventfd", [OBJECT_TIMERFD] = "timerfd", [OBJECT_SIGNALFD] = "signalfd",
	[OBJECT_INOTIFY] = "inotify", [OBJECT_EPOLL] = "epoll", [OBJECT_POLL] = "poll", [OBJECT_CHILD] = "child",
	[OBJECT_BLOCK_DEVICE] = "block device", [OBJECT_TERMINAL] = "terminal", [OBJECT_DEVICE] = "device",
	[OBJECT_FAULT] = "page fault", [OBJECT_AIO] = "asynchronous I/O", [OBJECT_DESCRIPTOR] = "descriptor",
	[OBJECT_GOROUTINE] = "goroutine", [OBJECT_KERNEL_LOCK] = "kernel lock",
	[OBJECT_JOURNAL] = "journal", [OBJECT_NOTHING] = "none",
};

const char *object_kind_text(unsigned kind)
{
	return kind < OBJECT_KIND_COUNT ? kinds[kind] : "unknown";
}

const char *lock_kind_text(enum lock_kind kind)
{
	return object_kind_text((unsigned)kind);
}

const char *tcp_wait_direction_text(unsigned direction)
{
	static const char *const texts[TCP_WAIT_DIRECTION_COUNT] = {
		[TCP_WAIT_RECEIVE] = "receive", [TCP_WAIT_SEND] = "send", [TCP_WAIT_CONNECT] = "connect",
	};

	return direction < TCP_WAIT_DIRECTION_COUNT ? texts[direction] : "unknown";
}

bool object_kind_parse(const char *text, uint8_t *ret_kind)
{
	for (unsigned i = 0; i < OBJECT_KIND_COUNT; i++) {
		if (g_strcmp0(text, kinds[i]) == 0) {
			*ret_kind = (uint8_t)i;
			return true;
		}
	}
	return false;
}

/* Arrays without a table in profile_tables. */
#define OTHER_ARRAYS(p) { (p)->span_waits, (p)->build_ids, (p)->limits }

#define OF(member) offsetof(struct profile, member)

static bool has_array(int table)
{
	return profile_tables[table].array && table != TABLE_REQUEST_CALLS;	/* stored with requests */
}

struct profile *profile_new(void)
{
	struct profile *p = g_new0(struct profile, 1);
	const struct stack_node root = { .end = STACK_NONE };

	for (int i = 0; i < TABLE_CNT; i++)
		if (has_array(i))
			*(GArray **)(void *)((char *)p + profile_tables[i].array) =
				g_array_new(FALSE, FALSE, (guint)profile_tables[i].row_bytes);
	p->tasks = tasks_list_new();
	p->span_waits = g_array_new(FALSE, FALSE, sizeof(struct span_wait));
	p->build_ids = g_array_new(FALSE, FALSE, sizeof(struct module_id));
	p->limits = g_array_new(FALSE, FALSE, sizeof(struct profile_limit));
	p->strings = g_string_chunk_new(64 * 1024);
	p->string_list = g_ptr_array_new();
	for (int i = 0; i < INDEX_CNT; i++)
		p->index[i] = id_index_new();

	g_array_append_val(p->nodes, root);
	p->info.host = p->info.kernel = p->info.command_line = "";
	p->info.filters = p->info.version = p->info.history.gap_why = "";
	return p;
}

gsize profile_bytes(const struct profile *p)
{
	GArray *const others[] = OTHER_ARRAYS(p);
	gsize sum = sizeof(*p);

	for (int i = 0; i < TABLE_CNT; i++)
		if (has_array(i))
			sum += (gsize)profile_table_rows(&profile_tables[i], p)->len * profile_tables[i].row_bytes;
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		sum += (gsize)others[i]->len * g_array_get_element_size(others[i]);
	for (guint i = 0; i < p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(p, i);

		sum += sizeof(*t) + (gsize)t->rows->len * g_array_get_element_size(t->rows);
	}
	/* names, and the indexes for finding equal rows */
	return sum + (gsize)p->frames->len * 96 + (gsize)p->waits->len * 16;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	GArray *const others[] = OTHER_ARRAYS(p);

	for (int i = 0; i < TABLE_CNT; i++)
		if (has_array(i))
			g_array_unref(profile_table_rows(&profile_tables[i], p));
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		g_array_unref(others[i]);
	slices_free(p->slices);
	g_ptr_array_unref(p->tasks);
	g_string_chunk_free(p->strings);
	g_ptr_array_unref(p->string_list);
	for (int i = 0; i < INDEX_CNT; i++)
		id_index_free(p->index[i]);
	g_free(p);
}

static bool same_string(const void *ctx, const void *key, uint32_t id)
{
	const struct profile *p = ctx;

	return strcmp(g_ptr_array_index(p->string_list, id), key) == 0;
}

static const char *intern(struct profile *p, const char *s, size_t len_bytes)
{
	uint64_t hash = id_index_hash(p->index[INDEX_STRING], s, len_bytes);
	int64_t id = id_index_find(p->index[INDEX_STRING], hash, same_string, p, s);

	if (id >= 0)
		return g_ptr_array_index(p->string_list, (guint)id);
	/* not _insert_const(): the hash of its table is predictable, so a hostile file can make collisions */
	char *own = g_string_chunk_insert_len(p->strings, s, (gssize)len_bytes);

	id_index_add(p->index[INDEX_STRING], hash, p->string_list->len);
	g_ptr_array_add(p->string_list, own);
	return own;
}

const char *profile_string(struct profile *p, const char *s)
{
	const char *bad;

	if (!s)
		return NULL;
	size_t len_bytes = strlen(s);

	if (len_bytes <= PROFILE_STRING_MAX_BYTES && g_utf8_validate(s, (gssize)len_bytes, NULL))
		return intern(p, s, len_bytes);

	g_autofree char *valid = g_utf8_make_valid(s, (gssize)MIN(len_bytes, PROFILE_STRING_MAX_BYTES));

	/* U+FFFD is longer than an invalid byte, so cut again, between characters */
	len_bytes = MIN(strlen(valid), PROFILE_STRING_MAX_BYTES);
	valid[len_bytes] = '\0';
	if (!g_utf8_validate(valid, (gssize)len_bytes, &bad))
		valid[len_bytes = (size_t)(bad - valid)] = '\0';
	return intern(p, valid, len_bytes);
}

#define PART(type, member) { offsetof(struct type, member), sizeof(((struct type *)NULL)->member) }

/* The columns that identify a row in its table, except for frames. Strings are interned and compared by pointer. */
static const struct key {
	size_t rows;
	struct {
		uint16_t at, bytes;
	} parts[9];	/* terminated by 0 bytes */
} keys[INDEX_CNT] = {
	[INDEX_STACK] = { OF(nodes), { PART(stack_node, parent), PART(stack_node, frame) } },
	[INDEX_OBJECT] = { OF(objects), { PART(object, kind), PART(object, is_private), PART(object, operation),
					  PART(object, name), PART(object, place), PART(object, pid),
					  PART(object, addr), PART(object, holder_tid) } },
	[INDEX_WAKER] = { OF(wakers), { PART(waker, pid), PART(waker, tid), PART(waker, start_ns), PART(waker, comm),
					PART(waker, irq), PART(waker, user), PART(waker, kernel) } },
	[INDEX_WAIT] = { OF(waits), { PART(wait, thread), PART(wait, user), PART(wait, kernel), PART(wait, state),
				      PART(wait, flags), PART(wait, object) } },
	[INDEX_WAKE] = { OF(wakes), { PART(wake, wait), PART(wake, waker) } },
	[INDEX_CHAIN] = { OF(chains), { PART(chain_node, waker), PART(chain_node, next), PART(chain_node, end),
					PART(chain_node, loop_steps) } },
	[INDEX_BLAME] = { OF(blames), { PART(blame, thread), PART(blame, kind), PART(blame, pid), PART(blame, comm) } },
	[INDEX_STORM] = { OF(storms), { PART(storm, waker) } },
	[INDEX_CONNECTION] = { OF(connections), { PART(connection, pid), PART(connection, side),
						  PART(connection, local), PART(connection, remote) } },
	[INDEX_TCP_WAIT] = { OF(tcp_waits), { PART(tcp_wait, object), PART(tcp_wait, direction) } },
};

static GArray *rows_of(const struct profile *p, enum profile_index index)
{
	return *(GArray *const *)(const void *)((const char *)p + keys[index].rows);
}

struct sought {
	const struct key *key;
	const GArray *rows;
};

static bool same_row(const void *ctx, const void *row, uint32_t id)
{
	const struct sought *s = ctx;
	const char *a = s->rows->data + (gsize)id * g_array_get_element_size((GArray *)s->rows), *b = row;

	for (unsigned i = 0; s->key->parts[i].bytes; i++)
		if (memcmp(a + s->key->parts[i].at, b + s->key->parts[i].at, s->key->parts[i].bytes) != 0)
			return false;
	return true;
}

/* The id of the row with this key. If there is none, appends this row. */
static uint32_t put_row(struct profile *p, enum profile_index index, const void *row)
{
	const struct sought s = { &keys[index], rows_of(p, index) };
	GArray *rows = rows_of(p, index);
	char bytes[64];
	size_t len = 0;

	for (unsigned i = 0; s.key->parts[i].bytes; len += s.key->parts[i++].bytes)
		memcpy(bytes + len, (const char *)row + s.key->parts[i].at, s.key->parts[i].bytes);
	uint64_t hash = id_index_hash(p->index[index], bytes, len);
	int64_t id = id_index_find(p->index[index], hash, same_row, &s, row);

	if (id >= 0)
		return (uint32_t)id;
	id_index_add(p->index[index], hash, rows->len);
	g_array_append_vals(rows, row, 1);
	return rows->len - 1;
}

static uint32_t put_or_merge(struct profile *p, enum profile_index index, enum table_id table, const void *row)
{
	GArray *rows = rows_of(p, index);
	const guint before = rows->len;
	const uint32_t id = put_row(p, index, row);

	if (id < before)
		profile_merge_row(table, rows->data + (gsize)id * g_array_get_element_size(rows), row);
	return id;
}

/*
 * A frame is looked up by its strings, not by pointers of interned ones. An import names a dozen frames per row, and
 * nearly all are known. Interning three strings of each first costs three more lookups in tables that no cache holds.
 */
static uint64_t text_hash(const struct profile *p, const char *s)
{
	return s ? id_index_hash(p->index[INDEX_FRAME], s, strlen(s)) : 0;
}

static uint64_t frame_hash(const struct profile *p, const struct frame *f)
{
	const uint64_t parts[] = { text_hash(p, f->name), text_hash(p, f->module), text_hash(p, f->file), f->offset,
				   (uint64_t)f->line << 32 | (uint32_t)(f->kind << 16 | f->why << 8 | f->is_inline) };

	return id_index_hash(p->index[INDEX_FRAME], parts, sizeof(parts));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_frame(const void *ctx, const void *frame, uint32_t id)
{
	const struct frame *a = frame, *b = profile_get_frame(ctx, id);

	return a->offset == b->offset && a->line == b->line && a->kind == b->kind && a->why == b->why &&
	       a->is_inline == b->is_inline && same_text(a->name, b->name) && same_text(a->module, b->module) &&
	       same_text(a->file, b->file);
}

uint32_t profile_frame(struct profile *p, const struct frame *f)
{
	struct id_index *ix = p->index[INDEX_FRAME];
	struct frame own = *f;

	if (own.name)
		own.why = FRAME_NAMED;
	else if (own.why == FRAME_NAMED || own.why >= FRAME_WHY_COUNT)
		own.why = FRAME_NO_SYMBOLS;
	int64_t id = id_index_find(ix, frame_hash(p, &own), same_frame, p, &own);

	if (id >= 0)
		return (uint32_t)id;
	profile_own_texts(p, TABLE_FRAME, &own);
	/* strings that are not valid UTF-8, or too long, have changed */
	const uint64_t hash = frame_hash(p, &own);

	id = id_index_find(ix, hash, same_frame, p, &own);
	if (id >= 0)
		return (uint32_t)id;
	id_index_add(ix, hash, p->frames->len);
	g_array_append_val(p->frames, own);
	return p->frames->len - 1;
}

uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame)
{
	assert(parent < p->nodes->len && frame < p->frames->len);
	const struct stack_node node = {
		.parent = parent,
		.frame = frame,
		.depth = profile_get_node(p, parent)->depth + 1,
		.end = STACK_NONE,
	};

	if (node.depth > PROFILE_DEPTH_MAX)
		return parent;
	return put_row(p, INDEX_STACK, &node);
}

void profile_stack_end(struct profile *p, uint32_t node, enum stack_end end)
{
	assert(node < p->nodes->len && end < STACK_END_COUNT);
	struct stack_node *n = &g_array_index(p->nodes, struct stack_node, node);

	if (node > 0)
		n->end = MAX(n->end, (uint8_t)end);
}

static bool begins_with_any(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (g_str_has_prefix(name, *prefixes))
			return true;
	return false;
}

#define HOST_PROCESSES_MIN 10

bool profile_is_of_host(const struct profile *p)
{
	g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; profile_is_of_machine(p) && i < p->threads->len; i++)
		g_hash_table_add(pids, GUINT_TO_POINTER(profile_thread(p, i)->pid));
	return g_hash_table_size(pids) >= HOST_PROCESSES_MIN;
}

bool profile_stack_names(const struct profile *p, uint32_t node, const char *const *prefixes)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, node)->frame)->name;

		if (name && begins_with_any(name, prefixes))
			return true;
	}
	return false;
}

#define NODES_A_ROW (PROFILE_NODES_MAX / PROFILE_ROWS_MAX)

guint profile_most_rows(const struct profile *p)
{
	guint most = p->span_waits->len;

	for (int i = 0; i < TABLE_CNT; i++) {
		const GArray *rows = profile_table_rows(&profile_tables[i], p);

		if (rows)
			most = MAX(most, i == TABLE_STACK ? (rows->len + NODES_A_ROW - 1) / NODES_A_ROW : rows->len);
	}
	return most;
}

uint32_t profile_add_thread(struct profile *p, const struct thread *t)
{
	struct thread own = *t;

	if (!own.comm)
		own.comm = "";
	if (!own.process)
		own.process = "";
	g_array_append_val(p->threads, own);
	return p->threads->len - 1;
}

static void merge_wait(struct wait *into, const struct wait *w)
{
	profile_merge_row(TABLE_WAIT, into, w);
	into->on_cpu_ns = profile_sum(into->on_cpu_ns, w->on_cpu_ns);
	if (w->max_ns > into->max_ns || (w->max_ns == into->max_ns && !into->max_start_unix_ns)) {
		into->max_ns = w->max_ns;
		into->max_start_unix_ns = w->max_start_unix_ns;
		into->max_waker = w->max_waker;
	}
}

void profile_expect_waits(struct profile *p, guint cnt)
{
	array_expect(p->waits, cnt);
	id_index_expect(p->index[INDEX_WAIT], cnt);
}

uint32_t profile_add_wait(struct profile *p, const struct wait *w)
{
	assert(w->thread < p->threads->len && w->user < p->nodes->len && w->kernel < p->nodes->len &&
	       w->object <= p->objects->len);
	const guint before = p->waits->len;
	const uint32_t id = put_row(p, INDEX_WAIT, w);

	if (id < before)
		merge_wait(&g_array_index(p->waits, struct wait, id), w);
	return id;
}

void profile_add_single_wait(struct profile *p, const struct wait *w)
{
	assert(w->thread < p->threads->len && w->user < p->nodes->len && w->kernel < p->nodes->len &&
	       w->object <= p->objects->len && w->max_waker <= p->wakers->len);
	g_array_append_vals(p->waits, w, 1);
}

void profile_set_max_waker(struct profile *p, uint32_t wait, uint64_t max_start_unix_ns, uint32_t waker)
{
	struct wait *w = &g_array_index(p->waits, struct wait, wait);

	assert(wait < p->waits->len && waker < p->wakers->len);
	if (max_start_unix_ns && w->max_start_unix_ns == max_start_unix_ns)
		w->max_waker = waker + 1;
}

void profile_set_longest(struct profile *p, uint32_t wait, uint64_t max_start_unix_ns, uint32_t max_waker)
{
	struct wait *w = &g_array_index(p->waits, struct wait, wait);

	assert(wait < p->waits->len && max_waker <= p->wakers->len);
	w->max_start_unix_ns = max_start_unix_ns;
	w->max_waker = max_waker;
}

void profile_set_start_unix(struct profile *p, uint64_t start_unix_ns)
{
	uint64_t step_ns = start_unix_ns - p->info.start_unix_ns;

	p->info.start_unix_ns = start_unix_ns;
	for (guint i = 0; step_ns && i < p->waits->len; i++) {
		struct wait *w = &g_array_index(p->waits, struct wait, i);

		if (w->max_start_unix_ns)
			w->max_start_unix_ns += step_ns;
	}
}

void profile_add_state(struct profile *p, const struct state_total *total)
{
	assert(total->thread < p->threads->len);
	g_array_append_vals(p->states, total, 1);
}

void profile_add_to_state(struct profile *p, const struct state_total *total)
{
	guint at = 0;

	for (; at < p->states->len && profile_state(p, at)->thread <= total->thread; at++) {
		struct state_total *row = &g_array_index(p->states, struct state_total, at);

		if (row->thread != total->thread || row->state != total->state)
			continue;
		profile_merge_row(TABLE_STATE_TOTAL, row, total);
		return;
	}
	g_array_insert_vals(p->states, at, total, 1);
}

uint32_t profile_waker(struct profile *p, const struct waker *w)
{
	assert(w->user < p->nodes->len && w->kernel < p->nodes->len);
	struct waker own = *w;

	own.comm = profile_string(p, w->comm ? w->comm : "");
	own.irq = profile_string(p, w->irq);
	return put_row(p, INDEX_WAKER, &own);
}

uint32_t profile_add_wake(struct profile *p, const struct wake *w)
{
	assert(w->wait < p->waits->len && w->waker < p->wakers->len);
	return put_or_merge(p, INDEX_WAKE, TABLE_WAKE, w);
}

uint32_t profile_chain(struct profile *p, const struct chain_node *c)
{
	assert(c->waker < p->wakers->len && c->next <= p->chains->len);
	return put_row(p, INDEX_CHAIN, c);
}

void profile_add_blame(struct profile *p, const struct blame *b)
{
	assert(b->thread < p->threads->len);
	struct blame own = *b;
	const guint before = p->blames->len;

	own.comm = profile_string(p, b->comm ? b->comm : "");
	const uint32_t id = put_or_merge(p, INDEX_BLAME, TABLE_BLAME, &own);
	struct blame *into = &g_array_index(p->blames, struct blame, id);

	if (id < before && into->tid != own.tid)
		into->tid = 0;
}

void profile_add_storm(struct profile *p, const struct storm *s)
{
	assert(s->waker < p->wakers->len);
	put_or_merge(p, INDEX_STORM, TABLE_STORM, s);
}

void profile_add_tcp_wait(struct profile *p, const struct tcp_wait *t)
{
	assert(t->object < p->objects->len && t->direction < TCP_WAIT_DIRECTION_COUNT);
	put_or_merge(p, INDEX_TCP_WAIT, TABLE_TCP_WAIT, t);
}

void profile_add_connection(struct profile *p, const struct connection *c)
{
	struct connection own = *c;

	assert(c->side < CONNECTION_SIDE_COUNT);
	own.local = profile_string(p, c->local ? c->local : "");
	own.remote = profile_string(p, c->remote ? c->remote : "");
	if (p->connections->len < CONNECTIONS_MAX)
		put_row(p, INDEX_CONNECTION, &own);
	else
		profile_add_loss(p, PROFILE_LOSS_CONNECTIONS, "TCP connections beyond the first ones of a window: --follow does not find them",
				 1, 0);
}

uint32_t profile_object(struct profile *p, const struct object *o)
{
	struct object own = *o;

	own.operation = profile_string(p, o->operation ? o->operation : "");
	own.name = profile_string(p, o->name ? o->name : "");
	own.place = profile_string(p, o->place ? o->place : "");
	return put_row(p, INDEX_OBJECT, &own);
}

void profile_name_object(struct profile *p, uint32_t object, const char *name, uint32_t pid)
{
	struct object *o = &g_array_index(p->objects, struct object, object);

	o->name = profile_string(p, name);
	o->pid = pid;
}

void profile_add_story(struct profile *p, const struct story *s)
{
	assert(s->wake < p->wakes->len && s->chain < p->chains->len);
	g_array_append_vals(p->stories, s, 1);
}

void profile_add_trace(struct profile *p, const struct wait_trace *t)
{
	struct wait_trace own = *t;

	assert(t->wait < p->waits->len);
	own.trace = profile_string(p, t->trace ? t->trace : "");
	own.span = profile_string(p, t->span ? t->span : "");
	g_array_append_val(p->traces, own);
}

ORDER(compare_traces, struct wait_trace, ORDER_LOW(wait) ORDER_HIGH(ns))

void profile_sort_traces(struct profile *p)
{
	struct wait_trace *all = (struct wait_trace *)(void *)p->traces->data;
	guint kept = 0;

	g_array_sort(p->traces, compare_traces);
	for (guint i = 0; i < p->traces->len; i++)
		if (!kept || all[kept - 1].wait != all[i].wait)
			all[kept++] = all[i];
	g_array_set_size(p->traces, kept);
}

static int compare_wait(const void *wait, const void *trace)
{
	uint32_t w = *(const uint32_t *)wait, of = ((const struct wait_trace *)trace)->wait;

	return w < of ? -1 : w > of;
}

const struct wait_trace *profile_trace_of(const struct profile *p, uint32_t wait)
{
	if (!p->traces->len)
		return NULL;
	return bsearch(&wait, p->traces->data, p->traces->len, sizeof(struct wait_trace), compare_wait);
}

unsigned profile_chain_len(const struct profile *p, uint32_t chain)
{
	unsigned len = 1;

	for (uint32_t next = profile_get_chain(p, chain)->next; next; next = profile_get_chain(p, next - 1)->next)
		len++;
	return len;
}

/* The tables of one window. */
#define ROW_TABLES(p)                                                                                                  \
	{                                                                                                              \
		&(p)->threads, &(p)->waits, &(p)->on_cpu, &(p)->states, &(p)->wakes, &(p)->chains, &(p)->stories,      \
			&(p)->blames, &(p)->storms, &(p)->traces, &(p)->tcp_waits, &(p)->connections, &(p)->losses,          \
			&(p)->limits, &(p)->requests, &(p)->request_parts                                                      \
	}
#define ROW_TABLE_CNT 16

static void begin_index(struct id_index **index)
{
	id_index_free(*index);
	*index = id_index_new();
}

void profile_empty_indexes(struct profile *p)
{
	for (int i = INDEX_WAIT; i < INDEX_CNT; i++)
		begin_index(&p->index[i]);
}

static void begin_rows(struct profile *p)
{
	profile_empty_indexes(p);
	g_clear_pointer(&p->slices, slices_free);
}

void profile_empty_rows(struct profile *p)
{
	GArray **const rows[ROW_TABLE_CNT] = ROW_TABLES(p);

	for (gsize i = 0; i < ROW_TABLE_CNT; i++)
		g_array_set_size(*rows[i], 0);
	begin_rows(p);
}

void profile_empty_objects(struct profile *p)
{
	g_array_set_size(p->objects, 0);
	g_array_set_size(p->wakers, 0);
	begin_index(&p->index[INDEX_OBJECT]);
	begin_index(&p->index[INDEX_WAKER]);
}

/* A profile that shares everything with p except slices and indexes. */
static struct profile *sharing(struct profile *p)
{
	struct profile *own = g_memdup2(p, sizeof(*p));

	own->slices = NULL;
	for (int i = INDEX_WAIT; i < INDEX_CNT; i++)
		own->index[i] = NULL;
	return own;
}

/* Gives p empty tables where another profile took its own. */
static void put_empty_tables(struct profile *p)
{
	GArray **const rows[ROW_TABLE_CNT] = ROW_TABLES(p);

	for (gsize i = 0; i < ROW_TABLE_CNT; i++)
		*rows[i] = g_array_new(FALSE, FALSE, g_array_get_element_size(*rows[i]));
}

struct profile *profile_take_rows(struct profile *p)
{
	struct profile *own = sharing(p);

	put_empty_tables(p);
	p->tasks = tasks_list_new();
	begin_rows(p);
	return own;
}

struct profile *profile_new_rows(struct profile *p)
{
	struct profile *own = sharing(p);

	put_empty_tables(own);
	own->tasks = tasks_list_new();
	begin_rows(own);
	return own;
}

void profile_free_rows(struct profile *rows)
{
	if (!rows)
		return;
	GArray **const tables[ROW_TABLE_CNT] = ROW_TABLES(rows);

	for (gsize i = 0; i < ROW_TABLE_CNT; i++)
		g_array_unref(*tables[i]);
	for (int i = INDEX_WAIT; i < INDEX_CNT; i++)
		id_index_free(rows->index[i]);
	g_ptr_array_unref(rows->tasks);
	g_free(rows);
}

struct profile_loss *profile_find_loss(const struct profile *p, const char *reason)
{
	EACH_ROW(i, struct profile_loss, have, p->losses)
		if (g_strcmp0(have->reason, reason) == 0)
			return have;
	return NULL;
}

void profile_add_loss(struct profile *p, const char *reason, const char *help, uint64_t count, uint64_t time_ns)
{
	if (count == 0 && time_ns == 0)
		return;
	struct profile_loss loss = { .reason = reason ? reason : "", .help = help ? help : "", .count = count,
				     .time_ns = time_ns };
	struct profile_loss *have = profile_find_loss(p, reason);

	if (have) {
		profile_merge_row(TABLE_LOSS, have, &loss);
		return;
	}
	profile_own_texts(p, TABLE_LOSS, &loss);
	g_array_append_val(p->losses, loss);
}
