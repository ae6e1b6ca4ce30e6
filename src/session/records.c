/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What arrives from the kernel: mapping events, and the records of the ring. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/proc/status.h"
#include "fold/fold.h"
#include "fold/windows.h"
#include "session/parts.h"
#include "supply/mmap_events.h"
#include "supply/tables.h"
#include "symbolize/symbolize.h"
#include "offcpu.skel.h"

/* Records taken from the ring before the rest of the program gets a turn. */
#define RECORDS_A_ROUND 16384
/* Maximal time of that: some records cause reading files. */
#define ROUND_NS 20000000
#define RECORDS_A_LOOK 64	/* records between two looks at the clock */

/* Each run sends 32 accounts, and there is room for 524,288. */
#define DEFERRED_RUNS 100000

/* Processes whose mappings are read at once: some 10 ms. */
#define PREFETCH_A_ROUND 128
/* Maximal length of their queue; without mapping events a storm of execs would grow it without limit. */
#define PREFETCH_MAX 65536
#define YOUNG_NS 25000000	/* at the next drain most short-lived processes have ended */

/* A program that the unwinder asked for, before tables_want(). */
struct young_program {
	uint32_t pid;
	uint64_t space, due_ns;
};

/* Most processes of a build or script end before their mappings are read: their tables serve the next ones. */
struct mapper {
	struct session *session;
	uint32_t pid;
};

static bool note_file(const struct maps_line *line, void *mapper)
{
	const struct mapper *m = mapper;

	if (m->session->tables && line->path[0] == '/')
		tables_note_file(m->session->tables, m->pid, line);
	return true;
}

/* Most mapping events are of unrelated processes: only those count that the unwinder asks for. */
static bool has_chosen(const struct collect_options *o)
{
	return o->pids || o->tids || o->cgroup_ids || o->comm_glob;
}

static void note_mmap(void *data, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	struct session *s = data;
	const struct maps_line line = { .start = m->start, .end = m->start + m->len, .pgoff = m->pgoff,
					.dev_major = m->dev_major, .dev_minor = m->dev_minor, .inode = m->inode,
					.is_exec = true, .path = m->path };

	if (!has_chosen(s->options))
		note_file(&line, &(struct mapper){ s, pid });
	if (symbolizer_note_mmap(s->symbolizer, pid, ts_ns, m) && s->start_ns && ts_ns >= s->start_ns) {
		s->replaced_cnt++;
		s->replaced_ns += s->mapped_ns > ts_ns ? s->mapped_ns - ts_ns : 0;
	}
	/* All events of this drain have happened already: reading the mappings once is enough. */
	if (s->tables && pid != s->mmap_pid && pid_set_has(s->with_tables, pid))
		tables_note_mmap(s->tables, pid);
	s->mmap_pid = pid;
}

static void note_exec(void *data, uint32_t pid, uint64_t ts_ns, const char *name)
{
	struct session *s = data;

	symbolizer_note_exec(s->symbolizer, pid, ts_ns, name);
}

static void note_fork(void *data, uint32_t parent, uint32_t pid, uint64_t ts_ns)
{
	struct session *s = data;

	symbolizer_note_fork(s->symbolizer, parent, pid, ts_ns);
}

static void note_exit(void *data, uint32_t pid, uint64_t ts_ns)
{
	struct session *s = data;

	symbolizer_note_exit(s->symbolizer, pid, ts_ns);
	if (s->tables && pid_set_has(s->with_tables, pid))
		tables_note_exit(s->tables, pid);
}

void session_take_mappings(struct session *s)
{
	const struct mmap_events_sink sink = { note_mmap, note_exec, note_fork, note_exit, s };

	s->mapped_ns = clock_ns(CLOCK_MONOTONIC);
	if (!s->mmap_events)
		return;
	s->mmap_pid = 0;
	mmap_events_drain(s->mmap_events, &sink);
	uint64_t lost_cnt = mmap_events_lost_cnt(s->mmap_events);
	if (s->tables && lost_cnt != s->mmap_lost_cnt)
		tables_note_loss(s->tables);
	s->mmap_lost_cnt = lost_cnt;
}

static void queue_prefetch(struct session *s, uint32_t pid)
{
	if (g_queue_get_length(&s->to_prefetch) >= PREFETCH_MAX)
		g_queue_pop_head(&s->to_prefetch);	/* has ended by now, or is read when its first stack is named */
	g_queue_push_tail(&s->to_prefetch, GUINT_TO_POINTER(pid));
}

void session_queue_prefetch(struct session *s)
{
	const GArray *pids = s->options->pids;
	g_autoptr(GArray) all = NULL;

	if (!pids && !s->tables && s->skel->rodata->cfg.want_ustack)
		pids = all = process_ids();
	for (guint i = 0; pids && i < pids->len; i++)
		queue_prefetch(s, g_array_index(pids, uint32_t, i));
}

void session_prefetch_mappings(struct session *s)
{
	unsigned read_cnt = 0;

	/*
	 * Processes covered by mapping events, which includes all that begin meanwhile, need no reading: so the queue
	 * ends in any storm.
	 */
	while (read_cnt < PREFETCH_A_ROUND && !g_queue_is_empty(&s->to_prefetch))
		read_cnt +=
			symbolizer_foresee_user(s->symbolizer, GPOINTER_TO_UINT(g_queue_pop_head(&s->to_prefetch)));
}

static bool take_file(const struct maps_line *line, void *files)
{
	const struct maps_file file = maps_file_of(line);

	if (line->inode && line->path[0] == '/' && !tables_are_not_all(line->path))
		g_array_append_val((GArray *)files, file);
	else if (strcmp(line->path, "[vdso]") != 0)
		return false;
	return true;
}

/* files: NULL, or passed to tables_want(), which takes them over. */
static void want_tables(struct session *s, uint32_t pid, uint64_t space, GArray *files)
{
	pid_set_add(s->with_tables, pid);
	tables_want(s->tables, pid, space, files);
}

static void note_asked(struct session *s, uint32_t pid)
{
	if (has_chosen(s->options))
		symbolizer_exec_files(s->symbolizer, pid, note_file, &(struct mapper){ s, pid });
}

/* It may end in a moment, like a compiler's helpers: nothing is done for it until it has lived for a while. */
static void want_later(struct session *s, const struct offcpu_rec_space *want)
{
	const struct young_program young = { want->pid, want->space, clock_ns(CLOCK_MONOTONIC) + YOUNG_NS };

	note_asked(s, want->pid);
	g_queue_push_tail(&s->young, g_memdup2(&young, sizeof(young)));
}

void session_want_young(struct session *s)
{
	const struct young_program *first;

	while ((first = g_queue_peek_head(&s->young)) && first->due_ns <= s->mapped_ns) {
		g_autofree struct young_program *young = g_queue_pop_head(&s->young);
		GArray *files;

		if (symbolizer_has_ended(s->symbolizer, young->pid) && process_has_ended(young->pid)) {
			note_asked(s, young->pid);	/* it has mapped more since */
			continue;
		}
		files = g_array_new(FALSE, FALSE, sizeof(struct maps_file));
		if (!symbolizer_exec_files(s->symbolizer, young->pid, take_file, files))
			g_clear_pointer(&files, g_array_unref);
		want_tables(s, young->pid, young->space, files);
	}
}

static bool is_late(const struct session *s)
{
	return s->records % RECORDS_A_LOOK == 0 && clock_ns(CLOCK_MONOTONIC) - s->round_ns > ROUND_NS;
}

/*
 * Events and histograms are passed on as they come, perhaps for weeks. Accounts at the end are not needed for events,
 * and for histograms only those of threads with open waits.
 */
static bool keeps_account(enum collect_mode mode, const struct offcpu_rec_thread *rec, size_t size)
{
	if (mode == COLLECT_WAITS)
		return true;
	return mode != COLLECT_EVENTS && size >= sizeof(*rec) && rec->end == OFFCPU_END_WINDOW;
}

/* Sends the open wait in a thread's account at the window's end. */
static void tell_open_wait(struct session *s, const struct offcpu_rec_thread *rec)
{
	struct offcpu_rec_event e = {
		.type = OFFCPU_REC_EVENT, .end_ns = rec->to_ns, .pid = rec->pid, .tid = rec->tid,
		.blocked_ns = rec->open_blocked_ns, .runnable_ns = rec->open_runnable_ns,
		.preempted_ns = rec->open_preempted_ns, .ustack = rec->open_ustack, .kstack = rec->open_kstack,
		.waker = rec->open_waker, .object = rec->open_object, .state = rec->open_state,
		.is_throttled = (rec->open_flags & OFFCPU_KEY_THROTTLED) != 0,
		.open_at_start = (rec->open_flags & OFFCPU_OPEN_AT_START) != 0,
		.is_kernel = (rec->flags & OFFCPU_THREAD_KERNEL) != 0, .open_at_end = 1,
	};

	memcpy(e.comm, rec->comm, sizeof(e.comm));
	s->options->on_event(&e, s->options->callback_data);
}

void session_fold_thread(const struct offcpu_rec_thread *rec, void *session)
{
	struct session *s = session;

	fold_thread(s->fold, rec, sizeof(*rec));
}

static void take_thread(struct session *s, const struct offcpu_rec_thread *rec, size_t size)
{
	if (s->windows && size >= sizeof(*rec))
		fold_windows_take(s->windows, rec, session_fold_thread, s);
	else
		fold_thread(s->fold, rec, size);
}

static void take_still(struct session *s, const struct offcpu_rec_still *rec, size_t size)
{
	if (!s->windows || size < sizeof(*rec) || !fold_windows_take_still(s->windows, rec, session_fold_thread, s))
		profile_add_loss(s->profile, "unknown_records",
				 "threads that slept on since a cut which did not tell of them", 1, 0);
}

int session_take_record(void *data, void *record, size_t size)
{
	struct session *s = data;
	uint32_t type = size >= sizeof(type) ? *(uint32_t *)record : 0;

	s->records++;
	switch (type) {
	case OFFCPU_REC_STACK:
		/* More stacks arrive while others are named: their mappings must be known first. */
		if (size >= offsetof(struct offcpu_rec_stack, ip) &&
		    ((const struct offcpu_rec_stack *)record)->ts_ns > s->mapped_ns)
			session_take_mappings(s);
		fold_stack(s->fold, record, size);
		break;
	case OFFCPU_REC_SPACE:
		if (s->tables && size >= sizeof(struct offcpu_rec_space)) {
			const struct offcpu_rec_space *want = record;

			s->asked_ns = clock_ns(CLOCK_MONOTONIC);
			queue_prefetch(s, want->pid);
			if (s->start_ns && !s->options->command_pid)
				want_later(s, want);
			else
				want_tables(s, want->pid, want->space, NULL);
		}
		break;
	case OFFCPU_REC_SLEEP_PATH: fold_sleep_path(s->fold, record, size); break;
	case OFFCPU_REC_THREAD:
		if (keeps_account(s->options->mode, record, size))
			take_thread(s, record, size);
		else if (s->options->wants_open && size >= sizeof(struct offcpu_rec_thread) &&
			 ((const struct offcpu_rec_thread *)record)->open_state)
			tell_open_wait(s, record);
		break;
	case OFFCPU_REC_STILL: take_still(s, record, size); break;
	case OFFCPU_REC_EVENT:
		if (s->options->on_event && size >= sizeof(struct offcpu_rec_event))
			s->options->on_event(record, s->options->callback_data);
		break;
	default: probes_take(s, type, record, size); break;
	}
	/* A negative result ends this round; the record is taken. */
	return s->records % RECORDS_A_ROUND == 0 || is_late(s) ? -EAGAIN : 0;
}

static void empty_ring(struct session *s)
{
	while (ring_buffer__consume(s->ring) == -EAGAIN)
		;
}

/* False: there are none, or they cannot be read. */
static bool send_deferred(struct session *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	/* Waits for a CPU that is just deferring an account. */
	return (s->skel->bss->parked || s->skel->bss->parked_asked) &&
	       !bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.send_parked), &opts);
}

bool session_take_deferred(struct session *s)
{
	const struct offcpu_bpf__bss *bss = s->skel->bss;

	for (unsigned i = 0; i < DEFERRED_RUNS && send_deferred(s); i++)
		empty_ring(s);
	return !bss->parked && !bss->parked_asked;
}

bool session_take_round(struct session *s)
{
	bool is_more = ring_buffer__consume(s->ring) == -EAGAIN;

	for (unsigned i = 0; i < DEFERRED_RUNS && !is_more && send_deferred(s); i++)
		is_more = ring_buffer__consume(s->ring) == -EAGAIN;
	return is_more;
}

void session_empty_ring(struct session *s)
{
	empty_ring(s);
	session_take_deferred(s);
}
