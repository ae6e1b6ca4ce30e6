/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/fleet_input.h"

#include "analyse/range.h"
#include "base/refuse.h"

#define FROM_DEFAULT "-60m"
#define HOST_MAX_BYTES 256
#define TIMEOUT_S 300

void fleet_args_clear(struct fleet_args *a)
{
	g_clear_pointer(&a->clickhouse, g_free);
	g_clear_pointer(&a->host, g_free);
	g_clear_pointer(&a->database, g_free);
	g_clear_pointer(&a->credentials, g_free);
	g_clear_pointer(&a->ca, g_free);
}

static bool bad_option(GError **error, const char *text)
{
	return refuse(error, PUSH_ERROR, PUSH_ERROR_USAGE, "%s", text);
}

static bool parse_range(const struct range_args *range, struct fleet_query *q, GError **error)
{
	uint64_t now_ns = (uint64_t)g_get_real_time() * 1000;

	q->to_unix_ns = now_ns;
	if (!range_parse_moment(range->from ? range->from : FROM_DEFAULT, now_ns, &q->from_unix_ns, error) ||
	    (range->to && !range_parse_moment(range->to, now_ns, &q->to_unix_ns, error)))
		return false;
	return q->from_unix_ns < q->to_unix_ns || bad_option(error, "--from is not before --to");
}

bool fleet_args_check(const struct fleet_args *a, const struct range_args *range, bool has_file, GError **error)
{
	struct fleet_query q;

	if (!a->clickhouse) {
		if (a->host || a->database || a->credentials || a->ca)
			return bad_option(error, "--host, --database, --credentials and --ca: only with --clickhouse");
		return true;
	}
	if (history_is_asked())
		return bad_option(error, "--history and --clickhouse: only one of them is read");
	if (has_file)
		return bad_option(error, "FILE and --clickhouse: only one of them is read");
	if (a->host && (!*a->host || strlen(a->host) > HOST_MAX_BYTES))
		return bad_option(error, "--host: a name of at most 256 bytes is wanted, where * and ? stand for others");
	return parse_range(range, &q, error);
}

struct target *fleet_open(const struct fleet_args *a, const struct range_args *range, struct fleet_query *ret,
			  GError **error)
{
	const struct target_options options = { .engine = PUSH_CLICKHOUSE,
						.url = a->clickhouse, .database = a->database,
						.credentials_path = a->credentials, .ca_path = a->ca,
						.timeout_s = TIMEOUT_S };

	*ret = (struct fleet_query){ .host_glob = a->host };
	return parse_range(range, ret, error) ? target_open(&options, error) : NULL;
}

struct profile *fleet_read_profile(const struct fleet_args *a, const struct range_args *range, GError **error)
{
	struct fleet_query q;
	struct target *t = fleet_open(a, range, &q, error);
	struct profile *p = t ? fleet_read(t, &q, error) : NULL;

	target_close(t);
	return p;
}
