/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/servicemap/findings_part.h"

#include "analyse/reason/reasons.h"
#include "profile/profile.h"

FREES_DATA(asked_free, struct service_asked, a, g_ptr_array_unref(a->locals))

FREES_DATA(instance_free, struct service_instance, i, g_hash_table_unref(i->asked))

struct service_map *service_map_new(uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	struct service_map *m = g_new0(struct service_map, 1);

	m->from_unix_ns = from_unix_ns;
	m->to_unix_ns = to_unix_ns;
	m->instances = g_ptr_array_new_with_free_func(instance_free);
	m->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	m->observed = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	m->rows = g_array_new(FALSE, FALSE, sizeof(struct peer_row));
	m->by_end = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
	m->texts = g_string_chunk_new(4096);
	return m;
}

FREES(service_map_free, struct service_map, m, g_ptr_array_unref(m->instances); g_hash_table_unref(m->by_name);
      g_hash_table_unref(m->observed); g_array_unref(m->rows); g_hash_table_unref(m->by_end);
      g_string_chunk_free(m->texts))

static struct service_instance *instance_of(struct service_map *m, const char *host, const char *service)
{
	char *key = g_strdup_printf("%s\n%s", host, service);
	struct service_instance *i = g_hash_table_lookup(m->by_name, key);

	if (i) {
		g_free(key);
		return i;
	}
	i = g_new0(struct service_instance, 1);
	i->host = g_string_chunk_insert_const(m->texts, host);
	i->service = g_string_chunk_insert_const(m->texts, service);
	i->asked = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, asked_free);
	g_ptr_array_add(m->instances, i);
	g_hash_table_insert(m->by_name, key, i);
	return i;
}

static struct service_asked *asked_of(struct service_map *m, struct service_instance *i, const char *there)
{
	struct service_asked *a = g_hash_table_lookup(i->asked, there);

	if (!a) {
		a = g_new0(struct service_asked, 1);
		a->locals = g_ptr_array_new();
		g_hash_table_insert(i->asked, g_string_chunk_insert_const(m->texts, there), a);
	}
	return a;
}

void service_map_add_host(struct service_map *m, const char *host, uint64_t observed_ns)
{
	uint64_t *ns = g_hash_table_lookup(m->observed, host);

	if (!ns) {
		ns = g_new0(uint64_t, 1);
		g_hash_table_insert(m->observed, g_string_chunk_insert_const(m->texts, host), ns);
	}
	service_add_ns(ns, observed_ns);
}

/* Adds idle time of event loops, which may be waits for other services. */
static void add_idle(struct service_instance *i, const struct service_time *t)
{
	if (!t->object || t->object->kind != OBJECT_EPOLL)
		return;
	service_add_ns(&i->loop_ns, t->ns);
	i->has_asked = i->has_asked || object_upstream(t->object);
}

void service_map_add_time(struct service_map *m, const struct service_time *t)
{
	struct service_instance *i = instance_of(m, t->host, t->service);
	const bool is_network = reason_family(t->reason) == FAMILY_NETWORK && t->object;
	g_autofree char *there = is_network && !t->is_idle ? peers_address_of(t->object) : NULL;

	if (t->is_idle)
		add_idle(i, t);
	else if (there)
		service_add_ns(&asked_of(m, i, there)->ns, t->ns);
	else if (!is_network || !peers_is_for_client(t->object))
		service_add_ns(&i->own_ns[t->reason], t->ns);
}

static void note_end(struct service_map *m, const char *end)
{
	GArray *rows = g_hash_table_lookup(m->by_end, end);
	const guint row = m->rows->len - 1;

	if (!rows) {
		rows = g_array_new(FALSE, FALSE, sizeof(guint));
		g_hash_table_insert(m->by_end, (gpointer)end, rows);
	}
	g_array_append_val(rows, row);
}

void service_map_add_connection(struct service_map *m, const struct peer_row *row, enum connection_side side)
{
	struct peer_row own = *row;

	own.local = g_string_chunk_insert_const(m->texts, row->local);
	if (side == CONNECTION_CLIENT) {
		g_ptr_array_add(asked_of(m, instance_of(m, row->host, row->process), row->remote)->locals,
				(gpointer)own.local);
		return;
	}
	own.host = g_string_chunk_insert_const(m->texts, row->host);
	own.process = g_string_chunk_insert_const(m->texts, row->process);
	own.remote = g_string_chunk_insert_const(m->texts, row->remote);
	g_array_append_val(m->rows, own);
	note_end(m, own.local);
	if (*own.remote)
		note_end(m, own.remote);
}

static void add_waits(struct service_map *m, const struct profile *p, const struct selection *selection)
{
	struct reasons *reasons = reasons_new(p, NULL);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);
		struct service_time time = { .host = p->info.host,
					     .service = service_name(t),
					     .reason = reasons_of(reasons, i),
					     .object = profile_wait_object(p, w),
					     .is_idle = reasons_is_idle(reasons, i),
					     .ns = w->blocked_ns };

		if (t->flags & THREAD_KERNEL || (selection && !selection->waits[i]))
			continue;
		service_map_add_time(m, &time);
		time = (struct service_time){ .host = time.host, .service = time.service, .reason = REASON_CPU_QUEUE,
					      .ns = w->runnable_ns + w->preempted_ns };
		service_map_add_time(m, &time);
	}
	reasons_free(reasons);
}

void service_map_add_profile(struct service_map *m, const struct profile *p, const struct selection *selection)
{
	g_autoptr(GHashTable) services = g_hash_table_new(NULL, NULL);

	service_map_add_host(m, p->info.host, p->info.duration_ns);
	EACH_ROW(i, const struct thread, t, p->threads) {
		const struct service_time time = {
			.host = p->info.host, .service = service_name(t), .reason = REASON_ON_CPU, .ns = t->on_cpu_ns
		};

		if (t->flags & THREAD_KERNEL || (selection && !selection->threads[i]))
			continue;
		service_map_add_time(m, &time);
		if (!g_hash_table_contains(services, GUINT_TO_POINTER(t->pid)))
			g_hash_table_insert(services, GUINT_TO_POINTER(t->pid), (gpointer)time.service);
	}
	add_waits(m, p, selection);
	EACH_ROW(i, const struct connection, c, p->connections) {
		const char *service = g_hash_table_lookup(services, GUINT_TO_POINTER(c->pid));
		const struct peer_row row = { .host = p->info.host, .process = service ? service : "", .pid = c->pid, .local = c->local, .remote = c->remote,
					      .from_unix_ns = m->from_unix_ns, .to_unix_ns = m->to_unix_ns };

		/* a server without recorded threads counts, but not threads that were deselected */
		if (service || (c->side == CONNECTION_SERVER && !selection))
			service_map_add_connection(m, &row, c->side);
	}
}

struct selection *service_select(const struct profile *p, const char *service)
{
	struct selection *s = selection_new(p, &(struct query){ 0 }, NULL);

	for (guint i = 0; i < p->threads->len; i++)
		s->threads[i] = !strcmp(service_name(profile_thread(p, i)), service);
	for (guint i = 0; i < p->waits->len; i++)
		s->waits[i] = s->threads[profile_wait(p, i)->thread];
	s->whole = false;
	return s;
}
