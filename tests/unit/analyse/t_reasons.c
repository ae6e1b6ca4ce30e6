/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/reasons.h"

#include <string.h>

#include "maker.h"
#include "explain/findings.h"
#include "analyse/locks.h"
#include "analyse/top.h"
#include "../parts.h"

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"

/* Stacks of real programs, outermost first. */
static void test_rules(void)
{
	static const struct {
		char state;
		const char *user, *kernel;
		enum reason reason;
		const char *protocol;
	} cases[] = {
		{ 'S', "main@app PQexec@libpq.so.5 ?@libpq.so.5 poll@libc.so.6",
		  "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", REASON_NETWORK_RECEIVE, "libpq" },
		{ 'S', "main@app get@app redisCommand@libhiredis.so.0 read@libc.so.6",
		  "__x64_sys_read@[kernel] tcp_recvmsg@[kernel] sk_wait_data@[kernel]", REASON_NETWORK_RECEIVE,
		  "hiredis" },
		{ 'S', "main@app send_all@app send@libc.so.6",
		  "__x64_sys_sendto@[kernel] tcp_sendmsg@[kernel] sk_stream_wait_memory@[kernel]",
		  REASON_NETWORK_SEND, "" },
		{ 'S', "main@app connect@libc.so.6", "__x64_sys_connect@[kernel] inet_stream_connect@[kernel]",
		  REASON_NETWORK_CONNECT, "" },
		{ 'S', "main@app accept@libc.so.6", "__x64_sys_accept@[kernel] inet_csk_accept@[kernel]",
		  REASON_NETWORK_ACCEPT, "" },
		{ 'D', "main@app open@libc.so.6", "__x64_sys_openat@[kernel] mnt_want_write@[kernel] percpu_rwsem_wait@[kernel]",
		  REASON_LOCK_KERNEL, "" },
		{ 'S', "quote@app.rb with@connection_pool.rb checkout@connection_pool.rb pop@timed_stack.rb rb_mutex_sleep@libruby-3.1.so.3.1 "
		       "pthread_cond_timedwait@libc.so.6", FUTEX, REASON_LOCK_SEMAPHORE, "ConnectionPool" },
		{ 'S', "wait@scheduled.rb pop@timed_stack.rb rb_mutex_sleep@libruby-3.1.so.3.1 rb_ensure@libruby-3.1.so.3.1 "
		       "pthread_cond_timedwait@libc.so.6", FUTEX, REASON_POOL_IDLE, "Ruby" },
		{ 'S', "do_command@mariadbd lock_tables@mariadbd thr_multi_lock@mariadbd ?@mariadbd pthread_cond_timedwait@libc.so.6", FUTEX,
		  REASON_LOCK_OTHER, "MariaDB" },
		{ 'S', "JOIN::exec@mariadbd Item_func_get_lock::val_int@mariadbd MDL_context::acquire_lock@mariadbd "
		       "MDL_wait::timed_wait@mariadbd pthread_cond_timedwait@libc.so.6", FUTEX, REASON_LOCK_OTHER, "MariaDB" },
		{ 'S', "open_table@mariadbd MDL_context::acquire_lock@mariadbd MDL_wait::timed_wait@mariadbd pthread_cond_timedwait@libc.so.6",
		  FUTEX, REASON_LOCK_RWLOCK, "MariaDB" },
		{ 'S', "find_word@search.py connect@__init__.py PQconnectdb@libpq.so.5 ?@libpq.so.5 poll@libc.so.6",
		  "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", REASON_NETWORK_RECEIVE, "libpq" },
		{ 'S', "build_tracer.<locals>.trace_task@trace.py build_report@etl.py AsyncResult.get@result.py Drainer.wait_for@asynchronous.py "
		       "poll@libc.so.6", "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", REASON_NETWORK_RECEIVE, "Celery" },
		{ 'S', "quote@app.rb pop@timed_stack.rb connect@redis.rb rb_io_wait@libruby-3.1.so.3.1 poll@libc.so.6",
		  "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", REASON_EVENT_LOOP, "Ruby" },
		{ 'S', "Fares.bookSeat@[java] org.apache.commons.pool2.impl.GenericObjectPool.borrowObject@[java] Unsafe_Park@libjvm.so "
		       "pthread_cond_wait@libc.so.6", FUTEX, REASON_LOCK_SEMAPHORE, "Java connection pool" },
		{ 'S', "System_Threading_ThreadPoolWorkQueue_Dispatch@[anon] System_Threading_Tasks_Task_InternalWait_int@[anon] "
		       "System_Threading_Monitor_Wait_object_int@[anon] pthread_cond_wait@libc.so.6", FUTEX, REASON_LOCK_CONDITION, ".NET future" },
		{ 'S', "Shop::Pay@[jit] System.Threading.Monitor::Enter_Slowpath@[jit] ?@shop pthread_cond_wait@libc.so.6", FUTEX,
		  REASON_LOCK_MUTEX, ".NET monitor" },
		{ 'S', "Shop::Nap@[jit] System.Threading.Thread::Sleep@[jit] ?@shop pthread_cond_timedwait@libc.so.6", FUTEX,
		  REASON_SLEEP, ".NET" },
		{ 'S', "System.Threading.PortableThreadPool+WorkerThread::WorkerThreadStart@[jit] System.Threading.LowLevelLifoSemaphore::Wait@[jit] "
		       "?@shop pthread_cond_timedwait@libc.so.6", FUTEX, REASON_POOL_IDLE, ".NET pool" },
		{ 'S', "System.Threading.ThreadPoolWorkQueue::Dispatch@[jit] Shop::Pay@[jit] System.Threading.Tasks.Task::InternalWaitCore@[jit] "
		       "System.Threading.ManualResetEventSlim::Wait@[jit] pthread_cond_wait@libc.so.6", FUTEX, REASON_LOCK_CONDITION, ".NET future" },
		{ 'S', "Orders:Handle@[jit] object:__icall_wrapper_mono_monitor_enter_v4_internal@[jit] ?@mono pthread_cond_wait@libc.so.6",
		  FUTEX, REASON_LOCK_MUTEX, "Mono monitor" },
		{ 'S', "start_thread@libc.so.6 caml_thread_tick@app select@libc.so.6",
		  "__x64_sys_pselect6@[kernel] do_pselect@[kernel]", REASON_SLEEP, "OCaml" },
		{ 'D', "main@app fdatasync@libc.so.6", "__x64_sys_fdatasync@[kernel] jbd2_log_wait_commit@[kernel]",
		  REASON_DISK_SYNC, "" },
		{ 'D', "main@app read@libc.so.6",
		  "__x64_sys_read@[kernel] filemap_read@[kernel] io_schedule@[kernel]", REASON_DISK_READ, "" },
		{ 'D', "main@app write@libc.so.6", "__x64_sys_write@[kernel] balance_dirty_pages@[kernel]",
		  REASON_DISK_WRITE, "" },
		{ 'D', "main@app open@libc.so.6",
		  "__x64_sys_openat@[kernel] ext4_lookup@[kernel] io_schedule@[kernel]", REASON_DISK_METADATA, "" },
		{ 'D', "main@app rename@libc.so.6", "__x64_sys_rename@[kernel] rwsem_down_write_slowpath@[kernel]",
		  REASON_LOCK_KERNEL, "" },
		{ 'S', "main@app f@app pthread_mutex_lock@@GLIBC_2@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_MUTEX, "" },
		{ 'S', "app::main@app <std::sys::sync::mutex::futex::Mutex>::lock_contended@app syscall@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_MUTEX, "" },
		{ 'S', "app::main@app <std::sys::sync::rwlock::futex::RwLock>::read_contended@app syscall@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_RWLOCK, "" },
		{ 'S', "app::main@app app::serve@app dashmap::DashMap<K,V,S>::entry@app dashmap::lock::RawRwLock::lock_exclusive_slow@app syscall@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_RWLOCK, "DashMap" },
		{ 'S', "app::main@app lock_api::rwlock::RwLock<R,T>::write@app own::RawRwLock::lock_exclusive@app syscall@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_RWLOCK, "" },
		{ 'S', "?@[vdso]", "__ia32_sys_clock_nanosleep_time32@[kernel] do_nanosleep@[kernel]", REASON_SLEEP, "" },
		{ 'S', "?@[vdso]", "__ia32_sys_futex_time32@[kernel] futex_wait@[kernel]", REASON_LOCK_OTHER, "" },
		{ 'S', "main@app f@app sem_wait@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]",
		  REASON_LOCK_SEMAPHORE, "" },
		{ 'S', "main@app pthread_cond_wait@libc.so.6 __pthread_mutex_cond_lock@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_MUTEX, "" },
		{ 'S', "main@python3.11 PyEval_RestoreThread@python3.11 pthread_cond_timedwait@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_GIL, "GIL" },
		{ 'S', "main@app write@libc.so.6", "__x64_sys_write@[kernel] pipe_write@[kernel]", REASON_PIPE, "" },
		{ 'S', "do_command@mariadbd ha_commit_trans@mariadbd ?@mariadbd syscall@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_RWLOCK, "InnoDB" },
		{ 'S', "do_command@mariadbd MYSQL_BIN_LOG::write_transaction_to_binlog_events@mariadbd "
		       "MYSQL_BIN_LOG::trx_group_commit_leader@mariadbd pthread_mutex_lock@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_MUTEX, "MariaDB" },
		{ 'S', "dispatch_command@mariadbd Protocol::net_send_ok@mariadbd net_flush@mariadbd net_real_write@mariadbd "
		       "pthread_cond_wait@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_DISK_SYNC, "MariaDB" },
		{ 'S', "start_thread@libc.so.6 ?@mariadbd __io_uring_get_cqe@liburing.so.2.3",
		  "__x64_sys_io_uring_enter@[kernel] io_cqring_wait@[kernel]", REASON_POOL_IDLE, "InnoDB" },
		{ 'S', "PostgresMain@postgres exec_simple_query@postgres pg_sleep@postgres WaitLatch@postgres epoll_wait@libc.so.6",
		  "__x64_sys_epoll_wait@[kernel] do_epoll_wait@[kernel]", REASON_SLEEP, "PostgreSQL" },
		{ 'S', "PostgresMain@postgres heap_update@postgres ProcSleep@postgres LWLockAcquire@postgres PGSemaphoreLock@postgres",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", REASON_LOCK_RWLOCK, "PostgreSQL" },
		{ 'S', "main@app wait4@libc.so.6", "__x64_sys_wait4@[kernel] do_wait@[kernel]", REASON_CHILD_EXIT,
		  "" },
		{ 'S', "main@app a@app b@app usleep@libc.so.6",
		  "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]", REASON_SLEEP, "" },
		{ 'S', "app::ask@app std::sync::mpmc::list::Channel<T>::recv@app <std::thread::thread::Thread>::park@app "
		       "syscall@libc.so.6", FUTEX, REASON_POOL_IDLE, "" },	/* a thread alone, which nobody wakes */
		{ 'S', "app::ask@app crossbeam_channel::flavors::array::Channel<T>::send@app std::thread::functions::park@app "
		       "syscall@libc.so.6", FUTEX, REASON_LOCK_CONDITION, "" },
		{ 'S', "app::ask@app std::thread::functions::sleep@app futex@libc.so.6", FUTEX, REASON_SLEEP, "" },
		{ 'S', "app::step@app <std::sync::barrier::Barrier>::wait@app syscall@libc.so.6", FUTEX, REASON_LOCK_CONDITION, "" },
		{ 'S', "Step.run@app java.util.concurrent.CyclicBarrier.await@app Unsafe_Park@libjvm.so", FUTEX,
		  REASON_LOCK_CONDITION, "Java barrier" },
		{ 'S', "all_reduce@train.py Barrier.wait@threading.py Condition.wait@synchronize.py "
		       "?@_multiprocessing.cpython-311-x86_64-linux-gnu.so sem_wait@libc.so.6", FUTEX, REASON_LOCK_CONDITION, "Python barrier" },
		{ 'S', "load@etl.py Queue.get@queues.py SemLock.__enter__@synchronize.py ?@_multiprocessing.cpython-311-x86_64-linux-gnu.so "
		  "sem_wait@libc.so.6", FUTEX, REASON_POOL_IDLE, "Python queue" },
		{ 'S', "start_thread@libc.so.6 submitMsg2@rsyslogd qqueueEnqMsg@rsyslogd pthread_cond_timedwait@libc.so.6", FUTEX,
		  REASON_LOCK_CONDITION, "rsyslog" },
		{ 'S', "worker@redis.py Redis.brpop@redis.py recv@libc.so.6",
		  "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]", REASON_NETWORK_RECEIVE, "broker" },
		{ 'S', "run@alerts.py PubSub.get_message@client.py PubSub.parse_response@client.py poll@libc.so.6",
		  "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", REASON_NETWORK_RECEIVE, "broker" },
		{ 'S', "runtime.mcall@app runtime.findRunnable@app runtime.netpoll@app runtime.epollwait@app", "?@[kernel]", REASON_EVENT_LOOP, "Go" },
		{ 'S', "worker@redis.py Redis.get@redis.py recv@libc.so.6",
		  "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]", REASON_NETWORK_RECEIVE, "" },
		{ 'S', "run@processor.rb retrieve_work@fetch.rb ?@libruby-3.1.so ppoll@libc.so.6",
		  "__x64_sys_ppoll@[kernel] do_sys_poll@[kernel]", REASON_NETWORK_RECEIVE, "broker" },
		{ 'S', "fetch@prices.rb ?@libruby-3.1.so pthread_cond_timedwait@libc.so.6", FUTEX, REASON_SLEEP, "Ruby" },
		{ 'S', "work@jobs.rb rb_ensure@libruby-3.1.so ?@libruby-3.1.so pthread_cond_timedwait@libc.so.6", FUTEX,
		  REASON_POOL_IDLE, "Ruby" },	/* Queue#pop with a time */
		{ 'S', "start_thread@libc.so.6 erts_schedule@beam.smp erts_check_io@beam.smp erts_poll_wait@beam.smp "
		       "epoll_wait@libc.so.6", "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", REASON_EVENT_LOOP, "Erlang" },
		{ 'S', "start_thread@libc.so.6 System_Threading_Timer_Scheduler_SchedulerThread@mscorlib.dll.so ?@mono "
		       "pthread_cond_timedwait@libc.so.6", FUTEX, REASON_POOL_IDLE, "Mono" },
		{ 'S', "start_thread@libc.so.6 asio::detail::scheduler::do_run_one@app pthread_cond_wait@libc.so.6", FUTEX, REASON_POOL_IDLE, "asio" },
		{ 'S', "main@app boost::asio::detail::scheduler::do_run_one@app boost::asio::detail::wait_handler<F>::do_complete@app f@app "
		       "pthread_cond_wait@libc.so.6", FUTEX, REASON_LOCK_CONDITION, "" },
		{ 'S', "Cart.add@app G1CollectedHeap::attempt_allocation_slow@libjvm.so Mutex::lock@libjvm.so "
		       "pthread_mutex_lock@libc.so.6", FUTEX, REASON_LOCK_OTHER, "JVM" },
		{ 'S', "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll@jvm org.eclipse.jetty.util.BlockingArrayQueue.poll@jvm "
		       "Unsafe_Park@libjvm.so", FUTEX, REASON_POOL_IDLE, "Java pool" },
		{ 'S', "Mail.run@jvm java.util.concurrent.DelayQueue.take@jvm Unsafe_Park@libjvm.so", FUTEX, REASON_POOL_IDLE, "Java pool" },
		{ 'S', "Shop.get@jvm com.google.common.cache.LocalCache$Segment.waitForLoadingValue@jvm Unsafe_Park@libjvm.so", FUTEX,
		  REASON_LOCK_CONDITION, "Guava cache" },
		{ 'S', "Hub.main@jvm org.postgresql.core.v3.QueryExecutorImpl.processNotifies@jvm poll@libc.so.6",
		  "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", REASON_NETWORK_RECEIVE, "JDBC" },
		{ 'S', "app::main@app rayon_core::latch::LockLatch::wait_and_reset@app syscall@libc.so.6", FUTEX, REASON_CHILD_EXIT, "" },
		{ 'S', "camlApi__serve_83@app unix_read@app caml_thread_leave_blocking_section@app pthread_cond_wait@libc.so.6", FUTEX,
		  REASON_LOCK_MUTEX, "OCaml" },
		{ 'R', "runtime.gcBgMarkWorker@app runtime.osyield@app", "__x64_sys_sched_yield@[kernel]", REASON_CPU_QUEUE, "" },
		{ 'D', "main@app touch@app",
		  "asm_exc_page_fault@[kernel] filemap_fault@[kernel] io_schedule@[kernel]", REASON_MEMORY_FILE, "" },
		{ 'D', "main@app touch@app", "asm_exc_page_fault@[kernel] do_swap_page@[kernel] io_schedule@[kernel]",
		  REASON_MEMORY_SWAP, "" },
		{ 'D', "main@app touch@app", "asm_exc_page_fault@[kernel] try_to_free_mem_cgroup_pages@[kernel]",
		  REASON_MEMORY_RECLAIM, "" },
		{ 'S', "main@app read@libc.so.6", "__x64_sys_read@[kernel] n_tty_read@[kernel]", REASON_TERMINAL,
		  "" },
		{ 'S', "main@app epoll_wait@libc.so.6", "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]",
		  REASON_EVENT_LOOP, "" },
		{ 'R', "main@app spin@app", "asm_sysvec_apic_timer_interrupt@[kernel]", REASON_CPU_QUEUE, "" },
		{ 'I', "main@app spin@app", "throttle_cfs_rq_work@[kernel]", REASON_CPU_THROTTLED, "" },
		{ 'T', "main@app", "do_signal_stop@[kernel]", REASON_STOPPED, "" },
		{ 'S', "main@app usleep@libc.so.6", "get_signal@[kernel] do_freezer_trap@[kernel]", REASON_STOPPED,
		  "" },
		{ 'S', "main@app usleep@libc.so.6", "arch_do_signal_or_restart@[kernel] get_signal@[kernel]", REASON_STOPPED,
		  "" },	/* the same, inlined */
		{ 'T', "main@app usleep@libc.so.6", "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]",
		  REASON_STOPPED, "" },	/* a freezer's */
		{ 'D', "main@app parse@app", "get_signal@[kernel] vfs_coredump@[kernel] ext4_buffered_write_iter@[kernel]",
		  REASON_STOPPED, "" },
		{ 'I', "clone3@libc.so.6 work@app usleep@libc.so.6",
		  "get_signal@[kernel] do_group_exit@[kernel] do_exit@[kernel]", REASON_STOPPED, "" },	/* of another thread's dump */
		{ 'S', "main@app _exit@libc.so.6", "__x64_sys_exit_group@[kernel] do_group_exit@[kernel] do_exit@[kernel]",
		  REASON_CHILD_EXIT, "" },
		{ 'S', "main@app connect@libc.so.6",
		  "__x64_sys_connect@[kernel] __seccomp_filter@[kernel] seccomp_do_user_notification@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app open@libc.so.6",
		  "do_syscall_64@[kernel] syscall_trace_enter@[kernel] seccomp_do_user_notification.isra.0@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app open@libc.so.6",
		  "__x64_sys_openat@[kernel] do_dentry_open@[kernel] fsnotify@[kernel] fanotify_handle_event@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app read@libc.so.6",
		  "__x64_sys_read@[kernel] filemap_read@[kernel] exc_page_fault@[kernel] handle_userfault@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app read@libc.so.6",
		  "__x64_sys_read@[kernel] vfs_read@[kernel] userfaultfd_read_iter@[kernel]", REASON_EVENT_LOOP, "" },
		{ 'S', "main@app open@libc.so.6", "__x64_sys_openat@[kernel] autofs_d_automount@[kernel] autofs_wait@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app send@libc.so.6", "__x64_sys_sendto@[kernel] audit_log@[kernel] audit_log_start@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app socket@libc.so.6", "__x64_sys_socket@[kernel] __request_module@[kernel] call_usermodehelper_exec@[kernel]",
		  REASON_DECISION, "" },
		{ 'S', "main@app open@libc.so.6",
		  "__x64_sys_openat@[kernel] do_dentry_open@[kernel] __break_lease@[kernel]", REASON_LOCK_KERNEL, "" },
		{ 'D', "main@app f@app mmap@libc.so.6",
		  "vm_mmap_pgoff@[kernel] down_write_killable@[kernel] rwsem_down_write_slowpath@[kernel]",
		  REASON_LOCK_KERNEL, "" },
		{ 'S', "scm_call_n@libguile-3.0.so.1 scm_timed_lock_mutex@libguile-3.0.so.1 pthread_cond_wait@libc.so.6",
		  FUTEX, REASON_LOCK_MUTEX, "Guile" },
		{ 'S', "scm_usleep@libguile-3.0.so.1 scm_std_usleep@libguile-3.0.so.1 select@libc.so.6",
		  "__x64_sys_pselect6@[kernel] core_sys_select@[kernel] do_select@[kernel]", REASON_SLEEP, "Guile" },
		{ 'S', "main@app system__task_primitives__operations__monotonic__timed_delayXnn@libgnarl-12.so "
		       "pthread_cond_timedwait@libc.so.6", FUTEX, REASON_SLEEP, "" },
		{ 'D', "main@app ioctl@libc.so.6", "__x64_sys_ioctl@[kernel] drm_wait@[kernel]", REASON_DEVICE, "" },
		{ 'D', "main@app ioctl@libc.so.6", "__x64_sys_ioctl@[kernel] never_heard_of@[kernel]", REASON_OTHER,
		  "" },
	};
	struct maker m = maker_new("process 1");
	uint32_t waits[G_N_ELEMENTS(cases)];

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		waits[i] = wait_of(m.p, thread_of(m.p, 1 + i, 1 + i, "app", 0), cases[i].state, cases[i].user,
				   cases[i].kernel, 1);
	struct reasons *r = reasons_new(m.p, NULL);
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		if (reasons_of(r, waits[i]) != cases[i].reason)
			g_error("case %u: %s", i, reason_name(reasons_of(r, waits[i])));
		g_assert_cmpstr(reasons_protocol(r, waits[i]), ==, cases[i].protocol);
	}
	reasons_free(r);
	profile_free(m.p);
}

/* What is asked once of stacks in common gives the same as asked of each set of rows by itself. */
static void test_base(void)
{
	struct profile *with = profile_new();
	struct profile *rows[3];

	for (uint32_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		rows[i] = profile_new_rows(with);
		const uint32_t thread = thread_of(rows[i], 1, 1 + i, "app", i == 2 ? THREAD_KERNEL : 0);

		wait_of(rows[i], thread, 'S', "main@app PQexec@libpq.so.5 poll@libc.so.6",
			"__x64_sys_poll@[kernel] do_sys_poll@[kernel]", 1);
		wait_of(rows[i], thread, 'D', "main@app fdatasync@libc.so.6",
			"__x64_sys_fdatasync@[kernel] jbd2_log_wait_commit@[kernel]", 1 + i);
	}
	struct reasons_base *base = reasons_base_new(with, NULL);

	for (uint32_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct reasons *shared = reasons_new_on(base, rows[i]), *own = reasons_new(rows[i], NULL);

		for (uint32_t k = 0; k < rows[i]->waits->len; k++) {
			g_assert_cmpint(reasons_of(shared, k), ==, reasons_of(own, k));
			g_assert_true(reasons_rule(shared, k) == reasons_rule(own, k));
			g_assert_cmpstr(reasons_protocol(shared, k), ==, reasons_protocol(own, k));
			g_assert_cmpint(reasons_idle(shared, k), ==, reasons_idle(own, k));
		}
		reasons_free(own);
		reasons_free(shared);
	}
	reasons_base_free(base);
	for (uint32_t i = 0; i < G_N_ELEMENTS(rows); i++)
		profile_free_rows(rows[i]);
	profile_free(with);
}

#define QUEUE "start_thread@libc.so.6 worker@app queue_pop@app pthread_cond_wait@libc.so.6"
#define GET "start_thread@libc.so.6 worker@app serve@app pool_get@app pthread_cond_wait@libc.so.6"
#define QUERY "start_thread@libc.so.6 worker@app serve@app query@app recv@libc.so.6"
#define RECV "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"
#define NAP "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]"

/* Workers that others give work to are idle; workers that wait for one another are not. */
static void test_pools(void)
{
	struct maker m = maker_new("process 1");
	uint32_t main = thread_of(m.p, 1, 1, "app", 0), idle[3], short_of[3], work[3];

	wait_of(m.p, main, 'S', "main@app usleep@libc.so.6", NAP, 10);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t t = thread_of(m.p, 1, 10 + i, "idler", 0);

		idle[i] = wait_of(m.p, t, 'S', QUEUE, FUTEX, 100);
		work[i] = wait_of(m.p, t, 'S', QUERY, RECV, 50);
		woken_by(m.p, idle[i], main, "main@app push@app pthread_cond_signal@libc.so.6");
	}
	uint32_t peers[3];
	for (uint32_t i = 0; i < 3; i++) {
		peers[i] = thread_of(m.p, 1, 20 + i, "short", 0);
		short_of[i] = wait_of(m.p, peers[i], 'S', GET, FUTEX, 100);
		wait_of(m.p, peers[i], 'S', QUERY, RECV, 50);
	}
	for (uint32_t i = 0; i < 3; i++)
		woken_by(m.p, short_of[i], peers[(i + 1) % 3], "main@app pool_put@app pthread_cond_signal@libc.so.6");
	struct reasons *r = reasons_new(m.p, NULL);
	for (uint32_t i = 0; i < 3; i++) {
		g_assert_cmpint(reasons_idle(r, idle[i]), ==, IDLE_POOL);
		g_assert_cmpint(reasons_of(r, idle[i]), ==, REASON_POOL_IDLE);
		g_assert_cmpint(reasons_idle(r, work[i]), ==, IDLE_NOT);
		g_assert_cmpint(reasons_idle(r, short_of[i]), ==, IDLE_NOT);
		g_assert_cmpint(reasons_of(r, short_of[i]), ==, REASON_LOCK_CONDITION);
	}
	reasons_free(r);

	struct findings *f = findings_new(m.p, NULL);
	const struct finding *first = &g_array_index(f->rows, struct finding, 0);
	g_assert_cmpint(first->reason, ==, REASON_LOCK_CONDITION);
	g_assert_cmpuint(first->time_ns, ==, 3000 * MS);
	g_assert_cmpuint(first->threads_cnt, ==, 3);
	g_assert_cmpstr(profile_get_frame(m.p, (uint32_t)first->frame)->name, ==, "pool_get");
	g_assert_cmpstr(first->by.comm, ==, "short");
	g_assert_cmpuint(f->idle_ns[IDLE_POOL], ==, 3000 * MS);
	findings_free(f);
	profile_free(m.p);
}

#define ASK "start_thread@libc.so.6 ask@app await_reply@app pthread_cond_wait@libc.so.6"
#define RECEIVE "__x64_sys_recvfrom@[kernel] unix_stream_read_generic@[kernel]"
#define REPLY "start_thread@libc.so.6 engine@app reply@app pthread_cond_signal@libc.so.6"

/*
 * Askers wait for one that has no time to spare.  One that has some is given work by others, a clock hands out work, and
 * one or two may wait for what a busy thread gives them to write down.
 */
static void test_starved(void)
{
	static const struct {
		unsigned askers;
		uint64_t naps;	/* of 10 ms */
		const char *nap, *kernel;
		enum idle_kind idle;
	} cases[] = {
		{ 4, 990, "start_thread@libc.so.6 engine@app compute@app inner@app usleep@libc.so.6", NAP, IDLE_NOT },
		{ 4, 400, "start_thread@libc.so.6 engine@app compute@app inner@app usleep@libc.so.6", NAP, IDLE_POOL },
		{ 4, 990, "start_thread@libc.so.6 engine@app usleep@libc.so.6", NAP, IDLE_POOL },
		{ 1, 990, "start_thread@libc.so.6 engine@app compute@app inner@app usleep@libc.so.6", NAP, IDLE_POOL },
		/* what others send is work that it hands out; what it asks for, and what it writes, is its own */
		{ 4, 990, "start_thread@libc.so.6 engine@app next_event@app recv@libc.so.6", RECEIVE, IDLE_POOL },
		{ 4, 990, "start_thread@libc.so.6 engine@app compute@app inner@app recv@libc.so.6", RECEIVE, IDLE_NOT },
		{ 4, 990, "start_thread@libc.so.6 engine@app write@libc.so.6", "__x64_sys_write@[kernel] pipe_write@[kernel]",
		  IDLE_NOT },
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct maker m = maker_new("process 1");
		uint32_t engine = thread_of(m.p, 1, 2, "engine", 0), asks[4];

		wait_of(m.p, engine, 'S', cases[k].nap, cases[k].kernel, cases[k].naps);
		for (uint32_t i = 0; i < cases[k].askers; i++) {
			g_autofree char *comm = g_strdup_printf("asker-%u", i);

			asks[i] = wait_of(m.p, thread_of(m.p, 1, 10 + i, comm, 0), 'S', ASK, FUTEX, 900);
			woken_by(m.p, asks[i], engine, REPLY);
		}
		/* a last call that is a jump leaves no frame: now and then a reply seems to come from further out */
		uint32_t jumped = wait_of(m.p, thread_of(m.p, 1, 20, "asker-9", 0), 'S', ASK, FUTEX, 1);
		woken_by(m.p, jumped, engine, "start_thread@libc.so.6 pthread_mutex_unlock@libc.so.6");
		struct reasons *r = reasons_new(m.p, NULL);
		for (uint32_t i = 0; i < cases[k].askers; i++)
			g_assert_cmpint(reasons_idle(r, asks[i]), ==, cases[k].idle);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Only who calls for the sleep tells that it is one between retries: what is tried may sleep for itself. */
static void test_retries(void)
{
	static const struct {
		const char *user, *says;
	} cases[] = {
		{ "price_of@/app/shop.py Session.send@/usr/lib/python3/dist-packages/requests/sessions.py "
		  "Retry.sleep@/usr/lib/python3/dist-packages/urllib3/util/retry.py "
		  "Retry._sleep_backoff@/usr/lib/python3/dist-packages/urllib3/util/retry.py time_sleep@python3.11 "
		  "clock_nanosleep@libc.so.6", "sleeps between retries" },
		{ "main@app open_ledger@app wait_before_next_try@app usleep@libc.so.6 nanosleep@libc.so.6",
		  "sleeps between retries" },
		{ "main@app with_retry@app poll_sensor@app usleep@libc.so.6", "sleeps until a timer" },
	};
	struct maker m = maker_new("process 1");
	uint32_t waits[G_N_ELEMENTS(cases)];

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		waits[i] = wait_of(m.p, thread_of(m.p, 1, 1 + i, "app", 0), 'S', cases[i].user, NAP, 10);
		woken_by(m.p, waits[i], UINT32_MAX, "");
	}
	struct reasons *r = reasons_new(m.p, NULL);
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(reasons_says(r, waits[i]), ==, cases[i].says);
	g_assert_cmpint(reasons_idle(r, waits[0]), ==, IDLE_NOT);
	reasons_free(r);
	profile_free(m.p);
}

/* A program's main thread that hands out work and ends with it waits for its threads; one that goes on may wait for work from them. */
#define MALLOCS "waits for a lock of malloc's"
#define HANDSHAKE "waits for the other side's part of a TLS handshake"
#define MUTEX_SAYS "waits for a mutex"

#define POLL "__x64_sys_ppoll@[kernel] do_sys_poll@[kernel]"
#define DRIVERS_OWN "is a thread of a GPU's driver that has nothing to do"

/* What a rule is for, and beside it what looks alike. */
static void test_says(void)
{
	static const struct {
		const char *user, *kernel, *socket, *says;
	} cases[] = {
		{ "main@app save_all@app sync@libc.so.6", "__x64_sys_sync@[kernel] ksys_sync@[kernel]", NULL,
		  "waits for what all programs have written to be safe on disk (sync)" },
		{ "main@app save_all@app syncfs@libc.so.6", "__x64_sys_syncfs@[kernel] sync_filesystem@[kernel]", NULL,
		  "waits for data to be safe on disk (fsync)" },
		{ "main@app report@app msgsnd@libc.so.6", "__x64_sys_msgsnd@[kernel] do_msgsnd@[kernel]", NULL,
		  "waits for room in a full message queue" },
		{ "main@app report@app mq_receive@libc.so.6", "__x64_sys_mq_timedreceive@[kernel] do_mq_timedreceive@[kernel]", NULL,
		  "waits for a message of a queue" },
		{ "main@app build@app calloc@libc.so.6 __lll_lock_wait_private@libc.so.6", FUTEX, NULL, MALLOCS },
		{ "main@app malloc_report@app pthread_mutex_lock@libc.so.6 __lll_lock_wait@libc.so.6", FUTEX, NULL, MUTEX_SAYS },
		{ "main@app build@app malloc@libjemalloc.so.2 pthread_mutex_lock@libc.so.6", FUTEX, NULL, MALLOCS },
		{ "java.lang.Runtime.gc@[jit] JVM_GC@libjvm.so pthread_cond_wait@libc.so.6", FUTEX, NULL,
		  "waits for a garbage collection that it has asked for (System.gc)" },
		{ "main@app ask_bank@app SSL_connect@libssl.so.3 read@libc.so.6", RECV, "10.0.0.5:443", HANDSHAKE },
		{ "main@app ask_bank@app gnutls_handshake@libgnutls.so.30 recv@libc.so.6", RECV, "10.0.0.5:443", HANDSHAKE },
		{ "main@app ask_bank@app SSL_read@libssl.so.3 read@libc.so.6", RECV, "10.0.0.5:443",
		  "waits for data from the network" },
		{ "main@app infer@app cudaStreamSynchronize@libcudart.so.12 cuStreamSynchronize@libcuda.so.1 poll@libc.so.6",
		  POLL, NULL, "waits for the GPU (CUDA)" },
		{ "start_thread@libc.so.6 ?@libcuda.so.1 poll@libc.so.6", POLL, NULL, DRIVERS_OWN },
		{ "main@app draw@app ?@libvulkan_radeon.so ioctl@libc.so.6",
		  "__x64_sys_ioctl@[kernel] drm_ioctl@[kernel] drm_syncobj_array_wait_timeout@[kernel]", NULL,
		  "waits for the GPU" },
		{ "A.load@[jit] LinkResolver::resolve_field@libjvm.so InstanceKlass::initialize_impl@libjvm.so "
		  "ObjectMonitor::wait@libjvm.so pthread_cond_wait@libc.so.6", FUTEX, NULL,
		  "waits for another thread to initialise a class" },
		{ "main@app draw@app ?@libvulkan_lvp.so pthread_cond_wait@libc.so.6", FUTEX, NULL,
		  "waits for a GPU's work that CPUs do here" },
		{ "start_thread@libc.so.6 ?@libvulkan_lvp.so pthread_cond_wait@libc.so.6", FUTEX, NULL, DRIVERS_OWN },
	};
	struct maker m = maker_new("process 1");
	uint32_t waits[G_N_ELEMENTS(cases)];

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		waits[i] = wait_of(m.p, thread_of(m.p, 1, 1 + i, "app", 0), 'S', cases[i].user, cases[i].kernel, 10);
		woken_by(m.p, waits[i], UINT32_MAX, "");
		if (cases[i].socket)
			wait_for(m.p, waits[i], OBJECT_SOCKET, cases[i].socket, 0);
	}
	/* jemalloc's own thread, stripped */
	uint32_t own = wait_of(m.p, thread_of(m.p, 1, 100, "jemalloc_bg_thd", 0), 'S',
			       "start_thread@libc.so.6 ?@libjemalloc.so.2 pthread_cond_timedwait@libc.so.6", FUTEX, 10);
	struct reasons *r = reasons_new(m.p, NULL);
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(reasons_says(r, waits[i]), ==, cases[i].says);
	g_assert_cmpstr(reasons_says(r, own), !=, MALLOCS);
	reasons_free(r);
	profile_free(m.p);
}

/* Who listens for notices of PostgreSQL, and who reads what an idle program writes: tail -F | awk. */
static void test_nothing_to_say(void)
{
	struct maker m = maker_new("process 1,2,3");
	uint32_t server = thread_of(m.p, 1, 1, "postgres", 0), client = thread_of(m.p, 2, 2, "app", 0);
	uint32_t tail = thread_of(m.p, 3, 3, "tail", 0), follow, waits[4];

	for (int i = 0; i < 3; i++)
		waits[i] = wait_of(m.p, client, 'S', i == 2 ? "main@app query@app recv@libc.so.6" : "main@app take@app recv@libc.so.6",
				   RECV, 10 + (uint64_t)i);
	woken_by(m.p, waits[0], server, "PostgresMain@postgres ProcessNotifyInterrupt@postgres secure_write@postgres");
	woken_by(m.p, waits[2], server, "PostgresMain@postgres secure_write@postgres");
	follow = wait_of(m.p, tail, 'S', "main@tail poll@libc.so.6", POLL, 950);
	woken_by(m.p, follow, server, "");
	waits[3] = wait_of(m.p, thread_of(m.p, 4, 4, "awk", 0), 'S', "main@awk read@libc.so.6",
			   "__x64_sys_read@[kernel] pipe_read@[kernel]", 50);
	wait_for(m.p, waits[3], OBJECT_PIPE, "pipe (tail)", 3);
	struct reasons *r = reasons_new(m.p, NULL);
	for (int i = 0; i < 4; i++)
		g_assert_cmpint(reasons_idle(r, waits[i]), ==, i == 2 ? IDLE_NOT : IDLE_POOL);
	reasons_free(r);
	profile_free(m.p);
}

/* A master that waits for any of its workers all the time; a lone program waits for what it started. */
static void test_master(void)
{
	static const char *const names[][2] = { { "other", "another" }, { "prefork", "other" }, { "spooler-1", "spooler-2" } };

	for (int workers = 0; workers < 3; workers++) {
		struct maker m = maker_new("process 1");
		uint32_t master = thread_of(m.p, 1, 1, "prefork", 0);
		uint32_t wait = wait_of(m.p, master, 'S', "main@app wait4@libc.so.6",
					"__x64_sys_wait4@[kernel] do_wait@[kernel]", 1000);

		wait_for(m.p, wait, OBJECT_CHILD, "any", 0);
		g_array_index(m.p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
		for (uint32_t k = 0; k < 2; k++)
			wait_of(m.p, thread_of(m.p, 2 + k, 2 + k, names[workers][k], 0), 'S', QUERY, RECV, 100);
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, wait), ==, workers ? IDLE_MACHINE : IDLE_NOT);
		reasons_free(r);
		profile_free(m.p);
	}
}

#define TAKE "start_thread@libc.so.6 serve@app take@app pthread_cond_wait@libc.so.6"

/*
 * Threads whose names differ by a number are of one kind: those that give back end each other's waits, also of one that
 * got nothing.  Who wakes the next one where it was woken itself only passes on what somebody else brought.
 */
static void test_numbered(void)
{
	enum { NAMED, NUMBERED, PASSED, CASES };
	static const char *const names[CASES][3] = {
		{ "web", "store", "feed" }, { "web-1", "web-2", "web-3" }, { "web-1", "web-2", "web-3" },
	};

	for (unsigned c = 0; c < CASES; c++) {
		struct maker m = maker_new("process 1");
		uint32_t main = thread_of(m.p, 1, 1, "app", 0), threads[3], waits[3];

		for (uint32_t i = 0; i < 3; i++) {
			threads[i] = thread_of(m.p, 1, 10 + i, names[c][i], 0);
			waits[i] = wait_of(m.p, threads[i], 'S', TAKE, FUTEX, 100);
		}
		for (uint32_t i = 0; i < 2; i++) {
			woken_by(m.p, waits[i], threads[1 - i], c == PASSED ? TAKE : "start_thread@libc.so.6 serve@app give@app");
			if (c == PASSED)
				woken_by(m.p, waits[i], main, "main@app push@app");
		}
		struct reasons *r = reasons_new(m.p, NULL);
		for (uint32_t i = 0; i < 3; i++)
			g_assert_cmpint(reasons_idle(r, waits[i]), ==, c == NUMBERED ? IDLE_NOT : IDLE_POOL);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* 60,000 programs that each wait for their children: what an import may bring.  By threads times waits it took 10 s. */
static void test_many_masters(void)
{
	struct maker m = maker_new("process 1");
	g_autofree char *comm = NULL;

	for (uint32_t i = 1; i <= 60000; i++) {
		g_free(comm);
		comm = g_strdup_printf("program %c%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26, 'a' + i / 17576);
		uint32_t wait = wait_of(m.p, thread_of(m.p, i, i, comm, 0), 'S', "main@app wait4@libc.so.6",
					"__x64_sys_wait4@[kernel] do_wait@[kernel]", 1);

		wait_for(m.p, wait, OBJECT_CHILD, "any", 0);
		g_array_index(m.p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	}
	gint64 start_us = g_get_monotonic_time();
	struct reasons *r = reasons_new(m.p, NULL);

	g_assert_cmpint(g_get_monotonic_time() - start_us, <, 4 * G_USEC_PER_SEC);
	g_assert_cmpint(reasons_idle(r, 0), ==, IDLE_NOT);
	reasons_free(r);
	profile_free(m.p);
}

static void test_main(void)
{
	static const uint32_t flags[] = { THREAD_EXITED, 0 };
	static const char *const stack = "main@app find_deltas@app pthread_cond_wait@libc.so.6";

	for (unsigned k = 0; k < 2; k++) {
		struct maker m = maker_new("process 1");
		uint32_t main = wait_of(m.p, thread_of(m.p, 1, 1, "app", flags[k]), 'S', stack, FUTEX, 10);
		uint32_t worker = thread_of(m.p, 1, 2, "app", THREAD_EXITED);

		wait_of(m.p, worker, 'D', "start_thread@libc.so.6 find@app read@libc.so.6",
			"__x64_sys_read@[kernel] io_schedule@[kernel]", 10);
		woken_by(m.p, main, worker, "start_thread@libc.so.6 find@app pthread_cond_signal@libc.so.6");
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, main), ==, flags[k] ? IDLE_JOIN : IDLE_POOL);
		g_assert_cmpint(reasons_of(r, main), ==, flags[k] ? REASON_LOCK_CONDITION : REASON_POOL_IDLE);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Who calls into OpenMP waits for its team; a worker between two regions has none of the program's functions. */
static void test_team(void)
{
	struct maker m = maker_new("process 1");
	uint32_t caller = wait_of(m.p, thread_of(m.p, 1, 1, "heat", 0), 'S',
				  "main@heat relax@heat ?@libgomp.so.1.0.0 ?@libgomp.so.1.0.0", FUTEX, 10);
	uint32_t worker = wait_of(m.p, thread_of(m.p, 1, 2, "heat", 0), 'S',
				  "clone3@libc.so.6 start_thread@libc.so.6 ?@libgomp.so.1.0.0 ?@libgomp.so.1.0.0", FUTEX, 10);
	uint32_t named = wait_of(m.p, thread_of(m.p, 1, 3, "heat", 0), 'S',
				 "start_thread@libc.so.6 gomp_thread_start@libgomp.so.1 gomp_barrier_wait_end@libgomp.so.1",
				 FUTEX, 10);
	uint32_t within = wait_of(m.p, thread_of(m.p, 1, 4, "heat", 0), 'S',
				  "start_thread@libc.so.6 gomp_thread_start@libgomp.so.1 step@heat GOMP_barrier@libgomp.so.1 "
				  "gomp_team_barrier_wait_end@libgomp.so.1", FUTEX, 10);

	uint32_t mutex = wait_of(m.p, thread_of(m.p, 1, 5, "heat", 0), 'S',
				 "start_thread@libc.so.6 ?@libgomp.so.1.0.0 step._omp_fn.0@heat pthread_mutex_lock@libc.so.6 "
				 "__lll_lock_wait@libc.so.6", FUTEX, 10);

	for (uint32_t w = caller; w <= within; w++)	/* the worker at index 0 ends the caller's wait, it the others' */
		woken_by(m.p, w, w == caller ? 1 : 0, "main@heat");
	struct reasons *r = reasons_new(m.p, NULL);
	g_assert_cmpint(reasons_idle(r, caller), ==, IDLE_NOT);
	g_assert_cmpint(reasons_of(r, caller), ==, REASON_LOCK_OTHER);
	g_assert_cmpint(reasons_idle(r, worker), ==, IDLE_POOL);
	g_assert_cmpint(reasons_idle(r, named), ==, IDLE_POOL);
	g_assert_cmpint(reasons_idle(r, within), ==, IDLE_NOT);
	g_assert_cmpint(reasons_of(r, mutex), ==, REASON_LOCK_MUTEX);
	reasons_free(r);
	profile_free(m.p);
}

/* Housekeeping is idle, a library's retry sleep and a poll loop are not; whole machines have shells. */
static void test_sleeps(void)
{
	struct maker m = maker_new("");
	uint32_t house = wait_of(m.p, thread_of(m.p, 1, 1, "a", 0), 'S',
				 "start_thread@libc.so.6 tidy@app usleep@libc.so.6", NAP, 10);
	uint32_t library = wait_of(m.p, thread_of(m.p, 2, 2, "b", 0), 'S',
				   "main@app kv_get@libkv.so usleep@libc.so.6", NAP, 10);
	uint32_t polls = wait_of(m.p, thread_of(m.p, 3, 3, "c", 0), 'S', "main@app look@app usleep@libc.so.6", NAP,
				 500);
	uint32_t kernel = wait_of(m.p, thread_of(m.p, 4, 4, "kworker/0:1", THREAD_KERNEL), 'I', "",
				  "worker_thread@[kernel]", 1);
	uint32_t loop = wait_of(m.p, thread_of(m.p, 5, 5, "d", 0), 'S', "main@app loop@app epoll_wait@libc.so.6",
				"__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 10);
	uint32_t timed = wait_of(m.p, thread_of(m.p, 6, 6, "e", 0), 'S', "main@app resolve@app poll@libc.so.6",
				 "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", 50);
	uint32_t shell = wait_of(m.p, thread_of(m.p, 7, 7, "bash", 0), 'S', "main@bash read@libc.so.6",
				 "__x64_sys_read@[kernel] n_tty_read@[kernel]", 1);

	g_array_index(m.p->waits, struct wait, shell).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	woken_by(m.p, timed, UINT32_MAX, "");
	struct reasons *r = reasons_new(m.p, NULL);
	g_assert_cmpint(reasons_idle(r, house), ==, IDLE_TIMER);
	g_assert_cmpint(reasons_idle(r, library), ==, IDLE_NOT);
	g_assert_cmpint(reasons_idle(r, polls), ==, IDLE_NOT);
	g_assert_cmpint(reasons_idle(r, kernel), ==, IDLE_KERNEL);
	g_assert_cmpint(reasons_idle(r, loop), ==, IDLE_LOOP);
	g_assert_cmpint(reasons_idle(r, timed), ==, IDLE_NOT);
	g_assert_cmpint(reasons_idle(r, shell), ==, IDLE_MACHINE);
	reasons_free(r);
	profile_free(m.p);
}

#define SELECT "__x64_sys_pselect6@[kernel] core_sys_select@[kernel] do_select@[kernel]"
#define WAIT4 "__x64_sys_wait4@[kernel] do_wait@[kernel]"
#define UDP "__x64_sys_recvfrom@[kernel] udp_recvmsg@[kernel]"

/* Servers of datagrams, tickers and scripts at rest, and what looks like them and waits for something. */
static void test_at_rest(void)
{
	static const struct {
		const char *comm, *user, *kernel;
		uint8_t kind;
		const char *name, *place;
		uint64_t count;	/* in 10 s */
		enum reason reason;
		enum idle_kind idle;
	} cases[] = {
		{ "statsd", "main@statsd recv@libc.so.6", UDP, OBJECT_SOCKET, "*:8125 bound", "udp", 30, REASON_NETWORK_RECEIVE,
		  IDLE_CLIENT },
		{ "ask", "main@ask recv@libc.so.6", UDP, OBJECT_SOCKET, "*:45123 bound", "udp", 30, REASON_NETWORK_RECEIVE,
		  IDLE_NOT },
		{ "ask", "main@ask recv@libc.so.6", UDP, OBJECT_SOCKET, "10.0.0.5:8125", "udp", 30, REASON_NETWORK_RECEIVE,
		  IDLE_NOT },
		{ "tick", "main@tick usleep@libc.so.6", NAP, 0, NULL, NULL, 100, REASON_SLEEP, IDLE_TIMER },
		{ "poll", "main@poll usleep@libc.so.6", NAP, 0, NULL, NULL, 200, REASON_SLEEP, IDLE_NOT },
		{ "bash", "main@bash wait4@libc.so.6", WAIT4, OBJECT_CHILD, "sleep", "", 9, REASON_SLEEP, IDLE_TIMER },
		{ "bash", "main@bash wait4@libc.so.6", WAIT4, OBJECT_CHILD, "sleep", "", 40, REASON_SLEEP, IDLE_NOT },
		{ "bash", "main@bash wait4@libc.so.6", WAIT4, OBJECT_CHILD, "convert", "", 9, REASON_CHILD_EXIT, IDLE_NOT },
		{ "perl", "main@perl Perl_pp_sselect@perl select@libc.so.6", SELECT, 0, NULL, NULL, 500, REASON_SLEEP, IDLE_NOT },
		{ "perl", "main@perl Perl_pp_sselect@perl select@libc.so.6", SELECT, OBJECT_PIPE, "pipe", "", 5,
		  REASON_EVENT_LOOP, IDLE_LOOP },
		/* a connection that was accepted, and one that was made: PHP polls before it reads */
		{ "cache", "main@cache serve@cache next@cache poll@libc.so.6", POLL, OBJECT_SOCKET, ":80 from 10.0.0.5", "tcp", 300,
		  REASON_EVENT_LOOP, IDLE_CLIENT },
		{ "php", "main@php fgets@php _php_stream_fill_read_buffer@php poll@libc.so.6", POLL, OBJECT_SOCKET, "10.0.0.5:80", "tcp",
		  30, REASON_NETWORK_RECEIVE, IDLE_NOT },
		{ "app", "main@app curl_easy_perform@libcurl.so.4 curl_multi_poll@libcurl.so.4 poll@libc.so.6", POLL, OBJECT_SOCKET,
		  "10.0.0.5:80", "tcp", 30, REASON_NETWORK_RECEIVE, IDLE_NOT },
		{ "app", "main@app take@app read@libc.so.6", "__x64_sys_read@[kernel] eventfd_read@[kernel]", OBJECT_EVENTFD, "fd 3",
		  "", 30, REASON_POOL_IDLE, IDLE_POOL },
	};
	struct maker m = maker_new("process 1");
	uint32_t waits[G_N_ELEMENTS(cases)];

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t t = thread_of(m.p, 1 + i, 1 + i, cases[i].comm, 0);

		waits[i] = wait_of(m.p, t, 'S', cases[i].user, cases[i].kernel, cases[i].count);
		if (cases[i].name) {
			const struct object o = { .kind = cases[i].kind, .name = profile_string(m.p, cases[i].name),
						  .place = profile_string(m.p, cases[i].place), .operation = profile_string(m.p, "") };

			fixture_is_for(m.p, waits[i], &o);
		} else {
			woken_by(m.p, waits[i], UINT32_MAX, "");
		}
	}
	struct reasons *r = reasons_new(m.p, NULL);
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		if (reasons_of(r, waits[i]) != cases[i].reason || reasons_idle(r, waits[i]) != cases[i].idle)
			g_error("case %u: %s, %s", i, reason_name(reasons_of(r, waits[i])),
				idle_kind_name(reasons_idle(r, waits[i])));
	reasons_free(r);
	profile_free(m.p);
}

/* A shell's sleep that an end of the window cuts off; what takes longer is another child, and so is one among others. */
static void test_cut_off_sleep(void)
{
	static const struct { const char *child; uint64_t cut_off_ms; bool is_sleep; } cases[] = {
		{ "sleep", 900, true }, { "sleep", 5000, false }, { "convert", 900, false },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t t = thread_of(m.p, 1, 1, "dash", 0), waits[2];
		const char *names[] = { cases[i].child, "any" };

		for (uint32_t k = 0; k < 2; k++) {
			const struct object o = { .kind = OBJECT_CHILD, .name = profile_string(m.p, names[k]),
						  .place = profile_string(m.p, ""), .operation = profile_string(m.p, ""),
						  .pid = k ? 0 : 7 };

			waits[k] = wait_of(m.p, t, 'S', "main@dash wait3@libc.so.6", WAIT4, 1);
			struct wait *w = &g_array_index(m.p->waits, struct wait, waits[k]);
			w->object = profile_object(m.p, &o) + 1;
			w->blocked_ns = w->max_ns = (k ? cases[i].cut_off_ms : 2000) * 1000000;
			w->flags = k ? WAIT_OPEN_AT_START : 0;
		}
		struct reasons *r = reasons_new(m.p, NULL);

		g_assert_cmpint(reasons_of(r, waits[1]), ==, cases[i].is_sleep ? REASON_SLEEP : REASON_CHILD_EXIT);
		g_assert_cmpint(reasons_idle(r, waits[1]), ==, cases[i].is_sleep ? IDLE_TIMER : IDLE_NOT);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Who held the GIL as waits for it began: by function, whatever the line. */
static void test_gil(void)
{
	struct maker m = maker_new("");
	uint32_t hog = thread_of(m.p, 1, 2, "python3", 0), waiter = thread_of(m.p, 1, 1, "python3", 0);
	const char *user = "main@python3 serve@app.py time_sleep@python3 take_gil@python3 pthread_cond_timedwait@libc.so.6";
	static const struct {
		const char *place;
		unsigned count;
	} held[] = {
		{ "crunch (app.py:12) < main (app.py:40)", 20 }, { "crunch (app.py:13) < main (app.py:40)", 30 }, { "quick (app.py:9)", 40 },
	};

	(void)hog;
	for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
		const struct object gil = { .kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT_BITSET", .name = GIL_NAME,
					    .place = held[i].place, .pid = 1, .addr = 4096, .holder_tid = 2 };
		uint32_t wait = wait_of(m.p, waiter, 'S', user, "__x64_sys_futex@[kernel] futex_wait@[kernel]", held[i].count);

		fixture_is_for(m.p, wait, &gil);
	}
	m.p->info.has_locks = true;
	struct findings *f = findings_new(m.p, NULL);
	const struct finding *row = &g_array_index(f->rows, struct finding, 0);

	g_assert_cmpint(row->reason, ==, REASON_LOCK_GIL);
	g_assert_cmpuint(row->by.tid, ==, 2);
	g_assert_cmpstr(row->by.place, ==, "crunch (app.py:13) < main (app.py:40)");
	g_assert_cmpuint(row->by.blocked_ns, ==, row->time_ns / 90 * 50);
	findings_free(f);
	profile_free(m.p);
}

/* Where its holder is not known, and a timer ends each piece of the wait, nobody is named. */
static void test_gil_of_nobody(void)
{
	struct maker m = maker_new("");
	const struct waker timer = { .comm = "", .irq = "timer" };
	struct wake k = { .waker = profile_waker(m.p, &timer), .count = 20 };
	struct parts parts;

	k.wait = wait_of(m.p, thread_of(m.p, 1, 1, "python3", 0), 'S',
			 "main@python3 serve@app.py time_sleep@python3 take_gil@python3 pthread_cond_timedwait@libc.so.6",
			 "__x64_sys_futex@[kernel] futex_wait@[kernel]", 20);
	k.blocked_ns = profile_wait(m.p, k.wait)->blocked_ns;
	profile_add_wake(m.p, &k);
	m.p->info.has_wakers = true;
	struct findings *f = findings_new(m.p, NULL);

	parts_of(f, 0, &parts);
	g_assert_nonnull(strstr(parts.evidence, "20 of 20 timed out"));
	g_assert_null(strstr(parts.evidence, " by "));
	parts_clear(&parts);
	findings_free(f);
	profile_free(m.p);
}

/* Everything adds up: rows by reason to the off-CPU time, classes to what was observed, findings to what matters. */
static void check_sums(struct profile *p)
{
	struct top *top = top_new(p, NULL, TOP_BY_REASON, WEIGHT_OFF_CPU);
	struct findings *f = findings_new(p, NULL);
	uint64_t waits = 0, rows = 0, matters = 0;

	for (guint i = 0; i < p->waits->len; i++)
		waits += wait_off_cpu_ns(profile_wait(p, i));
	g_assert_cmpuint(top->sum, ==, waits);
	for (guint i = 0; i < f->rows->len; i++)
		rows += g_array_index(f->rows, struct finding, i).time_ns;
	g_assert_cmpuint(rows, ==, f->matters_ns);
	for (guint i = 0; i < f->classes->len; i++) {
		const struct finding_class *c = &g_array_index(f->classes, struct finding_class, i);

		matters += finding_class_matters_ns(c);
		g_assert_cmpint((int64_t)(c->on_cpu_ns + finding_class_matters_ns(c) + c->idle_ns + c->unlisted_ns) +
					c->residual_ns,
				==, (int64_t)c->observed_ns);
	}
	g_assert_cmpuint(matters, ==, f->matters_ns);
	findings_free(f);
	top_free(top);
	profile_free(p);
}

static void test_sums(void)
{
	struct profile *p = fixture_new();

	check_sums(p);
	p = fixture_new();
	fixture_add_wakers(p);
	check_sums(p);
}

/* 20,000 distinct stacks: the whole of it is a fraction of a report's 400 ms. */
static void test_many(void)
{
	struct maker m = maker_new("process 1");
	uint32_t t = thread_of(m.p, 1, 1, "app", 0);

	for (unsigned i = 0; i < 20000; i++) {
		g_autofree char *user =
			g_strdup_printf("main@app a%u@app b%u@app c%u@app d%u@app PQexec@libpq.so.5 poll@libc.so.6",
					i % 7, i % 101, i % 1009, i);

		wait_of(m.p, t, 'S', user, "__x64_sys_poll@[kernel] do_sys_poll@[kernel] schedule@[kernel]", 1);
	}
	gint64 start = g_get_monotonic_time();
	struct reasons *r = reasons_new(m.p, NULL);
	gint64 took_us = g_get_monotonic_time() - start;

	g_test_message("reasons of 20,000 stacks: %" G_GINT64_FORMAT " us", took_us);
	for (uint32_t i = 0; i < m.p->waits->len; i++)
		g_assert_cmpint(reasons_of(r, i), ==, REASON_NETWORK_RECEIVE);
	reasons_free(r);
	profile_free(m.p);
}

/* Threads of a process need not stand together: in a history they do not. */
static void test_processes(void)
{
	static const uint32_t pids[] = { 1, 2, 1, 3, 2, 1 };
	struct maker m = maker_new("");

	for (uint32_t i = 0; i < G_N_ELEMENTS(pids); i++)
		thread_of(m.p, pids[i], 10 + i, "worker", 0);
	thread_of(m.p, 9, 9, "single", 0);
	thread_of(m.p, 9, 10, "single", 0);
	struct findings *f = findings_new(m.p, NULL);

	g_assert_cmpuint(f->classes->len, ==, 2);
	for (guint i = 0; i < 2; i++) {
		const struct finding_class *c = &g_array_index(f->classes, struct finding_class, i);
		bool is_single = strcmp(c->process, "single") == 0;

		g_assert_cmpuint(c->processes_cnt, ==, is_single ? 1 : 3);
		g_assert_cmpuint(c->pid, ==, is_single ? 9 : 0);
	}
	findings_free(f);
	profile_free(m.p);
}

/* A picture's frame of the object is no function: a wait whose kernel stack was lost keeps its reason. */
static void test_object_frames(void)
{
	struct maker m = maker_new("pid 1");
	const struct object *kinds[] = {
		&(const struct object){ .kind = LOCK_MUTEX, .name = "queue_lock", .pid = 1, .addr = 8 },
		&(const struct object){ .kind = OBJECT_FILE, .name = "fsync" },
	};
	uint32_t thread = thread_of(m.p, 1, 1, "app", 0);
	enum reason before[6], after;
	unsigned cnt = 0;

	m.p->info.has_objects = true;
	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
		static const char *const kernels[] = { "", "lost", "__x64_sys_futex@[kernel] futex_wait_queue@[kernel]" };

		for (unsigned k = 0; k < G_N_ELEMENTS(kernels); k++) {
			uint32_t wait = wait_of(m.p, thread, 'S', "main@app f@app pthread_mutex_lock@libc.so.6 __lll_lock_wait@libc.so.6",
						kernels[k], 1);

			fixture_is_for(m.p, wait, kinds[i]);
		}
	}
	struct reasons *r = reasons_new(m.p, NULL);

	for (; cnt < m.p->waits->len; cnt++)
		before[cnt] = reasons_of(r, cnt);
	g_assert_cmpint(before[0], ==, REASON_LOCK_MUTEX);
	g_assert_cmpint(before[1], ==, REASON_LOCK_MUTEX);
	reasons_free(r);
	objects_as_frames(m.p);
	r = reasons_new(m.p, NULL);
	for (unsigned i = 0; i < cnt; i++) {
		after = reasons_of(r, i);
		g_assert_cmpint(after, ==, before[i]);
	}
	reasons_free(r);
	profile_free(m.p);
}

/* Children that a command's loop looks after are something due; whom it serves began before it. */
static void test_children(void)
{
	static const struct {
		const char *filters;
		uint64_t other_start_ns;
		enum idle_kind idle;
	} cases[] = { { "command R", 9, IDLE_JOIN }, { "command R", 3, IDLE_LOOP }, { "pid 1", 9, IDLE_LOOP } };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new(cases[i].filters);
		uint32_t parent = thread_of(m.p, 1, 1, "R", 0), other = thread_of(m.p, 2, 2, "worker", 0);

		g_array_index(m.p->threads, struct thread, parent).start_ns = 5;
		g_array_index(m.p->threads, struct thread, other).start_ns = cases[i].other_start_ns;
		uint32_t w = wait_of(m.p, parent, 'S', "main@R select@libc.so.6",
				     "__x64_sys_select@[kernel] do_select@[kernel] schedule@[kernel]", 4);
		const struct waker waker = { .pid = 2, .tid = 2, .start_ns = cases[i].other_start_ns, .comm = "worker" };
		const struct wake wake = { .wait = w, .waker = profile_waker(m.p, &waker), .count = 4, .blocked_ns = 40 * MS };

		profile_add_wake(m.p, &wake);
		struct reasons *r = reasons_new(m.p, NULL);

		g_assert_cmpint(reasons_of(r, w), ==, REASON_EVENT_LOOP);
		g_assert_cmpint(reasons_idle(r, w), ==, cases[i].idle);
		reasons_free(r);
		profile_free(m.p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/reasons/rules", test_rules);
	g_test_add_func("/reasons/base", test_base);
	g_test_add_func("/reasons/pools", test_pools);
	g_test_add_func("/reasons/pools/numbered", test_numbered);
	g_test_add_func("/reasons/starved", test_starved);
	g_test_add_func("/reasons/says", test_says);
	g_test_add_func("/reasons/retries", test_retries);
	g_test_add_func("/reasons/nothing-to-say", test_nothing_to_say);
	g_test_add_func("/reasons/master", test_master);
	g_test_add_func("/reasons/main", test_main);
	g_test_add_func("/reasons/team", test_team);
	g_test_add_func("/reasons/sleeps", test_sleeps);
	g_test_add_func("/reasons/at-rest", test_at_rest);
	g_test_add_func("/reasons/cut-off-sleep", test_cut_off_sleep);
	g_test_add_func("/reasons/gil", test_gil);
	g_test_add_func("/reasons/gil-of-nobody", test_gil_of_nobody);
	g_test_add_func("/reasons/sums", test_sums);
	g_test_add_func("/reasons/many", test_many);
	g_test_add_func("/reasons/many-masters", test_many_masters);
	g_test_add_func("/reasons/processes", test_processes);
	g_test_add_func("/reasons/children", test_children);
	g_test_add_func("/reasons/object-frames", test_object_frames);
	return g_test_run();
}
