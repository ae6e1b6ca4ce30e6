/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_IDLE_ENDED_H
#define ANALYSE_REASON_IDLE_ENDED_H

#include "analyse/reason/idle.h"

/* Of idle.c: who ends what each thread waits for. */

/* Who ended the sleeps of a wait row, in blocked time. */
struct ended {
	uint64_t peers_ns; /* threads of its own role */
	uint64_t passed_ns; /* the same, if the waker was in the waiting function: it may only pass on a wakeup */
	uint64_t process_ns; /* other threads of its process */
	uint64_t timer_ns;
	uint64_t others_ns; /* other processes, interrupts */
	uint64_t children_ns; /* processes of a command that began after this one */
	uint64_t begun_ns; /* processes that began in the window, after this one */
	uint64_t upstream_ns; /* part of it: the process that the loop has asked */
	uint64_t broadcast_ns; /* by threads that a broadcast had woken */
	uint64_t tcp_ns; /* by data that came by TCP */
	uint64_t room_ns; /* by a reader that made room in a pipe or socket */
	uint64_t busy_ns; /* by a thread of another process, in memory that both have, which was mostly busy */
	uint64_t notice_ns; /* by a server that forwarded a notification to a listening client */
	uint64_t cnt, timer_cnt, upstream_cnt; /* number of sleeps; ended by a timer; as upstream_ns */
	uint32_t asks_by; /* see note_question(): such a socket; 0: none */
	bool asks_anew; /* by several of them */
};

struct role_facts {
	uint64_t asleep_ns; /* at all places that could be idle */
	uint64_t on_cpu_ns, wakings, questions; /* questions: waits for answers */
	uint64_t sources; /* waits for what brings it work, other than threads: clients, input, its own clock */
	uint16_t base_depth; /* depth of the outermost place that could be idle; UINT16_MAX: none */
	uint16_t work_depth; /* depth of the outermost place that cannot be idle */
	uint16_t busy_depth;	/* the same, including sleeps until a timer */
	bool parks; /* has a place to wait for work other than a sleep */
	bool serves; /* waits for requests of clients, each on its connection */
};

struct finder {
	const struct profile *p;
	struct plumbing *pl;
	const struct rule *const *rule;
	uint8_t *reason, *idle;
	struct roles *roles;
	struct role_facts *facts; /* by role */
	uint16_t *depth; /* by user node: number of the program's functions on its path */
	struct ended *ended; /* by wait */
	struct ended *of_object; /* by object: of all waits for it */
	struct ended *of_place; /* by user node: of all threads that wait there */
	GHashTable *waits_for; /* pairs of a thread and an object */
	GHashTable *waited_for; /* pids of children whose exit others wait for */
	GHashTable *serving; /* pids: see idle_serving_new() */
	bool has_several; /* processes of one kind: see idle_has_several() */
	const char *ranks; /* the program whose processes wait for one another (MPI); NULL: none */
	bool is_whole; /* a recording of the whole machine */
	bool is_command; /* all processes descend from one that was started for the recording */
	uint64_t first_start_ns; /* of the first process */
};

static inline uint64_t ended_sum(const struct ended *e)
{
	return e->peers_ns + e->passed_ns + e->process_ns + e->timer_ns + e->others_ns;
}

/* By user node: number of the program's functions on its path. */
uint16_t *ended_depths_new(const struct profile *p, const struct plumbing *pl);
/* Fills in what of the finder tells who ends waits; it has roles, facts and depths. */
void ended_find(struct finder *f);

/* An accepted connection: the wait is for the client's next request, or more of the current one. */
bool ended_is_served(const struct finder *f, uint32_t wait);
/* A poll on a single accepted connection: its client has not asked anything yet. */
bool ended_is_for_next_request(const struct finder *f, uint32_t wait);
/* A datagram socket that is made for each question: the wait is for answers. */
bool ended_is_udp_question(const struct finder *f, const struct wait *w);

#endif
