/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/filters.h"

#include "base/parse.h"
#include "cmd/cmd.h"

#define IDS_MAX 4096

/*
 * Parses "12,mariadb*": numbers go to ids (uint32_t), names to names (char *); query.processes is the whole text if it
 * has names.  text may be NULL.
 */
static bool take_processes(const char *text, GArray *ids, GPtrArray *names, GError **error)
{
	g_auto(GStrv) parts = text ? g_strsplit(text, ",", IDS_MAX + 1) : NULL;
	bool ok = !text || *text;

	for (unsigned i = 0; ok && parts && parts[i]; i++) {
		guint64 id = 0;

		if (*parts[i] && !g_ascii_isdigit(*parts[i]) && *parts[i] != '-') {
			g_ptr_array_add(names, g_strdup(parts[i]));
			continue;
		}
		ok = i < IDS_MAX && g_ascii_string_to_unsigned(parts[i], 10, 1, G_MAXINT32, &id, NULL);
		uint32_t id32 = (uint32_t)id;
		g_array_append_val(ids, id32);
	}
	if (names->len)
		g_ptr_array_add(names, NULL);
	return ok || cmd_bad(error, "--pid \"%s\": numbers above 0 or names are wanted, like 12,mariadbd", text);
}

bool filters_understand(struct filters *f, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (f->user && f->kernel)
		return cmd_bad(error, "-u and -k: only one of them leaves any thread");
	if (f->state && !parse_state_letters(f->state, &f->states, &why))
		return cmd_bad(error, "--state: %s", why->message);
	f->pid_list = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	f->process_list = g_ptr_array_new_with_free_func(g_free);
	if (!take_processes(f->pids, f->pid_list, f->process_list, error))
		return false;
	f->tid_list = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	if (f->tids && !parse_u32_list(f->tids, &f->tid_list, &why))
		return cmd_bad(error, "--tid: %s", why->message);
	f->query = (struct query){
		.states = f->states, .comm = f->comm, .grep = f->grep, .attribute = f->attribute,
		.trace = f->trace, .user_only = f->user, .kernel_only = f->kernel,
		.pids = (const uint32_t *)(void *)f->pid_list->data, .pids_cnt = f->pid_list->len,
		.processes = f->process_list->len ? (const char *const *)f->process_list->pdata : NULL,
		.tids = (const uint32_t *)(void *)f->tid_list->data, .tids_cnt = f->tid_list->len,
	};
	return query_check(&f->query, error);
}

void filters_clear(struct filters *f)
{
	g_free(f->state);
	g_free(f->comm);
	g_free(f->grep);
	g_free(f->attribute);
	g_free(f->trace);
	g_free(f->pids);
	g_free(f->tids);
	g_free(f->states);
	if (f->pid_list)
		g_array_unref(f->pid_list);
	if (f->process_list)
		g_ptr_array_unref(f->process_list);
	if (f->tid_list)
		g_array_unref(f->tid_list);
}
