/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/fleet_pages.h"

#include <inttypes.h>
#include <string.h>

#include "explain/text.h"
#include "profile/profile.h"
#include "analyse/locks.h"
#include "push/fleet.h"
#include "render/html/html.h"
#include "render/json/json.h"
#include "render/json/write.h"
#include "render/svg/svg.h"
#include "server/ask.h"

#define NS_A_SECOND UINT64_C(1000000000)
#define SECONDS_DEFAULT 3600
#define SILENT_NS (300 * NS_A_SECOND)	/* after that long without data a host is marked */
#define BODY_MAX_BYTES (128 << 20)
#define NAME_MAX_BYTES 256

/* Separate clients for lists and ranges, so that a large range does not block lists. */
struct fleet_client {
	GMutex lock;
	struct target *target;
};

struct fleet_pages {
	struct fleet_client lists, ranges;
};

static bool client_open(struct fleet_client *c, const struct target_options *engine, GError **error)
{
	g_mutex_init(&c->lock);
	c->target = target_open(engine, error);
	g_autoptr(GByteArray) answer = c->target ? target_query(c->target, "SELECT 1", 64, error) : NULL;

	return answer != NULL;
}

struct fleet_pages *fleet_pages_new(const struct target_options *engine, GError **error)
{
	struct fleet_pages *f = g_new0(struct fleet_pages, 1);

	if (client_open(&f->lists, engine, error) && client_open(&f->ranges, engine, error))
		return f;
	fleet_pages_free(f);
	return NULL;
}

FREES(fleet_pages_free, struct fleet_pages, f, target_close(f->lists.target); target_close(f->ranges.target))

const char *fleet_pages_name(const struct fleet_pages *f)
{
	return target_name(f->lists.target);
}

static bool give_body(struct answer *ret, GString *out, GError **error)
{
	if (out->len > BODY_MAX_BYTES) {
		g_string_free(out, TRUE);
		return server_fail(error, SERVER_TOO_LARGE, "the answer is larger than 128 MiB: ask for a shorter range");
	}
	ret->body = g_string_free_to_bytes(out);
	return true;
}

/* Defines a route that calls another function with more arguments. */
#define ANSWERS(name, by, ...)                                                                                \
	static bool name(const struct request *r, void *ctx, struct answer *ret, GError **error)              \
	{                                                                                                     \
		return by(r, ctx, __VA_ARGS__, ret, error);                                                   \
	}

/* --- parsing requests --- */

struct fleet_asked {
	uint64_t now_ns;
	struct fleet_query range;
	const char *host;	/* a glob for the list, a name for a range; NULL: all */
};

/* The name of a host or a service; NULL: not given. */
static bool parse_name(const struct request *r, const char *of, const char **ret, GError **error)
{
	const char *name = request_text(r, of);

	*ret = name && *name ? name : NULL;
	if (!*ret || (strlen(name) <= NAME_MAX_BYTES && g_utf8_validate(name, -1, NULL)))
		return true;
	return server_fail(error, SERVER_BAD_REQUEST, "%s: a name of at most 256 bytes is wanted, in UTF-8", of);
}

/* Parses `from` and `to`, or the last `seconds`. */
static bool parse_range(const struct request *r, struct fleet_asked *ret, GError **error)
{
	guint64 seconds = SECONDS_DEFAULT, from = 0, to = 0;

	ret->now_ns = (uint64_t)g_get_real_time() * 1000;
	if (!request_number(r, "seconds", ASK_RANGE_MAX_NS / NS_A_SECOND, &seconds, error) ||
	    !request_number(r, "to", G_MAXINT64, &to, error))
		return false;
	to = to ? to : ret->now_ns;
	from = to - MIN(to, seconds * NS_A_SECOND);
	if (!request_number(r, "from", G_MAXINT64, &from, error))
		return false;
	if (from >= to || to - from > ASK_RANGE_MAX_NS)
		return server_fail(error, SERVER_BAD_REQUEST, "from is wanted before to, and at most 31 days");
	if (!parse_name(r, "host", &ret->host, error))
		return false;
	ret->range = (struct fleet_query){ .from_unix_ns = from, .to_unix_ns = to, .host_glob = ret->host };
	return true;
}

static GArray *read_hosts(struct fleet_pages *f, const struct request *r, const struct fleet_asked *a, GError **error)
{
	const struct fleet_hosts_query q = { .range = a->range, .only = { r->only[0], r->only[1] } };

	g_mutex_lock(&f->lists.lock);
	GArray *rows = fleet_hosts(f->lists.target, &q, error);

	g_mutex_unlock(&f->lists.lock);
	return rows;
}

/* --- the list of hosts --- */

static double load_of(const struct fleet_host_row *h)
{
	return h->observed_ns ? (double)h->matters_ns / (double)h->observed_ns : 0;
}

static double cost_of(const struct fleet_host_row *h)
{
	double cpus_ns = (double)h->observed_ns * MAX(h->cpus, 1);

	return cpus_ns > 0 ? (double)h->tracer_ns / cpus_ns * 100 : 0;
}

static bool answer_hosts(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	struct fleet_asked a;
	g_autoptr(GArray) rows = parse_range(r, &a, error) ? read_hosts(ctx, r, &a, error) : NULL;
	GString *out;
	struct json j;

	if (!rows)
		return false;
	out = g_string_new(NULL);
	json_begin(&j, out);
	JSON(&j, "schema", "offcpu.hosts/1", "from_unix_ns", a.range.from_unix_ns, "to_unix_ns", a.range.to_unix_ns);
	JSON_ROWS(&j, "hosts", const struct fleet_host_row, h, rows) {
		const struct {
			const char *name;
			uint64_t value;
		} numbers[] = { { "cpus", h->cpus },		{ "windows", h->windows },
				{ "last_unix_ns", h->last_unix_ns }, { "observed_ns", h->observed_ns },
				{ "recorder_cpu_ns", h->tracer_ns }, { "lost_ns", h->lost_ns },
				{ "off_cpu_ns", h->matters_ns },
				{ "most_ns", h->most_ns }, { "windows_with_finding", h->found_windows } };

		json_object_begin(&j);
		JSON(&j, "host", h->host, "version", h->version, "kernel", h->kernel);
		for (size_t k = 0; k < G_N_ELEMENTS(numbers); k++)
			json_member_uint(&j, numbers[k].name, numbers[k].value);
		JSON(&j, "most_service", h->most_service, "most_reason", h->most_reason, "finding", h->finding);
		json_object_end(&j);
	}
	json_object_end(&j);
	return give_body(ret, out, error);
}

static void cell(GString *out, const char *text)
{
	g_string_append(out, "<td>");
	svg_escape(out, text);
	g_string_append(out, "</td>");
}

/* Link to a host's range, relative to this page. */
static void append_link(GString *out, const struct fleet_asked *a, const char *host)
{
	g_autofree char *escaped = g_uri_escape_string(host, NULL, FALSE);

	g_string_append_printf(out, "<a href=\"api/flame.html?host=%s&amp;from=%" PRIu64 "&amp;to=%" PRIu64 "\">", escaped,
			       a->range.from_unix_ns, a->range.to_unix_ns);
	svg_escape(out, host);
	g_string_append(out, "</a>");
}

static void append_host(GString *out, const struct fleet_asked *a, const struct fleet_host_row *h)
{
	uint64_t silent_ns = a->now_ns > h->last_unix_ns ? a->now_ns - h->last_unix_ns : 0;

	g_string_append(out, silent_ns > SILENT_NS ? "<tr class=\"silent\"><td>" : "<tr><td>");
	append_link(out, a, h->host);
	g_string_append_printf(out, "</td><td class=\"n\">%.2f</td><td>", load_of(h));
	if (h->most_ns) {
		g_string_append_printf(out, "%.0f%% ", text_percent(h->most_ns, h->matters_ns));
		svg_escape(out, h->most_reason);
		g_string_append(out, " in ");
		svg_escape_cut(out, h->most_service, 48);
	} else {
		g_string_append(out, "nothing");
	}
	g_string_append_printf(out,
			       "</td><td class=\"n\">%s</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%u</td>"
			       "<td class=\"n\">%.2f%%</td><td class=\"n\">%s</td>",
			       TEXT_NS(silent_ns), h->windows, h->found_windows, h->cpus, cost_of(h),
			       h->lost_ns ? TEXT_NS(h->lost_ns) : "0");
	cell(out, h->version);
	cell(out, h->kernel);
	g_string_append(out, "</tr>\n");
	if (!*h->finding)
		return;
	g_string_append(out, "<tr class=\"finding\"><td colspan=\"11\">");
	svg_escape(out, h->finding);
	g_string_append(out, "</td></tr>\n");
}

/* "last 10 min", ...: links that keep the selected host. */
static void append_ranges(GString *out, const struct fleet_asked *a)
{
	static const struct {
		unsigned seconds;
		const char *name;
	} lengths[] = { { 600, "10 min" }, { 3600, "hour" }, { 6 * 3600, "6 hours" }, { 86400, "day" } };
	g_autofree char *host = g_uri_escape_string(a->host ? a->host : "", NULL, FALSE);
	uint64_t length_ns = a->range.to_unix_ns - a->range.from_unix_ns;

	g_string_append(out, "<p>The last");
	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
		g_string_append_printf(out, " <a href=\"?seconds=%u&amp;host=%s\">%s</a>", lengths[i].seconds, host, lengths[i].name);
	g_string_append_printf(out,
			       "; <a href=\"?from=%" PRIu64 "&amp;to=%" PRIu64
			       "&amp;host=%s\">the same time before</a>; "
			       "<a href=\"services?from=%" PRIu64 "&amp;to=%" PRIu64
			       "&amp;host=%s\">who waits for whom</a></p>\n",
			       a->range.from_unix_ns - MIN(a->range.from_unix_ns, length_ns), a->range.from_unix_ns,
			       host, a->range.from_unix_ns, a->range.to_unix_ns, host);
}

static void append_head(GString *out, const struct fleet_asked *a, guint hosts)
{
	html_plain_head(out, "Off-CPU time of hosts");
	g_string_append_printf(out, "<h1>%u host%s</h1>\n<p class=\"soft\">", hosts, hosts == 1 ? "" : "s");
	text_clock_as(out, a->range.from_unix_ns, "%F %T");
	g_string_append(out, " to ");
	text_clock_as(out, a->range.to_unix_ns, text_same_day(a->range.from_unix_ns, a->range.to_unix_ns) ? "%T" : "%F %T");
	g_string_append(out, "</p>\n");
	append_ranges(out, a);
	g_string_append(out, "<form>");
	g_string_append_printf(out, "<input type=\"hidden\" name=\"from\" value=\"%" PRIu64 "\"><input type=\"hidden\" name=\"to\" value=\"%" PRIu64
				    "\"><label>Hosts <input name=\"host\" placeholder=\"any; * for anything\" value=\"",
			       a->range.from_unix_ns, a->range.to_unix_ns);
	svg_escape(out, a->host ? a->host : "");
	g_string_append(out, "\"></label> <button>Show</button></form>\n");
}

static bool answer_page(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	struct fleet_asked a;
	g_autoptr(GArray) rows = parse_range(r, &a, error) ? read_hosts(ctx, r, &a, error) : NULL;
	GString *out;

	if (!rows)
		return false;
	out = g_string_new(NULL);
	append_head(out, &a, rows->len);
	g_string_append(out, "<table><thead><tr><th>Host</th><th class=\"n\" title=\"Threads that waited, idle ones left out, on average\">Waiting</th>"
			     "<th>Most of it</th><th class=\"n\">Last window, ago</th><th class=\"n\">Windows</th><th class=\"n\">with a finding</th><th class=\"n\">CPUs</th>"
			     "<th class=\"n\" title=\"Of all CPUs, recording itself\">Recorder</th><th class=\"n\">Time lost</th><th>Version</th>"
			     "<th>Kernel</th></tr></thead>\n<tbody>\n");
	for (guint i = 0; i < rows->len; i++)
		append_host(out, &a, &g_array_index(rows, struct fleet_host_row, i));
	g_string_append(out, "</tbody></table>\n");
	if (rows->len == FLEET_HOSTS_MAX)
		g_string_append_printf(out, "<p>More than %d are not shown: narrow it by name.</p>\n", FLEET_HOSTS_MAX);
	g_string_append(out, "</body>\n</html>\n");
	return give_body(ret, out, error);
}

/* --- a range of one host --- */

static struct profile *read_range(struct fleet_pages *f, const struct fleet_asked *a, bool with_objects, GError **error)
{
	g_mutex_lock(&f->ranges.lock);
	struct profile *p = fleet_read(f->ranges.target, &a->range, error);

	g_mutex_unlock(&f->ranges.lock);
	if (!p && error && g_error_matches(*error, PUSH_ERROR, PUSH_ERROR_EMPTY)) {
		(*error)->domain = SERVER_ERROR;
		(*error)->code = SERVER_NOT_FOUND;
	}
	if (p && profile_has_on_cpu(p))
		profile_on_cpu_as_waits(p);
	if (p && with_objects)
		objects_as_frames(p);
	return p;
}

typedef void (*range_fn)(const struct profile *p, const struct selection *selection, const char *text, GString *out);

static bool answer_range(const struct request *r, struct fleet_pages *f, bool with_objects, range_fn write,
			 struct answer *ret, GError **error)
{
	struct fleet_asked a;
	struct ask_filter filter = { 0 };

	if (!parse_range(r, &a, error) || !ask_filter(r, &filter, error))
		return false;
	if (!a.host)
		return server_fail(error, SERVER_BAD_REQUEST, "host: whose range is wanted");
	struct profile *p = read_range(f, &a, with_objects, error);
	struct selection *selection = p ? ask_select(&filter, p, error) : NULL;
	g_autofree char *text = ask_filter_text(&filter);
	GString *out = g_string_new(NULL);
	bool ok = selection != NULL;

	if (ok)
		write(p, selection, text, out);
	selection_free(selection);
	profile_free(p);
	if (ok)
		return give_body(ret, out, error);
	g_string_free(out, TRUE);
	return false;
}

static void write_flame(const struct profile *p, const struct selection *selection, const char *text, GString *out)
{
	const struct html_options page = { .selection = selection,
					   .selection_text = text,
					   .view = { .weight = profile_has_on_cpu(p) ? WEIGHT_TIME : WEIGHT_OFF_CPU } };

	html_page(p, &page, out);
}

static void write_report(const struct profile *p, const struct selection *selection, const char *text, GString *out)
{
	json_report_within(out, p, selection, BODY_MAX_BYTES);
}

ANSWERS(answer_flame, answer_range, true, write_flame)
ANSWERS(answer_report, answer_range, false, write_report)

/* --- services --- */

/*
 * Follows waits from a service to others, as `report --follow` does.  Not for readers of some services only, since the
 * chain leads to others.
 */
static bool follow_service(struct target *t, const struct request *r, const struct fleet_asked *a, const char *service,
			   GPtrArray **ret, GError **error)
{
	const struct fleet_hosts_query q = { .range = a->range, .only = { service } };
	struct fleet_follow *f;

	*ret = NULL;
	if (!service || r->only[0] || r->only[1])
		return true;
	f = fleet_follow_new(t, &a->range);
	const struct follow_source source = fleet_follow_source(f);
	g_autoptr(GError) why = NULL;
	const struct profile *p = fleet_follow_first(f, &q, &why);
	struct selection *selection = p ? service_select(p, service) : NULL;

	*ret = selection ? follow_new(p, selection, &source, &why) : NULL;
	selection_free(selection);
	fleet_follow_free(f);
	if (why && !g_error_matches(why, PUSH_ERROR, PUSH_ERROR_EMPTY)) {
		g_propagate_error(error, g_steal_pointer(&why));
		return false;
	}
	return true;
}

static struct service_map *read_services(struct fleet_pages *f, const struct request *r, const struct fleet_asked *a,
					 const char *focus, GPtrArray **ret_chains, GError **error)
{
	const struct fleet_hosts_query q = { .range = a->range, .only = { r->only[0], r->only[1] } };
	struct service_map *map = service_map_new(a->range.from_unix_ns, a->range.to_unix_ns);

	g_mutex_lock(&f->ranges.lock);
	bool ok = fleet_services(f->ranges.target, &q, map, error) &&
		  follow_service(f->ranges.target, r, a, focus, ret_chains, error);

	g_mutex_unlock(&f->ranges.lock);
	if (ok)
		return map;
	service_map_free(map);
	return NULL;
}

static bool answer_services_as(const struct request *r, struct fleet_pages *f, bool is_page, struct answer *ret,
			       GError **error)
{
	const char *focus;
	struct fleet_asked a;
	g_autoptr(GPtrArray) chains = NULL;

	if (!parse_range(r, &a, error) || !parse_name(r, "of", &focus, error))
		return false;
	struct service_map *map = read_services(f, r, &a, is_page ? focus : NULL, &chains, error);

	if (!map)
		return false;
	const struct html_services page = { .focus = focus,
					    .from_unix_ns = a.range.from_unix_ns,
					    .to_unix_ns = a.range.to_unix_ns,
					    .host = a.host,
					    .home = "./",
					    .home_text = "Hosts",
					    .chains = chains };
	struct service_graph *g = service_graph_new(map, focus);
	GString *out = g_string_new(NULL);

	if (is_page)
		html_services_page(out, g, &page);
	else
		json_services(out, g, a.range.from_unix_ns, a.range.to_unix_ns);
	service_graph_free(g);
	service_map_free(map);
	return give_body(ret, out, error);
}

ANSWERS(answer_services, answer_services_as, true)
ANSWERS(answer_services_json, answer_services_as, false)

const struct route fleet_routes[] = {
	{ "", "text/html; charset=utf-8", NULL, route_plain_csp, answer_page, ROUTE_GET },
	{ "api/hosts", "application/json", NULL, NULL, answer_hosts, ROUTE_GET },
	{ "services", "text/html; charset=utf-8", NULL, route_plain_csp, answer_services, ROUTE_GET },
	{ "api/services", "application/json", NULL, NULL, answer_services_json, ROUTE_GET },
	{ "api/flame.html", "text/html; charset=utf-8", NULL, route_page_csp, answer_flame, ROUTE_GET },
	{ "api/report", "application/json", NULL, NULL, answer_report, ROUTE_GET },
};
const gsize fleet_routes_cnt = G_N_ELEMENTS(fleet_routes);
