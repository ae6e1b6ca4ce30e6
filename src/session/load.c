/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Loads a session's programs into the kernel. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "features/traces/abi.h"
#include "abi/sample.h"
#include "attach/kernel_btf.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "attach/maps.h"
#include "attach/cgroup.h"
#include "attach/parallel_load.h"
#include "base/proc/status.h"
#include "base/trace_attributes.h"
#include "session/parts.h"
#include "supply/tables.h"
#include "offcpu.skel.h"
#include "offcpu_6_1.skel.h"

/* Our pid namespace's number, 0 for the initial one. */
static bool wants_stacks(const struct collect_options *o)
{
	return o->mode == COLLECT_WAITS || o->mode == COLLECT_EVENTS;
}

bool session_wants_kernel_symbols(const struct collect_options *o)
{
	return wants_stacks(o) && !o->no_kernel_stacks;
}

static bool wants_tables(const struct collect_options *o)
{
	return wants_stacks(o) && !o->no_user_stacks && !o->frame_pointers_only;
}

bool session_may_cut(const struct collect_options *o)
{
	return o->may_cut && o->mode == COLLECT_WAITS && (!o->requests || o->requests_beside) && !o->min_ns &&
	       !o->max_ns && !o->lines;
}

bool session_is_for_few(const struct collect_options *o)
{
	return o->pids || o->tids || o->command_pid;
}

/* Prefetches the tables that the programs will ask for. */
static void prefetch_tables(struct session *s)
{
	const struct collect_options *o = s->options;
	bool is_everyone = !o->pids && !o->tids && !o->cgroup_ids && !o->comm_glob && !o->command_pid;

	for (guint i = 0; o->pids && i < o->pids->len; i++)
		tables_prefetch(s->tables, g_array_index(o->pids, uint32_t, i));
	for (guint i = 0; o->tids && i < o->tids->len; i++)
		tables_prefetch(s->tables, g_array_index(o->tids, uint32_t, i));
	if (o->command_name)
		tables_prefetch_command(s->tables, o->command_name);
	if (is_everyone)
		tables_prefetch(s->tables, 0);
}

static unsigned thread_cnt(void)
{
	unsigned runnable_cnt, cnt;

	return loadavg_threads(&runnable_cnt, &cnt) ? cnt : 0;
}

#define MEMORIES_MIN 512
#define MEMORIES_MAX 32768	/* 60 MiB of kernel memory */

/* For twice the number of threads, as more will be born. A quarter stays free, so that a search finds one quickly. */
static void size_memories(struct offcpu_bpf *skel, struct offcpu_config *cfg, unsigned cnt)
{
	cfg->memories_max = CLAMP(2 * (uint64_t)cnt, MEMORIES_MIN, MEMORIES_MAX);
	cfg->memories = cfg->memories_max / 4 * 5;
	bpf_map__set_max_entries(skel->maps.memories, cfg->memories);
	if (cfg->want_wakers)
		bpf_map__set_max_entries(skel->maps.waker_memories, cfg->memories);
}

/* Room for the sums of a few waits of each thread. */
static void size_wait_slots(struct offcpu_bpf *skel, struct offcpu_config *cfg)
{
	uint64_t cnt = 2ULL * cfg->memories_max;

	cfg->wait_slots = OFFCPU_WAIT_SLOTS_MIN;
	while (cfg->wait_slots < MIN(cnt, OFFCPU_WAIT_SLOTS_MAX))
		cfg->wait_slots *= 2;
	if (!cfg->want_waits && !cfg->hist_oncpu)
		cfg->wait_slots = OFFCPU_WAIT_SLOTS_NONE;
	bpf_map__set_max_entries(skel->maps.wait_slots, 2 * cfg->wait_slots);
	bpf_map__set_value_size(skel->maps.wait_slots,
				cfg->want_wakers ? OFFCPU_WAIT_SLOT_BYTES : OFFCPU_SHORT_SLOT_BYTES);
}

/* Programs that take the verifier long are loaded separately. */
static void set_parallel_loads(struct session *s)
{
	const struct bpf_object_skeleton *skeleton = s->skel->skeleton;
	const char *core_btf = core_btf_path(s->core_btf);

	s->switching = parallel_load_new(skeleton, s->skel->progs.handle_switch, core_btf);
	s->waking = parallel_load_new(skeleton, s->skel->progs.handle_waking, core_btf);
	s->cutting = parallel_load_new(skeleton, s->skel->progs.cut_thread, core_btf);
	if (!s->options->is_short)
		s->closing = parallel_load_new(skeleton, s->skel->progs.close_thread, core_btf);
}

/* THREAD_SIZE of the kernel on x86-64 and arm64, unless a page is longer (arch/arm64/include/asm/memory.h). */
#define KERNEL_STACK_MIN 16384

static void fill_config(struct session *s, struct offcpu_config *cfg)
{
	const struct collect_options *o = s->options;
	bool stacks = wants_stacks(o);

	*cfg = (struct offcpu_config){
		.min_ns = o->min_ns,
		.max_ns = o->max_ns ? o->max_ns : UINT64_MAX,
		.slice_ns = o->mode == COLLECT_WAITS && !o->may_cut ? o->slice_ns : 0,
		.self_tgid = o->include_self ? 0 : (uint32_t)getpid(),
		.pidns_inum = proc_own_pid_namespace(),
		.task_struct_id = feature_cast_id("task_struct"),
		.timespec64_id = feature_cast_id("timespec64"),
		.max_depth = o->max_depth ? MIN(o->max_depth, OFFCPU_MAX_DEPTH) : OFFCPU_MAX_DEPTH,
		.state_mask = o->state_mask,
		.stack_bytes = (uint32_t)MAX(KERNEL_STACK_MIN, getpagesize()),
		.want_ustack = stacks && !o->no_user_stacks,
		.want_kstack = stacks && !o->no_kernel_stacks,
		.want_user = !o->no_user_threads,
		.want_kernel = !o->no_kernel_threads,
		.by_tgid = o->pids != NULL,
		.by_tid = o->tids != NULL,
		.by_comm = o->comm_glob != NULL,
		.by_cgroup = o->cgroup_ids != NULL,
		.verify_walks = o->verify_walks,
		.follow_exec = o->command_pid != 0,
		.follow_forks = o->follow,
		.by_ancestry = o->pids && o->with_forked,
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
		.may_cut = session_may_cut(o),
		.lists_all = !o->min_ns && !o->max_ns && !o->state_mask &&
			     (!o->requests || o->requests_beside),
		.has_prev_state = feature_supported(FEATURE_PREV_STATE),
		.page_shift = (uint8_t)__builtin_ctz((unsigned)getpagesize()),
		.has_quota = quota_is_used("/sys/fs/cgroup"),
	};
	s->thread_cnt = thread_cnt();
	probes_configure(s, cfg);
	/* any thread may be in a chain */
	cfg->looks_at_all = cfg->chain_depth || (!cfg->early_filter && cfg->want_user && cfg->want_kernel);
}

/* Sets the goroutine labels that are wanted. */
static void name_labels(struct offcpu_bpf *skel)
{
	const char *list[OFFCPU_LABEL_NAMES];

	for (unsigned i = trace_attributes_wanted(OFFCPU_LABEL_NAME_BYTES - 1, list, OFFCPU_LABEL_NAMES - 1); i; i--) {
		size_t bytes = strlen(list[i - 1]);

		skel->rodata->label_bytes[i] = (uint8_t)bytes;
		skel->rodata->first_label[bytes] = (uint8_t)i;
		memcpy((void *)skel->rodata->label_name[i], list[i - 1], bytes);
		if (!strcmp(list[i - 1], TRACE_LABEL_TRACE))
			skel->rodata->label_digits[i] = OFFCPU_LABEL_TRACE_DIGITS;
		else if (!strcmp(list[i - 1], TRACE_LABEL_SPAN))
			skel->rodata->label_digits[i] = OFFCPU_LABEL_TRACE_DIGITS / 2;
	}
}

static void configure(struct session *s)
{
	const struct collect_options *o = s->options;
	struct offcpu_config *cfg = (struct offcpu_config *)&s->skel->rodata->cfg;

	fill_config(s, cfg);
	size_memories(s->skel, cfg, s->thread_cnt);
	size_wait_slots(s->skel, cfg);
	set_parallel_loads(s);
	name_labels(s->skel);
	if (o->comm_glob)
		g_strlcpy((char *)s->skel->rodata->comm_glob, o->comm_glob,
			  sizeof(s->skel->rodata->comm_glob));
	if (cfg->may_sample)
		s->skel->data->scale_ns = MIN(o->sample_ns, SAMPLE_SCALE_MAX_NS);
	governor_init(&s->governor, o->budget_ppm, cfg->may_sample && o->may_raise, s->skel->data->scale_ns);
	if (o->grace_ns)
		s->governor.grace_ns = o->grace_ns;
	s->governor.may_thin = cfg->want_wakers && o->may_thin_wakers;
	s->profile->info.sampling.start_ns = s->profile->info.sampling.max_ns = s->skel->data->scale_ns;
	bpf_map__set_max_entries(s->skel->maps.ring,
				 (uint32_t)(o->ring_bytes ? o->ring_bytes :
					    o->mode == COLLECT_EVENTS ? 16 << 20 : 4 << 20));
	if (feature_supported(FEATURE_SLEEPER_STACKS))
		bpf_program__set_autoload(s->skel->progs.look_at_thread_plain, false);
	else
		bpf_program__set_autoload(s->skel->progs.look_at_thread, false);
}

static bool fill_filters(struct session *s, GError **error)
{
	return map_fill(s->skel->maps.filter_tgids, s->options->pids, error) &&
	       map_fill(s->skel->maps.filter_tids, s->options->tids, error) &&
	       map_fill(s->skel->maps.filter_cgroups, s->options->cgroup_ids, error);
}

/* Like the skeleton's open function, which always takes the first object; NULL with errno. */
static struct offcpu_bpf *open_object(const void *elf, size_t elf_bytes, const struct bpf_object_open_opts *opts)
{
	struct offcpu_bpf *skel = calloc(1, sizeof(*skel));
	int err = skel ? offcpu_bpf__create_skeleton(skel) : -ENOMEM;

	if (!err) {
		skel->skeleton->data = (void *)elf;
		skel->skeleton->data_sz = elf_bytes;
		err = bpf_object__open_skeleton(skel->skeleton, opts);
	}
	if (!err)
		return skel;
	offcpu_bpf__destroy(skel);
	errno = -err;
	return NULL;
}

/* Opens the programs and what belongs to them. */
static bool open_programs(struct session *s, GError **error)
{
	size_t elf_bytes;
	const void *elf = feature_cast_id("task_struct") ? offcpu_bpf__elf_bytes(&elf_bytes) :
							   offcpu_6_1_bpf__elf_bytes(&elf_bytes);

	if (feature_kernel_btf())
		s->core_btf = core_btf_new(feature_kernel_btf(), elf, elf_bytes);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_btf_path(s->core_btf));
	s->skel = open_object(elf, elf_bytes, &opts);
	if (!s->skel)
		return attach_refuse(error, -errno, "open the BPF object");
	/* tables are compiled while the programs are loaded */
	if (wants_tables(s->options) && feature_supported(FEATURE_BPF_LOOP)) {
		s->tables = tables_new(s->skel->maps.slabs, s->skel->maps.spaces, s->skel->maps.file_tables,
				       session_is_for_few(s->options), error);
		if (!s->tables)
			return false;
		prefetch_tables(s);
	}
	configure(s);
	s->thread_table = thread_table_new(s->skel, s->thread_cnt, error);
	return s->thread_table != NULL;
}

static bool load_programs(struct session *s, GError **error)
{
	int err = offcpu_bpf__load(s->skel);

	if (!err) {
		parallel_load_begin(s->switching);
		err = parallel_load_wait(s->waking);
	}
	if (!err)
		err = parallel_load_wait(s->switching);
	if (!err)
		err = thread_table_ready(s->thread_table);
	if (err)
		attach_set_load_error(error, err);
	return !err;
}

void session_count_programs(struct session *s, struct bpf_object *programs)
{
	size_t i = 0;

	while (s->programs[i] && s->programs[i] != programs)
		i++;
	s->programs[i] = programs;
}

static bool attach_programs(struct session *s, GError **error)
{
	int err;

	if (!fill_filters(s, error))
		return false;
	direct_map_find(s->skel->progs.find_direct_map, &s->skel->bss->sought_at, &s->skel->bss->sought);
	if (s->tables)
		tables_tell(s->tables, &s->skel->data->tables_epoch, bpf_map__fd(s->skel->maps.languages),
			    bpf_map__fd(s->skel->maps.contexts));
	session_count_programs(s, s->skel->obj);
	session_count_programs(s, parallel_load_object(s->waking));
	session_count_programs(s, parallel_load_object(s->switching));
	err = offcpu_bpf__attach(s->skel);
	if (!err && (!parallel_load_link(s->waking) || !parallel_load_link(s->switching)))
		err = -errno;
	if (err)
		attach_set_error(error, err, "attach to the scheduler's tracepoints");
	return !err;
}

static bool open_ring(struct session *s, GError **error)
{
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.ring), session_take_record, s, NULL);
	if (!s->ring)
		attach_set_error(error, -errno, "map the ring buffer");
	return s->ring != NULL;
}

typedef bool (*load_step)(struct session *s, GError **error);

bool session_load(struct session *s, GError **error)
{
	static const load_step steps[] = {
		open_programs, load_programs, attach_programs, probes_start, open_ring,
	};

	load_log_keep();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL & ~LIBBPF_STRICT_AUTO_RLIMIT_MEMLOCK);
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		if (!steps[i](s, error))
			return false;
		/* a step may take long on a busy machine, while mapping events arrive */
		session_take_mappings(s);
	}
	return true;
}
