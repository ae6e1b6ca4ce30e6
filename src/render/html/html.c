/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/html.h"

#include "analyse/accounts.h"
#include "base/version.h"
#include "render/html/part.h"
#include "render/html/web.h"
#include "render/svg/svg.h"

char *html_serve_policy(void)
{
	return g_strdup_printf(
		"default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; frame-src 'self'; "
		"img-src 'self' data:; base-uri 'none'; form-action 'none'",
		web_serve_js_sha256, web_serve_css_sha256);
}

void html_serve_page(GString *out)
{
	g_string_append_printf(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>Off-CPU history</title>\n<link rel=\"icon\" href=\"data:,\">\n"
		"<style>%s</style>\n</head>\n<body>\n%s<script>%s</script>\n</body>\n</html>\n",
		web_serve_css, web_serve_html, web_serve_js);
}

static void about_facets(struct json *j, GPtrArray *facets)
{
	JSON_ARRAY(j, "facets")
		EACH_POINTER(i, const struct facet, f, facets) {
			json_object_begin(j);
			json_member_string(j, "name", f->name);
			json_member_int(j, "queue", f->queue);
			json_member_array(j, "categories");
			EACH_ROW(k, const struct facet_category, category, f->categories)
				JSON_OBJECT(j, "name", category->name, "idle", (bool)category->is_idle);
			json_array_end(j);
			json_object_end(j);
		}
}

static void about_losses(struct json *j, const struct profile *p)
{
	JSON_ROWS(j, "losses", const struct profile_loss, l, p->losses)
		JSON_OBJECT(j, "help", l->help, "count", l->count, "ns", l->time_ns);
}

/* How much of the selected threads' time is known, and how much of it the page shows. */
static void about_coverage(struct json *j, const struct profile *p, const struct selection *selection)
{
	struct accounts *a = accounts_new(p, selection);
	struct coverage c;

	coverage_of(p, selection, &c);
	JSON(j, "threads", a->total.threads_cnt, "observed", a->total.observed_ns, "onCpu", a->total.on_cpu_ns);
	JSON(j, "offCpu", a->total.off_cpu_ns, "listed", c.listed_ns, "selected", c.selected_ns);
	JSON(j, "filtered", a->total.filtered_ns, "lost", a->total.lost_ns, "lostEvents", c.lost_cnt);
	JSON(j, "residual", a->total.residual_abs_ns, "error", (uint64_t)c.listed_se_ns);
	JSON_ARRAY(j, "stacks")
		for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT; end++)
			json_uint(j, c.stacks_ns[end]);
	accounts_free(a);
}

static void about_view(struct json *j, const struct html_options *o)
{
	json_member_object(j, "view");
	json_member_string(j, "by", o->view.by_thread ? "thread" : o->by_process ? "process" : "comm");
	JSON(j, "weight", weight_name(o->view.weight), "reverse", (bool)o->view.reverse, "down", (bool)o->inverted);
	JSON(j, "wakers", (bool)(o->view.view != TREE_SLEEPERS), "colours", o->colours, "idle", o->with_idle);
	json_object_end(j);
}

/* NULL: the page makes one from what was recorded.  If rows are not waits, the title says what they are. */
static const char *title_of(const struct profile *p, const struct html_options *o)
{
	const struct rows_kind *kind = profile_rows_kind(p->info.rows_are);

	return o->title || !kind ? o->title : kind->title;
}

void html_about(const struct profile *p, const struct html_options *o, GPtrArray *facets,
		const struct html_words *words, GString *out)
{
	const struct profile_info *info = &p->info;
	g_autofree char *imported = profile_imported_text(info);
	struct json j;

	json_begin(&j, out);
	JSON(&j, "title", title_of(p, o), "imported", imported, "subtitle", o->subtitle, "host", info->host);
	JSON(&j, "kernel", info->kernel, "cpus", info->cpus, "startMs", info->start_unix_ns / 1000000);
	JSON(&j, "window", info->duration_ns, "command", info->command_line, "filters", info->filters);
	JSON(&j, "selection", o->selection_text, "version", version_text(), "switches", info->switches);
	JSON(&j, "sampled", (bool)profile_is_sampled(p), "onCpuHz", info->on_cpu_as_waits ? info->on_cpu_hz : 0);
	json_member_bool(&j, "hasWakers", info->has_wakers);
	json_member_text(&j, "rowsAre", info->rows_are);
	if (html_has_longest(p))
		json_member_bool(&j, "hasLongest", true);
	json_member_bool(&j, "hasObjects", info->has_locks || info->has_objects);
	about_coverage(&j, p, o->selection);
	about_losses(&j, p);
	about_facets(&j, facets);
	about_view(&j, o);
	html_words_about(&j, words);
	if (o->diff)
		html_diff_about(&j, o->diff);
	json_object_end(&j);
}

bool html_has_longest(const struct profile *p)
{
	for (guint i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->max_start_unix_ns)
			return true;
	return false;
}

/* False for a difference. */
static bool has_requests(const struct profile *p, const struct html_options *o)
{
	return p->spans->len && !o->diff;
}

static void append_block(GString *out, const char *id, const GString *packed)
{
	if (!packed->len)
		return;
	g_string_append_printf(out, "<script type=\"application/octet-stream\" id=\"%s\">", id);
	g_string_append_len(out, packed->str, (gssize)packed->len);
	g_string_append(out, "</script>\n");
}

/* Shown before the script runs, and in the tab's title. */
static void append_title(const struct profile *p, const struct html_options *o, const char *target, GString *out)
{
	const char *title = title_of(p, o);

	g_string_append(out, "<title>");
	if (!title && target) {
		svg_escape_cut(out, target, 80);
		g_string_append(out, ", ");
		svg_time(out, p->info.duration_ns);
		g_string_append(out, ": ");
	}
	svg_escape(out, title ? title : target ? "off-CPU time" : "Off-CPU time");
	if (!title && p->info.host && *p->info.host) {
		g_string_append(out, ", ");
		svg_escape_cut(out, p->info.host, 80);
	}
	g_string_append(out, "</title>\n");
}

char *html_page_policy(enum html_more more)
{
	g_autoptr(GString) scripts = g_string_new(NULL);

	if (more & HTML_REQUESTS)
		g_string_append_printf(scripts, " 'sha256-%s'", web_page_requests_packed_sha256);
	if (more & HTML_DIFFERENCE)
		g_string_append_printf(scripts, " 'sha256-%s'", web_page_batches_packed_sha256);
	return g_strdup_printf(
		"default-src 'none'; script-src 'sha256-%s' 'sha256-%s'%s; style-src 'sha256-%s'; base-uri 'none'; "
		"form-action 'none'",
		web_page_loader_sha256, web_page_js_packed_sha256, scripts->str, web_page_css_packed_sha256);
}

void html_page(const struct profile *p, const struct html_options *options, GString *out)
{
	const char *more = has_requests(p, options) ? web_page_requests_packed
			   : options->diff	    ? web_page_batches_packed
						    : NULL;
	g_autofree char *policy = html_page_policy(has_requests(p, options) ? HTML_REQUESTS
						   : options->diff	    ? HTML_DIFFERENCE
									    : 0);
	struct html_blocks blocks;

	html_blocks_make(p, options, &blocks);
	g_string_append_printf(out,
			       "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			       "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
			       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			       "<meta name=\"color-scheme\" content=\"light dark\">\n",
			       policy);
	append_title(p, options, blocks.target, out);
	g_string_append(out, "</head>\n<body>\n<noscript>This page needs JavaScript to draw the recording. \"offcpu flame -o x.svg\" "
			     "makes a picture, \"offcpu report\" a text.</noscript>\n<div id=\"page\"></div>\n");
	append_block(out, "core", blocks.core);
	append_block(out, "detail", blocks.detail);
	append_block(out, "wakers", blocks.wakers);
	append_block(out, "slices", blocks.slices);
	append_block(out, "diff", blocks.diff);
	append_block(out, "requests", blocks.requests);
	if (more)
		g_string_append_printf(out, "<script type=\"application/octet-stream\" id=\"more\">%s</script>\n", more);
	g_string_append_printf(out,
			       "<script type=\"application/octet-stream\" id=\"style\">%s</script>\n"
			       "<script type=\"application/octet-stream\" id=\"elements\">%s</script>\n"
			       "<script type=\"application/octet-stream\" id=\"code\">%s</script>\n"
			       "<script>%s</script>\n</body>\n</html>\n",
			       web_page_css_packed, web_page_html_packed, web_page_js_packed, web_page_loader);
	html_blocks_clear(&blocks);
}
