/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Waits as lines of text or JSON. */

#include "features/blame/analysis.h"
#include "analyse/label.h"
#include "features/wakers/analysis.h"
#include "features/io/cmd.h"
#include "cmd/events/events.h"
#include "render/json/write.h"
#include "explain/text.h"

#define HELD_SHOWN 4	/* per wait */

/* "mariadbd[12/10]"; the name is untrusted and must not control the terminal. */
static void append_who(GString *line, const char *comm, uint32_t tid, uint32_t pid)
{
	char name[OFFCPU_COMM_LEN + 1];

	text_safe(line, wait_event_comm(comm, name));
	g_string_append_printf(line, "[%u/%u]", tid, pid);
}

/* Left-aligned in a column; longer text shifts the rest. */
static void append_cell(GString *line, const GString *cell, unsigned width)
{
	g_string_append_printf(line, "%-*s ", (int)width, cell->str);
}

/* "hog[12/10] 3.90 ms": who and how long. */
static void append_held(GString *line, const struct held *h)
{
	if (h->kind != BLAME_THREAD) {
		g_string_append(line, h->kind == BLAME_IDLE ? "nobody (idle)" : "nobody (throttled)");
	} else if (h->tid) {
		append_who(line, h->comm, h->tid, h->pid);
	} else {
		text_safe(line, h->comm);
		g_string_append_printf(line, "[*/%u]", h->pid);
	}
	g_string_append_printf(line, " %s", TEXT_NS(h->ns));
}

/* Who had the CPU while the thread waited for it; adds up to DELAY. */
static void append_all_held(GString *s, const GArray *held, uint64_t unknown_ns)
{
	g_autoptr(GString) line = g_string_new("                CPU held by ");
	const gsize nothing = line->len;
	uint64_t rest_ns = 0;

	EACH_ROW(i, const struct held, h, held) {
		if (i >= HELD_SHOWN && held->len > HELD_SHOWN + 1) {
			rest_ns += h->ns;
			continue;
		}
		g_string_append(line, line->len > nothing ? ", " : "");
		append_held(line, h);
	}
	if (rest_ns)
		g_string_append_printf(line, ", %u others %s", held->len - HELD_SHOWN, TEXT_NS(rest_ns));
	if (unknown_ns) {
		g_string_append(line, line->len > nothing ? ", unknown " : "unknown ");
		text_duration(line, unknown_ns);
	}
	if (line->len > nothing)
		g_string_append_printf(s, "%s\n", line->str);
}

static void begin_text(struct events *ev)
{
	g_string_append_printf(ev->text, "%-14s %3s %-24s %2s %12s %12s %12s  ", "TIME(s)", "CPU", "COMM[TID/PID]", "ST",
			       "WAIT(ms)", "DELAY(ms)", "RUN(ms)");
	if (ev->who_preempted)
		g_string_append_printf(ev->text, "%-24s ", "PREEMPTED BY");
	if (ev->wakers)
		g_string_append_printf(ev->text, "%-24s ", "WOKEN BY");
	g_string_append_printf(ev->text, "%-16s WHERE\n", "REASON");
}

/* The request that it was for, as far as known. */
static void append_request(GString *s, const struct wait_event *e)
{
	struct trace_text of;

	if (e->route) {
		g_string_append(s, ", in ");
		text_safe(s, e->route);
	}
	if (wait_event_trace(e->rec, &of))
		g_string_append_printf(s, ", trace %s, span %s", of.trace, of.span);
}

static void append_line(struct events *ev, const struct wait_event *e)
{
	const struct offcpu_rec_event *rec = e->rec;
	g_autoptr(GString) cell = g_string_new(NULL);
	GString *s = ev->text;

	g_string_append_printf(s, "%7llu.%06llu %3u ", (unsigned long long)(rec->end_ns / 1000000000),
			       (unsigned long long)(rec->end_ns / 1000 % 1000000), rec->cpu);
	append_who(cell, rec->comm, rec->tid, rec->pid);
	append_cell(s, cell, 24);
	g_string_append_printf(s, "%2c %12.3f %12.3f %12.3f  ", rec->state, (double)rec->blocked_ns / 1e6,
			       (double)(rec->runnable_ns + rec->preempted_ns) / 1e6, (double)rec->ran_ns / 1e6);
	if (ev->who_preempted) {
		g_string_assign(cell, rec->by_comm[0] ? "" : "-");
		if (rec->by_comm[0])
			append_who(cell, rec->by_comm, rec->by_tid, rec->by_pid);
		append_cell(s, cell, 24);
	}
	if (ev->wakers) {
		g_string_assign(cell, e->waker ? "" : "-");
		if (e->waker && e->waker->irq)
			text_safe(cell, e->waker->irq);
		else if (e->waker)
			append_who(cell, e->waker->comm, e->waker->tid, e->waker->pid);
		append_cell(s, cell, 24);
	}
	g_string_append_printf(s, "%-16s ", reason_name(e->reason));
	text_safe(s, e->where);
	if (e->object) {
		g_string_append(s, " for ");
		text_safe(s, e->object);
	}
	append_request(s, e);
	g_string_append_c(s, '\n');
}

static void wait_text(struct events *ev, const struct offcpu_rec_event *rec)
{
	uint64_t unknown_ns = 0;
	g_autoptr(GArray) held = ev->blame ? wait_blame_take(ev->blame, rec, &unknown_ns) : NULL;
	struct wait_event e;
	struct wait stacks;

	event_facts_find(ev->facts, rec, &e);
	append_line(ev, &e);
	if (held)
		append_all_held(ev->text, held, unknown_ns);
	if (!ev->stacks)
		return;
	session_event_wait(ev->run->session, rec, &stacks);
	stack_text(ev->text, session_profile(ev->run->session), stacks.kernel, 16);
	stack_text(ev->text, session_profile(ev->run->session), stacks.user, 16);
}

static void append_held_json(struct json *j, const GArray *held, uint64_t unknown_ns)
{
	json_member_array(j, "held_by");
	EACH_ROW(i, const struct held, h, held) {
		json_object_begin(j);
		json_member_string(j, "kind", blame_kind_id((uint8_t)h->kind));
		if (h->kind == BLAME_THREAD) {
			JSON(j, "comm", h->comm, "pid", h->pid, "tid", h->tid);
		}
		JSON(j, "time_ns", h->ns, "stretches", h->stretch_cnt);
		json_object_end(j);
	}
	if (unknown_ns) {
		JSON_OBJECT(j, "kind", blame_kind_id(BLAME_UNKNOWN), "time_ns", unknown_ns);
	}
	json_array_end(j);
}

static void append_waker_json(struct json *j, const struct waker *waker)
{
	json_key(j, "waker");
	if (!waker) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	JSON(j, "name", waker_name(waker), "interrupt", (bool)(waker->irq != NULL), "pid", waker->pid);
	json_member_uint(j, "tid", waker->tid);
	json_object_end(j);
}

static void append_stack_json(struct json *j, const char *key, const struct profile *p, uint32_t node)
{
	g_autoptr(GString) label = g_string_new(NULL);

	json_member_array(j, key);
	for (; node; node = profile_get_node(p, node)->parent) {
		g_string_truncate(label, 0);
		label_append(label, profile_get_frame(p, profile_get_node(p, node)->frame));
		json_string(j, label->str);
	}
	json_array_end(j);
}

static void append_json(struct json *j, const struct wait_event *e)
{
	const struct offcpu_rec_event *rec = e->rec;
	const char state[2] = { (char)rec->state, 0 };
	g_autoptr(GString) at = g_string_new(NULL);
	char name[OFFCPU_COMM_LEN + 1];
	struct trace_text of;

	text_safe(at, e->where);
	JSON_UINTS(j, rec, end_ns, cpu, pid, tid);
	JSON(j, "comm", wait_event_comm(rec->comm, name), "state", state, "open_at_start", (bool)rec->open_at_start);
	JSON_UINTS(j, rec, blocked_ns, runnable_ns, preempted_ns, ran_ns, by_pid, by_tid);
	json_member_string(j, "by_comm", rec->by_comm[0] ? wait_event_comm(rec->by_comm, name) : NULL);
	JSON(j, "reason", reason_name(e->reason), "where", at->str);
	if (e->route)
		json_member_string(j, "route", e->route);
	if (wait_event_trace(rec, &of)) {
		JSON(j, "trace_id", (const char *)of.trace, "span_id", (const char *)of.span);
	}
}

static void wait_json(struct events *ev, const struct offcpu_rec_event *rec)
{
	const struct collect_options *o = &ev->run->target->collect;
	uint64_t unknown_ns = 0;
	g_autoptr(GArray) held = ev->blame ? wait_blame_take(ev->blame, rec, &unknown_ns) : NULL;
	struct wait_event e;
	struct wait stacks;
	struct json j;

	event_facts_find(ev->facts, rec, &e);
	json_begin(&j, ev->text);
	append_json(&j, &e);
	if (o->want_objects)
		json_member_string(&j, "object", e.object);
	if (ev->wakers)
		append_waker_json(&j, e.waker);
	if (held)
		append_held_json(&j, held, unknown_ns);
	if (ev->stacks) {
		session_event_wait(ev->run->session, rec, &stacks);
		append_stack_json(&j, "kernel_stack", session_profile(ev->run->session), stacks.kernel);
		append_stack_json(&j, "user_stack", session_profile(ev->run->session), stacks.user);
	}
	json_object_end(&j);
	g_string_append_c(ev->text, '\n');
}

/* Called also without events: a closed pipe ends the run, as in `offcpu events | head`. */
static void tick(struct events *ev)
{
	events_put(ev, ev->text->str, ev->text->len);
	g_string_truncate(ev->text, 0);
}

static void end(struct events *ev, struct profile *p)
{
	tick(ev);
}

const struct event_format event_text = {
	.name = "text", .begin = begin_text, .wait = wait_text, .tick = tick, .end = end,
};
const struct event_format event_json = { .name = "json", .wait = wait_json, .tick = tick, .end = end };
