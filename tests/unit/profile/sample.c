/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample.h"

#include "profile/profile.h"

const struct sample_size sample_tiny = { 3, 6, 5, 24, 14 };
const struct sample_size sample_small = { 5, 12, 8, 40, 60 };
const struct sample_size sample_medium = { 30, 800, 20, 800, 1500 };
const struct sample_size sample_large = { 150, 5000, 30, 4000, 20000 };

static void fill_info(struct profile *p)
{
	p->info = (struct profile_info){
		.start_unix_ns = 1700000000123456789,
		.start_ns = 987654321012,
		.duration_ns = 5000000001,
		.host = profile_string(p, "höst"),
		.kernel = profile_string(p, "6.1.0-18-amd64"),
		.cpus = 8,
		.command_line = profile_string(p, "offcpu record -a -d 5"),
		.filters = profile_string(p, ""),
		.version = profile_string(p, "0.1.0"),
		.switches = 123456,
		.tracer_cpu_ns = 7654321,
		.tracer_peak_rss_bytes = 41 << 20,
		.tracer_bpf_ns = 22222222,
		.has_bpf_ns = true,
		.has_locks = true,
		.has_wakers = true,
		.has_blame = true,
		.has_storms = true,
		.self_excluded = true,
		.sampling = { .start_ns = 10000, .end_ns = 40000, .max_ns = 160000, .raised_cnt = 2, .lowered_cnt = 1, .over_cnt = 3,
			      .budget_ppm = 10000, .used_ppm = 8123, .peak_ppm = 23456, .has_used = true },
	};
	profile_add_loss(p, "ring_stack", "the ring buffer was full for a stack (it is tried again)", 17, 4200000);
	profile_add_loss(p, "storage", "per-thread storage could not be allocated", 1, 0);
}

static void add_frames(struct profile *p, const struct sample_size *size, GRand *rand)
{
	static const char *const modules[] = { "/usr/sbin/mariadbd", "/usr/lib/x86_64-linux-gnu/libc.so.6",
					       "[kernel]", "[ext4]", "[vdso]" };

	for (unsigned i = 0; i < size->functions; i++) {
		bool kernel = i % 3 == 0, unnamed = i % 11 == 10;
		g_autofree char *name = g_strdup_printf(kernel ? "do_something_%u" :
							"THD::handle_query_%u(Item_func const*, unsigned long)", i / 2);
		g_autofree char *file = g_strdup_printf("./sql/sql_%u.cc", i % 37);
		const struct frame f = {
			.name = unnamed ? NULL : name,
			.module = i % 101 == 10 ? NULL : modules[g_rand_int_range(rand, 0, 5)],
			.offset = (kernel ? 0xffffffff81000000 : 0x401000) + g_rand_int(rand) % 0x1000000,
			.file = i % 5 ? NULL : file,
			.line = i % 5 ? 0 : i,
			.kind = kernel ? FRAME_KERNEL : FRAME_USER,
			.why = unnamed ? 1 + i % (FRAME_WHY_COUNT - 1) : FRAME_NAMED,
			.is_inline = i % 13 == 0,
		};

		profile_frame(p, &f);
	}
}

/* Stacks that share their outer halves, as real ones do. */
static GArray *add_stacks(struct profile *p, const struct sample_size *size, GRand *rand)
{
	GArray *stacks = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (unsigned i = 0; i < size->stacks; i++) {
		uint32_t node = 0, depth = 2 + g_rand_int(rand) % (size->depth - 1);

		for (uint32_t d = 0; d < depth; d++) {
			/* Outermost frames choose among few, inner ones among many. */
			uint32_t fan = MIN(p->frames->len, 2 + d * d * d);

			node = profile_node(p, node, g_rand_int(rand) % fan);
		}
		profile_stack_end(p, node, STACK_COMPLETE + i % (STACK_END_COUNT - 1));
		g_array_append_val(stacks, node);
	}
	return stacks;
}

static void add_threads(struct profile *p, const struct sample_size *size, GRand *rand)
{
	for (unsigned i = 0; i < size->threads; i++) {
		g_autofree char *comm = g_strdup_printf("worker/%u", i % 40);
		struct thread t = {
			.pid = 1000 + i / 30,
			.tid = 1000 + i,
			.start_ns = 1000000 + g_rand_int(rand),
			.comm = profile_string(p, comm),
			.process = profile_string(p, "mariadbd"),
			.service = i % 3 ? NULL : profile_string(p, i % 2 ? "mariadb.service" : "shop/checkout"),
			.flags = i % 32,
			.from_ns = p->info.start_ns,
			.to_ns = p->info.start_ns + p->info.duration_ns,
			.on_cpu_ns = g_rand_int(rand) % 1000000000,
			.blocked_ns = g_rand_int(rand) % 2000000000,
			.runnable_ns = g_rand_int(rand) % 1000000,
			.preempted_ns = g_rand_int(rand) % 1000000,
			.filtered_ns = i % 4 ? 0 : g_rand_int(rand),
			.lost_ns = i % 50 ? 0 : 1,
			.switches = g_rand_int(rand) % 100000,
		};

		uint32_t index = profile_add_thread(p, &t);

		for (unsigned s = 0; s < i % 4; s++) {
			const struct state_total total = {
				.thread = index, .state = (uint8_t)"SDR"[s], .count = 1 + i,
				.blocked_ns = s < 2 ? 1000000 + i : 0, .runnable_ns = 1000 * s,
				.preempted_ns = s < 2 ? 0 : 5000 + i,
			};
			profile_add_state(p, &total);
		}
	}
}

/* By what makes a wait the same one, so that the waits are the same with objects and without. */
static uint32_t object_of(struct profile *p, const struct wait *w)
{
	static const char *const names[] = { "queue_lock", "heap 0x7f00", "/dev/shm/pool+0x40", "cache<int>::lock+0x8", "" };
	const struct object o = {
		.kind = (uint8_t)(w->kernel % LOCK_KIND_COUNT), .is_private = w->kernel % 2, .operation = "FUTEX_WAIT_BITSET",
		.name = names[w->kernel % G_N_ELEMENTS(names)], .place = w->kernel % 4 ? "/usr/bin/app" : "",
		.pid = w->kernel % 3 ? 77 : 0, .addr = w->kernel % 3 ? UINT64_C(0xffff800000001000) + w->kernel : 0,
		.holder_tid = w->thread % 3 ? w->thread : 0,
	};

	return w->state == 'S' && w->kernel % 4 != 3 ? profile_object(p, &o) + 1 : 0;
}

static void add_wait(struct profile *p, const GArray *stacks, GRand *rand)
{
	/* one call a statement: within one, compilers differ in which comes first */
	uint32_t draw = g_rand_int(rand);
	uint32_t most = g_rand_int(rand) % 8 ? 3 : 500;
	uint32_t cnt = 1 + draw % most;
	struct wait w = {
		.thread = g_rand_int(rand) % p->threads->len,
		.user = g_rand_int(rand) % 10 ? g_array_index(stacks, uint32_t, g_rand_int(rand) % stacks->len) : 0,
		.kernel = g_array_index(stacks, uint32_t, g_rand_int(rand) % MIN(stacks->len, 200)),
		.state = (uint8_t)"SDTtPIR"[g_rand_int(rand) % 7],
		.flags = g_rand_int(rand) % 20 ? 0 : g_rand_int(rand) % 4,
		.count = cnt,
	};

	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t ns = (uint64_t)1 << g_rand_int_range(rand, 12, 26);

		ns += g_rand_int(rand) % ns;
		if (w.state == 'R') {
			w.preempted_ns += ns;
		} else {
			w.blocked_ns += ns - ns / 8;
			w.runnable_ns += ns / 8;
		}
		w.max_ns = MAX(w.max_ns, ns);
		w.hist[g_bit_storage(ns) - 1]++;
	}
	w.off_cpu_se_ns = cnt % 3 ? 0 : w.max_ns / 4;
	w.count_se = cnt % 3 ? 0 : cnt / 2;
	w.object = object_of(p, &w);
	profile_add_wait(p, &w);
}

/* The waker, and before it the one before that; a thread that was awake or an interrupt is the last. */
static void add_story(struct profile *p, uint32_t wake, uint32_t waker)
{
	const struct wake *k = profile_wake(p, wake);
	struct story s = { .wake = wake, .count = k->count, .blocked_ns = k->blocked_ns, .runnable_ns = k->runnable_ns / 2 };
	struct chain_node c = { .waker = waker };

	if (profile_get_waker(p, waker)->irq || !waker) {
		c.end = profile_get_waker(p, waker)->irq ? CHAIN_INTERRUPT : CHAIN_AWAKE;
		s.rest_ns = s.blocked_ns;
	} else {
		const struct chain_node last = { .waker = waker - 1, .end = CHAIN_LOOP, .loop_steps = 2 };

		c.next = profile_chain(p, &last) + 1;
		s.hop[0] = (struct hop){ .ran_ns = s.blocked_ns / 4, .earlier_ns = s.blocked_ns / 8 };
		s.hop[1] = (struct hop){ .ran_ns = s.blocked_ns / 2, .runnable_ns = s.blocked_ns / 16 };
		s.rest_ns = s.blocked_ns - s.blocked_ns / 4 - s.blocked_ns / 8 - s.blocked_ns / 2 - s.blocked_ns / 16;
	}
	s.chain = profile_chain(p, &c);
	profile_add_story(p, &s);
}

/* Threads and interrupts; each ended a part of some sleeps. */
static void add_wakers(struct profile *p, const GArray *stacks)
{
	static const char *const irqs[] = { "irq:virtio0-req.0", "softirq:NET_RX", "timer" };

	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const bool is_irq = i % 4 == 3;
		const struct thread *t = profile_thread(p, i % p->threads->len);

		if (w->state == 'R' || i % 5 == 4)
			continue;
		const struct waker waker = {
			.pid = is_irq ? 0 : t->pid, .tid = is_irq ? 0 : t->tid, .start_ns = is_irq ? 0 : t->start_ns,
			.comm = is_irq ? "" : t->comm, .irq = is_irq ? irqs[i % G_N_ELEMENTS(irqs)] : NULL,
			.user = is_irq || i % 2 ? 0 : g_array_index(stacks, uint32_t, i % stacks->len),
			.kernel = g_array_index(stacks, uint32_t, (i + 1) % stacks->len),
		};
		struct wake k = {
			.wait = i, .waker = profile_waker(p, &waker), .count = w->count,
			.blocked_ns = w->blocked_ns - w->blocked_ns / 4, .runnable_ns = w->runnable_ns / 2,
		};

		k.hist[10 + i % 7] = (uint32_t)w->count;
		uint32_t wake = profile_add_wake(p, &k);

		if (i % 3)
			add_story(p, wake, k.waker);
	}
}

/* Each thread's delays are shared among nobody and the threads after it, and something is left. */
static void add_crowds(struct profile *p)
{
	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i), *next = profile_thread(p, (i + 1) % p->threads->len);
		const bool is_thread = i % 3 != 1;
		const struct blame b = {
			.thread = i, .kind = is_thread ? BLAME_THREAD : i % 2 ? BLAME_IDLE : BLAME_THROTTLED,
			.pid = is_thread ? next->pid : 0, .tid = is_thread ? next->tid : 0,
			.comm = is_thread ? next->comm : "",
			.count = 1 + i, .runnable_ns = t->runnable_ns / 2, .preempted_ns = i % 4 ? t->preempted_ns : 0,
		};

		profile_add_blame(p, &b);
	}
	for (guint i = 0; i < p->wakers->len; i += 3) {
		const struct storm s = {
			.waker = i, .event_cnt = 1 + i, .call_cnt = 2 + i, .woken_cnt = 8 * (i + 1), .most_cnt = 8,
			.ended_cnt = 7 * (i + 1), .again_cnt = 5 * (i + 1), .cpu_ns = 90000 + i, .again_ns = 50000, .delay_ns = i,
		};

		profile_add_storm(p, &s);
	}
	for (guint i = 0; i < p->waits->len; i += 4) {
		g_autofree char *trace = g_strdup_printf("%032x", i), *span = g_strdup_printf("%016x", i + 1);
		const struct wait_trace t = { .wait = i, .trace = trace, .span = span, .start_ns = i, .ns = 1000 + i };

		profile_add_trace(p, &t);
	}
}

/* Of every other thread, in some stacks and slices. */
static void add_on_cpu(struct profile *p, const GArray *stacks)
{
	p->info.on_cpu_hz = 99;
	p->info.on_cpu_end_hz = 49;
	for (guint i = 0; i < 3 * p->threads->len; i++) {
		const struct on_cpu_sample s = {
			.thread = i / 6 * 2 % p->threads->len, .user = i % 3 ? g_array_index(stacks, uint32_t, i % stacks->len) : 0,
			.kernel = i % 4 ? 0 : g_array_index(stacks, uint32_t, (i + 1) % stacks->len), .slice = i % 5, .samples = 1 + i,
			.weight_ns = (1 + i) * 10101010,
		};

		profile_add_on_cpu(p, &s);
	}
}

struct profile *sample_profile(const struct sample_size *size, unsigned seed)
{
	struct profile *p = profile_new();
	GRand *rand = g_rand_new_with_seed(seed);

	fill_info(p);
	add_frames(p, size, rand);
	GArray *stacks = add_stacks(p, size, rand);

	add_threads(p, size, rand);
	for (unsigned i = 0; i < size->waits; i++)
		add_wait(p, stacks, rand);
	add_wakers(p, stacks);
	add_crowds(p);
	add_on_cpu(p, stacks);
	sample_add_requests(p, stacks);
	g_array_unref(stacks);
	g_rand_free(rand);
	sample_add_tasks(p);
	return p;
}

static void assert_infos_equal(const struct profile_info *a, const struct profile_info *b)
{
	g_assert_cmpuint(a->start_unix_ns, ==, b->start_unix_ns);
	g_assert_cmpuint(a->start_ns, ==, b->start_ns);
	g_assert_cmpuint(a->duration_ns, ==, b->duration_ns);
	g_assert_cmpstr(a->host, ==, b->host);
	g_assert_cmpstr(a->kernel, ==, b->kernel);
	g_assert_cmpuint(a->cpus, ==, b->cpus);
	g_assert_cmpstr(a->command_line, ==, b->command_line);
	g_assert_cmpstr(a->filters, ==, b->filters);
	g_assert_cmpstr(a->version, ==, b->version);
	g_assert_cmpuint(a->switches, ==, b->switches);
	g_assert_cmpuint(a->tracer_cpu_ns, ==, b->tracer_cpu_ns);
	g_assert_cmpuint(a->tracer_peak_rss_bytes, ==, b->tracer_peak_rss_bytes);
	g_assert_cmpuint(a->has_bpf_ns, ==, b->has_bpf_ns);
	g_assert_cmpuint(a->has_bpf_ns ? a->tracer_bpf_ns : 0, ==, b->has_bpf_ns ? b->tracer_bpf_ns : 0);
	g_assert_cmpuint(a->self_excluded, ==, b->self_excluded);
	g_assert_cmpuint(a->has_locks, ==, b->has_locks);
	g_assert_cmpuint(a->has_wakers, ==, b->has_wakers);
	g_assert_cmpuint(a->has_requests, ==, b->has_requests);
	g_assert_cmpuint(a->request_slower_ns, ==, b->request_slower_ns);
	g_assert_cmpuint(a->has_blame, ==, b->has_blame);
	g_assert_cmpuint(a->has_storms, ==, b->has_storms);
	g_assert_cmpuint(a->on_cpu_hz, ==, b->on_cpu_hz);
	g_assert_cmpuint(a->on_cpu_end_hz, ==, b->on_cpu_end_hz);
	const struct profile_sampling *x = &a->sampling, *y = &b->sampling;
	g_assert_cmpuint(x->start_ns, ==, y->start_ns);
	g_assert_cmpuint(x->end_ns, ==, y->end_ns);
	g_assert_cmpuint(x->max_ns, ==, y->max_ns);
	g_assert_cmpuint(x->raised_cnt, ==, y->raised_cnt);
	g_assert_cmpuint(x->lowered_cnt, ==, y->lowered_cnt);
	g_assert_cmpuint(x->over_cnt, ==, y->over_cnt);
	g_assert_cmpuint(x->budget_ppm, ==, y->budget_ppm);
	g_assert_cmpuint(x->has_used, ==, y->has_used);
	g_assert_cmpuint(x->used_ppm, ==, y->used_ppm);
	g_assert_cmpuint(x->peak_ppm, ==, y->peak_ppm);
}

static void assert_threads_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->threads->len, ==, b->threads->len);
	for (guint i = 0; i < a->threads->len; i++) {
		const struct thread *x = profile_thread(a, i), *y = profile_thread(b, i);

		g_assert_cmpuint(x->pid, ==, y->pid);
		g_assert_cmpuint(x->tid, ==, y->tid);
		g_assert_cmpuint(x->start_ns, ==, y->start_ns);
		g_assert_cmpstr(x->comm, ==, y->comm);
		g_assert_cmpstr(x->process, ==, y->process);
		g_assert_cmpstr(x->service, ==, y->service);
		g_assert_cmpuint(x->flags, ==, y->flags);
		g_assert_cmpuint(x->from_ns, ==, y->from_ns);
		g_assert_cmpuint(x->to_ns, ==, y->to_ns);
		g_assert_cmpuint(x->on_cpu_ns, ==, y->on_cpu_ns);
		g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpuint(x->preempted_ns, ==, y->preempted_ns);
		g_assert_cmpuint(x->filtered_ns, ==, y->filtered_ns);
		g_assert_cmpuint(x->lost_ns, ==, y->lost_ns);
		g_assert_cmpuint(x->switches, ==, y->switches);
	}
}

static void assert_states_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->states->len, ==, b->states->len);
	for (guint i = 0; i < a->states->len; i++) {
		const struct state_total *x = profile_state(a, i), *y = profile_state(b, i);

		g_assert_cmpuint(x->thread, ==, y->thread);
		g_assert_cmpuint(x->state, ==, y->state);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpuint(x->preempted_ns, ==, y->preempted_ns);
	}
}

static void assert_stacks_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->frames->len, ==, b->frames->len);
	for (guint i = 0; i < a->frames->len; i++) {
		const struct frame *x = profile_get_frame(a, i), *y = profile_get_frame(b, i);

		g_assert_cmpstr(x->name, ==, y->name);
		g_assert_cmpstr(x->module, ==, y->module);
		g_assert_cmpuint(x->offset, ==, y->offset);
		g_assert_cmpstr(x->file, ==, y->file);
		g_assert_cmpuint(x->line, ==, y->line);
		g_assert_cmpuint(x->kind, ==, y->kind);
		g_assert_cmpuint(x->why, ==, y->why);
		g_assert_cmpuint(x->is_inline, ==, y->is_inline);
	}
	g_assert_cmpuint(a->nodes->len, ==, b->nodes->len);
	for (guint i = 0; i < a->nodes->len; i++) {
		const struct stack_node *x = profile_get_node(a, i), *y = profile_get_node(b, i);

		g_assert_cmpuint(x->parent, ==, y->parent);
		g_assert_cmpuint(x->frame, ==, y->frame);
		g_assert_cmpuint(x->depth, ==, y->depth);
		g_assert_cmpuint(x->end, ==, y->end);
	}
}

static void assert_waits_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->waits->len, ==, b->waits->len);
	for (guint i = 0; i < a->waits->len; i++) {
		const struct wait *x = profile_wait(a, i), *y = profile_wait(b, i);

		g_assert_cmpuint(x->thread, ==, y->thread);
		g_assert_cmpuint(x->user, ==, y->user);
		g_assert_cmpuint(x->kernel, ==, y->kernel);
		g_assert_cmpuint(x->object, ==, y->object);
		g_assert_cmpuint(x->state, ==, y->state);
		g_assert_cmpuint(x->flags, ==, y->flags);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpuint(x->preempted_ns, ==, y->preempted_ns);
		g_assert_cmpuint(x->max_ns, ==, y->max_ns);
		g_assert_cmpuint(x->off_cpu_se_ns, ==, y->off_cpu_se_ns);
		g_assert_cmpuint(x->count_se, ==, y->count_se);
		g_assert_cmpmem(x->hist, sizeof(x->hist), y->hist, sizeof(y->hist));
	}
}

static void assert_objects_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->objects->len, ==, b->objects->len);
	for (guint i = 0; i < a->objects->len; i++) {
		const struct object *x = profile_get_object(a, i), *y = profile_get_object(b, i);

		g_assert_cmpuint(x->kind, ==, y->kind);
		g_assert_cmpuint(x->is_private, ==, y->is_private);
		g_assert_cmpstr(x->operation, ==, y->operation);
		g_assert_cmpstr(x->name, ==, y->name);
		g_assert_cmpstr(x->place, ==, y->place);
		g_assert_cmpuint(x->pid, ==, y->pid);
		g_assert_cmpuint(x->addr, ==, y->addr);
		g_assert_cmpuint(x->holder_tid, ==, y->holder_tid);
	}
}

static void assert_wakes_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->wakers->len, ==, b->wakers->len);
	for (guint i = 0; i < a->wakers->len; i++) {
		const struct waker *x = profile_get_waker(a, i), *y = profile_get_waker(b, i);

		g_assert_cmpuint(x->pid, ==, y->pid);
		g_assert_cmpuint(x->tid, ==, y->tid);
		g_assert_cmpuint(x->start_ns, ==, y->start_ns);
		g_assert_cmpstr(x->comm, ==, y->comm);
		g_assert_cmpstr(x->irq, ==, y->irq);
		g_assert_cmpuint(x->user, ==, y->user);
		g_assert_cmpuint(x->kernel, ==, y->kernel);
	}
	g_assert_cmpuint(a->wakes->len, ==, b->wakes->len);
	for (guint i = 0; i < a->wakes->len; i++) {
		const struct wake *x = profile_wake(a, i), *y = profile_wake(b, i);

		g_assert_cmpuint(x->wait, ==, y->wait);
		g_assert_cmpuint(x->waker, ==, y->waker);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpmem(x->hist, sizeof(x->hist), y->hist, sizeof(y->hist));
	}
}

static void assert_stories_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->chains->len, ==, b->chains->len);
	for (guint i = 0; i < a->chains->len; i++) {
		const struct chain_node *x = profile_get_chain(a, i), *y = profile_get_chain(b, i);

		g_assert_cmpuint(x->waker, ==, y->waker);
		g_assert_cmpuint(x->next, ==, y->next);
		g_assert_cmpuint(x->end, ==, y->end);
		g_assert_cmpuint(x->loop_steps, ==, y->loop_steps);
	}
	g_assert_cmpuint(a->stories->len, ==, b->stories->len);
	for (guint i = 0; i < a->stories->len; i++) {
		const struct story *x = profile_story(a, i), *y = profile_story(b, i);

		g_assert_cmpuint(x->wake, ==, y->wake);
		g_assert_cmpuint(x->chain, ==, y->chain);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpuint(x->rest_ns, ==, y->rest_ns);
		g_assert_cmpmem(x->hop, sizeof(x->hop), y->hop, sizeof(y->hop));
	}
}

static void assert_crowds_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->blames->len, ==, b->blames->len);
	for (guint i = 0; i < a->blames->len; i++) {
		const struct blame *x = profile_blame(a, i), *y = profile_blame(b, i);

		g_assert_cmpuint(x->thread, ==, y->thread);
		g_assert_cmpuint(x->kind, ==, y->kind);
		g_assert_cmpuint(x->pid, ==, y->pid);
		g_assert_cmpuint(x->tid, ==, y->tid);
		g_assert_cmpstr(x->comm, ==, y->comm);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpuint(x->preempted_ns, ==, y->preempted_ns);
	}
	g_assert_cmpuint(a->storms->len, ==, b->storms->len);
	for (guint i = 0; i < a->storms->len; i++) {
		const struct storm *x = profile_storm(a, i), *y = profile_storm(b, i);

		g_assert_cmpuint(x->waker, ==, y->waker);
		g_assert_cmpuint(x->event_cnt, ==, y->event_cnt);
		g_assert_cmpuint(x->call_cnt, ==, y->call_cnt);
		g_assert_cmpuint(x->woken_cnt, ==, y->woken_cnt);
		g_assert_cmpuint(x->most_cnt, ==, y->most_cnt);
		g_assert_cmpuint(x->ended_cnt, ==, y->ended_cnt);
		g_assert_cmpuint(x->again_cnt, ==, y->again_cnt);
		g_assert_cmpuint(x->cpu_ns, ==, y->cpu_ns);
		g_assert_cmpuint(x->again_ns, ==, y->again_ns);
		g_assert_cmpuint(x->delay_ns, ==, y->delay_ns);
	}
	g_assert_cmpuint(a->traces->len, ==, b->traces->len);
	for (guint i = 0; i < a->traces->len; i++) {
		const struct wait_trace *x = &g_array_index(a->traces, struct wait_trace, i);
		const struct wait_trace *y = &g_array_index(b->traces, struct wait_trace, i);

		g_assert_cmpuint(x->wait, ==, y->wait);
		g_assert_cmpstr(x->trace, ==, y->trace);
		g_assert_cmpstr(x->span, ==, y->span);
		g_assert_cmpuint(x->start_ns, ==, y->start_ns);
		g_assert_cmpuint(x->ns, ==, y->ns);
	}
}

static void assert_on_cpu_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->on_cpu->len, ==, b->on_cpu->len);
	for (guint i = 0; i < a->on_cpu->len; i++) {
		const struct on_cpu_sample *x = &g_array_index(a->on_cpu, struct on_cpu_sample, i);
		const struct on_cpu_sample *y = &g_array_index(b->on_cpu, struct on_cpu_sample, i);

		g_assert_cmpuint(x->thread, ==, y->thread);
		g_assert_cmpuint(x->user, ==, y->user);
		g_assert_cmpuint(x->kernel, ==, y->kernel);
		g_assert_cmpuint(x->slice, ==, y->slice);
		g_assert_cmpuint(x->samples, ==, y->samples);
		g_assert_cmpuint(x->weight_ns, ==, y->weight_ns);
	}
}

void assert_profiles_equal(const struct profile *a, const struct profile *b)
{
	assert_infos_equal(&a->info, &b->info);
	assert_threads_equal(a, b);
	assert_states_equal(a, b);
	assert_stacks_equal(a, b);
	assert_waits_equal(a, b);
	assert_objects_equal(a, b);
	assert_wakes_equal(a, b);
	assert_crowds_equal(a, b);
	assert_on_cpu_equal(a, b);
	assert_requests_equal(a, b);
	assert_tasks_equal(a, b);
	assert_stories_equal(a, b);
	g_assert_cmpuint(a->losses->len, ==, b->losses->len);
	for (guint i = 0; i < a->losses->len; i++) {
		const struct profile_loss *x = &g_array_index(a->losses, struct profile_loss, i);
		const struct profile_loss *y = &g_array_index(b->losses, struct profile_loss, i);

		g_assert_cmpstr(x->reason, ==, y->reason);
		g_assert_cmpstr(x->help, ==, y->help);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->time_ns, ==, y->time_ns);
	}
}
