/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_RECORDING_H
#define IO_RECORDING_H

#include "profile/profile.h"

/*
 * Says of a profile that it holds `what` ("block requests, ...") in place of waits, since when and until when.
 * rows_are: see struct profile_info.
 */
void io_recording_info(struct profile *p, const char *what, const char *rows_are, uint64_t start_ns,
		       uint64_t start_unix_ns, uint64_t stop_ns);

#endif
