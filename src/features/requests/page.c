/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/hash.h"
#include "render/html/part.h"

HASH_KEY(wait, struct wait, thread, user, kernel, object, state)

/* Maps waits of spans to the rows of the page. */
static GHashTable *index_waits(const struct profile *p, const uint32_t *number)
{
	GHashTable *rows = g_hash_table_new(wait_hash, wait_equal);

	for (uint32_t i = 0; i < p->waits->len; i++)
		if (number[i])
			g_hash_table_insert(rows, (gpointer)profile_wait(p, i), GUINT_TO_POINTER(number[i]));
	return rows;
}

static void put_functions(const struct profile *p, struct texts *texts, GByteArray *out)
{
	bytes_put(out, p->requests->len);
	EACH_ROW(i, const struct request_row, row, p->requests) {
		bytes_put(out, texts_id(texts, row->name));
		bytes_put(out, row->sum.all.count);
	}
}

static void put_waits(const struct profile *p, const struct request_span *s, GHashTable *rows, GByteArray *out)
{
	bytes_put(out, s->wait_cnt);
	for (uint32_t i = 0; i < s->wait_cnt; i++) {
		const struct span_wait *w = profile_span_wait(p, s->wait + i);
		const struct wait like = { .thread = s->thread,
					   .user = w->user,
					   .kernel = w->kernel,
					   .object = w->object,
					   .state = w->state };

		bytes_put(out, GPOINTER_TO_UINT(g_hash_table_lookup(rows, &like)));
		bytes_put(out, w->count);
		bytes_put(out, w->blocked_ns);
		bytes_put(out, w->runnable_ns);
		bytes_put(out, w->preempted_ns);
	}
}

void html_requests(const struct profile *p, const uint32_t *number, struct texts *texts, GByteArray *out)
{
	int64_t last_ns = (int64_t)p->info.start_ns;

	if (!p->spans->len)
		return;
	g_autoptr(GHashTable) rows = index_waits(p, number);

	put_functions(p, texts, out);
	bytes_put(out, p->spans->len);
	EACH_ROW(i, const struct request_span, s, p->spans) {
		bytes_put(out, s->func);
		bytes_put(out, s->thread);
		bytes_put_signed(out, (int64_t)s->start_ns - last_ns);
		bytes_put(out, s->wall_ns);
		bytes_put(out, s->on_cpu_ns);
		bytes_put(out, s->blocked_ns);
		bytes_put(out, s->runnable_ns);
		bytes_put(out, s->preempted_ns);
		bytes_put(out, s->flags);
		put_waits(p, s, rows, out);
		last_ns = (int64_t)s->start_ns;
	}
}
