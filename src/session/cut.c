/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The end of a window at which the next one begins. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/prctl.h>

#include "attach/error.h"
#include "attach/maps.h"
#include "attach/parallel_load.h"
#include "fold/fold.h"
#include "fold/windows.h"
#include "session/parts.h"
#include "offcpu.skel.h"

/* The edge is announced this much ahead, so that each CPU sees it in time. */
#define EDGE_AHEAD_NS 1000000

/* Symbols of programs that were not used in the last two windows are kept up to this size. */
#define SYMBOLS_MAX_BYTES ((size_t)8 << 20)

/* After this many new rows of what crossed it is forgotten; with those of two more turns, some 10 MiB. */
#define CROSSED_NEW_MAX 16384

/*
 * Announces the edge: from then on waits are summed in the other half, and accounts are sent. False: it was announced
 * late.
 */
static bool name_edge(struct session *s, uint64_t *ret_edge_ns)
{
	bool old = s->skel->data->half_edge & 1;
	uint64_t edge_ns;

	s->skel->data->is_cut = 1;
	__sync_synchronize();
	edge_ns = ((clock_ns(CLOCK_MONOTONIC) + EDGE_AHEAD_NS) & ~UINT64_C(1)) | !old;
	s->skel->data->half_edge = edge_ns;
	s->skel->data->window.stop_ns = edge_ns;
	__sync_synchronize();
	*ret_edge_ns = edge_ns;
	return clock_ns(CLOCK_MONOTONIC) < edge_ns;
}

static void sleep_until_edge(uint64_t edge_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	while (now < edge_ns) {
		g_usleep((edge_ns - now) / 1000 + 1);
		now = clock_ns(CLOCK_MONOTONIC);
	}
}

/* Before a cut: if much has crossed, the programs are to forget it, each cache in turn (bpf/cut.bpf.h). */
static bool begin_forgetting(struct session *s)
{
	if (!s->options->forgets_always && fold_crossed_cnt(s->fold) <= s->crossed_kept + CROSSED_NEW_MAX)
		return false;
	s->skel->data->crossed_turn++;
	s->skel->data->forgets_crossed = 1;
	return true;
}

/* The next window: no account is sent as of the edge any more. */
static void open_next(struct session *s, uint64_t edge_ns)
{
	s->skel->data->window.cut_ns = edge_ns;
	__sync_synchronize();
	s->skel->data->window.stop_ns = UINT64_MAX;
}

static void let_caller(const struct session *s)
{
	if (s->options->on_pause)
		s->options->on_pause(s->options->callback_data);
}

/* All sums and accounts up to the edge. */
static bool read_window(struct session *s, uint64_t edge_ns, GError **error)
{
	bool old = !(edge_ns & 1);
	uint64_t entries = s->skel->bss->wait_entries;
	int err = 0;

	if (!visit_cpus(s->skel))
		err = -EIO;
	probes_cut(s);
	s->skel->bss->wait_entries = 0;
	session_take_mappings(s);
	session_empty_ring(s);
	let_caller(s);
	if (!err) {
		session_read_waits(s, old, entries, false);
		let_caller(s);
		err = session_iterate(parallel_load_link(s->cutting), session_empty_ring, s);
	}
	let_caller(s);
	session_empty_ring(s);
	if (!err)
		session_await_dying(s);
	if (err)
		attach_set_error(error, err, "cut the window");
	return !err;
}

static void tell_window(struct session *s, uint64_t edge_ns)
{
	struct profile_info *info = &s->profile->info;

	info->duration_ns = edge_ns - s->start_ns;
	s->stop_ns = edge_ns;
	info->tracer_stop_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + opener_cpu_ns();
	session_finish_profile(s);
	s->has_window = true;
}

const struct profile *session_cut(struct session *s, GError **error)
{
	uint64_t edge_ns;
	bool in_time, forgets, is_read;
	int err = s->windows ? parallel_load_wait(s->cutting) : -EINVAL;

	if (err || !parallel_load_link(s->cutting)) {
		attach_set_load_error(error, err ? err : -errno);
		return NULL;
	}
	session_count_programs(s, parallel_load_object(s->cutting));
	session_begin_window(s);
	forgets = begin_forgetting(s);
	in_time = name_edge(s, &edge_ns);
	fold_windows_cut(s->windows, edge_ns);
	fold_cut(s->fold, edge_ns);
	sleep_until_edge(edge_ns);
	is_read = read_window(s, edge_ns, error);
	s->skel->data->forgets_crossed = 0;
	open_next(s, edge_ns);
	if (!is_read)
		return NULL;
	s->has_forgotten = forgets;
	if (!in_time)
		profile_add_loss(s->profile, "late_cut",
				 "a cut was late: what some threads did before it is told in the next window", 1, 0);
	s->swapped_ns = edge_ns;
	tell_window(s, edge_ns);
	return s->profile;
}

void session_tell_chains(struct session *s, bool tells)
{
	volatile __u64 *since_ns = &s->skel->data->chains_since_ns;

	if (s->skel->rodata->cfg.chain_depth && tells != (*since_ns != 0))
		*since_ns = tells ? clock_ns(CLOCK_MONOTONIC) : 0;
}

struct profile *session_keep_window(struct session *s)
{
	return profile_take_rows(s->profile);
}

void session_begin_window(struct session *s)
{
	struct profile_info *info = &s->profile->info;

	if (!s->has_window)
		return;
	s->has_window = false;
	s->start_unix_ns += s->stop_ns - s->start_ns;
	s->start_ns = s->stop_ns;
	info->start_ns = s->start_ns;
	info->tracer_start_cpu_ns = info->tracer_stop_cpu_ns;
	info->sampling.start_ns = info->sampling.max_ns = s->skel->data->scale_ns;
	fold_begin_window(s->fold);
	if (s->has_forgotten) {
		fold_forget(s->fold, s->options->frees_windows);
		s->crossed_kept = fold_crossed_cnt(s->fold);
		s->has_forgotten = false;
	}
	symbolizer_next_turn(s->symbolizer, s->start_ns, SYMBOLS_MAX_BYTES);
	fold_windows_next(s->windows, session_fold_thread, s);
}
