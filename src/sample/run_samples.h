/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_RUN_SAMPLES_H
#define SAMPLE_RUN_SAMPLES_H

#include "sample/parts.h"

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
