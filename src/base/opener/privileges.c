/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE_ANY 40	/* in RLIMIT_NICE's units: 20 - (-20) */

uint64_t privileges_to_trace(void)
{
	return PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON);
}

uint64_t privileges_to_open(bool with_admin)
{
	return PRIVILEGE(CAP_SYS_PTRACE) | PRIVILEGE(CAP_DAC_READ_SEARCH) | PRIVILEGE(CAP_CHECKPOINT_RESTORE) |
	       PRIVILEGE(CAP_SYSLOG) | (with_admin ? PRIVILEGE(CAP_SYS_ADMIN) : 0);
}

static bool raise_limit(__rlimit_resource_t which, rlim_t to)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) || (limit.rlim_cur >= to && limit.rlim_max >= to))
		return true;
	limit.rlim_cur = MAX(limit.rlim_cur, to);
	limit.rlim_max = MAX(limit.rlim_max, to);
	return setrlimit(which, &limit) == 0;
}

uint64_t privileges_to_limits(void)
{
	bool may_hurry = raise_limit(RLIMIT_RTPRIO, (rlim_t)sched_get_priority_min(SCHED_RR));

	may_hurry = raise_limit(RLIMIT_NICE, NICE_ANY) && may_hurry;
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);	/* otherwise perf's buffers are smaller */
	return may_hurry ? 0 : PRIVILEGE(CAP_SYS_NICE);
}

static void reset_priority(void)
{
	const struct sched_param others = { 0 };
	const struct rlimit none = { 0 };

	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_NICE, &none);
	if (sched_getscheduler(0) == SCHED_RR)
		sched_setscheduler(0, SCHED_OTHER, &others);
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

char *privileges_text(uint64_t privileges)
{
	static const struct {
		int capability;
		const char *name;
	} names[] = {
		{ CAP_BPF, "bpf" },
		{ CAP_PERFMON, "perfmon" },
		{ CAP_SYS_ADMIN, "sys_admin" },
		{ CAP_SYS_PTRACE, "sys_ptrace" },
		{ CAP_DAC_READ_SEARCH, "dac_read_search" },
		{ CAP_CHECKPOINT_RESTORE, "checkpoint_restore" },
		{ CAP_SYSLOG, "syslog" },
		{ CAP_SYS_NICE, "sys_nice" },
	};
	GString *s = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (privileges & PRIVILEGE(names[i].capability))
			g_string_append_printf(s, "%s%s", s->len ? ", " : "", names[i].name);
	return g_string_free(s, FALSE);
}

static bool get_capabilities(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) == 0;
}

uint64_t privileges_now(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return get_capabilities(data) ? (uint64_t)data[1].effective << 32 | data[0].effective : 0;
}

bool privileges_drop(uint64_t wanted, GError **error)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	bool is_well = get_capabilities(data);

	/* Reducing the bounding set needs CAP_SETPCAP; without it no_new_privs is enough for programs that are run. */
	for (int c = 0; is_well && c <= CAP_LAST_CAP; c++)
		if (!(wanted & PRIVILEGE(c)))
			prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		uint32_t keep = (uint32_t)(wanted >> 32 * i);

		data[i].permitted &= keep;
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (is_well)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	is_well = is_well && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &header, data) == 0;
	if (!is_well)
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "give up privileges: %s",
			    g_strerror(errno));
	return is_well;
}

void privileges_drop_all(gpointer unused)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	reset_priority();
	privileges_drop(0, NULL);
}
