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
 * Turns kernel records into a profile. Stacks are symbolized as they arrive, while the process is alive. Sums stay
 * under the kernel's ids until the end, when all threads are known. Only the symbolizer touches the system, so tests
 * can feed records, too.
 */
struct fold;

/* max_depth: at most this many innermost frames of a stack are kept. */
struct fold *fold_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth);
void fold_free(struct fold *f);

/* Adds lines and inlined functions. Call it before the first stack. Stacks get their nodes in fold_finish() then. */
void fold_with_lines(struct fold *f);

/* Adds the service of each thread, read from /proc. */
void fold_with_services(struct fold *f);

/* Records of the ring buffer. A record with an impossible size is dropped and counted. */
void fold_stack(struct fold *f, const struct offcpu_rec_stack *rec, size_t size);
void fold_sleep_path(struct fold *f, const struct offcpu_rec_sleep_path *rec, size_t size);
/* Each takes a struct offcpu_rec_NAME. fold_gil() takes a language record with the holder of a GIL. */
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
/* The route of a request, and its process. */
struct fold_route {
	GString *text;	/* "POST /order/create", or "" without a route; owned by the caller */
	/* of its process: as in the rows of its threads; calls_itself: as in its context; NULL: unknown */
	const char *process, *service, *calls_itself;
};
/* False: the record is malformed. The caller frees the text in either case. */
bool fold_route(struct fold *f, const void *rec, size_t size, struct fold_route *ret);
/* The thread and states that it adds to the profile do not change later. */
void fold_thread(struct fold *f, const struct offcpu_rec_thread *rec, size_t size);
/* A sum of waits from wait_table_read(). */
void fold_sum(struct fold *f, const struct offcpu_wait_slot *sum);
/*
 * The window is cut into slices, with slice_ns and start_ns as the kernel programs have them. After fold_slices_at(),
 * sums are of waits that ended shortly before now_ns. It returns the number of kernel slices per slice, as a power of
 * two.
 */
void fold_with_slices(struct fold *f, uint64_t slice_ns, uint64_t start_ns);
unsigned fold_slices_at(struct fold *f, uint64_t now_ns);
/* Samples of threads on CPU, in slices of slice_ns. */
void fold_on_cpu(struct fold *f, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns);
/* Looks at what changes meanwhile: whether servers rest; with slices at perf maps. Call it a few times a second. */
void fold_poll(struct fold *f);
/* `cnt` sums with different keys will follow: see sums_expect(). */
void fold_expect_sums(struct fold *f, size_t cnt);

/* Part of a chain for the sum with the same key, added up until fold_finish(). */
void fold_chain_sum(struct fold *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum);

/* No more threads arrive: adds rows for threads that waited but have no account. fold_finish() calls it if needed. */
void fold_finish_threads(struct fold *f);
/* Turns all sums and open waits into the profile's waits. The window must be known. */
void fold_finish(struct fold *f);
/* The window ends at edge_ns: later records belong to the next one. */
void fold_cut(struct fold *f, uint64_t edge_ns);
/*
 * After fold_finish(): begins an empty window. Stacks, wakers and objects stay known; the profile's rows are removed.
 */
void fold_begin_window(struct fold *f);

/* Number of rows that are sent once: stacks, wakers, objects. */
size_t fold_crossed_cnt(const struct fold *f);
/*
 * Call it between two windows, after the kernel programs have forgotten: frees the rows not used since the last call.
 * are_windows_gone: no window's profile is left, so objects and wakers are removed from the profile, and frames,
 * nodes and strings that are no longer used. Not with lines.
 */
void fold_forget(struct fold *f, bool are_windows_gone);
/* Adds to the profile how long cgroup CPU quotas throttled each thread. Not with blame, whose sums contain it. */
void fold_finish_throttled(struct fold *f);

uint64_t fold_stack_cnt(const struct fold *f);
/* Number of sums of waits and of on-CPU samples so far. */
size_t fold_sum_cnt(const struct fold *f);
/* The node of a stack id. False: it has not arrived. */
bool fold_find(const struct fold *f, uint64_t id, uint32_t *ret_node);
/* The profile's row of a thread. False: it has not arrived. */
bool fold_find_thread(const struct fold *f, uint32_t tno, uint32_t *ret_thread);
/* Has a thread waited whose account has not arrived? Sums that were found complete are not checked again. */
bool fold_lacks_thread(struct fold *f);
/* Names of the reasons for which Go's runtime parks goroutines, by its numbers. They must outlive the fold. */
void fold_set_park_names(struct fold *f, const char *const *names, unsigned cnt);
/* Before fold_finish(): which open waits belong to requests whose begin was not seen; borrowed. */
struct open_requests;
void fold_set_open_requests(struct fold *f, struct open_requests *requests);
/* After fold_finish(): what requests of similar latency did, with ids of the profile. */
struct request_part fold_request_part(struct fold *f, const struct offcpu_request_part_key *key,
				      const struct offcpu_request_part *part);
struct span_wait fold_span_wait(struct fold *f, const struct offcpu_request_note *note);
/*
 * The object of a wait, index + 1, by its stacks and the id of its futex or other object. 0: none. waker: the id of
 * the waker or the chain.
 */
uint32_t fold_object_of(struct fold *f, uint64_t id, uint64_t waker, uint32_t user, uint32_t kernel);
/* After fold_finish(): adds how the waits for TCP sockets were spent. sums: struct fold_tcp_sum. */
struct fold_tcp_sum {
	struct tcp_sum_key key;
	struct tcp_sum sum;
};
void fold_tcp_sums(struct fold *f, const GArray *sums);
/* The profile's row of a waker. False: it has not arrived. Stacks that have not arrived become "pending". */
bool fold_find_waker(struct fold *f, uint64_t id, uint32_t *ret_waker);

#endif
