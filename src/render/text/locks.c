/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>

#include "analyse/label.h"
#include "analyse/locks.h"
#include "explain/text.h"

#define HOLDERS_SHOWN 3
#define PLACES_SHOWN 3
#define FRAMES_SHOWN 8

static void append_who(GString *s, const struct lock_holder *h)
{
	if (*h->comm)
		text_safe(s, h->comm);
	else
		g_string_append(s, "thread");
	if (h->threads_cnt > 1)
		g_string_append_printf(s, " (%" PRIu32 "), %" PRIu32 " threads", h->pid, h->threads_cnt);
	else if (h->pid)
		g_string_append_printf(s, "-%" PRIu32 "/%" PRIu32, h->pid, h->tid);
	else if (h->tid)
		g_string_append_printf(s, " %" PRIu32, h->tid);
}

/* Innermost first.  Skips the kernel's wakeup functions, which are the same in all stacks. */
static void append_frames(GString *s, const struct profile *p, uint32_t node, const struct text_options *o)
{
	unsigned left = FRAMES_SHOWN;

	for (; node && left; node = profile_get_node(p, node)->parent, left--) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);
		g_autoptr(GString) label = g_string_new(NULL);

		label_append(label, f);
		label_append_line(label, f);
		g_string_append(s, "                  ");
		text_safe_cut(s, label->str, text_room(o, 18));
		g_string_append_c(s, '\n');
	}
	if (node)
		g_string_append(s, "                  ...\n");
}

static void append_holders(GString *s, const struct profile *p, const GArray *holders, const char *what,
			   uint64_t blocked_ns, const struct text_options *o)
{
	uint64_t rest_ns = blocked_ns;

	for (unsigned i = 0; i < holders->len && i < HOLDERS_SHOWN; i++) {
		const struct lock_holder *h = &g_array_index(holders, struct lock_holder, i);

		g_string_append_printf(s, "     %-11s %5.1f%%  ", i ? "" : what,
				       text_percent(h->blocked_ns, blocked_ns));
		append_who(s, h);
		g_string_append_c(s, '\n');
		/* an interrupt's name says as much as its stack */
		append_frames(s, p, h->user || !h->tid ? h->user : h->kernel, o);
		rest_ns -= MIN(h->blocked_ns, rest_ns);
	}
	if (holders->len > HOLDERS_SHOWN)
		g_string_append_printf(s, "     %-11s %5.1f%%  %u more, or not known\n", "",
				       text_percent(rest_ns, blocked_ns), holders->len - HOLDERS_SHOWN);
}

/* "     waited in    97.1%  write_audit (audit.c:27)" */
static void append_places(GString *s, const struct profile *p, const struct lock_row *r, const struct text_options *o)
{
	for (unsigned i = 0; i < r->places->len && i < PLACES_SHOWN; i++) {
		const struct lock_place *place = &g_array_index(r->places, struct lock_place, i);
		const struct frame *f = profile_get_frame(p, place->frame);
		g_autoptr(GString) label = g_string_new(NULL);

		label_append(label, f);
		label_append_line(label, f);
		g_string_append_printf(s, "     %-11s %5.1f%%  ", i ? "" : "waited in",
				       text_percent(place->blocked_ns, r->blocked_ns));
		text_safe_cut(s, label->str, text_room(o, 25));
		g_string_append_c(s, '\n');
	}
}

/* "     FUTEX_WAIT, private, at 0x55... in /usr/sbin/mariadbd" */
static void append_where(GString *s, const struct object *o)
{
	g_string_append(s, "     ");
	text_safe(s, o->operation);
	if (o->kind == OBJECT_KERNEL_LOCK) {	/* shared by all processes, and its address must not be disclosed */
		g_string_append_c(s, '\n');
		return;
	}
	g_string_append(s, o->is_private ? ", private" : ", shared");
	if (o->pid)
		g_string_append_printf(s, ", at 0x%" PRIx64, o->addr);
	if (*o->place && !object_is_gil(o)) {
		g_string_append(s, " in ");
		text_safe(s, o->place);
	}
	g_string_append_c(s, '\n');
}

/* "     count 12, mean 1.03 ms, max 2.20 ms, 3 threads of mariadbd; then runnable 12.3 us" */
static void append_numbers(GString *s, const struct lock_row *r)
{
	g_string_append_printf(s, "     count %s, mean %s, max %s", TEXT_COUNT(r->count),
			       TEXT_NS(r->count ? r->blocked_ns / r->count : 0), TEXT_NS(r->max_ns));
	g_string_append_printf(s, ", %" PRIu32 " thread%s", r->threads_cnt, r->threads_cnt == 1 ? "" : "s");
	if (*r->process) {
		g_string_append(s, " of ");
		text_safe(s, r->process);
	}
	g_string_append_printf(s, "; then runnable %s\n", TEXT_NS(r->runnable_ns));
}

static void append_row(GString *s, const struct profile *p, const struct lock_row *r, uint64_t whole_ns,
		       unsigned number, const struct text_options *o)
{
	g_autoptr(GString) name = g_string_new(NULL), head = g_string_new(NULL), numbers = g_string_new(NULL);

	lock_append_name(name, r->object);
	g_string_append_printf(head, "%3u. %s  %.1f%%  ", number, TEXT_NS(r->blocked_ns),
			       text_percent(r->blocked_ns, whole_ns));
	g_string_append_printf(s, "\n%s%s", text_bold(o), head->str);
	text_safe_cut(s, name->str, text_room(o, text_width(head->str)));
	g_string_append_printf(s, "%s\n", text_plain(o));
	append_numbers(numbers, r);
	append_where(numbers, r->object);
	text_fit(s, numbers->str, "       ", o);
	append_places(s, p, r, o);
	append_holders(s, p, r->holders, "held by", r->blocked_ns, o);
	append_holders(s, p, r->releasers, "released by", r->blocked_ns, o);
}

/* Rows of locks with holders, or of condition variables and the like; nothing if there are none. */
static void append_part(GString *s, const struct profile *p, const struct lock_table *t, bool held, const char *title,
			const struct text_options *o)
{
	uint64_t whole_ns = 0, rest_ns;
	unsigned cnt = 0, shown = 0;

	EACH_ROW(i, const struct lock_row, r, t->rows) {
		if (lock_is_held(r->object) != held)
			continue;
		whole_ns += r->blocked_ns;
		cnt++;
	}
	if (!cnt)
		return;
	text_section(s, o, "%s", title);
	g_string_append_printf(s, "%s for %u of them, %.1f%% of %s that threads slept\n", TEXT_NS(whole_ns),
			       cnt, text_percent(whole_ns, t->asleep_ns), TEXT_NS(t->asleep_ns));
	rest_ns = whole_ns;
	for (unsigned i = 0; i < t->rows->len && (!o->top || shown < o->top); i++) {
		const struct lock_row *r = &g_array_index(t->rows, struct lock_row, i);

		if (lock_is_held(r->object) != held)
			continue;
		append_row(s, p, r, whole_ns, ++shown, o);
		rest_ns -= r->blocked_ns;
	}
	if (shown < cnt)
		g_string_append_printf(s, "\n     (%u more: %s)\n", cnt - shown, TEXT_NS(rest_ns));
}

void locks_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options)
{
	struct lock_table *t = lock_table_new(p, selection);

	append_part(s, p, t, true, "Locks, by the time threads were blocked on them", options);
	append_part(s, p, t, false, "Conditions and the like that threads waited for", options);
	if (!t->rows->len)
		g_string_append(s, "\nNo wait for a lock.\n");
	else if (!p->info.has_wakers)
		g_string_append(s, "\nWho released them a recording with --wakers tells, too.\n");
	lock_table_free(t);
}
