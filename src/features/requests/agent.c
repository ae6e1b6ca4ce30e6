/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/agent.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "features/requests/agent_rule.h"
#include "features/requests/probe.h"

#define LOOK_NS UINT64_C(30000000000)
#define FILES_MAX 8	/* limit for processes of one name */

struct agent_requests {
	GPtrArray *rules;	/* struct request_rule */
	struct request_plan *plan;
	GHashTable *files;	/* "DEV:INO": the executables of programs with function rules */
	uint64_t looked_ns;
};

static GArray *processes_of(const struct request_rule *rule)
{
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autofree char *base = g_path_get_basename(rule->program);

	process_ids_named(base, pids);
	return pids;
}

/* Adds the executables of its processes. True: some were new. */
static bool note_files(struct agent_requests *r, const struct request_rule *rule)
{
	g_autoptr(GArray) pids = processes_of(rule);
	bool is_new = false;

	for (guint i = 0; i < pids->len && i < FILES_MAX; i++) {
		g_autofree char *link = g_strdup_printf("/proc/%" PRIu32 "/exe", g_array_index(pids, uint32_t, i));
		int fd = opener_hold(NULL, link, 0, 0);
		struct stat st;

		if (fd >= 0 && opener_stat_held(fd, &st))
			is_new |= g_hash_table_add(r->files, g_strdup_printf("%" PRIu64 ":%" PRIu64, (uint64_t)st.st_dev,
									     (uint64_t)st.st_ino));
		if (fd >= 0)
			close(fd);
	}
	return is_new;
}

static bool add_rule(struct agent_requests *r, const struct request_rule *rule, GError **error)
{
	g_autoptr(GArray) pids = NULL;
	g_autofree char *spec = NULL;
	bool is_path;

	if (rule->route)
		return request_plan_add_route(r->plan, rule->name, rule->route, rule->service, error);
	if (rule->port) {
		spec = g_strdup_printf("socket:%u", rule->port);
		return request_plan_add(r->plan, rule->name, spec, NULL, error);
	}
	is_path = strchr(rule->program, '/') != NULL;
	spec = is_path ? g_strconcat(rule->program, ":", rule->pattern, NULL) : g_strdup(rule->pattern);
	pids = processes_of(rule);
	if (pids->len || is_path)
		return request_plan_add(r->plan, rule->name, spec, pids->len ? pids : NULL, error);
	g_set_error(error, AGENT_CONFIG_ERROR, 0, "no process is called %s", rule->program);
	return false;
}

struct agent_requests *agent_requests_new(const struct agent_config *config, log_fn log)
{
	struct agent_requests *r;

	if (!config->requests->len)
		return NULL;
	r = g_new0(struct agent_requests, 1);
	r->rules = g_ptr_array_ref(config->requests);
	r->looked_ns = clock_ns(CLOCK_MONOTONIC);
	r->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	r->plan = request_plan_new_empty();
	EACH_POINTER(i, const struct request_rule, rule, config->requests) {
		g_autoptr(GError) why = NULL;

		if (rule->pattern)
			note_files(r, rule);
		if (!add_rule(r, rule, &why))
			log_say(log, LOG_LEVEL_WARNING, "[request %s]: %s: it has no numbers%s", rule->name, why->message,
				rule->pattern ? " until such a program is started" : "");
	}
	return r;
}

FREES(agent_requests_free, struct agent_requests, r, request_plan_free(r->plan); g_hash_table_unref(r->files);
      g_ptr_array_unref(r->rules))

const struct request_plan *agent_requests_plan(const struct agent_requests *r)
{
	return r && r->plan->names->len ? r->plan : NULL;
}

bool agent_requests_have_changed(struct agent_requests *r, uint64_t now_ns)
{
	bool is_new = false;

	if (!r || now_ns - r->looked_ns < LOOK_NS)
		return false;
	r->looked_ns = now_ns;
	EACH_POINTER(i, const struct request_rule, rule, r->rules)
		if (rule->pattern)
			is_new |= note_files(r, rule);
	return is_new;
}
