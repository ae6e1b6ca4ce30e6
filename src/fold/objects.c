/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/objects.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/opener/opener.h"
#include "fold/crossed.h"
#include "fold/limits/limits.h"
#include "fold/parts.h"
#include "symbolize/elf/data_symbols.h"

#define GLIBC_LOCK_BYTES 64	/* glibc's lock types are smaller: pthread_rwlock_t has 56 */

struct seen {
	struct crossed_row row;
	struct offcpu_rec_object rec;
	struct data_place place[OFFCPU_FUTEXES_MAX];
	uint32_t holder;	/* in our thread numbers; 0: unknown */
	bool is_believed;	/* see is_believed() */
};

/* An interpreter's lock and its holder. */
struct gil {
	struct crossed_row row;
	uint64_t addr;
	uint32_t pid, holder;
	char *place;
};

FREES_DATA(gil_free, struct gil, g, g_free(g->place))

struct fold_objects {
	struct profile *profile;
	char *proc_dir;
	struct data_symbols *data;
	struct crossed *seen, *gils;	/* struct seen, struct gil */
	GHashTable *gil_of;	/* pid -> struct gil */
	struct foreign_threads *threads;
};

struct fold_objects *fold_objects_new(struct profile *profile, const char *proc_dir, const char *debug_dir)
{
	struct fold_objects *o = g_new0(struct fold_objects, 1);

	o->profile = profile;
	o->proc_dir = g_strdup(proc_dir);
	o->data = data_symbols_new(proc_dir, debug_dir);
	o->seen = crossed_new(g_free);
	o->gils = crossed_new(gil_free);
	o->gil_of = g_hash_table_new(NULL, NULL);
	o->threads = foreign_threads_new(proc_dir);
	return o;
}

void fold_objects_free(struct fold_objects *o)
{
	if (!o)
		return;
	data_symbols_free(o->data);
	crossed_free(o->seen);
	g_hash_table_destroy(o->gil_of);
	crossed_free(o->gils);
	foreign_threads_free(o->threads);
	g_free(o->proc_dir);
	g_free(o);
}

static bool is_thread_of(const struct fold_objects *o, uint32_t pid, uint32_t tid)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/task/%" PRIu32, o->proc_dir, pid, tid);

	struct stat st;

	return tid && opener_stat(path, &st);
}

/*
 * Is the apparent holder plausible? That of a mutex or rwlock must be a thread of the process. A joined thread may be
 * gone, but no other futex in libc is shared and a word of 8 bytes with a thread's id. A semaphore's is distinctive,
 * too.
 */
static bool is_believed(const struct fold_objects *o, const struct offcpu_rec_object *rec, uint32_t holder)
{
	return rec->holder_kind == OFFCPU_HOLDER_JOIN || rec->holder_kind == OFFCPU_HOLDER_SEMAPHORE ||
	       is_thread_of(o, rec->pid, holder);
}

void fold_objects_add(struct fold_objects *o, const struct offcpu_rec_object *rec, size_t size)
{
	if (size < sizeof(*rec) || !rec->cnt) {
		fold_drop_record(o->profile);
		return;
	}
	if (crossed_find(o->seen, rec->id))
		return;
	struct seen *s = g_new0(struct seen, 1);
	const uint64_t space = rec->proc_start_ns * 0x9e3779b97f4a7c15ULL ^ (uint64_t)rec->pid << 32 ^ rec->exec_no;

	s->row.id = rec->id;
	s->rec = *rec;
	for (unsigned i = 0; i < MIN(rec->cnt, OFFCPU_FUTEXES_MAX); i++)
		data_symbols_find(o->data, rec->pid, space, rec->addr[i], rec->sp, rec->tid, &s->place[i]);
	s->holder = foreign_threads_find(o->threads, rec->pid, rec->proc_start_ns, rec->holder);
	s->is_believed = is_believed(o, rec, s->holder);
	crossed_add(o->seen, s);
}

void fold_objects_add_gil(struct fold_objects *o, const struct offcpu_rec_language *rec, const char *place)
{
	if (crossed_find(o->gils, rec->id))
		return;
	struct gil *g = g_new0(struct gil, 1);

	*g = (struct gil){ .row = { .id = rec->id }, .addr = rec->ustack, .pid = rec->pid, .place = g_strdup(place),
			   .holder = foreign_threads_find(o->threads, rec->pid, rec->proc_start_ns, rec->holder) };
	crossed_add(o->gils, g);
	g_hash_table_insert(o->gil_of, GUINT_TO_POINTER(rec->pid), g);
}

guint fold_objects_cnt(const struct fold_objects *o)
{
	return crossed_cnt(o->seen) + crossed_cnt(o->gils);
}

static void note_gil_of(void *gil, void *data)
{
	struct fold_objects *o = data;

	g_hash_table_insert(o->gil_of, GUINT_TO_POINTER(((const struct gil *)gil)->pid), gil);
}

static void keep_places(void *seen, void *data)
{
	struct seen *s = seen;

	for (unsigned i = 0; i < MIN(s->rec.cnt, OFFCPU_FUTEXES_MAX); i++)
		data_symbols_keep(data, &s->place[i]);
}

void fold_objects_forget(struct fold_objects *o)
{
	GStringChunk *forgotten = data_symbols_begin_forgetting(o->data);

	crossed_forget(o->seen);
	crossed_for_each(o->seen, keep_places, o->data);
	g_string_chunk_free(forgotten);
	crossed_forget(o->gils);
	g_hash_table_remove_all(o->gil_of);
	crossed_for_each(o->gils, note_gil_of, o);
}

/*
 * The interpreter lock that contains this futex; NULL: none. Also covers waits from before the BPF programs knew of
 * the interpreter.
 */
static const struct gil *gil_around(const struct fold_objects *o, const struct offcpu_rec_object *rec)
{
	const struct gil *g = g_hash_table_lookup(o->gil_of, GUINT_TO_POINTER(rec->pid));
	uint64_t at = g ? rec->addr[0] - g->addr : 0;

	return at >= OFFCPU_GIL_COND_AT && at < OFFCPU_GIL_BYTES ? g : NULL;
}

static uint32_t object_of_gil(struct fold_objects *o, const struct gil *g, uint32_t holder, const char *place)
{
	const struct object object = {
		.kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT_BITSET", .name = GIL_NAME,
		.place = place, .pid = g->pid, .addr = g->addr, .holder_tid = holder,
	};

	return profile_object(o->profile, &object) + 1;
}

/*
 * Is it another sleep, with the system call's registers still there, as of a thread frozen or stopped on its way
 * back? The kernel stack shows that, if there is one.
 */
static bool is_elsewhere(const struct profile *p, uint32_t kernel)
{
	bool named = false;

	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		named |= name != NULL;
		if (name && strstr(name, "futex"))
			return false;
	}
	return named;
}

/* glibc's condition variables and rwlocks wait on two words, which lie in one aligned word of 8 bytes. */
static uint64_t lock_address(enum lock_kind kind, uint64_t addr)
{
	return kind == LOCK_CONDITION || kind == LOCK_RWLOCK ? addr & ~UINT64_C(7) : addr;
}

static void append_place(GString *text, const struct seen *s, unsigned i, enum lock_kind kind)
{
	struct data_place place = s->place[i];
	uint64_t addr = lock_address(kind, s->rec.addr[i]), lower = s->rec.addr[i] - addr;

	place.offset -= MIN(lower, place.offset);
	place.name_offset -= MIN(lower, place.name_offset);
	g_autofree char *one = data_place_text(&place, addr, kind == LOCK_FUTEX ? 0 : GLIBC_LOCK_BYTES);

	g_string_append_printf(text, "%s%s", text->len ? ", " : "", one);
}

static char *object_name(const struct seen *s, enum lock_kind kind, uint32_t holder)
{
	GString *text = g_string_new(NULL);
	unsigned cnt = MIN(s->rec.cnt, OFFCPU_FUTEXES_MAX);

	if (kind == LOCK_JOIN && holder) {
		g_string_printf(text, "thread %" PRIu32, holder);
		return g_string_free(text, FALSE);
	}
	for (unsigned i = 0; i < cnt; i++)
		append_place(text, s, i, kind);
	if (s->rec.cnt > cnt)
		g_string_append_printf(text, " and %u more", s->rec.cnt - cnt);
	return g_string_free(text, FALSE);
}

uint32_t fold_objects_wait(struct fold_objects *o, uint64_t id, uint32_t user, uint32_t kernel)
{
	const struct seen *s = id ? crossed_find(o->seen, id) : NULL;
	const struct gil *gil = id && !s ? crossed_find(o->gils, id) : NULL;

	if (gil && !is_elsewhere(o->profile, kernel))
		return object_of_gil(o, gil, gil->holder, gil->place);
	if (!s || is_elsewhere(o->profile, kernel))
		return 0;
	gil = gil_around(o, &s->rec);
	if (gil)
		return object_of_gil(o, gil, 0, "");
	enum lock_kind kind = lock_kind_of(o->profile, user, s->rec.op);

	if (s->is_believed)
		kind = lock_kind_by_holder(kind, (enum offcpu_holder)s->rec.holder_kind);
	bool is_private = s->rec.op & OFFCPU_FUTEX_PRIVATE, is_placed = s->place[0].is_shared && !is_private;
	uint32_t holder = lock_holder_is_sure(kind, (enum offcpu_holder)s->rec.holder_kind) ? s->holder : 0;
	g_autofree char *name = object_name(s, kind, holder);
	const struct object object = {
		.kind = (uint8_t)kind, .is_private = is_private, .operation = lock_operation(s->rec.op), .name = name,
		.place = s->place[0].module,
		/* other processes map it at other addresses, so `place` identifies it */
		.pid = is_placed ? 0 : s->rec.pid, .addr = is_placed ? 0 : lock_address(kind, s->rec.addr[0]),
		.holder_tid = holder,
	};

	return profile_object(o->profile, &object) + 1;
}
