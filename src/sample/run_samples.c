/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample/parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/error.h"
#include "base/parse.h"
#include "look.skel.h"

#define SECOND_NS 1000000000ULL
#define SAMPLES_MAX_HZ 100	/* of all CPUs: each is walked here, in some 10 us */

struct run_samples {
	struct sampler *sampler;
	struct look_bpf *skel;
	struct ring_buffer *ring;
	GPtrArray *links;	/* struct bpf_link, one for each CPU; owns the event */
	uint64_t period_ns, unknown_cnt;
};

static void link_free(gpointer p)
{
	bpf_link__destroy(p);
}

static void take_sample(struct sampler *s, struct run_samples *r, const struct look_sample *b)
{
	struct sampled *t = g_hash_table_lookup(s->threads, GUINT_TO_POINTER(b->rec.tid));
	uint32_t user, kernel;

	if (!s->start_ns)
		return;
	if (!t || t->no == UINT32_MAX || t->start_ns != b->rec.start_ns || t->space != b->rec.code) {
		r->unknown_cnt++;
		return;
	}
	sampler_look_stacks(s, t, &b->rec, b->frame, b->stack, &user, &kernel);
	looks_on_cpu(s->looks, t->no, user, kernel, r->period_ns);
}

static int take_record(void *ctx, void *data, size_t size)
{
	struct run_samples *r = ctx;
	const struct look_sample *b = data;

	if (size >= sizeof(*b) && b->rec.frames <= LOOK_FRAMES_MAX && b->rec.stack_bytes <= LOOK_STACK_BYTES)
		take_sample(r->sampler, r, b);
	return 0;
}

static bool open_event(struct run_samples *r, int cpu, GError **error)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = r->period_ns, .exclude_idle = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0 && errno == ENODEV)	/* the CPU has just gone offline */
		return true;
	link = fd < 0 ? NULL : bpf_program__attach_perf_event(r->skel->progs.look_on_cpu, fd);
	if (link) {
		g_ptr_array_add(r->links, link);
		return true;
	}
	attach_set_perf_error(error, -errno, "sample what runs on the CPUs by perf's clock");
	if (fd >= 0)
		close(fd);
	return false;
}

struct run_samples *run_samples_new(struct sampler *s, struct look_bpf *skel, double hz, GError **error)
{
	struct run_samples *r = g_new0(struct run_samples, 1);
	g_autofree char *online = cpu_list_online(error);
	g_autoptr(GArray) cpus = online ? cpu_list_parse(online) : NULL;

	r->sampler = s;
	r->skel = skel;
	r->links = g_ptr_array_new_with_free_func(link_free);
	r->ring = ring_buffer__new(bpf_map__fd(skel->maps.ran), take_record, r, NULL);
	if (!r->ring || !cpus) {
		if (cpus)
			attach_set_error(error, -errno, "map the ring buffer");
		run_samples_free(r);
		return NULL;
	}
	r->period_ns = (uint64_t)((double)SECOND_NS / CLAMP(hz, 1, (double)SAMPLES_MAX_HZ / MAX(cpus->len, 1)));
	for (guint i = 0; i < cpus->len; i++) {
		if (open_event(r, g_array_index(cpus, int, i), error))
			continue;
		run_samples_free(r);
		return NULL;
	}
	return r;
}

FREES(run_samples_free, struct run_samples, r, ring_buffer__free(r->ring); g_ptr_array_unref(r->links))

void run_samples_take(struct run_samples *r)
{
	ring_buffer__consume(r->ring);
}

uint32_t run_samples_hz(const struct run_samples *r)
{
	return (uint32_t)MAX((SECOND_NS + r->period_ns / 2) / r->period_ns, 1);
}

uint64_t run_samples_lost(const struct run_samples *r)
{
	return r->unknown_cnt + r->skel->bss->ran_lost;
}
