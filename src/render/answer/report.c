/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/answer/report.h"

#include <string.h>

#include "analyse/accounts.h"
#include "explain/text.h"
#include "render/answer/things.h"
#include "render/text/text.h"

#define STACKS_MAX 30
#define STACKS_LEAST 3	/* always shown, however short */
#define PROCESSES_MAX 20
#define OTHERS_MAX 20
#define ON_CPU_MAX 5
#define LOSSES_MAX 5
#define ALL_MAX 100000	/* of a list that was asked for by name */
#define PART_OF_ALL 100	/* a stack below 1/PART_OF_ALL of the time is not shown */

/* Most important first. */
enum {
	RANK_HEADLINE = 1,
	RANK_RECORDING,
	RANK_LEADS,
	RANK_REQUESTS,
	RANK_HEADLINES,
	RANK_SAID,
	RANK_FIRST_STACK,
	RANK_TIME,
	RANK_FIRST_PROCESS,
	RANK_STACK,
	RANK_LOSS,
	RANK_ON_CPU,
	RANK_MORE,
	RANK_PROCESS,
	RANK_OTHER_STACK,
	RANK_OTHER,
};

struct report {
	const struct profile *p;
	const struct selection *selection;
	const struct explanation *e;
	const struct things *things;
	struct answer *a;
	bool is_list;	/* all items of one array were asked for */
};

static guint at_most(const struct report *r, guint cnt)
{
	return r->is_list ? ALL_MAX : cnt;
}

/* Replaces host and coverage, which other tools do not report. */
static void write_imported(const struct report *r)
{
	struct json *j = answer_member(r->a, "recording");
	const struct profile_info *info = &r->p->info;
	const struct rows_kind *kind = profile_rows_kind(info->rows_are);
	g_autofree char *unknown = profile_unknown_text(info->unknown, info->has_wakers);

	json_object_begin(j);
	json_member_string(j, "imported", info->imported);
	if (kind)
		json_member_string(j, "what", kind->what);
	json_member_string(j, "unknown", unknown);
	if (!(info->unknown & UNKNOWN_WINDOW))
		json_member_uint(j, "duration_ns", info->duration_ns);
	json_object_end(j);
	answer_end(r->a, RANK_RECORDING);
}

static void write_recording(const struct report *r)
{
	struct json *j = answer_member(r->a, "recording");
	const struct profile_info *info = &r->p->info;
	g_autoptr(GString) what = g_string_new(NULL), verdict = g_string_new(NULL), history = g_string_new(NULL);

	text_target(what, r->e->findings);
	text_verdict(verdict, r->p);
	json_object_begin(j);
	answer_text(r->a, "target", what->str);
	json_member_string(j, "verdict", verdict->str);
	JSON_UINTS(j, info, start_unix_ns, duration_ns, cpus);
	json_member_string(j, "host", info->host);
	if (info->filters && *info->filters)
		json_member_string(j, "filters", info->filters);
	json_member_text(j, "imported", info->imported);
	if (info->history.windows) {
		text_history(history, info);
		json_member_string(j, "history", history->str);
	}
	json_object_end(j);
	answer_end(r->a, RANK_RECORDING);
}

static void write_time(const struct report *r)
{
	struct json *j = answer_member(r->a, "time");
	struct accounts *a = accounts_new(r->p, r->selection);
	const struct findings *f = r->e->findings;

	json_object_begin(j);
	json_member_uint(j, "threads", a->total.threads_cnt);
	JSON_UINTS(j, &a->total, observed_ns, on_cpu_ns, off_cpu_ns);
	JSON(j, "idle_ns", f->idle_sum_ns, "matters_ns", f->matters_ns, "run_queue_ns", f->queue_ns);
	json_member_uint(j, "lost_ns", a->total.lost_ns);
	json_object_end(j);
	answer_end(r->a, RANK_TIME);
	accounts_free(a);
}

static int compare_losses(gconstpointer va, gconstpointer vb)
{
	const struct profile_loss *a = *(const struct profile_loss *const *)va,
				  *b = *(const struct profile_loss *const *)vb;

	return a->time_ns != b->time_ns ? (a->time_ns > b->time_ns ? -1 : 1) : a < b ? -1 : a > b;
}

static void write_losses(const struct report *r)
{
	g_autoptr(GPtrArray) losses = g_ptr_array_new();
	const guint most = at_most(r, LOSSES_MAX);

	for (guint i = 0; i < r->p->losses->len; i++)
		if (g_array_index(r->p->losses, struct profile_loss, i).count)
			g_ptr_array_add(losses, &g_array_index(r->p->losses, struct profile_loss, i));
	g_ptr_array_sort(losses, compare_losses);
	for (guint i = 0; i < MIN(losses->len, most); i++) {
		const struct profile_loss *l = g_ptr_array_index(losses, i);
		struct json *j = answer_item(r->a, "losses");

		json_object_begin(j);
		json_member_string(j, "reason", l->reason);
		answer_text(r->a, "help", l->help);
		JSON(j, "count", l->count, "time_ns", l->time_ns);
		json_object_end(j);
		answer_end(r->a, RANK_LOSS);
	}
	if (losses->len > most)
		answer_left_out(r->a, "losses", losses->len - most);
}

/* Headlines, in order. */
static void write_headlines(const struct report *r)
{
	const struct explanation *e = r->e;

	for (guint i = 0; i < e->headlines->len; i++)
		things_write_headline(r->a, r->things, &g_array_index(e->headlines, struct headline, i),
				      i ? RANK_HEADLINES : RANK_HEADLINE);
	if (e->little)
		answer_member_text(r->a, "little", e->little, RANK_HEADLINE);
	if (e->also)
		answer_member_text(r->a, "also", e->also, RANK_SAID);
	if (e->storm)
		answer_member_text(r->a, "storm", e->storm, RANK_SAID);
	if (e->unseen)
		answer_member_text(r->a, "unseen", e->unseen, RANK_SAID);
}

/* The heaviest stack of each headline, then the others by time: indices of groups. */
static GArray *stacks_order(const struct report *r)
{
	GArray *order = g_array_new(FALSE, FALSE, sizeof(guint));
	const guint cnt = r->things->groups->rows->len;
	g_autofree bool *is_taken = g_new0(bool, cnt + 1);

	for (guint n = 0; n < r->e->headlines->len; n++) {
		for (guint i = 0; i < cnt; i++) {
			if (explanation_headline_of(r->e, things_group(r->things, i)->wait) != n + 1)
				continue;
			is_taken[i] = true;
			g_array_append_val(order, i);
			break;
		}
	}
	for (guint i = 0; i < cnt; i++)
		if (!is_taken[i])
			g_array_append_val(order, i);
	return order;
}

/* If there are findings, a stack that belongs to none is of threads that nobody waits for. */
static bool is_informative(const struct report *r, guint group, guint shown)
{
	if (r->is_list)
		return true;
	if (r->e->findings->rows->len && things_finding_of(r->things, group) < 0)
		return false;
	return shown < STACKS_LEAST ||
	       things_group(r->things, group)->off_cpu_ns >= r->things->groups->sum_ns / PART_OF_ALL;
}

static unsigned rank_of_stack(guint at)
{
	if (!at)
		return RANK_FIRST_STACK;
	return at < STACKS_LEAST ? RANK_STACK : RANK_OTHER_STACK;
}

static void write_stacks(const struct report *r)
{
	g_autoptr(GArray) order = stacks_order(r);
	const bool is_told = !r->e->little || r->is_list;
	guint shown = 0;

	/* shares of a small total are large and mean nothing */
	for (guint i = 0; is_told && i < order->len && shown < at_most(r, STACKS_MAX); i++) {
		guint group = g_array_index(order, guint, i);

		if (!is_informative(r, group, shown))
			continue;
		things_write_stack(r->a, r->things, "stacks", group, rank_of_stack(shown));
		shown++;
	}
	answer_left_out(r->a, "stacks", order->len - shown);
}

static void write_processes(const struct report *r)
{
	const GArray *classes = r->e->findings->classes;
	const guint most = at_most(r, PROCESSES_MAX);

	for (guint i = 0; i < MIN(classes->len, most); i++)
		things_write_process(r->a, r->things, i, i ? RANK_PROCESS : RANK_FIRST_PROCESS);
	if (classes->len > most)
		answer_left_out(r->a, "processes", classes->len - most);
}

static void write_on_cpu(const struct report *r)
{
	struct top *top = r->p->info.on_cpu_as_waits ? top_new(r->p, r->selection, TOP_BY_LEAF, WEIGHT_ON_CPU) : NULL;

	for (guint i = 0; top && i < MIN(top->rows->len, at_most(r, ON_CPU_MAX)); i++) {
		const struct top_row *row = &g_array_index(top->rows, struct top_row, i);
		struct json *j;

		if (!row->samples)
			continue;
		j = answer_item(r->a, "on_cpu");
		JSON_OBJECT(j, "name", row->name, "samples", row->samples, "on_cpu_ns", row->weight);
		answer_end(r->a, RANK_ON_CPU);
	}
	top_free(top);
}

/* Findings that are not headlines; omitted where little was found. */
static void write_others(const struct report *r)
{
	const GArray *rows = r->e->findings->rows;
	const guint most = at_most(r, OTHERS_MAX);
	guint all = 0;

	if (r->e->little && !r->is_list)
		return;
	for (guint i = 0; i < rows->len; i++) {
		if (things_headline(r->things, &(struct thing){ .kind = THING_FINDING, .at = i }))
			continue;
		if (all++ < most)
			things_write_other(r->a, r->things, "other_findings", i, RANK_OTHER);
	}
	if (all > most)
		answer_left_out(r->a, "other_findings", all - most);
}

static void write_summary(const struct report *r)
{
	g_autofree char *imported = profile_imported_text(&r->p->info);

	if (imported)
		write_imported(r);
	else
		write_recording(r);
	write_headlines(r);
	things_write_requests(r->a, r->things, RANK_REQUESTS);
	if (!imported)
		write_time(r);
	write_stacks(r);
	write_processes(r);
	write_on_cpu(r);
	write_losses(r);
	write_others(r);
	answer_leads(r->a, RANK_LEADS, RANK_MORE);
}

static void write_requests(const struct report *r)
{
	things_write_requests(r->a, r->things, RANK_REQUESTS);
}

/* Arrays of a summary.  Each name is also an id that selects the full array. */
static const struct list {
	const char *name;
	void (*write)(const struct report *r);
} lists[] = {
	{ "headlines", write_headlines }, { "stacks", write_stacks },	    { "processes", write_processes },
	{ "requests", write_requests },	  { "on_cpu", write_on_cpu },	    { "losses", write_losses },
	{ "other_findings", write_others },
};

static const struct list *list_of(const char *id)
{
	for (guint i = 0; id && i < G_N_ELEMENTS(lists); i++)
		if (strcmp(lists[i].name, id) == 0)
			return &lists[i];
	return NULL;
}

static void write_list(const struct report *r, const struct list *list)
{
	list->write(r);
	if (!answer_has(r->a, list->name))
		answer_member_text(r->a, "none", "nothing of that is in the recording", RANK_HEADLINE);
}

bool answer_report(GString *out, const char *of, const struct profile *p, const struct selection *selection,
		   const struct answer_options *options, GError **error)
{
	struct explanation *e = explanation_new(p, selection);
	struct things *things = things_new(p, e);
	const struct thing *thing = options->id ? g_hash_table_lookup(things->by_id, options->id) : NULL;
	const struct list *list = list_of(options->id);
	const struct report r = { p, selection, e, things, answer_new(of, options), list != NULL };
	bool is_done = false;

	if (options->id && !thing && !list) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "--id \"%s\": nothing in the recording has that id; --json=summary lists ids", options->id);
	} else {
		if (list)
			write_list(&r, list);
		else if (thing)
			things_write_all(r.a, things, thing);
		else
			write_summary(&r);
		is_done = answer_write(out, r.a, error);
	}
	answer_free(r.a);
	things_free(things);
	explanation_free(e);
	return is_done;
}
