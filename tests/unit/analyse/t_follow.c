/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Whom it waits for in the end: findings followed into other threads, processes and hosts, and the graph of services. */
#include "features/follow/findings.h"
#include "features/servicemap/findings.h"
#include "window.h"

#define SYSCALL "entry_SYSCALL_64_after_hwframe@[kernel] do_syscall_64@[kernel] "
#define DISK_WRITE SYSCALL "__x64_sys_fsync@[kernel] do_fsync@[kernel] ext4_sync_file@[kernel] io_schedule@[kernel]"

/* A connection to that process, which only one on another machine has no number of. */
static struct object connection(const char *name, uint32_t pid)
{
	return (struct object){ .kind = OBJECT_SOCKET, .operation = "", .name = name, .place = "tcp", .pid = pid };
}

static uint32_t add_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t thread = thread_of(p, tid, name, 10);

	g_array_index(p->threads, struct thread, thread).pid = pid;
	return thread;
}

/* All of a wait's sleeps end by that thread; NULL: by a packet in an interrupt. */
static void end_by(struct profile *p, uint32_t wait, const struct thread *by)
{
	const struct waker waker = { .pid = by ? by->pid : 0, .tid = by ? by->tid : 0, .comm = by ? by->comm : "",
				     .irq = by ? NULL : "softirq:NET_RX" };
	const struct wait *w = profile_wait(p, wait);
	const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = w->count, .blocked_ns = w->blocked_ns };

	profile_add_wake(p, &wake);
}

#define RECV SYSCALL "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"

static uint32_t add_receive(struct profile *p, uint32_t thread, const char *user, struct object peer, uint64_t each_ms)
{
	uint32_t wait = add_wait(p, thread, 'S', 160, each_ms, user, RECV);

	fixture_is_for(p, wait, &peer);
	return wait;
}

/*
 * cart asks quoter, which asks ledgerd, whose loop has a worker that syncs.  Packets come in interrupts.  No worker: the
 * loop waits for nobody.  twice: some other thread of quoter waits for cart, too, so that nobody knows which answers.
 */
static struct profile *hops_new(bool has_worker, bool twice)
{
	struct profile *p = window_new();
	uint32_t cart = add_thread(p, 11, 11, "cart"), quoter = add_thread(p, 20, 21, "quoter"),
		 loop = add_thread(p, 30, 30, "ledgerd"), worker = add_thread(p, 30, 31, "flusher");

	p->info.has_wakers = true;
	end_by(p, add_receive(p, cart, "main@cart load_cart@cart recv@libc.so.6", connection("10.9.0.2:7302 (quoter)", 20), 50), NULL);
	end_by(p, add_receive(p, quoter, "main@quoter serve@quoter recv@libc.so.6", connection(":7302 from 10.9.0.1 (cart)", 11), 5),
	       NULL);
	end_by(p, add_receive(p, quoter, "main@quoter quote@quoter recv@libc.so.6", connection("10.9.0.3:7301 (ledgerd)", 30), 45),
	       profile_thread(p, loop));
	if (twice)
		add_receive(p, add_thread(p, 20, 22, "auditor"), "main@quoter watch@quoter recv@libc.so.6",
			    connection(":7302 from 10.9.0.1 (cart)", 11), 5);
	end_by(p, add_wait(p, loop, 'S', 160, 44, "main@ledgerd run_loop@ledgerd epoll_wait@libc.so.6",
			   SYSCALL "__x64_sys_epoll_wait@[kernel] do_epoll_wait@[kernel] ep_poll@[kernel]"),
	       has_worker ? profile_thread(p, worker) : profile_thread(p, quoter));
	add_wait(p, worker, 'D', 160, 40, "start_thread@libc.so.6 commit_order@ledgerd fsync@libc.so.6",
		 SYSCALL "__x64_sys_fsync@[kernel] ext4_sync_file@[kernel] jbd2_log_wait_commit@[kernel]");
	return p;
}

/* Through both sockets to what is waited for at the end, whoever carried the packets. */
static void test_follow(void)
{
	static const struct { bool has_worker, twice; const char *has, *has_not; } cases[] = {
		{ true, false, "; ended by quoter/21, which itself mostly waits for data from the network, 10.9.0.3:7301 (ledgerd), "
			       "in quote, for which flusher/31 meanwhile waits for data to be safe on disk (fsync) in commit_order "
			       "(89% of that time)", NULL },
		{ false, false, "; ended by quoter/21, which itself mostly waits for data from the network, 10.9.0.3:7301 (ledgerd)",
		  "fsync" },
		{ true, true, "; ended by the network", "quoter/21" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = hops_new(cases[i].has_worker, cases[i].twice);
		struct explanation *e = explanation_new(p, NULL);
		const char *evidence = headline_with(e, "in load_cart")->evidence;

		if (!strstr(evidence, cases[i].has) || (cases[i].has_not && strstr(evidence, cases[i].has_not)))
			g_error("case %zu: %s", i, evidence);
		explanation_free(e);
		profile_free(p);
	}
}

/* A thread of the kernel's that does one job waits for what that takes; of one that does any job it is not known for whom. */
static void test_kernel_thread(void)
{
#define COMMIT "kthread@[kernel] kjournald2@[kernel] jbd2_journal_commit_transaction@[kernel] "
	static const struct { const char *comm, *kernel, *says; } cases[] = {
		{ "jbd2/vda1-8", COMMIT "bit_wait_io@[kernel]", "a write to disk" },
		{ "jbd2/vda1-8", COMMIT "jbd2_journal_wait_updates@[kernel]", "metadata of a file system" },
		{ "jbd2/vda1-8", "kthread@[kernel] kjournald2@[kernel]", NULL },
		{ "kworker/0:1", "kthread@[kernel] worker_thread@[kernel] wb_workfn@[kernel] folio_wait_bit@[kernel]", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t shop = add_thread(p, 11, 11, "shop"), other = add_thread(p, 40, 40, cases[i].comm);

		p->info.has_wakers = true;
		g_array_index(p->threads, struct thread, other).flags = THREAD_KERNEL;
		end_by(p, add_wait(p, shop, 'D', 160, 50, "main@shop book_order@shop fsync@libc.so.6",
				   SYSCALL "__x64_sys_fsync@[kernel] ext4_sync_file@[kernel] jbd2_log_wait_commit@[kernel]"),
		       profile_thread(p, other));
		add_wait(p, other, 'D', 160, 45, "", cases[i].kernel);
		struct explanation *e = explanation_new(p, NULL);
		const char *evidence = headline_with(e, "in book_order")->evidence;

		const char *told = strstr(evidence, "itself mostly waits for ");

		if (!strstr(evidence, cases[i].comm) || (told != NULL) != (cases[i].says != NULL) ||
		    (told && !strstr(told, cases[i].says)))
			g_error("case %zu: %s", i, evidence);
		explanation_free(e);
		profile_free(p);
	}
}

#define START_NS UINT64_C(1700000000000000000)

static struct profile *host_new(const char *name)
{
	struct profile *p = window_new();

	p->info.host = profile_string(p, name);
	p->info.start_unix_ns = START_NS;
	return p;
}

static void connect_host(struct profile *p, uint32_t pid, uint8_t side, const char *local, const char *remote)
{
	const struct connection c = { .pid = pid, .side = side, .local = local, .remote = remote };

	profile_add_connection(p, &c);
}

/* How the second and the third host differ from cart on web1, which asks quoter on mid1, which asks ledgerd on db1. */
struct far_case {
	const char *asked;	/* where cart connects to; NULL: where quoter serves */
	const char *quoter_remote;	/* the other end that quoter's host knows; NULL: cart's own */
	uint64_t later_s;	/* mid1's clock */
	bool has_twin, has_db1, is_calm, is_beside;	/* a fourth host has quoter's address; ledgerd does little; mid1 is web1 */
	const char *says[4];	/* hops, and the end */
};

static GPtrArray *hosts_new(const struct far_case *c)
{
	GPtrArray *hosts = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free);
	struct profile *web = host_new("web1"), *mid = host_new("mid1"), *db = host_new("db1"), *twin = host_new("mid2");
	const char *asked = c->asked ? c->asked : "10.9.0.2:7302";
	uint32_t quoter = add_thread(mid, 20, 21, "quoter"), other = add_thread(mid, 20, 22, "rotate"),
		 ledger = add_thread(db, 30, 31, "ledgerd");

	add_receive(web, add_thread(web, 11, 11, "cart"), "main@cart load_cart@cart recv@libc.so.6", connection(asked, 0), 50);
	connect_host(web, 11, CONNECTION_CLIENT, "10.9.0.1:48120", asked);
	mid->info.start_unix_ns += c->later_s * 1000 * MS;
	add_receive(mid, quoter, "main@quoter serve@quoter recv@libc.so.6", connection(":7302 from 10.9.0.1", 0), 5);
	add_receive(mid, quoter, "main@quoter quote@quoter recv@libc.so.6", connection("10.9.0.3:7301", 0), 45);
	add_wait(mid, other, 'D', 160, 55, "start_thread@libc.so.6 rotate_log@quoter fsync@libc.so.6", DISK_WRITE);
	connect_host(mid, 20, CONNECTION_SERVER, "10.9.0.2:7302", c->quoter_remote ? c->quoter_remote : "10.9.0.1:48120");
	connect_host(mid, 20, CONNECTION_CLIENT, "10.9.0.2:50000", "10.9.0.3:7301");
	add_receive(db, ledger, "main@ledgerd serve@ledgerd recv@libc.so.6", connection(":7301 from 10.9.0.2", 0), 10);
	add_wait(db, ledger, 'D', 160, c->is_calm ? 1 : 40, "start_thread@libc.so.6 commit_order@ledgerd fsync@libc.so.6", DISK_WRITE);
	connect_host(db, 30, CONNECTION_SERVER, "10.9.0.3:7301", "10.9.0.2:50000");
	/* recorded apart, on the same host */
	mid->info.host = c->is_beside ? web->info.host : mid->info.host;
	connect_host(twin, 20, CONNECTION_SERVER, c->has_twin ? "10.9.0.2:7302" : "127.0.0.1:7302", "");
	g_ptr_array_add(hosts, web);
	g_ptr_array_add(hosts, mid);
	g_ptr_array_add(hosts, twin);
	if (c->has_db1)
		g_ptr_array_add(hosts, db);
	else
		profile_free(db);
	return hosts;
}

/* Into recordings of other hosts, by both ends of connections; what is not known is told, and no times of other windows. */
static void test_hosts(void)
{
	static const char first[] = "On web1, 100% of the time that matters: cart waits for data from the network";
	static const char mid[] = "Meanwhile on mid1, 90% of that time: quoter waits for data from the network, 10.9.0.3:7301, in quote";
	static const struct far_case cases[] = {
		{ .has_db1 = true,
		  .says = { first, mid, "Meanwhile on db1, 89% of that time: ledgerd waits for data to be safe on disk (fsync) in commit_order",
			    "Batch: one fsync" } },
		{ .has_db1 = true, .is_calm = true, .says = { first, mid, "Meanwhile on db1, 2% of that time: ledgerd is at work", "The rest passes on the way" } },
		{ .says = { first, mid, "Nobody is known who serves 10.9.0.3:7301" } },
		{ .quoter_remote = "",
		  .says = { first, "Meanwhile on mid1, 100% of the time in which it is at work, for all of its clients, found by its address "
				   "alone: quoter waits for data", "Nobody is known" } },
		{ .asked = "10.96.0.1:80",
		  .says = { first, "Meanwhile on mid1, 90% of that time, behind an address that is rewritten: quoter waits", "Nobody is known" } },
		{ .later_s = 70, .says = { first, "mid1 serves 10.9.0.2:7302, but no window of it overlaps: it was recorded at another time, or "
						  "its clock is off, by 60.0 s or more" } },
		{ .has_twin = true, .quoter_remote = "10.9.0.9:1", .says = { first, "Several hosts have the address 10.9.0.2:7302" } },
		{ .has_twin = true, .says = { first, mid, "Nobody is known" } },
		{ .asked = "127.0.0.1:7302", .quoter_remote = "", .says = { first, "Nobody is known who serves 127.0.0.1:7302" } },
		{ .is_beside = true, .says = { first, "Meanwhile on web1, 90% of that time: quoter waits for data", "Nobody is known" } },
		{ .asked = ":80 from 10.9.0.7", .says = { NULL } },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) hosts = hosts_new(&cases[i]);
		const struct follow_source source = follow_source_of(hosts);
		g_autoptr(GPtrArray) chains = follow_new(g_ptr_array_index(hosts, 0), NULL, &source, NULL);
		const struct follow_chain *c = chains->len ? g_ptr_array_index(chains, 0) : NULL;

		g_assert_cmpuint(chains->len, ==, cases[i].says[0] != NULL);
		for (guint k = 0; c && k <= c->hops->len; k++) {
			const char *said = k < c->hops->len ? g_array_index(c->hops, struct follow_hop, k).sentence : c->end;

			if (!cases[i].says[k] || !g_str_has_prefix(said, cases[i].says[k]))
				g_error("case %zu, %u: %s", i, k, said);
		}
	}
}

static struct service_graph *graph_of(GPtrArray *hosts, const char *focus)
{
	struct service_map *map = service_map_new(START_NS, START_NS + WINDOW_MS * MS);

	for (guint i = 0; i < hosts->len; i++)
		service_map_add_profile(map, g_ptr_array_index(hosts, i), NULL);
	struct service_graph *g = service_graph_new(map, focus);

	service_map_free(map);
	return g;
}

/* "cart>quoter 100% connection" */
static char *edge_text(const struct service_graph *g, guint i)
{
	const struct service_edge *e = service_edge(g, i);

	return g_strdup_printf("%s%s%s %.0f%% %s", service_node(g, e->from)->name, e->is_loop ? "~" : ">", service_node(g, e->to)->name,
			       100 * e->threads, peer_how_name(e->how));
}

static void assert_edges(const struct service_graph *g, const char *const *says)
{
	for (guint i = 0; says[i] || i < g->edges->len; i++) {
		g_autofree char *text = i < g->edges->len ? edge_text(g, i) : NULL;

		g_assert_cmpstr(text, ==, says[i]);
	}
}

/* The same as is followed, as a graph: by both ends, by a rewritten address, and of whom nobody knows the address alone. */
static void test_service_graph(void)
{
	static const struct {
		struct far_case hosts;
		const char *says[4];
	} cases[] = {
		{ { .has_db1 = true }, { "cart>quoter 80% connection", "quoter>ledgerd 72% connection" } },
		{ { .has_db1 = true, .asked = "10.96.0.1:80" }, { "cart>quoter 80% rewritten", "quoter>ledgerd 72% connection" } },
		{ { .quoter_remote = "" }, { "cart>quoter 80% address", "quoter>10.9.0.3:7301 72% none" } },
		{ { .has_twin = true, .quoter_remote = "10.9.0.9:1" }, { "cart>10.9.0.2:7302 80% several", "quoter>10.9.0.3:7301 72% none" } },
		{ { .asked = "127.0.0.1:7302", .quoter_remote = "" }, { "cart>127.0.0.1:7302 80% none", "quoter>10.9.0.3:7301 72% none" } },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) hosts = hosts_new(&cases[i].hosts);
		struct service_graph *g = graph_of(hosts, NULL);

		assert_edges(g, cases[i].says);
		service_graph_free(g);
	}
}

static void add_service(struct service_map *m, unsigned i, bool is_loop, uint64_t ns)
{
	g_autofree char *name = g_strdup_printf("s%u", i), *here = g_strdup_printf("10.0.%u.%u:80", i / 250, i % 250);
	g_autofree char *there = g_strdup_printf("10.0.%u.%u:80", (i + 1) / 250, (i + 1) % 250), *set = g_strdup_printf("2 sockets -> %s", there);
	const struct object socket = { .kind = OBJECT_SOCKET, .name = there }, epoll = { .kind = OBJECT_EPOLL, .name = set };
	const struct service_time t = { .host = "h", .service = name, .reason = is_loop ? REASON_EVENT_LOOP : REASON_NETWORK_RECEIVE,
					.object = is_loop ? &epoll : &socket, .is_idle = is_loop, .ns = ns };
	const struct peer_row serves = { .host = "h", .process = name, .pid = i, .local = here, .remote = "", .from_unix_ns = 0, .to_unix_ns = 1000 },
			      asks = { .host = "h", .process = name, .pid = i, .local = "10.0.9.9", .remote = there };

	service_map_add_time(m, &t);
	service_map_add_connection(m, &serves, CONNECTION_SERVER);
	service_map_add_connection(m, &asks, CONNECTION_CLIENT);
}

/* Of many those with most time are drawn, and of one its neighbours; loops that have asked each other add nothing. */
static void test_many_services(void)
{
	struct service_map *map = service_map_new(0, 1000);

	for (unsigned i = 0; i < 300; i++)
		add_service(map, i, false, 900 - 2 * i);
	struct service_graph *g = service_graph_new(map, NULL), *near = service_graph_new(map, "s5"), *nobody = service_graph_new(map, "nobody");

	g_assert_cmpuint(g->edges->len, ==, 300);
	g_assert_cmpuint(g->linked_nodes, ==, 301);
	g_assert_cmpuint(g->drawn_nodes, ==, SERVICES_DRAWN_MAX);
	for (guint i = 0; i < g->edges->len; i++) {
		g_assert_cmpint(service_edge(g, i)->is_drawn, ==, i < SERVICES_DRAWN_MAX - 1);
		g_assert_true(!i || service_edge(g, i)->threads <= service_edge(g, i - 1)->threads);
	}
	g_assert_cmpfloat(g->drawn, <, g->all / 4);
	g_assert_true(service_edge(near, 0)->is_drawn && service_edge(near, 5)->is_drawn);
	g_assert_false(service_edge(near, 40)->is_drawn);
	g_assert_cmpuint(nobody->drawn_nodes, ==, 0);
	service_graph_free(g);
	service_graph_free(near);
	service_graph_free(nobody);
	service_map_free(map);

	map = service_map_new(0, 1000);
	for (unsigned i = 0; i < 3; i++)
		add_service(map, i, true, 900);
	const struct service_time work = { .host = "h", .service = "s2", .reason = REASON_DISK_SYNC, .ns = 400 };
	const struct peer_row back = { .host = "h", .process = "s1", .pid = 1, .local = "10.0.9.9", .remote = "10.0.0.0:80" };

	service_map_add_time(map, &work);
	service_map_add_connection(map, &back, CONNECTION_CLIENT);
	g = service_graph_new(map, NULL);
	for (guint i = 0; i < g->edges->len; i++) {
		const struct service_edge *e = service_edge(g, i);
		const bool is_back = !strcmp(service_node(g, e->to)->name, "s0"), is_known = service_node(g, e->to)->is_known;

		g_assert_true(e->is_loop);
		g_assert_cmpuint(e->ns, <=, 900);
		g_assert_true(!is_known || is_back || e->ns >= 400);
		g_assert_true(is_known || !e->ns);
	}
	service_graph_free(g);
	service_map_free(map);
}

/* Rows come from anybody: however many, and whatever they say, what is found is bounded. */
static void test_hostile_peers(void)
{
	static const char *const locals[] = { "10.0.0.9:48120", "10.0.0.9", "", NULL };
	const struct peer_ask ask = { .host = "web1", .there = "10.0.0.5:80", .locals = locals, .from_unix_ns = 10, .to_unix_ns = 20 };
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct peer_row));
	struct peer_row row = { .host = "db1", .process = "", .local = "10.0.0.5:80", .remote = "", .from_unix_ns = 15, .to_unix_ns = UINT64_MAX };

	for (uint32_t i = 0; i < 10000; i++) {
		row.pid = i;
		g_array_append_val(rows, row);
	}
	struct peer found = peers_find(&ask, rows);
	g_assert_cmpint(found.how, ==, PEER_ADDRESS);
	g_assert_cmpuint(found.pid_cnt, ==, PEERS_MAX);
	/* neither an address without a port nor nothing is a connection; a window that ends before it begins is none */
	row.remote = "10.0.0.9";
	row.local = "10.0.0.6:80";
	g_array_set_size(rows, 0);
	g_array_append_val(rows, row);
	g_assert_cmpint(peers_find(&ask, rows).how, ==, PEER_NONE);
	row = (struct peer_row){ .host = "db1", .process = "", .local = "10.0.0.5:80", .remote = "", .from_unix_ns = UINT64_MAX };
	g_array_append_val(rows, row);
	g_assert_cmpint(peers_find(&ask, rows).how, ==, PEER_APART);
	/* a host that claims somebody else's connection */
	row = (struct peer_row){ .host = "db1", .process = "", .local = "10.0.0.5:80", .remote = locals[0], .to_unix_ns = 30 };
	g_array_append_val(rows, row);
	g_assert_cmpint(peers_find(&ask, rows).how, ==, PEER_CONNECTION);
	row.host = "evil";
	g_array_append_val(rows, row);
	g_assert_cmpint(peers_find(&ask, rows).how, ==, PEER_SEVERAL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/follow", test_follow);
	g_test_add_func("/explain/follow/hosts", test_hosts);
	g_test_add_func("/explain/services/hosts", test_service_graph);
	g_test_add_func("/explain/services/many", test_many_services);
	g_test_add_func("/explain/follow/hostile", test_hostile_peers);
	g_test_add_func("/explain/kernel-thread", test_kernel_thread);
	return g_test_run();
}
