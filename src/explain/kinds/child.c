/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define THERE_BYTES 64

/* What a child waits for from outside: a single one that sleeps or runs as the recording ends says little of others. */
static bool is_held_up(const struct profile_limit *l)
{
	char there[THERE_BYTES];
	struct limit_child c;

	return limit_child_read(l, &c, there, sizeof(there)) &&
	       (c.does == CHILD_NETWORK || c.does == CHILD_FILE_LOCK || c.does == CHILD_DISK ||
		c.does == CHILD_STOPPED || c.does == CHILD_PIPE_FULL || c.does == CHILD_OWN_PIPE_FULL ||
		c.does == CHILD_OWN_PIPE || c.does == CHILD_TERMINAL);
}

/* The row waits for room in a pipe: its reader may be any program. */
static bool is_for_reader(const struct findings *f, const struct finding *row)
{
	return finding_is_by(f, row, "pipe-write");
}

/* The child that a wait is for which was not over as the recording ended; NULL: it was over, or nothing is known. */
static const struct profile_limit *child_of_wait(const struct findings *f, const struct finding *row, uint32_t wait)
{
	const struct wait *w = profile_wait(f->profile, wait);
	const struct object *o = profile_wait_object(f->profile, w);
	const struct profile_limit *l =
		w->flags & WAIT_OPEN_AT_END
			? profile_find_limit(f->profile, LIMIT_CHILD, profile_thread(f->profile, w->thread)->pid, 0)
			: NULL;
	struct limit_child c;
	char there[1];

	if (is_for_reader(f, row) && limit_child_read(l, &c, there, sizeof(there)) && (!o || o->pid != c.pid))
		return NULL;
	return l;
}

/* Of the longest wait, else of others of several processes, or of one child after another. */
bool child_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	if ((row->reason != REASON_CHILD_EXIT && row->reason != REASON_PIPE) || ends_are_told(f, row))
		return false;
	*ret = (struct finding_limit){ .limit = child_of_wait(f, row, row->wait) };
	for (uint32_t i = 0; i < f->profile->waits->len && !ret->limit; i++) {
		const struct profile_limit *l = f->blocked_in[i] == row->id ? child_of_wait(f, row, i) : NULL;

		if (is_held_up(l))
			ret->limit = l;
	}
	return ret->limit;
}

static const char *const says[CHILD_DOES_COUNT] = {
	[CHILD_RUNS] = "runs",
	[CHILD_DISK] = "waits for its disk, or another call that no signal ends",
	[CHILD_STOPPED] = "is stopped",
	[CHILD_WAITS] = "waits for children itself",
	[CHILD_SLEEPS] = "sleeps until a timer",
	[CHILD_LOCK] = "waits for a lock, or for another thread of its own",
	[CHILD_PIPE] = "waits for data in a pipe",
	[CHILD_PIPE_FULL] = "waits for room in a pipe",
	[CHILD_OWN_PIPE] = "waits for data in a pipe that this one writes",
	[CHILD_OWN_PIPE_FULL] = "waits for room in a pipe that this one reads",
	[CHILD_FILE_LOCK] = "waits for a lock on a file",
	[CHILD_TERMINAL] = "waits for a terminal",
	[CHILD_NETWORK] = "waits for ",
	[CHILD_EVENTS] = "waits for events, or at a descriptor",
	[CHILD_OTHER] = "sleeps",
	[CHILD_SEVERAL] = "and others had not ended",
	[CHILD_FIFO] = "waits until the other end of a named pipe is opened",
};

void child_append_does(GString *s, enum child_does does, const char *where)
{
	g_string_append(s, says[does]);
	if (!where)
		return;
	g_string_append(s, does == CHILD_NETWORK ? "" : ", ");
	text_safe_cut(s, where, FINDING_NAME_COLUMNS);
}

/* "child curl/4712 waits for 127.0.0.1:80"; returns its number if it waits for a file lock, else 0 */
static uint32_t append_child(GString *s, const struct profile_limit *l, const char *role)
{
	char there[THERE_BYTES];
	struct limit_child c;

	if (!limit_child_read(l, &c, there, sizeof(there)))
		return 0;
	g_string_append_printf(s, "%s ", role);
	text_safe_cut(s, c.name, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, "/%" PRIu32 " ", c.pid);
	child_append_does(s, c.does, c.does == CHILD_NETWORK ? c.there ?: "a connection" : NULL);
	if (c.does == CHILD_NETWORK && c.silent_ns)
		g_string_append_printf(s, ", from where nothing had come for %s", TEXT_NS(c.silent_ns));
	return c.does == CHILD_FILE_LOCK ? c.pid : 0;
}

/* ", which backup.sh/4711 has, whose child curl/4712 waits for 127.0.0.1:80" */
static void append_holder(GString *s, const struct findings *f, uint32_t child)
{
	const uint32_t holder = profile_file_lock_holder(f->profile, child);
	const char *name = holder ? finding_process_name(f, holder) : NULL;
	const struct profile_limit *l = profile_find_limit(f->profile, LIMIT_CHILD, holder, 0);

	if (!holder)
		return;
	g_string_append(s, ", which ");
	text_safe_cut(s, name ? name : "process", FINDING_NAME_COLUMNS);
	g_string_append_printf(s, "%c%" PRIu32 " has", name ? '/' : ' ', holder);
	if (!l)
		return;
	g_string_append(s, ", whose ");
	append_child(s, l, "child");
}

void child_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;
	struct limit_child c;
	char there[1];

	if (!limit_child_read(l, &c, there, sizeof(there)))
		return;
	g_string_append(s, "; as the recording ended its ");
	const uint32_t at_lock = append_child(s, l, is_for_reader(f, row) ? "reader" : "child");

	if (at_lock)
		append_holder(s, f, at_lock);
}

static const char *advice_of_work(enum child_does does)
{
	switch (does) {
	case CHILD_RUNS:
		return "The child has work: a CPU profile of it tells more.";
	case CHILD_SLEEPS:
	case CHILD_EVENTS:
	case CHILD_OTHER:
		return "A supervisor waits so while its child lives, which is meant. Else see why the child pauses: record it, too (its number "
		       "with -p, or --follow from the start).";
	case CHILD_SEVERAL:
	case CHILD_WAITS:
		return CHILDREN_ADVICE;
	default:
		return "Look at what that child does: record it, too (its number with -p, or --follow from the start).";
	}
}

const char *child_advice(const struct findings *f, const struct finding *row)
{
	char there[THERE_BYTES];
	struct limit_child c;

	if (!limit_child_read(row->limit.limit, &c, there, sizeof(there)))
		return NULL;
	if (limit_child_is_unanswered(f->profile, &c))
		return "The server there does not answer that child: look at it. A time limit bounds the wait (curl --max-time, "
		       "`timeout 60 COMMAND`).";
	if (c.does == CHILD_SLEEPS && is_for_reader(f, row))
		return "Its reader pauses instead of reading, as a logger that cannot write does (a full disk: df): see its own messages, and "
		       "what it tries (record it, too).";
	switch (c.does) {
	case CHILD_STOPPED:
		return STOPPED_ADVICE;
	case CHILD_TERMINAL:
		return "Somebody has to type there, or read: give the child its input otherwise (an option, </dev/null).";
	case CHILD_FIFO:
		return "It goes on when somebody opens the other end of that named pipe: start who should, or end it.";
	case CHILD_OWN_PIPE_FULL:
		return "Neither goes on, unless another thread reads that pipe: read all that the child prints before you wait for its end "
		       "(communicate(), capture_output), or send it to a file.";
	case CHILD_OWN_PIPE:
		return "Neither goes on, unless another thread writes there: close the child's input before you wait for its end "
		       "(communicate()), or give it none (</dev/null).";
	case CHILD_FILE_LOCK:
		return profile_file_lock_holder(f->profile, c.pid) ?
			       "Look at what that process does: others go on when it ends, or lets go. A time limit bounds the wait (flock -w, -n)." :
			       "Another process has that lock: /proc/locks tells which (lslocks).";
	default:
		return row->reason == REASON_PIPE ? NULL : advice_of_work(c.does);
	}
}
