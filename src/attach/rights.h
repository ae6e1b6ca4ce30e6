/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_RIGHTS_H
#define ATTACH_RIGHTS_H

/*
 * Whether we may read what names and unwind tables are made of.  Each tries it on something of its own, which only
 * the right in question opens, so no other user's process has to be there.  0 or a negative errno.
 */

/* /proc/PID/maps and root of a process of another user: CAP_SYS_PTRACE. */
int rights_try_others_maps(void);
/* A file that its mode closes to us: CAP_DAC_READ_SEARCH. */
int rights_try_others_files(void);
/* /proc/PID/map_files, which leads to deleted files, too: CAP_CHECKPOINT_RESTORE. */
int rights_try_map_files(void);

#endif
