/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_PARTS_H
#define SAMPLE_PARTS_H

#include "abi/look_abi.h"
#include "fold/looks.h"
#include "fold/stacks.h"
#include "sample/proc_thread.h"
#include "sample/sampler.h"
#include "sample/space.h"
#include "symbolize/symbolize.h"

/* What the parts of the sampler share: sampler.c has rounds and accounts, by_proc.c and by_task.c get the looks. */

/* What is missing of threads, for lack of rights: each is reported once, with the number of threads. */
enum lack { LACK_PLACE, LACK_MEMORY, LACK_KERNEL_STACK, LACK_COUNTS, LACKS };

/* A thread during one program. */
struct sampled {
	struct proc_thread files;
	uint32_t no;		/* its number in the looks */
	uint64_t start_ns;	/* since boot */
	uint64_t space;		/* distinguishes programs in one process */
	char comm[64];
	bool is_kernel, has_counts, is_seen, is_new;
	uint8_t lacks;		/* 1 << enum lack */
	struct proc_sched first, last;	/* if has_counts */
	uint64_t first_ticks, last_ticks;	/* otherwise */
	uint64_t seen_ns;	/* time of the last look */
	uint32_t round;		/* by_proc.c: the last round in which it was found */
	struct look look;	/* the last look */
};

struct sampler {
	struct sampler_options options;
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct fold_stacks *stacks;
	struct spaces_read *spaces;
	struct looks *looks;
	GHashTable *threads;	/* tid -> struct sampled */
	GHashTable *kernel_nodes;	/* text -> node */
	struct task_source *tasks;	/* NULL: through /proc */
	pid_t self;
	char *cgroup_mount;	/* of version 2; NULL: not mounted */
	bool has_counts;	/* the kernel has schedstat */
	uint64_t tick_ns, boot_offset_ns;
	uint64_t start_ns, edge_ns, period_ns;	/* starts of the window and of the period */
	uint32_t period;
	uint64_t scanned_ns;
	struct {	/* by_proc.c */
		GMutex lock;
		GCond over;
		bool is_over;
		uint32_t cnt, left_cnt;	/* rounds; threads that were left behind */
	} rounds;
	double first_cost_ns;	/* cost of a round before the window */
	uint64_t lacks[LACKS];
	uint64_t looks_cnt, moved_cnt;
	struct offcpu_rec_stack rec;
};

/* A thread is first seen. first: its counts then; start_ns: since boot. */
struct sampled *sampler_meet(struct sampler *s, pid_t pid, pid_t tid, const struct proc_stat *stat, uint64_t start_ns,
			     uint64_t now_ns);
/* It has become another program: starts another row. */
void sampler_note_exec(struct sampler *s, struct sampled *t, const struct proc_stat *stat, uint64_t now_ns);
/* It has ended, and its number was reused. */
void sampler_forget(struct sampler *s, struct sampled *t);
/* What it was seen to do; t->last is current. */
void sampler_saw(struct sampler *s, struct sampled *t, uint8_t state, uint32_t user, uint32_t kernel, bool has_stood,
		 uint64_t now_ns);
void sampler_lacks(struct sampler *s, struct sampled *t, enum lack lack);
/* Is it selected? */
bool sampler_wants(const struct sampler *s, pid_t pid, pid_t tid, const char *comm, bool is_kernel);

/* The node of the user or kernel stack in s->rec, whose id is set here. */
uint32_t sampler_stack(struct sampler *s, pid_t pid, uint64_t space, bool is_user);
/* The user stack from these registers. */
uint32_t sampler_user_stack(struct sampler *s, struct sampled *t, const struct space_regs *regs);

/* The nodes of a record's stacks; 0: none. */
void sampler_look_stacks(struct sampler *s, struct sampled *t, const struct look_record *rec, const void *frames,
			 const void *stack, uint32_t *ret_user, uint32_t *ret_kernel);

/* Looks at every thread once. */
void by_proc_round(struct sampler *s);

/* The same through a BPF iterator. */
struct task_source *task_source_new(struct sampler *s, GError **error);
void task_source_free(struct task_source *source);	/* NULL is fine */
void by_task_round(struct sampler *s);
/* At the window's end: takes the last samples of running threads. */
void by_task_finish(struct sampler *s);

struct look_bpf;

/* Stacks of running threads: from a timer on each CPU, as an iterator cannot read a running thread's registers. */
struct run_samples;

/* hz: as requested; lowered to 100 samples a second on all CPUs together. */
struct run_samples *run_samples_new(struct sampler *s, struct look_bpf *skel, double hz, GError **error);
void run_samples_free(struct run_samples *r);	/* NULL is fine */
/* Takes the samples so far; threads unknown to the rounds, or with another program by now, count as lost. */
void run_samples_take(struct run_samples *r);
/* For each CPU, at least 1. */
uint32_t run_samples_hz(const struct run_samples *r);
/* Samples that are in no row. */
uint64_t run_samples_lost(const struct run_samples *r);

#endif
