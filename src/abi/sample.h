/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_H
#define SAMPLE_H

/*
 * Duration-weighted sampling, the same arithmetic in the BPF programs and in the tests.
 *
 * A wait of duration d below the scale S is kept with probability p = c / S, where c is d, but no less than S /
 * 16,384, and then stands for 1 / p waits (Horvitz and Thompson). Its time counts as t = d / p, which is S except for
 * the shortest waits.  A wait of S or more is always kept and stands for itself.  So every sum of times and every
 * count is unbiased, even if S changes, and no wait counts for more than 16,384. An unbiased estimate of the variance
 * of a sum of times is the sum over the kept waits below S of
 *
 *   (1 - p) / p^2 * d^2 = t * (t - d)
 *
 * Its expectation is d * (t - d) per wait, so at most S times the time concerned. The accounts know that time exactly,
 * which bounds the error of any part of a recording.
 */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define SAMPLE_SCALE_MAX_NS 52428800000ULL	/* below 2^36, which the products here require */
#define SAMPLE_COUNTS_SHIFT 14			/* a wait counts as at most 2^14 */
#define SAMPLE_ONE_Q8 256			/* one wait; counts are in units of 1/256 */
/* Variances are in units of 2^20 ns^2, rounded: one wait adds less than 2^52, so a sum has room for 2^12. */
#define SAMPLE_VARIANCE_SHIFT 20

static inline __u64 sample_least_ns(__u64 scale_ns)
{
	return (scale_ns >> SAMPLE_COUNTS_SHIFT) + 1;
}

#define SAMPLE_DRAW_BITS 28	/* with the highest scale the product has 64 bits; the smallest chance is 2^-14 */

/* A wait longer than this is kept. draw: SAMPLE_DRAW_BITS uniform bits, which is the precision of the probability. */
static inline __u64 sample_bar_ns(__u64 scale_ns, __u32 draw)
{
	__u64 bar_ns = draw * scale_ns >> SAMPLE_DRAW_BITS;

	return bar_ns < sample_least_ns(scale_ns) ? 0 : bar_ns;
}

/* p is this over scale_ns. duration_ns: above 0 and below scale_ns, here and in the next three functions. */
static inline __u64 sample_chance_ns(__u64 duration_ns, __u64 scale_ns)
{
	__u64 least_ns = sample_least_ns(scale_ns);

	return duration_ns < least_ns ? least_ns : duration_ns;
}

/* How many waits a kept one stands for. */
static inline __u64 sample_weight_q8(__u64 chance_ns, __u64 scale_ns)
{
	return (scale_ns * SAMPLE_ONE_Q8 + chance_ns / 2) / chance_ns;
}

/* What part_ns of a kept wait's duration counts, or all of it. Precise to 2^-18 if the product exceeds 63 bits. */
static inline __u64 sample_part_ns(__u64 part_ns, __u64 chance_ns, __u64 scale_ns)
{
	if (chance_ns >> 27) {
		part_ns >>= 9;
		chance_ns >>= 9;
	}
	return part_ns * scale_ns / chance_ns;
}

/* counts_ns: what the whole duration counts. */
static inline __u64 sample_variance(__u64 duration_ns, __u64 counts_ns)
{
	__u64 more_ns = counts_ns - duration_ns;

	if (counts_ns >> 31)
		return (counts_ns >> SAMPLE_VARIANCE_SHIFT / 2) * (more_ns >> SAMPLE_VARIANCE_SHIFT / 2);
	return (counts_ns * more_ns + (1ULL << (SAMPLE_VARIANCE_SHIFT - 1))) >> SAMPLE_VARIANCE_SHIFT;
}

/* A wait's time, by class. */
struct wait_parts {
	__u64 blocked_ns, runnable_ns, preempted_ns;
};

/* A wait as it is summed: for itself, or for all that it stands for. */
struct kept_wait {
	struct wait_parts parts;
	__u64 duration_ns, delay_ns;	/* its own; from the waking to the CPU */
	__u64 weight_q8;
	__u64 variance;
};

static inline _Bool sample_is_kept(__u64 duration_ns, __u32 draw, __u64 scale_ns)
{
	return duration_ns >= scale_ns || duration_ns > sample_bar_ns(scale_ns, draw);
}

static inline void sample_keep_alone(const struct wait_parts *parts, struct kept_wait *kept)
{
	kept->parts = *parts;
	kept->duration_ns = parts->blocked_ns + parts->runnable_ns + parts->preempted_ns;
	kept->delay_ns = parts->runnable_ns;
	kept->weight_q8 = SAMPLE_ONE_Q8;
	kept->variance = 0;
}

/* The sums of a kept wait. Of its parts only runnable occurs together with one of the others. */
static inline void sample_wait(const struct wait_parts *parts, __u64 duration_ns, __u64 scale_ns,
			       struct kept_wait *kept)
{
	__u64 chance_ns, counts_ns;

	if (duration_ns >= scale_ns) {
		sample_keep_alone(parts, kept);
		return;
	}
	chance_ns = sample_chance_ns(duration_ns, scale_ns);
	counts_ns = sample_part_ns(duration_ns, chance_ns, scale_ns);
	kept->duration_ns = duration_ns;
	kept->delay_ns = parts->runnable_ns;
	kept->parts.blocked_ns = sample_part_ns(parts->blocked_ns, chance_ns, scale_ns);
	kept->parts.preempted_ns = sample_part_ns(parts->preempted_ns, chance_ns, scale_ns);
	kept->parts.runnable_ns = counts_ns - kept->parts.blocked_ns - kept->parts.preempted_ns;
	kept->weight_q8 = sample_weight_q8(chance_ns, scale_ns);
	kept->variance = sample_variance(duration_ns, counts_ns);
}

#endif
