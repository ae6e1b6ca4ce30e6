/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_DOCTOR_DOCTOR_H
#define CMD_DOCTOR_DOCTOR_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/answering.h"
#include "symbolize/runtime/recognise.h"

/*
 * Prints what can be recorded of a process; same_cnt other processes have the same name.  `answer`: whether to bound
 * the size.  Returns an exit status.
 */
int doctor_process(uint32_t pid, unsigned same_cnt, bool as_json, const struct answer_args *answer);

/* What can or cannot be recorded of a process, with advice. */
struct doctor_finding {
	const char *what;	/* a stable id: "python-frames" */
	bool is_there;
	char *text;		/* a sentence without its full stop */
	char *advice;		/* a sentence; NULL: nothing to do */
};

/* struct doctor_finding; the array owns its texts. */
GArray *doctor_findings(const struct recognised *r);

#endif
