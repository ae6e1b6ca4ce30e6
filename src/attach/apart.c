/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/apart.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>

#include "base/urgency.h"

enum maps { MAPS_EXPECTED, MAPS_MADE, MAPS_NEVER };

struct apart {
	const struct bpf_object_skeleton *first;
	const char *program, *core_btf;
	struct bpf_object *object;
	struct bpf_link *link;
	GThread *thread;	/* NULL: not begun, or joined */
	int err;
	gint is_done;
};

static GMutex lock;
static GCond changed;
static enum maps maps;		/* of the first object */

static void set_maps(enum maps now)
{
	g_mutex_lock(&lock);
	maps = now;
	g_cond_broadcast(&changed);
	g_mutex_unlock(&lock);
}

static int on_first_program(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	(void)prog;
	(void)opts;
	(void)cookie;
	set_maps(MAPS_MADE);
	return 0;
}

void apart_watch_maps(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = on_first_program);
	static int handler;

	if (handler <= 0)
		handler = libbpf_register_prog_handler(APART_MAPS_MADE, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &opts);
	set_maps(MAPS_EXPECTED);
}

struct apart *apart_new(const struct bpf_object_skeleton *first, struct bpf_program *prog, const char *core_btf)
{
	struct apart *a = g_new0(struct apart, 1);

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

static bool await_maps(void)
{
	bool are_made;

	g_mutex_lock(&lock);
	while (maps == MAPS_EXPECTED)
		g_cond_wait(&changed, &lock);
	are_made = maps == MAPS_MADE;
	g_mutex_unlock(&lock);
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
	if (!await_maps())
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
	set_maps(MAPS_NEVER);
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
