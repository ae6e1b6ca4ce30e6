/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "abi/sample.h"
#include "collect/cost.h"
#include "collect/crowd.h"
#include "collect/feature.h"
#include "collect/fold.h"
#include "collect/governor.h"
#include "collect/mmap_events.h"
#include "collect/tables.h"
#include "collect/chain_maps.h"
#include "offcpu.skel.h"

/* The window's edges are set this much ahead, so that every CPU knows of them in time. */
#define EDGE_AHEAD_NS 1000000
/*
 * Swap the wait map this often, or when it is a quarter full.  Seldom, since the same waits come
 * again and again and each swap reads them anew; but the last swap is read after the user's Ctrl-C,
 * and on a machine so busy that it keeps us waiting the map must not fill meanwhile.
 */
#define SWAP_EVERY_NS 5000000000ULL
#define SWAP_AT(capacity) ((capacity) / 4)
#define READ_BATCH 512
/* Records taken from the ring before the rest of the program gets a turn. */
#define RECORDS_A_ROUND 16384
/*
 * For the sake of unwind tables the window may open this long after the session was made (of all
 * programs, of a few), or this much later at least where loading took that long already.
 */
#define OPEN_WITHIN_NS 80000000ULL
#define OPEN_WITHIN_FEW_NS 160000000ULL
#define TABLES_AHEAD_MIN_NS 2000000ULL
/* Threads are looked at again this often, and no more than so many times as long as that took. */
#define LOOK_EVERY_NS 5000000ULL
#define LOOK_EVERY_TIMES 20
/* A command's programs may last only so long: how often to look for them, until when after the last. */
#define DRAIN_SOON_MS 5
#define DRAIN_SOON_NS 500000000ULL

struct session {
	const struct collect_options *options;
	struct offcpu_bpf *skel;
	struct ring_buffer *ring;
	struct symbolizer *symbolizer;
	struct mmap_events *mmap_events;	/* NULL where the kernel refuses */
	struct tables *tables;			/* NULL: frame pointers only */
	uint64_t looked_published;		/* what was there at the last look at the threads */
	uint64_t looked_ns, look_took_ns;
	uint64_t asked_ns;			/* when a program last asked for tables */
	uint64_t mapped_ns;		/* mapping events up to here are known */
	uint64_t mmap_lost_cnt;		/* those lost until then */
	uint64_t records;		/* taken from the ring since the last drain began */
	struct profile *profile;
	struct fold *fold;
	struct crowd *crowd;
	struct cost *cost;		/* NULL: not measured */
	struct governor governor;
	uint64_t begun_ns;
	uint64_t swapped_ns;
	uint64_t start_ns, stop_ns, start_unix_ns;
};

G_DEFINE_QUARK(collect-error-quark, collect_error)

static GString *libbpf_log;

static int keep_libbpf_message(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_DEBUG)
		return 0;
	if (!libbpf_log)
		libbpf_log = g_string_new(NULL);
	if (libbpf_log->len < 64 * 1024)
		g_string_append_vprintf(libbpf_log, format, args);
	return 0;
}

const char *session_libbpf_log(void)
{
	return libbpf_log ? libbpf_log->str : "";
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void set_bpf_error(GError **error, int err, const char *what)
{
	if (err == -EPERM)
		g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_PERMISSION,
			    "%s: %s (run as root, or with CAP_BPF and CAP_PERFMON; `offcpu doctor` tells more)",
			    what, g_strerror(-err));
	else
		g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_KERNEL, "%s: %s (`offcpu doctor` tells more)",
			    what, g_strerror(-err));
}

/* Our pid namespace's number, 0 for the initial one. */
static uint32_t pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == 0xEFFFFFFCU)	/* PROC_PID_INIT_INO */
		return 0;
	return (uint32_t)st.st_ino;
}

static bool wants_stacks(const struct collect_options *o)
{
	return o->mode == COLLECT_WAITS || o->mode == COLLECT_EVENTS;
}

static bool wants_kernel_symbols(const struct collect_options *o)
{
	return wants_stacks(o) && !o->no_kernel_stacks;
}

static bool wants_tables(const struct collect_options *o)
{
	return wants_stacks(o) && !o->no_user_stacks && !o->frame_pointers_only;
}

static bool is_for_few(const struct collect_options *o)
{
	return o->pids || o->tids || o->command_pid;
}

/* Of whom the programs will ask is known before they can. */
static void foresee_tables(struct session *s)
{
	const struct collect_options *o = s->options;
	bool is_everyone = !o->pids && !o->tids && !o->cgroup_ids && !o->comm_glob && !o->command_pid;

	for (guint i = 0; o->pids && i < o->pids->len; i++)
		tables_foresee(s->tables, g_array_index(o->pids, uint32_t, i));
	for (guint i = 0; o->tids && i < o->tids->len; i++)
		tables_foresee(s->tables, g_array_index(o->tids, uint32_t, i));
	if (o->command_name)
		tables_foresee_command(s->tables, o->command_name);
	if (is_everyone)
		tables_foresee(s->tables, 0);
}

/* What interrupt runs is asked only where an interrupt may be a waker. */
static void select_irq_programs(struct offcpu_bpf *skel, bool wanted)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
		if (g_str_has_prefix(bpf_program__name(prog), "note_"))
			bpf_program__set_autoload(prog, wanted);
}

static void configure(struct session *s)
{
	const struct collect_options *o = s->options;
	bool stacks = wants_stacks(o);
	struct offcpu_config *cfg = (struct offcpu_config *)&s->skel->rodata->cfg;

	*cfg = (struct offcpu_config){
		.min_ns = o->min_ns,
		.max_ns = o->max_ns ? o->max_ns : UINT64_MAX,
		.self_tgid = o->include_self ? 0 : (uint32_t)getpid(),
		.pidns_inum = pid_namespace(),
		.max_depth = o->max_depth ? MIN(o->max_depth, OFFCPU_MAX_DEPTH) : OFFCPU_MAX_DEPTH,
		.state_mask = o->state_mask,
		.want_ustack = stacks && !o->no_user_stacks,
		.want_kstack = stacks && !o->no_kernel_stacks,
		.want_user = !o->no_user_threads,
		.want_kernel = !o->no_kernel_threads,
		.by_tgid = o->pids != NULL,
		.by_tid = o->tids != NULL,
		.by_comm = o->comm_glob != NULL,
		.by_cgroup = o->cgroup_ids != NULL,
		.verify_walks = g_getenv("OFFCPU_VERIFY_WALKS") != NULL,
		.follow_exec = o->command_pid != 0,
		.command_pid = o->command_pid,
		.want_events = o->mode == COLLECT_EVENTS,
		.want_waits = o->mode != COLLECT_EVENTS && o->mode != COLLECT_HIST_ON,
		.hist = !stacks,
		.hist_oncpu = o->mode == COLLECT_HIST_ON,
		.hist_runq = o->mode == COLLECT_HIST_RUNQ,
		/* a thread may move into a cgroup at any time */
		.early_filter = (o->pids || o->tids || o->comm_glob || o->command_pid) && !o->cgroup_ids,
		.can_walk = feature_supported(FEATURE_BPF_LOOP),
		.want_tables = s->tables != NULL,
		.may_sample = o->mode == COLLECT_WAITS && (o->sample_ns || o->may_raise),
		.has_prev_state = feature_supported(FEATURE_PREV_STATE),
		.want_wakers = (o->want_wakers || o->want_storms) && o->mode == COLLECT_WAITS,
		.want_locks = o->want_locks && o->mode == COLLECT_WAITS,
		.chain_depth = o->want_wakers && o->mode == COLLECT_WAITS ? (uint8_t)MIN(o->chain_depth, OFFCPU_CHAIN_MAX) : 0,
		.only_storms = !o->want_wakers,
		.want_storms = o->want_storms && o->mode == COLLECT_WAITS,
		.want_blame = o->want_blame && o->mode == COLLECT_WAITS,
	};
	select_irq_programs(s->skel, cfg->want_wakers);
	chain_maps_size(s->skel, cfg->chain_depth > 0);
	crowd_prepare(s->skel, cfg->want_blame, cfg->want_storms);
	s->crowd = crowd_new(s->skel, cfg->want_blame, cfg->want_storms);
	if (o->comm_glob)
		g_strlcpy((char *)s->skel->rodata->comm_glob, o->comm_glob,
			  sizeof(s->skel->rodata->comm_glob));
	if (cfg->may_sample)
		s->skel->bss->scale_ns = MIN(o->sample_ns, SAMPLE_SCALE_MAX_NS);
	governor_init(&s->governor, o->budget_ppm, cfg->may_sample && o->may_raise, s->skel->bss->scale_ns);
	s->profile->info.sampling.start_ns = s->profile->info.sampling.max_ns = s->skel->bss->scale_ns;
	bpf_map__set_max_entries(s->skel->maps.ring,
				 (uint32_t)(o->ring_bytes ? o->ring_bytes :
					    o->mode == COLLECT_EVENTS ? 16 << 20 : 4 << 20));
	if (feature_supported(FEATURE_SLEEPER_STACKS))
		bpf_program__set_autoload(s->skel->progs.look_at_thread_plain, false);
	else
		bpf_program__set_autoload(s->skel->progs.look_at_thread, false);
}

static bool fill_filter(const struct bpf_map *map, const GArray *keys, GError **error)
{
	uint8_t one = 1;

	for (guint i = 0; keys && i < keys->len; i++) {
		const void *key = keys->data + (size_t)i * g_array_get_element_size((GArray *)keys);
		if (bpf_map_update_elem(bpf_map__fd(map), key, &one, BPF_ANY)) {
			set_bpf_error(error, -errno, "too many processes, threads or cgroups to select");
			return false;
		}
	}
	return true;
}

static bool fill_filters(struct session *s, GError **error)
{
	return fill_filter(s->skel->maps.filter_tgids, s->options->pids, error) &&
	       fill_filter(s->skel->maps.filter_tids, s->options->tids, error) &&
	       fill_filter(s->skel->maps.filter_cgroups, s->options->cgroup_ids, error);
}

static void note_mmap(void *data, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	struct session *s = data;

	symbolizer_note_mmap(s->symbolizer, pid, ts_ns, m);
	if (s->tables)
		tables_note_mmap(s->tables, pid);
}

static void note_exec(void *data, uint32_t pid, uint64_t ts_ns)
{
	struct session *s = data;

	symbolizer_note_exec(s->symbolizer, pid, ts_ns);
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
	if (s->tables)
		tables_note_exit(s->tables, pid);
}

static void take_mmap_events(struct session *s)
{
	const struct mmap_events_sink sink = { note_mmap, note_exec, note_fork, note_exit, s };

	s->mapped_ns = clock_ns(CLOCK_MONOTONIC);
	if (!s->mmap_events)
		return;
	mmap_events_drain(s->mmap_events, &sink);
	uint64_t lost_cnt = mmap_events_lost_cnt(s->mmap_events);
	if (s->tables && lost_cnt != s->mmap_lost_cnt)
		tables_note_loss(s->tables);
	s->mmap_lost_cnt = lost_cnt;
}

static int handle_record(void *data, void *record, size_t size)
{
	struct session *s = data;
	uint32_t type = size >= sizeof(type) ? *(uint32_t *)record : 0;

	s->records++;
	switch (type) {
	case OFFCPU_REC_STACK:
		/* While stacks are named more come in: what they were mapped by must be known first. */
		if (size >= offsetof(struct offcpu_rec_stack, ip) &&
		    ((const struct offcpu_rec_stack *)record)->ts_ns > s->mapped_ns)
			take_mmap_events(s);
		fold_stack(s->fold, record, size);
		break;
	case OFFCPU_REC_SPACE:
		if (s->tables && size >= sizeof(struct offcpu_rec_space)) {
			const struct offcpu_rec_space *want = record;

			s->asked_ns = clock_ns(CLOCK_MONOTONIC);
			tables_want(s->tables, want->pid, want->space,
				    s->start_ns && !s->options->command_pid);
		}
		break;
	case OFFCPU_REC_SLEEP_PATH:
		fold_sleep_path(s->fold, record, size);
		break;
	case OFFCPU_REC_WAKER:
		fold_waker(s->fold, record, size);
		break;
	case OFFCPU_REC_CHAIN:
		fold_chain(s->fold, record, size);
		break;
	case OFFCPU_REC_OBJECT:
		fold_object(s->fold, record, size);
		break;
	case OFFCPU_REC_THREAD:
		fold_thread(s->fold, record, size);
		break;
	case OFFCPU_REC_EVENT:
		if (s->options->on_event && size >= sizeof(struct offcpu_rec_event))
			s->options->on_event(record, s->options->callback_data);
		break;
	}
	/* Below 0 ends this round, the record is taken. */
	return s->records % RECORDS_A_ROUND == 0 ? -EAGAIN : 0;
}

/* Empties the ring, even if it is filled as fast as it is read. */
static void consume_all(struct session *s)
{
	while (ring_buffer__consume(s->ring) == -EAGAIN)
		;
}

/*
 * Can the memory of a thread that is off CPU be read through its page tables?  The program
 * looks for a random number of ours.  Without, user stacks are walked at switch-out.
 */
static void find_direct_map(struct session *s)
{
	volatile uint64_t mark = (uint64_t)g_random_int() << 32 | g_random_int() | 1;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (!feature_supported(FEATURE_BPF_LOOP))
		return;
	s->skel->bss->sought_at = (uint64_t)(uintptr_t)&mark;
	s->skel->bss->sought = mark;
	bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.find_direct_map), &opts);
}

struct session *session_new(const struct collect_options *options, GError **error)
{
	struct session *s = g_new0(struct session, 1);
	int err;

	libbpf_set_print(keep_libbpf_message);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL & ~LIBBPF_STRICT_AUTO_RLIMIT_MEMLOCK);
	s->options = options;
	s->begun_ns = clock_ns(CLOCK_MONOTONIC);
	/* Before anything is traced: no process may start unseen. */
	s->mmap_events = mmap_events_open(NULL);

	s->skel = offcpu_bpf__open();
	if (!s->skel) {
		set_bpf_error(error, -errno, "open the BPF object");
		goto fail;
	}
	/* Tables are compiled while the programs are loaded. */
	if (wants_tables(options) && feature_supported(FEATURE_BPF_LOOP)) {
		s->tables = tables_new(s->skel->maps.slabs, s->skel->maps.spaces, is_for_few(options), error);
		if (!s->tables)
			goto fail;
		foresee_tables(s);
	}
	s->profile = profile_new();
	s->symbolizer = symbolizer_new();
	/* Of a command's first programs each moment counts; else on a busy machine it would hold up the start. */
	if (options->command_pid && wants_kernel_symbols(options))
		symbolizer_foresee_kernel(s->symbolizer);
	s->fold = fold_new(s->profile, s->symbolizer, options->max_depth);
	if (options->lines)
		fold_with_lines(s->fold);
	configure(s);
	err = offcpu_bpf__load(s->skel);
	if (err) {
		/* EACCES is the verifier's word, no matter of rights; --verbose shows its log */
		set_bpf_error(error, err, err == -EACCES ? "load the BPF programs: the verifier refuses" :
							   "load the BPF programs");
		goto fail;
	}
	if (!fill_filters(s, error))
		goto fail;
	find_direct_map(s);
	if (s->tables)
		tables_tell(s->tables, &s->skel->bss->tables_epoch);
	err = offcpu_bpf__attach(s->skel);
	if (err) {
		set_bpf_error(error, err, "attach to the scheduler's tracepoints");
		goto fail;
	}
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.ring), handle_record, s, NULL);
	if (!s->ring) {
		set_bpf_error(error, -errno, "map the ring buffer");
		goto fail;
	}
	return s;
fail:
	session_free(s);
	return NULL;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	ring_buffer__free(s->ring);
	cost_free(s->cost);
	tables_free(s->tables);
	offcpu_bpf__destroy(s->skel);
	mmap_events_free(s->mmap_events);
	crowd_free(s->crowd);
	fold_free(s->fold);
	symbolizer_free(s->symbolizer);
	profile_free(s->profile);
	g_free(s);
}

/* Runs an iterator to its end; it pauses (EAGAIN) when the ring is full, so empty that. */
static bool run_iterator(struct session *s, const struct bpf_link *link, GError **error)
{
	char byte[64];
	int fd = bpf_iter_create(bpf_link__fd(link));
	ssize_t n;

	if (fd < 0) {
		set_bpf_error(error, -errno, "iterate over the threads");
		return false;
	}
	for (;;) {
		n = read(fd, byte, sizeof(byte));
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		if (n == 0 || errno != EAGAIN)
			break;
		consume_all(s);
	}
	close(fd);
	if (n < 0) {
		set_bpf_error(error, -errno, "iterate over the threads");
		return false;
	}
	return true;
}

static bool look_at_threads(struct session *s, GError **error)
{
	struct bpf_link *link = s->skel->links.look_at_thread ? s->skel->links.look_at_thread :
							       s->skel->links.look_at_thread_plain;

	return run_iterator(s, link, error);
}

/* Sums of what each CPU counts. */
static struct cost_counts counts_seen(struct session *s)
{
	int cpus = libbpf_num_possible_cpus();
	size_t size = (bpf_map__value_size(s->skel->maps.scratches) + 7) & ~(size_t)7;
	struct cost_counts total = { 0 };
	uint32_t zero = 0;

	if (cpus < 1)
		return total;
	g_autofree char *values = g_malloc(size * (size_t)cpus);
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.scratches), &zero, values))
		return total;
	for (int i = 0; i < cpus; i++) {
		uint64_t one[2];	/* the first members */
		memcpy(one, values + size * (size_t)i, sizeof(one));
		total.switches += one[0];
		total.listed += one[1];
	}
	return total;
}

static uint64_t switches_seen(struct session *s)
{
	return counts_seen(s).switches;
}

/* Measures what we cost, from the start of the window on. */
static void start_measuring(struct session *s)
{
	if (!s->options->budget_ppm)
		return;
	s->cost = cost_new(s->skel->obj, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	cost_start(s->cost, clock_ns(CLOCK_MONOTONIC), counts_seen(s));
}

/* Now and then a reading of what we cost, and the scale that the governor makes of it. */
static void govern(struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), scale_ns;
	struct governor_reading reading;
	struct cost_counts counts;

	if (!s->cost || !cost_is_due(s->cost, now))
		return;
	counts = counts_seen(s);
	if (!cost_poll(s->cost, now, counts, &reading))
		return;
	scale_ns = governor_take(&s->governor, &reading);
	if (scale_ns != s->skel->bss->scale_ns || s->governor.was_over)
		cost_hurry(s->cost, now, counts);
	s->skel->bss->scale_ns = scale_ns;
	s->profile->info.sampling.max_ns = MAX(s->profile->info.sampling.max_ns, scale_ns);
}

/* Sets an edge of the window in the near future, so that no CPU learns of it late. */
static uint64_t set_edge(volatile __u64 *edge)
{
	uint64_t at, now;

	do {
		at = clock_ns(CLOCK_MONOTONIC) + EDGE_AHEAD_NS;
		*edge = at;
		__sync_synchronize();
		now = clock_ns(CLOCK_MONOTONIC);
	} while (now >= at);	/* descheduled in between */
	while (now < at) {
		g_usleep((at - now) / 1000 + 1);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	return at;
}

/*
 * When unwind tables are new, those are looked at again that began to sleep without: now and
 * then, for it takes a moment for each thread.
 */
static void apply_tables(struct session *s, bool is_last)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), published;

	if (!s->tables || s->skel->bss->direct_map)
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

/* Waits a moment for the first tables: what is walked before they are there is walked worse. */
static void await_tables(struct session *s)
{
	uint64_t until = MAX(s->begun_ns + (is_for_few(s->options) ? OPEN_WITHIN_FEW_NS : OPEN_WITHIN_NS),
			     clock_ns(CLOCK_MONOTONIC) + TABLES_AHEAD_MIN_NS);

	if (!s->tables)
		return;
	ring_buffer__consume(s->ring);	/* what the first look asked for */
	while (!tables_idle(s->tables) && clock_ns(CLOCK_MONOTONIC) < until)
		g_usleep(1000);
}

bool session_start(struct session *s, GError **error)
{
	take_mmap_events(s);
	if (!look_at_threads(s, error))
		return false;
	await_tables(s);
	apply_tables(s, true);
	s->start_ns = set_edge(&s->skel->data->start_ns);
	s->skel->bss->is_open = 1;
	s->start_unix_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - s->start_ns);
	s->swapped_ns = s->start_ns;
	s->profile->info.start_ns = s->start_ns;
	s->asked_ns = s->start_ns;	/* a command will, at once */
	if (wants_kernel_symbols(s->options))
		symbolizer_foresee_kernel(s->symbolizer);
	/* Again for those that moved between the first look and the start. */
	if (!look_at_threads(s, error))
		return false;
	start_measuring(s);
	return true;
}

static void take_sum(struct session *s, const struct offcpu_wait_key *key, const struct offcpu_wait_sum *sum)
{
	if (s->options->on_sum)
		s->options->on_sum(key, sum, s->options->callback_data);
	else
		fold_sum(s->fold, key, sum);
}

/* Empties a wait map that no program uses any more. */
static void read_out(struct session *s, int map_fd)
{
	g_autofree struct offcpu_wait_key *keys = g_new(struct offcpu_wait_key, READ_BATCH);
	g_autofree struct offcpu_wait_sum *sums = g_new(struct offcpu_wait_sum, READ_BATCH);
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t token = 0, cnt;
	void *in = NULL;
	int err;

	do {
		cnt = READ_BATCH;
		err = bpf_map_lookup_and_delete_batch(map_fd, in, &token, keys, sums, &cnt, &opts);
		if (err && errno != ENOENT)
			break;
		for (uint32_t i = 0; i < cnt; i++)
			take_sum(s, &keys[i], &sums[i]);
		in = &token;
	} while (!err);
}

/*
 * Puts the other wait map in place and empties this one, once no program can still hold it
 * (swap_barrier): so the sums read are final, and nothing is counted twice or lost.
 */
static void swap_waits(struct session *s)
{
	int fd = bpf_map__fd(s->skel->maps.waits_a);
	uint32_t zero = 0;
	bool old = s->skel->bss->second_in_use;

	s->skel->bss->wait_entries = 0;
	s->skel->bss->second_in_use = !old;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.swap_barrier), &zero, &fd, BPF_ANY)) {
		s->skel->bss->second_in_use = old;
		return;
	}
	read_out(s, bpf_map__fd(old ? s->skel->maps.waits_b : s->skel->maps.waits_a));
	if (s->skel->rodata->cfg.chain_depth)
		chain_maps_read(s->skel, old, s->fold);
	s->swapped_ns = clock_ns(CLOCK_MONOTONIC);
}

unsigned session_drain_ms(const struct session *s)
{
	bool is_soon = s->options->command_pid && clock_ns(CLOCK_MONOTONIC) - s->asked_ns < DRAIN_SOON_NS;

	return is_soon ? DRAIN_SOON_MS : SESSION_DRAIN_MS;
}

bool session_drain(struct session *s)
{
	bool is_more;

	uint32_t capacity = bpf_map__max_entries(s->skel->maps.waits_a);

	/* Mappings first: the stacks are looked up in them.  To name those may take long. */
	take_mmap_events(s);
	apply_tables(s, false);
	s->records = 0;
	is_more = ring_buffer__consume(s->ring) == -EAGAIN;
	govern(s);
	if (s->skel->bss->wait_entries > SWAP_AT(capacity) || chain_maps_fill(s->skel) ||
	    clock_ns(CLOCK_MONOTONIC) - s->swapped_ns > SWAP_EVERY_NS)
		swap_waits(s);
	crowd_drain(s->crowd);
	return is_more;
}

static void read_loss(struct session *s, uint32_t reason, struct offcpu_loss_count *ret_sum)
{
	int cpus = libbpf_num_possible_cpus();
	g_autofree struct offcpu_loss_count *each = g_new0(struct offcpu_loss_count, (size_t)MAX(cpus, 1));

	*ret_sum = (struct offcpu_loss_count){ 0 };
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.losses), &reason, each))
		return;
	for (int i = 0; i < cpus; i++) {
		ret_sum->count += each[i].count;
		ret_sum->time_ns += each[i].time_ns;
	}
}

void session_progress(struct session *s, struct session_progress *ret_progress)
{
	*ret_progress = (struct session_progress){
		.elapsed_ns = s->start_ns ? clock_ns(CLOCK_MONOTONIC) - s->start_ns : 0,
		.switches = switches_seen(s),
		.stacks = fold_stack_cnt(s->fold),
	};
	for (uint32_t i = 0; i < OFFCPU_LOSS_COUNT; i++) {
		struct offcpu_loss_count loss;
		read_loss(s, i, &loss);
		ret_progress->lost += loss.count;
	}
}

static void record_losses(struct session *s, uint64_t recursion)
{
	static const struct { const char *name, *help; } words[OFFCPU_LOSS_COUNT] = {
#define X(id, text, long_text) [OFFCPU_LOSS_##id] = { text, long_text },
		OFFCPU_LOSSES(X)
#undef X
	};

	for (uint32_t i = 0; i < OFFCPU_LOSS_COUNT; i++) {
		struct offcpu_loss_count loss;
		read_loss(s, i, &loss);
		if (i == OFFCPU_LOSS_RECURSION)
			loss.count += recursion;
		if (loss.count)
			profile_add_loss(s->profile, words[i].name, words[i].help, loss.count, loss.time_ns);
	}
	if (s->tables && tables_refused_cnt(s->tables))
		profile_add_loss(s->profile, "unwind_room", "no room was left for a file's unwind table or a program's mappings",
				 tables_refused_cnt(s->tables), 0);
	if (s->mmap_events && mmap_events_lost_cnt(s->mmap_events))
		profile_add_loss(s->profile, "mmap_events", "mapping events were lost: frames may lack names",
				 mmap_events_lost_cnt(s->mmap_events), 0);
}

/* The most memory we ever had.  Not ru_maxrss, which a child inherits from who forked it. */
static uint64_t peak_rss_bytes(void)
{
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL) || !(line = strstr(text, "VmHWM:")))
		return 0;
	return g_ascii_strtoull(line + strlen("VmHWM:"), NULL, 10) * 1024;
}

static void fill_sampling(const struct session *s, struct profile_sampling *ret_sampling)
{
	const struct governor *g = &s->governor;

	ret_sampling->end_ns = s->skel->bss->scale_ns;
	ret_sampling->raised_cnt = g->raised_cnt;
	ret_sampling->lowered_cnt = g->lowered_cnt;
	ret_sampling->over_cnt = g->over_cnt;
	ret_sampling->budget_ppm = g->budget_ppm;
	ret_sampling->has_used = g->seen_ns != 0;
	ret_sampling->used_ppm = governor_used_ppm(g, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	ret_sampling->peak_ppm = g->peak_ppm;
}

static void fill_info(struct session *s)
{
	struct profile_info *info = &s->profile->info;
	uint64_t bpf_ns, runs, missed;
	struct utsname host;
	struct rusage usage;

	cost_programs(s->skel->obj, &bpf_ns, &runs, &missed);
	record_losses(s, missed);
	uname(&host);
	getrusage(RUSAGE_SELF, &usage);
	info->start_unix_ns = s->start_unix_ns;
	info->start_ns = s->start_ns;
	info->duration_ns = s->stop_ns - s->start_ns;
	info->host = profile_string(s->profile, host.nodename);
	info->kernel = profile_string(s->profile, host.release);
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->version = profile_string(s->profile, OFFCPU_VERSION);
	info->switches = switches_seen(s);
	info->has_bpf_ns = feature_supported(FEATURE_BPF_STATS) && runs;
	info->tracer_bpf_ns = bpf_ns;
	info->tracer_cpu_ns =
		((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000ULL +
		((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000ULL;
	info->tracer_peak_rss_bytes = peak_rss_bytes();
	info->self_excluded = !s->options->include_self;
	fill_sampling(s, &info->sampling);
	info->has_wakers = s->options->want_wakers;
	info->has_locks = s->options->want_locks;
}

#define DYING_STEP_US 2000
#define DYING_STEPS 500

/* A thread that is about to die is in no list; as it dies, it sends its account.  On a busy machine that takes a while. */
static void await_dying(struct session *s)
{
	for (unsigned i = 0; i < DYING_STEPS && fold_lacks_thread(s->fold); i++) {
		g_usleep(DYING_STEP_US);
		consume_all(s);
	}
}

bool session_stop(struct session *s, GError **error)
{
	apply_tables(s, true);
	s->stop_ns = set_edge(&s->skel->data->stop_ns);
	s->skel->bss->is_open = 0;
	if (!run_iterator(s, s->skel->links.close_thread, error))
		return false;
	/* The swap also waits for the last programs of the window. */
	take_mmap_events(s);
	consume_all(s);
	swap_waits(s);
	s->skel->bss->closing = 1;
	if (!run_iterator(s, s->skel->links.close_thread, error))
		return false;
	consume_all(s);
	await_dying(s);
	fold_finish(s->fold);
	crowd_finish(s->crowd, s->fold, s->profile);
	fill_info(s);
	return true;
}

struct profile *session_take_profile(struct session *s)
{
	struct profile *p = s->profile;

	s->profile = NULL;
	fold_free(s->fold);
	s->fold = NULL;
	return p;
}

void session_take_sums(struct session *s)
{
	swap_waits(s);
}

unsigned session_stack(struct session *s, uint64_t id, const struct frame **ret_frames, unsigned max)
{
	uint32_t node;
	unsigned cnt = 0;

	if (!id || !fold_find(s->fold, id, &node))
		return 0;
	while (node && cnt < max) {
		const struct stack_node *n = profile_get_node(s->profile, node);
		ret_frames[cnt++] = profile_get_frame(s->profile, n->frame);
		node = n->parent;
	}
	return cnt;
}
