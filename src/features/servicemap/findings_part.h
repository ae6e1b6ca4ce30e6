/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SERVICEMAP_FINDINGS_PART_H
#define FEATURES_SERVICEMAP_FINDINGS_PART_H

#include "features/servicemap/findings.h"

/* Between service_map.c, which gathers, and service_graph.c, which joins. */

struct service_asked {
	uint64_t ns;		/* waited for that address by threads that say so; 0: an event loop is connected there */
	GPtrArray *locals;	/* const char *: the own ends of its connections to there */
};

/* A service on a host. */
struct service_instance {
	const char *host, *service;
	uint64_t own_ns[REASON_COUNT];	/* that of REASON_ON_CPU is time on CPU */
	uint64_t loop_ns;	/* in event loops */
	bool has_asked;		/* such a loop has asked somebody */
	GHashTable *asked;	/* address -> struct service_asked */
};

struct service_map {
	uint64_t from_unix_ns, to_unix_ns;
	GPtrArray *instances;	/* struct service_instance, in the order in which they came */
	GHashTable *by_name;	/* "host\nservice" -> the same */
	GHashTable *observed;	/* host -> uint64_t * */
	GArray *rows;		/* struct peer_row, of who serves */
	GHashTable *by_end;	/* an end of these, either one -> GArray of their indices */
	GStringChunk *texts;
};

/* Times come from anybody: a sum stops at what a time may be. */
static inline void service_add_ns(uint64_t *to, uint64_t ns)
{
	*to += MIN(ns, PROFILE_NS_MAX - MIN(*to, PROFILE_NS_MAX));
}

#endif
