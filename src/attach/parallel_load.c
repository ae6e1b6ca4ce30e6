/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/parallel_load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>

#include "base/each.h"
#include "base/urgency.h"

struct parallel_load {
	const struct bpf_object_skeleton *first;
	const char *program, *core_btf;
	struct bpf_object *object;
	struct bpf_link *link;
	GThread *thread;	/* NULL: not started, or joined */
	int err;
	gint is_done;
};

struct parallel_load *parallel_load_new(const struct bpf_object_skeleton *first, struct bpf_program *prog,
					const char *core_btf)
{
	struct parallel_load *a = g_new0(struct parallel_load, 1);

	a->first = first;
	a->program = bpf_program__name(prog);
	a->core_btf = core_btf;
	bpf_program__set_autoload(prog, false);
	return a;
}

/* The same object again with the same maps, which the program shares with the first object. */
static int share_maps(struct bpf_object *object, const struct bpf_object *with)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const struct bpf_map *first = bpf_object__find_map_by_name(with, bpf_map__name(map));
		int err;

		if (!first)
			return -ENOENT;
		if (!bpf_map__autocreate(first))
			err = bpf_map__set_autocreate(map, false);
		else
			err = bpf_map__reuse_fd(map, bpf_map__fd(first));
		if (err)
			return err;
	}
	return 0;
}

static int load_object(struct parallel_load *a)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = a->first->name, .btf_custom_path = a->core_btf);
	struct bpf_program *prog, *mine;
	int err;

	a->object = bpf_object__open_mem(a->first->data, a->first->data_sz, &opts);
	if (!a->object)
		return -errno;
	mine = bpf_object__find_program_by_name(a->object, a->program);
	bpf_object__for_each_program(prog, a->object)
		bpf_program__set_autoload(prog, prog == mine);
	if (!mine)
		return -ENOENT;
	err = share_maps(a->object, *a->first->obj);
	return err ? err : bpf_object__load(a->object);
}

static gpointer run_load(gpointer data)
{
	struct parallel_load *a = data;

	a->err = load_object(a);
	g_atomic_int_set(&a->is_done, 1);
	return NULL;
}

bool parallel_load_is_done(const struct parallel_load *a)
{
	return !a || g_atomic_int_get(&a->is_done);
}

static bool is_begun(const struct parallel_load *a)
{
	return a->thread || g_atomic_int_get(&a->is_done);
}

void parallel_load_begin(struct parallel_load *a)
{
	if (a && !is_begun(a))
		a->thread = urgency_thread_new("load", run_load, a);
}

static void join_thread(struct parallel_load *a)
{
	if (a->thread)
		g_thread_join(a->thread);
	a->thread = NULL;
}

FREES(parallel_load_free, struct parallel_load, a, join_thread(a); bpf_link__destroy(a->link);
      bpf_object__close(a->object))

int parallel_load_wait(struct parallel_load *a)
{
	if (!a)
		return 0;
	if (!is_begun(a))
		run_load(a);
	join_thread(a);
	return a->err;
}

struct bpf_link *parallel_load_link(struct parallel_load *a)
{
	if (!a->link)
		a->link = bpf_program__attach(bpf_object__find_program_by_name(a->object, a->program));
	return a->link;
}

struct bpf_object *parallel_load_object(const struct parallel_load *a)
{
	return a && parallel_load_is_done(a) ? a->object : NULL;
}
