/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include <inttypes.h>

#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define WAITS_MIN 4	/* fewer are no regular pattern */
#define EACH_NS 50000000ULL	/* shorter ones are not noticed */
#define EVEN_TIMES 2	/* times the mean: external events come in bursts */
#define REST_PART 10	/* of the window, and of the wakings' time */
#define NAME_COLUMNS 40

/* The only process that ends the wait by a Unix socket, nearly every time; NULL: none. */
static const struct waker *sole_waker(const struct profile *p, uint32_t wait)
{
	static const char *const sends[] = { "unix_stream_sendmsg", NULL };
	const uint32_t pid = profile_thread(p, profile_wait(p, wait)->thread)->pid;
	const struct waker *found = NULL;
	uint64_t all_ns = 0, by_ns = 0;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (wake->wait != wait)
			continue;
		all_ns += wake->blocked_ns;
		if (by->irq || !by->comm || by->pid == pid || (found && by->pid != found->pid) ||
		    !profile_stack_names(p, by->kernel, sends))
			continue;
		found = by;
		by_ns += wake->blocked_ns;
	}
	return by_ns > all_ns - all_ns / REST_PART ? found : NULL;
}

/* An event loop that only one peer wakes, at an even pace: with events, or with answers to requests. */
void sole_waker_append_most(GString *s, const struct findings *f)
{
	const struct profile *p = f->profile;
	const uint64_t window_ns = p->info.duration_ns;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const bool is_even = w->count >= WAITS_MIN && w->blocked_ns / w->count >= EACH_NS &&
				     w->max_ns <= EVEN_TIMES * (w->blocked_ns / w->count);

		if (reasons_idle(f->reasons, i) != IDLE_LOOP || reasons_of(f->reasons, i) != REASON_EVENT_LOOP ||
		    !is_even || w->blocked_ns < window_ns - window_ns / REST_PART ||
		    (f->selection && !f->selection->waits[i]))
			continue;
		const struct waker *by = sole_waker(p, i);

		if (!by)
			continue;
		g_string_append_c(s, ' ');
		text_safe_cut(s, f->programs[w->thread], NAME_COLUMNS);
		g_string_append(s, "'s event loop waits for ");
		text_safe_cut(s, by->comm, NAME_COLUMNS);
		g_string_append_printf(s, "/%" PRIu32 " all the time, by a Unix socket, for %s each time: if these are answers to requests, look at "
				       "what that does.", by->pid, TEXT_NS(w->blocked_ns / w->count));
		return;
	}
}
