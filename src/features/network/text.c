/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* For the list of objects: how the waits for TCP sockets were spent. */
#include "analyse/locks.h"
#include "explain/limits.h"
#include "explain/text.h"
#include "render/text/text.h"

/* Is the object in the list? */
static bool is_shown(const struct top *top, unsigned shown, const struct object *o)
{
	g_autoptr(GString) label = g_string_new(NULL);

	object_append_label(label, o);
	for (unsigned i = 0; i < shown; i++)
		if (g_str_equal(g_array_index(top->rows, struct top_row, i).name, label->str))
			return true;
	return false;
}

static void append_rtt(GString *s, uint64_t us)
{
	if (us)
		text_duration_cell(s, us * 1000, 9);
	else
		g_string_append_printf(s, "%9s", "-");
}

static void append_tcp_row(GString *s, const struct profile *p, const struct tcp_wait *w, const struct text_options *o)
{
	const struct tcp_shares t = tcp_shares_of(p, w);
	g_autoptr(GString) resent = g_string_new(NULL);

	text_duration_cell(s, t.all_ns, 9);
	append_rtt(s, t.rtt_us);
	text_thousands(resent, t.resent);
	text_right(s, resent->str, 8);
	for (unsigned i = 0; i < TCP_SHARE_COUNT; i++)
		g_string_append_printf(s, "%8.0f%%", text_percent(t.ns[i], t.all_ns));
	g_string_append_printf(s, "  %s ", tcp_wait_direction_text(t.direction));
	text_safe_cut(s, profile_get_object(p, w->object)->name, text_room(o, 81));
	g_string_append_c(s, '\n');
}

void text_tcp_waits(GString *s, const struct profile *p, const struct top *top, unsigned shown,
		    const struct text_options *o)
{
	bool has_head = false;

	EACH_ROW(i, const struct tcp_wait, w, p->tcp_waits) {
		if (!is_shown(top, shown, profile_get_object(p, w->object)))
			continue;
		if (!has_head) {
			text_section(s, o, "TCP: whose time these waits were");
			g_string_append_printf(s, "%s%9s%9s%8s%9s%9s%9s%9s%9s  %s%s\n", text_dim(o), "blocked", "RTT", "resent",
					       "peer", "network", "silent", "either", "unknown", "to do what, where", text_plain(o));
		}
		has_head = true;
		append_tcp_row(s, p, w, o);
	}
}
