/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/follow/findings.h"

#include <string.h>

#include "analyse/reason/reason.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "profile/profile.h"

#define WORTH_PERCENT 5		/* of the time that matters: shorter waits are not followed */
/*
 * A server busy for less of the waiting time has not received the request yet, or passes it on if it has connections.
 */
#define BUSY_PERCENT 10
#define PASSES_PERCENT 50
#define SERVED_PERCENT 50	/* of the time in the event loop */
#define UPSTREAMS_MAX 8		/* maximum addresses that an event loop may be waiting for */
#define PART_MAX_PERCENT 102	/* a server that works for more than the waiting time also works for others */

struct walk {
	const struct follow_source *source;
	struct follow_chain *chain;
	GHashTable *seen;	/* set of "host address" */
};

/* Some threads of a recording and what they did. */
struct thread_work {
	const struct profile *p;
	struct selection *selection;
	struct findings *findings;
	const struct finding *row;	/* what they wait for most; NULL: nothing */
	uint64_t on_cpu_ns;
	uint64_t work_ns;	/* on CPU, or waiting, except idle waits and waits for clients */
	bool is_borrowed;	/* findings and selection belong to the caller */
	GPtrArray *asks;	/* char *: addresses of servers that it may be waiting for; NULL: not determined yet */
	/* how long it, or whoever passes the request on, waits for these: nanoseconds per second */
	double waited;
};

CLEARS(hop_clear, struct follow_hop, h, g_free(h->host); g_free(h->process); g_free(h->sentence))

FREES_DATA(chain_free, struct follow_chain, c, g_array_unref(c->hops); g_free(c->end))

/* Nanoseconds per second of the recording's window. */
static double rate_in_window(uint64_t ns, const struct profile *p)
{
	return p->info.duration_ns ? (double)ns / (double)p->info.duration_ns : 0;
}

static bool waits_for_client(const struct object *o, const char *local, const char *client)
{
	const char *port = strrchr(local, ':'), *from = o->kind == OBJECT_SOCKET ? strstr(o->name, " from ") : NULL;
	size_t len = port ? strlen(port) : 0;

	if (!from || !port || strncmp(o->name, port, len) != 0 || o->name + len != from)
		return false;
	from += strlen(" from ");
	return !*client || (g_str_has_prefix(from, client) && (!from[strlen(client)] || from[strlen(client)] == ' '));
}

/*
 * Threads of these processes that wait for the client's requests; empty: other threads serve it, as with event loops.
 */
static GArray *serving_threads(const struct profile *p, const struct peer *peer, const char *client)
{
	GArray *tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GHashTable) noted = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < p->waits->len; i++) {
		const struct thread *t = profile_thread(p, profile_wait(p, i)->thread);
		const struct object *o = profile_wait_object(p, profile_wait(p, i));
		bool is_one = false;

		for (guint k = 0; o && k < peer->pid_cnt; k++)
			is_one = is_one || (peer->pids[k] == t->pid && waits_for_client(o, peer->local, client));
		if (is_one && g_hash_table_add(noted, GUINT_TO_POINTER(t->tid)))
			g_array_append_val(tids, t->tid);
	}
	return tids;
}

static void doing_clear(struct thread_work *d)
{
	if (!d->is_borrowed) {
		findings_free(d->findings);
		selection_free(d->selection);
	}
	g_clear_pointer(&d->asks, g_ptr_array_unref);
	*d = (struct thread_work){ 0 };
}

static bool is_for_client(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return o && reason_family(row->reason) == FAMILY_NETWORK && peers_is_for_client(o);
}

static void sum_work(struct thread_work *d)
{
	for (guint i = 0; i < d->p->threads->len; i++)
		d->on_cpu_ns += d->selection->threads[i] ? profile_thread(d->p, i)->on_cpu_ns : 0;
	d->work_ns = d->on_cpu_ns + d->findings->matters_ns;
	EACH_ROW(i, const struct finding, row, d->findings->rows) {
		if (!row->busy && is_for_client(d->findings, row))
			d->work_ns -= MIN(d->work_ns, row->time_ns);
		else if (!row->busy && !d->row)
			d->row = row;
	}
}

/* What the serving threads did.  client: the client's address if connections are told apart, else "". */
static bool find_doing(struct thread_work *ret, const struct profile *p, const struct peer *peer, const char *client)
{
	g_autoptr(GArray) tids = serving_threads(p, peer, client);
	const struct query q = { .pids = tids->len ? NULL : peer->pids, .pids_cnt = tids->len ? 0 : peer->pid_cnt,
				 .tids = (const uint32_t *)(const void *)tids->data, .tids_cnt = tids->len };

	*ret = (struct thread_work){ .p = p, .selection = selection_new(p, &q, NULL) };
	if (!ret->selection)
		return false;
	ret->findings = findings_new(p, ret->selection);
	sum_work(ret);
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

/* "Meanwhile on db1, 92% of that time: ledger waits for fsync, ib_logfile0, in trx_commit" */
static void add_hop(struct walk *w, const struct thread_work *d, const struct follow_hop *of, const char *what)
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

/* Share of the waiting time spent on that; each time is relative to its own window. */
static void set_share(struct follow_hop *hop, const struct thread_work *d, double waited, uint64_t ns)
{
	double percent = waited > 0 ? 100 * rate_in_window(ns, d->p) / waited : 0;

	if ((hop->how == PEER_CONNECTION || hop->how == PEER_REWRITTEN) && percent <= PART_MAX_PERCENT) {
		hop->percent = percent;
		hop->of = "that time";
		return;
	}
	hop->percent = text_percent(ns, d->work_ns);
	hop->of = "the time in which it is at work, for all of its clients";
}

static bool is_worth(const struct findings *f, const struct finding *row)
{
	return !row->busy && text_percent(row->time_ns, f->matters_ns) >= WORTH_PERCENT;
}

/* "10.0.0.5:3306": what these waits are for; free with g_free().  NULL: not another process. */
static char *address_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = row->busy || reason_family(row->reason) != FAMILY_NETWORK ? NULL
											   : finding_object(f, row);

	return o ? peers_address_of(o) : NULL;
}

/*
 * Addresses that these processes have connected to.  An event loop's waits do not tell whether it waits for an answer.
 */
static GPtrArray *connected_to(const struct thread_work *d)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < d->p->connections->len && all->len < UPSTREAMS_MAX; i++) {
		const struct connection *c = profile_connection(d->p, i);

		if (c->side == CONNECTION_CLIENT && selection_has_process(d->selection, d->p, c->pid) &&
		    !g_ptr_array_find_with_equal_func(all, c->remote, g_str_equal, NULL))
			g_ptr_array_add(all, g_strdup(c->remote));
	}
	return all;
}

static struct follow_hop hop_of(const struct thread_work *d, const struct peer *peer)
{
	return (struct follow_hop){ .host = (char *)(uintptr_t)peer->host, .process = (char *)(uintptr_t)peer->process,
				    .how = peer->how, .reason = "", .time_ns = d->work_ns, .window_ns = d->p->info.duration_ns };
}

/* A server that is mostly idle during that time: it asks others, or has not received the request yet. */
static void add_idle_hop(struct walk *w, struct thread_work *d, const struct peer *peer)
{
	struct follow_hop hop = hop_of(d, peer);

	set_share(&hop, d, d->waited, d->work_ns);
	add_hop(w, d, &hop, d->asks->len ? " is at work itself, and passes it on" : " is at work");
	if (!d->asks->len)
		end_chain(w, "The rest passes on the way there, or before it takes the request: see its queue of connections and the "
			     "network between the two.");
}

/* Reports what the server does and sets d->asks to the servers that it asks. */
static void add_peer_hop(struct walk *w, struct thread_work *d, const struct peer *peer)
{
	const uint64_t row_ns = d->row ? d->row->time_ns : 0;
	const bool computes = d->on_cpu_ns > row_ns;
	struct follow_hop hop = hop_of(d, peer);
	char *there;

	d->asks = connected_to(d);
	if (100 * rate_in_window(d->work_ns, d->p) < (d->asks->len ? PASSES_PERCENT : BUSY_PERCENT) * d->waited ||
	    !(row_ns || computes)) {
		add_idle_hop(w, d, peer);
		return;
	}
	hop.time_ns = MAX(row_ns, d->on_cpu_ns);
	hop.reason = computes ? "" : reason_name(d->row->reason);
	set_share(&hop, d, d->waited, hop.time_ns);
	add_hop(w, d, &hop, computes ? " computes" : NULL);
	g_ptr_array_set_size(d->asks, 0);
	there = computes ? NULL : address_of(d->findings, d->row);
	if (there) {
		g_ptr_array_add(d->asks, there);
		d->waited = rate_in_window(row_ns, d->p);
	} else {
		end_chain(w, "%s", computes ? "See what runs there: `offcpu record --cpu`." : sentence_advice(d->findings, d->row));
	}
}

/* True if it was visited already. */
static bool is_loop(struct walk *w, const char *host, const char *there)
{
	return !g_hash_table_add(w->seen, g_strdup_printf("%s %s", host, there));
}

/* Finds who serves that address, and what they do; ret->p is NULL if unknown.  False on error. */
static bool find_server(struct walk *w, const struct thread_work *d, const char *there, struct peer *ret_peer,
			struct thread_work *ret, GError **error)
{
	g_autofree const char **locals = peers_locals(d->p, d->selection, there);
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct peer_row));
	const struct peer_ask ask = { .host = d->p->info.host, .there = there, .locals = locals,
				      .from_unix_ns = d->p->info.start_unix_ns,
				      .to_unix_ns = d->p->info.start_unix_ns + d->p->info.duration_ns };

	*ret = (struct thread_work){ 0 };
	if (!w->source->add_rows(w->source->ctx, &ask, rows, error))
		return false;
	*ret_peer = peers_find(&ask, rows);
	if (ret_peer->how == PEER_NONE || ret_peer->how == PEER_SEVERAL || ret_peer->how == PEER_APART)
		return true;
	const bool is_told_apart = ret_peer->how == PEER_CONNECTION || ret_peer->how == PEER_REWRITTEN;
	g_autofree char *client = without_port(is_told_apart ? locals[0] : "");
	const struct profile *p = w->source->recording(w->source->ctx, ret_peer, error);

	if (p)
		find_doing(ret, p, ret_peer, client);
	ret->waited = d->waited;
	return p != NULL;
}

/*
 * Of all servers that it asks, the busiest.  ret->p NULL: none is known; ret_peer and ret_there are of the first
 * address.
 */
static bool find_busiest_server(struct walk *w, const struct thread_work *d, struct peer *ret_peer,
				const char **ret_there, struct thread_work *ret, GError **error)
{
	*ret = (struct thread_work){ 0 };
	*ret_there = NULL;
	EACH_POINTER(i, const char, there, d->asks) {
		struct peer peer;
		struct thread_work next;

		if (is_loop(w, d->p->info.host, there))
			continue;
		if (!find_server(w, d, there, &peer, &next, error)) {
			doing_clear(ret);
			return false;
		}
		bool is_more = next.p && (!ret->p || rate_in_window(next.work_ns, next.p) >
							     rate_in_window(ret->work_ns, ret->p));
		if (!*ret_there || is_more) {
			doing_clear(ret);
			*ret = next;
			*ret_peer = peer;
			*ret_there = there;
		} else {
			doing_clear(&next);
		}
	}
	return true;
}

/* Moves d one hop on.  False at the end of the chain or on error. */
static bool step_on(struct walk *w, struct thread_work *d, GError **error)
{
	const char *there;
	struct thread_work next;
	struct peer peer = { 0 };

	if (d->asks->len && w->chain->hops->len > FOLLOW_HOPS_MAX)
		end_chain(w, "So many hops are followed at once: go on from the last one with --pid.");
	if (!d->asks->len || w->chain->hops->len > FOLLOW_HOPS_MAX ||
	    !find_busiest_server(w, d, &peer, &there, &next, error) || !there)
		return false;
	if (!next.p) {
		end_unknown(w, &peer, there);
		return false;
	}
	add_peer_hop(w, &next, &peer);
	doing_clear(d);
	*d = next;
	return true;
}

static bool follow_chain(GPtrArray *chains, const struct follow_source *source, struct thread_work *d,
			 const struct follow_hop *hop, const char *what, GError **error)
{
	struct walk w = { .source = source, .chain = g_new0(struct follow_chain, 1) };
	GError *failed = NULL;

	w.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	w.chain->hops = g_array_new(FALSE, FALSE, sizeof(struct follow_hop));
	g_array_set_clear_func(w.chain->hops, hop_clear);
	g_ptr_array_add(chains, w.chain);
	add_hop(&w, d, hop, what);
	while (step_on(&w, d, &failed))
		;
	g_hash_table_unref(w.seen);
	doing_clear(d);
	if (failed)
		g_propagate_error(error, failed);
	return !failed;
}

/* Follows waits whose object names the other end. */
static bool follow_rows(GPtrArray *chains, const struct thread_work *whole, const struct follow_source *source,
			GError **error)
{
	g_autoptr(GHashTable) asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const struct findings *f = whole->findings;
	bool ok = true;

	for (guint i = 0; ok && i < f->rows->len && chains->len < FOLLOW_CHAINS_MAX; i++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, i);
		g_autofree char *there = is_worth(f, row) ? address_of(f, row) : NULL;
		struct thread_work first = *whole;

		if (!there || !g_hash_table_add(asked, g_strdup(there)))
			continue;
		const struct follow_hop hop = {
			.host = (char *)(uintptr_t)first.p->info.host,
			.process = (char *)(uintptr_t)row->process,
			.reason = reason_name(row->reason),
			.time_ns = row->time_ns,
			.window_ns = first.p->info.duration_ns,
			.percent = text_percent(row->time_ns, f->matters_ns),
			.of = "the time that matters",
		};
		first.row = row;
		first.waited = rate_in_window(row->time_ns, first.p);
		first.asks = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(first.asks, g_steal_pointer(&there));
		ok = follow_chain(chains, source, &first, &hop, NULL, error);
	}
	return ok;
}

/*
 * Whether the chain's servers are busy, one after the other, for half of the time in the loop.  If not, the loop is
 * probably idle.
 */
static bool is_served(const struct follow_chain *c)
{
	double percent = 0;

	for (guint i = 1; i < c->hops->len; i++)
		percent += g_array_index(c->hops, struct follow_hop, i).percent;
	return percent >= SERVED_PERCENT;
}

/*
 * Time in event loops of threads that have asked somebody, and their observed time.  Returns one of them; NULL: none.
 */
static const struct thread *loops_of(const struct thread_work *whole, uint64_t *ret_ns, uint64_t *ret_observed_ns)
{
	const struct profile *p = whole->p;
	g_autofree uint64_t *loop_ns = g_new0(uint64_t, p->threads->len + 1);
	g_autofree bool *has_asked = g_new0(bool, p->threads->len + 1);
	const struct thread *found = NULL;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (!o || o->kind != OBJECT_EPOLL || (whole->selection && !whole->selection->waits[i]))
			continue;
		loop_ns[w->thread] += w->blocked_ns;
		has_asked[w->thread] = has_asked[w->thread] || object_upstream(o);
	}
	*ret_ns = *ret_observed_ns = 0;
	for (guint i = 0; i < p->threads->len; i++) {
		if (!has_asked[i])
			continue;
		found = found ? found : profile_thread(p, i);
		*ret_ns += loop_ns[i];
		*ret_observed_ns += thread_observed_ns(profile_thread(p, i));
	}
	return found;
}

/* An event loop waits in the same way for answers and for work.  What its servers do tells which it is. */
static bool follow_loops(GPtrArray *chains, const struct thread_work *whole, const struct follow_source *source,
			 GError **error)
{
	uint64_t loop_ns, observed_ns;
	const struct thread *loop = loops_of(whole, &loop_ns, &observed_ns);
	struct thread_work first = *whole;

	if (!loop)
		return true;
	first.asks = connected_to(&first);
	first.waited = rate_in_window(loop_ns, whole->p);
	const struct follow_hop hop = {
		.host = (char *)(uintptr_t)whole->p->info.host,
		.process = (char *)(uintptr_t)loop->process,
		.reason = "",
		.time_ns = loop_ns,
		.window_ns = whole->p->info.duration_ns,
		.percent = text_percent(loop_ns, observed_ns),
		.of = "the time",
	};
	bool ok = follow_chain(chains, source, &first, &hop, " is in its event loop; whether for an answer its threads do not tell", error);

	if (ok && !is_served(g_ptr_array_index(chains, chains->len - 1)))
		g_ptr_array_set_size(chains, (gint)chains->len - 1);
	return ok;
}

static bool add_rows_of_all(void *ctx, const struct peer_ask *ask, GArray *rows, GError **error)
{
	const GPtrArray *profiles = ctx;

	for (guint i = 0; i < profiles->len; i++)
		peers_add_rows(rows, g_ptr_array_index(profiles, i), ask);
	return true;
}

/* The rows come from these profiles, so one of them has the host. */
static const struct profile *recording_of_all(void *ctx, const struct peer *peer, GError **error)
{
	return peers_recording(ctx, peer);
}

struct follow_source follow_source_of(GPtrArray *profiles)
{
	return (struct follow_source){ .add_rows = add_rows_of_all, .recording = recording_of_all, .ctx = profiles };
}

GPtrArray *follow_new(const struct profile *p, const struct selection *selection, const struct follow_source *source,
		      GError **error)
{
	g_autoptr(GPtrArray) chains = g_ptr_array_new_with_free_func(chain_free);
	struct findings *f = findings_new(p, selection);
	const struct thread_work whole = {
		.p = p, .selection = (struct selection *)(uintptr_t)selection, .findings = f, .is_borrowed = true
	};
	bool ok = follow_rows(chains, &whole, source, error) &&
		  (chains->len || follow_loops(chains, &whole, source, error));

	findings_free(f);
	return ok ? g_steal_pointer(&chains) : NULL;
}
