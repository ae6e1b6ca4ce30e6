/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "features/traces/abi.h"
#include "attach/error.h"
#include "attach/probe.h"
#include "base/each.h"
#include "base/find.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "fold/fold.h"
#include "features/requests/fold.h"
#include "features/requests/rows.h"
#include "session/parts.h"
#include "session/probe.h"
#include "features/requests/probe_names.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "offcpu.skel.h"

#define STATES_MIN 256U
#define STATES_MAX 8192U
#define STATES_BESIDE_MAX 2048U	/* lower for permanent use: 5 MB of kernel memory */
#define SITES_MAX 16384U
/* How long requests are observed before the window opens, and after the last new return address. */
#define SITES_WITHIN_NS 300000000ULL
#define SITES_QUIET_NS 60000000ULL
#define DRAIN_SOON_MS 5	/* a return address has no probe until its record is drained */
#define MAPS_MAX_BYTES (64 << 20)
#define CODE_BYTES 96
#define SUMS_PER_CPU_MAX 64	/* limit of functions; with more, all CPUs share one sum to save memory */

struct site_key {
	uint64_t dev, ino, offset;
};

/* A part as the kernel sends it, whose stacks may not have arrived yet. */
struct told_part {
	struct offcpu_request_part_key key;
	struct offcpu_request_part part;
};

/* For cut windows. The kernel's sums only grow, so a half's new part is the difference from its last reading. */
struct beside {
	struct offcpu_request_sum *before;	/* two per function: the kernel's last readings */
	struct offcpu_request_sum *sums;	/* one per function, for this window */
	struct offcpu_loss_count counts[OFFCPU_REQUEST_COUNT];	/* at the begin of this window */
	GArray *parts;		/* struct told_part of this window */
};

struct requests {
	struct offcpu_bpf *skel;
	const struct request_plan *plan;
	struct probe_set *probes;
	GHashTable *sites;	/* struct site_key -> whether there is a probe, + 1 */
	struct spans *spans;
	unsigned site_cnt, refused_cnt;
	char *refused_why;
	struct request_go_names *go_names;	/* NULL: not read, or none */
	GArray *ports;		/* uint16_t: ports of the plan */
	struct request_names *names;	/* NULL: no requests by route */
	struct open_requests *open;	/* NULL: windows are cut, and only the last one could show them */
	struct beside *beside;	/* NULL: the session is about requests alone */
};

HASH_KEY(site, struct site_key, dev, ino, offset)

/* plan: NULL without requests. */
static void select_parts(struct offcpu_bpf *skel, const struct request_plan *plan, bool keeps_waits, bool by_call,
			 bool wants_spans)
{
	bool wanted = plan != NULL, by_socket = plan && request_plan_is_by_socket(plan);
	bool by_route = plan && (plan->routes->len || wants_spans);
	bool by_goroutine = plan && plan->has_go;
	struct bpf_map *const maps[] = {
		skel->maps.request_states, skel->maps.request_sums,  skel->maps.request_counts,
		skel->maps.request_sites,  skel->maps.request_notes, skel->maps.request_parts
	};
	struct bpf_program *prog;

	for (size_t i = 0; i < G_N_ELEMENTS(maps); i++)
		bpf_map__set_autocreate(maps[i], wanted);
	bpf_map__set_autocreate(skel->maps.request_waits, wanted && keeps_waits);
	bpf_map__set_autocreate(skel->maps.request_stacks, wanted && by_call);
	bpf_map__set_autocreate(skel->maps.request_calls, wanted && by_call);
	bpf_map__set_autocreate(skel->maps.request_goroutines, wanted && by_goroutine);
	bpf_map__set_autocreate(skel->maps.request_go_stacks, wanted && by_goroutine);
	bpf_map__set_autocreate(skel->maps.request_ports, wanted && by_socket);
	bpf_map__set_autocreate(skel->maps.request_sockets, wanted && by_socket);
	bpf_map__set_autocreate(skel->maps.request_befores, wanted && by_socket);
	bpf_map__set_autocreate(skel->maps.request_routes, by_route);
	bpf_map__set_autocreate(skel->maps.route_scratches, by_route);
	bpf_object__for_each_program(prog, skel->obj) {
		bool of_sockets = g_str_has_prefix(bpf_program__section_name(prog), "tp_btf/");
		bool of_go = g_str_has_prefix(bpf_program__name(prog), "request_go_");

		if (!g_str_has_prefix(bpf_program__name(prog), "request_"))
			continue;
		bpf_program__set_autoload(prog, wanted && of_sockets == by_socket && (!of_go || by_goroutine));
		if (wanted && !of_sockets && !by_socket)
			probe_prepare(prog);
	}
}

static void size_maps(const struct session *s, struct offcpu_config *cfg, const struct request_plan *plan)
{
	struct offcpu_bpf *skel = s->skel;

	/* the number of goroutines is not limited */
	cfg->requests_max = cfg->by_goroutine ? STATES_MAX : CLAMP(2 * s->thread_cnt, STATES_MIN, STATES_MAX);
	if (cfg->requests_beside)
		cfg->requests_max = MIN(cfg->requests_max, STATES_BESIDE_MAX);
	bpf_map__set_max_entries(skel->maps.request_states, cfg->requests_max);
	if (cfg->request_slower_ns)
		bpf_map__set_max_entries(skel->maps.request_waits, cfg->requests_max);
	if (cfg->by_goroutine)
		bpf_map__set_max_entries(skel->maps.request_goroutines, cfg->requests_max);
	bpf_map__set_max_entries(skel->maps.request_notes, cfg->requests_max);
	if (cfg->want_routes && cfg->by_connection)
		bpf_map__set_type(skel->maps.route_scratches, BPF_MAP_TYPE_PERCPU_ARRAY);
	else if (cfg->want_routes)
		bpf_map__set_max_entries(skel->maps.route_scratches, cfg->requests_max);
	bpf_map__set_max_entries(skel->maps.request_sums, plan->names->len * (cfg->requests_beside ? 2 : 1));
	if (plan->names->len > SUMS_PER_CPU_MAX)
		bpf_map__set_type(skel->maps.request_sums, BPF_MAP_TYPE_ARRAY);
	if (cfg->want_calls) {
		bpf_map__set_max_entries(skel->maps.request_stacks, cfg->requests_max);
		bpf_map__set_max_entries(skel->maps.request_calls, plan->names->len);
	}
}

static struct beside *beside_new(guint names)
{
	struct beside *b = g_new0(struct beside, 1);

	b->before = g_new0(struct offcpu_request_sum, 2 * (gsize)names);
	b->sums = g_new0(struct offcpu_request_sum, names);
	b->parts = g_array_new(FALSE, FALSE, sizeof(struct told_part));
	return b;
}

static FREES(beside_free, struct beside, b, g_array_unref(b->parts); g_free(b->before); g_free(b->sums))

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	const struct collect_options *o = s->options;
	const struct request_plan *plan = o->requests;
	struct requests *r;

	select_parts(s->skel, plan, o->request_slower_ns,
		     plan && !o->requests_beside && request_plan_has_calls(plan), o->request_spans);
	if (!plan)
		return false;
	cfg->want_requests = 1;
	cfg->want_spans = o->request_spans;
	cfg->requests_beside = o->requests_beside && session_may_cut(o);
	cfg->want_calls = request_plan_has_calls(plan) && !cfg->requests_beside;
	cfg->by_goroutine = plan->has_go;
	cfg->by_connection = request_plan_is_by_socket(plan);
	cfg->named_routes = plan->routes->len != 0;
	cfg->want_routes = cfg->named_routes || cfg->want_spans;
	cfg->request_slower_ns = o->request_slower_ns;
	size_maps(s, cfg, plan);
	r = *ret_state = g_new0(struct requests, 1);
	r->skel = s->skel;
	r->plan = plan;
	r->spans = spans_new(SPANS_SLOWEST, SPANS_SAMPLED);
	r->sites = g_hash_table_new_full(site_hash, site_equal, g_free, NULL);
	r->ports = g_array_new(FALSE, FALSE, sizeof(uint16_t));
	for (guint i = 0; i < plan->ports->len; i++)
		g_array_append_val(r->ports, g_array_index(plan->ports, struct request_port, i).port);
	if (cfg->requests_beside) {
		r->beside = beside_new(plan->names->len);
		return true;
	}
	r->open = open_requests_new("/proc", plan->names, r->ports->len ? r->ports : NULL);
	fold_set_open_requests(s->fold, r->open);
	return true;
}

static void requests_free(void *state)
{
	struct requests *r = state;

	probe_set_free(r->probes);
	g_hash_table_destroy(r->sites);
	if (r->open)
		open_requests_free(r->open);
	beside_free(r->beside);
	request_names_free(r->names);
	g_array_unref(r->ports);
	spans_free(r->spans);
	request_go_names_free(r->go_names);
	g_free(r->refused_why);
	g_free(r);
}

static const struct bpf_program *program_of(const struct offcpu_bpf *skel, enum request_probe_kind kind)
{
	switch (kind) {
	case REQUEST_ENTER: return skel->progs.request_enter;
	case REQUEST_CATCH: return skel->progs.request_catch;
	case REQUEST_START: return skel->progs.request_start;
	case REQUEST_DONE: return skel->progs.request_done;
	case REQUEST_GO_PARK: return skel->progs.request_go_park;
	case REQUEST_GO_YIELD: return skel->progs.request_go_yield;
	case REQUEST_GO_READY: return skel->progs.request_go_ready;
	case REQUEST_GO_RUN: return skel->progs.request_go_run;
	case REQUEST_GO_EXIT: return skel->progs.request_go_exit;
	}
	return NULL;
}

/* The number of probes from i on with the same file and program. */
static guint same_target_cnt(const GArray *probes, guint i)
{
	const struct request_probe *first = &g_array_index(probes, struct request_probe, i);
	guint cnt = 1;

	for (; i + cnt < probes->len; cnt++) {
		const struct request_probe *p = &g_array_index(probes, struct request_probe, i + cnt);

		if (p->fd != first->fd || p->kind != first->kind)
			break;
	}
	return cnt;
}

#define ENOTSUPP 524	/* internal to the kernel, in no user header */

static const char *reason_of(int err)
{
	if (err == -ETIMEDOUT)
		return "it does not come back from that: a process that maps this file waits for a page that never comes; "
		       "until its file system ends no process can fork here (a FUSE file system ends by "
		       "echo 1 >/sys/fs/fuse/connections/N/abort, with each N whose file `waiting` is not 0)";
	if (err == -EDEADLK)
		return "a process does not answer; if it maps this file the kernel would wait for it, and with that every "
		       "process that forks: end that process first";
	return err == -ENOTSUPP
		       ? "it begins with an instruction that cannot have one (lock, or the prefix of a segment)"
		       : g_strerror(-err);
}

static void refuse(struct requests *r, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void refuse(struct requests *r, const char *format, ...)
{
	va_list args;

	r->refused_cnt++;
	g_free(r->refused_why);
	va_start(args, format);
	r->refused_why = g_strdup_vprintf(format, args);
	va_end(args);
}

/* Skips probes among many that the kernel refuses. Returns 0, or the last error if all were refused. */
static int add_probes(struct requests *r, const struct request_probe *p, guint cnt)
{
	g_autofree struct probe_point *points = g_new0(struct probe_point, cnt);
	int err, second;

	for (guint k = 0; k < cnt; k++)
		points[k] = (struct probe_point){ .offset = p[k].offset,
						  .semaphore = p[k].semaphore,
						  .cookie = p[k].func };
	err = probe_set_add(r->probes, program_of(r->skel, p->kind), p->fd, points, cnt);
	if (!err || p->kind == REQUEST_CATCH)
		return 0;
	if (cnt == 1)
		refuse(r, "%s: %s", p->what, reason_of(err));
	/* the kernel does not say which of many failed; any other error concerns all */
	if (cnt == 1 || (err != -ENOTSUPP && err != -EINVAL))
		return err;
	err = add_probes(r, p, cnt / 2);
	second = add_probes(r, p + cnt / 2, cnt - cnt / 2);
	return err && second ? second : 0;
}

static bool start(struct session *s, void *state, GError **error)
{
	struct requests *r = state;
	const GArray *probes = r->plan->probes;
	int err;

	r->probes = probe_set_new();
	if (s->skel->rodata->cfg.want_routes)
		r->names = request_names_new(r->plan, r->spans, bpf_map__fd(r->skel->maps.request_ports),
					     bpf_map__fd(r->skel->maps.request_routes));
	EACH_ROW(i, const struct request_port, p, r->plan->ports) {
		uint32_t port = p->port;

		if (bpf_map_update_elem(bpf_map__fd(r->skel->maps.request_ports), &port, &p->func, BPF_ANY))
			return attach_refuse(error, -errno, "tell the kernel which ports to look at");
	}
	for (guint i = 0, cnt; i < probes->len; i += cnt) {
		const struct request_probe *p = &g_array_index(probes, struct request_probe, i);

		cnt = same_target_cnt(probes, i);
		err = add_probes(r, p, cnt);
		if (err && !r->beside) {	/* when tracing other things too, continue without these probes */
			g_autofree char *what = g_strdup_printf("the kernel refuses a probe on %s%s", p->what,
								cnt > 1 ? " and those beside it" : "");

			if (err == -ENOTSUPP)
				g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
					    "%s: %s; take a function that calls it", what, reason_of(err));
			else if (err == -ETIMEDOUT || err == -EDEADLK)
				g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_FAILED, "%s: %s", what, reason_of(err));
			else
				attach_set_error(error, err, what);
			return false;
		}
	}
	return true;
}

/* The file mapped at addr of a process: an O_PATH descriptor and the file offset; or -1. */
static int file_at(uint32_t pid, uint64_t addr, uint64_t *ret_offset, struct stat *ret_stat)
{
	size_t len;
	g_autofree char *path = g_strdup_printf("/proc/%" PRIu32 "/maps", pid),
			*text = opener_text(path, MAPS_MAX_BYTES, &len);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;

	EACH_ROW_OF(i, const struct maps_line, line, lines) {
		if (addr < line->start || addr >= line->end)
			continue;
		if (!line->inode)
			break;
		*ret_offset = addr - line->start + line->pgoff;
		return file_hold_line("/proc", pid, line, true, ret_stat);
	}
	return -1;
}

static uint64_t cheapest_place(int held_fd, uint64_t offset)
{
#ifdef __x86_64__
	uint8_t code[CODE_BYTES];
	size_t cnt = request_read_code(held_fd, offset, code, sizeof(code));

	return offset + (cnt ? insn_return_place(code, cnt) : 0);
#else
	return offset;
#endif
}

/* False: no probe is possible there. */
static bool probe_site(struct requests *r, const struct offcpu_request_site *site)
{
	struct probe_point point = { 0 };
	struct site_key key;
	struct stat st;
	uint64_t offset;
	gpointer known;
	int fd = file_at(site->pid, site->addr, &offset, &st), err;

	if (fd < 0) {
		refuse(r, "PID %" PRIu32 " has no file mapped where a request returns to", site->pid);
		return false;
	}
	key = (struct site_key){ .dev = st.st_dev, .ino = st.st_ino, .offset = offset };
	if (g_hash_table_lookup_extended(r->sites, &key, NULL, &known)) {
		close(fd);
		return GPOINTER_TO_INT(known) > 1;
	}
	point.offset = cheapest_place(fd, offset);
	err = probe_set_add(r->probes, r->skel->progs.request_return, fd, &point, 1);
	if (err)
		refuse(r, "the kernel refuses a probe at a place that a request returns to: %s",
		       err == -ENOTSUPP ? "it cannot probe the instruction" : reason_of(err));
	close(fd);
	g_hash_table_insert(r->sites, g_memdup2(&key, sizeof(key)), GINT_TO_POINTER(err ? 1 : 2));
	return !err;
}

/* A request returns to an address without a probe. */
static void take_site(struct session *s, void *requests, const void *record, size_t size)
{
	const struct offcpu_rec_request_site *rec = record;
	struct requests *r = requests;
	uint32_t state;

	if (!r->probes || size < sizeof(*rec) || g_hash_table_size(r->sites) >= SITES_MAX)
		return;
	r->site_cnt++;
	if (!r->go_names && r->plan->go_places->len == 1)
		r->go_names = request_go_names_read(rec->site.pid);
	state = probe_site(r, &rec->site) ? OFFCPU_SITE_PROBED : OFFCPU_SITE_REFUSED;
	bpf_map_update_elem(bpf_map__fd(r->skel->maps.request_sites), &rec->site, &state, BPF_ANY);
}

/* Adds a request as a span, and updates what the kernel should send. */
static void take_span(struct session *s, void *state, const void *record, size_t size)
{
	struct requests *r = state;

	if (r->names)
		request_names_span(r->names, record, size);
	else
		spans_add(r->spans, record, size);
	r->skel->bss->span_from_ns = spans_from_ns(r->spans);
	r->skel->bss->span_shift = spans_shift(r->spans);
}

static void take_route(struct session *s, void *state, const void *record, size_t size)
{
	struct requests *r = state;

	if (r->names)
		request_names_take(r->names, s->fold, record, size);
}

/* Are there calls whose end is detected at their return address, as for functions? */
static bool have_sites(const struct requests *r)
{
	return ANY_ROW(const struct request_probe, x, r->plan->probes, x->kind == REQUEST_ENTER);
}

/*
 * The first requests report their return addresses; requests are lost until these have probes. The program may get a
 * CPU late, so the wait for the first address is long, and short for each further one.
 */
static void prepare(struct session *s, void *state)
{
	const struct requests *r = state;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), until = now + SITES_WITHIN_NS, seen_ns = now;
	unsigned seen = 0;

	if (!have_sites(r))
		return;
	while (now < until && (!seen || now - seen_ns < SITES_QUIET_NS)) {
		session_empty_ring(s);
		now = clock_ns(CLOCK_MONOTONIC);
		if (r->site_cnt != seen)
			seen_ns = now;
		seen = r->site_cnt;
		g_usleep(1000);
	}
}

unsigned requests_site_cnt(const struct requests *r)
{
	return r->site_cnt;
}

unsigned requests_refused(const struct requests *r, const char **ret_why)
{
	*ret_why = r->refused_why;
	return r->refused_cnt;
}

static void add_times(struct offcpu_request_times *sum, const struct offcpu_request_times *one)
{
	ADD_MEMBERS(sum, one, count, wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
}

static void add_sum(struct offcpu_request_sum *sum, const struct offcpu_request_sum *one)
{
	add_times(&sum->all, &one->all);
	add_times(&sum->slow, &one->slow);
	sum->unwound_cnt += one->unwound_cnt;
	sum->max_ns = MAX(sum->max_ns, one->max_ns);
	for (unsigned k = 0; k < OFFCPU_REQUEST_SLOTS; k++)
		sum->hist[k] += one->hist[k];
}

void requests_read(const struct requests *r, uint32_t func, struct offcpu_request_sum *ret_sum)
{
	bool is_per_cpu = bpf_map__type(r->skel->maps.request_sums) == BPF_MAP_TYPE_PERCPU_ARRAY;
	int cpus = is_per_cpu ? libbpf_num_possible_cpus() : 1;
	g_autofree struct offcpu_request_sum *each = g_new0(struct offcpu_request_sum, (size_t)MAX(cpus, 1));

	*ret_sum = (struct offcpu_request_sum){ 0 };
	if (bpf_map_lookup_elem(bpf_map__fd(r->skel->maps.request_sums), &func, each))
		return;
	for (int i = 0; i < cpus; i++)
		add_sum(ret_sum, &each[i]);
}

static void read_parts(const struct requests *r, struct fold *fold, struct profile *p)
{
	int fd = bpf_map__fd(r->skel->maps.request_parts);
	struct offcpu_request_part_key key, *last = NULL;
	struct offcpu_request_part part;

	for (unsigned i = 0; i < OFFCPU_REQUEST_PARTS_MAX && !bpf_map_get_next_key(fd, last, &key); i++) {
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &part))
			continue;
		struct request_part own = fold_request_part(fold, &key, &part);

		g_array_append_val(p->request_parts, own);
	}
}

bool requests_read_calls(const struct requests *r, uint32_t func, struct offcpu_request_calls *ret_calls)
{
	int cpus = libbpf_num_possible_cpus();
	g_autofree struct offcpu_request_calls *each = g_new0(struct offcpu_request_calls, (size_t)MAX(cpus, 1));

	*ret_calls = (struct offcpu_request_calls){ 0 };
	if (!request_plan_has_calls(r->plan) ||
	    bpf_map_lookup_elem(bpf_map__fd(r->skel->maps.request_calls), &func, each))
		return false;
	for (int i = 0; i < cpus; i++) {
		add_times(&ret_calls->all, &each[i].all);
		add_times(&ret_calls->self, &each[i].self);
	}
	return true;
}

/* Takes out a half's parts while BPF programs add to the other half. */
static void take_parts(struct beside *b, int fd, bool second)
{
	g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(struct offcpu_request_part_key));
	struct offcpu_request_part_key key, *last = NULL;

	for (unsigned i = 0; i < OFFCPU_REQUEST_PARTS_MAX && !bpf_map_get_next_key(fd, last, &key); i++) {
		last = &key;
		if (!(key.flags & OFFCPU_PART_SECOND) == !second)
			g_array_append_val(keys, key);
	}
	for (guint i = 0; i < keys->len; i++) {
		struct told_part told = { .key = g_array_index(keys, struct offcpu_request_part_key, i) };

		if (bpf_map_lookup_and_delete_elem(fd, &told.key, &told.part) == 0)
			g_array_append_val(b->parts, told);
	}
}

/* A preempted BPF program may add to a half that was already read; that is included in the next reading. */
static void read_half(struct session *s, void *state, bool second, bool is_last)
{
	struct requests *r = state;
	struct beside *b = r->beside;

	if (!b)
		return;
	for (guint i = 0; i < r->plan->names->len; i++) {
		struct offcpu_request_sum now, more, *before = &b->before[2 * i + second];

		requests_read(r, 2 * i + second, &now);
		request_since(&now, before, &more);
		*before = now;
		add_sum(&b->sums[i], &more);
	}
	take_parts(b, bpf_map__fd(r->skel->maps.request_parts), second);
}

static void read_new_counts(struct requests *r, struct profile *p)
{
	struct offcpu_loss_count now[OFFCPU_REQUEST_COUNT], *before = r->beside->counts;

	for (uint32_t i = 0; i < OFFCPU_REQUEST_COUNT; i++) {
		now[i] = before[i];
		bpf_map_lookup_elem(bpf_map__fd(r->skel->maps.request_counts), &i, &now[i]);
		before[i] = (struct offcpu_loss_count){ now[i].count - before[i].count,
							now[i].time_ns - before[i].time_ns };
	}
	before[OFFCPU_REQUEST_UNANSWERED] = (struct offcpu_loss_count){ 0 };	/* clients that leave are no loss */
	requests_add_losses(p, before);
	memcpy(before, now, sizeof(now));
}

/* Computes the window's sums. */
static void finish_beside(struct session *s, struct requests *r, struct profile *p)
{
	struct beside *b = r->beside;

	for (guint i = 0; i < r->plan->names->len; i++) {
		const struct request_row row = { .name = profile_string(p, r->plan->names->pdata[i]),
						 .file = profile_string(p, r->plan->files->pdata[i]),
						 .sum = b->sums[i] };

		g_array_append_val(p->requests, row);
		b->sums[i] = (struct offcpu_request_sum){ 0 };
	}
	EACH_ROW_WHILE(i, const struct told_part, told, b->parts, p->threads->len) {
		const struct request_part own = fold_request_part(s->fold, &told->key, &told->part);

		g_array_append_val(p->request_parts, own);
	}
	g_array_set_size(b->parts, 0);
	read_new_counts(r, p);
	if (r->plan->routes->len)
		request_names_look(r->names, p);
}

static void finish(struct session *s, void *state, struct profile *p)
{
	struct requests *r = state;

	if (r->beside) {
		finish_beside(s, r, p);
		return;
	}

	for (guint i = 0; i < r->plan->names->len; i++) {
		struct request_row row = { .name = profile_string(p, r->plan->names->pdata[i]),
					   .file = profile_string(p, r->plan->files->pdata[i]) };

		requests_read(r, i, &row.sum);
		requests_read_calls(r, i, &row.calls);
		g_array_append_val(p->requests, row);
	}
	p->info.has_requests = true;
	if (!p->threads->len)
		return;
	if (r->go_names)
		fold_set_park_names(s->fold, r->go_names->name, r->go_names->cnt);
	read_parts(r, s->fold, p);
	spans_finish(r->spans, s->fold, p);
}

/* Adds what the sums lack. Counts that are no losses, such as nested calls, are left out. */
void requests_add_losses(struct profile *p, const struct offcpu_loss_count counts[OFFCPU_REQUEST_COUNT])
{
	static const struct {
		const char *name, *help;
	} words[OFFCPU_REQUEST_COUNT] = {
#define X(id, text, help) [OFFCPU_REQUEST_##id] = { "request_" text, help },
		OFFCPU_REQUEST_COUNTS(X)
#undef X
	};

	for (unsigned i = 0; i < OFFCPU_REQUEST_COUNT; i++)
		if (counts[i].count && i != OFFCPU_REQUEST_NESTED && i != OFFCPU_REQUEST_AT_START &&
		    i != OFFCPU_REQUEST_AT_END)
			profile_add_loss(p, words[i].name, words[i].help, counts[i].count, counts[i].time_ns);
}

static const struct session_record records[] = {
	{ OFFCPU_REC_REQUEST_SITE, .take = take_site },
	{ OFFCPU_REC_REQUEST_SPAN, .take = take_span },
	{ OFFCPU_REC_REQUEST_ROUTE, .take = take_route },
	{ 0 },
};

const struct session_probe probe_requests = {
	.name = "requests",
	.records = records,
	.drain_ms = DRAIN_SOON_MS,
	.configure = configure,
	.start = start,
	.prepare = prepare,
	.read_half = read_half,
	.finish = finish,
	.free = requests_free,
};

/* Does it still belong to its thread? An ended thread has left its requests, which are counted separately. */
static bool is_owners(const struct requests *r, const struct socket_request *s)
{
	const struct bpf_map *states = r->skel->maps.request_states;
	struct request_state state;

	return bpf_map_lookup_elem(bpf_map__fd(states), &s->request, &state) == 0 && state.owner == s->owner &&
	       state.open_cnt;
}

/* Counts an open request; stop_ns: end of the window. */
static void count_open(struct requests_open *open, struct offcpu_loss_count *counts, uint32_t func, uint64_t began_ns,
		       uint64_t start_ns, uint64_t stop_ns)
{
	if (began_ns >= stop_ns)
		return;
	if (began_ns < start_ns) {
		counts[OFFCPU_REQUEST_AT_START].count++;
	} else {
		counts[OFFCPU_REQUEST_AT_END].count++;
		counts[OFFCPU_REQUEST_AT_END].time_ns += stop_ns - began_ns;
	}
	open->count++;
	if (stop_ns - began_ns > open->longest_ns) {
		open->longest_ns = stop_ns - began_ns;
		open->func = func;
	}
}

/* Counts open requests on connections. */
static void count_open_sockets(const struct requests *r, uint64_t start_ns, uint64_t stop_ns,
			       struct offcpu_loss_count *counts, struct requests_open *open)
{
	const struct bpf_map *map = r->skel->maps.request_sockets;
	struct socket_request s;
	uint64_t key, *last = NULL;

	while (!bpf_map_get_next_key(bpf_map__fd(map), last, &key)) {
		last = &key;
		if (bpf_map_lookup_elem(bpf_map__fd(map), &key, &s) || !is_owners(r, &s))
			continue;
		count_open(open, counts, s.func, s.start_ns, start_ns, stop_ns);
	}
}

/* Counts requests that began before there were probes. */
static void count_begun_unseen(const struct requests *r, uint64_t window_ns, struct offcpu_loss_count *counts,
			       struct requests_open *open)
{
	uint64_t longest_ns;
	unsigned cnt = open_requests_cnt(r->open, &longest_ns);

	counts[OFFCPU_REQUEST_AT_START].count += cnt;
	open->count += cnt;
	if (!cnt || MAX(longest_ns, window_ns) < open->longest_ns)
		return;
	open->is_longer = !longest_ns;
	open->longest_ns = MAX(longest_ns, window_ns);
	open->func = r->plan->names->len == 1 ? 0 : UINT32_MAX;
}

void requests_read_counts(const struct requests *r, uint64_t start_ns, uint64_t stop_ns,
			  struct offcpu_loss_count ret_counts[OFFCPU_REQUEST_COUNT], struct requests_open *ret_open)
{
	const struct bpf_map *states = r->skel->maps.request_states;
	struct request_state state;

	*ret_open = (struct requests_open){ 0 };
	for (uint32_t i = 0; i < OFFCPU_REQUEST_COUNT; i++) {
		ret_counts[i] = (struct offcpu_loss_count){ 0 };
		bpf_map_lookup_elem(bpf_map__fd(r->skel->maps.request_counts), &i, &ret_counts[i]);
	}
	for (uint32_t i = 0; i < bpf_map__max_entries(states); i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(states), &i, &state) || !state.is_taken)
			continue;
		if (state.due_cnt)
			ret_counts[OFFCPU_REQUEST_UNTIL_END].count++;
		if (state.is_active && !r->plan->ports->len)
			count_open(ret_open, ret_counts, state.func, state.start_ns, start_ns, stop_ns);
	}
	if (r->plan->ports->len)
		count_open_sockets(r, start_ns, stop_ns, ret_counts, ret_open);
	count_begun_unseen(r, stop_ns - start_ns, ret_counts, ret_open);
}
