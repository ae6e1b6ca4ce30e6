/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a report of the window says first, so that nobody has to read windows to know which host has what. */
#include "push/clickhouse_rows.h"

#include "explain/explain.h"
#include "push/rowbinary.h"

static const struct thread *thread_of(const struct rows *r, const struct headline *h)
{
	const struct profile *p = r->p;
	uint32_t pid = h->task ? h->task->pid : h->finding->pid;

	if (h->kind == HEADLINE_WAIT)
		return profile_thread(p, profile_wait(p, h->finding->wait)->thread);
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid)
			return profile_thread(p, i);
	return NULL;
}

void rows_put_findings(struct rows *r)
{
	struct explanation *e = explanation_new(r->p, NULL);

	for (guint i = 0; i < e->headlines->len; i++) {
		const struct headline *h = &g_array_index(e->headlines, struct headline, i);
		const char *process = h->task ? h->task->program : h->finding->process;
		const struct thread *t = thread_of(r, h);

		rows_of_window(r);
		rb_text(r->out, t ? rows_service(t) : process);
		rb_text(r->out, process);
		rb_text(r->out, headline_kind_name(h->kind));
		rb_text(r->out, h->task ? h->task->reason : reason_name(h->finding->reason));
		rb_u64(r->out, h->time_ns);
		rb_u64(r->out, h->whole_ns);
		rb_text(r->out, h->sentence);
		rb_text(r->out, h->evidence);
		rb_text(r->out, h->advice);
	}
	rows_end(r, "findings");
	explanation_free(e);
}
