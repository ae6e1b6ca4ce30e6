/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_ON_CPU_H
#define SESSION_ON_CPU_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct fold;
struct offcpu_bpf;
struct profile;

/* Samples of what runs on each CPU: bpf/oncpu.bpf.h is the kernel's half. */

struct on_cpu;

/*
 * Before the programs are loaded.  hz: samples a second of each CPU, 0: none, and NULL is returned, which the others take.  budget_ppm:
 * of all CPUs' time; half of it is what samples may take before their rate is halved; 0: whatever they take.
 */
struct on_cpu *on_cpu_new(struct offcpu_bpf *skel, uint32_t hz, uint32_t budget_ppm, uint64_t slice_ns);
void on_cpu_free(struct on_cpu *o);

/* Once they are loaded: the timers begin.  False with a sentence. */
bool on_cpu_start(struct on_cpu *o, GError **error);
/* Now and then: takes out what is complete, looks for CPUs that came up, and at the cost. */
void on_cpu_drain(struct on_cpu *o, struct fold *f, uint64_t start_ns);
/* A window is cut, and no program adds to its half of the sums any more. */
void on_cpu_cut(struct on_cpu *o, struct fold *f, bool second);
/* The window is over, and no program adds anything any more. */
void on_cpu_stop(struct on_cpu *o, struct fold *f);
void on_cpu_fill_info(const struct on_cpu *o, struct profile *p);

#endif
