/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/apart.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>

#include "base/urgency.h"

enum state { MAPS_EXPECTED, MAPS_MADE, MAPS_NEVER };

struct apart_maps {
	GMutex lock;
	GCond changed;
	enum state state;
};

struct apart {
	struct apart_maps *maps;
	const struct bpf_object_skeleton *first;
	const char *program, *core_btf;
	struct bpf_object *object;
	struct bpf_link *link;
	GThread *thread;	/* NULL: not begun, or joined */
	int err;
	gint is_done;
};

/* libbpf says which program it loads, but not for whom: by the thread that asked it to. */
static _Thread_local struct apart_maps *expected;

static void set_maps(struct apart_maps *maps, enum state now)
{
	g_mutex_lock(&maps->lock);
	maps->state = now;
	g_cond_broadcast(&maps->changed);
	g_mutex_unlock(&maps->lock);
}

static int on_first_program(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	(void)prog;
	(void)opts;
	(void)cookie;
	if (expected)
		set_maps(expected, MAPS_MADE);
	return 0;
}

struct apart_maps *apart_maps_new(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = on_first_program);
	static gsize is_registered;	/* libbpf's handlers are the process's */
	struct apart_maps *maps = g_new0(struct apart_maps, 1);

	if (g_once_init_enter(&is_registered)) {
		libbpf_register_prog_handler(APART_MAPS_MADE, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &opts);
		g_once_init_leave(&is_registered, 1);
	}
	g_mutex_init(&maps->lock);
	g_cond_init(&maps->changed);
	return maps;
}

void apart_maps_free(struct apart_maps *maps)
{
	if (!maps)
		return;
	g_cond_clear(&maps->changed);
	g_mutex_clear(&maps->lock);
	g_free(maps);
}

void apart_maps_expect(struct apart_maps *maps)
{
	expected = maps;
}

struct apart *apart_new(struct apart_maps *maps, const struct bpf_object_skeleton *first, struct bpf_program *prog,
			const char *core_btf)
{
	struct apart *a = g_new0(struct apart, 1);

	a->maps = maps;
	a->first = first;
	a->program = bpf_program__name(prog);
	a->core_btf = core_btf;
	bpf_program__set_autoload(prog, false);
	return a;
}

/* The same bytes again: the same maps, of which the program is to see the first object's. */
static int share_maps(struct bpf_object *object, const struct bpf_object *with)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const struct bpf_map *first = bpf_object__find_map_by_name(with, bpf_map__name(map));
		int err;

		if (!first)
			return -ENOENT;
		if (bpf_map__fd(first) < 0)	/* not wanted this time */
			err = bpf_map__set_autocreate(map, false);
		else
			err = bpf_map__reuse_fd(map, bpf_map__fd(first));
		if (err)
			return err;
	}
	return 0;
}

static bool await_maps(struct apart_maps *maps)
{
	bool are_made;

	g_mutex_lock(&maps->lock);
	while (maps->state == MAPS_EXPECTED)
		g_cond_wait(&maps->changed, &maps->lock);
	are_made = maps->state == MAPS_MADE;
	g_mutex_unlock(&maps->lock);
	return are_made;
}

static int load(struct apart *a)
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
	if (!await_maps(a->maps))
		return -ECANCELED;
	err = share_maps(a->object, *a->first->obj);
	return err ? err : bpf_object__load(a->object);
}

static gpointer run(gpointer data)
{
	struct apart *a = data;

	a->err = load(a);
	g_atomic_int_set(&a->is_done, 1);
	return NULL;
}

bool apart_is_done(const struct apart *a)
{
	return !a || g_atomic_int_get(&a->is_done);
}

void apart_begin(struct apart *a)
{
	if (!apart_is_done(a) && !a->thread)
		a->thread = urgency_thread_new("apart", run, a);
}

static void join(struct apart *a)
{
	if (a->thread)
		g_thread_join(a->thread);
	a->thread = NULL;
}

void apart_free(struct apart *a)
{
	if (!a)
		return;
	set_maps(a->maps, MAPS_NEVER);
	join(a);
	bpf_link__destroy(a->link);
	bpf_object__close(a->object);
	g_free(a);
}

int apart_wait(struct apart *a)
{
	if (!a)
		return 0;
	apart_begin(a);
	join(a);
	return a->err;
}

struct bpf_link *apart_link(struct apart *a)
{
	if (!a->link)
		a->link = bpf_program__attach(bpf_object__find_program_by_name(a->object, a->program));
	return a->link;
}

struct bpf_object *apart_object(const struct apart *a)
{
	return a && apart_is_done(a) ? a->object : NULL;
}
