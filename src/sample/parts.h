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

/*
 * What the parts of the sampler share: sampler.c is rounds and accounts, by_proc.c and by_task.c are where looks come
 * from.
 */

/* What could not be had of threads, for lack of rights: each is said once, with how many threads it concerns. */
enum lack { LACK_PLACE, LACK_MEMORY, LACK_KERNEL_STACK, LACK_COUNTS, LACKS };

/* A thread as one program. */
struct sampled {
	struct proc_thread files;
	uint32_t no;		/* of looks */
	uint64_t start_ns;	/* since boot */
	uint64_t space;		/* tells programs in one process apart */
	char comm[64];
	bool is_kernel, has_counts, is_seen, is_new;
	uint8_t lacks;		/* 1 << enum lack */
	struct proc_sched first, last;	/* has_counts */
	uint64_t first_ticks, last_ticks;	/* otherwise */
	uint64_t seen_ns;	/* when it was looked at last */
	uint32_t round;		/* by_proc.c: in which it was */
	struct look look;	/* that */
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
	struct task_source *tasks;	/* NULL: by /proc */
	pid_t self;
	char *cgroup_mount;	/* of version 2; NULL: nowhere */
	bool has_counts;	/* the kernel has schedstat */
	uint64_t tick_ns, boot_offset_ns;
	uint64_t start_ns, edge_ns, period_ns;	/* the window's and the period's begin */
	uint32_t period;
	uint64_t scanned_ns;
	struct {	/* by_proc.c */
		GMutex lock;
		GCond over;
		bool is_over;
		uint32_t cnt, left_cnt;	/* rounds; threads that were left behind */
	} rounds;
	double first_cost_ns;	/* of a round before the window */
	uint64_t lacks[LACKS];
	uint64_t looks_cnt, moved_cnt;
	struct offcpu_rec_stack rec;
};

/* The thread's first sight.  first: its counts then; start_ns: since boot. */
struct sampled *sampler_meet(struct sampler *s, pid_t pid, pid_t tid, const struct proc_stat *stat, uint64_t start_ns,
			     uint64_t now_ns);
/* It has become another program: its row ends, and another one begins. */
void sampler_note_exec(struct sampler *s, struct sampled *t, const struct proc_stat *stat, uint64_t now_ns);
/* It has ended, and its number is another's. */
void sampler_forget(struct sampler *s, struct sampled *t);
/* What it is seen to do; t->last is as of now. */
void sampler_saw(struct sampler *s, struct sampled *t, uint8_t state, uint32_t user, uint32_t kernel, bool has_stood,
		 uint64_t now_ns);
void sampler_lacks(struct sampler *s, struct sampled *t, enum lack lack);
/* Is it one that was asked for? */
bool sampler_wants(const struct sampler *s, pid_t pid, pid_t tid, const char *comm, bool is_kernel);

/* The node of s->rec's user or kernel stack; its id is made. */
uint32_t sampler_stack(struct sampler *s, pid_t pid, uint64_t space, bool is_user);
/* The user stack by what is known of registers. */
uint32_t sampler_user_stack(struct sampler *s, struct sampled *t, const struct space_regs *regs);

/* The nodes of the stacks that a record has; 0: none. */
void sampler_look_stacks(struct sampler *s, struct sampled *t, const struct look_record *rec, const void *frames,
			 const void *stack, uint32_t *ret_user, uint32_t *ret_kernel);

/* Looks at every thread once. */
void by_proc_round(struct sampler *s);

/* The same by a BPF iterator. */
struct task_source *task_source_new(struct sampler *s, GError **error);
void task_source_free(struct task_source *source);	/* NULL is fine */
void by_task_round(struct sampler *s);
/* The window ends: what the CPUs were met with last. */
void by_task_finish(struct sampler *s);

struct look_bpf;

/* Where running threads are: by a timer on each CPU, as an iterator cannot see the registers of one that runs. */
struct run_samples;

/* hz: as asked for; it is lowered to 100 samples a second of all CPUs. */
struct run_samples *run_samples_new(struct sampler *s, struct look_bpf *skel, double hz, GError **error);
void run_samples_free(struct run_samples *r);	/* NULL is fine */
/* Takes in what there is; threads that no round has met yet, or that have become another program, are counted. */
void run_samples_take(struct run_samples *r);
/* Of each CPU, at least 1. */
uint32_t run_samples_hz(const struct run_samples *r);
/* Those that are in no row. */
uint64_t run_samples_lost(const struct run_samples *r);

#endif
