/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/pusher.h"

#include "push/metrics.h"
#include "push/sender.h"

#define SECOND_NS UINT64_C(1000000000)

struct pusher {
	struct sender *senders[PUSH_ENGINES];	/* NULL: that one is not asked for */
	bool is_told[PUSH_ENGINES];	/* that windows cannot be kept for it */
	log_fn log;
};

static void on_sentence(void *ctx, const char *sentence)
{
	((const struct pusher *)ctx)->log(LOG_LEVEL_WARNING, sentence);
}

static struct sender *start(struct pusher *p, const struct agent_config *c, enum push_engine engine, GError **error)
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

struct pusher *pusher_new(const struct agent_config *c, log_fn log, GError **error)
{
	struct pusher *p = g_new0(struct pusher, 1);
	bool ok = true;

	p->log = log;
	for (int i = 0; ok && i < PUSH_ENGINES; i++) {
		if (!c->push_urls[i])
			continue;
		p->senders[i] = start(p, c, (enum push_engine)i, error);
		ok = p->senders[i] != NULL;
	}
	if (ok)
		return p;
	pusher_free(p);
	return NULL;
}

void pusher_free(struct pusher *p)
{
	if (!p)
		return;
	for (int i = 0; i < PUSH_ENGINES; i++)
		sender_stop(p->senders[i]);
	g_free(p);
}

void pusher_add(struct pusher *p, const struct profile *window, const struct reasons *reasons)
{
	for (int i = 0; i < PUSH_ENGINES; i++) {
		g_autoptr(GError) error = NULL;

		if (!p->senders[i])
			continue;
		bool is_kept = sender_window(p->senders[i], window, reasons, &error);

		if (!is_kept && !p->is_told[i])
			log_say(p->log, LOG_LEVEL_ERROR, "windows for %s are lost from now on: %s",
				sender_name(p->senders[i]), error->message);
		p->is_told[i] = !is_kept;
	}
}

static uint64_t dropped(const struct sender_status *s)
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
				       (guint64)dropped(&status));
	}
}

/* Those that are asked for, by the engine's name. */
static void metric(struct pusher *p, GString *s, const char *name, const char *type, const char *help,
		   uint64_t (*of)(const struct sender_status *))
{
	bool has_head = false;

	for (int i = 0; i < PUSH_ENGINES; i++) {
		if (!p->senders[i])
			continue;
		const struct sender_status status = sender_status(p->senders[i]);

		if (!has_head)
			metrics_head(s, name, type, help);
		has_head = true;
		metrics_labelled(s, name, "engine", engines[i].name, of(&status));
	}
}

static uint64_t taken(const struct sender_status *s)
{
	return s->taken;
}

static uint64_t failed(const struct sender_status *s)
{
	return s->failed;
}

static uint64_t waiting_bytes(const struct sender_status *s)
{
	return s->waiting_bytes;
}

void pusher_metrics(struct pusher *p, GString *s)
{
	metric(p, s, "offcpu_push_taken_total", "counter", "Requests (of ClickHouse: windows) that the engine took.",
	       taken);
	metric(p, s, "offcpu_push_dropped_total", "counter", "Those that it will never have.", dropped);
	metric(p, s, "offcpu_push_failed_total", "counter", "Attempts that came to nothing.", failed);
	metric(p, s, "offcpu_push_spool_bytes", "gauge", "What waits for the engine.", waiting_bytes);
}
