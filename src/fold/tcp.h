/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TCP_H
#define FOLD_TCP_H

#include "abi/tcp_abi.h"
#include "profile/profile.h"

/* What a sum of the kernel says of waits for that object.  is_lossy: segments to it were sent again in the window. */
struct tcp_wait tcp_wait_of_sum(const struct tcp_sum *sum, uint32_t direction, uint32_t object, bool is_lossy);

#endif
