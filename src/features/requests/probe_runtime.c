/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What runtimes do to their programs' calls: C++ exceptions and Go's scheduler. */
#include <string.h>
#include <unistd.h>

#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "features/requests/probe.h"
#include "runtimes/go/program.h"
#include "symbolize/process/maps.h"

void request_add_catches(struct request_plan *plan, const GArray *pids)
{
	static const struct { const char *library, *function;
	} catches[] = {
		{ "libstdc++", "__cxa_begin_catch" }, { "libc++abi", "__cxa_begin_catch" }, { "libgcc_s", "_Unwind_Resume" },
		{ NULL, "__cxa_begin_catch" }, /* a statically linked program */
		{ NULL, "_Unwind_Resume" },
	};

	const struct request_probe like = { .kind = REQUEST_CATCH };

	for (size_t i = 0; i < G_N_ELEMENTS(catches); i++) {
		g_autoptr(GArray) places = request_places_find(plan, catches[i].library, pids, NULL, NULL);

		EACH_ROW_OF(k, const struct request_place, place, places) {
			int fd = opener_read_held(place->fd);
			struct elf_functions f;

			if (elf_functions_find(&f, fd, place->path, catches[i].function, NULL) && f.list->len == 1) {
				const struct elf_function *one = &g_array_index(f.list, struct elf_function, 0);

				request_add_entry(plan, place, one, &like, f.machine);
			}
			elf_functions_clear(&f);
			if (fd >= 0)
				close(fd);
		}
	}
}

/* src/runtime/proc.go. needed: present in all versions. */
static const struct go_function {
	const char *name;
	enum request_probe_kind kind;
	bool is_needed;
} go_functions[] = {
	{ "runtime.gopark", REQUEST_GO_PARK, true },	 { "runtime.goschedImpl", REQUEST_GO_YIELD, true },
	{ "runtime.goyield_m", REQUEST_GO_YIELD, false }, { "runtime.preemptPark", REQUEST_GO_YIELD, false },
	{ "runtime.exitsyscall0", REQUEST_GO_YIELD, false }, { "runtime.exitsyscallNoP", REQUEST_GO_YIELD, false },
	{ "runtime.ready", REQUEST_GO_READY, true },	 { "runtime.execute", REQUEST_GO_RUN, true },
	{ "runtime.goexit0", REQUEST_GO_EXIT, true },	 { "runtime.gdestroy", REQUEST_GO_EXIT, false },
};

static const struct elf_function *function_of(const GArray *list, const char *name)
{
	return FIRST_ROW(const struct elf_function, x, list, !strcmp(x->name, name), x, NULL);
}

/* Does the file's scheduler have probes already? */
static bool is_done(const struct request_plan *plan, const struct request_place *place)
{
	return ANY_ROW(const struct request_place, p, plan->go_places, p->dev == place->dev && p->ino == place->ino);
}

bool request_add_go(struct request_plan *plan, const struct request_place *place, GError **error)
{
	const struct request_place done = { .dev = place->dev, .ino = place->ino };
	struct elf_functions f;
	int fd;
	bool ok;

	if (is_done(plan, place))
		return true;
	g_array_append_val(plan->go_places, done);
	fd = opener_read_held(place->fd);
	ok = elf_functions_find(&f, fd, place->path, "runtime.*", error);
	for (size_t i = 0; ok && i < G_N_ELEMENTS(go_functions); i++) {
		const struct request_probe like = { .kind = go_functions[i].kind };
		const struct elf_function *one = function_of(f.list, go_functions[i].name);

		if (one)
			request_add_entry(plan, place, one, &like, f.machine);
		else if (go_functions[i].is_needed)
			request_fail(error, "%s: %s is not found, so its goroutines cannot be followed", place->path,
				     go_functions[i].name);
		ok = one || !go_functions[i].is_needed;
	}
	if (f.list)
		elf_functions_clear(&f);
	if (fd >= 0)
		close(fd);
	return ok;
}

struct request_go_names *request_go_names_read(uint32_t pid)
{
	g_autofree struct go_program *program = g_new0(struct go_program, 1);
	g_autofree char *text = living_maps("/proc", pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = maps_parse(text);
	bool is_readable = go_program_open(program, "/proc", pid, lines) == GO_READABLE;
	struct request_go_names *n = NULL;

	if (is_readable && program->reason_cnt) {
		n = g_new0(struct request_go_names, 1);
		n->cnt = MIN(program->reason_cnt, G_N_ELEMENTS(n->name));
		n->text = g_memdup2(program->reasons, sizeof(program->reasons));
		for (unsigned i = 0; i < n->cnt; i++)
			n->name[i] = n->text + (size_t)i * GO_REASON_TEXT_MAX;
	}
	go_program_close(program);
	return n;
}

FREES(request_go_names_free, struct request_go_names, n, g_free(n->text))
