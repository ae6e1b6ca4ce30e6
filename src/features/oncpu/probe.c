/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Samples of what runs on each CPU: features/oncpu/oncpu.bpf.h is the kernel's half. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "features/oncpu/abi.h"
#include "attach/error.h"
#include "attach/maps.h"
#include "base/clock.h"
#include "base/each.h"
#include "base/find.h"
#include "base/parse.h"
#include "base/opener/opener.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

#define NS_PER_S 1000000000ULL
/*
 * How often the sums are taken out, and it is looked for CPUs that came up; one that goes and comes back in between is
 * not noticed.
 */
#define LOOK_EVERY_NS 1000000000ULL
#define PERIOD_MAX_NS NS_PER_S

struct event {
	int cpu;
	struct bpf_link *link;	/* with the event's descriptor */
	int fd;
};

struct on_cpu {
	struct offcpu_bpf *skel;
	uint32_t hz, budget_ppm;
	uint64_t slice_ns;	/* of the keys: at most a second, so that they can be taken out soon */
	GArray *events;		/* struct event */
	char *online;		/* as the kernel lists the CPUs, at the last look */
	uint64_t looked_ns;
	struct oncpu_cost cost;	/* at the last look */
	uint32_t lowered_cnt;
	uint64_t unread_cnt;
};

static void select_parts(struct offcpu_bpf *skel, bool wanted)
{
	bpf_map__set_autocreate(skel->maps.oncpu_sums, wanted);
	bpf_map__set_autocreate(skel->maps.oncpu_scratches, wanted);
	bpf_program__set_autoload(skel->progs.sample_on_cpu, wanted);
}

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	uint32_t hz = s->options->mode == COLLECT_WAITS ? s->options->on_cpu_hz : 0;
	uint64_t slice_ns = cfg->slice_ns ? cfg->slice_ns : NS_PER_S;
	struct on_cpu *o;

	select_parts(s->skel, hz > 0);
	if (!hz)
		return false;
	o = *ret_state = g_new0(struct on_cpu, 1);
	o->skel = s->skel;
	o->hz = hz;
	o->budget_ppm = s->options->budget_ppm;
	o->slice_ns = slice_ns / ((slice_ns + NS_PER_S - 1) / NS_PER_S);
	o->events = g_array_new(FALSE, FALSE, sizeof(struct event));
	s->skel->rodata->oncpu_slice_ns = o->slice_ns;
	s->skel->data->oncpu_period_ns = NS_PER_S / hz;
	return true;
}

static void event_close(struct event *e)
{
	bpf_link__destroy(e->link);	/* closes the descriptor, too */
}

static void on_cpu_free(void *state)
{
	struct on_cpu *o = state;

	for (guint i = 0; i < o->events->len; i++)
		event_close(&g_array_index(o->events, struct event, i));
	g_array_unref(o->events);
	g_free(o->online);
	g_free(o);
}

/* 0, also where the CPU has just gone, or a negative errno. */
static int event_open(struct on_cpu *o, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = o->skel->data->oncpu_period_ns, .exclude_idle = 1,
	};
	struct event e = { .cpu = cpu,
			   .fd = opener_perf_event(&attr, cpu) };

	if (e.fd < 0)
		return errno == ENODEV ? 0 : -errno;
	e.link = bpf_program__attach_perf_event(o->skel->progs.sample_on_cpu, e.fd);
	if (!e.link) {
		int err = -errno;

		close(e.fd);
		return err;
	}
	g_array_append_val(o->events, e);
	return 0;
}

static bool start(struct session *s, void *state, GError **error)
{
	struct on_cpu *o = state;
	g_autoptr(GArray) cpus = NULL;

	o->online = cpu_list_online(error);
	if (!o->online)
		return false;
	o->looked_ns = clock_ns(CLOCK_MONOTONIC);
	cpus = cpu_list_parse(o->online);
	for (guint i = 0; i < cpus->len; i++) {
		int err = event_open(o, g_array_index(cpus, int, i));

		if (err) {
			attach_set_perf_error(error, err, "sample what runs on the CPUs by perf's clock");
			return false;
		}
	}
	return true;
}

static bool has_event(const struct on_cpu *o, int cpu)
{
	return ANY_ROW(const struct event, x, o->events, x->cpu == cpu);
}

/* A CPU that goes takes its event along: when it comes back it needs another one, as a new one does. */
static void look_for_cpus(struct on_cpu *o)
{
	g_autofree char *online = cpu_list_online(NULL);

	if (!online || strcmp(online, o->online) == 0)
		return;
	g_autoptr(GArray) cpus = cpu_list_parse(online);

	for (guint i = o->events->len; i-- > 0;) {
		struct event *e = &g_array_index(o->events, struct event, i);

		if (cpu_list_has(cpus, e->cpu))
			continue;
		event_close(e);
		g_array_remove_index_fast(o->events, i);
	}
	for (guint i = 0; i < cpus->len; i++)
		if (!has_event(o, g_array_index(cpus, int, i)))
			event_open(o, g_array_index(cpus, int, i));	/* else it is as if it had not come */
	g_free(o->online);
	o->online = g_steal_pointer(&online);
}

static struct oncpu_cost cost_now(const struct on_cpu *o)
{
	int cpus = libbpf_num_possible_cpus();
	size_t size = (bpf_map__value_size(o->skel->maps.oncpu_scratches) + 7) & ~(size_t)7;
	g_autofree char *values = g_malloc0(size * (size_t)MAX(cpus, 1));
	struct oncpu_cost sum = { 0 };
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(o->skel->maps.oncpu_scratches), &zero, values))
		return sum;
	for (int i = 0; i < cpus; i++) {
		const struct oncpu_cost *one = (const void *)(values + size * (size_t)i);	/* the first member */

		sum.runs += one->runs;
		sum.ns += one->ns;
	}
	return sum;
}

/* Samples may take half of the budget.  What they stand for grows as their rate falls: nothing is biased by it. */
static void keep_budget(struct on_cpu *o, uint64_t elapsed_ns)
{
	struct oncpu_cost now = cost_now(o);
	double used_ppm = (double)(now.ns - o->cost.ns) * 1e6 / (double)elapsed_ns / MAX(o->events->len, 1);
	__u64 period_ns = o->skel->data->oncpu_period_ns * 2;

	o->cost = now;
	if (!o->budget_ppm || used_ppm <= o->budget_ppm / 2.0 || period_ns > PERIOD_MAX_NS)
		return;
	o->skel->data->oncpu_period_ns = period_ns;
	for (guint i = 0; i < o->events->len; i++)
		ioctl(g_array_index(o->events, struct event, i).fd, PERF_EVENT_IOC_PERIOD, &period_ns);
	o->lowered_cnt++;
}

/* Those of slices from `first` up to before `end`, which no program adds to any more. */
static void take_sums(struct on_cpu *o, struct fold *f, uint32_t first, uint32_t end)
{
	int fd = bpf_map__fd(o->skel->maps.oncpu_sums);
	g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(struct oncpu_key));
	struct oncpu_key key, *last = NULL;

	while (bpf_map_get_next_key(fd, last, &key) == 0 && keys->len < 2 * ONCPU_SUMS_MAX) {
		if (key.slice >= first && key.slice < end)
			g_array_append_val(keys, key);
		last = &key;
	}
	EACH_ROW(i, const struct oncpu_key, k, keys) {
		struct oncpu_sum sum;

		if (bpf_map_lookup_elem(fd, k, &sum) == 0 && bpf_map_delete_elem(fd, k) == 0)
			fold_on_cpu(f, k, &sum, o->slice_ns);
	}
}

static void drain(struct session *s, void *state)
{
	struct on_cpu *o = state;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), slice;

	if (now_ns - o->looked_ns < LOOK_EVERY_NS)
		return;
	keep_budget(o, now_ns - o->looked_ns);
	o->looked_ns = now_ns;
	look_for_cpus(o);
	slice = now_ns > s->start_ns ? (now_ns - s->start_ns) / o->slice_ns : 0;
	if (slice > 1 && !o->skel->rodata->cfg.may_cut)
		take_sums(o, s->fold, 0, (uint32_t)slice - 1);
}

static void take_last(const void *key, const void *sum, void *data)
{
	const struct on_cpu *o = ((void **)data)[0];

	fold_on_cpu(((void **)data)[1], key, sum, o->slice_ns);
}

/* Where windows are cut a slice is a half, which takes turns with that of the waits. */
static void read_half(struct session *s, void *state, bool second, bool is_last)
{
	struct on_cpu *o = state;
	void *both[] = { o, s->fold };

	if (is_last && !map_read_out(o->skel->maps.oncpu_sums, take_last, both))
		o->unread_cnt++;
	else if (!is_last && s->skel->rodata->cfg.may_cut)
		take_sums(o, s->fold, second, (uint32_t)second + 1);
}

static void finish(struct session *s, void *state, struct profile *p)
{
	const struct on_cpu *o = state;

	p->info.on_cpu_hz = o->hz;
	p->info.on_cpu_end_hz = (uint32_t)(NS_PER_S / o->skel->data->oncpu_period_ns);
	if (o->unread_cnt)
		profile_add_loss(p, "unread_on_cpu", "samples of threads on CPU could not be read out of the kernel",
				 o->unread_cnt, 0);
}

const struct session_probe probe_on_cpu = {
	.name = "samples on CPU",
	.configure = configure,
	.start = start,
	.drain = drain,
	.read_half = read_half,
	.finish = finish,
	.free = on_cpu_free,
};
