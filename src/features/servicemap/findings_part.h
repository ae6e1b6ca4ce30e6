/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SERVICEMAP_FINDINGS_PART_H
#define FEATURES_SERVICEMAP_FINDINGS_PART_H

#include "features/servicemap/findings.h"

/* Shared by findings.c, which collects, and findings_graph.c, which builds the graph. */

struct service_asked {
	/* time of threads whose waits name that address; 0: an event loop is connected to it */
	uint64_t ns;
	GPtrArray *locals;	/* const char *: local ends of its connections to that address */
};

/* A service on a host. */
struct service_instance {
	const char *host, *service;
	uint64_t own_ns[REASON_COUNT];	/* [REASON_ON_CPU] is time on CPU */
	uint64_t loop_ns;	/* idle time in event loops */
	bool has_asked;		/* at least one of these loops has asked somebody */
	GHashTable *asked;	/* address -> struct service_asked */
};

struct service_map {
	uint64_t from_unix_ns, to_unix_ns;
	GPtrArray *instances;	/* struct service_instance, in order of arrival */
	GHashTable *by_name;	/* "host\nservice" -> the same instances */
	GHashTable *observed;	/* host -> uint64_t * */
	GArray *rows;		/* struct peer_row of servers */
	GHashTable *by_end;	/* either end of these -> GArray of their indices */
	GStringChunk *texts;
};

/* Saturates: times are untrusted. */
static inline void service_add_ns(uint64_t *to, uint64_t ns)
{
	*to += MIN(ns, PROFILE_NS_MAX - MIN(*to, PROFILE_NS_MAX));
}

#endif
