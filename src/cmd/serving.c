/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/serving.h"

#include <stdio.h>
#include <unistd.h>

#include "base/opener/confine.h"
#include "cmd/target.h"
#include "cmd/cmd.h"
#include "explain/text.h"
#include "server/recording.h"
#include "server/server.h"

static bool has_display(void)
{
	return g_getenv("DISPLAY") || g_getenv("WAYLAND_DISPLAY");
}

static void become_user(gpointer data)
{
	if (!as_user_become(data))
		_exit(126);
}

/*
 * A browser executes what it receives, so it must not run as root: with sudo it is opened as the calling user.
 *
 * All users can read xdg-open's command line, so it gets a link that works once instead of the token.
 */
void serving_open_browser(const char *command, struct server *s)
{
	g_autoptr(GError) error = NULL;
	struct as_user *as = NULL;
	const char *url;

	if (!as_user_find(NULL, &as, &error) || (geteuid() == 0 && !as)) {
		cmd_error(command, "note: no browser is opened as root: use the link");
		return;
	}
	if (!has_display()) {
		as_user_free(as);
		cmd_error(command, "note: there is no display to open a browser on: use the link");
		return;
	}
	url = server_url_once(s, &error);
	const char *argv[] = { "xdg-open", url, NULL };
	g_auto(GStrv) environment = as_user_environment(as);

	if (!url || !g_spawn_async(NULL, (char **)argv, environment,
				   G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
				   become_user, as, NULL, &error))
		cmd_error(command, "note: no browser is opened: %s", error->message);
	as_user_free(as);
}

static void print_links(const struct serving *v, const struct server *s)
{
	const char *url = server_url(s);
	g_autofree char *base = g_path_get_basename(v->name);
	g_autofree char *speedscope = recording_link_speedscope(url, base);
	g_autofree char *firefox = recording_link_firefox(url);
	g_autofree char *pprof = recording_link_pprof(url);
	g_autoptr(GString) name = g_string_new(NULL);

	text_safe(name, v->name);
	printf("%s is served to this machine until Ctrl-C", name->str);
	if (v->idle_s)
		printf(", or until nobody asks for %u %s", v->idle_s >= 60 ? v->idle_s / 60 : v->idle_s,
		       v->idle_s >= 60 ? "min" : "s");
	printf(".\n  page              %s\n  speedscope        %s\n  Firefox Profiler  %s\n  go tool pprof     %s\n",
	       url, speedscope, firefox, pprof);
	fflush(stdout);
}

static void print_rights(const struct confine *c)
{
	if (c->has_left_root)
		printf("Runs as %s, without any rights%s.\n", c->user, c->has_landlock ? "; it can open no file" : "");
	fflush(stdout);
}

/*
 * The recording is in memory completely.  It may be somebody else's, so privileges are dropped: a fault in this
 * process gains its author nothing.
 */
struct before_serving {
	const struct serving *serving;
	struct confine confine;
};

static bool on_listening(struct server *s, void *data, GError **error)
{
	struct before_serving *b = data;

	if (b->serving->open)
		serving_open_browser(b->serving->command, s);
	return confine(&b->confine, error);
}

int serving_run(const struct serving *v, const struct profile *p, const struct html_options *page)
{
	const struct export_plan plan = { .selection = page->selection,
					  .selection_text = page->selection_text,
					  .folded = { .weight = page->view.weight },
					  .columns = 1 };
	struct recording_ctx ctx = { .profile = p, .page = page, .plan = &plan };
	struct before_serving before = { .serving = v, .confine = { .calls = CONFINE_SERVER } };
	const struct server_options options = {
		.port = v->port, .workers = 1, .routes = recording_routes, .routes_cnt = recording_routes_cnt,
		.ctx = &ctx, .on_listening = on_listening, .data = &before,
	};
	g_autoptr(GError) error = NULL;
	struct server *s = server_start(&options, &error);

	if (!s)
		return cmd_failed(v->command, "%s", error->message);
	print_links(v, s);
	print_rights(&before.confine);
	if (!server_run(s, v->idle_s))
		cmd_error(v->command, "note: nobody asked for %u s, so this ends", v->idle_s);
	server_stop(s);
	recording_ctx_clear(&ctx);
	return EXIT_OK;
}
