/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/pusher.h"

#include <string.h>
#include <unistd.h>

#include "explain/explain.h"
#include "push/metrics.h"
#include "push/sender.h"

#define SECOND_NS UINT64_C(1000000000)
#define AGAIN_US (60 * G_USEC_PER_SEC)	/* pause before a failed start is repeated */

struct pusher {
	const struct agent_config *config;
	struct sender *senders[PUSH_ENGINES];	/* NULL: not configured, or not started yet */
	bool is_reported[PUSH_ENGINES];	/* it was reported that windows cannot be kept for it */
	bool is_chosen;	/* this host is selected for pushing */
	gint64 again_us;	/* CLOCK_MONOTONIC: next attempt for those that could not be started */
	log_fn log;
};

static void on_sentence(void *ctx, const char *sentence)
{
	log_say(((const struct pusher *)ctx)->log, LOG_LEVEL_WARNING, "%s", sentence);
}

static struct sender *start_sender(struct pusher *p, const struct agent_config *c, enum push_engine engine,
				   GError **error)
{
	const struct engine *e = &engines[engine];
	g_autofree char *dir = g_build_filename(c->push_spool, e->name, NULL);
	uint64_t age_s = c->push_spool_age_ns / SECOND_NS;
	const struct sender_options o = {
		.target = { .engine = engine,
			    .url = c->push_urls[engine],
			    .database = c->push_database,
			    .tenant = c->push_tenant,
			    .credentials_path = c->push_credentials,
			    .ca_path = c->push_ca },
		.spool = { .dir = dir,
			   .max_bytes = c->push_spool_bytes,
			   .max_age_s = e->age_max_s ? MIN(age_s, e->age_max_s) : age_s },
		.say = on_sentence,
		.ctx = p,
	};

	return sender_start(&o, error);
}

/* A missing library, credentials file or folder does not delay windows, and may appear later. */
static void start_missing(struct pusher *p)
{
	for (int i = 0; i < PUSH_ENGINES; i++) {
		g_autoptr(GError) error = NULL;

		if (!p->config->push_urls[i] || p->senders[i])
			continue;
		p->senders[i] = start_sender(p, p->config, (enum push_engine)i, &error);
		if (!p->senders[i] && !p->is_reported[i])
			log_say(p->log, LOG_LEVEL_ERROR, "nothing is pushed to %s, which is tried again each minute: %s",
				engines[i].title, error->message);
		else if (p->senders[i] && p->is_reported[i])
			log_say(p->log, LOG_LEVEL_NOTICE, "windows are pushed to %s from now on", engines[i].title);
		p->is_reported[i] = !p->senders[i];
	}
	p->again_us = g_get_monotonic_time() + AGAIN_US;
}

bool pusher_takes_host(const struct agent_config *c)
{
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, c->host ? c->host : g_get_host_name(),
							     -1);

	sum[AGENT_HASH_CHARS] = '\0';
	return g_ascii_strtoull(sum, NULL, 16) % c->push_one_host_in == 0;
}

struct pusher *pusher_new(const struct agent_config *c, log_fn log)
{
	struct pusher *p = g_new0(struct pusher, 1);

	*p = (struct pusher){ .config = c, .log = log, .is_chosen = pusher_takes_host(c) };
	if (p->is_chosen)
		start_missing(p);
	else
		log_say(log, LOG_LEVEL_INFO, "this host is not the one of %u that pushes", c->push_one_host_in);
	return p;
}

void pusher_free(struct pusher *p)
{
	if (!p)
		return;
	for (int i = 0; i < PUSH_ENGINES; i++)
		sender_stop(p->senders[i]);
	g_free(p);
}

static bool has_sender(const struct pusher *p)
{
	for (int i = 0; i < PUSH_ENGINES; i++)
		if (p->senders[i])
			return true;
	return false;
}

/* Does the window's report begin with a relevant finding? */
static bool has_finding(const struct profile *window)
{
	struct explanation *e = explanation_new(window, NULL);
	bool has = e->headlines->len > 0;

	explanation_free(e);
	return has;
}

static bool takes_window(const struct pusher *p, const struct profile *window, bool is_alarming)
{
	const char *which = p->config->push_windows;

	return is_alarming || strcmp(which, AGENT_PUSH_ALL) == 0 ||
	       (strcmp(which, AGENT_PUSH_FINDINGS) == 0 && has_finding(window));
}

void pusher_add(struct pusher *p, const struct profile *window, const struct reasons *reasons, bool is_alarming)
{
	if (!p->is_chosen)
		return;
	if (g_get_monotonic_time() >= p->again_us)
		start_missing(p);
	if (!has_sender(p) || !takes_window(p, window, is_alarming))
		return;
	for (int i = 0; i < PUSH_ENGINES; i++) {
		g_autoptr(GError) error = NULL;

		if (!p->senders[i])
			continue;
		bool is_kept = sender_window(p->senders[i], window, reasons, &error);

		if (!is_kept && !p->is_reported[i])
			log_say(p->log, LOG_LEVEL_ERROR, "windows for %s are lost from now on: %s",
				sender_name(p->senders[i]), error->message);
		p->is_reported[i] = !is_kept;
	}
}

static uint64_t dropped_cnt(const struct sender_status *s)
{
	return s->refused + s->unsure + s->old + s->large + s->damaged + s->unkept;
}

void pusher_text(struct pusher *p, GString *s)
{
	for (int i = 0; i < PUSH_ENGINES; i++) {
		if (!p->senders[i])
			continue;
		const struct sender_status status = sender_status(p->senders[i]);

		g_string_append_printf(s,
				       ", %" G_GUINT64_FORMAT " pushed to %s, %" G_GUINT64_FORMAT
				       " waiting, %" G_GUINT64_FORMAT " dropped",
				       (guint64)status.taken, sender_name(p->senders[i]), (guint64)status.waiting,
				       (guint64)dropped_cnt(&status));
	}
}

/* The metrics of all active senders, by engine. */
static void append_counts(struct pusher *p, GString *s)
{
	static const struct { const char *name, *type, *help;
	} counts[] = {
		{ "offcpu_push_taken_total", "counter", "Requests (of ClickHouse: windows) that the engine took." },
		{ "offcpu_push_dropped_total", "counter", "Those that it will never have." },
		{ "offcpu_push_failed_total", "counter", "Attempts that came to nothing." },
		{ "offcpu_push_spool_bytes", "gauge", "What waits for the engine." },
	};

	for (size_t n = 0; n < G_N_ELEMENTS(counts); n++) {
		bool has_head = false;

		for (int i = 0; i < PUSH_ENGINES; i++) {
			if (!p->senders[i])
				continue;
			const struct sender_status status = sender_status(p->senders[i]);
			const uint64_t values[] = { status.taken, dropped_cnt(&status), status.failed,
						    status.waiting_bytes };

			if (!has_head)
				metrics_head(s, counts[n].name, counts[n].type, counts[n].help);
			has_head = true;
			metrics_labelled(s, counts[n].name, "engine", engines[i].name, values[n]);
		}
	}
}

void pusher_metrics(struct pusher *p, GString *s)
{
	bool has_head = false;

	for (int i = 0; p->is_chosen && i < PUSH_ENGINES; i++) {
		if (!p->config->push_urls[i])
			continue;
		if (!has_head)
			metrics_head(s, "offcpu_push_up", "gauge", "Whether the last attempt to push succeeded.");
		has_head = true;
		const struct sender_status status = p->senders[i] ? sender_status(p->senders[i])
								  : (struct sender_status){ .is_away = true };

		metrics_labelled(s, "offcpu_push_up", "engine", engines[i].name, !status.is_away);
	}
	append_counts(p, s);
}
