/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include "explain/text.h"
#include "features/wakers/analysis_chains.h"
#include "features/wakers/text.h"

#define PLACES_SHOWN 3	/* per actor */
#define PLACE_COLUMN 24	/* column of their text */
#define NONE UINT32_MAX

struct printer {
	GString *s;
	const struct critical *c;
	const struct text_options *o;
};

static unsigned depth_of(const struct critical *c, uint32_t part)
{
	unsigned depth = 0;

	while ((part = critical_get(c, part)->parent) != NONE)
		depth++;
	return depth;
}

/* "    12.3 s   45.6%  " and an indentation. */
static void append_amount(struct printer *pr, int64_t ns, unsigned depth)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	text_duration_signed(cell, ns);
	text_right(pr->s, cell->str, 10);
	g_string_append_printf(pr->s, " %6.1f%%  %*s",
			       pr->c->observed_ns ? 100.0 * (double)ns / (double)pr->c->observed_ns : 0.0,
			       (int)(2 * depth), "");
}

static void append_times(GString *s, uint64_t count)
{
	g_string_append_printf(s, ", %s%s", TEXT_COUNT(count), count == 1 ? " time" : " times");
}

static void place_line(struct printer *pr, const struct critical_part *part)
{
	unsigned room = text_room(pr->o, PLACE_COLUMN), used = text_safe_cut(pr->s, part->wait, room);

	if (!*part->waker)
		return;
	if (pr->o->width && PLACE_COLUMN + used + 7 + text_width(part->waker) > pr->o->width)
		g_string_append_printf(pr->s, "\n%*suntil ", PLACE_COLUMN + 2, "");
	else
		g_string_append(pr->s, " until ");
	text_safe_cut(pr->s, part->waker, text_room(pr->o, PLACE_COLUMN + 8));
}

/* Time in the account that is in no wait, and why. */
static void unlisted_line(struct printer *pr, const struct critical_part *part)
{
	const struct critical *c = pr->c;

	g_string_append(pr->s, part->ns < 0 ? "listed beyond the account" : "in sleeps not listed");
	if (profile_is_sampled(c->graph->profile))
		g_string_append(pr->s, "; short ones were sampled");
	if (c->filtered_ns)
		g_string_append_printf(pr->s, "; filtered: %s", TEXT_NS(c->filtered_ns));
	if (c->lost_ns)
		g_string_append_printf(pr->s, "; lost: %s", TEXT_NS(c->lost_ns));
}

static void rest_text(struct printer *pr, enum chain_end end)
{
	if (end == CHAIN_INTERRUPT)
		g_string_append(pr->s, "until it came");
	else
		g_string_append_printf(pr->s, "it slept; the chain does not tell who ended that: %s", chain_end_text(end));
}

static void for_text(struct printer *pr, const struct critical_part *part, bool is_hop)
{
	GString *s = pr->s;

	g_string_append_printf(s, "%s %s", is_hop ? "it waited for" : "for", text_bold(pr->o));
	actor_text(s, actors_get(pr->c->graph->actors, part->actor), text_room(pr->o, is_hop ? 50 : 44));
	g_string_append(s, text_plain(pr->o));
	/* hops are parts of sleeps */
	if (!is_hop)
		append_times(s, part->count);
}

static void part_text(struct printer *pr, const struct critical_part *part)
{
	GString *s = pr->s;

	switch (part->kind) {
	case CRITICAL_ON_CPU: g_string_append(s, "on CPU"); break;
	case CRITICAL_RUNNABLE: g_string_append(s, "runnable: woken or new, without a CPU yet"); break;
	case CRITICAL_PREEMPTED: g_string_append(s, "preempted"); break;
	case CRITICAL_WAITING: g_string_append(s, "waiting"); break;
	case CRITICAL_FOR: for_text(pr, part, critical_get(pr->c, part->parent)->kind != CRITICAL_WAITING); break;
	case CRITICAL_PLACE: place_line(pr, part); break;
	case CRITICAL_ASLEEP:
		g_string_append(s, "for somebody who had not come as the window ended");
		append_times(s, part->count);
		break;
	case CRITICAL_UNLISTED: unlisted_line(pr, part); break;
	case CRITICAL_RAN: g_string_append(s, "it ran"); break;
	case CRITICAL_READY: g_string_append(s, "it had no CPU"); break;
	case CRITICAL_EARLIER: g_string_append(s, "of what it did before that nothing was kept"); break;
	case CRITICAL_REST: rest_text(pr, part->end); break;
	case CRITICAL_UNTOLD: g_string_append(s, "not known what it did"); break;
	case CRITICAL_RESIDUAL: g_string_append(s, "unaccounted for (residual)"); break;
	default: break;
	}
}

static void part_line(struct printer *pr, uint32_t i)
{
	const struct critical_part *part = critical_get(pr->c, i);

	append_amount(pr, part->ns, depth_of(pr->c, i));
	part_text(pr, part);
	g_string_append_c(pr->s, '\n');
	if (part->kind == CRITICAL_FOR && part->actor == pr->c->graph->actors->unknown)
		unknown_wakers_text(pr->s, pr->c->graph->profile, pr->o, PLACE_COLUMN);
}

/* Children of a part that are not shown. */
struct hidden_parts {
	unsigned shown_cnt, cnt;
	int64_t ns;
};

static bool is_shown(const struct printer *pr, const struct critical_part *part, const struct hidden_parts *siblings)
{
	const struct critical_part *above = part->parent == NONE ? NULL : critical_get(pr->c, part->parent);

	if (!part->ns)
		return part->kind <= CRITICAL_WAITING;
	if (!pr->o->top || !above)
		return true;
	if (part->kind == CRITICAL_PLACE)
		return siblings->shown_cnt < PLACES_SHOWN;
	if (part->kind == CRITICAL_FOR && above->kind == CRITICAL_WAITING)
		return siblings->shown_cnt < pr->o->top;
	if (above->kind == CRITICAL_WAITING)
		return true;
	/* what others did is shown from a hundredth of the whole on */
	return (uint64_t)part->ns >= pr->c->observed_ns / 100;
}

static void hidden_line(struct printer *pr, uint32_t parent, const struct hidden_parts *h)
{
	append_amount(pr, h->ns, depth_of(pr->c, parent) + 1);
	g_string_append_printf(pr->s, "(%u more)\n", h->cnt);
}

/* Closes parts that do not contain part `next`, and prints what they hide. */
static uint32_t close_parts(struct printer *pr, const struct hidden_parts *hidden, uint32_t open, uint32_t next)
{
	while (open != NONE && open != next) {
		bool is_all = critical_get(pr->c, open)->kind > CRITICAL_FOR && !hidden[open].shown_cnt;

		/* if nothing others did was large enough, no line is needed */
		if (hidden[open].cnt && !is_all)
			hidden_line(pr, open, &hidden[open]);
		open = critical_get(pr->c, open)->parent;
	}
	return open;
}

static void append_parts(struct printer *pr)
{
	const struct critical *c = pr->c;
	g_autofree struct hidden_parts *hidden = g_new0(struct hidden_parts, (gsize)c->parts->len + 1);
	g_autofree bool *shown = g_new0(bool, (gsize)c->parts->len + 1);
	uint32_t open = NONE;

	EACH_ROW(i, const struct critical_part, part, c->parts) {
		struct hidden_parts *above = part->parent == NONE ? NULL : &hidden[part->parent];

		if (part->parent != NONE && !shown[part->parent])
			continue;
		shown[i] = is_shown(pr, part, above);
		if (!shown[i]) {
			if (above && part->ns) {
				above->cnt++;
				above->ns += part->ns;
			}
			continue;
		}
		if (above)
			above->shown_cnt++;
		close_parts(pr, hidden, open, part->parent);
		open = i;
		part_line(pr, i);
	}
	close_parts(pr, hidden, open, NONE);
}

static void head(struct printer *pr)
{
	const struct critical *c = pr->c;
	g_autoptr(GString) who = g_string_new(NULL), time = g_string_new(NULL);

	if (c->single != NONE) {
		const struct thread *t = profile_thread(c->graph->profile, c->single);

		text_safe(who, t->comm);
		g_string_append_printf(who, "-%u/%u", t->pid, t->tid);
	} else {
		text_safe(who, c->name);
		g_string_append_printf(who, ", %u threads", c->threads_cnt);
	}
	text_duration(time, c->observed_ns);
	text_section(pr->s, pr->o, "Critical path of %s: where %s of %s went", who->str, time->str,
		     c->single != NONE ? "its time" : "their time");
}

static void what_next(struct printer *pr)
{
	const struct actors *a = pr->c->graph->actors;
	GString *s = pr->s;
	bool is_own;
	uint32_t next = critical_next(pr->c, &is_own);

	if (!pr->c->has_chains)
		g_string_append_printf(s, "\nWhat others did while they were waited for is not known beyond one hop:\n%s.\n",
				       pr->c->graph->profile->info.history.windows ?
					       "the history keeps no chains; of what goes on now: offcpu record --wakers=8" :
					       "record with --wakers=8 for chains");
	if (next == NONE)
		return;
	const struct actor *actor = actors_get(a, next);
	g_string_append(s, pr->c->has_chains ? "\nMost is waited for " : "Most is waited for ");
	if (is_own) {
		g_string_append(s, "one another; go on with --by thread.\n");
		return;
	}
	actor_text(s, actor, 0);
	g_string_append(s, "; go on with --critical '");
	if (actor->tid)
		g_string_append_printf(s, "%u", actor->tid);
	else
		text_safe(s, actor->name);
	g_string_append(s, "'.\n");
}

static void share_cell(GString *s, uint64_t ns)
{
	if (ns)
		text_duration_cell(s, ns, 10);
	else
		text_right(s, "-", 10);
}

/* Who had the waiting time, at any step of the chains. */
static void append_shares(struct printer *pr)
{
	const struct critical *c = pr->c;
	unsigned shown = pr->o->top ? MIN(pr->o->top, c->shares->len) : c->shares->len;
	uint64_t whole_ns = 0, rest_ns = 0;

	for (guint i = 0; i < c->shares->len; i++)
		whole_ns += g_array_index(c->shares, struct critical_share, i).ns;
	text_section(pr->s, pr->o, "Who had that time, anywhere in the chains");
	g_string_append_printf(pr->s, "%s%10s %7s%10s%10s%10s%10s  who%s\n", text_dim(pr->o), "time", "%", "ran",
			       "no CPU", "earlier", "rest", text_plain(pr->o));
	EACH_ROW(i, const struct critical_share, share, c->shares) {
		if (i >= shown) {
			rest_ns += share->ns;
			continue;
		}
		share_cell(pr->s, share->ns);
		g_string_append_printf(pr->s, " %6.1f%%", text_percent(share->ns, whole_ns));
		share_cell(pr->s, share->ran_ns);
		share_cell(pr->s, share->ready_ns);
		share_cell(pr->s, share->earlier_ns);
		share_cell(pr->s, share->rest_ns);
		g_string_append(pr->s, "  ");
		actor_text(pr->s, actors_get(c->graph->actors, share->actor), text_room(pr->o, 60));
		g_string_append_c(pr->s, '\n');
	}
	if (rest_ns) {
		share_cell(pr->s, rest_ns);
		g_string_append_printf(pr->s, "%50s(%u more)\n", "", c->shares->len - shown);
	}
}

void critical_text(GString *s, const struct critical *c, const struct text_options *options)
{
	struct printer pr = { s, c, options };

	head(&pr);
	append_parts(&pr);
	append_amount(&pr, (int64_t)c->observed_ns, 0);
	g_string_append(s, "observed\n");
	if (c->shares->len)
		append_shares(&pr);
	what_next(&pr);
}
