/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/sender.h"

#include <string.h>

#include "base/quiet_thread.h"

#define FIRST_PAUSE_US (G_USEC_PER_SEC / 2)
#define IDLE_US (60 * G_USEC_PER_SEC)	/* how often the spool's bounds are checked when idle */
#define PARCEL_MAX 64U	/* windows per request */
#define PARCEL_BYTES (UINT64_C(4) << 20)
#define STOP_US (2 * G_USEC_PER_SEC)	/* time for the current request to end at stop */

struct sender {
	struct target *target;
	struct spool *spool;
	struct sender_status status;
	GThread *thread;
	GMutex lock;	/* protects all above but the target */
	GCond changed;
	bool is_stopping, is_sending;
	gint64 not_before_us;
	/* used only by the sender's thread */
	gint64 pause_us, pause_max_us;
	guint at_once;	/* maximum units per request */
	bool must_ask;	/* ask whether it is up, after an unsure outcome */
	struct spool_drops told;
	bool told_away;
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};

static void say(struct sender *s, char *sentence)
{
	if (s->say)
		s->say(s->ctx, sentence);
	g_free(sentence);
}

/* Between half of it and all of it, so that a fleet does not return all at once. */
static gint64 with_jitter(gint64 us)
{
	return (gint64)((0.5 + 0.5 * g_random_double()) * (double)us);
}

/* Call with the lock held. */
static void pause_grows(struct sender *s, unsigned retry_after_s)
{
	gint64 us;

	s->pause_us = s->pause_us ? MIN(2 * s->pause_us, s->pause_max_us) : MIN(FIRST_PAUSE_US, s->pause_max_us);
	us = MAX(with_jitter(s->pause_us), MIN((gint64)retry_after_s * G_USEC_PER_SEC, s->pause_max_us));
	s->not_before_us = g_get_monotonic_time() + us;
	s->status.failed++;
	s->status.is_away = true;
}

static void take_drops(struct sender *s)
{
	const struct spool_drops d = spool_drops(s->spool);

	s->status.old = d.old;
	s->status.large = d.large;
	s->status.damaged = d.damaged;
	s->status.waiting = spool_cnt(s->spool);
	s->status.waiting_bytes = spool_bytes(s->spool);
}

/* Reports what the spool dropped since the last time.  Call without the lock. */
static void tell_drops(struct sender *s)
{
	g_mutex_lock(&s->lock);
	const struct spool_drops now = spool_drops(s->spool), before = s->told;

	s->told = now;
	g_mutex_unlock(&s->lock);
	const struct { uint64_t cnt; const char *why; } parts[] = {
		{ now.old - before.old, "were in the spool for too long" },
		{ now.large - before.large, "were beyond its size" },
		{ now.damaged - before.damaged, "were damaged" },
		{ now.unsure - before.unsure, "were being sent as the last process ended, and might count twice" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		if (parts[i].cnt)
			say(s, g_strdup_printf("%s: dropped %" G_GUINT64_FORMAT " that %s", target_name(s->target),
					       (guint64)parts[i].cnt, parts[i].why));
}

static void tell_outcome(struct sender *s, enum target_outcome outcome, const char *why)
{
	if (outcome == TARGET_TAKEN) {
		if (s->told_away)
			say(s, g_strdup_printf("%s takes windows again", target_name(s->target)));
		s->told_away = false;
	} else if (outcome == TARGET_REFUSED) {
		say(s, g_strdup_printf("dropped a window that was refused: %s", why));
	} else if (outcome == TARGET_UNSURE) {
		say(s, g_strdup_printf("gave up a window that might count twice: %s", why));
	} else if (!s->told_away) {
		say(s, g_strdup_printf("%s; windows stay in the spool until it takes them", why));
		s->told_away = true;
	}
}

/* Units sent in one request. */
struct parcel {
	GPtrArray *units;	/* struct push_unit */
	GPtrArray *names;	/* of each unit in the spool */
};

static void parcel_clear(struct parcel *p)
{
	g_ptr_array_unref(p->units);
	g_ptr_array_unref(p->names);
}

/*
 * Takes the unit after `after`, wrapping around.  Takes more units if the engine accepts several at once: a request
 * takes it the same time for one window as for many.  Call with the lock held.
 */
static void parcel_fill(struct sender *s, struct parcel *p, const char *after)
{
	guint most = target_may_repeat(s->target) ? s->at_once : 1;
	uint64_t bytes = 0;

	p->units = units_new();
	p->names = g_ptr_array_new_with_free_func(g_free);
	while (p->units->len < most && bytes < PARCEL_BYTES) {
		char *name = NULL;
		struct push_unit *u = spool_next(s->spool, after, &name);

		if (!u || (p->names->len && strcmp(name, after) <= 0)) {
			unit_free(u);
			g_free(name);
			break;
		}
		bytes += unit_bytes(u);
		g_ptr_array_add(p->units, u);
		g_ptr_array_add(p->names, name);
		after = name;
	}
}

/* Call with the lock held. */
static bool parcel_begin(struct sender *s, struct parcel *p, GError **error)
{
	for (guint i = 0; i < p->names->len; i++) {
		if (spool_begin(s->spool, g_ptr_array_index(p->names, i), error))
			continue;
		if (!i)
			return false;
		g_clear_error(error);	/* those before it are fine */
		g_ptr_array_set_size(p->units, (gint)i);
		g_ptr_array_set_size(p->names, (gint)i);
	}
	return p->names->len != 0;
}

static enum target_outcome parcel_send(struct sender *s, const struct parcel *p, char **ret_why,
				       unsigned *ret_retry_after_s)
{
	struct push_unit *all = p->units->len > 1 ? unit_join(p->units) : NULL;
	enum target_outcome outcome = TARGET_TAKEN;

	if (all)
		outcome = target_send(s->target, all, ret_why, ret_retry_after_s);
	for (guint i = 0; !all && i < p->units->len && outcome == TARGET_TAKEN; i++)
		outcome = target_send(s->target, g_ptr_array_index(p->units, i), ret_why, ret_retry_after_s);
	unit_free(all);
	return outcome;
}

static void count_taken(struct sender *s, const struct push_unit *u)
{
	s->status.taken++;
	s->status.bytes += unit_bytes(u);
	for (guint i = 0; i < u->requests->len; i++)
		s->status.rows += ((const struct push_request *)g_ptr_array_index(u->requests, i))->rows;
}

/*
 * Call with the lock held.  After a failure, units are sent one by one: a window that the engine rejects must not
 * block others.
 */
static void note_outcome(struct sender *s, const struct parcel *p, enum target_outcome outcome, unsigned retry_after_s)
{
	s->at_once = outcome == TARGET_TAKEN ? MIN(2 * s->at_once, PARCEL_MAX) : 1;
	EACH_POINTER(i, const char, name, p->names) {
		if (outcome == TARGET_LATER)
			spool_keep(s->spool, name);
		else
			spool_remove(s->spool, name);
		if (outcome == TARGET_TAKEN)
			count_taken(s, g_ptr_array_index(p->units, i));
	}
	if (outcome == TARGET_UNSURE) {
		s->status.unsure++;
		s->must_ask = true;
	}
	if (outcome == TARGET_LATER || outcome == TARGET_UNSURE) {
		pause_grows(s, retry_after_s);
		return;
	}
	s->pause_us = 0;
	s->not_before_us = 0;
	s->status.is_away = false;
	if (outcome == TARGET_REFUSED)
		s->status.refused++;
}

/* Whether a unit may be sent now. */
static bool is_there(struct sender *s)
{
	g_autofree char *why = NULL;

	if (!s->must_ask)
		return true;
	s->must_ask = !target_is_there(s->target, &why);
	if (!s->must_ask)
		return true;
	tell_outcome(s, TARGET_LATER, why);
	g_mutex_lock(&s->lock);
	pause_grows(s, 0);
	g_mutex_unlock(&s->lock);
	return false;
}

/* Sends the units after *after, wrapping around, so that a rejected unit does not block others. */
static void send_some(struct sender *s, char **after)
{
	char *why = NULL;
	unsigned retry_after_s = 0;
	enum target_outcome outcome;
	g_autoptr(GError) error = NULL;
	struct parcel p;

	g_mutex_lock(&s->lock);
	parcel_fill(s, &p, *after);
	bool ok = parcel_begin(s, &p, &error);

	s->is_sending = ok;
	if (p.names->len && !ok)
		pause_grows(s, 0);
	g_mutex_unlock(&s->lock);
	if (ok) {
		outcome = parcel_send(s, &p, &why, &retry_after_s);
		g_mutex_lock(&s->lock);
		note_outcome(s, &p, outcome, retry_after_s);
		s->is_sending = false;
		g_cond_broadcast(&s->changed);
		g_mutex_unlock(&s->lock);
		tell_outcome(s, outcome, why);
	} else if (p.names->len) {
		tell_outcome(s, TARGET_LATER, error->message);
	}
	g_free(*after);
	*after = p.names->len ? g_strdup(g_ptr_array_index(p.names, p.names->len - 1)) : NULL;
	g_free(why);
	parcel_clear(&p);
}

static gpointer run(gpointer data)
{
	struct sender *s = data;
	char *after = NULL;

	spare_stack_use();
	tell_drops(s);
	g_mutex_lock(&s->lock);
	while (!s->is_stopping) {
		gint64 now_us = g_get_monotonic_time();
		bool is_due = spool_cnt(s->spool) && now_us >= s->not_before_us;

		spool_bound(s->spool);
		take_drops(s);
		if (!is_due) {
			gint64 until_us = spool_cnt(s->spool) ? MIN(s->not_before_us, now_us + IDLE_US)
							      : now_us + IDLE_US;

			g_cond_wait_until(&s->changed, &s->lock, until_us);
			continue;
		}
		g_mutex_unlock(&s->lock);
		if (is_there(s))
			send_some(s, &after);
		tell_drops(s);
		g_mutex_lock(&s->lock);
	}
	g_mutex_unlock(&s->lock);
	g_free(after);
	return NULL;
}

static FREES(sender_free, struct sender, s, spool_close(s->spool); target_close(s->target); g_mutex_clear(&s->lock);
	     g_cond_clear(&s->changed))

struct sender *sender_start(const struct sender_options *o, GError **error)
{
	struct target *target = target_open(&o->target, error);
	struct spool_options spool = o->spool;
	struct spool *files;

	if (!target)
		return NULL;
	spool.may_repeat = target_may_repeat(target);
	files = spool_open(&spool, error);
	if (!files) {
		target_close(target);
		return NULL;
	}
	struct sender *s = g_new0(struct sender, 1);

	s->target = target;
	s->spool = files;
	s->at_once = 1;
	s->pause_max_us = (gint64)(o->pause_max_s ? o->pause_max_s : SENDER_PAUSE_MAX_S) * G_USEC_PER_SEC;
	s->say = o->say;
	s->ctx = o->ctx;
	g_mutex_init(&s->lock);
	g_cond_init(&s->changed);
	s->status.unsure = spool_drops(files).unsure;
	take_drops(s);
	s->thread = quiet_thread_new("push", run, s, error);
	if (s->thread)
		return s;
	sender_free(s);
	return NULL;
}

bool sender_window(struct sender *s, const struct profile *window, const struct reasons *reasons, GError **error)
{
	GPtrArray *units = target_units(s->target, window, reasons, error);
	bool ok = units != NULL;

	g_mutex_lock(&s->lock);
	for (guint i = 0; ok && i < units->len; i++)
		ok = spool_add(s->spool, g_ptr_array_index(units, i), error);
	s->status.unkept += !ok;
	take_drops(s);
	g_cond_broadcast(&s->changed);
	g_mutex_unlock(&s->lock);
	if (units)
		g_ptr_array_unref(units);
	return ok;
}

struct sender_status sender_status(struct sender *s)
{
	g_mutex_lock(&s->lock);
	take_drops(s);
	struct sender_status status = s->status;

	g_mutex_unlock(&s->lock);
	return status;
}

bool sender_drain(struct sender *s, gint64 until_us)
{
	bool is_empty;

	g_mutex_lock(&s->lock);
	while (spool_cnt(s->spool) && g_cond_wait_until(&s->changed, &s->lock, until_us))
		;
	is_empty = !spool_cnt(s->spool);
	g_mutex_unlock(&s->lock);
	return is_empty;
}

void sender_stop(struct sender *s)
{
	if (!s)
		return;
	gint64 until_us = g_get_monotonic_time() + STOP_US;

	g_mutex_lock(&s->lock);
	s->is_stopping = true;
	g_cond_broadcast(&s->changed);
	while (s->is_sending && g_cond_wait_until(&s->changed, &s->lock, until_us))
		;
	bool is_sending = s->is_sending;

	g_mutex_unlock(&s->lock);
	if (is_sending)
		target_cancel(s->target);
	g_thread_join(s->thread);
	sender_free(s);
}

const char *sender_name(const struct sender *s)
{
	return target_name(s->target);
}
