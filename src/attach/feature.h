/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_FEATURE_H
#define ATTACH_FEATURE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct kernel_btf;

/* What this kernel and these rights allow: each feature is tried once, never inferred from a version. */

#define FEATURES(X)                                                                                                    \
	X(BTF, true, "kernel type information (BTF)", "nothing works: the programs cannot be fitted to this kernel")   \
	X(TRACING, true, "typed tracepoints (tp_btf)", "nothing works: the scheduler cannot be traced")                \
	X(RINGBUF, true, "BPF ring buffer", "nothing works: stacks cannot cross to user space")                        \
	X(TASK_ITER, true, "task iterator", "nothing works: threads at the window's edges are not seen")               \
	X(SLEEPER_STACKS, false, "reading sleeping threads' memory", "waits open at the start have no user stack")     \
	X(BPF_LOOP, false, "loops in BPF programs (bpf_loop)",                                                         \
	  "user stacks by frame pointers only, kernel stacks without the scheduler's frames")                          \
	X(PREV_STATE, false, "sched_switch passes the state",                                                          \
	  "a wait's state letter can be wrong when its wakeup races")                                                  \
	X(DISK_EVENTS, false, "completions of disk requests (block_rq_complete)",                                      \
	  "interrupts that wake are named without their disk")                                                         \
	X(KERNEL_LOCKS, false, "contention of the kernel's locks (contention_begin)",                                  \
	  "waits for a lock of the kernel do not say which one, nor who held it")                                      \
	X(MMAP_EVENTS, false, "mapping events (perf_event)", "processes that live shortly are not named")              \
	X(OTHERS_MAPS, false, "other users' mappings and files (CAP_SYS_PTRACE)",                                      \
	  "their programs and those in containers are walked by frame pointers, or have no names")                     \
	X(OTHERS_FILES, false, "files closed to others (CAP_DAC_READ_SEARCH)",                                         \
	  "programs and libraries that only their owner may read have no unwind tables and no names")                  \
	X(MAP_FILES, false, "mapped files by their links (CAP_CHECKPOINT_RESTORE)",                                    \
	  "files deleted or replaced since they were mapped have no unwind tables and no names")                       \
	X(KALLSYMS, false, "kernel symbol addresses", "kernel frames have no names")                                   \
	X(BPF_STATS, false, "BPF run-time statistics are on", "the tracer's own BPF time is an estimate, by bursts")   \
	X(KPROBE_MULTI, false, "probes on many kernel functions at once (kprobe.multi)",                               \
	  "io --slower makes every system call a little slower")                                                       \
	X(KPROBES, false, "kprobes", "nothing here depends on them")                                                   \
	X(FENTRY, false, "fentry", "nothing here depends on it")

enum feature {
#define X(id, essential, name, without) FEATURE_##id,
	FEATURES(X)
#undef X
	FEATURE_COUNT
};

/* Cached. */
bool feature_supported(enum feature f);
/* For people: its name; what is lost without it; whether nothing works without it. */
const char *feature_name(enum feature f);
const char *feature_without(enum feature f);
bool feature_essential(enum feature f);
/* Why it failed, or NULL: "Operation not permitted". */
const char *feature_reason(enum feature f);

/* The running kernel's types, read once and never freed; NULL: none. */
const struct kernel_btf *feature_kernel_btf(void);
/* The kernel's id of a struct for bpf_rdonly_cast(); 0: not known, or there is no such function. */
uint32_t feature_cast_id(const char *struct_name);
/* Is there this typed tracepoint ("btf_trace_inet_sock_set_state")? */
bool feature_has_tracepoint(const char *typedef_name);

/*
 * May we read the sources of names and unwind tables? Each function tries an object of our own that only the right in
 * question opens, so no other user's process is needed. 0 or a negative errno.
 */

/* /proc/PID/maps and root of another user's process: CAP_SYS_PTRACE. */
int rights_try_others_maps(void);
/* A file whose mode denies us access: CAP_DAC_READ_SEARCH. */
int rights_try_others_files(void);
/* /proc/PID/map_files, which also gives deleted files: CAP_CHECKPOINT_RESTORE. */
int rights_try_map_files(void);

#endif
