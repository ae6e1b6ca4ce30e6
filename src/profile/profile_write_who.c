/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows of who ended the waits of threads, and who stood in their way. */
#include "profile/profile_insert.h"
#include "profile/profile_rows.h"

static void put_stack(struct insert *in, uint32_t stack)
{
	if (stack)
		insert_number(in, stack);
	else
		insert_null(in);
}

static int write_wakers(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO waker VALUES(?, ?, ?, ?, ?, ?, ?, ?)", p->wakers->len);

	for (guint i = 0; i < p->wakers->len; i++) {
		const struct waker *w = profile_get_waker(p, i);

		insert_id(&in, i);
		insert_number(&in, w->pid);
		insert_number(&in, w->tid);
		insert_number(&in, w->start_ns);
		insert_text(&in, w->comm);
		if (w->irq)
			insert_text(&in, w->irq);
		else
			insert_null(&in);
		put_stack(&in, w->user);
		put_stack(&in, w->kernel);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_wakes(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO wake VALUES(?, ?, ?, ?, ?, ?, ?)", p->wakes->len);
	char hist[INSERT_ROWS_AT_ONCE][PROFILE_HIST_TEXT_BYTES];

	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *w = profile_wake(p, i);

		insert_id(&in, i);
		insert_number(&in, w->wait);
		insert_number(&in, w->waker);
		insert_number(&in, w->count);
		insert_number(&in, w->blocked_ns);
		insert_number(&in, w->runnable_ns);
		profile_hist_text(w->hist, hist[in.rows]);
		insert_text(&in, hist[in.rows]);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_chains(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO chain VALUES(?, ?, ?, ?, ?)", p->chains->len);

	for (guint i = 0; i < p->chains->len; i++) {
		const struct chain_node *c = profile_get_chain(p, i);

		insert_id(&in, i);
		insert_number(&in, c->waker);
		if (c->next)
			insert_number(&in, c->next - 1);
		else
			insert_null(&in);
		insert_number(&in, c->end);
		insert_number(&in, c->loop_steps);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_stories(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO story VALUES(?, ?, ?, ?, ?, ?, ?)", p->stories->len);

	for (guint i = 0; i < p->stories->len; i++) {
		const struct story *s = profile_story(p, i);

		insert_id(&in, i);
		insert_number(&in, s->wake);
		insert_number(&in, s->chain);
		insert_number(&in, s->count);
		insert_number(&in, s->blocked_ns);
		insert_number(&in, s->runnable_ns);
		insert_number(&in, s->rest_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_hops(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO hop VALUES(?, ?, ?, ?, ?, ?)");
	uint64_t id = 0;

	for (guint i = 0; i < p->stories->len; i++) {
		for (unsigned k = 0; k < PROFILE_CHAIN_MAX; k++) {
			const struct hop *hop = &profile_story(p, i)->hop[k];

			if (!hop->ran_ns && !hop->runnable_ns && !hop->earlier_ns)
				continue;
			insert_id(&in, id++);
			insert_number(&in, i);
			insert_number(&in, k + 1);
			insert_number(&in, hop->ran_ns);
			insert_number(&in, hop->runnable_ns);
			insert_number(&in, hop->earlier_ns);
			if (!insert_row_done(&in))
				return insert_end(&in);
		}
	}
	return insert_end(&in);
}

static int write_blames(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO blame VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", p->blames->len);

	for (guint i = 0; i < p->blames->len; i++) {
		const struct blame *b = profile_blame(p, i);

		insert_id(&in, i);
		insert_number(&in, b->thread);
		insert_number(&in, b->kind);
		insert_number(&in, b->pid);
		insert_number(&in, b->tid);
		insert_text(&in, b->comm);
		insert_number(&in, b->count);
		insert_number(&in, b->runnable_ns);
		insert_number(&in, b->preempted_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_storms(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO storm VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->storms->len; i++) {
		const struct storm *s = profile_storm(p, i);

		insert_id(&in, i);
		insert_number(&in, s->waker);
		insert_number(&in, s->event_cnt);
		insert_number(&in, s->call_cnt);
		insert_number(&in, s->woken_cnt);
		insert_number(&in, s->most_cnt);
		insert_number(&in, s->ended_cnt);
		insert_number(&in, s->again_cnt);
		insert_number(&in, s->cpu_ns);
		insert_number(&in, s->again_ns);
		insert_number(&in, s->delay_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

int profile_write_who(sqlite3 *db, const struct profile *p)
{
	static const profile_write_table tables[] = {
		write_wakers, write_wakes, write_chains, write_stories, write_hops, write_blames, write_storms,
	};

	return profile_write_tables(db, p, tables, G_N_ELEMENTS(tables));
}
