/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Looks through a BPF iterator over all threads: see bpf/look.bpf.c. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi/look_abi.h"
#include "attach/kernel_btf.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "attach/kernel_names.h"
#include "attach/maps.h"
#include "base/clock.h"
#include "base/proc/status.h"
#include "sample/parts.h"
#include "look.skel.h"

#define READ_BYTES (256 * 1024)

/* include/linux/sched.h */
#define STATE_INTERRUPTIBLE 0x1
#define STATE_UNINTERRUPTIBLE 0x2
#define STATE_STOPPED 0x4
#define STATE_TRACED 0x8
#define STATE_PARKED 0x40
#define STATE_NOLOAD 0x400

struct task_source {
	struct look_bpf *skel;
	struct core_btf *core_btf;
	struct run_samples *runs;
	GByteArray *text;	/* the iterator's output of this round */
};

/* Our pid namespace's number, 0 for the initial one. */
static void configure(struct look_bpf *skel, const struct sampler_options *o)
{
	skel->rodata->pidns_inum = proc_own_pid_namespace();
	skel->rodata->by_tgid = o->pids != NULL;
	skel->rodata->by_tid = o->tids != NULL;
	skel->rodata->by_cgroup = o->cgroup_ids != NULL;
	skel->rodata->want_user = !o->no_user_threads;
	skel->rodata->want_kernel = !o->no_kernel_threads;
	skel->rodata->want_ustack = !o->no_user_stacks;
	skel->rodata->want_kstack = !o->no_kernel_stacks;
	skel->rodata->page_shift = (uint32_t)__builtin_ctz((unsigned)getpagesize());
	skel->rodata->self_tgid = o->include_self ? 0 : (uint32_t)getpid();
}

static bool load(struct task_source *source, const struct sampler_options *o, GError **error)
{
	size_t elf_bytes;
	const void *elf = look_bpf__elf_bytes(&elf_bytes);
	int err;

	load_log_keep();
	if (feature_kernel_btf())
		source->core_btf = core_btf_new(feature_kernel_btf(), elf, elf_bytes);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_btf_path(source->core_btf));
	source->skel = look_bpf__open_opts(&opts);
	if (!source->skel)
		return attach_refuse(error, -errno, "open the BPF object");
	configure(source->skel, o);
	bpf_program__set_autoload(source->skel->progs.find_direct_map, feature_supported(FEATURE_BPF_LOOP));
	err = look_bpf__load(source->skel);
	if (!err)
		err = look_bpf__attach(source->skel);
	if (err)
		attach_set_load_error(error, err);
	else
		direct_map_find(source->skel->progs.find_direct_map, &source->skel->bss->sought_at,
				&source->skel->bss->sought);
	return !err && map_fill(source->skel->maps.wanted_tgids, o->pids, error) &&
	       map_fill(source->skel->maps.wanted_tids, o->tids, error) &&
	       map_fill(source->skel->maps.filter_cgroups, o->cgroup_ids, error);
}

struct task_source *task_source_new(struct sampler *s, GError **error)
{
	struct task_source *source = g_new0(struct task_source, 1);

	source->text = g_byte_array_new();
	if (!load(source, &s->options, error)) {
		g_prefix_error(error, "%s", "without --proc: ");
		task_source_free(source);
		return NULL;
	}
	source->runs = run_samples_new(s, source->skel, s->options.hz, error);
	if (!source->runs) {
		task_source_free(source);
		return NULL;
	}
	kernel_names_use(s->symbolizer);
	symbolizer_foresee_kernel(s->symbolizer);
	return source;
}

FREES(task_source_free, struct task_source, source, run_samples_free(source->runs); look_bpf__destroy(source->skel);
      core_btf_free(source->core_btf); g_byte_array_unref(source->text))

/* Reads the iterator's whole output of one round. */
static bool read_all(struct task_source *source)
{
	int fd = bpf_iter_create(bpf_link__fd(source->skel->links.look_at_task));
	gsize filled = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	do {
		if (source->text->len < filled + READ_BYTES)
			g_byte_array_set_size(source->text, (guint)filled + READ_BYTES);
		n = read(fd, source->text->data + filled, READ_BYTES);
		if (n > 0)
			filled += (gsize)n;
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	close(fd);
	g_byte_array_set_size(source->text, (guint)filled);
	return n == 0;
}

/* The state's letter, as in the BPF programs of record. */
static uint8_t letter_of(uint32_t state)
{
	if (state & STATE_STOPPED)
		return 'T';
	if (state & STATE_TRACED)
		return 't';
	if (state & STATE_PARKED)
		return 'P';
	if (state & STATE_UNINTERRUPTIBLE)
		return state & STATE_NOLOAD ? 'I' : 'D';
	return state & STATE_INTERRUPTIBLE ? 'S' : 'R';
}

static uint32_t kernel_stack(struct sampler *s, const struct look_record *rec, const void *frames)
{
	if (!rec->frames)
		return 0;
	s->rec.depth = MIN(rec->frames, OFFCPU_MAX_DEPTH);
	s->rec.end = rec->frames > OFFCPU_MAX_DEPTH ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	memcpy(s->rec.ip, frames, s->rec.depth * sizeof(s->rec.ip[0]));
	return sampler_stack(s, 0, 0, false);
}

static uint32_t user_stack(struct sampler *s, struct sampled *t, const struct look_record *rec, const void *stack)
{
	const struct space_regs regs = {
		.ip = rec->ip, .sp = rec->sp, .bp = rec->bp, .link = rec->link, .has_bp = true,
		.stack = stack, .stack_bytes = rec->stack_bytes,
	};

	return rec->ip ? sampler_user_stack(s, t, &regs) : 0;
}

void sampler_look_stacks(struct sampler *s, struct sampled *t, const struct look_record *rec, const void *frames,
			 const void *stack, uint32_t *ret_user, uint32_t *ret_kernel)
{
	*ret_kernel = kernel_stack(s, rec, frames);
	*ret_user = user_stack(s, t, rec, stack);
}

static struct sampled *thread_of(struct sampler *s, const struct look_record *rec, const struct proc_stat *stat,
				 uint64_t now_ns)
{
	struct sampled *t = g_hash_table_lookup(s->threads, GUINT_TO_POINTER(rec->tid));
	const struct proc_sched counts = { .run_ns = rec->run_ns, .queue_ns = rec->queue_ns, .runs = rec->runs };

	if (t && t->start_ns != rec->start_ns) {
		sampler_forget(s, t);
		t = NULL;
	}
	if (!t) {
		if (!sampler_wants(s, (pid_t)rec->pid, (pid_t)rec->tid, stat->comm, stat->is_kernel))
			return NULL;
		t = sampler_meet(s, (pid_t)rec->pid, (pid_t)rec->tid, stat, rec->start_ns, now_ns);
		t->has_counts = true;
		if (t->start_ns < s->start_ns + s->boot_offset_ns || !s->start_ns)
			t->first = counts;
	} else if (strcmp(stat->comm, t->comm) != 0 || t->space != stat->code) {
		sampler_note_exec(s, t, stat, now_ns);
	}
	t->last = counts;
	t->is_seen = true;
	return t;
}

static void take_look(struct sampler *s, const struct look_record *rec, const void *frames, const void *stack,
		      uint64_t now_ns)
{
	struct proc_stat stat = { .is_kernel = rec->flags & LOOK_KERNEL, .code = rec->code };
	struct sampled *t;

	memcpy(stat.comm, rec->comm, LOOK_COMM_LEN);
	t = thread_of(s, rec, &stat, now_ns);
	if (!t)
		return;
	if (rec->flags & LOOK_RUNS) {
		sampler_saw(s, t, LOOK_STATE_RUNS, 0, 0, false, now_ns);
	} else if (rec->flags & LOOK_STOOD && !t->is_new && t->look.state != LOOK_STATE_RUNS) {
		sampler_saw(s, t, t->look.state, t->look.user, t->look.kernel, true, now_ns);
	} else {
		uint32_t kernel, user;

		sampler_look_stacks(s, t, rec, frames, stack, &user, &kernel);
		s->moved_cnt += (rec->flags & LOOK_MOVED) != 0;
		sampler_saw(s, t, letter_of(rec->state), user, kernel, false, now_ns);
	}
}

void by_task_round(struct sampler *s)
{
	struct task_source *source = s->tasks;

	EACH_VALUE(void, value, s->threads)
		((struct sampled *)value)->is_seen = false;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!read_all(source))
		return;
	for (gsize at = 0; source->text->len - at >= sizeof(struct look_record);) {
		struct look_record rec;
		uint64_t frames[LOOK_FRAMES_MAX];
		gsize left;

		memcpy(&rec, source->text->data + at, sizeof(rec));
		at += sizeof(rec);
		left = source->text->len - at;
		if (rec.frames > LOOK_FRAMES_MAX || rec.frames * sizeof(frames[0]) + rec.stack_bytes > left)
			break;
		memcpy(frames, source->text->data + at, rec.frames * sizeof(frames[0]));
		at += rec.frames * sizeof(frames[0]);
		take_look(s, &rec, frames, source->text->data + at, now_ns);
		at += rec.stack_bytes;
	}
	run_samples_take(source->runs);
}

void by_task_finish(struct sampler *s)
{
	const struct run_samples *runs = s->tasks->runs;

	run_samples_take(s->tasks->runs);
	s->profile->info.on_cpu_hz = s->profile->info.on_cpu_end_hz = run_samples_hz(runs);
	if (run_samples_lost(runs))
		profile_add_loss(s->profile, "on_cpu_thread",
				 "samples on CPU were of threads that no look had met, or the ring buffer was full",
				 run_samples_lost(runs), 0);
}
