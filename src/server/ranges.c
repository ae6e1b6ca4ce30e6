/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/ranges.h"

#include "analyse/locks.h"
#include "base/each.h"

#define KEPT_MAX 8
#define KEPT_MAX_US (600 * G_USEC_PER_SEC)	/* by then the store may have deleted its windows */

struct entry {
	uint64_t from_ns, to_ns;
	enum range_form form;
	struct profile *profile;	/* NULL: it is being read */
	gsize bytes;
	unsigned users;			/* threads that use it or wait for it */
	gint64 made_us, used_us;
	GError *error;			/* set if reading failed; the last user frees it */
};

struct ranges {
	char *dir;
	range_read_fn read;
	gsize max_bytes;
	GMutex lock;		/* protects all below */
	GCond is_read;
	GPtrArray *entries;	/* struct entry */
	struct ranges_stats stats;
};

static FREES(entry_free, struct entry, e, profile_free(e->profile); g_clear_error(&e->error))

struct ranges *ranges_new(const char *dir, range_read_fn read, gsize max_bytes)
{
	struct ranges *r = g_new0(struct ranges, 1);

	r->dir = g_strdup(dir);
	r->read = read;
	r->max_bytes = max_bytes;
	g_mutex_init(&r->lock);
	g_cond_init(&r->is_read);
	r->entries = g_ptr_array_new();
	return r;
}

FREES(ranges_free, struct ranges, r,
      for (guint i = 0; i < r->entries->len; i++) entry_free(g_ptr_array_index(r->entries, i));
      g_ptr_array_unref(r->entries); g_cond_clear(&r->is_read); g_mutex_clear(&r->lock); g_free(r->dir))

static struct entry *find_entry(const struct ranges *r, uint64_t from_ns, uint64_t to_ns, enum range_form form)
{
	EACH_POINTER(i, struct entry, e, r->entries)
		if (e->from_ns == from_ns && e->to_ns == to_ns && e->form == form && !e->error)
			return e;
	return NULL;
}

/* The least recently used entry without users. */
static struct entry *oldest_unused(const struct ranges *r, unsigned *ret_unused_cnt, gsize *ret_bytes)
{
	struct entry *found = NULL;

	*ret_unused_cnt = 0;
	*ret_bytes = 0;
	EACH_POINTER(i, struct entry, e, r->entries) {
		if (e->users)
			continue;
		(*ret_unused_cnt)++;
		*ret_bytes += e->bytes;
		if (!found || e->used_us < found->used_us)
			found = e;
	}
	return found;
}

/* Call with the lock held. */
static void drop_old(struct ranges *r)
{
	for (;;) {
		unsigned unused_cnt;
		gsize bytes;
		struct entry *e = oldest_unused(r, &unused_cnt, &bytes);
		bool is_stale = e && g_get_monotonic_time() - e->made_us > KEPT_MAX_US;

		if (!e || (unused_cnt <= KEPT_MAX && bytes <= r->max_bytes && !is_stale))
			return;
		g_ptr_array_remove_fast(r->entries, e);
		entry_free(e);
	}
}

static void prepare_form(struct profile *p, enum range_form form)
{
	if (profile_has_on_cpu(p))
		profile_on_cpu_as_waits(p);
	if (form == RANGE_WITH_OBJECTS)
		objects_as_frames(p);
}

/* Call with the lock held; releases it while reading. */
static void read_entry(struct ranges *r, struct entry *e)
{
	GError *error = NULL;

	g_mutex_unlock(&r->lock);
	struct profile *p = r->read(r->dir, e->from_ns, e->to_ns, &error);

	if (p)
		prepare_form(p, e->form);
	g_mutex_lock(&r->lock);
	e->profile = p;
	e->error = error;
	e->bytes = p ? profile_bytes(p) : 0;
	e->made_us = g_get_monotonic_time();
	r->stats.read_cnt++;
	g_cond_broadcast(&r->is_read);
}

/* Call with the lock held. */
static void leave_entry(struct ranges *r, struct entry *e)
{
	e->users--;
	e->used_us = g_get_monotonic_time();
	if (e->users)
		return;
	if (e->error) {
		g_ptr_array_remove_fast(r->entries, e);
		entry_free(e);
	}
	drop_old(r);
}

const struct profile *ranges_get(struct ranges *r, uint64_t from_ns, uint64_t to_ns, enum range_form form,
				 GError **error)
{
	const struct profile *p;

	g_mutex_lock(&r->lock);
	drop_old(r);
	struct entry *e = find_entry(r, from_ns, to_ns, form);

	if (e) {
		r->stats.hit_cnt++;
		e->users++;
		while (!e->profile && !e->error)
			g_cond_wait(&r->is_read, &r->lock);
	} else {
		e = g_new0(struct entry, 1);
		*e = (struct entry){ .from_ns = from_ns, .to_ns = to_ns, .form = form, .users = 1 };
		g_ptr_array_add(r->entries, e);
		read_entry(r, e);
	}
	p = e->profile;
	if (!p) {
		if (error)
			*error = g_error_copy(e->error);
		leave_entry(r, e);
	}
	g_mutex_unlock(&r->lock);
	return p;
}

void ranges_put(struct ranges *r, const struct profile *p)
{
	if (!p)
		return;
	g_mutex_lock(&r->lock);
	EACH_POINTER(i, struct entry, e, r->entries) {
		if (e->profile == p) {
			leave_entry(r, e);
			break;
		}
	}
	g_mutex_unlock(&r->lock);
}

void ranges_stats(struct ranges *r, struct ranges_stats *ret)
{
	unsigned unused_cnt;

	g_mutex_lock(&r->lock);
	oldest_unused(r, &unused_cnt, &r->stats.bytes);
	r->stats.kept = unused_cnt;
	*ret = r->stats;
	g_mutex_unlock(&r->lock);
}
