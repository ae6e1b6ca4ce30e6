/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/waitgraph/analysis_components.h"
#include "features/wakers/analysis.h"
#include "features/wakers/analysis_chains.h"
#include "features/wakers/text.h"
#include "render/json/write.h"
#include "render/text/text.h"

/* See docs/wait-graph.md; fields may be added but never changed. */
#define GRAPH_SCHEMA 1
#define CRITICAL_SCHEMA 1
#define NONE UINT32_MAX

static void write_window(struct json *j, const struct profile *p)
{
	JSON_MEMBER(j, "window", "start_unix_ns", p->info.start_unix_ns, "duration_ns", p->info.duration_ns);
}

static void write_node(struct json *j, const struct waitgraph *g, uint32_t i)
{
	const struct actor *a = actors_get(g->actors, i);

	JSON(j, "id", i, "kind", actor_kind_text(a->kind), "name", a->name, "comm", *a->comm ? a->comm : NULL);
	JSON(j, "process", *a->process ? a->process : NULL, "pid", a->pid, "tid", a->tid);
	JSON(j, "kernel", (bool)a->is_kernel, "threads", a->threads_cnt);
	JSON_UINTS(j, a, observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
	JSON(j, "waited_ns", g->waited_ns[i], "waited_for_ns", g->ended_ns[i], "asleep_ns", g->asleep_ns[i]);
	json_member_uint(j, "asleep", g->asleep_cnt[i]);
}

static void write_place(struct json *j, const struct wait_place *p)
{
	JSON(j, "wait", p->wait, "waker", *p->waker ? p->waker : NULL);
	JSON_UINTS(j, p, count, blocked_ns, runnable_ns);
}

static void write_edge(struct json *j, const struct waitgraph *g, const struct wait_edge *e)
{
	uint64_t hist[PROFILE_HIST_SLOTS];
	bool any = wait_edge_delays(g, e, hist);

	JSON_UINTS(j, e, from, to, count, blocked_ns, runnable_ns);
	json_member_known(j, "delay_p50_ns", waker_percentile_ns(hist, 0.5), any);
	json_member_known(j, "delay_p99_ns", waker_percentile_ns(hist, 0.99), any);
	JSON_ARRAY(j, "places")
		for (uint32_t i = 0; i < e->places_cnt; i++)
			JSON_IN(j, write_place(j, waitgraph_place(g, e->places_first + i)));
}

static void write_ids(struct json *j, const char *key, const GArray *ids)
{
	JSON_ARRAY(j, key)
		for (guint i = 0; i < ids->len; i++)
			json_uint(j, g_array_index(ids, uint32_t, i));
}

static void write_knot(struct json *j, const struct knot *k)
{
	write_ids(j, "nodes", k->nodes);
	JSON(j, "held_ns", k->held, "outside_ns", k->outside);
	write_ids(j, "cycle", k->cycle);
	json_member_uint(j, "cycle_min_ns", k->cycle_weight);
}

/* Whether the actor occurs in the graph. */
static bool *actors_met(const struct waitgraph *g)
{
	bool *met = g_new0(bool, (gsize)g->actors->rows->len + 1);

	for (guint i = 0; i < g->edges->len; i++)
		met[waitgraph_edge(g, i)->from] = met[waitgraph_edge(g, i)->to] = true;
	for (guint i = 0; i < g->actors->rows->len; i++)
		met[i] = met[i] || g->asleep_cnt[i];
	return met;
}

void waitgraph_json(GString *out, const struct waitgraph *g)
{
	g_autoptr(GPtrArray) knots = waitgraph_knots(g);
	g_autofree bool *met = actors_met(g);
	struct json j;

	json_begin(&j, out);
	JSON(&j, "schema", GRAPH_SCHEMA, "by", actor_by_name(g->actors->by));
	write_window(&j, g->profile);
	JSON(&j, "count", g->count, "blocked_ns", g->blocked_ns, "asleep_ns", g->all_asleep_ns);
	JSON_ARRAY(&j, "nodes")
		for (uint32_t i = 0; i < g->actors->rows->len; i++)
			if (met[i])
				JSON_IN(&j, write_node(&j, g, i));
	JSON_ARRAY(&j, "edges")
		for (guint i = 0; i < g->edges->len; i++)
			JSON_IN(&j, write_edge(&j, g, waitgraph_edge(g, i)));
	JSON_ARRAY(&j, "knots")
		for (guint i = 0; i < knots->len; i++)
			JSON_IN(&j, write_knot(&j, g_ptr_array_index(knots, i)));
	json_end(&j);
}

static void write_part(struct json *j, const struct critical *c, uint32_t i)
{
	const struct critical_part *part = critical_get(c, i);

	json_key(j, "parent");
	if (part->parent == NONE)
		json_null(j);
	else
		json_uint(j, part->parent);
	json_member_string(j, "kind", critical_kind_name(part->kind));
	json_member_int(j, "time_ns", part->ns);
	if (part->kind == CRITICAL_FOR || part->kind == CRITICAL_PLACE || part->kind == CRITICAL_ASLEEP)
		json_member_uint(j, "count", part->count);
	if (part->actor != NONE)
		json_member_uint(j, "node", part->actor);
	if (part->kind == CRITICAL_REST)
		json_member_string(j, "end", chain_end_name(part->end));
	if (part->kind == CRITICAL_PLACE) {
		JSON(j, "wait", part->wait, "waker", *part->waker ? part->waker : NULL);
	}
}

static void write_shares(struct json *j, const struct critical *c)
{
	JSON_ROWS(j, "shares", const struct critical_share, share, c->shares) {
		json_object_begin(j);
		JSON(j, "node", share->actor, "time_ns", share->ns);
		JSON_UINTS(j, share, ran_ns, ready_ns, earlier_ns, rest_ns);
		json_object_end(j);
	}
}

static void write_subject(struct json *j, const struct critical *c)
{
	const struct profile *p = c->graph->profile;

	json_member_object(j, "subject");
	json_member_string(j, "name", c->name);
	JSON_UINTS(j, c, observed_ns, filtered_ns, lost_ns);
	JSON_ARRAY(j, "threads")
		EACH_ROW(i, const struct thread, t, p->threads) {
			if (!c->selection->threads[i])
				continue;
			JSON_OBJECT(j, "pid", t->pid, "tid", t->tid, "comm", t->comm);
		}
	json_object_end(j);
}

void critical_json(GString *out, const struct critical *c)
{
	g_autofree bool *met = actors_met(c->graph);
	struct json j;

	for (guint i = 0; i < c->parts->len; i++)
		if (critical_get(c, i)->actor != NONE)
			met[critical_get(c, i)->actor] = true;
	json_begin(&j, out);
	JSON(&j, "schema", CRITICAL_SCHEMA, "by", actor_by_name(c->graph->actors->by));
	write_window(&j, c->graph->profile);
	write_subject(&j, c);
	json_member_bool(&j, "chains", c->has_chains);
	JSON_ARRAY(&j, "parts")
		for (uint32_t i = 0; i < c->parts->len; i++)
			JSON_IN(&j, write_part(&j, c, i));
	write_shares(&j, c);
	JSON_ARRAY(&j, "nodes")
		for (uint32_t i = 0; i < c->graph->actors->rows->len; i++)
			if (met[i])
				JSON_IN(&j, write_node(&j, c->graph, i));
	json_end(&j);
}
