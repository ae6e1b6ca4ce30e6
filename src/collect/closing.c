/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/closing.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>

#include "abi/offcpu_abi.h"
#include "base/urgency.h"
#include "collect/cost.h"
#include "offcpu.skel.h"

#define PROGRAM "close_thread"

struct closing {
	struct offcpu_bpf *skel;
	const char *core_btf;
	bool is_later;
	struct bpf_object *object;	/* these two only then */
	struct bpf_link *link;
	GThread *thread;	/* NULL: not begun, or joined */
	int err;
	gint is_done;
};

struct closing *closing_new(struct offcpu_bpf *skel, const char *core_btf, bool is_later)
{
	struct closing *c = g_new0(struct closing, 1);

	c->skel = skel;
	c->core_btf = core_btf;
	c->is_later = is_later;
	c->is_done = !is_later;
	bpf_program__set_autoload(skel->progs.close_thread, !is_later);
	return c;
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

static int load(struct closing *c)
{
	const struct bpf_object_skeleton *bytes = c->skel->skeleton;
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = bytes->name, .btf_custom_path = c->core_btf);
	struct bpf_program *prog, *mine;
	int err;

	c->object = bpf_object__open_mem(bytes->data, bytes->data_sz, &opts);
	if (!c->object)
		return -errno;
	mine = bpf_object__find_program_by_name(c->object, PROGRAM);
	bpf_object__for_each_program(prog, c->object)
		bpf_program__set_autoload(prog, prog == mine);
	err = mine ? share_maps(c->object, c->skel->obj) : -ENOENT;
	if (!err)
		err = bpf_object__load(c->object);
	if (err)
		return err;
	c->link = bpf_program__attach_iter(mine, NULL);
	return c->link ? 0 : -errno;
}

static gpointer run(gpointer data)
{
	struct closing *c = data;

	urgency_enter();
	c->err = load(c);
	urgency_leave();
	g_atomic_int_set(&c->is_done, 1);
	return NULL;
}

bool closing_is_done(const struct closing *c)
{
	return g_atomic_int_get(&c->is_done);
}

void closing_load(struct closing *c)
{
	if (c->is_later && !c->thread && !closing_is_done(c))
		c->thread = g_thread_new("closing", run, c);
}

static void join(struct closing *c)
{
	if (c->thread)
		g_thread_join(c->thread);
	c->thread = NULL;
}

void closing_free(struct closing *c)
{
	if (!c)
		return;
	join(c);
	bpf_link__destroy(c->link);
	bpf_object__close(c->object);
	g_free(c);
}

int closing_wait(struct closing *c, struct bpf_link **ret_link)
{
	closing_load(c);
	join(c);
	*ret_link = c->is_later ? c->link : c->skel->links.close_thread;
	return c->err;
}

void closing_cost(const struct closing *c, uint64_t *ret_ns, uint64_t *ret_runs, uint64_t *ret_missed)
{
	*ret_ns = *ret_runs = *ret_missed = 0;
	if (c && closing_is_done(c) && c->object)
		cost_programs(c->object, ret_ns, ret_runs, ret_missed);
}
