/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_H
#define SAMPLE_H

/*
 * Duration-weighted sampling, the same arithmetic in the BPF programs and in the tests.
 *
 * A wait of duration d below the scale S is kept with probability p = d / S, and then stands
 * for 1 / p of its kind (Horvitz and Thompson): its time counts as d / p = S, itself as S / d
 * waits.  A wait of S or more is always kept and stands for itself.  So every sum of times
 * and every count is unbiased, whatever S was for each wait.  The variance of a sum of times is
 * estimated, unbiased as well, by the sum over the kept waits below S of
 *
 *   (1 - p) / p^2 * d^2 = S * S - S * d
 *
 * Its expectation is d * (S - d) a wait, so never above S times the time concerned: that
 * bounds the error of any part of a recording by what the accounts know exactly.
 */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define SAMPLE_SCALE_MAX_NS 1638400000ULL	/* below 2^31: no product here passes 63 bits */
#define SAMPLE_ONE_Q8 256			/* one wait; counts are in units of 1/256 */
/* Variances are in units of 4,096 ns^2: one wait adds less than 2^50, so a sum has room for 2^14. */
#define SAMPLE_VARIANCE_SHIFT 12

/* random: 32 uniform bits.  Exact to 2^-32. */
static inline int sample_keeps(__u64 duration_ns, __u64 scale_ns, __u32 random)
{
	return random * scale_ns < duration_ns << 32;
}

/* How many waits a kept one stands for.  duration_ns: above 0, below scale_ns, as everywhere below. */
static inline __u64 sample_weight_q8(__u64 duration_ns, __u64 scale_ns)
{
	return (scale_ns * SAMPLE_ONE_Q8 + duration_ns / 2) / duration_ns;
}

/* What a part of a kept wait's duration counts; of the whole of it, scale_ns. */
static inline __u64 sample_part_ns(__u64 part_ns, __u64 duration_ns, __u64 scale_ns)
{
	return part_ns * scale_ns / duration_ns;
}

static inline __u64 sample_variance(__u64 duration_ns, __u64 scale_ns)
{
	return scale_ns * (scale_ns - duration_ns) >> SAMPLE_VARIANCE_SHIFT;
}

#endif
