/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "features/requests/probe.h"

#include <linux/btf.h>
#include <string.h>
#include <unistd.h>

#include "attach/feature.h"
#include "attach/kernel_btf.h"
#include "base/text.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/variables.h"

#define PROC "/proc"
#define LISTED_MAX 10
#define ALIKE_MAX 5

/* The index of a new row. The caller refuses the last one, which exceeds the maximum. */
static uint32_t add_name(struct request_plan *plan, const char *name, const char *file)
{
	g_ptr_array_add(plan->names, g_strdup(name));
	g_ptr_array_add(plan->files, g_strdup(file));
	return plan->names->len - 1;
}

/* "f(int) (a.cc), ..." of at most ten candidates. */
static char *list_of(const GArray *list, bool whole)
{
	GString *text = g_string_new(NULL);

	EACH_ROW_WHILE(i, const struct elf_function, f, list, i < LISTED_MAX)
		g_string_append_printf(text, "%s%s", i ? ", " : "", whole ? f->whole : f->name);
	if (list->len > LISTED_MAX)
		g_string_append_printf(text, ", and %u more", list->len - LISTED_MAX);
	return g_string_free(text, FALSE);
}

/* Copies that a compiler made of one function count as one. */
static bool are_one(const GArray *list)
{
	for (guint i = 1; i < list->len; i++)
		if (strcmp(g_array_index(list, struct elf_function, i).whole,
			   g_array_index(list, struct elf_function, 0).whole) != 0)
			return false;
	return true;
}

static void fail_inlined(GError **error, const struct elf_functions *f, const char *path, const char *pattern,
			 const char *hint)
{
	g_autoptr(GString) callers = g_string_new(NULL);

	for (guint i = 0; i < f->inlined->len; i++)
		g_string_append_printf(callers, "%s%s", i ? ", " : "", (const char *)f->inlined->pdata[i]);
	request_fail(error, "%s: %s has no code of its own: it is inlined in %s; take such a function%s", path, pattern,
	     callers->str, hint);
}

/* The interpreter of the processes' own functions, which are in no file's symbols. NULL: they are machine code. */
static const char *interpreter_of(const GArray *pids)
{
	g_autofree char *text = NULL;
	g_autoptr(GArray) lines = pids && pids->len ? request_mapped_files(g_array_index(pids, uint32_t, 0), &text)
						    : NULL;

	EACH_ROW_OF(i, const struct maps_line, line, lines) {
		enum runtime runtime = line->is_exec && line->inode ? runtime_of_file(line->path) : RUNTIME_CNT;

		if (runtime != RUNTIME_CNT && runtime != RUNTIME_GO)
			return runtime_name(runtime);
	}
	return NULL;
}

/* Functions of the file with similar names. NULL: none. */
static char *functions_alike(const struct request_place *place, const char *typed, unsigned worst_rank)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	struct elf_functions all = { 0 };
	int fd = opener_read_held(place->fd);
	char *list = NULL;

	if (fd >= 0 && elf_functions_find(&all, fd, place->path, "*", NULL)) {
		for (guint i = 0; i < all.list->len; i++)
			g_ptr_array_add(names, g_array_index(all.list, struct elf_function, i).name);
		list = alike_list(names, typed, worst_rank, ALIKE_MAX);
		elf_functions_clear(&all);
	}
	if (fd >= 0)
		close(fd);
	return list;
}

static void fail_unfound(GError **error, const struct elf_functions *f, const struct request_place *place,
			 const char *pattern, const char *interpreter)
{
	const char *path = place->path;
	bool may_be_misspelt = !elf_function_is_glob(pattern) && !f->is_ifunc;
	g_autofree char *same = may_be_misspelt ? functions_alike(place, pattern, ALIKE_SAME_WORD) : NULL;
	g_autofree char *alike = may_be_misspelt && !same && !f->is_named_elsewhere ?
					 functions_alike(place, pattern, ALIKE_NOT - 1) : NULL;
	const char *names = same ? same : alike;
	g_autofree char *hint = names ? g_strdup_printf("; it has %s", names) : g_strdup("");

	if (elf_function_is_glob(pattern))
		request_fail(error,
		     f->has_symbols ? "%s: no function matches '%s'" :
				      "%s: no function that it exports matches '%s', and it is stripped: install its debug symbols",
		     path, pattern);
	else if (f->is_ifunc)
		request_fail(error,
		     "%s: which code %s has is chosen as the program starts (IFUNC), and calls go there: name one of its variants, or a "
		     "function that calls it",
		     path, pattern);
	else if (f->inlined->len)
		fail_inlined(error, f, path, pattern, hint);
	else if (same && !interpreter)
		request_fail(error, "%s: there is no function '%s'%s", path, pattern, hint);
	else if (f->is_named_elsewhere)
		request_fail(error,
		     "%s: %s has no code of its own: it is inlined wherever it is called, so take a function that calls it",
		     path, pattern);
	else if (interpreter)
		request_fail(error,
		     "%s: there is no function '%s': functions that %s runs have no place for a probe, so take socket:PORT, or a "
		     "function of a library that they call (libpq:PQexec)",
		     path, pattern, interpreter);
	else if (!f->has_symbols)
		request_fail(error,
		     "%s: no function '%s' among those that it exports, and it is stripped: install its debug symbols%s",
		     path, pattern, hint);
	else
		request_fail(error, "%s: there is no function '%s'%s", path, pattern, hint);
}

static bool add_functions(struct request_plan *plan, const struct request_place *place, const struct elf_functions *f,
			  const char *pattern, bool every, GError **error)
{
	struct request_probe like = { .kind = REQUEST_ENTER };
	GHashTable *numbers;

	if (!every && !are_one(f->list)) {
		g_autofree char *list = list_of(f->list, !elf_function_is_glob(pattern));

		request_fail(error, "%s: %u functions match '%s': %s. Name one, or take --every", place->path, f->list->len,
		     pattern, list);
		return false;
	}
	numbers = g_hash_table_new(g_str_hash, g_str_equal);
	EACH_ROW(i, const struct elf_function, one, f->list) {
		gpointer number;

		if (!g_hash_table_lookup_extended(numbers, one->whole, NULL, &number)) {
			number = GUINT_TO_POINTER(add_name(plan, one->name, place->name));
			g_hash_table_insert(numbers, one->whole, number);
		}
		like.func = GPOINTER_TO_UINT(number);
		request_add_entry(plan, place, one, &like, f->machine);
	}
	g_hash_table_destroy(numbers);
	plan->has_functions = true;
	return true;
}

static bool plan_function(struct request_plan *plan, const char *bin, const char *pattern, const GArray *pids,
			  const char *program, bool every, GError **error)
{
	g_autoptr(GArray) places = request_places_find(plan, bin, pids, program, error);
	GError *unfound = NULL;
	bool ok = places != NULL, is_found = false;

	EACH_ROW_WHILE(i, const struct request_place, place, places, ok) {
		struct elf_functions f;
		int fd = opener_read_held(place->fd);

		ok = elf_functions_find(&f, fd, place->path, pattern, error);
		if (ok && f.list->len && !(f.is_ifunc && !every)) {
			*(f.is_go ? &plan->has_go : &plan->has_others) = true;
			is_found = true;
			if (!f.has_symbols && elf_function_is_glob(pattern))
				plan->exports_only = request_plan_keep(plan, g_strdup(place->path));
			ok = (!f.is_go || request_add_go(plan, place, error)) &&
			     add_functions(plan, place, &f, pattern, every, error);
		} else if (ok && !unfound) {
			fail_unfound(&unfound, &f, place, pattern, bin ? NULL : interpreter_of(pids));
		}
		if (f.list)
			elf_functions_clear(&f);
		if (fd >= 0)
			close(fd);
	}
	if (ok && !is_found) {
		g_propagate_error(error, unfound);
		return false;
	}
	g_clear_error(&unfound);
	return ok;
}

/* People write "query-start" for query__start. */
static char *probe_name(const char *typed)
{
	g_auto(GStrv) parts = g_strsplit(typed, "-", -1);

	return g_strjoinv("__", parts);
}

static void fail_no_probe(GError **error, const struct request_place *place, const char *provider, const char *name)
{
	int fd = opener_read_held(place->fd);
	g_autoptr(GPtrArray) names = elf_probes_list(fd, provider), providers = elf_probes_list(fd, NULL);
	const GPtrArray *there = names->len ? names : providers;
	g_autofree char *alike = alike_list(there, names->len ? name : provider, ALIKE_NOT - 1, ALIKE_MAX);
	GString *list = g_string_new(alike);

	for (guint i = 0; !alike && i < there->len && i < LISTED_MAX; i++)
		g_string_append_printf(list, "%s%s", i ? ", " : "", (const char *)there->pdata[i]);
	if (!alike && there->len > LISTED_MAX)
		g_string_append_printf(list, ", and %u more", there->len - LISTED_MAX);
	if (!there->len)
		request_fail(error, "%s: there is no probe %s:%s: the file has no probes (USDT) at all", place->path, provider,
		     name);
	else
		request_fail(error, "%s: there is no probe %s:%s; %s %s", place->path, provider, name,
		     names->len ? "that provider has" : "its providers are", list->str);
	g_string_free(list, TRUE);
	if (fd >= 0)
		close(fd);
}

static bool add_usdt(struct request_plan *plan, const struct request_place *place, const char *provider,
		     const char *typed, uint32_t func, enum request_probe_kind kind, GError **error)
{
	int fd = opener_read_held(place->fd);
	g_autofree char *name = probe_name(typed);
	g_autoptr(GArray) found = elf_probes_find(fd, provider, name, error);

	if (fd >= 0)
		close(fd);
	if (!found)
		return false;
	if (!found->len) {
		fail_no_probe(error, place, provider, name);
		return false;
	}
	EACH_ROW(i, const struct elf_probe, p, found) {
		struct request_probe probe = { .fd = place->fd,
					       .kind = kind,
					       .func = func,
					       .offset = p->off,
					       .semaphore = p->semaphore };

		probe.what = request_plan_keep(plan, g_strdup_printf("%s:%s in %s", provider, name, place->path));
		g_array_append_val(plan->probes, probe);
	}
	return true;
}

/* "BIN:PROVIDER:START,DONE[,DONE]", or without BIN. */
static bool plan_usdt(struct request_plan *plan, const char *spec, const GArray *pids, const char *program,
		      GError **error)
{
	g_auto(GStrv) parts = g_strsplit(spec, ":", -1);
	guint cnt = g_strv_length(parts);
	const char *bin = cnt == 3 && *parts[0] ? parts[0] : NULL;
	g_auto(GStrv) probes = cnt >= 2 ? g_strsplit(parts[cnt - 1], ",", -1) : NULL;
	g_autoptr(GArray) places = NULL;

	if (cnt < 2 || cnt > 3 || g_strv_length(probes) < 2) {
		request_fail(error, "usdt:%s: usdt:BIN:PROVIDER:START,DONE is wanted", spec);
		return false;
	}
	places = request_places_find(plan, bin, pids, program, error);
	EACH_ROW_OF(i, const struct request_place, place, places) {
		g_autofree char *name = g_strdup_printf("%s:%s", parts[cnt - 2], probes[0]);
		uint32_t func = add_name(plan, name, place->name);

		plan->has_others = true;
		for (guint k = 0; probes[k]; k++)
			if (!add_usdt(plan, place, parts[cnt - 2], probes[k], func, k ? REQUEST_DONE : REQUEST_START,
				      error))
				return false;
	}
	return places != NULL;
}

/* The colon between BIN and FUNC, not one of "::". */
static const char *colon_of(const char *spec)
{
	for (const char *p = spec; *p; p++) {
		if (*p != ':')
			continue;
		if (p[1] != ':')
			return p;
		p++;
	}
	return NULL;
}

static bool can_see_sockets(const char *spec, GError **error)
{
	if (kernel_btf_id(feature_kernel_btf(), "btf_trace_sock_recv_length", BTF_KIND_TYPEDEF) >= 0)
		return true;
	request_fail(error, "%s: this kernel does not tell what sockets receive: Linux 6.3 or later is needed", spec);
	return false;
}

/* "socket:5432": requests by connection. */
static bool plan_socket(struct request_plan *plan, const char *spec, const GArray *pids, const char *program,
			GError **error)
{
	struct request_port port = { .func = plan->names->len };
	g_autofree char *path = NULL, *comm = NULL;
	guint64 number;

	if (!g_ascii_string_to_unsigned(spec + strlen("socket:"), 10, 1, UINT16_MAX, &number, NULL)) {
		request_fail(error, "%s: socket:PORT is wanted, a number from 1 to 65535", spec);
		return false;
	}
	if (!can_see_sockets(spec, error))
		return false;
	if (plan->ports->len >= OFFCPU_REQUEST_PORTS_MAX) {
		request_fail(error, "%s: there is room for %d ports", spec, OFFCPU_REQUEST_PORTS_MAX);
		return false;
	}
	for (guint i = 0; i < plan->ports->len; i++)
		if (g_array_index(plan->ports, struct request_port, i).port == number)
			return true;
	port.port = (uint16_t)number;
	if (pids && pids->len) {
		path = g_strdup_printf(PROC "/%u/comm", g_array_index(pids, uint32_t, 0));
		if (g_file_get_contents(path, &comm, NULL, NULL))
			g_strchomp(comm);
	}
	add_name(plan, spec, comm ? comm : program ? program : "any process");
	g_array_append_val(plan->ports, port);
	return true;
}

static bool plan_spec(struct request_plan *plan, const char *spec, const GArray *pids, const char *program, bool every,
		      GError **error)
{
	const char *colon = colon_of(spec);
	g_autofree char *bin = NULL;

	if (g_str_has_prefix(spec, "usdt:"))
		return plan_usdt(plan, spec + strlen("usdt:"), pids, program, error);
	if (g_str_has_prefix(spec, "socket:"))
		return plan_socket(plan, spec, pids, program, error);
	if (!*spec || (colon && !colon[1])) {
		request_fail(error, "'%s': the name of a function is wanted", spec);
		return false;
	}
	if (colon && colon > spec)
		bin = g_strndup(spec, (size_t)(colon - spec));
	return plan_function(plan, bin, colon ? colon + 1 : spec, pids, program, every, error);
}

static bool goes_together(const struct request_plan *plan, GError **error)
{
	if (request_plan_is_by_socket(plan) && plan->probes->len)
		request_fail(error,
		     "socket:PORT does not go with functions or probes: a thread has one kind of requests at a time");
	else if (plan->has_go && plan->has_others)
		request_fail(error,
		     "functions of Go do not go with others: requests there are goroutines', and elsewhere threads'");
	else
		return true;
	return false;
}

FREES_DATA(route_name_free, struct request_route_name, r, g_free(r->glob); g_free(r->service))

struct request_plan *request_plan_new_empty(void)
{
	struct request_plan *plan = g_new0(struct request_plan, 1);

	plan->names = g_ptr_array_new_with_free_func(g_free);
	plan->files = g_ptr_array_new_with_free_func(g_free);
	plan->strings = g_ptr_array_new_with_free_func(g_free);
	plan->probes = g_array_new(FALSE, TRUE, sizeof(struct request_probe));
	plan->ports = g_array_new(FALSE, FALSE, sizeof(struct request_port));
	plan->routes = g_ptr_array_new_with_free_func(route_name_free);
	plan->go_places = g_array_new(FALSE, FALSE, sizeof(struct request_place));
	plan->fds = g_array_new(FALSE, FALSE, sizeof(int));
	return plan;
}

/* Gives everything added since then this name. */
static void call_it(struct request_plan *plan, guint first, guint first_probe, const char *name)
{
	for (guint i = first_probe; i < plan->probes->len; i++)
		g_array_index(plan->probes, struct request_probe, i).func = first;
	g_ptr_array_set_size(plan->names, (gint)first + 1);
	g_ptr_array_set_size(plan->files, (gint)first + 1);
	g_free(plan->names->pdata[first]);
	plan->names->pdata[first] = g_strdup(name);
}

bool request_plan_add(struct request_plan *plan, const char *name, const char *spec, const GArray *pids, GError **error)
{
	const guint first = plan->names->len, probes = plan->probes->len, ports = plan->ports->len;
	bool had_others = plan->has_others, is_well = plan_spec(plan, spec, pids, NULL, true, error);

	if (is_well && plan->has_go)
		request_fail(error, "%s: a function of Go, whose scheduler would have to be probed all the time", spec);
	if (!is_well || plan->has_go || !goes_together(plan, error)) {
		g_ptr_array_set_size(plan->names, (gint)first);
		g_ptr_array_set_size(plan->files, (gint)first);
		g_array_set_size(plan->probes, probes);
		g_array_set_size(plan->ports, ports);
		g_array_set_size(plan->go_places, 0);
		plan->has_go = false;
		plan->has_others = had_others;
		return false;
	}
	call_it(plan, first, probes, name);
	if (plan->has_functions)
		request_add_catches(plan, pids);
	return true;
}

bool request_plan_add_route(struct request_plan *plan, const char *name, const char *glob, const char *service,
			    GError **error)
{
	struct request_route_name *r;

	if (!can_see_sockets(glob, error))
		return false;
	r = g_new0(struct request_route_name, 1);
	*r = (struct request_route_name){ .glob = g_strdup(glob), .service = g_strdup(service), .func = plan->names->len };
	g_ptr_array_add(plan->routes, r);
	add_name(plan, name, service);
	return true;
}

struct request_plan *request_plan_new(char **specs, const GArray *pids, const char *program, bool every, GError **error)
{
	struct request_plan *plan = request_plan_new_empty();

	for (char **spec = specs; *spec; spec++) {
		if (plan_spec(plan, *spec, pids, program, every, error) && plan->names->len <= OFFCPU_REQUEST_FUNCS_MAX)
			continue;
		if (error && !*error)
			request_fail(error, "%u functions match, and there is room for %d", plan->names->len,
			     OFFCPU_REQUEST_FUNCS_MAX);
		request_plan_free(plan);
		return NULL;
	}
	if (!goes_together(plan, error)) {
		request_plan_free(plan);
		return NULL;
	}
	if (plan->has_functions && !plan->has_go)
		request_add_catches(plan, pids);
	return plan;
}

void request_plan_free(struct request_plan *plan)
{
	if (!plan)
		return;
	for (guint i = 0; i < plan->fds->len; i++)
		close(g_array_index(plan->fds, int, i));
	g_array_unref(plan->go_places);
	g_array_unref(plan->fds);
	g_array_unref(plan->probes);
	g_array_unref(plan->ports);
	g_ptr_array_unref(plan->routes);
	g_ptr_array_unref(plan->strings);
	g_ptr_array_unref(plan->files);
	g_ptr_array_unref(plan->names);
	g_free(plan);
}
