/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "attach/error.h"
#include "attach/kernel_btf.h"
#include "attach/kernel_names.h"
#include "attach/maps.h"
#include "attach/parallel_load.h"
#include "attach/sched_ext.h"
#include "attach/wait_table.h"
#include "base/proc/status.h"
#include "base/refuse.h"
#include "base/urgency.h"
#include "fold/fold.h"
#include "fold/windows.h"
#include "offcpu.skel.h"
#include "session/parts.h"
#include "supply/mmap_events.h"
#include "supply/tables.h"

/* Lines as "monotonic   86400   0": seconds and nanoseconds. */
static bool has_offset(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", 16);

	for (char **line = lines; *line; line++)
		if (strpbrk(*line, "123456789"))
			return true;
	return false;
}

/*
 * In a time namespace with an offset our clocks differ from those of BPF programs, perf events and start times. The
 * kernel shows only the offsets of our children's namespace; if that is another one, ours are unknown.
 */
static bool time_offset_check(GError **error)
{
	g_autofree char *own = g_file_read_link("/proc/self/ns/time", NULL);
	g_autofree char *childrens = g_file_read_link("/proc/self/ns/time_for_children", NULL), *text = NULL;

	if (!own || !g_file_get_contents("/proc/self/timens_offsets", &text, NULL, NULL))
		return true;
	if (childrens && strcmp(own, childrens) == 0 && !has_offset(text))
		return true;
	return refuse(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
		      "the clocks of this time namespace are not the kernel's own: record from outside of it, "
		      "as with `nsenter --time --target 1`");
}

/* The window's edges are set this much ahead, so that every CPU sees them in time. */
#define EDGE_AHEAD_NS 1000000
/*
 * Swap the halves of the wait table this often, or when half of the slots are taken, or only as many are left as may
 * be taken before the next check. Rarely, since each swap reads recurring waits anew. But the last swap is read after
 * the user's Ctrl-C, and the table must not overflow while a busy machine keeps us waiting.
 */
#define SWAP_EVERY_NS 5000000000ULL
#define SWAP_ROOM 12288U
_Static_assert(SWAP_ROOM < OFFCPU_WAIT_SLOTS_MIN, "");
/* Look this often whether code made at run time has other names, and whether servers rest. */
#define POLL_EVERY_NS 500000000ULL
/*
 * To wait for unwind tables the window may open this long after the session was made, or TABLES_AHEAD_*_NS from now if
 * that is later. The tables of 80 processes take some milliseconds, on a slow machine tens. Those of a selected JVM
 * took 110 to 145 ms on a slow one: until then its methods had no names.
 */
#define OPEN_WITHIN_NS 250000000ULL
#define TABLES_AHEAD_MIN_NS 100000000ULL
#define TABLES_AHEAD_OF_FEW_NS 500000000ULL
/* Threads are looked at again at this interval, or at a multiple of the time that a look takes. */
#define LOOK_EVERY_NS 5000000ULL
#define LOOK_EVERY_TIMES 20
/* A command's programs may be short-lived: how often to look for them, and for how long after the last one. */
#define DRAIN_SOON_MS 5
#define DRAIN_SOON_NS 500000000ULL

/* Threads that live at the window's end need rows, too, so the recording counts as full before it is. */
#define ROWS_MAX (PROFILE_ROWS_MAX / 4 * 3)

struct session *session_new(const struct collect_options *options, GError **error)
{
	struct session *s;

	if (!time_offset_check(error))
		return NULL;
	s = g_new0(struct session, 1);
	s->options = options;
	urgency_begin();
	s->begun_ns = clock_ns(CLOCK_MONOTONIC);
	/* before anything is traced: no process may start unseen */
	s->mmap_events = mmap_events_open(NULL);
	s->with_tables = g_new0(struct pid_set, 1);
	s->profile = profile_new();
	s->symbolizer = symbolizer_new();
	if (session_wants_kernel_symbols(options))
		kernel_names_use(s->symbolizer);
	/*
	 * not before a command's first programs, where each moment counts; otherwise a busy machine delays the start
	 */
	if (options->command_pid && session_wants_kernel_symbols(options))
		symbolizer_foresee_kernel(s->symbolizer);
	s->fold = fold_new(s->profile, s->symbolizer, options->max_depth);
	s->rows_max = options->rows_max ? options->rows_max : ROWS_MAX;
	if (options->lines)
		fold_with_lines(s->fold);
	if (session_may_cut(options))
		s->windows = fold_windows_new();
	if (!session_load(s, error)) {
		session_free(s);
		return NULL;
	}
	return s;
}

bool session_try(const struct collect_options *options, GError **error)
{
	struct session *s = session_new(options, error);
	int err = 0;

	if (!s)
		return false;
	if (s->windows)
		err = parallel_load_wait(s->cutting);
	if (!err)
		err = parallel_load_wait(s->closing);
	if (err)
		attach_set_load_error(error, err);
	session_free(s);
	return !err;
}

void session_unload(struct session *s)
{
	probes_free(s);
	ring_buffer__free(s->ring);
	cost_free(s->cost);
	tables_free(s->tables);
	g_free(s->with_tables);
	parallel_load_free(s->closing);
	parallel_load_free(s->cutting);
	parallel_load_free(s->waking);
	parallel_load_free(s->switching);
	core_btf_free(s->core_btf);
	thread_table_free(s->thread_table);
	offcpu_bpf__destroy(s->skel);
	mmap_events_free(s->mmap_events);
	fold_windows_free(s->windows);
	fold_free(s->fold);
	g_queue_clear(&s->to_prefetch);
	g_queue_clear_full(&s->young, g_free);
	symbolizer_free(s->symbolizer);
	profile_free(s->profile);
	*s = (struct session){ 0 };
}

FREES(session_free, struct session, s, session_unload(s); urgency_end())

int session_iterate(const struct bpf_link *link, void (*make_room)(struct session *s), struct session *s)
{
	char byte[64];
	int fd = bpf_iter_create(bpf_link__fd(link)), err;
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		n = read(fd, byte, sizeof(byte));
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		if (n == 0 || errno != EAGAIN)
			break;
		make_room(s);
	}
	err = n < 0 ? -errno : 0;
	close(fd);
	return err;
}

static bool check_iteration(int err, GError **error)
{
	if (err)
		attach_set_error(error, err, "iterate over the threads");
	return !err;
}

static bool look_at_threads(struct session *s, GError **error)
{
	struct bpf_link *link = s->skel->links.look_at_thread ? s->skel->links.look_at_thread :
							       s->skel->links.look_at_thread_plain;

	return check_iteration(session_iterate(link, session_empty_ring, s), error);
}

static struct offcpu_counts count_for_cost(void *session)
{
	return session_counts(session);
}

/* Measures our cost while the window is open, without the start, which ends a little later. */
static void start_measuring(struct session *s)
{
	if (!s->options->budget_ppm || s->cost || !parallel_load_is_done(s->closing))
		return;
	s->cost = cost_new(s->programs, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), count_for_cost, s);
	cost_start(s->cost);
}

/* At intervals takes a reading of our cost, and sets the scale that the governor derives from it. */
static void govern(struct session *s)
{
	struct governor_reading reading;
	uint64_t scale_ns;

	start_measuring(s);
	if (!s->cost || !cost_poll(s->cost, &reading))
		return;
	scale_ns = governor_take(&s->governor, &reading);
	if (scale_ns != s->skel->data->scale_ns || s->governor.wants_next)
		cost_hurry(s->cost);
	s->skel->data->scale_ns = scale_ns;
	s->skel->data->wakers_from_ns = s->governor.wakers_from_ns;
	s->profile->info.sampling.max_ns = MAX(s->profile->info.sampling.max_ns, scale_ns);
}

/* Once the kernel's symbols are known: cached kernel walks use it (bpf/walk/remember.bpf.h). */
static void tell_sched_text(struct session *s)
{
	uint64_t start, end;

	if (s->skel->data->sched_text_bytes || !symbolizer_sched_text(s->symbolizer, &start, &end))
		return;
	s->skel->data->sched_text = start;
	__sync_synchronize();
	s->skel->data->sched_text_bytes = end - start;
}

/* Sets an edge of the window in the near future, so that every CPU sees it in time. */
static uint64_t set_edge(volatile __u64 *edge)
{
	uint64_t at, now;

	do {
		at = clock_ns(CLOCK_MONOTONIC) + EDGE_AHEAD_NS;
		*edge = at;
		__sync_synchronize();
		now = clock_ns(CLOCK_MONOTONIC);
	} while (now >= at);	/* repeated if descheduled in between */
	while (now < at) {
		g_usleep((at - now) / 1000 + 1);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	return at;
}

/*
 * When there are new unwind tables, looks again at threads that fell asleep without them: at intervals, for it takes
 * some time for each thread.
 */
static void apply_tables(struct session *s, bool is_last)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), published;

	if (!s->tables || s->skel->data->direct_map)
		return;
	published = tables_published_cnt(s->tables);
	if (published == s->looked_published ||
	    (now - s->looked_ns < MAX(LOOK_EVERY_NS, s->look_took_ns * LOOK_EVERY_TIMES) && !is_last))
		return;
	s->looked_published = published;
	look_at_threads(s, NULL);
	s->looked_ns = clock_ns(CLOCK_MONOTONIC);
	s->look_took_ns = s->looked_ns - now;
}

/* Waits a moment for the first tables: walks without them are worse. */
static void await_tables(struct session *s)
{
	uint64_t ahead_ns = session_is_for_few(s->options) ? TABLES_AHEAD_OF_FEW_NS : TABLES_AHEAD_MIN_NS;
	uint64_t until = MAX(s->begun_ns + OPEN_WITHIN_NS, clock_ns(CLOCK_MONOTONIC) + ahead_ns);

	if (!s->tables)
		return;
	session_empty_ring(s);	/* requests of the first look: a single consume ends after a round of records */
	while (!tables_idle(s->tables) && clock_ns(CLOCK_MONOTONIC) < until)
		g_usleep(1000);
}

bool session_start(struct session *s, GError **error)
{
	session_take_mappings(s);
	if (!look_at_threads(s, error))
		return false;
	await_tables(s);
	apply_tables(s, true);
	probes_prepare(s);
	s->schedulers_begun = sched_ext_begun(SCHED_EXT_ROOT);
	s->start_ns = set_edge(&s->skel->data->window.start_ns);
	s->skel->data->is_open = 1;
	s->start_unix_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - s->start_ns);
	s->swapped_ns = s->start_ns;
	s->profile->info.start_ns = s->start_ns;
	s->profile->info.tracer_start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + opener_cpu_ns();
	if (s->skel->rodata->cfg.slice_ns)
		fold_with_slices(s->fold, s->skel->rodata->cfg.slice_ns, s->start_ns);
	s->asked_ns = s->start_ns;	/* a command is about to ask */
	if (session_wants_kernel_symbols(s->options))
		symbolizer_foresee_kernel(s->symbolizer);
	/* again for those that moved between the first look and the start */
	if (!look_at_threads(s, error))
		return false;
	if (s->windows)
		parallel_load_begin(s->cutting);
	parallel_load_begin(s->closing);
	session_queue_prefetch(s);
	session_prefetch_mappings(s);
	return true;
}

static void take_sum(const struct offcpu_wait_slot *sum, void *data)
{
	struct session *s = data;

	if (s->options->on_sum)
		s->options->on_sum(sum, s->options->callback_data);
	else
		fold_sum(s->fold, sum);
}

void session_read_waits(struct session *s, bool second, uint64_t entries, bool is_last)
{
	if (!s->options->on_sum)
		fold_expect_sums(s->fold, entries);
	s->skel->data->slice_mask = ~0U << fold_slices_at(s->fold, is_last ? s->stop_ns : clock_ns(CLOCK_MONOTONIC));
	if (!wait_table_read(s->skel->maps.wait_slots, s->skel->bss->wait_groups, second, is_last, take_sum, s))
		profile_add_loss(s->profile, "unread_sums", "sums of waits could not be read out of the kernel", 1, 0);
	probes_read_half(s, second, is_last);
}

/*
 * Makes the other half of the wait table current and empties this one, once no program can still use it: so the sums
 * are final, and nothing is counted twice or lost.
 */
static void swap_waits(struct session *s)
{
	uint64_t entries = s->skel->bss->wait_entries;
	bool old = s->skel->data->half_edge & 1;

	s->skel->bss->wait_entries = 0;
	s->skel->data->half_edge = !old;
	if (!visit_cpus(s->skel)) {
		s->skel->data->half_edge = old;
		return;
	}
	session_read_waits(s, old, entries, false);
	s->swapped_ns = clock_ns(CLOCK_MONOTONIC);
}

static uint32_t swap_at(uint32_t slots)
{
	return slots > SWAP_ROOM ? MIN(slots / 2, slots - SWAP_ROOM) : 0;
}

unsigned session_drain_ms(const struct session *s)
{
	bool is_soon = s->options->command_pid && clock_ns(CLOCK_MONOTONIC) - s->asked_ns < DRAIN_SOON_NS;

	return probes_drain_ms(s, is_soon ? DRAIN_SOON_MS : SESSION_DRAIN_MS);
}

bool session_drain(struct session *s)
{
	bool is_more;

	session_begin_window(s);
	/* Mappings first: stacks are looked up in them. Naming them may take long. */
	session_take_mappings(s);
	thread_table_grow(s->thread_table);
	session_prefetch_mappings(s);
	session_want_young(s);
	apply_tables(s, false);
	s->records = 0;
	s->round_ns = clock_ns(CLOCK_MONOTONIC);
	is_more = session_take_round(s);
	govern(s);
	tell_sched_text(s);
	if (s->round_ns - s->polled_ns > POLL_EVERY_NS) {
		fold_poll(s->fold);
		s->polled_ns = s->round_ns;
	}
	if (s->skel->bss->wait_entries > swap_at(s->skel->rodata->cfg.wait_slots) || probes_are_filling(s) ||
	    clock_ns(CLOCK_MONOTONIC) - s->swapped_ns > SWAP_EVERY_NS)
		swap_waits(s);
	probes_drain(s);
	return is_more;
}

bool session_check(struct session *s, GError **error)
{
	int err = parallel_load_is_done(s->closing) ? parallel_load_wait(s->closing) : 0;

	if (err)
		attach_set_load_error(error, err);
	return !err;
}

bool session_is_full(const struct session *s)
{
	return MAX(profile_most_rows(s->profile), fold_sum_cnt(s->fold)) >= s->rows_max;
}

#define DYING_STEP_US 2000
#define DYING_STEPS 500

/* A dying thread is in no list; as it dies, it sends its account. On a busy machine that takes a while. */
void session_await_dying(struct session *s)
{
	for (unsigned i = 0; i < DYING_STEPS && fold_lacks_thread(s->fold); i++) {
		g_usleep(DYING_STEP_US);
		session_empty_ring(s);
	}
}

/* The window's end and the walk over all threads, in a thread of its own. */
struct ending {
	struct session *session;
	const struct bpf_link *link;
	int err;
	gint has_ended, is_done;
};

#define TAKEN_EVERY_US 200

static void await_taking(struct session *s)
{
	g_usleep(TAKEN_EVERY_US);
}

/* Up to this many threads a first walk takes those that move; beyond, this would take longer than it gains. */
#define TWO_WALKS_MAX 2000

static bool may_walk_twice(void)
{
	unsigned runnable, all;

	return loadavg_threads(&runnable, &all) && all <= TWO_WALKS_MAX;
}

static gpointer end_window(gpointer data)
{
	struct ending *e = data;
	struct session *s = e->session;

	prctl(PR_SET_TIMERSLACK, 1UL);	/* not 50 us late at the edge: sleepers wake up meanwhile */
	s->skel->data->is_cut = 0;
	s->stop_ns = set_edge(&s->skel->data->window.stop_ns);
	s->profile->info.tracer_stop_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + opener_cpu_ns();
	s->skel->data->is_open = 0;
	visit_cpus(s->skel);
	g_atomic_int_set(&e->has_ended, 1);
	e->err = session_iterate(e->link, await_taking, s);
	if (s->skel->data->leaves_quiet && !e->err) {
		s->skel->data->leaves_quiet = 0;
		e->err = session_iterate(e->link, await_taking, s);
	}
	g_atomic_int_set(&e->is_done, 1);
	return NULL;
}

/*
 * A thread's stack changes as soon as it runs again, so the walk over all threads follows the window's end at once.
 * Only a visit to each CPU comes between: afterwards programs that ran at the end have written their results, and the
 * sums of the waits are final, too. Those, and what the walk sends, are read meanwhile.
 */
static bool close_window(struct session *s, const struct bpf_link *close_thread, GError **error)
{
	struct ending ending = { .session = s, .link = close_thread };

	s->skel->data->leaves_quiet = may_walk_twice();
	GThread *thread = urgency_thread_new("closing", end_window, &ending);

	while (!g_atomic_int_get(&ending.has_ended))
		g_usleep(TAKEN_EVERY_US);
	session_take_mappings(s);
	session_empty_ring(s);
	session_read_waits(s, s->skel->data->half_edge & 1, s->skel->bss->wait_entries, true);
	while (!g_atomic_int_get(&ending.is_done)) {
		session_empty_ring(s);
		g_usleep(TAKEN_EVERY_US);
	}
	g_thread_join(thread);
	session_empty_ring(s);
	return check_iteration(ending.err, error);
}

bool session_stop(struct session *s, GError **error)
{
	struct bpf_link *close_thread;
	int err;

	session_begin_window(s);
	urgency_keep();
	err = parallel_load_wait(s->closing);
	close_thread = err ? NULL : s->closing ? parallel_load_link(s->closing) : s->skel->links.close_thread;
	if (!close_thread)
		return attach_refuse_load(error, err ? err : -errno);
	if (s->closing)
		session_count_programs(s, parallel_load_object(s->closing));
	apply_tables(s, true);
	if (!close_window(s, close_thread, error))
		return false;
	session_await_dying(s);
	if (!session_take_deferred(s))
		profile_add_loss(s->profile, "unread_accounts",
				 "accounts of threads could not be read out of the kernel", 1, 0);
	fold_finish_threads(s->fold);
	return true;
}

/* A scheduler that began and ended within the window has left no name. */
static void take_scheduler(struct session *s)
{
	g_autofree char *name = sched_ext_name(SCHED_EXT_ROOT);
	uint64_t begun = sched_ext_begun(SCHED_EXT_ROOT);

	if (name || begun != s->schedulers_begun)
		s->profile->info.scheduler = profile_string(s->profile, name ?: "ended");
	s->schedulers_begun = begun;
}

void session_finish_profile(struct session *s)
{
	/* single waits are shown in wall-clock time */
	s->profile->info.start_unix_ns = s->start_unix_ns;
	s->profile->info.start_ns = s->start_ns;
	fold_finish(s->fold);
	take_scheduler(s);
	if (!s->skel->rodata->cfg.want_blame)
		fold_finish_throttled(s->fold);
	probes_finish(s, s->profile);
	session_fill_info(s);
}

const struct profile *session_threads(const struct session *s)
{
	return s->profile;
}

struct profile *session_take_profile(struct session *s)
{
	struct profile *p = s->profile;

	s->profile->info.duration_ns = s->stop_ns - s->start_ns;
	session_finish_profile(s);
	s->profile = NULL;
	fold_free(s->fold);
	s->fold = NULL;
	return p;
}

void session_take_sums(struct session *s)
{
	swap_waits(s);
}

const struct profile *session_profile(const struct session *s)
{
	return s->profile;
}

bool session_event_wait(struct session *s, const struct offcpu_rec_event *e, struct wait *ret_wait)
{
	const uint64_t ns = e->blocked_ns + e->runnable_ns + e->preempted_ns;
	bool has_user = e->ustack <= OFFCPU_STACK_LOST, has_kernel = e->kstack <= OFFCPU_STACK_LOST;

	*ret_wait = (struct wait){
		.state = e->state, .count = 1, .blocked_ns = e->blocked_ns, .runnable_ns = e->runnable_ns,
		.preempted_ns = e->preempted_ns, .max_ns = ns,
		.flags = (e->is_throttled ? WAIT_THROTTLED : 0) | (e->open_at_start ? WAIT_OPEN_AT_START : 0) |
			 (e->open_at_end ? WAIT_OPEN_AT_END : 0),
		.max_start_unix_ns = s->start_unix_ns + (e->end_ns - ns - s->start_ns),
	};
	has_user = has_user || fold_find(s->fold, e->ustack, &ret_wait->user);
	has_kernel = has_kernel || fold_find(s->fold, e->kstack, &ret_wait->kernel);
	ret_wait->object = fold_object_of(s->fold, e->object, e->waker, ret_wait->user, ret_wait->kernel);
	return has_user && has_kernel;
}

uint32_t session_waker(struct session *s, uint64_t id)
{
	uint32_t waker;

	return id && fold_find_waker(s->fold, id, &waker) ? waker + 1 : 0;
}

const struct requests *session_requests(const struct session *s, uint64_t *ret_start_ns, uint64_t *ret_stop_ns)
{
	*ret_start_ns = s->start_ns;
	*ret_stop_ns = s->stop_ns;
	return probe_state(s, &probe_requests);
}
