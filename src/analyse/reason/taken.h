/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_TAKEN_H
#define ANALYSE_REASON_TAKEN_H

#include "profile/profile.h"

/*
 * Workers that clients take up: each waits on a connection whose client is slow or asks for nothing, while other
 * connections wait to be accepted.  Makes such waits IDLE_NOT and network.receive, in arrays of one a wait.
 */
void taken_find(const struct profile *p, uint8_t *reason, uint8_t *idle);

#endif
