/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_REQUESTS_H
#define SESSION_REQUESTS_H

#include <glib.h>
#include <stdbool.h>

#include "abi/offcpu_abi.h"
#include "abi/request_abi.h"
#include "profile/profile.h"
#include "session/request_plan.h"

/* Requests while they are traced (bpf/request.bpf.h): their probes, the places they return to, their sums. */
struct requests;

/* Sums of a function, of all CPUs. */
void requests_read(const struct requests *r, uint32_t func, struct offcpu_request_sum *ret_sum);
/* All calls of a function, where there are several; else false. */
bool requests_read_calls(const struct requests *r, uint32_t func, struct offcpu_request_calls *ret_calls);
/* Those that go on as the window ends, also those that had begun before it. */
struct requests_open {
	uint64_t count;
	uint64_t longest_ns;	/* so far */
	bool is_longer;		/* it began before the window, and nothing tells when */
	uint32_t func;		/* of that one; UINT32_MAX: not known */
};

/* When the profile is finished: those that are in no sum. */
void requests_read_counts(const struct requests *r, uint64_t start_ns, uint64_t stop_ns,
			  struct offcpu_loss_count ret_counts[OFFCPU_REQUEST_COUNT], struct requests_open *ret_open);
/* As losses of the profile. */
void requests_add_losses(struct profile *p, const struct offcpu_loss_count counts[OFFCPU_REQUEST_COUNT]);
/* Places that were asked for so far. */
unsigned requests_site_cnt(const struct requests *r);
/* Places, of functions or of returns to them, that cannot have a probe; why, of the last of them, or NULL. */
unsigned requests_refused(const struct requests *r, const char **ret_why);

#endif
