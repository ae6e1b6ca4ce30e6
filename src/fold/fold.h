/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_FOLD_H
#define FOLD_FOLD_H

#include "abi/object_abi.h"
#include "features/oncpu/abi.h"
#include "abi/target_abi.h"
#include "features/network/tcp_abi.h"
#include "abi/language_abi.h"
#include "abi/offcpu_abi.h"
#include "features/requests/abi.h"
#include "profile/profile.h"
#include "features/requests/rows.h"
#include "symbolize/symbolize.h"

/*
 * Kernel records to profile.  Stacks are symbolized as they arrive, while the process is
 * alive; sums are kept under the kernel's ids until the end, when all threads are known.
 * Pure but for the symbolizer: fed from tests as well as from the ring buffer.
 */
struct fold;

/* max_depth: frames of one stack that are kept, the innermost. */
struct fold *fold_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth);
void fold_free(struct fold *f);

/* With lines and inlined functions; before the first stack.  Then stacks have no nodes before fold_finish(). */
void fold_with_lines(struct fold *f);

/* Threads are told with what they belong to; /proc is read for that. */
void fold_with_services(struct fold *f);

/* Records from the ring buffer.  A record of impossible size is dropped and counted. */
void fold_stack(struct fold *f, const struct offcpu_rec_stack *rec, size_t size);
void fold_sleep_path(struct fold *f, const struct offcpu_rec_sleep_path *rec, size_t size);
/* Each takes a struct offcpu_rec_NAME, fold_gil() that of a language: who held a GIL. */
void fold_chain(struct fold *f, const void *rec, size_t size);
void fold_earlier(struct fold *f, const void *rec, size_t size);
void fold_context(struct fold *f, const void *rec, size_t size);
void fold_gil(struct fold *f, const void *record, size_t size);
void fold_kernel_lock(struct fold *f, const void *rec, size_t size);
void fold_language(struct fold *f, const void *rec, size_t size);
void fold_object(struct fold *f, const void *rec, size_t size);
void fold_sleep(struct fold *f, const void *rec, size_t size);
void fold_target(struct fold *f, const void *rec, size_t size);
void fold_trace(struct fold *f, const void *rec, size_t size);
void fold_waker(struct fold *f, const void *rec, size_t size);
/* What such a record says of a request, and of whom. */
struct fold_route {
	GString *text;	/* "POST /order/create"; "": no route.  The caller's. */
	/* of its process, as rows of its threads have them, and as it calls itself in its context; NULL: not known */
	const char *process, *service, *calls_itself;
};
/* False: it is no sound one; the text is the caller's all the same. */
bool fold_route(struct fold *f, const void *rec, size_t size, struct fold_route *ret);
/* What it adds to the profile, a thread and its states, stays as it is. */
void fold_thread(struct fold *f, const struct offcpu_rec_thread *rec, size_t size);
/* A sum of waits, as wait_table_read() hands it over. */
void fold_sum(struct fold *f, const struct offcpu_wait_slot *sum);
/*
 * When the window is cut into slices as the programs were told.  From fold_slices_at() on, sums are such as ended not
 * long before now_ns; it returns how many of the programs' slices are one, as a power of two.
 */
void fold_with_slices(struct fold *f, uint64_t slice_ns, uint64_t start_ns);
unsigned fold_slices_at(struct fold *f, uint64_t now_ns);
/* Samples of threads on CPU, in slices of slice_ns each. */
void fold_on_cpu(struct fold *f, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns);
/* So many of different keys will come: see sums_expect(). */
void fold_expect_sums(struct fold *f, size_t cnt);

/* What chains tell of the sum with the same key; added up until fold_finish(). */
void fold_chain_sum(struct fold *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum);

/*
 * All has arrived: who waited and has no account gets a row, and no thread is added any more.  fold_finish() does it
 * where it was not done.
 */
void fold_finish_threads(struct fold *f);
/* Turns all sums and open waits into the profile's waits.  Its window is known. */
void fold_finish(struct fold *f);
/* The window ends at edge_ns: records of what was behind are of the next one. */
void fold_cut(struct fold *f, uint64_t edge_ns);
/*
 * After fold_finish(): another window begins, of which nothing has come yet.  Stacks, wakers and objects stay known,
 * the profile's rows go.
 */
void fold_begin_window(struct fold *f);

/* Rows of what crossed once: stacks, wakers, objects. */
size_t fold_crossed_cnt(const struct fold *f);
/*
 * Between two windows, when the kernel's programs have forgotten what crossed: those rows are freed that were not met
 * since the last time.  are_windows_gone: no window's profile is left, so objects and wakers in it go, and all frames,
 * nodes and strings that are not of what is still known.  Not with lines.
 */
void fold_forget(struct fold *f, bool are_windows_gone);
/* Tells the profile what cgroups' CPU quotas took of each thread.  Not with blame, which has the same in its sums. */
void fold_finish_throttled(struct fold *f);

uint64_t fold_stack_cnt(const struct fold *f);
/* Of waits and of samples on CPU, so far. */
size_t fold_sum_cnt(const struct fold *f);
/* The node of a stack id; false when it has not arrived. */
bool fold_find(const struct fold *f, uint64_t id, uint32_t *ret_node);
/* The profile's row of a thread; false when it has not arrived. */
bool fold_find_thread(const struct fold *f, uint32_t tno, uint32_t *ret_thread);
/* Has a thread waited whose account has not arrived?  Looks at none again that has. */
bool fold_lacks_thread(struct fold *f);
/* What Go's runtime says that goroutines are parked for, by its numbers; the names must outlive the fold. */
void fold_set_park_names(struct fold *f, const char *const *names, unsigned cnt);
/* Before fold_finish(): which open waits are of requests that began unseen; borrowed. */
struct open_requests;
void fold_set_open_requests(struct fold *f, struct open_requests *requests);
/* After fold_finish(): what requests of alike latency did, by the profile's ids. */
struct request_part fold_request_part(struct fold *f, const struct offcpu_request_part_key *key,
				      const struct offcpu_request_part *part);
struct span_wait fold_span_wait(struct fold *f, const struct offcpu_request_note *note);
/*
 * The profile's object + 1 of a wait with these stacks; a futex, or whatever else: ids of both are hashes.  0: none.
 * waker: the id of who ended it, or of the chain.
 */
uint32_t fold_object_of(struct fold *f, uint64_t id, uint64_t waker, uint32_t user, uint32_t kernel);
/*
 * After fold_finish(): what waits for TCP sockets went on.  sums: struct fold_tcp_sum.
 */
struct fold_tcp_sum {
	struct tcp_sum_key key;
	struct tcp_sum sum;
};
void fold_tcp_sums(struct fold *f, const GArray *sums);
/* The profile's row of a waker; false when it has not arrived.  Stacks that have not either show as pending. */
bool fold_find_waker(struct fold *f, uint64_t id, uint32_t *ret_waker);

#endif
