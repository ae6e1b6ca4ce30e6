/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/plumbing.h"

#include <string.h>

/*
 * The rules as data.  A name ending in '*' is a prefix.  Add a kernel function that says nothing to `kernel_rules`
 * with NULL, or one whose name varies between kernel versions with the name to show.
 */
struct plumbing_rule {
	const char *name;
	const char *shown;	/* NULL: plumbing */
};

/* A tracer's own functions: stacks taken at a tracepoint begin with them. */
static const char *const tracing_functions[] = { "__traceiter_*", "bpf_prog_*", "__bpf_trace_*", "bpf_trace_run*", "bpf_trampoline_*",
						 "trace_call_bpf", "bpf_get_stackid*", "perf_trace_*" };

static const struct plumbing_rule kernel_rules[] = {
	/* scheduler entries */
	{ "__schedule", NULL },
	{ "schedule", NULL },
	{ "__schedule_loop*", NULL },
	{ "schedule_timeout*", NULL },
	{ "schedule_hrtimeout*", NULL },
	{ "schedule_preempt_disabled", NULL },
	{ "preempt_schedule*", NULL },
	{ "schedule_rtlock", NULL },
	{ "rt_mutex_schedule", NULL },
	{ "__cond_resched*", NULL },
	{ "_cond_resched", NULL },
	{ "dynamic_cond_resched", NULL },
	{ "io_schedule*", NULL },
	{ "finish_task_switch", NULL },
	{ "__switch_to*", NULL },
	{ "schedule_tail", NULL },
	/* FreeBSD's, in other tools' profiles */
	{ "mi_switch", NULL },
	{ "sleepq_*", NULL },
	{ "_sleep", NULL },
	/* helpers that queue a sleeper and wait */
	{ "futex_wait_queue*", NULL },
	{ "futex_do_wait", NULL },
	{ "__futex_wait", "futex_wait" },
	{ "wait_woken", NULL },
	{ "sk_wait_data", NULL },
	{ "sk_stream_wait_memory", NULL },
	{ "__skb_wait_for_more_packets", NULL },
	{ "unix_stream_data_wait", NULL },
	{ "unix_wait_for_peer", NULL },
	{ "inet_csk_wait_for_connect", NULL },
	{ "inet_wait_for_connect", NULL },
	{ "poll_schedule_timeout", NULL },
	{ "pipe_wait_readable", NULL },
	{ "pipe_wait_writable", NULL },
	{ "pipe_wait", NULL },
	{ "do_wait_for_common", NULL },
	{ "__wait_for_common", NULL },
	{ "wait_for_common*", NULL },
	{ "wait_for_completion*", NULL },
	{ "wait_for_partner", NULL },
	{ "bit_wait*", NULL },
	{ "__wait_on_bit*", NULL },
	{ "out_of_line_wait_on_bit*", NULL },
	{ "__wait_on_buffer", "wait_on_buffer" },
	{ "prepare_to_wait*", NULL },
	{ "do_wait_intr*", NULL },
	{ "__wait_event*", NULL },
	{ "__mutex_lock", "mutex_lock" },
	{ "__mutex_lock_slowpath", "mutex_lock" },
	{ "__mutex_lock_killable_slowpath", "mutex_lock" },
	{ "__mutex_lock_interruptible_slowpath", "mutex_lock" },
	{ "rwsem_down_read_slowpath", "down_read" },
	{ "rwsem_down_write_slowpath", "down_write" },
	{ "__down_common", NULL },
	{ "___down_common", NULL },
	{ "__down", "down" },
	{ "__down_interruptible", "down" },
	{ "__down_timeout", "down" },
	{ "__down_killable", "down" },
	{ "rt_mutex_slowlock*", "rt_mutex_lock" },
	{ "__rt_mutex_slowlock*", "rt_mutex_lock" },
	{ "rtlock_slowlock*", "rt_spin_lock" },
	/* unified names */
	{ "do_nanosleep", "nanosleep" },
	{ "hrtimer_nanosleep", "nanosleep" },
	{ "common_nsleep", "nanosleep" },
	{ "__do_wait", "do_wait" },
	{ "__folio_lock*", "folio_wait_bit_common" },
	{ "wait_on_page_bit_common", "folio_wait_bit_common" },
	{ "tcp_recvmsg_locked", "tcp_recvmsg" },
	{ "__unix_dgram_recvmsg", "unix_dgram_recvmsg" },
	{ "unix_stream_read_generic", "unix_stream_read" },
	{ "do_poll", "poll" },
	{ "do_sys_poll", "poll" },
	{ "do_select", "select" },
	{ "core_sys_select", "select" },
	{ "ep_poll", "epoll_wait" },
	{ "do_epoll_wait", "epoll_wait" },
	{ "anon_pipe_read", "pipe_read" },
	{ "anon_pipe_write", "pipe_write" },
	/* system call entry */
	{ "entry_SYSCALL*", NULL },
	{ "entry_INT80*", NULL },
	{ "entry_SYSENTER*", NULL },
	{ "do_syscall_64", NULL },
	{ "x64_sys_call", NULL },
	{ "ia32_sys_call", NULL },
	{ "do_int80*", NULL },
	{ "do_fast_syscall_32", NULL },
	{ "__do_fast_syscall_32", NULL },
	{ "syscall_exit_to_user_mode*", NULL },
	{ "exit_to_user_mode*", NULL },
	{ "__syscall_exit_to_user_mode*", NULL },
	{ "irqentry_exit*", NULL },
	{ "raw_irqentry_exit*", NULL },
	{ "el0_svc*", NULL },
	{ "el0t_64_sync*", NULL },
	{ "invoke_syscall*", NULL },
	{ "do_el0_svc*", NULL },
	{ "el0_svc_common*", NULL },
	{ "do_notify_resume", NULL },
	{ "ret_from_fork*", NULL },
	{ "kthread", NULL },
	{ "asm_*", NULL },
};

/* Functions between a waker and the sleeper. */
static const char *const waking_functions[] = {
	/* scheduler and wait queues */
	"try_to_wake_up",
	"ttwu_*",
	"wake_up_process",
	"wake_up_state",
	"wake_up_q",
	"__wake_up*",
	"wake_up_bit",
	"default_wake_function",
	"autoremove_wake_function",
	"woken_wake_function",
	"pollwake",
	"ep_autoremove_wake_function",
	"ep_poll_callback",
	"wake_bit_function",
	"swake_up*",
	"complete",
	"complete_all",
	"complete_with_flags",
	"rcuwait_wake_up",
	"rt_mutex_wake_up_q",
	"rt_mutex_postunlock",
	"signal_wake_up_state",
	"complete_signal",
	"__send_signal_locked",
	"send_signal_locked",
	"sock_def_readable",
	"sock_def_write_space",
	/* work queues */
	"kick_pool",
	"__queue_work",
	"queue_work_on",
	"__queue_delayed_work",
	"queue_delayed_work_on",
	"mod_delayed_work_on",
	"insert_work",
	"wake_up_worker",
	"cpu_stop_queue_work",
	/* timers */
	"__run_hrtimer",
	"__hrtimer_run_queues",
	"hrtimer_interrupt",
	"hrtimer_run_queues",
	"hrtimer_run_softirq",
	"call_timer_fn",
	"__run_timers",
	"__run_timer_base",
	"run_timer_base",
	"run_timer_softirq",
	"expire_timers",
	/* interrupts */
	"handle_softirqs",
	"__do_softirq",
	"do_softirq*",
	"__local_bh_enable_ip",
	"irq_exit_rcu",
	"__irq_exit_rcu",
	"invoke_softirq",
	"run_ksoftirqd",
	"smpboot_thread_fn",
	"__common_interrupt",
	"common_interrupt",
	"handle_irq_event*",
	"__handle_irq_event*",
	"handle_edge_irq",
	"handle_fasteoi_irq",
	"handle_level_irq",
	"handle_percpu_devid_irq",
	"generic_handle*",
	"vring_interrupt",
	"__sysvec_*",
	"sysvec_*",
	"el1_interrupt",
	"do_interrupt_handler",
	"call_on_irq_stack",
	"__flush_smp_call_function_queue",
	"flush_smp_call_function_queue",
	"generic_smp_call_function_single_interrupt",
};

static const char *const preempting_functions[] = {
	"preempt_schedule*",
	"__cond_resched*",
	"_cond_resched",
	"dynamic_cond_resched",
	"irqentry_exit*",
	"raw_irqentry_exit*",
	"exit_to_user_mode*",
	"prepare_exit_to_usermode",
	"syscall_exit_to_user_mode*",
	"syscall_return_slowpath",
	"retint_user",
	"el0_irq*",
	"el1_irq*",
	"el0_interrupt",
	"el1_interrupt",
	"arm64_preempt_schedule_irq",
	"do_notify_resume",
};

/* Where the kernel was entered; the outermost match counts. */
static const struct plumbing_rule entry_rules[] = {
	{ "asm_exc_page_fault", "page fault" }, { "exc_page_fault", "page fault" },
	{ "do_user_addr_fault", "page fault" }, { "do_page_fault", "page fault" },
	{ "do_mem_abort", "page fault" }, { "handle_mm_fault", "page fault" },
	{ "asm_sysvec_*", "interrupt" }, { "asm_common_interrupt", "interrupt" },
	{ "irqentry_exit*", "interrupt" }, { "common_interrupt", "interrupt" }, { "el0_irq*", "interrupt" },
	{ "el0_interrupt", "interrupt" }, { "apic_timer_interrupt", "interrupt" },
	{ "prepare_exit_to_usermode", "exit to user mode" }, { "exit_to_user_mode_loop*", "exit to user mode" },
	{ "exit_to_user_mode_prepare*", "exit to user mode" }, { "syscall_exit_to_user_mode*", "exit to user mode" },
	{ "kthread", "kernel thread" }, { "vhost_task_fn", "kernel thread" }, { "io_wq_worker", "kernel thread" },
	{ "io_sq_thread", "kernel thread" }, { "ret_from_fork*", "new thread" }, { "schedule_tail", "new thread" },
	{ "__switch_to_asm", "new thread" },
};

/* Tail-called by system calls, so that the system call's own frame is missing. */
static const struct plumbing_rule tail_rules[] = {
	{ "kernel_wait4", "wait4" }, { "kernel_waitid", "waitid" }, { "kernel_clone", "clone" },
	{ "do_epoll_wait", "epoll_wait" }, { "do_sys_poll", "poll" }, { "core_sys_select", "select" },
	{ "do_futex", "futex" }, { "hrtimer_nanosleep", "nanosleep" }, { "do_sys_openat2", "openat" },
	{ "do_group_exit", "exit_group" }, { "do_sigtimedwait", "rt_sigtimedwait" }, { "sigsuspend", "rt_sigsuspend" },
	{ "ksys_mmap_pgoff", "mmap" }, { "vm_mmap_pgoff", "mmap" }, { "__vm_munmap", "munmap" }, { "do_fsync", "fsync" },
	{ "do_msgrcv", "msgrcv" }, { "do_msgsnd", "msgsnd" }, { "do_mq_timedreceive", "mq_timedreceive" },
	{ "do_mq_timedsend", "mq_timedsend" }, { "do_semtimedop", "semtimedop" }, { "__do_semtimedop", "semtimedop" },
	{ "do_io_getevents", "io_getevents" }, { "do_splice", "splice" },
	/* restart_syscall(), after a stop, a freeze or a debugger */
	{ "futex_wait_restart", "futex" }, { "do_restart_poll", "poll" }, { "hrtimer_nanosleep_restart", "nanosleep" },
	{ "posix_cpu_nsleep_restart", "clock_nanosleep" }, { "alarm_timer_nsleep_restart", "clock_nanosleep" },
};

/* __x64_sys_NAME and variants; a longer prefix precedes one that it begins with. */
static const char *const syscall_prefixes[] = {
	"__x64_sys_", "__ia32_compat_sys_", "__ia32_sys_", "__x32_compat_sys_", "__arm64_compat_sys_",
	"__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__s390_sys_", "__se_compat_sys_", "__se_sys_",
	"__do_compat_sys_", "__do_sys_", "__compat_sys_", "compat_sys_", "__sys_", "ksys_", "SyS_", "sys_",
};

/* The C and C++ runtime and what it uses, by prefix of the file's name. */
static const char *const runtime_files[] = {
	"libc.so", "libc-2.", "libc.musl", "ld-musl", "ld-linux", "ld-2.", "ld.so", "libpthread", "librt.so",
	"librt-2.", "libstdc++.so", "libc++.so", "libc++abi.so", "libgcc_s", "[vdso]",
};

/* The compiler's suffixes for clones: name.isra.0, name.constprop.0, name.part.0, name.cold. */
static size_t plain_len(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && dot != name ? (size_t)(dot - name) : strlen(name);
}

static bool rule_matches(const char *pattern, const char *name, size_t len)
{
	size_t plen = strlen(pattern);

	if (plen && pattern[plen - 1] == '*')
		return len >= plen - 1 && memcmp(pattern, name, plen - 1) == 0;
	return len == plen && memcmp(pattern, name, len) == 0;
}

static bool is_one_of(const char *const *patterns, size_t cnt, const char *name)
{
	size_t len = plain_len(name);

	for (size_t i = 0; i < cnt; i++) {
		if (rule_matches(patterns[i], name, len))
			return true;
	}
	return false;
}

bool plumbing_kernel_rule(const char *name, const char **ret_shown)
{
	size_t len = plain_len(name);

	*ret_shown = NULL;
	if (plumbing_is_tracer(name))
		return true;
	for (size_t i = 0; i < G_N_ELEMENTS(kernel_rules); i++) {
		if (rule_matches(kernel_rules[i].name, name, len)) {
			*ret_shown = kernel_rules[i].shown;
			return true;
		}
	}
	return false;
}

bool plumbing_is_waking(const char *name)
{
	return is_one_of(waking_functions, G_N_ELEMENTS(waking_functions), name);
}

bool plumbing_is_preemption(const char *name)
{
	return is_one_of(preempting_functions, G_N_ELEMENTS(preempting_functions), name);
}

bool plumbing_is_tracer(const char *name)
{
	return is_one_of(tracing_functions, G_N_ELEMENTS(tracing_functions), name);
}

const char *plumbing_entry_rule(const char *name)
{
	size_t len = plain_len(name);

	for (size_t i = 0; i < G_N_ELEMENTS(entry_rules); i++) {
		if (rule_matches(entry_rules[i].name, name, len))
			return entry_rules[i].shown;
	}
	return NULL;
}

/* System calls with 32-bit times of 32-bit programs are the same calls as those without (arch/x86/entry/syscalls/). */
#define TIME32 "_time32"

static size_t without_time32(const char *name, size_t len)
{
	size_t suffix_len = strlen(TIME32);

	return len > suffix_len && strncmp(name + len - suffix_len, TIME32, suffix_len) == 0 ? len - suffix_len : len;
}

char *plumbing_syscall_name(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(tail_rules); i++) {
		if (rule_matches(tail_rules[i].name, name, plain_len(name)))
			return g_strdup(tail_rules[i].shown);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(syscall_prefixes); i++) {
		size_t plen = strlen(syscall_prefixes[i]);

		if (strncmp(name, syscall_prefixes[i], plen) == 0 && g_ascii_islower(name[plen]))
			return g_strndup(name + plen, without_time32(name, plain_len(name)) - plen);
	}
	return NULL;
}

char *plumbing_plain_name(const char *name)
{
	return g_strndup(name, plain_len(name));
}

bool plumbing_runtime_file(const char *base)
{
	for (size_t i = 0; base && i < G_N_ELEMENTS(runtime_files); i++) {
		if (g_str_has_prefix(base, runtime_files[i]))
			return true;
	}
	return false;
}

/* Skips the return type of a C++ template, "void std::f<int>(int)"; blanks in brackets do not count. */
static const char *behind_type(const char *name)
{
	const char *start = name;
	int depth = 0;

	for (const char *p = name; *p && !(*p == '(' && !depth); p++) {
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(">)]}", *p) && p > name && p[-1] != '-')
			depth--;
		else if (*p == ' ' && !depth && p[1] && p[1] != '&' && p[1] != '*')
			start = p + 1;
	}
	return start;
}

bool plumbing_runtime_name(const char *name)
{
	static const char *const prefixes[] = { "std::",	    "__gnu_cxx::",  "core::",	      "alloc::",
						"__gthread_", "operator new", "operator delete" };
	const char *plain = behind_type(name);

	if (*plain == '<')	/* Rust: "<std::io::Lines as core::iter::Iterator>::next" */
		plain++;
	for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++)
		if (g_str_has_prefix(plain, prefixes[i]) || g_str_has_prefix(name, prefixes[i]))
			return true;
	return false;
}
