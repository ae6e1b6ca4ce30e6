/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/journal.h"

#include <string.h>

#define THREAD "jbd2/"	/* fs/jbd2/journal.c: kjournald2(), as "jbd2/vda1-8" */

bool fold_journal_is_awaited(const struct profile *p, uint32_t kernel, bool has_file)
{
	/* fs/jbd2/transaction.c; the first two may be inlined into the next */
	static const char *const functions[] = { "wait_transaction_", "add_transaction_credits", "start_this_handle", NULL };
	const char *name = NULL, *caller = NULL;

	for (uint32_t n = kernel; n && !caller; n = profile_get_node(p, n)->parent) {
		const char *own = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		if (!own)
			return false;
		if (name)
			caller = own;
		else if (!strstr(own, "schedule"))
			name = own;
	}
	if (!name)
		return false;
	if (g_str_has_prefix(name, "jbd2_log_wait_commit"))
		return !has_file || strstr(caller ? caller : "", "wait_for_space");
	for (size_t i = 0; functions[i]; i++)
		if (g_str_has_prefix(name, functions[i]))
			return true;
	return false;
}

uint32_t fold_journal_object(struct profile *p, const struct waker *waker)
{
	const char *device, *inode;

	if (waker->irq || waker->user || !g_str_has_prefix(waker->comm, THREAD))
		return 0;
	device = waker->comm + strlen(THREAD);
	inode = strrchr(device, '-');
	/* a name has 15 characters, so what is behind the device may be missing, and its own end */
	g_autofree char *name = inode ? g_strndup(device, (gsize)(inode - device)) : g_strdup_printf("%s...", device);
	const struct object o = { .kind = OBJECT_JOURNAL, .operation = "", .name = name, .place = "", .holder_tid = waker->tid };

	return profile_object(p, &o) + 1;
}
