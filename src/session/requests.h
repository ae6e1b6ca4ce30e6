/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_REQUESTS_H
#define SESSION_REQUESTS_H

#include <glib.h>
#include <stdbool.h>

#include "abi/offcpu_abi.h"
#include "abi/request_abi.h"
#include "session/request_plan.h"

/* Requests while they are traced (bpf/request.bpf.h): their probes, the places they return to, their sums. */
struct offcpu_bpf;
struct requests;

/* Before the programs are loaded.  plan: NULL, and then nothing of it is loaded. */
struct requests *requests_new(struct offcpu_bpf *skel, const struct request_plan *plan, bool keeps_waits, unsigned thread_cnt);
/* Takes all probes away; NULL is fine. */
void requests_free(struct requests *r);

/* Once they are loaded.  False with a sentence where the kernel refuses a probe. */
bool requests_attach(struct requests *r, GError **error);

/* A request returns to a place that has no probe yet. */
void requests_take_site(struct requests *r, const void *record, size_t size);
/* One request, for the recording; the kernel is told which others are wanted. */
void requests_take_span(struct requests *r, const void *record, size_t size);
/* Are there calls whose return is told by where it goes, as of functions? */
bool requests_have_sites(const struct requests *r);
/* Places that were asked for so far. */
unsigned requests_site_cnt(const struct requests *r);

/* Sums of a function, of all CPUs. */
void requests_read(const struct requests *r, uint32_t func, struct offcpu_request_sum *ret_sum);
/* All calls of a function, where there are several; else false. */
bool requests_read_calls(const struct requests *r, uint32_t func, struct offcpu_request_calls *ret_calls);
struct fold;
struct profile;
/* After fold_finish(): sums, parts and spans go into the profile. */
void requests_finish(struct requests *r, struct fold *fold, struct profile *p);
/* When the window is over: those that are in no sum. */
void requests_read_counts(const struct requests *r, uint64_t start_ns, uint64_t stop_ns,
			  struct offcpu_loss_count ret_counts[OFFCPU_REQUEST_COUNT]);
/* Places that cannot have a probe; why, of the last of them, or NULL. */
unsigned requests_refused(const struct requests *r, const char **ret_why);

#endif
