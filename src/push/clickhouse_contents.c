/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What rows refer to: stacks, objects, wakers.  Each has a row for every service that uses it, so that the same
 * condition on every table can keep readers of one service from the others' data.
 */
#include "base/hash.h"
#include "explain/explain.h"
#include "push/clickhouse_rows.h"
#include "push/rowbinary.h"

static const struct thread *thread_of(const struct rows *r, const struct headline *h)
{
	const struct profile *p = r->p;
	uint32_t pid = h->task ? h->task->pid : h->finding->pid;

	if (h->kind == HEADLINE_WAIT)
		return profile_thread(p, profile_wait(p, h->finding->wait)->thread);
	return rows_thread_of(p, pid);
}

/* The first findings of a report of the window, so that a list of hosts need not read windows. */
void rows_put_findings(struct rows *r)
{
	struct explanation *e = explanation_new(r->p, NULL);

	EACH_ROW(i, const struct headline, h, e->headlines) {
		const char *process = h->task ? h->task->program : h->finding->process;
		const struct thread *t = thread_of(r, h);

		rows_of_window(r);
		RB_TEXT(r->out, t ? rows_service(t) : process, process, headline_kind_name(h->kind),
			h->task ? h->task->reason : reason_name(h->finding->reason));
		RB_U64(r->out, h->time_ns, h->whole_ns);
		RB_TEXT(r->out, h->sentence, h->evidence, h->advice);
	}
	rows_end(r, "findings");
	explanation_free(e);
}

#define SECONDS_A_DAY 86400

enum content_kind { CONTENT_STACK, CONTENT_OBJECT, CONTENT_WAKER, CONTENT_KINDS };

struct service {
	const char *name;
	uint64_t id, number;
};

struct content {
	const struct service *service;
	uint32_t index;		/* of the node, object, waker */
};

struct contents {
	struct rows *r;
	GHashTable *services;	/* by name */
	GHashTable *noted;	/* a set of (service, kind, index) */
	GArray *of[CONTENT_KINDS];	/* struct content */
};

static const struct service *service_of(struct contents *c, const char *name)
{
	struct service *s = g_hash_table_lookup(c->services, name ? name : "");

	if (s)
		return s;
	s = g_new(struct service, 1);
	*s = (struct service){ name ? name : "", identity_of_text(name), g_hash_table_size(c->services) };
	g_hash_table_insert(c->services, (gpointer)s->name, s);
	return s;
}

/* True if it is new. */
static bool note_content(struct contents *c, const struct service *s, enum content_kind kind, uint32_t index)
{
	const struct content one = { s, index };
	uint64_t key = (s->number * CONTENT_KINDS + kind) << 32 | index;

	if (!g_hash_table_add(c->noted, (gpointer)key))
		return false;
	g_array_append_val(c->of[kind], one);
	return true;
}

static void note_stacks(struct contents *c, const struct service *s, uint32_t user, uint32_t kernel)
{
	if (user)
		note_content(c, s, CONTENT_STACK, user);
	if (kernel)
		note_content(c, s, CONTENT_STACK, kernel);
}

static void note_waker(struct contents *c, const struct service *s, uint32_t waker)
{
	const struct waker *w = profile_get_waker(c->r->p, waker);

	if (note_content(c, s, CONTENT_WAKER, waker))
		note_stacks(c, s, w->user, w->kernel);
}

static const struct service *service_of_thread(struct contents *c, uint32_t thread)
{
	return service_of(c, rows_service(profile_thread(c->r->p, thread)));
}

static void note_all_contents(struct contents *c)
{
	const struct profile *p = c->r->p;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct service *s = service_of_thread(c, w->thread);

		note_stacks(c, s, w->user, w->kernel);
		if (w->object)
			note_content(c, s, CONTENT_OBJECT, w->object - 1);
		if (w->max_waker)
			note_waker(c, s, w->max_waker - 1);
	}
	EACH_ROW(i, const struct wake, w, p->wakes)
		note_waker(c, service_of_thread(c, profile_wait(p, w->wait)->thread), w->waker);
	EACH_ROW(i, const struct on_cpu_sample, s, p->on_cpu)
		note_stacks(c, service_of_thread(c, s->thread), s->user, s->kernel);
	for (guint i = 0; i < p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(p, i);

		for (guint k = 0; k < t->rows->len; k++)
			note_stacks(c, service_of(c, rows_service_of_tasks(c->r, t)), tasks_get(t, k)->stack, 0);
	}
}

#define EACH_FRAME(put) \
	do { \
		rb_cnt(r->out, path->len); \
		for (guint k = path->len; k-- > 0;) { \
			const struct frame *f = profile_get_frame(p, g_array_index(path, uint32_t, k)); \
			put; \
		} \
	} while (0)

/* Outermost frame first. */
static void stack_row(struct rows *r, uint32_t node)
{
	const struct profile *p = r->p;
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t at = node; at; at = profile_get_node(p, at)->parent)
		g_array_append_val(path, profile_get_node(p, at)->frame);
	rb_u8(r->out, profile_get_node(p, node)->end);
	EACH_FRAME(rb_text(r->out, f->name));
	EACH_FRAME(rb_text(r->out, f->module));
	EACH_FRAME(rb_text(r->out, f->module ? profile_build_id(p, f->module) : NULL));
	EACH_FRAME(rb_u64(r->out, f->offset));
	EACH_FRAME(rb_text(r->out, f->file));
	EACH_FRAME(rb_u32(r->out, f->line));
	EACH_FRAME(rb_u8(r->out, f->kind));
	EACH_FRAME(rb_u8(r->out, f->why));
	EACH_FRAME(rb_u8(r->out, f->is_inline));
}

static void object_row(struct rows *r, uint32_t index)
{
	const struct object *o = profile_get_object(r->p, index);

	rb_text(r->out, object_kind_text(o->kind));
	rb_u8(r->out, o->is_private);
	RB_TEXT(r->out, o->operation, o->name, o->place);
	rb_u32(r->out, o->pid);
	rb_u64(r->out, o->addr);
	rb_u32(r->out, o->holder_tid);
}

static void waker_row(struct rows *r, uint32_t index)
{
	const struct waker *w = profile_get_waker(r->p, index);

	RB_U32(r->out, w->pid, w->tid);
	rb_u64(r->out, w->start_ns);
	RB_TEXT(r->out, w->comm, w->irq);
	RB_U64(r->out, r->ids->stacks[w->user], r->ids->stacks[w->kernel]);
}

static uint64_t id_of(const struct rows *r, enum content_kind kind, uint32_t index)
{
	const uint64_t *const ids[CONTENT_KINDS] = { r->ids->stacks, r->ids->objects, r->ids->wakers };

	return ids[kind][index];
}

/* Writes those that the engine does not have yet. */
static void put_contents(struct contents *c, enum content_kind kind)
{
	static const struct {
		const char *table;
		void (*row)(struct rows *r, uint32_t index);
	} kinds[CONTENT_KINDS] = { { "stacks", stack_row }, { "objects", object_row }, { "wakers", waker_row } };
	struct rows *r = c->r;
	uint64_t at_s = r->p->info.start_unix_ns / NS_A_SECOND;

	EACH_ROW(i, const struct content, one, c->of[kind]) {
		uint64_t id = id_of(r, kind, one->index);
		uint64_t number = hash_more(hash_more(one->service->id, kind), id);

		if (r->sent && sent_has(r->sent, number, at_s))
			continue;
		g_array_append_val(r->unit->contents, number);
		r->rows++;
		rb_text(r->out, r->p->info.host);
		rb_u16(r->out, (uint16_t)(at_s / SECONDS_A_DAY));
		rb_text(r->out, one->service->name);
		rb_u64(r->out, id);
		kinds[kind].row(r, one->index);
	}
	rows_end(r, kinds[kind].table);
}

void rows_put_contents(struct rows *r)
{
	struct contents c = { .r = r,
			      .services = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free),
			      .noted = g_hash_table_new(NULL, NULL) };

	for (int kind = 0; kind < CONTENT_KINDS; kind++)
		c.of[kind] = g_array_new(FALSE, FALSE, sizeof(struct content));
	note_all_contents(&c);
	for (int kind = 0; kind < CONTENT_KINDS; kind++) {
		put_contents(&c, (enum content_kind)kind);
		g_array_unref(c.of[kind]);
	}
	g_hash_table_unref(c.services);
	g_hash_table_unref(c.noted);
}

const char *rows_service_of_tasks(const struct rows *r, const struct tasks *t)
{
	const struct thread *of = rows_thread_of(r->p, t->pid);

	return of ? rows_service(of) : t->program;
}
