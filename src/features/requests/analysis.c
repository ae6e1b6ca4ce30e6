/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/analysis.h"

#include <glib.h>

uint64_t request_percentile(const struct offcpu_request_sum *sum, double share)
{
	uint64_t all = 0, seen = 0;

	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		all += sum->hist[i];
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++) {
		double wanted = share * (double)all - (double)seen;
		uint64_t low = request_slot_low(i), high = request_slot_high(i);

		if (sum->hist[i] && wanted <= (double)sum->hist[i]) {
			uint64_t at = low + (uint64_t)((double)(high - low) * MAX(wanted, 0) / (double)sum->hist[i]);

			return MIN(at, MAX(sum->max_ns, low));
		}
		seen += sum->hist[i];
	}
	return sum->max_ns;
}

void request_octaves(const struct offcpu_request_sum *sum, uint64_t ret_counts[REQUEST_OCTAVES])
{
	for (unsigned i = 0; i < REQUEST_OCTAVES; i++)
		ret_counts[i] = 0;
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++) {
		uint64_t low = request_slot_low(i);
		unsigned octave = low ? 63 - (unsigned)__builtin_clzll(low) : 0;

		ret_counts[MIN(octave, REQUEST_OCTAVES - 1)] += sum->hist[i];
	}
}

static gint longest_first(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct profile *p = data;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = wait_off_cpu_ns(profile_wait(p, i)), y = wait_off_cpu_ns(profile_wait(p, k));

	return x != y ? (x < y ? 1 : -1) : (i > k) - (i < k);
}

GArray *requests_open_waits(const struct profile *p)
{
	GArray *waits = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	/* a recording of requests contains only their waits */
	for (uint32_t i = 0; p->info.has_requests && i < p->waits->len; i++)
		if (profile_wait(p, i)->flags & WAIT_OPEN_AT_END)
			g_array_append_val(waits, i);
	g_array_sort_with_data(waits, longest_first, (gpointer)p);
	return waits;
}
