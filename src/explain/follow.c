/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/follow.h"

#include <string.h>

#include "analyse/reason/reason.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define WORTH_PERCENT 5		/* of the time that matters: what is less is not followed */
#define BUSY_PERCENT 10		/* of the time waited for it: who does less than that has not got the request yet */
#define PART_MAX_PERCENT 102	/* who does more than that waited for does it for others, too */

struct walk {
	const struct follow_source *source;
	struct follow_chain *chain;
	GHashTable *seen;	/* a set of "host address" */
};

/* Threads of a recording, and what they did. */
struct doing {
	const struct profile *p;
	struct selection *selection;
	struct findings *findings;
	const struct finding *row;	/* what they mostly wait for; NULL: nothing */
	uint64_t on_cpu_ns;
	uint64_t work_ns;	/* on CPU, and off without being idle or waiting for a client */
	bool is_borrowed;	/* the first one's findings are of all chains */
};

static void hop_clear(gpointer data)
{
	struct follow_hop *h = data;

	g_free(h->host);
	g_free(h->process);
	g_free(h->sentence);
}

static void chain_free(gpointer data)
{
	struct follow_chain *c = data;

	g_array_unref(c->hops);
	g_free(c->end);
	g_free(c);
}

/* Nanoseconds a second of the recording's own window. */
static double rate(uint64_t ns, const struct profile *p)
{
	return p->info.duration_ns ? (double)ns / (double)p->info.duration_ns : 0;
}

static bool serves(const struct object *o, const char *local, const char *client)
{
	const char *port = strrchr(local, ':'), *from = o->kind == OBJECT_SOCKET ? strstr(o->name, " from ") : NULL;
	size_t len = port ? strlen(port) : 0;

	if (!from || !port || strncmp(o->name, port, len) != 0 || o->name + len != from)
		return false;
	from += strlen(" from ");
	return !*client || (g_str_has_prefix(from, client) && (!from[strlen(client)] || from[strlen(client)] == ' '));
}

/* Of these processes the threads that wait for a request of the client's; none: others do it for them, as of event loops. */
static GArray *serving_threads(const struct profile *p, const struct peer *peer, const char *client)
{
	GArray *tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GHashTable) noted = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < p->waits->len; i++) {
		const struct thread *t = profile_thread(p, profile_wait(p, i)->thread);
		const struct object *o = profile_wait_object(p, profile_wait(p, i));
		bool is_one = false;

		for (guint k = 0; o && k < peer->pid_cnt; k++)
			is_one = is_one || (peer->pids[k] == t->pid && serves(o, peer->local, client));
		if (is_one && g_hash_table_add(noted, GUINT_TO_POINTER(t->tid)))
			g_array_append_val(tids, t->tid);
	}
	return tids;
}

static void doing_clear(struct doing *d)
{
	if (!d->is_borrowed) {
		findings_free(d->findings);
		selection_free(d->selection);
	}
	*d = (struct doing){ 0 };
}

/* ":3306 from 10.0.0.9": for the next request, or until the client has read. */
static bool is_for_client(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return o && o->kind == OBJECT_SOCKET && *o->name == ':' && strstr(o->name, " from ");
}

static void sum_up(struct doing *d)
{
	for (guint i = 0; i < d->p->threads->len; i++)
		d->on_cpu_ns += d->selection->threads[i] ? profile_thread(d->p, i)->on_cpu_ns : 0;
	d->work_ns = d->on_cpu_ns + d->findings->matters_ns;
	for (guint i = 0; i < d->findings->rows->len; i++) {
		const struct finding *row = &g_array_index(d->findings->rows, struct finding, i);

		if (!row->busy && is_for_client(d->findings, row))
			d->work_ns -= MIN(d->work_ns, row->time_ns);
		else if (!row->busy && !d->row)
			d->row = row;
	}
}

/* What whoever serves it did.  client: the address of who asks, where connections are told apart; else "". */
static bool look_at(struct doing *ret, const struct profile *p, const struct peer *peer, const char *client)
{
	g_autoptr(GArray) tids = serving_threads(p, peer, client);
	const struct query q = { .pids = tids->len ? NULL : peer->pids, .pids_cnt = tids->len ? 0 : peer->pid_cnt,
				 .tids = (const uint32_t *)(const void *)tids->data, .tids_cnt = tids->len };

	*ret = (struct doing){ .p = p, .selection = selection_new(p, &q, NULL) };
	if (!ret->selection)
		return false;
	ret->findings = findings_new(p, ret->selection);
	sum_up(ret);
	return true;
}

/* "10.0.0.9:48120" -> "10.0.0.9" */
static char *without_port(const char *end)
{
	const char *colon = end ? strrchr(end, ':') : NULL;

	return g_strndup(end ? end : "", colon && colon != end ? (gsize)(colon - end) : strlen(end ? end : ""));
}

static void end_chain(struct walk *w, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void end_chain(struct walk *w, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	w->chain->end = g_strdup_vprintf(format, ap);
	va_end(ap);
}

static void end_apart(struct walk *w, const struct peer *peer, const char *there)
{
	g_autoptr(GString) s = g_string_new(NULL);

	text_safe_cut(s, peer->host, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, " serves %s, but no window of it overlaps: it was recorded at another time, or its clock is off, by ", there);
	text_duration(s, peer->gap_ns);
	g_string_append(s, " or more. No times are compared. Look at its own report.");
	w->chain->end = g_strdup(s->str);
}

static void end_unknown(struct walk *w, const struct peer *peer, const char *there)
{
	if (peer->how == PEER_APART)
		end_apart(w, peer, there);
	else if (peer->how == PEER_SEVERAL)
		end_chain(w, "Several hosts have the address %s, so which one it is is not known.", there);
	else
		end_chain(w,
			  "Nobody is known who serves %s: record there, too, with --objects. What rewrites addresses on the way in both "
			  "directions (NAT, a load balancer without a recording) hides who it is.",
			  there);
}

static void end_found(struct walk *w, const struct doing *d)
{
	if (d->row)
		end_chain(w, "%s", sentence_advice(d->findings, d->row));
}

/* "Meanwhile on db1, 92% of that time: ledger waits for fsync, ib_logfile0, in trx_commit" */
static void add_hop(struct walk *w, const struct doing *d, const struct follow_hop *of, const char *what)
{
	struct follow_hop hop = *of;
	GString *s = g_string_new(hop.how == PEER_NONE ? "On " : "Meanwhile on ");

	text_safe_cut(s, hop.host, FINDING_NAME_COLUMNS);
	if (hop.percent >= 0)
		g_string_append_printf(s, ", %.0f%% of %s", MIN(hop.percent, 100), hop.of);
	if (hop.how == PEER_ADDRESS)
		g_string_append(s, ", found by its address alone");
	if (hop.how == PEER_REWRITTEN)
		g_string_append(s, ", behind an address that is rewritten");
	g_string_append(s, ": ");
	if (what) {
		text_safe_cut(s, hop.process, FINDING_NAME_COLUMNS);
		g_string_append(s, what);
	} else {
		sentence_finding(s, d->findings, d->row);
		if (d->row->by.does_ns || finding_is_held(d->findings, d->row))
			sentence_by(s, d->findings, d->row);
	}
	hop.host = g_strdup(hop.host);
	hop.process = g_strdup(hop.process);
	hop.sentence = g_string_free(s, FALSE);
	g_array_append_val(w->chain->hops, hop);
}

/* How much of what is waited for there they do that: as a part of each one's own window. */
static void set_share(struct follow_hop *hop, const struct doing *d, double waited, uint64_t ns)
{
	double percent = waited > 0 ? 100 * rate(ns, d->p) / waited : 0;

	if ((hop->how == PEER_CONNECTION || hop->how == PEER_REWRITTEN) && percent <= PART_MAX_PERCENT) {
		hop->percent = percent;
		hop->of = "that time";
		return;
	}
	hop->percent = text_percent(ns, d->work_ns);
	hop->of = "the time in which it is at work, for all of its clients";
}

/* What they do there is told; false: there is nothing to follow on from. */
static bool tell_peer(struct walk *w, const struct doing *d, const struct peer *peer, double waited)
{
	uint64_t row_ns = d->row ? d->row->time_ns : 0, ns = MAX(row_ns, d->on_cpu_ns);
	bool computes = d->on_cpu_ns > row_ns;
	struct follow_hop hop = {
		.host = (char *)(uintptr_t)peer->host, .process = (char *)(uintptr_t)peer->process, .how = peer->how,
		.reason = computes || !d->row ? "" : reason_name(d->row->reason), .time_ns = ns, .window_ns = d->p->info.duration_ns,
	};

	set_share(&hop, d, waited, ns);
	if (100 * rate(d->work_ns, d->p) < BUSY_PERCENT * waited) {
		hop.of = "that time";
		hop.percent = 100 * rate(d->work_ns, d->p) / waited;
		hop.reason = "";
		add_hop(w, d, &hop, " is at work");
		end_chain(w, "The rest passes on the way there, or before it takes the request: see its queue of connections and the "
			     "network between the two.");
		return false;
	}
	add_hop(w, d, &hop, computes ? " computes" : NULL);
	if (computes)
		end_chain(w, "See what runs there: `offcpu record --cpu`.");
	return !computes;
}

static bool is_loop(struct walk *w, const char *host, const char *there)
{
	char *key = g_strdup_printf("%s %s", host, there);

	return !g_hash_table_add(w->seen, key);
}

static bool find_peer(struct walk *w, const struct doing *d, const char *there, struct peer *ret, char **ret_client, GArray *rows,
		      GError **error)
{
	g_autofree const char **locals = peers_locals(d->p, finding_pid(d->findings, d->row), there);
	const struct peer_ask ask = { .host = d->p->info.host, .there = there, .locals = locals,
				      .from_unix_ns = d->p->info.start_unix_ns,
				      .to_unix_ns = d->p->info.start_unix_ns + d->p->info.duration_ns };

	if (!w->source->add_rows(w->source->ctx, &ask, rows, error))
		return false;
	*ret = peers_find(&ask, rows);
	*ret_client = ret->how == PEER_CONNECTION || ret->how == PEER_REWRITTEN ? without_port(locals[0]) : g_strdup("");
	return true;
}

/* "10.0.0.5:3306" that these waits are for, for g_free(); NULL: it is no other process's time. */
static char *address_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = row->busy || reason_family(row->reason) != FAMILY_NETWORK ? NULL : finding_object(f, row);

	return o ? peers_address_of(o) : NULL;
}

/* One step on from d, which is what is looked at then.  False: at its end, or with an error. */
static bool step(struct walk *w, struct doing *d, GError **error)
{
	g_autofree char *there = d->row ? address_of(d->findings, d->row) : NULL, *client = NULL;
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct peer_row));
	const double waited = d->row ? rate(d->row->time_ns, d->p) : 0;
	struct peer peer;
	struct doing next;

	if (!there || w->chain->hops->len > FOLLOW_HOPS_MAX || is_loop(w, d->p->info.host, there)) {
		end_found(w, d);
		return false;
	}
	if (!find_peer(w, d, there, &peer, &client, rows, error))
		return false;
	if (peer.how == PEER_NONE || peer.how == PEER_SEVERAL || peer.how == PEER_APART) {
		end_unknown(w, &peer, there);
		return false;
	}
	const struct profile *p = w->source->recording(w->source->ctx, peer.host, error);
	if (!p || !look_at(&next, p, &peer, client))
		return false;
	bool goes_on = tell_peer(w, &next, &peer, waited);
	doing_clear(d);
	*d = next;
	return goes_on;
}

static bool follow_row(struct walk *w, struct doing *d, GError **error)
{
	const struct follow_hop hop = {
		.host = (char *)(uintptr_t)d->p->info.host, .process = (char *)(uintptr_t)d->row->process,
		.reason = reason_name(d->row->reason), .time_ns = d->row->time_ns, .window_ns = d->p->info.duration_ns,
		.percent = text_percent(d->row->time_ns, d->findings->matters_ns), .of = "the time that matters",
	};
	GError *failed = NULL;

	add_hop(w, d, &hop, NULL);
	while (step(w, d, &failed))
		;
	if (failed)
		g_propagate_error(error, failed);
	return !failed;
}

/* It leads somewhere that no chain before it does. */
static bool is_worth(const struct findings *f, const struct finding *row, GHashTable *asked)
{
	char *there = address_of(f, row);

	if (there && text_percent(row->time_ns, f->matters_ns) >= WORTH_PERCENT)
		return g_hash_table_add(asked, there);
	g_free(there);
	return false;
}

GPtrArray *follow_new(const struct profile *p, const struct selection *selection, const struct follow_source *source,
		      GError **error)
{
	g_autoptr(GPtrArray) chains = g_ptr_array_new_with_free_func(chain_free);
	g_autoptr(GHashTable) asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct findings *f = findings_new(p, selection);
	bool ok = true;

	for (guint i = 0; ok && i < f->rows->len && chains->len < FOLLOW_CHAINS_MAX; i++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, i);
		struct walk w = { .source = source };

		if (!is_worth(f, row, asked))
			continue;
		w.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		w.chain = g_new0(struct follow_chain, 1);
		w.chain->hops = g_array_new(FALSE, FALSE, sizeof(struct follow_hop));
		g_array_set_clear_func(w.chain->hops, hop_clear);
		g_ptr_array_add(chains, w.chain);
		struct doing first = { .p = p, .findings = f, .row = row, .is_borrowed = true };
		ok = follow_row(&w, &first, error);
		doing_clear(&first);
		g_hash_table_unref(w.seen);
	}
	findings_free(f);
	return ok ? g_steal_pointer(&chains) : NULL;
}
