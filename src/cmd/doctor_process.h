/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_DOCTOR_PROCESS_H
#define CMD_DOCTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/answering.h"

/*
 * Prints what can be known of a process; same_cnt others have the name it was asked for by.  `answer` tells whether in a
 * bounded size.  Returns an exit status.
 */
int doctor_process(uint32_t pid, unsigned same_cnt, bool as_json, const struct answer_args *answer);

#endif
