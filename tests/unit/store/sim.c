/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim.h"

#include <string.h>

#include "profile/profile.h"

#define STACKS 12
#define PARTS_MAX 4000

/* On CPU, or off it: blocked, then runnable, or preempted. */
struct part {
	uint64_t start, ran, blocked, runnable, preempted;
	unsigned stack, object, waker;	/* object, waker: 0 none */
	uint8_t state;
};

struct actor {
	uint32_t pid, tid;
	uint64_t birth, death, exec;	/* exec: it goes on under another name; UINT64_MAX: not */
	bool is_exited;
	GArray *parts;
};

struct sim {
	GArray *actors;
};

static uint64_t end_of(const struct part *p)
{
	return p->start + p->ran + p->blocked + p->runnable + p->preempted;
}

static uint64_t random_ns(GRand *r, uint64_t below)
{
	return (uint64_t)(g_rand_double(r) * g_rand_double(r) * g_rand_double(r) * (double)below) + 1;
}

static struct part random_part(GRand *r, uint64_t at, uint64_t length)
{
	static const char letters[] = "SSSSDI";
	struct part p = { .start = at };

	if (g_rand_int_range(r, 0, 2)) {
		p.ran = random_ns(r, length / 50);
		return p;
	}
	p.stack = (unsigned)g_rand_int_range(r, 0, STACKS);
	if (g_rand_int_range(r, 0, 4) == 0) {
		p.state = 'R';
		p.preempted = random_ns(r, length / 20);
		return p;
	}
	p.state = (uint8_t)letters[g_rand_int_range(r, 0, 6)];
	p.blocked = random_ns(r, g_rand_int_range(r, 0, 10) ? length / 10 : length);
	p.runnable = g_rand_int_range(r, 0, 5) ? random_ns(r, length / 30) : 0;
	p.object = (unsigned)g_rand_int_range(r, 0, 3);
	p.waker = (unsigned)g_rand_int_range(r, 0, 4);
	return p;
}

/* What it does with its life, in parts of at most a share of length_ns. */
static void live(struct actor *a, GRand *r, uint64_t length_ns)
{
	a->parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	for (uint64_t at = a->birth; at < a->death && a->parts->len < PARTS_MAX;) {
		const struct part p = random_part(r, at, length_ns);

		g_array_append_val(a->parts, p);
		at = end_of(&p);
	}
	a->death = MIN(a->death, end_of(&g_array_index(a->parts, struct part, a->parts->len - 1)));
}

struct sim *sim_new(uint32_t seed, unsigned threads, uint64_t length_ns)
{
	struct sim *s = g_new0(struct sim, 1);
	GRand *r = g_rand_new_with_seed(seed);

	s->actors = g_array_new(FALSE, FALSE, sizeof(struct actor));
	for (unsigned i = 0; i < threads; i++) {
		struct actor a = { .pid = 100 + i / 3, .tid = 100 + i, .death = length_ns, .exec = UINT64_MAX };

		if (i % 5 == 4)
			a.birth = random_ns(r, length_ns);
		if (i % 7 == 6) {
			a.death = a.birth + (length_ns - a.birth) / 2;
			a.is_exited = true;
		}
		if (i % 6 == 5)
			a.exec = a.birth + (a.death - a.birth) / 3;
		live(&a, r, length_ns);
		g_array_append_val(s->actors, a);
	}
	g_rand_free(r);
	return s;
}

void sim_add_short_lived(struct sim *s, uint32_t seed, unsigned cnt, uint64_t length_ns, uint64_t life_ns)
{
	GRand *r = g_rand_new_with_seed(seed);

	for (unsigned i = 0; i < cnt; i++) {
		struct actor a = { .pid = 100000 + i, .tid = 100000 + i, .exec = UINT64_MAX, .is_exited = true };

		a.birth = 1 + (uint64_t)(g_rand_double(r) * (double)(length_ns - 2 * life_ns));
		a.death = a.birth + life_ns / 2 + random_ns(r, life_ns);
		live(&a, r, life_ns);
		g_array_append_val(s->actors, a);
	}
	g_rand_free(r);
}

void sim_free(struct sim *s)
{
	for (guint i = 0; i < s->actors->len; i++)
		g_array_unref(g_array_index(s->actors, struct actor, i).parts);
	g_array_unref(s->actors);
	g_free(s);
}

static uint32_t stack(struct profile *p, enum frame_kind kind, unsigned n)
{
	const char *const names[] = { "main", "run", kind == FRAME_KERNEL ? "schedule" : "wait", NULL };
	uint32_t node = 0;

	for (unsigned i = 0; names[i]; i++) {
		g_autofree char *name = i ? g_strdup_printf("%s_%u", names[i], n >> (2 - i)) : g_strdup(names[i]);
		const struct frame f = { .name = name, .module = kind == FRAME_KERNEL ? "[kernel]" : "/usr/bin/app", .kind = (uint8_t)kind,
					 .offset = n };

		node = profile_node(p, node, profile_frame(p, &f));
	}
	profile_stack_end(p, node, STACK_COMPLETE);
	return node;
}

static uint32_t object(struct profile *p, unsigned n)
{
	const struct object o = { .kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT", .name = n == 1 ? "lru" : "log",
				  .place = "app", .pid = 100, .addr = 0x1000u * n };

	return n ? profile_object(p, &o) + 1 : 0;
}

static uint32_t waker(struct profile *p, unsigned n)
{
	const struct waker thread = { .pid = 100, .tid = 100 + n, .comm = "waker", .start_ns = 77, .user = stack(p, FRAME_USER, n) };
	const struct waker irq = { .irq = "timer", .kernel = stack(p, FRAME_KERNEL, 1) };

	return profile_waker(p, n == 1 ? &irq : &thread);
}

static uint64_t within(uint64_t start, uint64_t length, uint64_t from, uint64_t to)
{
	uint64_t a = MAX(start, from), b = MIN(start + length, to);

	return b > a ? b - a : 0;
}

static void add_part(struct profile *p, uint32_t thread, const struct part *part, uint64_t from, uint64_t to, uint64_t life_end)
{
	struct thread *t = &g_array_index(p->threads, struct thread, thread);
	uint64_t off = part->start + part->ran, end = MIN(end_of(part), life_end);
	struct wait w = { .thread = thread, .state = part->state, .count = 1 };

	t->on_cpu_ns += within(part->start, part->ran, from, to);
	if (!part->state || off >= to || end <= from)
		return;
	w.blocked_ns = within(off, part->blocked, from, to);
	w.runnable_ns = within(off + part->blocked, part->runnable, from, to);
	w.preempted_ns = within(off, part->preempted, from, to);
	w.user = stack(p, FRAME_USER, part->stack);
	w.kernel = stack(p, FRAME_KERNEL, part->stack / 4);
	w.flags = (off < from ? WAIT_OPEN_AT_START : 0) | (end > to ? WAIT_OPEN_AT_END : 0);
	w.object = end <= to ? object(p, part->object) : 0;
	w.max_ns = wait_off_cpu_ns(&w);
	w.hist[profile_hist_slot(w.max_ns)] = 1;
	t->flags |= (w.flags & WAIT_OPEN_AT_START ? THREAD_OPEN_AT_START : 0) | (w.flags & WAIT_OPEN_AT_END ? THREAD_OPEN_AT_END : 0);
	t->blocked_ns += w.blocked_ns;
	t->runnable_ns += w.runnable_ns;
	t->preempted_ns += w.preempted_ns;
	t->switches += off >= from;
	uint32_t row = profile_add_wait(p, &w);
	uint64_t woken = off + part->blocked;

	if (part->waker && woken >= from && woken < to && woken < life_end) {
		struct wake k = { .wait = row, .waker = waker(p, part->waker), .count = 1, .blocked_ns = w.blocked_ns, .runnable_ns = w.runnable_ns };

		k.hist[profile_hist_slot(k.runnable_ns)] = 1;
		profile_add_wake(p, &k);
	}
}

/* The states of a thread are the sums of its waits: nothing is filtered. */
static void add_states(struct profile *p)
{
	for (guint i = 0; i < p->threads->len; i++) {
		for (const char *letter = "SDTtPIR"; *letter; letter++) {
			struct state_total t = { .thread = i, .state = (uint8_t)*letter };

			for (guint k = 0; k < p->waits->len; k++) {
				const struct wait *w = profile_wait(p, k);

				if (w->thread != i || w->state != t.state)
					continue;
				t.count += w->count;
				t.blocked_ns += w->blocked_ns;
				t.runnable_ns += w->runnable_ns;
				t.preempted_ns += w->preempted_ns;
			}
			if (t.count)
				profile_add_state(p, &t);
		}
	}
}

static void add_row(struct profile *p, const struct actor *a, const char *comm, uint64_t from, uint64_t to, uint64_t life_from,
		    uint64_t life_to, uint32_t end_flags)
{
	uint64_t begin = MAX(from, life_from), end = MIN(to, life_to);
	const struct thread t = {
		.pid = a->pid, .tid = a->tid, .start_ns = 1000 + a->birth, .comm = profile_string(p, comm), .process = profile_string(p, "app"),
		.service = profile_string(p, a->pid % 2 ? "db.service" : NULL), .from_ns = SIM_START_NS + begin, .to_ns = SIM_START_NS + end,
		.flags = life_to <= to ? end_flags : 0,
	};

	if (begin >= end)
		return;
	uint32_t row = profile_add_thread(p, &t);

	for (guint i = 0; i < a->parts->len; i++) {
		const struct part *part = &g_array_index(a->parts, struct part, i);

		if (part->start < end && end_of(part) > begin)
			add_part(p, row, part, begin, end, life_to);
	}
	const uint64_t samples = (end + 999) / 1000 - (begin + 999) / 1000;
	const struct on_cpu_sample sample = { .thread = row, .user = stack(p, FRAME_USER, a->tid % STACKS), .samples = samples,
					      .weight_ns = samples * 1000 };

	if (a->tid % 2 && sample.samples)
		profile_add_on_cpu(p, &sample);
}

static void fill_info(struct profile *p, uint64_t from, uint64_t to)
{
	p->info = (struct profile_info){
		.start_unix_ns = SIM_START_UNIX_NS + from, .start_ns = SIM_START_NS + from, .duration_ns = to - from,
		.host = profile_string(p, "host"), .kernel = profile_string(p, "6.18"), .command_line = profile_string(p, "offcpu agent"),
		.filters = "", .version = profile_string(p, "1"), .cpus = 8, .switches = (to - from) / 1000, .has_wakers = true, .has_locks = true,
		.on_cpu_hz = 49, .on_cpu_end_hz = 49, .self_excluded = true,
	};
}

struct profile *sim_window(const struct sim *s, uint64_t from_ns, uint64_t to_ns)
{
	struct profile *p = profile_new();

	fill_info(p, from_ns, to_ns);
	for (guint i = 0; i < s->actors->len; i++) {
		const struct actor *a = &g_array_index(s->actors, struct actor, i);
		uint32_t ended = a->is_exited ? THREAD_EXITED : 0;

		add_row(p, a, "app", from_ns, to_ns, a->birth, MIN(a->death, a->exec), a->exec < a->death ? THREAD_EXECED : ended);
		if (a->exec < a->death)
			add_row(p, a, "other", from_ns, to_ns, a->exec, a->death, ended);
	}
	add_states(p);
	profile_add_loss(p, "ring", "a ring was full", (to_ns - from_ns) / 1000, 0);
	profile_set_build_id(p, "/usr/bin/app", "abcdef0123");
	return p;
}

static void stack_text(GString *s, const struct profile *p, uint32_t node)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);

		g_string_append_printf(s, "<%s@%s+%" G_GUINT64_FORMAT ".%u.%u", f->name, f->module, f->offset, f->why, profile_get_node(p, node)->end);
	}
}

static void thread_text(GString *s, const struct profile *p, uint32_t i)
{
	const struct thread *t = profile_thread(p, i);

	g_string_append_printf(s, "%u/%u/%" G_GUINT64_FORMAT " %s %s %s from %" G_GUINT64_FORMAT, t->pid, t->tid, t->start_ns, t->comm, t->process,
			       t->service ? t->service : "-", t->from_ns);
}

static void hist_text(GString *s, const uint32_t *hist)
{
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		if (hist[i])
			g_string_append_printf(s, " %u:%u", i, hist[i]);
}

static void wait_text(GString *s, const struct profile *p, uint32_t i)
{
	const struct wait *w = profile_wait(p, i);
	const struct object *o = profile_wait_object(p, w);

	thread_text(s, p, w->thread);
	g_string_append_printf(s, " %c flags %u object %s%s/%u/%" G_GUINT64_FORMAT " ", w->state, w->flags, o ? o->operation : "", o ? o->name : "",
			       o ? o->kind : 0, o ? o->addr : 0);
	stack_text(s, p, w->user);
	stack_text(s, p, w->kernel);
}

#define N " %" G_GUINT64_FORMAT

static void add_lines(GPtrArray *lines, const struct profile *p)
{
	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);
		GString *s = g_string_new("thread ");

		thread_text(s, p, i);
		g_string_append_printf(s, " to" N " flags %u on" N N N N N N N, t->to_ns, t->flags, t->on_cpu_ns, t->blocked_ns, t->runnable_ns,
				       t->preempted_ns, t->filtered_ns, t->lost_ns, t->switches);
		g_ptr_array_add(lines, g_string_free(s, FALSE));
	}
	for (guint i = 0; i < p->states->len; i++) {
		const struct state_total *t = profile_state(p, i);
		GString *s = g_string_new("state ");

		thread_text(s, p, t->thread);
		g_string_append_printf(s, " %c" N N N N, t->state, t->count, t->blocked_ns, t->runnable_ns, t->preempted_ns);
		g_ptr_array_add(lines, g_string_free(s, FALSE));
	}
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		GString *s = g_string_new("wait ");

		wait_text(s, p, i);
		g_string_append_printf(s, N N N N " max" N " se" N N, w->count, w->blocked_ns, w->runnable_ns, w->preempted_ns, w->max_ns,
				       w->off_cpu_se_ns, w->count_se);
		hist_text(s, w->hist);
		g_ptr_array_add(lines, g_string_free(s, FALSE));
	}
}

static void add_more_lines(GPtrArray *lines, const struct profile *p)
{
	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *k = profile_wake(p, i);
		const struct waker *w = profile_get_waker(p, k->waker);
		GString *s = g_string_new("wake of ");

		wait_text(s, p, k->wait);
		g_string_append_printf(s, " by %u/%u/%s/%s" N, w->pid, w->tid, w->comm, w->irq ? w->irq : "-", w->start_ns);
		stack_text(s, p, w->user);
		stack_text(s, p, w->kernel);
		g_string_append_printf(s, N N N, k->count, k->blocked_ns, k->runnable_ns);
		hist_text(s, k->hist);
		g_ptr_array_add(lines, g_string_free(s, FALSE));
	}
	for (guint i = 0; i < p->on_cpu->len; i++) {
		const struct on_cpu_sample *o = &g_array_index(p->on_cpu, struct on_cpu_sample, i);
		GString *s = g_string_new("sample ");

		thread_text(s, p, o->thread);
		stack_text(s, p, o->user);
		g_string_append_printf(s, N N, o->samples, o->weight_ns);
		g_ptr_array_add(lines, g_string_free(s, FALSE));
	}
	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		g_ptr_array_add(lines, g_strdup_printf("loss %s %s" N N, l->reason, l->help, l->count, l->time_ns));
	}
	for (guint i = 0; i < p->blames->len; i++) {
		const struct blame *b = profile_blame(p, i);
		GString *s = g_string_new("blame ");

		thread_text(s, p, b->thread);
		g_string_append_printf(s, " %u %u/%u/%s" N N N, b->kind, b->pid, b->tid, b->comm, b->count, b->runnable_ns, b->preempted_ns);
		g_ptr_array_add(lines, g_string_free(s, FALSE));
	}
	for (guint i = 0; i < p->storms->len; i++) {
		const struct storm *o = profile_storm(p, i);

		g_ptr_array_add(lines, g_strdup_printf("storm of %u" N N N N N N N N N, profile_get_waker(p, o->waker)->tid, o->event_cnt, o->call_cnt,
						       o->woken_cnt, o->most_cnt, o->ended_cnt, o->again_cnt, o->cpu_ns, o->again_ns, o->delay_ns));
	}
	for (guint i = 0; i < p->build_ids->len; i++) {
		const struct module_id *id = &g_array_index(p->build_ids, struct module_id, i);

		g_ptr_array_add(lines, g_strdup_printf("module %s %s", id->module, id->hex));
	}
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *sim_text(const struct profile *p)
{
	const struct profile_info *info = &p->info;
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	GString *all = g_string_new(NULL);

	add_lines(lines, p);
	add_more_lines(lines, p);
	g_ptr_array_sort(lines, by_text);
	g_string_append_printf(all, "window" N N N " %s %s %s %s %s %u" N " %d%d%d%d%d %u %u\n", info->start_unix_ns, info->start_ns, info->duration_ns,
			       info->host, info->kernel, info->command_line, info->filters, info->version, info->cpus, info->switches, info->has_wakers,
			       info->has_locks, info->has_objects, info->self_excluded, info->has_bpf_ns, info->on_cpu_hz, info->on_cpu_end_hz);
	for (guint i = 0; i < lines->len; i++)
		g_string_append_printf(all, "%s\n", (const char *)g_ptr_array_index(lines, i));
	return g_string_free(all, FALSE);
}

void sim_assert_same(const struct profile *a, const struct profile *b)
{
	g_autofree char *x = sim_text(a), *y = sim_text(b);
	/* g_strsplit() asks strstr(), which the address sanitizer makes measure all that is left of the text for each line */
	g_auto(GStrv) lines_x = g_strsplit_set(x, "\n", -1), lines_y = g_strsplit_set(y, "\n", -1);

	for (unsigned i = 0; lines_x[i] || lines_y[i]; i++)
		g_assert_cmpstr(lines_x[i], ==, lines_y[i]);
}
