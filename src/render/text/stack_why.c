/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include "analyse/label.h"
#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "base/order.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"

#define WAKERS_SHOWN 3

struct stack_why {
	const struct profile *p;
	struct reasons *reasons;
	struct wakes_by_wait *wakes;
};

struct share {
	uint32_t waker;
	uint64_t blocked_ns;
};

struct stack_why *stack_why_new(const struct profile *p)
{
	struct stack_why *why = g_new0(struct stack_why, 1);

	why->p = p;
	why->reasons = reasons_new(p, NULL);
	why->wakes = wakes_by_wait_new(p);
	return why;
}

FREES(stack_why_free, struct stack_why, why, reasons_free(why->reasons); wakes_by_wait_free(why->wakes))

static bool is_of_row(const struct wait *w, const struct top_row *row)
{
	return w->user == row->user && w->kernel == row->kernel && w->state == row->state;
}

static void add_share(GArray *shares, const struct wake *wake)
{
	struct share fresh = { .waker = wake->waker };

	EACH_ROW(i, struct share, s, shares) {
		if (s->waker == wake->waker) {
			s->blocked_ns += wake->blocked_ns;
			return;
		}
	}
	fresh.blocked_ns = wake->blocked_ns;
	g_array_append_val(shares, fresh);
}

ORDER(most_first, struct share, ORDER_HIGH(blocked_ns) ORDER_LOW(waker))

/* Who ended the row's waits, by blocked time; *ret_ns: the total. */
static GArray *shares_of(const struct stack_why *why, const struct top_row *row, uint64_t *ret_ns)
{
	GArray *shares = g_array_new(FALSE, FALSE, sizeof(struct share));

	*ret_ns = 0;
	EACH_ROW(i, const struct wait, w, why->p->waits) {
		if (!is_of_row(w, row))
			continue;
		*ret_ns += w->blocked_ns;
		for (uint32_t k = why->wakes->first[i]; k < why->wakes->first[i + 1]; k++)
			add_share(shares, &g_array_index(why->p->wakes, struct wake, why->wakes->order[k]));
	}
	g_array_sort(shares, most_first);
	return shares;
}

static void append_waker(GString *text, const struct stack_why *why, const struct share *share, uint64_t all_ns)
{
	const struct waker *k = profile_get_waker(why->p, share->waker);
	int64_t frame = k->user ? plumbing_user_parent(reasons_plumbing(why->reasons), k->user) : -1;

	g_string_append(text, waker_name(k));
	if (k->tid)
		g_string_append_printf(text, " (%u)", k->tid);
	if (frame >= 0) {
		g_string_append(text, " in ");
		label_append(text, profile_get_frame(why->p, (uint32_t)frame));
	}
	g_string_append_printf(text, " %.0f%%", text_percent(share->blocked_ns, all_ns));
}

void stack_why_text(GString *s, const struct stack_why *why, const struct top_row *row, const struct text_options *o)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GArray) shares = NULL;
	uint64_t all_ns;

	if (!row->longest)
		return;
	if (row->state != 'R')
		g_string_append(text, reason_name(reasons_of(why->reasons, row->longest - 1)));
	shares = shares_of(why, row, &all_ns);
	for (guint i = 0; i < MIN(shares->len, WAKERS_SHOWN); i++) {
		g_string_append(text, i ? ", " : "; woken by ");
		append_waker(text, why, &g_array_index(shares, struct share, i), all_ns);
	}
	if (!text->len)
		return;
	g_string_append(s, "     ");
	text_safe_cut(s, text->str, text_room(o, 6));
	g_string_append_c(s, '\n');
}
