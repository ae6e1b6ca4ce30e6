/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/history.h"

#include <string.h>

#include "analyse/diff/diff.h"
#include "exchange/format.h"
#include "features/follow/findings.h"
#include "features/incidents/history.h"
#include "profile/profile.h"
#include "render/html/html.h"
#include "render/json/json.h"
#include "render/json/write.h"
#include "render/text/diff.h"
#include "store/blob.h"
#include "store/line.h"

#define KEPT_MAX_BYTES (192 << 20)	/* of cached profiles */
#define WAITS_MAX 1000000		/* rows of an exported profile */
#define BODY_MAX_BYTES (128 << 20)	/* of an answer */
#define TURN_MAX_US (20 * G_USEC_PER_SEC)
#define ROWS_DEFAULT 40
#define DIFF_ROWS_DEFAULT 20

#define TOO_LARGE "the answer is larger than 128 MiB: ask for a shorter range, or use a filter"

struct history {
	char *dir;
	struct ranges *ranges;
	GMutex lock;		/* protects the turns */
	GCond is_free;
	unsigned running_cnt, waiting_cnt;
};

struct history *history_new(const char *dir)
{
	struct history *h = g_new0(struct history, 1);

	h->dir = g_strdup(dir);
	h->ranges = ranges_new(dir, store_read, KEPT_MAX_BYTES);
	g_mutex_init(&h->lock);
	g_cond_init(&h->is_free);
	return h;
}

FREES(history_free, struct history, h, ranges_free(h->ranges); g_cond_clear(&h->is_free); g_mutex_clear(&h->lock);
      g_free(h->dir))

const char *history_dir_of(const struct history *h)
{
	return h->dir ? h->dir : STORE_DIR_DEFAULT;
}

bool history_enter(struct history *h, GError **error)
{
	gint64 end_us = g_get_monotonic_time() + TURN_MAX_US;
	bool has_turn, is_crowded;

	g_mutex_lock(&h->lock);
	is_crowded = h->running_cnt >= HISTORY_HEAVY_MAX && h->waiting_cnt >= HISTORY_WAITING_MAX;
	h->waiting_cnt++;
	while (!is_crowded && h->running_cnt >= HISTORY_HEAVY_MAX && g_cond_wait_until(&h->is_free, &h->lock, end_us))
		;
	h->waiting_cnt--;
	has_turn = !is_crowded && h->running_cnt < HISTORY_HEAVY_MAX;
	h->running_cnt += has_turn;
	g_mutex_unlock(&h->lock);
	return has_turn || server_fail(error, SERVER_UNAVAILABLE, "other ranges are being read just now: try again");
}

void history_leave(struct history *h)
{
	g_mutex_lock(&h->lock);
	h->running_cnt--;
	g_cond_signal(&h->is_free);
	g_mutex_unlock(&h->lock);
}

static bool give_body(struct answer *ret, GString *out, GError **error)
{
	if (out->len > BODY_MAX_BYTES) {
		g_string_free(out, TRUE);
		return server_fail(error, SERVER_TOO_LARGE, TOO_LARGE);
	}
	ret->body = g_string_free_to_bytes(out);
	return true;
}

bool history_extent(const struct history *h, struct store_extent *ret, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (store_extent(h->dir, ret, &why))
		return true;
	return server_fail(error, SERVER_NOT_FOUND, "there is no history yet: %s", why->message);
}

/* Maps the store's errors to a status.  Returns false. */
static bool fail_by_store(GError **error)
{
	unsigned status = SERVER_FAILED;

	if (!error || !*error || (*error)->domain == SERVER_ERROR)
		return false;
	if (g_error_matches(*error, STORE_ERROR, STORE_ERROR_EMPTY))
		status = SERVER_NOT_FOUND;
	else if (g_error_matches(*error, STORE_ERROR, STORE_ERROR_TOO_MUCH))
		status = SERVER_TOO_LARGE;
	else if (g_error_matches(*error, STORE_ERROR, STORE_ERROR_BUSY))
		status = SERVER_UNAVAILABLE;
	(*error)->domain = SERVER_ERROR;
	(*error)->code = (int)status;
	return false;
}

void history_part_clear(struct history *h, struct history_part *part)
{
	selection_free(part->selection);
	if (!part->own)
		ranges_put(h->ranges, part->profile);
	profile_free(part->own);
	g_free(part->text);
}

bool history_part_read(struct history *h, struct history_part *part, enum range_form form, GError **error)
{
	const struct ask_range *range = &part->range;

	if (range->from_ns >= range->to_ns)
		return server_fail(error, SERVER_NOT_FOUND, "the history has nothing of that range");
	if (part->incident)
		part->profile = part->own = store_read(part->incident, range->from_ns, range->to_ns, error);
	else
		part->profile = ranges_get(h->ranges, range->from_ns, range->to_ns, form, error);
	if (!part->profile)
		return fail_by_store(error);
	if (part->profile->waits->len > WAITS_MAX)
		return server_fail(error, SERVER_TOO_LARGE, "the range holds more than a million rows: ask for a shorter one");
	part->selection = ask_select(&part->filter, part->profile, error);
	part->text = ask_filter_text(&part->filter);
	return part->selection != NULL;
}

struct answered_part {
	const struct request *request;
	struct history_part of;
};

/* Appends the answer of one part. */
typedef bool (*part_fn)(const struct answered_part *part, struct answer *ret, GString *out, GError **error);

static bool with_part(const struct request *r, struct history *h, struct answered_part *part, enum range_form form,
		      part_fn write, struct answer *ret, GError **error)
{
	GString *out;
	bool ok;

	if (!history_enter(h, error))
		return false;
	out = g_string_new(NULL);
	part->request = r;
	ok = history_part_read(h, &part->of, form, error) && write(part, ret, out, error);
	history_part_clear(h, &part->of);
	history_leave(h);
	if (ok)
		return give_body(ret, out, error);
	g_string_free(out, TRUE);
	return false;
}

static bool answer_part(const struct request *r, struct history *h, enum range_form form, part_fn write,
			struct answer *ret, GError **error)
{
	struct answered_part part = { 0 };
	struct store_extent extent;

	return history_extent(h, &extent, error) &&
	       ask_range(r, "from", "to", &extent, ASK_RANGE_MAX_NS, &part.of.range, error) &&
	       ask_filter(r, &part.of.filter, error) && with_part(r, h, &part, form, write, ret, error);
}

#define ANSWERS_PART(name, form, write)                                                                       \
	static bool name(const struct request *r, void *ctx, struct answer *ret, GError **error)              \
	{                                                                                                     \
		return answer_part(r, ctx, form, write, ret, error);                                          \
	}

/* Routes */

static bool answer_page(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	GString *out = g_string_new(NULL);

	html_serve_page(out);
	return give_body(ret, out, error);
}

static bool answer_extent(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	const struct history *h = ctx;
	struct store_extent e;
	GString *out;
	struct json j;

	if (!history_extent(h, &e, error))
		return false;
	out = g_string_new(NULL);
	json_begin(&j, out);
	JSON(&j, "schema", "offcpu.extent/1", "history", history_dir_of(h), "host", g_get_host_name());
	JSON(&j, "from_unix_ns", e.from_unix_ns, "to_unix_ns", e.to_unix_ns);
	JSON(&j, "now_unix_ns", (uint64_t)g_get_real_time() * 1000, "windows", e.windows, "bytes", e.bytes);
	json_object_end(&j);
	return give_body(ret, out, error);
}

static void write_line(GString *out, const struct store_line *line)
{
	struct json j;

	json_begin(&j, out);
	json_member_string(&j, "schema", "offcpu.line/1");
	JSON_UINTS(&j, line, from_unix_ns, step_ns, steps);
	JSON_ARRAY(&j, "gaps")
		for (uint32_t i = 0; i < line->steps; i++)
			if (line->is_gap && line->is_gap[i])
				json_uint(&j, i);
	JSON_ROWS(&j, "series", const struct store_series, s, line->series) {
		json_object_begin(&j);
		json_member_string(&j, "name", s->name);
		json_member_array(&j, "ns");
		for (uint32_t i = 0; i < line->steps; i++)
			json_uint(&j, s->ns[i]);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_object_end(&j);
}

/* Selections that need rows wait for their turn. */
static struct store_line *read_line(struct history *h, const struct ask_line *ask, const struct ask_filter *filter,
				    GError **error)
{
	struct store_line *line;
	struct ask_part part;

	if (ask->by != STORE_BY_DURATION && ask_filter_is_empty(filter))
		return store_line_read(h->dir, ask->range.from_ns, ask->range.to_ns, ask->step_ns, ask->by,
				       ask->series_max, error);
	if (!history_enter(h, error))
		return NULL;
	ask_part(filter, &part);
	line = store_line_read_part(h->dir, ask->range.from_ns, ask->range.to_ns, ask->step_ns, ask->by,
				    ask->series_max, &part.part, error);
	history_leave(h);
	return line;
}

static bool answer_line(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	struct history *h = ctx;
	struct store_extent extent;
	struct ask_filter filter;
	struct ask_line ask;
	struct store_line *line;
	GString *out;

	if (!history_extent(h, &extent, error) || !ask_line(r, &extent, &ask, error) || !ask_filter(r, &filter, error))
		return false;
	line = read_line(h, &ask, &filter, error);
	if (!line)
		return fail_by_store(error);
	out = g_string_new(NULL);
	write_line(out, line);
	store_line_free(line);
	return give_body(ret, out, error);
}

/* Requests over time, in the format of `report --history --requests --json`. */
static bool answer_requests(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	const struct history *h = ctx;
	struct store_extent extent;
	struct request_line *line;
	struct ask_line ask;
	GString *out;

	if (!history_extent(ctx, &extent, error) || !ask_line(r, &extent, &ask, error))
		return false;
	line = request_line_read(h->dir, ask.range.from_ns, ask.range.to_ns, ask.step_ns, error);
	if (!line)
		return fail_by_store(error);
	out = g_string_new(NULL);
	json_latency(out, line);
	request_line_free(line);
	return give_body(ret, out, error);
}

/* Lists saved incidents.  Their headlines name services, which not every reader may see. */
static bool answer_incidents(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	g_autoptr(GPtrArray) all = NULL;
	GString *out;

	if (r->only[0] || r->only[1])
		return server_fail(error, SERVER_FORBIDDEN, "incidents are listed for readers who see all services");
	all = incident_list(history_dir_of(ctx), error);
	if (!all)
		return fail_by_store(error);
	out = g_string_new(NULL);
	json_incidents(out, all, history_dir_of(ctx));
	return give_body(ret, out, error);
}

static bool take_rows(const struct request *r, unsigned *ret_rows, GError **error)
{
	guint64 rows = *ret_rows;

	if (!request_number(r, "rows", ASK_ROWS_MAX, &rows, error))
		return false;
	*ret_rows = (unsigned)rows;
	return rows || server_fail(error, SERVER_BAD_REQUEST, "rows=0: at least one is wanted");
}

static bool write_summary(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	static const char *const idle[] = { "fold", "keep", NULL };
	const char *by = request_text(part->request, "by");
	struct summary_options options = { .by_wait = !by || strcmp(by, "wait") == 0, .top = ROWS_DEFAULT };
	unsigned choice = 0;

	if (!take_rows(part->request, &options.top, error) || !ask_word(part->request, "idle", idle, &choice, error))
		return false;
	options.by = TOP_BY_REASON;
	options.attribute = by ? top_by_attribute(by) : NULL;
	if (!options.by_wait && !options.attribute && !top_by_parse(by, &options.by))
		return server_fail(error, SERVER_BAD_REQUEST, "by: no such grouping; known are wait, %s",
			top_by_names());
	options.with_idle = choice == 1;
	json_summary(out, part->of.profile, part->of.selection, &options);
	return true;
}

ANSWERS_PART(answer_summary, RANGE_PLAIN, write_summary)

static bool write_report(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	json_report_within(out, part->of.profile, part->of.selection, BODY_MAX_BYTES);
	return true;
}

ANSWERS_PART(answer_report, RANGE_PLAIN, write_report)

static enum weight weight_of(const struct profile *p)
{
	return profile_has_on_cpu(p) ? WEIGHT_TIME : WEIGHT_OFF_CPU;
}

static bool write_flame(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	const struct html_options page = { .selection = part->of.selection, .selection_text = part->of.text,
					   .view = { .weight = weight_of(part->of.profile) } };

	html_page(part->of.profile, &page, out);
	return true;
}

ANSWERS_PART(answer_flame, RANGE_WITH_OBJECTS, write_flame)

/* Follows waits within this host. */
static GPtrArray *follow_service(const struct answered_part *part, const char *service)
{
	g_autoptr(GPtrArray) profiles = g_ptr_array_new();
	struct selection *selection = service_select(part->of.profile, service);
	const struct follow_source source = follow_source_of(profiles);

	g_ptr_array_add(profiles, (gpointer)part->of.profile);
	GPtrArray *chains = follow_new(part->of.profile, selection, &source, NULL);

	selection_free(selection);
	return chains;
}

static void write_services_as(const struct answered_part *part, bool is_page, GString *out)
{
	const struct ask_range *range = &part->of.range;
	const char *of = request_text(part->request, "of"), *focus = of && *of ? of : NULL;
	struct service_map *map = service_map_new(range->from_ns, range->to_ns);

	service_map_add_profile(map, part->of.profile, part->of.selection->whole ? NULL : part->of.selection);
	struct service_graph *g = service_graph_new(map, focus);
	/* chains lead to other services, which not every reader may see */
	g_autoptr(GPtrArray) chains =
		is_page && focus && ask_filter_is_empty(&part->of.filter) ? follow_service(part, focus) : NULL;
	const struct html_services page = {
		.focus = focus, .from_unix_ns = range->from_ns, .to_unix_ns = range->to_ns, .chains = chains
	};

	if (is_page)
		html_services_page(out, g, &page);
	else
		json_services(out, g, range->from_ns, range->to_ns);
	service_graph_free(g);
	service_map_free(map);
}

static bool write_services(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	write_services_as(part, true, out);
	return true;
}

static bool write_services_json(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	write_services_as(part, false, out);
	return true;
}

ANSWERS_PART(answer_services, RANGE_PLAIN, write_services)
ANSWERS_PART(answer_services_json, RANGE_PLAIN, write_services_json)

/* A sink that fails if the answer becomes too large. */
static bool put_bounded(void *ctx, const void *bytes, gsize len_bytes, GError **error)
{
	GString *out = ctx;

	if (out->len + len_bytes > BODY_MAX_BYTES)
		return server_fail(error, SERVER_TOO_LARGE, ASK_FILE_TOO_LARGE);
	g_string_append_len(out, bytes, (gssize)len_bytes);
	return true;
}

static bool write_format(const struct format *format, const struct answered_part *part, GString *out, GError **error)
{
	const struct export_plan plan = { .selection = part->of.selection, .selection_text = part->of.text,
					  .folded = { .weight = weight_of(part->of.profile) }, .columns = 1 };
	const struct sink sink = { put_bounded, out };
	g_autoptr(GError) why = NULL;

	if (format_write(format, part->of.profile, &plan, &sink, &why))
		return true;
	if (why->domain == EXCHANGE_ERROR)
		return server_fail(error, SERVER_BAD_REQUEST, "%s", why->message);
	g_propagate_error(error, g_steal_pointer(&why));
	return false;
}

static bool write_export(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	const struct format *format = format_by_name(request_text(part->request, "format"));

	ret->media_type = format->media_type;
	ret->file_name = g_strdup_printf("off-cpu-%" G_GUINT64_FORMAT ".%s", part->of.range.from_ns / 1000000000,
					 format->extension);
	if (strcmp(format->name, "json") == 0)
		return write_report(part, ret, out, error);
	return write_format(format, part, out, error);
}

static bool answer_export(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	const char *name = request_text(r, "format");
	g_autofree char *known = format_names();

	if (name && format_by_name(name))
		return answer_part(r, ctx, RANGE_WITH_OBJECTS, write_export, ret, error);
	return server_fail(error, SERVER_BAD_REQUEST, "format: one of %s is wanted", known);
}

static bool write_pprof_of(const struct answered_part *part, struct answer *ret, GString *out, GError **error)
{
	return write_format(format_by_name("pprof"), part, out, error);
}

static bool answer_pprof(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	struct history *h = ctx;
	struct answered_part part = { 0 };
	struct store_extent extent;

	return history_extent(h, &extent, error) && ask_last(r, &extent, &part.of.range, error) &&
	       ask_filter(r, &part.of.filter, error) &&
	       with_part(r, h, &part, RANGE_WITH_OBJECTS, write_pprof_of, ret, error);
}

/* Comparing two parts */

enum diff_form { DIFF_JSON, DIFF_TEXT, DIFF_PAGE };
static const char *const diff_forms[] = { "json", "text", NULL };

static bool write_diff(struct diff *d, enum diff_form form, unsigned rows, struct answer *ret, GString *out,
		       GError **error)
{
	static const enum diff_by tables[] = { DIFF_BY_REASON, DIFF_BY_PROCESS, DIFF_BY_STACK };
	g_autoptr(GString) finding = g_string_new(NULL);

	diff_text_finding(finding, d);
	if (form == DIFF_JSON) {
		const struct diff_json_options json = {
			.tables = tables, .tables_cnt = G_N_ELEMENTS(tables), .top = rows, .finding = finding->str
		};

		diff_json(out, d, &json);
	} else if (form == DIFF_TEXT) {
		const struct text_options text = { .top = rows };
		const struct diff_text_options all = { .text = &text,
						       .tables = tables,
						       .tables_cnt = G_N_ELEMENTS(tables) };

		ret->media_type = "text/plain; charset=utf-8";
		diff_text(out, d, &all);
	} else if (!html_diff_page(out, d, &(struct html_diff_options){ 0 })) {
		return server_fail(error, SERVER_NOT_FOUND, "nothing was waited for in either range");
	}
	return true;
}

/* "2026-11-26 14:32:10 to 14:33:40", in this machine's time. */
static char *range_text(const struct ask_range *range)
{
	g_autoptr(GDateTime) from = g_date_time_new_from_unix_local((gint64)(range->from_ns / 1000000000));
	g_autoptr(GDateTime) to = g_date_time_new_from_unix_local((gint64)(range->to_ns / 1000000000));
	bool is_one_day = from && to && g_date_time_get_day_of_year(from) == g_date_time_get_day_of_year(to);
	g_autofree char *a = from ? g_date_time_format(from, "%F %T") : g_strdup("");
	g_autofree char *b = to ? g_date_time_format(to, is_one_day ? "%T" : "%F %T") : g_strdup("");

	return g_strdup_printf("%s to %s", a, b);
}

static bool compare(const struct history_part *before, const struct history_part *after, enum diff_form form,
		    unsigned rows, struct answer *ret, GString *out, GError **error)
{
	const struct history_part *const parts[DIFF_SIDES] = { before, after };
	const struct diff_options options = { .noise = DIFF_NOISE_DEFAULT };
	struct diff_input in[DIFF_SIDES];
	char *names[DIFF_SIDES];
	struct diff *d;
	bool ok;

	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		names[i] = range_text(&parts[i]->range);
		in[i] = (struct diff_input){ .profile = parts[i]->profile, .selection = parts[i]->selection,
					     .name = names[i], .filters = parts[i]->text };
	}
	d = diff_new(&in[DIFF_BEFORE], &in[DIFF_AFTER], &options);
	ok = write_diff(d, form, rows, ret, out, error);
	diff_free(d);
	g_free(names[DIFF_BEFORE]);
	g_free(names[DIFF_AFTER]);
	return ok;
}

static bool diff_of(const struct request *r, struct history *h, unsigned form, struct answer *ret, GError **error)
{
	struct history_part before = { 0 }, after = { 0 };
	struct store_extent extent;
	unsigned rows = DIFF_ROWS_DEFAULT;
	GString *out;
	bool ok;

	if (!request_text(r, "before_from") || !request_text(r, "before_to"))
		return server_fail(error, SERVER_BAD_REQUEST, "before_from and before_to say with what to compare");
	if (!history_extent(h, &extent, error) ||
	    !ask_range(r, "from", "to", &extent, ASK_RANGE_MAX_NS, &after.range, error) ||
	    !ask_range(r, "before_from", "before_to", &extent, ASK_RANGE_MAX_NS, &before.range, error) ||
	    !ask_filter(r, &after.filter, error) || !take_rows(r, &rows, error) || !history_enter(h, error))
		return false;
	before.filter = after.filter;
	out = g_string_new(NULL);
	ok = history_part_read(h, &before, RANGE_PLAIN, error) && history_part_read(h, &after, RANGE_PLAIN, error) &&
	     compare(&before, &after, (enum diff_form)form, rows, ret, out, error);
	history_part_clear(h, &before);
	history_part_clear(h, &after);
	history_leave(h);
	if (ok)
		return give_body(ret, out, error);
	g_string_free(out, TRUE);
	return false;
}

static bool answer_diff(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	unsigned form = DIFF_JSON;

	return ask_word(r, "format", diff_forms, &form, error) && diff_of(r, ctx, form, ret, error);
}

static bool answer_diff_page(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	return diff_of(r, ctx, DIFF_PAGE, ret, error);
}

/* Content security policies, with what only a header can express. */

static const char *page_csp(void)
{
	static char *csp;

	if (g_once_init_enter(&csp)) {
		g_autofree char *policy = html_serve_policy();

		g_once_init_leave(&csp, g_strconcat(policy, "; frame-ancestors 'none'", NULL));
	}
	return csp;
}

const struct route history_routes[] = {
	{ "", "text/html; charset=utf-8", NULL, page_csp, answer_page, ROUTE_GET },
	{ "api/extent", "application/json", NULL, NULL, answer_extent, ROUTE_GET },
	{ "api/line", "application/json", NULL, NULL, answer_line, ROUTE_GET },
	{ "api/requests", "application/json", NULL, NULL, answer_requests, ROUTE_GET },
	{ "api/incidents", "application/json", NULL, NULL, answer_incidents, ROUTE_GET },
	{ "api/summary", "application/json", NULL, NULL, answer_summary, ROUTE_GET },
	{ "api/report", "application/json", NULL, NULL, answer_report, ROUTE_GET },
	{ "api/flame.html", "text/html; charset=utf-8", NULL, route_page_csp, answer_flame, ROUTE_GET },
	{ "services", "text/html; charset=utf-8", NULL, route_plain_csp, answer_services, ROUTE_GET },
	{ "api/services", "application/json", NULL, NULL, answer_services_json, ROUTE_GET },
	{ "api/diff", "application/json", NULL, NULL, answer_diff, ROUTE_GET },
	{ "api/diff.html", "text/html; charset=utf-8", NULL, route_page_csp, answer_diff_page, ROUTE_GET },
	{ "api/export", "application/octet-stream", NULL, NULL, answer_export, ROUTE_GET },
	{ "debug/pprof/off_cpu", "application/octet-stream", NULL, NULL, answer_pprof, ROUTE_GET },
	SYMBOL_ROUTE,
};
const gsize history_routes_cnt = G_N_ELEMENTS(history_routes);
