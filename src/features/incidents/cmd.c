/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <stdio.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/range.h"
#include "explain/explain.h"
#include "explain/text.h"
#include "features/incidents/history.h"
#include "render/json/json.h"

static void append_time(GString *s, uint64_t unix_ns)
{
	g_autoptr(GDateTime) at = g_date_time_new_from_unix_local((gint64)(unix_ns / 1000000000));
	g_autofree char *text = at ? g_date_time_format(at, "%Y-%m-%d %H:%M:%S") : NULL;

	g_string_append(s, text ? text : "?");
}

/* Says that windows had expired when it was kept, so that only sums are left. */
static void append_coarse(GString *s, const struct incident *i)
{
	if (i->minutes)
		g_string_append_printf(s, "; %" G_GUINT64_FORMAT " minutes as sums, whose windows were gone", i->minutes);
	if (i->hours)
		g_string_append_printf(s, "; %" G_GUINT64_FORMAT " hours as sums, whose minutes were gone", i->hours);
}

static void append_incident(GString *s, const char *dir, const struct incident *i)
{
	text_safe(s, i->name);
	g_string_append(s, "\n  ");
	if (i->damage) {
		g_string_append(s, "damaged: ");
		text_safe(s, i->damage);
		g_string_append_c(s, '\n');
		return;
	}
	append_time(s, i->from_unix_ns);
	g_string_append_printf(s, ", %s", TEXT_NS(i->to_unix_ns - i->from_unix_ns));
	g_string_append_printf(s, ", %" G_GUINT64_FORMAT " windows, ", i->windows);
	size_text(s, i->bytes);
	append_coarse(s, i);
	g_string_append_c(s, '\n');
	const char *const lines[] = { i->said, i->headline };
	static const char *const before[] = { "  the alert said: ", "  " };

	for (size_t k = 0; k < G_N_ELEMENTS(lines); k++) {
		if (!*lines[k])
			continue;
		g_string_append(s, before[k]);
		text_safe(s, lines[k]);
		g_string_append_c(s, '\n');
	}
	if (!i->has_recording)
		return;
	g_autofree char *path = incident_recording(dir, i->name), *quoted = g_shell_quote(path);

	g_string_append(s, "  a recording of its first moments, with who woke the wakers: offcpu report ");
	text_safe(s, quoted);
	g_string_append_c(s, '\n');
}

int incidents_show(const char *dir, bool is_json, const struct answer_args *answer)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) all = incident_list(dir, &error);
	g_autoptr(GString) s = g_string_new(NULL);

	if (!all)
		return cmd_failed("report", "%s", error->message);
	if (is_json || answer_is_asked(answer)) {
		g_autoptr(GString) out = g_string_new(NULL);

		json_incidents(out, all, dir);
		answer_print("incidents", out, answer);
		return EXIT_OK;
	}
	for (guint i = 0; i < all->len; i++)
		append_incident(s, dir, all->pdata[i]);
	if (!all->len)
		g_string_append_printf(s, "No incidents are kept in '%s': offcpu agent --keep NAME, or keep in an [alert NAME].\n",
				       dir);
	else
		g_string_append(s, "\n`offcpu report --incident NAME` reads one.\n");
	return cmd_write_output(NULL, s->str, s->len, &error) ? EXIT_OK : EXIT_FAILED;
}

/* First headline of its report; free with g_free(). */
static char *headline_of(const char *dir, const struct incident_request *r)
{
	struct profile *p = history_read_of(dir, r->from, r->to, NULL);
	struct explanation *e = p ? explanation_new(p, NULL) : NULL;
	char *text = NULL;

	if (e && e->headlines->len)
		text = g_strdup(g_array_index(e->headlines, struct headline, 0).sentence);
	else if (e)
		text = g_strdup(e->little);
	explanation_free(e);
	profile_free(p);
	return text;
}

int incidents_keep(const struct agent_config *c, const struct incident_request *r)
{
	const struct incident_options options = { .dir = c->dir, .max_bytes = c->incidents_bytes,
						  .may_replace = r->may_replace, .recording = r->recording };
	struct incident about = { .name = r->name, .said = r->said };
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) s = g_string_new(NULL);
	g_autofree char *headline = NULL;
	uint64_t from_ns, to_ns;

	if (!history_range(r->from, r->to, &from_ns, &to_ns, &error))
		return cmd_wrong("agent", "%s", error->message);
	about.headline = headline = headline_of(c->dir, r);
	if (!incident_keep(&options, from_ns, to_ns, &about, &error))
		return cmd_failed("agent", "--keep %s: %s", r->name, error->message);
	append_time(s, about.from_unix_ns);
	g_string_append(s, " to ");
	append_time(s, about.to_unix_ns);
	g_string_append_printf(s, " is kept as '%s': %" G_GUINT64_FORMAT " windows, ", r->name, about.windows);
	size_text(s, about.bytes);
	append_coarse(s, &about);
	puts(s->str);
	return EXIT_OK;
}
