/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The recording with additional tables of derived data, for users of SQL (docs/sql.md).  It is still a valid
 * recording, since readers ignore unknown tables.
 */
#include "analyse/reason/reasons.h"
#include "exchange/format.h"
#include "explain/sentence.h"
#include "profile/profile_file.h"
#include "profile/profile_insert.h"
#include "render/answer/things.h"
#include "render/json/parts.h"

#define PART_BYTES (256u << 10)	/* written to the sink at once */
#define FINDING_COLUMNS 15

static const char tables[] =
	"CREATE TABLE finding(\n"
	"  rank INTEGER PRIMARY KEY,\n"
	"  kind TEXT, -- wait, busy, tasks: headlines; other: findings behind them; little, also, storm, unseen: sentences\n"
	"  id TEXT, -- for offcpu report --id\n"
	"  reason TEXT, process TEXT,\n"
	"  pid INTEGER, -- NULL: several\n"
	"  function TEXT, object TEXT,\n"
	"  time_ns INTEGER,\n"
	"  share_ppm INTEGER, -- as the sentence says; NULL: of no headline\n"
	"  count INTEGER, threads INTEGER,\n"
	"  sentence TEXT, evidence TEXT, advice TEXT);\n"
	"CREATE TABLE wait_told(\n"
	"  wait_id INTEGER PRIMARY KEY REFERENCES wait(id),\n"
	"  reason TEXT, -- of its blocked time; the rest is cpu.queue\n"
	"  protocol TEXT,\n"
	"  idle TEXT, -- what for it was idle; NULL: it was not\n"
	"  finding INTEGER REFERENCES finding(rank), -- that its blocked time is in; NULL: none\n"
	"  queue_finding INTEGER REFERENCES finding(rank)); -- and its runnable and preempted time\n"
	"CREATE VIEW v_findings AS SELECT rank, kind, id, reason, process, pid, function, object, time_ns,\n"
	"  share_ppm / 1e4 AS share_percent, count, threads, sentence, evidence, advice FROM finding;\n"
	"CREATE VIEW v_waits AS SELECT w.*, t.reason, t.protocol, t.idle, t.finding, t.queue_finding,\n"
	"  u.stack AS user_stack, k.stack AS kernel_stack\n"
	"FROM v_wait w JOIN wait_told t ON t.wait_id = w.id LEFT JOIN v_stack_text u ON u.id = w.user_stack_id\n"
	"  LEFT JOIN v_stack_text k ON k.id = w.kernel_stack_id;\n";

struct derived {
	const struct profile *p;
	const struct explanation *e;
	struct things *things;
	GHashTable *ranks;	/* of findings, by their id */
	uint64_t rank;		/* last rank given */
	struct insert in;
};

static void put_number(struct derived *t, uint64_t value)
{
	if (value)
		insert_number(&t->in, value);
	else
		insert_null(&t->in);
}

/* Binds a text or a number, by its type. */
#define PUT(value) \
	_Generic((value), char *: insert_text, const char *: insert_text, default: insert_number)(&t->in, value);

static void put_finding(struct derived *t, const struct finding *row, const struct headline *h)
{
	const struct finding *first = (const void *)t->e->findings->rows->data;
	const struct frame *frame = row->frame >= 0 ? profile_get_frame(t->p, (uint32_t)row->frame) : NULL;
	const struct object *o = finding_object(t->e->findings, row);
	g_autoptr(GString) sentence = g_string_new(NULL);

	if (!h)
		sentence_finding(sentence, t->e->findings, row);
	EACH(PUT, ++t->rank, h ? headline_kind_name(h->kind) : "other",
	     thing_id(t->things, THING_FINDING, (guint)(row - first)), reason_name(row->reason), row->process)
	put_number(t, row->pid);
	EACH(PUT, frame ? frame->name : NULL, o ? o->name : NULL, row->time_ns)
	put_number(t, h ? json_share_ppm(h->time_ns, h->whole_ns) : 0);
	EACH(PUT, row->count, row->threads_cnt, h ? h->sentence : sentence->str, h ? h->evidence : NULL,
	     h ? h->advice : NULL)
	insert_row_done(&t->in);
	if (row->id)
		g_hash_table_insert(t->ranks, GUINT_TO_POINTER(row->id), GUINT_TO_POINTER((guint)t->rank));
}

static void put_tasks(struct derived *t, const struct headline *h)
{
	const struct task_wait *first = (const void *)t->e->tasks->rows->data, *w = h->task;

	EACH(PUT, ++t->rank, headline_kind_name(h->kind), thing_id(t->things, THING_TASK, (guint)(w - first)),
	     w->reason, w->program)
	put_number(t, w->pid);
	insert_text(&t->in, *w->function ? w->function : NULL);
	insert_null(&t->in);
	EACH(PUT, h->time_ns, json_share_ppm(h->time_ns, h->whole_ns))
	insert_null(&t->in);
	insert_null(&t->in);
	EACH(PUT, h->sentence, h->evidence, h->advice)
	insert_row_done(&t->in);
}

static void put_sentence(struct derived *t, const char *kind, const char *sentence)
{
	if (!sentence)
		return;
	insert_number(&t->in, ++t->rank);
	insert_text(&t->in, kind);
	for (unsigned i = 2; i < FINDING_COLUMNS; i++)
		if (i == FINDING_COLUMNS - 3)
			insert_text(&t->in, sentence);
		else
			insert_null(&t->in);
	insert_row_done(&t->in);
}

/* As in answers of bounded size: where little was found there are no findings. */
static int put_findings(struct derived *t, sqlite3 *db)
{
	const GArray *rows = t->e->findings->rows;

	t->in = insert_into(db, "INSERT INTO finding VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	EACH_ROW(i, const struct headline, h, t->e->headlines) {
		if (h->finding)
			put_finding(t, h->finding, h);
		else
			put_tasks(t, h);
	}
	put_sentence(t, "little", t->e->little);
	put_sentence(t, "also", t->e->also);
	put_sentence(t, "storm", t->e->storm);
	put_sentence(t, "unseen", t->e->unseen);
	for (guint i = 0; !t->e->little && i < rows->len; i++)
		if (!things_headline(t->things, &(struct thing){ .kind = THING_FINDING, .at = i }))
			put_finding(t, &g_array_index(rows, struct finding, i), NULL);
	return insert_end(&t->in);
}

static guint rank_of(const struct derived *t, uint32_t finding)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(t->ranks, GUINT_TO_POINTER(finding)));
}

/* Rows that are not waits have no derived data. */
static int put_waits(struct derived *t, sqlite3 *db)
{
	const struct findings *f = t->e->findings;
	const struct reasons *reasons = f->reasons;

	t->in = insert_into(db, "INSERT INTO wait_told VALUES(?,?,?,?,?,?)");
	for (uint32_t i = 0; i < t->p->waits->len && profile_wait(t->p, i)->state != ON_CPU_STATE; i++) {
		const bool is_known = !t->p->info.rows_are;
		const char *protocol = is_known ? reasons_protocol(reasons, i) : "";
		const bool is_idle = is_known && reasons_is_idle(reasons, i);

		EACH(PUT, i, is_known ? reason_name(reasons_of(reasons, i)) : NULL, *protocol ? protocol : NULL,
		     is_idle ? idle_kind_name(reasons_idle(reasons, i)) : NULL)
		put_number(t, rank_of(t, f->blocked_in[i]));
		put_number(t, rank_of(t, f->queued_in[i]));
		insert_row_done(&t->in);
	}
	return insert_end(&t->in);
}

static int put_told(sqlite3 *db, void *data)
{
	struct derived *t = data;
	int rc = sqlite3_exec(db, tables, NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = put_findings(t, db);
	return rc == SQLITE_OK ? put_waits(t, db) : rc;
}

void write_sqlite(struct writer *w, const struct profile *p, const struct export_plan *plan)
{
	struct explanation *e = explanation_new(p, NULL);
	struct derived told = { .p = p, .e = e, .things = things_new(p, e), .ranks = g_hash_table_new(NULL, NULL) };
	GError *error = NULL;
	g_autoptr(GBytes) recording = profile_file_bytes(p, put_told, &told, &error);
	gsize len = 0;
	const char *bytes = recording ? g_bytes_get_data(recording, &len) : NULL;

	for (gsize at = 0; at < len; at += PART_BYTES) {
		g_string_append_len(writer_text(w), bytes + at, (gssize)MIN(PART_BYTES, len - at));
		writer_flush(w);
	}
	if (error)
		writer_fail(w, error);
	g_hash_table_unref(told.ranks);
	things_free(told.things);
	explanation_free(e);
}
