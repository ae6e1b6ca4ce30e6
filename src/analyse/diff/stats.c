/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/stats.h"

#include <math.h>
#include <stdlib.h>

#include "profile/profile.h"

#define SLOT_MEAN 1.5	      /* mean of durations uniform on [1, 2) */
#define SLOT_SQUARE (7.0 / 3) /* mean of their squares */

double stats_squares(const uint32_t *hist, uint64_t sum_ns, uint64_t max_ns)
{
	double cnt = 0, sum = 0, squares = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		double low = (double)(UINT64_C(1) << i);

		cnt += hist[i];
		sum += hist[i] * SLOT_MEAN * low;
		squares += hist[i] * SLOT_SQUARE * low * low;
	}
	if (cnt <= 0)
		return (double)sum_ns * (double)sum_ns;
	/* The sum tells where in their slots durations lie on average. */
	double scale = (double)sum_ns / sum, least = (double)sum_ns * (double)sum_ns / cnt;
	squares *= scale * scale;
	squares = fmin(squares, (double)sum_ns * (double)max_ns);
	return fmax(squares, least);
}

double stats_thread_variance(double squares, uint64_t sum_ns, double cnt, uint64_t observed_ns, bool are_all)
{
	double share = observed_ns ? fmin((double)sum_ns / (double)observed_ns, 1) : 0;

	/* The time of a thread that does nothing else hardly varies, but few waits do not prove that. */
	return squares * fmax((1 - share) * (1 - share), are_all ? 0 : 1 / (cnt + 1));
}

double stats_dof(const struct stats_term *terms, size_t cnt)
{
	double sum = 0, below = 0;

	for (size_t i = 0; i < cnt; i++) {
		sum += terms[i].variance;
		if (terms[i].dof > 0)
			below += terms[i].variance * terms[i].variance / terms[i].dof;
	}
	return below > 0 ? fmax(sum * sum / below, 1) : 1e9;
}

/* Continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	f = d;
	for (int m = 1; m <= 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		f *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		f *= c * d;
		if (fabs(c * d - 1) < 1e-14)
			break;
	}
	return f;
}

static double incomplete_beta(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_p(double t, double dof)
{
	if (!(fabs(t) < INFINITY))
		return isnan(t) ? 1 : 0;
	if (dof > 1e6)	/* indistinguishable from a normal distribution */
		return erfc(fabs(t) / sqrt(2));
	return incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_threshold(double *p, size_t cnt, double q)
{
	if (cnt)
		qsort(p, cnt, sizeof(*p), compare_doubles);
	for (size_t i = cnt; i-- > 0;)
		if (p[i] <= q * (double)(i + 1) / (double)cnt)
			return p[i];
	return -1;
}

/* of a slot's lower end: half the standard deviation of a uniform distribution over the slot */
#define SLOT_ERROR 0.15

static double count_of(const uint64_t *hist)
{
	double cnt = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		cnt += (double)hist[i];
	return cnt;
}

/* How far up in their slots durations lie on average, relative to uniform ones. */
static double lift_of(const struct stats_durations *d)
{
	double even = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		even += (double)d->hist[i] * SLOT_MEAN * (double)(UINT64_C(1) << i);
	return even > 0 ? (double)d->sum_ns / even : 1;
}

/* The duration at that rank, and the lower end of its slot. */
static double at_rank(const struct stats_durations *d, double rank, double *ret_low)
{
	double below = 0, last = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		double low = (double)(UINT64_C(1) << i), n = (double)d->hist[i];

		if (d->hist[i] && rank <= below + n) {
			double even = low * (1 + fmax(rank - below, 0) / n), high = fmin(2 * low, (double)d->max_ns);

			*ret_low = low;
			return fmax(fmin(even * lift_of(d), high), low);
		}
		below += n;
		last = d->hist[i] ? low : last;
	}
	*ret_low = last;
	return (double)d->max_ns;
}

double stats_mean_of_most(const struct stats_durations *d, double share)
{
	double out = share * (double)d->sum_ns / fmax(lift_of(d), 1e-9), left = count_of(d->hist);

	if (left <= 0)
		return 0;
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		double n = (double)d->hist[i], time = n * SLOT_MEAN * (double)(UINT64_C(1) << i);

		/* assumes that durations in a slot are equal, so that the mean of equal ones is exact */
		if (time >= out) {
			left -= time > 0 ? n * out / time : 0;
			break;
		}
		out -= time;
		left -= n;
	}
	return (1 - share) * (double)d->sum_ns / fmax(left, 1 - share);
}

double stats_quantile(const struct stats_durations *d, double share)
{
	double low, cnt = count_of(d->hist);

	return cnt > 0 ? at_rank(d, share * cnt, &low) : 0;
}

double stats_quantile_error(const struct stats_durations *d, double share, double alike)
{
	double cnt = count_of(d->hist), low, ignored;
	double rank = share * cnt, off = sqrt(cnt * share * (1 - share) * fmax(alike, 1));

	if (cnt <= 0)
		return 0;
	double at = at_rank(d, rank, &low);
	double up = at_rank(d, fmin(rank + off, cnt), &ignored) - at,
	       down = at - at_rank(d, fmax(rank - off, 0), &ignored);
	/* Nothing is known above the maximum, so the distance below is used for both directions. */
	return hypot(fmax(up, down), SLOT_ERROR * low);
}
