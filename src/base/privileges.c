/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t privileges_wanted(bool with_admin)
{
	/* trace; read what names are made of; get a CPU among thousands that want one; buffers */
	return PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON) | PRIVILEGE(CAP_SYS_PTRACE) |
	       PRIVILEGE(CAP_DAC_READ_SEARCH) | PRIVILEGE(CAP_CHECKPOINT_RESTORE) | PRIVILEGE(CAP_SYSLOG) |
	       PRIVILEGE(CAP_SYS_NICE) | PRIVILEGE(CAP_IPC_LOCK) | PRIVILEGE(CAP_SYS_RESOURCE) |
	       (with_admin ? PRIVILEGE(CAP_SYS_ADMIN) : 0);
}

static bool get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) == 0;
}

uint64_t privileges_now(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return get(data) ? (uint64_t)data[1].effective << 32 | data[0].effective : 0;
}

bool privileges_drop(uint64_t wanted, GError **error)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	bool is_well = get(data);

	/*
	 * The bounding set may only be left with CAP_SETPCAP; without it a program that is run gets nothing anyhow, by
	 * no_new_privs.
	 */
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
