/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which waits hold up an event loop. */
#include <string.h>

#include "maker.h"
#include "analyse/reason/reasons.h"
#include "explain/findings.h"
#include "explain/findings_part.h"

#define POLL "__x64_sys_ppoll@[kernel] do_sys_poll@[kernel]"
#define NAP "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]"
#define NGINX "main@nginx ngx_master_process_cycle@nginx ngx_spawn_process@nginx "
#define RUN_TASK "start_thread@libc.so.6 tokio::runtime::scheduler::multi_thread::worker::Context::run_task@app "

/*
 * What waits within a callback of an event loop holds that up, whatever it waits for; the loop's own wait does not, nor
 * what handed the loop over first.
 */
static void test_loops(void)
{
	struct maker m = maker_new("");
	uint32_t t = thread_of(m.p, 1, 1, "app", 0);
	uint32_t waits = wait_of(m.p, t, 'S',
				 "main@python3 BaseEventLoop._run_once@base_events.py EpollSelector.select@selectors.py epoll_wait@libc.so.6",
				 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 10);
	uint32_t naps = wait_of(m.p, t, 'S',
				"main@python3 BaseEventLoop._run_once@base_events.py Handle._run@events.py handler@app.py time_sleep@python3",
				NAP, 5);
	uint32_t old = wait_of(m.p, t, 'S', "main@python3 _run_once@base_events.py _run@events.py query@app.py poll@libc.so.6",
			       "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", 2);
	uint32_t other = wait_of(m.p, t, 'S', "main@app _run@app look@app usleep@libc.so.6", NAP, 1);
	uint32_t served = wait_of(m.p, t, 'D', NGINX "ngx_event_process_posted@nginx ngx_http_output_filter@nginx sendfile@libc.so.6",
				  "__x64_sys_sendfile64@[kernel] filemap_get_pages@[kernel]", 1);
	uint32_t awaits = wait_of(m.p, t, 'S', NGINX "epoll_wait@libc.so.6", "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 1);
	uint32_t polled = wait_of(m.p, t, 'S', RUN_TASK "app::price@app usleep@libc.so.6", NAP, 1);
	uint32_t handed = wait_of(m.p, t, 'S', RUN_TASK "tokio::task::blocking::block_in_place@app app::price@app usleep@libc.so.6",
				  NAP, 1);
	uint32_t alone = wait_of(m.p, t, 'S', "BaseServer._handle_request_noblock@socketserver.py H.do_GET@app.py recv@libc.so.6", NAP, 1);
	uint32_t threads = wait_of(m.p, t, 'S', "ThreadingMixIn.process_request_thread@socketserver.py H.do_GET@app.py recv@libc.so.6",
				   NAP, 1);
	struct reasons *r = reasons_new(m.p, NULL);

	g_assert_cmpstr(reasons_loop(r, alone)->name, ==, "socketserver");
	g_assert_null(reasons_loop(r, threads));
	g_assert_cmpstr(reasons_loop(r, served)->name, ==, "nginx");
	g_assert_null(reasons_loop(r, awaits));
	g_assert_cmpstr(reasons_loop(r, polled)->name, ==, "tokio-runtime");
	g_assert_null(reasons_loop(r, handed));
	g_assert_null(reasons_loop(r, waits));
	g_assert_cmpstr(reasons_loop(r, naps)->name, ==, "asyncio");
	g_assert_cmpint(reasons_idle(r, naps), ==, IDLE_NOT);
	g_assert_cmpint(reasons_of(r, naps), ==, REASON_SLEEP);
	g_assert_cmpstr(reasons_loop(r, old)->name, ==, "asyncio");
	g_assert_null(reasons_loop(r, other));
	reasons_free(r);
	struct findings *f = findings_new(m.p, NULL);
	bool is_found = false;

	for (guint i = 0; i < f->rows->len; i++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, i);
		const char *name = row->frame < 0 ? "" : profile_get_frame(m.p, (uint32_t)row->frame)->name;

		if (row->loop && !strcmp(name, "handler"))
			is_found = row->reason == REASON_SLEEP && row->count == 5;
	}
	g_assert_true(is_found);
	findings_free(f);
	profile_free(m.p);
}

#define GLIB "main@app g_main_loop_run@libglib-2.0.so.0 g_main_context_dispatch@libglib-2.0.so.0 "
#define GREENLET "bootstrap@_greenlet.cpython-311-x86_64-linux-gnu.so "
#define PERL "Mojo::IOLoop::start@IOLoop.pm Mojo::Reactor::Poll::start@Poll.pm Mojo::Reactor::Poll::one_tick@Poll.pm "
#define TIMER "java.lang.Thread.run@[jit] java.util.TimerThread.run@[jit] java.util.TimerThread.mainLoop@[jit] "
#define EPOLL "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]"

/* Of each library: a callback that waits, and the loop's own wait. */
static void test_loops_of_libraries(void)
{
	static const struct {
		const char *user, *kernel, *loop;
	} cases[] = {
		{ GLIB "tick@app usleep@libc.so.6", NAP, "GMainLoop" },
		{ GLIB "tick@app PQexec@libpq.so.5 poll@libc.so.6", POLL, "GMainLoop" },
		/* a dialog: the loop runs anew */
		{ GLIB "clicked@app gtk_dialog_run@libgtk-3.so.0 g_main_loop_run@libglib-2.0.so.0 poll@libc.so.6", POLL, NULL },
		{ GLIB "clicked@app gtk_dialog_run@libgtk-3.so.0 g_main_loop_run@libglib-2.0.so.0 "
		       "g_main_context_dispatch@libglib-2.0.so.0 tick@app usleep@libc.so.6", NAP, "GMainLoop" },
		{ "main@app g_main_loop_run@libglib-2.0.so.0 poll@libc.so.6", POLL, NULL },
		{ "main@app QEventLoop::exec@libQt5Core.so.5 QCoreApplication::notifyInternal2@libQt5Core.so.5 save@app fsync@libc.so.6",
		  NAP, "QEventLoop" },
		{ "main@app QEventLoop::exec@libQt5Core.so.5 QCoreApplication::notifyInternal2@libQt5Core.so.5 ask@app "
		  "QEventLoop::exec@libQt5Core.so.5 poll@libc.so.6", POLL, NULL },
		{ "main@app QCoreApplication::notifyInternal2@libQt5Core.so.5 init@app usleep@libc.so.6", NAP, NULL },
		{ "main@app event_base_loop@libevent-2.1.so.7 on_read@app PQexec@libpq.so.5 poll@libc.so.6", POLL, "event_base" },
		{ "main@app event_base_loop@libevent-2.1.so.7 epoll_wait@libc.so.6", EPOLL, NULL },
		{ "main@app ev_run@libev.so.4 ev_invoke_pending@libev.so.4 on_read@app usleep@libc.so.6", NAP, "ev_loop" },
		{ "main@app ev_run@libev.so.4 ev_invoke_pending@libev.so.4 on_read@app ev_run@libev.so.4 epoll_wait@libc.so.6", EPOLL, NULL },
		{ GREENLET "Hub.run@hub.py run@corecext.cpython-311-x86_64-linux-gnu.so tick@app.py usleep@libc.so.6", NAP, "gevent-hub" },
		{ GREENLET "Hub.run@hub.py run@corecext.cpython-311-x86_64-linux-gnu.so epoll_wait@libc.so.6", EPOLL, NULL },
		{ GREENLET "BaseHub.run@hub.py BaseHub.fire_timers@hub.py tick@app.py usleep@libc.so.6", NAP, "eventlet-hub" },
		{ GREENLET "BaseHub.run@hub.py Hub.wait@poll.py poll@libc.so.6", POLL, NULL },
		{ "run@_run.py unrolled_run@_run.py view@app.py usleep@libc.so.6", NAP, "trio" },
		{ "run@_run.py EpollIOManager.get_events@_io_epoll.py epoll_wait@libc.so.6", EPOLL, NULL },
		{ "_SignalReactorMixin.mainLoop@base.py ReactorBase.runUntilCurrent@base.py view@app.py usleep@libc.so.6", NAP, "Twisted" },
		{ "EventMachine_t::Run@em.so EventMachine_t::_RunTimers@em.so view@app.rb usleep@libc.so.6", NAP, "EventMachine" },
		{ "main@app boost::asio::detail::scheduler::do_run_one@app boost::asio::detail::wait_handler<F>::do_complete@app f@app usleep@libc.so.6",
		  NAP, "io_context" },
		{ "boost::asio::thread_pool::thread_function::operator()@app boost::asio::detail::scheduler::do_run_one@app "
		  "boost::asio::detail::executor_op<F>::do_complete@app f@app usleep@libc.so.6", NAP, NULL },
		{ PERL "Mojo::Reactor::Poll::_try@Poll.pm fetch@app.pl read@libc.so.6", NAP, "Mojo" },
		{ PERL "poll@libc.so.6", POLL, NULL },
		{ PERL "Mojo::Reactor::Poll::_try@Poll.pm fetch@app.pl " PERL "poll@libc.so.6", POLL, NULL },
		{ TIMER "Lease$1.run@[jit] java.lang.Thread.sleep@[jit]", NAP, "java.util.Timer" },
		{ TIMER "java.lang.Object.wait@[jit]", NAP, NULL },
		{ "Lease$1.run@[jit] java.lang.Thread.sleep@[jit]", NAP, NULL },
		{ "smol::spawn::f@app async_task::raw::RawTask<F,T,S>::run@app shop::f@app usleep@libc.so.6", NAP, "async-executor" },
		{ "blocking::Executor::main_loop@app async_task::raw::RawTask<F,T,S>::run@app shop::f@app usleep@libc.so.6", NAP, NULL },
	};
	struct maker m = maker_new("");
	uint32_t t = thread_of(m.p, 1, 1, "app", 0), waits[G_N_ELEMENTS(cases)];

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		waits[i] = wait_of(m.p, t, 'S', cases[i].user, cases[i].kernel, 5);
	struct reasons *r = reasons_new(m.p, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct rule *loop = reasons_loop(r, waits[i]);

		if (g_strcmp0(loop ? loop->name : NULL, cases[i].loop))
			g_error("%s: %s", cases[i].user, loop ? loop->name : "no loop");
	}
	reasons_free(r);
	profile_free(m.p);
}

/* A thread that asks, and pauses for twice as long each time, backs off; even pauses are a clock, others are by chance. */
static void test_growing_pauses(void)
{
	static const struct { uint32_t cnt[6]; enum idle_kind idle; } cases[] = {
		{ { 6, 2, 1, 1, 0, 0 }, IDLE_NOT },
		{ { 0, 3, 2, 2, 1, 0 }, IDLE_NOT },
		{ { 10, 0, 0, 0, 0, 0 }, IDLE_TIMER },
		{ { 7, 3, 0, 0, 0, 0 }, IDLE_TIMER },
		{ { 1, 2, 4, 2, 1, 0 }, IDLE_TIMER },
	};
	const struct object api = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:80", .place = "tcp" };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t t = thread_of(m.p, 1, 1, "up", 0), sleep = wait_of(m.p, t, 'S', "main@up usleep@libc.so.6", NAP, 10);
		uint32_t ask = wait_of(m.p, t, 'S', "main@up put@up send@up recv@libc.so.6", "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]", 10);
		struct wait *w = &g_array_index(m.p->waits, struct wait, sleep);

		fixture_is_for(m.p, ask, &api);
		memset(w->hist, 0, sizeof(w->hist));
		for (unsigned k = 0; k < G_N_ELEMENTS(cases[i].cnt); k++)
			w->hist[27 + k] = cases[i].cnt[k];
		woken_by(m.p, sleep, UINT32_MAX, "");
		struct reasons *r = reasons_new(m.p, NULL);
		if (reasons_idle(r, sleep) != cases[i].idle)
			g_error("case %u: %s", i, idle_kind_name(reasons_idle(r, sleep)));
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A thread of a library's own may look again and again, in its loop; one that the program begins polls. */
static void test_loop_of_librarys_thread(void)
{
	static const struct { const char *stack; bool is_idle; } cases[] = {
		{ "clone3@libc.so.6 start_thread@libc.so.6 gloo::transport::tcp::Loop::run@libgloo.so.0.5.0 epoll_wait@libc.so.6", true },
		{ "clone3@libc.so.6 start_thread@libc.so.6 watch@app epoll_wait@libc.so.6", false },
		{ "main@app run@libgloo.so.0.5.0 epoll_wait@libc.so.6", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "trainer", 0), 'S', cases[i].stack,
					"__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 900);

		woken_by(m.p, wait, UINT32_MAX, "");
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_is_idle(r, wait), ==, cases[i].is_idle);
		reasons_free(r);
		profile_free(m.p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/loops/asyncio-nginx-tokio", test_loops);
	g_test_add_func("/loops/of-libraries", test_loops_of_libraries);
	g_test_add_func("/loops/growing-pauses", test_growing_pauses);
	g_test_add_func("/loops/of-a-librarys-thread", test_loop_of_librarys_thread);
	return g_test_run();
}
