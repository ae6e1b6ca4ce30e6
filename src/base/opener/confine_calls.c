/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same architectures as the BPF programs; others do not compile. */
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define FILTER_MAX 512
#define X32_BIT 0x40000000u
#define CALLS_END (-1)

/* Needed by all: memory, threads, clocks, open descriptors. */
static const int common[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_close,
	SYS_fstat,
	SYS_lseek,
	SYS_fcntl,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_set_robust_list,
	SYS_sched_yield,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_restart_syscall,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_exit,
	SYS_exit_group,
	SYS_ppoll,
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_sched_getaffinity,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_time
	SYS_time,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
	CALLS_END,
};

static const int of_server[] = {
	SYS_newfstatat, SYS_statx,       SYS_faccessat, SYS_readlinkat,  SYS_getdents64,  SYS_getcwd,
	SYS_epoll_ctl,  SYS_epoll_pwait, SYS_eventfd2,  SYS_accept4,     SYS_accept,      SYS_recvfrom,
	SYS_sendto,     SYS_sendfile,    SYS_shutdown,  SYS_getsockname, SYS_getpeername, SYS_getsockopt,
	SYS_setsockopt, SYS_pipe2,       SYS_uname,     SYS_sysinfo,     SYS_getrusage,   SYS_epoll_create1,
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
#ifdef SYS_access
	SYS_access,     SYS_stat,        SYS_lstat,     SYS_readlink,
#endif
	CALLS_END,
};

/* Server names, certificates and connections are handled by libraries that are loaded already. */
static const int of_client[] = {
	SYS_socket, SYS_connect, SYS_bind, SYS_sendmmsg, SYS_socketpair, SYS_ioctl, SYS_fstatfs, CALLS_END,
};

static const int of_parser[] = { SYS_memfd_create, SYS_ftruncate, SYS_fadvise64, CALLS_END };

/* openat2() has its flags in memory, out of the filter's reach; but only it can open below a process's own root. */
static const int of_opener[] = {
	SYS_openat2, SYS_open_by_handle_at, SYS_readlinkat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_getdents64,
	SYS_perf_event_open, SYS_memfd_create,
#ifdef SYS_readlink
	SYS_readlink,
#endif
	CALLS_END,
};

/* System calls that are allowed only with certain bits of an argument. */
struct narrow {
	int call;
	unsigned argument;
	uint32_t mask, value;
};

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
static const struct narrow narrow_common[] = {
	{ SYS_mmap, 2, PROT_EXEC, 0 },
	{ SYS_mprotect, 2, PROT_EXEC, 0 },
	{ SYS_clone, 0, CLONE_THREAD, CLONE_THREAD },
	{ SYS_prctl, 0, UINT32_MAX, PR_SET_NAME },
	{ CALLS_END, 0, 0, 0 },
};
static const struct narrow narrow_reads[] = {
	{ SYS_openat, 2, WRITES, O_RDONLY },
#ifdef SYS_open
	{ SYS_open, 1, WRITES, O_RDONLY },
#endif
	{ CALLS_END, 0, 0, 0 },
};

static const struct narrow narrow_opener[] = {
	{ SYS_bpf, 0, UINT32_MAX, BPF_ENABLE_STATS },
	{ CALLS_END, 0, 0, 0 },
};

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

static void emit(struct filter *f, struct sock_filter one)
{
	if (f->len < FILTER_MAX)
		f->code[f->len++] = one;
}

static void answer(struct filter *f, uint32_t verdict)
{
	emit(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

static void load_word(struct filter *f, size_t at)
{
	emit(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at));
}

/* The next instruction alone applies to this value. */
static void only_if(struct filter *f, uint32_t value, unsigned char skipped)
{
	emit(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped));
}

static void allow(struct filter *f, const int *calls)
{
	for (; *calls != CALLS_END; calls++) {
		only_if(f, (uint32_t)*calls, 1);
		answer(f, SECCOMP_RET_ALLOW);
	}
}

/* Checks the lower half of an argument: all of these are ints. */
static void allow_narrow(struct filter *f, const struct narrow *n)
{
	for (; n->call != CALLS_END; n++) {
		only_if(f, (uint32_t)n->call, 5);
		load_word(f, offsetof(struct seccomp_data, args) + n->argument * sizeof(uint64_t));
		emit(f, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, n->mask));
		only_if(f, n->value, 1);
		answer(f, SECCOMP_RET_ALLOW);
		answer(f, SECCOMP_RET_ERRNO | EPERM);
	}
}

/* abort() signals the process itself. */
static void allow_abort(struct filter *f)
{
	const struct narrow own[] = { { SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid() }, { CALLS_END, 0, 0, 0 } };

	allow_narrow(f, own);
}

bool confine_calls(enum confine_calls calls)
{
	struct filter f = { .len = 0 };

	load_word(&f, offsetof(struct seccomp_data, arch));
	emit(&f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
	answer(&f, SECCOMP_RET_KILL_PROCESS);
	load_word(&f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	emit(&f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	answer(&f, SECCOMP_RET_KILL_PROCESS);
#endif
	allow(&f, common);
	if (calls == CONFINE_CLIENT)
		allow(&f, of_client);
	allow(&f, calls == CONFINE_SERVER || calls == CONFINE_CLIENT ? of_server
		  : calls == CONFINE_OPENER                          ? of_opener
								     : of_parser);
	allow_narrow(&f, narrow_common);
	if (calls != CONFINE_PARSER)
		allow_narrow(&f, narrow_reads);
	if (calls == CONFINE_OPENER)
		allow_narrow(&f, narrow_opener);
	allow_abort(&f);
#ifdef SYS_clone3
	/* its flags are in memory, which no filter can read: libc falls back to clone() */
	only_if(&f, SYS_clone3, 1);
	answer(&f, SECCOMP_RET_ERRNO | ENOSYS);
#endif
	answer(&f, SECCOMP_RET_ERRNO | EPERM);
	const struct sock_fprog program = { .len = f.len, .filter = f.code };

	errno = E2BIG;
	return f.len < FILTER_MAX && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
